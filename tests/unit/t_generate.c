/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Generated programs: valid, the same for the same seed, without errors, and with results that do
 * not depend on the order of invocations and workgroups. And they reach everything: each operator
 * on each type, each cast and each statement that a valid program can run occurs in some of them.
 *
 * What can be valid is not written down here: a small program for each combination asks the
 * validator and the oracle.
 *
 * Arguments: first seed (default 1), number of seeds (default 2000).
 */
#include "tap.h"

#include "oracle/differential.h"

#define TYPES 32u /* element types by tag */

struct coverage {
    uint32_t nodes[32], exprs[32], atomics[16];
    uint32_t bin[64][TYPES], un[64][TYPES], casts[TYPES][TYPES]; /* casts: from, to */
};

static struct vyre_memory memory;
static struct coverage seen;
static uint8_t variable_types[4096]; /* by name; a name has one live meaning at a time */

/* What occurs.
 * ------------------------------------------------------------------------------------------------
 */

static uint8_t type_of(const struct ir_program *program, const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_EXPR_LIT_I32:
        return IR_TYPE_I32;
    case IR_EXPR_LIT_BOOL:
        return IR_TYPE_BOOL;
    case IR_EXPR_LIT_F32:
    case IR_EXPR_FMA:
        return IR_TYPE_F32;
    case IR_EXPR_VAR:
        return variable_types[expr->name % sizeof variable_types];
    case IR_EXPR_LOAD:
        return vyre_ir_find_buffer(program, expr->name)->type.tag;
    case IR_EXPR_CAST:
        return expr->type->tag;
    case IR_EXPR_SELECT:
        return type_of(program, expr->arg[1]);
    case IR_EXPR_SUBGROUP_ADD:
    case IR_EXPR_SUBGROUP_SHUFFLE:
        return type_of(program, expr->arg[0]);
    case IR_EXPR_UN_OP:
        if (expr->op == IR_UN_LOGICAL_NOT) return IR_TYPE_BOOL;
        if (expr->op >= IR_UN_IS_NAN && expr->op <= IR_UN_IS_FINITE) return IR_TYPE_BOOL;
        return type_of(program, expr->arg[0]);
    case IR_EXPR_BIN_OP:
        if (expr->op >= IR_BIN_EQ && expr->op <= IR_BIN_OR) return IR_TYPE_BOOL;
        if (expr->op <= IR_BIN_DIV || expr->op == IR_BIN_MIN || expr->op == IR_BIN_MAX)
            return type_of(program, expr->arg[0]);
        return IR_TYPE_U32;
    default:
        return IR_TYPE_U32;
    }
}

