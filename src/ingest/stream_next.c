/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Handing out: vyre_stream_next, and the delivery thread that calls it. The consumer is the queue's
 * only reaper.
 *
 * In order, there is one thing to wait for at a time: that the next record is published, that its
 * slots have ended, that its result is written. An unordered stream waits for any slot; records
 * without one have a slot that does nothing.
 */
#include <string.h>

#include "base/clock.h"
#include "base/futex.h"
#include "ingest/stream.h"
#include "runtime/hosted.h"

void vyre_stream_tell(vyre_stream *stream)
{
    __atomic_fetch_add(&stream->event, 1, __ATOMIC_SEQ_CST); /* T1, before the look at waiting */
    if (__atomic_load_n(&stream->waiting, __ATOMIC_SEQ_CST) != 0)
        vyre_futex_wake(&stream->event, 1);
}

static uint64_t until(uint64_t timeout_ns)
{
    return timeout_ns == VYRE_FOREVER ? UINT64_MAX : vyre_clock_after(vyre_clock_ns(), timeout_ns);
}

static uint64_t left(uint64_t until_ns)
{
    if (until_ns == UINT64_MAX) return VYRE_FOREVER;
    uint64_t now = vyre_clock_ns();
    return now < until_ns ? until_ns - now : 0;
}

static vyre_status timed_out(vyre_error *err)
{
    return vyre_fail_with(err, VYRE_E_TIMEOUT, "wait longer, or cancel the stream",
                          "no chunk in the time given");
}

/* Sleeps until something has been told since `seen`. */
static vyre_status await_event(vyre_stream *stream, uint32_t seen, uint64_t until_ns,
                               vyre_error *err)
{
    uint64_t nap = left(until_ns);
    if (nap == 0) return timed_out(err);
    __atomic_store_n(&stream->waiting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&stream->event, __ATOMIC_SEQ_CST) == seen) /* after waiting: T1 */
        vyre_futex_wait(&stream->event, seen, nap);
    __atomic_store_n(&stream->waiting, 0, __ATOMIC_SEQ_CST);
    return VYRE_OK;
}

static vyre_status refuse(const vyre_stream *stream, vyre_error *err)
{
    switch (__atomic_load_n(&stream->failed, __ATOMIC_SEQ_CST)) {
    case VYRE_E_LOST:
        if (stream->shape.carried)
            return vyre_fail_with(err, VYRE_E_LOST,
                                  "open another stream and read again from the beginning",
                                  "the device died, and with it the result that is carried");
        return vyre_fail(err, VYRE_E_LOST, "the stream's device is gone");
    case VYRE_E_SYSTEM:
        return vyre_fail_with(err, VYRE_E_SYSTEM,
                              "open another stream; with io PREAD if it happens "
                              "again",
                              "the ring has lost requests of this stream");
    case VYRE_E_INTERNAL:
        return vyre_fail(err, VYRE_E_INTERNAL, "the stream could not make a slot");
    default:
        return vyre_fail_with(err, VYRE_E_STOPPED, "open another stream",
                              "the stream was cancelled");
    }
}

static bool cancelled(const vyre_stream *stream)
{
    return __atomic_load_n(&stream->cancelled, __ATOMIC_SEQ_CST) != 0;
}

uint32_t vyre_stream_restarts(const vyre *runtime)
{
    return runtime->hosted ? __atomic_load_n(&runtime->hosted->restarts, __ATOMIC_RELAXED) : 0;
}

/* What a slot of the record came to; the first one is the program's. */
static void note_end(vyre_stream *stream, struct vyre_stream_record *record,
                     const vyre_completion *completion)
{
    const struct vyre_stream_shape *shape = &stream->shape;
    vyre_chunk *chunk = &record->chunk;
    /* What was carried is gone with the device: also where it died between two slots. */
    if (shape->carried &&
        (completion->outcome == VYRE_LOST ||
         (shape->own_state && vyre_stream_restarts(stream->runtime) != stream->restarts)))
        vyre_stream_fail(stream, VYRE_E_LOST);
    if (completion->ticket != record->ticket) return;
    chunk->completion = *completion;
    if (completion->outcome != VYRE_DONE) vyre_stream_count(&stream->faulted, 1);
    if (completion->outcome != VYRE_DONE || shape->result == VYRE_STREAM_NONE) return;
    uint64_t start = 0, end = record->result_bytes;
    if (shape->range_end > shape->range_start && shape->range_end <= end) {
        start = shape->range_start;
        end = shape->range_end;
    }
    chunk->result = record->cell->results + record->result_at + start;
    chunk->result_bytes = end - start;
}

