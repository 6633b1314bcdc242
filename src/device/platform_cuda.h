/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The GPU's half of platform.h, which alone includes it, behind its types: each call is an
 * instruction of PTX or a few. platform_cpu.h has the same calls.
 */
#ifndef VYRE_DEVICE_PLATFORM_CUDA_H
#define VYRE_DEVICE_PLATFORM_CUDA_H

#define DEV_FN        static __device__ __forceinline__
#define DEV_INLINE    static __device__ __forceinline__
#define DEV_NO_INLINE static __device__ __noinline__
#define DEV_TABLE     static __device__ const
#define DEV_LIKELY(x) (x)

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
#define DEV_PTX_ATOMIC(name, ptx)                                                                  \
    DEV_FN uint32_t name(uint32_t *word, uint32_t value)                                           \
    {                                                                                              \
        uint32_t old;                                                                              \
        asm volatile("atom.acq_rel.gpu." ptx " %0, [%1], %2;"                                      \
                     : "=r"(old)                                                                   \
                     : "l"(word), "r"(value)                                                       \
                     : "memory");                                                                  \
        return old;                                                                                \
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

#endif
