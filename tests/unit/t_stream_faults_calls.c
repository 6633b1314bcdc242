/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A stream whose calls of the system fail: every call of every kind, once, at each place where it
 * is made. Either the stream gets around it and all bytes are right, or one source has failed with
 * exactly this error and all others are right, or the stream was not opened and says why. Nothing
 * hangs, nothing is left.
 */
#include "stream_faults.h"

#include "meter.h"
#include "stream_seam.h"

#define CHUNK  16384u
#define SMALLS 5u

/* One stream over small files, large ones, a socket and a tree.
 * ------------------------------------------------------------------------------------------------
 */

static uint64_t size_of(uint32_t file)
{
    return file < SMALLS ? 100 + 900 * file : file == SMALLS ? 9 * CHUNK + 1 : 3 * CHUNK;
}

static void make_sources(void)
{
    int fd = make_directory(scratch.fd, "tree");
    for (uint32_t i = 0; i < SMALLS + 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        make_filled(fd, name, size_of(i), i);
    }
    close(fd);
}

/* A stream that has been read, and what came of it. */
struct outcome {
    vyre_status opened;
    struct catch caught;
    bool sums;
    bool socket;
    vyre_error err;
};

/* A socket that has 5000 bytes and then ends. */
static int make_socket(void)
{
    int pair[2];
    unsigned char *bytes = filled(5000, 0);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) bail("sockets");
    if (write(pair[1], bytes, 5000) != 5000) bail("a socket");
    close(pair[1]);
    free(bytes);
    return pair[0];
}

/* What a socket gave is gone, even if the result of the read is made to say otherwise: then there
 * is none. */
static bool with_socket(const struct seam *seam)
{
    return seam->call != CALL_RESULT && seam->most == 0;
}

static struct outcome run(vyre *rt, struct seam *seam, const vyre_stream_options *options)
{
    struct outcome outcome = {.socket = with_socket(seam)};
    vyre_stream *stream = NULL;
    outcome.opened = vyre_stream_open_calls(rt, options, &seam->calls, &stream, &outcome.err);
    if (outcome.opened) return outcome;
    int socket = make_socket();
    add_path(stream, scratch_path("tree"));
    if (outcome.socket)
        must(vyre_stream_add_fd(stream, socket, "/socket", &outcome.err), &outcome.err);
    end_sources(stream);
    catch_rest(stream, &outcome.caught);
    outcome.sums = adds_up(stream, &outcome.caught);
    vyre_stream_close(stream);
    close(socket);
    return outcome;
}

/* How many sources are not as they should be; those that failed with `error` are counted apart. */
static uint32_t wrong_sources(const struct outcome *outcome, int error, uint32_t *failed)
{
    uint32_t sources = SMALLS + (outcome->socket ? 3 : 2);
    uint32_t wrong = outcome->caught.count != sources;
    *failed = 0;
    for (uint32_t i = 0; i < sources; i++) {
        const char *path = i < SMALLS + 2 ? scratch_path("tree/%u", i) : "/socket";
        uint64_t size = i < SMALLS + 2 ? size_of(i) : 5000;
        unsigned char *bytes = filled(size, i < SMALLS + 2 ? i : 0);
        const struct caught *entry = catch_find(&outcome->caught, path);
        if (reads_as(&outcome->caught, path, bytes, size)) {
            free(bytes);
            continue;
        }
        bool excused = entry->path && entry->status == VYRE_E_SYSTEM && entry->error == error &&
                       entry->bytes <= size &&
                       entry->hash == hash_bytes(HASH_START, bytes, entry->bytes);
        *failed += excused;
        wrong += !excused;
        if (!excused) say_caught(&outcome->caught, path);
        free(bytes);
    }
    return wrong;
}

/* What a failure may come to. */
enum rule {
    MUST_HIDE, /* nobody sees it */
    MUST_FAIL, /* one source has failed */
    MAY_FAIL,  /* that, or nobody sees it */
    MAY_REFUSE /* the stream is opened, or not */
};

