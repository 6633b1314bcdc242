/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Cancelling: slots that are still in the ring, that wait, that run, that have ended; each ends
 * once, and one that was cancelled before it started had no effect. Deadlines are cancels by the
 * clock.
 */
#include "support.h"

enum { GATE = 100, PATIENT = 101, COUNT = 102 };

/* Runs until somebody wants its end; then fails with the code in its argument. */
static uint32_t patient_run(vyre_call *call)
{
    struct gate *gate = call->ctx;
    atomic_fetch_add(&gate->entered, 1);
    while (!vyre_call_cancelled(call))
        breathe();
    atomic_fetch_add(&gate->left, 1);
    call->result[0] = 42;
    return call->args[0];
}

static uint32_t count_run(vyre_call *call)
{
    atomic_fetch_add((_Atomic uint32_t *)call->ctx, 1);
    return 0;
}

static bool cancelled(const vyre_completion *end)
{
    return end->outcome == VYRE_CANCELLED && end->fault == VYRE_FAULT_CANCELLED;
}

/* Everything behind the fence stays in the ring while the gate is held. */
static void in_the_ring(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(2);
    vyre_queue *queue = open_queue(rt, 64, 0);
    vyre_error err;
    register_op(rt, GATE, gate_run, &gate);
    uint64_t held = hold_worker(queue, GATE, &gate);
    must(vyre_prep_fence(next_slot(queue), 0, 7, &err), &err);
    for (uint32_t i = 0; i < 20; i++)
        must(vyre_prep_atomic_add(next_slot(queue), WORD(1), 1, &err), &err);
    uint64_t first = submit(queue) + 1;
    for (uint32_t i = 0; i < 20; i += 2)
        if (vyre_cancel(queue, first + i, &err) != VYRE_OK) ok(0, "cancel: %s", err.message);
    works(vyre_cancel(queue, first, &err), &err, "a second cancel of the same slot");
    refused(vyre_cancel(queue, first + 20, &err), VYRE_E_NOT_FOUND, &err, "never submitted");
    refused(vyre_cancel(queue, held - 1, &err), VYRE_E_NOT_FOUND, &err, "before the first");
    atomic_store(&gate.open, 1);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 20; i++) {
        vyre_completion end = wait_for(queue, first + i);
        wrong += i % 2 ? end.outcome != VYRE_DONE : !cancelled(&end);
    }
    is_u64(wrong, 0, "every other slot was cancelled in the ring");
    is_u64(observable(rt, 0, 1), 10, "the others ran");
    /* A later lap of the ring has nothing of it. */
    for (uint32_t i = 0; i < 64; i++) {
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        wrong += wait_for(queue, submit(queue)).outcome != VYRE_DONE;
    }
    is_u64(wrong, 0, "the next lap is not cancelled");
    vyre_close(rt);
}

static void a_fence(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(2);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    register_op(rt, GATE, gate_run, &gate);
    uint64_t held = hold_worker(queue, GATE, &gate);
    must(vyre_prep_fence(next_slot(queue), 0, 7, &err), &err);
    must(vyre_prep_atomic_add(next_slot(queue), WORD(1), 1, &err), &err);
    uint64_t fence = submit(queue);
    works(vyre_cancel(queue, fence, &err), &err, "cancel a fence that waits");
    atomic_store(&gate.open, 1);
    vyre_completion end = wait_for(queue, fence);
    ok(cancelled(&end), "it ends as cancelled");
    is_u64(observable(rt, 0, 0), 0, "without its tag");
    ok(wait_for(queue, fence + 1).outcome == VYRE_DONE &&
           wait_for(queue, held).outcome == VYRE_DONE,
       "the slots around it are done");
    vyre_close(rt);
}

/* While it runs, also where it has the only worker. */
static void running(uint32_t workers)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(workers);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    register_op(rt, PATIENT, patient_run, &gate);
    static const uint32_t codes[] = {0, 7};
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t ticket = submit_op(queue, PATIENT, &codes[i], 1);
        if (!reaches(&gate.entered, i + 1)) bail("the slot was never run");
        works(vyre_cancel(queue, ticket, &err), &err, "%u workers: cancel a running slot", workers);
        vyre_completion end = wait_for(queue, ticket);
        ok(codes[i] ? end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_OPERATION &&
                          end.pc == codes[i]
                    : end.outcome == VYRE_DONE,
           "it saw the wish and ended as it chose");
        is_u64(end.result[0], 42, "its results are there");
        refused(vyre_cancel(queue, ticket, &err), VYRE_E_NOT_FOUND, &err, "now it has ended");
    }
    vyre_close(rt);
}

/* Slots that end on other workers: once received, a ticket is not found any more. */
static void after_the_end(void)
{
    _Atomic uint32_t runs = 0;
    vyre *rt = open_cpu(3);
    vyre_queue *queue = vyre_queue_default(rt);
    uint32_t found = 0;
    register_op(rt, COUNT, count_run, &runs);
    for (int i = 0; i < 1000; i++) {
        uint64_t ticket = submit_op(queue, i % 3 ? COUNT : VYRE_OP_NOP, NULL, 0);
        wait_for(queue, ticket);
        found += vyre_cancel(queue, ticket, NULL) != VYRE_E_NOT_FOUND;
    }
    is_u64(found, 0, "no ticket is found after its end was received");
    vyre_close(rt);
}

