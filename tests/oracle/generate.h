/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random VIR0 programs that are valid and whose results depend neither on the order of lanes nor on
 * that of workgroups: every machine must compute the same bytes from them.
 *
 * The same options give the same program and the same buffers, on every machine.
 */
#ifndef VYRE_TESTS_GENERATE_H
#define VYRE_TESTS_GENERATE_H

#include <stdint.h>

#include "ir/program.h"

enum generate_flag {
    GENERATE_FLOATS = 1 << 0,
    GENERATE_SHARED = 1 << 1, /* workgroup memory and barriers */
    GENERATE_ATOMICS = 1 << 2,
    GENERATE_SUBGROUPS = 1 << 3, /* with barriers before them */
    GENERATE_SMALL = 1 << 4,     /* elements that are no u32, i32, f32, bool or u64; bool words */
    GENERATE_WIDE = 1 << 5,      /* u64 */
    GENERATE_MATH = 1 << 6,      /* transcendental functions; needs FLOATS */
    GENERATE_ASYNC = 1 << 7,     /* asynchronous copies */
    GENERATE_PRINT = 1 << 8,     /* calls of vyre.print */
    GENERATE_ALL = (1 << 9) - 1,
    /* Now and then something that may end in an error: a division by zero, a trap. */
    GENERATE_ERRORS = 1 << 16
};

struct generate_options {
    uint64_t seed;
    uint32_t size;  /* statements, about; 0: drawn from the seed */
    uint32_t flags; /* enum generate_flag */
    uint32_t depth; /* of nested branches and loops; 0: 4 */
};

struct generated {
    struct ir_program *program;
    uint32_t grid[3];
    uint32_t buffer_count;
    unsigned char **buffers; /* by declaration; NULL for workgroup memory */
    uint64_t *bytes;
};

/* Makes a program and its buffers. The program lives in `memory`. Where memory ends, it aborts. */
void generate(struct vyre_memory *memory, const struct generate_options *options,
              struct generated *out);
void generated_free(struct generated *generated);

/* Fills buffers with what they hold before a run: the values that go wrong most often, and zeros
 * where the runtime allocates. generate has called it. */
void generate_inputs(const struct generated *generated, uint64_t seed);

#endif
