/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory of the fake driver: a range of addresses is a mapping without rights, which it gets when
 * memory is mapped there and access is given; registered memory has one address for both sides.
 *
 * Memory that can be shared is a memfd, whose name says which GPU it stands for. Its descriptor is
 * what is exported: another process that maps it sees the bytes, as one with the driver would.
 */
#include "backend/cuda/fake/fake_internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY ((size_t)2 << 20)
#define REGISTERED  4096u

static void *registered[REGISTERED];

/* What a handle stands for; it lives until it is released and mapped nowhere. */
struct allocation {
    size_t bytes;
    int fd;     /* -1: cannot be shared */
    int device; /* where it lies */
    int fresh;  /* nobody has given access to it yet */
    uint32_t users;
};

/* Where allocations are mapped. */
static struct mapped {
    struct mapped *next;
    uint64_t address;
    struct allocation *allocation;
} * mappings;

static pthread_mutex_t mappings_lock = PTHREAD_MUTEX_INITIALIZER;

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

/* Allocations.
 * ------------------------------------------------------------------------------------------- */

static struct allocation *of_handle(uint64_t handle)
{
    return pointer(handle);
}

static void leave(struct allocation *allocation)
{
    if (__atomic_sub_fetch(&allocation->users, 1, __ATOMIC_ACQ_REL) != 0) return;
    if (allocation->fd >= 0) close(allocation->fd);
    free(allocation);
}

static int new_handle(const struct allocation *like, uint64_t *handle)
{
    struct allocation *allocation = malloc(sizeof *allocation);
    if (!allocation) return VYRE_CU_OUT_OF_MEMORY;
    *allocation = *like;
    allocation->users = 1;
    *handle = (uint64_t)(uintptr_t)allocation;
    fake_count(1);
    return 0;
}

int fake_create(uint64_t *handle, size_t bytes, const struct vyre_cu_memory_kind *kind,
                unsigned long long flags)
{
    struct allocation made = {bytes, -1, kind->location.id, 1, 0};
    int result = fake_call();
    (void)flags;
    if (result) return result;
    if (kind->type != VYRE_CU_MEMORY_PINNED || kind->location.type != VYRE_CU_LOCATION_DEVICE ||
        bytes == 0 || bytes % GRANULARITY != 0)
        return VYRE_CU_INVALID_VALUE;
    if (__atomic_load_n(&fake.used, __ATOMIC_RELAXED) + bytes > fake.device[0].memory)
        return VYRE_CU_OUT_OF_MEMORY;
    if (kind->handle_types == VYRE_CU_HANDLE_DESCRIPTOR) {
        char name[32];
        if (fake.device[made.device].lacks == VYRE_CU_HANDLE_AS_DESCRIPTOR)
            return VYRE_CU_NOT_SUPPORTED;
        snprintf(name, sizeof name, FAKE_SHARED_NAME "%d", made.device);
        made.fd = memfd_create(name, MFD_CLOEXEC);
        if (made.fd < 0 || ftruncate(made.fd, (off_t)bytes) != 0) return VYRE_CU_OUT_OF_MEMORY;
    }
    result = new_handle(&made, handle);
    if (result && made.fd >= 0) close(made.fd);
    return result;
}

int fake_release(uint64_t handle)
{
    int result = fake_call();
    leave(of_handle(handle));
    fake_count(-1);
    return result;
}

int fake_export(void *out, uint64_t handle, int type, unsigned long long flags)
{
    int result = fake_call();
    if (result) return result;
    int fd = of_handle(handle)->fd;
    if (type != VYRE_CU_HANDLE_DESCRIPTOR || flags != 0 || fd < 0) return VYRE_CU_INVALID_VALUE;
    fd = fcntl(fd, F_DUPFD, 0); /* not closed on exec, as it is with the driver */
    if (fd < 0) return VYRE_CU_UNKNOWN;
    memcpy(out, &fd, sizeof fd);
    return 0;
}

