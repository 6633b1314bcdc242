/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads, stores, atomics and copies of programs. Every access is checked against its view: out of
 * bounds a load gives 0 and a store does nothing, and each active lane that did so is counted, or
 * faults in a strict program.
 *
 * The usual case, lanes side by side in memory and all within bounds, is found by one pass over the
 * indices and served by one copy.
 */
#ifndef VYRE_DEVICE_INTERP_MEMORY_H
#define VYRE_DEVICE_INTERP_MEMORY_H

#include "device/builtin_call.h"
#include "device/debuglog.h"
#include "device/interp_common.h"
#include "device/lanes.h"
#include "vm/arith.h"

DEV_FN uint32_t dev_fault_at(struct dev_frame *frame, uint32_t fault, uint32_t lane,
                             uint32_t detail)
{
    frame->fault = fault;
    frame->fault_pc = frame->pc;
    frame->fault_lane = lane;
    frame->fault_detail = detail;
    return DEV_FRAME_FAULT;
}

/* Active lanes whose index is out of bounds: counts them, or faults with the first. */
DEV_NO_INLINE uint32_t dev_out_of_bounds(struct dev_frame *frame, struct dev_operand index,
                                         uint32_t length)
{
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    uint32_t lanes = frame->program->lanes;
    uint32_t count = 0, first = DEV_NONE, detail = 0;
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t at = index.word[index.scalar ? 0 : i];
        if (mask[i] == 0 || at < length) continue;
        if (count++ == 0) {
            first = i;
            detail = at;
        }
    }
    if (count == 0) return 0;
    if (frame->program->flags & VM_PROGRAM_STRICT)
        return dev_fault_at(frame, (uint32_t)VYRE_FAULT_OUT_OF_BOUNDS, first, detail);
    frame->out_of_bounds =
        count > DEV_NONE - frame->out_of_bounds ? DEV_NONE : frame->out_of_bounds + count;
    return 0;
}

/* 1: the lanes of the workgroup access elements side by side, from *first on, all within bounds. */
DEV_FN int dev_side_by_side(const struct dev_frame *frame, uint32_t number,
                            const struct dev_view *view, uint32_t *first)
{
    struct dev_operand index = dev_operand(frame, number);
    uint32_t lanes = frame->program->lanes;
    uint32_t base = index.word[0];
    uint32_t differs = 0;
    if (index.scalar || (uint64_t)base + lanes > view->length) return 0;
    *first = base;
    if (frame->rows[number]) return 1;
    DEV_LANES(i, lanes)
    differs |= index.word[i] - base - i;
    return differs == 0;
}

/* 1: no lane's index is out of bounds, active or not. */
DEV_FN int dev_all_inside(const struct dev_frame *frame, struct dev_operand index, uint32_t length)
{
    uint32_t lanes = frame->program->lanes, outside = 0;
    const uint32_t *at = index.word;
    if (index.scalar) return at[0] < length;
    DEV_LANES(i, lanes)
    outside |= at[i] >= length ? 1u : 0u;
    return outside == 0;
}

/* One element of 1, 2, 4, 8 or 16 bytes, as whole words. */
DEV_INLINE void dev_element_load(uint32_t *to, size_t stride, const unsigned char *from,
                                 uint32_t bytes)
{
    uint32_t word[4] = {0, 0, 0, 0};
    memcpy(word, from, bytes);
    for (uint32_t k = 0; k * 4 < bytes; k++)
        to[k * stride] = word[k];
}

DEV_INLINE void dev_element_store(unsigned char *to, const uint32_t *from, size_t stride,
                                  uint32_t bytes)
{
    uint32_t word[4] = {0, 0, 0, 0};
    for (uint32_t k = 0; k * 4 < bytes; k++)
        word[k] = from[k * stride];
    memcpy(to, word, bytes);
}

/* The same element for all lanes: one look. */
DEV_INLINE void dev_load_uniform(struct dev_frame *frame, const struct vm_insn *in, uint32_t at,
                                 uint32_t bytes)
{
    const struct dev_view *view = &frame->views[in->imm];
    uint32_t word[4] = {0, 0, 0, 0};
    if (at < view->length) dev_element_load(word, 1, view->element + (size_t)at * bytes, bytes);
    for (uint32_t k = 0; k == 0 || k * 4 < bytes; k++) {
        struct vm_insn one = *in;
        one.d = (uint16_t)(in->d + k);
        if (in->d & VM_SCALAR) {
            frame->scalars[one.d & ~VM_SCALAR] = word[k];
            continue;
        }
        uint32_t *d = dev_result(frame, &one);
        uint32_t n = dev_frame_width(frame), value = word[k];
        DEV_LANES(i, n)
        d[i] = value;
        dev_result_done(frame, &one, d);
    }
}

