/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Operations from one move to the next, and their answers. A move that brings less than was asked
 * for is gone on with, one that was interrupted is made again; an operation ends with all its
 * bytes, at the end of its source, with an error, or because somebody wants its end.
 */
#include <errno.h>

#include "ingest/pump.h"

#define SECTOR 512u /* past the page cache nothing smaller is read, but at the end of a file */

static uint32_t kind_of(const struct pump_op *op)
{
    return op->request.what & DEV_IO_OP_BITS;
}

uint32_t vyre_pump_move(const struct pump_op *op)
{
    uint32_t left = op->request.length - op->done;
    return left < PUMP_MOVE ? left : PUMP_MOVE;
}

void vyre_pump_begin(struct vyre_pump *pump, struct pump_op *op)
{
    pump->begun_bytes += vyre_pump_move(op);
    pump->engine->begin(pump, op);
}

uint32_t vyre_pump_ahead(const struct pump_op *op)
{
    if (op->request.length != 0 || op->source->length == 0) return op->request.length;
    uint64_t left = op->source->length - op->request.offset;
    return left < PUMP_MOVE ? (uint32_t)left : PUMP_MOVE;
}

int64_t vyre_pump_place(const struct pump_op *op)
{
    if (op->source->stream) return -1;
    return (int64_t)(op->source->offset + op->request.offset + op->done);
}

void vyre_pump_answer(struct vyre_pump *pump, const struct dev_io_answer *answer)
{
    uint32_t place = pump->answered & (dev_io_answers(pump->entries) - 1);
    const dev_word64 *from = (const dev_word64 *)(const void *)answer;
    dev_word64 *to = (dev_word64 *)(void *)&pump->answers[place];
    for (size_t i = 0; i < sizeof *answer / 8; i++)
        dev_store64_relaxed(&to[i], from[i]);
    pump->answered++;
}

void vyre_pump_tell(struct vyre_pump *pump)
{
    const struct dev_page *device = pump->runtime->page;
    if (pump->told == pump->answered) return;
    dev_store_release(&pump->page->answered, pump->answered, DEV_SYSTEM); /* R19 pairs with A19 */
    pump->told = pump->answered;
    pump->progress = 1;
    dev_fence_full(); /* F1, pairs with F2 in worker.h: the device sees it or we see that it sleeps
                       */
    if (dev_load_relaxed(&device->poller) == 0 && dev_load_relaxed(&device->sleepers) != 0)
        pump->runtime->port->wake(pump->runtime);
}

static void count(struct vyre_pump *pump, const struct pump_op *op)
{
    uint32_t kind = kind_of(op);
    if (kind == DEV_IO_PREFETCH) return;
    if (kind == DEV_IO_READ)
        PUMP_COUNT(pump, bytes_read, op->done);
    else
        PUMP_COUNT(pump, bytes_written, op->done);
    if (op->request.what & DEV_IO_BOUNCE) {
        PUMP_COUNT(pump, bounce_requests, 1);
        PUMP_COUNT(pump, bounce_bytes, op->done);
    } else {
        PUMP_COUNT(pump, straight_requests, 1);
        PUMP_COUNT(pump, straight_bytes, op->done);
        PUMP_COUNT(pump, fixed_requests, op->fixed != 0);
    }
}

/* The engine has nothing of the operation any more: answers it. (lock) */
static void finish(struct vyre_pump *pump, struct pump_op *op, uint32_t status, int error)
{
    struct dev_io_answer answer = {
        op->request.number, op->request.serial, status, (uint32_t)error, op->done, 0, 0};
    struct pump_lane *lane = vyre_pump_lane(op);
    count(pump, op);
    if (status == DEV_IO_FAILED) PUMP_COUNT(pump, failed, 1);
    if (status == DEV_IO_CANCELLED) {
        PUMP_COUNT(pump, cancelled, 1);
        if (op->wish == PUMP_WISH_SOURCE) {
            answer.status = DEV_IO_FAILED;
            answer.error = ECANCELED;
        }
    }
    if (op->wish != PUMP_WISH_HOLD) vyre_pump_answer(pump, &answer);
    op->source->underway--;
    op->state = PUMP_FREE;
    op->next = pump->free;
    pump->free = op;
    pump->underway--;
    pump->progress = 1;
    if (!lane || lane->busy != op) return;
    lane->busy = NULL;
    /* Of a slot that has ended, or is about to, no piece follows. */
    if (status != DEV_IO_DONE || op->done != op->request.length || op->wish) lane->owned = 0;
    vyre_pump_lane_next(pump, lane);
}

