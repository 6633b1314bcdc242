/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the parts of the parser share: tokens with as much look-ahead as one likes, what is
 * expected, names and types. One mistake, one complaint: where it is clear what is missing or too
 * much, reading goes on as if the source were right. Where it is not, `noisy` keeps everybody quiet
 * until the statement is left, and names in what is skipped are known to be unknown.
 */
#include <string.h>

#include "lang/ast.h"

struct lang_token vyre_lang_peek(const struct lang_unit *unit, uint32_t ahead)
{
    uint32_t last = unit->token_count - 1;
    return unit->tokens[unit->at + ahead < last ? unit->at + ahead : last];
}

struct lang_token vyre_lang_take(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (unit->at < unit->token_count - 1) unit->at++;
    return token;
}

bool vyre_lang_accept(struct lang_unit *unit, uint32_t kind)
{
    if (vyre_lang_peek(unit, 0).kind != kind) return false;
    vyre_lang_take(unit);
    return true;
}

struct lang_span vyre_lang_span(struct lang_token token)
{
    return (struct lang_span){token.at, token.length};
}

struct lang_name *vyre_lang_token_name(struct lang_unit *unit, struct lang_token token)
{
    return vyre_lang_intern(unit, unit->request->text + token.at, token.length);
}

uint32_t vyre_lang_column(const struct lang_unit *unit, uint32_t at)
{
    uint32_t start = at;
    while (start > 0 && unit->request->text[start - 1] != '\n')
        start--;
    return at - start + 1;
}

uint32_t vyre_lang_indent(const struct lang_unit *unit, struct lang_token token)
{
    uint32_t at = token.at - (vyre_lang_column(unit, token.at) - 1), from = at;
    while (unit->request->text[at] == ' ' || unit->request->text[at] == '\t')
        at++;
    return at - from + 1;
}

uint32_t vyre_lang_line(const struct lang_unit *unit, uint32_t at)
{
    uint32_t line = 1;
    for (uint32_t i = 0; i < at; i++)
        line += unit->request->text[i] == '\n';
    return line;
}

bool vyre_lang_begins_line(const struct lang_unit *unit, uint32_t ahead)
{
    uint32_t last = unit->token_count - 1;
    uint32_t index = unit->at + ahead < last ? unit->at + ahead : last;
    if (index == 0) return true;
    const struct lang_token *before = &unit->tokens[index - 1];
    for (uint32_t i = before->at + before->length; i < unit->tokens[index].at; i++)
        if (unit->request->text[i] == '\n') return true;
    return false;
}

/* What was found, as a message says it. */
static const char *found(struct lang_unit *unit, struct lang_token token)
{
    if (token.kind == LANG_END) return "the end of the file";
    if (token.kind == LANG_STRING) return "a text";
    return vyre_lang_text(unit, "`%.*s`", (int)(token.length > 40 ? 40 : token.length),
                          unit->request->text + token.at);
}

void vyre_lang_wrong(struct lang_unit *unit, enum lang_diagnostic_number number,
                     struct lang_span span, const char *message, const char *fix)
{
    if (unit->noisy) return;
    unit->noisy = true;
    vyre_lang_say(unit, number, span, message, fix);
}

/* Whether the lexer has complained of what stands here. */
static bool is_told(const struct lang_unit *unit, struct lang_token token)
{
    return token.kind == LANG_BAD || (token.kind == LANG_END && unit->cut);
}

void vyre_lang_unexpected(struct lang_unit *unit, const char *wanted, const char *fix)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    bool noisy = unit->noisy;
    unit->noisy = true;
    if (noisy || is_told(unit, token)) return;
    vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                  vyre_lang_text(unit, "found %s, expected %s", found(unit, token), wanted), fix);
}

void vyre_lang_never_closed(struct lang_unit *unit, struct lang_token open)
{
    const char *text = vyre_lang_token_text(open.kind);
    unit->noisy = unit->noisy || unit->cut;
    if (!unit->noisy) unit->cut = vyre_lang_peek(unit, 0).kind == LANG_END;
    vyre_lang_wrong(unit, LANG_D_UNCLOSED, vyre_lang_span(open),
                    vyre_lang_text(unit, "this `%s` is never closed", text),
                    vyre_lang_text(unit, "close it with `%s`",
                                   open.kind == LANG_LPAREN     ? ")"
                                   : open.kind == LANG_LBRACKET ? "]"
                                                                : "}"));
}

