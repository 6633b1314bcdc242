/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Peers of `vyre bench ingest` that are programs of their own: started by the usual search in PATH,
 * timed from the start to the end, with the CPU time that the kernel counts for them. Nothing goes
 * through a shell.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_ingest.h"

extern char **environ;

int ingest_child_exists(const char *name)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];

    while (path != NULL && *path != '\0') {
        size_t len = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)len, path, name);
        if (access(file, X_OK) == 0) return 1;
        path += len + (path[len] == ':');
    }
    return 0;
}

/* Everything the child has open; 0 or an errno value. */
static int set_files(posix_spawn_file_actions_t *actions, const struct ingest_child *child, int out)
{
    const char *input = child->input != NULL ? child->input : "/dev/null";
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, input, O_RDONLY, 0);

    if (error == 0 && out >= 0)
        error = posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    else if (error == 0)
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    return error;
}

/* SIGPIPE is ignored here, and the child should not inherit that. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    int error = posix_spawnattr_setsigdefault(attributes, &set);
    return error != 0 ? error : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

static int start(const struct ingest_child *child, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char *const *argv = (char *const *)(uintptr_t)child->argv;

    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -1;
    }
    int error = set_files(&actions, child, out);
    if (error == 0) error = set_signals(&attributes);
    if (error == 0) error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? 0 : -1;
}

/* All that the child prints, as far as there is room. */
static void read_text(struct ingest_child *child, int fd)
{
    size_t have = 0;
    char waste[4096];

    for (;;) {
        int full = have + 1 >= child->room;
        ssize_t got = read(fd, full ? waste : child->text + have,
                           full ? sizeof waste : child->room - 1 - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (!full) have += (size_t)got;
    }
    child->text[have] = '\0';
}

static uint64_t time_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

int ingest_child_run(struct ingest_child *child)
{
    int ends[2] = {-1, -1}, status = 0;
    struct rusage used;
    pid_t pid, ended;

    child->status = -1;
    if (child->text != NULL && pipe2(ends, O_CLOEXEC) != 0) return -1;
    uint64_t begin_ns = bench_clock_ns();
    int failed = start(child, ends[1], &pid);
    if (ends[1] >= 0) close(ends[1]);
    if (failed == 0 && child->text != NULL) read_text(child, ends[0]);
    if (ends[0] >= 0) close(ends[0]);
    if (failed != 0) return -1;
    do
        ended = wait4(pid, &status, 0, &used);
    while (ended < 0 && errno == EINTR);
    child->ns = bench_clock_ns() - begin_ns;
    if (ended != pid) return -1;
    child->cpu_ns = time_ns(used.ru_utime) + time_ns(used.ru_stime);
    if (WIFEXITED(status)) child->status = WEXITSTATUS(status);
    return 0;
}
