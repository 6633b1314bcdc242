/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loops of random sources. Each ends: its counter goes one way up to a bound that stays small, or
 * it has fuel of which every round takes some before anything else can happen.
 */
#include "oracle/source_inside.h"

static struct source_stmt *count_by(struct making *m, uint32_t var, uint8_t op, uint32_t by)
{
    struct source_stmt *stmt = source_stmt_new(m, SOURCE_S_ASSIGN);
    stmt->var = var;
    stmt->type = m->function->types[var];
    stmt->op = op;
    stmt->b = source_literal(m, stmt->type, by);
    if (by == 1 && (op == SOURCE_ADD || op == SOURCE_SUB) && !source_once_in(m, 3))
        stmt->form = (uint8_t)(1 + source_draw(m, 2));
    else if (op != SOURCE_SHR)
        (void)source_bare(m, stmt->b);
    return stmt;
}

/* The body, with the rest of the step, in the scope of the counter. */
static void loop_body(struct making *m, struct source_stmt *loop, struct source_stmt *first)
{
    m->loops++;
    loop->body = source_list(m, 1 + source_draw(m, 4), 12);
    m->loops--;
    if (!first) return;
    first->next = loop->body;
    loop->body = first;
}

/* A second assignment behind the step. */
static void step_more(struct making *m, struct source_stmt *loop)
{
    const struct source_visible *other = source_pick(m, SOURCE_U32, true);
    if (other && source_once_in(m, 5)) loop->step->next = count_by(m, other->var, SOURCE_ADD, 3);
}

static struct source_expr *bound(struct making *m, uint8_t type)
{
    m->bound = true;
    struct source_expr *small = source_small(m, 5, source_once_in(m, 2) ? 2 : 0);
    m->bound = false;
    if (type == SOURCE_U32) return source_bare(m, small);
    if (small->kind == SOURCE_X_LITERAL)
        return source_bare(m, source_literal(m, type, small->value - source_draw(m, 2)));
    struct source_expr *cast = source_expr_new(m, SOURCE_X_CAST, SOURCE_I32);
    cast->arg[0] = small;
    return cast;
}

/* From a small number up, by one or two; the body may count, too. */
static struct source_stmt *up(struct making *m)
{
    struct source_stmt *loop = source_stmt_new(m, SOURCE_S_FOR), *more = NULL;
    uint8_t type = source_once_in(m, 3) ? SOURCE_I32 : SOURCE_U32;
    uint32_t start = source_draw(m, 3) - (type == SOURCE_I32 ? source_draw(m, 3) : 0);
    struct source_expr *from = type == SOURCE_U32 && source_once_in(m, 3)
                                   ? source_small(m, 3, 2)
                                   : source_literal(m, type, start);
    loop->init = source_declare(m, type, source_once_in(m, 8) ? NULL : from);
    uint32_t var = loop->init->var;
    source_show(m, var)->locked = true;
    bool turned = source_once_in(m, 5);
    struct source_expr *counter = source_variable(m, var), *to = bound(m, type);
    loop->a = turned ? source_op(m, SOURCE_GT, SOURCE_BOOL, to, counter)
                     : source_op(m, source_once_in(m, 4) ? SOURCE_LE : SOURCE_LT, SOURCE_BOOL,
                                 counter, to);
    if (source_once_in(m, 6)) {
        more = source_stmt_new(m, SOURCE_S_IF);
        more->a = source_condition(m, 2);
        more->body = count_by(m, var, SOURCE_ADD, 1);
    }
    loop->step = count_by(m, var, SOURCE_ADD, source_once_in(m, 6) ? 2 : 1);
    step_more(m, loop);
    loop_body(m, loop, more);
    return loop;
}

/* Now and then a variable that was there before counts. */
static struct source_visible *counter_of(struct making *m)
{
    const struct source_visible *visible =
        source_once_in(m, 3) ? source_pick(m, SOURCE_U32, true) : NULL;
    return visible ? &m->visible[visible - m->visible] : NULL;
}

