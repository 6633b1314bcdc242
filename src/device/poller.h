/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The poller's role: looking at the doorbells, copying each submitted slot once, checking it, and
 * either running it in place, or handing it to the run queues, or asking the pump for it, or ending
 * it with a fault. One worker at a time has the role; whoever holds it owns everything that
 * layout.h marks (poller).
 *
 * A slot is believed only after it was copied: what its producer does to the ring afterwards
 * changes nothing.
 */
#ifndef VYRE_DEVICE_POLLER_H
#define VYRE_DEVICE_POLLER_H

#include "device/inplace.h"
#include "device/packed.h"
#include "device/system_run.h"

/* The parameter block of a slot, or NULL: it has none. */
DEV_FN const struct dev_params *dev_slot_params(const struct dev_queue *queue, uint64_t ticket)
{
    const struct dev_params *params =
        &queue->setup.params[(uint32_t)ticket & (queue->setup.slots - 1)];
    return dev_load64_relaxed(&params->ticket) == ticket ? params : NULL;
}

/* The same of slot k of a batch, which begins at the queue's head less k. */
DEV_FN const struct dev_params *dev_batch_params(const struct dev_queue *queue,
                                                 const struct dev_batch *batch, uint32_t k)
{
    if (batch->owners && batch->owner[k] != queue->head) return NULL;
    return dev_slot_params(queue, queue->head);
}

/* Clears the cancel bit of a slot; non-zero if it was set. */
DEV_FN uint32_t dev_cancel_bit(struct dev_queue *queue, uint64_t ticket)
{
    uint32_t place = (uint32_t)ticket & (queue->setup.slots - 1);
    uint32_t bit = 1u << place % 32;
    uint32_t set = queue->setup.cancel_bits[place / 32] & bit;
    if (set) {
        queue->setup.cancel_bits[place / 32] &= ~bit;
        queue->cancel_pending--;
    }
    return set;
}

/* What is wrong with a copied slot before its operands are looked at, or 0. */
DEV_FN uint32_t dev_slot_check(struct dev_runtime *rt, struct dev_queue *queue,
                               struct dev_taking *taking)
{
    const uint32_t *slot = taking->slot;
    uint32_t cancelled = queue->cancel_pending ? dev_cancel_bit(queue, taking->ticket) : 0;
    taking->deadline_ns =
        taking->params != NULL ? dev_load64_relaxed(&taking->params->deadline_ns) : 0;
    if (dev_load_relaxed(&rt->shutdown)) return VYRE_FAULT_STOPPED;
    if (slot[VYRE_SLOT_STATUS] != VYRE_SLOT_PUBLISHED) return VYRE_FAULT_NOT_PUBLISHED;
    if (slot[VYRE_SLOT_PRIORITY] >= VYRE_PRIORITIES) return VYRE_FAULT_BAD_PRIORITY;
    if (slot[VYRE_SLOT_OPCODE] == VYRE_OP_SHUTDOWN) return VYRE_FAULT_NOT_PERMITTED;
    if (cancelled) return VYRE_FAULT_CANCELLED;
    if (taking->deadline_ns != 0 && dev_clock_ns() > taking->deadline_ns)
        return VYRE_FAULT_DEADLINE;
    return VYRE_FAULT_NONE;
}

DEV_FN int dev_slot_is_fence(const uint32_t *slot)
{
    return slot[VYRE_SLOT_OPCODE] == VYRE_OP_BATCH_FENCE ||
           (slot[VYRE_SLOT_OPCODE] == VYRE_OP_PACKED_SLOT &&
            dev_packed_has_fence(slot + VYRE_SLOT_ARG0));
}

/* Nothing more is taken from the queue until its slots in flight have ended. */
DEV_FN void dev_barrier_set(struct dev_runtime *rt, struct dev_queue *queue, uint32_t on)
{
    queue->barrier = on;
    dev_store_relaxed(&rt->watch[queue->watch].blocked, on);
    dev_store_relaxed(&rt->barriers, rt->barriers + (on ? 1u : 0xFFFFFFFFu));
}

/* 1 where the queue need not wait any longer; a fence that waited is run, or handed over if it does
 * more. */
