/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Code as a warp keeps it in its room: checked and decoded once, when the room is made ready for a
 * program. Operands are places in the room. What is rare, or cannot be, is left to the interpreter
 * that looks at every number (warp_insn.h).
 */
#ifndef VYRE_DEVICE_WARP_DECODE_H
#define VYRE_DEVICE_WARP_DECODE_H

#include "device/frame.h"
#include "device/layout.h"
#include "device/warp.h"
#include "vm/bytecode.h"

/* The words of which an instruction makes a word, lane by lane: 1, 2 or 3; 0: it is another kind.
 */
DEV_FN uint32_t dev_alu_sources(uint32_t op)
{
    switch (op) {
#define DEV_SOURCES_W1 1
#define DEV_SOURCES_W2 2
#define DEV_SOURCES_W3 3
#define DEV_SOURCES_D1 0
#define DEV_SOURCES_D2 0
#define DEV_SOURCES_C1 0
#define DEV_SOURCES_C2 0
#define VM_ALU(name, text, shape, types, expression, what)                                         \
case VM_OP_##name:                                                                                 \
    return DEV_SOURCES_##shape;
#include "vm/opcodes.def"
    case VM_OP_MOV:
        return 1;
    default:
        return 0;
    }
}

/* What the loop does with an instruction. */
enum dev_class {
    DEV_CLASS_WORDS = 1,  /* words from words, lane by lane: its function is called */
    DEV_CLASS_SCALAR = 2, /* a scalar from scalars, or from words of the frame: the same */
    DEV_CLASS_LOAD = 3,   /* a word of a buffer, at an index of each lane's */
    DEV_CLASS_STORE = 4,
    DEV_CLASS_CONTROL = 5,
    DEV_CLASS_ID = 6,       /* LOCALID or GLOBALID where lanes count up along x */
    DEV_CLASS_LOAD_ONE = 7, /* a scalar from a buffer, at an index that is a scalar */
    DEV_CLASS_RARE = 8      /* anything else, or damaged: the other interpreter says */
};

/* An operand is its place in the room; of a vector, with the first bit. That of a vector which is
 * not in the room is its place among all where they lie in device memory, with the second too.
 * Where an instruction has such a one, and only some lanes take its result, that has the third. */
#define DEV_EACH          0x80000000u
#define DEV_FAR           0x40000000u
#define DEV_SOME          0x20000000u
#define DEV_OPERAND_PLACE 0x1FFFFFFFu

/* Places in the room are offsets from an origin. On a GPU that is the beginning of shared memory,
 * whose addresses have 32 bits: so they are addresses, and nothing need be added. */
#if defined(__CUDACC__)
DEV_FN uint32_t dev_near_place(const void *room)
{
    return (uint32_t)__cvta_generic_to_shared(room);
}
#else
DEV_FN uint32_t dev_near_place(const void *room)
{
    (void)room;
    return 0;
}
#endif

#define DEV_PASS       4u /* words of a register that a lane of the warp takes at once */
#define DEV_PASS_BYTES (DEV_PASS * DEV_WARP * 4u)

/* A scalar lies there as often as a lane of the warp reads words of a register at once: so it is
 * read as if it were one. */
#define DEV_SCALAR_WORDS DEV_PASS

struct dev_op {
    uint32_t op; /* opcode, class << 8, flags << 16 */
    uint32_t d;
    uint32_t a;
    uint32_t b;
    uint32_t c; /* of a control instruction: its cost, times the units */
    uint32_t imm;
    uint64_t run; /* the function of words from words (dev_words_run) */
};

static_assert(sizeof(struct dev_op) == 32, "two loads");

/* Places behind the last one: the loop reads ahead. The first of them says that there is none. One
 * before the first one says where the registers are that are not in the room (warp_far.h). */
#define DEV_OPS_BEHIND 3u
#define DEV_OPS_BEFORE 1u

DEV_FN uint32_t dev_op_class(const struct dev_op *op)
{
    return op->op >> 8 & 0xFFu;
}

/* Words from words have functions for the registers that they are called with, so that none of
 * them asks (warp_words.h). */
enum dev_words_variant {
    DEV_WORDS_PART = 0,   /* less than a pass of four units, no mask */
    DEV_WORDS_ONE = 1,    /* one whole pass */
    DEV_WORDS_TWO = 2,    /* two */
    DEV_WORDS_ANY = 3,    /* any other number */
    DEV_WORDS_MASKED = 4, /* any number, with a mask */
    DEV_WORDS_SCALAR = 5,
    DEV_WORDS_FAR = 6, /* any number, and not all of them lie in the room */
    DEV_WORDS_VARIANTS = 7
};

