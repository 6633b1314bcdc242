/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions of random sources: of every type, with divisors that are no constant zero, and no
 * fault unless the source may have one.
 */
#include "oracle/source_inside.h"

#include <stdlib.h>
#include <string.h>

uint32_t source_draw(struct making *m, uint32_t below)
{
    if (m->choices_left > 0 && below - 1u < 256) {
        m->choices_left--;
        return *m->choices++ % below;
    }
    m->state += 0x9E3779B97F4A7C15u;
    uint64_t z = m->state;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return below ? (uint32_t)((z >> 32) % below) : (uint32_t)(z >> 32);
}

bool source_once_in(struct making *m, uint32_t times)
{
    return source_draw(m, times) == 0;
}

struct source_expr *source_expr_new(struct making *m, uint8_t kind, uint8_t type)
{
    struct source_expr *expr = source_alloc(m->source, sizeof *expr);
    expr->kind = kind;
    expr->type = type;
    expr->parens = source_once_in(m, 24);
    return expr;
}

struct source_expr *source_literal(struct making *m, uint8_t type, uint32_t value)
{
    struct source_expr *expr = source_expr_new(m, SOURCE_X_LITERAL, type);
    expr->value = value;
    return expr;
}

struct source_expr *source_op(struct making *m, uint8_t op, uint8_t type, struct source_expr *a,
                              struct source_expr *b)
{
    struct source_expr *expr = source_expr_new(m, b ? SOURCE_X_BINARY : SOURCE_X_UNARY, type);
    expr->op = op;
    expr->arg[0] = a;
    expr->arg[1] = b;
    return expr;
}

struct source_expr *source_variable(struct making *m, uint32_t var)
{
    struct source_expr *expr = source_expr_new(m, SOURCE_X_VARIABLE, m->function->types[var]);
    expr->value = var;
    return expr;
}

struct source_expr *source_bare(struct making *m, struct source_expr *expr)
{
    if (expr->kind == SOURCE_X_LITERAL) expr->bare = !source_once_in(m, 3);
    return expr;
}

uint8_t source_any_type(struct making *m)
{
    static const uint8_t types[] = {SOURCE_U32, SOURCE_U32, SOURCE_I32,
                                    SOURCE_I32, SOURCE_F32, SOURCE_BOOL};
    return types[source_draw(m, 6)];
}

static struct source_expr *any_literal(struct making *m, uint8_t type)
{
    static const uint32_t words[] = {
        0,  1,   2,   3,     5,          7,          8,          31,         32,
        33, 255, 256, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFF80};
    static const float floats[] = {0.0f,        1.0f,          -1.0f, 0.5f,     -2.5f,
                                   0.1f,        3.0f,          1e10f, -3.4e38f, 1.2e-38f,
                                   16777216.0f, 4294967296.0f, -0.0f, 1e-30f};
    uint32_t value;
    if (type == SOURCE_BOOL) return source_literal(m, type, source_draw(m, 2));
    if (type == SOURCE_F32)
        memcpy(&value, &floats[source_draw(m, sizeof floats / sizeof floats[0])], sizeof value);
    else if (source_once_in(m, 5))
        value = source_draw(m, 0);
    else
        value = words[source_draw(m, sizeof words / sizeof words[0])];
    return source_literal(m, type, value);
}

static bool hidden(const struct making *m, uint32_t at)
{
    const char *name = m->function->vars[m->visible[at].var];
    for (uint32_t i = at + 1; i < m->visible_count; i++)
        if (strcmp(m->function->vars[m->visible[i].var], name) == 0) return true;
    return false;
}

const struct source_visible *source_pick(struct making *m, uint8_t type, bool assign)
{
    uint32_t start = m->visible_count ? source_draw(m, m->visible_count) : 0;
    for (uint32_t i = 0; i < m->visible_count; i++) {
        uint32_t at = (start + i) % m->visible_count;
        const struct source_visible *visible = &m->visible[at];
        if (m->function->types[visible->var] != type || hidden(m, at)) continue;
        if (assign && (visible->locked || visible->constant || visible->uniform)) continue;
        return visible;
    }
    return NULL;
}

