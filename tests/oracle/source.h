/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random sources of the kernel language, and what they mean. A source is a tree of its own: it is
 * printed as text for the compiler, and run here as it stands, lane by lane, with C's control flow
 * for the language's. What the compiler makes of the text must compute the same bytes, count the
 * same accesses out of bounds and fail where the tree fails.
 *
 * Sources have the right types, end, and give a result that depends neither on the order of lanes
 * nor on that of workgroups: a lane writes its own elements only, memory that lanes share is either
 * written or read between two barriers, and of atomics on shared elements only the sum counts. The
 * same options give the same source and the same inputs, on every machine.
 *
 * It shares no code with the compiler, with VIR0 and with the machine.
 */
#ifndef VYRE_TESTS_SOURCE_H
#define VYRE_TESTS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle/differential.h"

#define SOURCE_MOST_VARS      64u
#define SOURCE_MOST_BUFFERS   12u
#define SOURCE_MOST_FUNCTIONS 6u
#define SOURCE_MOST_CONSTANTS 4u
#define SOURCE_MOST_PARAMS    16u
#define SOURCE_NAME           8u

enum source_type { SOURCE_VOID, SOURCE_U32, SOURCE_I32, SOURCE_F32, SOURCE_BOOL };

enum source_element { /* the first four like their types */
                      SOURCE_E_U32 = 1,
                      SOURCE_E_I32,
                      SOURCE_E_F32,
                      SOURCE_E_BOOL,
                      SOURCE_E_U8,
                      SOURCE_E_I8,
                      SOURCE_E_U16,
                      SOURCE_E_I16,
                      SOURCE_ELEMENTS
};

enum source_access { SOURCE_IN, SOURCE_OUT, SOURCE_INOUT, SOURCE_WORKGROUP };

/* Which elements a lane may touch. */
enum source_reach {
    SOURCE_ANY,    /* all, but only to read them */
    SOURCE_OWN,    /* its own */
    SOURCE_ATOMIC, /* its own, by atomics only */
    SOURCE_SHARED  /* all, by one kind of atomic, whose result nobody looks at */
};

enum source_op {
    SOURCE_ADD,
    SOURCE_SUB,
    SOURCE_MUL,
    SOURCE_DIV,
    SOURCE_MOD,
    SOURCE_AND,
    SOURCE_OR,
    SOURCE_XOR,
    SOURCE_SHL,
    SOURCE_SHR,
    SOURCE_EQ,
    SOURCE_NE,
    SOURCE_LT,
    SOURCE_GT,
    SOURCE_LE,
    SOURCE_GE,
    SOURCE_BOTH,   /* && */
    SOURCE_EITHER, /* || */
    SOURCE_NEGATE,
    SOURCE_INVERT,
    SOURCE_NOT,
    SOURCE_PLUS,
    SOURCE_SET /* of an assignment */
};

/* Functions that the language gives; their rows are in source_value.c. */
enum source_given {
    SOURCE_MIN,
    SOURCE_MAX,
    SOURCE_CLAMP,
    SOURCE_SELECT,
    SOURCE_ABS,
    SOURCE_FLOOR,
    SOURCE_CEIL,
    SOURCE_TRUNC,
    SOURCE_SIGN,
    SOURCE_SQRT,
    SOURCE_FMA,
    SOURCE_IS_NAN,
    SOURCE_IS_INF,
    SOURCE_IS_FINITE,
    SOURCE_POPCOUNT,
    SOURCE_CLZ,
    SOURCE_CTZ,
    SOURCE_REVERSE_BITS,
    SOURCE_ROTL,
    SOURCE_ROTR,
    SOURCE_MUL_HIGH,
    SOURCE_SAT_ADD,
    SOURCE_SAT_SUB,
    SOURCE_SAT_MUL,
    SOURCE_ABS_DIFF,
    SOURCE_GIVENS
};

