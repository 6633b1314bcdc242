/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Values of the oracle: their bytes in memory, their truth, and what becomes of them in a cast.
 */
#include "oracle/oracle_inside.h"

#include <string.h>

uint32_t oracle_canon(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7FC00000u;
    if (magnitude < 0x00800000u) return bits & 0x80000000u;
    return bits;
}

float oracle_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t oracle_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return oracle_canon(bits);
}

struct oracle_value oracle_scalar(enum oracle_kind kind, uint64_t bits)
{
    struct oracle_value value = {.kind = kind, .bits = bits};
    if (kind == KIND_F32) value.bits = oracle_canon((uint32_t)bits);
    return value;
}

struct oracle_value oracle_raw(const unsigned char *bytes, uint32_t length)
{
    struct oracle_value value = {.kind = KIND_BYTES, .length = length};
    memcpy(value.bytes, bytes, length);
    return value;
}

static uint64_t read_number(const unsigned char *bytes, uint32_t length)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < length; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

static void write_number(unsigned char *bytes, uint32_t length, uint64_t number)
{
    for (uint32_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

/* The bytes of a value; those after its length are zero. */
uint32_t oracle_to_raw(const struct oracle_value *value, unsigned char bytes[MOST_BYTES])
{
    uint32_t length = 4;
    uint64_t number = value->bits;
    memset(bytes, 0, MOST_BYTES);
    if (value->kind == KIND_BYTES) {
        memcpy(bytes, value->bytes, value->length);
        return value->length;
    }
    if (value->kind == KIND_BOOL) length = 1;
    if (value->kind == KIND_U64) length = 8;
    if (value->kind == KIND_F32) {
        /* The reference holds an f32 in an f64, and those are the bytes it shows. */
        double wide = (double)oracle_float((uint32_t)value->bits);
        memcpy(&number, &wide, sizeof number);
        length = 8;
    }
    write_number(bytes, length, number);
    return length;
}

int oracle_truth(const struct oracle_value *value)
{
    if (value->kind == KIND_F32) return (value->bits & 0x7FFFFFFFu) != 0;
    if (value->kind != KIND_BYTES) return value->bits != 0;
    if (value->length > 4) return 1; /* no number, and only the number 0 is false */
    for (uint32_t i = 0; i < value->length; i++)
        if (value->bytes[i] != 0) return 1;
    return 0;
}

enum oracle_error oracle_index(const struct oracle_value *value, uint32_t *index)
{
    float number = oracle_float((uint32_t)value->bits);
    switch (value->kind) {
    case KIND_U32:
    case KIND_BOOL:
        break;
    case KIND_I32:
        if ((int32_t)(uint32_t)value->bits < 0) return ORACLE_INDEX;
        break;
    case KIND_U64:
        if (value->bits > UINT32_MAX) return ORACLE_INDEX;
        break;
    case KIND_F32:
        /* Written so that NaN fails. */
        if (!(number >= 0.0f && number < 4294967296.0f)) return ORACLE_INDEX;
        *index = (uint32_t)number;
        return ORACLE_OK;
    case KIND_BYTES:
        if (value->length > 4) return ORACLE_INDEX;
        *index = (uint32_t)read_number(value->bytes, value->length);
        return ORACLE_OK;
    }
    *index = (uint32_t)value->bits;
    return ORACLE_OK;
}

/* An f32 as an integer of [least, most], toward zero, clamped; NaN is 0. */
static int64_t clamp_float(uint32_t bits, int64_t least, int64_t most)
{
    double number = (double)oracle_float(bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0;
    if (number <= (double)least) return least;
    if (number >= (double)most) return most;
    return (int64_t)number;
}

static enum oracle_error cast_u32(const struct oracle_value *value, uint32_t *out)
{
    switch (value->kind) {
    case KIND_F32:
        *out = (uint32_t)clamp_float((uint32_t)value->bits, 0, UINT32_MAX);
        return ORACLE_OK;
    case KIND_U64:
        if (value->bits > UINT32_MAX) return ORACLE_CAST;
        break;
    case KIND_BYTES:
        if (value->length > 4) return ORACLE_CAST;
        *out = (uint32_t)read_number(value->bytes, value->length);
        return ORACLE_OK;
    case KIND_U32:
    case KIND_I32:
    case KIND_BOOL:
        break;
    }
    *out = (uint32_t)value->bits;
    return ORACLE_OK;
}

static enum oracle_error cast_u64(const struct oracle_value *value, uint64_t *out)
{
    switch (value->kind) {
    case KIND_F32:
        return ORACLE_CAST;
    case KIND_I32:
        if ((int32_t)(uint32_t)value->bits < 0) return ORACLE_CAST;
        break;
    case KIND_BYTES:
        if (value->length > 8) return ORACLE_CAST;
        *out = read_number(value->bytes, value->length);
        return ORACLE_OK;
    case KIND_U32:
    case KIND_U64:
    case KIND_BOOL:
        break;
    }
    *out = value->bits;
    return ORACLE_OK;
}

static enum oracle_error cast_f32(const struct oracle_value *value, uint32_t *out)
{
    switch (value->kind) {
    case KIND_F32:
        *out = (uint32_t)value->bits;
        return ORACLE_OK;
    case KIND_I32:
        *out = oracle_bits((float)(int32_t)(uint32_t)value->bits);
        return ORACLE_OK;
    case KIND_U32:
    case KIND_U64:
    case KIND_BOOL:
        *out = oracle_bits((float)value->bits);
        return ORACLE_OK;
    case KIND_BYTES:
        break;
    }
    return ORACLE_CAST;
}

/* Raw bytes, cut or filled up to `length`; 0: as many as the value has. */
static struct oracle_value cast_raw(const struct oracle_value *value, uint32_t length)
{
    unsigned char bytes[MOST_BYTES];
    uint32_t own = oracle_to_raw(value, bytes);
    return oracle_raw(bytes, length ? length : own);
}

enum oracle_error oracle_cast(const struct ir_type *type, const struct oracle_value *value,
                              struct oracle_value *out)
{
    uint32_t word = 0;
    uint64_t number = 0;
    enum oracle_error error = ORACLE_OK;
    switch (type->tag) {
    case IR_TYPE_U32:
        error = cast_u32(value, &word);
        *out = oracle_scalar(KIND_U32, word);
        return error;
    case IR_TYPE_I32:
        if (value->kind == KIND_F32)
            word = (uint32_t)clamp_float((uint32_t)value->bits, INT32_MIN, INT32_MAX);
        else
            error = cast_u32(value, &word);
        *out = oracle_scalar(KIND_I32, word);
        return error;
    case IR_TYPE_U64:
        error = cast_u64(value, &number);
        *out = oracle_scalar(KIND_U64, number);
        return error;
    case IR_TYPE_F32:
        error = cast_f32(value, &word);
        *out = oracle_scalar(KIND_F32, word);
        return error;
    case IR_TYPE_BOOL:
        *out = oracle_scalar(KIND_BOOL, (uint64_t)oracle_truth(value));
        return ORACLE_OK;
    case IR_TYPE_VEC2_U32:
        *out = cast_raw(value, 8);
        return ORACLE_OK;
    case IR_TYPE_VEC4_U32:
        *out = cast_raw(value, 16);
        return ORACLE_OK;
    default:
        *out = cast_raw(value, 0);
        return ORACLE_OK;
    }
}

struct oracle_width oracle_width_of(const struct ir_type *type)
{
    struct oracle_width width = {0, 0, 0};
    switch (type->tag) {
#define IR_TYPE(tag, name, word, size, stride, bits)                                               \
    case tag:                                                                                      \
        width = (struct oracle_width){size, stride, bits};                                         \
        break;
#include "ir/tags.def"
    default:
        break;
    }
    if (type->tag == IR_TYPE_ARRAY) width.size = type->a;
    if ((type->tag == IR_TYPE_VEC || type->tag == IR_TYPE_QUANTIZED) && type->element) {
        uint64_t lanes = type->tag == IR_TYPE_VEC ? type->lanes : 1;
        width = oracle_width_of(type->element);
        width = (struct oracle_width){width.size * lanes, width.stride * lanes, width.bits * lanes};
    }
    return width;
}

/* The element of this type at these bytes. */
struct oracle_value oracle_read(const struct ir_type *type, const unsigned char *at)
{
    switch (type->tag) {
    case IR_TYPE_U32:
    case IR_TYPE_BOOL: /* as the word it is, which need not be 0 or 1 */
        return oracle_scalar(KIND_U32, read_number(at, 4));
    case IR_TYPE_I32:
        return oracle_scalar(KIND_I32, read_number(at, 4));
    case IR_TYPE_F32:
        return oracle_scalar(KIND_F32, read_number(at, 4));
    case IR_TYPE_U64:
        return oracle_scalar(KIND_U64, read_number(at, 8));
    default: {
        uint64_t stride = oracle_width_of(type).stride;
        return oracle_raw(at, stride > MOST_BYTES ? MOST_BYTES : (uint32_t)stride);
    }
    }
}

void oracle_write(const struct ir_type *type, const struct oracle_value *value, unsigned char *at)
{
    unsigned char bytes[MOST_BYTES];
    uint64_t stride = oracle_width_of(type).stride;
    if (type->tag == IR_TYPE_F32) {
        uint32_t bits = 0;
        if (value->kind == KIND_F32 || value->kind == KIND_U32)
            bits = oracle_canon((uint32_t)value->bits);
        write_number(at, 4, bits);
        return;
    }
    (void)oracle_to_raw(value, bytes);
    for (uint64_t i = 0; i < stride; i++)
        at[i] = i < MOST_BYTES ? bytes[i] : 0;
}
