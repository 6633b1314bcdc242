/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Device memory that other processes map, and theirs that we map. Each is an allocation of its own,
 * never a piece of an arena: whoever gets the descriptor reaches this memory and no other. The
 * mapping keeps the memory, so no handle is kept; the descriptor keeps it too, as long as somebody
 * has it open. All of it works beside a running kernel.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/cuda/run.h"
#include "base/checked.h"

static struct vyre_cu_memory_kind lent_kind(const struct vyre_backend_run *run)
{
    struct vyre_cu_memory_kind kind = vyre_cuda_memory_kind(run);
    kind.handle_types = VYRE_CU_HANDLE_DESCRIPTOR;
    return kind;
}

/* Whether the GPU can, and in what steps. */
static vyre_status find_granularity(struct vyre_backend_run *run, size_t *granularity,
                                    vyre_error *err)
{
    struct vyre_cu_memory_kind kind = lent_kind(run);
    int can = 0;
    int result = run->driver.cuDeviceGetAttribute(&can, VYRE_CU_HANDLE_AS_DESCRIPTOR, run->handle);
    if (!result && !can)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                              "copy with vyre_buffer_read and vyre_buffer_write, or share a PINNED "
                              "buffer",
                              "GPU %u (%.40s) cannot share its memory by descriptors",
                              run->device.index, run->device.name);
    if (!result)
        result = run->driver.cuMemGetAllocationGranularity(granularity, &kind,
                                                           VYRE_CU_GRANULARITY_MINIMUM);
    if (result) return vyre_fail_cuda(&run->driver, err, result, "asking how memory is shared");
    return VYRE_OK;
}

/* An allocation that is mapped, with its descriptor; or the result of the call that failed. */
static int make(struct vyre_backend_run *run, struct vyre_backend_lent *lent)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    struct vyre_cu_memory_kind kind = lent_kind(run);
    uint64_t handle = 0;
    int fd = -1;
    int result = driver->cuMemCreate(&handle, lent->extent, &kind, 0);
    if (result) return result;
    result = driver->cuMemExportToShareableHandle(&fd, handle, VYRE_CU_HANDLE_DESCRIPTOR, 0);
    if (!result) result = vyre_cuda_map_handle(run, handle, lent->extent, &lent->address);
    int mapped = !result;
    int released = driver->cuMemRelease(handle);
    if (!result) result = released;
    if (!result) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        lent->fd = fd;
        return 0;
    }
    if (mapped) vyre_cuda_unmap(run, lent->address, lent->extent);
    if (fd >= 0) close(fd);
    return result;
}

static vyre_status lend(struct vyre_backend_run *run, size_t bytes, struct vyre_backend_lent *lent,
                        vyre_error *err)
{
    size_t granularity = 0;
    vyre_status status = find_granularity(run, &granularity, err);
    if (status) return status;
    if (granularity == 0 || !vyre_round_up_size(bytes, granularity, &lent->extent))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu bytes do not fit whole granules", bytes);
    int result = make(run, lent);
    if (result) return vyre_cuda_refuse_memory(run, result, lent->extent, err);
    /* All of it: the other side maps all of it. */
    status = vyre_cuda_zero(run, lent->address, lent->extent, err);
    if (!status) return VYRE_OK;
    vyre_cuda_unmap(run, lent->address, lent->extent);
    close(lent->fd);
    return status;
}

vyre_status vyre_cuda_lend(struct vyre_backend_run *run, size_t bytes,
                           struct vyre_backend_lent *lent, vyre_error *err)
{
    struct vyre_backend_lent made = {.fd = -1};
    vyre_status status = vyre_cuda_enter(run, err);
    if (!status) status = vyre_cuda_memory_begin(run, err);
    if (status) return status;
    status = lend(run, bytes, &made, err);
    vyre_cuda_memory_end(run);
    if (status) return status;
    memcpy(made.device, run->device.uuid, sizeof made.device);
    *lent = made;
    return VYRE_OK;
}

