/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Aides: the other warps of the poller's block. They run single short programs, which the poller
 * puts on a desk in the block's shared memory, straight from a look: a task in device memory, a
 * second look at the slot and a lookup by another warp would take ten times as long as the program.
 *
 * There is one job at a time, and each aide has every so-manieth workgroup of it. The first aide
 * writes the completion. A slot that finds the desk taken goes the way of short.h, like any other.
 *
 * What a job names is held by nobody. The poller, who alone changes handles, waits for the desk
 * before it does so (dev_desk_clear).
 *
 * Each job goes through three gates (block.h), to which the poller and all aides come, those too
 * that have no part in it:
 *
 *     R23 pairs with A23: a job, from the poller to the aides, at DEV_GATE_FULL.
 *     R24 pairs with A24: what the aides have done, to the first of them, at DEV_GATE_DONE, to
 *     which the poller does not come.
 *     R25 pairs with A25: nobody looks at the desk any more, at DEV_GATE_EMPTY.
 *     R26: what an aide has written, where the application does not see it, is in memory before
 *     the aide says that it has ended. See docs/dispatch.md.
 */
#ifndef VYRE_DEVICE_DESK_H
#define VYRE_DEVICE_DESK_H

#include "device/block.h"
#include "device/lean.h"
#include "device/short.h"

#define DEV_AIDES 15u

enum { DEV_GATE_FULL, DEV_GATE_DONE, DEV_GATE_EMPTY, DEV_GATE_BEGIN, DEV_GATES };

/* How the workgroups of one aide ended. */
struct dev_aide_end {
    struct dev_short_fault first; /* of the lowest that has one */
    uint32_t ended;
    uint32_t steps;
    uint32_t out_of_bounds;
};

/* What the poller has looked up last. A slot of the same queue that differs in nothing but its seal
 * and its scalars needs no second lookup. */
struct dev_desk_known {
    uint32_t valid; /* and may be used again */
    uint32_t queue;
    uint32_t tenant;
    uint32_t program;
    uint32_t set;
    uint32_t total; /* workgroups */
    uint32_t aides; /* that take part */
    uint32_t budget;
    uint32_t flat; /* the grid has one axis */
    uint32_t reserved[3];
    struct dev_word128 slot[VYRE_SLOT_WORDS / 4];
};

struct dev_desk {
    uint32_t aides;   /* that there are */
    uint32_t leave;   /* instead of a job: the kernel leaves */
    uint32_t busy;    /* (atomic) from when a job is put there until its completion was written */
    uint32_t tally;   /* (atomic) of aides that have ended: DEV_TALLY_*; 0 between jobs */
    uint32_t lowest;  /* (atomic) of the workgroups that have faulted; DEV_NONE between jobs */
    uint32_t lookups; /* so far: aides that know the last one's frame need not make it again */
    uint32_t lap;     /* of the completion */
    uint32_t log_place;
    struct dev_gate gate[DEV_GATES];
    uint64_t ticket;
    struct dev_word128 *completion;
    uint64_t ignored[VYRE_SLOT_WORDS / 2]; /* words in which a slot may differ: dev_desk_ignores */
    struct dev_desk_known known;
    struct dev_aide_end end[DEV_AIDES];
    struct dev_word128 slot[VYRE_SLOT_WORDS / 4];
};

/* What the first aide must know of the others in most cases is in one word: their steps, and of how
 * many more must be known (dev_desk.end), for instance because they took more steps. */
#define DEV_TALLY_STEPS 0x0FFFFFFFu
#define DEV_TALLY_ODD   0x10000000u
#define DEV_AIDE_STEPS  (DEV_TALLY_STEPS / DEV_AIDES)

static_assert(DEV_AIDES <= 0xFFFFFFFFu / DEV_TALLY_ODD, "all may be odd");

/* Where it lies in the poller's room, on a GPU. */
#define DEV_DESK_OFFSET ((sizeof(struct dev_room) + 15u) & ~(size_t)15u)

/* What a room must have at least: for this, and for anything but programs. */
#define DEV_ROOM_LEAST 6144u

static_assert(DEV_DESK_OFFSET + sizeof(struct dev_desk) <= DEV_ROOM_LEAST, "it lies there");

