/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Snapshots of rings whose every word is known: control words, rows, states, windows and their
 * order, queries. t_snapshot_room.c is about storage, t_snapshot_random.c about everything else
 * that bytes can say.
 */
#include "snapshot_test.h"

static void window_is(const vyre_snapshot *snapshot, uint32_t index,
                      const vyre_snapshot_window *expected)
{
    const vyre_snapshot_window *got = &snapshot->windows[index];
    ok(index < snapshot->window_count && memcmp(got, expected, sizeof *got) == 0,
       "window %u is (%u, %u)", index, expected->ticket, expected->opcode);
}

static void example_windows(const vyre_snapshot *snapshot)
{
    static const vyre_snapshot_window expected[] = {
        {.ticket = 2, .opcode = 3, .tenant = 2, .lookahead = 1},
        {.ticket = 7, .opcode = 3, .tenant = 1, .required = 1},
        {.ticket = 7,
         .opcode = 9,
         .tenant = 3,
         .required = 1,
         .lookahead = 1,
         .published = 1,
         .claimed = 1,
         .done = 1,
         .active = 1},
        {.ticket = 8, .opcode = 9, .tenant = 3, .required = 1, .fault = 1},
    };
    is_u64(snapshot->window_count, 4, "four windows");
    for (uint32_t i = 0; i < 4; i++)
        window_is(snapshot, i, &expected[i]);
}

static void example(void)
{
    uint32_t opcodes[3];
    vyre_snapshot_source source = test_source(6);
    vyre_snapshot snapshot = test_snapshot();
    memcpy(opcodes, example_opcodes, sizeof opcodes);
    source.window_opcodes = opcodes;
    source.window_opcode_count = 3;
    set_slots(example_slots, 6);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    example_windows(&snapshot);
    ok(memcmp(opcodes, example_opcodes, sizeof opcodes) == 0, "the list of opcodes is as it was");
    is_u64(snapshot.scratch_opcodes, 2, "an opcode that is named twice counts once");

    const vyre_occupancy expected = {
        .empty = 1, .published = 1, .claimed = 1, .done = 1, .fault = 1, .unknown = 1};
    ok(memcmp(&snapshot.occupancy, &expected, sizeof expected) == 0,
       "one slot in each of six states");
    is_u64(vyre_occupancy_total(&snapshot.occupancy), 6, "total");
    is_u64(vyre_occupancy_depth(&snapshot.occupancy), 4, "depth");
    is_u64(snapshot.slot_count, 6, "a row a slot, empty ones too");
    for (uint32_t i = 0; i < 6; i++) {
        const struct slot_row *row = &example_slots[i];
        const vyre_snapshot_slot slot = {.status = row->status,
                                         .opcode = row->opcode,
                                         .tenant = row->tenant,
                                         .priority = 2,
                                         .args = {row->arg0, row->arg1, 1000 + i},
                                         .slot = i};
        ok(memcmp(&snapshot.slots[i], &slot, sizeof slot) == 0, "row %u", i);
    }

    static const uint32_t sorted[] = {3, 9};
    source.window_opcodes = sorted;
    source.window_opcode_count = 2;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    example_windows(&snapshot);
}