DEV_FN int dev_barrier_lift(struct dev_runtime *rt, struct dev_queue *queue)
{
    if (!dev_queue_ended(queue)) return 0;
    dev_barrier_set(rt, queue, 0);
    uint32_t index = queue->fence;
    if (index == DEV_NONE) return 1;
    queue->fence = DEV_NONE;
    dev_add_relaxed(&queue->inflight, 1);
    if (rt->inflight[index].slot[VYRE_SLOT_OPCODE] == VYRE_OP_BATCH_FENCE) {
        dev_store_relaxed(&rt->inflight[index].slot[VYRE_SLOT_STATUS], VYRE_SLOT_CLAIMED);
        dev_entry_run(rt, index);
        return 1;
    }
    dev_barrier_set(rt, queue, 1);
    dev_lock(&rt->sched);
    dev_runq_push(rt, index, rt->inflight[index].taken_ns);
    dev_unlock(&rt->sched);
    return 0;
}

/* Whether workers are told of a run directly: in a resident kernel, unless something as urgent
 * waits, or less urgent work should let more urgent work pass. (sched) */
DEV_FN int dev_run_spreads(const struct dev_runtime *rt, uint32_t waiting, uint32_t priority)
{
    return rt->room_bytes != 0 && priority <= VYRE_PRIORITY_NORMAL &&
           (waiting & ((2u << priority) - 1)) == 0;
}

/* The entry of a run that workers are told of directly: nobody takes it out of a run queue. */
DEV_FN void dev_run_claimed(struct dev_inflight *entry)
{
    dev_store_relaxed(&entry->slot[VYRE_SLOT_STATUS], VYRE_SLOT_CLAIMED);
    dev_store64_relaxed(&entry->claimed_ns, entry->taken_ns);
}

/* Workers are to be told of the run of this entry; see post.h. */
DEV_FN void dev_run_spread(struct dev_runtime *rt, uint32_t index)
{
    rt->inflight[index].next = DEV_NONE;
    if (rt->spread == DEV_NONE)
        rt->spread = index;
    else
        rt->inflight[rt->spread_last].next = index;
    rt->spread_last = index;
}

/*
 * Takes one slot through the in-flight table: ends it with a fault, or hands it to the run queues,
 * or lets it wait as a fence. 0: there is no room now, the slot stays where it is.
 */
DEV_FN int dev_accept(struct dev_runtime *rt, struct dev_queue *queue, struct dev_taking *taking)
{
    const uint32_t *slot = taking->slot;
    uint64_t ticket = taking->ticket;
    struct dev_hold hold = {DEV_NONE, 0};
    /* One that ends here needs no room; its cancel bit is then gone with it. */
    uint32_t fault = dev_slot_check(rt, queue, taking);
    const struct dev_spare spare = dev_spare_look(rt, queue);
    if (fault == VYRE_FAULT_NONE && !dev_entry_room(&spare, 0)) return 0;
    rt->late = dev_grace_late(rt, queue, ticket);
    if (fault == VYRE_FAULT_NONE) fault = dev_slot_hold(rt, slot, queue->setup.tenant, &hold);
    if (fault != VYRE_FAULT_NONE) {
        struct dev_end end = dev_end_fault(ticket, slot[VYRE_SLOT_OPCODE], fault);
        end.pc = hold.pc;
        dev_complete(rt, queue, &end);
        return 1;
    }
    int program = hold.operation != DEV_NONE && rt->handles[hold.operation].kind == DEV_PROGRAM;
    if (program && !dev_run_room(&spare, 0)) {
        dev_slot_drop(rt, slot, hold.operation);
        return 0;
    }
    int fence = dev_slot_is_fence(slot);
    int io = slot[VYRE_SLOT_OPCODE] == VYRE_OP_LOAD_MISS;
    queue->mixed = 1;
    dev_lock(&rt->sched);
    uint32_t index = dev_entry_take(rt, queue, taking);
    rt->inflight[index].operation = hold.operation;
    int spread = program && dev_run_spreads(rt, rt->waiting_mask, slot[VYRE_SLOT_PRIORITY]);
    if (program) {
        uint32_t run = dev_run_spare(rt, 0);
        dev_runs_taken(rt, 1);
        dev_run_fill(&rt->runs[run], slot, hold.operation, taking->params);
        rt->inflight[index].run = run;
        rt->runs[run].queued = !spread;
        dev_add_relaxed(&queue->runs, 1);
    }
    if (!fence) {
        dev_add_relaxed(&queue->inflight, 1);
        if (spread) {
            dev_run_claimed(&rt->inflight[index]);
            dev_run_spread(rt, index);
        } else if (!io)
            dev_runq_push(rt, index, rt->inflight[index].taken_ns);
    }
    dev_unlock(&rt->sched);
    if (io) dev_io_accept(rt, index);
    if (fence) {
        queue->fence = index;
        dev_barrier_set(rt, queue, 1);
        dev_barrier_lift(rt, queue);
    }
    return 1;
}

