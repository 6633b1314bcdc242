/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Evidence: what is covered follows from what was noted, sums and ratios at their ends, and what a
 * decode had of storage, for decodes that succeed and for one that does not.
 */
#include "wire_test.h"

static void is_missing(const vyre_evidence *evidence, const char *expected)
{
    uint32_t families[VYRE_EVIDENCE_FAMILIES], count = 0;
    char names[64] = "";
    if (vyre_evidence_missing(evidence, families, &count, &err)) bail("%s", err.message);
    for (uint32_t i = 0; i < count; i++) {
        strcat(names, vyre_evidence_family_name(families[i]));
        strcat(names, " ");
    }
    is_str(names, expected, "missing: %s", expected);
    is_u64((uint64_t)vyre_evidence_complete(evidence), expected[0] == 0, "complete or not");
}

static void coverage(void)
{
    vyre_evidence evidence = VYRE_EVIDENCE_INIT;
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    vyre_snapshot_times times = {30, 700};
    is_missing(&evidence, "ring control copy residency ");
    works(vyre_evidence_note_copy(&evidence, 1024, 3072, &err));
    is_missing(&evidence, "ring control residency ");
    is_u64(vyre_evidence_copy_avoidance_bps(&evidence), 7500, "1024 copied, 3072 avoided");
    snapshot.occupancy = (vyre_occupancy){1, 2, 3, 4, 5, 6, 7, 8, 9};
    works(vyre_evidence_note_decode(&evidence, &snapshot, &times, &err));
    is_missing(&evidence, "residency ");
    is_u64(vyre_occupancy_total(&evidence.occupancy), 45, "occupancy 1 to 9: slots");
    is_u64(vyre_occupancy_depth(&evidence.occupancy), 40, "occupancy 1 to 9: depth");
    works(vyre_evidence_note_residency(&evidence, 0, &err));
    is_missing(&evidence, "");
    works(vyre_evidence_note_residency(&evidence, 5000, &err));
    works(vyre_evidence_note_decode(&evidence, &snapshot, &times, &err));
    is_u64(evidence.resident_device_bytes, 5000, "the last residency");
    is_u64(evidence.control_decode_ns, 60, "control decode time, of both");
    is_u64(evidence.ring_decode_ns, 1400, "ring decode time, of both");
    ok(evidence.readings[VYRE_EVIDENCE_RING] == 2 &&
           evidence.readings[VYRE_EVIDENCE_CONTROL] == 2 &&
           evidence.readings[VYRE_EVIDENCE_COPY] == 1 &&
           evidence.readings[VYRE_EVIDENCE_RESIDENCY] == 2,
       "how often each was read");
    evidence.schema = 2;
    is_u64((uint64_t)vyre_evidence_complete(&evidence), 0, "another schema is not complete");
    evidence = (vyre_evidence)VYRE_EVIDENCE_INIT;
    works(vyre_evidence_note_copy(&evidence, 0, 0, &err));
    works(vyre_evidence_note_decode(&evidence, &snapshot, &times, &err));
    is_missing(&evidence, "residency ");
    evidence.readings[VYRE_EVIDENCE_CONTROL] = 0;
    is_missing(&evidence, "control residency ");
    is_u64(vyre_evidence_copy_avoidance_bps(&evidence), 0, "no copies at all");
    is_str(vyre_evidence_family_name(4), "?", "no fifth family");
}

static void ends(void)
{
    vyre_evidence evidence = VYRE_EVIDENCE_INIT;
    works(vyre_evidence_note_copy(&evidence, UINT64_MAX, UINT64_MAX, &err));
    is_u64(vyre_evidence_copy_avoidance_bps(&evidence), 5000, "half of the greatest sum");
    works(vyre_evidence_note_copy(&evidence, 1, 1, &err));
    ok(evidence.host_copy_bytes == UINT64_MAX && evidence.host_copy_avoided_bytes == UINT64_MAX,
       "sums stay at their end");
    evidence.host_copy_bytes = 1;
    is_u64(vyre_evidence_copy_avoidance_bps(&evidence), 9999, "all but one byte");
    evidence.host_copy_bytes = 0;
    is_u64(vyre_evidence_copy_avoidance_bps(&evidence), 10000, "all bytes");
    evidence.host_copy_avoided_bytes = 0;
    evidence.host_copy_bytes = UINT64_MAX;
    is_u64(vyre_evidence_copy_avoidance_bps(&evidence), 0, "none");
    evidence.readings[VYRE_EVIDENCE_COPY] = UINT32_MAX;
    works(vyre_evidence_note_copy(&evidence, 0, 0, &err));
    is_u64(evidence.readings[VYRE_EVIDENCE_COPY], UINT32_MAX, "readings stay at their end, too");
    is_u64(vyre_evidence_copy_avoidance_bps(NULL), 0, "no evidence");
    is_u64((uint64_t)vyre_evidence_complete(NULL), 0, "is not complete");
}

