/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A slot that runs a program: its workgroups are taken by every free worker, some at a time; the
 * last one to finish ends the slot. The entry of the slot stays in the run queues as long as it has
 * something to hand out, and goes behind the others of its queue each time.
 *
 * A workgroup whose turn is over leaves its frame with the run and the worker takes a free one. If
 * there is none it goes on (counted), and looks at every back edge whether it should end. When one
 * faults no further one starts, and those that were put aside are dropped: the fault of the lowest
 * number is reported.
 */
#ifndef VYRE_DEVICE_GRID_H
#define VYRE_DEVICE_GRID_H

#include "device/builtin_call.h"
#include "device/complete.h"
#include "device/frame_start.h"
#include "device/runq.h"
#include "device/wake.h"

#if defined(__CUDACC__)
#    include "device/interp.h"
DEV_FN uint32_t dev_frame_run(struct dev_runtime *rt, struct dev_frame *frame)
{
    (void)rt;
    return dev_interpret(frame);
}
#else
/* The interpreter is compiled for several processors; the backend chose one. */
typedef uint32_t (*dev_interpreter)(struct dev_frame *frame);
DEV_FN uint32_t dev_frame_run(struct dev_runtime *rt, struct dev_frame *frame)
{
    return ((dev_interpreter)(uintptr_t)rt->interpreter)(frame);
}
#endif

DEV_FN struct dev_frame *dev_frame_at(const struct dev_runtime *rt, uint32_t index)
{
    return (struct dev_frame *)(void *)(rt->frames + (size_t)index * rt->frame_stride);
}

/* Makes the run of a slot that names a program. There is a free one. (sched) */
DEV_FN uint32_t dev_run_make(struct dev_runtime *rt, const uint32_t *slot, uint32_t program,
                             const struct dev_params *params)
{
    const uint32_t *arg = slot + VYRE_SLOT_ARG0;
    uint32_t index = rt->free_run;
    struct dev_run *run = &rt->runs[index];
    rt->free_run = run->next_free;
    dev_store_relaxed(&rt->free_runs, rt->free_runs - 1);
    run->total = (uint64_t)arg[0] * arg[1] * arg[2];
    run->next = run->ended = run->fault_group = 0;
    run->fault = run->fault_pc = run->fault_detail = run->fault_lane = 0;
    run->running = run->queued = 0;
    run->waiting = DEV_NONE;
    run->steps = run->out_of_bounds = 0;
    run->program = program;
    run->bindings = arg[3] & 0xFFFFu;
    if (arg[3] == 0) run->bindings = DEV_NONE;
    for (uint32_t i = 0; i < DEV_SCALARS; i++) {
        if (i < DEV_SLOT_SCALARS)
            run->scalar[i] = arg[5 + i];
        else
            run->scalar[i] =
                params != NULL ? dev_load_relaxed(&params->scalar[i - DEV_SLOT_SCALARS]) : 0;
    }
    return index;
}

/* (sched) */
DEV_FN void dev_run_give(struct dev_runtime *rt, uint32_t index)
{
    rt->runs[index].next_free = rt->free_run;
    rt->free_run = index;
    dev_store_relaxed(&rt->free_runs, rt->free_runs + 1);
}

/* Puts the entry of a run at the end of its queue, unless another worker has. (sched) */
DEV_FN void dev_run_queue(struct dev_runtime *rt, uint32_t entry_index)
{
    struct dev_run *run = &rt->runs[rt->inflight[entry_index].run];
    if (run->queued) return;
    run->queued = 1;
    dev_runq_push(rt, entry_index, dev_clock_ns());
}

/* Whether a run has something to hand out. (sched) */
DEV_FN int dev_run_more(const struct dev_run *run)
{
    return run->fault == 0 &&
           (run->waiting != DEV_NONE || dev_load64_relaxed(&run->next) < run->total);
}

/* The run will not go on: nothing is handed out any more. Returns the lowest-numbered workgroup
 * that is lost by it, or the size of the grid where none is. (sched) */
DEV_FN uint64_t dev_run_cut(struct dev_runtime *rt, struct dev_run *run)
{
    /* Workers take numbers without the lock: so the rest is taken as they do it, all at once. */
    uint64_t lowest = dev_load64_relaxed(&run->next);
    if (lowest < run->total) lowest = dev_add64_both(&run->next, run->total);
    if (lowest > run->total) lowest = run->total;
    while (run->waiting != DEV_NONE) {
        uint32_t index = run->waiting;
        struct dev_frame *frame = dev_frame_at(rt, index);
        if (frame->number < lowest) lowest = frame->number;
        run->waiting = frame->next;
        frame->next = rt->free_frame;
        dev_store_relaxed(&rt->free_frame, index);
    }
    return lowest;
}

