/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Five sketches of snapshots in one piece of storage. Keys are counted in a small table before they
 * reach a sketch: rings have few opcodes, tenants and states at a time, and adding n at once is the
 * same as adding 1 n times, at its end too. Public.
 */
#include <string.h>

#include "telemetry/sketch.h"
#include "telemetry/snapshot.h"
#include "wire/bytes.h"

#define TALLY_PLACES 64u

/* Keys on their way into a sketch; a place whose amount is 0 is free. */
struct tally {
    const vyre_sketch *sketch;
    uint32_t key[TALLY_PLACES];
    uint64_t amount[TALLY_PLACES];
};

static void tally_begin(struct tally *tally, const vyre_sketch *sketch)
{
    memset(tally->amount, 0, sizeof tally->amount);
    tally->sketch = sketch;
}

static void tally_flush(struct tally *tally, uint32_t place)
{
    sketch_add(tally->sketch, tally->key[place], tally->amount[place]);
    tally->amount[place] = 0;
}

static inline void tally_one(struct tally *tally, uint32_t key)
{
    uint32_t place = (key ^ key >> 16) % TALLY_PLACES;
    if (tally->amount[place] != 0 && tally->key[place] != key) tally_flush(tally, place);
    tally->key[place] = key;
    tally->amount[place]++;
}

static void tally_end(struct tally *tally)
{
    for (uint32_t place = 0; place < TALLY_PLACES; place++)
        if (tally->amount[place] != 0) tally_flush(tally, place);
}

/* The five of them, in the order in which they lie in the storage. */
struct five {
    vyre_sketch *sketch[VYRE_SKETCHES];
};

static struct five all_of(vyre_sketches *sketches)
{
    struct five five = {{&sketches->opcode, &sketches->active_opcode, &sketches->tenant,
                         &sketches->status, &sketches->metric}};
    return five;
}

static vyre_status check_all(const vyre_sketches *sketches, const char *name, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(sketches, name, err);
    if (!status) status = vyre_sketch_check(&sketches->opcode, "opcode", err);
    if (!status) status = vyre_sketch_check(&sketches->active_opcode, "active_opcode", err);
    if (!status) status = vyre_sketch_check(&sketches->tenant, "tenant", err);
    if (!status) status = vyre_sketch_check(&sketches->status, "status", err);
    if (!status) status = vyre_sketch_check(&sketches->metric, "metric", err);
    return status;
}

vyre_status vyre_sketches_size(size_t depth, size_t width, size_t *counters, vyre_error *err)
{
    size_t one = 0;
    vyre_status status = vyre_bytes_check_pointer(counters, "counters", err);
    if (!status) status = vyre_sketch_size(depth, width, &one, err);
    if (status) return status;
    if (one > SIZE_MAX / sizeof(uint64_t) / VYRE_SKETCHES)
        return vyre_fail(err, VYRE_E_OVERFLOW,
                         "%u sketches of %zu rows of %zu counters have too many bytes",
                         VYRE_SKETCHES, depth, width);
    *counters = VYRE_SKETCHES * one;
    return VYRE_OK;
}

vyre_status vyre_sketches_reshape(vyre_sketches *sketches, size_t depth, size_t width,
                                  vyre_error *err)
{
    size_t counters = 0;
    vyre_status status = vyre_bytes_check_pointer(sketches, "sketches", err);
    if (!status) status = vyre_sketches_size(depth, width, &counters, err);
    if (!status)
        status = vyre_bytes_check_list(sketches->counters, sketches->room, "counters", err);
    if (status) return status;
    if (counters > sketches->room)
        return vyre_fail(err, VYRE_E_TOO_SMALL,
                         "%u sketches of %zu rows of %zu counters take %zu, the storage has %zu",
                         VYRE_SKETCHES, depth, width, counters, sketches->room);
    struct five five = all_of(sketches);
    size_t each = counters / VYRE_SKETCHES;
    for (size_t i = 0; i < VYRE_SKETCHES; i++)
        *five.sketch[i] = (vyre_sketch){sketches->counters + i * each, each, depth, width};
    memset(sketches->counters, 0, counters * sizeof(uint64_t));
    sketches->total_slots = 0;
    sketches->active_slots = 0;
    return VYRE_OK;
}

