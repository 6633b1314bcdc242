/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre demo`: a tour in chapters, each of which sends real work through the public API and checks
 * what comes back. The exit code is 0 only if every chapter ran to its end and every check held.
 */
#include "demo.h"

#include <string.h>

struct chapter {
    const char *name;
    const char *title;
    int (*run)(struct tour *tour);
    int native; /* needs operations that are C functions */
    int apart;  /* runs on a runtime of its own, or after the counters were compared */
};

static const struct chapter chapters[] = {
    {"runtime", "a runtime", tour_runtime, 0, 0},
    {"empty slots", "empty slots, there and back", tour_empty, 0, 0},
    {"built-ins", "built-in operations on the tenant's words", tour_builtins, 0, 0},
    {"search", "a pattern in a text, by DFA_STEP", tour_search, 0, 0},
    {"native", "an operation of our own", tour_native, 1, 0},
    {"priorities", "five priorities, one worker", tour_priorities, 1, 1},
    {"fence", "a fence, and the debug log", tour_fence, 0, 0},
    {"faults", "faults, and what they leave alone", tour_faults, 0, 0},
    {"endings", "cancelled, too late, asked to stop", tour_endings, 1, 1},
    {"tenants", "two tenants", tour_tenants, 0, 0},
    {"counters", "the device's own counters", tour_counters, 0, 0},
    {"files", "files, streamed through the resident kernel", tour_streams, 0, 1},
};

enum { CHAPTERS = sizeof chapters / sizeof chapters[0] };

static int open_runtime(struct tour *tour)
{
    vyre_options options = cli_runtime_options(tour->args);

    options.default_queue_slots = TOUR_QUEUE_SLOTS;
    TOUR_TRY(tour, vyre_open(&tour->runtime, &options, &tour->err), "cannot open a runtime");
    tour->queue = vyre_queue_default(tour->runtime);
    return CLI_EXIT_DONE;
}

int tour_runtime(struct tour *tour)
{
    vyre_description description = {.size = sizeof description};
    const struct cli_args *args = tour->args;
    char size[32];

    TOUR_TRY(tour, vyre_describe(tour->runtime, &description, &tour->err),
             "cannot describe the runtime");
    tour->native = description.backend == VYRE_BACKEND_CPU && description.place != VYRE_PLACE_HOST;
    tour_check(tour, "backend",
               args->backend == VYRE_BACKEND_AUTO || args->backend == description.backend, "%s",
               description.choice);
    tour_number(tour, "workers", description.workers);
    tour_check(tour, "workers",
               description.workers > 0 &&
                   (args->workers == VYRE_DEFAULT || args->workers == description.workers),
               "%u, and a queue of %u slots", description.workers,
               vyre_queue_capacity(tour->queue));
    tour_number(tour, "memory_bytes", (double)description.memory_bytes);
    tour_fact(tour, "memory", "%s for queues and tables",
              cli_format_bytes((double)description.memory_bytes, size, sizeof size));
    return CLI_EXIT_DONE;
}

static void add(struct tour_count *sum, const struct tour_count *count)
{
    sum->done += count->done;
    sum->faulted += count->faulted;
    sum->cancelled += count->cancelled;
    sum->checks += count->checks;
    sum->failed += count->failed;
    sum->seconds += count->seconds;
}

static int run_chapter(struct tour *tour, size_t idx)
{
    const struct chapter *chapter = &chapters[idx];
    uint64_t start_ns = tour_now_ns();
    char progress[96];

    memset(&tour->now, 0, sizeof tour->now);
    tour->chapter = chapter->name;
    tour_title(tour, chapter->title);
    snprintf(progress, sizeof progress, "[%zu/%d] %s ...", idx + 1, (int)CHAPTERS, chapter->title);
    cli_progress(progress);
    if (chapter->native && !tour->native) {
        tour_fact(tour, "skipped", "only the CPU backend in this process runs C functions");
        return CLI_EXIT_DONE;
    }
    int code = chapter->run(tour);
    cli_progress(NULL);
    tour->now.seconds = (double)(tour_now_ns() - start_ns) / 1e9;
    if (!chapter->apart) add(&tour->first, &tour->now);
    return code;
}

static void summary(struct tour *tour, const struct tour_count *counts,
                    const struct tour_count *sum)
{
    char time[32];

    tour_title(tour, "summary");
    tour_summary_row(tour, "chapter", NULL);
    for (size_t i = 0; i < CHAPTERS; i++)
        tour_summary_row(tour, chapters[i].name, &counts[i]);
    if (tour->args->json) {
        cli_json_begin("summary");
        cli_json_count("checks", sum->checks);
        cli_json_count("failed", sum->failed);
        cli_json_count("slots", sum->done + sum->faulted + sum->cancelled);
        cli_json_number("seconds", sum->seconds);
        cli_json_end();
        return;
    }
    tour_summary_row(tour, "all", sum);
    printf("\n%s%u checks, %u failed%s, %s\n",
           cli_tone(stdout, sum->failed ? CLI_TONE_BAD : CLI_TONE_GOOD), sum->checks, sum->failed,
           cli_tone(stdout, CLI_TONE_OFF), cli_format_ns(sum->seconds * 1e9, time, sizeof time));
}

static int run_tour(struct tour *tour)
{
    struct tour_count counts[CHAPTERS], sum = {0};

    TOUR_STEP(tour_text_check(tour));
    TOUR_STEP(cli_guard_start(&tour->guard)); /* while there are no threads */
    TOUR_STEP(open_runtime(tour));
    if (tour->args->json)
        cli_json_header("demo");
    else
        printf("%svyre %s%s: a tour\n", cli_tone(stdout, CLI_TONE_TITLE), vyre_version(),
               cli_tone(stdout, CLI_TONE_OFF));
    for (size_t i = 0; i < CHAPTERS; i++) {
        TOUR_STEP(run_chapter(tour, i));
        counts[i] = tour->now;
        add(&sum, &tour->now);
        if (cli_flush() != 0) return CLI_EXIT_IO;
    }
    summary(tour, counts, &sum);
    return sum.failed == 0 ? CLI_EXIT_DONE : CLI_EXIT_NO;
}

int vyre_cli_demo(const struct cli_args *args)
{
    struct tour tour;

    memset(&tour, 0, sizeof tour);
    tour.args = args;
    int code = run_tour(&tour);
    cli_progress(NULL);
    /* Both stop their workers, a gate that still waits included. */
    vyre_close(tour.second);
    vyre_close(tour.runtime);
    cli_guard_end(&tour.guard);
    return code;
}
