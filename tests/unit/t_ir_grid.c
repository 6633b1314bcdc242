/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How many workgroups a dispatch has: by hand, and for every program of the conformance corpus
 * (first argument) as the reference dispatched it.
 */
#include "support.h"

#include "ir/program.h"
#include "ir_corpus.h"

static struct vyre_memory memory;

/* By hand
 * --------------------------------------------------------------------------------------------- */

struct shape {
    uint32_t workgroup[3];
    uint32_t buffers;
    struct ir_buffer buffer[3];
    uint64_t bytes[3];
    const char *name; /* of buffer 0 */
    int atomic;
};

static vyre_status grid_of(const struct shape *shape, uint32_t grid[3], vyre_error *err)
{
    struct ir_program *program = NULL;
    must(vyre_ir_program_make(&memory, &program, err), err);
    memcpy(program->workgroup, shape->workgroup, sizeof program->workgroup);
    must(vyre_ir_buffers(program, shape->buffers, err), err);
    for (uint32_t i = 0; i < shape->buffers; i++) {
        const char *text = i == 0 && shape->name ? shape->name : &"abc"[i];
        program->buffers[i] = shape->buffer[i];
        must(vyre_ir_name(program, text, strlen(text), &program->buffers[i].name, err), err);
    }
    if (shape->atomic) {
        struct ir_node *block, *let;
        struct ir_expr *call;
        void *args;
        must(vyre_ir_node(program, IR_NODE_IF, &block, err), err);
        must(vyre_ir_node(program, IR_NODE_LET, &let, err), err);
        must(vyre_ir_expr(program, IR_EXPR_CALL, &call, err), err);
        must(vyre_ir_alloc(program, 1, sizeof(struct ir_expr *), &args, err), err);
        call->args = args;
        call->arg_count = 1;
        must(vyre_ir_expr(program, IR_EXPR_ATOMIC, &call->args[0], err), err);
        let->a = call;
        vyre_ir_append(&program->entry, block);
        vyre_ir_append(&block->otherwise, let);
    }
    vyre_status status = vyre_ir_grid(program, shape->bytes, grid, err);
    vyre_ir_program_free(program);
    return status;
}

#define U32(access_)                                                                               \
    {                                                                                              \
        .access = (access_), .type = {.tag = IR_TYPE_U32 }                                         \
    }

static void is_grid(const struct shape *shape, const char *expected, const char *what)
{
    uint32_t grid[3] = {0, 0, 0};
    char text[64];
    vyre_error err;
    if (!works(grid_of(shape, grid, &err), &err, "%s: there is a grid", what)) return;
    snprintf(text, sizeof text, "%u,%u,%u", grid[0], grid[1], grid[2]);
    is_str(text, expected, "%s", what);
}

static void roles(void)
{
    struct shape s = {{64, 1, 1},  2,    {U32(IR_ACCESS_READ_ONLY), U32(IR_ACCESS_READ_WRITE)},
                      {4000, 512}, NULL, 0};
    is_grid(&s, "2,1,1", "the output counts, not the input");
    s.atomic = 1;
    is_grid(&s, "16,1,1", "with an atomic the input counts too");
    s.atomic = 0;
    s.name = "pg_nodes";
    is_grid(&s, "16,1,1", "pg_nodes at binding 0 counts");
    s.buffer[0].binding = 1;
    is_grid(&s, "2,1,1", "but not at another binding");
    s.name = NULL;
    s.buffers = 3;
    s.buffer[2] = (struct ir_buffer)U32(IR_ACCESS_WORKGROUP);
    is_grid(&s, "16,1,1", "with workgroup memory the input counts too");
    s.buffers = 1;
    is_grid(&s, "16,1,1", "without outputs the input counts");
    s.buffers = 0;
    is_grid(&s, "1,1,1", "there is always one workgroup");
    s.buffers = 2;
    s.buffer[1].type.tag = IR_TYPE_I4;
    is_grid(&s, "16,1,1", "512 bytes are 1,024 elements of 4 bits");
}

