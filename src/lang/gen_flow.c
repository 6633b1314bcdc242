/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements, jumps and calls of the source's own functions. VIR0 has no jump but a kernel's
 * return. Where a statement always jumps, what follows it goes into the other branch; where it may
 * jump, what follows it stands under an if that looks at a flag.
 */
#include "lang/gen.h"

uint8_t vyre_gen_jumps(const struct gen *gen)
{
    const struct gen_flow *flow = gen->flow;
    while (flow && flow->loop)
        flow = flow->outer;
    return LANG_JUMP_BREAK | LANG_JUMP_CONTINUE | (flow ? LANG_JUMP_RETURN : 0);
}

bool vyre_gen_ends(const struct lang_stmt *first)
{
    for (; first; first = first->next)
        if (first->ends) return true;
    return false;
}

uint8_t vyre_gen_list_jumps(const struct lang_stmt *first)
{
    uint8_t jumps = 0;
    for (; first; first = first->next) {
        jumps |= first->jumps;
        if (first->ends) break;
    }
    return jumps;
}

/* Whether what follows an if can stand in one of its branches: 1 in the second, 2 in the first. */
static int branch_for_rest(const struct lang_stmt *stmt, uint8_t jumps)
{
    if (stmt->kind != LANG_S_IF) return 0;
    if (vyre_gen_ends(stmt->body) && !(vyre_gen_list_jumps(stmt->otherwise) & jumps)) return 1;
    if (stmt->otherwise && vyre_gen_ends(stmt->otherwise) &&
        !(vyre_gen_list_jumps(stmt->body) & jumps))
        return 2;
    return 0;
}

/* In the branches of a statement after which nothing follows. */
static bool flagged_inside(const struct lang_stmt *stmt, uint8_t jumps)
{
    if (stmt->kind == LANG_S_BLOCK) return vyre_gen_flagged(stmt->body, jumps);
    if (stmt->kind != LANG_S_IF) return false;
    return vyre_gen_flagged(stmt->body, jumps) || vyre_gen_flagged(stmt->otherwise, jumps);
}

bool vyre_gen_flagged(const struct lang_stmt *first, uint8_t jumps)
{
    for (; first; first = first->next) {
        if (!(first->jumps & jumps)) {
            if (first->ends) return false;
            continue;
        }
        if (!first->next || first->ends) return flagged_inside(first, jumps);
        if (!branch_for_rest(first, jumps)) return true;
        if (flagged_inside(first, jumps)) return true;
    }
    return false;
}

static void lower_flag(struct gen *gen, uint32_t flag)
{
    if (flag != IR_NONE) vyre_gen_assign(gen, flag, vyre_gen_literal(gen, LANG_TYPE_BOOL, 0));
}

/* Leaves the loops that are open in the function, and the function. */
static void leave_function(struct gen *gen, struct lang_stmt *stmt)
{
    struct gen_flow *function = gen->flow;
    while (function->loop)
        function = function->outer;
    if (stmt->value) {
        struct ir_expr *value = vyre_gen_expr(gen, stmt->value);
        if (function->result != IR_NONE)
            vyre_gen_assign(gen, function->result, value);
        else
            function->value = value;
    }
    for (struct gen_flow *flow = gen->flow; flow != function; flow = flow->outer) {
        lower_flag(gen, flow->go);
        lower_flag(gen, flow->on);
    }
    lower_flag(gen, function->go);
}

static void jump(struct gen *gen, struct lang_stmt *stmt)
{
    if (stmt->kind == LANG_S_BREAK) {
        lower_flag(gen, gen->flow->go);
        lower_flag(gen, gen->flow->on);
    } else if (stmt->kind == LANG_S_CONTINUE) {
        lower_flag(gen, gen->flow->on);
    } else if (vyre_gen_jumps(gen) & LANG_JUMP_RETURN) {
        leave_function(gen, stmt);
    } else {
        vyre_gen_node(gen, IR_NODE_RETURN);
    }
}