/* Elements side by side, all within bounds, for all lanes. */
DEV_INLINE void dev_load_row(struct dev_frame *frame, const struct vm_insn *in,
                             const unsigned char *from, uint32_t bytes)
{
    uint32_t lanes = frame->program->lanes;
    size_t stride = frame->program->stride;
    uint32_t *d = bytes <= 4 ? dev_result(frame, in) : dev_vector_place(frame, in->d);
    for (uint32_t k = 1; bytes > 4 && k <= bytes / 4; k++)
        dev_vector_new(frame, in->d + k - 1);
    if (bytes == 1) {
        DEV_LANES(i, lanes)
        d[i] = from[i];
    } else {
        DEV_LANES(i, lanes)
        dev_element_load(d + i, stride, from + (size_t)i * bytes, bytes);
    }
    if (bytes <= 4) dev_result_done(frame, in, d);
}

/* Elements anywhere. Lanes out of bounds look at element 0, which always has memory, and take 0. */
DEV_INLINE uint32_t dev_load_any(struct dev_frame *frame, const struct vm_insn *in,
                                 struct dev_operand index, uint32_t bytes)
{
    const struct dev_view *view = &frame->views[in->imm];
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    const uint32_t *at = index.word;
    const unsigned char *base = view->element;
    uint32_t length = view->length, lost = 0, n = dev_frame_width(frame);
    if (bytes <= 4 && dev_all_inside(frame, index, length)) {
        uint32_t *d = dev_result(frame, in);
        uint32_t lanes = frame->program->lanes;
        for (uint32_t i = 0; i < lanes; i++)
            dev_element_load(&d[i], 1, base + (size_t)at[i] * bytes, bytes);
        dev_result_done(frame, in, d);
    } else if (bytes <= 4) {
        uint32_t *d = dev_result(frame, in);
        DEV_LANES(i, n)
        {
            uint32_t keep = at[i] < length ? 0xFFFFFFFFu : 0u;
            uint32_t word;
            dev_element_load(&word, 1, base + (size_t)(at[i] & keep) * bytes, bytes);
            lost |= ~keep & mask[i];
            d[i] = word & keep;
        }
        dev_result_done(frame, in, d);
    } else {
        size_t stride = frame->program->stride;
        uint32_t *d = dev_vector_place(frame, in->d);
        for (uint32_t k = 0; k < bytes / 4; k++)
            dev_vector_own(frame, in->d + k);
        for (uint32_t i = 0; i < frame->program->lanes; i++) {
            uint32_t keep = at[i] < length ? 0xFFFFFFFFu : 0u;
            uint32_t word[4];
            dev_element_load(word, 1, base + (size_t)(at[i] & keep) * bytes, bytes);
            lost |= ~keep & mask[i];
            for (uint32_t k = 0; k < bytes / 4; k++)
                if (mask[i] != 0 || !(in->flags & VM_MASKED)) d[k * stride + i] = word[k] & keep;
        }
    }
    return lost != 0 ? dev_out_of_bounds(frame, index, length) : 0;
}

/* Whether registers may show the buffer itself instead of a copy of it. */
DEV_FN int dev_load_by_reference(const struct dev_frame *frame, const struct vm_insn *in,
                                 const struct dev_view *view, uint32_t first)
{
#if !defined(VM_LAZY_FLUSH)
    if (in->op == VM_OP_LDF32) return 0;
#endif
    return view->constant && (!(in->flags & VM_MASKED) || dev_frame_full(frame)) &&
           (uint64_t)first + frame->program->stride <= view->length;
}

