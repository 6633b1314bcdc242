/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The GPUs of this machine: what they are, whether they can run the resident kernel, and which one
 * an option means.
 */
#ifndef VYRE_BACKEND_CUDA_DEVICES_H
#define VYRE_BACKEND_CUDA_DEVICES_H

#include "backend/cuda/driver.h"
#include "vyre/runtime.h"

#define VYRE_CUDA_BLOCK_WARPS 16u /* of the resident kernel, where their rooms fit; else half */
#define VYRE_CUDA_BLOCKS_MOST 2u  /* of it on one multiprocessor */

struct vyre_cuda_device {
    uint32_t index;
    uint32_t supported;
    char name[64];
    char uuid[48]; /* "GPU-..." */
    uint64_t memory_bytes;
    uint32_t compute_major;
    uint32_t compute_minor;
    uint32_t multiprocessors;
    uint32_t shared_block; /* bytes of shared memory that a block can have */
    uint32_t shared_each;  /* and all blocks of a multiprocessor */
    uint32_t block_warps;  /* of the resident kernel */
    uint32_t watchdog;     /* kernels are ended after seconds */
    uint32_t compute_mode; /* enum vyre_cu_compute_mode */
    uint32_t driver;       /* such as 13000 */
    char reason[160];      /* why it is not supported */
    char fix[160];         /* what would make it so */
};

/* All devices, `room` of them at most; *count is how many there are. Statuses: as
 * vyre_cuda_driver_open. */
vyre_status vyre_cuda_devices(struct vyre_cuda_device *devices, uint32_t room, uint32_t *count,
                              vyre_error *err);

/* The device that an option names: NULL or "" is the first, "1" an index, "GPU-..." a UUID or the
 * beginning of one. It is supported, or E_UNSUPPORTED says why not. Others: E_NO_DEVICE,
 * E_CONFLICT (the beginning of several). */
vyre_status vyre_cuda_choose(const struct vyre_cuda_driver *driver, const char *wanted,
                             struct vyre_cuda_device *device, vyre_error *err);

/* Worker warps, without the poller and its aides: at most, and where nobody asks for a number. */
uint32_t vyre_cuda_max_workers(const struct vyre_cuda_device *device);
uint32_t vyre_cuda_default_workers(const struct vyre_cuda_device *device);

/* The blocks of a kernel with so many workers. */
uint32_t vyre_cuda_blocks(const struct vyre_cuda_device *device, uint32_t workers);

/* The bytes of each warp's room in a kernel of so many blocks. */
uint32_t vyre_cuda_room_bytes(const struct vyre_cuda_device *device, uint32_t blocks);

/* The caps of the backend for a device that an option names. */
void vyre_cuda_caps(vyre_caps *caps, const char *wanted);

#endif
