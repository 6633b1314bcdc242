/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The life of a device host after it has found its socket: greeting, one loop over what the
 * application asks for and what the device has ended, and the end.
 *
 * The loop waits for nothing but the socket while no request to queue 0 is under way. While one is,
 * somebody waits for it: the loop looks without a break for a moment, then more and more seldom.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/platform.h"
#include "runtime/host_server.h"
#include "runtime/layout_number.h"

#define SPIN_NS        20000u
#define NAP_FIRST_NS   20000u
#define NAP_LONGEST_NS 1000000u

#define MESSAGES_AT_ONCE 32u

vyre_status host_server_init(struct host_server *server, int socket, const vyre_allocator *hooks,
                             vyre_error *err)
{
    memset(server, 0, sizeof *server);
    server->socket = socket;
    server->user = (uint32_t)geteuid();
    server->requests_end = &server->requests;
    server->wake_fd = server->wake_stop = -1;
    server->staging.mapping.fd = -1;
    return vyre_memory_init(&server->memory, hooks, err);
}

void host_server_destroy(struct host_server *server)
{
    vyre *core = server->core;
    host_wake_end(server);
    if (core) vyre_stop(core, NULL);
    host_requests_free(server);
    host_rows_free(server);
    host_blocks_free(server);
    if (core) {
        vyre_options options = core->options;
        vyre_memory_free(&server->memory, server->handles,
                         options.max_handles * sizeof *server->handles);
        vyre_memory_free(&server->memory, server->queues,
                         (options.max_queues + 1) * sizeof *server->queues);
        vyre_memory_free(&server->memory, server->functions,
                         options.max_handles * sizeof *server->functions);
        vyre_close(core);
    }
    server->core = NULL;
    server->handles = server->queues = NULL;
    server->functions = NULL;
    server->frames = server->io = (struct host_shadow){0};
}

vyre_status host_reply_with(struct host_server *server, uint32_t serial, const void *answer,
                            uint32_t bytes)
{
    struct host_reply reply = {VYRE_OK, bytes};
    struct host_sending sending = {.type = HOST_REPLY,
                                   .serial = serial,
                                   .payload = &reply,
                                   .payload_bytes = sizeof reply,
                                   .extra = answer,
                                   .extra_bytes = bytes};
    return host_send(server->socket, &sending, NULL);
}

vyre_status host_reply(struct host_server *server, uint32_t serial, vyre_status status,
                       const vyre_error *cause)
{
    if (!status) return host_reply_with(server, serial, NULL, 0);
    struct host_reply reply = {status, (uint32_t)sizeof *cause};
    struct host_sending sending = {.type = HOST_REPLY,
                                   .serial = serial,
                                   .payload = &reply,
                                   .payload_bytes = sizeof reply,
                                   .extra = cause,
                                   .extra_bytes = (uint32_t)sizeof *cause};
    return host_send(server->socket, &sending, NULL);
}

/* Greeting.
 * ------------------------------------------------------------------------------------------- */

static vyre_status greet(struct host_server *server, vyre_error *err)
{
    struct host_hello hello = {VYRE_VERSION, HOST_PROTOCOL, (uint32_t)getpid(), host_layout()};
    struct host_sending sending = {
        .type = HOST_HELLO, .payload = &hello, .payload_bytes = sizeof hello};
    return host_send(server->socket, &sending, err);
}

/* Whether it is an application of our version that has greeted. */
static vyre_status check_hello(struct host_server *server, vyre_error *err)
{
    const struct host_hello *hello = server->message.payload;
    if (server->greeted) return vyre_fail(err, VYRE_E_STATE, "a second HELLO");
    char version[sizeof hello->version + 1] = {0};
    memcpy(version, hello->version, sizeof hello->version);
    if (strcmp(version, VYRE_VERSION) != 0 || hello->protocol != HOST_PROTOCOL)
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "let the option host or the variable VYRE_HOST name the vyre-host of "
                              "the same version as libvyre",
                              "this is vyre-host " VYRE_VERSION
                              " with protocol %u, the application has libvyre %s with protocol %u",
                              HOST_PROTOCOL, version, hello->protocol);
    if (hello->layout != host_layout())
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "build and install vyre-host and libvyre together, or let VYRE_HOST "
                              "name the vyre-host of the same build",
                              "vyre-host and libvyre are both of version " VYRE_VERSION
                              ", but their memory layouts are %08x and %08x",
                              host_layout(), hello->layout);
    server->greeted = 1;
    return VYRE_OK;
}

/* Every packet says whose it is: only those of our own user are served. */
static vyre_status check_sender(const struct host_server *server, vyre_error *err)
{
    if (server->message.sender_uid == server->user) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_NOT_PERMITTED, "start vyre-host as the user who uses it",
                          "a message of user %u to a device host of user %u",
                          server->message.sender_uid, server->user);
}

/* Requests.
 * ------------------------------------------------------------------------------------------- */

/* What needs no device, or makes it. */
static vyre_status serve_first(struct host_server *server, int *replied, vyre_error *err)
{
    switch (server->message.header.type) {
    case HOST_CAPS:
        return host_do_caps(server, replied, err);
    case HOST_DEVICES:
        return host_do_devices(server, replied, err);
    case HOST_OPEN:
        return host_do_open(server, err);
    case HOST_INJECT:
        return host_do_inject(server, err);
    default:
        return vyre_fail(err, VYRE_E_STATE, "message type %u before OPEN",
                         server->message.header.type);
    }
}

