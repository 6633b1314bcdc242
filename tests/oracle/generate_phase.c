/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What generated programs do with all invocations of a workgroup in step: barriers, workgroup
 * memory, subgroup operations, and copies.
 *
 * Elements of workgroup memory are written only by their owner, and read by others only between
 * two barriers, between which nobody writes.
 */
#include "oracle/generate_inside.h"

#include <stdio.h>

static void barrier(struct gen *g, struct ir_list *list)
{
    struct ir_node *node = gen_node(g, list, IR_NODE_BARRIER);
    node->ordering = (uint8_t)(1 + gen_below(g, 5));
}

static void shared_phase(struct gen *g, struct ir_list *list)
{
    const struct gen_buffer *buffer;
    uint32_t stores = 1 + gen_below(g, 2), reads = 1 + gen_below(g, 3);
    for (uint32_t i = 0; i < stores; i++) {
        buffer = gen_pick_buffer(g, -1, ROLE_SHARED);
        if (buffer == NULL) break;
        struct ir_expr *index = gen_own_index(g, buffer);
        gen_store(g, list, buffer, index, gen_stored(g, buffer->type, 3));
    }
    barrier(g, list);
    g->shared_open = 1;
    for (uint32_t i = 0; i < reads; i++) {
        enum gen_type type = gen_any_type(g);
        buffer = gen_pick_buffer(g, -1, ROLE_SHARED);
        if (buffer && gen_chance(g, 70)) type = buffer->type;
        if (type > GEN_U64 && !gen_pick_buffer(g, (int)type, ROLE_INPUT)) type = GEN_U32;
        (void)gen_let(g, list, type, gen_expr(g, type, 1 + gen_below(g, 3)));
    }
    g->shared_open = 0;
    barrier(g, list);
}

/*
 * Behind a barrier all invocations are at the same statement, and stay so over lets. The oracle
 * evaluates the operand again for each of them, hence no atomics in it.
 */
static void subgroup_phase(struct gen *g, struct ir_list *list)
{
    static const uint8_t kinds[] = {IR_EXPR_SUBGROUP_ADD, IR_EXPR_SUBGROUP_SHUFFLE,
                                    IR_EXPR_SUBGROUP_BALLOT};
    uint32_t count = 1 + gen_below(g, 3);
    g->quiet = 1;
    barrier(g, list);
    for (uint32_t i = 0; i < count; i++) {
        struct ir_expr *expr = gen_plain(g, kinds[gen_below(g, 3)]);
        enum gen_type type = gen_chance(g, 30) && gen_has(g, GENERATE_FLOATS) ? GEN_F32 : GEN_U32;
        if (expr->kind == IR_EXPR_SUBGROUP_BALLOT) {
            expr->arg[0] = gen_expr(g, gen_chance(g, 70) ? GEN_BOOL : GEN_U32, 2);
            type = GEN_U32;
        } else {
            expr->arg[0] = gen_expr(g, type, 2);
        }
        if (expr->kind == IR_EXPR_SUBGROUP_SHUFFLE) {
            struct ir_expr *lane = gen_expr(g, GEN_U32, 1);
            expr->arg[1] =
                gen_chance(g, 20) ? lane : gen_bin(g, IR_BIN_BIT_AND, lane, gen_u32(g, 31));
        }
        (void)gen_let(g, list, type, expr);
    }
    g->quiet = 0;
}

/* Every invocation copies the same bytes to a buffer that nothing else touches. */
static void copy(struct gen *g, struct ir_list *list)
{
    struct gen_buffer *to = gen_pick_buffer(g, -1, ROLE_COPY);
    const struct gen_buffer *from = gen_pick_buffer(g, -1, ROLE_INPUT);
    char text[16];
    for (uint32_t i = 0; to && to->used && i < 4; i++)
        to = gen_pick_buffer(g, -1, ROLE_COPY);
    if (to == NULL || from == NULL || to->used) return;
    to->used = 1;
    snprintf(text, sizeof text, "copy%u", (unsigned)(to - g->buffers));
    uint8_t kind = gen_chance(g, 50) ? IR_NODE_ASYNC_LOAD : IR_NODE_ASYNC_STORE;
    struct ir_node *node = gen_node(g, list, kind);
    node->name = from->name;
    node->other = to->name;
    node->tag = gen_name(g, text);
    node->a = gen_u32(g, gen_below(g, 24));
    node->b = gen_u32(g, gen_below(g, 80));
    uint32_t tag = node->tag;
    g->no_return++; /* a copy that is not waited for is an error */
    g->depth++;
    uint32_t vars = g->var_count;
    if (g->budget > 4) gen_list(g, &gen_node(g, list, IR_NODE_BLOCK)->body, 2);
    g->var_count = vars;
    g->depth--;
    g->no_return--;
    gen_node(g, list, IR_NODE_ASYNC_WAIT)->tag = tag;
}

void gen_phase(struct gen *g, struct ir_list *list)
{
    uint32_t turn = gen_below(g, 100);
    if (turn < 20 && gen_has(g, GENERATE_ASYNC) && g->uniform && g->loops == 0) {
        copy(g, list);
        return;
    }
    if (!g->uniform || g->shared_open) return;
    if (turn < 50 && gen_has(g, GENERATE_SUBGROUPS) && g->no_return)
        subgroup_phase(g, list);
    else if (gen_has(g, GENERATE_SHARED))
        shared_phase(g, list);
}
