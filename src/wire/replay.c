/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The replay log: a header, then a circle of records of which the newest overwrite the oldest.
 * Works on the bytes of a whole log; opening and syncing files is the caller's.
 *
 * The invariant: append stores the record before the cursor, so a log cut short between the two
 * still reads as it was before. A call that fails has written nothing. Public.
 */
#include <string.h>

#include "wire/bytes.h"

static const unsigned char magic[8] = {'V', 'R', 'R', 'L', '0', '0', '0', '1'};

static_assert(sizeof magic == VYRE_REPLAY_AT_VERSION, "the version follows the magic");

static vyre_status check_capacity(uint64_t records, vyre_error *err)
{
    if (records == 0)
        return vyre_fail(err, VYRE_E_WIRE_REPLAY_ZERO, "0 replay records, 1 to %u",
                         VYRE_REPLAY_MAX_RECORDS);
    if (records > VYRE_REPLAY_MAX_RECORDS)
        return vyre_fail(err, VYRE_E_WIRE_REPLAY_CAPACITY, "%llu replay records, 1 to %u",
                         (unsigned long long)records, VYRE_REPLAY_MAX_RECORDS);
    return VYRE_OK;
}

static size_t record_at(uint64_t record)
{
    return VYRE_REPLAY_HEADER_BYTES + (size_t)record * VYRE_REPLAY_RECORD_BYTES;
}

vyre_status vyre_wire_replay_size(size_t records, size_t *bytes, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (status) return status;
    status = check_capacity(records, err);
    if (status) return status;
    *bytes = record_at(records);
    return VYRE_OK;
}

vyre_status vyre_wire_replay_encode(void *bytes, size_t length, size_t records, vyre_error *err)
{
    vyre_status status = check_capacity(records, err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, record_at(records), "the replay log", err);
    if (status) return status;
    memset(bytes, 0, length);
    memcpy(bytes, magic, sizeof magic);
    vyre_bytes_put32(bytes, VYRE_REPLAY_AT_VERSION, VYRE_REPLAY_VERSION);
    vyre_bytes_put64(bytes, VYRE_REPLAY_AT_CAPACITY, records);
    return VYRE_OK;
}

vyre_status vyre_wire_replay_decode(const void *bytes, size_t length,
                                    vyre_wire_replay_header *header, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(header, "header", err);
    if (status) return status;
    status = vyre_bytes_check_list(bytes, length, "the replay log", err);
    if (status) return status;
    if (length < VYRE_REPLAY_HEADER_BYTES)
        return vyre_fail_at(err, VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, length / 4,
                            "a replay log begins with %u bytes, there are %zu",
                            VYRE_REPLAY_HEADER_BYTES, length);
    if (memcmp(bytes, magic, sizeof magic) != 0)
        return vyre_fail_at(err, VYRE_E_WIRE_REPLAY_HEADER, VYRE_PLACE_BYTE, 0,
                            "the log begins with 0x%016llX, not with VRRL0001",
                            (unsigned long long)vyre_bytes_get64(bytes, 0));
    uint32_t version = vyre_bytes_get32(bytes, VYRE_REPLAY_AT_VERSION);
    if (version != VYRE_REPLAY_VERSION)
        return vyre_fail_at(err, VYRE_E_WIRE_REPLAY_VERSION, VYRE_PLACE_BYTE,
                            VYRE_REPLAY_AT_VERSION, "a log of version %u, this is version %u",
                            version, VYRE_REPLAY_VERSION);
    uint64_t capacity = vyre_bytes_get64(bytes, VYRE_REPLAY_AT_CAPACITY);
    status = check_capacity(capacity, err);
    if (status) return status;
    if (length < record_at(capacity))
        return vyre_fail_at(err, VYRE_E_WIRE_REPLAY_SHORT, VYRE_PLACE_BYTE, length,
                            "a log of %llu records takes %zu bytes, there are %zu",
                            (unsigned long long)capacity, record_at(capacity), length);

    header->flags = vyre_bytes_get32(bytes, VYRE_REPLAY_AT_FLAGS);
    header->capacity = capacity;
    header->cursor = vyre_bytes_get64(bytes, VYRE_REPLAY_AT_CURSOR) % capacity;
    return VYRE_OK;
}

static vyre_status check_failure(uint32_t failure, size_t byte, vyre_error *err)
{
    if (failure <= VYRE_REPLAY_UNCLASSIFIED) return VYRE_OK;
    return vyre_fail_at(err, VYRE_E_WIRE_REPLAY_FAILURE, VYRE_PLACE_BYTE,
                        byte + VYRE_REPLAY_RECORD_AT_CLASS, "failure class %u, at most %u", failure,
                        VYRE_REPLAY_UNCLASSIFIED);
}