static void control_words(void)
{
    vyre_snapshot_control control;
    memset(test_control, 0, sizeof test_control);
    put_word(test_control, 0, 7);
    put_word(test_control, 1, 0xFFFFFFFFu);
    put_word(test_control, 128, 12);
    put_word(test_control, 96, 5);
    put_word(test_control, 96 + 31, 6);
    for (uint32_t i = 0; i < 32; i++)
        put_word(test_control, 64 + i, 100 + i);
    for (uint32_t i = 0; i < 5; i++)
        put_word(test_control, 136 + i, 200 + i);
    works(vyre_snapshot_control_decode(test_control, 640, &control, &err));
    is_u64(control.shutdown, 1, "any word but 0 is a shutdown");
    is_u64(control.done_count, 0xFFFFFFFFu, "done count");
    is_u64(control.epoch, 12, "epoch");
    is_u64(control.metric_count, 2, "two metrics that are not 0");
    ok(control.metrics[0].opcode == 0 && control.metrics[0].count == 5 &&
           control.metrics[1].opcode == 31 && control.metrics[1].count == 6,
       "first and last metric");
    int right = 1;
    for (uint32_t i = 0; i < 32; i++)
        right &= control.tenant_fairness[i] == 100 + i;
    for (uint32_t i = 0; i < 5; i++)
        right &= control.priority_fairness[i] == 200 + i;
    ok(right, "fairness of 32 tenants and 5 priorities");
    works(vyre_snapshot_control_decode(test_control, 644, &control, &err));

    watch(&control, sizeof control);
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 159,
               vyre_snapshot_control_decode(test_control, 636, &control, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 640,
               vyre_snapshot_control_decode(test_control, 641, &control, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 0,
               vyre_snapshot_control_decode(NULL, 0, &control, &err));
    refused(VYRE_E_NULL, vyre_snapshot_control_decode(NULL, 640, &control, &err));
    refused(VYRE_E_NULL, vyre_snapshot_control_decode(test_control, 640, NULL, &err));
    watch_nothing();
    memset(test_control, 0, sizeof test_control);
}

static void bad_lengths(void)
{
    vyre_snapshot_source source = test_source(6);
    vyre_snapshot snapshot = test_snapshot();
    set_slots(example_slots, 6);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    watch(&snapshot, sizeof snapshot);
    watch(test_slots, sizeof test_slots);
    watch(test_windows, sizeof test_windows);
    source.ring_bytes = 6 * 64 - 4;
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 5 * 64,
               vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    ok(strstr(err.fix, "whole slots") != NULL, "the fix speaks of the ring");
    source.ring_bytes = 6 * 64 - 1;
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 6 * 64 - 4,
               vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    source.ring_bytes = (size_t)268435456 * 64;
    refused(VYRE_E_WIRE_OVERFLOW, vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    source.control_bytes = 600;
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 150,
               vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    ok(strstr(err.fix, "control buffer") != NULL, "the control buffer is looked at first");
    watch_nothing();
}

static void unaligned(void)
{
    vyre_snapshot_source source = test_source(6);
    vyre_snapshot snapshot = test_snapshot();
    vyre_snapshot_slot aligned[6];
    source.window_opcodes = example_opcodes;
    source.window_opcode_count = 3;
    set_slots(example_slots, 6);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    memcpy(aligned, snapshot.slots, sizeof aligned);
    for (size_t shift = 1; shift < 8; shift++) {
        set_slots(example_slots, 6);
        memmove(test_ring + shift, test_ring, 6 * 64);
        memset(test_control, 0, sizeof test_control);
        put_word(test_control + shift, 1, 4711);
        source.ring = test_ring + shift;
        source.control = test_control + shift;
        source.scratch = test_scratch + shift;
        source.scratch_bytes = sizeof test_scratch - shift;
        memset(test_slots, 0, sizeof test_slots);
        memset(test_windows, 0, sizeof test_windows);
        works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
        ok(memcmp(aligned, snapshot.slots, sizeof aligned) == 0 &&
               snapshot.control.done_count == 4711,
           "the same, %zu bytes further", shift);
        example_windows(&snapshot);
    }
    memset(test_control, 0, sizeof test_control);
}

static void empty_rings(void)
{
    vyre_snapshot_source source = test_source(0);
    vyre_snapshot snapshot = test_snapshot();
    static const vyre_occupancy none;
    source.window_opcodes = example_opcodes;
    source.window_opcode_count = 3;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    source.ring = NULL;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    ok(snapshot.slot_count == 0 && snapshot.window_count == 0 &&
           memcmp(&snapshot.occupancy, &none, sizeof none) == 0,
       "a ring without slots");

    /* Zeroed slots belong to window (0, 0) where opcode 0 is asked for. */
    static const uint32_t zero = 0;
    const vyre_snapshot_window expected = {.required = 10};
    set_slots(NULL, 0);
    source = test_source(10);
    source.window_opcodes = &zero;
    source.window_opcode_count = 1;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    is_u64(snapshot.window_count, 1, "ten zeroed slots are one window of opcode 0");
    window_is(&snapshot, 0, &expected);

    /* A slot that was used and is empty again still shows its words. */
    static const struct slot_row stale = {0, 9, 5, 77, 1};
    set_slots(&stale, 1);
    source.window_opcodes = example_opcodes;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    is_u64(snapshot.window_count, 1, "a stale slot makes a window");
    ok(snapshot.windows[0].ticket == 77 && snapshot.windows[0].lookahead == 1 &&
           snapshot.windows[0].active == 0 && snapshot.slots[0].args[0] == 77,
       "its words are shown as they are");

    source.window_opcode_count = 0;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    is_u64(snapshot.window_count, 0, "no opcodes, no windows");
}

/* Opcodes with all values that a table might take for a mark of its own. */
static void odd_opcodes(void)
{
    static const uint32_t opcodes[] = {0xFFFFFFFFu, 0, 0x80000001u, 0x9E3779B1u, 1};
    for (uint32_t first = 0; first < 5; first++) {
        uint32_t order[5];
        struct slot_row rows[8] = {{0}};
        for (uint32_t i = 0; i < 5; i++) {
            order[i] = opcodes[(first + i) % 5];
            rows[i] = (struct slot_row){1, opcodes[i], i, 0xFFFFFFFFu - i, 0};
        }
        rows[5] = (struct slot_row){1, 2, 0, 1, 0};
        rows[6] = (struct slot_row){1, 0xFFFFFFFEu, 0, 1, 0};
        rows[7] = (struct slot_row){1, 0x80000000u, 0, 1, 0};
        set_slots(rows, 8);
        vyre_snapshot_source source = test_source(8);
        vyre_snapshot snapshot = test_snapshot();
        source.window_opcodes = order;
        source.window_opcode_count = 5;
        works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
        int right = snapshot.window_count == 5 && snapshot.scratch_opcodes == 5;
        for (uint32_t i = 0; right && i < 5; i++)
            right =
                snapshot.windows[i].opcode == opcodes[4 - i] && snapshot.windows[i].tenant == 4 - i;
        ok(right, "five opcodes from all over the range, %u first, and no other", first);
    }
}

static void queries(void)
{
    vyre_snapshot_source source = test_source(9);
    vyre_snapshot snapshot = test_snapshot();
    vyre_snapshot_slot slots[5];
    vyre_snapshot_window windows[2];
    uint32_t count = 0;
    struct slot_row rows[9];
    static const uint32_t opcode = 30;
    for (uint32_t i = 0; i < 9; i++)
        rows[i] = (struct slot_row){i, 30, 0, i, 0};
    set_slots(rows, 9);
    source.window_opcodes = &opcode;
    source.window_opcode_count = 1;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    works(vyre_snapshot_active_slots(&snapshot, slots, 5, &count, &err));
    is_u64(count, 5, "five active slots of nine");
    ok(slots[0].slot == 1 && slots[1].slot == 2 && slots[2].slot == 4 && slots[3].slot == 5 &&
           slots[4].slot == 6,
       "published, claimed, wait_io, yield, requeue");
    memset(slots, 0x5A, sizeof slots);
    watch(slots, sizeof slots);
    watch(windows, sizeof windows);
    refused(VYRE_E_TOO_SMALL, vyre_snapshot_active_slots(&snapshot, slots, 4, &count, &err));
    is_u64(count, 5, "how many there are");
    count = 0;
    refused(VYRE_E_TOO_SMALL, vyre_snapshot_active_windows(&snapshot, windows, 2, &count, &err));
    is_u64(count, 5, "five active windows");
    refused(VYRE_E_NULL, vyre_snapshot_active_slots(&snapshot, NULL, 5, &count, &err));
    refused(VYRE_E_NULL, vyre_snapshot_active_slots(&snapshot, slots, 5, NULL, &err));
    refused(VYRE_E_NULL, vyre_snapshot_active_slots(NULL, slots, 5, &count, &err));
    refused(VYRE_E_NULL, vyre_snapshot_active_windows(&snapshot, NULL, 2, &count, &err));
    watch_nothing();

    source.omit = VYRE_SNAPSHOT_OMIT_SLOTS;
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    refused(VYRE_E_STATE, vyre_snapshot_active_slots(&snapshot, slots, 5, &count, &err));
    ok(snapshot.slot_count == 0 && snapshot.occupancy.claimed == 1 && snapshot.window_count == 9,
       "without rows there are still states and windows");
}

static void names(void)
{
    static const char *const expected[] = {"empty",   "published", "claimed", "done",
                                           "wait_io", "yield",     "requeue", "fault"};
    int active = 0;
    for (uint32_t status = 0; status < 8; status++) {
        is_str(vyre_slot_status_name(status), expected[status], "status %u", status);
        active |= vyre_slot_status_active(status) << status;
    }
    is_u64(active, 0x76, "published, claimed, wait_io, yield and requeue are active");
    is_str(vyre_slot_status_name(8), "unknown", "status 8");
    is_str(vyre_slot_status_name(UINT32_MAX), "unknown", "the greatest status");
    ok(!vyre_slot_status_active(32 + 1) && !vyre_slot_status_active(UINT32_MAX),
       "what is unknown is not active");
}

int main(void)
{
    example();
    control_words();
    bad_lengths();
    unaligned();
    empty_rings();
    odd_opcodes();
    queries();
    names();
    return done();
}
