/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Results that are written: to files, appended, into pipes with slow readers, to what is full or
 * closed. What arrives is what the results say, in order.
 */
#include "stream_rig.h"

#include <signal.h>

static const char upper_source[] = "@workgroup(64) @guard(loud)\n"
                                   "kernel upper(in u8 text[], out u8 loud[]) {\n"
                                   "    const u32 byte = text[i];\n"
                                   "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                                   "}\n";

static const uint32_t ios[] = {VYRE_STREAM_IO_AUTO, VYRE_STREAM_IO_PREAD};
static const char *const io_names[] = {"io_uring", "pread"};

struct world {
    vyre *rt;
    vyre_program *program;
    struct rig rig;
    unsigned char *expected;
    uint64_t length;
};

static void make_world(struct world *world)
{
    static const uint32_t lengths[] = {10, 0, 4096, 200000, 1, 70000, 64, 8191, 3, 20480};
    vyre_error err;
    world->rt = open_cpu(2);
    must(vyre_program_compile(world->rt, upper_source, strlen(upper_source), NULL, NULL,
                              &world->program, &err),
         &err);
    rig_open(&world->rig, 11);
    for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        rig_file(&world->rig, lengths[i], 60);
        world->length += lengths[i];
    }
    world->expected = malloc(world->length);
    if (!world->expected) bail("out of memory");
    uint64_t at = 0;
    for (uint32_t i = 0; i < world->rig.count; i++)
        for (uint64_t k = 0; k < world->rig.files[i].length; k++) {
            unsigned char byte = world->rig.files[i].text[k];
            world->expected[at++] = byte >= 'a' && byte <= 'z' ? (unsigned char)(byte - 32) : byte;
        }
}

static vyre_stream_options options_of(const struct world *world, uint32_t io, int output)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    options.program = world->program;
    options.io = ios[io];
    options.output = output;
    options.chunk_bytes = 8192;
    options.depth = 5;
    return options;
}

/* Counts what one reads. */
struct tally {
    uint64_t chunks, failed, bytes;
    int error;
    vyre_stream_report report;
};

static struct tally run(struct world *world, const vyre_stream_options *options)
{
    struct tally tally = {.report = VYRE_STREAM_REPORT_INIT};
    vyre_stream *stream = NULL;
    vyre_chunk *chunk;
    vyre_error err;
    must(vyre_stream_open(world->rt, options, &stream, &err), &err);
    rig_add(&world->rig, stream);
    for (;;) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        tally.chunks++;
        tally.bytes += chunk->length;
        if (chunk->status != VYRE_OK) {
            tally.failed++;
            tally.error = chunk->error;
        }
        vyre_stream_release(stream, chunk);
    }
    must(vyre_stream_query(stream, &tally.report, &err), &err);
    vyre_stream_close(stream);
    return tally;
}

static bool holds(const struct world *world, int fd, uint64_t from)
{
    unsigned char *got = malloc(world->length + 1);
    ssize_t length = pread(fd, got, world->length + 1, (off_t)from);
    bool same =
        length == (ssize_t)world->length && memcmp(got, world->expected, world->length) == 0;
    free(got);
    return same;
}

static void to_file(struct world *world, uint32_t io)
{
    char path[128];
    snprintf(path, sizeof path, "%s/out", world->rig.directory);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    vyre_stream_options options = options_of(world, io, fd);
    rig_put(fd, (const unsigned char *)"head", 4);
    struct tally tally = run(world, &options);
    ok(holds(world, fd, 4) && tally.failed == 0, "%s: a file has the results", io_names[io]);
    is_u64(tally.report.bytes_written, world->length, "%s: as many as the report says",
           io_names[io]);
    is_u64((uint64_t)lseek(fd, 0, SEEK_CUR), world->length + 4, "%s: it stands after them",
           io_names[io]);
    close(fd);
    fd = open(path, O_RDWR | O_TRUNC | O_APPEND | O_CLOEXEC);
    options.output = fd;
    rig_put(fd, (const unsigned char *)"head", 4);
    tally = run(world, &options);
    ok(holds(world, fd, 4) && tally.failed == 0, "%s: appended", io_names[io]);
    close(fd);
    unlink(path);
}

/* A reader that takes its time. */
struct reader {
    pthread_t thread;
    int fd;
    unsigned char *text;
    uint64_t length, most;
};

static void *read_slowly(void *argument)
{
    struct reader *reader = argument;
    for (uint64_t k = 0; reader->length < reader->most; k++) {
        uint64_t piece =
            reader->most - reader->length < 3000 ? reader->most - reader->length : 3000;
        ssize_t got = read(reader->fd, reader->text + reader->length, piece);
        if (got <= 0) break;
        reader->length += (uint64_t)got;
        if (k % 16 == 0) breathe();
    }
    close(reader->fd);
    return NULL;
}

