/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What stands before the body of a function or a kernel: parameters and attributes. A parameter
 * that is written as in C is read as what it stands for, so that the body can be checked.
 */
#include <string.h>

#include "lang/ast.h"

static uint8_t access_of(uint32_t token)
{
    switch (token) {
    case LANG_IN:
        return LANG_ACCESS_IN;
    case LANG_OUT:
        return LANG_ACCESS_OUT;
    case LANG_INOUT:
        return LANG_ACCESS_INOUT;
    case LANG_WORKGROUP:
        return LANG_ACCESS_WORKGROUP;
    default:
        return 0;
    }
}

/* `const`, `in out` and the like. */
static uint8_t take_access(struct lang_unit *unit)
{
    uint8_t access = 0;
    for (;;) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        const struct lang_foreign *foreign = vyre_lang_foreign_word(unit, token);
        uint8_t more = access_of(token.kind);
        bool prefix = foreign && foreign->kind == LANG_FOREIGN_PREFIX &&
                      vyre_lang_peek(unit, 1).kind != LANG_COMMA &&
                      vyre_lang_peek(unit, 1).kind != LANG_RPAREN;
        if (!more && token.kind != LANG_CONST && !prefix) return access;
        vyre_lang_take(unit);
        /* `const f32 *x` is complained of as a pointer. */
        if (token.kind == LANG_CONST && vyre_lang_peek(unit, 1).kind == LANG_STAR)
            return LANG_ACCESS_IN;
        if (prefix)
            vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                          vyre_lang_text(unit, "there is no `%s`", foreign->word), foreign->fix);
        else if (!more)
            vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                          "a parameter is not declared `const`",
                          "remove it; a buffer that is only read is an `in` buffer");
        else if (access)
            vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                          "a buffer has one of `in`, `out` and `inout`",
                          "write `inout` if it is read and written");
        access = access && more ? LANG_ACCESS_INOUT : more ? more : access;
    }
}

/* The type; false where there is none to be seen. */
static bool take_type(struct lang_unit *unit, struct lang_symbol *symbol)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t next = vyre_lang_peek(unit, 1).kind;
    uint32_t type = symbol->access || vyre_lang_element_type(token.kind)
                        ? vyre_lang_take_type(unit, true)
                        : vyre_lang_foreign_type(unit, next == LANG_STAR);
    symbol->element = vyre_lang_element_type(type);
    symbol->type = vyre_lang_loaded_type(symbol->element);
    if (type || unit->noisy) return type != 0;
    if (token.kind == LANG_NAME && next == LANG_COLON) {
        vyre_lang_wrong(
            unit, LANG_D_EXPECTED, vyre_lang_span(token),
            "the type of a parameter stands before its name",
            vyre_lang_text(unit, "write `u32 %s`", vyre_lang_token_name(unit, token)->text));
        return false;
    }
    if (token.kind == LANG_NAME && (next == LANG_NAME || next == LANG_STAR)) {
        vyre_lang_take(unit);
        struct lang_name *name = vyre_lang_token_name(unit, token);
        if (!name->told)
            vyre_lang_say(unit, LANG_D_TYPE_NAME, vyre_lang_span(token),
                          vyre_lang_text(unit, "there is no type `%.60s`", name->text),
                          "use u32, i32, f32 or bool");
        return true;
    }
    if (token.kind == LANG_NAME) {
        vyre_lang_say(
            unit, LANG_D_EXPECTED, vyre_lang_span(token),
            vyre_lang_text(unit, "`%.60s` has no type", vyre_lang_token_name(unit, token)->text),
            vyre_lang_text(unit, "write its type before it, such as `u32 %.60s`",
                           vyre_lang_token_name(unit, token)->text));
        return true;
    }
    vyre_lang_unexpected(unit, symbol->access ? "the type of an element" : "a parameter",
                         token.kind == LANG_RPAREN ? "remove the `,` before it" : "");
    return false;
}

