/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The list of backends.
 */
#include "backend/backend.h"

static const struct vyre_backend_table *const backends[] = {&vyre_backend_cpu, &vyre_backend_cuda};

const struct vyre_backend_table *vyre_backend_find(uint32_t id)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (backends[i]->id == id) return backends[i];
    return NULL;
}

vyre_status vyre_backend_refuse(const vyre_caps *caps, vyre_error *err)
{
    vyre_fail(err, VYRE_E_UNSUPPORTED, "backend %s is not available: %s", caps->name, caps->reason);
    vyre_fail_fix(err, "%s", caps->fix);
    return VYRE_E_UNSUPPORTED;
}
