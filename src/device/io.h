/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that ask for input or output, LOAD_MISS: from the entry that they wait in to the request
 * that the pump serves, and from its answer to their end. While one waits its entry says WAIT_IO
 * and no worker is at it. Only where bytes travel through a chunk, because the pump cannot see the
 * buffer, a worker copies them (io_copy.h) and hands the entry back.
 *
 * A slot whose request the pump has does not end before the pump has answered, whatever else
 * happens to it: a cancel, a deadline and a stop only ask for the answer. So the pump never touches
 * a buffer that nobody holds any more.
 *
 * All functions are the poller's.
 */
#ifndef VYRE_DEVICE_IO_H
#define VYRE_DEVICE_IO_H

#include "device/entry.h"

/* How the bytes of a slot went: result 3 of its completion. */
enum dev_io_path { DEV_IO_PATH_NONE = 0, DEV_IO_PATH_DIRECT = 1, DEV_IO_PATH_BOUNCE = 2 };

DEV_FN const uint32_t *dev_io_args(const struct dev_runtime *rt, uint32_t index)
{
    return rt->inflight[index].slot + VYRE_SLOT_ARG0;
}

/* The buffer of a slot that holds it. */
DEV_FN const struct dev_handle *dev_io_buffer(struct dev_runtime *rt, uint32_t index)
{
    return dev_handle_held(rt, dev_io_args(rt, index)[DEV_IO_ARG_BUFFER]);
}

/* Whether its bytes go through a chunk. */
DEV_FN int dev_io_bounces(struct dev_runtime *rt, uint32_t index)
{
    uint32_t kind = dev_io_kind(dev_io_args(rt, index));
    if (kind != DEV_IO_READ && kind != DEV_IO_WRITE) return 0;
    return (dev_io_buffer(rt, index)->rights & DEV_RIGHT_SEEN) == 0;
}

/* Where a chunk has the byte of the buffer that the piece begins with. */
DEV_FN uint32_t dev_io_shift(struct dev_runtime *rt, uint32_t index)
{
    uint64_t first = dev_io_buffer(rt, index)->address +
                     dev_io_pair(&dev_io_args(rt, index)[DEV_IO_ARG_AT]) + rt->io.waits[index].done;
    return (uint32_t)first & (DEV_IO_ALIGN - 1);
}

/* Lists through the `next` of entries.
 * ------------------------------------------------------------------------------------------- */

DEV_FN void dev_io_append(struct dev_runtime *rt, uint32_t *first, uint32_t *last, uint32_t index)
{
    rt->inflight[index].next = DEV_NONE;
    if (*first == DEV_NONE)
        *first = index;
    else
        rt->inflight[*last].next = index;
    *last = index;
}

DEV_FN uint32_t dev_io_shift_out(struct dev_runtime *rt, uint32_t *first)
{
    uint32_t index = *first;
    if (index != DEV_NONE) *first = rt->inflight[index].next;
    return index;
}

DEV_FN void dev_io_unlink(struct dev_runtime *rt, uint32_t *first, uint32_t *last, uint32_t index)
{
    uint32_t before = DEV_NONE;
    for (uint32_t i = *first; i != index; i = rt->inflight[i].next)
        before = i;
    if (before == DEV_NONE)
        *first = rt->inflight[index].next;
    else
        rt->inflight[before].next = rt->inflight[index].next;
    if (*last == index) *last = before;
}

/* Telling the pump.
 * ------------------------------------------------------------------------------------------- */

/* Writes the next request; dev_io_tell makes it visible. */
DEV_FN void dev_io_write(struct dev_io *io, const struct dev_io_request *request)
{
    const dev_word64 *from = (const dev_word64 *)(const void *)request;
    uint32_t place = io->posted & (dev_io_requests(io->entries) - 1);
    dev_word64 *to = (dev_word64 *)(void *)&io->requests[place];
    for (uint32_t i = 0; i < sizeof *request / 8; i++)
        dev_store64_relaxed(&to[i], from[i]);
    io->posted++;
}

