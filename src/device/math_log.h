/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * log and log2 of f32; see math.h.
 *
 * x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), so that e is 0 for all x near 1: there the
 * logarithm is f times a polynomial, and f is exact.
 */
#ifndef VYRE_DEVICE_MATH_LOG_H
#define VYRE_DEVICE_MATH_LOG_H

#include "device/math_bits.h"

#define DEV_MATH_LN_2      0x1.62e42fefa39efp-1
#define DEV_MATH_ROOT_HALF 0x3F3504F3u /* sqrt(1/2), rounded down */

struct dev_math_log {
    double exponent; /* e */
    double log;      /* of 1 + f, natural: relative error below 2^-35 */
};

/* ln(1 + f) / f. The even and the odd terms are two chains that run side by side. */
DEV_FN double dev_math_log_ratio(double f)
{
    double u = f * f;
    double even = 0x1.b753c6ce0a5fcp-5;
    even = even * u + 0x1.9af5a36276654p-4;
    even = even * u + 0x1.c2c4b1b06989ap-4;
    even = even * u + 0x1.24adeda542958p-3;
    even = even * u + 0x1.9998fa1693838p-3;
    even = even * u + 0x1.555556012ce89p-2;
    even = even * u + 0x1.ffffffffe120dp-1;
    double odd = -0x1.9589cf2d825f0p-4;
    odd = odd * u + -0x1.9670ad61f4166p-4;
    odd = odd * u + -0x1.ffe5a11972c56p-4;
    odd = odd * u + -0x1.5556c8b983065p-3;
    odd = odd * u + -0x1.fffff80e5f76bp-3;
    odd = odd * u + -0x1.000000028697dp-1;
    return even + f * odd;
}

/* Of a positive normal number; of anything else, some finite values. */
DEV_FN struct dev_math_log dev_math_log_parts(uint32_t magnitude)
{
    struct dev_math_log parts;
    uint32_t shifted = magnitude + (DEV_MATH_ONE - DEV_MATH_ROOT_HALF);
    parts.exponent = (double)((int32_t)(shifted >> 23) - 127);
    double f = (double)vm_float((shifted & 0x7FFFFFu) + DEV_MATH_ROOT_HALF) - 1.0;
    parts.log = f * dev_math_log_ratio(f);
    return parts;
}

/* The values of log and log2 that no polynomial gives. */
DEV_FN uint32_t dev_math_log_result(uint32_t bits, double value)
{
    uint32_t magnitude = dev_math_magnitude(bits);
    uint32_t zero = dev_math_mask(magnitude == 0);
    uint32_t negative = dev_math_mask((bits & DEV_MATH_SIGN) != 0) & ~zero;
    uint32_t result = dev_math_result(value, 0);
    result = dev_math_select(dev_math_mask(magnitude == DEV_MATH_INF), DEV_MATH_INF, result);
    result = dev_math_select(zero, DEV_MATH_INF | DEV_MATH_SIGN, result);
    return dev_math_select(dev_math_mask(magnitude > DEV_MATH_INF) | negative, DEV_MATH_NAN,
                           result);
}

DEV_FN uint32_t dev_math_log(uint32_t bits)
{
    struct dev_math_log parts = dev_math_log_parts(dev_math_magnitude(bits));
    return dev_math_log_result(bits, parts.exponent * DEV_MATH_LN_2 + parts.log);
}

DEV_FN uint32_t dev_math_log2(uint32_t bits)
{
    struct dev_math_log parts = dev_math_log_parts(dev_math_magnitude(bits));
    return dev_math_log_result(bits, parts.exponent + parts.log * DEV_MATH_LOG2_E);
}

#endif
