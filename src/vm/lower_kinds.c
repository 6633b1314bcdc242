/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * VIR0 is defined by an interpreter whose values know their kind: a mask of an i32 is an i32,
 * whatever the validator calls it, and two kinds in one operation end the program. Here the kind is
 * known before the program runs, or the program is refused.
 */
#include <stdio.h>

#include "vm/lower.h"

#define NOTHING ((struct low_value){0, 0})

const char *vyre_low_kind_name(uint32_t kinds, char text[64])
{
    static const char *const names[] = {"u32", "i32", "bool",    "f32",
                                        "raw", "u64", "8 bytes", "16 bytes"};
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!(kinds >> i & 1)) continue;
        int more = snprintf(text + length, 64 - length, "%s%s", length ? " or " : "", names[i]);
        if (more > 0 && length + (size_t)more < 64) length += (size_t)more;
    }
    return text;
}

static struct low_value cannot_cast(struct lowering *low, const char *to, struct low_value value)
{
    char name[64];
    vyre_low_refuse(low, low->source, "a value that is %s cannot become %s",
                    vyre_low_kind_name(value.kinds, name), to);
    return NOTHING;
}

struct low_value vyre_low_truth(struct lowering *low, struct low_value value)
{
    low_word word = low_at(value.reg, 0);
    if (low->status != VYRE_OK || value.kinds == LOW_BOOL) return value;
    if ((value.kinds & ~(uint32_t)LOW_WORD) == 0)
        return vyre_low_op1(low, VM_OP_TRUE, LOW_BOOL, word);
    if (value.kinds == LOW_F32) return vyre_low_op1(low, VM_OP_FTRUE, LOW_BOOL, word);
    if (value.kinds == LOW_U64) return vyre_low_op1(low, VM_OP_DTRUE, LOW_BOOL, word);
    /* More bytes than a word has are true, whatever they hold. */
    if ((value.kinds & ~(uint32_t)(LOW_RAW8 | LOW_RAW16)) == 0)
        return vyre_low_constant(low, LOW_BOOL, 1);
    return cannot_cast(low, "a condition", value);
}

low_word vyre_low_condition(struct lowering *low, struct low_value value)
{
    if ((value.kinds & ~(uint32_t)LOW_WORD) == 0) return low_at(value.reg, 0);
    return low_at(vyre_low_truth(low, value).reg, 0);
}

/* A float as an index: toward 0, from 0 up to the greatest word. */
static low_word float_index(struct lowering *low, low_word value)
{
    low_word zero = low_at(vyre_low_constant(low, LOW_F32, 0).reg, 0);
    low_word end = low_at(vyre_low_constant(low, LOW_F32, 0x4F800000u).reg, 0);
    low_word from = low_at(vyre_low_op2(low, VM_OP_FLE, LOW_BOOL, zero, value).reg, 0);
    low_word below = low_at(vyre_low_op2(low, VM_OP_FLT, LOW_BOOL, value, end).reg, 0);
    low_word fits = low_at(vyre_low_op2(low, VM_OP_BAND, LOW_BOOL, from, below).reg, 0);
    low_word bad = low_at(vyre_low_op1(low, VM_OP_BNOT, LOW_BOOL, fits).reg, 0);
    low_word bits = low_at(vyre_low_op1(low, VM_OP_F2BITS, LOW_U32, value).reg, 0);
    vyre_low_emit(
        low, &(struct low_insn){.op = VM_OP_TRAPIF, .a = bad, .b = bits, .imm = VM_TRAP_INDEX});
    return low_at(vyre_low_op1(low, VM_OP_F2U, LOW_U32, value).reg, 0);
}

low_word vyre_low_index(struct lowering *low, struct low_value value)
{
    low_word word = low_at(value.reg, 0);
    if (low->status != VYRE_OK) return 0;
    if ((value.kinds & ~(uint32_t)(LOW_WORD & ~LOW_I32)) == 0) return word;
    switch (value.kinds) {
    case LOW_I32:
        return low_at(vyre_low_checked(low, VM_OP_NOTNEG, LOW_U32, word, word).reg, 0);
    case LOW_U64:
        return low_at(vyre_low_checked(low, VM_OP_NOHIGH, LOW_U32, word, low_at(value.reg, 1)).reg,
                      0);
    case LOW_F32:
        return float_index(low, word);
    default:
        return low_at(cannot_cast(low, "an index", value).reg, 0);
    }
}

