/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the pump does when the system does not do as it is asked: errors and short moves that are
 * injected, every call failing at the n-th time, io_uring refused or without some of its features,
 * full devices, memory that runs out. A request that fails faults its slot; the pump goes on.
 */
#include "pump_test.h"

#include <fcntl.h>

#include "ingest/ring.h"

/* Calls of the system that fail as the test says. */
struct seam {
    struct vyre_stream_calls calls;
    _Atomic uint32_t made;  /* calls so far */
    _Atomic uint32_t fails; /* the n-th fails, counted from 1; 0: none */
    _Atomic int error;      /* with which reads and writes end; 0: they do not */
    _Atomic int limit;      /* bytes that a move says it has moved, at most; 0: all */
    _Atomic uint32_t times; /* how often, yet */
};

static int fails(struct seam *seam)
{
    return atomic_fetch_add(&seam->made, 1) + 1 == atomic_load(&seam->fails);
}

static int take_turn(struct seam *seam)
{
    uint32_t left = atomic_load(&seam->times);
    while (left != 0 && !atomic_compare_exchange_weak(&seam->times, &left, left - 1)) {}
    return left != 0;
}

static int64_t changed(struct seam *seam, int64_t result)
{
    int error = atomic_load(&seam->error), limit = atomic_load(&seam->limit);
    if ((error == 0 && limit == 0) || !take_turn(seam)) return result;
    if (error != 0) return -error;
    return result > limit ? limit : result;
}

static int seam_init(void *ctx, unsigned entries, struct io_uring *ring,
                     struct io_uring_params *params)
{
    return fails(ctx) ? -EPERM : vyre_stream_system_calls.ring_init(NULL, entries, ring, params);
}

static int seam_register(void *ctx, struct io_uring *ring, enum vyre_ring_table table,
                         struct vyre_ring_entry *entry)
{
    return fails(ctx) ? -ENOMEM : vyre_stream_system_calls.ring_register(NULL, ring, table, entry);
}

static struct io_uring_sqe *seam_sqe(void *ctx, struct io_uring *ring)
{
    return fails(ctx) ? NULL : vyre_stream_system_calls.get_sqe(NULL, ring);
}

static int seam_submit(void *ctx, struct io_uring *ring, unsigned wait)
{
    return fails(ctx) ? -EAGAIN : vyre_stream_system_calls.submit(NULL, ring, wait);
}

static int seam_result(void *ctx, enum vyre_ring_op op, int result)
{
    if (op != VYRE_RING_OP_READ && op != VYRE_RING_OP_WRITE) return result;
    return (int)changed(ctx, result);
}

/* What a call of read or write returned, in the way of a ring: the errno, negative. */
static int64_t of_call(ssize_t result)
{
    return result < 0 ? -errno : result;
}

static ssize_t answer(int64_t result)
{
    if (result >= 0) return result;
    errno = (int)-result;
    return -1;
}

static ssize_t seam_read(void *ctx, int fd, const struct iovec *into, int64_t offset)
{
    return answer(changed(ctx, of_call(vyre_stream_system_calls.read(NULL, fd, into, offset))));
}

static ssize_t seam_write(void *ctx, int fd, const struct iovec *from, int64_t offset)
{
    return answer(changed(ctx, of_call(vyre_stream_system_calls.write(NULL, fd, from, offset))));
}

static void seam_make(struct seam *seam)
{
    memset(seam, 0, sizeof *seam);
    seam->calls = vyre_stream_system_calls;
    seam->calls.ctx = seam;
    seam->calls.ring_init = seam_init;
    seam->calls.ring_register = seam_register;
    seam->calls.get_sqe = seam_sqe;
    seam->calls.submit = seam_submit;
    seam->calls.result = seam_result;
    seam->calls.read = seam_read;
    seam->calls.write = seam_write;
}

/* A rig whose pump makes its calls through the seam, or without some features. */
static void rig_with(struct pump_rig *rig, const struct seam *seam, uint32_t without)
{
    vyre_options options = pump_options(2);
    rig->rt = open_with(&options);
    rig->rt->io.system = seam ? &seam->calls : NULL;
    rig->rt->io.without = without;
    rig->queue = vyre_queue_default(rig->rt);
    rig->fd = make_file(FILE_BYTES);
    rig->source = open_source(rig->rt, rig->fd, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0);
}

