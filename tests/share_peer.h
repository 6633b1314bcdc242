/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The other side of shared memory: what an application does with a descriptor that vyre exported,
 * and how it makes memory for vyre to import. GPU memory goes by the CUDA driver, found at run
 * time, in a context of this process; memory of the host, and that of the fake driver (a memfd as
 * well), is mapped.
 */
#ifndef VYRE_TESTS_SHARE_PEER_H
#define VYRE_TESTS_SHARE_PEER_H

#include "support.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/cuda/driver.h"

#define PEER_CALLS(CALL)                                                                           \
    CALL(cuInit, (unsigned flags))                                                                 \
    CALL(cuDeviceGet, (int *device, int index))                                                    \
    CALL(cuDevicePrimaryCtxRetain, (void **context, int device))                                   \
    CALL(cuCtxSetCurrent, (void *context))                                                         \
    CALL(cuMemCreate, (uint64_t * handle, size_t bytes, const struct vyre_cu_memory_kind *kind,    \
                       unsigned long long flags))                                                  \
    CALL(cuMemExportToShareableHandle,                                                             \
         (void *out, uint64_t handle, int type, unsigned long long flags))                         \
    CALL(cuMemImportFromShareableHandle, (uint64_t * handle, void *from, int type))                \
    CALL(cuMemAddressReserve, (uint64_t * address, size_t bytes, size_t alignment,                 \
                               uint64_t wanted, unsigned long long flags))                         \
    CALL(cuMemMap, (uint64_t address, size_t bytes, size_t offset, uint64_t handle,                \
                    unsigned long long flags))                                                     \
    CALL(cuMemSetAccess,                                                                           \
         (uint64_t address, size_t bytes, const struct vyre_cu_access *access, size_t count))      \
    CALL(cuMemUnmap, (uint64_t address, size_t bytes))                                             \
    CALL(cuMemAddressFree, (uint64_t address, size_t bytes))                                       \
    CALL(cuMemRelease, (uint64_t handle))                                                          \
    CALL(cuCtxSynchronize, (void))                                                                 \
    CALL(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                           \
    CALL(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))

static struct {
    int tried;
    int there; /* a driver with a GPU */
#define PEER_FIELD(name, parameters) int(*name) parameters;
    PEER_CALLS(PEER_FIELD)
#undef PEER_FIELD
} peer;

/* Memory of the other side. */
struct peer_memory {
    size_t extent;
    void *mapped;     /* where it is mapped, or NULL */
    uint64_t address; /* in the GPU's memory, or 0 */
};

#define PEER_MUST(call)                                                                            \
    do {                                                                                           \
        int peer_result = (call);                                                                  \
        if (peer_result) bail("%s returned %d", #call, peer_result);                               \
    } while (0)

/* Opens the driver once; a process that has none goes on without. */
TAP_UNUSED static bool peer_driver(void)
{
    void *context, *library, *symbol;
    if (peer.tried++) return peer.there;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return false;
#define PEER_FIND(name, parameters)                                                                \
    symbol = dlsym(library, #name);                                                                \
    if (!symbol) return false;                                                                     \
    memcpy(&peer.name, &symbol, sizeof symbol);
    PEER_CALLS(PEER_FIND)
#undef PEER_FIND
    int device = 0;
    if (peer.cuInit(0) || peer.cuDeviceGet(&device, 0)) return false;
    PEER_MUST(peer.cuDevicePrimaryCtxRetain(&context, device));
    PEER_MUST(peer.cuCtxSetCurrent(context));
    peer.there = 1;
    return true;
}

TAP_UNUSED static bool peer_is_memfd(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

static void peer_map_handle(struct peer_memory *memory, uint64_t handle)
{
    struct vyre_cu_access access = {{VYRE_CU_LOCATION_DEVICE, 0}, VYRE_CU_ACCESS_READ_WRITE};
    PEER_MUST(peer.cuMemAddressReserve(&memory->address, memory->extent, 0, 0, 0));
    PEER_MUST(peer.cuMemMap(memory->address, memory->extent, 0, handle, 0));
    PEER_MUST(peer.cuMemSetAccess(memory->address, memory->extent, &access, 1));
    PEER_MUST(peer.cuMemRelease(handle));
}

/* Maps what vyre exported; the descriptor stays the caller's. */
TAP_UNUSED static struct peer_memory peer_open(const vyre_share *share)
{
    struct peer_memory memory = {(size_t)share->extent, NULL, 0};
    uint64_t handle = 0;
    if (peer_is_memfd(share->fd)) {
        memory.mapped = mmap(NULL, memory.extent, PROT_READ | PROT_WRITE, MAP_SHARED, share->fd, 0);
        if (memory.mapped == MAP_FAILED) bail("shared memory cannot be mapped");
        return memory;
    }
    if (!peer_driver()) bail("a descriptor of GPU memory, and no driver");
    PEER_MUST(peer.cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)share->fd,
                                                  VYRE_CU_HANDLE_DESCRIPTOR));
    peer_map_handle(&memory, handle);
    return memory;
}

/* Memory of the other side's own, on GPU 0, and how it is offered. name: of a memfd in place of
 * GPU memory; NULL: the driver's. */
TAP_UNUSED static struct peer_memory peer_make(const char *name, size_t extent, vyre_share *share)
{
    struct peer_memory memory = {extent, NULL, 0};
    vyre_share made = VYRE_SHARE_INIT;
    made.bytes = made.extent = extent;
    made.kind = VYRE_SHARE_CUDA;
    if (name) {
        made.fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (made.fd < 0 || ftruncate(made.fd, (off_t)extent) != 0) bail("no memfd");
        memory.mapped = mmap(NULL, extent, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0);
        if (memory.mapped == MAP_FAILED) bail("a memfd cannot be mapped");
    } else {
        struct vyre_cu_memory_kind kind = {.type = VYRE_CU_MEMORY_PINNED,
                                           .handle_types = VYRE_CU_HANDLE_DESCRIPTOR,
                                           .location = {VYRE_CU_LOCATION_DEVICE, 0}};
        uint64_t handle = 0;
        if (!peer_driver()) bail("GPU memory is wanted, and there is no driver");
        PEER_MUST(peer.cuMemCreate(&handle, extent, &kind, 0));
        PEER_MUST(
            peer.cuMemExportToShareableHandle(&made.fd, handle, VYRE_CU_HANDLE_DESCRIPTOR, 0));
        peer_map_handle(&memory, handle);
    }
    *share = made;
    return memory;
}

TAP_UNUSED static void peer_close(struct peer_memory *memory)
{
    if (memory->mapped) munmap(memory->mapped, memory->extent);
    if (memory->address) {
        PEER_MUST(peer.cuMemUnmap(memory->address, memory->extent));
        PEER_MUST(peer.cuMemAddressFree(memory->address, memory->extent));
    }
    *memory = (struct peer_memory){0, NULL, 0};
}

TAP_UNUSED static void peer_write(const struct peer_memory *memory, const void *bytes,
                                  size_t length)
{
    if (memory->mapped) {
        memcpy(memory->mapped, bytes, length);
    } else {
        PEER_MUST(peer.cuMemcpyHtoD_v2(memory->address, bytes, length));
        PEER_MUST(peer.cuCtxSynchronize()); /* it may return before all is there */
    }
}

TAP_UNUSED static void peer_read(const struct peer_memory *memory, void *bytes, size_t length)
{
    if (memory->mapped)
        memcpy(bytes, memory->mapped, length);
    else
        PEER_MUST(peer.cuMemcpyDtoH_v2(bytes, memory->address, length));
}

#endif
