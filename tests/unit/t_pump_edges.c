/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The pump where two things meet: two sources at one pipe, the tail of a file that is read past the
 * page cache, prefetches at and beyond what one call can say, far and near deadlines, descriptors
 * that run out while a stream is waited for, files that append.
 */
#include "pump_test.h"

#include <sys/resource.h>

#include "ingest/ring.h"

/* Calls of the system, counted. */
struct watch {
    struct vyre_stream_calls calls;
    _Atomic uint32_t reads;  /* that have ended */
    _Atomic uint32_t cut;    /* a read after one that was cut short is refused */
    _Atomic int32_t timers;  /* in the ring */
    _Atomic uint32_t armed;  /* so far */
    _Atomic uint64_t advice; /* bytes of prefetches */
    _Atomic uint32_t parts;  /* calls that they took */
    _Atomic uint32_t gaps;   /* parts that do not begin where the one before ended */
};

static int refusal(struct watch *watch, int result)
{
    uint32_t before = atomic_fetch_add(&watch->reads, 1);
    return atomic_load(&watch->cut) && before != 0 ? -EINVAL : result;
}

static int watch_result(void *ctx, enum vyre_ring_op op, int result)
{
    struct watch *watch = ctx;
    if (op == VYRE_RING_OP_WAKE && (result == -ETIME || result == -ECANCELED))
        atomic_fetch_sub(&watch->timers, 1);
    return op == VYRE_RING_OP_READ ? refusal(watch, result) : result;
}

static ssize_t watch_read(void *ctx, int fd, const struct iovec *into, int64_t offset)
{
    ssize_t result = vyre_stream_system_calls.read(NULL, fd, into, offset);
    int seen = refusal(ctx, (int)result);
    if (seen == (int)result) return result;
    errno = -seen;
    return -1;
}

/* Looks at what is about to be submitted. */
static int watch_submit(void *ctx, struct io_uring *ring, unsigned wait)
{
    struct watch *watch = ctx;
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; i++) {
        const struct io_uring_sqe *sqe = &ring->sq.sqes[i & ring->sq.ring_mask];
        if (sqe->opcode == IORING_OP_TIMEOUT) {
            atomic_fetch_add(&watch->timers, 1);
            atomic_fetch_add(&watch->armed, 1);
        }
        if (sqe->opcode != IORING_OP_FADVISE) continue;
        uint64_t before = atomic_fetch_add(&watch->advice, sqe->len);
        atomic_fetch_add(&watch->gaps, sqe->off != before);
        atomic_fetch_add(&watch->parts, 1);
    }
    return vyre_stream_system_calls.submit(NULL, ring, wait);
}

static void watch_open(struct watch *watch, struct pump_rig *rig)
{
    vyre_options options = pump_options(2);
    memset(watch, 0, sizeof *watch);
    watch->calls = vyre_stream_system_calls;
    watch->calls.ctx = watch;
    watch->calls.result = watch_result;
    watch->calls.read = watch_read;
    watch->calls.submit = watch_submit;
    rig->rt = open_with(&options);
    rig->rt->io.system = &watch->calls;
    rig->queue = vyre_queue_default(rig->rt);
    rig->fd = make_file(FILE_BYTES);
    rig->source = open_source(rig->rt, rig->fd, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0);
}

/* Two sources read one pipe, which blocks. Bytes for one of them come: the other goes on waiting,
 * where it can be told to stop. */
