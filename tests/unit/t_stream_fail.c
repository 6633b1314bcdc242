/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls of the system that fail: of each kind the n-th one, for every n until none is left. The
 * stream goes on, every source has one end, bytes are right as far as there are any, and the counts
 * add up. Then memory that runs out while a stream is opened.
 */
#include "meter.h"
#include "stream_rig.h"

#include "ingest/stream.h"

static const char upper_source[] = "@workgroup(64) @guard(loud)\n"
                                   "kernel upper(in u8 text[], out u8 loud[]) {\n"
                                   "    const u32 byte = text[i];\n"
                                   "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                                   "}\n";

/* What is made to fail. */
enum kind {
    OPENAT,
    STATX,
    READ,
    WRITE,
    RING_INIT,
    RING_REGISTER,
    GET_SQE,
    SUBMIT,
    RESULT_READ,
    RESULT_POLL,
    RESULT_WRITE,
    KINDS
};
static const char *const kind_names[KINDS] = {
    "openat",  "statx",    "read",          "write",         "making a ring", "registering",
    "get_sqe", "a submit", "a ring's read", "a ring's poll", "a ring's write"};

struct seam {
    _Atomic uint64_t calls;
    uint64_t fail_at;
    enum kind kind;
    int error; /* what comes instead; above 0 a short count */
    _Atomic uint32_t failures;
};

static bool fails(void *ctx, enum kind kind)
{
    struct seam *seam = ctx;
    if (seam->kind != kind || atomic_fetch_add(&seam->calls, 1) + 1 != seam->fail_at) return false;
    atomic_fetch_add(&seam->failures, 1);
    return true;
}

static const struct vyre_stream_calls *const real = &vyre_stream_system_calls;

static int seam_openat(void *ctx, int dirfd, const char *path, int flags)
{
    if (!fails(ctx, OPENAT)) return real->openat(NULL, dirfd, path, flags);
    errno = -((struct seam *)ctx)->error;
    return -1;
}

static int seam_statx(void *ctx, int dirfd, const char *path, struct statx *out)
{
    if (!fails(ctx, STATX)) return real->statx(NULL, dirfd, path, out);
    errno = -((struct seam *)ctx)->error;
    return -1;
}

static ssize_t seam_read(void *ctx, int fd, const struct iovec *into, int64_t offset)
{
    struct seam *seam = ctx;
    if (!fails(ctx, READ)) return real->read(NULL, fd, into, offset);
    if (seam->error < 0) {
        errno = -seam->error;
        return -1;
    }
    struct iovec less = {into->iov_base, into->iov_len < 3 ? into->iov_len : 3};
    return real->read(NULL, fd, &less, offset);
}

static ssize_t seam_write(void *ctx, int fd, const struct iovec *from, int64_t offset)
{
    struct seam *seam = ctx;
    if (!fails(ctx, WRITE)) return real->write(NULL, fd, from, offset);
    if (seam->error < 0) {
        errno = -seam->error;
        return -1;
    }
    struct iovec less = {from->iov_base, from->iov_len < 3 ? from->iov_len : 3};
    return real->write(NULL, fd, &less, offset);
}

static int seam_init(void *ctx, unsigned entries, struct io_uring *ring,
                     struct io_uring_params *params)
{
    if (fails(ctx, RING_INIT)) return ((struct seam *)ctx)->error;
    return real->ring_init(NULL, entries, ring, params);
}

static int seam_register(void *ctx, struct io_uring *ring, enum vyre_ring_table table,
                         struct vyre_ring_entry *entry)
{
    if (fails(ctx, RING_REGISTER)) return ((struct seam *)ctx)->error;
    return real->ring_register(NULL, ring, table, entry);
}

static struct io_uring_sqe *seam_sqe(void *ctx, struct io_uring *ring)
{
    return fails(ctx, GET_SQE) ? NULL : real->get_sqe(NULL, ring);
}

static int seam_submit(void *ctx, struct io_uring *ring, unsigned wait)
{
    return fails(ctx, SUBMIT) ? ((struct seam *)ctx)->error : real->submit(NULL, ring, wait);
}

static int seam_result(void *ctx, enum vyre_ring_op op, int result)
{
    struct seam *seam = ctx;
    if (op == VYRE_RING_OP_READ && result > 0 && fails(ctx, RESULT_READ))
        return seam->error < 0 ? seam->error : result / 2 + 1;
    if (op == VYRE_RING_OP_POLL && fails(ctx, RESULT_POLL))
        return seam->error < 0 ? seam->error : result;
    if (op == VYRE_RING_OP_WRITE && result > 0 && fails(ctx, RESULT_WRITE))
        return seam->error < 0 ? seam->error : result / 2 + 1;
    return result;
}

struct world {
    vyre *rt;
    vyre_program *program;
    struct rig rig;
};

