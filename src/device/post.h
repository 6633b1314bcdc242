/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Handing over: what workers shall do is written into the handover ring, plain slots in chunks that
 * nobody has read yet. Completions are reserved here, so they stand in the order of tickets.
 */
#ifndef VYRE_DEVICE_POST_H
#define VYRE_DEVICE_POST_H

#include "device/look.h"

/*
 * Reserves n completions of a queue; on the first lane. While no entry of the queue is in flight
 * nobody else does, and an atomic operation, whose answer takes most of a microsecond, is not
 * needed.
 */
DEV_FN uint64_t dev_poller_reserve(struct dev_queue *queue, uint32_t n)
{
    if (queue->mixed) {
        if (dev_load_acquire(&queue->inflight, DEV_DEVICE) != 0 ||
            queue->fence != DEV_NONE) /* A4 */
            return dev_complete_reserve(queue, n);
        queue->mixed = 0;
        dev_store64_relaxed(&queue->completed, dev_load64_relaxed(&queue->completed));
    }
    uint64_t index = queue->completed;
    dev_store64_relaxed(&queue->completed, index + n);
    return index;
}

/* How many tasks may be written now; the last places are for leaving. */
DEV_FN uint32_t dev_handover_room(const struct dev_poller *p)
{
    return DEV_TASKS - DEV_MAX_RESIDENT - (p->posted - p->oldest);
}

/* The same for all but runs: while one waits for room nothing else takes it. */
DEV_FN uint32_t dev_handover_rest(const struct dev_poller *p)
{
    return p->waits ? 0 : dev_handover_room(p);
}

/* Short programs take long beside plain slots: a chunk has fewer of them, so that more warps have
 * some; but not too few, because chunks have a price of their own. Nobody knows what a chunk will
 * find: as long as programs have been found lately all chunks are small. */
#define DEV_BATCH_PROGRAMS 4u
#define DEV_LATELY         4096u /* tasks */

/* How many slots a chunk shall have when so many are published, for at most `chunks` of them.
 * `programs` is as in the handover ring. */
DEV_FN uint32_t dev_chunk_size(const struct dev_poller *p, uint64_t programs, uint32_t published,
                               uint32_t chunks)
{
    uint32_t share = (published + chunks - 1) / chunks;
    if (programs == 0 || p->posted - (uint32_t)(programs - 1) > DEV_LATELY) return DEV_BATCH;
    if (share >= DEV_BATCH_PROGRAMS || p->posted != p->oldest) return DEV_BATCH_PROGRAMS;
    return share != 0 ? share : 1; /* nothing is under way: each on a warp of its own */
}

/* Cuts plain slots from the head on into chunks; returns how many slots were handed over. */
DEV_FN uint32_t dev_post_chunks(struct dev_poller *p, uint32_t queue_number, uint32_t published)
{
    struct dev_runtime *rt = p->rt;
    struct dev_queue *queue = &rt->queues[queue_number];
    uint32_t room = dev_handover_rest(p);
    uint32_t most = room < DEV_WARP ? room : DEV_WARP;
    if (most == 0) return 0;
    uint64_t programs = dev_warp_first64(dev_load64_relaxed(&rt->handover->programs));
    uint32_t size = dev_chunk_size(p, programs, published, most);
    uint32_t chunks = (published + size - 1) / size;
    if (chunks > most) chunks = most;
    uint32_t n = chunks * size < published ? chunks * size : published;
    uint64_t head = queue->head, index = 0;
    DEV_FIRST
    {
        dev_add_relaxed(&queue->chunked, n);
        queue->tasks = p->posted + chunks;
        /* Here and not by the workers: so completions stand in the order of their tickets. */
        index = dev_poller_reserve(queue, n);
    }
    index = dev_warp_first64(index);
    if (!queue->setup.sealed) dev_fence_both(DEV_SYSTEM); /* A1 */
    dev_warp_sync();
    DEV_ROLES(i)
    {
        struct dev_task task;
        task.kind = DEV_TASK_CHUNK;
        task.queue = queue_number;
        task.first = head + i * size;
        task.index = index + i * size;
        task.count = n - i * size < size ? n - i * size : size;
        if (i < chunks) dev_task_write(rt->handover, p->posted + i, &task);
    }
    p->posted += chunks;
    return n;
}

