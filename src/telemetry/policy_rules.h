/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rules of the launch policy, one function each, over a policy whose constants are in range and
 * a request whose signals were inferred. They are pure and cannot fail: what does not fit is
 * reported by the value, and policy_advice.c makes a status of it. docs/telemetry.md has the same
 * rules in words. For this room.
 */
#ifndef VYRE_TELEMETRY_POLICY_RULES_H
#define VYRE_TELEMETRY_POLICY_RULES_H

#include <stdbool.h>

#include "base/checked.h"
#include "telemetry/ratio.h"
#include "vyre/policy.h"

static inline uint32_t policy_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t policy_greatest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The constants of a caller, or the defaults for NULL, checked. E_SIZE, E_RESERVED, E_RANGE. */
vyre_status vyre_policy_read(const vyre_policy *given, vyre_policy *policy, vyre_error *err);

/* Signals.
 * ------------------------------------------------------------------------------------------- */

static inline void policy_infer(vyre_policy_request *request)
{
    uint32_t nodes = request->graph_node_count;
    if (request->frontier_density_bps == 0 && request->queue_len != 0 && nodes != 0) {
        uint32_t density = vyre_ratio_bps(request->queue_len, nodes);
        request->frontier_density_bps = (uint16_t)policy_greatest(density, 1);
    }
    uint64_t resident = request->resident_device_bytes;
    uint64_t budget = request->device_memory_budget_bytes;
    if (request->memory_pressure_bps == 0 && budget != 0 && resident != 0)
        request->memory_pressure_bps = (uint16_t)vyre_ratio_bps(resident, budget);
}

static inline bool policy_hot_opcodes(const vyre_policy *policy, const vyre_policy_request *request)
{
    return request->hot_opcode_count >= policy->hot_opcodes;
}

static inline bool policy_hot_windows(const vyre_policy *policy, const vyre_policy_request *request)
{
    return request->hot_window_count >= policy->hot_windows;
}

/* Whether a graph is worth fusing: enough edges, and something is hot. */
static inline bool policy_fuses(const vyre_policy *policy, const vyre_policy_request *request)
{
    return request->graph_edge_count >= policy->fusion_edges &&
           (policy_hot_opcodes(policy, request) || policy_hot_windows(policy, request));
}

static inline bool policy_memory_short(const vyre_policy *policy,
                                       const vyre_policy_request *request)
{
    return request->memory_pressure_bps >= policy->memory_bps;
}

/* Topology.
 * ------------------------------------------------------------------------------------------ */

/* By the signals of this moment alone; the first rule that fits. */
static inline uint32_t policy_topology_now(const vyre_policy *policy,
                                           const vyre_policy_request *request)
{
    uint32_t density = request->frontier_density_bps;
    if (request->queue_len == 0) return VYRE_TOPOLOGY_EMPTY;
    if (policy_memory_short(policy, request)) return VYRE_TOPOLOGY_MEMORY_CONSTRAINED;
    if (density <= policy->sparse_bps) return VYRE_TOPOLOGY_SPARSE;
    if (density < policy->dense_bps) return VYRE_TOPOLOGY_HYBRID;
    return request->graph_node_count > 0 && policy_fuses(policy, request)
               ? VYRE_TOPOLOGY_FUSED_DENSE
               : VYRE_TOPOLOGY_DENSE;
}

