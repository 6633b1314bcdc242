/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The functions of device/math.h beside those of the C library in double, and the distance between
 * the two, for t_device_math.c and t_math_all.c. The library's error, below a unit of double, is
 * 2^-29 units of f32. Programs that include this are linked with libm.
 */
#ifndef VYRE_TESTS_MATH_REFERENCE_H
#define VYRE_TESTS_MATH_REFERENCE_H

#include <math.h>

#include "device/math.h"

struct math_function {
    const char *name;
    uint32_t (*one)(uint32_t bits);
    void (*lanes)(uint32_t *out, const uint32_t *in, uint32_t count);
    double (*exact)(double x);
};

#define DEV_MATH_FUNCTION(name) {#name, dev_math_##name, dev_math_##name##_lanes, name},
#define DEV_MATH_TRIG(name)     DEV_MATH_FUNCTION(name)
static const struct math_function math_functions[] = {
#include "device/math.def"
};

#define MATH_FUNCTIONS (sizeof math_functions / sizeof math_functions[0])

/* NaN is one value, subnormal numbers are zero; written apart from the code under test. */
static inline uint32_t math_canonical(uint32_t bits)
{
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC00000u;
    if ((bits & 0x7F800000u) == 0) return bits & 0x80000000u;
    return bits;
}

static inline uint32_t math_rounded(double exact)
{
    float rounded = (float)exact;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return math_canonical(bits);
}

static inline double math_exact(const struct math_function *function, uint32_t bits)
{
    float x;
    bits = math_canonical(bits);
    memcpy(&x, &bits, sizeof x);
    return function->exact((double)x);
}

/* The distance in units of the last place that `exact` would have in f32; infinite where a NaN, the
 * sign of a zero, or the form of a result is wrong. Infinity counts as 2^128, and below the
 * smallest normal number zero is right. */
static inline double math_distance(uint32_t bits, double exact)
{
    float rounded;
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (bits == math_rounded(exact) && (magnitude == 0 || magnitude >= 0x7F800000u)) return 0;
    if (bits != math_canonical(bits) || isnan(exact) || magnitude > 0x7F800000u) return INFINITY;
    if ((bits >> 31 != 0) != (signbit(exact) != 0) || isinf(exact)) return INFINITY;
    memcpy(&rounded, &bits, sizeof rounded);
    double value = magnitude == 0x7F800000u ? 0x1p128 : fabs((double)rounded);
    int exponent = exact == 0 ? -126 : ilogb(exact);
    if (exponent < -126) exponent = -126;
    if (exponent > 127) exponent = 127;
    return ldexp(fabs(value - fabs(exact)), 23 - exponent);
}

#endif
