/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * From complete cells to records that the consumer sees: in order, or as they are complete. Called
 * by the engine.
 *
 * A cell's slots are submitted before its records are published, and its holds are counted before
 * both: from then on the consumer may reap and release.
 */
#include <string.h>

#include "ingest/stream.h"

/* The order.
 * --------------------------------------------------------------------------------------------- */

/* After all units of lower numbers, and of the same number before the file itself: its cells come
 * in the order in which they were begun. */
void vyre_stream_insert(vyre_stream *stream, struct vyre_stream_unit *unit)
{
    struct vyre_stream_unit *before = stream->order.previous;
    while (before != &stream->order &&
           (before->number > unit->number ||
            (before->number == unit->number && before->kind == VYRE_UNIT_FILE)))
        before = before->previous;
    unit->previous = before;
    unit->next = before->next;
    before->next->previous = unit;
    before->next = unit;
    unit->listed = 1;
}

void vyre_stream_remove(struct vyre_stream_unit *unit)
{
    unit->previous->next = unit->next;
    unit->next->previous = unit->previous;
    unit->listed = 0;
}

void vyre_stream_pass(vyre_stream *stream, uint64_t number)
{
    stream->passed[number & stream->passed_mask] = 1;
    while (stream->next_number < stream->item_high &&
           stream->passed[stream->next_number & stream->passed_mask])
        stream->passed[stream->next_number++ & stream->passed_mask] = 0;
}

/* Cells.
 * --------------------------------------------------------------------------------------------- */

char *vyre_stream_cell_path(vyre_stream *stream, struct vyre_stream_cell *cell, const char *text,
                            size_t length)
{
    if (length + 1 > stream->path_bytes - cell->paths_used) return NULL;
    char *path = cell->paths + cell->paths_used;
    memcpy(path, text, length);
    path[length] = '\0';
    cell->paths_used += (uint32_t)length + 1;
    return path;
}

void vyre_stream_cell_free(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    cell->state = VYRE_CELL_FREE;
    cell->record_count = cell->piece_count = cell->paths_used = 0;
    cell->used = cell->tail = cell->returned = 0;
    cell->file = NULL;
    cell->next = stream->free;
    stream->free = cell;
    stream->free_count++;
}

static void show(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    uint64_t count = stream->published_count;
    for (uint32_t i = 0; i < cell->record_count; i++)
        stream->published[(count + i) & stream->published_mask] = &cell->records[i];
    __atomic_store_n(&stream->published_count, count + cell->record_count, __ATOMIC_RELEASE);
}

/* Submits the slots of the cell's records and shows them to the consumer. */
static void publish(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    vyre_error err;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < cell->record_count && !status; i++) {
        struct vyre_stream_record *record = &cell->records[i];
        record->chunk.number = stream->next_chunk++;
        if (record->chunk.length != 0) {
            record->chunk.bytes = cell->bytes + record->at;
            vyre_stream_count(&stream->chunk_count, 1);
        }
        if (stream->queue && record->chunk.length != 0)
            status = vyre_stream_run(stream, record, &err);
        if (!status && stream->any && record->tickets == 0)
            status = vyre_stream_mark(stream, record, &err);
    }
    __atomic_store_n(&cell->holds, cell->record_count, __ATOMIC_RELAXED);
    cell->state = VYRE_CELL_OUT;
    stream->out++;
    /* Who waits for any slot must find its record when it ends. */
    if (stream->any) show(stream, cell);
    if (!status && stream->queue) status = vyre_queue_submit(stream->queue, NULL, &err);
    if (status) {
        vyre_stream_fail(stream, status);
        return;
    }
    if (!stream->any) show(stream, cell);
    vyre_stream_tell(stream);
}

/* A part of a file.
 * --------------------------------------------------------------------------------------------- */

static bool ends(const struct vyre_stream_cell *cell)
{
    return cell->ended || cell->error != 0;
}

static void account(vyre_stream *stream, const vyre_chunk *chunk)
{
    vyre_stream_count(&stream->byte_count, chunk->length - chunk->overlap);
    if ((chunk->flags & VYRE_CHUNK_LAST) == 0) return;
    if (chunk->status != VYRE_OK)
        vyre_stream_count(&stream->files_failed, 1);
    else if (chunk->flags & VYRE_CHUNK_SKIPPED)
        vyre_stream_count(&stream->files_skipped, 1);
    else
        vyre_stream_count(&stream->files_read, 1);
}

static void fill_record(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct vyre_stream_file *file = cell->file;
    struct vyre_stream_record *record = &cell->records[0];
    vyre_chunk *chunk = &record->chunk;
    memset(record, 0, sizeof *record);
    record->cell = cell;
    chunk->file = file->unit.number;
    chunk->path = vyre_stream_cell_path(stream, cell, file->path, file->path_bytes);
    chunk->offset = cell->offset;
    chunk->length = cell->filled;
    chunk->overlap = cell->overlap < cell->filled ? cell->overlap : cell->filled;
    chunk->flags = cell->flags;
    if (ends(cell)) {
        chunk->flags |= VYRE_CHUNK_LAST;
    } else if (stream->options.record_bytes > stream->step &&
               (cell->offset + cell->filled) % stream->options.record_bytes != 0) {
        chunk->flags |= VYRE_CHUNK_CUT;
    }
    if (cell->error != 0) {
        chunk->status = VYRE_E_SYSTEM;
        chunk->error = cell->error;
    }
    cell->record_count = 1;
}

