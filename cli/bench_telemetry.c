/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench telemetry`: how fast snapshots are decoded, beside reading the same memory and beside
 * a plain decoder. Its table. The exit code is 1 only when a snapshot differs from that of the
 * plain decoder. Called by main.c.
 */
#include "bench_telemetry.h"

#include <string.h>

#define BENCH_ROWS         "bench_telemetry_lines.def"
#define BENCH_ROW_LINE(id) TELEMETRY_LINE_##id
#include "bench_rows.h"

static int begin(struct bench *bench)
{
    snprintf(bench->choice, sizeof bench->choice, "one thread, no device: %u slots, %u bytes each",
             TELEMETRY_SLOTS, VYRE_SLOT_BYTES);
    cli_progress("making the rings");
    return telemetry_make(bench->state);
}

static void end(struct bench *bench)
{
    telemetry_free(bench->state);
}

static void print_head(const struct bench *bench)
{
    if (bench->cpus.producer >= 0) printf("placement: CPU %d\n", bench->cpus.producer);
    puts("rates:     64 bytes a slot, rows and windows that are written not counted");
}

static const struct bench_table table = {
    .command = "bench telemetry",
    BENCH_TABLE_ROWS,
    .peer_width = 18,
    .name_width = 21,
    .rounds = BENCH_MAX_ROUNDS,
    .not_measured =
        "states: control buffer, nine counters of states, runtime counters. rows: 32 bytes "
        "written\n"
        "for each slot. windows: half of the slots in windows of 256 slots each, 64 opcodes.\n"
        "Not measured: several threads at once, rings that a device writes meanwhile, copying "
        "them\n"
        "from a device, memory that was never touched before.",
    .begin = begin,
    .end = end,
    .print_head = print_head,
    .no_device = 1,
};

int vyre_cli_bench_telemetry(const struct cli_args *args)
{
    struct bench bench;
    struct telemetry_state state;
    memset(&bench, 0, sizeof bench);
    memset(&state, 0, sizeof state);
    bench.table = &table;
    bench.backend = VYRE_BACKEND_CPU;
    bench.state = &state;
    return bench_run(&bench, args);
}
