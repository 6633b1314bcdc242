/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A worker's turn at a run (grid.h): when it should stop or make room, and one workgroup after the
 * other in its frame.
 *
 * A workgroup whose turn is over leaves its frame with the run and the worker takes a free one. If
 * there is none it goes on (counted), and looks at every back edge whether it should end. When one
 * faults no further one starts, and those that were put aside are dropped: the fault of the lowest
 * number is reported.
 *
 * A worker is a thread, or all lanes of a warp: then each lane has its copy of the turn, and the
 * first one does what is done once. A warp's frame lies in its room while it runs (warp_frame.h).
 */
#ifndef VYRE_DEVICE_TURN_H
#define VYRE_DEVICE_TURN_H

#include "device/builtin_call.h"
#include "device/handover.h"
#include "device/run.h"
#include "device/wake.h"

#if defined(__CUDACC__)
#    include "device/warp_interp.h"
DEV_FN uint32_t dev_frame_run(struct dev_runtime *rt, struct dev_frame *frame)
{
    (void)rt;
    return dev_warp_interpret(frame);
}

/* The same of a frame that lies in the room, with a loop of its own: a call would save and restore
 * more registers than a small program has work. */
DEV_FN uint32_t dev_frame_run_here(struct dev_runtime *rt, struct dev_frame *frame)
{
    (void)rt;
    return dev_quick_loop(frame);
}
#else
#    include "device/warp_frame.h"
/* The interpreter is compiled for several processors; the backend chose one. */
typedef uint32_t (*dev_interpreter)(struct dev_frame *frame);
DEV_FN uint32_t dev_frame_run(struct dev_runtime *rt, struct dev_frame *frame)
{
    return ((dev_interpreter)(uintptr_t)rt->interpreter)(frame);
}

DEV_FN uint32_t dev_frame_run_here(struct dev_runtime *rt, struct dev_frame *frame)
{
    return dev_frame_run(rt, frame);
}
#endif

/* What a worker has done for a run since it joined. */
struct dev_turn {
    uint64_t ended;
    uint64_t settled; /* those and such as will never run */
    uint64_t steps;
    uint64_t spent; /* of the turn: steps, and what it took to begin workgroups */
    uint64_t out_of_bounds;
    uint64_t rest; /* workgroups [rest, rest_end) were handed out and not begun */
    uint64_t rest_end;
    uint64_t fault_group; /* DEV_NO_GROUP: the lowest that is lost */
    uint32_t fault, fault_pc, fault_detail, fault_lane;
    uint32_t aside;         /* frame that was put aside, or DEV_NONE */
    uint32_t worker;        /* whose turn it is */
    uint32_t shared;        /* sleeping workers were told of what waits */
    uint32_t drained;       /* the run has no workgroup left to hand out */
    struct dev_frame *room; /* of a warp: where its frame lies while it runs; NULL: a thread */
};

#define DEV_NO_GROUP (~(uint64_t)0)

/* Why a slot should end now, or 0; all lanes hear the same. */
DEV_FN uint32_t dev_turn_stopped(const struct dev_runtime *rt, const struct dev_inflight *entry,
                                 int deadline)
{
    uint32_t stop = 0;
    DEV_FIRST stop = deadline ? dev_entry_stopped(rt, entry) : dev_entry_cancelled(rt, entry);
    return dev_warp_first(stop);
}

/* The frame that a worker runs workgroups in. */
DEV_FN struct dev_frame *dev_turn_frame(const struct dev_runtime *rt, const struct dev_turn *turn)
{
    return turn->room != NULL ? turn->room : dev_frame_at(rt, rt->worker_frame[turn->worker]);
}

/* After so many steps of a turn those who sleep are told of what waits, the rest of the grid with
 * it: a small run is over before anybody has woken up. */
#define DEV_SHARE_STEPS 2048u

DEV_FN uint32_t dev_share_after(const struct dev_runtime *rt)
{
    return rt->step_budget / 8 < DEV_SHARE_STEPS ? rt->step_budget / 8 : DEV_SHARE_STEPS;
}

DEV_FN void dev_turn_share(struct dev_runtime *rt, struct dev_turn *turn)
{
    if (turn->shared) return;
    turn->shared = 1;
    DEV_FIRST dev_share_out(rt);
}

