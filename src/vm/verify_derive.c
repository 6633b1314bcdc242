/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the code of a block does to its buffers and needs of a backend.
 */
#include <string.h>

#include "vm/vm.h"

static void add(const struct vm_header *program, uint32_t *buffers, uint32_t number, uint32_t flags)
{
    if (number < program->buffer_count) buffers[number] |= flags;
}

uint32_t vyre_vm_derive(const struct vm_header *program, uint32_t *buffers)
{
    const struct vm_insn *code = vm_code(program);
    const struct vm_buffer *table = vm_buffers(program);
    uint32_t flags = VM_PROGRAM_PURE;
    if (program->buffer_count) memset(buffers, 0, program->buffer_count * sizeof *buffers);
    for (uint32_t pc = 0; pc < program->code_count; pc++) {
        uint32_t op = code[pc].op, imm = code[pc].imm;
        if (op >= VM_OP_LD8 && op <= VM_OP_LD128) {
            add(program, buffers, imm, VM_BUFFER_READ);
        } else if (op >= VM_OP_ST8 && op <= VM_OP_ST128) {
            add(program, buffers, imm, VM_BUFFER_WRITTEN);
        } else if (op == VM_OP_ADDTO) {
            add(program, buffers, imm, VM_BUFFER_READ | VM_BUFFER_WRITTEN);
        } else if (op >= VM_OP_ATADD && op <= VM_OP_ATCAS) {
            add(program, buffers, imm, VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC);
            flags |= VM_PROGRAM_ATOMIC;
        } else if (op == VM_OP_COPY || op == VM_OP_COPYTO) {
            flags |= VM_PROGRAM_LONG;
            add(program, buffers, imm & 0xFFFFu, VM_BUFFER_READ);
            add(program, buffers, imm >> 16, VM_BUFFER_WRITTEN);
        } else if (op >= VM_OP_SGADD && op <= VM_OP_SGBALLOT) {
            flags |= VM_PROGRAM_SUBGROUP;
        } else if (op == VM_OP_NEXT || op == VM_OP_VNEXT) {
            flags |= VM_PROGRAM_LONG;
        } else if (op == VM_OP_BARRIER) {
            flags |= VM_PROGRAM_BARRIER;
        } else if (op == VM_OP_PRINT) {
            flags &= ~(uint32_t)VM_PROGRAM_PURE;
        }
    }
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        uint32_t both = VM_BUFFER_READ | VM_BUFFER_WRITTEN;
        if (table[i].flags & VM_BUFFER_SHARED) continue;
        if ((buffers[i] & both) == both || buffers[i] & VM_BUFFER_ATOMIC)
            flags &= ~(uint32_t)VM_PROGRAM_PURE;
    }
    return flags;
}
