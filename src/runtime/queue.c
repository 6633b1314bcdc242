/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Making, opening and closing queues. A queue is one shareable mapping (single words, parameter
 * blocks, submission ring, completion ring) and the bookkeeping of its two threads. The device
 * learns of it through queue 0.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "device/complete.h"
#include "device/system.h"
#include "runtime/internal.h"
#include "runtime/options.h"

#define MAX_SLOTS 65536u

static vyre_status check(const vyre *runtime, const vyre_queue_options *options, vyre_error *err)
{
    if (!vyre_is_power_of_two(options->slots) || options->slots > MAX_SLOTS) {
        vyre_fail(err, VYRE_E_RANGE, "slots is %u, not a power of two from 1 to %u", options->slots,
                  MAX_SLOTS);
        vyre_fail_fix(err, "ask for 256 or 4096 slots");
        return VYRE_E_RANGE;
    }
    vyre_status status = vyre_tenant_check(runtime, options->tenant, err);
    if (status) return status;
    if (options->flags & ~(uint32_t)(VYRE_QUEUE_SEALED | VYRE_QUEUE_UNSEALED))
        return vyre_fail(err, VYRE_E_RESERVED,
                         "flags 0x%x has bits that this version does not know", options->flags);
    if (options->flags == (VYRE_QUEUE_SEALED | VYRE_QUEUE_UNSEALED))
        return vyre_fail(err, VYRE_E_CONFLICT, "a queue cannot be both sealed and unsealed");
    if (options->wait_mode > VYRE_WAIT_BLOCK)
        return vyre_fail(err, VYRE_E_RANGE, "wait_mode is %u; 0 spins, 1 adapts, 2 blocks",
                         options->wait_mode);
    if (options->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", options->reserved);
    return VYRE_OK;
}

/* Lays the rings out in one mapping and sets every word to "older than the first ticket". */
static vyre_status map_rings(vyre_queue *queue, vyre_error *err)
{
    vyre *runtime = queue->runtime;
    queue->rings = (struct vyre_block){.kind = VYRE_BLOCK_SHARED,
                                       .bytes = dev_queue_bytes(queue->slots),
                                       .memory = &runtime->memory,
                                       .what = "queue rings",
                                       .mapping.fd = -1};
    vyre_status status = runtime->port->block_make(runtime, &queue->rings, NULL, err);
    if (status) return status;
    unsigned char *base = queue->rings.host;
    queue->page = (void *)base;
    queue->params = (void *)(base + DEV_QUEUE_PARAMS_AT);
    queue->submission = (void *)(base + dev_queue_submission_at(queue->slots));
    queue->completion = (void *)(base + dev_queue_completion_at(queue->slots));
    queue->bell = runtime->bells ? &runtime->bells[queue->number] : &queue->page->bell;
    queue->page->copied = (uint32_t)queue->first_ticket;
    queue->bell->tail = queue->bell->special = (uint32_t)queue->first_ticket;
    for (uint32_t i = 0; i < queue->slots; i++) {
        uint64_t ticket = queue->first_ticket + i;
        uint32_t place = (uint32_t)ticket & queue->mask;
        queue->params[place].ticket = queue->first_ticket - 1;
        queue->completion[place * VYRE_COMPLETION_WORDS + VYRE_COMPLETION_LAP] =
            dev_completion_lap_of(ticket - queue->slots, queue->log2_slots);
    }
    return VYRE_OK;
}

static vyre_status make_tables(vyre_queue *queue, vyre_error *err)
{
    struct vyre_memory *memory = &queue->runtime->memory;
    void *table;
    queue->cancel_bits = (struct vyre_block){.kind = VYRE_BLOCK_DEVICE,
                                             .bytes = (queue->slots + 31) / 32 * sizeof(uint32_t),
                                             .memory = memory,
                                             .what = "cancel bits"};
    vyre_status status =
        queue->runtime->port->block_make(queue->runtime, &queue->cancel_bits, NULL, err);
    if (status) return status;
    status = vyre_memory_alloc(memory, queue->slots, sizeof(struct vyre_kept), "kept completions",
                               &table, err);
    if (status) return status;
    queue->kept = table;
    for (uint32_t i = 0; i < queue->slots; i++)
        queue->kept[i].next = i + 1 < queue->slots ? i + 1 : DEV_NONE;
    queue->kept_first = queue->kept_last = DEV_NONE;
    status = vyre_ticket_map_init(&queue->kept_index, memory, queue->slots, err);
    if (status) return status;
    if (queue->guarded) {
        status = vyre_memory_alloc(memory, queue->slots, sizeof(uint64_t), "tickets under way",
                                   &table, err);
        if (status) return status;
        queue->underway = table;
    }
    return vyre_ticket_map_init(&queue->gaps, memory, queue->slots, err);
}

vyre_status vyre_queue_make(vyre *runtime, const vyre_queue_options *options, uint32_t number,
                            vyre_queue **out, vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, sizeof(vyre_queue), "queue", &memory, err);
    if (status) return status;
    vyre_queue *queue = memory;
    queue->runtime = runtime;
    queue->number = number;
    queue->slots = options->slots;
    queue->mask = options->slots - 1;
    queue->log2_slots = (uint32_t)__builtin_ctz(options->slots);
    queue->tenant = options->tenant;
    queue->sealed = (options->flags & VYRE_QUEUE_SEALED) != 0 ||
                    (runtime->sealed && (options->flags & VYRE_QUEUE_UNSEALED) == 0);
    queue->classify = runtime->sealed && number != 0;
    queue->first_ticket = options->first_ticket;
    queue->deadline_ns = options->deadline_ns;
    queue->special = (uint32_t)options->first_ticket;
    queue->got = queue->submitted = queue->room_until = options->first_ticket;
    queue->reaped = queue->next_entry = queue->arrived = options->first_ticket;
    queue->wait_mode = options->wait_mode;
    queue->guarded = runtime->port == &vyre_port_hosted;
    pthread_mutex_init(&queue->mark_lock, NULL);
    pthread_mutex_init(&queue->reap_lock, NULL);
    status = map_rings(queue, err);
    if (!status) status = make_tables(queue, err);
    if (status) {
        vyre_queue_free(queue);
        return status;
    }
    *out = queue;
    return VYRE_OK;
}

