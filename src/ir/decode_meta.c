/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a VIR0 program says about its buffers, in three places that must agree: the metadata record,
 * the memory regions and the output set.
 */
#include <string.h>

#include "ir/codec.h"

#define LEAST_BUFFER 21u /* bytes of a buffer in the metadata: an empty name, and what is fixed */

/* Metadata
 * --------------------------------------------------------------------------------------------- */

static vyre_status read_hints(struct ir_reader *r, struct ir_hints *hints)
{
    vyre_status status = vyre_ir_read_u8(r, "whether there is a coalesce axis", &hints->has_axis);
    if (status == VYRE_OK && hints->has_axis > 1)
        return vyre_ir_bad(r, "whether there is a coalesce axis is %u, not 0 or 1",
                           hints->has_axis);
    if (status == VYRE_OK && hints->has_axis)
        status = vyre_ir_read_u8(r, "a coalesce axis", &hints->axis);
    if (status == VYRE_OK) status = vyre_ir_read_u32(r, "an alignment", &hints->alignment);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "a cache locality", &hints->locality);
    if (status == VYRE_OK && hints->locality > 2)
        status = vyre_ir_bad(r, "no cache locality %u", hints->locality);
    return status;
}

static vyre_status read_range(struct ir_reader *r, struct ir_buffer *buffer)
{
    vyre_status status = vyre_ir_read_u8(r, "whether there is an output range", &buffer->has_range);
    if (status != VYRE_OK || !buffer->has_range) return status;
    if (buffer->has_range > 1)
        return vyre_ir_bad(r, "whether there is an output range is %u, not 0 or 1",
                           buffer->has_range);
    status = vyre_ir_read_leb(r, "the start of an output range", &buffer->range_start);
    if (status == VYRE_OK)
        status = vyre_ir_read_leb(r, "the end of an output range", &buffer->range_end);
    if (status == VYRE_OK && buffer->range_start > buffer->range_end)
        status = vyre_ir_bad(r, "an output range from %llu to %llu",
                             (unsigned long long)buffer->range_start,
                             (unsigned long long)buffer->range_end);
    return status;
}

static vyre_status read_flag(struct ir_reader *r, const char *what, uint8_t *flag)
{
    uint8_t byte;
    vyre_status status = vyre_ir_read_u8(r, what, &byte);
    if (status == VYRE_OK) *flag = byte != 0;
    return status;
}

static vyre_status read_buffer(struct ir_reader *r, struct ir_buffer *buffer)
{
    struct ir_hints unused = {0};
    vyre_status status = vyre_ir_read_name(r, "the name of a buffer", &buffer->name);
    if (status == VYRE_OK) status = vyre_ir_read_u32(r, "a binding", &buffer->binding);
    if (status == VYRE_OK) status = vyre_ir_read_u32(r, "an element count", &buffer->count);
    if (status == VYRE_OK) status = read_flag(r, "whether it is an output", &buffer->is_output);
    if (status == VYRE_OK) status = read_flag(r, "whether it lives on", &buffer->live_out);
    if (status == VYRE_OK) status = read_range(r, buffer);
    /* The region's hints count; these need only be well formed. */
    if (status == VYRE_OK) status = read_hints(r, &unused);
    return status;
}

static vyre_status read_buffers(struct ir_reader *r)
{
    uint32_t count;
    vyre_status status = vyre_ir_read_leb_most(r, "the number of buffers", IR_MAX_BUFFERS, &count);
    if (status != VYRE_OK) return status;
    if (count > (r->end - r->at) / LEAST_BUFFER)
        return vyre_ir_bad(r, "%u buffers, %zu bytes are left", count, r->end - r->at);
    status = vyre_ir_buffers(r->program, count, r->err);
    for (uint32_t i = 0; i < count && status == VYRE_OK; i++)
        status = read_buffer(r, &r->program->buffers[i]);
    return status;
}

static vyre_status read_entry_op_id(struct ir_reader *r)
{
    uint8_t present;
    vyre_status status = vyre_ir_read_u8(r, "whether there is an entry op id", &present);
    if (status != VYRE_OK || present == 0) return status;
    if (present != 1)
        return vyre_ir_bad(r, "whether there is an entry op id is %u, not 0 or 1", present);
    return vyre_ir_read_name(r, "the entry op id", &r->program->entry_op_id);
}

vyre_status vyre_ir_read_metadata(struct ir_reader *r)
{
    const uint8_t *mark;
    struct ir_program *program = r->program;
    vyre_status status = vyre_ir_read_bytes(r, sizeof IR_META_MARK - 1, "the metadata", &mark);
    if (status == VYRE_OK && memcmp(mark, IR_META_MARK, sizeof IR_META_MARK - 1) != 0)
        status = vyre_ir_bad(r, "the metadata must begin with %s", IR_META_MARK);
    if (status == VYRE_OK) status = read_entry_op_id(r);
    for (int i = 0; i < 3 && status == VYRE_OK; i++) {
        status = vyre_ir_read_u32(r, "the workgroup size", &program->workgroup[i]);
        if (status == VYRE_OK && program->workgroup[i] == 0)
            status = vyre_ir_bad(r, "the workgroup size on axis %c is 0", "xyz"[i]);
    }
    uint8_t alone = 0;
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "whether it is non-composable", &alone);
    if (status == VYRE_OK && alone > 1)
        status = vyre_ir_bad(r, "whether it is non-composable is %u, not 0 or 1", alone);
    program->non_composable = alone;
    return status == VYRE_OK ? read_buffers(r) : status;
}

