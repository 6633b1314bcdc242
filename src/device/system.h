/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Queue 0, the privileged system queue: the only way in which a running device is changed. Its
 * slots are run by the holder of the poller's role, so they need no lock against the poller.
 *
 * What has to wait for others (a drop for the slots that use the handle, a close for those in
 * flight) waits in the in-flight table as REQUEUE and is looked at again on every pass.
 */
#ifndef VYRE_DEVICE_SYSTEM_H
#define VYRE_DEVICE_SYSTEM_H

#include "device/complete.h"
#include "device/frame.h"
#include "device/grace.h"
#include "device/hold.h"
#include "device/runq.h"
#include "device/vitals.h"

/* Opcodes of queue 0; outside it they are unknown. SHUTDOWN is the wire format's own. */
enum dev_system_opcode {
    DEV_SYS_INSTALL =
        0x100, /* handle kind owner rights address(2) bytes(2) opcode read write steps; of a native
                  operation its ctx in place of bytes; result 0: a fault */
    DEV_SYS_DROP = 0x101,   /* handle */
    DEV_SYS_CANCEL = 0x102, /* queue ticket(2) coming; result 0: 1 found, 0 not. `coming` 1: the
                               next REPLAY brings it */
    DEV_SYS_QUEUE_OPEN =
        0x103,                   /* queue shape mapping(2) bell(2) cancel-bits(2) first-ticket(2)
                                    first-completion(2); see dev_queue_shape and struct dev_held_bell */
    DEV_SYS_QUEUE_CLOSE = 0x104, /* queue; with DEV_QUEUE_STAYS it is only waited for */
    DEV_SYS_FRAMES = 0x105,      /* address(2): where frames lie; once, before the first program */
    DEV_SYS_PARK = 0x106,        /* all; the resident kernel leaves the GPU as soon as what runs has
                                    ended, `all` 1: also what waits for input or output, and waits to be
                                    woken; nothing where workers are threads */
    DEV_SYS_REPLAY = 0x107, /* queue ticket(2) address(2) of a struct dev_replay: a slot that was
                               submitted to a device that is gone runs under its old ticket */
    DEV_SYS_IO = 0x108      /* address(2) chunks: the mapping of io_ring.h; once */
};

/*
 * A queue that is opened with this flag, beside those of enum dev_queue_flag, is held: nothing is
 * taken from its ring until a second QUEUE_OPEN of its number lets it go. So what REPLAY runs is in
 * front of all that the ring holds, of fences too. In place of its bell's address stands that of a
 * struct dev_held_bell, in memory that only the device and its host see.
 */
#define DEV_QUEUE_HELD 4u

/* A QUEUE_CLOSE of number | DEV_QUEUE_STAYS ends when nothing of the queue is in flight, and leaves
 * it open. */
#define DEV_QUEUE_STAYS 0x80000000u

/* queue->open of one that is held. */
#define DEV_OPEN_HELD 2u

struct dev_held_bell {
    struct dev_bell still; /* the queue's bell while it is held: nothing is published */
    uint64_t bell;         /* address of its own */
};

/* What REPLAY runs. */
struct dev_replay {
    uint32_t slot[VYRE_SLOT_WORDS];
    struct dev_params params; /* used where its ticket is the slot's */
};

DEV_FN uint64_t dev_pair(const uint32_t *low)
{
    return (uint64_t)low[1] << 32 | low[0];
}

/* What a queue is, in one word: log2 of its slots, enum dev_queue_flag, tenant. */
DEV_FN uint32_t dev_queue_shape(uint32_t log2_slots, uint32_t flags, uint32_t tenant)
{
    return log2_slots | flags << 8 | tenant << 16;
}

/* Whether slots name it by an opcode. */
DEV_FN int dev_handle_has_opcode(const struct dev_handle *handle)
{
    return handle->kind == DEV_OPERATION || handle->kind == DEV_PROGRAM;
}