static const enum vyre_buffer_kind kinds[] = {VYRE_PINNED, VYRE_DEVICE};

static void errors(void)
{
    struct pump_rig rig;
    struct seam seam;
    seam_make(&seam);
    rig_with(&rig, &seam, 0);
    static const int codes[] = {EIO, ENOSPC, EDQUOT, ENXIO, ESTALE};
    uint32_t expected = 0;
    for (uint32_t k = 0; k < 2; k++) {
        vyre_buffer *buffer = make_buffer(rig.rt, FILE_BYTES, kinds[k]);
        for (uint32_t i = 0; i < 5; i++) {
            vyre_load load = load_of(rig.source, buffer, 0, 4096);
            load.op = i % 2 ? VYRE_IO_WRITE : VYRE_IO_READ;
            atomic_store(&seam.times, 1);
            atomic_store(&seam.error, codes[i]);
            vyre_completion end = run_load(rig.queue, &load);
            atomic_store(&seam.error, 0);
            ok(faulted_with(&end, VYRE_FAULT_IO, codes[i]), "errno %d faults the slot", codes[i]);
            end = run_load(rig.queue, &load);
            ok(end.outcome == VYRE_DONE && moved(&end) == 4096, "and the next one is done");
            expected++;
        }
    }
    is_u64(report_of(rig.rt).failed, expected, "they are counted");
    rig_close(&rig);
}

/* Interrupted, not ready, and a few bytes at a time: the slot has all its bytes in the end. */
static void short_moves(void)
{
    struct pump_rig rig;
    struct seam seam;
    seam_make(&seam);
    rig_with(&rig, &seam, 0);
    static const int again[] = {EINTR, EAGAIN};
    for (uint32_t k = 0; k < 2; k++) {
        vyre_buffer *buffer = make_buffer(rig.rt, 300000, kinds[k]);
        for (uint32_t i = 0; i < 2; i++) {
            vyre_load load = load_of(rig.source, buffer, 0, 300000);
            atomic_store(&seam.times, 7);
            atomic_store(&seam.error, again[i]);
            vyre_completion end = run_load(rig.queue, &load);
            atomic_store(&seam.error, 0);
            ok(end.outcome == VYRE_DONE && moved(&end) == 300000, "errno %d is tried again",
               again[i]);
            is_u64(differs(buffer, 0, 0, 300000), 0, "all bytes are there");
        }
        vyre_load load = load_of(rig.source, buffer, 5, 299000);
        atomic_store(&seam.times, 100);
        atomic_store(&seam.limit, 1001);
        vyre_completion end = run_load(rig.queue, &load);
        ok(end.outcome == VYRE_DONE && moved(&end) == 299000, "a short read is gone on with");
        is_u64(differs(buffer, 0, 5, 299000), 0, "all bytes are there");
        atomic_store(&seam.times, 100);
        load.op = VYRE_IO_WRITE;
        load.offset = 100;
        end = run_load(rig.queue, &load);
        atomic_store(&seam.limit, 0);
        ok(end.outcome == VYRE_DONE && moved(&end) == 299000, "a short write too");
        unsigned char *bytes = malloc(299000);
        uint32_t wrong = 0;
        if (pread(rig.fd, bytes, 299000, 100) != 299000) bail("the file was not read");
        for (uint32_t i = 0; i < 299000; i++)
            wrong += bytes[i] != file_byte(5 + i);
        is_u64(wrong, 0, "all bytes are in the file");
        free(bytes);
        if (ftruncate(rig.fd, 0) != 0) bail("the file was not cut");
        close(rig.fd);
        rig.fd = make_file(FILE_BYTES);
        vyre_source_close(rig.source);
        rig.source = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0);
    }
    vyre_pump_report report = report_of(rig.rt);
    ok(report.short_moves >= 400 && report.retries >= 28, "counted: %llu short, %llu again",
       (unsigned long long)report.short_moves, (unsigned long long)report.retries);
    rig_close(&rig);
}

/* The pump has nothing to do: waits until it has gone to sleep more than `before` times, so that it
 * makes the calls for that, however quick or slow everybody is. */
static uint64_t sleeps_after(vyre *rt, uint64_t before)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        uint64_t sleeps = report_of(rt).sleeps;
        if (sleeps > before) return sleeps;
        breathe();
    }
    bail("the pump does not go to sleep");
    return 0;
}