static struct source_expr *any_constant(struct making *m, uint8_t type)
{
    for (uint32_t i = 0; i < m->source->constant_count; i++) {
        if (m->source->constant_types[i] != type || source_once_in(m, 2)) continue;
        struct source_expr *expr = source_expr_new(m, SOURCE_X_CONSTANT, type);
        expr->value = i;
        return expr;
    }
    return NULL;
}

static struct source_expr *any_id(struct making *m)
{
    uint32_t which = source_draw(m, 14);
    struct source_expr *expr = source_expr_new(m,
                                               which == 12   ? SOURCE_X_LANE
                                               : which == 13 ? SOURCE_X_LOCAL
                                                             : SOURCE_X_ID,
                                               SOURCE_U32);
    expr->value = which < 12 ? which : source_draw(m, 2);
    return expr;
}

/* What differs from lane to lane, where there is no variable to do it. */
static struct source_expr *varied(struct making *m, uint8_t type)
{
    if (source_once_in(m, 3)) return any_literal(m, type);
    if (type == SOURCE_U32) return any_id(m);
    if (type != SOURCE_BOOL) return source_load_expr(m, type, 0);
    return source_op(m, (uint8_t)(SOURCE_EQ + source_draw(m, 6)), type, any_id(m),
                     source_bare(m, source_literal(m, SOURCE_U32, source_draw(m, 6))));
}

static struct source_expr *leaf(struct making *m, uint8_t type)
{
    const struct source_visible *visible;
    struct source_expr *expr = NULL;
    if (m->known) expr = any_constant(m, type);
    if (m->known) return expr ? expr : any_literal(m, type);
    switch (source_draw(m, 8)) {
    case 0:
        return any_literal(m, type);
    case 1:
        expr = any_constant(m, type);
        break;
    case 2:
        if (type == SOURCE_U32) expr = any_id(m);
        break;
    case 3:
        if (type == SOURCE_U32) expr = source_length(m);
        break;
    default:
        visible = source_pick(m, type, false);
        expr = visible ? source_variable(m, visible->var) : varied(m, type);
        break;
    }
    return expr ? expr : any_literal(m, type);
}

struct source_expr *source_small(struct making *m, uint32_t below, uint32_t depth)
{
    if (depth == 0 || source_once_in(m, 3))
        return source_literal(m, SOURCE_U32, source_draw(m, below));
    return source_op(m, SOURCE_MOD, SOURCE_U32, source_expr(m, SOURCE_U32, depth - 1),
                     source_bare(m, source_literal(m, SOURCE_U32, below)));
}

static struct source_expr *larger(struct making *m, uint8_t type, struct source_expr *a, uint32_t b)
{
    struct source_expr *expr = source_expr_new(m, SOURCE_X_GIVEN, type);
    expr->op = SOURCE_MAX;
    expr->arg[0] = a;
    expr->arg[1] = source_literal(m, type, b);
    return expr;
}

/* Never a constant zero; of i32 nothing that faults, unless the source may. */
static struct source_expr *divisor(struct making *m, uint8_t type, uint32_t depth)
{
    uint32_t one = type == SOURCE_F32 ? 0x3F800000u : 1u;
    const struct source_visible *visible = source_pick(m, type, true);
    bool free = type != SOURCE_I32 || (m->faults && source_once_in(m, 2));
    struct source_expr *load = free ? source_load_expr(m, type, depth) : NULL;
    if (load && source_once_in(m, 2)) return load;
    if (free && visible && source_once_in(m, 2)) return source_variable(m, visible->var);
    if (source_once_in(m, 3)) return source_literal(m, type, type == SOURCE_F32 ? 0x40400000u : 3u);
    return larger(m, type, source_expr(m, type, depth), one);
}

struct source_expr *source_value_of(struct making *m, uint8_t op, uint8_t type, uint32_t depth)
{
    if (op == SOURCE_DIV || op == SOURCE_MOD) return divisor(m, type, depth);
    if (op == SOURCE_SHL || op == SOURCE_SHR)
        return source_expr(m, source_once_in(m, 3) ? SOURCE_I32 : SOURCE_U32, depth);
    return source_expr(m, type, depth);
}

