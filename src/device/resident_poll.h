/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The poller of a resident kernel: one warp that looks at the bells and at the next slot of the
 * queue that rang last, all in one load, because each dependent read across the link costs a
 * microsecond.
 *
 * A single plain slot is run by the poller itself, from the words of that very load if its seal
 * fits. More of them are handed to workers in chunks, unread. Everything else is copied after an
 * acquire and taken by the first lane in the way of poller.h. The look at queue 0 is part of every
 * load.
 */
#ifndef VYRE_DEVICE_RESIDENT_POLL_H
#define VYRE_DEVICE_RESIDENT_POLL_H

#include "device/chunk.h"
#include "device/poller.h"
#include "device/vitals.h"

/* What a launch is told. */
struct dev_launch {
    int64_t clock_shift; /* for dev_clock_ns */
    uint32_t number;     /* 1 for the first launch of a device, and so on */
    uint32_t flags;      /* 0 */
    uint64_t park_ns;    /* leave after so long without work; 0: never */
    uint64_t stay_ns;    /* leave after so long in any case, to be launched again; 0: never */
};

/* The roles of a look: 0..7 the words of a slot, then bells. */
#define DEV_ROLE_SYSTEM    8u
#define DEV_ROLE_FAVOURITE 9u
#define DEV_ROLE_GROUP     16u
#define DEV_GROUP          16u /* bells in a look */
#define DEV_CLOCK_LOOKS    64u /* between two looks at the clock */
#define DEV_LAG_LOOKS      64u /* between two sweeps for producers while tasks are on their way */

/* The queue that rang last. */
struct dev_favourite {
    uint32_t watch; /* its place in the list of watches, 0: there is none */
    uint32_t queue;
    uint32_t usable; /* a plain slot may be run in place from one look */
    uint32_t clean;  /* nobody else reserves completions, so `index` is the next one's */
    uint64_t head;
    uint64_t index;
    const dev_word64 *submission;
    dev_word64 *completion;
    const struct dev_bell *bell;
    uint32_t *copied;
    uint32_t slots;
    uint32_t log2_slots;
    uint32_t sealed;
};

/* What a look needs. The loop keeps it in registers, and puts it back before anything slow. */
struct dev_glance {
    struct dev_favourite fav;
    uint32_t group; /* of watches that the next look covers */
    uint32_t still; /* no task is on its way, and the host knows of all that was copied */
    /* of each role */
    const dev_word64 *bell[DEV_WARP_ROLES];
    uint32_t head[DEV_WARP_ROLES];
    uint32_t slots[DEV_WARP_ROLES]; /* 0: no bell of its own */
    uint64_t key[2 * DEV_WARP_ROLES];
    uint64_t seen[DEV_WARP_ROLES]; /* what the last look found */
};

struct dev_poller {
    struct dev_runtime *rt;
    struct dev_room *room;
    const struct dev_launch *launch;
    struct dev_glance glance;
    uint32_t posted;     /* tasks written, in all launches */
    uint32_t picked;     /* of them, as last seen, picked up */
    uint32_t free_count; /* rt->free_count, as last seen */
    uint32_t oldest;     /* number of the first task that, as last seen, has not copied its slots */
    uint32_t lagging;    /* the host has not been told of all that was copied */
    uint32_t lags;       /* looks that found it so */
    uint32_t pushes;     /* of rt->pushes, how many have a task */
    uint32_t groups;
    uint32_t unsettled; /* a fence or a system operation waits: look again without news */
    uint32_t busy;      /* entries are in flight, or were when last seen */
    uint32_t stopping;  /* rt->shutdown */
    uint64_t began_ns;
    uint64_t active_ns; /* when something last happened */
};

DEV_TABLE uint64_t dev_seal_keys[VYRE_SLOT_WORDS] = {
    VYRE_SEAL_KEY_0,  VYRE_SEAL_KEY_1,  VYRE_SEAL_KEY_2,  VYRE_SEAL_KEY_3,
    VYRE_SEAL_KEY_4,  VYRE_SEAL_KEY_5,  VYRE_SEAL_KEY_6,  VYRE_SEAL_KEY_7,
    VYRE_SEAL_KEY_8,  VYRE_SEAL_KEY_9,  VYRE_SEAL_KEY_10, VYRE_SEAL_KEY_11,
    VYRE_SEAL_KEY_12, VYRE_SEAL_KEY_13, VYRE_SEAL_KEY_14, VYRE_SEAL_KEY_15,
};

DEV_FN const dev_word64 *dev_bell_words(const struct dev_bell *bell)
{
    return (const dev_word64 *)(const void *)bell;
}

