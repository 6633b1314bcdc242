/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench dispatch` share for a device that is not in this process: the lines
 * of bench_device_lines.def, the steps that measure them, and the one runtime that is open.
 *
 * Two kernels that never end must not share a GPU. So there is at most one runtime at a time, the
 * steps take turns with it, and it is closed while the peers are measured.
 */
#ifndef VYRE_CLI_BENCH_DEVICE_H
#define VYRE_CLI_BENCH_DEVICE_H

#include "bench.h"

enum bench_device_line {
#define BENCH_LINE(id, name, unit, better, step) DEVICE_##id,
#include "bench_device_lines.def"
    BENCH_DEVICE_LINES
};

/* What bench->state points to. */
struct bench_device {
    vyre *runtime; /* NULL: none is open */
    uint64_t park_ns;
    vyre_description description; /* of the first runtime */
    double open_cold_ms;
    double flood_rate; /* slots a nanosecond of this round's flood-1; 0: none yet */
};

#define BENCH_PARK_NS 5000000ull /* of a runtime that shall park soon */

/* The runtime: one that never leaves the device (0), or parks after so long. Closes another one.
 * 0 or an exit code. */
int bench_device_runtime(struct bench *bench, uint64_t park_ns, vyre **runtime);

/* Opens a runtime that belongs to the caller; none may be open. */
int bench_device_open(struct bench *bench, uint64_t park_ns, vyre **runtime);
void bench_device_close(struct bench *bench);

/* A queue of the runtime whose slots come sealed, or strictly ordered. 0 or an exit code. */
int bench_device_queue(vyre *runtime, uint32_t flags, vyre_queue **queue);

/* The peers of a GPU (bench_device_peers.c): runs vyre-peers with these options and their values, a
 * list that ends with NULL, and hands on each figure, or why there is none, by its name. 0, or -1
 * with the reason in `why`. */
struct bench_peers_sink {
    void (*figure)(void *ctx, const char *name, double value);
    void (*absent)(void *ctx, const char *name, const char *note);
    void *ctx;
};
#define BENCH_PEERS_OPTIONS 4u /* words of the list, at most */
int bench_peers_run(const struct bench *bench, const char *const *options,
                    const struct bench_peers_sink *sink, char why[128]);

/* Runs vyre-peers and adds its figures to the lines that are called "peer-" and their names; a
 * reason why there is none to the first line whose name begins so, one for the whole device to
 * `line`. */
void bench_peers_measure(struct bench *bench, const char *const *options, uint32_t line);

int bench_step_gpu_peers(struct bench *bench, uint32_t line); /* bench_device_peers.c */
int bench_step_trip(struct bench *bench, uint32_t line);      /* bench_device_rates.c */
int bench_step_lanes(struct bench *bench, uint32_t line);
int bench_step_half(struct bench *bench, uint32_t line);
int bench_step_native(struct bench *bench, uint32_t line);
int bench_step_store(struct bench *bench, uint32_t line);
int bench_step_mode(struct bench *bench, uint32_t line);
int bench_step_life(struct bench *bench, uint32_t line); /* bench_device_life.c */
int bench_step_parked(struct bench *bench, uint32_t line);
int bench_step_power(struct bench *bench, uint32_t line);
int bench_step_held(struct bench *bench, uint32_t line);

/* bench_dispatch.c: whether the device is to be looked for outside this process. */
int bench_is_apart(const struct cli_args *args);

/* The benchmark itself; bench->table is set by it. */
int bench_device_run(struct bench *bench, const struct cli_args *args);

/* bench_wait.c: samples of slots with this opcode for one slice, with time to think in between;
 * *cpu receives the CPU time of the process in percent of the time. 0 or an exit code. */
int bench_sample_waits(struct bench *bench, vyre_queue *queue, uint32_t opcode, size_t *count,
                       double *cpu);

/* bench_dispatch.c: a table of wait modes, three lines each from `first` on. */
void bench_print_waits(const struct bench *bench, uint32_t first, const char *const *names,
                       uint32_t rows);

#endif
