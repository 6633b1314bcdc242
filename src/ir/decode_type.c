/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Data types as they stand in a cast. They nest without limit, so the chain is read without
 * recursion: downwards each type keeps the one around it in `element`; then, from the innermost
 * outwards, the link is turned round and what follows the element on the wire is read.
 */
#include "ir/codec.h"

static vyre_status make_type(struct ir_reader *r, struct ir_type **out)
{
    void *made;
    if (r->types >= IR_MAX_TYPES)
        return vyre_fail_with(r->err, VYRE_E_LIMIT, "nest types less, or use fewer casts",
                              "a program has at most %u data types in its casts", IR_MAX_TYPES);
    vyre_status status = vyre_ir_alloc(r->program, 1, sizeof(struct ir_type), &made, r->err);
    if (status != VYRE_OK) return status;
    r->types++;
    *out = made;
    return VYRE_OK;
}

static vyre_status read_dims(struct ir_reader *r, struct ir_type *type)
{
    uint32_t count;
    void *dims;
    vyre_status status = vyre_ir_read_u32(r, "the rank of a type", &count);
    if (status != VYRE_OK) return status;
    if (count > (r->end - r->at) / 4)
        return vyre_ir_bad(r, "a type with %u dimensions, %zu bytes are left", count,
                           r->end - r->at);
    status = vyre_ir_alloc(r->program, count, sizeof(uint32_t), &dims, r->err);
    uint32_t *words = status == VYRE_OK ? dims : NULL;
    for (uint32_t i = 0; i < count && status == VYRE_OK; i++)
        status = vyre_ir_read_u32(r, "a dimension", &words[i]);
    if (status != VYRE_OK) return status;
    type->dims = words;
    type->dim_count = count;
    return VYRE_OK;
}

static vyre_status read_quantized(struct ir_reader *r, struct ir_type *type)
{
    vyre_status status = VYRE_OK;
    if (!vyre_ir_type_storage(type->element->tag))
        return vyre_ir_bad(r, "%s cannot store a quantized type",
                           vyre_ir_type_word(type->element->tag));
    size_t begin = r->at;
    status = vyre_ir_read_u8(r, "a scale", &type->scale);
    if (status == VYRE_OK) status = vyre_ir_read_u32(r, "a scale", &type->a);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "a zero point", &type->zero);
    if (status == VYRE_OK) status = vyre_ir_read_u32(r, "a zero point", &type->b);
    if (status != VYRE_OK) return status;
    const char *fault = vyre_ir_quantized_fault(type);
    if (!fault) return VYRE_OK;
    r->mark = begin;
    return vyre_ir_bad(r, "%s (scale %u with %u, zero point %u with %u)", fault, type->scale,
                       type->a, type->zero, type->b);
}

/* What follows the tag, or the element where there is one. */
static vyre_status read_rest(struct ir_reader *r, struct ir_type *type)
{
    vyre_status status;
    switch (type->tag) {
    case IR_TYPE_ARRAY:
    case IR_TYPE_HANDLE:
        return vyre_ir_read_u32(r, "the parameter of a type", &type->a);
    case IR_TYPE_OPAQUE:
        status = vyre_ir_read_u32(r, "the number of an extension", &type->a);
        if (status == VYRE_OK && type->a < IR_EXTENSION)
            status = vyre_ir_bad(r, "extension 0x%x of a type, the numbers begin at 0x%x", type->a,
                                 IR_EXTENSION);
        return status;
    case IR_TYPE_VEC:
        return vyre_ir_read_u8(r, "the lanes of a vector", &type->lanes);
    case IR_TYPE_TENSOR_SHAPED:
    case IR_TYPE_DEVICE_MESH:
        return read_dims(r, type);
    case IR_TYPE_SPARSE_BSR:
        status = vyre_ir_read_u32(r, "the rows of a block", &type->a);
        return status == VYRE_OK ? vyre_ir_read_u32(r, "the columns of a block", &type->b) : status;
    case IR_TYPE_QUANTIZED:
        return read_quantized(r, type);
    default:
        return VYRE_OK;
    }
}

vyre_status vyre_ir_read_type(struct ir_reader *r, const struct ir_type **out)
{
    struct ir_type *around = NULL, *type = NULL;
    for (;;) {
        uint8_t tag;
        vyre_status status = vyre_ir_read_u8(r, "a data type", &tag);
        if (status != VYRE_OK) return status;
        if (!vyre_ir_type_word(tag)) return vyre_ir_bad(r, "no data type has the tag 0x%02x", tag);
        status = make_type(r, &type);
        if (status != VYRE_OK) return status;
        type->tag = tag;
        if (!vyre_ir_type_nests(tag)) break;
        type->element = around;
        around = type;
    }
    for (;;) {
        vyre_status status = read_rest(r, type);
        if (status != VYRE_OK) return status;
        if (!around) break;
        struct ir_type *outer = around;
        around = (struct ir_type *)outer->element;
        outer->element = type;
        type = outer;
    }
    *out = type;
    return VYRE_OK;
}
