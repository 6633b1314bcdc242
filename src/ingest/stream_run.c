/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The slots of one record. Called by the engine, which is the queue's only submitter.
 */
#include <string.h>

#include "ingest/stream.h"

#define COPY_LANES 64u

/* The grid for a chunk of so many bytes; asking for it walks the program, so the last answers are
 * kept. */
static vyre_status find_grid(struct vyre_stream_shape *shape, uint64_t length, uint32_t grid[3],
                             vyre_error *err)
{
    uint32_t place = (uint32_t)(length * 0x9E3779B97F4A7C15u >> 58);
    if (shape->grids[place].length != length) {
        uint64_t result = vyre_stream_result_bytes(shape, length);
        shape->sizes[shape->chunk] = length;
        if (shape->result != VYRE_STREAM_NONE) shape->sizes[shape->result] = result;
        vyre_status status = vyre_kernel_grid(vyre_program_kernel(shape->program), shape->sizes,
                                              shape->buffers, grid, err);
        if (status) return status;
        shape->grids[place].length = length;
        memcpy(shape->grids[place].grid, grid, sizeof shape->grids[place].grid);
        return VYRE_OK;
    }
    memcpy(grid, shape->grids[place].grid, sizeof shape->grids[place].grid);
    return VYRE_OK;
}

/* The next slot of the queue, which has as many as there can be outstanding. */
static vyre_slot *next_slot(vyre_stream *stream, struct vyre_stream_record *record)
{
    vyre_slot *slot = vyre_queue_slot(stream->queue);
    if (!slot) return NULL;
    if (record->tickets++ == 0) record->ticket = stream->next_ticket;
    stream->next_ticket++;
    return slot;
}

static vyre_status finish(vyre_stream *stream, vyre_slot *slot, vyre_error *err)
{
    return vyre_slot_priority(slot, stream->options.priority, err);
}

static vyre_status full(vyre_error *err)
{
    return vyre_fail(err, VYRE_E_INTERNAL, "a stream's queue is full");
}

static vyre_status put_fence(vyre_stream *stream, struct vyre_stream_record *record,
                             vyre_error *err)
{
    vyre_slot *slot = next_slot(stream, record);
    if (!slot) return full(err);
    vyre_status status = vyre_prep_fence(slot, 0, (uint32_t)record->chunk.number, err);
    return status ? status : finish(stream, slot, err);
}

/* Where the record's result lies in the buffer of all results. */
static uint32_t result_offset(const vyre_stream *stream, const struct vyre_stream_record *record)
{
    return record->cell->index * stream->shape.result_room + record->result_at;
}

static vyre_status put_copy(vyre_stream *stream, struct vyre_stream_record *record, vyre_error *err)
{
    const struct vyre_stream_shape *shape = &stream->shape;
    uint32_t words = (record->result_bytes + 3) / 4;
    vyre_run_window windows[2] = {{0, 0, 4 * words}, {1, result_offset(stream, record), 4 * words}};
    vyre_run run = VYRE_RUN_INIT;
    run.program = shape->copy;
    run.bindings = shape->copy_bindings;
    run.grid[0] = (words + COPY_LANES - 1) / COPY_LANES;
    run.windows = windows;
    run.window_count = 2;
    vyre_slot *slot = next_slot(stream, record);
    if (!slot) return full(err);
    vyre_status status = vyre_prep_run(slot, &run, err);
    return status ? status : finish(stream, slot, err);
}

static vyre_status put_run(vyre_stream *stream, struct vyre_stream_record *record, uint32_t bytes,
                           vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    uint32_t at = (uint32_t)(record->cell->bytes - stream->chunk_memory) + record->at;
    vyre_run_window windows[2] = {{shape->chunk, at, bytes}};
    vyre_run run = VYRE_RUN_INIT;
    run.program = shape->program;
    run.bindings = shape->bindings;
    run.scalars = shape->scalars;
    run.scalar_count = shape->scalar_count;
    run.windows = windows;
    run.window_count = 1;
    if (shape->result != VYRE_STREAM_NONE && !shape->copied)
        windows[run.window_count++] =
            (vyre_run_window){shape->result, result_offset(stream, record), record->result_bytes};
    else if (shape->copied && shape->own_state && shape->result_fixed == 0)
        windows[run.window_count++] = (vyre_run_window){shape->result, 0, record->result_bytes};
    vyre_status status = find_grid(shape, bytes, run.grid, err);
    if (status) return status;
    vyre_slot *slot = next_slot(stream, record);
    if (!slot) return full(err);
    status = vyre_prep_run(slot, &run, err);
    return status ? status : finish(stream, slot, err);
}

vyre_status vyre_stream_run(vyre_stream *stream, struct vyre_stream_record *record, vyre_error *err)
{
    const struct vyre_stream_shape *shape = &stream->shape;
    uint32_t bytes = record->chunk.length / shape->chunk_stride * shape->chunk_stride;
    if (bytes != record->chunk.length) record->chunk.flags |= VYRE_CHUNK_RAGGED;
    if (bytes == 0) return VYRE_OK;
    record->result_bytes = (uint32_t)vyre_stream_result_bytes(shape, bytes);
    if (shape->result != VYRE_STREAM_NONE && !shape->copied)
        memset(record->cell->results + record->result_at, 0, record->result_bytes);
    vyre_status status = put_run(stream, record, bytes, err);
    if (!status && shape->carried) status = put_fence(stream, record, err);
    if (!status && shape->copied) status = put_copy(stream, record, err);
    if (!status && shape->copied) status = put_fence(stream, record, err);
    return status;
}

vyre_status vyre_stream_mark(vyre_stream *stream, struct vyre_stream_record *record,
                             vyre_error *err)
{
    vyre_slot *slot = next_slot(stream, record);
    if (!slot) return full(err);
    vyre_status status = vyre_prep_nop(slot, err);
    return status ? status : finish(stream, slot, err);
}
