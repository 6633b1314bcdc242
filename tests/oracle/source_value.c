/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Values of sources: what docs/language.md says of operators, casts, elements and given functions,
 * once more and as plainly as can be. Floats round as IEEE single does, then a subnormal becomes 0
 * with its sign and every NaN the one NaN.
 */
#include "oracle/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t canon(uint32_t bits)
{
    uint32_t rest = bits & 0x7FFFFFFFu;
    if (rest > 0x7F800000u) return 0x7FC00000u;
    return rest < 0x00800000u ? bits & 0x80000000u : bits;
}

static float to_float(uint32_t bits)
{
    float value;
    bits = canon(bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return canon(bits);
}

static uint32_t u32_binary(uint8_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case SOURCE_ADD:
        return a + b;
    case SOURCE_SUB:
        return a - b;
    case SOURCE_MUL:
        return a * b;
    case SOURCE_DIV:
        return b ? a / b : 0xFFFFFFFFu;
    case SOURCE_MOD:
        return b ? a % b : 0;
    case SOURCE_AND:
        return a & b;
    case SOURCE_OR:
        return a | b;
    case SOURCE_XOR:
        return a ^ b;
    case SOURCE_SHL:
        return a << (b & 31u);
    case SOURCE_SHR:
        return a >> (b & 31u);
    case SOURCE_EQ:
        return a == b;
    case SOURCE_NE:
        return a != b;
    case SOURCE_LT:
        return a < b;
    case SOURCE_GT:
        return a > b;
    case SOURCE_LE:
        return a <= b;
    case SOURCE_GE:
        return a >= b;
    default:
        abort();
    }
}

static uint32_t shift_signed(uint32_t a, uint32_t by)
{
    by &= 31u;
    uint32_t filled = a & 0x80000000u && by ? ~(0xFFFFFFFFu >> by) : 0;
    return a >> by | filled;
}

static uint32_t i32_binary(uint8_t op, uint32_t a, uint32_t b, bool *fault)
{
    int64_t x = (int32_t)a, y = (int32_t)b;
    switch (op) {
    case SOURCE_DIV:
    case SOURCE_MOD:
        if (y == 0 || (x == INT32_MIN && y == -1)) {
            *fault = true;
            return 0;
        }
        return (uint32_t)(op == SOURCE_DIV ? x / y : x % y);
    case SOURCE_SHR:
        return shift_signed(a, b);
    case SOURCE_LT:
        return x < y;
    case SOURCE_GT:
        return x > y;
    case SOURCE_LE:
        return x <= y;
    case SOURCE_GE:
        return x >= y;
    default:
        return u32_binary(op, a, b);
    }
}

static uint32_t f32_binary(uint8_t op, uint32_t a, uint32_t b)
{
    float x = to_float(a), y = to_float(b);
    switch (op) {
    case SOURCE_ADD:
        return of_float(x + y);
    case SOURCE_SUB:
        return of_float(x - y);
    case SOURCE_MUL:
        return of_float(x * y);
    case SOURCE_DIV:
        return of_float(x / y);
    case SOURCE_EQ:
        return x == y;
    case SOURCE_NE:
        return x != y;
    case SOURCE_LT:
        return x < y;
    case SOURCE_GT:
        return x > y;
    case SOURCE_LE:
        return x <= y;
    case SOURCE_GE:
        return x >= y;
    default:
        abort();
    }
}

uint32_t source_binary(uint8_t op, uint8_t type, uint32_t a, uint32_t b, bool *fault)
{
    switch (type) {
    case SOURCE_I32:
        return i32_binary(op, a, b, fault);
    case SOURCE_F32:
        return f32_binary(op, a, b);
    default: /* of bools only what gives bools of 0 and 1 */
        return u32_binary(op, a, b);
    }
}

uint32_t source_unary(uint8_t op, uint8_t type, uint32_t a)
{
    switch (op) {
    case SOURCE_NEGATE:
        return type == SOURCE_F32 ? of_float(-to_float(a)) : 0u - a;
    case SOURCE_INVERT:
        return ~a;
    case SOURCE_NOT:
        return a == 0;
    default:
        return a;
    }
}

