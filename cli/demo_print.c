/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The lines of `vyre demo`, for people or as JSON Lines. A check is counted where it is printed,
 * so no result can be checked without being shown nor fail without being counted. Called by the
 * chapters.
 */
#include "demo.h"

#include <stdarg.h>

void tour_title(struct tour *tour, const char *title)
{
    if (tour->args->json) return;
    printf("\n%s%s%s\n", cli_tone(stdout, CLI_TONE_TITLE), title, cli_tone(stdout, CLI_TONE_OFF));
}

void tour_number(struct tour *tour, const char *key, double value)
{
    if (tour->numbers == TOUR_NUMBERS) return;
    tour->number[tour->numbers].key = key;
    tour->number[tour->numbers].value = value;
    tour->numbers++;
}

/* `passed` is -1 where nothing was checked. */
static void line(struct tour *tour, const char *name, int passed, const char *text)
{
    static const char *const marks[] = {"  ", "NO", "ok"};
    static const enum cli_tone tones[] = {CLI_TONE_OFF, CLI_TONE_BAD, CLI_TONE_GOOD};

    cli_progress(NULL);
    if (tour->args->json) {
        cli_json_begin(passed < 0 ? "fact" : "check");
        cli_json_text("chapter", tour->chapter);
        cli_json_text("name", name);
        if (passed >= 0) cli_json_flag("passed", passed);
        for (uint32_t i = 0; i < tour->numbers; i++)
            cli_json_number(tour->number[i].key, tour->number[i].value);
        cli_json_text("text", text);
        cli_json_end();
    } else {
        printf("  %s%s%s  %-16s %s\n", cli_tone(stdout, tones[passed + 1]), marks[passed + 1],
               cli_tone(stdout, CLI_TONE_OFF), name, text);
    }
    tour->numbers = 0;
}

void tour_fact(struct tour *tour, const char *name, const char *format, ...)
{
    char text[256];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    line(tour, name, -1, text);
}

void tour_check(struct tour *tour, const char *name, int passed, const char *format, ...)
{
    char text[256];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    line(tour, name, passed != 0, text);
    tour->now.checks++;
    if (passed) return;
    tour->now.failed++;
    char message[400];
    snprintf(message, sizeof message, "check failed in chapter `%s`: %s: %s", tour->chapter, name,
             text);
    cli_complain(message, NULL, NULL);
}

/* A number with a blank before every three digits, as 1 234 567; returns `text`. */
static const char *grouped(uint64_t value, char text[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    int out = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) text[out++] = ' ';
        text[out++] = digits[i];
    }
    text[out] = '\0';
    return text;
}

void tour_summary_row(struct tour *tour, const char *name, const struct tour_count *count)
{
    char done[32], time[32];

    if (tour->args->json) {
        if (count == NULL) return;
        cli_json_begin("chapter");
        cli_json_text("name", name);
        cli_json_count("done", count->done);
        cli_json_count("faulted", count->faulted);
        cli_json_count("cancelled", count->cancelled);
        cli_json_count("checks", count->checks);
        cli_json_count("failed", count->failed);
        cli_json_number("seconds", count->seconds);
        cli_json_end();
        return;
    }
    if (count == NULL) {
        printf("      %s%-16s %12s %8s %10s %7s %9s%s\n", cli_tone(stdout, CLI_TONE_QUIET), name,
               "done", "faulted", "cancelled", "checks", "time", cli_tone(stdout, CLI_TONE_OFF));
        return;
    }
    printf("  %s%s%s  %-16s %12s %8llu %10llu %7u %9s\n",
           cli_tone(stdout, count->failed ? CLI_TONE_BAD : CLI_TONE_GOOD),
           count->failed   ? "NO"
           : count->checks ? "ok"
                           : "  ",
           cli_tone(stdout, CLI_TONE_OFF), name, grouped(count->done, done),
           (unsigned long long)count->faulted, (unsigned long long)count->cancelled, count->checks,
           cli_format_ns(count->seconds * 1e9, time, sizeof time));
}
