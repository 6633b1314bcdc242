/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What can be computed before the program runs, with VIR0's meaning: words wrap, shifts take the
 * low five bits of their amount, floats are flushed and have one NaN. What would fault is not
 * known. The caller has set the default floating-point mode.
 */
#include <math.h>
#include <string.h>

#include "lang/ast.h"

float vyre_lang_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One NaN, no subnormals. */
uint32_t vyre_lang_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7F800000u) == 0) return bits & 0x80000000u;
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0x7FC00000u;
    return bits;
}

/* 1 where known. */
static bool fold_u32(uint32_t op, uint32_t a, uint32_t b, uint32_t *value)
{
    switch (op) {
    case LANG_PLUS:
        *value = a + b;
        return true;
    case LANG_MINUS:
        *value = a - b;
        return true;
    case LANG_STAR:
        *value = a * b;
        return true;
    case LANG_AND:
        *value = a & b;
        return true;
    case LANG_OR:
        *value = a | b;
        return true;
    case LANG_XOR:
        *value = a ^ b;
        return true;
    case LANG_SHL:
        *value = a << (b & 31u);
        return true;
    case LANG_SHR:
        *value = a >> (b & 31u);
        return true;
    case LANG_SLASH:
        *value = b ? a / b : 0;
        return b != 0;
    case LANG_PERCENT:
        *value = b ? a % b : 0;
        return b != 0;
    case LANG_AND_AND:
        *value = a && b;
        return true;
    case LANG_OR_OR:
        *value = a || b;
        return true;
    default:
        return false;
    }
}

static bool fold_i32(uint32_t op, uint32_t a, uint32_t b, uint32_t *value)
{
    int32_t left = (int32_t)a, right = (int32_t)b;
    switch (op) {
    case LANG_SHR:
        *value = left < 0 ? ~(~a >> (b & 31u)) : a >> (b & 31u);
        return true;
    case LANG_SLASH:
    case LANG_PERCENT:
        if (right == 0 || (a == 0x80000000u && right == -1)) return false;
        *value = (uint32_t)(op == LANG_SLASH ? left / right : left % right);
        return true;
    default:
        return fold_u32(op, a, b, value);
    }
}

static bool fold_f32(uint32_t op, uint32_t a, uint32_t b, uint32_t *value)
{
    float left = vyre_lang_float(a), right = vyre_lang_float(b);
    switch (op) {
    case LANG_PLUS:
        *value = vyre_lang_bits(left + right);
        return true;
    case LANG_MINUS:
        *value = vyre_lang_bits(left - right);
        return true;
    case LANG_STAR:
        *value = vyre_lang_bits(left * right);
        return true;
    case LANG_SLASH:
        *value = vyre_lang_bits(left / right);
        return true;
    default:
        return false;
    }
}

/* Every u32, i32 and f32 is a double. */
static double number_of(uint8_t type, uint32_t bits)
{
    if (type == LANG_TYPE_F32) return (double)vyre_lang_float(bits);
    return type == LANG_TYPE_I32 ? (double)(int32_t)bits : (double)bits;
}

static bool fold_compare(uint32_t op, double a, double b, uint32_t *value)
{
    switch (op) {
    case LANG_EQ:
        *value = a == b;
        return true;
    case LANG_NE:
        *value = a != b;
        return true;
    case LANG_LT:
        *value = a < b;
        return true;
    case LANG_GT:
        *value = a > b;
        return true;
    case LANG_LE:
        *value = a <= b;
        return true;
    case LANG_GE:
        *value = a >= b;
        return true;
    default:
        return false;
    }
}

static bool fold_binary(const struct lang_expr *expr, uint32_t *value)
{
    const struct lang_expr *left = expr->arg[0], *right = expr->arg[1];
    uint32_t a = left->value, b = right->value;
    if (fold_compare(expr->op, number_of(left->type, a), number_of(right->type, b), value))
        return true;
    if (left->type == LANG_TYPE_F32 && right->type == LANG_TYPE_F32)
        return fold_f32(expr->op, a, b, value);
    return left->type == LANG_TYPE_I32 ? fold_i32(expr->op, a, b, value)
                                       : fold_u32(expr->op, a, b, value);
}

static bool fold_unary(const struct lang_expr *expr, uint32_t *value)
{
    uint32_t a = expr->arg[0]->value;
    switch (expr->op) {
    case LANG_PLUS:
        *value = a;
        return true;
    case LANG_MINUS:
        *value = expr->type == LANG_TYPE_F32 ? vyre_lang_bits(-vyre_lang_float(a)) : 0u - a;
        return true;
    case LANG_TILDE:
        *value = ~a;
        return true;
    default:
        *value = a == 0;
        return true;
    }
}

static uint32_t saturate(float value, float least, float most, uint32_t low, uint32_t high)
{
    if (isnan(value)) return 0;
    if (value <= least) return low;
    if (value >= most) return high;
    return least < 0 ? (uint32_t)(int32_t)value : (uint32_t)value;
}

static bool fold_cast(const struct lang_expr *expr, uint32_t *value)
{
    uint32_t a = expr->arg[0]->value, from = expr->arg[0]->type;
    float number = vyre_lang_float(a);
    if (from == expr->type) {
        *value = a;
    } else if (expr->type == LANG_TYPE_BOOL) {
        *value = from == LANG_TYPE_F32 ? number != 0 : a != 0;
    } else if (expr->type == LANG_TYPE_F32) {
        *value = vyre_lang_bits(from == LANG_TYPE_I32 ? (float)(int32_t)a : (float)a);
    } else if (from != LANG_TYPE_F32) {
        *value = a;
    } else if (expr->type == LANG_TYPE_U32) {
        *value = saturate(number, 0.0f, 4294967296.0f, 0, 0xFFFFFFFFu);
    } else {
        *value = saturate(number, -2147483648.0f, 2147483648.0f, 0x80000000u, 0x7FFFFFFFu);
    }
    return true;
}

void vyre_lang_fold(struct lang_unit *unit, struct lang_expr *expr)
{
    uint32_t value = 0;
    (void)unit;
    if (expr->type == LANG_TYPE_WRONG) return;
    switch (expr->kind) {
    case LANG_E_UNARY:
        expr->known = expr->arg[0]->known && fold_unary(expr, &value);
        break;
    case LANG_E_CAST:
        expr->known = expr->arg[0]->known && fold_cast(expr, &value);
        break;
    case LANG_E_BINARY:
        expr->known = expr->arg[0]->known && expr->arg[1]->known && fold_binary(expr, &value);
        break;
    case LANG_E_CHOOSE:
        if (!expr->arg[0]->known) return;
        {
            const struct lang_expr *chosen = expr->arg[expr->arg[0]->value ? 1 : 2];
            expr->known = chosen->known;
            value = chosen->value;
        }
        break;
    default:
        return;
    }
    if (expr->known) expr->value = value;
}
