/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The count-min sketch inside: hash, place of a counter, and adding without a check. For this room.
 */
#ifndef VYRE_TELEMETRY_SKETCH_H
#define VYRE_TELEMETRY_SKETCH_H

#include "telemetry/ratio.h"
#include "vyre/sketch.h"

#define SKETCH_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* SplitMix64: a bijection that scatters well. */
static inline uint64_t sketch_mix(uint64_t x)
{
    x += SKETCH_GOLDEN;
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Which counter of a row a key has. Part of the format: sketches of other programs are merged and
 * compared with ours. */
static inline size_t sketch_column(size_t row, uint32_t key, size_t width)
{
    uint64_t hash = sketch_mix(key ^ (uint64_t)row * SKETCH_GOLDEN);
    /* A division takes longer than all of the hash, and widths mostly are powers of two. */
    return (size_t)((width & (width - 1)) == 0 ? hash & (width - 1) : hash % width);
}

/* For a sketch that vyre_sketch_check has let through. */
static inline void sketch_add(const vyre_sketch *sketch, uint32_t key, uint64_t amount)
{
    uint64_t *row = sketch->counters;
    for (size_t i = 0; i < sketch->depth; i++, row += sketch->width) {
        uint64_t *counter = &row[sketch_column(i, key, sketch->width)];
        *counter = vyre_add_saturating_u64(*counter, amount);
    }
}

/* A sketch with a shape that its storage has room for; `name` is the argument's. E_NULL, E_STATE.
 */
vyre_status vyre_sketch_check(const vyre_sketch *sketch, const char *name, vyre_error *err);

#endif
