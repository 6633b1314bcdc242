/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Bit patterns and selections, for the other math_*.h only.
 *
 * The functions of math.h are called in loops over lanes, so they have no branches: a choice
 * computes both values and takes one by a mask of all ones or all zeros. Compilers would vectorise
 * most conditional expressions too, but not one into whose arms they have moved an operation that
 * can raise a floating-point exception.
 */
#ifndef VYRE_DEVICE_MATH_BITS_H
#define VYRE_DEVICE_MATH_BITS_H

#include <string.h>

#include "device/platform.h"
#include "vm/arith.h"

/* The x87 rounds some operations twice; there is no way to the same bits from there. */
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#    error "float and double must be evaluated in their own precision; on i386 use -mfpmath=sse"
#endif
#if defined(__FAST_MATH__)
#    error "the device's functions do not give the same bits with -ffast-math"
#endif

#define DEV_MATH_SIGN   0x80000000u
#define DEV_MATH_INF    0x7F800000u
#define DEV_MATH_NAN    0x7FC00000u
#define DEV_MATH_NORMAL 0x00800000u /* the smallest normal number */
#define DEV_MATH_ONE    0x3F800000u

#define DEV_MATH_LOG2_E 0x1.71547652b82fep+0

/* Added to a double below 2^51, leaves the nearest integer in the low bits. */
#define DEV_MATH_ROUND 0x1.8p52

DEV_FN double dev_math_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

DEV_FN uint64_t dev_math_f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* All ones where the condition is 1. */
DEV_FN uint32_t dev_math_mask(int condition)
{
    return 0u - (uint32_t)condition;
}

DEV_FN uint32_t dev_math_select(uint32_t mask, uint32_t yes, uint32_t no)
{
    return (yes & mask) | (no & ~mask);
}

DEV_FN double dev_math_select_f64(uint32_t mask, double yes, double no)
{
    uint64_t wide = (uint64_t)(int64_t)(int32_t)mask;
    return dev_math_f64((dev_math_f64_bits(yes) & wide) | (dev_math_f64_bits(no) & ~wide));
}

/* 2 to the power of an integer from -1022 to 1023. */
DEV_FN double dev_math_power_of_two(int32_t exponent)
{
    return dev_math_f64((uint64_t)(uint32_t)(exponent + 1023) << 52);
}

/* The argument without its sign; a subnormal number is zero. By bits, since whether arithmetic
 * takes it for zero depends on the mode that the processor is in. */
DEV_FN uint32_t dev_math_magnitude(uint32_t bits)
{
    uint32_t magnitude = bits & ~DEV_MATH_SIGN;
    return magnitude & dev_math_mask(magnitude >= DEV_MATH_NORMAL);
}

/* Rounds to f32, subnormal numbers included, then makes those zero; `sign` is 0 or DEV_MATH_SIGN,
 * and the latter negates. */
DEV_FN uint32_t dev_math_result(double value, uint32_t sign)
{
    uint32_t bits = vm_bits((float)value);
    uint32_t normal = dev_math_mask((bits & ~DEV_MATH_SIGN) >= DEV_MATH_NORMAL);
    return (bits & (normal | DEV_MATH_SIGN)) ^ sign;
}

#endif
