/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sees to it that the files of `vyre bench ingest` do not stay: a child process waits at a pipe for
 * its parent's word or death, whichever is first, and removes them. So they go after an interrupt
 * and after a kill too. It is started before there are threads, and has nothing else open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_ingest.h"
#include "files.h"

/* Waits for the end of the pipe; `place` is the directory. */
static _Noreturn void guard(int pipe, const char *place)
{
    char byte;
    ssize_t got;

    setsid(); /* an interrupt at the terminal is for the parent */
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    do
        got = read(pipe, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
    cli_tree_remove(place);
    _exit(0);
}

int ingest_guard_start(struct ingest_files *files)
{
    int ends[2];
    char message[128];

    if (pipe2(ends, O_CLOEXEC) != 0) goto fail;
    files->guard_pid = fork();
    if (files->guard_pid == 0) {
        close(ends[1]);
        guard(ends[0], files->root);
    }
    close(ends[0]);
    files->guard = ends[1];
    if (files->guard_pid > 0) return 0;
    close(ends[1]);

fail:
    snprintf(message, sizeof message, "cannot start a process that removes the files: %s",
             strerror(errno));
    cli_complain(message, NULL, NULL);
    (void)rmdir(files->root);
    files->guard_pid = 0;
    return CLI_EXIT_ENVIRONMENT;
}

void ingest_guard_end(struct ingest_files *files)
{
    pid_t ended;

    if (files->guard_pid <= 0) return;
    cli_progress("removing the files");
    close(files->guard);
    do
        ended = waitpid(files->guard_pid, NULL, 0);
    while (ended < 0 && errno == EINTR);
    files->guard_pid = 0;
    cli_progress(NULL);
}