#define EACH_LOADS 8u   /* for each the pump makes four calls: two to move, and two to sleep */
#define EACH_MOST  160u /* calls for a device that wakes nobody: the pump looks again and again */

/* Returns how many loads went wrong. */
static uint32_t run_loads(vyre *rt, vyre_source *source)
{
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_buffer *buffer = make_buffer(rt, 65536, VYRE_PINNED);
    uint64_t sleeps = sleeps_after(rt, 0);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < EACH_LOADS; i++) {
        vyre_load load = load_of(source, buffer, i * 4096u, 4096);
        vyre_completion end = run_load(queue, &load);
        wrong += end.outcome != VYRE_DONE || differs(buffer, 0, i * 4096u, 4096) != 0;
        sleeps = sleeps_after(rt, sleeps);
    }
    return wrong;
}

/* Every call of the ring fails once, the n-th: either there is no source, or all requests end. The
 * ring is the application's: where the device lives elsewhere, and takes long to open, a few do. */
static void each_call(void)
{
    uint32_t n = 0, refusals = 0, wrong = 0, tried = 0, stride = test_hosted() ? 7 : 1;
    struct seam seam;
    if (test_engine() == VYRE_IO_ENGINE_PREAD) {
        skip("threads have no ring");
        return;
    }
    for (bool more = true; more; n += stride, tried++) {
        vyre_options options = pump_options(1);
        vyre_source_options source_options = VYRE_SOURCE_OPTIONS_INIT;
        vyre_source *source = NULL;
        vyre_error err;
        struct pump_rig rig;
        seam_make(&seam);
        atomic_store(&seam.fails, n + 1);
        options.io_engine = VYRE_IO_ENGINE_URING;
        rig.rt = open_with(&options);
        rig.rt->io.system = &seam.calls;
        rig.fd = make_file(65536);
        source_options.fd = rig.fd;
        vyre_status status = vyre_source_open(rig.rt, &source_options, &source, &err);
        if (status) {
            refusals++;
            wrong += status != VYRE_E_UNSUPPORTED && status != VYRE_E_SYSTEM;
            wrong += err.message[0] == '\0' || err.fix[0] == '\0';
        } else {
            wrong += run_loads(rig.rt, source);
            vyre_source_close(source);
        }
        more = atomic_load(&seam.made) > n && !(rig.rt->silent && n > EACH_MOST);
        vyre_close(rig.rt);
        close(rig.fd);
        if (n > 2000) bail("there is no end to the calls");
    }
    ok(wrong == 0 && refusals != 0 && n > 3 * EACH_LOADS,
       "%u of %u calls failed one after the other, %u refusals", tried, n, refusals);
}

/* io_uring that is refused: an error that says why, or threads in its place. */
static void refused_ring(void)
{
    struct pump_rig rig;
    struct seam seam;
    vyre_error err;
    vyre_source *source = NULL;
    vyre_source_options source_options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_options options = pump_options(1);
    seam_make(&seam);
    atomic_store(&seam.fails, 1);
    options.io_engine = VYRE_IO_ENGINE_URING;
    rig.rt = open_with(&options);
    rig.rt->io.system = &seam.calls;
    rig.fd = make_file(65536);
    source_options.fd = rig.fd;
    refused(vyre_source_open(rig.rt, &source_options, &source, &err), VYRE_E_UNSUPPORTED, &err,
            "a ring that is not permitted");
    ok(strstr(err.message, "io_uring") != NULL, "it says so: %.150s", err.message);
    works(vyre_source_open(rig.rt, &source_options, &source, &err), &err, "a second try works");
    vyre_close(rig.rt);
    options.io_engine = VYRE_IO_ENGINE_AUTO;
    seam_make(&seam);
    atomic_store(&seam.fails, 1);
    rig.rt = open_with(&options);
    rig.rt->io.system = &seam.calls;
    works(vyre_source_open(rig.rt, &source_options, &source, &err), &err, "auto: threads instead");
    vyre_pump_report report = report_of(rig.rt);
    is_u64(report.engine, VYRE_IO_ENGINE_PREAD, "the report has it");
    ok(strstr(report.choice, "io_uring") != NULL, "with its cause: %s", report.choice);
    vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
    vyre_load load = load_of(source, buffer, 0, 4096);
    ok(run_load(vyre_queue_default(rig.rt), &load).outcome == VYRE_DONE, "and it reads");
    vyre_close(rig.rt);
    close(rig.fd);
}

