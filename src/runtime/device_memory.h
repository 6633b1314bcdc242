/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The device's own memory: one mapping that holds everything layout.h describes except the queues'
 * mappings.
 */
#ifndef VYRE_RUNTIME_DEVICE_MEMORY_H
#define VYRE_RUNTIME_DEVICE_MEMORY_H

#include "runtime/internal.h"

/* Fills runtime->device_memory and runtime->device. The options are checked and complete. */
vyre_status vyre_device_memory_make(vyre *runtime, const vyre_options *options, vyre_error *err);

#endif
