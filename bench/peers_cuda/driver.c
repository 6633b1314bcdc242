/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA driver as the peers use it: opened at run time, with the least of declarations. Called
 * by main.c, once.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_peers.h"

struct cuda_calls cuda;

const char *cuda_failed(const char *call, int result)
{
    static char text[128];
    const char *name = NULL;
    if (result == 0) return NULL;
    if (cuda.cuGetErrorName(result, &name) != 0 || name == NULL) name = "an unknown error";
    snprintf(text, sizeof text, "%s: %s (%d)", call, name, result);
    return text;
}

/* The symbols keep their signature for ever: a new one has another name. */
static const char *open_library(void)
{
    static char text[128];
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return "no libcuda.so.1: the NVIDIA driver is not installed";
#define CUDA_CALL(name, args)                                                                      \
    *(void **)(void *)&cuda.name = dlsym(library, #name);                                          \
    if (cuda.name == NULL) {                                                                       \
        snprintf(text, sizeof text, "libcuda.so.1 has no %s: the driver is too old", #name);       \
        return text;                                                                               \
    }
#define CUDA_CALL_NEW(name, args) *(void **)(void *)&cuda.name = dlsym(library, #name);
#include "cuda_calls.def"
    return NULL;
}

static void write_uuid(char text[48], const unsigned char uuid[16])
{
    size_t used = (size_t)snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(text + used, 48 - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Fills in what is known of the device with this index. */
static const char *look_at(struct cuda_peers *peers, int index)
{
    unsigned char uuid[16];
    const char *why = cuda_failed("cuDeviceGet", cuda.cuDeviceGet(&peers->device, index));
    if (why == NULL)
        why = cuda_failed("cuDeviceGetName",
                          cuda.cuDeviceGetName(peers->name, sizeof peers->name, peers->device));
    if (why == NULL)
        why = cuda_failed("cuDeviceGetUuid", cuda.cuDeviceGetUuid(uuid, peers->device));
    if (why == NULL)
        why = cuda_failed(
            "cuDeviceGetAttribute",
            cuda.cuDeviceGetAttribute(&peers->major, CUDA_COMPUTE_MAJOR, peers->device));
    if (why == NULL)
        why = cuda_failed(
            "cuDeviceGetAttribute",
            cuda.cuDeviceGetAttribute(&peers->minor, CUDA_COMPUTE_MINOR, peers->device));
    if (why == NULL) write_uuid(peers->uuid, uuid);
    return why;
}

const char *cuda_find(struct cuda_peers *peers, const char *which)
{
    static char text[128];
    int count = 0;
    const char *why = open_library();
    if (why == NULL) why = cuda_failed("cuInit", cuda.cuInit(0));
    if (why == NULL)
        why = cuda_failed("cuDriverGetVersion", cuda.cuDriverGetVersion(&peers->driver));
    if (why == NULL) why = cuda_failed("cuDeviceGetCount", cuda.cuDeviceGetCount(&count));
    for (int i = 0; i < count && why == NULL; i++) {
        char *end = NULL;
        why = look_at(peers, i);
        if (why != NULL || which == NULL || strcmp(which, peers->uuid) == 0) return why;
        if (strtol(which, &end, 10) == i && end != which && *end == '\0') return NULL;
    }
    if (why != NULL) return why;
    snprintf(text, sizeof text, "no GPU %.60s; the driver sees %d", which != NULL ? which : "0",
             count);
    return text;
}

static const char *load(const char *ptx, const char *name, cuda_object *function)
{
    cuda_object module = NULL;
    const char *why = cuda_failed("cuModuleLoadData", cuda.cuModuleLoadData(&module, ptx));
    if (why != NULL) return why;
    return cuda_failed("cuModuleGetFunction", cuda.cuModuleGetFunction(function, module, name));
}

const char *cuda_begin(struct cuda_peers *peers)
{
    cuda_object context = NULL;
    const char *why = cuda_failed("cuDevicePrimaryCtxRetain",
                                  cuda.cuDevicePrimaryCtxRetain(&context, peers->device));
    if (why == NULL) why = cuda_failed("cuCtxSetCurrent", cuda.cuCtxSetCurrent(context));
    if (why == NULL)
        why = cuda_failed("cuStreamCreate",
                          cuda.cuStreamCreate(&peers->stream, CUDA_STREAM_NON_BLOCKING));
    if (why == NULL) why = load(cuda_kernels_ptx, "empty", &peers->empty);
    if (why == NULL) why = load(cuda_kernels_ptx, "ping_pong", &peers->ping_pong);
    if (why == NULL) why = load(cuda_kernels_ptx, "ping_pong_strict", &peers->ping_pong_strict);
    if (why == NULL && peers->major >= 9)
        why = load(cuda_dependent_ptx, "dependent", &peers->dependent);
    return why;
}
