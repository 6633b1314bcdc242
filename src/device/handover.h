/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Work on its way from the poller of a resident kernel to its workers: one ring of tasks in device
 * memory. A worker that has nothing to do takes the next number and waits at that place; the poller
 * writes tasks in order. So each task has one reader, each place one writer at a time, and a worker
 * that is busy holds up nobody.
 *
 * A task is 16 bytes, stored and loaded in one piece; its stamp says which number it is for. The
 * ring is as large as it is so that what was posted and has not yet copied its slots always fits:
 * the poller counts (dev_handover_room) and keeps the last places for telling all workers to leave.
 *
 * When the kernel leaves, every worker has picked up its last task: so all numbers agree, and the
 * next launch goes on with them.
 */
#ifndef VYRE_DEVICE_HANDOVER_H
#define VYRE_DEVICE_HANDOVER_H

#include "device/layout.h"

#define DEV_TASKS        8192u /* a power of two */
#define DEV_MAX_RESIDENT 4096u /* workers of a resident kernel, at most: half the places */

enum dev_task_kind {
    DEV_TASK_CHUNK = 1, /* plain slots of a queue: run them in place */
    DEV_TASK_ENTRY = 2, /* something waits in the run queues */
    DEV_TASK_LEAVE = 3, /* the kernel ends */
    DEV_TASK_RUN = 4    /* `first` is an entry with workgroups to run, held for the worker */
};

/* Of a task, low: stamp, queue, count, kind; high: the low halves of the first slot's ticket and of
 * its completion's index. */
struct dev_handover {
    uint32_t claimed; /* (atomic) numbers taken by workers */
    uint32_t claimed_pad[31];
    uint32_t picked; /* (atomic) tasks picked up by workers */
    uint32_t picked_pad[31];
    dev_word64 programs; /* number of a task that has found short programs, plus 1; a hint */
    uint32_t programs_pad[30];
    struct dev_word128 task[DEV_TASKS];
    struct dev_word128 record[DEV_TASKS]; /* what each task has copied; written by its worker */
};

struct dev_task {
    uint32_t number;
    uint32_t kind;
    uint32_t queue;
    uint32_t count;
    uint64_t first; /* ticket of the first slot */
    uint64_t index; /* of its completion; the others follow */
};

DEV_FN void dev_task_write(struct dev_handover *ring, uint32_t number, const struct dev_task *task)
{
    struct dev_word128 word;
    word.low = (uint64_t)(number + 1) << 32 | task->queue << 16 | task->count << 8 | task->kind;
    word.high = (uint64_t)(uint32_t)task->index << 32 | (uint32_t)task->first;
    dev_store128_relaxed(&ring->task[number % DEV_TASKS], word);
}

/* 0: the task with this number is not there yet. */
DEV_FN int dev_task_read(const struct dev_handover *ring, uint32_t number, struct dev_task *task)
{
    struct dev_word128 word = dev_load128_relaxed(&ring->task[number % DEV_TASKS]);
    if ((uint32_t)(word.low >> 32) != number + 1) return 0;
    task->number = number;
    task->kind = (uint32_t)word.low & 0xFFu;
    task->count = (uint32_t)word.low >> 8 & 0xFFu;
    task->queue = (uint32_t)word.low >> 16;
    task->first = (uint32_t)word.high;
    task->index = (uint32_t)(word.high >> 32);
    return 1;
}

/* Whether a task waits that no worker has taken; a hint. */
DEV_FN int dev_handover_waits(const struct dev_handover *ring)
{
    struct dev_task task;
    return dev_task_read(ring, dev_load_relaxed(&ring->claimed), &task);
}

/* Ticket and index in full: neither is further than half of 32 bits from what the queue has now. */
DEV_FN void dev_task_widen(struct dev_task *task, const struct dev_queue *queue)
{
    uint64_t head = dev_load64_relaxed(&queue->head);
    uint64_t completed = dev_load64_relaxed(&queue->completed);
    task->first = head + (uint64_t)(int64_t)(int32_t)((uint32_t)task->first - (uint32_t)head);
    task->index =
        completed + (uint64_t)(int64_t)(int32_t)((uint32_t)task->index - (uint32_t)completed);
}

/* The worker has read everything that the task names: slots may be written over. `opened` is the
 * queue's, which cannot close before. */
DEV_FN void dev_record_write(struct dev_handover *ring, uint32_t number,
                             const struct dev_task *task, uint32_t opened)
{
    struct dev_word128 word;
    word.low =
        (uint64_t)(number + 1) << 32 | task->queue << 16 | (opened & 0xFFu) << 8 | task->kind;
    word.high = task->first + task->count;
    dev_store128_relaxed(&ring->record[number % DEV_TASKS], word);
}

static_assert(sizeof(struct dev_word128) == 16, "one access");
static_assert(offsetof(struct dev_handover, task) % 128 == 0, "aligned");
static_assert(DEV_TASKS >= 2 * DEV_MAX_RESIDENT, "all workers can be told to leave");

#endif
