/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams over what has no offsets: pipes, FIFOs, sockets, /dev files, /proc files. A writer thread
 * gives bytes in its own time; the stream gives the same bytes in whole chunks, and a silent pipe
 * keeps nobody else waiting.
 */
#include "stream_rig.h"

#include <sys/socket.h>

static const uint32_t ios[] = {VYRE_STREAM_IO_AUTO, VYRE_STREAM_IO_PREAD};
static const char *const io_names[] = {"io_uring", "pread"};

/* A thread that writes a text in pieces of random length. */
struct writer {
    pthread_t thread;
    int fd;
    const char *path; /* or a FIFO to open */
    const struct rig_file *file;
    uint64_t seed;
};

static void *write_all(void *argument)
{
    struct writer *writer = argument;
    uint64_t at = 0;
    if (writer->path) writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
    while (at < writer->file->length) {
        uint64_t piece = 1 + random_next(&writer->seed) % 9000;
        if (piece > writer->file->length - at) piece = writer->file->length - at;
        rig_put(writer->fd, writer->file->text + at, piece);
        at += piece;
        if (random_next(&writer->seed) % 4 == 0) breathe();
    }
    close(writer->fd);
    return NULL;
}

static void start(struct writer *writer)
{
    if (pthread_create(&writer->thread, NULL, write_all, writer) != 0) bail("no thread");
}

static vyre_stream_options options_of(uint32_t io, uint32_t shape)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    options.io = ios[io];
    options.chunk_bytes = shape % 2 ? 65536 : 4096;
    options.depth = 2 + shape;
    if (shape == 2) options.separator = '\n';
    if (shape == 3) options.record_bytes = 100;
    if (shape == 4) options.overlap_bytes = 1000;
    if (shape == 5) {
        options.separator = '\n';
        options.overlap_bytes = 64;
    }
    if (shape == 6) options.flags = VYRE_STREAM_UNORDERED;
    return options;
}
enum { SHAPES = 7 };

/* One pipe and one socket among files. */
static void mixed(vyre *rt, uint32_t io, uint32_t shape)
{
    struct rig rig;
    vyre_stream *stream = NULL;
    vyre_stream_options options = options_of(io, shape);
    struct writer writers[2];
    int pipe_fds[2], socket_fds[2];
    vyre_error err;
    rig_open(&rig, 100 * io + shape);
    rig_file(&rig, 5000, 50);
    rig_source(&rig, 300000, 70);
    rig_file(&rig, 40000, 50);
    rig_source(&rig, 65536, 3000);
    rig_file(&rig, 100000, 50);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_fds) != 0)
        bail("no pipes");
    writers[0] = (struct writer){.fd = pipe_fds[1], .file = &rig.files[1], .seed = 1};
    writers[1] = (struct writer){.fd = socket_fds[1], .file = &rig.files[3], .seed = 2};
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    for (uint32_t i = 0; i < rig.count; i++) {
        int fd = i == 1 ? pipe_fds[0] : i == 3 ? socket_fds[0] : -1;
        if (fd >= 0)
            must(vyre_stream_add_fd(stream, fd, rig.files[i].path, &err), &err);
        else
            must(vyre_stream_add_path(stream, rig.files[i].path, &err), &err);
    }
    must(vyre_stream_end(stream, &err), &err);
    for (uint32_t i = 0; i < 2; i++)
        start(&writers[i]);
    ok(rig_read(&rig, &options, stream), "%s: a pipe, a socket and files, shape %u", io_names[io],
       shape);
    for (uint32_t i = 0; i < 2; i++)
        pthread_join(writers[i].thread, NULL);
    vyre_stream_close(stream);
    close(pipe_fds[0]);
    close(socket_fds[0]);
    rig_close(&rig);
}

/* A FIFO nobody writes to yet stands first: the files behind it come all the same. */
static void silent_fifo(vyre *rt, uint32_t io)
{
    struct rig rig;
    vyre_stream *stream = NULL;
    vyre_stream_options options = options_of(io, 0);
    vyre_chunk *chunk;
    vyre_error err;
    rig_open(&rig, 7);
    struct rig_file *fifo = rig_source(&rig, 20000, 0);
    for (uint32_t i = 0; i < 5; i++)
        rig_file(&rig, 9000, 0);
    if (mkfifo(fifo->path, 0600) != 0) bail("no FIFO");
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    rig_add(&rig, stream);
    for (uint64_t ended = 0; ended < 5;) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        rig_check(&rig, &options, chunk);
        ended += (chunk->flags & VYRE_CHUNK_LAST) != 0;
        vyre_stream_release(stream, chunk);
    }
    is_u64(rig.files[0].chunks, 0, "%s: files come before a FIFO without a writer", io_names[io]);
    refused(vyre_stream_next(stream, 1000000, &chunk, &err), VYRE_E_TIMEOUT, &err,
            "%s: then there is nothing", io_names[io]);
    struct writer writer = {.path = fifo->path, .file = fifo, .seed = 3};
    start(&writer);
    ok(rig_read(&rig, &options, stream), "%s: and the FIFO when it is written to", io_names[io]);
    pthread_join(writer.thread, NULL);
    vyre_stream_close(stream);
    rig_close(&rig);
}

