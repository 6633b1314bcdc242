/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA backend's table. The device source compiles for the GPU (megakernel.cu), but this
 * version has no device host to run it in, so the backend is not supported and refuses every call
 * with the same error.
 */
#include "backend/backend.h"

#include <stdio.h>

static void caps(vyre_caps *out)
{
    snprintf(out->name, sizeof out->name, "cuda");
    snprintf(out->device, sizeof out->device, "none");
    snprintf(out->reason, sizeof out->reason,
             "version " VYRE_VERSION " of vyre has no CUDA backend yet");
    snprintf(out->fix, sizeof out->fix, "use the cpu backend");
}

static vyre_status start(struct dev_runtime *device, struct vyre_memory *memory,
                         struct vyre_backend_run **run, vyre_error *err)
{
    (void)device;
    (void)memory;
    (void)run;
    return vyre_backend_refuse(&vyre_backend_cuda, err);
}

static void join(struct vyre_backend_run *run)
{
    (void)run;
}

static void destroy(struct vyre_backend_run *run)
{
    (void)run;
}

static int on_worker(const struct vyre_backend_run *run)
{
    (void)run;
    return 0;
}

static void help(struct dev_runtime *device)
{
    (void)device;
}

static void wake(struct dev_runtime *device)
{
    (void)device;
}

const struct vyre_backend_table vyre_backend_cuda = {
    VYRE_BACKEND_CUDA, "cuda", caps, start, join, destroy, on_worker, help, wake};
