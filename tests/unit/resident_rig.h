/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A resident kernel on threads, for tests of its poller: a warp is a thread, and the test is the
 * host, the producer and the reaping side of every queue. Include it first.
 *
 *     struct rig rig;
 *     rig_open(&rig, 2, 0);
 *     struct ring *ring = rig_queue(&rig, 3, 64, 0);
 *     ring_put(ring, VYRE_OP_NOP, VYRE_PRIORITY_NORMAL);
 *     ring_bell(ring);
 *     ... ring_reap(ring) ...
 *     rig_close(&rig);
 *
 * Opcode RIG_HOLD is an operation that runs until rig.hold is 0.
 */
#ifndef VYRE_TESTS_RESIDENT_RIG_H
#define VYRE_TESTS_RESIDENT_RIG_H

#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include <pthread.h>

#include "device/resident.h"
#include "tap.h"

#define RIG_QUEUES   48u
#define RIG_INFLIGHT 64u
#define RIG_WORKERS  4u
#define RIG_HANDLES  16u
#define RIG_HOLD     9u
#define RIG_WORDS    16u
#define RIG_PATIENCE 60000000000u
#define RIG_TICKETS  (1u << 16) /* that a ring remembers */

/* A queue from the producer's side. */
struct ring {
    struct rig *rig;
    unsigned char *mapping;
    struct dev_bell *bell;
    uint32_t number, slots, log2_slots, special;
    uint64_t first, submitted, published, next_entry;
    unsigned char *ended; /* how often each ticket has */
    uint32_t bits[2];     /* for cancels */
    uint32_t faults, doubled;
};

struct rig {
    struct dev_runtime rt;
    struct dev_page page;
    struct dev_launch launch;
    struct dev_desk desk; /* without aides */
    struct ring ring[RIG_QUEUES];
    pthread_t thread[RIG_WORKERS + 1];
    struct dev_room *room[RIG_WORKERS + 1];
    uint32_t hold;
    uint32_t running;
};

struct rig_warp {
    struct rig *rig;
    uint32_t number;
};

TAP_UNUSED static uint32_t rig_hold(vyre_call *call)
{
    const struct dev_native_call *native = (const struct dev_native_call *)(const void *)call;
    while (__atomic_load_n((uint32_t *)call->ctx, __ATOMIC_ACQUIRE) &&
           !dev_call_stopped(native->call))
        sched_yield();
    return 0;
}

TAP_UNUSED static void *rig_warp(void *argument)
{
    struct rig_warp *warp = argument;
    struct rig *rig = warp->rig;
    dev_resident(&rig->rt, &rig->launch, warp->number, rig->room[warp->number], &rig->desk);
    free(warp);
    return NULL;
}

TAP_UNUSED static void rig_launch(struct rig *rig)
{
    rig->launch.number++;
    rig->launch.block_warps = 1;
    dev_desk_init(&rig->desk, 0);
    for (uint32_t i = 0; i <= rig->rt.workers; i++) {
        struct rig_warp *warp = malloc(sizeof *warp);
        *warp = (struct rig_warp){rig, i};
        if (pthread_create(&rig->thread[i], NULL, rig_warp, warp)) bail("no thread");
    }
    rig->running = 1;
}

TAP_UNUSED static void rig_join(struct rig *rig)
{
    for (uint32_t i = 0; i <= rig->rt.workers; i++)
        pthread_join(rig->thread[i], NULL);
    rig->running = 0;
}

/* What the launch thread does: a kernel that has parked is launched again for a producer. */
TAP_UNUSED static void rig_wake(struct rig *rig)
{
    dev_fence_full(); /* F1 */
    do {              /* it may take its word back */
        if (dev_load_relaxed(&rig->page.poller) != 0 || dev_load_relaxed(&rig->page.sleepers) == 0)
            return;
    } while (dev_load_acquire(&rig->page.left, DEV_SYSTEM) != rig->launch.number);
    if (rig->running) rig_join(rig);
    rig_launch(rig);
}

