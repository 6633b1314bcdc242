/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The launch policy: worked examples of its rules, hysteresis, shedding, sizes, values at their
 * ends, refusals, and its table of constants. t_policy_random.c has the random ones.
 */
#include "telemetry/policy_rules.h"
#include "wire_test.h"

static vyre_policy_request direct(uint32_t queue_len, uint32_t groups, uint32_t width)
{
    vyre_policy_request request;
    if (vyre_policy_direct(&request, queue_len, groups, width, &err)) bail("%s", err.message);
    return request;
}

static vyre_policy_advice advice_of(const vyre_policy_request *request)
{
    vyre_policy_advice advice = VYRE_POLICY_ADVICE_INIT;
    memset((unsigned char *)&advice + 4, 0x5A, sizeof advice - 4);
    if (vyre_policy_recommend(NULL, request, &advice, &err))
        ok(0, "no advice: %s: %s", vyre_status_name(err.status), err.message);
    return advice;
}

/* Width, slots and grid. */
static void is_geometry(const vyre_policy_advice *advice, uint32_t width, uint32_t slots,
                        uint32_t grid, const char *what)
{
    is_u64(advice->geometry.workgroup_size_x, width, "%s: width", what);
    is_u64(advice->geometry.slot_count, slots, "%s: slots", what);
    is_u64(advice->geometry.grid[0], grid, "%s: grid", what);
    ok(advice->geometry.grid[1] == 1 && advice->geometry.grid[2] == 1, "%s: one by one", what);
}

static void is_classes(const vyre_policy_advice *advice, uint32_t topology, uint32_t pressure,
                       uint32_t mode, const char *what)
{
    is_str(vyre_topology_name(advice->topology), vyre_topology_name(topology), "%s: topology",
           what);
    is_str(vyre_pressure_name(advice->pressure), vyre_pressure_name(pressure), "%s: pressure",
           what);
    is_str(vyre_execution_mode_name(advice->execution_mode), vyre_execution_mode_name(mode),
           "%s: mode", what);
}

static void examples_a_and_b(void)
{
    vyre_policy_request request = direct(300, 64, 256);
    request.expected_hits_per_item = 3;
    vyre_policy_advice advice = advice_of(&request);
    is_geometry(&advice, 64, 320, 5, "A");
    is_classes(&advice, VYRE_TOPOLOGY_SPARSE, VYRE_PRESSURE_LIGHT, VYRE_EXECUTION_INTERPRETER, "A");
    is_u64(advice.hit_capacity, 1800, "A: hits");
    is_u64(advice.estimated_peak_device_bytes, 28800, "A: peak");
    is_u64(advice.worker_groups, 64, "A: workers");
    ok(!advice.promote_hot_opcodes && !advice.promote_hot_windows && !advice.age_priority_work,
       "A: no flag");

    request = direct(8192, 64, 256);
    request.hot_opcode_count = 8;
    request.requeue_count = 1;
    request.max_priority_age = 64;
    advice = advice_of(&request);
    is_geometry(&advice, 64, 8192, 64, "B");
    is_classes(&advice, VYRE_TOPOLOGY_SPARSE, VYRE_PRESSURE_SATURATED, VYRE_EXECUTION_JIT, "B");
    is_u64(advice.hit_capacity, 16384, "B: hits");
    ok(advice.promote_hot_opcodes == 1 && !advice.promote_hot_windows, "B: opcodes are promoted");
    ok(advice.age_priority_work == 1, "B: work ages");
}