/* More slots that wait for their end than the in-flight table holds: each can still be cancelled.
 */
static void table_full(void)
{
    enum { QUEUES = 4, EACH = 12 };
    struct gate gate = {0}, patient = {0};
    vyre_options options = cpu_options(1);
    options.inflight_slots = 16;
    vyre *rt = open_with(&options);
    vyre_queue *queues[QUEUES];
    vyre_buffer *buffer = NULL;
    vyre_error err;
    uint32_t wrong = 0;
    register_op(rt, GATE, gate_run, &gate);
    register_op(rt, PATIENT, patient_run, &patient);
    must(vyre_buffer_create(rt, 64, VYRE_DEVICE, &buffer, &err), &err);
    for (uint32_t q = 0; q < QUEUES; q++)
        queues[q] = open_queue(rt, 16, q);
    hold_worker(vyre_queue_default(rt), GATE, &gate);
    for (uint32_t q = 0; q < QUEUES; q++) {
        for (uint32_t i = 0; i < EACH; i++)
            must(vyre_prep_op(next_slot(queues[q]), PATIENT, NULL, 0, &err), &err);
        submit(queues[q]);
    }
    atomic_store(&gate.open, 1); /* the next look takes from all queues, until the table is full */
    if (!reaches(&patient.entered, 1)) bail("no slot was run");
    vyre_buffer_free(buffer); /* it waits for the slots, and the cancels come behind it */
    for (uint32_t i = 0; i < QUEUES * EACH; i++)
        wrong += vyre_cancel(queues[i % QUEUES], i / QUEUES, &err) != VYRE_OK;
    for (uint32_t i = 0; i < QUEUES * EACH; i++) {
        vyre_completion end = wait_for(queues[i % QUEUES], i / QUEUES);
        wrong += end.outcome != VYRE_DONE && !cancelled(&end);
    }
    is_u64(wrong, 0, "48 slots that never end, a table of 16: all were cancelled");
    vyre_close(rt);
}

struct canceller {
    vyre_queue *queue;
    _Atomic uint64_t ticket; /* to be cancelled, plus 1 */
    _Atomic uint32_t stop;
    _Atomic uint32_t status; /* of the last cancel, plus 1000; 0: not yet */
};

static void *cancel_on(void *argument)
{
    struct canceller *canceller = argument;
    while (!atomic_load(&canceller->stop)) {
        uint64_t ticket = atomic_exchange(&canceller->ticket, 0);
        if (ticket == 0) {
            sched_yield();
            continue;
        }
        int32_t status = vyre_cancel(canceller->queue, ticket - 1, NULL);
        atomic_store(&canceller->status, (uint32_t)(1000 + status));
    }
    return NULL;
}

/* A cancel races with the run: found and not run, or run; never both, never neither. */
static void races(uint32_t workers, uint64_t state)
{
    _Atomic uint32_t runs = 0;
    vyre *rt = open_cpu(workers);
    struct canceller canceller = {.queue = open_queue(rt, 8, 0)};
    pthread_t thread;
    uint32_t wrong = 0, hits = 0, expected = 0;
    register_op(rt, COUNT, count_run, &runs);
    if (pthread_create(&thread, NULL, cancel_on, &canceller) != 0) bail("no thread");
    for (int round = 0; round < 600; round++) {
        vyre_error err;
        uint32_t ahead = random_below(&state, 6);
        for (uint32_t i = 0; i <= ahead; i++)
            must(vyre_prep_op(next_slot(canceller.queue), COUNT, NULL, 0, &err), &err);
        atomic_store(&canceller.status, 0);
        uint64_t ticket = submit(canceller.queue) + ahead;
        atomic_store(&canceller.ticket, ticket + 1);
        vyre_completion end = wait_for(canceller.queue, ticket);
        for (uint32_t i = 1; i <= ahead; i++)
            wrong += wait_for(canceller.queue, ticket - i).outcome != VYRE_DONE;
        while (!atomic_load(&canceller.status))
            sched_yield();
        bool found = atomic_load(&canceller.status) == 1000 + VYRE_OK;
        wrong += end.outcome != VYRE_DONE && !cancelled(&end);
        wrong += cancelled(&end) && !found;
        hits += cancelled(&end);
        expected += ahead + (end.outcome == VYRE_DONE);
    }
    atomic_store(&canceller.stop, 1);
    pthread_join(thread, NULL);
    is_u64(wrong, 0, "%u workers: 600 cancels in flight, %u in time", workers, hits);
    is_u64(runs, expected, "every slot ran once, or was cancelled and did not");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    in_the_ring();
    a_fence();
    running(2);
    running(1);
    after_the_end();
    table_full();
    races(1, seed);
    races(3, seed + 1);
    return done();
}
