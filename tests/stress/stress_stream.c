/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams that are opened, used for a moment in random ways and ended with reads in flight:
 * `stress_stream [--cycles N] [--seed N]`. Chunks that are held stay as they are until the stream
 * is closed, whatever has been cancelled; nothing is written to memory that was given back; nothing
 * is left; what is read is right.
 */
#include "quarantine.h"

#include "tree.h"

#include <sys/socket.h>

#define LARGE      (3u << 20)
#define HELD_MOST  8u
#define PIPES_MOST 8u

static unsigned char *large; /* the text of the large file */
static int large_fd;
static bool uring;

static const char upper[] = "@workgroup(256) @guard(loud)\n"
                            "kernel upper(in u8 text[], out u8 loud[])\n"
                            "{\n"
                            "    const u32 byte = text[i];\n"
                            "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                            "}\n";

struct held {
    vyre_chunk *chunk;
    uint64_t bytes, result; /* their sums */
};

struct cycle {
    uint64_t seed;
    vyre *rt;
    vyre_program *program;
    vyre_stream_options options;
    vyre_stream *stream;
    struct held held[HELD_MOST];
    uint32_t held_count;
    int ours[PIPES_MOST]; /* to be closed at the end */
    int theirs[PIPES_MOST];
    uint32_t pipes;
    int output;
    /* of the delivery */
    _Atomic uint32_t delivered, last;
    uint32_t enough;
};

static struct {
    uint64_t chunks, refusals, ends, held, wrong, changed, cancels;
} seen;

static uint64_t sum(const void *memory, uint64_t length)
{
    const unsigned char *bytes = memory;
    uint64_t total = length;
    for (uint64_t i = 0; i < length; i++)
        total = total * 31 + bytes[i];
    return total;
}

static uint32_t below(struct cycle *cycle, uint32_t limit)
{
    return random_below(&cycle->seed, limit);
}

/* Files.
 * ------------------------------------------------------------------------------------------------
 */

static void make_files(uint64_t seed)
{
    large = malloc(LARGE);
    for (uint32_t i = 0; i < LARGE; i++) {
        uint64_t random = random_next(&seed);
        large[i] = random % 61 == 0 ? '\n' : (unsigned char)('a' + random % 26);
    }
    make_file(scratch.fd, "large", large, LARGE);
    large_fd = openat(scratch.fd, "large", O_RDONLY | O_CLOEXEC);
    if (large_fd < 0 || fsync(large_fd) != 0) bail("the large file");
    int fd = make_directory(scratch.fd, "tree");
    for (uint32_t i = 0; i < 120; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        int child = i % 12 ? dup(fd) : make_directory(fd, name);
        make_file(child, i % 12 ? name : "x", large, i % 30 ? i * 7 : 90000);
        close(child);
    }
    make_link(fd, "up", "..");
    close(fd);
}

/* The link in the tree leads to what is being written, too. */
static bool is_output(const char *path)
{
    size_t length = strlen(path);
    return length > 7 && strcmp(path + length - 7, "/output") == 0;
}

/* Whether the bytes are those of their place: all files begin as the large one does. */
static bool right(const vyre_chunk *chunk)
{
    const unsigned char *bytes = chunk->bytes;
    if (chunk->length == 0 || is_output(chunk->path)) return true;
    if (strcmp(chunk->path, "/dev/zero") == 0)
        return bytes[0] == 0 && memcmp(bytes, bytes + 1, chunk->length - 1) == 0;
    for (uint32_t i = 0; i < chunk->piece_count; i++)
        if (!is_output(chunk->pieces[i].path) &&
            memcmp(bytes + chunk->pieces[i].at, large, chunk->pieces[i].length) != 0)
            return false;
    if (chunk->piece_count) return true;
    return chunk->offset + chunk->length <= LARGE &&
           memcmp(bytes, large + chunk->offset, chunk->length) == 0;
}

/* Whether the result is the text in capitals. */
static bool loud(const vyre_chunk *chunk)
{
    const unsigned char *bytes = chunk->bytes, *result = chunk->result;
    for (uint64_t i = 0; result && i < chunk->result_bytes && i < chunk->length; i++) {
        unsigned char byte = bytes[i];
        if (result[i] != (byte >= 'a' && byte <= 'z' ? byte - 32 : byte)) return false;
    }
    return true;
}

/* Sources.
 * ------------------------------------------------------------------------------------------------
 */

/* A socket or a pipe; the other side says something, or ends, or neither. */
static void add_pipe(struct cycle *cycle)
{
    int pair[2];
    if (cycle->pipes == PIPES_MOST) return;
    if (below(cycle, 2) ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
                        : pipe2(pair, O_CLOEXEC))
        bail("a pipe");
    uint32_t bytes = below(cycle, 3) * 1000;
    if (bytes && write(pair[1], large, bytes) != (ssize_t)bytes) bail("a pipe");
    cycle->ours[cycle->pipes] = pair[0];
    cycle->theirs[cycle->pipes] = pair[1];
    if (below(cycle, 3) == 0) {
        close(pair[1]);
        cycle->theirs[cycle->pipes] = -1;
    }
    cycle->pipes++;
    vyre_stream_add_fd(cycle->stream, pair[0], "pipe", NULL);
}

