/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads the names of a directory into its node. Where they do not fit, the first ones in order
 * stay: whenever the block is full and cannot be made larger, the greater half of what it holds
 * goes, and from then on names past the cut are passed over. So one more reading gives the next
 * window. Without the lock, but to ask for a larger block.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ingest/walk_core.h"

struct window {
    struct walk_thread *thread;
    struct walk_node *node;
    int demand;
    int cut_bytes; /* 0: none was made */
    char cut[VYRE_WALK_NAME_LIMIT + 1];
};

uint8_t walk_mode_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return VYRE_WALK_REGULAR;
    case S_IFDIR:
        return VYRE_WALK_DIRECTORY;
    case S_IFLNK:
        return VYRE_WALK_LINK;
    case S_IFIFO:
        return VYRE_WALK_FIFO;
    case S_IFSOCK:
        return VYRE_WALK_SOCKET;
    case S_IFCHR:
        return VYRE_WALK_CHARACTER;
    case S_IFBLK:
        return VYRE_WALK_BLOCK;
    default:
        return VYRE_WALK_UNKNOWN;
    }
}

static uint8_t type_kind(unsigned char type)
{
    return type == DT_UNKNOWN ? (uint8_t)VYRE_WALK_UNKNOWN : walk_mode_kind(DTTOIF(type));
}

/* Asks what the directory entry did not say, and where a link leads. */
static void resolve(const struct window *window, const char *name, struct walk_item *item)
{
    const struct vyre_walk *walk = window->thread->walk;
    int follow = (walk->options.flags & VYRE_WALK_FOLLOW) != 0;
    struct stat status;
    if (item->kind == VYRE_WALK_UNKNOWN) {
        if (walk->calls.fstatat(window->node->fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
            item->error = (uint8_t)errno;
            return;
        }
        item->kind = walk_mode_kind(status.st_mode);
    }
    if (item->kind != VYRE_WALK_LINK || !follow) return;
    if (walk->calls.fstatat(window->node->fd, name, &status, 0) != 0)
        item->error = (uint8_t)errno;
    else
        item->kind = walk_mode_kind(status.st_mode) | WALK_LINKED;
}

/* What all names of the window begin with. */
static uint32_t common_prefix(const struct walk_node *node)
{
    const struct walk_item *items = walk_items(node);
    const char *first = node->count ? node->block + items[0].at : "";
    uint32_t prefix = node->count ? (uint8_t)first[-1] : 0;
    for (uint32_t i = 1; i < node->count; i++) {
        const char *name = node->block + items[i].at;
        if (memcmp(first, name, prefix) == 0) continue; /* the shorter one's NUL differs */
        for (uint32_t k = 0; k < prefix; k++) {
            if (first[k] != name[k]) prefix = k;
        }
    }
    return prefix;
}

static void sort_window(struct walk_node *node)
{
    walk_sort(walk_items(node), node->count, node->block, common_prefix(node));
}

static int enlarge(struct window *window)
{
    struct vyre_walk *walk = window->thread->walk;
    struct walk_node *node = window->node;
    uint32_t capacity = node->capacity * 2;
    pthread_mutex_lock(&walk->lock);
    if (!window->demand) window->demand = walk_demanded(walk, node);
    uint32_t most = walk->unit_count / (window->demand ? 2 : 8) * WALK_UNIT_BYTES;
    char *block = capacity > most ? NULL : walk_block_take(walk, capacity, window->demand);
    pthread_mutex_unlock(&walk->lock);
    if (!block) return 0;
    size_t items_bytes = (size_t)node->count * sizeof(struct walk_item);
    memcpy(block, node->block, node->text_end);
    memcpy(block + capacity - items_bytes, walk_items(node), items_bytes);
    pthread_mutex_lock(&walk->lock);
    walk_block_give(walk, node->block, node->capacity);
    node->block = block;
    node->capacity = capacity;
    pthread_mutex_unlock(&walk->lock);
    return 1;
}

/* Drops the greater half of the names, and moves the others' text together. */
static void make_cut(struct window *window)
{
    struct walk_node *node = window->node;
    sort_window(node);
    struct walk_item *items = walk_items(node);
    uint32_t kept = node->count / 2;
    const char *cut = node->block + items[kept].at;
    window->cut_bytes = (uint8_t)cut[-1];
    memcpy(window->cut, cut, (size_t)window->cut_bytes + 1);
    memmove(items + (node->count - kept), items, (size_t)kept * sizeof *items);
    node->count = kept;
    node->partial = 1;
    items = walk_items(node);
    /* In the order of their text, so that each is moved down before the next one is overwritten. */
    walk_sort_by_place(items, kept);
    uint32_t end = node->path_bytes + 1;
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t bytes = (uint8_t)node->block[items[i].at - 1] + 2u;
        memmove(node->block + end, node->block + items[i].at - 1, bytes);
        items[i].at = end + 1;
        end += bytes;
    }
    node->text_end = end;
}

/* A name longer than any of this kind of system is cut, and reported so. */
static void keep(struct window *window, const char *name, uint8_t kind)
{
    struct walk_node *node = window->node;
    size_t length = strlen(name);
    uint32_t bytes = length > VYRE_WALK_NAME_LIMIT ? VYRE_WALK_NAME_LIMIT : (uint32_t)length;
    size_t room = bytes + 2 + sizeof(struct walk_item) + 8;
    while (node->text_end + room + (size_t)node->count * sizeof(struct walk_item) >
           node->capacity) {
        if (!enlarge(window)) make_cut(window);
        if (window->cut_bytes && strcmp(name, window->cut) >= 0) return;
    }
    struct walk_item item = {0, node->text_end + 1, 0, kind, 0};
    if (bytes < length)
        item.error = ENAMETOOLONG;
    else if (kind == VYRE_WALK_UNKNOWN || kind == VYRE_WALK_LINK)
        resolve(window, name, &item);
    node->block[node->text_end] = (char)bytes;
    memcpy(node->block + node->text_end + 1, name, bytes);
    node->block[node->text_end + 1 + bytes] = '\0';
    node->text_end += bytes + 2;
    node->count++;
    *walk_items(node) = item;
}

static int wanted(const struct window *window, const char *name)
{
    const struct walk_node *node = window->node;
    if (name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'))) return 0;
    if (node->after_bytes && strcmp(name, node->after) <= 0) return 0;
    return !window->cut_bytes || strcmp(name, window->cut) < 0;
}

void walk_list(struct walk_thread *thread, struct walk_node *node, int demand)
{
    struct vyre_walk *walk = thread->walk;
    struct window window = {.thread = thread, .node = node, .demand = demand};
    for (;;) {
        if (__atomic_load_n(&walk->cancelled, __ATOMIC_RELAXED)) return;
        ssize_t bytes = walk->calls.getdents(node->fd, thread->dents, WALK_DENTS_BYTES);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) node->error = errno;
        if (bytes <= 0) break;
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *entry = (const void *)(thread->dents + at);
            at += entry->d_reclen;
            if (wanted(&window, entry->d_name))
                keep(&window, entry->d_name, type_kind(entry->d_type));
        }
    }
    sort_window(node);
}
