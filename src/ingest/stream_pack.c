/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opening items, and reading the small files among them into one cell, one after the other. Called
 * by a reader, with a cell that is its own.
 *
 * It stops at the first item that does not belong into the cell: a file that is too large for it or
 * not a regular one, which it leaves open; one for which there is no room any more; one for which
 * there is no descriptor. What it has done is in `done`, in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/fs.h>

#include "ingest/stream.h"

#define GREW           INT32_MIN
#define OPEN_FLAGS     (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define SHORTAGE_TRIES 1000u /* a millisecond each, but for the first ones */
#define QUICK_TRIES    64u

/* Goes on with the next item, or not. */
enum outcome { NEXT, STOP };

/* One item that is looked at. */
struct look {
    vyre_stream *stream;
    struct vyre_stream_cell *cell;
    struct vyre_stream_item *item;
    uint64_t number;
    const char *path; /* in the cell's memory */
    int fd;
    uint32_t own;
    uint32_t spare;
    struct statx info;
};

static uint32_t align_of(const vyre_stream *stream)
{
    return stream->options.flags & VYRE_STREAM_MERGE ? VYRE_STREAM_MERGE_ALIGN : VYRE_STREAM_ALIGN;
}

static uint32_t round_up(uint32_t value, uint32_t to)
{
    return (value + to - 1) / to * to;
}

/* A record for an item; the engine fills in the rest. */
static struct vyre_stream_record *record(struct look *look, uint32_t flags)
{
    struct vyre_stream_cell *cell = look->cell;
    struct vyre_stream_record *made = &cell->records[cell->record_count++];
    memset(made, 0, sizeof *made);
    made->cell = cell;
    made->chunk.file = look->number;
    made->chunk.path = look->path;
    made->chunk.flags = flags | VYRE_CHUNK_FIRST | VYRE_CHUNK_LAST;
    return made;
}

static enum outcome fail(struct look *look, int error)
{
    struct vyre_stream_record *made = record(look, 0);
    made->chunk.status = VYRE_E_SYSTEM;
    made->chunk.error = error;
    return NEXT;
}

static enum outcome pass_over(struct look *look)
{
    record(look, VYRE_CHUNK_SKIPPED);
    return NEXT;
}

/* Leaves it to the engine. */
static enum outcome leave(struct look *look, uint32_t kind)
{
    struct vyre_stream_opened *opened = &look->cell->opened;
    opened->fd = look->fd;
    opened->own = look->own;
    opened->spare = look->spare;
    opened->kind = kind;
    opened->size = look->info.stx_size;
    opened->path = look->path;
    opened->fifo = S_ISFIFO(look->info.stx_mode);
#ifdef STATX_DIOALIGN
    if (look->info.stx_mask & STATX_DIOALIGN)
        opened->align = look->info.stx_dio_offset_align;
    else
        opened->align = VYRE_STREAM_PAGE;
#else
    opened->align = VYRE_STREAM_PAGE;
#endif
    look->own = 0;
    return STOP;
}

