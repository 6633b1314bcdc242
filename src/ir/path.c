/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Where a statement or an expression is in its program: the names of the fields that lead to it.
 * The tree has no links upwards, so it is searched; that is for messages, not for loops.
 */
#include <stdio.h>
#include <string.h>

#include "ir/codec.h"

struct search {
    uint32_t id;
    char *text;
    size_t room;
    size_t length; /* of the path so far, as far as there is room */
};

/* What the letters of a layout are called, in pairs. */
static const char *const node_fields[IR_NODE_BROADCAST + 1][2] = {
    [IR_NODE_LET] = {"value", NULL},
    [IR_NODE_ASSIGN] = {"value", NULL},
    [IR_NODE_STORE] = {"index", "value"},
    [IR_NODE_IF] = {"condition", NULL},
    [IR_NODE_LOOP] = {"from", "to"},
    [IR_NODE_ASYNC_LOAD] = {"offset", "size"},
    [IR_NODE_ASYNC_STORE] = {"offset", "size"},
    [IR_NODE_TRAP] = {"address", NULL},
};

static const char *const expr_fields[IR_EXPR_SUBGROUP_SIZE + 1][3] = {
    [IR_EXPR_LOAD] = {"index", NULL, NULL},
    [IR_EXPR_BIN_OP] = {"left", "right", NULL},
    [IR_EXPR_UN_OP] = {"operand", NULL, NULL},
    [IR_EXPR_SELECT] = {"condition", "true", "false"},
    [IR_EXPR_CAST] = {"operand", NULL, NULL},
    [IR_EXPR_ATOMIC] = {"index", "expected", "value"},
    [IR_EXPR_FMA] = {"a", "b", "c"},
    [IR_EXPR_SUBGROUP_ADD] = {"operand", NULL, NULL},
    [IR_EXPR_SUBGROUP_SHUFFLE] = {"value", "lane", NULL},
    [IR_EXPR_SUBGROUP_BALLOT] = {"operand", NULL, NULL},
};

/* Writes a step at the end of the path; returns where the end was. A path that is too long is cut.
 */
static size_t step(struct search *search, const char *name, uint32_t index)
{
    size_t before = search->length;
    char text[64];
    if (index == IR_NONE)
        snprintf(text, sizeof text, ".%s", name);
    else
        snprintf(text, sizeof text, ".%s[%u]", name, index);
    const char *from = before == 0 ? text + 1 : text;
    size_t left = search->room - 1 - before;
    size_t take = strlen(from) < left ? strlen(from) : left;
    memcpy(search->text + before, from, take);
    search->length += take;
    search->text[search->length] = '\0';
    return before;
}

static void back(struct search *search, size_t length)
{
    search->length = length;
    search->text[length] = '\0';
}

static bool find_expr(struct search *search, const struct ir_expr *expr)
{
    if (expr->id == search->id) return true;
    const char *const *names =
        expr->kind <= IR_EXPR_SUBGROUP_SIZE ? expr_fields[expr->kind] : expr_fields[0];
    for (uint32_t i = 0; i < 3; i++) {
        if (!expr->arg[i]) continue;
        size_t before = step(search, names[i] ? names[i] : "?", IR_NONE);
        if (find_expr(search, expr->arg[i])) return true;
        back(search, before);
    }
    for (uint32_t i = 0; i < expr->arg_count; i++) {
        size_t before = step(search, "args", i);
        if (find_expr(search, expr->args[i])) return true;
        back(search, before);
    }
    return false;
}

static bool find_field(struct search *search, const struct ir_expr *expr, const char *name)
{
    if (!expr) return false;
    size_t before = step(search, name ? name : "?", IR_NONE);
    if (find_expr(search, expr)) return true;
    back(search, before);
    return false;
}

static bool find_list(struct search *search, const struct ir_list *list, const char *name)
{
    uint32_t index = 0;
    for (const struct ir_node *node = list->first; node; node = node->next, index++) {
        size_t before = step(search, name, index);
        if (node->id == search->id) return true;
        const char *const *names =
            node->kind <= IR_NODE_BROADCAST ? node_fields[node->kind] : node_fields[IR_NODE_RETURN];
        bool branches = node->kind == IR_NODE_IF;
        if (find_field(search, node->a, names[0]) || find_field(search, node->b, names[1]) ||
            find_list(search, &node->body, branches ? "then" : "body") ||
            find_list(search, &node->otherwise, "else"))
            return true;
        back(search, before);
    }
    return false;
}

void vyre_ir_path(const struct ir_program *program, uint32_t id, char *text, size_t room)
{
    if (room == 0) return;
    text[0] = '\0';
    struct search search = {id, text, room, 0};
    find_list(&search, &program->entry, "entry");
}