enum source_atomic {
    SOURCE_ATOMIC_ADD,
    SOURCE_ATOMIC_SUB,
    SOURCE_ATOMIC_AND,
    SOURCE_ATOMIC_OR,
    SOURCE_ATOMIC_XOR,
    SOURCE_ATOMIC_MIN,
    SOURCE_ATOMIC_MAX,
    SOURCE_ATOMIC_EXCHANGE,
    SOURCE_ATOMIC_COMPARE_EXCHANGE,
    SOURCE_ATOMICS
};

enum source_expr_kind {
    SOURCE_X_LITERAL,
    SOURCE_X_CONSTANT, /* of the file; value: which */
    SOURCE_X_VARIABLE, /* value: which */
    SOURCE_X_LANE,     /* the number of the lane in the launch; value: one of its spellings */
    SOURCE_X_LOCAL,    /* the same in the workgroup */
    SOURCE_X_ID,       /* value: 3 * (global, local, group, size) + axis */
    SOURCE_X_LOAD,
    SOURCE_X_LENGTH,
    SOURCE_X_UNARY,
    SOURCE_X_BINARY,
    SOURCE_X_CHOOSE,
    SOURCE_X_CAST,  /* value: one of its spellings */
    SOURCE_X_GIVEN, /* op: enum source_given */
    SOURCE_X_CALL,
    SOURCE_X_ATOMIC /* op: enum source_atomic; arg[0]: the index */
};

struct source_buffer {
    char name[SOURCE_NAME];
    uint8_t element; /* enum source_element */
    uint8_t access;  /* enum source_access */
    uint8_t reach;   /* enum source_reach */
    uint8_t atomic;  /* of SHARED: enum source_atomic */
    uint32_t number; /* in its function */
    uint32_t declared;
    uint32_t count; /* of a kernel's: elements */
    unsigned char *bytes;
};

struct source_function;

struct source_expr {
    uint8_t kind;
    uint8_t type; /* enum source_type */
    uint8_t op;
    bool bare;   /* a literal that says nothing of its type */
    bool parens; /* more than it needs */
    uint32_t value;
    struct source_buffer *buffer;
    struct source_function *function;
    struct source_expr *arg[SOURCE_MOST_PARAMS]; /* of a call: of its values, in their order */
    struct source_buffer *buffers[SOURCE_MOST_PARAMS];
};

enum source_stmt_kind {
    SOURCE_S_DECLARE, /* form 1: const */
    SOURCE_S_ASSIGN,  /* to a variable; form 1: x++ and x--, 2: ++x and --x */
    SOURCE_S_STORE,   /* to an element */
    SOURCE_S_IF,
    SOURCE_S_FOR,
    SOURCE_S_WHILE,
    SOURCE_S_DO,
    SOURCE_S_BREAK,
    SOURCE_S_CONTINUE,
    SOURCE_S_RETURN,
    SOURCE_S_BLOCK,
    SOURCE_S_EMPTY,
    SOURCE_S_CALL,   /* form 0: of an expression; 1: print; 2: assert */
    SOURCE_S_PHASE,  /* what lanes do each for itself; form 1: in braces */
    SOURCE_S_BARRIER /* form 1: in a function */
};

struct source_stmt {
    uint8_t kind;
    uint8_t op;
    uint8_t form;
    uint8_t type; /* ASSIGN: of its variable */
    bool braces;  /* around a body that does not need them */
    bool dropped; /* while a source is made smaller */
    uint32_t var;
    struct source_buffer *buffer;
    struct source_expr *a, *b; /* condition or index; value */
    struct source_stmt *init, *step, *body, *otherwise;
    struct source_stmt *next;
};

struct source_function {
    char name[SOURCE_NAME];
    uint8_t type; /* enum source_type */
    bool groups;  /* has barriers: its outermost statements are those of the workgroup */
    uint32_t var_count, value_count, buffer_count, param_count;
    char vars[SOURCE_MOST_VARS][SOURCE_NAME];
    uint8_t types[SOURCE_MOST_VARS];
    struct source_buffer buffers[SOURCE_MOST_BUFFERS];
    uint8_t params[SOURCE_MOST_PARAMS]; /* 0: the next value, 1: the next buffer */
    uint32_t scalars[SOURCE_MOST_VARS]; /* of a kernel: the words that come with a launch */
    struct source_buffer *guard;
    struct source_stmt *body;
};

