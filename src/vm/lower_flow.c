/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements. Control flow on a scalar is a jump for all lanes at once; on a vector it opens a mask
 * (a divergent region). A variable that is assigned in a divergent region that its declaration is
 * not in is a vector, and the write is masked: lanes that are not there keep their value.
 */
#include "vm/lower.h"

void vyre_low_scan(struct lowering *low, const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node; node = node->next) {
        if (node->kind == IR_NODE_ASSIGN && node->name < low->tree->name_count)
            low->assigned[node->name] = 1;
        if (node->kind == IR_NODE_ASYNC_LOAD || node->kind == IR_NODE_ASYNC_STORE)
            vyre_low_async_site(low, node);
        vyre_low_scan(low, &node->body);
        vyre_low_scan(low, &node->otherwise);
    }
}

static void declare(struct lowering *low, struct low_variable variable)
{
    if (!low_room(low, (void **)&low->variables, &low->variable_room, low->variable_count,
                  sizeof *low->variables))
        return;
    variable.depth = low->depth;
    low->variables[low->variable_count++] = variable;
    low->scope[variable.name] = low->variable_count;
}

static void scoped(struct lowering *low, const struct ir_list *list)
{
    uint32_t outside = low->variable_count;
    vyre_low_list(low, list);
    while (low->variable_count > outside)
        low->scope[low->variables[--low->variable_count].name] = 0;
}

/* The guess about a variable takes in one more value. */
static void take_in(struct lowering *low, struct low_fact *fact, uint32_t kinds, int vector)
{
    uint32_t joined = fact->kinds | kinds;
    char name[64];
    int floats = joined & LOW_F32 && joined != LOW_F32;
    if (low_words(joined) != low_words(kinds) ||
        (fact->kinds && low_words(fact->kinds) != low_words(kinds)) || floats)
        vyre_low_refuse(low, low->source, "a variable that is %s",
                        vyre_low_kind_name(joined, name));
    if (joined != fact->kinds || (vector && !fact->vector)) low->again = 1;
    fact->kinds = (uint16_t)joined;
    fact->vector = (uint16_t)(fact->vector | (vector != 0));
}

static void let_assigned(struct lowering *low, const struct ir_node *node, struct low_value value)
{
    if (!low_room(low, (void **)&low->facts, &low->fact_room, low->fact_count, sizeof *low->facts))
        return;
    uint32_t number = low->fact_count++;
    uint32_t again = low->again; /* the register comes after this look: nothing was made yet */
    take_in(low, &low->facts[number], value.kinds, !low->regs[value.reg].scalar);
    low->again = again;
    struct low_fact fact = low->facts[number];
    uint32_t reg = vyre_low_reg(low, low_words(fact.kinds), !fact.vector);
    if (low->status != VYRE_OK) return;
    low->regs[reg].named = 1;
    low->regs[reg].variable = 1;
    vyre_low_write(low, reg, value, 0);
    declare(low, (struct low_variable){{reg, fact.kinds}, node->name, 0, number});
}

/* A value that stays as it is when the variable that it was taken from is assigned. */
static struct low_value keep(struct lowering *low, struct low_value value)
{
    if (!low->regs[value.reg].variable) return value;
    uint32_t reg = vyre_low_reg(low, low->regs[value.reg].width, low->regs[value.reg].scalar);
    vyre_low_write(low, reg, value, 0);
    return (struct low_value){reg, value.kinds};
}

static void let(struct lowering *low, const struct ir_node *node)
{
    struct low_value value = vyre_low_expr(low, node->a);
    low->source = node->id;
    if (low->status != VYRE_OK) return;
    if (low->assigned[node->name]) {
        let_assigned(low, node, value);
        return;
    }
    value = keep(low, value);
    low->regs[value.reg].named = 1;
    declare(low, (struct low_variable){value, node->name, 0, IR_NONE});
}

static void assign(struct lowering *low, const struct ir_node *node)
{
    struct low_value value = vyre_low_expr(low, node->a);
    uint32_t number = node->name < low->tree->name_count ? low->scope[node->name] : 0;
    low->source = node->id;
    if (low->status != VYRE_OK) return;
    if (number == 0 || low->variables[number - 1].fact == IR_NONE) {
        vyre_low_refuse(low, node->id, "`%s` is no variable that can be assigned",
                        node->name < low->tree->name_count ? low->tree->names[node->name].text
                                                           : "");
        return;
    }
    const struct low_variable *variable = &low->variables[number - 1];
    int masked = low->depth > variable->depth;
    take_in(low, &low->facts[variable->fact], value.kinds, masked || !low->regs[value.reg].scalar);
    if (low->status == VYRE_OK) vyre_low_write(low, variable->value.reg, value, masked);
}

static uint32_t control(struct lowering *low, uint32_t op, low_word a)
{
    return vyre_low_emit(low, &(struct low_insn){.op = (uint16_t)op, .a = a});
}

