/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Expressions, by C's precedence. An expression that could not be read is LANG_E_WRONG: it has been
 * complained of and is not looked at again.
 */
#include <string.h>

#include "lang/ast.h"

static struct lang_expr *conditional(struct lang_unit *unit);
static struct lang_expr *unary(struct lang_unit *unit);

static struct lang_expr *make(struct lang_unit *unit, uint8_t kind, struct lang_span span)
{
    struct lang_expr *expr = vyre_lang_alloc(unit, 1, sizeof *expr);
    expr->kind = kind;
    expr->span = span;
    expr->mark = span;
    expr->depth = 1;
    return expr;
}

static struct lang_expr *wrong(struct lang_unit *unit)
{
    return make(unit, LANG_E_WRONG, vyre_lang_span(vyre_lang_peek(unit, 0)));
}

/* Chains of operators and calls make deep trees without deep recursion: they are bounded, too. */
static void over(struct lang_unit *unit, struct lang_expr *expr, const struct lang_expr *below)
{
    if (below->depth >= expr->depth) expr->depth = below->depth + 1;
    if (expr->depth > LANG_MOST_DEPTH)
        vyre_lang_give_up(unit, expr->mark,
                          vyre_lang_text(unit, "an expression is nested more than %u deep",
                                         (unsigned)LANG_MOST_DEPTH),
                          "compute parts of it in variables");
}

static struct lang_expr *literal(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_take(unit);
    struct lang_expr *expr = make(unit, LANG_E_LITERAL, vyre_lang_span(token));
    if (token.kind == LANG_INTEGER) {
        vyre_lang_integer(unit, expr, token);
    } else if (token.kind == LANG_FLOAT) {
        vyre_lang_decimal(unit, expr, token);
    } else if (token.kind == LANG_STRING) {
        expr->kind = LANG_E_TEXT;
    } else {
        expr->type = LANG_TYPE_BOOL;
        expr->value = token.kind == LANG_TRUE;
        if (vyre_lang_token_name(unit, token)->told) expr->kind = LANG_E_WRONG;
    }
    return expr;
}

/* The bracket that closes `open`; the span grows to it. */
static void close(struct lang_unit *unit, struct lang_token open, const char *where,
                  struct lang_span *span)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t kind = open.kind == LANG_LPAREN ? LANG_RPAREN : LANG_RBRACKET;
    if (token.kind == LANG_END)
        vyre_lang_never_closed(unit, open);
    else
        vyre_lang_expect(unit, kind, where);
    if (token.kind == kind) *span = vyre_lang_join(*span, vyre_lang_span(token));
}

/* The arguments behind an opened parenthesis. */
static void arguments(struct lang_unit *unit, struct lang_expr *call)
{
    struct lang_expr **last = &call->args;
    struct lang_token open = vyre_lang_take(unit);
    if (vyre_lang_peek(unit, 0).kind != LANG_RPAREN) {
        do {
            struct lang_expr *argument = vyre_lang_expression(unit);
            over(unit, call, argument);
            *last = argument;
            last = &argument->next;
            call->count++;
        } while (!unit->noisy && vyre_lang_accept(unit, LANG_COMMA));
    }
    close(unit, open, "behind the arguments", &call->span);
}

