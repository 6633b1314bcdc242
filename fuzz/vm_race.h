/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Whether the invocations of a program can tell in which order they run; judged from the tree, on
 * the safe side. They cannot where every buffer that somebody writes is touched by each invocation
 * only at its own number, written out as the index, and where nothing looks at other invocations.
 *
 * And whether a source of an asynchronous copy is written at all: the oracle reads it when the copy
 * begins, the runtime when it is awaited.
 */
#ifndef VYRE_FUZZ_VM_RACE_H
#define VYRE_FUZZ_VM_RACE_H

#include <stdlib.h>

#include "ir/program.h"

enum vm_race_verdict {
    VM_RACE_NONE,
    VM_RACE_ORDER, /* may depend on the order of invocations */
    VM_RACE_COPY   /* may depend on when copies are made */
};

struct vm_race {
    const struct ir_program *program;
    uint8_t *written; /* by buffer */
    uint8_t *apart;   /* by buffer: touched elsewhere than at the own number */
    uint8_t *source;  /* by buffer: of an asynchronous copy */
    int looks;        /* at other invocations, or does what is not looked into here */
};

static inline void vm_race_access(struct vm_race *race, uint32_t name, const struct ir_expr *index,
                                  int writes)
{
    uint32_t buffer = race->program->names[name].buffer;
    if (buffer == IR_NONE) {
        race->looks = 1;
        return;
    }
    int shared = race->program->buffers[buffer].access == IR_ACCESS_WORKGROUP;
    uint8_t own = shared ? IR_EXPR_LOCAL_ID : IR_EXPR_INVOCATION_ID;
    if (index->kind != own || index->axis != 0) race->apart[buffer] = 1;
    if (writes) race->written[buffer] = 1;
}

static inline void vm_race_expr(struct vm_race *race, const struct ir_expr *expr)
{
    if (expr == NULL) return;
    if (expr->kind == IR_EXPR_LOAD) vm_race_access(race, expr->name, expr->arg[0], 0);
    if (expr->kind == IR_EXPR_ATOMIC) vm_race_access(race, expr->name, expr->arg[0], 1);
    if (expr->kind == IR_EXPR_SUBGROUP_ADD || expr->kind == IR_EXPR_SUBGROUP_SHUFFLE ||
        expr->kind == IR_EXPR_SUBGROUP_BALLOT)
        race->looks = 1;
    for (int i = 0; i < 3; i++)
        vm_race_expr(race, expr->arg[i]);
    for (uint32_t i = 0; i < expr->arg_count; i++)
        vm_race_expr(race, expr->args[i]);
}

static inline void vm_race_copy(struct vm_race *race, const struct ir_node *node)
{
    uint32_t from = race->program->names[node->name].buffer;
    uint32_t to = race->program->names[node->other].buffer;
    if (from != IR_NONE) race->source[from] = 1;
    if (to != IR_NONE) race->written[to] = 1;
}

static inline void vm_race_list(struct vm_race *race, const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node; node = node->next) {
        if (node->kind == IR_NODE_STORE) vm_race_access(race, node->name, node->a, 1);
        if (node->kind > IR_NODE_BARRIER && node->kind != IR_NODE_REGION &&
            node->kind != IR_NODE_TRAP)
            race->looks = 1;
        if (node->kind == IR_NODE_ASYNC_LOAD || node->kind == IR_NODE_ASYNC_STORE)
            vm_race_copy(race, node);
        vm_race_expr(race, node->a);
        vm_race_expr(race, node->b);
        vm_race_list(race, &node->body);
        vm_race_list(race, &node->otherwise);
    }
}

/* For workgroups and grids that are a line along x. */
static inline enum vm_race_verdict vm_race(const struct ir_program *program)
{
    struct vm_race race = {.program = program};
    size_t count = program->buffer_count;
    enum vm_race_verdict verdict = VM_RACE_NONE;
    race.written = calloc(3 * count + 1, 1);
    if (race.written == NULL) abort();
    race.apart = race.written + count;
    race.source = race.apart + count;
    vm_race_list(&race, &program->entry);
    if (race.looks || program->workgroup[1] != 1 || program->workgroup[2] != 1)
        verdict = VM_RACE_ORDER;
    for (size_t i = 0; i < count && verdict != VM_RACE_COPY; i++) {
        if (race.written[i] && race.apart[i]) verdict = VM_RACE_ORDER;
        if (race.written[i] && race.source[i]) verdict = VM_RACE_COPY;
    }
    free(race.written);
    return verdict;
}

#endif
