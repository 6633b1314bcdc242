/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations that the application brings, and the ways in which a host under test can be
 * told to fail.
 */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/host_server.h"

int host_function_known(const struct host_server *server, uint64_t number)
{
    for (uint32_t i = 0; i < server->function_count; i++)
        if (server->functions[i] == number) return 1;
    return 0;
}

vyre_status host_do_module(struct host_server *server, int *replied, vyre_error *err)
{
    const struct host_module *asked = server->message.payload;
    struct host_number number = {0};
    void *bytes;
    if (!memchr(asked->function, '\0', sizeof asked->function) || asked->function[0] == '\0')
        return vyre_fail(err, VYRE_E_RANGE, "a name of a function without beginning or end");
    if (asked->bytes == 0 || asked->bytes > HOST_MODULE_BYTES)
        return vyre_fail(err, VYRE_E_RANGE, "an image of %llu bytes; 1 to %u can be",
                         (unsigned long long)asked->bytes, HOST_MODULE_BYTES);
    if (server->function_count == server->core->options.max_handles)
        return vyre_fail(err, VYRE_E_LIMIT, "%u native operations have been linked already",
                         server->function_count);
    vyre_status status =
        host_copy_out(server, &server->message.fd[0], (size_t)asked->bytes, "image", &bytes, err);
    if (status) return status;
    struct vyre_native_image image = {bytes, (size_t)asked->bytes, asked->function};
    status = server->core->port->link(server->core, &image, &number.number, err);
    vyre_memory_free(&server->memory, bytes, (size_t)asked->bytes);
    if (status) return status;
    if (!host_function_known(server, number.number))
        server->functions[server->function_count++] = number.number;
    *replied = 1;
    return host_reply_with(server, server->message.header.serial, &number, sizeof number);
}

static void send_raw(const struct host_server *server, const void *bytes, size_t length)
{
    if (send(server->socket, bytes, length, MSG_NOSIGNAL) < 0) return;
}

vyre_status host_do_inject(struct host_server *server, vyre_error *err)
{
    const struct host_number *asked = server->message.payload;
    static const unsigned char garbage[100] = "no message of anybody";
    struct host_header half = {HOST_MAGIC, HOST_PROTOCOL, HOST_ANSWER, 0,
                               sizeof(struct host_answer)};
    if (!server->test)
        return vyre_fail_with(err, VYRE_E_NOT_PERMITTED, "start it with VYRE_HOST_TEST=1",
                              "this device host is not one that fails on demand");
    switch (asked->number) {
    case 1: /* at once: no sanitizer counts the threads that it leaves */
        syscall(SYS_exit_group, 9);
        return VYRE_OK;
    case 2:
        server->deaf = 1;
        return VYRE_OK;
    case 3:
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
        return VYRE_OK;
    case 4:
        send_raw(server, garbage, sizeof garbage);
        return VYRE_OK;
    case 5:
        send_raw(server, &half, sizeof half);
        return VYRE_OK;
    case 6: /* as in a call that does not return */
        for (;;)
            pause();
    default:
        return vyre_fail(err, VYRE_E_RANGE, "there is no failure %llu",
                         (unsigned long long)asked->number);
    }
}
