/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The order of the records: one step down, along or up the tree at a time, over what has been read.
 * Makes no system call but to close descriptors. Under the lock.
 */
#include <fcntl.h>
#include <string.h>

#include "ingest/walk_core.h"

static enum vyre_walk_state not_yet(struct vyre_walk *walk, int wanted)
{
    walk->wanted = (uint32_t)wanted;
    return walk->starved ? VYRE_WALK_HELD : VYRE_WALK_LATER;
}

/* A record of the root itself, which has no directory. */
static void fill_root(const struct walk_root *root, struct vyre_walk_record *record)
{
    memset(record, 0, sizeof *record);
    record->root = root->number;
    record->directory = "";
    record->name = root->path;
    record->name_bytes = (uint32_t)strlen(root->path);
    record->dirfd = root->state == ROOT_ENDING ? -1 : AT_FDCWD;
    record->kind = root->state == ROOT_ENDING ? VYRE_WALK_END : root->kind;
    record->error = root->state == ROOT_ENDING ? 0 : root->error;
}

static void fill_item(struct vyre_walk *walk, struct walk_node *node, const struct walk_item *item,
                      struct vyre_walk_record *record)
{
    record->root = walk->roots[node->root & walk->root_mask].number;
    record->mark = 0;
    record->directory = node->block;
    record->directory_bytes = node->path_bytes;
    record->name = node->block + item->at;
    record->name_bytes = (uint8_t)node->block[item->at - 1];
    record->dirfd = node->fd;
    record->error = item->error;
    record->kind = item->kind & ~WALK_LINKED;
    record->holder = walk_number_of(walk, node);
    node->refs++;
}

/* What is wrong with the directory itself. */
static void fill_failure(struct vyre_walk *walk, struct walk_node *node,
                         struct vyre_walk_record *record)
{
    record->root = walk->roots[node->root & walk->root_mask].number;
    record->mark = 0;
    record->directory = node->block;
    record->directory_bytes = node->path_bytes;
    record->name = "";
    record->name_bytes = 0;
    record->dirfd = -1;
    record->error = node->error;
    record->kind = VYRE_WALK_DIRECTORY;
    record->holder = walk_number_of(walk, node);
    node->refs++;
}

static void push(struct vyre_walk *walk, struct walk_node *node)
{
    struct walk_frame *frame = &walk->frames[walk->depth];
    uint32_t known = walk->depth == 0 ? 0 : walk->frames[walk->depth - 1].path_bytes;
    memcpy(walk->path + known, node->block + known, node->path_bytes + 1 - known);
    frame->node = walk_number_of(walk, node);
    frame->path_bytes = node->path_bytes;
    frame->device = node->device;
    frame->inode = node->inode;
    frame->linked = node->linked;
    node->on_stack = 1;
    node->level = walk->depth++;
}

static void pop(struct vyre_walk *walk, struct walk_node *node)
{
    walk->ended_bytes = node->path_bytes;
    walk->depth--;
    walk_node_end(walk, node);
}

/* Between trees. Sets *again where there is more to look at. */
static enum vyre_walk_state step_root(struct vyre_walk *walk, struct vyre_walk_record *record,
                                      int *again)
{
    if (walk->root_tail == walk->root_head) return VYRE_WALK_IDLE;
    struct walk_root *root = &walk->roots[walk->root_tail & walk->root_mask];
    switch (root->state) {
    case ROOT_UNREAD:
        return not_yet(walk, 1);
    case ROOT_READING:
        return not_yet(walk, 0);
    case ROOT_NODE:
        push(walk, walk_node_at(walk, root->node));
        root->state = ROOT_ENDING;
        *again = 1;
        return VYRE_WALK_LATER;
    default:
        if (!record) return VYRE_WALK_SOME;
        fill_root(root, record);
        if (root->state == ROOT_ENDING)
            walk->root_tail++;
        else
            root->state = ROOT_ENDING;
        return VYRE_WALK_SOME;
    }
}

/* After the last name of a window. */
static enum vyre_walk_state step_end(struct vyre_walk *walk, struct walk_node *node,
                                     struct vyre_walk_record *record, int *again)
{
    if (node->partial) return not_yet(walk, 1);
    if (node->error == 0) {
        pop(walk, node);
        *again = 1;
        return VYRE_WALK_LATER;
    }
    if (!record) return VYRE_WALK_SOME;
    fill_failure(walk, node, record);
    node->error = 0;
    return VYRE_WALK_SOME;
}

static enum vyre_walk_state step_in(struct vyre_walk *walk, struct walk_node *node,
                                    struct vyre_walk_record *record, int *again)
{
    if (node->next == node->count) return step_end(walk, node, record, again);
    struct walk_item *item = &walk_items(node)[node->next];
    if ((item->kind & ~WALK_LINKED) == VYRE_WALK_DIRECTORY && item->error == 0) {
        struct walk_node *child = walk_node_at(walk, item->child);
        if (!child || child->state == WALK_READING) return not_yet(walk, !child);
        node->next++;
        walk_child_leave(walk, child);
        push(walk, child);
        *again = 1;
        return VYRE_WALK_LATER;
    }
    if (!record) return VYRE_WALK_SOME;
    node->next++;
    fill_item(walk, node, item, record);
    return VYRE_WALK_SOME;
}

enum vyre_walk_state walk_step(struct vyre_walk *walk, struct vyre_walk_record *record)
{
    enum vyre_walk_state state;
    int again;
    do {
        again = 0;
        if (walk->cancelled) return VYRE_WALK_CANCELLED;
        if (walk->depth == 0) {
            state = step_root(walk, record, &again);
            continue;
        }
        struct walk_node *node = walk_node_at(walk, walk->frames[walk->depth - 1].node);
        if (!node || node->state == WALK_READING) return not_yet(walk, !node);
        state = step_in(walk, node, record, &again);
    } while (again);
    return state;
}
