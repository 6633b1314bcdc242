/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the warps of one block have between them: words, and gates at which they wait for each
 * other. On a GPU words lie in the block's shared memory, and gates are its barriers: who waits
 * there takes no turn from those who work, and goes on some thirty cycles after the last one has
 * come.
 *
 * All that warps do to the same word is an atomic here, even looking at it, so that a tool that
 * looks for races in shared memory sees that it is meant.
 */
#ifndef VYRE_DEVICE_BLOCK_H
#define VYRE_DEVICE_BLOCK_H

#include "device/warp.h"

/* Opens when so many warps have come to it, and is closed again at once. What any of them did
 * before it came is seen by those who waited. */
struct dev_gate {
    uint64_t come; /* of threads, where warps are such; a GPU counts by itself */
};

#if defined(__CUDACC__)

/* The same place in shared memory, of which a compiler does not know that it could be computed
 * anew wherever it is used. */
DEV_FN void *dev_block_place(void *place)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(place);
    asm volatile("mov.b32 %0, %0;" : "+r"(at));
    return __cvta_shared_to_generic(at);
}

/* The word, to the first lane; the others get 0. */
DEV_FN uint32_t dev_block_ask(uint32_t *word)
{
    uint32_t value = 0, at = (uint32_t)__cvta_generic_to_shared(word);
    asm volatile("{ .reg .pred first; setp.eq.u32 first, %2, 0;"
                 " @first atom.relaxed.cta.shared.or.b32 %0, [%1], 0; }"
                 : "+r"(value)
                 : "r"(at), "r"(dev_lane())
                 : "memory");
    return value;
}

DEV_FN void dev_block_add(uint32_t *word, uint32_t value)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(word);
    asm volatile("red.relaxed.cta.shared.add.u32 [%0], %1;" : : "r"(at), "r"(value) : "memory");
}

DEV_FN void dev_block_min(uint32_t *word, uint32_t value)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(word);
    asm volatile("red.relaxed.cta.shared.min.u32 [%0], %1;" : : "r"(at), "r"(value) : "memory");
}

DEV_FN void dev_block_put(uint32_t *word, uint32_t value)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(word);
    asm volatile("atom.relaxed.cta.shared.exch.b32 _, [%0], %1;"
                 :
                 : "r"(at), "r"(value)
                 : "memory");
}

/* Comes to gate `number` of an array, and goes on. All lanes together, as with the next. */
DEV_FN void dev_gate_come(struct dev_gate *gates, uint32_t number, uint32_t warps)
{
    (void)gates;
    dev_warp_sync();
    asm volatile("bar.arrive %0, %1;" : : "r"(number + 1), "r"(warps * DEV_WARP) : "memory");
}

/* Comes to it, and waits until all have. */
DEV_FN void dev_gate_wait(struct dev_gate *gates, uint32_t number, uint32_t warps)
{
    (void)gates;
    dev_warp_sync();
    asm volatile("bar.sync %0, %1;" : : "r"(number + 1), "r"(warps * DEV_WARP) : "memory");
}

#else

DEV_FN void *dev_block_place(void *place)
{
    return place;
}

DEV_FN uint32_t dev_block_ask(uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

DEV_FN void dev_block_add(uint32_t *word, uint32_t value)
{
    __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

DEV_FN void dev_block_min(uint32_t *word, uint32_t value)
{
    dev_atomic_min(word, value);
}

DEV_FN void dev_block_put(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

DEV_FN void dev_gate_come(struct dev_gate *gates, uint32_t number, uint32_t warps)
{
    (void)warps;
    __atomic_fetch_add(&gates[number].come, 1, __ATOMIC_ACQ_REL);
}

DEV_FN void dev_gate_wait(struct dev_gate *gates, uint32_t number, uint32_t warps)
{
    uint64_t mine = __atomic_fetch_add(&gates[number].come, 1, __ATOMIC_ACQ_REL);
    uint64_t open = (mine / warps + 1) * warps;
    while (__atomic_load_n(&gates[number].come, __ATOMIC_ACQUIRE) < open)
        dev_yield();
}

#endif

#endif
