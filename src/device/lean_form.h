/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The form of code for the lean loop (lean.h), and where it lies in a frame's room: the functions
 * that compute words, what an instruction is, and the head behind which all is found. It is made by
 * lean_code.h and read by the loop.
 */
#ifndef VYRE_DEVICE_LEAN_FORM_H
#define VYRE_DEVICE_LEAN_FORM_H

#include "device/handle.h"
#include "device/warp_interp.h"

#define DEV_LEAN_UNITS 2u

/* Computes an instruction for two lanes: the result of the first is in the low half. */
typedef uint64_t (*dev_lean_fn)(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, uint32_t c0,
                                uint32_t c1);

#define DEV_LEAN_EACH(expression, x, y, z)                                                         \
    {                                                                                              \
        const uint32_t a = (x), b = (y), c = (z);                                                  \
        (void)a, (void)b, (void)c;                                                                 \
        word = (expression);                                                                       \
    }

#define DEV_LEAN_FN(name, expression)                                                              \
    DEV_NO_INLINE uint64_t dev_lean_##name(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1,     \
                                           uint32_t c0, uint32_t c1)                               \
    {                                                                                              \
        uint32_t word, low;                                                                        \
        DEV_LEAN_EACH(expression, a0, b0, c0)                                                      \
        low = word;                                                                                \
        DEV_LEAN_EACH(expression, a1, b1, c1)                                                      \
        return (uint64_t)word << 32 | low;                                                         \
    }

#define DEV_LEAN_W1(name, expression) DEV_LEAN_FN(name, expression)
#define DEV_LEAN_W2(name, expression) DEV_LEAN_FN(name, expression)
#define DEV_LEAN_W3(name, expression) DEV_LEAN_FN(name, expression)
#define DEV_LEAN_D1(name, expression)
#define DEV_LEAN_D2(name, expression)
#define DEV_LEAN_C1(name, expression)
#define DEV_LEAN_C2(name, expression)

#define VM_ALU(name, text, shape, types, expression, what) DEV_LEAN_##shape(name, expression)
#include "vm/opcodes.def"

/* By opcode, as dev_words_table; moves are sums (dev_lean_make_words). */
#define DEV_LEAN_ROW_W1(name) dev_lean_##name,
#define DEV_LEAN_ROW_W2(name) dev_lean_##name,
#define DEV_LEAN_ROW_W3(name) dev_lean_##name,
#define DEV_LEAN_ROW_D1(name) 0,
#define DEV_LEAN_ROW_D2(name) 0,
#define DEV_LEAN_ROW_C1(name) 0,
#define DEV_LEAN_ROW_C2(name) 0,

DEV_TABLE dev_lean_fn dev_lean_table[] = {
    0,
#define VM_ALU(name, text, shape, types, expression, what) DEV_LEAN_ROW_##shape(name)
#include "vm/opcodes.def"
};

/* What an instruction is here, a bit each, so that the loop finds the usual ones first. */
enum dev_lean_kind {
    DEV_LEAN_SUM = 1, /* a * b + c */
    DEV_LEAN_LOAD = 2,
    DEV_LEAN_STORE = 4,
    DEV_LEAN_END = 8,
    DEV_LEAN_WORDS = 16, /* any other word from words, by a function */
    DEV_LEAN_FILL = 32,  /* a word that is known before, and what a lane counts up to it */
    DEV_LEAN_IF = 64,
    DEV_LEAN_ENDIF = 128,
    DEV_LEAN_JZ = 256,
    DEV_LEAN_GO = 512,     /* to imm, whatever the lanes have */
    DEV_LEAN_LEAVE = 1024, /* anything else */
    DEV_LEAN_FLOAT = 2048, /* of a sum, a load, a store or a fill: of floats */
    DEV_LEAN_LESS = 4096,  /* of a sum: whether a < b instead */
    DEV_LEAN_ALL = 8192,   /* of a load: for all lanes of the warp, of a scalar */
    DEV_LEAN_PAIR = 16384, /* of a load: the next one is a load that needs nothing of it */
    DEV_LEAN_UP = 32768    /* of a store: its places are known to count up */
};

/* Code as this loop reads it. Operands are bytes from the start of the room to a row: of two words
 * for each lane of the warp, those of its lane of both units. What is none is 0, which can be read
 * too: the loop reads operands before it looks what they are for. */
struct dev_lean_op {
    uint32_t kind_d; /* kind, d << 16 */
    uint32_t ab;     /* a, b << 16 */
    uint32_t c;
    uint32_t imm;  /* where control goes, in bytes of code; or the elements of a buffer; or the
                      place of a word in the room; or, where not 0, what a sum has instead of b */
    uint64_t what; /* the function, or where those elements are; or the steps of a control
                      instruction; or how much a lane counts; or, where not 0, what a sum has
                      instead of c, with bit 32 */
    uint32_t pc;
    uint32_t reserved;
};

static_assert(sizeof(struct dev_lean_op) == 32, "two loads");

#define DEV_LEAN_D(op) ((op)->kind_d >> 16)
#define DEV_LEAN_A(op) ((op)->ab & 0xFFFFu)
#define DEV_LEAN_B(op) ((op)->ab >> 16)

#define DEV_LEAN_ROW_BYTES 256u

/* What lies behind all that a frame uses of its room: this, what is filled first (of the first
 * instructions, one for each lane; scalars of the slot last), code, rows (registers before
 * scalars), and a row of one word for each lane, for answers. */
struct dev_lean_head {
    uint32_t early;   /* how many */
    uint32_t same;    /* of them, are the same for every slot that differs in scalars only */
    uint32_t code;    /* where it is in the room */
    uint32_t answers; /* and where that row is; 0: stores are not answered */
    uint32_t first_id;
    uint32_t zero;
    uint32_t group[3];
    uint32_t reserved[3];
};

static_assert(sizeof(struct dev_lean_head) % 16 == 0, "what follows is read 16 bytes at a time");

/* Programs with more stores than these make one fence for all instead of waiting for each. */
#define DEV_LEAN_ANSWERED 2u

struct dev_lean_layout {
    uint32_t head, early, code, rows, answers, end;
};

DEV_FN struct dev_lean_layout dev_lean_layout(const struct dev_frame *frame)
{
    const struct vm_header *header = &frame->header;
    const uint32_t size = (uint32_t)sizeof(struct dev_lean_op);
    struct dev_lean_layout at;
    at.head = (frame->near_bytes + 15u) & ~15u;
    at.early = at.head + (uint32_t)sizeof(struct dev_lean_head);
    at.code = at.early + (header->code_count < DEV_WARP ? header->code_count : DEV_WARP) * size;
    at.rows = at.code + (header->code_count + 2u) * size;
    at.answers =
        at.rows + ((uint32_t)header->register_count + header->scalar_count) * DEV_LEAN_ROW_BYTES;
    at.end = at.answers + DEV_WARP * 4u;
    return at;
}

#endif
