/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The walker's inside, shared by walk*.c and nobody else.
 *
 * A node is a directory that is held: its descriptor, and a window of its names in one block of the
 * arena, sorted. A frame is a level of the path down to where records are being handed out; the
 * node of a frame may be taken away, because (device, inode, path, last name) are enough to read
 * the rest of the directory again. Nodes that hang below a frame but are not on the path are read
 * ahead.
 *
 * All of it is guarded by `lock`, but a node that is READING: that belongs to the thread that reads
 * it. What such a thread uses of the node's parent (its descriptor) stays, because a node with
 * children is neither freed nor taken away.
 */
#ifndef VYRE_INGEST_WALK_CORE_H
#define VYRE_INGEST_WALK_CORE_H

#include <pthread.h>

#include "ingest/walk.h"

#define WALK_UNIT_BYTES  16384u       /* the arena is handed out in runs of 1, 2, 4 .. units */
#define WALK_DENTS_BYTES (128u << 10) /* of a thread, for getdents */
#define WALK_LEVELS      (VYRE_WALK_PATH_LIMIT / 2u + 1u)
#define WALK_VISIT_BATCH 16u   /* records that a thread takes at once to visit them */
#define WALK_LINKED      0x80u /* with the kind of an item: reached by a symbolic link */

/* One name of a window. The names lie in the node's block at `at`, each after a byte with its
 * length, ended by NUL. */
struct walk_item {
    uint64_t key; /* eight bytes of the name after what all names of the window begin with */
    uint32_t at;
    uint16_t child; /* the node that was read ahead for it, plus 1; 0: none */
    uint8_t kind;   /* enum vyre_walk_kind, WALK_LINKED */
    uint8_t error;
};

enum walk_node_state { WALK_FREE = 0, WALK_READING = 1, WALK_READY = 2 };

struct walk_node {
    uint8_t state;
    uint8_t on_stack; /* a frame's */
    uint8_t partial;  /* there are more names after the window */
    uint8_t linked;   /* reached by a symbolic link */
    uint8_t ended;    /* nothing more is handed out of it: freed with its last record */
    uint8_t after_bytes;
    uint16_t parent; /* of a node that is read ahead; this and the next four: plus 1, 0: none */
    uint16_t first_child, last_child; /* read ahead, in the order of their names */
    uint16_t next_sibling, previous_sibling;
    uint16_t before; /* while the next window is read: the node with the one before */
    int32_t fd;      /* of a free node: to be closed */
    int32_t stale;   /* while READING: to be closed first; -1: none */
    int32_t error;   /* of opening or listing */
    uint32_t refs;   /* records that were handed out */
    uint32_t root;   /* index of its root */
    uint32_t level;
    uint32_t place; /* item of the parent */
    uint32_t path_bytes;
    uint32_t text_end, capacity;
    uint32_t count;         /* items; they end where the block ends */
    uint32_t next;          /* item that is handed out next */
    uint32_t ahead;         /* no item before it is a directory that could be read ahead */
    char *block;            /* path, NUL, names, free room, items */
    uint64_t device, inode; /* known where links are followed, or when it was taken away */
    char after[VYRE_WALK_NAME_LIMIT + 1]; /* the window holds names after this one */
};

struct walk_frame {
    uint64_t device, inode;
    uint32_t path_bytes;
    uint16_t node; /* plus 1; 0: taken away */
    uint16_t linked;
};

enum walk_root_state { ROOT_UNREAD = 0, ROOT_READING, ROOT_NODE, ROOT_PLAIN, ROOT_ENDING };

struct walk_root {
    const char *path;
    uint64_t number;
    uint16_t node; /* plus 1 */
    uint8_t state, kind, error;
};

struct walk_slot {
    struct vyre_walk_record record;
    uint32_t ready;
};

struct walk_thread {
    struct vyre_walk *walk;
    pthread_t thread;
    char *dents;
    uint32_t index;
};

struct vyre_walk {
    struct vyre_walk_options options;
    struct vyre_walk_calls calls;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* there is a directory to read or a record to visit, or the end */
    pthread_cond_t ready; /* there are records, or the end */
    uint32_t sleepers;    /* threads that wait for work */
    uint32_t stop;
    uint32_t cancelled; /* (atomic) written under the lock */
    uint32_t hungry;    /* the state that somebody was told: LATER or HELD; 0: neither */
    uint32_t wanted;    /* what comes next is not being read */
    uint32_t starved;   /* what comes next finds no room but that of handed out records */
    uint32_t reading;   /* nodes that are READING */
    uint32_t crowded;   /* there is something to read ahead, but no room */

