/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions. VIR0 evaluates both sides of `and` and all of a select; where that could be seen
 * (loads, which may be out of bounds, divisions that fault, whatever acts) they become branches.
 * Operands are evaluated from left to right: where the right one needs statements, and the left one
 * loads, the left one goes into a variable first.
 */
#include "lang/gen.h"

#define SEEN (LANG_EFFECT_LOAD | LANG_EFFECT_FAULT | LANG_EFFECT_ACT)

static bool loads(const struct ir_expr *expr)
{
    if (expr->kind == IR_EXPR_LOAD) return true;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i] && loads(expr->arg[i])) return true;
    return false;
}

struct ir_expr *vyre_gen_keep(struct gen *gen, struct ir_expr *value)
{
    return loads(value) ? vyre_gen_spill(gen, value) : value;
}

struct ir_expr *vyre_gen_before(struct gen *gen, struct ir_expr *first, struct ir_list *later)
{
    if (later->count == 0) return first;
    first = vyre_gen_keep(gen, first);
    vyre_gen_splice(gen, later);
    return first;
}

void vyre_gen_pair(struct gen *gen, struct lang_expr *a, struct lang_expr *b,
                   struct ir_expr *made[2])
{
    struct ir_list later = {0}, *outer;
    made[0] = vyre_gen_expr(gen, a);
    outer = gen->list;
    gen->list = &later;
    made[1] = vyre_gen_expr(gen, b);
    gen->list = outer;
    made[0] = vyre_gen_before(gen, made[0], &later);
}

const struct lang_symbol *vyre_gen_buffer(const struct lang_symbol *symbol)
{
    while (symbol->bound)
        symbol = symbol->bound;
    return symbol;
}

struct ir_expr *vyre_gen_index(struct gen *gen, struct lang_expr *index)
{
    struct ir_expr *made = vyre_gen_expr(gen, index);
    /* A negative one becomes a large one, and is out of bounds. */
    if (index->type == LANG_TYPE_I32)
        made = index->known ? vyre_gen_literal(gen, LANG_TYPE_U32, index->value)
                            : vyre_gen_cast(gen, IR_TYPE_U32, made);
    return made;
}

/* Bits of a small signed element, above which all are zero, as an i32. */
static struct ir_expr *extend_sign(struct gen *gen, struct ir_expr *value, uint32_t sign)
{
    value = vyre_gen_bin(gen, IR_BIN_BIT_XOR, value, vyre_gen_literal(gen, LANG_TYPE_U32, sign));
    value = vyre_gen_bin(gen, IR_BIN_SUB, value, vyre_gen_literal(gen, LANG_TYPE_U32, sign));
    return vyre_gen_cast(gen, IR_TYPE_I32, value);
}

struct ir_expr *vyre_gen_load(struct gen *gen, const struct lang_symbol *buffer,
                              struct ir_expr *index)
{
    struct ir_expr *load = vyre_gen_make(gen, IR_EXPR_LOAD);
    load->name = vyre_gen_buffer(buffer)->ir;
    load->arg[0] = index;
    load = vyre_gen_done(gen, load);
    switch (buffer->element) {
    case IR_TYPE_BOOL:
        return vyre_gen_cast(gen, IR_TYPE_BOOL, load);
    case IR_TYPE_U8:
    case IR_TYPE_U16:
        return vyre_gen_cast(gen, IR_TYPE_U32, load);
    case IR_TYPE_I8:
        return extend_sign(gen, vyre_gen_cast(gen, IR_TYPE_U32, load), 0x80u);
    case IR_TYPE_I16:
        return extend_sign(gen, vyre_gen_cast(gen, IR_TYPE_U32, load), 0x8000u);
    default:
        return load;
    }
}

void vyre_gen_store(struct gen *gen, const struct lang_symbol *buffer, struct ir_expr *index,
                    struct ir_expr *value)
{
    uint8_t element = buffer->element;
    if (element != IR_TYPE_U32 && element != IR_TYPE_I32 && element != IR_TYPE_F32 &&
        element != IR_TYPE_BOOL)
        value = vyre_gen_cast(gen, element, value);
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_STORE);
    node->name = vyre_gen_buffer(buffer)->ir;
    node->a = index;
    node->b = value;
}

