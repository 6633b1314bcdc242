/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Which registers come first. A warp of a GPU has room for so many of them; those that find none
 * lie in device memory (warp_frame.h), and had better be the ones that are seldom needed. So
 * registers are numbered anew, by what the code says of how often each is: an operand in a loop
 * counts as several, one that only some lanes or runs come to as half. A value of several words
 * keeps its registers side by side.
 */
#include <stdlib.h>

#include "vm/lower.h"

/* Operands are weighed in powers of two. */
#define LOOP_BITS  3 /* a round more or less does not matter */
#define LEAST_BITS (-8)
#define MOST_BITS  30
#define FIXED_BITS 8 /* so that the least is a whole number */

/* Registers that stay side by side. */
struct run {
    uint32_t first;
    uint32_t count;
    uint64_t weight; /* of all of them */
};

struct order {
    struct lowering *low;
    int32_t *depth; /* by instruction: how much more it weighs than the one before */
    uint64_t weight[VM_MAX_REGISTERS];
    uint8_t joined[VM_MAX_REGISTERS]; /* to the one before */
    uint16_t place[VM_MAX_REGISTERS]; /* the new one */
    struct run runs[VM_MAX_REGISTERS];
};

static int is_register(const struct low_reg *reg)
{
    return !reg->constant && !reg->scalar && reg->first != IR_NONE;
}

/* Of words from words only the operands that are not near are slow, of others all of it. */
static int32_t kind_bits(uint32_t op)
{
    return op == VM_OP_MOV || op < VM_OP_FSIN ? 0 : 2;
}

static void add_region(struct order *order, uint32_t from, uint32_t to, int32_t bits)
{
    order->depth[from] += bits;
    order->depth[to] -= bits;
}

static void find_depths(struct order *order)
{
    const struct low_code *code = &order->low->code;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct low_insn *insn = &code->at[i];
        if (!low_has_target(insn->op) || insn->imm <= i || insn->imm > code->count) continue;
        if (insn->op == VM_OP_LOOP || insn->op == VM_OP_VLOOP)
            add_region(order, i + 1, insn->imm, LOOP_BITS);
        else if (insn->op == VM_OP_IF || insn->op == VM_OP_ELSE || insn->op == VM_OP_JZ)
            add_region(order, i + 1, insn->imm, -1);
    }
}

static void weigh(struct order *order, low_word word, uint64_t weight)
{
    const struct low_reg *reg = &order->low->regs[word >> 2];
    if (word == 0 || !is_register(reg)) return;
    for (uint32_t i = 0; i < reg->width; i++) {
        order->weight[reg->place + i] += weight;
        if (i != 0) order->joined[reg->place + i] = 1;
    }
}

static void weigh_all(struct order *order)
{
    const struct low_code *code = &order->low->code;
    int32_t bits = 0;
    for (uint32_t i = 0; i < code->count; i++) {
        const struct low_insn *insn = &code->at[i];
        bits += order->depth[i];
        if (insn->op == VM_OP_NONE) continue;
        int32_t most = bits > MOST_BITS ? MOST_BITS : bits < LEAST_BITS ? LEAST_BITS : bits;
        uint64_t weight = (uint64_t)1 << (most + FIXED_BITS + kind_bits(insn->op));
        weigh(order, insn->d, weight);
        weigh(order, insn->a, weight);
        weigh(order, insn->b, weight);
        weigh(order, insn->c, weight);
    }
}

/* The one that weighs more for each of its registers; else the one that came first. */
static int compare(const void *left, const void *right)
{
    const struct run *a = left, *b = right;
    uint64_t mine = a->weight / a->count, other = b->weight / b->count;
    if (mine != other) return mine > other ? -1 : 1;
    return a->first < b->first ? -1 : 1;
}

static void sort(struct order *order)
{
    uint32_t count = 0, place = 0;
    for (uint32_t i = 0; i < order->low->register_count; i++) {
        if (!order->joined[i]) order->runs[count++] = (struct run){.first = i};
        order->runs[count - 1].count++;
        order->runs[count - 1].weight += order->weight[i];
    }
    qsort(order->runs, count, sizeof order->runs[0], compare);
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t i = 0; i < order->runs[k].count; i++)
            order->place[order->runs[k].first + i] = (uint16_t)place++;
    }
    for (uint32_t i = 1; i < order->low->reg_count; i++) {
        struct low_reg *reg = &order->low->regs[i];
        if (is_register(reg)) reg->place = order->place[reg->place];
    }
}

void vyre_low_order(struct lowering *low)
{
    void *order, *depth;
    if (low->status != VYRE_OK) return;
    low->status = vyre_memory_alloc(low->memory, 1, sizeof(struct order), "order of registers",
                                    &order, low->err);
    if (low->status != VYRE_OK) return;
    low->status = vyre_memory_alloc(low->memory, low->code.count + 1u, sizeof(int32_t),
                                    "depths of instructions", &depth, low->err);
    if (low->status == VYRE_OK) {
        ((struct order *)order)->low = low;
        ((struct order *)order)->depth = depth;
        find_depths(order);
        weigh_all(order);
        sort(order);
        vyre_memory_free(low->memory, depth, (low->code.count + 1u) * sizeof(int32_t));
    }
    vyre_memory_free(low->memory, order, sizeof(struct order));
}
