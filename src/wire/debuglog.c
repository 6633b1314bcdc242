/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The debug log: word 0 is a cursor that counts words after it, then come records of four words.
 * A cursor past the end or inside a record makes the whole log unreadable; nothing is guessed. A
 * call that fails has written nothing. Public; the runtime makes its image of a log by it.
 */
#include <string.h>

#include "vyre/tenant.h"
#include "wire/bytes.h"

enum { CURSOR, RECORDS };
enum { RECORD_FORMAT, RECORD_A, RECORD_B, RECORD_SLOT };

static_assert(RECORD_SLOT + 1 == VYRE_LOG_RECORD_WORDS, "a record has four words");

static size_t log_words(size_t records)
{
    return RECORDS + records * VYRE_LOG_RECORD_WORDS;
}

vyre_status vyre_wire_log_size(size_t records, size_t *bytes, vyre_error *err)
{
    size_t size;
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (status) return status;
    if (records > VYRE_LOG_MAX_RECORDS)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW, "%zu records, at most %u", records,
                         VYRE_LOG_MAX_RECORDS);
    status = vyre_bytes_size_of_words(log_words(records), &size, err);
    if (status) return status;
    *bytes = size;
    return VYRE_OK;
}

vyre_status vyre_wire_log_encode(void *bytes, size_t length, size_t records, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_cap(records, "records", err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, 4 * log_words(records), "the debug log", err);
    if (status) return status;
    memset(bytes, 0, length);
    return VYRE_OK;
}

vyre_status vyre_wire_log_count(const void *bytes, size_t length, size_t *count, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(count, "count", err);
    if (status) return status;
    status = vyre_bytes_check_has(bytes, length, CURSOR, 1, err);
    if (status) return status;
    size_t cursor = vyre_bytes_word(bytes, CURSOR);
    size_t words = length / 4;
    if (cursor > words - RECORDS)
        return vyre_fail_at(err, VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, RECORDS + cursor,
                            "the cursor stands at %zu, the log has %zu words after it", cursor,
                            words - RECORDS);
    if (cursor % VYRE_LOG_RECORD_WORDS != 0)
        return vyre_fail_at(err, VYRE_E_WIRE_CURSOR, VYRE_PLACE_WORD, RECORDS + cursor,
                            "the cursor stands at %zu, %zu words into a record", cursor,
                            cursor % VYRE_LOG_RECORD_WORDS);
    *count = cursor / VYRE_LOG_RECORD_WORDS;
    return VYRE_OK;
}

vyre_status vyre_wire_log_decode(const void *bytes, size_t length, vyre_log_record *records,
                                 size_t max, size_t *count, vyre_error *err)
{
    size_t found;
    vyre_status status = vyre_bytes_check_pointer(count, "count", err);
    if (status) return status;
    status = vyre_bytes_check_list(records, max, "records", err);
    if (status) return status;
    status = vyre_wire_log_count(bytes, length, &found, err);
    if (status) return status;
    if (found > max)
        return vyre_fail(err, VYRE_E_TOO_SMALL, "the log has %zu records, there is room for %zu",
                         found, max);
    for (size_t i = 0; i < found; i++) {
        size_t word = log_words(i);
        records[i].format = vyre_bytes_word(bytes, word + RECORD_FORMAT);
        records[i].a = vyre_bytes_word(bytes, word + RECORD_A);
        records[i].b = vyre_bytes_word(bytes, word + RECORD_B);
        records[i].slot = vyre_bytes_word(bytes, word + RECORD_SLOT);
    }
    *count = found;
    return VYRE_OK;
}

vyre_status vyre_wire_log_append(void *bytes, size_t length, const vyre_log_record *record,
                                 vyre_error *err)
{
    size_t found;
    vyre_status status = vyre_bytes_check_pointer(record, "record", err);
    if (status) return status;
    status = vyre_wire_log_count(bytes, length, &found, err);
    if (status) return status;
    size_t word = log_words(found);
    if (length / 4 - word < VYRE_LOG_RECORD_WORDS)
        return vyre_fail_at(err, VYRE_E_WIRE_LOG_FULL, VYRE_PLACE_SLOT, found,
                            "the log has %zu records and %zu words left", found, length / 4 - word);
    vyre_bytes_set_word(bytes, word + RECORD_FORMAT, record->format);
    vyre_bytes_set_word(bytes, word + RECORD_A, record->a);
    vyre_bytes_set_word(bytes, word + RECORD_B, record->b);
    vyre_bytes_set_word(bytes, word + RECORD_SLOT, record->slot);
    vyre_bytes_set_word(bytes, CURSOR, (uint32_t)(log_words(found + 1) - RECORDS));
    return VYRE_OK;
}
