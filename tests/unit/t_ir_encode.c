/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The encoder of VIR0 programs: the worked example built by hand, every statement, expression and
 * type there and back, what is made canonical, and what is refused. Also paths and facts of types.
 */
#include "ir_bytes.h"

static struct ir_program *make(void)
{
    struct ir_program *program = NULL;
    vyre_error err;
    must(vyre_ir_program_make(&memory, &program, &err), &err);
    return program;
}

static uint32_t named(struct ir_program *program, const char *text)
{
    uint32_t name = IR_NONE;
    vyre_error err;
    must(vyre_ir_name(program, text, strlen(text), &name, &err), &err);
    return name;
}

static struct ir_node *node_of(struct ir_program *program, uint8_t kind)
{
    struct ir_node *node = NULL;
    vyre_error err;
    must(vyre_ir_node(program, kind, &node, &err), &err);
    return node;
}

static struct ir_expr *expr_of(struct ir_program *program, uint8_t kind, uint32_t value)
{
    struct ir_expr *expr = NULL;
    vyre_error err;
    must(vyre_ir_expr(program, kind, &expr, &err), &err);
    expr->value = value;
    return expr;
}

/* A program with one statement, a let of an expression. */
static struct ir_program *let_of(struct ir_program *program, struct ir_expr *value)
{
    struct ir_node *let = node_of(program, IR_NODE_LET);
    let->name = named(program, "x");
    let->a = value;
    vyre_ir_append(&program->entry, let);
    return program;
}

static struct image encoded(const struct ir_program *program)
{
    struct image image = {0};
    vyre_error err;
    must(vyre_ir_encode(program, NULL, 0, &image.length, &err), &err);
    image.bytes = malloc(image.length);
    image.room = image.length;
    must(vyre_ir_encode(program, image.bytes, image.room, &image.length, &err), &err);
    return image;
}

/* One test: what it encodes to decodes, and encodes to the same. */
static void there_and_back(struct ir_program *program, const char *what)
{
    struct image first = encoded(program), second = {0};
    struct ir_program *again = NULL;
    vyre_error err = {0};
    if (works(decode(&first, &again, &err), &err, "%s decodes", what)) {
        second = encoded(again);
        ok(second.length == first.length && memcmp(first.bytes, second.bytes, first.length) == 0 &&
               again->node_count == program->node_count && again->expr_count == program->expr_count,
           "%s comes back", what);
    }
    vyre_ir_program_free(again);
    vyre_ir_program_free(program);
    image_free(&first);
    image_free(&second);
}

static void will_not(struct ir_program *program, vyre_status expected, const char *what)
{
    size_t length = 77;
    uint8_t bytes[4096];
    vyre_error err = {0};
    memset(bytes, 0x5a, sizeof bytes);
    vyre_status status = vyre_ir_encode(program, bytes, sizeof bytes, &length, &err);
    refused(status, expected, &err, "%s: %s", what, status ? err.message : "encodes");
    ok(length == 77 && bytes[0] == 0x5a, "%s: nothing was written", what);
    vyre_ir_program_free(program);
}

/* The worked example
 * --------------------------------------------------------------------------------------------- */

static struct ir_program *example_tree(void)
{
    struct ir_program *p = make();
    vyre_error err;
    p->workgroup[0] = 64;
    must(vyre_ir_buffers(p, 2, &err), &err);
    for (uint32_t i = 0; i < 2; i++)
        p->buffers[i] = (struct ir_buffer){.name = named(p, i ? "out" : "in"),
                                           .binding = i,
                                           .count = 4,
                                           .kind = i ? IR_KIND_GLOBAL : IR_KIND_READONLY,
                                           .access = i ? IR_ACCESS_READ_WRITE : IR_ACCESS_READ_ONLY,
                                           .is_output = i > 0,
                                           .live_out = i > 0,
                                           .hints = {.locality = 1},
                                           .type = {.tag = IR_TYPE_U32}};
    vyre_ir_buffers_named(p);
    struct ir_node *region = node_of(p, IR_NODE_REGION), *store = node_of(p, IR_NODE_STORE);
    region->name = named(p, "vyre.program.root");
    store->name = named(p, "out");
    store->a = expr_of(p, IR_EXPR_INVOCATION_ID, 0);
    store->b = expr_of(p, IR_EXPR_BIN_OP, 0);
    store->b->op = IR_BIN_ADD;
    store->b->arg[0] = expr_of(p, IR_EXPR_LOAD, 0);
    store->b->arg[0]->name = named(p, "in");
    store->b->arg[0]->arg[0] = expr_of(p, IR_EXPR_INVOCATION_ID, 0);
    store->b->arg[1] = expr_of(p, IR_EXPR_LIT_U32, 1);
    vyre_ir_append(&region->body, store);
    vyre_ir_append(&p->entry, region);
    return p;
}

