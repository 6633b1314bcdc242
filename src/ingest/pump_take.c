/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests as they come in: each is copied once, checked, and begun or refused. A request that is
 * refused has an answer and faults its slot; nothing else happens to anybody.
 */
#include <errno.h>

#include "base/clock.h"
#include "ingest/pump.h"

static uint32_t kind_of(const struct dev_io_request *request)
{
    return request->what & DEV_IO_OP_BITS;
}

/* The source that a handle names, or NULL. (lock) */
static vyre_source *find_source(struct vyre_pump *pump, uint32_t handle)
{
    vyre_source *source = pump->sources[(handle & 0xFFFFu) % PUMP_SOURCES];
    if (!source || (handle & 0xFFFFu) >= PUMP_SOURCES || source->generation != handle >> 16)
        return NULL;
    return source->closing ? NULL : source;
}

/* Whether the bytes that are asked for lie where the source may be used: 0, or errno. */
static int check_extent(const vyre_source *source, const struct dev_io_request *request)
{
    uint64_t offset = request->offset;
    if (source->stream) {
        int here = offset == 0 || offset == DEV_IO_HERE || (request->what & DEV_IO_LATER) != 0;
        return here && kind_of(request) != DEV_IO_PREFETCH ? 0 : ESPIPE;
    }
    if (offset > PUMP_FILE_MAX || source->offset > PUMP_FILE_MAX - offset ||
        request->length > PUMP_FILE_MAX - offset - source->offset)
        return EOVERFLOW;
    if (source->length == 0) return 0;
    return offset <= source->length && request->length <= source->length - offset ? 0 : ERANGE;
}

/* Where the bytes of a request lie in this process: 0, or errno. */
static int find_bytes(struct vyre_pump *pump, const struct dev_io_request *request,
                      struct pump_op *op)
{
    op->base = NULL;
    if (kind_of(request) == DEV_IO_PREFETCH) return 0;
    if (request->what & DEV_IO_BOUNCE) {
        if (request->buffer >= pump->chunk_count || request->at > DEV_IO_CHUNK ||
            request->length > DEV_IO_CHUNK - request->at)
            return EFAULT;
        op->base = pump->chunks + (size_t)request->buffer * DEV_IO_CHUNK + request->at;
        return 0;
    }
    uint32_t index = request->buffer & 0xFFFFu;
    if (index >= pump->runtime->options.max_handles) return EFAULT;
    const struct vyre_io_buffer *buffer = &pump->runtime->io.buffers[index];
    if (__atomic_load_n(&buffer->handle, __ATOMIC_ACQUIRE) != request->buffer || /* A20 */
        request->at > buffer->bytes || request->length > buffer->bytes - request->at)
        return EFAULT;
    op->base = buffer->base + request->at;
    return 0;
}

/* Whether the request may be served: 0, or errno. Fills the operation. (lock) */
static int check(struct vyre_pump *pump, const struct dev_io_request *request, struct pump_op *op)
{
    vyre_source *source = find_source(pump, request->source);
    uint32_t right = kind_of(request) == DEV_IO_WRITE ? VYRE_RIGHT_WRITE : VYRE_RIGHT_READ;
    if (kind_of(request) < DEV_IO_READ || kind_of(request) > DEV_IO_PREFETCH) return EINVAL;
    if (!source) return EBADF;
    if (source->tenant != request->tenant && source->tenant != VYRE_TENANT_ANY) return EACCES;
    if ((source->rights & right) == 0) return EACCES;
    int error = check_extent(source, request);
    if (!error) error = find_bytes(pump, request, op);
    op->source = source;
    return error;
}

/* Streams.
 * ------------------------------------------------------------------------------------------- */

struct pump_lane *vyre_pump_lane(struct pump_op *op)
{
    if (!op->source->stream) return NULL;
    return &op->source->lane[kind_of(&op->request) == DEV_IO_WRITE];
}

static int owns(const struct pump_lane *lane, const struct dev_io_request *request)
{
    return lane->number == request->number && lane->serial == request->serial;
}

void vyre_pump_lane_next(struct vyre_pump *pump, struct pump_lane *lane)
{
    struct pump_op *before = NULL, *op = lane->first;
    if (lane->busy) return;
    while (op && lane->owned && !owns(lane, &op->request)) {
        before = op;
        op = op->next;
    }
    if (!op) return;
    if (before)
        before->next = op->next;
    else
        lane->first = op->next;
    if (lane->last == op) lane->last = before;
    lane->busy = op;
    lane->owned = (op->request.what & DEV_IO_FOLLOWS) != 0;
    lane->number = op->request.number;
    lane->serial = op->request.serial;
    op->state = PUMP_BEGUN;
    vyre_pump_begin(pump, op);
}