/* Runs a slot under the ticket that it had on a device that is gone. 0: no room now. */
DEV_NO_INLINE int dev_sys_replay(struct dev_runtime *rt, const uint32_t *arg, uint32_t *result)
{
    const struct dev_replay *replay = (const struct dev_replay *)(uintptr_t)dev_pair(&arg[3]);
    struct dev_taking taking;
    if (arg[0] == 0 || arg[0] >= rt->max_queues || !rt->queues[arg[0]].open) {
        *result = VYRE_FAULT_BAD_HANDLE;
        return 1;
    }
    if (rt->queues[arg[0]].barrier) return 0; /* a fence holds those behind it, and has one place */
    taking.slot = replay->slot;
    taking.ticket = dev_pair(&arg[1]);
    taking.params = replay->params.ticket == taking.ticket ? &replay->params : NULL;
    return dev_accept(rt, &rt->queues[arg[0]], &taking);
}

/* Whether the slots of this queue may be run in place at all just now. The last parameter block is
 * never further ahead than the ring; how far behind it lies says nothing, it may be laps of 32
 * bits. */
DEV_FN int dev_plain(const struct dev_runtime *rt, const struct dev_queue *queue, uint32_t special)
{
    return queue->cancel_pending == 0 && !dev_load_relaxed(&rt->shutdown) &&
           special - (uint32_t)queue->head - 1u >= queue->setup.slots;
}

/* Takes copied slots one after the other; returns how many. */
DEV_FN uint32_t dev_take(struct dev_runtime *rt, struct dev_watch *watch,
                         const struct dev_batch *batch, uint32_t n)
{
    struct dev_queue *queue = &rt->queues[watch->queue];
    uint32_t taken = 0;
    uint32_t told = batch->told;
    int in_place = 0;
    while (taken < n && !queue->barrier) {
        uint32_t run = taken;
        if (dev_plain(rt, queue, batch->special)) {
            uint32_t mask = dev_load_relaxed(&rt->waiting_mask);
            while (run < n && dev_in_place(dev_batch_slot(batch, run), mask))
                run++;
        }
        if (run > taken) {
            dev_run_in_place(rt, queue, batch, taken, run - taken);
            in_place = 1;
        } else {
            /* What queue 0 was told before this slot was published counts for it; and all slots of
             * the batch were published before it was copied. */
            if (!told && dev_watch_news(&rt->watch[0])) dev_poll_system(rt);
            told = 1;
            struct dev_taking taking;
            taking.slot = dev_batch_slot(batch, taken);
            taking.ticket = queue->head;
            taking.params = dev_batch_params(queue, batch, taken);
            if (!dev_accept(rt, queue, &taking)) break;
            run = taken + 1;
        }
        dev_head_advance(queue, watch, run - taken);
        taken = run;
    }
    if (in_place) dev_notify(queue);
    return taken;
}

/* Takes the n slots that were copied and fit their seals. None: the slot at the head is read again,
 * until it has had its share of polls. Returns how many were taken or ended. */