static struct ir_expr *field(struct gen *gen, const struct lang_expr *expr)
{
    const uint32_t *size = gen->kernel->workgroup;
    uint8_t kind = expr->op >> 2, axis = expr->op & 3;
    if (expr->op != 15)
        return kind == 0   ? vyre_gen_id(gen, IR_EXPR_INVOCATION_ID, axis)
               : kind == 1 ? vyre_gen_id(gen, IR_EXPR_LOCAL_ID, axis)
               : kind == 2 ? vyre_gen_id(gen, IR_EXPR_WORKGROUP_ID, axis)
                           : vyre_gen_literal(gen, LANG_TYPE_U32, size[axis]);
    /* local_index: x + size.x * (y + size.y * z), without the axes that have one lane. */
    struct ir_expr *index = NULL;
    for (uint8_t i = 3; i-- > 0;) {
        if (index && size[i] > 1)
            index =
                vyre_gen_bin(gen, IR_BIN_MUL, index, vyre_gen_literal(gen, LANG_TYPE_U32, size[i]));
        if (size[i] == 1) continue;
        struct ir_expr *lane = vyre_gen_id(gen, IR_EXPR_LOCAL_ID, i);
        index = index ? vyre_gen_bin(gen, IR_BIN_ADD, index, lane) : lane;
    }
    return index ? index : vyre_gen_literal(gen, LANG_TYPE_U32, 0);
}

struct ir_expr *vyre_gen_condition(struct gen *gen, struct lang_expr *expr)
{
    struct ir_expr *made = vyre_gen_expr(gen, expr);
    if (expr->type != LANG_TYPE_I32) return made;
    return vyre_gen_bin(gen, IR_BIN_NE, made, vyre_gen_literal(gen, LANG_TYPE_I32, 0));
}

struct ir_expr *vyre_gen_bool(struct gen *gen, const struct lang_expr *expr, struct ir_expr *made)
{
    if (expr->type == LANG_TYPE_BOOL) return made;
    return vyre_gen_bin(gen, IR_BIN_NE, made, vyre_gen_literal(gen, expr->type, 0));
}

/* `a && b` and `a || b`. */
static struct ir_expr *logical(struct gen *gen, struct lang_expr *expr)
{
    bool both = expr->op == LANG_AND_AND;
    struct ir_expr *left = vyre_gen_bool(gen, expr->arg[0], vyre_gen_expr(gen, expr->arg[0]));
    if (!(expr->arg[1]->effects & SEEN)) {
        struct ir_expr *right = vyre_gen_expr(gen, expr->arg[1]);
        return vyre_gen_bin(gen, both ? IR_BIN_AND : IR_BIN_OR, left,
                            vyre_gen_bool(gen, expr->arg[1], right));
    }
    uint32_t name = vyre_gen_let(gen, "t", left);
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = vyre_gen_var(gen, name);
    if (!both) node->a = vyre_gen_un(gen, IR_UN_LOGICAL_NOT, node->a);
    struct ir_list *outer = vyre_gen_open(gen, &node->body);
    vyre_gen_assign(gen, name, vyre_gen_bool(gen, expr->arg[1], vyre_gen_expr(gen, expr->arg[1])));
    vyre_gen_close(gen, outer);
    return vyre_gen_var(gen, name);
}

static struct ir_expr *choose(struct gen *gen, struct lang_expr *expr)
{
    struct ir_expr *condition = vyre_gen_condition(gen, expr->arg[0]);
    if (!((expr->arg[1]->effects | expr->arg[2]->effects) & SEEN)) {
        struct ir_expr *made = vyre_gen_make(gen, IR_EXPR_SELECT);
        made->arg[0] = condition;
        made->arg[1] = vyre_gen_expr(gen, expr->arg[1]);
        made->arg[2] = vyre_gen_expr(gen, expr->arg[2]);
        return vyre_gen_done(gen, made);
    }
    condition = vyre_gen_spill(gen, condition);
    uint32_t name = vyre_gen_let(gen, "t", vyre_gen_literal(gen, expr->type, 0));
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = condition;
    for (uint32_t i = 0; i < 2; i++) {
        struct ir_list *outer = vyre_gen_open(gen, i == 0 ? &node->body : &node->otherwise);
        vyre_gen_assign(gen, name, vyre_gen_expr(gen, expr->arg[1 + i]));
        vyre_gen_close(gen, outer);
    }
    return vyre_gen_var(gen, name);
}

