/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench dispatch` share: the lines of bench_dispatch_lines.def and the
 * steps that measure them.
 */
#ifndef VYRE_CLI_BENCH_DISPATCH_H
#define VYRE_CLI_BENCH_DISPATCH_H

#include "bench.h"
#include "peers.h"

#define BENCH_IN_FLIGHT 4096u
#define BENCH_BATCH     32u

enum bench_dispatch_line {
#define BENCH_LINE(id, name, unit, better, step) BENCH_##id,
#include "bench_dispatch_lines.def"
    BENCH_DISPATCH_LINES
};

int bench_step_peer(struct bench *bench, uint32_t line);   /* bench_peers.c */
int bench_step_flood(struct bench *bench, uint32_t line);  /* bench_flood.c */
int bench_step_queues(struct bench *bench, uint32_t line); /* bench_flood.c */
int bench_step_ping_pong(struct bench *bench, uint32_t line);
int bench_step_round_trip(struct bench *bench, uint32_t line);
int bench_step_wake(struct bench *bench, uint32_t line);
int bench_step_wait(struct bench *bench, uint32_t line);
int bench_step_idle(struct bench *bench, uint32_t line);
int bench_step_memory(struct bench *bench, uint32_t line);

#endif