DEV_FN uint32_t dev_poll_copied(struct dev_runtime *rt, struct dev_watch *watch,
                                const struct dev_batch *batch, uint32_t n)
{
    struct dev_queue *queue = &rt->queues[watch->queue];
    uint32_t taken = 0;
    if (n != 0) {
        queue->seal_misses = 0;
        taken = dev_take(rt, watch, batch, n);
    } else if (dev_load_relaxed(&rt->shutdown) || ++queue->seal_misses > rt->seal_polls) {
        uint32_t fault = dev_load_relaxed(&rt->shutdown) ? (uint32_t)VYRE_FAULT_STOPPED
                                                         : (uint32_t)VYRE_FAULT_SEAL;
        struct dev_end end = dev_end_fault(queue->head, 0, fault);
        queue->seal_misses = 0;
        if (queue->cancel_pending) dev_cancel_bit(queue, queue->head);
        dev_complete(rt, queue, &end);
        dev_head_advance(queue, watch, 1);
        taken = 1;
    }
    if (taken != 0) dev_vitals_taken(rt, queue, watch->queue);
    return taken;
}

/* Takes what a queue has, up to a batch; returns how many slots, a fence that went on counted
 * too. */
DEV_FN uint32_t dev_poll_queue(struct dev_runtime *rt, struct dev_watch *watch,
                               struct dev_batch *batch)
{
    struct dev_queue *queue = &rt->queues[watch->queue];
    uint32_t lifted = queue->barrier, fence = queue->fence;
    if (lifted && !dev_barrier_lift(rt, queue))
        return queue->fence != fence; /* handed to the run queues: somebody may have to wake */
    uint32_t tail = dev_load_acquire(&queue->setup.bell->tail, DEV_SYSTEM); /* A1 pairs with R1 */
    uint32_t published = tail - (uint32_t)queue->head;
    if (published == 0 || published > queue->setup.slots) return lifted;
    uint32_t n = dev_batch_copy(queue, batch, published < DEV_BATCH ? published : DEV_BATCH);
    return lifted + dev_poll_copied(rt, watch, batch, n);
}

/* One look at queue 0, then at every other queue, each first in its turn; returns how much was
 * taken or ended. */
DEV_FN uint32_t dev_poll_pass(struct dev_runtime *rt, struct dev_batch *batch)
{
    uint32_t progress = rt->waiting_list != DEV_NONE ? dev_system_retry(rt) : 0;
    if (dev_watch_news(&rt->watch[0])) progress += dev_poll_system(rt);
    uint32_t count = rt->watch_count;
    uint32_t at = rt->watch_turn < count ? rt->watch_turn : 1;
    rt->watch_turn = at + 1;
    for (uint32_t i = 1; i < count; i++) {
        struct dev_watch *watch = &rt->watch[at];
        if (dev_watch_news(watch) || watch->blocked) progress += dev_poll_queue(rt, watch, batch);
        if (++at >= count) at = 1;
    }
    if (dev_io_active(rt)) progress += dev_io_pass(rt);
    return progress;
}

/* All that was published has been taken and has ended: ends what waits on queue 0, says where each
 * queue ended, and that the device is gone. */
DEV_FN void dev_last_words(struct dev_runtime *rt)
{
    /* What still waits on queue 0 was taken, so nobody would count it as lost. */
    for (uint32_t i = rt->waiting_list; i != DEV_NONE; i = rt->inflight[i].next) {
        const struct dev_inflight *entry = &rt->inflight[i];
        struct dev_end end =
            dev_end_fault(entry->ticket, entry->slot[VYRE_SLOT_OPCODE], VYRE_FAULT_STOPPED);
        dev_complete(rt, &rt->queues[0], &end);
    }
    for (uint32_t i = 0; i < rt->watch_count; i++) {
        struct dev_queue *queue = &rt->queues[rt->watch[i].queue];
        dev_store_relaxed(&queue->setup.page->final_head, (uint32_t)queue->head);
    }
    dev_vitals_pulse(rt, dev_clock_ns());
    dev_store_release(&rt->page->state, DEV_GONE, DEV_SYSTEM); /* R6 pairs with A6 in reap.c */
    for (uint32_t i = 0; i < rt->watch_count; i++)
        dev_notify(&rt->queues[rt->watch[i].queue]);
}

#endif