DEV_FN uint32_t dev_sys_install(struct dev_runtime *rt, const uint32_t *arg)
{
    uint32_t index = arg[0] & 0xFFFFu;
    if (index >= rt->max_handles || rt->handles[index].kind != DEV_FREE)
        return VYRE_FAULT_BAD_HANDLE;
    struct dev_handle *handle = &rt->handles[index];
    handle->generation = arg[0] >> 16;
    handle->owner = arg[2];
    handle->rights = arg[3];
    handle->address = dev_pair(&arg[4]);
    handle->bytes = arg[1] == DEV_OPERATION ? 0 : dev_pair(&arg[6]);
    handle->ctx = arg[1] == DEV_OPERATION ? dev_pair(&arg[6]) : 0;
    handle->opcode = arg[8];
    handle->read_handles = arg[9];
    handle->write_handles = arg[10];
    handle->steps = arg[11];
    handle->refs = 0;
    handle->state = DEV_LIVE;
    handle->kind = arg[1];
    uint32_t fault = VYRE_FAULT_NONE;
    if (dev_handle_has_opcode(handle) && !dev_opcode_insert(rt, index))
        fault = VYRE_FAULT_UNKNOWN_OPCODE; /* the opcode is taken */
    else if (arg[1] == DEV_BINDINGS)
        fault = dev_bindings_hold(rt, dev_bindings_of(handle), handle->owner);
    if (fault != VYRE_FAULT_NONE) handle->kind = DEV_FREE;
    return fault;
}

/* Takes the memory for frames: the first ones are the workers' own, the others are free. */
DEV_FN uint32_t dev_sys_frames(struct dev_runtime *rt, const uint32_t *arg)
{
    unsigned char *frames = (unsigned char *)(uintptr_t)dev_pair(&arg[0]);
    if (rt->frames != NULL) return VYRE_FAULT_BAD_HANDLE;
    dev_lock(&rt->sched);
    for (uint32_t i = rt->frame_count; i-- > rt->workers;) {
        struct dev_frame *frame = (struct dev_frame *)(void *)(frames + i * rt->frame_stride);
        frame->next = rt->free_frame;
        rt->free_frame = i;
    }
    rt->frames = frames;
    dev_unlock(&rt->sched);
    return VYRE_FAULT_NONE;
}

/* Takes the mapping that is shared with the pump. */
DEV_FN uint32_t dev_sys_io(struct dev_runtime *rt, const uint32_t *arg)
{
    struct dev_io *io = &rt->io;
    unsigned char *mapping = (unsigned char *)(uintptr_t)dev_pair(&arg[0]);
    if (io->waits == NULL || io->page != NULL || arg[2] > DEV_IO_CHUNKS_MOST)
        return VYRE_FAULT_BAD_HANDLE;
    io->chunk_count = arg[2];
    io->free_chunks = arg[2] == 0 ? 0 : ~(uint64_t)0 >> (DEV_IO_CHUNKS_MOST - arg[2]);
    io->requests = (struct dev_io_request *)(void *)(mapping + DEV_IO_RINGS_AT);
    io->answers =
        (const struct dev_io_answer *)(const void *)(mapping + dev_io_answers_at(io->entries));
    io->chunks = mapping + dev_io_chunks_at(io->entries);
    dev_lock(&rt->sched);
    io->page = (struct dev_io_page *)(void *)mapping;
    dev_unlock(&rt->sched);
    return VYRE_FAULT_NONE;
}

/* How many slots of a queue are published and not taken, whether it is held or not. */
DEV_FN uint32_t dev_queue_published(const struct dev_queue *queue)
{
    const struct dev_bell *bell = queue->setup.bell;
    if (queue->open == DEV_OPEN_HELD)
        bell =
            (const struct dev_bell *)(uintptr_t)((const struct dev_held_bell *)(const void *)bell)
                ->bell;
    uint32_t published = dev_load_acquire(&bell->tail, DEV_SYSTEM) - (uint32_t)queue->head;
    return published <= queue->setup.slots ? published : 0;
}

/* Whether some queue is held whose slots may name a handle of this owner. What is published there
 * counts for the grace period, if it is one. */
DEV_FN int dev_grace_held(struct dev_runtime *rt, uint32_t owner, uint32_t period)
{
    int held = 0;
    for (uint32_t i = 1; i < rt->watch_count; i++) {
        struct dev_queue *queue = &rt->queues[rt->watch[i].queue];
        if (queue->open != DEV_OPEN_HELD) continue;
        if (owner != VYRE_TENANT_ANY && owner != queue->setup.tenant) continue;
        if (period != DEV_NONE)
            queue->grace_tail[period] = queue->head + dev_queue_published(queue);
        held = 1;
    }
    return held;
}

