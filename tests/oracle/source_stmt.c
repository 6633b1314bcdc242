/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements of random sources, with jumps wherever the language lets them stand.
 */
#include "oracle/source_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH 4u

struct source_stmt *source_stmt_new(struct making *m, uint8_t kind)
{
    struct source_stmt *stmt = source_alloc(m->source, sizeof *stmt);
    stmt->kind = kind;
    stmt->braces = source_once_in(m, 2);
    return stmt;
}

/* A name of an outer scope that the innermost one does not have yet. */
static const char *name_to_hide(struct making *m)
{
    if (m->source->hides && source_once_in(m, 3)) {
        for (uint32_t i = m->scope; i < m->visible_count; i++)
            if (strcmp(m->function->vars[m->visible[i].var], "i") == 0) return NULL;
        return "i";
    }
    if (m->scope == 0) return NULL;
    const char *name = m->function->vars[m->visible[source_draw(m, m->scope)].var];
    for (uint32_t i = m->scope; i < m->visible_count; i++)
        if (strcmp(m->function->vars[m->visible[i].var], name) == 0) return NULL;
    return name;
}

uint32_t source_var(struct making *m, uint8_t type, bool may_hide)
{
    struct source_function *f = m->function;
    if (f->var_count == SOURCE_MOST_VARS) abort();
    uint32_t var = f->var_count++;
    const char *name = may_hide && source_once_in(m, 5) ? name_to_hide(m) : NULL;
    f->types[var] = type;
    if (name)
        snprintf(f->vars[var], SOURCE_NAME, "%s", name);
    else
        snprintf(f->vars[var], SOURCE_NAME, "v%u", var);
    return var;
}

struct source_visible *source_show(struct making *m, uint32_t var)
{
    struct source_visible *visible = &m->visible[m->visible_count++];
    *visible = (struct source_visible){.var = var};
    return visible;
}

/* A name that hides another must not stand in the value that it begins with. */
struct source_stmt *source_declare(struct making *m, uint8_t type, struct source_expr *value)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_DECLARE);
    stmt->b = value ? source_bare(m, value) : NULL;
    stmt->var = source_var(m, type, !value || value->kind == SOURCE_X_LITERAL);
    return stmt;
}

static struct source_stmt *declare(struct making *m)
{
    uint8_t type = source_any_type(m);
    struct source_stmt *stmt =
        source_declare(m, type, source_once_in(m, 8) ? NULL : source_expr(m, type, 3));
    stmt->form = stmt->b && source_once_in(m, 5);
    struct source_visible *visible = source_show(m, stmt->var);
    visible->constant = stmt->form;
    return stmt;
}

/* An operator that may stand before `=` in an assignment to this type. */
static uint8_t assign_op(struct making *m, uint8_t type)
{
    if (source_once_in(m, 3)) return SOURCE_SET;
    if (type == SOURCE_BOOL) return (uint8_t)(SOURCE_AND + source_draw(m, 3));
    if (type == SOURCE_F32) return (uint8_t)(SOURCE_ADD + source_draw(m, 4));
    return (uint8_t)(SOURCE_ADD + source_draw(m, 10));
}

/* What is assigned, and how. */
static void assign_value(struct making *m, struct source_stmt *stmt, uint8_t type)
{
    stmt->type = type;
    stmt->op = assign_op(m, type);
    bool shift = stmt->op == SOURCE_SHL || stmt->op == SOURCE_SHR;
    if ((stmt->op == SOURCE_ADD || stmt->op == SOURCE_SUB) && source_once_in(m, 3)) {
        stmt->form = (uint8_t)(1 + source_draw(m, 2));
        stmt->b = source_literal(m, type, type == SOURCE_F32 ? 0x3F800000u : 1u);
        return;
    }
    stmt->b = source_value_of(m, stmt->op, type, 3);
    if (!shift) (void)source_bare(m, stmt->b);
}

static struct source_stmt *assign(struct making *m)
{
    uint8_t type = source_any_type(m);
    const struct source_visible *target = source_pick(m, type, true);
    if (!target) return NULL;
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_ASSIGN);
    stmt->var = target->var;
    assign_value(m, stmt, type);
    return stmt;
}

static struct source_stmt *store(struct making *m)
{
    uint8_t type = source_any_type(m);
    struct source_buffer *buffer = source_buffer_to(m, type, false, true);
    if (!buffer) return NULL;
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_STORE);
    stmt->buffer = buffer;
    stmt->a = source_index(m, buffer, 2);
    assign_value(m, stmt, type);
    if (buffer->access != SOURCE_OUT || stmt->op == SOURCE_SET) return stmt;
    stmt->op = SOURCE_SET;
    stmt->form = 0;
    stmt->b = source_bare(m, source_expr(m, type, 3));
    return stmt;
}