void vyre_queue_free(vyre_queue *queue)
{
    struct vyre_memory *memory = &queue->runtime->memory;
    if (queue->watcher) vyre_watcher_stop(queue);
    queue->runtime->port->block_free(queue->runtime, &queue->cancel_bits);
    vyre_memory_free(memory, queue->kept, queue->slots * sizeof(struct vyre_kept));
    if (queue->kept_index.tickets) vyre_ticket_map_destroy(&queue->kept_index, memory);
    if (queue->gaps.tickets) vyre_ticket_map_destroy(&queue->gaps, memory);
    if (queue->marks.tickets) vyre_ticket_map_destroy(&queue->marks, memory);
    vyre_memory_free(memory, queue->underway, queue->slots * sizeof(uint64_t));
    vyre_memory_free(memory, queue->shadows, queue->slots * sizeof(struct vyre_shadow));
    queue->runtime->port->block_free(queue->runtime, &queue->rings);
    pthread_mutex_destroy(&queue->mark_lock);
    pthread_mutex_destroy(&queue->reap_lock);
    vyre_memory_free(memory, queue, sizeof *queue);
}

void vyre_queue_open_args(const vyre_queue *queue, uint32_t args[VYRE_SLOT_ARGS])
{
    uint32_t flags = (queue->sealed ? (uint32_t)DEV_QUEUE_SEALED : 0u) |
                     (queue->classify ? (uint32_t)DEV_QUEUE_CLASSIFIED : 0u);
    uint64_t bell = queue->rings.address;
    if (queue->runtime->bells)
        bell = queue->runtime->bells_block.address + queue->number * sizeof(struct dev_bell);
    const uint64_t pairs[5] = {queue->rings.address, bell, queue->cancel_bits.address,
                               queue->first_ticket, queue->next_entry};
    args[0] = queue->number;
    args[1] = dev_queue_shape(queue->log2_slots, flags, queue->tenant);
    for (uint32_t i = 0; i < 5; i++) {
        args[2 + 2 * i] = (uint32_t)pairs[i];
        args[3 + 2 * i] = (uint32_t)(pairs[i] >> 32);
    }
}

