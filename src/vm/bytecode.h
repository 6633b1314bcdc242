/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The bytecode of a program: what the lowering makes, the verifier checks and the interpreter runs.
 * In the common subset of C and CUDA.
 *
 * A workgroup runs in lockstep: each instruction is done for all lanes before the next one begins.
 * Lanes that are not active still compute (nobody sees it), but they change no memory, fault
 * nothing and keep the value of a register that is written under VM_MASKED.
 *
 * The code is one block without pointers: a header, then instructions, constants and buffers.
 */
#ifndef VYRE_VM_BYTECODE_H
#define VYRE_VM_BYTECODE_H

#include <stdint.h>

#if !defined(__CUDACC__)
#    include <assert.h>
#endif

#define VM_MAX_LANES     1024u
#define VM_MAX_REGISTERS 1024u
#define VM_MAX_SCALARS   4096u /* scalar registers, constants included */
#define VM_MAX_CODE      262144u
#define VM_MAX_LEVELS    64u  /* of masks */
#define VM_MAX_NESTING   256u /* of ifs and loops of all kinds */
#define VM_MAX_BUFFERS   16384u
#define VM_MAX_SHARED    (4u << 20)
#define VM_LANE_UNIT     16u /* the lanes of a register are padded to a multiple of this */
#define VM_SUBGROUP      32u
#define VM_STEP_LANES    32u     /* a step is one instruction for so many lanes */
#define VM_SCALAR        0x8000u /* bit of a register number: a scalar register */

enum vm_opcode {
    VM_OP_NONE = 0,
#define VM_ALU(name, text, shape, types, expression, what)      VM_OP_##name,
#define VM_MATH(name, text, reach, expression, near, what)      VM_OP_##name,
#define VM_CHECKED(name, text, types, result, bad, fault, what) VM_OP_##name,
#define VM_OP(name, text, operands, what)                       VM_OP_##name,
#define VM_CONTROL(name, text, operands, what)                  VM_OP_##name,
#include "vm/opcodes.def"
    VM_OPCODES
};

enum vm_flag {
    VM_MASKED = 1 /* only active lanes write the result: the register is a variable that the
                     others may still need */
};

struct vm_insn {
    uint16_t op;
    uint16_t flags; /* enum vm_flag */
    uint16_t d;
    uint16_t a;
    uint16_t b;
    uint16_t c; /* of a control instruction: its cost */
    uint32_t imm;
};

/* What a TRAPIF is about: its imm. */
enum vm_trap_code { VM_TRAP_TRAP = 1, VM_TRAP_INDEX = 2, VM_TRAP_ASYNC = 3 };

enum vm_buffer_flag {
    VM_BUFFER_READ = 1,
    VM_BUFFER_WRITTEN = 2,
    VM_BUFFER_ATOMIC = 4, /* written by atomics */
    VM_BUFFER_SHARED = 8, /* workgroup memory */
    VM_BUFFER_SCALAR = 16 /* a scalar parameter: may come with the slot */
};

struct vm_buffer {
    uint32_t flags;  /* enum vm_buffer_flag */
    uint32_t stride; /* bytes from one element to the next; 0: loads give 0, stores do nothing */
    uint32_t bits;   /* of an element, for BUFLEN: elements = bytes * 8 / bits */
    uint32_t view;   /* number among the buffers that are bound, in order of declaration; of
                        workgroup memory: its offset in bytes, a multiple of 16 */
    uint64_t bytes;  /* the least it must have; of workgroup memory: what it has */
};

enum vm_program_flag {
    VM_PROGRAM_STRICT = 1,    /* an access out of bounds is a fault */
    VM_PROGRAM_PURE = 2,      /* writes nothing but its output buffers, reads none of them: the same
                                 inputs give the same outputs */
    VM_PROGRAM_BARRIER = 4,   /* has barriers */
    VM_PROGRAM_ATOMIC = 8,    /* has atomics on bound buffers */
    VM_PROGRAM_SUBGROUP = 16, /* has subgroup operations */
    VM_PROGRAM_LONG = 32      /* has loops or copies: its length does not say how long it takes */
};

/* A workgroup of a program that is not LONG and has no more instructions is over soon. */
#define VM_SHORT_CODE 256u

struct vm_header {
    uint32_t bytes;        /* of the whole block */
    uint32_t flags;        /* enum vm_program_flag */
    uint32_t workgroup[3]; /* lanes on each axis */
    uint32_t lanes;        /* their product */
    uint32_t stride;       /* lanes padded to VM_LANE_UNIT */
    uint32_t code_count;   /* instructions */
    uint32_t register_count;
    uint32_t scalar_count;   /* scalar registers */
    uint32_t constant_count; /* the first of them, never written */
    uint32_t level_count;    /* masks that can be open at once */
    uint32_t buffer_count;
    uint32_t view_count;      /* buffers that are bound */
    uint32_t shared_bytes;    /* workgroup memory, a multiple of 16 */
    uint32_t scalar_params;   /* buffers with VM_BUFFER_SCALAR */
    uint32_t code_offset;     /* of struct vm_insn[], from the start of the block */
    uint32_t constant_offset; /* of uint32_t[] */
    uint32_t buffer_offset;   /* of struct vm_buffer[] */
    uint32_t serial; /* 0; of a loaded program: tells it from any other at the same address */
};

#if !defined(__CUDACC__)
static_assert(sizeof(struct vm_insn) == 16, "one load");
static_assert(sizeof(struct vm_header) == 80, "packed, a multiple of 16");
static_assert(sizeof(struct vm_buffer) == 24, "packed");
#endif

#if defined(__CUDACC__)
#    define VM_TABLE_FN static __device__ __forceinline__
#else
#    define VM_TABLE_FN static inline
#endif

VM_TABLE_FN const struct vm_insn *vm_code_at(const struct vm_header *program, uint32_t offset)
{
    return (const struct vm_insn *)(const void *)((const char *)program + offset);
}

VM_TABLE_FN const struct vm_insn *vm_code(const struct vm_header *program)
{
    return vm_code_at(program, program->code_offset);
}

VM_TABLE_FN const uint32_t *vm_constants(const struct vm_header *program)
{
    return (const uint32_t *)(const void *)((const char *)program + program->constant_offset);
}

VM_TABLE_FN const struct vm_buffer *vm_buffers(const struct vm_header *program)
{
    return (const struct vm_buffer *)(const void *)((const char *)program + program->buffer_offset);
}

/* Of a program that is over soon: instructions times units of 32 lanes; 0: it is not such a one. */
VM_TABLE_FN uint32_t vm_short_weight(const struct vm_header *program)
{
    if ((program->flags & VM_PROGRAM_LONG) != 0 || program->code_count > VM_SHORT_CODE) return 0;
    return program->code_count * ((program->lanes + 31u) / 32u);
}

/* Control instructions carry a cost and end a stretch of code. */
VM_TABLE_FN int vm_is_control(uint32_t op)
{
    return op >= VM_OP_IF && op <= VM_OP_END;
}

#endif
