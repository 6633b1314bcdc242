/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the ring: counting, slots and their moves, every way to
 * publish, and the small records that lie in slots. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_RING_H
#define VYRE_FUZZ_WIRE_CHECK_RING_H

#include "wire_checks.h"

static inline vyre_status check_ring_length(size_t size)
{
    return size % 4 ? VYRE_E_WIRE_MISALIGNED : size % 64 ? VYRE_E_WIRE_LENGTH : VYRE_OK;
}

static inline void check_packed(const uint32_t *args, vyre_error *err)
{
    vyre_packed_op ops[VYRE_PACKED_MAX], again[VYRE_PACKED_MAX];
    uint32_t encoded[VYRE_SLOT_ARGS];
    size_t count, words, count_again;
    CHECK_MARK(ops);
    CHECK_MARK(count);
    if (vyre_wire_packed_decode(args, ops, &count, err)) {
        REQUIRE(CHECK_UNTOUCHED(ops) && CHECK_UNTOUCHED(count));
        return;
    }
    REQUIRE(vyre_wire_packed_encode(ops, count, encoded, &words, err) == VYRE_OK);
    REQUIRE(words <= VYRE_SLOT_ARGS && (encoded[0] & 0xFFFF) == (args[0] & 0xFFFF));
    REQUIRE(vyre_wire_packed_decode(encoded, again, &count_again, err) == VYRE_OK);
    REQUIRE(count == count_again);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(ops[i].opcode == again[i].opcode && ops[i].arg_count == again[i].arg_count);
        for (size_t k = 0; k < ops[i].arg_count; k++)
            REQUIRE(ops[i].args[k] == again[i].args[k]);
    }
}

static inline void check_slot(const uint8_t *data, size_t size, size_t index)
{
    static vyre_status (*const moves[])(void *, size_t, size_t, vyre_error *) = {
        vyre_wire_slot_claim, vyre_wire_slot_complete, vyre_wire_slot_fault, vyre_wire_slot_cancel};
    vyre_error *err = check_err(data, size);
    uint32_t state = check_word(data, 16 * index);
    vyre_slot slot;
    REQUIRE(vyre_wire_slot_read(data, size, index, &slot, err) == VYRE_OK);
    check_fresh_copy(data, size);
    REQUIRE(vyre_wire_slot_write(check_copy, size, index, &slot, err) == VYRE_OK);
    REQUIRE(check_unchanged(data, size));
    check_packed(slot.word + VYRE_SLOT_ARG0, err);

    vyre_wire_op op = {slot.word[1], slot.word[3] % 16, slot.word + VYRE_SLOT_ARG0};
    vyre_status status = vyre_wire_slot_publish(check_copy, size, index, slot.word[2], &op, err);
    REQUIRE(status == (op.arg_count > 12                          ? VYRE_E_WIRE_ARGS
                       : !vyre_wire_opcode_publishable(op.opcode) ? VYRE_E_WIRE_OPCODE
                       : state != 0 && state != 3                 ? VYRE_E_WIRE_SLOT_BUSY
                                                                  : VYRE_OK));
    if (status == VYRE_OK) {
        REQUIRE(check_word(check_copy, 16 * index) == VYRE_SLOT_PUBLISHED);
        memcpy(check_copy + 64 * index, data + 64 * index, 64);
    }
    REQUIRE(check_unchanged(data, size));
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        if (moves[i](check_copy, size, index, err) == VYRE_OK) {
            REQUIRE(check_word(check_copy, 16 * index) < 8 && state > 0 && state < 7);
            memcpy(check_copy + 64 * index, data + 64 * index, 4);
        }
        REQUIRE(check_unchanged(data, size));
    }
}

