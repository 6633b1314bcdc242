/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sources: those that were added wait in a list; the engine turns them, or what the walker finds in
 * them, into items, in order.
 */
#include <string.h>

#include "base/checked.h"
#include "ingest/stream.h"

#define USUAL_ROOM 192u /* paths up to here are kept in memory that is used again */

static size_t source_bytes(uint32_t room)
{
    return sizeof(struct vyre_stream_source) + room;
}

/* (lock) */
static vyre_status take_source(vyre_stream *stream, size_t length,
                               struct vyre_stream_source **source, vyre_error *err)
{
    void *memory;
    if (length < USUAL_ROOM && stream->unused) {
        *source = stream->unused;
        stream->unused = (*source)->next;
        return VYRE_OK;
    }
    size_t room = length < USUAL_ROOM ? USUAL_ROOM : length + 1;
    if (room > UINT32_MAX / 2)
        return vyre_fail(err, VYRE_E_NO_MEMORY, "a path of %zu bytes", length);
    vyre_status status = vyre_memory_alloc(stream->memory, 1, source_bytes((uint32_t)room),
                                           "path of a source", &memory, err);
    if (status) return status;
    *source = memory;
    (*source)->room = (uint32_t)room;
    return VYRE_OK;
}

/* (lock) */
static void give_source(vyre_stream *stream, struct vyre_stream_source *source)
{
    if (source->room == USUAL_ROOM) {
        source->next = stream->unused;
        stream->unused = source;
        return;
    }
    vyre_memory_free(stream->memory, source, source_bytes(source->room));
}

/* Waits until there is room, or the stream takes no more. (lock) */
static vyre_status await_room(vyre_stream *stream, vyre_error *err)
{
    for (;;) {
        if (stream->no_more)
            return vyre_fail_with(err, VYRE_E_STATE, "add sources before vyre_stream_end",
                                  "the stream was told that there are no more sources");
        if (__atomic_load_n(&stream->cancelled, __ATOMIC_RELAXED))
            return vyre_fail_with(err, VYRE_E_STOPPED, "open another stream",
                                  "the stream was cancelled");
        if (stream->pending < VYRE_STREAM_PENDING) return VYRE_OK;
        pthread_cond_wait(&stream->room, &stream->lock);
    }
}

static vyre_status add(vyre_stream *stream, int fd, const char *text, vyre_error *err)
{
    struct vyre_stream_source *source = NULL;
    size_t length = text ? strlen(text) : 0;
    pthread_mutex_lock(&stream->lock);
    vyre_status status = await_room(stream, err);
    if (!status) status = take_source(stream, length, &source, err);
    if (!status) {
        source->next = NULL;
        source->fd = fd;
        source->named = text != NULL;
        if (text) memcpy(source->path, text, length);
        source->path[length] = '\0';
        if (stream->last)
            stream->last->next = source;
        else
            stream->first = source;
        stream->last = source;
        stream->pending++;
    }
    pthread_mutex_unlock(&stream->lock);
    if (!status) vyre_stream_wake(stream);
    return status;
}

vyre_status vyre_stream_add_path(vyre_stream *stream, const char *path, vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    if (!path) return vyre_fail(err, VYRE_E_NULL, "path is null");
    return add(stream, -1, path, err);
}

vyre_status vyre_stream_add_fd(vyre_stream *stream, int fd, const char *name, vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    if (fd < 0) return vyre_fail(err, VYRE_E_RANGE, "descriptor %d is below 0", fd);
    return add(stream, fd, name, err);
}

vyre_status vyre_stream_end(vyre_stream *stream, vyre_error *err)
{
    if (!stream) return vyre_fail(err, VYRE_E_NULL, "stream is null");
    pthread_mutex_lock(&stream->lock);
    stream->no_more = 1;
    pthread_cond_broadcast(&stream->room);
    pthread_mutex_unlock(&stream->lock);
    vyre_stream_wake(stream);
    return VYRE_OK;
}

void vyre_stream_item_free(vyre_stream *stream, struct vyre_stream_item *item)
{
    if (!item->source) {
        vyre_walk_release(stream->walk, &item->found, 1);
        return;
    }
    pthread_mutex_lock(&stream->lock);
    give_source(stream, item->source);
    pthread_mutex_unlock(&stream->lock);
    item->source = NULL;
}

static struct vyre_stream_item *new_item(vyre_stream *stream)
{
    struct vyre_stream_item *item = &stream->items[stream->item_high & (VYRE_STREAM_ITEMS - 1)];
    item->state = VYRE_ITEM_READY;
    stream->item_high++;
    vyre_stream_count(&stream->files_found, 1);
    return item;
}