/* Writes `count` like tasks. */
DEV_FN void dev_post_like(struct dev_poller *p, uint32_t kind, uint32_t count, uint32_t first)
{
    struct dev_task task;
    task.kind = kind;
    task.queue = 0;
    task.count = 0;
    task.first = first;
    task.index = 0;
    DEV_ROLES(i)
    {
        for (uint32_t k = i; k < count; k += DEV_WARP)
            dev_task_write(p->rt->handover, p->posted + k, &task);
    }
    p->posted += count;
}

/* Workers that are left for others when all are wanted for one run. */
#define DEV_RUN_RESERVE 32u /* one of so many */

/* Workgroups that a worker is meant to have of a run while there are others. */
#define DEV_RUN_EACH 8u

/*
 * How many workers are told of a run with so many workgroups while `runs` are in flight, it among
 * them: as many as it has workgroups for. Each joins it, which takes as long as a small workgroup,
 * and takes the poller a task. So where workgroups are soon over, and there is enough for all
 * workers to do, fewer are told, and each has several.
 */
DEV_FN uint32_t dev_run_workers(const struct dev_runtime *rt, const struct vm_header *program,
                                uint64_t total, uint32_t runs)
{
    const uint32_t most = rt->workers - rt->workers / DEV_RUN_RESERVE;
    const uint64_t few = total / DEV_RUN_EACH;
    uint64_t share = most;
    if (vm_short_weight(program) != 0) share = (most + runs - 1) / runs;
    if (share < few) share = few;
    if (share > most) share = most;
    if (total == 0) return 1;
    return (uint32_t)(total < share ? total : share);
}

/* So many workers will be told of a run, which nobody knows of yet: they hold it, beside its slot.
 */
DEV_FN void dev_run_told(struct dev_run *run, uint32_t workers)
{
    dev_store_relaxed(&run->holders, 1 + workers);
}

/* Tells workers of a run. 0: there is no room for so many now. */
DEV_FN int dev_post_run(struct dev_poller *p, uint32_t index)
{
    struct dev_runtime *rt = p->rt;
    struct dev_run *run = &rt->runs[rt->inflight[index].run];
    const uint32_t runs = rt->run_slots - dev_warp_first(dev_load_relaxed(&rt->free_runs));
    const struct vm_header *program = dev_program_header(&rt->handles[run->program]);
    uint32_t n = dev_run_workers(rt, program, run->total, runs);
    if (n > dev_handover_room(p)) return 0;
    DEV_FIRST dev_run_told(run, n);
    dev_warp_sync();
    dev_fence_both(DEV_DEVICE); /* R17 */
    dev_post_like(p, DEV_TASK_RUN, n, index);
    return 1;
}

/* A task for each time that a worker is wanted: for the run queues, and for runs that begin. */
DEV_FN void dev_post_entries(struct dev_poller *p)
{
    uint32_t index = dev_warp_first(p->rt->spread);
    while (index != DEV_NONE) {
        uint32_t next = dev_warp_first(p->rt->inflight[index].next);
        if (!dev_post_run(p, index)) break;
        index = next;
    }
    dev_warp_sync();
    DEV_FIRST p->rt->spread = index;
    dev_warp_sync();
    p->waits = index != DEV_NONE;
    uint32_t wanted = dev_warp_first(dev_load_relaxed(&p->rt->pushes)) - p->pushes;
    uint32_t room = wanted != 0 ? dev_handover_rest(p) : 0;
    if (wanted > room) wanted = room;
    if (wanted == 0) return;
    dev_post_like(p, DEV_TASK_ENTRY, wanted, 0);
    p->pushes += wanted;
}

#endif
