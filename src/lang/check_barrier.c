/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Warns of workgroup memory that is written at one index and then read at another without a barrier
 * between: the other element may be one that another lane writes. The same index is taken for the
 * same element of the same lane, and so are the elements that a lane has for itself, such as
 * tile[local_index * 8 + k]. What is found is nearly always a mistake; what is not found may still
 * be one.
 *
 * A walk goes through a list of statements in their order with the writes that no barrier has
 * ended. Branches start from the same writes and leave the union of theirs. A loop is walked twice,
 * the second time with the writes of the first: that is the way back from its end to its beginning.
 * Then the loops in it are walked once, for their own ways back have been seen.
 */
#include <string.h>

#include "lang/ast.h"

enum {
    MOST_WRITES = 32, /* that are followed at a time; more are forgotten */
    MOST_TERMS = 8    /* of an index */
};

struct write {
    const struct lang_symbol *symbol;
    const struct lang_expr *index;
};

struct walk {
    struct lang_unit *unit;
    struct write writes[MOST_WRITES];
    uint32_t count;
    bool again; /* the second time through a loop */
};

/* An index as a sum. */
struct sum {
    const struct lang_expr *term[MOST_TERMS];
    uint32_t count;
};

static void walk_list(struct walk *walk, const struct lang_stmt *first);

/* Whether two spans have the same tokens: blanks and comments do not count. */
static bool same_text(const struct lang_unit *unit, struct lang_span a, struct lang_span b)
{
    struct lang_lexer one = {.text = unit->request->text, .length = a.at + a.length, .at = a.at};
    struct lang_lexer two = {.text = unit->request->text, .length = b.at + b.length, .at = b.at};
    for (;;) {
        struct lang_token x = vyre_lang_next(&one), y = vyre_lang_next(&two);
        if (x.kind != y.kind || x.length != y.length ||
            memcmp(one.text + x.at, two.text + y.at, x.length) != 0)
            return false;
        if (x.kind == LANG_END) return true;
    }
}

static bool same_index(const struct lang_unit *unit, const struct lang_expr *a,
                       const struct lang_expr *b)
{
    if (a->known && b->known) return a->value == b->value;
    return same_text(unit, a->span, b->span);
}

static void add_terms(struct sum *sum, const struct lang_expr *expr)
{
    if (expr->kind == LANG_E_BINARY && expr->op == LANG_PLUS && !expr->known) {
        add_terms(sum, expr->arg[0]);
        add_terms(sum, expr->arg[1]);
    } else if (sum->count < MOST_TERMS) {
        sum->term[sum->count++] = expr;
    }
}

/* Whether it is made of an id that lanes of a workgroup have each for itself. */
static bool has_lane(const struct lang_expr *expr)
{
    if (expr->kind == LANG_E_FIELD) return expr->op >> 2 < 2 || expr->op == 15;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i] && has_lane(expr->arg[i])) return true;
    return false;
}

/* Whether both are elements that a lane has for itself: they have one term in common, and what is
 * added to it where it is written either varies and is the same in all lanes, or the term is a
 * multiple of the lane. */
static bool is_own(const struct lang_unit *unit, const struct lang_expr *write,
                   const struct lang_expr *read)
{
    struct sum w = {.count = 0}, r = {.count = 0};
    add_terms(&w, write);
    add_terms(&r, read);
    for (uint32_t i = 0; i < w.count; i++) {
        const struct lang_expr *term = w.term[i];
        bool shared = false, lanes = false, varies = false;
        for (uint32_t k = 0; k < r.count; k++)
            shared = shared || (!term->known && same_text(unit, term->span, r.term[k]->span));
        for (uint32_t k = 0; k < w.count; k++) {
            lanes = lanes || (k != i && has_lane(w.term[k]));
            varies = varies || (k != i && !w.term[k]->known);
        }
        bool multiple = term->kind == LANG_E_BINARY && has_lane(term) &&
                        (term->op == LANG_STAR || term->op == LANG_SHL);
        if (shared && !lanes && (multiple || varies)) return true;
    }
    return false;
}

static void note_write(struct walk *walk, const struct lang_expr *element)
{
    if (walk->count == MOST_WRITES || !element->symbol ||
        element->symbol->access != LANG_ACCESS_WORKGROUP)
        return;
    for (uint32_t i = 0; i < walk->count; i++)
        if (walk->writes[i].symbol == element->symbol &&
            same_index(walk->unit, walk->writes[i].index, element->arg[1]))
            return;
    walk->writes[walk->count++] = (struct write){element->symbol, element->arg[1]};
}

