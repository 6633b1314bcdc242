/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The constants of the launch policy and the names of its classes. The invariant: vyre_policy_read
 * lets no constant through that is outside the range of its row. Public, and for the other files of
 * the policy.
 */
#include <assert.h>
#include <string.h>

#include "runtime/options.h"
#include "telemetry/policy_rules.h"
#include "wire/bytes.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const vyre_policy_row rows[] = {
#define VYRE_POLICY(field, name, number, standard, least, most, text)                              \
    {#field, text, standard, least, most},
#include "vyre/policy.def"
#undef VYRE_POLICY
};

static const vyre_policy standards = {
    sizeof(vyre_policy),
#define VYRE_POLICY(field, name, number, standard, least, most, text) standard,
#include "vyre/policy.def"
#undef VYRE_POLICY
};

/* Rows stand in the order of their numbers, and so do the fields. */
#define VYRE_POLICY(field, name, number, standard, least, most, text)                              \
    static_assert(offsetof(vyre_policy, field) == 4u * ((number) + 1u), #field " is in its "       \
                                                                               "place");
#include "vyre/policy.def"
#undef VYRE_POLICY
static_assert(COUNT_OF(rows) == VYRE_POLICY_CONSTANTS, "the header counts the rows");
static_assert(sizeof(vyre_policy) == 4u * (VYRE_POLICY_CONSTANTS + 1u), "nothing but rows");

static uint32_t value_of(const vyre_policy *policy, uint32_t constant)
{
    uint32_t value;
    memcpy(&value, (const unsigned char *)policy + 4 * ((size_t)constant + 1), sizeof value);
    return value;
}

static vyre_status check_constant(uint32_t constant, vyre_error *err)
{
    if (constant < VYRE_POLICY_CONSTANTS) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_RANGE, "use a value of enum vyre_policy_constant",
                          "constant %u of a policy, there are %u", constant, VYRE_POLICY_CONSTANTS);
}

static vyre_status check_value(uint32_t constant, uint32_t value, vyre_error *err)
{
    const vyre_policy_row *row = &rows[constant];
    if (value >= row->least && value <= row->most) return VYRE_OK;
    vyre_status status = vyre_fail(err, VYRE_E_RANGE, "%s of a policy is %u, %u to %u are allowed",
                                   row->name, value, row->least, row->most);
    vyre_fail_fix(err, "set a value in that range; the default is %u", row->standard);
    return status;
}

vyre_status vyre_policy_read(const vyre_policy *given, vyre_policy *policy, vyre_error *err)
{
    if (!given) {
        *policy = standards;
        return VYRE_OK;
    }
    vyre_status status = vyre_options_read(policy, given, sizeof *policy, "vyre_policy", err);
    for (uint32_t i = 0; !status && i < VYRE_POLICY_CONSTANTS; i++)
        status = check_value(i, value_of(policy, i), err);
    return status;
}

vyre_status vyre_policy_standard(vyre_policy *policy, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(policy, "policy", err);
    if (status) return status;
    *policy = standards;
    return VYRE_OK;
}

vyre_status vyre_policy_set(vyre_policy *policy, uint32_t constant, uint32_t value, vyre_error *err)
{
    vyre_policy known;
    vyre_status status = vyre_bytes_check_pointer(policy, "policy", err);
    if (!status) status = vyre_options_read(&known, policy, sizeof known, "vyre_policy", err);
    if (!status) status = check_constant(constant, err);
    if (!status) status = check_value(constant, value, err);
    if (status) return status;
    memcpy((unsigned char *)policy + 4 * ((size_t)constant + 1), &value, sizeof value);
    return VYRE_OK;
}

vyre_status vyre_policy_get(const vyre_policy *policy, uint32_t constant, uint32_t *value,
                            vyre_error *err)
{
    vyre_policy known;
    vyre_status status = vyre_bytes_check_pointer(policy, "policy", err);
    if (!status) status = vyre_bytes_check_pointer(value, "value", err);
    if (!status) status = vyre_options_read(&known, policy, sizeof known, "vyre_policy", err);
    if (!status) status = check_constant(constant, err);
    if (status) return status;
    *value = value_of(&known, constant);
    return VYRE_OK;
}

vyre_status vyre_policy_describe(uint32_t constant, vyre_policy_row *row, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(row, "row", err);
    if (!status) status = check_constant(constant, err);
    if (status) return status;
    *row = rows[constant];
    return VYRE_OK;
}

vyre_status vyre_policy_find(const char *name, uint32_t *constant, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(name, "name", err);
    if (!status) status = vyre_bytes_check_pointer(constant, "constant", err);
    if (status) return status;
    for (uint32_t i = 0; i < VYRE_POLICY_CONSTANTS; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        *constant = i;
        return VYRE_OK;
    }
    return vyre_fail_with(err, VYRE_E_NOT_FOUND, "use the name of a field of vyre_policy",
                          "a policy has no constant \"%.60s\"", name);
}

const char *vyre_topology_name(uint32_t topology)
{
    static const char *const names[] = {
        "none", "empty", "sparse", "hybrid", "dense", "fused_dense", "memory_constrained"};
    return topology < COUNT_OF(names) ? names[topology] : "?";
}

const char *vyre_pressure_name(uint32_t pressure)
{
    static const char *const names[] = {"empty", "light", "balanced", "saturated"};
    return pressure < COUNT_OF(names) ? names[pressure] : "?";
}

const char *vyre_execution_mode_name(uint32_t mode)
{
    static const char *const names[] = {"interpreter", "jit"};
    return mode < COUNT_OF(names) ? names[mode] : "?";
}
