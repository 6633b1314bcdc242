/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The arguments of LOAD_MISS, and what they ask for.
 */
#ifndef VYRE_DEVICE_IO_ARGS_H
#define VYRE_DEVICE_IO_ARGS_H

#include "device/io_ring.h"
#include "vyre/wire.h"

#define DEV_IO_ARG_SOURCE   0u
#define DEV_IO_ARG_PREFETCH 1u
#define DEV_IO_ARG_OFFSET   2u /* two words: in the source */
#define DEV_IO_ARG_LENGTH   4u
#define DEV_IO_ARG_BUFFER   5u /* handle */
#define DEV_IO_ARG_AT       6u /* two words: in the buffer */
#define DEV_IO_ARG_OP       8u /* enum vyre_io_op; 0 is READ too */

/* What no request is made for. */
#define DEV_IO_FENCE 5u

DEV_FN uint64_t dev_io_pair(const uint32_t *low)
{
    return (uint64_t)low[1] << 32 | low[0];
}

/* What is asked for: an enum dev_io_op, DEV_IO_FENCE, or 0 where it is none of these. */
DEV_FN uint32_t dev_io_kind(const uint32_t *arg)
{
    uint32_t op = arg[DEV_IO_ARG_OP], prefetch = arg[DEV_IO_ARG_PREFETCH];
    if (op == 0) op = VYRE_IO_READ;
    if (prefetch != 0) return prefetch == 1 && op == VYRE_IO_READ ? (uint32_t)DEV_IO_PREFETCH : 0u;
    switch (op) {
    case VYRE_IO_READ:
        return DEV_IO_READ;
    case VYRE_IO_WRITE:
        return DEV_IO_WRITE;
    case VYRE_IO_FENCE:
        return DEV_IO_FENCE;
    default:
        return 0;
    }
}

#endif
