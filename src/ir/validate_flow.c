/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements: scopes, the types they ask for, and where barriers may stand. Every list (the entry,
 * branches, bodies of loops, blocks and regions) is a scope.
 */
#include <assert.h>
#include <string.h>

#include "ir/validate.h"

/* Where a statement stands. */
struct spot {
    uint32_t list; /* its number, from 1 */
    uint32_t depth;
    bool divergent;             /* not all lanes of a workgroup may come here together */
    bool uniform;               /* the variable of `loop` is the same in all of them */
    const struct ir_node *loop; /* the statement whose variable this list declares, or NULL */
};

static void walk_list(struct vld *v, const struct ir_list *list, struct spot spot);

/* The spot of a list inside a statement at `spot`. */
static struct spot inside(struct spot spot, bool divergent)
{
    return (struct spot){.depth = spot.depth + 1, .divergent = spot.divergent || divergent};
}

/* V008: a let or a loop declares no name that a list around it has
 * declared. V032: a list declares a name by a let at most once. */
static void declare(struct vld *v, const struct ir_node *node, struct vld_variable variable)
{
    struct vld_variable *place = &v->variables[node->name];
    if (place->list == variable.list && !place->loop)
        vyre_vld_at(v, IR_RULE_DUPLICATE_LET, node->id, "`%s` is declared by a let above it",
                    vyre_vld_text(v, node->name));
    else if (place->list != 0)
        vyre_vld_at(v, IR_RULE_SHADOWING, node->id, "`%s` is declared by a %s around it",
                    vyre_vld_text(v, node->name), place->loop ? "loop" : "let");
    assert(v->undo_count <= v->program->node_count && v->undo_count <= VLD_MAX_NODES);
    v->undo[v->undo_count++] = (struct vld_undo){node->name, *place};
    *place = variable;
}

static bool pair_of(const struct ir_type *a, const struct ir_type *b, uint32_t tag)
{
    return (vyre_vld_is(a, IR_TYPE_U32) && vyre_vld_is(b, tag)) ||
           (vyre_vld_is(a, tag) && vyre_vld_is(b, IR_TYPE_U32));
}

static void assign(struct vld *v, const struct ir_node *node)
{
    struct vld_variable *variable = &v->variables[node->name];
    const struct ir_buffer *buffer = vyre_ir_find_buffer(v->program, node->name);
    const struct ir_type *type = NULL;
    bool same;
    struct vld_value value = vyre_vld_expr(v, node->a, 0);
    if (variable->list != 0) {
        if (variable->loop)
            vyre_vld_at(v, IR_RULE_ASSIGN_LOOP, node->id, "`%s` is the variable of a loop",
                        vyre_vld_text(v, node->name));
        type = variable->type;
        same = vyre_vld_same(type, value.type);
        variable->uniform = variable->uniform && value.uniform;
    } else if (buffer) {
        if (buffer->access != IR_ACCESS_READ_WRITE)
            vyre_vld_at(v, IR_RULE_ASSIGN_ACCESS, node->id, "`%s` is a buffer with access %s",
                        vyre_vld_text(v, node->name), vyre_ir_access_word(buffer->access));
        type = &buffer->type;
        same = vyre_vld_same(type, value.type) || pair_of(type, value.type, IR_TYPE_BYTES) ||
               pair_of(type, value.type, IR_TYPE_BOOL);
    } else {
        vyre_vld_at(v, IR_RULE_ASSIGN_TARGET, node->id,
                    "`%s` is neither a variable here nor a buffer", vyre_vld_text(v, node->name));
        return;
    }
    if (!same && type && value.type)
        vyre_vld_at(v, IR_RULE_ASSIGN_TYPE, node->id, "`%s` is %s, its new value %s",
                    vyre_vld_text(v, node->name), vyre_vld_word(type), vyre_vld_word(value.type));
}

