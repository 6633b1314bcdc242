/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What `vyre stream` says about the files and runs that went wrong: on stderr, each with the name
 * of its file, and as records where JSON Lines were asked for. Nothing here ends the stream.
 */
#include <string.h>
#include <sys/stat.h>

#include "stream.h"

/* Further faults are only counted: a program that faults often faults over every chunk. */
enum { FAULTS_TOLD = 10 };

static void tell_size_change(const vyre_chunk *chunk)
{
    char message[400], name[300];

    snprintf(message, sizeof message, "`%s` became %s while it was read; %s",
             stream_name_text(chunk->path, name, sizeof name),
             (chunk->flags & VYRE_CHUNK_GREW) != 0 ? "longer" : "shorter",
             (chunk->flags & VYRE_CHUNK_GREW) != 0 ? "all of it was read"
                                                   : "what was left of it was read");
    cli_warn(message);
}

/* Why, in words. */
static const char *reason_of(const vyre_chunk *chunk)
{
    return chunk->error != 0 ? strerror(chunk->error) : vyre_status_text(chunk->status);
}

void stream_tell_failure(struct stream_job *job, const vyre_chunk *chunk)
{
    char message[500], name[300], at[48] = "";

    job->count.failed++;
    if (job->args->json) {
        cli_json_begin("failure");
        cli_json_count("file", chunk->file);
        stream_json_name(chunk->path);
        cli_json_count("offset", chunk->offset);
        cli_json_text("status", vyre_status_name(chunk->status));
        cli_json_count("errno", (uint64_t)chunk->error);
        cli_json_text("message", reason_of(chunk));
        cli_json_end();
    }
    if (chunk->offset > 0) snprintf(at, sizeof at, "byte %llu", (unsigned long long)chunk->offset);
    snprintf(message, sizeof message, "cannot read `%s`: %.150s",
             stream_name_text(chunk->path, name, sizeof name), reason_of(chunk));
    cli_complain(message, at, NULL);
}

/* What is skipped in a tree is no surprise; what somebody has named is. */
static int was_named(const struct stream_job *job, const char *path)
{
    const struct cli_list *files = &job->args->operands;

    for (size_t i = 1; i < files->count; i++)
        if (strcmp(files->item[i], path) == 0) return 1;
    return 0;
}

/* Why something was skipped: of a tree only files are read, for nobody named the rest. */
static const char *skip_reason(const vyre_chunk *chunk, int named)
{
    struct stat status;

    if (chunk->error != 0) return strerror(chunk->error);
    int standard = strcmp(chunk->path, "-") == 0;
    if ((standard ? fstat(0, &status) : lstat(chunk->path, &status)) != 0)
        return "it is not a file, a tree, a pipe or a device";
    if (S_ISSOCK(status.st_mode)) return "it is a socket in the file system, which cannot be read";
    if (S_ISDIR(status.st_mode)) return "it is a directory, which only its path can name";
    if (named) return "it is not a file, a tree, a pipe or a device";
    if (S_ISLNK(status.st_mode)) return "it is a symbolic link; use --follow";
    if (S_ISFIFO(status.st_mode)) return "it is a pipe in a tree; name it to read it";
    return "it is a device in a tree; name it to read it";
}

void stream_tell_skipped(struct stream_job *job, const vyre_chunk *chunk)
{
    char message[500], name[300];
    int named = was_named(job, chunk->path);
    const char *reason = skip_reason(chunk, named);

    if (job->args->json) {
        cli_json_begin("skipped");
        cli_json_count("file", chunk->file);
        stream_json_name(chunk->path);
        cli_json_text("message", reason);
        cli_json_end();
    }
    if (!job->args->verbose && !named) return;
    snprintf(message, sizeof message, "skipped `%s`: %.150s",
             stream_name_text(chunk->path, name, sizeof name), reason);
    cli_warn(message);
}

/* The workgroups that ran over this chunk, to find the one that faulted. */
static void find_grid(const struct stream_job *job, const vyre_chunk *chunk, uint32_t grid[3])
{
    struct kernel_bound bound[VYRE_RUN_MAX_SCALARS + 2];
    uint32_t count = job->kernel.info.buffers;
    vyre_error err;

    memset(bound, 0, sizeof bound);
    grid[0] = grid[1] = grid[2] = 1;
    if (count > sizeof bound / sizeof bound[0]) return; /* workgroup memory beside them */
    bound[job->input - job->kernel.buffers].length = chunk->length;
    bound[job->result - job->kernel.buffers].length =
        job->kind == STREAM_LONG ? (size_t)chunk->length / job->input->stride * job->result->stride
                                 : (size_t)job->result->bytes;
    kernel_grid(&job->kernel, bound, grid, &err);
}

