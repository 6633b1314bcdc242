/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Binary operators of the oracle, one function for each kind of operand. Both operands have the
 * same kind, or it is an error.
 */
#include "oracle/oracle_inside.h"

#include <float.h>

/* Every operation must round to single precision by itself. */
_Static_assert(FLT_EVAL_METHOD == 0, "float operations are done in float");

static enum oracle_error give(struct oracle_value *out, enum oracle_kind kind, uint64_t bits)
{
    *out = oracle_scalar(kind, bits);
    return ORACLE_OK;
}

static enum oracle_error truth(struct oracle_value *out, int holds)
{
    return give(out, KIND_BOOL, holds ? 1 : 0);
}

static enum oracle_error binary_u32(uint32_t op, uint32_t a, uint32_t b, struct oracle_value *out)
{
    uint32_t turn = b & 31u;
    uint64_t wide = (uint64_t)a * b;
    switch (op) {
    case IR_BIN_ADD:
    case IR_BIN_WRAP_ADD:
        return give(out, KIND_U32, a + b);
    case IR_BIN_SUB:
    case IR_BIN_WRAP_SUB:
        return give(out, KIND_U32, a - b);
    case IR_BIN_MUL:
        return give(out, KIND_U32, (uint32_t)wide);
    case IR_BIN_MUL_HIGH:
        return give(out, KIND_U32, wide >> 32);
    case IR_BIN_DIV:
        return give(out, KIND_U32, b == 0 ? UINT32_MAX : a / b);
    case IR_BIN_MOD:
        return give(out, KIND_U32, b == 0 ? 0 : a % b);
    case IR_BIN_BIT_AND:
        return give(out, KIND_U32, a & b);
    case IR_BIN_BIT_OR:
        return give(out, KIND_U32, a | b);
    case IR_BIN_BIT_XOR:
        return give(out, KIND_U32, a ^ b);
    case IR_BIN_SHL:
        return give(out, KIND_U32, a << turn);
    case IR_BIN_SHR:
        return give(out, KIND_U32, a >> turn);
    case IR_BIN_ROT_L:
        return give(out, KIND_U32, turn == 0 ? a : a << turn | a >> (32 - turn));
    case IR_BIN_ROT_R:
        return give(out, KIND_U32, turn == 0 ? a : a >> turn | a << (32 - turn));
    case IR_BIN_MIN:
        return give(out, KIND_U32, a < b ? a : b);
    case IR_BIN_MAX:
        return give(out, KIND_U32, a > b ? a : b);
    case IR_BIN_ABS_DIFF:
        return give(out, KIND_U32, a > b ? a - b : b - a);
    case IR_BIN_SAT_ADD:
        return give(out, KIND_U32, a > UINT32_MAX - b ? UINT32_MAX : a + b);
    case IR_BIN_SAT_SUB:
        return give(out, KIND_U32, a > b ? a - b : 0);
    case IR_BIN_SAT_MUL:
        return give(out, KIND_U32, wide > UINT32_MAX ? UINT32_MAX : wide);
    default:
        return ORACLE_KIND;
    }
}

static uint64_t clamp_i32(int64_t value)
{
    if (value > INT32_MAX) return (uint32_t)INT32_MAX;
    if (value < INT32_MIN) return (uint32_t)INT32_MIN;
    return (uint32_t)value;
}

