/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How far `vyre stream` is, on a terminal, and at the end the path report: how many bytes took
 * which way, at what rate and at what cost. On stderr, or as one record of JSON Lines.
 */
#include <string.h>
#include <unistd.h>

#include "stream.h"

#define SHOW_NS     100000000u
#define LEAST_BYTES 1000000u /* of which a rate says something */

static const struct {
    uint32_t bit;
    const char *name, *key;
    int fixed; /* one of the things that are registered with the ring */
} features[] = {
    {VYRE_RING_SINGLE_ISSUER, "single issuer", "single_issuer", 0},
    {VYRE_RING_SQPOLL, "SQPOLL", "sqpoll", 0},
    {VYRE_RING_IOPOLL, "IOPOLL", "iopoll", 0},
    {VYRE_RING_REGISTERED_RING, "ring", "registered_ring", 1},
    {VYRE_RING_FIXED_BUFFERS, "buffers", "fixed_buffers", 1},
    {VYRE_RING_FIXED_FILES, "files", "fixed_files", 1},
};

enum { FEATURES = sizeof features / sizeof features[0] };

const char *stream_ring_text(uint32_t ring, char text[160])
{
    const char *part = "";
    size_t used = 0;
    int fixed = 0;

    snprintf(text, 160, "nothing special");
    for (size_t i = 0; i < FEATURES; i++) {
        if ((ring & features[i].bit) == 0) continue;
        const char *kind = features[i].fixed && !fixed ? "fixed " : "";
        if (used > 0) part = *kind != '\0' ? "; " : ", ";
        used += (size_t)snprintf(text + used, 160 - used, "%s%s%s", part, kind, features[i].name);
        fixed |= features[i].fixed;
    }
    return text;
}

const char *stream_path_text(uint32_t path)
{
    static const char *const texts[VYRE_PATHS] = {
        [VYRE_PATH_DIRECT] = "direct, no copy",  [VYRE_PATH_CACHE] = "page cache",
        [VYRE_PATH_STREAM] = "pipe or socket",   [VYRE_PATH_BOUNCE] = "moved once more",
        [VYRE_PATH_PACK] = "packed small files", [VYRE_PATH_GPUDIRECT] = "GPUDirect, no copy",
    };

    return path < VYRE_PATHS ? texts[path] : "?";
}

/* Progress.
 * ------------------------------------------------------------------------------------------- */

/* Not between bytes that the stream itself writes to a terminal. */
static int shows_progress(const struct stream_job *job)
{
    if (job->args->quiet) return 0;
    return job->output != STDOUT_FILENO || !isatty(STDOUT_FILENO);
}

void stream_progress(struct stream_job *job)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    uint64_t now_ns = stream_now_ns();
    char line[120], size[32], rate[32], left[48] = "", time[32];

    if (now_ns - job->shown_ns < SHOW_NS || !shows_progress(job)) return;
    job->shown_ns = now_ns;
    if (vyre_stream_query(job->stream, &report, NULL) != VYRE_OK) return;
    double seconds = (double)(now_ns - job->start_ns) / 1e9;
    double per_second = seconds > 0 ? (double)report.bytes / seconds : 0;
    if (job->total_bytes > report.bytes && per_second > 0) {
        double ns = (double)(job->total_bytes - report.bytes) / per_second * 1e9;
        snprintf(left, sizeof left, "; %.0f %%, %s left",
                 100.0 * (double)report.bytes / (double)job->total_bytes,
                 cli_format_ns(ns, time, sizeof time));
    }
    snprintf(line, sizeof line, "%llu of %llu file%s, %s, %sB/s%s",
             (unsigned long long)(report.files_read + report.files_failed + report.files_skipped),
             (unsigned long long)report.files_found, report.files_found == 1 ? "" : "s",
             cli_format_bytes((double)report.bytes, size, sizeof size),
             cli_format_rate(per_second, rate, sizeof rate), left);
    cli_progress(line);
}

