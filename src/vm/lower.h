/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the lowering share. Nobody else includes it.
 *
 * The tree is walked and becomes linear code over virtual registers (lower_flow.c, lower_expr.c);
 * what is known about the variables while walking are guesses that only grow weaker, and where one
 * was too strong the walk is done again. Then the code is tidied (lower_tidy.c, lower_poly.c),
 * registers are given (lower_allocate.c) and put in order (lower_order.c), and the block is written
 * (lower_emit.c).
 *
 * Errors are sticky: the first one is kept in `status`, after it everything goes on without effect
 * until the walk ends. So no function here returns a status but those that say so.
 */
#ifndef VYRE_VM_LOWER_H
#define VYRE_VM_LOWER_H

#include "vm/vm.h"

/*
 * Which kinds a value may have when the program runs, as a set. A set of more than one comes from a
 * variable that gets different kinds on different paths; few things can be done with it.
 */
enum low_kind {
    LOW_U32 = 1,
    LOW_I32 = 2,
    LOW_BOOL = 4, /* 0 or 1 */
    LOW_F32 = 8,
    LOW_RAW4 = 16, /* up to 4 bytes without a meaning, zero extended */
    LOW_U64 = 32,
    LOW_RAW8 = 64,
    LOW_RAW16 = 128,
    LOW_WORD = LOW_U32 | LOW_I32 | LOW_BOOL | LOW_RAW4 /* the same bits mean the same as a word */
};

/* A word of a virtual register: register << 2 | word. 0 is none. */
typedef uint32_t low_word;

struct low_reg {
    uint32_t defs; /* instructions that write it */
    uint32_t uses; /* operands that read it */
    union {
        uint32_t def;  /* the last instruction that writes it; for lower_tidy.c */
        uint32_t next; /* in the list of those that end at one instruction; lower_allocate.c */
    };
    uint32_t first; /* of a constant: its place in `words`; else the first instruction with it */
    uint32_t last;  /* the last instruction at which it must be kept */
    uint32_t below; /* of the counter of a uniform loop: its constant limit; else 0 */
    uint16_t place; /* number in the bytecode, without VM_SCALAR */
    uint8_t width;  /* in words */
    uint8_t loops;  /* that are open at `first` */
    uint8_t scalar;
    uint8_t constant;
    uint8_t named;    /* more than one operand may read it */
    uint8_t variable; /* written more than once */
};

enum low_note {
    LOW_SAFE = 1 /* a load that is in bounds whatever is bound */
};

struct low_insn {
    uint16_t op;
    uint8_t flags; /* enum vm_flag */
    uint8_t notes; /* enum low_note */
    low_word d;
    low_word a;
    low_word b;
    low_word c;
    uint32_t imm; /* a target: number of an instruction in the same list */
    uint32_t source;
};

struct low_code {
    struct low_insn *at;
    uint32_t count;
    uint32_t room;
};

struct low_value {
    uint32_t reg;
    uint32_t kinds; /* enum low_kind; 0 only after an error */
};

struct low_variable {
    struct low_value value;
    uint32_t name;
    uint32_t depth; /* divergent regions that were open at its declaration */
    uint32_t fact;  /* IR_NONE: never assigned */
};

/* What is guessed about a variable that is assigned; both only grow. */
struct low_fact {
    uint16_t kinds;
    uint16_t vector;
};

/* A statement that begins an asynchronous copy, and its tag. */
struct low_site {
    const struct ir_node *node;
    uint32_t tag; /* index in `tags` */
};

struct low_tag {
    uint32_t name;
    uint32_t pending; /* registers: 0, or number of the site + 1 */
    uint32_t offset;
    uint32_t size;
};

struct lowering {
    const struct ir_program *tree;
    struct vyre_memory *memory;
    vyre_error *err;
    vyre_status status;
    uint32_t strict;
    uint32_t lanes;
    uint32_t source;               /* id of what is being lowered */
    uint32_t depth;                /* divergent regions that are open */
    uint32_t again;                /* a guess was too strong */
    const struct ir_node *leaving; /* the if of the innermost loop that is a while */
    uint32_t leave;                /* its instruction, or IR_NONE */