/* What is missing is missing behind the token before. */
static void missing(struct lang_unit *unit, uint32_t kind, const char *where)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    struct lang_token before = unit->at > 0 ? unit->tokens[unit->at - 1] : token;
    const char *text = vyre_lang_token_text(kind);
    bool noisy = unit->noisy;
    unit->noisy = true;
    if (noisy || is_told(unit, token)) return;
    vyre_lang_say(
        unit, LANG_D_EXPECTED, (struct lang_span){before.at + before.length, 0},
        vyre_lang_text(unit, "expected `%s` %s, found %s", text, where, found(unit, token)),
        vyre_lang_text(unit, "put a `%s` here", text));
}

bool vyre_lang_expect(struct lang_unit *unit, uint32_t kind, const char *where)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    bool noisy = unit->noisy;
    if (vyre_lang_accept(unit, kind)) return true;
    missing(unit, kind, where);
    bool closes = token.kind == LANG_SEMICOLON || token.kind == LANG_RPAREN ||
                  token.kind == LANG_RBRACE || token.kind == LANG_LBRACE || token.kind == LANG_SET;
    bool clear = (kind == LANG_RPAREN || kind == LANG_RBRACKET) &&
                 (closes || vyre_lang_begins_line(unit, 0));
    if (clear && !noisy && token.kind != LANG_BAD && token.kind != LANG_END) unit->noisy = false;
    unit->dubious = unit->dubious || clear;
    return clear && !noisy;
}

/* Whether a statement begins with the next token, so that the one before it has ended. */
static bool begins_statement(const struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (token.kind == LANG_RBRACE) return true;
    if (token.kind >= LANG_IF && token.kind <= LANG_RETURN) return true;
    if (token.kind == LANG_CONST || token.kind == LANG_WORKGROUP) return true;
    if (vyre_lang_element_type(token.kind)) return vyre_lang_peek(unit, 1).kind == LANG_NAME;
    if (token.kind == LANG_NAME || token.kind == LANG_PLUS_PLUS || token.kind == LANG_MINUS_MINUS ||
        token.kind == LANG_LBRACE || token.kind == LANG_KERNEL || token.kind == LANG_AT ||
        token.kind == LANG_VOID)
        return vyre_lang_begins_line(unit, 0);
    return false;
}

/* What may stand between two values in other languages, or nothing. */
static const char *operator_fix(const struct lang_unit *unit, struct lang_token token)
{
    static const char *const operators[][2] = {{"and", "write `&&`"},
                                               {"or", "write `||`"},
                                               {"xor", "write `^`"},
                                               {"mod", "write `%`"},
                                               {"then", "remove it"}};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (token.length == strlen(operators[i][0]) &&
            memcmp(unit->request->text + token.at, operators[i][0], token.length) == 0)
            return operators[i][1];
    return "";
}

bool vyre_lang_expect_end(struct lang_unit *unit, const char *where)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (unit->noisy) return false;
    if (vyre_lang_accept(unit, LANG_SEMICOLON)) return true;
    if (begins_statement(unit)) {
        missing(unit, LANG_SEMICOLON, where);
        unit->noisy = false;
        return true;
    }
    if (token.kind == LANG_RPAREN || token.kind == LANG_RBRACKET) {
        vyre_lang_wrong(
            unit, LANG_D_EXPECTED, vyre_lang_span(token),
            vyre_lang_text(unit, "this `%s` closes nothing", vyre_lang_token_text(token.kind)),
            "remove it");
        vyre_lang_take(unit);
        unit->dubious = true;
        if (vyre_lang_accept(unit, LANG_SEMICOLON)) unit->noisy = false;
        return !unit->noisy;
    }
    bool value = token.kind == LANG_NAME || token.kind == LANG_INTEGER ||
                 token.kind == LANG_FLOAT || token.kind == LANG_STRING;
    if (value)
        vyre_lang_unexpected(unit, "an operator or `;`", operator_fix(unit, token));
    else
        missing(unit, LANG_SEMICOLON, where);
    return false;
}

struct lang_token vyre_lang_skip(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_take(unit);
    if (token.kind != LANG_NAME) return token;
    struct lang_name *name = vyre_lang_token_name(unit, token);
    if (unit->function)
        name->unknown_in = unit->function;
    else
        name->told = true;
    return token;
}

bool vyre_lang_begins_function(const struct lang_unit *unit)
{
    uint32_t kind = vyre_lang_peek(unit, 0).kind, next = vyre_lang_peek(unit, 1).kind;
    bool line = vyre_lang_begins_line(unit, 0);
    if (kind == LANG_KERNEL) return line || next == LANG_NAME;
    if (kind == LANG_AT) return line;
    return (kind == LANG_VOID || vyre_lang_value_type(kind) != LANG_TYPE_WRONG) &&
           next == LANG_NAME && vyre_lang_peek(unit, 2).kind == LANG_LPAREN;
}

