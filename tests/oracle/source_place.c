/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers of random sources. Whatever a lane writes is its own: element n of lane k is at
 * k * own + n. What all may read, none writes.
 */
#include "oracle/source_inside.h"

#define FAR_AWAY 0x10000000u /* past the end of every buffer, and with no wrap behind it */

uint8_t source_reach_of(const struct making *m, const struct source_buffer *buffer)
{
    bool kernel = m->function == &m->source->functions[m->source->function_count - 1];
    if (!kernel || buffer->access != SOURCE_WORKGROUP) return buffer->reach;
    return m->read_all[buffer->number] ? SOURCE_ANY : SOURCE_OWN;
}

struct source_buffer *source_buffer_to(struct making *m, uint8_t type, bool read, bool write)
{
    struct source_function *f = m->function;
    uint32_t start = f->buffer_count ? source_draw(m, f->buffer_count) : 0;
    for (uint32_t i = 0; i < f->buffer_count; i++) {
        struct source_buffer *buffer = &f->buffers[(start + i) % f->buffer_count];
        uint8_t reach = source_reach_of(m, buffer);
        if (source_element_type(buffer->element) != type || reach > SOURCE_OWN) continue;
        if (read && buffer->access == SOURCE_OUT) continue;
        if (m->bound && reach == SOURCE_ANY && buffer->access == SOURCE_IN) continue;
        if (write && (reach != SOURCE_OWN || buffer->access == SOURCE_IN)) continue;
        return buffer;
    }
    return NULL;
}

static struct source_expr *lane(struct making *m, const struct source_buffer *buffer)
{
    bool local = buffer->access == SOURCE_WORKGROUP;
    struct source_expr *expr =
        source_expr_new(m, local ? SOURCE_X_LOCAL : SOURCE_X_LANE, SOURCE_U32);
    expr->value = source_draw(m, 2);
    return expr;
}

/* 0, or now and then so far that it is past the end. */
static struct source_expr *far_away(struct making *m, uint32_t depth)
{
    struct source_expr *expr = source_expr_new(m, SOURCE_X_CHOOSE, SOURCE_U32);
    expr->arg[0] = source_condition(m, depth);
    expr->arg[1] = source_literal(m, SOURCE_U32, 0);
    expr->arg[2] = source_literal(m, SOURCE_U32, FAR_AWAY);
    return expr;
}

static struct source_expr *own_index(struct making *m, const struct source_buffer *buffer,
                                     uint32_t depth)
{
    uint32_t own = m->source->own;
    struct source_expr *first = source_op(m, SOURCE_MUL, SOURCE_U32, lane(m, buffer),
                                          source_bare(m, source_literal(m, SOURCE_U32, own)));
    struct source_expr *index =
        source_op(m, SOURCE_ADD, SOURCE_U32, first, source_small(m, own, depth < 2 ? depth : 2));
    if (source_once_in(m, 12))
        index = source_op(m, SOURCE_ADD, SOURCE_U32, index, far_away(m, depth ? depth - 1 : 0));
    return index;
}

static struct source_expr *any_index(struct making *m, struct source_buffer *buffer, uint32_t depth)
{
    struct source_expr *near = lane(m, buffer), *length;
    uint32_t which = source_draw(m, 4);
    if (which == 0 || depth == 0)
        return source_op(m, SOURCE_ADD, SOURCE_U32, near,
                         source_bare(m, source_literal(m, SOURCE_U32, source_draw(m, 9))));
    struct source_expr *value = source_expr(m, SOURCE_U32, depth - 1);
    if (which == 1) return source_op(m, SOURCE_ADD, SOURCE_U32, value, near);
    value = source_op(m, SOURCE_XOR, SOURCE_U32, near, value);
    length = source_expr_new(m, SOURCE_X_LENGTH, SOURCE_U32);
    length->buffer = buffer;
    return source_op(m, SOURCE_MOD, SOURCE_U32, value, length);
}

