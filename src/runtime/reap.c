/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The reaping side of a queue. The next completion is there when its lap word says so; nothing else
 * is looked at while completions stream in. Completions that a vyre_wait passes on its way are
 * kept, in order, until the caller asks.
 *
 * Where the device lives in a device host, a restart looks at the ring too and keeps completions:
 * then each pass over the books is made under reap_lock, and no sleep is.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "device/complete.h"
#include "runtime/internal.h"
#include "wire/completion.h"

/* How long the adaptive mode looks before it sleeps. */
#define ADAPTIVE_SPIN_NS 20000u
/* Of a device that wakes nobody: a sleep is this share of the time that it has been idle for, and
 * no longer than that. */
#define NAP_SHARE        64u
#define NAP_MOST_NS      1000000u

/* Whether an entry certifies itself as one of this lap. Its words are read once: what fits is
 * whole, and what its slot has written is visible (A2). */
static int certified(const uint32_t *entry, uint32_t lap)
{
    uint32_t word[VYRE_COMPLETION_WORDS];
    for (uint32_t i = 0; i < VYRE_COMPLETION_WORDS; i++)
        word[i] = __atomic_load_n(&entry[i], __ATOMIC_RELAXED);
    if (dev_completion_seal(word, lap) != word[VYRE_COMPLETION_LAP]) return 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return 1;
}

/* The entry with this index if it has been written, else NULL. */
static inline const uint32_t *entry_at(const vyre_queue *queue, uint64_t index)
{
    const uint32_t *entry =
        queue->completion + ((uint32_t)index & queue->mask) * VYRE_COMPLETION_WORDS;
    uint32_t lap = dev_completion_lap_of(index, queue->log2_slots);
    uint32_t found = dev_completion_lap(entry);
    if (DEV_LIKELY(found == lap)) return entry;
    return (found & DEV_SEAL_BIT) != 0 && certified(entry, lap) ? entry : NULL;
}

int vyre_queue_written(const vyre_queue *queue, uint64_t index)
{
    return entry_at(queue, index) != NULL;
}

const uint32_t *vyre_queue_entry(const vyre_queue *queue, uint64_t index)
{
    return entry_at(queue, index);
}

static const uint32_t *next_entry(const vyre_queue *queue)
{
    /* Without the lock where somebody waits: a restart may move it. */
    return entry_at(queue, __atomic_load_n(&queue->next_entry, __ATOMIC_RELAXED));
}

static inline void enter(vyre_queue *queue)
{
    if (DEV_LIKELY(!queue->guarded)) return;
    pthread_mutex_lock(&queue->reap_lock);
    __atomic_store_n(&queue->salvaged, 0, __ATOMIC_RELAXED);
}

static inline void leave(vyre_queue *queue)
{
    if (queue->guarded) pthread_mutex_unlock(&queue->reap_lock);
}

/* Whether the slot was marked repeatable; forgets the mark. */
static uint32_t take_mark(vyre_queue *queue, uint64_t ticket)
{
    if (__atomic_load_n(&queue->marked, __ATOMIC_RELAXED) == 0) return 0;
    pthread_mutex_lock(&queue->mark_lock);
    uint32_t index = vyre_ticket_map_take(&queue->marks, ticket);
    int marked = index != VYRE_TICKET_NONE;
    if (marked) __atomic_fetch_sub(&queue->marked, 1, __ATOMIC_RELAXED);
    if (marked && queue->shadows) {
        queue->shadows[index].next = queue->shadow_free;
        queue->shadow_free = index;
    }
    pthread_mutex_unlock(&queue->mark_lock);
    return marked ? VYRE_COMPLETION_REPEATABLE : 0;
}

/* Notes that a ticket has ended, so that a wait for it can tell later. In order it costs a
 * comparison. */
