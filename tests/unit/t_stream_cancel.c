/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams that end early: cancelled and closed at every moment, by other threads, with reads and
 * slots under way and chunks in the caller's hands; paused and resumed; delivered by a thread.
 *
 *     t_stream_cancel [<seed> [<rounds>]]
 */
#include "stream_rig.h"

static const char lines_source[] = "@workgroup(1)\n"
                                   "kernel lines(in u8 text[], out u32 count[1]) {\n"
                                   "    u32 found = 0;\n"
                                   "    for (u32 k = 0; k < len(text); k++)\n"
                                   "        found += u32(text[k] == 10);\n"
                                   "    count[0] = found;\n"
                                   "}\n";

static vyre_program *lines;

/* Options of all kinds. */
static vyre_stream_options random_options(uint64_t *state)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    static const uint32_t flags[] = {0, VYRE_STREAM_UNORDERED, VYRE_STREAM_DIRECT,
                                     VYRE_STREAM_MERGE, VYRE_STREAM_RECURSE};
    options.chunk_bytes = 4096 << random_next(state) % 5;
    options.depth = 2 + (uint32_t)(random_next(state) % 8);
    options.flags = flags[random_next(state) % 5];
    options.threads = 1 + (uint32_t)(random_next(state) % 2);
    if (random_next(state) % 4 == 0) options.io = VYRE_STREAM_IO_PREAD;
    if (random_next(state) % 3 == 0) options.separator = '\n';
    if (random_next(state) % 2 == 0) options.program = lines;
    return options;
}

struct canceller {
    pthread_t thread;
    vyre_stream *stream;
    uint32_t naps;
};

static void *cancel(void *argument)
{
    struct canceller *canceller = argument;
    vyre_error err;
    for (uint32_t i = 0; i < canceller->naps; i++)
        sched_yield();
    vyre_stream_cancel(canceller->stream, &err);
    return NULL;
}

/* Takes up to `most` chunks, and keeps up to two of them. With no limit somebody will cancel. */
static uint32_t take_some(vyre_stream *stream, uint32_t most, uint32_t *wrong)
{
    vyre_chunk *held[2] = {NULL, NULL}, *chunk;
    vyre_error err;
    uint32_t taken = 0;
    while (taken < most) {
        chunk = NULL;
        uint64_t wait_ns = most == UINT32_MAX ? PATIENCE_NS : 500000;
        vyre_status status = vyre_stream_next(stream, wait_ns, &chunk, &err);
        if (status == VYRE_E_TIMEOUT && most != UINT32_MAX) break; /* a pipe that is silent */
        if (status && status != VYRE_E_STOPPED) (*wrong)++;
        if (status || !chunk) break;
        uint32_t length = chunk->length;
        if (length != 0 && ((const unsigned char *)chunk->bytes)[length - 1] == 0) (*wrong)++;
        vyre_stream_release(stream, held[taken % 2]);
        held[taken++ % 2] = chunk;
    }
    for (uint32_t i = 0; i < 2; i++) /* they are readable until they are given back */
        if (held[i] && held[i]->length != 0 && ((const char *)held[i]->bytes)[0] == 0) (*wrong)++;
    if (taken % 3 == 0) vyre_stream_release(stream, held[0]);
    return taken;
}

static uint32_t round_trip(vyre *rt, struct rig *rig, uint64_t *state, int pipe_fd)
{
    vyre_stream_options options = random_options(state);
    struct canceller canceller = {.naps = (uint32_t)(random_next(state) % 200)};
    vyre_error err;
    uint32_t wrong = 0;
    must(vyre_stream_open(rt, &options, &canceller.stream, &err), &err);
    bool threaded = random_next(state) % 2 == 0;
    if (threaded && pthread_create(&canceller.thread, NULL, cancel, &canceller) != 0)
        bail("no thread");
    for (uint32_t i = 0; i < rig->count; i++)
        vyre_stream_add_path(canceller.stream, rig->files[i].path, &err);
    if (random_next(state) % 2) vyre_stream_add_fd(canceller.stream, pipe_fd, "pipe", &err);
    if (random_next(state) % 2) vyre_stream_end(canceller.stream, &err);
    uint32_t most = (uint32_t)(random_next(state) % 12);
    take_some(canceller.stream, threaded ? UINT32_MAX : most, &wrong);
    if (threaded) pthread_join(canceller.thread, NULL);
    vyre_stream_close(canceller.stream);
    return wrong;
}