/* `f32(x)`, or `(f32)x` where the token of the type is behind a parenthesis. */
static struct lang_expr *cast(struct lang_unit *unit)
{
    struct lang_token first = vyre_lang_peek(unit, 0);
    bool c = vyre_lang_accept(unit, LANG_LPAREN);
    struct lang_token type = vyre_lang_peek(unit, 0);
    struct lang_expr *expr = make(unit, LANG_E_CAST, vyre_lang_span(first));
    expr->mark = vyre_lang_span(type);
    uint32_t errors = unit->errors;
    expr->type = vyre_lang_value_type(vyre_lang_take_type(unit, false));
    if (errors != unit->errors) expr->type = LANG_TYPE_WRONG; /* who knows what was meant */
    if (c) {
        vyre_lang_expect(unit, LANG_RPAREN, "behind the type");
        expr->arg[0] = unary(unit);
        expr->span = vyre_lang_join(expr->span, expr->arg[0]->span);
    } else {
        struct lang_token open = vyre_lang_peek(unit, 0);
        if (!vyre_lang_accept(unit, LANG_LPAREN)) {
            vyre_lang_wrong(unit, LANG_D_EXPECTED, expr->mark,
                            vyre_lang_text(unit, "`%s` is a type, not a value",
                                           vyre_lang_token_text(type.kind)),
                            "a cast has its value in parentheses: `u32(x)`");
            return wrong(unit);
        }
        expr->arg[0] = vyre_lang_expression(unit);
        close(unit, open, "behind the value", &expr->span);
    }
    over(unit, expr, expr->arg[0]);
    if (expr->type == LANG_TYPE_WRONG) expr->kind = LANG_E_WRONG;
    return expr;
}

/* Behind a parenthesis: `int)x`. */
static bool is_foreign_cast(const struct lang_unit *unit)
{
    uint32_t ahead = 1;
    while (vyre_lang_is_foreign_type(unit, vyre_lang_peek(unit, ahead)))
        ahead++;
    if (ahead == 1 || vyre_lang_peek(unit, ahead).kind != LANG_RPAREN) return false;
    uint32_t next = vyre_lang_peek(unit, ahead + 1).kind;
    return next == LANG_NAME || next == LANG_INTEGER || next == LANG_FLOAT || next == LANG_LPAREN;
}

static struct lang_expr *parenthesised(struct lang_unit *unit)
{
    struct lang_token open = vyre_lang_peek(unit, 0);
    uint32_t inner = vyre_lang_peek(unit, 1).kind;
    if ((vyre_lang_element_type(inner) && vyre_lang_peek(unit, 2).kind == LANG_RPAREN) ||
        is_foreign_cast(unit))
        return cast(unit);
    vyre_lang_take(unit);
    struct lang_expr *expr = vyre_lang_expression(unit);
    struct lang_span span = vyre_lang_join(vyre_lang_span(open), expr->span);
    if (vyre_lang_peek(unit, 0).kind == LANG_COMMA)
        vyre_lang_unexpected(unit, "`)`: there is no comma operator", "");
    close(unit, open, "behind the expression", &span);
    expr->span = span;
    return expr;
}

/* `sizeof(x)` and `sizeof x`, whatever x is. */
static struct lang_expr *no_sizeof(struct lang_unit *unit)
{
    struct lang_expr *expr = wrong(unit);
    uint32_t depth = 0;
    vyre_lang_say(unit, LANG_D_EXPECTED, expr->span, "there is no `sizeof`",
                  "use `len(x)` for the elements of a buffer; u32, i32 and f32 have 4 bytes");
    vyre_lang_take(unit);
    do {
        uint32_t kind = vyre_lang_peek(unit, 0).kind;
        if (kind == LANG_END || kind == LANG_SEMICOLON) break;
        depth += kind == LANG_LPAREN;
        depth -= kind == LANG_RPAREN && depth > 0;
        vyre_lang_skip(unit);
    } while (depth > 0);
    return expr;
}

static struct lang_expr *named(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0), next = vyre_lang_peek(unit, 1);
    if (token.length == 6 && memcmp(unit->request->text + token.at, "sizeof", 6) == 0 &&
        (next.kind == LANG_LPAREN || next.kind == LANG_NAME || vyre_lang_element_type(next.kind)))
        return no_sizeof(unit);
    struct lang_expr *expr = make(unit, LANG_E_NAME, vyre_lang_span(token));
    expr->name = vyre_lang_token_name(unit, vyre_lang_take(unit));
    return expr;
}

