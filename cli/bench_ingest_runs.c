/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The streams of `vyre bench ingest`: each chunk goes through a program that adds up its 32-bit
 * words, and the sum of the sums must be that of the file. The clock runs from the first name that
 * is added until the last chunk is given back; opening the stream is before it, as the set-up of
 * the peers is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bench_ingest.h"

#define STUCK_NS 60000000000ull

static struct ingest_state *state_of(struct bench *bench)
{
    return bench->state;
}

/* What came out of a stream. */
struct gathered {
    uint64_t bytes;
    uint64_t files; /* that ended */
    uint32_t sum;
};

static int open_stream(struct bench *bench, uint32_t flags, vyre_stream **stream)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_error err;

    options.flags = flags;
    options.chunk_bytes = (uint32_t)bench->args->chunk;
    options.depth = bench->args->depth;
    /* A tree takes what suits the machine; the large file as many threads as its peer has. */
    if ((flags & VYRE_STREAM_RECURSE) == 0) options.threads = state_of(bench)->read_threads;
    options.program = state_of(bench)->program;
    if (vyre_stream_open(state_of(bench)->runtime, &options, stream, &err) != VYRE_OK)
        return cli_fail("cannot open a stream", &err);
    return 0;
}

static int add_paths(vyre_stream *stream, const char *path, uint32_t times)
{
    vyre_error err;

    for (uint32_t i = 0; i < times; i++)
        if (vyre_stream_add_path(stream, path, &err) != VYRE_OK)
            return cli_fail("cannot add a file to a stream", &err);
    return 0;
}

static int check_chunk(const vyre_chunk *chunk)
{
    char message[200];

    if ((chunk->flags & VYRE_CHUNK_SKIPPED) != 0) return 0;
    if (chunk->status != VYRE_OK) {
        snprintf(message, sizeof message, "a stream could not read `%.80s`: %s", chunk->path,
                 chunk->error != 0 ? strerror(chunk->error) : vyre_status_text(chunk->status));
        return bench_wrong(message);
    }
    if (chunk->length > 0 && chunk->completion.outcome != VYRE_DONE)
        return bench_wrong("a run over a chunk did not end as done");
    return 0;
}

static void gather(struct gathered *gathered, const vyre_chunk *chunk)
{
    const uint32_t *parts = chunk->result;

    for (uint64_t i = 0; parts != NULL && i < chunk->result_bytes / sizeof *parts; i++)
        gathered->sum += parts[i];
    if (chunk->piece_count > 0) {
        for (uint32_t i = 0; i < chunk->piece_count; i++)
            gathered->bytes += chunk->pieces[i].length;
        gathered->files += chunk->piece_count;
        return;
    }
    gathered->bytes += chunk->length;
    gathered->files += (chunk->flags & VYRE_CHUNK_LAST) != 0;
}

/* Takes chunks until so many files have ended; 0: until the stream has. */
static int take_chunks(vyre_stream *stream, uint64_t files, struct gathered *gathered)
{
    vyre_error err;

    while (files == 0 || gathered->files < files) {
        vyre_chunk *chunk = NULL;
        if (vyre_stream_next(stream, STUCK_NS, &chunk, &err) != VYRE_OK)
            return cli_fail("a stream did not go on", &err);
        if (chunk == NULL) return files == 0 ? 0 : bench_wrong("a stream ended before its files");
        int code = check_chunk(chunk);
        gather(gathered, chunk);
        vyre_stream_release(stream, chunk);
        if (code != 0) return code;
    }
    return 0;
}

/* What is read, and what that must come to. */
struct expected {
    uint32_t flags; /* enum vyre_stream_flag */
    const char *path;
    uint32_t times;
    uint64_t bytes;
    uint32_t sum;
};

static int run(vyre_stream *stream, const struct expected *expected, struct ingest_rate *rate)
{
    struct gathered gathered = {0, 0, 0};
    uint64_t begin_cpu_ns = bench_process_cpu_ns();
    uint64_t begin_ns = bench_clock_ns();

    int code = add_paths(stream, expected->path, expected->times);
    if (code == 0) vyre_stream_end(stream, NULL);
    if (code == 0) code = take_chunks(stream, 0, &gathered);
    rate->ns = bench_clock_ns() - begin_ns;
    rate->cpu_ns = bench_process_cpu_ns() - begin_cpu_ns;
    rate->bytes = gathered.bytes;
    if (code != 0) return code;
    if (gathered.bytes != expected->bytes || gathered.sum != expected->sum)
        return bench_wrong("a stream did not read what was written");
    return 0;
}

