/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A device that lies: the test writes requests of all kinds into the ring in its place, with
 * operations, handles, tenants, offsets and lengths that no device sends, more than there can be,
 * and indices that are ahead of the ring. The pump refuses what is not allowed, moves no byte
 * elsewhere, sleeps when there is nothing to take, and serves the true device afterwards. In the
 * end all tell the truth while indices wrap.
 */
#include "pump_test.h"

#include "device/io_answer.h"
#include "ingest/pump.h"

enum { ENTRIES = 16, FILES = 3 };

struct wild {
    struct pump_rig rig; /* its file may be read and written */
    int file[FILES];     /* one that may be read, one with a window, one of another tenant */
    int pair[2];
    vyre_source *source[FILES + 2]; /* and a pipe, and one that is closed */
    uint32_t handle[FILES + 3];
    vyre_buffer *buffer[3]; /* one that is named, one that is not, one that is freed */
    uint32_t freed;
    struct dev_io_page *page;
    struct dev_io_request *requests;
    uint32_t tail;
    uint32_t crowds; /* how often all operations were taken */
    uint64_t posted; /* requests but cancels */
    uint64_t state;
};

static const uint64_t window_at = 4096, window_bytes = 8192;

static vyre_source *open_part(struct wild *wild, int fd, uint32_t rights, uint32_t tenant)
{
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_source *source = NULL;
    vyre_error err;
    options.fd = fd;
    options.rights = rights;
    options.tenant = tenant;
    options.offset = window_at;
    options.length = window_bytes;
    must(vyre_source_open(wild->rig.rt, &options, &source, &err), &err);
    return source;
}

static void wild_open(struct wild *wild, uint64_t seed)
{
    const uint32_t both = VYRE_RIGHT_READ | VYRE_RIGHT_WRITE;
    static unsigned char marks[65536];
    vyre_options options = pump_options(1);
    vyre_error err;
    options.io_entries = ENTRIES;
    options.max_tenants = 8;
    rig_open_with(&wild->rig, &options);
    vyre *rt = wild->rig.rt;
    for (uint32_t i = 0; i < FILES; i++)
        wild->file[i] = make_file(65536);
    if (pipe2(wild->pair, O_CLOEXEC) != 0) bail("no pipe");
    wild->source[0] = open_source(rt, wild->file[0], VYRE_RIGHT_READ, 0);
    wild->source[1] = open_part(wild, wild->file[1], both, VYRE_TENANT_ANY);
    wild->source[2] = open_source(rt, wild->file[2], both, 3);
    wild->source[3] = open_source(rt, wild->pair[0], VYRE_RIGHT_READ, 0);
    wild->source[4] = open_source(rt, wild->file[2], both, 0);
    for (uint32_t i = 0; i < FILES + 2; i++)
        wild->handle[i] = vyre_source_handle(wild->source[i]);
    wild->handle[FILES + 2] = vyre_source_handle(wild->rig.source);
    vyre_source_close(wild->source[4]);
    memset(marks, 0xEE, sizeof marks);
    for (uint32_t i = 0; i < 3; i++) {
        wild->buffer[i] = make_buffer(rt, 65536, VYRE_PINNED);
        must(vyre_buffer_write(wild->buffer[i], 0, marks, sizeof marks, &err), &err);
    }
    wild->freed = vyre_buffer_handle(wild->buffer[2]);
    vyre_buffer_free(wild->buffer[2]);
    wild->page = rt->io.block.host;
    wild->requests = (void *)((unsigned char *)rt->io.block.host + DEV_IO_RINGS_AT);
    wild->tail = wild->crowds = 0;
    wild->posted = 0;
    wild->state = seed;
}

static uint64_t any_offset(struct wild *wild)
{
    static const uint64_t likely[] = {0,           1,          4095,           8192,
                                      65535,       65536,      INT64_MAX,      INT64_MAX - 4096,
                                      DEV_IO_HERE, UINT32_MAX, UINT64_MAX - 1, 1ull << 63};
    if (random_below(&wild->state, 8) == 0) return random_next(&wild->state);
    if (random_below(&wild->state, 2)) return random_below(&wild->state, 65536);
    return likely[random_below(&wild->state, 12)];
}

static void write_request(struct wild *wild, const struct dev_io_request *request)
{
    const dev_word64 *from = (const dev_word64 *)(const void *)request;
    dev_word64 *to = (dev_word64 *)(void *)&wild->requests[wild->tail++ & (4 * ENTRIES - 1)];
    for (size_t i = 0; i < sizeof *request / 8; i++)
        dev_store64_relaxed(&to[i], from[i]);
    wild->posted += (request->what & DEV_IO_OP_BITS) != DEV_IO_CANCEL;
}

