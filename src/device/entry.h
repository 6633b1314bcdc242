/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The life of an entry of the in-flight table: filled by the poller, run by a worker, ended once.
 * While a slot has an entry it can be seen, cancelled and waited for.
 */
#ifndef VYRE_DEVICE_ENTRY_H
#define VYRE_DEVICE_ENTRY_H

#include "device/builtin_run.h"
#include "device/complete.h"
#include "device/grid.h"
#include "device/hold.h"
#include "device/runq.h"

/* What comes with a slot to be taken. */
struct dev_taking {
    const uint32_t *slot;
    const struct dev_params *params; /* NULL: none */
    uint64_t ticket;
    uint64_t deadline_ns; /* 0: none */
};

/* Puts a checked slot into an entry that was taken. (sched) */
DEV_FN void dev_entry_fill(struct dev_runtime *rt, uint32_t index, struct dev_queue *queue,
                           const struct dev_taking *taking)
{
    struct dev_inflight *entry = &rt->inflight[index];
    uint32_t version = entry->version + 1;
    dev_store_relaxed(&entry->version, version);
    /* R12 pairs with A12 in tenant.c: who sees one of the new words sees that the version moved. */
    for (uint32_t i = VYRE_SLOT_OPCODE; i < VYRE_SLOT_WORDS; i++)
        dev_store_table(&entry->slot[i],
                        i == VYRE_SLOT_TENANT ? queue->setup.tenant : taking->slot[i]);
    entry->ticket = taking->ticket;
    entry->deadline_ns = taking->deadline_ns;
    entry->taken_ns = dev_clock_ns();
    dev_store_table(&entry->queue, (uint32_t)(queue - rt->queues)); /* R12 */
    entry->operation = DEV_NONE;
    entry->run = DEV_NONE;
    dev_store_relaxed(&entry->cancel, 0);
    entry->place = (uint32_t)taking->ticket & (queue->setup.slots - 1);
    dev_store_relaxed(&entry->slot[VYRE_SLOT_STATUS], VYRE_SLOT_PUBLISHED);
    dev_store_table(&entry->version, version + 1); /* R13 pairs with A13 */
}

/* The same with a free entry; there is one. (sched) */
DEV_FN uint32_t dev_entry_take(struct dev_runtime *rt, struct dev_queue *queue,
                               const struct dev_taking *taking)
{
    uint32_t index = dev_entry_spare(rt, 0);
    dev_entries_taken(rt, 1);
    dev_entry_fill(rt, index, queue, taking);
    return index;
}

/*
 * How many entries are kept for system operations that wait. The host has no more of them under way
 * (system.c), so one of these always finds an entry, and never takes one from the slots that it
 * waits for.
 */
DEV_FN uint32_t dev_system_share(uint32_t inflight_slots)
{
    return inflight_slots / 4 < DEV_SYSTEM_ENTRIES ? inflight_slots / 4 : DEV_SYSTEM_ENTRIES;
}

/* What decides whether there is room for more slots of a queue, as it was when it was looked at.
 * Only the poller takes, so no room vanishes. */
struct dev_spare {
    uint32_t entries; /* that are free */
    uint32_t kept;    /* of these for system operations */
    uint32_t inflight;
    uint32_t runs; /* that are free */
    uint32_t running;
};

/* All words are on their way together. */
DEV_FN struct dev_spare dev_spare_look(const struct dev_runtime *rt, const struct dev_queue *queue)
{
    struct dev_spare spare;
    spare.entries = dev_load_relaxed(&rt->free_count);
    spare.kept = dev_load_relaxed(&rt->waiting_ops);
    spare.inflight = dev_load_relaxed(&queue->inflight);
    spare.runs = dev_load_relaxed(&rt->free_runs);
    spare.running = dev_load_relaxed(&queue->runs);
    const uint32_t share = dev_system_share(rt->inflight_slots);
    spare.kept = spare.kept < share ? share - spare.kept : 0;
    return spare;
}

/* Whether there is room for an entry behind `ahead` others of the same queue. */
DEV_FN int dev_entry_room(const struct dev_spare *spare, uint32_t ahead)
{
    uint32_t taken = spare->kept + ahead;
    return spare->entries > taken &&
           spare->inflight + ahead < DEV_TABLE_SHARE * (spare->entries - taken);
}

/* Whether there is a free run for one of them that names a program: as for entries, the last ones
 * are for the other queues. */
DEV_FN int dev_run_room(const struct dev_spare *spare, uint32_t ahead)
{
    return spare->runs > ahead && spare->running + ahead < DEV_TABLE_SHARE * (spare->runs - ahead);
}

