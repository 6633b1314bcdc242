/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Running small operations straight from the ring: a batch of slots is copied, the longest run that
 * may be run in place is run, and its completions are written. This is the hot path: no lock, no
 * entry, a few atomic adds a batch.
 *
 * Called by the poller only.
 */
#ifndef VYRE_DEVICE_INPLACE_H
#define VYRE_DEVICE_INPLACE_H

#include "device/builtin_run.h"
#include "device/complete.h"
#include "wire/seal.h"

/* Slots taken from one queue before the next queue has its turn. */
#define DEV_BATCH 32u

struct dev_batch {
    dev_word64 slot[DEV_BATCH][VYRE_SLOT_WORDS / 2];
    uint64_t owner[DEV_BATCH]; /* the ticket that each slot's parameter block is for */
    uint32_t owners;           /* those were read too */
    uint32_t special;          /* as the bell said it when these slots had been published */
    uint32_t told;             /* what queue 0 had been told by then has been done */
};

DEV_FN const uint32_t *dev_batch_slot(const struct dev_batch *batch, uint32_t i)
{
    return (const uint32_t *)(const void *)batch->slot[i];
}

/* Copies up to n slots from the head on; returns how many fit their seals. */
DEV_FN uint32_t dev_batch_copy(const struct dev_queue *queue, struct dev_batch *batch, uint32_t n)
{
    const dev_word64 *ring = (const dev_word64 *)(const void *)queue->setup.submission;
    batch->owners = batch->told = 0;
    batch->special = dev_load_relaxed(&queue->setup.bell->special);
    for (uint32_t k = 0; k < n; k++) {
        uint64_t ticket = queue->head + k;
        const dev_word64 *from = ring + ((uint32_t)ticket & (queue->setup.slots - 1)) * 8;
        dev_word64 *to = batch->slot[k];
        to[0] = dev_load64_relaxed(&from[0]);
        to[1] = dev_load64_relaxed(&from[1]);
        to[2] = dev_load64_relaxed(&from[2]);
        to[3] = dev_load64_relaxed(&from[3]);
        to[4] = dev_load64_relaxed(&from[4]);
        to[5] = dev_load64_relaxed(&from[5]);
        to[6] = dev_load64_relaxed(&from[6]);
        to[7] = dev_load64_relaxed(&from[7]);
        if (!queue->setup.sealed) continue;
        const uint32_t *slot = dev_batch_slot(batch, k);
        uint32_t lap = (uint32_t)(ticket >> queue->log2_slots) + 1;
        if (vyre_seal(slot, lap) != slot[VYRE_SLOT_TENANT]) return k;
    }
    return n;
}

/* Counts that are kept while a run of like slots lasts. */
struct dev_tally {
    uint32_t opcode;
    uint32_t opcodes;
    uint32_t priority;
    uint32_t priorities;
};

DEV_FN void dev_tally_flush(struct dev_runtime *rt, const struct dev_queue *queue,
                            struct dev_tally *tally)
{
    if (tally->opcodes) dev_metric(rt, tally->opcode, tally->opcodes);
    if (tally->priorities)
        dev_count_claims(rt, queue->setup.tenant, tally->priority, tally->priorities);
    tally->opcodes = 0;
    tally->priorities = 0;
}

DEV_FN void dev_tally(struct dev_runtime *rt, const struct dev_queue *queue,
                      struct dev_tally *tally, const uint32_t *slot)
{
    if (slot[VYRE_SLOT_OPCODE] != tally->opcode || slot[VYRE_SLOT_PRIORITY] != tally->priority) {
        dev_tally_flush(rt, queue, tally);
        tally->opcode = slot[VYRE_SLOT_OPCODE];
        tally->priority = slot[VYRE_SLOT_PRIORITY];
    }
    tally->opcodes++;
    tally->priorities++;
}

/*
 * Whether the poller runs this slot in place: a small operation, not below NORMAL, while nothing as
 * urgent waits. LOW and IDLE always go through the run queues, where more urgent work passes them.
 */
DEV_FN int dev_in_place(const uint32_t *slot, uint32_t waiting_mask)
{
    uint32_t priority = slot[VYRE_SLOT_PRIORITY];
    return slot[VYRE_SLOT_STATUS] == VYRE_SLOT_PUBLISHED && priority <= VYRE_PRIORITY_NORMAL &&
           (waiting_mask & ((2u << priority) - 1)) == 0 &&
           dev_builtin_small(slot[VYRE_SLOT_OPCODE], slot + VYRE_SLOT_ARG0);
}

/* How the slots of a batch ended. */
struct dev_batch_ends {
    uint32_t count;
    struct dev_end end[DEV_BATCH];
    uint32_t result[DEV_BATCH][VYRE_COMPLETION_RESULTS];
};

/* Runs one small slot; its end goes to place k. */
DEV_FN void dev_run_small(struct dev_call *call, const uint32_t *slot, struct dev_batch_ends *ends,
                          uint32_t k)
{
    struct dev_end *end = &ends->end[k];
    call->arg = slot + VYRE_SLOT_ARG0;
    call->ticket = end->ticket;
    call->pc = 0;
    call->steps = 0;
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        call->result[i] = 0;
    end->fault = dev_slot_run(call, end->opcode);
    end->pc = call->pc;
    end->steps = call->steps;
    end->result = ends->result[k];
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        ends->result[k][i] = call->result[i];
}

/* Runs n slots, as far as there is something to run, and counts them. A NOP has no place in `ends`.
 */
DEV_FN void dev_run_batch(struct dev_runtime *rt, struct dev_queue *queue,
                          const struct dev_batch *batch, uint32_t first,
                          struct dev_batch_ends *ends)
{
    struct dev_tally tally = {0, 0, 0, 0};
    struct dev_call call;
    call.rt = rt;
    call.entry = NULL;
    call.tenant = queue->setup.tenant;
    for (uint32_t k = 0; k < ends->count; k++) {
        const uint32_t *slot = dev_batch_slot(batch, first + k);
        dev_tally(rt, queue, &tally, slot);
        if (slot[VYRE_SLOT_OPCODE] == VYRE_OP_NOP) continue;
        uint64_t ticket = queue->head + k;
        ends->end[k] = dev_end_fault(ticket, slot[VYRE_SLOT_OPCODE], 0);
        call.place = (uint32_t)ticket & (queue->setup.slots - 1);
        dev_run_small(&call, slot, ends, k);
    }
    dev_tally_flush(rt, queue, &tally);
    dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], ends->count);
}

/*
 * Runs n slots in place. Their completion entries are reserved at once, for each ends in exactly
 * one. All are run and counted before the first entry is written: whoever sees an end finds it
 * counted, and an atomic operation would wait for the stores before it, while the lines of the
 * entries are still with the host.
 */
DEV_FN void dev_run_in_place(struct dev_runtime *rt, struct dev_queue *queue,
                             const struct dev_batch *batch, uint32_t first, uint32_t n)
{
    struct dev_batch_ends ends;
    struct dev_end nop = dev_end_fault(queue->head, VYRE_OP_NOP, 0);
    nop.steps = 1;
    ends.count = n;
    dev_run_batch(rt, queue, batch, first, &ends);
    uint64_t index = dev_complete_reserve(queue, n);
    for (uint32_t k = 0; k < n; k++, nop.ticket++) {
        if (dev_batch_slot(batch, first + k)[VYRE_SLOT_OPCODE] == VYRE_OP_NOP)
            dev_complete_entry(queue, index + k, &nop);
        else
            dev_complete_entry(queue, index + k, &ends.end[k]);
    }
}

#endif