DEV_FN uint32_t dev_words_variant(uint32_t units, uint32_t masked)
{
    if (masked != 0) return DEV_WORDS_MASKED;
    if (units < DEV_PASS) return DEV_WORDS_PART;
    if (units == DEV_PASS) return DEV_WORDS_ONE;
    return units == 2 * DEV_PASS ? (uint32_t)DEV_WORDS_TWO : (uint32_t)DEV_WORDS_ANY;
}

/* What dev_op.run is for the function of an opcode (warp_words.h). */
#if defined(__CUDACC__)
static __device__ uint64_t dev_words_run(uint32_t op, uint32_t variant);
#else
DEV_FN uint64_t dev_words_run(uint32_t op, uint32_t variant)
{
    return (uint64_t)op * DEV_WORDS_VARIANTS + variant;
}
#endif

/* What a decoder needs to know. */
struct dev_decoder {
    const struct vm_header *header;
    uint32_t frame, registers, scalars, views; /* places in the room */
    uint32_t near_registers;                   /* registers that lie there, the first ones */
    uint32_t units;
};

/* The operand of a number; DEV_NONE: there is no such register. */
DEV_FN uint32_t dev_decode_operand(const struct dev_decoder *decoder, uint32_t number)
{
    const struct vm_header *header = decoder->header;
    uint32_t index = number & ~VM_SCALAR;
    if (number & VM_SCALAR)
        return index < header->scalar_count ? decoder->scalars + index * DEV_SCALAR_WORDS * 4
                                            : DEV_NONE;
    if (index >= header->register_count) return DEV_NONE;
    const uint32_t at = index * decoder->units * DEV_WARP * 4;
    return index < decoder->near_registers ? (decoder->registers + at) | DEV_EACH
                                           : at | DEV_EACH | DEV_FAR;
}

/* Which class an instruction is of, and how many of b, c and d it has; a it has always. */
DEV_FN uint32_t dev_decode_class(const struct dev_decoder *decoder, const struct vm_insn *in)
{
    if (dev_alu_sources(in->op) != 0) return DEV_CLASS_WORDS;
    switch (in->op) {
    case VM_OP_LD32:
    case VM_OP_LDF32:
        if (!(in->a & VM_SCALAR)) return DEV_CLASS_LOAD;
        return in->d & VM_SCALAR ? DEV_CLASS_LOAD_ONE : DEV_CLASS_RARE;
    case VM_OP_ST32:
    case VM_OP_STF32:
        return in->a & VM_SCALAR ? DEV_CLASS_RARE : DEV_CLASS_STORE;
    case VM_OP_LOCALID:
    case VM_OP_GLOBALID:
        return in->imm == 0 && decoder->header->workgroup[0] == decoder->header->lanes
                   ? DEV_CLASS_ID
                   : DEV_CLASS_RARE;
    case VM_OP_GROUPID:
    case VM_OP_BUFLEN:
        return in->d & VM_SCALAR ? DEV_CLASS_SCALAR : DEV_CLASS_RARE;
    default:
        return vm_is_control(in->op) ? DEV_CLASS_CONTROL : DEV_CLASS_RARE;
    }
}

/* The word of the frame that GROUPID or BUFLEN gives; DEV_NONE: there is none. */
DEV_FN uint32_t dev_decode_word(const struct dev_decoder *decoder, const struct vm_insn *in)
{
    if (in->op == VM_OP_GROUPID)
        return in->imm < 3
                   ? decoder->frame + (uint32_t)offsetof(struct dev_frame, group) + in->imm * 4
                   : DEV_NONE;
    if (in->imm >= decoder->header->buffer_count) return DEV_NONE;
    return decoder->views + in->imm * (uint32_t)sizeof(struct dev_view) +
           (uint32_t)offsetof(struct dev_view, count);
}