/* Whether a pair of words may be other than in the slot that was looked up: bit 0 the low one. */
DEV_FN uint64_t dev_desk_ignores(uint32_t pair)
{
    const uint32_t scalars = VYRE_SLOT_WORDS - DEV_SLOT_SCALARS;
    uint64_t low = 2 * pair == VYRE_SLOT_TENANT || 2 * pair >= scalars ? 0xFFFFFFFFu : 0;
    uint64_t high = 2 * pair + 1 == VYRE_SLOT_TENANT || 2 * pair + 1 >= scalars ? 0xFFFFFFFFu : 0;
    return high << 32 | low;
}

/* Before any warp looks at it. */
DEV_FN void dev_desk_init(struct dev_desk *desk, uint32_t aides)
{
    desk->leave = desk->busy = desk->tally = desk->lookups = 0;
    for (uint32_t i = 0; i < DEV_GATES; i++)
        desk->gate[i].come = 0;
    for (uint32_t i = 0; i < VYRE_SLOT_WORDS / 2; i++)
        desk->ignored[i] = dev_desk_ignores(i);
    desk->lowest = DEV_NONE;
    desk->known.valid = 0;
    desk->aides = aides < DEV_AIDES ? aides : DEV_AIDES;
}

DEV_FN const uint32_t *dev_desk_slot(const struct dev_desk *desk)
{
    return (const uint32_t *)(const void *)desk->slot;
}

/* What became of a job that was not done as most are. */
DEV_FN void dev_desk_sum(const struct dev_desk *desk, uint32_t aides, struct dev_end *end,
                         uint32_t *result)
{
    uint32_t lowest = DEV_NONE;
    result[0] = end->steps = 0;
    for (uint32_t i = 0; i < aides; i++) {
        const struct dev_aide_end *part = &desk->end[i];
        result[0] += part->ended;
        end->steps = dev_saturated((uint64_t)end->steps + part->steps);
        end->out_of_bounds = dev_saturated((uint64_t)end->out_of_bounds + part->out_of_bounds);
        if (part->first.fault == 0 || part->first.group >= lowest) continue;
        lowest = part->first.group;
        dev_short_tell(&part->first, end, result);
    }
}

/* Stores the completion, which certifies itself. */
DEV_FN void dev_desk_complete(struct dev_runtime *rt, struct dev_desk *desk,
                              const struct dev_end *end)
{
    const uint32_t priority = dev_desk_slot(desk)[VYRE_SLOT_PRIORITY];
    const uint32_t tenant = desk->known.tenant;
    struct dev_word128 *entry = desk->completion;
    uint32_t row[VYRE_COMPLETION_WORDS];
    struct dev_word128 quarter[DEV_WARP_ROLES];
    dev_row_end(row, end);
    row[VYRE_COMPLETION_LAP] = 0;
    row[VYRE_COMPLETION_LAP] = dev_completion_seal(row, desk->lap);
    DEV_ROLES(i)
    {
        DEV_UNROLL
        for (uint32_t k = 0; k < VYRE_COMPLETION_WORDS / 4; k++) {
            if (i != k) continue;
            quarter[DEV_MINE(i)].low = (uint64_t)row[4 * k + 1] << 32 | row[4 * k];
            quarter[DEV_MINE(i)].high = (uint64_t)row[4 * k + 3] << 32 | row[4 * k + 2];
        }
        if (i < VYRE_COMPLETION_WORDS / 4) dev_store128_relaxed(&entry[i], quarter[DEV_MINE(i)]);
    }
    DEV_FIRST
    {
        dev_block_put(&desk->busy, 0);
        dev_metric(rt, end->opcode, 1);
        dev_count_claims(rt, tenant, priority, 1);
        dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], 1);
        dev_notify(&rt->queues[desk->known.queue]);
    }
    dev_warp_sync();
}

/* All aides have ended, and of some more must be known than their steps. */
DEV_NO_INLINE void dev_desk_end_odd(struct dev_runtime *rt, struct dev_desk *desk, uint32_t aides,
                                    uint32_t far_parts)
{
    uint32_t result[VYRE_COMPLETION_RESULTS] = {0, 0, 0, 0, 0, 0, 0, 0};
    struct dev_end end = dev_end_fault(desk->ticket, dev_desk_slot(desk)[VYRE_SLOT_OPCODE], 0);
    dev_desk_sum(desk, aides, &end, result);
    result[DEV_RESULT_FAR] = far_parts;
    end.result = result;
    dev_fence_both(DEV_SYSTEM); /* R2 */
    dev_desk_complete(rt, desk, &end);
}