static struct source_stmt *jump(struct making *m)
{
    uint32_t which = source_draw(m, m->loops ? 6 : 1);
    if (which != 0) return source_stmt_new(m, which <= 2 ? SOURCE_S_BREAK : SOURCE_S_CONTINUE);
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_RETURN);
    if (m->function->type != SOURCE_VOID)
        stmt->b = source_bare(m, source_expr(m, m->function->type, 2));
    return stmt;
}

static void append(struct source_stmt **list, struct source_stmt *stmt)
{
    while (*list)
        list = &(*list)->next;
    *list = stmt;
}

static struct source_stmt *branch(struct making *m)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_IF);
    uint32_t often = m->loops ? 3 : 8;
    stmt->a = source_condition(m, 3);
    stmt->body = source_list(m, 1 + source_draw(m, 3), often);
    if (source_once_in(m, 2)) stmt->otherwise = source_list(m, 1 + source_draw(m, 2), often);
    return stmt;
}

/* Nothing but a jump, or a jump and nothing but it in the other branch. */
static struct source_stmt *jump_if(struct making *m)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_IF);
    stmt->a = source_condition(m, 2);
    stmt->body = source_list(m, source_once_in(m, 3), 1);
    if (source_once_in(m, 5)) stmt->otherwise = source_list(m, source_draw(m, 2), 2);
    return stmt;
}

static struct source_stmt *call(struct making *m)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_CALL);
    uint32_t which = source_draw(m, 8);
    if (which < 3) {
        stmt->b = source_call_expr(m, which < 2 ? SOURCE_VOID : source_any_type(m), 2);
    } else if (which < 6) {
        stmt->b = source_atomic_expr(m, source_once_in(m, 3) ? SOURCE_ATOMIC : SOURCE_SHARED, 2);
    } else if (which == 6) {
        stmt->form = 1;
        stmt->a = source_expr(m, source_any_type(m), 2);
        stmt->b = source_expr(m, source_any_type(m), 1);
    } else {
        stmt->form = 2;
        stmt->a = source_condition(m, 1);
        if (!m->faults || !source_once_in(m, 3))
            stmt->a =
                source_op(m, SOURCE_EITHER, SOURCE_BOOL,
                          source_op(m, SOURCE_LE, SOURCE_BOOL, source_literal(m, SOURCE_U32, 0),
                                    source_expr(m, SOURCE_U32, 2)),
                          stmt->a);
    }
    return stmt->form || stmt->b ? stmt : NULL;
}

static struct source_stmt *one(struct making *m)
{
    bool room = m->function->var_count + 8 < SOURCE_MOST_VARS, deep = m->depth >= MOST_DEPTH;
    struct source_stmt *stmt;
    switch (source_draw(m, 20)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return room ? declare(m) : assign(m);
    case 4:
    case 5:
    case 6:
        return assign(m);
    case 7:
    case 8:
    case 9:
    case 10:
        return store(m);
    case 11:
    case 12:
        return deep ? store(m) : branch(m);
    case 13:
    case 14:
        return deep || !room || m->loops >= 2 ? assign(m) : source_loop(m);
    case 15:
    case 16:
        return m->loops || source_once_in(m, 3) ? jump_if(m) : store(m);
    case 17:
        if (!source_once_in(m, 3) || deep) return assign(m);
        stmt = source_stmt_new(m, SOURCE_S_BLOCK);
        stmt->body = source_list(m, 2, m->loops ? 4 : 0);
        return stmt;
    case 18:
        return source_once_in(m, 6) ? source_stmt_new(m, SOURCE_S_EMPTY) : store(m);
    default:
        return call(m);
    }
}

struct source_stmt *source_statements(struct making *m, uint32_t count)
{
    struct source_stmt *list = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct source_stmt *stmt = one(m);
        if (stmt) append(&list, stmt);
    }
    return list;
}

struct source_stmt *source_list(struct making *m, uint32_t count, uint32_t jumps)
{
    uint32_t scope = m->scope, visible = m->visible_count;
    m->scope = visible;
    m->depth++;
    struct source_stmt *list = source_statements(m, count);
    if (jumps && source_once_in(m, jumps)) append(&list, jump(m));
    m->depth--;
    m->scope = scope;
    m->visible_count = visible;
    return list;
}
