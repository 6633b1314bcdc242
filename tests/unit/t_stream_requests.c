/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a stream asks the kernel for, seen as it is submitted: fixed buffers and fixed files are
 * used where the report says so, and nothing of a request is left over in the place of the next.
 * And what the kernel may do with them: complete them in another order, or lose some.
 */
#include "stream_faults.h"

#include <stdatomic.h>

#include "ingest/stream.h"

enum { CHUNK = 16384, CHUNKS = 100 };

struct watch {
    struct vyre_stream_calls calls;
    _Atomic uint32_t requests;
    _Atomic uint32_t fixed_reads, plain_reads; /* of chunks */
    _Atomic uint32_t fixed_files;
    _Atomic uint32_t left_over; /* requests with something that nobody asked for */
    bool reverses;
    uint32_t loses_at; /* this submit, from 1 on; 0: none */
    bool overflows;    /* it loses completions, else requests */
    _Atomic uint32_t submits, reversed;
};

static bool is_clean(const struct io_uring_sqe *sqe, uint64_t op)
{
    uint8_t flags = op == VYRE_RING_OP_READ   ? IOSQE_FIXED_FILE | IOSQE_ASYNC
                    : op == VYRE_RING_OP_POLL ? IOSQE_FIXED_FILE
                                              : 0;
    return (sqe->flags & ~flags) == 0 && sqe->ioprio == 0 && sqe->buf_index == 0 &&
           sqe->personality == 0 && sqe->file_index == 0 && sqe->addr3 == 0;
}

/* Completions that nobody has seen yet, the last one first; returns how many moved. */
static uint32_t reverse(struct io_uring *ring)
{
    unsigned head = *ring->cq.khead,
             count = __atomic_load_n(ring->cq.ktail, __ATOMIC_ACQUIRE) - head;
    for (unsigned i = 0; i < count / 2; i++) {
        struct io_uring_cqe *a = &ring->cq.cqes[(head + i) & ring->cq.ring_mask];
        struct io_uring_cqe *b = &ring->cq.cqes[(head + count - 1 - i) & ring->cq.ring_mask];
        struct io_uring_cqe between = *a;
        *a = *b;
        *b = between;
    }
    return count / 2;
}

static int watch_submit(void *ctx, struct io_uring *ring, unsigned wait)
{
    struct watch *watch = ctx;
    uint32_t number = atomic_fetch_add(&watch->submits, 1) + 1;
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
        const struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
        uint64_t op = sqe->user_data >> 32;
        atomic_fetch_add(&watch->requests, 1);
        atomic_fetch_add(&watch->left_over, !is_clean(sqe, op));
        if (op != VYRE_RING_OP_READ) continue;
        atomic_fetch_add(&watch->fixed_reads, sqe->opcode == IORING_OP_READ_FIXED);
        atomic_fetch_add(&watch->plain_reads, sqe->opcode == IORING_OP_READ);
        atomic_fetch_add(&watch->fixed_files, (sqe->flags & IOSQE_FIXED_FILE) != 0);
    }
    int result = vyre_stream_system_calls.submit(NULL, ring, wait);
    if (watch->reverses) atomic_fetch_add(&watch->reversed, reverse(ring));
    if (number == watch->loses_at) {
        /* A kernel that keeps what overflows loses nothing. */
        if (watch->overflows) ring->features &= ~IORING_FEAT_NODROP;
        ++*(watch->overflows ? ring->cq.koverflow : ring->sq.kdropped);
    }
    return result;
}

