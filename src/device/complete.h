/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Ending slots: the completion entry, the control words that count ends, and waking whoever sleeps
 * on the queue. Each accepted slot comes through dev_complete_entry exactly once.
 */
#ifndef VYRE_DEVICE_COMPLETE_H
#define VYRE_DEVICE_COMPLETE_H

#include "device/layout.h"
#include "wire/seal.h"

/* How a slot ended. */
struct dev_end {
    uint64_t ticket;
    uint32_t fault; /* 0: done */
    uint32_t opcode;
    uint32_t pc;
    uint32_t steps;
    uint32_t out_of_bounds;
    const uint32_t *result; /* 8 words, or NULL for none */
};

DEV_FN struct dev_end dev_end_fault(uint64_t ticket, uint32_t opcode, uint32_t fault)
{
    struct dev_end end;
    end.ticket = ticket;
    end.fault = fault;
    end.opcode = opcode;
    end.pc = 0;
    end.steps = 0;
    end.out_of_bounds = 0;
    end.result = NULL;
    return end;
}

/* Laps have 31 bits: the highest bit of the lap word says that the word is a seal. */
#define DEV_SEAL_BIT 0x80000000u

/* The lap of the entry with this index; entries of the lap before are older. */
DEV_FN uint32_t dev_completion_lap_of(uint64_t index, uint32_t log2_slots)
{
    return ((uint32_t)(index >> log2_slots) + 1) & ~DEV_SEAL_BIT;
}

/*
 * The seal of a completion that certifies itself: the same hash as a slot's, over the fifteen words
 * beside the lap, and the lap. It stands in the lap's place, and the entry needs no order among its
 * stores: for an operation that wrote nothing else, or whose effects are behind a fence before it.
 */
DEV_FN uint32_t dev_completion_seal(const uint32_t *entry, uint32_t lap)
{
    uint32_t word[VYRE_COMPLETION_WORDS];
    for (uint32_t i = 0; i < VYRE_COMPLETION_WORDS; i++)
        word[i] = entry[i];
    word[VYRE_COMPLETION_LAP] = entry[VYRE_SLOT_TENANT]; /* the seal reads all but that place */
    return vyre_seal(word, lap) | DEV_SEAL_BIT;
}

/* The lap that an entry of a completion ring is of; with it all its words are visible (A2, pairs
 * with R2 below). Read in one piece with the steps, as it is written. Any thread. */
DEV_FN uint32_t dev_completion_lap(const uint32_t *entry)
{
    const dev_word64 *word = (const dev_word64 *)(const void *)entry;
    return (uint32_t)(dev_load64_acquire(&word[VYRE_COMPLETION_LAP / 2], DEV_SYSTEM) >> 32);
}

/* Writes the entry with this index. The lap goes last (R2, pairs with A2): it makes the
 * rest visible. */
DEV_FN void dev_complete_entry(struct dev_queue *queue, uint64_t index, const struct dev_end *end)
{
    dev_word64 *word = (dev_word64 *)(void *)(queue->setup.completion +
                                              ((uint32_t)index & (queue->setup.slots - 1)) *
                                                  VYRE_COMPLETION_WORDS);
    uint32_t status =
        end->fault ? (uint32_t)VYRE_SLOT_FAULT | end->fault << 16 : (uint32_t)VYRE_SLOT_DONE;
    uint32_t lap = dev_completion_lap_of(index, queue->log2_slots);
    dev_store64_relaxed(&word[0], end->ticket);
    dev_store64_relaxed(&word[1], (uint64_t)end->opcode << 32 | status);
    dev_store64_relaxed(&word[2], (uint64_t)end->out_of_bounds << 32 | end->pc);
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS / 2; i++)
        dev_store64_relaxed(&word[4 + i], end->result ? (uint64_t)end->result[2 * i + 1] << 32 |
                                                            end->result[2 * i]
                                                      : 0);
    dev_store64_release(&word[3], (uint64_t)lap << 32 | end->steps, DEV_SYSTEM); /* R2 */
}

/*
 * Wakes the threads that sleep until this queue has completions. Second half of the hand-shake (F3,
 * pairs with F4 in reap.c): the sleeper sets its word, fences, looks at the ring once more; we
 * write the ring, fence, look at its word.
 */
DEV_FN void dev_notify(struct dev_queue *queue)
{
#if !defined(__CUDACC__) /* across a link nobody is told: waiting hosts look themselves */
    struct dev_queue_page *page = queue->setup.page;
    dev_fence_full(); /* F3 */
    if ((dev_load_relaxed(&page->waiter) | dev_load_relaxed(&page->watcher)) == 0) return;
    dev_add_relaxed(&page->event, 1);
    dev_wake(&page->event, DEV_NONE);
#else
    (void)queue;
#endif
}

/* Counts n slots of one priority that were claimed for a tenant. */
DEV_FN void dev_count_claims(struct dev_runtime *rt, uint32_t tenant, uint32_t priority, uint32_t n)
{
    dev_add_relaxed(&rt->control[VYRE_CONTROL_TENANT_FAIRNESS + tenant % 32], n);
    dev_add_relaxed(&rt->control[VYRE_CONTROL_PRIORITY_FAIRNESS + priority], n);
    if (priority <= VYRE_PRIORITY_HIGH)
        dev_add_relaxed(&rt->control[VYRE_CONTROL_STARVATION], n);
    else
        dev_store_relaxed(&rt->control[VYRE_CONTROL_STARVATION], 0);
}

/*
 * Reserves n entries of the completion ring; returns the index of the first. The reservations of
 * all workers form a chain (R10 and A10): an entry may be written again because the reaping side
 * has received what was there, and of that only the worker knows that took the newest slots. It
 * reserved before this one did, since no index is further ahead than slots were submitted.
 */
DEV_FN uint64_t dev_complete_reserve(struct dev_queue *queue, uint32_t n)
{
    return dev_add64_both(&queue->completed, n);
}

/* Ends one slot. System operations are not counted: the wire format's words are about submitted
 * work. */
DEV_FN void dev_complete(struct dev_runtime *rt, struct dev_queue *queue, const struct dev_end *end)
{
    if (queue != &rt->queues[0]) dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], 1);
    dev_complete_entry(queue, dev_complete_reserve(queue, 1), end);
    dev_notify(queue);
}

#endif
