/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The allocation seam: what it hands out, what it counts, what it refuses, and that it fails when
 * the allocator behind it does.
 */
#include "meter.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/memory.h"

static bool all_zero(const void *memory, size_t bytes)
{
    const unsigned char *byte = memory;
    for (size_t i = 0; i < bytes; i++)
        if (byte[i] != 0) return false;
    return true;
}

static void defaults(void)
{
    struct vyre_memory memory;
    struct vyre_mapping mapping = {NULL, 0, -1};
    vyre_error err;
    void *block = NULL;
    uint32_t descriptors = count_descriptors();

    works(vyre_memory_init(&memory, NULL, &err), &err, "malloc and memfd");
    is_u64(vyre_memory_live(&memory), 0, "nothing is alive at first");
    works(vyre_memory_alloc(&memory, 3, 100, "a block", &block, &err), &err, "a block");
    is_u64((uintptr_t)block % VYRE_CACHE_LINE, 0, "it begins a cache line");
    ok(all_zero(block, 300), "it is zero");
    is_u64(vyre_memory_live(&memory), 300, "it is counted");

    works(vyre_memory_map(&memory, 5000, "a mapping", &mapping, &err), &err, "a mapping");
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    is_u64(mapping.bytes, (5000 + page - 1) / page * page, "it is whole pages");
    is_u64((uintptr_t)mapping.base % page, 0, "it begins a page");
    ok(all_zero(mapping.base, mapping.bytes), "it is zero");
    is_u64(vyre_memory_live(&memory), 300 + mapping.bytes, "it is counted too");
    is_u64(count_descriptors(), descriptors + 1, "it has a descriptor");

    /* The descriptor names the same memory. */
    struct stat info;
    ok(fstat(mapping.fd, &info) == 0 && (size_t)info.st_size == mapping.bytes,
       "the descriptor is as long as the mapping");
    memcpy(mapping.base, "vyre", 5);
    char seen[5] = "";
    ok(pread(mapping.fd, seen, 5, 0) == 5 && strcmp(seen, "vyre") == 0, "and shows its bytes");

    vyre_memory_free(&memory, block, 300);
    vyre_memory_unmap(&memory, &mapping);
    ok(mapping.base == NULL && mapping.bytes == 0 && mapping.fd == -1, "unmapped means empty");
    vyre_memory_unmap(&memory, &mapping);
    vyre_memory_free(&memory, NULL, 300);
    is_u64(vyre_memory_live(&memory), 0, "nothing is alive at the end");
    is_u64(count_descriptors(), descriptors, "and no descriptor is left");
}

static void embedders_own(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    struct vyre_memory memory;
    struct vyre_mapping mapping = {NULL, 0, -1};
    vyre_error err;
    void *block = NULL;

    works(vyre_memory_init(&memory, &hooks, &err), &err, "the embedder's functions");
    memset(&hooks, 0, sizeof hooks);
    must(vyre_memory_alloc(&memory, 7, 8, "a block", &block, &err), &err);
    must(vyre_memory_map(&memory, 1, "a mapping", &mapping, &err), &err);
    is_u64(meter.calls, 2, "they are called, though the caller's structure is gone");
    ok(all_zero(block, 56), "what they hand out dirty comes zeroed");
    is_u64(vyre_memory_live(&memory), meter.live_bytes, "both counts agree");
    vyre_memory_free(&memory, block, 56);
    vyre_memory_unmap(&memory, &mapping);
    ok(meter_clean(&meter), "everything went back with its size");

    hooks = meter_allocator(&meter);
    hooks.map = NULL;
    hooks.unmap = NULL;
    must(vyre_memory_init(&memory, &hooks, &err), &err);
    must(vyre_memory_map(&memory, 1, "a mapping", &mapping, &err), &err);
    ok(mapping.fd >= 0 && meter.calls == 2, "without map and unmap the library maps by itself");
    vyre_memory_unmap(&memory, &mapping);
}

static void refusals(void)
{
    struct meter meter = {0};
    struct vyre_memory memory;
    vyre_allocator hooks;
    vyre_error err;

    static const char *const names[] = {"alloc", "free", "map", "unmap"};
    static const vyre_status statuses[] = {VYRE_E_NULL, VYRE_E_NULL, VYRE_E_CONFLICT,
                                           VYRE_E_CONFLICT};
    for (int i = 0; i < 4; i++) {
        hooks = meter_allocator(&meter);
        if (i == 0) hooks.alloc = NULL;
        if (i == 1) hooks.free = NULL;
        if (i == 2) hooks.map = NULL;
        if (i == 3) hooks.unmap = NULL;
        memset(&memory, 0x5A, sizeof memory);
        refused(vyre_memory_init(&memory, &hooks, &err), statuses[i], &err, "no %s", names[i]);
        ok(strstr(err.message, names[i]) != NULL, "the message names %s", names[i]);
        is_u64(memory.live_bytes, 0x5A5A5A5A5A5A5A5Au, "and nothing was written");
    }
    is_u64(vyre_memory_init(&memory, &hooks, NULL), VYRE_E_CONFLICT, "err may be NULL");
}