static void refusals(void)
{
    vyre_evidence evidence = VYRE_EVIDENCE_INIT, strange = VYRE_EVIDENCE_INIT;
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    vyre_snapshot_times times = {1, 1};
    vyre_readback readback;
    uint32_t families[VYRE_EVIDENCE_FAMILIES] = {7}, count = 9;
    memset(&readback, 0, sizeof readback);
    strange.size = 8;
    watch(&evidence, sizeof evidence);
    watch(&strange, sizeof strange);
    watch(families, sizeof families);
    watch(&count, sizeof count);
    refused(VYRE_E_NULL, vyre_evidence_note_decode(NULL, &snapshot, &times, &err));
    refused(VYRE_E_NULL, vyre_evidence_note_decode(&evidence, NULL, &times, &err));
    refused(VYRE_E_NULL, vyre_evidence_note_decode(&evidence, &snapshot, NULL, &err));
    refused(VYRE_E_SIZE, vyre_evidence_note_decode(&strange, &snapshot, &times, &err));
    refused(VYRE_E_NULL, vyre_evidence_note_copy(NULL, 1, 1, &err));
    refused(VYRE_E_SIZE, vyre_evidence_note_copy(&strange, 1, 1, &err));
    refused(VYRE_E_NULL, vyre_evidence_note_readback(&evidence, NULL, &err));
    refused(VYRE_E_NULL, vyre_evidence_note_readback(NULL, &readback, &err));
    refused(VYRE_E_STATE, vyre_evidence_note_readback(&evidence, &readback, &err));
    refused(VYRE_E_NULL, vyre_evidence_note_residency(NULL, 1, &err));
    refused(VYRE_E_SIZE, vyre_evidence_note_residency(&strange, 1, &err));
    refused(VYRE_E_NULL, vyre_evidence_missing(NULL, families, &count, &err));
    refused(VYRE_E_NULL, vyre_evidence_missing(&evidence, NULL, &count, &err));
    refused(VYRE_E_NULL, vyre_evidence_missing(&evidence, families, NULL, &err));
    refused(VYRE_E_SIZE, vyre_evidence_missing(&strange, families, &count, &err));
    watch_nothing();
    is_u64(vyre_evidence_copy_avoidance_bps(&strange), 0, "of another version: no ratio");
    is_u64((uint64_t)vyre_evidence_complete(&strange), 0, "of another version: not complete");
    readback.counters.total_bytes = 4000;
    works(vyre_evidence_note_readback(&evidence, &readback, &err));
    ok(evidence.host_copy_bytes == 0 && evidence.host_copy_avoided_bytes == 4000 &&
           evidence.readings[VYRE_EVIDENCE_COPY] == 1,
       "a drain copies nothing");
}

