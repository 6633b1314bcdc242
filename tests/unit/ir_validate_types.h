/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rules about operators, casts and subgroups, for t_ir_validate.c.
 */
#ifndef VYRE_TESTS_IR_VALIDATE_TYPES_H
#define VYRE_TESTS_IR_VALIDATE_TYPES_H

#include "ir_validate_test.h"

static void arithmetic(void)
{
    bad(WIDE_ARITHMETIC, value_of(add(Q, Q)));
    bad(WIDE_ARITHMETIC, value_of(bin(IR_BIN_MIN, Q, A)));
    bad(WIDE_ARITHMETIC, value_of(bin(IR_BIN_SAT_ADD, cast(IR_TYPE_I64, A), cast(IR_TYPE_I64, A))));
    bad(SATURATING, value_of(bin(IR_BIN_SAT_ADD, I, I)));
    bad(SATURATING, value_of(bin(IR_BIN_SAT_MUL, A, X)));
    bad(ABS_DIFF, value_of(bin(IR_BIN_ABS_DIFF, I, I)));
    bad(ABS_DIFF, value_of(bin(IR_BIN_ABS_DIFF, I, A)));
    bad(ABS_DIFF, value_of(bin(IR_BIN_ABS_DIFF, A, I)));
    bad(BOOL_ARITHMETIC, value_of(add(B, B)));
    bad(BOOL_ARITHMETIC, value_of(bin(IR_BIN_MAX, eq(A, u32(1)), A)));
    bad(MIXED_ARITHMETIC, value_of(mul(I, X)));
    bad(MIXED_ARITHMETIC, value_of(sub(A, i32(1))));
    bad(MIXED_ARITHMETIC, value_of(bin(IR_BIN_ABS_DIFF, A, X)));
    bad(INTEGER_PAIR, value_of(mod(A, I)));
    bad(INTEGER_PAIR, value_of(mod(X, X)));
    bad(INTEGER_PAIR, value_of(bit_and(A, I)));
    bad(INTEGER_PAIR, value_of(bin(IR_BIN_BIT_XOR, Q, Q)));
    bad(INTEGER_PAIR, value_of(bin(IR_BIN_BIT_OR, B, B)));
    bad(SHIFT, value_of(bin(IR_BIN_SHL, I, u32(1))));
    bad(SHIFT, value_of(bin(IR_BIN_SHR, A, I)));
    bad(SHIFT, value_of(bin(IR_BIN_ROT_R, A, X)));
    bad(LOGICAL, value_of(and_(X, A)));
    bad(LOGICAL, value_of(or_(A, I)));
    bad(COMPARE, value_of(eq(A, I)));
    bad(COMPARE, value_of(lt(A, X)));
    bad(COMPARE, value_of(eq(bool_(1), u32(1))));
    good(value_of(add(div_(A, u32(2)), bin(IR_BIN_ABS_DIFF, A, A))));
    good(store("di", gid(0), bin(IR_BIN_MAX, sub(I, i32(1)), mul(I, I))));
    good(value_of(add(bin(IR_BIN_MIN, X, X), f32(1))));
    good(store("o", u32(0), mod(I, I)), store("o", u32(1), bit_and(I, I)));
    good(store("o", u32(0), add(bit_and(I, I), A)));
    good(store("o", u32(0), bin(IR_BIN_WRAP_ADD, Q, Q)),
         store("o", u32(1), bin(IR_BIN_MUL_HIGH, Q, Q)));
    good(store("o", u32(0), bin(IR_BIN_WRAP_SUB, I, X)));
    good(value_of(and_(and_(A, B), bin(IR_BIN_SHL, A, A))));
    good(value_of(or_(eq(Q, Q), eq(load("v2", u32(0)), load("v2", u32(1))))));
    good(value_of(eq(B, bool_(1))));
    good(value_of(bin(IR_BIN_SAT_SUB, A, u32(1))));
    good(store("o", u32(0), add(A, load("u8", u32(0)))),
         value_of(add(load("u8", u32(0)), load("u8", u32(0)))));

    bad(ZERO_DIVISOR, value_of(div_(A, u32(0))));
    bad(ZERO_DIVISOR, value_of(mod(A, cast(IR_TYPE_U32, cast(IR_TYPE_I32, f32(0))))));
    bad(ZERO_DIVISOR, value_of(div_(X, f32(-0.0f))));
    bad(ZERO_DIVISOR, value_of(div_(A, cast(IR_TYPE_U32, i32(0)))));
    good(value_of(div_(A, cast(IR_TYPE_U32, bool_(0)))),
         store("o", u32(0), mod(A, sub(u32(0), u32(0)))));
    bad(WAVE_OPERATOR, value_of(bin(IR_BIN_BALLOT, A, u32(1))));
    bad(WAVE_OPERATOR, value_of(bin(IR_BIN_WAVE_BROADCAST, A, u32(1))));
    good(value_of(bin(IR_OP_EXTENSION, A, X)));
}

