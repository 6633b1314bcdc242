/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions. Operands are lowered from left to right, as they are evaluated; recursion is as deep
 * as the validator lets expressions be.
 */
#include <string.h>

#include "vm/lower.h"

#define NOTHING ((struct low_value){0, 0})

static struct low_value variable(struct lowering *low, const struct ir_expr *expr)
{
    uint32_t number = expr->name < low->tree->name_count ? low->scope[expr->name] : 0;
    if (number == 0) {
        vyre_low_refuse(low, expr->id, "no variable has the name `%s` here",
                        expr->name < low->tree->name_count ? low->tree->names[expr->name].text
                                                           : "");
        return NOTHING;
    }
    return low->variables[number - 1].value;
}

/*
 * An axis that has one lane is the same for all lanes: its local id is 0, its invocation id is the
 * workgroup's.
 */
static struct low_value lane_id(struct lowering *low, uint32_t op, uint32_t axis)
{
    if (axis > 2) {
        vyre_low_refuse(low, low->source, "axis %u", (unsigned)axis);
        return NOTHING;
    }
    if (low->tree->workgroup[axis] == 1 && op == VM_OP_LOCALID)
        return vyre_low_constant(low, LOW_U32, 0);
    if (low->tree->workgroup[axis] == 1) op = VM_OP_GROUPID;
    uint32_t *reg = &low->ids[op - VM_OP_LOCALID][axis];
    if (*reg == 0)
        *reg = vyre_low_prologue(low, &(struct low_insn){.op = (uint16_t)op, .imm = axis},
                                 op == VM_OP_GROUPID);
    return (struct low_value){*reg, LOW_U32};
}

static struct low_value pick(struct lowering *low, const struct ir_expr *expr)
{
    struct low_value condition = vyre_low_expr(low, expr->arg[0]);
    struct low_value yes = vyre_low_expr(low, expr->arg[1]);
    struct low_value no = vyre_low_expr(low, expr->arg[2]);
    uint32_t known, words = low_words(yes.kinds);
    char one[64], other[64];
    if (low->status != VYRE_OK) return NOTHING;
    low->source = expr->id;
    condition = vyre_low_truth(low, condition);
    if (vyre_low_is_constant(low, low_at(condition.reg, 0), &known)) return known ? yes : no;
    uint32_t kinds = yes.kinds | no.kinds;
    if (low_words(no.kinds) != words || (kinds & LOW_F32 && kinds != LOW_F32)) {
        vyre_low_refuse(low, expr->id, "select of %s and %s", vyre_low_kind_name(yes.kinds, one),
                        vyre_low_kind_name(no.kinds, other));
        return NOTHING;
    }
    if (words == 1 || yes.reg == no.reg) {
        const low_word args[3] = {low_at(condition.reg, 0), low_at(yes.reg, 0), low_at(no.reg, 0)};
        return yes.reg == no.reg ? (struct low_value){yes.reg, kinds}
                                 : vyre_low_op(low, VM_OP_SELECT, kinds, args);
    }
    int scalar =
        low->regs[condition.reg].scalar && low->regs[yes.reg].scalar && low->regs[no.reg].scalar;
    uint32_t reg = vyre_low_reg(low, words, scalar);
    for (uint32_t i = 0; i < words; i++)
        vyre_low_emit(low, &(struct low_insn){.op = VM_OP_SELECT,
                                              .d = low_at(reg, i),
                                              .a = low_at(condition.reg, 0),
                                              .b = low_at(yes.reg, i),
                                              .c = low_at(no.reg, i)});
    return (struct low_value){reg, kinds};
}

/* The operands are floats, or words that hold the bits of floats. */
static struct low_value fused(struct lowering *low, const struct ir_expr *expr)
{
    struct low_value value[3];
    low_word args[3];
    char name[64];
    for (uint32_t i = 0; i < 3; i++)
        value[i] = vyre_low_expr(low, expr->arg[i]);
    low->source = expr->id;
    for (uint32_t i = 0; i < 3; i++) {
        if (low->status != VYRE_OK) return NOTHING;
        if (value[i].kinds == LOW_U32)
            value[i] = vyre_low_op1(low, VM_OP_BITS2F, LOW_F32, low_at(value[i].reg, 0));
        if (value[i].kinds != LOW_F32)
            vyre_low_refuse(low, expr->id, "fma of %s", vyre_low_kind_name(value[i].kinds, name));
        args[i] = low_at(value[i].reg, 0);
    }
    return vyre_low_op(low, VM_OP_FMA, LOW_F32, args);
}

static struct low_value vector_op(struct lowering *low, uint32_t op, uint32_t kinds,
                                  const low_word args[2])
{
    low_word a = vyre_low_vector(low, args[0]);
    low_word b = args[1] ? vyre_low_vector(low, args[1]) : 0;
    uint32_t reg = vyre_low_reg(low, 1, 0);
    vyre_low_emit(low, &(struct low_insn){.op = (uint16_t)op, .d = low_at(reg, 0), .a = a, .b = b});
    return (struct low_value){reg, kinds};
}