/* Without each of the features that not every kernel has. */
static void lesser_rings(void)
{
    static const uint32_t without[] = {VYRE_PUMP_FUTEX, VYRE_PUMP_DEFERRED, VYRE_PUMP_FIXED_FILES,
                                       VYRE_PUMP_FIXED_BUFFERS, 15};
    for (uint32_t i = 0; i < 5; i++) {
        struct pump_rig rig;
        uint32_t wrong = 0;
        rig_with(&rig, NULL, without[i]);
        vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
        for (uint32_t k = 0; k < 100; k++) {
            vyre_load load = load_of(rig.source, buffer, k * 4096u, 4096);
            wrong += run_load(rig.queue, &load).outcome != VYRE_DONE;
            wrong += differs(buffer, 0, k * 4096u, 4096) != 0;
            const struct dev_io_page *page = rig.rt->io.block.host;
            while (k % 20 == 0 && !__atomic_load_n(&page->asleep, __ATOMIC_RELAXED))
                breathe(); /* so that it has to be woken */
        }
        vyre_pump_report report = report_of(rig.rt);
        ok(wrong == 0 && (report.features & without[i]) == 0, "without features 0x%x: %s",
           without[i], report.choice);
        rig_close(&rig);
    }
}

/* Past the page cache: buffers are registered, and forgotten when they go. */
static void direct_files(void)
{
    struct pump_rig rig;
    struct seam seam;
    char path[] = "/var/tmp/vyre-t-pump-XXXXXX";
    seam_make(&seam);
    rig_with(&rig, &seam, 0);
    int fd = mkostemp(path, O_CLOEXEC);
    unsigned char *bytes = malloc(65536);
    for (uint32_t i = 0; i < 65536; i++)
        bytes[i] = file_byte(i);
    if (fd < 0 || write(fd, bytes, 65536) != 65536) bail("no file in /var/tmp");
    free(bytes);
    int direct = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    unlink(path);
    if (direct < 0) {
        skip("the file system of /var/tmp has no O_DIRECT");
        close(fd);
        rig_close(&rig);
        return;
    }
    vyre_source *source = open_source(rig.rt, direct, VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 16; i++) {
        vyre_buffer *buffer = make_buffer(rig.rt, 65536, i % 4 == 3 ? VYRE_DEVICE : VYRE_PINNED);
        vyre_load load = load_of(source, buffer, 4096, 32768);
        load.at = 8192;
        atomic_store(&seam.times, i % 4 == 1); /* one that is tried again is one all the same */
        atomic_store(&seam.error, EAGAIN);
        vyre_completion end = run_load(rig.queue, &load);
        atomic_store(&seam.error, 0);
        int aligned = i % 4 != 3 || !test_hosted();
        if (i % 4 != 3) {
            wrong += end.outcome != VYRE_DONE || moved(&end) != 32768;
            wrong += differs(buffer, 8192, 4096, 32768) != 0;
            load.op = VYRE_IO_WRITE;
            wrong += run_load(rig.queue, &load).outcome != VYRE_DONE;
        } else {
            wrong += aligned && end.outcome == VYRE_DONE && differs(buffer, 8192, 4096, 32768) != 0;
        }
        vyre_buffer_free(buffer);
    }
    is_u64(wrong, 0, "buffers that come and go are read into past the page cache");
    vyre_pump_report report = report_of(rig.rt);
    ok(!(report.features & VYRE_PUMP_FIXED_BUFFERS) || report.fixed_requests == 24,
       "%llu requests had a registered buffer", (unsigned long long)report.fixed_requests);
    vyre_buffer *buffer = make_buffer(rig.rt, 65536, VYRE_PINNED);
    vyre_load load = load_of(source, buffer, 1, 100);
    vyre_completion end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE || faulted_with(&end, VYRE_FAULT_IO, EINVAL),
       "what is not aligned faults, where the file system wants it aligned");
    close(direct);
    close(fd);
    rig_close(&rig);
}

