/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * VIR0 programs in a few words, for tests. One program is being made at a time, by one thread; a
 * failure ends the test program with a message.
 *
 *     begin(&memory);
 *     in("a", IR_TYPE_U32, 8);
 *     out("r", IR_TYPE_U32, 8);
 *     struct ir_program *p = program(let("i", gid(0)),
 *                                    if_(lt(var("i"), len("r")),
 *                                        list(store("r", var("i"), add(load("a", var("i")),
 * u32(1)))), nothing));
 *     ...
 *     vyre_ir_program_free(p);
 *
 * program() puts its statements into one region, vyre.program.root; entry() takes them as they are.
 * What has no function of its own: un(IR_UN_SQRT, x), bin(IR_BIN_ROT_L, x, y), node(kind).
 */
#ifndef VYRE_TESTS_IR_BUILD_H
#define VYRE_TESTS_IR_BUILD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/program.h"

#define IB              __attribute__((unused)) static
#define IB_MAX_BUFFERS  64u
#define IB_ROOT         "vyre.program.root"
#define nothing         ((struct ir_list){0})
#define list(...)       ib_list((struct ir_node *[]){__VA_ARGS__, NULL})
#define program(...)    ib_program(region(IB_ROOT, list(__VA_ARGS__)))
#define entry(...)      ib_entry(list(__VA_ARGS__))
#define call(name, ...) ib_call(name, (struct ir_expr *[]){__VA_ARGS__, NULL})

static struct {
    struct ir_program *program;
    struct ir_buffer buffers[IB_MAX_BUFFERS];
    uint32_t buffer_count;
    vyre_error err;
} ib;

IB void ib_must(vyre_status status)
{
    if (!status) return;
    printf("Bail out! cannot build a program: %s\n", ib.err.message);
    fflush(stdout);
    abort();
}

/* Programs and buffers
 * -------------------- */

IB void begin(struct vyre_memory *memory)
{
    memset(&ib, 0, sizeof ib);
    ib_must(vyre_ir_program_make(memory, &ib.program, &ib.err));
}

IB void workgroup(uint32_t x, uint32_t y, uint32_t z)
{
    ib.program->workgroup[0] = x;
    ib.program->workgroup[1] = y;
    ib.program->workgroup[2] = z;
}

IB uint32_t name(const char *text)
{
    uint32_t number = 0;
    ib_must(vyre_ir_name(ib.program, text, strlen(text), &number, &ib.err));
    return number;
}

/* A buffer; bindings count up. What is returned may be changed until the program is finished. */
IB struct ir_buffer *buffer(const char *text, uint8_t access, uint8_t type, uint32_t count)
{
    static const uint8_t kinds[] = {[IR_ACCESS_READ_ONLY] = IR_KIND_READONLY,
                                    [IR_ACCESS_READ_WRITE] = IR_KIND_GLOBAL,
                                    [IR_ACCESS_UNIFORM] = IR_KIND_UNIFORM,
                                    [IR_ACCESS_WORKGROUP] = IR_KIND_SHARED,
                                    [IR_ACCESS_WRITE_ONLY] = IR_KIND_GLOBAL};
    if (ib.buffer_count == IB_MAX_BUFFERS) abort();
    struct ir_buffer *made = &ib.buffers[ib.buffer_count];
    *made = (struct ir_buffer){.name = name(text),
                               .binding = ib.buffer_count++,
                               .count = count,
                               .kind = kinds[access],
                               .access = access,
                               .hints = {.locality = 1},
                               .type = {.tag = type}};
    return made;
}

IB struct ir_buffer *in(const char *text, uint8_t type, uint32_t count)
{
    return buffer(text, IR_ACCESS_READ_ONLY, type, count);
}

IB struct ir_buffer *rw(const char *text, uint8_t type, uint32_t count)
{
    return buffer(text, IR_ACCESS_READ_WRITE, type, count);
}

