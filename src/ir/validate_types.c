/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Types as the validator compares them, and the table of casts.
 */
#include <string.h>

#include "ir/validate.h"

const struct ir_type vyre_vld_u32 = {.tag = IR_TYPE_U32};
const struct ir_type vyre_vld_i32 = {.tag = IR_TYPE_I32};
const struct ir_type vyre_vld_f32 = {.tag = IR_TYPE_F32};
const struct ir_type vyre_vld_bool = {.tag = IR_TYPE_BOOL};

/* Elements of elements form a chain, however long: no recursion. */
bool vyre_vld_same(const struct ir_type *a, const struct ir_type *b)
{
    while (a != b) {
        if (!a || !b || a->tag != b->tag || a->lanes != b->lanes || a->scale != b->scale ||
            a->zero != b->zero || a->a != b->a || a->b != b->b || a->dim_count != b->dim_count)
            return false;
        if (a->dim_count > 0 && memcmp(a->dims, b->dims, a->dim_count * sizeof a->dims[0]) != 0)
            return false;
        a = a->element;
        b = b->element;
    }
    return true;
}

bool vyre_vld_is(const struct ir_type *type, uint32_t tag)
{
    return type && type->tag == tag;
}

const char *vyre_vld_word(const struct ir_type *type)
{
    const char *word = type ? vyre_ir_type_word(type->tag) : NULL;
    return word ? word : "?";
}

#define BIT(name) (1u << IR_TYPE_##name)
#define WORDS     (BIT(U32) | BIT(I32) | BIT(BOOL))
#define INTEGERS  (WORDS | BIT(U8) | BIT(U16) | BIT(U64) | BIT(I8) | BIT(I16) | BIT(I64))
#define VECTORS   (BIT(VEC2_U32) | BIT(VEC4_U32))

bool vyre_vld_castable(const struct ir_type *from, const struct ir_type *to)
{
    /* By the type cast from: what it can be cast to, beside itself. */
    static const uint32_t targets[32] = {
        [IR_TYPE_U8] = INTEGERS,
        [IR_TYPE_U16] = INTEGERS,
        [IR_TYPE_I8] = INTEGERS,
        [IR_TYPE_I16] = INTEGERS,
        [IR_TYPE_I64] = INTEGERS,
        [IR_TYPE_U64] = INTEGERS | BIT(VEC2_U32),
        [IR_TYPE_U32] = INTEGERS | BIT(F32) | VECTORS,
        [IR_TYPE_I32] = INTEGERS | BIT(F32) | VECTORS,
        [IR_TYPE_BOOL] = INTEGERS | BIT(F32) | VECTORS,
        [IR_TYPE_F32] = WORDS,
        [IR_TYPE_VEC2_U32] = WORDS | BIT(U64),
        [IR_TYPE_VEC4_U32] = WORDS | BIT(U64) | BIT(VEC2_U32),
    };
    if (vyre_vld_same(from, to)) return true;
    return from->tag < 32 && to->tag < 32 && (targets[from->tag] >> to->tag & 1) != 0;
}