static void one_pipe(void)
{
    struct pump_rig rig;
    uint32_t wrong = 0;
    rig_open(&rig);
    vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
    for (uint32_t i = 0; i < 40; i++) {
        int pair[2];
        uint64_t ticket[2];
        vyre_source *source[2];
        if (pipe2(pair, O_CLOEXEC) != 0) bail("no pipe");
        for (uint32_t k = 0; k < 2; k++) {
            source[k] = open_source(rig.rt, pair[0], VYRE_RIGHT_READ, 0);
            vyre_load load = load_of(source[k], buffer, 0, 64);
            load.at = k * 64;
            ticket[k] = submit_load(rig.queue, &load);
        }
        if (!underway(rig.rt, 2)) bail("the reads do not wait");
        unsigned char bytes[64] = {0};
        if (write(pair[1], bytes, 64) != 64) bail("the pipe was not written");
        if (!underway(rig.rt, 1)) bail("no read ends");
        vyre_source_close(source[0]);
        vyre_source_close(source[1]);
        vyre_completion end[2] = {wait_for(rig.queue, ticket[0]), wait_for(rig.queue, ticket[1])};
        uint32_t first = end[0].outcome == VYRE_DONE ? 0 : 1;
        wrong += end[first].outcome != VYRE_DONE || moved(&end[first]) != 64;
        wrong += !faulted_with(&end[1 - first], VYRE_FAULT_IO, ECANCELED);
        close(pair[0]);
        close(pair[1]);
    }
    is_u64(wrong, 0, "of two sources at a pipe one has its bytes, and the other can be closed");
    rig_close(&rig);
}

/* A file whose size no sector ends at: a read of more than it has ends there, and no second one is
 * made at an offset that some file systems refuse. */
static void direct_tail(void)
{
    struct pump_rig rig;
    struct watch watch;
    char path[] = "/var/tmp/vyre-t-pump-XXXXXX";
    unsigned char bytes[10000];
    watch_open(&watch, &rig);
    int fd = mkostemp(path, O_CLOEXEC);
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = file_byte(i);
    if (fd < 0 || write(fd, bytes, sizeof bytes) != sizeof bytes) bail("no file in /var/tmp");
    int direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    unlink(path);
    if (direct < 0) {
        skip("the file system of /var/tmp has no O_DIRECT");
    } else {
        vyre_source *source = open_source(rig.rt, direct, VYRE_RIGHT_READ, 0);
        vyre_buffer *buffer = make_buffer(rig.rt, 65536, VYRE_PINNED);
        vyre_load load = load_of(source, buffer, 0, 16384);
        atomic_store(&watch.cut, 1);
        vyre_completion end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == sizeof bytes,
           "the tail of a file that is read past the page cache");
        is_u64(differs(buffer, 0, 0, sizeof bytes), 0, "all its bytes are there");
        close(direct);
    }
    close(fd);
    rig_close(&rig);
}

static vyre_source *open_window(vyre *rt, int fd, uint64_t length)
{
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_source *source = NULL;
    vyre_error err;
    options.fd = fd;
    options.length = length;
    must(vyre_source_open(rt, &options, &source, &err), &err);
    return source;
}

static void prefetch(struct pump_rig *rig, const vyre_source *source, uint64_t offset)
{
    vyre_load load = VYRE_LOAD_INIT;
    uint64_t before = report_of(rig->rt).prefetches;
    load.source = vyre_source_handle(source);
    load.offset = offset;
    load.prefetch = 1;
    if (run_load(rig->queue, &load).outcome != VYRE_DONE) bail("a prefetch has failed");
    while (report_of(rig->rt).prefetches == before)
        breathe();
    if (!underway(rig->rt, 0)) bail("a prefetch does not end");
}

/* All the rest of a window: more than one call can say, or nothing, and never more than that. */
static void prefetch_windows(void)
{
    const uint64_t most = (5ull << 30) + 4096;
    struct pump_rig rig;
    struct watch watch;
    watch_open(&watch, &rig);
    int sparse = memfd_create("sparse", MFD_CLOEXEC);
    if (ftruncate(sparse, 1ll << 40) != 0) bail("no file");
    vyre_source *source = open_window(rig.rt, sparse, most);
    prefetch(&rig, source, 0);
    if (report_of(rig.rt).engine == VYRE_IO_ENGINE_URING) {
        is_u64(atomic_load(&watch.advice), most, "a long window is prefetched to its end");
        is_u64(atomic_load(&watch.gaps), 0, "in %u parts without gaps", atomic_load(&watch.parts));
        prefetch(&rig, source, most);
        is_u64(atomic_load(&watch.advice), most, "behind it nothing is");
    } else {
        prefetch(&rig, source, most);
        skip("the lengths are not seen");
    }
    vyre_pump_report report = report_of(rig.rt);
    ok(report.prefetches == 2 && report.failed == 0 && report.forbidden == 0, "both went well");
    close(sparse);
    rig_close(&rig);
}

