/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions of generated programs, by the type of their value.
 */
#include "oracle/generate_inside.h"

/*
 * One of a table. No call here has two arguments that draw: C leaves open which comes first, and
 * the same seed must give the same program with every compiler.
 */
#define PICK(g, table) ((table)[gen_below((g), sizeof(table) / sizeof((table)[0]))])

static struct ir_expr *literal(struct gen *g, enum gen_type type)
{
    uint32_t bits;
    switch (type) {
    case GEN_I32:
        return gen_literal(g, IR_EXPR_LIT_I32, gen_number(g));
    case GEN_BOOL:
        return gen_literal(g, IR_EXPR_LIT_BOOL, gen_below(g, 2));
    case GEN_F32:
        /* Only what the encoder leaves as it is. */
        bits = gen_float_bits(g);
        if ((bits & 0x7FFFFFFF) > 0x7F800000) bits = 0x7FC00000;
        if ((bits & 0x7FFFFFFF) < 0x00800000) bits = 0;
        return gen_literal(g, IR_EXPR_LIT_F32, bits);
    default:
        return gen_u32(g, gen_number(g));
    }
}

static struct ir_expr *id(struct gen *g)
{
    static const uint8_t kinds[] = {IR_EXPR_INVOCATION_ID, IR_EXPR_WORKGROUP_ID, IR_EXPR_LOCAL_ID};
    struct ir_expr *expr = gen_plain(g, PICK(g, kinds));
    expr->axis = (uint8_t)gen_below(g, 3);
    return expr;
}

/* Not of buffers that atomics touch: the validator takes it for a plain access. */
static struct ir_expr *length(struct gen *g)
{
    static const enum gen_role roles[] = {ROLE_INPUT,  ROLE_INPUT, ROLE_OWN,
                                          ROLE_SHARED, ROLE_WRITE, ROLE_SCALAR};
    const struct gen_buffer *buffer = gen_pick_buffer(g, -1, PICK(g, roles));
    if (buffer == NULL) return gen_u32(g, gen_number(g));
    struct ir_expr *expr = gen_plain(g, IR_EXPR_BUF_LEN);
    expr->name = buffer->name;
    return expr;
}

static struct ir_expr *leaf(struct gen *g, enum gen_type type)
{
    const struct gen_var *var = gen_pick_var(g, type, 0);
    struct ir_expr *expr = NULL;
    if (var && gen_chance(g, 55)) return gen_var(g, var->name);
    if (gen_chance(g, 50) || type >= GEN_U64) expr = gen_loaded(g, type, 0);
    if (expr != NULL) return expr;
    if (type == GEN_U32 && gen_chance(g, 30)) return gen_chance(g, 70) ? id(g) : length(g);
    if (type == GEN_U64) return gen_cast(g, IR_TYPE_U64, leaf(g, GEN_U32));
    if (type > GEN_U64) return gen_loaded(g, type, 0); /* there is an input, see gen_any_type */
    return literal(g, type);
}

/* Not a literal zero. */
static struct ir_expr *divisor(struct gen *g, enum gen_type type)
{
    struct ir_expr *expr = leaf(g, type);
    int is_literal = expr->kind == IR_EXPR_LIT_U32 || expr->kind == IR_EXPR_LIT_F32;
    if (is_literal && (expr->value & 0x7FFFFFFF) == 0)
        expr->value = type == GEN_F32 ? 0x40400000 : 3;
    return expr;
}

/* A divisor that no i32 division fails with, unless something may go wrong. */
static struct ir_expr *signed_divisor(struct gen *g, uint32_t depth)
{
    static const uint32_t numbers[] = {1, 2, 3, 10, 0x7FFFFFFF, 0x80000000, 0u - 2, 0u - 7};
    struct ir_expr *expr;
    if (gen_errs(g)) {
        expr = leaf(g, GEN_I32);
        if (expr->kind != IR_EXPR_LIT_I32 || expr->value != 0) return expr;
    }
    if (gen_chance(g, 50)) return gen_literal(g, IR_EXPR_LIT_I32, PICK(g, numbers));
    expr = gen_bin(g, IR_BIN_BIT_AND, gen_expr(g, GEN_U32, depth), gen_u32(g, 255));
    return gen_cast(g, IR_TYPE_I32, gen_bin(g, IR_BIN_ADD, expr, gen_u32(g, 1)));
}