struct source {
    uint32_t workgroup[3], grid[3];
    uint32_t own; /* elements that each lane has of a buffer */
    bool hides;   /* declares something with the name `i` */
    uint32_t constant_count, function_count;
    uint8_t constant_types[SOURCE_MOST_CONSTANTS];
    uint32_t constants[SOURCE_MOST_CONSTANTS];
    struct source_expr *constant_values[SOURCE_MOST_CONSTANTS];
    struct source_function functions[SOURCE_MOST_FUNCTIONS]; /* the last is the kernel */
    struct source_piece *pieces;                             /* memory of the tree */
};

struct source_options {
    uint64_t seed;
    const uint8_t *choices; /* taken before those that come of the seed; may be NULL */
    size_t choice_count;
};

/* What the meaning of a source can be given wrongly, so that a test sees whether it is found. */
enum source_mistake {
    SOURCE_NO_MISTAKE,
    SOURCE_BREAK_GOES_ON,      /* break is continue */
    SOURCE_CONTINUE_LEAVES,    /* continue is break */
    SOURCE_NO_STEP,            /* continue leaves out the step of a for */
    SOURCE_RETURN_ENDS_LOOP,   /* a return in a loop ends the loop only */
    SOURCE_BOTH_SIDES,         /* && and || evaluate both sides */
    SOURCE_BOTH_CHOICES,       /* ?: evaluates both */
    SOURCE_RIGHT_TO_LEFT,      /* operands from right to left */
    SOURCE_WHILE_FIRST,        /* while runs its body once before it asks */
    SOURCE_UNSIGNED_SMALL,     /* i8 and i16 are loaded without their sign */
    SOURCE_RETURN_ENDS_KERNEL, /* return in a function ends the lane */
    SOURCE_MISTAKES
};

enum source_verdict {
    SOURCE_AGREE,
    SOURCE_DIFFER,
    SOURCE_TOO_LARGE /* for the compiler or for us: no fair test */
};

struct source_result {
    uint64_t out_of_bounds;
    uint64_t steps;
    bool fault;
    bool endless; /* more steps than it may take */
};

/* source_make.c: aborts where memory ends. */
void source_make(const struct source_options *options, struct source *source);
void source_free(struct source *source);
void *source_alloc(struct source *source, size_t bytes);

/* source_print.c: the text, ended by a zero; the caller frees it. */
char *source_text(const struct source *source);

/* source_value.c: values are bits, their types are in the tree. Each sets *fault where it fails. */
uint32_t source_binary(uint8_t op, uint8_t type, uint32_t a, uint32_t b, bool *fault);
uint32_t source_unary(uint8_t op, uint8_t type, uint32_t a);
uint32_t source_cast(uint8_t from, uint8_t to, uint32_t a);
uint32_t source_give(uint8_t given, uint8_t type, const uint32_t args[3]);
uint32_t source_load(uint8_t element, const unsigned char *at);
void source_store(uint8_t element, uint32_t value, unsigned char *at);
uint32_t source_element_bytes(uint8_t element);
uint8_t source_element_type(uint8_t element);
const char *source_given_name(uint8_t given);
/* Types of a given function, T for the type that it is wanted with: result, then arguments. */
const char *source_given_types(uint8_t given);

/* source_run.c: runs the tree over copies of the kernel's buffers, by their numbers. */
void source_run(const struct source *source, unsigned char **buffers, enum source_mistake mistake,
                struct source_result *result);

/*
 * source_check.c: compiles the text and compares three: the tree, the oracle on the VIR0 that came
 * out, and a machine. `why` says what differs, or why it is no fair test.
 */
struct source_checker {
    run_fn machine;
    void *ctx;
    enum source_mistake mistake;
    uint64_t against_oracle; /* how many were, because it could run them */
};

enum source_verdict source_check(const struct source *source, struct source_checker *checker,
                                 char *why, size_t room);

/* source_shrink.c: drops statements and makes expressions simpler as long as it differs. Returns
 * how many changes it made. */
uint32_t source_shrink(struct source *source, struct source_checker *checker);

#endif