static void declare(struct gen *gen, struct lang_stmt *stmt)
{
    struct lang_symbol *symbol = stmt->symbol;
    struct ir_expr *value;
    if (symbol->kind == LANG_SYMBOL_CONSTANT) return;
    value = stmt->value ? vyre_gen_expr(gen, stmt->value) : vyre_gen_literal(gen, symbol->type, 0);
    gen->span = stmt->span;
    symbol->ir = vyre_gen_let(gen, symbol->name->text, value);
}

/* The value first, then the element that it goes to; a compound one reads the element before. */
static void assign_element(struct gen *gen, struct lang_stmt *stmt)
{
    struct lang_expr *target = stmt->target;
    struct ir_expr *index = vyre_gen_index(gen, target->arg[1]);
    struct ir_list later = {0}, *outer = gen->list;
    if (stmt->op != LANG_SET) {
        bool again = index->kind == IR_EXPR_LIT_U32 || index->kind == IR_EXPR_VAR ||
                     index->kind == IR_EXPR_INVOCATION_ID || index->kind == IR_EXPR_LOCAL_ID;
        if (!again) index = vyre_gen_spill(gen, index);
        struct ir_expr *same = vyre_gen_make(gen, index->kind);
        same->name = index->name;
        same->axis = index->axis;
        same->value = index->value;
        struct ir_expr *saved = gen->old;
        gen->old = vyre_gen_load(gen, target->symbol, same);
        struct ir_expr *value = vyre_gen_expr(gen, stmt->value);
        gen->old = saved;
        gen->span = stmt->span;
        vyre_gen_store(gen, target->symbol, index, value);
        return;
    }
    gen->list = &later;
    struct ir_expr *value = vyre_gen_expr(gen, stmt->value);
    gen->list = outer;
    index = vyre_gen_before(gen, index, &later);
    gen->span = stmt->span;
    vyre_gen_store(gen, target->symbol, index, value);
}

static void assign(struct gen *gen, struct lang_stmt *stmt)
{
    if (stmt->target->kind == LANG_E_INDEX) {
        assign_element(gen, stmt);
        return;
    }
    struct ir_expr *saved = gen->old;
    gen->old = vyre_gen_var(gen, stmt->target->symbol->ir);
    struct ir_expr *value = vyre_gen_expr(gen, stmt->value);
    gen->old = saved;
    gen->span = stmt->span;
    vyre_gen_assign(gen, stmt->target->symbol->ir, value);
}

/* `a && b` as the condition of an if without another branch: one if in another, where b is seen. */
static struct lang_expr *first_part(struct gen *gen, struct lang_expr *condition)
{
    if (condition->kind != LANG_E_BINARY || condition->op != LANG_AND_AND || condition->known)
        return condition;
    uint8_t seen = LANG_EFFECT_LOAD | LANG_EFFECT_FAULT | LANG_EFFECT_ACT;
    if (!(condition->arg[1]->effects & seen)) return condition;
    struct lang_expr *left = first_part(gen, condition->arg[0]);
    struct ir_expr *made = vyre_gen_condition(gen, left);
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = made;
    vyre_gen_open(gen, &node->body);
    return condition->arg[1];
}

/* `rest` goes behind the first branch (2) or the second one (1), or there is none (0). */
static void branch(struct gen *gen, struct lang_stmt *stmt, struct lang_stmt *rest, int where)
{
    bool one = !stmt->otherwise && where == 0;
    struct ir_list *outermost = gen->list;
    uint32_t depth = gen->depth;
    struct lang_expr *condition = one ? first_part(gen, stmt->value) : stmt->value;
    struct ir_expr *made = vyre_gen_condition(gen, condition);
    gen->span = stmt->span;
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = made;
    struct ir_list *outer = vyre_gen_open(gen, &node->body);
    vyre_gen_list(gen, stmt->body);
    if (where == 2) vyre_gen_list(gen, rest);
    vyre_gen_close(gen, outer);
    if (stmt->otherwise || where == 1) {
        outer = vyre_gen_open(gen, &node->otherwise);
        vyre_gen_list(gen, stmt->otherwise);
        if (where == 1) vyre_gen_list(gen, rest);
        vyre_gen_close(gen, outer);
    }
    /* `if (c) continue;` and what follows: the other branch is all there is. */
    if (!node->body.first && node->otherwise.first &&
        gen->depths[made->id] < GEN_MOST_EXPR_DEEP - 1) {
        node->a = vyre_gen_un(gen, IR_UN_LOGICAL_NOT, made);
        node->body = node->otherwise;
        node->otherwise = (struct ir_list){0};
    }
    gen->list = outermost;
    gen->depth = depth;
}