static void unary(void)
{
    bad(NEGATE, value_of(un(IR_UN_NEGATE, I)));
    bad(NEGATE, value_of(un(IR_UN_NEGATE, Q)));
    bad(NEGATE, value_of(un(IR_UN_NEGATE, B)));
    good(store("o", u32(0), un(IR_UN_NEGATE, A)), value_of(add(un(IR_UN_NEGATE, X), f32(1))));
    bad(LOGICAL_NOT, value_of(un(IR_UN_LOGICAL_NOT, I)));
    bad(LOGICAL_NOT, value_of(un(IR_UN_LOGICAL_NOT, X)));
    good(store("db", u32(0), un(IR_UN_LOGICAL_NOT, A)), value_of(un(IR_UN_LOGICAL_NOT, B)));
    bad(BIT_UNARY, value_of(un(IR_UN_POPCOUNT, X)));
    bad(BIT_UNARY, value_of(un(IR_UN_BIT_NOT, B)));
    good(store("di", u32(0), un(IR_UN_CLZ, I)),
         value_of(cast(IR_TYPE_U32, un(IR_UN_REVERSE_BITS, Q))));
    bad(FLOAT_UNARY, value_of(un(IR_UN_SQRT, I)));
    bad(FLOAT_UNARY, value_of(un(IR_UN_ABS, A)));
    bad(FLOAT_UNARY, value_of(un(IR_UN_RECIPROCAL, B)));
    bad(FLOAT_UNARY, value_of(un(IR_UN_IS_NAN, A)));
    good(store("db", u32(0), un(IR_UN_IS_INF, X)),
         value_of(add(un(IR_UN_SIGN, X), un(IR_UN_RECIPROCAL, X))));
    good(store("db", u32(0), un(IR_UN_IS_NAN, X)), store("db", u32(0), un(IR_UN_IS_FINITE, X)));
    good(value_of(add(un(IR_UN_SIGN, X), un(IR_UN_EXP, X))));
    bad(UNARY_OPERATOR, value_of(un(IR_UN_UNPACK4_LOW, A)));
    bad(UNARY_OPERATOR, value_of(un(IR_UN_UNPACK8_HIGH, A)));
    bad(UNARY_OPERATOR, value_of(un(IR_OP_EXTENSION, A)));

    bad(FMA, value_of(fma_(X, A, X)));
    good(value_of(add(fma_(X, f32(1), X), X)));
    bad(SELECT, value_of(select_(bool_(1), X, u32(1))));
    bad(SELECT, value_of(cast(IR_TYPE_U32, select_(bool_(1), A, I))));
    good(store("o", u32(0), select_(X, A, u32(1))), value_of(select_(I, Q, Q)));
    bad(AXIS, value_of(gid(3)));
    bad(AXIS, value_of(wid(255)));
    bad(AXIS, value_of(lid(3)));
    good(value_of(add(gid(2), add(wid(2), lid(2)))));
}

/* May a value of type `from` be cast to type `to`? Written down once more, pair by pair. */
static void casts(void)
{
    static const char *const pairs[] = {
        "u32:u32 i32 u64 bool u8 u16 i8 i16 i64 f32 vec2_u32 vec4_u32",
        "i32:u32 i32 u64 bool u8 u16 i8 i16 i64 f32 vec2_u32 vec4_u32",
        "bool:u32 i32 u64 bool u8 u16 i8 i16 i64 f32 vec2_u32 vec4_u32",
        "u64:u32 i32 u64 bool u8 u16 i8 i16 i64 vec2_u32",
        "u8:u32 i32 u64 bool u8 u16 i8 i16 i64",
        "u16:u32 i32 u64 bool u8 u16 i8 i16 i64",
        "i8:u32 i32 u64 bool u8 u16 i8 i16 i64",
        "i16:u32 i32 u64 bool u8 u16 i8 i16 i64",
        "i64:u32 i32 u64 bool u8 u16 i8 i16 i64",
        "f32:u32 i32 bool f32",
        "vec2_u32:u32 i32 bool u64 vec2_u32",
        "vec4_u32:u32 i32 bool u64 vec2_u32 vec4_u32",
    };
    for (uint32_t from = 1; from <= IR_TYPE_QUANTIZED; from++)
        for (uint32_t to = 1; to <= IR_TYPE_QUANTIZED; to++) {
            const char *target = vyre_ir_type_word(to), *source = vyre_ir_type_word(from);
            char text[64], word[32];
            int legal = from == to;
            if (from == IR_TYPE_BYTES) continue;
            snprintf(word, sizeof word, " %s ", target);
            for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
                char line[128];
                size_t length = strcspn(pairs[i], ":");
                snprintf(line, sizeof line, " %s ", pairs[i] + length + 1);
                if (length == strlen(source) && strncmp(pairs[i], source, length) == 0)
                    legal = legal || strstr(line, word) != NULL;
            }
            snprintf(text, sizeof text, "cast of %s to %s", source, target);
            start();
            in("from", (uint8_t)from, 8);
            judge(legal                 ? IR_RULE_NONE
                  : to == IR_TYPE_BYTES ? IR_RULE_CAST_BYTES
                                        : IR_RULE_CAST,
                  1, text, program(let("t", cast((uint8_t)to, load("from", u32(0))))));
        }
    start();
    struct ir_expr *first = cast(IR_TYPE_ARRAY, load("from", u32(0)));
    struct ir_buffer *from = in("from", IR_TYPE_ARRAY, 8);
    from->type.a = 4;
    ((struct ir_type *)(uintptr_t)first->type)->a = 4;
    judge(IR_RULE_NONE, 1, "an array to the same array", program(let("t", first)));
    start();
    first = cast(IR_TYPE_ARRAY, load("from", u32(0)));
    from = in("from", IR_TYPE_ARRAY, 8);
    from->type.a = 4;
    judge(IR_RULE_CAST, 1, "an array to a shorter one", program(let("t", first)));
}

