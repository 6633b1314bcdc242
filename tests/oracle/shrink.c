/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Makes a program on which a machine differs smaller. A change is kept where the program is still
 * valid, the oracle still comes to its end without an error and gives the same in every order of
 * the invocations (a race would differ for another reason), and the machine still differs.
 */
#include "oracle/differential.h"

#include <stdlib.h>
#include <string.h>

struct shrink {
    struct generated *test;
    run_fn machine;
    void *ctx;
    uint32_t changes;
    int failing; /* whether the oracle ended in an error at the beginning */
};

static int agrees(const struct shrink *s, enum oracle_schedule schedule)
{
    char why[256];
    return differential_compare(s->test, differential_oracle, &schedule, why, sizeof why) == 0;
}

static int oracle_fails(const struct shrink *s)
{
    struct differential_result result = {0};
    struct generated *test = s->test;
    struct differential_case run = {
        .program = test->program, .grid = test->grid, .bytes = test->bytes};
    run.buffers = calloc(test->buffer_count + 1, sizeof *run.buffers);
    if (run.buffers == NULL) abort();
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        if (test->buffers[i] == NULL) continue;
        run.buffers[i] = malloc(test->bytes[i] + 1);
        if (run.buffers[i] == NULL) abort();
        memcpy(run.buffers[i], test->buffers[i], test->bytes[i]);
    }
    (void)differential_oracle(NULL, &run, &result);
    for (uint32_t i = 0; i < test->buffer_count; i++)
        free(run.buffers[i]);
    free(run.buffers);
    return result.error != 0;
}

static int still_differs(struct shrink *s)
{
    char why[256];
    if (differential_compare(s->test, s->machine, s->ctx, why, sizeof why) != 1) return 0;
    return oracle_fails(s) == s->failing && agrees(s, ORACLE_BACKWARDS);
}

static int keep_if_differs(struct shrink *s)
{
    if (!still_differs(s)) return 0;
    s->changes++;
    return 1;
}

static int shrink_list(struct shrink *s, struct ir_list *list);

/* Takes the statement behind `before` (NULL: the first) out of its list. */
static int drop(struct shrink *s, struct ir_list *list, struct ir_node *before)
{
    struct ir_list kept = *list;
    struct ir_node *node = before ? before->next : list->first;
    if (before)
        before->next = node->next;
    else
        list->first = node->next;
    if (list->last == node) list->last = before;
    list->count--;
    if (keep_if_differs(s)) return 1;
    *list = kept;
    if (before) before->next = node;
    return 0;
}

/* An expression by one of its operands. */
static int simplify(struct shrink *s, struct ir_expr *expr)
{
    int changed = 0;
    for (int i = 0; i < 3; i++) {
        struct ir_expr kept = *expr;
        if (expr->arg[i] == NULL) continue;
        *expr = *expr->arg[i];
        expr->id = kept.id;
        if (keep_if_differs(s)) return 1;
        *expr = kept;
    }
    for (int i = 0; i < 3; i++)
        if (expr->arg[i]) changed |= simplify(s, expr->arg[i]);
    return changed;
}

static int shrink_node(struct shrink *s, struct ir_node *node)
{
    int changed = shrink_list(s, &node->body) | shrink_list(s, &node->otherwise);
    if (node->a) changed |= simplify(s, node->a);
    if (node->b) changed |= simplify(s, node->b);
    return changed;
}

static int shrink_list(struct shrink *s, struct ir_list *list)
{
    int changed = 0;
    struct ir_node *before = NULL, *node = list->first;
    while (node) {
        struct ir_node *next = node->next;
        if (drop(s, list, before)) {
            changed = 1;
        } else {
            changed |= shrink_node(s, node);
            before = node;
        }
        node = next;
    }
    return changed;
}

uint32_t differential_shrink(struct generated *test, run_fn machine, void *ctx)
{
    struct shrink s = {.test = test, .machine = machine, .ctx = ctx};
    s.failing = oracle_fails(&s);
    if (!still_differs(&s)) return 0;
    while (shrink_list(&s, &test->program->entry))
        continue;
    return s.changes;
}
