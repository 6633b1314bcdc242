/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The figures of a benchmark: what the rounds of a line come to, and how it stands against the
 * peers and targets of its table. A line is one median, best and worst round; a ratio is the median
 * of the rounds' own. Called by the steps, which add values, and by the report.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const char *bench_line_name(const struct bench *bench, uint32_t line)
{
    return bench->table->lines[line].name;
}

const char *bench_line_unit(const struct bench *bench, uint32_t line)
{
    return bench->table->lines[line].unit;
}

uint32_t bench_sample(uint64_t ns)
{
    return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

void bench_add(struct bench *bench, uint32_t line, double value)
{
    struct bench_series *series = &bench->series[line];
    if (series->count < BENCH_MAX_ROUNDS) series->value[series->count++] = value;
}

static int compare_samples(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void bench_add_percentiles(struct bench *bench, const struct bench_percentiles *to,
                           uint32_t *samples, size_t count)
{
    const uint32_t line[5] = {to->p50, to->p90, to->p99, to->p999, to->max};
    const double part[5] = {0.5, 0.9, 0.99, 0.999, 1};
    if (count == 0) return;
    qsort(samples, count, sizeof samples[0], compare_samples);
    for (int i = 0; i < 5; i++) {
        if (line[i] == BENCH_NONE) continue;
        size_t at = (size_t)(part[i] * (double)count);
        bench_add(bench, line[i], samples[at < count ? at : count - 1] / to->unit_ns);
    }
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the values; NAN where there are none. */
static double median(double *values, uint32_t count)
{
    if (count == 0) return NAN;
    qsort(values, count, sizeof values[0], compare_values);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

struct bench_summary bench_summarise(const struct bench *bench, uint32_t line)
{
    const struct bench_series *series = &bench->series[line];
    struct bench_summary summary = {NAN, NAN, NAN};
    double sorted[BENCH_MAX_ROUNDS];
    enum bench_better better = bench->table->lines[line].better;
    uint32_t n = series->count;
    if (n == 0) return summary;
    memcpy(sorted, series->value, n * sizeof sorted[0]);
    summary.median = median(sorted, n);
    summary.best = better == HIGHER ? sorted[n - 1] : sorted[0];
    summary.worst = better == HIGHER ? sorted[0] : sorted[n - 1];
    return summary;
}

static double ratio(const struct bench *bench, uint32_t line, uint32_t peer)
{
    const struct bench_series *ours = &bench->series[line];
    const struct bench_series *theirs = &bench->series[peer];
    double ratios[BENCH_MAX_ROUNDS];
    uint32_t n = ours->count < theirs->count ? ours->count : theirs->count;
    for (uint32_t i = 0; i < n; i++)
        ratios[i] = ours->value[i] / theirs->value[i];
    return median(ratios, n);
}

int bench_next_bound(const struct bench *bench, uint32_t line, uint32_t *bound)
{
    for (; *bound < bench->table->bound_count; ++*bound)
        if (bench->table->bounds[*bound].line == line) return 1;
    return 0;
}

int bench_has_targets(const struct bench *bench)
{
    for (uint32_t i = 0; i < bench->table->bound_count; i++)
        if (bench->table->bounds[i].sense != RATIO_SHOWN) return 1;
    return 0;
}

struct bench_verdict bench_judge(const struct bench *bench, uint32_t bound)
{
    static const char *const signs[] = {">=", "<=", NULL, "<", ">=", "<="};
    const struct bench_bound_row *row = &bench->table->bounds[bound];
    struct bench_verdict verdict = {NULL, NAN, signs[row->sense], row->bound, 0, 0};
    double value = bench_summarise(bench, row->line).median;
    double judged = value;
    if (row->peer != BENCH_NONE) {
        verdict.peer = bench_line_name(bench, row->peer);
        verdict.ratio = ratio(bench, row->line, row->peer);
    }
    if (row->sense < VALUE_BELOW) judged = verdict.ratio;
    verdict.judged = verdict.sign != NULL && isfinite(judged);
    if (row->sense == RATIO_LEAST || row->sense == VALUE_LEAST) verdict.met = judged >= row->bound;
    if (row->sense == RATIO_MOST || row->sense == VALUE_MOST) verdict.met = judged <= row->bound;
    if (row->sense == VALUE_BELOW) verdict.met = judged < row->bound;
    return verdict;
}
