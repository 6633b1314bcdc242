/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Polynomials by Horner's rule: four fmuladd in a row, each multiplied by the same factor and with
 * a constant added, become one fpoly4, whose constants lie side by side. Every step is rounded as
 * before, so the result is the same to the bit; which of two NaN a product keeps shows nowhere.
 */
#include "vm/lower.h"

#define STEPS 4u

/* How far behind its next step a step may lie. */
#define REACH 64u

/* Constants that may be there when groups of them are added: most of the room is for others. */
#define MOST_WORDS (VM_MAX_SCALARS / 4u)

struct chain {
    uint32_t at[STEPS]; /* the instructions, in their order */
    uint32_t constant[STEPS];
    low_word factor;
    low_word start; /* what the first step multiplies */
};

static int reads(const struct low_insn *insn, low_word word)
{
    return insn->a == word || insn->b == word || insn->c == word;
}

/*
 * The step that makes `word` for the one at `at`, and for nobody else: a value that is read once,
 * or a variable that the step at `at` writes again in the same lanes. IR_NONE if there is none.
 */
static uint32_t step_before(const struct lowering *low, low_word word, uint32_t at,
                            uint32_t stretch)
{
    const struct low_insn *insn = &low->code.at[at];
    const struct low_reg *reg = &low->regs[word >> 2];
    int again = word == insn->d;
    if (reg->constant || reg->width != 1) return IR_NONE;
    if (!again && (reg->uses != 1 || reg->defs != 1)) return IR_NONE;
    for (uint32_t i = at; i-- > stretch && at - i <= REACH;) {
        const struct low_insn *before = &low->code.at[i];
        if (before->d == word)
            return before->op == VM_OP_FMULADD && before->flags == (again ? insn->flags : 0)
                       ? i
                       : IR_NONE;
        if (again && reads(before, word)) return IR_NONE;
    }
    return IR_NONE;
}

/* Whether what the chain reads at its first step is still there at the last. */
static int stays(const struct lowering *low, const struct chain *chain)
{
    uint32_t step = 0;
    for (uint32_t i = chain->at[0]; i < chain->at[STEPS - 1]; i++) {
        int own = i == chain->at[step];
        uint32_t written = low->code.at[i].d >> 2;
        step += (uint32_t)own;
        if (written != 0 &&
            (written == chain->factor >> 2 || (written == chain->start >> 2 && !own)))
            return 0;
    }
    return 1;
}

/* The chain that ends at `at`, with this factor; 0 if there is none. */
static int find(const struct lowering *low, uint32_t at, uint32_t stretch, struct chain *chain)
{
    uint32_t scalar = low->regs[low->code.at[at].d >> 2].scalar;
    if (low->regs[chain->factor >> 2].scalar != scalar) return 0;
    for (uint32_t i = STEPS; i-- > 0;) {
        const struct low_insn *insn = &low->code.at[at];
        if (insn->a != chain->factor && insn->b != chain->factor) return 0;
        if (low->regs[insn->d >> 2].scalar != scalar ||
            !vyre_low_is_constant(low, insn->c, &chain->constant[i]))
            return 0;
        chain->at[i] = at;
        chain->start = insn->a == chain->factor ? insn->b : insn->a;
        if (i != 0) at = step_before(low, chain->start, at, stretch);
        if (at == IR_NONE) return 0;
    }
    return stays(low, chain);
}

static void merge(struct lowering *low, const struct chain *chain)
{
    struct low_insn *last = &low->code.at[chain->at[STEPS - 1]];
    uint32_t group = vyre_low_wide_constant(low, LOW_RAW16, chain->constant).reg;
    if (group == 0) return;
    for (uint32_t i = 0; i < STEPS; i++) {
        struct low_insn *insn = &low->code.at[chain->at[i]];
        low->regs[insn->c >> 2].uses--;
        if (insn == last) break;
        low->regs[insn->d >> 2].uses--;
        low->regs[insn->d >> 2].defs--;
        low->regs[chain->factor >> 2].uses--;
        *insn = (struct low_insn){.source = insn->source};
    }
    low->regs[group].uses++;
    last->op = VM_OP_FPOLY4;
    last->a = chain->start;
    last->b = chain->factor;
    last->c = low_at(group, 0);
}

void vyre_low_polynomials(struct lowering *low)
{
    uint32_t stretch = 0;
    for (uint32_t i = 0; i < low->code.count && low->word_count < MOST_WORDS; i++) {
        const struct low_insn *insn = &low->code.at[i];
        struct chain chain;
        if (vm_is_control(insn->op)) stretch = i + 1;
        if (insn->op != VM_OP_FMULADD) continue;
        chain.factor = insn->b;
        int found = find(low, i, stretch, &chain);
        if (!found) {
            chain.factor = insn->a;
            found = find(low, i, stretch, &chain);
        }
        if (found) merge(low, &chain);
    }
}
