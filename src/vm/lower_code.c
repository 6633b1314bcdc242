/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Registers, constants and instructions of the lowering. An instruction whose sources are all
 * scalar gets a scalar result, one whose sources are all constant is not made at all: so uniform
 * and constant values need no analysis of their own.
 */
#include <string.h>

#include "vm/lower.h"

#define NOTHING ((struct low_value){0, 0})

uint32_t vyre_low_reg(struct lowering *low, uint32_t width, int scalar)
{
    if (!low_room(low, (void **)&low->regs, &low->reg_room, low->reg_count, sizeof *low->regs))
        return 0;
    low->regs[low->reg_count] =
        (struct low_reg){.width = (uint8_t)width, .scalar = (uint8_t)(scalar != 0)};
    return low->reg_count++;
}

static uint32_t new_constant(struct lowering *low, const uint32_t *words, uint32_t count)
{
    uint32_t reg = vyre_low_reg(low, count, 1);
    if (!reg) return 0;
    uint32_t first = low->word_count;
    for (uint32_t i = 0; i < count; i++) {
        if (!low_room(low, (void **)&low->words, &low->word_room, low->word_count,
                      sizeof *low->words))
            return 0;
        low->words[low->word_count++] = words[i];
    }
    low->regs[reg].constant = 1;
    low->regs[reg].named = 1;
    low->regs[reg].first = first;
    return reg;
}

static int is_constant(const struct lowering *low, uint32_t reg, const uint32_t *words,
                       uint32_t count)
{
    const uint32_t *has = low->words + low->regs[reg].first;
    if (low->regs[reg].width != count) return 0;
    for (uint32_t k = 0; k < count; k++)
        if (has[k] != words[k]) return 0;
    return 1;
}

/* Floats differ in their high bits, integers in the low ones: the index comes from the middle of a
 * product of 64 bits, which has both. */
static uint32_t *map_slot(const struct lowering *low, const uint32_t *words, uint32_t count)
{
    uint32_t mask = low->constant_map_size - 1;
    uint64_t hash = 0;
    for (uint32_t k = 0; k < count; k++)
        hash = (hash ^ hash >> 32 ^ words[k]) * 0x9E3779B97F4A7C15u;
    uint32_t i = (uint32_t)(hash >> 32) & mask;
    while (low->constant_map[i] != 0 && !is_constant(low, low->constant_map[i], words, count))
        i = (i + 1) & mask;
    return &low->constant_map[i];
}

static int map_grow(struct lowering *low)
{
    uint32_t *old = low->constant_map, size = low->constant_map_size;
    void *fresh;
    if (low->status != VYRE_OK) return 0;
    low->status = vyre_memory_alloc(low->memory, (size_t)size * 2, sizeof *old,
                                    "table of constants", &fresh, low->err);
    if (low->status != VYRE_OK) return 0;
    low->constant_map = fresh;
    low->constant_map_size = size * 2;
    for (uint32_t i = 0; i < size; i++)
        if (old[i] != 0)
            *map_slot(low, low->words + low->regs[old[i]].first, low->regs[old[i]].width) = old[i];
    vyre_memory_free(low->memory, old, (size_t)size * sizeof *old);
    return 1;
}

static struct low_value constant(struct lowering *low, uint32_t kinds, const uint32_t *words,
                                 uint32_t count)
{
    if (low->constant_map_used * 2 >= low->constant_map_size && !map_grow(low)) return NOTHING;
    uint32_t *slot = map_slot(low, words, count);
    if (*slot == 0) {
        *slot = new_constant(low, words, count);
        low->constant_map_used++;
    }
    return (struct low_value){*slot, kinds};
}

struct low_value vyre_low_constant(struct lowering *low, uint32_t kinds, uint32_t word)
{
    return constant(low, kinds, &word, 1);
}

struct low_value vyre_low_wide_constant(struct lowering *low, uint32_t kinds,
                                        const uint32_t words[4])
{
    return constant(low, kinds, words, low_words(kinds));
}

/* The next instruction, to be filled in; NULL after an error. */
static struct low_insn *next_insn(struct lowering *low)
{
    if (low->code.count >= VM_MAX_CODE) {
        vyre_low_limit(low, "instructions", (uint64_t)low->code.count + 1, VM_MAX_CODE);
        return NULL;
    }
    if (!low_room(low, (void **)&low->code.at, &low->code.room, low->code.count,
                  sizeof *low->code.at))
        return NULL;
    return &low->code.at[low->code.count++];
}

uint32_t vyre_low_emit(struct lowering *low, const struct low_insn *insn)
{
    struct low_insn *at = next_insn(low);
    if (!at) return 0;
    *at = *insn;
    at->source = low->source;
    return low->code.count - 1;
}

uint32_t vyre_low_prologue(struct lowering *low, const struct low_insn *insn, int scalar)
{
    uint32_t reg = vyre_low_reg(low, 1, scalar);
    if (!low_room(low, (void **)&low->prologue.at, &low->prologue.room, low->prologue.count,
                  sizeof *low->prologue.at))
        return 0;
    struct low_insn *at = &low->prologue.at[low->prologue.count++];
    *at = *insn;
    at->d = low_at(reg, 0);
    at->source = low->source;
    low->regs[reg].named = 1;
    return reg;
}