/* Asterisks and brackets before the name; true where the parameter is a buffer by them. */
static bool take_marks(struct lang_unit *unit, struct lang_symbol *symbol)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (token.kind == LANG_LBRACKET && vyre_lang_peek(unit, 1).kind == LANG_RBRACKET &&
        vyre_lang_peek(unit, 2).kind == LANG_NAME) {
        vyre_lang_say(
            unit, LANG_D_EXPECTED,
            vyre_lang_join(vyre_lang_span(token), vyre_lang_span(vyre_lang_peek(unit, 1))),
            "the brackets of a buffer stand behind its name",
            vyre_lang_text(unit, "write `%s[]`",
                           vyre_lang_token_name(unit, vyre_lang_peek(unit, 2))->text));
        unit->at += 2;
        return true;
    }
    if (token.kind != LANG_STAR && token.kind != LANG_AND) return false;
    while (vyre_lang_peek(unit, 0).kind == LANG_STAR || vyre_lang_peek(unit, 0).kind == LANG_AND ||
           vyre_lang_peek(unit, 0).kind == LANG_CONST)
        vyre_lang_take(unit);
    struct lang_token name = vyre_lang_peek(unit, 0);
    if (name.kind == LANG_NAME) vyre_lang_token_name(unit, name)->unknown_in = unit->function;
    const char *element =
        symbol->element ? vyre_lang_element_name(symbol->element) : vyre_lang_token_text(LANG_U32);
    static const char *const words[] = {"inout", "in", "out", "inout", "workgroup"};
    vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token), "there are no pointers",
                  name.kind == LANG_NAME ? vyre_lang_text(unit, "declare a buffer: `%s %s %.40s[]`",
                                                          words[symbol->access], element,
                                                          vyre_lang_token_name(unit, name)->text)
                                         : "declare a buffer");
    return true;
}

/* Brackets, or none, as they must be. */
static void check_shape(struct lang_unit *unit, struct lang_symbol *symbol, struct lang_token type)
{
    bool brackets = vyre_lang_peek(unit, 0).kind == LANG_LBRACKET;
    const char *name = symbol->name->text;
    uint32_t next = vyre_lang_peek(unit, 0).kind;
    if (symbol->access && !brackets && next != LANG_COMMA && next != LANG_RPAREN)
        return; /* who looks for the comma complains */
    if (symbol->access && !brackets)
        vyre_lang_say(unit, LANG_D_EXPECTED, symbol->span,
                      vyre_lang_text(unit, "`%s` is a buffer and needs brackets", name),
                      vyre_lang_text(unit, "write `%s[]`", name));
    else if (brackets && !symbol->access)
        vyre_lang_say(
            unit, LANG_D_EXPECTED, symbol->span,
            vyre_lang_text(unit, "the buffer `%s` does not say what is done with it", name),
            "put `in`, `out` or `inout` before its type");
    else if (!brackets && vyre_lang_element_type(type.kind) &&
             vyre_lang_value_type(type.kind) == LANG_TYPE_WRONG)
        vyre_lang_say(unit, LANG_D_TYPE_NAME, vyre_lang_span(type),
                      vyre_lang_text(unit, "`%s` is a type of buffer elements only",
                                     vyre_lang_token_text(type.kind)),
                      vyre_lang_text(unit, "write `%s`", vyre_lang_type_name(symbol->type)));
}

/* One parameter; NULL where it could not be read. */
static struct lang_symbol *parameter(struct lang_unit *unit)
{
    struct lang_symbol *symbol = vyre_lang_alloc(unit, 1, sizeof *symbol);
    uint32_t errors = unit->errors;
    symbol->access = take_access(unit);
    struct lang_token type = vyre_lang_peek(unit, 0);
    if (!take_type(unit, symbol)) return NULL;
    symbol->parameter = true;
    bool buffer = take_marks(unit, symbol);
    if (vyre_lang_peek(unit, 0).kind != LANG_NAME &&
        !vyre_lang_is_word(vyre_lang_peek(unit, 0).kind)) {
        vyre_lang_unexpected(unit, "the name of the parameter",
                             vyre_lang_peek(unit, 0).kind == LANG_RPAREN ? "name it here" : "");
        unit->function->lost = true;
        return NULL;
    }
    symbol->name = vyre_lang_declared_name(unit, &symbol->span);
    if (!symbol->name) return NULL;
    if (!buffer && errors == unit->errors) check_shape(unit, symbol, type);
    buffer = buffer || symbol->access || vyre_lang_peek(unit, 0).kind == LANG_LBRACKET;
    symbol->kind = buffer ? LANG_SYMBOL_BUFFER : LANG_SYMBOL_VARIABLE;
    if (buffer && !symbol->access) symbol->access = LANG_ACCESS_INOUT;
    /* Of what it is, or is used for, nothing more is said. */
    symbol->told = errors != unit->errors;
    if (vyre_lang_peek(unit, 0).kind == LANG_SET) {
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(vyre_lang_take(unit)),
                      "a parameter has no default value", "remove it; whoever calls gives a value");
        vyre_lang_operand(unit);
    }
    if (vyre_lang_peek(unit, 0).kind != LANG_LBRACKET) return symbol;
    struct lang_token open = vyre_lang_take(unit);
    if (vyre_lang_peek(unit, 0).kind != LANG_RBRACKET) symbol->size = vyre_lang_expression(unit);
    if (!vyre_lang_accept(unit, LANG_RBRACKET)) {
        vyre_lang_never_closed(unit, open);
        symbol->size = NULL;
    } else if (vyre_lang_peek(unit, 0).kind == LANG_LBRACKET)
        vyre_lang_wrong(unit, LANG_D_EXPECTED, vyre_lang_span(vyre_lang_peek(unit, 0)),
                        "a buffer has one index", "compute it, such as `[y * width + x]`");
    return symbol;
}

