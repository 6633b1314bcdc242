/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pausing and resuming: worker threads, a device host with them, and the CUDA backend over the fake
 * driver. What is submitted meanwhile waits; what cannot be paused goes on; a host that dies comes
 * back paused; closing needs no resume.
 */
#include "cuda_fixture.h"

#include <signal.h>

#include "runtime/internal.h"

enum place { CPU_PROCESS = 0, CPU_HOST = 1, FAKE_GPU = 2, PLACES = 3 };

static const char *const place_name[] = {"cpu", "cpu in a host", "fake gpu"};

static vyre_options options_of(enum place place)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = place == FAKE_GPU ? VYRE_BACKEND_CUDA : VYRE_BACKEND_CPU;
    options.workers = 3;
    options.place = place == CPU_PROCESS ? VYRE_PLACE_PROCESS : VYRE_PLACE_HOST;
    if (place == FAKE_GPU) options.host = VYRE_FAKE_HOST;
    return options;
}

static vyre *open_place(enum place place)
{
    vyre_options options = options_of(place);
    return open_with(&options);
}

static vyre_description describe(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    return about;
}

static void rest(uint32_t ms)
{
    struct timespec moment = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&moment, NULL);
}

/* Pauses what can be paused: where the machine is slow, slots take longer than a pause waits. */
static void pause_soon(vyre *rt)
{
    vyre_error err;
    vyre_status status = vyre_pause(rt, &err);
    for (uint32_t tries = 1; status == VYRE_E_BUSY && tries < 60; tries++) {
        note("pausing again");
        status = vyre_pause(rt, &err);
    }
    must(status, &err);
}

static uint64_t submit_nops(vyre_queue *queue, uint32_t count)
{
    vyre_error err;
    for (uint32_t i = 0; i < count; i++)
        must(vyre_prep_nop(next_slot(queue), &err), &err);
    return submit(queue);
}

static uint32_t count_done(vyre_queue *queue, uint64_t first, uint32_t count)
{
    uint32_t done_count = 0;
    for (uint32_t i = 0; i < count; i++)
        done_count += wait_for(queue, first + i).outcome == VYRE_DONE;
    return done_count;
}

/* Nothing of the queue ends for a while. */
static bool nothing_ends(vyre_queue *queue, uint64_t ticket)
{
    vyre_completion end;
    vyre_error err;
    return vyre_wait(queue, ticket, 60000000, &end, &err) == VYRE_E_TIMEOUT;
}

static void test_pause(enum place place)
{
    const char *name = place_name[place];
    uint32_t word = 17, back = 0;
    vyre_buffer *buffer = NULL, *other = NULL;
    vyre_queue *another = NULL;
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_queue *queue = vyre_queue_default(rt);
    must(vyre_buffer_create(rt, 64, VYRE_DEVICE, &buffer, &err), &err);
    must(vyre_buffer_create(rt, 64, VYRE_DEVICE, &other, &err), &err);
    works(vyre_resume(rt, &err), &err, "%s: resumed what was not paused", name);
    uint64_t before = submit_nops(queue, 40);
    pause_soon(rt);
    is_u64(describe(rt).paused, 1, "%s: it says so", name);
    works(vyre_pause(rt, &err), &err, "%s: paused twice", name);
    uint32_t left = __atomic_load_n(&rt->page->left, __ATOMIC_ACQUIRE);
    uint64_t first = submit_nops(queue, 40);
    ok(nothing_ends(queue, first), "%s: what is submitted waits", name);
    if (place == FAKE_GPU) {
        ok(__atomic_load_n(&rt->page->poller, __ATOMIC_ACQUIRE) == 0 &&
               __atomic_load_n(&rt->page->left, __ATOMIC_ACQUIRE) == left,
           "%s: and launches no kernel", name);
    }
    works(vyre_buffer_write(buffer, 0, &word, sizeof word, &err), &err, "%s: written", name);
    works(vyre_buffer_read(buffer, 0, &back, sizeof back, &err), &err, "%s: read", name);
    is_u64(back, word, "%s: buffers can be copied", name);
    refused(vyre_queue_open(rt, NULL, &another, &err), VYRE_E_STATE, &err, "%s: no new queue",
            name);
    vyre_buffer *none = NULL;
    refused(vyre_buffer_create(rt, 64, VYRE_DEVICE, &none, &err), VYRE_E_STATE, &err,
            "%s: no new buffer", name);
    vyre_operation_options native = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    native.opcode = 0x40000003;
    native.image = "// no PTX";
    native.image_bytes = 10;
    native.function = "nothing";
    if (place == FAKE_GPU)
        refused(vyre_operation_register(rt, &native, &operation, &err), VYRE_E_STATE, &err,
                "%s: nothing is linked", name);
    uint32_t handles = describe(rt).handles;
    vyre_buffer_free(other);
    is_u64(describe(rt).handles, handles, "%s: a buffer that is freed waits", name);
    works(vyre_resume(rt, &err), &err, "%s: resumed", name);
    is_u64(count_done(queue, before, 40), 40, "%s: what came just before it is done", name);
    is_u64(count_done(queue, first, 40), 40, "%s: so is what waited", name);
    is_u64(describe(rt).paused, 0, "%s: it says so", name);
    for (uint64_t waited = 0; describe(rt).handles == handles && waited < PATIENCE_NS;
         waited += 50000)
        breathe();
    is_u64(describe(rt).handles, handles - 1, "%s: and the buffer is gone", name);
    works(vyre_queue_open(rt, NULL, &another, &err), &err, "%s: queues can be opened again", name);
    for (uint32_t i = 0; i < 20; i++) {
        pause_soon(rt);
        first = submit_nops(another, 5);
        must(vyre_resume(rt, &err), &err);
        if (count_done(another, first, 5) != 5) bail("a slot was lost");
    }
    ok(1, "%s: twenty times in a row", name);
    vyre_close(rt);
}

