/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The only place where C and CUDA differ. Everything else in this room is written in their common
 * subset and compiled twice: by a C17 compiler for the CPU backend, by nvcc for the CUDA backend.
 *
 * Words that two parties touch are read and written only through these calls. A scope says how far
 * an ordering reaches: DEV_DEVICE among the workers of one device, DEV_SYSTEM to the host as well.
 * There are two bare fences: dev_fence_full belongs to the sleep hand-shake, dev_fence_both stands
 * between loads and stores of the resident kernel's warps, where one fence serves many words.
 */
#ifndef VYRE_DEVICE_PLATFORM_H
#define VYRE_DEVICE_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* The functions of the wire room that the device shares. */
#if defined(__CUDACC__)
#    define VYRE_WIRE_FN static __host__ __device__ __forceinline__
#endif

/* Two neighbouring words read or written at once: slots and entries are arrays of 32-bit words. */
#if defined(__CUDACC__)
typedef uint64_t dev_word64;
#    define DEV_ALIAS
#else
typedef uint64_t __attribute__((may_alias)) dev_word64;
#    define DEV_ALIAS __attribute__((may_alias))
#endif

/* Four words at once; aligned to their size. */
struct dev_word128 {
    uint64_t low;
    uint64_t high;
} DEV_ALIAS;

enum dev_scope { DEV_DEVICE = 0, DEV_SYSTEM = 1 };

#if defined(__CUDACC__)

#    define DEV_FN        static __device__ __forceinline__
#    define DEV_INLINE    static __device__ __forceinline__
#    define DEV_NO_INLINE static __device__ __noinline__
#    define DEV_TABLE     static __device__ const
#    define DEV_LIKELY(x) (x)

