/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Short programs: slots that name a program without loops, over few workgroups, are run like plain
 * slots, by the warp that has their chunk, one after the other and all their workgroups at once. No
 * entry, no run, no lock; so many small jobs cost about what they take to interpret.
 *
 * Nobody has held what such a slot names. The warp looks it up itself, all slots of the chunk at
 * once, and may use it until its task has ended: a handle that is dropped waits for the tasks that
 * had been posted by then (grace.h), and the task's record is written last. While the poller
 * changes handles no lookup is under way (dev_change_begin).
 */
#ifndef VYRE_DEVICE_SHORT_H
#define VYRE_DEVICE_SHORT_H

#include "device/chunk.h"
#include "device/grace.h"
#include "device/grid.h"
#include "device/hold.h"
#include "device/lookup.h"

/* How often a warp looks whether queue 0 is up to date before it goes on as it is. */
#define DEV_SETTLE_LOOKS 4096u
#define DEV_SETTLE_NS    100u

/*
 * What queue 0 was told before a slot was published counts for it: a handle that was freed is gone.
 * So a look of the poller's must have begun and ended since the task was posted; `before` is
 * rt->settled as it was after that. (The doorbell itself lies across the link, where reads of the
 * same word by many warps come one after the other.) On the first lane.
 */
DEV_FN void dev_lookup_settle(const struct dev_runtime *rt, uint32_t before)
{
    for (uint32_t looks = 0; looks < DEV_SETTLE_LOOKS; looks++) {
        if (dev_load_relaxed(&rt->settled) - before >= 2 || dev_load_relaxed(&rt->shutdown)) return;
        dev_nap(DEV_SETTLE_NS);
    }
}

/* What the slots of a chunk name, by lane. */
struct dev_short {
    uint32_t fault[DEV_WARP_ROLES];
    uint32_t program[DEV_WARP_ROLES]; /* index of its handle */
    uint32_t set[DEV_WARP_ROLES];     /* of its binding set, or DEV_NONE */
};

/* Looks up what a slot names that names a program; returns its fault. */
DEV_FN uint32_t dev_program_find(struct dev_runtime *rt, const struct dev_queue *queue,
                                 const uint32_t *row, uint64_t ticket, uint32_t *program,
                                 uint32_t *set)
{
    struct dev_claim claim;
    claim.kind = DEV_BINDINGS;
    claim.tenant = queue->setup.tenant;
    claim.rights = 0;
    claim.late = dev_grace_late(rt, queue, ticket);
    *program = dev_opcode_claim(rt, row[VYRE_SLOT_OPCODE], claim.tenant, claim.late);
    if (*program == DEV_NONE) return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
    if (rt->handles[*program].kind != DEV_PROGRAM) return (uint32_t)VYRE_FAULT_NOT_PLAIN;
    return dev_program_check(rt, *program, row + VYRE_SLOT_ARG0, &claim, set);
}

/* The same of a short one. */
DEV_FN uint32_t dev_short_find(struct dev_runtime *rt, const struct dev_queue *queue,
                               const uint32_t *row, uint64_t ticket, uint32_t *program,
                               uint32_t *set)
{
    uint32_t fault = dev_program_find(rt, queue, row, ticket, program, set);
    if (fault != 0) return fault;
    uint32_t weight = vm_short_weight(dev_program_header(&rt->handles[*program]));
    return dev_short_fits(weight, row + VYRE_SLOT_ARG0) ? 0 : (uint32_t)VYRE_FAULT_NOT_PLAIN;
}

/* Looks up what the rows in `programs` name. */
DEV_FN void dev_short_find_all(struct dev_runtime *rt, const struct dev_rows *rows,
                               const struct dev_task *task, const struct dev_chunk_rows *marks,
                               struct dev_short *found)
{
    const uint32_t programs = marks->programs;
    const struct dev_queue *queue = &rt->queues[task->queue];
    DEV_FIRST
    {
        dev_lookup_settle(rt, marks->settled);
        dev_lookup_begin(rt);
    }
    dev_warp_sync();
    dev_fence_both(DEV_DEVICE); /* A21, for all lanes */
    DEV_ROLES(i)
    {
        uint32_t *program = &found->program[DEV_MINE(i)], *set = &found->set[DEV_MINE(i)];
        found->fault[DEV_MINE(i)] = 0;
        *program = *set = DEV_NONE;
        if (programs >> i & 1)
            found->fault[DEV_MINE(i)] =
                dev_short_find(rt, queue, rows->row[i], task->first + i, program, set);
    }
    dev_warp_sync();
    DEV_FIRST dev_lookup_end(rt);
}

