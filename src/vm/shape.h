/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the strings of opcodes.def say about the fields of an instruction, as numbers. The verifier
 * and the disassembler know operands from here and from nowhere else.
 */
#ifndef VYRE_VM_SHAPE_H
#define VYRE_VM_SHAPE_H

#include <stdint.h>

/* What the 32 bits of a register may be taken for. A bool may be taken for a word, too; so the type
 * b is VM_CAN_U | VM_CAN_B. Where paths meet only what holds on all of them is left. */
enum vm_can {
    VM_CAN_U = 1, /* a word */
    VM_CAN_B = 2, /* 0 or 1 */
    VM_CAN_F = 4, /* a float */
    VM_CAN_ALL = 7
};

enum vm_bank {
    VM_BANK_NONE = 0,
    VM_BANK_ANY,
    VM_BANK_VECTOR,
    VM_BANK_SCALAR,
    VM_BANK_RESULT /* a vector exactly where the result is one */
};

struct vm_operand {
    uint8_t words; /* registers, one after the other; 0: there is no such operand */
    uint8_t bank;  /* enum vm_bank */
    uint8_t can;   /* of a source: needed; of a result: given. 0: type t, the same as the others' */
};

enum vm_imm { VM_IMM_NONE = 0, VM_IMM_NUMBER, VM_IMM_BUFFER, VM_IMM_TARGET };

struct vm_shape {
    struct vm_operand result;    /* field d */
    struct vm_operand source[3]; /* fields a, b, c */
    uint8_t sources;
    uint8_t imm;     /* enum vm_imm */
    uint8_t control; /* field c is the cost */
    uint8_t known;
};

/* The shape of an opcode that has a row; all zero for one that has none. */
void vyre_vm_shape(uint32_t op, struct vm_shape *shape);

#endif
