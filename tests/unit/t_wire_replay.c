/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The replay log: capacities at their edges, the worked bytes, records with and without a failure,
 * the circle from oldest to newest, and damaged logs.
 */
#include "wire_test.h"

#define CAPACITY 3u
#define BYTES    (32u + 64u * CAPACITY)

static _Alignas(8) unsigned char arena[BYTES + 16];

static const char worked[] =
    "5652524c 30303031 01000000 00000000 02000000 00000000 01000000 00000000"
    "efbeadde 08070605 04030201 03000000 07000000 01000000 2a000000 a0000000"
    "00000000 00000000 09000000";

static const vyre_wire_replay_record first = {
    UINT64_C(0x0102030405060708), 3, 7, 1, {42, 160, 0, 0}, 9, 0, 0, 0, 0};

static void sizes(void)
{
    size_t size = 1;
    works(vyre_wire_replay_size(1, &size, &err));
    is_u64(size, 96, "one record");
    works(vyre_wire_replay_size(1048576, &size, &err));
    is_u64(size, 32 + 64 * 1048576, "the largest log");
    watch(&size, sizeof size);
    refused(VYRE_E_WIRE_REPLAY_ZERO, vyre_wire_replay_size(0, &size, &err));
    refused(VYRE_E_WIRE_REPLAY_CAPACITY, vyre_wire_replay_size(1048577, &size, &err));
    refused(VYRE_E_WIRE_REPLAY_CAPACITY, vyre_wire_replay_size(SIZE_MAX, &size, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_size(1, NULL, &err));
    watch_nothing();
}

static void encodes(unsigned char *log)
{
    memset(log, 0xAA, BYTES);
    watch(log, BYTES);
    refused(VYRE_E_NULL, vyre_wire_replay_encode(NULL, 160, 2, &err));
    refused(VYRE_E_WIRE_REPLAY_ZERO, vyre_wire_replay_encode(log, 32, 0, &err));
    refused(VYRE_E_WIRE_REPLAY_CAPACITY, vyre_wire_replay_encode(log, 160, 1048577, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 159, vyre_wire_replay_encode(log, 159, 2, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 160,
               vyre_wire_replay_encode(log, 161, 2, &err));
    watch_nothing();
    works(vyre_wire_replay_encode(log, 160, 2, &err));
    ok(is_hex(log, 160, "5652524c 30303031 01000000 00000000 02000000 00000000"), "an empty log");
    works(vyre_wire_replay_append(log, 160, &first, &err));
    ok(is_hex(log, 160, worked), "a log of two records with one written");
    is_u64(log[160], 0xAA, "and not a byte more");
}

static void header(unsigned char *log)
{
    vyre_wire_replay_header got;
    unsigned char clean[160];
    from_hex(worked, memset(clean, 0, sizeof clean));
    memcpy(log, clean, 160);
    put_word(log, 3, 0xABCD);
    put_word(log, 6, 7);
    works(vyre_wire_replay_decode(log, 160, &got, &err));
    ok(got.flags == 0xABCD && got.capacity == 2 && got.cursor == 1,
       "flags are read as they are, the cursor modulo the capacity");
    works(vyre_wire_replay_decode(log, 163, &got, &err));

    vyre_wire_replay_record record = first;
    uint64_t position = 0;
    memset(&got, 0x5A, sizeof got);
    watch(log, BYTES);
    watch(&got, sizeof got);
    watch(&record, sizeof record);
    watch(&position, sizeof position);
#define REFUSED_ALL(status, kind, place, bytes, length)                                            \
    do {                                                                                           \
        refused_at(status, kind, place, vyre_wire_replay_decode(bytes, length, &got, &err));       \
        refused_at(status, kind, place, vyre_wire_replay_append(bytes, length, &record, &err));    \
        refused_at(status, kind, place,                                                            \
                   vyre_wire_replay_next(bytes, length, &position, &record, &err));                \
    } while (0)
    REFUSED_ALL(VYRE_E_NULL, VYRE_PLACE_NONE, 0, NULL, 160);
    refused(VYRE_E_NULL, vyre_wire_replay_decode(log, 160, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_append(log, 160, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_next(log, 160, NULL, &record, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_next(log, 160, &position, NULL, &err));
    REFUSED_ALL(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 7, log, 31);
    REFUSED_ALL(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 0, NULL, 0);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_SHORT, VYRE_PLACE_BYTE, 159, log, 159);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_SHORT, VYRE_PLACE_BYTE, 32, log, 32);
    put_word(log, 4, 0);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_ZERO, VYRE_PLACE_NONE, 0, log, 160);
    put_word(log, 4, 1048577);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_CAPACITY, VYRE_PLACE_NONE, 0, log, 160);
    put_word(log, 4, 1048576);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_SHORT, VYRE_PLACE_BYTE, 160, log, 160);
    put_word(log, 4, 2);
    put_word(log, 5, 0x80000000u);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_CAPACITY, VYRE_PLACE_NONE, 0, log, 160);
    put_word(log, 2, 2);
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_VERSION, VYRE_PLACE_BYTE, 8, log, 160);
    log[7] = '2';
    REFUSED_ALL(VYRE_E_WIRE_REPLAY_HEADER, VYRE_PLACE_BYTE, 0, log, 160);
    watch_nothing();
}

