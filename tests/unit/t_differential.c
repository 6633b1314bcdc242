/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The comparison of a machine with the oracle finds what is wrong with a machine, finds nothing
 * wrong with one that is right, and makes small programs of those it finds.
 *
 * The machines here decode the program from its bytes and run the oracle on that tree. A wrong one
 * changes the tree first: an operator that does another's work, a statement that is forgotten.
 *
 * Arguments: first seed (default 1), number of seeds for each machine (default 400).
 */
#include "tap.h"

#include "oracle/differential.h"

enum what { NOTHING, BINARY, UNARY, ATOMIC, FMA, SELECT, LOOP, STORE, RETURN, BOUNDS, ERROR };

/* A machine that does one thing wrong. */
struct bug {
    const char *name;
    enum what what;
    uint8_t from, to;
};

static struct vyre_memory memory;

static void spoil_expr(const struct bug *bug, struct ir_program *program, struct ir_expr *expr)
{
    if (expr == NULL) return;
    int kind = expr->kind;
    if ((bug->what == BINARY && kind == IR_EXPR_BIN_OP) ||
        (bug->what == UNARY && kind == IR_EXPR_UN_OP) ||
        (bug->what == ATOMIC && kind == IR_EXPR_ATOMIC))
        if (expr->op == bug->from) expr->op = bug->to;
    if (bug->what == FMA && kind == IR_EXPR_FMA) {
        struct ir_expr *product = NULL;
        if (vyre_ir_expr(program, IR_EXPR_BIN_OP, &product, NULL)) bail("no memory");
        product->op = IR_BIN_MUL;
        product->arg[0] = expr->arg[0];
        product->arg[1] = expr->arg[1];
        expr->kind = IR_EXPR_BIN_OP;
        expr->op = IR_BIN_ADD;
        expr->arg[0] = product;
        expr->arg[1] = expr->arg[2];
        expr->arg[2] = NULL;
    }
    if (bug->what == SELECT && kind == IR_EXPR_SELECT) expr->arg[2] = expr->arg[1];
    for (int i = 0; i < 3; i++)
        spoil_expr(bug, program, expr->arg[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        spoil_expr(bug, program, expr->args[i]);
}

static void spoil(const struct bug *bug, struct ir_program *program, struct ir_list *list)
{
    for (struct ir_node *node = list->first; node; node = node->next) {
        spoil_expr(bug, program, node->a);
        spoil_expr(bug, program, node->b);
        spoil(bug, program, &node->body);
        spoil(bug, program, &node->otherwise);
        /* A loop that leaves out its first iteration; a store and a return that do nothing. */
        if (bug->what == LOOP && node->kind == IR_NODE_LOOP && node->a->kind == IR_EXPR_LIT_U32 &&
            node->b->kind == IR_EXPR_LIT_U32 && node->a->value < node->b->value)
            node->a->value++;
        if ((bug->what == STORE && node->kind == IR_NODE_STORE && node->next == NULL) ||
            (bug->what == RETURN && node->kind == IR_NODE_RETURN)) {
            node->kind = IR_NODE_BLOCK;
            node->a = node->b = NULL;
        }
    }
}

static int run_with_bug(void *ctx, const struct differential_case *run,
                        struct differential_result *result)
{
    const struct bug *bug = ctx;
    struct differential_case mine = *run;
    struct ir_program *program = NULL;
    vyre_error err = {0};
    if (vyre_ir_decode(&memory, run->vir0, run->vir0_length, &program, &err)) {
        snprintf(result->what, sizeof result->what, "%.100s", err.message);
        return 1;
    }
    spoil(bug, program, &program->entry);
    mine.program = program;
    int status = differential_oracle(NULL, &mine, result);
    if (bug->what == BOUNDS && result->out_of_bounds) result->out_of_bounds--;
    if (bug->what == ERROR) result->error = 0;
    vyre_ir_program_free(program);
    return status;
}

static const struct bug bugs[] = {
    {"sub for add", BINARY, IR_BIN_ADD, IR_BIN_SUB},
    {"wrapping for saturating", BINARY, IR_BIN_SAT_ADD, IR_BIN_ADD},
    {"max for min", BINARY, IR_BIN_MIN, IR_BIN_MAX},
    {"lt for le", BINARY, IR_BIN_LE, IR_BIN_LT},
    {"rot_l for shl", BINARY, IR_BIN_SHL, IR_BIN_ROT_L},
    {"trunc for floor", UNARY, IR_UN_FLOOR, IR_UN_TRUNC},
    {"trunc for round", UNARY, IR_UN_ROUND, IR_UN_TRUNC},
    {"clz for ctz", UNARY, IR_UN_CTZ, IR_UN_CLZ},
    {"sin for cos", UNARY, IR_UN_COS, IR_UN_SIN},
    {"atomic or for add", ATOMIC, IR_ATOMIC_ADD, IR_ATOMIC_OR},
    {"atomic add for xor", ATOMIC, IR_ATOMIC_XOR, IR_ATOMIC_ADD},
    {"two roundings for one", FMA, 0, 0},
    {"always the first choice", SELECT, 0, 0},
    {"a loop without its first iteration", LOOP, 0, 0},
    {"a last store forgotten", STORE, 0, 0},
    {"a return forgotten", RETURN, 0, 0},
    {"one access out of bounds forgotten", BOUNDS, 0, 0},
};

static uint64_t first_seed, seeds;

/* The first seed that finds it, or 0. */
static uint64_t find(const struct bug *bug, uint32_t flags, char why[512])
{
    struct generate_options options = {.flags = flags};
    struct bug machine = *bug;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        int verdict = differential_one(seed, &options, run_with_bug, &machine, why, 512);
        if (verdict == 2) bail("no fair test: %s", why);
        if (verdict == 1) return seed;
    }
    return 0;
}

static void check_shrink(const struct bug *bug, uint64_t seed)
{
    struct generate_options options = {.seed = seed, .flags = GENERATE_ALL};
    struct bug machine = *bug;
    struct generated test;
    char why[512];
    generate(&memory, &options, &test);
    uint32_t before = test.program->node_count, left = 0;
    uint32_t changes = differential_shrink(&test, run_with_bug, &machine);
    int differs = differential_compare(&test, run_with_bug, &machine, why, sizeof why) == 1;
    for (const struct ir_node *node = test.program->entry.first; node; node = node->next)
        left += 1 + node->body.count;
    ok(changes > 0 && differs && left <= before, "%s: seed %" PRIu64 ", %u statements made %u",
       bug->name, seed, before, left);
    generated_free(&test);
}

int main(int argc, char **argv)
{
    static const struct bug none = {"nothing wrong", NOTHING, 0, 0};
    static const struct bug deaf = {"errors not reported", ERROR, 0, 0};
    char why[512] = "";
    vyre_error err;
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    seeds = argc > 2 ? strtoull(argv[2], NULL, 0) : 400;
    note("seeds from %" PRIu64 " on, at most %" PRIu64, first_seed, seeds);
    if (vyre_memory_init(&memory, NULL, &err)) bail("memory: %s", err.message);
    is_u64(find(&none, GENERATE_ALL, why), 0, "a machine that is right: %s", why);
    is_u64(find(&none, GENERATE_ALL | GENERATE_ERRORS, why), 0, "with errors as well: %s", why);
    ok(find(&deaf, GENERATE_ALL | GENERATE_ERRORS, why) != 0, "%s: %s", deaf.name, why);
    for (size_t i = 0; i < sizeof bugs / sizeof bugs[0]; i++) {
        uint64_t seed = find(&bugs[i], GENERATE_ALL, why);
        if (ok(seed != 0, "%s is found: %s", bugs[i].name, why) && i % 4 == 1)
            check_shrink(&bugs[i], seed);
    }
    is_u64(vyre_memory_live(&memory), 0, "nothing is left allocated");
    return done();
}
