/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CPU's half of platform.h, which alone includes it, behind its types: atomics of the compiler,
 * and calls of the system for clock and sleep. platform_cuda.h has the same calls.
 */
#ifndef VYRE_DEVICE_PLATFORM_CPU_H
#define VYRE_DEVICE_PLATFORM_CPU_H

#include <assert.h>
#include <sched.h>
#if defined(__AVX2__)
#    include <immintrin.h>
#endif

#include "base/clock.h"
#include "base/futex.h"

#define DEV_FN        static inline __attribute__((unused))
#define DEV_INLINE    static inline __attribute__((always_inline, unused))
#define DEV_NO_INLINE static __attribute__((noinline, unused))
#define DEV_TABLE     static const
#define DEV_LIKELY(x) __builtin_expect(!!(x), 1)

DEV_FN uint32_t dev_load_relaxed(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

DEV_FN uint64_t dev_load64_relaxed(const dev_word64 *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

DEV_FN void dev_store_relaxed(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

DEV_FN void dev_store64_relaxed(dev_word64 *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

DEV_FN uint32_t dev_load_acquire(const uint32_t *word, enum dev_scope scope)
{
    (void)scope;
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

DEV_FN uint64_t dev_load64_acquire(const dev_word64 *word, enum dev_scope scope)
{
    (void)scope;
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

DEV_FN void dev_store_release(uint32_t *word, uint32_t value, enum dev_scope scope)
{
    (void)scope;
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

DEV_FN void dev_store64_release(dev_word64 *word, uint64_t value, enum dev_scope scope)
{
    (void)scope;
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

DEV_FN void dev_store_table(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

DEV_FN uint32_t dev_add_relaxed(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

DEV_FN void dev_add64_relaxed(dev_word64 *word, uint64_t value)
{
    __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

DEV_FN uint64_t dev_take64_relaxed(dev_word64 *word, uint64_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

DEV_FN uint64_t dev_add64_both(dev_word64 *word, uint64_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}

DEV_FN uint32_t dev_add_release(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_RELEASE);
}

DEV_FN uint32_t dev_add_acquire(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_ACQUIRE);
}

DEV_FN uint32_t dev_sub_release(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_sub(word, value, __ATOMIC_RELEASE);
}

/* Both acquire and release: for a count whose last owner takes over what the others leave. */
DEV_FN uint32_t dev_sub_both(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_sub(word, value, __ATOMIC_ACQ_REL);
}

DEV_FN uint32_t dev_exchange_acquire(uint32_t *word, uint32_t value)
{
    return __atomic_exchange_n(word, value, __ATOMIC_ACQUIRE);
}

/* Stores `desired` if *word is `expected`; returns what was there. */
DEV_FN uint32_t dev_cas_relaxed(uint32_t *word, uint32_t expected, uint32_t desired)
{
    __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

/* Atomics of programs, on their buffers: ordered among all workers. */

DEV_FN uint32_t dev_atomic_add(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

DEV_FN uint32_t dev_atomic_or(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
}

DEV_FN uint32_t dev_atomic_and(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_and(word, value, __ATOMIC_SEQ_CST);
}

DEV_FN uint32_t dev_atomic_xor(uint32_t *word, uint32_t value)
{
    return __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
}

DEV_FN uint32_t dev_atomic_exchange(uint32_t *word, uint32_t value)
{
    return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

DEV_FN uint32_t dev_atomic_cas(uint32_t *word, uint32_t expected, uint32_t desired)
{
    __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

DEV_FN void dev_sum_to(uint32_t *word, uint32_t value)
{
    __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

DEV_FN void dev_set_answered(uint32_t *word, uint32_t value, uint32_t mine, uint32_t *answer)
{
    if (mine) *answer = __atomic_exchange_n(word, value, __ATOMIC_RELAXED);
}

DEV_FN uint32_t dev_atomic_min(uint32_t *word, uint32_t value)
{
    uint32_t old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    while (value < old &&
           !__atomic_compare_exchange_n(word, &old, value, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

DEV_FN uint32_t dev_atomic_max(uint32_t *word, uint32_t value)
{
    uint32_t old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    while (value > old &&
           !__atomic_compare_exchange_n(word, &old, value, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

DEV_FN void dev_fence_full(void)
{
#if defined(__SANITIZE_THREAD__) || defined(VYRE_TSAN)
    /* The sanitizer knows no fences; a sequentially consistent exchange is one on every machine we
     * test on. */
    uint32_t word = 0;
    __atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

DEV_FN void dev_fence_both(enum dev_scope scope)
{
    (void)scope;
#if defined(__SANITIZE_THREAD__) || defined(VYRE_TSAN)
    dev_fence_full();
#else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/* In two pieces here: the low one goes last and is read first, so it vouches for the high one. */
DEV_FN struct dev_word128 dev_load128_relaxed(const struct dev_word128 *word)
{
    struct dev_word128 value;
    value.low = __atomic_load_n(&word->low, __ATOMIC_ACQUIRE);
    value.high = __atomic_load_n(&word->high, __ATOMIC_RELAXED);
    return value;
}

DEV_FN void dev_store128_relaxed(struct dev_word128 *word, struct dev_word128 value)
{
    __atomic_store_n(&word->high, value.high, __ATOMIC_RELAXED);
    __atomic_store_n(&word->low, value.low, __ATOMIC_RELEASE);
}

/* The other way round: the high half goes last. */
DEV_FN void dev_store128_last(struct dev_word128 *word, struct dev_word128 value)
{
    __atomic_store_n(&word->low, value.low, __ATOMIC_RELAXED);
    __atomic_store_n(&word->high, value.high, __ATOMIC_RELEASE);
}

DEV_FN void dev_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Gives the core away: for waits on a thread that may have been put aside. */
DEV_FN void dev_yield(void)
{
    sched_yield();
}

DEV_FN uint64_t dev_clock_ns(void)
{
    return vyre_clock_ns();
}

DEV_FN void dev_sleep(uint32_t *word, uint32_t seen)
{
    vyre_futex_wait(word, seen, UINT64_MAX);
}

DEV_FN void dev_wake(uint32_t *word, uint32_t count)
{
    vyre_futex_wake(word, count);
}

/*
 * The floating-point state in which programs run: round to nearest, no exceptions, and on x86
 * subnormal operands read as zero without results being flushed (vm/arith.h). Returns the state
 * before. The interpreter lies behind a call through a pointer, so nothing moves out of the state.
 */
DEV_FN uint32_t dev_float_enter(void)
{
#if defined(__x86_64__)
    uint32_t before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1FC0);
    return before;
#else
    return 0;
#endif
}

DEV_FN void dev_float_leave(uint32_t before)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(before);
#else
    (void)before;
#endif
}

/*
 * Stores `count` words past the caches, for buffers that are larger than those: a line that is
 * written whole need not be read first. 0: not done (the place is not aligned, or the processor has
 * no such stores). What was stored so is ordered by dev_stream_done only.
 */
DEV_FN int dev_stream(void *to, const uint32_t *from, uint32_t count)
{
#if defined(__AVX2__)
    if (((uintptr_t)to & 63u) != 0 || count % 16 != 0) return 0;
    for (uint32_t i = 0; i < count; i += 8)
        _mm256_stream_si256((__m256i *)(void *)((unsigned char *)to + 4 * (size_t)i),
                            _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
    return 1;
#else
    (void)to, (void)from, (void)count;
    return 0;
#endif
}

DEV_FN void dev_stream_done(void)
{
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
}

#endif
