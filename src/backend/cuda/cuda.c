/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA backend's table. The device source compiles for the GPU (megakernel.cu), but this
 * version has no device host to run it in, so the backend is not supported and refuses every call
 * with the same error.
 */
#include "backend/backend.h"

#include <stdio.h>

static void caps(vyre_caps *out, const char *device)
{
    (void)device;
    snprintf(out->name, sizeof out->name, "cuda");
    snprintf(out->device, sizeof out->device, "none");
    snprintf(out->reason, sizeof out->reason,
             "version " VYRE_VERSION " of vyre has no CUDA backend yet");
    snprintf(out->fix, sizeof out->fix, "use the cpu backend");
}

static vyre_status open_run(const struct vyre_backend_setup *setup, struct vyre_backend_run **run,
                            vyre_error *err)
{
    vyre_caps none = VYRE_CAPS_INIT;
    (void)run;
    caps(&none, setup->options->device);
    return vyre_backend_refuse(&none, err);
}

const struct vyre_backend_table vyre_backend_cuda = {
    .id = VYRE_BACKEND_CUDA,
    .name = "cuda",
    .caps = caps,
    .open = open_run,
};
