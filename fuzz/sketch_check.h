/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any order of calls on sketches, chosen by the bytes of an input: two sketches
 * beside two plain arrays that are worked by hand. The counters are the same, estimates are never
 * below the truth, and a refused call has changed nothing.
 */
#ifndef VYRE_FUZZ_SKETCH_CHECK_H
#define VYRE_FUZZ_SKETCH_CHECK_H

#include "telemetry_reader.h"

#define SKETCH_ROOM 96u
#define SKETCH_KEYS 16u

/* A sketch, its array, and the true sums of the keys that are used. */
struct sketch_model {
    vyre_sketch sketch;
    uint64_t storage[SKETCH_ROOM];
    uint64_t array[SKETCH_ROOM];
    uint64_t truth[SKETCH_KEYS];
    size_t depth, width; /* 0: none yet */
};

/* Keys that differ in high and low bits. */
static inline uint32_t sketch_key(uint32_t number)
{
    return number * 0x10000001u ^ (number & 1 ? 0xFFFFFFFFu : 0u);
}

static inline uint64_t sketch_model_sum(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum < a ? UINT64_MAX : sum;
}

/* The rule of the format, word by word. */
static inline size_t sketch_model_bucket(size_t row, uint32_t key, size_t width)
{
    uint64_t golden = 0x9E3779B97F4A7C15u;
    uint64_t x = (uint64_t)key ^ (uint64_t)row * golden;
    x += golden;
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    x ^= x >> 31;
    return row * width + (size_t)(x % width);
}

static inline void sketch_model_compare(const struct sketch_model *m)
{
    REQUIRE(m->sketch.depth == m->depth && m->sketch.width == m->width);
    for (size_t i = 0; i < m->depth * m->width; i++)
        REQUIRE(m->storage[i] == m->array[i]);
    for (uint32_t i = 0; i < SKETCH_KEYS; i++) {
        uint64_t least = UINT64_MAX, estimate = 1;
        vyre_status status = vyre_sketch_estimate(&m->sketch, sketch_key(i), &estimate, NULL);
        REQUIRE(status == (m->depth ? VYRE_OK : VYRE_E_STATE));
        if (status) continue;
        for (size_t row = 0; row < m->depth; row++) {
            uint64_t counter = m->array[sketch_model_bucket(row, sketch_key(i), m->width)];
            if (counter < least) least = counter;
        }
        REQUIRE(estimate == least && estimate >= m->truth[i]);
    }
}

static inline void sketch_step_reshape(struct sketch_model *m, struct reader *in, vyre_error *err)
{
    uint8_t kind = take_byte(in);
    size_t depth = kind % 8, width = take_byte(in) % 48;
    if (kind >= 248) depth = (size_t)take_u64(in);
    if (kind >= 240) width = (size_t)take_u64(in);
    vyre_status expected = depth == 0 || width == 0       ? VYRE_E_RANGE
                           : width > SIZE_MAX / 8 / depth ? VYRE_E_OVERFLOW
                           : depth * width > SKETCH_ROOM  ? VYRE_E_TOO_SMALL
                                                          : VYRE_OK;
    REQUIRE(vyre_sketch_reshape(&m->sketch, depth, width, err) == expected);
    if (expected) return;
    m->depth = depth;
    m->width = width;
    memset(m->array, 0, sizeof m->array);
    memset(m->truth, 0, sizeof m->truth);
}

static inline void sketch_step_add(struct sketch_model *m, struct reader *in, vyre_error *err)
{
    uint32_t number = take_byte(in) % SKETCH_KEYS;
    uint64_t amount = take_u64(in);
    vyre_status expected = m->depth ? VYRE_OK : VYRE_E_STATE;
    REQUIRE(vyre_sketch_add(&m->sketch, sketch_key(number), amount, err) == expected);
    if (expected) return;
    m->truth[number] = sketch_model_sum(m->truth[number], amount);
    for (size_t row = 0; row < m->depth; row++) {
        uint64_t *counter = &m->array[sketch_model_bucket(row, sketch_key(number), m->width)];
        *counter = sketch_model_sum(*counter, amount);
    }
}

static inline void sketch_step_merge(struct sketch_model *m, const struct sketch_model *other,
                                     vyre_error *err)
{
    vyre_status expected = !m->depth || !other->depth ? VYRE_E_STATE
                           : m->depth != other->depth || m->width != other->width
                               ? VYRE_E_SKETCH_SHAPE
                               : VYRE_OK;
    REQUIRE(vyre_sketch_merge(&m->sketch, &other->sketch, err) == expected);
    if (expected) return;
    for (size_t i = 0; i < SKETCH_ROOM; i++)
        m->array[i] = sketch_model_sum(m->array[i], other->array[i]);
    for (size_t i = 0; i < SKETCH_KEYS; i++)
        m->truth[i] = sketch_model_sum(m->truth[i], other->truth[i]);
}

static inline void sketch_step_clear(struct sketch_model *m, vyre_error *err)
{
    REQUIRE(vyre_sketch_clear(&m->sketch, err) == (m->depth ? VYRE_OK : VYRE_E_STATE));
    if (m->depth) memset(m->array, 0, sizeof m->array);
    if (m->depth) memset(m->truth, 0, sizeof m->truth);
}

static inline void check_sketch(const uint8_t *data, size_t size)
{
    static struct sketch_model models[2];
    struct reader in = {data, size, 0};
    vyre_error *err = check_err(data, size);
    memset(models, 0, sizeof models);
    for (size_t i = 0; i < 2; i++) {
        memset(models[i].storage, 0x5A, sizeof models[i].storage);
        models[i].sketch.counters = models[i].storage;
        models[i].sketch.room = SKETCH_ROOM;
    }
    for (unsigned steps = 0; in.at < in.size && steps < 256; steps++) {
        uint8_t verb = take_byte(&in);
        struct sketch_model *m = &models[verb & 1];
        switch (verb / 2 % 8) {
        case 0:
            sketch_step_reshape(m, &in, err);
            break;
        case 1: /* the other one's shape, so that merging has a chance */
            if (models[~verb & 1].depth == 0) break;
            m->depth = models[~verb & 1].depth;
            m->width = models[~verb & 1].width;
            memset(m->array, 0, sizeof m->array);
            memset(m->truth, 0, sizeof m->truth);
            REQUIRE(vyre_sketch_reshape(&m->sketch, m->depth, m->width, err) == VYRE_OK);
            break;
        case 2:
            sketch_step_merge(m, &models[verb / 16 & 1], err);
            break;
        case 3:
            if (verb / 16 == 0) sketch_step_clear(m, err);
            break;
        default:
            sketch_step_add(m, &in, err);
        }
    }
    sketch_model_compare(&models[0]);
    sketch_model_compare(&models[1]);
}

#endif