static void arrive(vyre_queue *queue, uint64_t ticket)
{
    if (ticket - queue->arrived > UINT64_MAX / 2) {
        vyre_ticket_map_take(&queue->gaps, ticket);
        return;
    }
    for (; queue->arrived != ticket; queue->arrived++)
        vyre_ticket_map_put(&queue->gaps, queue->arrived, 1);
    queue->arrived++;
}

/* Whether a submitted ticket has not ended yet. */
int vyre_queue_pending(const vyre_queue *queue, uint64_t ticket)
{
    return ticket - queue->arrived <= UINT64_MAX / 2 || vyre_ticket_map_has(&queue->gaps, ticket);
}

#define SAME_PLACE(field, word)                                                                    \
    static_assert(offsetof(vyre_completion, field) == 4 * (word), "as in the entry")
SAME_PLACE(ticket, VYRE_COMPLETION_TICKET_LOW);
SAME_PLACE(outcome, VYRE_COMPLETION_STATUS);
SAME_PLACE(opcode, VYRE_COMPLETION_PROGRAM);
SAME_PLACE(pc, VYRE_COMPLETION_PC);
SAME_PLACE(out_of_bounds, VYRE_COMPLETION_OUT_OF_BOUNDS);
SAME_PLACE(steps, VYRE_COMPLETION_STEPS);
SAME_PLACE(flags, VYRE_COMPLETION_LAP);
SAME_PLACE(result, VYRE_COMPLETION_RESULT0);
static_assert(sizeof(vyre_completion) == VYRE_COMPLETION_BYTES, "as in the entry");

static uint64_t ticket_of(const uint32_t *entry)
{
    return (uint64_t)entry[VYRE_COMPLETION_TICKET_HIGH] << 32 | entry[VYRE_COMPLETION_TICKET_LOW];
}

/* Two fields of a completion are not as they stand in the entry. */
static inline void copy_entry(const uint32_t *entry, vyre_completion *out, uint32_t flags)
{
    memcpy(out, entry, sizeof *out);
    out->outcome = (uint16_t)vyre_completion_outcome_of(entry[VYRE_COMPLETION_STATUS]);
    out->flags = flags;
}

/* Takes the next completion from the ring. 0: there is none. */
static int take_entry(vyre_queue *queue, vyre_completion *out)
{
    const uint32_t *entry = next_entry(queue);
    if (!entry) return 0;
    uint64_t ticket = ticket_of(entry);
    copy_entry(entry, out, take_mark(queue, ticket));
    __atomic_store_n(&queue->next_entry, queue->next_entry + 1, __ATOMIC_RELEASE);
    arrive(queue, ticket);
    return 1;
}

static void keep(vyre_queue *queue, const vyre_completion *completion)
{
    uint32_t index = queue->kept_free;
    struct vyre_kept *kept = &queue->kept[index];
    queue->kept_free = kept->next;
    kept->completion = *completion;
    kept->next = DEV_NONE;
    kept->previous = queue->kept_last;
    if (queue->kept_last == DEV_NONE)
        queue->kept_first = index;
    else
        queue->kept[queue->kept_last].next = index;
    queue->kept_last = index;
    queue->kept_count++;
    vyre_ticket_map_put(&queue->kept_index, completion->ticket, index);
}

/* Takes a kept completion out of the list; its ticket is out of the index already. */
static void unkeep(vyre_queue *queue, uint32_t index, vyre_completion *out)
{
    struct vyre_kept *kept = &queue->kept[index];
    *out = kept->completion;
    if (kept->previous == DEV_NONE)
        queue->kept_first = kept->next;
    else
        queue->kept[kept->previous].next = kept->next;
    if (kept->next == DEV_NONE)
        queue->kept_last = kept->previous;
    else
        queue->kept[kept->next].previous = kept->previous;
    kept->next = queue->kept_free;
    queue->kept_free = index;
    queue->kept_count--;
}