static void check_read(struct walk *walk, const struct lang_expr *element)
{
    struct lang_symbol *symbol = element->symbol;
    struct lang_unit *unit = walk->unit;
    const struct write *found = NULL;
    if (!symbol || symbol->access != LANG_ACCESS_WORKGROUP || symbol->told) return;
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct write *write = &walk->writes[i];
        if (write->symbol != symbol) continue;
        /* The lane has written it itself. */
        if (same_index(unit, write->index, element->arg[1])) return;
        if (!found && !is_own(unit, write->index, element->arg[1])) found = write;
    }
    if (!found) return;
    symbol->told = true;
    vyre_lang_say(unit, LANG_D_NO_BARRIER, element->span,
                  vyre_lang_text(unit,
                                 "no barrier since `%s` was written at another index in line %u: "
                                 "this element may not be there yet",
                                 symbol->name->text,
                                 (unsigned)vyre_lang_line(unit, found->index->span.at)),
                  "put `barrier();` between the write and this read");
}

static bool is_barrier(const struct lang_expr *expr)
{
    return expr->kind == LANG_E_CALL && expr->builtin &&
           expr->builtin->lowering == LANG_LOWER_BARRIER;
}

/* Reads in the order in which they are evaluated. A function of the source may hold a barrier. */
static void walk_expr(struct walk *walk, const struct lang_expr *expr)
{
    if (!expr) return;
    if (expr->kind == LANG_E_INDEX) {
        walk_expr(walk, expr->arg[1]);
        check_read(walk, expr);
        return;
    }
    if (expr->kind == LANG_E_FIELD || expr->kind == LANG_E_OLD) return;
    for (uint32_t i = 0; i < 3; i++)
        walk_expr(walk, expr->arg[i]);
    for (const struct lang_expr *a = expr->args; a; a = a->next)
        if (a->kind != LANG_E_NAME) walk_expr(walk, a);
    bool own = expr->kind == LANG_E_CALL && expr->symbol && !expr->builtin;
    if (is_barrier(expr) || own) walk->count = 0;
}

/* What is left of either way. */
static void join(struct walk *walk, const struct walk *other)
{
    for (uint32_t i = 0; i < other->count && walk->count < MOST_WRITES; i++) {
        bool there = false;
        for (uint32_t k = 0; k < walk->count; k++)
            there = there || walk->writes[k].index == other->writes[i].index;
        if (!there) walk->writes[walk->count++] = other->writes[i];
    }
}

static void walk_if(struct walk *walk, const struct lang_stmt *stmt)
{
    walk_expr(walk, stmt->value);
    struct walk no = *walk;
    walk_list(walk, stmt->body);
    walk_list(&no, stmt->otherwise);
    /* A way that jumps away does not come to what follows. */
    if (stmt->body && stmt->body->ends) walk->count = 0;
    if (stmt->otherwise && stmt->otherwise->ends) no.count = 0;
    join(walk, &no);
}

static void walk_loop(struct walk *walk, const struct lang_stmt *stmt)
{
    bool before = stmt->kind == LANG_S_FOR, again = walk->again;
    struct walk not_at_all = *walk;
    walk_list(walk, stmt->init);
    for (uint32_t round = again ? 1 : 0; round < 2; round++) {
        walk->again = round > 0;
        if (before) walk_expr(walk, stmt->value);
        walk_list(walk, stmt->body);
        walk_list(walk, stmt->step);
        if (!before) walk_expr(walk, stmt->value);
    }
    walk->again = again;
    if (before) join(walk, &not_at_all);
}

static void walk_assign(struct walk *walk, const struct lang_stmt *stmt)
{
    const struct lang_expr *target = stmt->target;
    if (target->kind == LANG_E_INDEX) walk_expr(walk, target->arg[1]);
    if (target->kind == LANG_E_INDEX && stmt->op != LANG_SET) check_read(walk, target);
    walk_expr(walk, stmt->value);
    if (target->kind == LANG_E_INDEX) note_write(walk, target);
}

static void walk_list(struct walk *walk, const struct lang_stmt *first)
{
    for (const struct lang_stmt *stmt = first; stmt; stmt = stmt->next) {
        switch (stmt->kind) {
        case LANG_S_ASSIGN:
            walk_assign(walk, stmt);
            break;
        case LANG_S_BLOCK:
            walk_list(walk, stmt->body);
            break;
        case LANG_S_IF:
            walk_if(walk, stmt);
            break;
        case LANG_S_FOR:
        case LANG_S_DO:
            walk_loop(walk, stmt);
            break;
        default:
            walk_expr(walk, stmt->value);
            break;
        }
    }
}

void vyre_lang_check_barriers(struct lang_unit *unit, struct lang_function *function)
{
    struct walk walk = {.unit = unit};
    if (function->arrays) walk_list(&walk, function->body);
}
