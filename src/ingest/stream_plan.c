/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Where chunks begin and end. Of a file whose chunks do not depend on its bytes all are known
 * ahead, so that many reads are under way at once: each reads its overlap again. Of the others
 * (pipes, separators, files that do not know their size) the end of one decides the beginning of
 * the next, and what both have is copied.
 */
#include <string.h>

#include "ingest/stream.h"

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* New bytes of a chunk beside the overlap, at most. */
static uint32_t fresh(const vyre_stream_options *options)
{
    return options->chunk_bytes - options->overlap_bytes;
}

/* Whole records, and whole pages where that can be: then O_DIRECT can read them. */
uint32_t vyre_stream_step(const vyre_stream_options *options)
{
    uint32_t most = fresh(options), record = options->record_bytes;
    if (record == 0) {
        uint32_t pages = most / VYRE_STREAM_PAGE * VYRE_STREAM_PAGE;
        return pages != 0 ? pages : most / VYRE_RUN_WINDOW_ALIGN * VYRE_RUN_WINDOW_ALIGN;
    }
    if (record > most) return most;
    uint64_t both = record / common_divisor(record, VYRE_STREAM_PAGE) * VYRE_STREAM_PAGE;
    if (both > most) both = record;
    return (uint32_t)(most / both * both);
}

uint64_t vyre_stream_next_end(const vyre_stream *stream, uint64_t end, uint64_t *begin)
{
    const vyre_stream_options *options = &stream->options;
    uint32_t record = options->record_bytes, overlap = options->overlap_bytes;
    *begin = end > overlap ? end - overlap : 0;
    if (record > stream->step) {
        uint64_t whole = (end / record + 1) * record;
        return whole < end + stream->step ? whole : end + stream->step;
    }
    if (end == 0 && record == 0) return (uint64_t)stream->step + overlap;
    return end + stream->step;
}

uint32_t vyre_stream_whole(const vyre_stream *stream, const struct vyre_stream_cell *cell)
{
    const vyre_stream_options *options = &stream->options;
    if (options->separator >= 0) {
        const unsigned char *first = cell->bytes + cell->overlap;
        const unsigned char *last =
            memrchr(first, options->separator, cell->filled - cell->overlap);
        return last ? (uint32_t)(last - cell->bytes) + 1 : 0;
    }
    if (options->record_bytes != 0) {
        uint64_t end = cell->offset + cell->filled;
        uint64_t whole = end / options->record_bytes * options->record_bytes;
        return whole > cell->offset + cell->overlap ? (uint32_t)(whole - cell->offset) : 0;
    }
    return cell->filled;
}

void vyre_stream_cut(const vyre_stream *stream, struct vyre_stream_cell *cell, uint32_t *length,
                     uint32_t *tail_at)
{
    uint32_t overlap = stream->options.overlap_bytes;
    *length = *tail_at = cell->filled;
    if (cell->ended || cell->error != 0) return;
    uint32_t end = vyre_stream_whole(stream, cell);
    uint32_t at = end > overlap ? end - overlap : 0;
    /* The next cell must have room for something new. */
    if (end == 0 || cell->filled - at >= stream->cell_bytes) {
        end = cell->filled;
        at = end > overlap ? end - overlap : 0;
        cell->flags |= VYRE_CHUNK_CUT;
    }
    *length = end;
    *tail_at = at;
}
