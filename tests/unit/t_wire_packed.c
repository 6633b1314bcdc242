/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Packed slots, the 16-byte work item and the LOAD_MISS slot: worked bytes, limits at their edges,
 * payloads that contradict themselves.
 */
#include "wire_test.h"

static _Alignas(8) unsigned char arena[128 + 4];
static const uint32_t many[13] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static void worked(unsigned char *ring)
{
    static const uint32_t a[2] = {10, 32}, b[2] = {1, 64}, c[3] = {1, 2, 3}, d[1] = {4};
    vyre_packed_op ops[2] = {{1, 2, a}, {2, 2, b}};
    memset(ring, 0, 128);
    works(vyre_wire_packed_publish(ring, 128, 1, 7, ops, 2, &err));
    ok(is_hex(ring, 64, "") &&
           is_hex(ring + 64, 64,
                  "01000000 01000080 07000000 02000000 02040100 02020000 0a000000 20000000"
                  "01000000 40000000"),
       "two operations with two arguments each");

    uint32_t args[12];
    size_t count = 99;
    static const uint32_t expected[12] = {0x00090402u, 0x0000030Au, 1, 2, 3, 4};
    vyre_packed_op others[2] = {{9, 3, c}, {10, 1, d}};
    memset(args, 0x5A, sizeof args);
    works(vyre_wire_packed_encode(others, 2, args, &count, &err));
    is_u64(count, 6, "header and arguments");
    ok(memcmp(args, expected, sizeof args) == 0, "arguments of different counts");
    works(vyre_wire_packed_encode(NULL, 0, args, &count, &err));
    ok(count == 1 && args[0] == 0 && args[11] == 0, "no operation at all");
}

