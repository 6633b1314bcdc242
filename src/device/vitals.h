/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The vitals page: what a device says about itself while it runs, in memory that it shares with its
 * application. Written by the device only, each word by one worker or by the poller; read by
 * anybody, at any time, without a word to the device. The page of the device (struct dev_page) lies
 * at its beginning.
 *
 * The poller writes the heartbeat and the queues' counts, at most once a period; a worker writes
 * its own line when it begins something that may take long, and when that has ended. Each quarter
 * of a line has a version, so a reader never takes half of one slot for half of another. A GPU
 * stores a quarter in one piece, and so needs no fence, which would hold the worker up for half a
 * microsecond. A processor may not: it makes the first version odd while it writes.
 */
#ifndef VYRE_DEVICE_VITALS_H
#define VYRE_DEVICE_VITALS_H

#include "device/layout.h"

#define DEV_VITALS_MAGIC     0x4C545956u /* "VYTL" */
#define DEV_VITALS_VERSION   2u
#define DEV_VITALS_PERIOD_NS 1000000u /* between two heartbeats of a poller that polls */
#define DEV_VITALS_PASSES    64u      /* passes of a poller between two looks at the clock */
#define DEV_VITALS_OWN       16u      /* words of each worker in worker_version: a line */
#define DEV_VITALS_TRIES     64u      /* of a reader that finds a line being written */

/* A worker: four quarters of 16 bytes. The line is whole when their versions are the same and even.
 */
struct dev_vital_worker {
    uint64_t since_ns;
    uint32_t busy;    /* 1: the line is of what it runs; 0: of what it ran last */
    uint32_t version; /* (atomic) odd: the line is being written */
    uint64_t ticket;
    uint32_t queue;
    uint32_t version1;    /* (atomic) */
    uint64_t deadline_ns; /* 0: none */
    uint32_t tenant;
    uint32_t version2; /* (atomic) */
    uint32_t opcode;
    uint32_t reserved[2];
    uint32_t version3; /* (atomic) */
};

/* A queue, by its number. */
struct dev_vital_queue {
    uint64_t taken;     /* ticket of the next slot to take; where workers are threads never behind,
                           but for queue 0 */
    uint64_t completed; /* slots that have ended since the queue was opened */
    uint32_t open;
    uint32_t tenant;
    uint32_t inflight;
    uint32_t blocked; /* behind a fence */
};

struct dev_vitals {
    uint32_t magic;
    uint32_t version;
    uint32_t bytes; /* of page and vitals together */
    uint32_t workers;
    uint32_t queues; /* numbers of queues, queue 0 included */
    uint32_t reserved;
    uint64_t beats;   /* how many heartbeats */
    uint64_t beat_ns; /* when the last one was, on the clock that deadlines are on */
    uint32_t pad[22];
    /* struct dev_vital_worker worker[workers]; struct dev_vital_queue queue[queues]; */
};

/* The shared mapping: page, vitals, workers, queues. */
#define DEV_VITALS_AT 128u

DEV_FN size_t dev_shared_workers_at(void)
{
    return DEV_VITALS_AT + sizeof(struct dev_vitals);
}

DEV_FN size_t dev_shared_queues_at(uint32_t workers)
{
    return dev_shared_workers_at() + (size_t)workers * sizeof(struct dev_vital_worker);
}

DEV_FN size_t dev_shared_bytes(uint32_t workers, uint32_t queues)
{
    return dev_shared_queues_at(workers) + (size_t)queues * sizeof(struct dev_vital_queue);
}

DEV_FN struct dev_vital_worker *dev_vitals_worker(struct dev_vitals *vitals, uint32_t worker)
{
    return (struct dev_vital_worker *)(void *)(vitals + 1) + worker;
}

/* `workers` is the caller's own knowledge: whoever reads across a link need not, and whoever reads
 * what another process wrote should not, take it from the page. */