/* No value begins here. */
static struct lang_expr *no_value(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t before = unit->at > 0 ? unit->tokens[unit->at - 1].kind : (uint32_t)LANG_END;
    const char *fix = "";
    if (vyre_lang_is_word(token.kind) && vyre_lang_token_name(unit, token)->told) {
        vyre_lang_take(unit);
        return wrong(unit);
    }
    if (token.kind == LANG_END && unit->function) unit->noisy = true; /* the brace is told of */
    if (token.kind == LANG_LBRACE)
        fix = "there are no lists of values; assign each element";
    else if (before == LANG_COMMA && (token.kind == LANG_RPAREN || token.kind == LANG_SEMICOLON))
        fix = "remove the `,` before it";
    else if (before == LANG_LBRACKET && token.kind == LANG_RBRACKET)
        fix = "write the index of the element, such as `[i]`";
    else if (before == LANG_SET && (token.kind == LANG_LT || token.kind == LANG_GT))
        fix = token.kind == LANG_LT ? "write `<=`" : "write `>=`";
    else if (before == LANG_SET && (token.kind == LANG_PLUS || token.kind == LANG_MINUS))
        fix = "write the operator before the `=`";
    vyre_lang_unexpected(unit, "a value", fix);
    return wrong(unit);
}

static struct lang_expr *primary(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    switch (token.kind) {
    case LANG_INTEGER:
    case LANG_FLOAT:
    case LANG_STRING:
    case LANG_TRUE:
    case LANG_FALSE:
        return literal(unit);
    case LANG_LPAREN:
        return parenthesised(unit);
    case LANG_NAME:
        return named(unit);
    default:
        return vyre_lang_element_type(token.kind) ? cast(unit) : no_value(unit);
    }
}

/* Whether a bracket is closed before its statement ends. */
static bool is_closed(const struct lang_unit *unit)
{
    uint32_t depth = 0;
    for (uint32_t ahead = 0; ahead < 256; ahead++) {
        uint32_t kind = vyre_lang_peek(unit, ahead).kind;
        if (kind == LANG_END || kind == LANG_SEMICOLON || kind == LANG_LBRACE) return false;
        if (kind == LANG_LBRACKET) depth++;
        if (kind == LANG_RBRACKET && depth-- == 0) return true;
    }
    return true;
}

static void no_assignment(struct lang_unit *unit, struct lang_expr *expr);

static struct lang_expr *index_of(struct lang_unit *unit, struct lang_expr *buffer)
{
    struct lang_expr *expr = make(unit, LANG_E_INDEX, buffer->span);
    struct lang_token open = vyre_lang_take(unit);
    expr->arg[0] = buffer;
    expr->arg[1] = vyre_lang_operand(unit);
    if (is_closed(unit)) no_assignment(unit, expr->arg[1]);
    if (vyre_lang_peek(unit, 0).kind == LANG_COMMA)
        vyre_lang_unexpected(unit, "`]`: a buffer has one index",
                             "compute it, such as `[y * width + x]`");
    expr->span = vyre_lang_join(expr->span, expr->arg[1]->span);
    close(unit, open, "behind the index", &expr->span);
    over(unit, expr, expr->arg[1]);
    over(unit, expr, buffer);
    return expr;
}

/* `x++` where a value is needed: the step is taken, and the value is none. */
static struct lang_expr *no_step(struct lang_unit *unit, struct lang_expr *expr, uint32_t op)
{
    const char *text = vyre_lang_token_text(op), *quote = vyre_lang_quote(unit, expr->span);
    vyre_lang_say(unit, LANG_D_STEP_IN_VALUE, expr->span,
                  vyre_lang_text(unit, "`%s` is a statement, not a value", quote ? quote : text),
                  quote ? vyre_lang_text(unit,
                                         "put `%s;` on a line of its own, before or after "
                                         "this one",
                                         quote)
                        : "put it on a line of its own, before or after this one");
    expr->kind = LANG_E_WRONG;
    return expr;
}

