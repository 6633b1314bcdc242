/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a stream has done so far, and what a stream would do.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "ingest/stream.h"
#include "ingest/walk_core.h"
#include "runtime/options.h"

const char *vyre_stream_path_name(uint32_t path)
{
    static const char *const name[VYRE_PATHS] = {"direct", "cache", "stream",
                                                 "bounce", "pack",  "gpudirect"};
    return path < VYRE_PATHS ? name[path] : NULL;
}

static vyre_status check_report(const vyre_stream_report *report, vyre_error *err)
{
    if (!report) return vyre_fail(err, VYRE_E_NULL, "report is null");
    if (report->size < sizeof *report)
        return vyre_fail(err, VYRE_E_SIZE, "report.size is %u; this version has %zu bytes",
                         report->size, sizeof *report);
    return VYRE_OK;
}

static uint64_t load(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static uint64_t thread_time(const struct vyre_stream_thread *thread)
{
    clockid_t clock;
    struct timespec now;
    if (!thread->started || pthread_getcpuclockid(thread->thread, &clock) != 0 ||
        clock_gettime(clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of the walkers only the walker knows. */
static uint64_t walkers_time(const struct vyre_walk *walk, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += thread_time(&(struct vyre_stream_thread){walk->threads[i].thread, 1});
    return sum;
}

static void add_threads(const vyre_stream *stream, vyre_stream_report *report)
{
    report->cpu_ns = thread_time(&stream->engine) + thread_time(&stream->delivery);
    report->threads = stream->engine.started + stream->delivery.started + stream->readers.count;
    for (uint32_t i = 0; i < stream->readers.count; i++)
        report->cpu_ns += thread_time(&stream->readers.threads[i]);
    if (!stream->walk) return;
    report->cpu_ns += walkers_time(stream->walk, stream->readers.count);
    report->threads += stream->readers.count;
}

vyre_status vyre_stream_query(vyre_stream *stream, vyre_stream_report *report, vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    vyre_status status = check_report(report, err);
    if (status) return status;
    vyre_stream_report filled = VYRE_STREAM_REPORT_INIT;
    filled.size = report->size;
    filled.io = stream->uses_ring ? VYRE_STREAM_IO_URING : VYRE_STREAM_IO_PREAD;
    filled.ring = stream->ring.features;
    filled.files_read = load(&stream->files_read);
    filled.files_failed = load(&stream->files_failed);
    filled.files_skipped = load(&stream->files_skipped);
    filled.files_found = load(&stream->files_found);
    filled.chunks = load(&stream->chunk_count);
    filled.faulted = load(&stream->faulted);
    filled.bytes = load(&stream->byte_count);
    filled.bytes_written = load(&stream->bytes_written);
    filled.memory_bytes = stream->memory_bytes;
    filled.waits_device = load(&stream->waits_device);
    filled.waits_io = load(&stream->waits_io);
    for (uint32_t i = 0; i < VYRE_PATHS; i++) {
        filled.way[i].bytes = load(&stream->way[i].bytes);
        filled.way[i].operations = load(&stream->way[i].operations);
    }
    add_threads(stream, &filled);
    memcpy(filled.choice, stream->choice.text, sizeof filled.choice);
    *report = filled;
    return VYRE_OK;
}

/* Probing.
 * --------------------------------------------------------------------------------------------- */

static void probe_ring(const vyre_stream_options *options, vyre_stream_report *report)
{
    size_t bytes = (size_t)options->chunk_bytes * options->depth;
    struct vyre_ring ring = {.open = 0};
    struct vyre_ring_choice choice;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec buffer = {memory, bytes};
    struct vyre_ring_options wanted = {.calls = &vyre_stream_system_calls,
                                       .entries = 64,
                                       .buffers = &buffer,
                                       .buffer_count = memory == MAP_FAILED ? 0 : 1,
                                       .files = options->depth};
    vyre_stream_ring_options(options, &wanted);
    if (vyre_ring_open(&ring, &wanted, &choice, NULL) == VYRE_OK) {
        report->io = VYRE_STREAM_IO_URING;
        report->ring = ring.features;
        snprintf(report->choice, sizeof report->choice, "%s", choice.text);
        vyre_ring_close(&ring);
    } else {
        snprintf(report->choice, sizeof report->choice, "pread: %.240s", choice.text);
    }
    if (memory != MAP_FAILED) munmap(memory, bytes);
}

vyre_status vyre_stream_probe(const vyre_stream_options *given, vyre_stream_report *report,
                              vyre_error *err)
{
    vyre_stream_options options = VYRE_STREAM_OPTIONS_INIT;
    vyre_status status = check_report(report, err);
    if (!status && given)
        status = vyre_options_read(&options, given, sizeof options, "vyre_stream_options", err);
    if (!status) status = vyre_stream_check(&options, err);
    if (status) return status;
    report->io = VYRE_STREAM_IO_PREAD;
    report->ring = 0;
    snprintf(report->choice, sizeof report->choice, "pread, as was asked for");
    if (options.io != VYRE_STREAM_IO_PREAD) probe_ring(&options, report);
    return VYRE_OK;
}
