/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Bytecode by hand, for tests: instructions one after the other, constants where they are used,
 * targets and costs set where a construct is closed.
 *
 *     struct vmb b = vmb_begin(64, 1, 1);
 *     vmb_buffer(&b, VM_BUFFER_READ, 4, 64);                  buffer 0: stride 4, 64 bytes
 *     vmb_buffer(&b, VM_BUFFER_WRITTEN, 4, 64);
 *     vmb_op(&b, VM_OP_GLOBALID, R(0), 0, 0, 0, 0);           d, a, b, c, imm
 *     vmb_op(&b, VM_OP_LD32, R(1), R(0), 0, 0, 0);
 *     vmb_op(&b, VM_OP_LT, R(2), R(1), vmb_u(&b, 7), 0, 0);
 *     vmb_if(&b, R(2));
 *     vmb_masked(&b, VM_OP_ADD, R(1), R(1), vmb_u(&b, 3), 0, 0);
 *     vmb_endif(&b);
 *     vmb_op(&b, VM_OP_ST32, 0, R(0), R(1), 0, 1);
 *     struct vm_header *block = vmb_end(&b);                  free() it
 *
 * R(n) is a register, S(n) the n-th scalar behind the constants. Counts, levels, views, offsets of
 * workgroup memory and the flags of the program follow from what is written; b.header may be
 * changed before vmb_end for what does not (STRICT). A mistake of the test aborts.
 */
#ifndef VYRE_TESTS_VM_BUILD_H
#define VYRE_TESTS_VM_BUILD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vm/shape.h"
#include "vm/vm.h"

#define VMB_UNUSED    __attribute__((unused))
#define VMB_CODE      4096u
#define VMB_CONSTANTS 256u
#define VMB_BUFFERS   32u
#define VMB_DEPTH     300u
#define VMB_LATER     0x4000u /* of a scalar's number: counts from the constants' end */

#define R(n) ((uint16_t)(n))
#define S(n) ((uint16_t)(VM_SCALAR | VMB_LATER | (n)))

struct vmb {
    struct vm_header header;
    struct vm_insn code[VMB_CODE];
    uint32_t constants[VMB_CONSTANTS];
    struct vm_buffer buffers[VMB_BUFFERS];
    uint32_t open[VMB_DEPTH]; /* instructions whose target is not known yet */
    uint32_t depth, levels;
};

VMB_UNUSED static void vmb_require(int condition)
{
    if (!condition) abort();
}

VMB_UNUSED static struct vmb vmb_begin(uint32_t x, uint32_t y, uint32_t z)
{
    struct vmb b;
    memset(&b, 0, sizeof b);
    b.header.workgroup[0] = x;
    b.header.workgroup[1] = y;
    b.header.workgroup[2] = z;
    return b;
}

/* A constant of these bits: a scalar operand. */
VMB_UNUSED static uint16_t vmb_u(struct vmb *b, uint32_t bits)
{
    uint32_t i = 0;
    while (i < b->header.constant_count && b->constants[i] != bits)
        i++;
    vmb_require(i < VMB_CONSTANTS);
    b->constants[i] = bits;
    if (i == b->header.constant_count) b->header.constant_count++;
    return (uint16_t)(VM_SCALAR | i);
}

VMB_UNUSED static uint16_t vmb_f(struct vmb *b, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return vmb_u(b, bits);
}

/* The next buffer; its number. Of workgroup memory the place follows from those before it. */
VMB_UNUSED static uint32_t vmb_buffer(struct vmb *b, uint32_t flags, uint32_t stride,
                                      uint64_t bytes)
{
    uint32_t number = b->header.buffer_count++;
    vmb_require(number < VMB_BUFFERS);
    struct vm_buffer *buffer = &b->buffers[number];
    buffer->flags = flags;
    buffer->stride = stride;
    buffer->bits = stride ? 8 * stride : 8;
    buffer->bytes = bytes;
    buffer->view = flags & VM_BUFFER_SHARED ? b->header.shared_bytes : b->header.view_count++;
    if (flags & VM_BUFFER_SHARED) b->header.shared_bytes += ((uint32_t)bytes + 15u) / 16u * 16u;
    if (flags & VM_BUFFER_SCALAR) b->header.scalar_params++;
    return number;
}

