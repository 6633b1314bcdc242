/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A generated program from its options: size of the workgroup and of the grid, buffers, and the
 * regions of the entry list.
 */
#include "oracle/generate_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One to three dimensions, at most 128 invocations, every number of them. */
static void shape(struct gen *g)
{
    uint32_t *size = g->program->workgroup, most = 128, groups = 4;
    uint32_t axes = 1 + gen_below(g, 3), first = gen_below(g, 3);
    g->lanes = 1;
    g->invocations = 1;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t axis = (first + i) % 3;
        size[axis] = i < axes ? 1 + gen_below(g, gen_chance(g, 50) && most > 8 ? 8 : most) : 1;
        most /= size[axis];
        g->lanes *= size[axis];
        g->grid[axis] = 1 + gen_below(g, groups);
        groups /= g->grid[axis];
        g->invocations *= size[axis] * g->grid[axis];
    }
}

/* The linear number of the invocation in the grid, or in its workgroup. */
static struct ir_expr *linear(struct gen *g, uint8_t kind)
{
    struct ir_expr *sum = NULL;
    for (uint32_t axis = 3; axis-- > 0;) {
        uint32_t extent = g->program->workgroup[axis];
        struct ir_expr *id = gen_plain(g, kind);
        id->axis = (uint8_t)axis;
        if (kind == IR_EXPR_INVOCATION_ID) extent *= g->grid[axis];
        if (sum != NULL) {
            sum = gen_bin(g, IR_BIN_MUL, sum, gen_u32(g, extent));
            sum = gen_bin(g, IR_BIN_ADD, sum, id);
        } else {
            sum = id;
        }
    }
    return sum;
}

static void region(struct gen *g, uint32_t statements)
{
    struct ir_node *node = gen_node(g, &g->program->entry, IR_NODE_REGION);
    node->name = gen_name(g, "vyre.program.root");
    g->var_count = 0;
    g->uniform = 1;
    g->weight = 1;
    g->depth = 1;
    g->me = gen_let(g, &node->body, GEN_U32, linear(g, IR_EXPR_INVOCATION_ID))->name;
    g->lid = gen_let(g, &node->body, GEN_U32, linear(g, IR_EXPR_LOCAL_ID))->name;
    g->vars[0].fixed = 1;
    g->vars[1].fixed = 1;
    for (uint32_t i = 0; i < 3; i++) {
        enum gen_type type = gen_any_type(g);
        struct ir_expr *value = gen_expr(g, type, 2);
        (void)gen_let(g, &node->body, type, value);
    }
    if (gen_chance(g, 30)) {
        (void)gen_let(g, &node->body, GEN_U32, gen_uniform(g, 2));
        g->vars[g->var_count - 1].fixed = 1;
        g->vars[g->var_count - 1].uniform = 1;
    }
    gen_list(g, &node->body, statements);
    gen_show(g, &node->body, 2);
}

/* Bytes of a buffer: what is declared, or more, or, where that is open, any number. */
static uint64_t length(struct gen *g, uint32_t i)
{
    const struct ir_buffer *buffer = &g->program->buffers[i];
    uint64_t each = vyre_ir_type_stride(&buffer->type), bytes = g->buffers[i].count * each;
    if (vyre_ir_buffer_allocated(buffer) || g->buffers[i].role == ROLE_SCALAR) return bytes;
    if (buffer->count == 0 && gen_chance(g, 20)) return bytes + gen_below(g, (uint32_t)each);
    if (gen_chance(g, 5)) return bytes + each * gen_below(g, 4);
    return bytes;
}

static void make_buffers(struct gen *g, struct generated *out)
{
    out->buffer_count = g->buffer_count;
    out->buffers = calloc(g->buffer_count + 1, sizeof *out->buffers);
    out->bytes = calloc(g->buffer_count + 1, sizeof *out->bytes);
    if (out->buffers == NULL || out->bytes == NULL) abort();
    for (uint32_t i = 0; i < g->buffer_count; i++) {
        if (g->buffers[i].role == ROLE_SHARED) continue;
        out->bytes[i] = length(g, i);
        out->buffers[i] = malloc(out->bytes[i] + 1);
        if (out->buffers[i] == NULL) abort();
    }
}

void generate(struct vyre_memory *memory, const struct generate_options *options,
              struct generated *out)
{
    struct gen *g = calloc(1, sizeof *g);
    vyre_error err;
    if (g == NULL) abort();
    g->options = *options;
    g->random = options->seed;
    if (vyre_ir_program_make(memory, &g->program, &err)) abort();
    if (g->options.size == 0) g->options.size = 3 + gen_below(g, 40);
    if (g->options.depth == 0) g->options.depth = 4;
    g->options.depth++; /* the region */
    /* Every program without one thing or another: small programs are easier to understand. */
    for (uint32_t flag = 1; flag < GENERATE_ALL; flag <<= 1)
        if (gen_chance(g, 25)) g->options.flags &= ~flag;
    if (!gen_has(g, GENERATE_FLOATS)) g->options.flags &= ~(uint32_t)GENERATE_MATH;
    /* Of an invocation that has returned a subgroup sees what nobody can say. */
    if (gen_has(g, GENERATE_SUBGROUPS) && gen_chance(g, 60)) g->no_return = 1;
    shape(g);
    g->most_weight = 1 + 20000 / g->invocations;
    gen_buffers(g);
    uint32_t regions = gen_chance(g, 70) ? 1 : 2;
    for (uint32_t i = 0; i < regions; i++) {
        g->budget = g->options.size / regions + 1;
        region(g, g->budget);
    }
    *out = (struct generated){.program = g->program};
    memcpy(out->grid, g->grid, sizeof out->grid);
    make_buffers(g, out);
    generate_inputs(out, options->seed);
    free(g);
}

void generated_free(struct generated *generated)
{
    vyre_ir_program_free(generated->program);
    for (uint32_t i = 0; i < generated->buffer_count; i++)
        free(generated->buffers[i]);
    free(generated->buffers);
    free(generated->bytes);
    *generated = (struct generated){0};
}
