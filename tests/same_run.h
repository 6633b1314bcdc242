/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What two devices must agree on about one run of a program: how it ended, what it cost, and the
 * bytes that it left. The first difference is printed with both values. Include it after support.h.
 */
#ifndef VYRE_TESTS_SAME_RUN_H
#define VYRE_TESTS_SAME_RUN_H

#include "support.h"

enum same_run_rule {
    SAME_RUN_ALONE = 1,  /* one workgroup: everything is in order */
    SAME_RUN_PATIENT = 2 /* no workgroup is put aside, so that the lowest one that faults is told */
};

/* Always false. Prints no more than the first 20. */
TAP_UNUSED static bool same_run_fails(const char *name, const char *what, uint64_t cpu,
                                      uint64_t device)
{
    static uint32_t printed;
    if (printed++ < 20)
        note("%s: %s: cpu %" PRIu64 " (0x%" PRIx64 "), device %" PRIu64 " (0x%" PRIx64 ")", name,
             what, cpu, cpu, device, device);
    return false;
}

/* rules: enum same_run_rule. */
TAP_UNUSED static bool same_run_end(const char *name, const vyre_completion *cpu,
                                    const vyre_completion *device, uint32_t rules)
{
    struct {
        const char *what;
        uint32_t cpu, device;
        bool known; /* whether it is the same on every device */
    } rows[12];
    uint32_t count = 0;
    bool done = cpu->outcome == VYRE_DONE, alone = (rules & SAME_RUN_ALONE) != 0;
    bool told = done || alone || (rules & SAME_RUN_PATIENT) != 0;
#define ROW(text, field, when)                                                                     \
    rows[count].what = (text), rows[count].cpu = cpu->field, rows[count].device = device->field,   \
    rows[count++].known = (when)
    ROW("outcome", outcome, true);
    ROW("fault", fault, told);
    ROW("pc", pc, told);
    ROW("workgroups that ended", result[0], done || alone);
    ROW("the high word of those", result[1], done || alone);
    ROW("workgroup of the fault", result[2], told);
    ROW("the high word of that", result[3], told);
    ROW("what goes with the fault", result[4], told);
    ROW("lane of the fault", result[5], told);
    ROW("out of bounds", out_of_bounds, done || alone);
    ROW("steps", steps, done || alone);
#undef ROW
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].known && rows[i].cpu != rows[i].device)
            return same_run_fails(name, rows[i].what, rows[i].cpu, rows[i].device);
    return true;
}

TAP_UNUSED static bool same_run_bytes(const char *name, uint32_t buffer, const void *cpu,
                                      const void *device, size_t length)
{
    const unsigned char *a = cpu, *b = device;
    char what[96];
    size_t at = 0;
    while (at < length && a[at] == b[at])
        at++;
    if (at == length) return true;
    snprintf(what, sizeof what, "byte %zu of %zu in buffer %u", at, length, buffer);
    return same_run_fails(name, what, a[at], b[at]);
}

#endif
