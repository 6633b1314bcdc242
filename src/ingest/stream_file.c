/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Files that are read cell by cell. Called by the engine.
 *
 * Of a file whose chunks are known ahead as many cells are under way as there are. Of a sequential
 * one it is one: where it ends decides where the next begins, and its tail, which both have, is
 * copied from it. Until then the cell stays what it is, also after the caller released it; if there
 * is no other, it becomes the next cell itself.
 *
 * A pipe gets a cell when it has something to read. So one that is silent holds none, or one that
 * is partly filled and can be committed as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ingest/stream.h"

/* Sets or clears a flag of the open file. One that is the caller's stays as it is. */
static bool set_flag(const struct vyre_stream_file *file, int flag, bool on)
{
    int flags = fcntl(file->fd, F_GETFL);
    if (flags < 0) return false;
    int wanted = on ? flags | flag : flags & ~flag;
    return wanted == flags || (file->own && fcntl(file->fd, F_SETFL, wanted) == 0);
}

/* What follows cannot be read by O_DIRECT. */
static void leave_direct(struct vyre_stream_file *file)
{
    if (set_flag(file, O_DIRECT, false)) file->align = 0;
}

/* Whether all chunks begin where O_DIRECT can read. */
static bool plan_aligned(const vyre_stream *stream, uint32_t align)
{
    const vyre_stream_options *options = &stream->options;
    if (align == 0 || stream->step % align != 0 || options->record_bytes > stream->step)
        return false;
    return options->record_bytes == 0 || options->overlap_bytes % align == 0;
}

static void choose_way(vyre_stream *stream, struct vyre_stream_file *file, uint32_t align)
{
    bool regular = file->kind == VYRE_SOURCE_REGULAR;
    bool known = regular && file->first_size != 0;
    file->sequential = !known || stream->options.separator >= 0;
    file->floats = !regular && !stream->serial;
    file->size = known ? file->first_size : UINT64_MAX;
    file->align = 0;
    if (file->own) set_flag(file, O_NONBLOCK, false);
    bool wanted = file->own ? (stream->options.flags & VYRE_STREAM_DIRECT) != 0
                            : (fcntl(file->fd, F_GETFL) & O_DIRECT) != 0;
    if (wanted && known && !file->sequential && plan_aligned(stream, align) &&
        set_flag(file, O_DIRECT, true))
        file->align = align;
    if (regular && file->align == 0) posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (stream->uses_ring && (!known || file->size > stream->cell_bytes))
        file->fixed = vyre_ring_file(&stream->ring, file->index, file->fd) != 0;
}

struct vyre_stream_file *vyre_stream_file_take(vyre_stream *stream,
                                               const struct vyre_stream_opened *opened,
                                               uint64_t number)
{
    struct vyre_stream_file *file = stream->files;
    while (file->used)
        file++; /* there are as many as can be opened */
    uint32_t index = file->index;
    char *path = file->path;
    memset(file, 0, sizeof *file);
    file->index = index;
    file->path = path;
    file->used = 1;
    file->unit.kind = VYRE_UNIT_FILE;
    file->unit.number = number;
    file->fd = opened->fd;
    file->own = opened->own;
    file->spare = opened->spare;
    file->kind = opened->kind;
    file->fifo = opened->fifo;
    file->first_size = opened->size;
    file->path_bytes = (uint32_t)strlen(opened->path);
    memcpy(path, opened->path, file->path_bytes + 1);
    stream->files_used++;
    if (file->own && file->kind == VYRE_SOURCE_REGULAR)
        __atomic_fetch_add(&stream->files_open, 1, __ATOMIC_RELAXED);
    choose_way(stream, file, opened->align);
    if (file->floats) {
        file->next = stream->pipes;
        stream->pipes = file;
    } else {
        vyre_stream_insert(stream, &file->unit);
    }
    if (file->kind == VYRE_SOURCE_PIPE) vyre_stream_file_watch(stream, file);
    return file;
}

