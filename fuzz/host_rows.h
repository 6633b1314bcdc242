/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The messages between an application and its device host, as the targets fuzz_host_* need them:
 * how large each one's structure is, and how many descriptors come with it.
 */
#ifndef VYRE_FUZZ_HOST_ROWS_H
#define VYRE_FUZZ_HOST_ROWS_H

#include "runtime/protocol.h"

static const struct host_row {
    uint32_t type, bytes, fds;
} host_rows[] = {
#define ROW(name, number, type, fds, text) {number, sizeof(type), fds},
    HOST_TYPES(ROW)
#undef ROW
};

#define HOST_ROWS (sizeof host_rows / sizeof host_rows[0])

#endif
