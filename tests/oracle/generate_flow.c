/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Branches, loops, blocks, regions and returns of generated programs.
 */
#include "oracle/generate_inside.h"

#include <stdio.h>

/* What is known at a place and has to be the same again behind a list. */
struct place {
    uint64_t weight;
    uint32_t depth, loops, vars;
    uint8_t uniform;
};

static struct place keep(const struct gen *g)
{
    return (struct place){g->weight, g->depth, g->loops, g->var_count, g->uniform};
}

static void restore(struct gen *g, struct place place)
{
    g->weight = place.weight;
    g->depth = place.depth;
    g->loops = place.loops;
    g->var_count = place.vars;
    g->uniform = place.uniform;
}

static uint32_t some(struct gen *g)
{
    return 1 + gen_below(g, 5);
}

static void maybe_return(struct gen *g, struct ir_list *list)
{
    if (g->no_return || !gen_chance(g, 8)) return;
    if (list->last && list->last->kind == IR_NODE_RETURN) return;
    (void)gen_node(g, list, IR_NODE_RETURN);
}

/* The oracle asks that an if around a barrier always goes the same way, so not in loops. */
static void branch(struct gen *g, struct ir_list *list)
{
    struct place place = keep(g);
    struct ir_node *node = gen_node(g, list, IR_NODE_IF);
    int uniform = g->uniform && g->loops == 0 && gen_chance(g, 35);
    g->uniform = (uint8_t)uniform;
    g->depth++;
    if (uniform) {
        struct ir_expr *left = gen_uniform(g, 1);
        node->a = gen_bin(g, gen_chance(g, 50) ? IR_BIN_LT : IR_BIN_EQ, left, gen_u32(g, 1));
    } else {
        node->a = gen_expr(g, gen_chance(g, 75) ? GEN_BOOL : GEN_U32, 3);
    }
    if (gen_chance(g, 95)) gen_list(g, &node->body, some(g));
    maybe_return(g, &node->body);
    if (gen_chance(g, 45)) {
        gen_list(g, &node->otherwise, some(g));
        maybe_return(g, &node->otherwise);
    }
    restore(g, place);
}

static void declare_loop(struct gen *g, struct ir_node *node, int uniform)
{
    char text[24];
    int forever = !uniform && gen_chance(g, 20);
    snprintf(text, sizeof text, forever ? "__forever__%u" : "v%u", (unsigned)g->var_count);
    if (forever && g->loops == 0) text[11] = 0;
    node->name = gen_name(g, text);
    g->vars[g->var_count++] = (struct gen_var){
        .name = node->name, .type = GEN_U32, .fixed = 1, .uniform = (uint8_t)uniform};
}

/* Bounds of at most 8 iterations. Returns how many, at most. */
static uint32_t bounds(struct gen *g, struct ir_node *node, int uniform)
{
    uint32_t most = 1 + gen_below(g, 6), from = gen_below(g, 4);
    struct ir_expr *bound;
    if (gen_chance(g, 5)) {
        node->a = gen_u32(g, 0xFFFFFFFFu - gen_below(g, 4));
        node->b = gen_u32(g, 0xFFFFFFFF);
        return 4;
    }
    if (gen_chance(g, 30)) { /* literals; now and then none at all */
        node->a = gen_u32(g, from);
        node->b = gen_u32(g, from + most - (gen_chance(g, 10) ? most : 0));
        return most;
    }
    bound = uniform ? gen_uniform(g, 1) : gen_expr(g, GEN_U32, 2);
    bound = gen_bin(g, IR_BIN_MOD, bound, gen_u32(g, most + 1));
    node->b = gen_bin(g, IR_BIN_ADD, bound, gen_u32(g, from));
    node->a = gen_u32(g, from);
    if (!uniform && gen_chance(g, 30)) /* from may be above to */
        node->a = gen_bin(g, IR_BIN_MAX, gen_u32(g, from),
                          gen_bin(g, IR_BIN_BIT_AND, gen_expr(g, GEN_U32, 1), gen_u32(g, 7)));
    return most;
}

