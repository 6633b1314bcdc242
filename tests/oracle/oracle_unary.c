/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Unary operators of the oracle.
 *
 * The transcendental functions are the device's: their last bits are a choice and not a fact, so
 * an oracle with its own would only be another choice. t_device_math checks them.
 */
#include "oracle/oracle_inside.h"

#include <math.h>

#include "device/platform.h"

#include "device/math.h"

static uint64_t count_ones(uint64_t value)
{
    uint64_t ones = 0;
    for (; value != 0; value >>= 1)
        ones += value & 1;
    return ones;
}

static uint64_t count_leading(uint64_t value, uint32_t width)
{
    uint64_t zeros = 0;
    while (zeros < width && (value >> (width - 1 - zeros) & 1) == 0)
        zeros++;
    return zeros;
}

static uint64_t count_trailing(uint64_t value, uint32_t width)
{
    uint64_t zeros = 0;
    while (zeros < width && (value >> zeros & 1) == 0)
        zeros++;
    return zeros;
}

static uint64_t reverse(uint64_t value, uint32_t width)
{
    uint64_t turned = 0;
    for (uint32_t i = 0; i < width; i++)
        turned |= (value >> i & 1) << (width - 1 - i);
    return turned;
}

static enum oracle_error unary_integer(uint32_t op, const struct oracle_value *a,
                                       struct oracle_value *out)
{
    uint32_t width = a->kind == KIND_U64 ? 64 : 32;
    uint64_t mask = a->kind == KIND_U64 ? UINT64_MAX : UINT32_MAX;
    uint64_t result;
    switch (op) {
    case IR_UN_NEGATE:
        result = 0 - a->bits;
        break;
    case IR_UN_BIT_NOT:
        result = ~a->bits;
        break;
    case IR_UN_POPCOUNT:
        result = count_ones(a->bits);
        break;
    case IR_UN_CLZ:
        result = count_leading(a->bits, width);
        break;
    case IR_UN_CTZ:
        result = count_trailing(a->bits, width);
        break;
    case IR_UN_REVERSE_BITS:
        result = reverse(a->bits, width);
        break;
    case IR_UN_LOGICAL_NOT:
        *out = oracle_scalar(KIND_BOOL, a->bits == 0);
        return ORACLE_OK;
    default:
        return ORACLE_KIND;
    }
    *out = oracle_scalar(a->kind, result & mask);
    return ORACLE_OK;
}

static uint32_t sign(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u || magnitude == 0) return magnitude;
    return (bits & 0x80000000u) | 0x3F800000u;
}

/* Functions from f32 to f32; 0 where the operator is not one. */
static int unary_float(uint32_t op, uint32_t bits, uint32_t *out)
{
    float a = oracle_float(bits);
    switch (op) {
#define TO_FLOAT(name, result)                                                                     \
    case IR_UN_##name:                                                                             \
        *out = (result);                                                                           \
        return 1;
        TO_FLOAT(NEGATE, bits ^ 0x80000000u)
        TO_FLOAT(ABS, bits & 0x7FFFFFFFu)
        TO_FLOAT(SIGN, sign(bits))
        TO_FLOAT(FLOOR, oracle_bits(floorf(a)))
        TO_FLOAT(CEIL, oracle_bits(ceilf(a)))
        TO_FLOAT(TRUNC, oracle_bits(truncf(a)))
        TO_FLOAT(ROUND, oracle_bits(roundf(a)))
        TO_FLOAT(SQRT, oracle_bits(sqrtf(a)))
        TO_FLOAT(INVERSE_SQRT, oracle_bits(1.0f / oracle_float(oracle_bits(sqrtf(a)))))
        TO_FLOAT(RECIPROCAL, oracle_bits(1.0f / a))
        TO_FLOAT(SIN, dev_math_sin(bits))
        TO_FLOAT(COS, dev_math_cos(bits))
        TO_FLOAT(TAN, dev_math_tan(bits))
        TO_FLOAT(ASIN, dev_math_asin(bits))
        TO_FLOAT(ACOS, dev_math_acos(bits))
        TO_FLOAT(ATAN, dev_math_atan(bits))
        TO_FLOAT(SINH, dev_math_sinh(bits))
        TO_FLOAT(COSH, dev_math_cosh(bits))
        TO_FLOAT(TANH, dev_math_tanh(bits))
        TO_FLOAT(EXP, dev_math_exp(bits))
        TO_FLOAT(EXP2, dev_math_exp2(bits))
        TO_FLOAT(LOG, dev_math_log(bits))
        TO_FLOAT(LOG2, dev_math_log2(bits))
#undef TO_FLOAT
    default:
        return 0;
    }
}

static enum oracle_error unary_f32(uint32_t op, uint32_t bits, struct oracle_value *out)
{
    uint32_t magnitude = bits & 0x7FFFFFFFu, result;
    switch (op) {
    case IR_UN_IS_NAN:
        *out = oracle_scalar(KIND_BOOL, magnitude > 0x7F800000u);
        return ORACLE_OK;
    case IR_UN_IS_INF:
        *out = oracle_scalar(KIND_BOOL, magnitude == 0x7F800000u);
        return ORACLE_OK;
    case IR_UN_IS_FINITE:
        *out = oracle_scalar(KIND_BOOL, magnitude < 0x7F800000u);
        return ORACLE_OK;
    default:
        break;
    }
    if (!unary_float(op, bits, &result)) return ORACLE_KIND;
    *out = oracle_scalar(KIND_F32, result);
    return ORACLE_OK;
}

enum oracle_error oracle_unary(uint32_t op, const struct oracle_value *a, struct oracle_value *out)
{
    switch (a->kind) {
    case KIND_U32:
    case KIND_I32:
    case KIND_U64:
        return unary_integer(op, a, out);
    case KIND_F32:
        return unary_f32(op, (uint32_t)a->bits, out);
    case KIND_BOOL:
        if (op != IR_UN_LOGICAL_NOT) return ORACLE_KIND;
        *out = oracle_scalar(KIND_BOOL, !a->bits);
        return ORACLE_OK;
    case KIND_BYTES:
        break;
    }
    return ORACLE_KIND;
}
