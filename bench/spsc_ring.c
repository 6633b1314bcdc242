/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The bare ring: one producer, one consumer, 64-byte places, nothing else. Each side keeps the
 * other's index in a copy of its own and reads the real one only when the copy says full or empty;
 * indices are published once a batch. It is the ceiling of what two cores can hand over.
 *
 * The producer alone writes tail and the items, the consumer alone writes head.
 */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

struct ring {
    alignas(BENCH_CACHE_LINE) uint64_t tail; /* R1: items below it are written */
    alignas(BENCH_CACHE_LINE) uint64_t head; /* R2: items below it have been read */
    alignas(BENCH_CACHE_LINE) uint64_t stop; /* R3: number of items there will ever be, plus 1 */
    alignas(BENCH_CACHE_LINE) uint64_t duration_ns;
    uint64_t begin_ns;
    uint64_t sent;
    struct peer_received received;
    alignas(BENCH_CACHE_LINE) struct peer_item item[PEER_ITEMS];
};

static void produce(void *ctx)
{
    struct ring *ring = ctx;
    uint64_t tail = 0;
    uint64_t head = 0;
    ring->begin_ns = bench_clock_ns();
    uint64_t until = ring->begin_ns + ring->duration_ns;
    do {
        for (uint32_t k = 0; k < PEER_ITEMS; k += PEER_BATCH) {
            uint32_t spins = 0;
            while (tail + PEER_BATCH - head > PEER_ITEMS) {
                head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE); /* pairs with R2 */
                bench_spin(&spins);
            }
            for (uint32_t i = 0; i < PEER_BATCH; i++, tail++)
                peer_item_fill(&ring->item[tail % PEER_ITEMS], tail);
            __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE); /* R1 */
        }
    } while (bench_clock_ns() < until);
    ring->sent = tail;
    __atomic_store_n(&ring->stop, tail + 1, __ATOMIC_RELEASE); /* R3 */
}

static void *consume(void *ctx)
{
    struct ring *ring = ctx;
    uint64_t head = 0;
    uint64_t sum = 0;
    uint32_t spins = 0;
    for (;;) {
        uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE); /* pairs with R1 */
        if (tail == head) {
            uint64_t stop = __atomic_load_n(&ring->stop, __ATOMIC_ACQUIRE); /* pairs with R3 */
            if (stop == head + 1) break;
            bench_spin(&spins);
            continue;
        }
        while (head != tail) {
            uint64_t end = tail - head > PEER_BATCH ? head + PEER_BATCH : tail;
            for (; head != end; head++)
                sum += peer_item_sum(&ring->item[head % PEER_ITEMS]);
            __atomic_store_n(&ring->head, head, __ATOMIC_RELEASE); /* R2 */
        }
    }
    ring->received = (struct peer_received){head, sum, bench_clock_ns()};
    return NULL;
}

void peer_spsc_ring(const struct peer_run *run, struct peer_rate *rate)
{
    struct ring *ring = aligned_alloc(BENCH_CACHE_LINE, sizeof *ring);
    if (ring == NULL) {
        peer_rate_absent(rate, "no memory");
        return;
    }
    memset(ring, 0, sizeof *ring);
    ring->duration_ns = run->duration_ns;
    struct peer_pair pair = {consume, produce, ring, run->cpus};
    if (peer_pair_run(&pair) != 0)
        peer_rate_absent(rate, "no thread to be had");
    else
        peer_rate_set(rate, ring->sent, ring->begin_ns, &ring->received);
    free(ring);
}
