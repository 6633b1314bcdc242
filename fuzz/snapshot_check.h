/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as a control buffer, a ring, and a wish for windows:
 *
 * - the status is the one that the lengths deserve, and otherwise the plain decoder of
 *   tests/snapshot_oracle.h says the same of every word;
 * - a decode that fails leaves the snapshot and its storage alone, and says what it needs;
 * - with what it said it needs, it succeeds;
 * - queries, counters and health agree with a count by hand.
 *
 * A broken one aborts. The fuzz target and tests/unit/t_snapshot_random.c call it. A case is
 *
 *     byte 0      low half: window opcodes, high half: room for windows (15: enough for all)
 *     byte 1      bit 0 omit slots, bit 1 no room for slots, bits 2..4 shift of ring and scratch,
 *                 bits 5..7 room in the scratch, in windows (7: enough for all)
 *     byte 2, 3   bytes of the control buffer; at most what is there
 *     then        an opcode a byte (255: 0xFFFFFFFF), the control buffer, the ring
 */
#ifndef VYRE_FUZZ_SNAPSHOT_CHECK_H
#define VYRE_FUZZ_SNAPSHOT_CHECK_H

#include "../tests/snapshot_oracle.h"
#include "wire_checks.h"

#define CHECK_SLOTS_MAX 256u
#define CHECK_GUARD     0x5Au

struct check_case {
    vyre_snapshot_source source;
    vyre_snapshot snapshot;
    struct oracle_snapshot expected;
    enum oracle_result result;
    uint32_t opcodes[15];
    unsigned char *ring;    /* a copy, shifted, in a block that ends with it */
    unsigned char *scratch; /* likewise */
    size_t shift;
};

static inline void *check_alloc(size_t size)
{
    void *memory = malloc(size ? size : 1);
    REQUIRE(memory != NULL);
    memset(memory, CHECK_GUARD, size);
    return memory;
}

/* Gives the case new scratch and storage, all of it marked. */
static inline void check_storage(struct check_case *test, uint32_t slots, uint32_t windows,
                                 size_t scratch)
{
    free(test->snapshot.slots);
    free(test->snapshot.windows);
    free(test->scratch);
    test->snapshot.slots = check_alloc(slots * sizeof *test->snapshot.slots);
    test->snapshot.windows = check_alloc(windows * sizeof *test->snapshot.windows);
    test->snapshot.slot_room = slots;
    test->snapshot.window_room = windows;
    test->scratch = check_alloc(scratch + test->shift);
    test->source.scratch = test->scratch + test->shift;
    test->source.scratch_bytes = scratch;
}

static inline void check_same_control(const struct check_case *test)
{
    const vyre_snapshot_control *got = &test->snapshot.control;
    const struct oracle_snapshot *expected = &test->expected;
    uint32_t metrics = 0;
    REQUIRE(got->shutdown == expected->shutdown && got->done_count == expected->done &&
            got->epoch == expected->epoch);
    for (uint32_t i = 0; i < 32; i++) {
        REQUIRE(got->tenant_fairness[i] == expected->tenants[i]);
        if (expected->metrics[i] == 0) continue;
        REQUIRE(got->metrics[metrics].opcode == i);
        REQUIRE(got->metrics[metrics++].count == expected->metrics[i]);
    }
    REQUIRE(got->metric_count == metrics);
    for (; metrics < 32; metrics++)
        REQUIRE(got->metrics[metrics].opcode == 0 && got->metrics[metrics].count == 0);
    for (uint32_t i = 0; i < 5; i++)
        REQUIRE(got->priority_fairness[i] == expected->priorities[i]);
}

static inline void check_same_slots(const struct check_case *test)
{
    const vyre_occupancy *occupancy = &test->snapshot.occupancy;
    const uint32_t states[9] = {occupancy->empty,   occupancy->published, occupancy->claimed,
                                occupancy->done,    occupancy->wait_io,   occupancy->yield,
                                occupancy->requeue, occupancy->fault,     occupancy->unknown};
    REQUIRE(memcmp(states, test->expected.states, sizeof states) == 0);
    if (test->source.omit) {
        REQUIRE(test->snapshot.slot_count == 0);
        return;
    }
    REQUIRE(test->snapshot.slot_count == test->expected.slot_count);
    for (size_t i = 0; i < test->expected.slot_count; i++) {
        const vyre_snapshot_slot *got = &test->snapshot.slots[i];
        const struct oracle_slot *slot = &test->expected.slots[i];
        REQUIRE(got->slot == slot->index && got->status == slot->status &&
                got->opcode == slot->opcode && got->tenant == slot->tenant);
        REQUIRE(got->args[0] == slot->arg0 && got->args[1] == slot->arg1 &&
                got->args[2] == slot->arg2);
        REQUIRE(got->priority == oracle_word(test->ring + 64 * i, 3));
    }
}