static void see_expr(const struct ir_program *program, const struct ir_expr *expr)
{
    if (expr == NULL) return;
    uint8_t first = expr->arg[0] ? type_of(program, expr->arg[0]) : 0;
    seen.exprs[expr->kind]++;
    if (expr->kind == IR_EXPR_BIN_OP && first == type_of(program, expr->arg[1]))
        seen.bin[expr->op][first]++;
    if (expr->kind == IR_EXPR_UN_OP) seen.un[expr->op][first]++;
    if (expr->kind == IR_EXPR_CAST) seen.casts[first][expr->type->tag]++;
    if (expr->kind == IR_EXPR_ATOMIC) seen.atomics[expr->op]++;
    for (int i = 0; i < 3; i++)
        see_expr(program, expr->arg[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        see_expr(program, expr->args[i]);
}

static void see_list(const struct ir_program *program, const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node; node = node->next) {
        seen.nodes[node->kind]++;
        see_expr(program, node->a);
        see_expr(program, node->b);
        if (node->kind == IR_NODE_LET)
            variable_types[node->name % sizeof variable_types] = type_of(program, node->a);
        if (node->kind == IR_NODE_LOOP)
            variable_types[node->name % sizeof variable_types] = IR_TYPE_U32;
        see_list(program, &node->body);
        see_list(program, &node->otherwise);
    }
}

/* What can occur: a program with one let, over a buffer of one element type whose words are 1.
 * ------------------------------------------------------------------------------------------------
 */

struct tiny {
    struct ir_program *program;
    struct ir_node *let;
};

static struct ir_expr *tiny_expr(struct tiny *t, uint8_t kind)
{
    struct ir_expr *expr = NULL;
    vyre_error err;
    if (vyre_ir_expr(t->program, kind, &expr, &err)) bail("%s", err.message);
    return expr;
}

static struct ir_expr *tiny_load(struct tiny *t)
{
    struct ir_expr *load = tiny_expr(t, IR_EXPR_LOAD);
    load->name = t->program->buffers[0].name;
    load->arg[0] = tiny_expr(t, IR_EXPR_LIT_U32);
    return load;
}

static struct tiny tiny_make(uint8_t tag)
{
    struct tiny t = {0};
    struct ir_node *region = NULL;
    uint32_t name = 0;
    vyre_error err;
    if (vyre_ir_program_make(&memory, &t.program, &err) || vyre_ir_buffers(t.program, 1, &err) ||
        vyre_ir_name(t.program, "in", 2, &t.program->buffers[0].name, &err) ||
        vyre_ir_node(t.program, IR_NODE_REGION, &region, &err) ||
        vyre_ir_name(t.program, "root", 4, &region->name, &err) ||
        vyre_ir_node(t.program, IR_NODE_LET, &t.let, &err) ||
        vyre_ir_name(t.program, "x", 1, &name, &err))
        bail("%s", err.message);
    t.let->name = name;
    t.program->buffers[0].type.tag = tag;
    t.program->buffers[0].count = 4;
    t.program->buffers[0].access = IR_ACCESS_READ_WRITE;
    vyre_ir_buffers_named(t.program);
    vyre_ir_append(&t.program->entry, region);
    vyre_ir_append(&region->body, t.let);
    return t;
}

/* Whether it is valid and runs; frees it. */
static int tiny_runs(struct tiny *t)
{
    unsigned char data[64] = {0}, *buffers[1] = {data};
    uint64_t bytes[1] = {sizeof data};
    struct ir_validate_options options = {.subgroups = 1, .most = 1};
    struct oracle_run run = {
        .program = t->program, .grid = {1, 1, 1}, .buffers = buffers, .bytes = bytes};
    for (size_t i = 0; i < sizeof data; i += vyre_ir_type_stride(&t->program->buffers[0].type))
        data[i] = 1;
    int runs = vyre_ir_validate(t->program, &options, NULL) == VYRE_OK && oracle_run(&run) == 0;
    vyre_ir_program_free(t->program);
    return runs;
}

static const uint8_t types[] = {IR_TYPE_U32, IR_TYPE_I32, IR_TYPE_U64,      IR_TYPE_BOOL,
                                IR_TYPE_F32, IR_TYPE_U8,  IR_TYPE_U16,      IR_TYPE_I8,
                                IR_TYPE_I16, IR_TYPE_I64, IR_TYPE_VEC2_U32, IR_TYPE_VEC4_U32,
                                IR_TYPE_F16, IR_TYPE_F64};
#define TYPE_COUNT (sizeof types / sizeof types[0])

static uint32_t missing, possible;

static void expect(int runs, uint32_t count, const char *what, const char *name, uint8_t tag)
{
    if (!runs) return;
    possible++;
    if (count != 0) return;
    missing++;
    note("never made: %s %s on %s", what, name, vyre_ir_type_word(tag));
}

static void expect_operators(uint8_t tag)
{
    for (uint8_t op = 1; op <= IR_BIN_MUL_HIGH; op++) {
        struct tiny t = tiny_make(tag);
        t.let->a = tiny_expr(&t, IR_EXPR_BIN_OP);
        t.let->a->op = op;
        t.let->a->arg[0] = tiny_load(&t);
        t.let->a->arg[1] = tiny_load(&t);
        expect(tiny_runs(&t), seen.bin[op][tag], "binary", vyre_ir_bin_word(op), tag);
    }
    for (uint8_t op = 1; op <= IR_UN_RECIPROCAL; op++) {
        struct tiny t = tiny_make(tag);
        t.let->a = tiny_expr(&t, IR_EXPR_UN_OP);
        t.let->a->op = op;
        t.let->a->arg[0] = tiny_load(&t);
        expect(tiny_runs(&t), seen.un[op][tag], "unary", vyre_ir_un_word(op), tag);
    }
}

static void expect_casts(uint8_t tag)
{
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        struct tiny t = tiny_make(tag);
        struct ir_type target = {.tag = types[i]};
        t.let->a = tiny_expr(&t, IR_EXPR_CAST);
        t.let->a->type = &target;
        t.let->a->arg[0] = tiny_load(&t);
        expect(tiny_runs(&t), seen.casts[tag][types[i]], "cast to", vyre_ir_type_word(types[i]),
               tag);
    }
}

static void expect_atomics(void)
{
    for (uint8_t op = 1; op <= IR_ATOMIC_LRU_UPDATE; op++) {
        struct tiny t = tiny_make(IR_TYPE_U32);
        t.let->a = tiny_expr(&t, IR_EXPR_ATOMIC);
        t.let->a->op = op;
        t.let->a->name = t.program->buffers[0].name;
        t.let->a->arg[0] = tiny_expr(&t, IR_EXPR_LIT_U32);
        t.let->a->arg[2] = tiny_expr(&t, IR_EXPR_LIT_U32);
        if (op == IR_ATOMIC_COMPARE_EXCHANGE) t.let->a->arg[1] = tiny_expr(&t, IR_EXPR_LIT_U32);
        expect(tiny_runs(&t), seen.atomics[op], "atomic", vyre_ir_atomic_word(op), IR_TYPE_U32);
    }
}

