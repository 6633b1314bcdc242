/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The problems of `vyre bench vm` on a GPU: their sizes, their inputs and their results. vyre and
 * the native kernels compute the same from the same, and both are checked against what stands here.
 * Used by `vyre bench vm` and by vyre-peers.
 *
 * Inputs repeat a block of at most GPU_BLOCK elements, so that they are made on the device and
 * results are known without computing all of them on the CPU. All sizes are powers of two.
 */
#ifndef VYRE_BENCH_VM_GPU_H
#define VYRE_BENCH_VM_GPU_H

#include <stddef.h>
#include <stdint.h>

#define GPU_LANES      256u            /* of a workgroup, but for the histogram */
#define GPU_SHARE      (4 * GPU_LANES) /* elements of a workgroup of saxpy and stencil */
#define GPU_WARP_LANES 32u

#define GPU_TERMS           64u /* that a lane of the reduction adds up */
#define GPU_REDUCTION_SHARE (GPU_LANES * GPU_TERMS)
#define GPU_COUNTER_LANES   64u /* lanes of a workgroup of the histogram */
#define GPU_HISTOGRAM_SHARE (GPU_COUNTER_LANES * 32u * 4u) /* words of one */
#define GPU_BINS            256u

#define GPU_A               1.75f
#define GPU_ROUNDS          256u /* at most, of a point of the plane */
#define GPU_MANDELBROT_LEFT -2.0f
#define GPU_MANDELBROT_TOP  -1.25f
#define GPU_MANDELBROT_SPAN 2.5f

#define GPU_MOST_ELEMENTS  (1u << 28) /* without --elements */
#define GPU_LEAST_ELEMENTS (1u << 16)
#define GPU_BLOCK          (1u << 20)
#define GPU_MOST_PIXELS    (1u << 24)
#define GPU_MOST_GROUPS    (1u << 14) /* of the arithmetic */

/* Jobs: so many of GPU_SHARE elements; fewer where the elements do not suffice. */
#define GPU_JOBS 10000u

/* saxpy is measured over sizes from 2^10 up to 2^28, four times as large each; as jobs, from 2^10
 * up to 2^20. */
#define GPU_SIZES     10u
#define GPU_JOB_SIZES 6u
#define GPU_SIZE(i)   (GPU_SHARE << 2 * (i))
#define GPU_SIZES_NAMES                                                                            \
    {                                                                                              \
        "1k", "4k", "16k", "64k", "256k", "1m", "4m", "16m", "64m", "256m"                         \
    }
#define GPU_JOB_ELEMENTS (1u << 26) /* of all jobs of one size, at most */

/* How many elements each problem has, where `most` is the most of any; see --elements. */
struct gpu_sizes {
    uint32_t elements; /* of saxpy, reduction and stencil; of the histogram words */
    uint32_t block;    /* elements after which inputs repeat */
    uint32_t width;    /* of the stencil's plane */
    uint32_t pixels;   /* of the mandelbrot set, which is square */
    uint32_t groups;   /* of the arithmetic */
    uint32_t jobs;
};
void vm_gpu_sizes(uint64_t most, struct gpu_sizes *sizes);

/* How many jobs of GPU_SIZE(i) elements; 0: not even one. */
uint32_t vm_gpu_jobs(const struct gpu_sizes *sizes, uint32_t i);

/* The inputs: blocks of floats x and y, and of words. */
struct gpu_blocks {
    uint32_t count;
    float *x;
    float *y;
    uint32_t *words;
};
/* 0, or -1 where there is no memory. Free them in any case. */
int vm_gpu_blocks_make(const struct gpu_sizes *sizes, struct gpu_blocks *blocks);
void vm_gpu_blocks_free(struct gpu_blocks *blocks);

/* Results. Those of saxpy and stencil repeat as the inputs do: one block of them. */
void vm_gpu_saxpy(const struct gpu_blocks *blocks, float *result);
void vm_gpu_stencil(const struct gpu_blocks *blocks, uint32_t width, float *result);
/* Of one run over all elements; after several runs so often as much, modulo 2^32. */
uint32_t vm_gpu_sum(const struct gpu_blocks *blocks, uint32_t elements);
void vm_gpu_histogram(const struct gpu_blocks *blocks, uint32_t elements, uint32_t bins[GPU_BINS]);
uint32_t vm_gpu_mandelbrot(uint32_t pixels, uint32_t index);

/* What mandelbrot is given beside its width. */
float vm_gpu_step(uint32_t width);
uint32_t vm_gpu_width(uint32_t pixels);

/* Arithmetic (make_sized.c): what a lane of alu_N and warp_N with N - 1 values stores. */
#define GPU_ALU_SEED_BY            747796405u
#define GPU_ALU_SEED_ADD           2891336453u
#define GPU_ALU_BY                 1664525u
#define GPU_ALU_SWEEPS(values)     ((values) < 20 ? 60 / (3 * (values)) : 1)
/* Of the programs by register count: fewer lanes where they have many registers, so that the
 * registers of a workgroup take no more memory than those of 256 lanes with 16. */
#define GPU_SIZED_LANES(registers) ((registers) > 16 ? 4096u / (registers) : GPU_LANES)
uint32_t vm_gpu_alu(uint32_t registers, uint32_t lane, uint32_t rounds);

#endif