/* To the comma or parenthesis behind the parameter that could not be read. */
static void skip_parameter(struct lang_unit *unit)
{
    uint32_t depth = 0;
    for (;; vyre_lang_skip(unit)) {
        uint32_t kind = vyre_lang_peek(unit, 0).kind;
        if (kind == LANG_END || kind == LANG_LBRACE || kind == LANG_RBRACE ||
            kind == LANG_SEMICOLON || kind == LANG_KERNEL)
            return;
        if (depth == 0 && (kind == LANG_COMMA || kind == LANG_RPAREN)) return;
        if (kind == LANG_LPAREN || kind == LANG_LBRACKET) depth++;
        if ((kind == LANG_RPAREN || kind == LANG_RBRACKET) && depth > 0) depth--;
    }
}

/* Between two parameters; true where there is another one. */
static bool another(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    struct lang_token before = unit->tokens[unit->at - 1];
    if (vyre_lang_accept(unit, LANG_COMMA)) return true;
    bool begins = access_of(token.kind) || vyre_lang_element_type(token.kind) ||
                  (token.kind == LANG_NAME && vyre_lang_is_foreign_type(unit, token));
    if (token.kind == LANG_SEMICOLON)
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(vyre_lang_take(unit)),
                      "found `;`, expected `,` or `)`", "separate parameters by `,`");
    else if (begins)
        vyre_lang_say(unit, LANG_D_EXPECTED, (struct lang_span){before.at + before.length, 0},
                      vyre_lang_text(unit, "expected `,` between two parameters, found `%s`",
                                     vyre_lang_token_name(unit, token)->text),
                      "put a `,` here");
    return token.kind == LANG_SEMICOLON || begins;
}

static bool ends_parameter(const struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    return token.kind == LANG_COMMA || token.kind == LANG_RPAREN || token.kind == LANG_SEMICOLON ||
           token.kind == LANG_LBRACE || token.kind == LANG_END || access_of(token.kind) ||
           vyre_lang_element_type(token.kind) || vyre_lang_is_foreign_type(unit, token);
}

void vyre_lang_parameters(struct lang_unit *unit, struct lang_function *function)
{
    struct lang_symbol **last = &function->first;
    struct lang_token open = vyre_lang_take(unit);
    uint32_t more = 0;
    if (vyre_lang_peek(unit, 0).kind == LANG_LPAREN) {
        vyre_lang_unexpected(unit, "a parameter", "remove it");
        unit->noisy = false;
    }
    while (vyre_lang_accept(unit, LANG_LPAREN))
        more++;
    if (vyre_lang_accept(unit, LANG_RPAREN)) return;
    if (vyre_lang_peek(unit, 0).kind == LANG_VOID && vyre_lang_peek(unit, 1).kind == LANG_RPAREN) {
        unit->at += 2;
        return;
    }
    do {
        struct lang_symbol *symbol = parameter(unit);
        if (!unit->noisy && !ends_parameter(unit)) vyre_lang_unexpected(unit, "`,` or `)`", "");
        if (unit->noisy) {
            function->broken = true;
            skip_parameter(unit);
            unit->noisy = false;
        }
        if (!symbol) continue;
        if (++function->parameters > LANG_MOST_PARAMETERS)
            vyre_lang_give_up(
                unit, symbol->span,
                vyre_lang_text(unit, "more than %u parameters", (unsigned)LANG_MOST_PARAMETERS),
                "put values into a buffer");
        *last = symbol;
        last = &symbol->next;
    } while (another(unit));
    if (vyre_lang_peek(unit, 0).kind == LANG_END)
        vyre_lang_never_closed(unit, open);
    else
        vyre_lang_expect(unit, LANG_RPAREN, "behind the parameters");
    while (more-- > 0)
        vyre_lang_accept(unit, LANG_RPAREN);
}

