/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements of the oracle: one step of one invocation. A step runs one statement, or leaves a
 * list of statements that has come to its end.
 */
#include "oracle/oracle_inside.h"

static void declare(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node,
                    const struct oracle_value *value)
{
    struct oracle_variable *var = &lane->vars[node->name];
    if (var->live) {
        (void)oracle_fail(o, ORACLE_NAME, node->id);
        return;
    }
    *var = (struct oracle_variable){.live = 1, .loop = node->kind == IR_NODE_LOOP, .value = *value};
    lane->declared[lane->declared_count++] = node->name;
}

static void forget(struct oracle_lane *lane, uint32_t declared)
{
    while (lane->declared_count > declared)
        lane->vars[lane->declared[--lane->declared_count]].live = 0;
}

static void finish(struct oracle *o, struct oracle_lane *lane, uint32_t id)
{
    lane->depth = 0;
    if (lane->copies) (void)oracle_fail(o, ORACLE_ASYNC, id);
}

static struct oracle_frame *enter(struct oracle *o, struct oracle_lane *lane,
                                  const struct ir_list *list, uint32_t id)
{
    if (lane->depth == sizeof lane->frames / sizeof lane->frames[0]) {
        (void)oracle_fail(o, ORACLE_STATEMENT, id);
        return NULL;
    }
    struct oracle_frame *frame = &lane->frames[lane->depth++];
    *frame = (struct oracle_frame){.next = list->first, .declared = lane->declared_count};
    return frame;
}

static void begin_iteration(struct oracle *o, struct oracle_lane *lane, struct oracle_frame *frame)
{
    struct oracle_value i = oracle_scalar(KIND_U32, frame->i);
    frame->next = frame->loop->body.first;
    declare(o, lane, frame->loop, &i);
}

static void step_loop(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    uint32_t from = oracle_eval_index(o, lane, node->a);
    if (o->run->error) return;
    uint32_t to = oracle_eval_index(o, lane, node->b);
    if (o->run->error || from >= to) return;
    struct oracle_frame *frame = enter(o, lane, &node->body, node->id);
    if (frame == NULL) return;
    frame->loop = node;
    frame->i = from;
    frame->to = to;
    begin_iteration(o, lane, frame);
}

static void leave(struct oracle *o, struct oracle_lane *lane, struct oracle_frame *frame)
{
    forget(lane, frame->declared);
    if (frame->loop && frame->i + 1 < frame->to) {
        frame->i++;
        begin_iteration(o, lane, frame);
        return;
    }
    lane->depth--;
    if (lane->depth == 0) finish(o, lane, IR_NONE);
}

/* Through If, Loop and Block, but not into regions. */
static int has_barrier(const struct ir_list *list)
{
    for (const struct ir_node *node = list->first; node; node = node->next) {
        if (node->kind == IR_NODE_BARRIER) return 1;
        if (node->kind == IR_NODE_REGION) continue;
        if (has_barrier(&node->body) || has_barrier(&node->otherwise)) return 1;
    }
    return 0;
}

/* An If around a barrier goes the same way in every invocation and every time. */
static void check_branch(struct oracle *o, const struct ir_node *node, int taken)
{
    uint8_t way = taken ? 2 : 1;
    if (node->id >= o->id_count) return;
    if (o->barrier_inside[node->id] == 0)
        o->barrier_inside[node->id] =
            has_barrier(&node->body) || has_barrier(&node->otherwise) ? 2 : 1;
    if (o->barrier_inside[node->id] == 1) return;
    if (o->branch[node->id] != 0 && o->branch[node->id] != way)
        (void)oracle_fail(o, ORACLE_BARRIER, node->id);
    o->branch[node->id] = way;
}

/* Whether it depends on nothing but literals, ids, lengths and variables other than `but`. */
static int only_variables(const struct ir_expr *expr, uint32_t but)
{
    switch (expr->kind) {
    case IR_EXPR_INVOCATION_ID:
    case IR_EXPR_LOCAL_ID:
    case IR_EXPR_WORKGROUP_ID:
    case IR_EXPR_BUF_LEN:
    case IR_EXPR_LIT_U32:
    case IR_EXPR_LIT_I32:
    case IR_EXPR_LIT_BOOL:
    case IR_EXPR_LIT_F32:
        return 1;
    case IR_EXPR_VAR:
        return expr->name != but;
    case IR_EXPR_BIN_OP:
        return only_variables(expr->arg[0], but) && only_variables(expr->arg[1], but);
    case IR_EXPR_SELECT:
    case IR_EXPR_FMA:
        return only_variables(expr->arg[0], but) && only_variables(expr->arg[1], but) &&
               only_variables(expr->arg[2], but);
    case IR_EXPR_UN_OP:
    case IR_EXPR_CAST:
        return only_variables(expr->arg[0], but);
    default:
        return 0;
    }
}

/*
 * A loop whose body is one If without an else, on variables of the invocation: once it is not
 * taken nothing changes any more, so the other iterations (up to 2^32 of them) do nothing either.
 */
