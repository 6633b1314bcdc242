/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The last chapter of `vyre demo`: real files, read ahead into chunks that the device sees, each
 * run over by a program of the kernel language. One result is carried from chunk to chunk, one is
 * there for each file, one is written to another file; each is compared with what a plain loop
 * finds. At the end stands which ways the bytes took.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo_stream.h"
#include "stream.h"

enum { TRIPS = 200 };

static const char lines_source[] = "const u32 LANES = 1024;\n"
                                   "const u32 PART = 16 * LANES;\n"
                                   "@workgroup(LANES)\n"
                                   "kernel lines(in u8 text[], inout u32 lines[1])\n"
                                   "{\n"
                                   "    if (group_id.x >= (len(text) + PART - 1) / PART) return;\n"
                                   "    u32 found = 0;\n"
                                   "    for (u32 k = 0; k < PART / LANES; k++) {\n"
                                   "        u32 at = group_id.x * PART + k * LANES + local_index;\n"
                                   "        if (at < len(text)) found += u32(text[at] == 10);\n"
                                   "    }\n"
                                   "    u32 sum = subgroup_add(found);\n"
                                   "    if (subgroup_lane() == 0) atomic_add(lines[0], sum);\n"
                                   "}\n";

static const char sums_source[] =
    "const u32 LANES = 64;\n"
    "@workgroup(LANES)\n"
    "kernel sums(in u8 bytes[], out u32 parts[LANES])\n"
    "{\n"
    "    u32 sum = 0;\n"
    "    for (u32 k = 0; k < (len(bytes) + LANES - 1) / LANES; k++) {\n"
    "        u32 at = k * LANES + local_index;\n"
    "        if (at < len(bytes)) sum += bytes[at];\n"
    "    }\n"
    "    parts[local_index] = sum;\n"
    "}\n";

static const char upper_source[] = "@workgroup(1024) @guard(loud)\n"
                                   "kernel upper(in u8 text[], out u8 loud[])\n"
                                   "{\n"
                                   "    u32 byte = text[i];\n"
                                   "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                                   "}\n";

struct act {
    struct tour_files files;
    vyre_stream_report sum; /* of all streams */
    vyre_stream *stream;    /* the one that is open, or NULL */
    vyre_program *program;
};

/* What came out of a stream. */
struct harvest {
    uint32_t carried; /* the last value */
    uint32_t files;   /* that ended well */
    uint32_t right;   /* whose sum is that of a plain loop */
    uint32_t failed;
    int32_t error; /* errno of one that failed */
    uint32_t faulted;
};

static int open_stream(struct tour *tour, struct act *act, const char *source,
                       vyre_stream_options options)
{
    TOUR_TRY(tour,
             vyre_program_compile(tour->runtime, source, strlen(source), NULL, NULL, &act->program,
                                  &tour->err),
             "cannot compile a kernel");
    options.program = act->program;
    TOUR_TRY(tour, vyre_stream_open(tour->runtime, &options, &act->stream, &tour->err),
             "cannot open a stream");
    return CLI_EXIT_DONE;
}

static void add_report(struct act *act, const vyre_stream_report *report)
{
    act->sum.io = report->io;
    act->sum.ring = report->ring;
    act->sum.bytes += report->bytes;
    act->sum.chunks += report->chunks;
    act->sum.bytes_written += report->bytes_written;
    for (uint32_t i = 0; i < VYRE_PATHS; i++) {
        act->sum.way[i].bytes += report->way[i].bytes;
        act->sum.way[i].operations += report->way[i].operations;
    }
    snprintf(act->sum.choice, sizeof act->sum.choice, "%s", report->choice);
}

/* Takes what the stream did into the account, and closes it. */
static void close_stream(struct tour *tour, struct act *act)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;

    if (act->stream != NULL && vyre_stream_query(act->stream, &report, NULL) == VYRE_OK) {
        add_report(act, &report);
        tour->now.done += report.chunks - report.faulted;
        tour->now.faulted += report.faulted;
    }
    vyre_stream_close(act->stream);
    vyre_program_unload(act->program, NULL);
    act->stream = NULL;
    act->program = NULL;
}

static int add_path(struct tour *tour, struct act *act, const char *path)
{
    TOUR_TRY(tour, vyre_stream_add_path(act->stream, path, &tour->err), "cannot add a file");
    return CLI_EXIT_DONE;
}

