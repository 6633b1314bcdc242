/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench telemetry` share: its lines, the rings that are decoded, and the
 * storage they are decoded into.
 */
#ifndef VYRE_CLI_BENCH_TELEMETRY_H
#define VYRE_CLI_BENCH_TELEMETRY_H

#include "bench.h"

#define TELEMETRY_SLOTS   1048576u
#define TELEMETRY_SMALL   4096u
#define TELEMETRY_OPCODES 64u

enum bench_telemetry_line {
#define BENCH_LINE(id, name, unit, better, step) TELEMETRY_LINE_##id,
#include "bench_telemetry_lines.def"
    TELEMETRY_LINES
};
#define TELEMETRY_LINE_NONE BENCH_NONE

struct oracle_snapshot;

struct telemetry_state {
    unsigned char control[VYRE_CONTROL_BYTES];
    unsigned char *ring; /* half of its slots in windows of 256 slots */
    unsigned char *many; /* every second slot a window of its own */
    uint32_t opcodes[TELEMETRY_OPCODES];
    vyre_snapshot_slot *rows;
    vyre_snapshot_window *windows;
    void *scratch;
    size_t scratch_bytes;
    struct oracle_snapshot *plain; /* what the plain decoder says of `ring`, with windows */
    uint8_t checked[TELEMETRY_LINES];
};

/* Makes rings and storage, and has the plain decoder read the first (bench_telemetry_ring.c). 0 or
 * an exit code; free it in any case. */
int telemetry_make(struct telemetry_state *state);
void telemetry_free(struct telemetry_state *state);

/* Whether a snapshot says of the first slots of `ring` what the plain decoder says
 * (bench_telemetry_ring.c). */
int telemetry_is_right(const struct telemetry_state *state, const vyre_snapshot *snapshot,
                       const vyre_snapshot_source *source);

/* How often this program has called the allocator or mmap so far (bench_allocations.c). */
uint64_t bench_allocations(void);

/* Steps (bench_telemetry_runs.c). */
int bench_step_telemetry_memory(struct bench *bench, uint32_t line);
int bench_step_telemetry_plain(struct bench *bench, uint32_t line);
int bench_step_telemetry_decode(struct bench *bench, uint32_t line);
int bench_step_telemetry_allocations(struct bench *bench, uint32_t line);

#endif