static struct ir_expr *to_u32(struct gen *gen, uint8_t type, struct ir_expr *value)
{
    return type == LANG_TYPE_I32 ? vyre_gen_cast(gen, IR_TYPE_U32, value) : value;
}

/*
 * VIR0 shifts an i32 arithmetically, but its validator lets only what it calls u32 be shifted. It
 * calls an `or` of two i32 u32, and the value stays what it is.
 */
static struct ir_expr *arithmetic_shift(struct gen *gen, struct ir_expr *value,
                                        struct ir_expr *amount)
{
    value = vyre_gen_bin(gen, IR_BIN_BIT_OR, value, vyre_gen_literal(gen, LANG_TYPE_I32, 0));
    amount = vyre_gen_bin(gen, IR_BIN_BIT_AND, amount, vyre_gen_literal(gen, LANG_TYPE_I32, 31));
    return vyre_gen_cast(gen, IR_TYPE_I32, vyre_gen_bin(gen, IR_BIN_SHR, value, amount));
}

static struct ir_expr *shift(struct gen *gen, const struct lang_expr *expr,
                             struct ir_expr *const made[2])
{
    uint8_t type = expr->type, amount = expr->arg[1]->type;
    if (expr->op == LANG_SHR && type == LANG_TYPE_I32)
        return arithmetic_shift(
            gen, made[0],
            amount == LANG_TYPE_I32 ? made[1]
            : expr->arg[1]->known ? vyre_gen_literal(gen, LANG_TYPE_I32, expr->arg[1]->value & 31u)
                                  : vyre_gen_cast(gen, IR_TYPE_I32, made[1]));
    struct ir_expr *result = vyre_gen_bin(gen, expr->op == LANG_SHL ? IR_BIN_SHL : IR_BIN_SHR,
                                          to_u32(gen, type, made[0]), to_u32(gen, amount, made[1]));
    return type == LANG_TYPE_I32 ? vyre_gen_cast(gen, IR_TYPE_I32, result) : result;
}

static struct ir_expr *bitwise(struct gen *gen, const struct lang_expr *expr,
                               struct ir_expr *const made[2])
{
    bool truth = expr->type == LANG_TYPE_BOOL;
    uint8_t op = expr->op == LANG_AND  ? (truth ? IR_BIN_AND : IR_BIN_BIT_AND)
                 : expr->op == LANG_OR ? (truth ? IR_BIN_OR : IR_BIN_BIT_OR)
                                       : (truth ? IR_BIN_NE : IR_BIN_BIT_XOR);
    if (expr->type != LANG_TYPE_I32) return vyre_gen_bin(gen, op, made[0], made[1]);
    struct ir_expr *left = to_u32(gen, LANG_TYPE_I32, made[0]);
    return vyre_gen_cast(gen, IR_TYPE_I32,
                         vyre_gen_bin(gen, op, left, to_u32(gen, LANG_TYPE_I32, made[1])));
}

static uint8_t plain_operator(uint32_t token)
{
    switch (token) {
    case LANG_PLUS:
        return IR_BIN_ADD;
    case LANG_MINUS:
        return IR_BIN_SUB;
    case LANG_STAR:
        return IR_BIN_MUL;
    case LANG_SLASH:
        return IR_BIN_DIV;
    case LANG_PERCENT:
        return IR_BIN_MOD;
    case LANG_EQ:
        return IR_BIN_EQ;
    case LANG_NE:
        return IR_BIN_NE;
    case LANG_LT:
        return IR_BIN_LT;
    case LANG_GT:
        return IR_BIN_GT;
    case LANG_LE:
        return IR_BIN_LE;
    default:
        return IR_BIN_GE;
    }
}

