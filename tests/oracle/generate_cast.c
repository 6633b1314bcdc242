/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Casts of generated programs: from what, and how the operand is kept to values that can be cast.
 */
#include "oracle/generate_inside.h"

#define T(name) (1u << GEN_##name)
#define WORDS   (T(U32) | T(I32) | T(BOOL) | T(BOOL_WORD))
#define SMALL   (T(U8) | T(I8) | T(U16) | T(I16))

/*
 * By the type that a cast gives: the types that it can be given. Not all that the validator takes:
 * 8 raw bytes are never a u32, 16 never a u64.
 */
static const uint32_t sources[GEN_TYPE_COUNT] = {
    [GEN_U32] = WORDS | T(F32) | T(U64) | SMALL,
    [GEN_I32] = WORDS | T(F32) | T(U64) | SMALL,
    [GEN_F32] = WORDS | T(F32),
    [GEN_BOOL] = WORDS | T(F32) | T(U64) | SMALL | T(I64) | T(VEC2) | T(VEC4),
    [GEN_U64] = WORDS | T(U64) | SMALL | T(I64) | T(VEC2),
    [GEN_U8] = WORDS | T(U64) | SMALL | T(I64),
    [GEN_I8] = WORDS | T(U64) | SMALL | T(I64),
    [GEN_U16] = WORDS | T(U64) | SMALL | T(I64),
    [GEN_I16] = WORDS | T(U64) | SMALL | T(I64),
    [GEN_I64] = WORDS | T(U64) | SMALL | T(I64),
    [GEN_VEC2] = WORDS | T(U64) | T(VEC2) | T(VEC4),
    [GEN_VEC4] = WORDS | T(VEC4),
    [GEN_F16] = T(F16),
    [GEN_F64] = T(F64),
};

/* Whether expressions of this type can be made at all. */
static int available(struct gen *g, enum gen_type type)
{
    if (!gen_allowed(g, type)) return 0;
    return type < GEN_BOOL_WORD || gen_pick_buffer(g, (int)type, ROLE_INPUT) != NULL;
}

/* A u64 that fits 32 bits. */
static struct ir_expr *low_u64(struct gen *g, uint32_t depth)
{
    static const uint8_t counts[] = {IR_UN_POPCOUNT, IR_UN_CLZ, IR_UN_CTZ};
    if (gen_chance(g, 50)) return gen_cast(g, IR_TYPE_U64, gen_expr(g, GEN_U32, depth));
    struct ir_expr *value = gen_expr(g, GEN_U64, depth);
    return gen_un(g, counts[gen_below(g, 3)], value);
}

static struct ir_expr *not_negative(struct gen *g, uint32_t depth)
{
    struct ir_expr *word = gen_expr(g, GEN_U32, depth);
    word = gen_bin(g, IR_BIN_BIT_AND, word, gen_u32(g, 0x7FFFFFFF));
    return gen_cast(g, IR_TYPE_I32, word);
}

static struct ir_expr *operand(struct gen *g, enum gen_type from, enum gen_type to, uint32_t depth)
{
    int narrow = to == GEN_U32 || to == GEN_I32;
    if (from == GEN_U64 && narrow && !gen_errs(g)) return low_u64(g, depth);
    if (from == GEN_I32 && to == GEN_U64 && !gen_errs(g)) return not_negative(g, depth);
    return gen_expr(g, from, depth);
}

struct ir_expr *gen_cast_to(struct gen *g, enum gen_type type, uint32_t depth)
{
    uint32_t start = gen_below(g, GEN_TYPE_COUNT);
    for (uint32_t i = 0; i < GEN_TYPE_COUNT; i++) {
        enum gen_type from = (enum gen_type)((start + i) % GEN_TYPE_COUNT);
        if ((sources[type] >> from & 1) != 0 && available(g, from))
            return gen_cast(g, gen_tag(type), operand(g, from, type, depth));
    }
    return gen_expr(g, type, depth);
}

enum gen_type gen_any_type(struct gen *g)
{
    static const enum gen_type often[] = {GEN_U32, GEN_U32, GEN_I32, GEN_F32,
                                          GEN_F32, GEN_F32, GEN_U64, GEN_BOOL};
    for (uint32_t i = 0; i < 4; i++) {
        enum gen_type type = (enum gen_type)gen_below(g, GEN_TYPE_COUNT);
        if (gen_chance(g, 75)) type = often[gen_below(g, sizeof often / sizeof often[0])];
        if (available(g, type)) return type;
    }
    return GEN_U32;
}
