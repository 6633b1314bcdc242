/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A stream's io_uring while it is used: requests, submission, completions, losses.
 */
#include "ingest/ring.h"

#include <errno.h>
#include <string.h>

#define FAILURES_MOST 1000u /* submits that fail one after the other: then there is no hope */

static uint64_t number_of(enum vyre_ring_op op, uint32_t index)
{
    return (uint64_t)op << 32 | index;
}

struct io_uring_sqe *vyre_ring_sqe(struct vyre_ring *ring)
{
    struct io_uring_sqe *sqe = ring->calls->get_sqe(ring->calls->ctx, &ring->uring);
    if (sqe) return sqe;
    /* The queue is full of what no submit has taken yet. */
    if (vyre_ring_submit(ring, 0) != 0) return NULL;
    return ring->calls->get_sqe(ring->calls->ctx, &ring->uring);
}

void vyre_ring_number(struct vyre_ring *ring, struct io_uring_sqe *sqe, enum vyre_ring_op op,
                      uint32_t index)
{
    io_uring_sqe_set_data64(sqe, number_of(op, index));
    ring->inflight++;
    ring->prepared++;
}

int vyre_ring_file(struct vyre_ring *ring, uint32_t index, int fd)
{
    struct vyre_ring_entry entry = {.index = index, .fd = fd};
    if (index >= ring->files) return 0;
    return ring->calls->ring_register(ring->calls->ctx, &ring->uring, VYRE_RING_TABLE_FILE,
                                      &entry) >= 0;
}

/* Whether the kernel says that it has lost something since the last look. A request that it
 * dropped will never be completed. */
static int lost(struct vyre_ring *ring)
{
    uint32_t dropped = __atomic_load_n(ring->uring.sq.kdropped, __ATOMIC_RELAXED);
    uint32_t overflow = __atomic_load_n(ring->uring.cq.koverflow, __ATOMIC_RELAXED);
    /* Completions that overflow are kept by the kernel where it has the feature: not lost. */
    int gone = dropped != ring->dropped ||
               (overflow != ring->overflow && (ring->uring.features & IORING_FEAT_NODROP) == 0);
    ring->dropped = dropped;
    ring->overflow = overflow;
    return gone;
}

int vyre_ring_submit(struct vyre_ring *ring, int wait)
{
    int taken = ring->calls->submit(ring->calls->ctx, &ring->uring, wait ? 1 : 0);
    if (taken >= 0) {
        ring->prepared -= (uint32_t)taken < ring->prepared ? (uint32_t)taken : ring->prepared;
        ring->failures = 0;
        ring->dead = (uint32_t)lost(ring);
        return ring->dead ? -EBADR : 0;
    }
    ring->dead = taken == -EBADR || ++ring->failures > FAILURES_MOST;
    return ring->dead ? -EBADR : taken;
}

int vyre_ring_next(struct vyre_ring *ring, struct vyre_ring_event *event)
{
    struct io_uring_cqe *cqe;
    if (io_uring_peek_cqe(&ring->uring, &cqe) != 0 || !cqe) return 0;
    uint64_t number = io_uring_cqe_get_data64(cqe);
    event->op = (enum vyre_ring_op)(number >> 32);
    event->index = (uint32_t)number;
    event->result = ring->calls->result(ring->calls->ctx, event->op, cqe->res);
    io_uring_cqe_seen(&ring->uring, cqe);
    ring->inflight--;
    return 1;
}

int vyre_ring_cancel(struct vyre_ring *ring, enum vyre_ring_op op, uint32_t index)
{
    struct io_uring_sqe *sqe = vyre_ring_sqe(ring);
    if (!sqe) return 0;
    io_uring_prep_cancel64(sqe, number_of(op, index), 0);
    vyre_ring_number(ring, sqe, VYRE_RING_OP_CANCEL, index);
    return 1;
}

void vyre_ring_close(struct vyre_ring *ring)
{
    if (!ring->open) return;
    io_uring_queue_exit(&ring->uring);
    ring->open = 0;
}
