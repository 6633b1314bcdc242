/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The constants of the launch policy and their document, requests made of snapshots and of tasks,
 * and every refusal of a policy's calls.
 *
 * Argument: docs/telemetry.md.
 */
#include "wire_test.h"

/* The constants as they were first published: number, name and default never change. */
static const struct {
    const char *name;
    uint32_t standard;
} pinned[] = {{"min_hit_capacity", 1024},
              {"hit_multiplier", 2},
              {"hit_multiplier_pressed", 1},
              {"hit_bytes", 16},
              {"saturated_waves", 4},
              {"hot_opcodes", 8},
              {"hot_windows", 4},
              {"hot_window_slots", 4},
              {"jit_queue_len", 4096},
              {"priority_age", 32},
              {"sparse_bps", 500},
              {"dense_bps", 4000},
              {"memory_bps", 8500},
              {"fusion_edges", 65536},
              {"frontier_hysteresis_bps", 250},
              {"memory_hysteresis_bps", 250},
              {"shed_bps", 2500},
              {"shed_more_bps", 2500},
              {"sparse_workers", 32},
              {"group_divisor", 256},
              {"max_groups", 1024},
              {"powerful_invocations", 4096},
              {"powerful_groups", 64}};

static char *read_document(const char *path)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    char *text = calloc(1, 1 << 20);
    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0) bail("cannot read %s", path);
    fclose(file);
    return text;
}

static void constants(const char *document)
{
    vyre_policy policy;
    works(vyre_policy_standard(&policy, &err));
    is_u64(COUNT_OF(pinned), VYRE_POLICY_CONSTANTS, "all constants");
    for (uint32_t i = 0; i < VYRE_POLICY_CONSTANTS; i++) {
        vyre_policy_row row;
        uint32_t value = 7, found = 99;
        char line[200];
        works(vyre_policy_describe(i, &row, &err));
        is_str(row.name, pinned[i].name, "constant %u", i);
        is_u64(row.standard, pinned[i].standard, "%s: default", row.name);
        ok(row.least <= row.standard && row.standard <= row.most && row.text[0], "%s: range",
           row.name);
        works(vyre_policy_get(&policy, i, &value, &err));
        is_u64(value, row.standard, "%s: as a policy begins", row.name);
        works(vyre_policy_find(row.name, &found, &err));
        is_u64(found, i, "%s: found by its name", row.name);
        works(vyre_policy_set(&policy, i, row.most, &err));
        works(vyre_policy_get(&policy, i, &value, &err));
        is_u64(value, row.most, "%s: changed", row.name);
        works(vyre_policy_set(&policy, i, row.least, &err));
        snprintf(line, sizeof line, "| `%s` | %u | %s |", row.name, row.standard, row.text);
        ok(strstr(document, line) != NULL, "documented: %s", line);
        watch(&policy, sizeof policy);
        if (row.least > 0) refused(VYRE_E_RANGE, vyre_policy_set(&policy, i, 0, &err));
        if (row.most < UINT32_MAX)
            refused(VYRE_E_RANGE, vyre_policy_set(&policy, i, row.most + 1, &err));
        watch_nothing();
    }
    works(vyre_policy_standard(&policy, &err));
    works(vyre_policy_set(&policy, VYRE_POLICY_SPARSE_BPS, 600, &err));
    is_u64(policy.sparse_bps, 600, "the field is the constant");
}

