/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The output: results are written in the order of reading, by the ring where there is one. Called
 * by the engine.
 *
 * Records go through three counts, each at most the one before: `ended` (the consumer has reaped
 * their slots), `begun` (their write was asked for), `written` (they need no more; the consumer may
 * hand them out). To a file several are under way at once, each at the place where it belongs; to
 * anything else one, for the order of bytes is the order of writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/stream.h"

#define WRITES_MOST 16u /* at once */

vyre_status vyre_stream_output_open(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_output *output = &stream->output;
    struct stat info;
    int fd = stream->options.output;
    if (fd < 0) return VYRE_OK;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &info) != 0)
        return vyre_fail_errno(err, errno, "looking at the output, descriptor %d", fd);
    if ((flags & O_ACCMODE) == O_RDONLY)
        return vyre_fail_with(err, VYRE_E_NOT_PERMITTED, "open the output for writing",
                              "the output, descriptor %d, cannot be written to", fd);
    off_t at = lseek(fd, 0, SEEK_CUR);
    output->seekable =
        (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)) && (flags & O_APPEND) == 0 && at >= 0;
    output->at = output->seekable ? (uint64_t)at : 0;
    output->fd = fd;
    return VYRE_OK;
}

static struct vyre_stream_record *record_at(const vyre_stream *stream, uint64_t number)
{
    return stream->published[number & stream->published_mask];
}

/* Moves `written` over all that is done, and tells the consumer. */
static void advance(vyre_stream *stream)
{
    struct vyre_stream_output *output = &stream->output;
    uint64_t before = output->written, now = before;
    while (now < output->begun && record_at(stream, now)->write_done)
        now++;
    if (now == before) return;
    __atomic_store_n(&output->written, now, __ATOMIC_RELEASE);
    vyre_stream_tell(stream);
}

static void done(vyre_stream *stream, struct vyre_stream_record *record, int error)
{
    if (error != 0 && record->chunk.status == VYRE_OK) {
        record->chunk.status = VYRE_E_SYSTEM;
        record->chunk.error = error;
    }
    record->write_done = 1;
    stream->output.underway--;
}

/* What is left of a record's result, and where it goes; -1: where the descriptor stands. */
static struct iovec rest(const vyre_stream *stream, const struct vyre_stream_record *record,
                         int64_t *offset)
{
    unsigned char *from = (unsigned char *)(uintptr_t)record->chunk.result;
    *offset = stream->output.seekable ? (int64_t)(record->write_at + record->write_bytes) : -1;
    return (struct iovec){from + record->write_bytes,
                          record->chunk.result_bytes - record->write_bytes};
}

static void watch(vyre_stream *stream)
{
    struct vyre_stream_output *output = &stream->output;
    output->waits = 1;
    if (!stream->uses_ring) return;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&stream->ring);
    output->waits = sqe != NULL;
    stream->retry |= sqe == NULL;
    if (!sqe) return;
    io_uring_prep_poll_add(sqe, output->fd, POLLOUT);
    vyre_ring_number(&stream->ring, sqe, VYRE_RING_OP_POLL, VYRE_STREAM_NONE);
}

/* What a write has come to: bytes, or -errno. True: it is done. */
static bool take_result(vyre_stream *stream, struct vyre_stream_record *record, ssize_t result)
{
    if (result == -EAGAIN) watch(stream);
    if (result == -EAGAIN || result == -EINTR) return false;
    if (result <= 0) {
        done(stream, record, result == 0 ? EIO : (int)-result);
        return true;
    }
    record->write_bytes += (uint64_t)result;
    vyre_stream_count(&stream->bytes_written, (uint64_t)result);
    if (record->write_bytes < record->chunk.result_bytes) return false;
    done(stream, record, 0);
    return true;
}

/* Without a ring the engine writes itself, to what may block as little as never blocks. */
static void write_here(vyre_stream *stream, struct vyre_stream_record *record)
{
    struct vyre_stream_output *output = &stream->output;
    do {
        int64_t offset;
        struct iovec from = rest(stream, record, &offset);
        if (!output->seekable) {
            struct pollfd room = {output->fd, POLLOUT, 0};
            if (poll(&room, 1, 0) == 0) {
                watch(stream);
                return;
            }
            if (from.iov_len > PIPE_BUF) from.iov_len = PIPE_BUF;
        }
        ssize_t put = stream->calls->write(stream->calls->ctx, output->fd, &from, offset);
        if (take_result(stream, record, put < 0 ? -errno : put)) return;
    } while (!output->waits);
}

