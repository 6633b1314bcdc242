/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The check of a structure that begins with its size and that the library writes. For this room.
 */
#ifndef VYRE_TELEMETRY_SIZE_H
#define VYRE_TELEMETRY_SIZE_H

#include <string.h>

#include "base/error.h"

/* A structure of the caller, of which this version knows `known` bytes. E_NULL, E_SIZE. */
static inline vyre_status vyre_size_check(const void *given, size_t known, const char *name,
                                          vyre_error *err)
{
    uint32_t size;
    if (!given) return vyre_fail(err, VYRE_E_NULL, "%s is NULL", name);
    memcpy(&size, given, sizeof size);
    if (size >= known) return VYRE_OK;
    return vyre_fail(err, VYRE_E_SIZE, "%s.size is %u; this version has %zu bytes", name, size,
                     known);
}

#endif
