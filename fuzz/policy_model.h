/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The launch policy a second time, written from the tables of docs/telemetry.md alone: wide exact
 * arithmetic instead of saturating one, rows of conditions instead of a switch. An oracle for the
 * checks; it shares no code with the library.
 */
#ifndef VYRE_FUZZ_POLICY_MODEL_H
#define VYRE_FUZZ_POLICY_MODEL_H

#include <stdbool.h>

#include "vyre/vyre.h"

__extension__ typedef __int128 model_int; /* wide enough for every product here */

struct policy_model {
    vyre_policy_request request; /* inferred */
    model_int topology, workers, width, slots, grid, lanes, pressure, hits, peak, mode;
    bool opcodes, windows, ages;
};

static inline model_int model_max(model_int a, model_int b)
{
    return a > b ? a : b;
}

static inline model_int model_min(model_int a, model_int b)
{
    return a < b ? a : b;
}

static inline void model_infer(vyre_policy_request *r)
{
    model_int queue = r->queue_len, nodes = r->graph_node_count;
    model_int resident = (model_int)r->resident_device_bytes;
    model_int budget = (model_int)r->device_memory_budget_bytes;
    if (r->frontier_density_bps == 0 && queue != 0 && nodes != 0)
        r->frontier_density_bps =
            (uint16_t)model_min(10000, model_max(1, model_min(queue, nodes) * 10000 / nodes));
    if (r->memory_pressure_bps == 0 && budget != 0 && resident != 0)
        r->memory_pressure_bps = (uint16_t)model_min(10000, resident * 10000 / budget);
}

static inline model_int model_topology_now(const vyre_policy *p, const struct policy_model *m)
{
    const vyre_policy_request *r = &m->request;
    bool dense = r->frontier_density_bps >= p->dense_bps;
    const struct {
        bool fits;
        int topology;
    } rows[] = {
        {r->queue_len == 0, VYRE_TOPOLOGY_EMPTY},
        {r->memory_pressure_bps >= p->memory_bps, VYRE_TOPOLOGY_MEMORY_CONSTRAINED},
        {r->frontier_density_bps <= p->sparse_bps, VYRE_TOPOLOGY_SPARSE},
        {dense && r->graph_node_count > 0 && r->graph_edge_count >= p->fusion_edges &&
             (m->opcodes || m->windows),
         VYRE_TOPOLOGY_FUSED_DENSE},
        {dense, VYRE_TOPOLOGY_DENSE},
        {true, VYRE_TOPOLOGY_HYBRID},
    };
    size_t i = 0;
    while (!rows[i].fits)
        i++;
    return rows[i].topology;
}

static inline model_int model_topology(const vyre_policy *p, const struct policy_model *m)
{
    const vyre_policy_request *r = &m->request;
    model_int now = model_topology_now(p, m), was = r->previous_topology;
    model_int density = r->frontier_density_bps, memory = r->memory_pressure_bps;
    /* Thresholds moved by the hysteresis stay within 16 bits. */
    model_int slack = p->frontier_hysteresis_bps;
    model_int sparse_low = model_max(0, p->sparse_bps - slack);
    model_int sparse_high = model_min(65535, p->sparse_bps + slack);
    model_int dense_low = model_max(0, p->dense_bps - slack);
    model_int dense_high = model_min(65535, p->dense_bps + slack);
    model_int memory_low = model_max(0, (model_int)p->memory_bps - p->memory_hysteresis_bps);
    bool now_dense = now == VYRE_TOPOLOGY_DENSE || now == VYRE_TOPOLOGY_FUSED_DENSE;
    bool fuses = r->graph_edge_count >= p->fusion_edges && (m->opcodes || m->windows);
    const struct {
        int previous;
        bool kept;
    } rows[] = {
        {VYRE_TOPOLOGY_MEMORY_CONSTRAINED, memory >= memory_low},
        {VYRE_TOPOLOGY_SPARSE, now != VYRE_TOPOLOGY_SPARSE && density <= sparse_high},
        {VYRE_TOPOLOGY_HYBRID, now == VYRE_TOPOLOGY_SPARSE && density >= sparse_low},
        {VYRE_TOPOLOGY_HYBRID, now_dense && density <= dense_high},
        {VYRE_TOPOLOGY_DENSE, now == VYRE_TOPOLOGY_HYBRID && density >= dense_low},
        {VYRE_TOPOLOGY_FUSED_DENSE, now == VYRE_TOPOLOGY_HYBRID && density >= dense_low && fuses},
    };
    if (now == VYRE_TOPOLOGY_EMPTY || now == VYRE_TOPOLOGY_MEMORY_CONSTRAINED) return now;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].previous == was && rows[i].kept) return was;
    return now;
}