/* Looking.
 * ------------------------------------------------------------------------------------------- */

/* Which queue is the favourite, and whether its slots may be run from one look. */
DEV_FN void dev_favourite_load(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    struct dev_favourite *fav = &p->glance.fav;
    if (fav->watch >= rt->watch_count) fav->watch = rt->watch_count > 1 ? 1 : 0;
    const struct dev_queue *queue = &rt->queues[rt->watch[fav->watch].queue];
    const struct dev_queue_setup *setup = &queue->setup;
    fav->queue = rt->watch[fav->watch].queue;
    fav->head = queue->head;
    fav->clean = fav->watch != 0 && !queue->mixed;
    fav->index = dev_warp_first64(fav->clean ? queue->completed : 0); /* else others write it */
    fav->submission = (const dev_word64 *)(const void *)setup->submission;
    fav->completion = (dev_word64 *)(void *)setup->completion;
    fav->bell = setup->bell;
    fav->copied = &setup->page->copied;
    fav->slots = setup->slots;
    fav->log2_slots = queue->log2_slots;
    fav->sealed = setup->sealed;
    fav->usable = fav->watch != 0 && setup->classified != 0 && !queue->barrier &&
                  queue->cancel_pending == 0 && !p->stopping;
}

/* Gives each role its bell, after queues came, went or moved on. */
DEV_FN void dev_roles_load(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    uint32_t count = rt->watch_count;
    p->groups = count <= 1 ? 1 : (count - 1 + DEV_GROUP - 1) / DEV_GROUP;
    if (p->glance.group >= p->groups) p->glance.group = 0;
    DEV_ROLES(i)
    {
        uint32_t at = 0, mine = i == DEV_ROLE_SYSTEM;
        if (i >= DEV_ROLE_GROUP) {
            at = 1 + p->glance.group * DEV_GROUP + (i - DEV_ROLE_GROUP);
            mine = at < count;
            if (!mine) at = 0;
        }
        const struct dev_watch *watch = &rt->watch[at];
        p->glance.bell[DEV_MINE(i)] = dev_bell_words(watch->bell);
        p->glance.head[DEV_MINE(i)] = watch->head;
        p->glance.slots[DEV_MINE(i)] = mine && !watch->blocked ? watch->slots : 0;
    }
}

/* One look at everything; bit i of the answer: role i's queue has published something. */
DEV_FN uint32_t dev_look(struct dev_glance *glance)
{
    const struct dev_favourite *fav = &glance->fav;
    const dev_word64 *slot = fav->submission + ((uint32_t)fav->head & (fav->slots - 1)) * 8;
    uint32_t news[DEV_WARP_ROLES];
    DEV_ROLES(i)
    {
        const dev_word64 *from = glance->bell[DEV_MINE(i)];
        if (i < 8) from = slot + i;
        if (i == DEV_ROLE_FAVOURITE) from = dev_bell_words(fav->bell);
        glance->seen[DEV_MINE(i)] = dev_load64_relaxed(from);
    }
    DEV_ROLES(i)
    {
        uint32_t published = (uint32_t)glance->seen[DEV_MINE(i)] - glance->head[DEV_MINE(i)];
        news[DEV_MINE(i)] = published != 0 && published <= glance->slots[DEV_MINE(i)];
    }
    return dev_warp_ballot(news);
}

/*
 * Reserves n completions of a queue; on the first lane. While no entry of the queue is in flight
 * nobody else does, and an atomic operation, whose answer takes most of a microsecond, is not
 * needed.
 */
DEV_FN uint64_t dev_poller_reserve(struct dev_queue *queue, uint32_t n)
{
    if (queue->mixed) {
        if (dev_load_acquire(&queue->inflight, DEV_DEVICE) != 0 ||
            queue->fence != DEV_NONE) /* A4 */
            return dev_complete_reserve(queue, n);
        queue->mixed = 0;
        dev_store64_relaxed(&queue->completed, dev_load64_relaxed(&queue->completed));
    }
    uint64_t index = queue->completed;
    dev_store64_relaxed(&queue->completed, index + n);
    return index;
}

/* Running one slot from a look.
 * ------------------------------------------------------------------------------------------- */