static void check_coverage(void)
{
    uint32_t nodes = 0, exprs = 0;
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        expect_operators(types[i]);
        expect_casts(types[i]);
    }
    expect_atomics();
    ok(missing == 0 && possible > 200,
       "of %u operators on types, casts and atomics that can run, %u were never made", possible,
       missing);
    /* Statements up to TRAP that do not always fail; expressions but the two that always do. */
    for (uint32_t kind = 0; kind <= IR_NODE_TRAP; kind++) {
        if (kind == IR_NODE_INDIRECT_DISPATCH || seen.nodes[kind]) continue;
        nodes++;
        note("never made: %s", vyre_ir_node_id(kind));
    }
    for (uint32_t kind = 0; kind < IR_EXPR_SUBGROUP_LOCAL_ID; kind++) {
        if (seen.exprs[kind]) continue;
        exprs++;
        note("never made: %s", vyre_ir_expr_word(kind));
    }
    ok(nodes == 0, "every kind of statement that can run was made");
    ok(exprs == 0, "every kind of expression that can run was made");
}

/* What must hold for each.
 * ------------------------------------------------------------------------------------------------
 */

static size_t encoded(const struct ir_program *program, unsigned char **out)
{
    size_t length = 0;
    vyre_error err;
    (void)vyre_ir_encode(program, NULL, 0, &length, &err);
    *out = malloc(length + 1);
    if (*out == NULL || vyre_ir_encode(program, *out, length, &length, &err))
        bail("encode: %s", err.message);
    return length;
}

static int same_again(const struct generate_options *options, const struct generated *test)
{
    struct generated again;
    unsigned char *a, *b;
    generate(&memory, options, &again);
    size_t a_length = encoded(test->program, &a), b_length = encoded(again.program, &b);
    int same = a_length == b_length && memcmp(a, b, a_length) == 0;
    for (uint32_t i = 0; same && i < test->buffer_count; i++)
        same =
            test->bytes[i] == again.bytes[i] &&
            (!test->buffers[i] || memcmp(test->buffers[i], again.buffers[i], test->bytes[i]) == 0);
    free(a);
    free(b);
    generated_free(&again);
    return same;
}

static int without_error(const struct generated *test, uint64_t seed)
{
    struct differential_result result = {0};
    struct differential_case run = {.program = test->program,
                                    .grid = test->grid,
                                    .buffers = test->buffers,
                                    .bytes = test->bytes};
    (void)differential_oracle(NULL, &run, &result);
    if (result.error) note("seed %" PRIu64 ": %s", seed, result.what);
    return !result.error;
}

static void check_seeds(uint64_t first, uint64_t count)
{
    uint64_t wrong = 0, errors = 0, other = 0;
    char why[512];
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct generate_options options = {.seed = seed, .flags = GENERATE_ALL};
        enum oracle_schedule order = ORACLE_BACKWARDS;
        struct generated test;
        generate(&memory, &options, &test);
        uint32_t subgroups = seen.exprs[IR_EXPR_SUBGROUP_ADD] +
                             seen.exprs[IR_EXPR_SUBGROUP_SHUFFLE] +
                             seen.exprs[IR_EXPR_SUBGROUP_BALLOT];
        see_list(test.program, &test.program->entry);
        subgroups -= seen.exprs[IR_EXPR_SUBGROUP_ADD] + seen.exprs[IR_EXPR_SUBGROUP_SHUFFLE] +
                     seen.exprs[IR_EXPR_SUBGROUP_BALLOT];
        if (subgroups == 0 && seed % 2 == 0) order = ORACLE_ONE_BY_ONE;
        if (differential_compare(&test, differential_oracle, &order, why, sizeof why)) {
            wrong++;
            note("seed %" PRIu64 ": %s", seed, why);
        }
        if (seed % 16 == 0 && !same_again(&options, &test)) other++;
        if (!without_error(&test, seed)) errors++;
        generated_free(&test);
    }
    is_u64(wrong, 0, "%" PRIu64 " programs are valid and do not depend on the order", count);
    is_u64(errors, 0, "none of them ends in an error");
    is_u64(other, 0, "a seed gives the same program and buffers again");
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 2000;
    vyre_error err;
    if (vyre_memory_init(&memory, NULL, &err)) bail("memory: %s", err.message);
    note("seeds %" PRIu64 " to %" PRIu64, first, first + count - 1);
    check_seeds(first, count);
    if (count >= 2000) check_coverage();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left allocated");
    return done();
}
