/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What happens to slots that wait for input or output: the pump's answers, pieces that workers have
 * copied, cancels, deadlines, the end of all. The poller's pass over them.
 *
 * Of an answer nothing is believed but that it came: numbers and lengths are checked against what
 * was asked.
 */
#ifndef VYRE_DEVICE_IO_ANSWER_H
#define VYRE_DEVICE_IO_ANSWER_H

#include "device/io.h"

/* Whether a pass over it is worth while: something waits, or has not been told. */
DEV_FN int dev_io_active(const struct dev_runtime *rt)
{
    const struct dev_io *io = &rt->io;
    return (io->live | io->outstanding | (io->posted ^ io->told)) != 0;
}

/* Whether answers wait to be read, for somebody who waits for them: a TICK for one who has ended is
 * no news. Any worker, under sched; a hint. */
DEV_FN int dev_io_news(const struct dev_runtime *rt)
{
    const struct dev_io *io = &rt->io;
    if (io->page == NULL) return 0;
    if ((dev_load_relaxed(&io->live) | dev_load_relaxed(&io->outstanding)) == 0) return 0;
    uint32_t n = dev_load_relaxed(&io->page->answered) - dev_load_relaxed(&io->answered);
    return n != 0 && n <= dev_io_answers(io->entries);
}

/* Whether workers have handed slots back. Any worker; a hint. */
DEV_FN int dev_io_handed_back(const struct dev_runtime *rt)
{
    return rt->io.waits != NULL && dev_load_relaxed(&rt->io.back) != DEV_NONE;
}

/* Why a slot should end, if it should, else what the answer says. */
DEV_FN uint32_t dev_io_fault(const struct dev_runtime *rt, uint32_t index, uint32_t status)
{
    if (status == DEV_IO_DONE) return VYRE_FAULT_NONE;
    if (status == DEV_IO_CANCELLED) {
        uint32_t wanted = dev_entry_stopped(rt, &rt->inflight[index]);
        if (wanted != 0) return wanted;
    }
    return VYRE_FAULT_IO;
}

/* The pump has answered the request of a slot. */
DEV_FN uint32_t dev_io_answered(struct dev_runtime *rt, uint32_t index,
                                const struct dev_io_answer *answer)
{
    struct dev_io_wait *wait = &rt->io.waits[index];
    const uint32_t *arg = dev_io_args(rt, index);
    uint32_t asked = wait->chunk == DEV_NONE ? arg[DEV_IO_ARG_LENGTH] : wait->piece;
    uint32_t bytes = answer->bytes < asked ? answer->bytes : asked;
    uint32_t fault = dev_io_fault(rt, index, answer->status);
    int whole = answer->status == DEV_IO_DONE && bytes == asked;
    wait->follows = wait->chunk != DEV_NONE && whole && !wait->last;
    wait->last |= !whole; /* the source has ended */
    if (wait->chunk != DEV_NONE && dev_io_kind(arg) == DEV_IO_READ && fault == 0 && bytes != 0) {
        wait->piece = bytes;
        dev_io_hand_over(rt, index);
        return 1;
    }
    wait->done += bytes;
    if (fault != 0 || wait->chunk == DEV_NONE || wait->last)
        return dev_io_settle(rt, index, fault, fault == VYRE_FAULT_IO ? answer->error : 0);
    return dev_io_next_piece(rt, index);
}

/* The slot that an answer is for, or DEV_NONE. */
DEV_FN uint32_t dev_io_slot_of(const struct dev_runtime *rt, const struct dev_io_answer *answer)
{
    uint32_t index = answer->number;
    if (index >= rt->inflight_slots || rt->io.waits[index].phase != DEV_IO_FOR_ANSWER)
        return DEV_NONE;
    return rt->inflight[index].version == answer->serial ? index : DEV_NONE;
}

/* Ends a slot, or sees to it that the pump lets go of it. It is in the table. */
DEV_FN uint32_t dev_io_cancel(struct dev_runtime *rt, uint32_t index, uint32_t fault)
{
    struct dev_io *io = &rt->io;
    switch (io->waits[index].phase) {
    case DEV_IO_FOR_ANSWER:
        dev_store_relaxed(&rt->inflight[index].cancel, fault);
        dev_io_recall(rt, index);
        return 0;
    case DEV_IO_FOR_COPY: /* the worker hands it back; then it ends */
        dev_store_relaxed(&rt->inflight[index].cancel, fault);
        return 0;
    case DEV_IO_FOR_ROOM:
        dev_io_unlink(rt, &io->room_first, &io->room_last, index);
        break;
    case DEV_IO_FOR_CHUNK:
        dev_io_unlink(rt, &io->chunk_first, &io->chunk_last, index);
        break;
    default:
        break;
    }
    return dev_io_settle(rt, index, fault, 0);
}

