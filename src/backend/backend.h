/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a backend is: a const table of calls. The runtime lays out the device's memory
 * (device/layout.h) and hands it to start; from then on it talks to the device through memory
 * alone, and wakes it when it sleeps.
 */
#ifndef VYRE_BACKEND_BACKEND_H
#define VYRE_BACKEND_BACKEND_H

#include "base/memory.h"
#include "device/layout.h"
#include "vyre/runtime.h"

struct vyre_backend_run; /* what a backend keeps while it runs; each backend has its own */

struct vyre_backend_table {
    uint32_t id; /* enum vyre_backend */
    const char *name;
    /* Fills everything but the size. */
    void (*caps)(vyre_caps *caps);
    /* Starts device->workers workers on a device that is laid out. */
    vyre_status (*start)(struct dev_runtime *device, struct vyre_memory *memory,
                         struct vyre_backend_run **run, vyre_error *err);
    /* Waits until all workers have left; the device is stopping. */
    void (*join)(struct vyre_backend_run *run);
    /* Frees run after join. */
    void (*destroy)(struct vyre_backend_run *run);
    /* Whether the caller is one of the workers. */
    int (*on_worker)(const struct vyre_backend_run *run);
    /*
     * The caller waits for queue 0. If all workers are busy with operations, so that nobody looks
     * at it, the caller does so itself; where the device is not in this process, nothing happens.
     */
    void (*help)(struct dev_runtime *device);
    /* One sleeping worker shall look at the doorbells. */
    void (*wake)(struct dev_runtime *device);
};

extern const struct vyre_backend_table vyre_backend_cpu;
extern const struct vyre_backend_table vyre_backend_cuda;

/* The table of a backend, or NULL for a number that is none; AUTO is none. */
const struct vyre_backend_table *vyre_backend_find(uint32_t id);

/* The one error of a backend that is not supported here, with its reason and fix. */
vyre_status vyre_backend_refuse(const struct vyre_backend_table *backend, vyre_error *err);

#endif
