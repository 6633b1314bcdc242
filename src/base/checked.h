/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Arithmetic that says when it overflows. Each function returns true and stores the result, or
 * returns false and stores nothing.
 */
#ifndef VYRE_BASE_CHECKED_H
#define VYRE_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool vyre_add_u32(uint32_t a, uint32_t b, uint32_t *sum)
{
    if (b > UINT32_MAX - a) return false;
    *sum = a + b;
    return true;
}

static inline bool vyre_add_size(size_t a, size_t b, size_t *sum)
{
    if (b > SIZE_MAX - a) return false;
    *sum = a + b;
    return true;
}

static inline bool vyre_mul_size(size_t a, size_t b, size_t *product)
{
    if (a != 0 && b > SIZE_MAX / a) return false;
    *product = a * b;
    return true;
}

/* Rounds up to a multiple of `to`, a power of two. */
static inline bool vyre_round_up_size(size_t value, size_t to, size_t *rounded)
{
    size_t sum;
    if (!vyre_add_size(value, to - 1, &sum)) return false;
    *rounded = sum & ~(to - 1);
    return true;
}

static inline bool vyre_is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* a + b, or the greatest value where that overflows. */
static inline uint32_t vyre_add_saturating_u32(uint32_t a, uint32_t b)
{
    return b > UINT32_MAX - a ? UINT32_MAX : a + b;
}

#endif