/* Whether the words of the look are the slot at the favourite's head, whole. */
DEV_FN int dev_look_fits(struct dev_glance *glance)
{
    uint32_t lap = (uint32_t)(glance->fav.head >> glance->fav.log2_slots) + 1;
    uint64_t part[DEV_WARP_ROLES];
    DEV_ROLES(i)
    {
        uint64_t low = (uint32_t)glance->seen[DEV_MINE(i)];
        uint64_t high = glance->seen[DEV_MINE(i)] >> 32;
        if (i == VYRE_SLOT_TENANT / 2) low = lap;
        part[DEV_MINE(i)] =
            glance->key[2 * DEV_MINE(i)] * low + glance->key[2 * DEV_MINE(i) + 1] * high;
    }
    uint64_t sum = VYRE_SEAL_KEY_SUM + dev_warp_first64(dev_warp_sum8(part));
    uint32_t seal = (uint32_t)(sum >> 32);
    return (seal != 0 ? seal : 1u) == (uint32_t)dev_warp_word(glance->seen, VYRE_SLOT_TENANT / 2);
}

/* The words of an unsealed slot, read again after an acquire; always 1. */
DEV_FN int dev_look_again(struct dev_glance *glance)
{
    const struct dev_favourite *fav = &glance->fav;
    const dev_word64 *slot = fav->submission + ((uint32_t)fav->head & (fav->slots - 1)) * 8;
    dev_fence_both(DEV_SYSTEM); /* A1 */
    dev_warp_sync();            /* for the lanes that did not load the bell */
    DEV_ROLES(i)
    {
        if (i < 8) glance->seen[DEV_MINE(i)] = dev_load64_relaxed(slot + i);
    }
    return 1;
}

/* Ends a NOP: the entry certifies itself, so one unordered store of 64 bytes is all. */
DEV_FN void dev_look_nop(struct dev_glance *glance, uint64_t index)
{
    const struct dev_favourite *fav = &glance->fav;
    uint64_t ticket = fav->head;
    uint32_t lap = dev_completion_lap_of(index, fav->log2_slots);
    uint64_t sum = VYRE_SEAL_KEY_SUM + VYRE_SEAL_KEY_0 * (uint32_t)ticket +
                   VYRE_SEAL_KEY_1 * (ticket >> 32) + VYRE_SEAL_KEY_2 * lap + VYRE_SEAL_KEY_6 * 1u +
                   VYRE_SEAL_KEY_7 * (uint32_t)VYRE_SLOT_DONE;
    uint32_t seal = (uint32_t)(sum >> 32);
    seal = (seal != 0 ? seal : 1u) | DEV_SEAL_BIT;
    dev_word64 *entry = fav->completion + ((uint32_t)index & (fav->slots - 1)) * 8;
    DEV_ROLES(i)
    {
        uint64_t word = i == 0 ? ticket : i == 1 ? (uint64_t)VYRE_SLOT_DONE : 0;
        if (i == VYRE_COMPLETION_LAP / 2) word = (uint64_t)seal << 32 | 1u;
        if (i < 8) dev_store64_relaxed(&entry[i], word);
    }
}

/* Runs any other plain slot on the first lane. */
DEV_FN void dev_look_run(struct dev_poller *p, struct dev_glance *glance, uint64_t index)
{
    struct dev_room *room = p->room;
    struct dev_runtime *rt = p->rt;
    DEV_ROLES(i)
    {
        if (i < 8) {
            room->row[0][2 * i] = (uint32_t)glance->seen[DEV_MINE(i)];
            room->row[0][2 * i + 1] = (uint32_t)(glance->seen[DEV_MINE(i)] >> 32);
        }
    }
    dev_warp_sync();
    DEV_FIRST
    {
        struct dev_queue *queue = &rt->queues[glance->fav.queue];
        dev_row_run(rt, queue, room->row[0], glance->fav.head, 0);
        room->row[0][VYRE_COMPLETION_LAP] = dev_completion_lap_of(index, glance->fav.log2_slots);
    }
    dev_warp_sync();
    dev_rows_store(room, &rt->queues[glance->fav.queue], index, 1);
}

/* The favourite's head moves on by n. */
DEV_FN void dev_favourite_advance(struct dev_poller *p, struct dev_glance *glance, uint32_t n)
{
    struct dev_runtime *rt = p->rt;
    struct dev_favourite *fav = &glance->fav;
    fav->head += n;
    DEV_FIRST
    {
        dev_store64_relaxed(&rt->queues[fav->queue].head, fav->head);
        dev_store_relaxed(&rt->watch[fav->watch].head, (uint32_t)fav->head);
        if (glance->still) dev_store_relaxed(fav->copied, (uint32_t)fav->head);
    }
    if (!glance->still) p->lagging = 1;
    DEV_ROLES(i)
    {
        if (i == DEV_ROLE_GROUP + (fav->watch - 1) % DEV_GROUP &&
            glance->group == (fav->watch - 1) / DEV_GROUP)
            glance->head[DEV_MINE(i)] = (uint32_t)fav->head;
    }
}