static inline void check_same_windows(const struct check_case *test)
{
    REQUIRE(test->snapshot.window_count == test->expected.window_count);
    for (size_t i = 0; i < test->expected.window_count; i++) {
        const vyre_snapshot_window *got = &test->snapshot.windows[i];
        const struct oracle_window *window = &test->expected.windows[i];
        REQUIRE(got->ticket == window->ticket && got->opcode == window->opcode &&
                got->tenant == window->tenant);
        REQUIRE(got->required == window->required && got->lookahead == window->lookahead);
        REQUIRE(got->published == window->states[1] && got->claimed == window->states[2] &&
                got->done == window->states[3] && got->wait_io == window->states[4]);
        REQUIRE(got->yield == window->states[5] && got->requeue == window->states[6] &&
                got->fault == window->states[7]);
        REQUIRE(got->active == (oracle_window_active(window) ? 1u : 0u));
    }
}

/* Room one too small is refused and names the number; the right room receives the right rows. */
static inline void check_queries(const struct check_case *test, vyre_error *err)
{
    const vyre_snapshot *snapshot = &test->snapshot;
    const uint32_t *states = test->expected.states;
    uint32_t active = states[1] + states[2] + states[4] + states[5] + states[6], count = 77, found;
    vyre_snapshot_slot *slots = check_alloc((active + 1) * sizeof *slots);
    if (test->source.omit) {
        REQUIRE(vyre_snapshot_active_slots(snapshot, slots, active, &count, err) == VYRE_E_STATE);
        REQUIRE(count == 77);
    } else {
        if (active)
            REQUIRE(vyre_snapshot_active_slots(snapshot, slots, active - 1, &count, err) ==
                        VYRE_E_TOO_SMALL &&
                    count == active && check_untouched(slots, sizeof *slots));
        REQUIRE(vyre_snapshot_active_slots(snapshot, slots, active, &count, err) == VYRE_OK);
        REQUIRE(count == active && check_untouched(&slots[active], sizeof *slots));
        for (uint32_t i = found = 0; i < snapshot->slot_count; i++)
            if (vyre_slot_status_active(snapshot->slots[i].status))
                REQUIRE(memcmp(&slots[found++], &snapshot->slots[i], sizeof *slots) == 0);
        REQUIRE(found == active);
    }
    free(slots);

    vyre_snapshot_window *windows = check_alloc((snapshot->window_count + 1) * sizeof *windows);
    REQUIRE(vyre_snapshot_active_windows(snapshot, windows, snapshot->window_count, &count, err) ==
            VYRE_OK);
    for (uint32_t i = found = 0; i < snapshot->window_count; i++)
        if (oracle_window_active(&test->expected.windows[i]))
            REQUIRE(memcmp(&windows[found++], &snapshot->windows[i], sizeof *windows) == 0);
    REQUIRE(found == count && check_untouched(&windows[count], sizeof *windows));
    if (count)
        REQUIRE(vyre_snapshot_active_windows(snapshot, NULL, 0, &found, err) == VYRE_E_TOO_SMALL &&
                found == count);
    free(windows);
}

static inline void check_figures(const struct check_case *test, vyre_error *err)
{
    const struct oracle_snapshot *expected = &test->expected;
    uint64_t total = expected->slot_count,
             depth = total - expected->states[0] - expected->states[3];
    vyre_counters counters;
    vyre_health health;
    REQUIRE(vyre_snapshot_counters(&test->snapshot, &counters, err) == VYRE_OK);
    REQUIRE(counters.total_slots == total && counters.queue_depth == depth);
    REQUIRE(counters.gpu_idle_ppm == (total ? expected->states[0] * UINT64_C(1000000) / total : 0));
    REQUIRE(counters.frontier_density_bps == (total ? depth * 10000 / total : 0));
    REQUIRE(counters.occupancy_proxy_bps ==
            (total ? (total - expected->states[0]) * 10000 / total : 0));
    REQUIRE(vyre_health_since(&test->snapshot, &test->snapshot, &health, err) == VYRE_OK);
    REQUIRE(health.done_delta == 0 && health.queue_depth == depth);
    REQUIRE(health.suspected_stall == (depth > 0 && expected->states[7] == 0 ? 1u : 0u));
}