static void each_place(vyre *rt, uint32_t io, enum call call, int error, enum rule rule)
{
    vyre_stream_options options = small_chunks(io);
    uint32_t places = 0, wrong = 0, refusals = 0;
    options.flags = VYRE_STREAM_RECURSE;
    for (uint32_t at = 1; at < 400; at++) {
        struct seam seam;
        uint32_t failed;
        seam_make(&seam, call, at, error);
        struct outcome outcome = run(rt, &seam, &options);
        bool reached = atomic_load(&seam.seen[call]) >= at;
        if (outcome.opened) {
            bool said = outcome.err.message[0] && outcome.err.fix[0];
            wrong += rule != MAY_REFUSE || outcome.opened != VYRE_E_SYSTEM || !said;
            refusals++;
        } else {
            uint32_t bad = wrong_sources(&outcome, error, &failed) || !outcome.sums;
            if (rule == MAY_FAIL ? failed > 1 : failed != (rule == MUST_FAIL && reached)) bad = 1;
            if (bad) note("  %s: %s fails the %u. time", way, call_names[call], at);
            wrong += bad;
        }
        catch_free(&outcome.caught);
        if (!reached) break;
        places++;
    }
    ok(wrong == 0 && places > 0, "%s: %s fails with %s at each of %u places (%u refusals)", way,
       call_names[call], strerrorname_np(error), places, refusals);
}

/* Calls that do less than was asked, or have to be repeated, all the time. */
static void reluctant(vyre *rt, uint32_t io, uint32_t most, int error)
{
    vyre_stream_options options = small_chunks(io);
    options.flags = VYRE_STREAM_RECURSE;
    for (uint32_t call = CALL_READ; call <= CALL_RESULT; call += CALL_RESULT - CALL_READ) {
        struct seam seam;
        uint32_t failed;
        seam_make(&seam, call, 0, error);
        seam.most = most;
        seam.every = error ? 2 : 0;
        struct outcome outcome = run(rt, &seam, &options);
        uint32_t wrong = wrong_sources(&outcome, 0, &failed);
        ok(wrong == 0 && failed == 0 && outcome.sums,
           "%s: reads of %u bytes at most, every second one %s", way, most,
           error ? strerrorname_np(error) : "as it should be");
        catch_free(&outcome.caught);
    }
}

/*
 * A ring that takes nothing more, for ever: the stream ends with an error, or it had read all
 * before and says nothing. Either way it can be closed.
 */
static vyre_status dead_ring(vyre *rt, uint32_t from, int error)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_URING);
    struct catch caught = {0};
    struct seam seam;
    vyre_stream *stream = NULL;
    vyre_error err;
    vyre_status status;
    vyre_chunk *chunk;
    seam_make(&seam, CALL_SUBMIT, 0, error);
    seam.from = from;
    status = vyre_stream_open_calls(rt, &options, &seam.calls, &stream, &err);
    if (status) return err.fix[0] ? status : VYRE_E_INTERNAL;
    for (uint32_t i = 0; i < SMALLS + 2; i++)
        vyre_stream_add_path(stream, scratch_path("tree/%u", i), NULL); /* it may be over */
    end_sources(stream);
    do {
        chunk = NULL;
        status = vyre_stream_next(stream, PATIENCE_NS, &chunk, &err);
        if (chunk) catch_chunk(&caught, chunk);
        vyre_stream_release(stream, chunk);
    } while (status == VYRE_OK && chunk);
    if (status == VYRE_OK && (caught.count != SMALLS + 2 || !adds_up(stream, &caught)))
        status = VYRE_E_INTERNAL;
    if (status && !(err.message[0] && err.fix[0])) status = VYRE_E_INTERNAL;
    vyre_stream_close(stream);
    catch_free(&caught);
    return status;
}

static void dead_rings(vyre *rt)
{
    uint32_t failed = 0, wrong = 0;
    for (uint32_t from = 1; from <= 8; from++) {
        vyre_status status = dead_ring(rt, from, from % 2 ? EBUSY : EBADR);
        failed += status == VYRE_E_SYSTEM;
        wrong += status != VYRE_OK && status != VYRE_E_SYSTEM;
    }
    ok(wrong == 0 && failed > 0,
       "%s: no submit works from a moment on: %u of 8 streams say so, "
       "all can be closed",
       way, failed);
}