static void examples_c_and_d(void)
{
    vyre_policy_request request = direct(1024, 128, 256), inferred;
    request.resident_device_bytes = 900000;
    request.device_memory_budget_bytes = 1000000;
    works(vyre_policy_infer(&request, &inferred, &err));
    is_u64(inferred.memory_pressure_bps, 9000, "C: memory pressure");
    vyre_policy_advice advice = advice_of(&request);
    is_u64(advice.worker_groups, 85, "C: workers");
    is_geometry(&advice, 85, 1105, 13, "C");
    is_str(vyre_topology_name(advice.topology), "memory_constrained", "C: topology");
    is_u64(advice.hit_capacity, 1024, "C: hits");
    is_u64(advice.estimated_peak_device_bytes, 916384, "C: peak");
    is_u64(advice.device_memory_budget_bytes, 1000000, "C: budget");

    uint64_t peak = 0;
    request = direct(1024, 64, 256);
    request.expected_hits_per_item = 4;
    request.resident_device_bytes = 1024;
    request.device_memory_budget_bytes = 65536;
    watch(&advice, sizeof advice);
    refused(VYRE_E_POLICY_BUDGET, vyre_policy_recommend(NULL, &request, &advice, &err));
    ok(strstr(err.message, "132096") && strstr(err.message, "65536"), "D: %s", err.message);
    watch_nothing();
    works(vyre_policy_peak(NULL, &request, &peak, &err));
    is_u64(peak, 132096, "D: the peak by itself");
    request.device_memory_budget_bytes = 132096;
    advice = advice_of(&request);
    is_u64(advice.estimated_peak_device_bytes, 132096, "D: a budget that is just enough");
}

static void examples_e_and_f(void)
{
    vyre_policy_request request = direct(100000, 256, 256);
    request.graph_node_count = 1000000;
    request.frontier_density_bps = 100;
    vyre_policy_advice advice = advice_of(&request);
    is_u64(advice.worker_groups, 51, "E: workers");
    is_geometry(&advice, 51, 100011, 51, "E");
    is_classes(&advice, VYRE_TOPOLOGY_SPARSE, VYRE_PRESSURE_SATURATED, VYRE_EXECUTION_JIT, "E");
    request.queue_len = 1000;
    request.frontier_density_bps = 1;
    advice = advice_of(&request);
    is_u64(advice.worker_groups, 32, "E: a sparse frontier keeps 32 workers");

    request = direct(131072, 256, 256);
    request.graph_node_count = 32768;
    request.graph_edge_count = 500000;
    request.frontier_density_bps = 7500;
    request.hot_window_count = 4;
    advice = advice_of(&request);
    is_classes(&advice, VYRE_TOPOLOGY_FUSED_DENSE, advice.pressure, VYRE_EXECUTION_JIT, "F");
    ok(advice.promote_hot_windows == 1 && !advice.promote_hot_opcodes, "F: windows are promoted");
    request.frontier_density_bps = 3875;
    request.previous_topology = advice.topology;
    advice = advice_of(&request);
    is_str(vyre_topology_name(advice.topology), "fused_dense", "F: it stays at 3875");
    request.previous_topology = VYRE_TOPOLOGY_NONE;
    advice = advice_of(&request);
    is_str(vyre_topology_name(advice.topology), "hybrid", "F: without a previous one");
}