/* Makes all that was written visible, and wakes the pump if it sleeps. */
DEV_FN void dev_io_tell(struct dev_runtime *rt)
{
    struct dev_io *io = &rt->io;
    if (io->told == io->posted && io->deadline_told) return;
    if (!io->deadline_told) dev_store64_relaxed(&io->page->deadline_ns, io->deadline_ns);
    dev_store_release(&io->page->requested, io->posted, DEV_SYSTEM); /* R18 pairs with A18 */
    io->told = io->posted;
    io->deadline_told = 1;
#if !defined(__CUDACC__) /* across a link nobody is told: the pump looks itself */
    dev_fence_full();    /* F3 */
    if (dev_load_relaxed(&io->page->asleep) == 0) return;
    dev_add_relaxed(&io->page->event, 1);
    dev_wake(&io->page->event, 1);
#endif
}

/* The slot at this place, or one before it, wants a TICK then. */
DEV_FN void dev_io_want_tick(struct dev_io *io, uint64_t deadline_ns)
{
    if (deadline_ns == 0 || (io->deadline_ns != 0 && io->deadline_ns <= deadline_ns)) return;
    io->deadline_ns = deadline_ns;
    io->deadline_told = 0;
}

DEV_FN void dev_io_request_fill(struct dev_runtime *rt, uint32_t index, uint32_t op,
                                struct dev_io_request *request)
{
    const struct dev_inflight *entry = &rt->inflight[index];
    const uint32_t *arg = dev_io_args(rt, index);
    request->what = op | entry->queue << 16;
    request->number = index;
    request->serial = entry->version;
    request->source = arg[DEV_IO_ARG_SOURCE];
    request->buffer = arg[DEV_IO_ARG_BUFFER];
    request->length = arg[DEV_IO_ARG_LENGTH];
    request->tenant = entry->slot[VYRE_SLOT_TENANT];
    request->reserved = 0;
    request->offset = dev_io_pair(&arg[DEV_IO_ARG_OFFSET]);
    request->at = dev_io_pair(&arg[DEV_IO_ARG_AT]);
    request->ticket = entry->ticket;
    request->deadline_ns = entry->deadline_ns;
}

/* The request of a slot for which there is room; of one that bounces, its next piece. */
DEV_FN void dev_io_post(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io_wait *wait = &rt->io.waits[index];
    struct dev_io_request request;
    dev_io_request_fill(rt, index, dev_io_kind(dev_io_args(rt, index)), &request);
    if (wait->chunk != DEV_NONE) {
        request.what |= DEV_IO_BOUNCE;
        request.buffer = wait->chunk;
        if (request.offset != DEV_IO_HERE) request.offset += wait->done;
        if (wait->done != 0) request.what |= DEV_IO_LATER;
        if (!wait->last) request.what |= DEV_IO_FOLLOWS;
        request.at = dev_io_shift(rt, index);
        request.length = wait->piece;
    }
    wait->phase = DEV_IO_FOR_ANSWER;
    dev_io_write(&rt->io, &request);
    dev_store_relaxed(&rt->io.outstanding, rt->io.outstanding + 1);
}

/* Asks for the answer to a request that the pump has; once. */
DEV_FN void dev_io_recall(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io_request request;
    if (rt->io.waits[index].cancelled) return;
    rt->io.waits[index].cancelled = 1;
    dev_io_request_fill(rt, index, DEV_IO_CANCEL, &request);
    dev_io_write(&rt->io, &request);
}

/* The end of a slot.
 * ------------------------------------------------------------------------------------------- */

