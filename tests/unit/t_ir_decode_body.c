/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The decoder of VIR0 programs: every statement and expression, well formed and malformed, the
 * limits on depth and counts, and memory that runs out.
 */
#include "meter.h"

#include "ir_bytes.h"

/* Statements and expressions
 * --------------------------------------------------------------------------------------------- */

/* Each follows the root region's count of one statement. */
static const char *const bad_nodes[] = {
    "13",
    "7f",
    "81",
    "80 01000000 'x' 00000000",
    "07 06",
    "0b 00000000 02 00000000",
    "0f 01000000 'b' 00 00000000",
    "0f 01000000 'b' 07 00000000",
    "08 01000000 'b' 00000000",
    "06 ffffffff",
    "06 41420f00",
    "06 02000000 05",
    "00 01001000",
    "00 02000000 c080 1501",
    "00 03000000 eda080 15",
    "00 04000000 f4908080 15",
    "00 02000000 e282 15",
    "00 01000000 'x' 16",
    "00 01000000 'x' 7f",
    "00 01000000 'x' 80 01000000 'k' 00000000",
    "00 01000000 'x' 09 00 15 15",
    "00 01000000 'x' 09 22 15 15",
    "00 01000000 'x' 09 80 ffffff7f 15 15",
    "00 01000000 'x' 0a 25 15",
    "00 01000000 'x' 0a 80 01000000 15",
    "00 01000000 'x' 0e 0c 04 01000000 'b' 15 00 15",
    "00 01000000 'x' 0e 00 04 01000000 'b' 15 00 15",
    "00 01000000 'x' 0e 01 06 01000000 'b' 15 00 15",
    "00 01000000 'x' 0e 80 00000000 04 01000000 'b' 15 00 15",
    "00 01000000 'x' 0b 01000000 'f' 01100000",
    "00 01000000 'x' 0b 01000000 'f' 02000000 15",
    "00 01000000 'x' 0d 00 15",
    "00 01000000 'x' 0d 20 15",
    "00 01000000 'x' 0d 80 ffffff7f 15",
    "00 01000000 'x' 0d 1f 01 00 00000000 00 00000000 15",
    "00 01000000 'x' 0d 1f 1f 0e 00 00000000 00 00000000 00 00000000 00 00000000 15",
    "00 01000000 'x' 0d 1f 0e 03 00000000 00 00000000 15",
    "00 01000000 'x' 0d 1f 0e 00 01000000 00 00000000 15",
    "00 01000000 'x' 0d 1f 0e 00 00000000 01 01000000 15",
    "00 01000000 'x' 0d 15 01 ffffffff 00000000 15",
    "00 01000000 'x' 0d 1e ffffff3f 15",
    "00 01000000 'x' 0d 14 14 14",
};

static const char *const good_nodes[] = {
    "00 01000000 'p' 0e 08 04 0b000000 'ring_buffer' 03 01000000 'i' 01 00 01000000 00 02000000",
    "00 01000000 'p' 0e 01 04 01000000 'c' 00 01000000 00 00 01000000",
    "00 01000000 'p' 0e 01 04 01000000 'c' 00 01000000 07 15 00 01000000",
    "01 01000000 'x' 02 07",
    "07 04",
    "07 05",
    "03 15 00000000 01000000 05",
    "04 01000000 'i' 15 15 01000000 05",
    "08 01000000 'b' ffffffffffffffff",
    "09 01000000 'a' 01000000 'b' 15 15 01000000 't'",
    "0a 01000000 't'",
    "0b 00000000 01 00000000 00000000",
    "0c 01000000 'a' 01000000 'b' 15 15 01000000 't'",
    "0d 15 00000000",
    "0e 01000000 't'",
    "0f 01000000 'b' 06 01000000",
    "10 01000000 'a' 01000000 'b' 00000000",
    "11 01000000 'a' 01000000 'b' 01 00000000",
    "12 01000000 'b' 00000000 ffffffff",
    "00 05000000 00f09f9880 01 ffffffff",
    "00 00000000 06 ff",
    "00 01000000 'x' 09 80 00000080 15 14",
    "00 01000000 'x' 0a 80 ffffffff 15",
    "00 01000000 'x' 0e 80 01000080 00 01000000 'b' 15 00 15",
    "00 01000000 'x' 0b 01000000 'f' 03000000 15 14 15",
    "00 01000000 'x' 0c 02 01 10 15 15 15 0f 0000807f",
    "00 01000000 'x' 11 12 15 13 02 00",
    "00 01000000 'x' 0d 1f 0e 02 01000000 03 01000000 15",
    "00 01000000 'x' 0d 14 15 16 17 18 01 02000000 03000000 02000000 05000000 06000000 04 15",
    "00 01000000 'x' 0d 1e 02000000 01000000 02000000 15",
    "00 01000000 'x' 0d 80 00000080 15",
    "00 01000000 'x' 0d 08 00000000 0d 13 ffffffff 05 03000000 'out'",
};