DEV_FN struct dev_vital_queue *dev_vitals_queue(struct dev_vitals *vitals, uint32_t workers,
                                                uint32_t queue)
{
    return (struct dev_vital_queue *)(void *)dev_vitals_worker(vitals, workers) + queue;
}

/* The device's side. A device without vitals says nothing.
 * ------------------------------------------------------------------------------------------- */

/* A quarter of a worker's line. */
DEV_FN struct dev_word128 dev_vitals_part(uint64_t low, uint32_t word, uint32_t version)
{
    struct dev_word128 part;
    part.low = low;
    part.high = (uint64_t)version << 32 | word;
    return part;
}

/* A worker begins an entry that it has popped. No clock is read: the pop has read it. */
DEV_FN void dev_vitals_begin(struct dev_runtime *rt, uint32_t worker,
                             const struct dev_inflight *entry)
{
    if (rt->vitals == NULL) return;
    struct dev_word128 *line = (struct dev_word128 *)(void *)dev_vitals_worker(rt->vitals, worker);
    uint32_t *own = &rt->worker_version[worker * DEV_VITALS_OWN];
    const uint32_t version = *own + 2;
    *own = version;
#if !defined(__CUDACC__)
    dev_store64_relaxed(&line[0].high, (uint64_t)(version - 1) << 32);
    dev_fence_both(DEV_SYSTEM); /* R15 pairs with A15: who sees a new word sees the odd version */
#endif
    dev_store128_last(&line[3], dev_vitals_part(entry->slot[VYRE_SLOT_OPCODE], 0, version));
    dev_store128_last(&line[2],
                      dev_vitals_part(entry->deadline_ns, entry->slot[VYRE_SLOT_TENANT], version));
    dev_store128_last(&line[1], dev_vitals_part(entry->ticket, entry->queue, version));
    dev_store128_last(&line[0], dev_vitals_part(dev_load64_relaxed(&entry->claimed_ns), 1,
                                                version)); /* R16 pairs with A16 */
}

/* It has ended, or its turn is over. What stays in the line is what was run last, so one word is
 * all that changes. */
DEV_FN void dev_vitals_end(struct dev_runtime *rt, uint32_t worker)
{
    if (rt->vitals != NULL) dev_store_relaxed(&dev_vitals_worker(rt->vitals, worker)->busy, 0);
}
/* The line of a queue. Each word is right; a reader may see words of two heartbeats. (poller) */
DEV_FN void dev_vitals_count(struct dev_runtime *rt, struct dev_queue *queue)
{
    if (rt->vitals == NULL) return;
    struct dev_vital_queue *line =
        dev_vitals_queue(rt->vitals, rt->workers, (uint32_t)(queue - rt->queues));
    uint32_t inflight = dev_load_relaxed(&queue->inflight) + dev_load_relaxed(&queue->chunked);
    if (queue->fence != DEV_NONE) inflight++;
    dev_store64_relaxed(&line->completed,
                        dev_load64_relaxed(&queue->completed) - queue->setup.first_completion);
    dev_store64_relaxed(&line->taken, queue->head);
    dev_store_relaxed(&line->tenant, queue->setup.tenant);
    dev_store_relaxed(&line->inflight, inflight);
    dev_store_relaxed(&line->blocked, queue->barrier);
    dev_store_relaxed(&line->open, queue->open);
}

/* Slots of a queue were taken. Where workers are threads nobody may be left to poll for long, and a
 * slot that is running shall not look as if it still waited; a resident kernel's poller stays, and
 * spares the link. (poller) */
DEV_FN void dev_vitals_taken(struct dev_runtime *rt, const struct dev_queue *queue, uint32_t number)
{
#if !defined(__CUDACC__)
    if (rt->vitals != NULL)
        dev_store64_relaxed(&dev_vitals_queue(rt->vitals, rt->workers, number)->taken, queue->head);
#else
    (void)rt, (void)queue, (void)number;
#endif
}

/* A heartbeat now: also the last one before nobody polls, so that what stays in the page is true.
 * (poller) */