/* The if that is all of the other branch, or NULL. */
static struct lang_stmt *else_if(const struct lang_stmt *stmt)
{
    struct lang_stmt *next = stmt->otherwise;
    return next && !next->next && next->kind == LANG_S_IF ? next : NULL;
}

static bool long_chain(const struct lang_stmt *stmt)
{
    uint32_t length = 0;
    for (; stmt; stmt = else_if(stmt))
        length++;
    return length > GEN_LONG_CHAIN;
}

/* A long chain of `else if` would be too deep: its links stand beside each other, each under a flag
 * that none before was taken. */
static void chain(struct gen *gen, struct lang_stmt *stmt)
{
    uint32_t flag = vyre_gen_let(gen, "none", vyre_gen_literal(gen, LANG_TYPE_BOOL, 1));
    for (;; stmt = else_if(stmt)) {
        struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
        node->a = vyre_gen_var(gen, flag);
        struct ir_list *outer = vyre_gen_open(gen, &node->body);
        struct ir_expr *condition = vyre_gen_condition(gen, stmt->value);
        gen->span = stmt->span;
        struct ir_node *link = vyre_gen_node(gen, IR_NODE_IF);
        link->a = condition;
        struct ir_list *middle = vyre_gen_open(gen, &link->body);
        lower_flag(gen, flag);
        vyre_gen_list(gen, stmt->body);
        vyre_gen_close(gen, middle);
        vyre_gen_close(gen, outer);
        if (!else_if(stmt)) break;
    }
    if (!stmt->otherwise) return;
    struct ir_node *last = vyre_gen_node(gen, IR_NODE_IF);
    last->a = vyre_gen_var(gen, flag);
    struct ir_list *outer = vyre_gen_open(gen, &last->body);
    vyre_gen_list(gen, stmt->otherwise);
    vyre_gen_close(gen, outer);
}

/* A value that nobody wants is computed all the same: its loads and faults are seen. */
static void discard(struct gen *gen, struct ir_expr *value)
{
    if (value && (value->kind == IR_EXPR_LOAD || value->arg[0])) vyre_gen_spill(gen, value);
}

void vyre_gen_statement(struct gen *gen, struct lang_stmt *stmt)
{
    gen->span = stmt->span;
    switch (stmt->kind) {
    case LANG_S_DECLARE:
        declare(gen, stmt);
        break;
    case LANG_S_ASSIGN:
        assign(gen, stmt);
        break;
    case LANG_S_CALL:
        discard(gen, vyre_gen_expr(gen, stmt->value));
        break;
    case LANG_S_BLOCK:
        vyre_gen_list(gen, stmt->body);
        break;
    case LANG_S_IF:
        if (!(stmt->jumps & vyre_gen_jumps(gen)) && long_chain(stmt))
            chain(gen, stmt);
        else
            branch(gen, stmt, NULL, 0);
        break;
    case LANG_S_FOR:
    case LANG_S_DO:
        vyre_gen_loop(gen, stmt);
        break;
    case LANG_S_BREAK:
    case LANG_S_CONTINUE:
    case LANG_S_RETURN:
        jump(gen, stmt);
        break;
    default:
        break;
    }
}

