/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The engine: the thread that has the ring and submits to the queue. It goes round: messages,
 * completions, new reads, commits; and sleeps when a round has changed nothing.
 *
 * Messages. Whoever has one for the engine stores it, then sets `news`, then looks whether the
 * engine sleeps. The engine says that it sleeps, then looks at `news` once more: no message is
 * missed, and nobody makes a call of the system for an engine that is awake.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "ingest/stream.h"

/* Messages.
 * --------------------------------------------------------------------------------------------- */

void vyre_stream_wake(vyre_stream *stream)
{
    uint64_t one = 1;
    __atomic_store_n(&stream->news, 1, __ATOMIC_SEQ_CST); /* N1, before the look at asleep */
    if (__atomic_load_n(&stream->asleep, __ATOMIC_SEQ_CST) == 0) return;
    if (__atomic_exchange_n(&stream->asleep, 0, __ATOMIC_SEQ_CST) == 0) return;
    while (write(stream->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {}
}

void vyre_stream_walk_wake(void *stream)
{
    vyre_stream_wake(stream);
}

void vyre_stream_push(struct vyre_stream_cell **stack, struct vyre_stream_cell *cell)
{
    struct vyre_stream_cell *top = __atomic_load_n(stack, __ATOMIC_RELAXED);
    do {
        cell->next = top;
    } while (!__atomic_compare_exchange_n(stack, &top, cell, true, __ATOMIC_RELEASE,
                                          __ATOMIC_RELAXED)); /* P1 pairs with P2 */
}

static struct vyre_stream_cell *take_all(struct vyre_stream_cell **stack)
{
    if (!__atomic_load_n(stack, __ATOMIC_RELAXED)) return NULL;
    return __atomic_exchange_n(stack, NULL, __ATOMIC_ACQUIRE); /* P2 pairs with P1 */
}

void vyre_stream_fail(vyre_stream *stream, vyre_status status)
{
    int32_t none = 0;
    __atomic_compare_exchange_n(&stream->failed, &none, (int32_t)status, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&stream->lock);
    __atomic_store_n(&stream->cancelled, 1, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&stream->room);
    pthread_mutex_unlock(&stream->lock);
    vyre_stream_wake(stream);
    vyre_stream_tell(stream);
}

/* Rounds.
 * --------------------------------------------------------------------------------------------- */

/* Cells that the caller has released. */
static uint32_t take_returned(vyre_stream *stream)
{
    uint32_t count = 0;
    struct vyre_stream_cell *next;
    for (struct vyre_stream_cell *cell = take_all(&stream->returned); cell; cell = next) {
        next = cell->next;
        count++;
        stream->out--;
        if (cell->tail)
            cell->returned = 1;
        else
            vyre_stream_cell_free(stream, cell);
    }
    return count;
}

/* What a reader has done for a stream that ends early. */
static void drop_job(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    if (cell->job == VYRE_JOB_READ) {
        stream->reading--;
        return;
    }
    stream->opening--;
    if (cell->opened.fd >= 0 && cell->opened.own) close(cell->opened.fd);
}

static void finish_read(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    stream->reading--;
    vyre_stream_file_read(stream, cell, cell->read_result);
}

/* Jobs that the readers have done. */
static uint32_t take_done(vyre_stream *stream)
{
    uint32_t count = 0;
    struct vyre_stream_cell *next;
    for (struct vyre_stream_cell *cell = take_all(&stream->done); cell; cell = next) {
        next = cell->next;
        count++;
        if (stream->cancel_begun)
            drop_job(stream, cell);
        else if (cell->job == VYRE_JOB_OPEN)
            vyre_stream_opened(stream, cell);
        else
            finish_read(stream, cell);
    }
    return count;
}

static void take_event(vyre_stream *stream, const struct vyre_ring_event *event)
{
    bool ending = stream->cancel_begun != 0;
    switch (event->op) {
    case VYRE_RING_OP_WAKE:
        stream->wake_armed = 0;
        break;
    case VYRE_RING_OP_READ:
        stream->cells[event->index].inflight = 0;
        if (!ending) vyre_stream_file_read(stream, &stream->cells[event->index], event->result);
        break;
    case VYRE_RING_OP_POLL:
        if (event->index == VYRE_STREAM_NONE) {
            vyre_stream_output_ready(stream);
            break;
        }
        stream->files[event->index].polling = 0;
        if (!ending) vyre_stream_file_readable(stream, &stream->files[event->index], event->result);
        break;
    case VYRE_RING_OP_WRITE:
        vyre_stream_output_written(stream, event->index, event->result);
        break;
    case VYRE_RING_OP_CANCEL:
    case VYRE_RING_OP_NOP:
        break;
    }
}

static uint32_t take_events(vyre_stream *stream)
{
    struct vyre_ring_event event;
    uint32_t count = 0;
    while (stream->uses_ring && vyre_ring_next(&stream->ring, &event)) {
        take_event(stream, &event);
        count++;
    }
    return count;
}

/* Requests that found no room in the ring when they were made. */
static void issue_again(vyre_stream *stream)
{
    struct vyre_stream_cell *cell = stream->unissued, *next;
    stream->unissued = NULL;
    for (; cell; cell = next) {
        next = cell->next;
        vyre_stream_issue_read(stream, cell);
    }
    for (uint32_t i = 0; stream->uses_ring && i < stream->file_count; i++) {
        struct vyre_stream_file *file = &stream->files[i];
        if (file->used && file->kind == VYRE_SOURCE_PIPE && !file->polling && !file->readable)
            vyre_stream_file_watch(stream, file);
    }
}

static bool all_read(vyre_stream *stream)
{
    return stream->item_low == stream->item_high && stream->files_used == 0 &&
           stream->opening == 0 && stream->order.next == &stream->order && vyre_stream_fed(stream);
}

static void look_for_end(vyre_stream *stream)
{
    if (stream->finished || !all_read(stream)) return;
    __atomic_store_n(&stream->finished, 1, __ATOMIC_RELEASE);
    vyre_stream_tell(stream);
}

/* Sleeping.
 * --------------------------------------------------------------------------------------------- */

static void arm_wake(vyre_stream *stream)
{
    if (stream->wake_armed) return;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&stream->ring);
    if (!sqe) return;
    io_uring_prep_read(sqe, stream->wake_fd, &stream->wake_word, sizeof stream->wake_word, 0);
    vyre_ring_number(&stream->ring, sqe, VYRE_RING_OP_WAKE, 0);
    stream->wake_armed = 1;
}

/* A ring that takes nothing: a moment, then again. */
static void breathe(void)
{
    struct timespec moment = {0, 1000000};
    nanosleep(&moment, NULL);
}

static void submit(vyre_stream *stream, int wait)
{
    int result = vyre_ring_submit(&stream->ring, wait);
    if (result == 0) return;
    if (result == -EBADR && !__atomic_load_n(&stream->cancelled, __ATOMIC_RELAXED))
        vyre_stream_fail(stream, VYRE_E_SYSTEM);
    if (result != -EINTR) breathe();
}

static void sleep_until_news(vyre_stream *stream)
{
    if (stream->uses_ring) arm_wake(stream);
    __atomic_store_n(&stream->asleep, 1, __ATOMIC_SEQ_CST); /* before the look at news: N1 */
    if (__atomic_load_n(&stream->news, __ATOMIC_SEQ_CST) == 0) {
        if (stream->hungry) vyre_stream_count(&stream->waits_device, 1);
        if (!stream->uses_ring)
            vyre_stream_pipes_poll(stream);
        else if (stream->wake_armed)
            submit(stream, 1);
        else
            breathe();
    }
    __atomic_store_n(&stream->asleep, 0, __ATOMIC_SEQ_CST);
}

/* Ending.
 * --------------------------------------------------------------------------------------------- */

/* Asks for the end of all slots that may not have ended. */
static void cancel_slots(vyre_stream *stream)
{
    for (uint32_t i = 0; stream->queue && i < stream->options.depth; i++) {
        const struct vyre_stream_cell *cell = &stream->cells[i];
        for (uint32_t k = 0; cell->state == VYRE_CELL_OUT && k < cell->record_count; k++)
            for (uint32_t n = 0; n < cell->records[k].tickets; n++)
                vyre_cancel(stream->queue, cell->records[k].ticket + n, NULL);
    }
}

/* Asks for the end of all that is under way, as far as the ring has room. */
static void cancel_all(vyre_stream *stream)
{
    bool all = true;
    for (uint32_t i = 0; stream->uses_ring && i < stream->options.depth && all; i++)
        if (stream->cells[i].inflight)
            all = vyre_ring_cancel(&stream->ring, VYRE_RING_OP_READ, i) != 0;
    for (uint32_t i = 0; stream->uses_ring && i < stream->file_count && all; i++)
        if (stream->files[i].used && stream->files[i].polling)
            all = vyre_ring_cancel(&stream->ring, VYRE_RING_OP_POLL, i) != 0;
    if (stream->walk) vyre_walk_cancel(stream->walk);
    all = all && vyre_stream_output_cancel(stream);
    if (all) cancel_slots(stream);
    stream->cancel_begun = all;
}

/* Whether neither the kernel nor a reader touches a cell. A ring that is dead will not say: then it
 * is the end of this thread, which waits in the kernel for all that it has asked for. */
static bool quiet(const vyre_stream *stream)
{
    if (stream->opening != 0 || stream->reading != 0) return false;
    return !stream->uses_ring || stream->ring.inflight == 0 || stream->ring.dead;
}

static bool work(vyre_stream *stream)
{
    __atomic_store_n(&stream->news, 0, __ATOMIC_SEQ_CST);
    uint32_t changes = take_returned(stream) + take_done(stream) + take_events(stream);
    if (__atomic_load_n(&stream->cancelled, __ATOMIC_SEQ_CST)) {
        if (!stream->cancel_begun) cancel_all(stream);
        return changes != 0;
    }
    issue_again(stream);
    if (!__atomic_load_n(&stream->paused, __ATOMIC_SEQ_CST)) {
        vyre_stream_feed(stream);
        changes += vyre_stream_dispatch(stream);
    }
    uint64_t head = stream->next_number;
    vyre_stream_commit(stream);
    /* What had no descriptor may be the head now, and then it gets one. */
    if (stream->short_of_files && stream->next_number != head) changes++;
    vyre_stream_output_go(stream);
    look_for_end(stream);
    return changes != 0;
}

static void *run(void *argument)
{
    vyre_stream *stream = argument;
    vyre_stream_ring_start(stream);
    if (stream->start_status) return NULL;
    for (;;) {
        bool changed = work(stream);
        if (__atomic_load_n(&stream->closing, __ATOMIC_SEQ_CST)) {
            uint64_t one = 1;
            if (quiet(stream)) break;
            if (stream->wake_armed && write(stream->wake_fd, &one, sizeof one) < 0) breathe();
        }
        if (stream->retry || (changed && stream->uses_ring && stream->ring.prepared != 0))
            submit(stream, 0);
        else if (!changed)
            sleep_until_news(stream);
        stream->retry = 0;
    }
    vyre_ring_close(&stream->ring);
    return NULL;
}

vyre_status vyre_stream_engine_start(vyre_stream *stream, vyre_error *err)
{
    stream->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (stream->wake_fd >= 0) stream->spare_fd = fcntl(stream->wake_fd, F_DUPFD_CLOEXEC, 0);
    if (stream->spare_fd < 0) return vyre_fail_errno(err, errno, "making an eventfd");
    stream->start_status = 1;
    vyre_status status = vyre_stream_thread_start(&stream->engine, run, stream, err);
    if (status) return status;
    pthread_mutex_lock(&stream->lock);
    while (stream->start_status > 0)
        pthread_cond_wait(&stream->room, &stream->lock);
    status = (vyre_status)stream->start_status;
    pthread_mutex_unlock(&stream->lock);
    if (status && err) *err = stream->start_error;
    return status;
}

void vyre_stream_engine_stop(vyre_stream *stream)
{
    __atomic_store_n(&stream->closing, 1, __ATOMIC_SEQ_CST);
    vyre_stream_wake(stream);
    vyre_stream_thread_join(&stream->engine);
}
