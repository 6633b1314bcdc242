/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What operators take and what type their results have. A wrong operand does not make the result
 * unknown: the result's type is the one that the reference gives it, so that one mistake is
 * reported once. An operand of unknown type (NULL) has been reported already.
 */
#include "ir/validate.h"

static const char *bin_word(const struct ir_expr *expr)
{
    const char *word = vyre_ir_bin_word(expr->op);
    return word ? word : "extension";
}

static void wrong_pair(struct vld *v, enum ir_rule rule, const struct ir_expr *expr,
                       const struct ir_type *const operands[2])
{
    vyre_vld_at(v, rule, expr->id, "%s of %s and %s", bin_word(expr), vyre_vld_word(operands[0]),
                vyre_vld_word(operands[1]));
}

static bool wide(const struct ir_type *type)
{
    return vyre_vld_is(type, IR_TYPE_U64) || vyre_vld_is(type, IR_TYPE_I64);
}

static bool word_number(const struct ir_type *type)
{
    return vyre_vld_is(type, IR_TYPE_U32) || vyre_vld_is(type, IR_TYPE_I32) ||
           vyre_vld_is(type, IR_TYPE_F32);
}

static bool truth(const struct ir_type *type)
{
    return vyre_vld_is(type, IR_TYPE_U32) || vyre_vld_is(type, IR_TYPE_BOOL);
}

/* A literal zero, behind any number of casts. The chain is no deeper than an expression may be. */
static bool literal_zero(const struct ir_expr *expr)
{
    while (expr->kind == IR_EXPR_CAST)
        expr = expr->arg[0];
    if (expr->kind == IR_EXPR_LIT_F32) return (expr->value & 0x7FFFFFFFu) == 0;
    return (expr->kind == IR_EXPR_LIT_U32 || expr->kind == IR_EXPR_LIT_I32) && expr->value == 0;
}

/* V044: the divisor of div and mod is not a literal zero, cast or not. */
static void check_divisor(struct vld *v, const struct ir_expr *expr)
{
    if (literal_zero(expr->arg[1]))
        vyre_vld_at(v, IR_RULE_ZERO_DIVISOR, expr->id, "%s by a literal 0", bin_word(expr));
}

/* V050 to V054, of which an operator breaks at most one. Types that none of them names (8 and 16
 * bit integers, vectors, other floats) pass: what becomes of them is found out when it runs. */
static void check_arithmetic(struct vld *v, const struct ir_expr *expr,
                             const struct ir_type *const operands[2])
{
    const struct ir_type *left = operands[0], *right = operands[1];
    bool saturating = expr->op >= IR_BIN_SAT_ADD && expr->op <= IR_BIN_SAT_MUL;
    if (vyre_vld_is(left, IR_TYPE_BOOL) || vyre_vld_is(right, IR_TYPE_BOOL))
        wrong_pair(v, IR_RULE_BOOL_ARITHMETIC, expr, operands);
    else if (!left || !right)
        return;
    else if (wide(left) || wide(right))
        wrong_pair(v, IR_RULE_WIDE_ARITHMETIC, expr, operands);
    else if (saturating && !(vyre_vld_is(left, IR_TYPE_U32) && vyre_vld_is(right, IR_TYPE_U32)))
        wrong_pair(v, IR_RULE_SATURATING, expr, operands);
    else if (expr->op == IR_BIN_ABS_DIFF &&
             (vyre_vld_is(left, IR_TYPE_I32) || vyre_vld_is(right, IR_TYPE_I32)))
        wrong_pair(v, IR_RULE_ABS_DIFF, expr, operands);
    else if (word_number(left) && word_number(right) && left->tag != right->tag)
        wrong_pair(v, IR_RULE_MIXED_ARITHMETIC, expr, operands);
}

/* V055: the operands of mod, bit_and, bit_or and bit_xor are both u32 or both i32. */
static void check_integers(struct vld *v, const struct ir_expr *expr,
                           const struct ir_type *const operands[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        const struct ir_type *type = operands[i], *other = operands[1 - i];
        if (!type) continue;
        if ((vyre_vld_is(type, IR_TYPE_U32) || vyre_vld_is(type, IR_TYPE_I32)) &&
            (!other || other->tag == type->tag))
            continue;
        wrong_pair(v, IR_RULE_INTEGER_PAIR, expr, operands);
        return;
    }
}

static const struct ir_type *arithmetic(struct vld *v, const struct ir_expr *expr,
                                        const struct ir_type *const operands[2])
{
    if (expr->op == IR_BIN_DIV) check_divisor(v, expr);
    check_arithmetic(v, expr, operands);
    if (expr->op == IR_BIN_ABS_DIFF) return &vyre_vld_u32;
    return operands[0] && vyre_vld_same(operands[0], operands[1]) ? operands[0] : &vyre_vld_u32;
}

