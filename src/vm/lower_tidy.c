/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * From prologue and body one list; then what nobody reads goes, and pairs become one instruction.
 * Instructions are removed by making them VM_OP_NONE, so that targets stay right.
 */
#include <string.h>

#include "vm/lower.h"

/* How far behind its second half the first half of a pair may lie. */
#define REACH 64u

static int join(struct lowering *low)
{
    uint32_t before = low->prologue.count, count = low->code.count;
    if (before == 0) return 1;
    for (uint32_t i = 0; i < count; i++)
        if (low_has_target(low->code.at[i].op)) low->code.at[i].imm += before;
    for (uint32_t i = 0; i < before; i++)
        if (!low_room(low, (void **)&low->code.at, &low->code.room, count + i,
                      sizeof *low->code.at))
            return 0;
    memmove(low->code.at + before, low->code.at, count * sizeof *low->code.at);
    memcpy(low->code.at, low->prologue.at, before * sizeof *low->code.at);
    low->code.count = count + before;
    return 1;
}

static void count_uses(struct lowering *low)
{
    for (uint32_t i = 0; i < low->code.count; i++) {
        const struct low_insn *insn = &low->code.at[i];
        low->regs[insn->a >> 2].uses++;
        low->regs[insn->b >> 2].uses++;
        low->regs[insn->c >> 2].uses++;
        low->regs[insn->d >> 2].defs++;
        low->regs[insn->d >> 2].def = i;
        if (insn->op == VM_OP_NEXT || insn->op == VM_OP_VNEXT) low->regs[insn->d >> 2].uses++;
    }
}

/* Whether an instruction does nothing but make its result. */
static int only_computes(const struct low_insn *insn)
{
    if (insn->d == 0) return 0;
    if (insn->op < VM_OP_IDIV) return 1;
    switch (insn->op) {
    case VM_OP_MOV:
    case VM_OP_LOCALID:
    case VM_OP_GLOBALID:
    case VM_OP_GROUPID:
    case VM_OP_BUFLEN:
    case VM_OP_SGADD:
    case VM_OP_SGFADD:
    case VM_OP_SGSHUF:
    case VM_OP_SGBALLOT:
        return 1;
    case VM_OP_IDIV:
    case VM_OP_IMOD:
    case VM_OP_LD8:
    case VM_OP_LD16:
    case VM_OP_LD32:
    case VM_OP_LDF32:
    case VM_OP_LD64:
    case VM_OP_LD128:
        return insn->notes & LOW_SAFE;
    default:
        return 0;
    }
}

/* One reader less. Where it was the last one of what is written behind it, for the next round of a
 * loop, that has to be looked at again: *next moves there. */
static void let_go(struct lowering *low, low_word word, uint32_t *next)
{
    struct low_reg *reg = &low->regs[word >> 2];
    if (word != 0 && --reg->uses == 0 && reg->def >= *next) *next = reg->def + 1;
}

static void drop_unread(struct lowering *low)
{
    for (uint32_t i = low->code.count; i-- > 0;) {
        struct low_insn gone = low->code.at[i], *insn = &low->code.at[i];
        if (gone.d == 0 || low->regs[gone.d >> 2].uses != 0) continue;
        /* Nobody reads it: what it was before need not be kept, and may be gone. */
        insn->flags = 0;
        if (!only_computes(insn)) continue;
        *insn = (struct low_insn){.source = gone.source};
        low->regs[gone.d >> 2].defs--;
        let_go(low, gone.a, &i);
        let_go(low, gone.b, &i);
        let_go(low, gone.c, &i);
    }
}

/* The instruction that makes a word for instruction `at` and nobody else, in the same stretch. */
static struct low_insn *maker(struct lowering *low, low_word word, uint32_t at, uint32_t stretch)
{
    const struct low_reg *reg = &low->regs[word >> 2];
    if (word == 0 || reg->constant || reg->uses != 1 || reg->defs != 1 || reg->width != 1)
        return NULL;
    if (reg->def < stretch || reg->def >= at || at - reg->def > REACH) return NULL;
    struct low_insn *made = &low->code.at[reg->def];
    /* A scalar is made once; to make it in all lanes would cost more than it saves. */
    if (made->flags != 0 || reg->scalar != low->regs[low->code.at[at].d >> 2].scalar) return NULL;
    for (uint32_t i = reg->def + 1; i < at; i++) {
        uint32_t written = low->code.at[i].d >> 2;
        if (written != 0 && (written == made->a >> 2 || written == made->b >> 2)) return NULL;
    }
    return made;
}

