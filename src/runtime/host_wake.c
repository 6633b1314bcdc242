/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Wake calls of the application: a submit that finds the device asleep writes to an event, and a
 * thread that does nothing else passes it on. So a wake never waits behind a request.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "runtime/host_server.h"

static void *pass_on(void *argument)
{
    struct host_server *server = argument;
    struct pollfd both[2] = {{server->wake_fd, POLLIN, 0}, {server->wake_stop, POLLIN, 0}};
    for (;;) {
        uint64_t count;
        if (poll(both, 2, -1) < 0 && errno != EINTR) return NULL;
        if (both[1].revents != 0) return NULL;
        if ((both[0].revents & POLLIN) == 0) {
            if (both[0].revents != 0) both[0].fd = -1; /* it is of no use any more */
            continue;
        }
        ssize_t got = read(server->wake_fd, &count, sizeof count);
        if (got == (ssize_t)sizeof count)
            server->core->port->wake(server->core);
        else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
            both[0].fd = -1;
    }
}

vyre_status host_wake_start(struct host_server *server, int fd, vyre_error *err)
{
    sigset_t all, before;
    server->wake_stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->wake_stop < 0) return vyre_fail_errno(err, errno, "making an eventfd");
    server->wake_fd = fd;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&server->wake_thread, NULL, pass_on, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        server->wake_fd = -1;
        return vyre_fail_errno(err, failed, "starting the thread that waits for wake calls");
    }
    server->waking = 1;
    return VYRE_OK;
}

void host_wake_end(struct host_server *server)
{
    uint64_t one = 1;
    if (server->waking) {
        while (write(server->wake_stop, &one, sizeof one) < 0 && errno == EINTR) {}
        pthread_join(server->wake_thread, NULL);
    }
    if (server->wake_fd >= 0) close(server->wake_fd);
    if (server->wake_stop >= 0) close(server->wake_stop);
    server->wake_fd = server->wake_stop = -1;
    server->waking = 0;
}