static void statements(void)
{
    for (size_t i = 0; i < sizeof bad_nodes / sizeof bad_nodes[0]; i++) {
        char text[512];
        struct parts parts = example;
        snprintf(text, sizeof text, ROOT "01000000 %s", bad_nodes[i]);
        parts.node = text;
        refuses(&parts, VYRE_E_IR_FORM, bad_nodes[i]);
    }
    for (size_t i = 0; i < sizeof good_nodes / sizeof good_nodes[0]; i++) {
        char text[512];
        struct parts parts = example;
        snprintf(text, sizeof text, ROOT "01000000 %s", good_nodes[i]);
        parts.node = text;
        accepts(&parts, good_nodes[i]);
    }
}

/* Limits
 * --------------------------------------------------------------------------------------------- */

/* The example with the root region's only statement made of `count` times `again`, and `last`. */
static void nested(const char *again, uint32_t count, const char *last, vyre_status expected)
{
    struct image payload = {0};
    struct parts parts = example;
    char what[128];
    image_hex(&payload, ROOT "01000000");
    for (uint32_t i = 0; i < count; i++)
        image_hex(&payload, again);
    image_hex(&payload, last);
    parts.payload = &payload;
    snprintf(what, sizeof what, "%u times %.20s, then %.40s", count, again, last);
    if (expected == VYRE_OK)
        accepts(&parts, what);
    else
        refuses(&parts, expected, what);
    image_free(&payload);
}

static void depth(void)
{
    nested("06 01000000", 62, "06 00000000", VYRE_OK);
    nested("06 01000000", 63, "06 00000000", VYRE_E_IR_FORM);
    nested("06 01000000", 1000000, "05", VYRE_E_IR_FORM);
    nested("06 01000000", 61, "00 01000000 'x' 15", VYRE_OK);
    nested("06 01000000", 62, "00 01000000 'x' 15", VYRE_E_IR_FORM);
    nested("", 0, "05", VYRE_OK);
    char unary[512] = "00 01000000 'x' ";
    for (int i = 0; i < 61; i++)
        strcat(unary, "0a01");
    strcat(unary, "15");
    nested("", 0, unary, VYRE_OK);
    memcpy(unary + strlen(unary) - 2, "0a0115", 7);
    nested("", 0, unary, VYRE_E_IR_FORM);
    /* The count begins again in every record. */
    struct parts parts = example;
    struct image payload = {0};
    image_hex(&payload, ROOT "02000000");
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 62; i++)
            image_hex(&payload, "06 01000000");
        image_hex(&payload, "05");
    }
    parts.payload = &payload;
    accepts(&parts, "two deep statements side by side");
    image_free(&payload);
}

static void long_types(void)
{
    struct image payload = {0};
    struct parts parts = example;
    struct ir_program *program = NULL;
    vyre_error err;
    image_hex(&payload, ROOT "01000000 00 01000000 'x' 0d");
    for (int i = 0; i < 300000; i++)
        image_byte(&payload, i % 2 ? IR_TYPE_VEC : IR_TYPE_SPARSE_COO);
    image_byte(&payload, IR_TYPE_U8);
    for (int i = 0; i < 150000; i++)
        image_byte(&payload, (uint32_t)(i % 3));
    image_hex(&payload, "15");
    parts.payload = &payload;
    struct image image = image_of(&parts);
    if (works(decode(&image, &program, &err), &err, "300,001 types, one in the other")) {
        const struct ir_type *type = program->entry.first->body.first->a->type;
        uint32_t levels = 1, wrong = 0, vectors = 0;
        for (; type->element; type = type->element, levels++)
            if (type->tag == IR_TYPE_VEC) wrong += type->lanes != (149999 - vectors++) % 3;
        is_u64(levels, 300001, "all of them are there");
        is_u64(wrong, 0, "and each has its own lanes");
        size_t length = 0;
        uint8_t *again = malloc(image.length);
        works(vyre_ir_encode(program, again, image.length, &length, &err), &err, "they encode");
        ok(length == image.length && memcmp(again, image.bytes, length) == 0, "to the same bytes");
        free(again);
        vyre_ir_program_free(program);
    }
    image_free(&image);
    image_free(&payload);
    nested("", 0, "00 01000000 'x' 0d 16", VYRE_E_IR_FORM);
    image_hex(&payload, ROOT "01000000 00 01000000 'x' 0d");
    for (uint32_t i = 0; i <= 1u << 20; i++)
        image_byte(&payload, IR_TYPE_SPARSE_COO);
    refuses(&parts, VYRE_E_LIMIT, "more than a million types");
    image_free(&payload);
}