static struct lang_expr *field_of(struct lang_unit *unit, struct lang_expr *expr)
{
    struct lang_expr *field = make(unit, LANG_E_FIELD, expr->span);
    struct lang_token token = vyre_lang_take(unit);
    bool arrow = token.kind == LANG_MINUS;
    if (arrow) vyre_lang_take(unit);
    field->name = expr->kind == LANG_E_NAME ? expr->name : NULL;
    field->arg[0] = expr;
    over(unit, field, expr);
    field->field = vyre_lang_declared_name(unit, &field->mark);
    field->span = vyre_lang_join(field->span, field->mark);
    bool told = field->name && unit->function && field->name->unknown_in == unit->function;
    if (arrow && told) field->kind = LANG_E_WRONG;
    if (arrow && !told && !unit->noisy) {
        vyre_lang_say(unit, LANG_D_EXPECTED, (struct lang_span){token.at, 2},
                      "there is no `->`: there are no pointers and no structures",
                      "use a variable or a buffer for each part");
        field->kind = LANG_E_WRONG;
    }
    if (expr->kind == LANG_E_WRONG) field->kind = LANG_E_WRONG;
    return field;
}

/* Whether the next token is `->`, which is two. */
static bool is_arrow(const struct lang_unit *unit)
{
    struct lang_token a = vyre_lang_peek(unit, 0), b = vyre_lang_peek(unit, 1);
    return a.kind == LANG_MINUS && b.kind == LANG_GT && b.at == a.at + 1 &&
           vyre_lang_peek(unit, 2).kind == LANG_NAME;
}

static struct lang_expr *postfix(struct lang_unit *unit)
{
    bool place = unit->place_at && unit->at == unit->place_at;
    struct lang_expr *expr = primary(unit);
    while (!unit->noisy) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        if (token.kind == LANG_LBRACKET) {
            expr = index_of(unit, expr);
        } else if (token.kind == LANG_LPAREN) {
            struct lang_expr *call = make(unit, LANG_E_CALL, expr->span);
            call->name = expr->kind == LANG_E_NAME ? expr->name : NULL;
            if (expr->kind == LANG_E_WRONG) call->kind = LANG_E_WRONG;
            over(unit, call, expr);
            arguments(unit, call);
            expr = call;
        } else if (token.kind == LANG_DOT || is_arrow(unit)) {
            expr = field_of(unit, expr);
        } else if ((token.kind == LANG_PLUS_PLUS || token.kind == LANG_MINUS_MINUS) && !place &&
                   !vyre_lang_begins_line(unit, 0)) {
            vyre_lang_take(unit);
            expr->span = vyre_lang_join(expr->span, vyre_lang_span(token));
            expr = no_step(unit, expr, token.kind);
        } else {
            break;
        }
    }
    return expr;
}

/* `*p` and `&x`. */
static struct lang_expr *no_pointer(struct lang_unit *unit, struct lang_token token,
                                    struct lang_expr *expr)
{
    const char *quote = vyre_lang_quote(unit, expr->span);
    const char *fix = "use a buffer and an index: `x[k]`";
    bool told = expr->kind == LANG_E_NAME && unit->function &&
                (expr->name->told || expr->name->unknown_in == unit->function);
    vyre_lang_accept(unit, LANG_PLUS_PLUS);
    if (expr->kind == LANG_E_NAME) expr->name->unknown_in = unit->function;
    if (token.kind == LANG_STAR && expr->kind == LANG_E_NAME)
        fix = vyre_lang_text(unit, "write `%.40s[0]` for an element of a buffer", quote);
    if (token.kind == LANG_AND && quote) fix = vyre_lang_text(unit, "write `%s` itself", quote);
    if (!told && expr->kind != LANG_E_WRONG)
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_join(vyre_lang_span(token), expr->span),
                      token.kind == LANG_STAR ? "there are no pointers: nothing stands before `*`"
                                              : "there are no pointers: nothing stands before `&`",
                      fix);
    expr->span = vyre_lang_join(vyre_lang_span(token), expr->span);
    expr->kind = LANG_E_WRONG;
    return expr;
}

