/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The poller of a resident kernel: one warp that looks, runs a single plain slot from what it saw,
 * and goes through everything else in passes, until the kernel leaves.
 */
#ifndef VYRE_DEVICE_RESIDENT_POLL_H
#define VYRE_DEVICE_RESIDENT_POLL_H

#include "device/flood.h"
#include "device/leave.h"
#include "device/look_run.h"

/* The state of a poller that begins. */
DEV_FN void dev_poller_begin(struct dev_poller *p)
{
    struct dev_runtime *rt = p->rt;
    p->posted = p->picked = p->oldest = dev_load_relaxed(&rt->handover->picked);
    p->free_count = rt->free_count + rt->io.resting;
    p->pushes = rt->pushes - (rt->inflight_slots - p->free_count); /* none runs: all wait */
    p->pushed = p->pushes;
    p->handed_back = DEV_NONE;
    p->waits = rt->spread != DEV_NONE;
    p->settled = rt->settled;
    p->lagging = p->unsettled = p->busy = 1;
    p->stopping = p->lags = 0;
    p->glance.group = p->glance.still = p->glance.taken = 0;
    p->glance.warps = p->desk->aides + 1;
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
    dev_favourite_load(p, &p->glance.fav);
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
DEV_NO_INLINE void dev_resident_poller(struct dev_runtime *rt, const struct dev_launch *launch,
                                       struct dev_room *room, struct dev_desk *desk)
{
    struct dev_poller poller;
    struct dev_poller *p = &poller;
    p->rt = rt;
    p->room = room;
    p->desk = desk = (struct dev_desk *)dev_block_place(desk);
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
            if (p->pushed != p->pushes || p->handed_back != DEV_NONE) {
                /* Workers have put something into the run queues, or handed a slot back. */
                p->unsettled = 1;
                quick = 0;
            }
        }
        int ran = dev_look_one(p, rt, room, desk, &glance, news >> DEV_ROLE_SYSTEM & 1);
        uint32_t served = ran ? 0 : dev_look_flood(p, &glance, news);
        if (ran || served != 0) p->active_ns = 0;
        news &= ~served;
        /* However steadily the favourite rings, the others have their turn. */
        int turn = !ran || looks % DEV_CLOCK_LOOKS == 0;
        int settled = (news >> DEV_ROLE_SYSTEM & 1) == 0;
        if (turn && ((news & ~0xFFu) != 0 || !quick)) {
            settled = 1;
            p->glance = glance;
            if (dev_resident_news(p, news)) p->active_ns = 0;
            glance = p->glance;
            quick = !p->unsettled && p->groups == 1;
            if (p->stopping) break;
        }
        if (!still && settled) {
            DEV_FIRST dev_store_relaxed(&rt->settled, ++p->settled);
        }
        if (++looks % DEV_CLOCK_LOOKS != 0) continue;
        p->glance = glance;
        if (dev_resident_tick(p)) break;
        glance = p->glance;
    }
    if (p->stopping) dev_resident_stop(p);
    dev_post_like(p, DEV_TASK_LEAVE, rt->workers, 0);
    dev_desk_close(desk, &p->glance);
    DEV_FIRST
    {
        dev_vitals_pulse(rt, dev_clock_ns());
        dev_store_release(&rt->page->left, launch->number, DEV_SYSTEM);
    }
    dev_warp_sync();
}

#endif