/* One short program while it runs; the same in all lanes. */
struct dev_short_slot {
    const uint32_t *arg; /* its arguments */
    uint64_t ticket;
    uint32_t opcode;
    uint32_t program;
    uint32_t set;
    unsigned char *far_frame; /* the warp's in device memory */
};

/* What a print of a slot calls it, in a queue of so many. */
DEV_FN uint32_t dev_short_log_place(uint32_t slots, uint64_t ticket)
{
    return ((uint32_t)ticket & (slots - 1)) * VYRE_SLOT_WORDS;
}

/* Makes the room ready for a slot; 0: the program is not what was loaded. */
DEV_FN int dev_short_prepare(struct dev_runtime *rt, struct dev_frame *frame,
                             const struct dev_short_slot *slot, const struct dev_queue *queue)
{
    const struct dev_handle *handle = &rt->handles[slot->program];
    struct dev_block block;
    block.program = dev_program_header(handle);
    block.bytes = handle->bytes;
    block.room = rt->room_bytes;
    block.frame_bytes = rt->frame_stride;
    if (!dev_warp_prepare(frame, &block, slot->far_frame)) return 0;
    DEV_FIRST
    {
        dev_run_args_fill(&frame->args, slot->arg, NULL);
        frame->rt = rt;
        frame->entry = NULL;
        frame->log = &rt->logs[queue->setup.tenant];
        frame->log_place = dev_short_log_place(queue->setup.slots, slot->ticket);
    }
    dev_warp_sync();
    dev_warp_bind(frame, &frame->args,
                  slot->set != DEV_NONE ? dev_bindings_of(&rt->handles[slot->set]) : NULL);
    return 1;
}

/* How a slot ended. */
struct dev_short_end {
    struct dev_end end;
    uint32_t result[VYRE_COMPLETION_RESULTS];
};

/* Why a workgroup did not end, and where. */
struct dev_short_fault {
    uint32_t fault;
    uint32_t group, pc, detail, lane;
};

/* One that has no loop cannot use up its turn, unless somebody has written to the program since it
 * was loaded. */
DEV_FN struct dev_short_fault dev_short_fault_of(const struct dev_frame *frame, uint32_t how)
{
    int told = how == DEV_FRAME_FAULT;
    struct dev_short_fault fault;
    fault.fault = told ? frame->fault : (uint32_t)VYRE_FAULT_DAMAGED;
    fault.group = (uint32_t)frame->number;
    fault.pc = told ? frame->fault_pc : frame->pc;
    fault.detail = told ? frame->fault_detail : 0;
    fault.lane = told ? frame->fault_lane : 0;
    return fault;
}

/* As a completion tells of it. */
DEV_FN void dev_short_tell(const struct dev_short_fault *fault, struct dev_end *end,
                           uint32_t *result)
{
    end->fault = fault->fault;
    end->pc = fault->pc;
    result[2] = fault->group;
    result[4] = fault->detail;
    result[5] = fault->lane;
}

/* Runs all workgroups of a slot. */
DEV_FN void dev_short_run(struct dev_runtime *rt, struct dev_frame *frame,
                          const struct dev_short_slot *slot, const struct dev_queue *queue,
                          struct dev_short_end *done)
{
    const uint32_t *grid = slot->arg;
    const uint32_t total = grid[0] * grid[1] * grid[2];
    uint64_t steps = 0, out_of_bounds = 0;
    done->end = dev_end_fault(slot->ticket, slot->opcode, 0);
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        done->result[i] = 0;
    if (dev_warp_first(dev_load_relaxed(&rt->shutdown)))
        done->end.fault = (uint32_t)VYRE_FAULT_STOPPED;
    else if (!dev_short_prepare(rt, frame, slot, queue))
        done->end.fault = (uint32_t)VYRE_FAULT_DAMAGED;
    else
        done->result[DEV_RESULT_FAR] = frame->far_parts;
    for (uint32_t number = 0; number < total && done->end.fault == 0; number++) {
        dev_warp_begin(frame, number, grid);
        dev_limit_set(frame, rt->step_budget);
        uint32_t how, turns = 0;
        do
            how = dev_frame_run(rt, frame);
        while (dev_short_goes_on(how, turns++));
        steps += frame->steps;
        out_of_bounds += frame->out_of_bounds;
        if (how == DEV_FRAME_ENDED) {
            done->result[0]++;
        } else {
            const struct dev_short_fault fault = dev_short_fault_of(frame, how);
            dev_short_tell(&fault, &done->end, done->result);
        }
        dev_warp_sync(); /* all have looked */
    }
    done->end.steps = dev_saturated(steps);
    done->end.out_of_bounds = dev_saturated(out_of_bounds);
    done->end.result = done->result;
}