/* Ends the slots whose deadlines have come: those up to due_ns, whatever this device's clock says,
 * and finds out when the next one does. */
DEV_FN uint32_t dev_io_tick(struct dev_runtime *rt, uint64_t due_ns)
{
    struct dev_io *io = &rt->io;
    uint64_t now_ns = dev_clock_ns();
    uint32_t ended = 0, index = io->first;
    if (now_ns > due_ns) due_ns = now_ns;
    io->deadline_ns = 0;
    io->deadline_told = 0;
    while (index != DEV_NONE) {
        uint64_t deadline_ns = rt->inflight[index].deadline_ns;
        uint32_t next = io->waits[index].next;
        if (deadline_ns != 0 && deadline_ns <= due_ns) {
            uint32_t live = io->live;
            ended += dev_io_cancel(rt, index, VYRE_FAULT_DEADLINE);
            if (io->live + 1 < live) next = io->first; /* fences went too */
        } else {
            dev_io_want_tick(io, deadline_ns);
        }
        index = next;
    }
    return ended;
}

/* Reads all answers that are there. */
DEV_FN uint32_t dev_io_read_answers(struct dev_runtime *rt)
{
    struct dev_io *io = &rt->io;
    uint32_t places = dev_io_answers(io->entries), progress = 0;
    uint32_t tail = dev_load_acquire(&io->page->answered, DEV_SYSTEM); /* A19 pairs with R19 */
    if (tail - io->answered > places) return 0;
    while (io->answered != tail) {
        struct dev_io_answer answer;
        const dev_word64 *from =
            (const dev_word64 *)(const void *)&io->answers[io->answered & (places - 1)];
        dev_word64 *to = (dev_word64 *)(void *)&answer;
        for (uint32_t i = 0; i < sizeof answer / 8; i++)
            to[i] = dev_load64_relaxed(&from[i]);
        dev_store_relaxed(&io->answered, io->answered + 1);
        progress++;
        if (answer.status == DEV_IO_TICK) {
            progress += dev_io_tick(rt, answer.deadline_ns);
            continue;
        }
        uint32_t index = dev_io_slot_of(rt, &answer);
        int prefetch = answer.number == DEV_NONE && io->prefetches != 0;
        if (index == DEV_NONE && !prefetch) continue;
        io->prefetches -= (uint32_t)prefetch;
        dev_store_relaxed(&io->outstanding, io->outstanding - 1);
        if (index != DEV_NONE) progress += dev_io_answered(rt, index, &answer);
    }
    return progress;
}

/* Goes on with the slots that workers have copied for. */
DEV_FN uint32_t dev_io_take_back(struct dev_runtime *rt)
{
    struct dev_io *io = &rt->io;
    uint32_t progress = 0;
    if (!dev_io_handed_back(rt)) return 0;
    dev_lock(&rt->sched);
    uint32_t index = io->back;
    dev_store_relaxed(&io->back, DEV_NONE);
    dev_unlock(&rt->sched);
    while (index != DEV_NONE) {
        struct dev_io_wait *wait = &io->waits[index];
        uint32_t next = rt->inflight[index].next;
        uint32_t fault = dev_entry_stopped(rt, &rt->inflight[index]);
        int read = dev_io_kind(dev_io_args(rt, index)) == DEV_IO_READ;
        dev_store_relaxed(&io->resting, io->resting + 1);
        if (read) wait->done += wait->piece;
        if (fault != 0 || (read && wait->last))
            progress += dev_io_settle(rt, index, read && wait->last ? 0 : fault, 0);
        else if (read)
            progress += dev_io_next_piece(rt, index);
        else
            progress += 1 + dev_io_ask(rt, index);
        index = next;
    }
    return progress;
}

/* The device was told to stop: ends what it can, and wants the answers to the rest. */
DEV_FN uint32_t dev_io_stop(struct dev_runtime *rt)
{
    struct dev_io *io = &rt->io;
    uint32_t ended = 0, index = io->first;
    io->stopped = 1;
    while (index != DEV_NONE) {
        uint32_t next = io->waits[index].next, live = io->live;
        ended += dev_io_cancel(rt, index, VYRE_FAULT_STOPPED);
        if (io->live + 1 < live) next = io->first;
        index = next;
    }
    return ended;
}

/* One look at all of it; how much happened. */
DEV_NO_INLINE uint32_t dev_io_pass(struct dev_runtime *rt)
{
    struct dev_io *io = &rt->io;
    uint32_t progress = dev_io_read_answers(rt) + dev_io_take_back(rt);
    if (dev_load_relaxed(&rt->shutdown) && !io->stopped) progress += dev_io_stop(rt);
    progress += dev_io_go_on(rt);
    dev_io_tell(rt);
    return progress;
}

#endif
