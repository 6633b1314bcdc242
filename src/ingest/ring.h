/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A stream's io_uring: made with what the kernel offers, probed and explained; requests that carry
 * a number, completions matched by it. One thread makes it, submits and reaps.
 *
 * The invariant: `inflight` is the number of requests that the kernel has and has not completed.
 * While it is not 0 the kernel may write into the memory that the requests name.
 *
 * All calls of the system that a stream makes go through one table, so that a test can make the
 * n-th call of a kind fail.
 */
#ifndef VYRE_INGEST_RING_H
#define VYRE_INGEST_RING_H

#include <liburing.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "vyre/stream.h"

/* What a request is; the upper half of its number. */
enum vyre_ring_op {
    VYRE_RING_OP_WAKE = 1,
    VYRE_RING_OP_READ = 2,
    VYRE_RING_OP_POLL = 3,
    VYRE_RING_OP_WRITE = 4,
    VYRE_RING_OP_CANCEL = 5,
    VYRE_RING_OP_NOP = 6
};

/* What is registered with a ring. */
enum vyre_ring_table {
    VYRE_RING_TABLE_RING = 0,
    VYRE_RING_TABLE_BUFFERS = 1,
    VYRE_RING_TABLE_FILES = 2,
    VYRE_RING_TABLE_FILE = 3,   /* one entry of the files */
    VYRE_RING_TABLE_WORKERS = 4 /* how many threads the kernel may start */
};

struct vyre_ring_entry {
    const struct iovec *buffers;
    uint32_t count;
    uint32_t index; /* FILE */
    int fd;         /* FILE; -1 empties the entry */
    unsigned workers[2];
};

/* As the functions of the same names: -1 with errno for openat, statx, read and write; -errno for
 * the ring's. `result` may change what a request came to. */
struct vyre_stream_calls {
    void *ctx;
    int (*openat)(void *ctx, int dirfd, const char *path, int flags);
    int (*statx)(void *ctx, int dirfd, const char *path, struct statx *out); /* of the descriptor
                                                                                where path is "" */
    ssize_t (*read)(void *ctx, int fd, const struct iovec *into, int64_t offset); /* -1: where it
                                                                                     stands */
    ssize_t (*write)(void *ctx, int fd, const struct iovec *from, int64_t offset);
    int (*ring_init)(void *ctx, unsigned entries, struct io_uring *ring,
                     struct io_uring_params *params);
    int (*ring_register)(void *ctx, struct io_uring *ring, enum vyre_ring_table table,
                         struct vyre_ring_entry *entry);
    struct io_uring_sqe *(*get_sqe)(void *ctx, struct io_uring *ring);
    int (*submit)(void *ctx, struct io_uring *ring, unsigned wait);
    int (*result)(void *ctx, enum vyre_ring_op op, int result);
};

/* The system's own. */
extern const struct vyre_stream_calls vyre_stream_system_calls;

struct vyre_ring {
    const struct vyre_stream_calls *calls;
    struct io_uring uring;
    uint32_t open;     /* uring is there */
    uint32_t features; /* enum vyre_stream_ring */
    uint32_t inflight;
    uint32_t prepared; /* of these, requests that no submit has taken yet */
    uint32_t files;    /* entries of the table of files; 0: none */
    uint32_t dropped;  /* as last seen: requests that the kernel did not take */
    uint32_t overflow; /* the same: completions that found no room */
    uint32_t failures; /* of submit, one after the other */
    uint32_t dead;     /* it takes and gives nothing any more */
};

struct vyre_ring_options {
    const struct vyre_stream_calls *calls;
    uint32_t entries;
    uint32_t may;                /* enum vyre_stream_ring: features that may be used */
    uint32_t must;               /* and those without which it is an error */
    const struct iovec *buffers; /* to register */
    uint32_t buffer_count;
    uint32_t files;   /* entries of the table of files */
    uint32_t workers; /* that the kernel may start for reads that would block; 0: its default */
};

/* Why a ring is as it is, as text that goes into a report. */
struct vyre_ring_choice {
    char text[256];
};

/*
 * Makes a ring for the calling thread. What cannot be had and need not be is left out, and said in
 * *choice. Statuses: E_SYSTEM (there is no ring, or it lacks what must be: the message names the
 * cause, the fix what to change), E_CONFLICT (features that exclude each other must be).
 */
vyre_status vyre_ring_open(struct vyre_ring *ring, const struct vyre_ring_options *options,
                           struct vyre_ring_choice *choice, vyre_error *err);

/* Nothing may be in flight. One that was never opened is allowed. */
void vyre_ring_close(struct vyre_ring *ring);

/* Room for a request; NULL: none now. The caller prepares it with a call of liburing, and then
 * calls vyre_ring_number with what the completion shall carry. */
struct io_uring_sqe *vyre_ring_sqe(struct vyre_ring *ring);
void vyre_ring_number(struct vyre_ring *ring, struct io_uring_sqe *sqe, enum vyre_ring_op op,
                      uint32_t index);

/* Puts a descriptor into entry `index` of the table of files, or with -1 empties it. Not 0: done.
 */
int vyre_ring_file(struct vyre_ring *ring, uint32_t index, int fd);

/* Submits what is prepared and, with wait, sleeps until there is a completion. 0, or -errno: EBADR
 * where the kernel has lost requests or completions, or a submit has failed too often; else it is
 * worth another try. */
int vyre_ring_submit(struct vyre_ring *ring, int wait);

struct vyre_ring_event {
    enum vyre_ring_op op;
    uint32_t index;
    int32_t result;
};

/* The next completion; 0: none. */
int vyre_ring_next(struct vyre_ring *ring, struct vyre_ring_event *event);

/* Asks the kernel to end a request early; its completion comes as ever. Not 0: asked. */
int vyre_ring_cancel(struct vyre_ring *ring, enum vyre_ring_op op, uint32_t index);

#endif