DEV_FN void dev_vitals_pulse(struct dev_runtime *rt, uint64_t now_ns)
{
    if (rt->vitals == NULL) return;
    /* Before the counts: an end that is not among them is one that dev_vitals_stale sees. */
    dev_store_relaxed(&rt->beat_ends, dev_load_acquire(&rt->ends, DEV_DEVICE)); /* A11 */
    for (uint32_t i = 0; i < rt->watch_count; i++)
        dev_vitals_count(rt, &rt->queues[rt->watch[i].queue]);
    rt->beat_ns = now_ns;
    dev_store64_relaxed(&rt->vitals->beat_ns, now_ns);
    dev_store64_relaxed(&rt->vitals->beats, ++rt->beats);
}

/* A heartbeat if one is due. (poller) */
DEV_FN void dev_vitals_beat(struct dev_runtime *rt, uint64_t now_ns)
{
    if (now_ns - rt->beat_ns >= DEV_VITALS_PERIOD_NS) dev_vitals_pulse(rt, now_ns);
}

/* Whether slots have ended since the counts were written, which somebody should write again before
 * all sleep. */
DEV_FN int dev_vitals_stale(const struct dev_runtime *rt)
{
    return rt->vitals != NULL && dev_load_relaxed(&rt->ends) != dev_load_relaxed(&rt->beat_ends);
}

/* The reader's side.
 * ------------------------------------------------------------------------------------------- */

/* Whether the versions of a line are all this one. */
DEV_FN int dev_vitals_same(const struct dev_vital_worker *line, uint32_t version)
{
    return dev_load_relaxed(&line->version) == version &&
           dev_load_relaxed(&line->version1) == version &&
           dev_load_relaxed(&line->version2) == version &&
           dev_load_relaxed(&line->version3) == version;
}

/* Copies a worker's line; 0: it was being written all the time, as a device that died while it
 * wrote leaves it. What stands between two looks at the same version is of that version. Any thread
 * of any process. */
DEV_FN int dev_vitals_read(const struct dev_vital_worker *line, struct dev_vital_worker *out)
{
    for (uint32_t tries = 0; tries < DEV_VITALS_TRIES; tries++) {
        out->version = dev_load_acquire(&line->version, DEV_SYSTEM); /* A16 pairs with R16 */
        out->version1 = dev_load_acquire(&line->version1, DEV_SYSTEM);
        out->version2 = dev_load_acquire(&line->version2, DEV_SYSTEM);
        out->version3 = dev_load_acquire(&line->version3, DEV_SYSTEM);
        out->busy = dev_load_relaxed(&line->busy);
        out->since_ns = dev_load64_relaxed(&line->since_ns);
        out->ticket = dev_load64_relaxed(&line->ticket);
        out->queue = dev_load_relaxed(&line->queue);
        out->tenant = dev_load_relaxed(&line->tenant);
        out->opcode = dev_load_relaxed(&line->opcode);
        out->deadline_ns = dev_load64_relaxed(&line->deadline_ns);
        dev_fence_both(DEV_SYSTEM); /* A15 pairs with R15 */
        if (out->version % 2 == 0 && dev_vitals_same(out, out->version) &&
            dev_vitals_same(line, out->version))
            return 1;
        dev_pause();
    }
    return 0;
}

static_assert(sizeof(struct dev_vital_worker) == 64, "one line a writer");
static_assert(offsetof(struct dev_vital_worker, version) == 12, "ends a quarter");
static_assert(offsetof(struct dev_vital_worker, version1) == 28, "ends a quarter");
static_assert(offsetof(struct dev_vital_worker, version2) == 44, "ends a quarter");
static_assert(offsetof(struct dev_vital_worker, version3) == 60, "ends a quarter");
static_assert(sizeof(struct dev_vital_queue) == 32, "in an array");
static_assert(sizeof(struct dev_vitals) == 128, "one line of the link");

#endif