/* Memory that is refused, at each place where it is asked for.
 * ------------------------------------------------------------------------------------------------
 */

static struct meter meter;

/* True: the stream was opened and has read what it got. */
static bool read_with(vyre *rt, const vyre_stream_options *options, uint32_t *refusals)
{
    vyre_stream *stream = NULL;
    vyre_error err;
    vyre_status status = vyre_stream_open(rt, options, &stream, &err);
    if (status) {
        if (status != VYRE_E_NO_MEMORY || stream || !err.message[0]) bail("%s", err.message);
        ++*refusals;
        return false;
    }
    struct catch caught = {0};
    uint64_t added = 0;
    for (uint32_t i = 0; i < SMALLS + 2; i++) {
        status = vyre_stream_add_path(stream, scratch_path("tree/%u", i), &err);
        if (status && status != VYRE_E_NO_MEMORY) bail("%s", err.message);
        *refusals += status != VYRE_OK;
        added += status == VYRE_OK;
    }
    end_sources(stream);
    catch_rest(stream, &caught);
    if (!adds_up(stream, &caught) || caught.count != added) bail("the counts do not add up");
    vyre_stream_close(stream);
    catch_free(&caught);
    return true;
}

static void no_memory(vyre *rt, uint32_t io)
{
    vyre_stream_options options = small_chunks(io);
    uint32_t refusals = 0, wrong = 0;
    options.flags = VYRE_STREAM_RECURSE | VYRE_STREAM_MERGE;
    wrong += !settle_handles(rt, 0);
    uint64_t failures = atomic_load(&meter.failures), at = 0;
    for (uint64_t before = failures; at == 0 || atomic_load(&meter.failures) != before; at++) {
        before = atomic_load(&meter.failures);
        int64_t live = atomic_load(&meter.live_bytes);
        atomic_store(&meter.fail_at, atomic_load(&meter.calls) + at + 1);
        read_with(rt, &options, &refusals);
        atomic_store(&meter.fail_at, 0);
        wrong += !settle_handles(rt, 0) || atomic_load(&meter.live_bytes) != live;
    }
    failures = atomic_load(&meter.failures) - failures;
    ok(wrong == 0 && failures > 10 && refusals == failures,
       "%s: no memory at each of %" PRIu64 " places: each is refused, and nothing is left", way,
       failures);
}

/* Small files that change between the look at them and the read.
 * ------------------------------------------------------------------------------------------------
 */

static uint64_t victim_size;

static void change_victim(struct seam *seam, int dirfd, const char *path)
{
    struct stat a, b;
    (void)seam;
    if (path[0] != '\0' || fstat(dirfd, &a) != 0) return;
    if (fstatat(scratch.fd, "victim", &b, 0) != 0 || a.st_ino != b.st_ino) return;
    if (truncate(scratch_path("victim"), (off_t)victim_size) != 0) bail("truncate");
}

static void changed_small(vyre *rt, uint32_t io, uint64_t size)
{
    vyre_stream_options options = small_chunks(io);
    struct catch caught = {0};
    struct seam seam;
    vyre_stream *stream = NULL;
    vyre_error err;
    unsigned char *bytes = filled(size, 4);
    seam_make(&seam, CALLS, 0, 0);
    seam.changes = change_victim;
    victim_size = size;
    make_filled(scratch.fd, "victim", 3000, 4);
    if (size > 3000) memset(bytes + 3000, 0, size - 3000);
    make_filled(scratch.fd, "after", 1000, 7);
    must(vyre_stream_open_calls(rt, &options, &seam.calls, &stream, &err), &err);
    add_path(stream, scratch_path("victim"));
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    catch_rest(stream, &caught);
    uint32_t flags = catch_find(&caught, scratch_path("victim"))->flags;
    ok(reads_as(&caught, scratch_path("victim"), bytes, size) &&
           (flags & (VYRE_CHUNK_SHRANK | VYRE_CHUNK_GREW)) ==
               (size < 3000 ? VYRE_CHUNK_SHRANK : VYRE_CHUNK_GREW),
       "%s: a file of 3000 bytes has %" PRIu64 " when it is read, and says so", way, size);
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "a small file that changes");
    free(bytes);
}