void stream_tell_fault(struct stream_job *job, const vyre_chunk *chunk)
{
    struct kernel_run run;
    char message[800], what[400], at[KERNEL_PLACE_ROOM] = "", name[300];

    job->count.lost += chunk->completion.outcome == VYRE_LOST;
    if (job->count.faulted++ >= FAULTS_TOLD) {
        job->count.untold++;
        return;
    }
    memset(&run, 0, sizeof run);
    run.kernel = &job->kernel;
    run.end = chunk->completion;
    find_grid(job, chunk, run.grid);
    if (run.end.outcome == VYRE_FAULTED)
        kernel_fault_message(&run, what);
    else
        snprintf(what, sizeof what, "the run was %s", kernel_outcome_name(&run.end));
    if (run.end.outcome == VYRE_FAULTED && kernel_fault_has_place(&run.end))
        kernel_fault_place(&run, at);
    snprintf(message, sizeof message, "`%s`, %u byte%s from %llu on: %s",
             stream_name_text(chunk->path, name, sizeof name), (unsigned)chunk->length,
             cli_plural(chunk->length), (unsigned long long)chunk->offset, what);
    cli_complain(message, at,
                 run.end.outcome == VYRE_LOST ? "run the command again: the device died" : NULL);
}

/* How many files of a chunk, which ends them, are not as long as some whole records. */
static uint64_t count_parts(const vyre_chunk *chunk, uint64_t record)
{
    uint64_t parts = 0;

    if (record == 0 || chunk->status != VYRE_OK || (chunk->flags & VYRE_CHUNK_LAST) == 0) return 0;
    if (chunk->piece_count == 0) return (chunk->offset + chunk->length) % record != 0;
    for (uint32_t i = 0; i < chunk->piece_count; i++)
        parts += chunk->pieces[i].length % record != 0;
    return parts;
}

void stream_tell_change(struct stream_job *job, const vyre_chunk *chunk)
{
    job->count.parts += count_parts(chunk, job->args->record);
    if ((chunk->flags & (VYRE_CHUNK_GREW | VYRE_CHUNK_SHRANK)) != 0) tell_size_change(chunk);
    job->count.cut += (chunk->flags & VYRE_CHUNK_CUT) != 0;
    job->count.ragged += (chunk->flags & VYRE_CHUNK_RAGGED) != 0;
    job->count.outside += chunk->completion.outcome != 0 ? chunk->completion.out_of_bounds : 0;
}

/* "1 chunk", "2 chunks" */
static const char *counted(uint64_t count, const char *noun, char text[64])
{
    snprintf(text, 64, "%llu %s%s", (unsigned long long)count, noun, cli_plural(count));
    return text;
}

void stream_tell_counts(struct stream_job *job)
{
    const struct stream_count *count = &job->count;
    char message[300], text[64];

    if (count->untold > 0) {
        snprintf(message, sizeof message, "%s more faulted", counted(count->untold, "run", text));
        cli_warn(message);
    }
    if (count->cut > 0) {
        snprintf(message, sizeof message,
                 "%s ended within a %s that is longer than a chunk; use a larger --chunk",
                 counted(count->cut, "chunk", text), job->args->lines ? "line" : "record");
        cli_warn(message);
    }
    if (count->parts > 0) {
        snprintf(message, sizeof message, "%s ended within a record: no multiple of --record %llu",
                 counted(count->parts, "file", text), (unsigned long long)job->args->record);
        cli_warn(message);
    }
    if (count->ragged > 0) {
        snprintf(message, sizeof message,
                 "%s ended in bytes that fill no element of `%.80s` (%u bytes); the program did "
                 "not see those",
                 counted(count->ragged, "chunk", text), job->input->name,
                 (unsigned)job->input->stride);
        cli_warn(message);
    }
    if (count->unshown > 0) {
        snprintf(
            message, sizeof message,
            "%s of the results %s not shown: a value takes %u, and the last of a chunk fill none",
            counted(count->unshown, "byte", text), count->unshown == 1 ? "is" : "are",
            (unsigned)stream_value_bytes(job));
        cli_warn(message);
    }
    if (count->outside > 0) {
        snprintf(message, sizeof message,
                 "%llu access%s out of bounds read 0 or %s dropped; use --strict to find them",
                 (unsigned long long)count->outside, count->outside == 1 ? "" : "es",
                 count->outside == 1 ? "was" : "were");
        cli_warn(message);
    }
}
