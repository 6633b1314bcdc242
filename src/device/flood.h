/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Floods: plain slots of all queues of a look, cut into chunks and handed over at once. Each lane
 * of the second half of the warp knows its queue by heart (struct dev_glance), so nothing is loaded
 * between the look and the tasks: a pass over the same queues, one after the other and from memory,
 * takes three times as long as the look.
 */
#ifndef VYRE_DEVICE_FLOOD_H
#define VYRE_DEVICE_FLOOD_H

#include "device/post.h"

/* What the roles hand over. */
struct dev_flood {
    uint32_t chunks[DEV_WARP_ROLES];
    uint32_t slots[DEV_WARP_ROLES];
    uint32_t size[DEV_WARP_ROLES];  /* of a chunk */
    uint32_t start[DEV_WARP_ROLES]; /* chunks of the roles before */
};

/* How many chunks each queue with news has, no more than its share of one task a lane; returns how
 * many there are in all. */
DEV_FN uint32_t dev_flood_measure(const struct dev_poller *p, const struct dev_glance *glance,
                                  uint32_t news, struct dev_flood *flood)
{
    uint32_t queues = dev_popcount(news), room = dev_handover_rest(p);
    uint32_t share = (room < DEV_WARP ? room : DEV_WARP) / queues;
    uint64_t programs = dev_warp_word(glance->seen, DEV_ROLE_PROGRAMS);
    if (share == 0) return 0;
    DEV_ROLES(i)
    {
        uint32_t published =
            (uint32_t)glance->seen[DEV_MINE(i)] - (uint32_t)glance->head[DEV_MINE(i)];
        uint32_t size = dev_chunk_size(p, programs, published, share);
        uint32_t chunks = (published + size - 1) / size;
        if (chunks > share) chunks = share;
        if ((news >> i & 1) == 0) chunks = 0;
        flood->chunks[DEV_MINE(i)] = chunks;
        flood->size[DEV_MINE(i)] = size;
        flood->slots[DEV_MINE(i)] = chunks * size < published ? chunks * size : published;
    }
    dev_warp_sums(flood->chunks, flood->start);
    return dev_warp_word32(flood->start, DEV_WARP - 1) +
           dev_warp_word32(flood->chunks, DEV_WARP - 1);
}

/* Writes the tasks: lane i finds whose chunk the i-th one is. */
DEV_FN void dev_flood_tasks(const struct dev_poller *p, const struct dev_glance *glance,
                            const struct dev_flood *flood, uint32_t total)
{
    uint32_t owner[DEV_WARP_ROLES];
    DEV_ROLES(i) owner[DEV_MINE(i)] = DEV_ROLE_GROUP;
    for (uint32_t role = DEV_ROLE_GROUP; role < DEV_WARP; role++) {
        uint32_t start = dev_warp_word32(flood->start, role);
        uint32_t chunks = dev_warp_word32(flood->chunks, role);
        DEV_ROLES(i)
        {
            if (chunks != 0 && i >= start) owner[DEV_MINE(i)] = role;
        }
    }
    DEV_ROLES(i)
    {
        uint32_t whose = owner[DEV_MINE(i)];
        uint32_t slots = dev_warp_word32(flood->slots, whose);
        uint32_t size = dev_warp_word32(flood->size, whose);
        uint32_t before = (i - dev_warp_word32(flood->start, whose)) * size;
        struct dev_task task;
        task.kind = DEV_TASK_CHUNK;
        task.queue = dev_warp_word32(glance->queue, whose);
        task.first = dev_warp_word(glance->head, whose) + before;
        task.index = dev_warp_word(glance->index, whose) + before;
        task.count = slots - before < size ? slots - before : size;
        if (i < total) dev_task_write(p->rt->handover, p->posted + i, &task);
    }
}

