/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Listing GPUs and choosing one.
 */
#include "backend/cuda/devices.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/desk.h"

#define LEAST_COMPUTE_MAJOR 7u
#define LEAST_COMPUTE_MINOR 5u

struct wish {
    int attribute;
    uint32_t *into;
};

static void write_uuid(char *text, size_t bytes, const struct vyre_cu_uuid *uuid)
{
    size_t used = (size_t)snprintf(text, bytes, "GPU-");
    for (size_t i = 0; i < sizeof uuid->byte; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid->byte[i]);
}

/* Whether the resident kernel can run there; the reason and what helps if not. */
static void judge(struct vyre_cuda_device *device, int maps, int registers, int virtual_memory)
{
    uint32_t major = device->compute_major, minor = device->compute_minor;
    if (major < LEAST_COMPUTE_MAJOR ||
        (major == LEAST_COMPUTE_MAJOR && minor < LEAST_COMPUTE_MINOR)) {
        snprintf(device->reason, sizeof device->reason,
                 "%.63s has compute capability %u.%u; %u.%u or newer is needed", device->name,
                 major, minor, LEAST_COMPUTE_MAJOR, LEAST_COMPUTE_MINOR);
        snprintf(device->fix, sizeof device->fix,
                 "choose a GPU of the Turing generation or newer (`vyre info` lists them), or the "
                 "cpu backend");
    } else if (device->compute_mode == VYRE_CU_MODE_PROHIBITED) {
        snprintf(device->reason, sizeof device->reason,
                 "%.63s is in compute mode PROHIBITED: no process may use it", device->name);
        snprintf(device->fix, sizeof device->fix, "as root: `nvidia-smi -i %u -c DEFAULT`",
                 device->index);
    } else if (!maps || !registers || !virtual_memory) {
        snprintf(device->reason, sizeof device->reason,
                 "%.63s cannot %s, which the resident kernel needs", device->name,
                 !virtual_memory ? "manage virtual memory"
                 : !registers    ? "register memory of the host"
                                 : "map memory of the host");
        snprintf(device->fix, sizeof device->fix,
                 "use Linux on the bare machine or in a container (docs/platforms.md), or the cpu "
                 "backend");
    } else {
        device->supported = 1;
    }
}

#define ROOM_MOST    65536u
#define ROOM_UNIT    128u
#define BLOCK_SYSTEM 1024u /* of a block's shared memory, the driver's own */
#define BLOCK_STATIC 256u  /* the kernel's variables */

uint32_t vyre_cuda_room_bytes(const struct vyre_cuda_device *device, uint32_t blocks)
{
    uint32_t sms = device->multiprocessors != 0 ? device->multiprocessors : 1;
    uint32_t together = (blocks + sms - 1) / sms;
    uint32_t share = device->shared_each / (together != 0 ? together : 1);
    uint32_t bytes = share > BLOCK_SYSTEM ? share - BLOCK_SYSTEM : 0;
    if (bytes > device->shared_block) bytes = device->shared_block;
    bytes = bytes > BLOCK_STATIC ? (bytes - BLOCK_STATIC) / device->block_warps : 0;
    if (bytes > ROOM_MOST) bytes = ROOM_MOST;
    return bytes / ROOM_UNIT * ROOM_UNIT;
}

/* The fewest blocks that are of use: one a multiprocessor, and one beside the poller's. */
static uint32_t least_blocks(const struct vyre_cuda_device *device)
{
    return device->multiprocessors > 1 ? device->multiprocessors : 2;
}