static void make_files(struct rig *rig)
{
    static const uint32_t lengths[] = {100, 60000, 0, 300, 9000, 4096, 70};
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        rig_file(rig, lengths[i], 60);
}

/* Holds one chunk against its file; what failed may end early. */
static void check(struct rig *rig, const vyre_chunk *chunk, struct seam *seam)
{
    struct rig_file *file = &rig->files[chunk->file];
    bool last = (chunk->flags & VYRE_CHUNK_LAST) != 0;
    if (chunk->offset + chunk->length > file->length ||
        (chunk->length != 0 &&
         memcmp(chunk->bytes, file->text + chunk->offset, chunk->length) != 0))
        rig_wrong(rig, chunk, "other bytes");
    if (chunk->offset != file->at) rig_wrong(rig, chunk, "not at %" PRIu64, file->at);
    if (file->last) rig_wrong(rig, chunk, "after the last one");
    file->at += chunk->length;
    file->last = last;
    if (chunk->status != VYRE_OK &&
        (chunk->status != VYRE_E_SYSTEM || chunk->error != -seam->error))
        rig_wrong(rig, chunk, "another error");
    if (chunk->status != VYRE_OK) file->error = chunk->error;
    if (last && chunk->status == VYRE_OK && file->at != file->length)
        rig_wrong(rig, chunk, "ended early");
}

/* One stream over all files and a pipe, with an output where `output` is not -1. */
static void run(struct world *world, struct seam *seam, const vyre_stream_options *options)
{
    const struct vyre_stream_calls calls = {seam,        seam_openat, seam_statx,    seam_read,
                                            seam_write,  seam_init,   seam_register, seam_sqe,
                                            seam_submit, seam_result};
    struct rig *rig = &world->rig;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_stream *stream = NULL;
    vyre_chunk *chunk;
    vyre_error err;
    int fds[2];
    must(vyre_stream_open_calls(world->rt, options, &calls, &stream, &err), &err);
    rig->wrong = 0;
    for (uint32_t i = 0; i < rig->count; i++) {
        rig->files[i].at = rig->files[i].last = 0;
        rig->files[i].error = 0;
        must(vyre_stream_add_path(stream, rig->files[i].path, &err), &err);
    }
    if (pipe2(fds, O_CLOEXEC) != 0) bail("no pipe");
    rig_put(fds[1], (const unsigned char *)"bytes of a pipe", 15);
    close(fds[1]);
    must(vyre_stream_add_fd(stream, fds[0], "pipe", &err), &err);
    must(vyre_stream_end(stream, &err), &err);
    uint64_t pipe_bytes = 0, lasts = 0;
    for (;;) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        lasts += (chunk->flags & VYRE_CHUNK_LAST) != 0;
        if (chunk->file < rig->count)
            check(rig, chunk, seam);
        else
            pipe_bytes += chunk->length;
        vyre_stream_release(stream, chunk);
    }
    must(vyre_stream_query(stream, &report, &err), &err);
    if (lasts != rig->count + 1 || report.files_found != lasts ||
        report.files_read + report.files_failed + report.files_skipped != lasts ||
        pipe_bytes > 15 ||
        /* (what the ring has read of a pipe and does not say is gone) */
        (report.files_failed == 0 && pipe_bytes != 15 && seam->kind != RESULT_READ)) {
        rig->wrong++;
        note("%" PRIu64 " ends, %" PRIu64 " read, %" PRIu64 " failed, %" PRIu64 " of the pipe",
             lasts, report.files_read, report.files_failed, pipe_bytes);
    }
    vyre_stream_close(stream);
    close(fds[0]);
}

static void walk_kind(struct world *world, enum kind kind, int error, uint32_t shape)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    uint32_t wrong = 0, rounds = 0;
    char path[128];
    snprintf(path, sizeof path, "%s/out", world->rig.directory);
    options.chunk_bytes = 8192;
    options.depth = 3;
    options.io = shape % 2 ? VYRE_STREAM_IO_PREAD : VYRE_STREAM_IO_AUTO;
    if (shape >= 2) options.program = world->program;
    if (shape >= 2) options.output = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    uint32_t descriptors = count_descriptors();
    for (bool more = true; more && rounds < 400; rounds++) {
        struct seam seam = {.kind = kind, .error = error, .fail_at = rounds + 1};
        run(world, &seam, &options);
        wrong += world->rig.wrong;
        more = atomic_load(&seam.failures) != 0;
    }
    ok(wrong == 0 && rounds < 400, "%s fails with %d, shape %u: %u rounds", kind_names[kind], error,
       shape, rounds);
    is_u64(settle_descriptors(world->rt, descriptors), descriptors, "no descriptor is left");
    if (options.output >= 0) {
        close(options.output);
        unlink(path);
    }
}

