/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The least a round trip between two cores can be: one thread stores a number, the other sees it
 * and stores it back, each word on a line of its own, both sides looking without pause.
 *
 * One writer a word: `ping` is the caller's, `pong` the other thread's.
 */
#include <pthread.h>
#include <stdalign.h>

#include "peers.h"

#define WARM_UP 2000u

struct flags {
    alignas(2 * BENCH_CACHE_LINE) uint64_t ping; /* R1: UINT64_MAX ends the other thread */
    alignas(2 * BENCH_CACHE_LINE) uint64_t pong; /* R2 */
    alignas(2 * BENCH_CACHE_LINE) uint64_t duration_ns;
    uint32_t *samples;
    size_t capacity;
    size_t count;
};

static void *answer(void *ctx)
{
    struct flags *flags = ctx;
    uint64_t last = 0;
    uint32_t spins = 0;
    for (;;) {
        uint64_t seen = __atomic_load_n(&flags->ping, __ATOMIC_ACQUIRE); /* pairs with R1 */
        if (seen == last) {
            bench_spin(&spins);
            continue;
        }
        if (seen == UINT64_MAX) return NULL;
        last = seen;
        __atomic_store_n(&flags->pong, seen, __ATOMIC_RELEASE); /* R2 */
    }
}

static uint64_t ask_once(struct flags *flags, uint64_t number)
{
    uint32_t spins = 0;
    uint64_t begin = bench_clock_ns();
    __atomic_store_n(&flags->ping, number, __ATOMIC_RELEASE);         /* R1 */
    while (__atomic_load_n(&flags->pong, __ATOMIC_ACQUIRE) != number) /* pairs with R2 */
        bench_spin(&spins);
    return bench_clock_ns() - begin;
}

static void ask(void *ctx)
{
    struct flags *flags = ctx;
    uint64_t number = 0;
    while (number < WARM_UP)
        ask_once(flags, ++number);
    uint64_t until = bench_clock_ns() + flags->duration_ns;
    while (flags->count < flags->capacity) {
        uint64_t took = ask_once(flags, ++number);
        flags->samples[flags->count++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
        if (flags->count % 256 == 0 && bench_clock_ns() > until) break;
    }
    __atomic_store_n(&flags->ping, UINT64_MAX, __ATOMIC_RELEASE); /* R1 */
}

int peer_pingpong(const struct peer_run *run, uint32_t *samples, size_t capacity, size_t *count)
{
    struct flags flags = {0, 0, run->duration_ns, samples, capacity, 0};
    struct peer_pair pair = {answer, ask, &flags, run->cpus};
    int failed = peer_pair_run(&pair);
    *count = flags.count;
    return failed;
}
