/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loops over the lanes of a workgroup, and masks, where a worker is a thread: it runs all lanes of
 * an instruction, in a loop that the compiler makes vector code of. Warps have their own
 * (warp_core.h).
 *
 * A register may be source and result of one instruction, lane by lane; it is never read at another
 * lane than it is written, so the loops carry no dependence (DEV_LANES says so to the compiler).
 */
#ifndef VYRE_DEVICE_LANES_H
#define VYRE_DEVICE_LANES_H

#include "device/frame.h"

#if defined(__clang__)
#    define DEV_LANES(i, n)                                                                        \
        _Pragma("clang loop vectorize(assume_safety)") for (uint32_t i = 0; i < (n); i++)
#else
#    define DEV_LANES(i, n) _Pragma("GCC ivdep") for (uint32_t i = 0; i < (n); i++)
#endif

/* Padded lanes, a multiple of VM_LANE_UNIT: loops over registers run to here, without a rest. */
DEV_FN uint32_t dev_frame_width(const struct dev_frame *frame)
{
    return frame->program->stride & ~(VM_LANE_UNIT - 1u);
}

/* The place of a register. Its value may be elsewhere: see dev_vector. */
DEV_FN uint32_t *dev_vector_place(const struct dev_frame *frame, uint32_t number)
{
    return frame->registers + (size_t)number * frame->program->stride;
}

/* Where the value of a register is read. */
DEV_FN const uint32_t *dev_vector(const struct dev_frame *frame, uint32_t number)
{
    return frame->vectors[number];
}

/* The place of a register that is about to be written in every lane. Operands are looked up before:
 * one of them may be the same register, and its value elsewhere. */
DEV_FN uint32_t *dev_vector_new(struct dev_frame *frame, uint32_t number)
{
    uint32_t *place = dev_vector_place(frame, number);
    frame->vectors[number] = place;
    frame->rows[number] = 0;
    return place;
}

DEV_FN uint32_t *dev_frame_mask(const struct dev_frame *frame, uint32_t level)
{
    return frame->masks + (size_t)level * frame->program->stride;
}

/* Whether every lane of the workgroup is active. */
DEV_FN int dev_frame_full(const struct dev_frame *frame)
{
    return frame->active[frame->level] == frame->program->lanes;
}

/* One operand of an instruction: a vector, or one word for all lanes. */
struct dev_operand {
    const uint32_t *word;
    uint32_t scalar;
};

DEV_FN struct dev_operand dev_operand(const struct dev_frame *frame, uint32_t number)
{
    struct dev_operand operand;
    operand.scalar = number & VM_SCALAR;
    operand.word =
        operand.scalar ? frame->scalars + (number & ~VM_SCALAR) : dev_vector(frame, number);
    return operand;
}

/* The register shows memory that does not change while it does. */
DEV_FN void dev_vector_refer(struct dev_frame *frame, uint32_t number, const void *memory)
{
    frame->vectors[number] = (const uint32_t *)memory;
    frame->rows[number] = 0;
}

/* The place of a register, with its value in it: to be written in some lanes, or read as a part of
 * a wide value. */
DEV_FN uint32_t *dev_vector_own(struct dev_frame *frame, uint32_t number)
{
    uint32_t *place = dev_vector_place(frame, number);
    const uint32_t *value = dev_vector(frame, number);
    uint32_t n = dev_frame_width(frame);
    if (value != place) {
        DEV_LANES(i, n)
        place[i] = value[i];
    }
    return dev_vector_new(frame, number);
}

/* An operand of `words` words, in one piece. */
DEV_FN struct dev_operand dev_operand_wide(struct dev_frame *frame, uint32_t number, uint32_t words)
{
    struct dev_operand operand;
    operand.scalar = number & VM_SCALAR;
    operand.word =
        operand.scalar ? frame->scalars + (number & ~VM_SCALAR) : dev_vector_place(frame, number);
    for (uint32_t k = 0; k < words && !operand.scalar; k++)
        dev_vector_own(frame, number + k);
    return operand;
}

/* An operand that memory is accessed by. It is checked and then used, so it must not be memory that
 * somebody else can change in between. */
DEV_FN struct dev_operand dev_operand_index(struct dev_frame *frame, uint32_t number)
{
    if (!(number & VM_SCALAR) && dev_vector(frame, number) != dev_vector_place(frame, number))
        dev_vector_own(frame, number);
    return dev_operand(frame, number);
}

/* Where an instruction leaves its vector result until dev_result_done: the register itself, or
 * scratch where only some lanes may take it. */
DEV_FN uint32_t *dev_result(struct dev_frame *frame, const struct vm_insn *in)
{
    if ((in->flags & VM_MASKED) && !dev_frame_full(frame)) return frame->scratch;
    return dev_vector_new(frame, in->d);
}

DEV_FN void dev_result_done(struct dev_frame *frame, const struct vm_insn *in,
                            const uint32_t *result)
{
    if (result != frame->scratch) return;
    uint32_t *d = dev_vector_own(frame, in->d);
    const uint32_t *mask = dev_frame_mask(frame, frame->level);
    uint32_t n = dev_frame_width(frame);
    DEV_LANES(i, n)
    d[i] = (result[i] & mask[i]) | (d[i] & ~mask[i]);
}

/* to = from, where the condition is not 0; returns how many lanes. */
DEV_FN uint32_t dev_mask_and(uint32_t *to, const uint32_t *from, const uint32_t *condition,
                             uint32_t n)
{
    uint32_t count = 0;
    DEV_LANES(i, n)
    {
        uint32_t mask = condition[i] != 0 ? from[i] : 0u;
        to[i] = mask;
        count += mask & 1u;
    }
    return count;
}

/* to = those of `from` that are not in `to`; returns how many. */
DEV_FN uint32_t dev_mask_others(uint32_t *to, const uint32_t *from, uint32_t n)
{
    uint32_t count = 0;
    DEV_LANES(i, n)
    {
        uint32_t mask = from[i] & ~to[i];
        to[i] = mask;
        count += mask & 1u;
    }
    return count;
}

#endif
