/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Warps, for the resident kernel: 32 lanes that run in step on a GPU, and in C a warp of one lane,
 * so that the same code runs on threads. Code above says what each of 32 roles does; a lane has
 * DEV_WARP_ROLES of them, one on a GPU and all in C.
 *
 *     DEV_ROLES(i) { value[DEV_MINE(i)] = f(i); }           every role i by its lane
 *     mask = dev_warp_ballot(mine)                          bit i: role i said yes
 *     x = dev_warp_word(value, i)                           what role i has, for every lane; all
 *                                                           lanes ask, each for whom it wants
 */
#ifndef VYRE_DEVICE_WARP_H
#define VYRE_DEVICE_WARP_H

#include "device/platform.h"

#define DEV_WARP 32u

#if defined(__CUDACC__)

#    define DEV_WARP_ROLES 1u
#    define DEV_ROLES(i)   for (uint32_t i = dev_lane(), once = 1; once != 0; once = 0)
#    define DEV_MINE(i)    0u

DEV_FN uint32_t dev_lane(void)
{
    return threadIdx.x % 32;
}

/* The same number, but nobody knows it before: what follows from it is computed where it is used,
 * and not ahead, to be put aside on the stack meanwhile. */
DEV_FN uint32_t dev_role_here(uint32_t role)
{
    uint32_t here;
    asm volatile("mov.b32 %0, %1;" : "=r"(here) : "r"(role));
    return here;
}

DEV_FN void dev_warp_sync(void)
{
    __syncwarp();
}

DEV_FN uint32_t dev_warp_ballot(const uint32_t *mine)
{
    return __ballot_sync(0xFFFFFFFFu, mine[0] != 0);
}

DEV_FN uint64_t dev_warp_word(const uint64_t *mine, uint32_t role)
{
    return __shfl_sync(0xFFFFFFFFu, mine[0], (int)role);
}

DEV_FN uint32_t dev_warp_word32(const uint32_t *mine, uint32_t role)
{
    return __shfl_sync(0xFFFFFFFFu, mine[0], (int)role);
}

/* To each role what those before it have in all. */
DEV_FN void dev_warp_sums(const uint32_t *mine, uint32_t *before)
{
    uint32_t sum = mine[0];
    for (uint32_t step = 1; step < DEV_WARP; step *= 2) {
        uint32_t below = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        if (dev_lane() >= step) sum += below;
    }
    before[0] = sum - mine[0];
}

DEV_FN uint32_t dev_popcount(uint32_t mask)
{
    return (uint32_t)__popc(mask);
}

/* What the first lane has, for every lane. */
DEV_FN uint32_t dev_warp_first(uint32_t value)
{
    return __shfl_sync(0xFFFFFFFFu, value, 0);
}

DEV_FN uint64_t dev_warp_first64(uint64_t value)
{
    return __shfl_sync(0xFFFFFFFFu, value, 0);
}

/* The sum over the first eight roles, for those eight. */
DEV_FN uint64_t dev_warp_sum8(const uint64_t *mine)
{
    uint64_t sum = mine[0];
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 4);
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 2);
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, 1);
    return sum;
}

DEV_FN void dev_nap(uint32_t ns)
{
    __nanosleep(ns);
}

#else

#    define DEV_WARP_ROLES DEV_WARP
#    define DEV_ROLES(i)   for (uint32_t i = 0; i < DEV_WARP; i++)
#    define DEV_MINE(i)    (i)

DEV_FN uint32_t dev_lane(void)
{
    return 0;
}

DEV_FN uint32_t dev_role_here(uint32_t role)
{
    return role;
}

DEV_FN void dev_warp_sync(void)
{
}

DEV_FN uint32_t dev_warp_ballot(const uint32_t *mine)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < DEV_WARP; i++)
        mask |= mine[i] != 0 ? 1u << i : 0u;
    return mask;
}

DEV_FN uint64_t dev_warp_word(const uint64_t *mine, uint32_t role)
{
    return mine[role];
}

DEV_FN uint32_t dev_warp_word32(const uint32_t *mine, uint32_t role)
{
    return mine[role];
}

DEV_FN void dev_warp_sums(const uint32_t *mine, uint32_t *before)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < DEV_WARP; i++) {
        before[i] = sum;
        sum += mine[i];
    }
}

DEV_FN uint32_t dev_popcount(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

DEV_FN uint32_t dev_warp_first(uint32_t value)
{
    return value;
}

DEV_FN uint64_t dev_warp_first64(uint64_t value)
{
    return value;
}

DEV_FN uint64_t dev_warp_sum8(const uint64_t *mine)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 8; i++)
        sum += mine[i];
    return sum;
}

DEV_FN void dev_nap(uint32_t ns)
{
    if (ns > 200) dev_yield();
}

#endif

/* Only the first lane does what follows; the others wait at the next dev_warp_sync. */
#define DEV_FIRST if (dev_lane() == 0)

#endif