VMB_UNUSED static uint32_t vmb_op(struct vmb *b, uint32_t op, uint32_t d, uint32_t a, uint32_t x,
                                  uint32_t c, uint32_t imm)
{
    uint32_t pc = b->header.code_count++;
    vmb_require(pc < VMB_CODE);
    struct vm_insn insn = {(uint16_t)op, 0,           (uint16_t)d, (uint16_t)a,
                           (uint16_t)x,  (uint16_t)c, imm};
    b->code[pc] = insn;
    return pc;
}

VMB_UNUSED static uint32_t vmb_masked(struct vmb *b, uint32_t op, uint32_t d, uint32_t a,
                                      uint32_t x, uint32_t c, uint32_t imm)
{
    uint32_t pc = vmb_op(b, op, d, a, x, c, imm);
    b->code[pc].flags = VM_MASKED;
    return pc;
}

VMB_UNUSED static uint32_t vmb_control(struct vmb *b, uint32_t op)
{
    return vmb_op(b, op, 0, 0, 0, 0, 0);
}

static uint32_t vmb_open(struct vmb *b, uint32_t pc, uint32_t levels)
{
    vmb_require(b->depth < VMB_DEPTH);
    b->open[b->depth++] = pc;
    b->levels += levels;
    if (b->levels > b->header.level_count) b->header.level_count = b->levels;
    return pc;
}

static uint32_t vmb_close(struct vmb *b, uint32_t levels)
{
    vmb_require(b->depth > 0);
    b->levels -= levels;
    return b->open[--b->depth];
}

VMB_UNUSED static uint32_t vmb_if(struct vmb *b, uint32_t a)
{
    return vmb_open(b, vmb_op(b, VM_OP_IF, 0, a, 0, 0, 0), 1);
}

VMB_UNUSED static uint32_t vmb_else(struct vmb *b)
{
    uint32_t pc = vmb_control(b, VM_OP_ELSE);
    vmb_require(b->depth > 0);
    b->code[b->open[b->depth - 1]].imm = pc;
    b->open[b->depth - 1] = pc;
    return pc;
}

VMB_UNUSED static uint32_t vmb_endif(struct vmb *b)
{
    uint32_t pc = vmb_control(b, VM_OP_ENDIF), opened = vmb_close(b, 1);
    if (b->code[opened].op != VM_OP_IFLEAVE) b->code[opened].imm = pc;
    return pc;
}

/* Its target is set when the loop around it is closed. */
VMB_UNUSED static uint32_t vmb_ifleave(struct vmb *b, uint32_t a)
{
    return vmb_open(b, vmb_op(b, VM_OP_IFLEAVE, 0, a, 0, 0, 0), 1);
}

VMB_UNUSED static uint32_t vmb_leave(struct vmb *b, uint32_t a)
{
    return vmb_op(b, VM_OP_LEAVE, 0, a, 0, 0, 0);
}

/* An if for all lanes at once: vmb_jz, perhaps vmb_jelse, vmb_jend. */
VMB_UNUSED static uint32_t vmb_jz(struct vmb *b, uint32_t a)
{
    return vmb_open(b, vmb_op(b, VM_OP_JZ, 0, a, 0, 0, 0), 0);
}

VMB_UNUSED static uint32_t vmb_jelse(struct vmb *b)
{
    uint32_t pc = vmb_control(b, VM_OP_JUMP);
    vmb_require(b->depth > 0);
    b->code[b->open[b->depth - 1]].imm = pc + 1;
    b->open[b->depth - 1] = pc;
    return pc;
}

VMB_UNUSED static void vmb_jend(struct vmb *b)
{
    uint32_t opened = vmb_close(b, 0);
    b->code[opened].imm = b->header.code_count;
}

/* d counts from a to below x. */
VMB_UNUSED static uint32_t vmb_loop(struct vmb *b, uint32_t d, uint32_t a, uint32_t x)
{
    return vmb_open(b, vmb_op(b, VM_OP_LOOP, d, a, x, 0, 0), 0);
}

VMB_UNUSED static uint32_t vmb_vloop(struct vmb *b, uint32_t d, uint32_t a, uint32_t x)
{
    return vmb_open(b, vmb_op(b, VM_OP_VLOOP, d, a, x, 0, 0), 1);
}