/* Every edge of every row of the hysteresis table. */
static void hysteresis(void)
{
    enum { N, E, S, H, D, F, M };
    static const struct {
        uint16_t density, memory;
        uint32_t edges, hot, previous, expected;
    } rows[] = {
        {625, 0, 0, 0, N, H},         {625, 0, 0, 0, S, S},      {800, 0, 0, 0, S, H},
        {375, 0, 0, 0, H, H},         {4125, 0, 0, 0, H, H},     {9000, 8375, 0, 0, M, M},
        {750, 0, 0, 0, S, S},         {751, 0, 0, 0, S, H},      {500, 0, 0, 0, H, H},
        {250, 0, 0, 0, H, H},         {249, 0, 0, 0, H, S},      {500, 0, 0, 0, N, S},
        {501, 0, 0, 0, N, H},         {4250, 0, 0, 0, H, H},     {4251, 0, 0, 0, H, D},
        {4251, 0, 65536, 8, H, F},    {3999, 0, 0, 0, N, H},     {4000, 0, 0, 0, N, D},
        {3750, 0, 0, 0, D, D},        {3749, 0, 0, 0, D, H},     {400, 0, 0, 0, D, S},
        {3750, 0, 65536, 8, F, F},    {3749, 0, 65536, 8, F, H}, {3750, 0, 65535, 8, F, H},
        {3750, 0, 65536, 7, F, H},    {4000, 0, 65536, 7, F, D}, {4000, 0, 65536, 8, D, F},
        {9000, 8250, 0, 0, M, M},     {9000, 8249, 0, 0, M, D},  {9000, 8499, 0, 0, N, D},
        {9000, 8500, 0, 0, N, M},     {9000, 8500, 0, 0, S, M},  {625, 0, 0, 0, E, H},
        {0, 0, 0, 0, N, S},           {65535, 0, 0, 0, S, D},    {65535, 65535, 0, 0, D, M},
        {9000, 8250, 65536, 8, F, F}, {625, 8250, 0, 0, S, S},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        vyre_policy_request request = direct(16384, 128, 256);
        uint32_t topology = 0;
        request.graph_node_count = 1;
        request.frontier_density_bps = rows[i].density;
        request.memory_pressure_bps = rows[i].memory;
        request.graph_edge_count = rows[i].edges;
        request.hot_opcode_count = rows[i].hot;
        request.previous_topology = rows[i].previous;
        if (rows[i].density == 0) request.graph_node_count = 0;
        if (vyre_policy_topology(NULL, &request, &topology, &err)) bail("%s", err.message);
        is_str(vyre_topology_name(topology), vyre_topology_name(rows[i].expected),
               "density %u, memory %u, %u edges, %u hot, after %s", rows[i].density, rows[i].memory,
               rows[i].edges, rows[i].hot, vyre_topology_name(rows[i].previous));
    }
    vyre_policy_request request = direct(16384, 128, 256);
    request.frontier_density_bps = 9000;
    request.memory_pressure_bps = 8375;
    request.previous_topology = VYRE_TOPOLOGY_MEMORY_CONSTRAINED;
    vyre_policy_advice advice = advice_of(&request);
    is_u64(advice.worker_groups, 96, "held at 8375: 96 of 128 workers");
    is_u64(advice.hit_capacity, 32768, "and hits as if memory were not short");
    request.queue_len = 0;
    advice = advice_of(&request);
    is_classes(&advice, VYRE_TOPOLOGY_EMPTY, VYRE_PRESSURE_EMPTY, VYRE_EXECUTION_INTERPRETER,
               "no queue");
    is_geometry(&advice, 128, 128, 1, "no queue");
    is_u64(advice.hit_capacity, 1024, "no queue: hits");
}

static void shedding(void)
{
    static const struct {
        uint16_t memory;
        uint32_t requested, expected;
    } rows[] = {{8500, 1000, 750},
                {9000, 1000, 666},
                {10000, 1000, 500},
                {65535, 1000, 500},
                {8500, 2, 1},
                {8500, 1, 1},
                {10000, 0xFFFFFFFFu, 2147483647u}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        vyre_policy_request request = direct(64, rows[i].requested, 256);
        uint32_t groups = 0;
        request.memory_pressure_bps = rows[i].memory;
        works(vyre_policy_workers(NULL, &request, &groups, &err));
        is_u64(groups, rows[i].expected, "%u workers at %u", rows[i].requested, rows[i].memory);
    }
    vyre_policy_request request = direct(64, 64, 256);
    uint32_t groups = 0;
    request.memory_pressure_bps = 9000;
    request.requested_worker_groups = 0;
    request.max_compute_workgroups_per_dimension = 65535;
    works(vyre_policy_workers(NULL, &request, &groups, &err));
    is_u64(groups, 255, "derived workers are not shed");
    request = direct(64, 200, 256);
    request.frontier_density_bps = 100;
    works(vyre_policy_workers(NULL, &request, &groups, &err));
    is_u64(groups, 200, "nor those of a sparse frontier without nodes");
    request.graph_node_count = 5;
    works(vyre_policy_workers(NULL, &request, &groups, &err));
    is_u64(groups, 40, "with nodes they are");
    request.frontier_density_bps = 700;
    request.previous_topology = VYRE_TOPOLOGY_SPARSE;
    works(vyre_policy_workers(NULL, &request, &groups, &err));
    is_u64(groups, 200, "held above the threshold: all stay");
}