static struct ir_expr *pair(struct gen *g, uint8_t op, enum gen_type type, uint32_t depth)
{
    struct ir_expr *left = gen_expr(g, type, depth);
    return gen_bin(g, op, left, gen_expr(g, type, depth));
}

static struct ir_expr *one(struct gen *g, uint8_t op, enum gen_type type, uint32_t depth)
{
    return gen_un(g, op, gen_expr(g, type, depth));
}

static struct ir_expr *select_of(struct gen *g, enum gen_type type, uint32_t depth)
{
    struct ir_expr *expr = gen_plain(g, IR_EXPR_SELECT);
    enum gen_type condition = gen_chance(g, 70) ? GEN_BOOL : gen_any_type(g);
    expr->arg[0] = gen_expr(g, condition, depth);
    expr->arg[1] = gen_expr(g, type, depth);
    expr->arg[2] = gen_expr(g, type, depth);
    return expr;
}

static const uint8_t bit_counts[] = {IR_UN_BIT_NOT, IR_UN_POPCOUNT, IR_UN_CLZ, IR_UN_CTZ,
                                     IR_UN_REVERSE_BITS};

static struct ir_expr *expr_u32(struct gen *g, uint32_t depth)
{
    static const uint8_t ops[] = {IR_BIN_ADD,      IR_BIN_SUB,      IR_BIN_MUL,     IR_BIN_BIT_AND,
                                  IR_BIN_BIT_OR,   IR_BIN_BIT_XOR,  IR_BIN_SHL,     IR_BIN_SHR,
                                  IR_BIN_ROT_L,    IR_BIN_ROT_R,    IR_BIN_MIN,     IR_BIN_MAX,
                                  IR_BIN_ABS_DIFF, IR_BIN_SAT_ADD,  IR_BIN_SAT_SUB, IR_BIN_SAT_MUL,
                                  IR_BIN_WRAP_ADD, IR_BIN_WRAP_SUB, IR_BIN_MUL_HIGH};
    static const uint8_t divisions[] = {IR_BIN_DIV, IR_BIN_MOD};
    static const uint8_t loose[] = {IR_BIN_WRAP_ADD, IR_BIN_WRAP_SUB, IR_BIN_MUL_HIGH};
    const struct gen_buffer *cells;
    struct ir_expr *left;
    uint8_t op;
    uint32_t turn = gen_below(g, 20);
    if (turn < 10) return pair(g, PICK(g, ops), GEN_U32, depth);
    switch (turn) {
    case 10:
        op = PICK(g, divisions);
        left = gen_expr(g, GEN_U32, depth);
        return gen_bin(g, op, left, divisor(g, GEN_U32));
    case 11:
        return gen_un(g, IR_UN_NEGATE, gen_expr(g, GEN_U32, depth));
    case 12:
    case 13:
        return one(g, PICK(g, bit_counts), GEN_U32, depth);
    case 14:
        cells = g->quiet ? NULL : gen_pick_buffer(g, GEN_U32, ROLE_CELLS);
        if (cells != NULL) return gen_atomic(g, cells, depth);
        return gen_cast_to(g, GEN_U32, depth);
    case 15:
        /* Words from a bool buffer, which these operators take for what they are. */
        if (gen_has(g, GENERATE_SMALL) && gen_pick_buffer(g, GEN_BOOL_WORD, ROLE_INPUT))
            return pair(g, PICK(g, loose), GEN_BOOL_WORD, depth);
        return gen_cast_to(g, GEN_U32, depth);
    default:
        return gen_cast_to(g, GEN_U32, depth);
    }
}

static struct ir_expr *expr_i32(struct gen *g, uint32_t depth)
{
    static const uint8_t ops[] = {IR_BIN_ADD, IR_BIN_SUB, IR_BIN_MUL, IR_BIN_MIN, IR_BIN_MAX};
    /* The validator calls these u32, whatever they are given: a cast says what they are. */
    static const uint8_t called_u32[] = {IR_BIN_BIT_AND, IR_BIN_BIT_OR, IR_BIN_BIT_XOR,
                                         IR_BIN_WRAP_ADD, IR_BIN_WRAP_SUB};
    struct ir_expr *left;
    uint32_t turn = gen_below(g, 12);
    if (turn < 4) return pair(g, PICK(g, ops), GEN_I32, depth);
    if (turn < 6) return gen_cast(g, IR_TYPE_I32, pair(g, PICK(g, called_u32), GEN_I32, depth));
    switch (turn) {
    case 6:
        left = gen_expr(g, GEN_I32, depth);
        return gen_bin(g, IR_BIN_DIV, left, signed_divisor(g, depth));
    case 7:
        left = gen_expr(g, GEN_I32, depth);
        left = gen_bin(g, IR_BIN_MOD, left, signed_divisor(g, depth));
        return gen_cast(g, IR_TYPE_I32, left);
    case 8:
        return one(g, PICK(g, bit_counts), GEN_I32, depth);
    default:
        return gen_cast_to(g, GEN_I32, depth);
    }
}

