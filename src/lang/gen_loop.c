/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loops. VIR0 has one: from a to below b, by one, with bounds that are evaluated once. A `for` that
 * counts like that becomes one. Every other becomes a loop that would count for ever, whose whole
 * body is an if: the machine knows this form as a while, because what the condition looks at is
 * changed nowhere but inside, and leaves it when no lane takes the if.
 */
#include "lang/gen.h"

/* A loop that counts, maybe as long as something else is true. */
struct counted {
    struct lang_symbol *symbol;
    struct lang_expr *from; /* NULL: 0 */
    struct lang_expr *to;
    struct lang_expr *condition; /* the whole of it */
    bool inclusive;              /* to is known, and the last */
};

/* Whether an expression shows nothing but its value, and does not look at `symbol`. */
static bool plain(const struct lang_expr *expr, const struct lang_symbol *symbol)
{
    if (expr->known) return true;
    if (expr->effects & (LANG_EFFECT_LOAD | LANG_EFFECT_FAULT | LANG_EFFECT_ACT)) return false;
    if (expr->kind == LANG_E_NAME && expr->symbol == symbol) return false;
    if (expr->kind == LANG_E_OLD || expr->depth > GEN_MOST_EXPR_DEEP / 2) return false;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i] && !plain(expr->arg[i], symbol)) return false;
    for (const struct lang_expr *a = expr->args; a; a = a->next)
        if (!plain(a, symbol)) return false;
    return true;
}

static bool only_breaks(const struct lang_stmt *stmt)
{
    while (stmt && stmt->kind == LANG_S_BLOCK && !stmt->next)
        stmt = stmt->body;
    return stmt && stmt->kind == LANG_S_BREAK;
}

/* The condition of a loop whose body begins with `if (leave) break;`. */
static struct lang_expr *unless(struct gen *gen, struct lang_expr *condition,
                                struct lang_expr *leave)
{
    struct lang_expr *stay = vyre_lang_alloc(gen->unit, 1, sizeof *stay);
    *stay = (struct lang_expr){.kind = LANG_E_UNARY,
                               .op = LANG_NOT,
                               .type = LANG_TYPE_BOOL,
                               .effects = leave->effects,
                               .depth = leave->depth + 1,
                               .span = leave->span,
                               .arg = {leave}};
    if (!condition || (condition->known && condition->value)) return stay;
    struct lang_expr *both = vyre_lang_alloc(gen->unit, 1, sizeof *both);
    *both = (struct lang_expr){
        .kind = LANG_E_BINARY,
        .op = LANG_AND_AND,
        .type = LANG_TYPE_BOOL,
        .effects = condition->effects | stay->effects,
        .depth = (condition->depth > stay->depth ? condition->depth : stay->depth) + 1,
        .span = condition->span,
        .arg = {condition, stay}};
    return both;
}

/* Takes breaks at the beginning of the body into the condition: no flag is needed for them. */
static void take_breaks(struct gen *gen, struct lang_stmt *stmt)
{
    struct lang_stmt *list = stmt->body;
    while (list && !list->next && list->kind == LANG_S_BLOCK)
        list = list->body;
    while (list && list->kind == LANG_S_IF && !list->otherwise && only_breaks(list->body) &&
           !list->value->known && plain(list->value, NULL) &&
           (!stmt->value || stmt->value->depth < GEN_MOST_EXPR_DEEP / 2)) {
        stmt->value = unless(gen, stmt->value, list->value);
        list = list->next;
    }
    stmt->body = list;
}

static bool assigned_in(const struct lang_stmt *first, const struct lang_symbol *symbol)
{
    for (; first; first = first->next) {
        if (first->kind == LANG_S_ASSIGN && first->target->symbol == symbol) return true;
        if (assigned_in(first->init, symbol) || assigned_in(first->body, symbol) ||
            assigned_in(first->step, symbol) || assigned_in(first->otherwise, symbol))
            return true;
    }
    return false;
}

/* Whether it stays what it is while the loop runs: the counter itself does not. */
static bool settled_in(const struct lang_stmt *loop, const struct lang_expr *expr)
{
    if (expr->known) return true;
    if (expr->effects & (LANG_EFFECT_ACT | LANG_EFFECT_FAULT | LANG_EFFECT_VARYING)) return false;
    if (expr->kind == LANG_E_NAME && expr->symbol && expr->symbol->kind == LANG_SYMBOL_VARIABLE)
        return expr->symbol->assigns == 0 ||
               (!assigned_in(loop->body, expr->symbol) && !assigned_in(loop->step, expr->symbol));
    if (expr->kind == LANG_E_OLD) return false;
    /* What a function calls `in` may be written under another name. */
    if (expr->kind == LANG_E_INDEX && vyre_gen_buffer(expr->symbol)->access != LANG_ACCESS_IN)
        return false;
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i] && !settled_in(loop, expr->arg[i])) return false;
    if (expr->kind == LANG_E_CALL && expr->builtin->lowering == LANG_LOWER_LENGTH) return true;
    for (const struct lang_expr *a = expr->args; a; a = a->next)
        if (!settled_in(loop, a)) return false;
    return true;
}

