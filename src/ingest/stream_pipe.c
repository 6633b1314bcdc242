/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pipes, sockets, terminals: sources that may have nothing to read for long. They are watched by a
 * poll, in the ring or without it, and read when there is something; so none of them keeps a thread
 * or a read waiting. Called by the engine.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "ingest/stream.h"

void vyre_stream_file_watch(vyre_stream *stream, struct vyre_stream_file *file)
{
    file->readable = 0;
    file->polling = 1;
    if (!stream->uses_ring) return;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&stream->ring);
    if (!sqe) {
        file->polling = 0;
        stream->retry = 1;
        return;
    }
    io_uring_prep_poll_add(sqe, file->fixed ? (int)file->index : file->fd, POLLIN);
    if (file->fixed) io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
    vyre_ring_number(&stream->ring, sqe, VYRE_RING_OP_POLL, file->index);
}

void vyre_stream_file_pause(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    cell->state = VYRE_CELL_WAITS;
    cell->file->waits = cell;
    vyre_stream_file_watch(stream, cell->file);
}

void vyre_stream_file_readable(vyre_stream *stream, struct vyre_stream_file *file, int32_t result)
{
    struct vyre_stream_cell *cell = file->waits;
    file->polling = 0;
    if (result == -EINTR || result == -EAGAIN) {
        vyre_stream_file_watch(stream, file);
        return;
    }
    /* An error shows in the read. */
    file->readable = 1;
    if (!cell) return;
    file->waits = NULL;
    cell->state = VYRE_CELL_BUSY;
    vyre_stream_issue_read(stream, cell);
}

bool vyre_stream_pipes_yield(vyre_stream *stream)
{
    for (uint32_t i = 0; i < stream->file_count; i++) {
        struct vyre_stream_file *file = &stream->files[i];
        struct vyre_stream_cell *cell = file->used ? file->waits : NULL;
        if (!cell || !file->floats || cell->filled <= cell->carried) continue;
        if (vyre_stream_whole(stream, cell) == 0) continue; /* a record would be cut */
        file->waits = NULL;
        cell->state = VYRE_CELL_BUSY;
        vyre_stream_file_filled(stream, cell);
        return true;
    }
    return false;
}

void vyre_stream_pipes_poll(vyre_stream *stream)
{
    struct pollfd *watched = stream->watched;
    uint32_t count = 1;
    uint64_t word;
    watched[0] = (struct pollfd){stream->wake_fd, POLLIN, 0};
    for (uint32_t i = 0; i < stream->file_count; i++)
        if (stream->files[i].used && stream->files[i].polling)
            watched[count++] = (struct pollfd){stream->files[i].fd, POLLIN, 0};
    if (stream->output.waits) watched[count++] = (struct pollfd){stream->output.fd, POLLOUT, 0};
    if (poll(watched, count, -1) <= 0) return;
    if (watched[0].revents != 0 && read(stream->wake_fd, &word, sizeof word) < 0) return;
    if (stream->output.waits && watched[--count].revents != 0) stream->output.waits = 0;
    for (uint32_t i = 0, next = 1; i < stream->file_count; i++) {
        struct vyre_stream_file *file = &stream->files[i];
        if (!file->used || !file->polling) continue;
        if (next < count && watched[next++].revents != 0)
            vyre_stream_file_readable(stream, file, POLLIN);
    }
}