static void aim(struct lowering *low, uint32_t insn, uint32_t target)
{
    if (low->status == VYRE_OK) low->code.at[insn].imm = target;
}

static void uniform_if(struct lowering *low, const struct ir_node *node, low_word condition)
{
    uint32_t jump = control(low, VM_OP_JZ, condition);
    scoped(low, &node->body);
    uint32_t end = low->code.count;
    if (node->otherwise.count != 0) {
        uint32_t over = control(low, VM_OP_JUMP, 0);
        aim(low, jump, low->code.count);
        scoped(low, &node->otherwise);
        aim(low, over, low->code.count);
        if (low->code.count == over + 1) { /* nothing was made of it */
            low->code.count = end;
            aim(low, jump, end);
        }
    } else {
        aim(low, jump, end);
    }
    if (low->code.count == jump + 1) low->code.count = jump;
}

static void divergent_if(struct lowering *low, const struct ir_node *node, low_word condition)
{
    uint32_t open = control(low, VM_OP_IF, condition);
    low->depth++;
    scoped(low, &node->body);
    uint32_t middle = low->code.count;
    if (node->otherwise.count != 0) {
        control(low, VM_OP_ELSE, 0);
        scoped(low, &node->otherwise);
        if (low->code.count == middle + 1) low->code.count = middle; /* nothing was made of it */
    }
    low->depth--;
    low->source = node->id;
    if (low->code.count == open + 1) {
        low->code.count = open;
        return;
    }
    uint32_t end = control(low, VM_OP_ENDIF, 0);
    aim(low, open, middle);
    if (middle != end) aim(low, middle, end);
}

/* Of the if that is all of a loop's body: what is left of the loop is left at once. */
#define NEVER_TAKEN (IR_NONE - 1u)

/* The if that is all of a loop's body: where no lane takes it any more the loop is over. */
static void leaving_if(struct lowering *low, const struct ir_node *node, low_word condition)
{
    uint32_t divergent = !low->regs[condition >> 2].scalar;
    uint32_t leave = control(low, divergent ? VM_OP_IFLEAVE : VM_OP_LEAVE, condition);
    low->depth += divergent;
    scoped(low, &node->body);
    low->depth -= divergent;
    low->source = node->id;
    if (low->code.count == leave + 1) { /* nothing was made of it */
        low->code.count = leave;
        return;
    }
    if (divergent) control(low, VM_OP_ENDIF, 0);
    low->leave = leave;
}

static void choose(struct lowering *low, const struct ir_node *node)
{
    struct low_value value = vyre_low_expr(low, node->a);
    uint32_t known;
    low->source = node->id;
    if (low->status != VYRE_OK) return;
    low_word condition = vyre_low_condition(low, value);
    if (low->status != VYRE_OK) return;
    if (vyre_low_is_constant(low, condition, &known)) {
        if (!known && node == low->leaving) low->leave = NEVER_TAKEN;
        scoped(low, known ? &node->body : &node->otherwise);
    } else if (node == low->leaving)
        leaving_if(low, node, condition);
    else if (low->regs[condition >> 2].scalar)
        uniform_if(low, node, condition);
    else
        divergent_if(low, node, condition);
}

/* Whether an expression can only change when a variable other than `counter` is assigned. */
static int settled(const struct ir_expr *expr, uint32_t counter)
{
    switch (expr->kind) {
    case IR_EXPR_LIT_U32:
    case IR_EXPR_LIT_I32:
    case IR_EXPR_LIT_BOOL:
    case IR_EXPR_LIT_F32:
    case IR_EXPR_BUF_LEN:
    case IR_EXPR_INVOCATION_ID:
    case IR_EXPR_WORKGROUP_ID:
    case IR_EXPR_LOCAL_ID:
        return 1;
    case IR_EXPR_VAR:
        return expr->name != counter;
    case IR_EXPR_BIN_OP:
    case IR_EXPR_UN_OP:
    case IR_EXPR_CAST:
    case IR_EXPR_SELECT:
    case IR_EXPR_FMA:
        for (uint32_t i = 0; i < 3; i++)
            if (expr->arg[i] && !settled(expr->arg[i], counter)) return 0;
        return 1;
    default:
        return 0;
    }
}

/*
 * A loop that is a while: all of its body is an if without an else. Its variables are assigned
 * nowhere else in the loop, so a lane that does not take it will never take it again.
 */
static const struct ir_node *while_if(const struct ir_node *loop)
{
    const struct ir_node *node = loop->body.first;
    while (node && !node->next && (node->kind == IR_NODE_BLOCK || node->kind == IR_NODE_REGION))
        node = node->body.first;
    if (!node || node->next || node->kind != IR_NODE_IF || node->otherwise.count != 0) return NULL;
    return settled(node->a, loop->name) ? node : NULL;
}

