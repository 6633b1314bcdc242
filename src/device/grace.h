/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Grace periods. Taking a handle away must not pull it from under a slot that was submitted before;
 * so a drop notes how far each queue had been published, and the handle dies when all those slots
 * have been taken and hold what they name. A slot that was published later finds the handle gone at
 * once.
 *
 * Slots that a resident kernel hands over in chunks are taken unread and hold nothing: so once all
 * heads are far enough, the period also waits for the tasks that had been posted by then.
 *
 * A period belongs to one drop. There are DEV_GRACES of them; a drop that finds none free waits for
 * one. All functions are the poller's.
 */
#ifndef VYRE_DEVICE_GRACE_H
#define VYRE_DEVICE_GRACE_H

#include "device/layout.h"
#include "vyre/runtime.h"

/* Begins a period for what is published by now and may name a handle of this owner; its number, or
 * DEV_NONE. No tenant waits for the queues of another. */
DEV_FN uint32_t dev_grace_begin(struct dev_runtime *rt, uint32_t owner)
{
    uint32_t period = 0;
    while (period < DEV_GRACES && (rt->graces >> period & 1))
        period++;
    if (period == DEV_GRACES) return DEV_NONE;
    for (uint32_t i = 0; i < rt->watch_count; i++) {
        struct dev_queue *queue = &rt->queues[rt->watch[i].queue];
        uint32_t tail = dev_load_acquire(&queue->setup.bell->tail, DEV_SYSTEM);
        uint32_t published = tail - (uint32_t)queue->head;
        int named = owner == VYRE_TENANT_ANY || owner == queue->setup.tenant;
        queue->grace_tail[period] =
            queue->head + (named && published <= queue->setup.slots ? published : 0);
    }
    rt->graces |= 1u << period;
    rt->grace_tasks &= ~(1u << period);
    return period;
}

/* 1: all slots that were published when the period began have been taken; it has ended. */
DEV_FN int dev_grace_end(struct dev_runtime *rt, uint32_t period)
{
    for (uint32_t i = 0; i < rt->watch_count; i++) {
        struct dev_queue *queue = &rt->queues[rt->watch[i].queue];
        if ((int64_t)(queue->head - queue->grace_tail[period]) < 0) return 0;
    }
    if ((rt->grace_tasks >> period & 1) == 0) {
        rt->grace_tasks |= 1u << period;
        rt->grace_task[period] = rt->tasks_posted;
    }
    if ((int32_t)(rt->tasks_ended - rt->grace_task[period]) < 0) return 0;
    rt->graces &= ~(1u << period);
    return 1;
}

/* The periods that had begun when this slot was published: bit p for period p. */
DEV_FN uint32_t dev_grace_late(const struct dev_runtime *rt, const struct dev_queue *queue,
                               uint64_t ticket)
{
    uint32_t late = 0;
    for (uint32_t period = 0; rt->graces >> period != 0; period++) {
        if ((rt->graces >> period & 1) && (int64_t)(ticket - queue->grace_tail[period]) >= 0)
            late |= 1u << period;
    }
    return late;
}

/* A queue that opens now has published nothing. */
DEV_FN void dev_grace_open(struct dev_queue *queue)
{
    for (uint32_t period = 0; period < DEV_GRACES; period++)
        queue->grace_tail[period] = queue->head;
}

#endif
