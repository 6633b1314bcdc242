/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The submitting side of a queue: stores to memory, one full fence, and a wake call only if the
 * device sleeps.
 *
 * A place of the ring is free whenever fewer than `slots` tickets are outstanding: the device takes
 * slots in order, so as long as the slot that was there has not been taken, none after it has
 * either, and all `slots` are outstanding.
 */
#include <string.h>

#include "base/clock.h"
#include "device/builtin_table.h"
#include "device/hold.h"
#include "device/system.h"
#include "runtime/internal.h"
#include "wire/sealing.h"

/* How many places the device has copied out of: the slot that was in a place has been taken, but
 * perhaps not copied, for workers copy in any order. They do so within microseconds. */
static uint32_t await_copied(const vyre_queue *queue)
{
    const struct dev_page *device = queue->runtime->page;
    for (uint32_t tries = 1;; tries++) {
        uint32_t kept = (uint32_t)queue->got - dev_load_acquire(&queue->page->copied, DEV_SYSTEM);
        if (kept < queue->slots) return queue->slots - kept;
        if (__atomic_load_n(&device->state, __ATOMIC_RELAXED) != DEV_RUNNING) return queue->slots;
        dev_pause();
        if (tries % 1024 == 0) dev_yield();
    }
}

/* Looks how far slots may be handed out. 0: the queue is full. */
static int find_room(vyre_queue *queue)
{
    uint64_t reaped = __atomic_load_n(&queue->reaped, __ATOMIC_ACQUIRE); /* A3 pairs with R3 */
    if (queue->got - reaped >= queue->slots) return 0;
    uint64_t room = reaped + queue->slots - queue->got;
    if (queue->classify) {
        uint32_t copied = await_copied(queue);
        if (copied < room) room = copied;
    }
    queue->room_until = queue->got + room;
    return 1;
}

vyre_slot *vyre_queue_slots(vyre_queue *queue, uint32_t wanted, uint32_t *count)
{
    if (count) *count = 0;
    if (!queue || !count || wanted == 0) return NULL;
    if (queue->got == queue->room_until && !find_room(queue)) return NULL;
    uint32_t place = (uint32_t)queue->got & queue->mask;
    uint32_t lap = (uint32_t)(queue->got >> queue->log2_slots) + 1;
    uint64_t room = queue->room_until - queue->got;
    if (wanted > queue->slots - place) wanted = queue->slots - place;
    if (wanted > room) wanted = (uint32_t)room;
    vyre_slot *first = &queue->submission[place];
    vyre_four_words blank = vyre_sealing_blank(lap, queue->sealed != 0);
    for (uint32_t i = 0; i < wanted; i++)
        vyre_sealing_put(&first[i], blank);
    queue->got += wanted;
    *count = wanted;
    return first;
}

vyre_slot *vyre_queue_slot(vyre_queue *queue)
{
    if (!queue || (queue->got == queue->room_until && !find_room(queue))) return NULL;
    vyre_slot *slot = &queue->submission[(uint32_t)queue->got & queue->mask];
    uint32_t lap = (uint32_t)(queue->got >> queue->log2_slots) + 1;
    vyre_sealing_put(slot, vyre_sealing_blank(lap, queue->sealed != 0));
    queue->got++;
    return slot;
}

/* Copies the marked ones among the slots to be published, for a restart that runs them again. */
static void shadow(vyre_queue *queue)
{
    pthread_mutex_lock(&queue->mark_lock);
    for (uint64_t ticket = queue->submitted; ticket != queue->got; ticket++) {
        uint32_t index = vyre_ticket_map_find(&queue->marks, ticket);
        uint32_t place = (uint32_t)ticket & queue->mask;
        if (index == VYRE_TICKET_NONE) continue;
        struct vyre_shadow *copy = &queue->shadows[index];
        memcpy(copy->word, queue->submission[place].word, sizeof copy->word);
        copy->params = queue->params[place];
        copy->has_params = copy->params.ticket == ticket;
        copy->tries = 0;
    }
    pthread_mutex_unlock(&queue->mark_lock);
    queue->new_marks = 0;
}

/* Seals the slots to be published, if the queue has seals, and says whether any of them may be
 * something else than a hot operation. */
static int seal(vyre_queue *queue)
{
    struct vyre_sealing sealing = {queue->submission, queue->log2_slots, queue->submitted,
                                   queue->got};
    if (queue->sealed) return vyre_sealing_finish(&sealing);
    return queue->classify;
}

