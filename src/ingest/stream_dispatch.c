/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Who gets a free cell: files that are open and items to be opened, the lowest number first. Called
 * by the engine.
 *
 * The last free cell goes to the head of the order alone. What waits in the order behind it holds
 * cells until it is committed; without that rule it could hold them all.
 */
#include <errno.h>
#include <string.h>

#include "ingest/stream.h"

#define ENOUGH     64u          /* items that are worth a cell while others are being opened */
#define COPY_BYTES (256u << 10) /* that the engine copies in a round, but for one cell */

static bool may_take(const vyre_stream *stream, uint64_t number, bool floats)
{
    if (stream->free_count > 1) return true;
    if (stream->free_count == 0) return false;
    if (stream->options.flags & VYRE_STREAM_UNORDERED) return !floats;
    return !floats && number == stream->next_number;
}

static struct vyre_stream_cell *take(vyre_stream *stream)
{
    struct vyre_stream_cell *cell = stream->free;
    stream->free = cell->next;
    stream->free_count--;
    return cell;
}

/* Whether the engine itself copies the file's bytes, while it submits. */
static bool copies(const vyre_stream *stream, const struct vyre_stream_file *file)
{
    return stream->uses_ring && !stream->spread && file->align == 0 &&
           file->kind == VYRE_SOURCE_REGULAR;
}

/* As many cells as the file can use and get; of those that the engine copies some in each round, so
 * that the device has them before it copies the next. */
static uint32_t serve_file(vyre_stream *stream, struct vyre_stream_file *file)
{
    uint32_t given = 0;
    while (vyre_stream_file_wants(file)) {
        struct vyre_stream_cell *cell = NULL;
        if (stream->copied >= COPY_BYTES) break;
        if (may_take(stream, file->unit.number, file->floats))
            cell = take(stream);
        else if (file->tail && file->tail->returned)
            cell = file->tail; /* the one before, which has its tail */
        if (!cell) {
            stream->hungry = 1;
            break;
        }
        if (cell == file->tail) cell->record_count = cell->paths_used = 0;
        if (copies(stream, file)) stream->copied += stream->cell_bytes;
        vyre_stream_file_begin(stream, file, cell);
        given++;
    }
    return given;
}

/* The first item that is to be opened. */
static uint64_t next_ready(vyre_stream *stream)
{
    while (stream->item_next < stream->item_high &&
           stream->items[stream->item_next & (VYRE_STREAM_ITEMS - 1)].state != VYRE_ITEM_READY)
        stream->item_next++;
    return stream->item_next;
}

static uint32_t count_ready(const vyre_stream *stream, uint64_t first)
{
    uint32_t count = 0;
    while (count < stream->cell_records && first + count < stream->item_high &&
           stream->items[(first + count) & (VYRE_STREAM_ITEMS - 1)].state == VYRE_ITEM_READY)
        count++;
    return count;
}

/* Whether it is better to wait for more items: some are being opened, and more will come. */
static bool too_few(vyre_stream *stream, uint64_t first, uint32_t count)
{
    uint32_t enough = stream->cell_records < ENOUGH ? stream->cell_records : ENOUGH;
    return stream->opening != 0 && count < enough && first + count == stream->item_high &&
           first != stream->next_number && !vyre_stream_fed(stream);
}

