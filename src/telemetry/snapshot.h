/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files about snapshots share: the check of a snapshot that a caller hands in, and the one
 * loop over the slots of a ring. For this room.
 */
#ifndef VYRE_TELEMETRY_SNAPSHOT_H
#define VYRE_TELEMETRY_SNAPSHOT_H

#include "telemetry/window.h"

/* A snapshot that is there and has a size of this version; `name` is the argument's. E_NULL,
 * E_SIZE. */
vyre_status vyre_snapshot_check(const vyre_snapshot *snapshot, const char *name, vyre_error *err);

/* What is read out of a ring in one go. Lengths and rooms have been checked. */
struct snapshot_read {
    const unsigned char *ring;
    uint32_t slots;
    vyre_snapshot_slot *rows;   /* receives a row a slot; NULL: none wanted */
    struct window_set *windows; /* NULL: none wanted */
    vyre_occupancy occupancy;   /* receives the states */
};

void vyre_snapshot_read(struct snapshot_read *read);

#endif
