/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The calls of vyre/stream.h: what they refuse and how they say so, defaults, the report, what a
 * stream does with directories and links, and that it takes no memory once it runs.
 */
#include "meter.h"
#include "stream_rig.h"

static vyre_stream *open_stream(vyre *rt, const vyre_stream_options *options)
{
    vyre_stream *stream = NULL;
    vyre_error err;
    must(vyre_stream_open(rt, options, &stream, &err), &err);
    return stream;
}

static void refuse_one(vyre *rt, const vyre_stream_options *options, vyre_status expected,
                       const char *what)
{
    vyre_stream *stream = NULL;
    vyre_error err;
    refused(vyre_stream_open(rt, options, &stream, &err), expected, &err, "%s", what);
    ok(!stream, "and no stream is made");
}

/* A field that is set to something that is not right. */
struct field {
    size_t at;
    uint32_t value;
};

static void refuse_options(vyre *rt)
{
    static const struct {
        const char *what;
        vyre_status expected;
        struct field fields[2]; /* the second one may be empty: the size, left as it is */
    } rows[] = {
        {"a size that is too small", VYRE_E_SIZE, {{offsetof(vyre_stream_options, size), 8}}},
        {"an unknown flag", VYRE_E_RESERVED, {{offsetof(vyre_stream_options, flags), 0x80}}},
        {"no chunk size", VYRE_E_RANGE, {{offsetof(vyre_stream_options, chunk_bytes), 0}}},
        {"a chunk of 4097 bytes",
         VYRE_E_RANGE,
         {{offsetof(vyre_stream_options, chunk_bytes), 4097}}},
        {"a chunk of 2 GiB",
         VYRE_E_RANGE,
         {{offsetof(vyre_stream_options, chunk_bytes), 1u << 31}}},
        {"one chunk", VYRE_E_RANGE, {{offsetof(vyre_stream_options, depth), 1}}},
        {"1025 chunks", VYRE_E_RANGE, {{offsetof(vyre_stream_options, depth), 1025}}},
        {"4 GiB in all",
         VYRE_E_RANGE,
         {{offsetof(vyre_stream_options, depth), 4},
          {offsetof(vyre_stream_options, chunk_bytes), 1u << 30}}},
        {"an overlap of more than half",
         VYRE_E_RANGE,
         {{offsetof(vyre_stream_options, overlap_bytes), 2049}}},
        {"a separator of 256", VYRE_E_RANGE, {{offsetof(vyre_stream_options, separator), 256}}},
        {"a separator of -2",
         VYRE_E_RANGE,
         {{offsetof(vyre_stream_options, separator), (uint32_t)-2}}},
        {"records of two kinds",
         VYRE_E_CONFLICT,
         {{offsetof(vyre_stream_options, separator), 10},
          {offsetof(vyre_stream_options, record_bytes), 4}}},
        {"an unknown way", VYRE_E_RANGE, {{offsetof(vyre_stream_options, io), 3}}},
        {"65 threads", VYRE_E_RANGE, {{offsetof(vyre_stream_options, threads), 65}}},
        {"an unknown tenant", VYRE_E_RANGE, {{offsetof(vyre_stream_options, tenant), 100000}}},
        {"an unknown priority", VYRE_E_RANGE, {{offsetof(vyre_stream_options, priority), 5}}},
        {"buffers that are not there",
         VYRE_E_NULL,
         {{offsetof(vyre_stream_options, buffer_count), 2}}},
        {"scalars that are not there",
         VYRE_E_NULL,
         {{offsetof(vyre_stream_options, scalar_count), 1}}},
        {"an output below -1",
         VYRE_E_RANGE,
         {{offsetof(vyre_stream_options, output), (uint32_t)-2}}},
        {"the reserved word", VYRE_E_RESERVED, {{offsetof(vyre_stream_options, reserved), 1}}},
        {"IOPOLL, demanded",
         VYRE_E_UNSUPPORTED,
         {{offsetof(vyre_stream_options, io), VYRE_STREAM_IO_URING},
          {offsetof(vyre_stream_options, ring), VYRE_RING_IOPOLL}}},
        {"SQPOLL and a single issuer, both demanded",
         VYRE_E_CONFLICT,
         {{offsetof(vyre_stream_options, io), VYRE_STREAM_IO_URING},
          {offsetof(vyre_stream_options, ring), VYRE_RING_SQPOLL | VYRE_RING_SINGLE_ISSUER}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
        options.chunk_bytes = 4096;
        for (uint32_t k = 0; k < 2; k++)
            if (rows[i].fields[k].at != 0 || k == 0)
                memcpy((char *)&options + rows[i].fields[k].at, &rows[i].fields[k].value, 4);
        refuse_one(rt, &options, rows[i].expected, rows[i].what);
    }
}

static void refuse_nulls(vyre *rt)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_stream *stream = open_stream(rt, &options), *none = NULL;
    vyre_chunk *chunk = NULL;
    vyre_error err;
    refused(vyre_stream_open(NULL, &options, &none, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_stream_open(rt, NULL, &none, &err), VYRE_E_NULL, &err, "no options");
    refused(vyre_stream_open(rt, &options, NULL, &err), VYRE_E_NULL, &err, "nowhere to put it");
    refused(vyre_stream_add_path(NULL, "x", &err), VYRE_E_NULL, &err, "add_path: stream");
    refused(vyre_stream_add_path(stream, NULL, &err), VYRE_E_NULL, &err, "add_path: path");
    refused(vyre_stream_add_fd(NULL, 0, "x", &err), VYRE_E_NULL, &err, "add_fd: stream");
    refused(vyre_stream_add_fd(stream, -1, "x", &err), VYRE_E_RANGE, &err, "add_fd: -1");
    refused(vyre_stream_end(NULL, &err), VYRE_E_NULL, &err, "end");
    refused(vyre_stream_next(NULL, 0, &chunk, &err), VYRE_E_NULL, &err, "next: stream");
    refused(vyre_stream_next(stream, 0, NULL, &err), VYRE_E_NULL, &err, "next: chunk");
    refused(vyre_stream_pause(NULL, &err), VYRE_E_NULL, &err, "pause");
    refused(vyre_stream_resume(NULL, &err), VYRE_E_NULL, &err, "resume");
    refused(vyre_stream_cancel(NULL, &err), VYRE_E_NULL, &err, "cancel");
    refused(vyre_stream_query(NULL, &report, &err), VYRE_E_NULL, &err, "query: stream");
    refused(vyre_stream_query(stream, NULL, &err), VYRE_E_NULL, &err, "query: report");
    refused(vyre_stream_probe(NULL, NULL, &err), VYRE_E_NULL, &err, "probe: report");
    report.size = 4;
    refused(vyre_stream_query(stream, &report, &err), VYRE_E_SIZE, &err, "query: size");
    refused(vyre_stream_probe(NULL, &report, &err), VYRE_E_SIZE, &err, "probe: size");
    refused(vyre_stream_next(stream, 0, &chunk, &err), VYRE_E_TIMEOUT, &err, "nothing was added");
    works(vyre_stream_end(stream, &err), &err, "end");
    refused(vyre_stream_add_path(stream, "x", &err), VYRE_E_STATE, &err, "a source after the end");
    works(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err, "an empty stream ends");
    ok(!chunk, "without a chunk");
    works(vyre_stream_next(stream, 0, &chunk, &err), &err, "and again");
    vyre_stream_release(stream, NULL);
    vyre_stream_close(stream);
    vyre_stream_close(NULL);
}

static void reporting(vyre *rt)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream_report probed = VYRE_STREAM_REPORT_INIT, report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    works(vyre_stream_probe(NULL, &probed, &err), &err, "probe");
    note("%s", probed.choice);
    vyre_stream *stream = open_stream(rt, &options);
    must(vyre_stream_query(stream, &report, &err), &err);
    ok(report.io == probed.io && report.ring == probed.ring, "a stream is as was probed: 0x%x",
       report.ring);
    ok(report.memory_bytes >= 8u << 20 && report.memory_bytes < 16u << 20,
       "%" PRIu64 " bytes of memory", report.memory_bytes);
    ok(report.threads >= 2 && report.choice[0] != '\0', "%u threads", report.threads);
    vyre_stream_close(stream);
    options.io = VYRE_STREAM_IO_PREAD;
    must(vyre_stream_probe(&options, &probed, &err), &err);
    ok(probed.io == VYRE_STREAM_IO_PREAD && probed.ring == 0, "pread where that is asked for");
    for (uint32_t i = 0; i < VYRE_PATHS; i++)
        ok(vyre_stream_path_name(i) != NULL, "way %u is \"%s\"", i, vyre_stream_path_name(i));
    ok(!vyre_stream_path_name(VYRE_PATHS), "and no more");
    if (report.io != VYRE_STREAM_IO_URING) {
        skip("no io_uring here");
        return;
    }
    options.io = VYRE_STREAM_IO_URING;
    options.ring = VYRE_RING_FIXED_FILES;
    stream = open_stream(rt, &options);
    must(vyre_stream_query(stream, &report, &err), &err);
    is_u64(report.ring, VYRE_RING_FIXED_FILES, "no features but those that were named");
    vyre_stream_close(stream);
}

/* A tree with one of each. */
static void make_tree(struct rig *rig, char *root, size_t room)
{
    char path[200];
    snprintf(root, room, "%s/tree", rig->directory);
    snprintf(path, sizeof path, "%s/inner", root);
    if (mkdir(root, 0700) != 0 || mkdir(path, 0700) != 0) bail("no directories");
    snprintf(path, sizeof path, "%s/pipe", root);
    if (mkfifo(path, 0600) != 0) bail("no FIFO");
    snprintf(path, sizeof path, "%s/link", root);
    if (symlink("inner", path) != 0) bail("no link");
    for (uint32_t i = 0; i < 3; i++) {
        struct rig_file *file = rig_source(rig, i == 1 ? 200000 : 100 * i, 50);
        snprintf(file->path, sizeof file->path, "%s/%s%u", root, i == 1 ? "inner/" : "", i);
        int fd = open(file->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        rig_put(fd, file->text, file->length);
        close(fd);
    }
}

static void remove_tree(struct rig *rig, const char *root)
{
    static const char *const names[] = {"pipe", "link", "inner", ""};
    char path[200];
    rig_forget(rig);
    for (uint32_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        if (remove(path) != 0) bail("cannot remove %s", path);
    }
}

static void trees(vyre *rt, uint32_t flags, uint64_t bytes, uint64_t skipped)
{
    struct rig rig;
    char root[100];
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_chunk *chunk;
    vyre_error err;
    rig_open(&rig, 4);
    make_tree(&rig, root, sizeof root);
    options.flags = flags;
    options.chunk_bytes = 65536;
    vyre_stream *stream = open_stream(rt, &options);
    must(vyre_stream_add_path(stream, root, &err), &err);
    must(vyre_stream_end(stream, &err), &err);
    for (;;) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        vyre_stream_release(stream, chunk);
    }
    must(vyre_stream_query(stream, &report, &err), &err);
    ok(report.bytes == bytes && report.files_skipped == skipped && report.files_failed == 0 &&
           report.files_found == report.files_read + skipped,
       "a tree with flags %u: %" PRIu64 " bytes, %" PRIu64 " read, %" PRIu64 " skipped", flags,
       report.bytes, report.files_read, report.files_skipped);
    vyre_stream_close(stream);
    remove_tree(&rig, root);
    rig_close(&rig);
}

/* Once it runs it takes no memory; after it nothing is left. */
static void memory(uint32_t flags, uint32_t io)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options how = cpu_options(1);
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    struct rig rig;
    how.allocator = &hooks;
    vyre *rt = open_with(&how);
    rig_open(&rig, 6);
    for (uint32_t i = 0; i < 60; i++)
        rig_file(&rig, i % 10 == 0 ? 300000 : 900, 0);
    int64_t blocks = atomic_load(&meter.live_blocks);
    options.chunk_bytes = 65536;
    options.flags = flags;
    options.io = io;
    vyre_stream *stream = open_stream(rt, &options);
    rig_add(&rig, stream);
    uint64_t calls = atomic_load(&meter.calls);
    ok(rig_read(&rig, &options, stream), "all is read");
    is_u64(atomic_load(&meter.calls), calls, "flags %u, io %u: no memory is taken meanwhile", flags,
           io);
    vyre_stream_close(stream);
    ok(settle_handles(rt, 0) && atomic_load(&meter.live_blocks) == blocks &&
           atomic_load(&meter.wrong) == 0,
       "and all is given back");
    rig_close(&rig);
    vyre_close(rt);
}

int main(void)
{
    vyre *rt = open_cpu(1);
    refuse_options(rt);
    refuse_nulls(rt);
    reporting(rt);
    trees(rt, 0, 0, 1);
    trees(rt, VYRE_STREAM_RECURSE, 200200, 2);
    trees(rt, VYRE_STREAM_RECURSE | VYRE_STREAM_FOLLOW, 400200, 1);
    vyre_close(rt);
    memory(0, VYRE_STREAM_IO_AUTO);
    memory(0, VYRE_STREAM_IO_PREAD);
    memory(VYRE_STREAM_RECURSE, VYRE_STREAM_IO_AUTO);
    memory(VYRE_STREAM_UNORDERED, VYRE_STREAM_IO_AUTO);
    return done();
}
