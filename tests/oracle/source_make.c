/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random sources as a whole: shape, buffers, functions, the kernel, and what its buffers hold.
 */
#include "oracle/source_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source_piece {
    struct source_piece *next;
    max_align_t bytes[];
};

void *source_alloc(struct source *source, size_t bytes)
{
    struct source_piece *piece = calloc(1, sizeof *piece + bytes);
    if (!piece) abort();
    piece->next = source->pieces;
    source->pieces = piece;
    return piece->bytes;
}

void source_free(struct source *source)
{
    while (source->pieces) {
        struct source_piece *piece = source->pieces;
        source->pieces = piece->next;
        free(piece);
    }
}

static uint32_t lanes_of(const struct source *source)
{
    return source->workgroup[0] * source->workgroup[1] * source->workgroup[2];
}

static void make_shape(struct making *m)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 8, 13, 32, 33, 40};
    struct source *source = m->source;
    source->workgroup[0] = sizes[source_draw(m, 9)];
    source->workgroup[1] = source->workgroup[2] = 1;
    source->grid[0] = 1 + source_draw(m, 3);
    source->grid[1] = source->grid[2] = 1;
    if (source_once_in(m, 4)) {
        source->workgroup[0] = 1 + source_draw(m, 5);
        source->workgroup[1] = 1 + source_draw(m, 3);
        source->workgroup[2] = 1 + source_draw(m, 2);
        source->grid[1] = 1 + source_draw(m, 2);
    }
    source->own = 1 + source_draw(m, 4);
    source->hides = source_once_in(m, 6);
}

/* What a constant of the file is; only what cannot fail. */
static uint32_t known(const struct source *source, const struct source_expr *expr)
{
    bool fault = false;
    switch (expr->kind) {
    case SOURCE_X_LITERAL:
        return expr->value;
    case SOURCE_X_CONSTANT:
        return source->constants[expr->value];
    case SOURCE_X_UNARY:
        return source_unary(expr->op, expr->type, known(source, expr->arg[0]));
    case SOURCE_X_CAST:
        return source_cast(expr->arg[0]->type, expr->type, known(source, expr->arg[0]));
    default:
        return source_binary(expr->op, expr->arg[0]->type, known(source, expr->arg[0]),
                             known(source, expr->arg[1]), &fault);
    }
}

static struct source_expr *constant(struct making *m, uint8_t type, uint32_t depth)
{
    static const uint8_t ops[] = {SOURCE_ADD, SOURCE_SUB, SOURCE_MUL, SOURCE_AND,
                                  SOURCE_OR,  SOURCE_XOR, SOURCE_SHL, SOURCE_SHR};
    struct source_expr *expr;
    if (depth == 0) return source_expr(m, type, 0);
    switch (source_draw(m, 3)) {
    case 0:
        expr = source_expr_new(m, SOURCE_X_CAST, type);
        expr->arg[0] = constant(m, source_any_type(m), depth - 1);
        return expr;
    case 1:
        return source_op(m, type == SOURCE_BOOL ? SOURCE_NOT : SOURCE_NEGATE, type,
                         constant(m, type, depth - 1), NULL);
    default:
        if (type == SOURCE_BOOL)
            return source_op(m, SOURCE_LT, type, constant(m, SOURCE_F32, depth - 1),
                             constant(m, SOURCE_F32, depth - 1));
        expr = constant(m, type, depth - 1);
        return source_op(m, ops[source_draw(m, type == SOURCE_F32 ? 3 : 8)], type, expr,
                         constant(m, type, depth - 1));
    }
}

static void make_constants(struct making *m)
{
    struct source *source = m->source;
    uint32_t count = source_draw(m, SOURCE_MOST_CONSTANTS + 1);
    m->known = true;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t type = source_any_type(m);
        struct source_expr *value = source_bare(m, constant(m, type, source_draw(m, 3)));
        source->constant_types[i] = type;
        source->constant_values[i] = value;
        source->constants[i] = known(source, value);
        source->constant_count = i + 1;
    }
    m->known = false;
}