static void worked(void)
{
    struct image image = image_of(&example);
    struct ir_program *program = example_tree();
    struct image made = encoded(program);
    ok(made.length == image.length && memcmp(made.bytes, image.bytes, image.length) == 0,
       "the worked example, byte for byte");
    size_t length = 0;
    uint8_t small[238];
    vyre_error err;
    memset(small, 0x5a, sizeof small);
    refused(vyre_ir_encode(program, small, sizeof small, &length, &err), VYRE_E_TOO_SMALL, &err,
            "a byte too little");
    is_u64(length, 239, "and how much it needs");
    ok(small[0] == 0x5a, "and nothing was written");
    char path[64];
    vyre_ir_path(program, 6, path, sizeof path);
    is_str(path, "entry[0].body[0].value.right", "the path of the literal");
    vyre_ir_path(program, 5, path, 20);
    is_str(path, "entry[0].body[0].va", "a path that is cut");
    vyre_ir_path(program, 7, path, sizeof path);
    is_str(path, "", "no path to what is not there");
    vyre_ir_path(program, 0, path, 1);
    is_str(path, "", "room for nothing");
    vyre_ir_program_free(program);
    image_free(&made);
    image_free(&image);
}

/* Everything there and back
 * --------------------------------------------------------------------------------------------- */

static void all_nodes(void)
{
    for (uint32_t kind = 0; vyre_ir_node_word(kind); kind++) {
        struct ir_program *p = make();
        struct ir_node *node = node_of(p, (uint8_t)kind);
        node->name = named(p, "name");
        node->other = named(p, "other");
        node->tag = named(p, "tag");
        node->a = expr_of(p, IR_EXPR_LIT_U32, 5);
        node->b = expr_of(p, IR_EXPR_SUBGROUP_SIZE, 0);
        bool uses_b = kind == IR_NODE_STORE || kind == IR_NODE_LOOP || kind == IR_NODE_ASYNC_LOAD ||
                      kind == IR_NODE_ASYNC_STORE;
        bool uses_a = uses_b || kind == IR_NODE_LET || kind == IR_NODE_ASSIGN ||
                      kind == IR_NODE_IF || kind == IR_NODE_TRAP;
        p->expr_count = (uint32_t)uses_a + uses_b;
        node->ordering = IR_ORDERING_GRID_SYNC;
        node->op = IR_COLLECTIVE_XOR;
        node->group = 3;
        node->root = 0xFFFFFFFFu;
        node->offset = UINT64_MAX;
        vyre_ir_append(&p->entry, node);
        there_and_back(p, vyre_ir_node_word(kind));
    }
}

static struct ir_expr *expr_with(struct ir_program *p, uint8_t kind, uint8_t op, uint32_t args)
{
    struct ir_expr *expr = expr_of(p, kind, 0x80000001u);
    expr->op = op;
    expr->name = named(p, "b");
    for (uint32_t i = 0; i < args; i++)
        expr->arg[i] = expr_of(p, IR_EXPR_LIT_I32, i);
    return expr;
}

