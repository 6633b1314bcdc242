/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Evidence: figures with a count of the readings behind them, and what a decode had of storage. The
 * invariant: what is covered follows from the counts of readings, which only the calls that bring a
 * reading raise. Public.
 */
#include "vyre/evidence.h"

#include "base/checked.h"
#include "telemetry/ratio.h"
#include "telemetry/size.h"
#include "telemetry/snapshot.h"
#include "wire/bytes.h"

const char *vyre_evidence_family_name(uint32_t family)
{
    static const char *const names[VYRE_EVIDENCE_FAMILIES] = {"ring", "control", "copy",
                                                              "residency"};
    return family < VYRE_EVIDENCE_FAMILIES ? names[family] : "?";
}

static vyre_status check(const vyre_evidence *evidence, vyre_error *err)
{
    return vyre_size_check(evidence, sizeof *evidence, "vyre_evidence", err);
}

static void note(vyre_evidence *evidence, enum vyre_evidence_family family)
{
    evidence->readings[family] = vyre_add_saturating_u32(evidence->readings[family], 1);
}

static void add(uint64_t *sum, uint64_t amount)
{
    *sum = vyre_add_saturating_u64(*sum, amount);
}

vyre_status vyre_evidence_note_decode(vyre_evidence *evidence, const vyre_snapshot *snapshot,
                                      const vyre_snapshot_times *times, vyre_error *err)
{
    vyre_status status = check(evidence, err);
    if (!status) status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (!status) status = vyre_bytes_check_pointer(times, "times", err);
    if (status) return status;
    evidence->occupancy = snapshot->occupancy;
    add(&evidence->ring_decode_ns, times->ring_ns);
    note(evidence, VYRE_EVIDENCE_RING);
    add(&evidence->control_decode_ns, times->control_ns);
    note(evidence, VYRE_EVIDENCE_CONTROL);
    return VYRE_OK;
}

vyre_status vyre_evidence_note_copy(vyre_evidence *evidence, uint64_t copied_bytes,
                                    uint64_t avoided_bytes, vyre_error *err)
{
    vyre_status status = check(evidence, err);
    if (status) return status;
    add(&evidence->host_copy_bytes, copied_bytes);
    add(&evidence->host_copy_avoided_bytes, avoided_bytes);
    note(evidence, VYRE_EVIDENCE_COPY);
    return VYRE_OK;
}

vyre_status vyre_evidence_note_readback(vyre_evidence *evidence, const vyre_readback *readback,
                                        vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(readback, "readback", err);
    if (!status) status = check(evidence, err);
    if (status) return status;
    /* A debug log always has its bytes, so 0 is a readback that never was. */
    if (readback->counters.total_bytes == 0)
        return vyre_fail_with(err, VYRE_E_STATE, "call vyre_readback_drain first",
                              "the readback has not received anything yet");
    return vyre_evidence_note_copy(evidence, 0, readback->counters.total_bytes, err);
}

vyre_status vyre_evidence_note_residency(vyre_evidence *evidence, uint64_t device_bytes,
                                         vyre_error *err)
{
    vyre_status status = check(evidence, err);
    if (status) return status;
    evidence->resident_device_bytes = device_bytes;
    note(evidence, VYRE_EVIDENCE_RESIDENCY);
    return VYRE_OK;
}

vyre_status vyre_evidence_missing(const vyre_evidence *evidence, uint32_t *families,
                                  uint32_t *count, vyre_error *err)
{
    vyre_status status = check(evidence, err);
    if (!status) status = vyre_bytes_check_pointer(families, "families", err);
    if (!status) status = vyre_bytes_check_pointer(count, "count", err);
    if (status) return status;
    uint32_t found = 0;
    for (uint32_t family = 0; family < VYRE_EVIDENCE_FAMILIES; family++)
        if (evidence->readings[family] == 0) families[found++] = family;
    *count = found;
    return VYRE_OK;
}

int vyre_evidence_complete(const vyre_evidence *evidence)
{
    uint32_t families[VYRE_EVIDENCE_FAMILIES], count;
    if (vyre_evidence_missing(evidence, families, &count, NULL)) return 0;
    return count == 0 && evidence->schema == VYRE_EVIDENCE_SCHEMA;
}

uint32_t vyre_evidence_copy_avoidance_bps(const vyre_evidence *evidence)
{
    if (check(evidence, NULL)) return 0;
    vyre_u128 all = (vyre_u128)evidence->host_copy_bytes + evidence->host_copy_avoided_bytes;
    return all == 0 ? 0 : vyre_ratio_bps(evidence->host_copy_avoided_bytes, all);
}

static uint32_t greatest(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

vyre_status vyre_decode_evidence_read(const vyre_snapshot *snapshot,
                                      const vyre_snapshot_needs *needs,
                                      vyre_decode_evidence *evidence, vyre_error *err)
{
    vyre_status status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (!status) status = vyre_size_check(evidence, sizeof *evidence, "vyre_decode_evidence", err);
    if (status) return status;
    *evidence = (vyre_decode_evidence){
        .size = evidence->size,
        .schema = VYRE_EVIDENCE_SCHEMA,
        .decoded_slot_count = snapshot->slot_count,
        .slot_output_needed = needs ? needs->slots : snapshot->slot_count,
        .slot_output_capacity = snapshot->slot_room,
        .decoded_window_count = snapshot->window_count,
        .window_output_needed = needs ? needs->windows : snapshot->window_count,
        .window_output_capacity = snapshot->window_room,
        .window_opcode_scratch_capacity = snapshot->scratch_opcodes,
        .window_accumulator_scratch_capacity = snapshot->scratch_windows,
        .uses_caller_owned_scratch = (snapshot->slots || snapshot->slot_count == 0) &&
                                     (snapshot->windows || snapshot->window_count == 0),
    };
    return VYRE_OK;
}

int vyre_decode_evidence_complete(const vyre_decode_evidence *evidence)
{
    if (vyre_size_check(evidence, sizeof *evidence, "vyre_decode_evidence", NULL)) return 0;
    uint32_t slots = greatest(evidence->decoded_slot_count, evidence->slot_output_needed);
    uint32_t windows = greatest(evidence->decoded_window_count, evidence->window_output_needed);
    return evidence->schema == VYRE_EVIDENCE_SCHEMA && evidence->uses_caller_owned_scratch &&
           evidence->slot_output_capacity >= slots && evidence->window_output_capacity >= windows &&
           evidence->window_accumulator_scratch_capacity >= windows;
}
