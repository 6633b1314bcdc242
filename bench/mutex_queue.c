/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The textbook queue: a ring of 64-byte items under one mutex, a condition variable for "not empty"
 * and one for "not full". A side signals only when the other is asleep, so the common path is one
 * lock and one unlock; the batched variant moves up to PEER_BATCH items under one lock.
 *
 * Everything in struct queue down to `asleep_full` is guarded by the mutex.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    uint64_t tail;
    uint64_t head;
    int closed;
    int asleep_empty;
    int asleep_full;
    uint32_t batch;
    uint64_t duration_ns;
    uint64_t begin_ns;
    uint64_t sent;
    struct peer_received received;
    struct peer_item item[PEER_ITEMS];
};

static void put(struct queue *queue, const struct peer_item *items, uint32_t count)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->tail + count - queue->head > PEER_ITEMS) {
        queue->asleep_full = 1;
        pthread_cond_wait(&queue->not_full, &queue->mutex);
        queue->asleep_full = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        queue->item[queue->tail++ % PEER_ITEMS] = items[i];
    int wake = queue->asleep_empty;
    pthread_mutex_unlock(&queue->mutex);
    if (wake) pthread_cond_signal(&queue->not_empty);
}

/* Returns how many items there were; 0 only when the queue is closed and empty. */
static uint32_t take(struct queue *queue, struct peer_item *items, uint32_t max)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->tail == queue->head && !queue->closed) {
        queue->asleep_empty = 1;
        pthread_cond_wait(&queue->not_empty, &queue->mutex);
        queue->asleep_empty = 0;
    }
    uint64_t there = queue->tail - queue->head;
    uint32_t count = there < max ? (uint32_t)there : max;
    for (uint32_t i = 0; i < count; i++)
        items[i] = queue->item[queue->head++ % PEER_ITEMS];
    /* A sleeping producer is woken when a quarter is free again: fewer wake-ups, more items. */
    int wake = queue->asleep_full && queue->tail - queue->head <= PEER_ITEMS * 3 / 4;
    pthread_mutex_unlock(&queue->mutex);
    if (wake) pthread_cond_signal(&queue->not_full);
    return count;
}

static void produce(void *ctx)
{
    struct queue *queue = ctx;
    struct peer_item items[PEER_BATCH];
    uint64_t number = 0;
    queue->begin_ns = bench_clock_ns();
    uint64_t until = queue->begin_ns + queue->duration_ns;
    do {
        for (uint32_t k = 0; k < 1024; k += queue->batch) {
            for (uint32_t i = 0; i < queue->batch; i++)
                peer_item_fill(&items[i], number++);
            put(queue, items, queue->batch);
        }
    } while (bench_clock_ns() < until);
    queue->sent = number;
    pthread_mutex_lock(&queue->mutex);
    queue->closed = 1;
    pthread_mutex_unlock(&queue->mutex);
    pthread_cond_signal(&queue->not_empty);
}

static void *consume(void *ctx)
{
    struct queue *queue = ctx;
    struct peer_item items[PEER_BATCH];
    uint64_t count = 0;
    uint64_t sum = 0;
    for (;;) {
        uint32_t got = take(queue, items, queue->batch);
        if (got == 0) break;
        for (uint32_t i = 0; i < got; i++)
            sum += peer_item_sum(&items[i]);
        count += got;
    }
    queue->received = (struct peer_received){count, sum, bench_clock_ns()};
    return NULL;
}

static void run_queue(const struct peer_run *run, uint32_t batch, struct peer_rate *rate)
{
    struct queue *queue = aligned_alloc(BENCH_CACHE_LINE, (sizeof *queue + BENCH_CACHE_LINE - 1) /
                                                              BENCH_CACHE_LINE * BENCH_CACHE_LINE);
    if (queue == NULL) {
        peer_rate_absent(rate, "no memory");
        return;
    }
    memset(queue, 0, sizeof *queue);
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->not_empty, NULL);
    pthread_cond_init(&queue->not_full, NULL);
    queue->batch = batch;
    queue->duration_ns = run->duration_ns;
    struct peer_pair pair = {consume, produce, queue, run->cpus};
    if (peer_pair_run(&pair) != 0)
        peer_rate_absent(rate, "no thread to be had");
    else
        peer_rate_set(rate, queue->sent, queue->begin_ns, &queue->received);
    pthread_cond_destroy(&queue->not_full);
    pthread_cond_destroy(&queue->not_empty);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void peer_mutex_queue(const struct peer_run *run, struct peer_rate *rate)
{
    run_queue(run, 1, rate);
}

void peer_mutex_queue_batched(const struct peer_run *run, struct peer_rate *rate)
{
    run_queue(run, PEER_BATCH, rate);
}