struct low_value vyre_low_widen(struct lowering *low, uint32_t kinds, struct low_value value)
{
    uint32_t has = low_words(value.kinds), wants = low_words(kinds);
    if (low->status != VYRE_OK) return NOTHING;
    if (has >= wants) return (struct low_value){value.reg, kinds};
    if (low->regs[value.reg].constant) {
        uint32_t words[4] = {0};
        for (uint32_t i = 0; i < has; i++)
            words[i] = low->words[low->regs[value.reg].first + i];
        return vyre_low_wide_constant(low, kinds, words);
    }
    uint32_t reg = vyre_low_reg(low, wants, low->regs[value.reg].scalar);
    low_word zero = low_at(vyre_low_constant(low, LOW_U32, 0).reg, 0);
    for (uint32_t i = 0; i < wants; i++)
        vyre_low_emit(low, &(struct low_insn){.op = VM_OP_MOV,
                                              .d = low_at(reg, i),
                                              .a = i < has ? low_at(value.reg, i) : zero});
    return (struct low_value){reg, kinds};
}

static struct low_value cast_u32(struct lowering *low, struct low_value value)
{
    low_word word = low_at(value.reg, 0);
    if ((value.kinds & ~(uint32_t)LOW_WORD) == 0) return (struct low_value){value.reg, LOW_U32};
    if (value.kinds == LOW_F32) return vyre_low_op1(low, VM_OP_F2U, LOW_U32, word);
    if (value.kinds == LOW_U64)
        return vyre_low_checked(low, VM_OP_NOHIGH, LOW_U32, word, low_at(value.reg, 1));
    return cannot_cast(low, "u32: only up to 4 bytes can", value);
}

static struct low_value cast_i32(struct lowering *low, struct low_value value)
{
    if (value.kinds == LOW_F32) return vyre_low_op1(low, VM_OP_F2I, LOW_I32, low_at(value.reg, 0));
    value = cast_u32(low, value);
    return (struct low_value){value.reg, LOW_I32};
}

static struct low_value cast_u64(struct lowering *low, struct low_value value)
{
    low_word word = low_at(value.reg, 0);
    if ((value.kinds & ~(uint32_t)(LOW_U64 | LOW_RAW8)) == 0)
        return (struct low_value){value.reg, LOW_U64};
    if (value.kinds == LOW_I32) value = vyre_low_checked(low, VM_OP_NOTNEG, LOW_U32, word, word);
    if ((value.kinds & ~(uint32_t)(LOW_WORD & ~LOW_I32)) == 0)
        return vyre_low_widen(low, LOW_U64, value);
    return cannot_cast(low, "u64", value);
}

static struct low_value cast_f32(struct lowering *low, struct low_value value)
{
    low_word word = low_at(value.reg, 0);
    if (value.kinds == LOW_F32) return value;
    if (value.kinds == LOW_I32) return vyre_low_op1(low, VM_OP_I2F, LOW_F32, word);
    if (value.kinds == LOW_U64) return vyre_low_op1(low, VM_OP_D2F, LOW_F32, word);
    if ((value.kinds & ~(uint32_t)(LOW_WORD & ~LOW_I32)) == 0)
        return vyre_low_op1(low, VM_OP_U2F, LOW_F32, word);
    return cannot_cast(low, "f32", value);
}

struct low_value vyre_low_cast(struct lowering *low, const struct ir_type *type,
                               struct low_value value)
{
    if (low->status != VYRE_OK) return NOTHING;
    switch (type->tag) {
    case IR_TYPE_U32:
        return cast_u32(low, value);
    case IR_TYPE_I32:
        return cast_i32(low, value);
    case IR_TYPE_U64:
        return cast_u64(low, value);
    case IR_TYPE_F32:
        return cast_f32(low, value);
    case IR_TYPE_BOOL:
        return vyre_low_truth(low, value);
    default:
        break;
    }
    /* A float would become the 8 bytes of a double: nothing that can be used afterwards. */
    if (value.kinds & LOW_F32) return cannot_cast(low, "raw bytes", value);
    if (type->tag == IR_TYPE_VEC2_U32) return vyre_low_widen(low, LOW_RAW8, value);
    if (type->tag == IR_TYPE_VEC4_U32) return vyre_low_widen(low, LOW_RAW16, value);
    uint32_t words = low_words(value.kinds);
    return (struct low_value){value.reg, words == 1 ? LOW_RAW4 : words == 2 ? LOW_RAW8 : LOW_RAW16};
}