static void post(struct wild *wild)
{
    uint64_t *state = &wild->state;
    static const uint32_t tenants[] = {0, 0, 0, 1, 2, 7, 8, UINT32_MAX, 0x80000000u};
    struct dev_io_request request = {
        .what = random_below(state, 16) ? 1 + random_below(state, 4) : (uint32_t)*state & 0xFF,
        .number = random_below(state, 4) ? random_below(state, 64) : UINT32_MAX,
        .serial = random_below(state, 4),
        .source = wild->handle[random_below(state, FILES + 3)],
        .buffer = vyre_buffer_handle(wild->buffer[0]),
        .length = (uint32_t)any_offset(wild),
        .tenant = tenants[random_below(state, 9)],
        .offset = any_offset(wild),
        .at = any_offset(wild),
        .deadline_ns = random_next(state),
    };
    if (random_below(state, 2)) { /* one that might be true, but for what follows */
        request.length = random_below(state, 4096);
        request.offset = random_below(state, 3) ? random_below(state, 4096) : DEV_IO_HERE;
        request.at = random_below(state, 61440);
        request.tenant = 0;
        if (random_below(state, 4) == 0) { /* it waits for the pipe */
            request.what = DEV_IO_READ;
            request.source = wild->handle[FILES];
            request.offset = DEV_IO_HERE;
        }
    }
    if (random_below(state, 8) == 0) request.what |= (uint32_t)random_next(state) & 0xFFFFFF00u;
    if (random_below(state, 8) == 0) request.buffer = wild->freed;
    if (random_below(state, 16) == 0) request.buffer = random_below(state, 64);
    if (random_below(state, 16) == 0) request.source = (uint32_t)random_next(state);
    if (random_below(state, 16) == 0) request.source ^= 0x10000u << random_below(state, 16);
    write_request(wild, &request);
}

/* Posts fewer than the ring has room for, and one last that the pump counts: it does not count
 * cancels, and has taken them when it has taken what follows. */
static void post_some(struct wild *wild, uint32_t count)
{
    struct dev_io_request last = {.what = DEV_IO_READ, .number = UINT32_MAX, .source = UINT32_MAX};
    while (count-- != 0)
        post(wild);
    write_request(wild, &last);
}

static void publish(struct wild *wild, uint32_t tail)
{
    __atomic_store_n(&wild->page->requested, tail, __ATOMIC_SEQ_CST);
    vyre_io_poke(wild->rig.rt);
}

/* Waits until the pump sleeps once more, having seen what was published before. */
static bool sleeps_again(struct wild *wild)
{
    uint64_t sleeps = report_of(wild->rig.rt).sleeps;
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        if (report_of(wild->rig.rt).sleeps > sleeps + 1) return true;
        vyre_io_poke(wild->rig.rt);
        breathe();
    }
    return false;
}

static uint32_t changed_bytes(int fd, uint64_t from, uint64_t to)
{
    unsigned char *bytes = malloc(65536);
    uint32_t changed = 0;
    if (lseek(fd, 0, SEEK_END) != 65536 || pread(fd, bytes, 65536, 0) != 65536) return UINT32_MAX;
    for (uint64_t i = 0; i < 65536; i++)
        changed += (i < from || i >= to) && bytes[i] != file_byte(i);
    free(bytes);
    return changed;
}

/* The true device goes on where the lies have ended. */
static void make_up(struct wild *wild)
{
    struct dev_runtime *device = vyre_local_device(wild->rig.rt);
    while (!dev_lock_try(&device->page->poller))
        sched_yield();
    device->io.posted = device->io.told = wild->tail;
    dev_store_relaxed(&device->io.answered,
                      __atomic_load_n(&wild->page->answered, __ATOMIC_ACQUIRE));
    dev_unlock(&device->page->poller);
}

static void look_around(struct wild *wild)
{
    static unsigned char bytes[65536];
    uint32_t wrong = 0;
    vyre_error err;
    is_u64(changed_bytes(wild->file[0], 0, 0), 0, "a file that may be read is as it was");
    is_u64(changed_bytes(wild->file[1], window_at, window_at + window_bytes), 0,
           "and what is beside a window");
    is_u64(changed_bytes(wild->file[2], 0, 0), 0, "and another tenant's file");
    must(vyre_buffer_read(wild->buffer[1], 0, bytes, sizeof bytes, &err), &err);
    for (uint32_t i = 0; i < sizeof bytes; i++)
        wrong += bytes[i] != 0xEE;
    is_u64(wrong, 0, "and a buffer that nobody named");
}

static void wild_close(struct wild *wild)
{
    rig_close(&wild->rig);
    for (uint32_t i = 0; i < FILES; i++)
        close(wild->file[i]);
    close(wild->pair[0]);
    close(wild->pair[1]);
}

/* Waits until the pump has taken all. Reads of the pipe hold all its operations at times: then it
 * sleeps, until the source is closed. */