static void store(struct vld *v, const struct ir_node *node)
{
    const struct ir_buffer *buffer = vyre_vld_buffer(v, node->name, node->id, "store");
    const struct ir_type *index = vyre_vld_expr(v, node->a, 0).type;
    const struct ir_type *value = vyre_vld_expr(v, node->b, 0).type;
    if (!buffer) return;
    struct vld_place place = {node->id, (uint32_t)(buffer - v->program->buffers)};
    vyre_vld_elements(v, buffer, node->id, "store to");
    if (buffer->access != IR_ACCESS_READ_WRITE && buffer->access != IR_ACCESS_WRITE_ONLY &&
        buffer->access != IR_ACCESS_WORKGROUP)
        vyre_vld_report(v, IR_RULE_STORE_ACCESS, place, "store to `%s`, which is %s",
                        vyre_vld_text(v, node->name), vyre_ir_access_word(buffer->access));
    if (value && !vyre_vld_same(value, &buffer->type) &&
        !pair_of(value, &buffer->type, IR_TYPE_BYTES))
        vyre_vld_report(v, IR_RULE_STORE_VALUE, place, "store of %s to `%s`, whose elements are %s",
                        vyre_vld_word(value), vyre_vld_text(v, node->name),
                        vyre_vld_word(&buffer->type));
    if (index && index->tag != IR_TYPE_U32)
        vyre_vld_report(v, IR_RULE_STORE_INDEX, place, "the index of the store to `%s` is %s",
                        vyre_vld_text(v, node->name), vyre_vld_word(index));
    if (node->a->kind == IR_EXPR_LIT_U32 && buffer->count != 0 && node->a->value >= buffer->count)
        vyre_vld_report(v, IR_RULE_STORE_BOUND, place, "store to element %u of `%s`, which has %u",
                        (unsigned)node->a->value, vyre_vld_text(v, node->name),
                        (unsigned)buffer->count);
}

static void branch(struct vld *v, const struct ir_node *node, struct spot spot)
{
    struct vld_value condition = vyre_vld_expr(v, node->a, 0);
    const struct ir_type *type = condition.type;
    if (type && type->tag != IR_TYPE_U32 && type->tag != IR_TYPE_BOOL)
        vyre_vld_at(v, IR_RULE_IF_CONDITION, node->id, "the condition is %s", vyre_vld_word(type));
    walk_list(v, &node->body, inside(spot, !condition.uniform));
    walk_list(v, &node->otherwise, inside(spot, !condition.uniform));
}

static void loop(struct vld *v, const struct ir_node *node, struct spot spot)
{
    bool uniform = true;
    for (uint32_t i = 0; i < 2; i++) {
        const struct ir_expr *bound = i == 0 ? node->a : node->b;
        struct vld_value value = vyre_vld_expr(v, bound, 0);
        uniform = uniform && value.uniform;
        if (value.type && value.type->tag != IR_TYPE_U32)
            vyre_vld_at(v, IR_RULE_LOOP_BOUND, bound->id, "the bound `%s` is %s",
                        i == 0 ? "from" : "to", vyre_vld_word(value.type));
    }
    struct spot body = inside(spot, !uniform);
    body.loop = node;
    body.uniform = uniform && !spot.divergent;
    walk_list(v, &node->body, body);
}

static void barrier(struct vld *v, const struct ir_node *node, struct spot spot)
{
    if (spot.divergent)
        vyre_vld_at(v, IR_RULE_BARRIER_UNIFORM, node->id,
                    "a condition or bound around this barrier may differ from lane to lane");
    if (node->ordering == IR_ORDERING_RELAXED)
        vyre_vld_at(v, IR_RULE_BARRIER_ORDERING, node->id,
                    "the ordering of this barrier is relaxed");
}

/* V070: a region whose generator ends in #self-exclusive stands in a program once. */
static void region(struct vld *v, const struct ir_node *node)
{
    static const char suffix[] = "#self-exclusive";
    const size_t length = sizeof suffix - 1;
    const struct ir_name *name = &v->program->names[node->name];
    if (name->length < length || memcmp(name->text + name->length - length, suffix, length) != 0)
        return;
    if (v->generators[node->name])
        vyre_vld_at(v, IR_RULE_SELF_EXCLUSIVE, node->id, "another region has generator `%s`, too",
                    vyre_vld_text(v, node->name));
    v->generators[node->name] = 1;
}

/* Copies, waits, dispatches, collectives. What their expressions compute, and which buffers a copy
 * names, is found out when they run; so it is with the address of a trap. */
