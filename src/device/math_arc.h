/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * asin, acos and atan of f32; see math.h.
 *
 * For |x| above 1/2, asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2)), where 1 - x is exact; acos takes the
 * two terms apart, and so keeps its relative error near 1. The square root is made of
 * multiplications: it need not be correctly rounded, and a call of sqrt would keep loops from being
 * vectorised where it may set errno.
 */
#ifndef VYRE_DEVICE_MATH_ARC_H
#define VYRE_DEVICE_MATH_ARC_H

#include "device/math_bits.h"

#define DEV_MATH_PI         0x1.921fb54442d18p+1
#define DEV_MATH_HALF_PI    0x1.921fb54442d18p+0
#define DEV_MATH_QUARTER_PI 0x1.921fb54442d18p-1
#define DEV_MATH_HALF       0x3F000000u
#define DEV_MATH_TAN_1_8    0x3ED413CDu /* tan(pi/8) */
#define DEV_MATH_TAN_3_8    0x401A827Au /* tan(3 pi/8) */

/* The square root of z >= 0, a relative error below 2^-34; of anything else, anything. Half the
 * exponent, negated, is a first guess at 1/sqrt(z) that is good to 2^-4.8; each step of Newton's
 * more than doubles the bits. At 0 the guess stays finite, and 0 comes out. */
DEV_FN double dev_math_root(double z)
{
    double half = 0.5 * z;
    double y = dev_math_f64(0x5FE6EB4C00000000u - (dev_math_f64_bits(z) >> 1));
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    y = y * (1.5 - half * y * y);
    return z * y;
}

struct dev_math_arc {
    double angle;  /* asin(|x|), or where that is folded, asin(sqrt((1 - |x|)/2)) */
    uint32_t fold; /* mask: |x| is above 1/2 */
};

DEV_FN struct dev_math_arc dev_math_arc_parts(uint32_t magnitude)
{
    struct dev_math_arc parts;
    double x = (double)vm_float(magnitude);
    double z = 0.5 - 0.5 * x;
    parts.fold = dev_math_mask(magnitude > DEV_MATH_HALF);
    double t = dev_math_select_f64(parts.fold, dev_math_root(z), x);
    double u = dev_math_select_f64(parts.fold, z, x * x);
    double v = u * u;
    double even = 0x1.1bd25b29fe217p-5;
    even = even * v + 0x1.931f7119c04c9p-6;
    even = even * v + 0x1.6ddabf8bacfe8p-5;
    even = even * v + 0x1.55555605c7c0fp-3;
    double odd = 0x1.ec26277fcc3dcp-8;
    odd = odd * v + 0x1.ed5d1f603010ep-6;
    odd = odd * v + 0x1.3332aa086c5d1p-4;
    parts.angle = t + t * u * (even + u * odd);
    return parts;
}

/* NaN outside [-1, 1]. */
DEV_FN uint32_t dev_math_arc_nan(uint32_t magnitude, uint32_t result)
{
    return dev_math_select(dev_math_mask(magnitude > DEV_MATH_ONE), DEV_MATH_NAN, result);
}

DEV_FN uint32_t dev_math_asin(uint32_t bits)
{
    uint32_t magnitude = dev_math_magnitude(bits);
    struct dev_math_arc parts = dev_math_arc_parts(magnitude);
    double folded = DEV_MATH_HALF_PI - 2.0 * parts.angle;
    double value = dev_math_select_f64(parts.fold, folded, parts.angle);
    return dev_math_arc_nan(magnitude, dev_math_result(value, bits & DEV_MATH_SIGN));
}

DEV_FN uint32_t dev_math_acos(uint32_t bits)
{
    uint32_t magnitude = dev_math_magnitude(bits);
    struct dev_math_arc parts = dev_math_arc_parts(magnitude);
    uint32_t negative = dev_math_mask((bits & DEV_MATH_SIGN) != 0);
    double signed_angle = dev_math_select_f64(negative, -parts.angle, parts.angle);
    double base = dev_math_select_f64(negative, DEV_MATH_PI, 0.0);
    double value =
        dev_math_select_f64(parts.fold, base + 2.0 * signed_angle, DEV_MATH_HALF_PI - signed_angle);
    return dev_math_arc_nan(magnitude, dev_math_result(value, 0));
}

/* atan(x) is atan(x), pi/4 + atan((x - 1)/(x + 1)) or pi/2 + atan(-1/x): the argument of the
 * polynomial stays below tan(pi/8), and one division serves all three. */
DEV_FN uint32_t dev_math_atan(uint32_t bits)
{
    uint32_t magnitude = dev_math_magnitude(bits);
    uint32_t middle = dev_math_mask(magnitude > DEV_MATH_TAN_1_8);
    uint32_t high = dev_math_mask(magnitude > DEV_MATH_TAN_3_8);
    double x = (double)vm_float(magnitude);
    double above = dev_math_select_f64(middle, x - 1.0, x);
    double below = dev_math_select_f64(middle, x + 1.0, 1.0);
    double base = dev_math_select_f64(middle, DEV_MATH_QUARTER_PI, 0.0);
    above = dev_math_select_f64(high, -1.0, above);
    below = dev_math_select_f64(high, x, below);
    base = dev_math_select_f64(high, DEV_MATH_HALF_PI, base);
    double t = above / below;
    double u = t * t;
    double v = u * u;
    double even = (-0x1.5b300b16818aap-4 * v + -0x1.247eda0f3cf9ap-3) * v + -0x1.555554c5fd0e8p-2;
    double odd = (0x1.84a1a39d07f81p-5 * v + 0x1.c463f7710017ep-4) * v + 0x1.9999189d4477dp-3;
    double value = base + (t + t * u * (even + u * odd));
    uint32_t nan = dev_math_mask(magnitude > DEV_MATH_INF);
    return dev_math_select(nan, DEV_MATH_NAN, dev_math_result(value, bits & DEV_MATH_SIGN));
}

#endif
