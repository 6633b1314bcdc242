/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The continuation task: its sixteen words, the counts over an array, and every transition from
 * every state, from unknown ones, and with counters at their end.
 */
#include "wire_test.h"

static _Alignas(8) unsigned char arena[10 * 64 + 4];

static const vyre_wire_item item = {8, 0x11, 0x22, 0x33};

static vyre_wire_task task_in(uint32_t state, uint32_t flags)
{
    vyre_wire_task task = {state, 8, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, flags};
    return task;
}

static void codec(unsigned char *bytes)
{
    vyre_wire_task task = task_in(VYRE_TASK_PAUSED, 0x80000001u), again;
    memset(bytes, 0xAA, 128);
    works(vyre_wire_task_encode(bytes, 64, &task, &err));
    ok(is_hex(bytes, 64,
              "04000000 08000000 02000000 03000000 04000000 05000000 06000000 07000000"
              "09000000 0a000000 0b000000 0c000000 0d000000 0e000000 0f000000 01000080") &&
           bytes[64] == 0xAA,
       "sixteen words in their order");
    works(vyre_wire_task_decode(bytes, 64, &again, &err));
    ok(memcmp(&task, &again, sizeof task) == 0, "they come back");

    watch(bytes, 128);
    watch(&again, sizeof again);
    refused(VYRE_E_NULL, vyre_wire_task_encode(NULL, 64, &task, &err));
    refused(VYRE_E_NULL, vyre_wire_task_encode(bytes, 64, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 60,
               vyre_wire_task_encode(bytes, 60, &task, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_task_encode(bytes, 65, &task, &err));
    task.state = 8;
    refused_at(VYRE_E_WIRE_TASK_UNKNOWN, VYRE_PLACE_SLOT, 0,
               vyre_wire_task_encode(bytes, 64, &task, &err));
    refused(VYRE_E_NULL, vyre_wire_task_decode(NULL, 64, &again, &err));
    refused(VYRE_E_NULL, vyre_wire_task_decode(bytes, 64, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 0, vyre_wire_task_decode(NULL, 0, &again, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_task_decode(bytes, 128, &again, &err));
    put_word(bytes, 0, 0xFFFFFFFFu);
    refused_at(VYRE_E_WIRE_TASK_UNKNOWN, VYRE_PLACE_SLOT, 0,
               vyre_wire_task_decode(bytes, 64, &again, &err));
    watch_nothing();
}

static void counts(unsigned char *bytes)
{
    vyre_wire_tasks tasks;
    for (uint32_t i = 0; i < 8; i++) {
        vyre_wire_task task = task_in(i, 0);
        task.requeue_count = 0xFFFFFFFFu;
        task.age_ticks = 100 - i;
        if (vyre_wire_task_encode(bytes + 64 * i, 64, &task, &err)) bail("%s", err.message);
    }
    works(vyre_wire_tasks_count(bytes, 8 * 64, &tasks, &err));
    int right = 1;
    for (uint32_t i = 0; i < 8; i++)
        right &= tasks.by_state[i] == 1;
    ok(right && tasks.tasks == 8, "one task a state");
    is_u64(tasks.schedulable, 3, "schedulable");
    is_u64(tasks.requeue_count, 8 * UINT64_C(0xFFFFFFFF), "sum of the requeues");
    is_u64(tasks.pressure, 8 * UINT64_C(0xFFFFFFFF) + 2, "pressure");
    is_u64(tasks.max_age_ticks, 100, "greatest age");
    works(vyre_wire_tasks_count(NULL, 0, &tasks, &err));
    ok(tasks.tasks == 0 && tasks.max_age_ticks == 0, "no task");

    put_word(bytes, 16 * 5, 8);
    memset(&tasks, 0x5A, sizeof tasks);
    watch(&tasks, sizeof tasks);
    refused(VYRE_E_NULL, vyre_wire_tasks_count(NULL, 64, &tasks, &err));
    refused(VYRE_E_NULL, vyre_wire_tasks_count(bytes, 64, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64,
               vyre_wire_tasks_count(bytes, 66, &tasks, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_tasks_count(bytes, 124, &tasks, &err));
    refused_at(VYRE_E_WIRE_TASK_UNKNOWN, VYRE_PLACE_SLOT, 5,
               vyre_wire_tasks_count(bytes, 8 * 64, &tasks, &err));
    watch_nothing();
}

static void starts(void)
{
    vyre_wire_task task, expected = {1, 8, 7, 4, 0x11, 0x22, 0x33, 0, 0, 0, 99, 0, 0, 0, 0, 0};
    memset(&task, 0x5A, sizeof task);
    watch(&task, sizeof task);
    refused(VYRE_E_NULL, vyre_wire_task_start(NULL, &item, 7, 4, 99, &err));
    refused(VYRE_E_NULL, vyre_wire_task_start(&task, NULL, 7, 4, 99, &err));
    refused(VYRE_E_RANGE, vyre_wire_task_start(&task, &item, 7, 5, 99, &err));
    watch_nothing();
    works(vyre_wire_task_start(&task, &item, 7, 4, 99, &err));
    ok(memcmp(&task, &expected, sizeof task) == 0, "a ready task of a work item");
}

enum { PAUSE, RESUME, YIELD, REQUEUE, COMPLETE, FAULT, VERBS };

static vyre_status move(int verb, vyre_wire_task *task)
{
    switch (verb) {
    case PAUSE:
        return vyre_wire_task_pause(task, 101, 102, 103, &err);
    case RESUME:
        return vyre_wire_task_resume(task, &err);
    case YIELD:
        return vyre_wire_task_yield(task, 101, 102, &err);
    case REQUEUE:
        return vyre_wire_task_requeue(task, 101, 102, 1, &err);
    case COMPLETE:
        return vyre_wire_task_complete(task, &err);
    default:
        return vyre_wire_task_fault(task, 104, &err);
    }
}

/* What the table in docs/wire.md says of a task that is let through. */
static vyre_wire_task moved(int verb, vyre_wire_task task)
{
    static const uint32_t to[VERBS] = {VYRE_TASK_PAUSED,   VYRE_TASK_READY, VYRE_TASK_YIELDED,
                                       VYRE_TASK_REQUEUED, VYRE_TASK_DONE,  VYRE_TASK_FAULTED};
    task.state = to[verb];
    if (verb == PAUSE || verb == YIELD || verb == REQUEUE) {
        task.pc = 101;
        task.data = 102;
    }
    if (verb == PAUSE) task.resume_epoch = 103;
    if (verb == PAUSE) task.flags = (task.flags | 1) & ~8u;
    if (verb == RESUME) task.flags = (task.flags | 8) & ~3u;
    if (verb == YIELD) task.flags |= 2;
    if (verb == YIELD) task.yield_count++;
    if (verb == REQUEUE) {
        task.flags |= 4;
        task.requeue_count++;
        task.age_ticks++;
        task.priority = 1;
    }
    if (verb == COMPLETE) task.flags = 0;
    if (verb == FAULT) task.data = 104;
    return task;
}

static void transitions(void)
{
    static const char *const verbs[VERBS] = {"pause",   "resume",   "yield",
                                             "requeue", "complete", "fault"};
    for (int verb = 0; verb < VERBS; verb++) {
        for (uint32_t state = 0; state < 8; state++) {
            int allowed = verb == RESUME ? state == VYRE_TASK_PAUSED
                                         : state != VYRE_TASK_EMPTY && state != VYRE_TASK_DONE &&
                                               state != VYRE_TASK_FAULTED;
            for (uint32_t flags = 0; flags < 16; flags += 5) {
                vyre_wire_task task = task_in(state, flags);
                vyre_wire_task expected = moved(verb, task);
                note("%s from state %u with flags %u", verbs[verb], state, flags);
                if (allowed) {
                    works(move(verb, &task));
                    ok(memcmp(&task, &expected, sizeof task) == 0, "the words it changes");
                } else {
                    watch(&task, sizeof task);
                    refused_at(VYRE_E_WIRE_TASK_STATE, VYRE_PLACE_WORD, 0, move(verb, &task));
                    watch_nothing();
                }
            }
        }
        vyre_wire_task task = task_in(8, 0);
        watch(&task, sizeof task);
        refused_at(VYRE_E_WIRE_TASK_UNKNOWN, VYRE_PLACE_SLOT, 0, move(verb, &task));
        task.state = 0xFFFFFFFFu;
        refused_at(VYRE_E_WIRE_TASK_UNKNOWN, VYRE_PLACE_SLOT, 0, move(verb, &task));
        refused(VYRE_E_NULL, move(verb, NULL));
        watch_nothing();
    }
}

static void counters(void)
{
    vyre_wire_task task = task_in(VYRE_TASK_RUNNING, 0);
    watch(&task, sizeof task);
    task.yield_count = 0xFFFFFFFFu;
    refused_at(VYRE_E_WIRE_TASK_COUNTER, VYRE_PLACE_WORD, 14,
               vyre_wire_task_yield(&task, 1, 2, &err));
    task.requeue_count = 0xFFFFFFFFu;
    refused_at(VYRE_E_WIRE_TASK_COUNTER, VYRE_PLACE_WORD, 13,
               vyre_wire_task_requeue(&task, 1, 2, 3, &err));
    task.requeue_count = 0;
    task.age_ticks = 0xFFFFFFFFu;
    refused_at(VYRE_E_WIRE_TASK_COUNTER, VYRE_PLACE_WORD, 12,
               vyre_wire_task_requeue(&task, 1, 2, 3, &err));
    refused(VYRE_E_RANGE, vyre_wire_task_requeue(&task, 1, 2, 5, &err));
    watch_nothing();
    task.age_ticks = task.requeue_count = task.yield_count = 0xFFFFFFFEu;
    works(vyre_wire_task_yield(&task, 1, 2, &err));
    works(vyre_wire_task_requeue(&task, 1, 2, 4, &err));
    ok(task.age_ticks == 0xFFFFFFFFu && task.requeue_count == 0xFFFFFFFFu &&
           task.yield_count == 0xFFFFFFFFu,
       "up to the greatest value");
}

int main(void)
{
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        codec(arena + skew);
        counts(arena + skew);
    }
    starts();
    transitions();
    counters();
    return done();
}
