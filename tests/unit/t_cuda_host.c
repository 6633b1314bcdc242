/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The whole way to a GPU without one: an application, a device host, the CUDA backend, the fake
 * driver, and the resident kernel's own code on threads. Slots and buffers, parking and waking.
 */
#include "support.h"

#include <pthread.h>

#include <signal.h>
#include <stdlib.h>

#include "runtime/internal.h"

static vyre_options fake_options(uint64_t park_ns)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CUDA;
    options.host = VYRE_FAKE_HOST;
    options.workers = 3;
    options.park_ns = park_ns;
    return options;
}

static vyre *open_fake(uint64_t park_ns)
{
    vyre_options options = fake_options(park_ns);
    return open_with(&options);
}

static void run_nops(vyre_queue *queue, uint32_t count, const char *what)
{
    uint32_t done_count = 0;
    for (uint32_t i = 0; i < count; i++)
        done_count += wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome == VYRE_DONE;
    is_u64(done_count, count, "%s: every slot is done", what);
}

static void test_slots(void)
{
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    vyre *rt = open_fake(0);
    must(vyre_describe(rt, &description, &err), &err);
    is_u64(description.backend, VYRE_BACKEND_CUDA, "the backend is CUDA");
    is_u64(description.place, VYRE_PLACE_HOST, "in a device host");
    vyre_queue *queue = open_queue(rt, 64, 0);
    run_nops(queue, 50, "one at a time");
    uint64_t last = 0;
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 48; i++)
            must(vyre_prep_op(next_slot(queue), VYRE_OP_NOP, NULL, 0, &err), &err);
        last = submit(queue) + 47;
        for (uint64_t ticket = last - 47; ticket <= last; ticket++)
            if (wait_for(queue, ticket).outcome != VYRE_DONE) bail("a slot of a burst failed");
    }
    ok(last > 0, "bursts are done");
    /* The last slot that was not plain may be half of 32 bits behind. */
    queue->special = (uint32_t)queue->submitted - 0x80000001u;
    is_u64(wait_for(queue, submit_op(queue, VYRE_OP_PRINTF, NULL, 0)).outcome, VYRE_DONE,
           "one that is not plain, after very many that were");
    vyre_close(rt);
}

static void test_buffers(void)
{
    enum { BYTES = 3 << 20 };
    vyre_buffer *large = NULL, *small = NULL;
    unsigned char *data = malloc(BYTES), *back = malloc(BYTES);
    vyre_error err;
    vyre *rt = open_fake(0);
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 13 + i / 1000);
    works(vyre_buffer_create(rt, BYTES, VYRE_DEVICE, &large, &err), &err, "a device buffer");
    works(vyre_buffer_create(rt, 100, VYRE_DEVICE, &small, &err), &err, "a small one");
    works(vyre_buffer_read(large, 0, back, BYTES, &err), &err, "read it");
    ok(back[0] == 0 && memcmp(back, back + 1, BYTES - 1) == 0, "it is zero at first");
    works(vyre_buffer_write(large, 0, data, BYTES, &err), &err, "write it");
    works(vyre_buffer_read(large, 0, back, BYTES, &err), &err, "read it again");
    ok(memcmp(data, back, BYTES) == 0, "the same bytes");
    vyre_buffer_free(small); /* beside the kernel */
    run_nops(vyre_queue_default(rt), 3, "after a free");
    vyre_close(rt);
    free(data);
    free(back);
}

/* The kernel has parked, whoever wakes it next. */
static void await_parked(vyre *rt)
{
    while (__atomic_load_n(&rt->page->sleepers, __ATOMIC_ACQUIRE) == 0)
        breathe();
}

static void test_park(void)
{
    vyre *rt = open_fake(2000000);
    vyre_queue *queue = vyre_queue_default(rt);
    for (uint32_t i = 0; i < 20; i++) {
        await_parked(rt);
        run_nops(queue, 3, "after an idle time");
    }
    await_parked(rt);
    uint32_t left = __atomic_load_n(&rt->page->left, __ATOMIC_ACQUIRE);
    ok(left >= 10, "the kernel left the GPU most of those times (%u)", left);
    vyre_close(rt);
    ok(1, "closed while parked");
}

struct producer {
    pthread_t thread;
    vyre_queue *queue;
    uint64_t seed;
    uint32_t rounds, done;
};

