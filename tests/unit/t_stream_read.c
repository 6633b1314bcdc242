/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams without a program: every byte of every file, in chunks as the options want them, for all
 * ways of reading; then random mixtures.
 */
#include "stream_rig.h"

static const struct {
    const char *name;
    uint32_t io, flags, ring;
} ways[] = {
    {"io_uring", VYRE_STREAM_IO_AUTO, 0, 0xFFFFFFFF},
    {"io_uring, plain buffers and files", VYRE_STREAM_IO_AUTO, 0, VYRE_RING_SINGLE_ISSUER},
    {"io_uring, nothing special", VYRE_STREAM_IO_AUTO, 0, VYRE_RING_IOPOLL},
    {"io_uring, sqpoll", VYRE_STREAM_IO_AUTO, 0,
     VYRE_RING_SQPOLL | VYRE_RING_FIXED_FILES | VYRE_RING_FIXED_BUFFERS},
    {"io_uring, O_DIRECT", VYRE_STREAM_IO_AUTO, VYRE_STREAM_DIRECT, 0},
    {"pread", VYRE_STREAM_IO_PREAD, 0, 0},
    {"pread, O_DIRECT", VYRE_STREAM_IO_PREAD, VYRE_STREAM_DIRECT, 0},
    {"io_uring, unordered", VYRE_STREAM_IO_AUTO, VYRE_STREAM_UNORDERED, 0},
    {"pread, unordered", VYRE_STREAM_IO_PREAD, VYRE_STREAM_UNORDERED, 0},
    {"io_uring, merged", VYRE_STREAM_IO_AUTO, VYRE_STREAM_MERGE, 0},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct {
    const char *name;
    uint32_t chunk, depth, overlap, record;
    int separator;
} shapes[] = {
    {"chunks of 4096", 4096, 2, 0, 0, -1},
    {"chunks of 64 KiB", 65536, 3, 0, 0, -1},
    {"chunks of 1 MiB", 1u << 20, 8, 0, 0, -1},
    {"overlap 100", 8192, 4, 100, 0, -1},
    {"overlap of half a chunk", 4096, 2, 2048, 0, -1},
    {"overlap 4096 of 64 KiB", 65536, 4, 4096, 0, -1},
    {"records of 7 bytes", 4096, 3, 0, 7, -1},
    {"records of 512 bytes", 65536, 3, 0, 512, -1},
    {"records of 5000 bytes, longer than a chunk", 4096, 3, 0, 5000, -1},
    {"records of 10 bytes, overlap 33", 4096, 4, 33, 10, -1},
    {"records of 3000 bytes, overlap 2000", 4096, 4, 2000, 3000, -1},
    {"lines", 4096, 2, 0, 0, '\n'},
    {"lines in chunks of 64 KiB", 65536, 4, 0, 0, '\n'},
    {"lines, overlap 50", 4096, 3, 50, 0, '\n'},
    {"lines, overlap of half a chunk", 4096, 3, 2048, 0, '\n'},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static vyre_stream_options options_of(uint32_t way, uint32_t shape)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    options.io = ways[way].io;
    options.flags = ways[way].flags;
    options.ring = ways[way].ring;
    options.chunk_bytes = shapes[shape].chunk;
    options.depth = shapes[shape].depth;
    options.overlap_bytes = shapes[shape].overlap;
    options.record_bytes = shapes[shape].record;
    options.separator = shapes[shape].separator;
    return options;
}

/* Lengths around every edge of a chunk. */
static void make_files(struct rig *rig, uint32_t chunk)
{
    const uint64_t lengths[] = {
        0,         1,         15,    4095,      4096,      4097,           chunk / 4,
        chunk / 2, chunk - 1, chunk, chunk + 1, 2 * chunk, 3 * chunk + 17, 5 * chunk - 4096};
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        rig_file(rig, lengths[i], i % 3 == 0 ? 40 : i % 3 == 1 ? 1000 : 6000);
    rig_file(rig, 3 * (uint64_t)chunk, 0); /* no line end at all */
    rig_file(rig, 0, 0);
}

static void every_way(vyre *rt, uint64_t seed)
{
    for (uint32_t shape = 0; shape < SHAPES; shape++) {
        struct rig rig;
        rig_open(&rig, seed);
        make_files(&rig, shapes[shape].chunk);
        for (uint32_t way = 0; way < WAYS; way++) {
            vyre_stream_options options = options_of(way, shape);
            ok(rig_run(&rig, rt, &options), "%s: %s", ways[way].name, shapes[shape].name);
        }
        rig_close(&rig);
    }
}

/* Files that lie in one chunk, the last of them often empty: its place is in the chunk too. */
static void empty_last(vyre *rt, uint64_t seed)
{
    uint32_t wrong = 0;
    for (uint32_t last = 1; last <= 20; last++) {
        struct rig rig;
        vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
        options.flags = VYRE_STREAM_MERGE;
        rig_open(&rig, seed);
        for (uint32_t i = 0; i < last; i++) {
            rig_file(&rig, 5, 0);
            rig_file(&rig, 0, 0);
        }
        wrong += !rig_run(&rig, rt, &options);
        rig_close(&rig);
    }
    is_u64(wrong, 0, "chunks of several files that end with an empty one");
}

/* Any options with any files. */
static void random_ways(vyre *rt, uint64_t seed, uint32_t rounds)
{
    uint64_t state = seed;
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < rounds && wrong == 0; round++) {
        struct rig rig;
        vyre_stream_options options = options_of((uint32_t)(random_next(&state) % WAYS), 0);
        rig_open(&rig, random_next(&state));
        options.chunk_bytes = 4096 * (1 + (uint32_t)(random_next(&state) % 40));
        options.depth = 2 + (uint32_t)(random_next(&state) % 6);
        options.threads = 1 + (uint32_t)(random_next(&state) % 3);
        if (random_next(&state) % 2)
            options.overlap_bytes = (uint32_t)(random_next(&state) % (options.chunk_bytes / 2 + 1));
        if (random_next(&state) % 3 == 0)
            options.separator = '\n';
        else if (random_next(&state) % 2)
            options.record_bytes = 1 + (uint32_t)(random_next(&state) % 9000);
        uint32_t files = (uint32_t)(random_next(&state) % 40);
        for (uint32_t i = 0; i < files; i++) {
            uint64_t most = random_next(&state) % 4 ? 5000 : 300000;
            rig_file(&rig, random_next(&state) % most, 1u << random_next(&state) % 14);
        }
        if (!rig_run(&rig, rt, &options)) {
            wrong++;
            note("round %u: io %u, flags 0x%x, ring 0x%x, chunk %u, depth %u, overlap %u, record "
                 "%u, separator %d, %u files",
                 round, options.io, options.flags, options.ring, options.chunk_bytes, options.depth,
                 options.overlap_bytes, options.record_bytes, options.separator, files);
        }
        rig_close(&rig);
    }
    is_u64(wrong, 0, "%u random streams", rounds);
}