static void odd_sources(void)
{
    struct pump_rig rig;
    rig_open(&rig);
    vyre_buffer *buffer = make_buffer(rig.rt, 65536, VYRE_PINNED);
    int full = open("/dev/full", O_RDWR | O_CLOEXEC),
        zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    int proc = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    int sparse = memfd_create("sparse", MFD_CLOEXEC);
    if (full < 0 || zero < 0 || proc < 0 || ftruncate(sparse, 1ll << 40) != 0) bail("no devices");
    vyre_source *source = open_source(rig.rt, full, VYRE_RIGHT_WRITE, 0);
    vyre_load load = load_of(source, buffer, 0, 4096);
    load.op = VYRE_IO_WRITE;
    vyre_completion end = run_load(rig.queue, &load);
    ok(faulted_with(&end, VYRE_FAULT_IO, ENOSPC), "a device that is full");
    source = open_source(rig.rt, zero, VYRE_RIGHT_READ, 0);
    load = load_of(source, buffer, 1000, 65536);
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 65536, "a device without end");
    source = open_source(rig.rt, proc, VYRE_RIGHT_READ, 0);
    load = load_of(source, buffer, 0, 65536);
    end = run_load(rig.queue, &load);
    char text[6] = "";
    vyre_error err;
    must(vyre_buffer_read(buffer, 0, text, 5, &err), &err);
    ok(end.outcome == VYRE_DONE && moved(&end) > 100 && strcmp(text, "Name:") == 0,
       "a file of /proc, whose size is 0");
    source = open_source(rig.rt, sparse, VYRE_RIGHT_READ, 0);
    load = load_of(source, buffer, (1ll << 40) - 100, 65536);
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 100, "the end of a sparse file");
    if (ftruncate(sparse, 0) != 0) bail("the file was not cut");
    end = run_load(rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 0, "that has been cut meanwhile");
    close(full);
    close(zero);
    close(proc);
    close(sparse);
    rig_close(&rig);
}

/* A read that the system does not give back: the watchdog names the slot. On a busy machine it may
 * have reported others before: that no worker had begun, or whose device was not let run. */
struct stuck {
    struct vyre_stream_calls calls;
    _Atomic uint32_t entered;
    _Atomic uint32_t open;
    pthread_mutex_t lock;
    char text[512]; /* (lock) of the last report about input or output */
};

static ssize_t stuck_read(void *ctx, int fd, const struct iovec *into, int64_t offset)
{
    struct stuck *stuck = ctx;
    atomic_fetch_add(&stuck->entered, 1);
    while (!atomic_load(&stuck->open))
        breathe();
    return vyre_stream_system_calls.read(NULL, fd, into, offset);
}

static void hear(void *ctx, const vyre_stall *stall)
{
    struct stuck *stuck = ctx;
    if (!strstr(stall->text, "input or output")) return;
    pthread_mutex_lock(&stuck->lock);
    snprintf(stuck->text, sizeof stuck->text, "%s", stall->text);
    pthread_mutex_unlock(&stuck->lock);
}

/* Waits for a report that has this in it. */
static bool reports(struct stuck *stuck, const char *expected)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        pthread_mutex_lock(&stuck->lock);
        bool found = strstr(stuck->text, expected) != NULL;
        pthread_mutex_unlock(&stuck->lock);
        if (found) return true;
        breathe();
    }
    note("the last report: %s", stuck->text);
    return false;
}

/* Submits the load until its read begins: on a busy machine the deadline may come first, and then
 * the slot ends without one. */
static uint64_t begin_read(struct pump_rig *rig, const vyre_load *load, struct stuck *stuck)
{
    for (uint64_t deadline_ns = 10000000; deadline_ns < PATIENCE_NS; deadline_ns *= 2) {
        vyre_error err;
        vyre_slot *slot = next_slot(rig->queue);
        must(vyre_prep_load(slot, load, &err), &err);
        must(vyre_slot_deadline(rig->queue, slot, deadline_ns, &err), &err);
        uint64_t ticket = submit(rig->queue);
        vyre_completion end;
        do {
            if (atomic_load(&stuck->entered) != 0) return ticket;
        } while (vyre_wait(rig->queue, ticket, 50000, &end, &err) == VYRE_E_TIMEOUT);
        if (end.fault != VYRE_FAULT_DEADLINE) break;
    }
    bail("no read begins");
    return 0;
}