vyre_status vyre_sketches_clear(vyre_sketches *sketches, vyre_error *err)
{
    vyre_status status = check_all(sketches, "sketches", err);
    if (status) return status;
    struct five five = all_of(sketches);
    for (size_t i = 0; i < VYRE_SKETCHES; i++)
        vyre_sketch_clear(five.sketch[i], NULL);
    sketches->total_slots = 0;
    sketches->active_slots = 0;
    return VYRE_OK;
}

static void add_slots(vyre_sketches *sketches, const vyre_snapshot_slot *slots, uint32_t count)
{
    struct tally opcode, active_opcode, tenant, status;
    uint64_t active = 0;
    tally_begin(&opcode, &sketches->opcode);
    tally_begin(&active_opcode, &sketches->active_opcode);
    tally_begin(&tenant, &sketches->tenant);
    tally_begin(&status, &sketches->status);
    for (uint32_t i = 0; i < count; i++) {
        const vyre_snapshot_slot *slot = &slots[i];
        tally_one(&opcode, slot->opcode);
        tally_one(&tenant, slot->tenant);
        tally_one(&status, slot->status);
        if (!vyre_slot_status_active(slot->status)) continue;
        tally_one(&active_opcode, slot->opcode);
        active++;
    }
    tally_end(&opcode);
    tally_end(&active_opcode);
    tally_end(&tenant);
    tally_end(&status);
    sketches->total_slots = vyre_add_saturating_u64(sketches->total_slots, count);
    sketches->active_slots = vyre_add_saturating_u64(sketches->active_slots, active);
}

vyre_status vyre_sketches_add(vyre_sketches *sketches, const vyre_snapshot *snapshot,
                              vyre_error *err)
{
    vyre_status status = check_all(sketches, "sketches", err);
    if (!status) status = vyre_snapshot_check(snapshot, "snapshot", err);
    if (!status)
        status = vyre_bytes_check_list(snapshot->slots, snapshot->slot_count, "slots", err);
    if (status) return status;
    if (snapshot->omitted & VYRE_SNAPSHOT_OMIT_SLOTS)
        return vyre_fail_with(err, VYRE_E_STATE, "decode it without VYRE_SNAPSHOT_OMIT_SLOTS",
                              "the snapshot was decoded without slots");
    add_slots(sketches, snapshot->slots, snapshot->slot_count);
    const vyre_snapshot_control *control = &snapshot->control;
    for (uint32_t i = 0; i < control->metric_count && i < VYRE_CONTROL_METRIC_COUNT; i++)
        sketch_add(&sketches->metric, control->metrics[i].opcode, control->metrics[i].count);
    return VYRE_OK;
}

vyre_status vyre_sketches_merge(vyre_sketches *sketches, const vyre_sketches *others,
                                vyre_error *err)
{
    vyre_status status = check_all(sketches, "sketches", err);
    if (!status) status = check_all(others, "others", err);
    if (status) return status;
    /* Shapes first, so that a refused merge has changed nothing. */
    vyre_sketches copy = *others;
    struct five into = all_of(sketches), from = all_of(&copy);
    for (size_t i = 0; i < VYRE_SKETCHES; i++)
        if (into.sketch[i]->depth != from.sketch[i]->depth ||
            into.sketch[i]->width != from.sketch[i]->width)
            return vyre_fail(err, VYRE_E_SKETCH_SHAPE, "sketches of %zu by %zu and of %zu by %zu",
                             into.sketch[i]->depth, into.sketch[i]->width, from.sketch[i]->depth,
                             from.sketch[i]->width);
    for (size_t i = 0; i < VYRE_SKETCHES; i++)
        vyre_sketch_merge(into.sketch[i], from.sketch[i], NULL);
    sketches->total_slots = vyre_add_saturating_u64(sketches->total_slots, others->total_slots);
    sketches->active_slots = vyre_add_saturating_u64(sketches->active_slots, others->active_slots);
    return VYRE_OK;
}
