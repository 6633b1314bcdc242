/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rows of one benchmark's table, made from its .def file. Included once by the file that has
 * the table, with BENCH_ROWS the name of the .def file and BENCH_ROW_LINE(id) the line of that id;
 * BENCH_TABLE_ROWS then initializes the members of struct bench_table that are about them.
 */
#ifndef VYRE_CLI_BENCH_ROWS_H
#define VYRE_CLI_BENCH_ROWS_H

#include "bench.h"

static const struct bench_step_row steps[] = {
#define BENCH_STEP(line, function, when) {BENCH_ROW_LINE(line), function, when},
#include BENCH_ROWS
};

static const struct bench_line_row lines[] = {
#define BENCH_LINE(id, name, unit, better, step) {name, unit, better, BENCH_ROW_LINE(step)},
#include BENCH_ROWS
};

static const struct bench_bound_row bounds[] = {
#define BENCH_BOUND(line, peer, sense, bound)                                                      \
    {BENCH_ROW_LINE(line), BENCH_ROW_LINE(peer), sense, bound},
#include BENCH_ROWS
};

#define BENCH_TABLE_ROWS                                                                           \
    .lines = lines, .bounds = bounds, .steps = steps,                                              \
    .line_count = sizeof lines / sizeof lines[0], .bound_count = sizeof bounds / sizeof bounds[0], \
    .step_count = sizeof steps / sizeof steps[0]

#endif
