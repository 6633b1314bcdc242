/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Starting and ending a device host. It is spawned, never forked alone, and finds nothing of this
 * process but its socket: every other descriptor is closed in it, its signals are as in a new
 * process, and a terminal's signals do not reach it. Whoever reaps children behind our back (an
 * application that ignores SIGCHLD) takes away no more than the words on how the host ended.
 */
#include "runtime/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/layout_number.h"

#define HOST_NAME "vyre-host"
#ifndef VYRE_HOST_PATH /* the build says where it is installed */
#    define VYRE_HOST_PATH     "/usr/local/libexec/vyre/" HOST_NAME
#    define VYRE_HOST_FROM_BIN "../libexec/vyre/" HOST_NAME
#    define VYRE_HOST_FROM_LIB "../libexec/vyre/" HOST_NAME
#endif
#define WAIT_PIDFD ((idtype_t)3) /* P_PIDFD; older headers have no name for it */

extern char **environ;

/* Finding it.
 * ------------------------------------------------------------------------------------------- */

static int runnable(const char *path)
{
    return access(path, X_OK) == 0;
}

/* The executable that is called so, seen from the directory of `file`. */
static int seen_from(const char *file, const char *name, char path[HOST_PATH_ROOM])
{
    const char *slash = strrchr(file, '/');
    if (!slash) return 0;
    int n = snprintf(path, HOST_PATH_ROOM, "%.*s/%s", (int)(slash - file), file, name);
    return n > 0 && n < HOST_PATH_ROOM && runnable(path);
}

/* Beside `file`, as in a build, or where an installation that was moved as a whole has it. */
static int near(const char *file, const char *installed, char path[HOST_PATH_ROOM])
{
    return seen_from(file, HOST_NAME, path) || seen_from(file, installed, path);
}

static int near_program(char path[HOST_PATH_ROOM])
{
    char own[HOST_PATH_ROOM];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0) return 0;
    own[n] = '\0';
    return near(own, VYRE_HOST_FROM_BIN, path);
}

static int near_library(char path[HOST_PATH_ROOM])
{
    Dl_info own;
    char real[PATH_MAX];
    if (dladdr((const void *)(uintptr_t)&vyre_host_find, &own) == 0 || !own.dli_fname) return 0;
    return realpath(own.dli_fname, real) && near(real, VYRE_HOST_FROM_LIB, path);
}

static vyre_status take(const char *name, const char *from, char path[HOST_PATH_ROOM],
                        vyre_error *err)
{
    int n = snprintf(path, HOST_PATH_ROOM, "%s", name);
    if (n < HOST_PATH_ROOM && runnable(path)) return VYRE_OK;
    int cause = n < HOST_PATH_ROOM ? errno : ENAMETOOLONG;
    vyre_fail(err, VYRE_E_NOT_FOUND, "%s names %.120s, which cannot be run: %s", from, name,
              strerror(cause));
    vyre_fail_fix(err, "let %s name an executable " HOST_NAME ", or leave it out", from);
    return VYRE_E_NOT_FOUND;
}

vyre_status vyre_host_find(const char *asked, char path[HOST_PATH_ROOM], vyre_error *err)
{
    const char *installed = VYRE_HOST_PATH;
    if (asked) return take(asked, "host", path, err);
    const char *variable = secure_getenv("VYRE_HOST");
    if (variable && variable[0] != '\0') return take(variable, "VYRE_HOST", path, err);
    if (snprintf(path, HOST_PATH_ROOM, "%s", installed) < HOST_PATH_ROOM && runnable(path))
        return VYRE_OK;
    if (near_program(path) || near_library(path)) return VYRE_OK;
    vyre_fail(err, VYRE_E_NOT_FOUND,
              "the device host was not found: not at %.100s, nor near the program or libvyre",
              installed);
    vyre_fail_fix(err, "install " HOST_NAME ", or set VYRE_HOST or the option host to its path");
    return VYRE_E_NOT_FOUND;
}

/* Starting it.
 * ------------------------------------------------------------------------------------------- */

/* The socket under its number, nothing to read, nobody listening to what it prints, and no other
 * descriptor than stderr. */
static int prepare_files(posix_spawn_file_actions_t *files, int socket)
{
    int failed = posix_spawn_file_actions_adddup2(files, socket, HOST_SOCKET);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (!failed) failed = posix_spawn_file_actions_addclosefrom_np(files, HOST_SOCKET + 1);
#endif
    return failed;
}

static int prepare_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawnattr_setsigmask(attributes, &none);
    if (!failed) failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (!failed) failed = posix_spawnattr_setpgroup(attributes, 0);
    if (!failed)
        failed = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return failed;
}