static void look_at(const struct act *act, const vyre_chunk *chunk, struct harvest *harvest)
{
    const uint32_t *words = chunk->result;
    const char *name = strrchr(chunk->path, '/');
    uint32_t sum = 0;

    if (chunk->status != VYRE_OK) {
        harvest->failed++;
        harvest->error = chunk->error;
        return;
    }
    harvest->files += (chunk->flags & VYRE_CHUNK_LAST) != 0;
    harvest->faulted += chunk->completion.outcome != VYRE_DONE && chunk->length > 0;
    if (words == NULL || chunk->result_bytes < sizeof *words) return;
    harvest->carried = words[0];
    for (uint64_t i = 0; i < chunk->result_bytes / sizeof *words; i++)
        sum += words[i];
    unsigned long number = name == NULL ? TOUR_FILES : strtoul(name + 1, NULL, 10);
    if (number < TOUR_FILES && sum == act->files.sums[number]) harvest->right++;
}

/* All chunks to the end of the stream. */
static int reap(struct tour *tour, struct act *act, struct harvest *harvest)
{
    vyre_chunk *chunk = NULL;

    TOUR_TRY(tour, vyre_stream_end(act->stream, &tour->err), "cannot end a stream");
    for (;;) {
        TOUR_TRY(tour, vyre_stream_next(act->stream, TOUR_TIMEOUT_NS, &chunk, &tour->err),
                 "a stream does not go on");
        if (chunk == NULL) return CLI_EXIT_DONE;
        look_at(act, chunk, harvest);
        vyre_stream_release(act->stream, chunk);
    }
}

/* One result for all files: it goes from chunk to chunk. */
static int count_lines(struct tour *tour, struct act *act)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    const struct tour_files *files = &act->files;
    struct harvest harvest = {0};
    uint64_t bytes = files->large_bytes + files->tree_bytes + files->self_bytes;
    char size[32], rate[32];

    options.flags = VYRE_STREAM_RECURSE;
    TOUR_STEP(open_stream(tour, act, lines_source, options));
    uint64_t start_ns = tour_now_ns();
    TOUR_STEP(add_path(tour, act, files->large));
    TOUR_STEP(add_path(tour, act, files->tree));
    if (files->self[0] != '\0') TOUR_STEP(add_path(tour, act, files->self));
    TOUR_STEP(reap(tour, act, &harvest));
    double per_second = (double)bytes * 1e9 / (double)(tour_now_ns() - start_ns);
    tour_number(tour, "bytes", (double)bytes);
    tour_number(tour, "bytes_per_second", per_second);
    tour_fact(tour, "files", "%s, %u small ones%s: %s at %sB/s",
              files->large == tour->args->file ? "the file" : "a text", TOUR_FILES,
              files->self[0] != '\0' ? ", this command" : "",
              cli_format_bytes((double)bytes, size, sizeof size),
              cli_format_rate(per_second, rate, sizeof rate));
    tour_check(tour, "lines", harvest.carried == (uint32_t)files->lines && harvest.failed == 0,
               "%u, carried over all chunks; a plain loop counts %llu", harvest.carried,
               (unsigned long long)files->lines);
    close_stream(tour, act);
    return CLI_EXIT_DONE;
}

/* A result for each file, and a file that is not there. */
static int sum_files(struct tour *tour, struct act *act)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    struct harvest harvest = {0};
    char missing[PATH_MAX + 16], rate[32];

    options.flags = VYRE_STREAM_RECURSE;
    TOUR_STEP(open_stream(tour, act, sums_source, options));
    snprintf(missing, sizeof missing, "%s/missing", act->files.root);
    uint64_t start_ns = tour_now_ns();
    TOUR_STEP(add_path(tour, act, missing));
    TOUR_STEP(add_path(tour, act, act->files.tree));
    TOUR_STEP(reap(tour, act, &harvest));
    double per_second = (double)harvest.files * 1e9 / (double)(tour_now_ns() - start_ns);
    tour_number(tour, "files_per_second", per_second);
    tour_check(tour, "each file", harvest.right == TOUR_FILES && harvest.faulted == 0,
               "%u of %u sums as by a plain loop; %s files/s", harvest.right, TOUR_FILES,
               cli_format_si(per_second, rate, sizeof rate));
    tour_check(tour, "a missing file", harvest.failed == 1 && harvest.error == ENOENT,
               "told: %s; the others are read", strerror(harvest.error));
    close_stream(tour, act);
    return CLI_EXIT_DONE;
}

