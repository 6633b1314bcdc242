/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Registers. A value is kept from the first instruction with it to the last; where it was there
 * before a loop and is touched inside, to the end of the outermost such loop, because the next
 * round may need it. That is all the liveness there is: what is declared inside a loop is written
 * in each round before it is read. The lowest free register is taken, which is as few as intervals
 * allow as long as values have one word.
 */
#include <string.h>

#include "vm/lower.h"

#define MAX_LOOPS 128u /* the validator allows 64 statements in each other */

struct bank {
    uint64_t taken[VM_MAX_SCALARS / 64];
    uint32_t first; /* that may be taken */
    uint32_t room;
    uint32_t most; /* one above the highest that was taken */
};

struct walk {
    uint32_t end[MAX_LOOPS]; /* last instruction of each open loop */
    uint32_t depth;
};

static void touch(struct lowering *low, const struct walk *walk, low_word word, uint32_t at)
{
    struct low_reg *reg = &low->regs[word >> 2];
    if (word == 0 || reg->constant) return;
    if (reg->first == IR_NONE) {
        reg->first = at;
        reg->loops = (uint8_t)walk->depth;
        reg->last = at;
    }
    uint32_t until = walk->depth > reg->loops ? walk->end[reg->loops] : at;
    if (until > reg->last) reg->last = until;
}

static void find_intervals(struct lowering *low)
{
    struct walk walk = {.depth = 0};
    for (uint32_t i = 1; i < low->reg_count; i++)
        if (!low->regs[i].constant) low->regs[i].first = IR_NONE;
    for (uint32_t i = 0; i < low->code.count; i++) {
        const struct low_insn *insn = &low->code.at[i];
        touch(low, &walk, insn->a, i);
        touch(low, &walk, insn->b, i);
        touch(low, &walk, insn->c, i);
        touch(low, &walk, insn->d, i);
        if (insn->op == VM_OP_NEXT || insn->op == VM_OP_VNEXT) walk.depth--;
        if (insn->op != VM_OP_LOOP && insn->op != VM_OP_VLOOP) continue;
        if (walk.depth == MAX_LOOPS) {
            vyre_low_limit(low, "nested loops", MAX_LOOPS + 1u, MAX_LOOPS);
            return;
        }
        walk.end[walk.depth++] = insn->imm - 1;
    }
}

static int is_free(const struct bank *bank, uint32_t place)
{
    return !(bank->taken[place / 64] >> (place % 64) & 1);
}

static void mark(struct bank *bank, const struct low_reg *reg, int taken)
{
    for (uint32_t i = reg->place; i < (uint32_t)reg->place + reg->width; i++) {
        uint64_t bit = (uint64_t)1 << (i % 64);
        bank->taken[i / 64] = taken ? bank->taken[i / 64] | bit : bank->taken[i / 64] & ~bit;
    }
}

/* The lowest place that is free; bank->room if there is none. */
static uint32_t find_one(const struct bank *bank)
{
    uint64_t below = ((uint64_t)1 << (bank->first % 64)) - 1;
    for (uint32_t i = bank->first / 64; i < bank->room / 64; i++, below = 0) {
        uint64_t open = ~(bank->taken[i] | below);
        if (open != 0) return i * 64 + (uint32_t)__builtin_ctzll(open);
    }
    return bank->room;
}

/* The lowest place with `width` free ones in a row; bank->room if there is none. */
static uint32_t find_place(const struct bank *bank, uint32_t width)
{
    uint32_t row = 0;
    if (width == 1) return find_one(bank);
    for (uint32_t i = bank->first; i < bank->room; i++) {
        if (row == 0 && i % 64 == 0 && bank->taken[i / 64] == UINT64_MAX) {
            i += 63;
            continue;
        }
        row = is_free(bank, i) ? row + 1 : 0;
        if (row == width) return i + 1 - width;
    }
    return bank->room;
}