static struct source_buffer *add_buffer(struct source_function *f, const char *letter,
                                        const struct source_buffer *like)
{
    struct source_buffer *buffer = &f->buffers[f->buffer_count];
    *buffer = *like;
    buffer->number = f->buffer_count++;
    snprintf(buffer->name, SOURCE_NAME, "%s%u", letter, buffer->number);
    return buffer;
}

/* What a buffer holds before the launch: mostly what goes wrong most often. */
static void fill(struct making *m, struct source_buffer *buffer)
{
    static const uint32_t words[] = {0,          1,          2,          3,          7,
                                     31,         0x80,       0xFFFFFFFF, 0x80000000, 0x7FFFFFFF,
                                     0x3F800000, 0xBF800000, 0x7FC00000, 0xFF800000, 0x00000001,
                                     0x80000001, 0x4F000000, 0x00800000, 0x7F812345, 0x40490FDB};
    size_t bytes = (size_t)buffer->count * source_element_bytes(buffer->element);
    size_t choices = m->choices_left;
    m->choices_left = 0; /* they are for the source */
    buffer->bytes = source_alloc(m->source, bytes + 4);
    for (size_t i = 0; i < bytes; i += source_element_bytes(buffer->element)) {
        uint32_t word = source_once_in(m, 3) ? source_draw(m, 0) : words[source_draw(m, 20)];
        if (buffer->element == SOURCE_E_BOOL) word = source_draw(m, 3);
        memcpy(buffer->bytes + i, &word, source_element_bytes(buffer->element));
    }
    m->choices_left = choices;
}

static void add_kernel_buffer(struct making *m, struct source_function *f, uint8_t access,
                              uint8_t reach)
{
    struct source_buffer like = {.access = access, .reach = reach};
    uint32_t lanes = lanes_of(m->source);
    uint32_t all = lanes * m->source->grid[0] * m->source->grid[1] * m->source->grid[2];
    like.element = (uint8_t)(1 + source_draw(m, SOURCE_ELEMENTS - 1));
    like.count = all * m->source->own;
    if (reach == SOURCE_ATOMIC || reach == SOURCE_SHARED) like.element = SOURCE_E_U32;
    if (reach == SOURCE_SHARED) like.atomic = (uint8_t)source_draw(m, SOURCE_ATOMIC_EXCHANGE);
    if (reach == SOURCE_SHARED) like.count = 1 + source_draw(m, 5);
    if (reach == SOURCE_ANY) like.count = 1 + source_draw(m, 40);
    if (access == SOURCE_WORKGROUP)
        like.count = like.declared = lanes * m->source->own;
    else if (source_once_in(m, 5))
        like.count = 1 + source_draw(m, like.count);
    /* What is indexed by constants has no declared end that the compiler could know better. */
    if (access != SOURCE_WORKGROUP && reach != SOURCE_SHARED && source_once_in(m, 4))
        like.declared = 1 + source_draw(m, like.count);
    fill(m, add_buffer(f, access == SOURCE_WORKGROUP ? "w" : "b", &like));
    if (access != SOURCE_WORKGROUP) f->params[f->param_count++] = 1;
}

static void add_values(struct making *m, struct source_function *f, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t var = f->var_count++;
        f->types[var] = source_any_type(m);
        snprintf(f->vars[var], SOURCE_NAME, "a%u", var);
        f->scalars[var] = source_once_in(m, 2) ? source_draw(m, 9) : source_draw(m, 0);
        f->params[f->param_count++] = 0;
        f->value_count++;
    }
}