/* Whether what control says can be done: targets within the code, forwards but for loops' ends. */
DEV_FN int dev_decode_control(const struct dev_decoder *decoder, const struct vm_insn *in,
                              uint32_t pc, struct dev_op *op)
{
    int back = in->op == VM_OP_NEXT || in->op == VM_OP_VNEXT;
    int goes = in->op != VM_OP_ENDIF && in->op != VM_OP_BARRIER && in->op != VM_OP_RET &&
               in->op != VM_OP_STEP && in->op != VM_OP_END;
    int has_a = goes && in->op != VM_OP_ELSE && in->op != VM_OP_JUMP;
    int has_b = in->op == VM_OP_LOOP || in->op == VM_OP_VLOOP;
    int has_d = has_b || back;
    if (in->op == VM_OP_VLOOP || in->op == VM_OP_VNEXT || in->op == VM_OP_RET) return 0; /* rare */
    op->c = in->c * decoder->units;
    if (back && op->c == 0) op->c = 1;
    if (goes && (in->imm >= decoder->header->code_count || (!back && in->imm <= pc))) return 0;
    if (!has_a) op->a = 0;
    if (!has_b) op->b = 0;
    if (!has_d) op->d = 0;
    if (op->a == DEV_NONE || op->b == DEV_NONE || op->d == DEV_NONE) return 0;
    uint32_t vectors = in->op == VM_OP_IF || in->op == VM_OP_IFLEAVE ? DEV_EACH : 0;
    return !has_a || (((op->a & DEV_EACH) == vectors) && !((op->b | op->d) & DEV_EACH));
}

DEV_FN struct dev_op dev_decode(const struct dev_decoder *decoder, const struct vm_insn *in,
                                uint32_t pc)
{
    struct dev_op op;
    uint32_t class_of = dev_decode_class(decoder, in), sources = dev_alu_sources(in->op);
    int sound = 1;
    op.imm = in->imm;
    op.d = dev_decode_operand(decoder, in->d);
    op.a = dev_decode_operand(decoder, in->a);
    op.b = dev_decode_operand(decoder, in->b);
    op.c = dev_decode_operand(decoder, in->c);
    op.run = 0;
    if ((class_of == DEV_CLASS_LOAD || class_of == DEV_CLASS_LOAD_ONE ||
         class_of == DEV_CLASS_STORE) &&
        in->imm >= decoder->header->buffer_count)
        class_of = DEV_CLASS_RARE;
    if (class_of == DEV_CLASS_SCALAR) op.a = dev_decode_word(decoder, in);
    if (class_of == DEV_CLASS_CONTROL) {
        sound = dev_decode_control(decoder, in, pc, &op);
    } else if (class_of != DEV_CLASS_RARE) {
        if (sources < 2 && class_of != DEV_CLASS_STORE) op.b = op.a;
        if (sources < 3) op.c = op.a;
        if (class_of == DEV_CLASS_STORE) op.d = op.a;
        if (class_of == DEV_CLASS_ID) op.a = op.b = op.c = op.d;
        sound = op.a != DEV_NONE && op.b != DEV_NONE && op.c != DEV_NONE && op.d != DEV_NONE;
        /* A scalar is made of scalars. */
        if (class_of == DEV_CLASS_WORDS && !(op.d & DEV_EACH)) class_of = DEV_CLASS_SCALAR;
        if (class_of == DEV_CLASS_SCALAR || class_of == DEV_CLASS_LOAD_ONE)
            sound = sound && !((op.a | op.b | op.c | op.d) & DEV_EACH);
        if (class_of == DEV_CLASS_LOAD || class_of == DEV_CLASS_ID)
            sound = sound && (op.d & DEV_EACH) != 0;
    }
    if (!sound) class_of = DEV_CLASS_RARE;
    const uint32_t where = op.a | op.b | op.d | (class_of != DEV_CLASS_CONTROL ? op.c : 0);
    uint32_t variant = dev_words_variant(decoder->units, in->flags & VM_MASKED);
    if (class_of == DEV_CLASS_SCALAR) variant = DEV_WORDS_SCALAR;
    if (where & DEV_FAR) {
        if (class_of != DEV_CLASS_WORDS) class_of = DEV_CLASS_RARE;
        if (in->flags & VM_MASKED) op.d |= DEV_SOME;
        variant = DEV_WORDS_FAR;
    }
    if (class_of <= DEV_CLASS_SCALAR)
        op.run = dev_words_run(sources != 0 ? in->op : (uint32_t)VM_OP_MOV, variant);
    /* What is no instruction is rare, whatever its number. */
    op.op = (in->op & 0xFFu) | class_of << 8 | (uint32_t)(in->flags & VM_MASKED) << 16;
    return op;
}

#endif
