/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions of the oracle. Operands are evaluated from left to right, all of them, always.
 *
 * The first error ends the run: every function returns at once where one is recorded, and what it
 * returns then means nothing.
 */
#include "oracle/oracle_inside.h"

#include <math.h>
#include <string.h>

enum oracle_error oracle_fail(struct oracle *o, enum oracle_error error, uint32_t id)
{
    if (o->run->error == ORACLE_OK) {
        o->run->error = error;
        o->run->error_id = id;
    }
    return o->run->error;
}

static struct oracle_value nothing(void)
{
    return oracle_scalar(KIND_U32, 0);
}

uint32_t oracle_buffer(struct oracle *o, uint32_t name, uint32_t id)
{
    uint32_t buffer = IR_NONE;
    if (name < o->program->name_count) buffer = o->program->names[name].buffer;
    if (buffer == IR_NONE) (void)oracle_fail(o, ORACLE_BUFFER, id);
    return buffer;
}

uint32_t oracle_length(const struct oracle *o, uint32_t buffer)
{
    struct oracle_width width = oracle_width_of(&o->program->buffers[buffer].type);
    uint64_t bytes = o->bytes[buffer];
    if (width.bits != 0) return (uint32_t)(bytes * 8 / width.bits);
    if (width.size != 0) return (uint32_t)(bytes / width.size);
    return (uint32_t)bytes;
}

unsigned char *oracle_cell(struct oracle *o, uint32_t buffer, uint64_t at, uint64_t width)
{
    if (width != 0 && at + width <= o->bytes[buffer]) return o->memory[buffer] + at;
    o->run->out_of_bounds++;
    return NULL;
}

uint32_t oracle_eval_index(struct oracle *o, struct oracle_lane *lane, const struct ir_expr *expr)
{
    uint32_t index = 0;
    struct oracle_value value = oracle_eval(o, lane, expr);
    if (o->run->error) return 0;
    enum oracle_error error = oracle_index(&value, &index);
    if (error) (void)oracle_fail(o, error, expr->id);
    return index;
}

static struct oracle_value eval_var(struct oracle *o, struct oracle_lane *lane,
                                    const struct ir_expr *expr)
{
    if (expr->name < o->program->name_count && lane->vars[expr->name].live)
        return lane->vars[expr->name].value;
    (void)oracle_fail(o, ORACLE_NAME, expr->id);
    return nothing();
}

static struct oracle_value eval_load(struct oracle *o, struct oracle_lane *lane,
                                     const struct ir_expr *expr)
{
    static const unsigned char zeros[MOST_BYTES];
    uint64_t index = oracle_eval_index(o, lane, expr->arg[0]);
    uint32_t buffer = oracle_buffer(o, expr->name, expr->id);
    if (o->run->error) return nothing();
    const struct ir_type *type = &o->program->buffers[buffer].type;
    uint64_t stride = oracle_width_of(type).stride;
    if (type->tag == IR_TYPE_BYTES || stride > MOST_BYTES) {
        /* No valid program has it: version 4 cannot say that bytes may be taken out. */
        (void)oracle_fail(o, ORACLE_BUFFER, expr->id);
        return nothing();
    }
    const unsigned char *cell = oracle_cell(o, buffer, index * stride, stride);
    return oracle_read(type, cell ? cell : zeros);
}

static struct oracle_value eval_id(struct oracle *o, struct oracle_lane *lane,
                                   const struct ir_expr *expr)
{
    uint64_t id;
    if (expr->axis > 2) {
        (void)oracle_fail(o, ORACLE_ID, expr->id);
        return nothing();
    }
    if (expr->kind == IR_EXPR_LOCAL_ID) return oracle_scalar(KIND_U32, lane->local[expr->axis]);
    if (expr->kind == IR_EXPR_WORKGROUP_ID) return oracle_scalar(KIND_U32, o->group[expr->axis]);
    id = (uint64_t)o->group[expr->axis] * o->program->workgroup[expr->axis];
    id += lane->local[expr->axis];
    if (id > UINT32_MAX) (void)oracle_fail(o, ORACLE_ID, expr->id);
    return oracle_scalar(KIND_U32, id);
}

static struct oracle_value eval_operator(struct oracle *o, struct oracle_lane *lane,
                                         const struct ir_expr *expr)
{
    struct oracle_value out = nothing(), a, b = nothing();
    enum oracle_error error;
    a = oracle_eval(o, lane, expr->arg[0]);
    if (o->run->error) return out;
    if (expr->kind == IR_EXPR_BIN_OP) b = oracle_eval(o, lane, expr->arg[1]);
    if (o->run->error) return out;
    switch (expr->kind) {
    case IR_EXPR_BIN_OP:
        error =
            expr->op == IR_OP_EXTENSION ? ORACLE_OPERATOR : oracle_binary(expr->op, &a, &b, &out);
        break;
    case IR_EXPR_UN_OP:
        error = expr->op == IR_OP_EXTENSION ? ORACLE_OPERATOR : oracle_unary(expr->op, &a, &out);
        break;
    default:
        error = oracle_cast(expr->type, &a, &out);
        break;
    }
    if (error) (void)oracle_fail(o, error, expr->id);
    return out;
}

