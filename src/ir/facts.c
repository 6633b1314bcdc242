/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What follows from a type or from the declaration of a buffer: sizes, and which role it has in a
 * dispatch. Sizes that do not fit are the greatest value. Types nest without limit, so nothing here
 * recurses.
 */
#include "ir/program.h"

struct fact {
    uint8_t size, stride, bits;
};

static const struct fact facts[] = {
#define IR_TYPE(tag, name, word, size, stride, bits) [tag] = {size, stride, bits},
#include "ir/tags.def"
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
    return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* The type that gives a vector or a quantized type its width, and how many of it there are. */
static const struct ir_type *innermost(const struct ir_type *type, uint64_t *times)
{
    *times = 1;
    while (type->element && (type->tag == IR_TYPE_VEC || type->tag == IR_TYPE_QUANTIZED)) {
        if (type->tag == IR_TYPE_VEC) *times = multiply(*times, type->lanes);
        type = type->element;
    }
    return type;
}

static struct fact fact_of(const struct ir_type *type)
{
    static const struct fact none = {0, 0, 0};
    return type->tag < sizeof facts / sizeof facts[0] ? facts[type->tag] : none;
}

uint64_t vyre_ir_type_size(const struct ir_type *type)
{
    uint64_t times;
    const struct ir_type *inner = innermost(type, &times);
    uint64_t size = inner->tag == IR_TYPE_ARRAY ? inner->a : fact_of(inner).size;
    return multiply(size, times);
}

uint64_t vyre_ir_type_stride(const struct ir_type *type)
{
    uint64_t times;
    const struct ir_type *inner = innermost(type, &times);
    return multiply(fact_of(inner).stride, times);
}

uint64_t vyre_ir_type_bits(const struct ir_type *type)
{
    uint64_t times;
    const struct ir_type *inner = innermost(type, &times);
    return multiply(fact_of(inner).bits, times);
}

uint64_t vyre_ir_buffer_bytes(const struct ir_buffer *buffer)
{
    uint64_t bits = vyre_ir_type_bits(&buffer->type);
    if (bits == 0) return multiply(buffer->count, vyre_ir_type_size(&buffer->type));
    uint64_t total = multiply(buffer->count, bits);
    if (total == UINT64_MAX) return total;
    return total / 8 + (total % 8 != 0);
}

uint64_t vyre_ir_buffer_elements(const struct ir_buffer *buffer, uint64_t bytes)
{
    uint64_t bits = vyre_ir_type_bits(&buffer->type);
    uint64_t size = vyre_ir_type_size(&buffer->type);
    if (bits == 0) return size == 0 ? bytes : bytes / size;
    if (bits % 8 == 0) return bytes / (bits / 8);
    return bytes > UINT64_MAX / 8 ? UINT64_MAX / bits : bytes * 8 / bits;
}

int vyre_ir_buffer_allocated(const struct ir_buffer *buffer)
{
    return buffer->is_output || buffer->access == IR_ACCESS_WRITE_ONLY ||
           (buffer->live_out && buffer->access == IR_ACCESS_READ_WRITE);
}

int vyre_ir_buffer_returned(const struct ir_buffer *buffer)
{
    return vyre_ir_buffer_allocated(buffer) || buffer->access == IR_ACCESS_READ_WRITE;
}

int vyre_ir_buffer_scalar(const struct ir_buffer *buffer)
{
    return buffer->access == IR_ACCESS_READ_ONLY && buffer->kind == IR_KIND_PUSH &&
           buffer->count == 1 && vyre_ir_type_size(&buffer->type) == 4;
}
