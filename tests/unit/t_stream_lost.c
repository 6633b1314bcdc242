/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams whose device ends: a device host that is killed and comes back, one that does not, a
 * runtime that is stopped. Every byte still comes, or the stream says why it does not; nothing
 * hangs.
 */
#include "stream_rig.h"

#include "restart_load.h"

static const char lines_source[] = "@workgroup(1)\n"
                                   "kernel lines(in u8 text[], out u32 count[1]) {\n"
                                   "    u32 found = 0;\n"
                                   "    for (u32 k = 0; k < len(text); k++)\n"
                                   "        found += u32(text[k] == 10);\n"
                                   "    count[0] = found;\n"
                                   "}\n";
static const char sum_source[] = "@workgroup(64)\n"
                                 "kernel sum(in u8 text[], inout u32 total[1]) {\n"
                                 "    if (i < len(text)) atomic_add(total[0], u32(text[i]));\n"
                                 "}\n";

static struct load_times times;

struct world {
    vyre *rt;
    vyre_stream *stream;
    vyre_stream_options options;
    struct rig rig;
};

static void open_world(struct world *world, const char *source, uint32_t place)
{
    vyre_options how = cpu_options(2);
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_error err;
    how.place = place;
    how.log = load_log;
    how.log_ctx = &times;
    world->rt = open_with(&how);
    must(
        vyre_program_compile(world->rt, source, strlen(source), NULL, NULL, &options.program, &err),
        &err);
    rig_open(&world->rig, 21);
    for (uint32_t i = 0; i < 30; i++)
        rig_file(&world->rig, i % 2 ? 100000 : 700, 40);
    options.chunk_bytes = 4096;
    options.depth = 4;
    world->options = options;
    must(vyre_stream_open(world->rt, &options, &world->stream, &err), &err);
    rig_add(&world->rig, world->stream);
}

static void close_world(struct world *world)
{
    vyre_stream_close(world->stream);
    rig_close(&world->rig);
    vyre_close(world->rt);
}

static uint32_t count_lines(const vyre_chunk *chunk)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < chunk->length; i++)
        lines += ((const unsigned char *)chunk->bytes)[i] == '\n';
    return lines;
}

/* The host dies several times on the way: what it had is lost and says so, the rest is right. */
static void killed(void)
{
    struct world world;
    vyre_chunk *chunk;
    vyre_error err;
    uint32_t done_count = 0, lost = 0, kills = 0;
    open_world(&world, lines_source, VYRE_PLACE_HOST);
    for (uint32_t n = 0;; n++) {
        must(vyre_stream_next(world.stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        rig_check(&world.rig, &world.options, chunk);
        if (chunk->completion.outcome == VYRE_DONE) {
            done_count++;
            if (*(const uint32_t *)chunk->result != count_lines(chunk))
                rig_wrong(&world.rig, chunk, "result");
        } else {
            lost++;
            if (chunk->result || chunk->completion.outcome != VYRE_LOST)
                rig_wrong(&world.rig, chunk, "outcome %u", chunk->completion.outcome);
        }
        vyre_stream_release(world.stream, chunk);
        if (n % 120 == 60) {
            kill((pid_t)host_pid(world.rt), SIGKILL);
            kills++;
        }
    }
    ok(rig_ended(&world.rig), "%u kills: every byte came", kills);
    ok(done_count > lost && kills >= 3, "%u chunks are done, %u lost", done_count, lost);
    close_world(&world);
}

/* No host comes back. */
static void gone(void)
{
    struct world world;
    char before[4096] = "";
    vyre_chunk *chunk;
    vyre_error err;
    vyre_status status;
    open_world(&world, lines_source, VYRE_PLACE_HOST);
    if (getenv("VYRE_HOST")) snprintf(before, sizeof before, "%s", getenv("VYRE_HOST"));
    must(vyre_stream_next(world.stream, PATIENCE_NS, &chunk, &err), &err);
    vyre_stream_release(world.stream, chunk);
    setenv("VYRE_HOST", "/nowhere/vyre-host", 1);
    kill((pid_t)host_pid(world.rt), SIGKILL);
    do {
        chunk = NULL;
        status = vyre_stream_next(world.stream, PATIENCE_NS, &chunk, &err);
        vyre_stream_release(world.stream, chunk);
    } while (status == VYRE_OK && chunk);
    tap_refused(status, VYRE_E_LOST, &err, TAP_PLACE, "a device that is gone for good");
    close_world(&world);
    if (before[0])
        setenv("VYRE_HOST", before, 1);
    else
        unsetenv("VYRE_HOST");
}

/* What was carried is gone with the host. */
static void carried(void)
{
    struct world world;
    vyre_chunk *chunk;
    vyre_error err;
    vyre_status status = VYRE_OK;
    uint32_t total = 0, wrong = 0, n = 0;
    open_world(&world, sum_source, VYRE_PLACE_HOST);
    for (;; n++) {
        chunk = NULL;
        status = vyre_stream_next(world.stream, PATIENCE_NS, &chunk, &err);
        if (status || !chunk) break;
        for (uint32_t i = 0; i < chunk->length; i++)
            total += ((const unsigned char *)chunk->bytes)[i];
        if (chunk->completion.outcome == VYRE_DONE)
            wrong += *(const uint32_t *)chunk->result != total;
        vyre_stream_release(world.stream, chunk);
        if (n == 50) kill((pid_t)host_pid(world.rt), SIGKILL);
    }
    is_u64(wrong, 0, "no chunk shows another state than its own");
    /* Where no slot was under way when it died, nobody can know but by the state. */
    ok(status == VYRE_E_LOST, "the stream ends after %u chunks: %s", n, vyre_status_name(status));
    close_world(&world);
}

static void stopped(void)
{
    struct world world;
    vyre_chunk *chunk;
    vyre_error err;
    vyre_status status;
    open_world(&world, lines_source, VYRE_PLACE_PROCESS);
    must(vyre_stream_next(world.stream, PATIENCE_NS, &chunk, &err), &err);
    vyre_stream_release(world.stream, chunk);
    must(vyre_stop(world.rt, &err), &err);
    do {
        chunk = NULL;
        status = vyre_stream_next(world.stream, PATIENCE_NS, &chunk, &err);
        vyre_stream_release(world.stream, chunk);
    } while (status == VYRE_OK && chunk);
    tap_refused(status, VYRE_E_STOPPED, &err, TAP_PLACE, "a runtime that was stopped");
    close_world(&world);
}

int main(void)
{
    killed();
    gone();
    carried();
    stopped();
    return done();
}