static int ask(const struct vyre_cuda_driver *driver, int handle, struct vyre_cuda_device *device)
{
    uint32_t maps = 0, registers = 0, virtual_memory = 0;
    const struct wish wishes[] = {
        {VYRE_CU_MULTIPROCESSORS, &device->multiprocessors},
        {VYRE_CU_SHARED_BLOCK, &device->shared_block},
        {VYRE_CU_SHARED_EACH, &device->shared_each},
        {VYRE_CU_KERNEL_TIMEOUT, &device->watchdog},
        {VYRE_CU_COMPUTE_MODE, &device->compute_mode},
        {VYRE_CU_COMPUTE_MAJOR, &device->compute_major},
        {VYRE_CU_COMPUTE_MINOR, &device->compute_minor},
        {VYRE_CU_MAP_HOST_MEMORY, &maps},
        {VYRE_CU_HOST_REGISTER, &registers},
        {VYRE_CU_VIRTUAL_MEMORY, &virtual_memory},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        int value = 0;
        int result = driver->cuDeviceGetAttribute(&value, wishes[i].attribute, handle);
        if (result) return result;
        *wishes[i].into = (uint32_t)value;
    }
    device->block_warps = VYRE_CUDA_BLOCK_WARPS;
    while (vyre_cuda_room_bytes(device, least_blocks(device)) < DEV_ROOM_LEAST &&
           device->block_warps > 2)
        device->block_warps /= 2;
    judge(device, (int)maps, (int)registers, (int)virtual_memory);
    return 0;
}

static vyre_status describe(const struct vyre_cuda_driver *driver, uint32_t index,
                            struct vyre_cuda_device *out, vyre_error *err)
{
    struct vyre_cuda_device device = {0};
    struct vyre_cu_uuid uuid;
    size_t bytes = 0;
    int handle = 0;
    device.index = index;
    device.driver = (uint32_t)driver->version;
    int result = driver->cuDeviceGet(&handle, (int)index);
    if (!result) result = driver->cuDeviceGetName(device.name, (int)sizeof device.name, handle);
    if (!result) result = driver->cuDeviceGetUuid(&uuid, handle);
    if (!result) result = driver->cuDeviceTotalMem(&bytes, handle);
    if (!result) result = ask(driver, handle, &device);
    if (result) return vyre_fail_cuda(driver, err, result, "describing GPU %u", index);
    device.name[sizeof device.name - 1] = '\0';
    write_uuid(device.uuid, sizeof device.uuid, &uuid);
    device.memory_bytes = bytes;
    *out = device;
    return VYRE_OK;
}

static vyre_status count_devices(const struct vyre_cuda_driver *driver, uint32_t *count,
                                 vyre_error *err)
{
    int found = 0;
    int result = driver->cuDeviceGetCount(&found);
    if (result) return vyre_fail_cuda(driver, err, result, "counting GPUs");
    if (found <= 0) return vyre_fail_cuda(driver, err, VYRE_CU_NO_DEVICE, "counting GPUs");
    *count = (uint32_t)found;
    return VYRE_OK;
}

vyre_status vyre_cuda_devices(struct vyre_cuda_device *devices, uint32_t room, uint32_t *count,
                              vyre_error *err)
{
    struct vyre_cuda_driver driver;
    uint32_t found = 0;
    vyre_status status = vyre_cuda_driver_open(&driver, err);
    if (!status) status = count_devices(&driver, &found, err);
    for (uint32_t i = 0; !status && i < found && i < room; i++)
        status = describe(&driver, i, &devices[i], err);
    if (!status) *count = found;
    return status;
}

/* An index, or -1 where the text is none. */
static long read_index(const char *text)
{
    if (!isdigit((unsigned char)text[0]) || strlen(text) > 4) return -1;
    char *end;
    long index = strtol(text, &end, 10);
    return *end == '\0' ? index : -1;
}

/* The UUID that an option may be the beginning of; parts of a GPU are written with MIG. */
static int uuid_begins(const char *uuid, const char *wanted)
{
    if (strncasecmp(wanted, "GPU-", 4) != 0 && strncasecmp(wanted, "MIG-", 4) != 0) return 0;
    return wanted[4] != '\0' && strncasecmp(uuid + 4, wanted + 4, strlen(wanted + 4)) == 0;
}

