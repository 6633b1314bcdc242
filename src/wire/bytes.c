/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The checks that every call on a buffer begins with; see bytes.h. All of them are pure: they read
 * lengths, never the buffer.
 */
#include "wire/bytes.h"

#include "base/checked.h"

vyre_status vyre_bytes_check_pointer(const void *pointer, const char *what, vyre_error *err)
{
    if (pointer) return VYRE_OK;
    return vyre_fail(err, VYRE_E_NULL, "%s is NULL", what);
}

vyre_status vyre_bytes_check_list(const void *list, size_t count, const char *what, vyre_error *err)
{
    if (list || count == 0) return VYRE_OK;
    return vyre_fail(err, VYRE_E_NULL, "%s is NULL with a count of %zu", what, count);
}

vyre_status vyre_bytes_check_words(const void *bytes, size_t length, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_list(bytes, length, "the buffer", err);
    if (status) return status;
    if (length % 4 != 0)
        return vyre_fail_at(err, VYRE_E_WIRE_MISALIGNED, VYRE_PLACE_BYTE, length - length % 4,
                            "the buffer has %zu bytes: %zu words and %zu bytes over", length,
                            length / 4, length % 4);
    return VYRE_OK;
}

vyre_status vyre_bytes_check_has(const void *bytes, size_t length, size_t first, size_t count,
                                 vyre_error *err)
{
    vyre_status status = vyre_bytes_check_words(bytes, length, err);
    if (status) return status;
    size_t words = length / 4;
    if (words >= first && words - first >= count) return VYRE_OK;
    size_t missing = words > first ? words : first;
    return vyre_fail_at(err, VYRE_E_WIRE_MISSING_WORD, VYRE_PLACE_WORD, missing,
                        "word %zu is needed, the buffer has %zu words (%zu bytes)", missing, words,
                        length);
}

vyre_status vyre_bytes_check_exact(const void *bytes, size_t length, size_t needed,
                                   const char *what, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_list(bytes, length, what, err);
    if (status) return status;
    if (length < needed)
        return vyre_fail_at(err, VYRE_E_TOO_SMALL, VYRE_PLACE_BYTE, length,
                            "%s takes %zu bytes, there are %zu", what, needed, length);
    if (length > needed)
        return vyre_fail_at(err, VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE, needed,
                            "%s takes exactly %zu bytes, there are %zu", what, needed, length);
    return VYRE_OK;
}

vyre_status vyre_bytes_check_ring(const void *bytes, size_t length, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_words(bytes, length, err);
    if (status) return status;
    if (length % VYRE_SLOT_BYTES != 0)
        return vyre_fail_at(err, VYRE_E_WIRE_LENGTH, VYRE_PLACE_BYTE,
                            length - length % VYRE_SLOT_BYTES,
                            "the ring has %zu bytes: %zu slots and %zu bytes over", length,
                            length / VYRE_SLOT_BYTES, length % VYRE_SLOT_BYTES);
    if (length / VYRE_SLOT_BYTES > VYRE_RING_MAX_SLOTS)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW, "the ring has %zu slots, at most %u",
                         length / VYRE_SLOT_BYTES, VYRE_RING_MAX_SLOTS);
    return VYRE_OK;
}

vyre_status vyre_bytes_check_cap(size_t count, const char *what, vyre_error *err)
{
    if (count <= VYRE_ENCODE_MAX) return VYRE_OK;
    return vyre_fail(err, VYRE_E_WIRE_CAP, "%zu %s, an encoder makes at most %u", count, what,
                     VYRE_ENCODE_MAX);
}

vyre_status vyre_bytes_size_of_words(size_t words, size_t *bytes, vyre_error *err)
{
    if (vyre_mul_size(words, 4, bytes)) return VYRE_OK;
    return vyre_fail(err, VYRE_E_OVERFLOW, "%zu words have more bytes than size_t counts", words);
}