static uint32_t from_float(float value, uint8_t to)
{
    if (to == SOURCE_BOOL) return value != 0.0f;
    if (value != value) return 0;
    if (to == SOURCE_I32) {
        if (value >= 2147483648.0f) return 0x7FFFFFFFu;
        if (value <= -2147483648.0f) return 0x80000000u;
        return (uint32_t)(int32_t)value;
    }
    if (value >= 4294967296.0f) return 0xFFFFFFFFu;
    return value <= 0.0f ? 0 : (uint32_t)value;
}

uint32_t source_cast(uint8_t from, uint8_t to, uint32_t a)
{
    if (from == to) return a;
    if (from == SOURCE_F32) return from_float(to_float(a), to);
    if (to == SOURCE_BOOL) return a != 0;
    if (to != SOURCE_F32) return a;
    return of_float(from == SOURCE_I32 ? (float)(int32_t)a : (float)a);
}

static bool less(uint8_t type, uint32_t a, uint32_t b)
{
    float x = to_float(a), y = to_float(b);
    if (type == SOURCE_U32) return a < b;
    if (type == SOURCE_I32) return (int32_t)a < (int32_t)b;
    if (x == 0.0f && y == 0.0f) return signbit(x) && !signbit(y);
    return x < y;
}

/* Of a number and NaN the number. */
static uint32_t least(uint8_t type, uint32_t a, uint32_t b)
{
    if (type == SOURCE_F32 && isnan(to_float(a))) return canon(b);
    if (type == SOURCE_F32 && isnan(to_float(b))) return canon(a);
    return less(type, b, a) ? b : a;
}

static uint32_t most(uint8_t type, uint32_t a, uint32_t b)
{
    if (type == SOURCE_F32 && isnan(to_float(a))) return canon(b);
    if (type == SOURCE_F32 && isnan(to_float(b))) return canon(a);
    return less(type, a, b) ? b : a;
}

static uint32_t bits_from(uint32_t value, bool top)
{
    uint32_t count = 0;
    while (count < 32 && !(value & (top ? 0x80000000u >> count : 1u << count)))
        count++;
    return count;
}

static uint32_t reverse(uint32_t value)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < 32; i++)
        made |= (value >> i & 1u) << (31u - i);
    return made;
}

static uint32_t give_float(uint8_t given, const uint32_t args[3])
{
    float x = to_float(args[0]);
    switch (given) {
    case SOURCE_FLOOR:
        return of_float(floorf(x));
    case SOURCE_CEIL:
        return of_float(ceilf(x));
    case SOURCE_TRUNC:
        return of_float(truncf(x));
    case SOURCE_SIGN:
        return isnan(x) ? of_float(x) : x == 0.0f ? 0 : of_float(x < 0.0f ? -1.0f : 1.0f);
    case SOURCE_SQRT:
        return of_float(sqrtf(x));
    case SOURCE_FMA:
        return of_float(fmaf(x, to_float(args[1]), to_float(args[2])));
    case SOURCE_IS_NAN:
        return isnan(x) != 0;
    case SOURCE_IS_INF:
        return isinf(x) != 0;
    default:
        return isfinite(x) != 0;
    }
}

static uint32_t give_bits(uint8_t given, uint32_t a, uint32_t b)
{
    uint64_t wide = (uint64_t)a * b, sum = (uint64_t)a + b;
    uint32_t by = b & 31u;
    switch (given) {
    case SOURCE_POPCOUNT:
        for (by = 0; a; a &= a - 1u)
            by++;
        return by;
    case SOURCE_CLZ:
        return bits_from(a, true);
    case SOURCE_CTZ:
        return bits_from(a, false);
    case SOURCE_REVERSE_BITS:
        return reverse(a);
    case SOURCE_ROTL:
        return by ? a << by | a >> (32u - by) : a;
    case SOURCE_ROTR:
        return by ? a >> by | a << (32u - by) : a;
    case SOURCE_MUL_HIGH:
        return (uint32_t)(wide >> 32);
    case SOURCE_SAT_ADD:
        return sum >> 32 ? 0xFFFFFFFFu : (uint32_t)sum;
    case SOURCE_SAT_SUB:
        return a > b ? a - b : 0;
    case SOURCE_SAT_MUL:
        return wide >> 32 ? 0xFFFFFFFFu : (uint32_t)wide;
    default: /* SOURCE_ABS_DIFF */
        return a > b ? a - b : b - a;
    }
}

