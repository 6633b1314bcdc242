/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What `vyre bench dispatch` prints: one aligned table with ratios, targets and verdicts, one for
 * the wait modes, and what was not measured; or the same as JSON Lines. Every figure shown is the
 * median of the rounds. Prints to stdout only.
 */
#include <math.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench.h"

static int in_wait_table(uint32_t line)
{
    return line >= BENCH_WAIT_SPIN && line <= BENCH_LONG_BLOCK_CPU;
}

/* Three digits that matter, without an exponent. */
static const char *figure(double value, char *text, size_t size)
{
    if (!isfinite(value)) return "-";
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    snprintf(text, size, "%.*f", decimals, value);
    return text;
}

static void print_verdict(const struct bench_verdict *verdict)
{
    char ratio[32];
    char target[32];
    if (verdict->peer != NULL || verdict->sign != NULL)
        printf("%8s  ",
               isfinite(verdict->ratio) ? figure(verdict->ratio, ratio, sizeof ratio) : "");
    if (verdict->sign == NULL) {
        fputs(verdict->peer, stdout);
        return;
    }
    snprintf(target, sizeof target, "%s %g", verdict->sign, verdict->bound);
    printf("%-20s  %-8s", verdict->peer != NULL ? verdict->peer : "", target);
    if (verdict->judged)
        printf("  %s%s%s", cli_tone(stdout, verdict->met ? CLI_TONE_GOOD : CLI_TONE_BAD),
               verdict->met ? "met" : "missed", cli_tone(stdout, CLI_TONE_OFF));
}

static void print_line(const struct bench *bench, uint32_t line)
{
    char text[3][32];
    struct bench_summary summary = bench_summarise(bench, line);
    printf("%-22s %9s %9s %9s  %s", bench_line_name(line),
           figure(summary.median, text[0], sizeof text[0]),
           figure(summary.best, text[1], sizeof text[1]),
           figure(summary.worst, text[2], sizeof text[2]), bench_line_unit(line));
    int printed = 0;
    for (uint32_t bound = 0; bench_next_bound(line, &bound); bound++) {
        struct bench_verdict verdict = bench_judge(bench, bound);
        if (verdict.peer != NULL && !isfinite(verdict.ratio)) continue;
        if (printed++ == 0)
            printf("%*s", 4 - (int)strlen(bench_line_unit(line)), "");
        else
            printf("\n%58s", "");
        print_verdict(&verdict);
    }
    putchar('\n');
}

static void print_table(const struct bench *bench)
{
    int printed = 0;
    for (uint32_t line = 0; line < BENCH_LINES; line++) {
        if (in_wait_table(line) || bench->series[line].count == 0) continue;
        if (printed++ == 0)
            printf("\n%s%-22s %9s %9s %9s  %-4s%8s  %-20s  %-8s  verdict%s\n",
                   cli_tone(stdout, CLI_TONE_TITLE), "line", "median", "best", "worst", "unit",
                   "ratio", "against", "target", cli_tone(stdout, CLI_TONE_OFF));
        print_line(bench, line);
    }
}

static void print_wait_table(const struct bench *bench)
{
    static const char *const what[6] = {"NOP, spin",    "NOP, adaptive",    "NOP, block",
                                        "200 us, spin", "200 us, adaptive", "200 us, block"};
    int printed = 0;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t line = BENCH_WAIT_SPIN + 3 * i;
        char text[3][32];
        if (bench->series[line].count == 0) continue;
        if (printed++ == 0)
            printf("\n%s%-22s %9s %9s %9s%s\n", cli_tone(stdout, CLI_TONE_TITLE), "slot, wait mode",
                   "p50 us", "p99 us", "CPU %", cli_tone(stdout, CLI_TONE_OFF));
        printf("%-22s %9s %9s %9s\n", what[i],
               figure(bench_summarise(bench, line).median, text[0], sizeof text[0]),
               figure(bench_summarise(bench, line + 1).median, text[1], sizeof text[1]),
               figure(bench_summarise(bench, line + 2).median, text[2], sizeof text[2]));
    }
}

static void print_notes(const struct bench *bench)
{
    for (uint32_t line = 0; line < BENCH_LINES; line++)
        if (bench->series[line].note[0] != '\0')
            printf("\n%s: %s", bench_line_name(line), bench->series[line].note);
    puts("\n\n"
         "Not measured: operations that do more than the lines say, buffers, several producers on\n"
         "several queues, more workers than --workers, other priorities than NORMAL, deadlines,\n"
         "cancellation, completion descriptors, the first slots after opening, memory of thread\n"
         "stacks. Latencies contain one reading of the clock. The bare ring hands items over one\n"
         "way; a slot also brings a completion back.");
}

static void print_head(const struct bench *bench)
{
    struct utsname system;
    char model[128];
    bench_cpu_model(model, sizeof model);
    if (uname(&system) != 0) memset(&system, 0, sizeof system);
    printf("vyre %s: %s\n", vyre_version(), bench->choice);
    printf("machine:   %s, %d CPU%s usable, %s %s\n", model, bench->cpus.count,
           bench->cpus.count == 1 ? "" : "s", system.sysname, system.release);
    if (bench->cpus.producer < 0)
        puts("placement: none; fewer than two CPUs, so producer and consumer share one");
    else
        printf("placement: producer on CPU %d, %s on CPU %d\n", bench->cpus.producer,
               bench->workers == 1 ? "worker and consumers" : "consumers of the peers",
               bench->cpus.consumer);
    printf("method:    %u worker%s, %u rounds of %.0f ms a line, all lines in turn\n",
           bench->workers, bench->workers == 1 ? "" : "s", bench->rounds,
           (double)bench->slice_ns / 1e6);
    printf("clock:     monotonic, %.1f ns a reading\n", bench->clock_cost_ns);
}

/* One record: a line, with one of its comparisons if there is one. */
static void json_line(const struct bench *bench, uint32_t line, const struct bench_verdict *verdict)
{
    struct bench_summary summary = bench_summarise(bench, line);
    const char *note = bench->series[line].note;
    cli_json_begin("line");
    cli_json_text("name", bench_line_name(line));
    cli_json_number("value", summary.median);
    cli_json_text("unit", bench_line_unit(line));
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
    for (uint32_t bound = 0; bench_next_bound(line, &bound); bound++) {
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
    cli_json_header("bench dispatch");
    cli_json_begin("run");
    cli_json_text("choice", bench->choice);
    cli_json_text("machine", model);
    cli_json_count("cpus", (uint64_t)bench->cpus.count);
    cli_json_flag("pinned", bench->cpus.producer >= 0);
    cli_json_count("workers", bench->workers);
    cli_json_count("rounds", bench->rounds);
    cli_json_number("round_seconds", (double)bench->slice_ns / 1e9);
    cli_json_number("clock_ns", bench->clock_cost_ns);
    cli_json_end();
    for (uint32_t line = 0; line < BENCH_LINES; line++)
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
    print_wait_table(bench);
    print_notes(bench);
}