static bool steps_by_one(const struct lang_stmt *step, const struct lang_symbol *symbol)
{
    if (!step || step->next || step->kind != LANG_S_ASSIGN || step->target->symbol != symbol ||
        step->target->kind != LANG_E_NAME)
        return false;
    if (step->op == LANG_PLUS_PLUS) return true;
    const struct lang_expr *by = step->op == LANG_ADD_SET ? step->value->arg[1] : NULL;
    return by && by->known && by->value == 1;
}

static bool counts(const struct lang_stmt *stmt, struct counted *counted)
{
    const struct lang_stmt *init = stmt->init;
    struct lang_expr *condition = stmt->value;
    if (stmt->kind != LANG_S_FOR || !init || init->next || init->kind != LANG_S_DECLARE ||
        !condition || condition->kind != LANG_E_BINARY || condition->known)
        return false;
    struct lang_symbol *symbol = init->symbol;
    if (symbol->kind != LANG_SYMBOL_VARIABLE || symbol->assigns != 1 ||
        (symbol->type != LANG_TYPE_U32 && symbol->type != LANG_TYPE_I32))
        return false;
    while (condition->kind == LANG_E_BINARY && condition->op == LANG_AND_AND) {
        if (!plain(condition->arg[1], symbol)) return false;
        condition = condition->arg[0];
    }
    if (condition->kind != LANG_E_BINARY || condition->known) return false;
    if (condition->arg[0]->kind != LANG_E_NAME || condition->arg[0]->symbol != symbol) return false;
    if (!steps_by_one(stmt->step, symbol) || !settled_in(stmt, condition->arg[1])) return false;
    *counted = (struct counted){symbol, init->value, condition->arg[1], stmt->value,
                                condition->op == LANG_LE};
    bool negative = symbol->type == LANG_TYPE_I32;
    uint32_t most = negative ? 0x7FFFFFFFu : 0xFFFFFFFFu;
    if (counted->inclusive && !(counted->to->known && counted->to->value < most)) return false;
    if (!counted->inclusive && condition->op != LANG_LT) return false;
    /* Of an i32 only what begins at 0 or above counts like a u32. */
    return !negative || !init->value || (init->value->known && (int32_t)init->value->value >= 0);
}

/* A flag that is up. */
static uint32_t raise_flag(struct gen *gen, const char *name)
{
    return vyre_gen_let(gen, name, vyre_gen_literal(gen, LANG_TYPE_BOOL, 1));
}

static void body(struct gen *gen, struct lang_stmt *stmt)
{
    struct gen_flow *flow = gen->flow;
    uint8_t jumps = vyre_gen_list_jumps(stmt->body);
    gen->span = stmt->span;
    if (jumps & LANG_JUMP_CONTINUE && vyre_gen_flagged(stmt->body, vyre_gen_jumps(gen)))
        flow->on = raise_flag(gen, "on");
    vyre_gen_list(gen, stmt->body);
}

/* Opens an if under a flag. */
static struct ir_list *under(struct gen *gen, uint32_t flag)
{
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = vyre_gen_var(gen, flag);
    return vyre_gen_open(gen, &node->body);
}

static struct ir_node *open_loop(struct gen *gen, uint32_t name, struct ir_expr *from,
                                 struct ir_expr *to)
{
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_LOOP);
    node->name = name;
    node->a = from;
    node->b = to;
    return node;
}

static struct ir_expr *count_to(struct gen *gen, const struct counted *counted)
{
    uint8_t type = counted->symbol->type;
    if (counted->to->known) {
        uint32_t to = counted->to->value + counted->inclusive;
        bool none = type == LANG_TYPE_I32 && (int32_t)to < 0;
        return vyre_gen_literal(gen, LANG_TYPE_U32, none ? 0 : to);
    }
    struct ir_expr *to = vyre_gen_expr(gen, counted->to);
    if (type == LANG_TYPE_U32) return to;
    to = vyre_gen_bin(gen, IR_BIN_MAX, to, vyre_gen_literal(gen, LANG_TYPE_I32, 0));
    return vyre_gen_cast(gen, IR_TYPE_U32, to);
}

