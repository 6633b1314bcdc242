/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls. What acts becomes a statement of its own at once, so that it happens where it stands.
 */
#include <string.h>

#include "lang/gen.h"

/* Arguments in their order; each may need statements, before which the earlier ones are kept. */
static void arguments(struct gen *gen, struct lang_expr *first, struct ir_expr **made)
{
    uint32_t count = 0;
    for (struct lang_expr *a = first; a && count < 3; a = a->next) {
        struct ir_list later = {0}, *outer = gen->list;
        gen->list = &later;
        made[count] = vyre_gen_expr(gen, a);
        gen->list = outer;
        for (uint32_t i = 0; later.count > 0 && i < count; i++)
            made[i] = vyre_gen_keep(gen, made[i]);
        vyre_gen_splice(gen, &later);
        count++;
    }
}

static struct ir_expr *three(struct gen *gen, uint8_t kind, struct ir_expr *const made[3])
{
    struct ir_expr *expr = vyre_gen_make(gen, kind);
    for (uint32_t i = 0; i < 3; i++)
        expr->arg[i] = made[i];
    return vyre_gen_done(gen, expr);
}

static struct ir_expr *absolute(struct gen *gen, uint8_t type, struct ir_expr *value)
{
    if (type == LANG_TYPE_F32) return vyre_gen_un(gen, IR_UN_ABS, value);
    uint32_t name = vyre_gen_let(gen, "t", value);
    struct ir_expr *negative = vyre_gen_bin(
        gen, IR_BIN_SUB, vyre_gen_literal(gen, LANG_TYPE_I32, 0), vyre_gen_var(gen, name));
    return vyre_gen_bin(gen, IR_BIN_MAX, negative, vyre_gen_var(gen, name));
}

/* An atomic happens where it stands: a variable takes its result. */
static struct ir_expr *atomic(struct gen *gen, struct lang_expr *call)
{
    const struct lang_builtin *builtin = call->builtin;
    struct lang_expr *target = call->args;
    struct ir_expr *index = vyre_gen_index(gen, target->arg[1]), *values[3] = {0};
    struct ir_list later = {0}, *outer = gen->list;
    gen->list = &later;
    arguments(gen, target->next, values);
    gen->list = outer;
    index = vyre_gen_before(gen, index, &later);
    gen->span = call->span;
    if (builtin->lowering == LANG_LOWER_ATOMIC_SUB)
        values[0] = vyre_gen_un(gen, IR_UN_NEGATE, values[0]);
    struct ir_expr *expr = vyre_gen_make(gen, IR_EXPR_ATOMIC);
    expr->name = vyre_gen_buffer(target->symbol)->ir;
    expr->op = builtin->op;
    expr->ordering = IR_ORDERING_SEQ_CST;
    expr->arg[0] = index;
    expr->arg[1] = call->count == 3 ? values[0] : NULL;
    expr->arg[2] = call->count == 3 ? values[1] : values[0];
    return vyre_gen_var(gen, vyre_gen_let(gen, "old", vyre_gen_done(gen, expr)));
}

/* VIR0's subgroups exchange u32 and f32. */
static struct ir_expr *subgroup(struct gen *gen, struct lang_expr *call, struct ir_expr *made[3])
{
    uint8_t type = call->args->type, lowering = call->builtin->lowering;
    bool word = type == LANG_TYPE_I32 || type == LANG_TYPE_BOOL;
    struct ir_expr *expr =
        vyre_gen_make(gen, lowering == LANG_LOWER_SUBGROUP_ADD       ? IR_EXPR_SUBGROUP_ADD
                           : lowering == LANG_LOWER_SUBGROUP_SHUFFLE ? IR_EXPR_SUBGROUP_SHUFFLE
                                                                     : IR_EXPR_SUBGROUP_BALLOT);
    if (lowering == LANG_LOWER_SUBGROUP_BALLOT) {
        if (type == LANG_TYPE_I32) made[0] = vyre_gen_cast(gen, IR_TYPE_U32, made[0]);
    } else if (word) {
        made[0] = vyre_gen_cast(gen, IR_TYPE_U32, made[0]);
    }
    expr->arg[0] = made[0];
    if (lowering == LANG_LOWER_SUBGROUP_SHUFFLE)
        expr->arg[1] = call->args->next->type == LANG_TYPE_I32
                           ? vyre_gen_cast(gen, IR_TYPE_U32, made[1])
                           : made[1];
    /* What lanes exchange depends on who is there: it happens here, not later. */
    expr = vyre_gen_spill(gen, vyre_gen_done(gen, expr));
    if (!word || lowering == LANG_LOWER_SUBGROUP_BALLOT) return expr;
    return vyre_gen_cast(gen, type == LANG_TYPE_I32 ? IR_TYPE_I32 : IR_TYPE_BOOL, expr);
}