static struct ir_expr *expr_f32(struct gen *g, uint32_t depth)
{
    static const uint8_t ops[] = {IR_BIN_ADD, IR_BIN_SUB, IR_BIN_MUL, IR_BIN_MIN, IR_BIN_MAX};
    static const uint8_t plain[] = {IR_UN_NEGATE,       IR_UN_ABS,       IR_UN_SQRT,  IR_UN_FLOOR,
                                    IR_UN_CEIL,         IR_UN_ROUND,     IR_UN_TRUNC, IR_UN_SIGN,
                                    IR_UN_INVERSE_SQRT, IR_UN_RECIPROCAL};
    static const uint8_t math[] = {IR_UN_COS,  IR_UN_SIN,  IR_UN_EXP,  IR_UN_LOG,  IR_UN_LOG2,
                                   IR_UN_EXP2, IR_UN_TAN,  IR_UN_ACOS, IR_UN_ASIN, IR_UN_ATAN,
                                   IR_UN_TANH, IR_UN_SINH, IR_UN_COSH};
    struct ir_expr *expr;
    uint32_t turn = gen_below(g, 20);
    if (turn < 5) return pair(g, PICK(g, ops), GEN_F32, depth);
    if (turn < 10) return one(g, PICK(g, plain), GEN_F32, depth);
    if (turn < 14 && gen_has(g, GENERATE_MATH)) return one(g, PICK(g, math), GEN_F32, depth);
    switch (turn) {
    case 14:
    case 15:
        expr = gen_expr(g, GEN_F32, depth);
        return gen_bin(g, IR_BIN_DIV, expr, divisor(g, GEN_F32));
    case 16:
    case 17:
        expr = gen_plain(g, IR_EXPR_FMA);
        for (uint32_t i = 0; i < 3; i++)
            expr->arg[i] = gen_expr(g, GEN_F32, depth);
        return expr;
    default:
        return gen_cast_to(g, GEN_F32, depth);
    }
}

static struct ir_expr *expr_u64(struct gen *g, uint32_t depth)
{
    static const uint8_t called_u32[] = {IR_BIN_WRAP_ADD, IR_BIN_WRAP_SUB, IR_BIN_MUL_HIGH};
    uint32_t turn = gen_below(g, 8);
    if (turn < 3) return gen_cast(g, IR_TYPE_U64, pair(g, PICK(g, called_u32), GEN_U64, depth));
    if (turn < 5) return one(g, PICK(g, bit_counts), GEN_U64, depth);
    return gen_cast_to(g, GEN_U64, depth);
}

static struct ir_expr *comparison(struct gen *g, uint32_t depth)
{
    static const uint8_t ops[] = {IR_BIN_EQ, IR_BIN_NE, IR_BIN_LT, IR_BIN_GT, IR_BIN_LE, IR_BIN_GE};
    enum gen_type type = gen_any_type(g);
    if (type > GEN_BOOL_WORD) type = GEN_U32; /* raw bytes compare with nothing */
    if (type == GEN_BOOL) return pair(g, ops[gen_below(g, 2)], GEN_BOOL, depth);
    return pair(g, PICK(g, ops), type, depth);
}

static struct ir_expr *expr_bool(struct gen *g, uint32_t depth)
{
    static const uint8_t logic[] = {IR_BIN_AND, IR_BIN_OR};
    static const uint8_t tests[] = {IR_UN_IS_NAN, IR_UN_IS_INF, IR_UN_IS_FINITE};
    static const enum gen_type truths[] = {GEN_BOOL, GEN_BOOL, GEN_U32, GEN_BOOL_WORD};
    enum gen_type truth = PICK(g, truths);
    uint32_t turn = gen_below(g, 16);
    if (truth == GEN_BOOL_WORD && !gen_has(g, GENERATE_SMALL)) truth = GEN_BOOL;
    if (truth == GEN_BOOL_WORD && !gen_pick_buffer(g, GEN_BOOL_WORD, ROLE_INPUT)) truth = GEN_U32;
    if (turn < 7) return comparison(g, depth);
    if (turn < 10) return pair(g, PICK(g, logic), truth, depth);
    if (turn < 12) return gen_un(g, IR_UN_LOGICAL_NOT, gen_expr(g, truth, depth));
    if (turn < 14 && gen_has(g, GENERATE_FLOATS)) return one(g, PICK(g, tests), GEN_F32, depth);
    return gen_cast_to(g, GEN_BOOL, depth);
}

