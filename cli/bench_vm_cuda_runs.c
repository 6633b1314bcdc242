/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The large problems as programs, one run at a time; saxpy by size and by the registers of a lane.
 * Steps of `vyre bench vm` on a device. Results are spoilt before the runs and compared after them;
 * the counting problems add up over all runs, modulo 2^32.
 */
#include <string.h>

#include "bench_vm_cuda.h"

#define STRIDE 61u /* every so manieth point of the plane is checked */

static struct gpu_run saxpy_run(enum gpu_kernel kernel, uint32_t elements)
{
    struct gpu_run run = {kernel, elements / GPU_SHARE, {gpu_bits(GPU_A), 0}};
    return run;
}

static int check_saxpy(struct bench *bench, uint32_t line, uint32_t elements)
{
    struct gpu_state *state = bench->state;
    vm_gpu_saxpy(&state->blocks, state->exact);
    return gpu_check_floats(bench, line, elements);
}

static int check_stencil(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    vm_gpu_stencil(&state->blocks, state->sizes.width, state->exact);
    return gpu_check_floats(bench, line, state->sizes.elements);
}

static int check_counters(struct bench *bench, const uint32_t *once, uint32_t count, uint64_t runs)
{
    struct gpu_state *state = bench->state;
    const uint32_t *got = (const uint32_t *)(const void *)state->room;
    int code = gpu_read(bench, GPU_COUNTS, 0, count);
    for (uint32_t i = 0; i < count && code == 0; i++)
        if (got[i] != (uint32_t)(once[i] * runs))
            return bench_wrong("a program that counts gives another result than the same in C");
    return code;
}

static int check_reduction(struct bench *bench, uint64_t runs)
{
    struct gpu_state *state = bench->state;
    uint32_t sum = vm_gpu_sum(&state->blocks, state->sizes.elements);
    return check_counters(bench, &sum, 1, runs);
}

static int check_histogram(struct bench *bench, uint64_t runs)
{
    struct gpu_state *state = bench->state;
    uint32_t bins[GPU_BINS];
    vm_gpu_histogram(&state->blocks, state->sizes.elements, bins);
    return check_counters(bench, bins, GPU_BINS, runs);
}

static int check_mandelbrot(struct bench *bench)
{
    struct gpu_state *state = bench->state;
    const uint32_t *got = (const uint32_t *)(const void *)state->room;
    uint32_t pixels = state->sizes.pixels;
    uint32_t block = pixels < state->sizes.block ? pixels : state->sizes.block;
    for (uint32_t at = 0; at < pixels; at += block) {
        int code = gpu_read(bench, GPU_RESULT, at, block);
        if (code != 0) return code;
        for (uint32_t i = 0; i < block; i += STRIDE)
            if (got[i] != vm_gpu_mandelbrot(pixels, at + i))
                return bench_wrong("mandelbrot gives another result than the same in C");
    }
    return 0;
}

/* What a line runs, and how much that moves: bytes, or points. */
static struct gpu_run problem_run(const struct gpu_state *state, uint32_t line, double *amount)
{
    const struct gpu_sizes *sizes = &state->sizes;
    struct gpu_run run = saxpy_run(GPU_KERNEL_saxpy_grid, sizes->elements);
    *amount = 12.0 * sizes->elements;
    if (line == GPU_LINE_REDUCTION) {
        run.kernel = GPU_KERNEL_reduction;
        run.groups = sizes->elements / GPU_REDUCTION_SHARE;
        *amount = 4.0 * sizes->elements;
    } else if (line == GPU_LINE_HISTOGRAM) {
        run.kernel = GPU_KERNEL_histogram;
        run.groups = sizes->elements / GPU_HISTOGRAM_SHARE;
        *amount = 4.0 * sizes->elements;
    } else if (line == GPU_LINE_MANDELBROT) {
        run.kernel = GPU_KERNEL_mandelbrot_grid;
        run.groups = sizes->pixels / GPU_LANES;
        run.scalars[0] = vm_gpu_width(sizes->pixels);
        run.scalars[1] = gpu_bits(vm_gpu_step(run.scalars[0]));
        *amount = 1e3 * sizes->pixels; /* millions a second */
    } else if (line == GPU_LINE_STENCIL) {
        run.kernel = GPU_KERNEL_stencil;
        run.scalars[0] = sizes->width;
        run.scalars[1] = sizes->elements - 1;
        *amount = 8.0 * sizes->elements;
    }
    return run;
}

static int check_problem(struct bench *bench, uint32_t line, uint64_t runs)
{
    struct gpu_state *state = bench->state;
    switch (line) {
    case GPU_LINE_REDUCTION:
        return check_reduction(bench, runs);
    case GPU_LINE_HISTOGRAM:
        return check_histogram(bench, runs);
    case GPU_LINE_MANDELBROT:
        return check_mandelbrot(bench);
    case GPU_LINE_STENCIL:
        return check_stencil(bench, line);
    default:
        return check_saxpy(bench, line, state->sizes.elements);
    }
}

static int measure(struct bench *bench, uint32_t line, const struct gpu_run *run, double amount)
{
    struct gpu_state *state = bench->state;
    uint64_t runs = 0;
    double ns = 0;
    int code = gpu_load(bench, run->kernel);
    if (code == 0) code = gpu_spoil(bench, state->sizes.elements);
    if (code == 0) code = gpu_clear_counters(bench);
    if (code == 0) code = gpu_time_runs(bench, run, bench->slice_ns, &ns, &runs);
    if (code == 0) code = check_problem(bench, line, runs);
    if (code == 0) bench_add(bench, line, amount / ns);
    return code;
}

int bench_step_gpu_problem(struct bench *bench, uint32_t line)
{
    double amount = 0;
    int code = gpu_ready(bench);
    if (code != 0) return code;
    struct gpu_run run = problem_run(bench->state, line, &amount);
    return measure(bench, line, &run, amount);
}

/* saxpy with more registers alive. */
int bench_step_gpu_saxpy(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    uint32_t index = line - GPU_LINE_SAXPY_R8;
    struct gpu_run run =
        saxpy_run((enum gpu_kernel)(GPU_KERNEL_saxpy_8 + index), state->sizes.elements);
    int code = gpu_ready(bench);
    if (code == 0) code = measure(bench, line, &run, 12.0 * state->sizes.elements);
    if (code == 0) gpu_note_registers(bench, line, run.kernel, 8u << index);
    return code;
}

int bench_step_gpu_sizes(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    int code = gpu_need_native(bench, line, GPU_LINE_NATIVE_SAXPY_1K);
    if (code == 0) code = gpu_ready(bench);
    if (code == 0) code = gpu_load(bench, GPU_KERNEL_saxpy_grid);
    for (uint32_t i = 0; i < GPU_SIZES && code == 0; i++) {
        struct gpu_run run = saxpy_run(GPU_KERNEL_saxpy_grid, GPU_SIZE(i));
        uint64_t runs = 0;
        double ns = 0;
        if (GPU_SIZE(i) > state->sizes.elements) break;
        code = gpu_spoil(bench, GPU_SIZE(i));
        if (code == 0) code = gpu_time_runs(bench, &run, bench->slice_ns / 2, &ns, &runs);
        if (code == 0) code = check_saxpy(bench, line + i, GPU_SIZE(i));
        if (code == 0) bench_add(bench, line + i, ns / 1e3);
    }
    if (code == 0)
        gpu_break_even(bench, line, GPU_LINE_NATIVE_SAXPY_1K, GPU_SIZES, GPU_LINE_BREAK_EVEN);
    return code;
}
