/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Advice: the rules of policy_rules.h in their order, with statuses where something does not fit.
 * Every call begins with read_question, after which constants and classes are in range and the
 * signals are inferred. Public; pure.
 */
#include "runtime/options.h"
#include "telemetry/policy_rules.h"
#include "telemetry/size.h"
#include "wire/bytes.h"

struct question {
    vyre_policy policy;
    vyre_policy_request request;
};

static vyre_status read_request(const vyre_policy_request *given, vyre_policy_request *request,
                                vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(given, "request", err);
    if (!status)
        status = vyre_options_read(request, given, sizeof *request, "vyre_policy_request", err);
    if (status) return status;
    if (request->previous_topology > VYRE_TOPOLOGY_MEMORY_CONSTRAINED)
        return vyre_fail_with(err, VYRE_E_RANGE, "pass the topology of the last advice, or 0",
                              "previous_topology is %u, at most %u", request->previous_topology,
                              (unsigned)VYRE_TOPOLOGY_MEMORY_CONSTRAINED);
    if (request->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "vyre_policy_request.reserved is %u, not 0",
                         request->reserved);
    policy_infer(request);
    return VYRE_OK;
}

static vyre_status read_question(const vyre_policy *policy, const vyre_policy_request *request,
                                 struct question *question, vyre_error *err)
{
    vyre_status status = read_request(request, &question->request, err);
    if (!status) status = vyre_policy_read(policy, &question->policy, err);
    return status;
}

static vyre_status check_limit(uint32_t value, const char *name, vyre_error *err)
{
    if (value != 0) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_RANGE, "set it to the limit of the device", "%s is 0", name);
}

static vyre_status find_workers(const struct question *question, uint32_t topology,
                                uint32_t *groups, vyre_error *err)
{
    const vyre_policy_request *request = &question->request;
    vyre_status status = check_limit(request->max_workgroup_size_x, "max_workgroup_size_x", err);
    if (!status)
        status = check_limit(request->max_compute_workgroups_per_dimension,
                             "max_compute_workgroups_per_dimension", err);
    if (!status)
        status = check_limit(request->max_compute_invocations_per_workgroup,
                             "max_compute_invocations_per_workgroup", err);
    if (status) return status;
    *groups = policy_workers(&question->policy, request, topology);
    return VYRE_OK;
}

static vyre_status find_geometry(const struct question *question, uint32_t workers,
                                 vyre_policy_geometry *geometry, vyre_error *err)
{
    uint32_t items = policy_greatest(question->request.queue_len, 1);
    vyre_policy_geometry found =
        policy_geometry(&question->policy, items, workers, question->request.max_workgroup_size_x);
    if (found.slot_count < items)
        return vyre_fail_with(err, VYRE_E_OVERFLOW, "ask for a shorter queue or other workers",
                              "%u items in workgroups of %u take more slots than 32 bits count",
                              items, found.workgroup_size_x);
    *geometry = found;
    return VYRE_OK;
}

static vyre_status find_hit_capacity(const struct question *question, uint32_t *capacity,
                                     vyre_error *err)
{
    const vyre_policy_request *request = &question->request;
    uint64_t hits = policy_hit_capacity(&question->policy, request);
    if (hits > UINT32_MAX)
        return vyre_fail_with(
            err, VYRE_E_OVERFLOW, "set requested_hit_capacity, or ask for a shorter queue",
            "%u items with %u hits each need a hit capacity above 32 bits", request->queue_len,
            policy_greatest(request->expected_hits_per_item, 1));
    *capacity = (uint32_t)hits;
    return VYRE_OK;
}

static vyre_status find_peak(const struct question *question, uint32_t capacity, uint64_t *bytes,
                             vyre_error *err)
{
    if (policy_peak(&question->policy, &question->request, capacity, bytes)) return VYRE_OK;
    return vyre_fail(err, VYRE_E_OVERFLOW,
                     "%llu resident bytes and %u hits of %u bytes do not fit 64 bits",
                     (unsigned long long)question->request.resident_device_bytes, capacity,
                     question->policy.hit_bytes);
}

static vyre_status check_budget(uint64_t budget, uint64_t peak, vyre_error *err)
{
    if (budget == 0 || peak <= budget) return VYRE_OK;
    return vyre_fail(err, VYRE_E_POLICY_BUDGET, "%llu bytes at the peak, the budget is %llu",
                     (unsigned long long)peak, (unsigned long long)budget);
}