static struct ir_expr *binary(struct gen *gen, struct lang_expr *expr)
{
    struct ir_expr *made[2];
    struct lang_span span = gen->span;
    if (expr->op == LANG_AND_AND || expr->op == LANG_OR_OR) return logical(gen, expr);
    vyre_gen_pair(gen, expr->arg[0], expr->arg[1], made);
    gen->span = span;
    switch (expr->op) {
    case LANG_SHL:
    case LANG_SHR:
        return shift(gen, expr, made);
    case LANG_AND:
    case LANG_OR:
    case LANG_XOR:
        return bitwise(gen, expr, made);
    default:
        break;
    }
    bool constant = made[1]->kind == IR_EXPR_LIT_F32;
    bool zero = constant && made[1]->value == 0;
    /* x - 1.5 is x + -1.5, bit for bit, and the machine fuses sums only. */
    if (expr->op == LANG_MINUS && constant && !zero) {
        made[1]->value ^= 0x80000000u;
        return vyre_gen_bin(gen, IR_BIN_ADD, made[0], made[1]);
    }
    /* VIR0 refuses a literal zero as a divisor, of floats, too. */
    if (expr->op == LANG_SLASH && zero) made[1] = vyre_gen_spill(gen, made[1]);
    struct ir_expr *result = vyre_gen_bin(gen, plain_operator(expr->op), made[0], made[1]);
    /* A remainder of i32 is i32, but VIR0's validator calls it u32. */
    if (expr->op == LANG_PERCENT && expr->type == LANG_TYPE_I32)
        result = vyre_gen_cast(gen, IR_TYPE_I32, result);
    return result;
}

static struct ir_expr *unary(struct gen *gen, struct lang_expr *expr)
{
    struct lang_expr *operand = expr->arg[0];
    struct ir_expr *made = vyre_gen_expr(gen, operand);
    switch (expr->op) {
    case LANG_MINUS:
        if (expr->type != LANG_TYPE_I32) return vyre_gen_un(gen, IR_UN_NEGATE, made);
        return vyre_gen_bin(gen, IR_BIN_SUB, vyre_gen_literal(gen, LANG_TYPE_I32, 0), made);
    case LANG_TILDE:
        return vyre_gen_un(gen, IR_UN_BIT_NOT, made);
    case LANG_NOT:
        if (operand->type != LANG_TYPE_I32) return vyre_gen_un(gen, IR_UN_LOGICAL_NOT, made);
        return vyre_gen_bin(gen, IR_BIN_EQ, made, vyre_gen_literal(gen, LANG_TYPE_I32, 0));
    default:
        return made;
    }
}

static struct ir_expr *cast(struct gen *gen, struct lang_expr *expr)
{
    static const uint8_t tags[] = {[LANG_TYPE_U32] = IR_TYPE_U32,
                                   [LANG_TYPE_I32] = IR_TYPE_I32,
                                   [LANG_TYPE_F32] = IR_TYPE_F32,
                                   [LANG_TYPE_BOOL] = IR_TYPE_BOOL};
    struct ir_expr *made = vyre_gen_expr(gen, expr->arg[0]);
    return expr->type == expr->arg[0]->type ? made : vyre_gen_cast(gen, tags[expr->type], made);
}

struct ir_expr *vyre_gen_expr(struct gen *gen, struct lang_expr *expr)
{
    struct lang_span outer = gen->span;
    struct ir_expr *made;
    gen->span = expr->span;
    if (expr->known) {
        made = vyre_gen_literal(gen, expr->type, expr->value);
        gen->span = outer;
        return made;
    }
    switch (expr->kind) {
    case LANG_E_NAME:
        made = vyre_gen_var(gen, expr->symbol->ir);
        break;
    case LANG_E_FIELD:
        made = field(gen, expr);
        break;
    case LANG_E_INDEX:
        made = vyre_gen_load(gen, expr->symbol, vyre_gen_index(gen, expr->arg[1]));
        break;
    case LANG_E_CALL:
        made = vyre_gen_call(gen, expr);
        break;
    case LANG_E_CAST:
        made = cast(gen, expr);
        break;
    case LANG_E_UNARY:
        made = unary(gen, expr);
        break;
    case LANG_E_BINARY:
        made = binary(gen, expr);
        break;
    case LANG_E_CHOOSE:
        made = choose(gen, expr);
        break;
    default: /* LANG_E_OLD: once, as the left side of a compound assignment's operator */
        made = gen->old;
        break;
    }
    gen->span = outer;
    return made;
}