static void add_source(struct cycle *cycle)
{
    switch (below(cycle, 8)) {
    case 0: /* it has to be read from the disk again: reads take a while and are really under way */
        if (posix_fadvise(large_fd, 0, 0, POSIX_FADV_DONTNEED) != 0) bail("posix_fadvise");
        /* fall through */
    case 1:
        vyre_stream_add_path(cycle->stream, scratch_path("large"), NULL);
        break;
    case 2:
        vyre_stream_add_path(cycle->stream, scratch_path("tree"), NULL);
        break;
    case 3:
        vyre_stream_add_path(cycle->stream, "/dev/zero", NULL);
        break;
    case 4:
        vyre_stream_add_path(cycle->stream, scratch_path("tree/%u", 1 + below(cycle, 11)), NULL);
        break;
    case 5:
        vyre_stream_add_path(cycle->stream, scratch_path("none"), NULL);
        break;
    default:
        add_pipe(cycle);
    }
}

/* What is done with a stream.
 * ------------------------------------------------------------------------------------------------
 */

static int deliver(void *ctx, vyre_stream *stream, vyre_chunk *chunk)
{
    struct cycle *cycle = ctx;
    if (!chunk) {
        atomic_store(&cycle->last, 1);
        return 0;
    }
    if (!right(chunk) || !loud(chunk)) __atomic_fetch_add(&seen.wrong, 1, __ATOMIC_RELAXED);
    vyre_stream_release(stream, chunk);
    return atomic_fetch_add(&cycle->delivered, 1) + 1 == cycle->enough;
}

static void choose_options(struct cycle *cycle)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    options.chunk_bytes = 4096 * (1 + below(cycle, 16));
    options.depth = 2 + below(cycle, below(cycle, 2) ? 30 : 4);
    options.threads = below(cycle, 4);
    options.io = uring && below(cycle, 4) ? VYRE_STREAM_IO_URING : VYRE_STREAM_IO_PREAD;
    if (options.io == VYRE_STREAM_IO_URING) options.ring = 0;
    if (below(cycle, 4) == 0) options.overlap_bytes = below(cycle, options.chunk_bytes / 2);
    if (below(cycle, 4) == 0)
        options.separator = '\n';
    else if (below(cycle, 6) == 0)
        options.record_bytes = 1 + below(cycle, 300);
    if (below(cycle, 2)) options.flags |= VYRE_STREAM_RECURSE;
    if (below(cycle, 4) == 0) options.flags |= VYRE_STREAM_FOLLOW;
    if (below(cycle, 4) == 0) options.flags |= VYRE_STREAM_DIRECT;
    if (below(cycle, 4) == 0) options.flags |= VYRE_STREAM_MERGE;
    if (below(cycle, 3) == 0) options.program = cycle->program;
    if (options.program && below(cycle, 2)) {
        options.output = cycle->output;
        if (ftruncate(cycle->output, 0) != 0 || lseek(cycle->output, 0, SEEK_SET) != 0)
            bail("the output");
    } else if (below(cycle, 3) == 0) {
        options.flags |= VYRE_STREAM_UNORDERED;
    }
    if (below(cycle, 5) == 0) {
        options.deliver = deliver;
        options.deliver_ctx = cycle;
        cycle->enough = below(cycle, 10);
    }
    cycle->options = options;
}

/* Keeps a chunk, and what it holds. */
static void hold(struct cycle *cycle, vyre_chunk *chunk)
{
    struct held *held = &cycle->held[cycle->held_count++];
    held->chunk = chunk;
    held->bytes = sum(chunk->bytes, chunk->length);
    held->result = chunk->result ? sum(chunk->result, chunk->result_bytes) : 0;
    seen.held++;
}

static void look_at_held(struct cycle *cycle)
{
    for (uint32_t i = 0; i < cycle->held_count; i++) {
        const struct held *held = &cycle->held[i];
        const vyre_chunk *chunk = held->chunk;
        if (sum(chunk->bytes, chunk->length) != held->bytes ||
            (chunk->result && sum(chunk->result, chunk->result_bytes) != held->result))
            seen.changed++;
    }
}

static void release_one(struct cycle *cycle)
{
    if (cycle->held_count == 0) return;
    uint32_t i = below(cycle, cycle->held_count);
    vyre_stream_release(cycle->stream, cycle->held[i].chunk);
    cycle->held[i] = cycle->held[--cycle->held_count];
}

