/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The generator's tools: drawing numbers, and making pieces of a tree.
 */
#include "oracle/generate_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t gen_draw(struct gen *g)
{
    uint64_t z = g->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint32_t gen_below(struct gen *g, uint32_t limit)
{
    return limit == 0 ? 0 : (uint32_t)(gen_draw(g) % limit);
}

int gen_chance(struct gen *g, uint32_t of_hundred)
{
    return gen_below(g, 100) < of_hundred;
}

int gen_has(const struct gen *g, uint32_t flag)
{
    return (g->options.flags & flag) == flag;
}

int gen_errs(struct gen *g)
{
    return gen_has(g, GENERATE_ERRORS) && gen_chance(g, 15);
}

int gen_allowed(const struct gen *g, enum gen_type type)
{
    static const uint32_t flags[] = {
#define ROW(name, element, flag) flag,
        GEN_TYPES(ROW)
#undef ROW
    };
    return gen_has(g, flags[type]);
}

static const struct ir_type *element_type(uint8_t tag)
{
    static const struct ir_type types[] = {
#define ROW(name, element, flag) {.tag = IR_TYPE_##element},
        GEN_TYPES(ROW)
#undef ROW
    };
    size_t i = 0;
    while (types[i].tag != tag)
        if (++i == GEN_TYPE_COUNT) abort();
    return &types[i];
}

uint8_t gen_tag(enum gen_type type)
{
    static const uint8_t tags[] = {
#define ROW(name, element, flag) IR_TYPE_##element,
        GEN_TYPES(ROW)
#undef ROW
    };
    return tags[type];
}

static void must(vyre_status status, const vyre_error *err)
{
    if (status == VYRE_OK) return;
    fprintf(stderr, "generate: %s\n", err->message);
    abort();
}

uint32_t gen_name(struct gen *g, const char *text)
{
    uint32_t name = 0;
    vyre_error err;
    must(vyre_ir_name(g->program, text, strlen(text), &name, &err), &err);
    return name;
}

struct ir_expr *gen_plain(struct gen *g, uint8_t kind)
{
    struct ir_expr *expr = NULL;
    vyre_error err;
    must(vyre_ir_expr(g->program, kind, &expr, &err), &err);
    return expr;
}

struct ir_expr *gen_literal(struct gen *g, uint8_t kind, uint32_t value)
{
    struct ir_expr *expr = gen_plain(g, kind);
    expr->value = value;
    return expr;
}

struct ir_expr *gen_u32(struct gen *g, uint32_t value)
{
    return gen_literal(g, IR_EXPR_LIT_U32, value);
}

struct ir_expr *gen_var(struct gen *g, uint32_t name)
{
    struct ir_expr *expr = gen_plain(g, IR_EXPR_VAR);
    expr->name = name;
    return expr;
}

struct ir_expr *gen_bin(struct gen *g, uint8_t op, struct ir_expr *a, struct ir_expr *b)
{
    struct ir_expr *expr = gen_plain(g, IR_EXPR_BIN_OP);
    expr->op = op;
    expr->arg[0] = a;
    expr->arg[1] = b;
    return expr;
}

struct ir_expr *gen_un(struct gen *g, uint8_t op, struct ir_expr *a)
{
    struct ir_expr *expr = gen_plain(g, IR_EXPR_UN_OP);
    expr->op = op;
    expr->arg[0] = a;
    return expr;
}

struct ir_expr *gen_cast(struct gen *g, uint8_t tag, struct ir_expr *a)
{
    struct ir_expr *expr = gen_plain(g, IR_EXPR_CAST);
    expr->type = element_type(tag);
    expr->arg[0] = a;
    return expr;
}

struct ir_expr *gen_load(struct gen *g, const struct gen_buffer *buffer, struct ir_expr *index)
{
    struct ir_expr *expr = gen_plain(g, IR_EXPR_LOAD);
    expr->name = buffer->name;
    expr->arg[0] = index;
    return expr;
}

struct ir_node *gen_node(struct gen *g, struct ir_list *list, uint8_t kind)
{
    struct ir_node *node = NULL;
    vyre_error err;
    must(vyre_ir_node(g->program, kind, &node, &err), &err);
    vyre_ir_append(list, node);
    return node;
}

/* Variables are named by their place among the live ones, so names come back in other scopes. */
struct ir_node *gen_let(struct gen *g, struct ir_list *list, enum gen_type type,
                        struct ir_expr *value)
{
    struct ir_node *node = gen_node(g, list, IR_NODE_LET);
    char text[16];
    if (g->var_count == GEN_VARS) abort();
    snprintf(text, sizeof text, "v%u", (unsigned)g->var_count);
    node->name = gen_name(g, text);
    node->a = value;
    g->vars[g->var_count++] = (struct gen_var){.name = node->name, .type = type};
    return node;
}

void gen_assign(struct gen *g, struct ir_list *list, uint32_t name, struct ir_expr *value)
{
    struct ir_node *node = gen_node(g, list, IR_NODE_ASSIGN);
    node->name = name;
    node->a = value;
}

void gen_store(struct gen *g, struct ir_list *list, const struct gen_buffer *buffer,
               struct ir_expr *index, struct ir_expr *value)
{
    struct ir_node *node = gen_node(g, list, IR_NODE_STORE);
    node->name = buffer->name;
    node->a = index;
    node->b = value;
}

struct gen_var *gen_pick_var(struct gen *g, enum gen_type type, int assignable)
{
    uint32_t start = gen_below(g, g->var_count);
    for (uint32_t i = 0; i < g->var_count; i++) {
        struct gen_var *var = &g->vars[(start + i) % g->var_count];
        if (var->type == type && !(assignable && var->fixed)) return var;
    }
    return NULL;
}

struct gen_buffer *gen_pick_buffer(struct gen *g, int type, enum gen_role role)
{
    uint32_t start = gen_below(g, g->buffer_count);
    for (uint32_t i = 0; i < g->buffer_count; i++) {
        struct gen_buffer *buffer = &g->buffers[(start + i) % g->buffer_count];
        if (buffer->role == role && (type < 0 || (int)buffer->type == type)) return buffer;
    }
    return NULL;
}