static void loop_body(struct lowering *low, const struct ir_node *node, const struct low_insn *head,
                      int uniform)
{
    uint32_t open = vyre_low_emit(low, head), outside = low->variable_count;
    const struct ir_node *leaving = low->leaving;
    uint32_t leave = low->leave;
    low->leaving = uniform ? while_if(node) : NULL;
    low->leave = IR_NONE;
    low->depth += !uniform;
    declare(low, (struct low_variable){{head->d >> 2, LOW_U32}, node->name, 0, IR_NONE});
    scoped(low, &node->body);
    if (low->variable_count > outside) low->scope[low->variables[--low->variable_count].name] = 0;
    low->depth -= !uniform;
    low->source = node->id;
    if (low->code.count == open + 1) {
        low->code.count = open;
    } else {
        if (low->leave == NEVER_TAKEN)
            low->leave =
                control(low, VM_OP_LEAVE, low_at(vyre_low_constant(low, LOW_U32, 0).reg, 0));
        struct low_insn next = {
            .op = uniform ? VM_OP_NEXT : VM_OP_VNEXT, .d = head->d, .a = head->b, .imm = open + 1};
        uint32_t close = vyre_low_emit(low, &next);
        aim(low, open, close + 1);
        if (low->leave != IR_NONE) aim(low, low->leave, close + 1);
    }
    low->leaving = leaving;
    low->leave = leave;
}

static void loop(struct lowering *low, const struct ir_node *node)
{
    uint32_t first, last;
    low_word from = vyre_low_index(low, vyre_low_expr(low, node->a));
    /* The limit is what it was when the loop began. */
    struct low_value to = vyre_low_expr(low, node->b);
    low->source = node->id;
    if (low->status != VYRE_OK) return;
    low_word limit = vyre_low_index(low, keep(low, to));
    if (low->status != VYRE_OK) return;
    if (vyre_low_is_constant(low, from, &first) && vyre_low_is_constant(low, limit, &last) &&
        first >= last)
        return;
    int uniform = low->regs[from >> 2].scalar && low->regs[limit >> 2].scalar;
    uint32_t counter = vyre_low_reg(low, 1, uniform);
    low->regs[counter].named = 1;
    if (uniform && vyre_low_is_constant(low, limit, &last)) low->regs[counter].below = last;
    loop_body(low, node,
              &(struct low_insn){.op = uniform ? VM_OP_LOOP : VM_OP_VLOOP,
                                 .d = low_at(counter, 0),
                                 .a = from,
                                 .b = limit},
              uniform);
}

static void trap(struct lowering *low, const struct ir_node *node)
{
    low_word address = vyre_low_index(low, vyre_low_expr(low, node->a));
    low->source = node->id;
    vyre_low_emit(low, &(struct low_insn){.op = VM_OP_TRAPIF,
                                          .a = low_at(vyre_low_constant(low, LOW_U32, 1).reg, 0),
                                          .b = address,
                                          .imm = VM_TRAP_TRAP});
}

static void store(struct lowering *low, const struct ir_node *node)
{
    struct low_value index = vyre_low_expr(low, node->a);
    struct low_value value = vyre_low_expr(low, node->b);
    low->source = node->id;
    vyre_low_store(low, node, index, value);
}

static void barrier(struct lowering *low, const struct ir_node *node)
{
    if (low->depth != 0)
        vyre_low_refuse(low, node->id, "a barrier where the lanes of a workgroup may part");
    control(low, VM_OP_BARRIER, 0);
}

static void statement(struct lowering *low, const struct ir_node *node)
{
    switch (node->kind) {
    case IR_NODE_LET:
        let(low, node);
        return;
    case IR_NODE_ASSIGN:
        assign(low, node);
        return;
    case IR_NODE_STORE:
        store(low, node);
        return;
    case IR_NODE_IF:
        choose(low, node);
        return;
    case IR_NODE_LOOP:
        loop(low, node);
        return;
    case IR_NODE_BLOCK:
    case IR_NODE_REGION:
        scoped(low, &node->body);
        return;
    case IR_NODE_BARRIER:
        barrier(low, node);
        return;
    case IR_NODE_TRAP:
        trap(low, node);
        return;
    case IR_NODE_ASYNC_LOAD:
    case IR_NODE_ASYNC_STORE:
        vyre_low_async_begin(low, node);
        return;
    case IR_NODE_ASYNC_WAIT:
        vyre_low_async_wait(low, node);
        return;
    case IR_NODE_RETURN:
        vyre_low_async_end(low);
        control(low, VM_OP_RET, 0);
        return;
    /* One rank is the whole world: nothing to exchange. */
    case IR_NODE_ALL_REDUCE:
        if (node->group == 0) return;
        break;
    case IR_NODE_BROADCAST:
        if (node->group == 0 && node->root == 0) return;
        break;
    default:
        break;
    }
    const char *word = vyre_ir_node_word(node->kind);
    vyre_low_refuse(low, node->id, "%s ends every program that reaches it", word ? word : "?");
}

void vyre_low_list(struct lowering *low, const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node && low->status == VYRE_OK;
         node = node->next) {
        low->source = node->id;
        statement(low, node);
    }
}