static void step_if(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    struct oracle_frame *frame = &lane->frames[lane->depth - 1];
    struct oracle_value value = oracle_eval(o, lane, node->a);
    if (o->run->error) return;
    int taken = oracle_truth(&value);
    check_branch(o, node, taken);
    if (o->run->error) return;
    if (!taken && frame->loop && frame->loop->body.count == 1 && node->otherwise.count == 0 &&
        only_variables(node->a, frame->loop->name))
        frame->i = frame->to - 1;
    (void)enter(o, lane, taken ? &node->body : &node->otherwise, node->id);
}

static void step_let(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    struct oracle_value value = oracle_eval(o, lane, node->a);
    if (o->run->error) return;
    if (node->kind == IR_NODE_LET) {
        declare(o, lane, node, &value);
        return;
    }
    struct oracle_variable *var = &lane->vars[node->name];
    if (!var->live || var->loop)
        (void)oracle_fail(o, ORACLE_NAME, node->id);
    else
        var->value = value;
}

static void step_store(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    uint64_t index = oracle_eval_index(o, lane, node->a);
    if (o->run->error) return;
    struct oracle_value value = oracle_eval(o, lane, node->b);
    uint32_t buffer = oracle_buffer(o, node->name, node->id);
    if (o->run->error) return;
    const struct ir_type *type = &o->program->buffers[buffer].type;
    uint64_t stride = oracle_width_of(type).stride;
    unsigned char *cell = oracle_cell(o, buffer, index * stride, stride);
    if (cell) oracle_write(type, &value, cell);
}

/* In a world of one: AllReduce and Broadcast change nothing, the others copy element by element. */
static void step_collective(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    int copies = node->kind == IR_NODE_ALL_GATHER || node->kind == IR_NODE_REDUCE_SCATTER;
    if (node->group != 0 || (node->kind == IR_NODE_BROADCAST && node->root != 0)) {
        (void)oracle_fail(o, ORACLE_STATEMENT, node->id);
        return;
    }
    if (!copies) return;
    uint32_t from = oracle_buffer(o, node->name, node->id);
    uint32_t to = oracle_buffer(o, node->other, node->id);
    if (o->run->error) return;
    uint64_t index = (uint64_t)o->group[0] * o->program->workgroup[0] + lane->local[0];
    if (index >= oracle_length(o, from) || index >= oracle_length(o, to)) return;
    uint64_t from_width = oracle_width_of(&o->program->buffers[from].type).stride;
    uint64_t to_width = oracle_width_of(&o->program->buffers[to].type).stride;
    unsigned char *source = oracle_cell(o, from, index * from_width, from_width);
    unsigned char *target = oracle_cell(o, to, index * to_width, to_width);
    if (source == NULL || target == NULL) return;
    struct oracle_value value = oracle_read(&o->program->buffers[from].type, source);
    oracle_write(&o->program->buffers[to].type, &value, target);
}

static void step_node(struct oracle *o, struct oracle_lane *lane, const struct ir_node *node)
{
    switch (node->kind) {
    case IR_NODE_LET:
    case IR_NODE_ASSIGN:
        step_let(o, lane, node);
        return;
    case IR_NODE_STORE:
        step_store(o, lane, node);
        return;
    case IR_NODE_IF:
        step_if(o, lane, node);
        return;
    case IR_NODE_LOOP:
        step_loop(o, lane, node);
        return;
    case IR_NODE_RETURN:
        finish(o, lane, node->id);
        return;
    case IR_NODE_BLOCK:
    case IR_NODE_REGION:
        (void)enter(o, lane, &node->body, node->id);
        return;
    case IR_NODE_BARRIER:
        lane->waiting = 1;
        return;
    case IR_NODE_ASYNC_LOAD:
    case IR_NODE_ASYNC_STORE:
        oracle_copy_start(o, lane, node);
        return;
    case IR_NODE_ASYNC_WAIT:
        oracle_copy_wait(o, lane, node);
        return;
    case IR_NODE_TRAP:
        (void)oracle_eval(o, lane, node->a);
        (void)oracle_fail(o, ORACLE_TRAP, node->id);
        return;
    case IR_NODE_ALL_REDUCE:
    case IR_NODE_ALL_GATHER:
    case IR_NODE_REDUCE_SCATTER:
    case IR_NODE_BROADCAST:
        step_collective(o, lane, node);
        return;
    default: /* RESUME and INDIRECT_DISPATCH among them */
        (void)oracle_fail(o, ORACLE_STATEMENT, node->id);
        return;
    }
}

void oracle_step(struct oracle *o, struct oracle_lane *lane)
{
    struct oracle_frame *frame = &lane->frames[lane->depth - 1];
    const struct ir_node *node = frame->next;
    if (node == NULL) {
        leave(o, lane, frame);
        return;
    }
    frame->next = node->next;
    step_node(o, lane, node);
}