static void to_pipe(struct world *world, uint32_t io, bool blocking)
{
    struct reader reader = {.text = malloc(world->length + 1), .most = world->length + 1};
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) bail("no pipe");
    if (!blocking && fcntl(fds[1], F_SETFL, O_NONBLOCK) != 0) bail("no flag");
    reader.fd = fds[0];
    if (pthread_create(&reader.thread, NULL, read_slowly, &reader) != 0) bail("no thread");
    vyre_stream_options options = options_of(world, io, fds[1]);
    struct tally tally = run(world, &options);
    close(fds[1]);
    pthread_join(reader.thread, NULL);
    ok(tally.failed == 0 && reader.length == world->length &&
           memcmp(reader.text, world->expected, world->length) == 0,
       "%s: a pipe, %s, with a slow reader", io_names[io], blocking ? "plain" : "O_NONBLOCK");
    free(reader.text);
}

/* A reader that leaves: the chunks after that say so, and all are read. */
static void to_closed_pipe(struct world *world, uint32_t io)
{
    struct reader reader = {.text = malloc(world->length), .most = 10000};
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) bail("no pipe");
    reader.fd = fds[0];
    if (pthread_create(&reader.thread, NULL, read_slowly, &reader) != 0) bail("no thread");
    vyre_stream_options options = options_of(world, io, fds[1]);
    struct tally tally = run(world, &options);
    close(fds[1]);
    pthread_join(reader.thread, NULL);
    ok(tally.failed != 0 && tally.error == EPIPE && tally.bytes == world->length &&
           tally.report.files_read == world->rig.count &&
           memcmp(reader.text, world->expected, reader.length) == 0,
       "%s: a pipe whose reader leaves: %" PRIu64 " of %" PRIu64 " chunks say so", io_names[io],
       tally.failed, tally.chunks);
    free(reader.text);
}

static void to_full(struct world *world, uint32_t io)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        skip("there is no /dev/full");
        return;
    }
    vyre_stream_options options = options_of(world, io, fd);
    struct tally tally = run(world, &options);
    ok(tally.failed != 0 && tally.error == ENOSPC && tally.bytes == world->length &&
           tally.report.bytes_written == 0 && tally.report.files_read == world->rig.count,
       "%s: a full device: %" PRIu64 " of %" PRIu64 " chunks say so", io_names[io], tally.failed,
       tally.chunks);
    close(fd);
}

/* Closed while nobody reads the pipe. */
static void close_stuck(struct world *world, uint32_t io)
{
    vyre_stream *stream = NULL;
    vyre_chunk *chunk = NULL;
    vyre_error err;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) bail("no pipe");
    vyre_stream_options options = options_of(world, io, fds[1]);
    must(vyre_stream_open(world->rt, &options, &stream, &err), &err);
    rig_add(&world->rig, stream);
    vyre_status status = VYRE_OK;
    while (!(status = vyre_stream_next(stream, 50000000, &chunk, &err)) && chunk)
        vyre_stream_release(stream, chunk);
    is_u64((uint64_t)-status, (uint64_t)-VYRE_E_TIMEOUT, "%s: nobody reads the pipe", io_names[io]);
    vyre_stream_close(stream);
    ok(true, "%s: and the stream can be closed", io_names[io]);
    close(fds[0]);
    close(fds[1]);
}

static void refuse(struct world *world)
{
    vyre_stream *stream = NULL;
    vyre_error err;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    vyre_stream_options options = options_of(world, 0, fd);
    refused(vyre_stream_open(world->rt, &options, &stream, &err), VYRE_E_NOT_PERMITTED, &err,
            "an output for reading");
    close(fd);
    options.output = 1000000;
    refused(vyre_stream_open(world->rt, &options, &stream, &err), VYRE_E_SYSTEM, &err,
            "an output that is not open");
    options.output = 1;
    options.flags = VYRE_STREAM_UNORDERED;
    refused(vyre_stream_open(world->rt, &options, &stream, &err), VYRE_E_CONFLICT, &err,
            "an output, unordered");
    options.flags = 0;
    options.program = NULL;
    refused(vyre_stream_open(world->rt, &options, &stream, &err), VYRE_E_CONFLICT, &err,
            "an output without a program");
}

int main(void)
{
    struct world world = {.length = 0};
    make_world(&world);
    uint32_t descriptors = count_descriptors();
    for (uint32_t io = 0; io < 2; io++) {
        to_file(&world, io);
        to_pipe(&world, io, true);
        to_pipe(&world, io, false);
        to_closed_pipe(&world, io);
        to_full(&world, io);
        close_stuck(&world, io);
    }
    refuse(&world);
    is_u64(settle_descriptors(world.rt, descriptors), descriptors, "no descriptor is left");
    rig_close(&world.rig);
    free(world.expected);
    vyre_close(world.rt);
    return done();
}
