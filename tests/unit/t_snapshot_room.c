/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The storage of snapshots: every room from none to enough, what a refusal says is needed, that it
 * leaves everything alone, structures of other sizes, clearing, and many windows.
 */
#include "snapshot_test.h"

static vyre_snapshot_needs needs;

static void measures(void)
{
    vyre_snapshot_source source = test_source(6);
    size_t bytes = 0;
    works(vyre_snapshot_measure(&source, &needs, &err));
    ok(needs.slots == 6 && needs.windows == 0 && needs.scratch_bytes == 0, "rows for six slots");
    source.omit = VYRE_SNAPSHOT_OMIT_SLOTS;
    source.window_opcodes = example_opcodes;
    source.window_opcode_count = 3;
    works(vyre_snapshot_measure(&source, &needs, &err));
    works(vyre_snapshot_scratch_size(6, 3, &bytes, &err));
    ok(needs.slots == 0 && needs.windows == 6 && needs.scratch_bytes == bytes && bytes > 0,
       "six windows and no rows");
    works(vyre_snapshot_scratch_size(1000000, 0, &bytes, &err));
    is_u64(bytes, 0, "without opcodes no scratch");

    watch(&bytes, sizeof bytes);
    watch(&needs, sizeof needs);
    refused(VYRE_E_OVERFLOW, vyre_snapshot_scratch_size(1, SIZE_MAX, &bytes, &err));
    refused(VYRE_E_OVERFLOW, vyre_snapshot_scratch_size(1, SIZE_MAX / 4 + 2, &bytes, &err));
    refused(VYRE_E_NULL, vyre_snapshot_scratch_size(1, 1, NULL, &err));
    refused(VYRE_E_NULL, vyre_snapshot_measure(&source, NULL, &err));
    refused(VYRE_E_NULL, vyre_snapshot_measure(NULL, &needs, &err));
    source.window_opcode_count = SIZE_MAX;
    refused(VYRE_E_OVERFLOW, vyre_snapshot_measure(&source, &needs, &err));
    watch_nothing();
}

/* Decodes the example with every combination of rooms; what is refused must be refused whole. */
static void every_room(void)
{
    size_t head, full;
    uint32_t right = 0, tried = 0;
    set_slots(example_slots, 6);
    works(vyre_snapshot_scratch_size(0, 3, &head, &err));
    works(vyre_snapshot_scratch_size(6, 3, &full, &err));
    size_t row = (full - head) / 6;
    for (uint32_t slots = 0; slots <= 7; slots++)
        for (uint32_t windows = 0; windows <= 7; windows++)
            for (uint32_t rows = 0; rows <= 8; rows++) {
                vyre_snapshot_source source = test_source(6);
                vyre_snapshot snapshot = test_snapshot();
                source.window_opcodes = example_opcodes;
                source.window_opcode_count = 3;
                source.scratch_bytes = rows == 0 ? head - 1 : head + (rows - 1) * row;
                snapshot.slot_room = slots;
                snapshot.window_room = windows;
                memset(test_slots, 0x5A, sizeof test_slots);
                memset(test_windows, 0x5A, sizeof test_windows);
                watch(&snapshot, sizeof snapshot);
                watch(test_slots, sizeof test_slots);
                watch(test_windows, sizeof test_windows);
                watch_begin();
                vyre_status status = vyre_snapshot_decode(&source, &snapshot, &needs, &err);
                int fits = slots >= 6 && windows >= 4 && rows >= 5;
                int said = needs.slots == 6 && needs.windows >= 4 && needs.windows <= 6 &&
                           (rows < 5 || needs.windows == 4) && needs.scratch_bytes <= full &&
                           needs.scratch_bytes >= head + 4 * row;
                tried++;
                right += fits ? status == VYRE_OK && snapshot.window_count == 4 && said
                              : status == VYRE_E_TOO_SMALL && said && watch_unchanged();
                watch_nothing();
            }
    is_u64(right, tried, "rooms that are enough are taken, others refused with what is needed");
}