static void make_kernel_head(struct making *m, struct source_function *f)
{
    snprintf(f->name, SOURCE_NAME, "main");
    f->groups = source_once_in(m, 3);
    add_values(m, f, source_draw(m, 3));
    for (uint32_t i = 1 + source_draw(m, 3); i > 0; i--)
        add_kernel_buffer(m, f, SOURCE_IN, SOURCE_ANY);
    add_values(m, f, source_draw(m, 2));
    for (uint32_t i = 1 + source_draw(m, 2); i > 0; i--)
        add_kernel_buffer(m, f, SOURCE_INOUT, SOURCE_OWN);
    if (source_once_in(m, 2)) add_kernel_buffer(m, f, SOURCE_OUT, SOURCE_OWN);
    if (source_once_in(m, 3)) add_kernel_buffer(m, f, SOURCE_INOUT, SOURCE_ATOMIC);
    if (source_once_in(m, 3)) add_kernel_buffer(m, f, SOURCE_INOUT, SOURCE_SHARED);
    for (uint32_t i = source_draw(m, f->groups ? 3 : 2); i > 0; i--)
        add_kernel_buffer(m, f, SOURCE_WORKGROUP, SOURCE_OWN);
    if (!f->groups && source_once_in(m, 4)) f->guard = &f->buffers[source_draw(m, 2)];
}

/* A parameter like one of the kernel's buffers, with no more access than that one has. */
static void add_parameter(struct making *m, struct source_function *f)
{
    const struct source_function *kernel = &m->source->functions[m->source->function_count - 1];
    struct source_buffer like = kernel->buffers[source_draw(m, kernel->buffer_count)];
    like.declared = 0;
    like.bytes = NULL;
    if (like.access == SOURCE_INOUT && like.reach == SOURCE_OWN)
        like.access = (uint8_t)source_draw(m, 3);
    if (like.access == SOURCE_WORKGROUP && kernel->groups && source_once_in(m, 2))
        like.reach = SOURCE_ANY;
    add_buffer(f, "p", &like);
    f->params[f->param_count++] = 1;
}

static void begin(struct making *m, struct source_function *f)
{
    m->function = f;
    m->visible_count = m->scope = m->depth = m->loops = 0;
    for (uint32_t i = 0; i < f->value_count; i++)
        (void)source_show(m, i);
}

static void append(struct source_stmt **list, struct source_stmt *stmt)
{
    while (*list)
        list = &(*list)->next;
    *list = stmt;
}

static void make_function(struct making *m, uint32_t number)
{
    struct source_function *f = &m->source->functions[number];
    snprintf(f->name, SOURCE_NAME, "f%u", number);
    f->type = source_once_in(m, 4) ? SOURCE_VOID : source_any_type(m);
    add_values(m, f, source_draw(m, 3));
    for (uint32_t i = source_draw(m, 4); i > 0; i--)
        add_parameter(m, f);
    begin(m, f);
    m->callees = number;
    m->calls_left = 2;
    f->body = source_statements(m, 1 + source_draw(m, 6) * (1 + source_once_in(m, 6)));
    if (f->type == SOURCE_VOID) return;
    struct source_stmt *last = source_stmt_new(m, SOURCE_S_RETURN);
    last->b = source_bare(m, source_expr(m, f->type, 3));
    append(&f->body, last);
}

static struct source_stmt *make_phase(struct making *m, bool braces, uint32_t count)
{
    struct source_stmt *phase = source_stmt_new(m, SOURCE_S_PHASE);
    const struct source_function *f = m->function;
    for (uint32_t i = 0; i < f->buffer_count; i++)
        m->read_all[i] = f->buffers[i].access == SOURCE_WORKGROUP && source_once_in(m, 2);
    phase->form = braces;
    phase->body = braces ? source_list(m, count, 0) : source_statements(m, count);
    phase->next = source_stmt_new(m, SOURCE_S_BARRIER);
    phase->next->form = source_once_in(m, 4);
    return phase;
}

static struct source_stmt *make_group_list(struct making *m, uint32_t count, bool loop);

static struct source_stmt *uniform_jump(struct making *m)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_IF);
    stmt->a = source_op(m, SOURCE_LT, SOURCE_BOOL, source_uniform(m, 1), source_uniform(m, 1));
    stmt->body = source_stmt_new(m, source_once_in(m, 2) ? SOURCE_S_BREAK : SOURCE_S_CONTINUE);
    return stmt;
}