static enum oracle_error binary_i32(uint32_t op, uint32_t left, uint32_t right,
                                    struct oracle_value *out)
{
    int64_t a = (int32_t)left, b = (int32_t)right; /* wide enough for every result */
    switch (op) {
    case IR_BIN_ADD:
    case IR_BIN_WRAP_ADD:
        return give(out, KIND_I32, left + right);
    case IR_BIN_SUB:
    case IR_BIN_WRAP_SUB:
        return give(out, KIND_I32, left - right);
    case IR_BIN_MUL:
        return give(out, KIND_I32, left * right);
    case IR_BIN_DIV:
        if (b == 0 || (a == INT32_MIN && b == -1)) return ORACLE_DIVISION;
        return give(out, KIND_I32, (uint32_t)(a / b));
    case IR_BIN_MOD:
        if (b == 0 || (a == INT32_MIN && b == -1)) return ORACLE_DIVISION;
        return give(out, KIND_I32, (uint32_t)(a % b));
    case IR_BIN_BIT_AND:
        return give(out, KIND_I32, left & right);
    case IR_BIN_BIT_OR:
        return give(out, KIND_I32, left | right);
    case IR_BIN_BIT_XOR:
        return give(out, KIND_I32, left ^ right);
    case IR_BIN_SHL:
        return give(out, KIND_I32, left << (right & 31u));
    case IR_BIN_SHR:
        return give(out, KIND_I32, (uint32_t)(a >> (right & 31u)));
    case IR_BIN_MIN:
        return give(out, KIND_I32, a < b ? left : right);
    case IR_BIN_MAX:
        return give(out, KIND_I32, a > b ? left : right);
    case IR_BIN_ABS_DIFF:
        return give(out, KIND_U32, (uint32_t)(a > b ? a - b : b - a));
    case IR_BIN_SAT_ADD:
        return give(out, KIND_I32, clamp_i32(a + b));
    case IR_BIN_SAT_SUB:
        return give(out, KIND_I32, clamp_i32(a - b));
    case IR_BIN_SAT_MUL:
        return give(out, KIND_I32, clamp_i32(a * b));
    default:
        return ORACLE_KIND;
    }
}

/* High half of a 128-bit product, from four products of halves. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    uint64_t middle = (a0 * b0 >> 32) + (a1 * b0 & UINT32_MAX) + (a0 * b1 & UINT32_MAX);
    return a1 * b1 + (a1 * b0 >> 32) + (a0 * b1 >> 32) + (middle >> 32);
}

static enum oracle_error binary_u64(uint32_t op, uint64_t a, uint64_t b, struct oracle_value *out)
{
    switch (op) {
    case IR_BIN_ADD:
    case IR_BIN_WRAP_ADD:
        return give(out, KIND_U64, a + b);
    case IR_BIN_SUB:
    case IR_BIN_WRAP_SUB:
        return give(out, KIND_U64, a - b);
    case IR_BIN_MUL:
        return give(out, KIND_U64, a * b);
    case IR_BIN_MUL_HIGH:
        return give(out, KIND_U64, multiply_high(a, b));
    case IR_BIN_DIV:
        return give(out, KIND_U64, b == 0 ? UINT64_MAX : a / b);
    case IR_BIN_MOD:
        return give(out, KIND_U64, b == 0 ? 0 : a % b);
    case IR_BIN_BIT_AND:
        return give(out, KIND_U64, a & b);
    case IR_BIN_BIT_OR:
        return give(out, KIND_U64, a | b);
    case IR_BIN_BIT_XOR:
        return give(out, KIND_U64, a ^ b);
    case IR_BIN_SHL:
        return give(out, KIND_U64, a << (b & 63u));
    case IR_BIN_SHR:
        return give(out, KIND_U64, a >> (b & 63u));
    case IR_BIN_MIN:
        return give(out, KIND_U64, a < b ? a : b);
    case IR_BIN_MAX:
        return give(out, KIND_U64, a > b ? a : b);
    case IR_BIN_ABS_DIFF:
        return give(out, KIND_U64, a > b ? a - b : b - a);
    case IR_BIN_SAT_ADD:
        return give(out, KIND_U64, a > UINT64_MAX - b ? UINT64_MAX : a + b);
    case IR_BIN_SAT_SUB:
        return give(out, KIND_U64, a > b ? a - b : 0);
    case IR_BIN_SAT_MUL:
        return give(out, KIND_U64, multiply_high(a, b) != 0 ? UINT64_MAX : a * b);
    default:
        return ORACLE_KIND;
    }
}

/* The lesser (or the greater) of two floats: a number before NaN, -0 below +0. */
static uint32_t choose_float(uint32_t a, uint32_t b, int greater)
{
    float x = oracle_float(a), y = oracle_float(b);
    if (x != x) return b;
    if (y != y) return a;
    if (x == y) return (a >> 31) == (uint32_t)greater ? b : a;
    return (x < y) == !greater ? a : b;
}

