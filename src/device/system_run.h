/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Running the slots of queue 0: what can be done at once is done at once, the rest waits in the
 * in-flight table and is looked at again on every pass. Called by the poller only.
 */
#ifndef VYRE_DEVICE_SYSTEM_RUN_H
#define VYRE_DEVICE_SYSTEM_RUN_H

#include "device/entry.h"
#include "device/io_answer.h"
#include "device/lookup.h"
#include "device/system.h"

/* In poller.h: it takes a slot like any other. */
DEV_NO_INLINE int dev_sys_replay(struct dev_runtime *rt, const uint32_t *arg, uint32_t *result);

/* n slots have been taken. */
DEV_FN void dev_head_advance(struct dev_queue *queue, struct dev_watch *watch, uint32_t n)
{
    dev_store64_relaxed(&queue->head, queue->head + n);
    dev_store_relaxed(&watch->head, (uint32_t)queue->head);
}

/* Whether a queue with this bell has published slots that can be taken. No honest producer is
 * further ahead than its ring. */
DEV_FN int dev_watch_rung(const struct dev_watch *watch, uint32_t tail)
{
    uint32_t published = tail - dev_load_relaxed(&watch->head);
    return published != 0 && published <= watch->slots && !dev_load_relaxed(&watch->blocked);
}

DEV_FN int dev_watch_news(const struct dev_watch *watch)
{
    return dev_watch_rung(watch, dev_load_relaxed(&watch->bell->tail));
}

/* Ends a system operation. */
DEV_FN void dev_system_end(struct dev_runtime *rt, const uint32_t *slot, uint64_t ticket,
                           uint32_t result)
{
    uint32_t results[VYRE_COMPLETION_RESULTS] = {0, 0, 0, 0, 0, 0, 0, 0};
    struct dev_end end = dev_end_fault(ticket, slot[VYRE_SLOT_OPCODE], 0);
    results[0] = result;
    end.result = results;
    dev_complete(rt, &rt->queues[0], &end);
}

/* Ends an entry that waits for input or output, or for a copy that no worker has begun, or sees to
 * it that it ends. */
DEV_FN void dev_cancel_io(struct dev_runtime *rt, uint32_t index)
{
    struct dev_inflight *entry = &rt->inflight[index];
    int queued = dev_load_relaxed(&entry->slot[VYRE_SLOT_STATUS]) == VYRE_SLOT_PUBLISHED;
    if (!queued) {
        dev_io_cancel(rt, index, VYRE_FAULT_CANCELLED);
        return;
    }
    dev_store_relaxed(&rt->io.resting, rt->io.resting + 1);
    dev_io_settle(rt, index, VYRE_FAULT_CANCELLED, 0);
}

/* Ends an entry that a cancel took out of its run queue. */
DEV_FN void dev_cancel_end(struct dev_runtime *rt, uint32_t index)
{
    struct dev_inflight *entry = &rt->inflight[index];
    if (entry->slot[VYRE_SLOT_OPCODE] == VYRE_OP_LOAD_MISS) {
        dev_cancel_io(rt, index);
        return;
    }
    struct dev_end end =
        dev_end_fault(entry->ticket, entry->slot[VYRE_SLOT_OPCODE], VYRE_FAULT_CANCELLED);
    uint32_t result[VYRE_COMPLETION_RESULTS];
    if (entry->run != DEV_NONE) dev_run_abandon(rt, entry->run, &end, result);
    dev_entry_end(rt, index, &end, 1);
}

DEV_FN void dev_system_shutdown(struct dev_runtime *rt)
{
    dev_store_relaxed(&rt->page->state, DEV_STOPPED);
    dev_store_relaxed(&rt->control[VYRE_CONTROL_SHUTDOWN], 1);
    dev_store_release(&rt->shutdown, 1, DEV_DEVICE);
    dev_fence_full(); /* F1 */
    dev_add_relaxed(&rt->wake_seq, 1);
    dev_wake(&rt->wake_seq, DEV_NONE);
}