static bool is_prefix(uint32_t kind)
{
    return kind == LANG_MINUS || kind == LANG_PLUS || kind == LANG_TILDE || kind == LANG_NOT ||
           kind == LANG_STAR || kind == LANG_AND || kind == LANG_PLUS_PLUS ||
           kind == LANG_MINUS_MINUS;
}

static struct lang_expr *unary(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t next = vyre_lang_peek(unit, 1).kind;
    if (!is_prefix(token.kind)) return postfix(unit);
    if ((token.kind == LANG_STAR || token.kind == LANG_AND) && next != LANG_NAME &&
        next != LANG_LPAREN)
        return no_value(unit);
    vyre_lang_take(unit);
    vyre_lang_nest(unit);
    if (token.kind == LANG_STAR) unit->place_at = unit->at;
    struct lang_expr *operand = unary(unit);
    unit->depth--;
    if (unit->noisy) return operand;
    if (token.kind == LANG_STAR || token.kind == LANG_AND) return no_pointer(unit, token, operand);
    if (token.kind == LANG_PLUS_PLUS || token.kind == LANG_MINUS_MINUS) {
        operand->span = vyre_lang_join(vyre_lang_span(token), operand->span);
        return no_step(unit, operand, token.kind);
    }
    if (token.kind == LANG_MINUS && operand->kind == LANG_E_LITERAL &&
        (operand->open || operand->type == LANG_TYPE_I32) && !operand->negative &&
        operand->span.at == vyre_lang_span(token).at + 1) {
        operand->negative = true;
        operand->span = vyre_lang_join(vyre_lang_span(token), operand->span);
        return operand;
    }
    struct lang_expr *expr = make(unit, LANG_E_UNARY, vyre_lang_span(token));
    expr->op = token.kind;
    expr->arg[0] = operand;
    expr->span = vyre_lang_join(expr->span, operand->span);
    over(unit, expr, operand);
    return expr;
}

static uint32_t precedence(uint32_t token)
{
    switch (token) {
    case LANG_OR_OR:
        return 1;
    case LANG_AND_AND:
        return 2;
    case LANG_OR:
        return 3;
    case LANG_XOR:
        return 4;
    case LANG_AND:
        return 5;
    case LANG_EQ:
    case LANG_NE:
        return 6;
    case LANG_LT:
    case LANG_GT:
    case LANG_LE:
    case LANG_GE:
        return 7;
    case LANG_SHL:
    case LANG_SHR:
        return 8;
    case LANG_PLUS:
    case LANG_MINUS:
        return 9;
    case LANG_STAR:
    case LANG_SLASH:
    case LANG_PERCENT:
        return 10;
    default:
        return 0;
    }
}

/* The operator that was taken may be part of one that there is not, such as `<>`. */
static uint32_t whole_operator(struct lang_unit *unit, struct lang_token token)
{
    struct lang_token next = vyre_lang_peek(unit, 0);
    const char *fix = NULL;
    uint32_t stands = token.kind;
    if (next.at != token.at + token.length) return stands;
    if (token.kind == LANG_LT && next.kind == LANG_GT) {
        fix = "write `!=`";
        stands = LANG_NE;
    } else if ((token.kind == LANG_EQ || token.kind == LANG_NE) && next.kind == LANG_SET) {
        fix = token.kind == LANG_EQ ? "write `==`" : "write `!=`";
    } else if (token.kind == LANG_STAR && next.kind == LANG_STAR) {
        fix = "write `x * x`, or `exp2(y * log2(x))` for a positive x";
        stands = LANG_BAD;
    }
    if (!fix) return stands;
    vyre_lang_take(unit);
    struct lang_span span = vyre_lang_join(vyre_lang_span(token), vyre_lang_span(next));
    vyre_lang_say(unit, LANG_D_EXPECTED, span,
                  vyre_lang_text(unit, "there is no operator `%s`", vyre_lang_quote(unit, span)),
                  fix);
    return stands;
}