DEV_FN uint32_t dev_load_relaxed(const uint32_t *word)
{
    uint32_t value;
    asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

DEV_FN uint64_t dev_load64_relaxed(const dev_word64 *word)
{
    uint64_t value;
    asm volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

DEV_FN void dev_store_relaxed(uint32_t *word, uint32_t value)
{
    asm volatile("st.relaxed.sys.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

DEV_FN void dev_store64_relaxed(dev_word64 *word, uint64_t value)
{
    asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

DEV_FN uint32_t dev_load_acquire(const uint32_t *word, enum dev_scope scope)
{
    uint32_t value;
    if (scope == DEV_SYSTEM)
        asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    else
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

DEV_FN uint64_t dev_load64_acquire(const dev_word64 *word, enum dev_scope scope)
{
    uint64_t value;
    if (scope == DEV_SYSTEM)
        asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    else
        asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

DEV_FN void dev_store_release(uint32_t *word, uint32_t value, enum dev_scope scope)
{
    if (scope == DEV_SYSTEM)
        asm volatile("st.release.sys.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
    else
        asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

DEV_FN void dev_store64_release(dev_word64 *word, uint64_t value, enum dev_scope scope)
{
    if (scope == DEV_SYSTEM)
        asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
    else
        asm volatile("st.release.gpu.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/* For tables of which others take copies: a GPU's are copied by the copy engine, which has no part
 * in the order of stores, so the version words around them are all that a reader has. */
DEV_FN void dev_store_table(uint32_t *word, uint32_t value)
{
    dev_store_relaxed(word, value);
}

DEV_FN uint32_t dev_add_relaxed(uint32_t *word, uint32_t value)
{
    uint32_t old;
    asm volatile("atom.relaxed.gpu.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(value)
                 : "memory");
    return old;
}

DEV_FN void dev_add64_relaxed(dev_word64 *word, uint64_t value)
{
    asm volatile("red.relaxed.gpu.add.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

/* The same for who must know what it was. */
DEV_FN uint64_t dev_take64_relaxed(dev_word64 *word, uint64_t value)
{
    uint64_t old;
    asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(word), "l"(value)
                 : "memory");
    return old;
}

DEV_FN uint64_t dev_add64_both(dev_word64 *word, uint64_t value)
{
    uint64_t old;
    asm volatile("atom.acq_rel.gpu.add.u64 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(word), "l"(value)
                 : "memory");
    return old;
}

DEV_FN uint32_t dev_add_release(uint32_t *word, uint32_t value)
{
    uint32_t old;
    asm volatile("atom.release.gpu.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(value)
                 : "memory");
    return old;
}

DEV_FN uint32_t dev_add_acquire(uint32_t *word, uint32_t value)
{
    uint32_t old;
    asm volatile("atom.acquire.gpu.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(value)
                 : "memory");
    return old;
}

DEV_FN uint32_t dev_sub_release(uint32_t *word, uint32_t value)
{
    uint32_t old;
    asm volatile("atom.release.gpu.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(0u - value)
                 : "memory");
    return old;
}

DEV_FN uint32_t dev_sub_both(uint32_t *word, uint32_t value)
{
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(0u - value)
                 : "memory");
    return old;
}

DEV_FN uint32_t dev_exchange_acquire(uint32_t *word, uint32_t value)
{
    uint32_t old;
    asm volatile("atom.acquire.gpu.exch.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(word), "r"(value)
                 : "memory");
    return old;
}

/* Stores `desired` if *word is `expected`; returns what was there. */
DEV_FN uint32_t dev_cas_relaxed(uint32_t *word, uint32_t expected, uint32_t desired)
{
    uint32_t old;
    asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(word), "r"(expected), "r"(desired)
                 : "memory");
    return old;
}

/* Atomics of programs, on their buffers: ordered among all workers. Not beyond: a GPU's atomics on
 * memory of the host are none to its processors. */
#    define DEV_PTX_ATOMIC(name, ptx)                                                              \
        DEV_FN uint32_t name(uint32_t *word, uint32_t value)                                       \
        {                                                                                          \
            uint32_t old;                                                                          \
            asm volatile("atom.acq_rel.gpu." ptx " %0, [%1], %2;"                                  \
                         : "=r"(old)                                                               \
                         : "l"(word), "r"(value)                                                   \
                         : "memory");                                                              \
            return old;                                                                            \
        }
DEV_PTX_ATOMIC(dev_atomic_add, "add.u32")
DEV_PTX_ATOMIC(dev_atomic_or, "or.b32")
DEV_PTX_ATOMIC(dev_atomic_and, "and.b32")
DEV_PTX_ATOMIC(dev_atomic_xor, "xor.b32")
DEV_PTX_ATOMIC(dev_atomic_min, "min.u32")
DEV_PTX_ATOMIC(dev_atomic_max, "max.u32")
DEV_PTX_ATOMIC(dev_atomic_exchange, "exch.b32")

DEV_FN uint32_t dev_atomic_cas(uint32_t *word, uint32_t expected, uint32_t desired)
{
    uint32_t old;
    asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(word), "r"(expected), "r"(desired)
                 : "memory");
    return old;
}

/* Adds to a word of a buffer; nobody asks what it was. */
DEV_FN void dev_sum_to(uint32_t *word, uint32_t value)
{
    asm volatile("red.relaxed.gpu.add.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

/* Stores to a word of a buffer in the device's memory, where `mine` is not 0. Whoever waits for the
 * answer knows that the word is where all of the device see it. */
DEV_FN void dev_set_answered(uint32_t *word, uint32_t value, uint32_t mine, uint32_t *answer)
{
    asm volatile(
        "{ .reg .pred here; .reg .u64 at; setp.ne.u32 here, %3, 0; cvta.to.global.u64 at, %1;"
        " @here atom.relaxed.gpu.global.exch.b32 %0, [at], %2; }"
        : "+r"(*answer)
        : "l"(word), "r"(value), "r"(mine)
        : "memory");
}

DEV_FN void dev_fence_full(void)
{
    asm volatile("fence.sc.sys;" : : : "memory");
}

/* Acquire for the relaxed loads before it, release for the relaxed stores after it. */
DEV_FN void dev_fence_both(enum dev_scope scope)
{
    if (scope == DEV_SYSTEM)
        asm volatile("fence.acq_rel.sys;" : : : "memory");
    else
        asm volatile("fence.acq_rel.gpu;" : : : "memory");
}

/* Four words in one access. */
DEV_FN struct dev_word128 dev_load128_relaxed(const struct dev_word128 *word)
{
    struct dev_word128 value;
    asm volatile("{ .reg .b128 both; ld.relaxed.sys.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
                 : "=l"(value.low), "=l"(value.high)
                 : "l"(word)
                 : "memory");
    return value;
}

DEV_FN void dev_store128_relaxed(struct dev_word128 *word, struct dev_word128 value)
{
    asm volatile("{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.b128 [%0], both; }"
                 :
                 : "l"(word), "l"(value.low), "l"(value.high)
                 : "memory");
}

/* Where the high half vouches for the low one. */
DEV_FN void dev_store128_last(struct dev_word128 *word, struct dev_word128 value)
{
    dev_store128_relaxed(word, value);
}

/* A GPU's caches do not read what is written whole. */
DEV_FN int dev_stream(void *to, const uint32_t *from, uint32_t count)
{
    (void)to, (void)from, (void)count;
    return 0;
}

DEV_FN void dev_stream_done(void)
{
}

/* Programs on a GPU have their rounding in each instruction. */
DEV_FN uint32_t dev_float_enter(void)
{
    return 0;
}

DEV_FN void dev_float_leave(uint32_t before)
{
    (void)before;
}

DEV_FN void dev_pause(void)
{
    __nanosleep(20);
}

DEV_FN void dev_yield(void)
{
    __nanosleep(100);
}

/* The host's monotonic clock less the GPU's timer; each block sets it when it begins. */
static __shared__ int64_t dev_clock_shift;

DEV_FN uint64_t dev_clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now + (uint64_t)dev_clock_shift;
}

/* A GPU worker never sleeps in the kernel: it backs off, and the kernel parks. */
DEV_FN void dev_sleep(uint32_t *word, uint32_t seen)
{
    if (dev_load_relaxed(word) == seen) __nanosleep(1000);
}

/* Waiting hosts look at the completion ring themselves. */
DEV_FN void dev_wake(uint32_t *word, uint32_t count)
{
    (void)word;
    (void)count;
}

#else

#    include <assert.h>
#    include <sched.h>
#    if defined(__AVX2__)
#        include <immintrin.h>
#    endif

#    include "base/clock.h"
#    include "base/futex.h"

#    define DEV_FN        static inline __attribute__((unused))
#    define DEV_INLINE    static inline __attribute__((always_inline, unused))
#    define DEV_NO_INLINE static __attribute__((noinline, unused))
#    define DEV_TABLE     static const
#    define DEV_LIKELY(x) __builtin_expect(!!(x), 1)

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
#    if defined(__SANITIZE_THREAD__) || defined(VYRE_TSAN)
    /* The sanitizer knows no fences; a sequentially consistent exchange is one on every machine we
     * test on. */
    uint32_t word = 0;
    __atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
#    else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#    endif
}

DEV_FN void dev_fence_both(enum dev_scope scope)
{
    (void)scope;
#    if defined(__SANITIZE_THREAD__) || defined(VYRE_TSAN)
    dev_fence_full();
#    else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#    endif
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
#    if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#    elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#    endif
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
#    if defined(__x86_64__)
    uint32_t before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1FC0);
    return before;
#    else
    return 0;
#    endif
}

DEV_FN void dev_float_leave(uint32_t before)
{
#    if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(before);
#    else
    (void)before;
#    endif
}

/*
 * Stores `count` words past the caches, for buffers that are larger than those: a line that is
 * written whole need not be read first. 0: not done (the place is not aligned, or the processor has
 * no such stores). What was stored so is ordered by dev_stream_done only.
 */
DEV_FN int dev_stream(void *to, const uint32_t *from, uint32_t count)
{
#    if defined(__AVX2__)
    if (((uintptr_t)to & 63u) != 0 || count % 16 != 0) return 0;
    for (uint32_t i = 0; i < count; i += 8)
        _mm256_stream_si256((__m256i *)(void *)((unsigned char *)to + 4 * (size_t)i),
                            _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
    return 1;
#    else
    (void)to, (void)from, (void)count;
    return 0;
#    endif
}

DEV_FN void dev_stream_done(void)
{
#    if defined(__x86_64__)
    __builtin_ia32_sfence();
#    endif
}

#endif

/* Locks of the device: held for a few dozen instructions, never across an operation or a wait. */

DEV_FN int dev_lock_try(uint32_t *lock)
{
    return dev_load_relaxed(lock) == 0 && dev_exchange_acquire(lock, 1) == 0;
}

DEV_FN void dev_lock(uint32_t *lock)
{
    for (uint32_t tries = 1; !dev_lock_try(lock); tries++) {
        dev_pause();
        if (tries % 1024 == 0) dev_yield();
    }
}

DEV_FN void dev_unlock(uint32_t *lock)
{
    dev_store_release(lock, 0, DEV_DEVICE);
}

#endif
