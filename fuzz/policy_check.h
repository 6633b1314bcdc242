/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any request and any constants, chosen by the bytes of an input: advice and
 * steps are those of policy_model.h, and a refused call has changed nothing.
 */
#ifndef VYRE_FUZZ_POLICY_CHECK_H
#define VYRE_FUZZ_POLICY_CHECK_H

#include "policy_model.h"
#include "telemetry_reader.h"

/* How many inputs ended with which status; a test looks whether all of them came. */
static struct {
    uint64_t advised, range, overflow, budget, constants, by_topology[7], by_pressure[4];
} policy_seen;

static inline vyre_policy_request take_request(struct reader *in)
{
    vyre_policy_request r = VYRE_POLICY_REQUEST_INIT;
    r.queue_len = take_u32(in);
    r.requested_worker_groups = take_u32(in);
    r.max_workgroup_size_x = take_u32(in);
    r.max_compute_workgroups_per_dimension = take_u32(in);
    r.max_compute_invocations_per_workgroup = take_u32(in);
    /* Limits of 0 are refused at once: most of them are to get further. */
    uint8_t limits = take_byte(in);
    if (limits & 7) r.max_workgroup_size_x |= 1;
    if (limits & 7) r.max_compute_workgroups_per_dimension |= 1;
    if (limits & 7) r.max_compute_invocations_per_workgroup |= 1;
    r.requested_hit_capacity = limits & 8 ? take_u32(in) : 0;
    r.expected_hits_per_item = take_u32(in);
    r.hot_opcode_count = take_u32(in);
    r.hot_window_count = take_u32(in);
    r.max_priority_age = take_u32(in);
    r.graph_node_count = take_u32(in);
    r.graph_edge_count = take_u32(in);
    r.frontier_density_bps = take_u16(in);
    r.memory_pressure_bps = take_u16(in);
    r.requeue_count = take_u64(in);
    r.resident_device_bytes = take_u64(in);
    r.device_memory_budget_bytes = limits & 16 ? take_u64(in) : 0;
    r.previous_topology = take_byte(in) % 7;
    return r;
}

/* Whether a constant lies outside its range. */
static inline bool policy_is_strange(const vyre_policy *policy)
{
    vyre_policy_row row;
    uint32_t value = 0;
    for (uint32_t i = 0; i < VYRE_POLICY_CONSTANTS; i++) {
        REQUIRE(vyre_policy_describe(i, &row, NULL) == VYRE_OK);
        REQUIRE(vyre_policy_get(policy, i, &value, NULL) == VYRE_OK);
        if (value < row.least || value > row.most) return true;
    }
    return false;
}

/* Some constants changed, now and then behind the setter's back. */
static inline void take_constants(struct reader *in, vyre_policy *policy)
{
    vyre_policy_row row;
    REQUIRE(vyre_policy_standard(policy, NULL) == VYRE_OK);
    for (uint8_t changes = take_byte(in) % 8; changes > 0; changes--) {
        uint32_t constant = take_byte(in) % VYRE_POLICY_CONSTANTS, value = take_u32(in), now = 0;
        vyre_policy before = *policy;
        REQUIRE(vyre_policy_describe(constant, &row, NULL) == VYRE_OK);
        bool allowed = value >= row.least && value <= row.most;
        REQUIRE(vyre_policy_set(policy, constant, value, NULL) ==
                (allowed ? VYRE_OK : VYRE_E_RANGE));
        if (!allowed) REQUIRE(memcmp(&before, policy, sizeof before) == 0);
        REQUIRE(vyre_policy_get(policy, constant, &now, NULL) == VYRE_OK);
        if (allowed) REQUIRE(now == value);
        if (!allowed && take_byte(in) % 8 == 7)
            memcpy((unsigned char *)policy + 4 * (constant + 1), &value, sizeof value);
    }
}

/* A step that was asked for a number of 32 bits. */
#define CHECK_STEP(call, expected_status, expected)                                                \
    do {                                                                                           \
        uint32_t step = 0x5A5A5A5Au;                                                               \
        vyre_status wanted = (expected_status);                                                    \
        REQUIRE((call) == wanted);                                                                 \
        REQUIRE(step == (wanted ? 0x5A5A5A5Au : (uint32_t)(expected)));                            \
    } while (0)