/* Memory regions
 * --------------------------------------------------------------------------------------------- */

static vyre_status read_shape_quantized(struct ir_reader *r, struct ir_type *type)
{
    uint32_t storage, scale, zero;
    void *element;
    vyre_status status = vyre_ir_read_leb_most(r, "the storage of an element", 0xFF, &storage);
    if (status == VYRE_OK && !vyre_ir_type_storage(storage))
        status = vyre_ir_bad(r, "type 0x%02x cannot store a quantized type", storage);
    if (status == VYRE_OK) status = vyre_ir_read_leb_most(r, "a scale", 0xFF, &scale);
    if (status == VYRE_OK)
        status = vyre_ir_read_leb_most(r, "the parameter of a scale", UINT32_MAX, &type->a);
    if (status == VYRE_OK) status = vyre_ir_read_leb_most(r, "a zero point", 0xFF, &zero);
    if (status == VYRE_OK)
        status = vyre_ir_read_leb_most(r, "the parameter of a zero point", UINT32_MAX, &type->b);
    if (status == VYRE_OK)
        status = vyre_ir_alloc(r->program, 1, sizeof(struct ir_type), &element, r->err);
    if (status != VYRE_OK) return status;
    ((struct ir_type *)element)->tag = (uint8_t)storage;
    type->element = element;
    type->scale = (uint8_t)scale;
    type->zero = (uint8_t)zero;
    const char *fault = vyre_ir_quantized_fault(type);
    return fault ? vyre_ir_bad(r, "%s (scale %u with %u, zero point %u with %u)", fault, scale,
                               type->a, zero, type->b)
                 : VYRE_OK;
}

/* An element size is 64 bits wide on the wire; no element of ours is larger than 4 GiB. */
static vyre_status read_element_size(struct ir_reader *r, struct ir_type *type)
{
    uint64_t size;
    vyre_status status = vyre_ir_read_leb(r, "the size of an element", &size);
    if (status != VYRE_OK) return status;
    if (size > UINT32_MAX)
        return vyre_fail_with(r->err, VYRE_E_LIMIT, "use smaller elements",
                              "elements of %llu bytes, at most %u", (unsigned long long)size,
                              UINT32_MAX);
    type->a = (uint32_t)size;
    return VYRE_OK;
}

static vyre_status read_element(struct ir_reader *r, struct ir_type *type)
{
    vyre_status status;
    switch (type->tag) {
    case IR_TYPE_ARRAY:
        return read_element_size(r, type);
    case IR_TYPE_HANDLE:
        return vyre_ir_read_leb_most(r, "the type of a handle", UINT32_MAX, &type->a);
    case IR_TYPE_OPAQUE:
        status = vyre_ir_read_leb_most(r, "the number of an extension", UINT32_MAX, &type->a);
        if (status == VYRE_OK && type->a < IR_EXTENSION)
            status = vyre_ir_bad(r, "extension 0x%x of a type, the numbers begin at 0x%x", type->a,
                                 IR_EXTENSION);
        return status;
    case IR_TYPE_QUANTIZED:
        return read_shape_quantized(r, type);
    default:
        return VYRE_OK;
    }
}

/* What the element of a buffer can be; the others have no place in a region. */
static vyre_status check_element(struct ir_reader *r, uint8_t tag)
{
    const char *word = vyre_ir_type_word(tag);
    if (!word) return vyre_ir_bad(r, "no data type has the tag 0x%02x", tag);
    if (tag == IR_TYPE_DEVICE_MESH || (vyre_ir_type_nests(tag) && tag != IR_TYPE_QUANTIZED))
        return vyre_ir_bad(r, "%s cannot be the element of a buffer", word);
    return VYRE_OK;
}

static vyre_status read_shape(struct ir_reader *r, struct ir_buffer *buffer)
{
    uint32_t length, count;
    size_t end = r->end;
    vyre_status status = vyre_ir_read_leb_most(r, "the length of a shape", IR_MAX_SHAPE, &length);
    if (status != VYRE_OK) return status;
    if (length > r->end - r->at)
        return vyre_ir_bad(r, "a shape of %u bytes, %zu are left", length, r->end - r->at);
    r->end = r->at + length;
    status = vyre_ir_read_leb_most(r, "an element count", UINT32_MAX, &count);
    if (status == VYRE_OK && count != buffer->count)
        status =
            vyre_ir_bad(r, "%u elements in the region, %u in the metadata", count, buffer->count);
    if (status == VYRE_OK) status = read_element(r, &buffer->type);
    if (status == VYRE_OK) status = vyre_ir_read_done(r, "a shape");
    r->end = end;
    return status;
}