static void workgroup_attribute(struct lang_unit *unit, struct lang_function *function,
                                struct lang_span span)
{
    if (function->lane_axes)
        vyre_lang_say(unit, LANG_D_ATTRIBUTE, span, "@workgroup stands here twice", "remove one");
    if (vyre_lang_peek(unit, 0).kind != LANG_LPAREN ||
        vyre_lang_peek(unit, 1).kind == LANG_RPAREN) {
        if (vyre_lang_accept(unit, LANG_LPAREN)) vyre_lang_take(unit);
        vyre_lang_say(unit, LANG_D_ATTRIBUTE, span, "@workgroup needs the size of the workgroup",
                      "write it behind, such as `@workgroup(64)`");
        return;
    }
    vyre_lang_take(unit);
    function->lane_axes = 0;
    do {
        struct lang_expr *lanes = vyre_lang_expression(unit);
        if (function->lane_axes == 3)
            vyre_lang_wrong(unit, LANG_D_ATTRIBUTE, lanes->span,
                            "a workgroup has at most three axes",
                            "write @workgroup(x), @workgroup(x, y) or @workgroup(x, y, z)");
        else
            function->lanes[function->lane_axes++] = lanes;
    } while (!unit->noisy && vyre_lang_accept(unit, LANG_COMMA));
    struct lang_span end = vyre_lang_span(vyre_lang_peek(unit, 0));
    function->lanes_span = vyre_lang_join(span, function->lanes[function->lane_axes - 1]->span);
    if (vyre_lang_expect(unit, LANG_RPAREN, "behind the size of the workgroup"))
        function->lanes_span = vyre_lang_join(span, end);
}

static void guard_attribute(struct lang_unit *unit, struct lang_function *function,
                            struct lang_span span)
{
    if (function->guard)
        vyre_lang_say(unit, LANG_D_ATTRIBUTE, span, "@guard stands here twice", "remove one");
    if (vyre_lang_peek(unit, 0).kind != LANG_LPAREN || vyre_lang_peek(unit, 1).kind != LANG_NAME) {
        vyre_lang_wrong(unit, LANG_D_ATTRIBUTE, span, "@guard needs the name of a buffer",
                        "write `@guard(x)`: the kernel runs where i < len(x)");
        return;
    }
    vyre_lang_take(unit);
    function->guard = vyre_lang_declared_name(unit, &function->guard_span);
    if (vyre_lang_accept(unit, LANG_RPAREN)) return;
    vyre_lang_wrong(unit, LANG_D_ATTRIBUTE, function->guard_span,
                    "@guard takes the name of one buffer",
                    vyre_lang_text(unit, "write `@guard(%.60s)`", function->guard->text));
}

/* To behind the parenthesis that closes the attribute, or to the kernel. */
static void skip_attribute(struct lang_unit *unit)
{
    uint32_t kind = vyre_lang_peek(unit, 0).kind;
    while (kind != LANG_END && kind != LANG_KERNEL && kind != LANG_AT && kind != LANG_LBRACE &&
           !(vyre_lang_begins_line(unit, 0) && vyre_lang_begins_function(unit))) {
        vyre_lang_take(unit);
        if (kind == LANG_RPAREN) break;
        kind = vyre_lang_peek(unit, 0).kind;
    }
    unit->noisy = false;
}

void vyre_lang_attributes(struct lang_unit *unit, struct lang_function *function)
{
    while (vyre_lang_accept(unit, LANG_AT)) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        struct lang_span span = vyre_lang_span(token);
        const char *text = unit->request->text + token.at;
        struct lang_guess guess = {vyre_lang_token_name(unit, token)->text, NULL, 0};
        if (token.kind == LANG_WORKGROUP) {
            vyre_lang_take(unit);
            workgroup_attribute(unit, function, span);
        } else if (token.kind == LANG_NAME && token.length == 5 && memcmp(text, "guard", 5) == 0) {
            vyre_lang_take(unit);
            guard_attribute(unit, function, span);
        } else if (token.kind == LANG_NAME) {
            vyre_lang_offer(&guess, "workgroup");
            vyre_lang_offer(&guess, "guard");
            vyre_lang_wrong(unit, LANG_D_ATTRIBUTE, span,
                            vyre_lang_text(unit, "there is no attribute `%.40s`", guess.typed),
                            guess.best ? vyre_lang_text(unit, "did you mean `@%s`?", guess.best)
                                       : "use @workgroup(x, y, z) or @guard(buffer)");
            vyre_lang_take(unit);
            if (vyre_lang_peek(unit, 0).kind != LANG_LPAREN) unit->noisy = false;
        } else {
            vyre_lang_unexpected(unit, "the name of an attribute",
                                 "use @workgroup(x, y, z) or @guard(buffer)");
        }
        if (unit->noisy) skip_attribute(unit);
    }
}
