/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Why a barrier may not be reached by all lanes: VIR0's validator says that it is so, this finds
 * the condition or bound around the barrier that is at fault, and says it in the words of the
 * source.
 */
#include "lang/ast.h"

#define DEEPEST 72u /* statements in one another, which the validator bounds */

struct way {
    const struct ir_program *tree;
    const struct ir_node *around[DEEPEST]; /* the ifs and loops, outermost first */
    uint32_t count;
};

static bool find(struct way *way, const struct ir_list *list, uint32_t id)
{
    for (const struct ir_node *node = list->first; node; node = node->next) {
        bool turn = node->kind == IR_NODE_IF || node->kind == IR_NODE_LOOP;
        if (node->id == id) return true;
        if (turn && way->count < DEEPEST) way->around[way->count++] = node;
        if (find(way, &node->body, id) || find(way, &node->otherwise, id)) return true;
        if (turn) way->count--;
    }
    return false;
}

enum blame { NOBODY, VARIABLE, SCALAR, LANE };

/* Scalar parameters are read into variables where the kernel begins. */
static enum blame variable(const struct way *way, uint32_t name)
{
    const struct ir_node *root = way->tree->entry.first;
    for (const struct ir_node *node = root ? root->body.first : NULL;
         node && node->kind == IR_NODE_LET; node = node->next) {
        const struct ir_expr *value = node->a;
        if (node->name != name) continue;
        while (value->kind == IR_EXPR_CAST)
            value = value->arg[0];
        const struct ir_buffer *buffer =
            value->kind == IR_EXPR_LOAD ? vyre_ir_find_buffer(way->tree, value->name) : NULL;
        return buffer && buffer->kind == IR_KIND_PUSH ? SCALAR : VARIABLE;
    }
    return VARIABLE;
}

/* The worst that an expression holds. */
static enum blame judge(const struct way *way, const struct ir_expr *expr)
{
    enum blame worst = NOBODY;
    switch (expr->kind) {
    case IR_EXPR_LOAD:
    case IR_EXPR_INVOCATION_ID:
    case IR_EXPR_LOCAL_ID:
    case IR_EXPR_ATOMIC:
    case IR_EXPR_SUBGROUP_ADD:
    case IR_EXPR_SUBGROUP_SHUFFLE:
    case IR_EXPR_SUBGROUP_BALLOT:
        return LANE;
    case IR_EXPR_VAR:
        return variable(way, expr->name);
    default:
        break;
    }
    for (uint32_t i = 0; i < 3; i++) {
        enum blame part = expr->arg[i] ? judge(way, expr->arg[i]) : NOBODY;
        if (part > worst) worst = part;
    }
    return worst;
}

/* Whether this is the condition that a @guard stands for. */
static bool is_guard(const struct lang_unit *unit, struct lang_span at)
{
    for (const struct lang_function *f = unit->functions; f; f = f->next)
        if (f->guard && f->guard_span.at == at.at) return true;
    return false;
}

static void say_guard(struct lang_unit *unit, struct lang_span barrier, const char *name)
{
    vyre_lang_say(
        unit, LANG_D_UNIFORM, barrier,
        vyre_lang_text(unit,
                       "some lanes of a workgroup may not come to this barrier: @guard "
                       "keeps those away for which `%s` has no element",
                       name),
        vyre_lang_text(unit, "leave @guard out, and put `if (i < len(%s))` around what needs it",
                       name));
}

static void say(struct lang_unit *unit, struct lang_span barrier, struct lang_span at,
                enum blame blame)
{
    const char *quote = vyre_lang_quote(unit, at), *words;
    unsigned line = vyre_lang_line(unit, at.at);
    if (quote && is_guard(unit, at)) {
        say_guard(unit, barrier, quote);
        return;
    }
    words = blame == SCALAR ? "has a scalar in it, which VIR0 does not take for the same in all"
            : blame == LANE ? "differs between them"
                            : "may differ between them";
    vyre_lang_say(
        unit, LANG_D_UNIFORM, barrier,
        quote ? vyre_lang_text(
                    unit,
                    "some lanes of a workgroup may not come to this barrier: `%s` in line %u %s",
                    quote, line, words)
              : vyre_lang_text(
                    unit,
                    "some lanes of a workgroup may not come to this barrier: what line %u asks %s",
                    line, words),
        blame == SCALAR
            ? "decide by a number, a constant, len() or group_id"
            : vyre_lang_text(unit,
                             "put it behind what line %u begins, or decide there by numbers, "
                             "constants, len() and group_id",
                             line));
}

bool vyre_lang_say_barrier(struct lang_unit *unit, const struct ir_program *tree, uint32_t id)
{
    struct way way = {.tree = tree};
    const struct ir_expr *found = NULL;
    enum blame worst = NOBODY;
    if (!find(&way, &tree->entry, id)) return false;
    for (uint32_t i = way.count; i-- > 0 && worst != LANE;) {
        for (uint32_t k = 0; k < 2; k++) {
            const struct ir_expr *expr = k == 0 ? way.around[i]->a : way.around[i]->b;
            enum blame blame = expr ? judge(&way, expr) : NOBODY;
            if (blame <= worst) continue;
            worst = blame;
            found = expr;
        }
    }
    const struct lang_output *output = unit->output;
    if (!found || found->id >= output->span_count || id >= output->span_count) return false;
    say(unit, output->spans[id], output->spans[found->id], worst);
    return true;
}