static void commit_part(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct vyre_stream_file *file = cell->file;
    file->underway--;
    if (file->ended) { /* by a chunk before: it was shorter than it had been */
        vyre_stream_cell_free(stream, cell);
        return;
    }
    fill_record(stream, cell);
    account(stream, &cell->records[0].chunk);
    file->ended = ends(cell);
    publish(stream, cell);
}

/* Several items.
 * --------------------------------------------------------------------------------------------- */

static bool was_read(const vyre_chunk *chunk)
{
    return chunk->status == VYRE_OK && (chunk->flags & VYRE_CHUNK_SKIPPED) == 0;
}

/* MERGE: the files that have been read become one record, before those that could not be. */
static void merge(struct vyre_stream_cell *cell)
{
    struct vyre_stream_record all;
    uint32_t kept = 0, flags = 0;
    for (uint32_t i = 0; i < cell->record_count; i++) {
        const struct vyre_stream_record *record = &cell->records[i];
        const vyre_chunk *chunk = &record->chunk;
        if (!was_read(chunk)) continue;
        if (cell->piece_count == 0) all = *record;
        flags |= chunk->flags;
        cell->pieces[cell->piece_count++] =
            (vyre_piece){chunk->file, chunk->path, record->at, chunk->length};
    }
    if (cell->piece_count == 0) return;
    all.at = 0;
    all.chunk.length = cell->used;
    all.chunk.pieces = cell->pieces;
    all.chunk.piece_count = cell->piece_count;
    all.chunk.flags = flags;
    for (uint32_t i = 0; i < cell->record_count; i++)
        if (!was_read(&cell->records[i].chunk)) cell->records[kept++] = cell->records[i];
    memmove(&cell->records[1], cell->records, kept * sizeof all);
    cell->records[0] = all;
    cell->record_count = kept + 1;
}

static void place_results(const vyre_stream *stream, struct vyre_stream_cell *cell)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < cell->record_count; i++) {
        uint64_t bytes = vyre_stream_result_bytes(&stream->shape, cell->records[i].chunk.length);
        cell->records[i].result_at = at;
        if (cell->records[i].chunk.length != 0)
            at += ((uint32_t)bytes + VYRE_STREAM_ALIGN - 1) / VYRE_STREAM_ALIGN * VYRE_STREAM_ALIGN;
    }
}

static void commit_several(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    for (uint32_t i = 0; i < cell->record_count; i++)
        account(stream, &cell->records[i].chunk);
    vyre_stream_count(&stream->way[VYRE_PATH_PACK].bytes, cell->read_bytes);
    vyre_stream_count(&stream->way[VYRE_PATH_PACK].operations, cell->read_operations);
    uint64_t number = cell->unit.number;
    uint32_t done = cell->done;
    if (stream->options.flags & VYRE_STREAM_MERGE) merge(cell);
    place_results(stream, cell);
    publish(stream, cell);
    for (uint32_t i = 0; i < done; i++)
        vyre_stream_pass(stream, number + i);
}

/* Committing.
 * --------------------------------------------------------------------------------------------- */

static void commit_cell(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    if (cell->unit.listed) vyre_stream_remove(&cell->unit);
    if (cell->file)
        commit_part(stream, cell);
    else
        commit_several(stream, cell);
}

static bool over(const struct vyre_stream_file *file)
{
    return file->ended && file->underway == 0 && file->tail == NULL;
}

static void end_file(vyre_stream *stream, struct vyre_stream_file *file)
{
    uint64_t number = file->unit.number;
    bool floats = file->floats;
    vyre_stream_file_drop(stream, file);
    if (!floats) vyre_stream_pass(stream, number);
}

void vyre_stream_complete(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    cell->state = VYRE_CELL_COMPLETE;
    if (!cell->file || !cell->file->floats) return;
    struct vyre_stream_file *file = cell->file;
    commit_cell(stream, cell);
    if (over(file)) end_file(stream, file);
}

static void commit_in_order(vyre_stream *stream)
{
    for (;;) {
        struct vyre_stream_unit *unit = stream->order.next;
        if (unit == &stream->order || unit->number != stream->next_number) return;
        if (unit->kind == VYRE_UNIT_FILE) {
            struct vyre_stream_file *file = (struct vyre_stream_file *)unit;
            if (!over(file)) return;
            end_file(stream, file);
            continue;
        }
        struct vyre_stream_cell *cell = (struct vyre_stream_cell *)unit;
        if (cell->state != VYRE_CELL_COMPLETE) return;
        commit_cell(stream, cell);
    }
}

/* Whether a cell of the same file stands before it. */
static bool first_of_file(const vyre_stream *stream, const struct vyre_stream_cell *cell)
{
    const struct vyre_stream_unit *before = cell->unit.previous;
    return before == &stream->order || before->number != cell->unit.number;
}

static void commit_any(vyre_stream *stream)
{
    struct vyre_stream_unit *next;
    for (struct vyre_stream_unit *unit = stream->order.next; unit != &stream->order; unit = next) {
        next = unit->next;
        if (unit->kind == VYRE_UNIT_FILE) {
            if (over((struct vyre_stream_file *)unit))
                end_file(stream, (struct vyre_stream_file *)unit);
            continue;
        }
        struct vyre_stream_cell *cell = (struct vyre_stream_cell *)unit;
        if (cell->state != VYRE_CELL_COMPLETE) continue;
        /* The last chunk of a file comes last. */
        if (cell->file && ends(cell) && !first_of_file(stream, cell)) continue;
        commit_cell(stream, cell);
    }
}

void vyre_stream_commit(vyre_stream *stream)
{
    if (stream->options.flags & VYRE_STREAM_UNORDERED)
        commit_any(stream);
    else
        commit_in_order(stream);
}
