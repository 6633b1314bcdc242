/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Parts of a whole in basis points, exact for all 64-bit values. For this room.
 */
#ifndef VYRE_TELEMETRY_RATIO_H
#define VYRE_TELEMETRY_RATIO_H

#include <stdint.h>

#define VYRE_BPS 10000u

__extension__ typedef unsigned __int128 vyre_u128;

/* part of whole in 1/10,000, rounded down, at most 10,000; whole is not 0. */
static inline uint32_t vyre_ratio_bps(uint64_t part, vyre_u128 whole)
{
    if (part >= whole) return VYRE_BPS;
    if (part <= UINT64_MAX / VYRE_BPS && whole <= UINT64_MAX)
        return (uint32_t)(part * VYRE_BPS / (uint64_t)whole);
    return (uint32_t)((vyre_u128)part * VYRE_BPS / whole);
}

static inline uint64_t vyre_add_saturating_u64(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static inline uint64_t vyre_mul_saturating_u64(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

#endif