static struct ir_expr *lane(struct gen *gen)
{
    struct lang_expr index = {
        .kind = LANG_E_FIELD, .op = 15, .span = gen->span, .type = LANG_TYPE_U32};
    return vyre_gen_bin(gen, IR_BIN_BIT_AND, vyre_gen_expr(gen, &index),
                        vyre_gen_literal(gen, LANG_TYPE_U32, 31));
}

/* The text between the quotes, its escapes undone. */
static const char *text_of(struct gen *gen, const struct lang_expr *expr)
{
    const char *from = gen->unit->request->text + expr->span.at + 1;
    uint32_t length = expr->span.length - 2, made = 0;
    char *text = vyre_lang_alloc(gen->unit, length + 1u, 1);
    for (uint32_t i = 0; i < length; i++) {
        char c = from[i];
        if (c == '\\') {
            c = from[++i];
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        text[made++] = c;
    }
    return text;
}

/* The number of a text: the same in every compilation, and no other's in this kernel. */
static uint32_t print_number(struct gen *gen, const char *text)
{
    uint32_t number = 2166136261u;
    for (const char *c = text; *c; c++)
        number = (number ^ (unsigned char)*c) * 16777619u;
    for (uint32_t i = 0; i < gen->print_count; i++) {
        if (gen->prints[i].number != number) continue;
        if (strcmp(gen->prints[i].text, text) == 0) return number;
        number++;
        i = 0xFFFFFFFFu; /* look at all of them again */
    }
    if (gen->print_count == gen->print_room) {
        uint32_t room = gen->print_room ? gen->print_room * 2u : 16u;
        struct lang_print *prints = vyre_lang_alloc(gen->unit, room, sizeof *prints);
        if (gen->print_count) memcpy(prints, gen->prints, gen->print_count * sizeof *prints);
        gen->prints = prints;
        gen->print_room = room;
    }
    gen->prints[gen->print_count++] = (struct lang_print){number, text};
    return number;
}

static void print(struct gen *gen, struct lang_expr *call)
{
    struct ir_expr *values[3] = {0};
    arguments(gen, call->args->next, values);
    gen->span = call->span;
    struct ir_expr *expr = vyre_gen_make(gen, IR_EXPR_CALL);
    void *room;
    vyre_gen_must(gen, vyre_ir_name(gen->ir, "vyre.print", 10, &expr->name, gen->unit->err));
    vyre_gen_must(gen, vyre_ir_alloc(gen->ir, 3, sizeof *expr->args, &room, gen->unit->err));
    expr->args = room;
    expr->arg_count = call->count;
    expr->args[0] =
        vyre_gen_literal(gen, LANG_TYPE_U32, print_number(gen, text_of(gen, call->args)));
    /* Calls count the depth of their arguments, too; these have at most one operator. */
    for (uint32_t i = 1; i < call->count; i++)
        expr->args[i] = vyre_gen_spill(gen, values[i - 1]);
    vyre_gen_let(gen, "printed", expr);
}

static void assertion(struct gen *gen, struct lang_expr *call)
{
    struct lang_expr *condition = call->args;
    struct ir_expr *made = vyre_gen_condition(gen, condition);
    gen->span = call->span;
    made = vyre_gen_un(gen, IR_UN_LOGICAL_NOT, made);
    struct ir_node *node = vyre_gen_node(gen, IR_NODE_IF);
    node->a = made;
    struct ir_list *outer = vyre_gen_open(gen, &node->body);
    struct ir_node *trap = vyre_gen_node(gen, IR_NODE_TRAP);
    uint32_t line = vyre_lang_line(gen->unit, call->span.at);
    const char *quote = vyre_lang_quote(gen->unit, condition->span);
    const char *text = call->count == 2 ? text_of(gen, condition->next) : quote ? quote : "assert";
    trap->a = vyre_gen_literal(gen, LANG_TYPE_U32, line);
    vyre_gen_must(gen, vyre_ir_name(gen->ir, text, strlen(text), &trap->tag, gen->unit->err));
    vyre_gen_close(gen, outer);
}

static struct ir_expr *shift(struct gen *gen, struct lang_expr *call, struct ir_expr *made[3])
{
    if (call->args->next->type == LANG_TYPE_I32) made[1] = vyre_gen_cast(gen, IR_TYPE_U32, made[1]);
    return vyre_gen_bin(gen, call->builtin->op, made[0], made[1]);
}

/* A condition that is i32 is one that bool is made of. */
static struct ir_expr *select_of(struct gen *gen, struct lang_expr *call, struct ir_expr *made[3])
{
    if (call->args->type == LANG_TYPE_I32)
        made[0] = vyre_gen_bin(gen, IR_BIN_NE, made[0], vyre_gen_literal(gen, LANG_TYPE_I32, 0));
    return three(gen, IR_EXPR_SELECT, made);
}

static struct ir_expr *given(struct gen *gen, struct lang_expr *call)
{
    const struct lang_builtin *builtin = call->builtin;
    struct ir_expr *made[3] = {0};
    arguments(gen, call->args, made);
    gen->span = call->span;
    switch (builtin->lowering) {
    case LANG_LOWER_BINARY:
        return vyre_gen_bin(gen, builtin->op, made[0], made[1]);
    case LANG_LOWER_UNARY:
        return vyre_gen_un(gen, builtin->op, made[0]);
    case LANG_LOWER_BITS:
        if (call->args->type == LANG_TYPE_I32) made[0] = vyre_gen_cast(gen, IR_TYPE_U32, made[0]);
        return vyre_gen_un(gen, builtin->op, made[0]);
    case LANG_LOWER_SHIFT:
        return shift(gen, call, made);
    case LANG_LOWER_CLAMP:
        return vyre_gen_bin(gen, IR_BIN_MIN, vyre_gen_bin(gen, IR_BIN_MAX, made[0], made[1]),
                            made[2]);
    case LANG_LOWER_ABS:
        return absolute(gen, call->type, made[0]);
    case LANG_LOWER_SELECT:
        return select_of(gen, call, made);
    case LANG_LOWER_FMA:
        return three(gen, IR_EXPR_FMA, made);
    case LANG_LOWER_SUBGROUP_LANE:
        return lane(gen);
    default:
        return subgroup(gen, call, made);
    }
}

struct ir_expr *vyre_gen_call(struct gen *gen, struct lang_expr *call)
{
    struct ir_expr *length;
    struct ir_node *node;
    if (!call->builtin) return vyre_gen_inline(gen, call);
    switch (call->builtin->lowering) {
    case LANG_LOWER_LENGTH:
        length = vyre_gen_make(gen, IR_EXPR_BUF_LEN);
        length->name = vyre_gen_buffer(call->args->symbol)->ir;
        return length;
    case LANG_LOWER_ATOMIC:
    case LANG_LOWER_ATOMIC_SUB:
        return atomic(gen, call);
    case LANG_LOWER_BARRIER:
        node = vyre_gen_node(gen, IR_NODE_BARRIER);
        node->ordering = IR_ORDERING_SEQ_CST;
        return NULL;
    case LANG_LOWER_PRINT:
        print(gen, call);
        return NULL;
    case LANG_LOWER_ASSERT:
        assertion(gen, call);
        return NULL;
    default:
        return given(gen, call);
    }
}
