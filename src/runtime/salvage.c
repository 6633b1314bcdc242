/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A queue whose device is gone: what has ended is taken out of the completion ring, and every other
 * slot is either run again or ends here as lost, so that none is without a final status. Called by
 * the keeper of a device host, between two devices.
 *
 * The device may have left holes among the entries; it wrote none further ahead than the ring is
 * long. The next device therefore begins one lap later: no old entry can look like one of its own.
 */
#include <stdlib.h>

#include "device/complete.h"
#include "runtime/internal.h"
#include "wire/completion.h"

/* A slot that was under way in so many devices that died is not worth another. */
#define MOST_TRIES 8u

static uint64_t ticket_of(const uint32_t *entry)
{
    return (uint64_t)entry[VYRE_COMPLETION_TICKET_HIGH] << 32 | entry[VYRE_COMPLETION_TICKET_LOW];
}

/* Keeps what the ring holds. A ticket that is not under way is not believed. */
static void take_ring(vyre_queue *queue, uint64_t submitted)
{
    uint64_t first = queue->next_entry;
    for (uint32_t i = 0; i < queue->slots; i++) {
        const uint32_t *entry = vyre_queue_entry(queue, first + i);
        if (!entry) continue;
        uint64_t ticket = ticket_of(entry);
        if (submitted - ticket - 1 > UINT64_MAX / 2 || !vyre_queue_pending(queue, ticket)) continue;
        vyre_queue_keep_entry(queue, entry);
    }
    __atomic_store_n(&queue->next_entry, first + queue->slots, __ATOMIC_RELEASE);
}

/* Whether the ticket is to be run again. */
static int repeatable(vyre_queue *queue, uint64_t ticket)
{
    if (!queue->shadows || __atomic_load_n(&queue->marked, __ATOMIC_RELAXED) == 0) return 0;
    pthread_mutex_lock(&queue->mark_lock);
    uint32_t index = vyre_ticket_map_find(&queue->marks, ticket);
    int yes = index != VYRE_TICKET_NONE && queue->shadows[index].tries < MOST_TRIES;
    pthread_mutex_unlock(&queue->mark_lock);
    return yes;
}

static int by_ticket(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a == b ? 0 : a - b > UINT64_MAX / 2 ? -1 : 1; /* numbers may wrap */
}

/* All tickets that have not ended, in order; how many. */
static uint32_t collect(vyre_queue *queue, uint64_t submitted)
{
    const struct vyre_ticket_map *gaps = &queue->gaps;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= gaps->mask && count < queue->slots; i++)
        if (gaps->values[i] != VYRE_TICKET_NONE) queue->underway[count++] = gaps->tickets[i];
    for (uint64_t t = queue->arrived; t != submitted && count < queue->slots; t++)
        queue->underway[count++] = t;
    qsort(queue->underway, count, sizeof queue->underway[0], by_ticket);
    return count;
}

void vyre_queue_salvage(vyre_queue *queue, struct vyre_salvage *salvage)
{
    pthread_mutex_lock(&queue->reap_lock);
    uint64_t submitted = __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE);
    take_ring(queue, submitted);
    uint32_t count = collect(queue, submitted);
    salvage->repeats = salvage->lost = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t ticket = queue->underway[i];
        if (!salvage->for_good && repeatable(queue, ticket)) {
            queue->underway[salvage->repeats++] = ticket;
        } else {
            vyre_queue_keep_end(queue, ticket, VYRE_LOST);
            salvage->lost++;
        }
    }
    salvage->first_ticket = submitted;
    salvage->first_entry = queue->next_entry;
    /* What is submitted from now on ends as never taken, should no device come any more. */
    dev_store_relaxed(&queue->page->final_head, (uint32_t)submitted);
    vyre_queue_free_places(queue);
    __atomic_store_n(&queue->salvaged, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&queue->reap_lock);
    vyre_queue_tell(queue);
}

void vyre_queue_free_places(vyre_queue *queue)
{
    uint64_t submitted = __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE);
    dev_store_release(&queue->page->copied, (uint32_t)submitted, DEV_SYSTEM);
}

uint32_t vyre_queue_abandon(vyre_queue *queue)
{
    uint32_t lost = 0;
    pthread_mutex_lock(&queue->reap_lock);
    uint64_t submitted = __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE);
    uint32_t untaken = (uint32_t)submitted - dev_load_relaxed(&queue->page->final_head);
    take_ring(queue, submitted);
    uint32_t count = collect(queue, submitted);
    for (uint32_t i = 0; i < count; i++) {
        if (submitted - queue->underway[i] <= untaken) break;
        vyre_queue_keep_end(queue, queue->underway[i], VYRE_LOST);
        lost++;
    }
    __atomic_store_n(&queue->salvaged, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&queue->reap_lock);
    vyre_queue_tell(queue);
    return lost;
}

void vyre_queue_tell(vyre_queue *queue)
{
    dev_fence_full(); /* F3, as the device does: the sleeper sees the news, or we change the word */
    dev_add_relaxed(&queue->page->event, 1);
    vyre_futex_wake(&queue->page->event, UINT32_MAX);
}

void vyre_queue_shadow(vyre_queue *queue, uint64_t ticket, struct vyre_shadow *shadow)
{
    pthread_mutex_lock(&queue->mark_lock);
    uint32_t index = vyre_ticket_map_find(&queue->marks, ticket);
    if (index != VYRE_TICKET_NONE) {
        queue->shadows[index].tries++;
        *shadow = queue->shadows[index];
    }
    pthread_mutex_unlock(&queue->mark_lock);
}

void vyre_queue_lose(vyre_queue *queue, uint64_t ticket)
{
    pthread_mutex_lock(&queue->reap_lock);
    if (vyre_queue_pending(queue, ticket)) vyre_queue_keep_end(queue, ticket, VYRE_LOST);
    __atomic_store_n(&queue->salvaged, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&queue->reap_lock);
    vyre_queue_tell(queue);
}
