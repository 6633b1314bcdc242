/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Which way a stream reads: io_uring with what can be had of it, or readers. And vyre_stream_probe,
 * which tells without a stream.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ingest/stream.h"

#define RING_ALL ((uint32_t)0xFFFFFFFF)

/* Features are used that measure better: not SQPOLL, which takes a core, nor IOPOLL; they are tried
 * where they are named. All features, or none, name nothing. */
void vyre_stream_ring_options(const vyre_stream_options *options, struct vyre_ring_options *ring)
{
    bool named = options->ring != RING_ALL && options->ring != 0;
    ring->may = named ? options->ring : RING_ALL & ~(uint32_t)(VYRE_RING_SQPOLL | VYRE_RING_IOPOLL);
    ring->must = named && options->io == VYRE_STREAM_IO_URING ? options->ring : 0;
}

/* Requests that can be in flight: a read for each cell, a poll for each file, writes, and as many
 * cancels, and the wake. */
static uint32_t entries(const vyre_stream *stream)
{
    uint32_t most = 2 * stream->options.depth + stream->file_count + 16, power = 64;
    while (power < most && power < 4096)
        power *= 2;
    return power;
}

static vyre_status open_ring(vyre_stream *stream, vyre_error *err)
{
    size_t depth = stream->options.depth;
    const struct iovec buffers[2] = {
        {stream->chunk_memory, stream->cell_bytes * depth},
        {stream->result_memory, stream->shape.result_room * depth}}; /* for writes */
    struct vyre_ring_options options = {.calls = stream->calls,
                                        .entries = entries(stream),
                                        .buffers = buffers,
                                        .buffer_count = stream->options.output >= 0 ? 2 : 1,
                                        .files = stream->file_count,
                                        .workers = stream->readers.count};
    vyre_stream_ring_options(&stream->options, &options);
    return vyre_ring_open(&stream->ring, &options, &stream->choice, err);
}

/* No ring, and none was demanded. */
static void without(vyre_stream *stream)
{
    char why[sizeof stream->choice.text];
    memcpy(why, stream->choice.text, sizeof why);
    if (stream->options.io == VYRE_STREAM_IO_PREAD)
        snprintf(stream->choice.text, sizeof stream->choice.text, "pread, as was asked for");
    else
        snprintf(stream->choice.text, sizeof stream->choice.text, "pread: %.200s", why);
}

void vyre_stream_ring_start(vyre_stream *stream)
{
    vyre_status status = VYRE_OK;
    if (stream->options.io != VYRE_STREAM_IO_PREAD) {
        status = open_ring(stream, &stream->start_error);
        stream->uses_ring = status == VYRE_OK;
    }
    if (status && stream->options.io == VYRE_STREAM_IO_AUTO) status = VYRE_OK;
    if (!status && !stream->uses_ring) without(stream);
    pthread_mutex_lock(&stream->lock);
    stream->start_status = status;
    pthread_cond_broadcast(&stream->room);
    pthread_mutex_unlock(&stream->lock);
}