static int measure(struct bench *bench, const struct expected *expected, struct ingest_rate *rate,
                   vyre_stream_report *report)
{
    vyre_stream *stream = NULL;

    ingest_place(bench);
    int code = open_stream(bench, expected->flags, &stream);
    if (code == 0) code = run(stream, expected, rate);
    if (code == 0) vyre_stream_query(stream, report, NULL);
    vyre_stream_close(stream);
    bench_unpin(&bench->cpus);
    return code;
}

/* Where a stream falls back to the page cache the figure would be about something else. */
int ingest_can_direct(struct bench *bench, uint32_t line)
{
    const struct ingest_files *files = &state_of(bench)->files;
    char note[128];
    int fd = open(files->large, O_RDONLY | O_DIRECT | O_CLOEXEC);

    if (fd >= 0) close(fd);
    if (fd >= 0 && !ingest_is_memory(files->root)) return 1;
    snprintf(note, sizeof note, "skipped: no O_DIRECT in `%.60s`%s%s; use --dir", files->root,
             fd < 0 ? ": " : ", which is memory", fd < 0 ? strerror(errno) : "");
    bench_note(bench, line, note);
    return 0;
}

int bench_step_ingest_file(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    int direct = line == INGEST_DIRECT;
    double *last = direct ? &state->direct_rate : &state->cached_rate;
    struct ingest_rate rate = {0, 0, 0};
    char note[128];

    int code = ingest_make_large(bench);
    if (code == 0) code = ingest_open(bench, INGEST_APART);
    if (code != 0) return code;
    if (direct && !ingest_can_direct(bench, line)) return 0;
    if (!direct && state->gpu != (line == INGEST_GPU)) return 0;
    uint32_t passes = ingest_passes(bench, last);
    if (!direct) ingest_warm(bench);
    struct expected expected = {direct ? VYRE_STREAM_DIRECT : 0, state->files.large, passes,
                                passes * state->files.large_bytes, passes * state->files.large_sum};
    code = measure(bench, &expected, &rate, &report);
    if (code != 0) return code;
    *last = (double)rate.bytes / (double)rate.ns;
    uint64_t wanted = report.way[direct ? VYRE_PATH_DIRECT : VYRE_PATH_CACHE].bytes;
    if (wanted < rate.bytes) {
        snprintf(note, sizeof note, "only %.0f %% of the bytes came %s",
                 100.0 * (double)wanted / (double)rate.bytes,
                 direct ? "by O_DIRECT" : "from the page cache");
        bench_note(bench, line, note);
    }
    ingest_add_rate(bench, line, rate);
    return 0;
}

int bench_step_ingest_tree(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    uint32_t merge = line == INGEST_MERGED ? VYRE_STREAM_MERGE : 0;
    struct ingest_rate rate = {0, 0, 0};
    char note[128];

    int code = ingest_make_tree(bench);
    if (code == 0) code = ingest_open(bench, INGEST_FREE);
    if (code != 0) return code;
    struct expected expected = {VYRE_STREAM_RECURSE | merge, state->files.tree, 1,
                                (uint64_t)state->files.tree_files * INGEST_FILE_BYTES,
                                state->files.tree_sum};
    code = measure(bench, &expected, &rate, &report);
    if (code != 0) return code;
    if (report.files_read != state->files.tree_files)
        return bench_wrong("a stream did not find all files of the tree");
    snprintf(note, sizeof note, "%u files, %u threads of the stream, %u worker%s, %llu slots",
             state->files.tree_files, report.threads, bench->workers,
             bench->workers == 1 ? "" : "s", (unsigned long long)report.chunks);
    bench_note(bench, line, note);
    ingest_add_rate(bench, line, rate);
    return 0;
}

/* One stream, everything twice; what the second time asks the allocator for. */
int bench_step_ingest_steady(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    struct gathered gathered = {0, 0, 0};
    uint64_t before = 0;
    vyre_stream *stream = NULL;

    int code = ingest_make_large(bench);
    if (code == 0) code = ingest_make_tree(bench);
    if (code == 0) code = ingest_open(bench, INGEST_FREE);
    if (code == 0) code = open_stream(bench, VYRE_STREAM_RECURSE, &stream);
    for (uint32_t pass = 1; pass <= 2 && code == 0; pass++) {
        before = atomic_load(&state->allocations.count);
        code = add_paths(stream, state->files.large, 1);
        if (code == 0) code = add_paths(stream, state->files.tree, 1);
        if (code == 0)
            code = take_chunks(stream, (uint64_t)pass * (state->files.tree_files + 1), &gathered);
    }
    uint64_t after = atomic_load(&state->allocations.count);
    vyre_stream_close(stream);
    if (code == 0 && gathered.sum != 2 * (state->files.large_sum + state->files.tree_sum))
        code = bench_wrong("a stream did not read what was written");
    if (code == 0) bench_add(bench, line, (double)(after - before));
    return code;
}
