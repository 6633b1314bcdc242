/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Room for directories: runs of units of the arena, and nodes. What is read ahead leaves room for
 * what comes next; what comes next may take room from what was read ahead, the last in order first,
 * and then from the upper levels of the path. Under the lock.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ingest/walk_core.h"

/* A run of free units at a multiple of its length, or unit_count. */
static uint32_t find_run(const struct vyre_walk *walk, uint32_t length)
{
    for (uint32_t at = 0; at + length <= walk->unit_count; at += length) {
        if (!memchr(&walk->units[at], 1, length)) return at;
    }
    return walk->unit_count;
}

char *walk_block_take(struct vyre_walk *walk, uint32_t bytes, int demand)
{
    uint32_t length = bytes / WALK_UNIT_BYTES;
    uint32_t kept = demand ? 0 : walk->unit_count / 4;
    if (walk->free_units < length + kept) return NULL;
    uint32_t at = find_run(walk, length);
    if (at == walk->unit_count) return NULL;
    memset(&walk->units[at], 1, length);
    walk->free_units -= length;
    return walk->arena + (size_t)at * WALK_UNIT_BYTES;
}

void walk_block_give(struct vyre_walk *walk, char *block, uint32_t bytes)
{
    size_t at = (size_t)(block - walk->arena) / WALK_UNIT_BYTES;
    memset(&walk->units[at], 0, bytes / WALK_UNIT_BYTES);
    walk->free_units += bytes / WALK_UNIT_BYTES;
}

/* The first block of a directory: its path, and room for names to begin with. */
uint32_t walk_block_bytes(uint32_t path_bytes)
{
    uint32_t bytes = WALK_UNIT_BYTES;
    while (bytes < path_bytes + WALK_UNIT_BYTES / 2)
        bytes *= 2;
    return bytes;
}

/* A node that is READING, with a block for a path of that length; NULL: no room. */
struct walk_node *walk_node_take(struct vyre_walk *walk, uint32_t path_bytes, int demand)
{
    uint32_t bytes = walk_block_bytes(path_bytes);
    if (walk->held + (demand ? 0 : 2) >= walk->node_limit) return NULL;
    char *block = walk_block_take(walk, bytes, demand);
    if (!block) return NULL;
    struct walk_node *node = walk_node_at(walk, walk->free_list);
    walk->free_list = node->next_sibling;
    int fd = node->fd;
    memset(node, 0, offsetof(struct walk_node, after));
    node->state = WALK_READING;
    node->fd = -1;
    node->stale = fd;
    if (fd >= 0) walk->stale--;
    node->block = block;
    node->capacity = bytes;
    node->path_bytes = path_bytes;
    walk->held++;
    walk->reading++;
    if (walk->counts.held_most < walk->held) walk->counts.held_most = walk->held;
    return node;
}

/* Its descriptor stays for now: closing takes longer than all else that is done under the lock. The
 * thread that uses the node next closes it, or one that has nothing to do. */
void walk_node_free(struct vyre_walk *walk, struct walk_node *node)
{
    if (node->state == WALK_READING) walk->reading--;
    walk_block_give(walk, node->block, node->capacity);
    if (node->fd >= 0) walk->stale++;
    node->state = WALK_FREE;
    node->block = NULL;
    node->next_sibling = walk->free_list;
    walk->free_list = walk_number_of(walk, node);
    walk->held--;
}

/* Closes what free nodes have left open, or with `keep` makes one of them the reserve where there
 * is none; true: the lock was open meanwhile. */
int walk_close_stale(struct vyre_walk *walk, int keep)
{
    int fds[32];
    uint32_t count = 0;
    for (uint32_t at = walk->free_list; at && walk->stale && count < 32;) {
        struct walk_node *node = walk_node_at(walk, at);
        at = node->next_sibling;
        if (node->fd < 0) continue;
        if (keep && walk->reserve < 0)
            walk->reserve = node->fd;
        else
            fds[count++] = node->fd;
        node->fd = -1;
        walk->stale--;
    }
    if (count == 0) return 0;
    pthread_mutex_unlock(&walk->lock);
    for (uint32_t i = 0; i < count; i++)
        close(fds[i]);
    pthread_mutex_lock(&walk->lock);
    return 1;
}

