/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the peers share: running two pinned threads, and checking what came through against what was
 * sent. Nothing here is on a timed path.
 */
#include "peers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

uint64_t peer_expected_sum(uint64_t count)
{
    /* Words: PEER_ITEM_WORDS times (0 + 1 + ... + count-1), plus count times the strides. */
    uint64_t half = count % 2 == 0 ? count / 2 * (count - 1) : (count - 1) / 2 * count;
    uint64_t strides = PEER_ITEM_WORDS * (PEER_ITEM_WORDS - 1) / 2;
    return half * PEER_ITEM_WORDS + count * strides * PEER_ITEM_STRIDE;
}

static void *consumer_main(void *start)
{
    const struct peer_pair *pair = start;
    bench_pin(pair->cpus.consumer);
    return pair->consume(pair->ctx);
}

int peer_pair_run(const struct peer_pair *pair)
{
    pthread_t thread;
    bench_pin(pair->cpus.producer);
    if (pthread_create(&thread, NULL, consumer_main, (void *)(uintptr_t)pair) != 0) return -1;
    pair->produce(pair->ctx);
    pthread_join(thread, NULL);
    return 0;
}

void peer_rate_set(struct peer_rate *rate, uint64_t sent, uint64_t begin_ns,
                   const struct peer_received *received)
{
    memset(rate, 0, sizeof *rate);
    rate->items = sent;
    rate->elapsed_ns = received->end_ns - begin_ns;
    if (received->items != sent || received->sum != peer_expected_sum(sent)) {
        rate->state = PEER_WRONG;
        snprintf(rate->note, sizeof rate->note,
                 "%" PRIu64 " items sent, %" PRIu64 " received, sum %s", sent, received->items,
                 received->sum == peer_expected_sum(sent) ? "right" : "wrong");
    }
}

void peer_rate_absent(struct peer_rate *rate, const char *why)
{
    memset(rate, 0, sizeof *rate);
    rate->state = PEER_ABSENT;
    snprintf(rate->note, sizeof rate->note, "%s", why);
}
