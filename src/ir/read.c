/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The primitives of the wire format, read with the end of the part in view. No call reads past the
 * end, and none allocates by a count that the bytes do not bear out.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/codec.h"

vyre_status vyre_ir_bad(struct ir_reader *r, const char *format, ...)
{
    char text[VYRE_ERROR_MESSAGE_BYTES - 32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vyre_fail_at(r->err, VYRE_E_IR_FORM, VYRE_PLACE_BYTE, r->mark, "byte %zu: %s", r->mark,
                        text);
}

vyre_status vyre_ir_read_bytes(struct ir_reader *r, size_t count, const char *what,
                               const uint8_t **out)
{
    r->mark = r->at;
    if (count > r->end - r->at)
        return vyre_ir_bad(r, "%s: %zu more bytes are needed, %zu are left", what, count,
                           r->end - r->at);
    *out = r->bytes + r->at;
    r->at += count;
    return VYRE_OK;
}

static vyre_status read_little(struct ir_reader *r, size_t count, const char *what, uint64_t *out)
{
    const uint8_t *bytes = NULL;
    vyre_status status = vyre_ir_read_bytes(r, count, what, &bytes);
    if (status != VYRE_OK) return status;
    *out = 0;
    for (size_t i = 0; i < count; i++)
        *out |= (uint64_t)bytes[i] << (8 * i);
    return VYRE_OK;
}

vyre_status vyre_ir_read_u8(struct ir_reader *r, const char *what, uint8_t *out)
{
    uint64_t value;
    vyre_status status = read_little(r, 1, what, &value);
    if (status == VYRE_OK) *out = (uint8_t)value;
    return status;
}

vyre_status vyre_ir_read_u32(struct ir_reader *r, const char *what, uint32_t *out)
{
    uint64_t value;
    vyre_status status = read_little(r, 4, what, &value);
    if (status == VYRE_OK) *out = (uint32_t)value;
    return status;
}

vyre_status vyre_ir_read_u64(struct ir_reader *r, const char *what, uint64_t *out)
{
    return read_little(r, 8, what, out);
}

/* Over-long forms are allowed, up to the ten bytes that 64 bits need. */
vyre_status vyre_ir_read_leb(struct ir_reader *r, const char *what, uint64_t *out)
{
    uint64_t value = 0;
    size_t begin = r->at;
    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte;
        vyre_status status = vyre_ir_read_u8(r, what, &byte);
        if (status != VYRE_OK) return status;
        if (shift == 63 && byte > 1) {
            r->mark = begin;
            return vyre_ir_bad(r, "%s does not fit 64 bits", what);
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    r->mark = begin;
    *out = value;
    return VYRE_OK;
}

vyre_status vyre_ir_read_leb_most(struct ir_reader *r, const char *what, uint32_t most,
                                  uint32_t *out)
{
    uint64_t value;
    vyre_status status = vyre_ir_read_leb(r, what, &value);
    if (status != VYRE_OK) return status;
    if (value > most)
        return vyre_ir_bad(r, "%s is %llu, at most %u", what, (unsigned long long)value, most);
    *out = (uint32_t)value;
    return VYRE_OK;
}

/* How many bytes the first character takes, or 0: over-long, a surrogate, past U+10FFFF, cut off.
 */
static size_t character(const uint8_t *text, size_t length)
{
    uint32_t first = text[0];
    if (first < 0x80) return 1;
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || size > length) return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    if (first == 0xE0 && text[1] < 0xA0) return 0;
    if (first == 0xED && text[1] > 0x9F) return 0;
    if (first == 0xF0 && text[1] < 0x90) return 0;
    if (first == 0xF4 && text[1] > 0x8F) return 0;
    return size;
}

static vyre_status read_text(struct ir_reader *r, uint64_t length, const char *what,
                             const uint8_t **text)
{
    if (length > IR_MAX_STRING)
        return vyre_ir_bad(r, "%s is %llu bytes long, at most %u", what, (unsigned long long)length,
                           IR_MAX_STRING);
    const uint8_t *bytes = NULL;
    vyre_status status = vyre_ir_read_bytes(r, (size_t)length, what, &bytes);
    if (status != VYRE_OK) return status;
    for (size_t at = 0; at < length;) {
        size_t size = character(bytes + at, (size_t)length - at);
        if (size == 0) {
            r->mark += at;
            return vyre_ir_bad(r, "%s is not UTF-8 (byte 0x%02x)", what, bytes[at]);
        }
        at += size;
    }
    *text = bytes;
    return VYRE_OK;
}

vyre_status vyre_ir_read_name(struct ir_reader *r, const char *what, uint32_t *name)
{
    uint32_t length;
    const uint8_t *text;
    vyre_status status = vyre_ir_read_u32(r, what, &length);
    if (status == VYRE_OK) status = read_text(r, length, what, &text);
    if (status != VYRE_OK) return status;
    return vyre_ir_name(r->program, (const char *)text, length, name, r->err);
}

vyre_status vyre_ir_read_lstr(struct ir_reader *r, const char *what, const uint8_t **text,
                              uint32_t *length)
{
    uint64_t size;
    vyre_status status = vyre_ir_read_leb(r, what, &size);
    if (status == VYRE_OK) status = read_text(r, size, what, text);
    if (status == VYRE_OK) *length = (uint32_t)size;
    return status;
}

vyre_status vyre_ir_read_done(struct ir_reader *r, const char *what)
{
    if (r->at == r->end) return VYRE_OK;
    r->mark = r->at;
    return vyre_ir_bad(r, "%s is followed by %zu bytes that do not belong to it", what,
                       r->end - r->at);
}

vyre_status vyre_ir_read_enter(struct ir_reader *r)
{
    if (r->depth >= IR_MAX_DEPTH) {
        r->mark = r->at;
        return vyre_ir_bad(r, "statements and expressions nest deeper than %u", IR_MAX_DEPTH);
    }
    r->depth++;
    return VYRE_OK;
}

void vyre_ir_read_leave(struct ir_reader *r)
{
    r->depth--;
}