/* Nothing more is handed out of it. */
void walk_node_end(struct vyre_walk *walk, struct walk_node *node)
{
    node->on_stack = 0;
    node->ended = 1;
    if (node->refs == 0) walk_node_free(walk, node);
}

/* The children of a node in the order of their names. Most come last. */
void walk_child_enter(struct vyre_walk *walk, struct walk_node *parent, struct walk_node *child)
{
    uint16_t number = walk_number_of(walk, child);
    uint16_t before = parent->last_child;
    while (before && walk_node_at(walk, before)->place > child->place)
        before = walk_node_at(walk, before)->previous_sibling;
    uint16_t after = before ? walk_node_at(walk, before)->next_sibling : parent->first_child;
    child->parent = walk_number_of(walk, parent);
    child->previous_sibling = before;
    child->next_sibling = after;
    *(before ? &walk_node_at(walk, before)->next_sibling : &parent->first_child) = number;
    *(after ? &walk_node_at(walk, after)->previous_sibling : &parent->last_child) = number;
    walk_items(parent)[child->place].child = number;
}

void walk_child_leave(struct vyre_walk *walk, struct walk_node *child)
{
    struct walk_node *parent = walk_node_at(walk, child->parent);
    uint16_t before = child->previous_sibling, after = child->next_sibling;
    *(before ? &walk_node_at(walk, before)->next_sibling : &parent->first_child) = after;
    *(after ? &walk_node_at(walk, after)->previous_sibling : &parent->last_child) = before;
    walk_items(parent)[child->place].child = 0;
    child->parent = child->next_sibling = child->previous_sibling = 0;
}

/* Takes away the last of what was read ahead below a node; false: there is none to take. */
static int evict_below(struct vyre_walk *walk, struct walk_node *node)
{
    for (uint32_t at = node->last_child; at != 0;) {
        struct walk_node *child = walk_node_at(walk, at);
        at = child->previous_sibling;
        if (evict_below(walk, child)) return 1;
        if (child->state != WALK_READY || child->first_child) continue;
        if (node->ahead > child->place) node->ahead = child->place;
        walk_child_leave(walk, child);
        walk_node_free(walk, child);
        return 1;
    }
    return 0;
}

static int evict_root(struct vyre_walk *walk)
{
    for (uint32_t i = walk->root_head; i != walk->root_tail; i--) {
        struct walk_root *root = &walk->roots[(i - 1) & walk->root_mask];
        if (root->state != ROOT_NODE) continue;
        struct walk_node *node = walk_node_at(walk, root->node);
        if (evict_below(walk, node)) return 1;
        if (node->first_child) continue;
        walk_node_free(walk, node);
        root->state = ROOT_UNREAD;
        root->node = 0;
        return 1;
    }
    return 0;
}

/* Takes a level of the path away, from the top. What is needed to go on with it stays: its identity
 * here, its path and the last name in walk->path. */
static int evict_level(struct vyre_walk *walk)
{
    for (uint32_t level = 0; level + 1 < walk->depth; level++) {
        struct walk_frame *frame = &walk->frames[level];
        struct walk_node *node = walk_node_at(walk, frame->node);
        struct stat status;
        if (!node || node->refs != 0 || node->first_child || node->fd < 0) continue;
        if (walk->calls.fstatat(node->fd, "", &status, AT_EMPTY_PATH) != 0) continue;
        frame->device = status.st_dev;
        frame->inode = status.st_ino;
        frame->node = 0;
        walk_node_free(walk, node);
        return 1;
    }
    return 0;
}

/* Makes room for what comes next; false: nothing can go. */
int walk_evict(struct vyre_walk *walk)
{
    if (evict_root(walk)) return 1;
    for (uint32_t level = 0; level < walk->depth; level++) {
        struct walk_node *node = walk_node_at(walk, walk->frames[level].node);
        if (node && node->state == WALK_READY && evict_below(walk, node)) return 1;
    }
    return evict_level(walk);
}

/* Closes a descriptor of ours; false: there is none that can be. */
int walk_spare(struct vyre_walk *walk)
{
    if (walk_close_stale(walk, 0)) return 1;
    if (walk_evict(walk)) {
        if (walk->node_limit > walk->held) walk->node_limit = walk->held < 4 ? 4 : walk->held;
        walk_close_stale(walk, 0);
        return 1;
    }
    if (walk->reserve < 0) return 0;
    close(walk->reserve);
    walk->reserve = -1;
    return 1;
}
