/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The runtime as a machine of oracle/differential.h: loads the program, binds the buffers, runs one
 * slot, reads the buffers back. Through the public API only.
 */
#ifndef VYRE_TESTS_DIFFERENTIAL_MACHINE_H
#define VYRE_TESTS_DIFFERENTIAL_MACHINE_H

#include "oracle/differential.h"
#include "vyre/vyre.h"

struct machine {
    vyre *runtime;
    uint32_t kernel_flags;  /* enum vyre_kernel_flag */
    uint32_t scalars_bound; /* 1: scalar parameters are bound as buffers, 0: come with the slot */
    vyre_completion completion; /* of the last run */
    vyre_status status;         /* of the last program: whether it could be run */
};

/* A run_fn; ctx is a struct machine. */
int machine_run(void *ctx, const struct differential_case *test,
                struct differential_result *result);

#endif
