/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sees to it that files which a command makes for itself do not stay: a child process waits at a
 * pipe for its parent's end, however that comes, and removes the directory whose name it has been
 * given. It is started before there are threads and before anything else is open, in a session of
 * its own and deaf to what ends others: it ends with its parent and not before.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"

static const int deaf_to[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { DEAF_TO = sizeof deaf_to / sizeof deaf_to[0] };

/* Reads a name up to the end of the pipe. One that has not come whole is none. */
static _Noreturn void wait_and_remove(int pipe)
{
    static char place[PATH_MAX];
    size_t have = 0;

    for (;;) {
        ssize_t got = read(pipe, place + have, sizeof place - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += (size_t)got;
    }
    if (have > 1 && place[have - 1] == '\0') cli_tree_remove(place);
    _exit(0);
}

static _Noreturn void be_guard(int pipe)
{
    for (int i = 0; i < DEAF_TO; i++)
        signal(deaf_to[i], SIG_IGN);
    setsid(); /* an interrupt at the terminal is for the parent */
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    wait_and_remove(pipe);
}

/* No signal is lost or taken between the fork and be_guard. */
static pid_t fork_guard(int ends[2])
{
    sigset_t set, was;

    sigemptyset(&set);
    for (int i = 0; i < DEAF_TO; i++)
        sigaddset(&set, deaf_to[i]);
    sigprocmask(SIG_BLOCK, &set, &was);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        be_guard(ends[0]);
    }
    int error = errno;
    sigprocmask(SIG_SETMASK, &was, NULL);
    errno = error;
    return pid;
}

int cli_guard_start(struct cli_guard *guard)
{
    int ends[2];
    char message[128];

    guard->pid = 0;
    if (pipe2(ends, O_CLOEXEC) == 0) {
        pid_t pid = fork_guard(ends);
        int error = errno;
        close(ends[0]);
        guard->pipe = ends[1];
        guard->pid = pid > 0 ? pid : 0;
        if (pid > 0) return CLI_EXIT_DONE;
        close(ends[1]);
        errno = error;
    }
    snprintf(message, sizeof message, "cannot start a process that removes the files: %s",
             strerror(errno));
    cli_complain(message, NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

void cli_guard_give(const struct cli_guard *guard, const char *path)
{
    if (guard->pid > 0) (void)cli_write_all(guard->pipe, path, strlen(path) + 1);
}

void cli_guard_end(struct cli_guard *guard)
{
    pid_t ended;

    if (guard->pid <= 0) return;
    close(guard->pipe);
    do
        ended = waitpid(guard->pid, NULL, 0);
    while (ended < 0 && errno == EINTR);
    guard->pid = 0;
}
