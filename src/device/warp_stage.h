/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Words from words of which some registers found no place in the room and lie in device memory.
 * They go by way of the stage, a part of the room, pass by pass: what an instruction reads is put
 * there, its own function is called as for registers of one pass, and what it made is taken from
 * there. On the stage as in registers a lane of the warp has quads of its own, so that none waits
 * for another. Other instructions on such registers are left to warp_insn.h.
 */
#ifndef VYRE_DEVICE_WARP_STAGE_H
#define VYRE_DEVICE_WARP_STAGE_H

#include "device/warp_near_memory.h"

/* What an instruction is run with: few words, which come in registers. */
struct dev_staged {
    struct dev_span span;
    uint32_t place;  /* of a lane's first quad */
    uint32_t masked; /* only some lanes take the result */
};

DEV_INLINE struct dev_staged dev_staged_of(const struct dev_quick *q, const struct dev_op *op)
{
    struct dev_staged staged;
    staged.span = q->span;
    staged.place = q->place;
    staged.masked = (uint32_t)dev_quick_masked(q, op);
    return staged;
}

/* Four words of a register in device memory. Nobody but this warp has them, and it soon comes back
 * to them. */
DEV_INLINE struct dev_four dev_far_get4(const unsigned char *from)
{
    struct dev_four four;
#if defined(__CUDACC__)
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four.word[0]), "=r"(four.word[1]), "=r"(four.word[2]), "=r"(four.word[3])
                 : "l"(from)
                 : "memory");
#else
    memcpy(&four, from, sizeof four);
#endif
    return four;
}

/* Stores those with a bit in `takers`. */
DEV_INLINE void dev_far_set_some(unsigned char *to, uint32_t takers, struct dev_four four)
{
#if defined(__CUDACC__)
    if (takers == 15u) {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                     :
                     : "l"(to), "r"(four.word[0]), "r"(four.word[1]), "r"(four.word[2]),
                       "r"(four.word[3])
                     : "memory");
        return;
    }
#endif
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++)
        if (takers >> k & 1) dev_set(to + k * 4, four.word[k], 4);
}

/* The quads of a pass of a register, wherever it lies. `place` is of the first role's. */
DEV_INLINE void dev_staged_get(const struct dev_span *span, const unsigned char *far_registers,
                               uint32_t place, uint32_t operand, struct dev_pass *pass)
{
    if (!(operand & DEV_FAR)) {
        dev_quads_get(span, place, operand, 0, pass);
        return;
    }
    const unsigned char *row = far_registers + (operand & ~(DEV_EACH | DEV_FAR));
    DEV_ROLES(l)
    {
        const uint32_t at = DEV_PLACE(place, l);
        struct dev_four four = {{0, 0, 0, 0}};
        if (at < span->row) four = dev_far_get4(row + at);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            pass->word[k][DEV_MINE(l)] = four.word[k];
    }
}

/* Puts an operand on the stage, where it is not a scalar or a near register that has all of the
 * pass: what the function is called with. `done` are the bytes of a register in earlier passes. */
DEV_INLINE uint32_t dev_staged_operand(const struct dev_staged *staged,
                                       const unsigned char *far_registers, uint32_t done,
                                       uint32_t operand, uint32_t stage)
{
    struct dev_pass pass;
    if (!(operand & DEV_EACH)) return operand;
    if (!(operand & DEV_FAR) && done + DEV_PASS_BYTES <= staged->span.row) return operand + done;
    dev_staged_get(&staged->span, far_registers, staged->place + done, operand, &pass);
    dev_quads_set(&staged->span, staged->place, stage, DEV_QUADS_WHOLE, &pass);
    return stage | DEV_EACH;
}

/* Takes a pass of the result from the stage to where it belongs. */
DEV_INLINE void dev_staged_put(const struct dev_staged *staged, unsigned char *far_registers,
                               uint32_t done, uint32_t d, uint32_t stage)
{
    const uint32_t base = d & ~(DEV_EACH | DEV_FAR);
    DEV_ROLES(l)
    {
        const uint32_t at = DEV_PLACE(staged->place + done, l);
        const struct dev_four four =
            dev_near_get4(staged->span.room, stage + DEV_PLACE(staged->place, l));
        uint32_t takers = at < staged->span.row ? 15u : 0;
        if (staged->masked) takers = dev_quad_takers(&staged->span, at);
        if (d & DEV_FAR)
            dev_far_set_some(far_registers + base + at, takers, four);
        else
            dev_near_set_some(staged->span.room, base + at, takers, four);
    }
}

/* Runs an instruction of DEV_CLASS_FAR. Its function has read all it needs before it writes, so the
 * result may lie where the first operand did. */
DEV_NO_INLINE void dev_staged_words(const struct dev_staged staged, const struct dev_op op,
                                    const struct dev_frame *frame)
{
    const dev_words_fn run = dev_words_function(op.run);
    const struct dev_span *span = &staged.span;
    const uint32_t stage = dev_near_place(frame) + frame->stage;
    unsigned char *far_registers = (unsigned char *)frame->far_registers;
    for (uint32_t done = 0; done < span->row; done += DEV_PASS_BYTES) {
        const uint32_t a = dev_staged_operand(&staged, far_registers, done, op.a, stage);
        uint32_t b = a, c = a;
        if (op.b != op.a)
            b = dev_staged_operand(&staged, far_registers, done, op.b, stage + DEV_PASS_BYTES);
        if (op.c != op.a)
            c = dev_staged_operand(&staged, far_registers, done, op.c, stage + 2 * DEV_PASS_BYTES);
        run(span->room, stage, a, b, c, staged.place, DEV_PASS_BYTES, span->code, span->masks);
        dev_staged_put(&staged, far_registers, done, op.d, stage);
    }
}

#endif