/* Gives an entry back after its slot has ended; that of a run is given up by the slot and by the
 * caller, who holds it `holds` times in all. The count of the queue goes last (R4): it lets a fence
 * or a close go on. */
DEV_FN void dev_entry_end(struct dev_runtime *rt, uint32_t index, const struct dev_end *end,
                          uint32_t holds)
{
    struct dev_inflight *entry = &rt->inflight[index];
    struct dev_queue *queue = &rt->queues[entry->queue];
    dev_store_relaxed(&entry->slot[VYRE_SLOT_STATUS],
                      end->fault ? (uint32_t)VYRE_SLOT_FAULT : (uint32_t)VYRE_SLOT_DONE);
    dev_complete(rt, queue, end); /* somebody waits for it; nobody for what it held */
    dev_slot_drop(rt, entry->slot, entry->operation);
    if (entry->run != DEV_NONE) {
        dev_sub_release(&queue->runs, 1);
        dev_run_drop(rt, index, holds);
    } else {
        dev_lock(&rt->sched);
        dev_entry_give(rt, index);
        dev_unlock(&rt->sched);
    }
    dev_sub_release(&queue->inflight, 1); /* R4 pairs with A4 */
    dev_add_release(&rt->ends, 1);        /* R11 pairs with A11: who sees it sees the count */
}

/* One turn at a slot that runs a program; the last worker ends it. */
DEV_FN void dev_entry_program(struct dev_runtime *rt, uint32_t index, uint32_t worker,
                              struct dev_frame *room, uint32_t frame)
{
    struct dev_inflight *entry = &rt->inflight[index];
    uint32_t result[VYRE_COMPLETION_RESULTS];
    if (!dev_run_turn(rt, index, worker, room, frame)) return;
    DEV_FIRST
    {
        const struct dev_run *run = &rt->runs[entry->run];
        struct dev_end end = dev_end_fault(entry->ticket, entry->slot[VYRE_SLOT_OPCODE], 0);
        dev_run_result(run, &end, result);
        if (room != NULL)
            result[DEV_RESULT_FAR] =
                dev_warp_far((const struct vm_header *)(uintptr_t)rt->handles[run->program].address,
                             rt->room_bytes);
        dev_metric(rt, end.opcode, 1);
        dev_count_claims(rt, entry->slot[VYRE_SLOT_TENANT], entry->slot[VYRE_SLOT_PRIORITY], 1);
        dev_entry_end(rt, index, &end, 2);
    }
}

/* Makes ready to run the slot of an entry: the call is filled, the run counted. Returns its fault,
 * if it is to end at once. */
DEV_FN uint32_t dev_entry_begin(struct dev_runtime *rt, struct dev_inflight *entry,
                                struct dev_call *call)
{
    uint32_t fault = dev_entry_stopped(rt, entry);
    if (fault != VYRE_FAULT_NONE) return fault;
    call->rt = rt;
    call->entry = entry;
    call->arg = entry->slot + VYRE_SLOT_ARG0;
    call->ticket = entry->ticket;
    call->tenant = entry->slot[VYRE_SLOT_TENANT];
    call->place = entry->place;
    call->pc = 0;
    call->steps = 0;
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        call->result[i] = 0;
    dev_metric(rt, entry->slot[VYRE_SLOT_OPCODE], 1);
    dev_count_claims(rt, call->tenant, entry->slot[VYRE_SLOT_PRIORITY], 1);
    return VYRE_FAULT_NONE;
}

/* Ends an entry that was run; call NULL: it was not. */
DEV_FN void dev_entry_finish(struct dev_runtime *rt, uint32_t index, const struct dev_call *call,
                             uint32_t fault)
{
    const struct dev_inflight *entry = &rt->inflight[index];
    struct dev_end end = dev_end_fault(entry->ticket, entry->slot[VYRE_SLOT_OPCODE], fault);
    if (call != NULL) {
        end.pc = call->pc;
        end.steps = call->steps;
        end.result = call->result;
    }
    dev_entry_end(rt, index, &end, 0);
}

/* Runs the slot of an entry and ends it. The caller has it to itself. */
DEV_FN void dev_entry_run(struct dev_runtime *rt, uint32_t index)
{
    struct dev_inflight *entry = &rt->inflight[index];
    struct dev_call call;
    uint32_t fault = dev_entry_begin(rt, entry, &call);
    int ran = fault == VYRE_FAULT_NONE;
    if (ran) fault = dev_slot_run(&call, entry->slot[VYRE_SLOT_OPCODE]);
    dev_entry_finish(rt, index, ran ? &call : NULL, fault);
}

#endif