static void rounds(vyre *rt, uint64_t seed, uint32_t count)
{
    struct rig rig;
    int fds[2];
    uint64_t state = seed;
    uint32_t wrong = 0;
    rig_open(&rig, seed);
    for (uint32_t i = 0; i < 12; i++)
        rig_file(&rig, i % 3 == 0 ? 150000 : 3000, 60);
    if (pipe2(fds, O_CLOEXEC) != 0) bail("no pipe");
    uint32_t descriptors = count_descriptors(), threads = count_threads();
    for (uint32_t i = 0; i < count; i++) {
        wrong += round_trip(rt, &rig, &state, fds[0]);
        if (i % 1000 == 999) note("%u rounds", i + 1);
    }
    is_u64(wrong, 0, "%u streams that end early", count);
    is_u64(settle_descriptors(rt, descriptors), descriptors, "no descriptor is left");
    is_u64(settle_threads(threads), threads, "no thread is left");
    close(fds[0]);
    close(fds[1]);
    rig_close(&rig);
}

/* What the calls say after a cancel. */
static void after_cancel(vyre *rt)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream *stream = NULL;
    vyre_chunk *chunk = NULL, *first = NULL;
    struct rig rig;
    vyre_error err;
    rig_open(&rig, 1);
    rig_file(&rig, 50000, 0);
    options.chunk_bytes = 4096;
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    rig_add(&rig, stream);
    must(vyre_stream_next(stream, PATIENCE_NS, &first, &err), &err);
    works(vyre_stream_cancel(stream, &err), &err, "cancel");
    works(vyre_stream_cancel(stream, &err), &err, "cancel again");
    refused(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), VYRE_E_STOPPED, &err,
            "no chunk after a cancel");
    ok(memcmp(first->bytes, rig.files[0].text, 4096) == 0, "what was handed out stays");
    vyre_stream_release(stream, first);
    vyre_stream_close(stream);
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    must(vyre_stream_cancel(stream, &err), &err);
    refused(vyre_stream_add_path(stream, "x", &err), VYRE_E_STOPPED, &err, "no source either");
    vyre_stream_close(stream);
    rig_close(&rig);
}

/* Paused before anything is read: nothing comes; resumed: all of it. */
static void pausing(vyre *rt)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_stream *stream = NULL;
    vyre_chunk *chunk = NULL;
    struct rig rig;
    vyre_error err;
    rig_open(&rig, 2);
    for (uint32_t i = 0; i < 10; i++)
        rig_file(&rig, 20000, 0);
    options.chunk_bytes = 4096;
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    works(vyre_stream_pause(stream, &err), &err, "pause");
    rig_add(&rig, stream);
    refused(vyre_stream_next(stream, 5000000, &chunk, &err), VYRE_E_TIMEOUT, &err,
            "nothing is read while paused");
    works(vyre_stream_resume(stream, &err), &err, "resume");
    ok(rig_read(&rig, &options, stream), "all is read then");
    vyre_stream_close(stream);
    rig_close(&rig);
}

struct delivery {
    struct rig rig;
    const vyre_stream_options *options;
    _Atomic uint32_t ended;
    uint32_t chunks, cancel_at;
};

static int deliver(void *ctx, vyre_stream *stream, vyre_chunk *chunk)
{
    struct delivery *delivery = ctx;
    if (!chunk) {
        atomic_fetch_add(&delivery->ended, 1);
        return 0;
    }
    rig_check(&delivery->rig, delivery->options, chunk);
    vyre_stream_release(stream, chunk);
    return ++delivery->chunks == delivery->cancel_at;
}

static void delivering(vyre *rt, uint32_t cancel_at)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    struct delivery delivery = {.options = &options, .cancel_at = cancel_at};
    vyre_stream *stream = NULL;
    vyre_chunk *chunk = NULL;
    vyre_error err;
    rig_open(&delivery.rig, 3);
    for (uint32_t i = 0; i < 5; i++)
        rig_file(&delivery.rig, 30000, 0);
    options.chunk_bytes = 4096;
    options.program = lines;
    options.deliver = deliver;
    options.deliver_ctx = &delivery;
    must(vyre_stream_open(rt, &options, &stream, &err), &err);
    refused(vyre_stream_next(stream, 0, &chunk, &err), VYRE_E_STATE, &err,
            "vyre_stream_next where chunks are delivered");
    rig_add(&delivery.rig, stream);
    ok(reaches(&delivery.ended, 1), "the last call comes");
    if (cancel_at == 0)
        ok(rig_ended(&delivery.rig) && rig_report(&delivery.rig, stream), "all was delivered");
    else
        is_u64(delivery.chunks, cancel_at, "none after the one that cancelled");
    vyre_stream_close(stream);
    is_u64(atomic_load(&delivery.ended), 1, "and once");
    rig_close(&delivery.rig);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 300;
    vyre *rt = open_cpu(1);
    vyre_error err;
    must(vyre_program_compile(rt, lines_source, strlen(lines_source), NULL, NULL, &lines, &err),
         &err);
    after_cancel(rt);
    pausing(rt);
    delivering(rt, 0);
    delivering(rt, 7);
    rounds(rt, seed, count);
    vyre_close(rt);
    return done();
}
