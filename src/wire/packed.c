/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The payload of a PACKED_SLOT: several operations with byte-sized opcodes in the twelve argument
 * words of one slot. Byte 0 counts the operations, byte 1 the argument words; then two bytes an
 * operation: its opcode and where its arguments begin, in words from the start of the argument
 * area, which follows at the next word.
 *
 * The invariant: what encode makes, decode takes apart again, and decode takes nothing else apart
 * (padding aside). Public; the runtime's vyre_prep_packed encodes by it.
 */
#include <string.h>

#include "vyre/queue.h"
#include "wire/bytes.h"

/* Words of the header of a payload with `count` operations. */
static size_t header_words(size_t count)
{
    return (2 + 2 * count + 3) / 4;
}

static uint32_t payload_byte(const uint32_t *args, size_t at)
{
    return args[at / 4] >> (8 * (at % 4)) & 0xFFu;
}

static void set_payload_byte(uint32_t *args, size_t at, size_t value)
{
    args[at / 4] |= (uint32_t)value << (8 * (at % 4));
}

/* The number of argument words of all operations. */
static vyre_status count_args(const vyre_packed_op *ops, size_t count, size_t *words,
                              vyre_error *err)
{
    size_t header = header_words(count);
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (ops[i].opcode > 0xFF) {
            vyre_fail_at(err, VYRE_E_WIRE_OPCODE, VYRE_PLACE_ARGUMENT, i,
                         "packed operation %zu has the opcode %u (0x%X), at most 255", i,
                         ops[i].opcode, ops[i].opcode);
            vyre_fail_fix(err, "use an opcode below 256, or a slot of its own");
            return VYRE_E_WIRE_OPCODE;
        }
        if (ops[i].arg_count > VYRE_SLOT_ARGS - header - total)
            return vyre_fail_at(err, VYRE_E_WIRE_PACKED_ARGS, VYRE_PLACE_ARGUMENT, i,
                                "packed operation %zu has %u arguments, %zu words are left", i,
                                ops[i].arg_count, VYRE_SLOT_ARGS - header - total);
        if (!ops[i].args && ops[i].arg_count != 0)
            return vyre_fail_at(err, VYRE_E_NULL, VYRE_PLACE_ARGUMENT, i,
                                "args of packed operation %zu is NULL with %u arguments", i,
                                ops[i].arg_count);
        total += ops[i].arg_count;
    }
    *words = total;
    return VYRE_OK;
}

vyre_status vyre_wire_packed_encode(const vyre_packed_op *ops, size_t count,
                                    uint32_t args[VYRE_SLOT_ARGS], size_t *arg_count,
                                    vyre_error *err)
{
    size_t total = 0;
    vyre_status status = vyre_bytes_check_list(ops, count, "ops", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(args, "args", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(arg_count, "arg_count", err);
    if (status) return status;
    if (count > 0xFF)
        return vyre_fail(err, VYRE_E_WIRE_PACKED_COUNT, "%zu packed operations, at most 255",
                         count);
    if (count > VYRE_PACKED_MAX)
        return vyre_fail(err, VYRE_E_WIRE_PACKED_HEADER,
                         "the header of %zu packed operations has %zu words, a slot has %u", count,
                         header_words(count), VYRE_SLOT_ARGS);
    status = count_args(ops, count, &total, err);
    if (status) return status;

    uint32_t payload[VYRE_SLOT_ARGS] = {0};
    size_t header = header_words(count);
    size_t offset = 0;
    set_payload_byte(payload, 0, count);
    set_payload_byte(payload, 1, total);
    for (size_t i = 0; i < count; i++) {
        set_payload_byte(payload, 2 + 2 * i, ops[i].opcode);
        set_payload_byte(payload, 3 + 2 * i, offset);
        for (size_t k = 0; k < ops[i].arg_count; k++)
            payload[header + offset + k] = ops[i].args[k];
        offset += ops[i].arg_count;
    }
    memcpy(args, payload, sizeof payload);
    *arg_count = header + total;
    return VYRE_OK;
}

/* Each operation's arguments begin where those of the one before end; the first begin at 0 and the
 * last end with the argument area. So a payload without operations has no arguments. */
static vyre_status check_form(const uint32_t *args, size_t count, size_t total, vyre_error *err)
{
    size_t last = 0;
    for (size_t i = 0; i < count; i++) {
        size_t offset = payload_byte(args, 3 + 2 * i);
        if (offset < last || offset > total || (i == 0 && offset != 0))
            return vyre_fail_at(err, VYRE_E_WIRE_PACKED_FORM, VYRE_PLACE_ARGUMENT, i,
                                "arguments of packed operation %zu begin at word %zu, after %zu, "
                                "of %zu",
                                i, offset, last, total);
        last = offset;
    }
    if (count == 0 && total != 0)
        return vyre_fail(err, VYRE_E_WIRE_PACKED_FORM, "%zu argument words of no packed operation",
                         total);
    return VYRE_OK;
}

vyre_status vyre_wire_packed_decode(const uint32_t args[VYRE_SLOT_ARGS], vyre_packed_op *ops,
                                    size_t *count, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(args, "args", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(ops, "ops", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(count, "count", err);
    if (status) return status;

    size_t found = payload_byte(args, 0);
    size_t total = payload_byte(args, 1);
    size_t header = header_words(found);
    if (found > VYRE_PACKED_MAX)
        return vyre_fail(err, VYRE_E_WIRE_PACKED_HEADER,
                         "the header of %zu packed operations has %zu words, a slot has %u", found,
                         header, VYRE_SLOT_ARGS);
    if (total > VYRE_SLOT_ARGS - header)
        return vyre_fail(err, VYRE_E_WIRE_PACKED_ARGS,
                         "%zu packed argument words after a header of %zu, a slot has %u", total,
                         header, VYRE_SLOT_ARGS);
    status = check_form(args, found, total, err);
    if (status) return status;

    for (size_t i = 0; i < found; i++) {
        size_t offset = payload_byte(args, 3 + 2 * i);
        size_t end = i + 1 < found ? payload_byte(args, 5 + 2 * i) : total;
        ops[i].opcode = payload_byte(args, 2 + 2 * i);
        ops[i].arg_count = (uint32_t)(end - offset);
        ops[i].args = end > offset ? args + header + offset : NULL;
    }
    *count = found;
    return VYRE_OK;
}

vyre_status vyre_wire_packed_publish(void *bytes, size_t length, size_t index, uint32_t tenant,
                                     const vyre_packed_op *ops, size_t count, vyre_error *err)
{
    uint32_t args[VYRE_SLOT_ARGS];
    size_t arg_count;
    vyre_status status = vyre_wire_packed_encode(ops, count, args, &arg_count, err);
    if (status) return status;
    vyre_wire_op op = {VYRE_OP_PACKED_SLOT, (uint32_t)arg_count, args};
    return vyre_wire_slot_publish(bytes, length, index, tenant, &op, err);
}
