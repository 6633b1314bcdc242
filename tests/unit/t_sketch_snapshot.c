/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sketches of snapshots: a worked ring, several snapshots in one, refusals, and random rings beside
 * five plain arrays that are filled slot by slot from the same bytes.
 *
 * Arguments: seed.
 */
#include "../../fuzz/sketch_check.h"

#include "wire_test.h"

enum { OPCODE, ACTIVE_OPCODE, TENANT, STATUS, METRIC };

#define RINGS     400u
#define MAX_SLOTS 300u
#define MAX_CELLS 64u

static unsigned char control[VYRE_CONTROL_BYTES];
static unsigned char ring[MAX_SLOTS * 64];
static vyre_snapshot_slot rows[MAX_SLOTS];
static uint64_t storage[VYRE_SKETCHES * MAX_CELLS];

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static void put_slot(uint32_t index, uint32_t status, uint32_t opcode, uint32_t tenant)
{
    put_word(ring + 64 * index, VYRE_SLOT_STATUS, status);
    put_word(ring + 64 * index, VYRE_SLOT_OPCODE, opcode);
    put_word(ring + 64 * index, VYRE_SLOT_TENANT, tenant);
}

static vyre_snapshot decode(uint32_t slots, uint32_t omit)
{
    vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    source.omit = omit;
    source.control = control;
    source.control_bytes = sizeof control;
    source.ring = ring;
    source.ring_bytes = 64 * (size_t)slots;
    snapshot.slots = rows;
    snapshot.slot_room = MAX_SLOTS;
    if (vyre_snapshot_decode(&source, &snapshot, NULL, &err)) bail("%s", err.message);
    return snapshot;
}

static vyre_sketches sketches_of(size_t depth, size_t width)
{
    vyre_sketches sketches = VYRE_SKETCHES_INIT;
    sketches.counters = storage;
    sketches.room = COUNT_OF(storage);
    if (vyre_sketches_reshape(&sketches, depth, width, &err)) bail("%s", err.message);
    return sketches;
}

static void is_estimate(const vyre_sketch *sketch, uint32_t key, uint64_t expected,
                        const char *what)
{
    uint64_t estimate = 0x5A5A;
    if (vyre_sketch_estimate(sketch, key, &estimate, &err)) bail("%s", err.message);
    is_u64(estimate, expected, "%s %u", what, key);
}

/* Six slots; with 64 counters a row none of these keys meet in all rows. */
static void worked(void)
{
    vyre_sketches sketches = VYRE_SKETCHES_INIT;
    static uint64_t large[5 * 3 * 64];
    memset(control, 0, sizeof control);
    memset(ring, 0, sizeof ring);
    put_slot(0, 1, 9, 3);
    put_slot(1, 2, 9, 4);
    put_slot(2, 3, 9, 3);
    put_slot(3, 42, 3, 1);
    put_slot(4, 0, 3, 2);
    put_slot(5, 7, 9, 3);
    put_word(control, VYRE_CONTROL_METRICS + 3, 100);
    put_word(control, VYRE_CONTROL_METRICS + 31, 0xFFFFFFFFu);
    vyre_snapshot snapshot = decode(6, 0);
    sketches.counters = large;
    sketches.room = COUNT_OF(large);
    works(vyre_sketches_reshape(&sketches, 3, 64, &err));
    works(vyre_sketches_add(&sketches, &snapshot, &err));
    is_u64(sketches.total_slots, 6, "slots");
    is_u64(sketches.active_slots, 2, "active slots");
    is_estimate(&sketches.opcode, 9, 4, "opcode");
    is_estimate(&sketches.opcode, 3, 2, "opcode");
    is_estimate(&sketches.active_opcode, 9, 2, "active opcode");
    is_estimate(&sketches.active_opcode, 3, 0, "active opcode");
    is_estimate(&sketches.tenant, 3, 3, "tenant");
    is_estimate(&sketches.tenant, 2, 1, "tenant");
    is_estimate(&sketches.status, 42, 1, "status");
    is_estimate(&sketches.status, 0, 1, "status");
    is_estimate(&sketches.status, 6, 0, "status");
    is_estimate(&sketches.metric, 3, 100, "metric");
    is_estimate(&sketches.metric, 31, 0xFFFFFFFFu, "metric");

    works(vyre_sketches_add(&sketches, &snapshot, &err));
    is_estimate(&sketches.opcode, 9, 8, "a second snapshot is added, opcode");
    is_estimate(&sketches.metric, 31, 2 * UINT64_C(0xFFFFFFFF), "metric");
    is_u64(sketches.total_slots, 12, "slots of both");
    works(vyre_sketches_merge(&sketches, &sketches, &err));
    is_estimate(&sketches.tenant, 3, 12, "merged with themselves, tenant");
    is_u64(sketches.active_slots, 8, "active slots, twice");
    works(vyre_sketches_clear(&sketches, &err));
    is_estimate(&sketches.status, 42, 0, "cleared, status");
    ok(sketches.total_slots == 0 && sketches.active_slots == 0, "and the sums");
    snapshot = decode(0, 0);
    works(vyre_sketches_add(&sketches, &snapshot, &err));
    is_u64(sketches.total_slots, 0, "a ring without slots");
    is_estimate(&sketches.metric, 3, 100, "still has its metrics: metric");
    sketches.total_slots = UINT64_MAX - 1;
    works(vyre_sketches_merge(&sketches, &sketches, &err));
    is_u64(sketches.total_slots, UINT64_MAX, "sums stay at their end");
}