static inline model_int model_shed(const vyre_policy *p, const struct policy_model *m)
{
    const vyre_policy_request *r = &m->request;
    model_int groups = r->requested_worker_groups;
    model_int memory = r->memory_pressure_bps, density = r->frontier_density_bps;
    if (groups <= 1) return groups;
    if (m->topology == VYRE_TOPOLOGY_MEMORY_CONSTRAINED && memory != 0) {
        model_int span = model_max(1, 10000 - (model_int)p->memory_bps);
        model_int over = model_min(span, model_max(0, memory - p->memory_bps));
        model_int shed = p->shed_bps + over * p->shed_more_bps / span;
        return model_max(1, groups * model_max(0, 10000 - shed) / 10000);
    }
    if (m->topology == VYRE_TOPOLOGY_SPARSE && r->graph_node_count != 0 && density != 0) {
        model_int full = model_max(1, p->sparse_bps);
        model_int part = groups * model_min(model_max(density, 1), full) / full;
        return model_min(groups, model_max(model_min(groups, p->sparse_workers), part));
    }
    return groups;
}

static inline model_int model_workers(const vyre_policy *p, const struct policy_model *m)
{
    const vyre_policy_request *r = &m->request;
    model_int limit = r->max_compute_workgroups_per_dimension, groups = model_shed(p, m);
    if (groups == 0) {
        groups = model_min(p->max_groups, model_max(1, limit / p->group_divisor));
        if (r->max_compute_invocations_per_workgroup >= p->powerful_invocations)
            groups = model_max(groups, p->powerful_groups);
    }
    return model_max(1, model_min(groups, limit));
}

/* Everything that cannot fail; what does not fit is seen by its size. */
static inline void model_evaluate(const vyre_policy *p, struct policy_model *m)
{
    vyre_policy_request *r = &m->request;
    model_infer(r);
    m->opcodes = r->hot_opcode_count >= p->hot_opcodes;
    m->windows = r->hot_window_count >= p->hot_windows;
    m->ages = r->requeue_count > 0 || r->max_priority_age >= p->priority_age;
    m->topology = model_topology(p, m);
    m->workers = model_workers(p, m);

    model_int items = model_max(1, r->queue_len);
    m->width = model_min(m->workers, model_max(1, r->max_workgroup_size_x));
    m->slots = (items + m->width - 1) / m->width * m->width;
    m->grid = model_min(model_min(m->slots / m->width, m->workers), p->max_groups);
    m->lanes = m->grid * m->width;
    m->pressure = r->queue_len == 0                                                ? 0
                  : r->requeue_count > 0 || items >= p->saturated_waves * m->lanes ? 3
                  : items >= m->lanes                                              ? 2
                                                                                   : 1;
    bool pressed = r->memory_pressure_bps >= p->memory_bps;
    m->hits = (model_int)r->queue_len * model_max(1, r->expected_hits_per_item) *
              (pressed ? p->hit_multiplier_pressed : p->hit_multiplier);
    m->hits = r->requested_hit_capacity ? (model_int)r->requested_hit_capacity
                                        : model_max(p->min_hit_capacity, m->hits);
    m->peak = (model_int)r->resident_device_bytes + model_min(m->hits, UINT32_MAX) * p->hit_bytes;
    m->mode = r->queue_len >= p->jit_queue_len || m->opcodes || m->windows ||
              m->topology == VYRE_TOPOLOGY_FUSED_DENSE;
}

static inline vyre_status model_status(const struct policy_model *m)
{
    const vyre_policy_request *r = &m->request;
    model_int budget = (model_int)r->device_memory_budget_bytes;
    if (r->max_workgroup_size_x == 0 || r->max_compute_workgroups_per_dimension == 0 ||
        r->max_compute_invocations_per_workgroup == 0)
        return VYRE_E_RANGE;
    if (m->slots > UINT32_MAX || m->hits > UINT32_MAX || m->peak > UINT64_MAX)
        return VYRE_E_OVERFLOW;
    return budget != 0 && m->peak > budget ? VYRE_E_POLICY_BUDGET : VYRE_OK;
}

static inline vyre_policy_advice model_advice(const struct policy_model *m)
{
    vyre_policy_advice a = VYRE_POLICY_ADVICE_INIT;
    a.worker_groups = (uint32_t)m->workers;
    a.geometry.workgroup_size_x = (uint32_t)m->width;
    a.geometry.slot_count = (uint32_t)m->slots;
    a.geometry.grid[0] = (uint32_t)m->grid;
    a.geometry.grid[1] = a.geometry.grid[2] = 1;
    a.hit_capacity = (uint32_t)m->hits;
    a.pressure = (uint32_t)m->pressure;
    a.execution_mode = (uint32_t)m->mode;
    a.topology = (uint32_t)m->topology;
    a.promote_hot_opcodes = m->opcodes;
    a.promote_hot_windows = m->windows;
    a.age_priority_work = m->ages;
    a.estimated_peak_device_bytes = (uint64_t)m->peak;
    a.device_memory_budget_bytes = m->request.device_memory_budget_bytes;
    return a;
}

#endif
