/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Deadlines: of a queue, of a slot in its place, none, passed before the slot started, while it
 * waited and while it ran; near the wrap of tickets too.
 */
#include "support.h"

enum { GATE = 100, PATIENT = 101 };

#define FAR_NS (PATIENCE_NS * 100)

static uint32_t patient_run(vyre_call *call)
{
    while (!vyre_call_cancelled(call))
        breathe();
    return 9;
}

static vyre_queue *open_with_deadline(vyre *rt, uint64_t deadline_ns, uint64_t first,
                                      uint32_t flags)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;
    options.slots = 4;
    options.deadline_ns = deadline_ns;
    options.first_ticket = first;
    options.flags = flags;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    return queue;
}

/* One slot with a deadline of its own, unless that is VYRE_DEFAULT64. */
static vyre_completion run(vyre_queue *queue, uint32_t opcode, uint64_t own_ns)
{
    vyre_error err;
    uint32_t args[2] = {1, WORD(1)};
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_op(slot, opcode, args, 2, &err), &err);
    if (own_ns != VYRE_DEFAULT64) must(vyre_slot_deadline(queue, slot, own_ns, &err), &err);
    return wait_for(queue, submit(queue));
}

static bool late(const vyre_completion *end)
{
    return end->outcome == VYRE_FAULTED && end->fault == VYRE_FAULT_DEADLINE;
}

/* On every lap of the ring, in every combination. */
static void combinations(vyre *rt, uint64_t first, uint32_t flags)
{
    static const struct {
        uint64_t queue_ns, slot_ns;
        bool late;
    } rows[] = {
        {0, VYRE_DEFAULT64, false},
        {0, 0, false},
        {0, 1, true},
        {0, FAR_NS, false},
        {1, VYRE_DEFAULT64, true},
        {1, 0, false},
        {1, 1, true},
        {1, FAR_NS, false},
        {FAR_NS, VYRE_DEFAULT64, false},
        {FAR_NS, 0, false},
        {FAR_NS, 1, true},
        {FAR_NS, UINT64_MAX - 1, false},
        {UINT64_MAX, VYRE_DEFAULT64, false},
    };
    uint32_t wrong = 0, ran = 0, before = observable(rt, 0, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vyre_queue *queue = open_with_deadline(rt, rows[i].queue_ns, first, flags);
        for (int lap = 0; lap < 10; lap++) {
            vyre_completion end = run(queue, VYRE_OP_ATOMIC_ADD, rows[i].slot_ns);
            wrong += rows[i].late ? !late(&end) : end.outcome != VYRE_DONE;
            ran += !rows[i].late;
            /* The slot after it has the queue's own deadline again. */
            end = run(queue, VYRE_OP_NOP, VYRE_DEFAULT64);
            wrong += rows[i].queue_ns == 1 ? !late(&end) : end.outcome != VYRE_DONE;
        }
        vyre_queue_close(queue);
    }
    is_u64(wrong, 0, "queue's and slot's deadlines from ticket 0x%llx", (unsigned long long)first);
    is_u64(observable(rt, 0, 1), before + ran, "late slots had no effect, all others had");
}

/* Several slots in one submit, only some with deadlines of their own. */
static void mixed(vyre *rt)
{
    vyre_queue *queue = open_with_deadline(rt, 0, 0, 0);
    vyre_error err;
    uint32_t wrong = 0;
    for (int round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < 4; i++) {
            vyre_slot *slot = next_slot(queue);
            must(vyre_prep_nop(slot, &err), &err);
            if (i == (uint32_t)round % 4) must(vyre_slot_deadline(queue, slot, 1, &err), &err);
        }
        uint64_t first = submit(queue);
        for (uint32_t i = 0; i < 4; i++) {
            vyre_completion end = wait_for(queue, first + i);
            wrong += i == (uint32_t)round % 4 ? !late(&end) : end.outcome != VYRE_DONE;
        }
    }
    is_u64(wrong, 0, "one of four slots of a submit has a deadline");
    vyre_queue_close(queue);
}

static void running(vyre *rt)
{
    vyre_queue *queue = open_with_deadline(rt, 0, 0, 0);
    vyre_error err;
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_op(slot, PATIENT, NULL, 0, &err), &err);
    must(vyre_slot_deadline(queue, slot, 200000000, &err), &err);
    vyre_completion end = wait_for(queue, submit(queue));
    ok((end.fault == VYRE_FAULT_OPERATION && end.pc == 9) || late(&end),
       "a running operation sees its deadline pass");
    vyre_queue_close(queue);
}

static void waiting(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(1);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    register_op(rt, GATE, gate_run, &gate);
    uint64_t held = hold_worker(queue, GATE, &gate);
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_op(slot, GATE, NULL, 0, &err), &err);
    must(vyre_slot_deadline(queue, slot, 1000000, &err), &err);
    slot = next_slot(queue);
    must(vyre_prep_fence(slot, 0, 3, &err), &err);
    must(vyre_slot_deadline(queue, slot, 1000000, &err), &err);
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    uint64_t first = submit(queue);
    usleep(5000);
    atomic_store(&gate.open, 1);
    vyre_completion end = wait_for(queue, first);
    ok(late(&end) && gate.entered == 1, "one that waited too long does not start");
    end = wait_for(queue, first + 1);
    ok(late(&end) && observable(rt, 0, 0) == 0, "nor does a fence");
    ok(wait_for(queue, first + 2).outcome == VYRE_DONE &&
           wait_for(queue, held).outcome == VYRE_DONE,
       "the others are done");
    vyre_close(rt);
}

/* The others that look by themselves: programs in t_run.c and t_grid.c, long built-ins in
 * t_device_builtins.c and t_device_dfa.c. */
static uint32_t late_run(vyre_call *call)
{
    while (!vyre_call_cancelled(call))
        breathe();
    return 0;
}

static void by_itself(void)
{
    vyre *rt = open_cpu(2);
    vyre_queue *queue = vyre_queue_default(rt);
    uint32_t args[2] = {1, WORD(5)};
    const vyre_packed_op ops[2] = {{GATE, 0, NULL}, {VYRE_OP_ATOMIC_ADD, 2, args}};
    vyre_error err;
    register_op(rt, GATE, late_run, NULL);
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_packed(slot, ops, 2, &err), &err);
    must(vyre_slot_deadline(queue, slot, 200000000, &err), &err);
    vyre_completion end = wait_for(queue, submit(queue));
    ok(late(&end), "a packed slot looks between its operations");
    ok(observable(rt, 0, 5) == 0 && (end.result[0] == 0 || end.pc == 1),
       "those behind the look do not run");
    vyre_close(rt);
}

int main(void)
{
    vyre *rt = open_cpu(2);
    register_op(rt, PATIENT, patient_run, NULL);
    combinations(rt, 0, VYRE_QUEUE_UNSEALED);
    combinations(rt, (1ull << 32) - 9, VYRE_QUEUE_SEALED);
    combinations(rt, UINT64_MAX - 8, VYRE_QUEUE_UNSEALED);
    mixed(rt);
    running(rt);
    vyre_close(rt);
    waiting();
    by_itself();
    return done();
}
