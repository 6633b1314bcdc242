/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chunks: up to 32 plain slots of one queue, run by one warp of a resident kernel. The warp copies
 * them across the link in wide loads, each lane checks and runs one, and the completions go back in
 * wide stores, their laps last.
 *
 * The poller has looked at none of these slots: the bell says that all are plain, and a slot that
 * is not, or that does not fit its seal, faults here. What a chunk reads besides the slots was
 * written by the device.
 */
#ifndef VYRE_DEVICE_CHUNK_H
#define VYRE_DEVICE_CHUNK_H

#include "device/handover.h"
#include "device/inplace.h"
#include "device/warp.h"

/* Slots in a warp's own memory, which is shared memory on a GPU. Rows have four words more than
 * they need, so that lanes that read the same column of different rows do not get in each other's
 * way.
 */
#define DEV_ROW_WORDS (VYRE_SLOT_WORDS + 4u)

struct dev_rows {
    uint32_t row[DEV_BATCH][DEV_ROW_WORDS];
};

/* The poller's. */
struct dev_room {
    struct dev_rows rows;
    struct dev_batch batch;
};

/* How often a chunk reads slots whose seals do not fit before they fault. */
#define DEV_CHUNK_LOOKS 256u

/* Copies n slots from a ring into rows, four lanes a slot. */
DEV_FN void dev_rows_load(struct dev_rows *rows, const struct dev_queue_setup *setup,
                          uint64_t first, uint32_t n)
{
    const struct dev_word128 *ring = (const struct dev_word128 *)(const void *)setup->submission;
    struct dev_word128 part[4 * DEV_WARP_ROLES];
    DEV_ROLES(i)
    {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t row = k * 8 + i / 4;
            uint32_t place = ((uint32_t)first + row) & (setup->slots - 1);
            if (row < n) part[4 * DEV_MINE(i) + k] = dev_load128_relaxed(&ring[place * 4 + i % 4]);
        }
    }
    DEV_ROLES(i)
    {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t row = k * 8 + i / 4;
            if (row >= n) continue;
            *(struct dev_word128 *)(void *)&rows->row[row][i % 4 * 4] = part[4 * DEV_MINE(i) + k];
        }
    }
    dev_warp_sync();
}

/* What keeps a copied slot from being run in place, or 0. */
DEV_FN uint32_t dev_plain_check(const uint32_t *slot)
{
    if (slot[VYRE_SLOT_STATUS] != VYRE_SLOT_PUBLISHED) return VYRE_FAULT_NOT_PUBLISHED;
    if (slot[VYRE_SLOT_PRIORITY] >= VYRE_PRIORITIES) return VYRE_FAULT_BAD_PRIORITY;
    if (slot[VYRE_SLOT_OPCODE] == VYRE_OP_SHUTDOWN) return VYRE_FAULT_NOT_PERMITTED;
    if (!dev_in_place(slot, 0)) return VYRE_FAULT_NOT_PLAIN;
    return VYRE_FAULT_NONE;
}

/* Reads slots until all fit their seals, or for long enough; bit i of the answer: row i never did.
 */
DEV_FN uint32_t dev_rows_certify(const struct dev_runtime *rt, struct dev_rows *rows,
                                 const struct dev_task *task)
{
    const struct dev_queue *queue = &rt->queues[task->queue];
    uint64_t first = task->first;
    uint32_t n = task->count;
    for (uint32_t looks = 0;; looks++) {
        uint32_t torn[DEV_WARP_ROLES];
        dev_rows_load(rows, &queue->setup, first, n);
        DEV_ROLES(i)
        {
            uint32_t lap = (uint32_t)((first + i) >> queue->log2_slots) + 1;
            torn[DEV_MINE(i)] = i < n && queue->setup.sealed != 0 &&
                                vyre_seal(rows->row[i], lap) != rows->row[i][VYRE_SLOT_TENANT];
        }
        uint32_t mask = dev_warp_ballot(torn);
        if (mask == 0 || looks == DEV_CHUNK_LOOKS) return mask;
        if (dev_warp_first(dev_load_relaxed(&rt->shutdown))) return mask;
        dev_warp_sync();
    }
}