uint32_t source_give(uint8_t given, uint8_t type, const uint32_t args[3])
{
    switch (given) {
    case SOURCE_MIN:
        return least(type, args[0], args[1]);
    case SOURCE_MAX:
        return most(type, args[0], args[1]);
    case SOURCE_CLAMP:
        return least(type, most(type, args[0], args[1]), args[2]);
    case SOURCE_SELECT:
        return args[0] ? args[1] : args[2];
    case SOURCE_ABS:
        if (type == SOURCE_F32)
            return canon(args[0]) == 0x7FC00000u ? 0x7FC00000u : canon(args[0]) & 0x7FFFFFFFu;
        return args[0] >> 31 ? 0u - args[0] : args[0];
    case SOURCE_FLOOR:
    case SOURCE_CEIL:
    case SOURCE_TRUNC:
    case SOURCE_SIGN:
    case SOURCE_SQRT:
    case SOURCE_FMA:
    case SOURCE_IS_NAN:
    case SOURCE_IS_INF:
    case SOURCE_IS_FINITE:
        return give_float(given, args);
    default:
        return give_bits(given, args[0], args[1]);
    }
}

/* T: the type that is wanted, u32, i32 or f32 (ABS: not u32; SELECT: bool, too). */
static const struct {
    const char *name, *types;
} givens[SOURCE_GIVENS] = {
    [SOURCE_MIN] = {"min", "TTT"},
    [SOURCE_MAX] = {"max", "TTT"},
    [SOURCE_CLAMP] = {"clamp", "TTTT"},
    [SOURCE_SELECT] = {"select", "TbTT"},
    [SOURCE_ABS] = {"abs", "TT"},
    [SOURCE_FLOOR] = {"floor", "ff"},
    [SOURCE_CEIL] = {"ceil", "ff"},
    [SOURCE_TRUNC] = {"trunc", "ff"},
    [SOURCE_SIGN] = {"sign", "ff"},
    [SOURCE_SQRT] = {"sqrt", "ff"},
    [SOURCE_FMA] = {"fma", "ffff"},
    [SOURCE_IS_NAN] = {"is_nan", "bf"},
    [SOURCE_IS_INF] = {"is_inf", "bf"},
    [SOURCE_IS_FINITE] = {"is_finite", "bf"},
    [SOURCE_POPCOUNT] = {"popcount", "uM"},
    [SOURCE_CLZ] = {"clz", "uM"},
    [SOURCE_CTZ] = {"ctz", "uM"},
    [SOURCE_REVERSE_BITS] = {"reverse_bits", "uu"},
    [SOURCE_ROTL] = {"rotl", "uuM"},
    [SOURCE_ROTR] = {"rotr", "uuM"},
    [SOURCE_MUL_HIGH] = {"mul_high", "uuu"},
    [SOURCE_SAT_ADD] = {"sat_add", "uuu"},
    [SOURCE_SAT_SUB] = {"sat_sub", "uuu"},
    [SOURCE_SAT_MUL] = {"sat_mul", "uuu"},
    [SOURCE_ABS_DIFF] = {"abs_diff", "uuu"},
};

const char *source_given_name(uint8_t given)
{
    return givens[given].name;
}

const char *source_given_types(uint8_t given)
{
    return givens[given].types;
}

uint32_t source_element_bytes(uint8_t element)
{
    if (element == SOURCE_E_U8 || element == SOURCE_E_I8) return 1;
    return element == SOURCE_E_U16 || element == SOURCE_E_I16 ? 2 : 4;
}

uint8_t source_element_type(uint8_t element)
{
    if (element <= SOURCE_E_BOOL) return element;
    return element == SOURCE_E_U8 || element == SOURCE_E_U16 ? SOURCE_U32 : SOURCE_I32;
}

uint32_t source_load(uint8_t element, const unsigned char *at)
{
    uint32_t bytes = source_element_bytes(element), value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << 8 * i;
    if (element == SOURCE_E_F32) return canon(value);
    if (element == SOURCE_E_BOOL) return value != 0;
    if (element == SOURCE_E_I8 && value & 0x80u) value |= 0xFFFFFF00u;
    if (element == SOURCE_E_I16 && value & 0x8000u) value |= 0xFFFF0000u;
    return value;
}

void source_store(uint8_t element, uint32_t value, unsigned char *at)
{
    if (element == SOURCE_E_F32) value = canon(value);
    for (uint32_t i = 0; i < source_element_bytes(element); i++)
        at[i] = (unsigned char)(value >> 8 * i);
}
