/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A look: one load by all lanes of the poller's warp, of the bells and of the next slot of the
 * queue that rang last, because each dependent read across the link costs a microsecond. And the
 * state of the poller, which decides what a look covers. The look at queue 0 is part of every load.
 */
#ifndef VYRE_DEVICE_LOOK_H
#define VYRE_DEVICE_LOOK_H

#include "device/chunk.h"
#include "device/launch.h"
#include "device/poller.h"

/* The roles of a look: 0..7 the words of a slot, then bells. */
#define DEV_ROLE_SYSTEM    8u
#define DEV_ROLE_FAVOURITE 9u
#define DEV_ROLE_IO        10u /* the pump's answers, while some are to come */
#define DEV_ROLE_PROGRAMS  11u /* whether chunks have found short programs lately */
#define DEV_ROLE_GROUP     16u
#define DEV_GROUP          16u /* bells in a look */
#define DEV_CLOCK_LOOKS    64u /* between two looks at the clock */
#define DEV_LAG_LOOKS      64u /* between two sweeps for producers while tasks are on their way */

/* The queue that rang last. */
struct dev_favourite {
    uint32_t watch; /* its place in the list of watches, 0: there is none */
    uint32_t queue;
    struct dev_queue *record; /* of that queue */
    uint32_t usable;          /* a plain slot may be run in place from one look */
    uint32_t clean;           /* nobody else reserves completions, so `index` is the next one's */
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
    uint32_t group;    /* of watches that the next look covers */
    uint32_t still;    /* no task is on its way, and the host knows of all that was copied */
    uint32_t unsealed; /* roles whose queues have no seals */
    uint32_t taken;    /* a job was put on the desk, and aides may still look at it */
    uint32_t warps;    /* that the desk is between: the poller, and its aides */
    /* of each role */
    const dev_word64 *bell[DEV_WARP_ROLES];
    uint64_t head[DEV_WARP_ROLES];
    uint32_t slots[DEV_WARP_ROLES]; /* 0: no bell of its own */
    uint32_t queue[DEV_WARP_ROLES];
    uint32_t ready[DEV_WARP_ROLES]; /* plain slots may be handed over from a look: nothing else is
                                       in flight, and so `index` is the next completion's */
    uint64_t index[DEV_WARP_ROLES];
    uint64_t key[2 * DEV_WARP_ROLES];
    uint64_t seen[DEV_WARP_ROLES]; /* what the last look found */
};

struct dev_desk;

struct dev_poller {
    struct dev_runtime *rt;
    struct dev_room *room;
    struct dev_desk *desk;
    const struct dev_launch *launch;
    struct dev_glance glance;
    uint32_t posted; /* tasks written, in all launches */
    uint32_t waits;  /* a run waits until there is room for its tasks: then no others are written */
    uint32_t picked; /* of them, as last seen, picked up */
    uint32_t free_count; /* entries that no worker is at or is wanted for, as last seen */
    uint32_t oldest;     /* number of the first task that, as last seen, has not copied its slots */
    uint32_t lagging;    /* the host has not been told of all that was copied */
    uint32_t lags;       /* looks that found it so */
    uint32_t pushes;     /* of rt->pushes, how many have a task */
    uint32_t pushed;     /* rt->pushes, as last seen */
    uint32_t groups;
    uint32_t unsettled;   /* a fence or a system operation waits: look again without news */
    uint32_t busy;        /* entries are in flight, or were when last seen */
    uint32_t stopping;    /* rt->shutdown */
    uint32_t handed_back; /* rt->io.back, as last seen */
    uint32_t settled;     /* rt->settled; the first lane's */
    uint64_t began_ns;
    uint64_t active_ns; /* when something last happened */
};

DEV_FN const dev_word64 *dev_bell_words(const struct dev_bell *bell)
{
    return (const dev_word64 *)(const void *)bell;
}

/* Whether plain slots of a queue may be taken without looking at each. */
DEV_FN int dev_queue_ready(const struct dev_queue *queue)
{
    return queue->setup.classified != 0 && !queue->barrier && queue->cancel_pending == 0;
}

/* Which queue is the favourite, and whether its slots may be run from one look. */
DEV_FN void dev_favourite_load(const struct dev_poller *p, struct dev_favourite *fav)
{
    struct dev_runtime *rt = p->rt;
    if (fav->watch >= rt->watch_count) fav->watch = rt->watch_count > 1 ? 1 : 0;
    struct dev_queue *queue = &rt->queues[rt->watch[fav->watch].queue];
    const struct dev_queue_setup *setup = &queue->setup;
    fav->queue = rt->watch[fav->watch].queue;
    fav->record = queue;
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
    fav->usable = fav->watch != 0 && dev_queue_ready(queue) && !p->stopping;
}

/* The role that has the favourite's queue in this look; 0: none. */
DEV_FN uint32_t dev_favourite_role(const struct dev_glance *glance)
{
    uint32_t place = glance->fav.watch - 1;
    if (glance->fav.watch == 0 || place / DEV_GROUP != glance->group) return 0;
    return DEV_ROLE_GROUP + place % DEV_GROUP;
}

/* Gives each role its queue, after queues came, went or moved on. */
DEV_FN void dev_roles_load(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    struct dev_glance *glance = &p->glance;
    uint32_t count = rt->watch_count, unsealed[DEV_WARP_ROLES];
    p->groups = count <= 1 ? 1 : (count - 1 + DEV_GROUP - 1) / DEV_GROUP;
    if (glance->group >= p->groups) glance->group = 0;
    DEV_ROLES(i)
    {
        uint32_t at = 0, mine = i == DEV_ROLE_SYSTEM;
        if (i >= DEV_ROLE_GROUP) {
            at = 1 + glance->group * DEV_GROUP + (i - DEV_ROLE_GROUP);
            mine = at < count;
            if (!mine) at = 0;
        }
        const struct dev_watch *watch = &rt->watch[at];
        const struct dev_queue *queue = &rt->queues[watch->queue];
        glance->bell[DEV_MINE(i)] = dev_bell_words(watch->bell);
        glance->head[DEV_MINE(i)] = queue->head;
        glance->slots[DEV_MINE(i)] = mine && !watch->blocked ? watch->slots : 0;
        glance->queue[DEV_MINE(i)] = watch->queue;
        glance->ready[DEV_MINE(i)] =
            at != 0 && !p->stopping && dev_queue_ready(queue) && !queue->mixed;
        glance->index[DEV_MINE(i)] = glance->ready[DEV_MINE(i)] ? queue->completed : 0;
        unsealed[DEV_MINE(i)] = !queue->setup.sealed;
        if (i == DEV_ROLE_PROGRAMS) glance->bell[DEV_MINE(i)] = &rt->handover->programs;
        if (i == DEV_ROLE_IO && dev_io_active(rt)) {
            glance->bell[DEV_MINE(i)] = (const dev_word64 *)(const void *)&rt->io.page->answered;
            glance->head[DEV_MINE(i)] = rt->io.answered;
            glance->slots[DEV_MINE(i)] = dev_io_answers(rt->io.entries);
        }
    }
    glance->unsealed = dev_warp_ballot(unsealed);
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
        uint32_t published =
            (uint32_t)glance->seen[DEV_MINE(i)] - (uint32_t)glance->head[DEV_MINE(i)];
        news[DEV_MINE(i)] = published != 0 && published <= glance->slots[DEV_MINE(i)];
    }
    return dev_warp_ballot(news);
}

#endif