    struct low_code prologue; /* what is computed once, before everything else */
    struct low_code code;
    struct low_reg *regs; /* the first is none */
    uint32_t reg_count;
    uint32_t reg_room;
    uint32_t *words; /* of constants */
    uint32_t word_count;
    uint32_t word_room;
    uint32_t *constant_map; /* hash table of registers of constants, 0: free */
    uint32_t constant_map_size;
    uint32_t constant_map_used;

    struct low_variable *variables; /* in scope */
    uint32_t variable_count;
    uint32_t variable_room;
    struct low_fact *facts; /* in the order of declaration */
    uint32_t fact_count;
    uint32_t fact_room;
    uint32_t *scope;   /* of each name: number of its variable + 1, or 0 */
    uint8_t *assigned; /* of each name: some variable of this name is assigned */

    uint32_t ids[3][3]; /* registers of GLOBALID, LOCALID, GROUPID */
    uint32_t *lengths;  /* of each buffer: register of BUFLEN, or 0 */
    uint32_t *params;   /* of each buffer: register of a scalar parameter, or 0 */

    struct low_site *sites;
    uint32_t site_count;
    uint32_t site_room;
    struct low_tag *tags;
    uint32_t tag_count;
    uint32_t tag_room;

    uint32_t register_count; /* what lower_allocate.c found */
    uint32_t scalar_count;
    uint32_t constant_count;
};

static inline low_word low_at(uint32_t reg, uint32_t word)
{
    return reg << 2 | word;
}

static inline uint32_t low_words(uint32_t kinds)
{
    return kinds & LOW_RAW16 ? 4 : kinds & (LOW_U64 | LOW_RAW8) ? 2 : 1;
}

static inline int low_one_kind(uint32_t kinds)
{
    return kinds != 0 && (kinds & (kinds - 1)) == 0;
}

static inline int low_has_target(uint32_t op)
{
    return (op >= VM_OP_IF && op <= VM_OP_VNEXT) && op != VM_OP_ENDIF;
}

/*
 * Accesses to memory, whose index may be looked at again for what was out of bounds, and exchanges
 * between lanes: their result never lies where a source of theirs does.
 */
static inline int low_keeps_sources(uint32_t op)
{
    return op >= VM_OP_LD8 && op <= VM_OP_SGBALLOT;
}

/* lower.c */

/* More room in an array of elements of `size` bytes; 0 after an error. */
int vyre_low_grow(struct lowering *low, void **array, uint32_t *room, size_t size);

/* Room for one more element behind `count`; 0 after an error. */
static inline int low_room(struct lowering *low, void **array, uint32_t *room, uint32_t count,
                           size_t size)
{
    if (low->status == VYRE_OK && count < *room) return 1;
    return vyre_low_grow(low, array, room, size);
}

/* E_VM_UNSUPPORTED at the item with this id. */
void vyre_low_refuse(struct lowering *low, uint32_t id, const char *format, ...) VYRE_PRINTF(3, 4);
void vyre_low_limit(struct lowering *low, const char *what, uint64_t has, uint64_t most);

/* lower_code.c: registers, constants, instructions */

uint32_t vyre_low_reg(struct lowering *low, uint32_t width, int scalar);
struct low_value vyre_low_constant(struct lowering *low, uint32_t kinds, uint32_t word);
struct low_value vyre_low_wide_constant(struct lowering *low, uint32_t kinds,
                                        const uint32_t words[4]);
/* Appends to `code`; returns its number. */
uint32_t vyre_low_emit(struct lowering *low, const struct low_insn *insn);
/* Once, before everything else; the result is a fresh register. */
uint32_t vyre_low_prologue(struct lowering *low, const struct low_insn *insn, int scalar);
/* An instruction of VM_ALU or VM_MATH with a fresh result, or a constant. */
struct low_value vyre_low_op(struct lowering *low, uint32_t op, uint32_t kinds,
                             const low_word args[3]);
