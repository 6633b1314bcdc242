/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Multiples of pi/2 taken away from an argument of sin, cos or tan; for math_trig.h only.
 *
 * No f32 is nearer than 2^-30 to a multiple of pi/2 but 0: an absolute error of 2^-60 suffices.
 * Below 2^23 a product with pi/2 in two pieces has it; from there on the product with 2/pi is
 * computed modulo 4, in integers.
 */
#ifndef VYRE_DEVICE_MATH_REDUCE_H
#define VYRE_DEVICE_MATH_REDUCE_H

#include "device/math_bits.h"

#define DEV_MATH_FAR       0x4B000000u           /* 2^23 */
#define DEV_MATH_2_OVER_PI 0x1.45f306dc9c883p-1  /* quarter turns */
#define DEV_MATH_1_OVER_PI 0x1.45f306dc9c883p-2  /* half turns */
#define DEV_MATH_PI_2_HIGH 0x1.921fb54000000p+0  /* 30 bits: times an integer up to 2^23, exact */
#define DEV_MATH_PI_2_LOW  0x1.10b4611a62633p-30 /* the rest */
#define DEV_MATH_PI_2_UNIT 0x1.921fb54442d18p-62 /* 2^-62 pi/2 */

/* The bits of 2/pi behind the point; 32 zeros go before them. */
DEV_TABLE uint32_t dev_math_2_over_pi[8] = {
    0x00000000u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u,
    0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu,
};

/* x - n pi/2, for x from 0 to 2^23 and an integer n near 2x/pi. */
DEV_FN double dev_math_reduce_near(double x, double n)
{
    return (x - n * DEV_MATH_PI_2_HIGH) - n * DEV_MATH_PI_2_LOW;
}

/* 2x/pi modulo 4 in units of 2^-62, for x from 2^23 to the largest f32. With x = m 2^p, the bits of
 * 2/pi that weigh 2^2 or more after the shift by p go away; 96 bits from there on count, the
 * product of which with m is too small by at most 2^-70. */
DEV_NO_INLINE uint64_t dev_math_reduce_far(uint32_t magnitude)
{
    uint64_t m = (magnitude & 0x7FFFFFu) | 0x800000u;
    uint32_t first = (magnitude >> 23) - 150u + 30u; /* p + 30: the bit of weight 2^1 */
    const uint32_t *word = &dev_math_2_over_pi[first / 32];
    uint32_t shift = first % 32;
    uint64_t window[3];
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t two = (uint64_t)word[i] << 32 | word[i + 1];
        window[i] = two << shift >> 32;
    }
    return ((m * window[0]) << 32) + m * window[1] + (m * window[2] >> 32);
}

/* 2^-62 pi/2 times a difference of two such values, taken as signed. */
DEV_FN double dev_math_reduce_angle(uint64_t difference)
{
    return (double)(int64_t)difference * DEV_MATH_PI_2_UNIT;
}

#endif
