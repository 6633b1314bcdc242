/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native kernels made ready: the module, device memory filled with the same data as vyre's buffers,
 * and launches. `vyre-peers --native` measures them; called by main.c.
 */
#include "native.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The PTX of native.cu, a NUL behind it. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".hidden cuda_native_ptx\n"
        ".globl cuda_native_ptx\n"
        "cuda_native_ptx:\n"
        ".incbin \"" NATIVE_PTX "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cuda_native_ptx[];

/* Contraction changes the last bits of a sum of values near 1. */
#define TOLERANCE 1e-6f

const char *native_wait(const struct native *native)
{
    return cuda_failed("cuStreamSynchronize", cuda.cuStreamSynchronize(native->peers->stream));
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

double native_median(uint32_t *samples, size_t count)
{
    qsort(samples, count, sizeof samples[0], compare);
    return ((double)samples[(count - 1) / 2] + samples[count / 2]) / 2;
}

/* The parameters of saxpy, and a launch of them. */
struct saxpy_call {
    uint64_t x, y;
    float a;
    uint64_t result;
    uint32_t quads;
    void *params[5];
};

static void make_call(const struct native *native, uint32_t first, uint32_t elements,
                      struct saxpy_call *call)
{
    uint64_t offset = (uint64_t)first * sizeof(float);
    call->x = native->x + offset;
    call->y = native->y + offset;
    call->a = GPU_A;
    call->result = native->result + offset;
    call->quads = elements / 4;
    call->params[0] = &call->x;
    call->params[1] = &call->y;
    call->params[2] = &call->a;
    call->params[3] = &call->result;
    call->params[4] = &call->quads;
}

int native_launch_saxpy(const struct native *native, uint32_t first, uint32_t elements)
{
    struct saxpy_call call;
    make_call(native, first, elements, &call);
    return cuda.cuLaunchKernel(native->saxpy, elements / GPU_SHARE, 1, 1, GPU_LANES, 1, 1, 0,
                               native->peers->stream, call.params, NULL);
}

int native_add_saxpy(const struct native *native, cuda_object graph, const cuda_object *needs,
                     cuda_object *node, uint32_t first, uint32_t elements)
{
    struct saxpy_call call;
    make_call(native, first, elements, &call);
    struct cuda_kernel_node added = {
        native->saxpy, {elements / GPU_SHARE, 1, 1}, {GPU_LANES, 1, 1}, 0, call.params, NULL, NULL,
        NULL};
    return cuda.cuGraphAddKernelNode_v2(node, graph, needs, needs != NULL ? 1 : 0, &added);
}

const char *native_set(uint64_t memory, uint32_t value, size_t count)
{
    const char *why = cuda_failed("cuMemsetD32", cuda.cuMemsetD32_v2(memory, value, count));
    if (why != NULL) return why;
    return cuda_failed("cuCtxSynchronize", cuda.cuCtxSynchronize());
}

const char *native_check_floats(const struct native *native, uint32_t count)
{
    uint32_t block = count < native->blocks.count ? count : native->blocks.count;
    float *got = (float *)(void *)native->room;
    for (uint32_t at = 0; at < count; at += block) {
        int result = cuda.cuMemcpyDtoH_v2(got, native->result + (uint64_t)at * sizeof(float),
                                          block * sizeof(float));
        if (result != 0) return cuda_failed("cuMemcpyDtoH", result);
        for (uint32_t i = 0; i < block; i++)
            if (!(fabsf(got[i] - native->exact[i]) <= TOLERANCE * fabsf(native->exact[i])))
                return "the native kernel gives a wrong result";
    }
    return NULL;
}

/* A block from the host, then copies on the device, twice as much each time. */
static const char *fill(uint64_t memory, const void *block, size_t block_bytes, size_t bytes)
{
    int result = cuda.cuMemcpyHtoD_v2(memory, block, block_bytes);
    if (result != 0) return cuda_failed("cuMemcpyHtoD", result);
    for (size_t done = block_bytes; done < bytes && result == 0; done *= 2)
        result = cuda.cuMemcpyDtoD_v2(memory + done, memory, done);
    return cuda_failed("cuMemcpyDtoD", result);
}

static const char *make_memory(struct native *native)
{
    static char text[160];
    size_t bytes = (size_t)native->sizes.elements * sizeof(uint32_t);
    size_t block = (size_t)native->sizes.block * sizeof(uint32_t);
    uint64_t *const memory[] = {&native->x, &native->y, &native->words, &native->result};
    const void *const blocks[] = {native->blocks.x, native->blocks.y, native->blocks.words};
    int result = cuda.cuMemAlloc_v2(&native->counters, GPU_BINS * sizeof(uint32_t));
    for (int i = 0; i < 4 && result == 0; i++)
        result = cuda.cuMemAlloc_v2(memory[i], bytes);
    if (result != 0) {
        snprintf(text, sizeof text, "%.80s for 4 times %zu MiB; give fewer --elements",
                 cuda_failed("cuMemAlloc", result), bytes >> 20);
        return text;
    }
    for (int i = 0; i < 3; i++) {
        const char *why = fill(*memory[i], blocks[i], block, bytes);
        if (why != NULL) return why;
    }
    const char *why = native_set(native->result, 0, native->sizes.elements);
    return why != NULL ? why : native_set(native->counters, 0, GPU_BINS);
}

static const char *load_kernels(struct native *native)
{
    const struct {
        const char *name;
        cuda_object *function;
    } rows[] = {
        {"native_saxpy", &native->saxpy},           {"native_tiny", &native->tiny},
        {"native_reduction", &native->reduction},   {"native_histogram", &native->histogram},
        {"native_mandelbrot", &native->mandelbrot}, {"native_stencil", &native->stencil}};
    cuda_object module = NULL;
    int processors = 0;
    int result = cuda.cuModuleLoadData(&module, cuda_native_ptx);
    if (result != 0) return cuda_failed("cuModuleLoadData of the native kernels", result);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        result = cuda.cuModuleGetFunction(rows[i].function, module, rows[i].name);
        if (result != 0) return cuda_failed(rows[i].name, result);
    }
    result = cuda.cuDeviceGetAttribute(&processors, CUDA_PROCESSORS, native->peers->device);
    native->processors = (unsigned)processors;
    return cuda_failed("cuDeviceGetAttribute", result);
}

void measure_native(struct cuda_peers *peers, uint64_t elements)
{
    struct native native;
    const char *why = NULL;
    memset(&native, 0, sizeof native);
    native.peers = peers;
    vm_gpu_sizes(elements, &native.sizes);
    native.room = malloc(native.sizes.block * sizeof(uint32_t));
    native.exact = malloc(native.sizes.block * sizeof(float));
    if (vm_gpu_blocks_make(&native.sizes, &native.blocks) != 0 || native.room == NULL ||
        native.exact == NULL)
        why = "no memory for the inputs";
    if (why == NULL) why = load_kernels(&native);
    if (why == NULL) why = make_memory(&native);
    if (why != NULL) {
        print_absent("native", why);
    } else {
        measure_jobs(&native);
        measure_runs(&native);
    }
    vm_gpu_blocks_free(&native.blocks);
    free(native.room);
    free(native.exact); /* memory of the device goes with the process */
}