/* Gives items to a reader. */
static uint32_t serve_items(vyre_stream *stream)
{
    uint64_t first = next_ready(stream);
    bool head = first == stream->next_number;
    if (first == stream->item_high || (stream->short_of_files && (!head || stream->opening != 0)) ||
        stream->opening >= 2 * stream->readers.count ||
        stream->files_used + stream->opening >= stream->file_count)
        return 0;
    uint32_t count = count_ready(stream, first);
    if (too_few(stream, first, count)) return 0;
    if (!may_take(stream, first, false)) {
        stream->hungry = 1;
        return 0;
    }
    struct vyre_stream_cell *cell = take(stream);
    cell->state = VYRE_CELL_BUSY;
    cell->job = VYRE_JOB_OPEN;
    cell->file = NULL;
    cell->unit.number = first;
    cell->items = count;
    cell->head = head;
    cell->done = cell->used = cell->starved = 0;
    cell->read_bytes = cell->read_operations = 0;
    cell->opened.fd = -1;
    for (uint32_t i = 0; i < count; i++)
        stream->items[(first + i) & (VYRE_STREAM_ITEMS - 1)].state = VYRE_ITEM_TAKEN;
    stream->opening++;
    vyre_stream_insert(stream, &cell->unit);
    vyre_stream_readers_give(stream, cell);
    return 1;
}

uint32_t vyre_stream_dispatch(vyre_stream *stream)
{
    uint32_t given = 0;
    struct vyre_stream_unit *next;
    stream->hungry = 0;
    stream->copied = 0;
    for (struct vyre_stream_unit *unit = stream->order.next; unit != &stream->order; unit = next) {
        next = unit->next;
        if (unit->kind != VYRE_UNIT_FILE) continue;
        while (next_ready(stream) < unit->number && serve_items(stream) != 0)
            given++;
        given += serve_file(stream, (struct vyre_stream_file *)unit);
    }
    for (struct vyre_stream_file *file = stream->pipes, *after; file; file = after) {
        after = file->next;
        given += serve_file(stream, file);
    }
    while (serve_items(stream) != 0)
        given++;
    if (stream->hungry && stream->out == 0 && vyre_stream_pipes_yield(stream)) given++;
    return given;
}

/* There was no descriptor for an item: it waits until it is the head of the order, when it may have
 * the spare one; if that did not help, it is what became of it. */
static void starved(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    if (!cell->head) {
        stream->short_of_files = 1;
        return;
    }
    uint64_t number = cell->unit.number + cell->done;
    struct vyre_stream_item *item = &stream->items[number & (VYRE_STREAM_ITEMS - 1)];
    struct vyre_stream_record *record = &cell->records[cell->record_count++];
    memset(record, 0, sizeof *record);
    record->cell = cell;
    record->chunk.file = number;
    record->chunk.path = vyre_stream_item_path(stream, cell, item);
    record->chunk.flags = VYRE_CHUNK_FIRST | VYRE_CHUNK_LAST;
    record->chunk.status = VYRE_E_SYSTEM;
    record->chunk.error = (int32_t)cell->starved;
    vyre_stream_item_free(stream, item);
    cell->done++;
}

/* Items up to the last one that was looked at are gone, the others are to be opened again. */
static void account_items(vyre_stream *stream, const struct vyre_stream_cell *cell)
{
    uint64_t first = cell->unit.number;
    uint32_t gone = cell->done + (cell->opened.fd >= 0);
    for (uint32_t i = 0; i < cell->items; i++)
        stream->items[(first + i) & (VYRE_STREAM_ITEMS - 1)].state =
            i < gone ? VYRE_ITEM_GONE : VYRE_ITEM_READY;
    if (gone < cell->items && first + gone < stream->item_next) stream->item_next = first + gone;
    while (stream->item_low < stream->item_high &&
           stream->items[stream->item_low & (VYRE_STREAM_ITEMS - 1)].state == VYRE_ITEM_GONE)
        stream->item_low++;
}

void vyre_stream_opened(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    stream->opening--;
    stream->short_of_files = 0;
    if (cell->starved) starved(stream, cell);
    account_items(stream, cell);
    if (cell->opened.fd >= 0) {
        uint64_t number = cell->unit.number + cell->done;
        if (vyre_stream_file_take(stream, &cell->opened, number)->floats)
            vyre_stream_pass(stream, number);
    }
    if (cell->record_count == 0) {
        vyre_stream_remove(&cell->unit);
        vyre_stream_cell_free(stream, cell);
    } else {
        vyre_stream_complete(stream, cell);
    }
}