TAP_UNUSED static void ring_make(struct rig *rig, uint32_t number, uint32_t slots, uint64_t first)
{
    struct ring *ring = &rig->ring[number];
    *ring = (struct ring){.rig = rig, .number = number, .slots = slots, .first = first};
    while (1u << ring->log2_slots < slots)
        ring->log2_slots++;
    ring->mapping = aligned_alloc(128, (dev_queue_bytes(slots) + 127) / 128 * 128);
    memset(ring->mapping, 0, dev_queue_bytes(slots));
    ring->bell = (struct dev_bell *)(void *)ring->mapping;
    ring->submitted = ring->published = ring->next_entry = first;
    ring->special = ring->bell->tail = ring->bell->special = (uint32_t)first;
    ring->ended = calloc(RIG_TICKETS, 1);
    struct dev_params *params = (struct dev_params *)(void *)(ring->mapping + DEV_QUEUE_PARAMS_AT);
    for (uint32_t i = 0; i < slots; i++)
        params[i].ticket = first - 1;
    /* Entries of the lap before: none is the next one's. */
    uint32_t *entry = (uint32_t *)(void *)(ring->mapping + dev_queue_completion_at(slots));
    for (uint64_t i = first; i != first + slots; i++)
        entry[((uint32_t)i & (slots - 1)) * VYRE_COMPLETION_WORDS + VYRE_COMPLETION_LAP] =
            dev_completion_lap_of(i, ring->log2_slots) - 1;
}

TAP_UNUSED static void ring_free(struct ring *ring)
{
    free(ring->mapping);
    free(ring->ended);
    ring->mapping = ring->ended = NULL;
}

TAP_UNUSED static uint32_t ring_outstanding(const struct ring *ring)
{
    return (uint32_t)(ring->submitted - ring->next_entry);
}

/* Whether a slot can be put. */
TAP_UNUSED static int ring_room(const struct ring *ring)
{
    const struct dev_queue_page *page = (const struct dev_queue_page *)(const void *)ring->mapping;
    uint32_t copied = dev_load_acquire(&page->copied, DEV_SYSTEM);
    return ring_outstanding(ring) < ring->slots &&
           (ring->number == 0 || (uint32_t)ring->submitted - copied < ring->slots);
}

