/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers of generated programs: what they are for, how they are declared, and how long they are.
 */
#include "oracle/generate_inside.h"

#include <stdio.h>
#include <stdlib.h>

static struct gen_buffer *add(struct gen *g, enum gen_role role, enum gen_type type)
{
    if (g->buffer_count == GEN_BUFFERS) abort();
    struct gen_buffer *buffer = &g->buffers[g->buffer_count++];
    *buffer = (struct gen_buffer){.role = role, .type = type, .each = 1};
    return buffer;
}

static void add_inputs(struct gen *g)
{
    static const enum gen_type scalars[] = {GEN_U32, GEN_I32, GEN_F32};
    for (uint32_t type = 0; type < GEN_TYPE_COUNT; type++) {
        if (!gen_allowed(g, (enum gen_type)type) || type == GEN_BOOL) continue;
        if (type > GEN_U64 && gen_chance(g, 60)) continue;
        add(g, ROLE_INPUT, (enum gen_type)type)->count = 1 + gen_below(g, 40);
        if (type <= GEN_U64 && gen_chance(g, 30))
            add(g, ROLE_INPUT, (enum gen_type)type)->count = 1 + gen_below(g, 9);
    }
    for (uint32_t i = 0; i < 3; i++)
        if (gen_chance(g, 50) && gen_allowed(g, scalars[i]))
            add(g, ROLE_SCALAR, scalars[i])->count = 1;
}

/* Elements of their own, for all invocations or, now and then, for some. */
static void add_own(struct gen *g)
{
    for (uint32_t type = 0; type < GEN_TYPE_COUNT; type++) {
        struct gen_buffer *buffer;
        if (type == GEN_BOOL) continue;
        if (type != GEN_BOOL_WORD && !gen_allowed(g, (enum gen_type)type)) continue;
        if (type > GEN_BOOL_WORD && !gen_pick_buffer(g, (int)type, ROLE_INPUT)) continue;
        buffer = add(g, ROLE_OWN, (enum gen_type)type);
        buffer->each = 1 + gen_below(g, 10);
        buffer->count = buffer->each * g->invocations;
        if (gen_chance(g, 10)) buffer->count = 1 + gen_below(g, buffer->count);
        if (gen_chance(g, 20)) add(g, ROLE_WRITE, (enum gen_type)type)->count = g->invocations;
    }
}

static void add_others(struct gen *g)
{
    static const uint8_t commutative[] = {IR_ATOMIC_ADD,       IR_ATOMIC_OR,  IR_ATOMIC_AND,
                                          IR_ATOMIC_XOR,       IR_ATOMIC_MIN, IR_ATOMIC_MAX,
                                          IR_ATOMIC_LRU_UPDATE};
    uint32_t sums = gen_has(g, GENERATE_ATOMICS) ? 1 + gen_below(g, 2) : 0;
    uint32_t shared = gen_has(g, GENERATE_SHARED) ? 1 + gen_below(g, 2) : 0;
    struct gen_buffer *buffer;
    for (uint32_t i = 0; i < sums; i++) {
        buffer = add(g, ROLE_SUM, GEN_U32);
        buffer->count = 1 + gen_below(g, 8);
        buffer->op = commutative[gen_below(g, sizeof commutative)];
    }
    if (sums != 0) {
        buffer = add(g, ROLE_CELLS, GEN_U32);
        buffer->each = 1 + gen_below(g, 2);
        buffer->count = buffer->each * g->invocations;
    }
    for (uint32_t i = 0; i < shared; i++) {
        buffer = add(g, ROLE_SHARED, gen_any_type(g));
        if (buffer->type == GEN_BOOL) buffer->type = GEN_U32;
        buffer->each = 1 + gen_below(g, 2);
        buffer->count = buffer->each * g->lanes;
        if (gen_chance(g, 10)) buffer->count = 1 + gen_below(g, buffer->count);
    }
    for (uint32_t i = 0; i < 2 && gen_has(g, GENERATE_ASYNC) && gen_chance(g, 50); i++)
        add(g, ROLE_COPY, GEN_U32)->count = 1 + gen_below(g, 16);
}

static void declare_access(struct gen *g, const struct gen_buffer *buffer, struct ir_buffer *out)
{
    static const uint8_t kinds[] = {IR_KIND_READONLY, IR_KIND_READONLY, IR_KIND_GLOBAL,
                                    IR_KIND_PERSISTENT};
    out->kind = IR_KIND_GLOBAL;
    out->access = IR_ACCESS_READ_WRITE;
    switch (buffer->role) {
    case ROLE_INPUT:
        out->kind = kinds[gen_below(g, sizeof kinds)];
        out->access = IR_ACCESS_READ_ONLY;
        if (gen_chance(g, 15)) {
            out->kind = IR_KIND_UNIFORM;
            out->access = IR_ACCESS_UNIFORM;
        }
        break;
    case ROLE_SCALAR:
        out->kind = IR_KIND_PUSH;
        out->access = IR_ACCESS_READ_ONLY;
        break;
    case ROLE_WRITE:
        out->access = IR_ACCESS_WRITE_ONLY;
        break;
    case ROLE_SHARED:
        out->kind = IR_KIND_SHARED;
        out->access = IR_ACCESS_WORKGROUP;
        break;
    default:
        break;
    }
}

static void declare(struct gen *g, uint32_t i, uint32_t *outputs)
{
    struct gen_buffer *buffer = &g->buffers[i];
    struct ir_buffer *out = &g->program->buffers[i];
    int fixed =
        buffer->role == ROLE_SCALAR || buffer->role == ROLE_WRITE || buffer->role == ROLE_SHARED;
    char text[16];
    snprintf(text, sizeof text, "b%u", (unsigned)i);
    buffer->name = gen_name(g, text);
    out->name = buffer->name;
    out->binding = buffer->role == ROLE_SHARED ? 0 : i;
    out->type.tag = gen_tag(buffer->type);
    out->hints.locality = 1;
    out->count = buffer->count;
    declare_access(g, buffer, out);
    if (out->access == IR_ACCESS_READ_WRITE && gen_chance(g, 20)) {
        out->live_out = 1;
        out->is_output = (*outputs)++ == 0;
        fixed = 1;
    }
    if (!fixed && gen_chance(g, 40)) out->count = 0; /* as long as what is bound */
}

void gen_buffers(struct gen *g)
{
    uint32_t outputs = 0;
    vyre_error err;
    add_inputs(g);
    add_own(g);
    add_others(g);
    /* In another order than by their roles. */
    for (uint32_t i = g->buffer_count; i > 1; i--) {
        uint32_t other = gen_below(g, i);
        struct gen_buffer swap = g->buffers[i - 1];
        g->buffers[i - 1] = g->buffers[other];
        g->buffers[other] = swap;
    }
    if (vyre_ir_buffers(g->program, g->buffer_count, &err)) abort();
    for (uint32_t i = 0; i < g->buffer_count; i++)
        declare(g, i, &outputs);
    vyre_ir_buffers_named(g->program);
}