/* All aides have ended as most do. */
DEV_FN void dev_desk_end(struct dev_runtime *rt, struct dev_desk *desk, uint32_t steps)
{
    struct dev_end end = dev_end_fault(desk->ticket, dev_desk_slot(desk)[VYRE_SLOT_OPCODE], 0);
    const uint32_t result[VYRE_COMPLETION_RESULTS] = {desk->known.total, 0, 0, 0, 0, 0, 0, 0};
    end.steps = steps;
    end.result = result;
    dev_desk_complete(rt, desk, &end);
}

/*
 * What an aide does for most jobs is in one function, with little enough in it that all it works
 * with is in registers: what is put aside on a stack goes through the first cache, which every
 * fence empties. So what is rare, or long, is in functions of its own.
 */

/* Whether the application sees memory that the program may write. */
DEV_FN void dev_aide_look(const struct dev_runtime *rt, struct dev_frame *frame, uint32_t set)
{
    const struct dev_bindings *bindings =
        set != DEV_NONE ? dev_bindings_of(&rt->handles[set]) : NULL;
    const uint32_t both = (uint32_t)VYRE_RIGHT_WRITE | DEV_RIGHT_SEEN;
    uint32_t seen[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        seen[DEV_MINE(l)] = 0;
        for (uint32_t i = l; bindings != NULL && i < bindings->count; i += DEV_WARP)
            seen[DEV_MINE(l)] |= (uint32_t)((bindings->bound[i].rights & both) == both);
    }
    const uint32_t any = dev_warp_ballot(seen) != 0;
    DEV_FIRST frame->seen = any;
    dev_warp_sync();
}

/* Makes an aide's room ready for what the poller has looked up; 0: the program is not what was
 * loaded. */
DEV_NO_INLINE int dev_aide_ready(struct dev_runtime *rt, const struct dev_desk *desk,
                                 struct dev_frame *frame)
{
    struct dev_short_slot whole;
    whole.arg = dev_desk_slot(desk) + VYRE_SLOT_ARG0;
    whole.ticket = desk->ticket;
    whole.program = desk->known.program;
    whole.set = desk->known.set;
    whole.far_frame = NULL; /* the poller has seen that it fits the room */
    if (!dev_short_prepare(rt, frame, &whole, &rt->queues[desk->known.queue])) return 0;
    dev_aide_look(rt, frame, whole.set);
    dev_lean_prepare(frame, rt->room_bytes);
    return 1;
}

/* The same where only the scalars can be other than last time. */
DEV_FN void dev_aide_again(const struct dev_desk *desk, struct dev_frame *frame)
{
    const uint32_t *slot = dev_desk_slot(desk);
    DEV_ROLES(i)
    {
        if (i < DEV_SLOT_SCALARS)
            frame->args.scalar[i] = slot[VYRE_SLOT_WORDS - DEV_SLOT_SCALARS + i];
    }
    DEV_FIRST frame->log_place = desk->log_place;
    dev_warp_sync();
}

/* Runs a workgroup of a program that is nothing for the lean loop. */
DEV_NO_INLINE struct dev_lean_end dev_aide_other(struct dev_runtime *rt, struct dev_frame *frame,
                                                 uint32_t group, struct dev_lean_job job)
{
    struct dev_lean_end end;
    uint32_t turns = 0;
    dev_warp_begin(frame, group, job.args);
    dev_limit_set(frame, job.budget);
    do
        end.how = dev_frame_run_here(rt, frame);
    while (dev_short_goes_on(end.how, turns++));
    end.steps = dev_saturated(frame->steps);
    end.out_of_bounds = frame->out_of_bounds;
    end.left = 1;
    return end;
}

/* What an aide keeps from one job to the next. */
struct dev_aide_state {
    uint32_t aide;
    uint32_t lookup; /* that its room is ready for */
    uint32_t odd;    /* more must be known of all that it runs than steps */
    uint32_t can;    /* the lean loop runs the program */
    uint32_t primed; /* the first workgroup is begun, as far as it is the same in all jobs */
    struct dev_lean lean;
};

