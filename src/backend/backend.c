/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The list of backends, and what the public API says about each.
 */
#include "backend/backend.h"

#include <string.h>

static const struct vyre_backend_table *const backends[] = {&vyre_backend_cpu, &vyre_backend_cuda};

const struct vyre_backend_table *vyre_backend_find(uint32_t id)
{
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (backends[i]->id == id) return backends[i];
    return NULL;
}

vyre_status vyre_backend_refuse(const struct vyre_backend_table *backend, vyre_error *err)
{
    vyre_caps caps;
    memset(&caps, 0, sizeof caps);
    backend->caps(&caps);
    vyre_fail(err, VYRE_E_UNSUPPORTED, "backend %s is not available: %s", backend->name,
              caps.reason);
    vyre_fail_fix(err, "%s", caps.fix);
    return VYRE_E_UNSUPPORTED;
}

vyre_status vyre_backend_caps(enum vyre_backend backend, vyre_caps *caps, vyre_error *err)
{
    if (!caps) return vyre_fail(err, VYRE_E_NULL, "caps is null");
    if (caps->size < sizeof *caps)
        return vyre_fail(err, VYRE_E_SIZE, "caps.size is %u; this version has %zu bytes",
                         caps->size, sizeof *caps);
    const struct vyre_backend_table *table = vyre_backend_find((uint32_t)backend);
    if (!table)
        return vyre_fail(err, VYRE_E_RANGE, "%u is not a backend with caps; 1 is cpu, 2 is cuda",
                         (unsigned)backend);
    vyre_caps filled;
    memset(&filled, 0, sizeof filled);
    filled.size = caps->size;
    table->caps(&filled);
    *caps = filled;
    return VYRE_OK;
}
