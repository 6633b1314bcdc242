/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The sum of a function over all its arguments, which depends on every argument and every bit of
 * its result, in whatever order they come: what a GPU (gpu/math_sums.cu) and the CPU
 * (slow/t_math_all.c) must agree on. C and CUDA.
 */
#ifndef VYRE_TESTS_MATH_SUM_H
#define VYRE_TESTS_MATH_SUM_H

#include "device/platform.h"

/** What one argument adds to the sum, modulo 2^64. */
DEV_INLINE uint64_t math_sum_of(uint32_t in, uint32_t out)
{
    uint64_t word = ((uint64_t)in << 32 | out) * 0x9E3779B97F4A7C15u;
    word ^= word >> 32;
    return word * 0xD6E8FEB86659FD93u;
}

#endif
