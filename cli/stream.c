/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre stream`: a program over every chunk of files. The command line is judged first, then the
 * program, then a runtime is opened, the output and a stream; from then on chunks are shown as they
 * come. What the output held is gone only when there is something to put in its place. A file that
 * cannot be read, or a run that faults, is told and the rest goes on; what cannot be written ends
 * it.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_FRAME_BYTES = 1 << 20 };
#define LOOK_NS 100000000u

uint64_t stream_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t process_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static int no_memory(void)
{
    cli_complain("there is no memory left", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

static int prepare(struct stream_job *job)
{
    const struct cli_args *args = job->args;
    struct kernel_wish wish = {args->strict ? VYRE_KERNEL_STRICT : 0, 1, args->kernel};

    int code = stream_check_options(args);
    if (code != CLI_EXIT_DONE) return code;
    code = kernel_read(job->program_path, wish, &job->kernel);
    if (code == CLI_EXIT_NO) return kernel_complain(job->program_path, &job->kernel);
    if (code != CLI_EXIT_DONE) return code;
    source_show(&job->kernel.source); /* its warnings */
    code = stream_find_shape(job);
    if (code != CLI_EXIT_DONE) return code;
    if (job->kind == STREAM_CARRIED) {
        job->carried_bytes = (size_t)job->result->bytes;
        job->carried = calloc(1, job->carried_bytes + 1);
        if (job->carried == NULL) return no_memory();
    }
    stream_measure(job);
    return CLI_EXIT_DONE;
}

static int open_runtime(struct stream_job *job)
{
    vyre_options options = cli_runtime_options(job->args);
    uint64_t frame = job->kernel.info.frame_bytes;
    vyre_error err;

    options.frame_bytes = frame < LEAST_FRAME_BYTES ? LEAST_FRAME_BYTES : frame;
    if (options.frame_bytes > KERNEL_MOST_FRAME_BYTES)
        options.frame_bytes = KERNEL_MOST_FRAME_BYTES;
    options.max_handles = 65535;
    if (vyre_open(&job->runtime, &options, &err) != VYRE_OK)
        return cli_fail("cannot open a runtime", &err);
    vyre_status status =
        vyre_program_load_kernel(job->runtime, job->kernel.kernel, NULL, &job->program, &err);
    if (status == VYRE_OK) return CLI_EXIT_DONE;
    int code = cli_fail("cannot load the program", &err);
    return status == VYRE_E_VM_LIMIT ? CLI_EXIT_NO : code;
}

/* Results that are bytes are written by the stream itself, unless a terminal is to see them. */
static int output_of(struct stream_job *job)
{
    if (job->form != CLI_FORM_RAW || job->kind == STREAM_CARRIED) return -1;
    if (job->output >= 0) return job->output;
    return isatty(STDOUT_FILENO) ? -1 : STDOUT_FILENO;
}

/* A standard output that was closed is there, but cannot be written. */
static int check_standard_output(int output)
{
    if (output != STDOUT_FILENO) return CLI_EXIT_DONE;
    int flags = fcntl(output, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return CLI_EXIT_DONE;
    return cli_write_failed(EBADF);
}

/* What the command line and the program demand together is theirs, not a bug of the command. */
static int open_failed(const vyre_error *err)
{
    int code = cli_fail("cannot open a stream", err);

    if (err->status == VYRE_E_UNSUPPORTED) return CLI_EXIT_NO; /* the shape of the program */
    return err->status == VYRE_E_RANGE || err->status == VYRE_E_CONFLICT ? CLI_EXIT_MISUSE : code;
}

static int open_stream(struct stream_job *job)
{
    const struct cli_args *args = job->args;
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_error err;

    options.flags = VYRE_STREAM_RECURSE | (args->unordered ? VYRE_STREAM_UNORDERED : 0) |
                    (args->direct ? VYRE_STREAM_DIRECT : 0) |
                    (args->follow ? VYRE_STREAM_FOLLOW : 0) | (args->merge ? VYRE_STREAM_MERGE : 0);
    options.chunk_bytes = (uint32_t)args->chunk;
    options.depth = args->depth;
    options.overlap_bytes = (uint32_t)args->overlap;
    options.record_bytes = (uint32_t)args->record;
    options.separator = args->lines ? '\n' : -1;
    options.io = args->io;
    if (args->io == VYRE_STREAM_IO_URING) options.ring = 0; /* io_uring, with what it has */
    options.program = job->program;
    options.scalars = job->scalars;
    options.scalar_count = job->scalar_count;
    options.output = output_of(job);
    job->by_ring = options.output >= 0;
    int code = check_standard_output(options.output);
    if (code != CLI_EXIT_DONE) return code;
    if (vyre_stream_open(job->runtime, &options, &job->stream, &err) != VYRE_OK)
        return open_failed(&err);
    code = stream_clear_output(job);
    if (code != CLI_EXIT_DONE) return code;
    job->start_ns = job->shown_ns = stream_now_ns();
    job->start_cpu_ns = process_cpu_ns();
    if (pthread_create(&job->feeder, NULL, stream_feed, job) != 0) {
        cli_complain("cannot start a thread that names the files", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    job->feeding = 1;
    return CLI_EXIT_DONE;
}

/* A chunk whose bytes were read and whose result could not be written. */
static int write_failed(const struct stream_job *job, const vyre_chunk *chunk)
{
    return job->by_ring && chunk->status != VYRE_OK && chunk->result != NULL;
}

static int tell_write(const struct stream_job *job, const vyre_chunk *chunk)
{
    char message[400], name[300];
    int standard = job->args->output == NULL || strcmp(job->args->output, "-") == 0;

    if (standard) return cli_write_failed(chunk->error);
    snprintf(message, sizeof message, "cannot write `%s`: %s",
             stream_name_text(job->args->output, name, sizeof name), strerror(chunk->error));
    cli_complain(message, NULL, NULL);
    return CLI_EXIT_IO;
}

static int take(struct stream_job *job, const vyre_chunk *chunk)
{
    int ran = chunk->completion.outcome != 0;

    if (write_failed(job, chunk)) return tell_write(job, chunk);
    if ((chunk->flags & VYRE_CHUNK_SKIPPED) != 0) {
        stream_tell_skipped(job, chunk);
        return CLI_EXIT_DONE;
    }
    stream_tell_change(job, chunk);
    if (ran && chunk->completion.outcome != VYRE_DONE) stream_tell_fault(job, chunk);
    if (chunk->status != VYRE_OK && chunk->error != 0) stream_tell_failure(job, chunk);
    if (chunk->status != VYRE_OK && chunk->result == NULL && !(ran && job->args->json))
        return CLI_EXIT_DONE;
    if (job->carried != NULL && chunk->result != NULL) {
        size_t len = chunk->result_bytes < job->carried_bytes ? (size_t)chunk->result_bytes
                                                              : job->carried_bytes;
        memcpy(job->carried, chunk->result, len);
    }
    return stream_show(job, chunk);
}

/* How long to wait at most before something is looked after; 0: --timeout has passed. */
static uint64_t wait_ns(const struct stream_job *job)
{
    if (job->args->timeout <= 0) return LOOK_NS;
    uint64_t limit_ns = (uint64_t)(job->args->timeout * 1e9);
    uint64_t used_ns = stream_now_ns() - job->start_ns;
    if (used_ns >= limit_ns) return 0;
    return limit_ns - used_ns < LOOK_NS ? limit_ns - used_ns : LOOK_NS;
}

/* What was shown goes out before it waits: somebody may be watching a pipe. VYRE_E_TIMEOUT: there
 * is no time left, also where there would be chunks. */
static vyre_status next(struct stream_job *job, vyre_chunk **chunk, vyre_error *err)
{
    uint64_t wait = wait_ns(job);
    vyre_status status = wait == 0 ? VYRE_E_TIMEOUT : vyre_stream_next(job->stream, 0, chunk, err);

    while (status == VYRE_E_TIMEOUT && wait > 0) {
        cli_flush();
        stream_progress(job);
        status = vyre_stream_next(job->stream, wait, chunk, err);
        wait = wait_ns(job);
    }
    return status;
}

static void stop_clocks(struct stream_job *job)
{
    job->end_ns = stream_now_ns();
    job->end_cpu_ns = process_cpu_ns();
}

static void *cancel(void *argument)
{
    const struct stream_job *job = argument;
    uint32_t word;

    vyre_stream_cancel(job->stream, NULL);
    vyre_tenant_observables(job->runtime, VYRE_TENANT_DEFAULT, 0, 1, &word, NULL);
    return NULL;
}

/* A program that did not end may have printed something that explains it. */
static int tell_timeout(struct stream_job *job)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    char message[200], size[32];
    int cancelled = kernel_ask(job->runtime, cancel, job); /* else it is stopped */

    vyre_stream_query(job->stream, &report, NULL);
    cli_progress(NULL);
    if (cancelled) kernel_show_log(job->runtime, job->kernel.kernel, job->args->json);
    stop_clocks(job);
    if (job->args->json) stream_report(job);
    snprintf(message, sizeof message,
             "the stream did not end in %g s and was %s: %s had been read, %llu chunk%s had ended",
             job->args->timeout, cancelled ? "cancelled" : "lost, the device did not answer",
             cli_format_bytes((double)report.bytes, size, sizeof size),
             (unsigned long long)job->count.ended, cli_plural(job->count.ended));
    cli_complain(message, NULL,
                 !cancelled ? "run the command again"
                 : report.chunks > 0 && job->count.ended == 0
                     ? "look for a loop that does not end, or give it a longer --timeout"
                     : "give it a longer --timeout");
    return CLI_EXIT_LOST;
}

static int run(struct stream_job *job)
{
    vyre_error err;

    for (;;) {
        vyre_chunk *chunk = NULL;
        vyre_status status = next(job, &chunk, &err);
        if (status == VYRE_E_TIMEOUT) return tell_timeout(job);
        if (status != VYRE_OK) return cli_fail("the stream broke off", &err);
        if (chunk == NULL) break;
        job->count.ended++;
        int code = take(job, chunk);
        vyre_stream_release(job->stream, chunk);
        if (code != CLI_EXIT_DONE) return code;
        if (ferror(stdout)) return CLI_EXIT_IO; /* told when stdout is closed */
        stream_progress(job);
    }
    stop_clocks(job);
    job->whole = 1;
    pthread_join(job->feeder, NULL); /* a stream that has ended has all its files */
    job->feeding = 0;
    return CLI_EXIT_DONE;
}

/* After all chunks: what is left to show, and the exit code that all of them come to. */
static int finish(struct stream_job *job)
{
    int code = CLI_EXIT_DONE;

    cli_progress(NULL);
    if (job->feed_error.status != VYRE_OK) code = cli_fail("cannot add a file", &job->feed_error);
    if (code == CLI_EXIT_DONE) code = stream_show_carried(job);
    if (code == CLI_EXIT_DONE) code = stream_close_output(job);
    kernel_show_log(job->runtime, job->kernel.kernel, job->args->json);
    stream_tell_counts(job);
    if (stream_report(job) != CLI_EXIT_DONE && code == CLI_EXIT_DONE) code = CLI_EXIT_BUG;
    if (code != CLI_EXIT_DONE) return code;
    if (job->count.lost > 0) return CLI_EXIT_LOST;
    if (job->count.failed > 0) return CLI_EXIT_IO;
    return job->count.faulted > 0 ? CLI_EXIT_NO : CLI_EXIT_DONE;
}

static void close_all(struct stream_job *job)
{
    cli_progress(NULL);
    if (job->feeding) {
        vyre_stream_cancel(job->stream, NULL); /* so that it does not wait for room */
        pthread_join(job->feeder, NULL);
    }
    vyre_stream_close(job->stream);
    vyre_program_unload(job->program, NULL);
    vyre_close(job->runtime);
    stream_close_output(job);
    free(job->carried);
    kernel_free(&job->kernel);
}

int vyre_cli_stream(const struct cli_args *args)
{
    struct stream_job job;

    memset(&job, 0, sizeof job);
    job.args = args;
    job.program_path = args->operands.item[0];
    job.output = -1;
    int code = prepare(&job);
    if (code == CLI_EXIT_DONE) code = stream_check_output(&job);
    if (code == CLI_EXIT_DONE) code = open_runtime(&job);
    if (code == CLI_EXIT_DONE) code = stream_open_output(&job);
    if (code == CLI_EXIT_DONE) code = open_stream(&job);
    if (code == CLI_EXIT_DONE && args->json) cli_json_header("stream");
    if (code == CLI_EXIT_DONE) code = run(&job);
    if (code == CLI_EXIT_DONE) code = finish(&job);
    close_all(&job);
    return code;
}