/* a op b, of one type but for shifts. */
static struct source_expr *pair(struct making *m, uint8_t op, uint8_t type, uint8_t result,
                                uint32_t depth)
{
    struct source_expr *a = source_expr(m, type, depth), *b = source_value_of(m, op, type, depth);
    bool shift = op == SOURCE_SHL || op == SOURCE_SHR;
    if (b->kind == SOURCE_X_LITERAL && a->kind != SOURCE_X_LITERAL && !shift)
        (void)source_bare(m, b);
    else if (a->kind == SOURCE_X_LITERAL && b->kind != SOURCE_X_LITERAL && !shift)
        (void)source_bare(m, a);
    return source_op(m, op, result, a, b);
}

/* What would fault on its own, behind a question. */
static struct source_expr *guarded(struct making *m, uint8_t type, uint32_t depth)
{
    const struct source_visible *visible = source_pick(m, SOURCE_I32, false);
    if (!visible || visible->constant) return NULL;
    struct source_expr *some =
        source_op(m, SOURCE_GT, SOURCE_BOOL, source_variable(m, visible->var),
                  source_bare(m, source_literal(m, SOURCE_I32, 0)));
    struct source_expr *quotient =
        source_op(m, source_once_in(m, 2) ? SOURCE_DIV : SOURCE_MOD, SOURCE_I32,
                  source_expr(m, SOURCE_I32, depth), source_variable(m, visible->var));
    if (type == SOURCE_BOOL)
        return source_op(
            m, SOURCE_BOTH, SOURCE_BOOL, some,
            source_op(m, SOURCE_GE, SOURCE_BOOL, quotient, source_expr(m, SOURCE_I32, depth)));
    struct source_expr *expr = source_expr_new(m, SOURCE_X_CHOOSE, SOURCE_I32);
    expr->arg[0] = some;
    expr->arg[1] = quotient;
    expr->arg[2] = source_expr(m, SOURCE_I32, depth);
    return expr;
}

/* As deep as the compiler has to cut into pieces. */
static struct source_expr *chain(struct making *m, uint8_t type)
{
    static const uint8_t ops[] = {SOURCE_ADD, SOURCE_SUB, SOURCE_MUL, SOURCE_XOR, SOURCE_OR};
    struct source_expr *expr = leaf(m, type);
    for (uint32_t i = 6 + source_draw(m, 24); i > 0; i--) {
        uint8_t op = type == SOURCE_BOOL ? (uint8_t)(SOURCE_BOTH + source_draw(m, 2))
                                         : ops[source_draw(m, type == SOURCE_F32 ? 3 : 5)];
        struct source_expr *other = leaf(m, type);
        if (source_once_in(m, 4)) other = source_expr(m, type, 1);
        expr = source_once_in(m, 3) ? source_op(m, op, type, other, expr)
                                    : source_op(m, op, type, expr, other);
    }
    return expr;
}

static struct source_expr *binary(struct making *m, uint8_t type, uint32_t depth)
{
    struct source_expr *expr = NULL;
    if (depth > 1 && source_once_in(m, 24)) return chain(m, type);
    if ((type == SOURCE_I32 || type == SOURCE_BOOL) && source_once_in(m, 6))
        expr = guarded(m, type, depth);
    if (expr) return expr;
    if (type == SOURCE_F32) return pair(m, (uint8_t)source_draw(m, 4), type, type, depth);
    if (type != SOURCE_BOOL)
        return pair(m, (uint8_t)(SOURCE_ADD + source_draw(m, 10)), type, type, depth);
    uint8_t op = (uint8_t)(SOURCE_AND + source_draw(m, 13)), of = source_any_type(m);
    if (op == SOURCE_SHL || op == SOURCE_SHR) op = SOURCE_BOTH;
    if (op == SOURCE_BOTH || op == SOURCE_EITHER)
        return source_op(m, op, type, source_condition(m, depth), source_condition(m, depth));
    if (op >= SOURCE_LT && of == SOURCE_BOOL) of = SOURCE_U32;
    return pair(m, op, op <= SOURCE_XOR ? SOURCE_BOOL : of, type, depth);
}

static struct source_expr *unary(struct making *m, uint8_t type, uint32_t depth)
{
    if (type == SOURCE_BOOL)
        return source_op(m, SOURCE_NOT, type, source_condition(m, depth), NULL);
    uint8_t op = source_once_in(m, 6)                         ? SOURCE_PLUS
                 : type == SOURCE_F32 || source_once_in(m, 2) ? SOURCE_NEGATE
                                                              : SOURCE_INVERT;
    return source_op(m, op, type, source_expr(m, type, depth), NULL);
}

