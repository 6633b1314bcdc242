/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench ingest`: how fast files come in, beside programs that read the same. Its table, and
 * what its lines share. The exit code is 1 only when something came out wrong: a byte lost or
 * doubled, a run that did not end as done. Called by main.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "bench_ingest.h"

#define BENCH_ROWS         "bench_ingest_lines.def"
#define BENCH_ROW_LINE(id) INGEST_##id
#include "bench_rows.h"

enum { MOST_PASSES = 64, TMPFS_TYPE = 0x01021994, ROUNDS = 5 };

/* Adds up the words of a chunk: on a CPU one workgroup and one worker a chunk, on a GPU many. */
static const char source_cpu[] = "const u32 LANES = 512;\n"
                                 "@workgroup(LANES)\n"
                                 "kernel total(in u32 words[], out u32 parts[LANES])\n"
                                 "{\n"
                                 "    u32 sum = 0;\n"
                                 "    for (u32 k = 0; k < len(words) / LANES; k++)\n"
                                 "        sum += words[k * LANES + local_index];\n"
                                 "    const u32 at = len(words) / LANES * LANES + local_index;\n"
                                 "    if (at < len(words)) sum += words[at];\n"
                                 "    parts[local_index] = sum;\n"
                                 "}\n";
static const char source_gpu[] = "const u32 PARTS = 16384;\n"
                                 "@workgroup(256)\n"
                                 "kernel total(in u32 words[], out u32 parts[PARTS])\n"
                                 "{\n"
                                 "    u32 sum = 0;\n"
                                 "    for (u32 k = 0; k < len(words) / PARTS; k++)\n"
                                 "        sum += words[k * PARTS + i];\n"
                                 "    const u32 at = len(words) / PARTS * PARTS + i;\n"
                                 "    if (at < len(words)) sum += words[at];\n"
                                 "    parts[i] = sum;\n"
                                 "}\n";

/* The allocator that counts.
 * ------------------------------------------------------------------------------------------- */

static void *counted_alloc(void *ctx, size_t size, size_t align)
{
    struct ingest_allocations *allocations = ctx;
    size_t least = align < sizeof(void *) ? sizeof(void *) : align;

    atomic_fetch_add(&allocations->count, 1);
    return aligned_alloc(least, (size + least - 1) / least * least);
}

static void counted_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

/* The first two CPUs that the process may use, for the one thread that reads and the one worker; -1
 * where there are fewer, or the workers are more or elsewhere. */
static int cpu_of(const struct bench *bench, int which)
{
    int found = 0;

    if (bench->cpus.count < 2 || bench->workers != 1) return -1;
    for (int cpu = 0; cpu < BENCH_MAX_CPUS; cpu++)
        if ((bench->cpus.allowed[cpu / 8] >> cpu % 8 & 1) != 0 && found++ == which) return cpu;
    return -1;
}

int ingest_open(struct bench *bench, enum ingest_placement placement)
{
    struct ingest_state *state = bench->state;
    vyre_options options = cli_runtime_options(bench->args);
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;

    if (state->runtime != NULL && state->placement != placement) ingest_close(bench);
    if (state->runtime != NULL) return 0;
    state->placement = placement;
    state->allocations.allocator =
        (vyre_allocator){counted_alloc, counted_free, NULL, NULL, &state->allocations};
    options.allocator = &state->allocations.allocator;
    if (options.workers == VYRE_DEFAULT && bench->backend != VYRE_BACKEND_CUDA)
        options.workers = bench->workers;
    /* Threads inherit the place of the one that makes them. */
    if (placement == INGEST_APART) bench_pin(cpu_of(bench, 1));
    vyre_status status = vyre_open(&state->runtime, &options, &err);
    bench_unpin(&bench->cpus);
    if (status != VYRE_OK) return cli_fail("cannot open a runtime", &err);
    if (vyre_describe(state->runtime, &description, &err) != VYRE_OK)
        return cli_fail("cannot describe the runtime", &err);
    bench->workers = description.workers;
    snprintf(bench->choice, sizeof bench->choice, "%s", description.choice);
    state->gpu = description.backend == VYRE_BACKEND_CUDA;
    const char *source = state->gpu ? source_gpu : source_cpu;
    if (vyre_program_compile(state->runtime, source, strlen(source), NULL, NULL, &state->program,
                             &err) != VYRE_OK)
        return cli_fail("cannot compile the program", &err);
    return 0;
}

void ingest_place(struct bench *bench)
{
    struct ingest_state *state = bench->state;

    if (state->placement == INGEST_APART) bench_pin(cpu_of(bench, 0));
}

void ingest_close(struct bench *bench)
{
    struct ingest_state *state = bench->state;

    vyre_close(state->runtime);
    state->runtime = NULL;
    state->program = NULL;
}

/* Figures.
 * ------------------------------------------------------------------------------------------- */

void ingest_add_rate(struct bench *bench, uint32_t line, struct ingest_rate rate)
{
    if (rate.ns == 0 || rate.bytes == 0) return;
    bench_add(bench, line, (double)rate.bytes * 1e3 / (double)rate.ns);
    bench_add(bench, line + 1, (double)rate.cpu_ns / (double)rate.bytes);
}

uint32_t ingest_passes(const struct bench *bench, const double *bytes_per_ns)
{
    const struct ingest_state *state = bench->state;
    double passes = *bytes_per_ns * (double)bench->slice_ns / (double)state->files.large_bytes;

    if (!(passes > 1)) return 1;
    return passes < MOST_PASSES ? (uint32_t)passes : MOST_PASSES;
}

int ingest_is_memory(const char *path)
{
    struct statfs system;

    return statfs(path, &system) == 0 && (unsigned long)system.f_type == TMPFS_TYPE;
}

/* The run.
 * ------------------------------------------------------------------------------------------- */

/* How many threads read: the peers get as many. */
static int begin(struct bench *bench)
{
    struct ingest_state *state = bench->state;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;

    int code = ingest_make_root(bench);
    if (code != 0) return code;
    if (vyre_stream_probe(NULL, &report, &err) != VYRE_OK)
        return cli_fail("cannot ask what io_uring offers", &err);
    uint32_t cpus = bench->cpus.count > 0 ? (uint32_t)bench->cpus.count : 1;
    state->read_threads = report.io == VYRE_STREAM_IO_PREAD ? cpus : 1;
    state->tree_threads = bench->workers + 1 < cpus ? bench->workers + 1 : cpus;
    snprintf(state->input, sizeof state->input, "%s", report.choice);
    return ingest_open(bench, INGEST_FREE);
}

static void end(struct bench *bench)
{
    ingest_close(bench);
    ingest_remove_root(bench);
}

static void print_head(const struct bench *bench)
{
    const struct ingest_state *state = bench->state;
    char chunk[32], large[32];

    printf("input:     %.*s\n", (int)strcspn(state->input, ";"), state->input);
    if (bench->workers == 1 && bench->cpus.count >= 2)
        printf("placement: of the large file, reading on CPU %d and the worker on CPU %d\n",
               cpu_of(bench, 0), cpu_of(bench, 1));
    printf("files:     one of %s, chunks of %s, depth %u; %u of 4 KiB\n",
           cli_format_bytes((double)bench->args->bytes, large, sizeof large),
           cli_format_bytes((double)bench->args->chunk, chunk, sizeof chunk), bench->args->depth,
           bench->args->files);
}

static void json_run(const struct bench *bench)
{
    const struct ingest_state *state = bench->state;

    cli_json_text("input", state->input);
    cli_json_count("chunk", bench->args->chunk);
    cli_json_count("depth", bench->args->depth);
    cli_json_count("bytes", bench->args->bytes);
    cli_json_count("files", bench->args->files);
}

static const struct bench_table table = {
    .command = "bench ingest",
    BENCH_TABLE_ROWS,
    .peer_width = 18,
    .name_width = 22,
    .rounds = ROUNDS,
    .pins_if_asked = 1,
    .not_measured =
        "Not measured: several streams at once, sockets and pipes, output, overlaps and records,\n"
        "a cold page cache, trees of other shapes. Opening a stream, and the start of fio, is not\n"
        "in the figures; the start of cat and ripgrep is. cat writes to /dev/null: it copies "
        "every\n"
        "byte once and looks at none. ripgrep looks at all of them. fio looks at none. CPU "
        "seconds\n"
        "are those of all threads of a process; for fio, what it says of its own job.",
    .begin = begin,
    .end = end,
    .print_head = print_head,
    .json_run = json_run,
};

int vyre_cli_bench_ingest(const struct cli_args *args)
{
    struct bench bench;
    struct ingest_state state;

    if (args->chunk % 4096 != 0) {
        cli_complain("--chunk takes a multiple of 4096", NULL, NULL);
        return CLI_EXIT_MISUSE;
    }
    memset(&bench, 0, sizeof bench);
    memset(&state, 0, sizeof state);
    bench.table = &table;
    bench.backend = args->backend;
    bench.state = &state;
    return bench_run(&bench, args);
}
