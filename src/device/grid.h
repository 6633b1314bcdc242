/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A slot that runs a program: its workgroups are taken by every free worker, some at a time. Each
 * of them is counted once, when it has ended or will never run; who counts the last one ends the
 * slot. So workers come and go without a lock; only one that has a fault to tell, or a workgroup to
 * put aside, takes it.
 *
 * Workers find a run in the run queues, where its entry stays as long as it has something to hand
 * out and goes behind the others of its queue each time; those of a resident kernel are also told
 * of it directly (post.h). While one is at a run, or has been told of it, it holds it: entry and
 * run are given back when the slot has ended and nobody holds them.
 *
 * A workgroup whose turn is over leaves its frame with the run and the worker takes a free one. If
 * there is none it goes on (counted), and looks at every back edge whether it should end. When one
 * faults no further one starts, and those that were put aside are dropped: the fault of the lowest
 * number is reported.
 *
 * A worker is a thread, or all lanes of a warp: then each lane has its copy of the turn, and the
 * first one does what is done once. A warp's frame lies in its room while it runs (warp_frame.h).
 */
#ifndef VYRE_DEVICE_GRID_H
#define VYRE_DEVICE_GRID_H

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
            dev_lock(&rt->sched);
            if (run->queued) dev_runq_unlink(rt, entry_index);
            run->queued = 0;
            dev_unlock(&rt->sched);
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

/* What the beginning of a workgroup counts for in a turn: as many steps as take about as long,
 * those for its memory, which is cleared, with them. */
#define DEV_BEGIN_STEPS 8u
#define DEV_BEGIN_BYTES 64u /* a step */

/* Most workgroups that are handed out at once. */
#define DEV_HAND_OUT 16u

/* Workgroups that a warp begins between two looks whether it should stop. */
#define DEV_STOP_GROUPS 8u

/*
 * How many workgroups to take: each taking is a trip to memory that all share, so small ones are
 * taken several at a time, as many as are likely to be done in a quarter of the turn, and never so
 * many that other workers have none. `seen` were begun in this turn.
 */
DEV_FN uint64_t dev_hand_out(const struct dev_runtime *rt, const struct dev_run *run,
                             const struct dev_turn *turn, uint64_t seen)
{
    uint64_t left = run->total - dev_load64_relaxed(&run->next);
    uint64_t share = left / (4u * rt->workers) + 1;
    uint64_t each = seen != 0 ? turn->spent / seen + 1 : rt->step_budget;
    uint64_t fit = rt->step_budget / (4 * each) + 1;
    uint64_t most = fit < DEV_HAND_OUT ? fit : DEV_HAND_OUT;
    return share < most ? share : most;
}

/* The next workgroup of a run, or DEV_NO_GROUP: there is none. One that was handed out with others
 * is not begun after a fault of a lower one; a warp looks for that now and then. All lanes. */
DEV_FN uint64_t dev_next_group(const struct dev_runtime *rt, struct dev_run *run,
                               struct dev_turn *turn, uint64_t seen)
{
    uint64_t number = DEV_NO_GROUP, end = 0;
    if (turn->rest < turn->rest_end) {
        uint32_t lost = 0;
        number = turn->rest;
        DEV_FIRST
        {
            if (turn->room == NULL || seen % DEV_STOP_GROUPS == 0)
                lost = dev_load_relaxed(&run->fault) != 0 &&
                       number >= dev_load64_relaxed(&run->fault_group);
        }
        if (dev_warp_first(lost)) {
            turn->settled += turn->rest_end - number;
            turn->rest = turn->rest_end;
            return DEV_NO_GROUP;
        }
        turn->rest++;
        return number;
    }
    DEV_FIRST
    {
        if (turn->spent < rt->step_budget && dev_load64_relaxed(&run->next) < run->total) {
            uint64_t count = dev_hand_out(rt, run, turn, seen);
            number = dev_take64_relaxed(&run->next, count);
            end = number < run->total - count ? number + count : run->total;
            if (number >= run->total) number = DEV_NO_GROUP;
        }
    }
    number = dev_warp_first64(number);
    if (number == DEV_NO_GROUP) return number;
    turn->rest = number + 1;
    turn->rest_end = dev_warp_first64(end);
    return number;
}

/* Runs workgroup `number` in the worker's frame, and more until the turn is over or none is left.
 */
DEV_FN void dev_run_groups(struct dev_runtime *rt, const struct dev_inflight *entry,
                           struct dev_turn *turn, uint64_t number)
{
    struct dev_run *run = &rt->runs[entry->run];
    struct dev_frame *frame = dev_turn_frame(rt, turn);
    uint64_t share = dev_share_after(rt), seen = 0;
    uint64_t beginning = DEV_BEGIN_STEPS + frame->program->shared_bytes / DEV_BEGIN_BYTES;
    while (number != DEV_NO_GROUP) {
        if (turn->room != NULL)
            dev_warp_begin(frame, number, entry->slot + VYRE_SLOT_ARG0);
        else
            dev_frame_begin(frame, number, entry->slot + VYRE_SLOT_ARG0);
        seen++;
        turn->spent += beginning;
        if (turn->spent >= share) dev_turn_share(rt, turn);
        /* A look takes a warp as long as a small workgroup. */
        uint32_t stop = 0;
        if (turn->room == NULL || seen % DEV_STOP_GROUPS == 1)
            stop = dev_turn_stopped(rt, entry, 0);
        if (stop != 0)
            dev_turn_fault(turn, number, stop, 0);
        else
            dev_workgroup_run(rt, entry, turn);
        if (turn->fault != 0 || turn->aside != DEV_NONE) return;
        number = dev_next_group(rt, run, turn, seen);
    }
}

