/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How large everything in a stream is, and its memory. What a stream needs while it runs is taken
 * here, before it starts.
 */
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ingest/stream.h"

#define PIPES      64u   /* that are silent and keep nobody waiting, at least */
#define PATH_USUAL 4352u /* of a path that the kernel takes, and some more */

/* Sizes.
 * --------------------------------------------------------------------------------------------- */

static uint32_t choose_threads(const vyre_stream_options *options)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->threads != 0) return options->threads;
    return cores < 1 ? 1 : cores > 8 ? 8 : (uint32_t)cores;
}

/* Whether reads from the page cache, which are copies, go to threads of the kernel. They cost more
 * time of the CPU that way, so only where there is enough of it or several threads were asked for.
 */
static uint32_t spreads(const vyre_stream_options *options, uint32_t threads)
{
    return threads > 1 && (options->threads != 0 || sysconf(_SC_NPROCESSORS_ONLN) >= 4);
}

/* Open files at once, at most: what the process may open is not only ours. */
static uint32_t choose_files(const vyre_stream_options *options)
{
    struct rlimit limit;
    uint32_t wanted = 2 * options->depth + 4 + PIPES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
    rlim_t half = limit.rlim_cur / 2;
    return half < 4 ? 4 : half < wanted ? (uint32_t)half : wanted;
}

static uint64_t round_result(uint64_t bytes)
{
    return (bytes + VYRE_STREAM_ALIGN - 1) / VYRE_STREAM_ALIGN * VYRE_STREAM_ALIGN;
}

vyre_status vyre_stream_size(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    const vyre_stream_options *options = &stream->options;
    uint32_t records = VYRE_STREAM_RECORDS / options->depth;
    uint64_t whole = round_result(vyre_stream_result_bytes(shape, options->chunk_bytes));
    uint64_t room = whole > options->chunk_bytes ? whole : options->chunk_bytes;
    if (records > options->chunk_bytes / 2048) records = options->chunk_bytes / 2048;
    if (records > 512) records = 512;
    if (shape->result_fixed != 0) {
        uint64_t each = round_result(shape->result_fixed);
        if (records > room / each) records = (uint32_t)(room / each);
        if (records == 0) records = 1;
        room = each * records;
    } else {
        room = whole + (uint64_t)records * VYRE_STREAM_ALIGN;
    }
    if (shape->result == VYRE_STREAM_NONE) room = 0;
    if (room * options->depth > UINT32_MAX)
        return vyre_fail_with(err, VYRE_E_LIMIT, "use smaller or fewer chunks",
                              "the results of %u chunks have %llu bytes, 4 GiB or more",
                              options->depth, (unsigned long long)(room * options->depth));
    stream->cell_bytes = options->chunk_bytes;
    stream->cell_records = records;
    stream->small = options->chunk_bytes / 4;
    if (stream->small > VYRE_STREAM_SMALL) stream->small = VYRE_STREAM_SMALL;
    stream->step = vyre_stream_step(options);
    stream->path_room = options->flags & VYRE_STREAM_RECURSE ? VYRE_WALK_PATH_BYTES : PATH_USUAL;
    stream->path_bytes = stream->path_room + 64 * records;
    stream->file_count = choose_files(options);
    stream->readers.count = choose_threads(options);
    stream->spread = spreads(options, stream->readers.count);
    shape->result_room = (uint32_t)room;
    return VYRE_OK;
}

/* Memory.
 * --------------------------------------------------------------------------------------------- */

/* One piece of the stream's tables: where its address goes, and how much it is. */
struct table {
    void **place;
    size_t count;
    size_t size;
};

#define TABLES 11u

static void list_tables(vyre_stream *stream, struct table tables[TABLES])
{
    uint32_t depth = stream->options.depth;
    size_t records = (size_t)depth * stream->cell_records;
    struct table all[TABLES] = {
        {(void **)&stream->cells, depth, sizeof *stream->cells},
        {(void **)&stream->records, records, sizeof *stream->records},
        {(void **)&stream->pieces, stream->options.flags & VYRE_STREAM_MERGE ? records : 0,
         sizeof *stream->pieces},
        {(void **)&stream->paths, depth, stream->path_bytes},
        {(void **)&stream->files, stream->file_count, sizeof *stream->files},
        {(void **)&stream->file_paths, stream->file_count, stream->path_room},
        {(void **)&stream->items, VYRE_STREAM_ITEMS, sizeof *stream->items},
        {(void **)&stream->passed, stream->passed_mask + 1, 1},
        {(void **)&stream->published, stream->published_mask + 1, sizeof *stream->published},
        {(void **)&stream->watched, stream->file_count + 2, sizeof *stream->watched},
        {(void **)&stream->readers.threads, stream->readers.count, sizeof *stream->readers.threads},
    };
    memcpy(tables, all, sizeof all);
}

uint64_t vyre_stream_power(uint64_t least)
{
    uint64_t power = 1;
    while (power < least)
        power *= 2;
    return power;
}

vyre_status vyre_stream_tables_take(vyre_stream *stream, vyre_error *err)
{
    struct table tables[TABLES];
    size_t records = (size_t)stream->options.depth * stream->cell_records;
    stream->published_mask = vyre_stream_power(records) - 1;
    stream->passed_mask = vyre_stream_power(records + VYRE_STREAM_ITEMS) - 1;
    list_tables(stream, tables);
    for (uint32_t i = 0; i < TABLES; i++) {
        if (tables[i].count == 0) continue;
        vyre_status status = vyre_memory_alloc(stream->memory, tables[i].count, tables[i].size,
                                               "tables of a stream", tables[i].place, err);
        if (status) return status;
        stream->memory_bytes += tables[i].count * tables[i].size;
    }
    return VYRE_OK;
}

void vyre_stream_tables_free(vyre_stream *stream)
{
    struct table tables[TABLES];
    list_tables(stream, tables);
    for (uint32_t i = 0; i < TABLES; i++)
        vyre_memory_free(stream->memory, *tables[i].place, tables[i].count * tables[i].size);
}

vyre_status vyre_stream_chunks_take(vyre_stream *stream, vyre_error *err)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    size_t bytes = (size_t)stream->cell_bytes * stream->options.depth;
    void *memory;
    options.kind = VYRE_PINNED;
    options.tenant = stream->options.tenant;
    vyre_status status =
        vyre_buffer_create_with(stream->runtime, bytes, &options, &stream->chunks, err);
    if (!status) status = vyre_buffer_map(stream->chunks, &memory, err);
    if (status) return status;
    stream->chunk_memory = memory;
    stream->memory_bytes += bytes;
    return VYRE_OK;
}

void vyre_stream_lay_out(vyre_stream *stream)
{
    stream->order.next = stream->order.previous = &stream->order;
    for (uint32_t i = stream->options.depth; i-- > 0;) {
        struct vyre_stream_cell *cell = &stream->cells[i];
        cell->index = i;
        cell->unit.kind = VYRE_UNIT_CELL;
        cell->bytes = stream->chunk_memory + (size_t)i * stream->cell_bytes;
        if (stream->result_memory)
            cell->results = stream->result_memory + (size_t)i * stream->shape.result_room;
        cell->records = stream->records + (size_t)i * stream->cell_records;
        if (stream->pieces) cell->pieces = stream->pieces + (size_t)i * stream->cell_records;
        cell->paths = stream->paths + (size_t)i * stream->path_bytes;
        vyre_stream_cell_free(stream, cell);
    }
    for (uint32_t i = 0; i < stream->file_count; i++) {
        stream->files[i].index = i;
        stream->files[i].path = stream->file_paths + (size_t)i * stream->path_room;
    }
}
