/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Questions to a snapshot that are answered by picking rows, and the words for the states of a
 * slot. Public.
 */
#include "telemetry/snapshot.h"

int vyre_slot_status_active(uint32_t status)
{
    return status < VYRE_SLOT_STATES && (VYRE_SLOT_ACTIVE & VYRE_SLOT_SET(status)) != 0;
}

const char *vyre_slot_status_name(uint32_t status)
{
    static const char *const names[VYRE_SLOT_STATES] = {
        [VYRE_SLOT_EMPTY] = "empty",     [VYRE_SLOT_PUBLISHED] = "published",
        [VYRE_SLOT_CLAIMED] = "claimed", [VYRE_SLOT_DONE] = "done",
        [VYRE_SLOT_WAIT_IO] = "wait_io", [VYRE_SLOT_YIELD] = "yield",
        [VYRE_SLOT_REQUEUE] = "requeue", [VYRE_SLOT_FAULT] = "fault",
    };
    return status < VYRE_SLOT_STATES ? names[status] : "unknown";
}

/* What both queries begin with. */
static vyre_status check_query(const vyre_snapshot *snapshot, const void *rows, uint32_t room,
                               const uint32_t *count, vyre_error *err)
{
    vyre_status status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (status) return status;
    status = vyre_bytes_check_list(rows, room, "the storage for rows", err);
    if (status) return status;
    return vyre_bytes_check_pointer(count, "count", err);
}

static vyre_status refuse_room(uint32_t found, uint32_t room, const char *what, vyre_error *err)
{
    return vyre_fail(err, VYRE_E_TOO_SMALL, "%u active %s, storage for %u was given", found, what,
                     room);
}

vyre_status vyre_snapshot_active_slots(const vyre_snapshot *snapshot, vyre_snapshot_slot *slots,
                                       uint32_t room, uint32_t *count, vyre_error *err)
{
    vyre_status status = check_query(snapshot, slots, room, count, err);
    if (status) return status;
    if (snapshot->omitted & VYRE_SNAPSHOT_OMIT_SLOTS)
        return vyre_fail_with(err, VYRE_E_STATE, "decode without VYRE_SNAPSHOT_OMIT_SLOTS",
                              "the snapshot was decoded without slots");
    uint32_t found = 0;
    for (uint32_t i = 0; i < snapshot->slot_count; i++)
        found += vyre_slot_status_active(snapshot->slots[i].status) != 0;
    *count = found;
    if (found > room) return refuse_room(found, room, "slots", err);
    for (uint32_t i = 0, at = 0; at < found; i++)
        if (vyre_slot_status_active(snapshot->slots[i].status)) slots[at++] = snapshot->slots[i];
    return VYRE_OK;
}

vyre_status vyre_snapshot_active_windows(const vyre_snapshot *snapshot,
                                         vyre_snapshot_window *windows, uint32_t room,
                                         uint32_t *count, vyre_error *err)
{
    vyre_status status = check_query(snapshot, windows, room, count, err);
    if (status) return status;
    uint32_t found = 0;
    for (uint32_t i = 0; i < snapshot->window_count; i++)
        found += snapshot->windows[i].active != 0;
    *count = found;
    if (found > room) return refuse_room(found, room, "windows", err);
    for (uint32_t i = 0, at = 0; at < found; i++)
        if (snapshot->windows[i].active) windows[at++] = snapshot->windows[i];
    return VYRE_OK;
}