static void put_record(void *bytes, const vyre_wire_replay_record *record)
{
    vyre_bytes_put32(bytes, 0, VYRE_REPLAY_RECORD_MARK);
    vyre_bytes_put64(bytes, VYRE_REPLAY_RECORD_AT_TIME, record->timestamp_ns);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_SLOT, record->slot);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_TENANT, record->tenant);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_OPCODE, record->opcode);
    for (size_t i = 0; i < 4; i++)
        vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_ARGS + 4 * i, record->args[i]);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_EPOCH, record->epoch);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_STATUS, record->slot_status);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_CLASS, record->failure);
    vyre_bytes_put32(bytes, VYRE_REPLAY_RECORD_AT_CODE, record->backend_code);
    vyre_bytes_put64(bytes, VYRE_REPLAY_RECORD_AT_DIGEST, record->output_digest);
}

/* at: where the record lies in the log, for the error. */
static vyre_status get_record(const void *bytes, size_t at, vyre_wire_replay_record *record,
                              vyre_error *err)
{
    uint32_t mark = vyre_bytes_get32(bytes, 0);
    if (mark == 0)
        return vyre_fail_at(err, VYRE_E_WIRE_REPLAY_EMPTY, VYRE_PLACE_BYTE, at,
                            "the record's mark is 0");
    if (mark != VYRE_REPLAY_RECORD_MARK)
        return vyre_fail_at(err, VYRE_E_WIRE_REPLAY_RECORD, VYRE_PLACE_BYTE, at,
                            "the record's mark is 0x%08X, not 0x%08X", mark,
                            VYRE_REPLAY_RECORD_MARK);
    uint32_t failure = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_CLASS);
    vyre_status status = check_failure(failure, at, err);
    if (status) return status;

    record->timestamp_ns = vyre_bytes_get64(bytes, VYRE_REPLAY_RECORD_AT_TIME);
    record->slot = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_SLOT);
    record->tenant = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_TENANT);
    record->opcode = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_OPCODE);
    for (size_t i = 0; i < 4; i++)
        record->args[i] = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_ARGS + 4 * i);
    record->epoch = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_EPOCH);
    record->slot_status = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_STATUS);
    record->failure = failure;
    record->backend_code = vyre_bytes_get32(bytes, VYRE_REPLAY_RECORD_AT_CODE);
    record->output_digest = vyre_bytes_get64(bytes, VYRE_REPLAY_RECORD_AT_DIGEST);
    return VYRE_OK;
}

vyre_status vyre_wire_replay_record_encode(void *bytes, size_t length,
                                           const vyre_wire_replay_record *record, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(record, "record", err);
    if (status) return status;
    status =
        vyre_bytes_check_exact(bytes, length, VYRE_REPLAY_RECORD_BYTES, "a replay record", err);
    if (status) return status;
    status = check_failure(record->failure, 0, err);
    if (status) return status;
    put_record(bytes, record);
    return VYRE_OK;
}

vyre_status vyre_wire_replay_record_decode(const void *bytes, size_t length,
                                           vyre_wire_replay_record *record, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(record, "record", err);
    if (status) return status;
    status =
        vyre_bytes_check_exact(bytes, length, VYRE_REPLAY_RECORD_BYTES, "a replay record", err);
    if (status) return status;
    return get_record(bytes, 0, record, err);
}

vyre_status vyre_wire_replay_append(void *bytes, size_t length,
                                    const vyre_wire_replay_record *record, vyre_error *err)
{
    vyre_wire_replay_header header;
    vyre_status status = vyre_bytes_check_pointer(record, "record", err);
    if (status) return status;
    status = vyre_wire_replay_decode(bytes, length, &header, err);
    if (status) return status;
    size_t at = record_at(header.cursor);
    status = check_failure(record->failure, at, err);
    if (status) return status;
    put_record((unsigned char *)bytes + at, record);
    vyre_bytes_put64(bytes, VYRE_REPLAY_AT_CURSOR, (header.cursor + 1) % header.capacity);
    return VYRE_OK;
}

vyre_status vyre_wire_replay_next(const void *bytes, size_t length, uint64_t *position,
                                  vyre_wire_replay_record *record, vyre_error *err)
{
    vyre_wire_replay_header header;
    vyre_status status = vyre_bytes_check_pointer(position, "position", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(record, "record", err);
    if (status) return status;
    status = vyre_wire_replay_decode(bytes, length, &header, err);
    if (status) return status;

    /* The cursor stands at the oldest record: the one that is overwritten next. */
    for (uint64_t step = *position; step < header.capacity; step++) {
        size_t at = record_at((header.cursor + step) % header.capacity);
        const unsigned char *place = (const unsigned char *)bytes + at;
        if (vyre_bytes_get32(place, 0) == 0) continue;
        status = get_record(place, at, record, err);
        if (status) return status;
        *position = step + 1;
        return VYRE_OK;
    }
    return vyre_fail(err, VYRE_E_WIRE_REPLAY_END, "no record at or after position %llu of %llu",
                     (unsigned long long)*position, (unsigned long long)header.capacity);
}