/* Takes a chunk, if there is one soon; false: the stream has ended. */
static bool take(struct cycle *cycle, uint64_t timeout_ns)
{
    vyre_chunk *chunk = NULL;
    if (cycle->options.deliver) return true;
    vyre_status status = vyre_stream_next(cycle->stream, timeout_ns, &chunk, NULL);
    if (status == VYRE_E_TIMEOUT) return true;
    if (status || !chunk) {
        seen.ends += status == VYRE_OK;
        seen.refusals += status != VYRE_OK;
        return false;
    }
    seen.chunks++;
    if (!right(chunk) || !loud(chunk)) {
        __atomic_fetch_add(&seen.wrong, 1, __ATOMIC_RELAXED);
        note("wrong: %s at %" PRIu64 ", %u bytes", chunk->path, chunk->offset, chunk->length);
    }
    if (cycle->held_count < HELD_MOST && below(cycle, 3) == 0)
        hold(cycle, chunk);
    else
        vyre_stream_release(cycle->stream, chunk);
    return true;
}

static void act(struct cycle *cycle)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    switch (below(cycle, 12)) {
    case 0:
        add_source(cycle);
        break;
    case 1:
        vyre_stream_pause(cycle->stream, NULL);
        break;
    case 2:
        vyre_stream_resume(cycle->stream, NULL);
        break;
    case 3:
        vyre_stream_query(cycle->stream, &report, NULL);
        break;
    case 4:
        vyre_stream_end(cycle->stream, NULL);
        break;
    case 5:
        release_one(cycle);
        break;
    default:
        take(cycle, below(cycle, 3) ? 500000 : 0);
    }
}

static void *cancel(void *argument)
{
    vyre_stream_cancel(argument, NULL);
    return NULL;
}

/* Ends it, from another thread or from here, or leaves that to the close. */
static void end_stream(struct cycle *cycle)
{
    pthread_t thread;
    uint32_t how = below(cycle, 4);
    seen.cancels += how < 2;
    if (how == 0) {
        if (pthread_create(&thread, NULL, cancel, cycle->stream) != 0) bail("a thread");
        vyre_stream_resume(cycle->stream, NULL);
        while (take(cycle, VYRE_FOREVER) && !cycle->options.deliver)
            while (cycle->held_count > 1)
                release_one(cycle);
        pthread_join(thread, NULL);
    } else if (how == 1) {
        vyre_stream_cancel(cycle->stream, NULL);
        if (!cycle->options.deliver && take(cycle, VYRE_FOREVER)) seen.wrong++;
    }
    if (below(cycle, 2)) sched_yield();
    look_at_held(cycle);
}

static void run_cycle(struct cycle *cycle)
{
    vyre_error err;
    uint32_t acts;
    choose_options(cycle);
    must(vyre_stream_open(cycle->rt, &cycle->options, &cycle->stream, &err), &err);
    for (uint32_t sources = 1 + below(cycle, 4); sources > 0; sources--)
        add_source(cycle);
    for (acts = below(cycle, 40); acts > 0; acts--)
        act(cycle);
    end_stream(cycle);
    vyre_stream_close(cycle->stream);
    if (cycle->options.deliver && !atomic_load(&cycle->last)) seen.wrong++;
    for (uint32_t i = 0; i < cycle->pipes; i++) {
        close(cycle->ours[i]);
        if (cycle->theirs[i] >= 0) close(cycle->theirs[i]);
    }
}

static uint64_t argument(int argc, char **argv, const char *name, uint64_t standard)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return strtoull(argv[i + 1], NULL, 0);
    return standard;
}

int main(int argc, char **argv)
{
    uint64_t cycles = argument(argc, argv, "--cycles", 1000);
    uint64_t seed = argument(argc, argv, "--seed", (uint64_t)time(NULL));
    vyre_stream_report probed = VYRE_STREAM_REPORT_INIT;
    vyre_allocator hooks = quarantine_allocator();
    vyre_options options = cpu_options(2);
    vyre_program *program = NULL;
    vyre_error err;
    note("seed %" PRIu64, seed);
    scratch_make();
    make_files(seed);
    must(vyre_stream_probe(NULL, &probed, &err), &err);
    uring = probed.io == VYRE_STREAM_IO_URING;
    note("%s", probed.choice);
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    must(vyre_program_compile(rt, upper, strlen(upper), NULL, NULL, &program, &err), &err);
    int output = openat(scratch.fd, "output", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    uint32_t descriptors = count_descriptors(), threads = count_threads();
    for (uint64_t i = 0; i < cycles; i++) {
        struct cycle cycle = {.seed = seed + i * 1000003, .rt = rt, .program = program};
        cycle.output = output;
        if (argument(argc, argv, "--verbose", 0)) note("cycle %" PRIu64, i);
        run_cycle(&cycle);
    }
    note("%" PRIu64 " chunks, %" PRIu64 " held, %" PRIu64 " cancels, %" PRIu64 " refusals, %" PRIu64
         " ends",
         seen.chunks, seen.held, seen.cancels, seen.refusals, seen.ends);
    ok(seen.wrong == 0, "%" PRIu64 " streams: all that was read is right", cycles);
    ok(seen.changed == 0, "chunks that were held stayed as they were");
    is_u64(settle_descriptors(rt, descriptors), descriptors, "no descriptor is left");
    is_u64(settle_threads(threads), threads, "no thread is left");
    must(vyre_program_unload(program, &err), &err);
    vyre_close(rt);
    quarantine_end();
    close(output);
    close(large_fd);
    free(large);
    return done();
}
