/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that run again under the tickets that they had on a device that is gone. Their queue is
 * held (struct dev_held_bell) until the device has them all, so that what was submitted later comes
 * after them. They are handed to the device some at a time; after a fence, not before all in front
 * of it has ended: so no slot waits in queue 0, where it would hold up everybody.
 *
 * All is done in the server's thread. The application is told at once that a slot has been noted:
 * how it ends is written into the completion ring, by the device. Of the last one it hears when
 * they are all with the device, or as many as can be just now.
 */
#include <string.h>

#include "base/clock.h"
#include "device/poller.h"
#include "runtime/host_server.h"

#define WINDOW      64u        /* slots of a queue that the device has not looked at yet */
#define PATIENCE_NS 100000000u /* where the device has no room for more */

/* A slot that shall run again; or the ticket alone, of one in the ring that is to be cancelled. */
struct host_again {
    struct host_again *next;
    uint64_t ticket;
    uint32_t cancelled;
    struct dev_replay replay;
};

/* A queue that is held. */
struct host_row {
    struct host_row *next;
    uint32_t queue;
    uint32_t slots;
    uint64_t first_ticket;       /* in its ring */
    const struct dev_bell *bell; /* its own, as this process sees it */
    struct vyre_block hold;      /* the struct dev_held_bell */
    struct host_again *first;    /* in the order of their tickets */
    struct host_again **end;
    uint32_t count;
    struct host_again *cancels;
    uint32_t cancel_count;
    uint32_t whole;    /* the last slot has come */
    uint32_t underway; /* handed over, and not looked at */
    uint32_t waiting;  /* for the end of a fence */
    uint32_t let_go;   /* the device has been told */
    uint32_t serial;   /* of the last slot's message, while that has no REPLY */
    uint64_t until_ns; /* when it has one in any case */
};

/* Rows.
 * ------------------------------------------------------------------------------------------- */

static struct host_row *find_row(const struct host_server *server, uint32_t queue)
{
    struct host_row *row = server->rows;
    while (row && row->queue != queue)
        row = row->next;
    return row;
}

int host_row_held(const struct host_server *server, uint32_t queue)
{
    return find_row(server, queue) != NULL;
}

vyre_status host_row_open(struct host_server *server, const uint32_t *args,
                          const struct host_bell *bell, uint64_t *address, vyre_error *err)
{
    struct dev_held_bell hold = {{args[8], args[8]}, bell->address};
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&server->memory, 1, sizeof(struct host_row), "held queue", &memory, err);
    if (status) return status;
    struct host_row *row = memory;
    row->queue = args[0];
    row->slots = 1u << (args[1] & 0xFFu);
    row->first_ticket = dev_pair(&args[8]);
    row->bell = bell->host;
    row->end = &row->first;
    row->hold = (struct vyre_block){.kind = VYRE_BLOCK_DEVICE,
                                    .bytes = sizeof hold,
                                    .memory = &server->core->memory,
                                    .what = "held queue",
                                    .mapping.fd = -1};
    status = server->core->port->block_make(server->core, &row->hold, &hold, err);
    if (status) {
        vyre_memory_free(&server->memory, row, sizeof *row);
        return status;
    }
    row->next = server->rows;
    server->rows = row;
    *address = row->hold.address;
    return VYRE_OK;
}

static void free_list(struct host_server *server, struct host_again **list)
{
    while (*list) {
        struct host_again *again = *list;
        *list = again->next;
        vyre_memory_free(&server->memory, again, sizeof *again);
    }
}

void host_row_close(struct host_server *server, uint32_t queue)
{
    struct host_row **link = &server->rows;
    while (*link && (*link)->queue != queue)
        link = &(*link)->next;
    struct host_row *row = *link;
    if (!row) return;
    *link = row->next;
    free_list(server, &row->first);
    free_list(server, &row->cancels);
    server->core->port->block_free(server->core, &row->hold);
    vyre_memory_free(&server->memory, row, sizeof *row);
}

void host_rows_free(struct host_server *server)
{
    while (server->rows)
        host_row_close(server, server->rows->queue);
}

/* From the application.
 * ------------------------------------------------------------------------------------------- */

static vyre_status make_again(struct host_server *server, uint64_t ticket, struct host_again **out,
                              vyre_error *err)
{
    void *memory;
    vyre_status status = vyre_memory_alloc(&server->memory, 1, sizeof(struct host_again),
                                           "slot that runs again", &memory, err);
    if (status) return status;
    *out = memory;
    (*out)->ticket = ticket;
    return VYRE_OK;
}

vyre_status host_do_replay(struct host_server *server, int *replied, vyre_error *err)
{
    const struct host_replay *asked = server->message.payload;
    struct host_row *row = find_row(server, asked->queue);
    struct host_again *again;
    if (!row || row->whole)
        return vyre_fail(err, VYRE_E_NOT_FOUND, "there is no queue %u that is held", asked->queue);
    row->whole = asked->last != 0;
    if (row->count == row->slots)
        return vyre_fail(err, VYRE_E_LIMIT, "queue %u has only %u slots", row->queue, row->slots);
    vyre_status status = make_again(server, asked->ticket, &again, err);
    if (status) return status;
    struct dev_replay *replay = &again->replay;
    memcpy(replay->slot, asked->word, sizeof replay->slot);
    memcpy(replay->params.scalar, asked->scalar, sizeof replay->params.scalar);
    replay->params.deadline_ns = asked->deadline_ns;
    replay->params.ticket = asked->has_params ? asked->ticket : asked->ticket + 1; /* of no slot */
    *row->end = again;
    row->end = &again->next;
    row->count++;
    if (!row->whole) return VYRE_OK;
    *replied = 1; /* later */
    row->serial = server->message.header.serial;
    row->until_ns = vyre_clock_after(vyre_clock_ns(), PATIENCE_NS);
    return VYRE_OK;
}

