/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Words from words where some registers found no place in the room and lie in device memory: the
 * functions of warp_words.h read and write both kinds with the same accesses. In registers of
 * either kind a lane of the warp has quads of its own, so that none waits for another. Other
 * instructions on registers that lie there are left to warp_insn.h.
 */
#ifndef VYRE_DEVICE_WARP_FAR_H
#define VYRE_DEVICE_WARP_FAR_H

#include "device/warp_near.h"

/* Four words, wherever they lie. Nobody but this warp has those in device memory, and it soon comes
 * back to them. */
#if defined(__CUDACC__)
DEV_FN struct dev_four dev_far_get4(const unsigned char *from)
{
    struct dev_four four;
    asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(four.word[0]), "=r"(four.word[1]), "=r"(four.word[2]), "=r"(four.word[3])
                 : "l"(from)
                 : "memory");
    return four;
}

/* Stores those with a bit in `takers`. */
DEV_FN void dev_far_set_some(unsigned char *to, uint32_t takers, struct dev_four four)
{
    DEV_SET_SOME("st", "l", to);
}

DEV_FN unsigned char *dev_far_room(dev_near base, uint32_t at)
{
    return (unsigned char *)__cvta_shared_to_generic(base + at);
}
#else
DEV_FN struct dev_four dev_far_get4(const unsigned char *from)
{
    return *(const struct dev_four *)(const void *)from;
}

DEV_FN void dev_far_set_some(unsigned char *to, uint32_t takers, struct dev_four four)
{
    for (uint32_t k = 0; k < 4; k++)
        if (takers >> k & 1) ((uint32_t *)(void *)to)[k] = four.word[k];
}

DEV_FN unsigned char *dev_far_room(dev_near base, uint32_t at)
{
    return base + at;
}
#endif

/* Where the registers are that lie in device memory: kept before the code. */
DEV_FN unsigned char *dev_far_registers(const struct dev_span *span)
{
    const uint32_t at = span->code - (uint32_t)sizeof(struct dev_op);
    return (unsigned char *)(uintptr_t)dev_near_get64(span->room, at);
}

DEV_FN unsigned char *dev_far_operand(const struct dev_span *span, unsigned char *registers,
                                      uint32_t operand)
{
    const uint32_t at = operand & DEV_OPERAND_PLACE;
    return operand & DEV_FAR ? registers + at : dev_far_room(span->room, at);
}

/* As dev_quads_get. */
DEV_INLINE void dev_far_quads(const struct dev_span *span, unsigned char *registers, uint32_t place,
                              uint32_t operand, struct dev_pass *pass)
{
    const uint32_t each = 0u - (operand >> 31);
    const unsigned char *from = dev_far_operand(span, registers, operand);
    const unsigned char *nobodys = dev_far_room(span->room, span->code);
    DEV_ROLES(l)
    {
        const uint32_t at = DEV_PLACE(place, l);
        const struct dev_four four = dev_far_get4(at < span->row ? from + (at & each) : nobodys);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            pass->word[k][DEV_MINE(l)] = four.word[k];
    }
}

/* As dev_quads_set; the operand says itself whether only some lanes take the result. */
DEV_INLINE void dev_far_quads_set(const struct dev_span *span, unsigned char *registers,
                                  uint32_t place, uint32_t d, const struct dev_pass *pass)
{
    unsigned char *to = dev_far_operand(span, registers, d);
    DEV_ROLES(l)
    {
        const uint32_t at = DEV_PLACE(place, l);
        uint32_t takers = at < span->row ? 15u : 0;
        struct dev_four four;
        if (d & DEV_SOME) takers = dev_quad_takers(span, at);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            four.word[k] = pass->word[k][DEV_MINE(l)];
        dev_far_set_some(to + at, takers, four);
    }
}

#endif