static uint32_t item_room(const vyre_stream *stream)
{
    uint64_t unopened = stream->item_high - stream->item_low;
    uint64_t uncommitted = stream->item_high - stream->next_number;
    if (unopened >= VYRE_STREAM_ITEMS || uncommitted > stream->passed_mask) return 0;
    uint64_t room = VYRE_STREAM_ITEMS - unopened, left = stream->passed_mask + 1 - uncommitted;
    return (uint32_t)(room < left ? room : left);
}

/* Takes the first source off the list; NULL: there is none. */
static struct vyre_stream_source *pop(vyre_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    struct vyre_stream_source *source = stream->first;
    if (source) {
        stream->first = source->next;
        if (!stream->first) stream->last = NULL;
        source->next = NULL;
        if (stream->pending-- == VYRE_STREAM_PENDING) pthread_cond_broadcast(&stream->room);
    }
    pthread_mutex_unlock(&stream->lock);
    return source;
}

/* Trees. Sources stand in `walking` from when the walker has got them until their last record has
 * come, descriptors among them, and then in `walked` until the walker needs their text no more: all
 * their records have been released. */

static void append(struct vyre_stream_list *list, struct vyre_stream_source *source)
{
    source->next = NULL;
    if (list->last)
        list->last->next = source;
    else
        list->first = source;
    list->last = source;
    list->count++;
}

static struct vyre_stream_source *take_first(struct vyre_stream_list *list)
{
    struct vyre_stream_source *source = list->first;
    list->first = source->next;
    if (!list->first) list->last = NULL;
    list->count--;
    return source;
}

/* Gives the walker more to do. */
static void add_roots(vyre_stream *stream)
{
    while (stream->walking.count < VYRE_STREAM_ROOTS) {
        struct vyre_stream_source *source = pop(stream);
        if (!source) return;
        append(&stream->walking, source);
        if (source->fd < 0) vyre_walk_add(stream->walk, source->path, 0);
    }
}

/* Descriptors at the front of the line are items as they are. */
static void take_descriptors(vyre_stream *stream)
{
    while (stream->walking.first && stream->walking.first->fd >= 0)
        new_item(stream)->source = take_first(&stream->walking);
}

/* Takes what the walker has found; false: nothing for now. */
static bool pull(vyre_stream *stream)
{
    struct vyre_walk_record found[64];
    uint32_t count = 0, room = item_room(stream), others = stream->walking.count;
    if (room <= others) return false; /* descriptors in the line need room too */
    room -= others;
    stream->walk_state = vyre_walk_next(stream->walk, found, room < 64 ? room : 64, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (found[i].kind != VYRE_WALK_END) {
            struct vyre_stream_item *item = new_item(stream);
            item->source = NULL;
            item->found = found[i];
            continue;
        }
        vyre_walk_release(stream->walk, &found[i], 1);
        stream->walking.first->last_item = stream->item_high;
        append(&stream->walked, take_first(&stream->walking));
        take_descriptors(stream);
    }
    return count != 0;
}

static void give_walked(vyre_stream *stream)
{
    while (stream->walked.first && stream->item_low >= stream->walked.first->last_item) {
        struct vyre_stream_source *source = take_first(&stream->walked);
        pthread_mutex_lock(&stream->lock);
        give_source(stream, source);
        pthread_mutex_unlock(&stream->lock);
    }
}

static void feed_trees(vyre_stream *stream)
{
    give_walked(stream);
    do {
        add_roots(stream);
        if (item_room(stream) <= stream->walking.count) return;
        take_descriptors(stream);
    } while (pull(stream));
}

void vyre_stream_feed(vyre_stream *stream)
{
    if (stream->walk) {
        feed_trees(stream);
        return;
    }
    while (item_room(stream) != 0) {
        struct vyre_stream_source *source = pop(stream);
        if (!source) return;
        new_item(stream)->source = source;
    }
}

bool vyre_stream_fed(vyre_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool fed = stream->no_more && !stream->first && !stream->walking.first;
    pthread_mutex_unlock(&stream->lock);
    return fed;
}

void vyre_stream_sources_free(vyre_stream *stream)
{
    struct vyre_stream_source *lists[4] = {stream->first, stream->unused, stream->walking.first,
                                           stream->walked.first};
    for (uint32_t i = 0; i < 4; i++) {
        while (lists[i]) {
            struct vyre_stream_source *next = lists[i]->next;
            vyre_memory_free(stream->memory, lists[i], source_bytes(lists[i]->room));
            lists[i] = next;
        }
    }
    for (uint64_t n = stream->item_low; n < stream->item_high; n++) {
        struct vyre_stream_source *source = stream->items[n & (VYRE_STREAM_ITEMS - 1)].source;
        if (source) vyre_memory_free(stream->memory, source, source_bytes(source->room));
    }
}