/* From a small number down to zero. */
static struct source_stmt *down(struct making *m)
{
    struct source_stmt *loop = source_stmt_new(m, SOURCE_S_FOR);
    struct source_visible *counter = counter_of(m);
    if (counter) {
        loop->init = source_stmt_new(m, SOURCE_S_ASSIGN);
        loop->init->var = counter->var;
        loop->init->type = SOURCE_U32;
        loop->init->op = SOURCE_SET;
        loop->init->b = source_small(m, 6, 2);
    } else {
        loop->init = source_declare(m, SOURCE_U32, source_small(m, 6, 2));
        counter = source_show(m, loop->init->var);
    }
    uint32_t var = counter->var;
    counter->locked = true;
    struct source_expr *zero = source_bare(m, source_literal(m, SOURCE_U32, 0));
    loop->a = source_variable(m, var);
    if (!source_once_in(m, 3))
        loop->a =
            source_op(m, source_once_in(m, 2) ? SOURCE_NE : SOURCE_GT, SOURCE_BOOL, loop->a, zero);
    loop->step = source_once_in(m, 3)   ? count_by(m, var, SOURCE_SHR, 1)
                 : source_once_in(m, 3) ? count_by(m, var, SOURCE_DIV, 2)
                                        : count_by(m, var, SOURCE_SUB, 1);
    step_more(m, loop);
    loop_body(m, loop, NULL);
    counter->locked = false;
    return loop;
}

static struct source_expr *fuel_left(struct making *m, uint32_t fuel)
{
    struct source_expr *left = source_variable(m, fuel);
    if (source_once_in(m, 4)) return left;
    return source_op(m, source_once_in(m, 2) ? SOURCE_NE : SOURCE_GT, SOURCE_BOOL, left,
                     source_bare(m, source_literal(m, SOURCE_U32, 0)));
}

static struct source_expr *while_fuel(struct making *m, uint32_t fuel)
{
    struct source_expr *left = fuel_left(m, fuel);
    if (source_once_in(m, 4)) return left;
    if (source_once_in(m, 2))
        return source_op(m, SOURCE_BOTH, SOURCE_BOOL, left, source_condition(m, 3));
    return source_op(m, SOURCE_BOTH, SOURCE_BOOL, source_condition(m, 3), left);
}

/* for (;;), or a for whose condition is always true. */
static struct source_stmt *forever(struct making *m, uint32_t fuel)
{
    struct source_stmt *loop =
        source_stmt_new(m, source_once_in(m, 2) ? SOURCE_S_WHILE : SOURCE_S_FOR);
    struct source_stmt *leave = source_stmt_new(m, SOURCE_S_IF);
    leave->a = source_op(m, SOURCE_EQ, SOURCE_BOOL, source_variable(m, fuel),
                         source_bare(m, source_literal(m, SOURCE_U32, 0)));
    leave->body = source_stmt_new(m, SOURCE_S_BREAK);
    leave->next = count_by(m, fuel, SOURCE_SUB, 1);
    if (loop->kind == SOURCE_S_WHILE || source_once_in(m, 3))
        loop->a = source_literal(m, SOURCE_BOOL, 1);
    loop_body(m, loop, NULL);
    leave->next->next = loop->body;
    loop->body = leave;
    return loop;
}

/* A loop with its fuel before it, in one block. */
static struct source_stmt *fuelled(struct making *m, uint32_t which)
{
    struct source_stmt *block = source_stmt_new(m, SOURCE_S_BLOCK), *loop;
    uint32_t scope = m->scope, visible = m->visible_count;
    m->scope = visible;
    m->depth++;
    block->body =
        source_declare(m, SOURCE_U32, source_literal(m, SOURCE_U32, 1 + source_draw(m, 5)));
    uint32_t fuel = block->body->var;
    source_show(m, fuel)->locked = true;
    if (which == 0) {
        loop = forever(m, fuel);
    } else {
        loop = source_stmt_new(m, which == 1 ? SOURCE_S_DO : SOURCE_S_WHILE);
        loop->a = while_fuel(m, fuel);
        loop_body(m, loop, count_by(m, fuel, SOURCE_SUB, 1));
    }
    block->body->next = loop;
    loop->next = source_statements(m, source_draw(m, 2));
    m->depth--;
    m->scope = scope;
    m->visible_count = visible;
    return block;
}

struct source_stmt *source_loop(struct making *m)
{
    uint32_t scope = m->scope, visible = m->visible_count, which = source_draw(m, 8);
    if (which >= 5) return fuelled(m, which - 5);
    m->scope = visible;
    struct source_stmt *loop = which < 4 ? up(m) : down(m);
    m->scope = scope;
    m->visible_count = visible;
    return loop;
}
