/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random requests and constants through the launch policy beside a second implementation of it; the
 * invariants are those of the fuzz target, and a broken one aborts.
 *
 * Arguments: seed, and how many requests (default 400000).
 */
#include "tap.h"

#include "../../fuzz/policy_check.h"

#define REQUESTS 400000u

static uint64_t generator;

static uint64_t random_u64(void)
{
    uint64_t z = generator += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

int main(int argc, char **argv)
{
    generator = tap_seed(argc, argv);
    uint64_t requests = argc > 2 ? strtoull(argv[2], NULL, 0) : REQUESTS;
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t bytes[32];
        for (size_t k = 0; k < 32; k++)
            bytes[k] = random_u64();
        check_policy((const uint8_t *)bytes, random_u64() % (sizeof bytes + 1));
    }
    ok(requests > 0, "%" PRIu64 " requests", requests);
    /* With fewer the rarest of these may not come. */
    if (requests < REQUESTS) return done();
    ok(policy_seen.advised > requests / 20, "%" PRIu64 " got advice", policy_seen.advised);
    ok(policy_seen.range > 0 && policy_seen.overflow > 0 && policy_seen.budget > 0,
       "%" PRIu64 " without a limit, %" PRIu64 " too large, %" PRIu64 " over budget",
       policy_seen.range, policy_seen.overflow, policy_seen.budget);
    ok(policy_seen.constants > 0, "%" PRIu64 " with impossible constants", policy_seen.constants);
    for (uint32_t i = VYRE_TOPOLOGY_EMPTY; i <= VYRE_TOPOLOGY_MEMORY_CONSTRAINED; i++)
        ok(policy_seen.by_topology[i] > 0, "%" PRIu64 " times %s", policy_seen.by_topology[i],
           vyre_topology_name(i));
    for (uint32_t i = 0; i <= VYRE_PRESSURE_SATURATED; i++)
        ok(policy_seen.by_pressure[i] > 0, "%" PRIu64 " times %s", policy_seen.by_pressure[i],
           vyre_pressure_name(i));
    return done();
}
