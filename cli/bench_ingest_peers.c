/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What `vyre bench ingest` is measured against: fio for the disk, a loop of pread for the page
 * cache, cat and ripgrep for a tree. Programs that are not installed leave their line empty, with a
 * note that says how to get them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_device.h"
#include "bench_ingest.h"
#include "pread_loop.h"

#define MISSING(name) name " is not installed: `apt install " name "`"

static struct ingest_state *state_of(struct bench *bench)
{
    return bench->state;
}

/* fio.
 * ------------------------------------------------------------------------------------------- */

/* Field `idx` of a line of fio's terse format. */
static const char *field(const char *line, int idx)
{
    for (; idx > 0 && line != NULL; idx--) {
        line = strchr(line, ';');
        if (line != NULL) line++;
    }
    return line;
}

int ingest_fio_parse(const char *text, struct ingest_fio *result)
{
    enum { KIB = 5, PER_SECOND = 7, MS = 8, P50 = 23, P99 = 29, USER = 87, SYSTEM = 88 };
    const char *last = field(text, SYSTEM);

    memset(result, 0, sizeof *result);
    if (strncmp(text, "3;", 2) != 0 || last == NULL) return -1;
    result->bytes = strtoull(field(text, KIB), NULL, 10) * 1024;
    result->per_second = strtod(field(text, PER_SECOND), NULL);
    result->ns = strtoull(field(text, MS), NULL, 10) * 1000000u;
    double percent = strtod(field(text, USER), NULL) + strtod(last, NULL);
    result->cpu_ns = (uint64_t)(percent / 100 * (double)result->ns);
    const char *p50 = strchr(field(text, P50), '='), *p99 = strchr(field(text, P99), '=');
    if (p50 == NULL || p99 == NULL || result->ns == 0) return -1;
    result->p50_us = strtod(p50 + 1, NULL);
    result->p99_us = strtod(p99 + 1, NULL);
    return 0;
}

int ingest_fio_run(const char *const *argv, struct ingest_fio *result, char note[128])
{
    char text[8192];
    struct ingest_child child = {.argv = argv, .text = text, .room = sizeof text};

    if (!ingest_child_exists("fio")) {
        snprintf(note, 128, "%s", MISSING("fio"));
        return -1;
    }
    if (ingest_child_run(&child) != 0) {
        snprintf(note, 128, "fio could not be started");
        return -1;
    }
    if (child.status != 0 || ingest_fio_parse(text, result) != 0) {
        snprintf(note, 128, "fio failed with exit code %d", child.status);
        return -1;
    }
    return 0;
}

int bench_step_ingest_fio(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    struct ingest_fio result;
    char file[PATH_MAX], block[48], depth[48], loops[48], note[128];
    const char *const argv[] = {"fio",
                                "--name=vyre",
                                file,
                                "--rw=read",
                                block,
                                depth,
                                loops,
                                "--direct=1",
                                "--invalidate=0", /* else the page cache is empty afterwards */
                                "--thread",
                                "--ioengine=io_uring",
                                "--output-format=terse",
                                "--terse-version=3",
                                NULL};

    int code = ingest_make_large(bench);
    if (code != 0) return code;
    if (!ingest_can_direct(bench, line)) return 0;
    snprintf(file, sizeof file, "--filename=%s", state->files.large);
    snprintf(block, sizeof block, "--bs=%llu", (unsigned long long)bench->args->chunk);
    snprintf(depth, sizeof depth, "--iodepth=%u", bench->args->depth);
    snprintf(loops, sizeof loops, "--loops=%u", ingest_passes(bench, &state->direct_rate));
    if (ingest_fio_run(argv, &result, note) != 0) {
        bench_note(bench, line, note);
        return 0;
    }
    ingest_add_rate(bench, line, (struct ingest_rate){result.bytes, result.ns, result.cpu_ns});
    return 0;
}

/* pread.
 * ------------------------------------------------------------------------------------------- */

void ingest_warm(struct bench *bench)
{
    struct ingest_state *state = state_of(bench);
    struct pread_wish wish = {.path = state->files.large,
                              .bytes = state->files.large_bytes,
                              .passes = 1,
                              .threads = 1,
                              .block = 1 << 20,
                              .bare = 1};
    struct pread_rate rate;

    peer_pread_loop(&wish, &rate);
}