/* Whether a worker should make room for others. Threads always do: they sleep where nobody waits.
 */
DEV_FN int dev_others_wait(const struct dev_runtime *rt, const struct dev_turn *turn)
{
    uint32_t wait = 1;
    if (turn->room == NULL) return 1;
    DEV_FIRST wait = dev_load_relaxed(&rt->waiting_mask) != 0 || dev_handover_waits(rt->handover);
    return (int)dev_warp_first(wait);
}

/* Tells the fault of a turn, and leaves its frame with the run; on the first lane. */
DEV_FN void dev_turn_tell(struct dev_runtime *rt, uint32_t entry_index, struct dev_turn *turn)
{
    struct dev_run *run = &rt->runs[rt->inflight[entry_index].run];
    dev_lock(&rt->sched);
    if (turn->aside != DEV_NONE) {
        /* Behind the others: workgroups may wait for each other. */
        dev_frame_at(rt, turn->aside)->next = DEV_NONE;
        if (run->waiting == DEV_NONE)
            dev_store_relaxed(&run->waiting, turn->aside);
        else
            dev_frame_at(rt, run->waiting_last)->next = turn->aside;
        run->waiting_last = turn->aside;
    }
    if (turn->fault != 0 || run->fault != 0) {
        struct dev_cut cut = dev_run_cut(rt, run);
        turn->settled += cut.dropped;
        if (turn->fault_group == DEV_NO_GROUP) {
            turn->fault_group = cut.lowest;
            if (cut.dropped == 0) turn->fault = 0; /* others have them all: they say how it ended */
        }
    }
    if (turn->fault != 0 && (run->fault == 0 || turn->fault_group < run->fault_group)) {
        dev_store64_relaxed(&run->fault_group, turn->fault_group);
        dev_store_relaxed(&run->fault, turn->fault);
        run->fault_pc = turn->fault_pc;
        run->fault_detail = turn->fault_detail;
        run->fault_lane = turn->fault_lane;
    }
    if (dev_run_more(run)) dev_run_queue(rt, entry_index);
    dev_unlock(&rt->sched);
}

/* Leaves the run; 1: all its workgroups are settled, the caller ends the slot and drops it. */
DEV_FN int dev_run_leave(struct dev_runtime *rt, uint32_t entry_index, struct dev_turn *turn)
{
    struct dev_run *run = &rt->runs[rt->inflight[entry_index].run];
    uint32_t last = 0;
    dev_warp_sync();
    DEV_FIRST
    {
        if (turn->fault != 0 || turn->aside != DEV_NONE) dev_turn_tell(rt, entry_index, turn);
        if (turn->steps != 0) dev_add64_relaxed(&run->steps, turn->steps);
        if (turn->out_of_bounds != 0) dev_add64_relaxed(&run->out_of_bounds, turn->out_of_bounds);
        if (turn->ended != 0) dev_add64_relaxed(&run->ended, turn->ended);
        if (run->total == 0) turn->settled = 1; /* whoever comes first */
        uint64_t all = run->total != 0 ? run->total : 1;
        if (turn->settled != 0)
            last = dev_add64_both(&run->settled, turn->settled) + turn->settled == all;
        if (last) {
            dev_run_unqueue(rt, entry_index);
        } else {
            dev_run_part(rt, entry_index);
        }
    }
    return (int)dev_warp_first(last);
}

/* Puts the worker's frame aside and takes a free one; 0: there is none, `overdue` is counted. */
DEV_FN int dev_frame_put_aside(struct dev_runtime *rt, struct dev_turn *turn, uint32_t overdue)
{
    uint32_t *mine = &rt->worker_frame[turn->worker];
    struct dev_frame *frame = dev_turn_frame(rt, turn);
    DEV_FIRST
    {
        if (overdue != 0 || dev_load_relaxed(&rt->free_frame) != DEV_NONE) {
            dev_lock(&rt->sched);
            uint32_t fresh = rt->free_frame;
            if (fresh != DEV_NONE) {
                dev_store_relaxed(&rt->free_frame, dev_frame_at(rt, fresh)->next);
                turn->aside = *mine;
                *mine = fresh;
                frame->rest = turn->rest;
                frame->rest_end = turn->rest_end;
            } else {
                dev_store_relaxed(&rt->frames_full, rt->frames_full + overdue);
            }
            dev_unlock(&rt->sched);
        }
    }
    turn->aside = dev_warp_first(turn->aside);
    if (turn->aside == DEV_NONE) return 0;
    turn->rest = turn->rest_end = 0;
    if (turn->room != NULL) dev_warp_spill(turn->room, rt->room_bytes);
    return 1;
}

