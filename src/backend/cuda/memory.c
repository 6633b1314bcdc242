/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory of a GPU. All of it works beside a running kernel: device memory comes by the
 * virtual-memory calls, and copies go through a stream of their own.
 *
 * Device memory is zeroed by the copy engine, from a page of zeroes: a memset of the driver is a
 * kernel, and one that waits for a free multiprocessor may wait for ever.
 *
 * Pieces below 1 MiB come from an arena. Our own registered mapping has a page for the clock, a
 * part that stays zero, and a bounce buffer for pointers that the driver does not know.
 */
#include <string.h>

#include "backend/cuda/run.h"
#include "base/checked.h"

#define SMALL_BYTES  ((size_t)1 << 20)
#define CLOCK_BYTES  ((size_t)4096)
#define ZERO_BYTES   ((size_t)2 << 20)
#define BOUNCE_BYTES ((size_t)2 << 20)
#define OWN_BYTES    (CLOCK_BYTES + ZERO_BYTES + BOUNCE_BYTES)

static unsigned char *zeroes(struct vyre_backend_run *run)
{
    return (unsigned char *)run->store.own.base + CLOCK_BYTES;
}

static unsigned char *bounce(struct vyre_backend_run *run)
{
    return zeroes(run) + ZERO_BYTES;
}

uint64_t *vyre_cuda_clock_word(struct vyre_backend_run *run, uint64_t *address)
{
    *address = run->store.own_address;
    return run->store.own.base;
}

/* Taking and giving back.
 * ------------------------------------------------------------------------------------------- */

struct vyre_cu_memory_kind vyre_cuda_memory_kind(const struct vyre_backend_run *run)
{
    struct vyre_cu_memory_kind kind;
    memset(&kind, 0, sizeof kind);
    kind.type = VYRE_CU_MEMORY_PINNED;
    kind.location.type = VYRE_CU_LOCATION_DEVICE;
    kind.location.id = run->handle;
    return kind;
}

vyre_status vyre_cuda_refuse_memory(struct vyre_backend_run *run, int result, size_t bytes,
                                    vyre_error *err)
{
    size_t available = 0, total = 0;
    if (result == VYRE_CU_OUT_OF_MEMORY) run->driver.cuMemGetInfo(&available, &total);
    return vyre_fail_cuda(&run->driver, err, result,
                          "%zu bytes of GPU memory (%zu of %zu MiB are free)", bytes,
                          available >> 20, total >> 20);
}

int vyre_cuda_map_handle(struct vyre_backend_run *run, uint64_t handle, size_t bytes,
                         uint64_t *address)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    struct vyre_cu_access access = {{VYRE_CU_LOCATION_DEVICE, run->handle},
                                    VYRE_CU_ACCESS_READ_WRITE};
    uint64_t at = 0;
    int result = driver->cuMemAddressReserve(&at, bytes, 0, 0, 0);
    if (result) return result;
    result = driver->cuMemMap(at, bytes, 0, handle, 0);
    if (!result) {
        result = driver->cuMemSetAccess(at, bytes, &access, 1);
        if (result) driver->cuMemUnmap(at, bytes);
    }
    if (result)
        driver->cuMemAddressFree(at, bytes);
    else
        *address = at;
    return result;
}

/* Maps `bytes`, a multiple of the granularity. The handle is released at once: the mapping keeps
 * the memory. */
static vyre_status map_device(struct vyre_backend_run *run, size_t bytes, uint64_t *address,
                              vyre_error *err)
{
    struct vyre_cu_memory_kind kind = vyre_cuda_memory_kind(run);
    uint64_t at = 0, handle = 0;
    int result = run->driver.cuMemCreate(&handle, bytes, &kind, 0);
    if (result) return vyre_cuda_refuse_memory(run, result, bytes, err);
    result = vyre_cuda_map_handle(run, handle, bytes, &at);
    int released = run->driver.cuMemRelease(handle);
    if (!result && released) vyre_cuda_unmap(run, at, bytes);
    if (!result) result = released;
    if (result) return vyre_cuda_refuse_memory(run, result, bytes, err);
    *address = at;
    return VYRE_OK;
}

