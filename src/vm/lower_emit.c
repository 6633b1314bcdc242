/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The block of bytecode: header, code with its costs, constants, buffers.
 */
#include <string.h>

#include "vm/lower.h"

#define STRETCH 60000u /* instructions without a control instruction: a cost has 16 bits */

struct layout {
    uint32_t code_count;
    uint32_t levels;
    uint32_t shared_bytes;
    size_t constant_offset;
    size_t buffer_offset;
    size_t bytes;
};

static int is_left_out(const struct lowering *low, const struct low_insn *insn)
{
    if (insn->op == VM_OP_NONE) return 1;
    const struct low_reg *to = &low->regs[insn->d >> 2], *from = &low->regs[insn->a >> 2];
    return insn->op == VM_OP_MOV && to->scalar == from->scalar &&
           to->place + (insn->d & 3) == from->place + (insn->a & 3);
}

/* Numbers the instructions that stay, steps included; map[i] is where a jump to i goes. */
static void number_code(struct lowering *low, uint32_t *map, struct layout *layout)
{
    uint32_t count = 0, stretch = 0, levels = 0;
    for (uint32_t i = 0; i < low->code.count; i++) {
        const struct low_insn *insn = &low->code.at[i];
        if (is_left_out(low, insn)) {
            map[i] = count;
            continue;
        }
        if (stretch == STRETCH) {
            stretch = 0;
            count++;
        }
        map[i] = count++;
        stretch = vm_is_control(insn->op) ? 0 : stretch + 1;
        if (insn->op == VM_OP_IF || insn->op == VM_OP_IFLEAVE || insn->op == VM_OP_VLOOP) levels++;
        if (levels > layout->levels) layout->levels = levels;
        if (insn->op == VM_OP_ENDIF || insn->op == VM_OP_VNEXT) levels--;
    }
    layout->code_count = count;
    if (count > VM_MAX_CODE) vyre_low_limit(low, "instructions", count, VM_MAX_CODE);
    if (layout->levels > VM_MAX_LEVELS)
        vyre_low_limit(low, "masks open at once", layout->levels, VM_MAX_LEVELS);
}

static uint16_t register_number(const struct lowering *low, low_word word)
{
    const struct low_reg *reg = &low->regs[word >> 2];
    if (word == 0) return 0;
    return (uint16_t)((reg->place + (word & 3)) | (reg->scalar ? VM_SCALAR : 0u));
}

static void write_code(const struct lowering *low, const uint32_t *map, struct vm_program *program)
{
    struct vm_insn *code =
        (struct vm_insn *)(void *)((char *)program->header + program->header->code_offset);
    uint32_t count = 0, stretch = 0;
    for (uint32_t i = 0; i < low->code.count; i++) {
        const struct low_insn *insn = &low->code.at[i];
        if (is_left_out(low, insn)) continue;
        if (stretch == STRETCH) {
            program->source[count] = insn->source;
            code[count++] = (struct vm_insn){.op = VM_OP_STEP, .c = (uint16_t)(STRETCH + 1)};
            stretch = 0;
        }
        stretch++;
        program->source[count] = insn->source;
        struct vm_insn *at = &code[count++];
        at->op = insn->op;
        at->flags = insn->flags;
        at->d = register_number(low, insn->d);
        at->a = register_number(low, insn->a);
        at->b = register_number(low, insn->b);
        at->c = register_number(low, insn->c);
        at->imm = low_has_target(insn->op) ? map[insn->imm] : insn->imm;
        if (!vm_is_control(insn->op)) continue;
        at->c = (uint16_t)stretch;
        stretch = 0;
    }
}

static void write_constants(const struct lowering *low, const struct vm_header *header)
{
    uint32_t *out = (uint32_t *)(void *)((char *)(uintptr_t)header + header->constant_offset);
    for (uint32_t i = 1; i < low->reg_count; i++) {
        const struct low_reg *reg = &low->regs[i];
        if (!reg->constant || reg->uses == 0) continue;
        for (uint32_t k = 0; k < reg->width; k++)
            out[reg->place + k] = low->words[reg->first + k];
    }
}

/* Bits of an element as BufLen counts them: whole bytes where the type has no bits of its own. */
static uint32_t element_bits(const struct ir_type *type)
{
    uint64_t bits = vyre_ir_type_bits(type);
    if (bits == 0) bits = vyre_ir_type_size(type) * 8;
    return bits == 0 || bits > UINT32_MAX ? 8 : (uint32_t)bits;
}

static void write_buffers(const struct lowering *low, struct vm_header *header)
{
    struct vm_buffer *out = (struct vm_buffer *)(void *)((char *)header + header->buffer_offset);
    uint64_t shared = 0;
    for (uint32_t i = 0; i < low->tree->buffer_count; i++) {
        const struct ir_buffer *buffer = &low->tree->buffers[i];
        out[i].stride = (uint32_t)vyre_ir_type_stride(&buffer->type);
        out[i].bits = element_bits(&buffer->type);
        out[i].bytes = vyre_ir_buffer_bytes(buffer);
        if (buffer->access == IR_ACCESS_WORKGROUP) {
            out[i].flags = VM_BUFFER_SHARED;
            out[i].view = (uint32_t)shared;
            shared = (shared + out[i].bytes + 15) & ~(uint64_t)15;
            continue;
        }
        out[i].view = header->view_count++;
        if (vyre_ir_buffer_scalar(buffer)) {
            out[i].flags = VM_BUFFER_SCALAR;
            header->scalar_params++;
        }
    }
    header->shared_bytes = (uint32_t)shared;
}

