/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The output of a stream where writing fails, does less than was asked or takes its time. A result
 * that could not be written says so in its own record, the others are where they belong, and all
 * sources are read to their end. (Devices and file systems that are full: t_stream_faults_limits.)
 */
#include "stream_faults.h"

#include "ingest/stream.h"

#define CHUNK  16384u
#define LENGTH (20u * CHUNK + 123u)

static const char upper[] = "@workgroup(256) @guard(loud)\n"
                            "kernel upper(in u8 text[], out u8 loud[])\n"
                            "{\n"
                            "    const u32 byte = text[i];\n"
                            "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                            "}\n";

static vyre_program *program;
static unsigned char *expected; /* what the output must hold */

struct seam {
    struct vyre_stream_calls calls;
    _Atomic uint32_t writes;
    uint32_t at;    /* this one fails, from 1 on; 0: none */
    uint32_t every; /* and every so-many-th; 0: none */
    uint32_t most;  /* bytes of a write; 0: no limit */
    int error;
};

static const struct vyre_stream_calls *const real = &vyre_stream_system_calls;

static bool fails(struct seam *seam)
{
    uint32_t number = atomic_fetch_add(&seam->writes, 1) + 1;
    return number == seam->at || (seam->every && number % seam->every == 0);
}

static ssize_t seam_write(void *ctx, int fd, const struct iovec *from, int64_t offset)
{
    struct seam *seam = ctx;
    struct iovec less = *from;
    if (fails(seam)) {
        errno = seam->error;
        return -1;
    }
    if (seam->most && less.iov_len > seam->most) less.iov_len = seam->most;
    return real->write(real->ctx, fd, &less, offset);
}

/* To a file: what was written and is said not to have been is written again in its place. */
static int seam_result(void *ctx, enum vyre_ring_op op, int result)
{
    struct seam *seam = ctx;
    if (op != VYRE_RING_OP_WRITE) return result;
    if (fails(seam)) return -seam->error;
    return seam->most && result > (int)seam->most ? (int)seam->most : result;
}

static void seam_make(struct seam *seam)
{
    memset(seam, 0, sizeof *seam);
    seam->calls = *real;
    seam->calls.ctx = seam;
    seam->calls.write = seam_write;
    seam->calls.result = seam_result;
}

/* What came of a run. */
struct outcome {
    uint64_t chunks, failed, others;
    uint64_t failed_at, failed_bytes; /* of the last result that failed */
    vyre_stream_report report;
};

static struct outcome run(vyre *rt, uint32_t io, struct seam *seam, int output)
{
    struct outcome outcome = {.report = VYRE_STREAM_REPORT_INIT};
    vyre_stream_options options = small_chunks(io);
    vyre_stream *stream = NULL;
    vyre_error err;
    options.program = program;
    options.output = output;
    must(vyre_stream_open_calls(rt, &options, &seam->calls, &stream, &err), &err);
    add_path(stream, scratch_path("source"));
    end_sources(stream);
    for (;;) {
        vyre_chunk *chunk = NULL;
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        outcome.chunks++;
        if (chunk->status != VYRE_OK) {
            outcome.failed += chunk->error == seam->error;
            outcome.others += chunk->error != seam->error;
            outcome.failed_at = chunk->offset;
            outcome.failed_bytes = chunk->length;
        }
        vyre_stream_release(stream, chunk);
    }
    must(vyre_stream_query(stream, &outcome.report, &err), &err);
    vyre_stream_close(stream);
    return outcome;
}

static bool counts_agree(const struct outcome *outcome)
{
    const vyre_stream_report *report = &outcome->report;
    return report->bytes == LENGTH && report->files_found == 1 &&
           report->files_read + report->files_failed == 1 && outcome->others == 0;
}

/* Whether the file holds what it must, but for one part. */
static bool file_right(int fd, uint64_t but_at, uint64_t but_bytes)
{
    unsigned char *got = calloc(1, LENGTH + 1);
    ssize_t length = pread(fd, got, LENGTH + 1, 0);
    bool right = (uint64_t)length <= LENGTH && (uint64_t)length >= but_at &&
                 memcmp(got, expected, but_at) == 0;
    uint64_t after = but_at + but_bytes;
    if (right && after < LENGTH)
        right = length == LENGTH && memcmp(got + after, expected + after, LENGTH - after) == 0;
    free(got);
    return right;
}

static int open_output(void)
{
    int fd = openat(scratch.fd, "output", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) bail("the output");
    return fd;
}

static void each_write_fails(vyre *rt, uint32_t io)
{
    uint32_t places = 0, wrong = 0;
    for (uint32_t at = 1;; at++) {
        struct seam seam;
        int fd = open_output();
        seam_make(&seam);
        seam.at = at;
        seam.error = EIO;
        struct outcome outcome = run(rt, io, &seam, fd);
        bool reached = atomic_load(&seam.writes) >= at;
        uint64_t but_at = reached ? outcome.failed_at : LENGTH;
        if (outcome.failed != reached || outcome.chunks != 21 || !counts_agree(&outcome) ||
            !file_right(fd, but_at, outcome.failed_bytes)) {
            wrong++;
            note("write %u: %" PRIu64 " of %" PRIu64 " chunks failed, %" PRIu64 " otherwise", at,
                 outcome.failed, outcome.chunks, outcome.others);
        }
        close(fd);
        if (!reached) break;
        places++;
    }
    ok(wrong == 0 && places >= 21, "%s: each of %u writes fails once", way, places);
}