void vyre_cuda_unmap(struct vyre_backend_run *run, uint64_t address, size_t bytes)
{
    int unmapped = run->driver.cuMemUnmap(address, bytes);
    int result = run->driver.cuMemAddressFree(address, bytes);
    if (unmapped) result = unmapped;
    if (result)
        vyre_log_line(run->log, VYRE_LOG_WARNING, "%zu bytes of GPU memory were not freed: %s",
                      bytes, vyre_cuda_result_name(&run->driver, result));
}

vyre_status vyre_cuda_zero(struct vyre_backend_run *run, uint64_t address, size_t bytes,
                           vyre_error *err)
{
    int result = 0;
    pthread_mutex_lock(&run->store.copy_lock);
    for (size_t at = 0; at < bytes && !result; at += ZERO_BYTES) {
        size_t part = bytes - at < ZERO_BYTES ? bytes - at : ZERO_BYTES;
        result = run->driver.cuMemcpyHtoDAsync(address + at, zeroes(run), part, run->copy_stream);
    }
    int ended = run->driver.cuStreamSynchronize(run->copy_stream);
    pthread_mutex_unlock(&run->store.copy_lock);
    if (!result) result = ended;
    return result ? vyre_fail_cuda(&run->driver, err, result, "zeroing %zu bytes", bytes) : VYRE_OK;
}

/* (store.lock) */
static vyre_status take_small(struct vyre_backend_run *run, size_t bytes, uint64_t *address,
                              vyre_error *err)
{
    uint64_t granule;
    *address = vyre_arena_take(&run->store.arena, bytes);
    if (*address) return VYRE_OK;
    vyre_status status = map_device(run, VYRE_ARENA_GRANULE, &granule, err);
    if (status) return status;
    status = vyre_arena_add(&run->store.arena, granule, err);
    if (status) {
        vyre_cuda_unmap(run, granule, VYRE_ARENA_GRANULE);
        return status;
    }
    *address = vyre_arena_take(&run->store.arena, bytes);
    return VYRE_OK;
}

static void give_back(struct vyre_backend_run *run, uint64_t address, size_t bytes)
{
    size_t rounded;
    if (bytes >= SMALL_BYTES) {
        if (vyre_round_up_size(bytes, run->store.granularity, &rounded))
            vyre_cuda_unmap(run, address, rounded);
        return;
    }
    pthread_mutex_lock(&run->store.lock);
    uint64_t granule = vyre_arena_give(&run->store.arena, address, bytes ? bytes : 1);
    pthread_mutex_unlock(&run->store.lock);
    if (granule) vyre_cuda_unmap(run, granule, VYRE_ARENA_GRANULE);
}

static vyre_status alloc_now(struct vyre_backend_run *run, size_t bytes, uint64_t *address,
                             vyre_error *err)
{
    uint64_t at = 0;
    size_t rounded;
    vyre_status status = VYRE_OK;
    if (bytes < SMALL_BYTES) {
        pthread_mutex_lock(&run->store.lock);
        status = take_small(run, bytes ? bytes : 1, &at, err);
        pthread_mutex_unlock(&run->store.lock);
    } else if (!vyre_round_up_size(bytes, run->store.granularity, &rounded)) {
        status = vyre_fail(err, VYRE_E_OVERFLOW, "%zu bytes do not fit whole granules", bytes);
    } else {
        status = map_device(run, rounded, &at, err);
    }
    if (status) return status;
    status = vyre_cuda_zero(run, at, bytes, err);
    if (status)
        give_back(run, at, bytes);
    else
        *address = at;
    return status;
}

static vyre_status alloc_device(struct vyre_backend_run *run, size_t bytes, uint64_t *address,
                                vyre_error *err)
{
    vyre_status status = vyre_cuda_enter(run, err);
    if (!status) status = vyre_cuda_memory_begin(run, err);
    if (status) return status;
    status = alloc_now(run, bytes, address, err);
    vyre_cuda_memory_end(run);
    return status;
}

static void free_device(struct vyre_backend_run *run, uint64_t address, size_t bytes)
{
    /* A kernel that did not end may still use it. */
    if (run->launch.abandoned) return;
    vyre_cuda_enter(run, NULL);
    give_back(run, address, bytes);
}

/* Copies.
 * ------------------------------------------------------------------------------------------- */