static void roots(void)
{
    static const struct {
        uint32_t size[3];
        uint64_t elements;
        const char *grid;
    } rows[] = {
        {{1, 1, 1}, 7, "7,1,1"},
        {{2, 2, 1}, 64, "4,4,1"},
        {{2, 2, 1}, 65, "5,5,1"},
        {{2, 1, 2}, 68, "5,1,5"},
        {{1, 3, 1}, 9, "1,3,1"},
        {{1, 1, 3}, 10, "1,1,4"},
        {{2, 2, 2}, 64, "2,2,2"},
        {{2, 2, 2}, 65, "3,3,3"},
        {{2, 2, 2}, 8000, "10,10,10"},
        {{2, 2, 2}, 8001, "11,11,11"},
        {{1, 1, 1}, 4294967295u, "4294967295,1,1"},
    };
    struct shape s = {.buffers = 1, .buffer = {{.access = IR_ACCESS_READ_WRITE}}};
    s.buffer[0].type.tag = IR_TYPE_U8;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memcpy(s.workgroup, rows[i].size, sizeof s.workgroup);
        s.bytes[0] = rows[i].elements;
        is_grid(&s, rows[i].grid, rows[i].grid);
    }
    s = (struct shape){
        {2, 2, 1},          1,    {{.access = IR_ACCESS_READ_WRITE, .type = {.tag = IR_TYPE_U8}}},
        {UINT64_MAX, 0, 0}, NULL, 0};
    s.workgroup[0] = 1u << 16;
    s.workgroup[1] = 1u << 16;
    is_grid(&s, "65536,65536,1", "2^64 - 1 elements in squares of 2^32");
    s.workgroup[0] = s.workgroup[1] = s.workgroup[2] = UINT32_MAX;
    is_grid(&s, "1,1,1", "a workgroup of more than 2^64 invocations");
}

static void refusals(void)
{
    struct shape s = {
        {1, 1, 1},           1,    {{.access = IR_ACCESS_READ_WRITE, .type = {.tag = IR_TYPE_U8}}},
        {4294967296u, 0, 0}, NULL, 0};
    uint32_t grid[3] = {8, 8, 8};
    vyre_error err;
    refused(grid_of(&s, grid, &err), VYRE_E_RANGE, &err, "2^32 workgroups on one axis");
    ok(grid[0] == 8 && grid[1] == 8 && grid[2] == 8, "and the grid is as it was");
}

/* The corpus
 * --------------------------------------------------------------------------------------------- */

/* The size that the manifest gives a buffer, in a list of name:bytes,name:bytes. */
static int listed(const char *list, const struct ir_name *name, uint64_t *bytes)
{
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name->text, name->length) == 0 && at[name->length] == ':') {
            *bytes = strtoull(at + name->length + 1, NULL, 10);
            return 1;
        }
    return 0;
}

static void check(const struct corpus_row *row, const uint8_t *bytes, size_t length)
{
    struct ir_program *program = NULL;
    vyre_error err;
    uint32_t grid[3] = {0, 0, 0};
    must(vyre_ir_decode(&memory, bytes, length, &program, &err), &err);
    uint64_t *sizes = calloc(program->buffer_count + 1, sizeof *sizes);
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        const struct ir_buffer *buffer = &program->buffers[i];
        if (buffer->access == IR_ACCESS_WORKGROUP) continue;
        if (vyre_ir_buffer_allocated(buffer))
            sizes[i] = vyre_ir_buffer_bytes(buffer);
        else if (!listed(row->inputs, &program->names[buffer->name], &sizes[i]))
            ok(0, "%s: input %u has a size in the manifest", row->name, i);
    }
    char text[64] = "";
    if (works(vyre_ir_grid(program, sizes, grid, &err), &err, "%s: there is a grid", row->name))
        snprintf(text, sizeof text, "%u,%u,%u", grid[0], grid[1], grid[2]);
    is_str(text, row->grid, "%s: the grid of the reference", row->name);
    free(sizes);
    vyre_ir_program_free(program);
}

static void corpus(const char *directory)
{
    struct corpus_row row;
    uint32_t rows = 0;
    FILE *file = corpus_manifest(directory, "manifest.tsv");
    if (!file) {
        skip("there is no corpus");
        return;
    }
    while (corpus_next(file, &row)) {
        size_t length = 0;
        if (strcmp(row.kind, "run") != 0) continue;
        uint8_t *bytes = corpus_bytes(directory, row.name, ".vir", &length);
        if (ok(bytes != NULL, "%s is there", row.name)) check(&row, bytes, length);
        free(bytes);
        rows++;
    }
    fclose(file);
    ok(rows > 100, "the corpus has %u programs that run", rows);
}

int main(int argc, char **argv)
{
    vyre_error err;
    must(vyre_memory_init(&memory, NULL, &err), &err);
    roles();
    roots();
    refusals();
    if (argc > 1)
        corpus(argv[1]);
    else
        skip("the corpus is not named");
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