/* Runs the one plain slot that the favourite has published, from the look. 0: not so. */
DEV_FN int dev_look_one(struct dev_poller *p, struct dev_glance *glance)
{
    struct dev_favourite *fav = &glance->fav;
    struct dev_runtime *rt = p->rt;
    uint64_t bell = dev_warp_word(glance->seen, DEV_ROLE_FAVOURITE);
    uint32_t head = (uint32_t)fav->head;
    if (!fav->usable || (uint32_t)bell - head != 1) return 0;
    if ((uint32_t)(bell >> 32) - head - 1u < fav->slots) return 0;
    if (fav->sealed ? !dev_look_fits(glance) : !dev_look_again(glance)) return 0;
    uint64_t first = dev_warp_word(glance->seen, 0);
    uint32_t opcode = (uint32_t)(first >> 32);
    uint32_t priority = (uint32_t)(dev_warp_word(glance->seen, 1) >> 32);
    if ((uint32_t)first != VYRE_SLOT_PUBLISHED || priority > VYRE_PRIORITY_NORMAL ||
        opcode > VYRE_OP_COMPARE_SWAP)
        return 0;
    uint64_t index = fav->index;
    if (fav->clean) {
        DEV_FIRST dev_store64_relaxed(&rt->queues[fav->queue].completed, index + 1);
    } else {
        DEV_FIRST index = dev_poller_reserve(&rt->queues[fav->queue], 1);
        index = dev_warp_first64(index);
        fav->clean = dev_warp_first(rt->queues[fav->queue].mixed) == 0;
    }
    if (opcode == VYRE_OP_NOP)
        dev_look_nop(glance, index);
    else
        dev_look_run(p, glance, index);
    DEV_FIRST
    {
        dev_metric(rt, opcode, 1);
        dev_count_claims(rt, rt->queues[fav->queue].setup.tenant, priority, 1);
        dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], 1);
        dev_notify(&rt->queues[fav->queue]);
    }
    fav->index = index + 1;
    dev_favourite_advance(p, glance, 1);
    return 1;
}

/* Telling producers which places are free.
 * ------------------------------------------------------------------------------------------- */

/*
 * Slots are taken in order, but workers copy chunks in any order, and a place may be written over
 * only when what was there has been copied. So the poller follows the tasks in their order, and
 * tells each queue's producer how far all copies have come. Records are loaded before a look, which
 * hides the time that takes, and judged after it.
 */
DEV_FN void dev_records_load(struct dev_poller *p, struct dev_word128 *record)
{
    p->picked = dev_load_relaxed(&p->rt->handover->picked);
    p->free_count = dev_load_relaxed(&p->rt->free_count);
    DEV_ROLES(i)
    {
        record[DEV_MINE(i)] =
            dev_load128_relaxed(&p->rt->handover->record[(p->oldest + i) % DEV_TASKS]);
    }
}

/*
 * A queue whose tasks have all copied what they name is copied up to its head. Not only once no
 * task is on its way: under load there always is one, and one may wait long for a worker, while the
 * producer of another queue waits for a place.
 */
DEV_FN void dev_copied_all(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    int none = p->oldest == p->posted;
    DEV_ROLES(i)
    {
        for (uint32_t at = 1 + i; at < rt->watch_count; at += DEV_WARP) {
            const struct dev_queue *queue = &rt->queues[rt->watch[at].queue];
            if (queue->setup.classified && (none || (int32_t)(p->oldest - queue->tasks) >= 0))
                dev_store_relaxed(&queue->setup.page->copied, (uint32_t)queue->head);
        }
    }
    p->lagging = !none;
}

/* Whether the queue of a record is still the one that it was: a queue may close when its last chunk
 * has ended, before anybody has looked at the record, and then its page is no longer ours. */
DEV_FN int dev_record_counts(const struct dev_runtime *rt, uint32_t number,
                             const struct dev_word128 *record)
{
    const struct dev_queue *queue = &rt->queues[number];
    return queue->open && queue->head - record->high <= queue->setup.slots;
}

