/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Publishing: the worked bytes, the order of the checks, and that a call that is refused leaves the
 * whole ring as it was, also where only its last operation or its last slot is wrong.
 */
#include "wire_test.h"

#define SLOTS 4u
#define BYTES (SLOTS * 64u)

static _Alignas(8) unsigned char arena[BYTES + 4];
static const uint32_t many[13] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static const char stored[] = "01000000 01000000 07000000 02000000 2a000000 a0000000";

static void one_slot(unsigned char *ring)
{
    static const uint32_t args[2] = {42, 160};
    vyre_wire_op op = {VYRE_OP_STORE_U32, 2, args};
    memset(ring, 0, BYTES);
    works(vyre_wire_slot_publish(ring, BYTES, 1, 7, &op, &err));
    ok(is_hex(ring, 64, "") && is_hex(ring + 64, 64, stored) && is_hex(ring + 128, 128, ""),
       "STORE_U32 in slot 1 for tenant 7");

    memset(ring, 0xEE, BYTES);
    put_word(ring, 16, VYRE_SLOT_DONE);
    works(vyre_wire_slot_publish(ring, BYTES, 1, 7, &op, &err));
    ok(is_hex(ring + 64, 64, stored) && ring[63] == 0xEE && ring[128] == 0xEE,
       "a DONE slot is written whole: no argument of its earlier use stays");

    vyre_wire_op full = {8, 12, many};
    put_word(ring, 48, VYRE_SLOT_EMPTY);
    works(vyre_wire_slot_publish(ring, BYTES, 3, 0, &full, &err));
    is_u64(get_word(ring, 63), 12, "twelve arguments fit");
    vyre_wire_op none = {VYRE_OP_NOP, 0, NULL};
    put_word(ring, 48, VYRE_SLOT_EMPTY);
    works(vyre_wire_slot_publish(ring, BYTES, 3, 0, &none, &err));
    ok(is_hex(ring + 192, 64, "01000000 00000000 00000000 02000000"), "none are allowed");
    vyre_wire_op miss = {VYRE_OP_LOAD_MISS, 2, args};
    put_word(ring, 48, VYRE_SLOT_DONE);
    works(vyre_wire_slot_publish(ring, BYTES, 3, 0, &miss, &err));
    is_u64(get_word(ring, 49), VYRE_OP_LOAD_MISS, "LOAD_MISS can be published");
}

static void one_slot_refused(unsigned char *ring)
{
    static const uint32_t states[] = {1, 2, 4, 5, 6, 7, 8, 0x10, 0xFFFFFFFFu};
    static const uint32_t reserved[] = {0xFFF0,      0xFFFC,      0xFFFF,
                                        0x80000000u, 0x80000002u, 0xFFFFFFFEu};
    vyre_wire_op op = {8, 1, many}, bad = {0xFFFF, 13, many};
    memset(ring, 0xEE, BYTES);
    put_word(ring, 0, VYRE_SLOT_EMPTY);
    watch(ring, BYTES);
    refused(VYRE_E_NULL, vyre_wire_slot_publish(NULL, BYTES, 0, 7, &op, &err));
    refused(VYRE_E_NULL, vyre_wire_slot_publish(ring, BYTES, 0, 7, NULL, &err));
    /* Each call has all the faults that come after the one it is refused for. */
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64,
               vyre_wire_slot_publish(ring, 67, 1, 7, &bad, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_slot_publish(ring, 80, 1, 7, &bad, &err));
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_slot_publish(ring, (size_t)268435456 * 64, 1, 7, &bad, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, SLOTS,
               vyre_wire_slot_publish(ring, BYTES, SLOTS, 7, &bad, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, SIZE_MAX,
               vyre_wire_slot_publish(ring, BYTES, SIZE_MAX, 7, &bad, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, 0,
               vyre_wire_slot_publish(NULL, 0, 0, 7, &bad, &err));
    refused_at(VYRE_E_WIRE_ARGS, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_slot_publish(ring, BYTES, 1, 7, &bad, &err));
    bad.arg_count = 0xFFFFFFFFu;
    refused_at(VYRE_E_WIRE_ARGS, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_slot_publish(ring, BYTES, 1, 7, &bad, &err));
    bad.arg_count = 1;
    bad.args = NULL;
    refused_at(VYRE_E_NULL, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_slot_publish(ring, BYTES, 1, 7, &bad, &err));
    bad.arg_count = 0;
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        bad.opcode = reserved[i];
        refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 0,
                   vyre_wire_slot_publish(ring, BYTES, 1, 7, &bad, &err));
    }
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        put_word(ring, 16, states[i]);
        refused_at(VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, 1,
                   vyre_wire_slot_publish(ring, BYTES, 1, 7, &op, &err));
    }
    watch_nothing();
}

