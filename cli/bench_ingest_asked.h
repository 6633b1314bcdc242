/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random reads of a file that slots ask for: how many a second, and how long each takes.
 */
#ifndef VYRE_CLI_BENCH_INGEST_ASKED_H
#define VYRE_CLI_BENCH_INGEST_ASKED_H

#include "bench.h"

#define BENCH_ASKED_BYTES     4096u
#define BENCH_ASKED_MAX_DEPTH 256u

/* One measurement. */
struct bench_asked {
    const char *path; /* of a file of at least `bytes` bytes; the caller has warmed it */
    uint64_t bytes;   /* offsets lie below, at multiples of BENCH_ASKED_BYTES */
    uint32_t depth;   /* slots outstanding, up to BENCH_ASKED_MAX_DEPTH */
    /* what was found */
    double per_second;
    double cpu_us;    /* CPU time of the whole process for one request */
    size_t samples;   /* in bench->samples: ns from the submit to the completion in hand */
    char choice[160]; /* the engine, and why */
};

/*
 * Reads for bench->slice_ns, with a runtime of its own that is placed like the others: the producer
 * on its CPU, one worker and the pump on the other. Depths of interest are 1, 16 and 64; fio's
 * random read of the same file at the same depth stands beside it. 0, or an exit code, and then the
 * reason has been said.
 */
int bench_ingest_asked(struct bench *bench, struct bench_asked *asked);

#endif