/* A load of elements of `bytes` bytes (a constant where this is inlined). */
DEV_INLINE uint32_t dev_load(struct dev_frame *frame, const struct vm_insn *in, uint32_t bytes)
{
    const struct dev_view *view = &frame->views[in->imm];
    struct dev_operand index = dev_operand_index(frame, in->a);
    uint32_t first = 0, fault = 0;
    if (index.scalar) {
        if (index.word[0] >= view->length) fault = dev_out_of_bounds(frame, index, view->length);
        if (fault == 0) dev_load_uniform(frame, in, index.word[0], bytes);
        return fault;
    }
    int whole = bytes <= 4 || !(in->flags & VM_MASKED) || dev_frame_full(frame);
    if (!whole || !dev_side_by_side(frame, in->a, view, &first))
        return dev_load_any(frame, in, index, bytes);
    const unsigned char *from = view->element + (size_t)first * bytes;
    if (bytes == 4 && dev_load_by_reference(frame, in, view, first))
        dev_vector_refer(frame, in->d, from);
    else
        dev_load_row(frame, in, from, bytes);
    return 0;
}

/* Floats come in flushed where the processor does not do it for whoever reads them. */
DEV_INLINE uint32_t dev_load_float(struct dev_frame *frame, const struct vm_insn *in)
{
    uint32_t fault = dev_load(frame, in, 4);
#if !defined(VM_LAZY_FLUSH)
    if (fault == 0 && !(in->d & VM_SCALAR)) {
        uint32_t *d = dev_vector_own(frame, in->d);
        uint32_t n = dev_frame_width(frame);
        DEV_LANES(i, n)
        d[i] = vm_flush_now(d[i]);
    } else if (fault == 0) {
        uint32_t *d = &frame->scalars[in->d & ~VM_SCALAR];
        *d = vm_flush_now(*d);
    }
#endif
    return fault;
}

/* Buffers of at least this size are not expected to be found in a cache again. */
#define DEV_STREAM_BYTES (16u << 20)

/* Stores a word for every lane, side by side, past the caches; 0: not done. */
DEV_INLINE int dev_stream_row(struct dev_frame *frame, void *to, const uint32_t *from, int is_float)
{
    uint32_t lanes = frame->program->lanes;
    if (!is_float) return dev_stream(to, from, lanes);
    if (((uintptr_t)to & 63u) != 0 || lanes % 16 != 0) return 0;
    uint32_t *bits = frame->scratch;
    DEV_LANES(i, lanes)
    bits[i] = vm_canon(from[i]);
    return dev_stream(to, bits, lanes);
}

/* A store; `is_float` ones leave canonical bits. Both are constants where this is inlined. */
DEV_INLINE uint32_t dev_store(struct dev_frame *frame, const struct vm_insn *in, uint32_t bytes,
                              int is_float)
{
    const struct dev_view *view = &frame->views[in->imm];
    struct dev_operand index = dev_operand_index(frame, in->a);
    struct dev_operand value =
        bytes > 4 ? dev_operand_wide(frame, in->b, bytes / 4) : dev_operand(frame, in->b);
    size_t stride = value.scalar ? 1 : frame->program->stride;
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    uint32_t length = view->length, first = 0, lost = 0, lanes = frame->program->lanes;
    if (dev_frame_full(frame) && !value.scalar && dev_side_by_side(frame, in->a, view, &first)) {
        unsigned char *to = view->element + (size_t)first * bytes;
        if (bytes == 4 && view->bytes >= DEV_STREAM_BYTES &&
            dev_stream_row(frame, to, value.word, is_float))
            return 0;
        DEV_LANES(i, lanes)
        {
            if (bytes == 4) {
                uint32_t word = is_float ? vm_canon(value.word[i]) : value.word[i];
                memcpy(to + 4 * (size_t)i, &word, 4);
            } else {
                dev_element_store(to + (size_t)i * bytes, value.word + i, stride, bytes);
            }
        }
        return 0;
    }
    if (bytes == 4 && !index.scalar && !value.scalar && dev_frame_full(frame) &&
        dev_all_inside(frame, index, length)) {
        for (uint32_t i = 0; i < lanes; i++) {
            uint32_t word = is_float ? vm_canon(value.word[i]) : value.word[i];
            memcpy(view->element + (size_t)index.word[i] * 4, &word, 4);
        }
        return 0;
    }
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t at = index.word[index.scalar ? 0 : i];
        const uint32_t *from = value.word + (value.scalar ? 0 : i);
        if (mask[i] == 0) continue;
        if (at >= length) {
            lost = 1;
        } else if (is_float) {
            uint32_t word = vm_canon(*from);
            memcpy(view->element + (size_t)at * 4, &word, 4);
        } else {
            dev_element_store(view->element + (size_t)at * bytes, from, stride, bytes);
        }
    }
    return lost ? dev_out_of_bounds(frame, index, length) : 0;
}