static void sizes(void)
{
    vyre_policy policy;
    vyre_policy_geometry geometry;
    uint32_t groups = 0;
    works(vyre_policy_standard(&policy, &err));
    vyre_policy_request request = direct(1, 1000, 256);
    works(vyre_policy_geometry_of(NULL, &request, &geometry, &err));
    ok(geometry.workgroup_size_x == 256 && geometry.slot_count == 256 && geometry.grid[0] == 1,
       "one item, 1000 workers, at most 256 lanes");
    is_u64(policy_grid(&policy, 2, 4096, 64), 2, "grid of 2 workers");
    is_u64(policy_grid(&policy, 0, 0, 0), 1, "a grid is 1 at least");
    is_u64(policy_grid(&policy, 5000, UINT32_MAX, 1), 1024, "and 1024 at most");
    is_u64(policy_width(0, 256), 1, "width without workers");
    is_u64(policy_width(7, 0), 1, "width without lanes");
    is_u64(policy_padded(0, 0), 1, "padded: nothing");
    is_u64(policy_padded(65, 64), 128, "padded: one over");
    is_u64(policy_padded(UINT32_MAX, 64), 4294967232u, "padded: the greatest multiple");
    is_u64(policy_padded(UINT32_MAX, UINT32_MAX), UINT32_MAX, "padded: one group of all");
    static const uint32_t limits[][3] = {{65535, 1024, 255},       {65536, 4096, 256},
                                         {2147483647, 1024, 1024}, {1, 1, 1},
                                         {255, 4096, 64},          {63, 4096, 63}};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        request = direct(1, limits[i][0], 256);
        request.requested_worker_groups = 0;
        request.max_compute_invocations_per_workgroup = limits[i][1];
        works(vyre_policy_workers(NULL, &request, &groups, &err));
        is_u64(groups, limits[i][2], "derived from %u groups and %u invocations", limits[i][0],
               limits[i][1]);
    }
}

/* Values at their ends. */
static void ends(void)
{
    vyre_policy_request request = direct(UINT32_MAX, 1, 1);
    request.expected_hits_per_item = 0;
    request.requested_hit_capacity = UINT32_MAX;
    request.requeue_count = UINT64_MAX;
    request.max_priority_age = UINT32_MAX;
    request.hot_opcode_count = request.hot_window_count = UINT32_MAX;
    request.graph_node_count = request.graph_edge_count = UINT32_MAX;
    request.frontier_density_bps = request.memory_pressure_bps = UINT16_MAX;
    request.resident_device_bytes = UINT64_MAX - 16 * UINT64_C(0xFFFFFFFF);
    vyre_policy_advice advice = advice_of(&request);
    is_geometry(&advice, 1, UINT32_MAX, 1, "greatest values");
    is_u64(advice.estimated_peak_device_bytes, UINT64_MAX, "greatest values: peak");
    watch(&advice, sizeof advice);
    request.resident_device_bytes++;
    refused(VYRE_E_OVERFLOW, vyre_policy_recommend(NULL, &request, &advice, &err));
    request.resident_device_bytes = 0;
    request.requested_hit_capacity = 0;
    advice = advice_of(&request);
    is_u64(advice.hit_capacity, UINT32_MAX, "one hit an item while memory is short");
    request.memory_pressure_bps = 8499;
    refused(VYRE_E_OVERFLOW, vyre_policy_recommend(NULL, &request, &advice, &err));
    request.expected_hits_per_item = UINT32_MAX;
    refused(VYRE_E_OVERFLOW, vyre_policy_recommend(NULL, &request, &advice, &err));
    request = direct(UINT32_MAX, 64, 64);
    request.requested_hit_capacity = 1;
    refused(VYRE_E_OVERFLOW, vyre_policy_recommend(NULL, &request, &advice, &err));
    ok(strstr(err.message, "4294967295 items in workgroups of 64"), "%s", err.message);
    request.queue_len = 4294967232u;
    advice = advice_of(&request);
    is_u64(advice.geometry.slot_count, 4294967232u, "the last multiple fits");
    watch_nothing();

    vyre_policy_request inferred;
    request = direct(1, 64, 64);
    request.graph_node_count = UINT32_MAX;
    request.resident_device_bytes = UINT64_MAX;
    request.device_memory_budget_bytes = UINT64_MAX;
    works(vyre_policy_infer(&request, &inferred, &err));
    is_u64(inferred.frontier_density_bps, 1, "a density is inferred as 1 at least");
    is_u64(inferred.memory_pressure_bps, 10000, "all memory");
    request.queue_len = UINT32_MAX;
    request.graph_node_count = 1;
    request.resident_device_bytes = UINT64_MAX / 2;
    works(vyre_policy_infer(&request, &inferred, &err));
    is_u64(inferred.frontier_density_bps, 10000, "and as 10000 at most");
    is_u64(inferred.memory_pressure_bps, 4999, "half of it, rounded down");
    request.resident_device_bytes = 1;
    works(vyre_policy_infer(&request, &inferred, &err));
    is_u64(inferred.memory_pressure_bps, 0, "next to nothing is 0");
    request.device_memory_budget_bytes = 0;
    works(vyre_policy_infer(&request, &inferred, &err));
    is_u64(inferred.memory_pressure_bps, 0, "no budget, no pressure");
}

