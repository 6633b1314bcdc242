/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests to the launch policy: made of two limits, and filled from a snapshot or a count of
 * tasks. A call that fails leaves the request as it was. Public.
 */
#include "runtime/options.h"
#include "telemetry/policy_rules.h"
#include "wire/bytes.h"

vyre_status vyre_policy_direct(vyre_policy_request *request, uint32_t queue_len, uint32_t groups,
                               uint32_t width, vyre_error *err)
{
    vyre_policy_request direct = VYRE_POLICY_REQUEST_INIT;
    vyre_status status = vyre_bytes_check_pointer(request, "request", err);
    if (status) return status;
    direct.queue_len = queue_len;
    direct.requested_worker_groups = groups;
    direct.max_workgroup_size_x = width;
    direct.max_compute_workgroups_per_dimension = groups;
    direct.max_compute_invocations_per_workgroup = width;
    direct.expected_hits_per_item = 1;
    *request = direct;
    return VYRE_OK;
}

/* Whether the caller's request is one of this version. */
static vyre_status check_request(const vyre_policy_request *request, vyre_error *err)
{
    vyre_policy_request known;
    vyre_status status = vyre_bytes_check_pointer(request, "request", err);
    if (status) return status;
    return vyre_options_read(&known, request, sizeof known, "vyre_policy_request", err);
}

vyre_status vyre_policy_add_snapshot(const vyre_policy *policy, const vyre_snapshot *snapshot,
                                     vyre_policy_request *request, vyre_error *err)
{
    vyre_policy rules;
    vyre_counters counters;
    vyre_status status = check_request(request, err);
    if (!status) status = vyre_policy_read(policy, &rules, err);
    if (!status) status = vyre_snapshot_counters(snapshot, &counters, err);
    if (!status)
        status = vyre_bytes_check_list(snapshot->windows, snapshot->window_count, "windows", err);
    if (status) return status;

    uint32_t hot = 0;
    for (uint32_t i = 0; i < snapshot->window_count; i++) {
        const vyre_snapshot_window *window = &snapshot->windows[i];
        hot += (uint64_t)window->required + window->lookahead >= rules.hot_window_slots;
    }
    if (request->graph_node_count == 0) request->graph_node_count = counters.total_slots;
    if (request->graph_edge_count == 0) request->graph_edge_count = counters.queue_depth;
    if (request->frontier_density_bps == 0)
        request->frontier_density_bps = (uint16_t)counters.frontier_density_bps;
    request->hot_opcode_count = snapshot->control.metric_count;
    request->hot_window_count = hot;
    request->requeue_count =
        vyre_add_saturating_u64(request->requeue_count, counters.requeue_slots);
    return VYRE_OK;
}

vyre_status vyre_policy_add_tasks(const vyre_wire_tasks *tasks, vyre_policy_request *request,
                                  vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(tasks, "tasks", err);
    if (!status) status = check_request(request, err);
    if (status) return status;
    if (tasks->schedulable > UINT32_MAX)
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu tasks that can be scheduled, at most %u",
                         tasks->schedulable, UINT32_MAX);
    request->queue_len = (uint32_t)tasks->schedulable;
    request->requeue_count = vyre_add_saturating_u64(request->requeue_count, tasks->pressure);
    if (tasks->max_age_ticks > request->max_priority_age)
        request->max_priority_age = tasks->max_age_ticks;
    return VYRE_OK;
}
