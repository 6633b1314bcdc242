/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A machine against the oracle, on generated programs: the same bytes in all buffers, an error
 * where the oracle has one and none where it has none, and as many accesses out of bounds.
 */
#ifndef VYRE_TESTS_DIFFERENTIAL_H
#define VYRE_TESTS_DIFFERENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "oracle/generate.h"
#include "oracle/oracle.h"

/* What a machine is to run. The buffers are copies, to be written to in place. */
struct differential_case {
    const struct ir_program *program;
    const void *vir0; /* the program on the wire */
    size_t vir0_length;
    const uint32_t *grid;
    uint32_t buffer_count;
    unsigned char **buffers; /* by declaration; NULL for workgroup memory */
    const uint64_t *bytes;
};

struct differential_result {
    int error; /* the program failed while it ran */
    uint64_t out_of_bounds;
    char what[128]; /* for people */
};

/* Returns 0 where the program ran, well or to an error; anything else: it could not be run. */
typedef int (*run_fn)(void *ctx, const struct differential_case *run,
                      struct differential_result *result);

/*
 * One program: options with this seed. 0: the machine and the oracle agree. 1: they differ, and
 * `why` says where first. 2: the generator made something that is no fair test, and `why` says
 * what.
 */
int differential_one(uint64_t seed, const struct generate_options *options, run_fn machine,
                     void *ctx, char *why, size_t room);

/* As differential_one, for a program that exists; its buffers are left as they are. */
int differential_compare(const struct generated *test, run_fn machine, void *ctx, char *why,
                         size_t room);

/*
 * Makes a program smaller as long as the machine differs on it: drops statements, replaces
 * expressions by parts of themselves. Returns how many changes it made. Where the machine does not
 * differ, none.
 */
uint32_t differential_shrink(struct generated *test, run_fn machine, void *ctx);

/* The oracle as a machine. ctx: an enum oracle_schedule to run by, or NULL. */
int differential_oracle(void *ctx, const struct differential_case *run,
                        struct differential_result *result);

#endif
