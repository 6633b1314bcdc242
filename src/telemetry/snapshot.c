/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Snapshots: checking the two buffers and the caller's storage, and decoding. Nothing of a snapshot
 * changes before it is certain that all of it will fit. Public.
 */
#include "telemetry/snapshot.h"

#include <string.h>

#include "base/clock.h"
#include "runtime/options.h"
#include "telemetry/size.h"

#define KNOWN_OMISSIONS ((uint32_t)VYRE_SNAPSHOT_OMIT_SLOTS)

vyre_status vyre_snapshot_check(const vyre_snapshot *snapshot, const char *name, vyre_error *err)
{
    return vyre_size_check(snapshot, sizeof *snapshot, name, err);
}

vyre_status vyre_snapshot_control_decode(const void *bytes, size_t length,
                                         vyre_snapshot_control *control, vyre_error *err)
{
    vyre_wire_control header;
    vyre_snapshot_control out;
    size_t metrics;
    vyre_status status = vyre_bytes_check_pointer(control, "control", err);
    if (status) return status;
    status = vyre_wire_control_decode(bytes, length, &header, err);
    if (status) {
        vyre_fail_fix(err, "pass the whole control buffer: %u bytes, then whole observable words",
                      VYRE_CONTROL_BYTES);
        return status;
    }
    memset(&out, 0, sizeof out);
    out.shutdown = header.shutdown != 0;
    out.done_count = header.done_count;
    out.epoch = header.epoch;
    status = vyre_wire_metrics_read(bytes, length, out.metrics, &metrics, err);
    if (status) return status;
    out.metric_count = (uint32_t)metrics;
    static_assert(sizeof out.tenant_fairness == sizeof header.tenant_fairness, "all tenants");
    memcpy(out.tenant_fairness, header.tenant_fairness, sizeof out.tenant_fairness);
    memcpy(out.priority_fairness, header.priority_fairness, sizeof out.priority_fairness);
    *control = out;
    return VYRE_OK;
}

/* Reads the source and checks all that can be known without the bytes, the control buffer's length
 * excepted. */
static vyre_status read_source(const vyre_snapshot_source *given, vyre_snapshot_source *source,
                               vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(given, "source", err);
    if (status) return status;
    status = vyre_options_read(source, given, sizeof *source, "source", err);
    if (status) return status;
    if (source->omit & ~KNOWN_OMISSIONS)
        return vyre_fail(err, VYRE_E_RESERVED, "source.omit is 0x%x, known are 0x%x", source->omit,
                         KNOWN_OMISSIONS);
    status = vyre_bytes_check_list(source->window_opcodes, source->window_opcode_count,
                                   "source.window_opcodes", err);
    if (status) return status;
    return vyre_bytes_check_list(source->scratch, source->scratch_bytes, "source.scratch", err);
}

static vyre_status check_ring(const vyre_snapshot_source *source, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_ring(source->ring, source->ring_bytes, err);
    if (status == VYRE_E_WIRE_MISALIGNED || status == VYRE_E_WIRE_LENGTH)
        vyre_fail_fix(err, "pass a ring of whole slots of %u bytes", VYRE_SLOT_BYTES);
    return status;
}

vyre_status vyre_snapshot_scratch_size(uint32_t windows, size_t opcodes, size_t *bytes,
                                       vyre_error *err)
{
    size_t size;
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (status) return status;
    if (!vyre_windows_size(windows, opcodes, &size))
        return vyre_fail(err, VYRE_E_OVERFLOW,
                         "%u windows and %zu opcodes take more bytes than size_t counts", windows,
                         opcodes);
    *bytes = size;
    return VYRE_OK;
}

/* What is needed for so many windows. */
static vyre_status set_needs(const vyre_snapshot_source *source, uint64_t windows,
                             vyre_snapshot_needs *needs, vyre_error *err)
{
    size_t slots = source->ring_bytes / VYRE_SLOT_BYTES;
    *needs = (vyre_snapshot_needs){
        .slots = source->omit & VYRE_SNAPSHOT_OMIT_SLOTS ? 0 : (uint32_t)slots,
        .windows = (uint32_t)windows, /* no more than slots, which fit */
    };
    return vyre_snapshot_scratch_size(needs->windows, source->window_opcode_count,
                                      &needs->scratch_bytes, err);
}

vyre_status vyre_snapshot_measure(const vyre_snapshot_source *source, vyre_snapshot_needs *needs,
                                  vyre_error *err)
{
    vyre_snapshot_source known;
    vyre_snapshot_needs most;
    vyre_snapshot_control control;
    vyre_status status = vyre_bytes_check_pointer(needs, "needs", err);
    if (status) return status;
    status = read_source(source, &known, err);
    if (status) return status;
    status = vyre_snapshot_control_decode(known.control, known.control_bytes, &control, err);
    if (status) return status;
    status = check_ring(&known, err);
    if (status) return status;
    status = set_needs(&known, known.window_opcode_count ? known.ring_bytes / VYRE_SLOT_BYTES : 0,
                       &most, err);
    if (status) return status;
    *needs = most;
    return VYRE_OK;
}