static int32_t read_at(struct look *look, unsigned char *into, uint32_t bytes, uint64_t offset)
{
    const struct vyre_stream_calls *calls = look->stream->calls;
    struct iovec vector = {into, bytes};
    ssize_t got;
    do {
        got = calls->read(calls->ctx, look->fd, &vector, (int64_t)offset);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    look->cell->read_operations++;
    return got < 0 ? -errno : (int32_t)got;
}

/*
 * Reads a small file to its end. One byte more than its size is asked for: what comes short of that
 * has ended there. Returns the bytes, or -errno, or GREW where it is longer than `most` by now.
 */
static int32_t read_small(struct look *look, unsigned char *into, uint32_t most)
{
    uint64_t size = look->info.stx_size;
    uint32_t got = 0;
    for (;;) {
        uint32_t ask = got == 0 && size != 0 ? (uint32_t)size + 1 : most + 1 - got;
        int32_t more = read_at(look, into + got, ask, got);
        if (more < 0) return more;
        got += (uint32_t)more;
        if (got > most) return GREW;
        if (more == 0 || (size != 0 && got == size && (uint32_t)more < ask)) return (int32_t)got;
    }
}

static enum outcome take_small(struct look *look)
{
    vyre_stream *stream = look->stream;
    struct vyre_stream_cell *cell = look->cell;
    uint32_t at = round_up(cell->used, align_of(stream)), most = stream->small;
    uint64_t size = look->info.stx_size;
    if (at + most + 1 > stream->cell_bytes) {
        /* What it may grow to has no room: then what it has must. */
        if (size == 0 || at + size + 1 > stream->cell_bytes) return STOP;
        most = stream->cell_bytes - at - 1;
    }
    int32_t got = read_small(look, cell->bytes + at, most);
    if (got == GREW) return most == stream->small ? leave(look, VYRE_SOURCE_REGULAR) : STOP;
    if (got < 0) return fail(look, -got);
    /* One without bytes takes no place, also behind the last: a piece lies within its chunk. */
    if (got == 0 && stream->options.flags & VYRE_STREAM_MERGE) at = cell->used;
    struct vyre_stream_record *made = record(look, 0);
    made->at = at;
    made->chunk.length = (uint32_t)got;
    if (size != 0 && (uint64_t)got < size) made->chunk.flags |= VYRE_CHUNK_SHRANK;
    if (size != 0 && (uint64_t)got > size) made->chunk.flags |= VYRE_CHUNK_GREW;
    if (at > cell->used) memset(cell->bytes + cell->used, 0, at - cell->used);
    if (got != 0) cell->used = at + (uint32_t)got;
    cell->read_bytes += (uint32_t)got;
    return NEXT;
}

static enum outcome look_at(struct look *look)
{
    vyre_stream *stream = look->stream;
    const struct vyre_stream_calls *calls = stream->calls;
    if (calls->statx(calls->ctx, look->fd, "", &look->info) != 0) return fail(look, errno);
    uint32_t mode = look->info.stx_mode;
    if (S_ISDIR(mode)) return pass_over(look);
    if (S_ISREG(mode)) {
        bool small = look->info.stx_size <= stream->small;
        /* A descriptor of the caller's may want whole blocks. */
        if (small && !look->own && fcntl(look->fd, F_GETFL) & O_DIRECT)
            small = look->info.stx_size == 0;
        return small ? take_small(look) : leave(look, VYRE_SOURCE_REGULAR);
    }
    if (S_ISBLK(mode)) {
        uint64_t bytes = 0;
        if (ioctl(look->fd, BLKGETSIZE64, &bytes) == 0 && bytes != 0) {
            look->info.stx_size = bytes;
            return leave(look, VYRE_SOURCE_REGULAR);
        }
    }
    return leave(look, VYRE_SOURCE_PIPE);
}

/* What the walker says of it, where that is enough. */
static bool known(struct look *look, enum outcome *outcome)
{
    const struct vyre_walk_record *found = &look->item->found;
    if (look->item->source) return false;
    *outcome = NEXT;
    if (found->error != 0) {
        fail(look, found->error);
        return true;
    }
    bool root = found->directory_bytes == 0;
    if (found->kind == VYRE_WALK_REGULAR) return false;
    if (root && found->kind != VYRE_WALK_SOCKET && found->kind != VYRE_WALK_LINK &&
        found->kind != VYRE_WALK_DIRECTORY)
        return false;
    pass_over(look); /* of a tree only files are read: nobody named the pipes and devices in it */
    return true;
}

/* In one step, or somebody else takes the place. */
static int become_spare(vyre_stream *stream, int fd)
{
    if (dup3(stream->wake_fd, fd, O_CLOEXEC) == fd) return fd;
    close(fd);
    return VYRE_STREAM_SPARE_LOST;
}

void vyre_stream_close_file(vyre_stream *stream, int fd, bool spare)
{
    int lost = VYRE_STREAM_SPARE_LOST;
    if (!spare)
        spare = __atomic_load_n(&stream->spare_fd, __ATOMIC_RELAXED) == lost &&
                __atomic_compare_exchange_n(&stream->spare_fd, &lost, VYRE_STREAM_SPARE_LENT, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    if (spare)
        __atomic_store_n(&stream->spare_fd, become_spare(stream, fd), __ATOMIC_SEQ_CST);
    else
        close(fd);
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE;
}

/* Opens the item's file; the errno, or 0. */
static int try_open(struct look *look, int dirfd, const char *name)
{
    const struct vyre_stream_calls *calls = look->stream->calls;
    look->fd = calls->openat(calls->ctx, dirfd, name, OPEN_FLAGS);
    return look->fd < 0 ? errno : 0;
}

/* In the place of the spare descriptor, which none of our own threads can take meanwhile. */
static int try_spare(struct look *look, int dirfd, const char *name)
{
    vyre_stream *stream = look->stream;
    pthread_rwlock_wrlock(&stream->opens);
    int spare = __atomic_load_n(&stream->spare_fd, __ATOMIC_SEQ_CST);
    if (spare >= 0) {
        __atomic_store_n(&stream->spare_fd, VYRE_STREAM_SPARE_LENT, __ATOMIC_SEQ_CST);
        close(spare);
    }
    int error = try_open(look, dirfd, name);
    if (spare >= 0 && error == 0) look->spare = 1;
    if (spare >= 0 && error != 0) {
        spare = fcntl(stream->wake_fd, F_DUPFD_CLOEXEC, 0);
        __atomic_store_n(&stream->spare_fd, spare < 0 ? VYRE_STREAM_SPARE_LOST : spare,
                         __ATOMIC_SEQ_CST);
    }
    pthread_rwlock_unlock(&stream->opens);
    return error;
}

/* There is no descriptor, and nobody before it in the order has one to give back: the spare one is
 * for this, and those that the walker can do without. The rest of the process may be faster, or
 * have them all: then it is tried again for a while. */
static int open_with_all_means(struct look *look, int dirfd, const char *name)
{
    vyre_stream *stream = look->stream;
    const struct timespec moment = {0, 1000000};
    int error = try_spare(look, dirfd, name);
    for (uint32_t i = 0; is_shortage(error) && i < SHORTAGE_TRIES; i++) {
        if (__atomic_load_n(&stream->cancelled, __ATOMIC_RELAXED)) break;
        bool spared = stream->walk && vyre_walk_spare(stream->walk);
        if (!spared || i >= QUICK_TRIES) nanosleep(&moment, NULL);
        error = try_spare(look, dirfd, name);
    }
    return error;
}

static enum outcome open_item(struct look *look)
{
    const struct vyre_stream_calls *calls = look->stream->calls;
    const struct vyre_stream_source *source = look->item->source;
    struct statx info;
    enum outcome outcome;
    if (known(look, &outcome)) return outcome;
    if (source && source->fd >= 0) {
        look->fd = source->fd;
        return look_at(look);
    }
    int dirfd = source ? AT_FDCWD : look->item->found.dirfd;
    const char *name = source ? source->path : look->item->found.name;
    bool scarce = __atomic_load_n(&look->stream->scarce, __ATOMIC_RELAXED) != 0;
    if (scarce) pthread_rwlock_rdlock(&look->stream->opens);
    int error = try_open(look, dirfd, name);
    if (scarce) pthread_rwlock_unlock(&look->stream->opens);
    if (is_shortage(error)) __atomic_store_n(&look->stream->scarce, 1, __ATOMIC_RELAXED);
    if (is_shortage(error) && look->cell->head) error = open_with_all_means(look, dirfd, name);
    if (error == 0) {
        look->own = 1;
        return look_at(look);
    }
    if (is_shortage(error)) {
        look->cell->starved = (uint32_t)error;
        return STOP;
    }
    /* A socket's file cannot be opened. */
    if (error == ENXIO && calls->statx(calls->ctx, dirfd, name, &info) == 0 &&
        S_ISSOCK(info.stx_mode))
        return pass_over(look);
    return fail(look, error);
}

const char *vyre_stream_item_path(vyre_stream *stream, struct vyre_stream_cell *cell,
                                  const struct vyre_stream_item *item)
{
    const struct vyre_stream_source *source = item->source;
    if (source) {
        if (!source->named) return "";
        size_t length = strlen(source->path);
        size_t most = stream->path_room - 1; /* longer ones cannot be opened */
        return vyre_stream_cell_path(stream, cell, source->path, length < most ? length : most);
    }
    char *path = cell->paths + cell->paths_used;
    size_t length = vyre_walk_path(&item->found, path, stream->path_bytes - cell->paths_used);
    if (length + 1 > stream->path_bytes - cell->paths_used) return NULL;
    cell->paths_used += (uint32_t)length + 1;
    return path;
}

void vyre_stream_pack(vyre_stream *stream, struct vyre_stream_cell *cell)
{
    uint64_t number = cell->unit.number;
    for (cell->done = 0; cell->done < cell->items; cell->done++) {
        uint32_t paths_used = cell->paths_used;
        uint64_t place = (number + cell->done) & (VYRE_STREAM_ITEMS - 1);
        struct look look = {.stream = stream,
                            .cell = cell,
                            .item = &stream->items[place],
                            .number = number + cell->done,
                            .fd = -1};
        look.path = vyre_stream_item_path(stream, cell, look.item);
        if (!look.path) break;
        enum outcome outcome = open_item(&look);
        if (look.own) vyre_stream_close_file(stream, look.fd, look.spare);
        if (outcome == STOP && cell->opened.fd < 0) {
            cell->paths_used = paths_used;
            break;
        }
        vyre_stream_item_free(stream, look.item);
        if (outcome == STOP) break;
    }
}