static vyre_status read_region_hints(struct ir_reader *r, struct ir_hints *hints)
{
    uint32_t length;
    size_t end = r->end;
    vyre_status status = vyre_ir_read_leb_most(r, "the length of hints", IR_MAX_SHAPE, &length);
    if (status != VYRE_OK) return status;
    if (length > r->end - r->at)
        return vyre_ir_bad(r, "hints of %u bytes, %zu are left", length, r->end - r->at);
    r->end = r->at + length;
    status = read_hints(r, hints);
    if (status == VYRE_OK) status = vyre_ir_read_done(r, "hints");
    r->end = end;
    return status;
}

static vyre_status check_buffer(struct ir_reader *r, const struct ir_buffer *buffer, uint32_t index)
{
    if (buffer->count == 0 && buffer->access == IR_ACCESS_WORKGROUP)
        return vyre_ir_bad(r, "buffer %u is workgroup memory without a count", index);
    if (buffer->count == 0 && (buffer->live_out || buffer->is_output))
        return vyre_ir_bad(r, "buffer %u is an output without a count", index);
    if (!buffer->has_range) return VYRE_OK;
    uint64_t size = vyre_ir_type_size(&buffer->type);
    if (size == 0 && buffer->type.tag != IR_TYPE_ARRAY)
        return vyre_ir_bad(r, "buffer %u has an output range, but elements of no fixed size",
                           index);
    if (buffer->range_end > buffer->count * size)
        return vyre_ir_bad(r, "the output range of buffer %u ends at %llu, the buffer at %llu",
                           index, (unsigned long long)buffer->range_end,
                           (unsigned long long)(buffer->count * size));
    return VYRE_OK;
}

static vyre_status read_region(struct ir_reader *r, uint32_t index)
{
    struct ir_buffer *buffer = &r->program->buffers[index];
    uint64_t id;
    uint8_t shape;
    size_t begin = r->at;
    vyre_status status = vyre_ir_read_leb(r, "the id of a region", &id);
    if (status == VYRE_OK && id != index)
        status = vyre_ir_bad(r, "region %u has the id %llu", index, (unsigned long long)id);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "a memory kind", &buffer->kind);
    if (status == VYRE_OK && !vyre_ir_kind_word(buffer->kind))
        status = vyre_ir_bad(r, "no memory kind %u", buffer->kind);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "an access mode", &buffer->access);
    if (status == VYRE_OK && !vyre_ir_access_word(buffer->access))
        status = vyre_ir_bad(r, "no access mode %u", buffer->access);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "an element type", &buffer->type.tag);
    if (status == VYRE_OK) status = check_element(r, buffer->type.tag);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "a shape", &shape);
    if (status == VYRE_OK && shape != 0) status = vyre_ir_bad(r, "shape %u, it must be 0", shape);
    if (status == VYRE_OK) status = read_shape(r, buffer);
    if (status == VYRE_OK) status = read_region_hints(r, &buffer->hints);
    r->mark = status == VYRE_OK ? begin : r->mark;
    return status == VYRE_OK ? check_buffer(r, buffer, index) : status;
}

vyre_status vyre_ir_read_regions(struct ir_reader *r)
{
    uint64_t count;
    uint32_t buffers = r->program->buffer_count;
    vyre_status status = vyre_ir_read_leb(r, "the number of regions", &count);
    if (status == VYRE_OK && count != buffers)
        status = vyre_ir_bad(r, "%llu regions for %u buffers", (unsigned long long)count, buffers);
    for (uint32_t i = 0; i < buffers && status == VYRE_OK; i++)
        status = read_region(r, i);
    return status;
}

/* Output set
 * --------------------------------------------------------------------------------------------- */

static uint32_t next_output(const struct ir_program *program, uint32_t from)
{
    while (from < program->buffer_count && program->buffers[from].access != IR_ACCESS_READ_WRITE &&
           program->buffers[from].access != IR_ACCESS_WRITE_ONLY)
        from++;
    return from;
}

vyre_status vyre_ir_read_outputs(struct ir_reader *r)
{
    uint32_t count, expected = next_output(r->program, 0), buffers = r->program->buffer_count;
    vyre_status status = vyre_ir_read_leb_most(r, "the number of outputs", IR_MAX_BUFFERS, &count);
    if (status != VYRE_OK) return status;
    size_t begin = r->mark;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index;
        status = vyre_ir_read_leb_most(r, "the index of an output", UINT32_MAX, &index);
        if (status != VYRE_OK) return status;
        if (expected == buffers)
            return vyre_ir_bad(r, "buffer %u in the output set, which is complete", index);
        if (index != expected)
            return vyre_ir_bad(r, "buffer %u in the output set, buffer %u comes next", index,
                               expected);
        expected = next_output(r->program, expected + 1);
    }
    if (expected == buffers) return VYRE_OK;
    r->mark = begin;
    return vyre_ir_bad(r, "writable buffer %u is not in the output set", expected);
}
