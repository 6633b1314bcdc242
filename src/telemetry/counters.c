/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Figures of one snapshot. Sums stop at the greatest value of their type: an occupancy need not
 * come from a decode. Public.
 */
#include "base/checked.h"
#include "telemetry/snapshot.h"

#define PPM 1000000u
#define BPS 10000u

uint32_t vyre_occupancy_depth(const vyre_occupancy *occupancy)
{
    if (!occupancy) return 0;
    uint32_t sum = vyre_add_saturating_u32(occupancy->published, occupancy->claimed);
    sum = vyre_add_saturating_u32(sum, occupancy->wait_io);
    sum = vyre_add_saturating_u32(sum, occupancy->yield);
    sum = vyre_add_saturating_u32(sum, occupancy->requeue);
    sum = vyre_add_saturating_u32(sum, occupancy->fault);
    return vyre_add_saturating_u32(sum, occupancy->unknown);
}

uint32_t vyre_occupancy_total(const vyre_occupancy *occupancy)
{
    if (!occupancy) return 0;
    uint32_t sum = vyre_add_saturating_u32(vyre_occupancy_depth(occupancy), occupancy->empty);
    return vyre_add_saturating_u32(sum, occupancy->done);
}

/* part of whole in units of 1/scale, rounded down; part is never more than whole. */
static uint32_t share(uint32_t part, uint32_t whole, uint32_t scale)
{
    return whole == 0 ? 0 : (uint32_t)((uint64_t)part * scale / whole);
}

static uint64_t sum_of(const uint32_t *values, uint32_t count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* Greatest minus least of the values that are not 0. */
static uint32_t skew_of(const uint32_t *values, uint32_t count)
{
    uint32_t least = UINT32_MAX, greatest = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == 0) continue;
        if (values[i] < least) least = values[i];
        if (values[i] > greatest) greatest = values[i];
    }
    return greatest == 0 ? 0 : greatest - least;
}

vyre_status vyre_snapshot_counters(const vyre_snapshot *snapshot, vyre_counters *counters,
                                   vyre_error *err)
{
    vyre_status status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(counters, "counters", err);
    if (status) return status;
    const vyre_occupancy *occupancy = &snapshot->occupancy;
    const vyre_snapshot_control *control = &snapshot->control;
    uint32_t total = vyre_occupancy_total(occupancy), depth = vyre_occupancy_depth(occupancy);
    *counters = (vyre_counters){
        .total_slots = total,
        .queue_depth = depth,
        .gpu_idle_slots = occupancy->empty,
        .gpu_idle_ppm = share(occupancy->empty, total, PPM),
        .frontier_density_bps = share(depth, total, BPS),
        .occupancy_proxy_bps = share(total - occupancy->empty, total, BPS),
        .drained_slots = control->done_count,
        .unreclaimed_done_slots = occupancy->done,
        .tenant_fairness_total = sum_of(control->tenant_fairness, VYRE_SNAPSHOT_TENANTS),
        .priority_fairness_total = sum_of(control->priority_fairness, VYRE_PRIORITIES),
        .tenant_fairness_skew = skew_of(control->tenant_fairness, VYRE_SNAPSHOT_TENANTS),
        .requeue_slots = occupancy->requeue,
        .fault_slots = occupancy->fault,
    };
    return VYRE_OK;
}