int bench_step_ingest_pread(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    struct pread_rate rate;
    char note[128];

    int code = ingest_make_large(bench);
    if (code != 0) return code;
    struct pread_wish wish = {.path = state->files.large,
                              .bytes = state->files.large_bytes,
                              .passes = ingest_passes(bench, &state->cached_rate),
                              .threads = state->read_threads,
                              .block = (size_t)bench->args->chunk,
                              .bare = line == INGEST_PREAD_BARE};
    if (wish.bare && !state->gpu) return 0;
    if (line == INGEST_PREAD_ALL) wish.threads += state->gpu ? 1 : bench->workers;
    ingest_warm(bench);
    peer_pread_loop(&wish, &rate);
    if (rate.error != 0) {
        snprintf(note, sizeof note, "a read failed: %s", strerror(rate.error));
        bench_note(bench, line, note);
        return 0;
    }
    if (rate.bytes != wish.bytes * wish.passes ||
        (!wish.bare && rate.sum != state->files.large_sum * wish.passes))
        return bench_wrong("the loop of pread did not read what was written");
    snprintf(note, sizeof note, "%u thread%s, blocks of a chunk's size", wish.threads,
             wish.threads == 1 ? "" : "s");
    bench_note(bench, line, note);
    ingest_add_rate(bench, line, (struct ingest_rate){rate.bytes, rate.elapsed_ns, rate.cpu_ns});
    return 0;
}

/* cuFile, by a program of its own: it must not share the GPU with a resident kernel. */
int bench_step_ingest_cufile(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    char seconds[32];
    const char *const options[] = {"--cufile", state->files.large, "--seconds", seconds, NULL};

    if (!state->gpu) return 0;
    int code = ingest_make_large(bench);
    if (code != 0) return code;
    ingest_close(bench);
    snprintf(seconds, sizeof seconds, "%.3f", (double)bench->slice_ns / 1e9);
    bench_peers_measure(bench, options, line);
    return 0;
}

/* Programs that read the tree.
 * ------------------------------------------------------------------------------------------- */

static int add_child(struct bench *bench, uint32_t line, struct ingest_child *child, int expected)
{
    uint64_t bytes = (uint64_t)state_of(bench)->files.tree_files * INGEST_FILE_BYTES;
    char note[128];

    if (ingest_child_run(child) != 0 || child->status != expected) {
        snprintf(note, sizeof note, "%s failed with exit code %d", child->argv[0], child->status);
        bench_note(bench, line, note);
        return 0;
    }
    ingest_add_rate(bench, line, (struct ingest_rate){bytes, child->ns, child->cpu_ns});
    return 0;
}

/* xargs hands the names on and starts cat anew for each couple of thousand of them. What cat reads
 * goes to /dev/null, which costs nothing: every byte is copied once and looked at by nobody. */
int bench_step_ingest_cat(struct bench *bench, uint32_t line)
{
    static const char *const argv[] = {"xargs", "-0", "cat", NULL};
    struct ingest_child child = {.argv = argv};

    int code = ingest_make_tree(bench);
    if (code != 0) return code;
    child.input = state_of(bench)->files.list;
    if (!ingest_child_exists("xargs") || !ingest_child_exists("cat")) {
        bench_note(bench, line, "xargs or cat is not installed: `apt install findutils coreutils`");
        return 0;
    }
    return add_child(bench, line, &child, 0);
}

int bench_step_ingest_rg(struct bench *bench, uint32_t line)
{
    struct ingest_state *state = state_of(bench);
    char threads[16], note[128];
    const char *const argv[] = {
        "rg",        "--no-config",     "-uuu", "--threads", threads, "--fixed-strings", "--regexp",
        "VYRE-0123", state->files.tree, NULL};
    struct ingest_child child = {.argv = argv};
    enum { NOT_FOUND = 1 };

    int code = ingest_make_tree(bench);
    if (code != 0) return code;
    if (!ingest_child_exists("rg")) {
        bench_note(bench, line, MISSING("ripgrep"));
        return 0;
    }
    snprintf(threads, sizeof threads, "%u", state->tree_threads);
    snprintf(note, sizeof note, "%s threads", threads);
    bench_note(bench, line, note);
    return add_child(bench, line, &child, NOT_FOUND);
}