void vyre_queue_keep_entry(vyre_queue *queue, const uint32_t *entry)
{
    vyre_completion completion;
    uint64_t ticket = ticket_of(entry);
    copy_entry(entry, &completion, take_mark(queue, ticket));
    arrive(queue, ticket);
    keep(queue, &completion);
}

void vyre_queue_keep_end(vyre_queue *queue, uint64_t ticket, uint32_t outcome)
{
    vyre_completion completion = {.ticket = ticket, .outcome = (uint16_t)outcome};
    completion.flags = take_mark(queue, ticket);
    arrive(queue, ticket);
    keep(queue, &completion);
}

static int device_gone(const vyre_queue *queue)
{
    return vyre_runtime_gone(queue->runtime);
}

/* The device has stopped and is gone: what it did not take has not run, and never will. Only the
 * device writes to the ring, so these slots end here. */
static void end_rest(vyre_queue *queue)
{
    uint64_t submitted = __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE);
    if (!queue->untaken_known) {
        uint32_t untaken = (uint32_t)submitted - dev_load_relaxed(&queue->page->final_head);
        /* What is shared may say anything: no more than is outstanding ends here. */
        uint32_t most = (uint32_t)(submitted - queue->reaped) - queue->kept_count;
        if (untaken > most) untaken = most;
        queue->untaken_next = submitted - untaken;
        queue->untaken_known = 1;
    }
    for (; queue->untaken_next != submitted; queue->untaken_next++) {
        vyre_completion completion = {
            .ticket = queue->untaken_next, .outcome = VYRE_CANCELLED, .fault = VYRE_FAULT_STOPPED};
        completion.flags = take_mark(queue, completion.ticket);
        arrive(queue, completion.ticket);
        keep(queue, &completion);
    }
}

static void end_untaken(vyre_queue *queue)
{
    if (!device_gone(queue)) return;
    enter(queue);
    if (!next_entry(queue)) end_rest(queue);
    leave(queue);
}

/* The caller has received n completions: their places in the rings are free again. */
static void received(vyre_queue *queue, size_t n)
{
    __atomic_store_n(&queue->reaped, queue->reaped + n, __ATOMIC_RELEASE); /* R3 pairs with A3 */
}

/*
 * Takes up to max completions from the ring. While they come in the order of their tickets and none
 * is marked, what this side counts stays in registers: see vyre_prep for why a store saved is worth
 * having.
 */
static size_t reap_ring(vyre_queue *queue, vyre_completion *out, size_t max)
{
    size_t count = 0;
    uint64_t next = queue->next_entry, arrived = queue->arrived;
    for (; count < max; count++) {
        const uint32_t *entry = entry_at(queue, next);
        if (!entry || ticket_of(entry) != arrived) break;
        /* After the look at the entry: a slot is marked before it is submitted, and may be marked,
         * submitted and ended while we are here. */
        if (__atomic_load_n(&queue->marked, __ATOMIC_RELAXED) != 0) break;
        copy_entry(entry, &out[count], 0);
        next++;
        arrived++;
    }
    __atomic_store_n(&queue->next_entry, next, __ATOMIC_RELEASE);
    queue->arrived = arrived;
    while (count < max && take_entry(queue, &out[count]))
        count++;
    return count;
}

static size_t reap(vyre_queue *queue, vyre_completion *out, size_t max)
{
    size_t count = 0;
    enter(queue);
    while (queue->kept_count != 0 && count < max) {
        uint32_t index = queue->kept_first;
        vyre_ticket_map_take(&queue->kept_index, queue->kept[index].completion.ticket);
        unkeep(queue, index, &out[count++]);
    }
    count += reap_ring(queue, out + count, max - count);
    leave(queue);
    if (count != 0) received(queue, count);
    return count;
}

int vyre_queue_ready(const vyre_queue *queue)
{
    return next_entry(queue) != NULL || device_gone(queue) ||
           __atomic_load_n(&queue->salvaged, __ATOMIC_ACQUIRE) != 0;
}

