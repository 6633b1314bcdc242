/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An allocator for tests: it counts calls and what is alive, fills memory with rubbish, notices
 * blocks that come back with another size, and fails at the n-th call. Any thread may use it.
 */
#ifndef VYRE_TESTS_METER_H
#define VYRE_TESTS_METER_H

#include "support.h"

#include <sys/mman.h>

struct meter {
    _Atomic uint64_t calls;     /* alloc and map */
    _Atomic uint64_t fail_at;   /* this call fails, counted from 1; 0: none */
    _Atomic uint64_t fail_from; /* this one and all later ones; 0: none */
    _Atomic uint64_t failures;
    _Atomic int64_t live_blocks;
    _Atomic int64_t live_bytes;
    _Atomic uint64_t wrong; /* blocks that came back with another size */
};

/* Lies just below every block. */
struct meter_head {
    size_t size;  /* of the block */
    size_t space; /* from the start of the memory to the block */
};

TAP_UNUSED static bool meter_refuses(struct meter *meter)
{
    uint64_t call = atomic_fetch_add(&meter->calls, 1) + 1;
    uint64_t from = atomic_load(&meter->fail_from);
    if (call != atomic_load(&meter->fail_at) && (from == 0 || call < from)) return false;
    atomic_fetch_add(&meter->failures, 1);
    return true;
}

TAP_UNUSED static void meter_add(struct meter *meter, int blocks, size_t size)
{
    atomic_fetch_add(&meter->live_blocks, blocks);
    atomic_fetch_add(&meter->live_bytes, blocks * (int64_t)size);
}

TAP_UNUSED static void *meter_alloc(void *ctx, size_t size, size_t align)
{
    struct meter *meter = ctx;
    void *base;
    if (meter_refuses(meter)) return NULL;
    struct meter_head head = {size, align > sizeof head ? align : sizeof head};
    if (size > SIZE_MAX / 2 || posix_memalign(&base, align, head.space + size) != 0) return NULL;
    char *block = (char *)base + head.space;
    memcpy(block - sizeof head, &head, sizeof head);
    memset(block, 0xA5, size);
    meter_add(meter, 1, size);
    return block;
}

TAP_UNUSED static void meter_free(void *ctx, void *memory, size_t size)
{
    struct meter *meter = ctx;
    struct meter_head head;
    memcpy(&head, (char *)memory - sizeof head, sizeof head);
    if (head.size != size) atomic_fetch_add(&meter->wrong, 1);
    meter_add(meter, -1, head.size);
    free((char *)memory - head.space);
}

TAP_UNUSED static void *meter_map(void *ctx, size_t size, int *fd)
{
    struct meter *meter = ctx;
    if (meter_refuses(meter)) return NULL;
    int memfd = test_hosted() ? memfd_create("meter", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
    int flags = MAP_SHARED | (memfd < 0 ? MAP_ANONYMOUS : 0);
    if (memfd >= 0 && ftruncate(memfd, (off_t)size) != 0) return NULL;
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, memfd, 0);
    if (base == MAP_FAILED) return NULL;
    *fd = memfd;
    meter_add(meter, 1, size);
    return base;
}

TAP_UNUSED static void meter_unmap(void *ctx, void *memory, size_t size, int fd)
{
    struct meter *meter = ctx;
    if ((fd != -1) != test_hosted() || munmap(memory, size) != 0)
        atomic_fetch_add(&meter->wrong, 1);
    if (fd >= 0) close(fd);
    meter_add(meter, -1, size);
}

TAP_UNUSED static vyre_allocator meter_allocator(struct meter *meter)
{
    return (vyre_allocator){meter_alloc, meter_free, meter_map, meter_unmap, meter};
}

/* Nothing is alive and nothing came back wrong. */
TAP_UNUSED static bool meter_clean(struct meter *meter)
{
    return atomic_load(&meter->live_blocks) == 0 && atomic_load(&meter->live_bytes) == 0 &&
           atomic_load(&meter->wrong) == 0;
}

#endif
