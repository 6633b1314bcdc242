/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Stopping from any state: with slots that run, that wait, that are in the ring and that were never
 * submitted; while others submit, wait and poll. Every accepted slot ends exactly once, done or
 * stopped.
 */
#include "support.h"

#include <poll.h>

enum { PATIENT = 100, GATE = 101 };

static uint32_t patient_run(vyre_call *call)
{
    struct gate *gate = call->ctx;
    atomic_fetch_add(&gate->entered, 1);
    while (!vyre_call_cancelled(call))
        breathe();
    return 0;
}

static bool stopped(const vyre_completion *end)
{
    return end->outcome == VYRE_CANCELLED && end->fault == VYRE_FAULT_STOPPED;
}

static void in_every_state(uint32_t workers, uint32_t flags)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(workers);
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_completion end;
    vyre_error err;
    options.flags = flags;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    register_op(rt, PATIENT, patient_run, &gate);
    for (uint32_t i = 0; i < workers; i++)
        submit_op(queue, PATIENT, NULL, 0);
    if (!reaches(&gate.entered, workers)) bail("not all workers run the operation");
    for (uint32_t i = 0; i < 30; i++) {
        if (i % 10 == 4) must(vyre_prep_fence(next_slot(queue), 0, 9, &err), &err);
        if (i % 10 != 4) must(vyre_prep_atomic_add(next_slot(queue), WORD(1), 1, &err), &err);
        submit(queue);
    }
    must(vyre_prep_atomic_add(next_slot(queue), WORD(1), 1000, &err), &err);
    works(vyre_stop(rt, &err), &err, "%u workers, all busy, %s: stop", workers,
          flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed");
    uint32_t wrong = 0;
    for (uint64_t t = 0; t < workers; t++)
        wrong += wait_for(queue, t).outcome != VYRE_DONE;
    is_u64(wrong, 0, "what ran has finished");
    for (uint64_t t = workers; t < workers + 30u; t++) {
        end = wait_for(queue, t);
        wrong += !stopped(&end);
    }
    is_u64(wrong, 0, "what waited has been stopped");
    is_u64(observable(rt, 0, 1) + observable(rt, 0, 0), 0, "and had no effect");
    refused(vyre_queue_submit(queue, NULL, &err), VYRE_E_STOPPED, &err, "nothing more is taken");
    refused(vyre_wait(queue, workers + 30u, 0, &end, &err), VYRE_E_NOT_FOUND, &err,
            "what was not submitted has no end");
    is_u64(vyre_queue_outstanding(queue), 0, "nothing is outstanding");
    vyre_close(rt);
}

struct producer {
    vyre *rt;
    vyre_queue *queue;
    uint64_t state;
    _Atomic uint32_t accepted;
    uint32_t received, lost, wrong;
};

/* Submits and reaps until the runtime refuses; then receives the rest. */
static void *produce(void *argument)
{
    struct producer *p = argument;
    vyre_completion ends[64];
    vyre_status status = VYRE_OK;
    size_t count = 0;
    while (status == VYRE_OK) {
        uint32_t batch = 1 + random_below(&p->state, 16), got = 0;
        for (; got < batch; got++) {
            vyre_slot *slot = vyre_queue_slot(p->queue);
            if (!slot) break;
            uint32_t opcode = random_below(&p->state, 8) ? VYRE_OP_NOP : VYRE_OP_BATCH_FENCE;
            p->wrong += vyre_prep_op(slot, opcode, NULL, 0, NULL) != VYRE_OK;
            p->wrong += vyre_slot_priority(slot, random_below(&p->state, 5), NULL) != VYRE_OK;
        }
        status = vyre_queue_submit(p->queue, NULL, NULL);
        if (status == VYRE_OK) atomic_fetch_add(&p->accepted, got);
        p->wrong += vyre_queue_reap(p->queue, ends, 64, &count, NULL) != VYRE_OK;
        p->received += (uint32_t)count;
    }
    p->wrong += status != VYRE_E_STOPPED;
    while (p->received < atomic_load(&p->accepted) && count != 0xFFFF) {
        status = vyre_queue_reap_wait(p->queue, ends, 1, 64, PATIENCE_NS, &count, NULL);
        for (size_t i = 0; i < count; i++) {
            p->lost += ends[i].outcome == VYRE_LOST;
            p->wrong += ends[i].outcome != VYRE_DONE && !stopped(&ends[i]);
        }
        p->received += (uint32_t)count;
        if (status != VYRE_OK || count == 0) count = 0xFFFF;
    }
    return NULL;
}

