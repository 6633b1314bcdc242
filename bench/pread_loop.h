/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A loop of pread, the peer of streams in `vyre bench ingest`.
 */
#ifndef VYRE_BENCH_PREAD_LOOP_H
#define VYRE_BENCH_PREAD_LOOP_H

#include "host.h"

struct pread_wish {
    const char *path;
    uint64_t bytes;   /* of the file */
    uint32_t passes;  /* how often it is read */
    uint32_t threads; /* at most 64 */
    size_t block;     /* bytes of one call; a multiple of 4096 */
    int bare;         /* 1: nobody looks at what was read, and there is no sum */
};

struct pread_rate {
    uint64_t bytes; /* in all */
    uint64_t elapsed_ns;
    uint64_t cpu_ns; /* of this process meanwhile */
    uint32_t sum;    /* of all 32-bit words that were read */
    int error;       /* errno, or 0 */
};

void peer_pread_loop(const struct pread_wish *wish, struct pread_rate *rate);

#endif
