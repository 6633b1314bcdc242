/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the replay log: header, walking from oldest to newest,
 * append, and single records. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_REPLAY_H
#define VYRE_FUZZ_WIRE_CHECK_REPLAY_H

#include "wire_checks.h"

static inline void check_replay_record(const uint8_t *data, size_t size)
{
    vyre_error *err = check_err(data, size);
    vyre_wire_replay_record record;
    CHECK_MARK(record);
    if (vyre_wire_replay_record_decode(data, size, &record, err)) {
        REQUIRE(CHECK_UNTOUCHED(record));
        return;
    }
    REQUIRE(size == 64 && vyre_wire_replay_record_encode(check_copy, 64, &record, err) == VYRE_OK);
    REQUIRE(check_unchanged(data, 64));
}

/* Counts the records from oldest to newest; *last receives the newest. */
static inline vyre_status check_replay_walk(const void *log, size_t size, size_t *count,
                                            vyre_wire_replay_record *last)
{
    uint64_t position = 0;
    vyre_status status;
    *count = 0;
    while ((status = vyre_wire_replay_next(log, size, &position, last, NULL)) == VYRE_OK)
        ++*count;
    return status;
}

static inline void check_replay(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    vyre_error *err = check_err(data, size);
    vyre_wire_replay_header header;
    vyre_wire_replay_record last, added;
    size_t before, after;
    uint64_t position = 0;
    memset(&added, 0, sizeof added);
    added.timestamp_ns = UINT64_C(0x123456789);
    check_replay_record(data, size);
    CHECK_MARK(header);
    CHECK_MARK(last);
    vyre_status status = vyre_wire_replay_decode(data, size, &header, err);
    check_fresh_copy(data, size);
    if (status) {
        REQUIRE(CHECK_UNTOUCHED(header));
        REQUIRE(vyre_wire_replay_append(check_copy, size, &added, err) == status);
        REQUIRE(vyre_wire_replay_next(data, size, &position, &last, err) == status);
        REQUIRE(position == 0 && CHECK_UNTOUCHED(last) && check_unchanged(data, size));
        return;
    }
    REQUIRE(header.capacity >= 1 && header.cursor < header.capacity);
    REQUIRE(size >= 32 + 64 * header.capacity);
    vyre_status end = check_replay_walk(data, size, &before, &last);
    REQUIRE(end == VYRE_E_WIRE_REPLAY_END || end == VYRE_E_WIRE_REPLAY_RECORD ||
            end == VYRE_E_WIRE_REPLAY_FAILURE);
    REQUIRE(before <= header.capacity);
    REQUIRE(vyre_wire_replay_append(check_copy, size, &added, err) == VYRE_OK);
    if (end != VYRE_E_WIRE_REPLAY_END) return;
    REQUIRE(check_replay_walk(check_copy, size, &after, &last) == VYRE_E_WIRE_REPLAY_END);
    REQUIRE(after == before || after == before + 1);
    REQUIRE(last.timestamp_ns == added.timestamp_ns && last.slot == 0 && last.failure == 0);
}

#endif