/*
 * 1: the drop is complete. *period is its grace period, or DEV_NONE while it has none: before one
 * was free, and after it ended.
 */
DEV_FN int dev_sys_drop(struct dev_runtime *rt, uint32_t handle_number, uint32_t *period)
{
    struct dev_handle *handle = &rt->handles[handle_number & 0xFFFFu];
    if (handle->state == DEV_LIVE) {
        *period = dev_grace_begin(rt, handle->owner);
        if (*period == DEV_NONE) return 0;
        dev_grace_held(rt, handle->owner, *period);
        handle->state = DEV_DROPPING + *period;
        return 0;
    }
    if (*period != DEV_NONE) {
        /* Slots that are still to be run again were submitted before the drop. */
        if (dev_grace_held(rt, handle->owner, DEV_NONE) || !dev_grace_end(rt, *period)) return 0;
        *period = DEV_NONE;
        handle->state = DEV_DYING; /* no slot takes hold of it any more */
    }
    if (dev_load_acquire(&handle->refs, DEV_DEVICE) != 0)
        return 0; /* A5 pairs with R5 in handle.h */
    if (dev_handle_has_opcode(handle)) dev_opcode_remove(rt, handle->opcode);
    if (handle->kind == DEV_BINDINGS) {
        const struct dev_bindings *set = dev_bindings_of(handle);
        dev_bindings_drop(rt, set, set->count);
    }
    handle->kind = DEV_FREE;
    return 1;
}

/* Where everything of a queue lies, from the arguments of QUEUE_OPEN. */
DEV_FN void dev_queue_unpack(struct dev_queue *queue, const uint32_t *arg)
{
    struct dev_queue_setup *setup = &queue->setup;
    unsigned char *mapping = (unsigned char *)(uintptr_t)dev_pair(&arg[2]);
    uint32_t flags = arg[1] >> 8 & 0xFFu;
    queue->log2_slots = arg[1] & 0xFFu;
    setup->slots = 1u << queue->log2_slots;
    setup->tenant = arg[1] >> 16;
    setup->sealed = flags & DEV_QUEUE_SEALED;
    setup->classified = flags & DEV_QUEUE_CLASSIFIED;
    setup->page = (struct dev_queue_page *)(void *)mapping;
    setup->params = (struct dev_params *)(void *)(mapping + DEV_QUEUE_PARAMS_AT);
    setup->submission = (uint32_t *)(void *)(mapping + dev_queue_submission_at(setup->slots));
    setup->completion = (uint32_t *)(void *)(mapping + dev_queue_completion_at(setup->slots));
    setup->bell = (const struct dev_bell *)(uintptr_t)dev_pair(&arg[4]);
    setup->cancel_bits = (uint32_t *)(uintptr_t)dev_pair(&arg[6]);
    setup->first_ticket = dev_pair(&arg[8]);
    setup->first_completion = dev_pair(&arg[10]);
}

/* Gives a queue that is held its bell: from now on slots are taken from its ring. */
DEV_FN uint32_t dev_queue_let_go(struct dev_runtime *rt, struct dev_queue *queue)
{
    const struct dev_held_bell *hold =
        (const struct dev_held_bell *)(const void *)queue->setup.bell;
    if (queue->open != DEV_OPEN_HELD) return VYRE_FAULT_BAD_HANDLE;
    queue->setup.bell = (const struct dev_bell *)(uintptr_t)hold->bell;
    queue->open = 1;
    dev_lock(&rt->sched);
    rt->watch[queue->watch].bell = queue->setup.bell;
    dev_unlock(&rt->sched);
    return VYRE_FAULT_NONE;
}

