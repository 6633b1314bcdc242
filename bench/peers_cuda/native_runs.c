/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The large problems as native kernels, data resident: one launch and a wait for its end, again and
 * again; the figure is the median. saxpy also by size. Results are checked after the first run, or,
 * where runs add up, after the last.
 */
#include "native.h"

#include <stdio.h>
#include <string.h>

#define WARM_UP 5u
#define BLOCKS  8u  /* of 256 threads, that a multiprocessor holds */
#define STRIDE  61u /* every so manieth point of the plane is checked */

/* A problem: its launch, and what is right about its result after so many runs. */
struct problem {
    const char *name;
    int (*launch)(const struct native *native);
    const char *(*check)(const struct native *native, uint64_t runs);
    double (*amount)(const struct gpu_sizes *sizes); /* bytes, or points */
    const char *unit;
    double scale; /* from amounts a nanosecond to the unit */
};

static int launch_saxpy(const struct native *native)
{
    return native_launch_saxpy(native, 0, native->sizes.elements);
}

static const char *check_saxpy(const struct native *native, uint64_t runs)
{
    (void)runs;
    vm_gpu_saxpy(&native->blocks, native->exact);
    return native_check_floats(native, native->sizes.elements);
}

/* So many blocks that all run at once, but not more than there is work for. */
static unsigned resident_blocks(const struct native *native)
{
    unsigned most = native->processors * BLOCKS;
    unsigned work = native->sizes.elements / GPU_SHARE;
    return most < work ? most : work;
}

static int launch_counting(const struct native *native, cuda_object function)
{
    uint64_t words = native->words;
    uint64_t counters = native->counters;
    uint32_t quads = native->sizes.elements / 4;
    void *params[] = {&words, &quads, &counters};
    return cuda.cuLaunchKernel(function, resident_blocks(native), 1, 1, GPU_LANES, 1, 1, 0,
                               native->peers->stream, params, NULL);
}

static int launch_reduction(const struct native *native)
{
    return launch_counting(native, native->reduction);
}

/* The sums of all runs, modulo 2^32. */
static const char *check_counters(const struct native *native, const uint32_t *once, uint32_t count,
                                  uint64_t runs)
{
    uint32_t got[GPU_BINS];
    int result = cuda.cuMemcpyDtoH_v2(got, native->counters, count * sizeof got[0]);
    if (result != 0) return cuda_failed("cuMemcpyDtoH", result);
    for (uint32_t i = 0; i < count; i++)
        if (got[i] != (uint32_t)(once[i] * runs)) return "the native kernel gives a wrong result";
    return NULL;
}

static const char *check_reduction(const struct native *native, uint64_t runs)
{
    uint32_t sum = vm_gpu_sum(&native->blocks, native->sizes.elements);
    return check_counters(native, &sum, 1, runs);
}

static int launch_histogram(const struct native *native)
{
    return launch_counting(native, native->histogram);
}

static const char *check_histogram(const struct native *native, uint64_t runs)
{
    uint32_t bins[GPU_BINS];
    vm_gpu_histogram(&native->blocks, native->sizes.elements, bins);
    return check_counters(native, bins, GPU_BINS, runs);
}

static int launch_mandelbrot(const struct native *native)
{
    uint32_t width = vm_gpu_width(native->sizes.pixels);
    float step = vm_gpu_step(width);
    uint64_t out = native->result;
    void *params[] = {&width, &step, &out};
    return cuda.cuLaunchKernel(native->mandelbrot, (width + 31) / 32, (width + 7) / 8, 1, 32, 8, 1,
                               0, native->peers->stream, params, NULL);
}

/* Another rounding sends points at the edge of the set elsewhere. */
static const char *check_mandelbrot(const struct native *native, uint64_t runs)
{
    uint32_t *got = (uint32_t *)(void *)native->room;
    uint32_t pixels = native->sizes.pixels;
    uint32_t block = pixels < native->sizes.block ? pixels : native->sizes.block;
    uint32_t looked = 0, differ = 0;
    (void)runs;
    for (uint32_t at = 0; at < pixels; at += block) {
        int result = cuda.cuMemcpyDtoH_v2(got, native->result + (uint64_t)at * sizeof(uint32_t),
                                          block * sizeof(uint32_t));
        if (result != 0) return cuda_failed("cuMemcpyDtoH", result);
        for (uint32_t i = 0; i < block; i += STRIDE, looked++)
            differ += got[i] != vm_gpu_mandelbrot(pixels, at + i);
    }
    return differ * 10 <= looked ? NULL : "the native kernel gives a wrong result";
}