/* More pipes than chunks, each with less than a chunk and still open: all of it comes. */
static void many_pipes(vyre *rt, uint32_t io)
{
    enum { PIPES = 12 };
    vyre_stream *stream = NULL;
    vyre_stream_options options = options_of(io, 1);
    int fds[PIPES][2];
    uint64_t bytes = 0;
    vyre_chunk *chunk;
    vyre_error err;
    options.depth = 3;
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    for (uint32_t i = 0; i < PIPES; i++) {
        if (pipe2(fds[i], O_CLOEXEC) != 0) bail("no pipe");
        rig_put(fds[i][1], (const unsigned char *)"some bytes", 10);
        must(vyre_stream_add_fd(stream, fds[i][0], "pipe", &err), &err);
    }
    must(vyre_stream_end(stream, &err), &err);
    while (bytes < 10 * (PIPES - 2)) { /* two may wait for more in chunks of their own */
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        bytes += chunk->length;
        vyre_stream_release(stream, chunk);
    }
    ok(bytes >= 10 * (PIPES - 2), "%s: pipes that fill no chunk give it to others", io_names[io]);
    for (uint32_t i = 0; i < PIPES; i++)
        close(fds[i][1]);
    uint32_t lasts = 0;
    for (;;) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        bytes += chunk->length;
        lasts += (chunk->flags & VYRE_CHUNK_LAST) != 0;
        vyre_stream_release(stream, chunk);
    }
    ok(bytes == 10 * PIPES && lasts == PIPES, "%s: and all end: %" PRIu64 " bytes, %u ends",
       io_names[io], bytes, lasts);
    vyre_stream_close(stream);
    for (uint32_t i = 0; i < PIPES; i++)
        close(fds[i][0]);
}

/* Files that say that they are empty, and ones that are. */
static void unknown_sizes(vyre *rt, uint32_t io)
{
    static const char *const paths[] = {"/proc/self/maps", "/proc/self/status", "/dev/null",
                                        "/proc/sys/kernel/ostype"};
    vyre_stream *stream = NULL;
    vyre_stream_options options = options_of(io, 0);
    uint64_t bytes[4] = {0, 0, 0, 0};
    uint32_t lasts = 0, wrong = 0;
    vyre_chunk *chunk;
    vyre_error err;
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    for (uint32_t i = 0; i < 4; i++)
        must(vyre_stream_add_path(stream, paths[i], &err), &err);
    must(vyre_stream_end(stream, &err), &err);
    for (;;) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        bytes[chunk->file] += chunk->length;
        wrong += chunk->status != VYRE_OK;
        lasts += (chunk->flags & VYRE_CHUNK_LAST) != 0;
        vyre_stream_release(stream, chunk);
    }
    ok(bytes[0] > 1000 && bytes[1] > 500 && bytes[2] == 0 && bytes[3] == 6 && lasts == 4 &&
           wrong == 0,
       "%s: files without a size are read to their end: %" PRIu64 ", %" PRIu64 ", %" PRIu64
       ", %" PRIu64 " bytes",
       io_names[io], bytes[0], bytes[1], bytes[2], bytes[3]);
    vyre_stream_close(stream);
}

/* A stream that is closed while a pipe is silent, and one whose writer is stuck. */
static void close_waiting(vyre *rt, uint32_t io)
{
    int fds[2];
    vyre_stream *stream = NULL;
    vyre_stream_options options = options_of(io, 0);
    vyre_error err;
    if (pipe2(fds, O_CLOEXEC) != 0) bail("no pipe");
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    must(vyre_stream_add_fd(stream, fds[0], NULL, &err), &err);
    vyre_chunk *chunk = NULL;
    refused(vyre_stream_next(stream, 2000000, &chunk, &err), VYRE_E_TIMEOUT, &err,
            "%s: a silent pipe", io_names[io]);
    vyre_stream_close(stream);
    ok(write(fds[1], "x", 1) == 1, "%s: closed, and the pipe is still the caller's", io_names[io]);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    vyre *rt = open_cpu(1);
    uint32_t descriptors = count_descriptors();
    for (uint32_t io = 0; io < 2; io++) {
        for (uint32_t shape = 0; shape < SHAPES; shape++)
            mixed(rt, io, shape);
        silent_fifo(rt, io);
        many_pipes(rt, io);
        unknown_sizes(rt, io);
        close_waiting(rt, io);
    }
    is_u64(settle_descriptors(rt, descriptors), descriptors, "no descriptor is left");
    vyre_close(rt);
    return done();
}