static void refusals(void)
{
    vyre_sketches sketches = sketches_of(2, 8), other = VYRE_SKETCHES_INIT;
    uint64_t small[5 * 2 * 4];
    size_t counters = 0;
    vyre_snapshot snapshot = decode(6, 0), partial = decode(6, VYRE_SNAPSHOT_OMIT_SLOTS);
    works(vyre_sketches_size(2, 8, &counters, &err));
    is_u64(counters, 80, "five of 2 by 8");
    watch(&sketches, sizeof sketches);
    watch(&other, sizeof other);
    watch(storage, sizeof storage);
    watch(&counters, sizeof counters);
    refused(VYRE_E_NULL, vyre_sketches_size(2, 8, NULL, &err));
    refused(VYRE_E_RANGE, vyre_sketches_size(2, 0, &counters, &err));
    refused(VYRE_E_OVERFLOW, vyre_sketches_size(SIZE_MAX / 8 / 5 + 1, 1, &counters, &err));
    refused(VYRE_E_OVERFLOW, vyre_sketches_size(SIZE_MAX, 2, &counters, &err));
    refused(VYRE_E_NULL, vyre_sketches_reshape(NULL, 2, 8, &err));
    refused(VYRE_E_RANGE, vyre_sketches_reshape(&sketches, 0, 8, &err));
    refused(VYRE_E_TOO_SMALL, vyre_sketches_reshape(&sketches, 13, 5, &err));
    refused(VYRE_E_TOO_SMALL, vyre_sketches_reshape(&other, 1, 1, &err));
    refused(VYRE_E_NULL, vyre_sketches_clear(NULL, &err));
    refused(VYRE_E_STATE, vyre_sketches_clear(&other, &err));
    refused(VYRE_E_NULL, vyre_sketches_add(NULL, &snapshot, &err));
    refused(VYRE_E_NULL, vyre_sketches_add(&sketches, NULL, &err));
    refused(VYRE_E_STATE, vyre_sketches_add(&other, &snapshot, &err));
    refused(VYRE_E_STATE, vyre_sketches_add(&sketches, &partial, &err));
    snapshot.slots = NULL;
    refused(VYRE_E_NULL, vyre_sketches_add(&sketches, &snapshot, &err));
    snapshot.slots = rows;
    snapshot.size = 4;
    refused(VYRE_E_SIZE, vyre_sketches_add(&sketches, &snapshot, &err));
    refused(VYRE_E_NULL, vyre_sketches_merge(&sketches, NULL, &err));
    refused(VYRE_E_NULL, vyre_sketches_merge(NULL, &sketches, &err));
    refused(VYRE_E_STATE, vyre_sketches_merge(&sketches, &other, &err));
    refused(VYRE_E_STATE, vyre_sketches_merge(&other, &sketches, &err));
    other.counters = small;
    other.room = COUNT_OF(small);
    works(vyre_sketches_reshape(&other, 2, 4, &err));
    refused(VYRE_E_SKETCH_SHAPE, vyre_sketches_merge(&sketches, &other, &err));
    watch_nothing();
}

