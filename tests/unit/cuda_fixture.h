/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CUDA backend over the fake driver, with a kernel that does what the test tells it: it keeps
 * to the words of the page and runs no slot. Used by t_cuda_*.c.
 */
#ifndef VYRE_TESTS_CUDA_FIXTURE_H
#define VYRE_TESTS_CUDA_FIXTURE_H

#include "support.h"

#include "backend/cuda/fake/fake_driver.h"
#include "backend/cuda/run.h"
#include "device/release.h"

static const struct vyre_backend_table *const cuda = &vyre_backend_cuda;

/* TOLD: it parks because queue 0 told it to. */
enum command { STAY = 0, PARK = 1, AGAIN = 2, STOP = 3, VANISH = 4, TOLD = 5 };

static struct {
    _Atomic uint32_t command; /* for the kernel that runs; it takes it with it */
    _Atomic uint32_t began;   /* launches that have begun */
    _Atomic uint32_t number;  /* of the last one */
    _Atomic uint64_t shift;   /* clock shift of the last one */
    _Atomic uint64_t stay_ns;
    _Atomic uint32_t deaths;
    _Atomic uint32_t errors; /* lines of the log */
    char line[256];          /* the last of them */
} stub;

TAP_UNUSED static void stub_kernel(struct dev_runtime *device, const struct dev_launch *launch,
                                   uint32_t warp)
{
    if (warp != 0) return;
    atomic_store(&stub.shift, (uint64_t)launch->clock_shift);
    atomic_store(&stub.stay_ns, launch->stay_ns);
    atomic_store(&stub.number, launch->number);
    __atomic_store_n(&device->page->sleepers, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&device->page->poller, 1, __ATOMIC_SEQ_CST);
    atomic_fetch_add(&stub.began, 1);
    uint32_t command;
    while ((command = atomic_exchange(&stub.command, STAY)) == STAY)
        breathe();
    if (command == VANISH) return;
    if (command == AGAIN) __atomic_store_n(&device->page->again, launch->number, __ATOMIC_SEQ_CST);
    if (command == STOP) __atomic_store_n(&device->page->state, DEV_GONE, __ATOMIC_SEQ_CST);
    if (command == TOLD) __atomic_store_n(&device->page->told, launch->number, __ATOMIC_SEQ_CST);
    __atomic_store_n(&device->page->poller, 0, __ATOMIC_SEQ_CST);
    if (command == PARK || command == TOLD)
        __atomic_store_n(&device->page->sleepers, launch->number, __ATOMIC_SEQ_CST);
    __atomic_store_n(&device->page->left, launch->number, __ATOMIC_RELEASE);
}

TAP_UNUSED static void note_death(int code)
{
    if (code == VYRE_CUDA_EXIT) atomic_fetch_add(&stub.deaths, 1);
}

TAP_UNUSED static void note_line(void *ctx, enum vyre_log_level level, const char *line)
{
    (void)ctx;
    if (level != VYRE_LOG_ERROR) return;
    snprintf(stub.line, sizeof stub.line, "%s", line);
    atomic_fetch_add(&stub.errors, 1);
}

/* One device as a runtime would have it. */
struct rig {
    struct vyre_memory memory;
    struct vyre_log log;
    vyre_options options;
    struct vyre_backend_run *run;
    struct vyre_mapping page;
    struct vyre_mapping tables;
    struct dev_runtime resident;
    struct vyre_backend_image image;
    uint64_t page_address;
    uint32_t before; /* number before that of the first launch */
};

TAP_UNUSED static void rig_prepare(struct rig *rig, uint32_t workers)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    memset(rig, 0, sizeof *rig);
    rig->options = options;
    rig->options.workers = workers;
    rig->options.park_ns = 1000000;
    rig->log = (struct vyre_log){note_line, NULL};
    vyre_memory_init(&rig->memory, NULL, NULL);
    memset(&stub, 0, sizeof stub);
    vyre_cuda_driver_override = &fake_driver;
    vyre_cuda_on_death = note_death;
    if (!fake.kernel) fake.kernel = stub_kernel;
}

/* Undoes rig_open as far as it came; a kernel that runs has been told to stop. */
TAP_UNUSED static void rig_close(struct rig *rig)
{
    int later = 0;
    if (rig->run) {
        cuda->join(rig->run);
        if (rig->page_address) cuda->memory->unshare(rig->run, &rig->page, &rig->memory, &later);
        if (rig->image.address) cuda->memory->free(rig->run, rig->image.address, rig->image.bytes);
        cuda->destroy(rig->run);
    }
    if (!later) vyre_memory_unmap(&rig->memory, &rig->page);
    vyre_memory_unmap(&rig->memory, &rig->tables);
}

