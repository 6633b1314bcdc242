/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads of 4 KiB at random places of a file that the page cache holds, so many at once: by slots
 * that ask for them (bench_ingest_asked.c), and by fio. Steps of `vyre bench ingest`.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_ingest.h"
#include "bench_ingest_asked.h"

enum { DEPTH = 32, LEAST_MS = 100 };

static struct ingest_state *state_of(struct bench *bench)
{
    return bench->state;
}

/* Where the figures of a step go: its lines stand in this order. */
enum { RATE, P50, P99, CPU };

int bench_step_ingest_asked(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    struct bench_asked asked;
    const struct bench_percentiles lines = {line + P50, BENCH_NONE, line + P99,
                                            BENCH_NONE, BENCH_NONE, 1e3};
    char note[128];

    int code = ingest_make_large(bench);
    if (code != 0) return code;
    ingest_warm(bench);
    ingest_close(bench); /* it opens a runtime of its own */
    memset(&asked, 0, sizeof asked);
    asked.path = state->files.large;
    asked.bytes = state->files.large_bytes;
    asked.depth = DEPTH;
    code = bench_ingest_asked(bench, &asked);
    if (code != 0) return code;
    bench_add(bench, line, asked.per_second / 1e3);
    bench_add_percentiles(bench, &lines, bench->samples, asked.samples);
    bench_add(bench, line + CPU, asked.cpu_us * 1e3 / BENCH_ASKED_BYTES);
    snprintf(note, sizeof note, "%d at once; %.*s", DEPTH,
             (int)(strcspn(asked.choice, ";") < 100 ? strcspn(asked.choice, ";") : 100),
             asked.choice);
    bench_note(bench, line, note);
    return 0;
}

int bench_step_ingest_fio_random(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    struct ingest_fio result;
    uint64_t ms = bench->slice_ns / 1000000u;
    char file[PATH_MAX], depth[32], time[32], note[128];
    const char *const argv[] = {"fio",
                                "--name=vyre",
                                file,
                                "--rw=randread",
                                "--bs=4k",
                                depth,
                                time,
                                "--time_based",
                                "--norandommap",
                                "--direct=0",
                                "--invalidate=0",
                                "--thread",
                                "--ioengine=io_uring",
                                "--output-format=terse",
                                "--terse-version=3",
                                NULL};

    int code = ingest_make_large(bench);
    if (code != 0) return code;
    ingest_warm(bench);
    snprintf(file, sizeof file, "--filename=%s", state->files.large);
    snprintf(depth, sizeof depth, "--iodepth=%d", DEPTH);
    snprintf(time, sizeof time, "--runtime=%llums",
             (unsigned long long)(ms < LEAST_MS ? LEAST_MS : ms));
    if (ingest_fio_run(argv, &result, note) != 0) {
        bench_note(bench, line, note);
        return 0;
    }
    bench_add(bench, line, result.per_second / 1e3);
    bench_add(bench, line + P50, result.p50_us);
    bench_add(bench, line + P99, result.p99_us);
    bench_add(bench, line + CPU, (double)result.cpu_ns / (double)result.bytes);
    snprintf(note, sizeof note, "%d at once", DEPTH);
    bench_note(bench, line, note);
    return 0;
}