DEV_FN void dev_records_judge(struct dev_poller *p, const struct dev_word128 *record)
{
    uint32_t waits[DEV_WARP_ROLES];
    uint64_t low[DEV_WARP_ROLES];
    /* Branches hang on these: no lane may have its own. */
    p->picked = dev_warp_first(p->picked);
    p->free_count = dev_warp_first(p->free_count);
    if (p->oldest != p->posted) {
        DEV_ROLES(i)
        {
            uint32_t number = p->oldest + i;
            low[DEV_MINE(i)] = record[DEV_MINE(i)].low;
            waits[DEV_MINE(i)] =
                i >= p->posted - p->oldest || (uint32_t)(low[DEV_MINE(i)] >> 32) != number + 1;
        }
        uint32_t mask = dev_warp_ballot(waits), run = 0;
        while (run < DEV_WARP && (mask >> run & 1) == 0)
            run++;
        DEV_ROLES(i)
        {
            uint64_t after = dev_warp_word(low, i + 1 < DEV_WARP ? i + 1 : i);
            uint32_t queue = (uint32_t)low[DEV_MINE(i)] >> 16;
            int last = i + 1 == run || (uint32_t)after >> 16 != queue;
            int chunk = ((uint32_t)low[DEV_MINE(i)] & 0xFFu) == DEV_TASK_CHUNK;
            if (i < run && last && chunk && dev_record_counts(p->rt, queue, &record[DEV_MINE(i)]))
                dev_store_relaxed(&p->rt->queues[queue].setup.page->copied,
                                  (uint32_t)record[DEV_MINE(i)].high);
        }
        p->oldest += run;
    }
    p->busy = p->posted != p->picked || p->free_count != p->rt->inflight_slots;
    if (p->lagging && (p->oldest == p->posted || ++p->lags % DEV_LAG_LOOKS == 0)) dev_copied_all(p);
    p->glance.still = !p->busy && !p->lagging && p->oldest == p->posted;
}

/* Handing over.
 * ------------------------------------------------------------------------------------------- */

/* How many tasks may be written now; the last places are for leaving. */
DEV_FN uint32_t dev_handover_room(const struct dev_poller *p)
{
    return DEV_TASKS - DEV_MAX_RESIDENT - (p->posted - p->oldest);
}

/* Cuts plain slots from the head on into chunks; returns how many slots were handed over. */
DEV_FN uint32_t dev_post_chunks(struct dev_poller *p, uint32_t queue_number, uint32_t published)
{
    struct dev_runtime *rt = p->rt;
    struct dev_queue *queue = &rt->queues[queue_number];
    uint32_t room = dev_handover_room(p);
    uint32_t chunks = (published + DEV_BATCH - 1) / DEV_BATCH;
    if (chunks > DEV_WARP) chunks = DEV_WARP;
    if (chunks > room) chunks = room;
    uint32_t n = chunks * DEV_BATCH < published ? chunks * DEV_BATCH : published;
    if (n == 0) return 0;
    uint64_t head = queue->head, index = 0;
    DEV_FIRST
    {
        dev_add_relaxed(&queue->chunked, n);
        queue->tasks = p->posted + chunks;
        /* Here and not by the workers: so completions stand in the order of their tickets. */
        index = dev_poller_reserve(queue, n);
    }
    index = dev_warp_first64(index);
    if (!queue->setup.sealed) dev_fence_both(DEV_SYSTEM); /* A1 */
    dev_warp_sync();
    DEV_ROLES(i)
    {
        struct dev_task task;
        task.kind = DEV_TASK_CHUNK;
        task.queue = queue_number;
        task.first = head + i * DEV_BATCH;
        task.index = index + i * DEV_BATCH;
        task.count = n - i * DEV_BATCH < DEV_BATCH ? n - i * DEV_BATCH : DEV_BATCH;
        if (i < chunks) dev_task_write(rt->handover, p->posted + i, &task);
    }
    p->posted += chunks;
    return n;
}

/* Writes `count` like tasks. */
DEV_FN void dev_post_like(struct dev_poller *p, uint32_t kind, uint32_t count)
{
    struct dev_task task;
    task.kind = kind;
    task.queue = 0;
    task.count = 0;
    task.first = 0;
    task.index = 0;
    DEV_ROLES(i)
    {
        for (uint32_t k = i; k < count; k += DEV_WARP)
            dev_task_write(p->rt->handover, p->posted + k, &task);
    }
    p->posted += count;
}

/* A task for each entry that was put into a run queue. */
DEV_FN void dev_post_entries(struct dev_poller *p)
{
    uint32_t wanted = dev_warp_first(p->rt->pushes) - p->pushes;
    uint32_t room = wanted != 0 ? dev_handover_room(p) : 0;
    if (wanted > room) wanted = room;
    if (wanted == 0) return;
    dev_post_like(p, DEV_TASK_ENTRY, wanted);
    p->pushes += wanted;
}