static void overdue(void)
{
    static struct stuck stuck;
    vyre_options options = pump_options(1);
    struct pump_rig rig;
    vyre_error err;
    memset(&stuck, 0, sizeof stuck);
    pthread_mutex_init(&stuck.lock, NULL);
    stuck.calls = vyre_stream_system_calls;
    stuck.calls.ctx = &stuck;
    stuck.calls.read = stuck_read;
    options.io_engine = VYRE_IO_ENGINE_PREAD;
    options.stall_ns = 20000000;
    options.stall = hear;
    options.stall_ctx = &stuck;
    rig.rt = open_with(&options);
    rig.rt->io.system = &stuck.calls;
    rig.queue = vyre_queue_default(rig.rt);
    rig.fd = make_file(4096);
    rig.source = open_source(rig.rt, rig.fd, VYRE_RIGHT_READ, 0);
    vyre_buffer *buffer = make_buffer(rig.rt, 4096, VYRE_PINNED);
    vyre_load load = load_of(rig.source, buffer, 0, 4096);
    uint64_t ticket = begin_read(&rig, &load, &stuck);
    char expected[80];
    snprintf(expected, sizeof expected, "ticket %llu of queue %u, tenant 0, source 0x%x",
             (unsigned long long)ticket, vyre_queue_number(rig.queue),
             vyre_source_handle(rig.source));
    ok(reports(&stuck, expected), "a read that does not end is reported, slot and source");
    vyre_completion end;
    refused(vyre_wait(rig.queue, ticket, 0, &end, &err), VYRE_E_TIMEOUT, &err,
            "the slot waits for it: its buffer is in use");
    atomic_store(&stuck.open, 1);
    end = wait_for(rig.queue, ticket);
    ok(end.outcome == VYRE_DONE ||
           (end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_DEADLINE),
       "and ends when it does");
    rig_close(&rig);
}

/* Memory that runs out, at the n-th time, while the first source is opened. */
static _Atomic uint32_t allocations, last_allocation;

static void *failing_alloc(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    uint32_t last = atomic_load(&last_allocation);
    if (atomic_fetch_add(&allocations, 1) + 1 > last && last != 0) return NULL;
    return aligned_alloc(align < 64 ? 64 : align, (size + 63) / 64 * 64);
}

static void failing_free(void *ctx, void *memory, size_t size)
{
    (void)ctx, (void)size;
    free(memory);
}

static void no_memory(void)
{
    static const vyre_allocator allocator = {failing_alloc, failing_free, NULL, NULL, NULL};
    uint32_t n = 0, wrong = 0, threads = count_threads();
    int fd = make_file(4096);
    for (bool more = true; more; n++) {
        vyre_options options = pump_options(1);
        vyre_source_options source_options = VYRE_SOURCE_OPTIONS_INIT;
        vyre_source *source = NULL;
        vyre_error err;
        options.allocator = &allocator;
        atomic_store(&last_allocation, 0);
        vyre *rt = open_with(&options);
        source_options.fd = fd;
        atomic_store(&allocations, 0);
        atomic_store(&last_allocation, n + 1);
        if (n == 0) atomic_store(&last_allocation, UINT32_MAX - 1); /* the first time none fails */
        vyre_status status = vyre_source_open(rt, &source_options, &source, &err);
        uint32_t made = atomic_load(&allocations);
        atomic_store(&last_allocation, 0);
        wrong += status != VYRE_OK && status != VYRE_E_NO_MEMORY;
        more = n == 0 || made > n;
        if (status) {
            status = vyre_source_open(rt, &source_options, &source, &err);
            wrong += status != VYRE_OK;
        }
        vyre_buffer *buffer = make_buffer(rt, 4096, VYRE_PINNED);
        vyre_load load = load_of(source, buffer, 0, 4096);
        wrong += run_load(vyre_queue_default(rt), &load).outcome != VYRE_DONE;
        vyre_close(rt);
        if (n > 100) bail("there is no end to the allocations");
    }
    is_u64(wrong, 0, "%u allocations failed one after the other", n);
    is_u64(settle_threads(threads), threads, "no thread is left");
    close(fd);
}

int main(void)
{
    errors();
    short_moves();
    each_call();
    if (test_engine() != VYRE_IO_ENGINE_PREAD) {
        refused_ring();
        lesser_rings();
    }
    direct_files();
    odd_sources();
    overdue();
    no_memory();
    return done();
}