static void all_exprs(void)
{
    static const uint8_t args[] = {
        [IR_EXPR_LOAD] = 1,
        [IR_EXPR_BIN_OP] = 2,
        [IR_EXPR_UN_OP] = 1,
        [IR_EXPR_SELECT] = 3,
        [IR_EXPR_CAST] = 1,
        [IR_EXPR_ATOMIC] = 3,
        [IR_EXPR_FMA] = 3,
        [IR_EXPR_SUBGROUP_ADD] = 1,
        [IR_EXPR_SUBGROUP_SHUFFLE] = 2,
        [IR_EXPR_SUBGROUP_BALLOT] = 1,
        [IR_EXPR_SUBGROUP_SIZE] = 0,
    };
    static const struct ir_type u32 = {.tag = IR_TYPE_U32};
    for (uint8_t kind = 0; vyre_ir_expr_word(kind); kind++) {
        struct ir_program *p = make();
        struct ir_expr *expr = expr_with(p, kind, 1, args[kind]);
        expr->type = &u32;
        expr->axis = 7;
        there_and_back(let_of(p, expr), vyre_ir_expr_word(kind));
    }
    for (uint8_t op = 1; op <= 0x80; op++) {
        struct ir_program *p;
        if (vyre_ir_bin_word(op) || op == IR_OP_EXTENSION) {
            p = make();
            there_and_back(let_of(p, expr_with(p, IR_EXPR_BIN_OP, op, 2)), "a binary operator");
        }
        if (vyre_ir_un_word(op) || op == IR_OP_EXTENSION) {
            p = make();
            there_and_back(let_of(p, expr_with(p, IR_EXPR_UN_OP, op, 1)), "a unary operator");
        }
        if (vyre_ir_atomic_word(op) || op == IR_OP_EXTENSION) {
            p = make();
            there_and_back(let_of(p, expr_with(p, IR_EXPR_ATOMIC, op, 3)), "an atomic operator");
        }
    }
}

static struct ir_expr *cast_of(struct ir_program *p, const struct ir_type *type)
{
    struct ir_expr *expr = expr_with(p, IR_EXPR_CAST, 0, 1);
    expr->type = type;
    return expr;
}

static void all_types(void)
{
    static const uint32_t dims[] = {2, 3, 5};
    static const struct ir_type u8 = {.tag = IR_TYPE_U8};
    for (uint32_t tag = 0; tag <= 0x80; tag++) {
        if (!vyre_ir_type_word(tag)) continue;
        struct ir_type type = {.tag = (uint8_t)tag,
                               .lanes = 3,
                               .a = tag == IR_TYPE_OPAQUE ? 0x80000007u : 7,
                               .b = 9,
                               .scale = 2,
                               .zero = 3,
                               .dim_count = 3,
                               .dims = dims,
                               .element = &u8};
        struct ir_program *p = make();
        there_and_back(let_of(p, cast_of(p, &type)), vyre_ir_type_word(tag));
    }
}

/* Canonical form and refusals
 * --------------------------------------------------------------------------------------------- */

static void floats(void)
{
    static const uint32_t pairs[][2] = {
        {0x3F800000, 0x3F800000}, {0x80000000, 0},          {0x00000001, 0},
        {0x807FFFFF, 0},          {0x00800000, 0x00800000}, {0x80800000, 0x80800000},
        {0x7F800000, 0x7F800000}, {0xFF800000, 0xFF800000}, {0x7F800001, 0x7FC00000},
        {0xFFC00123, 0x7FC00000}, {0x7FC00000, 0x7FC00000},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct ir_program *p = make(), *again = NULL;
        vyre_error err;
        let_of(p, expr_of(p, IR_EXPR_LIT_F32, pairs[i][0]));
        struct image image = encoded(p);
        must(decode(&image, &again, &err), &err);
        is_u64(again->entry.first->a->value, pairs[i][1], "the float 0x%08x", pairs[i][0]);
        vyre_ir_program_free(again);
        vyre_ir_program_free(p);
        image_free(&image);
    }
}

static struct ir_program *with_buffer(struct ir_buffer buffer)
{
    struct ir_program *p = make();
    vyre_error err;
    must(vyre_ir_buffers(p, 1, &err), &err);
    buffer.name = named(p, "b");
    p->buffers[0] = buffer;
    return p;
}

#define BUFFER(...) ((struct ir_buffer){.type = {.tag = IR_TYPE_U32}, __VA_ARGS__})

