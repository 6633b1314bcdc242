/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What two snapshots of one ring say about progress, and the account of work that was put back.
 * Public.
 */
#include "telemetry/ratio.h"
#include "telemetry/snapshot.h"

vyre_status vyre_health_since(const vyre_snapshot *current, const vyre_snapshot *previous,
                              vyre_health *health, vyre_error *err)
{
    vyre_counters counters;
    vyre_status status = vyre_snapshot_check(current, "current", err);
    if (status) return status;
    status = vyre_snapshot_check(previous, "previous", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(health, "health", err);
    if (status) return status;
    status = vyre_snapshot_counters(current, &counters, err);
    if (status) return status;
    /* A device that was started again counts from 0. Its done count looks as if it had wrapped, so
     * the epoch has to tell; one that wraps is refused too, which costs one interval in 2^32 fences
     * and never gives a false delta. */
    if (current->control.epoch < previous->control.epoch)
        return vyre_fail(err, VYRE_E_SNAPSHOT_EPOCH, "the epoch went from %u back to %u",
                         previous->control.epoch, current->control.epoch);
    uint32_t delta = current->control.done_count - previous->control.done_count;
    *health = (vyre_health){
        .done_delta = delta,
        .queue_depth = counters.queue_depth,
        .fault_slots = counters.fault_slots,
        .requeue_slots = counters.requeue_slots,
        .gpu_idle_ppm = counters.gpu_idle_ppm,
        .suspected_stall = counters.queue_depth > 0 && delta == 0 && counters.fault_slots == 0,
    };
    return VYRE_OK;
}

static void add(uint64_t *sum, uint64_t amount)
{
    *sum = vyre_add_saturating_u64(*sum, amount);
}

static void see_age(vyre_requeues *requeues, uint32_t age)
{
    if (age > requeues->greatest_age) requeues->greatest_age = age;
}

vyre_status vyre_requeues_note(vyre_requeues *requeues, uint32_t age, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(requeues, "requeues", err);
    if (status) return status;
    add(&requeues->requeues, 1);
    see_age(requeues, age);
    return VYRE_OK;
}

vyre_status vyre_requeues_note_promotion(vyre_requeues *requeues, uint32_t age, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(requeues, "requeues", err);
    if (status) return status;
    add(&requeues->aged_promotions, 1);
    see_age(requeues, age);
    return VYRE_OK;
}

vyre_status vyre_requeues_add_snapshot(vyre_requeues *requeues, const vyre_snapshot *snapshot,
                                       vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(requeues, "requeues", err);
    if (status) return status;
    status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (status) return status;
    add(&requeues->requeues, snapshot->occupancy.requeue);
    return VYRE_OK;
}

vyre_status vyre_requeues_add_tasks(vyre_requeues *requeues, const vyre_wire_tasks *tasks,
                                    vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(requeues, "requeues", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(tasks, "tasks", err);
    if (status) return status;
    add(&requeues->requeues, tasks->requeue_count);
    see_age(requeues, tasks->max_age_ticks);
    return VYRE_OK;
}
