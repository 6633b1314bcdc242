/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Passes: what the poller does with a look that has news. Several plain slots are handed to workers
 * in chunks, unread. Everything else is copied after an acquire and taken, runs by a lane each,
 * what is not one by the first lane in the way of poller.h.
 */
#ifndef VYRE_DEVICE_PASS_H
#define VYRE_DEVICE_PASS_H

#include "device/look_program.h"
#include "device/take_runs.h"

/* Copies up to a batch of slots after an acquire, to be taken; how many fit their seals. *system:
 * the bell of queue 0 at that time. All loads across the link are under way together. */
DEV_FN uint32_t dev_copy_batch(struct dev_poller *p, const struct dev_queue *queue, uint32_t n,
                               uint32_t *system)
{
    struct dev_room *room = p->room;
    uint32_t torn[DEV_WARP_ROLES];
    uint64_t owner[DEV_WARP_ROLES];
    dev_fence_both(DEV_SYSTEM); /* A1, with the look at the bell */
    dev_warp_sync();
    *system = dev_load_relaxed(&p->rt->watch[0].bell->tail);
    DEV_ROLES(i)
    {
        uint32_t place = ((uint32_t)queue->head + (i < n ? i : 0)) & (queue->setup.slots - 1);
        owner[DEV_MINE(i)] = dev_load64_relaxed(&queue->setup.params[place].ticket);
    }
    dev_rows_load(&room->rows, &queue->setup, queue->head, n);
    room->batch.owners = 1;
    DEV_ROLES(i)
    {
        room->batch.owner[i] = owner[DEV_MINE(i)];
        uint32_t lap = (uint32_t)((queue->head + i) >> queue->log2_slots) + 1;
        torn[DEV_MINE(i)] =
            i >= n || (queue->setup.sealed != 0 &&
                       vyre_seal(room->rows.row[i], lap) != room->rows.row[i][VYRE_SLOT_TENANT]);
        for (uint32_t k = 0; k < VYRE_SLOT_WORDS / 2 && i < n; k++)
            room->batch.slot[i][k] =
                (uint64_t)room->rows.row[i][2 * k + 1] << 32 | room->rows.row[i][2 * k];
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
    return dev_queue_ready(queue) && special - (uint32_t)queue->head - 1u >= queue->setup.slots;
}

/* Takes what a queue has that not every worker may run unread: all lanes those runs that they can,
 * else the first lane what there is. */
DEV_FN uint32_t dev_resident_take(struct dev_poller *p, struct dev_watch *watch, uint32_t published,
                                  uint32_t special)
{
    struct dev_runtime *rt = p->rt;
    struct dev_batch *batch = &p->room->batch;
    uint32_t system, taken;
    uint32_t n = published < DEV_BATCH ? published : DEV_BATCH;
    n = dev_copy_batch(p, &rt->queues[watch->queue], n, &system);
    DEV_FIRST
    {
        if (dev_watch_rung(&rt->watch[0], system)) {
            dev_poll_system(rt);
            /* What was looked up for the desk may be dropped by now. */
            p->desk->known.valid = 0;
        }
    }
    dev_warp_sync();
    taken = dev_take_runs(p, watch, n);
    if (taken != 0) return taken;
    DEV_FIRST
    {
        batch->special = special;
        batch->told = 1;
        taken = dev_poll_copied(rt, watch, batch, n);
    }
    return dev_warp_first(taken);
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
        taken = dev_resident_take(p, watch, published, (uint32_t)(bell >> 32));
    }
    dev_warp_sync();
    return taken + lifted;
}

/* Queue 0, and what waits on it; on the first lane. */
DEV_NO_INLINE uint32_t dev_resident_system(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    uint32_t progress = 0;
    dev_desk_clear(p->desk, &p->glance);
    DEV_FIRST
    {
        dev_load_acquire(&rt->ends, DEV_DEVICE); /* A11 */
        rt->tasks_posted = p->posted;
        rt->tasks_ended = p->oldest;
        if (rt->waiting_list != DEV_NONE) progress += dev_system_retry(rt);
        if (dev_watch_news(&rt->watch[0])) progress += dev_poll_system(rt);
    }
    progress = dev_warp_first(progress);
    dev_warp_sync();
    dev_fence_both(
        DEV_DEVICE); /* R17 pairs with A17 in resident.h: queues and handles as they are */
    return progress;
}

/* Slots that wait for input or output; on the first lane. */
DEV_FN uint32_t dev_resident_io(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    uint32_t progress = 0;
    if (!dev_warp_first((uint32_t)dev_io_active(rt))) return 0;
    DEV_FIRST progress = dev_io_pass(rt);
    progress = dev_warp_first(progress);
    dev_warp_sync();
    return progress;
}

/* Serves every queue that has news in the look, or waits behind a fence. */
DEV_NO_INLINE uint32_t dev_resident_pass(struct dev_poller *p, uint32_t news)
{
    struct dev_runtime *rt = p->rt;
    uint32_t progress = 0;
    const uint32_t waits = dev_warp_first(rt->waiting_list) != DEV_NONE;
    if ((news >> DEV_ROLE_SYSTEM & 1) != 0 || waits) progress += dev_resident_system(p);
    if (progress != 0) {
        /* Queues may have come, gone and moved: what was seen is of the list as it was. */
        dev_favourite_load(p, &p->glance.fav);
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
    progress += dev_resident_io(p);
    dev_post_entries(p);
    p->stopping = dev_warp_first(rt->shutdown);
    p->busy = 1;
    p->glance.still = 0;
    p->unsettled = rt->waiting_list != DEV_NONE || rt->barriers != 0 ||
                   p->pushes != dev_load_relaxed(&rt->pushes) || rt->spread != DEV_NONE;
    dev_favourite_load(p, &p->glance.fav);
    dev_roles_load(p);
    return progress;
}

#endif