/* With hysteresis. Thresholds plus the hysteresis need no cap: no density reaches 65536. */
static inline uint32_t policy_topology(const vyre_policy *policy,
                                       const vyre_policy_request *request)
{
    uint32_t now = policy_topology_now(policy, request);
    uint32_t density = request->frontier_density_bps;
    uint32_t slack = policy->frontier_hysteresis_bps;
    bool keep = false;
    if (now == VYRE_TOPOLOGY_EMPTY || now == VYRE_TOPOLOGY_MEMORY_CONSTRAINED) return now;
    switch (request->previous_topology) {
    case VYRE_TOPOLOGY_MEMORY_CONSTRAINED:
        keep = request->memory_pressure_bps + policy->memory_hysteresis_bps >= policy->memory_bps;
        break;
    case VYRE_TOPOLOGY_SPARSE:
        keep = density <= policy->sparse_bps + slack;
        break;
    case VYRE_TOPOLOGY_HYBRID:
        keep = now == VYRE_TOPOLOGY_SPARSE ? density + slack >= policy->sparse_bps
                                           : density <= policy->dense_bps + slack;
        break;
    case VYRE_TOPOLOGY_DENSE:
        keep = now == VYRE_TOPOLOGY_HYBRID && density + slack >= policy->dense_bps;
        break;
    case VYRE_TOPOLOGY_FUSED_DENSE:
        keep = now == VYRE_TOPOLOGY_HYBRID && density + slack >= policy->dense_bps &&
               policy_fuses(policy, request);
        break;
    default:
        break;
    }
    return keep ? request->previous_topology : now;
}

/* Workers and geometry.
 * ------------------------------------------------------------------------------ */

static inline uint32_t policy_shed_for_memory(const vyre_policy *policy, uint32_t pressure,
                                              uint32_t groups)
{
    uint32_t span = policy->memory_bps < VYRE_BPS ? VYRE_BPS - policy->memory_bps : 1;
    uint32_t over = pressure > policy->memory_bps ? pressure - policy->memory_bps : 0;
    uint32_t shed = policy->shed_bps +
                    (uint32_t)((uint64_t)policy_least(over, span) * policy->shed_more_bps / span);
    uint64_t kept = (uint64_t)groups * (VYRE_BPS - policy_least(shed, VYRE_BPS)) / VYRE_BPS;
    return policy_greatest((uint32_t)kept, 1);
}

static inline uint32_t policy_shed_for_sparse(const vyre_policy *policy, uint32_t density,
                                              uint32_t groups)
{
    uint32_t full = policy_greatest(policy->sparse_bps, 1);
    uint64_t kept = (uint64_t)groups * policy_least(density, full) / full;
    return policy_greatest(policy_least(groups, policy->sparse_workers), (uint32_t)kept);
}

/* The worker groups asked for, less what this topology sheds; 0 (derive them) and 1 stay. */
static inline uint32_t policy_shed(const vyre_policy *policy, const vyre_policy_request *request,
                                   uint32_t topology)
{
    uint32_t groups = request->requested_worker_groups;
    if (groups <= 1) return groups;
    if (topology == VYRE_TOPOLOGY_MEMORY_CONSTRAINED && request->memory_pressure_bps != 0)
        return policy_shed_for_memory(policy, request->memory_pressure_bps, groups);
    if (topology == VYRE_TOPOLOGY_SPARSE && request->graph_node_count != 0 &&
        request->frontier_density_bps != 0)
        return policy_shed_for_sparse(policy, request->frontier_density_bps, groups);
    return groups;
}

static inline uint32_t policy_default_groups(const vyre_policy *policy, uint32_t group_limit,
                                             uint32_t invocations)
{
    uint32_t groups = policy_greatest(group_limit / policy->group_divisor, 1);
    uint32_t floor = invocations >= policy->powerful_invocations ? policy->powerful_groups : 1;
    return policy_greatest(policy_least(groups, policy->max_groups), floor);
}

static inline uint32_t policy_workers(const vyre_policy *policy, const vyre_policy_request *request,
                                      uint32_t topology)
{
    uint32_t limit = request->max_compute_workgroups_per_dimension;
    uint32_t groups = policy_shed(policy, request, topology);
    if (groups == 0)
        groups =
            policy_default_groups(policy, limit, request->max_compute_invocations_per_workgroup);
    return policy_greatest(policy_least(groups, limit), 1);
}

/* Lanes of a workgroup: the rule takes the number of workers for it. */
static inline uint32_t policy_width(uint32_t workers, uint32_t most)
{
    return workers == 0 ? 1 : policy_least(workers, policy_greatest(most, 1));
}