/* While one slot waits for a far deadline others come with near ones: the ring has one timer. */
static void timers(void)
{
    struct pump_rig rig;
    struct watch watch;
    int pair[2];
    uint32_t wrong = 0;
    vyre_error err;
    watch_open(&watch, &rig);
    if (report_of(rig.rt).engine != VYRE_IO_ENGINE_URING) {
        skip("threads have no timers");
        rig_close(&rig);
        return;
    }
    if (pipe2(pair, O_CLOEXEC) != 0) bail("no pipe");
    vyre_source *source = open_source(rig.rt, pair[0], VYRE_RIGHT_READ, 0);
    vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
    vyre_load load = load_of(source, buffer, 0, 64);
    for (uint32_t i = 0; i < 31; i++) {
        vyre_slot *slot = next_slot(rig.queue);
        must(vyre_prep_load(slot, &load, &err), &err);
        must(vyre_slot_deadline(rig.queue, slot, i == 0 ? PATIENCE_NS * 60 : 2000000u, &err), &err);
        uint64_t ticket = submit(rig.queue);
        if (i == 0) continue;
        vyre_completion end = wait_for(rig.queue, ticket);
        wrong += end.outcome != VYRE_FAULTED || end.fault != VYRE_FAULT_DEADLINE;
    }
    is_u64(wrong, 0, "thirty near deadlines come while a far one is waited for");
    for (uint64_t waited = 0; atomic_load(&watch.timers) > 2 && waited < PATIENCE_NS / 10;
         waited += 50000)
        breathe(); /* the pump may not have seen the last ones end */
    int32_t left = atomic_load(&watch.timers);
    ok(left <= 2, "%d timers of %u are left in the ring", (int)left, atomic_load(&watch.armed));
    close(pair[0]);
    close(pair[1]);
    rig_close(&rig);
}

/* The only thread waits for a stream, and there can be no other: who reads a file is told so. */
static void no_descriptors(void)
{
    struct pump_rig rig;
    struct rlimit before, now;
    int pair[2];
    rig_open(&rig);
    if (report_of(rig.rt).engine != VYRE_IO_ENGINE_PREAD) {
        skip("the ring needs no descriptor for each stream");
        rig_close(&rig);
        return;
    }
    if (pipe2(pair, O_CLOEXEC) != 0) bail("no pipe");
    vyre_source *source = open_source(rig.rt, pair[0], VYRE_RIGHT_READ, 0);
    vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
    vyre_load load = load_of(source, buffer, 0, 64);
    uint32_t threads = count_threads();
    uint64_t ticket = submit_load(rig.queue, &load);
    while (count_threads() != threads + 1)
        breathe();
    int least = dup(0); /* the lowest that is free */
    close(least);
    if (getrlimit(RLIMIT_NOFILE, &before) != 0) bail("no limit");
    now = before;
    now.rlim_cur = (rlim_t)least;
    if (setrlimit(RLIMIT_NOFILE, &now) != 0) bail("the limit was not set");
    load = load_of(rig.source, buffer, 0, 64);
    vyre_completion end = run_load(rig.queue, &load);
    ok(faulted_with(&end, VYRE_FAULT_IO, EMFILE), "a read that no thread can be had for faults");
    if (setrlimit(RLIMIT_NOFILE, &before) != 0) bail("the limit was not reset");
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE, "the next one has its thread");
    unsigned char bytes[64] = {0};
    if (write(pair[1], bytes, 64) != 64) bail("the pipe was not written");
    ok(wait_for(rig.queue, ticket).outcome == VYRE_DONE, "and the stream its bytes");
    close(pair[0]);
    close(pair[1]);
    rig_close(&rig);
}

