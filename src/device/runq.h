/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The in-flight table's free entries and the run queues: five priority levels, in each a circle of
 * queues that take turns, in each queue first come first served. A level that waits is served at
 * least once every ageing_ns, however busy the levels above it are; so nothing starves, and nothing
 * urgent is locked out for more than four slots.
 *
 * All functions need the sched lock, except dev_runq_pop, which takes it itself.
 */
#ifndef VYRE_DEVICE_RUNQ_H
#define VYRE_DEVICE_RUNQ_H

#include "device/frame_start.h"
#include "device/layout.h"

/* One queue may hold the table up to this many times what is free: the last entries are for the
 * others. */
#define DEV_TABLE_SHARE 8u

/* The free entries are a stack. Word k of it lies in entry k, so that a warp takes as many side by
 * side as it has lanes. */

/* The free entry that is the k-th from the top; there are more than k. */
DEV_FN uint32_t dev_entry_spare(const struct dev_runtime *rt, uint32_t k)
{
    return rt->inflight[rt->free_count - 1 - k].spare;
}

/* The first n have been taken. */
DEV_FN void dev_entries_taken(struct dev_runtime *rt, uint32_t n)
{
    dev_store_relaxed(&rt->free_count, rt->free_count - n);
}

DEV_FN void dev_entry_give(struct dev_runtime *rt, uint32_t index)
{
    dev_store_relaxed(&rt->inflight[index].slot[VYRE_SLOT_STATUS], VYRE_SLOT_EMPTY);
    rt->inflight[rt->free_count].spare = index;
    dev_store_relaxed(&rt->free_count, rt->free_count + 1);
}

DEV_FN void dev_level_append(struct dev_runtime *rt, struct dev_level *level, uint32_t node)
{
    rt->nodes[node].next = DEV_NONE;
    if (level->first == DEV_NONE)
        level->first = node;
    else
        rt->nodes[level->last].next = node;
    level->last = node;
}

DEV_FN void dev_level_count(struct dev_runtime *rt, uint32_t priority, uint32_t waiting)
{
    uint32_t bit = 1u << priority;
    uint32_t mask = rt->waiting_mask;
    rt->levels[priority].waiting = waiting;
    dev_store_relaxed(&rt->waiting_mask, waiting != 0 ? mask | bit : mask & ~bit);
}

/* The entry's slot and queue are set. since_ns: when it began to wait. */
DEV_FN void dev_runq_push(struct dev_runtime *rt, uint32_t index, uint64_t since_ns)
{
    struct dev_inflight *entry = &rt->inflight[index];
    uint32_t priority = entry->slot[VYRE_SLOT_PRIORITY];
    uint32_t node_index = priority * rt->max_queues + entry->queue;
    struct dev_level *level = &rt->levels[priority];
    struct dev_run_node *node = &rt->nodes[node_index];
    entry->next = DEV_NONE;
    if (node->first == DEV_NONE) {
        node->first = index;
        dev_level_append(rt, level, node_index);
    } else {
        rt->inflight[node->last].next = index;
    }
    node->last = index;
    if (level->waiting == 0) level->since_ns = since_ns;
    dev_level_count(rt, priority, level->waiting + 1);
    dev_store_relaxed(&rt->pushes, rt->pushes + 1);
}

/* The level to serve: one that has waited too long, the longest first, else the most urgent up to
 * `limit`. */
DEV_FN uint32_t dev_runq_level(struct dev_runtime *rt, uint64_t now_ns, uint32_t limit)
{
    uint32_t best = DEV_NONE;
    uint64_t longest = rt->ageing_ns;
    for (uint32_t p = 0; p < VYRE_PRIORITIES; p++) {
        struct dev_level *level = &rt->levels[p];
        if (level->waiting == 0) continue;
        uint64_t waited = now_ns > level->since_ns ? now_ns - level->since_ns : 0;
        if (waited >= longest) {
            longest = waited + 1;
            best = p;
        }
    }
    if (best != DEV_NONE) return best;
    for (uint32_t p = 0; p <= limit; p++)
        if (rt->levels[p].waiting != 0) return p;
    return DEV_NONE;
}