struct ir_expr *gen_expr(struct gen *g, enum gen_type type, uint32_t depth)
{
    struct ir_expr *expr = NULL;
    if (depth == 0 || gen_chance(g, 8)) return leaf(g, type);
    if (gen_chance(g, 8)) return select_of(g, type, depth - 1);
    if (gen_chance(g, 10)) expr = gen_loaded(g, type, depth - 1);
    if (expr != NULL) return expr;
    switch (type) {
    case GEN_U32:
        return expr_u32(g, depth - 1);
    case GEN_I32:
        return expr_i32(g, depth - 1);
    case GEN_BOOL:
        return expr_bool(g, depth - 1);
    case GEN_F32: /* deep ones are NaN or infinite, mostly */
        return expr_f32(g, depth > 3 ? 2 : depth - 1);
    case GEN_U64:
        return expr_u64(g, depth - 1);
    default:
        return leaf(g, type);
    }
}

/* The same in all invocations of a workgroup, and seen to be so by the validator. */
struct ir_expr *gen_uniform(struct gen *g, uint32_t depth)
{
    static const uint8_t ops[] = {IR_BIN_ADD, IR_BIN_MUL, IR_BIN_BIT_AND, IR_BIN_BIT_XOR,
                                  IR_BIN_MAX};
    struct ir_expr *expr;
    uint32_t turn = gen_below(g, depth > 0 ? 8 : 5);
    for (uint32_t i = g->var_count; turn == 0 && i > 0; i--)
        if (g->vars[i - 1].uniform) return gen_var(g, g->vars[i - 1].name);
    if (turn < 2) return gen_u32(g, gen_small(g));
    if (turn == 2) return length(g);
    if (turn < 5) {
        expr = gen_plain(g, IR_EXPR_WORKGROUP_ID);
        expr->axis = (uint8_t)gen_below(g, 3);
        return expr;
    }
    uint8_t op = PICK(g, ops);
    expr = gen_uniform(g, depth - 1);
    return gen_bin(g, op, expr, gen_uniform(g, depth - 1));
}

/* Values that the validator calls u32 and that are something else: what is stored are their low
 * bytes. */
static struct ir_expr *so_called_u32(struct gen *g, uint32_t depth)
{
    static const uint8_t ops[] = {IR_BIN_WRAP_ADD, IR_BIN_WRAP_SUB, IR_BIN_MUL_HIGH};
    static const uint8_t bits[] = {IR_BIN_BIT_AND, IR_BIN_BIT_OR, IR_BIN_BIT_XOR, IR_BIN_WRAP_ADD,
                                   IR_BIN_WRAP_SUB};
    struct ir_expr *left;
    uint32_t turn = gen_below(g, 3);
    if (turn == 0 && gen_has(g, GENERATE_WIDE)) return pair(g, PICK(g, ops), GEN_U64, depth);
    if (turn == 1) return pair(g, PICK(g, bits), GEN_I32, depth);
    left = gen_expr(g, GEN_I32, depth);
    return gen_bin(g, IR_BIN_MOD, left, signed_divisor(g, depth));
}

struct ir_expr *gen_stored(struct gen *g, enum gen_type type, uint32_t depth)
{
    uint32_t below = depth > 0 ? depth - 1 : 0;
    if (type == GEN_BOOL_WORD && (!gen_has(g, GENERATE_SMALL) || gen_chance(g, 70) ||
                                  !gen_pick_buffer(g, GEN_BOOL_WORD, ROLE_INPUT)))
        return gen_expr(g, GEN_BOOL, depth);
    if (type == GEN_U32 && depth > 0 && gen_chance(g, 10)) return so_called_u32(g, below);
    if (type > GEN_BOOL_WORD && (gen_chance(g, 60) || !gen_pick_buffer(g, (int)type, ROLE_INPUT)))
        return gen_cast_to(g, type, below);
    return gen_expr(g, type, depth);
}
