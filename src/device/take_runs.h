/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Taking runs: slots at the head of a queue that each name a program. One after the other, as
 * poller.h takes them, each waits for a dozen trips to memory, and the next one waits for it. Here
 * every lane has one of them, checks it, looks up what it names and puts it into the in-flight
 * table; all wait together, and the lock is taken once. Then workers are told of them.
 *
 * Whatever has anything unusual about it (a fault, a parameter block, a cancel, no room) is left to
 * poller.h, with all slots behind it. Called by the poller of a resident kernel, all lanes.
 */
#ifndef VYRE_DEVICE_TAKE_RUNS_H
#define VYRE_DEVICE_TAKE_RUNS_H

#include "device/post.h"
#include "device/short.h"

/* The slots that are taken, by lane. */
struct dev_runs {
    uint32_t program[DEV_WARP_ROLES]; /* index of its handle */
    uint32_t set[DEV_WARP_ROLES];     /* of its binding set, or DEV_NONE */
    uint32_t entry[DEV_WARP_ROLES];   /* that it is put into */
    uint32_t workers[DEV_WARP_ROLES]; /* that are told of it */
};

/* What is looked at before any of them: the words that other warps write, all on their way
 * together. */
struct dev_runs_look {
    struct dev_spare spare;
    uint32_t shutdown;
    uint32_t waiting; /* rt->waiting_mask */
};

/* Whether slot i of a batch, whose words are here, is an ordinary run that workers may be told of,
 * as far as it and its queue say. */
DEV_FN int dev_run_ordinary(const struct dev_poller *p, const struct dev_queue *queue,
                            const struct dev_runs_look *look, uint32_t i)
{
    const uint32_t *slot = p->room->rows.row[i];
    return slot[VYRE_SLOT_STATUS] == VYRE_SLOT_PUBLISHED &&
           slot[VYRE_SLOT_OPCODE] >= DEV_PACKED_OPCODES &&
           dev_run_spreads(p->rt, look->waiting, slot[VYRE_SLOT_PRIORITY]) &&
           p->room->batch.owner[i] != queue->head + i && dev_entry_room(&look->spare, i) &&
           dev_run_room(&look->spare, i);
}

/* How many of the n copied slots, from the first on, can be taken here. *spare: free runs. */
DEV_FN uint32_t dev_runs_find(const struct dev_poller *p, const struct dev_queue *queue, uint32_t n,
                              struct dev_runs *runs, uint32_t *spare)
{
    struct dev_runtime *rt = p->rt;
    struct dev_runs_look look;
    uint32_t other[DEV_WARP_ROLES], count = 0;
    look.shutdown = dev_load_relaxed(&rt->shutdown);
    look.waiting = dev_load_relaxed(&rt->waiting_mask);
    look.spare = dev_spare_look(rt, queue);
    *spare = look.spare.runs;
    if (queue->cancel_pending != 0) n = 0;
    DEV_ROLES(i)
    {
        runs->program[DEV_MINE(i)] = runs->set[DEV_MINE(i)] = DEV_NONE;
        other[DEV_MINE(i)] =
            i >= n || look.shutdown != 0 || !dev_run_ordinary(p, queue, &look, i) ||
            dev_program_find(rt, queue, p->room->rows.row[i], queue->head + i,
                             &runs->program[DEV_MINE(i)], &runs->set[DEV_MINE(i)]) != 0;
    }
    uint32_t mask = dev_warp_ballot(other);
    while (count < n && (mask >> count & 1) == 0)
        count++;
    return count;
}

/* Holds what the first `count` name, and counts them. */
DEV_FN void dev_runs_hold(struct dev_runtime *rt, struct dev_queue *queue, uint32_t count,
                          const struct dev_runs *runs)
{
    DEV_ROLES(i)
    {
        if (i < count) {
            if (runs->set[DEV_MINE(i)] != DEV_NONE)
                dev_handle_hold(&rt->handles[runs->set[DEV_MINE(i)]]);
            dev_handle_hold(&rt->handles[runs->program[DEV_MINE(i)]]);
        }
    }
    DEV_FIRST
    {
        queue->mixed = 1;
        queue->seal_misses = 0;
        dev_add_relaxed(&queue->runs, count);
        dev_add_relaxed(&queue->inflight, count);
    }
}

