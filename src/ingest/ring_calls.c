/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The calls of the system that a stream makes, in one table.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ingest/ring.h"

static int call_openat(void *ctx, int dirfd, const char *path, int flags)
{
    (void)ctx;
    return openat(dirfd, path, flags);
}

static int call_statx(void *ctx, int dirfd, const char *path, struct statx *out)
{
    unsigned mask = STATX_TYPE | STATX_SIZE;
#ifdef STATX_DIOALIGN
    mask |= STATX_DIOALIGN;
#endif
    (void)ctx;
    return statx(dirfd, path, path[0] == '\0' ? AT_EMPTY_PATH : 0, mask, out);
}

static ssize_t call_read(void *ctx, int fd, const struct iovec *into, int64_t offset)
{
    (void)ctx;
    return offset < 0 ? read(fd, into->iov_base, into->iov_len)
                      : pread(fd, into->iov_base, into->iov_len, offset);
}

static ssize_t call_write(void *ctx, int fd, const struct iovec *from, int64_t offset)
{
    (void)ctx;
    return offset < 0 ? write(fd, from->iov_base, from->iov_len)
                      : pwrite(fd, from->iov_base, from->iov_len, offset);
}

static int call_ring_init(void *ctx, unsigned entries, struct io_uring *ring,
                          struct io_uring_params *params)
{
    (void)ctx;
    return io_uring_queue_init_params(entries, ring, params);
}

static int call_ring_register(void *ctx, struct io_uring *ring, enum vyre_ring_table table,
                              struct vyre_ring_entry *entry)
{
    (void)ctx;
    switch (table) {
    case VYRE_RING_TABLE_RING:
        return io_uring_register_ring_fd(ring);
    case VYRE_RING_TABLE_BUFFERS:
        return io_uring_register_buffers(ring, entry->buffers, entry->count);
    case VYRE_RING_TABLE_FILES:
        return io_uring_register_files_sparse(ring, entry->count);
    case VYRE_RING_TABLE_FILE:
        return io_uring_register_files_update(ring, entry->index, &entry->fd, 1);
    case VYRE_RING_TABLE_WORKERS:
        return io_uring_register_iowq_max_workers(ring, entry->workers);
    }
    return -EINVAL;
}

static struct io_uring_sqe *call_get_sqe(void *ctx, struct io_uring *ring)
{
    (void)ctx;
    return io_uring_get_sqe(ring);
}

static int call_submit(void *ctx, struct io_uring *ring, unsigned wait)
{
    (void)ctx;
    return wait != 0 ? io_uring_submit_and_wait(ring, wait) : io_uring_submit(ring);
}

static int call_result(void *ctx, enum vyre_ring_op op, int result)
{
    (void)ctx;
    (void)op;
    return result;
}

const struct vyre_stream_calls vyre_stream_system_calls = {
    NULL,           call_openat,        call_statx,   call_read,   call_write,
    call_ring_init, call_ring_register, call_get_sqe, call_submit, call_result};