/* A file and, so that polls stand between its reads, a pipe. */
static void asked(vyre *rt, uint32_t ring, const char *what)
{
    struct watch watch = {.calls = vyre_stream_system_calls};
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    vyre_stream *stream = NULL;
    vyre_error err;
    struct catch caught = {0};
    int pair[2];
    watch.calls.ctx = &watch;
    watch.calls.submit = watch_submit;
    options.ring = ring;
    options.chunk_bytes = CHUNK;
    if (pipe2(pair, O_CLOEXEC) != 0 || write(pair[1], "pipe", 4) != 4) bail("a pipe");
    close(pair[1]);
    must(vyre_stream_open_calls(rt, &options, &watch.calls, &stream, &err), &err);
    add_path(stream, scratch_path("large"));
    must(vyre_stream_add_fd(stream, pair[0], "pipe", &err), &err);
    add_path(stream, scratch_path("large"));
    end_sources(stream);
    catch_rest(stream, &caught);
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    must(vyre_stream_query(stream, &report, &err), &err);
    bool buffers = (report.ring & VYRE_RING_FIXED_BUFFERS) != 0;
    bool files = (report.ring & VYRE_RING_FIXED_FILES) != 0;
    uint32_t reads = atomic_load(buffers ? &watch.fixed_reads : &watch.plain_reads);
    ok(report.io == VYRE_STREAM_IO_URING && reads >= 2 * CHUNKS, "%s: %u reads %s", what, reads,
       buffers ? "into fixed buffers" : "into plain ones");
    is_u64(atomic_load(buffers ? &watch.plain_reads : &watch.fixed_reads), 0, "%s: and no other",
           what);
    ok(files ? atomic_load(&watch.fixed_files) >= 2 * CHUNKS : atomic_load(&watch.fixed_files) == 0,
       "%s: %u of fixed files", what, atomic_load(&watch.fixed_files));
    is_u64(atomic_load(&watch.left_over), 0, "%s: of %u requests none has what is not its own",
           what, atomic_load(&watch.requests));
    way = what;
    finish(stream, &caught, "a file, a pipe, a file");
    close(pair[0]);
}

static vyre_stream *open_watched(vyre *rt, struct watch *watch)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_URING);
    vyre_stream *stream = NULL;
    vyre_error err;
    options.chunk_bytes = CHUNK;
    watch->calls = vyre_stream_system_calls;
    watch->calls.ctx = watch;
    watch->calls.submit = watch_submit;
    must(vyre_stream_open_calls(rt, &options, &watch->calls, &stream, &err), &err);
    return stream;
}

/* Completions belong to requests by their numbers, not by their order. */
static void other_order(vyre *rt)
{
    struct watch watch = {.reverses = true};
    struct catch caught = {0};
    vyre_stream *stream = open_watched(rt, &watch);
    add_path(stream, scratch_path("large"));
    end_sources(stream);
    catch_rest(stream, &caught);
    ok(atomic_load(&watch.reversed) != 0, "%u completions came before earlier ones",
       atomic_load(&watch.reversed));
    way = "another order";
    was_read(&caught, scratch_path("large"), CHUNKS * CHUNK, 1);
    finish(stream, &caught, "a file");
}

/* A ring that has lost something is of no more use; the stream says so and can be closed. */
static void loses(vyre *rt, bool overflows, const char *what)
{
    struct watch watch = {.loses_at = 5, .overflows = overflows};
    vyre_stream *stream = open_watched(rt, &watch);
    vyre_chunk *chunk = NULL;
    vyre_status status;
    vyre_error err;
    add_path(stream, scratch_path("large"));
    end_sources(stream);
    while ((status = vyre_stream_next(stream, PATIENCE_NS, &chunk, &err)) == VYRE_OK && chunk)
        vyre_stream_release(stream, chunk);
    is_u64((uint64_t)-status, (uint64_t)-VYRE_E_SYSTEM, "%s: the stream ends with a status", what);
    vyre_stream_close(stream);
    ok(1, "%s: and closes", what);
}

int main(void)
{
    scratch_make();
    make_filled(scratch.fd, "large", CHUNKS * CHUNK, 1);
    if (!has_uring()) {
        skip("there is no io_uring here");
        return done();
    }
    vyre *rt = open_cpu(1);
    asked(rt, UINT32_MAX, "all that there is");
    asked(rt, VYRE_RING_FIXED_FILES, "fixed files alone");
    asked(rt, VYRE_RING_SINGLE_ISSUER, "nothing fixed");
    other_order(rt);
    loses(rt, false, "a request was dropped");
    loses(rt, true, "completions overflowed");
    vyre_close(rt);
    return done();
}
