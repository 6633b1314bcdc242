/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Leaving: when the resident kernel may go, how it says so, and its last words.
 */
#ifndef VYRE_DEVICE_LEAVE_H
#define VYRE_DEVICE_LEAVE_H

#include "device/pass.h"
#include "device/records.h"
#include "device/vitals.h"

/* Whether nothing is in flight anywhere, but for `resting` slots whose entries no worker is at.
 * What waits on queue 0 may wait for ever, and is ended with the last words. */
DEV_FN int dev_resident_still(struct dev_poller *p, uint32_t resting)
{
    struct dev_runtime *rt = p->rt;
    uint32_t busy =
        p->lagging || p->oldest != p->posted || p->pushes != dev_load_relaxed(&rt->pushes) ||
        dev_load_relaxed(&rt->free_count) + rt->waiting_ops + resting != rt->inflight_slots ||
        dev_io_handed_back(rt);
    for (uint32_t i = 0; i < rt->watch_count && !busy; i++) {
        const struct dev_queue *queue = &rt->queues[rt->watch[i].queue];
        busy = resting == 0 ? !dev_queue_ended(queue)
                            : dev_load_acquire(&queue->chunked, DEV_DEVICE) != 0; /* A14 */
    }
    return !dev_warp_first(busy);
}

DEV_FN int dev_resident_quiet(struct dev_poller *p)
{
    return dev_resident_still(p, 0);
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
        dev_store_relaxed(&page->sleepers, p->launch->number);
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
    uint32_t told = dev_warp_first(rt->park);
    if (!long_enough && !idle && told == 0) return 0;
    /* What waits for the pump is no work: its answer wakes the kernel. */
    uint32_t resting = told > 1 ? 0 : dev_warp_first(rt->io.resting);
    if (p->unsettled || !dev_resident_still(p, resting)) return 0;
    if (long_enough && !idle && !told) {
        DEV_FIRST dev_store_relaxed(&rt->page->again, launch->number);
        return 1;
    }
    if (!told) {
        if (dev_resident_park(p)) return 1;
        p->active_ns = now;
        return 0;
    }
    DEV_FIRST
    {
        /* Without another look, or it might never go: who told it to wakes it in the end. */
        dev_store_relaxed(&rt->page->told, launch->number);
        dev_store_relaxed(&rt->page->poller, 0);
        dev_store_relaxed(&rt->page->sleepers, launch->number);
        rt->park = 0;
    }
    return 1;
}

#endif
