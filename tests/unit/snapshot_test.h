/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of snapshots share: a control buffer and a ring made of rows, and storage for what
 * is decoded from them.
 */
#ifndef VYRE_TESTS_SNAPSHOT_TEST_H
#define VYRE_TESTS_SNAPSHOT_TEST_H

#include "wire_test.h"

#define RING_SLOTS   64u
#define WINDOW_ROOM  64u
#define SCRATCH_ROOM 8192u

struct slot_row {
    uint32_t status, opcode, tenant, arg0, arg1;
};

/* The six slots of the window example: odd class, unknown state, tenants that disagree. */
TAP_UNUSED static const struct slot_row example_slots[] = {
    {1, 9, 3, 7, 0},  {2, 9, 4, 7, 1}, {3, 9, 3, 7, 5},
    {42, 3, 1, 7, 0}, {0, 3, 2, 2, 1}, {7, 9, 3, 8, 0},
};
TAP_UNUSED static const uint32_t example_opcodes[] = {9, 3, 9};

static unsigned char test_control[VYRE_CONTROL_BYTES + 8];
static unsigned char test_ring[RING_SLOTS * VYRE_SLOT_BYTES + 8];
static vyre_snapshot_slot test_slots[RING_SLOTS];
static vyre_snapshot_window test_windows[WINDOW_ROOM];
static unsigned char test_scratch[SCRATCH_ROOM];

TAP_UNUSED static void set_slots(const struct slot_row *rows, size_t count)
{
    memset(test_ring, 0, sizeof test_ring);
    for (size_t i = 0; i < count; i++) {
        put_word(test_ring, 16 * i, rows[i].status);
        put_word(test_ring, 16 * i + 1, rows[i].opcode);
        put_word(test_ring, 16 * i + 2, rows[i].tenant);
        put_word(test_ring, 16 * i + 3, 2);
        put_word(test_ring, 16 * i + 4, rows[i].arg0);
        put_word(test_ring, 16 * i + 5, rows[i].arg1);
        put_word(test_ring, 16 * i + 6, (uint32_t)(1000 + i));
    }
}

/* A source over the test's buffers, with so many slots. */
TAP_UNUSED static vyre_snapshot_source test_source(size_t slots)
{
    vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
    source.control = test_control;
    source.control_bytes = VYRE_CONTROL_BYTES;
    source.ring = test_ring;
    source.ring_bytes = slots * VYRE_SLOT_BYTES;
    source.scratch = test_scratch;
    source.scratch_bytes = sizeof test_scratch;
    return source;
}

TAP_UNUSED static vyre_snapshot test_snapshot(void)
{
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    snapshot.slots = test_slots;
    snapshot.slot_room = RING_SLOTS;
    snapshot.windows = test_windows;
    snapshot.window_room = WINDOW_ROOM;
    return snapshot;
}

#endif
