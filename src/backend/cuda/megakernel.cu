/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The resident kernel, from the one device source: up to 16 warps a block, each with its room in
 * shared memory; warp 0 of block 0 polls, and the desk lies behind what it needs of its room.
 */
#include "device/resident.h"

#define WARPS_MOST 16

extern __shared__ __align__(16) unsigned char rooms[];

extern "C" __global__ void __launch_bounds__(32 * WARPS_MOST)
    vyre_megakernel(struct dev_runtime *device, struct dev_launch launch)
{
    uint32_t warp = threadIdx.x / 32;
    struct dev_desk *desk = (struct dev_desk *)(rooms + DEV_DESK_OFFSET);
    if (threadIdx.x == 0) {
        dev_desk_init(desk, blockIdx.x == 0 ? launch.block_warps - 1 : 0);
        dev_clock_shift = launch.clock_shift;
        if (launch.flags & DEV_LAUNCH_ARMED) {
            uint64_t woken_ns = dev_load64_relaxed(&device->page->woken_ns);
            dev_clock_shift = dev_launch_shift(&launch, dev_clock_ns(), woken_ns);
        }
    }
    /* By the last of the gates: how many barriers a kernel needs is told by those that it names
     * itself, not by the functions that it calls. */
    dev_gate_wait(desk->gate, DEV_GATE_BEGIN, blockDim.x / 32);
    dev_resident(device, &launch, blockIdx.x * (blockDim.x / 32) + warp,
                 (struct dev_room *)(rooms + warp * device->room_bytes), desk);
}

/* Of a native operation that runs: see vyre/cuda.h. */
extern "C" __device__ int vyre_cuda_cancelled(const vyre_cuda_call *call)
{
    const struct dev_inflight *entry = (const struct dev_inflight *)call->slot;
    const struct dev_runtime *device = (const struct dev_runtime *)call->kernel;
    return entry != NULL && dev_entry_stopped(device, entry) != 0;
}

/* What the GPU's timer shows. */
extern "C" __global__ void vyre_clock(uint64_t *now)
{
    uint64_t timer;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    *now = timer;
}
