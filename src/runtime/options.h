/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reading an option structure that may be older or newer than the library: a shorter one leaves the
 * rest at its defaults, a longer one is accepted if what we do not know is zero.
 */
#ifndef VYRE_RUNTIME_OPTIONS_H
#define VYRE_RUNTIME_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/*
 * Copies the caller's structure over `into`, which holds the defaults. `known` is the size that
 * this library knows, `least` the size that its first version had. E_SIZE, E_RESERVED.
 */
static inline vyre_status vyre_options_read(void *into, const void *given, size_t least,
                                            size_t known, vyre_error *err)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size < least || size > 4096)
        return vyre_fail(err, VYRE_E_SIZE,
                         "the option structure says it has %u bytes; this version needs %zu", size,
                         known);
    for (size_t i = known; i < size; i++) {
        if (((const unsigned char *)given)[i] != 0)
            return vyre_fail_at(err, VYRE_E_RESERVED, VYRE_PLACE_BYTE, i,
                                "the option structure has %u bytes, and byte %zu, which this "
                                "version does not know, is not 0",
                                size, i);
    }
    memcpy(into, given, size < known ? size : known);
    return VYRE_OK;
}

#endif