    struct walk_node *nodes;
    uint16_t free_list;  /* through next_sibling */
    uint32_t node_limit; /* nodes that may be held; fewer than there are once descriptors ran out */
    uint32_t held;
    int32_t reserve; /* a descriptor for bad times; -1: it was given */
    uint32_t stale;  /* free nodes with a descriptor that is to be closed */

    char *arena;
    uint8_t *units; /* 1: handed out */
    uint32_t unit_count, free_units;

    struct walk_frame *frames;
    char *path; /* of the last frame, and below it that of the frame that ended last */
    uint32_t depth;
    uint32_t ended_bytes; /* length of the path of the frame that ended last */

    struct walk_root *roots;
    uint32_t root_mask, root_head, root_tail; /* free-running */

    struct walk_slot *slots; /* records that are visited: [slot_tail, slot_head) */
    uint32_t slot_mask, slot_head, slot_tail;

    struct walk_thread *threads;
    uint32_t started;
    char *dents;
    struct vyre_walk_counts counts;
};

/* What a thread is to read: a node that is READING and belongs to the thread from then on. */
enum walk_job_kind { JOB_CHILD, JOB_ROOT, JOB_RESTORE, JOB_CONTINUE };

struct walk_job {
    enum walk_job_kind kind;
    int demand; /* nothing can be handed out before */
    struct walk_node *node;
};

static inline struct walk_node *walk_node_at(struct vyre_walk *walk, uint32_t number)
{
    return number == 0 ? NULL : &walk->nodes[number - 1];
}

static inline uint16_t walk_number_of(const struct vyre_walk *walk, const struct walk_node *node)
{
    return (uint16_t)(node - walk->nodes + 1);
}

static inline struct walk_item *walk_items(const struct walk_node *node)
{
    return (struct walk_item *)(void *)(node->block + node->capacity) - node->count;
}

/* Where the name of a child begins behind the path of its directory. */
static inline uint32_t walk_name_start(const char *path, uint32_t path_bytes)
{
    return path_bytes + (path_bytes != 0 && path[path_bytes - 1] != '/');
}

/* walk_room.c: the arena and the nodes, under the lock. */
char *walk_block_take(struct vyre_walk *walk, uint32_t bytes, int demand);
void walk_block_give(struct vyre_walk *walk, char *block, uint32_t bytes);
uint32_t walk_block_bytes(uint32_t path_bytes);
struct walk_node *walk_node_take(struct vyre_walk *walk, uint32_t path_bytes, int demand);
void walk_node_free(struct vyre_walk *walk, struct walk_node *node);
void walk_node_end(struct vyre_walk *walk, struct walk_node *node);
int walk_close_stale(struct vyre_walk *walk, int keep);
int walk_spare(struct vyre_walk *walk);
int walk_evict(struct vyre_walk *walk);
void walk_child_enter(struct vyre_walk *walk, struct walk_node *parent, struct walk_node *child);
void walk_child_leave(struct vyre_walk *walk, struct walk_node *child);

/* walk_step.c: hands out the next record, or (record NULL) says whether there is one; under the
 * lock. */
enum vyre_walk_state walk_step(struct vyre_walk *walk, struct vyre_walk_record *record);

/* walk_pick.c: what is to be read next, and what becomes of it; under the lock. */
int walk_pick(struct vyre_walk *walk, struct walk_job *job);
int walk_demanded(struct vyre_walk *walk, const struct walk_node *node);
void walk_undo(struct vyre_walk *walk, const struct walk_job *job);
void walk_finish(struct vyre_walk *walk, const struct walk_job *job);

/* walk_read.c: opens and lists the node of a job, without the lock. False: descriptors ran out, and
 * nothing was done. */
int walk_read(struct walk_thread *thread, const struct walk_job *job);

/* walk_list.c: reads a window of names, without the lock. */
void walk_list(struct walk_thread *thread, struct walk_node *node, int demand);
uint8_t walk_mode_kind(mode_t mode);

/* walk_sort.c: sorts items by their names, of which all begin with the same `prefix` bytes. */
void walk_sort(struct walk_item *items, uint32_t count, const char *text, uint32_t prefix);
void walk_sort_by_place(struct walk_item *items, uint32_t count);

/* walk_thread.c: under the lock, but for the first. */
void *walk_thread_main(void *argument);
enum vyre_walk_state walk_available(struct vyre_walk *walk);

#endif
