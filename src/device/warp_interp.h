/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter of a resident kernel: one warp runs a frame until its workgroup ends, faults, or
 * its turn is over at a back edge. Code that was decoded runs in a loop of its own; what is rare in
 * it, and code that was not, goes by warp_insn.h.
 *
 * It stays within its frame and its buffers, and comes to an end of its turn, whatever the code
 * says: numbers of registers are bounded, views, masks and targets checked. What cannot be faults.
 */
#ifndef VYRE_DEVICE_WARP_INTERP_H
#define VYRE_DEVICE_WARP_INTERP_H

#include "device/warp_insn.h"

DEV_FN void dev_quick_open(struct dev_quick *q, struct dev_frame *frame)
{
    const unsigned char *room = (const unsigned char *)frame;
    const uint32_t place = dev_near_place(frame);
    q->span.room = dev_near_base(frame);
    q->span.code = place + frame->quick;
    q->masks = place + (uint32_t)((const unsigned char *)frame->masks - room);
    q->views = place + (uint32_t)((const unsigned char *)frame->views - room);
    q->actives = place + (uint32_t)offsetof(struct dev_frame, active);
    q->lanes = frame->header.lanes;
    q->units = dev_units(q->lanes);
    q->span.row = q->units * DEV_WARP * 4;
    q->level_count = frame->header.level_count;
    q->code_count = frame->header.code_count;
    q->first_id = frame->group[0] * frame->header.workgroup[0];
    q->limit = frame->limit;
    /* By way of a shuffle, or the compiler would make it anew from the thread's number for every
     * instruction. */
    uint32_t mine[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        mine[DEV_MINE(l)] = l * DEV_PASS * 4;
    }
    q->place = dev_warp_word32(mine, dev_lane());
}

DEV_FN void dev_quick_load_state(struct dev_quick *q, const struct dev_frame *frame)
{
    q->pc = frame->pc;
    q->steps = frame->steps;
    dev_quick_at(q, frame->level, frame->active[frame->level]);
}

/* Says what was lost at an instruction, or that it is damaged. */
DEV_NO_INLINE uint32_t dev_quick_tell(struct dev_frame *frame, struct dev_lost lost)
{
    struct dev_core core;
    dev_core_open(&core, frame);
    if (lost.lane == DEV_NONE) lost.lane = dev_core_first(&core);
    return lost.count != 0 ? dev_core_outside(&core, &lost) : dev_core_damaged(&core);
}

/* Runs what is not words from words: how it ended, with the frame kept; DEV_CORE_GO: the pc stands
 * at the next instruction. `next` is the one behind it. */
DEV_INLINE uint32_t dev_quick_other(struct dev_quick *q, struct dev_frame *frame,
                                    const struct dev_op *op, const struct dev_op *next)
{
    const uint32_t class_of = dev_op_class(op);
    struct dev_lost lost = {0, 0, 0};
    uint32_t end = DEV_QUICK_GO;
    if (class_of == DEV_CLASS_LOAD) {
        if (dev_quick_pair(q, op, next) &&
            (q->units <= DEV_PASS ? dev_quick_load_both(q, op, next, 1)
                                  : dev_quick_load_both(q, op, next, 2))) {
            q->pc += 2;
            return DEV_CORE_GO;
        }
        end = dev_quick_load(q, op, &lost);
    } else if (class_of == DEV_CLASS_CONTROL) {
        q->pc++;
        end = dev_quick_control(q, op);
        if (end == DEV_QUICK_GO) return DEV_CORE_GO;
        dev_frame_keep(frame, q->pc, q->level, q->steps);
        if (end == DEV_QUICK_END) return DEV_FRAME_ENDED;
        if (end == DEV_QUICK_OVER) return DEV_FRAME_TURN_OVER;
        return dev_quick_tell(frame, lost);
    } else if (class_of == DEV_CLASS_STORE) {
        end = dev_quick_store(q, op, &lost);
    } else if (class_of == DEV_CLASS_LOAD_ONE) {
        end = dev_quick_load_one(q, op, &lost);
    } else if (class_of == DEV_CLASS_ID) {
        dev_quick_id(q, op);
    } else {
        dev_frame_keep(frame, q->pc, q->level, q->steps);
        end = dev_core_run(frame, 1);
        if (end == DEV_CORE_GO) dev_quick_load_state(q, frame);
        return end;
    }
    if (end != DEV_QUICK_GO) {
        dev_frame_keep(frame, q->pc, q->level, q->steps);
        if (dev_quick_tell(frame, lost) != 0) return DEV_FRAME_FAULT;
    }
    q->pc++;
    return DEV_CORE_GO;
}

/* Runs a frame whose code was decoded. There are places behind the last instruction: the next ones
 * are read while this one runs. */
DEV_INLINE uint32_t dev_quick_loop(struct dev_frame *frame)
{
    const uint32_t size = (uint32_t)sizeof(struct dev_op);
    struct dev_quick q;
    dev_quick_open(&q, frame);
    dev_quick_load_state(&q, frame);
    uint32_t end = DEV_CORE_GO;
    while (end == DEV_CORE_GO) {
        if (q.pc >= q.code_count) {
            dev_frame_keep(frame, q.pc, q.level, q.steps);
            return dev_quick_tell(frame, (struct dev_lost){0, 0, 0});
        }
        uint32_t at = q.span.code + q.pc * size;
        struct dev_op op = dev_near_op(q.span.room, at);
        struct dev_op next = dev_near_op(q.span.room, at + size);
        /* Words from words follow each other; two at a time, so that neither is moved. */
        while (dev_op_class(&op) <= DEV_CLASS_SCALAR) {
            dev_quick_words(&q, &op);
            op = dev_near_op(q.span.room, at + 2 * size);
            q.pc++;
            if (dev_op_class(&next) > DEV_CLASS_SCALAR) {
                const struct dev_op after = op;
                op = next;
                next = after;
                break;
            }
            dev_quick_words(&q, &next);
            next = dev_near_op(q.span.room, at + 3 * size);
            q.pc++;
            at += 2 * size;
        }
        end = dev_quick_other(&q, frame, &op, &next);
    }
    return end;
}

/* The same for who does not want another copy of the loop. */
DEV_NO_INLINE uint32_t dev_quick_run(struct dev_frame *frame)
{
    return dev_quick_loop(frame);
}

/* Runs the frame from its pc on, with all lanes of the warp. */
DEV_NO_INLINE uint32_t dev_warp_interpret(struct dev_frame *frame)
{
    return frame->quick != 0 ? dev_quick_run(frame) : dev_core_run(frame, 0);
}

#endif
