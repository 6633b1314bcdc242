/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The problems of `vyre bench vm` as native kernels, written for speed: loads of 16 bytes, sums by
 * shuffles, counters in shared memory, products and sums contracted. Launched by native_*.c in the
 * ordinary way. Sizes are powers of two (vm_gpu.h), given in elements of 16 bytes where a kernel
 * moves those.
 */
#include "../vm_gpu.h"

#define WARP  32u
#define WARPS (GPU_LANES / WARP)

/* One thread for each 16 bytes. A job of 4 KiB is one block. */
extern "C" __global__ void __launch_bounds__(GPU_LANES)
    native_saxpy(const float4 *__restrict__ x, const float4 *__restrict__ y, float a,
                 float4 *__restrict__ result, uint32_t quads)
{
    uint32_t i = blockIdx.x * GPU_LANES + threadIdx.x;
    if (i >= quads) return;
    float4 u = x[i];
    float4 v = y[i];
    result[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
}

/* The least kernel that does anything. */
extern "C" __global__ void native_tiny(uint32_t *result)
{
    result[threadIdx.x] = threadIdx.x;
}

static __device__ uint32_t sum_of(uint4 four)
{
    return four.x + four.y + four.z + four.w;
}

static __device__ uint32_t sum_of_warp(uint32_t sum)
{
    for (uint32_t offset = WARP / 2; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xFFFFFFFFu, sum, offset);
    return sum;
}

/* As many blocks as the device holds, each with four loads in flight a thread. */
extern "C" __global__ void __launch_bounds__(GPU_LANES)
    native_reduction(const uint4 *__restrict__ words, uint32_t quads, uint32_t *result)
{
    __shared__ uint32_t parts[WARPS];
    uint32_t step = gridDim.x * GPU_LANES;
    uint32_t i = blockIdx.x * GPU_LANES + threadIdx.x;
    uint32_t sum = 0;
    for (; i + 3 * step < quads; i += 4 * step) {
        uint4 a = words[i];
        uint4 b = words[i + step];
        uint4 c = words[i + 2 * step];
        uint4 d = words[i + 3 * step];
        sum += sum_of(a) + sum_of(b) + sum_of(c) + sum_of(d);
    }
    for (; i < quads; i += step)
        sum += sum_of(words[i]);
    sum = sum_of_warp(sum);
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP) return;
    sum = sum_of_warp(threadIdx.x < WARPS ? parts[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(result, sum);
}

static __device__ void count(uint32_t *bins, uint32_t word)
{
    atomicAdd(&bins[word & 255], 1u);
    atomicAdd(&bins[word >> 8 & 255], 1u);
    atomicAdd(&bins[word >> 16 & 255], 1u);
    atomicAdd(&bins[word >> 24], 1u);
}

/* Each warp counts in a table of its own; a thread then adds up one bin of all tables. */
extern "C" __global__ void __launch_bounds__(GPU_LANES)
    native_histogram(const uint4 *__restrict__ words, uint32_t quads, uint32_t *result)
{
    __shared__ uint32_t tables[WARPS][GPU_BINS];
    uint32_t *bins = tables[threadIdx.x / WARP];
    uint32_t step = gridDim.x * GPU_LANES;
    uint32_t sum = 0;
    for (uint32_t warp = 0; warp < WARPS; warp++)
        tables[warp][threadIdx.x] = 0;
    __syncthreads();
    for (uint32_t i = blockIdx.x * GPU_LANES + threadIdx.x; i < quads; i += step) {
        uint4 four = words[i];
        count(bins, four.x);
        count(bins, four.y);
        count(bins, four.z);
        count(bins, four.w);
    }
    __syncthreads();
    for (uint32_t warp = 0; warp < WARPS; warp++)
        sum += tables[warp][threadIdx.x];
    atomicAdd(&result[threadIdx.x], sum);
}

/* Blocks of 32 by 8 points: neighbours take about as many rounds. */
extern "C" __global__ void __launch_bounds__(GPU_LANES)
    native_mandelbrot(uint32_t width, float step, uint32_t *__restrict__ result)
{
    uint32_t column = blockIdx.x * WARP + threadIdx.x;
    uint32_t row = blockIdx.y * WARPS + threadIdx.y;
    if (column >= width || row >= width) return;
    float cx = (float)column * step + GPU_MANDELBROT_LEFT;
    float cy = (float)row * step + GPU_MANDELBROT_TOP;
    float x = 0, y = 0, xx = 0, yy = 0;
    uint32_t rounds = 0;
    while (rounds < GPU_ROUNDS && xx + yy <= 4.0f) {
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        rounds++;
    }
    result[row * width + column] = rounds;
}

/* Four points a thread: three loads of 16 bytes, and the two at the ends. */
extern "C" __global__ void __launch_bounds__(GPU_LANES)
    native_stencil(const float *__restrict__ x, uint32_t width, uint32_t mask,
                   float *__restrict__ result)
{
    uint32_t at = (blockIdx.x * GPU_LANES + threadIdx.x) * 4;
    if (at > mask) return;
    float4 here = *(const float4 *)(x + at);
    float4 above = *(const float4 *)(x + ((at - width) & mask));
    float4 below = *(const float4 *)(x + ((at + width) & mask));
    float left = x[(at - 1) & mask];
    float right = x[(at + 4) & mask];
    *(float4 *)(result + at) =
        make_float4(0.5f * here.x + 0.125f * (left + here.y + above.x + below.x),
                    0.5f * here.y + 0.125f * (here.x + here.z + above.y + below.y),
                    0.5f * here.z + 0.125f * (here.y + here.w + above.z + below.z),
                    0.5f * here.w + 0.125f * (here.z + right + above.w + below.w));
}
