/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Makes a source that differs smaller: statements are dropped and expressions replaced, one at a
 * time, and a change stays where what is left still differs in the same way. What no longer
 * compiles does so in another way, so nothing here has to know about names and types.
 */
#include "oracle/source.h"

#include <stdio.h>
#include <string.h>

struct shrink {
    struct source *source;
    struct source_checker *checker;
    char kind[32]; /* how the words about the difference begin, with the code of a diagnostic */
    uint32_t changes;
};

static bool still(struct shrink *shrink)
{
    char why[256] = "";
    if (source_check(shrink->source, shrink->checker, why, sizeof why) != SOURCE_DIFFER)
        return false;
    bool compiles = strncmp(why, "it does not", 11) != 0;
    bool wanted = strncmp(shrink->kind, "it does not", 11) != 0;
    if (compiles != wanted || (!compiles && strncmp(why, shrink->kind, 25) != 0)) return false;
    shrink->changes++;
    return true;
}

static void shrink_expr(struct shrink *shrink, struct source_expr **at)
{
    struct source_expr *expr = *at;
    if (!expr || (expr->kind == SOURCE_X_LITERAL && expr->value == 1)) return;
    for (uint32_t i = 0; i < 3; i++) {
        if (!expr->arg[i] || expr->arg[i]->type != expr->type) continue;
        *at = expr->arg[i];
        if (still(shrink)) {
            shrink_expr(shrink, at);
            return;
        }
    }
    if (expr->type != SOURCE_VOID && expr->type != SOURCE_F32) {
        struct source_expr one = {.kind = SOURCE_X_LITERAL, .type = expr->type, .value = 1};
        struct source_expr *literal = source_alloc(shrink->source, sizeof one);
        *literal = one;
        *at = literal;
        if (still(shrink)) return;
    }
    *at = expr;
    for (uint32_t i = 0; i < SOURCE_MOST_PARAMS; i++)
        shrink_expr(shrink, &expr->arg[i]);
}

static void shrink_list(struct shrink *shrink, struct source_stmt **list)
{
    for (struct source_stmt **at = list; *at; at = &(*at)->next) {
        struct source_stmt *stmt = *at;
        if (stmt->dropped) continue;
        stmt->dropped = true;
        if (still(shrink)) continue;
        stmt->dropped = false;
        /* What is in it, in its place. */
        if (stmt->body && stmt->kind != SOURCE_S_PHASE) {
            struct source_stmt *last = stmt->body, *behind = stmt->next;
            while (last->next)
                last = last->next;
            *at = stmt->body;
            last->next = behind;
            if (still(shrink)) {
                stmt = *at;
            } else {
                last->next = NULL;
                *at = stmt;
            }
        }
        shrink_list(shrink, &stmt->body);
        shrink_list(shrink, &stmt->otherwise);
        shrink_list(shrink, &stmt->step);
    }
}

static void shrink_exprs(struct shrink *shrink, struct source_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->dropped) continue;
        shrink_expr(shrink, &stmt->a);
        if (!stmt->form) shrink_expr(shrink, &stmt->b);
        shrink_exprs(shrink, stmt->init);
        shrink_exprs(shrink, stmt->body);
        shrink_exprs(shrink, stmt->otherwise);
    }
}

uint32_t source_shrink(struct source *source, struct source_checker *checker)
{
    struct shrink shrink = {.source = source, .checker = checker};
    char why[256] = "";
    if (source_check(source, checker, why, sizeof why) != SOURCE_DIFFER) return 0;
    snprintf(shrink.kind, sizeof shrink.kind, "%.25s", why);
    for (uint32_t before = UINT32_MAX, rounds = 0; shrink.changes != before && rounds < 6;
         rounds++) {
        before = shrink.changes;
        for (uint32_t i = source->function_count; i-- > 0;)
            shrink_list(&shrink, &source->functions[i].body);
        for (uint32_t i = source->function_count; i-- > 0;)
            shrink_exprs(&shrink, source->functions[i].body);
    }
    return shrink.changes;
}