static void issue(vyre_stream *stream, uint64_t number)
{
    struct vyre_stream_record *record = record_at(stream, number);
    int64_t offset;
    struct iovec from = rest(stream, record, &offset);
    struct io_uring_sqe *sqe = vyre_ring_sqe(&stream->ring);
    record->write_again = sqe == NULL;
    stream->retry |= sqe == NULL;
    if (!sqe) return;
    unsigned bytes = from.iov_len > INT_MAX ? INT_MAX : (unsigned)from.iov_len;
    if (stream->ring.features & VYRE_RING_FIXED_BUFFERS)
        io_uring_prep_write_fixed(sqe, stream->output.fd, from.iov_base, bytes, (uint64_t)offset,
                                  1);
    else
        io_uring_prep_write(sqe, stream->output.fd, from.iov_base, bytes, (uint64_t)offset);
    vyre_ring_number(&stream->ring, sqe, VYRE_RING_OP_WRITE, (uint32_t)number);
    record->write_inflight = 1;
}

static void begin(vyre_stream *stream, uint64_t number)
{
    struct vyre_stream_output *output = &stream->output;
    struct vyre_stream_record *record = record_at(stream, number);
    output->begun++;
    output->underway++;
    record->write_at = output->at;
    if (!record->chunk.result || record->chunk.result_bytes == 0) {
        done(stream, record, 0);
        return;
    }
    output->at += record->chunk.result_bytes;
    if (stream->uses_ring)
        issue(stream, number);
    else
        write_here(stream, record);
}

/* Goes on with what found no room in the ring, or waited for the other side. */
static void go_on(vyre_stream *stream)
{
    struct vyre_stream_output *output = &stream->output;
    for (uint64_t n = output->written; n < output->begun && !output->waits; n++) {
        struct vyre_stream_record *record = record_at(stream, n);
        if (record->write_done) continue;
        if (!stream->uses_ring)
            write_here(stream, record);
        else if (record->write_again)
            issue(stream, n);
    }
}

void vyre_stream_output_go(vyre_stream *stream)
{
    struct vyre_stream_output *output = &stream->output;
    if (output->fd < 0) return;
    uint64_t ended = __atomic_load_n(&output->ended, __ATOMIC_ACQUIRE); /* W2 pairs with W1 */
    uint32_t most = output->seekable ? WRITES_MOST : 1;
    go_on(stream);
    while (output->begun < ended && output->underway < most)
        begin(stream, output->begun);
    advance(stream);
}

void vyre_stream_output_written(vyre_stream *stream, uint32_t index, int32_t result)
{
    struct vyre_stream_record *record = record_at(stream, index);
    record->write_inflight = 0;
    if (stream->cancel_begun) return;
    if (!take_result(stream, record, result)) record->write_again = 1;
    advance(stream);
}

void vyre_stream_output_ready(vyre_stream *stream)
{
    stream->output.waits = 0;
}

bool vyre_stream_output_cancel(vyre_stream *stream)
{
    struct vyre_stream_output *output = &stream->output;
    bool all = true;
    if (output->fd < 0 || !stream->uses_ring) return true;
    for (uint64_t n = output->written; n < output->begun && all; n++)
        if (record_at(stream, n)->write_inflight)
            all = vyre_ring_cancel(&stream->ring, VYRE_RING_OP_WRITE, (uint32_t)n) != 0;
    if (output->waits && all)
        all = vyre_ring_cancel(&stream->ring, VYRE_RING_OP_POLL, VYRE_STREAM_NONE) != 0;
    return all;
}

void vyre_stream_output_close(vyre_stream *stream)
{
    struct vyre_stream_output *output = &stream->output;
    /* Whoever writes to it next goes on after what was written here. */
    if (output->fd >= 0 && output->seekable) lseek(output->fd, (off_t)output->at, SEEK_SET);
}