static void constant_refusals(void)
{
    vyre_policy policy;
    vyre_policy_row row = {0};
    uint32_t value = 7;
    if (vyre_policy_standard(&policy, &err)) bail("%s", err.message);
    watch(&policy, sizeof policy);
    watch(&row, sizeof row);
    watch(&value, sizeof value);
    refused(VYRE_E_NULL, vyre_policy_standard(NULL, &err));
    refused(VYRE_E_NULL, vyre_policy_set(NULL, 0, 1, &err));
    refused(VYRE_E_RANGE, vyre_policy_set(&policy, VYRE_POLICY_CONSTANTS, 1, &err));
    refused(VYRE_E_RANGE, vyre_policy_set(&policy, UINT32_MAX, 1, &err));
    refused(VYRE_E_NULL, vyre_policy_get(NULL, 0, &value, &err));
    refused(VYRE_E_NULL, vyre_policy_get(&policy, 0, NULL, &err));
    refused(VYRE_E_RANGE, vyre_policy_get(&policy, VYRE_POLICY_CONSTANTS, &value, &err));
    refused(VYRE_E_NULL, vyre_policy_describe(0, NULL, &err));
    refused(VYRE_E_RANGE, vyre_policy_describe(VYRE_POLICY_CONSTANTS, &row, &err));
    refused(VYRE_E_NULL, vyre_policy_find(NULL, &value, &err));
    refused(VYRE_E_NULL, vyre_policy_find("hot_opcodes", NULL, &err));
    refused(VYRE_E_NOT_FOUND, vyre_policy_find("hot_opcode", &value, &err));
    policy.size = 8;
    refused(VYRE_E_SIZE, vyre_policy_set(&policy, 0, 1, &err));
    refused(VYRE_E_SIZE, vyre_policy_get(&policy, 0, &value, &err));
    watch_nothing();
    is_str(vyre_topology_name(7), "?", "no topology");
    is_str(vyre_topology_name(0), "none", "no topology yet");
    is_str(vyre_pressure_name(4), "?", "no pressure");
    is_str(vyre_execution_mode_name(2), "?", "no mode");
}

/* All calls that take a policy and a request refuse the same. */
static void request_refusals(void)
{
    typedef vyre_status (*step_fn)(const vyre_policy *, const vyre_policy_request *, uint32_t *,
                                   vyre_error *);
    static const step_fn steps[] = {vyre_policy_topology, vyre_policy_workers,
                                    vyre_policy_pressure, vyre_policy_hit_capacity,
                                    vyre_policy_mode,     vyre_policy_ages};
    vyre_policy_request good, request, inferred = VYRE_POLICY_REQUEST_INIT;
    vyre_policy_advice advice = VYRE_POLICY_ADVICE_INIT;
    vyre_policy_geometry geometry = {0, 0, {0, 0, 0}};
    vyre_policy policy;
    uint64_t bytes = 3;
    uint32_t value = 7, second = 8;
    if (vyre_policy_standard(&policy, &err)) bail("%s", err.message);
    works(vyre_policy_direct(&good, 10, 4, 64, &err));
    refused(VYRE_E_NULL, vyre_policy_direct(NULL, 10, 4, 64, &err));
    watch(&advice, sizeof advice);
    watch(&geometry, sizeof geometry);
    watch(&inferred, sizeof inferred);
    watch(&bytes, sizeof bytes);
    watch(&value, sizeof value);
    watch(&second, sizeof second);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        request = good;
        refused(VYRE_E_NULL, steps[i](NULL, NULL, &value, &err));
        refused(VYRE_E_NULL, steps[i](NULL, &good, NULL, &err));
        request.size = 4;
        refused(VYRE_E_SIZE, steps[i](NULL, &request, &value, &err));
        request = good;
        request.reserved = 1;
        refused(VYRE_E_RESERVED, steps[i](NULL, &request, &value, &err));
        request = good;
        request.previous_topology = 7;
        refused(VYRE_E_RANGE, steps[i](NULL, &request, &value, &err));
        policy.memory_bps = 0;
        refused(VYRE_E_RANGE, steps[i](&policy, &good, &value, &err));
        policy.memory_bps = 8500;
    }
    refused(VYRE_E_NULL, vyre_policy_infer(NULL, &inferred, &err));
    refused(VYRE_E_NULL, vyre_policy_infer(&good, NULL, &err));
    refused(VYRE_E_NULL, vyre_policy_geometry_of(NULL, &good, NULL, &err));
    refused(VYRE_E_NULL, vyre_policy_peak(NULL, &good, NULL, &err));
    refused(VYRE_E_NULL, vyre_policy_promotes(NULL, &good, NULL, &second, &err));
    refused(VYRE_E_NULL, vyre_policy_promotes(NULL, &good, &value, NULL, &err));
    refused(VYRE_E_NULL, vyre_policy_recommend(NULL, NULL, &advice, &err));
    refused(VYRE_E_NULL, vyre_policy_recommend(NULL, &good, NULL, &err));
    advice.size = 8;
    refused(VYRE_E_SIZE, vyre_policy_recommend(NULL, &good, &advice, &err));
    watch_nothing();
}