const struct ir_type *vyre_vld_binary(struct vld *v, const struct ir_expr *expr,
                                      const struct ir_type *left, const struct ir_type *right)
{
    const struct ir_type *const operands[2] = {left, right};
    switch (expr->op) {
    case IR_BIN_ADD:
    case IR_BIN_SUB:
    case IR_BIN_MUL:
    case IR_BIN_DIV:
    case IR_BIN_MIN:
    case IR_BIN_MAX:
    case IR_BIN_ABS_DIFF:
    case IR_BIN_SAT_ADD:
    case IR_BIN_SAT_SUB:
    case IR_BIN_SAT_MUL:
        return arithmetic(v, expr, operands);
    case IR_BIN_MOD:
        check_divisor(v, expr);
        check_integers(v, expr, operands);
        return &vyre_vld_u32;
    case IR_BIN_BIT_AND:
    case IR_BIN_BIT_OR:
    case IR_BIN_BIT_XOR:
        check_integers(v, expr, operands);
        return &vyre_vld_u32;
    case IR_BIN_SHL:
    case IR_BIN_SHR:
    case IR_BIN_ROT_L:
    case IR_BIN_ROT_R:
        if ((left && !vyre_vld_is(left, IR_TYPE_U32)) ||
            (right && !vyre_vld_is(right, IR_TYPE_U32)))
            wrong_pair(v, IR_RULE_SHIFT, expr, operands);
        return &vyre_vld_u32;
    case IR_BIN_AND:
    case IR_BIN_OR:
        if ((left && !truth(left)) || (right && !truth(right)))
            wrong_pair(v, IR_RULE_LOGICAL, expr, operands);
        return &vyre_vld_bool;
    case IR_BIN_EQ:
    case IR_BIN_NE:
    case IR_BIN_LT:
    case IR_BIN_GT:
    case IR_BIN_LE:
    case IR_BIN_GE:
        if (left && right && !vyre_vld_same(left, right))
            wrong_pair(v, IR_RULE_COMPARE, expr, operands);
        return &vyre_vld_bool;
    case IR_BIN_SHUFFLE:
    case IR_BIN_BALLOT:
    case IR_BIN_WAVE_REDUCE:
    case IR_BIN_WAVE_BROADCAST:
        vyre_vld_at(v, IR_RULE_WAVE_OPERATOR, expr->id, "the operator is %s", bin_word(expr));
        return &vyre_vld_u32;
    default: /* wrap_add, wrap_sub, mul_high and extensions take anything */
        return &vyre_vld_u32;
    }
}

static void wrong_operand(struct vld *v, enum ir_rule rule, const struct ir_expr *expr,
                          const struct ir_type *operand)
{
    vyre_vld_at(v, rule, expr->id, "%s of %s", vyre_ir_un_word(expr->op), vyre_vld_word(operand));
}

const struct ir_type *vyre_vld_unary(struct vld *v, const struct ir_expr *expr,
                                     const struct ir_type *operand)
{
    switch (expr->op) {
    case IR_UN_NEGATE:
        if (operand && !vyre_vld_is(operand, IR_TYPE_U32) && !vyre_vld_is(operand, IR_TYPE_F32))
            wrong_operand(v, IR_RULE_NEGATE, expr, operand);
        return operand;
    case IR_UN_LOGICAL_NOT:
        if (operand && !truth(operand)) wrong_operand(v, IR_RULE_LOGICAL_NOT, expr, operand);
        return &vyre_vld_bool;
    case IR_UN_BIT_NOT:
    case IR_UN_POPCOUNT:
    case IR_UN_CLZ:
    case IR_UN_CTZ:
    case IR_UN_REVERSE_BITS:
        if (operand && !vyre_vld_is(operand, IR_TYPE_U32) && !vyre_vld_is(operand, IR_TYPE_I32) &&
            !vyre_vld_is(operand, IR_TYPE_U64))
            wrong_operand(v, IR_RULE_BIT_UNARY, expr, operand);
        return operand;
    case IR_UN_UNPACK4_LOW:
    case IR_UN_UNPACK4_HIGH:
    case IR_UN_UNPACK8_LOW:
    case IR_UN_UNPACK8_HIGH:
    case IR_OP_EXTENSION: {
        const char *word = vyre_ir_un_word(expr->op);
        vyre_vld_at(v, IR_RULE_UNARY_OPERATOR, expr->id, "the operator is %s",
                    word ? word : "an extension");
        return NULL;
    }
    default: /* all others are functions of f32 */
        if (operand && !vyre_vld_is(operand, IR_TYPE_F32))
            wrong_operand(v, IR_RULE_FLOAT_UNARY, expr, operand);
        return expr->op >= IR_UN_IS_NAN && expr->op <= IR_UN_IS_FINITE ? &vyre_vld_bool
                                                                       : &vyre_vld_f32;
    }
}