void vyre_stream_file_drop(vyre_stream *stream, struct vyre_stream_file *file)
{
    struct vyre_stream_file **link = &stream->pipes;
    if (file->floats) {
        while (*link != file)
            link = &(*link)->next;
        *link = file->next;
    } else if (file->unit.listed) {
        vyre_stream_remove(&file->unit);
    }
    if (file->fixed) vyre_ring_file(&stream->ring, file->index, -1);
    if (file->own) vyre_stream_close_file(stream, file->fd, file->spare);
    if (file->own && file->kind == VYRE_SOURCE_REGULAR)
        __atomic_fetch_sub(&stream->files_open, 1, __ATOMIC_RELAXED);
    file->used = 0;
    stream->files_used--;
    stream->short_of_files = 0;
}

bool vyre_stream_file_wants(const struct vyre_stream_file *file)
{
    if (file->all_begun) return false;
    if (file->kind == VYRE_SOURCE_PIPE && !file->readable) return false;
    return !file->sequential || file->filling == 0;
}

/* The front of a sequential file's next cell is the tail of the one before. */
static void carry(vyre_stream *stream, struct vyre_stream_file *file, struct vyre_stream_cell *cell)
{
    struct vyre_stream_cell *tail = file->tail;
    cell->offset = file->end - file->tail_bytes;
    cell->overlap = file->tail_overlap;
    cell->filled = cell->carried = file->tail_bytes;
    cell->goal = stream->cell_bytes;
    if (!tail) return;
    memmove(cell->bytes, tail->bytes + file->tail_at, file->tail_bytes);
    vyre_stream_count(&stream->way[VYRE_PATH_BOUNCE].bytes, file->tail_bytes);
    vyre_stream_count(&stream->way[VYRE_PATH_BOUNCE].operations, 1);
    file->tail = NULL;
    file->tail_bytes = file->tail_overlap = 0;
    tail->tail = 0;
    if (tail != cell && tail->returned) vyre_stream_cell_free(stream, tail);
}

void vyre_stream_file_begin(vyre_stream *stream, struct vyre_stream_file *file,
                            struct vyre_stream_cell *cell)
{
    cell->file = file;
    cell->state = VYRE_CELL_BUSY;
    cell->unit.number = file->unit.number;
    cell->error = 0;
    cell->ended = cell->direct = cell->carried = cell->filled = cell->returned = 0;
    cell->flags = file->begun == 0 ? VYRE_CHUNK_FIRST : 0;
    if (file->sequential) {
        carry(stream, file, cell);
    } else {
        uint64_t end = vyre_stream_next_end(stream, file->end, &cell->offset);
        cell->overlap = (uint32_t)(file->end - cell->offset);
        cell->plan_end = end;
        cell->goal = (uint32_t)((end < file->size ? end : file->size) - cell->offset);
        file->end = end;
        file->all_begun = end >= file->size;
    }
    file->begun++;
    file->underway++;
    file->filling++;
    if (!file->floats) vyre_stream_insert(stream, &cell->unit);
    vyre_stream_issue_read(stream, cell);
}

static uint64_t size_now(vyre_stream *stream, const struct vyre_stream_file *file)
{
    struct statx info;
    if (stream->calls->statx(stream->calls->ctx, file->fd, "", &info) != 0) return 0;
    return info.stx_size;
}

/* The cell has what there was when the file was last looked at: has it grown? Then it is read on.
 */
static bool grows(vyre_stream *stream, struct vyre_stream_file *file, struct vyre_stream_cell *cell)
{
    uint64_t end = cell->offset + cell->filled;
    if (file->kind != VYRE_SOURCE_REGULAR || file->size == UINT64_MAX || end < file->size)
        return false;
    uint64_t size = size_now(stream, file); /* of a block device 0: it does not grow */
    if (size <= end) {
        cell->ended = 1;
        return false;
    }
    file->size = size;
    if (file->sequential) return false;
    file->all_begun = cell->plan_end >= size;
    if (file->end > cell->plan_end) file->all_begun = file->end >= size;
    cell->goal = (uint32_t)((cell->plan_end < size ? cell->plan_end : size) - cell->offset);
    if (file->align != 0 && end % file->align != 0) leave_direct(file);
    return cell->goal > cell->filled;
}