/* Operations, work items and windows made of the input's own words, into the input. */
static inline void check_batches(const uint8_t *data, size_t size)
{
    vyre_error *err = check_err(data, size);
    uint32_t args[VYRE_SLOT_ARGS] = {1, 2, 3};
    vyre_wire_op ops[3];
    vyre_wire_item items[3];
    size_t published;
    for (size_t i = 0; i < 3; i++) {
        uint32_t word = size >= 64 ? check_word(data, 4 * i) : 0;
        ops[i] = (vyre_wire_op){word % 11 ? 8 : word, word % 14, args};
        items[i] = (vyre_wire_item){ops[i].opcode, word, word, word};
    }
    vyre_wire_batch batch = {size ? data[0] % 4u : 0, 1, 2, ops, size ? data[size - 1] % 4u : 3};
    vyre_wire_work work = {batch.first_slot, 1, items, batch.count};
    vyre_wire_window window = {
        batch.first_slot, 1, 2, ops, batch.count / 2, ops, batch.count - batch.count / 2};
    vyre_wire_ring before, after;
    int whole = vyre_wire_ring_decode(data, size, &before, err) == VYRE_OK;
    for (int call = 0; call < 4; call++) {
        check_fresh_copy(data, size);
        CHECK_MARK(published);
        vyre_status status =
            call == 0   ? vyre_wire_batch_publish(check_copy, size, &batch, err)
            : call == 1 ? vyre_wire_batch_publish_fenced(check_copy, size, &batch, &published, err)
            : call == 2 ? vyre_wire_work_publish(check_copy, size, &work, err)
                        : vyre_wire_window_publish(check_copy, size, &window, err);
        REQUIRE(call == 1 || CHECK_UNTOUCHED(published));
        if (status) {
            REQUIRE(check_unchanged(data, size) && CHECK_UNTOUCHED(published));
            continue;
        }
        size_t slots = batch.count + (call == 1);
        REQUIRE(whole && vyre_wire_ring_decode(check_copy, size, &after, err) == VYRE_OK);
        REQUIRE(after.by_status[VYRE_SLOT_PUBLISHED] ==
                before.by_status[VYRE_SLOT_PUBLISHED] + slots);
        REQUIRE(call != 1 || published == slots);
    }
    check_fresh_copy(data, size);
    if (vyre_wire_work_encode(check_copy, size, &work, err)) {
        REQUIRE(check_unchanged(data, size));
    } else {
        REQUIRE(vyre_wire_ring_decode(check_copy, size, &after, err) == VYRE_OK);
        REQUIRE(after.by_status[VYRE_SLOT_PUBLISHED] == work.count &&
                after.by_status[VYRE_SLOT_EMPTY] == after.slots - work.count);
    }
}

static inline void check_small_records(const uint8_t *data, size_t size)
{
    vyre_error *err = check_err(data, size);
    vyre_wire_item item;
    uint32_t resource;
    int prefetch;
    CHECK_MARK(item);
    CHECK_MARK(resource);
    CHECK_MARK(prefetch);
    if (vyre_wire_item_decode(data, size, &item, err)) {
        REQUIRE(size != 16 && CHECK_UNTOUCHED(item));
    } else {
        REQUIRE(vyre_wire_item_encode(check_copy, 16, &item, err) == VYRE_OK);
        REQUIRE(size == 16 && check_unchanged(data, size));
    }
    if (vyre_wire_load_miss_decode(data, size, &resource, &prefetch, err))
        REQUIRE(CHECK_UNTOUCHED(resource) && CHECK_UNTOUCHED(prefetch));
    else
        REQUIRE(check_word(data, 1) == VYRE_OP_LOAD_MISS && resource == check_word(data, 4));
}

static inline void check_ring(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    vyre_error *err = check_err(data, size);
    vyre_wire_ring ring;
    vyre_slot slot;
    size_t done;
    CHECK_MARK(ring);
    CHECK_MARK(slot);
    CHECK_MARK(done);
    vyre_status expected = check_ring_length(size);
    REQUIRE(vyre_wire_ring_decode(data, size, &ring, err) == expected);
    REQUIRE(vyre_wire_slot_read(data, size, size / 64, &slot, err) ==
            (expected ? expected : VYRE_E_WIRE_SLOT_INDEX));
    REQUIRE(CHECK_UNTOUCHED(slot));
    REQUIRE(vyre_wire_ring_count_done(data, size, size / 64 + 1, &done, err) ==
            (size % 4 ? VYRE_E_WIRE_MISALIGNED : VYRE_E_WIRE_MISSING_WORD));
    REQUIRE(CHECK_UNTOUCHED(done));
    if (expected == VYRE_OK) {
        size_t sum = ring.unknown;
        for (int i = 0; i < 8; i++)
            sum += ring.by_status[i];
        REQUIRE(sum == size / 64 && ring.slots == sum && ring.depth >= ring.active);
        REQUIRE(vyre_wire_ring_count_done(data, size, ring.slots, &done, err) == VYRE_OK);
        REQUIRE(done == ring.by_status[VYRE_SLOT_DONE]);
        for (size_t i = 0; i < ring.slots && i < 4; i++)
            check_slot(data, size, i);
    } else {
        REQUIRE(CHECK_UNTOUCHED(ring));
    }
    check_batches(data, size);
    check_small_records(data, size);
}

#endif