DEV_FN void dev_io_forget(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io *io = &rt->io;
    struct dev_io_wait *wait = &io->waits[index];
    if (wait->phase == DEV_IO_FOR_OTHERS) io->fences--;
    if (wait->chunk != DEV_NONE) io->free_chunks |= (uint64_t)1 << wait->chunk;
    if (wait->previous == DEV_NONE)
        io->first = wait->next;
    else
        io->waits[wait->previous].next = wait->next;
    if (wait->next == DEV_NONE)
        io->last = wait->previous;
    else
        io->waits[wait->next].previous = wait->previous;
    wait->phase = DEV_IO_ENDED;
    dev_store_relaxed(&io->live, io->live - 1);
}

/* Ends a slot that is in no list and that the pump has nothing of. */
DEV_FN void dev_io_end(struct dev_runtime *rt, uint32_t index, uint32_t fault, uint32_t error)
{
    const struct dev_inflight *entry = &rt->inflight[index];
    uint32_t result[VYRE_COMPLETION_RESULTS] = {0, 0, 0, 0, 0, 0, 0, 0};
    struct dev_end end = dev_end_fault(entry->ticket, entry->slot[VYRE_SLOT_OPCODE], fault);
    uint32_t kind = dev_io_kind(dev_io_args(rt, index));
    result[0] = rt->io.waits[index].done;
    result[2] = error;
    if (kind == DEV_IO_READ || kind == DEV_IO_WRITE)
        result[3] =
            dev_io_bounces(rt, index) ? (uint32_t)DEV_IO_PATH_BOUNCE : (uint32_t)DEV_IO_PATH_DIRECT;
    end.steps = 1;
    end.result = result;
    if (rt->io.waits[index].follows) dev_io_recall(rt, index); /* the pump still expects a piece */
    dev_io_forget(rt, index);
    dev_store_relaxed(&rt->io.resting, rt->io.resting - 1);
    dev_entry_end(rt, index, &end, 0);
}

/* Ends the fences of a tenant that nothing is before any more. */
DEV_FN uint32_t dev_io_pass_fences(struct dev_runtime *rt, uint32_t tenant)
{
    uint32_t index = rt->io.first, ended = 0;
    while (index != DEV_NONE && rt->io.fences != 0) {
        uint32_t next = rt->io.waits[index].next;
        if (rt->inflight[index].slot[VYRE_SLOT_TENANT] == tenant) {
            if (rt->io.waits[index].phase != DEV_IO_FOR_OTHERS) break;
            dev_io_end(rt, index, VYRE_FAULT_NONE, 0);
            ended++;
        }
        index = next;
    }
    return ended;
}

/* The same, with the fences that waited for it. */
DEV_FN uint32_t dev_io_settle(struct dev_runtime *rt, uint32_t index, uint32_t fault,
                              uint32_t error)
{
    uint32_t tenant = rt->inflight[index].slot[VYRE_SLOT_TENANT];
    dev_io_end(rt, index, fault, error);
    return 1 + (rt->io.fences != 0 ? dev_io_pass_fences(rt, tenant) : 0);
}

/* The way of a slot.
 * ------------------------------------------------------------------------------------------- */

/* A worker is to copy between chunk and buffer. */
DEV_FN void dev_io_hand_over(struct dev_runtime *rt, uint32_t index)
{
    rt->io.waits[index].phase = DEV_IO_FOR_COPY;
    dev_store_relaxed(&rt->io.resting, rt->io.resting - 1);
    dev_lock(&rt->sched);
    dev_store_relaxed(&rt->inflight[index].slot[VYRE_SLOT_STATUS], VYRE_SLOT_PUBLISHED);
    dev_runq_push(rt, index, dev_clock_ns());
    dev_unlock(&rt->sched);
}

/* Posts the request of a slot that has its chunk, if it needs one, or lets it wait for room. A
 * prefetch has then done its work. */