/* The words of a completion, without its lap. */
DEV_FN void dev_row_end(uint32_t *row, const struct dev_end *end)
{
    row[VYRE_COMPLETION_TICKET_LOW] = (uint32_t)end->ticket;
    row[VYRE_COMPLETION_TICKET_HIGH] = (uint32_t)(end->ticket >> 32);
    row[VYRE_COMPLETION_STATUS] =
        end->fault ? (uint32_t)VYRE_SLOT_FAULT | end->fault << 16 : (uint32_t)VYRE_SLOT_DONE;
    row[VYRE_COMPLETION_PROGRAM] = end->opcode;
    row[VYRE_COMPLETION_PC] = end->pc;
    row[VYRE_COMPLETION_OUT_OF_BOUNDS] = end->out_of_bounds;
    row[VYRE_COMPLETION_STEPS] = end->steps;
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        row[VYRE_COMPLETION_RESULT0 + i] = end->result[i];
}

/* Runs the slot of one row; the row becomes the completion's words, without its lap. */
DEV_FN void dev_row_run(struct dev_runtime *rt, const struct dev_queue *queue, uint32_t *row,
                        uint64_t ticket, uint32_t torn)
{
    struct dev_call call;
    uint32_t opcode = torn ? 0 : row[VYRE_SLOT_OPCODE];
    uint32_t fault = torn ? (uint32_t)VYRE_FAULT_SEAL : dev_plain_check(row);
    /* A device that stops hands over whatever was published, to be ended unread. */
    if (dev_load_relaxed(&rt->shutdown)) fault = VYRE_FAULT_STOPPED;
    call.steps = 0;
    call.pc = 0;
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        call.result[i] = 0;
    if (fault == VYRE_FAULT_NONE) {
        call.steps = 1;
        if (opcode != VYRE_OP_NOP) {
            call.rt = rt;
            call.entry = NULL;
            call.arg = row + VYRE_SLOT_ARG0;
            call.ticket = ticket;
            call.tenant = queue->setup.tenant;
            call.place = (uint32_t)ticket & (queue->setup.slots - 1);
            call.steps = 0;
            fault = dev_slot_run(&call, opcode);
        }
    }
    struct dev_end end = dev_end_fault(ticket, opcode, fault);
    end.pc = call.pc;
    end.steps = call.steps;
    end.result = call.result;
    dev_row_end(row, &end);
}

/* Counts what is run, all rows but those in `skip`: at once where they are alike, as they are in a
 * flood. */
DEV_FN void dev_rows_count(struct dev_runtime *rt, const struct dev_queue *queue,
                           const struct dev_rows *rows, uint32_t n, uint32_t skip)
{
    const uint32_t *head = rows->row[0];
    uint32_t other[DEV_WARP_ROLES];
    DEV_ROLES(i)
    {
        other[DEV_MINE(i)] =
            i < n && (rows->row[i][VYRE_SLOT_OPCODE] != head[VYRE_SLOT_OPCODE] ||
                      rows->row[i][VYRE_SLOT_PRIORITY] != head[VYRE_SLOT_PRIORITY]);
    }
    uint32_t mixed = dev_warp_ballot(other) | skip;
    DEV_FIRST
    {
        dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], n);
        for (uint32_t i = 0; i < n && mixed != 0; i++) {
            if ((skip >> i & 1) != 0) continue;
            dev_metric(rt, rows->row[i][VYRE_SLOT_OPCODE], 1);
            dev_count_claims(rt, queue->setup.tenant, rows->row[i][VYRE_SLOT_PRIORITY], 1);
        }
        if (mixed == 0) {
            dev_metric(rt, head[VYRE_SLOT_OPCODE], n);
            dev_count_claims(rt, queue->setup.tenant, head[VYRE_SLOT_PRIORITY], n);
        }
    }
}

/* Writes n completions from rows: everything but the quarter with the lap, a fence (R2), then that.
 */