static vyre_status find_uuid(const struct vyre_cuda_driver *driver, const char *wanted,
                             uint32_t count, struct vyre_cuda_device *out, vyre_error *err)
{
    uint32_t matches = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct vyre_cuda_device device;
        vyre_status status = describe(driver, i, &device, err);
        if (status) return status;
        if (!uuid_begins(device.uuid, wanted)) continue;
        if (matches++ == 0) *out = device;
    }
    if (matches == 1) return VYRE_OK;
    if (matches > 1)
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "write more of the UUID, or an index; `vyre info` lists both",
                              "device \"%.63s\" is the beginning of %u UUIDs", wanted, matches);
    return vyre_fail_with(
        err, VYRE_E_NO_DEVICE, "name one that `vyre info` lists, by index or by UUID",
        "device \"%.63s\" is none of the %u GPU%s here", wanted, count, count == 1 ? "" : "s");
}

static vyre_status find_device(const struct vyre_cuda_driver *driver, const char *wanted,
                               struct vyre_cuda_device *device, vyre_error *err)
{
    uint32_t count = 0;
    vyre_status status = count_devices(driver, &count, err);
    if (status) return status;
    if (!wanted || wanted[0] == '\0') return describe(driver, 0, device, err);
    long index = read_index(wanted);
    if (index < 0) return find_uuid(driver, wanted, count, device, err);
    if ((uint32_t)index < count) return describe(driver, (uint32_t)index, device, err);
    vyre_fail(err, VYRE_E_NO_DEVICE, "there is no GPU %ld; this machine has %u", index, count);
    vyre_fail_fix(err, "use an index from 0 to %u, or a UUID; `vyre info` lists both", count - 1);
    return VYRE_E_NO_DEVICE;
}

vyre_status vyre_cuda_choose(const struct vyre_cuda_driver *driver, const char *wanted,
                             struct vyre_cuda_device *device, vyre_error *err)
{
    struct vyre_cuda_device found;
    vyre_status status = find_device(driver, wanted, &found, err);
    if (status) return status;
    if (!found.supported)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, found.fix, "%s", found.reason);
    *device = found;
    return VYRE_OK;
}

uint32_t vyre_cuda_max_workers(const struct vyre_cuda_device *device)
{
    uint32_t blocks = device->multiprocessors * VYRE_CUDA_BLOCKS_MOST;
    /* A multiprocessor may not have the shared memory for as many. */
    if (vyre_cuda_room_bytes(device, blocks) < DEV_ROOM_LEAST) blocks = least_blocks(device);
    uint32_t most = (blocks - 1) * device->block_warps;
    return most < DEV_MAX_RESIDENT ? most : DEV_MAX_RESIDENT;
}

uint32_t vyre_cuda_default_workers(const struct vyre_cuda_device *device)
{
    uint32_t others = device->multiprocessors > 1 ? device->multiprocessors - 1 : 1;
    uint32_t one_block_each = others * device->block_warps;
    return one_block_each < DEV_MAX_RESIDENT ? one_block_each : DEV_MAX_RESIDENT;
}

uint32_t vyre_cuda_blocks(const struct vyre_cuda_device *device, uint32_t workers)
{
    /* The first is the poller's and its aides'. */
    return 1 + (workers + device->block_warps - 1) / device->block_warps;
}

void vyre_cuda_caps(vyre_caps *caps, const char *wanted)
{
    struct vyre_cuda_driver driver;
    struct vyre_cuda_device device;
    vyre_error err;
    snprintf(caps->name, sizeof caps->name, "cuda");
    snprintf(caps->device, sizeof caps->device, "none");
    vyre_status status = vyre_cuda_driver_open(&driver, &err);
    if (!status) status = vyre_cuda_choose(&driver, wanted, &device, &err);
    if (status) {
        snprintf(caps->reason, sizeof caps->reason, "%.159s", err.message);
        snprintf(caps->fix, sizeof caps->fix, "%.159s", err.fix);
        return;
    }
    caps->supported = 1;
    caps->max_workers = vyre_cuda_max_workers(&device);
    caps->default_workers = vyre_cuda_default_workers(&device);
    uint32_t blocks = vyre_cuda_blocks(&device, caps->default_workers);
    snprintf(caps->device, sizeof caps->device, "GPU %u, %.48s, sm_%u%u, %u SMs, %u bytes a warp",
             device.index, device.name, device.compute_major, device.compute_minor,
             device.multiprocessors, vyre_cuda_room_bytes(&device, blocks));
}