/* How long to sleep before the next look at a device that wakes nobody: what has been idle for long
 * is looked at less often. */
uint64_t vyre_queue_nap_ns(const vyre_queue *queue, uint64_t idle_ns)
{
    uint64_t least = queue->runtime->options.sleep_ns;
    uint64_t most = least > NAP_MOST_NS ? least : NAP_MOST_NS;
    uint64_t nap = idle_ns / NAP_SHARE;
    return nap < least ? least : nap < most ? nap : most;
}

/* Sleeps until the device says that something has changed; one that says nothing is looked at now
 * and then. */
static void block(vyre_queue *queue, uint64_t until_ns)
{
    struct dev_queue_page *page = queue->page;
    uint64_t began = vyre_clock_ns();
    for (uint64_t now = began;; now = vyre_clock_ns()) {
        uint32_t seen = dev_load_acquire(&page->event, DEV_SYSTEM);
        dev_store_relaxed(&page->waiter, 1);
        dev_fence_full(); /* F4, pairs with F3 in complete.h */
        if (now >= until_ns || vyre_queue_ready(queue)) break;
        uint64_t left = until_ns == UINT64_MAX ? until_ns : until_ns - now;
        uint64_t nap = queue->runtime->silent ? vyre_queue_nap_ns(queue, now - began) : left;
        vyre_futex_wait(&page->event, seen, nap < left ? nap : left);
        if (!queue->runtime->silent) break;
    }
    dev_store_relaxed(&page->waiter, 0);
}

/* Looks until there is something, or the clock shows until_ns. */
static int spin(const vyre_queue *queue, uint64_t until_ns)
{
    for (;;) {
        for (uint32_t i = 0; i < 256; i++) {
            if (vyre_queue_ready(queue)) return 1;
            dev_pause();
        }
        if (vyre_clock_ns() >= until_ns) return 0;
    }
}

void vyre_queue_pause(vyre_queue *queue, uint64_t until_ns)
{
    if (queue->wait_mode == VYRE_WAIT_SPIN) {
        spin(queue, until_ns);
        return;
    }
    if (queue->wait_mode == VYRE_WAIT_ADAPTIVE) {
        uint64_t limit = vyre_clock_after(vyre_clock_ns(), ADAPTIVE_SPIN_NS);
        if (spin(queue, limit < until_ns ? limit : until_ns)) return;
    }
    block(queue, until_ns);
}

/* Waits for news. Not 0: the time is up. */
static int wait_for_news(vyre_queue *queue, uint64_t until_ns)
{
    if (vyre_queue_ready(queue)) {
        end_untaken(queue);
        return 0;
    }
    if (until_ns != UINT64_MAX && vyre_clock_ns() >= until_ns) return 1;
    vyre_queue_pause(queue, until_ns);
    end_untaken(queue);
    return 0;
}

static uint64_t until(uint64_t timeout_ns)
{
    return timeout_ns == VYRE_FOREVER ? UINT64_MAX : vyre_clock_after(vyre_clock_ns(), timeout_ns);
}

static vyre_status not_found(uint64_t ticket, vyre_error *err)
{
    vyre_fail(
        err, VYRE_E_NOT_FOUND,
        "ticket %llu was never submitted to this queue, or its completion was received before",
        (unsigned long long)ticket);
    vyre_fail_fix(err, "wait for each ticket that vyre_queue_submit gave, once");
    return VYRE_E_NOT_FOUND;
}

/* Takes ring entries until the one with this ticket; keeps the others. */
static int take_ticket(vyre_queue *queue, uint64_t ticket, vyre_completion *out)
{
    vyre_completion completion;
    while (take_entry(queue, &completion)) {
        if (completion.ticket == ticket) {
            *out = completion;
            return 1;
        }
        keep(queue, &completion);
    }
    return 0;
}