struct low_value vyre_low_op1(struct lowering *low, uint32_t op, uint32_t kinds, low_word a);
struct low_value vyre_low_op2(struct lowering *low, uint32_t op, uint32_t kinds, low_word a,
                              low_word b);
/* An instruction of VM_CHECKED: a vector, so that only active lanes fault, unless it cannot. */
struct low_value vyre_low_checked(struct lowering *low, uint32_t op, uint32_t kinds, low_word a,
                                  low_word b);
/* Writes a value to a variable's register, only in active lanes where `masked`. */
void vyre_low_write(struct lowering *low, uint32_t reg, struct low_value value, int masked);
int vyre_low_is_constant(const struct lowering *low, low_word word, uint32_t *value);
/* The same value in a vector register. */
low_word vyre_low_vector(struct lowering *low, low_word word);
/* Whether the last instruction made this value and nobody else reads it. */
struct low_insn *vyre_low_last(struct lowering *low, struct low_value value);

/* lower_fold.c: what an instruction of VM_ALU makes of constants; 0 where it is not known. */
int vyre_low_fold(uint32_t op, uint32_t arg[3][2], uint32_t result[2]);

/* lower_kinds.c: what depends on the kinds of values */

const char *vyre_low_kind_name(uint32_t kinds, char text[64]);
struct low_value vyre_low_truth(struct lowering *low, struct low_value value);
/* Whether it is not 0: a word that may be any, for conditions. */
low_word vyre_low_condition(struct lowering *low, struct low_value value);
/* A value that must fit an unsigned word; faults where it does not. */
low_word vyre_low_index(struct lowering *low, struct low_value value);
struct low_value vyre_low_cast(struct lowering *low, const struct ir_type *type,
                               struct low_value value);
/* The first `count` words of a value; zero where it has none. */
struct low_value vyre_low_widen(struct lowering *low, uint32_t kinds, struct low_value value);

/* lower_ops.c: operators */

struct low_value vyre_low_binary(struct lowering *low, const struct ir_expr *expr,
                                 struct low_value left, struct low_value right);
struct low_value vyre_low_unary(struct lowering *low, const struct ir_expr *expr,
                                struct low_value operand);

/* lower_memory.c: buffers */

struct low_value vyre_low_load(struct lowering *low, const struct ir_expr *expr,
                               struct low_value index);
void vyre_low_store(struct lowering *low, const struct ir_node *node, struct low_value index,
                    struct low_value value);
struct low_value vyre_low_atomic(struct lowering *low, const struct ir_expr *expr);
struct low_value vyre_low_length(struct lowering *low, const struct ir_expr *expr);
uint32_t vyre_low_buffer(struct lowering *low, uint32_t name);

/* lower_expr.c */

struct low_value vyre_low_expr(struct lowering *low, const struct ir_expr *expr);

/* lower_async.c: copies that are begun and waited for */

void vyre_low_async_site(struct lowering *low, const struct ir_node *node);
void vyre_low_async_start(struct lowering *low);
void vyre_low_async_begin(struct lowering *low, const struct ir_node *node);
void vyre_low_async_wait(struct lowering *low, const struct ir_node *node);
void vyre_low_async_end(struct lowering *low);

/* lower_flow.c: statements */

void vyre_low_scan(struct lowering *low, const struct ir_list *list);
void vyre_low_list(struct lowering *low, const struct ir_list *list);

/* lower_tidy.c, lower_poly.c, lower_allocate.c, lower_order.c, lower_emit.c: what is done with the
 * code */

void vyre_low_tidy(struct lowering *low);
void vyre_low_polynomials(struct lowering *low);
void vyre_low_allocate(struct lowering *low);
void vyre_low_order(struct lowering *low);
/* Makes the block. Returns a status. */
vyre_status vyre_low_block(struct lowering *low, struct vm_program **out);

#endif