int host_row_cancel(struct host_server *server, const uint32_t *args)
{
    struct host_row *row = find_row(server, args[0]);
    uint64_t ticket = dev_pair(&args[1]);
    struct host_again *again = row ? row->first : NULL;
    if (!row) return 0;
    while (again && again->ticket != ticket)
        again = again->next;
    if (again) {
        again->cancelled = 1;
        return 1;
    }
    /* One in the ring: its cancel bit may be that of a slot which is still to be run again. */
    uint32_t tail = __atomic_load_n(&row->bell->tail, __ATOMIC_ACQUIRE);
    uint32_t published = tail - (uint32_t)row->first_ticket;
    if (row->let_go || published > row->slots || ticket - row->first_ticket >= published) return 0;
    if (row->cancel_count == row->slots || make_again(server, ticket, &again, NULL)) return 0;
    again->next = row->cancels;
    row->cancels = again;
    row->cancel_count++;
    return 1;
}

/* To the device.
 * ------------------------------------------------------------------------------------------- */

static vyre_status ask(struct host_server *server, struct host_row *row, uint32_t opcode,
                       const uint32_t args[5], vyre_error *err)
{
    struct host_request *request;
    vyre_status status = host_request_make(server, 0, &request, err);
    if (status) return status;
    request->row = row;
    request->taken = 1;
    request->request.opcode = opcode;
    memcpy(request->request.args, args, 5 * sizeof args[0]);
    return VYRE_OK;
}

static vyre_status cancel(struct host_server *server, struct host_row *row,
                          const struct host_again *again, uint32_t coming, vyre_error *err)
{
    const uint32_t args[5] = {row->queue, (uint32_t)again->ticket, (uint32_t)(again->ticket >> 32),
                              coming, 0};
    return ask(server, row, DEV_SYS_CANCEL, args, err);
}

static vyre_status hand_over(struct host_server *server, struct host_row *row,
                             const struct host_again *again, vyre_error *err)
{
    struct vyre_block block = {.kind = VYRE_BLOCK_DEVICE,
                               .bytes = sizeof again->replay,
                               .memory = &server->core->memory,
                               .what = "slot that runs again",
                               .mapping.fd = -1};
    vyre_status status = VYRE_OK;
    if (again->cancelled) status = cancel(server, row, again, 1, err);
    if (!status) status = server->core->port->block_make(server->core, &block, &again->replay, err);
    if (status) return status;
    const uint32_t args[5] = {row->queue, (uint32_t)again->ticket, (uint32_t)(again->ticket >> 32),
                              (uint32_t)block.address, (uint32_t)(block.address >> 32)};
    struct host_request **made = server->requests_end;
    status = ask(server, row, DEV_SYS_REPLAY, args, err);
    if (status)
        server->core->port->block_free(server->core, &block);
    else
        (*made)->block = block;
    row->underway += !status;
    if (status || !dev_slot_is_fence(again->replay.slot)) return status;
    const uint32_t wait[5] = {row->queue | DEV_QUEUE_STAYS, 0, 0, 0, 0};
    row->waiting = 1;
    return ask(server, row, DEV_SYS_QUEUE_CLOSE, wait, err);
}

/* All slots are with the device: it may go on with the ring. */
static vyre_status let_go(struct host_server *server, struct host_row *row, vyre_error *err)
{
    const uint32_t args[5] = {row->queue, 0, 0, 0, 0};
    vyre_status status = VYRE_OK;
    for (const struct host_again *c = row->cancels; c && !status; c = c->next)
        status = cancel(server, row, c, 0, err);
    free_list(server, &row->cancels);
    row->let_go = 1;
    return status ? status : ask(server, row, DEV_SYS_QUEUE_OPEN, args, err);
}

static vyre_status feed(struct host_server *server, struct host_row *row, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    while (!status && row->first && !row->waiting && row->underway < WINDOW) {
        struct host_again *again = row->first;
        status = hand_over(server, row, again, err);
        row->first = again->next;
        if (!row->first) row->end = &row->first;
        vyre_memory_free(&server->memory, again, sizeof *again);
    }
    if (!status && !row->first && row->whole && !row->waiting && !row->let_go)
        status = let_go(server, row, err);
    return status;
}

/* The REPLY to the last slot. */
static vyre_status reply_last(struct host_server *server, struct host_row *row)
{
    uint32_t serial = row->serial;
    row->serial = 0;
    return serial != 0 ? host_reply(server, serial, VYRE_OK, NULL) : VYRE_OK;
}

vyre_status host_rows_progress(struct host_server *server, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    for (struct host_row *row = server->rows; row && !status && !server->stopped; row = row->next) {
        status = feed(server, row, err);
        int fenced = row->waiting && row->underway == 0;
        if (!status && (fenced || (row->serial != 0 && vyre_clock_ns() >= row->until_ns)))
            status = reply_last(server, row);
    }
    return status;
}

vyre_status host_row_answer(struct host_server *server, const struct host_request *request,
                            vyre_error *err)
{
    struct host_row *row = request->row;
    int done = request->completion.outcome == VYRE_DONE;
    if (done && request->completion.result[0] != 0 && request->request.opcode != DEV_SYS_CANCEL)
        return vyre_fail(err, VYRE_E_INTERNAL, "the device refused to run a slot again");
    if (request->request.opcode == DEV_SYS_REPLAY) row->underway--;
    if (request->request.opcode == DEV_SYS_QUEUE_CLOSE) row->waiting = 0;
    if (request->request.opcode != DEV_SYS_QUEUE_OPEN || !done) return VYRE_OK;
    vyre_status status = reply_last(server, row);
    host_row_close(server, row->queue);
    return status;
}
