/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The decoder of VIR0 programs: the worked examples of the format, its envelope, records, metadata,
 * regions and output set, with every cross check between them.
 */
#include "ir_bytes.h"

/* Worked examples
 * --------------------------------------------------------------------------------------------- */

static void is_hex(const uint8_t *bytes, const char *expected, const char *what)
{
    char text[65];
    for (int i = 0; i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    is_str(text, expected, "%s", what);
}

static void worked_tree(const struct ir_program *p)
{
    const struct ir_node *region = p->entry.first, *store = region->body.first;
    const struct ir_buffer *in = &p->buffers[0], *out = &p->buffers[1];
    ok(p->workgroup[0] == 64 && p->workgroup[1] == 1 && p->workgroup[2] == 1, "64 x 1 x 1");
    ok(p->entry_op_id == IR_NONE && !p->non_composable, "no op id, composable");
    is_u64(p->buffer_count, 2, "two buffers");
    is_str(p->names[in->name].text, "in", "in");
    ok(in->kind == IR_KIND_READONLY && in->access == IR_ACCESS_READ_ONLY && in->count == 4 &&
           in->binding == 0 && in->type.tag == IR_TYPE_U32 && in->hints.locality == 1,
       "in is read-only, four words");
    ok(out->access == IR_ACCESS_READ_WRITE && out->is_output == 1 && out->live_out == 1 &&
           out->binding == 1 && !out->has_range,
       "out is the output");
    ok(vyre_ir_find_buffer(p, store->name) == out, "the store names it");
    ok(region->kind == IR_NODE_REGION && region->other == IR_NONE && region->id == 0 &&
           p->entry.count == 1 && region->body.count == 1,
       "one region with one statement");
    const struct ir_expr *sum = store->b;
    ok(store->kind == IR_NODE_STORE && store->id == 1 && store->a->id == 2 && sum->id == 3,
       "ids count in the order of the bytes");
    ok(sum->kind == IR_EXPR_BIN_OP && sum->op == IR_BIN_ADD && sum->arg[0]->kind == IR_EXPR_LOAD &&
           sum->arg[0]->arg[0]->kind == IR_EXPR_INVOCATION_ID && sum->arg[1]->value == 1 &&
           sum->arg[1]->id == 6,
       "in[gid.x] + 1");
    is_u64(p->node_count, 2, "two statements");
    is_u64(p->expr_count, 5, "five expressions");
}

static void worked(void)
{
    struct image image = image_of(&example);
    struct ir_program *program = NULL;
    vyre_error err;
    uint8_t digest[32];
    is_u64(image.length, 239, "the worked example has 239 bytes");
    is_hex(image.bytes + 8, "3f5b0ecdf8c00767250ad7195c0c33b1d886273204b9310b7861fa69ea7d46bb",
           "its digest");
    vyre_ir_fingerprint(image.bytes, image.length, digest);
    is_hex(digest, "0173ca7ca8f90a6085642a1f11265c78ce5721cf7148197514642ba1ebfcfb72",
           "its fingerprint");
    if (works(decode(&image, &program, &err), &err, "it decodes")) worked_tree(program);
    vyre_ir_program_free(program);
    image_free(&image);

    struct parts parts = example;
    parts.meta = "'VYRE-META' 00 01000000 01000000 01000000 00 00";
    parts.node = ROOT "00000000";
    parts.tail = "00 00";
    image = image_of(&parts);
    is_u64(image.length, 137, "the empty program has 137 bytes");
    is_hex(image.bytes + 8, "6bb297b4c4e5df9d1b43dc27c446e5f9a5b0b6f514a3b7546ea1d6e5c23dbd79",
           "its digest");
    image_free(&image);
    accepts(&parts, "the empty program");

    parts.meta = "'VYRE-META' 00 01000000 01000000 01000000 00 01 03000000 'out' 00000000 01000000 "
                 "01 01 00 00 00000000 01";
    parts.node = ROOT "01000000 05";
    parts.tail = "01 00 00 01 01 00 01 01 06 00 00000000 01 01 00";
    image = image_of(&parts);
    is_u64(image.length, 177, "the program that returns has 177 bytes");
    is_hex(image.bytes + 8, "42e39d9c3fe751c4fe9139a2eca590793b48785dde8129565d07b7a3aa539d7d",
           "its digest");
    image_free(&image);
    accepts(&parts, "the program that returns");

    parts = example;
    parts.node_id = NULL;
    parts.count = "01";
    accepts(&parts, "a program without statements");
}

/* Envelope
 * --------------------------------------------------------------------------------------------- */

static void envelope(void)
{
    static const struct {
        const char *head;
        vyre_status status;
        const char *says;
    } rows[] = {
        {"56495230 0400 0400", VYRE_E_IR_MAGIC, "0x49"},
        {"56595245 0000 0400", VYRE_E_IR_VERSION, "version 0 "},
        {"56595245 0300 0400", VYRE_E_IR_VERSION, "version 3 "},
        {"56595245 0600 0400", VYRE_E_IR_VERSION, "version 6 "},
        {"56595245 ffff 0400", VYRE_E_IR_VERSION, "version 65535 "},
        {"56595245 0004 0100", VYRE_E_IR_VERSION, "version 1024 "},
        {"56595245 0400 0000", VYRE_E_IR_FLAGS, "0x0000"},
        {"56595245 0400 0500", VYRE_E_IR_FLAGS, "0x0005"},
        {"56595245 0400 0600", VYRE_E_IR_FLAGS, "0x0006"},
        {"56595245 0400 0480", VYRE_E_IR_FLAGS, "0x8004"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct parts parts = example;
        struct ir_program *program = NULL;
        vyre_error err;
        parts.head = rows[i].head;
        struct image image = image_of(&parts);
        refused(decode(&image, &program, &err), rows[i].status, &err, "%s", rows[i].head);
        ok(strstr(err.message, rows[i].says) != NULL, "which says %s", rows[i].says);
        image_free(&image);
    }
}

/* Cut off anywhere it is refused, by the first check that can tell. */
static void lengths(void)
{
    struct image image = image_of(&example);
    uint32_t wrong = 0;
    for (size_t length = 0; length < image.length; length++) {
        struct image cut = {image.bytes, length, 0};
        struct ir_program *program = NULL;
        vyre_error err;
        vyre_status expected = length < IR_HEADER_BYTES ? VYRE_E_IR_SIZE : VYRE_E_IR_DIGEST;
        wrong += decode(&cut, &program, &err) != expected || program;
        if (length < IR_HEADER_BYTES) continue;
        struct image sealed = {0};
        image_put(&sealed, image.bytes, length);
        image_seal(&sealed);
        wrong += decode(&sealed, &program, &err) != VYRE_E_IR_FORM || program;
        image_free(&sealed);
    }
    is_u64(wrong, 0, "no part of the worked example is a program");
    struct ir_program *program = NULL;
    vyre_error err;
    uint8_t *large = calloc(1, IR_MAX_BYTES + 1);
    refused(vyre_ir_decode(&memory, large, IR_MAX_BYTES + 1, &program, &err), VYRE_E_IR_SIZE, &err,
            "64 MiB and a byte, before the magic");
    refused(vyre_ir_decode(&memory, large, IR_MAX_BYTES, &program, &err), VYRE_E_IR_MAGIC, &err,
            "64 MiB of zeros");
    refused(vyre_ir_decode(&memory, NULL, 0, &program, &err), VYRE_E_IR_SIZE, &err, "nothing");
    refused(vyre_ir_decode(&memory, "VX", 2, &program, &err), VYRE_E_IR_MAGIC, &err,
            "a short wrong magic");
    refused(vyre_ir_decode(&memory, "VYRE\5", 5, &program, &err), VYRE_E_IR_SIZE, &err,
            "half a version");
    refused(vyre_ir_decode(&memory, "VYRE\5", 6, &program, &err), VYRE_E_IR_VERSION, &err,
            "another version comes before the length");
    free(large);
    /* Every bit of the file is under the digest, or is one of the header's checks. */
    for (size_t bit = 0; bit < 8 * image.length; bit++) {
        image.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        wrong += decode(&image, &program, NULL) == VYRE_OK;
        image.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    is_u64(wrong, 0, "no single bit can be wrong");
    image_free(&image);
}

/* Records, metadata, regions, output set
 * --------------------------------------------------------------------------------------------- */

struct row {
    const char *what;
    struct parts parts; /* what is NULL is as in the example */
};

static struct parts filled(const struct parts *some)
{
    struct parts parts = example;
    if (some->count) parts.count = some->count;
    if (some->meta_id) parts.meta_id = some->meta_id;
    if (some->meta) parts.meta = some->meta;
    if (some->operands) parts.operands = some->operands;
    if (some->node_id) parts.node_id = some->node_id;
    if (some->node) parts.node = some->node;
    if (some->node_operands) parts.node_operands = some->node_operands;
    if (some->tail) parts.tail = some->tail;
    return parts;
}

#define WORKGROUP(sizes) "'VYRE-META' 00" sizes "00 02" META_IN META_OUT
/* The example's buffer `in` with other fields after its name, and its region. */
#define IN_AS(fields, region)                                                                      \
    .meta = META_HEAD "02 02000000 'in' " fields META_OUT, .tail = "02" region REGION_OUT "01 01"
#define IN_META(fields)   .meta = META_HEAD "02 02000000 'in' " fields META_OUT
#define IN_REGION(region) .tail = "02" region REGION_OUT "01 01"
#define HINTS             "00 00000000 01"
#define PLAIN_IN          "00000000 04000000 00 00 00 " HINTS

static const struct row bad_rows[] = {
    {"no records", {.count = "00"}},
    {"more records than there are", {.count = "03"}},
    {"1,000,001 records", {.count = "c1843d"}},
    {"2^64 - 1 records", {.count = "ffffffffffffffffff01"}},
    {"a count past 64 bits", {.count = "ffffffffffffffffff02"}},
    {"a count without end", {.count = "ffffffffffffffffffffffff"}},
    {"metadata under another name", {.meta_id = "15 'vyre.program.metadatA'"}},
    {"a node in place of the metadata", {.meta_id = "10 'vyre.node.region'"}},
    {"a name that is too long", {.meta_id = "818040"}},
    {"operands of the metadata", {.operands = "01 00"}},
    {"operands of a node", {.node_operands = "01 00"}},
    {"operands without number", {.node_operands = "ffffffffffffffffff01"}},
    {"another node than its name", {.node_id = "0f 'vyre.node.block'"}},
    {"an empty payload", {.node = ""}},
    {"a byte after the payload", {.node = ROOT "01000000" STORE SUM "00"}},
    {"another marker", {.meta = "'VYRE-METB' 00 40000000 01000000 01000000 00 00"}},
    {"no marker", {.meta = "'VYRE'"}},
    {"op id tag 2", {.meta = "'VYRE-META' 02 40000000 01000000 01000000 00 00"}},
    {"op id that is not UTF-8", {.meta = "'VYRE-META' 01 01000000 ff 40000000"}},
    {"workgroup 0 on x", {.meta = WORKGROUP("00000000 01000000 01000000")}},
    {"workgroup 0 on y", {.meta = WORKGROUP("01000000 00000000 01000000")}},
    {"workgroup 0 on z", {.meta = WORKGROUP("01000000 01000000 00000000")}},
    {"non-composable 2", {.meta = "'VYRE-META' 00 40000000 01000000 01000000 02 00"}},
    {"16,385 buffers", {.meta = META_HEAD "818001"}},
    {"16,384 buffers without bytes", {.meta = META_HEAD "808001"}},
    {"a byte after the metadata", {.meta = META_HEAD "02" META_IN META_OUT "00"}},
    {"range tag 2", {IN_META("00000000 04000000 00 00 02 " HINTS)}},
    {"range backwards", {IN_META("00000000 04000000 00 00 01 08 04 " HINTS)}},
    {"range past the end", {IN_META("00000000 04000000 00 00 01 00 11 " HINTS)}},
    {"range past 64 bits", {IN_META("00000000 04000000 00 00 01 00 ffffffffffffffffff02 " HINTS)}},
    {"range without a count",
     {IN_AS("00000000 00000000 00 00 01 00 01 " HINTS, "00 04 00 01 00 01 00 06" HINTS)}},
    {"range of a tensor",
     {IN_AS("00000000 04000000 00 00 01 00 00 " HINTS, "00 04 00 0d 00 01 04 06" HINTS)}},
    {"output without a count",
     {IN_AS("00000000 00000000 01 00 00 " HINTS, "00 04 00 01 00 01 00 06" HINTS)}},
    {"live-out without a count",
     {IN_AS("00000000 00000000 00 01 00 " HINTS, "00 04 00 01 00 01 00 06" HINTS)}},
    {"workgroup memory without a count",
     {IN_AS("00000000 00000000 00 00 00 " HINTS, "00 01 03 01 00 01 00 06" HINTS)}},
    {"axis tag 2 in the metadata", {IN_META("00000000 04000000 00 00 00 02 00 00000000 01")}},
    {"locality 3 in the metadata", {IN_META("00000000 04000000 00 00 00 00 00000000 03")}},
    {"fewer regions than buffers", {.tail = "01" REGION_IN "01 01"}},
    {"2^32 + 2 regions", {.tail = "8280808010" REGION_IN REGION_OUT "01 01"}},
    {"another region id", {IN_REGION("01 04 00 01 00 01 04 06" HINTS)}},
    {"memory kind 7", {IN_REGION("00 07 00 01 00 01 04 06" HINTS)}},
    {"access 5", {IN_REGION("00 04 05 01 00 01 04 06" HINTS)}},
    {"element tag 0", {IN_REGION("00 04 00 00 00 01 04 06" HINTS)}},
    {"element tag 0x20", {IN_REGION("00 04 00 20 00 01 04 06" HINTS)}},
    {"an element vec", {IN_REGION("00 04 00 14 00 01 04 06" HINTS)}},
    {"an element tensor_shaped", {IN_REGION("00 04 00 15 00 01 04 06" HINTS)}},
    {"an element sparse_csr", {IN_REGION("00 04 00 16 00 01 04 06" HINTS)}},
    {"an element sparse_coo", {IN_REGION("00 04 00 17 00 01 04 06" HINTS)}},
    {"an element sparse_bsr", {IN_REGION("00 04 00 18 00 01 04 06" HINTS)}},
    {"an element device_mesh", {IN_REGION("00 04 00 1e 00 01 04 06" HINTS)}},
    {"an array without size", {IN_REGION("00 04 00 08 00 01 04 06" HINTS)}},
    {"an extension with a low number", {IN_REGION("00 04 00 80 00 02 04 05 06" HINTS)}},
    {"quantized, stored as u32", {IN_REGION("00 04 00 1f 00 06 04 01 00 00 00 00 06" HINTS)}},
    {"quantized, scale 3", {IN_REGION("00 04 00 1f 00 06 04 0e 03 00 00 00 06" HINTS)}},
    {"quantized, scale tag 256", {IN_REGION("00 04 00 1f 00 07 04 0e 8002 00 00 00 06" HINTS)}},
    {"quantized, groups of 0", {IN_REGION("00 04 00 1f 00 06 04 0e 02 00 00 00 06" HINTS)}},
    {"quantized, zero point 4", {IN_REGION("00 04 00 1f 00 06 04 0e 00 00 04 00 06" HINTS)}},
    {"quantized, zero groups of 0", {IN_REGION("00 04 00 1f 00 06 04 0e 00 00 03 00 06" HINTS)}},
    {"quantized, a parameter too many",
     {IN_REGION("00 04 00 1f 00 06 04 0e 00 01 00 00 06" HINTS)}},
    {"shape tag 1", {IN_REGION("00 04 00 01 01 01 04 06" HINTS)}},
    {"an empty shape", {IN_REGION("00 04 00 01 00 00 06" HINTS)}},
    {"a shape of 65 bytes", {IN_REGION("00 04 00 01 00 41 04 06" HINTS)}},
    {"a shape past the end", {.tail = "02 00 04 00 01 00 40 04"}},
    {"a byte after the shape", {IN_REGION("00 04 00 01 00 02 0400 06" HINTS)}},
    {"another count in the region", {IN_REGION("00 04 00 01 00 01 05 06" HINTS)}},
    {"a count of 2^32 + 4", {IN_REGION("00 04 00 01 00 05 8480808010 06" HINTS)}},
    {"hints of 65 bytes", {IN_REGION("00 04 00 01 00 01 04 41" HINTS)}},
    {"no hints", {IN_REGION("00 04 00 01 00 01 04 00")}},
    {"a byte after the hints", {IN_REGION("00 04 00 01 00 01 04 07" HINTS "00")}},
    {"axis tag 2", {IN_REGION("00 04 00 01 00 01 04 07 02 00 00000000 01")}},
    {"locality 3", {IN_REGION("00 04 00 01 00 01 04 06 00 00000000 03")}},
    {"16,385 outputs", {.tail = "02" REGION_IN REGION_OUT "818001"}},
    {"no outputs", {.tail = "02" REGION_IN REGION_OUT "00"}},
    {"a read-only output", {.tail = "02" REGION_IN REGION_OUT "02 00 01"}},
    {"an output twice", {.tail = "02" REGION_IN REGION_OUT "02 01 01"}},
    {"an output that is no buffer", {.tail = "02" REGION_IN REGION_OUT "02 01 02"}},
    {"only another output", {.tail = "02" REGION_IN REGION_OUT "01 02"}},
    {"an output past 32 bits", {.tail = "02" REGION_IN REGION_OUT "01 8180808010"}},
    {"a byte after the program", {.tail = "02" REGION_IN REGION_OUT "01 01 00"}},
};

static const struct row good_rows[] = {
    {"over-long integers", {.count = "8280808080808080 8000", .operands = "8000"}},
    {"an op id",
     {.meta = "'VYRE-META' 01 02000000 c3a9 01000000 01000000 01000000 01 02" META_IN META_OUT}},
    {"truth values of 255", {IN_META("00000000 04000000 ff 80 00 " HINTS)}},
    {"the whole as range", {IN_META("00000000 04000000 00 00 01 00 10 " HINTS)}},
    {"no range of nothing",
     {IN_AS("00000000 00000000 00 00 01 00 00 " HINTS, "00 04 00 01 00 01 00 06" HINTS)}},
    {"a range of arrays",
     {IN_AS("00000000 04000000 00 00 01 02 1c " HINTS, "00 04 00 08 00 02 04 07 06" HINTS)}},
    {"the greatest count",
     {IN_AS("00000000 ffffffff 00 00 00 " HINTS, "00 04 00 01 00 05 ffffffff0f 06" HINTS)}},
    {"a handle", {IN_REGION("00 04 00 13 00 06 04 ffffffff0f 06" HINTS)}},
    {"an extension", {IN_REGION("00 04 00 80 00 06 04 8180808008 06" HINTS)}},
    {"a tensor", {IN_REGION("00 04 00 0d 00 01 04 06" HINTS)}},
    {"quantized", {IN_REGION("00 04 00 1f 00 06 04 1b 02 20 03 08 06" HINTS)}},
    {"quantized per channel", {IN_REGION("00 04 00 1f 00 06 04 0e 01 00 02 00 06" HINTS)}},
    {"hints that differ", {IN_REGION("00 04 00 01 00 01 04 07 01 09 10000000 02")}},
    {"every kind and access",
     {.meta = META_HEAD "02" META_IN META_OUT,
      .tail = "02 00 06 04 01 00 01 04 06" HINTS REGION_OUT "02 00 01"}},
    {"the same name and binding twice", {.meta = META_HEAD "02 03000000 'out' " PLAIN_IN META_OUT}},
    {"an empty name", {.meta = META_HEAD "02 00000000 " PLAIN_IN META_OUT}},
};

static void rows(void)
{
    for (size_t i = 0; i < sizeof bad_rows / sizeof bad_rows[0]; i++) {
        struct parts parts = filled(&bad_rows[i].parts);
        refuses(&parts, VYRE_E_IR_FORM, bad_rows[i].what);
    }
    for (size_t i = 0; i < sizeof good_rows / sizeof good_rows[0]; i++) {
        struct parts parts = filled(&good_rows[i].parts);
        accepts(&parts, good_rows[i].what);
    }
    struct parts parts = example;
    parts.tail = "02 00 04 00 08 00 06 04 8080808010 06" HINTS REGION_OUT "01 01";
    refuses(&parts, VYRE_E_LIMIT, "an array of 4 GiB elements");
}

int main(void)
{
    vyre_error err;
    must(vyre_memory_init(&memory, NULL, &err), &err);
    worked();
    envelope();
    lengths();
    rows();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