static struct low_value subgroup(struct lowering *low, const struct ir_expr *expr)
{
    struct low_value value = vyre_low_expr(low, expr->arg[0]);
    low_word lane = 0;
    char name[64];
    if (expr->kind == IR_EXPR_SUBGROUP_SHUFFLE)
        lane = vyre_low_index(low, vyre_low_expr(low, expr->arg[1]));
    if (low->status != VYRE_OK) return NOTHING;
    low->source = expr->id;
    if (expr->kind == IR_EXPR_SUBGROUP_BALLOT) {
        low_word truth[2] = {vyre_low_condition(low, value), 0};
        return vector_op(low, VM_OP_SGBALLOT, LOW_U32, truth);
    }
    if (value.kinds != LOW_U32 && value.kinds != LOW_F32) {
        vyre_low_refuse(low, expr->id, "%s of %s", vyre_ir_expr_word(expr->kind),
                        vyre_low_kind_name(value.kinds, name));
        return NOTHING;
    }
    low_word args[2] = {low_at(value.reg, 0), lane};
    if (expr->kind == IR_EXPR_SUBGROUP_ADD)
        return vector_op(low, value.kinds == LOW_F32 ? VM_OP_SGFADD : VM_OP_SGADD, value.kinds,
                         args);
    if (value.kinds == LOW_U32) return vector_op(low, VM_OP_SGSHUF, LOW_U32, args);
    args[0] = low_at(vyre_low_op1(low, VM_OP_F2BITS, LOW_U32, args[0]).reg, 0);
    value = vector_op(low, VM_OP_SGSHUF, LOW_U32, args);
    return vyre_low_op1(low, VM_OP_BITS2F, LOW_F32, low_at(value.reg, 0));
}

/* vyre.print(format, a, b): a word for each, 0 for one that is missing. */
static struct low_value print(struct lowering *low, const struct ir_expr *expr)
{
    static const char id[] = "vyre.print";
    const struct ir_name *name = &low->tree->names[expr->name];
    char kind[64];
    if (name->length != sizeof id - 1 || memcmp(name->text, id, sizeof id - 1) != 0 ||
        expr->arg_count < 1 || expr->arg_count > 3 || expr->args[0]->kind != IR_EXPR_LIT_U32) {
        vyre_low_refuse(low, expr->id, "call of `%s` with %u arguments", name->text,
                        (unsigned)expr->arg_count);
        return NOTHING;
    }
    low_word args[3] = {0};
    for (uint32_t i = 1; i < 3; i++) {
        struct low_value value = i < expr->arg_count ? vyre_low_expr(low, expr->args[i])
                                                     : vyre_low_constant(low, LOW_U32, 0);
        if (low->status != VYRE_OK) return NOTHING;
        low->source = expr->id;
        if (value.kinds == LOW_F32)
            value = vyre_low_op1(low, VM_OP_F2BITS, LOW_U32, low_at(value.reg, 0));
        if (value.kinds & ~(uint32_t)LOW_WORD)
            vyre_low_refuse(low, expr->id, "vyre.print of %s",
                            vyre_low_kind_name(value.kinds, kind));
        args[i] = low_at(value.reg, 0);
    }
    vyre_low_emit(low,
                  &(struct low_insn){
                      .op = VM_OP_PRINT, .a = args[1], .b = args[2], .imm = expr->args[0]->value});
    return vyre_low_constant(low, LOW_U32, 0);
}

static struct low_value literal_float(struct lowering *low, uint32_t bits)
{
    uint32_t arg[3][2] = {{bits, 0}}, result[2] = {0};
    vyre_low_fold(VM_OP_BITS2F, arg, result);
    return vyre_low_constant(low, LOW_F32, result[0]);
}

static struct low_value compound(struct lowering *low, const struct ir_expr *expr)
{
    struct low_value left = vyre_low_expr(low, expr->arg[0]), right = {0, 0};
    if (expr->kind == IR_EXPR_BIN_OP) right = vyre_low_expr(low, expr->arg[1]);
    low->source = expr->id;
    switch (expr->kind) {
    case IR_EXPR_LOAD:
        return vyre_low_load(low, expr, left);
    case IR_EXPR_BIN_OP:
        return vyre_low_binary(low, expr, left, right);
    case IR_EXPR_UN_OP:
        return vyre_low_unary(low, expr, left);
    default:
        return vyre_low_cast(low, expr->type, left);
    }
}

struct low_value vyre_low_expr(struct lowering *low, const struct ir_expr *expr)
{
    if (low->status != VYRE_OK) return NOTHING;
    low->source = expr->id;
    switch (expr->kind) {
    case IR_EXPR_LIT_U32:
        return vyre_low_constant(low, LOW_U32, expr->value);
    case IR_EXPR_LIT_I32:
        return vyre_low_constant(low, LOW_I32, expr->value);
    case IR_EXPR_LIT_BOOL:
        return vyre_low_constant(low, LOW_BOOL, expr->value != 0);
    case IR_EXPR_LIT_F32:
        return literal_float(low, expr->value);
    case IR_EXPR_VAR:
        return variable(low, expr);
    case IR_EXPR_BUF_LEN:
        return vyre_low_length(low, expr);
    case IR_EXPR_INVOCATION_ID:
        return lane_id(low, VM_OP_GLOBALID, expr->axis);
    case IR_EXPR_WORKGROUP_ID:
        return lane_id(low, VM_OP_GROUPID, expr->axis);
    case IR_EXPR_LOCAL_ID:
        return lane_id(low, VM_OP_LOCALID, expr->axis);
    case IR_EXPR_LOAD:
    case IR_EXPR_BIN_OP:
    case IR_EXPR_UN_OP:
    case IR_EXPR_CAST:
        return compound(low, expr);
    case IR_EXPR_SELECT:
        return pick(low, expr);
    case IR_EXPR_FMA:
        return fused(low, expr);
    case IR_EXPR_ATOMIC:
        return vyre_low_atomic(low, expr);
    case IR_EXPR_CALL:
        return print(low, expr);
    case IR_EXPR_SUBGROUP_ADD:
    case IR_EXPR_SUBGROUP_SHUFFLE:
    case IR_EXPR_SUBGROUP_BALLOT:
        return subgroup(low, expr);
    default:
        break;
    }
    const char *word = vyre_ir_expr_word(expr->kind);
    vyre_low_refuse(low, expr->id, "%s ends every program that reaches it", word ? word : "?");
    return NOTHING;
}