static void system_node(struct vld *v, const struct ir_node *node)
{
    bool copy = node->kind == IR_NODE_ASYNC_LOAD || node->kind == IR_NODE_ASYNC_STORE;
    if ((copy || node->kind == IR_NODE_ASYNC_WAIT) && v->program->names[node->tag].length == 0)
        vyre_vld_at(v, IR_RULE_ASYNC_TAG, node->id, "the tag of this %s is empty",
                    copy ? "copy" : "wait");
    if (node->kind == IR_NODE_INDIRECT_DISPATCH) {
        vyre_vld_buffer(v, node->name, node->id, "indirect dispatch");
        if (node->offset % 4 != 0)
            vyre_vld_at(v, IR_RULE_INDIRECT_OFFSET, node->id, "the offset is %llu",
                        (unsigned long long)node->offset);
    }
    if (node->kind >= IR_NODE_ALL_REDUCE && node->kind <= IR_NODE_BROADCAST)
        vyre_vld_at(v, IR_RULE_COLLECTIVE, node->id, "%s over group %u",
                    vyre_ir_node_id(node->kind), (unsigned)node->group);
    if (node->a) vyre_vld_depth_only(v, node->a, 0);
    if (node->b) vyre_vld_depth_only(v, node->b, 0);
}

static void let(struct vld *v, const struct ir_node *node, struct spot spot)
{
    struct vld_value value = vyre_vld_expr(v, node->a, 0);
    declare(v, node, (struct vld_variable){value.type, spot.list, false, value.uniform});
}

static void statement(struct vld *v, const struct ir_node *node, struct spot spot)
{
    switch (node->kind) {
    case IR_NODE_LET:
        let(v, node, spot);
        break;
    case IR_NODE_ASSIGN:
        assign(v, node);
        break;
    case IR_NODE_STORE:
        store(v, node);
        break;
    case IR_NODE_IF:
        branch(v, node, spot);
        break;
    case IR_NODE_LOOP:
        loop(v, node, spot);
        break;
    case IR_NODE_RETURN:
        break;
    case IR_NODE_BARRIER:
        barrier(v, node, spot);
        break;
    case IR_NODE_REGION:
        region(v, node);
        walk_list(v, &node->body, inside(spot, false));
        break;
    case IR_NODE_BLOCK:
        walk_list(v, &node->body, inside(spot, false));
        break;
    default:
        system_node(v, node);
        break;
    }
}

/* V018 and V019; behind a limit the walk ends. */
static bool within_limits(struct vld *v, const struct ir_node *node, struct spot spot)
{
    if (++v->nodes > VLD_MAX_NODES)
        vyre_vld_at(v, IR_RULE_NODE_COUNT, node->id, "this is statement %u, at most %u",
                    (unsigned)v->nodes, (unsigned)VLD_MAX_NODES);
    else if (spot.depth > VLD_MAX_NESTING)
        vyre_vld_at(v, IR_RULE_NESTING, node->id, "this statement is %u lists deep, at most %u",
                    (unsigned)spot.depth, (unsigned)VLD_MAX_NESTING);
    else
        return true;
    v->limits = true;
    v->stop = true;
    return false;
}

static void walk_list(struct vld *v, const struct ir_list *list, struct spot spot)
{
    uint32_t mark = v->undo_count;
    const struct ir_node *before = NULL;
    bool returned = false;
    spot.list = ++v->lists;
    if (spot.loop)
        declare(v, spot.loop, (struct vld_variable){&vyre_vld_u32, spot.list, true, spot.uniform});
    for (const struct ir_node *node = list->first; node && !v->stop; node = node->next) {
        if (!within_limits(v, node, spot)) break;
        if (before && before->kind == IR_NODE_RETURN && !returned) {
            returned = true;
            vyre_vld_at(v, IR_RULE_AFTER_RETURN, node->id, "%s stands behind a return",
                        vyre_ir_node_id(node->kind));
        }
        statement(v, node, spot);
        before = node;
    }
    while (v->undo_count > mark) {
        const struct vld_undo *undo = &v->undo[--v->undo_count];
        v->variables[undo->name] = undo->before;
    }
}

void vyre_vld_entry(struct vld *v)
{
    const struct ir_node *node = v->program->entry.first;
    while (node && node->kind == IR_NODE_REGION)
        node = node->next;
    if (!v->program->entry.first || node)
        vyre_vld_at(v, IR_RULE_TOP_LEVEL, node ? node->id : IR_NONE, "%s stands in the entry list",
                    node ? vyre_ir_node_id(node->kind) : "nothing");
    if (!v->stop) walk_list(v, &v->program->entry, (struct spot){0});
}