/* The end.
 * ------------------------------------------------------------------------------------------- */

struct figures {
    double seconds, rate, cpu_per_gb;
};

static struct figures figures_of(const struct stream_job *job, const vyre_stream_report *report)
{
    struct figures figures = {(double)(job->end_ns - job->start_ns) / 1e9, 0, 0};
    double cpu = (double)(job->end_cpu_ns - job->start_cpu_ns) / 1e9;

    if (figures.seconds > 0) figures.rate = (double)report->bytes / figures.seconds;
    if (report->bytes > 0) figures.cpu_per_gb = cpu / ((double)report->bytes / 1e9);
    return figures;
}

/* By the stream, and of what was carried. */
static uint64_t bytes_written(const struct stream_job *job, const vyre_stream_report *report)
{
    return report->bytes_written + job->carried_written;
}

/* The library counts lost runs among these. */
static uint64_t faulted(const struct stream_job *job, const vyre_stream_report *report)
{
    return report->faulted > job->count.lost ? report->faulted - job->count.lost : 0;
}

static void label(const char *name)
{
    fprintf(stderr, "%s%-9s%s", cli_tone(stderr, CLI_TONE_QUIET), name,
            cli_tone(stderr, CLI_TONE_OFF));
}

static void tell_files(const struct stream_job *job, const vyre_stream_report *report)
{
    struct figures figures = figures_of(job, report);
    char size[32], time[32], rate[32];

    label("read");
    fprintf(stderr, "%llu file%s, %s in %s", (unsigned long long)report->files_read,
            report->files_read == 1 ? "" : "s",
            cli_format_bytes((double)report->bytes, size, sizeof size),
            cli_format_ns(figures.seconds * 1e9, time, sizeof time));
    if (report->bytes >= LEAST_BYTES)
        fprintf(stderr, ": %sB/s, %.2f CPU s/GB", cli_format_rate(figures.rate, rate, sizeof rate),
                figures.cpu_per_gb);
    if (report->files_failed > 0)
        fprintf(stderr, "; %llu failed", (unsigned long long)report->files_failed);
    if (report->files_skipped > 0)
        fprintf(stderr, "; %llu skipped", (unsigned long long)report->files_skipped);
    fputc('\n', stderr);
    if (bytes_written(job, report) == 0) return;
    label("written");
    fprintf(stderr, "%s\n",
            cli_format_bytes((double)bytes_written(job, report), size, sizeof size));
}

static void tell_ways(const vyre_stream_report *report)
{
    int first = 1;
    char size[32];

    for (uint32_t i = 0; i < VYRE_PATHS; i++) {
        const vyre_stream_way *way = &report->way[i];
        if (way->operations == 0) continue;
        label(first ? "way" : "");
        fprintf(stderr, "%s: %s in %llu operation%s\n", stream_path_text(i),
                cli_format_bytes((double)way->bytes, size, sizeof size),
                (unsigned long long)way->operations, way->operations == 1 ? "" : "s");
        first = 0;
    }
}

/* What a ring should have; polling is a matter of taste. */
static int lacks_something(const vyre_stream_report *report)
{
    const uint32_t usual = VYRE_RING_SINGLE_ISSUER | VYRE_RING_REGISTERED_RING |
                           VYRE_RING_FIXED_BUFFERS | VYRE_RING_FIXED_FILES;

    return (report->ring & usual) != usual;
}

static void tell_input(const vyre_stream_report *report, int verbose)
{
    char ring[160];

    label("input");
    if (report->io == VYRE_STREAM_IO_PREAD) {
        fprintf(stderr, "%s\n", report->choice);
        return;
    }
    fprintf(stderr, "io_uring: %s\n", stream_ring_text(report->ring, ring));
    if (!verbose && !lacks_something(report)) return;
    label("why");
    fprintf(stderr, "%s\n", report->choice);
}