/* Fences have to be let go while no new slot is taken. */
static void test_fence(enum place place)
{
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_queue *queue = open_queue(rt, 256, 0);
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < 30; round++) {
        for (uint32_t i = 0; i < 60; i++)
            must(i % 4 == 3 ? vyre_prep_fence(next_slot(queue), 0, 0, &err)
                            : vyre_prep_printf(next_slot(queue), 0, 0, 0, &err),
                 &err);
        uint64_t first = submit(queue);
        pause_soon(rt);
        must(vyre_resume(rt, &err), &err);
        wrong += count_done(queue, first, 60) != 60;
    }
    is_u64(wrong, 0, "%s: pauses among fences", place_name[place]);
    vyre_close(rt);
}

static void test_close(enum place place)
{
    const char *name = place_name[place];
    vyre_completion ends[64];
    size_t count = 0;
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_queue *queue = vyre_queue_default(rt);
    pause_soon(rt);
    submit_nops(queue, 30);
    works(vyre_stop(rt, &err), &err, "%s: stopped while paused", name);
    vyre_queue_reap_wait(queue, ends, 30, 64, PATIENCE_NS, &count, &err);
    is_u64(count, 30, "%s: every slot has ended", name);
    refused(vyre_pause(rt, &err), VYRE_E_STOPPED, &err, "%s: not after a stop", name);
    refused(vyre_resume(rt, &err), VYRE_E_STOPPED, &err, "%s: nor resumed", name);
    vyre_close(rt);
    rt = open_place(place);
    pause_soon(rt);
    vyre_close(rt);
    ok(1, "%s: closed while paused", name);
}

/* Slots that do not end, and a call from inside one. */
struct inside {
    vyre *rt;
    vyre_status pause, resume;
};

static uint32_t pause_inside(vyre_call *call)
{
    struct inside *inside = call->ctx;
    vyre_error err;
    inside->pause = vyre_pause(inside->rt, &err);
    inside->resume = vyre_resume(inside->rt, &err);
    return 0;
}

static void test_worker(void)
{
    struct gate gate = {0};
    struct inside inside = {0};
    vyre_error err;
    vyre *rt = open_place(CPU_PROCESS);
    vyre_queue *queue = vyre_queue_default(rt);
    inside.rt = rt;
    register_op(rt, 0x40000001, gate_run, &gate);
    register_op(rt, 0x40000002, pause_inside, &inside);
    wait_for(queue, submit_op(queue, 0x40000002, NULL, 0));
    ok(inside.pause == VYRE_E_STATE && inside.resume == VYRE_E_STATE,
       "a native operation can neither pause nor resume");
    uint64_t held = hold_worker(queue, 0x40000001, &gate);
    refused(vyre_pause(rt, &err), VYRE_E_BUSY, &err, "a slot that does not end");
    is_u64(describe(rt).paused, 0, "it is not paused");
    is_u64(count_done(queue, submit_nops(queue, 5), 5), 5, "others go on");
    atomic_store(&gate.open, 1);
    pause_soon(rt);
    is_u64(describe(rt).paused, 1, "when it has ended it can be paused");
    is_u64(wait_for(queue, held).outcome, VYRE_DONE, "the slot is done");
    vyre_close(rt);
}