static struct oracle_value eval_three(struct oracle *o, struct oracle_lane *lane,
                                      const struct ir_expr *expr)
{
    struct oracle_value v[3];
    float number[3];
    for (int i = 0; i < 3; i++) {
        v[i] = oracle_eval(o, lane, expr->arg[i]);
        if (o->run->error) return nothing();
    }
    if (expr->kind == IR_EXPR_SELECT) return oracle_truth(&v[0]) ? v[1] : v[2];
    for (int i = 0; i < 3; i++) {
        if (v[i].kind != KIND_F32 && v[i].kind != KIND_U32) {
            (void)oracle_fail(o, ORACLE_KIND, expr->id);
            return nothing();
        }
        number[i] = oracle_float(oracle_canon((uint32_t)v[i].bits));
    }
    return oracle_scalar(KIND_F32, oracle_bits(fmaf(number[0], number[1], number[2])));
}

/* What the cell becomes; `expected` matters to COMPARE_EXCHANGE only. */
static enum oracle_error atomic_result(uint32_t op, uint32_t expected, uint32_t value,
                                       uint32_t *cell)
{
    switch (op) {
    case IR_ATOMIC_ADD:
        *cell += value;
        return ORACLE_OK;
    case IR_ATOMIC_OR:
        *cell |= value;
        return ORACLE_OK;
    case IR_ATOMIC_AND:
        *cell &= value;
        return ORACLE_OK;
    case IR_ATOMIC_XOR:
        *cell ^= value;
        return ORACLE_OK;
    case IR_ATOMIC_MIN:
        if (value < *cell) *cell = value;
        return ORACLE_OK;
    case IR_ATOMIC_MAX:
    case IR_ATOMIC_LRU_UPDATE:
        if (value > *cell) *cell = value;
        return ORACLE_OK;
    case IR_ATOMIC_EXCHANGE:
        *cell = value;
        return ORACLE_OK;
    case IR_ATOMIC_COMPARE_EXCHANGE:
        if (*cell == expected) *cell = value;
        return ORACLE_OK;
    default:
        return ORACLE_OPERATOR;
    }
}

static struct oracle_value eval_atomic(struct oracle *o, struct oracle_lane *lane,
                                       const struct ir_expr *expr)
{
    uint32_t index, expected = 0, value, before = 0, after;
    int compares = expr->op == IR_ATOMIC_COMPARE_EXCHANGE;
    index = oracle_eval_index(o, lane, expr->arg[0]);
    if (!o->run->error && expr->arg[1]) expected = oracle_eval_index(o, lane, expr->arg[1]);
    if (o->run->error) return nothing();
    value = oracle_eval_index(o, lane, expr->arg[2]);
    uint32_t buffer = oracle_buffer(o, expr->name, expr->id);
    if (o->run->error) return nothing();
    if (o->program->buffers[buffer].access == IR_ACCESS_WORKGROUP)
        (void)oracle_fail(o, ORACLE_BUFFER, expr->id);
    else if (compares != (expr->arg[1] != NULL))
        (void)oracle_fail(o, ORACLE_OPERATOR, expr->id);
    if (o->run->error) return nothing();

    uint64_t stride = oracle_width_of(&o->program->buffers[buffer].type).stride;
    after = 0;
    enum oracle_error error = atomic_result(expr->op, expected, value, &after);
    if (error) {
        (void)oracle_fail(o, error, expr->id);
        return nothing();
    }
    unsigned char *cell = oracle_cell(o, buffer, index * (stride < 4 ? 4 : stride), 4);
    if (cell == NULL) return nothing();
    memcpy(&before, cell, 4); /* the host is little-endian, as the format is */
    after = before;
    (void)atomic_result(expr->op, expected, value, &after);
    memcpy(cell, &after, 4);
    return oracle_scalar(KIND_U32, before);
}

/*
 * The operand in another invocation of the subgroup, on the variables as they are there now. A
 * variable that is not declared there counts as 0: that invocation is elsewhere.
 */
static struct oracle_value eval_there(struct oracle *o, struct oracle_lane *lane,
                                      const struct ir_expr *expr)
{
    uint64_t out_of_bounds = o->run->out_of_bounds;
    struct oracle_value value = oracle_eval(o, lane, expr);
    if (o->run->error == ORACLE_NAME) {
        o->run->error = ORACLE_OK;
        value = nothing();
    }
    o->run->out_of_bounds = out_of_bounds;
    return value;
}

