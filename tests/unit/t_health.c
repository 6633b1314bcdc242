/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Counters of a snapshot, health between two, and the account of requeues, each at its edges.
 */
#include "snapshot_test.h"

static vyre_counters counters_of(const vyre_snapshot *snapshot)
{
    vyre_counters counters;
    memset(&counters, 0x5A, sizeof counters);
    works(vyre_snapshot_counters(snapshot, &counters, &err));
    return counters;
}

static void counters_example(void)
{
    static const struct slot_row rows[] = {{6, 1, 0, 0, 0}, {3, 1, 0, 0, 0}, {1, 1, 0, 0, 0}};
    vyre_snapshot_source source = test_source(4);
    vyre_snapshot snapshot = test_snapshot();
    set_slots(rows, 3);
    memset(test_control, 0, sizeof test_control);
    put_word(test_control, 1, 7);
    put_word(test_control, 64 + 3, 3);
    put_word(test_control, 64 + 20, 9);
    put_word(test_control, 136 + 2, 5);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    const vyre_counters expected = {
        .total_slots = 4,
        .queue_depth = 2,
        .gpu_idle_slots = 1,
        .gpu_idle_ppm = 250000,
        .frontier_density_bps = 5000,
        .occupancy_proxy_bps = 7500,
        .drained_slots = 7,
        .unreclaimed_done_slots = 1,
        .tenant_fairness_total = 12,
        .priority_fairness_total = 5,
        .tenant_fairness_skew = 6,
        .requeue_slots = 1,
    };
    vyre_counters counters = counters_of(&snapshot);
    ok(memcmp(&counters, &expected, sizeof expected) == 0, "requeue, done, published, empty");

    set_slots(example_slots, 6);
    source = test_source(6);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    counters = counters_of(&snapshot);
    is_u64(counters.queue_depth, 4, "example 1: depth");
    is_u64(counters.gpu_idle_ppm, 166666, "example 1: idle");
    is_u64(counters.frontier_density_bps, 6666, "example 1: frontier");
    is_u64(counters.occupancy_proxy_bps, 8333, "example 1: occupancy");
    is_u64(counters.fault_slots, 1, "example 1: faults");
}

static void counters_edges(void)
{
    vyre_snapshot snapshot = test_snapshot();
    vyre_counters counters = counters_of(&snapshot);
    static const vyre_counters zero;
    ok(memcmp(&counters, &zero, sizeof zero) == 0, "no slots: all counters are 0");

    snapshot.control.tenant_fairness[7] = 8;
    is_u64(counters_of(&snapshot).tenant_fairness_skew, 0, "one tenant has no skew");
    for (uint32_t i = 0; i < 32; i++)
        snapshot.control.tenant_fairness[i] = UINT32_MAX;
    snapshot.control.tenant_fairness[31] = 1;
    counters = counters_of(&snapshot);
    is_u64(counters.tenant_fairness_total, UINT64_C(31) * UINT32_MAX + 1, "a sum beyond 32 bits");
    is_u64(counters.tenant_fairness_skew, UINT32_MAX - 1, "the greatest skew");

    const vyre_occupancy one_to_nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    is_u64(vyre_occupancy_total(&one_to_nine), 45, "total of 1 to 9");
    is_u64(vyre_occupancy_depth(&one_to_nine), 40, "depth of 1 to 9: without empty and done");
    is_u64(vyre_occupancy_total(NULL) + vyre_occupancy_depth(NULL), 0, "nothing of nothing");

    /* Each pair of states that together pass 32 bits. */
    uint32_t stopped = 0;
    for (uint32_t a = 0; a < 9; a++)
        for (uint32_t b = 0; b < a; b++) {
            uint32_t states[9] = {0};
            states[a] = UINT32_MAX, states[b] = 1;
            memcpy(&snapshot.occupancy, states, sizeof states);
            int deep = a != 0 && a != 3 && b != 0 && b != 3;
            counters = counters_of(&snapshot);
            stopped += counters.total_slots == UINT32_MAX && counters.gpu_idle_ppm <= 1000000 &&
                       (!deep || counters.queue_depth == UINT32_MAX);
        }
    is_u64(stopped, 36, "sums stop at the greatest value");
    memset(&snapshot.occupancy, 0, sizeof snapshot.occupancy);
    snapshot.occupancy.empty = UINT32_MAX;
    is_u64(counters_of(&snapshot).gpu_idle_ppm, 1000000, "all idle");
    refused(VYRE_E_NULL, vyre_snapshot_counters(NULL, &counters, &err));
    refused(VYRE_E_NULL, vyre_snapshot_counters(&snapshot, NULL, &err));
    snapshot.size = 0;
    refused(VYRE_E_SIZE, vyre_snapshot_counters(&snapshot, &counters, &err));
}

/* A snapshot of the example, with or without its faulted slot. */
static vyre_snapshot moment(uint32_t done, uint32_t epoch, size_t slots)
{
    vyre_snapshot_source source = test_source(slots);
    vyre_snapshot snapshot = test_snapshot();
    memset(test_control, 0, sizeof test_control);
    put_word(test_control, 1, done);
    put_word(test_control, 128, epoch);
    set_slots(example_slots, slots);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    return snapshot;
}

static vyre_health health_between(uint32_t before, uint32_t after, size_t slots)
{
    vyre_snapshot previous = moment(before, 3, slots), current = moment(after, 3, slots);
    vyre_health health;
    memset(&health, 0x5A, sizeof health);
    works(vyre_health_since(&current, &previous, &health, &err));
    return health;
}

