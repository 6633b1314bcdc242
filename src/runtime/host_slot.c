/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests to queue 0 on behalf of the application: taken in order, put into the ring as soon as
 * there is room, and answered when the device has ended them.
 */
#include <string.h>

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

static vyre_status make(struct host_server *server, uint32_t type, struct host_request **out,
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
    vyre_status status = make(server, HOST_SLOT, &request, err);
    if (status) return status;
    server->slot_seen = 1;
    server->next_ticket = slot->ticket + 1;
    request->ticket = slot->ticket;
    request->request.opcode = opcode;
    memcpy(request->request.args, &slot->word[VYRE_SLOT_ARG0], sizeof request->request.args);
    request->taken = opcode != DEV_SYS_DROP;
    uint32_t fault = host_check(server, opcode, request->request.args, &request->shadow);
    if (fault) end_at_once(request, VYRE_DONE, fault);
    return VYRE_OK;
}

vyre_status host_do_replay(struct host_server *server, int *replied, vyre_error *err)
{
    const struct host_replay *asked = server->message.payload;
    struct host_request *request;
    struct dev_replay replay = {
        .params = {.ticket = asked->ticket, .deadline_ns = asked->deadline_ns}};
    const vyre_options *options = &server->core->options;
    if (asked->queue == 0 || asked->queue > options->max_queues ||
        (server->queues[asked->queue].state != HOST_SHADOW_COMING &&
         server->queues[asked->queue].state != HOST_SHADOW_LIVE))
        return vyre_fail(err, VYRE_E_NOT_FOUND, "there is no queue %u", asked->queue);
    memcpy(replay.slot, asked->word, sizeof replay.slot);
    memcpy(replay.params.scalar, asked->scalar, sizeof replay.params.scalar);
    if (!asked->has_params) replay.params.ticket = asked->ticket + 1; /* of no slot */
    vyre_status status = make(server, HOST_REPLAY, &request, err);
    if (status) return status;
    request->serial = server->message.header.serial;
    request->taken = 1;
    request->request.opcode = DEV_SYS_REPLAY;
    *replied = 1; /* with the end */
    request->block = (struct vyre_block){.kind = VYRE_BLOCK_DEVICE,
                                         .bytes = sizeof replay,
                                         .memory = &server->core->memory,
                                         .what = "replay",
                                         .mapping.fd = -1};
    status = server->core->port->block_make(server->core, &request->block, &replay, err);
    if (status) {
        end_at_once(request, VYRE_DONE, VYRE_FAULT_BAD_HANDLE);
        return VYRE_OK;
    }
    uint64_t address = request->block.address;
    const uint32_t args[VYRE_SLOT_ARGS] = {asked->queue, (uint32_t)asked->ticket,
                                           (uint32_t)(asked->ticket >> 32), (uint32_t)address,
                                           (uint32_t)(address >> 32)};
    memcpy(request->request.args, args, sizeof args);
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
    if (request->type == HOST_SLOT) {
        answer.completion.ticket = request->ticket;
        return host_send(server->socket, &sending, err);
    }
    vyre_status status = VYRE_OK;
    if (request->completion.outcome != VYRE_DONE)
        status = vyre_fail(err, VYRE_E_STOPPED, "the device has been stopped");
    else if (request->completion.result[0] != 0)
        status = vyre_fail(err, VYRE_E_NOT_FOUND, "the device refused to run a slot again");
    return host_reply(server, request->serial, status, err);
}

static void drop(struct host_server *server, struct host_request **link)
{
    struct host_request *request = *link;
    *link = request->next;
    if (!*link) server->requests_end = link;
    server->request_count--;
    server->core->port->block_free(server->core, &request->block);
    vyre_memory_free(&server->memory, request, sizeof *request);
}

vyre_status host_requests_progress(struct host_server *server, vyre_error *err)
{
    struct host_request **link = &server->requests;
    vyre *core = server->core;
    int room = 1;
    while (*link) {
        struct host_request *request = *link;
        vyre_status status = VYRE_OK;
        if (!request->ended && !request->request.posted && room) {
            room = vyre_system_send(core, &request->request);
            if (!room && vyre_runtime_stopped(core))
                end_at_once(request, VYRE_CANCELLED, VYRE_FAULT_STOPPED);
            if (room) core->port->help(core);
        }
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
