/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a benchmark prints: one aligned table with ratios, targets and verdicts, what the benchmark
 * itself has to add, and what was not measured; or the same as JSON Lines. Every figure shown is
 * the median of the rounds. Prints to stdout only.
 */
#include <math.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench.h"

const char *bench_figure(double value, char text[32])
{
    if (!isfinite(value)) return "-";
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    snprintf(text, 32, "%.*f", decimals, value);
    return text;
}

static void print_verdict(const struct bench *bench, const struct bench_verdict *verdict)
{
    char ratio[32];
    char target[32];
    if (verdict->peer != NULL || verdict->sign != NULL)
        printf("%8s  ", isfinite(verdict->ratio) ? bench_figure(verdict->ratio, ratio) : "");
    if (verdict->sign == NULL) {
        fputs(verdict->peer, stdout);
        return;
    }
    snprintf(target, sizeof target, "%s %g", verdict->sign, verdict->bound);
    printf("%-*s  %-8s", bench->table->peer_width, verdict->peer != NULL ? verdict->peer : "",
           target);
    if (verdict->judged)
        printf("  %s%s%s", cli_tone(stdout, verdict->met ? CLI_TONE_GOOD : CLI_TONE_BAD),
               verdict->met ? "met" : "missed", cli_tone(stdout, CLI_TONE_OFF));
}

static void print_line(const struct bench *bench, uint32_t line)
{
    char text[3][32];
    struct bench_summary summary = bench_summarise(bench, line);
    printf("%-*s %9s %9s %9s  %s", bench->table->name_width, bench_line_name(bench, line),
           bench_figure(summary.median, text[0]), bench_figure(summary.best, text[1]),
           bench_figure(summary.worst, text[2]), bench_line_unit(bench, line));
    int printed = 0;
    for (uint32_t bound = 0; bench_next_bound(bench, line, &bound); bound++) {
        struct bench_verdict verdict = bench_judge(bench, bound);
        if (verdict.peer != NULL && !isfinite(verdict.ratio)) continue;
        if (printed++ == 0)
            printf("%*s", 4 - (int)strlen(bench_line_unit(bench, line)), "");
        else
            printf("\n%*s", bench->table->name_width + 36, "");
        print_verdict(bench, &verdict);
    }
    putchar('\n');
}

static void print_table(const struct bench *bench)
{
    int printed = 0;
    int targets = bench_has_targets(bench);
    for (uint32_t line = 0; line < bench->table->line_count; line++) {
        if (bench->series[line].count == 0) continue;
        if (bench->table->is_apart != NULL && bench->table->is_apart(line)) continue;
        if (printed++ == 0)
            printf("\n%s%-*s %9s %9s %9s  %-4s%8s  %-*s%s%s\n", cli_tone(stdout, CLI_TONE_TITLE),
                   bench->table->name_width, "line", "median", "best", "worst", "unit", "ratio",
                   targets ? bench->table->peer_width : 0, "against",
                   targets ? "  target    verdict" : "", cli_tone(stdout, CLI_TONE_OFF));
        print_line(bench, line);
    }
}

static void print_notes(const struct bench *bench)
{
    int noted = 0;

    for (uint32_t line = 0; line < bench->table->line_count; line++) {
        if (bench->series[line].note[0] == '\0') continue;
        printf("%s%s: %s\n", noted++ == 0 ? "\n" : "", bench_line_name(bench, line),
               bench->series[line].note);
    }
    printf("\n%s\n", bench->table->not_measured);
}

#define TEXT(x)   #x
#define NUMBER(x) TEXT(x)
#ifdef __clang__
#    define COMPILER                                                                               \
        "clang " NUMBER(__clang_major__) "." NUMBER(__clang_minor__) "." NUMBER(                   \
            __clang_patchlevel__)
#else
#    define COMPILER "gcc " __VERSION__
#endif

/* The library's too: the command has it within. */
static const char build[] = VYRE_BUILD " (" COMPILER ")";

static void print_head(const struct bench *bench)
{
    struct utsname system;
    char model[128];
    bench_cpu_model(model, sizeof model);
    if (uname(&system) != 0) memset(&system, 0, sizeof system);
    printf("vyre %s: %s\n", vyre_version(), bench->choice);
    printf("build:     %s\n", build);
    printf("machine:   %s, %d CPU%s usable, %s %s\n", model, bench->cpus.count,
           bench->cpus.count == 1 ? "" : "s", system.sysname, system.release);
    if (bench->table->print_head != NULL) bench->table->print_head(bench);
    printf("method:    ");
    if (!bench->table->no_device)
        printf("%u worker%s, ", bench->workers, bench->workers == 1 ? "" : "s");
    printf("%u rounds of %.0f ms a line, all lines in turn\n", bench->rounds,
           (double)bench->slice_ns / 1e6);
    printf("clock:     monotonic, %.1f ns a reading\n", bench->clock_cost_ns);
}

/* One record: a line, with one of its comparisons if there is one. */
static void json_line(const struct bench *bench, uint32_t line, const struct bench_verdict *verdict)
{
    struct bench_summary summary = bench_summarise(bench, line);
    const char *note = bench->series[line].note;
    cli_json_begin("line");
    cli_json_text("name", bench_line_name(bench, line));
    cli_json_number("value", summary.median);
    cli_json_text("unit", bench_line_unit(bench, line));
    cli_json_number("best", summary.best);
    cli_json_number("worst", summary.worst);
    cli_json_count("rounds", bench->series[line].count);
    cli_json_text("peer", verdict->peer);
    cli_json_number("ratio", verdict->ratio);
    cli_json_text("sense", verdict->sign);
    cli_json_number("target", verdict->sign != NULL ? verdict->bound : NAN);
    if (verdict->judged)
        cli_json_flag("met", verdict->met);
    else
        cli_json_null("met");
    cli_json_text("note", note[0] != '\0' ? note : NULL);
    cli_json_end();
}

static void json_lines(const struct bench *bench, uint32_t line)
{
    static const struct bench_verdict none = {NULL, NAN, NULL, NAN, 0, 0};
    int printed = 0;
    for (uint32_t bound = 0; bench_next_bound(bench, line, &bound); bound++) {
        struct bench_verdict verdict = bench_judge(bench, bound);
        json_line(bench, line, &verdict);
        printed = 1;
    }
    if (!printed) json_line(bench, line, &none);
}

static void json_report(const struct bench *bench)
{
    char model[128];
    bench_cpu_model(model, sizeof model);
    cli_json_header(bench->table->command);
    cli_json_begin("run");
    cli_json_text("choice", bench->choice);
    cli_json_text("build", build);
    cli_json_text("machine", model);
    cli_json_count("cpus", (uint64_t)bench->cpus.count);
    cli_json_flag("pinned", bench->cpus.producer >= 0);
    if (!bench->table->no_device) cli_json_count("workers", bench->workers);
    cli_json_count("rounds", bench->rounds);
    cli_json_number("round_seconds", (double)bench->slice_ns / 1e9);
    cli_json_number("clock_ns", bench->clock_cost_ns);
    if (bench->table->json_run != NULL) bench->table->json_run(bench);
    cli_json_end();
    for (uint32_t line = 0; line < bench->table->line_count; line++)
        if (bench->series[line].count != 0 || bench->series[line].note[0] != '\0')
            json_lines(bench, line);
}

void bench_report(const struct bench *bench)
{
    if (bench->args->json) {
        json_report(bench);
        return;
    }
    print_head(bench);
    print_table(bench);
    if (bench->table->print_apart != NULL) bench->table->print_apart(bench);
    print_notes(bench);
}
