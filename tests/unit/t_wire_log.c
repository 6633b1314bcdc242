/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The debug log: sizes at their edges, the worked bytes, every wrong cursor, and a log that is
 * full.
 */
#include "wire_test.h"

static _Alignas(8) unsigned char arena[VYRE_LOG_BYTES + 4];

static void sizes(void)
{
    size_t size = 1;
    works(vyre_wire_log_size(0, &size, &err));
    is_u64(size, 4, "no records: a cursor alone");
    works(vyre_wire_log_size(64, &size, &err));
    is_u64(size, 1028, "64 records");
    works(vyre_wire_log_size(1073741823, &size, &err));
    is_u64(size, 4 * (1 + 4 * UINT64_C(1073741823)), "as many as the format counts");
    watch(&size, sizeof size);
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_log_size(1073741824, &size, &err));
    refused(VYRE_E_WIRE_OVERFLOW, vyre_wire_log_size(SIZE_MAX, &size, &err));
    refused(VYRE_E_NULL, vyre_wire_log_size(1, NULL, &err));
    watch_nothing();

    size_t largest = 4 * (1 + 4 * (size_t)1048576);
    unsigned char *bytes = malloc(largest);
    if (!bytes) bail("no memory");
    memset(bytes, 1, largest);
    works(vyre_wire_log_encode(bytes, largest, 1048576, &err));
    ok(bytes[0] == 0 && bytes[largest - 1] == 0, "the largest log that is encoded");
    free(bytes);
}

static void encodes(unsigned char *log)
{
    memset(log, 0xAA, VYRE_LOG_BYTES);
    watch(log, VYRE_LOG_BYTES);
    refused(VYRE_E_NULL, vyre_wire_log_encode(NULL, 1028, 64, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 1027, vyre_wire_log_encode(log, 1027, 64, &err));
    refused_at(VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, 1012,
               vyre_wire_log_encode(log, 1028, 63, &err));
    refused(VYRE_E_WIRE_CAP, vyre_wire_log_encode(log, 1028, 1048577, &err));
    refused_at(VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, 0, vyre_wire_log_encode(NULL, 0, 0, &err));
    watch_nothing();
    works(vyre_wire_log_encode(log, 4, 0, &err));
    ok(is_hex(log, 4, "") && log[4] == 0xAA, "a log without records");
    works(vyre_wire_log_encode(log, VYRE_LOG_BYTES, 64, &err));
    ok(is_hex(log, VYRE_LOG_BYTES, ""), "an empty log is zeros");
}

static void records(unsigned char *log)
{
    vyre_log_record record = {11, 12, 13, 16}, got[64];
    size_t count = 99;
    works(vyre_wire_log_encode(log, VYRE_LOG_BYTES, 64, &err));
    works(vyre_wire_log_append(log, VYRE_LOG_BYTES, &record, &err));
    ok(is_hex(log, VYRE_LOG_BYTES, "04000000 0b000000 0c000000 0d000000 10000000"),
       "one record from slot 1");
    works(vyre_wire_log_decode(log, VYRE_LOG_BYTES, got, 1, &count, &err));
    ok(count == 1 && memcmp(got, &record, sizeof record) == 0, "it comes back");

    for (uint32_t i = 1; i < 64; i++) {
        vyre_log_record next = {i, 2 * i, 3 * i, 16 * i};
        if (vyre_wire_log_append(log, VYRE_LOG_BYTES, &next, &err)) bail("%s", err.message);
    }
    works(vyre_wire_log_count(log, VYRE_LOG_BYTES, &count, &err));
    is_u64(count, 64, "the log is full");
    works(vyre_wire_log_decode(log, VYRE_LOG_BYTES, got, 64, &count, &err));
    ok(got[0].format == 11 && got[63].format == 63 && got[63].a == 126 && got[63].b == 189 &&
           got[63].slot == 1008,
       "oldest first");
    watch(log, VYRE_LOG_BYTES);
    refused_at(VYRE_E_WIRE_LOG_FULL, VYRE_PLACE_SLOT, 64,
               vyre_wire_log_append(log, VYRE_LOG_BYTES, &record, &err));
    watch_nothing();
    works(vyre_wire_log_decode(log, VYRE_LOG_BYTES, got, 64, &count, &err));
    works(vyre_wire_log_decode(log, 4 * 257, got, 64, &count, &err));

    /* Words behind the last whole record belong to none. */
    put_word(log, 0, 4);
    works(vyre_wire_log_count(log, 32, &count, &err));
    is_u64(count, 1, "one record in eight words");
    watch(log, VYRE_LOG_BYTES);
    refused_at(VYRE_E_WIRE_LOG_FULL, VYRE_PLACE_SLOT, 1,
               vyre_wire_log_append(log, 32, &record, &err));
    watch_nothing();
    put_word(log, 0, 0);
    works(vyre_wire_log_decode(log, 4, NULL, 0, &count, &err));
    is_u64(count, 0, "none, and no room needed");
}

static void refusals(unsigned char *log)
{
    vyre_log_record record = {1, 2, 3, 4}, got[64];
    size_t count = 99;
    memset(got, 0x5A, sizeof got);
    memset(log, 0, VYRE_LOG_BYTES);
    watch(log, VYRE_LOG_BYTES);
    watch(got, sizeof got);
    watch(&count, sizeof count);
#define REFUSED_ALL(status, kind, place, bytes, length)                                            \
    do {                                                                                           \
        refused_at(status, kind, place, vyre_wire_log_count(bytes, length, &count, &err));         \
        refused_at(status, kind, place,                                                            \
                   vyre_wire_log_decode(bytes, length, got, 64, &count, &err));                    \
        refused_at(status, kind, place, vyre_wire_log_append(bytes, length, &record, &err));       \
    } while (0)
    REFUSED_ALL(VYRE_E_NULL, VYRE_PLACE_NONE, 0, NULL, 1028);
    refused(VYRE_E_NULL, vyre_wire_log_count(log, 1028, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_log_decode(log, 1028, got, 64, NULL, &err));
    refused(VYRE_E_NULL, vyre_wire_log_decode(log, 1028, NULL, 64, &count, &err));
    refused(VYRE_E_NULL, vyre_wire_log_append(log, 1028, NULL, &err));
    REFUSED_ALL(VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, 1024, log, 1026);
    REFUSED_ALL(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 0, NULL, 0);
    put_word(log, 0, 257);
    REFUSED_ALL(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 258, log, 1028);
    put_word(log, 0, 260); /* 65 records were written to a log of 64 */
    REFUSED_ALL(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 261, log, 1028);
    put_word(log, 0, 0xFFFFFFFFu);
    REFUSED_ALL(VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, 0x100000000u, log, 1028);
    put_word(log, 0, 255);
    REFUSED_ALL(VYRE_E_WIRE_CURSOR, VYRE_PLACE_WORD, 256, log, 1028);
    put_word(log, 0, 1);
    REFUSED_ALL(VYRE_E_WIRE_CURSOR, VYRE_PLACE_WORD, 2, log, 1028);
    put_word(log, 0, 256);
    refused(VYRE_E_TOO_SMALL, vyre_wire_log_decode(log, 1028, got, 63, &count, &err));
    refused(VYRE_E_TOO_SMALL, vyre_wire_log_decode(log, 1028, NULL, 0, &count, &err));
    watch_nothing();
}

int main(void)
{
    sizes();
    for (size_t skew = 0; skew < 2; skew++) {
        note("at an address %zu past a word", skew);
        encodes(arena + skew);
        records(arena + skew);
        refusals(arena + skew);
    }
    return done();
}
