/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file telemetry.h
 * What a device says about itself while it runs: its heartbeat, what each worker is at, how far
 * each queue is. Reading takes loads from memory alone and never disturbs the device; it works as
 * well on one that has stopped or no longer answers. docs/vitals.md has the layout of the page.
 */
#ifndef VYRE_TELEMETRY_H
#define VYRE_TELEMETRY_H

#include <stdint.h>

#include "vyre/evidence.h"
#include "vyre/policy.h"
#include "vyre/runtime.h"
#include "vyre/sketch.h"
#include "vyre/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A queue. `submitted` and `taken` are as of now (CUDA: `taken` as of the last heartbeat), the
 * others as of the last heartbeat. */
typedef struct vyre_vital_queue {
    uint32_t queue; /**< its number; vyre_queue_number */
    uint32_t tenant;
    uint64_t submitted; /**< slots since the queue was opened */
    uint64_t taken;     /**< those of them that the device has taken out of the ring */
    uint64_t completed; /**< slots that have ended since the queue was opened, or since the device
                           was restarted */
    uint32_t inflight;  /**< slots taken and not ended */
    uint32_t blocked;   /**< 1: nothing is taken before these have ended: a fence waits */
} vyre_vital_queue;

/**
 * The vitals of a runtime. Start from VYRE_VITALS_INIT; `worker` and `queue` are the caller's
 * storage for so many entries as `worker_room` and `queue_room` say; both may be NULL with room 0.
 * What finds no room is still counted.
 */
typedef struct vyre_vitals {
    uint32_t size;    /**< sizeof(vyre_vitals), set by the caller */
    uint32_t version; /**< of the layout of the page */
    uint32_t workers;
    uint32_t busy; /**< workers that are at a slot; slots run in place by the poller not counted */
    uint32_t queues; /**< open, the system queue not counted */
    uint32_t asleep; /**< 1: nobody looks for work and nobody is at a slot; then there is no
                        heartbeat, and a submit wakes the device */
    uint64_t beats;  /**< heartbeats since the device was started */
    uint64_t age_ns; /**< of the last one; 0 before the first */
    vyre_vital_worker *worker; /**< receives the busy ones, by number */
    vyre_vital_queue *queue;   /**< receives the open ones, in no order */
    uint32_t worker_room;
    uint32_t queue_room;
} vyre_vitals;

#define VYRE_VITALS_INIT                                                                           \
    {                                                                                              \
        (uint32_t)sizeof(vyre_vitals), 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0, 0, 0u, 0u                    \
    }

/** Fills *vitals. Any thread, from inside a native operation too. Statuses: E_NULL (also storage
 * that is null though there is room), E_SIZE. */
VYRE_API vyre_status vyre_vitals_read(vyre *runtime, vyre_vitals *vitals, vyre_error *err);

#ifdef __cplusplus
}
#endif

#endif
