/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The I/O queue: limits, the worked bytes of a request through its states, every refused state, and
 * completions of which one is wrong.
 */
#include "wire_test.h"

#define SLOTS 4u
#define BYTES (SLOTS * 32u)

static _Alignas(8) unsigned char arena[65 * 32 + 4];

static const vyre_wire_io request = {99, VYRE_IO_READ, 99, 5, 6, 4096, 42, 0};

static void sizes(unsigned char *queue)
{
    size_t size = 1;
    works(vyre_wire_io_size(0, &size, &err));
    is_u64(size, 0, "no slots");
    works(vyre_wire_io_size(64, &size, &err));
    is_u64(size, 2048, "64 slots");
    memset(queue, 0xAA, 65 * 32);
    watch(&size, sizeof size);
    watch(queue, 65 * 32);
    refused(VYRE_E_WIRE_IO_SLOTS, vyre_wire_io_size(65, &size, &err));
    refused(VYRE_E_WIRE_IO_SLOTS, vyre_wire_io_size(SIZE_MAX, &size, &err));
    refused(VYRE_E_NULL, vyre_wire_io_size(1, NULL, &err));
    refused(VYRE_E_WIRE_IO_SLOTS, vyre_wire_io_encode(queue, 0, 0, &err));
    refused(VYRE_E_WIRE_IO_SLOTS, vyre_wire_io_encode(queue, 65 * 32, 65, &err));
    refused(VYRE_E_NULL, vyre_wire_io_encode(NULL, 32, 1, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 31, vyre_wire_io_encode(queue, 31, 1, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 32, vyre_wire_io_encode(queue, 64, 1, &err));
    watch_nothing();
    works(vyre_wire_io_encode(queue, 32, 1, &err));
    ok(is_hex(queue, 32, "") && queue[32] == 0xAA, "the smallest queue");
    works(vyre_wire_io_encode(queue, 2048, 64, &err));
    ok(is_hex(queue, 2048, "") && queue[2048] == 0xAA, "the largest queue");
}

static void life_of_a_request(unsigned char *queue)
{
    vyre_wire_io got[64];
    size_t count = 99;
    works(vyre_wire_io_encode(queue, BYTES, SLOTS, &err));
    works(vyre_wire_io_publish(queue, BYTES, 2, &request, &err));
    ok(is_hex(queue, 64, "") && is_hex(queue + 96, 32, "") &&
           is_hex(queue + 64, 32,
                  "01000000 05000000 06000000 00000000 00000000 00100000 01000000 2a000000"),
       "a read of 4096 bytes with tag 42");
    works(vyre_wire_io_poll(queue, BYTES, got, 64, &count, &err));
    ok(count == 1 && got[0].slot == 2 && got[0].op == VYRE_IO_READ && got[0].source == 5 &&
           got[0].destination == 6 && got[0].count == 4096 && got[0].tag == 42 &&
           got[0].offset == 0 && got[0].status == VYRE_IO_PUBLISHED,
       "poll lists it");
    is_u64(get_word(queue, 22), VYRE_IO_PUBLISHED, "and leaves it");
    works(vyre_wire_io_claim(queue, BYTES, got, 64, &count, &err));
    ok(count == 1 && is_hex(queue + 64 + 24, 4, "02000000"), "claim moves it");
    works(vyre_wire_io_claim(queue, BYTES, got, 64, &count, &err));
    is_u64(count, 0, "once");
    works(vyre_wire_io_complete(queue, BYTES, &(vyre_wire_io_end){2, 1}, 1, &err));
    ok(is_hex(queue + 64, 32,
              "01000000 05000000 06000000 00000000 00000000 00100000 10000000 2a000000"),
       "a success changes the status and nothing else");
    works(vyre_wire_io_read(queue, BYTES, 2, got, &err));
    ok(got[0].slot == 2 && got[0].status == VYRE_IO_OK && got[0].tag == 42, "read shows it");
    works(vyre_wire_io_recycle(queue, BYTES, 2, &err));
    ok(is_hex(queue, BYTES, ""), "recycled");

    vyre_wire_io far = {0, VYRE_IO_WRITE, 0, 0, 1, 2, 3, UINT64_C(0x1122334455667788)};
    works(vyre_wire_io_publish(queue, BYTES, 0, &far, &err));
    ok(is_hex(queue + 12, 8, "88776655 44332211"), "the offset has two words");
    works(vyre_wire_io_claim(queue, BYTES, got, 1, &count, &err));
    is_u64(got[0].offset, far.offset, "and comes back");
    works(vyre_wire_io_complete(queue, BYTES, &(vyre_wire_io_end){0, 0}, 1, &err));
    is_u64(get_word(queue, 6), 0x11, "a failure");
    works(vyre_wire_io_recycle(queue, BYTES, 0, &err));
    far.op = VYRE_IO_FENCE;
    works(vyre_wire_io_publish(queue, BYTES, 0, &far, &err));
}

static void several(unsigned char *queue)
{
    vyre_wire_io got[SLOTS];
    size_t count = 99;
    works(vyre_wire_io_encode(queue, BYTES, SLOTS, &err));
    for (size_t slot = SLOTS; slot-- > 0;)
        works(vyre_wire_io_publish(queue, BYTES, slot, &request, &err));
    works(vyre_wire_io_claim(queue, BYTES, got, 3, &count, &err));
    ok(count == 3 && got[0].slot == 0 && got[1].slot == 1 && got[2].slot == 2,
       "as many as there is room for, in order");
    is_u64(get_word(queue, 30), VYRE_IO_PUBLISHED, "the others stay");
    works(vyre_wire_io_claim(queue, BYTES, NULL, 0, &count, &err));
    is_u64(count, 0, "no room, none claimed");

    vyre_wire_io_end ends[4] = {{0, 1}, {1, 0}, {3, 1}, {2, 1}};
    watch(queue, BYTES);
    refused_at(VYRE_E_WIRE_IO_STATUS, VYRE_PLACE_SLOT, 3,
               vyre_wire_io_complete(queue, BYTES, ends, 4, &err));
    ends[2].slot = SLOTS;
    refused_at(VYRE_E_WIRE_IO_INDEX, VYRE_PLACE_SLOT, SLOTS,
               vyre_wire_io_complete(queue, BYTES, ends, 4, &err));
    ends[2].slot = 1;
    refused_at(VYRE_E_WIRE_IO_TWICE, VYRE_PLACE_ARGUMENT, 2,
               vyre_wire_io_complete(queue, BYTES, ends, 4, &err));
    watch_nothing();
    works(vyre_wire_io_complete(queue, BYTES, NULL, 0, &err));
    works(vyre_wire_io_complete(queue, BYTES, ends, 2, &err));
    ok(get_word(queue, 6) == 0x10 && get_word(queue, 14) == 0x11 && get_word(queue, 22) == 2,
       "two of three end");
    works(vyre_wire_io_poll(NULL, 0, got, SLOTS, &count, &err));
    is_u64(count, 0, "an empty queue has no requests");

    unsigned char *full = queue;
    memset(full, 0, 2048);
    works(vyre_wire_io_publish(full, 2048, 63, &request, &err));
    works(vyre_wire_io_claim(full, 2048, got, 1, &count, &err));
    works(vyre_wire_io_complete(full, 2048, &(vyre_wire_io_end){63, 1}, 1, &err));
    is_u64(get_word(full, 8 * 63 + 6), 0x10, "slot 63 of 64");
}

static void states(unsigned char *queue)
{
    static const uint32_t all[] = {0, 1, 2, 3, 4, 0x0F, 0x10, 0x11, 0x12, 0xFFFFFFFFu};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        memset(queue, 0x77, BYTES);
        put_word(queue, 14, all[i]);
        watch(queue, BYTES);
        note("status 0x%X", all[i]);
        if (all[i] != VYRE_IO_EMPTY)
            refused_at(VYRE_E_WIRE_IO_STATUS, VYRE_PLACE_SLOT, 1,
                       vyre_wire_io_publish(queue, BYTES, 1, &request, &err));
        if (all[i] != VYRE_IO_CLAIMED)
            refused_at(VYRE_E_WIRE_IO_STATUS, VYRE_PLACE_SLOT, 1,
                       vyre_wire_io_complete(queue, BYTES, &(vyre_wire_io_end){1, 1}, 1, &err));
        int ended = all[i] == VYRE_IO_DONE || all[i] == VYRE_IO_OK || all[i] == VYRE_IO_ERROR;
        if (!ended)
            refused_at(VYRE_E_WIRE_IO_STATUS, VYRE_PLACE_SLOT, 1,
                       vyre_wire_io_recycle(queue, BYTES, 1, &err));
        watch_nothing();
        if (ended) {
            works(vyre_wire_io_recycle(queue, BYTES, 1, &err));
            ok(is_hex(queue + 32, 32, "") && queue[31] == 0x77 && queue[64] == 0x77,
               "only its slot is zeroed");
        }
    }
}

static void refusals(unsigned char *queue)
{
    static const uint32_t bad_ops[] = {0, 4, 0xFFFFFFFFu};
    vyre_wire_io got[SLOTS], bad = request;
    vyre_wire_io_end end = {0, 1};
    size_t count = 99;
    memset(queue, 0, 65 * 32);
    memset(got, 0x5A, sizeof got);
    watch(queue, 65 * 32);
    watch(got, sizeof got);
    watch(&count, sizeof count);
#define REFUSED_ALL(status, kind, place, bytes, length)                                            \
    do {                                                                                           \
        refused_at(status, kind, place, vyre_wire_io_read(bytes, length, 0, got, &err));           \
        refused_at(status, kind, place, vyre_wire_io_publish(bytes, length, 0, &bad, &err));       \
        refused_at(status, kind, place, vyre_wire_io_poll(bytes, length, got, 1, &count, &err));   \
        refused_at(status, kind, place, vyre_wire_io_claim(bytes, length, got, 1, &count, &err));  \
        refused_at(status, kind, place, vyre_wire_io_complete(bytes, length, &end, 1, &err));      \
        refused_at(status, kind, place, vyre_wire_io_recycle(bytes, length, 0, &err));             \
    } while (0)
    REFUSED_ALL(VYRE_E_NULL, VYRE_PLACE_NONE, 0, NULL, BYTES);
    REFUSED_ALL(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 32, queue, 33);
    REFUSED_ALL(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 32, queue, 36);
    REFUSED_ALL(VYRE_E_WIRE_IO_SLOTS, VYRE_PLACE_NONE, 0, queue, 65 * 32);
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64, vyre_wire_io_read(queue, 68, 0, got, &err));
    is_str(err.message, "the I/O queue has 68 bytes: 2 slots and 4 bytes over",
           "the message has the values in it");
    refused(VYRE_E_NULL, vyre_wire_io_read(queue, BYTES, 0, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_io_publish(queue, BYTES, 0, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_io_poll(queue, BYTES, NULL, 1, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_io_poll(queue, BYTES, got, 1, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_io_claim(queue, BYTES, NULL, 1, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_io_claim(queue, BYTES, got, 1, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_io_complete(queue, BYTES, NULL, 1, &err));
    refused_at(VYRE_E_WIRE_IO_INDEX, VYRE_PLACE_SLOT, SLOTS,
               vyre_wire_io_read(queue, BYTES, SLOTS, got, &err));
    refused_at(VYRE_E_WIRE_IO_INDEX, VYRE_PLACE_SLOT, SIZE_MAX,
               vyre_wire_io_publish(queue, BYTES, SIZE_MAX, &bad, &err));
    refused_at(VYRE_E_WIRE_IO_INDEX, VYRE_PLACE_SLOT, SLOTS,
               vyre_wire_io_recycle(queue, BYTES, SLOTS, &err));
    for (size_t i = 0; i < COUNT_OF(bad_ops); i++) {
        bad.op = bad_ops[i];
        refused_at(VYRE_E_WIRE_IO_OP, VYRE_PLACE_WORD, 0,
                   vyre_wire_io_publish(queue, BYTES, 0, &bad, &err));
    }
    watch_nothing();
}

int main(void)
{
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        sizes(arena + skew);
        life_of_a_request(arena + skew);
        several(arena + skew);
        states(arena + skew);
        refusals(arena + skew);
    }
    return done();
}