/* What of a sequential file's cell is the chunk, and what goes into the next one. */
static void keep_tail(vyre_stream *stream, struct vyre_stream_file *file,
                      struct vyre_stream_cell *cell)
{
    uint32_t length, tail_at;
    file->end = cell->offset + cell->filled;
    vyre_stream_cut(stream, cell, &length, &tail_at);
    file->tail_bytes = cell->filled - tail_at;
    file->tail_overlap = length - tail_at;
    file->tail_at = tail_at;
    file->tail = file->tail_bytes != 0 ? cell : NULL;
    cell->tail = file->tail_bytes != 0;
    cell->filled = length;
}

void vyre_stream_file_filled(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    struct vyre_stream_file *file = cell->file;
    if (!cell->ended && cell->error == 0 && grows(stream, file, cell)) {
        vyre_stream_issue_read(stream, cell);
        return;
    }
    file->filling--;
    if (cell->ended && file->size != UINT64_MAX && cell->offset + cell->filled < file->first_size)
        cell->flags |= VYRE_CHUNK_SHRANK;
    if (cell->ended && file->size != UINT64_MAX && cell->offset + cell->filled > file->first_size)
        cell->flags |= VYRE_CHUNK_GREW;
    if (file->sequential) keep_tail(stream, file, cell);
    if (cell->ended || cell->error != 0) file->all_begun = 1;
    vyre_stream_complete(stream, cell);
}

static void count_read(vyre_stream *stream, const struct vyre_stream_cell *cell, uint32_t bytes)
{
    uint32_t path = cell->file->kind == VYRE_SOURCE_PIPE ? VYRE_PATH_STREAM
                    : cell->direct && cell->file->align  ? VYRE_PATH_DIRECT
                                                         : VYRE_PATH_CACHE;
    vyre_stream_count(&stream->way[path].bytes, bytes);
    vyre_stream_count(&stream->way[path].operations, 1);
}

/* A read that failed: again, another way, or the end of the file. */
static void failed(vyre_stream *stream, struct vyre_stream_cell *cell, int error)
{
    struct vyre_stream_file *file = cell->file;
    if (error == EAGAIN && file->kind == VYRE_SOURCE_PIPE) {
        vyre_stream_file_pause(stream, cell);
    } else if (error == EINTR || error == EAGAIN) {
        vyre_stream_issue_read(stream, cell);
    } else if (error == EINVAL && cell->direct && file->own) {
        leave_direct(file); /* the file system promised more than it keeps */
        vyre_stream_issue_read(stream, cell);
    } else {
        cell->error = error;
        vyre_stream_file_filled(stream, cell);
    }
}

void vyre_stream_file_read(vyre_stream *stream, struct vyre_stream_cell *cell, int32_t result)
{
    struct vyre_stream_file *file = cell->file;
    if (result < 0) {
        failed(stream, cell, -result);
        return;
    }
    if (result == 0) {
        cell->ended = 1;
        vyre_stream_file_filled(stream, cell);
        return;
    }
    uint32_t room = cell->goal - cell->filled;
    uint32_t taken = (uint32_t)result < room ? (uint32_t)result : room;
    count_read(stream, cell, taken);
    cell->filled += taken;
    file->fifo = 0;
    if (cell->filled == cell->goal) {
        if (file->kind == VYRE_SOURCE_PIPE) vyre_stream_file_watch(stream, file);
        vyre_stream_file_filled(stream, cell);
        return;
    }
    if (file->kind == VYRE_SOURCE_PIPE) {
        vyre_stream_file_pause(stream, cell);
        return;
    }
    if (file->align != 0 && cell->filled % file->align != 0)
        leave_direct(file); /* a short read inside a block: near the end */
    vyre_stream_issue_read(stream, cell);
}