/* A close from another thread waits. */
static void *close_queue(void *argument)
{
    vyre_queue_close(*(vyre_queue **)argument);
    return NULL;
}

static void test_waiting_close(enum place place)
{
    pthread_t thread;
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_queue *queue = open_queue(rt, 16, 0);
    pause_soon(rt);
    pthread_create(&thread, NULL, close_queue, &queue);
    rest(30);
    uint32_t queues = describe(rt).queues;
    is_u64(queues, 2, "%s: a queue that is closed waits", place_name[place]);
    must(vyre_resume(rt, &err), &err);
    pthread_join(thread, NULL);
    is_u64(describe(rt).queues, 1, "%s: until it is resumed", place_name[place]);
    pause_soon(rt);
    queue = vyre_queue_default(rt);
    vyre_close(rt);
}

static void test_watchdog(enum place place)
{
    vyre_options options = options_of(place);
    vyre_error err;
    options.stall_ns = 20000000;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    pause_soon(rt);
    uint64_t first = submit_nops(queue, 3);
    rest(100); /* what was due before it is said by now */
    uint32_t stalls = describe(rt).stalls;
    rest(200);
    is_u64(describe(rt).stalls, stalls, "%s: a pause is no stall", place_name[place]);
    must(vyre_resume(rt, &err), &err);
    is_u64(count_done(queue, first, 3), 3, "%s: and it goes on", place_name[place]);
    vyre_close(rt);
}

static void await_restart(vyre *rt, uint32_t restarts)
{
    for (uint64_t waited = 0; describe(rt).restarts == restarts; waited += 50000) {
        if (waited > PATIENCE_NS) bail("no new host came");
        breathe();
    }
}

static void test_death(enum place place)
{
    const char *name = place_name[place];
    vyre_buffer_options restored = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    uint32_t word = 4711, back = 0;
    vyre_error err;
    vyre *rt = open_place(place);
    vyre_queue *queue = vyre_queue_default(rt), *second = open_queue(rt, 64, 0);
    restored.flags = VYRE_BUFFER_RESTORED;
    must(vyre_buffer_create_with(rt, 64, &restored, &buffer, &err), &err);
    must(vyre_buffer_write(buffer, 0, &word, sizeof word, &err), &err);
    pause_soon(rt);
    vyre_slot *slot = next_slot(second);
    must(vyre_prep_nop(slot, &err), &err);
    must(vyre_slot_repeatable(second, slot, &err), &err);
    uint64_t repeated = submit(second), first = submit_nops(queue, 10), later = 0;
    for (uint32_t round = 0; round < 2; round++) {
        kill((pid_t)describe(rt).host_pid, SIGKILL);
        await_restart(rt, round);
        is_u64(describe(rt).paused, 1, "%s: a new host is paused", name);
        if (round == 0) {
            uint32_t lost = 0;
            for (uint32_t i = 0; i < 10; i++)
                lost += wait_for(queue, first + i).outcome == VYRE_LOST;
            is_u64(lost, 10, "%s: what the dead one had is lost, and said so at once", name);
            first = submit_nops(queue, 10);
        }
        ok(nothing_ends(queue, first), "%s: it runs nothing", name);
        ok(nothing_ends(second, repeated), "%s: neither what may run again", name);
    }
    later = submit_nops(second, 10);
    works(vyre_buffer_read(buffer, 0, &back, sizeof back, &err), &err, "%s: it can be read", name);
    is_u64(back, word, "%s: a restored buffer is there", name);
    works(vyre_resume(rt, &err), &err, "%s: resumed", name);
    is_u64(count_done(queue, first, 10), 10, "%s: what waited is done", name);
    is_u64(wait_for(second, repeated).outcome, VYRE_DONE, "%s: and what may run again", name);
    is_u64(count_done(second, later, 10), 10, "%s: so is what came to a new host", name);
    kill((pid_t)describe(rt).host_pid, SIGKILL);
    await_restart(rt, 2);
    is_u64(describe(rt).paused, 0, "%s: the next host is not paused", name);
    is_u64(count_done(queue, submit_nops(queue, 10), 10), 10, "%s: and runs slots", name);
    pause_soon(rt);
    submit_nops(second, 10);
    kill((pid_t)describe(rt).host_pid, SIGKILL);
    await_restart(rt, 3);
    vyre_close(rt);
    ok(1, "%s: closed with a new host that is paused", name);
}

