/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory of the fake driver: a range of addresses is a mapping without rights, which it gets when
 * memory is mapped there and access is given; registered memory has one address for both sides.
 */
#include "backend/cuda/fake/fake_internal.h"

#include <string.h>
#include <sys/mman.h>

#define GRANULARITY ((size_t)2 << 20)
#define REGISTERED  4096u

static void *registered[REGISTERED];

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Device words change while they are copied, as they do on a GPU: not the sanitizer's business. */
__attribute__((no_sanitize("thread"))) static void copy(void *to, const void *from, size_t bytes)
{
    volatile unsigned char *into = to;
    const volatile unsigned char *source = from;
    size_t at = 0;
    if ((((uintptr_t)to | (uintptr_t)from) & 7u) == 0)
        for (; at + 8 <= bytes; at += 8)
            *(volatile uint64_t *)(void *)((char *)to + at) =
                *(const volatile uint64_t *)(const void *)((const char *)from + at);
    for (; at < bytes; at++)
        into[at] = source[at];
}

int fake_register(void *base, size_t bytes, unsigned flags)
{
    int result = fake_call();
    if (result) return result;
    if (!base || bytes % 4096 != 0 || (uintptr_t)base % 4096 != 0 ||
        flags != (VYRE_CU_REGISTER_PORTABLE | VYRE_CU_REGISTER_DEVICEMAP))
        return VYRE_CU_INVALID_VALUE;
    for (size_t i = 0; i < REGISTERED; i++) {
        void *none = NULL;
        if (__atomic_compare_exchange_n(&registered[i], &none, base, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            fake_count(1);
            return 0;
        }
    }
    return VYRE_CU_OUT_OF_MEMORY;
}

int fake_unregister(void *base)
{
    int result = fake_call();
    fake_alone();
    for (size_t i = 0; i < REGISTERED; i++) {
        void *expected = base;
        if (__atomic_compare_exchange_n(&registered[i], &expected, NULL, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            fake_count(-1);
            return result;
        }
    }
    return VYRE_CU_INVALID_VALUE;
}

int fake_device_pointer(uint64_t *address, void *base, unsigned flags)
{
    (void)flags;
    *address = (uint64_t)(uintptr_t)base;
    return fake_call();
}

int fake_memory_info(size_t *available, size_t *total)
{
    *total = fake.device[0].memory;
    *available = *total - __atomic_load_n(&fake.used, __ATOMIC_RELAXED);
    return fake_call();
}

int fake_granularity(size_t *granularity, const struct vyre_cu_memory_kind *kind, int option)
{
    (void)kind, (void)option;
    *granularity = GRANULARITY;
    return fake_call();
}

int fake_reserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wanted,
                 unsigned long long flags)
{
    int result = fake_call();
    (void)alignment, (void)wanted, (void)flags;
    if (result) return result;
    if (bytes == 0 || bytes % GRANULARITY != 0) return VYRE_CU_INVALID_VALUE;
    void *base = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return VYRE_CU_OUT_OF_MEMORY;
    *address = (uint64_t)(uintptr_t)base;
    fake_count(1);
    return 0;
}

int fake_unreserve(uint64_t address, size_t bytes)
{
    int result = fake_call();
    munmap(pointer(address), bytes);
    fake_count(-1);
    return result;
}

int fake_create(uint64_t *handle, size_t bytes, const struct vyre_cu_memory_kind *kind,
                unsigned long long flags)
{
    int result = fake_call();
    (void)flags;
    if (result) return result;
    if (kind->type != VYRE_CU_MEMORY_PINNED || kind->location.type != VYRE_CU_LOCATION_DEVICE)
        return VYRE_CU_INVALID_VALUE;
    if (__atomic_load_n(&fake.used, __ATOMIC_RELAXED) + bytes > fake.device[0].memory)
        return VYRE_CU_OUT_OF_MEMORY;
    *handle = bytes;
    fake_count(1);
    return 0;
}

int fake_release(uint64_t handle)
{
    int result = fake_call();
    (void)handle;
    fake_count(-1);
    return result;
}

int fake_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags)
{
    int result = fake_call();
    (void)address, (void)flags;
    if (result) return result;
    if (offset != 0 || bytes != handle) return VYRE_CU_INVALID_VALUE;
    __atomic_fetch_add(&fake.used, bytes, __ATOMIC_RELAXED);
    fake_count(1);
    return 0;
}

int fake_unmap(uint64_t address, size_t bytes)
{
    int result = fake_call();
    mprotect(pointer(address), bytes, PROT_NONE);
    __atomic_fetch_sub(&fake.used, bytes, __ATOMIC_RELAXED);
    fake_count(-1);
    return result;
}

/* Fresh memory is not zero on a GPU. */
int fake_set_access(uint64_t address, size_t bytes, const struct vyre_cu_access *access,
                    size_t count)
{
    int result = fake_call();
    if (result) return result;
    if (count != 1 || access->flags != VYRE_CU_ACCESS_READ_WRITE) return VYRE_CU_INVALID_VALUE;
    mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE);
    memset(pointer(address), 0xA5, bytes < GRANULARITY ? bytes : GRANULARITY);
    return 0;
}

int fake_copy_in(uint64_t to, const void *from, size_t bytes, void *stream)
{
    int result = fake_call();
    if (result) return result;
    if (!stream) return VYRE_CU_INVALID_VALUE;
    copy(pointer(to), from, bytes);
    return 0;
}

int fake_copy_out(void *to, uint64_t from, size_t bytes, void *stream)
{
    int result = fake_call();
    if (result) return result;
    if (!stream) return VYRE_CU_INVALID_VALUE;
    copy(to, pointer(from), bytes);
    return 0;
}

int fake_set(uint64_t address, unsigned char value, size_t bytes, void *stream)
{
    int result = fake_call();
    if (result) return result;
    if (!stream) return VYRE_CU_INVALID_VALUE;
    fake_alone();
    memset(pointer(address), value, bytes);
    return 0;
}
