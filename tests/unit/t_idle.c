/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Idle costs nothing: 10 ms after its last slot a runtime uses no measurable CPU time, with threads
 * that wait on it and watch it too; and it wakes again.
 *
 * The one test whose verdict depends on a clock: the process's own CPU clock, over windows of 300
 * ms of which the best counts.
 */
#include "support.h"

enum { WINDOWS = 5, WINDOW_US = 300000 };

static const uint64_t limit_ns = UNDER_TSAN || UNDER_ASAN ? 20000000 : 2000000;

static uint64_t cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* CPU time of the quietest of a few windows, each after a slot and 10 ms. */
static uint64_t quietest(vyre_queue *queue)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < WINDOWS && best > limit_ns; i++) {
        wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
        usleep(10000);
        uint64_t before = cpu_ns();
        usleep(WINDOW_US);
        uint64_t used = cpu_ns() - before;
        if (used < best) best = used;
    }
    return best;
}

static void check_idle(vyre_queue *queue, const char *name)
{
    uint64_t used = quietest(queue);
    ok(used < limit_ns, "%s: %llu ns of CPU time in 300 ms", name, (unsigned long long)used);
}

static void *wait_on(void *queue)
{
    vyre_completion end;
    return (void *)(uintptr_t)(vyre_wait(queue, 0, VYRE_FOREVER, &end, NULL) == VYRE_OK);
}

static uint32_t sleep_run(vyre_call *call)
{
    struct gate *gate = call->ctx;
    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->open))
        usleep(20000);
    return 0;
}

/* The machine can measure it: a busy process is not idle. */
static void control(void)
{
    uint64_t before = cpu_ns();
    while (cpu_ns() - before < 2 * limit_ns) {}
    ok(cpu_ns() - before >= limit_ns, "work shows on this clock");
}

int main(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(4);
    vyre_queue *queue = vyre_queue_default(rt), *waited = open_queue(rt, 4, 0);
    vyre_error err;
    pthread_t thread;
    void *ended = NULL;
    int fd;
    control();
    check_idle(queue, "four workers");
    must(vyre_queue_event_fd(queue, &fd, &err), &err);
    check_idle(queue, "with a watcher");

    /* A slot that sleeps on one worker, and a thread that waits for it. */
    register_op(rt, 100, sleep_run, &gate);
    hold_worker(waited, 100, &gate);
    must(vyre_queue_set_wait_mode(waited, VYRE_WAIT_ADAPTIVE, &err), &err);
    if (pthread_create(&thread, NULL, wait_on, waited) != 0) bail("no thread");
    check_idle(queue, "with a thread that waits");
    must(vyre_prep_fence(next_slot(waited), 0, 0, &err), &err);
    submit(waited);
    check_idle(queue, "with a fence that waits");
    atomic_store(&gate.open, 1);
    pthread_join(thread, &ended);
    ok(ended != NULL, "the waiting thread was woken");
    is_u64(wait_for(waited, 1).outcome, VYRE_DONE, "the fence went on");

    uint32_t woken = 0;
    for (int i = 0; i < 50; i++) {
        usleep(2000);
        woken += wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome == VYRE_DONE;
    }
    is_u64(woken, 50, "it wakes from its sleep each time");
    vyre_close(rt);
    return done();
}