/* Who has popped the entry of a run holds it from that moment on. He has a frame of it to resume,
 * or begins a workgroup; where there is more, the entry waits for others. Returns the frame, or
 * DEV_NONE. */
DEV_FN uint32_t dev_run_popped(struct dev_runtime *rt, uint32_t index, uint64_t now_ns)
{
    struct dev_run *run = &rt->runs[rt->inflight[index].run];
    uint64_t next = dev_load64_relaxed(&run->next);
    uint32_t frame = run->waiting;
    int more = next < run->total && run->total - next > 1;
    if (frame != DEV_NONE) {
        dev_store_relaxed(&run->waiting, dev_frame_at(rt, frame)->next);
        more = run->waiting != DEV_NONE || next < run->total;
    }
    dev_add_relaxed(&run->holders, 1);
    run->queued = more && run->fault == 0;
    if (run->queued) dev_runq_push(rt, index, now_ns);
    return frame;
}

/* Takes the next entry to run of level `limit` or a more urgent one (or an aged one), now CLAIMED;
 * or DEV_NONE. *frame: see dev_run_popped. */
DEV_FN uint32_t dev_runq_pop(struct dev_runtime *rt, uint32_t limit, uint32_t *frame)
{
    *frame = DEV_NONE;
    if (dev_load_relaxed(&rt->waiting_mask) == 0) return DEV_NONE;
    uint64_t now_ns = dev_clock_ns();
    uint32_t index = DEV_NONE;
    dev_lock(&rt->sched);
    uint32_t priority = dev_runq_level(rt, now_ns, limit);
    if (priority != DEV_NONE) {
        struct dev_level *level = &rt->levels[priority];
        uint32_t node_index = level->first;
        struct dev_run_node *node = &rt->nodes[node_index];
        index = node->first;
        node->first = rt->inflight[index].next;
        level->first = node->next;
        if (node->first != DEV_NONE) dev_level_append(rt, level, node_index);
        level->since_ns = now_ns;
        dev_level_count(rt, priority, level->waiting - 1);
        dev_store64_relaxed(&rt->inflight[index].claimed_ns, now_ns);
        dev_store_relaxed(&rt->inflight[index].slot[VYRE_SLOT_STATUS], VYRE_SLOT_CLAIMED);
        if (rt->inflight[index].run != DEV_NONE) *frame = dev_run_popped(rt, index, now_ns);
    }
    dev_unlock(&rt->sched);
    return index;
}

/* Takes a waiting entry out of its run queue. */
DEV_FN void dev_runq_unlink(struct dev_runtime *rt, uint32_t index)
{
    struct dev_inflight *entry = &rt->inflight[index];
    uint32_t priority = entry->slot[VYRE_SLOT_PRIORITY];
    uint32_t node_index = priority * rt->max_queues + entry->queue;
    struct dev_level *level = &rt->levels[priority];
    struct dev_run_node *node = &rt->nodes[node_index];
    uint32_t before = DEV_NONE;
    for (uint32_t i = node->first; i != index; i = rt->inflight[i].next)
        before = i;
    if (before == DEV_NONE)
        node->first = entry->next;
    else
        rt->inflight[before].next = entry->next;
    if (node->last == index) node->last = before;
    if (node->first == DEV_NONE) {
        uint32_t previous = DEV_NONE;
        for (uint32_t i = level->first; i != node_index; i = rt->nodes[i].next)
            previous = i;
        if (previous == DEV_NONE)
            level->first = node->next;
        else
            rt->nodes[previous].next = node->next;
        if (level->last == node_index) level->last = previous;
    }
    dev_level_count(rt, priority, level->waiting - 1);
}

#endif