static uint32_t vmb_close_loop(struct vmb *b, uint32_t op)
{
    uint32_t opened = vmb_close(b, op == VM_OP_VNEXT);
    struct vm_insn *loop = &b->code[opened];
    uint32_t pc = vmb_op(b, op, loop->d, loop->b, 0, 0, opened + 1);
    loop->imm = pc + 1;
    for (uint32_t i = opened; i < pc; i++)
        if ((b->code[i].op == VM_OP_IFLEAVE || b->code[i].op == VM_OP_LEAVE) && b->code[i].imm == 0)
            b->code[i].imm = pc + 1;
    return pc;
}

VMB_UNUSED static uint32_t vmb_next(struct vmb *b)
{
    return vmb_close_loop(b, VM_OP_NEXT);
}

VMB_UNUSED static uint32_t vmb_vnext(struct vmb *b)
{
    return vmb_close_loop(b, VM_OP_VNEXT);
}

/* Turns S(n) into what it means and counts what is used. */
static void vmb_register(struct vm_header *h, uint16_t *field, uint32_t words)
{
    if (words == 0) return;
    if (*field & VMB_LATER)
        *field = (uint16_t)(VM_SCALAR | ((*field & (VMB_LATER - 1u)) + h->constant_count));
    uint32_t end = (*field & (VM_SCALAR - 1u)) + words;
    uint32_t *count = *field & VM_SCALAR ? &h->scalar_count : &h->register_count;
    if (end > *count) *count = end;
}

VMB_UNUSED static void vmb_costs(struct vm_insn *code, uint32_t count)
{
    uint32_t last = 0;
    for (uint32_t pc = 0; pc < count; pc++) {
        if (!vm_is_control(code[pc].op)) continue;
        code[pc].c = (uint16_t)(pc + 1 - last);
        last = pc + 1;
    }
}

/* END, all that was left open, and the block: allocated by malloc's rules, aligned to 64 bytes. */
VMB_UNUSED static struct vm_header *vmb_end(struct vmb *b)
{
    struct vm_header *h = &b->header;
    vmb_require(b->depth == 0);
    vmb_control(b, VM_OP_END);
    h->scalar_count = h->constant_count;
    for (uint32_t pc = 0; pc < h->code_count; pc++) {
        struct vm_shape shape;
        struct vm_insn *insn = &b->code[pc];
        vyre_vm_shape(insn->op, &shape);
        vmb_register(h, &insn->d, shape.result.words);
        vmb_register(h, &insn->a, shape.source[0].words);
        vmb_register(h, &insn->b, shape.source[1].words);
        vmb_register(h, &insn->c, shape.source[2].words);
    }
    vmb_costs(b->code, h->code_count);
    h->lanes = h->workgroup[0] * h->workgroup[1] * h->workgroup[2];
    h->stride = (h->lanes + VM_LANE_UNIT - 1u) / VM_LANE_UNIT * VM_LANE_UNIT;
    h->code_offset = sizeof *h;
    h->constant_offset = h->code_offset + 16u * h->code_count;
    h->buffer_offset = (h->constant_offset + 4u * h->constant_count + 7u) / 8u * 8u;
    h->bytes = h->buffer_offset + 24u * h->buffer_count;
    char *block = (char *)aligned_alloc(64, (h->bytes + 63u) / 64u * 64u);
    vmb_require(block != NULL);
    memset(block, 0, (h->bytes + 63u) / 64u * 64u);
    memcpy(block, h, sizeof *h);
    memcpy(block + h->code_offset, b->code, 16u * h->code_count);
    memcpy(block + h->constant_offset, b->constants, 4u * h->constant_count);
    memcpy(block + h->buffer_offset, b->buffers, 24u * h->buffer_count);
    struct vm_header *made = (struct vm_header *)(void *)block;
    uint32_t facts[VMB_BUFFERS];
    made->flags |= vyre_vm_derive(made, facts);
    return made;
}

/* What a test changes in a block that is done. */
VMB_UNUSED static struct vm_insn *vmb_at(struct vm_header *block, uint32_t pc)
{
    return (struct vm_insn *)(void *)((char *)block + block->code_offset) + pc;
}

VMB_UNUSED static struct vm_buffer *vmb_buffer_at(struct vm_header *block, uint32_t number)
{
    return (struct vm_buffer *)(void *)((char *)block + block->buffer_offset) + number;
}

#endif