static struct lang_expr *binary(struct lang_unit *unit, uint32_t least)
{
    struct lang_expr *left = unary(unit);
    while (!unit->noisy) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        uint32_t level = precedence(token.kind);
        if (level == 0 || level < least) break;
        vyre_lang_take(unit);
        vyre_lang_nest(unit);
        uint32_t op = whole_operator(unit, token);
        struct lang_expr *right = binary(unit, level + 1);
        unit->depth--;
        struct lang_expr *expr = make(unit, LANG_E_BINARY, vyre_lang_span(token));
        if (op == LANG_BAD) expr->kind = LANG_E_WRONG;
        expr->op = (uint8_t)op;
        expr->arg[0] = left;
        expr->arg[1] = right;
        expr->span = vyre_lang_join(left->span, right->span);
        over(unit, expr, left);
        over(unit, expr, right);
        left = expr;
    }
    return left;
}

static struct lang_expr *conditional(struct lang_unit *unit)
{
    struct lang_expr *condition = binary(unit, 1);
    if (unit->noisy || vyre_lang_peek(unit, 0).kind != LANG_QUESTION) return condition;
    struct lang_expr *expr = make(unit, LANG_E_CHOOSE, vyre_lang_span(vyre_lang_take(unit)));
    vyre_lang_nest(unit);
    expr->arg[0] = condition;
    expr->arg[1] = vyre_lang_expression(unit);
    expr->arg[2] = expr->arg[1];
    if (vyre_lang_expect(unit, LANG_COLON, "and the other value of `?`"))
        expr->arg[2] = conditional(unit);
    else
        expr->kind = LANG_E_WRONG;
    unit->depth--;
    expr->span = vyre_lang_join(condition->span, expr->arg[2]->span);
    for (uint32_t i = 0; i < 3; i++)
        over(unit, expr, expr->arg[i]);
    return expr;
}

struct lang_expr *vyre_lang_operand(struct lang_unit *unit)
{
    vyre_lang_nest(unit);
    struct lang_expr *expr = conditional(unit);
    unit->depth--;
    return expr;
}

/* An assignment behind a value: it is read, and the value is none. */
static void no_assignment(struct lang_unit *unit, struct lang_expr *expr)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    const char *text = vyre_lang_token_text(token.kind);
    if (unit->noisy || !vyre_lang_is_assignment(token.kind)) return;
    uint32_t next = vyre_lang_peek(unit, 1).kind;
    bool order = token.kind == LANG_SET && (next == LANG_LT || next == LANG_GT) &&
                 vyre_lang_peek(unit, 1).at == token.at + 1;
    vyre_lang_take(unit);
    if (order)
        vyre_lang_say(
            unit, LANG_D_EXPECTED, (struct lang_span){token.at, 2},
            vyre_lang_text(unit, "there is no operator `=%s`", vyre_lang_token_text(next)),
            vyre_lang_text(unit, "write `%s=`", vyre_lang_token_text(next)));
    else
        vyre_lang_say(
            unit, LANG_D_SET_FOR_EQ, vyre_lang_span(token),
            vyre_lang_text(unit, "`%s` assigns and is a statement; a value is needed here", text),
            token.kind == LANG_SET ? "use `==` to compare"
                                   : "put the assignment on a line of its own, before this one");
    if (order) vyre_lang_take(unit);
    vyre_lang_operand(unit);
    expr->kind = LANG_E_WRONG;
}

struct lang_expr *vyre_lang_expression(struct lang_unit *unit)
{
    struct lang_expr *expr = vyre_lang_operand(unit);
    no_assignment(unit, expr);
    return expr;
}
