/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes what a program says about its buffers: the metadata record, the memory regions and the
 * output set. Refuses what the format's own encoder refuses, and nothing more; so a buffer of
 * vectors, or an output without a count, is written although no decoder takes it.
 */
#include "ir/codec.h"

/* Metadata
 * --------------------------------------------------------------------------------------------- */

static void put_hints(struct ir_out *out, const struct ir_hints *hints)
{
    if (hints->locality > 2) vyre_ir_refuse(out, "no cache locality %u", hints->locality);
    vyre_ir_put_u8(out, hints->has_axis != 0);
    if (hints->has_axis) vyre_ir_put_u8(out, hints->axis);
    vyre_ir_put_u32(out, hints->alignment);
    vyre_ir_put_u8(out, hints->locality);
}

static void check_range(struct ir_out *out, const struct ir_buffer *buffer, uint32_t index)
{
    if (buffer->range_start > buffer->range_end)
        vyre_ir_refuse(out, "the output range of buffer %u goes from %llu to %llu", index,
                       (unsigned long long)buffer->range_start,
                       (unsigned long long)buffer->range_end);
    if (buffer->count == 0) return;
    uint64_t size = vyre_ir_type_size(&buffer->type);
    if (size == 0 && buffer->type.tag != IR_TYPE_ARRAY)
        vyre_ir_refuse(out, "buffer %u has an output range, but elements of no fixed size", index);
    else if (size != 0 && buffer->range_end / size > buffer->count)
        vyre_ir_refuse(out, "the output range of buffer %u ends past its %u elements", index,
                       buffer->count);
    else if (buffer->range_end > size * buffer->count)
        vyre_ir_refuse(out, "the output range of buffer %u ends at %llu, past its end", index,
                       (unsigned long long)buffer->range_end);
}

static void put_buffer(struct ir_out *out, const struct ir_buffer *buffer, uint32_t index)
{
    if (buffer->count == 0 && buffer->access == IR_ACCESS_WORKGROUP)
        vyre_ir_refuse(out, "buffer %u is workgroup memory without a count", index);
    if (buffer->count == 0 && buffer->live_out)
        vyre_ir_refuse(out, "buffer %u lives on, but has no count", index);
    if (buffer->has_range) check_range(out, buffer, index);
    vyre_ir_put_name(out, buffer->name);
    vyre_ir_put_u32(out, buffer->binding);
    vyre_ir_put_u32(out, buffer->count);
    vyre_ir_put_u8(out, buffer->is_output != 0);
    vyre_ir_put_u8(out, buffer->live_out != 0);
    vyre_ir_put_u8(out, buffer->has_range != 0);
    if (buffer->has_range) {
        vyre_ir_put_leb(out, buffer->range_start);
        vyre_ir_put_leb(out, buffer->range_end);
    }
    put_hints(out, &buffer->hints);
}

void vyre_ir_put_metadata(struct ir_out *out)
{
    const struct ir_program *program = out->program;
    vyre_ir_put(out, IR_META_MARK, sizeof IR_META_MARK - 1);
    vyre_ir_put_u8(out, program->entry_op_id != IR_NONE);
    if (program->entry_op_id != IR_NONE) vyre_ir_put_name(out, program->entry_op_id);
    for (int i = 0; i < 3; i++) {
        if (program->workgroup[i] == 0)
            vyre_ir_refuse(out, "the workgroup size on axis %c is 0", "xyz"[i]);
        vyre_ir_put_u32(out, program->workgroup[i]);
    }
    vyre_ir_put_u8(out, program->non_composable != 0);
    if (program->buffer_count > IR_MAX_BUFFERS)
        vyre_ir_refuse(out, "%u buffers, at most %u", program->buffer_count, IR_MAX_BUFFERS);
    vyre_ir_put_leb(out, program->buffer_count);
    for (uint32_t i = 0; i < program->buffer_count && out->status == VYRE_OK; i++)
        put_buffer(out, &program->buffers[i], i);
}

/* Memory regions
 * --------------------------------------------------------------------------------------------- */

static void put_quantized(struct ir_out *out, const struct ir_type *type)
{
    const char *fault = vyre_ir_quantized_fault(type);
    if (fault) vyre_ir_refuse(out, "%s", fault);
    if (!type->element || !vyre_ir_type_storage(type->element->tag)) {
        vyre_ir_refuse(out, "a quantized type has no type that can store it");
        return;
    }
    vyre_ir_put_leb(out, type->element->tag);
    vyre_ir_put_leb(out, type->scale);
    vyre_ir_put_leb(out, type->a);
    vyre_ir_put_leb(out, type->zero);
    vyre_ir_put_leb(out, type->b);
}

static void put_shape(struct ir_out *out, const struct ir_buffer *buffer)
{
    const struct ir_type *type = &buffer->type;
    vyre_ir_put_leb(out, buffer->count);
    if (type->tag == IR_TYPE_OPAQUE && type->a < IR_EXTENSION)
        vyre_ir_refuse(out, "extension 0x%x of a type, the numbers begin at 0x%x", type->a,
                       IR_EXTENSION);
    if (type->tag == IR_TYPE_ARRAY || type->tag == IR_TYPE_HANDLE || type->tag == IR_TYPE_OPAQUE)
        vyre_ir_put_leb(out, type->a);
    if (type->tag == IR_TYPE_QUANTIZED) put_quantized(out, type);
}

static void put_region(struct ir_out *out, const struct ir_buffer *buffer, uint32_t index)
{
    uint8_t tag = buffer->type.tag;
    const char *word = vyre_ir_type_word(tag);
    if (!vyre_ir_kind_word(buffer->kind) || !vyre_ir_access_word(buffer->access) || !word)
        vyre_ir_refuse(out, "buffer %u: no memory kind %u, access %u or type 0x%02x", index,
                       buffer->kind, buffer->access, tag);
    else if (tag == IR_TYPE_SPARSE_CSR || tag == IR_TYPE_SPARSE_COO || tag == IR_TYPE_SPARSE_BSR ||
             tag == IR_TYPE_DEVICE_MESH)
        vyre_ir_refuse(out, "%s cannot be the element of buffer %u", word, index);
    vyre_ir_put_leb(out, index);
    vyre_ir_put_u8(out, buffer->kind);
    vyre_ir_put_u8(out, buffer->access);
    vyre_ir_put_u8(out, tag);
    vyre_ir_put_u8(out, 0);
    struct ir_out shape = vyre_ir_put_count(out), hints = vyre_ir_put_count(out);
    put_shape(&shape, buffer);
    put_hints(&hints, &buffer->hints);
    vyre_ir_put_leb(out, shape.at);
    put_shape(out, buffer);
    vyre_ir_put_leb(out, hints.at);
    put_hints(out, &buffer->hints);
}

void vyre_ir_put_regions(struct ir_out *out)
{
    vyre_ir_put_leb(out, out->program->buffer_count);
    for (uint32_t i = 0; i < out->program->buffer_count && out->status == VYRE_OK; i++)
        put_region(out, &out->program->buffers[i], i);
}

/* Output set
 * --------------------------------------------------------------------------------------------- */

static uint32_t put_writable(struct ir_out *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < out->program->buffer_count; i++) {
        uint8_t access = out->program->buffers[i].access;
        if (access != IR_ACCESS_READ_WRITE && access != IR_ACCESS_WRITE_ONLY) continue;
        vyre_ir_put_leb(out, i);
        count++;
    }
    return count;
}

void vyre_ir_put_outputs(struct ir_out *out)
{
    struct ir_out count = vyre_ir_put_count(out);
    vyre_ir_put_leb(out, put_writable(&count));
    put_writable(out);
}