void vyre_lang_nest(struct lang_unit *unit)
{
    if (++unit->depth > LANG_MOST_DEPTH)
        vyre_lang_give_up(
            unit, vyre_lang_span(vyre_lang_peek(unit, 0)),
            vyre_lang_text(unit, "this is nested more than %u deep", (unsigned)LANG_MOST_DEPTH),
            "compute parts of it in variables or functions of their own");
}

bool vyre_lang_is_assignment(uint32_t token)
{
    return token == LANG_SET || token == LANG_SHL_SET || token == LANG_SHR_SET ||
           (token >= LANG_ADD_SET && token <= LANG_XOR_SET);
}

uint8_t vyre_lang_value_type(uint32_t token)
{
    switch (token) {
    case LANG_U32:
        return LANG_TYPE_U32;
    case LANG_I32:
        return LANG_TYPE_I32;
    case LANG_F32:
        return LANG_TYPE_F32;
    case LANG_BOOL:
        return LANG_TYPE_BOOL;
    default:
        return LANG_TYPE_WRONG;
    }
}

uint8_t vyre_lang_element_type(uint32_t token)
{
    switch (token) {
    case LANG_U32:
        return IR_TYPE_U32;
    case LANG_I32:
        return IR_TYPE_I32;
    case LANG_F32:
        return IR_TYPE_F32;
    case LANG_BOOL:
        return IR_TYPE_BOOL;
    case LANG_U8:
        return IR_TYPE_U8;
    case LANG_I8:
        return IR_TYPE_I8;
    case LANG_U16:
        return IR_TYPE_U16;
    case LANG_I16:
        return IR_TYPE_I16;
    default:
        return 0;
    }
}

uint8_t vyre_lang_loaded_type(uint8_t element)
{
    switch (element) {
    case 0:
        return LANG_TYPE_WRONG;
    case IR_TYPE_F32:
        return LANG_TYPE_F32;
    case IR_TYPE_BOOL:
        return LANG_TYPE_BOOL;
    case IR_TYPE_I32:
    case IR_TYPE_I8:
    case IR_TYPE_I16:
        return LANG_TYPE_I32;
    default:
        return LANG_TYPE_U32;
    }
}

uint32_t vyre_lang_take_type(struct lang_unit *unit, bool element)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (vyre_lang_value_type(token.kind) != LANG_TYPE_WRONG) return vyre_lang_take(unit).kind;
    if (!vyre_lang_element_type(token.kind)) return vyre_lang_foreign_type(unit, element);
    vyre_lang_take(unit);
    if (element) return token.kind;
    uint32_t stands = token.kind == LANG_U8 || token.kind == LANG_U16 ? LANG_U32 : LANG_I32;
    vyre_lang_say(unit, LANG_D_TYPE_NAME, vyre_lang_span(token),
                  vyre_lang_text(unit, "`%s` is a type of buffer elements only",
                                 vyre_lang_token_text(token.kind)),
                  vyre_lang_text(unit, "write `%s`", vyre_lang_token_text(stands)));
    return stands;
}

struct lang_name *vyre_lang_declared_name(struct lang_unit *unit, struct lang_span *span)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    bool word = vyre_lang_is_word(token.kind);
    *span = vyre_lang_span(token);
    if (token.kind == LANG_NAME) return vyre_lang_token_name(unit, vyre_lang_take(unit));
    if (word && vyre_lang_peek(unit, 1).kind == LANG_NAME && !vyre_lang_begins_line(unit, 1) &&
        !unit->noisy) {
        vyre_lang_unexpected(unit, "a name", "remove it");
        unit->noisy = false;
        vyre_lang_take(unit);
        return vyre_lang_declared_name(unit, span);
    }
    if ((word || token.kind == LANG_INTEGER || token.kind == LANG_FLOAT) && !unit->noisy) {
        /* It is taken as the name, and what uses it is not complained of. */
        struct lang_name *name = vyre_lang_token_name(unit, vyre_lang_take(unit));
        name->told = true;
        if (word)
            vyre_lang_say(unit, LANG_D_RESERVED, *span,
                          vyre_lang_text(unit, "`%s` is a word of the language", name->text),
                          "choose another name");
        else
            vyre_lang_say(unit, LANG_D_EXPECTED, *span,
                          vyre_lang_text(unit, "found `%.40s`, expected a name", name->text),
                          "begin a name with a letter or `_`");
        return name;
    }
    vyre_lang_unexpected(unit, "a name", "");
    if (unit->function)
        unit->function->lost = true;
    else
        unit->lost = true;
    return NULL;
}