static void edges(void)
{
    vyre_packed_op ops[256];
    uint32_t args[12];
    size_t count = 0;
    for (size_t i = 0; i < 256; i++)
        ops[i] = (vyre_packed_op){(uint32_t)(i & 0xFF), 0, NULL};
    works(vyre_wire_packed_encode(ops, 23, args, &count, &err));
    is_u64(count, 12, "23 operations without arguments fill the slot");
    ops[22].opcode = 255;
    works(vyre_wire_packed_encode(ops, 23, args, &count, &err));
    is_u64(args[11] >> 16, 255, "the opcode may be 255; it lies in the last word");
    ops[4] = (vyre_packed_op){8, 9, many};
    works(vyre_wire_packed_encode(ops, 5, args, &count, &err));
    ok(count == 12 && args[11] == 9, "arguments reach to the last word");
    ops[0] = (vyre_packed_op){8, 11, many};
    works(vyre_wire_packed_encode(ops, 1, args, &count, &err));
    is_u64(count, 12, "one operation has at most eleven");

    watch(args, sizeof args);
    watch(&count, sizeof count);
    refused(VYRE_E_NULL, vyre_wire_packed_encode(NULL, 1, args, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_packed_encode(ops, 1, NULL, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_packed_encode(ops, 1, args, NULL, &err));
    refused(VYRE_E_WIRE_PACKED_COUNT, vyre_wire_packed_encode(ops, 256, args, &count, &err));
    refused(VYRE_E_WIRE_PACKED_COUNT, vyre_wire_packed_encode(ops, SIZE_MAX, args, &count, &err));
    refused(VYRE_E_WIRE_PACKED_HEADER, vyre_wire_packed_encode(ops, 255, args, &count, &err));
    refused(VYRE_E_WIRE_PACKED_HEADER, vyre_wire_packed_encode(ops, 24, args, &count, &err));
    ops[0] = (vyre_packed_op){8, 12, many};
    refused_at(VYRE_E_WIRE_PACKED_ARGS, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_packed_encode(ops, 1, args, &count, &err));
    ops[0].arg_count = 0xFFFFFFFFu;
    refused_at(VYRE_E_WIRE_PACKED_ARGS, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_packed_encode(ops, 1, args, &count, &err));
    ops[0].arg_count = 0;
    ops[3] = (vyre_packed_op){8, 1, many};
    refused_at(VYRE_E_WIRE_PACKED_ARGS, VYRE_PLACE_ARGUMENT, 4,
               vyre_wire_packed_encode(ops, 5, args, &count, &err));
    ops[3].args = NULL;
    refused_at(VYRE_E_NULL, VYRE_PLACE_ARGUMENT, 3,
               vyre_wire_packed_encode(ops, 4, args, &count, &err));
    ops[3].opcode = 256;
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 3,
               vyre_wire_packed_encode(ops, 4, args, &count, &err));
    watch_nothing();
}

static void publish_refused(unsigned char *ring)
{
    vyre_packed_op ops[24] = {{8, 1, many}};
    memset(ring, 0, 128);
    put_word(ring, 16, VYRE_SLOT_CLAIMED);
    watch(ring, 128);
    refused(VYRE_E_NULL, vyre_wire_packed_publish(NULL, 128, 0, 7, ops, 1, &err));
    refused(VYRE_E_NULL, vyre_wire_packed_publish(ring, 128, 0, 7, NULL, 1, &err));
    refused(VYRE_E_WIRE_PACKED_COUNT, vyre_wire_packed_publish(ring, 128, 9, 7, ops, 256, &err));
    refused(VYRE_E_WIRE_PACKED_HEADER, vyre_wire_packed_publish(ring, 128, 9, 7, ops, 24, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 64,
               vyre_wire_packed_publish(ring, 65, 0, 7, ops, 1, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_packed_publish(ring, 68, 0, 7, ops, 1, &err));
    refused_at(VYRE_E_WIRE_SLOT_INDEX, VYRE_PLACE_SLOT, 2,
               vyre_wire_packed_publish(ring, 128, 2, 7, ops, 1, &err));
    refused_at(VYRE_E_WIRE_SLOT_BUSY, VYRE_PLACE_SLOT, 1,
               vyre_wire_packed_publish(ring, 128, 1, 7, ops, 1, &err));
    ops[0].arg_count = 12;
    refused_at(VYRE_E_WIRE_PACKED_ARGS, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_packed_publish(ring, 128, 1, 7, ops, 1, &err));
    ops[0].opcode = 0x100;
    refused_at(VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_packed_publish(ring, 128, 1, 7, ops, 1, &err));
    watch_nothing();
}

static void decodes(void)
{
    uint32_t args[12];
    vyre_packed_op ops[6] = {{9, 3, many}, {10, 0, NULL}, {255, 1, many + 3},
                             {9, 0, NULL}, {0, 2, many},  {1, 2, many}};
    vyre_packed_op got[VYRE_PACKED_MAX];
    size_t count = 0, words;
    works(vyre_wire_packed_encode(ops, 6, args, &words, &err));
    works(vyre_wire_packed_decode(args, got, &count, &err));
    int same = count == 6;
    for (size_t i = 0; i < count && same; i++) {
        same &= got[i].opcode == ops[i].opcode && got[i].arg_count == ops[i].arg_count;
        for (size_t k = 0; k < ops[i].arg_count && same; k++)
            same &= got[i].args[k] == ops[i].args[k];
    }
    ok(same, "six operations come back with their arguments");
    vyre_packed_op most[VYRE_PACKED_MAX + 1];
    memset(most, 0, sizeof most);
    most[VYRE_PACKED_MAX].opcode = 77;
    works(vyre_wire_packed_encode(most, VYRE_PACKED_MAX, args, &words, &err));
    works(vyre_wire_packed_decode(args, most, &count, &err));
    ok(count == VYRE_PACKED_MAX && most[VYRE_PACKED_MAX].opcode == 77,
       "as many as fit come back, and no more");
    memset(args, 0, sizeof args);
    works(vyre_wire_packed_decode(args, got, &count, &err));
    is_u64(count, 0, "none come back from zeros");

    memset(got, 0x5A, sizeof got);
    watch(got, sizeof got);
    watch(&count, sizeof count);
    refused(VYRE_E_NULL, vyre_wire_packed_decode(NULL, got, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_packed_decode(args, NULL, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_packed_decode(args, got, NULL, &err));
    args[0] = 24;
    refused(VYRE_E_WIRE_PACKED_HEADER, vyre_wire_packed_decode(args, got, &count, &err));
    args[0] = 0xFF;
    refused(VYRE_E_WIRE_PACKED_HEADER, vyre_wire_packed_decode(args, got, &count, &err));
    args[0] = 12 << 8 | 1;
    refused(VYRE_E_WIRE_PACKED_ARGS, vyre_wire_packed_decode(args, got, &count, &err));
    args[0] = 1 << 8;
    refused(VYRE_E_WIRE_PACKED_FORM, vyre_wire_packed_decode(args, got, &count, &err));
    args[0] = 1u << 24 | 2 << 8 | 1;
    refused_at(VYRE_E_WIRE_PACKED_FORM, VYRE_PLACE_ARGUMENT, 0,
               vyre_wire_packed_decode(args, got, &count, &err));
    args[0] = 2 << 8 | 2;
    args[1] = 3 << 8;
    refused_at(VYRE_E_WIRE_PACKED_FORM, VYRE_PLACE_ARGUMENT, 1,
               vyre_wire_packed_decode(args, got, &count, &err));
    args[0] = 2 << 8 | 3;
    args[1] = 2 << 8 | 1u << 24;
    refused_at(VYRE_E_WIRE_PACKED_FORM, VYRE_PLACE_ARGUMENT, 2,
               vyre_wire_packed_decode(args, got, &count, &err));
    watch_nothing();
}

static void items(unsigned char *bytes)
{
    vyre_wire_item item = {0x00012345, 0x11, 0xFFFFFFFFu, 7}, again;
    memset(bytes, 0xAA, 128);
    works(vyre_wire_item_encode(bytes, 16, &item, &err));
    ok(is_hex(bytes, 16, "45230100 11000000 ffffffff 07000000") && bytes[16] == 0xAA,
       "a work item is four words");
    works(vyre_wire_item_decode(bytes, 16, &again, &err));
    ok(memcmp(&item, &again, sizeof item) == 0, "and comes back");

    watch(bytes, 128);
    watch(&item, sizeof item);
    refused(VYRE_E_NULL, vyre_wire_item_encode(NULL, 16, &item, &err));
    refused(VYRE_E_NULL, vyre_wire_item_encode(bytes, 16, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 15,
               vyre_wire_item_encode(bytes, 15, &item, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 16,
               vyre_wire_item_encode(bytes, 17, &item, &err));
    refused(VYRE_E_NULL, vyre_wire_item_decode(NULL, 16, &item, &err));
    refused(VYRE_E_NULL, vyre_wire_item_decode(bytes, 16, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 0, vyre_wire_item_decode(NULL, 0, &item, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 16,
               vyre_wire_item_decode(bytes, 32, &item, &err));
    watch_nothing();
}

static void misses(unsigned char *bytes)
{
    uint32_t resource = 0;
    int prefetch = 0;
    memset(bytes, 0xAA, 128);
    works(vyre_wire_load_miss_encode(bytes, 64, 42, 5, &err));
    ok(is_hex(bytes, 64, "01000000 fdff0000 00000000 00000000 2a000000 01000000"),
       "LOAD_MISS of resource 42, a prefetch");
    put_word(bytes, 0, VYRE_SLOT_DONE);
    works(vyre_wire_load_miss_decode(bytes, 64, &resource, &prefetch, &err));
    ok(resource == 42 && prefetch == 1, "read whatever the status is");
    works(vyre_wire_load_miss_encode(bytes, 64, 0xFFFFFFFFu, 0, &err));
    works(vyre_wire_load_miss_decode(bytes, 24, &resource, &prefetch, &err));
    ok(resource == 0xFFFFFFFFu && prefetch == 0, "no prefetch; the first six words are enough");

    put_word(bytes, 1, VYRE_OP_PRINTF);
    watch(bytes, 128);
    watch(&resource, sizeof resource);
    watch(&prefetch, sizeof prefetch);
    refused(VYRE_E_NULL, vyre_wire_load_miss_encode(NULL, 64, 1, 0, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 63,
               vyre_wire_load_miss_encode(bytes, 63, 1, 0, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_load_miss_encode(bytes, 128, 1, 0, &err));
    refused(VYRE_E_NULL, vyre_wire_load_miss_decode(NULL, 64, &resource, &prefetch, &err));
    refused(VYRE_E_NULL, vyre_wire_load_miss_decode(bytes, 64, NULL, &prefetch, &err));
    refused(VYRE_E_NULL, vyre_wire_load_miss_decode(bytes, 64, &resource, NULL, &err));
    refused_at(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 24,
               vyre_wire_load_miss_decode(bytes, 27, &resource, &prefetch, &err));
    refused_at(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 5,
               vyre_wire_load_miss_decode(bytes, 20, &resource, &prefetch, &err));
    refused_at(VYRE_E_WIRE_OTHER_OPCODE, VYRE_PLACE_WORD, 1,
               vyre_wire_load_miss_decode(bytes, 64, &resource, &prefetch, &err));
    watch_nothing();
}

int main(void)
{
    edges();
    decodes();
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        worked(arena + skew);
        publish_refused(arena + skew);
        items(arena + skew);
        misses(arena + skew);
    }
    return done();
}