/* What the driver says no to at once is a descriptor of something else. */
static vyre_status refuse_descriptor(struct vyre_backend_run *run, int result, vyre_error *err)
{
    if (result == VYRE_CU_OUT_OF_MEMORY)
        return vyre_fail_cuda(&run->driver, err, result, "importing memory");
    vyre_fail_cuda(&run->driver, err, result, "the descriptor is of no memory of this GPU");
    vyre_fail_fix(err, "pass what cuMemExportToShareableHandle made for this GPU, as "
                       "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
    if (err) err->status = VYRE_E_NOT_PERMITTED;
    return VYRE_E_NOT_PERMITTED;
}

static vyre_status refuse_place(const struct vyre_backend_run *run, const char *place,
                                vyre_error *err)
{
    return vyre_fail_with(err, VYRE_E_CONFLICT,
                          "make the memory on the GPU that the runtime was opened on, or open the "
                          "runtime with the option device",
                          "the memory lies on GPU %s, the runtime runs on GPU %u (%s)", place,
                          run->device.index, run->device.uuid);
}

static vyre_status check_place(struct vyre_backend_run *run, uint64_t handle, vyre_error *err)
{
    char place[16];
    struct vyre_cu_memory_kind kind;
    memset(&kind, 0, sizeof kind);
    int result = run->driver.cuMemGetAllocationPropertiesFromHandle(&kind, handle);
    if (result)
        return vyre_fail_cuda(&run->driver, err, result, "asking where imported memory lies");
    if (kind.location.type == VYRE_CU_LOCATION_DEVICE && kind.location.id == run->handle)
        return VYRE_OK;
    snprintf(place, sizeof place, "%d", kind.location.id);
    return refuse_place(run, place, err);
}

static vyre_status borrow(struct vyre_backend_run *run, int fd, size_t extent, uint64_t *address,
                          vyre_error *err)
{
    size_t granularity = 0;
    uint64_t handle = 0;
    vyre_status status = find_granularity(run, &granularity, err);
    if (status) return status;
    if (granularity == 0 || extent % granularity != 0) {
        vyre_fail(err, VYRE_E_MISALIGNED, "memory of %zu bytes; GPU memory comes in steps of %zu",
                  extent, granularity);
        vyre_fail_fix(err, "set extent to what cuMemCreate was given, a multiple of %zu",
                      granularity);
        return VYRE_E_MISALIGNED;
    }
    int result = run->driver.cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd,
                                                            VYRE_CU_HANDLE_DESCRIPTOR);
    if (result) return refuse_descriptor(run, result, err);
    status = check_place(run, handle, err);
    if (!status) {
        result = vyre_cuda_map_handle(run, handle, extent, address);
        /* The driver says NOT_SUPPORTED of an extent that is too large. */
        if (result == VYRE_CU_INVALID_VALUE || result == VYRE_CU_NOT_SUPPORTED)
            status =
                vyre_fail_with(err, VYRE_E_TOO_SMALL, "set extent to what cuMemCreate was given",
                               "the memory cannot be mapped as %zu bytes: it is of another "
                               "size",
                               extent);
        else if (result)
            status = vyre_cuda_refuse_memory(run, result, extent, err);
    }
    int released = run->driver.cuMemRelease(handle);
    if (!status && released) {
        vyre_cuda_unmap(run, *address, extent);
        status = vyre_fail_cuda(&run->driver, err, released, "importing memory");
    }
    return status;
}

vyre_status vyre_cuda_borrow(struct vyre_backend_run *run, struct vyre_backend_lent *lent,
                             vyre_error *err)
{
    uint64_t at = 0;
    if (lent->device[0] != '\0' && strcmp(lent->device, run->device.uuid) != 0)
        return refuse_place(run, lent->device, err);
    vyre_status status = vyre_cuda_enter(run, err);
    if (!status) status = vyre_cuda_memory_begin(run, err);
    if (status) return status;
    status = borrow(run, lent->fd, lent->extent, &at, err);
    vyre_cuda_memory_end(run);
    if (status) return status;
    lent->address = at;
    memcpy(lent->device, run->device.uuid, sizeof lent->device);
    return VYRE_OK;
}

void vyre_cuda_give_back(struct vyre_backend_run *run, uint64_t address, size_t extent)
{
    /* A kernel that did not end may still use it. */
    if (run->launch.abandoned) return;
    vyre_cuda_enter(run, NULL);
    vyre_cuda_unmap(run, address, extent);
}
