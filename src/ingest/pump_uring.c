/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The pump's engine over io_uring. The pump thread alone makes the ring, submits and reaps. Sources
 * are registered when they are first used. Buffers are registered for sources that are read past
 * the page cache: there it saves the system looking them up with each move, and nowhere else does
 * it measure better.
 */
#include "ingest/pump_uring.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define BUFFERS_MOST 16384u     /* entries of a table of buffers */
#define BUFFER_MOST  (1u << 30) /* bytes of one */

/* Life.
 * ------------------------------------------------------------------------------------------- */

static void end(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    if (!uring) return;
    vyre_ring_close(&uring->ring);
    vyre_pump_uring_wake_end(pump);
    vyre_memory_free(&pump->runtime->memory, uring->buffers,
                     uring->buffer_count * sizeof *uring->buffers);
    vyre_memory_free(&pump->runtime->memory, uring, sizeof *uring);
    pump->state = NULL;
}

/* A table for buffers, where one is wanted and can be had. */
static void make_buffers(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    uint32_t count = pump->runtime->options.max_handles;
    void *table;
    if (count > BUFFERS_MOST) count = BUFFERS_MOST;
    uring->no_buffers = 1;
    if (pump->runtime->io.without & VYRE_PUMP_FIXED_BUFFERS) return;
    if (vyre_memory_alloc(&pump->runtime->memory, count, sizeof *uring->buffers, "fixed buffers",
                          &table, NULL))
        return;
    uring->buffers = table;
    uring->buffer_count = count;
    if (io_uring_register_buffers_sparse(&uring->ring.uring, count) < 0) return;
    uring->no_buffers = 0;
    pump->features |= VYRE_PUMP_FIXED_BUFFERS;
}

static vyre_status start(struct vyre_pump *pump, char *text, size_t room, vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&pump->runtime->memory, 1, sizeof(struct uring), "pump", &memory, err);
    if (status) return status;
    struct uring *uring = pump->state = memory;
    struct vyre_ring_choice choice;
    uint32_t may = VYRE_RING_SINGLE_ISSUER | VYRE_RING_REGISTERED_RING | VYRE_RING_FIXED_FILES;
    if (pump->runtime->io.without & VYRE_PUMP_DEFERRED) may &= ~(uint32_t)VYRE_RING_SINGLE_ISSUER;
    if (pump->runtime->io.without & VYRE_PUMP_FIXED_FILES) may &= ~(uint32_t)VYRE_RING_FIXED_FILES;
    /* Twice as many: each can be cancelled, and the ring of completions is twice as large again. */
    struct vyre_ring_options options = {
        .calls = pump->calls, .entries = 2 * pump->entries + 8, .may = may, .files = PUMP_SOURCES};
    uring->event_fd = -1;
    status = vyre_ring_open(&uring->ring, &options, &choice, err);
    if (!status) status = vyre_pump_uring_wake_start(pump, err);
    if (status) {
        end(pump);
        return status;
    }
    make_buffers(pump);
    if (uring->ring.features & VYRE_RING_SINGLE_ISSUER) pump->features |= VYRE_PUMP_DEFERRED;
    if (uring->ring.features & VYRE_RING_FIXED_FILES) pump->features |= VYRE_PUMP_FIXED_FILES;
    if (uring->futex) pump->features |= VYRE_PUMP_FUTEX;
    snprintf(text, room, "%s", choice.text);
    return VYRE_OK;
}

/* Registered buffers and files.
 * ------------------------------------------------------------------------------------------- */

/* Empties the entries whose buffers are gone. */
static void sweep(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    uint32_t ended = __atomic_load_n(&pump->runtime->io.ended, __ATOMIC_ACQUIRE);
    struct iovec nothing = {NULL, 0};
    __u64 tag = 0;
    if (ended == uring->ended) return;
    uring->ended = ended;
    for (uint32_t i = 0; i < uring->buffer_count; i++) {
        const uint32_t *now = &pump->runtime->io.buffers[i].handle;
        if (uring->buffers[i] == 0 || uring->buffers[i] == __atomic_load_n(now, __ATOMIC_ACQUIRE))
            continue;
        io_uring_register_buffers_update_tag(&uring->ring.uring, i, &nothing, &tag, 1);
        uring->buffers[i] = 0;
    }
}

/* The place of an operation's buffer in the table, plus 1; 0: it has none. */
static uint32_t fixed_buffer(struct vyre_pump *pump, const struct pump_op *op)
{
    struct uring *uring = pump->state;
    uint32_t index = op->request.buffer & 0xFFFFu;
    __u64 tag = 0;
    if (!op->source->direct || uring->no_buffers || op->request.what & DEV_IO_BOUNCE ||
        index >= uring->buffer_count)
        return 0;
    const struct vyre_io_buffer *buffer = &pump->runtime->io.buffers[index];
    if (uring->buffers[index] == op->request.buffer) return index + 1;
    if (!buffer->pinned || buffer->bytes > BUFFER_MOST) return 0;
    struct iovec bytes = {buffer->base, buffer->bytes};
    __atomic_store_n(&pump->runtime->io.fixed, 1, __ATOMIC_RELAXED);
    int result = io_uring_register_buffers_update_tag(&uring->ring.uring, index, &bytes, &tag, 1);
    if (result == 1) {
        uring->buffers[index] = op->request.buffer;
        return index + 1;
    }
    uring->no_buffers = 1; /* those that are registered stay so */
    pump->features &= ~(uint32_t)VYRE_PUMP_FIXED_BUFFERS;
    size_t used = strlen(pump->report.choice);
    snprintf(pump->report.choice + used, sizeof pump->report.choice - used,
             "; buffers not fixed: errno %d%s", -result,
             result == -ENOMEM ? ", see ulimit -l" : "");
    return 0;
}

