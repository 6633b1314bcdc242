/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The calls of the fake driver: devices, contexts, streams. Linking and launches are in
 * fake_kernel.c, memory is in fake_memory.c.
 */
#include "backend/cuda/fake/fake_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake fake;

void fake_reset(void)
{
    static const struct fake_device standard = {
        .name = "Fake GPU",
        .uuid = {0x11, 0x22, 0x33, 0x44, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        .memory = (size_t)1 << 30,
        .multiprocessors = 4,
        .major = 9,
        .shared = 100 << 10,
    };
    memset(&fake, 0, sizeof fake);
    fake.version = 13000;
    fake.devices = 1;
    fake.blocks_each = 2;
    for (uint32_t i = 0; i < FAKE_DEVICES; i++) {
        fake.device[i] = standard;
        fake.device[i].uuid[15] = (unsigned char)(16 + i);
    }
}

int fake_call(void)
{
    uint32_t number = __atomic_add_fetch(&fake.calls, 1, __ATOMIC_RELAXED);
    int sticky = __atomic_load_n(&fake.sticky, __ATOMIC_RELAXED);
    if (sticky) return sticky;
    if (number != fake.fail_at) return 0;
    __atomic_store_n(&fake.failed, 1, __ATOMIC_RELAXED);
    return fake.fail_with;
}

void fake_count(int by)
{
    __atomic_fetch_add(&fake.alive, (uint32_t)by, __ATOMIC_RELAXED);
}

void fake_alone(void)
{
    if (__atomic_load_n(&fake.running, __ATOMIC_ACQUIRE) || fake_stream_stuck())
        __atomic_fetch_add(&fake.hung, 1, __ATOMIC_RELAXED);
}

/* Objects without contents. */

int fake_make(void **out)
{
    int result = fake_call();
    if (result) return result;
    *out = malloc(16);
    fake_count(1);
    return 0;
}

int fake_unmake(void *object)
{
    int result = fake_call();
    free(object);
    fake_count(-1);
    return result;
}

/* Errors and devices.
 * ------------------------------------------------------------------------------------------- */

static int get_error_name(int result, const char **name)
{
    static const struct {
        int result;
        const char *name;
    } names[] = {
        {VYRE_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {VYRE_CU_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
        {VYRE_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
        {VYRE_CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {VYRE_CU_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
        {VYRE_CU_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].result == result) {
            *name = names[i].name;
            return 0;
        }
    return VYRE_CU_INVALID_VALUE;
}

static int get_error_string(int result, const char **text)
{
    *text = "a fake failure";
    return result == VYRE_CU_OK ? VYRE_CU_INVALID_VALUE : 0;
}

static int init(unsigned flags)
{
    int result = fake_call();
    (void)flags;
    return result ? result : fake.init_result;
}

static int get_version(int *version)
{
    *version = fake.version;
    return fake_call();
}

static int get_count(int *count)
{
    *count = (int)fake.devices;
    return fake_call();
}

static int get_device(int *device, int index)
{
    int result = fake_call();
    if (!result && (uint32_t)index >= fake.devices) result = VYRE_CU_INVALID_DEVICE;
    *device = index;
    return result;
}

static int get_name(char *name, int bytes, int device)
{
    snprintf(name, (size_t)bytes, "%s", fake.device[device].name);
    return fake_call();
}

static int get_uuid(struct vyre_cu_uuid *uuid, int device)
{
    memcpy(uuid->byte, fake.device[device].uuid, sizeof uuid->byte);
    return fake_call();
}

static int total_memory(size_t *bytes, int device)
{
    *bytes = fake.device[device].memory;
    return fake_call();
}

static int get_attribute(int *value, int attribute, int device)
{
    const struct fake_device *d = &fake.device[device];
    int result = fake_call();
    if (result) return result;
    switch (attribute) {
    case VYRE_CU_MULTIPROCESSORS:
        *value = d->multiprocessors;
        break;
    case VYRE_CU_SHARED_BLOCK:
    case VYRE_CU_SHARED_EACH:
        *value = d->shared;
        break;
    case VYRE_CU_KERNEL_TIMEOUT:
        *value = d->watchdog;
        break;
    case VYRE_CU_COMPUTE_MODE:
        *value = d->mode;
        break;
    case VYRE_CU_COMPUTE_MAJOR:
        *value = d->major;
        break;
    case VYRE_CU_COMPUTE_MINOR:
        *value = d->minor;
        break;
    case VYRE_CU_MAP_HOST_MEMORY:
    case VYRE_CU_HOST_REGISTER:
    case VYRE_CU_VIRTUAL_MEMORY:
    case VYRE_CU_HANDLE_AS_DESCRIPTOR:
        *value = d->lacks != attribute;
        break;
    default:
        return VYRE_CU_INVALID_VALUE;
    }
    return 0;
}

/* Contexts, streams, events.
 * ------------------------------------------------------------------------------------------- */

static int retain(void **context, int device)
{
    int result = fake_call();
    if (!result) result = fake.retain_result;
    if (result) return result;
    *context = &fake.device[device];
    fake_count(1);
    return 0;
}

static int release(int device)
{
    int result = fake_call();
    (void)device;
    fake_alone();
    fake_count(-1);
    return result;
}

static int set_current(void *context)
{
    (void)context;
    return fake_call();
}

static int stream_create(void **stream, unsigned flags)
{
    return flags == VYRE_CU_STREAM_NON_BLOCKING ? fake_make(stream) : VYRE_CU_INVALID_VALUE;
}

static int event_create(void **event, unsigned flags)
{
    (void)flags;
    return fake_make(event);
}

static int record(void *event, void *stream)
{
    (void)event, (void)stream;
    return fake_call();
}

const struct vyre_cuda_driver fake_driver = {
    .cuGetErrorName = get_error_name,
    .cuGetErrorString = get_error_string,
    .cuInit = init,
    .cuDriverGetVersion = get_version,
    .cuDeviceGetCount = get_count,
    .cuDeviceGet = get_device,
    .cuDeviceGetName = get_name,
    .cuDeviceGetUuid = get_uuid,
    .cuDeviceTotalMem = total_memory,
    .cuDeviceGetAttribute = get_attribute,
    .cuDevicePrimaryCtxRetain = retain,
    .cuDevicePrimaryCtxRelease = release,
    .cuCtxSetCurrent = set_current,
    .cuStreamCreate = stream_create,
    .cuStreamDestroy = fake_stream_destroy,
    .cuStreamSynchronize = fake_stream_synchronize,
    .cuStreamWaitValue32 = fake_stream_wait,
    .cuEventCreate = event_create,
    .cuEventDestroy = fake_unmake,
    .cuEventRecord = record,
    .cuEventSynchronize = fake_event_synchronize,
    .cuLinkCreate = fake_link_create,
    .cuLinkAddData = fake_link_add,
    .cuLinkComplete = fake_link_complete,
    .cuLinkDestroy = fake_unmake,
    .cuModuleLoadData = fake_module_load,
    .cuModuleUnload = fake_module_unload,
    .cuModuleGetFunction = fake_get_function,
    .cuFuncLoad = fake_func_load,
    .cuFuncSetAttribute = fake_func_set,
    .cuOccupancyMaxActiveBlocksPerMultiprocessor = fake_occupancy,
    .cuLaunchKernel = fake_launch,
    .cuMemHostRegister = fake_register,
    .cuMemHostUnregister = fake_unregister,
    .cuMemHostGetDevicePointer = fake_device_pointer,
    .cuMemGetInfo = fake_memory_info,
    .cuMemGetAllocationGranularity = fake_granularity,
    .cuMemAddressReserve = fake_reserve,
    .cuMemAddressFree = fake_unreserve,
    .cuMemCreate = fake_create,
    .cuMemRelease = fake_release,
    .cuMemMap = fake_map,
    .cuMemUnmap = fake_unmap,
    .cuMemSetAccess = fake_set_access,
    .cuMemExportToShareableHandle = fake_export,
    .cuMemImportFromShareableHandle = fake_import,
    .cuMemGetAllocationPropertiesFromHandle = fake_properties,
    .cuMemcpyHtoDAsync = fake_copy_in,
    .cuMemcpyDtoHAsync = fake_copy_out,
    .cuMemsetD8Async = fake_set,
};
