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
#include "base/clock.h"

enum command { STAY = 0, PARK = 1, AGAIN = 2, STOP = 3, VANISH = 4 };

static struct {
    _Atomic uint32_t command; /* for the kernel that runs; it takes it with it */
    _Atomic uint32_t began;   /* launches that have begun */
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
    __atomic_store_n(&device->page->sleepers, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&device->page->poller, 1, __ATOMIC_SEQ_CST);
    atomic_fetch_add(&stub.began, 1);
    uint32_t command;
    while ((command = atomic_exchange(&stub.command, STAY)) == STAY)
        breathe();
    if (command == VANISH) return;
    if (command == AGAIN) __atomic_store_n(&device->page->again, launch->number, __ATOMIC_SEQ_CST);
    if (command == STOP) __atomic_store_n(&device->page->state, DEV_GONE, __ATOMIC_SEQ_CST);
    __atomic_store_n(&device->page->poller, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&device->page->sleepers, command == PARK, __ATOMIC_SEQ_CST);
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
    const struct vyre_backend_table *cuda = &vyre_backend_cuda;
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
    const struct vyre_backend_table *cuda = &vyre_backend_cuda;
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
    return cuda->start(rig->run, &rig->image, err);
}

TAP_UNUSED static void tell(enum command command)
{
    atomic_store(&stub.command, command);
}

/* Waits until the fake driver has seen the kernel's end. */
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

#endif
