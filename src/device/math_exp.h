/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * exp, exp2, sinh, cosh and tanh of f32; see math.h.
 *
 * All come from one reduction. With x = (k + r) ln 2, k an integer and |r| <= 1/2,
 *     e^x = 2^k (C + S),  C = cosh(r ln 2),  S = sinh(r ln 2),
 * and C and S are polynomials in r^2, S times r. The hyperbolic functions then follow without a
 * difference of two nearly equal numbers: where k is 0, sinh is S itself.
 */
#ifndef VYRE_DEVICE_MATH_EXP_H
#define VYRE_DEVICE_MATH_EXP_H

#include "device/math_bits.h"

/* Arguments of a greater magnitude give what these give: infinity, zero or one. 2^160 is beyond
 * f32 by far, and not near the end of double. */
#define DEV_MATH_EXP2_END 0x43200000u /* 160 */
#define DEV_MATH_EXP_END  0x42E00000u /* 112 */
#define DEV_MATH_TANH_END 0x41800000u /* 16 */

struct dev_math_exp {
    double even;   /* C: relative error below 2^-34 */
    double odd;    /* S: relative error below 2^-37 */
    int32_t power; /* k */
};

/* 2 to the power of `y`, |y| <= 162. */
DEV_FN struct dev_math_exp dev_math_exp_parts(double y)
{
    struct dev_math_exp parts;
    double shifted = y + DEV_MATH_ROUND;
    double r = y - (shifted - DEV_MATH_ROUND);
    double u = r * r;
    parts.power = (int32_t)(uint32_t)dev_math_f64_bits(shifted);
    parts.even =
        1.0 + u * (0x1.ebfbe07ab3c15p-3 + u * (0x1.3b29f0feaa04dp-7 + u * 0x1.445e6b6968835p-13));
    parts.odd = r * ((0x1.62e42fef9cd70p-1 + u * 0x1.c6b08da6c2953p-5) +
                     u * u * (0x1.5d8775fb2fef5p-10 + u * 0x1.00c0a2e4e4630p-16));
    return parts;
}

/* The magnitude of the argument, at most `end`. */
DEV_FN uint32_t dev_math_exp_clamp(uint32_t bits, uint32_t end)
{
    uint32_t magnitude = dev_math_magnitude(bits);
    return dev_math_select(dev_math_mask(magnitude > end), end, magnitude);
}

DEV_FN uint32_t dev_math_exp_nan(uint32_t bits, uint32_t result)
{
    uint32_t nan = dev_math_mask((bits & ~DEV_MATH_SIGN) > DEV_MATH_INF);
    return dev_math_select(nan, DEV_MATH_NAN, result);
}

/* 2 to the power of `scale` times the argument. */
DEV_FN uint32_t dev_math_exp_scaled(uint32_t bits, uint32_t end, double scale)
{
    float x = vm_float(dev_math_exp_clamp(bits, end) | (bits & DEV_MATH_SIGN));
    struct dev_math_exp parts = dev_math_exp_parts((double)x * scale);
    double value = (parts.even + parts.odd) * dev_math_power_of_two(parts.power);
    return dev_math_exp_nan(bits, dev_math_result(value, 0));
}

DEV_FN uint32_t dev_math_exp(uint32_t bits)
{
    return dev_math_exp_scaled(bits, DEV_MATH_EXP_END, DEV_MATH_LOG2_E);
}

DEV_FN uint32_t dev_math_exp2(uint32_t bits)
{
    return dev_math_exp_scaled(bits, DEV_MATH_EXP2_END, 1.0);
}

/* Twice the hyperbolic sine and cosine of |x|. */
struct dev_math_hyper {
    double sinh;
    double cosh;
};

DEV_FN struct dev_math_hyper dev_math_hyper(uint32_t bits, uint32_t end)
{
    float x = vm_float(dev_math_exp_clamp(bits, end));
    struct dev_math_exp parts = dev_math_exp_parts((double)x * DEV_MATH_LOG2_E);
    double up = dev_math_power_of_two(parts.power);
    double down = dev_math_power_of_two(-parts.power);
    struct dev_math_hyper twice;
    twice.sinh = parts.even * (up - down) + parts.odd * (up + down);
    twice.cosh = parts.even * (up + down) + parts.odd * (up - down);
    return twice;
}

DEV_FN uint32_t dev_math_sinh(uint32_t bits)
{
    struct dev_math_hyper twice = dev_math_hyper(bits, DEV_MATH_EXP_END);
    return dev_math_exp_nan(bits, dev_math_result(0.5 * twice.sinh, bits & DEV_MATH_SIGN));
}

DEV_FN uint32_t dev_math_cosh(uint32_t bits)
{
    struct dev_math_hyper twice = dev_math_hyper(bits, DEV_MATH_EXP_END);
    return dev_math_exp_nan(bits, dev_math_result(0.5 * twice.cosh, 0));
}

DEV_FN uint32_t dev_math_tanh(uint32_t bits)
{
    struct dev_math_hyper twice = dev_math_hyper(bits, DEV_MATH_TANH_END);
    return dev_math_exp_nan(bits, dev_math_result(twice.sinh / twice.cosh, bits & DEV_MATH_SIGN));
}

#endif