static uint32_t pair_opcode(uint32_t first, uint32_t second)
{
    if (second == VM_OP_FADD && first == VM_OP_FMUL) return VM_OP_FMULADD;
    if (second == VM_OP_ADD && first == VM_OP_MUL) return VM_OP_MAD;
    if (second == VM_OP_XOR && first == VM_OP_SHL) return VM_OP_XORSHL;
    if (second == VM_OP_XOR && first == VM_OP_SHR) return VM_OP_XORSHR;
    return 0;
}

static void fuse(struct lowering *low, uint32_t at, uint32_t stretch)
{
    struct low_insn *insn = &low->code.at[at];
    if (insn->a == insn->b) return;
    for (uint32_t side = 0; side < 2; side++) {
        struct low_insn *made = maker(low, side ? insn->a : insn->b, at, stretch);
        uint32_t op = made ? pair_opcode(made->op, insn->op) : 0;
        if (op == 0) continue;
        low_word other = side ? insn->b : insn->a, gone = made->d;
        int shift = insn->op == VM_OP_XOR;
        insn->op = (uint16_t)op;
        insn->a = shift ? other : made->a;
        insn->c = shift ? made->b : other;
        insn->b = shift ? made->a : made->b;
        low->regs[gone >> 2].uses = low->regs[gone >> 2].defs = 0;
        *made = (struct low_insn){.source = made->source};
        return;
    }
}

/* Whether an instruction changes memory, or may. */
static int writes_memory(uint32_t op)
{
    return (op >= VM_OP_ST8 && op <= VM_OP_ATCAS) || op == VM_OP_COPY || op == VM_OP_COPYTO;
}

/* A store of what was just loaded from the same place, plus something: x[i] += y. */
static void fuse_addition(struct lowering *low, uint32_t at, uint32_t stretch)
{
    struct low_insn *store = &low->code.at[at];
    struct low_insn *sum = maker(low, store->b, at, stretch);
    if (sum == NULL || sum->op != VM_OP_ADD || sum->a == sum->b) return;
    uint32_t sum_at = (uint32_t)(sum - low->code.at);
    for (uint32_t side = 0; side < 2; side++) {
        struct low_insn *load = maker(low, side ? sum->b : sum->a, sum_at, stretch);
        if (load == NULL || load->op != VM_OP_LD32 || load->imm != store->imm ||
            load->a != store->a)
            continue;
        for (uint32_t i = (uint32_t)(load - low->code.at) + 1; i < at; i++) {
            uint32_t written = low->code.at[i].d >> 2;
            if (writes_memory(low->code.at[i].op)) return;
            if (written != 0 && written == store->a >> 2) return;
        }
        low_word loaded = load->d, summed = sum->d;
        store->op = VM_OP_ADDTO;
        store->b = side ? sum->a : sum->b;
        low->regs[store->a >> 2].uses--; /* once now, twice before */
        low->regs[loaded >> 2].uses = low->regs[loaded >> 2].defs = 0;
        low->regs[summed >> 2].uses = low->regs[summed >> 2].defs = 0;
        *load = (struct low_insn){.source = load->source};
        *sum = (struct low_insn){.source = sum->source};
        return;
    }
}

/* Returns how many steps of polynomials there may be. */
static uint32_t fuse_all(struct lowering *low)
{
    uint32_t stretch = 0, steps = 0;
    for (uint32_t i = 0; i < low->code.count; i++) {
        uint32_t op = low->code.at[i].op;
        if (vm_is_control(op)) stretch = i + 1;
        if (op == VM_OP_ST32) fuse_addition(low, i, stretch);
        if (op == VM_OP_FADD || op == VM_OP_ADD || op == VM_OP_XOR) fuse(low, i, stretch);
        steps += low->code.at[i].op == VM_OP_FMULADD;
    }
    return steps;
}

void vyre_low_tidy(struct lowering *low)
{
    if (low->status != VYRE_OK || !join(low)) return;
    count_uses(low);
    drop_unread(low);
    if (fuse_all(low) >= 4) vyre_low_polynomials(low);
}