static struct oracle_value subgroup_sum(struct oracle *o, const struct oracle_value *values,
                                        uint32_t count, uint32_t id)
{
    struct oracle_value sum = oracle_scalar(values[0].kind, 0);
    for (uint32_t i = 0; i < count; i++)
        if (oracle_binary(IR_BIN_ADD, &sum, &values[i], &sum))
            (void)oracle_fail(o, ORACLE_KIND, id);
    if (sum.kind != KIND_U32 && sum.kind != KIND_F32) (void)oracle_fail(o, ORACLE_KIND, id);
    return sum;
}

static struct oracle_value eval_subgroup(struct oracle *o, struct oracle_lane *lane,
                                         const struct ir_expr *expr)
{
    struct oracle_value values[SUBGROUP], own;
    uint32_t me = (uint32_t)(lane - o->lanes), first = me / SUBGROUP * SUBGROUP, from;
    uint32_t count = o->lane_count - first < SUBGROUP ? o->lane_count - first : SUBGROUP;
    uint64_t ballot = 0;
    own = oracle_eval(o, lane, expr->arg[0]); /* errors and bounds count here */
    for (uint32_t i = 0; i < count && !o->run->error; i++) {
        values[i] = first + i == me ? own : eval_there(o, o->lanes + first + i, expr->arg[0]);
        ballot |= (uint64_t)oracle_truth(&values[i]) << i;
    }
    if (o->run->error) return nothing();
    if (expr->kind == IR_EXPR_SUBGROUP_BALLOT) return oracle_scalar(KIND_U32, ballot);
    if (expr->kind == IR_EXPR_SUBGROUP_ADD) return subgroup_sum(o, values, count, expr->id);
    from = oracle_eval_index(o, lane, expr->arg[1]);
    if (o->run->error) return nothing();
    return from < count ? values[from] : oracle_scalar(own.kind, 0);
}

static struct oracle_value eval_call(struct oracle *o, struct oracle_lane *lane,
                                     const struct ir_expr *expr)
{
    static const char print[] = "vyre.print";
    const struct ir_name *name = &o->program->names[expr->name];
    for (uint32_t i = 0; i < expr->arg_count && !o->run->error; i++)
        (void)oracle_eval(o, lane, expr->args[i]);
    if (name->length != sizeof print - 1 || memcmp(name->text, print, sizeof print - 1) != 0)
        (void)oracle_fail(o, ORACLE_CALL, expr->id);
    return nothing();
}

struct oracle_value oracle_eval(struct oracle *o, struct oracle_lane *lane,
                                const struct ir_expr *expr)
{
    uint32_t buffer;
    switch (expr->kind) {
    case IR_EXPR_LIT_U32:
        return oracle_scalar(KIND_U32, expr->value);
    case IR_EXPR_LIT_I32:
        return oracle_scalar(KIND_I32, expr->value);
    case IR_EXPR_LIT_BOOL:
        return oracle_scalar(KIND_BOOL, expr->value != 0);
    case IR_EXPR_LIT_F32:
        return oracle_scalar(KIND_F32, expr->value);
    case IR_EXPR_VAR:
        return eval_var(o, lane, expr);
    case IR_EXPR_LOAD:
        return eval_load(o, lane, expr);
    case IR_EXPR_BUF_LEN:
        buffer = oracle_buffer(o, expr->name, expr->id);
        return oracle_scalar(KIND_U32, buffer == IR_NONE ? 0 : oracle_length(o, buffer));
    case IR_EXPR_INVOCATION_ID:
    case IR_EXPR_WORKGROUP_ID:
    case IR_EXPR_LOCAL_ID:
        return eval_id(o, lane, expr);
    case IR_EXPR_BIN_OP:
    case IR_EXPR_UN_OP:
    case IR_EXPR_CAST:
        return eval_operator(o, lane, expr);
    case IR_EXPR_SELECT:
    case IR_EXPR_FMA:
        return eval_three(o, lane, expr);
    case IR_EXPR_ATOMIC:
        return eval_atomic(o, lane, expr);
    case IR_EXPR_CALL:
        return eval_call(o, lane, expr);
    case IR_EXPR_SUBGROUP_ADD:
    case IR_EXPR_SUBGROUP_SHUFFLE:
    case IR_EXPR_SUBGROUP_BALLOT:
        return eval_subgroup(o, lane, expr);
    default: /* SUBGROUP_LOCAL_ID and SUBGROUP_SIZE among them */
        (void)oracle_fail(o, ORACLE_OPERATOR, expr->id);
        return nothing();
    }
}