/* Passes.
 * ------------------------------------------------------------------------------------------- */

/* Copies up to a batch of slots after an acquire, for the first lane to take; how many fit their
 * seals. */
DEV_FN uint32_t dev_copy_batch(struct dev_poller *p, const struct dev_queue *queue, uint32_t n)
{
    struct dev_room *room = p->room;
    uint32_t torn[DEV_WARP_ROLES];
    dev_fence_both(DEV_SYSTEM); /* A1, with the look at the bell */
    dev_warp_sync();
    DEV_ROLES(i)
    {
        uint32_t place = ((uint32_t)queue->head + i) & (queue->setup.slots - 1);
        if (i < n) room->batch.owner[i] = dev_load64_relaxed(&queue->setup.params[place].ticket);
    }
    room->batch.owners = 1;
    dev_rows_load(room, &queue->setup, queue->head, n);
    DEV_ROLES(i)
    {
        uint32_t lap = (uint32_t)((queue->head + i) >> queue->log2_slots) + 1;
        torn[DEV_MINE(i)] =
            i >= n || (queue->setup.sealed != 0 &&
                       vyre_seal(room->row[i], lap) != room->row[i][VYRE_SLOT_TENANT]);
        for (uint32_t k = 0; k < VYRE_SLOT_WORDS / 2 && i < n; k++)
            room->batch.slot[i][k] = (uint64_t)room->row[i][2 * k + 1] << 32 | room->row[i][2 * k];
    }
    uint32_t mask = dev_warp_ballot(torn);
    uint32_t whole = 0;
    while (whole < n && (mask >> whole & 1) == 0)
        whole++;
    dev_warp_sync();
    return whole;
}

/* Whether all that a queue has published can be handed over in chunks. */
DEV_FN int dev_queue_plain(const struct dev_queue *queue, uint32_t special)
{
    return queue->setup.classified != 0 && !queue->barrier && queue->cancel_pending == 0 &&
           special - (uint32_t)queue->head - 1u >= queue->setup.slots;
}

/* Takes what a queue has; returns whether anything happened. `bell` is what the look found. */
DEV_FN uint32_t dev_resident_queue(struct dev_poller *p, uint32_t at, uint64_t bell)
{
    struct dev_runtime *rt = p->rt;
    struct dev_watch *watch = &rt->watch[at];
    struct dev_queue *queue = &rt->queues[watch->queue];
    uint32_t lifted = queue->barrier, open = 1, taken = 0;
    DEV_FIRST
    {
        if (lifted) open = (uint32_t)dev_barrier_lift(rt, queue);
    }
    open = dev_warp_first(open);
    dev_warp_sync();
    uint32_t published = (uint32_t)bell - (uint32_t)queue->head;
    if (!open || published == 0 || published > queue->setup.slots) return lifted;
    p->lagging = 1;
    /* While every worker may be at an entry that takes long, the poller runs plain slots itself. */
    int workers = rt->inflight_slots - p->free_count < rt->workers;
    int plain = p->stopping ? !queue->barrier : dev_queue_plain(queue, (uint32_t)(bell >> 32));
    if (workers && plain) {
        taken = dev_post_chunks(p, watch->queue, published);
        dev_warp_sync();
        DEV_FIRST dev_head_advance(queue, watch, taken);
    } else {
        uint32_t n = published < DEV_BATCH ? published : DEV_BATCH;
        n = dev_copy_batch(p, queue, n);
        DEV_FIRST taken = dev_poll_copied(rt, watch, &p->room->batch, n);
        taken = dev_warp_first(taken);
    }
    dev_warp_sync();
    return taken + lifted;
}

/* Queue 0, and what waits on it; on the first lane. */
DEV_NO_INLINE uint32_t dev_resident_system(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    uint32_t progress = 0;
    DEV_FIRST
    {
        dev_load_acquire(&rt->ends, DEV_DEVICE); /* A11 */
        if (rt->waiting_list != DEV_NONE) progress += dev_system_retry(rt);
        if (dev_watch_news(&rt->watch[0])) progress += dev_poll_system(rt);
    }
    progress = dev_warp_first(progress);
    dev_warp_sync();
    dev_fence_both(
        DEV_DEVICE); /* R17 pairs with A17 in resident.h: queues and handles as they are */
    return progress;
}

