/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The transcendental functions of VIR0 on f32, for every backend: dev_math_<name> for each name in
 * math.def takes the bits of an f32 and returns those of the result.
 *
 * The invariant is that all compilers and processors give the same bits, whether subnormal operands
 * count as zero there or not. So there are only additions, subtractions, multiplications, divisions
 * and conversions that IEEE 754 defines, in double, no value of which is ever subnormal; nothing is
 * contracted (-ffp-contract=off, -fmad=false) or taken from a library.
 *
 * Arguments and results are canonical: a NaN is 0x7FC00000, a subnormal number zero of its sign.
 * A result is rounded to f32 with subnormal numbers, and those are made zero then. The error is
 * below 0.51 units in the last place of the exact result, for every argument; tests/slow/t_math_all
 * looks at all of them. Special values are those of C's Annex F.
 *
 * The polynomials are minimax fits of their own, for relative error, with coefficients rounded to
 * double.
 *
 * dev_math_<name>_lanes(out, in, count) does the same to `count` values; `out` may be `in`, but may
 * not otherwise overlap it. It goes through a block on the stack, since a compiler that cannot tell
 * the two apart would make vectors only where they differ.
 */
#ifndef VYRE_DEVICE_MATH_H
#define VYRE_DEVICE_MATH_H

#include "device/math_arc.h"
#include "device/math_exp.h"
#include "device/math_log.h"
#include "device/math_trig.h"

#define DEV_MATH_BLOCK 32u /* lanes; 128 bytes of stack twice */

#define DEV_MATH_FUNCTION(name)                                                                    \
    DEV_FN void dev_math_##name##_lanes(uint32_t *out, const uint32_t *in, uint32_t count)         \
    {                                                                                              \
        uint32_t block[DEV_MATH_BLOCK];                                                            \
        for (uint32_t at = 0; at < count; at += DEV_MATH_BLOCK) {                                  \
            uint32_t size = count - at < DEV_MATH_BLOCK ? count - at : DEV_MATH_BLOCK;             \
            for (uint32_t i = 0; i < size; i++)                                                    \
                block[i] = dev_math_##name(in[at + i]);                                            \
            for (uint32_t i = 0; i < size; i++)                                                    \
                out[at + i] = block[i];                                                            \
        }                                                                                          \
    }

/* Far arguments are rare: a block with one of them goes value by value. */
#define DEV_MATH_TRIG(name)                                                                        \
    DEV_FN void dev_math_##name##_lanes(uint32_t *out, const uint32_t *in, uint32_t count)         \
    {                                                                                              \
        uint32_t block[DEV_MATH_BLOCK];                                                            \
        for (uint32_t at = 0; at < count; at += DEV_MATH_BLOCK) {                                  \
            uint32_t size = count - at < DEV_MATH_BLOCK ? count - at : DEV_MATH_BLOCK;             \
            if (DEV_LIKELY(!dev_math_any_far(in + at, size)))                                      \
                for (uint32_t i = 0; i < size; i++)                                                \
                    block[i] = dev_math_##name##_near(in[at + i]);                                 \
            else                                                                                   \
                for (uint32_t i = 0; i < size; i++)                                                \
                    block[i] = dev_math_##name(in[at + i]);                                        \
            for (uint32_t i = 0; i < size; i++)                                                    \
                out[at + i] = block[i];                                                            \
        }                                                                                          \
    }

#include "device/math.def"

#endif
