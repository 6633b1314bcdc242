/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Lists of statements of generated programs, and the statements that have no lists of their own.
 */
#include "oracle/generate_inside.h"

#define EXPR_DEPTH 4u

static uint32_t depth_of_expr(struct gen *g)
{
    return 1 + gen_below(g, EXPR_DEPTH);
}

static void let(struct gen *g, struct ir_list *list)
{
    enum gen_type type = gen_any_type(g);
    struct ir_expr *value = gen_expr(g, type, depth_of_expr(g));
    (void)gen_let(g, list, type, value);
}

static void assign(struct gen *g, struct ir_list *list)
{
    enum gen_type type = gen_any_type(g);
    const struct gen_var *var = gen_pick_var(g, type, 1);
    if (var == NULL) {
        let(g, list);
        return;
    }
    uint32_t name = var->name;
    gen_assign(g, list, name, gen_expr(g, type, depth_of_expr(g)));
}

/* As an encoder leaves it: no subnormal, one NaN, one zero. */
static struct ir_expr *coefficient(struct gen *g)
{
    uint32_t bits = gen_float_bits(g);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) bits = 0x7FC00000;
    if ((bits & 0x7FFFFFFF) < 0x00800000) bits = 0;
    return gen_literal(g, IR_EXPR_LIT_F32, bits);
}

static struct ir_expr *step(struct gen *g, struct ir_expr *sum, struct ir_expr *factor)
{
    int turned = gen_chance(g, 25), changed = gen_chance(g, 5);
    struct ir_expr *added = gen_chance(g, 95) ? coefficient(g) : gen_expr(g, GEN_F32, 1);
    if (changed) factor = gen_expr(g, GEN_F32, 1);
    struct ir_expr *product = gen_bin(g, IR_BIN_MUL, turned ? factor : sum, turned ? sum : factor);
    return gen_chance(g, 25) ? gen_bin(g, IR_BIN_ADD, added, product)
                             : gen_bin(g, IR_BIN_ADD, product, added);
}

/* Horner's rule, in one expression or by assignments; now and then with something in between. */
static void polynomial(struct gen *g, struct ir_list *list)
{
    struct ir_node *x = gen_let(g, list, GEN_F32, gen_expr(g, GEN_F32, 2));
    uint32_t steps = 2 + gen_below(g, 12), factor = x->name;
    struct ir_expr *sum = gen_chance(g, 60) ? coefficient(g) : gen_expr(g, GEN_F32, 1);
    if (gen_chance(g, 50)) {
        for (uint32_t i = 0; i < steps; i++)
            sum = step(g, sum, gen_var(g, factor));
        (void)gen_let(g, list, GEN_F32, sum);
        return;
    }
    const struct gen_var *var = gen_chance(g, 50) ? gen_pick_var(g, GEN_F32, 1) : NULL;
    uint32_t name = var ? var->name : gen_let(g, list, GEN_F32, sum)->name;
    for (uint32_t i = 0; i < steps; i++) {
        gen_assign(g, list, name, step(g, gen_var(g, name), gen_var(g, factor)));
        if (gen_chance(g, 5)) (void)gen_let(g, list, GEN_F32, gen_var(g, name));
    }
}

/* The invocation that owns an element stores to it by a literal. */
static void store_literal(struct gen *g, struct ir_list *list, const struct gen_buffer *buffer)
{
    uint32_t owner = gen_below(g, g->invocations);
    uint32_t element = owner * buffer->each + gen_below(g, buffer->each);
    struct ir_expr *value;
    if (element >= buffer->count) return;
    struct ir_node *node = gen_node(g, list, IR_NODE_IF);
    node->a = gen_bin(g, IR_BIN_EQ, gen_var(g, g->me), gen_u32(g, owner));
    value = gen_stored(g, buffer->type, 2);
    gen_store(g, &node->body, buffer, gen_u32(g, element), value);
}

static void store(struct gen *g, struct ir_list *list)
{
    enum gen_role role = gen_chance(g, 15) ? ROLE_WRITE : ROLE_OWN;
    const struct gen_buffer *buffer = gen_pick_buffer(g, -1, role);
    struct ir_expr *index;
    if (buffer == NULL) buffer = gen_pick_buffer(g, -1, ROLE_OWN);
    if (gen_chance(g, 10)) {
        store_literal(g, list, buffer);
        return;
    }
    index = gen_own_index(g, buffer);
    gen_store(g, list, buffer, index, gen_stored(g, buffer->type, depth_of_expr(g)));
}