/* 0 or an errno. */
static int spawn(const char *path, int socket, pid_t *pid)
{
    char name[HOST_PATH_ROOM];
    char *const arguments[] = {name, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    snprintf(name, sizeof name, "%s", path);
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (!failed) {
        failed = prepare_files(&files, socket);
        if (!failed) failed = prepare_signals(&attributes);
        if (!failed) failed = posix_spawn(pid, path, &files, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static vyre_status launch(const char *path, struct vyre_host_process *process, vyre_error *err)
{
    int sockets[2];
    vyre_status status = host_socket_pair(sockets, err);
    if (status) return status;
    int failed = spawn(path, sockets[1], &process->pid);
    close(sockets[1]);
    process->socket = sockets[0];
    if (!failed) {
        process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0); /* closes on exec */
        failed = process->pidfd < 0 ? errno : 0;
    } else {
        process->pid = 0;
    }
    if (!failed) return VYRE_OK;
    vyre_fail_errno(err, failed, "starting %.150s", path);
    vyre_fail_fix(err, "run `%.120s --version`, and set VYRE_HOST to an executable that runs",
                  path);
    vyre_host_end(process, 0, NULL, 0);
    return VYRE_E_SYSTEM;
}

/* The first message: who it is. */
static vyre_status read_hello(const struct vyre_host_process *process, const char *path,
                              vyre_error *err)
{
    struct host_message message;
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), HOST_HELLO_NS);
    vyre_status status = vyre_host_await(process, &message, until_ns, err);
    if (status) return status;
    host_message_close(&message);
    const struct host_hello *hello = message.payload;
    if (message.header.type != HOST_HELLO)
        return vyre_fail(err, VYRE_E_INTERNAL, "its first message is of type %u, not a HELLO",
                         message.header.type);
    if (message.sender_pid != (uint32_t)process->pid || hello->pid != (uint32_t)process->pid)
        return vyre_fail(err, VYRE_E_NOT_PERMITTED,
                         "process %u spoke on its socket, and %d was started", message.sender_pid,
                         (int)process->pid);
    if (strncmp(hello->version, VYRE_VERSION, sizeof hello->version) == 0 &&
        hello->protocol == HOST_PROTOCOL && hello->layout == host_layout())
        return VYRE_OK;
    if (hello->layout != host_layout() &&
        strncmp(hello->version, VYRE_VERSION, sizeof hello->version) == 0) {
        vyre_fail(err, VYRE_E_UNSUPPORTED,
                  "it is of version " VYRE_VERSION
                  " too, but of another build: its memory layout is %08x, this library's is %08x",
                  hello->layout, host_layout());
        vyre_fail_fix(err,
                      "build and install " HOST_NAME " and libvyre together, or set VYRE_HOST to "
                      "the one of this build; %.60s is another",
                      path);
        return VYRE_E_UNSUPPORTED;
    }
    vyre_fail(err, VYRE_E_UNSUPPORTED,
              "it is version %.15s (protocol %u), this library is version %s (protocol %u)",
              hello->version, hello->protocol, VYRE_VERSION, HOST_PROTOCOL);
    vyre_fail_fix(
        err, "install the " HOST_NAME " of version %s, or set VYRE_HOST to it; %.60s is another",
        VYRE_VERSION, path);
    return VYRE_E_UNSUPPORTED;
}

static vyre_status say_hello(const struct vyre_host_process *process, vyre_error *err)
{
    struct host_hello hello = {VYRE_VERSION, HOST_PROTOCOL, (uint32_t)getpid(), host_layout()};
    struct host_sending sending = {
        .type = HOST_HELLO, .payload = &hello, .payload_bytes = sizeof hello};
    return host_send(process->socket, &sending, err);
}

vyre_status vyre_host_start(const char *asked, struct vyre_host_process *process, vyre_error *err)
{
    char path[HOST_PATH_ROOM], how[64];
    vyre_error why;
    *process = (struct vyre_host_process){0, -1, -1};
    vyre_status status = vyre_host_find(asked, path, err);
    if (!status) status = launch(path, process, err);
    if (status) return status;
    status = read_hello(process, path, &why);
    if (!status) status = say_hello(process, &why);
    if (!status) return VYRE_OK;
    int ended = why.domain == VYRE_DOMAIN_ERRNO && (why.code == EPIPE || why.code == ECONNRESET);
    vyre_host_end(process, ended ? HOST_ENDING_NS : 0, how, sizeof how);
    if (ended) {
        vyre_fail(err, status, "the device host %.120s said nothing and %s", path, how);
        vyre_fail_fix(err,
                      "run `%.90s --version`: if it is not vyre-host " VYRE_VERSION
                      ", let VYRE_HOST name that",
                      path);
    } else if (err) {
        *err = why;
        snprintf(err->message, sizeof err->message, "the device host %.100s: %.110s", path,
                 why.message);
    }
    return status;
}

/* Ending it.
 * ------------------------------------------------------------------------------------------- */

void vyre_host_kill(const struct vyre_host_process *process)
{
    if (process->pidfd >= 0) syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
}

/* Whether it has ended by then. */
static int await_end(const struct vyre_host_process *process, uint64_t patience_ns)
{
    struct pollfd end = {process->pidfd, POLLIN, 0};
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), patience_ns);
    for (;;) {
        uint64_t now = vyre_clock_ns();
        int left_ms = now < until_ns ? (int)((until_ns - now) / 1000000u) + 1 : 0;
        int n = poll(&end, 1, left_ms);
        if (n > 0) return 1;
        if (n == 0 && left_ms == 0) return 0;
    }
}