static void limit_refusals(void)
{
    vyre_policy_request good, request;
    vyre_policy_advice advice = VYRE_POLICY_ADVICE_INIT;
    vyre_policy_geometry geometry = {0, 0, {0, 0, 0}};
    uint32_t value = 7;
    works(vyre_policy_direct(&good, 10, 4, 64, &err));
    watch(&advice, sizeof advice);
    watch(&geometry, sizeof geometry);
    watch(&value, sizeof value);
    request = good;
    request.max_workgroup_size_x = 0;
    refused(VYRE_E_RANGE, vyre_policy_recommend(NULL, &request, &advice, &err));
    ok(strstr(err.message, "max_workgroup_size_x") != NULL, "%s", err.message);
    refused(VYRE_E_RANGE, vyre_policy_geometry_of(NULL, &request, &geometry, &err));
    request = good;
    request.max_compute_workgroups_per_dimension = 0;
    refused(VYRE_E_RANGE, vyre_policy_recommend(NULL, &request, &advice, &err));
    ok(strstr(err.message, "workgroups_per_dimension") != NULL, "%s", err.message);
    request = good;
    request.max_compute_invocations_per_workgroup = 0;
    refused(VYRE_E_RANGE, vyre_policy_recommend(NULL, &request, &advice, &err));
    ok(strstr(err.message, "invocations_per_workgroup") != NULL, "%s", err.message);
    works(vyre_policy_direct(&request, 10, 0, 64, &err));
    refused(VYRE_E_RANGE, vyre_policy_workers(NULL, &request, &value, &err));
    watch_nothing();
}

static void tasks_to_request(void)
{
    vyre_policy_request request;
    vyre_wire_tasks tasks = {0};
    works(vyre_policy_direct(&request, 5, 64, 64, &err));
    request.requeue_count = 10;
    request.max_priority_age = 20;
    tasks.by_state[VYRE_TASK_READY] = 4;
    tasks.by_state[VYRE_TASK_YIELDED] = 2;
    tasks.by_state[VYRE_TASK_REQUEUED] = 1;
    tasks.schedulable = 7;
    tasks.requeue_count = 30;
    tasks.pressure = 33;
    tasks.max_age_ticks = 19;
    works(vyre_policy_add_tasks(&tasks, &request, &err));
    is_u64(request.queue_len, 7, "tasks: queue");
    is_u64(request.requeue_count, 43, "tasks: requeues are added");
    is_u64(request.max_priority_age, 20, "tasks: the greater age stays");
    tasks.max_age_ticks = UINT32_MAX;
    tasks.pressure = UINT64_MAX;
    works(vyre_policy_add_tasks(&tasks, &request, &err));
    is_u64(request.max_priority_age, UINT32_MAX, "tasks: a greater age is taken");
    is_u64(request.requeue_count, UINT64_MAX, "tasks: requeues stop at their end");
    watch(&request, sizeof request);
    refused(VYRE_E_NULL, vyre_policy_add_tasks(NULL, &request, &err));
    refused(VYRE_E_NULL, vyre_policy_add_tasks(&tasks, NULL, &err));
#if SIZE_MAX > UINT32_MAX
    tasks.schedulable = (size_t)UINT32_MAX + 1;
    refused(VYRE_E_OVERFLOW, vyre_policy_add_tasks(&tasks, &request, &err));
#endif
    request.size = 0;
    refused(VYRE_E_SIZE, vyre_policy_add_tasks(&tasks, &request, &err));
    watch_nothing();

    /* From the words of tasks, through their count. */
    unsigned char bytes[3 * 64] = {0};
    put_word(bytes, 0, VYRE_TASK_REQUEUED);
    put_word(bytes, 13, 3);  /* requeue_count */
    put_word(bytes, 12, 40); /* age_ticks */
    put_word(bytes, 16, VYRE_TASK_READY);
    put_word(bytes, 32, VYRE_TASK_PAUSED);
    works(vyre_policy_direct(&request, 0, 64, 64, &err));
    works(vyre_wire_tasks_count(bytes, sizeof bytes, &tasks, &err));
    works(vyre_policy_add_tasks(&tasks, &request, &err));
    ok(request.queue_len == 2 && request.requeue_count == 4 && request.max_priority_age == 40,
       "a requeued, a ready and a paused task");
}

