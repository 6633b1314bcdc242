/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA driver as a table of calls (cuda_api.def), found in libcuda.so.1 when it is opened;
 * nothing of it is needed to build or to start. The numbers and structures below are those of the
 * driver's binary interface that we use; a test compares them with the toolkit's header where there
 * is one.
 *
 * Only a device host opens it: an application never has a driver in its process.
 */
#ifndef VYRE_BACKEND_CUDA_DRIVER_H
#define VYRE_BACKEND_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The oldest driver that takes our PTX (.version 9.0). */
#define VYRE_CUDA_LEAST_VERSION 13000
#define VYRE_CUDA_LEAST_SERIES  "580"

/* CUresult, as far as we tell them apart. */
enum vyre_cu_result {
    VYRE_CU_OK = 0,
    VYRE_CU_INVALID_VALUE = 1,
    VYRE_CU_OUT_OF_MEMORY = 2,
    VYRE_CU_STUB_LIBRARY = 34,
    VYRE_CU_DEVICE_UNAVAILABLE = 46,
    VYRE_CU_NO_DEVICE = 100,
    VYRE_CU_INVALID_DEVICE = 101,
    VYRE_CU_INVALID_PTX = 218,
    VYRE_CU_NO_JIT_COMPILER = 221,
    VYRE_CU_UNSUPPORTED_PTX = 222,
    VYRE_CU_NOT_FOUND = 500,
    VYRE_CU_NOT_READY = 600,
    VYRE_CU_ILLEGAL_ADDRESS = 700,
    VYRE_CU_LAUNCH_TIMEOUT = 702,
    VYRE_CU_LAUNCH_FAILED = 719,
    VYRE_CU_NOT_PERMITTED = 800,
    VYRE_CU_NOT_SUPPORTED = 801,
    VYRE_CU_SYSTEM_NOT_READY = 802,
    VYRE_CU_DRIVER_MISMATCH = 803,
    VYRE_CU_COMPAT_NOT_SUPPORTED = 804,
    VYRE_CU_MPS_CONNECTION_FAILED = 805,
    VYRE_CU_UNKNOWN = 999
};

enum vyre_cu_attribute {
    VYRE_CU_MULTIPROCESSORS = 16,
    VYRE_CU_KERNEL_TIMEOUT = 17,
    VYRE_CU_MAP_HOST_MEMORY = 19,
    VYRE_CU_COMPUTE_MODE = 20,
    VYRE_CU_COMPUTE_MAJOR = 75,
    VYRE_CU_COMPUTE_MINOR = 76,
    VYRE_CU_SHARED_EACH = 81,
    VYRE_CU_SHARED_BLOCK = 97,
    VYRE_CU_HOST_REGISTER = 99,
    VYRE_CU_VIRTUAL_MEMORY = 102,
    VYRE_CU_HANDLE_AS_DESCRIPTOR = 103
};

enum vyre_cu_compute_mode {
    VYRE_CU_MODE_DEFAULT = 0,
    VYRE_CU_MODE_PROHIBITED = 2,
    VYRE_CU_MODE_EXCLUSIVE = 3
};

enum vyre_cu_flag {
    VYRE_CU_STREAM_NON_BLOCKING = 1,
    VYRE_CU_EVENT_BLOCKING = 1,
    VYRE_CU_EVENT_NO_TIMING = 2,
    VYRE_CU_WAIT_GEQ = 0, /* until (int32_t)(*word - value) >= 0 */
    VYRE_CU_REGISTER_PORTABLE = 1,
    VYRE_CU_REGISTER_DEVICEMAP = 2,
    VYRE_CU_FUNCTION_SHARED = 8 /* attribute: bytes of shared memory that a launch may ask for */
};

enum vyre_cu_jit {
    VYRE_CU_JIT_ERROR_LOG = 5,
    VYRE_CU_JIT_ERROR_LOG_BYTES = 6,
    VYRE_CU_INPUT_CUBIN = 0,
    VYRE_CU_INPUT_PTX = 1
};

enum vyre_cu_memory {
    VYRE_CU_MEMORY_PINNED = 1,
    VYRE_CU_LOCATION_DEVICE = 1,
    VYRE_CU_ACCESS_READ_WRITE = 3,
    VYRE_CU_GRANULARITY_MINIMUM = 0,
    VYRE_CU_HANDLE_DESCRIPTOR = 1 /* a POSIX file descriptor */
};

struct vyre_cu_uuid {
    unsigned char byte[16];
};

struct vyre_cu_location {
    int type;
    int id;
};

struct vyre_cu_memory_kind {
    int type;
    int handle_types;
    struct vyre_cu_location location;
    void *reserved;
    unsigned char flags[8];
};

struct vyre_cu_access {
    struct vyre_cu_location location;
    int flags;
};

struct vyre_cuda_driver {
#define CUDA_API(name, version, parameters, use) int(*name) parameters;
#include "backend/cuda/cuda_api.def"
#undef CUDA_API
    int version; /* such as 13000 */
};

/* NULL; a test sets the table that vyre_cuda_driver_open copies instead of opening libcuda. */
extern const struct vyre_cuda_driver *vyre_cuda_driver_override;

/*
 * Fills *driver and initialises the driver. The library stays open for the life of the process: it
 * has threads of its own. Statuses: E_UNSUPPORTED (no driver, or one that is too old), E_NO_DEVICE,
 * and what vyre_fail_cuda returns.
 */
vyre_status vyre_cuda_driver_open(struct vyre_cuda_driver *driver, vyre_error *err);

/* As vyre_fail for a call of the driver that returned `result`: domain CUDA, its name and text
 * behind the message, a fix that fits the result. E_NO_MEMORY, E_NO_DEVICE, E_BUSY (somebody else
 * has the device), E_UNSUPPORTED, else E_SYSTEM. */
vyre_status vyre_fail_cuda(const struct vyre_cuda_driver *driver, vyre_error *err, int result,
                           const char *format, ...) VYRE_PRINTF(4, 5);

/* The name of a result, such as "CUDA_ERROR_ILLEGAL_ADDRESS". */
const char *vyre_cuda_result_name(const struct vyre_cuda_driver *driver, int result);

#endif