static enum oracle_error binary_f32(uint32_t op, uint32_t left, uint32_t right,
                                    struct oracle_value *out)
{
    float a = oracle_float(left), b = oracle_float(right);
    switch (op) {
    case IR_BIN_ADD:
        return give(out, KIND_F32, oracle_bits(a + b));
    case IR_BIN_SUB:
        return give(out, KIND_F32, oracle_bits(a - b));
    case IR_BIN_MUL:
        return give(out, KIND_F32, oracle_bits(a * b));
    case IR_BIN_DIV:
        return give(out, KIND_F32, oracle_bits(a / b));
    case IR_BIN_MIN:
        return give(out, KIND_F32, choose_float(left, right, 0));
    case IR_BIN_MAX:
        return give(out, KIND_F32, choose_float(left, right, 1));
    default:
        return ORACLE_KIND;
    }
}

/* Comparisons from "less" and "equal"; of unordered floats neither holds, nor "greater". */
static enum oracle_error compare(uint32_t op, const struct oracle_value *a,
                                 const struct oracle_value *b, struct oracle_value *out)
{
    int less = a->bits<b->bits, equal = a->bits == b->bits, greater = a->bits> b->bits;
    if (a->kind == KIND_BOOL && op != IR_BIN_EQ && op != IR_BIN_NE) return ORACLE_KIND;
    if (a->kind == KIND_I32) {
        less = (int32_t)(uint32_t)a->bits < (int32_t)(uint32_t)b->bits;
        greater = !less && !equal;
    }
    if (a->kind == KIND_F32) {
        float x = oracle_float((uint32_t)a->bits), y = oracle_float((uint32_t)b->bits);
        less = x < y;
        equal = x == y;
        greater = x > y;
    }
    switch (op) {
    case IR_BIN_EQ:
        return truth(out, equal);
    case IR_BIN_NE:
        return truth(out, !equal);
    case IR_BIN_LT:
        return truth(out, less);
    case IR_BIN_GT:
        return truth(out, greater);
    case IR_BIN_LE:
        return truth(out, less || equal);
    default:
        return truth(out, greater || equal);
    }
}

enum oracle_error oracle_binary(uint32_t op, const struct oracle_value *a,
                                const struct oracle_value *b, struct oracle_value *out)
{
    if (a->kind != b->kind || a->kind == KIND_BYTES) return ORACLE_KIND;
    if (op >= IR_BIN_EQ && op <= IR_BIN_GE) return compare(op, a, b, out);
    if (op == IR_BIN_AND || op == IR_BIN_OR) {
        int x = a->bits != 0, y = b->bits != 0;
        if (a->kind == KIND_F32) return ORACLE_KIND;
        return truth(out, op == IR_BIN_AND ? x && y : x || y);
    }
    switch (a->kind) {
    case KIND_U32:
        return binary_u32(op, (uint32_t)a->bits, (uint32_t)b->bits, out);
    case KIND_I32:
        return binary_i32(op, (uint32_t)a->bits, (uint32_t)b->bits, out);
    case KIND_U64:
        return binary_u64(op, a->bits, b->bits, out);
    case KIND_F32:
        return binary_f32(op, (uint32_t)a->bits, (uint32_t)b->bits, out);
    case KIND_BOOL:
    case KIND_BYTES:
        break;
    }
    return ORACLE_KIND;
}
