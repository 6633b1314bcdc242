/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The device's tables: laid out in memory of this process, and for a device with memory of its own
 * as an image that is sent there once. Called by local.c only.
 */
#ifndef VYRE_RUNTIME_DEVICE_MEMORY_H
#define VYRE_RUNTIME_DEVICE_MEMORY_H

#include "runtime/internal.h"

struct vyre_device_memory {
    struct vyre_mapping mapping;
    struct vyre_backend_image image;
    struct dev_runtime resident; /* with the device's addresses, where those are others */
};

/* Lays everything out that workers will find; runtime->options and runtime->shared are set. */
vyre_status vyre_device_memory_make(vyre *runtime, struct vyre_device_memory *memory,
                                    struct vyre_backend_run *run, vyre_error *err);

/* Everything has been laid out, queue 0 too: the device's own addresses, before it is started. */
void vyre_device_memory_settle(vyre *runtime, struct vyre_device_memory *memory);

/* One that was not made is allowed. */
void vyre_device_memory_free(vyre *runtime, struct vyre_device_memory *memory,
                             struct vyre_backend_run *run);

#endif