/* Turns the deadlines of the slots to be published into points of the clock, in their parameter
 * blocks. */
static void set_deadlines(vyre_queue *queue)
{
    uint64_t now = vyre_clock_ns();
    for (uint64_t ticket = queue->submitted; ticket != queue->got; ticket++) {
        struct dev_params *params = &queue->params[(uint32_t)ticket & queue->mask];
        uint64_t after = params->ticket == ticket ? params->deadline_ns : queue->deadline_ns;
        __atomic_store_n(&params->deadline_ns, after ? vyre_clock_after(now, after) : 0,
                         __ATOMIC_RELAXED);
        __atomic_store_n(&params->ticket, ticket, __ATOMIC_RELAXED);
    }
    queue->overrides = 0;
    queue->special = (uint32_t)queue->got;
}

/* Whether the device may run a slot as it comes, without looking at it before: a small operation,
 * or a program that is over soon. */
static int plain(const vyre_queue *queue, const uint32_t *word)
{
    uint32_t opcode = word[VYRE_SLOT_OPCODE];
    const uint32_t *arg = word + VYRE_SLOT_ARG0;
    if (word[VYRE_SLOT_PRIORITY] > VYRE_PRIORITY_NORMAL) return 0;
    return dev_builtin_small(opcode, arg) ||
           dev_short_fits(vyre_short_weight(queue->runtime, opcode), arg);
}

/* Finds the last slot to be published that the device may not run in place. */
static void classify(vyre_queue *queue)
{
    for (uint64_t ticket = queue->got; ticket != queue->submitted; ticket--) {
        const uint32_t *word = queue->submission[(uint32_t)(ticket - 1) & queue->mask].word;
        if (DEV_LIKELY(plain(queue, word))) continue;
        /* One of these may be known for its parameter block. Else the word says nothing: it may be
         * half of 32 bits old. */
        uint32_t known = queue->special - (uint32_t)queue->submitted;
        uint32_t found = (uint32_t)(ticket - queue->submitted);
        if (known < found || known > (uint32_t)(queue->got - queue->submitted))
            queue->special = (uint32_t)ticket;
        return;
    }
}

/* Stores the bell, both words in one piece (R1). */
static void ring(vyre_queue *queue)
{
    union {
        struct dev_bell bell;
        uint64_t both;
    } now = {.bell = {(uint32_t)queue->got, queue->special}};
    dev_store64_release((dev_word64 *)(void *)queue->bell, now.both, DEV_SYSTEM); /* R1 */
}

/* The device went while we published: it tells nobody any more, so the watcher hears of it from us.
 */
static void tell_watcher(vyre_queue *queue)
{
    dev_add_relaxed(&queue->page->event, 1);
    vyre_futex_wake(&queue->page->event, UINT32_MAX);
}

vyre_status vyre_queue_submit(vyre_queue *queue, uint64_t *ticket, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    const struct dev_page *device = queue->runtime->page;
    if (__atomic_load_n(&device->state, __ATOMIC_RELAXED) != DEV_RUNNING &&
        vyre_runtime_stopped(queue->runtime)) {
        queue->got = queue->submitted;
        queue->overrides = 0;
        return vyre_runtime_refuse(queue->runtime, err);
    }
    uint64_t first = queue->submitted;
    if (queue->got != first) {
        if (queue->deadline_ns != 0 || queue->overrides != 0) set_deadlines(queue);
        if (seal(queue) && queue->classify) classify(queue);
        if (queue->new_marks != 0 && queue->guarded) shadow(queue); /* as they are submitted */
        __atomic_store_n(&queue->submitted, queue->got, __ATOMIC_RELEASE);
        ring(queue);
        dev_fence_full(); /* F1, pairs with F2 in worker.h: the device sees the doorbell or we see
                             that it sleeps */
        if (dev_load_relaxed(&device->poller) == 0 && dev_load_relaxed(&device->sleepers) != 0)
            queue->runtime->port->wake(queue->runtime);
        if (dev_load_relaxed(&device->state) == DEV_GONE && vyre_runtime_gone(queue->runtime))
            tell_watcher(queue);
    }
    if (ticket) *ticket = first;
    return VYRE_OK;
}