static void many(void)
{
    struct image payload = {0};
    struct parts parts = example;
    parts.payload = &payload;
    /* Two lists of a million statements each: the format takes them, a tree does not. */
    image_hex(&payload, ROOT "02000000");
    for (int half = 0; half < 2; half++) {
        image_hex(&payload, "06 40420f00");
        for (uint32_t i = 0; i < 1000000; i++)
            image_byte(&payload, 5);
    }
    refuses(&parts, VYRE_E_LIMIT, "two million statements");
    payload.length = 0;
    image_hex(&payload, ROOT "01000000 06 40420f00");
    for (uint32_t i = 0; i < 1000000; i++)
        image_byte(&payload, 5);
    accepts(&parts, "a list of a million statements");
    payload.length = 0;
    image_hex(&payload, ROOT "01000000 06 41420f00");
    for (uint32_t i = 0; i < 1000001; i++)
        image_byte(&payload, 5);
    refuses(&parts, VYRE_E_IR_FORM, "a list of a million and one");
    payload.length = 0;
    image_hex(&payload, ROOT "01000000 00 01000000 'x' 0b 00000000 00100000");
    for (uint32_t i = 0; i < 4096; i++)
        image_byte(&payload, 0x15);
    accepts(&parts, "a call with 4,096 arguments");
    payload.length = 0;
    image_hex(&payload, ROOT "01000000 00 01000000 'x' 0b 00000000 01100000");
    for (uint32_t i = 0; i < 4097; i++)
        image_byte(&payload, 0x15);
    refuses(&parts, VYRE_E_IR_FORM, "a call with 4,097 arguments");
    payload.length = 0;
    image_hex(&payload, ROOT "01000000 0e 00001000");
    for (uint32_t i = 0; i < 1u << 20; i++)
        image_byte(&payload, 'n');
    accepts(&parts, "a name of 1 MiB");
    payload.length = 0;
    image_hex(&payload, ROOT "01000000 0e 01001000");
    for (uint32_t i = 0; i <= 1u << 20; i++)
        image_byte(&payload, 'n');
    refuses(&parts, VYRE_E_IR_FORM, "a name of 1 MiB and a byte");
    image_free(&payload);
}

/* Counts that the bytes do not bear out take no memory. */
static void greedy(void)
{
    static const char *const nodes[] = {
        ROOT "40420f00",
        ROOT "01000000 00 01000000 'x' 0b 01000000 'f' 00100000",
        ROOT "01000000 00 01000000 'x' 0d 15 01 ffffff3f",
        ROOT "01000000 00 00001000",
    };
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct meter meter = {0};
        struct vyre_memory metered;
        struct ir_program *program = NULL;
        struct parts parts = example;
        vyre_allocator hooks = meter_allocator(&meter);
        must(vyre_memory_init(&metered, &hooks, NULL), &(vyre_error){0});
        parts.node = nodes[i];
        struct image image = image_of(&parts);
        ok(vyre_ir_decode(&metered, image.bytes, image.length, &program, NULL) == VYRE_E_IR_FORM &&
               meter.calls < 8,
           "%s: %llu allocations", nodes[i], (unsigned long long)meter.calls);
        ok(meter_clean(&meter), "and nothing is left");
        image_free(&image);
    }
}

/* Memory that runs out
 * --------------------------------------------------------------------------------------------- */

/* Enough of everything to need several blocks of memory. */
static struct image large_program(void)
{
    struct image payload = {0};
    struct parts parts = example;
    parts.payload = &payload;
    image_hex(&payload, ROOT "90010000");
    for (uint32_t i = 0; i < 400; i++) {
        char text[128];
        snprintf(text, sizeof text, "00 04000000 'v%03u' 0d 14 1e 01000000 07000000 04 " SUM, i);
        image_hex(&payload, text);
    }
    struct image image = image_of(&parts);
    image_free(&payload);
    return image;
}

static void out_of_memory(void)
{
    struct image image = large_program();
    uint32_t wrong = 0, n = 1;
    for (; n < 1000; n++) {
        struct meter meter = {.fail_at = n};
        struct vyre_memory metered;
        struct ir_program *program = NULL;
        vyre_allocator hooks = meter_allocator(&meter);
        vyre_error err = {0};
        must(vyre_memory_init(&metered, &hooks, &err), &err);
        vyre_status status = vyre_ir_decode(&metered, image.bytes, image.length, &program, &err);
        bool failed = meter.failures > 0;
        wrong += failed != (status == VYRE_E_NO_MEMORY) || (failed && err.status != status);
        wrong += failed != (program == NULL);
        vyre_ir_program_free(program);
        wrong += !meter_clean(&meter) || vyre_memory_live(&metered) != 0;
        if (!failed) {
            wrong += status != VYRE_OK;
            break;
        }
    }
    ok(n > 10 && n < 1000, "%u places where memory can fail", n - 1);
    is_u64(wrong, 0, "each says so, gives no program and loses nothing");
    image_free(&image);
}

int main(void)
{
    vyre_error err;
    must(vyre_memory_init(&memory, NULL, &err), &err);
    statements();
    depth();
    long_types();
    many();
    greedy();
    out_of_memory();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