static struct source_stmt *uniform_loop(struct making *m)
{
    struct source_stmt *loop = source_stmt_new(m, SOURCE_S_FOR);
    uint32_t scope = m->scope, visible = m->visible_count;
    m->scope = visible;
    loop->init = source_declare(m, SOURCE_U32, source_literal(m, SOURCE_U32, source_draw(m, 2)));
    uint32_t var = loop->init->var;
    struct source_visible *shown = source_show(m, var);
    shown->locked = shown->uniform = true;
    struct source_expr *to = source_op(m, SOURCE_MOD, SOURCE_U32, source_uniform(m, 2),
                                       source_literal(m, SOURCE_U32, 4));
    loop->a = source_op(m, SOURCE_LT, SOURCE_BOOL, source_variable(m, var), to);
    loop->step = source_stmt_new(m, SOURCE_S_ASSIGN);
    loop->step->var = var;
    loop->step->type = SOURCE_U32;
    loop->step->op = SOURCE_ADD;
    loop->step->b = source_literal(m, SOURCE_U32, 1 + source_once_in(m, 4));
    loop->body = make_group_list(m, 1 + source_draw(m, 2), true);
    m->scope = scope;
    m->visible_count = visible;
    return loop;
}

static struct source_stmt *uniform_branch(struct making *m, bool loop)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_IF);
    stmt->a = source_op(m, (uint8_t)(SOURCE_EQ + source_draw(m, 4)), SOURCE_BOOL,
                        source_uniform(m, 2), source_uniform(m, 1));
    stmt->body = make_group_list(m, 1, loop);
    if (source_once_in(m, 2)) stmt->otherwise = make_group_list(m, 1, loop);
    return stmt;
}

/* Behind every phase stands a barrier, so jumps may stand between any two. */
static struct source_stmt *make_group_list(struct making *m, uint32_t count, bool loop)
{
    struct source_stmt *list = NULL;
    uint32_t scope = m->scope, visible = m->visible_count;
    m->scope = visible;
    m->depth++;
    for (uint32_t i = 0; i < count; i++) {
        bool deep = m->depth > 2 || m->function->var_count + 16 > SOURCE_MOST_VARS;
        uint32_t which = source_draw(m, 6);
        append(&list, which == 0 && !deep   ? uniform_loop(m)
                      : which == 1 && !deep ? uniform_branch(m, loop)
                                            : make_phase(m, true, 2 + source_draw(m, 3)));
        if (loop && source_once_in(m, 3)) append(&list, uniform_jump(m));
    }
    m->depth--;
    m->scope = scope;
    m->visible_count = visible;
    return list;
}

static void make_kernel(struct making *m)
{
    struct source_function *f = &m->source->functions[m->source->function_count - 1];
    begin(m, f);
    m->callees = m->source->function_count - 1;
    m->calls_left = 5;
    if (!f->groups) {
        f->body = source_statements(m, (3 + source_draw(m, 10)) * (source_once_in(m, 6) ? 3 : 1));
        return;
    }
    f->body = make_phase(m, false, 1 + source_draw(m, 4));
    append(&f->body, make_group_list(m, 1 + source_draw(m, 3), false));
    append(&f->body, make_phase(m, false, 2 + source_draw(m, 3)));
}

void source_make(const struct source_options *options, struct source *source)
{
    struct making m = {.source = source,
                       .state = options->seed,
                       .choices = options->choices,
                       .choices_left = options->choices ? options->choice_count : 0};
    memset(source, 0, sizeof *source);
    m.function = &source->functions[0];
    make_shape(&m);
    make_constants(&m);
    m.faults = source_once_in(&m, 8);
    source->function_count = 1 + source_draw(&m, SOURCE_MOST_FUNCTIONS);
    make_kernel_head(&m, &source->functions[source->function_count - 1]);
    for (uint32_t i = 0; i + 1 < source->function_count; i++)
        make_function(&m, i);
    make_kernel(&m);
}