static void refusals(void)
{
    vyre_snapshot_source source = test_source(6);
    vyre_snapshot snapshot = test_snapshot();
    set_slots(example_slots, 6);
    snapshot.slot_room = 5;
    memset(&needs, 0x5A, sizeof needs);
    watch(&snapshot, sizeof snapshot);
    watch(test_slots, sizeof test_slots);
    refused(VYRE_E_TOO_SMALL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    ok(strstr(err.message, "need 6 rows (given 5)") != NULL, "what is needed, what was given: %s",
       err.message);
    is_u64(needs.slots, 6, "the same as a number");
    refused(VYRE_E_TOO_SMALL, vyre_snapshot_decode(&source, &snapshot, NULL, &err));

    watch(&needs, sizeof needs);
    snapshot.slots = NULL;
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    snapshot = test_snapshot();
    snapshot.windows = NULL;
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    snapshot = test_snapshot();
    source.scratch = NULL;
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    source = test_source(6);
    source.window_opcode_count = 1;
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    source = test_source(6);
    source.ring = NULL;
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    source = test_source(6);
    source.control = NULL;
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    source = test_source(6);
    source.omit = 2;
    refused(VYRE_E_RESERVED, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    source = test_source(6);
    source.size = 8;
    refused(VYRE_E_SIZE, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    source = test_source(6);
    snapshot.size = (uint32_t)sizeof snapshot - 1;
    refused(VYRE_E_SIZE, vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    refused(VYRE_E_SIZE, vyre_snapshot_clear(&snapshot, &err));
    refused(VYRE_E_NULL, vyre_snapshot_decode(NULL, &snapshot, &needs, &err));
    refused(VYRE_E_NULL, vyre_snapshot_decode(&source, NULL, &needs, &err));
    refused(VYRE_E_NULL, vyre_snapshot_clear(NULL, &err));
    watch_nothing();
}

/* A caller built against a later version, whose structures are longer. */
static void longer_structures(void)
{
    struct {
        vyre_snapshot_source known;
        uint64_t more;
    } source = {test_source(6), 0};
    struct {
        vyre_snapshot known;
        uint64_t more;
    } snapshot = {test_snapshot(), 77};
    source.known.size = (uint32_t)sizeof source;
    snapshot.known.size = (uint32_t)sizeof snapshot;
    works(vyre_snapshot_decode(&source.known, &snapshot.known, NULL, &err));
    is_u64(snapshot.more, 77, "what this version does not know stays");
    source.more = 1;
    refused_at(VYRE_E_RESERVED, VYRE_PLACE_BYTE, sizeof source.known,
               vyre_snapshot_decode(&source.known, &snapshot.known, NULL, &err));
}

static void clearing(void)
{
    vyre_snapshot_source source = test_source(6);
    vyre_snapshot snapshot = test_snapshot();
    const vyre_snapshot fresh = test_snapshot();
    vyre_snapshot_times times = {~0ull, ~0ull};
    source.window_opcodes = example_opcodes;
    source.window_opcode_count = 3;
    source.times = &times;
    set_slots(example_slots, 6);
    put_word(test_control, 1, 5);
    works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    ok(snapshot.slot_count == 6 && snapshot.window_count == 4 && snapshot.control.done_count == 5,
       "a full snapshot");
    ok(times.control_ns != ~0ull && times.ring_ns != ~0ull, "the times of both halves");
    works(vyre_snapshot_clear(&snapshot, &err));
    ok(memcmp(&snapshot, &fresh, sizeof fresh) == 0, "cleared: as at first, with its storage");

    times.control_ns = times.ring_ns = 77;
    snapshot.slot_room = 1;
    refused(VYRE_E_TOO_SMALL, vyre_snapshot_decode(&source, &snapshot, NULL, &err));
    ok(times.control_ns == 77 && times.ring_ns == 77, "no times of a decode that failed");
    memset(test_control, 0, sizeof test_control);
}

/* A window a slot, so that the table of windows grows many times, in three orders. */
static void many_windows(void)
{
    enum { SLOTS = 5000 };
    static const uint32_t opcodes[] = {0x10000, 70000};
    unsigned char *ring = calloc(SLOTS, VYRE_SLOT_BYTES);
    vyre_snapshot_window *windows = calloc(SLOTS, sizeof *windows);
    vyre_snapshot_source source = test_source(0);
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    source.ring = ring;
    source.ring_bytes = (size_t)SLOTS * VYRE_SLOT_BYTES;
    source.omit = VYRE_SNAPSHOT_OMIT_SLOTS;
    source.window_opcodes = opcodes;
    source.window_opcode_count = 2;
    works(vyre_snapshot_measure(&source, &needs, &err));
    source.scratch = malloc(needs.scratch_bytes);
    source.scratch_bytes = needs.scratch_bytes;
    snapshot.windows = windows;
    snapshot.window_room = SLOTS;
    if (!ring || !windows || !source.scratch) bail("no memory");
    static const uint32_t steps[] = {1, 4999, 1237};
    for (size_t order = 0; order < COUNT_OF(steps); order++) {
        for (uint32_t i = 0; i < SLOTS; i++) {
            uint32_t number = (uint32_t)((uint64_t)i * steps[order] % SLOTS);
            put_word(ring, 16 * i, 1 + i % 2);
            put_word(ring, 16 * i + 1, opcodes[number % 2]);
            put_word(ring, 16 * i + 2, number);
            put_word(ring, 16 * i + 4, (number / 2) * 0x00010003u);
        }
        works(vyre_snapshot_decode(&source, &snapshot, NULL, &err));
        int right = snapshot.window_count == SLOTS;
        for (uint32_t i = 0; right && i < SLOTS; i++)
            right = windows[i].tenant == windows[i].ticket / 0x00010003u * 2 + i % 2 &&
                    (i == 0 || windows[i - 1].ticket < windows[i].ticket ||
                     (windows[i - 1].ticket == windows[i].ticket &&
                      windows[i - 1].opcode < windows[i].opcode));
        ok(right, "%d windows in order, from steps of %u", SLOTS, steps[order]);
    }
    free(ring);
    free(windows);
    free(source.scratch);
}

int main(void)
{
    measures();
    every_room();
    refusals();
    longer_structures();
    clearing();
    many_windows();
    return done();
}