/* O_DIRECT, asked for by a flag or by the caller's descriptor: counted as such, tails included. */
static void direct(vyre *rt, uint64_t seed, uint32_t io, bool given)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_stream *stream = NULL;
    struct rig rig;
    vyre_error err;
    rig_open(&rig, seed);
    struct rig_file *file = rig_file(&rig, 1000001, 0);
    int fd = open(file->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0) {
        skip("no O_DIRECT on this file system");
        rig_close(&rig);
        return;
    }
    options.io = io;
    options.chunk_bytes = 65536;
    if (!given) options.flags = VYRE_STREAM_DIRECT;
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    if (given) {
        must(vyre_stream_add_fd(stream, fd, file->path, &err), &err);
        must(vyre_stream_end(stream, &err), &err);
    } else {
        rig_add(&rig, stream);
    }
    ok(rig_read(&rig, &options, stream), "io %u, O_DIRECT %s", io,
       given ? "of the caller's descriptor" : "asked for");
    must(vyre_stream_query(stream, &report, &err), &err);
    ok(report.way[VYRE_PATH_DIRECT].bytes == 1000001 && report.way[VYRE_PATH_CACHE].bytes == 0,
       "%" PRIu64 " bytes by O_DIRECT", report.way[VYRE_PATH_DIRECT].bytes);
    vyre_stream_close(stream);
    ok((fcntl(fd, F_GETFL) & O_DIRECT) != 0, "the caller's descriptor is as it was");
    close(fd);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(1);
    uint32_t threads = count_threads(), descriptors = count_descriptors();
    every_way(rt, seed);
    for (uint32_t i = 0; i < 4; i++)
        direct(rt, seed, i % 2 ? VYRE_STREAM_IO_PREAD : VYRE_STREAM_IO_AUTO, i >= 2);
    empty_last(rt, seed);
    random_ways(rt, seed, UNDER_ASAN || UNDER_TSAN ? 60 : 200);
    is_u64(settle_threads(threads), threads, "no thread is left");
    is_u64(settle_descriptors(rt, descriptors), descriptors, "no descriptor is left");
    vyre_close(rt);
    return done();
}
