/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What backends can do on this machine.
 */
#include <string.h>

#include "runtime/internal.h"

vyre_status vyre_caps_find(uint32_t backend, const vyre_options *options, vyre_caps *caps,
                           vyre_error *err)
{
    (void)err;
    vyre_backend_find(backend)->caps(caps, options->device);
    return VYRE_OK;
}

vyre_status vyre_backend_caps(enum vyre_backend backend, vyre_caps *caps, vyre_error *err)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre_caps filled = VYRE_CAPS_INIT;
    if (!caps) return vyre_fail(err, VYRE_E_NULL, "caps is null");
    if (caps->size < sizeof *caps)
        return vyre_fail(err, VYRE_E_SIZE, "caps.size is %u; this version has %zu bytes",
                         caps->size, sizeof *caps);
    if (!vyre_backend_find((uint32_t)backend))
        return vyre_fail(err, VYRE_E_RANGE, "%u is not a backend with caps; 1 is cpu, 2 is cuda",
                         (unsigned)backend);
    filled.size = caps->size;
    vyre_status status = vyre_caps_find((uint32_t)backend, &options, &filled, err);
    if (!status) *caps = filled;
    return status;
}