/* Takes a free queue number; 0 is the system queue's. */
static uint32_t take_number(vyre *runtime)
{
    uint32_t number = 0;
    pthread_mutex_lock(&runtime->system.lock);
    for (uint32_t i = 1; i <= runtime->options.max_queues && number == 0; i++)
        if (!runtime->queue_numbers[i]) number = i;
    runtime->queue_numbers[number] = 1;
    pthread_mutex_unlock(&runtime->system.lock);
    return number;
}

static void give_number(vyre *runtime, uint32_t number)
{
    pthread_mutex_lock(&runtime->system.lock);
    runtime->queue_numbers[number] = 0;
    pthread_mutex_unlock(&runtime->system.lock);
}

static void list(vyre_queue *queue)
{
    vyre *runtime = queue->runtime;
    pthread_mutex_lock(&runtime->system.lock);
    queue->next = runtime->queues;
    runtime->queues = queue;
    runtime->queue_count++;
    pthread_mutex_unlock(&runtime->system.lock);
}

static void unlist(vyre_queue *queue)
{
    vyre *runtime = queue->runtime;
    pthread_mutex_lock(&runtime->system.lock);
    vyre_queue **link = &runtime->queues;
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    runtime->queue_count--;
    pthread_mutex_unlock(&runtime->system.lock);
}

vyre_status vyre_queue_open(vyre *runtime, const vyre_queue_options *options, vyre_queue **out,
                            vyre_error *err)
{
    vyre_queue_options chosen = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    vyre_status status =
        options ? vyre_options_read(&chosen, options, sizeof chosen, "vyre_queue_options", err)
                : VYRE_OK;
    if (!status) status = check(runtime, &chosen, err);
    if (status) return status;
    uint32_t number = take_number(runtime);
    if (number == 0) {
        vyre_fail(err, VYRE_E_LIMIT, "all %u queues are open", runtime->options.max_queues);
        vyre_fail_fix(err, "close queues, or open the runtime with a higher max_queues");
        return VYRE_E_LIMIT;
    }
    status = vyre_queue_make(runtime, &chosen, number, &queue, err);
    if (status) {
        give_number(runtime, number);
        return status;
    }
    uint32_t args[VYRE_SLOT_ARGS];
    uint32_t result;
    vyre_queue_open_args(queue, args);
    status = vyre_system_call(runtime, DEV_SYS_QUEUE_OPEN, args, &result, err);
    if (!status && result)
        status = vyre_fail(err, VYRE_E_INTERNAL, "the device refused queue %u", number);
    if (status) {
        vyre_queue_free(queue);
        give_number(runtime, number);
        return status;
    }
    list(queue);
    *out = queue;
    return VYRE_OK;
}

void vyre_queue_close(vyre_queue *queue)
{
    if (!queue) return;
    vyre *runtime = queue->runtime;
    uint32_t number = queue->number;
    uint32_t args[VYRE_SLOT_ARGS] = {number};
    uint32_t result;
    if (vyre_runtime_refuse_worker(runtime, "vyre_queue_close", NULL)) return;
    if (queue == runtime->default_queue) { /* vyre_queue_default would go on to give it out */
        vyre_log_line(
            &runtime->log, VYRE_LOG_ERROR,
            "vyre_queue_close was called for the default queue and did nothing; vyre_close "
            "closes it, and default_queue_slots 0 opens none");
        return;
    }
    vyre_status status = vyre_system_call(runtime, DEV_SYS_QUEUE_CLOSE, args, &result, NULL);
    if (status) vyre_runtime_await_stop(runtime); /* then the device has given up all queues */
    unlist(queue);
    vyre_queue_free(queue);
    give_number(runtime, number);
}

vyre_queue *vyre_queue_default(vyre *runtime)
{
    return runtime ? runtime->default_queue : NULL;
}

uint32_t vyre_queue_capacity(const vyre_queue *queue)
{
    return queue ? queue->slots : 0;
}

uint32_t vyre_queue_number(const vyre_queue *queue)
{
    return queue ? queue->number : 0;
}
