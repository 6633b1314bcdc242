/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Code for the lean loop (lean.h), made once the buffers are known too: instructions (lean_make.h)
 * in their order. Ids, lengths and scalars of the slot are filled in before anything else, where
 * nothing before them has to do with their rows; loads that need nothing of each other go in pairs.
 */
#ifndef VYRE_DEVICE_LEAN_CODE_H
#define VYRE_DEVICE_LEAN_CODE_H

#include "device/lean_make.h"

/* A bit for each row, where there are few enough: all that an instruction reads or writes. */
DEV_FN uint64_t dev_lean_touches(const struct dev_lean_maker *maker, const struct dev_lean_op *op)
{
    const uint32_t kind = op->kind_d & 0xFFFFu;
    uint32_t row[4] = {DEV_LEAN_D(op), DEV_LEAN_A(op), DEV_LEAN_B(op), op->c};
    uint64_t bits = kind & DEV_LEAN_LEAVE ? ~(uint64_t)0 : 0;
    for (uint32_t i = 0; i < 4; i++)
        if (row[i] >= maker->at.rows)
            bits |= (uint64_t)1 << ((row[i] - maker->at.rows) / DEV_LEAN_ROW_BYTES & 63u);
    return bits;
}

/* What was found out of all instructions together. */
struct dev_lean_plan {
    uint32_t early;   /* a bit for each of the first that is done before all others */
    uint32_t of_slot; /* and of these, for scalars of the slot */
    uint64_t up;      /* rows in which lanes count up as long as the workgroup runs */
};

/*
 * Which of the first instructions are done before all others: fills of rows that none before them
 * has to do with. Bit i: instruction i. Where control skips one nobody misses what was there.
 */
DEV_FN struct dev_lean_plan dev_lean_choose(const struct dev_lean_maker *maker,
                                            const struct dev_lean_op ops[DEV_WARP_ROLES],
                                            uint32_t count)
{
    uint64_t touches[DEV_WARP_ROLES], own[DEV_WARP_ROLES], before = 0;
    uint32_t early[DEV_WARP_ROLES], of_slot[DEV_WARP_ROLES];
    struct dev_lean_plan plan = {0, 0, 0};
    DEV_ROLES(l)
    {
        const struct dev_lean_op *op = &ops[DEV_MINE(l)];
        touches[DEV_MINE(l)] = l < count ? dev_lean_touches(maker, op) : 0;
        early[DEV_MINE(l)] = 0;
        own[DEV_MINE(l)] = 0;
    }
    /* One after the other: a bit of each row that was seen is enough for all. */
    for (uint32_t i = 0; i < DEV_WARP; i++) {
        DEV_ROLES(l)
        {
            if (l == i && l < count && (ops[DEV_MINE(l)].kind_d & DEV_LEAN_FILL) != 0)
                early[DEV_MINE(l)] = (touches[DEV_MINE(l)] & before) == 0;
        }
        before |= dev_warp_word(touches, i);
    }
    /* Rows that something else writes later do not count up for ever. */
    uint64_t written = 0, counted = 0;
    DEV_ROLES(l)
    {
        const struct dev_lean_op *op = &ops[DEV_MINE(l)];
        const uint32_t row = (DEV_LEAN_D(op) - maker->at.rows) / DEV_LEAN_ROW_BYTES & 63u;
        const uint32_t counts = early[DEV_MINE(l)] & (uint32_t)op->what;
        if (l < count && DEV_LEAN_D(op) != 0) own[DEV_MINE(l)] = (uint64_t)1 << row;
        touches[DEV_MINE(l)] = counts ? own[DEV_MINE(l)] : 0;
        if (counts) own[DEV_MINE(l)] = 0;
        of_slot[DEV_MINE(l)] = early[DEV_MINE(l)] != 0 && DEV_LEAN_ARG(op) != 0;
    }
    for (uint32_t i = 0; i < DEV_WARP; i++) {
        written |= dev_warp_word(own, i);
        counted |= dev_warp_word(touches, i);
    }
    const uint32_t rows = (maker->at.answers - maker->at.rows) / DEV_LEAN_ROW_BYTES;
    if (rows > 64) return plan;
    plan.early = dev_warp_ballot(early);
    plan.of_slot = dev_warp_ballot(of_slot);
    if (count == maker->frame->header.code_count) plan.up = counted & ~written;
    return plan;
}

/* How many of the instructions in front of `pc` have a bit. */
DEV_FN uint32_t dev_lean_before(uint32_t bits, uint32_t pc)
{
    return dev_popcount(pc < DEV_WARP ? bits & ((1u << pc) - 1u) : bits);
}

/* Puts one instruction where it belongs. */
DEV_FN void dev_lean_place(const struct dev_lean_maker *maker, const struct dev_lean_op *made,
                           const struct dev_lean_plan *plan)
{
    unsigned char *room = (unsigned char *)(uintptr_t)maker->frame;
    struct dev_lean_op *code = (struct dev_lean_op *)(void *)(room + maker->at.code);
    struct dev_lean_op *first = (struct dev_lean_op *)(void *)(room + maker->at.early);
    const uint32_t size = (uint32_t)sizeof *code, pc = made->pc;
    const uint32_t same = plan->early & ~plan->of_slot;
    struct dev_lean_op op = *made;
    if (op.kind_d & (DEV_LEAN_IF | DEV_LEAN_ENDIF | DEV_LEAN_JZ | DEV_LEAN_GO))
        op.imm = (op.imm - dev_lean_before(plan->early, op.imm)) * size;
    if ((op.kind_d & DEV_LEAN_STORE) != 0 &&
        (plan->up >> ((DEV_LEAN_A(&op) - maker->at.rows) / DEV_LEAN_ROW_BYTES & 63u) & 1) != 0)
        op.kind_d |= DEV_LEAN_UP;
    if (pc >= DEV_WARP || (plan->early >> pc & 1) == 0)
        code[pc - dev_lean_before(plan->early, pc)] = op;
    else if (plan->of_slot >> pc & 1)
        first[dev_popcount(same) + dev_lean_before(plan->of_slot, pc)] = op;
    else
        first[dev_lean_before(same, pc)] = op;
}