/* One piece in one direction: exactly one of `from` and `into` is given. (copy_lock) */
static int copy_piece(struct vyre_backend_run *run, uint64_t address, const void *from, void *into,
                      size_t bytes)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    int result = from ? driver->cuMemcpyHtoDAsync(address, from, bytes, run->copy_stream)
                      : driver->cuMemcpyDtoHAsync(into, address, bytes, run->copy_stream);
    int ended = driver->cuStreamSynchronize(run->copy_stream);
    return result ? result : ended;
}

static vyre_status write_device(struct vyre_backend_run *run, uint64_t address, const void *from,
                                size_t bytes, vyre_error *err)
{
    int direct = vyre_cuda_is_shared(run, from, bytes), result = 0;
    vyre_status status = vyre_cuda_enter(run, err);
    if (status) return status;
    pthread_mutex_lock(&run->store.copy_lock);
    for (size_t at = 0, part; at < bytes && !result; at += part) {
        const unsigned char *piece = (const unsigned char *)from + at;
        part = direct || bytes - at < BOUNCE_BYTES ? bytes - at : BOUNCE_BYTES;
        if (!direct) piece = memcpy(bounce(run), piece, part);
        result = copy_piece(run, address + at, piece, NULL, part);
    }
    pthread_mutex_unlock(&run->store.copy_lock);
    return result ? vyre_fail_cuda(&run->driver, err, result, "copying %zu bytes to the GPU", bytes)
                  : VYRE_OK;
}

static vyre_status read_device(struct vyre_backend_run *run, void *into, uint64_t address,
                               size_t bytes, vyre_error *err)
{
    int direct = vyre_cuda_is_shared(run, into, bytes), result = 0;
    vyre_status status = vyre_cuda_enter(run, err);
    if (status) return status;
    pthread_mutex_lock(&run->store.copy_lock);
    for (size_t at = 0, part; at < bytes && !result; at += part) {
        unsigned char *piece = (unsigned char *)into + at;
        part = direct || bytes - at < BOUNCE_BYTES ? bytes - at : BOUNCE_BYTES;
        result = copy_piece(run, address + at, NULL, direct ? piece : bounce(run), part);
        if (!direct && !result) memcpy(piece, bounce(run), part);
    }
    pthread_mutex_unlock(&run->store.copy_lock);
    return result
               ? vyre_fail_cuda(&run->driver, err, result, "copying %zu bytes from the GPU", bytes)
               : VYRE_OK;
}

/* Life.
 * ------------------------------------------------------------------------------------------- */

vyre_status vyre_cuda_store_open(struct vyre_backend_run *run, vyre_error *err)
{
    struct vyre_cuda_store *store = &run->store;
    struct vyre_cu_memory_kind kind = vyre_cuda_memory_kind(run);
    store->arena.memory = run->memory;
    int result = run->driver.cuMemGetAllocationGranularity(&store->granularity, &kind,
                                                           VYRE_CU_GRANULARITY_MINIMUM);
    if (result) return vyre_fail_cuda(&run->driver, err, result, "asking for the size of granules");
    if (store->granularity == 0 || VYRE_ARENA_GRANULE % store->granularity != 0)
        return vyre_fail(err, VYRE_E_UNSUPPORTED, "memory of this GPU comes in %zu bytes at once",
                         store->granularity);
    struct vyre_mapping mapping = {NULL, 0, -1};
    vyre_status status = vyre_memory_map(run->memory, OWN_BYTES, "copy buffer", &mapping, err);
    if (status) return status;
    int registered = 0;
    status = vyre_cuda_register(run, &mapping, &store->own_address, &registered, err);
    if (registered)
        store->own = mapping; /* closing undoes it */
    else
        vyre_memory_unmap(run->memory, &mapping);
    return status;
}

void vyre_cuda_store_close(struct vyre_backend_run *run)
{
    struct vyre_cuda_store *store = &run->store;
    vyre_cuda_share_close(run);
    for (uint64_t granule; (granule = vyre_arena_empty(&store->arena)) != 0;)
        vyre_cuda_unmap(run, granule, VYRE_ARENA_GRANULE);
    if (store->own.base) run->driver.cuMemHostUnregister(store->own.base);
    vyre_memory_unmap(run->memory, &store->own);
}

const struct vyre_backend_memory vyre_cuda_memory = {
    vyre_cuda_share, vyre_cuda_unshare, alloc_device,     free_device,         write_device,
    read_device,     vyre_cuda_lend,    vyre_cuda_borrow, vyre_cuda_give_back,
};