/* A word of a buffer, more by what each lane has. Without races it is a load, an add and a store:
 * an access out of bounds counts as two. */
DEV_NO_INLINE uint32_t dev_add_to(struct dev_frame *frame, const struct vm_insn *in)
{
    const struct dev_view *view = &frame->views[in->imm];
    struct dev_operand index = dev_operand_index(frame, in->a);
    struct dev_operand value = dev_operand(frame, in->b);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    const uint32_t *at = index.word, *more = value.word;
    uint32_t lanes = frame->program->lanes, length = view->length, lost = 0, word;
    if (dev_frame_full(frame) && !index.scalar && dev_all_inside(frame, index, length)) {
        unsigned char *base = view->element;
        uint32_t same = more[0];
        for (uint32_t i = 0; i < lanes; i++) {
            memcpy(&word, base + (size_t)at[i] * 4, 4);
            word += value.scalar ? same : more[i];
            memcpy(base + (size_t)at[i] * 4, &word, 4);
        }
        return 0;
    }
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t k = at[index.scalar ? 0 : i];
        if (mask[i] == 0) continue;
        if (k >= length) {
            lost = 1;
            continue;
        }
        memcpy(&word, view->element + (size_t)k * 4, 4);
        word += more[value.scalar ? 0 : i];
        memcpy(view->element + (size_t)k * 4, &word, 4);
    }
    if (!lost) return 0;
    uint32_t fault = dev_out_of_bounds(frame, index, length);
    return fault ? fault : dev_out_of_bounds(frame, index, length);
}

/* Lane by lane, in their order. */
DEV_NO_INLINE uint32_t dev_atomic(struct dev_frame *frame, const struct vm_insn *in)
{
    const struct dev_view *view = &frame->views[in->imm];
    struct dev_operand index = dev_operand_index(frame, in->a);
    struct dev_operand b = dev_operand(frame, in->b);
    struct dev_operand c = dev_operand(frame, in->op == VM_OP_ATCAS ? in->c : in->b);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    uint32_t *d = dev_vector_own(frame, in->d);
    uint32_t lanes = frame->program->lanes, lost = 0;
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t at = index.word[index.scalar ? 0 : i];
        uint32_t old = 0;
        if (mask[i] == 0) continue;
        if (at < view->length)
            old = dev_atomic_one(in->op, (uint32_t *)(void *)(view->element + (size_t)at * 4),
                                 b.word[b.scalar ? 0 : i], c.word[c.scalar ? 0 : i]);
        else
            lost = 1;
        d[i] = old;
    }
    return lost ? dev_out_of_bounds(frame, index, view->length) : 0;
}

/* One lane's copy: bytes past the end of the source are 0, what lies past the end of the
 * destination is left out. It pays a step for 64 bytes and ends early where the slot was told to.
 */
DEV_FN uint32_t dev_copy_lane(struct dev_frame *frame, const struct vm_insn *in, uint64_t at,
                              uint64_t bytes)
{
    const struct dev_view *from = &frame->views[in->imm & 0xFFFFu];
    const struct dev_view *to = &frame->views[in->imm >> 16];
    uint64_t source = in->op == VM_OP_COPY ? at : 0;
    uint64_t target = in->op == VM_OP_COPY ? 0 : at;
    uint64_t room = target < to->bytes ? to->bytes - target : 0;
    if (bytes > room) bytes = room;
    for (uint64_t k = 0; k < bytes; k++) {
        if (k % DEV_STOP_INTERVAL == 0 && k != 0) {
            uint32_t stop = dev_entry_stopped(frame->rt, frame->entry);
            if (stop != 0) return stop;
        }
        to->base[target + k] = source + k < from->bytes ? from->base[source + k] : 0;
    }
    frame->steps += bytes / 64;
    return 0;
}

/* Asynchronous copies, done when they are awaited. */
DEV_NO_INLINE uint32_t dev_copy_bytes(struct dev_frame *frame, const struct vm_insn *in)
{
    struct dev_operand offset = dev_operand(frame, in->a);
    struct dev_operand size = dev_operand(frame, in->b);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    for (uint32_t i = 0; i < frame->program->lanes; i++) {
        if (mask[i] == 0) continue;
        uint32_t stop = dev_copy_lane(frame, in, offset.word[offset.scalar ? 0 : i],
                                      size.word[size.scalar ? 0 : i]);
        if (stop != 0) return dev_fault_at(frame, stop, i, 0);
    }
    return 0;
}

#endif
