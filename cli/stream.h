/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre stream` share: the program with the part that each of its buffers has,
 * the stream, and what has been counted on the way.
 */
#ifndef VYRE_CLI_STREAM_H
#define VYRE_CLI_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "kernel.h"

/** What the result of a chunk is. */
enum stream_kind {
    STREAM_EACH,   /**< as long as it was declared, one for each chunk */
    STREAM_LONG,   /**< as long as the chunk */
    STREAM_CARRIED /**< goes from chunk to chunk */
};

struct stream_count {
    uint64_t ended;   /**< chunks that were handed out */
    uint64_t failed;  /**< files */
    uint64_t faulted; /**< runs, with those that were lost */
    uint64_t lost;    /**< runs whose device died */
    uint64_t cut;     /**< chunks that end within a record */
    uint64_t parts;   /**< files that end within a record of --record */
    uint64_t ragged;  /**< chunks whose last bytes fill no element */
    uint64_t outside; /**< accesses out of bounds */
    uint64_t unshown; /**< bytes of results that fill no value of --as */
    uint64_t untold;  /**< runs that faulted after enough had been told */
};

struct stream_job {
    const struct cli_args *args;
    const char *program_path;
    struct kernel kernel;
    const vyre_kernel_buffer_info *input;  /**< receives the chunk */
    const vyre_kernel_buffer_info *result; /**< is filled by the program */
    enum stream_kind kind;
    uint32_t form; /**< enum cli_form, but never AUTO */
    uint32_t scalars[VYRE_RUN_MAX_SCALARS];
    uint32_t scalar_count;
    int output;  /**< of -o; -1: none */
    int cleared; /**< it holds nothing any more of what it held */
    int by_ring; /**< the stream writes the results itself */

    vyre *runtime;
    vyre_program *program;
    vyre_stream *stream;
    pthread_t feeder; /**< adds the files; there is a limit on how many may wait */
    int feeding;      /**< it was started */
    vyre_error feed_error;
    unsigned char *carried; /**< the last value, of STREAM_CARRIED */
    size_t carried_bytes;

    struct stream_count count;
    uint64_t total_bytes;     /**< of all files; 0: not known */
    uint64_t carried_written; /**< bytes of it */
    int whole;                /**< the stream has come to its end */
    uint64_t start_ns, end_ns, shown_ns;
    uint64_t start_cpu_ns, end_cpu_ns; /**< of this process */
};

/** Nanoseconds on the monotonic clock. */
uint64_t stream_now_ns(void);

/* Each returns CLI_EXIT_DONE, or an exit code after a complaint.
 * ------------------------------------------------------------------------------------------- */

/** Looks at the options alone, before anything is read (stream_shape.c). */
int stream_check_options(const struct cli_args *args);

/** Finds the parts of the program's buffers and its scalar parameters (stream_shape.c). */
int stream_find_shape(struct stream_job *job);

/** Refuses -o, or a standard output, that is one of the files that are read (stream_files.c). */
int stream_check_output(const struct stream_job *job);

/** Opens -o and leaves in it what it holds (stream_files.c). */
int stream_open_output(struct stream_job *job);

/** Empties -o, if there is something to read: called when all else is ready (stream_files.c). */
int stream_clear_output(struct stream_job *job);

/** Writes a carried result to -o, and closes it (stream_files.c). */
int stream_close_output(struct stream_job *job);

/** Adds up the lengths of the files, for the progress line, as far as they are known
 * (stream_files.c). */
void stream_measure(struct stream_job *job);

/** The thread that adds the files; `ctx` is the job (stream_files.c). */
void *stream_feed(void *ctx);

/** Shows one chunk with its result (stream_show.c). */
int stream_show(struct stream_job *job, const vyre_chunk *chunk);

/** Shows what a carried result holds in the end (stream_show.c). */
int stream_show_carried(struct stream_job *job);

/** Tells of a file that could not be read, and of a run that faulted (stream_tell.c). */
void stream_tell_failure(struct stream_job *job, const vyre_chunk *chunk);
void stream_tell_skipped(struct stream_job *job, const vyre_chunk *chunk);
void stream_tell_fault(struct stream_job *job, const vyre_chunk *chunk);

/** Counts what is odd about a chunk, and tells of a file that changed its length (stream_tell.c).
 */
void stream_tell_change(struct stream_job *job, const vyre_chunk *chunk);

/** Tells what was counted: cut records, accesses out of bounds (stream_tell.c). */
void stream_tell_counts(struct stream_job *job);

/** What the ring uses, and a way that bytes take, in words (stream_report.c). */
const char *stream_ring_text(uint32_t ring, char text[160]);
const char *stream_path_text(uint32_t path);

/** The progress line (stream_report.c). */
void stream_progress(struct stream_job *job);

/** The report at the end (stream_report.c). */
int stream_report(struct stream_job *job);

/* Text (stream_value.c).
 * ------------------------------------------------------------------------------------------- */

/** Bytes of one printed value. */
uint32_t stream_value_bytes(const struct stream_job *job);

/** One value as text; returns `text`. */
const char *stream_value_text(const struct stream_job *job, const void *value, char text[48]);

/** All values, as an array of JSON. */
void stream_value_json(const struct stream_job *job, const void *values, uint64_t bytes);

/** Writes a name with backslash escapes for control characters, the backslash itself and whatever
 * is not UTF-8: one line, without tabs. */
void stream_put_name(FILE *stream, const char *name);

/** The same into `text`, for a complaint; cut where there is no room. Returns `text`. */
const char *stream_name_text(const char *name, char *text, size_t room);

/** The members `path` and, where that does not hold it, `path_bytes`: its bytes in hexadecimal. */
void stream_json_name(const char *name);

#endif
