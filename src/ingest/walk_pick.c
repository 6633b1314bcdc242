/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Which directory is read next: the one that records wait for, else the next in the order of the
 * records that is not read yet, as long as there is room. Under the lock.
 */
#include <errno.h>
#include <string.h>

#include "ingest/walk_core.h"

#define LEVELS_LOOKED_AT 64u /* of the path, from below, for directories to read ahead */

/* A node with the path of a directory below `parent`, or, without one, with this path. */
static struct walk_node *take(struct vyre_walk *walk, const char *path, uint32_t path_bytes,
                              int demand)
{
    struct walk_node *node = walk_node_take(walk, path_bytes, demand);
    while (!node && demand && walk_evict(walk))
        node = walk_node_take(walk, path_bytes, demand);
    if (!node) {
        if (demand && walk->reading == 0) walk->starved = 1;
        return NULL;
    }
    if (path) {
        memcpy(node->block, path, path_bytes);
        node->block[path_bytes] = '\0';
    }
    node->text_end = path_bytes + 1;
    walk->starved = 0;
    return node;
}

static int begin_child(struct vyre_walk *walk, struct walk_node *parent, uint32_t place,
                       struct walk_job *job)
{
    struct walk_item *item = &walk_items(parent)[place];
    uint32_t name_bytes = (uint8_t)parent->block[item->at - 1];
    uint32_t start = walk_name_start(parent->block, parent->path_bytes);
    job->kind = JOB_CHILD;
    job->demand = parent->on_stack && parent->level + 1 == walk->depth && place == parent->next;
    struct walk_node *node = take(walk, NULL, start + name_bytes, job->demand);
    if (!node) return 0;
    memcpy(node->block, parent->block, parent->path_bytes);
    if (start > parent->path_bytes) node->block[parent->path_bytes] = '/';
    memcpy(node->block + start, parent->block + item->at, name_bytes + 1);
    node->root = parent->root;
    node->linked = (item->kind & WALK_LINKED) != 0;
    node->place = place;
    walk_child_enter(walk, parent, node);
    job->node = node;
    return 1;
}

static int is_unread(const struct walk_item *item)
{
    return (item->kind & ~WALK_LINKED) == VYRE_WALK_DIRECTORY && !item->error && !item->child;
}

static int is_too_long(const struct walk_node *node, const struct walk_item *item)
{
    uint32_t start = walk_name_start(node->block, node->path_bytes);
    return start + (uint8_t)node->block[item->at - 1] > VYRE_WALK_PATH_LIMIT;
}

/*
 * The directory that records wait for, at the end of the path. It goes before all that is read
 * ahead: directories after it may have been read while it was not, or has been taken away again,
 * and then there may be no room to read ahead below those.
 */
static int pick_next(struct vyre_walk *walk, struct walk_job *job)
{
    struct walk_node *node = walk_node_at(walk, walk->frames[walk->depth - 1].node);
    if (!node || node->state != WALK_READY || node->next >= node->count) return 0;
    const struct walk_item *item = &walk_items(node)[node->next];
    if (!is_unread(item) || is_too_long(node, item)) return 0;
    return begin_child(walk, node, node->next, job) ? 1 : -1;
}

/* The first directory below a node that is not read yet. -1: there is one, but no room. */
static int pick_below(struct vyre_walk *walk, struct walk_node *node, struct walk_job *job)
{
    for (uint32_t at = node->first_child; at != 0;) {
        struct walk_node *child = walk_node_at(walk, at);
        at = child->next_sibling;
        int found = child->state == WALK_READY ? pick_below(walk, child, job) : 0;
        if (found) return found;
    }
    struct walk_item *items = walk_items(node);
    if (node->ahead < node->next) node->ahead = node->next;
    for (; node->ahead < node->count; node->ahead++) {
        struct walk_item *item = &items[node->ahead];
        if (!is_unread(item)) continue;
        if (!is_too_long(node, item)) return begin_child(walk, node, node->ahead, job) ? 1 : -1;
        item->error = ENAMETOOLONG;
    }
    return 0;
}

static int pick_root(struct vyre_walk *walk, struct walk_job *job)
{
    for (uint32_t i = walk->root_tail; i != walk->root_head; i++) {
        struct walk_root *root = &walk->roots[i & walk->root_mask];
        if (root->state == ROOT_NODE) {
            int found = pick_below(walk, walk_node_at(walk, root->node), job);
            if (found) return found;
        }
        if (root->state != ROOT_UNREAD) continue;
        size_t bytes = strlen(root->path);
        if (bytes > VYRE_WALK_PATH_LIMIT) {
            root->state = ROOT_PLAIN;
            root->kind = VYRE_WALK_UNKNOWN;
            root->error = ENAMETOOLONG;
            continue;
        }
        job->kind = JOB_ROOT;
        job->demand = walk->depth == 0 && i == walk->root_tail;
        job->node = take(walk, root->path, (uint32_t)bytes, job->demand);
        if (!job->node) return -1;
        job->node->root = i;
        root->node = walk_number_of(walk, job->node);
        root->state = ROOT_READING;
        return 1;
    }
    return 0;
}

