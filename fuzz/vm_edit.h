/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Small changes to the tree of a program, told by bytes: what coverage-guided fuzzing can learn on,
 * where flipping bytes of the wire form mostly gives what does not decode.
 *
 * A tree stays a tree: an expression is changed in place, or takes the place of another that it is
 * a part of. Whether the program is still valid is for the caller to find out.
 */
#ifndef VYRE_FUZZ_VM_EDIT_H
#define VYRE_FUZZ_VM_EDIT_H

#include <string.h>

#include "ir/program.h"

#define VM_EDIT_BYTES 7u /* which expression (2), what (1), a value (4) */
#define VM_EDIT_MOST  4096u

struct vm_edit {
    /* 1: spares what keeps a generated program free of races: indices, the number of the
     * invocation and what is done for one invocation, copies. */
    uint32_t careful;
    uint32_t count;
    struct ir_expr *exprs[VM_EDIT_MOST];
};

static inline void vm_edit_expr(struct vm_edit *edit, struct ir_expr *expr)
{
    if (expr == NULL || edit->count == VM_EDIT_MOST) return;
    int indexed = expr->kind == IR_EXPR_LOAD || expr->kind == IR_EXPR_ATOMIC;
    edit->exprs[edit->count++] = expr;
    for (int i = edit->careful && indexed ? 1 : 0; i < 3; i++)
        vm_edit_expr(edit, expr->arg[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        vm_edit_expr(edit, expr->args[i]);
}

/* The linear number of an invocation, as the generator writes it. */
static inline int vm_edit_is_number(const struct ir_expr *expr)
{
    for (uint32_t depth = 0; expr && expr->kind == IR_EXPR_BIN_OP && depth < 8; depth++)
        expr = expr->arg[0];
    return expr && (expr->kind == IR_EXPR_INVOCATION_ID || expr->kind == IR_EXPR_LOCAL_ID);
}

/* `if number == literal`, where one invocation does something. */
static inline int vm_edit_is_chosen(const struct ir_expr *expr)
{
    return expr && expr->kind == IR_EXPR_BIN_OP && expr->op == IR_BIN_EQ &&
           expr->arg[0]->kind == IR_EXPR_VAR && expr->arg[1]->kind == IR_EXPR_LIT_U32;
}

static inline int vm_edit_spares(const struct vm_edit *edit, const struct ir_node *node)
{
    if (!edit->careful) return 0;
    if (node->kind == IR_NODE_ASYNC_LOAD || node->kind == IR_NODE_ASYNC_STORE) return 1;
    if (node->kind == IR_NODE_LET) return vm_edit_is_number(node->a);
    return node->kind == IR_NODE_IF && vm_edit_is_chosen(node->a);
}

static inline void vm_edit_list(struct vm_edit *edit, const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node; node = node->next) {
        if (!vm_edit_spares(edit, node)) {
            if (!edit->careful || node->kind != IR_NODE_STORE) vm_edit_expr(edit, node->a);
            vm_edit_expr(edit, node->b);
        }
        vm_edit_list(edit, &node->body);
        vm_edit_list(edit, &node->otherwise);
    }
}

static inline void vm_edit_collect(struct vm_edit *edit, const struct ir_program *program,
                                   int careful)
{
    edit->careful = careful != 0;
    edit->count = 0;
    vm_edit_list(edit, &program->entry);
}

/* Puts an operand in the place of the expression. */
static inline void vm_edit_lift(struct ir_expr *expr, uint32_t value)
{
    struct ir_expr *part = expr->arg[value % 3];
    uint32_t id = expr->id;
    if (part == NULL) return;
    *expr = *part;
    expr->id = id;
}

static inline void vm_edit_one(struct ir_expr *expr, uint8_t what, uint32_t value)
{
    struct ir_expr *first = expr->arg[0];
    if (what >= 0xC0) {
        vm_edit_lift(expr, value);
        return;
    }
    switch (expr->kind) {
    case IR_EXPR_LIT_BOOL:
        expr->value = value & 1;
        break;
    case IR_EXPR_LIT_U32:
    case IR_EXPR_LIT_I32:
    case IR_EXPR_LIT_F32:
        expr->value = value;
        break;
    case IR_EXPR_BIN_OP:
        if (what < 0x80 && expr->op != IR_OP_EXTENSION) {
            expr->op = (uint8_t)(1 + value % IR_BIN_MUL_HIGH);
        } else {
            expr->arg[0] = expr->arg[1];
            expr->arg[1] = first;
        }
        break;
    case IR_EXPR_UN_OP:
        if (expr->op != IR_OP_EXTENSION) expr->op = (uint8_t)(1 + value % IR_UN_RECIPROCAL);
        break;
    case IR_EXPR_SELECT:
        first = expr->arg[1];
        expr->arg[1] = expr->arg[2];
        expr->arg[2] = first;
        break;
    default:
        break;
    }
}

/* As many edits as there are bytes for. Later ones see what earlier ones have left. */
static inline void vm_edit_apply(struct vm_edit *edit, const uint8_t *bytes, size_t size)
{
    for (; size >= VM_EDIT_BYTES && edit->count; bytes += VM_EDIT_BYTES, size -= VM_EDIT_BYTES) {
        uint32_t which = bytes[0] | (uint32_t)bytes[1] << 8, value;
        memcpy(&value, bytes + 3, 4);
        vm_edit_one(edit->exprs[which % edit->count], bytes[2], value);
    }
}

#endif
