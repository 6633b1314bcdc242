/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The fake driver's linker and its launches: a warp of the resident kernel is a thread, and so is
 * its stream.
 */
#include "backend/cuda/fake/fake_internal.h"
#include "device/warp_interp.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Linking and loading. A module and its functions are their names.
 * ------------------------------------------------------------------------------------------- */

struct link_state {
    char *log;
    size_t log_bytes;
};

int fake_link_create(unsigned count, int *options, void **values, void **state)
{
    int result = fake_call();
    if (result) return result;
    struct link_state *link = calloc(1, sizeof *link);
    for (unsigned i = 0; link && i < count; i++) {
        if (options[i] == VYRE_CU_JIT_ERROR_LOG) link->log = values[i];
        if (options[i] == VYRE_CU_JIT_ERROR_LOG_BYTES) link->log_bytes = (uintptr_t)values[i];
    }
    *state = link;
    fake.inputs = 0;
    fake_count(1);
    return 0;
}

int fake_link_add(void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
                  int *options, void **values)
{
    int result = fake_call();
    const char *text = data;
    (void)state, (void)count, (void)options, (void)values;
    if (result) return result;
    if (type == VYRE_CU_INPUT_PTX && (bytes == 0 || text[bytes - 1] != '\0'))
        return VYRE_CU_INVALID_PTX;
    if (strcmp(name, "table") == 0) snprintf(fake.table, sizeof fake.table, "%s", text);
    fake.inputs++;
    return 0;
}

int fake_link_complete(void *state, void **cubin, size_t *bytes)
{
    struct link_state *link = state;
    int result = fake_call();
    if (result) return result;
    if (fake.link_log) {
        snprintf(link->log, link->log_bytes, "%s", fake.link_log);
        return VYRE_CU_INVALID_PTX;
    }
    *cubin = link;
    *bytes = sizeof *link;
    return 0;
}

int fake_module_load(void **module, const void *image)
{
    (void)image;
    fake_alone();
    return fake_make(module);
}

int fake_module_unload(void *module)
{
    fake_alone();
    return fake_unmake(module);
}

static const char kernel_name[] = "vyre_megakernel", clock_name[] = "vyre_clock";

int fake_get_function(void **function, void *module, const char *name)
{
    int result = fake_call();
    (void)module;
    if (result) return result;
    const char *found = strcmp(name, kernel_name) == 0  ? kernel_name
                        : strcmp(name, clock_name) == 0 ? clock_name
                                                        : NULL;
    *function = (void *)(uintptr_t)found;
    return found ? 0 : VYRE_CU_NOT_FOUND;
}

int fake_func_load(void *function)
{
    (void)function;
    return fake_call();
}

int fake_func_set(void *function, int attribute, int value)
{
    (void)function;
    int result = fake_call();
    if (result) return result;
    if (attribute != VYRE_CU_FUNCTION_SHARED || value > fake.device[0].shared)
        return VYRE_CU_INVALID_VALUE;
    return 0;
}

int fake_occupancy(int *blocks, void *function, int threads, size_t dynamic)
{
    (void)function, (void)threads, (void)dynamic;
    *blocks = fake.blocks_each;
    return fake_call();
}

/* Launches.
 * ------------------------------------------------------------------------------------------- */

struct warp {
    pthread_t thread;
    struct dev_runtime *device;
    const struct dev_launch *launch;
    uint32_t number;
};

#define FAKE_AIDES 2 /* of the poller's block: each is a thread that looks all the time */

static struct {
    struct dev_launch launch;
    struct dev_desk desk;
    struct dev_runtime *device;
    struct warp *warps;
    uint32_t count;
    pthread_t thread; /* the stream: waits, then runs the warps */
    void *stream;
    const uint32_t *word; /* that the stream waits for, before what is launched next; or NULL */
    uint32_t value;
} kernel;

/* The warps' own interpreter: what the GPU runs, compiled for this processor. */
static uint32_t interpret(struct dev_frame *frame)
{
    return dev_warp_interpret(frame);
}

static void *run_warp(void *argument)
{
    const struct warp *warp = argument;
    if (fake.kernel) {
        fake.kernel(warp->device, warp->launch, warp->number);
        return NULL;
    }
    struct dev_room *room = aligned_alloc(64, warp->device->room_bytes);
    dev_resident(warp->device, warp->launch, warp->number, room, &kernel.desk);
    free(room);
    return NULL;
}

