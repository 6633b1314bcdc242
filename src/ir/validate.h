/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the validator share: the walk's state, what is known about a name, and
 * the one way to report a finding. Nobody else includes it.
 *
 * Names of a program are small numbers, so scopes and hazards are arrays indexed by name: a lookup
 * is a load. Recursion is bounded by VLD_MAX_NESTING and VLD_MAX_EXPR; both are checked before the
 * step down.
 */
#ifndef VYRE_IR_VALIDATE_H
#define VYRE_IR_VALIDATE_H

#include <stdbool.h>

#include "ir/program.h"

#define VLD_MAX_NODES   8192u
#define VLD_MAX_NESTING 64u
#define VLD_MAX_EXPR    128u

/* What a let or a loop declared. list 0: the name is not in scope. */
struct vld_variable {
    const struct ir_type *type; /* NULL: something is wrong with its value; reported there */
    uint32_t list;              /* number of the list that declared it */
    bool loop;
    bool uniform; /* the same in all lanes of a workgroup */
};

struct vld_undo {
    uint32_t name;
    struct vld_variable before;
};

/* Numbers of the statements that first touched a buffer in the list that is being looked at. */
struct vld_touch {
    uint32_t plain;
    uint32_t atomic;
    uint32_t reported; /* the last statement that a finding was about */
};

struct vld {
    const struct ir_program *program;
    struct ir_validate_options options;
    vyre_error *err;
    uint32_t findings;
    bool stop;    /* enough findings, or a limit was passed */
    bool limits;  /* a limit was passed: what is below it was not seen */
    bool atomics; /* there is at least one atomic */
    uint32_t nodes;
    uint32_t lists;
    struct vld_variable *variables; /* by name */
    struct vld_undo *undo;          /* what the open lists have replaced, newest last */
    uint32_t undo_count;
    struct vld_touch *touched; /* by name; validate_hazard.c */
    uint32_t statements;       /* counts from 1; validate_hazard.c */
    uint8_t *generators;       /* by name: 1 where a self-exclusive one was seen */
    char texts[4][64];         /* names for a message; vyre_vld_text */
    uint32_t text_turn;
};

/* What is known about the value of an expression. type NULL: wrong, and reported. */
struct vld_value {
    const struct ir_type *type;
    bool uniform;
};

/* Where a finding is: id of an item, or IR_NONE; index of a buffer, or IR_NONE. */
struct vld_place {
    uint32_t id;
    uint32_t buffer;
};

/* The types that literals and operators make. */
extern const struct ir_type vyre_vld_u32;
extern const struct ir_type vyre_vld_i32;
extern const struct ir_type vyre_vld_f32;
extern const struct ir_type vyre_vld_bool;

/* validate.c */
void vyre_vld_report(struct vld *v, enum ir_rule rule, struct vld_place place, const char *format,
                     ...) VYRE_PRINTF(4, 5);
void vyre_vld_at(struct vld *v, enum ir_rule rule, uint32_t id, const char *format, ...)
    VYRE_PRINTF(4, 5);
/* A name fit for a message: cut, without control characters. The last four stay as they are. */
const char *vyre_vld_text(struct vld *v, uint32_t name);
/* The declared buffer, or NULL after reporting. */
const struct ir_buffer *vyre_vld_buffer(struct vld *v, uint32_t name, uint32_t id,
                                        const char *user);
/* Reports where the elements of a buffer cannot be loaded or stored. */
void vyre_vld_elements(struct vld *v, const struct ir_buffer *buffer, uint32_t id,
                       const char *user);

/* validate_types.c: types as such */
bool vyre_vld_same(const struct ir_type *a, const struct ir_type *b);
bool vyre_vld_is(const struct ir_type *type, uint32_t tag);
const char *vyre_vld_word(const struct ir_type *type);
bool vyre_vld_castable(const struct ir_type *from, const struct ir_type *to);

/* validate_ops.c: what the operators take and make */
const struct ir_type *vyre_vld_binary(struct vld *v, const struct ir_expr *expr,
                                      const struct ir_type *left, const struct ir_type *right);
const struct ir_type *vyre_vld_unary(struct vld *v, const struct ir_expr *expr,
                                     const struct ir_type *operand);

/* validate_expr.c: expressions. depth 0 is the whole expression. */
struct vld_value vyre_vld_expr(struct vld *v, const struct ir_expr *expr, uint32_t depth);
/* Looks at nothing but the depth: for expressions that are judged when they run. */
void vyre_vld_depth_only(struct vld *v, const struct ir_expr *expr, uint32_t depth);

/* validate_flow.c: statements, from the entry list down */
void vyre_vld_entry(struct vld *v);

/* validate_hazard.c: atomics beside plain accesses. Needs a program within the limits. */
void vyre_vld_hazards(struct vld *v, const struct ir_list *list);

#endif
