/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The count-min sketch: buckets of the format, estimates, shapes, counters at their end, refusals,
 * and random calls beside plain arrays (fuzz/sketch_check.h).
 *
 * Arguments: seed.
 */
#include "../../fuzz/sketch_check.h"

#include "telemetry/sketch.h"
#include "wire_test.h"

#define SEQUENCES 20000u

static uint64_t storage[48];

static vyre_sketch sketch_of(size_t depth, size_t width)
{
    vyre_sketch sketch = VYRE_SKETCH_INIT;
    sketch.counters = storage;
    sketch.room = COUNT_OF(storage);
    if (vyre_sketch_reshape(&sketch, depth, width, &err)) bail("%s", err.message);
    return sketch;
}

static uint64_t estimate_of(const vyre_sketch *sketch, uint32_t key)
{
    uint64_t estimate = 0x5A5A;
    if (vyre_sketch_estimate(sketch, key, &estimate, &err)) bail("%s", err.message);
    return estimate;
}

/* Reference values of the format: three rows of sixteen. */
static void buckets(void)
{
    static const struct {
        uint32_t key, bucket[3];
    } rows[] = {{0, {15, 20, 47}},
                {1, {1, 25, 46}},
                {2, {14, 18, 45}},
                {9, {4, 28, 33}},
                {0xF101, {11, 21, 36}}};
    is_u64(sketch_mix(0), UINT64_C(0xE220A8397B1DCDAF), "SplitMix64(0)");
    is_u64(sketch_mix(1), UINT64_C(0x910A2DEC89025CC1), "SplitMix64(1)");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        vyre_sketch sketch = sketch_of(3, 16);
        works(vyre_sketch_add(&sketch, rows[i].key, 7, &err));
        int right = 1;
        for (uint32_t k = 0; k < 48; k++) {
            uint32_t row = k / 16;
            right &= storage[k] == (k == rows[i].bucket[row] ? 7u : 0u);
        }
        ok(right, "key %u is in buckets %u, %u and %u", rows[i].key, rows[i].bucket[0],
           rows[i].bucket[1], rows[i].bucket[2]);
    }
    int same = 1;
    for (size_t width = 1; width < 300; width++)
        same &=
            2 * width + sketch_column(2, 0xF101, width) == sketch_model_bucket(2, 0xF101, width);
    ok(same, "widths that are powers of two and others: the rest of a division");
}

static void estimates(void)
{
    vyre_sketch sketch = sketch_of(3, 16);
    is_u64(estimate_of(&sketch, 9), 0, "nothing was added");
    works(vyre_sketch_add(&sketch, 9, 3, &err));
    works(vyre_sketch_add(&sketch, 9, 0, &err));
    works(vyre_sketch_add(&sketch, 2, 1, &err));
    is_u64(estimate_of(&sketch, 9), 3, "one key");
    is_u64(estimate_of(&sketch, 2), 1, "another one");
    is_u64(estimate_of(&sketch, 0xFFFFFFFFu), 0, "one that was not added");
    works(vyre_sketch_clear(&sketch, &err));
    is_u64(estimate_of(&sketch, 9), 0, "cleared");
    ok(sketch.depth == 3 && sketch.width == 16, "the shape stays");

    sketch = sketch_of(2, 1);
    works(vyre_sketch_add(&sketch, 1, 5, &err));
    is_u64(estimate_of(&sketch, 77), 5, "one counter a row counts all keys together");
}

static void ends(void)
{
    vyre_sketch sketch = sketch_of(1, 1), other = VYRE_SKETCH_INIT;
    uint64_t counter = UINT64_MAX - 1;
    works(vyre_sketch_add(&sketch, 1, UINT64_MAX - 1, &err));
    is_u64(estimate_of(&sketch, 1), UINT64_MAX - 1, "one below the end");
    works(vyre_sketch_add(&sketch, 1, 1, &err));
    is_u64(estimate_of(&sketch, 1), UINT64_MAX, "at the end");
    works(vyre_sketch_add(&sketch, 1, 1, &err));
    is_u64(estimate_of(&sketch, 1), UINT64_MAX, "it stays there");
    other.counters = &counter;
    other.room = other.depth = other.width = 1;
    works(vyre_sketch_merge(&other, &sketch, &err));
    is_u64(counter, UINT64_MAX, "a merge stays there, too");
    works(vyre_sketch_merge(&sketch, &sketch, &err));
    is_u64(storage[0], UINT64_MAX, "and with itself");
}