/* How many workers each will be told of; how many of the runs there is room for. */
DEV_FN uint32_t dev_runs_share(const struct dev_poller *p, uint32_t count, uint32_t spare,
                               struct dev_runs *runs)
{
    const struct dev_runtime *rt = p->rt;
    const uint32_t all = rt->run_slots - spare + count;
    uint32_t before[DEV_WARP_ROLES], waits[DEV_WARP_ROLES], told = 0;
    uint32_t room = dev_handover_room(p);
    if (dev_warp_first(rt->spread) != DEV_NONE) room = 0; /* those were first */
    DEV_ROLES(i)
    {
        uint32_t *workers = &runs->workers[DEV_MINE(i)];
        *workers = 0;
        if (i < count)
            *workers =
                dev_run_workers(rt, dev_program_header(&rt->handles[runs->program[DEV_MINE(i)]]),
                                dev_run_total(p->room->rows.row[i]), all);
    }
    dev_warp_sums(runs->workers, before);
    DEV_ROLES(i)
    {
        waits[DEV_MINE(i)] = before[DEV_MINE(i)] + runs->workers[DEV_MINE(i)] > room;
    }
    const uint32_t mask = dev_warp_ballot(waits);
    while (told < count && (mask >> told & 1) == 0)
        told++;
    DEV_ROLES(i)
    {
        if (i >= told) runs->workers[DEV_MINE(i)] = 0;
    }
    return told;
}

/* Puts the first `count` slots into the in-flight table, claimed, each with its run. */
DEV_FN void dev_runs_fill(const struct dev_poller *p, struct dev_queue *queue, uint32_t count,
                          struct dev_runs *runs)
{
    struct dev_runtime *rt = p->rt;
    DEV_FIRST dev_lock(&rt->sched);
    dev_warp_sync();
    DEV_ROLES(i)
    {
        if (i < count) {
            const uint32_t index = dev_entry_spare(rt, i), number = dev_run_spare(rt, i);
            struct dev_inflight *entry = &rt->inflight[index];
            struct dev_taking taking;
            taking.slot = p->room->rows.row[i];
            taking.params = NULL;
            taking.ticket = queue->head + i;
            taking.deadline_ns = 0;
            dev_entry_fill(rt, index, queue, &taking);
            entry->operation = runs->program[DEV_MINE(i)];
            entry->run = number;
            dev_run_claimed(entry);
            dev_run_fill(&rt->runs[number], taking.slot, entry->operation, NULL);
            dev_run_told(&rt->runs[number], runs->workers[DEV_MINE(i)]);
            runs->entry[DEV_MINE(i)] = index;
        }
    }
    dev_warp_sync();
    DEV_FIRST
    {
        dev_entries_taken(rt, count);
        dev_runs_taken(rt, count);
    }
    dev_warp_sync();
    dev_fence_both(DEV_DEVICE); /* R17, and what the lock guards */
    DEV_FIRST dev_unlock_fenced(&rt->sched);
}

/* Takes runs from the head of a queue, of which n slots have been copied; returns how many. */
DEV_NO_INLINE uint32_t dev_take_runs(struct dev_poller *p, struct dev_watch *watch, uint32_t n)
{
    struct dev_queue *queue = &p->rt->queues[watch->queue];
    struct dev_runs runs;
    uint32_t spare, count = dev_runs_find(p, queue, n, &runs, &spare);
    if (count == 0) return 0;
    dev_runs_hold(p->rt, queue, count, &runs);
    uint32_t told = dev_runs_share(p, count, dev_warp_first(spare), &runs);
    if (told < count) p->waits = 1;
    dev_runs_fill(p, queue, count, &runs);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t index = dev_warp_word32(runs.entry, k);
        if (k < told)
            dev_post_like(p, DEV_TASK_RUN, dev_warp_word32(runs.workers, k), index);
        else
            DEV_FIRST dev_run_spread(p->rt, index); /* until there is room */
    }
    dev_warp_sync();
    DEV_FIRST dev_head_advance(queue, watch, count);
    return count;
}

#endif