/* As the GPU compares. */
static int waits(void)
{
    return kernel.word &&
           (int32_t)(__atomic_load_n(kernel.word, __ATOMIC_ACQUIRE) - kernel.value) < 0;
}

static void *run_stream(void *argument)
{
    struct timespec moment = {0, 10000};
    (void)argument;
    while (waits())
        nanosleep(&moment, NULL);
    kernel.word = NULL;
    __atomic_store_n(&fake.armed, 0, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < kernel.count; i++) {
        struct warp *warp = &kernel.warps[i];
        *warp = (struct warp){.device = kernel.device, .launch = &kernel.launch, .number = i};
        if (pthread_create(&warp->thread, NULL, run_warp, warp)) abort();
    }
    for (uint32_t i = 0; i < kernel.count; i++)
        pthread_join(kernel.warps[i].thread, NULL);
    if (fake.slow_ends != 0) {
        fake.slow_ends--;
        nanosleep(&(struct timespec){1, 500000000}, NULL);
    }
    return NULL;
}

static int launch_warps(struct dev_runtime *device, const struct dev_launch *launch, uint32_t count)
{
    if (__atomic_exchange_n(&fake.running, 1, __ATOMIC_ACQ_REL)) return VYRE_CU_UNKNOWN;
    __atomic_fetch_add(&fake.launches, 1, __ATOMIC_RELAXED);
    kernel.launch = *launch;
    kernel.device = device;
    dev_desk_init(&kernel.desk, FAKE_AIDES);
    device->interpreter = (uint64_t)(uintptr_t)interpret;
    kernel.warps = calloc(count, sizeof *kernel.warps);
    kernel.count = count;
    __atomic_store_n(&fake.armed, kernel.word != NULL, __ATOMIC_RELEASE);
    if (pthread_create(&kernel.thread, NULL, run_stream, NULL)) abort();
    return 0;
}

int fake_stream_stuck(void)
{
    return !__atomic_load_n(&fake.running, __ATOMIC_ACQUIRE) && waits();
}

int fake_stream_wait(void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    int result = fake_call();
    if (result) return result;
    if (fake.device[0].no_waits) return VYRE_CU_NOT_SUPPORTED;
    if (!stream || address % 4 != 0 || flags != VYRE_CU_WAIT_GEQ) return VYRE_CU_INVALID_VALUE;
    kernel.word = (const uint32_t *)(uintptr_t)address;
    kernel.value = value;
    return 0;
}

int fake_stream_destroy(void *stream)
{
    fake_alone();
    kernel.word = NULL;
    return fake_unmake(stream);
}

int fake_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                void **parameters, void **extra)
{
    int result = fake_call();
    (void)grid_y, (void)grid_z, (void)block_y, (void)block_z, (void)shared;
    (void)extra;
    if (result) return result;
    uint64_t address = *(uint64_t *)parameters[0];
    __atomic_store_n(&kernel.stream, stream, __ATOMIC_RELAXED);
    if (function == (void *)(uintptr_t)kernel_name)
        return launch_warps((struct dev_runtime *)(uintptr_t)address, parameters[1],
                            grid_x * block_x / 32);
    fake_alone();
    kernel.word = NULL;
    *(uint64_t *)(uintptr_t)address = vyre_clock_ns() - FAKE_CLOCK_BEHIND_NS;
    return 0;
}

static int await_kernel(int result)
{
    pthread_join(kernel.thread, NULL);
    free(kernel.warps);
    kernel.warps = NULL;
    kernel.count = 0;
    __atomic_store_n(&fake.running, 0, __ATOMIC_RELEASE);
    if (fake.kernel_result) __atomic_store_n(&fake.sticky, fake.kernel_result, __ATOMIC_RELAXED);
    return fake.kernel_result ? fake.kernel_result : result;
}

/* The only event is the end of the kernel. */
int fake_event_synchronize(void *event)
{
    int result = fake_call();
    (void)event;
    return await_kernel(result);
}

int fake_stream_synchronize(void *stream)
{
    int result = fake_call();
    return stream == __atomic_load_n(&kernel.stream, __ATOMIC_RELAXED) && kernel.count
               ? await_kernel(result)
               : result;
}
