/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench ingest` share: the lines of bench_ingest_lines.def, the files that
 * are read, children that read them, and the steps.
 */
#ifndef VYRE_CLI_BENCH_INGEST_H
#define VYRE_CLI_BENCH_INGEST_H

#include <limits.h>
#include <stdatomic.h>

#include "bench.h"
#include "guard.h"

enum bench_ingest_line {
#define BENCH_LINE(id, name, unit, better, step) INGEST_##id,
#include "bench_ingest_lines.def"
    INGEST_LINES
};
#define INGEST_NONE BENCH_NONE

#define INGEST_FILE_BYTES 4096u /* of each file in the tree */

/* Files (bench_ingest_files.c). Everything lies in one directory that is made for it.
 * ------------------------------------------------------------------------------------------- */

struct ingest_files {
    char root[PATH_MAX - 256];
    char large[PATH_MAX - 128]; /* path of the large file */
    char tree[PATH_MAX - 128];  /* path of the tree */
    char list[PATH_MAX - 128];  /* names of its files, each ended by a zero byte */
    uint64_t large_bytes;
    uint32_t large_sum; /* of its 32-bit words */
    uint32_t tree_files;
    uint32_t tree_sum;
    struct cli_guard guard; /* removes all of it */
};

/* Makes the directory, and a guard for it: before there are threads. 0 or an exit code. */
int ingest_make_root(struct bench *bench);

/* Makes what the wanted lines need, on their first call. 0 or an exit code. */
int ingest_make_large(struct bench *bench);
int ingest_make_tree(struct bench *bench);

/* Removes the directory with all that is in it. */
void ingest_remove_root(struct bench *bench);

/* Children (bench_ingest_child.c).
 * ------------------------------------------------------------------------------------------- */

struct ingest_child {
    const char *const *argv; /* argv[0] is looked for in PATH */
    const char *input;       /* path for stdin; NULL: /dev/null */
    char *text;              /* where stdout goes, NULL: /dev/null; zero-terminated */
    size_t room;
    int status;      /* exit code; -1: ended by a signal or not started */
    uint64_t ns;     /* from the start to the end */
    uint64_t cpu_ns; /* its CPU time, and its children's */
};

/* Whether there is such a program. */
int ingest_child_exists(const char *name);

/* Runs a child to its end. 0, or -1 if it could not be started. stderr of the child is dropped. */
int ingest_child_run(struct ingest_child *child);

/* The benchmark.
 * ------------------------------------------------------------------------------------------- */

/* Counts what the library asks its allocator for. */
struct ingest_allocations {
    atomic_ullong count;
    vyre_allocator allocator;
};

/* Where threads run. One thread that reads and one worker need a CPU each: where the scheduler puts
 * both on one, it measures the scheduler. */
enum ingest_placement { INGEST_FREE, INGEST_APART };

struct ingest_state {
    struct ingest_files files;
    vyre *runtime;
    enum ingest_placement placement; /* of the runtime */
    vyre_program *program;           /* adds up the words of a chunk, in parts */
    struct ingest_allocations allocations;
    int gpu;               /* the runtime is on one */
    uint32_t read_threads; /* that read the large file */
    uint32_t tree_threads; /* that ripgrep gets */
    double direct_rate;    /* bytes a nanosecond, of the last round; 0: none yet */
    double cached_rate;
    char input[256]; /* how a stream reads, and why */
};

/* Opens a runtime of this placement and loads the program, unless it is there. 0 or an exit code.
 */
int ingest_open(struct bench *bench, enum ingest_placement placement);
void ingest_close(struct bench *bench);

/* Puts the calling thread, and threads that it makes, where a stream of the open runtime's
 * placement reads; bench_unpin ends it. */
void ingest_place(struct bench *bench);

/* Adds bytes in a time as MB/s, and the CPU time as s/GB to the line after it. */
struct ingest_rate {
    uint64_t bytes, ns, cpu_ns;
};
void ingest_add_rate(struct bench *bench, uint32_t line, struct ingest_rate rate);

/* How often the large file is read in one round, at such a rate. */
uint32_t ingest_passes(const struct bench *bench, const double *bytes_per_ns);

/* Reads the large file once, so that the page cache holds it: it may have been emptied. */
void ingest_warm(struct bench *bench);

/* Whether the large file can be read by O_DIRECT; else a note for the line says why not. */
int ingest_can_direct(struct bench *bench, uint32_t line);
int ingest_is_memory(const char *path);

/* What fio says of one run. */
struct ingest_fio {
    uint64_t bytes, ns, cpu_ns;
    double per_second;     /* requests */
    double p50_us, p99_us; /* from submission to completion */
};

/* Reads a line of fio's terse format, version 3. 0, or -1 if it is none. */
int ingest_fio_parse(const char *text, struct ingest_fio *result);

/* Runs fio, which must print that format. 0, or -1 with the reason in `note`. */
int ingest_fio_run(const char *const *argv, struct ingest_fio *result, char note[128]);

int bench_step_ingest_fio(struct bench *bench, uint32_t line);    /* bench_ingest_peers.c */
int bench_step_ingest_pread(struct bench *bench, uint32_t line);  /* bench_ingest_peers.c */
int bench_step_ingest_cat(struct bench *bench, uint32_t line);    /* bench_ingest_peers.c */
int bench_step_ingest_cufile(struct bench *bench, uint32_t line); /* bench_ingest_peers.c */
int bench_step_ingest_rg(struct bench *bench, uint32_t line);     /* bench_ingest_peers.c */
int bench_step_ingest_file(struct bench *bench, uint32_t line);   /* bench_ingest_runs.c */
int bench_step_ingest_tree(struct bench *bench, uint32_t line);   /* bench_ingest_runs.c */
int bench_step_ingest_steady(struct bench *bench, uint32_t line); /* bench_ingest_runs.c */
int bench_step_ingest_asked(struct bench *bench, uint32_t line);  /* bench_ingest_random.c */
int bench_step_ingest_fio_random(struct bench *bench, uint32_t line);

#endif
