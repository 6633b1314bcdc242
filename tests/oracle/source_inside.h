/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the generator of sources share. Nobody else includes it.
 */
#ifndef VYRE_TESTS_SOURCE_INSIDE_H
#define VYRE_TESTS_SOURCE_INSIDE_H

#include "oracle/source.h"

/* A variable that can be named at the moment, unless a later one hides it. */
struct source_visible {
    uint32_t var;
    bool locked;   /* not to be assigned: a loop ends because of it */
    bool constant; /* declared const: may be known to the compiler */
    bool uniform;  /* the same in all lanes of a workgroup */
};

struct making {
    struct source *source;
    struct source_function *function;
    uint64_t state;
    const uint8_t *choices;
    size_t choices_left;
    struct source_visible visible[SOURCE_MOST_VARS];
    uint32_t visible_count, scope; /* where the innermost scope begins */
    uint32_t depth, loops;
    uint32_t callees;                   /* how many functions stand before this one */
    uint32_t calls_left;                /* that this function may still make */
    bool bound;                         /* of a loop: what nobody writes may be read once only */
    bool known;                         /* only what the compiler knows */
    bool faults;                        /* something may fail now and then */
    bool read_all[SOURCE_MOST_BUFFERS]; /* workgroup memory that is read and not written now */
};

/* source_expr.c */
uint32_t source_draw(struct making *m, uint32_t below);
bool source_once_in(struct making *m, uint32_t times);
struct source_expr *source_expr_new(struct making *m, uint8_t kind, uint8_t type);
struct source_expr *source_literal(struct making *m, uint8_t type, uint32_t value);
struct source_expr *source_op(struct making *m, uint8_t op, uint8_t type, struct source_expr *a,
                              struct source_expr *b);
struct source_expr *source_variable(struct making *m, uint32_t var);
struct source_expr *source_expr(struct making *m, uint8_t type, uint32_t depth);
/* bool, or a number that counts as one. */
struct source_expr *source_condition(struct making *m, uint32_t depth);
/* A u32 below `below`, which is not 0. */
struct source_expr *source_small(struct making *m, uint32_t below, uint32_t depth);
/* The same in all lanes of a workgroup. */
struct source_expr *source_uniform(struct making *m, uint32_t depth);
/* NULL where the function has no variable of this type that it may assign to (or read). */
const struct source_visible *source_pick(struct making *m, uint8_t type, bool assign);
/* Says nothing of its type, where it is a literal: what is around it does. */
struct source_expr *source_bare(struct making *m, struct source_expr *expr);
uint8_t source_any_type(struct making *m);
struct source_expr *source_value_of(struct making *m, uint8_t op, uint8_t type, uint32_t depth);

/* source_place.c: buffers, and what is done to their elements */
uint8_t source_reach_of(const struct making *m, const struct source_buffer *buffer);
struct source_buffer *source_buffer_to(struct making *m, uint8_t type, bool read, bool write);
struct source_expr *source_index(struct making *m, struct source_buffer *buffer, uint32_t depth);
/* NULL where there is none to do it to. */
struct source_expr *source_load_expr(struct making *m, uint8_t type, uint32_t depth);
struct source_expr *source_length(struct making *m);
struct source_expr *source_atomic_expr(struct making *m, uint8_t reach, uint32_t depth);
struct source_expr *source_call_expr(struct making *m, uint8_t type, uint32_t depth);

/* source_stmt.c */
struct source_stmt *source_stmt_new(struct making *m, uint8_t kind);
uint32_t source_var(struct making *m, uint8_t type, bool may_hide);
struct source_visible *source_show(struct making *m, uint32_t var);
struct source_stmt *source_declare(struct making *m, uint8_t type, struct source_expr *value);
/* A list of about so many statements, in a scope of its own; once in so many times a jump ends it,
 * or never (0). */
struct source_stmt *source_list(struct making *m, uint32_t count, uint32_t jumps);
/* In the scope that is open. */
struct source_stmt *source_statements(struct making *m, uint32_t count);

/* source_loop.c: a loop, and what has to stand before it. */
struct source_stmt *source_loop(struct making *m);

#endif
