/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes a program in its one canonical form: shortest integers, truth values 0 or 1, the floats
 * that the format's own encoder writes. Everything is written twice, first only to count it: sizes
 * stand before what they measure, and nothing is written where there is no room for all of it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/blake3.h"
#include "ir/codec.h"

void vyre_ir_refuse(struct ir_out *out, const char *format, ...)
{
    if (out->status != VYRE_OK) return;
    char text[VYRE_ERROR_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    out->status = vyre_fail_with(out->err, VYRE_E_IR_FORM, "correct the program before encoding it",
                                 "%s", text);
}

void vyre_ir_put(struct ir_out *out, const void *bytes, size_t count)
{
    if (out->status != VYRE_OK || count == 0) return;
    if (count > IR_MAX_BYTES - out->at) {
        out->status = vyre_fail_with(out->err, VYRE_E_IR_SIZE, "split the program",
                                     "the program is longer than %u bytes", IR_MAX_BYTES);
        return;
    }
    if (out->bytes) memcpy(out->bytes + out->at, bytes, count);
    out->at += count;
}

static void put_little(struct ir_out *out, uint64_t value, size_t count)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    vyre_ir_put(out, bytes, count);
}

void vyre_ir_put_u8(struct ir_out *out, uint32_t value)
{
    put_little(out, value, 1);
}

void vyre_ir_put_u32(struct ir_out *out, uint32_t value)
{
    put_little(out, value, 4);
}

void vyre_ir_put_u64(struct ir_out *out, uint64_t value)
{
    put_little(out, value, 8);
}

void vyre_ir_put_leb(struct ir_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
        count++;
    } while (value != 0);
    vyre_ir_put(out, bytes, count);
}

void vyre_ir_put_name(struct ir_out *out, uint32_t name)
{
    if (name >= out->program->name_count) {
        vyre_ir_refuse(out, "a name is missing (number %u of %u)", name, out->program->name_count);
        return;
    }
    const struct ir_name *text = &out->program->names[name];
    vyre_ir_put_u32(out, text->length);
    vyre_ir_put(out, text->text, text->length);
}

struct ir_out vyre_ir_put_count(const struct ir_out *out)
{
    return (struct ir_out){
        .program = out->program, .status = out->status, .err = out->err, .depth = out->depth};
}

static void put_id(struct ir_out *out, const char *id)
{
    vyre_ir_put_leb(out, strlen(id));
    vyre_ir_put(out, id, strlen(id));
}

/* A record: its op id, the length of its payload, the payload (metadata where node is NULL), and no
 * operands. */
static void put_record(struct ir_out *out, const struct ir_node *node)
{
    const char *id = node ? vyre_ir_node_id(node->kind) : IR_META_ID;
    struct ir_out count = vyre_ir_put_count(out);
    if (node)
        vyre_ir_put_node(&count, node);
    else
        vyre_ir_put_metadata(&count);
    out->status = count.status;
    if (out->status != VYRE_OK) return;
    put_id(out, id);
    vyre_ir_put_leb(out, count.at);
    if (node)
        vyre_ir_put_node(out, node);
    else
        vyre_ir_put_metadata(out);
    vyre_ir_put_leb(out, 0);
}

static void put_program(struct ir_out *out)
{
    static const uint8_t head[IR_HEADER_BYTES] = {'V', 'Y', 'R', 'E', IR_VERSION, 0, IR_FLAGS, 0};
    const struct ir_program *program = out->program;
    if (program->entry.count >= IR_MAX_RECORDS)
        vyre_ir_refuse(out, "%u statements at the top, at most %u", program->entry.count,
                       IR_MAX_RECORDS - 1);
    vyre_ir_put(out, head, sizeof head);
    vyre_ir_put_leb(out, (uint64_t)program->entry.count + 1);
    put_record(out, NULL);
    for (const struct ir_node *node = program->entry.first; node; node = node->next)
        put_record(out, node);
    vyre_ir_put_regions(out);
    vyre_ir_put_outputs(out);
}

vyre_status vyre_ir_encode(const struct ir_program *program, void *bytes, size_t room,
                           size_t *length, vyre_error *err)
{
    struct ir_out out = {.program = program, .err = err};
    put_program(&out);
    if (out.status != VYRE_OK) return out.status;
    *length = out.at;
    if (!bytes) return VYRE_OK;
    if (out.at > room)
        return vyre_fail(err, VYRE_E_TOO_SMALL,
                         "the program takes %zu bytes, there is room for %zu", out.at, room);
    out = (struct ir_out){.program = program, .err = err, .bytes = bytes};
    put_program(&out);
    vyre_blake3(out.bytes + IR_HEADER_BYTES, out.at - IR_HEADER_BYTES, out.bytes + 8);
    return out.status;
}
