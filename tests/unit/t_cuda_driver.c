/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA driver's table: numbers as in the toolkit's header, and every reason why there is no
 * usable device said in its own words.
 */
#if defined(VYRE_CUDA_HEADER)
#    include <cuda.h>
#endif

#include <dlfcn.h>

#include "cuda_fixture.h"

#include "backend/cuda/image.h"

#if defined(VYRE_CUDA_HEADER)
#    define SAME(ours, theirs) is_u64((ours), (theirs), #    theirs)

static void test_numbers(void)
{
    SAME(VYRE_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
    SAME(VYRE_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    SAME(VYRE_CU_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
    SAME(VYRE_CU_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
    SAME(VYRE_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
    SAME(VYRE_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
    SAME(VYRE_CU_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
    SAME(VYRE_CU_NO_JIT_COMPILER, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
    SAME(VYRE_CU_UNSUPPORTED_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    SAME(VYRE_CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
    SAME(VYRE_CU_NOT_READY, CUDA_ERROR_NOT_READY);
    SAME(VYRE_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
    SAME(VYRE_CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
    SAME(VYRE_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
    SAME(VYRE_CU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED);
    SAME(VYRE_CU_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
    SAME(VYRE_CU_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
    SAME(VYRE_CU_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    SAME(VYRE_CU_COMPAT_NOT_SUPPORTED, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
    SAME(VYRE_CU_MPS_CONNECTION_FAILED, CUDA_ERROR_MPS_CONNECTION_FAILED);
    SAME(VYRE_CU_UNKNOWN, CUDA_ERROR_UNKNOWN);
    SAME(VYRE_CU_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    SAME(VYRE_CU_KERNEL_TIMEOUT, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
    SAME(VYRE_CU_MAP_HOST_MEMORY, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    SAME(VYRE_CU_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
    SAME(VYRE_CU_COMPUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    SAME(VYRE_CU_COMPUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    SAME(VYRE_CU_HOST_REGISTER, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    SAME(VYRE_CU_VIRTUAL_MEMORY, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
    SAME(VYRE_CU_MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED);
    SAME(VYRE_CU_MODE_EXCLUSIVE, CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
    SAME(VYRE_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
    SAME(VYRE_CU_EVENT_BLOCKING, CU_EVENT_BLOCKING_SYNC);
    SAME(VYRE_CU_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
    SAME(VYRE_CU_WAIT_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
    SAME(VYRE_CU_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
    SAME(VYRE_CU_REGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_DEVICEMAP);
    SAME(VYRE_CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER);
    SAME(VYRE_CU_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
    SAME(VYRE_CU_INPUT_CUBIN, CU_JIT_INPUT_CUBIN);
    SAME(VYRE_CU_INPUT_PTX, CU_JIT_INPUT_PTX);
    SAME(VYRE_CU_MEMORY_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
    SAME(VYRE_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
    SAME(VYRE_CU_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    SAME(VYRE_CU_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    SAME(sizeof(struct vyre_cu_memory_kind), sizeof(CUmemAllocationProp));
    SAME(offsetof(struct vyre_cu_memory_kind, location), offsetof(CUmemAllocationProp, location));
    SAME(offsetof(struct vyre_cu_memory_kind, flags), offsetof(CUmemAllocationProp, allocFlags));
    SAME(sizeof(struct vyre_cu_access), sizeof(CUmemAccessDesc));
    SAME(offsetof(struct vyre_cu_access, flags), offsetof(CUmemAccessDesc, flags));
    SAME(sizeof(struct vyre_cu_uuid), sizeof(CUuuid));
}
#else
static void test_numbers(void)
{
    skip("the CUDA toolkit's header is not installed");
}
#endif

static void test_missing(void)
{
    struct vyre_cuda_driver driver;
    vyre_error err;
    vyre_cuda_driver_override = NULL;
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
        skip("this machine has a CUDA driver");
    } else {
        refused(vyre_cuda_driver_open(&driver, &err), VYRE_E_UNSUPPORTED, &err, "no driver");
        ok(strstr(err.message, "libcuda.so.1"), "the message names what is missing: %s",
           err.message);
    }
    vyre_cuda_driver_override = &fake_driver;
}

static bool complete(const struct vyre_cuda_driver *driver)
{
    bool all = true;
#define CUDA_API(name, version, parameters, use) all = all && driver->name && sizeof use > 1;
#include "backend/cuda/cuda_api.def"
#undef CUDA_API
    return all;
}

static void test_old(void)
{
    struct vyre_cuda_driver driver;
    vyre_error err;
    fake_reset();
    fake.version = 12080;
    refused(vyre_cuda_driver_open(&driver, &err), VYRE_E_UNSUPPORTED, &err, "an old driver");
    ok(strstr(err.message, "12.8") && strstr(err.message, "13.0"), "both versions are named: %s",
       err.message);
    ok(strstr(err.fix, "580"), "the fix names the series: %s", err.fix);
    fake_reset();
    fake.init_result = VYRE_CU_NO_DEVICE;
    refused(vyre_cuda_driver_open(&driver, &err), VYRE_E_NO_DEVICE, &err, "a driver without GPUs");
    is_u64(err.domain, VYRE_DOMAIN_CUDA, "in the domain of CUDA");
    is_u64(err.code, VYRE_CU_NO_DEVICE, "with its code");
    ok(strstr(err.message, "CUDA_ERROR_NO_DEVICE"), "and its name: %s", err.message);
    fake_reset();
    ok(complete(&fake_driver), "the fake driver has every call of the table");
    works(vyre_cuda_driver_open(&driver, &err), &err, "a driver that can do it");
    is_u64(driver.version, 13000, "its version");
}

/* One device that cannot be used, with a word of the reason and of the fix. */
static void check_unusable(const char *reason, const char *fix)
{
    struct vyre_cuda_driver driver;
    struct vyre_cuda_device device;
    vyre_caps caps = VYRE_CAPS_INIT;
    vyre_error err;
    must(vyre_cuda_driver_open(&driver, &err), &err);
    refused(vyre_cuda_choose(&driver, NULL, &device, &err), VYRE_E_UNSUPPORTED, &err, "%s", reason);
    ok(strstr(err.message, reason), "the reason: %s", err.message);
    ok(strstr(err.fix, fix), "the fix: %s", err.fix);
    vyre_backend_cuda.caps(&caps, NULL);
    ok(!caps.supported && strstr(caps.reason, reason) && strstr(caps.fix, fix),
       "the caps say the same");
}

static void test_unusable(void)
{
    fake_reset();
    fake.device[0].major = 7;
    fake.device[0].minor = 0;
    check_unusable("7.0; 7.5 or newer", "Turing");
    fake_reset();
    fake.device[0].mode = VYRE_CU_MODE_PROHIBITED;
    check_unusable("PROHIBITED", "nvidia-smi -i 0 -c DEFAULT");
    fake_reset();
    fake.device[0].lacks = VYRE_CU_VIRTUAL_MEMORY;
    check_unusable("virtual memory", "docs/platforms.md");
    fake_reset();
    fake.device[0].lacks = VYRE_CU_HOST_REGISTER;
    check_unusable("register memory", "docs/platforms.md");
}

static void test_choice(void)
{
    struct vyre_cuda_driver driver;
    struct vyre_cuda_device device;
    vyre_error err;
    fake_reset();
    fake.devices = 3;
    fake.device[1].uuid[0] = 0xAB;
    must(vyre_cuda_driver_open(&driver, &err), &err);
    must(vyre_cuda_choose(&driver, "", &device, &err), &err);
    is_u64(device.index, 0, "nothing means the first");
    must(vyre_cuda_choose(&driver, "2", &device, &err), &err);
    is_u64(device.index, 2, "an index");
    is_str(device.uuid, "GPU-11223344-0506-0708-090a-0b0c0d0e0f12", "its UUID");
    must(vyre_cuda_choose(&driver, device.uuid, &device, &err), &err);
    is_u64(device.index, 2, "a whole UUID");
    must(vyre_cuda_choose(&driver, "gpu-AB", &device, &err), &err);
    is_u64(device.index, 1, "the beginning of one");
    refused(vyre_cuda_choose(&driver, "GPU-1122", &device, &err), VYRE_E_CONFLICT, &err,
            "the beginning of two");
    refused(vyre_cuda_choose(&driver, "GPU-", &device, &err), VYRE_E_NO_DEVICE, &err, "no UUID");
    refused(vyre_cuda_choose(&driver, "3", &device, &err), VYRE_E_NO_DEVICE, &err, "no such index");
    ok(strstr(err.fix, "0 to 2"), "the fix names the indices: %s", err.fix);
    refused(vyre_cuda_choose(&driver, "1x", &device, &err), VYRE_E_NO_DEVICE, &err, "no index");
    refused(vyre_cuda_choose(&driver, "H200", &device, &err), VYRE_E_NO_DEVICE, &err, "a name");
}

static void test_list(void)
{
    struct vyre_cuda_device devices[2];
    vyre_caps caps = VYRE_CAPS_INIT;
    uint32_t count = 0;
    vyre_error err;
    fake_reset();
    fake.devices = 3;
    fake.device[1].major = 6;
    fake.device[1].watchdog = 1;
    must(vyre_cuda_devices(devices, 2, &count, &err), &err);
    is_u64(count, 3, "all are counted, as many as there is room for are listed");
    is_str(devices[0].name, "Fake GPU", "name");
    is_u64(devices[0].memory_bytes, (size_t)1 << 30, "memory");
    is_u64(devices[0].multiprocessors, 4, "multiprocessors");
    is_u64(devices[0].driver, 13000, "driver");
    ok(devices[0].supported && !devices[1].supported, "one is supported, one is not");
    ok(devices[1].watchdog && devices[1].reason[0], "and says why");
    vyre_backend_cuda.caps(&caps, NULL);
    is_u64(caps.supported, 1, "caps: supported");
    is_u64(caps.max_workers, (4 - 1) * 16, "caps: one block a multiprocessor, all that fits");
    is_u64(caps.default_workers, (4 - 1) * 16, "caps: and so many by default");
    ok(strstr(caps.device, "Fake GPU") && strstr(caps.device, "sm_90"), "caps: %s", caps.device);
    ok(strstr(caps.device, "4 SMs, 6272 bytes a warp"), "caps: %s", caps.device);
    fake.device[0].shared = 64 << 10;
    vyre_backend_cuda.caps(&caps, NULL);
    is_u64(caps.max_workers, (4 - 1) * 8, "little shared memory: blocks of eight warps");
    is_u64(caps.default_workers, (4 - 1) * 8, "little shared memory: one by default");
    ok(strstr(caps.device, "4 SMs, 7936 bytes a warp"), "caps: %s", caps.device);
    fake.device[0].multiprocessors = 1;
    vyre_backend_cuda.caps(&caps, NULL);
    is_u64(caps.max_workers, 4, "one multiprocessor for two blocks: of four warps");
    is_u64(caps.default_workers, 4, "one multiprocessor: one block of workers");
    ok(strstr(caps.device, "1 SMs, 7808 bytes a warp"), "caps: %s", caps.device);
    fake.device[0].multiprocessors = 4;
    fake.device[0].shared = 228 << 10;
    vyre_backend_cuda.caps(&caps, NULL);
    is_u64(caps.max_workers, (4 * 2 - 1) * 16, "much: at most two blocks a multiprocessor");
    is_u64(caps.default_workers, (4 - 1) * 16, "much: one by default");
    fake_reset();
    fake.devices = 0;
    refused(vyre_cuda_devices(devices, 2, &count, &err), VYRE_E_NO_DEVICE, &err, "no device");
}

static void test_image(void)
{
    struct vyre_cuda_image ptx = vyre_cuda_image_for(7, 5), newest = vyre_cuda_image_for(9, 0);
    const char *text = (const char *)ptx.bytes;
    is_u64(ptx.type, VYRE_CU_INPUT_PTX, "an older GPU gets PTX");
    if (!ok(ptx.length > 1 && text[ptx.length - 1] == '\0', "it ends with a NUL")) return;
    is_u64(strlen(text), ptx.length - 1, "and has no other");
    ok(strstr(text, ".target sm_75"), "for compute capability 7.5");
    ok(strstr(text, ".entry vyre_megakernel") && strstr(text, ".entry vyre_clock"),
       "with both functions that are loaded");
    ok(newest.type == VYRE_CU_INPUT_PTX ? newest.bytes == ptx.bytes
                                        : memcmp(newest.bytes, "\177ELF", 4) == 0,
       "compute capability 9.0 gets a cubin, or the same");
}

int main(void)
{
    test_image();
    test_numbers();
    test_missing();
    test_old();
    test_unusable();
    test_choice();
    test_list();
    return done();
}