static void put_words(const siginfo_t *info, char *how, size_t room)
{
    if (info->si_code == CLD_EXITED)
        snprintf(how, room, "ended with status %d", info->si_status);
    else
        snprintf(how, room, "was ended by signal %d (%s)", info->si_status,
                 sigabbrev_np(info->si_status) ? sigabbrev_np(info->si_status) : "?");
}

int vyre_host_end(struct vyre_host_process *process, uint64_t patience_ns, char *how, size_t room)
{
    int ended = 1;
    if (how) snprintf(how, room, "is gone");
    /* Before its socket closes: a host that sees that stops its device, which takes time. */
    if (patience_ns == 0 && process->pidfd >= 0) vyre_host_kill(process);
    if (process->socket >= 0) close(process->socket);
    if (process->pid > 0 && process->pidfd < 0) {
        kill(process->pid, SIGKILL); /* a child that nobody has reaped: the number is still its */
        waitpid(process->pid, NULL, 0);
    } else if (process->pidfd >= 0) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        if (patience_ns == 0 || !await_end(process, patience_ns)) vyre_host_kill(process);
        ended = await_end(process, HOST_DYING_NS);
        if (ended && waitid(WAIT_PIDFD, (id_t)process->pidfd, &info, WEXITED) == 0 && how)
            put_words(&info, how, room);
        close(process->pidfd);
    }
    *process = (struct vyre_host_process){0, -1, -1};
    return ended;
}

/* Talking to it.
 * ------------------------------------------------------------------------------------------- */

vyre_status vyre_host_await(const struct vyre_host_process *process, struct host_message *message,
                            uint64_t until_ns, vyre_error *err)
{
    for (;;) {
        struct pollfd news = {process->socket, POLLIN, 0};
        uint64_t now = vyre_clock_ns();
        int left_ms = until_ns > now ? (int)((until_ns - now) / 1000000u) + 1 : 0;
        int n = poll(&news, 1, left_ms);
        if (n < 0 && errno != EINTR) return vyre_fail_errno(err, errno, "waiting for a socket");
        if (n > 0) {
            int got = host_receive(process->socket, message, 0, err);
            if (got <= 0) return got;
        }
        if (n == 0 && left_ms == 0)
            return vyre_fail_with(err, VYRE_E_TIMEOUT,
                                  "check that the program is vyre-host, and try again",
                                  "process %d does not answer", (int)process->pid);
    }
}

vyre_status vyre_host_reply(const struct host_message *message, void *answer, uint32_t room,
                            vyre_error *err)
{
    const struct host_reply *reply = message->payload;
    const void *body = reply + 1;
    if (reply->status) {
        vyre_error why;
        if (reply->bytes != sizeof why)
            return vyre_fail(err, VYRE_E_INTERNAL, "a device host refused and gave no reason");
        memcpy(&why, body, sizeof why);
        why.message[sizeof why.message - 1] = why.fix[sizeof why.fix - 1] = '\0';
        why.status = reply->status < 0 ? reply->status : VYRE_E_INTERNAL;
        if (err) *err = why;
        return why.status;
    }
    if (reply->bytes != room)
        return vyre_fail(err, VYRE_E_INTERNAL, "a device host answered with %u bytes, not %u",
                         reply->bytes, room);
    if (room != 0) memcpy(answer, body, room);
    return VYRE_OK;
}

vyre_status vyre_host_ask(const struct vyre_host_process *process,
                          const struct host_sending *sending, void *answer, uint32_t room,
                          vyre_error *err)
{
    struct host_message message;
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), HOST_ASK_NS);
    vyre_status status = host_send(process->socket, sending, err);
    if (!status) status = vyre_host_await(process, &message, until_ns, err);
    if (status) return status;
    host_message_close(&message);
    if (message.header.type != HOST_REPLY)
        return vyre_fail(err, VYRE_E_INTERNAL, "a device host answered with a message of type %u",
                         message.header.type);
    return vyre_host_reply(&message, answer, room, err);
}