/* The table of cross checks, on the side of the encoder. */
static void cross_checks(void)
{
    struct ir_program *p = make();
    p->workgroup[1] = 0;
    will_not(p, VYRE_E_IR_FORM, "workgroup size 0");
    will_not(with_buffer(BUFFER(.access = IR_ACCESS_WORKGROUP)), VYRE_E_IR_FORM,
             "workgroup memory without a count");
    will_not(with_buffer(BUFFER(.live_out = 1)), VYRE_E_IR_FORM, "live-out without a count");
    will_not(with_buffer(BUFFER(.has_range = 1, .range_start = 2, .range_end = 1)), VYRE_E_IR_FORM,
             "range backwards");
    will_not(with_buffer(BUFFER(.count = 4, .has_range = 1, .range_end = 17)), VYRE_E_IR_FORM,
             "range past the end");
    will_not(with_buffer(BUFFER(.count = 4, .has_range = 1, .range_end = UINT64_MAX)),
             VYRE_E_IR_FORM, "range far past the end");
    will_not(with_buffer(
                 (struct ir_buffer){.type = {.tag = IR_TYPE_TENSOR}, .count = 1, .has_range = 1}),
             VYRE_E_IR_FORM, "range of a tensor");
    for (uint8_t tag = IR_TYPE_SPARSE_CSR; tag <= IR_TYPE_SPARSE_BSR; tag++)
        will_not(with_buffer((struct ir_buffer){.type = {.tag = tag}}), VYRE_E_IR_FORM,
                 vyre_ir_type_word(tag));
    will_not(with_buffer((struct ir_buffer){.type = {.tag = IR_TYPE_DEVICE_MESH}}), VYRE_E_IR_FORM,
             "device_mesh");
    will_not(with_buffer(BUFFER(.kind = 7)), VYRE_E_IR_FORM, "memory kind 7");
    will_not(with_buffer(BUFFER(.access = 5)), VYRE_E_IR_FORM, "access 5");
    will_not(with_buffer(BUFFER(.hints = {.locality = 3})), VYRE_E_IR_FORM, "locality 3");
    /* What the format's encoder lets pass, and its decoder does not. */
    struct ir_buffer lax[] = {
        BUFFER(.is_output = 1),
        BUFFER(.has_range = 1, .range_end = 8),
        {.type = {.tag = IR_TYPE_VEC}, .count = 1},
        {.type = {.tag = IR_TYPE_TENSOR_SHAPED}, .count = 1},
    };
    for (size_t i = 0; i < sizeof lax / sizeof lax[0]; i++) {
        struct ir_program *again = NULL;
        vyre_error err = {0};
        p = with_buffer(lax[i]);
        struct image image = encoded(p);
        refused(decode(&image, &again, &err), VYRE_E_IR_FORM, &err, "lax buffer %zu encodes", i);
        vyre_ir_program_free(p);
        image_free(&image);
    }
}

static void broken_trees(void)
{
    struct ir_program *p = make();
    will_not(let_of(p, NULL), VYRE_E_IR_FORM, "no expression");
    p = make();
    will_not(let_of(p, expr_of(p, 0x16, 0)), VYRE_E_IR_FORM, "an expression that is none");
    p = make();
    will_not(let_of(p, expr_of(p, IR_EXPR_VAR, 0)), VYRE_E_IR_FORM, "no name");
    p = make();
    vyre_ir_append(&p->entry, node_of(p, 0x13));
    will_not(p, VYRE_E_IR_FORM, "a statement that is none");
    p = make();
    will_not(let_of(p, expr_with(p, IR_EXPR_BIN_OP, 0x22, 2)), VYRE_E_IR_FORM, "no operator");
    p = make();
    struct ir_expr *expr = expr_with(p, IR_EXPR_UN_OP, IR_OP_EXTENSION, 1);
    expr->value = 1;
    will_not(let_of(p, expr), VYRE_E_IR_FORM, "an extension with a low number");
    p = make();
    expr = expr_with(p, IR_EXPR_ATOMIC, 1, 3);
    expr->ordering = 6;
    will_not(let_of(p, expr), VYRE_E_IR_FORM, "no ordering");
    static const struct ir_type u32 = {.tag = IR_TYPE_U32};
    static const struct ir_type bad[] = {
        {.tag = 0},
        {.tag = IR_TYPE_VEC},
        {.tag = IR_TYPE_OPAQUE, .a = 5},
        {.tag = IR_TYPE_QUANTIZED, .element = &u32},
        {.tag = IR_TYPE_VEC, .element = &bad[0]},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        p = make();
        will_not(let_of(p, cast_of(p, &bad[i])), VYRE_E_IR_FORM, "a type that is none");
    }
    p = make();
    will_not(let_of(p, cast_of(p, NULL)), VYRE_E_IR_FORM, "no type");
    p = make();
    expr = expr_of(p, IR_EXPR_LIT_U32, 0);
    for (int i = 0; i < 100000; i++) {
        struct ir_expr *outer = expr_with(p, IR_EXPR_UN_OP, 1, 0);
        outer->arg[0] = expr;
        expr = outer;
    }
    will_not(let_of(p, expr), VYRE_E_LIMIT, "100,000 levels");
}

/* Facts of types
 * --------------------------------------------------------------------------------------------- */