/* What a worker has done for a run since it joined. */
struct dev_turn {
    uint64_t ended;
    uint64_t steps;
    uint64_t spent; /* of the turn: steps, and what it took to begin workgroups */
    uint64_t out_of_bounds;
    uint64_t fault_group;
    uint32_t fault, fault_pc, fault_detail, fault_lane;
    uint32_t aside;  /* frame that was put aside, or DEV_NONE */
    uint32_t worker; /* whose turn it is */
    uint32_t shared; /* sleeping workers were told of what waits */
};

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
    dev_share_out(rt);
}

/* Joins the run of an entry that was just popped (dev_run_popped), which goes back to its queue if
 * others may join too. Returns the frame to resume, or DEV_NONE. A turn that is to end the run, but
 * finds all its workgroups handed out, leaves that to those who have them. */
DEV_FN uint32_t dev_run_join(struct dev_runtime *rt, uint32_t entry_index, struct dev_turn *turn)
{
    struct dev_run *run = &rt->runs[rt->inflight[entry_index].run];
    uint32_t frame;
    dev_lock(&rt->sched);
    if (turn->fault != 0) turn->fault_group = dev_run_cut(rt, run);
    if (turn->fault_group == run->total) turn->fault = 0;
    frame = run->waiting;
    if (frame != DEV_NONE) run->waiting = dev_frame_at(rt, frame)->next;
    if (dev_run_more(run)) dev_run_queue(rt, entry_index);
    dev_unlock(&rt->sched);
    return frame;
}

DEV_FN uint32_t dev_add_saturating(uint32_t sum, uint64_t more)
{
    return more > DEV_NONE - sum ? DEV_NONE : sum + (uint32_t)more;
}

/* (sched) */
DEV_FN void dev_run_settle(struct dev_runtime *rt, struct dev_run *run, const struct dev_turn *turn)
{
    run->ended += turn->ended;
    run->steps = dev_add_saturating(run->steps, turn->steps);
    run->out_of_bounds = dev_add_saturating(run->out_of_bounds, turn->out_of_bounds);
    if (turn->fault != 0 && (run->fault == 0 || turn->fault_group < run->fault_group)) {
        dev_store64_relaxed(&run->fault_group, turn->fault_group);
        dev_store_relaxed(&run->fault, turn->fault);
        run->fault_pc = turn->fault_pc;
        run->fault_detail = turn->fault_detail;
        run->fault_lane = turn->fault_lane;
    }
    if (turn->aside != DEV_NONE) {
        /* Behind the others: workgroups may wait for each other. */
        dev_frame_at(rt, turn->aside)->next = DEV_NONE;
        if (run->waiting == DEV_NONE)
            run->waiting = turn->aside;
        else
            dev_frame_at(rt, run->waiting_last)->next = turn->aside;
        run->waiting_last = turn->aside;
    }
    if (run->fault != 0) dev_run_cut(rt, run);
}

/* Leaves the run; 1: nobody is left and nothing is to be done, the caller ends the slot. */
DEV_FN int dev_run_leave(struct dev_runtime *rt, uint32_t entry_index, const struct dev_turn *turn)
{
    struct dev_inflight *entry = &rt->inflight[entry_index];
    struct dev_run *run = &rt->runs[entry->run];
    dev_lock(&rt->sched);
    dev_run_settle(rt, run, turn);
    run->running--;
    int more = dev_run_more(run);
    int last = !more && run->running == 0;
    if (more) dev_run_queue(rt, entry_index);
    if (more && run->running == 0)
        dev_store_relaxed(&entry->slot[VYRE_SLOT_STATUS], VYRE_SLOT_YIELD);
    if (last && run->queued) {
        dev_runq_unlink(rt, entry_index);
        run->queued = 0;
    }
    dev_unlock(&rt->sched);
    return last;
}

/* Puts the worker's frame aside and takes a free one; 0: there is none, `overdue` is counted. */
DEV_FN int dev_frame_put_aside(struct dev_runtime *rt, struct dev_turn *turn, uint32_t overdue)
{
    uint32_t *mine = &rt->worker_frame[turn->worker];
    if (overdue == 0 && dev_load_relaxed(&rt->free_frame) == DEV_NONE) return 0;
    dev_lock(&rt->sched);
    uint32_t fresh = rt->free_frame;
    if (fresh != DEV_NONE) {
        dev_store_relaxed(&rt->free_frame, dev_frame_at(rt, fresh)->next);
        turn->aside = *mine;
        *mine = fresh;
    } else {
        dev_store_relaxed(&rt->frames_full, rt->frames_full + overdue);
    }
    dev_unlock(&rt->sched);
    return fresh != DEV_NONE;
}

