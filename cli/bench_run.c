/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The run of a benchmark: chooses the lines that were asked for and the peers they are compared
 * with, measures all of them in turn for several rounds, and reports. A missed target is a figure,
 * not a failure; the exit code is 1 only when something came out wrong. Called by the commands
 * `bench ...`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define SAMPLES 200000u

int bench_wrong(const char *what)
{
    cli_complain(what, NULL, "run the same again with --json, and report it with this line");
    return CLI_EXIT_NO;
}

void bench_note(struct bench *bench, uint32_t line, const char *text)
{
    struct bench_series *series = &bench->series[line];
    snprintf(series->note, sizeof series->note, "%s", text);
}

/* Marks the steps of all lines whose name contains the text, and of the lines they are compared
 * with; returns how many lines fit. */
static uint32_t choose(const struct bench *bench, const char *only, uint8_t wanted[BENCH_MAX_LINES])
{
    const struct bench_table *table = bench->table;
    uint32_t fit = 0;
    memset(wanted, 0, BENCH_MAX_LINES);
    for (uint32_t line = 0; line < table->line_count; line++) {
        if (only != NULL && strstr(table->lines[line].name, only) == NULL) continue;
        fit++;
        wanted[table->lines[line].step] = 1;
        for (uint32_t bound = 0; bench_next_bound(bench, line, &bound); bound++) {
            uint32_t peer = table->bounds[bound].peer;
            if (peer != BENCH_NONE) wanted[table->lines[peer].step] = 1;
        }
    }
    return fit;
}

static int run_round(struct bench *bench, const uint8_t wanted[BENCH_MAX_LINES], uint32_t round)
{
    for (uint32_t i = 0; i < bench->table->step_count; i++) {
        const struct bench_step_row *step = &bench->table->steps[i];
        char line[96];
        if (!wanted[step->line] || (step->when == ONCE && round != 0)) continue;
        snprintf(line, sizeof line, "round %u of %u: %s", round + 1, bench->rounds,
                 bench_line_name(bench, step->line));
        cli_progress(line);
        int code = step->run(bench, step->line);
        if (code != 0) return code;
    }
    return 0;
}

/* --only fits no line: says which there are. */
static int no_such_line(const struct bench *bench, const char *only)
{
    static const char others[] = "; another --backend or --place has others";
    char names[3072] = "use a part of one of these:";
    size_t used = strlen(names);
    for (uint32_t line = 0; line < bench->table->line_count && used < sizeof names; line++) {
        int n = snprintf(names + used, sizeof names - used, " %s", bench_line_name(bench, line));
        used += n < 0 ? 0 : (size_t)n;
    }
    if (!bench->table->no_device && used + sizeof others <= sizeof names)
        memcpy(names + used, others, sizeof others);
    cli_complain("no line's name contains what --only says", only, names);
    return CLI_EXIT_MISUSE;
}

/* `auto` took the workers of this process, whose measurements have no use for a GPU or a host. */
static int check_device(const struct bench *bench, const struct cli_args *args)
{
    if (bench->table->pins_if_asked) return 0; /* the table of a device outside this process */
    if (args->device != NULL) {
        cli_complain("--device names a GPU, and --backend auto found none that it can use",
                     args->device, "run `vyre info` to see why, or leave --device out");
        return CLI_EXIT_ENVIRONMENT;
    }
    if (args->host == NULL) return 0;
    cli_complain("--host names a device host, and --backend auto took the CPU in this process",
                 args->host, "add --place host, or leave --host out");
    return CLI_EXIT_MISUSE;
}

static int run_rounds(struct bench *bench, const uint8_t wanted[BENCH_MAX_LINES])
{
    int code = bench->table->begin != NULL ? bench->table->begin(bench) : 0;
    for (uint32_t round = 0; round < bench->rounds && code == 0; round++)
        code = run_round(bench, wanted, round);
    cli_progress(NULL);
    if (bench->table->end != NULL) bench->table->end(bench);
    return code;
}

static int has_figures(const struct bench *bench)
{
    for (uint32_t line = 0; line < bench->table->line_count; line++)
        if (bench->series[line].count != 0) return 1;
    return 0;
}

int bench_run(struct bench *bench, const struct cli_args *args)
{
    uint8_t wanted[BENCH_MAX_LINES];
    if (choose(bench, args->only, wanted) == 0) return no_such_line(bench, args->only);
    int refused = check_device(bench, args);
    if (refused != 0) return refused;
    bench->args = args;
    bench->workers = args->workers == VYRE_DEFAULT ? 1 : args->workers;
    bench->rounds = args->seconds < 0.2 && bench->table->rounds > 3 ? 3 : bench->table->rounds;
    bench->whole_ns = (uint64_t)(args->seconds * 1e9);
    bench->slice_ns = bench->whole_ns / bench->rounds;
    bench->sample_capacity = SAMPLES;
    bench->samples = malloc(SAMPLES * sizeof bench->samples[0]);
    if (bench->samples == NULL) {
        cli_complain("no memory for samples", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    bench_cpus_choose(&bench->cpus);
    if (bench->table->pins_if_asked && !args->pin) bench->cpus.producer = bench->cpus.consumer = -1;
    bench_pin(bench->cpus.producer);
    bench->clock_cost_ns = bench_clock_cost_ns();
    int code = run_rounds(bench, wanted);
    bench_unpin(&bench->cpus);
    /* What was measured before something came out wrong is still true. */
    if (code == 0 || (code == CLI_EXIT_NO && has_figures(bench))) bench_report(bench);
    free(bench->samples);
    return code;
}
