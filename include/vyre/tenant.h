/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file tenant.h
 * What a tenant can see: its observable words, its debug log, and the wire format's images of the
 * running system. Reading never disturbs the device; every function here may be called from any
 * thread. Where the device lives in a device host all of them return also E_NO_MEMORY (there is no
 * room for a copy of its words), and E_LOST where that host is gone for good, or E_STOPPED where
 * vyre_stop had to end it.
 */
#ifndef VYRE_TENANT_H
#define VYRE_TENANT_H

#include <stddef.h>
#include <stdint.h>

#include "vyre/runtime.h"
#include "vyre/wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Reads observable words first..first+count-1 of a tenant. Statuses: E_NULL, E_RANGE. */
VYRE_API vyre_status vyre_tenant_observables(vyre *runtime, uint32_t tenant, uint32_t first,
                                             uint32_t count, uint32_t *words, vyre_error *err);

/** One record of the debug log, as PRINTF wrote it. */
typedef struct vyre_log_record {
    uint32_t format;
    uint32_t a;
    uint32_t b;
    uint32_t slot; /**< place of the slot in its ring, times 16 */
} vyre_log_record;

/**
 * Reads the tenant's debug log from *cursor on (0 at first), oldest record first, and moves
 * *cursor. The device keeps the newest 64 records; *lost receives how many were overwritten since
 * *cursor. Statuses: E_NULL, E_RANGE.
 */
VYRE_API vyre_status vyre_tenant_log(vyre *runtime, uint32_t tenant, uint64_t *cursor,
                                     vyre_log_record *records, size_t max, size_t *count,
                                     uint64_t *lost, vyre_error *err);

/**
 * The three images below copy the running state in wire form, as seen by one tenant: for the
 * telemetry decoders, for captures, for tools of the Rust project. *needed, unless NULL, always
 * receives the size; E_TOO_SMALL if size is less. Statuses: E_NULL, E_RANGE, E_TOO_SMALL.
 *
 * control: header words as the device keeps them, then the tenant's own observable words.
 */
VYRE_API vyre_status vyre_image_control(vyre *runtime, uint32_t tenant, void *bytes, size_t size,
                                        size_t *needed, vyre_error *err);
/** ring: the in-flight table, the tenant's slots in their true states, all others as empty. */
VYRE_API vyre_status vyre_image_ring(vyre *runtime, uint32_t tenant, void *bytes, size_t size,
                                     size_t *needed, vyre_error *err);
/** debug log: exactly 1028 bytes with the newest records of the tenant. */
VYRE_API vyre_status vyre_image_debug_log(vyre *runtime, uint32_t tenant, void *bytes, size_t size,
                                          size_t *needed, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