/* VYRE_OK: it has ended; E_TIMEOUT: not yet; E_NOT_FOUND: there is no such ticket. */
static vyre_status look_for(vyre_queue *queue, uint64_t ticket, vyre_completion *out)
{
    vyre_status found = VYRE_OK;
    enter(queue);
    uint32_t index = vyre_ticket_map_take(&queue->kept_index, ticket);
    if (index != VYRE_TICKET_NONE)
        unkeep(queue, index, out);
    else if (!take_ticket(queue, ticket, out))
        found = vyre_queue_pending(queue, ticket) ? VYRE_E_TIMEOUT : VYRE_E_NOT_FOUND;
    leave(queue);
    return found;
}

vyre_status vyre_wait(vyre_queue *queue, uint64_t ticket, uint64_t timeout_ns,
                      vyre_completion *completion, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    if (!completion) return vyre_fail(err, VYRE_E_NULL, "completion is null");
    uint64_t submitted = __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE);
    if (ticket - queue->first_ticket >= submitted - queue->first_ticket)
        return not_found(ticket, err);
    uint64_t until_ns = timeout_ns == VYRE_FOREVER ? UINT64_MAX : 0;
    vyre_status found;
    while ((found = look_for(queue, ticket, completion)) != VYRE_OK) {
        if (found == VYRE_E_NOT_FOUND) return not_found(ticket, err);
        if (until_ns == 0) until_ns = until(timeout_ns);
        if (wait_for_news(queue, until_ns))
            return vyre_fail(err, VYRE_E_TIMEOUT, "ticket %llu has not ended after %llu ns",
                             (unsigned long long)ticket, (unsigned long long)timeout_ns);
    }
    received(queue, 1);
    return VYRE_OK;
}

vyre_status vyre_queue_reap(vyre_queue *queue, vyre_completion *completions, size_t max,
                            size_t *count, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    if (!completions && max != 0) return vyre_fail(err, VYRE_E_NULL, "completions is null");
    if (!count) return vyre_fail(err, VYRE_E_NULL, "count is null");
    size_t n = reap(queue, completions, max);
    if (n < max && device_gone(queue)) {
        end_untaken(queue);
        n += reap(queue, completions + n, max - n);
    }
    *count = n;
    return VYRE_OK;
}

vyre_status vyre_queue_reap_wait(vyre_queue *queue, vyre_completion *completions, size_t min,
                                 size_t max, uint64_t timeout_ns, size_t *count, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    if (!completions && max != 0) return vyre_fail(err, VYRE_E_NULL, "completions is null");
    if (!count) return vyre_fail(err, VYRE_E_NULL, "count is null");
    if (min > max)
        return vyre_fail_with(err, VYRE_E_RANGE, "make room for at least min completions",
                              "min is %zu, above max %zu", min, max);
    uint64_t until_ns = until(timeout_ns);
    size_t n = reap(queue, completions, max);
    while (n < min && __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE) != queue->reaped) {
        if (wait_for_news(queue, until_ns)) {
            *count = n;
            return vyre_fail(err, VYRE_E_TIMEOUT, "%zu of %zu completions after %llu ns", n, min,
                             (unsigned long long)timeout_ns);
        }
        n += reap(queue, completions + n, max - n);
    }
    *count = n;
    return VYRE_OK;
}

uint32_t vyre_queue_outstanding(const vyre_queue *queue)
{
    if (!queue) return 0;
    uint64_t reaped = __atomic_load_n(&queue->reaped, __ATOMIC_ACQUIRE);
    return (uint32_t)(__atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE) - reaped);
}

vyre_status vyre_queue_set_wait_mode(vyre_queue *queue, uint32_t wait_mode, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    if (wait_mode > VYRE_WAIT_BLOCK)
        return vyre_fail(err, VYRE_E_RANGE, "wait_mode is %u; 0 spins, 1 adapts, 2 blocks",
                         wait_mode);
    queue->wait_mode = wait_mode;
    return VYRE_OK;
}