/* A decode that fails for want of room, and what it says it needs. */
static inline void check_too_small(struct check_case *test, vyre_snapshot_needs *needs,
                                   vyre_error *err)
{
    vyre_snapshot before = test->snapshot;
    size_t slot_bytes = before.slot_room * sizeof *before.slots;
    size_t window_bytes = before.window_room * sizeof *before.windows;
    CHECK_MARK(*needs);
    vyre_status status = vyre_snapshot_decode(&test->source, &test->snapshot, needs, err);
    if (status == VYRE_OK) return;
    REQUIRE(status == VYRE_E_TOO_SMALL);
    REQUIRE(memcmp(&before, &test->snapshot, sizeof before) == 0);
    REQUIRE(slot_bytes == 0 || check_untouched(before.slots, slot_bytes));
    REQUIRE(window_bytes == 0 || check_untouched(before.windows, window_bytes));
    REQUIRE(needs->slots > before.slot_room || needs->windows > before.window_room ||
            needs->scratch_bytes > test->source.scratch_bytes);
    REQUIRE(needs->slots == (test->source.omit ? 0 : test->expected.slot_count));
    REQUIRE(needs->windows >= test->expected.window_count &&
            needs->windows <= test->expected.slot_count);
    check_storage(test, needs->slots, needs->windows, needs->scratch_bytes);
    REQUIRE(vyre_snapshot_decode(&test->source, &test->snapshot, needs, err) == VYRE_OK);
}

/* Fills the case from the bytes; storage comes last, since its sizes depend on the rest. */
static inline void check_open(struct check_case *test, const uint8_t *data, size_t size)
{
    const vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
    const vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    memset(test, 0, sizeof *test);
    test->source = source;
    test->snapshot = snapshot;
    size_t opcodes = data[0] % 16, control = data[2] + 256u * data[3], at = 4;
    test->shift = data[1] >> 2 & 7;
    for (size_t i = 0; i < opcodes && at < size; i++, at++) {
        test->opcodes[i] = data[at] == 255 ? 0xFFFFFFFFu : data[at];
        test->source.window_opcode_count++;
    }
    if (control > size - at) control = size - at;
    size_t ring = size - at - control;
    if (ring > CHECK_SLOTS_MAX * 64) ring = CHECK_SLOTS_MAX * 64;
    test->ring = (unsigned char *)check_alloc(ring + test->shift) + test->shift;
    if (ring) memcpy(test->ring, data + at + control, ring);
    test->source.omit = data[1] & 1 ? VYRE_SNAPSHOT_OMIT_SLOTS : 0;
    test->source.control = data + at;
    test->source.control_bytes = control;
    test->source.ring = test->ring;
    test->source.ring_bytes = ring;
    test->source.window_opcodes = test->opcodes;
    const struct oracle_source plain = {data + at, control,       test->ring,
                                        ring,      test->opcodes, test->source.window_opcode_count};
    test->result = oracle_decode(&test->expected, &plain);
    REQUIRE(test->result != ORACLE_NO_MEMORY);
}

static inline void check_malformed(struct check_case *test, vyre_error *err)
{
    vyre_snapshot before = test->snapshot;
    vyre_snapshot_needs needs;
    size_t control = test->source.control_bytes, ring = test->source.ring_bytes;
    vyre_status expected = test->result == ORACLE_BAD_CONTROL
                               ? (control % 4 ? VYRE_E_WIRE_MISALIGNED : VYRE_E_WIRE_MISSING_WORD)
                               : (ring % 4 ? VYRE_E_WIRE_MISALIGNED : VYRE_E_WIRE_LENGTH);
    CHECK_MARK(needs);
    REQUIRE(vyre_snapshot_measure(&test->source, &needs, err) == expected);
    REQUIRE(vyre_snapshot_decode(&test->source, &test->snapshot, &needs, err) == expected);
    REQUIRE(CHECK_UNTOUCHED(needs));
    REQUIRE(memcmp(&before, &test->snapshot, sizeof before) == 0);
}

static inline void check_snapshot(const uint8_t *data, size_t size)
{
    struct check_case test;
    vyre_error *err = check_err(data, size);
    if (size < 4) return;
    check_open(&test, data, size);
    if (test.result != ORACLE_FINE) {
        check_malformed(&test, err);
    } else {
        vyre_snapshot_needs needs, most;
        REQUIRE(vyre_snapshot_measure(&test.source, &most, err) == VYRE_OK);
        uint32_t windows = data[0] >> 4, rows = data[1] >> 5;
        size_t scratch = most.scratch_bytes;
        if (rows < 7)
            REQUIRE(vyre_snapshot_scratch_size(rows, test.source.window_opcode_count, &scratch,
                                               err) == VYRE_OK);
        if (rows == 0 && scratch) scratch -= 1; /* not even the opcodes find room */
        check_storage(&test, data[1] & 2 ? 0 : most.slots, windows < 15 ? windows : most.windows,
                      scratch);
        check_too_small(&test, &needs, err);
        REQUIRE(needs.slots == most.slots && needs.windows == test.expected.window_count &&
                needs.scratch_bytes <= most.scratch_bytes);
        check_same_control(&test);
        check_same_slots(&test);
        check_same_windows(&test);
        check_queries(&test, err);
        check_figures(&test, err);
    }
    oracle_free(&test.expected);
    free(test.ring - test.shift);
    free(test.scratch);
    free(test.snapshot.slots);
    free(test.snapshot.windows);
}

#endif