/* Slots of a small ring with two windows. */
static void snapshot_to_request(void)
{
    vyre_snapshot_window windows[3] = {{0}};
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    vyre_policy_request request;
    vyre_policy policy;
    snapshot.windows = windows;
    snapshot.window_room = snapshot.window_count = 3;
    windows[0].required = 4;
    windows[1].required = 2;
    windows[1].lookahead = 1;
    windows[2].required = windows[2].lookahead = UINT32_MAX;
    snapshot.occupancy.empty = 1;
    snapshot.occupancy.done = 1;
    snapshot.occupancy.published = 4;
    snapshot.occupancy.requeue = 2;
    snapshot.control.metric_count = 5;
    works(vyre_policy_direct(&request, 50, 64, 64, &err));
    request.requeue_count = 100;
    request.hot_opcode_count = request.hot_window_count = 77;
    works(vyre_policy_add_snapshot(NULL, &snapshot, &request, &err));
    is_u64(request.graph_node_count, 8, "snapshot: nodes are its slots");
    is_u64(request.graph_edge_count, 6, "snapshot: edges are its depth");
    is_u64(request.frontier_density_bps, 7500, "snapshot: density");
    is_u64(request.hot_opcode_count, 5, "snapshot: opcodes that ever ran");
    is_u64(request.hot_window_count, 2, "snapshot: windows of four slots or more");
    is_u64(request.requeue_count, 102, "snapshot: requeues are added");
    is_u64(request.queue_len, 50, "snapshot: the queue stays");
    snapshot.occupancy.published = 0;
    snapshot.occupancy.requeue = 1;
    works(vyre_policy_add_snapshot(NULL, &snapshot, &request, &err));
    ok(request.graph_node_count == 8 && request.graph_edge_count == 6 &&
           request.frontier_density_bps == 7500,
       "what is known stays");
    is_u64(request.requeue_count, 103, "requeues are added again");
    works(vyre_policy_standard(&policy, &err));
    works(vyre_policy_set(&policy, VYRE_POLICY_HOT_WINDOW_SLOTS, 3, &err));
    works(vyre_policy_add_snapshot(&policy, &snapshot, &request, &err));
    is_u64(request.hot_window_count, 3, "a threshold of three");

    /* An idle ring has no density; the policy then infers one from the queue. */
    uint32_t topology = 0;
    snapshot.occupancy = (vyre_occupancy){.empty = 16};
    works(vyre_policy_direct(&request, 50, 64, 64, &err));
    works(vyre_policy_add_snapshot(NULL, &snapshot, &request, &err));
    is_u64(request.frontier_density_bps, 0, "an idle ring");
    works(vyre_policy_topology(NULL, &request, &topology, &err));
    is_str(vyre_topology_name(topology), "dense", "a queue longer than it");

    watch(&request, sizeof request);
    refused(VYRE_E_NULL, vyre_policy_add_snapshot(NULL, NULL, &request, &err));
    refused(VYRE_E_NULL, vyre_policy_add_snapshot(NULL, &snapshot, NULL, &err));
    policy.max_groups = 0;
    refused(VYRE_E_RANGE, vyre_policy_add_snapshot(&policy, &snapshot, &request, &err));
    snapshot.windows = NULL;
    refused(VYRE_E_NULL, vyre_policy_add_snapshot(NULL, &snapshot, &request, &err));
    snapshot.size = 4;
    refused(VYRE_E_SIZE, vyre_policy_add_snapshot(NULL, &snapshot, &request, &err));
    watch_nothing();
}

int main(int argc, char **argv)
{
    char *document = read_document(argc > 1 ? argv[1] : NULL);
    constants(document);
    constant_refusals();
    request_refusals();
    limit_refusals();
    tasks_to_request();
    snapshot_to_request();
    free(document);
    return done();
}