/* A real decode, with enough storage and with too little. */
static void storage(void)
{
    static unsigned char control[VYRE_CONTROL_BYTES], ring[6 * 64], scratch[65536];
    static const uint32_t opcodes[] = {9};
    vyre_snapshot_slot slots[6];
    vyre_snapshot_window windows[6];
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
    vyre_snapshot_needs needs;
    vyre_snapshot_times times = {0, 0};
    vyre_decode_evidence found = VYRE_DECODE_EVIDENCE_INIT;
    for (uint32_t i = 0; i < 6; i++) {
        put_word(ring + 64 * i, VYRE_SLOT_OPCODE, 9);
        put_word(ring + 64 * i, VYRE_SLOT_ARG0, i / 2);
    }
    source.control = control;
    source.control_bytes = sizeof control;
    source.ring = ring;
    source.ring_bytes = sizeof ring;
    source.window_opcodes = opcodes;
    source.window_opcode_count = 1;
    source.scratch = scratch;
    source.scratch_bytes = sizeof scratch;
    source.times = &times;
    snapshot.slots = slots;
    snapshot.slot_room = 6;
    snapshot.windows = windows;
    snapshot.window_room = 6;
    works(vyre_snapshot_decode(&source, &snapshot, &needs, &err));
    works(vyre_decode_evidence_read(&snapshot, &needs, &found, &err));
    ok(found.schema == 1 && found.decoded_slot_count == 6 && found.slot_output_needed == 6 &&
           found.slot_output_capacity == 6,
       "slots: decoded, needed, there");
    ok(found.decoded_window_count == 3 && found.window_output_needed == 3 &&
           found.window_output_capacity == 6,
       "windows: decoded, needed, there");
    ok(found.window_accumulator_scratch_capacity >= 3 &&
           found.window_opcode_scratch_capacity == 1 && found.uses_caller_owned_scratch == 1,
       "scratch of the caller");
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 1, "enough");
    works(vyre_decode_evidence_read(&snapshot, NULL, &found, &err));
    ok(found.slot_output_needed == 6 && found.window_output_needed == 3, "what was decoded");
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 1, "is enough, too");

    vyre_evidence evidence = VYRE_EVIDENCE_INIT;
    works(vyre_evidence_note_decode(&evidence, &snapshot, &times, &err));
    ok(evidence.control_decode_ns == times.control_ns && evidence.ring_decode_ns == times.ring_ns,
       "times of a real decode");

    snapshot.window_room = 2;
    is_u64((uint64_t)vyre_snapshot_decode(&source, &snapshot, &needs, &err),
           (uint64_t)VYRE_E_TOO_SMALL, "room for two windows");
    works(vyre_decode_evidence_read(&snapshot, &needs, &found, &err));
    ok(found.window_output_needed >= 3 && found.window_output_capacity == 2,
       "too small: %u needed, %u there", found.window_output_needed, found.window_output_capacity);
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "too small");
}

static void storage_rules(void)
{
    static const vyre_decode_evidence good = {
        sizeof good, VYRE_EVIDENCE_SCHEMA, 4, 4, 4, 2, 2, 2, 0, 2, 1, 0};
    vyre_decode_evidence found = good;
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 1, "just enough");
    found.schema = 0;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "no schema");
    found = good;
    found.slot_output_capacity = 3;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "a slot too few");
    found = good;
    found.slot_output_needed = 5;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "a slot more needed");
    found = good;
    found.window_output_capacity = 1;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "a window too few");
    found = good;
    found.window_accumulator_scratch_capacity = 1;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "scratch for a window too few");
    found = good;
    found.uses_caller_owned_scratch = 0;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "somebody else's storage");
    found = good;
    found.size = 4;
    is_u64((uint64_t)vyre_decode_evidence_complete(&found), 0, "another version");
    is_u64((uint64_t)vyre_decode_evidence_complete(NULL), 0, "nothing");
    watch(&found, sizeof found);
    refused(VYRE_E_SIZE, vyre_decode_evidence_read(&snapshot, NULL, &found, &err));
    found = good;
    refused(VYRE_E_NULL, vyre_decode_evidence_read(NULL, NULL, &found, &err));
    refused(VYRE_E_NULL, vyre_decode_evidence_read(&snapshot, NULL, NULL, &err));
    snapshot.size = 4;
    refused(VYRE_E_SIZE, vyre_decode_evidence_read(&snapshot, NULL, &found, &err));
    watch_nothing();
    snapshot.size = sizeof snapshot;
    snapshot.slot_count = 1;
    works(vyre_decode_evidence_read(&snapshot, NULL, &found, &err));
    is_u64(found.uses_caller_owned_scratch, 0, "rows without storage");
}

int main(void)
{
    coverage();
    ends();
    refusals();
    storage();
    storage_rules();
    return done();
}