/* Workgroups of this width for so many slots; width is not 0. */
static inline uint32_t policy_groups_for(uint32_t slots, uint32_t width)
{
    return policy_greatest(vyre_add_saturating_u32(slots, width - 1) / width, 1);
}

/* Slots in whole workgroups. The product fits: the sum above saturates, so it is at most the
 * greatest multiple of the width that 32 bits have, and then below `slots` where those need more.
 */
static inline uint32_t policy_padded(uint32_t slots, uint32_t width)
{
    width = policy_greatest(width, 1);
    return policy_groups_for(slots, width) * width;
}

static inline uint32_t policy_grid(const vyre_policy *policy, uint32_t workers, uint32_t slots,
                                   uint32_t width)
{
    uint32_t groups = policy_groups_for(slots, policy_greatest(width, 1));
    return policy_least(policy_least(groups, policy_greatest(workers, 1)), policy->max_groups);
}

static inline vyre_policy_geometry policy_geometry(const vyre_policy *policy, uint32_t slots,
                                                   uint32_t workers, uint32_t max_width)
{
    uint32_t width = policy_width(workers, max_width);
    uint32_t padded = policy_padded(slots, width);
    vyre_policy_geometry geometry = {
        width, padded, {policy_grid(policy, workers, padded, width), 1, 1}};
    return geometry;
}

/* Load, hits, memory, mode.
 * -------------------------------------------------------------------------- */

static inline uint32_t policy_pressure(const vyre_policy *policy,
                                       const vyre_policy_request *request,
                                       const vyre_policy_geometry *geometry)
{
    uint64_t lanes = (uint64_t)geometry->grid[0] * geometry->workgroup_size_x;
    if (lanes == 0) lanes = 1;
    if (request->queue_len == 0) return VYRE_PRESSURE_EMPTY;
    if (request->requeue_count > 0 ||
        request->queue_len >= vyre_mul_saturating_u64(lanes, policy->saturated_waves))
        return VYRE_PRESSURE_SATURATED;
    return request->queue_len >= lanes ? VYRE_PRESSURE_BALANCED : VYRE_PRESSURE_LIGHT;
}

/* UINT64_MAX stands for more than 64 bits. */
static inline uint64_t policy_hit_capacity(const vyre_policy *policy,
                                           const vyre_policy_request *request)
{
    if (request->requested_hit_capacity != 0) return request->requested_hit_capacity;
    uint64_t hits =
        (uint64_t)request->queue_len * policy_greatest(request->expected_hits_per_item, 1);
    hits = vyre_mul_saturating_u64(hits, policy_memory_short(policy, request)
                                             ? policy->hit_multiplier_pressed
                                             : policy->hit_multiplier);
    return hits > policy->min_hit_capacity ? hits : policy->min_hit_capacity;
}

/* False where the sum does not fit. */
static inline bool policy_peak(const vyre_policy *policy, const vyre_policy_request *request,
                               uint32_t hit_capacity, uint64_t *bytes)
{
    uint64_t hits = (uint64_t)hit_capacity * policy->hit_bytes;
    if (hits > UINT64_MAX - request->resident_device_bytes) return false;
    *bytes = request->resident_device_bytes + hits;
    return true;
}

static inline uint32_t policy_mode(const vyre_policy *policy, const vyre_policy_request *request,
                                   uint32_t topology)
{
    return request->queue_len >= policy->jit_queue_len || policy_hot_opcodes(policy, request) ||
                   policy_hot_windows(policy, request) || topology == VYRE_TOPOLOGY_FUSED_DENSE
               ? VYRE_EXECUTION_JIT
               : VYRE_EXECUTION_INTERPRETER;
}

static inline bool policy_ages(const vyre_policy *policy, const vyre_policy_request *request)
{
    return request->requeue_count > 0 || request->max_priority_age >= policy->priority_age;
}

#endif