DEV_FN uint32_t dev_io_ask(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io *io = &rt->io;
    if (io->outstanding >= io->entries) {
        io->waits[index].phase = DEV_IO_FOR_ROOM;
        dev_io_append(rt, &io->room_first, &io->room_last, index);
        return 0;
    }
    if (dev_io_kind(dev_io_args(rt, index)) != DEV_IO_PREFETCH) {
        dev_io_post(rt, index);
        return 1;
    }
    struct dev_io_request request;
    dev_io_request_fill(rt, index, DEV_IO_PREFETCH, &request);
    request.number = DEV_NONE;
    dev_io_write(io, &request);
    io->prefetches++;
    dev_store_relaxed(&io->outstanding, io->outstanding + 1);
    return dev_io_settle(rt, index, VYRE_FAULT_NONE, 0);
}

/* The next piece of a slot that bounces; it has a chunk. */
DEV_FN uint32_t dev_io_next_piece(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io_wait *wait = &rt->io.waits[index];
    const uint32_t *arg = dev_io_args(rt, index);
    uint32_t left = arg[DEV_IO_ARG_LENGTH] - wait->done;
    wait->piece = left < DEV_IO_CHUNK - DEV_IO_ALIGN ? left : DEV_IO_CHUNK - DEV_IO_ALIGN;
    wait->last = wait->piece == left;
    if (dev_io_kind(arg) == DEV_IO_READ || wait->piece == 0) return dev_io_ask(rt, index);
    dev_io_hand_over(rt, index); /* what is written is copied first */
    return 1;
}

/* Begins a slot; how much happened. */
DEV_FN uint32_t dev_io_start(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io *io = &rt->io;
    if (!dev_io_bounces(rt, index)) return dev_io_ask(rt, index);
    if (io->free_chunks == 0) {
        io->waits[index].phase = DEV_IO_FOR_CHUNK;
        dev_io_append(rt, &io->chunk_first, &io->chunk_last, index);
        return 0;
    }
    uint32_t chunk = 0;
    while ((io->free_chunks >> chunk & 1) == 0)
        chunk++;
    io->free_chunks &= ~((uint64_t)1 << chunk);
    io->waits[index].chunk = chunk;
    return dev_io_next_piece(rt, index);
}

/* A checked slot has its entry. */
DEV_FN void dev_io_accept(struct dev_runtime *rt, uint32_t index)
{
    struct dev_io *io = &rt->io;
    struct dev_io_wait *wait = &io->waits[index];
    const uint32_t *slot = rt->inflight[index].slot;
    dev_store_relaxed(&rt->inflight[index].slot[VYRE_SLOT_STATUS], VYRE_SLOT_WAIT_IO);
    dev_count_claims(rt, slot[VYRE_SLOT_TENANT], slot[VYRE_SLOT_PRIORITY], 1);
    wait->chunk = DEV_NONE;
    wait->piece = wait->done = wait->last = wait->follows = wait->cancelled = 0;
    wait->next = DEV_NONE;
    wait->previous = io->last;
    if (io->last == DEV_NONE)
        io->first = index;
    else
        io->waits[io->last].next = index;
    io->last = index;
    dev_store_relaxed(&io->live, io->live + 1);
    dev_store_relaxed(&io->resting, io->resting + 1);
    dev_io_want_tick(io, rt->inflight[index].deadline_ns);
    if (dev_io_kind(slot + VYRE_SLOT_ARG0) != DEV_IO_FENCE) {
        dev_io_start(rt, index);
        return;
    }
    wait->phase = DEV_IO_FOR_OTHERS;
    io->fences++;
    dev_io_pass_fences(rt, slot[VYRE_SLOT_TENANT]);
}

/* Those that waited for a chunk or for room, as far as there is some. */
DEV_FN uint32_t dev_io_go_on(struct dev_runtime *rt)
{
    struct dev_io *io = &rt->io;
    uint32_t progress = 0;
    while (io->chunk_first != DEV_NONE && io->free_chunks != 0)
        progress += 1 + dev_io_start(rt, dev_io_shift_out(rt, &io->chunk_first));
    while (io->room_first != DEV_NONE && io->outstanding < io->entries)
        progress += dev_io_ask(rt, dev_io_shift_out(rt, &io->room_first));
    return progress;
}

#endif