/* A directory that goes away between finding its files and opening them. */
static void remove_directory(struct seam *seam, int dirfd, const char *path)
{
    (void)seam;
    if (strcmp(path, "doomed") != 0) return;
    unlinkat(dirfd, "doomed", 0);
    unlinkat(scratch.fd, "short-lived", AT_REMOVEDIR);
}

static void removed(vyre *rt, uint32_t io)
{
    vyre_stream_options options = small_chunks(io);
    struct catch caught = {0};
    struct seam seam;
    vyre_stream *stream = NULL;
    vyre_error err;
    options.flags = VYRE_STREAM_RECURSE;
    seam_make(&seam, CALLS, 0, 0);
    seam.changes = remove_directory;
    int fd = make_directory(scratch.fd, "short-lived");
    make_filled(fd, "doomed", 100, 0);
    close(fd);
    make_filled(scratch.fd, "after", 1000, 7);
    must(vyre_stream_open_calls(rt, &options, &seam.calls, &stream, &err), &err);
    add_path(stream, scratch_path("short-lived"));
    add_path(stream, scratch_path("after"));
    end_sources(stream);
    catch_rest(stream, &caught);
    has_failed(&caught, scratch_path("short-lived/doomed"), ENOENT);
    was_read(&caught, scratch_path("after"), 1000, 7);
    finish(stream, &caught, "a directory that is removed");
}

static void all(vyre *rt, uint32_t io)
{
    uint32_t descriptors = count_descriptors();
    bool ring = io == VYRE_STREAM_IO_URING;
    each_place(rt, io, CALL_OPENAT, EACCES, MUST_FAIL);
    each_place(rt, io, CALL_OPENAT, EMFILE, MAY_FAIL);
    each_place(rt, io, CALL_READ, EIO, MUST_FAIL);
    each_place(rt, io, CALL_READ, EINTR, MUST_HIDE);
    if (ring) {
        each_place(rt, io, CALL_RESULT, EIO, MUST_FAIL);
        each_place(rt, io, CALL_RESULT, EINTR, MUST_HIDE);
        each_place(rt, io, CALL_RESULT, EAGAIN, MUST_HIDE);
        each_place(rt, io, CALL_RING_INIT, EPERM, MAY_REFUSE);
        each_place(rt, io, CALL_RING_INIT, ENOMEM, MAY_REFUSE);
        each_place(rt, io, CALL_RING_REGISTER, ENOMEM, MUST_HIDE);
        each_place(rt, io, CALL_RING_REGISTER, EINVAL, MUST_HIDE);
        each_place(rt, io, CALL_GET_SQE, ENOMEM, MUST_HIDE);
        each_place(rt, io, CALL_SUBMIT, EINTR, MUST_HIDE);
        each_place(rt, io, CALL_SUBMIT, EAGAIN, MUST_HIDE);
        each_place(rt, io, CALL_SUBMIT, EBUSY, MUST_HIDE);
    }
    if (ring) dead_rings(rt);
    reluctant(rt, io, 1000, 0);
    reluctant(rt, io, 0, EINTR);
    reluctant(rt, io, 777, EAGAIN);
    changed_small(rt, io, 100);
    changed_small(rt, io, 0);
    changed_small(rt, io, 3500);
    changed_small(rt, io, 100000);
    removed(rt, io);
    no_memory(rt, io);
    is_u64(settle_descriptors(rt, descriptors), descriptors, "%s: no descriptor is left", way);
}

int main(void)
{
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(1);
    scratch_make();
    make_sources();
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    each_way(rt, all);
    vyre_close(rt);
    ok(meter_clean(&meter), "no memory is left");
    return done();
}
