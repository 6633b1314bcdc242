/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The ring: sizes at their edges, counting by state, raw slots, and every move of a slot's status
 * from every state.
 */
#include "wire_test.h"

#define SLOTS 4u

static _Alignas(8) unsigned char arena[SLOTS * 64 + 4];

static void sizes(unsigned char *bytes)
{
    size_t size = 1;
    works(vyre_wire_ring_size(0, &size, &err));
    is_u64(size, 0, "no slots");
    works(vyre_wire_ring_size(256, &size, &err));
    is_u64(size, 16384, "256 slots");
    works(vyre_wire_ring_size(268435455, &size, &err));
    is_u64(size, UINT64_C(64) * 268435455, "as many as the format counts");
    watch(&size, sizeof size);
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_ring_size(268435456, &size, &err));
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_ring_size(SIZE_MAX, &size, &err));
    refused(VYRE_E_NULL, vyre_wire_ring_size(1, NULL, &err));

    memset(bytes, 0xAA, 256);
    watch(bytes, 256);
    refused(VYRE_E_NULL, vyre_wire_ring_encode(NULL, 128, 2, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 127, vyre_wire_ring_encode(bytes, 127, 2, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 128,
               vyre_wire_ring_encode(bytes, 129, 2, &err));
    refused(VYRE_E_WIRE_CAP, vyre_wire_ring_encode(bytes, 128, 1048577, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 128,
               vyre_wire_ring_encode(bytes, 128, 1048576, &err));
    watch_nothing();
    works(vyre_wire_ring_encode(NULL, 0, 0, &err));
    works(vyre_wire_ring_encode(bytes, 128, 2, &err));
    ok(is_hex(bytes, 128, "") && bytes[128] == 0xAA, "an empty ring is zeros");
}

static void cap(void)
{
    size_t size = (size_t)1048576 * 64;
    unsigned char *bytes = malloc(size);
    if (!bytes) bail("no memory");
    memset(bytes, 1, size);
    works(vyre_wire_ring_encode(bytes, size, 1048576, &err));
    ok(bytes[0] == 0 && bytes[size - 1] == 0, "the largest ring that is encoded");
    free(bytes);
}

static void counts(void)
{
    static const uint32_t states[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0xFFFFFFFFu, 3, 3};
    unsigned char bytes[COUNT_OF(states) * 64];
    vyre_wire_ring ring;
    memset(bytes, 0x33, sizeof bytes);
    for (size_t i = 0; i < COUNT_OF(states); i++)
        put_word(bytes, 16 * i, states[i]);
    works(vyre_wire_ring_decode(bytes, sizeof bytes, &ring, &err));
    int right = 1;
    for (uint32_t state = 0; state < 8; state++)
        right &= ring.by_status[state] == (state == VYRE_SLOT_DONE ? 3u : 1u);
    ok(right, "one slot a state, three done");
    is_u64(ring.slots, 12, "slots");
    is_u64(ring.unknown, 2, "unknown");
    is_u64(ring.active, 5, "active");
    is_u64(ring.depth, 8, "depth");
    works(vyre_wire_ring_decode(NULL, 0, &ring, &err));
    is_u64(ring.slots, 0, "an empty ring");

    size_t found = 99;
    works(vyre_wire_ring_count_done(bytes, sizeof bytes, 12, &found, &err));
    is_u64(found, 3, "three done of twelve");
    works(vyre_wire_ring_count_done(bytes, 4 * 64 + 4, 4, &found, &err));
    is_u64(found, 1, "one of the first four; what follows may be cut");
    works(vyre_wire_ring_count_done(NULL, 3, 0, &found, &err));
    is_u64(found, 0, "none of none, whatever the buffer is");

    memset(&ring, 0x5A, sizeof ring);
    watch(&ring, sizeof ring);
    watch(&found, sizeof found);
    refused(VYRE_E_NULL, vyre_wire_ring_decode(NULL, 64, &ring, &err));
    refused(VYRE_E_NULL, vyre_wire_ring_decode(bytes, 64, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64,
               vyre_wire_ring_decode(bytes, 66, &ring, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_ring_decode(bytes, 68, &ring, &err));
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_ring_decode(bytes, (size_t)268435456 * 64, &ring, &err));
    refused(VYRE_E_NULL, vyre_wire_ring_count_done(NULL, 64, 1, &found, &err));
    refused(VYRE_E_NULL, vyre_wire_ring_count_done(bytes, 64, 1, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 128,
               vyre_wire_ring_count_done(bytes, 131, 1, &found, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 31,
               vyre_wire_ring_count_done(bytes, 124, 2, &found, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 16,
               vyre_wire_ring_count_done(bytes, 64, 268435455, &found, &err));
    is_str(err.message, "word 16 is needed, the buffer has 16 words (64 bytes)",
           "the message has the values in it");
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_ring_count_done(bytes, 64, 268435456, &found, &err));
    watch_nothing();
}

static void raw_slots(unsigned char *bytes)
{
    vyre_slot slot, again;
    memset(bytes, 0, SLOTS * 64);
    for (uint32_t i = 0; i < 16; i++)
        slot.word[i] = 0xA0B0C0D0u + i;
    works(vyre_wire_slot_write(bytes, SLOTS * 64, 3, &slot, &err));
    ok(is_hex(bytes + 192, 8, "d0c0b0a0 d1c0b0a0"), "words are little-endian");
    ok(is_hex(bytes, 192, ""), "and only the slot is written");
    works(vyre_wire_slot_read(bytes, SLOTS * 64, 3, &again, &err));
    ok(memcmp(&slot, &again, sizeof slot) == 0, "the slot comes back");

    watch(bytes, SLOTS * 64);
    watch(&slot, sizeof slot);
    refused(VYRE_E_NULL, vyre_wire_slot_write(NULL, 64, 0, &slot, &err));
    refused(VYRE_E_NULL, vyre_wire_slot_write(bytes, 64, 0, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 60,
               vyre_wire_slot_write(bytes, 63, 0, &slot, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 0,
               vyre_wire_slot_write(bytes, 60, 0, &slot, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, 1,
               vyre_wire_slot_write(bytes, 64, 1, &slot, &err));
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_slot_write(bytes, (size_t)268435456 * 64, 0, &slot, &err));
    refused(VYRE_E_NULL, vyre_wire_slot_read(NULL, 64, 0, &slot, &err));
    refused(VYRE_E_NULL, vyre_wire_slot_read(bytes, 64, 0, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 0,
               vyre_wire_slot_read(bytes, 2, 0, &slot, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_slot_read(bytes, 80, 0, &slot, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, SIZE_MAX,
               vyre_wire_slot_read(bytes, 64, SIZE_MAX, &slot, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, 0,
               vyre_wire_slot_read(NULL, 0, 0, &slot, &err));
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_slot_read(bytes, (size_t)268435456 * 64, 0, &slot, &err));
    watch_nothing();
}

typedef vyre_status move_call(void *bytes, size_t length, size_t index, vyre_error *error);

static void moves(unsigned char *bytes)
{
    static const struct {
        const char *name;
        move_call *call;
        const char *from; /* the states it starts from, in order */
        uint32_t to;
    } table[] = {
        {"claim", vyre_wire_slot_claim, "156", VYRE_SLOT_CLAIMED},
        {"complete", vyre_wire_slot_complete, "2", VYRE_SLOT_DONE},
        {"fault", vyre_wire_slot_fault, "12456", VYRE_SLOT_FAULT},
        {"cancel", vyre_wire_slot_cancel, "1456", VYRE_SLOT_EMPTY},
    };
    static const uint32_t states[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 32, 0x80000001u, 0xFFFFFFFFu};
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        move_call *call = table[i].call;
        for (size_t k = 0; k < COUNT_OF(states); k++) {
            memset(bytes, 0xCC, SLOTS * 64);
            put_word(bytes, 16, states[k]);
            note("%s from %u", table[i].name, states[k]);
            if (states[k] < 8 && strchr(table[i].from, (int)('0' + states[k]))) {
                works(call(bytes, SLOTS * 64, 1, &err));
                is_u64(get_word(bytes, 16), table[i].to, "its new status");
                put_word(bytes, 16, 0xCCCCCCCCu);
                int same = 1;
                for (size_t b = 0; b < SLOTS * 64; b++)
                    same &= bytes[b] == 0xCC;
                ok(same, "and nothing else is changed");
            } else {
                watch(bytes, SLOTS * 64);
                refused_at(VYRE_E_WIRE_SLOT_STATE, VYRE_PLACE_SLOT, 1,
                           call(bytes, SLOTS * 64, 1, &err));
                watch_nothing();
            }
        }
        watch(bytes, SLOTS * 64);
        refused(VYRE_E_NULL, call(NULL, 64, 0, &err));
        refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64, call(bytes, 65, 0, &err));
        refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64, call(bytes, 96, 0, &err));
        refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, SLOTS,
                   call(bytes, SLOTS * 64, SLOTS, &err));
        refused(VYRE_E_WIRE_OVERFLOW, call(bytes, (size_t)268435456 * 64, 0, &err));
        watch_nothing();
    }
}

int main(void)
{
    cap();
    counts();
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        sizes(arena + skew);
        raw_slots(arena + skew);
        moves(arena + skew);
    }
    return done();
}
