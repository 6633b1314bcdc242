/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a source means: its tree is run as it stands. Workgroups come one after the other, and in a
 * workgroup lanes do, one after the other, all that lies between two barriers. A jump of the
 * language is the value that a statement here ends with.
 */
#include "oracle/source.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 400000u
#define MOST_LANES 256u

struct memory {
    unsigned char *bytes;
    uint32_t count;
    uint8_t element;
};

/* Of one call, or of one lane of the kernel. */
struct frame {
    uint32_t vars[SOURCE_MOST_VARS];
    struct memory *buffers[SOURCE_MOST_BUFFERS];
    uint32_t value; /* what it returns */
};

struct run {
    const struct source *source;
    struct source_result *result;
    enum source_mistake mistake;
    struct memory memory[SOURCE_MOST_BUFFERS];
    uint32_t group[3], local[3];
    bool ended; /* this lane, by a mistake */
    struct frame lanes[MOST_LANES];
    bool finished[MOST_LANES];
};

enum flow { NEXT, BREAK, CONTINUE, RETURN, STOP };

static uint32_t eval(struct run *run, struct frame *frame, const struct source_expr *expr);
static enum flow exec_list(struct run *run, struct frame *frame, const struct source_stmt *stmt);

static bool stopped(const struct run *run)
{
    return run->result->fault || run->result->endless || run->ended;
}

static void step(struct run *run)
{
    if (++run->result->steps > MOST_STEPS) run->result->endless = true;
}

/* Where an element lies, or NULL and one more out of bounds. */
static unsigned char *element(struct run *run, const struct memory *memory, uint32_t index)
{
    if (index < memory->count)
        return memory->bytes + (size_t)index * source_element_bytes(memory->element);
    run->result->out_of_bounds++;
    return NULL;
}

static uint32_t load(struct run *run, const struct memory *memory, uint32_t index)
{
    const unsigned char *at = element(run, memory, index);
    uint8_t as = memory->element;
    if (run->mistake == SOURCE_UNSIGNED_SMALL && as == SOURCE_E_I8) as = SOURCE_E_U8;
    if (run->mistake == SOURCE_UNSIGNED_SMALL && as == SOURCE_E_I16) as = SOURCE_E_U16;
    return at ? source_load(as, at) : 0;
}

static void store(struct run *run, const struct memory *memory, uint32_t index, uint32_t value)
{
    unsigned char *at = element(run, memory, index);
    if (at) source_store(memory->element, value, at);
}

static uint32_t id_of(const struct run *run, uint32_t which)
{
    uint32_t axis = which % 3, size = run->source->workgroup[axis];
    switch (which / 3) {
    case 0:
        return run->group[axis] * size + run->local[axis];
    case 1:
        return run->local[axis];
    case 2:
        return run->group[axis];
    default:
        return size;
    }
}

static uint32_t local_index(const struct run *run)
{
    const uint32_t *size = run->source->workgroup;
    return run->local[0] + size[0] * (run->local[1] + size[1] * run->local[2]);
}

static uint32_t lane_number(const struct run *run)
{
    const uint32_t *size = run->source->workgroup, *grid = run->source->grid;
    uint32_t group = run->group[0] + grid[0] * (run->group[1] + grid[1] * run->group[2]);
    return group * size[0] * size[1] * size[2] + local_index(run);
}

static uint32_t binary(struct run *run, struct frame *frame, const struct source_expr *expr)
{
    const struct source_expr *left = expr->arg[0], *right = expr->arg[1];
    uint32_t a, b;
    if (expr->op == SOURCE_BOTH || expr->op == SOURCE_EITHER) {
        bool both = expr->op == SOURCE_BOTH;
        a = eval(run, frame, left);
        if ((a != 0) != both && run->mistake != SOURCE_BOTH_SIDES) return a != 0;
        b = eval(run, frame, right);
        return both ? a && b : a || b;
    }
    if (run->mistake == SOURCE_RIGHT_TO_LEFT) {
        b = eval(run, frame, right);
        a = eval(run, frame, left);
    } else {
        a = eval(run, frame, left);
        b = eval(run, frame, right);
    }
    if (stopped(run)) return 0;
    return source_binary(expr->op, left->type, a, b, &run->result->fault);
}

static uint32_t choose(struct run *run, struct frame *frame, const struct source_expr *expr)
{
    uint32_t which = eval(run, frame, expr->arg[0]) ? 1 : 2;
    if (run->mistake == SOURCE_BOTH_CHOICES) (void)eval(run, frame, expr->arg[3 - which]);
    return stopped(run) ? 0 : eval(run, frame, expr->arg[which]);
}