static void failures(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    struct vyre_memory memory;
    struct vyre_mapping mapping = {&memory, 1, 2};
    vyre_error err;
    void *block = &meter;

    must(vyre_memory_init(&memory, &hooks, &err), &err);
    refused(vyre_memory_alloc(&memory, SIZE_MAX / 2, 3, "much", &block, &err), VYRE_E_OVERFLOW,
            &err, "a product that does not fit");
    refused(vyre_memory_map(&memory, SIZE_MAX - 1, "much", &mapping, &err), VYRE_E_OVERFLOW, &err,
            "pages that do not fit");
    is_u64(meter.calls, 0, "neither reached the allocator");
    meter.fail_at = 1;
    refused(vyre_memory_alloc(&memory, 2, 50, "a block", &block, &err), VYRE_E_NO_MEMORY, &err,
            "the allocator has none");
    ok(strstr(err.message, "a block") && strstr(err.message, "100"), "what, and how much");
    meter.fail_at = 2;
    refused(vyre_memory_map(&memory, 50, "a ring", &mapping, &err), VYRE_E_NO_MEMORY, &err,
            "the mapper has none");
    ok(block == &meter && mapping.base == &memory && mapping.bytes == 1 && mapping.fd == 2,
       "out-parameters are as before");
    is_u64(vyre_memory_live(&memory), 0, "nothing is counted");
    ok(meter_clean(&meter), "nothing is alive");
}

/* Memory that came as a descriptor. */
static void adopted(void)
{
    struct vyre_memory memory;
    struct vyre_mapping own, other = {&memory, 1, 2};
    vyre_error err;
    int pipes[2];
    must(vyre_memory_init(&memory, NULL, &err), &err);
    must(vyre_memory_map(&memory, 5000, "a ring", &own, &err), &err);
    uint64_t before = vyre_memory_live(&memory);
    works(vyre_memory_adopt(&memory, dup(own.fd), 5000, "a ring", &other, &err), &err,
          "what vyre_memory_map made can be mapped again");
    strcpy(own.base, "here");
    ok(other.base != own.base && strcmp(other.base, "here") == 0, "and is the same memory");
    is_u64(vyre_memory_live(&memory), 2 * before, "which is counted");
    ok(ftruncate(own.fd, 0) != 0 && ftruncate(own.fd, 1 << 20) != 0, "nobody can change its size");
    vyre_memory_unmap(&memory, &other);
    other.bytes = 77;
    refused(vyre_memory_adopt(&memory, own.fd, own.bytes + 1, "a ring", &other, &err),
            VYRE_E_TOO_SMALL, &err, "more than there is");
    refused(vyre_memory_adopt(&memory, own.fd, SIZE_MAX, "a ring", &other, &err), VYRE_E_OVERFLOW,
            &err, "more than can be");
    refused(vyre_memory_adopt(&memory, -1, 1, "a ring", &other, &err), VYRE_E_NOT_PERMITTED, &err,
            "no descriptor");
    if (pipe(pipes) != 0) bail("cannot make a pipe");
    refused(vyre_memory_adopt(&memory, pipes[0], 1, "a ring", &other, &err), VYRE_E_NOT_PERMITTED,
            &err, "a pipe");
    int loose = memfd_create("loose", MFD_CLOEXEC);
    if (loose < 0 || ftruncate(loose, 4096) != 0) bail("cannot make a memfd");
    refused(vyre_memory_adopt(&memory, loose, 4096, "a ring", &other, &err), VYRE_E_NOT_PERMITTED,
            &err, "memory that can shrink, and cannot be sealed");
    int sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (sealed < 0 || ftruncate(sealed, 4096) != 0) bail("cannot make a memfd");
    ok(other.base == NULL && other.bytes == 77, "out-parameters are as before");
    works(vyre_memory_adopt(&memory, sealed, 4096, "a ring", &other, &err), &err,
          "memory that could have shrunk");
    ok(ftruncate(sealed, 0) != 0, "is sealed on the way");
    vyre_memory_unmap(&memory, &other);
    vyre_memory_unmap(&memory, &own);
    is_u64(vyre_memory_live(&memory), 0, "all is given back");
    close(loose);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    defaults();
    embedders_own();
    refusals();
    failures();
    adopted();
    return done();
}