static void facts(void)
{
    static const struct ir_type i4 = {.tag = IR_TYPE_I4}, f32 = {.tag = IR_TYPE_F32};
    static const struct ir_type vec = {.tag = IR_TYPE_VEC, .lanes = 3, .element = &f32};
    static const struct ir_type nested = {.tag = IR_TYPE_VEC, .lanes = 2, .element = &vec};
    static const struct ir_type vec4 = {.tag = IR_TYPE_VEC, .lanes = 3, .element = &i4};
    static const struct ir_type quantized = {.tag = IR_TYPE_QUANTIZED, .element = &i4};
    static const struct ir_type array = {.tag = IR_TYPE_ARRAY, .a = 12};
    static const struct ir_type bytes = {.tag = IR_TYPE_BYTES}, tensor = {.tag = IR_TYPE_TENSOR};
    static const struct {
        const struct ir_type *type;
        uint64_t size, stride, bits, of_five, in_seven;
    } rows[] = {
        {&f32, 4, 4, 32, 20, 1},   {&vec, 12, 12, 96, 60, 0}, {&nested, 24, 24, 192, 120, 0},
        {&i4, 1, 1, 4, 3, 14},     {&vec4, 3, 3, 12, 8, 4},   {&quantized, 1, 1, 4, 3, 14},
        {&array, 12, 0, 0, 60, 0}, {&bytes, 1, 0, 8, 5, 7},   {&tensor, 0, 0, 0, 0, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ir_buffer buffer = {.count = 5, .type = *rows[i].type};
        const char *word = vyre_ir_type_word(buffer.type.tag);
        is_u64(vyre_ir_type_size(&buffer.type), rows[i].size, "size of %s", word);
        is_u64(vyre_ir_type_stride(&buffer.type), rows[i].stride, "stride of %s", word);
        is_u64(vyre_ir_type_bits(&buffer.type), rows[i].bits, "bits of %s", word);
        is_u64(vyre_ir_buffer_bytes(&buffer), rows[i].of_five, "bytes of five");
        is_u64(vyre_ir_buffer_elements(&buffer, 7), rows[i].in_seven, "elements in seven bytes");
    }
    struct ir_buffer scalar = {.count = 1, .kind = IR_KIND_PUSH, .type = f32};
    ok(vyre_ir_buffer_scalar(&scalar), "a pushed word is a scalar parameter");
    scalar.count = 2;
    ok(!vyre_ir_buffer_scalar(&scalar), "two are not");
    struct ir_buffer role = {.access = IR_ACCESS_READ_WRITE};
    ok(!vyre_ir_buffer_allocated(&role) && vyre_ir_buffer_returned(&role), "read-write");
    role.live_out = 1;
    ok(vyre_ir_buffer_allocated(&role) && vyre_ir_buffer_returned(&role), "and live-out");
    role.access = IR_ACCESS_READ_ONLY;
    ok(!vyre_ir_buffer_allocated(&role) && !vyre_ir_buffer_returned(&role), "read-only");
    role.access = IR_ACCESS_WRITE_ONLY;
    ok(vyre_ir_buffer_allocated(&role) && vyre_ir_buffer_returned(&role), "write-only");
}

static void names(void)
{
    struct ir_program *p = make();
    vyre_error err;
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            char text[16];
            snprintf(text, sizeof text, "n%u", i);
            wrong += named(p, text) != i || strcmp(p->names[i].text, text) != 0;
        }
    is_u64(wrong, 0, "5,000 names keep their numbers");
    uint32_t a = IR_NONE, b = IR_NONE;
    must(vyre_ir_name(p, "x\0y", 3, &a, &err), &err);
    must(vyre_ir_name(p, "x\0z", 3, &b, &err), &err);
    ok(a != b && p->names[a].length == 3, "a zero byte does not end a name");
    char *large = calloc(1, IR_MAX_STRING + 1);
    refused(vyre_ir_name(p, large, IR_MAX_STRING + 1, &a, &err), VYRE_E_LIMIT, &err,
            "a name of 1 MiB and a byte");
    free(large);
    vyre_ir_program_free(p);
}

int main(void)
{
    vyre_error err;
    must(vyre_memory_init(&memory, NULL, &err), &err);
    worked();
    all_nodes();
    all_exprs();
    all_types();
    floats();
    cross_checks();
    broken_trees();
    facts();
    names();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