/* What was asked of queue 0 before is in its ring before the device is told to rest. */
static vyre_status do_pause(struct host_server *server, vyre_error *err)
{
    vyre_status status = host_progress(server, err);
    return status ? status : vyre_pause(server->core, err);
}

static vyre_status serve_device(struct host_server *server, int *replied, vyre_error *err)
{
    switch (server->message.header.type) {
    case HOST_BLOCK:
        return host_do_block(server, replied, err);
    case HOST_FORGET:
        return host_do_forget(server, err);
    case HOST_WRITE:
    case HOST_READ:
        return host_do_copy(server, err);
    case HOST_VIEW:
        return host_do_view(server, err);
    case HOST_REPLAY:
        return host_do_replay(server, replied, err);
    case HOST_MODULE:
        return host_do_module(server, replied, err);
    case HOST_PAUSE:
        return do_pause(server, err);
    case HOST_RESUME:
        return vyre_resume(server->core, err);
    default:
        return serve_first(server, replied, err);
    }
}

static vyre_status serve_request(struct host_server *server, vyre_error *err)
{
    uint32_t serial = server->message.header.serial;
    int replied = 0;
    vyre_status status =
        server->core ? serve_device(server, &replied, err) : serve_first(server, &replied, err);
    if (!status && replied) return VYRE_OK;
    return host_reply(server, serial, status, err);
}

vyre_status host_dispatch(struct host_server *server, vyre_error *err)
{
    uint32_t type = server->message.header.type;
    vyre_status status;
    memset(err, 0, sizeof *err);
    if (type == HOST_HELLO)
        status = check_hello(server, err);
    else if (!server->greeted)
        status = vyre_fail(err, VYRE_E_STATE, "message type %u before HELLO", type);
    else if (type >= HOST_REPLY)
        status = vyre_fail(err, VYRE_E_STATE, "message type %u is for hosts to send", type);
    else if (type == HOST_SLOT)
        status = host_do_slot(server, err);
    else
        status = serve_request(server, err);
    host_message_close(&server->message);
    return status;
}

/* The loop.
 * ------------------------------------------------------------------------------------------- */

vyre_status host_progress(struct host_server *server, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    if (server->requests) {
        server->core->port->help(server->core);
        vyre_system_collect(server->core);
        status = host_requests_progress(server, err);
    }
    /* After that: what a queue that is held waited for may have been among them. */
    return status ? status : host_rows_progress(server, err);
}

/* Whether messages are read at all just now. */
static int reading(const struct host_server *server)
{
    return server->request_count - server->own_count < HOST_MAX_REQUESTS && !server->deaf;
}

/* Serves the messages that are there, some at a time, so that answers do not wait for the last of
 * them. 1: the connection has ended, with *status. */
static int receive_some(struct host_server *server, vyre_status *status, vyre_error *err)
{
    for (uint32_t i = 0; i < MESSAGES_AT_ONCE; i++) {
        if (!reading(server)) return 0;
        uint32_t greeted = server->greeted;
        int got = host_receive(server->socket, &server->message, 0, err);
        if (got == 1) return 0;
        *status = got;
        if (got == VYRE_E_SYSTEM) return 1;
        uint32_t serial = 0;
        if (!*status) {
            *status = check_sender(server, err);
            serial = greeted ? 0 : server->message.header.serial;
            if (*status) host_message_close(&server->message);
        }
        if (!*status) *status = host_dispatch(server, err);
        if (!*status) continue;
        host_reply(server, serial, *status, err);
        return 1;
    }
    return 0;
}

/* Waits for the socket: at most nap_ns, or for ever. While nothing is read of it, 1: the
 * application has gone. */
static int wait_socket(const struct host_server *server, uint64_t nap_ns)
{
    int listens = reading(server);
    struct pollfd one = {server->socket, listens ? POLLIN : 0, 0};
    struct timespec nap = {0, (long)nap_ns};
    ppoll(&one, 1, nap_ns == UINT64_MAX ? NULL : &nap, NULL);
    return !listens && (one.revents & (POLLHUP | POLLERR)) != 0;
}

vyre_status host_serve(struct host_server *server)
{
    vyre_error err;
    uint64_t quiet_since = 0, nap_ns = 0;
    vyre_status status = greet(server, &err);
    while (!status) {
        uint32_t before = server->request_count;
        if (receive_some(server, &status, &err)) break;
        uint32_t came = server->request_count;
        status = host_progress(server, &err);
        if (status) break;
        if (server->request_count == 0) {
            if (wait_socket(server, UINT64_MAX)) break;
            quiet_since = 0;
            continue;
        }
        uint64_t now = vyre_clock_ns();
        if (quiet_since == 0 || came != before || server->request_count != came) {
            quiet_since = now;
            nap_ns = NAP_FIRST_NS;
        }
        if (now - quiet_since < SPIN_NS) {
            dev_yield();
            continue;
        }
        if (wait_socket(server, nap_ns)) break;
        if (nap_ns < NAP_LONGEST_NS) nap_ns *= 2;
    }
    return status == VYRE_E_SYSTEM ? VYRE_OK : status;
}
