/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench dispatch`: chooses the lines that were asked for and the peers they are compared
 * with, measures all of them in turn for several rounds, and reports. A missed target is a figure,
 * not a failure; the exit code is 1 only when something came out wrong: a slot lost, doubled, or
 * ended otherwise than as done. Called by main.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define SAMPLES 200000u

enum when { EACH, ONCE };

struct step {
    uint32_t line;
    int (*run)(struct bench *bench, uint32_t line);
    enum when when;
};

static const struct step steps[] = {
#define BENCH_STEP(line, function, when) {BENCH_##line, function, when},
#include "bench_lines.def"
};

/* The line whose step measures each line. */
static const uint32_t step_of_line[BENCH_LINES] = {
#define BENCH_LINE(id, name, unit, better, step) BENCH_##step,
#include "bench_lines.def"
};

#define STEP_COUNT (sizeof steps / sizeof steps[0])

int bench_wrong(const char *what)
{
    cli_complain(what, NULL,
                 "run `vyre bench dispatch --json` again, and report it with this line");
    return CLI_EXIT_NO;
}

/* Marks the steps of all lines whose name contains the text, and of the lines they are compared
 * with; returns how many lines fit. */
static uint32_t choose(const char *only, uint8_t wanted[BENCH_LINES])
{
    uint32_t fit = 0;
    memset(wanted, 0, BENCH_LINES);
    for (uint32_t line = 0; line < BENCH_LINES; line++) {
        if (only != NULL && strstr(bench_line_name(line), only) == NULL) continue;
        fit++;
        wanted[step_of_line[line]] = 1;
        for (uint32_t bound = 0; bench_next_bound(line, &bound); bound++)
            if (bench_bound_peer(bound) != BENCH_NONE)
                wanted[step_of_line[bench_bound_peer(bound)]] = 1;
    }
    return fit;
}

/* Finds out which backend there will be, before anything takes long. */
static int probe(struct bench *bench)
{
    vyre_error err;
    vyre_description description = {0};
    struct bench_setup setup = {1, 256, 0, VYRE_WAIT_ADAPTIVE, VYRE_DEFAULT64};
    struct bench_session session;
    int code = bench_session_open(bench, &setup, &session);
    if (code != 0) return code;
    description.size = (uint32_t)sizeof description;
    if (vyre_describe(session.runtime, &description, &err) != VYRE_OK)
        code = cli_fail("cannot describe a runtime", &err);
    else
        snprintf(bench->choice, sizeof bench->choice, "%s", description.choice);
    bench_session_close(&session);
    return code;
}

static int run_round(struct bench *bench, const uint8_t wanted[BENCH_LINES], uint32_t round)
{
    for (size_t i = 0; i < STEP_COUNT; i++) {
        const struct step *step = &steps[i];
        char line[96];
        if (!wanted[step->line] || (step->when == ONCE && round != 0)) continue;
        snprintf(line, sizeof line, "round %u of %u: %s", round + 1, bench->rounds,
                 bench_line_name(step->line));
        cli_progress(line);
        int code = step->run(bench, step->line);
        if (code != 0) return code;
    }
    return 0;
}

/* --only fits no line: says which there are. */
static int no_such_line(const char *only)
{
    char names[1024] = "use a part of one of these:";
    size_t used = strlen(names);
    for (uint32_t line = 0; line < BENCH_LINES && used < sizeof names; line++) {
        int n = snprintf(names + used, sizeof names - used, " %s", bench_line_name(line));
        used += n < 0 ? 0 : (size_t)n;
    }
    cli_complain("no line's name contains what --only says", only, names);
    return CLI_EXIT_MISUSE;
}

int vyre_cli_bench_dispatch(const struct cli_args *args)
{
    struct bench bench;
    uint8_t wanted[BENCH_LINES];
    memset(&bench, 0, sizeof bench);
    if (choose(args->only, wanted) == 0) return no_such_line(args->only);
    bench.args = args;
    bench.workers = args->workers == VYRE_DEFAULT ? 1 : args->workers;
    bench.rounds = args->seconds < 0.2 ? 3 : BENCH_MAX_ROUNDS;
    bench.whole_ns = (uint64_t)(args->seconds * 1e9);
    bench.slice_ns = bench.whole_ns / bench.rounds;
    bench.sample_capacity = SAMPLES;
    bench.samples = malloc(SAMPLES * sizeof bench.samples[0]);
    if (bench.samples == NULL) {
        cli_complain("no memory for samples", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    bench_cpus_choose(&bench.cpus);
    bench_pin(bench.cpus.producer);
    bench.clock_cost_ns = bench_clock_cost_ns();
    int code = probe(&bench);
    for (uint32_t round = 0; round < bench.rounds && code == 0; round++)
        code = run_round(&bench, wanted, round);
    cli_progress(NULL);
    bench_unpin(&bench.cpus);
    if (code == 0) bench_report(&bench);
    free(bench.samples);
    return code;
}
