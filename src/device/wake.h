/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Waking workers that sleep, by workers that are awake. A worker that goes to sleep counts itself
 * among the sleepers, fences (F2) and looks once more at what waits; so one that has put something
 * into the run queues and then fences sees the sleeper, or the sleeper sees what waits.
 */
#ifndef VYRE_DEVICE_WAKE_H
#define VYRE_DEVICE_WAKE_H

#include "device/layout.h"

/* Wakes up to n sleeping workers. */
DEV_FN void dev_wake_workers(struct dev_runtime *rt, uint32_t n)
{
    dev_add_relaxed(&rt->wake_seq, 1);
    dev_wake(&rt->wake_seq, n);
}

/* Wakes one sleeper for each slot that waits in the run queues. */
DEV_FN void dev_share_out(struct dev_runtime *rt)
{
    if (dev_load_relaxed(&rt->waiting_mask) == 0) return;
    dev_fence_full(); /* F2 */
    uint32_t sleepers = dev_load_relaxed(&rt->page->sleepers);
    if (sleepers == 0) return;
    uint32_t waiting = 0;
    dev_lock(&rt->sched);
    for (uint32_t p = 0; p < VYRE_PRIORITIES; p++)
        waiting += rt->levels[p].waiting;
    dev_unlock(&rt->sched);
    if (waiting != 0) dev_wake_workers(rt, waiting < sleepers ? waiting : sleepers);
}

#endif