DEV_FN void dev_rows_store(const struct dev_rows *rows, const struct dev_queue *queue,
                           uint64_t index, uint32_t n)
{
    struct dev_word128 *ring = (struct dev_word128 *)(void *)queue->setup.completion;
    uint32_t mask = queue->setup.slots - 1;
    DEV_ROLES(i)
    {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t row = k * 8 + i / 4;
            uint32_t place = ((uint32_t)index + row) & mask;
            if (row >= n || i % 4 == VYRE_COMPLETION_LAP / 4) continue;
            dev_store128_relaxed(
                &ring[place * 4 + i % 4],
                *(const struct dev_word128 *)(const void *)&rows->row[row][i % 4 * 4]);
        }
    }
    dev_warp_sync();
    dev_fence_both(DEV_SYSTEM); /* R2 */
    DEV_ROLES(i)
    {
        uint32_t place = ((uint32_t)index + i) & mask;
        if (i < n)
            dev_store128_last(&ring[place * 4 + VYRE_COMPLETION_LAP / 4],
                              *(const struct dev_word128 *)(const void *)&rows->row[i][4]);
    }
}

/* Ends the n slots of a chunk: completions, then who waits for them. */
DEV_FN void dev_chunk_end(struct dev_runtime *rt, struct dev_rows *rows,
                          const struct dev_task *task)
{
    struct dev_queue *queue = &rt->queues[task->queue];
    DEV_ROLES(i)
    {
        if (i < task->count)
            rows->row[i][VYRE_COMPLETION_LAP] =
                dev_completion_lap_of(task->index + i, queue->log2_slots);
    }
    dev_warp_sync();
    dev_rows_store(rows, queue, task->index, task->count);
    dev_warp_sync();
    DEV_FIRST
    {
        dev_notify(queue);
        dev_sub_release(&queue->chunked, task->count); /* R14 pairs with A14 */
        dev_add_release(&rt->ends, 1);                 /* R11 pairs with A11 */
    }
}

/* What a chunk has found in its rows, a bit each. */
struct dev_chunk_rows {
    uint32_t torn;     /* they never fitted their seals */
    uint32_t refused;  /* they cannot be run in place */
    uint32_t programs; /* they name what may be a short program */
    uint32_t settled;  /* rt->settled before they were read; the first lane's */
};

DEV_FN struct dev_chunk_rows dev_chunk_read(const struct dev_runtime *rt, struct dev_rows *rows,
                                            const struct dev_task *task)
{
    struct dev_chunk_rows found;
    uint32_t refused[DEV_WARP_ROLES], programs[DEV_WARP_ROLES];
    found.settled = dev_load_relaxed(&rt->settled);
    found.torn = dev_rows_certify(rt, rows, task);
    DEV_ROLES(i)
    {
        const uint32_t *row = rows->row[i];
        uint32_t fault = i < task->count ? dev_plain_check(row) : (uint32_t)VYRE_FAULT_NONE;
        refused[DEV_MINE(i)] = fault != VYRE_FAULT_NONE;
        programs[DEV_MINE(i)] = fault == VYRE_FAULT_NOT_PLAIN &&
                                row[VYRE_SLOT_PRIORITY] <= VYRE_PRIORITY_NORMAL &&
                                row[VYRE_SLOT_OPCODE] >= DEV_PACKED_OPCODES;
    }
    found.programs = dev_warp_ballot(programs) & ~found.torn;
    found.refused = dev_warp_ballot(refused) & ~found.programs;
    return found;
}

/* Runs a chunk without programs and ends its slots. */
DEV_FN void dev_chunk_run(struct dev_runtime *rt, struct dev_rows *rows,
                          const struct dev_task *task, const struct dev_chunk_rows *found)
{
    struct dev_queue *queue = &rt->queues[task->queue];
    DEV_FIRST dev_record_write(rt->handover, task->number, task, queue->opened);
    dev_rows_count(rt, queue, rows, task->count, found->torn | found->refused);
    dev_warp_sync();
    DEV_ROLES(i)
    {
        if (i < task->count)
            dev_row_run(rt, queue, rows->row[i], task->first + i, found->torn >> i & 1);
    }
    dev_chunk_end(rt, rows, task);
}

static_assert(VYRE_COMPLETION_LAP == 7, "the last word of the second quarter");

#endif
