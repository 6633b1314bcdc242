/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the lowering to VIR0 share. Nobody else includes it.
 *
 * Statements are appended to the list that is open. An expression of the source becomes an
 * expression of VIR0, and before it, where it acts or is too deep, statements that are appended
 * first. VIR0 has no shadowing, no break and no functions: every variable gets a name of its own,
 * jumps become flags that later statements and loops look at, calls are written out.
 */
#ifndef VYRE_LANG_GEN_H
#define VYRE_LANG_GEN_H

#include "lang/ast.h"

/* A program on the wire is at most IR_MAX_DEPTH deep, statements and expressions together. */
#define GEN_MOST_STATEMENTS_DEEP 36u
#define GEN_MOST_EXPR_DEEP       20u
#define GEN_LONG_CHAIN           12u /* of `else if` */
#define GEN_MOST_NODES           8192u
#define GEN_FOREVER              0xFFFFFFFFu

/* A loop or a function that is being written out, innermost first. */
struct gen_flow {
    struct gen_flow *outer;
    bool loop;
    uint32_t
        go; /* loop: the flag that it goes on, or IR_NONE; function: that it has not returned */
    uint32_t on;           /* loop: the flag that this round goes on, or IR_NONE */
    uint32_t result;       /* function: the variable of its result, or IR_NONE */
    struct ir_expr *value; /* function: its result, where that needs no variable */
};

struct gen {
    struct lang_unit *unit;
    struct lang_function *kernel;
    struct ir_program *ir;
    struct ir_list *list;
    struct lang_span span;   /* of what is being lowered */
    struct lang_span *spans; /* by id of the tree, as it was made */
    uint8_t *depths;         /* of expressions, by id */
    uint32_t room;
    uint8_t *used;   /* of each name: it is taken */
    uint32_t *turns; /* of each name: the last number behind it */
    uint32_t used_room;
    uint32_t depth; /* of statements */
    uint32_t calls;
    struct gen_flow *flow;
    struct ir_expr *old; /* what LANG_E_OLD stands for */
    struct lang_print *prints;
    uint32_t print_count;
    uint32_t print_room;
};

/* gen.c: nodes of the tree */

void vyre_gen_must(struct gen *gen, vyre_status status);
/* A name that no other variable or buffer has. */
uint32_t vyre_gen_fresh(struct gen *gen, const char *base);
struct ir_node *vyre_gen_node(struct gen *gen, uint8_t kind);
struct ir_expr *vyre_gen_make(struct gen *gen, uint8_t kind);
/* To be called when its operands are set: gives it a depth, and a variable where it is too deep. */
struct ir_expr *vyre_gen_done(struct gen *gen, struct ir_expr *expr);
struct ir_expr *vyre_gen_literal(struct gen *gen, uint8_t type, uint32_t bits);
struct ir_expr *vyre_gen_var(struct gen *gen, uint32_t name);
struct ir_expr *vyre_gen_bin(struct gen *gen, uint8_t op, struct ir_expr *a, struct ir_expr *b);
struct ir_expr *vyre_gen_un(struct gen *gen, uint8_t op, struct ir_expr *a);
struct ir_expr *vyre_gen_cast(struct gen *gen, uint8_t tag, struct ir_expr *a);
struct ir_expr *vyre_gen_id(struct gen *gen, uint8_t kind, uint8_t axis);
/* A variable that holds the value, so that it can be used again. */
uint32_t vyre_gen_let(struct gen *gen, const char *base, struct ir_expr *value);
struct ir_expr *vyre_gen_spill(struct gen *gen, struct ir_expr *value);
void vyre_gen_assign(struct gen *gen, uint32_t name, struct ir_expr *value);
/* The list inside a statement becomes the open one; returns the one that was. */
struct ir_list *vyre_gen_open(struct gen *gen, struct ir_list *list);
void vyre_gen_close(struct gen *gen, struct ir_list *outer);
void vyre_gen_splice(struct gen *gen, struct ir_list *list);

/* gen_expr.c */

struct ir_expr *vyre_gen_expr(struct gen *gen, struct lang_expr *expr);
/* As a bool: `made` is what was made of `expr`. */
struct ir_expr *vyre_gen_bool(struct gen *gen, const struct lang_expr *expr, struct ir_expr *made);
/* A variable where later statements may change it. */
struct ir_expr *vyre_gen_keep(struct gen *gen, struct ir_expr *value);
/* A condition: bool or u32. */
struct ir_expr *vyre_gen_condition(struct gen *gen, struct lang_expr *expr);
/* Two values, in this order. */
void vyre_gen_pair(struct gen *gen, struct lang_expr *a, struct lang_expr *b,
                   struct ir_expr *made[2]);
/* `first` was made before the statements in `later`; becomes a variable where these may change it.
 * Then the statements follow. */
struct ir_expr *vyre_gen_before(struct gen *gen, struct ir_expr *first, struct ir_list *later);
struct ir_expr *vyre_gen_index(struct gen *gen, struct lang_expr *index);
struct ir_expr *vyre_gen_load(struct gen *gen, const struct lang_symbol *buffer,
                              struct ir_expr *index);
void vyre_gen_store(struct gen *gen, const struct lang_symbol *buffer, struct ir_expr *index,
                    struct ir_expr *value);
/* The buffer of the kernel that a name of a function stands for. */
const struct lang_symbol *vyre_gen_buffer(const struct lang_symbol *symbol);

/* gen_call.c */

struct ir_expr *vyre_gen_call(struct gen *gen, struct lang_expr *call);

/* gen_flow.c, gen_loop.c */

void vyre_gen_list(struct gen *gen, struct lang_stmt *first);
void vyre_gen_statement(struct gen *gen, struct lang_stmt *stmt);
void vyre_gen_loop(struct gen *gen, struct lang_stmt *stmt);
/* Whether some statement of the list has to look at a flag because of these jumps. */
bool vyre_gen_flagged(const struct lang_stmt *first, uint8_t jumps);
bool vyre_gen_ends(const struct lang_stmt *first);
/* The jumps that VIR0 does not have here: a kernel's return it has. */
uint8_t vyre_gen_jumps(const struct gen *gen);
uint8_t vyre_gen_list_jumps(const struct lang_stmt *first);
/* A call of the source's own function; NULL where it has no result. */
struct ir_expr *vyre_gen_inline(struct gen *gen, struct lang_expr *call);

#endif
