/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The codec, the printer and paths over every program of the conformance corpus, which is the first
 * argument: what the reference refuses is refused, the rest decodes, and what is canonical comes
 * out of the encoder byte for byte.
 */
#include "support.h"

#include "ir/program.h"
#include "ir_corpus.h"

static struct vyre_memory memory;

static int count_text(void *ctx, const char *text, size_t length)
{
    uint64_t *total = ctx;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '\n' && (text[i] < 0x20 || text[i] > 0x7e)) return 1;
    *total += length;
    return 0;
}

/* The text is ASCII, and every item has a path. */
static int readable(const struct ir_program *program)
{
    uint64_t length = 0;
    if (vyre_ir_print(program, count_text, &length, NULL) != VYRE_OK || length == 0) return 0;
    uint32_t items = program->node_count + program->expr_count;
    for (uint32_t id = 0; id < items && id < 2000; id++) {
        char path[1024];
        vyre_ir_path(program, id, path, sizeof path);
        if (strncmp(path, "entry[", 6) != 0) return 0;
    }
    char path[16] = "rubbish";
    vyre_ir_path(program, items, path, sizeof path);
    return path[0] == '\0';
}

static int encodes_to(const struct ir_program *program, const uint8_t *bytes, size_t length)
{
    size_t size = 0;
    vyre_error err;
    must(vyre_ir_encode(program, NULL, 0, &size, &err), &err);
    uint8_t *again = malloc(size);
    must(vyre_ir_encode(program, again, size, &size, &err), &err);
    int same = size == length && memcmp(again, bytes, size) == 0;
    struct ir_program *second = NULL;
    must(vyre_ir_decode(&memory, again, size, &second, &err), &err);
    vyre_ir_program_free(second);
    free(again);
    return same;
}

static void check(const struct corpus_row *row, const uint8_t *bytes, size_t length)
{
    struct ir_program *program = NULL;
    vyre_error err;
    vyre_status status = vyre_ir_decode(&memory, bytes, length, &program, &err);
    if (strcmp(row->kind, "reject-decode") == 0) {
        ok(status <= VYRE_E_IR_SIZE && status >= VYRE_E_IR_FORM && !program && err.status == status,
           "%s is refused: %s", row->name, status ? err.message : "it is not");
        vyre_ir_program_free(program);
        return;
    }
    if (!works(status, &err, "%s decodes", row->name)) return;
    int canonical = strcmp(row->kind, "run-noncanonical") != 0;
    is_u64(encodes_to(program, bytes, length), canonical, "%s %s", row->name,
           canonical ? "comes out as it went in" : "comes out otherwise");
    ok(readable(program), "%s has a text and paths", row->name);
    vyre_ir_program_free(program);
}

static uint32_t check_all(const char *directory, const char *manifest)
{
    struct corpus_row row;
    uint32_t rows = 0;
    FILE *file = corpus_manifest(directory, manifest);
    if (!file) skip_all("there is no corpus at %s", directory);
    while (corpus_next(file, &row)) {
        size_t length = 0;
        uint8_t *bytes = corpus_bytes(directory, row.name, ".vir", &length);
        if (ok(bytes != NULL, "%s is there", row.name)) check(&row, bytes, length);
        free(bytes);
        rows++;
    }
    fclose(file);
    return rows;
}

int main(int argc, char **argv)
{
    vyre_error err;
    if (argc < 2) skip_all("the corpus is not named");
    must(vyre_memory_init(&memory, NULL, &err), &err);
    ok(check_all(argv[1], "manifest.tsv") > 100, "the manifest has rows");
    ok(check_all(argv[1], "manifest_extra.tsv") > 10, "and the other one too");
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
