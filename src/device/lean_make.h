/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Instructions for the lean loop (lean.h), each made by itself of the one that was decoded for the
 * other loop (warp_decode.h). All that can be known before a workgroup begins is in it: functions,
 * elements and lengths of buffers, places of rows. For lean_code.h, which puts them together.
 */
#ifndef VYRE_DEVICE_LEAN_MAKE_H
#define VYRE_DEVICE_LEAN_MAKE_H

#include "device/lean_form.h"

/* Makes code for this loop of code that was decoded for the other one. */
struct dev_lean_maker {
    const struct dev_frame *frame;
    struct dev_lean_layout at;
    uint32_t registers, scalars; /* where they lie for the other loop */
    uint32_t row;                /* bytes of a register there */
};

/* The row of an operand as the other loop has it. */
DEV_FN uint32_t dev_lean_row(const struct dev_lean_maker *maker, uint32_t operand)
{
    const struct vm_header *header = &maker->frame->header;
    uint32_t number = operand & DEV_EACH ? ((operand & ~DEV_EACH) - maker->registers) / maker->row
                                         : header->register_count +
                                               (operand - maker->scalars) / (DEV_SCALAR_WORDS * 4u);
    return maker->at.rows + number * DEV_LEAN_ROW_BYTES;
}

/* The upper half of `what` of a fill with a scalar: which argument of the slot it is. */
#define DEV_LEAN_ARG(op) ((uint32_t)((op)->what >> 32))

/* A fill with a word of the room. */
DEV_FN void dev_lean_make_fill(const struct dev_lean_maker *maker, const struct dev_op *op,
                               const void *word, struct dev_lean_op *lean)
{
    const unsigned char *room = (const unsigned char *)maker->frame;
    lean->kind_d = (uint32_t)DEV_LEAN_FILL | dev_lean_row(maker, op->d) << 16;
    lean->imm = (uint32_t)((const unsigned char *)word - room);
}

DEV_FN void dev_lean_make_id(const struct dev_lean_maker *maker, const struct dev_op *op,
                             struct dev_lean_op *lean)
{
    const struct dev_lean_head *head =
        (const struct dev_lean_head *)(const void *)((const unsigned char *)maker->frame +
                                                     maker->at.head);
    const uint32_t code = op->op & 0xFFu;
    const void *word = code == VM_OP_GLOBALID  ? &head->first_id
                       : code == VM_OP_GROUPID ? &head->group[op->imm]
                       : code == VM_OP_BUFLEN  ? &maker->frame->views[op->imm].count
                                               : &head->zero;
    dev_lean_make_fill(maker, op, word, lean);
    lean->what = dev_op_class(op) == DEV_CLASS_ID;
}

/* A summand that every lane has, as `what` of a sum. */
#define DEV_LEAN_SUMMAND(word) ((uint64_t)1 << 32 | (word))

/* Words from words: sums where they are some, which the loop does by itself, or by a function. (The
 * function would give the same, bit for bit: a product with 1 is exact, and a float that -0 is
 * added to stays what it is.) */
DEV_FN void dev_lean_make_words(const struct dev_lean_maker *maker, const struct dev_op *op,
                                struct dev_lean_op *lean)
{
    const uint32_t code = op->op & 0xFFu;
    uint32_t a = dev_lean_row(maker, op->a), b = dev_lean_row(maker, op->b);
    uint32_t c = dev_lean_row(maker, op->c), kind = DEV_LEAN_SUM;
    switch (code) {
    case VM_OP_MOV:
        lean->imm = 1;
        lean->what = DEV_LEAN_SUMMAND(0u);
        break;
    case VM_OP_ADD:
        c = b;
        lean->imm = 1;
        break;
    case VM_OP_SUB:
        c = a;
        a = b;
        lean->imm = 0xFFFFFFFFu; /* -1 */
        break;
    case VM_OP_MUL:
        lean->what = DEV_LEAN_SUMMAND(0u);
        break;
    case VM_OP_MAD:
        break;
    case VM_OP_LT:
        kind |= DEV_LEAN_LESS;
        break;
    case VM_OP_FADD:
        kind |= DEV_LEAN_FLOAT;
        c = b;
        lean->imm = 0x3F800000u; /* 1 */
        break;
    case VM_OP_FSUB:
        kind |= DEV_LEAN_FLOAT;
        c = a;
        a = b;
        lean->imm = 0xBF800000u; /* -1 */
        break;
    case VM_OP_FMUL:
        kind |= DEV_LEAN_FLOAT;
        lean->what = DEV_LEAN_SUMMAND(0x80000000u); /* -0 */
        break;
    case VM_OP_FMULADD:
        kind |= DEV_LEAN_FLOAT;
        break;
    default:
        kind = DEV_LEAN_WORDS;
        lean->what = (uint64_t)(uintptr_t)dev_lean_table[code];
        break;
    }
    lean->kind_d = kind | dev_lean_row(maker, op->d) << 16;
    lean->ab = a | b << 16;
    lean->c = c;
}