static void atomic(struct gen *g, struct ir_list *list)
{
    const struct gen_buffer *buffer = gen_pick_buffer(g, GEN_U32, ROLE_SUM);
    if (buffer == NULL || gen_chance(g, 30)) {
        buffer = gen_pick_buffer(g, GEN_U32, ROLE_CELLS);
        if (buffer != NULL) (void)gen_let(g, list, GEN_U32, gen_atomic(g, buffer, 2));
        return;
    }
    /* What was there before depends on the order: nobody may read it. */
    (void)gen_let(g, list, GEN_TYPE_COUNT, gen_atomic(g, buffer, 2));
}

static void print(struct gen *g, struct ir_list *list)
{
    static const enum gen_type types[] = {GEN_U32, GEN_I32, GEN_BOOL, GEN_F32};
    struct ir_expr *call = gen_plain(g, IR_EXPR_CALL);
    void *args = NULL;
    call->name = gen_name(g, "vyre.print");
    call->arg_count = 1 + gen_below(g, 3);
    if (vyre_ir_alloc(g->program, call->arg_count, sizeof *call->args, &args, NULL)) return;
    call->args = args;
    call->args[0] = gen_u32(g, gen_below(g, 100));
    for (uint32_t i = 1; i < call->arg_count; i++)
        call->args[i] = gen_expr(g, types[gen_below(g, gen_has(g, GENERATE_FLOATS) ? 4 : 3)], 1);
    (void)gen_let(g, list, GEN_U32, call);
}

/* Never reached, unless something may go wrong. */
static void trap(struct gen *g, struct ir_list *list)
{
    struct ir_node *branch = gen_node(g, list, IR_NODE_IF), *node;
    uint32_t when = gen_errs(g) ? gen_below(g, 2 * g->invocations) : 0xFFFFFFF0u;
    branch->a = gen_bin(g, IR_BIN_EQ, gen_var(g, g->me), gen_u32(g, when));
    node = gen_node(g, &branch->body, IR_NODE_TRAP);
    node->a = gen_expr(g, GEN_U32, 1);
    node->tag = gen_name(g, "test.trap");
}

static void statement(struct gen *g, struct ir_list *list)
{
    uint32_t turn = gen_below(g, 100);
    if (turn < 2 && gen_has(g, GENERATE_FLOATS))
        polynomial(g, list);
    else if (turn < 22)
        let(g, list);
    else if (turn < 36)
        assign(g, list);
    else if (turn < 54)
        store(g, list);
    else if (turn < 62 && gen_has(g, GENERATE_ATOMICS) && !g->quiet)
        atomic(g, list);
    else if (turn < 63 && gen_has(g, GENERATE_PRINT))
        print(g, list);
    else if (turn < 64)
        trap(g, list);
    else if (turn < 78)
        gen_phase(g, list);
    else
        gen_flow(g, list);
}

/* Stores the variables from `first` on: what nobody stores can be wrong unseen. */
void gen_show(struct gen *g, struct ir_list *list, uint32_t first)
{
    if (list->last && list->last->kind == IR_NODE_RETURN) return;
    for (uint32_t i = g->var_count; i-- > first;) {
        enum gen_type type = g->vars[i].type;
        enum gen_type where = type == GEN_BOOL ? GEN_BOOL_WORD : type;
        const struct gen_buffer *buffer = NULL;
        if (type < GEN_TYPE_COUNT) buffer = gen_pick_buffer(g, (int)where, ROLE_OWN);
        if (buffer == NULL || gen_chance(g, 25)) continue;
        struct ir_expr *index = gen_own_index(g, buffer);
        gen_store(g, list, buffer, index, gen_var(g, g->vars[i].name));
    }
}

void gen_list(struct gen *g, struct ir_list *list, uint32_t statements)
{
    uint32_t vars = g->var_count;
    for (uint32_t i = 0; i < statements && g->budget > 0; i++) {
        g->budget--;
        statement(g, list);
        if (g->var_count + 16 > GEN_VARS) break;
        /* A return ends its list. */
        if (list->last && list->last->kind == IR_NODE_RETURN) break;
    }
    gen_show(g, list, vars);
    g->var_count = vars;
}