/* What must be true besides the count, and the flag; NULL where that is nothing. */
static struct ir_expr *count_while(struct gen *gen, struct lang_expr *condition)
{
    if (condition->op != LANG_AND_AND)
        return gen->flow->go != IR_NONE ? vyre_gen_var(gen, gen->flow->go) : NULL;
    struct ir_expr *left = count_while(gen, condition->arg[0]);
    struct ir_expr *right =
        vyre_gen_bool(gen, condition->arg[1], vyre_gen_expr(gen, condition->arg[1]));
    return left ? vyre_gen_bin(gen, IR_BIN_AND, left, right) : right;
}

static void counted_loop(struct gen *gen, struct lang_stmt *stmt, const struct counted *counted,
                         struct ir_expr *goes)
{
    struct lang_symbol *symbol = counted->symbol;
    struct lang_expr *first = counted->from;
    struct ir_expr *from = !first || first->known
                               ? vyre_gen_literal(gen, LANG_TYPE_U32, first ? first->value : 0)
                               : vyre_gen_expr(gen, first);
    struct ir_list later = {0}, *outer = gen->list;
    gen->list = &later;
    struct ir_expr *to = count_to(gen, counted);
    gen->list = outer;
    from = vyre_gen_before(gen, from, &later);
    gen->span = stmt->span;
    uint32_t name = vyre_gen_fresh(gen, symbol->name->text);
    struct ir_node *node = open_loop(gen, name, from, to);
    outer = vyre_gen_open(gen, &node->body);
    struct ir_list *inner = NULL;
    if (goes) {
        struct ir_node *inside = vyre_gen_node(gen, IR_NODE_IF);
        inside->a = goes;
        inner = vyre_gen_open(gen, &inside->body);
    }
    symbol->ir = name;
    if (symbol->type == LANG_TYPE_I32)
        symbol->ir = vyre_gen_let(gen, symbol->name->text,
                                  vyre_gen_cast(gen, IR_TYPE_I32, vyre_gen_var(gen, name)));
    body(gen, stmt);
    if (inner) vyre_gen_close(gen, inner);
    vyre_gen_close(gen, outer);
}

/* As the machine judges it. */
static bool settled(const struct ir_expr *expr)
{
    switch (expr->kind) {
    case IR_EXPR_LOAD:
    case IR_EXPR_ATOMIC:
    case IR_EXPR_CALL:
    case IR_EXPR_SUBGROUP_ADD:
    case IR_EXPR_SUBGROUP_SHUFFLE:
    case IR_EXPR_SUBGROUP_BALLOT:
        return false;
    default:
        break;
    }
    for (uint32_t i = 0; i < 3; i++)
        if (expr->arg[i] && !settled(expr->arg[i])) return false;
    return true;
}

static void steps(struct gen *gen, struct lang_stmt *stmt)
{
    /* A round that is left by `break` makes no step. */
    struct ir_list *outer = NULL;
    bool leaves = vyre_gen_list_jumps(stmt->body) & vyre_gen_jumps(gen) &
                  (LANG_JUMP_BREAK | LANG_JUMP_RETURN);
    if (!stmt->step ||
        (vyre_gen_ends(stmt->body) && !(vyre_gen_list_jumps(stmt->body) & LANG_JUMP_CONTINUE)))
        return;
    gen->span = stmt->step->span;
    if (leaves) outer = under(gen, gen->flow->go);
    for (struct lang_stmt *step = stmt->step; step; step = step->next)
        vyre_gen_statement(gen, step);
    if (outer) vyre_gen_close(gen, outer);
}

/* What a round of a while does: its condition, where that could not stand in the if, and all else.
 */
static void round_of(struct gen *gen, struct lang_stmt *stmt, struct ir_expr *condition,
                     struct ir_list *before)
{
    struct ir_list *outer = NULL;
    if (condition) {
        vyre_gen_splice(gen, before);
        vyre_gen_assign(gen, gen->flow->go, condition);
        outer = under(gen, gen->flow->go);
    }
    body(gen, stmt);
    steps(gen, stmt);
    if (outer) vyre_gen_close(gen, outer);
}

