/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What C and CUDA do differently, and locks made of it. This room is written in their common subset
 * and compiled twice: by a C17 compiler for the CPU backend, by nvcc for the CUDA backend. What
 * lanes and warps do among themselves differs in warp.h, warp_near.h, warp_memory.h and block.h;
 * elsewhere an #if names one GPU's shortcut, or what only one of the two has.
 *
 * Words that two parties touch are read and written only through these calls. A scope says how far
 * an ordering reaches: DEV_DEVICE among the workers of one device, DEV_SYSTEM to the host as well.
 * There are two bare fences: dev_fence_full belongs to the sleep hand-shake, dev_fence_both stands
 * between loads and stores of the resident kernel's warps, where one fence serves many words.
 */
#ifndef VYRE_DEVICE_PLATFORM_H
#define VYRE_DEVICE_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

/* The functions of the wire room that the device shares. */
#if defined(__CUDACC__)
#    define VYRE_WIRE_FN static __host__ __device__ __forceinline__
#endif

/* Two neighbouring words read or written at once: slots and entries are arrays of 32-bit words. */
#if defined(__CUDACC__)
typedef uint64_t dev_word64;
#    define DEV_ALIAS
#else
typedef uint64_t __attribute__((may_alias)) dev_word64;
#    define DEV_ALIAS __attribute__((may_alias))
#endif

/* Four words at once; aligned to their size. */
struct dev_word128 {
    uint64_t low;
    uint64_t high;
} DEV_ALIAS;

enum dev_scope { DEV_DEVICE = 0, DEV_SYSTEM = 1 };

#if defined(__CUDACC__)
#    include "device/platform_cuda.h"
#else
#    include "device/platform_cpu.h"
#endif

/* Locks of the device: held for a few dozen instructions, never across an operation or a wait. */

DEV_FN int dev_lock_try(uint32_t *lock)
{
    return dev_load_relaxed(lock) == 0 && dev_exchange_acquire(lock, 1) == 0;
}

/* A look before the first try would be a trip to memory more. */
DEV_FN void dev_lock(uint32_t *lock)
{
    if (dev_exchange_acquire(lock, 1) == 0) return;
    for (uint32_t tries = 1; !dev_lock_try(lock); tries++) {
        dev_pause();
        if (tries % 1024 == 0) dev_yield();
    }
}

DEV_FN void dev_unlock(uint32_t *lock)
{
    dev_store_release(lock, 0, DEV_DEVICE);
}

/* The same behind a fence for both (dev_fence_both), made by all who have changed what it guards.
 */
DEV_FN void dev_unlock_fenced(uint32_t *lock)
{
#if defined(__CUDACC__)
    dev_store_relaxed(lock, 0);
#else
    dev_unlock(lock);
#endif
}

#endif