/* Binds a run's buffers in a warp's room, and its scalars, which every workgroup reads: so they lie
 * there too. */
DEV_FN void dev_run_room_bind(const struct dev_runtime *rt, const struct dev_run *run,
                              struct dev_frame *room)
{
    const uint32_t words = (uint32_t)(sizeof(struct dev_run_args) / sizeof(uint32_t));
    const uint32_t *from = (const uint32_t *)(const void *)&run->args;
    DEV_ROLES(l)
    {
        for (uint32_t i = l; i < words; i += DEV_WARP)
            ((uint32_t *)(void *)&room->args)[i] = from[i];
    }
    dev_warp_sync();
    dev_warp_bind(room, &room->args, dev_run_bindings(rt, run));
}

/* Makes a warp's room ready for a run. 0: its program is damaged. */
DEV_FN int dev_run_room_make(struct dev_runtime *rt, const struct dev_run *run,
                             const struct dev_turn *turn)
{
    const struct dev_handle *handle = &rt->handles[run->program];
    struct dev_block block;
    block.program = (const struct vm_header *)(uintptr_t)handle->address;
    block.bytes = handle->bytes;
    block.room = rt->room_bytes;
    block.frame_bytes = rt->frame_stride;
    unsigned char *far_frame = (unsigned char *)dev_frame_at(rt, rt->worker_frame[turn->worker]);
    if (!dev_warp_prepare(turn->room, &block, far_frame)) return 0;
    dev_run_room_bind(rt, run, turn->room);
    return 1;
}

/* Makes the worker's frame ready for a run, and begins workgroups in it, if there are any. */
DEV_FN void dev_run_fresh(struct dev_runtime *rt, const struct dev_inflight *entry,
                          struct dev_turn *turn)
{
    struct dev_run *run = &rt->runs[entry->run];
    struct dev_frame *frame = dev_turn_frame(rt, turn);
    uint64_t number = dev_next_group(rt, run, turn, 0);
    if (number == DEV_NO_GROUP) return; /* then nothing of the run may be looked at */
    if (turn->room == NULL) {
        dev_frame_prepare(frame,
                          (const struct vm_header *)(uintptr_t)rt->handles[run->program].address);
        dev_frame_bind(frame, run, dev_run_bindings(rt, run));
    } else if (!dev_run_room_make(rt, run, turn)) {
        dev_turn_fault(turn, number, (uint32_t)VYRE_FAULT_DAMAGED, 0);
        return;
    }
    DEV_FIRST
    {
        frame->rt = rt;
        frame->entry = entry;
        frame->log = &rt->logs[entry->slot[VYRE_SLOT_TENANT]];
        frame->log_place = entry->place * VYRE_SLOT_WORDS;
    }
    dev_warp_sync();
    dev_run_groups(rt, entry, turn, number);
}

/* Goes on with a workgroup that was put aside, and those that were handed out with it. */
DEV_FN void dev_run_resume(struct dev_runtime *rt, const struct dev_inflight *entry,
                           struct dev_turn *turn, uint32_t index)
{
    struct dev_run *run = &rt->runs[entry->run];
    struct dev_frame *frame = dev_frame_at(rt, index);
    dev_frame_swap(rt, turn->worker, index);
    if (turn->room != NULL) {
        dev_warp_fill(turn->room, (unsigned char *)frame, rt->room_bytes);
        dev_run_room_bind(rt, run, turn->room);
        frame = turn->room;
    }
    turn->rest = frame->rest;
    turn->rest_end = frame->rest_end;
    if (turn->fault != 0)
        dev_turn_fault(turn, frame->number, turn->fault, frame->pc);
    else
        dev_workgroup_run(rt, entry, turn);
    if (turn->fault != 0 || turn->aside != DEV_NONE) return;
    dev_run_groups(rt, entry, turn, dev_next_group(rt, run, turn, 0));
}

/* One turn of a worker at a run that it holds, `frame` is one to resume or DEV_NONE; 1: it was the
 * last, the caller ends the slot. room: of a warp, all of whose lanes call. */
DEV_FN int dev_run_turn(struct dev_runtime *rt, uint32_t entry_index, uint32_t worker,
                        struct dev_frame *room, uint32_t frame)
{
    const struct dev_inflight *entry = &rt->inflight[entry_index];
    struct dev_turn turn = {0, 0, 0, 0, 0,        0,      0, DEV_NO_GROUP,
                            0, 0, 0, 0, DEV_NONE, worker, 0, room};
    uint32_t state = dev_float_enter();
    turn.fault = dev_turn_stopped(rt, entry, 1);
    if (frame != DEV_NONE) {
        dev_run_resume(rt, entry, &turn, frame);
    } else {
        while (turn.fault == 0 && turn.aside == DEV_NONE) {
            uint64_t before = turn.settled;
            turn.spent = 0;
            dev_run_fresh(rt, entry, &turn);
            /* The turn is over; unless somebody waits, so begins the next. */
            if (turn.fault != 0 || turn.settled == before || dev_others_wait(rt, &turn)) break;
            turn.fault = dev_turn_stopped(rt, entry, 1);
        }
    }
    dev_float_leave(state);
    dev_stream_done(); /* before anybody hears of it */
    return dev_run_leave(rt, entry_index, &turn);
}

#endif