static void walk_calls(struct world *world)
{
    static const struct {
        enum kind kind;
        int error;
    } rows[] = {{OPENAT, -EACCES},
                {OPENAT, -EMFILE},
                {STATX, -EIO},
                {READ, -EIO},
                {READ, -EINTR},
                {READ, 1},
                {WRITE, -ENOSPC},
                {WRITE, -EINTR},
                {WRITE, 1},
                {RING_INIT, -ENOSYS},
                {RING_INIT, -EINVAL},
                {RING_INIT, -EPERM},
                {RING_REGISTER, -ENOMEM},
                {GET_SQE, -EAGAIN},
                {SUBMIT, -EINTR},
                {SUBMIT, -EBUSY},
                {SUBMIT, -ENOMEM},
                {RESULT_READ, -EIO},
                {RESULT_READ, -EINTR},
                {RESULT_READ, 1},
                {RESULT_POLL, -EINTR},
                {RESULT_WRITE, -EIO},
                {RESULT_WRITE, -EINTR},
                {RESULT_WRITE, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t shape = 0; shape < 4; shape++)
            walk_kind(world, rows[i].kind, rows[i].error, shape);
}

/* A ring that must be and cannot. */
static void demanded(struct world *world)
{
    struct vyre_stream_calls calls = *real;
    struct seam seam = {.kind = RING_INIT, .error = -EPERM, .fail_at = 1};
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream *stream = NULL;
    vyre_error err;
    options.io = VYRE_STREAM_IO_URING;
    calls.ctx = &seam;
    calls.ring_init = seam_init;
    refused(vyre_stream_open_calls(world->rt, &options, &calls, &stream, &err), VYRE_E_SYSTEM, &err,
            "no io_uring, but it was demanded");
    ok(err.code == EPERM, "the error has the errno");
    note("%s: %s", err.message, err.fix);
    seam = (struct seam){.kind = RING_REGISTER, .error = -ENOMEM, .fail_at = 1};
    calls.ring_register = seam_register;
    options.ring = VYRE_RING_FIXED_BUFFERS | VYRE_RING_FIXED_FILES;
    refused(vyre_stream_open_calls(world->rt, &options, &calls, &stream, &err), VYRE_E_SYSTEM, &err,
            "no fixed buffers, but they were demanded");
    note("%s", err.message);
}

/* How many more blocks there are. What was still in use when it was dropped is given back by a
 * later call, of which vyre_describe is one. */
static int64_t blocks_left(vyre *rt, struct meter *meter, int64_t before)
{
    const struct timespec moment = {0, 1000000};
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    for (uint32_t i = 0; i < 10000 && atomic_load(&meter->live_blocks) != before; i++) {
        if (i != 0) nanosleep(&moment, NULL);
        must(vyre_describe(rt, &description, &err), &err);
    }
    return atomic_load(&meter->live_blocks) - before;
}

/* The n-th piece of memory is not there. */
static void walk_memory(uint32_t flags)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options how = cpu_options(1);
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_error err;
    uint32_t wrong = 0, rounds = 0;
    how.allocator = &hooks;
    vyre *rt = open_with(&how);
    must(vyre_program_compile(rt, upper_source, strlen(upper_source), NULL, NULL, &program, &err),
         &err);
    options.program = program;
    options.flags = flags;
    options.chunk_bytes = 4096;
    const int64_t blocks = atomic_load(&meter.live_blocks);
    for (bool more = true; more; rounds++) {
        vyre_stream *stream = NULL;
        uint64_t failures = atomic_load(&meter.failures);
        atomic_store(&meter.fail_at, atomic_load(&meter.calls) + 1 + rounds);
        vyre_status status = vyre_stream_open(rt, &options, &stream, &err);
        more = atomic_load(&meter.failures) != failures;
        atomic_store(&meter.fail_at, 0);
        bool good = more ? status == VYRE_E_NO_MEMORY && !stream : status == VYRE_OK;
        vyre_stream_close(stream);
        int64_t left = blocks_left(rt, &meter, blocks);
        good = good && left == 0;
        if (!good)
            note("round %u, flags %u: memory was %s, status %d, %" PRId64 " blocks left", rounds,
                 flags, more ? "refused" : "there", status, left);
        wrong += !good;
    }
    ok(wrong == 0 && rounds > 10, "memory runs out while a stream is opened, flags %u: %u rounds",
       flags, rounds);
    vyre_close(rt);
    ok(meter_clean(&meter), "nothing is left");
}

int main(void)
{
    struct world world = {.rt = open_cpu(1)};
    vyre_error err;
    must(vyre_program_compile(world.rt, upper_source, strlen(upper_source), NULL, NULL,
                              &world.program, &err),
         &err);
    rig_open(&world.rig, 9);
    make_files(&world.rig);
    walk_calls(&world);
    demanded(&world);
    rig_close(&world.rig);
    vyre_close(world.rt);
    walk_memory(0);
    walk_memory(VYRE_STREAM_UNORDERED | VYRE_STREAM_MERGE);
    walk_memory(VYRE_STREAM_RECURSE);
    return done();
}
