/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * sin, cos and tan of f32; see math.h.
 *
 * sin and cos take a whole number of half turns away, cos those about the odd multiples of pi/2,
 * and both are then a sine on [-pi/2, pi/2]: one polynomial instead of two and a choice.
 *
 * Each comes in three forms that give the same bits. dev_math_sin serves any one value.
 * dev_math_sin_near has no branches, but is right only below DEV_MATH_FAR (and for infinities and
 * NaN); dev_math_sin_lanes uses it for whole vectors, where dev_math_any_far finds none beyond.
 */
#ifndef VYRE_DEVICE_MATH_TRIG_H
#define VYRE_DEVICE_MATH_TRIG_H

#include "device/math_reduce.h"

/* On [-pi/2, pi/2], a relative error below 2^-35. */
DEV_FN double dev_math_sine(double r)
{
    double u = r * r;
    double v = u * u;
    double even = (-0x1.9a689c0d9456ep-26 * v + -0x1.a017d9a94bcccp-13) * v + -0x1.555555476a0cfp-3;
    double odd = 0x1.71708127ae21bp-19 * v + 0x1.11110c4a22013p-7;
    return r + r * u * (even + u * odd);
}

/* tan(r), or where n is odd -1/tan(r), for r on [-pi/4, pi/4]: a relative error below 2^-33. */
DEV_FN double dev_math_tangent(double r, uint32_t n)
{
    double u = r * r;
    double v = u * u;
    double sine = r + r * u *
                          ((-0x1.5555554c721f8p-3 + u * 0x1.1111086a7f405p-7) +
                           v * (-0x1.a00f7f3288a0cp-13 + u * 0x1.6cd1f2eac5feep-19));
    double cosine = 1.0 + u * ((-0x1.ffffffcb82ee1p-2 + u * 0x1.55553c78af6f9p-5) +
                               v * (-0x1.6c07f17336231p-10 + u * 0x1.9916a1dd9d1b8p-16));
    uint32_t odd = 0u - (n & 1u);
    return dev_math_select_f64(odd, -cosine, sine) / dev_math_select_f64(odd, sine, cosine);
}

DEV_FN int dev_math_is_far(uint32_t bits)
{
    uint32_t magnitude = bits & ~DEV_MATH_SIGN;
    return (magnitude >= DEV_MATH_FAR) & (magnitude < DEV_MATH_INF);
}

DEV_FN int dev_math_any_far(const uint32_t *in, uint32_t count)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < count; i++)
        any |= (uint32_t)dev_math_is_far(in[i]);
    return any != 0;
}

DEV_FN uint32_t dev_math_trig_nan(uint32_t bits, uint32_t result)
{
    uint32_t nan = dev_math_mask((bits & ~DEV_MATH_SIGN) >= DEV_MATH_INF);
    return dev_math_select(nan, DEV_MATH_NAN, result);
}

DEV_FN uint32_t dev_math_sin_near(uint32_t bits)
{
    double x = (double)vm_float(dev_math_magnitude(bits));
    double turns = x * DEV_MATH_1_OVER_PI + DEV_MATH_ROUND;
    uint32_t k = (uint32_t)dev_math_f64_bits(turns);
    double r = dev_math_reduce_near(x, 2.0 * (turns - DEV_MATH_ROUND));
    uint32_t sign = (bits & DEV_MATH_SIGN) ^ k << 31;
    return dev_math_trig_nan(bits, dev_math_result(dev_math_sine(r), sign));
}

DEV_FN uint32_t dev_math_cos_near(uint32_t bits)
{
    double x = (double)vm_float(dev_math_magnitude(bits));
    double turns = (x * DEV_MATH_1_OVER_PI - 0.5) + DEV_MATH_ROUND;
    uint32_t k = (uint32_t)dev_math_f64_bits(turns);
    double r = dev_math_reduce_near(x, 2.0 * (turns - DEV_MATH_ROUND) + 1.0);
    return dev_math_trig_nan(bits, dev_math_result(dev_math_sine(r), ~k << 31));
}

DEV_FN uint32_t dev_math_tan_near(uint32_t bits)
{
    double x = (double)vm_float(dev_math_magnitude(bits));
    double turns = x * DEV_MATH_2_OVER_PI + DEV_MATH_ROUND;
    uint32_t n = (uint32_t)dev_math_f64_bits(turns);
    double r = dev_math_reduce_near(x, turns - DEV_MATH_ROUND);
    double value = dev_math_tangent(r, n);
    return dev_math_trig_nan(bits, dev_math_result(value, bits & DEV_MATH_SIGN));
}

DEV_FN uint32_t dev_math_sin(uint32_t bits)
{
    if (DEV_LIKELY(!dev_math_is_far(bits))) return dev_math_sin_near(bits);
    uint64_t turns = dev_math_reduce_far(bits & ~DEV_MATH_SIGN);
    uint64_t k = (turns + (UINT64_C(1) << 62)) >> 63;
    double r = dev_math_reduce_angle(turns - (k << 63));
    return dev_math_result(dev_math_sine(r), (bits & DEV_MATH_SIGN) ^ (uint32_t)k << 31);
}

DEV_FN uint32_t dev_math_cos(uint32_t bits)
{
    if (DEV_LIKELY(!dev_math_is_far(bits))) return dev_math_cos_near(bits);
    uint64_t turns = dev_math_reduce_far(bits & ~DEV_MATH_SIGN);
    uint64_t k = turns >> 63;
    double r = dev_math_reduce_angle(turns - (k << 63) - (UINT64_C(1) << 62));
    return dev_math_result(dev_math_sine(r), ~(uint32_t)k << 31);
}

DEV_FN uint32_t dev_math_tan(uint32_t bits)
{
    if (DEV_LIKELY(!dev_math_is_far(bits))) return dev_math_tan_near(bits);
    uint64_t turns = dev_math_reduce_far(bits & ~DEV_MATH_SIGN);
    uint64_t n = (turns + (UINT64_C(1) << 61)) >> 62;
    double r = dev_math_reduce_angle(turns - (n << 62));
    return dev_math_result(dev_math_tangent(r, (uint32_t)n), bits & DEV_MATH_SIGN);
}

#endif
