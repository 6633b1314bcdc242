/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the room makes of a validated tree: bytecode, checked by a verifier that does not trust the
 * lowering, and text of it.
 */
#ifndef VYRE_VM_VM_H
#define VYRE_VM_VM_H

#include "ir/program.h"
#include "vm/bytecode.h"

/* One instruction as the table has it. */
struct vm_row {
    const char *name;
    const char *shape; /* "W1".. of VM_ALU; "W1" of VM_MATH; "K2" of VM_CHECKED; "" of others */
    const char *types; /* "f=ff"; of VM_OP and VM_CONTROL the operands */
    const char *what;
    uint8_t kind; /* enum vm_row_kind */
};

enum vm_row_kind { VM_ROW_ALU = 1, VM_ROW_MATH, VM_ROW_CHECKED, VM_ROW_OP, VM_ROW_CONTROL };

/* The row of an opcode, or NULL. */
const struct vm_row *vyre_vm_row(uint32_t op);

struct vm_lower_options {
    uint32_t strict;
};

/* A block of bytecode with the place in the tree that each instruction came from. */
struct vm_program {
    struct vyre_memory *memory;
    struct vm_header *header; /* header->bytes bytes, 16-byte aligned */
    uint32_t *source;         /* code_count ids of statements or expressions */
};

/*
 * Lowers a tree that vyre_ir_validate has accepted. Statuses: E_VM_UNSUPPORTED (place: id; the
 * program would always end in an error, or mixes kinds in a way that cannot be decided before it
 * runs), E_VM_LIMIT, E_NO_MEMORY. The result is not yet verified.
 */
vyre_status vyre_vm_lower(const struct ir_program *tree, const struct vm_lower_options *options,
                          struct vm_program **out, vyre_error *err);
void vyre_vm_free(struct vm_program *program); /* NULL is allowed */

/*
 * Checks a block of bytecode of `bytes` bytes; believes nothing in it. On success the block can be
 * run by the interpreter with any bound buffers of the sizes it asks for. Sets nothing.
 * E_VM_INVALID with the instruction as place; E_VM_LIMIT; E_NO_MEMORY.
 */
vyre_status vyre_vm_verify(struct vyre_memory *memory, const struct vm_header *block, size_t bytes,
                           vyre_error *err);

/*
 * What the code of a block does, whatever its flags say: returns PURE, BARRIER, ATOMIC, SUBGROUP
 * and LONG of enum vm_program_flag; buffers[i], for each of buffer_count, receives READ, WRITTEN
 * and ATOMIC of enum vm_buffer_flag. PURE here means: no bound buffer is both read and written, and
 * there are no atomics and no prints; only the lowering knows more, so it may clear it. The block's
 * sizes and offsets must be right; buffer numbers that are not are passed over.
 */
uint32_t vyre_vm_derive(const struct vm_header *program, uint32_t *buffers);

/* The shortest digits that give a float back, and never the look of an integer. */
void vyre_vm_float_text(uint32_t bits, char text[32]);

/* One line of text for an instruction, without a newline. */
void vyre_vm_text(const struct vm_header *program, uint32_t pc, char *text, size_t room);

/* How to print a program. */
struct vm_printing {
    const struct ir_program *tree; /* for the names of buffers; NULL: none */
    ir_writer write;
    void *ctx;
    /* NULL, or gives the text of a comment line before an instruction, or NULL for none; called
     * for each instruction, in order, with the place in the tree that it came from. */
    const char *(*note)(void *ctx, uint32_t id);
    void *note_ctx;
};

/* The whole program as text: header, buffers, constants, code. */
vyre_status vyre_vm_print_with(const struct vm_program *program, const struct vm_printing *how,
                               vyre_error *err);
/* The same without notes. */
vyre_status vyre_vm_print(const struct vm_program *program, const struct ir_program *tree,
                          ir_writer write, void *ctx, vyre_error *err);

#endif
