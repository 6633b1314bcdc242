/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The run of a slot that names a program, from its making to its end: what is left to hand out, who
 * holds it, how it ended. What workers do at it is grid.h's.
 */
#ifndef VYRE_DEVICE_RUN_H
#define VYRE_DEVICE_RUN_H

#include "device/complete.h"
#include "device/frame_start.h"
#include "device/runq.h"

/* The free runs are a stack, as the free entries are (runq.h). */

/* The free run that is the k-th from the top; there are more than k. (sched) */
DEV_FN uint32_t dev_run_spare(const struct dev_runtime *rt, uint32_t k)
{
    return rt->runs[rt->free_runs - 1 - k].spare;
}

/* The first n have been taken. (sched) */
DEV_FN void dev_runs_taken(struct dev_runtime *rt, uint32_t n)
{
    dev_store_relaxed(&rt->free_runs, rt->free_runs - n);
}

/* (sched) */
DEV_FN void dev_run_give(struct dev_runtime *rt, uint32_t index)
{
    rt->runs[rt->free_runs].spare = index;
    dev_store_relaxed(&rt->free_runs, rt->free_runs + 1);
}

/* How many workgroups a slot asks for. */
DEV_FN uint64_t dev_run_total(const uint32_t *slot)
{
    const uint32_t *grid = slot + VYRE_SLOT_ARG0;
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

/* Makes a run that was taken that of a slot which names this program. */
DEV_FN void dev_run_fill(struct dev_run *run, const uint32_t *slot, uint32_t program,
                         const struct dev_params *params)
{
    const uint32_t *arg = slot + VYRE_SLOT_ARG0;
    run->total = dev_run_total(slot);
    run->next = run->ended = run->settled = run->fault_group = 0;
    run->fault = run->fault_pc = run->fault_detail = run->fault_lane = 0;
    run->holders = 1; /* the slot itself */
    run->queued = 0;
    run->waiting = DEV_NONE;
    run->steps = run->out_of_bounds = 0;
    run->program = program;
    run->bindings = arg[3] & 0xFFFFu;
    if (arg[3] == 0) run->bindings = DEV_NONE;
    dev_run_args_fill(&run->args, arg, params);
}

/* Puts the entry of a run at the end of its queue, unless it is there. (sched) */
DEV_FN void dev_run_queue(struct dev_runtime *rt, uint32_t entry_index)
{
    struct dev_run *run = &rt->runs[rt->inflight[entry_index].run];
    if (run->queued) return;
    run->queued = 1;
    dev_runq_push(rt, entry_index, dev_clock_ns());
}

/* Takes the entry of a run out of its queue, if it is there: all its workgroups are settled. Called
 * by one who holds it. If nobody else does but the slot, and it is in no queue, nobody will put it
 * there, and a warp spares the lock. Somebody may be popping it just then: he has found it queued,
 * and leaves it so if he puts it back, so either value is right. */
DEV_FN void dev_run_unqueue(struct dev_runtime *rt, uint32_t entry_index)
{
    struct dev_run *run = &rt->runs[rt->inflight[entry_index].run];
#if defined(__CUDACC__) /* threads wait for no memory, and a word is read under its lock */
    if (dev_load_acquire(&run->holders, DEV_DEVICE) == 2 && !run->queued) return; /* A27 */
#endif
    dev_lock(&rt->sched);
    if (run->queued) dev_runq_unlink(rt, entry_index);
    run->queued = 0;
    dev_unlock(&rt->sched);
}

/* Whether a run has something to hand out. (sched) */
DEV_FN int dev_run_more(const struct dev_run *run)
{
    return run->fault == 0 &&
           (run->waiting != DEV_NONE || dev_load64_relaxed(&run->next) < run->total);
}

/* What was lost with a run that does not go on. */
struct dev_cut {
    uint64_t lowest;  /* workgroup; the size of the grid where none is */
    uint64_t dropped; /* how many will never run */
};

/* The run will not go on: nothing is handed out any more. (sched) */
DEV_FN struct dev_cut dev_run_cut(struct dev_runtime *rt, struct dev_run *run)
{
    struct dev_cut cut;
    /* Workers take numbers without the lock: so the rest is taken as they do it, all at once. */
    cut.lowest = dev_load64_relaxed(&run->next);
    if (cut.lowest < run->total) cut.lowest = dev_add64_both(&run->next, run->total);
    if (cut.lowest > run->total) cut.lowest = run->total;
    cut.dropped = run->total - cut.lowest;
    while (run->waiting != DEV_NONE) {
        uint32_t index = run->waiting;
        struct dev_frame *frame = dev_frame_at(rt, index);
        if (frame->number < cut.lowest) cut.lowest = frame->number;
        cut.dropped += 1 + (frame->rest_end - frame->rest);
        dev_store_relaxed(&run->waiting, frame->next);
        frame->next = rt->free_frame;
        dev_store_relaxed(&rt->free_frame, index);
    }
    return cut;
}

DEV_FN const struct dev_bindings *dev_run_bindings(const struct dev_runtime *rt,
                                                   const struct dev_run *run)
{
    uint64_t address = run->bindings == DEV_NONE ? 0 : rt->handles[run->bindings].address;
    return (const struct dev_bindings *)(uintptr_t)address;
}

/* Nobody else will hold the run, if this was the last: it is given back with its entry. Called by
 * one who holds it `n` times; on the first lane. */
DEV_FN void dev_run_drop(struct dev_runtime *rt, uint32_t entry_index, uint32_t n)
{
    uint32_t index = rt->inflight[entry_index].run;
    struct dev_run *run = &rt->runs[index];
    if (dev_sub_both(&run->holders, n) != n) return; /* R27 pairs with A27 */
    dev_lock(&rt->sched);
    dev_run_give(rt, index);
    dev_entry_give(rt, entry_index);
    dev_unlock(&rt->sched);
}

/* Leaves a run that has not ended; on the first lane. */
DEV_FN void dev_run_part(struct dev_runtime *rt, uint32_t entry_index)
{
    struct dev_inflight *entry = &rt->inflight[entry_index];
    struct dev_run *run = &rt->runs[entry->run];
    if (dev_load64_relaxed(&run->next) >= run->total &&
        dev_load_relaxed(&run->waiting) == DEV_NONE) {
        dev_run_drop(rt, entry_index, 1);
        return;
    }
    dev_lock(&rt->sched);
    /* Its own slot holds it, so it does not go; and while it waits, a cancel may end it. */
    int more = dev_run_more(run);
    if (more) dev_run_queue(rt, entry_index);
    int alone = dev_load_relaxed(&run->holders) == 2;
    if (more && alone) {
        dev_store_relaxed(&entry->slot[VYRE_SLOT_STATUS], VYRE_SLOT_YIELD);
        dev_sub_both(&run->holders, 1); /* R27 */
    }
    dev_unlock(&rt->sched);
    if (!(more && alone)) dev_run_drop(rt, entry_index, 1);
}

DEV_FN uint32_t dev_saturated(uint64_t sum)
{
    return sum > DEV_NONE ? DEV_NONE : (uint32_t)sum;
}

/* What the completion of a run says. (who ends it) */
DEV_FN void dev_run_result(const struct dev_run *run, struct dev_end *end, uint32_t *result)
{
    uint64_t ended = dev_load64_relaxed(&run->ended);
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        result[i] = 0;
    result[0] = (uint32_t)ended;
    result[1] = (uint32_t)(ended >> 32);
    if (run->fault != 0) {
        result[2] = (uint32_t)run->fault_group;
        result[3] = (uint32_t)(run->fault_group >> 32);
        result[4] = run->fault_detail;
        result[5] = run->fault_lane;
    }
    end->fault = run->fault;
    end->pc = run->fault_pc;
    end->steps = dev_saturated(dev_load64_relaxed(&run->steps));
    end->out_of_bounds = dev_saturated(dev_load64_relaxed(&run->out_of_bounds));
    end->result = result;
}

/* Ends a run that no worker is at, and that is in no run queue any more, with the fault of `end`.
 */
DEV_FN void dev_run_abandon(struct dev_runtime *rt, uint32_t index, struct dev_end *end,
                            uint32_t *result)
{
    struct dev_run *run = &rt->runs[index];
    dev_lock(&rt->sched);
    run->queued = 0;
    run->fault = end->fault;
    run->fault_group = dev_run_cut(rt, run).lowest;
    dev_unlock(&rt->sched);
    dev_run_result(run, end, result);
}

#endif