/* Flags of buffers and program, from the code itself. */
static void write_flags(const struct lowering *low, struct vm_header *header, uint32_t *scratch)
{
    struct vm_buffer *buffers =
        (struct vm_buffer *)(void *)((char *)header + header->buffer_offset);
    header->flags = vyre_vm_derive(header, scratch);
    if (low->strict) header->flags |= VM_PROGRAM_STRICT;
    for (uint32_t i = 0; i < header->buffer_count; i++) {
        buffers[i].flags |= scratch[i];
        /* What was in a buffer that is bound and not all written would show in the output. */
        if (scratch[i] & VM_BUFFER_WRITTEN && !(buffers[i].flags & VM_BUFFER_SHARED) &&
            !vyre_ir_buffer_allocated(&low->tree->buffers[i]))
            header->flags &= ~(uint32_t)VM_PROGRAM_PURE;
    }
}

static void lay_out(struct lowering *low, struct layout *layout)
{
    uint64_t shared = 0;
    for (uint32_t i = 0; i < low->tree->buffer_count; i++) {
        const struct ir_buffer *buffer = &low->tree->buffers[i];
        if (buffer->access != IR_ACCESS_WORKGROUP) continue;
        shared += (vyre_ir_buffer_bytes(buffer) + 15) & ~(uint64_t)15;
        if (shared > VM_MAX_SHARED) {
            vyre_low_limit(low, "bytes of workgroup memory", shared, VM_MAX_SHARED);
            return;
        }
    }
    layout->constant_offset =
        sizeof(struct vm_header) + (size_t)layout->code_count * sizeof(struct vm_insn);
    layout->buffer_offset =
        (layout->constant_offset + (size_t)low->constant_count * sizeof(uint32_t) + 7) & ~(size_t)7;
    layout->bytes =
        layout->buffer_offset + (size_t)low->tree->buffer_count * sizeof(struct vm_buffer);
}

static vyre_status fill(struct lowering *low, const struct layout *layout, uint32_t *map,
                        struct vm_program *program)
{
    void *block, *source;
    vyre_status status =
        vyre_memory_alloc(low->memory, layout->bytes, 1, "bytecode", &block, low->err);
    if (status != VYRE_OK) return status;
    program->header = block;
    struct vm_header *header = block;
    header->bytes = (uint32_t)layout->bytes;
    header->code_count = layout->code_count;
    status = vyre_memory_alloc(low->memory, layout->code_count, sizeof(uint32_t),
                               "places of the bytecode", &source, low->err);
    if (status != VYRE_OK) return status;
    program->source = source;
    memcpy(header->workgroup, low->tree->workgroup, sizeof header->workgroup);
    header->lanes = low->lanes;
    header->stride = (low->lanes + VM_LANE_UNIT - 1) / VM_LANE_UNIT * VM_LANE_UNIT;
    header->register_count = low->register_count;
    header->scalar_count = low->scalar_count;
    header->constant_count = low->constant_count;
    header->level_count = layout->levels;
    header->buffer_count = low->tree->buffer_count;
    header->code_offset = sizeof *header;
    header->constant_offset = (uint32_t)layout->constant_offset;
    header->buffer_offset = (uint32_t)layout->buffer_offset;
    write_code(low, map, program);
    write_constants(low, header);
    write_buffers(low, header);
    write_flags(low, header, map);
    return VYRE_OK;
}

vyre_status vyre_low_block(struct lowering *low, struct vm_program **out)
{
    struct layout layout = {0};
    void *map, *program;
    if (low->status != VYRE_OK) return low->status;
    /* Afterwards it holds the flags of the buffers. */
    size_t room =
        low->code.count > low->tree->buffer_count ? low->code.count : low->tree->buffer_count;
    low->status = vyre_memory_alloc(low->memory, room, sizeof(uint32_t), "numbers of instructions",
                                    &map, low->err);
    if (low->status != VYRE_OK) return low->status;
    number_code(low, map, &layout);
    if (low->status == VYRE_OK) lay_out(low, &layout);
    if (low->status == VYRE_OK)
        low->status = vyre_memory_alloc(low->memory, 1, sizeof(struct vm_program), "program",
                                        &program, low->err);
    if (low->status == VYRE_OK) {
        ((struct vm_program *)program)->memory = low->memory;
        low->status = fill(low, &layout, map, program);
        if (low->status == VYRE_OK)
            *out = program;
        else
            vyre_vm_free(program);
    }
    vyre_memory_free(low->memory, map, room * sizeof(uint32_t));
    return low->status;
}