int vyre_low_is_constant(const struct lowering *low, low_word word, uint32_t *value)
{
    const struct low_reg *reg = &low->regs[word >> 2];
    if (word == 0 || !reg->constant) return 0;
    *value = low->words[reg->first + (word & 3)];
    return 1;
}

/* The words of constant sources; 0 where one is not constant. */
static int constant_args(const struct lowering *low, const low_word args[3], uint32_t out[3][2])
{
    if (!low->regs[args[0] >> 2].constant) return 0;
    memset(out, 0, sizeof(uint32_t) * 6);
    for (uint32_t i = 0; i < 3 && args[i] != 0; i++) {
        const struct low_reg *reg = &low->regs[args[i] >> 2];
        if (!reg->constant) return 0;
        uint32_t word = args[i] & 3;
        out[i][0] = low->words[reg->first + word];
        if (word + 1 < reg->width) out[i][1] = low->words[reg->first + word + 1];
    }
    return 1;
}

static int all_scalar(const struct lowering *low, const low_word args[3])
{
    for (uint32_t i = 0; i < 3 && args[i] != 0; i++)
        if (!low->regs[args[i] >> 2].scalar) return 0;
    return 1;
}

struct low_value vyre_low_op(struct lowering *low, uint32_t op, uint32_t kinds,
                             const low_word args[3])
{
    uint32_t known[3][2], result[4] = {0};
    if (low->status != VYRE_OK) return NOTHING;
    if (constant_args(low, args, known) && vyre_low_fold(op, known, result))
        return vyre_low_wide_constant(low, kinds, result);
    uint32_t reg = vyre_low_reg(low, low_words(kinds), all_scalar(low, args));
    struct low_insn *at = next_insn(low);
    if (!at) return NOTHING;
    /* Field by field: to copy from the stack what was just written there in pieces stalls. */
    at->op = (uint16_t)op;
    at->flags = at->notes = 0;
    at->d = low_at(reg, 0);
    at->a = args[0];
    at->b = args[1];
    at->c = args[2];
    at->imm = 0;
    at->source = low->source;
    return (struct low_value){reg, kinds};
}

struct low_value vyre_low_op1(struct lowering *low, uint32_t op, uint32_t kinds, low_word a)
{
    return vyre_low_op(low, op, kinds, (const low_word[3]){a, 0, 0});
}

struct low_value vyre_low_op2(struct lowering *low, uint32_t op, uint32_t kinds, low_word a,
                              low_word b)
{
    return vyre_low_op(low, op, kinds, (const low_word[3]){a, b, 0});
}

struct low_value vyre_low_checked(struct lowering *low, uint32_t op, uint32_t kinds, low_word a,
                                  low_word b)
{
    uint32_t word;
    int division = op == VM_OP_IDIV || op == VM_OP_IMOD;
    int known = vyre_low_is_constant(low, b, &word);
    int safe = known && (division             ? word != 0 && word != UINT32_MAX
                         : op == VM_OP_NOTNEG ? word >> 31 == 0
                                              : word == 0);
    if (low->status != VYRE_OK) return NOTHING;
    if (safe && !division) return (struct low_value){a >> 2, kinds};
    uint32_t reg = vyre_low_reg(low, 1, safe && all_scalar(low, (const low_word[3]){a, b, 0}));
    vyre_low_emit(
        low,
        &(struct low_insn){
            .op = (uint16_t)op, .notes = safe ? LOW_SAFE : 0, .d = low_at(reg, 0), .a = a, .b = b});
    return (struct low_value){reg, kinds};
}

struct low_insn *vyre_low_last(struct lowering *low, struct low_value value)
{
    if (low->code.count == 0 || low->regs[value.reg].named || value.reg == 0) return NULL;
    struct low_insn *last = &low->code.at[low->code.count - 1];
    return last->d == low_at(value.reg, 0) ? last : NULL;
}

void vyre_low_write(struct lowering *low, uint32_t reg, struct low_value value, int masked)
{
    if (low->status != VYRE_OK || reg == value.reg) return;
    uint8_t flags = masked ? VM_MASKED : 0;
    struct low_insn *last = vyre_low_last(low, value);
    /* What is computed once and goes to all lanes may as well be computed by all, if it only
     * computes. */
    int reads = last && (last->a >> 2 == reg || last->b >> 2 == reg || last->c >> 2 == reg);
    int fits = last && !(reads && low_keeps_sources(last->op)) &&
               (low->regs[reg].scalar == low->regs[value.reg].scalar ||
                (!low->regs[reg].scalar && last->op < VM_OP_IDIV));
    if (fits && low->regs[reg].width == low->regs[value.reg].width) {
        last->d = low_at(reg, 0);
        last->flags = flags;
        return;
    }
    for (uint32_t i = 0; i < low->regs[reg].width; i++)
        vyre_low_emit(low, &(struct low_insn){.op = VM_OP_MOV,
                                              .flags = flags,
                                              .d = low_at(reg, i),
                                              .a = low_at(value.reg, i)});
}

low_word vyre_low_vector(struct lowering *low, low_word word)
{
    if (!low->regs[word >> 2].scalar) return word;
    uint32_t reg = vyre_low_reg(low, 1, 0);
    vyre_low_emit(low, &(struct low_insn){.op = VM_OP_MOV, .d = low_at(reg, 0), .a = word});
    return low_at(reg, 0);
}
