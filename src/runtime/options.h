/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reading and answering structures that begin with their size, so that they can grow: a longer one
 * than we know is accepted if what we do not know is zero.
 */
#ifndef VYRE_RUNTIME_OPTIONS_H
#define VYRE_RUNTIME_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* Copies the caller's structure, of which this version knows `known` bytes. E_SIZE, E_RESERVED. */
static inline vyre_status vyre_options_read(void *into, const void *given, size_t known,
                                            const char *name, vyre_error *err)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size < known || size > 4096)
        return vyre_fail(err, VYRE_E_SIZE, "%s.size is %u; this version has %zu bytes", name, size,
                         known);
    for (size_t i = known; i < size; i++) {
        if (((const unsigned char *)given)[i] != 0)
            return vyre_fail_at(err, VYRE_E_RESERVED, VYRE_PLACE_BYTE, i,
                                "byte %zu of %s, which this version does not know, is not 0", i,
                                name);
    }
    memcpy(into, given, known);
    return VYRE_OK;
}

#endif