static void take(struct lowering *low, struct bank *bank, struct low_reg *reg, uint32_t wish)
{
    uint32_t place = wish != IR_NONE && is_free(bank, wish) ? wish : find_place(bank, reg->width);
    if (place >= bank->room) {
        vyre_low_limit(low, reg->scalar ? "uniform values and constants" : "live values",
                       (uint64_t)bank->room + reg->width, bank->room);
        return;
    }
    reg->place = (uint16_t)place;
    mark(bank, reg, 1);
    if (place + reg->width > bank->most) bank->most = place + reg->width;
}

static int is_wide(const struct lowering *low, low_word word)
{
    const struct low_reg *reg = &low->regs[word >> 2];
    return reg->width > 1 && !reg->constant;
}

/* Where the sources must be whole until the result is. */
static int keeps_sources(const struct lowering *low, const struct low_insn *insn)
{
    return is_wide(low, insn->d) || is_wide(low, insn->a) || is_wide(low, insn->b) ||
           is_wide(low, insn->c) || low_keeps_sources(insn->op);
}

enum ending { LIVED = 1, /* began before the instruction at which they end */ UNREAD = 2 };

/* Frees those of a list that end at one instruction, of one or both kinds. */
static void release(struct lowering *low, struct bank banks[2], uint32_t list, uint32_t which)
{
    for (uint32_t i = list; i != 0; i = low->regs[i].next) {
        struct low_reg *reg = &low->regs[i];
        if (which & (reg->first < reg->last ? LIVED : UNREAD)) mark(&banks[reg->scalar], reg, 0);
    }
}

static void give(struct lowering *low, struct bank banks[2], const uint32_t *ends)
{
    for (uint32_t i = 0; i < low->code.count && low->status == VYRE_OK; i++) {
        const struct low_insn *insn = &low->code.at[i];
        if (insn->op == VM_OP_NONE) continue;
        struct low_reg *reg = &low->regs[insn->d >> 2];
        int late = keeps_sources(low, insn);
        uint32_t wish = IR_NONE;
        if (!late) release(low, banks, ends[i], LIVED);
        if (insn->op == VM_OP_MOV && !late && low->regs[insn->a >> 2].scalar == reg->scalar &&
            !low->regs[insn->a >> 2].constant)
            wish = low->regs[insn->a >> 2].place;
        if (insn->d != 0 && reg->first == i) take(low, &banks[reg->scalar], reg, wish);
        release(low, banks, ends[i], late ? LIVED | UNREAD : UNREAD);
    }
}

static void place_constants(struct lowering *low)
{
    for (uint32_t i = 1; i < low->reg_count; i++) {
        struct low_reg *reg = &low->regs[i];
        if (!reg->constant || reg->uses == 0) continue;
        reg->place = (uint16_t)low->constant_count;
        low->constant_count += reg->width;
        if (low->constant_count > VM_MAX_SCALARS) {
            vyre_low_limit(low, "constants", low->constant_count, VM_MAX_SCALARS);
            return;
        }
    }
}

void vyre_low_allocate(struct lowering *low)
{
    void *ends;
    if (low->status != VYRE_OK) return;
    low->constant_count = 0;
    place_constants(low);
    find_intervals(low);
    if (low->status != VYRE_OK) return;
    low->status = vyre_memory_alloc(low->memory, low->code.count, sizeof(uint32_t),
                                    "ends of live values", &ends, low->err);
    if (low->status != VYRE_OK) return;
    for (uint32_t i = 1; i < low->reg_count; i++) {
        struct low_reg *reg = &low->regs[i];
        if (reg->constant || reg->first == IR_NONE) continue;
        reg->next = ((uint32_t *)ends)[reg->last];
        ((uint32_t *)ends)[reg->last] = i;
    }
    struct bank banks[2];
    memset(banks, 0, sizeof banks);
    banks[0].room = VM_MAX_REGISTERS;
    banks[1].room = VM_MAX_SCALARS;
    banks[1].first = banks[1].most = low->constant_count;
    give(low, banks, ends);
    low->register_count = banks[0].most;
    low->scalar_count = banks[1].most;
    vyre_memory_free(low->memory, ends, low->code.count * sizeof(uint32_t));
}