/* The worker has a frame that it resumes: its own one goes back. */
DEV_FN void dev_frame_swap(struct dev_runtime *rt, uint32_t worker, uint32_t frame)
{
    dev_lock(&rt->sched);
    dev_frame_at(rt, rt->worker_frame[worker])->next = rt->free_frame;
    dev_store_relaxed(&rt->free_frame, rt->worker_frame[worker]);
    rt->worker_frame[worker] = frame;
    dev_unlock(&rt->sched);
}

DEV_FN void dev_turn_fault(struct dev_turn *turn, const struct dev_frame *frame, uint32_t fault)
{
    turn->fault = fault;
    turn->fault_group = frame->number;
    turn->fault_pc = frame->pc;
    turn->fault_detail = 0;
    turn->fault_lane = 0;
}

/* Runs the worker's frame until its workgroup ends, faults or is put aside. */
DEV_FN void dev_workgroup_run(struct dev_runtime *rt, const struct dev_inflight *entry,
                              struct dev_turn *turn)
{
    struct dev_frame *frame = dev_frame_at(rt, rt->worker_frame[turn->worker]);
    uint64_t before = frame->steps;
    uint32_t overdue = 1;
    frame->limit = before + (turn->shared ? rt->step_budget : dev_share_after(rt));
    uint32_t end = dev_frame_run(rt, frame);
    if (end == DEV_FRAME_TURN_OVER && !turn->shared) {
        dev_turn_share(rt, turn);
        frame->limit = before + rt->step_budget;
        end = dev_frame_run(rt, frame);
    }
    while (end == DEV_FRAME_TURN_OVER) {
        uint32_t stop = dev_entry_stopped(rt, entry);
        if (stop != 0) dev_turn_fault(turn, frame, stop);
        if (stop != 0 || dev_frame_put_aside(rt, turn, overdue)) break;
        overdue = 0;
        frame->limit = frame->steps; /* looks at every back edge from now on */
        end = dev_frame_run(rt, frame);
    }
    turn->steps += frame->steps - before;
    turn->spent += frame->steps - before;
    if (end == DEV_FRAME_TURN_OVER) return;
    turn->out_of_bounds += frame->out_of_bounds;
    if (end == DEV_FRAME_FAULT) {
        dev_turn_fault(turn, frame, frame->fault);
        turn->fault_pc = frame->fault_pc;
        turn->fault_detail = frame->fault_detail;
        turn->fault_lane = frame->fault_lane;
    } else {
        turn->ended++;
    }
}

/* What the beginning of a workgroup counts for in a turn: as many steps as take about as long,
 * those for its memory, which is cleared, with them. */
#define DEV_BEGIN_STEPS 8u
#define DEV_BEGIN_BYTES 64u /* a step */

/* Most workgroups that are handed out at once. */
#define DEV_HAND_OUT 16u

/*
 * How many workgroups to take: each taking waits for all stores before it, so small ones are taken
 * several at a time, as many as are likely to be done in a quarter of the turn, and never so many
 * that other workers have none. `seen` were begun in this turn.
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

/* The next workgroup for a frame, or the size of the grid: there is none. One that was handed out
 * with others is not begun after a fault of a lower one. */
DEV_FN uint64_t dev_next_group(const struct dev_runtime *rt, struct dev_run *run,
                               struct dev_frame *frame, const struct dev_turn *turn, uint64_t seen)
{
    if (frame->rest < frame->rest_end) {
        uint64_t number = frame->rest++;
        if (dev_load_relaxed(&run->fault) == 0) return number;
        if (number < dev_load64_relaxed(&run->fault_group)) return number;
        frame->rest = frame->rest_end;
        return run->total;
    }
    if (turn->spent >= rt->step_budget || dev_load64_relaxed(&run->next) >= run->total)
        return run->total;
    uint64_t count = dev_hand_out(rt, run, turn, seen);
    uint64_t number = dev_add64_both(&run->next, count);
    if (number >= run->total) return run->total;
    frame->rest = number + 1;
    frame->rest_end = number + count < run->total ? number + count : run->total;
    return number;
}