static void while_submitting(uint64_t seed)
{
    enum { ROUNDS = 40, PRODUCERS = 3 };
    uint32_t wrong = 0, missing = 0, lost = 0;
    uint64_t total = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct producer producers[PRODUCERS];
        pthread_t threads[PRODUCERS];
        vyre *rt = open_cpu(1 + round % 3);
        vyre_error err;
        for (uint32_t i = 0; i < PRODUCERS; i++) {
            producers[i] = (struct producer){.rt = rt, .state = seed + round * 10 + i};
            producers[i].queue = open_queue(rt, 64, i);
            if (pthread_create(&threads[i], NULL, produce, &producers[i])) bail("no thread");
        }
        uint32_t enough = random_below(&seed, 2000);
        if (!reaches(&producers[0].accepted, enough)) bail("the producer stands still");
        must(vyre_stop(rt, &err), &err);
        for (uint32_t i = 0; i < PRODUCERS; i++) {
            pthread_join(threads[i], NULL);
            wrong += producers[i].wrong;
            lost += producers[i].lost;
            missing += producers[i].received != producers[i].accepted;
            missing += vyre_queue_outstanding(producers[i].queue) != 0;
            total += producers[i].accepted;
        }
        vyre_close(rt);
    }
    is_u64(missing, 0, "%u stops under load: each of %llu slots ended once", ROUNDS,
           (unsigned long long)total);
    is_u64(wrong, 0, "as done or stopped (%u were lost)", lost);
}

static void *wait_for_ever(void *argument)
{
    vyre_completion end = {.outcome = 0};
    vyre_status status = vyre_wait(argument, 0, VYRE_FOREVER, &end, NULL);
    return (void *)(uintptr_t)(status == VYRE_OK && stopped(&end));
}

/* A thread that waits for ever, and one that polls a descriptor, both learn of it. */
static void while_waiting(uint32_t wait_mode)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(1);
    vyre_queue *busy = vyre_queue_default(rt), *queue = open_queue(rt, 4, 0);
    vyre_queue *watched = open_queue(rt, 4, 0);
    vyre_error err;
    pthread_t thread;
    void *told = NULL;
    int fd = -1;
    must(vyre_queue_set_wait_mode(queue, wait_mode, &err), &err);
    must(vyre_queue_event_fd(watched, &fd, &err), &err);
    register_op(rt, PATIENT, patient_run, &gate);
    hold_worker(busy, PATIENT, &gate);
    submit_op(queue, VYRE_OP_NOP, NULL, 0);
    submit_op(watched, VYRE_OP_NOP, NULL, 0);
    if (pthread_create(&thread, NULL, wait_for_ever, queue) != 0) bail("no thread");
    usleep(10000);
    must(vyre_stop(rt, &err), &err);
    pthread_join(thread, &told);
    ok(told != NULL, "mode %u: who waits for ever is told", wait_mode);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    is_u64(poll(&poll_fd, 1, 60000), 1, "who polls is told");
    vyre_completion end = wait_for(watched, 0);
    ok(stopped(&end), "that it was stopped");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    in_every_state(1, VYRE_QUEUE_UNSEALED);
    in_every_state(2, VYRE_QUEUE_SEALED);
    in_every_state(5, VYRE_QUEUE_UNSEALED);
    while_submitting(seed);
    while_waiting(VYRE_WAIT_SPIN);
    while_waiting(VYRE_WAIT_ADAPTIVE);
    while_waiting(VYRE_WAIT_BLOCK);
    return done();
}
