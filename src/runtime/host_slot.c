/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests to queue 0, on behalf of the application or of a queue that is held: taken in order, put
 * into the ring as soon as there is room, and answered when the device has ended them.
 */
#include <string.h>

#include "device/entry.h"
#include "device/system.h"
#include "runtime/host_server.h"

/* What an application may ask of queue 0; the rest is for the host alone. */
static int may_ask(uint32_t opcode)
{
    switch (opcode) {
    case DEV_SYS_INSTALL:
    case DEV_SYS_DROP:
    case DEV_SYS_CANCEL:
    case DEV_SYS_QUEUE_OPEN:
    case DEV_SYS_QUEUE_CLOSE:
    case DEV_SYS_FRAMES:
    case DEV_SYS_IO:
    case VYRE_OP_SHUTDOWN:
        return 1;
    default:
        return 0;
    }
}

/* Under system.lock: only notes it. */
static void note_end(struct vyre_request *ended, const vyre_completion *completion)
{
    struct host_request *request = (struct host_request *)(void *)ended;
    request->completion = *completion;
    request->ended = 1;
}

static void end_at_once(struct host_request *request, uint32_t outcome, uint32_t fault)
{
    request->completion =
        (vyre_completion){.outcome = (uint16_t)outcome, .opcode = request->request.opcode};
    if (outcome == VYRE_DONE)
        request->completion.result[0] = fault;
    else
        request->completion.fault = (uint16_t)fault;
    request->taken = request->ended = 1;
}

vyre_status host_request_make(struct host_server *server, uint32_t type, struct host_request **out,
                              vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&server->memory, 1, sizeof(struct host_request), "request", &memory, err);
    if (status) return status;
    struct host_request *request = memory;
    request->type = type;
    request->request.ended = note_end;
    request->block.mapping.fd = -1;
    *server->requests_end = request;
    server->requests_end = &request->next;
    server->request_count++;
    server->own_count += type == 0;
    *out = request;
    return VYRE_OK;
}

vyre_status host_do_slot(struct host_server *server, vyre_error *err)
{
    const struct host_slot *slot = server->message.payload;
    uint32_t opcode = slot->word[VYRE_SLOT_OPCODE];
    struct host_request *request;
    if (!server->core) return vyre_fail(err, VYRE_E_STATE, "a SLOT before OPEN");
    if (server->slot_seen && slot->ticket != server->next_ticket)
        return vyre_fail(err, VYRE_E_RANGE, "a SLOT with ticket %llu where %llu is next",
                         (unsigned long long)slot->ticket, (unsigned long long)server->next_ticket);
    if (!may_ask(opcode))
        return vyre_fail(err, VYRE_E_NOT_PERMITTED, "a SLOT with opcode 0x%x", opcode);
    vyre_status status = host_request_make(server, HOST_SLOT, &request, err);
    if (status) return status;
    server->slot_seen = 1;
    server->next_ticket = slot->ticket + 1;
    request->ticket = slot->ticket;
    request->request.opcode = opcode;
    memcpy(request->request.args, &slot->word[VYRE_SLOT_ARG0], sizeof request->request.args);
    request->taken = opcode != DEV_SYS_DROP;
    uint32_t fault = host_check(server, opcode, request->request.args, &request->shadow);
    if (fault) end_at_once(request, VYRE_DONE, fault);
    if (opcode == DEV_SYS_CANCEL && host_row_cancel(server, request->request.args))
        end_at_once(request, VYRE_DONE, 1);
    return VYRE_OK;
}