static int fixed_file(struct vyre_pump *pump, vyre_source *source)
{
    struct uring *uring = pump->state;
    if (source->fixed == 0 && (pump->features & VYRE_PUMP_FIXED_FILES) != 0)
        source->fixed = vyre_ring_file(&uring->ring, source->index, source->fd) ? 1 : 2;
    return source->fixed == 1;
}

static void forget(struct vyre_pump *pump, vyre_source *source)
{
    struct uring *uring = pump->state;
    if (source->fixed == 1) vyre_ring_file(&uring->ring, source->index, -1);
}

/* Moves.
 * ------------------------------------------------------------------------------------------- */

static enum vyre_ring_op ring_op(const struct pump_op *op)
{
    if (op->polling) return VYRE_RING_OP_POLL;
    return (op->request.what & DEV_IO_OP_BITS) == DEV_IO_WRITE ? VYRE_RING_OP_WRITE
                                                               : VYRE_RING_OP_READ;
}

static void prepare_move(struct pump_op *op, struct io_uring_sqe *sqe, int fd)
{
    uint64_t place = (uint64_t)vyre_pump_place(op);
    uint32_t length = vyre_pump_move(op), fixed = op->fixed;
    unsigned char *base = op->base + op->done;
    int write = (op->request.what & DEV_IO_OP_BITS) == DEV_IO_WRITE;
    if (write && fixed)
        io_uring_prep_write_fixed(sqe, fd, base, length, place, (int)fixed - 1);
    else if (write)
        io_uring_prep_write(sqe, fd, base, length, place);
    else if (fixed)
        io_uring_prep_read_fixed(sqe, fd, base, length, place, (int)fixed - 1);
    else
        io_uring_prep_read(sqe, fd, base, length, place);
}

static void begin(struct vyre_pump *pump, struct pump_op *op)
{
    struct uring *uring = pump->state;
    int fixed = fixed_file(pump, op->source);
    op->fixed = op->done == 0 && !op->polling ? fixed_buffer(pump, op) : op->fixed;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&uring->ring);
    if (!sqe) {
        op->next = uring->later;
        uring->later = op;
        return;
    }
    int fd = fixed ? (int)op->source->index : op->source->fd;
    uint32_t kind = op->request.what & DEV_IO_OP_BITS;
    if (op->polling)
        io_uring_prep_poll_add(sqe, fd, kind == DEV_IO_WRITE ? POLLOUT : POLLIN);
    else if (kind == DEV_IO_PREFETCH)
        io_uring_prep_fadvise(sqe, fd, (uint64_t)vyre_pump_place(op), (off_t)vyre_pump_ahead(op),
                              POSIX_FADV_WILLNEED);
    else
        prepare_move(op, sqe, fd);
    if (fixed) sqe->flags |= IOSQE_FIXED_FILE;
    vyre_ring_number(&uring->ring, sqe, ring_op(op), op->index);
}

static void cancel(struct vyre_pump *pump, struct pump_op *op)
{
    struct uring *uring = pump->state;
    if (vyre_ring_cancel(&uring->ring, ring_op(op), op->index)) return;
    op->asked = 0;
    uring->recalls = 1;
}

/* What found no room before. (lock) */
static void retry(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    struct pump_op *op = uring->later;
    uring->later = NULL;
    while (op) {
        struct pump_op *next = op->next;
        if (op->wish)
            vyre_pump_result(pump, op, -ECANCELED);
        else
            begin(pump, op);
        op = next;
    }
    if (!uring->recalls) return;
    uring->recalls = 0;
    for (uint32_t i = 0; i < pump->entries; i++) {
        op = &pump->ops[i];
        if (op->state != PUMP_BEGUN || !op->wish || op->asked) continue;
        op->asked = 1;
        cancel(pump, op);
    }
}

static void handle(struct vyre_pump *pump, const struct vyre_ring_event *event)
{
    if (event->op == VYRE_RING_OP_WAKE) {
        vyre_pump_uring_woken(pump, event->index);
        return;
    }
    int moved = event->op == VYRE_RING_OP_READ || event->op == VYRE_RING_OP_WRITE;
    if (!moved && event->op != VYRE_RING_OP_POLL) return; /* a cancel, or the ring's own */
    struct pump_op *op = &pump->ops[event->index];
    if (moved) {
        vyre_pump_result(pump, op, event->result);
        return;
    }
    op->polling = 0;
    if (event->result < 0 || op->wish)
        vyre_pump_result(pump, op, event->result < 0 ? event->result : -ECANCELED);
    else
        begin(pump, op);
}

/* Takes what has come. (lock) */
static void reap(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    struct vyre_ring_event event;
    while (vyre_ring_next(&uring->ring, &event))
        handle(pump, &event);
}

static void turn(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    int stale = __atomic_load_n(&pump->runtime->io.ended, __ATOMIC_RELAXED) != uring->ended;
    if (uring->later || uring->recalls || stale) {
        pthread_mutex_lock(&pump->lock);
        retry(pump);
        sweep(pump);
        pthread_mutex_unlock(&pump->lock);
    }
    if (uring->ring.prepared != 0) vyre_pump_uring_submit(pump, 0);
    /* Results whose work is deferred come when they are asked for. */
    if (io_uring_cq_ready(&uring->ring.uring) == 0 && pump->underway != 0)
        io_uring_get_events(&uring->ring.uring);
    if (io_uring_cq_ready(&uring->ring.uring) == 0) return;
    pthread_mutex_lock(&pump->lock);
    reap(pump);
    pthread_mutex_unlock(&pump->lock);
}

const struct pump_engine vyre_pump_uring = {
    VYRE_IO_ENGINE_URING, start, end, begin, cancel, turn, vyre_pump_uring_sleep, forget,
};