static uint32_t atomic(struct run *run, struct frame *frame, const struct source_expr *expr)
{
    uint32_t index = eval(run, frame, expr->arg[0]), a = eval(run, frame, expr->arg[1]);
    uint32_t b = expr->arg[2] ? eval(run, frame, expr->arg[2]) : 0;
    if (stopped(run)) return 0;
    unsigned char *at = element(run, frame->buffers[expr->buffer->number], index);
    if (!at) return 0;
    uint32_t old = source_load(SOURCE_E_U32, at), new = old;
    switch (expr->op) {
    case SOURCE_ATOMIC_ADD:
        new = old + a;
        break;
    case SOURCE_ATOMIC_SUB:
        new = old - a;
        break;
    case SOURCE_ATOMIC_AND:
        new = old &a;
        break;
    case SOURCE_ATOMIC_OR:
        new = old | a;
        break;
    case SOURCE_ATOMIC_XOR:
        new = old ^ a;
        break;
    case SOURCE_ATOMIC_MIN:
        new = a < old ? a : old;
        break;
    case SOURCE_ATOMIC_MAX:
        new = a > old ? a : old;
        break;
    case SOURCE_ATOMIC_EXCHANGE:
        new = a;
        break;
    default:
        new = old == a ? b : old;
        break;
    }
    source_store(SOURCE_E_U32, new, at);
    return old;
}

static uint32_t call(struct run *run, struct frame *frame, const struct source_expr *expr)
{
    const struct source_function *function = expr->function;
    struct frame inner = {.value = 0};
    uint32_t values = 0, buffers = 0;
    for (uint32_t i = 0; i < function->param_count; i++) {
        if (function->params[i]) {
            inner.buffers[buffers] = frame->buffers[expr->buffers[buffers]->number];
            buffers++;
        } else {
            inner.vars[values] = eval(run, frame, expr->arg[values]);
            values++;
        }
    }
    if (stopped(run)) return 0;
    if (exec_list(run, &inner, function->body) == RETURN &&
        run->mistake == SOURCE_RETURN_ENDS_KERNEL)
        run->ended = true;
    return inner.value;
}

static uint32_t given(struct run *run, struct frame *frame, const struct source_expr *expr)
{
    uint32_t args[3] = {0};
    for (uint32_t i = 0; i < 3 && expr->arg[i]; i++)
        args[i] = eval(run, frame, expr->arg[i]);
    return source_give(expr->op, expr->type, args);
}

static uint32_t eval(struct run *run, struct frame *frame, const struct source_expr *expr)
{
    step(run);
    if (stopped(run)) return 0;
    switch (expr->kind) {
    case SOURCE_X_LITERAL:
        return expr->value;
    case SOURCE_X_CONSTANT:
        return run->source->constants[expr->value];
    case SOURCE_X_VARIABLE:
        return frame->vars[expr->value];
    case SOURCE_X_LANE:
        return lane_number(run);
    case SOURCE_X_LOCAL:
        return local_index(run);
    case SOURCE_X_ID:
        return id_of(run, expr->value);
    case SOURCE_X_LOAD: {
        uint32_t index = eval(run, frame, expr->arg[0]);
        return stopped(run) ? 0 : load(run, frame->buffers[expr->buffer->number], index);
    }
    case SOURCE_X_LENGTH:
        return frame->buffers[expr->buffer->number]->count;
    case SOURCE_X_UNARY:
        return source_unary(expr->op, expr->arg[0]->type, eval(run, frame, expr->arg[0]));
    case SOURCE_X_BINARY:
        return binary(run, frame, expr);
    case SOURCE_X_CHOOSE:
        return choose(run, frame, expr);
    case SOURCE_X_CAST:
        return source_cast(expr->arg[0]->type, expr->type, eval(run, frame, expr->arg[0]));
    case SOURCE_X_GIVEN:
        return given(run, frame, expr);
    case SOURCE_X_CALL:
        return call(run, frame, expr);
    default:
        return atomic(run, frame, expr);
    }
}

static uint32_t after(struct run *run, const struct source_stmt *stmt, uint8_t type, uint32_t old,
                      uint32_t value)
{
    if (stmt->op == SOURCE_SET) return value;
    return source_binary(stmt->op, type, old, value, &run->result->fault);
}

static void assign(struct run *run, struct frame *frame, const struct source_stmt *stmt)
{
    uint32_t *var = &frame->vars[stmt->var];
    uint32_t old = *var, value = eval(run, frame, stmt->b);
    if (!stopped(run)) *var = after(run, stmt, stmt->type, old, value);
}