/* Threads that submit, and others that pause and resume. */
struct busy {
    vyre *rt;
    vyre_queue *queue;
    pthread_t thread;
    _Atomic uint32_t *stop;
    _Atomic uint32_t done;
    uint32_t wrong;
};

static void *keep_submitting(void *argument)
{
    struct busy *busy = argument;
    while (!atomic_load(busy->stop)) {
        uint64_t first = submit_nops(busy->queue, 8);
        busy->wrong += count_done(busy->queue, first, 8) != 8;
        busy->done += 8;
        rest(1);
    }
    return NULL;
}

static void *keep_pausing(void *argument)
{
    struct busy *busy = argument;
    vyre_error err;
    while (!atomic_load(busy->stop)) {
        vyre_status status = vyre_pause(busy->rt, &err);
        busy->wrong += status != VYRE_OK && status != VYRE_E_BUSY;
        busy->done += status == VYRE_OK;
        busy->wrong += vyre_resume(busy->rt, &err) != VYRE_OK;
    }
    return NULL;
}

static void test_threads(enum place place)
{
    _Atomic uint32_t stop = 0;
    struct busy busy[4] = {{0}};
    vyre *rt = open_place(place);
    for (uint32_t i = 0; i < 4; i++) {
        busy[i].rt = rt;
        busy[i].stop = &stop;
        busy[i].queue = i < 2 ? open_queue(rt, 64, 0) : NULL;
        pthread_create(&busy[i].thread, NULL, i < 2 ? keep_submitting : keep_pausing, &busy[i]);
    }
    rest(500);
    if (!reaches(&busy[0].done, 1)) note("no slot ends");
    if (!reaches(&busy[2].done, 1)) note("no pause begins");
    atomic_store(&stop, 1);
    uint32_t wrong = 0, done_count = 0, pauses = 0;
    for (uint32_t i = 0; i < 4; i++) {
        pthread_join(busy[i].thread, NULL);
        wrong += busy[i].wrong;
        *(i < 2 ? &done_count : &pauses) += atomic_load(&busy[i].done);
    }
    is_u64(wrong, 0, "%s: threads that pause among threads that submit", place_name[place]);
    ok(done_count > 0 && pauses > 0, "%s: %u slots, %u pauses", place_name[place], done_count,
       pauses);
    vyre_close(rt);
}

/* The CUDA backend alone: a kernel that does not leave, and one that leaves too late. */
static void test_backend(void)
{
    struct rig rig;
    vyre_error err;
    fake_reset();
    start(&rig, 7);
    refused(cuda->pause(rig.run, &err), VYRE_E_BUSY, &err, "a kernel that does not leave");
    cuda->wake(rig.run);
    tell(TOLD);
    ok(reaches(&stub.began, 2), "when it leaves at last, it is launched again at once");
    tell(TOLD);
    works(cuda->pause(rig.run, &err), &err, "one that leaves");
    is_u64(__atomic_load_n(&fake.running, __ATOMIC_ACQUIRE), 0, "no kernel runs or is armed");
    cuda->wake(rig.run);
    dev_wake_parked(rig_page(&rig));
    rest(20);
    is_u64(atomic_load(&stub.began), 2, "one who wakes it does not begin another");
    cuda->resume(rig.run);
    ok(reaches(&stub.began, 3), "resuming does");
    finish(&rig, "a paused kernel");
}

int main(void)
{
    vyre_error err;
    refused(vyre_pause(NULL, &err), VYRE_E_NULL, &err, "no runtime to pause");
    refused(vyre_resume(NULL, &err), VYRE_E_NULL, &err, "no runtime to resume");
    for (enum place place = CPU_PROCESS; place < PLACES; place++) {
        test_pause(place);
        test_fence(place);
        test_close(place);
        test_waiting_close(place);
        test_watchdog(place);
        test_threads(place);
    }
    test_worker();
    test_death(CPU_HOST);
    test_death(FAKE_GPU);
    setenv("VYRE_FAKE_NO_WAITS", "1", 1);
    test_pause(FAKE_GPU);
    unsetenv("VYRE_FAKE_NO_WAITS");
    test_backend();
    return done();
}
