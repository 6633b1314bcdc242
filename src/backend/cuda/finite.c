/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Finite kernels, for compute-sanitizer: it knows the memory that was there when a kernel started,
 * and calls every access to younger memory an error. With VYRE_CUDA_FINITE set in the environment a
 * kernel leaves as soon as it has nothing to do, is launched only when it is wanted, and memory is
 * made only while none runs. Nothing else changes, and nobody but a tool needs it.
 */
#include <stdlib.h>

#include "backend/cuda/run.h"

#define TRIES 100u /* of a fifth of a second: long operations must end first */

void vyre_cuda_finite_init(struct vyre_backend_run *run)
{
    const char *variable = secure_getenv("VYRE_CUDA_FINITE");
    run->launch.finite = variable && variable[0] != '\0';
}

vyre_status vyre_cuda_memory_begin(struct vyre_backend_run *run, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    for (uint32_t tries = 0; run->launch.finite && tries < TRIES; tries++) {
        status = vyre_cuda_hold(run, err);
        if (status != VYRE_E_BUSY) break;
    }
    return status;
}

void vyre_cuda_memory_end(struct vyre_backend_run *run)
{
    if (run->launch.finite) vyre_cuda_release(run);
}