/* What an aide must know of a job, read at once. */
struct dev_aide_task {
    uint32_t leave;
    uint32_t lookups;
    uint32_t total;
    uint32_t aides;
    struct dev_lean_job job;
};

DEV_FN struct dev_aide_task dev_aide_read(const struct dev_desk *desk)
{
    struct dev_aide_task task;
    task.leave = desk->leave;
    task.lookups = desk->lookups;
    task.total = desk->known.total;
    task.aides = desk->known.aides;
    task.job.budget = desk->known.budget;
    task.job.flat = desk->known.flat;
    task.job.args = dev_desk_slot(desk) + VYRE_SLOT_ARG0;
    task.leave = dev_warp_first(task.leave);
    task.lookups = dev_warp_first(task.lookups);
    task.total = dev_warp_first(task.total);
    task.aides = dev_warp_first(task.aides);
    task.job.flat = dev_warp_first(task.job.flat);
    return task;
}

/* Makes the room ready for another lookup; the fault, if it cannot be. */
DEV_FN uint32_t dev_aide_turn(struct dev_runtime *rt, const struct dev_desk *desk,
                              struct dev_frame *frame, struct dev_aide_state *kept,
                              uint32_t lookups)
{
    const int ready = dev_aide_ready(rt, desk, frame);
    kept->lookup = ready ? lookups : 0;
    kept->primed = 0;
    kept->can = dev_warp_first(ready ? frame->lean : 0);
    kept->odd = dev_warp_first(frame->seen | frame->far_parts);
    kept->lean.answers = 0;
    if (kept->can) dev_lean_open(&kept->lean, frame);
    return ready ? 0 : (uint32_t)VYRE_FAULT_DAMAGED;
}

/* All aides have come to the gate: the first of them ends the job. */
DEV_FN void dev_aide_finish(struct dev_runtime *rt, struct dev_desk *desk,
                            const struct dev_frame *frame, uint32_t aides)
{
    const uint32_t tally = dev_warp_first(desk->tally);
    dev_warp_sync(); /* all have looked */
    DEV_FIRST desk->tally = 0;
    if (tally >= DEV_TALLY_ODD)
        dev_desk_end_odd(rt, desk, aides, frame->far_parts);
    else
        dev_desk_end(rt, desk, tally);
}

/* Runs an aide's share of the job, and tells of it. */
DEV_FN void dev_aide_job(struct dev_runtime *rt, struct dev_desk *desk, struct dev_frame *frame,
                         const struct dev_aide_task *task, struct dev_aide_state *kept)
{
    const uint32_t aide = kept->aide;
    struct dev_aide_end end = {{0, 0, 0, 0, 0}, 0, 0, 0};
    uint32_t state = dev_float_enter();
    if (kept->lookup == task->lookups)
        dev_aide_again(desk, frame);
    else
        end.first.fault = dev_aide_turn(rt, desk, frame, kept, task->lookups);
    uint32_t odd = kept->odd | end.first.fault;
    dev_lean_renew(&kept->lean);
    for (uint32_t group = aide; group < task->total && end.first.fault == 0; group += task->aides) {
        /* Not after a fault of a lower one. */
        if (group != aide && dev_warp_first(dev_block_ask(&desk->lowest)) < group) break;
        const struct dev_lean_end part =
            kept->can != 0 ? dev_lean_run(&kept->lean, frame, group, &task->job, kept->primed)
                           : dev_aide_other(rt, frame, group, task->job);
        kept->primed = 0;
        end.steps = dev_saturated((uint64_t)end.steps + part.steps);
        end.out_of_bounds = dev_saturated((uint64_t)end.out_of_bounds + part.out_of_bounds);
        odd |= part.left;
        if (part.how == DEV_FRAME_ENDED) {
            end.ended++;
        } else {
            end.first = dev_short_fault_of(frame, part.how);
            odd = 1;
            DEV_FIRST dev_block_min(&desk->lowest, group);
        }
        dev_warp_sync(); /* all have looked */
    }
    dev_float_leave(state);
    dev_stream_done(); /* before anybody hears of it */
    odd = dev_warp_first(odd | (uint32_t)(end.steps > DEV_AIDE_STEPS));
    DEV_FIRST
    {
        desk->end[aide] = end;
        dev_block_add(&desk->tally, odd != 0 ? DEV_TALLY_ODD : end.steps);
    }
    /* R26; all aides at the same time. */
    if (kept->lean.answers != 0)
        dev_lean_hear(&kept->lean);
    else if (odd == 0)
        dev_fence_both(DEV_DEVICE);
}

