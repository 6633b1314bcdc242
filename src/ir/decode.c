/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Envelope and records of a VIR0 program. The checks come in the order of the format: size, magic,
 * version, length, flags, digest; the body is looked at only after its digest.
 */
#include <string.h>

#include "base/blake3.h"
#include "ir/codec.h"

static const uint8_t magic[4] = {'V', 'Y', 'R', 'E'};

void vyre_ir_fingerprint(const void *bytes, size_t length, uint8_t digest[32])
{
    vyre_blake3(bytes, length, digest);
}

static vyre_status too_short(size_t length, vyre_error *err)
{
    return vyre_fail(err, VYRE_E_IR_SIZE, "%zu bytes, a program has at least %u", length,
                     IR_HEADER_BYTES);
}

static vyre_status check_magic(const uint8_t *bytes, size_t length, vyre_error *err)
{
    size_t part = length < sizeof magic ? length : sizeof magic;
    for (size_t i = 0; i < part; i++)
        if (bytes[i] != magic[i])
            return vyre_fail_at(err, VYRE_E_IR_MAGIC, VYRE_PLACE_BYTE, i,
                                "byte %zu is 0x%02x, a program begins with VYRE", i, bytes[i]);
    return part < sizeof magic ? too_short(length, err) : VYRE_OK;
}

static vyre_status check_envelope(const uint8_t *bytes, size_t length, vyre_error *err)
{
    if (length > IR_MAX_BYTES)
        return vyre_fail_with(err, VYRE_E_IR_SIZE, "split the program",
                              "more than %u bytes, the most that a program has", IR_MAX_BYTES);
    vyre_status status = check_magic(bytes, length, err);
    if (status != VYRE_OK) return status;
    if (length < 6) return too_short(length, err);
    uint32_t version = bytes[4] | (uint32_t)bytes[5] << 8;
    if (version != IR_VERSION)
        return vyre_fail_at(err, VYRE_E_IR_VERSION, VYRE_PLACE_BYTE, 4,
                            "version %u of the program format, this library reads version %u",
                            version, IR_VERSION);
    if (length < IR_HEADER_BYTES) return too_short(length, err);
    uint32_t flags = bytes[6] | (uint32_t)bytes[7] << 8;
    if (flags != IR_FLAGS)
        return vyre_fail_at(err, VYRE_E_IR_FLAGS, VYRE_PLACE_BYTE, 6,
                            "flags 0x%04x, a program has 0x%04x", flags, IR_FLAGS);
    uint8_t digest[VYRE_BLAKE3_BYTES];
    vyre_blake3(bytes + IR_HEADER_BYTES, length - IR_HEADER_BYTES, digest);
    if (memcmp(digest, bytes + 8, sizeof digest) != 0)
        return vyre_fail_at(err, VYRE_E_IR_DIGEST, VYRE_PLACE_BYTE, 8,
                            "the digest begins with %02x%02x%02x%02x, that of the %zu bytes of the "
                            "body with %02x%02x%02x%02x",
                            bytes[8], bytes[9], bytes[10], bytes[11], length - IR_HEADER_BYTES,
                            digest[0], digest[1], digest[2], digest[3]);
    return VYRE_OK;
}

struct record {
    const uint8_t *id;
    uint32_t id_length;
    size_t id_at;
    size_t end; /* of the payload */
};

/* Reads a record's head; the reader then stands at its payload, which `end` limits. */
static vyre_status record_begin(struct ir_reader *r, struct record *record)
{
    uint64_t length;
    record->id_at = r->at;
    vyre_status status =
        vyre_ir_read_lstr(r, "the op id of a record", &record->id, &record->id_length);
    if (status == VYRE_OK) status = vyre_ir_read_leb(r, "the length of a record", &length);
    if (status != VYRE_OK) return status;
    if (length > r->end - r->at)
        return vyre_ir_bad(r, "a record of %llu bytes, %zu are left", (unsigned long long)length,
                           r->end - r->at);
    record->end = r->at + (size_t)length;
    return VYRE_OK;
}

static vyre_status record_named(struct ir_reader *r, const struct record *record, const char *id)
{
    if (record->id_length == strlen(id) && memcmp(record->id, id, record->id_length) == 0)
        return VYRE_OK;
    char text[65];
    size_t length = record->id_length < sizeof text ? record->id_length : sizeof text - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = record->id[i] >= 0x20 && record->id[i] < 0x7F ? (char)record->id[i] : '?';
    text[length] = '\0';
    r->mark = record->id_at;
    return vyre_ir_bad(r, "a record is named \"%s\", its payload is of %s", text, id);
}

/* Operands are of the format, but no version has any. */
static vyre_status record_end(struct ir_reader *r)
{
    uint64_t operands;
    vyre_status status = vyre_ir_read_leb(r, "the operands of a record", &operands);
    if (status != VYRE_OK || operands == 0) return status;
    return vyre_ir_bad(r, "a record with %llu operands, it must have none",
                       (unsigned long long)operands);
}

static vyre_status read_record(struct ir_reader *r, uint32_t number)
{
    struct record record;
    size_t end = r->end;
    vyre_status status = record_begin(r, &record);
    if (status != VYRE_OK) return status;
    struct ir_node *node = NULL;
    r->end = record.end;
    r->depth = 0;
    if (number == 0) {
        status = record_named(r, &record, IR_META_ID);
        if (status == VYRE_OK) status = vyre_ir_read_metadata(r);
    } else {
        status = vyre_ir_read_node(r, &node);
        if (status == VYRE_OK) status = record_named(r, &record, vyre_ir_node_id(node->kind));
    }
    if (status == VYRE_OK) status = vyre_ir_read_done(r, "the payload of a record");
    if (status != VYRE_OK) return status;
    r->end = end;
    if (node) vyre_ir_append(&r->program->entry, node);
    return record_end(r);
}

static vyre_status read_body(struct ir_reader *r)
{
    uint32_t records = 0;
    vyre_status status =
        vyre_ir_read_leb_most(r, "the number of records", IR_MAX_RECORDS, &records);
    if (status == VYRE_OK && records == 0)
        status = vyre_ir_bad(r, "no records, the first one must be %s", IR_META_ID);
    for (uint32_t i = 0; i < records && status == VYRE_OK; i++)
        status = read_record(r, i);
    if (status == VYRE_OK) status = vyre_ir_read_regions(r);
    if (status == VYRE_OK) status = vyre_ir_read_outputs(r);
    if (status == VYRE_OK) status = vyre_ir_read_done(r, "the program");
    return status;
}

vyre_status vyre_ir_decode(struct vyre_memory *memory, const void *bytes, size_t length,
                           struct ir_program **out, vyre_error *err)
{
    vyre_status status = check_envelope(bytes, length, err);
    if (status != VYRE_OK) return status;
    struct ir_program *program;
    status = vyre_ir_program_make(memory, &program, err);
    if (status != VYRE_OK) return status;
    struct ir_reader reader = {.bytes = bytes,
                               .at = IR_HEADER_BYTES,
                               .end = length,
                               .mark = IR_HEADER_BYTES,
                               .program = program,
                               .err = err};
    status = read_body(&reader);
    if (status != VYRE_OK) {
        vyre_ir_program_free(program);
        return status;
    }
    vyre_ir_buffers_named(program);
    *out = program;
    return VYRE_OK;
}