/* Begins workgroups in the worker's frame until the turn is over or none is left. */
DEV_FN void dev_run_groups(struct dev_runtime *rt, const struct dev_inflight *entry,
                           struct dev_turn *turn)
{
    struct dev_run *run = &rt->runs[entry->run];
    struct dev_frame *frame = dev_frame_at(rt, rt->worker_frame[turn->worker]);
    uint64_t share = dev_share_after(rt), seen = 0;
    uint64_t beginning = DEV_BEGIN_STEPS + frame->program->shared_bytes / DEV_BEGIN_BYTES;
    while (turn->fault == 0 && turn->aside == DEV_NONE) {
        uint64_t number = dev_next_group(rt, run, frame, turn, seen);
        if (number >= run->total) return;
        dev_frame_begin(frame, number, entry->slot + VYRE_SLOT_ARG0);
        seen++;
        turn->spent += beginning;
        if (turn->spent >= share) dev_turn_share(rt, turn);
        uint32_t stop = dev_entry_cancelled(rt, entry);
        if (stop != 0)
            dev_turn_fault(turn, frame, stop);
        else
            dev_workgroup_run(rt, entry, turn);
    }
}

/* Makes the worker's frame ready for a run, and begins workgroups in it. */
DEV_FN void dev_run_fresh(struct dev_runtime *rt, const struct dev_inflight *entry,
                          struct dev_turn *turn)
{
    struct dev_run *run = &rt->runs[entry->run];
    struct dev_frame *frame = dev_frame_at(rt, rt->worker_frame[turn->worker]);
    uint64_t bindings = run->bindings == DEV_NONE ? 0 : rt->handles[run->bindings].address;
    dev_frame_prepare(frame,
                      (const struct vm_header *)(uintptr_t)rt->handles[run->program].address);
    dev_frame_bind(frame, run, (const struct dev_bindings *)(uintptr_t)bindings);
    frame->rt = rt;
    frame->entry = entry;
    frame->log = &rt->logs[entry->slot[VYRE_SLOT_TENANT]];
    frame->log_place = entry->place * VYRE_SLOT_WORDS;
    frame->rest = frame->rest_end = 0;
    dev_run_groups(rt, entry, turn);
}

/* What the completion of a run says. (the last worker) */
DEV_FN void dev_run_result(const struct dev_run *run, struct dev_end *end, uint32_t *result)
{
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        result[i] = 0;
    result[0] = (uint32_t)run->ended;
    result[1] = (uint32_t)(run->ended >> 32);
    if (run->fault != 0) {
        result[2] = (uint32_t)run->fault_group;
        result[3] = (uint32_t)(run->fault_group >> 32);
        result[4] = run->fault_detail;
        result[5] = run->fault_lane;
    }
    end->fault = run->fault;
    end->pc = run->fault_pc;
    end->steps = run->steps;
    end->out_of_bounds = run->out_of_bounds;
    end->result = result;
}

/* Ends a run that no worker is at, and that is in no run queue any more, with the fault of `end`.
 */
DEV_FN void dev_run_abandon(struct dev_runtime *rt, uint32_t index, struct dev_end *end,
                            uint32_t *result)
{
    struct dev_run *run = &rt->runs[index];
    dev_lock(&rt->sched);
    run->fault = end->fault;
    run->fault_group = dev_run_cut(rt, run);
    dev_unlock(&rt->sched);
    dev_run_result(run, end, result);
}

/* One turn of a worker at the run of an entry that it has popped; 1: it was the last, the caller
 * ends the slot. */
DEV_FN int dev_run_turn(struct dev_runtime *rt, uint32_t entry_index, uint32_t worker)
{
    struct dev_inflight *entry = &rt->inflight[entry_index];
    struct dev_turn turn = {0, 0, 0, 0, 0, 0, 0, 0, 0, DEV_NONE, worker, 0};
    turn.fault = dev_entry_stopped(rt, entry);
    uint32_t frame = dev_run_join(rt, entry_index, &turn);
    uint32_t state = dev_float_enter();
    if (frame != DEV_NONE) {
        dev_frame_swap(rt, worker, frame);
        dev_workgroup_run(rt, entry, &turn);
        /* Unless it was put aside again: the frame has workgroups of its own to begin. */
        if (turn.aside == DEV_NONE) dev_run_groups(rt, entry, &turn);
    } else if (turn.fault == 0) {
        dev_run_fresh(rt, entry, &turn);
    }
    dev_float_leave(state);
    dev_stream_done(); /* before anybody hears of it */
    return dev_run_leave(rt, entry_index, &turn);
}

#endif
