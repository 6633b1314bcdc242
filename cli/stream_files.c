/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The files of `vyre stream`: those that are read, added by a thread of their own because a stream
 * lets only so many wait, and the one that is written, which must not be among them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "parse.h"
#include "stream.h"

static int is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

void *stream_feed(void *ctx)
{
    struct stream_job *job = ctx;
    const struct cli_list *files = &job->args->operands;
    vyre_status status = VYRE_OK;

    for (size_t i = 1; i < files->count && status == VYRE_OK; i++) {
        if (is_standard(files->item[i]))
            status = vyre_stream_add_fd(job->stream, STDIN_FILENO, "-", &job->feed_error);
        else
            status = vyre_stream_add_path(job->stream, files->item[i], &job->feed_error);
    }
    /* One that was cancelled has ended already. */
    if (status == VYRE_E_STOPPED) job->feed_error.status = VYRE_OK;
    vyre_stream_end(job->stream, NULL);
    return NULL;
}

void stream_measure(struct stream_job *job)
{
    const struct cli_list *files = &job->args->operands;

    for (size_t i = 1; i < files->count; i++) {
        struct stat status;
        int error = is_standard(files->item[i]) ? fstat(STDIN_FILENO, &status)
                                                : stat(files->item[i], &status);
        if (error != 0) continue; /* what is wrong with it will be told */
        if (!S_ISREG(status.st_mode)) {
            job->total_bytes = 0;
            return;
        }
        job->total_bytes += (uint64_t)status.st_size;
    }
}

/* The output.
 * ------------------------------------------------------------------------------------------- */

static int cannot_write(const struct stream_job *job, int error)
{
    char message[400], name[300];

    snprintf(message, sizeof message, "cannot write `%s`: %s",
             stream_name_text(job->args->output, name, sizeof name), strerror(error));
    cli_complain(message, NULL, NULL);
    return CLI_EXIT_IO;
}

/* Whether `path` lies in the directory `tree` or below; both are absolute and without links. */
static int lies_in(const char *path, const char *tree)
{
    size_t len = strlen(tree);

    if (len == 1) return 1; /* the root */
    return strncmp(path, tree, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The real path of a file that need not exist; the caller frees it. NULL where there is none. */
static char *real_path_of_new(const char *path)
{
    char *directory = cli_file_folder(path);
    char *real = directory == NULL ? NULL : realpath(directory, NULL);

    free(directory);
    return real;
}

/* Whether reading this file would read what is being written. */
static int is_output(const char *path, const struct stat *output, const char *place)
{
    struct stat status;
    int within = 0;

    if (output != NULL && cli_file_is(path, output)) return 1;
    if (place == NULL || is_standard(path)) return 0;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return 0;
    char *tree = realpath(path, NULL);
    if (tree != NULL) within = lies_in(place, tree);
    free(tree);
    return within;
}

/* A file that was read while it is written would have no end, or lose what it held. */
static int check_file(const struct stream_job *job)
{
    const struct cli_list *files = &job->args->operands;
    struct stat status;
    int there = stat(job->args->output, &status) == 0;
    int code = CLI_EXIT_DONE;

    /* Devices and pipes are not read back. */
    if (there && !S_ISREG(status.st_mode)) return code;
    char *place = real_path_of_new(job->args->output);
    for (size_t i = 0; i < files->count && code == CLI_EXIT_DONE; i++)
        if (is_output(files->item[i], there ? &status : NULL, i == 0 ? NULL : place))
            code = cli_misuse("-o `%.120s` is, or lies in, `%.120s`, which is read; write to "
                              "another file",
                              job->args->output, files->item[i]);
    free(place);
    return code;
}

/* The same for `>` and `>>` of a shell. What is carried is written when all has been read. */
static int check_standard_output(const struct stream_job *job)
{
    const struct cli_list *files = &job->args->operands;
    struct stat status;

    if (job->form != CLI_FORM_RAW || job->kind == STREAM_CARRIED) return CLI_EXIT_DONE;
    if (fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return CLI_EXIT_DONE;
    for (size_t i = 1; i < files->count; i++)
        if (is_output(files->item[i], &status, NULL))
            return cli_misuse("standard output is `%.120s`, which is read; write to another file",
                              files->item[i]);
    return CLI_EXIT_DONE;
}

int stream_check_output(const struct stream_job *job)
{
    const char *output = job->args->output;

    return output == NULL || is_standard(output) ? check_standard_output(job) : check_file(job);
}

int stream_open_output(struct stream_job *job)
{
    if (job->args->output == NULL) return CLI_EXIT_DONE;
    if (is_standard(job->args->output)) {
        job->output = STDOUT_FILENO;
        return CLI_EXIT_DONE;
    }
    job->output = open(job->args->output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    return job->output >= 0 ? CLI_EXIT_DONE : cannot_write(job, errno);
}

/* Asked, not tried: to open a pipe is to take it. */
static int can_be_read(const struct cli_list *files)
{
    for (size_t i = 1; i < files->count; i++)
        if (is_standard(files->item[i]) || access(files->item[i], R_OK) == 0) return 1;
    return 0;
}

int stream_clear_output(struct stream_job *job)
{
    struct stat status;

    if (job->output < 0 || job->output == STDOUT_FILENO) return CLI_EXIT_DONE;
    if (!can_be_read(&job->args->operands)) return CLI_EXIT_DONE;
    if (fstat(job->output, &status) != 0) return cannot_write(job, errno);
    if (S_ISREG(status.st_mode) && ftruncate(job->output, 0) != 0) return cannot_write(job, errno);
    job->cleared = 1;
    return CLI_EXIT_DONE;
}

int stream_close_output(struct stream_job *job)
{
    int error = 0, fd = job->output;

    if (fd < 0 || fd == STDOUT_FILENO) return CLI_EXIT_DONE;
    if (job->carried != NULL && job->whole && job->cleared) {
        error = cli_write_all(fd, job->carried, job->carried_bytes);
        if (error == 0) job->carried_written = job->carried_bytes;
    }
    job->output = -1;
    if (close(fd) != 0 && error == 0) error = errno;
    return error == 0 ? CLI_EXIT_DONE : cannot_write(job, error);
}
