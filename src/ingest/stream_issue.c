/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The reads of cells: requests to the ring, or without one jobs for the readers. Called by the
 * engine.
 */
#include <errno.h>

#include "ingest/stream.h"

#define ASYNC_BYTES (128u << 10) /* reads from here on may be the kernel's workers' */

/* How much to ask for: of O_DIRECT whole blocks, of which the last may not be whole. */
static uint32_t ask(const vyre_stream *stream, const struct vyre_stream_cell *cell)
{
    uint32_t bytes = cell->goal - cell->filled, align = cell->file->align;
    if (align == 0) return bytes;
    uint32_t blocks = (bytes + align - 1) / align * align, room = stream->cell_bytes - cell->filled;
    return blocks < room ? blocks : room;
}

static void issue_to_ring(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct vyre_stream_file *file = cell->file;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&stream->ring);
    if (!sqe) {
        cell->next = stream->unissued;
        stream->unissued = cell;
        stream->retry = 1;
        return;
    }
    int fd = file->fixed ? (int)file->index : file->fd;
    uint32_t bytes = cell->asked;
    uint64_t offset = file->kind == VYRE_SOURCE_PIPE ? UINT64_MAX : cell->offset + cell->filled;
    unsigned char *into = cell->bytes + cell->filled;
    if (stream->ring.features & VYRE_RING_FIXED_BUFFERS)
        io_uring_prep_read_fixed(sqe, fd, into, bytes, offset, 0);
    else
        io_uring_prep_read(sqe, fd, into, bytes, offset);
    unsigned flags = file->fixed ? IOSQE_FIXED_FILE : 0;
    if (stream->spread && !cell->direct && file->kind == VYRE_SOURCE_REGULAR &&
        bytes >= ASYNC_BYTES)
        flags |= IOSQE_ASYNC;
    io_uring_sqe_set_flags(sqe, flags);
    vyre_ring_number(&stream->ring, sqe, VYRE_RING_OP_READ, cell->index);
    cell->inflight = 1;
}

/* A pipe that has something to read: the engine does it itself. */
static void read_pipe(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct iovec into = {cell->bytes + cell->filled, cell->asked};
    ssize_t got = stream->calls->read(stream->calls->ctx, cell->file->fd, &into, -1);
    vyre_stream_file_read(stream, cell, got < 0 ? -errno : (int32_t)got);
}

void vyre_stream_issue_read(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    cell->asked = ask(stream, cell);
    cell->direct = cell->file->align != 0;
    if (stream->uses_ring) {
        issue_to_ring(stream, cell);
    } else if (cell->file->kind == VYRE_SOURCE_PIPE) {
        read_pipe(stream, cell);
    } else {
        cell->job = VYRE_JOB_READ;
        stream->reading++;
        vyre_stream_readers_give(stream, cell);
    }
}
