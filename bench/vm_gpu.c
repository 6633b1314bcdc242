/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Inputs and results of the problems on a GPU; see vm_gpu.h. Compiled without contraction: what a
 * program computes must equal this bit by bit. Nothing here is on a timed path.
 */
#include "vm_gpu.h"

#include <stdlib.h>
#include <string.h>

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void vm_gpu_sizes(uint64_t most, struct gpu_sizes *sizes)
{
    uint32_t elements = GPU_LEAST_ELEMENTS;
    while (elements < GPU_MOST_ELEMENTS && (uint64_t)elements * 2 <= most)
        elements *= 2;
    sizes->elements = elements;
    sizes->block = least(elements, GPU_BLOCK);
    sizes->width = 1;
    while ((uint64_t)sizes->width * sizes->width < elements)
        sizes->width *= 2;
    /* A square with a side that is a power of two. */
    uint32_t pixels = least(elements, GPU_MOST_PIXELS);
    sizes->pixels = vm_gpu_width(pixels) * vm_gpu_width(pixels);
    sizes->groups = least(elements / GPU_LANES, GPU_MOST_GROUPS);
    sizes->jobs = least(elements / GPU_SHARE, GPU_JOBS);
}

uint32_t vm_gpu_width(uint32_t pixels)
{
    uint32_t width = 1;
    while (width * width * 4 <= pixels)
        width *= 2;
    return width;
}

float vm_gpu_step(uint32_t width)
{
    return GPU_MANDELBROT_SPAN / (float)width;
}

uint32_t vm_gpu_jobs(const struct gpu_sizes *sizes, uint32_t i)
{
    return least(least(sizes->elements, GPU_JOB_ELEMENTS) / GPU_SIZE(i), GPU_JOBS);
}

/* Well mixed words that depend on their place alone. */
static uint32_t word_at(uint32_t i)
{
    uint32_t x = i * 0x9E3779B9u + 0x7F4A7C15u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16;
}

/* From 0.5 to 1.5: no result is subnormal, nor does anything cancel out. */
static float float_at(uint32_t i)
{
    return 0.5f + (float)(word_at(i) >> 8) / (float)(1 << 24);
}

int vm_gpu_blocks_make(const struct gpu_sizes *sizes, struct gpu_blocks *blocks)
{
    uint32_t n = sizes->block;
    memset(blocks, 0, sizeof *blocks);
    blocks->count = n;
    blocks->x = malloc(n * sizeof blocks->x[0]);
    blocks->y = malloc(n * sizeof blocks->y[0]);
    blocks->words = malloc(n * sizeof blocks->words[0]);
    if (blocks->x == NULL || blocks->y == NULL || blocks->words == NULL) return -1;
    for (uint32_t i = 0; i < n; i++) {
        blocks->x[i] = float_at(i);
        blocks->y[i] = float_at(i + n);
        /* All byte values, some more often than others. */
        blocks->words[i] = word_at(i + 2 * n) & (word_at(i + 3 * n) | 0x7F7F7F7Fu);
    }
    return 0;
}

void vm_gpu_blocks_free(struct gpu_blocks *blocks)
{
    free(blocks->x);
    free(blocks->y);
    free(blocks->words);
    memset(blocks, 0, sizeof *blocks);
}

void vm_gpu_saxpy(const struct gpu_blocks *blocks, float *result)
{
    for (uint32_t i = 0; i < blocks->count; i++)
        result[i] = GPU_A * blocks->x[i] + blocks->y[i];
}

void vm_gpu_stencil(const struct gpu_blocks *blocks, uint32_t width, float *result)
{
    const float *x = blocks->x;
    uint32_t mask = blocks->count - 1; /* the plane is a number of whole blocks */
    for (uint32_t i = 0; i < blocks->count; i++) {
        float sum = x[(i - 1) & mask] + x[(i + 1) & mask];
        sum = sum + x[(i - width) & mask];
        sum = sum + x[(i + width) & mask];
        result[i] = 0.5f * x[i] + 0.125f * sum;
    }
}

uint32_t vm_gpu_sum(const struct gpu_blocks *blocks, uint32_t elements)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < blocks->count; i++)
        sum += blocks->words[i];
    return sum * (elements / blocks->count);
}

void vm_gpu_histogram(const struct gpu_blocks *blocks, uint32_t elements, uint32_t bins[GPU_BINS])
{
    memset(bins, 0, GPU_BINS * sizeof bins[0]);
    for (uint32_t i = 0; i < blocks->count; i++)
        for (uint32_t byte = 0; byte < 4; byte++)
            bins[blocks->words[i] >> 8 * byte & 255]++;
    for (uint32_t i = 0; i < GPU_BINS; i++)
        bins[i] *= elements / blocks->count;
}

uint32_t vm_gpu_mandelbrot(uint32_t pixels, uint32_t index)
{
    uint32_t width = vm_gpu_width(pixels);
    float step = vm_gpu_step(width);
    float cx = (float)(index % width) * step + GPU_MANDELBROT_LEFT;
    float cy = (float)(index / width) * step + GPU_MANDELBROT_TOP;
    float x = 0, y = 0, xx = 0, yy = 0;
    uint32_t rounds = 0;
    while (rounds < GPU_ROUNDS && xx + yy <= 4.0f) {
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        rounds++;
    }
    return rounds;
}

uint32_t vm_gpu_alu(uint32_t registers, uint32_t lane, uint32_t rounds)
{
    uint32_t v[64];
    uint32_t values = registers - 1;
    uint32_t result = 0;
    v[0] = lane;
    for (uint32_t j = 1; j < values; j++)
        v[j] = v[j - 1] * GPU_ALU_SEED_BY + GPU_ALU_SEED_ADD;
    for (uint32_t round = 0; round < rounds * GPU_ALU_SWEEPS(values); round++)
        for (uint32_t j = 0; j < values; j++) {
            v[j] ^= v[(j + 1) % values];
            v[j] += v[(j + 2) % values];
            v[j] *= GPU_ALU_BY;
        }
    for (uint32_t j = 0; j < values; j++)
        result ^= v[j];
    return result;
}
