/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Random sources of the kernel language, with what they compute: a program is made as a tree, the
 * tree is written as text for the compiler, and walked here for each lane. So the compiler's ways
 * with loops, jumps, calls and the order of operands are judged by something that shares no line
 * with it.
 *
 * Each lane has four elements of x (u32) and z (i32) and a counter in q that ends all loops, so
 * lanes do not meet. Include it after lang_test.h.
 */
#ifndef VYRE_TESTS_RANDOM_SOURCE_H
#define VYRE_TESTS_RANDOM_SOURCE_H

#include "lang_test.h"

enum {
    LANES = 8,
    EACH = 4,
    FUEL = 40,
    OUTERMOST = 5,
    MOST_NODES = 20000,
    MOST_VARIABLES = 400,
    MOST_TEXT = 1 << 19
};
enum type { TYPE_U32, TYPE_I32, TYPE_BOOL };
static const char *const type_names[] = {"u32", "i32", "bool"};

enum kind {
    E_LITERAL,
    E_VARIABLE,
    E_LANE,
    E_LOAD,
    E_UNARY,
    E_BINARY,
    E_COMPARE,
    E_LOGICAL,
    E_CHOOSE,
    E_CAST,
    E_CALL,
    S_DECLARE,
    S_ASSIGN,
    S_STORE,
    S_ADD, /* to an element */
    S_IF,
    S_FOR,
    S_WHILE,
    S_DO,
    S_BREAK,
    S_CONTINUE,
    S_RETURN
};

struct node {
    uint8_t kind, type, op;
    uint32_t value; /* of a literal; number of a variable or function */
    struct node *a, *b, *c;
    struct node *body, *otherwise, *next;
};

struct function {
    uint8_t type;
    uint32_t parameters, first; /* variables `first` and on */
    struct node *body;
};

static struct {
    uint64_t seed;
    struct node nodes[MOST_NODES];
    uint32_t node_count;
    uint8_t types[MOST_VARIABLES]; /* of all variables */
    uint32_t variables;
    uint32_t scope[MOST_VARIABLES]; /* those that can be seen */
    uint32_t visible;
    struct function functions[4]; /* the last one is the kernel */
    uint32_t function_count;
    char text[MOST_TEXT];
    size_t length;
} made;

static uint32_t below(uint32_t limit)
{
    return random_below(&made.seed, limit);
}

static struct node *node(uint32_t kind, uint32_t type)
{
    if (made.node_count == MOST_NODES) bail("a random source of more than %u nodes", MOST_NODES);
    struct node *one = &made.nodes[made.node_count++];
    *one = (struct node){.kind = (uint8_t)kind, .type = (uint8_t)type};
    return one;
}

static struct node *literal(uint32_t type, uint32_t value)
{
    struct node *one = node(E_LITERAL, type);
    one->value = type == TYPE_BOOL ? value & 1 : type == TYPE_I32 ? value & 0x7FFFFFFF : value;
    return one;
}

static struct node *leaf(uint32_t type)
{
    static const uint32_t values[] = {0, 1, 2, 3, 4, 7, 31, 33, 0x7FFFFFFF, 0xFFFFFFFF};
    if (made.visible > 0 && below(4) != 0) {
        uint32_t number = made.scope[below(made.visible)];
        if (made.types[number] == type) {
            struct node *one = node(E_VARIABLE, type);
            one->value = number;
            return one;
        }
    }
    if (type == TYPE_U32 && below(4) == 0) return node(E_LANE, type);
    return literal(type, values[below(COUNT(values))]);
}

static struct node *expression(uint32_t type, uint32_t depth);

static struct node *call(uint32_t number, uint32_t depth)
{
    struct function *function = &made.functions[number];
    struct node *one = node(E_CALL, function->type), **last = &one->a;
    one->value = number;
    for (uint32_t i = 0; i < function->parameters; i++, last = &(*last)->next)
        *last = expression(made.types[function->first + i], depth);
    return one;
}

static struct node *condition(uint32_t depth)
{
    uint32_t compared = below(2), choice = below(8);
    if (choice >= 6) return leaf(TYPE_BOOL);
    struct node *one = node(choice < 3 ? E_COMPARE : choice < 5 ? E_LOGICAL : E_UNARY, TYPE_BOOL);
    uint32_t of = choice < 3 ? compared : TYPE_BOOL;
    one->op = (uint8_t)below(choice < 3 ? 6 : 2);
    one->a = expression(of, depth - 1);
    if (one->kind != E_UNARY) one->b = expression(of, depth - 1);
    return one;
}