/* Each lane moves its queue on, here and in memory. */
DEV_FN void dev_flood_advance(struct dev_poller *p, struct dev_glance *glance,
                              const struct dev_flood *flood)
{
    struct dev_runtime *rt = p->rt;
    DEV_ROLES(i)
    {
        uint32_t n = flood->slots[DEV_MINE(i)];
        if (flood->chunks[DEV_MINE(i)] != 0) {
            struct dev_queue *queue = &rt->queues[glance->queue[DEV_MINE(i)]];
            glance->head[DEV_MINE(i)] += n;
            glance->index[DEV_MINE(i)] += n;
            dev_store64_relaxed(&queue->head, glance->head[DEV_MINE(i)]);
            dev_store64_relaxed(&queue->completed, glance->index[DEV_MINE(i)]);
            dev_store_relaxed(&rt->watch[1 + glance->group * DEV_GROUP + i - DEV_ROLE_GROUP].head,
                              (uint32_t)glance->head[DEV_MINE(i)]);
            queue->tasks = p->posted + flood->start[DEV_MINE(i)] + flood->chunks[DEV_MINE(i)];
        }
    }
}

/* The favourite moves on with its queue; one that was silent gives way to one that rang. */
DEV_FN void dev_flood_favour(const struct dev_poller *p, struct dev_glance *glance, uint32_t roles)
{
    struct dev_favourite *fav = &glance->fav;
    uint32_t role = dev_favourite_role(glance);
    if (role != 0 && (roles >> role & 1) != 0) {
        fav->head = dev_warp_word(glance->head, role);
        fav->index = dev_warp_word(glance->index, role);
        return;
    }
    for (role = DEV_ROLE_GROUP; (roles >> role & 1) == 0; role++) {}
    fav->watch = 1 + glance->group * DEV_GROUP + role - DEV_ROLE_GROUP;
    dev_favourite_load(p, fav);
}

/* Which of the roles with news may hand over all that they have published. */
DEV_FN uint32_t dev_flood_roles(const struct dev_poller *p, const struct dev_glance *glance,
                                uint32_t news)
{
    uint32_t plain[DEV_WARP_ROLES];
    /* While every worker may be at an entry that takes long, nothing is left to them. */
    if (p->rt->inflight_slots - p->free_count >= p->rt->workers) return 0;
    DEV_ROLES(i)
    {
        uint32_t special = (uint32_t)(glance->seen[DEV_MINE(i)] >> 32);
        plain[DEV_MINE(i)] =
            glance->ready[DEV_MINE(i)] != 0 &&
            special - (uint32_t)glance->head[DEV_MINE(i)] - 1u >= glance->slots[DEV_MINE(i)];
    }
    return dev_warp_ballot(plain) & news & ~0u << DEV_ROLE_GROUP;
}

/* Hands over what the look has found in queues that hold plain slots only; returns their roles. */
DEV_FN uint32_t dev_look_flood(struct dev_poller *p, struct dev_glance *glance, uint32_t news)
{
    struct dev_runtime *rt = p->rt;
    struct dev_flood flood;
    uint32_t served[DEV_WARP_ROLES];
    uint32_t roles = dev_flood_roles(p, glance, news);
    if (roles == 0) return 0;
    uint32_t total = dev_flood_measure(p, glance, roles, &flood);
    if (total == 0) return 0;
    DEV_ROLES(i)
    {
        served[DEV_MINE(i)] = flood.chunks[DEV_MINE(i)];
        if (served[DEV_MINE(i)] != 0)
            dev_add_relaxed(&rt->queues[glance->queue[DEV_MINE(i)]].chunked,
                            flood.slots[DEV_MINE(i)]);
    }
    roles = dev_warp_ballot(served);
    if (glance->unsealed & roles) dev_fence_both(DEV_SYSTEM); /* A1 */
    dev_warp_sync();
    dev_flood_tasks(p, glance, &flood, total);
    dev_flood_advance(p, glance, &flood);
    dev_warp_sync();
    dev_flood_favour(p, glance, roles);
    p->posted += total;
    p->lagging = p->busy = 1;
    glance->still = 0;
    return roles;
}

#endif
