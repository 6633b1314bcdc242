/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the oracle share; nobody else includes it.
 */
#ifndef VYRE_TESTS_ORACLE_INSIDE_H
#define VYRE_TESTS_ORACLE_INSIDE_H

#include "oracle/oracle.h"

#define SUBGROUP   32u
#define MOST_BYTES 16u /* of a raw value: Vec4U32 */

enum oracle_kind { KIND_U32, KIND_I32, KIND_U64, KIND_BOOL, KIND_F32, KIND_BYTES };

struct oracle_value {
    enum oracle_kind kind;
    uint32_t length; /* BYTES */
    uint64_t bits;   /* all but BYTES; F32 canonical; BOOL 0 or 1 */
    unsigned char bytes[MOST_BYTES];
};

struct oracle_variable {
    uint8_t live;
    uint8_t loop; /* declared by a loop: not to be assigned */
    struct oracle_value value;
};

/* A list of statements that is being run. */
struct oracle_frame {
    const struct ir_node *next;
    const struct ir_node *loop; /* the Loop whose body it is, or NULL */
    uint32_t i, to;
    uint32_t declared; /* names of the invocation that were declared before it */
};

/* An asynchronous copy between its start and its wait. */
struct oracle_copy {
    struct oracle_copy *next;
    uint32_t tag;
    uint32_t to;
    uint64_t offset, size;
    unsigned char *staged;
};

struct oracle_lane {
    uint32_t local[3];
    uint32_t depth; /* frames in use; 0: finished */
    uint32_t waiting;
    uint32_t declared_count;
    uint32_t *declared;           /* names, in the order of their declaration */
    struct oracle_variable *vars; /* by name */
    struct oracle_copy *copies;
    struct oracle_frame frames[IR_MAX_DEPTH + 8];
};

struct oracle {
    struct oracle_run *run;
    const struct ir_program *program;
    uint32_t group[3]; /* the workgroup that runs */
    uint32_t lane_count;
    struct oracle_lane *lanes;
    unsigned char **memory; /* by buffer: the caller's, or workgroup memory */
    uint64_t *bytes;
    uint32_t id_count;
    uint8_t *barrier_inside; /* by id of an If: 0 not looked, 1 no, 2 yes */
    uint8_t *branch;         /* by id of an If: 0 not reached in this workgroup, 1 else, 2 then */
};

struct oracle_width {
    uint64_t size, stride, bits;
};

/* Records the first error. Returns it, so that a caller can end with it. */
enum oracle_error oracle_fail(struct oracle *o, enum oracle_error error, uint32_t id);

/* oracle_values.c */
uint32_t oracle_canon(uint32_t bits);
float oracle_float(uint32_t bits);
uint32_t oracle_bits(float value);
struct oracle_value oracle_scalar(enum oracle_kind kind, uint64_t bits);
struct oracle_value oracle_raw(const unsigned char *bytes, uint32_t length);
uint32_t oracle_to_raw(const struct oracle_value *value, unsigned char bytes[MOST_BYTES]);
int oracle_truth(const struct oracle_value *value);
enum oracle_error oracle_index(const struct oracle_value *value, uint32_t *index);
enum oracle_error oracle_cast(const struct ir_type *type, const struct oracle_value *value,
                              struct oracle_value *out);
struct oracle_width oracle_width_of(const struct ir_type *type);
struct oracle_value oracle_read(const struct ir_type *type, const unsigned char *at);
void oracle_write(const struct ir_type *type, const struct oracle_value *value, unsigned char *at);

/* oracle_arith.c */
enum oracle_error oracle_binary(uint32_t op, const struct oracle_value *a,
                                const struct oracle_value *b, struct oracle_value *out);

/* oracle_unary.c */
enum oracle_error oracle_unary(uint32_t op, const struct oracle_value *a, struct oracle_value *out);

/* oracle_eval.c: after an error the value means nothing. */
struct oracle_value oracle_eval(struct oracle *o, struct oracle_lane *lane,
                                const struct ir_expr *expr);
/* As oracle_eval, and then to a u32 as an index is. */
uint32_t oracle_eval_index(struct oracle *o, struct oracle_lane *lane, const struct ir_expr *expr);
/* The number of the buffer with this name; an error and IR_NONE where there is none. */
uint32_t oracle_buffer(struct oracle *o, uint32_t name, uint32_t id);
/* The elements of a buffer. */
uint32_t oracle_length(const struct oracle *o, uint32_t buffer);
/* Where an element of `width` bytes lies, or NULL and one more out of bounds. */
unsigned char *oracle_cell(struct oracle *o, uint32_t buffer, uint64_t at, uint64_t width);

/* oracle_copy.c */
void oracle_copy_start(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node);
void oracle_copy_wait(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node);
void oracle_copies_free(struct oracle_lane *lane);

/* oracle_step.c: one step of an invocation that is neither finished nor waiting. */
void oracle_step(struct oracle *o, struct oracle_lane *lane);

#endif