/* The worker has a frame that it resumes: its own one goes back. */
DEV_FN void dev_frame_swap(struct dev_runtime *rt, uint32_t worker, uint32_t frame)
{
    DEV_FIRST
    {
        dev_lock(&rt->sched);
        dev_frame_at(rt, rt->worker_frame[worker])->next = rt->free_frame;
        dev_store_relaxed(&rt->free_frame, rt->worker_frame[worker]);
        rt->worker_frame[worker] = frame;
        dev_unlock(&rt->sched);
    }
    dev_warp_sync();
}

/* The workgroup of a frame will not end: it and those that were handed out with it are lost. */
DEV_FN void dev_turn_fault(struct dev_turn *turn, uint64_t group, uint32_t fault, uint32_t pc)
{
    turn->fault = fault;
    turn->fault_group = group;
    turn->fault_pc = pc;
    turn->fault_detail = 0;
    turn->fault_lane = 0;
    turn->settled += 1 + (turn->rest_end - turn->rest);
    turn->rest = turn->rest_end;
}

DEV_FN void dev_limit_set(struct dev_frame *frame, uint64_t limit)
{
    dev_warp_sync();
    DEV_FIRST frame->limit = limit;
    dev_warp_sync();
}

/* Whether a workgroup whose turn is over has to make room: for others, or for workgroups of its own
 * run that it may be waiting for. */
DEV_FN int dev_must_yield(const struct dev_runtime *rt, const struct dev_run *run,
                          const struct dev_turn *turn)
{
    uint32_t more = 0;
    DEV_FIRST
    {
        more = dev_load64_relaxed(&run->next) < run->total ||
               dev_load_relaxed(&run->waiting) != DEV_NONE || turn->rest < turn->rest_end;
    }
    return dev_warp_first(more) != 0 || dev_others_wait(rt, turn);
}

/* Runs the worker's frame until its workgroup ends, faults or is put aside. */
DEV_FN void dev_workgroup_run(struct dev_runtime *rt, const struct dev_inflight *entry,
                              struct dev_turn *turn)
{
    struct dev_frame *frame = dev_turn_frame(rt, turn);
    const struct dev_run *run = &rt->runs[entry->run];
    uint64_t before = frame->steps;
    uint32_t overdue = 1;
    dev_limit_set(frame, before + (turn->shared ? rt->step_budget : dev_share_after(rt)));
    uint32_t end = dev_frame_run(rt, frame);
    if (end == DEV_FRAME_TURN_OVER && !turn->shared) {
        dev_turn_share(rt, turn);
        dev_limit_set(frame, before + rt->step_budget);
        end = dev_frame_run(rt, frame);
    }
    while (end == DEV_FRAME_TURN_OVER) {
        uint32_t stop = dev_turn_stopped(rt, entry, 1);
        if (stop != 0) {
            dev_turn_fault(turn, frame->number, stop, frame->pc);
            break;
        }
        if (!dev_must_yield(rt, run, turn)) {
            dev_limit_set(frame, frame->steps + rt->step_budget);
        } else {
            /* Its steps, before it is another's. */
            uint64_t steps = frame->steps;
            if (dev_frame_put_aside(rt, turn, overdue)) {
                turn->steps += steps - before;
                turn->spent += steps - before;
                return;
            }
            overdue = 0;
            dev_limit_set(frame, frame->steps); /* looks at every back edge from now on */
        }
        end = dev_frame_run(rt, frame);
    }
    turn->steps += frame->steps - before;
    turn->spent += frame->steps - before;
    if (end == DEV_FRAME_TURN_OVER) return;
    turn->out_of_bounds += frame->out_of_bounds;
    if (end == DEV_FRAME_FAULT) {
        dev_turn_fault(turn, frame->number, frame->fault, frame->fault_pc);
        turn->fault_detail = frame->fault_detail;
        turn->fault_lane = frame->fault_lane;
    } else {
        turn->ended++;
        turn->settled++;
    }
}

#endif