/* The ticket of a slot that was got and not submitted, or an error. */
static vyre_status pending_ticket(const vyre_queue *queue, const vyre_slot *slot, uint64_t *ticket,
                                  vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    if (!slot) return vyre_fail(err, VYRE_E_NULL, "slot is null");
    uintptr_t distance = (uintptr_t)slot - (uintptr_t)queue->submission;
    uint32_t pending = (uint32_t)(queue->got - queue->submitted);
    uint32_t ahead = (uint32_t)(distance / sizeof *slot) - (uint32_t)queue->submitted;
    if (distance % sizeof *slot != 0 || distance / sizeof *slot >= queue->slots ||
        (ahead & queue->mask) >= pending)
        return vyre_fail_with(
            err, VYRE_E_RANGE,
            "call it between vyre_queue_slot and vyre_queue_submit, with that queue",
            "the slot was not got from this queue, or is submitted already");
    *ticket = queue->submitted + (ahead & queue->mask);
    return VYRE_OK;
}

vyre_status vyre_slot_params(vyre_queue *queue, const vyre_slot *slot, struct dev_params **out,
                             vyre_error *err)
{
    uint64_t ticket = 0;
    vyre_status status = pending_ticket(queue, slot, &ticket, err);
    if (status) return status;
    struct dev_params *params = &queue->params[(uint32_t)ticket & queue->mask];
    if (params->ticket != ticket) {
        __atomic_store_n(&params->ticket, ticket, __ATOMIC_RELAXED);
        __atomic_store_n(&params->deadline_ns, queue->deadline_ns, __ATOMIC_RELAXED);
        queue->overrides++;
    }
    *out = params;
    return VYRE_OK;
}

vyre_status vyre_slot_deadline(vyre_queue *queue, vyre_slot *slot, uint64_t deadline_ns,
                               vyre_error *err)
{
    struct dev_params *params;
    vyre_status status = vyre_slot_params(queue, slot, &params, err);
    if (!status) __atomic_store_n(&params->deadline_ns, deadline_ns, __ATOMIC_RELAXED);
    return status;
}

/* With the first mark; shadows only where there is somebody who would use them. (mark_lock) */
static vyre_status make_marks(vyre_queue *queue, vyre_error *err)
{
    struct vyre_memory *memory = &queue->runtime->memory;
    void *shadows;
    if (queue->guarded && !queue->shadows) {
        vyre_status status = vyre_memory_alloc(memory, queue->slots, sizeof(struct vyre_shadow),
                                               "copies of repeatable slots", &shadows, err);
        if (status) return status;
        queue->shadows = shadows;
        for (uint32_t i = 0; i < queue->slots; i++)
            queue->shadows[i].next = i + 1 < queue->slots ? i + 1 : DEV_NONE;
    }
    return vyre_ticket_map_init(&queue->marks, memory, queue->slots, err);
}

vyre_status vyre_slot_repeatable(vyre_queue *queue, vyre_slot *slot, vyre_error *err)
{
    uint64_t ticket = 0;
    vyre_status status = pending_ticket(queue, slot, &ticket, err);
    if (status) return status;
    pthread_mutex_lock(&queue->mark_lock);
    if (!queue->marks.tickets) status = make_marks(queue, err);
    if (!status && vyre_ticket_map_find(&queue->marks, ticket) == VYRE_TICKET_NONE) {
        uint32_t index = 0;
        if (queue->shadows) {
            index = queue->shadow_free;
            queue->shadow_free = queue->shadows[index].next;
        }
        vyre_ticket_map_put(&queue->marks, ticket, index);
        __atomic_fetch_add(&queue->marked, 1, __ATOMIC_RELAXED);
        queue->new_marks++;
    }
    pthread_mutex_unlock(&queue->mark_lock);
    return status;
}

vyre_status vyre_cancel(vyre_queue *queue, uint64_t ticket, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    uint32_t args[VYRE_SLOT_ARGS] = {queue->number, (uint32_t)ticket, (uint32_t)(ticket >> 32)};
    uint32_t found;
    vyre_status status = vyre_system_call(queue->runtime, DEV_SYS_CANCEL, args, &found, err);
    if (status) return status;
    if (!found)
        return vyre_fail(err, VYRE_E_NOT_FOUND, "ticket %llu has ended or was never submitted",
                         (unsigned long long)ticket);
    return VYRE_OK;
}
