/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * VIR0 programs byte by byte, for tests: written as hex digits and 'text', put together from parts
 * of which a test replaces one, with lengths and digest that fit.
 */
#ifndef VYRE_TESTS_IR_BYTES_H
#define VYRE_TESTS_IR_BYTES_H

#include "support.h"

#include "base/blake3.h"
#include "ir/program.h"

struct image {
    uint8_t *bytes;
    size_t length, room;
};

TAP_UNUSED static void image_put(struct image *image, const void *bytes, size_t count)
{
    if (count > image->room - image->length) {
        image->room = 2 * (image->length + count);
        image->bytes = realloc(image->bytes, image->room);
        if (!image->bytes) bail("no memory");
    }
    if (count) memcpy(image->bytes + image->length, bytes, count);
    image->length += count;
}

TAP_UNUSED static void image_byte(struct image *image, uint32_t byte)
{
    image_put(image, &(uint8_t){(uint8_t)byte}, 1);
}

TAP_UNUSED static void image_free(struct image *image)
{
    free(image->bytes);
    *image = (struct image){0};
}

TAP_UNUSED static void image_leb(struct image *image, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        image_byte(image, (uint32_t)value | 0x80);
    image_byte(image, (uint32_t)value);
}

TAP_UNUSED static uint32_t hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = strchr(digits, c);
    if (!at || !c) bail("'%c' is no hex digit", c);
    return (uint32_t)(at - digits);
}

/* "0b 11000000 'text'" */
TAP_UNUSED static void image_hex(struct image *image, const char *text)
{
    while (*text) {
        if (*text == ' ') {
            text++;
        } else if (*text == '\'') {
            for (text++; *text != '\''; text++)
                image_byte(image, (uint8_t)*text);
            text++;
        } else {
            image_byte(image, hex_digit(text[0]) << 4 | hex_digit(text[1]));
            text += 2;
        }
    }
}

TAP_UNUSED static void image_seal(struct image *image)
{
    vyre_blake3(image->bytes + IR_HEADER_BYTES, image->length - IR_HEADER_BYTES, image->bytes + 8);
}

/* The worked example: out[gid.x] = in[gid.x] + 1. */
#define META_HEAD  "'VYRE-META' 00 40000000 01000000 01000000 00"
#define META_IN    "02000000 'in' 00000000 04000000 00 00 00 00 00000000 01"
#define META_OUT   "03000000 'out' 01000000 04000000 01 01 00 00 00000000 01"
#define REGION_IN  "00 04 00 01 00 01 04 06 00 00000000 01"
#define REGION_OUT "01 00 01 01 00 01 04 06 00 00000000 01"
#define ROOT       "0b 11000000 'vyre.program.root' 00 "
#define STORE      "02 03000000 'out' 0600 "
#define SUM        "09 01 04 02000000 'in' 0600 00 01000000"

struct parts {
    const char *head;     /* the 40 bytes, but for the digest */
    const char *count;    /* of records */
    const char *meta_id;  /* op id of the metadata, with its length */
    const char *meta;     /* its payload */
    const char *operands; /* of the metadata */
    const char *node_id;
    const char *node;
    const struct image *payload; /* in place of node */
    const char *node_operands;
    const char *tail; /* regions and output set */
};

static const struct parts example = {
    .head = "56595245 0400 0400",
    .count = "02",
    .meta_id = "15 'vyre.program.metadata'",
    .meta = META_HEAD "02" META_IN META_OUT,
    .operands = "00",
    .node_id = "10 'vyre.node.region'",
    .node = ROOT "01000000" STORE SUM,
    .node_operands = "00",
    .tail = "02" REGION_IN REGION_OUT "01 01",
};

TAP_UNUSED static struct image image_of(const struct parts *parts)
{
    struct image image = {0}, payload = {0};
    image_hex(&image, parts->head);
    while (image.length < IR_HEADER_BYTES)
        image_byte(&image, 0);
    image_hex(&image, parts->count);
    image_hex(&image, parts->meta_id);
    image_hex(&payload, parts->meta);
    image_leb(&image, payload.length);
    image_put(&image, payload.bytes, payload.length);
    image_hex(&image, parts->operands);
    if (parts->node_id) {
        image_hex(&image, parts->node_id);
        payload.length = 0;
        if (!parts->payload) image_hex(&payload, parts->node);
        const struct image *node = parts->payload ? parts->payload : &payload;
        image_leb(&image, node->length);
        image_put(&image, node->bytes, node->length);
        image_hex(&image, parts->node_operands);
    }
    image_hex(&image, parts->tail);
    image_free(&payload);
    image_seal(&image);
    return image;
}

/* Decoding
 * --------------------------------------------------------------------------------------------- */

static struct vyre_memory memory;

TAP_UNUSED static vyre_status decode(const struct image *image, struct ir_program **out,
                                     vyre_error *err)
{
    /* A copy of exact size, so that a sanitizer sees a read past the end. */
    uint8_t *copy = malloc(image->length ? image->length : 1);
    if (image->length) memcpy(copy, image->bytes, image->length);
    vyre_status status = vyre_ir_decode(&memory, copy, image->length, out, err);
    free(copy);
    return status;
}

/* One test: the program is refused so, and nothing is left of it. */
TAP_UNUSED static void refuses(const struct parts *parts, vyre_status expected, const char *what)
{
    struct image image = image_of(parts);
    struct ir_program *program = NULL;
    vyre_error err = {0};
    uint64_t live = vyre_memory_live(&memory);
    vyre_status status = decode(&image, &program, &err);
    refused(status, expected, &err, "%s: %s", what, status ? err.message : "decodes");
    if (expected == VYRE_E_IR_FORM)
        ok(err.place_kind == VYRE_PLACE_BYTE && err.place >= IR_HEADER_BYTES &&
               err.place <= image.length,
           "%s: at a byte of it", what);
    if (program || vyre_memory_live(&memory) != live) ok(0, "%s: something is left", what);
    image_free(&image);
}

TAP_UNUSED static void accepts(const struct parts *parts, const char *what)
{
    struct image image = image_of(parts);
    struct ir_program *program = NULL;
    vyre_error err = {0};
    works(decode(&image, &program, &err), &err, "%s decodes", what);
    vyre_ir_program_free(program);
    image_free(&image);
}

#endif
