/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The whole way to a GPU without one: an application, a device host, the CUDA backend, the fake
 * driver, and the resident kernel's own code on threads. Slots and buffers, parking and waking.
 */
#include "support.h"

#include <stdlib.h>

#include "runtime/internal.h"

static vyre *open_fake(uint64_t park_ns)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CUDA;
    options.host = VYRE_FAKE_HOST;
    options.workers = 3;
    options.park_ns = park_ns;
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

static void test_park(void)
{
    vyre *rt = open_fake(2000000);
    vyre_queue *queue = vyre_queue_default(rt);
    struct timespec longer = {0, 15000000};
    for (uint32_t i = 0; i < 20; i++) {
        nanosleep(&longer, NULL);
        run_nops(queue, 3, "after an idle time");
    }
    nanosleep(&longer, NULL);
    uint32_t left = __atomic_load_n(&rt->page->left, __ATOMIC_ACQUIRE);
    ok(left >= 10, "the kernel left the GPU most of those times (%u)", left);
    vyre_close(rt);
    ok(1, "closed while parked");
}

/* How often the host was started again, as soon as it was `least` times. */
static uint32_t await_restarts(vyre *rt, uint32_t least)
{
    vyre_description description = VYRE_DESCRIPTION_INIT;
    for (uint64_t waited = 0; waited < PATIENCE_NS && description.restarts < least;
         waited += 50000) {
        breathe();
        vyre_describe(rt, &description, NULL);
    }
    return description.restarts;
}

/* A kernel that dies takes its host with it, and the application starts another. It dies where it
 * would park, long after what opening asks of it. */
static void test_death(void)
{
    uint32_t ended = 0;
    setenv("VYRE_FAKE_DEATH", "1", 1);
    vyre *rt = open_fake(400000000);
    vyre_queue *queue = vyre_queue_default(rt);
    for (uint32_t i = 0; i < 2; i++) {
        vyre_completion end = wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
        ended += end.outcome == VYRE_DONE || end.outcome == VYRE_LOST;
        uint32_t restarts = await_restarts(rt, i + 1);
        ok(restarts > i, "the host was started again (%u times)", restarts);
    }
    is_u64(ended, 2, "every slot ends, done or lost");
    vyre_close(rt);
    unsetenv("VYRE_FAKE_DEATH");
}

int main(void)
{
    test_slots();
    test_buffers();
    test_park();
    test_death();
    return done();
}