static void again(struct vyre_pump *pump, struct pump_op *op)
{
    if (op->wish)
        finish(pump, op, DEV_IO_CANCELLED, 0);
    else
        vyre_pump_begin(pump, op);
}

static void fail(struct vyre_pump *pump, struct pump_op *op, int error)
{
    int early = error == ECANCELED || error == EINTR || error == EAGAIN;
    if (op->wish && early) {
        finish(pump, op, DEV_IO_CANCELLED, 0);
    } else if (error == EINTR || error == EAGAIN) {
        PUMP_COUNT(pump, retries, 1);
        op->polling = error == EAGAIN;
        again(pump, op);
    } else {
        finish(pump, op, DEV_IO_FAILED, error);
    }
}

/* What came of a prefetch, or of a part of one that is about all the rest of a long window. */
static void advised(struct vyre_pump *pump, struct pump_op *op, int64_t result)
{
    uint32_t part = op->request.length == 0 ? vyre_pump_ahead(op) : 0;
    if (result < 0) {
        finish(pump, op, DEV_IO_FAILED, (int)-result);
        return;
    }
    op->request.offset += part;
    if (part == 0 || vyre_pump_ahead(op) == 0)
        finish(pump, op, DEV_IO_DONE, 0);
    else
        again(pump, op);
}

void vyre_pump_result(struct vyre_pump *pump, struct pump_op *op, int64_t result)
{
    pump->progress = 1;
    if (kind_of(op) == DEV_IO_PREFETCH) {
        advised(pump, op, result);
        return;
    }
    if (result < 0) {
        fail(pump, op, (int)-result);
        return;
    }
    uint32_t asked = vyre_pump_move(op);
    op->done += result < asked ? (uint32_t)result : asked;
    if (op->done == op->request.length) {
        finish(pump, op, DEV_IO_DONE, 0);
    } else if (result == 0 && kind_of(op) == DEV_IO_READ) {
        finish(pump, op, DEV_IO_DONE, 0); /* the source has ended */
    } else if (result == 0) {
        finish(pump, op, DEV_IO_FAILED, EIO); /* what takes nothing and says nothing */
    } else if (op->source->flags & VYRE_SOURCE_PARTIAL && kind_of(op) == DEV_IO_READ) {
        finish(pump, op, DEV_IO_DONE, 0);
    } else if (op->source->direct && result < asked && vyre_pump_place(op) % SECTOR != 0 &&
               kind_of(op) == DEV_IO_READ) {
        finish(pump, op, DEV_IO_DONE, 0); /* the tail of the file; what follows is not aligned */
    } else {
        PUMP_COUNT(pump, short_moves, 1);
        again(pump, op);
    }
}

/* Takes an operation out of the row of those that wait for a stream. */
static void unqueue(struct pump_lane *lane, struct pump_op *op)
{
    struct pump_op *before = NULL;
    for (struct pump_op *at = lane->first; at != op; at = at->next)
        before = at;
    if (before)
        before->next = op->next;
    else
        lane->first = op->next;
    if (lane->last == op) lane->last = before;
}

void vyre_pump_wish(struct vyre_pump *pump, struct pump_op *op, enum pump_wish wish)
{
    if (op->state == PUMP_FREE || op->wish >= (uint32_t)wish) return;
    op->wish = wish;
    if (op->state == PUMP_WAITING) {
        struct pump_lane *lane = vyre_pump_lane(op);
        unqueue(lane, op);
        if (lane->owned && lane->number == op->request.number &&
            lane->serial == op->request.serial && !lane->busy)
            lane->owned = 0;
        finish(pump, op, DEV_IO_CANCELLED, 0);
        vyre_pump_lane_next(pump, lane);
    } else if (!op->asked) {
        op->asked = 1;
        pump->engine->cancel(pump, op);
    }
}