static void while_loop(struct gen *gen, struct lang_stmt *stmt)
{
    struct gen_flow *flow = gen->flow;
    struct ir_list before = {0}, *outer = gen->list;
    struct ir_expr *condition = NULL, *own = NULL;
    if (stmt->value && !(stmt->value->known && stmt->value->value)) {
        gen->list = &before;
        condition = vyre_gen_bool(gen, stmt->value, vyre_gen_expr(gen, stmt->value));
        gen->list = outer;
    }
    gen->span = stmt->span;
    /* One that is as deep as can be has no room for a flag beside it. */
    if (condition && (before.count > 0 || !settled(condition) ||
                      gen->depths[condition->id] >= GEN_MOST_EXPR_DEEP - 1)) {
        own = condition;
        condition = NULL;
        if (flow->go == IR_NONE) flow->go = raise_flag(gen, "go");
    }
    struct ir_node *node =
        open_loop(gen, vyre_gen_fresh(gen, "turn"), vyre_gen_literal(gen, LANG_TYPE_U32, 0),
                  vyre_gen_literal(gen, LANG_TYPE_U32, GEN_FOREVER));
    outer = vyre_gen_open(gen, &node->body);
    if (condition && flow->go != IR_NONE)
        condition = vyre_gen_bin(gen, IR_BIN_AND, vyre_gen_var(gen, flow->go), condition);
    else if (flow->go != IR_NONE)
        condition = vyre_gen_var(gen, flow->go);
    if (condition) {
        struct ir_node *inside = vyre_gen_node(gen, IR_NODE_IF);
        inside->a = condition;
        struct ir_list *middle = vyre_gen_open(gen, &inside->body);
        round_of(gen, stmt, own, &before);
        vyre_gen_close(gen, middle);
    } else {
        round_of(gen, stmt, own, &before);
    }
    vyre_gen_close(gen, outer);
}

static void do_loop(struct gen *gen, struct lang_stmt *stmt)
{
    uint8_t jumps = vyre_gen_list_jumps(stmt->body) & vyre_gen_jumps(gen);
    struct ir_node *node =
        open_loop(gen, vyre_gen_fresh(gen, "turn"), vyre_gen_literal(gen, LANG_TYPE_U32, 0),
                  vyre_gen_literal(gen, LANG_TYPE_U32, GEN_FOREVER));
    struct ir_list *outer = vyre_gen_open(gen, &node->body), *last = NULL;
    struct ir_list *middle = under(gen, gen->flow->go);
    body(gen, stmt);
    if (!vyre_gen_ends(stmt->body) || jumps & LANG_JUMP_CONTINUE) {
        if (jumps & (LANG_JUMP_BREAK | LANG_JUMP_RETURN)) last = under(gen, gen->flow->go);
        struct ir_expr *condition = vyre_gen_expr(gen, stmt->value);
        vyre_gen_assign(gen, gen->flow->go, vyre_gen_bool(gen, stmt->value, condition));
        if (last) vyre_gen_close(gen, last);
    }
    vyre_gen_close(gen, middle);
    vyre_gen_close(gen, outer);
}

void vyre_gen_loop(struct gen *gen, struct lang_stmt *stmt)
{
    struct gen_flow flow = {
        .outer = gen->flow, .loop = true, .go = IR_NONE, .on = IR_NONE, .result = IR_NONE};
    struct counted counted;
    gen->flow = &flow;
    if (stmt->kind == LANG_S_FOR) take_breaks(gen, stmt);
    uint8_t jumps = vyre_gen_list_jumps(stmt->body) & vyre_gen_jumps(gen);
    bool leaves = jumps & (LANG_JUMP_BREAK | LANG_JUMP_RETURN);
    if (leaves || stmt->kind == LANG_S_DO) flow.go = raise_flag(gen, "go");
    bool counting = counts(stmt, &counted);
    /* The machine leaves a counted loop early only where its bounds are the same in all lanes. */
    if (counting && (leaves || counted.condition->op == LANG_AND_AND) &&
        ((counted.from && !counted.from->known) ||
         (!counted.to->known && counted.to->effects & LANG_EFFECT_LANES)))
        counting = false;
    /* Nor where its condition needs a statement: then its body is more than an if. */
    struct ir_list before = {0}, *outer = gen->list;
    struct ir_expr *goes = NULL;
    gen->list = &before;
    if (counting) goes = count_while(gen, counted.condition);
    gen->list = outer;
    if (counting && before.count == 0) {
        counted_loop(gen, stmt, &counted, goes);
    } else if (stmt->kind == LANG_S_DO) {
        do_loop(gen, stmt);
    } else {
        /* What `for` begins with is its own, and stands outside the flags of its rounds. */
        for (struct lang_stmt *init = stmt->init; init; init = init->next)
            vyre_gen_statement(gen, init);
        while_loop(gen, stmt);
    }
    gen->flow = flow.outer;
}
