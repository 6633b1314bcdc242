/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A stream's calls of the system, each of which can be made to fail at a place, from a place on, or
 * now and then; reads can be made short, and something can happen between two calls.
 */
#ifndef VYRE_TESTS_STREAM_SEAM_H
#define VYRE_TESTS_STREAM_SEAM_H

#include "support.h"

#include <errno.h>

#include "ingest/stream.h"

enum call {
    CALL_OPENAT,
    CALL_STATX,
    CALL_READ,
    CALL_RING_INIT,
    CALL_RING_REGISTER,
    CALL_GET_SQE,
    CALL_SUBMIT,
    CALL_RESULT,
    CALLS
};

static const char *const call_names[CALLS] = {"openat",        "statx",   "read",   "ring_init",
                                              "ring_register", "get_sqe", "submit", "result"};

struct seam {
    struct vyre_stream_calls calls;
    _Atomic uint32_t seen[CALLS];
    enum call call;
    uint32_t at;   /* this call fails, from 1 on; 0: none */
    uint32_t from; /* and this one with all later ones; 0: none */
    int error;
    uint32_t most;  /* bytes of a read; 0: no limit */
    uint32_t every; /* so many reads fail with `error` */
    void (*changes)(struct seam *seam, int dirfd, const char *path); /* before an openat, or after
                                                                         a statx of a descriptor */
};

TAP_UNUSED static bool fails(struct seam *seam, enum call call)
{
    uint32_t number = atomic_fetch_add(&seam->seen[call], 1) + 1;
    return call == seam->call && (number == seam->at || (seam->from && number >= seam->from));
}

static const struct vyre_stream_calls *const real = &vyre_stream_system_calls;

TAP_UNUSED static int seam_openat(void *ctx, int dirfd, const char *path, int flags)
{
    struct seam *seam = ctx;
    if (fails(seam, CALL_OPENAT)) {
        errno = seam->error;
        return -1;
    }
    if (seam->changes) seam->changes(seam, dirfd, path);
    return real->openat(real->ctx, dirfd, path, flags);
}

TAP_UNUSED static int seam_statx(void *ctx, int dirfd, const char *path, struct statx *out)
{
    struct seam *seam = ctx;
    if (fails(seam, CALL_STATX)) {
        errno = seam->error;
        return -1;
    }
    int result = real->statx(real->ctx, dirfd, path, out);
    if (seam->changes && path[0] == '\0') seam->changes(seam, dirfd, path);
    return result;
}

TAP_UNUSED static bool fails_now_and_then(struct seam *seam, enum call call)
{
    return seam->every && call == seam->call && atomic_load(&seam->seen[call]) % seam->every == 0;
}

TAP_UNUSED static ssize_t seam_read(void *ctx, int fd, const struct iovec *into, int64_t offset)
{
    struct seam *seam = ctx;
    struct iovec less = *into;
    if (fails(seam, CALL_READ) || fails_now_and_then(seam, CALL_READ)) {
        errno = seam->error;
        return -1;
    }
    if (seam->most && less.iov_len > seam->most) less.iov_len = seam->most;
    return real->read(real->ctx, fd, &less, offset);
}

TAP_UNUSED static int seam_ring_init(void *ctx, unsigned entries, struct io_uring *ring,
                                     struct io_uring_params *params)
{
    struct seam *seam = ctx;
    if (fails(seam, CALL_RING_INIT)) return -seam->error;
    return real->ring_init(real->ctx, entries, ring, params);
}

TAP_UNUSED static int seam_ring_register(void *ctx, struct io_uring *ring,
                                         enum vyre_ring_table table, struct vyre_ring_entry *entry)
{
    struct seam *seam = ctx;
    if (fails(seam, CALL_RING_REGISTER)) return -seam->error;
    return real->ring_register(real->ctx, ring, table, entry);
}

TAP_UNUSED static struct io_uring_sqe *seam_get_sqe(void *ctx, struct io_uring *ring)
{
    return fails(ctx, CALL_GET_SQE) ? NULL : real->get_sqe(real->ctx, ring);
}

TAP_UNUSED static int seam_submit(void *ctx, struct io_uring *ring, unsigned wait)
{
    struct seam *seam = ctx;
    if (fails(seam, CALL_SUBMIT)) return -seam->error;
    return real->submit(real->ctx, ring, wait);
}

/* Of reads alone. What was read stays in memory: that it is not looked at is part of the test. */
TAP_UNUSED static int seam_result(void *ctx, enum vyre_ring_op op, int result)
{
    struct seam *seam = ctx;
    result = real->result(real->ctx, op, result);
    if (op != VYRE_RING_OP_READ) return result;
    if (fails(seam, CALL_RESULT) || fails_now_and_then(seam, CALL_RESULT)) return -seam->error;
    return seam->most && result > (int)seam->most ? (int)seam->most : result;
}

TAP_UNUSED static void seam_make(struct seam *seam, enum call call, uint32_t at, int error)
{
    memset(seam, 0, sizeof *seam);
    seam->calls = *real;
    seam->calls.ctx = seam;
    seam->calls.openat = seam_openat;
    seam->calls.statx = seam_statx;
    seam->calls.read = seam_read;
    seam->calls.ring_init = seam_ring_init;
    seam->calls.ring_register = seam_ring_register;
    seam->calls.get_sqe = seam_get_sqe;
    seam->calls.submit = seam_submit;
    seam->calls.result = seam_result;
    seam->call = call;
    seam->at = at;
    seam->error = error;
}

#endif