TAP_UNUSED static void ring_words(const struct ring *ring, uint32_t *word, uint32_t opcode,
                                  uint32_t priority, const uint32_t *args)
{
    memset(word, 0, VYRE_SLOT_BYTES);
    word[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    word[VYRE_SLOT_OPCODE] = opcode;
    word[VYRE_SLOT_PRIORITY] = priority;
    for (uint32_t i = 0; args && i < VYRE_SLOT_ARGS; i++)
        word[VYRE_SLOT_ARG0 + i] = args[i];
    word[VYRE_SLOT_TENANT] = vyre_seal(word, (uint32_t)(ring->submitted >> ring->log2_slots) + 1);
}

TAP_UNUSED static uint64_t ring_put_args(struct ring *ring, uint32_t opcode, uint32_t priority,
                                         const uint32_t *args)
{
    uint32_t word[VYRE_SLOT_WORDS];
    uint32_t place = (uint32_t)ring->submitted & (ring->slots - 1);
    uint32_t *slot = (uint32_t *)(void *)(ring->mapping + dev_queue_submission_at(ring->slots)) +
                     place * VYRE_SLOT_WORDS;
    ring_words(ring, word, opcode, priority, args);
    for (uint32_t i = 0; i < VYRE_SLOT_WORDS; i++)
        dev_store_relaxed(&slot[i], word[i]);
    ring->submitted++;
    if (priority > VYRE_PRIORITY_NORMAL || !dev_builtin_small(opcode, word + VYRE_SLOT_ARG0))
        ring->special = (uint32_t)ring->submitted;
    return ring->submitted - 1;
}

TAP_UNUSED static uint64_t ring_put(struct ring *ring, uint32_t opcode, uint32_t priority)
{
    return ring_put_args(ring, opcode, priority, NULL);
}

TAP_UNUSED static void ring_bell(struct ring *ring)
{
    uint64_t both = (uint64_t)ring->special << 32 | (uint32_t)ring->submitted;
    dev_store64_release((dev_word64 *)(void *)ring->bell, both, DEV_SYSTEM); /* R1 */
    ring->published = ring->submitted;
    rig_wake(ring->rig);
}

/* Takes what has ended; returns how many. *last: the last entry's first result. */
TAP_UNUSED static uint32_t ring_reap_result(struct ring *ring, uint32_t *last)
{
    uint32_t count = 0;
    for (;; count++, ring->next_entry++) {
        const uint32_t *entry =
            (const uint32_t *)(const void *)(ring->mapping + dev_queue_completion_at(ring->slots)) +
            ((uint32_t)ring->next_entry & (ring->slots - 1)) * VYRE_COMPLETION_WORDS;
        uint32_t word[VYRE_COMPLETION_WORDS];
        uint32_t lap = dev_completion_lap_of(ring->next_entry, ring->log2_slots);
        uint32_t found = dev_completion_lap(entry);
        for (uint32_t i = 0; i < VYRE_COMPLETION_WORDS; i++)
            word[i] = dev_load_relaxed(&entry[i]);
        if (found != lap && !((found & DEV_SEAL_BIT) &&
                              dev_completion_seal(word, lap) == word[VYRE_COMPLETION_LAP]))
            return count;
        uint64_t ticket = (uint64_t)word[VYRE_COMPLETION_TICKET_HIGH] << 32 | word[0];
        ring->faults += word[VYRE_COMPLETION_STATUS] != VYRE_SLOT_DONE;
        if (ticket - ring->first >= ring->submitted - ring->first ||
            ring->ended[(ticket - ring->first) % RIG_TICKETS]++)
            ring->doubled++;
        if (last) *last = word[VYRE_COMPLETION_RESULT0];
    }
}

TAP_UNUSED static uint32_t ring_reap(struct ring *ring)
{
    return ring_reap_result(ring, NULL);
}

/* 0: not all has ended in time. */
TAP_UNUSED static int ring_drain(struct ring *ring)
{
    uint64_t until = dev_clock_ns() + RIG_PATIENCE;
    while (ring_outstanding(ring) != 0 && dev_clock_ns() < until)
        if (!ring_reap(ring)) sched_yield();
    return ring_outstanding(ring) == 0;
}

/* Asks queue 0 for something, without waiting for the answer. */
TAP_UNUSED static void rig_post(struct rig *rig, uint32_t opcode, const uint32_t *args)
{
    while (!ring_room(&rig->ring[0]))
        ring_reap(&rig->ring[0]);
    ring_put_args(&rig->ring[0], opcode, 0, args);
    ring_bell(&rig->ring[0]);
}

TAP_UNUSED static uint32_t rig_ask(struct rig *rig, uint32_t opcode, const uint32_t *args)
{
    uint32_t result = DEV_NONE;
    uint64_t until = dev_clock_ns() + RIG_PATIENCE;
    rig_post(rig, opcode, args);
    while (ring_outstanding(&rig->ring[0]) != 0) {
        if (!ring_reap_result(&rig->ring[0], &result)) sched_yield();
        if (dev_clock_ns() > until) bail("queue 0 does not answer 0x%x", opcode);
    }
    return result;
}

TAP_UNUSED static void rig_open_args(struct ring *ring, uint32_t args[VYRE_SLOT_ARGS])
{
    const uint64_t pairs[5] = {(uintptr_t)ring->mapping, (uintptr_t)ring->bell,
                               (uintptr_t)ring->bits, ring->first, ring->next_entry};
    args[0] = ring->number;
    args[1] = dev_queue_shape(ring->log2_slots, DEV_QUEUE_SEALED | DEV_QUEUE_CLASSIFIED, 0);
    if (ring->number == 0) args[1] = dev_queue_shape(ring->log2_slots, 0, 0);
    for (uint32_t i = 0; i < 5; i++) {
        args[2 + 2 * i] = (uint32_t)pairs[i];
        args[3 + 2 * i] = (uint32_t)(pairs[i] >> 32);
    }
}

/* Opens a queue of up to 64 slots. */
TAP_UNUSED static struct ring *rig_queue(struct rig *rig, uint32_t number, uint32_t slots,
                                         uint64_t first)
{
    uint32_t args[VYRE_SLOT_ARGS];
    ring_make(rig, number, slots, first);
    rig_open_args(&rig->ring[number], args);
    if (rig_ask(rig, DEV_SYS_QUEUE_OPEN, args)) bail("queue %u was refused", number);
    return &rig->ring[number];
}

TAP_UNUSED static void *rig_alloc(size_t count, size_t size)
{
    size_t bytes = (count * size + 127) / 128 * 128;
    void *memory = aligned_alloc(128, bytes);
    if (!memory) bail("out of memory");
    return memset(memory, 0, bytes);
}

TAP_UNUSED static void rig_tables(struct dev_runtime *rt)
{
    rt->queues = rig_alloc(RIG_QUEUES, sizeof *rt->queues);
    rt->watch = rig_alloc(RIG_QUEUES, sizeof *rt->watch);
    rt->handles = rig_alloc(RIG_HANDLES, sizeof *rt->handles);
    rt->opcode_map = rig_alloc(4 * RIG_HANDLES, 4);
    rt->inflight = rig_alloc(RIG_INFLIGHT, sizeof *rt->inflight);
    rt->nodes = rig_alloc((size_t)VYRE_PRIORITIES * RIG_QUEUES, sizeof *rt->nodes);
    rt->observables = rig_alloc(RIG_WORDS, 4);
    rt->logs = rig_alloc(1, sizeof *rt->logs);
    rt->worker_frame = rig_alloc(RIG_WORKERS, 4);
    rt->handover = rig_alloc(1, sizeof *rt->handover);
    memset(rt->opcode_map, 0xFF, 4 * 4 * RIG_HANDLES);
    memset(rt->nodes, 0xFF, (size_t)VYRE_PRIORITIES * RIG_QUEUES * sizeof *rt->nodes);
    for (uint32_t p = 0; p < VYRE_PRIORITIES; p++)
        rt->levels[p].first = rt->levels[p].last = DEV_NONE;
    for (uint32_t i = 0; i < RIG_INFLIGHT; i++)
        rt->inflight[i].spare = RIG_INFLIGHT - 1 - i;
}

/* Makes the device and launches it. */
TAP_UNUSED static void rig_open(struct rig *rig, uint32_t workers, uint64_t park_ns)
{
    uint32_t args[VYRE_SLOT_ARGS];
    struct dev_runtime *rt = &rig->rt;
    memset(rig, 0, sizeof *rig);
    rig_tables(rt);
    rt->page = &rig->page;
    rt->max_queues = RIG_QUEUES;
    rt->max_tenants = 1;
    rt->max_handles = RIG_HANDLES;
    rt->opcode_map_size = 4 * RIG_HANDLES;
    rt->inflight_slots = rt->free_count = RIG_INFLIGHT;
    rt->observable_words = RIG_WORDS;
    rt->seal_polls = 1000;
    rt->workers = workers;
    rt->ageing_ns = 1000000;
    rt->room_bytes = sizeof(struct dev_room);
    rt->waiting_list = rt->spread = rt->free_frame = DEV_NONE;
    for (uint32_t i = 0; i <= workers; i++)
        rig->room[i] = rig_alloc(1, sizeof(struct dev_room));
    struct dev_handle *hold = &rt->handles[0];
    *hold = (struct dev_handle){.generation = 1,
                                .kind = DEV_OPERATION,
                                .owner = VYRE_TENANT_ANY,
                                .address = (uintptr_t)rig_hold,
                                .opcode = RIG_HOLD,
                                .steps = 1,
                                .ctx = (uintptr_t)&rig->hold};
    if (!dev_opcode_insert(rt, 0)) bail("the opcode is taken");
    ring_make(rig, 0, 64, 0);
    rig_open_args(&rig->ring[0], args);
    dev_sys_queue_open(rt, args);
    rig->launch.park_ns = park_ns;
    rig_launch(rig);
}

/* Stops the device; 0: it does not come to its end. */
TAP_UNUSED static int rig_stop(struct rig *rig)
{
    uint32_t none[VYRE_SLOT_ARGS] = {0};
    uint64_t until = dev_clock_ns() + RIG_PATIENCE;
    rig_post(rig, VYRE_OP_SHUTDOWN, none);
    while (dev_load_acquire(&rig->page.state, DEV_SYSTEM) != DEV_GONE && dev_clock_ns() < until)
        sched_yield();
    if (rig->page.state != DEV_GONE) return 0;
    rig_join(rig);
    return 1;
}

/* After rig_stop. */
TAP_UNUSED static void rig_free(struct rig *rig)
{
    struct dev_runtime *rt = &rig->rt;
    for (uint32_t i = 0; i < RIG_QUEUES; i++)
        if (rig->ring[i].mapping) ring_free(&rig->ring[i]);
    for (uint32_t i = 0; i <= rt->workers; i++)
        free(rig->room[i]);
    free(rt->queues), free(rt->watch), free(rt->handles), free(rt->opcode_map);
    free(rt->inflight), free(rt->nodes), free(rt->observables), free(rt->logs);
    free(rt->worker_frame), free(rt->handover);
}

/* A rig whose kernel has left, so that the caller is its poller. */
TAP_UNUSED static void rig_take_over(struct rig *rig, struct dev_poller *p, uint32_t first_task)
{
    memset(p, 0, sizeof *p);
    rig_open(rig, 1, 0);
    rig_stop(rig);
    rig->rt.shutdown = 0;
    p->rt = &rig->rt;
    p->room = rig->room[0];
    p->desk = &rig->desk;
    p->posted = p->oldest = first_task;
    p->free_count = rig->rt.inflight_slots;
    p->glance.fav.watch = 1;
}

/* Opens a queue of such a rig. */
TAP_UNUSED static struct ring *rig_own_queue(struct rig *rig, uint32_t number, uint32_t slots)
{
    uint32_t args[VYRE_SLOT_ARGS];
    ring_make(rig, number, slots, 0);
    rig_open_args(&rig->ring[number], args);
    dev_sys_queue_open(&rig->rt, args);
    return &rig->ring[number];
}

#endif
