/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What vyre is measured against, each in a file of its own: the barest thing that does the same
 * job, written to be fast. Every rate moves 64-byte items whose words are all written by one side
 * and all read by the other; the sum of all words is checked, so nothing can be left out. Called
 * by `vyre bench dispatch` only.
 */
#ifndef VYRE_BENCH_PEERS_H
#define VYRE_BENCH_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "host.h"

#define PEER_ITEMS      4096u /* places of every ring */
#define PEER_BATCH      32u
#define PEER_ITEM_WORDS 8u

struct peer_item {
    uint64_t word[PEER_ITEM_WORDS];
};

enum peer_state {
    PEER_OK = 0,
    PEER_ABSENT = 1, /* cannot be had here; the note says why */
    PEER_WRONG = 2   /* something was lost, doubled or changed; the note says what */
};

/* How a rate is measured. */
struct peer_run {
    struct bench_cpus cpus;
    uint64_t duration_ns;
};

struct peer_rate {
    enum peer_state state;
    uint64_t items;
    uint64_t elapsed_ns; /* from the first item's first store until the last one was received */
    char note[96];
};

/* Single producer, single consumer, batches of PEER_BATCH, cached indices: the ceiling. */
void peer_spsc_ring(const struct peer_run *run, struct peer_rate *rate);

/* A ring under a mutex with two condition variables: one item a lock, or PEER_BATCH a lock. */
void peer_mutex_queue(const struct peer_run *run, struct peer_rate *rate);
void peer_mutex_queue_batched(const struct peer_run *run, struct peer_rate *rate);

/* io_uring NOPs, PEER_BATCH a submit: single issuer, deferred task run, registered ring. */
void peer_uring_nop(const struct peer_run *run, struct peer_rate *rate);

/* Concurrency Kit's ck_ring, single producer and consumer, items by value. */
void peer_ck_ring(const struct peer_run *run, struct peer_rate *rate);

/* Two threads that answer each other through one word each, on lines of their own: fills
 * `samples` with the time of each round trip until the duration or the capacity is reached. Returns
 * 0, or -1 if there is no thread to be had. */
int peer_pingpong(const struct peer_run *run, uint32_t *samples, size_t capacity, size_t *count);

/* A thread that sleeps on a futex until it is woken, and answers by a store. */
struct peer_sleeper;

/* NULL: no memory or no thread. */
struct peer_sleeper *peer_sleeper_open(int cpu);
void peer_sleeper_close(struct peer_sleeper *sleeper);

/* Wakes it and waits for its answer: nanoseconds from before the store to after the load. */
uint64_t peer_sleeper_wake(struct peer_sleeper *sleeper);

/* Item i carries i + k * PEER_ITEM_STRIDE in word k; what the words of items 0..count-1 add up to.
 */
#define PEER_ITEM_STRIDE 0x9E3779B97F4A7C15ull
uint64_t peer_expected_sum(uint64_t count);

static inline void peer_item_fill(struct peer_item *item, uint64_t number)
{
    for (uint64_t k = 0; k < PEER_ITEM_WORDS; k++)
        item->word[k] = number + k * PEER_ITEM_STRIDE;
}

static inline uint64_t peer_item_sum(const struct peer_item *item)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < PEER_ITEM_WORDS; k++)
        sum += item->word[k];
    return sum;
}

/* Two threads of one rate: starts `consume(ctx)` on its CPU, runs `produce(ctx)` on the calling
 * thread, joins. Returns 0, or -1 if there is no thread to be had. */
struct peer_pair {
    void *(*consume)(void *ctx);
    void (*produce)(void *ctx);
    void *ctx;
    struct bench_cpus cpus;
};
int peer_pair_run(const struct peer_pair *pair);

/* Writes a rate's outcome: items that were sent and what the consumer received. */
struct peer_received {
    uint64_t items;
    uint64_t sum;
    uint64_t end_ns;
};
void peer_rate_set(struct peer_rate *rate, uint64_t sent, uint64_t begin_ns,
                   const struct peer_received *received);
void peer_rate_absent(struct peer_rate *rate, const char *why);

#endif