/* The rest of the directory at the end of the path: its node was taken away, or its window ended.
 */
static int pick_rest(struct vyre_walk *walk, struct walk_job *job)
{
    struct walk_frame *frame = &walk->frames[walk->depth - 1];
    struct walk_node *before = walk_node_at(walk, frame->node);
    if (before && (before->state != WALK_READY || !before->partial || before->next < before->count))
        return 0;
    const char *after = before ? before->block + walk_items(before)[before->count - 1].at
                               : walk->path + walk_name_start(walk->path, frame->path_bytes);
    job->kind = before ? JOB_CONTINUE : JOB_RESTORE;
    job->demand = 1;
    job->node = take(walk, walk->path, frame->path_bytes, 1);
    if (!job->node) return -1;
    struct walk_node *node = job->node;
    node->after_bytes =
        (uint8_t)(before ? strlen(after)
                         : walk->ended_bytes - walk_name_start(walk->path, frame->path_bytes));
    memcpy(node->after, after, node->after_bytes);
    node->after[node->after_bytes] = '\0';
    node->root = walk->root_tail;
    node->linked = (uint8_t)frame->linked;
    node->device = frame->device;
    node->inode = frame->inode;
    node->before = frame->node;
    node->level = walk->depth - 1;
    node->on_stack = 1;
    frame->node = walk_number_of(walk, node);
    walk->counts.again++;
    return 1;
}

/* False: there is nothing to do, or no room to do it. */
int walk_pick(struct vyre_walk *walk, struct walk_job *job)
{
    if (walk->cancelled) return 0;
    int found = walk->depth ? pick_rest(walk, job) : 0;
    if (walk->depth && !found) found = pick_next(walk, job);
    uint32_t looked = 0;
    for (uint32_t level = walk->depth; !found && level > 0 && looked < LEVELS_LOOKED_AT; level--) {
        struct walk_node *node = walk_node_at(walk, walk->frames[level - 1].node);
        if (node && node->state == WALK_READY) found = pick_below(walk, node, job);
        looked++;
    }
    if (!found) found = pick_root(walk, job);
    if (found > 0 && job->demand) walk->wanted = 0;
    walk->crowded = found < 0;
    return found > 0;
}

/* Whether nothing can be handed out before this node, which is READING, is READY. */
int walk_demanded(struct vyre_walk *walk, const struct walk_node *node)
{
    uint16_t number = walk_number_of(walk, node);
    if (walk->depth == 0)
        return walk->root_tail != walk->root_head &&
               walk->roots[walk->root_tail & walk->root_mask].node == number;
    const struct walk_node *last = walk_node_at(walk, walk->frames[walk->depth - 1].node);
    return last && last->state == WALK_READY && last->next < last->count &&
           walk_items(last)[last->next].child == number;
}

/* Puts everything back to where it was before the job was picked. */
void walk_undo(struct vyre_walk *walk, const struct walk_job *job)
{
    struct walk_node *node = job->node;
    if (job->kind == JOB_CHILD) {
        struct walk_node *parent = walk_node_at(walk, node->parent);
        if (parent->ahead > node->place) parent->ahead = node->place;
        walk_child_leave(walk, node);
    } else if (job->kind == JOB_ROOT) {
        walk->roots[node->root & walk->root_mask].state = ROOT_UNREAD;
    } else {
        walk->frames[node->level].node = node->before;
    }
    walk_node_free(walk, node);
}

/* A directory that could not be opened is an item with an error, or a root with one. */
static void finish_failed(struct vyre_walk *walk, const struct walk_job *job)
{
    struct walk_node *node = job->node;
    if (job->kind == JOB_CHILD) {
        struct walk_node *parent = walk_node_at(walk, node->parent);
        struct walk_item *item = &walk_items(parent)[node->place];
        item->error = (uint8_t)node->error;
        if (node->error == ELOOP && node->linked) item->kind = VYRE_WALK_LINK;
        walk_child_leave(walk, node);
    } else {
        struct walk_root *root = &walk->roots[node->root & walk->root_mask];
        root->state = ROOT_PLAIN;
        root->error = (uint8_t)node->error;
        root->kind = (uint8_t)node->place; /* walk_read left it there */
    }
    walk_node_free(walk, node);
}

void walk_finish(struct vyre_walk *walk, const struct walk_job *job)
{
    struct walk_node *node = job->node;
    int opened = node->fd >= 0;
    if (!opened && (job->kind == JOB_CHILD || job->kind == JOB_ROOT)) {
        finish_failed(walk, job);
        return;
    }
    if (job->kind == JOB_ROOT) walk->roots[node->root & walk->root_mask].state = ROOT_NODE;
    if (node->before) walk_node_end(walk, walk_node_at(walk, node->before));
    node->before = 0;
    node->state = WALK_READY;
    walk->reading--;
    walk->counts.directories += (uint64_t)opened;
}