static void batches(unsigned char *ring)
{
    static const uint32_t args[2] = {42, 160};
    vyre_wire_op ops[3] = {{VYRE_OP_STORE_U32, 2, args}, {9, 12, many}, {10, 0, NULL}};
    vyre_wire_batch batch = {1, 7, 0xBEEF, ops, 1};
    size_t published = 99;
    memset(ring, 0, BYTES);
    works(vyre_wire_batch_publish_fenced(ring, BYTES, &batch, &published, &err));
    is_u64(published, 2, "one item and its fence");
    ok(is_hex(ring + 64, 64, stored), "the item");
    ok(is_hex(ring + 128, 64, "01000000 07000000 07000000 02000000 01000000 efbe0000"),
       "the fence");
    ok(is_hex(ring, 64, "") && is_hex(ring + 192, 64, ""), "no other slot");

    memset(ring, 0, BYTES);
    batch.first_slot = 0;
    batch.count = 3;
    works(vyre_wire_batch_publish_fenced(ring, BYTES, &batch, &published, &err));
    is_u64(published, 4, "the whole ring");
    is_u64(get_word(ring, 52), 3, "the fence counts its items");

    memset(ring, 0, BYTES);
    works(vyre_wire_batch_publish(ring, BYTES, &batch, &err));
    ok(get_word(ring, 1) == 1 && get_word(ring, 17) == 9 && get_word(ring, 33) == 10 &&
           is_hex(ring + 192, 64, ""),
       "a batch without a fence");
    batch.first_slot = SLOTS;
    batch.count = 0;
    batch.ops = NULL;
    works(vyre_wire_batch_publish(ring, BYTES, &batch, &err));
    works(vyre_wire_batch_publish(NULL, 0, &(vyre_wire_batch){0, 0, 0, NULL, 0}, &err));
    batch.first_slot = 3;
    works(vyre_wire_batch_publish_fenced(ring, BYTES, &batch, &published, &err));
    is_u64(published, 1, "a fence alone");
    ok(is_hex(ring + 192, 64, "01000000 07000000 07000000 02000000 00000000 efbe0000"),
       "which counts none");
}

