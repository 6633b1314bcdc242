/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The monotonic clock, the only one the library reads.
 */
#ifndef VYRE_BASE_CLOCK_H
#define VYRE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t vyre_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* now + delta, or the greatest value where that overflows: "never". */
static inline uint64_t vyre_clock_after(uint64_t now_ns, uint64_t delta_ns)
{
    return delta_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + delta_ns;
}

#endif
