/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * vyre-host: the process that owns a device. Started by libvyre with a socket at descriptor 3; it
 * serves that one connection and ends when it closes, whatever the device does then. It leaves
 * nothing behind.
 *
 * Exit codes: 0 the application closed the connection; 1 it was refused or broke the protocol; 2
 * misuse.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/host_server.h"

#define END_PATIENCE_NS 500000000u /* for the device to stop */
#define GUARD_NS        900000000u /* after the connection has gone, whatever the server is at */

static const char help[] =
    "vyre-host is the process that owns a device (a GPU, or worker threads) on behalf of one\n"
    "application. libvyre starts it, talks to it over a socket at descriptor 3, and it ends when\n"
    "that socket closes; there is nothing to be done with it by hand. Which one an application\n"
    "starts is chosen by the option `host` of vyre_open, then by the variable VYRE_HOST, then by\n"
    "where vyre was installed. It must be of the same version as libvyre.\n";

static int is_socket(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/* Signals are meant for the application; a host ends with its socket. All others as they were made.
 */
static void set_signals(void)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); /* those that cannot be set stay */
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void *stop(void *argument)
{
    vyre_stop(argument, NULL);
    return NULL;
}

/* Stops the device if that can be done soon. */
static void stop_device(const struct host_server *server)
{
    pthread_t thread;
    struct timespec until;
    if (!server->core || pthread_create(&thread, NULL, stop, server->core) != 0) return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += END_PATIENCE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_timedjoin_np(thread, NULL, &until);
}

/* A thread that only waits for the end of the connection. The server may be inside a call of a
 * driver that never returns, or wait for a device that the application has made deaf. */
static void *guard(void *argument)
{
    struct timespec patience = {0, GUARD_NS};
    (void)argument;
    for (;;) {
        struct pollfd end = {HOST_SOCKET, 0, 0};
        if (poll(&end, 1, -1) > 0 && (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) break;
    }
    nanosleep(&patience, NULL);
    _exit(0);
}

static int start_guard(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, guard, NULL) == 0 && pthread_detach(thread) == 0;
}

static int talk(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) return puts("vyre-host " VYRE_VERSION) < 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0;
    if (argc > 1)
        fprintf(stderr, "vyre-host: error: unknown argument %.60s; try vyre-host --help\n",
                argv[1]);
    else
        fprintf(stderr,
                "vyre-host: error: there is no socket at descriptor %d; libvyre starts this "
                "program, see vyre-host --help\n",
                HOST_SOCKET);
    return 2;
}

int main(int argc, char **argv)
{
    static struct host_server server;
    const char *test = getenv("VYRE_HOST_TEST");
    int one = 1;
    vyre_error err;
    if (argc > 1 || !is_socket(HOST_SOCKET)) return talk(argc, argv);
    close_range(HOST_SOCKET + 1, ~0u, 0);
    set_signals();
    prctl(PR_SET_NAME, "vyre-host");
    if (setsockopt(HOST_SOCKET, SOL_SOCKET, SO_PASSCRED, &one, sizeof one) != 0 ||
        host_server_init(&server, HOST_SOCKET, NULL, &err) || !start_guard()) {
        fprintf(stderr, "vyre-host: error: the socket cannot be used: %s\n", strerror(errno));
        return 1;
    }
    server.test = test && strcmp(test, "1") == 0;
    vyre_status status = host_serve(&server);
    stop_device(&server);
    _exit(status ? 1 : 0);
}