static void taken(struct wild *wild)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        vyre_pump_report report = report_of(wild->rig.rt);
        if (report.requests == wild->posted) return;
        if (report.underway != ENTRIES) {
            breathe();
            continue;
        }
        if (!sleeps_again(wild)) bail("the pump does not sleep while it has no free operation");
        wild->crowds++;
        vyre_source_close(wild->source[3]);
        wild->source[3] = open_source(wild->rig.rt, wild->pair[0], VYRE_RIGHT_READ, 0);
        wild->handle[3] = vyre_source_handle(wild->source[3]);
    }
    bail("the pump does not take all");
}

static void lies(uint64_t seed, uint32_t rounds)
{
    static struct wild wild;
    wild_open(&wild, seed);
    for (uint32_t i = 0; i < rounds; i++) {
        post_some(&wild, random_below(&wild.state, 4 * ENTRIES));
        if (random_below(&wild.state, 4) == 0)
            __atomic_store_n(&wild.page->deadline_ns, random_next(&wild.state) >> 20,
                             __ATOMIC_RELAXED);
        publish(&wild, wild.tail);
        taken(&wild);
    }
    __atomic_store_n(&wild.page->deadline_ns, 0, __ATOMIC_RELAXED);
    vyre_source_close(wild.source[3]);
    ok(underway(wild.rig.rt, 0), "all requests end");
    vyre_pump_report report = report_of(wild.rig.rt);
    note("%llu requests, %llu refused, %u times more than there can be",
         (unsigned long long)report.requests, (unsigned long long)report.forbidden, wild.crowds);
    ok(report.forbidden != 0 && report.straight_requests != 0, "some are refused, some served");
    look_around(&wild);
    wild_close(&wild);
}

/* An index that is further ahead than the ring: nothing is taken, and the pump sleeps; set right it
 * goes on, and a true request is served. */
static void wrong_index(uint64_t seed)
{
    static struct wild wild;
    wild_open(&wild, seed);
    static const uint32_t ahead[] = {4 * ENTRIES + 1, 0x7FFFFFFFu, 0x80000000u, UINT32_MAX};
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t before = report_of(wild.rig.rt).requests;
        publish(&wild, wild.tail + ahead[i]);
        wrong += !sleeps_again(&wild) || report_of(wild.rig.rt).requests != before;
        publish(&wild, wild.tail);
    }
    is_u64(wrong, 0, "an index that is ahead of the ring keeps nobody awake");
    post_some(&wild, 2 * ENTRIES);
    publish(&wild, wild.tail);
    taken(&wild);
    vyre_source_close(wild.source[3]);
    if (!underway(wild.rig.rt, 0) || !sleeps_again(&wild)) bail("requests do not end");
    make_up(&wild);
    vyre_load load = load_of(wild.rig.source, wild.buffer[0], 1000, 60000);
    vyre_completion end = run_load(wild.rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 60000, "a true request is served afterwards");
    look_around(&wild);
    wild_close(&wild);
}

/* All indices are about to wrap: device and pump are at rest, and go on from there. */
static void wrapping(uint64_t seed)
{
    static struct wild wild;
    const uint32_t near = UINT32_MAX - 40;
    uint32_t wrong = 0;
    if (UNDER_TSAN) {
        skip("the test sets words that the pump has for itself");
        return;
    }
    wild_open(&wild, seed);
    struct vyre_pump *pump = wild.rig.rt->io.pump;
    if (!sleeps_again(&wild)) bail("the pump does not sleep");
    pump->taken = pump->answered = pump->told = near;
    wild.tail = near;
    __atomic_store_n(&wild.page->answered, near, __ATOMIC_SEQ_CST);
    __atomic_store_n(&wild.page->requested, near, __ATOMIC_SEQ_CST);
    make_up(&wild);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t ticket[50];
        for (uint32_t k = 0; k < 50; k++) {
            vyre_load load = load_of(wild.rig.source, wild.buffer[0], i * 1000 + k, 1000);
            load.at = k * 1000;
            ticket[k] = submit_load(wild.rig.queue, &load);
        }
        for (uint32_t k = 0; k < 50; k++) {
            vyre_completion end = wait_for(wild.rig.queue, ticket[k]);
            wrong += end.outcome != VYRE_DONE || moved(&end) != 1000;
            wrong += differs(wild.buffer[0], k * 1000, i * 1000 + k, 1000) != 0;
        }
    }
    is_u64(wrong, 0, "indices wrap, and every request has its answer");
    wild_close(&wild);
}

int main(int argc, char **argv)
{
    if (test_hosted()) skip_all("the test writes the device's own words");
    uint64_t seed = tap_seed(argc, argv);
    for (uint32_t i = 0; i < 4; i++)
        lies(seed + i, UNDER_ASAN || UNDER_TSAN ? 50 : 200);
    wrong_index(seed);
    wrapping(seed);
    return done();
}