static vyre_status too_small(const vyre_snapshot_source *source, const vyre_snapshot *snapshot,
                             const vyre_snapshot_needs *needs, vyre_error *err)
{
    vyre_fail(err, VYRE_E_TOO_SMALL,
              "%u slots need %u rows (given %u); windows need %u rows (given %u) and %zu bytes of "
              "scratch (given %zu)",
              (uint32_t)(source->ring_bytes / VYRE_SLOT_BYTES), needs->slots, snapshot->slot_room,
              needs->windows, snapshot->window_room, needs->scratch_bytes, source->scratch_bytes);
    return VYRE_E_TOO_SMALL;
}

/* A decode on its way: what is wanted, and what has been read. */
struct decode {
    vyre_snapshot_source source;
    const vyre_snapshot *snapshot; /* for its storage */
    struct window_set set;
    struct snapshot_read read;
    vyre_snapshot_needs needs;
};

static bool fits(const struct decode *decode)
{
    return decode->needs.slots <= decode->snapshot->slot_room &&
           decode->needs.windows <= decode->snapshot->window_room && decode->set.missed == 0;
}

/* Reads the ring; the rows of slots only once nothing can fail any more. */
static vyre_status read_ring(struct decode *decode, vyre_error *err)
{
    const vyre_snapshot *snapshot = decode->snapshot;
    struct snapshot_read *read = &decode->read;
    uint32_t slots = (uint32_t)(decode->source.ring_bytes / VYRE_SLOT_BYTES);
    bool with_rows = !(decode->source.omit & VYRE_SNAPSHOT_OMIT_SLOTS);
    bool with_windows = decode->source.window_opcode_count != 0;
    vyre_status status;
    read->ring = decode->source.ring;
    read->slots = slots;

    if (with_windows && !vyre_windows_begin(&decode->set, &decode->source)) {
        status = set_needs(&decode->source, slots, &decode->needs, err);
        return status ? status : too_small(&decode->source, snapshot, &decode->needs, err);
    }
    bool certain = (!with_rows || snapshot->slot_room >= slots) &&
                   (!with_windows || (decode->set.room >= slots && snapshot->window_room >= slots));
    if (with_windows) read->windows = &decode->set;
    if (certain && with_rows) read->rows = snapshot->slots;
    if (certain || with_windows) vyre_snapshot_read(read);

    status =
        set_needs(&decode->source, decode->set.count + decode->set.missed, &decode->needs, err);
    if (status) return status;
    if (!fits(decode)) return too_small(&decode->source, snapshot, &decode->needs, err);
    if (!certain && with_rows) {
        read->windows = NULL;
        read->rows = snapshot->slots;
        vyre_snapshot_read(read);
    }
    return VYRE_OK;
}

static void keep(const struct decode *decode, const vyre_snapshot_control *control,
                 vyre_snapshot *snapshot)
{
    snapshot->omitted = decode->source.omit;
    snapshot->slot_count = decode->needs.slots;
    snapshot->window_count = decode->set.count;
    snapshot->scratch_windows = decode->set.room;
    snapshot->scratch_opcodes = decode->set.opcode_count;
    snapshot->occupancy = decode->read.occupancy;
    snapshot->control = *control;
}

static vyre_status check_storage(const vyre_snapshot *snapshot, vyre_error *err)
{
    vyre_status status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (status) return status;
    status = vyre_bytes_check_list(snapshot->slots, snapshot->slot_room, "snapshot.slots", err);
    if (status) return status;
    return vyre_bytes_check_list(snapshot->windows, snapshot->window_room, "snapshot.windows", err);
}

vyre_status vyre_snapshot_decode(const vyre_snapshot_source *source, vyre_snapshot *snapshot,
                                 vyre_snapshot_needs *needs, vyre_error *err)
{
    struct decode decode = {.snapshot = snapshot};
    vyre_snapshot_control control;
    vyre_snapshot_times times = {0, 0};
    vyre_status status = read_source(source, &decode.source, err);
    if (status) return status;
    status = check_storage(snapshot, err);
    if (status) return status;

    bool timed = decode.source.times != NULL;
    uint64_t start = timed ? vyre_clock_ns() : 0;
    status = vyre_snapshot_control_decode(decode.source.control, decode.source.control_bytes,
                                          &control, err);
    if (status) return status;
    uint64_t middle = timed ? vyre_clock_ns() : 0;
    status = check_ring(&decode.source, err);
    if (status) return status;
    status = read_ring(&decode, err);
    if (needs && (status == VYRE_OK || status == VYRE_E_TOO_SMALL)) *needs = decode.needs;
    if (status) return status;
    vyre_windows_finish(&decode.set, snapshot->windows);
    keep(&decode, &control, snapshot);
    if (timed) {
        times.control_ns = middle - start;
        times.ring_ns = vyre_clock_ns() - middle;
        *decode.source.times = times;
    }
    return VYRE_OK;
}

vyre_status vyre_snapshot_clear(vyre_snapshot *snapshot, vyre_error *err)
{
    static const struct decode nothing;
    static const vyre_snapshot_control no_control;
    vyre_status status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (status) return status;
    keep(&nothing, &no_control, snapshot);
    return VYRE_OK;
}