static inline void check_policy_steps(const vyre_policy *p, const vyre_policy_request *r,
                                      const struct policy_model *m, vyre_error *err)
{
    vyre_policy_request inferred;
    vyre_policy_geometry geometry;
    uint64_t peak = 0;
    uint32_t windows = 2;
    bool limits = r->max_workgroup_size_x != 0 && r->max_compute_workgroups_per_dimension != 0 &&
                  r->max_compute_invocations_per_workgroup != 0;
    vyre_status workers = limits ? VYRE_OK : VYRE_E_RANGE;
    vyre_status geometries = !limits                 ? VYRE_E_RANGE
                             : m->slots > UINT32_MAX ? VYRE_E_OVERFLOW
                                                     : VYRE_OK;
    vyre_status hits = m->hits > UINT32_MAX ? VYRE_E_OVERFLOW : VYRE_OK;
    vyre_status peaks = hits || m->peak > UINT64_MAX ? VYRE_E_OVERFLOW : VYRE_OK;
    REQUIRE(vyre_policy_infer(r, &inferred, err) == VYRE_OK);
    REQUIRE(memcmp(&inferred, &m->request, sizeof inferred) == 0);
    CHECK_STEP(vyre_policy_topology(p, r, &step, err), VYRE_OK, m->topology);
    CHECK_STEP(vyre_policy_workers(p, r, &step, err), workers, m->workers);
    CHECK_STEP(vyre_policy_pressure(p, r, &step, err), geometries, m->pressure);
    CHECK_STEP(vyre_policy_hit_capacity(p, r, &step, err), hits, m->hits);
    CHECK_STEP(vyre_policy_mode(p, r, &step, err), VYRE_OK, m->mode);
    CHECK_STEP(vyre_policy_ages(p, r, &step, err), VYRE_OK, m->ages);
    CHECK_STEP(vyre_policy_promotes(p, r, &step, &windows, err), VYRE_OK, m->opcodes);
    REQUIRE(windows == m->windows);
    CHECK_MARK(geometry);
    REQUIRE(vyre_policy_geometry_of(p, r, &geometry, err) == geometries);
    if (geometries) REQUIRE(CHECK_UNTOUCHED(geometry));
    if (!geometries)
        REQUIRE(geometry.workgroup_size_x == m->width && geometry.slot_count == m->slots &&
                geometry.grid[0] == m->grid && geometry.grid[1] == 1 && geometry.grid[2] == 1);
    REQUIRE(vyre_policy_peak(p, r, &peak, err) == peaks);
    REQUIRE(peak == (peaks ? 0 : (uint64_t)m->peak));
}

static inline void count_policy(vyre_status status, const vyre_policy_advice *advice)
{
    policy_seen.advised += status == VYRE_OK;
    policy_seen.range += status == VYRE_E_RANGE;
    policy_seen.overflow += status == VYRE_E_OVERFLOW;
    policy_seen.budget += status == VYRE_E_POLICY_BUDGET;
    if (status) return;
    policy_seen.by_topology[advice->topology]++;
    policy_seen.by_pressure[advice->pressure]++;
}

static inline void check_policy(const uint8_t *data, size_t size)
{
    struct reader in = {data, size, 0};
    vyre_error *err = check_err(data, size);
    vyre_policy policy;
    struct policy_model model;
    vyre_policy_advice advice = VYRE_POLICY_ADVICE_INIT, before, expected;
    bool standard = take_byte(&in) % 2 == 0;
    vyre_policy_request request = take_request(&in), asked = request;
    take_constants(&in, &policy);
    if (standard) REQUIRE(vyre_policy_standard(&policy, NULL) == VYRE_OK);
    const vyre_policy *given = standard ? NULL : &policy;

    memset((unsigned char *)&advice + 4, 0x5A, sizeof advice - 4);
    before = advice;
    vyre_status status = vyre_policy_recommend(given, &request, &advice, err);
    if (!standard && policy_is_strange(&policy)) {
        policy_seen.constants++;
        REQUIRE(status == VYRE_E_RANGE && memcmp(&advice, &before, sizeof advice) == 0);
        return;
    }
    model.request = request;
    model_evaluate(&policy, &model);
    REQUIRE(status == model_status(&model));
    expected = status ? before : model_advice(&model);
    REQUIRE(memcmp(&advice, &expected, sizeof advice) == 0);
    REQUIRE(memcmp(&request, &asked, sizeof request) == 0);
    check_policy_steps(given, &request, &model, err);
    count_policy(status, &advice);
}

#endif