/* How many instructions of the code are stores; for the first lane. */
DEV_FN uint32_t dev_lean_stores(const struct dev_lean_maker *maker, uint32_t count)
{
    const unsigned char *room = (const unsigned char *)maker->frame;
    const struct dev_lean_op *code =
        (const struct dev_lean_op *)(const void *)(room + maker->at.code);
    uint32_t stores = 0;
    for (uint32_t i = 0; i < count; i++)
        stores += (code[i].kind_d & DEV_LEAN_STORE) != 0;
    return stores;
}

/* Marks loads behind which is another that needs nothing of them: the two go together. */
DEV_FN void dev_lean_pair(const struct dev_lean_maker *maker, uint32_t count)
{
    unsigned char *room = (unsigned char *)(uintptr_t)maker->frame;
    struct dev_lean_op *code = (struct dev_lean_op *)(void *)(room + maker->at.code);
    uint32_t kind[DEV_WARP_ROLES];
    for (uint32_t first = 0; first < count; first += DEV_WARP) {
        DEV_ROLES(l)
        {
            const struct dev_lean_op *op = &code[first + l < count ? first + l : count];
            const int pair = (op->kind_d & DEV_LEAN_LOAD) != 0 &&
                             (op[1].kind_d & DEV_LEAN_LOAD) != 0 &&
                             DEV_LEAN_A(&op[1]) != DEV_LEAN_D(op);
            kind[DEV_MINE(l)] = op->kind_d | (pair ? (uint32_t)DEV_LEAN_PAIR : 0);
        }
        dev_warp_sync();
        DEV_ROLES(l)
        {
            if (first + l < count) code[first + l].kind_d = kind[DEV_MINE(l)];
        }
        dev_warp_sync();
    }
}

/* Makes a frame that is ready for its program and its buffers ready for this loop too, if that can
 * run it and there is room: frame->lean says where its head is. */
DEV_FN void dev_lean_prepare(struct dev_frame *frame, uint32_t room_bytes)
{
    const struct vm_header *header = &frame->header;
    unsigned char *room = (unsigned char *)frame;
    const struct dev_op *ops = (const struct dev_op *)(const void *)(room + frame->quick);
    const uint32_t count = header->code_count < DEV_WARP ? header->code_count : DEV_WARP;
    const uint32_t place = dev_near_place(frame);
    struct dev_lean_op made[DEV_WARP_ROLES];
    struct dev_lean_maker maker;
    maker.frame = frame;
    maker.at = dev_lean_layout(frame);
    maker.registers = place + (uint32_t)((const unsigned char *)frame->registers - room);
    maker.scalars = place + (uint32_t)((const unsigned char *)frame->scalars - room);
    maker.row = dev_units(header->lanes) * DEV_WARP * 4u;
    const int can = frame->quick != 0 && dev_units(header->lanes) <= DEV_LEAN_UNITS &&
                    header->shared_bytes == 0 && maker.at.end <= room_bytes &&
                    room_bytes <= 0xFFFFu;
    dev_warp_sync();
    DEV_FIRST frame->lean = can ? maker.at.head : 0;
    if (!can) {
        dev_warp_sync();
        return;
    }
    DEV_ROLES(l)
    {
        made[DEV_MINE(l)] = dev_lean_make(&maker, &ops[l < count ? l : 0], l);
    }
    const struct dev_lean_plan plan = dev_lean_choose(&maker, made, count);
    const uint32_t rest = header->code_count - dev_popcount(plan.early);
    DEV_ROLES(l)
    {
        if (l < count) dev_lean_place(&maker, &made[DEV_MINE(l)], &plan);
        for (uint32_t i = DEV_WARP + l; i < header->code_count; i += DEV_WARP) {
            const struct dev_lean_op later = dev_lean_make(&maker, &ops[i], i);
            dev_lean_place(&maker, &later, &plan);
        }
        if (l < 2) { /* there it ends; and the loop reads one ahead */
            const struct dev_lean_op none = {DEV_LEAN_LEAVE, 0, 0, 0, 0, header->code_count, 0};
            ((struct dev_lean_op *)(void *)(room + maker.at.code))[rest + l] = none;
        }
        for (uint32_t s = 0; s < header->scalar_count; s++) {
            uint32_t *row = (uint32_t *)(void *)(room + maker.at.rows +
                                                 (header->register_count + s) * DEV_LEAN_ROW_BYTES);
            row[2 * l] = row[2 * l + 1] = frame->scalars[s * DEV_SCALAR_WORDS];
        }
    }
    dev_warp_sync();
    DEV_FIRST
    {
        struct dev_lean_head *head = (struct dev_lean_head *)(void *)(room + maker.at.head);
        const int few = dev_lean_stores(&maker, rest) <= DEV_LEAN_ANSWERED;
        head->early = dev_popcount(plan.early);
        head->same = dev_popcount(plan.early & ~plan.of_slot);
        head->code = maker.at.code;
        head->answers = few && !frame->seen ? maker.at.answers : 0;
        head->zero = head->group[1] = head->group[2] = 0;
    }
    dev_warp_sync();
    dev_lean_pair(&maker, rest);
}

#endif