static void compare(enum ir_rule rule, const char *text, struct ir_type left, struct ir_type right)
{
    start();
    in("left", IR_TYPE_U32, 8)->type = left;
    in("right", IR_TYPE_U32, 8)->type = right;
    judge(rule, 1, text, program(let("t", eq(load("left", u32(0)), load("right", u32(0))))));
}

/* Types are the same where everything about them is. */
static void sameness(void)
{
    static const uint32_t dims[] = {2, 3, 2, 4};
    static const struct ir_type u8 = {.tag = IR_TYPE_U8}, i8 = {.tag = IR_TYPE_I8};
    struct ir_type vec = {.tag = IR_TYPE_VEC, .lanes = 3, .element = &u8}, other = vec;
    compare(IR_RULE_NONE, "vectors", vec, other);
    other.lanes = 2;
    compare(IR_RULE_COMPARE, "vectors of other lengths", vec, other);
    other = vec;
    other.element = &i8;
    compare(IR_RULE_COMPARE, "vectors of other elements", vec, other);
    other.element = NULL;
    compare(IR_RULE_COMPARE, "a vector without elements", vec, other);
    compare(IR_RULE_COMPARE, "the other way", other, vec);
    struct ir_type tensor = {
        .tag = IR_TYPE_TENSOR_SHAPED, .dim_count = 2, .dims = dims, .element = &u8};
    other = tensor;
    compare(IR_RULE_NONE, "tensors", tensor, other);
    other.dims = dims + 2;
    compare(IR_RULE_COMPARE, "tensors of another shape", tensor, other);
    other.dims = dims;
    other.dim_count = 1;
    compare(IR_RULE_COMPARE, "tensors of another rank", tensor, other);
    struct ir_type packed = {
        .tag = IR_TYPE_QUANTIZED, .scale = 1, .zero = 2, .a = 3, .b = 4, .element = &u8};
    other = packed;
    compare(IR_RULE_NONE, "quantized", packed, other);
    other.scale = 2;
    compare(IR_RULE_COMPARE, "another scale", packed, other);
    other = packed;
    other.zero = 3;
    compare(IR_RULE_COMPARE, "another zero point", packed, other);
    other = packed;
    other.a = 4;
    compare(IR_RULE_COMPARE, "another axis of the scale", packed, other);
    other = packed;
    other.b = 5;
    compare(IR_RULE_COMPARE, "another axis of the zero point", packed, other);
}

static void subgroups(void)
{
    for (uint32_t has = 0; has < 2; has++) {
        enum ir_rule rule = has ? IR_RULE_NONE : IR_RULE_SUBGROUPS;
        start();
        judge(rule, has, "subgroup_add", program(store("o", u32(0), subgroup_add(A))));
        start();
        judge(rule, has, "subgroup_shuffle",
              program(store("di", u32(0), subgroup_shuffle(I, u32(0)))));
        start();
        judge(rule, has, "subgroup_ballot", program(store("o", u32(0), subgroup_ballot(X))));
        start();
        judge(rule, has, "subgroup_size",
              program(store("o", u32(0), expr(IR_EXPR_SUBGROUP_SIZE, NULL, NULL, NULL)),
                      store("o", u32(0), expr(IR_EXPR_SUBGROUP_LOCAL_ID, NULL, NULL, NULL))));
    }
}

#endif
