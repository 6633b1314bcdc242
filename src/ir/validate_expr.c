/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions: every rule that an expression can break by itself, the type of its value, and
 * whether all lanes of a workgroup find the same value.
 */
#include <string.h>

#include "ir/validate.h"

/* V001: a variable is read only where a let or a loop around it has declared it. */
static struct vld_value variable(struct vld *v, const struct ir_expr *expr)
{
    const struct vld_variable *found = &v->variables[expr->name];
    if (found->list != 0) return (struct vld_value){found->type, found->uniform};
    vyre_vld_at(v, IR_RULE_UNDECLARED, expr->id, "`%s` is not declared here",
                vyre_vld_text(v, expr->name));
    return (struct vld_value){NULL, false};
}

static struct vld_value load(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    const struct ir_buffer *buffer = vyre_vld_buffer(v, expr->name, expr->id, "load");
    if (buffer) vyre_vld_elements(v, buffer, expr->id, "load takes");
    /* An index of any type passes: what does not fit is found out when it runs. */
    vyre_vld_expr(v, expr->arg[0], depth + 1);
    return (struct vld_value){buffer ? &buffer->type : NULL, false};
}

/* V065: the axis of an id is 0, 1 or 2. */
static struct vld_value id_of_lane(struct vld *v, const struct ir_expr *expr)
{
    if (expr->axis > 2)
        vyre_vld_at(v, IR_RULE_AXIS, expr->id, "%s has axis %u", vyre_ir_expr_word(expr->kind),
                    (unsigned)expr->axis);
    return (struct vld_value){&vyre_vld_u32, expr->kind == IR_EXPR_WORKGROUP_ID};
}

static struct vld_value cast(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    struct vld_value value = vyre_vld_expr(v, expr->arg[0], depth + 1);
    const struct ir_type *from = value.type, *to = expr->type;
    value.type = to;
    if (!from) return value;
    if (to->tag == IR_TYPE_BYTES && from->tag != IR_TYPE_BYTES)
        vyre_vld_at(v, IR_RULE_CAST_BYTES, expr->id, "cast of %s to bytes", vyre_vld_word(from));
    else if (!vyre_vld_castable(from, to))
        vyre_vld_at(v, IR_RULE_CAST, expr->id, "cast of %s to %s", vyre_vld_word(from),
                    vyre_vld_word(to));
    return value;
}

/* V028: the three operands of fma are f32. */
static struct vld_value fma_of(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    struct vld_value result = {&vyre_vld_f32, true};
    for (uint32_t i = 0; i < 3; i++) {
        struct vld_value operand = vyre_vld_expr(v, expr->arg[i], depth + 1);
        result.uniform = result.uniform && operand.uniform;
        if (operand.type && operand.type->tag != IR_TYPE_F32)
            vyre_vld_at(v, IR_RULE_FMA, expr->arg[i]->id, "operand %c of fma is %s",
                        (char)('a' + i), vyre_vld_word(operand.type));
    }
    return result;
}

/* V029: both values of a select have the same type. The condition may have any. */
static struct vld_value select_of(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    struct vld_value condition = vyre_vld_expr(v, expr->arg[0], depth + 1);
    struct vld_value yes = vyre_vld_expr(v, expr->arg[1], depth + 1);
    struct vld_value no = vyre_vld_expr(v, expr->arg[2], depth + 1);
    bool same = vyre_vld_same(yes.type, no.type);
    if (!same && yes.type && no.type)
        vyre_vld_at(v, IR_RULE_SELECT, expr->id, "select chooses between %s and %s",
                    vyre_vld_word(yes.type), vyre_vld_word(no.type));
    return (struct vld_value){same ? yes.type : NULL,
                              condition.uniform && yes.uniform && no.uniform};
}