/* Runs the slots in `runs`, which lie with the lanes, word by word; each becomes its completion. */
DEV_FN void dev_short_run_all(struct dev_runtime *rt, struct dev_frame *frame,
                              const struct dev_task *task, const struct dev_short *found,
                              uint32_t kept[VYRE_SLOT_WORDS][DEV_WARP_ROLES], uint32_t runs,
                              uint32_t worker)
{
    const struct dev_queue *queue = &rt->queues[task->queue];
    uint32_t state = dev_float_enter();
    for (uint32_t k = 0; k < task->count; k++) {
        struct dev_short_slot slot;
        struct dev_short_end done;
        uint32_t word[VYRE_SLOT_WORDS], row[VYRE_COMPLETION_WORDS];
        if ((runs >> k & 1) == 0) continue;
        for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
            word[w] = dev_warp_word32(kept[w], k);
        slot.arg = word + VYRE_SLOT_ARG0;
        slot.opcode = word[VYRE_SLOT_OPCODE];
        slot.ticket = task->first + k;
        slot.program = dev_warp_word32(found->program, k);
        slot.set = dev_warp_word32(found->set, k);
        slot.far_frame = (unsigned char *)dev_frame_at(rt, rt->worker_frame[worker]);
        dev_short_run(rt, frame, &slot, queue, &done);
        dev_row_end(row, &done.end);
        row[VYRE_COMPLETION_LAP] = 0; /* comes last */
        DEV_ROLES(i)
        {
            for (uint32_t w = 0; w < VYRE_COMPLETION_WORDS; w++)
                if (i == k) kept[w][DEV_MINE(i)] = row[w];
        }
    }
    dev_float_leave(state);
    dev_stream_done(); /* before anybody hears of it */
}

/*
 * Runs a chunk that has programs in it, and ends its slots. What is plain is run first, by a lane
 * each. Then the lanes keep the rows, because programs may need the place where they lie.
 */
DEV_NO_INLINE void dev_chunk_mixed(struct dev_runtime *rt, struct dev_rows *rows,
                                   struct dev_frame *frame, const struct dev_task *task,
                                   const struct dev_chunk_rows *marks, uint32_t worker)
{
    struct dev_queue *queue = &rt->queues[task->queue];
    uint32_t kept[VYRE_SLOT_WORDS][DEV_WARP_ROLES];
    struct dev_short found;
    DEV_FIRST dev_store64_relaxed(&rt->handover->programs, (uint64_t)task->number + 1);
    dev_short_find_all(rt, rows, task, marks, &found);
    uint32_t bad = dev_warp_ballot(found.fault) & marks->programs;
    dev_rows_count(rt, queue, rows, task->count, marks->torn | marks->refused | bad);
    dev_warp_sync();
    DEV_ROLES(i)
    {
        const uint32_t none[VYRE_COMPLETION_RESULTS] = {0, 0, 0, 0, 0, 0, 0, 0};
        uint32_t *row = rows->row[i];
        if (i < task->count && (marks->programs >> i & 1) == 0) {
            dev_row_run(rt, queue, row, task->first + i, marks->torn >> i & 1);
        } else if (bad >> i & 1) {
            struct dev_end end =
                dev_end_fault(task->first + i, row[VYRE_SLOT_OPCODE], found.fault[DEV_MINE(i)]);
            end.result = none;
            dev_row_end(row, &end);
        }
        for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
            kept[w][DEV_MINE(i)] = row[w];
    }
    dev_warp_sync();
    dev_short_run_all(rt, frame, task, &found, kept, marks->programs & ~bad, worker);
    dev_warp_sync();
    DEV_ROLES(i)
    {
        for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
            rows->row[i][w] = kept[w][DEV_MINE(i)];
    }
    dev_chunk_end(rt, rows, task);
    /* Only now: what the slots name may go with it. */
    DEV_FIRST dev_record_write(rt->handover, task->number, task, queue->opened);
}

static_assert(VYRE_SLOT_WORDS == VYRE_COMPLETION_WORDS, "one becomes the other");

#endif