IB struct ir_buffer *out(const char *text, uint8_t type, uint32_t count)
{
    struct ir_buffer *made = rw(text, type, count);
    made->is_output = 1;
    made->live_out = 1;
    return made;
}

IB struct ir_buffer *uniform(const char *text, uint8_t type, uint32_t count)
{
    return buffer(text, IR_ACCESS_UNIFORM, type, count);
}

IB struct ir_buffer *shared(const char *text, uint8_t type, uint32_t count)
{
    struct ir_buffer *made = buffer(text, IR_ACCESS_WORKGROUP, type, count);
    made->binding = 0;
    return made;
}

/* Arguments of a C call are evaluated in any order, so ids are given again at the end, as a
 * decoder would give them. */
IB void ib_number_expr(struct ir_expr *made, uint32_t *next)
{
    if (!made) return;
    made->id = (*next)++;
    for (uint32_t i = 0; i < 3; i++)
        ib_number_expr(made->arg[i], next);
    for (uint32_t i = 0; i < made->arg_count; i++)
        ib_number_expr(made->args[i], next);
}

IB void ib_number(struct ir_node *first, uint32_t *next)
{
    for (; first; first = first->next) {
        first->id = (*next)++;
        ib_number_expr(first->a, next);
        ib_number_expr(first->b, next);
        ib_number(first->body.first, next);
        ib_number(first->otherwise.first, next);
    }
}

IB struct ir_program *ib_entry(struct ir_list statements)
{
    struct ir_program *made = ib.program;
    ib_must(vyre_ir_buffers(made, ib.buffer_count, &ib.err));
    if (ib.buffer_count > 0)
        memcpy(made->buffers, ib.buffers, ib.buffer_count * sizeof ib.buffers[0]);
    vyre_ir_buffers_named(made);
    made->entry = statements;
    uint32_t next = 0;
    ib_number(statements.first, &next);
    ib.program = NULL;
    return made;
}

/* Expressions
 * ----------- */

IB struct ir_expr *expr(uint8_t kind, struct ir_expr *a, struct ir_expr *b, struct ir_expr *c)
{
    struct ir_expr *made = NULL;
    ib_must(vyre_ir_expr(ib.program, kind, &made, &ib.err));
    made->arg[0] = a;
    made->arg[1] = b;
    made->arg[2] = c;
    return made;
}

IB struct ir_expr *ib_value(uint8_t kind, uint32_t value)
{
    struct ir_expr *made = expr(kind, NULL, NULL, NULL);
    made->value = value;
    return made;
}

IB struct ir_expr *u32(uint32_t value)
{
    return ib_value(IR_EXPR_LIT_U32, value);
}

IB struct ir_expr *i32(int32_t value)
{
    return ib_value(IR_EXPR_LIT_I32, (uint32_t)value);
}

IB struct ir_expr *f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return ib_value(IR_EXPR_LIT_F32, bits);
}

IB struct ir_expr *bool_(uint32_t value)
{
    return ib_value(IR_EXPR_LIT_BOOL, value != 0);
}

IB struct ir_expr *ib_named(uint8_t kind, const char *text, struct ir_expr *index)
{
    struct ir_expr *made = expr(kind, index, NULL, NULL);
    made->name = name(text);
    return made;
}

IB struct ir_expr *var(const char *text)
{
    return ib_named(IR_EXPR_VAR, text, NULL);
}

IB struct ir_expr *load(const char *text, struct ir_expr *index)
{
    return ib_named(IR_EXPR_LOAD, text, index);
}

IB struct ir_expr *len(const char *text)
{
    return ib_named(IR_EXPR_BUF_LEN, text, NULL);
}

IB struct ir_expr *ib_axis(uint8_t kind, uint8_t axis)
{
    struct ir_expr *made = expr(kind, NULL, NULL, NULL);
    made->axis = axis;
    return made;
}

IB struct ir_expr *gid(uint8_t axis)
{
    return ib_axis(IR_EXPR_INVOCATION_ID, axis);
}