struct source_expr *source_index(struct making *m, struct source_buffer *buffer, uint32_t depth)
{
    uint8_t reach = source_reach_of(m, buffer);
    bool any = reach == SOURCE_ANY || reach == SOURCE_SHARED;
    /* The length of what atomics touch is not to be asked for. */
    struct source_expr *index = reach == SOURCE_SHARED ? source_small(m, buffer->count + 2, depth)
                                : any                  ? any_index(m, buffer, depth)
                                                       : own_index(m, buffer, depth);
    if (!source_once_in(m, 6)) return index;
    struct source_expr *cast = source_expr_new(m, SOURCE_X_CAST, SOURCE_I32);
    cast->arg[0] = index;
    return cast;
}

struct source_expr *source_load_expr(struct making *m, uint8_t type, uint32_t depth)
{
    struct source_buffer *buffer = source_buffer_to(m, type, true, false);
    if (!buffer) return NULL;
    struct source_expr *expr = source_expr_new(m, SOURCE_X_LOAD, type);
    expr->buffer = buffer;
    expr->arg[0] = source_index(m, buffer, depth);
    return expr;
}

struct source_expr *source_length(struct making *m)
{
    struct source_function *f = m->function;
    if (!f->buffer_count) return NULL;
    struct source_buffer *buffer = &f->buffers[source_draw(m, f->buffer_count)];
    if (buffer->reach > SOURCE_OWN) return NULL;
    struct source_expr *expr = source_expr_new(m, SOURCE_X_LENGTH, SOURCE_U32);
    expr->buffer = buffer;
    return expr;
}

struct source_expr *source_atomic_expr(struct making *m, uint8_t reach, uint32_t depth)
{
    struct source_function *f = m->function;
    for (uint32_t i = 0; i < f->buffer_count; i++) {
        struct source_buffer *buffer = &f->buffers[i];
        if (buffer->reach != reach) continue;
        struct source_expr *expr = source_expr_new(m, SOURCE_X_ATOMIC, SOURCE_U32);
        expr->buffer = buffer;
        expr->op =
            reach == SOURCE_SHARED ? buffer->atomic : (uint8_t)source_draw(m, SOURCE_ATOMICS);
        expr->arg[0] = source_index(m, buffer, depth);
        expr->arg[1] = source_expr(m, SOURCE_U32, depth);
        if (expr->op == SOURCE_ATOMIC_COMPARE_EXCHANGE)
            expr->arg[2] = source_expr(m, SOURCE_U32, depth);
        return expr;
    }
    return NULL;
}

static bool fits(const struct making *m, const struct source_buffer *param,
                 const struct source_buffer *actual)
{
    if (param->element != actual->element || param->reach != source_reach_of(m, actual))
        return false;
    if (param->reach == SOURCE_SHARED && param->atomic != actual->atomic) return false;
    if (param->access == SOURCE_WORKGROUP || actual->access == SOURCE_WORKGROUP)
        return param->access == actual->access;
    return param->access == actual->access || actual->access == SOURCE_INOUT;
}

/* Whether the function has what it takes; fills in the buffers. */
static bool bind(struct making *m, struct source_expr *call)
{
    const struct source_function *callee = call->function;
    struct source_function *f = m->function;
    for (uint32_t i = 0; i < callee->buffer_count; i++) {
        uint32_t start = f->buffer_count ? source_draw(m, f->buffer_count) : 0;
        for (uint32_t k = 0; k < f->buffer_count && !call->buffers[i]; k++) {
            struct source_buffer *actual = &f->buffers[(start + k) % f->buffer_count];
            if (fits(m, &callee->buffers[i], actual)) call->buffers[i] = actual;
        }
        if (!call->buffers[i]) return false;
    }
    return true;
}

struct source_expr *source_call_expr(struct making *m, uint8_t type, uint32_t depth)
{
    if (m->callees == 0 || m->calls_left == 0) return NULL;
    struct source_function *callee = &m->source->functions[source_draw(m, m->callees)];
    if (callee->type != type) return NULL;
    struct source_expr *call = source_expr_new(m, SOURCE_X_CALL, type);
    call->function = callee;
    if (!bind(m, call)) return NULL;
    m->calls_left--;
    for (uint32_t i = 0; i < callee->value_count; i++)
        call->arg[i] = source_bare(m, source_expr(m, callee->types[i], depth));
    return call;
}