/* A file in, another one out. */
static int write_loud(struct tour *tour, struct act *act, int fd)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    struct harvest harvest = {0};
    uint64_t bytes = 0;
    char rate[32];

    options.output = fd;
    TOUR_STEP(open_stream(tour, act, upper_source, options));
    uint64_t start_ns = tour_now_ns();
    TOUR_STEP(add_path(tour, act, act->files.large));
    TOUR_STEP(reap(tour, act, &harvest));
    double seconds = (double)(tour_now_ns() - start_ns) / 1e9;
    close_stream(tour, act);
    int same = tour_files_compare(&act->files, &bytes);
    double per_second = (double)act->files.large_bytes / seconds;
    tour_number(tour, "bytes_per_second", per_second);
    tour_check(tour, "in capitals", same && harvest.failed == 0,
               "%llu bytes into another file, in their order; %sB/s", (unsigned long long)bytes,
               cli_format_rate(per_second, rate, sizeof rate));
    return CLI_EXIT_DONE;
}

static int shout(struct tour *tour, struct act *act)
{
    int fd = open(act->files.loud, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0) {
        cli_complain("cannot make a file", act->files.loud, NULL);
        return CLI_EXIT_IO;
    }
    int code = write_loud(tour, act, fd);
    close_stream(tour, act); /* before its descriptor */
    close(fd);
    return code;
}

/* From a name to its result, one small file at a time. */
static int time_trips(struct tour *tour, struct act *act)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    uint32_t times[TRIPS];
    char path[PATH_MAX];
    vyre_chunk *chunk = NULL;

    TOUR_STEP(open_stream(tour, act, sums_source, options));
    for (uint32_t i = 0; i < TRIPS; i++) {
        snprintf(path, sizeof path, "%s/%04u", act->files.tree, (unsigned)i);
        uint64_t start_ns = tour_now_ns();
        TOUR_STEP(add_path(tour, act, path));
        TOUR_TRY(tour, vyre_stream_next(act->stream, TOUR_TIMEOUT_NS, &chunk, &tour->err),
                 "a stream does not go on");
        uint64_t took_ns = tour_now_ns() - start_ns;
        times[i] = took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
        vyre_stream_release(act->stream, chunk);
    }
    tour_times(tour, "name to result", times, TRIPS);
    close_stream(tour, act);
    return CLI_EXIT_DONE;
}

static void tell_ways(struct tour *tour, const struct act *act)
{
    char size[32], ring[160];

    for (uint32_t i = 0; i < VYRE_PATHS; i++) {
        const vyre_stream_way *way = &act->sum.way[i];
        if (way->operations == 0) continue;
        tour_number(tour, "bytes", (double)way->bytes);
        tour_number(tour, "operations", (double)way->operations);
        tour_fact(tour, vyre_stream_path_name(i), "%s: %s in %llu operation%s", stream_path_text(i),
                  cli_format_bytes((double)way->bytes, size, sizeof size),
                  (unsigned long long)way->operations, way->operations == 1 ? "" : "s");
    }
    if (act->sum.io == VYRE_STREAM_IO_PREAD)
        tour_fact(tour, "by", "%.180s", act->sum.choice);
    else
        tour_fact(tour, "by", "io_uring: %s", stream_ring_text(act->sum.ring, ring));
}

static int act_all(struct tour *tour, struct act *act)
{
    TOUR_STEP(tour_files_make(tour, &act->files));
    TOUR_STEP(count_lines(tour, act));
    TOUR_STEP(sum_files(tour, act));
    TOUR_STEP(shout(tour, act));
    TOUR_STEP(time_trips(tour, act));
    tell_ways(tour, act);
    return CLI_EXIT_DONE;
}

int tour_streams(struct tour *tour)
{
    struct act *act = calloc(1, sizeof *act);

    if (act == NULL) {
        cli_complain("no memory for the chapter on files", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    int code = act_all(tour, act);
    close_stream(tour, act);
    tour_files_remove(&act->files);
    free(act);
    return code;
}