static int launch_stencil(const struct native *native)
{
    uint64_t x = native->x;
    uint64_t out = native->result;
    uint32_t width = native->sizes.width;
    uint32_t mask = native->sizes.elements - 1;
    void *params[] = {&x, &width, &mask, &out};
    return cuda.cuLaunchKernel(native->stencil, native->sizes.elements / GPU_SHARE, 1, 1, GPU_LANES,
                               1, 1, 0, native->peers->stream, params, NULL);
}

static const char *check_stencil(const struct native *native, uint64_t runs)
{
    (void)runs;
    vm_gpu_stencil(&native->blocks, native->sizes.width, native->exact);
    return native_check_floats(native, native->sizes.elements);
}

static double words_3(const struct gpu_sizes *sizes)
{
    return 12.0 * sizes->elements;
}

static double words_2(const struct gpu_sizes *sizes)
{
    return 8.0 * sizes->elements;
}

static double words_1(const struct gpu_sizes *sizes)
{
    return 4.0 * sizes->elements;
}

static double points(const struct gpu_sizes *sizes)
{
    return sizes->pixels;
}

static const struct problem problems[] = {
    {"native-saxpy", launch_saxpy, check_saxpy, words_3, "GB/s", 1},
    {"native-reduction", launch_reduction, check_reduction, words_1, "GB/s", 1},
    {"native-histogram", launch_histogram, check_histogram, words_1, "GB/s", 1},
    {"native-mandelbrot", launch_mandelbrot, check_mandelbrot, points, "M/s", 1e3},
    {"native-stencil", launch_stencil, check_stencil, words_2, "GB/s", 1},
};

static const char *run_once(const struct native *native, int (*launch)(const struct native *native))
{
    const char *why = cuda_failed("cuLaunchKernel", launch(native));
    return why != NULL ? why : native_wait(native);
}

static void measure_problem(struct native *native, const struct problem *problem)
{
    uint32_t *samples = native->peers->samples;
    size_t count = 0;
    uint64_t runs = 0;
    /* What earlier problems left must not look like a result. */
    const char *why = native_set(native->result, 0xFFFFFFFFu, native->sizes.elements);
    if (why == NULL) why = native_set(native->counters, 0, GPU_BINS);
    for (; runs < WARM_UP && why == NULL; runs++)
        why = run_once(native, problem->launch);
    uint64_t end = bench_clock_ns() + native->peers->duration_ns;
    while (why == NULL && count < CUDA_PEERS_SAMPLES) {
        uint64_t begin = bench_clock_ns();
        why = run_once(native, problem->launch);
        uint64_t now = bench_clock_ns();
        samples[count++] = (uint32_t)(now - begin);
        runs++;
        if (now > end) break;
    }
    if (why == NULL) why = problem->check(native, runs);
    if (why != NULL)
        print_absent(problem->name, why);
    else
        print_figure(problem->name,
                     problem->amount(&native->sizes) * problem->scale /
                         native_median(samples, count),
                     problem->unit);
}

/* saxpy over one of the sizes: microseconds. */
static void measure_size(struct native *native, uint32_t index)
{
    static const char *const names[] = GPU_SIZES_NAMES;
    uint32_t *samples = native->peers->samples;
    uint32_t elements = GPU_SIZE(index);
    char name[32];
    size_t count = 0;
    const char *why = NULL;
    snprintf(name, sizeof name, "native-saxpy-%s", names[index]);
    uint64_t end = bench_clock_ns() + native->peers->duration_ns / 2;
    for (uint32_t i = 0; why == NULL && count < CUDA_PEERS_SAMPLES; i++) {
        uint64_t begin = bench_clock_ns();
        why = cuda_failed("cuLaunchKernel", native_launch_saxpy(native, 0, elements));
        if (why == NULL) why = native_wait(native);
        uint64_t now = bench_clock_ns();
        if (i < WARM_UP) continue;
        samples[count++] = (uint32_t)(now - begin);
        if (now > end) break;
    }
    if (why != NULL)
        print_absent(name, why);
    else
        print_figure(name, native_median(samples, count) / 1e3, "us");
}

void measure_runs(struct native *native)
{
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        measure_problem(native, &problems[i]);
    for (uint32_t i = 0; i < GPU_SIZES && GPU_SIZE(i) <= native->sizes.elements; i++)
        measure_size(native, i);
}