/* The index once, then what the element holds, then the value. */
static void assign_element(struct run *run, struct frame *frame, const struct source_stmt *stmt)
{
    const struct memory *memory = frame->buffers[stmt->buffer->number];
    uint32_t index = eval(run, frame, stmt->a), old = 0;
    if (!stopped(run) && stmt->op != SOURCE_SET) old = load(run, memory, index);
    uint32_t value = eval(run, frame, stmt->b);
    if (stopped(run)) return;
    value = after(run, stmt, source_element_type(memory->element), old, value);
    if (!stopped(run)) store(run, memory, index, value);
}

static bool asks(struct run *run, struct frame *frame, const struct source_expr *condition)
{
    step(run);
    bool yes = !condition || eval(run, frame, condition) != 0;
    return yes && !stopped(run);
}

/* Of a body: whether the loop goes on; *flow is what it ends with where not. */
static bool goes_on(const struct run *run, enum flow *flow)
{
    enum flow got = *flow;
    if (got == BREAK && run->mistake == SOURCE_BREAK_GOES_ON) got = CONTINUE;
    if (got == CONTINUE && run->mistake == SOURCE_CONTINUE_LEAVES) got = BREAK;
    if (got == RETURN && run->mistake == SOURCE_RETURN_ENDS_LOOP) got = BREAK;
    *flow = got == BREAK || got == CONTINUE ? NEXT : got;
    return got == NEXT || got == CONTINUE;
}

static enum flow exec_loop(struct run *run, struct frame *frame, const struct source_stmt *stmt)
{
    enum flow flow = exec_list(run, frame, stmt->init);
    bool asked = stmt->kind == SOURCE_S_DO ||
                 (stmt->kind == SOURCE_S_WHILE && run->mistake == SOURCE_WHILE_FIRST);
    while (asked || asks(run, frame, stmt->a)) {
        asked = false;
        flow = exec_list(run, frame, stmt->body);
        bool skips = flow == CONTINUE && run->mistake == SOURCE_NO_STEP;
        if (!goes_on(run, &flow)) break;
        if (!skips) (void)exec_list(run, frame, stmt->step);
    }
    return stopped(run) ? STOP : flow;
}

static enum flow exec_call(struct run *run, struct frame *frame, const struct source_stmt *stmt)
{
    bool holds = true;
    if (stmt->a) holds = eval(run, frame, stmt->a) != 0;
    if (stmt->b) (void)eval(run, frame, stmt->b);
    if (stmt->form == 2 && !holds && !stopped(run)) run->result->fault = true;
    return NEXT;
}

static enum flow exec(struct run *run, struct frame *frame, const struct source_stmt *stmt)
{
    step(run);
    switch (stmt->kind) {
    case SOURCE_S_DECLARE:
        frame->vars[stmt->var] = stmt->b ? eval(run, frame, stmt->b) : 0;
        return NEXT;
    case SOURCE_S_ASSIGN:
        assign(run, frame, stmt);
        return NEXT;
    case SOURCE_S_STORE:
        assign_element(run, frame, stmt);
        return NEXT;
    case SOURCE_S_IF:
        return exec_list(run, frame, asks(run, frame, stmt->a) ? stmt->body : stmt->otherwise);
    case SOURCE_S_FOR:
    case SOURCE_S_WHILE:
    case SOURCE_S_DO:
        return exec_loop(run, frame, stmt);
    case SOURCE_S_BREAK:
        return BREAK;
    case SOURCE_S_CONTINUE:
        return CONTINUE;
    case SOURCE_S_RETURN:
        if (stmt->b) frame->value = eval(run, frame, stmt->b);
        return RETURN;
    case SOURCE_S_CALL:
        return exec_call(run, frame, stmt);
    case SOURCE_S_EMPTY:
        return NEXT;
    default:
        return exec_list(run, frame, stmt->body);
    }
}

static enum flow exec_list(struct run *run, struct frame *frame, const struct source_stmt *stmt)
{
    enum flow flow = NEXT;
    for (; stmt && flow == NEXT; stmt = stmt->next) {
        if (stmt->dropped) continue;
        flow = stopped(run) ? STOP : exec(run, frame, stmt);
    }
    return stopped(run) ? STOP : flow;
}

static void place_lane(struct run *run, uint32_t lane)
{
    const uint32_t *size = run->source->workgroup;
    run->local[0] = lane % size[0];
    run->local[1] = lane / size[0] % size[1];
    run->local[2] = lane / size[0] / size[1];
}