/* Everything from open to start. */
TAP_UNUSED static vyre_status rig_open(struct rig *rig, vyre_error *err)
{
    struct vyre_backend_setup setup = {&rig->memory, &rig->log, &rig->options};
    size_t bytes = (size_t)3 << 20;
    vyre_status status = vyre_memory_map(&rig->memory, 4096, "page", &rig->page, err);
    if (!status) status = vyre_memory_map(&rig->memory, bytes, "tables", &rig->tables, err);
    if (!status) status = cuda->open(&setup, &rig->run, err);
    if (!status) status = cuda->memory->share(rig->run, &rig->page, &rig->page_address, err);
    if (!status) status = cuda->memory->alloc(rig->run, bytes, &rig->image.address, err);
    if (status) return status;
    rig->image.device = rig->tables.base;
    rig->image.device->page = rig->page.base;
    rig->image.bytes = bytes;
    rig->resident = *rig->image.device;
    rig->resident.page = (struct dev_page *)(uintptr_t)rig->page_address;
    rig->resident.handover =
        (struct dev_handover *)(uintptr_t)(rig->image.address + ((size_t)1 << 20));
    rig->image.resident = &rig->resident;
    rig->run->launch.number = rig->before;
    __atomic_store_n(&rig->image.device->page->release, rig->before, __ATOMIC_RELAXED);
    return cuda->start(rig->run, &rig->image, err);
}

TAP_UNUSED static struct dev_page *rig_page(struct rig *rig)
{
    return rig->page.base;
}

TAP_UNUSED static void tell(enum command command)
{
    atomic_store(&stub.command, command);
}

/* Links as the runtime does, with a kernel that was told to park: E_BUSY means that it has not left
 * yet. */
TAP_UNUSED static vyre_status link_soon(struct rig *rig, const struct vyre_native_image *image,
                                        uint64_t *number, vyre_error *err)
{
    vyre_status status;
    uint32_t tries = 0;
    do
        status = cuda->link(rig->run, image, number, err);
    while (status == VYRE_E_BUSY && ++tries < 20);
    return status;
}

TAP_UNUSED static vyre_status link_told(struct rig *rig, const struct vyre_native_image *image,
                                        uint64_t *number, vyre_error *err)
{
    tell(TOLD);
    return link_soon(rig, image, number, err);
}

/* Waits until the kernel has parked and the next launch waits in its stream. */
TAP_UNUSED static bool armed(void)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        if (__atomic_load_n(&fake.armed, __ATOMIC_ACQUIRE)) return true;
        breathe();
    }
    return false;
}

/* Waits until the fake driver has seen the end of a kernel after which none is armed. */
TAP_UNUSED static bool parked(struct rig *rig)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        pthread_mutex_lock(&rig->run->launch.lock);
        uint32_t running = rig->run->launch.running;
        pthread_mutex_unlock(&rig->run->launch.lock);
        if (!running) return true;
        breathe();
    }
    return false;
}

/* Waits until the launch thread has seen the end of a kernel that was told to stop: the backend
 * itself waits for it, but not for ever. */
TAP_UNUSED static void await_stop(struct rig *rig)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        pthread_mutex_lock(&rig->run->launch.lock);
        uint32_t ended = rig->run->launch.ended;
        pthread_mutex_unlock(&rig->run->launch.lock);
        if (ended) return;
        breathe();
    }
    bail("the kernel does not stop");
}

TAP_UNUSED static void start(struct rig *rig, uint32_t workers)
{
    vyre_error err;
    rig_prepare(rig, workers);
    must(rig_open(rig, &err), &err);
    if (!reaches(&stub.began, 1)) bail("the kernel never began");
}

/* Ends the kernel, closes all, and checks that nothing is left. */
TAP_UNUSED static void finish(struct rig *rig, const char *what)
{
    tell(STOP);
    if (rig->run->launch.threaded) await_stop(rig);
    rig_close(rig);
    is_u64(fake.hung, 0, "%s: no call that would not return", what);
    is_u64(fake.alive, 0, "%s: nothing of the driver is left", what);
    is_u64(fake.used, 0, "%s: no device memory is left", what);
    is_u64(vyre_memory_live(&rig->memory), 0, "%s: no memory is left", what);
    is_u64(atomic_load(&stub.deaths), 0, "%s: nobody died", what);
}

#endif