static struct node *expression(uint32_t type, uint32_t depth)
{
    uint32_t choice = below(16);
    if (depth == 0 || choice == 0 || made.node_count > MOST_NODES / 2) return leaf(type);
    if (choice < 3 && made.function_count > 0) {
        uint32_t number = below(made.function_count);
        if (made.functions[number].type == type) return call(number, depth - 1);
    }
    if (choice < 5) {
        struct node *one = node(E_CHOOSE, type);
        one->a = expression(TYPE_BOOL, depth - 1);
        one->b = expression(type, depth - 1);
        one->c = expression(type, depth - 1);
        return one;
    }
    if (type == TYPE_BOOL) return condition(depth);
    struct node *one = node(choice < 12   ? E_BINARY
                            : choice < 13 ? E_UNARY
                            : choice < 14 ? E_CAST
                                          : E_LOAD,
                            type);
    if (one->kind == E_CAST) {
        one->a = expression(below(3), depth - 1);
        return one;
    }
    one->op = (uint8_t)below(type == TYPE_U32 && one->kind == E_BINARY ? 10 : 8);
    one->a = expression(one->kind == E_LOAD ? TYPE_U32 : type, depth - 1);
    if (one->kind == E_BINARY)
        one->b = expression(one->op == 6 || one->op == 7 ? TYPE_U32 : type, depth - 1);
    return one;
}

/* `inside`: 1 in a loop, 2 in a function with a result. */
static struct node *statements(uint32_t depth, uint32_t inside, uint32_t result);

static struct node *loop(uint32_t depth, uint32_t inside, uint32_t result)
{
    struct node *one = node(S_FOR + below(3), TYPE_U32);
    if (one->kind == S_FOR) {
        one->a = expression(TYPE_U32, 1);
        one->value = made.variables++;
        made.types[one->value] = TYPE_U32;
        made.scope[made.visible++] = one->value;
        one->b = expression(TYPE_U32, 2);
        one->op = (uint8_t)(1 + below(5) / 3);
    } else {
        one->a = expression(TYPE_BOOL, 3);
    }
    one->body = statements(depth - 1, inside | 1, result);
    if (one->kind == S_FOR) made.visible--;
    return one;
}

static struct node *statement(uint32_t depth, uint32_t inside, uint32_t result)
{
    uint32_t choice = below(20), type = below(3);
    struct node *one;
    if (choice < 3 && made.variables < MOST_VARIABLES - 20) {
        one = node(S_DECLARE, type);
        one->a = expression(type, 3);
        one->value = made.variables++;
        made.types[one->value] = (uint8_t)type;
        made.scope[made.visible++] = one->value;
    } else if (choice < 7 && made.visible > 0) {
        one = node(S_ASSIGN, 0);
        one->value = made.scope[below(made.visible)];
        one->a = expression(made.types[one->value], 3);
    } else if (choice < 11 || depth == 0 || made.variables > MOST_VARIABLES - 20 ||
               made.node_count > MOST_NODES / 2) {
        one = node(S_STORE + below(2), type = below(2));
        one->b = expression(TYPE_U32, 2);
        one->a = expression(type, 3);
    } else if (choice < 14) {
        one = node(S_IF, 0);
        one->a = expression(TYPE_BOOL, 3);
        one->body = statements(depth - 1, inside, result);
        if (below(2)) one->otherwise = statements(depth - 1, inside, result);
    } else if (choice < 17 || depth == OUTERMOST) { /* there nothing ends early */
        one = loop(depth, inside, result);
    } else if (choice < 19 && inside & 1) {
        one = node(S_BREAK + below(2), 0);
    } else {
        one = node(S_RETURN, 0);
        if (inside & 2) one->a = expression(result, 2);
    }
    return one;
}

static struct node *statements(uint32_t depth, uint32_t inside, uint32_t result)
{
    uint32_t count = depth == OUTERMOST ? 4 + below(8) : 1 + below(4), visible = made.visible;
    struct node *first = NULL, **last = &first;
    for (uint32_t i = 0; i < count; i++, last = &(*last)->next) {
        *last = statement(depth, inside, result);
        if ((*last)->kind >= S_BREAK) break;
    }
    made.visible = visible;
    return first;
}

/* A new program. */
static void make_source(uint64_t seed)
{
    made.seed = seed;
    made.node_count = made.variables = made.function_count = made.visible = 0;
    uint32_t helpers = below(4);
    for (uint32_t i = 0; i <= helpers; i++) {
        struct function *function = &made.functions[i];
        bool kernel = i == helpers;
        *function = (struct function){.type = (uint8_t)below(3), .first = made.variables};
        function->parameters = kernel ? 0 : below(4);
        for (uint32_t k = 0; k < function->parameters; k++) {
            made.types[made.variables] = (uint8_t)below(3);
            made.scope[made.visible++] = made.variables++;
        }
        function->body = statements(kernel ? OUTERMOST : 3, kernel ? 0 : 2, function->type);
        if (!kernel) { /* what it returns where nothing else does */
            struct node **last = &function->body;
            while (*last)
                last = &(*last)->next;
            *last = node(S_RETURN, 0);
            (*last)->a = literal(function->type, below(5));
        }
        made.visible = 0;
        made.function_count += !kernel;
    }
}

#endif
