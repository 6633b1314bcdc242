/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench dispatch`: what it costs to send slots through a runtime. The table of the CPU
 * backend in this process, and what its report has beside the common one; see bench_device.c for
 * others. The exit code is 1 only when something came out wrong: a slot lost, doubled, or ended
 * otherwise than as done. Called by main.c.
 */
#include <stdio.h>
#include <string.h>

#include "bench_device.h"
#include "bench_dispatch.h"

#define BENCH_ROWS         "bench_dispatch_lines.def"
#define BENCH_ROW_LINE(id) BENCH_##id
#include "bench_rows.h"

/* Finds out which backend there will be, before anything takes long. */
static int probe(struct bench *bench)
{
    struct bench_setup setup = {1, 256, 0, VYRE_WAIT_ADAPTIVE, VYRE_DEFAULT64};
    struct bench_session session;
    int code = bench_session_open(bench, &setup, &session);
    if (code != 0) return code;
    code = bench_session_choice(bench, &session);
    bench_session_close(&session);
    return code;
}

static void print_head(const struct bench *bench)
{
    if (bench->cpus.producer < 0)
        puts("placement: none; fewer than two CPUs, so producer and consumer share one");
    else
        printf("placement: producer on CPU %d, %s on CPU %d\n", bench->cpus.producer,
               bench->workers == 1 ? "worker and consumers" : "consumers of the peers",
               bench->cpus.consumer);
}

static int in_wait_table(uint32_t line)
{
    return line >= BENCH_WAIT_SPIN && line <= BENCH_LONG_BLOCK_CPU;
}

void bench_print_waits(const struct bench *bench, uint32_t first, const char *const *names,
                       uint32_t rows)
{
    int printed = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t line = first + 3 * i;
        char text[3][32];
        if (bench->series[line].count == 0) continue;
        if (printed++ == 0)
            printf("\n%s%-*s %9s %9s %9s%s\n", cli_tone(stdout, CLI_TONE_TITLE),
                   bench->table->name_width, "slot, wait mode", "p50 us", "p99 us", "CPU %",
                   cli_tone(stdout, CLI_TONE_OFF));
        printf("%-*s %9s %9s %9s\n", bench->table->name_width, names[i],
               bench_figure(bench_summarise(bench, line).median, text[0]),
               bench_figure(bench_summarise(bench, line + 1).median, text[1]),
               bench_figure(bench_summarise(bench, line + 2).median, text[2]));
    }
}

static void print_wait_table(const struct bench *bench)
{
    static const char *const names[6] = {"NOP, spin",    "NOP, adaptive",    "NOP, block",
                                         "200 us, spin", "200 us, adaptive", "200 us, block"};
    bench_print_waits(bench, BENCH_WAIT_SPIN, names, 6);
}

static const struct bench_table table = {
    .command = "bench dispatch",
    BENCH_TABLE_ROWS,
    .peer_width = 20,
    .name_width = 22,
    .rounds = BENCH_MAX_ROUNDS,
    .not_measured =
        "Not measured: operations that do more than the lines say, buffers, several producers on\n"
        "several queues, more workers than --workers, other priorities than NORMAL, deadlines,\n"
        "cancellation, completion descriptors, the first slots after opening, memory of thread\n"
        "stacks. Latencies contain one reading of the clock. The bare ring hands items over one\n"
        "way; a slot also brings a completion back.",
    .begin = probe,
    .print_head = print_head,
    .print_apart = print_wait_table,
    .is_apart = in_wait_table,
};

int bench_is_apart(const struct cli_args *args)
{
    vyre_caps caps = VYRE_CAPS_INIT;
    if (args->backend == VYRE_BACKEND_CUDA || args->place == VYRE_PLACE_HOST) return 1;
    if (args->backend == VYRE_BACKEND_CPU || args->place == VYRE_PLACE_PROCESS) return 0;
    return vyre_backend_caps(VYRE_BACKEND_CUDA, &caps, NULL) == VYRE_OK && caps.supported;
}

int vyre_cli_bench_dispatch(const struct cli_args *args)
{
    struct bench bench;
    memset(&bench, 0, sizeof bench);
    bench.table = &table;
    bench.backend = args->backend;
    if (bench_is_apart(args)) return bench_device_run(&bench, args);
    return bench_run(&bench, args);
}
