/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Indices, loads and atomics of generated programs. What keeps results independent of the order of
 * invocations is here: who may touch which element.
 */
#include "oracle/generate_inside.h"

/* An element that belongs to this invocation (of workgroup memory: to this local id), or one far
 * outside, which belongs to nobody. */
struct ir_expr *gen_own_index(struct gen *g, const struct gen_buffer *buffer)
{
    uint32_t name = buffer->role == ROLE_SHARED ? g->lid : g->me;
    struct ir_expr *index = gen_var(g, name);
    if (gen_chance(g, 4)) return gen_bin(g, IR_BIN_BIT_OR, index, gen_u32(g, 0xFFFF0000u));
    if (buffer->each == 1) return index;
    if (gen_chance(g, 50)) {
        index = gen_bin(g, IR_BIN_MUL, index, gen_u32(g, buffer->each));
        return gen_bin(g, IR_BIN_ADD, index, gen_u32(g, gen_below(g, buffer->each)));
    }
    index = gen_bin(g, IR_BIN_MUL, gen_u32(g, buffer->each), index);
    return gen_bin(g, IR_BIN_ADD, gen_u32(g, gen_below(g, buffer->each)), index);
}

static struct ir_expr *word_index(struct gen *g, const struct gen_buffer *buffer, uint32_t depth)
{
    uint32_t turn = gen_below(g, 16), count = buffer->count ? buffer->count : 8;
    if (turn < 8) return gen_bin(g, IR_BIN_MOD, gen_expr(g, GEN_U32, depth), gen_u32(g, count));
    if (turn < 10) return gen_u32(g, gen_below(g, count));
    if (turn < 13) return gen_var(g, gen_chance(g, 50) ? g->me : g->lid);
    if (turn == 13) return gen_u32(g, gen_chance(g, 50) ? count + gen_below(g, 3) : gen_number(g));
    return gen_expr(g, GEN_U32, depth);
}

/* An index of another type; in range of u32 unless something may go wrong. */
static struct ir_expr *odd_index(struct gen *g, uint32_t depth)
{
    static const enum gen_type types[] = {GEN_I32,  GEN_F32,       GEN_U64,
                                          GEN_BOOL, GEN_BOOL_WORD, GEN_U8};
    enum gen_type type = types[gen_below(g, sizeof types / sizeof types[0])];
    struct ir_expr *low;
    if (!gen_allowed(g, type)) type = GEN_I32;
    if (type < GEN_BOOL_WORD && gen_errs(g)) return gen_expr(g, type, depth);
    if (type == GEN_BOOL) return gen_expr(g, GEN_BOOL, depth);
    if (type == GEN_BOOL_WORD || type == GEN_U8) {
        low = gen_loaded(g, type, 0);
        if (low != NULL) return low;
        type = GEN_I32;
    }
    low = gen_bin(g, IR_BIN_BIT_AND, gen_expr(g, GEN_U32, depth), gen_u32(g, 31));
    low = gen_cast(g, gen_tag(type), low);
    if (type == GEN_F32 && gen_chance(g, 50))
        low = gen_bin(g, IR_BIN_MUL, low, gen_literal(g, IR_EXPR_LIT_F32, 0x3F000000));
    return low;
}

struct ir_expr *gen_any_index(struct gen *g, const struct gen_buffer *buffer, uint32_t depth)
{
    /* What is loaded matters more than where: seldom a large index. */
    uint32_t below = depth > 1 && gen_chance(g, 20) ? depth - 1 : 0;
    if (depth > 0 && gen_chance(g, 8)) return odd_index(g, below);
    return word_index(g, buffer, below);
}

static struct ir_expr *load_from(struct gen *g, const struct gen_buffer *buffer, uint32_t depth)
{
    switch (buffer->role) {
    case ROLE_SCALAR:
        return gen_load(g, buffer, gen_u32(g, gen_chance(g, 3) ? 1 : 0));
    case ROLE_OWN:
        return gen_load(g, buffer, gen_own_index(g, buffer));
    case ROLE_SHARED:
        if (!g->shared_open) return gen_load(g, buffer, gen_own_index(g, buffer));
        return gen_load(g, buffer, gen_any_index(g, buffer, depth));
    default:
        return gen_load(g, buffer, gen_any_index(g, buffer, depth));
    }
}

struct ir_expr *gen_loaded(struct gen *g, enum gen_type type, uint32_t depth)
{
    static const enum gen_role roles[] = {ROLE_INPUT, ROLE_INPUT, ROLE_SCALAR, ROLE_OWN,
                                          ROLE_SHARED};
    uint32_t turn = gen_below(g, 5);
    const struct gen_buffer *buffer = gen_pick_buffer(g, (int)type, roles[turn]);
    if (g->shared_open && gen_chance(g, 50)) buffer = gen_pick_buffer(g, (int)type, ROLE_SHARED);
    if (buffer == NULL) buffer = gen_pick_buffer(g, (int)type, ROLE_INPUT);
    return buffer ? load_from(g, buffer, depth) : NULL;
}

struct ir_expr *gen_atomic(struct gen *g, const struct gen_buffer *buffer, uint32_t depth)
{
    static const uint8_t own[] = {IR_ATOMIC_ADD,
                                  IR_ATOMIC_OR,
                                  IR_ATOMIC_AND,
                                  IR_ATOMIC_XOR,
                                  IR_ATOMIC_MIN,
                                  IR_ATOMIC_MAX,
                                  IR_ATOMIC_LRU_UPDATE,
                                  IR_ATOMIC_EXCHANGE,
                                  IR_ATOMIC_COMPARE_EXCHANGE,
                                  IR_ATOMIC_COMPARE_EXCHANGE};
    struct ir_expr *expr = gen_plain(g, IR_EXPR_ATOMIC);
    expr->name = buffer->name;
    expr->ordering = (uint8_t)gen_below(g, IR_ORDERING_GRID_SYNC);
    expr->op = buffer->role == ROLE_SUM ? (uint8_t)buffer->op : own[gen_below(g, sizeof own)];
    expr->arg[0] =
        buffer->role == ROLE_SUM ? word_index(g, buffer, depth) : gen_own_index(g, buffer);
    if (expr->op == IR_ATOMIC_COMPARE_EXCHANGE)
        expr->arg[1] = gen_chance(g, 50) ? gen_u32(g, gen_small(g)) : gen_expr(g, GEN_U32, depth);
    expr->arg[2] = gen_chance(g, 30) ? gen_u32(g, gen_small(g)) : gen_expr(g, GEN_U32, depth);
    if (gen_errs(g) && gen_chance(g, 20)) expr->op = expr->arg[1] ? expr->op : IR_ATOMIC_FETCH_NAND;
    return expr;
}