static void check_print(struct vld *v, const struct ir_expr *expr,
                        const struct ir_type *const types[3])
{
    if (expr->arg_count < 1 || expr->arg_count > 3)
        vyre_vld_at(v, IR_RULE_PRINT, expr->id, "vyre.print has %u arguments",
                    (unsigned)expr->arg_count);
    else if (expr->args[0]->kind != IR_EXPR_LIT_U32)
        vyre_vld_at(v, IR_RULE_PRINT, expr->args[0]->id,
                    "the format of vyre.print is no literal but %s",
                    vyre_ir_expr_word(expr->args[0]->kind));
    else
        for (uint32_t i = 1; i < expr->arg_count; i++)
            if (types[i] && !vyre_vld_is(types[i], IR_TYPE_U32) &&
                !vyre_vld_is(types[i], IR_TYPE_I32) && !vyre_vld_is(types[i], IR_TYPE_F32) &&
                !vyre_vld_is(types[i], IR_TYPE_BOOL))
                vyre_vld_at(v, IR_RULE_PRINT, expr->args[i]->id, "argument %u of vyre.print is %s",
                            (unsigned)i, vyre_vld_word(types[i]));
}

static struct vld_value call(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    static const char print[] = "vyre.print";
    const struct ir_name *name = &v->program->names[expr->name];
    const struct ir_type *types[3] = {0};
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        struct vld_value value = vyre_vld_expr(v, expr->args[i], depth + 1);
        if (i < 3) types[i] = value.type;
    }
    if (name->length == sizeof print - 1 && memcmp(name->text, print, sizeof print - 1) == 0) {
        check_print(v, expr, types);
        return (struct vld_value){&vyre_vld_u32, false};
    }
    /* V016: a call names an operation that exists; there is one, vyre.print. */
    vyre_vld_at(v, IR_RULE_CALL, expr->id, "call of `%s` with %u arguments",
                vyre_vld_text(v, expr->name), (unsigned)expr->arg_count);
    return (struct vld_value){NULL, false};
}

/* What an atomic asks of its buffer, V009, V014 and V025. */
static void check_atomic_buffer(struct vld *v, const struct ir_expr *expr,
                                const struct ir_buffer *buffer)
{
    struct vld_place place = {expr->id, (uint32_t)(buffer - v->program->buffers)};
    if (buffer->access == IR_ACCESS_WORKGROUP)
        vyre_vld_report(v, IR_RULE_ATOMIC_WORKGROUP, place, "atomic on workgroup buffer `%s`",
                        vyre_vld_text(v, buffer->name));
    else if (buffer->access != IR_ACCESS_READ_WRITE)
        vyre_vld_report(v, IR_RULE_ATOMIC_ACCESS, place, "atomic on `%s`, which is %s",
                        vyre_vld_text(v, buffer->name), vyre_ir_access_word(buffer->access));
    if (buffer->type.tag != IR_TYPE_U32)
        vyre_vld_report(v, IR_RULE_ATOMIC_ELEMENT, place, "atomic on `%s`, whose elements are %s",
                        vyre_vld_text(v, buffer->name), vyre_vld_word(&buffer->type));
}

/* V027, V047 and V049: the operands of an atomic are u32. */
static void check_atomic_operands(struct vld *v, const struct ir_expr *expr,
                                  const struct ir_type *const types[3])
{
    static const struct {
        enum ir_rule rule;
        const char *word;
    } operands[3] = {{IR_RULE_ATOMIC_INDEX, "index"},
                     {IR_RULE_EXPECTED_TYPE, "expected value"},
                     {IR_RULE_ATOMIC_VALUE, "value"}};
    for (uint32_t i = 0; i < 3; i++)
        if (types[i] && types[i]->tag != IR_TYPE_U32)
            vyre_vld_at(v, operands[i].rule, expr->arg[i]->id, "the %s of the atomic on `%s` is %s",
                        operands[i].word, vyre_vld_text(v, expr->name), vyre_vld_word(types[i]));
}

static struct vld_value atomic(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    const struct ir_buffer *buffer = vyre_vld_buffer(v, expr->name, expr->id, "atomic");
    const struct ir_type *types[3] = {0};
    const char *word = vyre_ir_atomic_word(expr->op);
    v->atomics = true;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i]) types[i] = vyre_vld_expr(v, expr->arg[i], depth + 1).type;
    if (expr->ordering == IR_ORDERING_GRID_SYNC)
        vyre_vld_at(v, IR_RULE_ATOMIC_ORDERING, expr->id, "atomic %s has ordering grid_sync",
                    word ? word : "extension");
    if (buffer) check_atomic_buffer(v, expr, buffer);
    bool exchange = expr->op == IR_ATOMIC_COMPARE_EXCHANGE;
    if (exchange != (expr->arg[1] != NULL)) {
        types[1] = NULL;
        vyre_vld_at(v, IR_RULE_ATOMIC_EXPECTED, expr->id, "atomic %s has %s expected value",
                    word ? word : "extension", exchange ? "no" : "an");
    }
    check_atomic_operands(v, expr, types);
    return (struct vld_value){&vyre_vld_u32, false};
}