static void batches_refused(unsigned char *ring)
{
    vyre_wire_op ops[3] = {{8, 1, many}, {9, 1, many}, {10, 1, many}};
    vyre_wire_batch batch = {0, 7, 1, ops, 3};
    size_t published = 99;
    memset(ring, 0, BYTES);
    watch(ring, BYTES);
    watch(&published, sizeof published);
#define REFUSED_BOTH(status, kind, place, bytes, length)                                           \
    do {                                                                                           \
        refused_at(status, kind, place, vyre_wire_batch_publish(bytes, length, &batch, &err));     \
        refused_at(status, kind, place,                                                            \
                   vyre_wire_batch_publish_fenced(bytes, length, &batch, &published, &err));       \
    } while (0)
    refused(VYRE_E_NULL, vyre_wire_batch_publish(ring, BYTES, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_batch_publish_fenced(ring, BYTES, NULL, &published, &err));
    refused(VYRE_E_NULL, vyre_wire_batch_publish_fenced(ring, BYTES, &batch, NULL, &err));
    REFUSED_BOTH(VYRE_E_NULL, VYRE_PLACE_NONE, 0, NULL, BYTES);
    batch.ops = NULL;
    REFUSED_BOTH(VYRE_E_NULL, VYRE_PLACE_NONE, 0, ring, BYTES);
    batch.ops = ops;
    REFUSED_BOTH(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 252, ring, 254);
    REFUSED_BOTH(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 192, ring, 252);
    REFUSED_BOTH(VYRE_E_WIRE_OVERFLOW, VYRE_PLACE_NONE, 0, ring, (size_t)268435456 * 64);
    batch.first_slot = SIZE_MAX - 2;
    REFUSED_BOTH(VYRE_E_OVERFLOW, VYRE_PLACE_NONE, 0, ring, BYTES);
    batch.first_slot = 0;
    batch.count = SIZE_MAX;
    refused_at(VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, 0,
               vyre_wire_batch_publish(ring, BYTES, &batch, &err));
    refused(VYRE_E_OVERFLOW, vyre_wire_batch_publish_fenced(ring, BYTES, &batch, &published, &err));
    batch.first_slot = 2;
    batch.count = 3;
    REFUSED_BOTH(VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, 2, ring, BYTES);
    batch.first_slot = 1;
    refused_at(VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, 1,
               vyre_wire_batch_publish_fenced(ring, BYTES, &batch, &published, &err));
    batch.first_slot = 0;

    ops[2].arg_count = 13;
    ops[2].opcode = 0xFFFF;
    put_word(ring, 32, VYRE_SLOT_CLAIMED);
    REFUSED_BOTH(VYRE_E_WIRE_ARGS, VYRE_PLACE_ARGUMENT, 2, ring, BYTES);
    ops[2].arg_count = 1;
    ops[2].args = NULL;
    REFUSED_BOTH(VYRE_E_NULL, VYRE_PLACE_ARGUMENT, 2, ring, BYTES);
    ops[2].args = many;
    REFUSED_BOTH(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 2, ring, BYTES);
    ops[2].opcode = 8;
    REFUSED_BOTH(VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, 2, ring, BYTES);
    put_word(ring, 32, VYRE_SLOT_EMPTY);
    put_word(ring, 48, VYRE_SLOT_FAULT);
    refused_at(VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, 3,
               vyre_wire_batch_publish_fenced(ring, BYTES, &batch, &published, &err));
    watch_nothing();
    works(vyre_wire_batch_publish(ring, BYTES, &batch, &err));
}

static void work_items(unsigned char *ring)
{
    static const vyre_wire_item items[2] = {{8, 0x11, 0x22, 0x33}, {0x12345, 4, 5, 6}};
    vyre_wire_work work = {1, 9, items, 2};
    memset(ring, 0xEE, BYTES);
    put_word(ring, 16, VYRE_SLOT_DONE);
    put_word(ring, 32, VYRE_SLOT_EMPTY);
    works(vyre_wire_work_publish(ring, BYTES, &work, &err));
    ok(is_hex(ring + 64, 64, "01000000 08000000 09000000 02000000 11000000 22000000 33000000") &&
           is_hex(ring + 128, 64, "01000000 45230100 09000000 02000000 04000000 05000000 06000000"),
       "two items in slots 1 and 2");
    ok(ring[63] == 0xEE && ring[192] == 0xEE, "no other slot");

    memset(ring, 0xEE, BYTES);
    works(vyre_wire_work_encode(ring, BYTES, &work, &err));
    ok(is_hex(ring, 64, "") && get_word(ring, 17) == 8 && get_word(ring, 33) == 0x12345 &&
           is_hex(ring + 192, 64, "") && is_hex(ring + 64 + 28, 36, ""),
       "a whole ring of items; what was there is gone");
    work.count = 0;
    work.items = NULL;
    works(vyre_wire_work_encode(ring, BYTES, &work, &err));
    ok(is_hex(ring, BYTES, ""), "a ring without items");
    works(vyre_wire_work_encode(NULL, 0, &(vyre_wire_work){0, 0, NULL, 0}, &err));
}

static void work_items_refused(unsigned char *ring)
{
    vyre_wire_item items[2] = {{8, 1, 2, 3}, {0xFFFF, 1, 2, 3}};
    vyre_wire_work work = {3, 9, items, 2};
    memset(ring, 0, BYTES);
    put_word(ring, 48, VYRE_SLOT_PUBLISHED);
    watch(ring, BYTES);
    refused(VYRE_E_NULL, vyre_wire_work_publish(ring, BYTES, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_work_encode(ring, BYTES, NULL, &err));
    work.items = NULL;
    refused(VYRE_E_NULL, vyre_wire_work_publish(ring, BYTES, &work, &err));
    refused(VYRE_E_NULL, vyre_wire_work_encode(ring, BYTES, &work, &err));
    work.items = items;

    /* Opcodes come first when publishing, and after the room when encoding. */
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 1,
               vyre_wire_work_publish(ring, 67, &work, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64,
               vyre_wire_work_encode(ring, 67, &work, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_work_encode(ring, 68, &work, &err));
    refused_at(VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, 3,
               vyre_wire_work_encode(ring, BYTES, &work, &err));
    work.first_slot = 2;
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 1,
               vyre_wire_work_encode(ring, BYTES, &work, &err));
    items[0].opcode = 0x80000000u;
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_work_publish(ring, BYTES, &work, &err));
    is_str(err.message, "operation 0 has the opcode 0x80000000, which is reserved",
           "the message has the values in it");
    items[0].opcode = 8;
    items[1].opcode = 9;
    refused(VYRE_E_NULL, vyre_wire_work_publish(NULL, BYTES, &work, &err));
    refused(VYRE_E_NULL, vyre_wire_work_encode(NULL, BYTES, &work, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64,
               vyre_wire_work_publish(ring, 67, &work, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_work_publish(ring, 68, &work, &err));
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_work_publish(ring, (size_t)268435456 * 64, &work, &err));
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_work_encode(ring, (size_t)268435456 * 64, &work, &err));
    refused(VYRE_E_WIRE_CAP, vyre_wire_work_encode(ring, (size_t)1048577 * 64, &work, &err));
    work.first_slot = SIZE_MAX;
    refused(VYRE_E_OVERFLOW, vyre_wire_work_publish(ring, BYTES, &work, &err));
    refused(VYRE_E_OVERFLOW, vyre_wire_work_encode(ring, BYTES, &work, &err));
    work.first_slot = 3;
    refused_at(VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, 3,
               vyre_wire_work_publish(ring, BYTES, &work, &err));
    work.first_slot = 2;
    refused_at(VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, 3,
               vyre_wire_work_publish(ring, BYTES, &work, &err));
    watch_nothing();
    works(vyre_wire_work_encode(ring, BYTES, &work, &err));
    is_u64(get_word(ring, 49), 9, "encoding does not ask what the slots were");
}

static void windows(unsigned char *ring)
{
    vyre_wire_op required[2] = {{8, 10, many}, {9, 0, NULL}}, lookahead[1] = {{10, 1, many}};
    vyre_wire_window window = {1, 5, 77, required, 2, lookahead, 1};
    memset(ring, 0, BYTES);
    works(vyre_wire_window_publish(ring, BYTES, &window, &err));
    ok(is_hex(ring + 64, 64,
              "01000000 08000000 05000000 02000000 4d000000 00000000 01000000 02000000"
              "03000000 04000000 05000000 06000000 07000000 08000000 09000000 0a000000") &&
           is_hex(ring + 128, 64, "01000000 09000000 05000000 02000000 4d000000 00000000") &&
           is_hex(ring + 192, 64,
                  "01000000 0a000000 05000000 02000000 4d000000 01000000 01000000") &&
           is_hex(ring, 64, ""),
       "required slots, then the lookahead");
    works(vyre_wire_window_publish(ring, BYTES, &(vyre_wire_window){4, 5, 77, NULL, 0, NULL, 0},
                                   &err));

    memset(ring, 0, BYTES);
    watch(ring, BYTES);
    refused(VYRE_E_NULL, vyre_wire_window_publish(ring, BYTES, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_window_publish(NULL, BYTES, &window, &err));
    window.required = NULL;
    refused(VYRE_E_NULL, vyre_wire_window_publish(ring, BYTES, &window, &err));
    window.required = required;
    window.lookahead = NULL;
    refused(VYRE_E_NULL, vyre_wire_window_publish(ring, BYTES, &window, &err));
    window.lookahead = lookahead;
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 252,
               vyre_wire_window_publish(ring, 253, &window, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 192,
               vyre_wire_window_publish(ring, 224, &window, &err));
    refused(VYRE_E_WIRE_OVERFLOW,
            vyre_wire_window_publish(ring, (size_t)268435456 * 64, &window, &err));
    window.required_count = SIZE_MAX;
    refused(VYRE_E_OVERFLOW, vyre_wire_window_publish(ring, BYTES, &window, &err));
    window.required_count = 2;
    window.first_slot = SIZE_MAX - 1;
    refused(VYRE_E_OVERFLOW, vyre_wire_window_publish(ring, BYTES, &window, &err));
    window.first_slot = 2;
    refused_at(VYRE_E_WIRE_CAPACITY, VYRE_PLACE_SLOT, 2,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    window.first_slot = 1;
    put_word(ring, 48, VYRE_SLOT_YIELD);
    lookahead[0].opcode = 0xFFF0;
    lookahead[0].arg_count = 11;
    refused_at(VYRE_E_WIRE_WINDOW_PAYLOAD, VYRE_PLACE_ARGUMENT, 2,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    lookahead[0].arg_count = 1;
    lookahead[0].args = NULL;
    refused_at(VYRE_E_NULL, VYRE_PLACE_ARGUMENT, 2,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    lookahead[0].args = many;
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 2,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    lookahead[0].opcode = 10;
    required[1].arg_count = 11;
    refused_at(VYRE_E_WIRE_WINDOW_PAYLOAD, VYRE_PLACE_ARGUMENT, 1,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    required[1].arg_count = 0;
    required[0].opcode = 0xFFFF;
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    required[0].opcode = 8;
    refused_at(VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, 3,
               vyre_wire_window_publish(ring, BYTES, &window, &err));
    watch_nothing();
}

int main(void)
{
    for (size_t skew = 0; skew < 2; skew++) {
        unsigned char *ring = arena + skew;
        note("at an address %zu past a word", skew);
        one_slot(ring);
        one_slot_refused(ring);
        batches(ring);
        batches_refused(ring);
        work_items(ring);
        work_items_refused(ring);
        windows(ring);
    }
    return done();
}
