/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The measurement behind bench_ingest_asked.h. One thread submits and reaps; a slot that has ended
 * is followed by another at a random offset, so that `depth` are outstanding all the time.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench_ingest_asked.h"

#define WARM_UP_PART 8u /* of the time goes to what is not counted */

struct reader {
    struct bench *bench;
    struct bench_session session;
    vyre_source *source;
    vyre_buffer *buffer;
    int fd;
    uint64_t blocks;
    uint64_t random;
    uint64_t begun_ns[BENCH_ASKED_MAX_DEPTH];  /* of each place */
    uint32_t place[2 * BENCH_ASKED_MAX_DEPTH]; /* of each ticket, by its low bits */
    uint32_t free[BENCH_ASKED_MAX_DEPTH];
    uint32_t free_count;
    uint32_t mask;
    uint64_t next_ticket;
    uint64_t ended;
    size_t samples;
    int counting;
};

static uint64_t random_block(struct reader *reader)
{
    reader->random = reader->random * 6364136223846793005u + 1442695040888963407u;
    return (reader->random >> 33) % reader->blocks;
}

static uint64_t cpu_ns(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000u;
}

/* Submits a read for every place that is free. */
static int submit(struct reader *reader)
{
    vyre_queue *queue = reader->session.queue[0];
    vyre_error err;
    uint64_t ticket = 0, now_ns = bench_clock_ns();
    while (reader->free_count != 0) {
        vyre_slot *slot = vyre_queue_slot(queue);
        if (slot == NULL) return bench_wrong("a queue with room says that it is full");
        uint32_t place = reader->free[--reader->free_count];
        vyre_load load = VYRE_LOAD_INIT;
        load.source = vyre_source_handle(reader->source);
        load.buffer = vyre_buffer_handle(reader->buffer);
        load.offset = random_block(reader) * BENCH_ASKED_BYTES;
        load.at = (uint64_t)place * BENCH_ASKED_BYTES;
        load.length = BENCH_ASKED_BYTES;
        vyre_prep_load(slot, &load, NULL);
        reader->begun_ns[place] = now_ns;
        reader->place[reader->next_ticket++ & reader->mask] = place;
    }
    if (vyre_queue_submit(queue, &ticket, &err) != VYRE_OK)
        return cli_fail("cannot submit a slot", &err);
    return 0;
}

/* Receives at least one end. */
static int reap(struct reader *reader)
{
    vyre_completion ends[64];
    vyre_error err;
    size_t count = 0;
    struct bench *bench = reader->bench;
    if (vyre_queue_reap_wait(reader->session.queue[0], ends, 1, 64, BENCH_LOST_NS, &count, &err) !=
        VYRE_OK)
        return cli_fail("cannot wait for a slot", &err);
    uint64_t now_ns = bench_clock_ns();
    for (size_t i = 0; i < count; i++) {
        uint32_t place = reader->place[ends[i].ticket & reader->mask];
        if (ends[i].outcome != VYRE_DONE || ends[i].result[0] != BENCH_ASKED_BYTES)
            return bench_wrong("a read did not bring what it was asked for");
        reader->free[reader->free_count++] = place;
        if (!reader->counting) continue;
        reader->ended++;
        if (reader->samples < bench->sample_capacity)
            bench->samples[reader->samples++] = bench_sample(now_ns - reader->begun_ns[place]);
    }
    return 0;
}

/* Reads until the clock shows a time. */
static int read_until(struct reader *reader, uint64_t until_ns)
{
    int code = 0;
    while (code == 0 && bench_clock_ns() < until_ns) {
        code = submit(reader);
        if (code == 0) code = reap(reader);
    }
    return code;
}

static int measure(struct reader *reader, struct bench_asked *asked)
{
    struct bench *bench = reader->bench;
    uint64_t slice_ns = bench->slice_ns;
    int code = read_until(reader, bench_clock_ns() + slice_ns / WARM_UP_PART);
    if (code != 0) return code;
    reader->counting = 1;
    uint64_t cpu = cpu_ns(), began_ns = bench_clock_ns();
    code = read_until(reader, began_ns + slice_ns);
    uint64_t took_ns = bench_clock_ns() - began_ns;
    if (code != 0) return code;
    asked->per_second = (double)reader->ended * 1e9 / (double)took_ns;
    asked->cpu_us = (double)(cpu_ns() - cpu) / 1e3 / (double)(reader->ended ? reader->ended : 1);
    asked->samples = reader->samples;
    while (code == 0 && reader->free_count < asked->depth)
        code = reap(reader);
    return code;
}

/* Everything that is read with. The pump has the place of the thread that opens the first source.
 */
static int prepare(struct reader *reader, struct bench_asked *asked)
{
    struct bench *bench = reader->bench;
    struct bench_setup setup = {.queues = 1,
                                .slots = 2 * BENCH_ASKED_MAX_DEPTH,
                                .wait_mode = VYRE_WAIT_ADAPTIVE,
                                .idle_spin_ns = VYRE_DEFAULT64};
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_pump_report report = VYRE_PUMP_REPORT_INIT;
    vyre_error err;
    int code = bench_session_open(bench, &setup, &reader->session);
    if (code != 0) return code;
    reader->fd = open(asked->path, O_RDONLY | O_CLOEXEC);
    options.fd = reader->fd;
    if (bench->workers == 1)
        bench_pin(bench->cpus.consumer);
    else
        bench_unpin(&bench->cpus);
    vyre_status status = vyre_source_open(reader->session.runtime, &options, &reader->source, &err);
    bench_pin(bench->cpus.producer);
    if (status == VYRE_OK)
        status =
            vyre_buffer_create(reader->session.runtime, (size_t)asked->depth * BENCH_ASKED_BYTES,
                               VYRE_PINNED, &reader->buffer, &err);
    if (status == VYRE_OK) status = vyre_pump_read(reader->session.runtime, &report, &err);
    if (status != VYRE_OK) return cli_fail("cannot open a source", &err);
    memcpy(asked->choice, report.choice, sizeof asked->choice);
    return 0;
}

int bench_ingest_asked(struct bench *bench, struct bench_asked *asked)
{
    struct reader reader;
    memset(&reader, 0, sizeof reader);
    reader.bench = bench;
    reader.fd = -1;
    reader.blocks = asked->bytes / BENCH_ASKED_BYTES;
    reader.random = 0x5DEECE66Du;
    reader.mask = 2 * BENCH_ASKED_MAX_DEPTH - 1;
    if (asked->depth == 0 || asked->depth > BENCH_ASKED_MAX_DEPTH || reader.blocks == 0)
        return bench_wrong("no such depth, or an empty file");
    for (uint32_t i = 0; i < asked->depth; i++)
        reader.free[reader.free_count++] = i;
    int code = prepare(&reader, asked);
    if (code == 0) code = measure(&reader, asked);
    bench_session_close(&reader.session);
    if (reader.fd >= 0) close(reader.fd);
    return code;
}