/* V041: subgroup operations are used only where the backend has them. */
static struct vld_value subgroup(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    struct vld_value value = {&vyre_vld_u32, false};
    if (expr->arg[0]) value = vyre_vld_expr(v, expr->arg[0], depth + 1);
    if (expr->arg[1]) vyre_vld_expr(v, expr->arg[1], depth + 1);
    if (!v->options.subgroups)
        vyre_vld_at(v, IR_RULE_SUBGROUPS, expr->id, "%s on a backend without subgroups",
                    vyre_ir_expr_word(expr->kind));
    if (expr->kind == IR_EXPR_SUBGROUP_BALLOT) value.type = &vyre_vld_u32;
    value.uniform = false;
    return value;
}

/* Those that have operands. */
static struct vld_value compound(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    struct vld_value left, right;
    switch (expr->kind) {
    case IR_EXPR_LOAD:
        return load(v, expr, depth);
    case IR_EXPR_BIN_OP:
        left = vyre_vld_expr(v, expr->arg[0], depth + 1);
        right = vyre_vld_expr(v, expr->arg[1], depth + 1);
        return (struct vld_value){vyre_vld_binary(v, expr, left.type, right.type),
                                  left.uniform && right.uniform};
    case IR_EXPR_UN_OP:
        left = vyre_vld_expr(v, expr->arg[0], depth + 1);
        return (struct vld_value){vyre_vld_unary(v, expr, left.type), left.uniform};
    case IR_EXPR_CALL:
        return call(v, expr, depth);
    case IR_EXPR_SELECT:
        return select_of(v, expr, depth);
    case IR_EXPR_CAST:
        return cast(v, expr, depth);
    case IR_EXPR_ATOMIC:
        return atomic(v, expr, depth);
    case IR_EXPR_FMA:
        return fma_of(v, expr, depth);
    default:
        return subgroup(v, expr, depth);
    }
}

/* V033: an expression is nested at most 128 deep. */
static bool too_deep(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    if (depth <= VLD_MAX_EXPR) return false;
    v->limits = true;
    vyre_vld_at(v, IR_RULE_EXPR_DEPTH, expr->id,
                "this expression is %u deep in another, at most %u", (unsigned)depth,
                (unsigned)VLD_MAX_EXPR);
    return true;
}

struct vld_value vyre_vld_expr(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    if (v->stop || too_deep(v, expr, depth)) return (struct vld_value){NULL, false};
    switch (expr->kind) {
    case IR_EXPR_LIT_U32:
        return (struct vld_value){&vyre_vld_u32, true};
    case IR_EXPR_LIT_I32:
        return (struct vld_value){&vyre_vld_i32, true};
    case IR_EXPR_LIT_BOOL:
        return (struct vld_value){&vyre_vld_bool, true};
    case IR_EXPR_LIT_F32:
        return (struct vld_value){&vyre_vld_f32, true};
    case IR_EXPR_VAR:
        return variable(v, expr);
    case IR_EXPR_BUF_LEN:
        vyre_vld_buffer(v, expr->name, expr->id, "buf_len");
        return (struct vld_value){&vyre_vld_u32, true};
    case IR_EXPR_INVOCATION_ID:
    case IR_EXPR_WORKGROUP_ID:
    case IR_EXPR_LOCAL_ID:
        return id_of_lane(v, expr);
    default:
        return compound(v, expr, depth);
    }
}

void vyre_vld_depth_only(struct vld *v, const struct ir_expr *expr, uint32_t depth)
{
    if (v->stop || too_deep(v, expr, depth)) return;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i]) vyre_vld_depth_only(v, expr->arg[i], depth + 1);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        vyre_vld_depth_only(v, expr->args[i], depth + 1);
}