static void thresholds(void)
{
    static const struct {
        uint32_t queue, requeue, expected;
    } rows[] = {{0, 1, VYRE_PRESSURE_EMPTY},        {1, 0, VYRE_PRESSURE_LIGHT},
                {4095, 0, VYRE_PRESSURE_LIGHT},     {4096, 0, VYRE_PRESSURE_BALANCED},
                {16383, 0, VYRE_PRESSURE_BALANCED}, {16384, 0, VYRE_PRESSURE_SATURATED},
                {1, 1, VYRE_PRESSURE_SATURATED}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        vyre_policy_geometry geometry = {64, 4096, {64, 1, 1}};
        vyre_policy_request request = direct(rows[i].queue, 64, 64);
        vyre_policy policy;
        request.requeue_count = rows[i].requeue;
        if (vyre_policy_standard(&policy, &err)) bail("%s", err.message);
        is_str(vyre_pressure_name(policy_pressure(&policy, &request, &geometry)),
               vyre_pressure_name(rows[i].expected), "%u items for 4096 lanes", rows[i].queue);
    }
    uint32_t mode = 9, ages = 9, opcodes = 9, windows = 9;
    vyre_policy_request request = direct(4095, 64, 64);
    works(vyre_policy_mode(NULL, &request, &mode, &err));
    is_u64(mode, VYRE_EXECUTION_INTERPRETER, "4095 items");
    request.queue_len = 4096;
    works(vyre_policy_mode(NULL, &request, &mode, &err));
    is_u64(mode, VYRE_EXECUTION_JIT, "4096 items");
    request.max_priority_age = 31;
    request.hot_opcode_count = 7;
    request.hot_window_count = 3;
    works(vyre_policy_ages(NULL, &request, &ages, &err));
    works(vyre_policy_promotes(NULL, &request, &opcodes, &windows, &err));
    ok(ages == 0 && opcodes == 0 && windows == 0, "just below the thresholds");
    request.max_priority_age = 32;
    request.hot_opcode_count = 8;
    request.hot_window_count = 4;
    works(vyre_policy_ages(NULL, &request, &ages, &err));
    works(vyre_policy_promotes(NULL, &request, &opcodes, &windows, &err));
    ok(ages == 1 && opcodes == 1 && windows == 1, "just at them");
}

int main(void)
{
    examples_a_and_b();
    examples_c_and_d();
    examples_e_and_f();
    hysteresis();
    shedding();
    sizes();
    ends();
    thresholds();
    return done();
}
