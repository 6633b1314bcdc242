/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Telling producers which places are free.
 *
 * Slots are taken in order, but workers copy chunks in any order, and a place may be written over
 * only when what was there has been copied. So the poller follows the tasks in their order, and
 * tells each queue's producer how far all copies have come.
 */
#ifndef VYRE_DEVICE_RECORDS_H
#define VYRE_DEVICE_RECORDS_H

#include "device/look.h"

/* A large run has a task for each of its workers, far more than a look has records for: after one
 * look so many times so many rows of records more are loaded, each row a record a role. */
#define DEV_RECORD_TRIPS 8u
#define DEV_RECORD_ROWS  4u

/* Loads the row of records from task `number` on. */
DEV_FN void dev_records_row(const struct dev_poller *p, uint32_t number, struct dev_word128 *record)
{
    DEV_ROLES(i)
    {
        record[DEV_MINE(i)] =
            dev_load128_relaxed(&p->rt->handover->record[(number + i) % DEV_TASKS]);
    }
}

/* Records are loaded before a look, which hides the time that takes, and judged after it. */
DEV_FN void dev_records_load(struct dev_poller *p, struct dev_word128 *record)
{
    p->picked = dev_load_relaxed(&p->rt->handover->picked);
    p->free_count = dev_load_relaxed(&p->rt->free_count) + dev_load_relaxed(&p->rt->io.resting);
    p->pushed = dev_load_relaxed(&p->rt->pushes);
    p->handed_back = dev_load_relaxed(&p->rt->io.back);
    dev_records_row(p, p->oldest, record);
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
            /* One that has had no chunks for long has an old number in `tasks`: none under way will
             * do as well (A14). */
            if (queue->setup.classified && (none || (int32_t)(p->oldest - queue->tasks) >= 0 ||
                                            dev_load_acquire(&queue->chunked, DEV_DEVICE) == 0))
                dev_store_relaxed(&queue->setup.page->copied, (uint32_t)queue->head);
        }
    }
    p->lagging = !none;
}

/* Whether the queue of a record is still the one that it was: a queue may close when its last chunk
 * has ended, before anybody has looked at the record, and then its page is no longer ours; another
 * one may have its number by then. */
DEV_FN int dev_record_counts(const struct dev_runtime *rt, uint32_t number,
                             const struct dev_word128 *record)
{
    const struct dev_queue *queue = &rt->queues[number];
    return queue->open && ((uint32_t)record->low >> 8 & 0xFFu) == (queue->opened & 0xFFu) &&
           queue->head - record->high <= queue->setup.slots;
}

/* Passes over the tasks that have left their records, as far as these are here; how many. */
DEV_FN uint32_t dev_records_pass(struct dev_poller *p, const struct dev_word128 *record)
{
    uint32_t waits[DEV_WARP_ROLES];
    uint64_t low[DEV_WARP_ROLES];
    dev_warp_sync(); /* what the row before has stored for a queue is older */
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
    return run;
}

/* Goes on as long as all records are there. Rows that are loaded together are one trip to memory.
 */
DEV_NO_INLINE void dev_records_more(struct dev_poller *p)
{
    struct dev_word128 record[DEV_RECORD_ROWS][DEV_WARP_ROLES];
    for (uint32_t trip = 0; trip < DEV_RECORD_TRIPS; trip++) {
        for (uint32_t row = 0; row < DEV_RECORD_ROWS; row++)
            dev_records_row(p, p->oldest + row * DEV_WARP, record[row]);
        for (uint32_t row = 0; row < DEV_RECORD_ROWS; row++)
            if (dev_records_pass(p, record[row]) < DEV_WARP) return;
    }
}

DEV_FN void dev_records_judge(struct dev_poller *p, const struct dev_word128 *record)
{
    /* Branches hang on these: no lane may have its own. */
    p->picked = dev_warp_first(p->picked);
    p->free_count = dev_warp_first(p->free_count);
    p->pushed = dev_warp_first(p->pushed);
    p->handed_back = dev_warp_first(p->handed_back);
    if (p->oldest != p->posted && dev_records_pass(p, record) == DEV_WARP) dev_records_more(p);
    p->busy = p->posted != p->picked || p->free_count != p->rt->inflight_slots;
    if (p->lagging && (p->oldest == p->posted || ++p->lags % DEV_LAG_LOOKS == 0)) dev_copied_all(p);
    p->glance.still = !p->busy && !p->lagging && p->oldest == p->posted;
}

#endif