/* The same five by hand. */
struct plain {
    uint64_t cells[5][MAX_CELLS];
    uint64_t slots, active;
    size_t depth, width;
};

static void plain_add(struct plain *plain, int which, uint32_t key, uint64_t amount)
{
    for (size_t row = 0; row < plain->depth; row++) {
        uint64_t *cell = &plain->cells[which][sketch_model_bucket(row, key, plain->width)];
        *cell = sketch_model_sum(*cell, amount);
    }
}

static void plain_read(struct plain *plain, uint32_t slots)
{
    for (uint32_t i = 0; i < slots; i++) {
        const unsigned char *slot = ring + 64 * i;
        uint32_t status = get_word(slot, 0);
        int active = status == 1 || status == 2 || status == 4 || status == 5 || status == 6;
        plain_add(plain, OPCODE, get_word(slot, 1), 1);
        if (active) plain_add(plain, ACTIVE_OPCODE, get_word(slot, 1), 1);
        plain_add(plain, TENANT, get_word(slot, 2), 1);
        plain_add(plain, STATUS, status, 1);
        plain->slots++;
        plain->active += (uint64_t)active;
    }
    for (uint32_t i = 0; i < 32; i++)
        plain_add(plain, METRIC, i, get_word(control, 96 + i));
}

/* Slots of few or of many keys. */
static void random_ring(uint64_t *generator, uint32_t slots)
{
    static const uint64_t masks[4] = {7, 0xFF, 0xFFFFFFFFu, 0x30000003u};
    uint64_t mask = masks[random_next(generator) % 4];
    for (size_t i = 0; i < VYRE_CONTROL_WORDS; i++)
        put_word(control, i, (uint32_t)(random_next(generator) & mask));
    for (uint32_t i = 0; i < slots; i++) {
        uint64_t draw = random_next(generator);
        uint32_t status = draw % 16 == 0 ? (uint32_t)(draw >> 32) : (uint32_t)(draw >> 32) % 9;
        put_slot(i, status, (uint32_t)(random_next(generator) & mask),
                 (uint32_t)(random_next(generator) & mask));
    }
}

static int same(const vyre_sketches *sketches, const struct plain *plain)
{
    const vyre_sketch *const five[5] = {&sketches->opcode, &sketches->active_opcode,
                                        &sketches->tenant, &sketches->status, &sketches->metric};
    size_t bytes = plain->depth * plain->width * sizeof(uint64_t);
    for (int i = 0; i < 5; i++)
        if (memcmp(five[i]->counters, plain->cells[i], bytes) != 0) return 0;
    return sketches->total_slots == plain->slots && sketches->active_slots == plain->active;
}

static void random_rings(uint64_t generator)
{
    int right = 1;
    for (uint32_t i = 0; i < RINGS && right; i++) {
        static struct plain plain;
        memset(&plain, 0, sizeof plain);
        plain.depth = 1 + (size_t)(random_next(&generator) % 4);
        plain.width = 1 + (size_t)(random_next(&generator) % 16);
        vyre_sketches sketches = sketches_of(plain.depth, plain.width);
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t slots = (uint32_t)(random_next(&generator) % (MAX_SLOTS + 1));
            random_ring(&generator, slots);
            vyre_snapshot snapshot = decode(slots, 0);
            if (vyre_sketches_add(&sketches, &snapshot, &err)) bail("%s", err.message);
            plain_read(&plain, slots);
        }
        right = same(&sketches, &plain);
        if (!right) note("ring %u", i);
    }
    ok(right, "%u times three random rings", RINGS);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    worked();
    refusals();
    random_rings(seed);
    return done();
}
