/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file cuda.h
 * Native operations in CUDA C: functions that the resident kernel calls for slots with their
 * opcode.
 *
 * This header is for the file with the functions, which nvcc compiles; docs/native-cuda.md leads
 * from a source file to an opcode. The library itself, and programs that use it, do not need it.
 *
 *     extern "C" __device__ uint32_t add_one(vyre_cuda_call *call)
 *     {
 *         float *x = (float *)call->buffer[0];
 *         for (uint64_t i = vyre_cuda_lane(call); i < call->bytes[0] / 4; i += call->lanes)
 *             x[i] += 1.0f;
 *         return 0;
 *     }
 */
#ifndef VYRE_CUDA_H
#define VYRE_CUDA_H

#include <stdint.h>

/** One run of a native operation; valid only inside it. All lanes have the same one. */
typedef struct vyre_cuda_call {
    uint32_t opcode;
    uint32_t tenant;
    uint64_t ticket;
    const uint32_t *args; /**< 12 words */
    uint32_t *result;     /**< 8 words, zero at first; one lane writes each */
    uint32_t lanes;       /**< 32: a whole warp is in the function; 1: one lane, in a packed slot */
    uint32_t reserved;
    void *buffer[12];   /**< of each argument that was registered as a handle, else NULL */
    uint64_t bytes[12]; /**< and its size */
    const void *kernel; /**< for vyre_cuda_cancelled */
    const void *slot;
} vyre_cuda_call;

/**
 * A native operation. All lanes return the same value: 0 for done; any other makes the slot fault
 * with OPERATION, the value in pc. It must return: a kernel that waits for it for ever is
 * restarted, and other slots with it. It may not use barriers of the block.
 */
typedef uint32_t (*vyre_cuda_fn)(vyre_cuda_call *call);

#if defined(__CUDACC__)

/** This lane's number in the call, 0 to lanes - 1. */
static __device__ __forceinline__ uint32_t vyre_cuda_lane(const vyre_cuda_call *call)
{
    return call->lanes == 1 ? 0u : threadIdx.x % 32u;
}

/** Whether the slot was cancelled, its deadline has passed, or the runtime is being stopped: time
 * to return. Lanes may see it at different moments. */
extern "C" __device__ int vyre_cuda_cancelled(const vyre_cuda_call *call);

#endif

#endif
