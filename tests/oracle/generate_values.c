/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Numbers that go wrong most often, as literals and as contents of buffers.
 */
#include "oracle/generate_inside.h"

#include <stdlib.h>
#include <string.h>

uint32_t gen_number(struct gen *g)
{
    static const uint32_t edges[] = {0,          1,          2,          3,          4,
                                     7,          8,          31,         32,         33,
                                     63,         64,         255,        256,        65535,
                                     65536,      0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001,
                                     0xFFFFFFFE, 0xFFFFFFFF, 0x00FFFFFF, 0x01000001, 0x55555555};
    uint32_t turn = gen_below(g, 8);
    if (turn < 4) return edges[gen_below(g, sizeof edges / sizeof edges[0])];
    if (turn < 6) return gen_below(g, 100);
    if (turn == 7) return 0u - gen_below(g, 100);
    uint32_t bits = (uint32_t)gen_draw(g);
    return bits >> gen_below(g, 32);
}

uint32_t gen_small(struct gen *g)
{
    return gen_below(g, 9);
}

/* Any bits: not fit for literals, of which the encoder changes some. */
uint32_t gen_float_bits(struct gen *g)
{
    static const uint32_t edges[] = {
        0x00000000, 0x80000000, /* zeros */
        0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000, 0x40000000, 0x3FC00000, 0x40200000,
        0xC0200000, 0x3E99999A, /* 1, a half, 2, 1.5, 2.5, 0.3 */
        0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FA5A5A5, 0xFFFFFFFF,
        0x00000001, 0x807FFFFF, 0x00400000, 0x00800000, 0x80800000, 0x00800001, 0x7F7FFFFF,
        0xFF7FFFFF, 0x3F7FFFFF, 0x3F800001, 0x4B000000, 0x4B000001, 0xCB000001, 0x4B7FFFFF,
        0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000, 0x5F800000,
        0x40490FDB, 0x3FC90FDB, 0x42B17218, 0x42B17219, 0xC2CFF1B5, 0x43000000, 0x1E3CE508,
        0x3EFFFFFF, 0x4A7FFFFD, 0x33000000, 0x34000000};
    uint32_t turn = gen_below(g, 12), bits;
    float value;
    if (turn < 3) return edges[gen_below(g, sizeof edges / sizeof edges[0])];
    if (turn == 3) return (uint32_t)gen_draw(g);
    if (turn < 7) { /* all bits of a number around 1 */
        bits = 0x3E000000u + gen_below(g, 1u << 26);
        return bits | gen_below(g, 2) << 31;
    }
    value = (float)(int32_t)gen_below(g, 2001) - 1000.0f;
    if (turn > 7) value = value / (turn > 9 ? 64.0f : 2.0f);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* One element of a buffer. */
static void fill(struct gen *g, uint8_t tag, unsigned char *at)
{
    uint32_t word = gen_number(g);
    uint64_t wide = (uint64_t)word << 32;
    wide |= gen_number(g);
    switch (tag) {
    case IR_TYPE_F32:
        word = gen_float_bits(g);
        memcpy(at, &word, 4);
        break;
    case IR_TYPE_BOOL:
        word = gen_chance(g, 90) ? gen_below(g, 2) : word;
        memcpy(at, &word, 4);
        break;
    case IR_TYPE_U32:
    case IR_TYPE_I32:
        memcpy(at, &word, 4);
        break;
    case IR_TYPE_U64:
    case IR_TYPE_I64:
        if (gen_chance(g, 30)) wide = (uint64_t)0 - gen_below(g, 9);
        memcpy(at, &wide, 8);
        break;
    default:
        break;
    }
}

void generate_inputs(const struct generated *generated, uint64_t seed)
{
    struct gen g = {.random = seed ^ 0xD1B54A32D192ED03u};
    for (uint32_t i = 0; i < generated->buffer_count; i++) {
        const struct ir_buffer *buffer = &generated->program->buffers[i];
        unsigned char *bytes = generated->buffers[i];
        uint64_t size = vyre_ir_type_stride(&buffer->type), at = 0;
        if (bytes == NULL) continue;
        memset(bytes, 0, generated->bytes[i]);
        if (vyre_ir_buffer_allocated(buffer)) continue;
        for (uint64_t k = 0; k < generated->bytes[i]; k++)
            bytes[k] = (unsigned char)(gen_chance(&g, 30) ? 0 : gen_draw(&g));
        for (; size != 0 && at + size <= generated->bytes[i]; at += size)
            fill(&g, buffer->type.tag, bytes + at);
    }
}
