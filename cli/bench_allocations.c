/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Counts how often the command and the library in it ask for memory: the linker leads these calls
 * here first (--wrap in CMakeLists.txt). What the C library asks of itself is not seen.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "bench_telemetry.h"

static atomic_uint_fast64_t calls;

static void count(void)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

uint64_t bench_allocations(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t number, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

void *__wrap_malloc(size_t size)
{
    count();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t number, size_t size)
{
    count();
    return __real_calloc(number, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    count();
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    count();
    return __real_aligned_alloc(align, size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    count();
    return __real_mmap(at, size, protection, flags, fd, offset);
}