/* Serves every queue that has news in the look, or waits behind a fence. */
DEV_NO_INLINE uint32_t dev_resident_pass(struct dev_poller *p, uint32_t news)
{
    struct dev_runtime *rt = p->rt;
    uint32_t progress = 0;
    if ((news >> DEV_ROLE_SYSTEM & 1) != 0 || p->unsettled) progress += dev_resident_system(p);
    if (progress != 0) {
        /* Queues may have come, gone and moved: what was seen is of the list as it was. */
        dev_favourite_load(p);
        dev_roles_load(p);
        news = dev_look(&p->glance);
    }
    uint32_t first = 1 + p->glance.group * DEV_GROUP;
    uint32_t count = rt->watch_count; /* one that is opened on the way has not been looked at */
    for (uint32_t i = 0; i < DEV_GROUP; i++) {
        uint32_t at = first + i;
        if (at >= count) break;
        int rung = (news >> (DEV_ROLE_GROUP + i) & 1) != 0;
        if (!rung && !rt->watch[at].blocked) continue;
        progress += dev_resident_queue(p, at, dev_warp_word(p->glance.seen, DEV_ROLE_GROUP + i));
        if (rung) p->glance.fav.watch = at;
    }
    dev_post_entries(p);
    p->stopping = dev_warp_first(rt->shutdown);
    p->busy = 1;
    p->glance.still = 0;
    p->unsettled = rt->waiting_list != DEV_NONE || rt->barriers != 0 || p->pushes != rt->pushes;
    dev_favourite_load(p);
    dev_roles_load(p);
    return progress;
}

/* Leaving.
 * ------------------------------------------------------------------------------------------- */

/* Whether nothing is in flight anywhere. What waits on queue 0 may wait for ever, and is ended with
 * the last words. */
DEV_FN int dev_resident_quiet(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    p->picked = dev_load_relaxed(&rt->handover->picked);
    uint32_t busy = p->lagging || p->oldest != p->posted ||
                    dev_handover_room(p) != DEV_TASKS - DEV_MAX_RESIDENT ||
                    p->pushes != rt->pushes ||
                    dev_load_relaxed(&rt->free_count) + rt->waiting_ops != rt->inflight_slots;
    for (uint32_t i = 0; i < rt->watch_count && !busy; i++)
        busy = !dev_queue_ended(&rt->queues[rt->watch[i].queue]);
    return !dev_warp_first(busy);
}

/* Whether any bell has been rung that nobody has answered. */
DEV_FN int dev_resident_rung(struct dev_poller *p)
{
    uint32_t news = 0;
    for (p->glance.group = 0; p->glance.group == 0 || p->glance.group < p->groups;
         p->glance.group++) {
        dev_roles_load(p);
        news |= dev_look(&p->glance) & ~0xFFu & ~(1u << DEV_ROLE_FAVOURITE);
    }
    p->glance.group = 0;
    dev_roles_load(p);
    return news != 0;
}

/* Says that the kernel sleeps, and looks once more. 0: there is something to do after all. */
DEV_FN int dev_resident_park(struct dev_poller *p)
{
    struct dev_page *page = p->rt->page;
    DEV_FIRST
    {
        dev_store_relaxed(&page->poller, 0);
        dev_store_relaxed(&page->sleepers, 1);
    }
    dev_warp_sync();
    dev_fence_full(); /* F2 */
    if (!dev_resident_rung(p)) return 1;
    DEV_FIRST
    {
        dev_store_relaxed(&page->sleepers, 0);
        dev_store_relaxed(&page->poller, 1);
    }
    dev_warp_sync();
    return 0;
}

/* Takes what was still published, ends what waits, and says where each queue ended. */
DEV_NO_INLINE void dev_resident_stop(struct dev_poller *p)
{
    uint32_t idle = 0;
    while (idle < 2) {
        uint32_t progress = 0;
        for (p->glance.group = 0; p->glance.group == 0 || p->glance.group < p->groups;
             p->glance.group++) {
            dev_roles_load(p);
            progress += dev_resident_pass(p, dev_look(&p->glance));
        }
        struct dev_word128 record[DEV_WARP_ROLES];
        dev_records_load(p, record);
        dev_records_judge(p, record);
        p->glance.group = 0;
        idle = progress == 0 && dev_resident_quiet(p) ? idle + 1 : 0;
    }
    DEV_FIRST dev_last_words(p->rt);
    dev_warp_sync();
}

