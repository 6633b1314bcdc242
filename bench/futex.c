/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The least that waking a sleeping thread can be: a store, a futex wake, and the woken thread's
 * store of an answer, on which the caller spins. The thread then sleeps again at once.
 *
 * One writer a word: `call` is the caller's, `answer` the sleeping thread's.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peers.h"

struct peer_sleeper {
    alignas(2 * BENCH_CACHE_LINE) uint32_t call; /* R1: a number; 0 at first, UINT32_MAX ends it */
    alignas(2 * BENCH_CACHE_LINE) uint32_t answer; /* R2: the last number it has seen */
    alignas(2 * BENCH_CACHE_LINE) pthread_t thread;
    int cpu;
};

static void *sleep_main(void *ctx)
{
    struct peer_sleeper *sleeper = ctx;
    uint32_t last = 0;
    bench_pin(sleeper->cpu);
    for (;;) {
        uint32_t seen = __atomic_load_n(&sleeper->call, __ATOMIC_ACQUIRE); /* pairs with R1 */
        if (seen == last) {
            syscall(SYS_futex, &sleeper->call, FUTEX_WAIT_PRIVATE, last, NULL, NULL, 0);
            continue;
        }
        if (seen == UINT32_MAX) return NULL;
        last = seen;
        __atomic_store_n(&sleeper->answer, seen, __ATOMIC_RELEASE); /* R2 */
    }
}

static void call(struct peer_sleeper *sleeper, uint32_t number)
{
    __atomic_store_n(&sleeper->call, number, __ATOMIC_RELEASE); /* R1 */
    syscall(SYS_futex, &sleeper->call, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

struct peer_sleeper *peer_sleeper_open(int cpu)
{
    struct peer_sleeper *sleeper = aligned_alloc(2 * BENCH_CACHE_LINE, sizeof *sleeper);
    if (sleeper == NULL) return NULL;
    memset(sleeper, 0, sizeof *sleeper);
    sleeper->cpu = cpu;
    if (pthread_create(&sleeper->thread, NULL, sleep_main, sleeper) != 0) {
        free(sleeper);
        return NULL;
    }
    return sleeper;
}

void peer_sleeper_close(struct peer_sleeper *sleeper)
{
    if (sleeper == NULL) return;
    call(sleeper, UINT32_MAX);
    pthread_join(sleeper->thread, NULL);
    free(sleeper);
}

uint64_t peer_sleeper_wake(struct peer_sleeper *sleeper)
{
    uint32_t spins = 0;
    uint32_t number = sleeper->call + 1;
    uint64_t begin = bench_clock_ns();
    call(sleeper, number);
    while (__atomic_load_n(&sleeper->answer, __ATOMIC_ACQUIRE) != number) /* pairs with R2 */
        bench_spin(&spins);
    return bench_clock_ns() - begin;
}