/* A slot of which another piece was expected has ended. (lock) */
static void release_lanes(struct vyre_pump *pump, const struct dev_io_request *request)
{
    for (uint32_t i = 0; i < 2 * PUMP_SOURCES; i++) {
        vyre_source *source = pump->sources[i / 2];
        if (!source || !source->lane[i % 2].owned || !owns(&source->lane[i % 2], request)) continue;
        source->lane[i % 2].owned = 0;
        vyre_pump_lane_next(pump, &source->lane[i % 2]);
    }
}

/* Taking.
 * ------------------------------------------------------------------------------------------- */

static void cancel(struct vyre_pump *pump, const struct dev_io_request *request)
{
    for (uint32_t i = 0; i < pump->entries; i++) {
        struct pump_op *op = &pump->ops[i];
        if (op->state == PUMP_FREE || op->request.number != request->number ||
            op->request.serial != request->serial)
            continue;
        vyre_pump_wish(pump, op, PUMP_WISH_SLOT);
        return;
    }
    release_lanes(pump, request);
}

/* Answers a request that is not begun: 0, or errno. */
static void answer_at_once(struct vyre_pump *pump, const struct dev_io_request *request, int error)
{
    struct dev_io_answer answer = {request->number,
                                   request->serial,
                                   error ? DEV_IO_FAILED : DEV_IO_DONE,
                                   (uint32_t)error,
                                   0,
                                   0,
                                   0};
    if (error) PUMP_COUNT(pump, forbidden, 1);
    vyre_pump_answer(pump, &answer);
}

/* Whether it is a prefetch of what follows the end of the source's window. */
static int is_past_all(const vyre_source *source, const struct dev_io_request *request)
{
    return kind_of(request) == DEV_IO_PREFETCH && request->length == 0 && source->length != 0 &&
           request->offset == source->length;
}

static void count(struct vyre_pump *pump, const struct dev_io_request *request)
{
    uint32_t kind = kind_of(request);
    PUMP_COUNT(pump, requests, 1);
    if (kind == DEV_IO_READ) PUMP_COUNT(pump, reads, 1);
    if (kind == DEV_IO_WRITE) PUMP_COUNT(pump, writes, 1);
    if (kind == DEV_IO_PREFETCH) PUMP_COUNT(pump, prefetches, 1);
}

/* Begins a request; there is a free operation. (lock) */
static void begin(struct vyre_pump *pump, const struct dev_io_request *request, uint64_t now_ns)
{
    struct pump_op *op = pump->free;
    count(pump, request);
    int error = check(pump, request, op);
    if (error || is_past_all(op->source, request)) {
        answer_at_once(pump, request, error);
        return;
    }
    pump->free = op->next;
    pump->underway++;
    op->request = *request;
    op->state = PUMP_BEGUN;
    op->done = op->wish = op->asked = op->polling = op->fixed = 0;
    op->since_ns = now_ns;
    op->next = NULL;
    op->source->underway++;
    struct pump_lane *lane = vyre_pump_lane(op);
    if (!lane) {
        vyre_pump_begin(pump, op);
        return;
    }
    op->state = PUMP_WAITING;
    if (lane->first)
        lane->last->next = op;
    else
        lane->first = op;
    lane->last = op;
    vyre_pump_lane_next(pump, lane);
}

void vyre_pump_take(struct vyre_pump *pump)
{
    uint32_t places = dev_io_requests(pump->entries);
    uint32_t tail = dev_load_acquire(&pump->page->requested, DEV_SYSTEM); /* A18 pairs with R18 */
    if (tail == pump->taken || tail - pump->taken > places) return;
    uint64_t now_ns = vyre_clock_ns();
    pump->stuck = 0;
    pthread_mutex_lock(&pump->lock);
    for (; pump->taken != tail; pump->taken++) {
        struct dev_io_request request;
        const dev_word64 *from =
            (const dev_word64 *)(const void *)&pump->requests[pump->taken & (places - 1)];
        dev_word64 *to = (dev_word64 *)(void *)&request;
        for (size_t i = 0; i < sizeof request / 8; i++)
            to[i] = dev_load64_relaxed(&from[i]);
        int cancels = kind_of(&request) == DEV_IO_CANCEL;
        pump->stuck = !cancels && !pump->free;
        if (pump->stuck) break; /* more than there can be: the rest waits */
        if (cancels)
            cancel(pump, &request);
        else
            begin(pump, &request, now_ns);
        pump->progress = 1;
    }
    pthread_mutex_unlock(&pump->lock);
}