/* The rest of a list, under the flag that no jump was taken. */
static void guarded(struct gen *gen, struct lang_stmt *rest)
{
    struct gen_flow *flow = gen->flow;
    uint32_t flag = flow->loop && flow->on != IR_NONE ? flow->on : flow->go;
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = vyre_gen_var(gen, flag);
    struct ir_list *outer = vyre_gen_open(gen, &node->body);
    vyre_gen_list(gen, rest);
    vyre_gen_close(gen, outer);
}

void vyre_gen_list(struct gen *gen, struct lang_stmt *first)
{
    uint8_t jumps = vyre_gen_jumps(gen);
    for (struct lang_stmt *stmt = first; stmt; stmt = stmt->next) {
        bool may_jump = stmt->jumps & jumps;
        int where = may_jump && stmt->next && !stmt->ends ? branch_for_rest(stmt, jumps) : 0;
        gen->span = stmt->span;
        if (where != 0) {
            branch(gen, stmt, stmt->next, where);
            return;
        }
        vyre_gen_statement(gen, stmt);
        if (stmt->ends) return;
        if (may_jump && stmt->next) {
            guarded(gen, stmt->next);
            return;
        }
    }
}

/* Parameters become variables, or other names of the caller's buffers. */
static void bind(struct gen *gen, struct lang_expr *call, struct lang_function *function,
                 uint32_t *names)
{
    struct lang_symbol *parameter = function->first;
    uint32_t count = 0;
    for (struct lang_expr *a = call->args; a; a = a->next, parameter = parameter->next) {
        if (parameter->kind == LANG_SYMBOL_BUFFER) {
            names[count++] = IR_NONE;
            continue;
        }
        struct ir_expr *value = vyre_gen_expr(gen, a);
        gen->span = a->span;
        names[count++] = vyre_gen_let(gen, parameter->name->text, value);
    }
    count = 0;
    parameter = function->first;
    for (struct lang_expr *a = call->args; a; a = a->next, parameter = parameter->next, count++)
        if (parameter->kind == LANG_SYMBOL_BUFFER)
            parameter->bound = vyre_gen_buffer(a->symbol);
        else
            parameter->ir = names[count];
}

/* Whether its only return is the last statement: its value needs no variable. */
static bool returns_last(const struct lang_stmt *first)
{
    for (; first; first = first->next)
        if (first->jumps & LANG_JUMP_RETURN) return first->kind == LANG_S_RETURN;
    return true;
}

struct ir_expr *vyre_gen_inline(struct gen *gen, struct lang_expr *call)
{
    struct lang_function *function = call->symbol->function;
    uint32_t *names = vyre_lang_alloc(gen->unit, function->parameters + 1u, sizeof *names);
    struct gen_flow flow = {.outer = gen->flow, .go = IR_NONE, .on = IR_NONE, .result = IR_NONE};
    struct lang_span span = gen->span;
    if (++gen->calls > LANG_MOST_CALLS)
        vyre_lang_give_up(gen->unit, call->span,
                          vyre_lang_text(gen->unit, "more than %u calls are written out in `%s`",
                                         LANG_MOST_CALLS, gen->kernel->symbol.name->text),
                          "functions are written out where they are called: call fewer");
    bind(gen, call, function, names);
    bool last = returns_last(function->body);
    gen->span = span;
    if (!last && function->type != LANG_TYPE_VOID)
        flow.result = vyre_gen_let(gen, "result", vyre_gen_literal(gen, function->type, 0));
    if (vyre_gen_flagged(function->body, LANG_JUMP_RETURN))
        flow.go = vyre_gen_let(gen, "run", vyre_gen_literal(gen, LANG_TYPE_BOOL, 1));
    gen->flow = &flow;
    vyre_gen_list(gen, function->body);
    gen->flow = flow.outer;
    gen->span = span;
    if (function->type == LANG_TYPE_VOID) return NULL;
    return flow.result != IR_NONE ? vyre_gen_var(gen, flow.result) : flow.value;
}
