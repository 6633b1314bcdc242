/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA backend: its table, and opening and closing a device. It runs inside a device host: a
 * context that has seen a sticky error, or whose kernel does not end, is got rid of only together
 * with its process. So where a kernel is left running nothing is freed, and the process is expected
 * to end.
 */
#include "backend/cuda/run.h"

vyre_status vyre_cuda_enter(struct vyre_backend_run *run, vyre_error *err)
{
    int result = run->driver.cuCtxSetCurrent(run->context);
    return result ? vyre_fail_cuda(&run->driver, err, result, "entering the context") : VYRE_OK;
}

static vyre_status open_context(struct vyre_backend_run *run, vyre_error *err)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    int result = driver->cuDeviceGet(&run->handle, (int)run->device.index);
    if (!result) result = driver->cuDevicePrimaryCtxRetain(&run->context, run->handle);
    if (result)
        return vyre_fail_cuda(driver, err, result, "opening GPU %u (%.40s)", run->device.index,
                              run->device.name);
    vyre_status status = vyre_cuda_enter(run, err);
    if (status) return status;
    result = driver->cuStreamCreate(&run->kernel_stream, VYRE_CU_STREAM_NON_BLOCKING);
    if (!result) result = driver->cuStreamCreate(&run->copy_stream, VYRE_CU_STREAM_NON_BLOCKING);
    if (!result)
        result =
            driver->cuEventCreate(&run->ended, VYRE_CU_EVENT_BLOCKING | VYRE_CU_EVENT_NO_TIMING);
    return result ? vyre_fail_cuda(driver, err, result, "making streams") : VYRE_OK;
}

static void make_locks(struct vyre_backend_run *run)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&run->launch.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&run->launch.lock, NULL);
    pthread_mutex_init(&run->store.lock, NULL);
    pthread_mutex_init(&run->store.copy_lock, NULL);
}

/* Frees everything, as far as it was made, unless a kernel still runs. */
static void destroy(struct vyre_backend_run *run)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    if (run->launch.threaded) return;
    if (run->context) {
        driver->cuCtxSetCurrent(run->context);
        vyre_cuda_module_close(run);
        vyre_cuda_store_close(run);
        if (run->ended) driver->cuEventDestroy(run->ended);
        if (run->copy_stream) driver->cuStreamDestroy(run->copy_stream);
        if (run->kernel_stream) driver->cuStreamDestroy(run->kernel_stream);
        driver->cuCtxSetCurrent(NULL);
        driver->cuDevicePrimaryCtxRelease(run->handle);
    }
    pthread_mutex_destroy(&run->store.copy_lock);
    pthread_mutex_destroy(&run->store.lock);
    pthread_mutex_destroy(&run->launch.lock);
    pthread_cond_destroy(&run->launch.changed);
    vyre_memory_free(run->memory, run, sizeof *run);
}

static vyre_status open_run(const struct vyre_backend_setup *setup, struct vyre_backend_run **out,
                            vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(setup->memory, 1, sizeof(struct vyre_backend_run), "GPU", &memory, err);
    if (status) return status;
    struct vyre_backend_run *run = memory;
    run->memory = setup->memory;
    run->log = setup->log;
    run->options = setup->options;
    run->store.own.fd = -1;
    make_locks(run);
    vyre_cuda_finite_init(run);
    status = vyre_cuda_driver_open(&run->driver, err);
    if (!status) status = vyre_cuda_choose(&run->driver, setup->options->device, &run->device, err);
    if (!status) {
        run->launch.blocks = vyre_cuda_blocks(&run->device, setup->options->workers);
        run->room_bytes = vyre_cuda_room_bytes(&run->device, run->launch.blocks);
        status = open_context(run, err);
    }
    if (!status) status = vyre_cuda_store_open(run, err);
    if (!status) status = vyre_cuda_module_open(run, err);
    if (status)
        destroy(run);
    else
        *out = run;
    return status;
}

static int on_worker(const struct vyre_backend_run *run)
{
    (void)run;
    return 0;
}

static void help(struct vyre_backend_run *run)
{
    (void)run;
}

const struct vyre_backend_table vyre_backend_cuda = {
    .id = VYRE_BACKEND_CUDA,
    .name = "cuda",
    .memory = &vyre_cuda_memory,
    .caps = vyre_cuda_caps,
    .open = open_run,
    .start = vyre_cuda_start,
    .join = vyre_cuda_join,
    .destroy = destroy,
    .on_worker = on_worker,
    .help = help,
    .link = vyre_cuda_link,
    .pause = vyre_cuda_pause,
    .resume = vyre_cuda_resume,
    .wake = vyre_cuda_wake,
    .wakes_by_word = 1,
};