/* Waits for the slots of a record. */
static vyre_status await_slots(vyre_stream *stream, struct vyre_stream_record *record,
                               uint64_t timeout_ns, vyre_error *err)
{
    while (record->reaped < record->tickets) {
        vyre_completion completion;
        uint64_t ticket = record->ticket + record->reaped;
        vyre_status status = vyre_wait(stream->queue, ticket, timeout_ns, &completion, NULL);
        if (status == VYRE_E_TIMEOUT) return timed_out(err);
        if (status)
            return vyre_fail(err, VYRE_E_INTERNAL, "ticket %llu of a stream is unknown",
                             (unsigned long long)ticket);
        note_end(stream, record, &completion);
        record->reaped++;
    }
    return VYRE_OK;
}

/* In order.
 * --------------------------------------------------------------------------------------------- */

/* Reaps what has ended behind the next record too, so that its results are written meanwhile. */
static void reap_ahead(vyre_stream *stream)
{
    uint64_t count = __atomic_load_n(&stream->published_count, __ATOMIC_ACQUIRE);
    uint64_t before = stream->reaped;
    while (stream->reaped < count &&
           await_slots(stream, stream->published[stream->reaped & stream->published_mask], 0,
                       NULL) == VYRE_OK)
        stream->reaped++;
    if (stream->output.fd < 0 || stream->reaped == before) return;
    __atomic_store_n(&stream->output.ended, stream->reaped,
                     __ATOMIC_RELEASE); /* W1 pairs with W2 */
    vyre_stream_wake(stream);
}

static bool ready(const vyre_stream *stream)
{
    if (stream->handed >= stream->reaped) return false;
    return stream->output.fd < 0 ||
           stream->handed < __atomic_load_n(&stream->output.written, __ATOMIC_ACQUIRE);
}

static vyre_status next_in_order(vyre_stream *stream, uint64_t until_ns,
                                 struct vyre_stream_record **record, vyre_error *err)
{
    for (;;) {
        uint32_t seen = __atomic_load_n(&stream->event, __ATOMIC_SEQ_CST);
        if (cancelled(stream)) return refuse(stream, err);
        bool finished = __atomic_load_n(&stream->finished, __ATOMIC_ACQUIRE) != 0;
        uint64_t count = __atomic_load_n(&stream->published_count, __ATOMIC_ACQUIRE);
        if (stream->output.fd >= 0) reap_ahead(stream);
        if (ready(stream)) {
            *record = stream->published[stream->handed++ & stream->published_mask];
            return VYRE_OK;
        }
        vyre_status status;
        if (stream->handed == count) {
            *record = NULL;
            if (finished) return VYRE_OK;
            vyre_stream_count(&stream->waits_io, 1);
            status = await_event(stream, seen, until_ns, err);
        } else if (stream->reaped == stream->handed) {
            status = await_slots(stream, stream->published[stream->reaped & stream->published_mask],
                                 left(until_ns), err);
            if (!status && stream->output.fd < 0) stream->reaped++;
        } else {
            status = await_event(stream, seen, until_ns, err); /* for its write */
        }
        if (status) return status;
    }
}

/* As they end.
 * --------------------------------------------------------------------------------------------- */

/* Notes the tickets of all that was published. A slot may stay while many later ones end, so there
 * is no telling by its number where its record is. */
static void map_published(vyre_stream *stream)
{
    uint64_t count = __atomic_load_n(&stream->published_count, __ATOMIC_ACQUIRE);
    for (; stream->mapped < count; stream->mapped++) {
        const struct vyre_stream_record *record =
            stream->published[stream->mapped & stream->published_mask];
        vyre_ticket_map_put(&stream->by_ticket, record->ticket,
                            (uint32_t)(record - stream->records));
    }
}