/* Looks at the clock: the heartbeat, and whether it is time to leave. Not 0: leave. */
DEV_NO_INLINE int dev_resident_tick(struct dev_poller *p)
{
    const struct dev_launch *launch = p->launch;
    struct dev_runtime *rt = p->rt;
    uint64_t now = dev_warp_first64(dev_clock_ns());
    DEV_FIRST dev_vitals_beat(rt, now);
    dev_warp_sync();
    if (p->active_ns == 0) p->active_ns = now;
    int long_enough = launch->stay_ns != 0 && now - p->began_ns > launch->stay_ns;
    int idle = launch->park_ns != 0 && now - p->active_ns > launch->park_ns;
    if (!long_enough && !idle && !rt->park) return 0;
    if (p->unsettled || !dev_resident_quiet(p)) return 0;
    if (long_enough && !idle && !rt->park) {
        DEV_FIRST dev_store_relaxed(&rt->page->again, launch->number);
        return 1;
    }
    if (rt->park || dev_resident_park(p)) {
        DEV_FIRST
        {
            dev_store_relaxed(&rt->page->poller, 0);
            dev_store_relaxed(&rt->page->sleepers, 1);
            rt->park = 0;
        }
        return 1;
    }
    p->active_ns = now;
    return 0;
}

/* The state of a poller that begins. */
DEV_FN void dev_poller_begin(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    p->posted = p->picked = p->oldest = dev_load_relaxed(&rt->handover->picked);
    p->pushes = rt->pushes - (rt->inflight_slots - rt->free_count); /* none runs: all wait */
    p->free_count = rt->free_count;
    p->lagging = p->unsettled = p->busy = 1;
    p->stopping = p->lags = 0;
    p->glance.group = p->glance.still = 0;
    p->glance.fav.watch = 1;
    p->began_ns = p->active_ns = dev_clock_ns();
    DEV_ROLES(i)
    {
        p->glance.key[2 * DEV_MINE(i)] = i < 8 ? dev_seal_keys[2 * i] : 0;
        p->glance.key[2 * DEV_MINE(i) + 1] = i < 8 ? dev_seal_keys[2 * i + 1] : 0;
    }
    DEV_FIRST
    {
        dev_store_relaxed(&rt->page->sleepers, 0);
        dev_store_relaxed(&rt->page->poller, 1);
    }
    dev_warp_sync();
    dev_favourite_load(p);
    dev_roles_load(p);
}

/* What is done after a look that did not find one plain slot of the favourite. */
DEV_NO_INLINE uint32_t dev_resident_news(struct dev_poller *p, uint32_t news)
{
    uint32_t progress = 0;
    dev_warp_sync(); /* the first lane has moved heads that all read */
    if ((news & ~0xFFu) != 0 || p->unsettled) progress = dev_resident_pass(p, news);
    if (p->groups > 1) {
        p->glance.group = p->glance.group + 1 < p->groups ? p->glance.group + 1 : 0;
        dev_roles_load(p);
    }
    return progress;
}

/* Polls until the kernel leaves. */
DEV_FN void dev_resident_poller(struct dev_runtime *rt, const struct dev_launch *launch,
                                struct dev_room *room)
{
    struct dev_poller poller;
    struct dev_poller *p = &poller;
    p->rt = rt;
    p->room = room;
    p->launch = launch;
    dev_poller_begin(p);
    struct dev_glance glance = p->glance;
    uint32_t looks = 0, quick = 0; /* quick: without news there is nothing to do */
    for (;;) {
        struct dev_word128 record[DEV_WARP_ROLES];
        uint32_t still = glance.still;
        if (!still) dev_records_load(p, record);
        uint32_t news = dev_look(&glance);
        if (!still) {
            dev_records_judge(p, record);
            glance.still = p->glance.still;
        }
        int ran = dev_look_one(p, &glance);
        if (ran) p->active_ns = 0;
        /* However steadily the favourite rings, the others have their turn. */
        int turn = !ran || looks % DEV_CLOCK_LOOKS == 0;
        if (turn && ((news & ~0xFFu) != 0 || !quick)) {
            p->glance = glance;
            if (dev_resident_news(p, news)) p->active_ns = 0;
            glance = p->glance;
            quick = !p->unsettled && p->groups == 1;
            if (p->stopping) break;
        }
        if (++looks % DEV_CLOCK_LOOKS != 0) continue;
        p->glance = glance;
        if (dev_resident_tick(p)) break;
        glance = p->glance;
    }
    if (p->stopping) dev_resident_stop(p);
    dev_post_like(p, DEV_TASK_LEAVE, rt->workers);
    DEV_FIRST
    {
        dev_vitals_pulse(rt, dev_clock_ns());
        dev_store_release(&rt->page->left, launch->number, DEV_SYSTEM);
    }
    dev_warp_sync();
}

#endif