vyre_status vyre_policy_recommend(const vyre_policy *policy, const vyre_policy_request *request,
                                  vyre_policy_advice *advice, vyre_error *err)
{
    struct question question;
    vyre_policy_advice found;
    vyre_status status = vyre_size_check(advice, sizeof *advice, "vyre_policy_advice", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;

    found.size = advice->size;
    found.topology = policy_topology(&question.policy, &question.request);
    status = find_workers(&question, found.topology, &found.worker_groups, err);
    if (!status) status = find_geometry(&question, found.worker_groups, &found.geometry, err);
    if (!status) status = find_hit_capacity(&question, &found.hit_capacity, err);
    if (!status)
        status = find_peak(&question, found.hit_capacity, &found.estimated_peak_device_bytes, err);
    if (!status)
        status = check_budget(question.request.device_memory_budget_bytes,
                              found.estimated_peak_device_bytes, err);
    if (status) return status;

    found.pressure = policy_pressure(&question.policy, &question.request, &found.geometry);
    found.execution_mode = policy_mode(&question.policy, &question.request, found.topology);
    found.promote_hot_opcodes = policy_hot_opcodes(&question.policy, &question.request);
    found.promote_hot_windows = policy_hot_windows(&question.policy, &question.request);
    found.age_priority_work = policy_ages(&question.policy, &question.request);
    found.device_memory_budget_bytes = question.request.device_memory_budget_bytes;
    *advice = found;
    return VYRE_OK;
}

/* The steps by themselves. */

vyre_status vyre_policy_infer(const vyre_policy_request *request, vyre_policy_request *inferred,
                              vyre_error *err)
{
    vyre_policy_request known;
    vyre_status status = vyre_bytes_check_pointer(inferred, "inferred", err);
    if (!status) status = read_request(request, &known, err);
    if (status) return status;
    known.size = sizeof known; /* a longer one has nothing but zeros behind what we know */
    *inferred = known;
    return VYRE_OK;
}

vyre_status vyre_policy_topology(const vyre_policy *policy, const vyre_policy_request *request,
                                 uint32_t *topology, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(topology, "topology", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    *topology = policy_topology(&question.policy, &question.request);
    return VYRE_OK;
}

vyre_status vyre_policy_workers(const vyre_policy *policy, const vyre_policy_request *request,
                                uint32_t *groups, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(groups, "groups", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    uint32_t topology = policy_topology(&question.policy, &question.request);
    return find_workers(&question, topology, groups, err);
}

static vyre_status work_out_geometry(const struct question *question,
                                     vyre_policy_geometry *geometry, vyre_error *err)
{
    uint32_t workers = 0;
    uint32_t topology = policy_topology(&question->policy, &question->request);
    vyre_status status = find_workers(question, topology, &workers, err);
    if (status) return status;
    return find_geometry(question, workers, geometry, err);
}

vyre_status vyre_policy_geometry_of(const vyre_policy *policy, const vyre_policy_request *request,
                                    vyre_policy_geometry *geometry, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(geometry, "geometry", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    return work_out_geometry(&question, geometry, err);
}

vyre_status vyre_policy_pressure(const vyre_policy *policy, const vyre_policy_request *request,
                                 uint32_t *pressure, vyre_error *err)
{
    struct question question;
    vyre_policy_geometry geometry;
    vyre_status status = vyre_bytes_check_pointer(pressure, "pressure", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (!status) status = work_out_geometry(&question, &geometry, err);
    if (status) return status;
    *pressure = policy_pressure(&question.policy, &question.request, &geometry);
    return VYRE_OK;
}

vyre_status vyre_policy_hit_capacity(const vyre_policy *policy, const vyre_policy_request *request,
                                     uint32_t *capacity, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(capacity, "capacity", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    return find_hit_capacity(&question, capacity, err);
}

vyre_status vyre_policy_peak(const vyre_policy *policy, const vyre_policy_request *request,
                             uint64_t *bytes, vyre_error *err)
{
    struct question question;
    uint32_t capacity = 0;
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (!status) status = find_hit_capacity(&question, &capacity, err);
    if (status) return status;
    return find_peak(&question, capacity, bytes, err);
}

vyre_status vyre_policy_mode(const vyre_policy *policy, const vyre_policy_request *request,
                             uint32_t *mode, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(mode, "mode", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    uint32_t topology = policy_topology(&question.policy, &question.request);
    *mode = policy_mode(&question.policy, &question.request, topology);
    return VYRE_OK;
}

vyre_status vyre_policy_promotes(const vyre_policy *policy, const vyre_policy_request *request,
                                 uint32_t *opcodes, uint32_t *windows, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(windows, "windows", err);
    if (!status) status = vyre_bytes_check_pointer(opcodes, "opcodes", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    *opcodes = policy_hot_opcodes(&question.policy, &question.request);
    *windows = policy_hot_windows(&question.policy, &question.request);
    return VYRE_OK;
}

vyre_status vyre_policy_ages(const vyre_policy *policy, const vyre_policy_request *request,
                             uint32_t *ages, vyre_error *err)
{
    struct question question;
    vyre_status status = vyre_bytes_check_pointer(ages, "ages", err);
    if (!status) status = read_question(policy, request, &question, err);
    if (status) return status;
    *ages = policy_ages(&question.policy, &question.request);
    return VYRE_OK;
}