/* Nothing is read or written of no bytes, also of a stream that has none: nobody waits for it. */
static void no_bytes(void)
{
    struct pump_rig rig;
    int pair[2];
    uint32_t wrong = 0;
    rig_open(&rig);
    if (pipe2(pair, O_CLOEXEC) != 0) bail("no pipe");
    const vyre_source *source[3] = {open_source(rig.rt, pair[0], VYRE_RIGHT_READ, 0),
                                    open_source(rig.rt, pair[1], VYRE_RIGHT_WRITE, 0), rig.source};
    for (uint32_t k = 0; k < 2; k++) {
        vyre_buffer *buffer = make_buffer(rig.rt, 64, k ? VYRE_PINNED : VYRE_DEVICE);
        for (uint32_t i = 0; i < 3; i++) {
            vyre_load load = load_of(source[i], buffer, 0, 0);
            load.at = 64;
            load.op = i == 1 ? VYRE_IO_WRITE : VYRE_IO_READ;
            vyre_completion end = run_load(rig.queue, &load);
            wrong += end.outcome != VYRE_DONE || moved(&end) != 0;
        }
    }
    is_u64(wrong, 0, "no bytes are read and written at once");
    close(pair[0]);
    close(pair[1]);
    rig_close(&rig);
}

/* As many requests under way as can be asked for, and one at a time: all end, those of a pipe when
 * it is closed, those of a file with their bytes. */
static void many_entries(uint32_t entries)
{
    static uint64_t ticket[10000];
    const uint32_t slots = entries + 100; /* of each source */
    struct pump_rig rig;
    int pair[2];
    uint32_t wrong = 0, closed = 0;
    vyre_options options = pump_options(2);
    options.io_entries = entries;
    options.inflight_slots = 16384;
    rig_open_with(&rig, &options);
    vyre_queue *queue = open_queue(rig.rt, 16384, 0);
    if (pipe2(pair, O_CLOEXEC) != 0) bail("no pipe");
    vyre_source *source = open_source(rig.rt, pair[0], VYRE_RIGHT_READ, 0);
    vyre_buffer *buffer = make_buffer(rig.rt, slots * 16, VYRE_PINNED);
    for (uint32_t i = 0; i < 2 * slots; i++) {
        vyre_load load = load_of(i < slots ? source : rig.source, buffer, i < slots ? 0 : i, 16);
        load.at = i % slots * 16;
        ticket[i] = submit_load(queue, &load);
    }
    if (!underway(rig.rt, entries)) bail("not all are under way");
    vyre_source_close(source);
    for (uint32_t i = 0; i < 2 * slots; i++) {
        vyre_completion end = wait_for(queue, ticket[i]);
        if (i >= slots)
            wrong += end.outcome != VYRE_DONE || moved(&end) != 16;
        else if (faulted_with(&end, VYRE_FAULT_IO, ECANCELED))
            closed++;
        else
            wrong += !faulted_with(&end, VYRE_FAULT_IO, EBADF);
    }
    is_u64(wrong, 0, "with io_entries %u all end as they should", entries);
    is_u64(closed, entries, "those that were under way with ECANCELED");
    wrong = 0;
    for (uint32_t i = 0; i < slots; i += 100)
        wrong += differs(buffer, i * 16, slots + i, 16) != 0;
    is_u64(wrong, 0, "and those of the file have its bytes");
    close(pair[0]);
    close(pair[1]);
    rig_close(&rig);
}

static void appending_files(void)
{
    struct pump_rig rig;
    char path[32];
    vyre_source *source = NULL;
    vyre_error err;
    rig_open(&rig);
    snprintf(path, sizeof path, "/proc/self/fd/%d", rig.fd);
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) bail("the file was not opened again");
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    options.fd = fd;
    options.rights = VYRE_RIGHT_READ | VYRE_RIGHT_WRITE;
    options.length = 4096;
    refused(vyre_source_open(rig.rt, &options, &source, &err), VYRE_E_CONFLICT, &err,
            "a window of a file that appends cannot be written");
    ok(source == NULL, "there is no source");
    options.rights = VYRE_RIGHT_READ;
    works(vyre_source_open(rig.rt, &options, &source, &err), &err, "it can be read");
    options.rights = VYRE_RIGHT_WRITE;
    options.length = 0;
    works(vyre_source_open(rig.rt, &options, &source, &err), &err, "the whole can be written");
    close(fd);
    rig_close(&rig);
}

int main(void)
{
    one_pipe();
    direct_tail();
    prefetch_windows();
    timers();
    no_descriptors();
    no_bytes();
    appending_files();
    many_entries(1);
    many_entries(4096);
    return done();
}