static void reluctant(vyre *rt, uint32_t io, uint32_t most, int error)
{
    struct seam seam;
    int fd = open_output();
    seam_make(&seam);
    seam.most = most;
    seam.every = error ? 2 : 0;
    seam.error = error;
    struct outcome outcome = run(rt, io, &seam, fd);
    ok(outcome.failed == 0 && counts_agree(&outcome) && file_right(fd, LENGTH, 0) &&
           outcome.report.bytes_written == LENGTH,
       "%s: writes of %u bytes at most, every second one %s", way, most,
       error ? strerrorname_np(error) : "as it should be");
    close(fd);
}

/* Appends to what is there; the descriptor stands behind it afterwards. */
static void appended(vyre *rt, uint32_t io, int flags)
{
    struct seam seam;
    unsigned char *got = malloc(LENGTH + 8);
    close(open_output());
    int fd = openat(scratch.fd, "output", O_RDWR | O_CLOEXEC | flags);
    if (write(fd, "before", 6) != 6) bail("write");
    seam_make(&seam);
    struct outcome outcome = run(rt, io, &seam, fd);
    if (write(fd, "!", 1) != 1) bail("write");
    ok(counts_agree(&outcome) && pread(fd, got, LENGTH + 8, 0) == LENGTH + 7 &&
           memcmp(got, "before", 6) == 0 && memcmp(got + 6, expected, LENGTH) == 0 &&
           got[LENGTH + 6] == '!',
       "%s: results come after what was there%s", way, flags ? ", O_APPEND" : "");
    close(fd);
    free(got);
}

/* A pipe whose reader takes its time, or goes away. */
struct reader {
    int fd;
    uint64_t most; /* then it closes its end */
    uint64_t got;
    bool right;
    pthread_t thread;
};

static void *read_slowly(void *argument)
{
    struct reader *reader = argument;
    unsigned char bytes[3000];
    ssize_t got = 1;
    reader->right = true;
    while (reader->got < reader->most && got > 0) {
        uint64_t left = reader->most - reader->got;
        got = read(reader->fd, bytes, left < sizeof bytes ? left : sizeof bytes);
        if (got <= 0) break;
        if (reader->got + (uint64_t)got > LENGTH ||
            memcmp(bytes, expected + reader->got, (size_t)got) != 0)
            reader->right = false;
        reader->got += (uint64_t)got;
        if (reader->got % 5 == 0) breathe();
    }
    close(reader->fd);
    return NULL;
}

static void to_pipe(vyre *rt, uint32_t io, uint64_t most, int flags)
{
    struct seam seam;
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) bail("a pipe");
    if (fcntl(pair[1], F_SETFL, flags) != 0) bail("fcntl");
    struct reader reader = {.fd = pair[0], .most = most};
    seam_make(&seam);
    seam.error = EPIPE;
    if (pthread_create(&reader.thread, NULL, read_slowly, &reader) != 0) bail("a thread");
    struct outcome outcome = run(rt, io, &seam, pair[1]);
    close(pair[1]);
    pthread_join(reader.thread, NULL);
    if (most > LENGTH)
        ok(outcome.failed == 0 && counts_agree(&outcome) && reader.right && reader.got == LENGTH,
           "%s: a slow reader gets all%s", way,
           flags & O_NONBLOCK ? ", the pipe does not block" : "");
    else
        ok(outcome.failed > 0 && counts_agree(&outcome) && reader.right && reader.got == most,
           "%s: the reader goes away after %" PRIu64 " bytes: %" PRIu64 " results fail", way, most,
           outcome.failed);
}

/* Closed with writes that cannot end. */
static void stuck(vyre *rt, uint32_t io, bool cancel)
{
    vyre_stream_options options = small_chunks(io);
    vyre_chunk *chunk = NULL;
    vyre_error err;
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) bail("a pipe");
    options.program = program;
    options.output = pair[1];
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("source"));
    end_sources(stream);
    vyre_status status = VYRE_OK;
    uint32_t taken = 0;
    while (!(status = vyre_stream_next(stream, 20000000, &chunk, &err)) && chunk) {
        vyre_stream_release(stream, chunk);
        taken++;
    }
    if (cancel) vyre_stream_cancel(stream, NULL);
    vyre_stream_close(stream);
    ok(status == VYRE_E_TIMEOUT && taken < 21,
       "%s: nobody reads the output: %u results went, and it can be %s", way, taken,
       cancel ? "cancelled" : "closed");
    close(pair[0]);
    close(pair[1]);
}

static void all(vyre *rt, uint32_t io)
{
    uint32_t descriptors = count_descriptors();
    each_write_fails(rt, io);
    reluctant(rt, io, 1000, 0);
    reluctant(rt, io, 0, EINTR);
    reluctant(rt, io, 777, EINTR);
    appended(rt, io, 0);
    appended(rt, io, O_APPEND);
    to_pipe(rt, io, UINT64_MAX, 0);
    to_pipe(rt, io, UINT64_MAX, O_NONBLOCK);
    to_pipe(rt, io, 5000, 0);
    to_pipe(rt, io, 5 * CHUNK, O_NONBLOCK);
    stuck(rt, io, true);
    stuck(rt, io, false);
    is_u64(settle_descriptors(rt, descriptors), descriptors, "%s: no descriptor is left", way);
}

int main(void)
{
    vyre_error err;
    scratch_make();
    vyre *rt = open_cpu(1);
    must(vyre_program_compile(rt, upper, strlen(upper), NULL, NULL, &program, &err), &err);
    make_filled(scratch.fd, "source", LENGTH, 0);
    expected = filled(LENGTH, 0);
    for (uint32_t i = 0; i < LENGTH; i++)
        if (expected[i] >= 'a' && expected[i] <= 'z') expected[i] -= 32;
    each_way(rt, all);
    must(vyre_program_unload(program, &err), &err);
    vyre_close(rt);
    free(expected);
    return done();
}
