/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * V067: between two barriers, the statements of a list touch a buffer either by atomics or in
 * other ways (load, store, length, asynchronous copy).
 *
 * A list is looked at by itself: what stands inside its statements belongs to the lists there, and
 * one statement may do both. So a list is finished before the next one begins, and two numbers a
 * buffer are enough: which statement touched it first in each way. Numbers rise over the whole
 * program, so those below the start of the list, or the last barrier, are history.
 */
#include "ir/validate.h"

struct now {
    uint32_t start; /* the first statement since the last barrier of this list */
    uint32_t statement;
    uint32_t id;
};

static void touch(struct vld *v, const struct now *now, uint32_t name, bool atomic)
{
    struct vld_touch *place = &v->touched[name];
    uint32_t *mine = atomic ? &place->atomic : &place->plain;
    uint32_t other = atomic ? place->plain : place->atomic;
    if (other >= now->start && other < now->statement && place->reported != now->statement) {
        place->reported = now->statement;
        vyre_vld_at(v, IR_RULE_HAZARD, now->id,
                    "`%s` is used %s here and %s above, with no barrier between",
                    vyre_vld_text(v, name), atomic ? "by an atomic" : "plainly",
                    atomic ? "plainly" : "by an atomic");
    }
    if (*mine < now->start) *mine = now->statement;
}

/* At most as deep as an expression may be: vyre_vld_expr has seen it. */
static void touch_expr(struct vld *v, const struct now *now, const struct ir_expr *expr)
{
    if (expr->kind == IR_EXPR_LOAD || expr->kind == IR_EXPR_BUF_LEN)
        touch(v, now, expr->name, false);
    else if (expr->kind == IR_EXPR_ATOMIC)
        touch(v, now, expr->name, true);
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i]) touch_expr(v, now, expr->arg[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        touch_expr(v, now, expr->args[i]);
}

static void touch_node(struct vld *v, const struct now *now, const struct ir_node *node)
{
    switch (node->kind) {
    case IR_NODE_STORE:
        touch(v, now, node->name, false);
        break;
    case IR_NODE_INDIRECT_DISPATCH:
        touch(v, now, node->name, false);
        return;
    case IR_NODE_ASYNC_LOAD:
    case IR_NODE_ASYNC_STORE:
        touch(v, now, node->name, false);
        touch(v, now, node->other, false);
        return;
    case IR_NODE_TRAP:
        return;
    default:
        break;
    }
    if (node->a) touch_expr(v, now, node->a);
    if (node->b) touch_expr(v, now, node->b);
}

void vyre_vld_hazards(struct vld *v, const struct ir_list *list)
{
    struct now now = {.start = v->statements + 1};
    for (const struct ir_node *node = list->first; node && !v->stop; node = node->next) {
        now.statement = ++v->statements;
        now.id = node->id;
        if (node->kind == IR_NODE_BARRIER)
            now.start = now.statement;
        else
            touch_node(v, &now, node);
    }
    for (const struct ir_node *node = list->first; node && !v->stop; node = node->next) {
        if (node->body.first) vyre_vld_hazards(v, &node->body);
        if (node->otherwise.first) vyre_vld_hazards(v, &node->otherwise);
    }
}
