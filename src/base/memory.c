/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The allocation seam over malloc and memfd, or over the embedder's own functions.
 */
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"

/* Large pieces are asked for in huge pages, where the kernel gives those on request: workers stream
 * through buffers, and each small page would be a pause. */
#define HUGE_PAGE ((size_t)2 << 20)

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static void *default_alloc(void *ctx, size_t size, size_t align)
{
    void *pointer = NULL;
    (void)ctx;
    int huge = size >= 2 * HUGE_PAGE;
    if (posix_memalign(&pointer, huge ? HUGE_PAGE : align, size) != 0) return NULL;
    if (huge) madvise(pointer, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    return pointer;
}

static void default_free(void *ctx, void *pointer, size_t size)
{
    (void)ctx;
    (void)size;
    free(pointer);
}

static void *default_map(void *ctx, size_t size, int *fd)
{
    (void)ctx;
    /* Past the limit on file sizes ftruncate would not fail but kill the process. */
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size > limit.rlim_cur) {
        errno = EFBIG;
        return NULL;
    }
    int memfd = memfd_create("vyre", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memfd < 0) return NULL;
    void *base = MAP_FAILED;
    /* Sealed, so that another process can rely on its size; see vyre_memory_adopt. */
    if (ftruncate(memfd, (off_t)size) == 0 && fcntl(memfd, F_ADD_SEALS, SIZE_SEALS) == 0)
        base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    if (base == MAP_FAILED) {
        int saved = errno;
        close(memfd);
        errno = saved;
        return NULL;
    }
    *fd = memfd;
    return base;
}

static void default_unmap(void *ctx, void *base, size_t size, int fd)
{
    (void)ctx;
    munmap(base, size);
    if (fd >= 0) close(fd);
}

vyre_status vyre_memory_init(struct vyre_memory *memory, const vyre_allocator *hooks,
                             vyre_error *err)
{
    static const vyre_allocator defaults = {default_alloc, default_free, default_map, default_unmap,
                                            NULL};
    vyre_allocator chosen = defaults;
    if (hooks) {
        if (!hooks->alloc || !hooks->free)
            return vyre_fail(err, VYRE_E_NULL, "the allocator has no %s function",
                             hooks->alloc ? "free" : "alloc");
        if (!hooks->map != !hooks->unmap)
            return vyre_fail_with(err, VYRE_E_CONFLICT, "give both map and unmap, or neither",
                                  "the allocator has %s but not %s", hooks->map ? "map" : "unmap",
                                  hooks->map ? "unmap" : "map");
        chosen = *hooks;
        if (!chosen.map) {
            chosen.map = default_map;
            chosen.unmap = default_unmap;
        }
    }
    memory->hooks = chosen;
    memory->live_bytes = 0;
    return VYRE_OK;
}

vyre_status vyre_memory_alloc(struct vyre_memory *memory, size_t count, size_t size,
                              const char *what, void **out, vyre_error *err)
{
    size_t bytes;
    if (!vyre_mul_size(count, size, &bytes))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%s: %zu times %zu bytes does not fit", what, count,
                         size);
    void *pointer = memory->hooks.alloc(memory->hooks.ctx, bytes, VYRE_CACHE_LINE);
    if (!pointer)
        return vyre_fail(err, VYRE_E_NO_MEMORY, "%s: no memory for %zu bytes", what, bytes);
    memset(pointer, 0, bytes);
    __atomic_fetch_add(&memory->live_bytes, bytes, __ATOMIC_RELAXED);
    *out = pointer;
    return VYRE_OK;
}

void vyre_memory_free(struct vyre_memory *memory, void *pointer, size_t bytes)
{
    if (!pointer) return;
    __atomic_fetch_sub(&memory->live_bytes, bytes, __ATOMIC_RELAXED);
    memory->hooks.free(memory->hooks.ctx, pointer, bytes);
}

/* Says why there was no mapping, as far as the system told. */
static vyre_status map_failed(int cause, const char *what, size_t bytes, vyre_error *err)
{
    if (cause == 0 || cause == ENOMEM)
        return vyre_fail(err, VYRE_E_NO_MEMORY, "%s: no shareable memory for %zu bytes", what,
                         bytes);
    vyre_fail_errno(err, cause, "%s: no shareable memory for %zu bytes", what, bytes);
    if (cause == EMFILE || cause == ENFILE)
        vyre_fail_fix(
            err,
            "raise the limit on open files (ulimit -n), or open fewer queues and pinned buffers");
    if (cause == EFBIG) vyre_fail_fix(err, "raise the limit on file sizes (ulimit -f)");
    return VYRE_E_SYSTEM;
}

vyre_status vyre_memory_map(struct vyre_memory *memory, size_t bytes, const char *what,
                            struct vyre_mapping *out, vyre_error *err)
{
    size_t rounded;
    if (!vyre_round_up_size(bytes, (size_t)sysconf(_SC_PAGESIZE), &rounded))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%s: %zu bytes do not fit whole pages", what, bytes);
    int fd = -1;
    errno = 0;
    void *base = memory->hooks.map(memory->hooks.ctx, rounded, &fd);
    if (!base) return map_failed(errno, what, rounded, err);
    __atomic_fetch_add(&memory->live_bytes, rounded, __ATOMIC_RELAXED);
    *out = (struct vyre_mapping){base, rounded, fd};
    return VYRE_OK;
}

/* Whether a descriptor is of memory that keeps `bytes` bytes. */
static vyre_status check_given(int fd, size_t bytes, const char *what, vyre_error *err)
{
    struct stat info;
    fcntl(fd, F_ADD_SEALS, SIZE_SEALS); /* where it cannot be done, the next line says no */
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
        return vyre_fail_with(err, VYRE_E_NOT_PERMITTED,
                              "make it with memfd_create and MFD_ALLOW_SEALING",
                              "%s: the descriptor is of memory that may shrink, or of none", what);
    if (fstat(fd, &info) != 0) return vyre_fail_errno(err, errno, "%s: looking at its size", what);
    if ((uint64_t)info.st_size < bytes)
        return vyre_fail(err, VYRE_E_TOO_SMALL, "%s: %llu bytes where %zu are needed", what,
                         (unsigned long long)info.st_size, bytes);
    return VYRE_OK;
}

vyre_status vyre_memory_adopt(struct vyre_memory *memory, int fd, size_t bytes, const char *what,
                              struct vyre_mapping *out, vyre_error *err)
{
    size_t rounded;
    if (!vyre_round_up_size(bytes, (size_t)sysconf(_SC_PAGESIZE), &rounded))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%s: %zu bytes do not fit whole pages", what, bytes);
    vyre_status status = check_given(fd, bytes, what, err);
    if (status) return status;
    void *base = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return vyre_fail_errno(err, errno, "%s: mapping %zu bytes", what, rounded);
    __atomic_fetch_add(&memory->live_bytes, rounded, __ATOMIC_RELAXED);
    *out = (struct vyre_mapping){base, rounded, fd};
    return VYRE_OK;
}

void vyre_memory_unmap(struct vyre_memory *memory, struct vyre_mapping *mapping)
{
    if (!mapping->base) return;
    __atomic_fetch_sub(&memory->live_bytes, mapping->bytes, __ATOMIC_RELAXED);
    memory->hooks.unmap(memory->hooks.ctx, mapping->base, mapping->bytes, mapping->fd);
    *mapping = (struct vyre_mapping){NULL, 0, -1};
}

uint64_t vyre_memory_live(const struct vyre_memory *memory)
{
    return __atomic_load_n(&memory->live_bytes, __ATOMIC_RELAXED);
}