/* What the device's answer means for what it was about. */
static void settle(struct host_server *server, struct host_request *request)
{
    const vyre_completion *end = &request->completion;
    struct host_shadow *shadow = request->shadow;
    int done = end->outcome == VYRE_DONE;
    if (!done || request->request.opcode == VYRE_OP_SHUTDOWN) server->stopped = 1;
    if (!shadow) return;
    if (shadow->state == HOST_SHADOW_GOING) {
        if (done) host_shadow_release(shadow);
    } else if (done && end->result[0] == 0) {
        shadow->state = HOST_SHADOW_LIVE;
    } else if (done || !request->request.posted) {
        host_shadow_release(shadow);
        if (request->request.opcode == DEV_SYS_QUEUE_OPEN)
            host_row_close(server, request->request.args[0]);
    }
}

static vyre_status send_taken(struct host_server *server, struct host_request *request,
                              vyre_error *err)
{
    struct host_taken taken = {request->ticket};
    struct host_sending sending = {
        .type = HOST_TAKEN, .payload = &taken, .payload_bytes = sizeof taken};
    request->taken = 1;
    return host_send(server->socket, &sending, err);
}

static vyre_status send_end(struct host_server *server, struct host_request *request,
                            vyre_error *err)
{
    struct host_answer answer = {request->ticket, request->completion};
    struct host_sending sending = {
        .type = HOST_ANSWER, .payload = &answer, .payload_bytes = sizeof answer};
    if (request->row) return host_row_answer(server, request, err);
    answer.completion.ticket = request->ticket;
    return host_send(server->socket, &sending, err);
}

static void drop(struct host_server *server, struct host_request **link)
{
    struct host_request *request = *link;
    *link = request->next;
    if (!*link) server->requests_end = link;
    server->request_count--;
    server->own_count -= request->type == 0;
    server->core->port->block_free(server->core, &request->block);
    vyre_memory_free(&server->memory, request, sizeof *request);
}

/* Requests of the application that wait on the device for a condition. */
static uint32_t count_waits(const struct host_server *server)
{
    uint32_t count = 0;
    for (const struct host_request *request = server->requests; request; request = request->next)
        count += !request->row && request->request.posted && request->request.waits;
    return count;
}

/* Whether a request must wait here because of queues that are held. A close would find nothing that
 * is left to do. And drops wait for those queues, which wait for requests of the host's own: so
 * they may not take all the room that there is for such as wait. */
static int held_back(const struct host_server *server, const struct host_request *request)
{
    uint32_t opcode = request->request.opcode;
    uint32_t most = dev_system_share(server->core->options.inflight_slots) / 2;
    if (!server->rows || request->row || vyre_runtime_stopped(server->core)) return 0;
    if (opcode == DEV_SYS_QUEUE_CLOSE && host_row_held(server, request->request.args[0])) return 1;
    return (opcode == DEV_SYS_QUEUE_CLOSE || opcode == DEV_SYS_DROP) && count_waits(server) >= most;
}

/* Puts a request into the ring of queue 0; 0: there is no room, for others neither. */
static int post(struct host_server *server, struct host_request *request)
{
    vyre *core = server->core;
    if (held_back(server, request)) return 1;
    if (vyre_system_send(core, &request->request)) {
        core->port->help(core);
        return 1;
    }
    if (vyre_runtime_stopped(core)) end_at_once(request, VYRE_CANCELLED, VYRE_FAULT_STOPPED);
    return 0;
}

vyre_status host_requests_progress(struct host_server *server, vyre_error *err)
{
    struct host_request **link = &server->requests;
    vyre *core = server->core;
    int room = 1;
    while (*link) {
        struct host_request *request = *link;
        vyre_status status = VYRE_OK;
        if (!request->ended && !request->request.posted && room) room = post(server, request);
        if (!request->taken && request->request.posted &&
            (request->ended || core->port->taken(core, request->request.ticket)))
            status = send_taken(server, request, err);
        if (!status && request->ended) {
            settle(server, request);
            status = send_end(server, request, err);
            drop(server, link);
        } else {
            link = &request->next;
        }
        if (status) return status;
    }
    return VYRE_OK;
}

void host_requests_free(struct host_server *server)
{
    while (server->requests)
        drop(server, &server->requests);
}
