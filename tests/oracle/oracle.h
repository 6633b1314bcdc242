/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The oracle: runs a VIR0 program one invocation and one statement at a time, straight over the
 * tree, and is as plain as it can be. What the interpreter computes must equal what this computes.
 *
 * It shares nothing with the interpreter but the transcendental functions, whose bits are ours to
 * choose. Values carry their kind at run time; an operation on kinds that do not fit is an error,
 * not a conversion. Any thread may call it; runs share nothing.
 */
#ifndef VYRE_TESTS_ORACLE_H
#define VYRE_TESTS_ORACLE_H

#include <stdint.h>

#include "ir/program.h"

enum oracle_error {
    ORACLE_OK = 0,
    ORACLE_KIND,      /* operands of kinds that the operation does not take */
    ORACLE_DIVISION,  /* i32: by zero, or the least value by -1 */
    ORACLE_CAST,      /* the value has no counterpart in the target */
    ORACLE_INDEX,     /* an index that is no u32 */
    ORACLE_ID,        /* an axis above 2, or an invocation id past 32 bits */
    ORACLE_NAME,      /* a variable unknown, declared twice, or not to be assigned */
    ORACLE_BUFFER,    /* a buffer unknown, or of a kind this access cannot have */
    ORACLE_OPERATOR,  /* an operator that always fails */
    ORACLE_CALL,      /* an operation that is not known */
    ORACLE_BARRIER,   /* an If around a barrier took another branch than before */
    ORACLE_ASYNC,     /* a tag started twice, waited for without a start, or left pending */
    ORACLE_TRAP,      /* the program asked for it */
    ORACLE_STATEMENT, /* a statement that always fails */
    ORACLE_STEPS,     /* the step limit */
    ORACLE_NO_MEMORY
};

/* Who takes the next step. A program whose result does not depend on it gives the same with each.
 */
enum oracle_schedule {
    ORACLE_IN_TURN = 0, /* the reference's: one step each, from the first to the last */
    ORACLE_BACKWARDS,   /* one step each, from the last to the first; workgroups likewise */
    ORACLE_ONE_BY_ONE   /* each as far as it comes; not for subgroup operations */
};

struct oracle_run {
    const struct ir_program *program;
    uint32_t grid[3];        /* in workgroups */
    unsigned char **buffers; /* by declaration; NULL for workgroup memory */
    const uint64_t *bytes;   /* of each buffer; not looked at for workgroup memory */
    uint64_t step_limit;     /* 0: none */
    enum oracle_schedule schedule;

    /* The result. */
    enum oracle_error error;
    uint32_t error_id;      /* of the statement or expression that failed, or IR_NONE */
    uint64_t out_of_bounds; /* loads, stores and atomics, each by each invocation */
    uint64_t steps;
};

/* Runs it; returns run->error. After an error the buffers hold what was written until then. */
int oracle_run(struct oracle_run *run);

/* A word for an error, for messages. */
const char *oracle_error_name(enum oracle_error error);

#endif
