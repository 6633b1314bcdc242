/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The ring as a whole and its single slots: size, encode, counting, raw copies, and the moves of a
 * slot's status other than publishing (publish.c). A move changes the status word and nothing else.
 * A call that fails has written nothing. Public.
 */
#include <string.h>

#include "wire/bytes.h"

#define STATES VYRE_SLOT_STATES
#define SET    VYRE_SLOT_SET
#define ACTIVE VYRE_SLOT_ACTIVE

vyre_status vyre_wire_ring_size(size_t slots, size_t *bytes, vyre_error *err)
{
    size_t size;
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (status) return status;
    if (slots > VYRE_RING_MAX_SLOTS)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW, "%zu slots, at most %u", slots,
                         VYRE_RING_MAX_SLOTS);
    status = vyre_bytes_size_of_words(slots * VYRE_SLOT_WORDS, &size, err);
    if (status) return status;
    *bytes = size;
    return VYRE_OK;
}

vyre_status vyre_wire_ring_encode(void *bytes, size_t length, size_t slots, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_cap(slots, "slots", err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, slots * VYRE_SLOT_BYTES, "the ring", err);
    if (status) return status;
    if (length != 0) memset(bytes, 0, length);
    return VYRE_OK;
}

vyre_status vyre_wire_ring_decode(const void *bytes, size_t length, vyre_wire_ring *ring,
                                  vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(ring, "ring", err);
    if (status) return status;
    status = vyre_bytes_check_ring(bytes, length, err);
    if (status) return status;

    memset(ring, 0, sizeof *ring);
    ring->slots = length / VYRE_SLOT_BYTES;
    for (size_t slot = 0; slot < ring->slots; slot++) {
        uint32_t state = vyre_bytes_get32(bytes, slot * VYRE_SLOT_BYTES);
        if (state < STATES)
            ring->by_status[state]++;
        else
            ring->unknown++;
    }
    for (uint32_t state = 0; state < STATES; state++)
        if (ACTIVE & SET(state)) ring->active += ring->by_status[state];
    ring->depth = ring->active + ring->by_status[VYRE_SLOT_FAULT] + ring->unknown;
    return VYRE_OK;
}

vyre_status vyre_wire_ring_count_done(const void *bytes, size_t length, size_t slots, size_t *done,
                                      vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(done, "done", err);
    if (status) return status;
    if (slots > VYRE_RING_MAX_SLOTS)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW, "%zu slots, at most %u", slots,
                         VYRE_RING_MAX_SLOTS);
    if (slots != 0) {
        status = vyre_bytes_check_has(bytes, length, 0, slots * VYRE_SLOT_WORDS, err);
        if (status) return status;
    }
    size_t found = 0;
    for (size_t slot = 0; slot < slots; slot++)
        found += vyre_bytes_get32(bytes, slot * VYRE_SLOT_BYTES) == VYRE_SLOT_DONE;
    *done = found;
    return VYRE_OK;
}

static vyre_status check_slot(const void *bytes, size_t length, size_t index, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_ring(bytes, length, err);
    if (status) return status;
    if (index >= length / VYRE_SLOT_BYTES)
        return vyre_fail_at(err, VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, index,
                            "slot %zu of a ring of %zu", index, length / VYRE_SLOT_BYTES);
    return VYRE_OK;
}

vyre_status vyre_wire_slot_read(const void *bytes, size_t length, size_t index, vyre_slot *slot,
                                vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(slot, "slot", err);
    if (status) return status;
    status = check_slot(bytes, length, index, err);
    if (status) return status;
    for (size_t word = 0; word < VYRE_SLOT_WORDS; word++)
        slot->word[word] = vyre_bytes_word(bytes, index * VYRE_SLOT_WORDS + word);
    return VYRE_OK;
}

vyre_status vyre_wire_slot_write(void *bytes, size_t length, size_t index, const vyre_slot *slot,
                                 vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(slot, "slot", err);
    if (status) return status;
    status = check_slot(bytes, length, index, err);
    if (status) return status;
    for (size_t word = VYRE_SLOT_WORDS; word-- > 0;) /* the status word last */
        vyre_bytes_set_word(bytes, index * VYRE_SLOT_WORDS + word, slot->word[word]);
    return VYRE_OK;
}

struct move {
    const char *name;
    uint32_t from; /* set of states */
    uint32_t to;
};

static vyre_status move_slot(void *bytes, size_t length, size_t index, const struct move *move,
                             vyre_error *err)
{
    vyre_status status = check_slot(bytes, length, index, err);
    if (status) return status;
    uint32_t state = vyre_bytes_get32(bytes, index * VYRE_SLOT_BYTES);
    if (state >= STATES || !(move->from & SET(state)))
        return vyre_fail_at(err, VYRE_E_WIRE_SLOT_STATE, VYRE_PLACE_SLOT, index,
                            "slot %zu has status %u, which is no start for %s", index, state,
                            move->name);
    vyre_bytes_put32(bytes, index * VYRE_SLOT_BYTES, move->to);
    return VYRE_OK;
}

vyre_status vyre_wire_slot_claim(void *bytes, size_t length, size_t index, vyre_error *err)
{
    static const struct move claim = {
        "claim", SET(VYRE_SLOT_PUBLISHED) | SET(VYRE_SLOT_YIELD) | SET(VYRE_SLOT_REQUEUE),
        VYRE_SLOT_CLAIMED};
    return move_slot(bytes, length, index, &claim, err);
}

vyre_status vyre_wire_slot_complete(void *bytes, size_t length, size_t index, vyre_error *err)
{
    static const struct move complete = {"complete", SET(VYRE_SLOT_CLAIMED), VYRE_SLOT_DONE};
    return move_slot(bytes, length, index, &complete, err);
}

vyre_status vyre_wire_slot_fault(void *bytes, size_t length, size_t index, vyre_error *err)
{
    static const struct move fault = {"fault", ACTIVE, VYRE_SLOT_FAULT};
    return move_slot(bytes, length, index, &fault, err);
}

vyre_status vyre_wire_slot_cancel(void *bytes, size_t length, size_t index, vyre_error *err)
{
    static const struct move cancel = {"cancel", ACTIVE & ~SET(VYRE_SLOT_CLAIMED), VYRE_SLOT_EMPTY};
    return move_slot(bytes, length, index, &cancel, err);
}