static void merges(void)
{
    uint64_t more[48];
    vyre_sketch sketch = sketch_of(3, 16), other = {more, 48, 0, 0};
    works(vyre_sketch_reshape(&other, 3, 16, &err));
    works(vyre_sketch_add(&sketch, 9, 3, &err));
    works(vyre_sketch_add(&other, 9, 4, &err));
    works(vyre_sketch_add(&other, 2, 1, &err));
    works(vyre_sketch_merge(&sketch, &other, &err));
    is_u64(estimate_of(&sketch, 9), 7, "the sum");
    is_u64(estimate_of(&sketch, 2), 1, "of the other one alone");
    is_u64(estimate_of(&other, 9), 4, "which stays as it was");
    works(vyre_sketch_merge(&sketch, &sketch, &err));
    is_u64(estimate_of(&sketch, 9), 14, "with itself: twice as much");

    watch(storage, sizeof storage);
    works(vyre_sketch_reshape(&other, 16, 3, &err));
    refused(VYRE_E_SKETCH_SHAPE, vyre_sketch_merge(&sketch, &other, &err));
    works(vyre_sketch_reshape(&other, 3, 15, &err));
    refused(VYRE_E_SKETCH_SHAPE, vyre_sketch_merge(&sketch, &other, &err));
    ok(strstr(err.message, "3 by 16") && strstr(err.message, "3 by 15"), "%s", err.message);
    watch_nothing();
}

static void shapes(void)
{
    size_t counters = 77;
    vyre_sketch sketch = sketch_of(3, 16), none = VYRE_SKETCH_INIT;
    uint64_t estimate = 5;
    works(vyre_sketch_size(3, 16, &counters, &err));
    is_u64(counters, 48, "3 by 16");
    works(vyre_sketch_size(SIZE_MAX / 8, 1, &counters, &err));
    is_u64(counters, SIZE_MAX / 8, "as many as can be counted in bytes");
    watch(&counters, sizeof counters);
    watch(&sketch, sizeof sketch);
    watch(storage, sizeof storage);
    watch(&estimate, sizeof estimate);
    refused(VYRE_E_NULL, vyre_sketch_size(3, 16, NULL, &err));
    refused(VYRE_E_RANGE, vyre_sketch_size(0, 16, &counters, &err));
    refused(VYRE_E_RANGE, vyre_sketch_size(3, 0, &counters, &err));
    refused(VYRE_E_OVERFLOW, vyre_sketch_size(SIZE_MAX / 8 + 1, 1, &counters, &err));
    refused(VYRE_E_OVERFLOW, vyre_sketch_size(SIZE_MAX, SIZE_MAX, &counters, &err));
    refused(VYRE_E_OVERFLOW, vyre_sketch_size(SIZE_MAX / 2 + 1, 2, &counters, &err));

    works(vyre_sketch_add(&sketch, 1, 9, &err));
    refused(VYRE_E_NULL, vyre_sketch_reshape(NULL, 3, 16, &err));
    refused(VYRE_E_RANGE, vyre_sketch_reshape(&sketch, 0, 16, &err));
    refused(VYRE_E_OVERFLOW, vyre_sketch_reshape(&sketch, SIZE_MAX, 2, &err));
    refused(VYRE_E_TOO_SMALL, vyre_sketch_reshape(&sketch, 7, 7, &err));
    ok(strstr(err.message, "take 49") && strstr(err.message, "has 48"), "%s", err.message);
    refused(VYRE_E_TOO_SMALL, vyre_sketch_reshape(&none, 1, 1, &err));
    refused(VYRE_E_NULL, vyre_sketch_clear(NULL, &err));
    refused(VYRE_E_NULL, vyre_sketch_add(NULL, 1, 1, &err));
    refused(VYRE_E_NULL, vyre_sketch_estimate(NULL, 1, &estimate, &err));
    refused(VYRE_E_NULL, vyre_sketch_estimate(&sketch, 1, NULL, &err));
    refused(VYRE_E_NULL, vyre_sketch_merge(&sketch, NULL, &err));
    refused(VYRE_E_NULL, vyre_sketch_merge(NULL, &sketch, &err));
    refused(VYRE_E_STATE, vyre_sketch_clear(&none, &err));
    refused(VYRE_E_STATE, vyre_sketch_add(&none, 1, 1, &err));
    refused(VYRE_E_STATE, vyre_sketch_estimate(&none, 1, &estimate, &err));
    refused(VYRE_E_STATE, vyre_sketch_merge(&sketch, &none, &err));
    refused(VYRE_E_STATE, vyre_sketch_merge(&none, &sketch, &err));
    sketch.width = 17; /* a shape that nobody gave it */
    refused(VYRE_E_STATE, vyre_sketch_add(&sketch, 1, 1, &err));
    sketch.depth = SIZE_MAX;
    refused(VYRE_E_STATE, vyre_sketch_add(&sketch, 1, 1, &err));
    watch_nothing();
    works(vyre_sketch_reshape(&sketch, 6, 8, &err));
    is_u64(estimate_of(&sketch, 1), 0, "another shape starts at 0");
    is_u64((uint64_t)vyre_sketch_add(&none, 1, 1, NULL), (uint64_t)VYRE_E_STATE, "nobody listens");
}

static void sequences(uint64_t generator)
{
    for (uint32_t i = 0; i < SEQUENCES; i++) {
        uint64_t bytes[64];
        for (size_t k = 0; k < COUNT_OF(bytes); k++)
            bytes[k] = sketch_mix(generator++);
        check_sketch((const uint8_t *)bytes, bytes[0] % (sizeof bytes + 1));
    }
    ok(1, "%u random sequences of calls", SEQUENCES);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    buckets();
    estimates();
    ends();
    merges();
    shapes();
    sequences(seed);
    return done();
}