static uint32_t lane_count(const struct source *source)
{
    return source->workgroup[0] * source->workgroup[1] * source->workgroup[2];
}

/* Each lane for itself, up to the next barrier. */
static void exec_phase(struct run *run, const struct source_stmt *body)
{
    for (uint32_t i = 0; i < lane_count(run->source); i++) {
        place_lane(run, i);
        if (run->finished[i] || stopped(run)) continue;
        enum flow flow = exec_list(run, &run->lanes[i], body);
        run->finished[i] = flow == RETURN || run->ended;
        run->ended = false;
    }
}

static enum flow exec_group(struct run *run, const struct source_stmt *stmt);

static enum flow exec_group_loop(struct run *run, const struct source_stmt *stmt)
{
    struct frame *first = &run->lanes[0];
    enum flow flow = exec_group(run, stmt->init);
    while (asks(run, first, stmt->a)) {
        flow = exec_group(run, stmt->body);
        if (!goes_on(run, &flow)) break;
        (void)exec_group(run, stmt->step);
    }
    return stopped(run) ? STOP : flow;
}

/* What all lanes do together; what it looks at is the same in all of them, those that have returned
 * included. */
static enum flow exec_group(struct run *run, const struct source_stmt *stmt)
{
    enum flow flow = NEXT;
    for (; stmt && flow == NEXT; stmt = stmt->next) {
        if (stmt->dropped) continue;
        if (stopped(run)) return STOP;
        place_lane(run, 0);
        switch (stmt->kind) {
        case SOURCE_S_PHASE:
            exec_phase(run, stmt->body);
            break;
        case SOURCE_S_BARRIER:
            break;
        case SOURCE_S_IF:
            flow =
                exec_group(run, asks(run, &run->lanes[0], stmt->a) ? stmt->body : stmt->otherwise);
            break;
        case SOURCE_S_FOR:
        case SOURCE_S_WHILE:
            flow = exec_group_loop(run, stmt);
            break;
        case SOURCE_S_BREAK:
            flow = BREAK;
            break;
        case SOURCE_S_CONTINUE:
            flow = CONTINUE;
            break;
        default: /* of a variable that is the same in all lanes */
            for (uint32_t i = 0; i < lane_count(run->source); i++)
                (void)exec(run, &run->lanes[i], stmt);
        }
    }
    return flow;
}

static void run_group(struct run *run)
{
    const struct source *source = run->source;
    const struct source_function *kernel = &source->functions[source->function_count - 1];
    for (uint32_t i = 0; i < kernel->buffer_count; i++)
        if (kernel->buffers[i].access == SOURCE_WORKGROUP)
            memset(run->memory[i].bytes, 0,
                   (size_t)run->memory[i].count * source_element_bytes(run->memory[i].element));
    for (uint32_t i = 0; i < lane_count(source); i++) {
        struct frame *lane = &run->lanes[i];
        memset(lane, 0, sizeof *lane);
        for (uint32_t k = 0; k < kernel->value_count; k++)
            lane->vars[k] =
                source_load(kernel->types[k], (const unsigned char *)&kernel->scalars[k]);
        for (uint32_t k = 0; k < kernel->buffer_count; k++)
            lane->buffers[k] = &run->memory[k];
        place_lane(run, i);
        run->finished[i] =
            kernel->guard && id_of(run, 0) >= run->memory[kernel->guard->number].count;
    }
    if (kernel->groups)
        (void)exec_group(run, kernel->body);
    else
        exec_phase(run, kernel->body);
}

void source_run(const struct source *source, unsigned char **buffers, enum source_mistake mistake,
                struct source_result *result)
{
    const struct source_function *kernel = &source->functions[source->function_count - 1];
    struct run *run = calloc(1, sizeof *run);
    if (!run || lane_count(source) > MOST_LANES) abort();
    *result = (struct source_result){0};
    run->source = source;
    run->result = result;
    run->mistake = mistake;
    for (uint32_t i = 0; i < kernel->buffer_count; i++)
        run->memory[i] =
            (struct memory){buffers[i], kernel->buffers[i].count, kernel->buffers[i].element};
    for (run->group[2] = 0; run->group[2] < source->grid[2]; run->group[2]++)
        for (run->group[1] = 0; run->group[1] < source->grid[1]; run->group[1]++)
            for (run->group[0] = 0; run->group[0] < source->grid[0]; run->group[0]++)
                run_group(run);
    free(run);
}