static struct vyre_stream_record *take_completion(vyre_stream *stream)
{
    if (stream->completion_count == 0) return NULL;
    const vyre_completion *completion = &stream->completions[stream->completion_first++];
    stream->completion_count--;
    map_published(stream); /* records are published before their slots are submitted */
    uint32_t index = vyre_ticket_map_take(&stream->by_ticket, completion->ticket);
    struct vyre_stream_record *record = &stream->records[index];
    if (record->chunk.length != 0 && completion->opcode != VYRE_OP_NOP)
        note_end(stream, record, completion);
    return record;
}

static vyre_status next_of_any(vyre_stream *stream, uint64_t until_ns,
                               struct vyre_stream_record **record, vyre_error *err)
{
    for (;;) {
        uint32_t seen = __atomic_load_n(&stream->event, __ATOMIC_SEQ_CST);
        if (cancelled(stream)) return refuse(stream, err);
        bool finished = __atomic_load_n(&stream->finished, __ATOMIC_ACQUIRE) != 0;
        uint64_t count = __atomic_load_n(&stream->published_count, __ATOMIC_ACQUIRE);
        *record = take_completion(stream);
        if (*record) {
            stream->handed++;
            return VYRE_OK;
        }
        if (stream->handed == count) {
            if (finished) return VYRE_OK;
            vyre_stream_count(&stream->waits_io, 1);
            vyre_status status = await_event(stream, seen, until_ns, err);
            if (status) return status;
            continue;
        }
        size_t got = 0;
        vyre_status status = vyre_queue_reap_wait(stream->queue, stream->completions, 1,
                                                  VYRE_STREAM_REAP, left(until_ns), &got, NULL);
        stream->completion_first = 0;
        stream->completion_count = (uint32_t)got;
        if (status == VYRE_E_TIMEOUT && got == 0) return timed_out(err);
    }
}

static vyre_status take_next(vyre_stream *stream, uint64_t timeout_ns, vyre_chunk **chunk,
                             vyre_error *err)
{
    struct vyre_stream_record *record = NULL;
    uint64_t until_ns = until(timeout_ns);
    vyre_status status = stream->any ? next_of_any(stream, until_ns, &record, err)
                                     : next_in_order(stream, until_ns, &record, err);
    if (!status) *chunk = record ? &record->chunk : NULL;
    return status;
}

vyre_status vyre_stream_next(vyre_stream *stream, uint64_t timeout_ns, vyre_chunk **chunk,
                             vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    if (!chunk) return vyre_fail(err, VYRE_E_NULL, "chunk is null");
    if (stream->options.deliver)
        return vyre_fail_with(err, VYRE_E_STATE, "leave deliver out, or take chunks there",
                              "chunks of this stream go to its deliver function");
    return take_next(stream, timeout_ns, chunk, err);
}

void vyre_stream_release(vyre_stream *stream, vyre_chunk *chunk)
{
    if (!stream || !chunk) return;
    struct vyre_stream_record *record = (struct vyre_stream_record *)(void *)chunk;
    struct vyre_stream_cell *cell = record->cell;
    /* The last one out hands the cell over; what the others read of it is before that. */
    if (__atomic_sub_fetch(&cell->holds, 1, __ATOMIC_ACQ_REL) != 0) return;
    vyre_stream_push(&stream->returned, cell);
    vyre_stream_wake(stream);
}

/* The delivery thread.
 * --------------------------------------------------------------------------------------------- */

static void *deliver(void *argument)
{
    vyre_stream *stream = argument;
    vyre_chunk *chunk = NULL;
    while (take_next(stream, VYRE_FOREVER, &chunk, NULL) == VYRE_OK && chunk)
        if (stream->options.deliver(stream->options.deliver_ctx, stream, chunk) != 0)
            vyre_stream_cancel(stream, NULL);
    stream->options.deliver(stream->options.deliver_ctx, stream, NULL);
    return NULL;
}

vyre_status vyre_stream_delivery_start(vyre_stream *stream, vyre_error *err)
{
    if (!stream->options.deliver) return VYRE_OK;
    return vyre_stream_thread_start(&stream->delivery, deliver, stream, err);
}
