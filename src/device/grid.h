/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A slot that runs a program: its workgroups are taken by every free worker, some at a time. Each
 * of them is counted once, when it has ended or will never run; who counts the last one ends the
 * slot. So workers come and go without a lock; only one that has a fault to tell, or a workgroup to
 * put aside, takes it (turn.h).
 *
 * Workers find a run in the run queues, where its entry stays as long as it has something to hand
 * out and goes behind the others of its queue each time; those of a resident kernel are also told
 * of it directly (post.h). While one is at a run, or has been told of it, it holds it: entry and
 * run are given back when the slot has ended and nobody holds them.
 */
#ifndef VYRE_DEVICE_GRID_H
#define VYRE_DEVICE_GRID_H

#include "device/turn.h"

/* What the beginning of a workgroup counts for in a turn: as many steps as take about as long,
 * those for its memory, which is cleared, with them. */
#define DEV_BEGIN_STEPS 8u
#define DEV_BEGIN_BYTES 64u /* a step */

/* Most workgroups that are handed out at once. */
#define DEV_HAND_OUT 16u

/* Workgroups that a warp begins between two looks whether it should stop. */
#define DEV_STOP_GROUPS 8u

/*
 * How many workgroups to take of those that are left: each taking is a trip to memory that all
 * share, so small ones are taken several at a time, as many as are likely to be done in a quarter
 * of the turn, and never so many that other workers have none. `seen` were begun in this turn.
 */
DEV_FN uint64_t dev_hand_out(const struct dev_runtime *rt, uint64_t left,
                             const struct dev_turn *turn, uint64_t seen)
{
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
    uint32_t drained = 0;
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
        const uint64_t total = run->total, next = dev_load64_relaxed(&run->next);
        drained = next >= total;
        if (!drained && turn->spent < rt->step_budget) {
            uint64_t count = dev_hand_out(rt, total - next, turn, seen);
            number = dev_take64_relaxed(&run->next, count);
            end = number < total - count ? number + count : total;
            drained = number >= total;
            if (drained) number = DEV_NO_GROUP;
        }
    }
    number = dev_warp_first64(number);
    if (number == DEV_NO_GROUP) {
        turn->drained = dev_warp_first(drained);
        return number;
    }
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
    struct dev_turn turn = {0, 0, 0, 0,        0,      0, 0, DEV_NO_GROUP, 0,
                            0, 0, 0, DEV_NONE, worker, 0, 0, room};
    uint32_t state = dev_float_enter();
    turn.fault = dev_turn_stopped(rt, entry, 1);
    if (frame != DEV_NONE) {
        dev_run_resume(rt, entry, &turn, frame);
    } else {
        while (turn.fault == 0 && turn.aside == DEV_NONE) {
            uint64_t before = turn.settled;
            turn.spent = 0;
            dev_run_fresh(rt, entry, &turn);
            if (turn.fault != 0 || turn.settled == before || turn.drained) break;
            /* The turn is over; unless somebody waits, so begins the next. */
            if (dev_others_wait(rt, &turn)) break;
            turn.fault = dev_turn_stopped(rt, entry, 1);
        }
    }
    dev_float_leave(state);
    dev_stream_done(); /* before anybody hears of it */
    return dev_run_leave(rt, entry_index, &turn);
}

#endif