/* What is left to do when the completion is on its way: the next job must not find in the first
 * cache what this one has read, and what waits for the slot's end is told of it. */
DEV_FN void dev_aide_rest(struct dev_runtime *rt, struct dev_desk *desk, uint32_t aide)
{
    const uint32_t queue = desk->known.queue;
    dev_fence_both(DEV_DEVICE); /* of R14 and R11 too */
    dev_warp_sync();
    DEV_FIRST
    {
        if (aide == 0) {
            desk->lowest = DEV_NONE;
            dev_add_relaxed(&rt->queues[queue].chunked, 0u - 1u); /* R14 */
            dev_add_relaxed(&rt->ends, 1);                        /* R11 */
        }
    }
}

/* A job from beginning to end. */
DEV_FN void dev_aide_serve(struct dev_runtime *rt, struct dev_desk *desk, struct dev_frame *frame,
                           const struct dev_aide_task *task, struct dev_aide_state *kept,
                           uint32_t warps)
{
    dev_aide_job(rt, desk, frame, task, kept);
    if (kept->aide != 0) {
        dev_gate_come(desk->gate, DEV_GATE_DONE, warps - 1); /* R24 */
    } else {
        dev_gate_wait(desk->gate, DEV_GATE_DONE, warps - 1); /* A24 */
        dev_aide_finish(rt, desk, frame, task->aides);
    }
    dev_aide_rest(rt, desk, kept->aide);
}

/* The number of an aide, from its warp's in the block; or more than there are. Those beside the
 * poller, which share its part of the multiprocessor, come last. */
DEV_FN uint32_t dev_aide_number(uint32_t warp, uint32_t block_warps)
{
    if (warp == 0 || warp >= block_warps) return DEV_NONE;
    return warp % 4 != 0 ? warp - 1 - warp / 4 : block_warps - 2 - (block_warps - 1) / 4 + warp / 4;
}

/*
 * Waits for jobs until the kernel leaves. What a job reads was written by others, on other
 * multiprocessors or by the host, before the poller saw its slot, so it is in memory; but the first
 * cache may have it as it was. The fences after the last job have emptied that cache, and where no
 * other block is on the multiprocessor nobody has read a buffer since. Where one may be (it is
 * `crowded`), there is another fence.
 */
DEV_NO_INLINE void dev_aide(struct dev_runtime *rt, struct dev_room *room, struct dev_desk *desk,
                            uint32_t aide, uint32_t crowded)
{
    struct dev_frame *frame = (struct dev_frame *)(void *)room;
    struct dev_aide_state kept = {0};
    desk = (struct dev_desk *)dev_block_place(desk);
    const uint32_t warps = dev_warp_first(desk->aides) + 1;
    crowded = dev_warp_first(crowded); /* what is branched on: see dev_lean_run */
    kept.aide = dev_warp_first(aide);
    DEV_FIRST frame->serial = frame->far_parts = frame->seen = frame->lean = 0; /* nothing yet */
    dev_warp_sync();
    for (;;) {
        dev_gate_wait(desk->gate, DEV_GATE_FULL, warps); /* A23 pairs with R23 in look_program.h */
        if (crowded) dev_fence_both(DEV_DEVICE);
        const struct dev_aide_task task = dev_aide_read(desk);
        if (task.leave != 0) return;
        if (kept.aide < task.aides) {
            dev_aide_serve(rt, desk, frame, &task, &kept, warps);
            kept.primed = (uint32_t)(task.job.flat != 0 && kept.can != 0);
            if (kept.primed) dev_lean_prime(frame, kept.aide, NULL);
        } else {
            dev_gate_come(desk->gate, DEV_GATE_DONE, warps - 1);
        }
        dev_gate_wait(desk->gate, DEV_GATE_EMPTY, warps); /* R25 pairs with A25 there */
    }
}

#endif