DEV_FN uint32_t dev_sys_queue_open(struct dev_runtime *rt, const uint32_t *arg)
{
    if (arg[0] >= rt->max_queues) return VYRE_FAULT_BAD_HANDLE;
    struct dev_queue *queue = &rt->queues[arg[0]];
    if (queue->open) return dev_queue_let_go(rt, queue);
    dev_queue_unpack(queue, arg);
    dev_store64_relaxed(&queue->head, queue->setup.first_ticket);
    queue->completed = queue->setup.first_completion;
    queue->barrier = 0;
    queue->fence = DEV_NONE;
    queue->seal_misses = 0;
    queue->cancel_pending = 0;
    queue->mixed = 0;
    queue->inflight = 0;
    queue->chunked = 0;
    queue->runs = 0;
    queue->opened++;
    dev_grace_open(queue);
    queue->watch = rt->watch_count;
    queue->open = (arg[1] >> 8 & DEV_QUEUE_HELD) != 0 ? DEV_OPEN_HELD : 1u;
    struct dev_watch *watch = &rt->watch[queue->watch];
    dev_lock(&rt->sched);
    if (queue->setup.classified)
        dev_store_relaxed(&queue->setup.page->copied, (uint32_t)queue->head);
    watch->bell = queue->setup.bell;
    watch->queue = arg[0];
    watch->slots = queue->setup.slots;
    watch->blocked = 0;
    watch->head = (uint32_t)queue->head;
    rt->watch_count++;
    dev_unlock(&rt->sched);
    dev_vitals_count(rt, queue);
    return VYRE_FAULT_NONE;
}

/* Whether everything that was taken from the queue has ended. */
DEV_FN int dev_queue_ended(const struct dev_queue *queue)
{
    return dev_load_acquire(&queue->inflight, DEV_DEVICE) == 0 && /* A4 pairs with R4 */
           dev_load_acquire(&queue->chunked, DEV_DEVICE) == 0;    /* A14 pairs with R14 */
}

/* 1: the queue had nothing left and is closed, or, with DEV_QUEUE_STAYS, has nothing in flight. */
DEV_FN int dev_sys_queue_close(struct dev_runtime *rt, uint32_t index)
{
    struct dev_queue *queue = &rt->queues[index & ~DEV_QUEUE_STAYS];
    uint32_t stays = index & DEV_QUEUE_STAYS;
    if (!stays && dev_queue_published(queue) != 0) return 0;
    if (queue->barrier || !dev_queue_ended(queue)) return 0;
    if (stays) return 1;
    dev_lock(&rt->sched);
    struct dev_watch last = rt->watch[--rt->watch_count];
    rt->watch[queue->watch] = last;
    dev_unlock(&rt->sched);
    rt->queues[last.queue].watch = queue->watch;
    queue->open = 0;
    dev_vitals_count(rt, queue);
    return 1;
}

/* 1 where the slot with this ticket was found before its end. The caller ends it if *unlinked is an
 * entry. */
DEV_FN int dev_sys_cancel(struct dev_runtime *rt, const uint32_t *arg, uint32_t *unlinked)
{
    uint64_t ticket = dev_pair(&arg[1]);
    struct dev_queue *queue = &rt->queues[arg[0] < rt->max_queues ? arg[0] : 0];
    *unlinked = DEV_NONE;
    if (arg[0] == 0 || arg[0] >= rt->max_queues || !queue->open) return 0;
    if (ticket - queue->head < dev_queue_published(queue) || arg[3] != 0) {
        uint32_t place = (uint32_t)ticket & (queue->setup.slots - 1);
        uint32_t bit = 1u << place % 32;
        if ((queue->setup.cancel_bits[place / 32] & bit) == 0) queue->cancel_pending++;
        queue->setup.cancel_bits[place / 32] |= bit;
        return 1;
    }
    int found = 0;
    if (dev_load_relaxed(&queue->inflight) == 0 && queue->fence == DEV_NONE) return 0;
    for (uint32_t i = 0; i < rt->inflight_slots && !found; i++) {
        struct dev_inflight *entry = &rt->inflight[i];
        /* Only the poller fills entries, so this does not change under us: the lock is for the one
         * that fits. */
        if (entry->queue != arg[0] || entry->ticket != ticket) continue;
        dev_lock(&rt->sched);
        uint32_t status = dev_load_relaxed(&entry->slot[VYRE_SLOT_STATUS]);
        found = status != VYRE_SLOT_EMPTY && status != VYRE_SLOT_DONE && status != VYRE_SLOT_FAULT;
        if (found) dev_store_relaxed(&entry->cancel, VYRE_FAULT_CANCELLED);
        /* YIELD: put aside, and no worker is at it. WAIT_IO: not in a run queue. */
        if ((status == VYRE_SLOT_PUBLISHED && queue->fence != i) || status == VYRE_SLOT_YIELD) {
            dev_runq_unlink(rt, i);
            *unlinked = i;
        }
        if (status == VYRE_SLOT_WAIT_IO) *unlinked = i;
        dev_unlock(&rt->sched);
    }
    return found;
}

#endif
