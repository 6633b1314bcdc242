/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The vitals page: what a device says about itself while it runs, in memory that it shares with its
 * application. Written by the device only, each word by one worker or by the poller; read by
 * anybody, at any time, without a word to the device. The page of the device (struct dev_page) lies
 * at its beginning.
 *
 * The poller writes the heartbeat and the queues' counts, at most once a period; a worker writes
 * its own line when it begins something that may take long, and when that has ended. A line that is
 * being written has an odd version, so a reader never takes half of one slot for half of another.
 */
#ifndef VYRE_DEVICE_VITALS_H
#define VYRE_DEVICE_VITALS_H

#include "device/layout.h"

#define DEV_VITALS_MAGIC     0x4C545956u /* "VYTL" */
#define DEV_VITALS_VERSION   1u
#define DEV_VITALS_PERIOD_NS 1000000u /* between two heartbeats of a poller that polls */

/* A worker. */
struct dev_vital_worker {
    uint32_t version; /* (atomic) odd while the line is being written */
    uint32_t busy;    /* 1: what follows is what it runs; 0: what it ran last */
    uint64_t since_ns;
    uint64_t ticket;
    uint32_t queue;
    uint32_t tenant;
    uint32_t opcode;
    uint32_t reserved[7];
};

/* A queue, by its number. */
struct dev_vital_queue {
    uint64_t taken;     /* ticket of the next slot to take */
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

DEV_FN struct dev_vital_queue *dev_vitals_queue(struct dev_vitals *vitals, uint32_t queue)
{
    return (struct dev_vital_queue *)(void *)dev_vitals_worker(vitals, vitals->workers) + queue;
}

static_assert(sizeof(struct dev_vital_worker) == 64, "one line a writer");
static_assert(sizeof(struct dev_vital_queue) == 32, "in an array");
static_assert(sizeof(struct dev_vitals) == 128, "one line of the link");

#endif