static struct source_expr *cast(struct making *m, uint8_t type, uint32_t depth)
{
    struct source_expr *expr = source_expr_new(m, SOURCE_X_CAST, type);
    expr->arg[0] = source_expr(m, source_any_type(m), depth);
    expr->value = source_draw(m, 2);
    return expr;
}

static struct source_expr *choose(struct making *m, uint8_t type, uint32_t depth)
{
    struct source_expr *expr = source_expr_new(m, SOURCE_X_CHOOSE, type);
    expr->arg[0] = source_condition(m, depth);
    expr->arg[1] = source_expr(m, type, depth);
    expr->arg[2] = source_expr(m, type, depth);
    return expr;
}

static uint8_t type_of(struct making *m, char letter, uint8_t wanted)
{
    switch (letter) {
    case 'u':
        return SOURCE_U32;
    case 'f':
        return SOURCE_F32;
    case 'b':
        return SOURCE_BOOL;
    case 'M':
        return source_once_in(m, 2) ? SOURCE_U32 : SOURCE_I32;
    default:
        return wanted;
    }
}

static struct source_expr *given(struct making *m, uint8_t type, uint32_t depth)
{
    uint8_t which = (uint8_t)source_draw(m, SOURCE_GIVENS);
    const char *types = source_given_types(which);
    if (types[0] != 'T' && type_of(m, types[0], type) != type) which = SOURCE_SELECT;
    if (which == SOURCE_ABS && type == SOURCE_U32) which = SOURCE_MIN;
    if (type == SOURCE_BOOL && types[0] == 'T') which = SOURCE_SELECT;
    types = source_given_types(which);
    struct source_expr *expr = source_expr_new(m, SOURCE_X_GIVEN, type);
    expr->op = which;
    for (uint32_t i = 0; types[i + 1]; i++)
        expr->arg[i] = source_expr(m, type_of(m, types[i + 1], type), depth);
    return expr;
}

struct source_expr *source_condition(struct making *m, uint32_t depth)
{
    uint32_t which = source_draw(m, 8);
    return source_expr(m, which == 0 ? SOURCE_U32 : which == 1 ? SOURCE_I32 : SOURCE_BOOL, depth);
}

struct source_expr *source_expr(struct making *m, uint8_t type, uint32_t depth)
{
    struct source_expr *expr = NULL;
    if (depth == 0) return leaf(m, type);
    depth--;
    switch (source_draw(m, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        return binary(m, type, depth);
    case 5:
        return unary(m, type, depth);
    case 6:
        return cast(m, type, depth);
    case 7:
        return choose(m, type, depth);
    case 8:
        return given(m, type, depth);
    case 9:
    case 10:
    case 11:
        expr = source_load_expr(m, type, depth);
        break;
    case 12:
        expr = source_call_expr(m, type, depth);
        break;
    case 13:
        if (type == SOURCE_U32) expr = source_atomic_expr(m, SOURCE_ATOMIC, depth);
        break;
    default:
        break;
    }
    return expr ? expr : leaf(m, type);
}

struct source_expr *source_uniform(struct making *m, uint32_t depth)
{
    static const uint8_t ops[] = {SOURCE_ADD, SOURCE_SUB, SOURCE_MUL, SOURCE_AND, SOURCE_XOR};
    struct source_expr *expr;
    uint32_t which = source_draw(m, 6);
    if (depth && which < 3) {
        expr = source_uniform(m, depth - 1);
        return source_op(m, ops[source_draw(m, 5)], SOURCE_U32, expr, source_uniform(m, depth - 1));
    }
    for (uint32_t i = m->visible_count; which == 3 && i-- > 0;)
        if (m->visible[i].uniform && !hidden(m, i)) return source_variable(m, m->visible[i].var);
    expr = which == 4 ? source_length(m) : NULL;
    if (expr) return expr;
    if (which < 5) return source_literal(m, SOURCE_U32, source_draw(m, 5));
    expr = source_expr_new(m, SOURCE_X_ID, SOURCE_U32);
    expr->value = 6 + source_draw(m, 6);
    return expr;
}