static void loop(struct gen *g, struct ir_list *list)
{
    struct place place = keep(g);
    struct ir_node *node = gen_node(g, list, IR_NODE_LOOP);
    int uniform = g->uniform && gen_chance(g, 60);
    g->weight *= bounds(g, node, uniform);
    g->uniform = (uint8_t)uniform;
    g->depth++;
    g->loops++;
    declare_loop(g, node, uniform);
    gen_list(g, &node->body, some(g));
    maybe_return(g, &node->body);
    restore(g, place);
}

/*
 * A while loop: as many iterations as there can be, around one if on a variable that its body
 * clears after a few.
 */
static void while_loop(struct gen *g, struct ir_list *list)
{
    int word = gen_chance(g, 40);
    struct ir_expr *start =
        word ? gen_u32(g, 1 + gen_small(g)) : gen_literal(g, IR_EXPR_LIT_BOOL, 1);
    if (gen_chance(g, 30)) start = gen_expr(g, word ? GEN_U32 : GEN_BOOL, 2);
    uint32_t flag = gen_let(g, list, word ? GEN_U32 : GEN_BOOL, start)->name;
    uint32_t flag_at = g->var_count - 1;
    uint32_t count = gen_let(g, list, GEN_U32, gen_u32(g, 0))->name;
    struct ir_expr *bound = gen_u32(g, 1 + gen_below(g, 6));
    if (gen_chance(g, 60))
        bound = gen_bin(g, IR_BIN_BIT_AND, gen_expr(g, GEN_U32, 2), gen_u32(g, 3));
    uint32_t most = gen_let(g, list, GEN_U32, bound)->name;
    for (uint32_t i = flag_at; i < flag_at + 3; i++)
        g->vars[i].fixed = 1;

    struct place place = keep(g);
    struct ir_node *node = gen_node(g, list, IR_NODE_LOOP);
    declare_loop(g, node, 0);
    node->a = gen_u32(g, 0);
    node->b = gen_u32(g, 0xFFFFFFFF);
    g->weight *= 6;
    g->uniform = 0;
    g->depth++;
    g->loops++;
    struct ir_node *inside = gen_node(g, &node->body, IR_NODE_IF);
    inside->a = gen_var(g, flag);
    gen_list(g, &inside->body, some(g));
    struct ir_list *body = &inside->body;
    if (body->last == NULL || body->last->kind != IR_NODE_RETURN) {
        gen_assign(g, body, count, gen_bin(g, IR_BIN_ADD, gen_var(g, count), gen_u32(g, 1)));
        struct ir_expr *more = gen_bin(g, IR_BIN_LT, gen_var(g, count), gen_var(g, most));
        if (gen_chance(g, 50)) {
            gen_assign(g, body, flag, word ? gen_cast(g, IR_TYPE_U32, more) : more);
        } else {
            struct ir_node *last = gen_node(g, body, IR_NODE_IF);
            last->a = gen_un(g, IR_UN_LOGICAL_NOT, more);
            gen_assign(g, &last->body, flag,
                       word ? gen_u32(g, 0) : gen_literal(g, IR_EXPR_LIT_BOOL, 0));
        }
    }
    restore(g, place);
}

static void block(struct gen *g, struct ir_list *list)
{
    struct place place = keep(g);
    int region = gen_chance(g, 50);
    struct ir_node *node = gen_node(g, list, region ? IR_NODE_REGION : IR_NODE_BLOCK);
    if (region) {
        node->name = gen_name(g, "test.region");
        if (gen_chance(g, 30)) node->other = gen_name(g, "test.source");
    }
    g->depth++;
    gen_list(g, &node->body, some(g));
    if (g->depth > 2) maybe_return(g, &node->body);
    restore(g, place);
}

void gen_flow(struct gen *g, struct ir_list *list)
{
    uint32_t turn = gen_below(g, 100);
    if (g->depth >= g->options.depth) return;
    if (turn < 45)
        branch(g, list);
    else if (turn < 65 && g->weight * 6 <= g->most_weight)
        loop(g, list);
    else if (turn < 80 && g->weight * 6 <= g->most_weight)
        while_loop(g, list);
    else
        block(g, list);
}