DEV_FN void dev_lean_make_memory(const struct dev_lean_maker *maker, const struct dev_op *op,
                                 struct dev_lean_op *lean)
{
    const struct dev_view *view = &maker->frame->views[op->imm];
    const uint32_t code = op->op & 0xFFu;
    const int store = dev_op_class(op) == DEV_CLASS_STORE;
    uint32_t kind = store ? (uint32_t)DEV_LEAN_STORE : (uint32_t)DEV_LEAN_LOAD;
    if (dev_op_class(op) == DEV_CLASS_LOAD_ONE) kind |= DEV_LEAN_ALL;
    if (view->length != 0 && (view->access & ~DEV_VIEW_WRITE) != 4) kind = DEV_LEAN_LEAVE;
    if (store && !(view->access & DEV_VIEW_WRITE)) kind = DEV_LEAN_LEAVE;
    if (code == VM_OP_LDF32 || code == VM_OP_STF32) kind |= DEV_LEAN_FLOAT;
    lean->kind_d = kind | (store ? 0 : dev_lean_row(maker, op->d)) << 16;
    lean->ab = dev_lean_row(maker, op->a) | (store ? dev_lean_row(maker, op->b) : 0) << 16;
    lean->imm = view->length;
    lean->what = (uint64_t)(uintptr_t)view->element;
}

/* A scalar of the slot, which lies in the frame, at index 0 that is a constant: a word that is
 * known before. 0: it is not that. */
DEV_FN int dev_lean_make_scalar(const struct dev_lean_maker *maker, const struct dev_op *op,
                                struct dev_lean_op *lean)
{
    const struct dev_frame *frame = maker->frame;
    const struct dev_view *view = &frame->views[op->imm];
    const uintptr_t args = (uintptr_t)frame->args.scalar, element = (uintptr_t)view->element;
    const uint32_t index = (op->a - maker->scalars) / (DEV_SCALAR_WORDS * 4u);
    const uint64_t scalar = (uint64_t)(element - args) / 4u;
    if (dev_op_class(op) != DEV_CLASS_LOAD_ONE || view->length == 0 ||
        (view->access & ~DEV_VIEW_WRITE) != 4 || element < args || scalar >= DEV_SLOT_SCALARS ||
        index >= frame->header.constant_count || frame->scalars[index * DEV_SCALAR_WORDS] != 0)
        return 0;
    dev_lean_make_fill(maker, op, view->element, lean);
    lean->what = (DEV_ARG_SCALARS + scalar) << 32;
    if ((op->op & 0xFFu) == VM_OP_LDF32) lean->kind_d |= DEV_LEAN_FLOAT;
    return 1;
}

DEV_FN void dev_lean_make_control(const struct dev_lean_maker *maker, const struct dev_op *op,
                                  uint32_t pc, struct dev_lean_op *lean)
{
    const uint32_t code = op->op & 0xFFu;
    lean->what = op->c;
    lean->imm = pc + 1;
    if (code == VM_OP_IF || code == VM_OP_IFLEAVE) {
        lean->kind_d = DEV_LEAN_IF;
        lean->ab = dev_lean_row(maker, op->a);
    } else if (code == VM_OP_JZ || code == VM_OP_LEAVE) {
        lean->kind_d = DEV_LEAN_JZ;
        lean->ab = dev_lean_row(maker, op->a);
        lean->imm = op->imm;
    } else if (code == VM_OP_JUMP) {
        lean->kind_d = DEV_LEAN_GO;
        lean->imm = op->imm;
    } else if (code == VM_OP_BARRIER || code == VM_OP_STEP) {
        lean->kind_d = DEV_LEAN_GO;
    } else if (code == VM_OP_ENDIF) {
        lean->kind_d = DEV_LEAN_ENDIF;
    } else if (code == VM_OP_END) {
        lean->kind_d = DEV_LEAN_END;
    }
}

/* One instruction; control goes to a pc as yet. */
DEV_FN struct dev_lean_op dev_lean_make(const struct dev_lean_maker *maker, const struct dev_op *op,
                                        uint32_t pc)
{
    struct dev_lean_op lean = {DEV_LEAN_LEAVE, 0, 0, 0, 0, pc, 0};
    const uint32_t code = op->op & 0xFFu;
    switch (dev_op_class(op)) {
    case DEV_CLASS_WORDS:
    case DEV_CLASS_SCALAR:
        if (code == VM_OP_GROUPID || code == VM_OP_BUFLEN)
            dev_lean_make_id(maker, op, &lean);
        else
            dev_lean_make_words(maker, op, &lean);
        break;
    case DEV_CLASS_ID:
        dev_lean_make_id(maker, op, &lean);
        break;
    case DEV_CLASS_LOAD:
    case DEV_CLASS_LOAD_ONE:
    case DEV_CLASS_STORE:
        if (!dev_lean_make_scalar(maker, op, &lean)) dev_lean_make_memory(maker, op, &lean);
        break;
    case DEV_CLASS_CONTROL:
        dev_lean_make_control(maker, op, pc, &lean);
        break;
    default:
        break;
    }
    return lean;
}

#endif
