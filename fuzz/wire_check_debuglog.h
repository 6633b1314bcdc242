/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the debug log: decode, append, and making it anew from its
 * records. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_DEBUGLOG_H
#define VYRE_FUZZ_WIRE_CHECK_DEBUGLOG_H

#include "wire_checks.h"

static inline void check_log(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    static vyre_log_record records[CHECK_BYTES_MAX / 16 + 1], again[CHECK_BYTES_MAX / 16 + 1];
    static const vyre_log_record added = {1, 2, 3, 4};
    vyre_error *err = check_err(data, size);
    size_t count;
    CHECK_MARK(count);
    memset(records, 0x5A, sizeof records[0]);
    uint32_t cursor = size >= 4 ? check_word(data, 0) : 0;
    vyre_status status = vyre_wire_log_decode(data, size, records, size / 16 + 1, &count, err);
    REQUIRE(status == (size % 4                             ? VYRE_E_WIRE_MISALIGNED
                       : size == 0 || cursor > size / 4 - 1 ? VYRE_E_WIRE_MISSING_WORD
                       : cursor % 4                         ? VYRE_E_WIRE_CURSOR
                                                            : VYRE_OK));
    check_fresh_copy(data, size);
    vyre_status append = vyre_wire_log_append(check_copy, size, &added, err);
    if (status) {
        REQUIRE(append == status && check_unchanged(data, size));
        REQUIRE(CHECK_UNTOUCHED(count) && check_untouched(records, sizeof records[0]));
        return;
    }
    REQUIRE(count == cursor / 4);
    if (append) {
        REQUIRE(append == VYRE_E_WIRE_LOG_FULL && check_unchanged(data, size));
        return;
    }
    size_t more;
    REQUIRE(vyre_wire_log_decode(check_copy, size, again, size / 16 + 1, &more, err) == VYRE_OK);
    REQUIRE(more == count + 1 && memcmp(&again[count], &added, sizeof added) == 0);
    REQUIRE(memcmp(again, records, count * sizeof records[0]) == 0);

    /* Encoding an empty log and appending all records gives the same words again. */
    size_t bytes = 4 + 16 * more;
    REQUIRE(vyre_wire_log_encode(check_copy, bytes, more, err) == VYRE_OK);
    for (size_t i = 0; i < count; i++)
        REQUIRE(vyre_wire_log_append(check_copy, bytes, &records[i], err) == VYRE_OK);
    REQUIRE(memcmp(check_copy, data, 4 + 16 * count) == 0);
}

#endif
