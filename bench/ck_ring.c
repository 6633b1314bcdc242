/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Concurrency Kit's ring in its single-producer single-consumer form, 64-byte items by value, one
 * call an item as its interface has it. Built only where the header was found at configure time;
 * elsewhere the peer reports that it is not installed.
 */
#include "peers.h"

#if defined(VYRE_HAVE_CK)

#    include <ck_ring.h>
#    include <stdalign.h>
#    include <stdlib.h>
#    include <string.h>

CK_RING_PROTOTYPE(item, peer_item)

struct pair_state {
    ck_ring_t ring;
    alignas(BENCH_CACHE_LINE) uint64_t stop; /* R1: number of items there will ever be, plus 1 */
    alignas(BENCH_CACHE_LINE) uint64_t duration_ns;
    uint64_t begin_ns;
    uint64_t sent;
    struct peer_received received;
    alignas(BENCH_CACHE_LINE) struct peer_item item[PEER_ITEMS];
};

static void produce(void *ctx)
{
    struct pair_state *state = ctx;
    uint64_t number = 0;
    state->begin_ns = bench_clock_ns();
    uint64_t until = state->begin_ns + state->duration_ns;
    do {
        for (uint32_t k = 0; k < PEER_ITEMS; k++) {
            struct peer_item item;
            uint32_t spins = 0;
            peer_item_fill(&item, number++);
            while (!CK_RING_ENQUEUE_SPSC(item, &state->ring, state->item, &item))
                bench_spin(&spins);
        }
    } while (bench_clock_ns() < until);
    state->sent = number;
    __atomic_store_n(&state->stop, number + 1, __ATOMIC_RELEASE); /* R1 */
}

static void *consume(void *ctx)
{
    struct pair_state *state = ctx;
    uint64_t count = 0;
    uint64_t sum = 0;
    uint32_t spins = 0;
    for (;;) {
        struct peer_item item;
        if (CK_RING_DEQUEUE_SPSC(item, &state->ring, state->item, &item)) {
            sum += peer_item_sum(&item);
            count++;
            continue;
        }
        if (__atomic_load_n(&state->stop, __ATOMIC_ACQUIRE) == count + 1) break; /* pairs with R1 */
        bench_spin(&spins);
    }
    state->received = (struct peer_received){count, sum, bench_clock_ns()};
    return NULL;
}

void peer_ck_ring(const struct peer_run *run, struct peer_rate *rate)
{
    struct pair_state *state = aligned_alloc(BENCH_CACHE_LINE, sizeof *state);
    if (state == NULL) {
        peer_rate_absent(rate, "no memory");
        return;
    }
    memset(state, 0, sizeof *state);
    ck_ring_init(&state->ring, PEER_ITEMS);
    state->duration_ns = run->duration_ns;
    struct peer_pair pair = {consume, produce, state, run->cpus};
    if (peer_pair_run(&pair) != 0)
        peer_rate_absent(rate, "no thread to be had");
    else
        peer_rate_set(rate, state->sent, state->begin_ns, &state->received);
    free(state);
}

#else

void peer_ck_ring(const struct peer_run *run, struct peer_rate *rate)
{
    (void)run;
    peer_rate_absent(rate, "not installed when this was built (Debian: libck-dev)");
}

#endif