static void health_rules(void)
{
    vyre_health health = health_between(10, 10, 6);
    const vyre_health expected = {.queue_depth = 4, .fault_slots = 1, .gpu_idle_ppm = 166666};
    ok(memcmp(&health, &expected, sizeof expected) == 0, "10 to 10, with a fault: no stall");
    health = health_between(10, 10, 5);
    ok(health.suspected_stall == 1 && health.done_delta == 0, "10 to 10 without the fault: stall");
    health = health_between(7, 9, 5);
    ok(health.suspected_stall == 0 && health.done_delta == 2, "7 to 9: two done, no stall");
    health = health_between(9, 7, 5);
    is_u64(health.done_delta, 4294967294u, "9 to 7: the count has wrapped");
    is_u64(health.suspected_stall, 0, "9 to 7: no stall");
    is_u64(health_between(0xFFFFFFFFu, 1, 5).done_delta, 2, "over the end of the count");
    is_u64(health_between(10, 10, 0).suspected_stall, 0, "nothing waits in a ring without slots");

    /* One slot of each state, and no progress. */
    static const int stalls[9] = {0, 1, 1, 0, 1, 1, 1, 0, 1};
    for (uint32_t status = 0; status < 9; status++) {
        const struct slot_row row = {status, 1, 0, 0, 0};
        vyre_snapshot_source source = test_source(1);
        vyre_snapshot snapshot = test_snapshot();
        set_slots(&row, 1);
        works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
        works(vyre_health_since(&snapshot, &snapshot, &health, &err));
        is_u64(health.suspected_stall, stalls[status], "%s alone, no progress",
               vyre_slot_status_name(status));
        is_u64(health.requeue_slots, status == VYRE_SLOT_REQUEUE, "its requeues");
    }
}

static void health_refusals(void)
{
    vyre_snapshot previous = moment(9, 4, 6), current = moment(7, 4, 6);
    vyre_health health;
    memset(&health, 0x5A, sizeof health);
    watch(&health, sizeof health);
    current.control.epoch = 3;
    refused(VYRE_E_SNAPSHOT_EPOCH, vyre_health_since(&current, &previous, &health, &err));
    ok(strstr(err.message, "from 4 back to 3") != NULL, "both epochs are named: %s", err.message);
    current.control.epoch = 0;
    previous.control.epoch = UINT32_MAX;
    refused(VYRE_E_SNAPSHOT_EPOCH, vyre_health_since(&current, &previous, &health, &err));
    refused(VYRE_E_NULL, vyre_health_since(NULL, &previous, &health, &err));
    refused(VYRE_E_NULL, vyre_health_since(&current, NULL, &health, &err));
    refused(VYRE_E_NULL, vyre_health_since(&current, &current, NULL, &err));
    watch_nothing();
    works(vyre_health_since(&previous, &current, &health, &err));
    is_u64(health.done_delta, 2, "a later epoch is fine");
}

static void requeues(void)
{
    vyre_requeues account = {0, 0, 0, 0};
    works(vyre_requeues_note(&account, 4, &err));
    works(vyre_requeues_note(&account, 2, &err));
    works(vyre_requeues_note_promotion(&account, 9, &err));
    works(vyre_requeues_note_promotion(&account, 8, &err));
    ok(account.requeues == 2 && account.aged_promotions == 2 && account.greatest_age == 9,
       "two of each, the greatest age of both");
    vyre_snapshot snapshot = test_snapshot();
    snapshot.occupancy.requeue = 40;
    works(vyre_requeues_add_snapshot(&account, &snapshot, &err));
    ok(account.requeues == 42 && account.aged_promotions == 2 && account.greatest_age == 9,
       "a snapshot adds its REQUEUE slots and nothing else");
    vyre_wire_tasks tasks = {.requeue_count = 8, .max_age_ticks = 12};
    works(vyre_requeues_add_tasks(&account, &tasks, &err));
    ok(account.requeues == 50 && account.greatest_age == 12,
       "tasks add their requeues and their age");

    account.requeues = UINT64_MAX - 1;
    account.aged_promotions = UINT64_MAX;
    works(vyre_requeues_note(&account, UINT32_MAX, &err));
    works(vyre_requeues_note(&account, 0, &err));
    works(vyre_requeues_add_tasks(&account, &tasks, &err));
    works(vyre_requeues_note_promotion(&account, 0, &err));
    ok(account.requeues == UINT64_MAX && account.aged_promotions == UINT64_MAX &&
           account.greatest_age == UINT32_MAX,
       "all of it stops at its end");
    refused(VYRE_E_NULL, vyre_requeues_note(NULL, 0, &err));
    refused(VYRE_E_NULL, vyre_requeues_note_promotion(NULL, 0, &err));
    refused(VYRE_E_NULL, vyre_requeues_add_snapshot(NULL, &snapshot, &err));
    refused(VYRE_E_NULL, vyre_requeues_add_snapshot(&account, NULL, &err));
    refused(VYRE_E_NULL, vyre_requeues_add_tasks(&account, NULL, &err));
    refused(VYRE_E_NULL, vyre_requeues_add_tasks(NULL, &tasks, &err));
    snapshot.size = 1;
    refused(VYRE_E_SIZE, vyre_requeues_add_snapshot(&account, &snapshot, &err));
}

int main(void)
{
    counters_example();
    counters_edges();
    health_rules();
    health_refusals();
    requeues();
    return done();
}