static void tell_rest(const struct stream_job *job, const vyre_stream_report *report)
{
    vyre_description description = VYRE_DESCRIPTION_INIT;
    char size[32], cpu[32];

    if (vyre_describe(job->runtime, &description, NULL) == VYRE_OK) {
        label("device");
        fprintf(stderr, "%s; %u worker%s\n", description.choice, description.workers,
                description.workers == 1 ? "" : "s");
    }
    label("chunks");
    fprintf(stderr, "%llu run, %llu faulted", (unsigned long long)report->chunks,
            (unsigned long long)faulted(job, report));
    if (job->count.lost > 0) fprintf(stderr, ", %llu lost", (unsigned long long)job->count.lost);
    fputc('\n', stderr);
    label("waits");
    fprintf(stderr, "%llu of reading for the device, %llu of the device for reading\n",
            (unsigned long long)report->waits_device, (unsigned long long)report->waits_io);
    label("own");
    fprintf(stderr, "%s of memory, %u thread%s with %s of CPU time\n",
            cli_format_bytes((double)report->memory_bytes, size, sizeof size), report->threads,
            report->threads == 1 ? "" : "s",
            cli_format_ns((double)report->cpu_ns, cpu, sizeof cpu));
}

static void json_report(const struct stream_job *job, const vyre_stream_report *report)
{
    struct figures figures = figures_of(job, report);
    vyre_description description = VYRE_DESCRIPTION_INIT;

    cli_json_begin("report");
    cli_json_count("files_found", report->files_found);
    cli_json_count("files_read", report->files_read);
    cli_json_count("files_failed", report->files_failed);
    cli_json_count("files_skipped", report->files_skipped);
    cli_json_count("bytes", report->bytes);
    cli_json_count("bytes_written", bytes_written(job, report));
    cli_json_flag("timed_out", !job->whole);
    cli_json_count("chunks", report->chunks);
    cli_json_count("faulted", faulted(job, report));
    cli_json_count("lost", job->count.lost);
    cli_json_number("seconds", figures.seconds);
    cli_json_number("bytes_per_second", figures.rate);
    cli_json_number("cpu_seconds_per_gb", figures.cpu_per_gb);
    cli_json_text("io", report->io == VYRE_STREAM_IO_PREAD ? "pread" : "uring");
    for (size_t i = 0; i < FEATURES; i++)
        cli_json_flag(features[i].key, (report->ring & features[i].bit) != 0);
    cli_json_text("choice", report->choice);
    fputs(",\"ways\":{", stdout);
    for (uint32_t i = 0; i < VYRE_PATHS; i++)
        printf("%s\"%s\":{\"bytes\":%llu,\"operations\":%llu}", i == 0 ? "" : ",",
               vyre_stream_path_name(i), (unsigned long long)report->way[i].bytes,
               (unsigned long long)report->way[i].operations);
    putchar('}');
    cli_json_count("memory_bytes", report->memory_bytes);
    cli_json_count("threads", report->threads);
    cli_json_count("waits_device", report->waits_device);
    cli_json_count("waits_io", report->waits_io);
    cli_json_number("stream_cpu_seconds", (double)report->cpu_ns / 1e9);
    if (vyre_describe(job->runtime, &description, NULL) == VYRE_OK)
        cli_json_text("backend", description.choice);
    cli_json_end();
}

int stream_report(struct stream_job *job)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;

    if (vyre_stream_query(job->stream, &report, &err) != VYRE_OK)
        return cli_fail("cannot ask the stream for its report", &err);
    cli_progress(NULL);
    if (job->args->json) json_report(job, &report);
    if (job->args->json || job->args->quiet) return CLI_EXIT_DONE;
    cli_flush(); /* what was printed stands before it on a terminal */
    tell_files(job, &report);
    tell_ways(&report);
    tell_input(&report, job->args->verbose);
    if (job->args->verbose) tell_rest(job, &report);
    return CLI_EXIT_DONE;
}