static void record_codec(unsigned char *bytes)
{
    vyre_wire_replay_record record = {1, 2, 3, 4, {5, 6, 7, 8}, 9, 7, 4, 10, 11};
    vyre_wire_replay_record again;
    memset(bytes, 0xAA, 65);
    memset(&again, 0, sizeof again);
    works(vyre_wire_replay_record_encode(bytes, 64, &record, &err));
    ok(is_hex(bytes, 64,
              "efbeadde 01000000 00000000 02000000 03000000 04000000 05000000 06000000"
              "07000000 08000000 09000000 07000000 04000000 0a000000 0b000000 00000000") &&
           bytes[64] == 0xAA,
       "a record with a failure");
    works(vyre_wire_replay_record_decode(bytes, 64, &again, &err));
    ok(again.timestamp_ns == 1 && again.slot == 2 && again.tenant == 3 && again.opcode == 4 &&
           memcmp(again.args, record.args, sizeof again.args) == 0 && again.epoch == 9 &&
           again.slot_status == 7 && again.failure == VYRE_REPLAY_UNCLASSIFIED &&
           again.backend_code == 10 && again.output_digest == 11,
       "it comes back");

    watch(bytes, 65);
    watch(&again, sizeof again);
    refused(VYRE_E_NULL, vyre_wire_replay_record_encode(NULL, 64, &record, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_record_encode(bytes, 64, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 63,
               vyre_wire_replay_record_encode(bytes, 63, &record, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_replay_record_encode(bytes, 65, &record, &err));
    record.failure = 5;
    refused_at(VYRE_E_WIRE_REPLAY_FAILURE, VYRE_PLACE_BYTE, 48,
               vyre_wire_replay_record_encode(bytes, 64, &record, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_record_decode(NULL, 64, &again, &err));
    refused(VYRE_E_NULL, vyre_wire_replay_record_decode(bytes, 64, NULL, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 63,
               vyre_wire_replay_record_decode(bytes, 63, &again, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 64,
               vyre_wire_replay_record_decode(bytes, 65, &again, &err));
    put_word(bytes, 12, 5);
    refused_at(VYRE_E_WIRE_REPLAY_FAILURE, VYRE_PLACE_BYTE, 48,
               vyre_wire_replay_record_decode(bytes, 64, &again, &err));
    put_word(bytes, 0, 0xDEADBEEEu);
    refused_at(VYRE_E_WIRE_REPLAY_RECORD, VYRE_PLACE_BYTE, 0,
               vyre_wire_replay_record_decode(bytes, 64, &again, &err));
    put_word(bytes, 0, 0);
    refused_at(VYRE_E_WIRE_REPLAY_EMPTY, VYRE_PLACE_BYTE, 0,
               vyre_wire_replay_record_decode(bytes, 64, &again, &err));
    watch_nothing();
}

static void circle(unsigned char *log)
{
    works(vyre_wire_replay_encode(log, BYTES, CAPACITY, &err));
    for (uint32_t written = 0; written <= 2 * CAPACITY + 1; written++) {
        uint64_t position = 0;
        uint32_t expected = written > CAPACITY ? written - CAPACITY : 0;
        vyre_wire_replay_record record;
        int right = 1;
        while (vyre_wire_replay_next(log, BYTES, &position, &record, &err) == VYRE_OK)
            right &= record.timestamp_ns == expected++;
        ok(right && expected == written && err.status == VYRE_E_WIRE_REPLAY_END,
           "%u written: oldest first, the newest %u", written, CAPACITY);
        record = first;
        record.timestamp_ns = written;
        works(vyre_wire_replay_append(log, BYTES, &record, &err));
    }
}

static void damage(unsigned char *log)
{
    vyre_wire_replay_record record = first, got;
    uint64_t position = 0;
    works(vyre_wire_replay_encode(log, BYTES, CAPACITY, &err));
    for (int i = 0; i < 2; i++)
        works(vyre_wire_replay_append(log, BYTES, &record, &err));
    memset(&got, 0x5A, sizeof got);
    put_word(log, 8 + 16, 1);
    works(vyre_wire_replay_next(log, BYTES, &position, &got, &err));
    is_u64(position, 2, "the place that was never written is passed over");
    watch(log, BYTES);
    watch(&got, sizeof got);
    watch(&position, sizeof position);
    refused_at(VYRE_E_WIRE_REPLAY_RECORD, VYRE_PLACE_BYTE, 96,
               vyre_wire_replay_next(log, BYTES, &position, &got, &err));
    put_word(log, 8 + 16, 0xDEADBEEFu);
    put_word(log, 8 + 16 + 12, 0xFFFFFFFFu);
    refused_at(VYRE_E_WIRE_REPLAY_FAILURE, VYRE_PLACE_BYTE, 96 + 48,
               vyre_wire_replay_next(log, BYTES, &position, &got, &err));
    position = CAPACITY;
    refused(VYRE_E_WIRE_REPLAY_END, vyre_wire_replay_next(log, BYTES, &position, &got, &err));
    position = UINT64_MAX;
    refused(VYRE_E_WIRE_REPLAY_END, vyre_wire_replay_next(log, BYTES, &position, &got, &err));
    record.failure = 5;
    refused_at(VYRE_E_WIRE_REPLAY_FAILURE, VYRE_PLACE_BYTE, 160 + 48,
               vyre_wire_replay_append(log, BYTES, &record, &err));
    watch_nothing();
}

int main(void)
{
    sizes();
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        encodes(arena + skew);
        header(arena + skew);
        record_codec(arena + skew);
        circle(arena + skew);
        damage(arena + skew);
    }
    return done();
}