IB struct ir_expr *wid(uint8_t axis)
{
    return ib_axis(IR_EXPR_WORKGROUP_ID, axis);
}

IB struct ir_expr *lid(uint8_t axis)
{
    return ib_axis(IR_EXPR_LOCAL_ID, axis);
}

IB struct ir_expr *bin(uint8_t op, struct ir_expr *left, struct ir_expr *right)
{
    struct ir_expr *made = expr(IR_EXPR_BIN_OP, left, right, NULL);
    made->op = op;
    return made;
}

IB struct ir_expr *un(uint8_t op, struct ir_expr *operand)
{
    struct ir_expr *made = expr(IR_EXPR_UN_OP, operand, NULL, NULL);
    made->op = op;
    return made;
}

#define IB_BINARY(word, op)                                                                        \
    IB struct ir_expr *word(struct ir_expr *left, struct ir_expr *right)                           \
    {                                                                                              \
        return bin(IR_BIN_##op, left, right);                                                      \
    }
IB_BINARY(add, ADD)
IB_BINARY(sub, SUB)
IB_BINARY(mul, MUL)
IB_BINARY(div_, DIV)
IB_BINARY(mod, MOD)
IB_BINARY(bit_and, BIT_AND)
IB_BINARY(eq, EQ)
IB_BINARY(ne, NE)
IB_BINARY(lt, LT)
IB_BINARY(gt, GT)
IB_BINARY(le, LE)
IB_BINARY(ge, GE)
IB_BINARY(and_, AND)
IB_BINARY(or_, OR)

/* A type that lives as long as the program. */
IB struct ir_type *type_of(uint8_t tag)
{
    void *made = NULL;
    ib_must(vyre_ir_alloc(ib.program, 1, sizeof(struct ir_type), &made, &ib.err));
    ((struct ir_type *)made)->tag = tag;
    return (struct ir_type *)made;
}

IB struct ir_expr *cast(uint8_t tag, struct ir_expr *value)
{
    struct ir_expr *made = expr(IR_EXPR_CAST, value, NULL, NULL);
    made->type = type_of(tag);
    return made;
}

IB struct ir_expr *select_(struct ir_expr *condition, struct ir_expr *yes, struct ir_expr *no)
{
    return expr(IR_EXPR_SELECT, condition, yes, no);
}

IB struct ir_expr *fma_(struct ir_expr *a, struct ir_expr *b, struct ir_expr *c)
{
    return expr(IR_EXPR_FMA, a, b, c);
}

/* seq_cst, without an expected value; change what is returned for others. */
IB struct ir_expr *atomic(uint8_t op, const char *text, struct ir_expr *index,
                          struct ir_expr *value)
{
    struct ir_expr *made = ib_named(IR_EXPR_ATOMIC, text, index);
    made->op = op;
    made->ordering = IR_ORDERING_SEQ_CST;
    made->arg[2] = value;
    return made;
}

IB struct ir_expr *compare_exchange(const char *text, struct ir_expr *index,
                                    struct ir_expr *expected, struct ir_expr *value)
{
    struct ir_expr *made = atomic(IR_ATOMIC_COMPARE_EXCHANGE, text, index, value);
    made->arg[1] = expected;
    return made;
}

IB struct ir_expr *ib_call(const char *op_id, struct ir_expr **args)
{
    struct ir_expr *made = ib_named(IR_EXPR_CALL, op_id, NULL);
    void *room = NULL;
    while (args[made->arg_count])
        made->arg_count++;
    ib_must(vyre_ir_alloc(ib.program, made->arg_count + 1u, sizeof args[0], &room, &ib.err));
    memcpy(room, args, made->arg_count * sizeof args[0]);
    made->args = (struct ir_expr **)room;
    return made;
}

IB struct ir_expr *subgroup_add(struct ir_expr *value)
{
    return expr(IR_EXPR_SUBGROUP_ADD, value, NULL, NULL);
}

IB struct ir_expr *subgroup_shuffle(struct ir_expr *value, struct ir_expr *lane)
{
    return expr(IR_EXPR_SUBGROUP_SHUFFLE, value, lane, NULL);
}

IB struct ir_expr *subgroup_ballot(struct ir_expr *condition)
{
    return expr(IR_EXPR_SUBGROUP_BALLOT, condition, NULL, NULL);
}

/* Statements
 * ---------- */

IB struct ir_list ib_list(struct ir_node **nodes)
{
    struct ir_list made = {0};
    for (; *nodes; nodes++)
        vyre_ir_append(&made, *nodes);
    return made;
}

IB struct ir_node *node(uint8_t kind)
{
    struct ir_node *made = NULL;
    ib_must(vyre_ir_node(ib.program, kind, &made, &ib.err));
    return made;
}

IB struct ir_node *let(const char *text, struct ir_expr *value)
{
    struct ir_node *made = node(IR_NODE_LET);
    made->name = name(text);
    made->a = value;
    return made;
}

IB struct ir_node *assign(const char *text, struct ir_expr *value)
{
    struct ir_node *made = let(text, value);
    made->kind = IR_NODE_ASSIGN;
    return made;
}

IB struct ir_node *store(const char *text, struct ir_expr *index, struct ir_expr *value)
{
    struct ir_node *made = node(IR_NODE_STORE);
    made->name = name(text);
    made->a = index;
    made->b = value;
    return made;
}

IB struct ir_node *if_(struct ir_expr *condition, struct ir_list then, struct ir_list otherwise)
{
    struct ir_node *made = node(IR_NODE_IF);
    made->a = condition;
    made->body = then;
    made->otherwise = otherwise;
    return made;
}

IB struct ir_node *loop(const char *text, struct ir_expr *from, struct ir_expr *to,
                        struct ir_list body)
{
    struct ir_node *made = node(IR_NODE_LOOP);
    made->name = name(text);
    made->a = from;
    made->b = to;
    made->body = body;
    return made;
}

IB struct ir_node *block(struct ir_list body)
{
    struct ir_node *made = node(IR_NODE_BLOCK);
    made->body = body;
    return made;
}

IB struct ir_node *region(const char *generator, struct ir_list body)
{
    struct ir_node *made = node(IR_NODE_REGION);
    made->name = name(generator);
    made->body = body;
    return made;
}

IB struct ir_program *ib_program(struct ir_node *root)
{
    return ib_entry(list(root));
}

IB struct ir_node *ret(void)
{
    return node(IR_NODE_RETURN);
}

IB struct ir_node *barrier(void)
{
    struct ir_node *made = node(IR_NODE_BARRIER);
    made->ordering = IR_ORDERING_SEQ_CST;
    return made;
}

/* Copies 4 bytes, at offset 0; change what is returned for others. */
IB struct ir_node *async_load(const char *from, const char *to, const char *tag)
{
    struct ir_node *made = node(IR_NODE_ASYNC_LOAD);
    made->name = name(from);
    made->other = name(to);
    made->tag = name(tag);
    made->a = u32(0);
    made->b = u32(4);
    return made;
}

IB struct ir_node *async_store(const char *from, const char *to, const char *tag)
{
    struct ir_node *made = async_load(from, to, tag);
    made->kind = IR_NODE_ASYNC_STORE;
    return made;
}

IB struct ir_node *async_wait(const char *tag)
{
    struct ir_node *made = node(IR_NODE_ASYNC_WAIT);
    made->tag = name(tag);
    return made;
}

IB struct ir_node *trap(struct ir_expr *address, const char *tag)
{
    struct ir_node *made = node(IR_NODE_TRAP);
    made->a = address;
    made->tag = name(tag);
    return made;
}

IB struct ir_node *indirect(const char *text, uint64_t offset)
{
    struct ir_node *made = node(IR_NODE_INDIRECT_DISPATCH);
    made->name = name(text);
    made->offset = offset;
    return made;
}

#endif