/* The GPU that a descriptor's memory stands for; -1: it is of something else. */
static int device_of(int fd)
{
    char path[40], name[80];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, sizeof name - 1);
    const char *prefix = "/memfd:" FAKE_SHARED_NAME;
    if (length < 0) return -1;
    name[length] = '\0';
    return strncmp(name, prefix, strlen(prefix)) == 0 ? atoi(name + strlen(prefix)) : -1;
}

int fake_import(uint64_t *handle, void *from, int type)
{
    int result = fake_call(), fd = (int)(intptr_t)from;
    struct stat info;
    if (result) return result;
    struct allocation made = {0, -1, device_of(fd), 0, 0};
    if (type != VYRE_CU_HANDLE_DESCRIPTOR || made.device < 0 || fstat(fd, &info) != 0)
        return VYRE_CU_INVALID_VALUE;
    made.bytes = (size_t)info.st_size;
    made.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (made.fd < 0) return VYRE_CU_UNKNOWN;
    result = new_handle(&made, handle);
    if (result) close(made.fd);
    return result;
}

int fake_properties(struct vyre_cu_memory_kind *kind, uint64_t handle)
{
    int result = fake_call();
    if (result) return result;
    memset(kind, 0, sizeof *kind);
    kind->type = VYRE_CU_MEMORY_PINNED;
    kind->handle_types = of_handle(handle)->fd >= 0 ? VYRE_CU_HANDLE_DESCRIPTOR : 0;
    kind->location.type = VYRE_CU_LOCATION_DEVICE;
    kind->location.id = of_handle(handle)->device;
    return 0;
}

/* The mapping at an address, taken out of the list or left in it; NULL: none. */
static struct mapped *find_mapped(uint64_t address, int take)
{
    pthread_mutex_lock(&mappings_lock);
    struct mapped **link = &mappings;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    struct mapped *found = *link;
    if (found && take) *link = found->next;
    pthread_mutex_unlock(&mappings_lock);
    return found;
}

int fake_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle,
             unsigned long long flags)
{
    struct allocation *allocation = of_handle(handle);
    int result = fake_call();
    (void)flags;
    if (result) return result;
    if (bytes > allocation->bytes) return VYRE_CU_NOT_SUPPORTED; /* so the driver */
    if (offset != 0 || bytes != allocation->bytes) return VYRE_CU_INVALID_VALUE;
    struct mapped *mapping = malloc(sizeof *mapping);
    if (!mapping) return VYRE_CU_OUT_OF_MEMORY;
    if (allocation->fd >= 0 && mmap(pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
                                    allocation->fd, 0) == MAP_FAILED) {
        free(mapping);
        return VYRE_CU_OUT_OF_MEMORY;
    }
    __atomic_add_fetch(&allocation->users, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mappings_lock);
    *mapping = (struct mapped){mappings, address, allocation};
    mappings = mapping;
    pthread_mutex_unlock(&mappings_lock);
    __atomic_fetch_add(&fake.used, bytes, __ATOMIC_RELAXED);
    fake_count(1);
    return 0;
}

int fake_unmap(uint64_t address, size_t bytes)
{
    struct mapped *mapping = find_mapped(address, 1);
    int result = fake_call();
    if (!mapping || mapping->allocation->bytes != bytes) return VYRE_CU_INVALID_VALUE;
    /* Nothing of it is there any more, whoever else has it. */
    mmap(pointer(address), bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    leave(mapping->allocation);
    free(mapping);
    __atomic_fetch_sub(&fake.used, bytes, __ATOMIC_RELAXED);
    fake_count(-1);
    return result;
}

/* Fresh memory is not zero on a GPU. */
int fake_set_access(uint64_t address, size_t bytes, const struct vyre_cu_access *access,
                    size_t count)
{
    const struct mapped *mapping = find_mapped(address, 0);
    int result = fake_call();
    if (result) return result;
    if (count != 1 || access->flags != VYRE_CU_ACCESS_READ_WRITE || !mapping)
        return VYRE_CU_INVALID_VALUE;
    mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE);
    if (mapping->allocation->fresh)
        memset(pointer(address), 0xA5, bytes < GRANULARITY ? bytes : GRANULARITY);
    mapping->allocation->fresh = 0;
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
