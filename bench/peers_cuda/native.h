/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The native kernels that `vyre bench vm` compares programs with: their functions, their memory,
 * and how they are launched. Used by native*.c and main.c.
 */
#ifndef VYRE_CUDA_NATIVE_H
#define VYRE_CUDA_NATIVE_H

#include "cuda_peers.h"
#include "vm_gpu.h"

struct native {
    struct cuda_peers *peers;
    struct gpu_sizes sizes;
    struct gpu_blocks blocks;
    unsigned processors; /* multiprocessors of the device */
    cuda_object saxpy, tiny, reduction, histogram, mandelbrot, stencil;
    uint64_t x, y, words, result; /* device memory, `sizes.elements` words each */
    uint64_t counters;            /* GPU_BINS words */
    unsigned char *room;          /* one block, for what is read back */
    float *exact;                 /* one block */
};

/* saxpy over elements from `first` on: one launch on the stream. A CUresult. */
int native_launch_saxpy(const struct native *native, uint32_t first, uint32_t elements);

/* The same as a node of a graph. */
int native_add_saxpy(const struct native *native, cuda_object graph, const cuda_object *needs,
                     cuda_object *node, uint32_t first, uint32_t elements);

/* Waits for all launches; NULL, or what a failed call returned. */
const char *native_wait(const struct native *native);

/* Sets `count` words of the device to `value` and waits for that. NULL, or why not. */
const char *native_set(uint64_t memory, uint32_t value, size_t count);

/* Whether the first `count` elements of the result repeat the floats of `exact`, but for the
 * rounding that contraction leaves out. NULL, or what is wrong. */
const char *native_check_floats(const struct native *native, uint32_t count);

/* The median of samples in nanoseconds; sorts them. `count` is at least 1. */
double native_median(uint32_t *samples, size_t count);

/* native_runs.c: the large problems, one launch and a wait each; saxpy by size. */
void measure_runs(struct native *native);

/* native_jobs.c: many launches on one stream, and the same as one graph. */
void measure_jobs(struct native *native);

#endif