static void *produce(void *argument)
{
    struct producer *self = argument;
    for (uint32_t i = 0; i < self->rounds; i++) {
        uint64_t ticket = submit_op(self->queue, VYRE_OP_NOP, NULL, 0);
        self->done += wait_for(self->queue, ticket).outcome == VYRE_DONE;
        /* Until it has parked, or as it does. */
        const struct dev_page *page = self->queue->runtime->page;
        bool waits = random_below(&self->seed, 4) != 0;
        for (uint32_t looks = 0; waits && __atomic_load_n(&page->sleepers, __ATOMIC_RELAXED) == 0;
             looks++) {
            if (looks < 1000)
                sched_yield();
            else
                breathe();
        }
        for (uint32_t spin = random_below(&self->seed, 3000); spin > 0; spin--)
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    return NULL;
}

/* A kernel that leaves as soon as nothing is to be done, and two who have something for it,
 * together and one after the other. */
static void test_rounds(uint64_t seed, uint32_t rounds, const char *what)
{
    vyre *rt = open_fake(1);
    struct producer producer[2];
    for (uint32_t i = 0; i < 2; i++) {
        producer[i] =
            (struct producer){.queue = open_queue(rt, 16, i), .seed = seed + i, .rounds = rounds};
        if (pthread_create(&producer[i].thread, NULL, produce, &producer[i])) bail("no thread");
    }
    for (uint32_t i = 0; i < 2; i++) {
        pthread_join(producer[i].thread, NULL);
        is_u64(producer[i].done, rounds, "%s: every slot is done", what);
    }
    await_parked(rt);
    uint32_t launches = __atomic_load_n(&rt->page->sleepers, __ATOMIC_ACQUIRE);
    note("%s: %u launches", what, launches);
    ok(launches > rounds / 4, "%s: the kernel has parked again and again", what);
    vyre_close(rt);
}

static void test_no_waits(uint64_t seed)
{
    setenv("VYRE_FAKE_NO_WAITS", "1", 1);
    test_rounds(seed, 50, "streams that cannot wait");
    unsetenv("VYRE_FAKE_NO_WAITS");
}

/* Native operations are linked while the kernel is parked, and the next launch in its stream. */
static void test_link(void)
{
    static const char ptx[] = ".version 7.0\n";
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    vyre *rt = open_fake(1000000);
    vyre_queue *queue = vyre_queue_default(rt);
    how.image = ptx;
    how.image_bytes = sizeof ptx - 1;
    how.function = "op";
    for (uint32_t i = 0; i < 5; i++) {
        how.opcode = 1000 + i;
        await_parked(rt);
        breathe();
        works(vyre_operation_register(rt, &how, &operation, &err), &err, "link while parked");
        run_nops(queue, 2, "after a link");
    }
    await_parked(rt);
    works(vyre_stop(rt, &err), &err, "it stops while it is armed");
    vyre_close(rt);
}

/* How often the host was started again, as soon as it was `least` times or will not be any more. */
static uint32_t await_restarts(vyre *rt, uint32_t least)
{
    vyre_description description = VYRE_DESCRIPTION_INIT;
    for (uint64_t waited = 0;
         waited < PATIENCE_NS && description.restarts < least && !description.stopped;
         waited += 50000) {
        breathe();
        vyre_describe(rt, &description, NULL);
    }
    return description.restarts;
}

/* One life with two deaths: how often the host was started again. *ended: slots that have. */
static uint32_t die_twice(uint64_t park_ns, uint32_t *ended)
{
    vyre_options options = fake_options(park_ns);
    vyre *rt = NULL;
    uint32_t restarts = 0;
    vyre_error err;
    *ended = 0;
    if (vyre_open(&rt, &options, &err)) return 0;
    vyre_queue *queue = vyre_queue_default(rt);
    for (uint32_t i = 0; i < 2 && restarts >= i; i++) {
        uint64_t ticket;
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        if (vyre_queue_submit(queue, &ticket, &err)) break;
        vyre_completion end = wait_for(queue, ticket);
        *ended += end.outcome == VYRE_DONE || end.outcome == VYRE_LOST;
        restarts = await_restarts(rt, i + 1);
    }
    vyre_close(rt);
    return restarts;
}

/* A kernel that dies takes its host with it, and the application starts another. It dies where it
 * would park, long after what opening asks of it; where that takes longer it has more time. */
static void test_death(void)
{
    uint32_t ended = 0, restarts = 0;
    setenv("VYRE_FAKE_DEATH", "1", 1);
    for (uint64_t park_ns = 400000000; restarts < 2 && park_ns < PATIENCE_NS / 2; park_ns *= 2)
        restarts = die_twice(park_ns, &ended);
    ok(restarts >= 2, "the host was started again (%u times)", restarts);
    is_u64(ended, 2, "every slot ends, done or lost");
    unsetenv("VYRE_FAKE_DEATH");
}

/* A new host that takes long to park its kernel, which the link of what was registered needs, is
 * asked again: nothing else is wrong with it. */
static void test_slow_link(void)
{
    static const char ptx[] = ".version 7.0\n";
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    vyre *rt = open_fake(PATIENCE_NS); /* it does not park before it is told to */
    how.opcode = 1000;
    how.image = ptx;
    how.image_bytes = sizeof ptx - 1;
    how.function = "op";
    vyre_status status = vyre_operation_register(rt, &how, &operation, &err);
    for (uint32_t i = 0; status == VYRE_E_BUSY && i < 100; i++) /* the machine is slow */
        status = vyre_operation_register(rt, &how, &operation, &err);
    must(status, &err);
    must(vyre_describe(rt, &description, &err), &err);
    setenv("VYRE_FAKE_SLOW", "1", 1);
    kill((pid_t)description.host_pid, SIGKILL);
    is_u64(await_restarts(rt, 1), 1, "a host whose kernel parks late takes the place of one");
    run_nops(vyre_queue_default(rt), 2, "after a slow link");
    vyre_close(rt);
    unsetenv("VYRE_FAKE_SLOW");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    test_slots();
    test_buffers();
    test_park();
    test_rounds(seed, 1000, "two producers");
    test_no_waits(seed);
    test_link();
    test_slow_link();
    test_death();
    return done();
}