/* Runs a slot of queue 0. 0: no room now. */
DEV_FN int dev_system_accept(struct dev_runtime *rt, const uint32_t *slot, uint64_t ticket)
{
    const uint32_t *arg = slot + VYRE_SLOT_ARG0;
    struct dev_taking taking;
    uint32_t unlinked = DEV_NONE;
    uint32_t result = 0;
    switch (slot[VYRE_SLOT_OPCODE]) {
    case DEV_SYS_INSTALL:
        result = dev_sys_install(rt, arg);
        break;
    case DEV_SYS_FRAMES:
        result = dev_sys_frames(rt, arg);
        break;
    case DEV_SYS_QUEUE_OPEN:
        result = dev_sys_queue_open(rt, arg);
        break;
    case DEV_SYS_REPLAY:
        if (!dev_sys_replay(rt, arg, &result)) return 0;
        break;
    case DEV_SYS_PARK:
        rt->park = 1 + (arg[0] != 0);
        break;
    case DEV_SYS_IO:
        result = dev_sys_io(rt, arg);
        break;
    case DEV_SYS_CANCEL:
        result = (uint32_t)dev_sys_cancel(rt, arg, &unlinked);
        if (unlinked != DEV_NONE) dev_cancel_end(rt, unlinked);
        break;
    case VYRE_OP_SHUTDOWN:
        dev_system_shutdown(rt);
        break;
    default: /* DROP and QUEUE_CLOSE wait for their condition */
        if (dev_load_relaxed(&rt->free_count) == 0) return 0;
        taking.slot = slot;
        taking.params = NULL;
        taking.ticket = ticket;
        taking.deadline_ns = 0;
        dev_lock(&rt->sched);
        unlinked = dev_entry_take(rt, &rt->queues[0], &taking);
        dev_unlock(&rt->sched);
        dev_store_relaxed(&rt->inflight[unlinked].slot[VYRE_SLOT_STATUS], VYRE_SLOT_REQUEUE);
        if (slot[VYRE_SLOT_OPCODE] == DEV_SYS_DROP) {
            rt->inflight[unlinked].operation = DEV_NONE;
            dev_sys_drop(rt, arg[0], &rt->inflight[unlinked].operation);
        }
        rt->inflight[unlinked].next = rt->waiting_list;
        rt->waiting_list = unlinked;
        dev_store_relaxed(&rt->waiting_ops, rt->waiting_ops + 1);
        return 1;
    }
    dev_system_end(rt, slot, ticket, result);
    return 1;
}

/* Looks again at the system operations that wait; returns how many steps were made. */
DEV_FN uint32_t dev_system_retry(struct dev_runtime *rt)
{
    uint32_t steps = 0;
    uint32_t graces = rt->graces;
    uint32_t *link = &rt->waiting_list;
    dev_change_begin(rt);
    while (*link != DEV_NONE) {
        uint32_t index = *link;
        struct dev_inflight *entry = &rt->inflight[index];
        uint32_t subject = entry->slot[VYRE_SLOT_ARG0];
        int done = entry->slot[VYRE_SLOT_OPCODE] == DEV_SYS_DROP
                       ? dev_sys_drop(rt, subject, &entry->operation)
                       : dev_sys_queue_close(rt, subject);
        if (!done) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        dev_system_end(rt, entry->slot, entry->ticket, 0);
        dev_lock(&rt->sched);
        dev_entry_give(rt, index);
        dev_unlock(&rt->sched);
        dev_store_relaxed(&rt->waiting_ops, rt->waiting_ops - 1);
        steps++;
    }
    dev_change_end(rt);
    return steps + (rt->graces != graces);
}

/* Takes all slots of queue 0. */
DEV_NO_INLINE uint32_t dev_poll_system(struct dev_runtime *rt)
{
    struct dev_queue *queue = &rt->queues[0];
    struct dev_watch *watch = &rt->watch[0];
    uint32_t taken = 0;
    dev_change_begin(rt);
    while (dev_load_acquire(&watch->bell->tail, DEV_SYSTEM) != (uint32_t)queue->head) { /* A1 */
        uint32_t slot[VYRE_SLOT_WORDS];
        const uint32_t *from = queue->setup.submission +
                               ((uint32_t)queue->head & (queue->setup.slots - 1)) * VYRE_SLOT_WORDS;
        for (uint32_t i = 0; i < VYRE_SLOT_WORDS; i++)
            slot[i] = dev_load_relaxed(&from[i]);
        if (!dev_system_accept(rt, slot, queue->head)) break;
        dev_head_advance(queue, watch, 1);
        dev_store_release(&queue->setup.page->taken, (uint32_t)queue->head, DEV_SYSTEM); /* R9 */
        taken++;
    }
    dev_change_end(rt);
    return taken;
}

#endif
