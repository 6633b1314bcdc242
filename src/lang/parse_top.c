/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parser's top: kernels, functions and constants. A function whose body could not be read still
 * has its name and its parameters, so that what calls it is checked; names in what could not be
 * read at all are not complained of.
 */
#include <string.h>

#include "lang/ast.h"

/* To behind the semicolon or the closing brace of what could not be read, or to what comes next. */
static void skip_item(struct lang_unit *unit)
{
    uint32_t braces = 0;
    unit->noisy = false;
    for (;;) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        if (token.kind == LANG_END) return;
        if (braces == 0 && (token.kind == LANG_KERNEL || token.kind == LANG_AT)) return;
        if (braces == 0 && token.kind == LANG_CONST && vyre_lang_begins_line(unit, 0)) return;
        vyre_lang_skip(unit);
        if (token.kind == LANG_LBRACE) braces++;
        if (token.kind == LANG_RBRACE && (braces == 0 || --braces == 0)) return;
        if (token.kind == LANG_SEMICOLON && braces == 0) return;
    }
}

/* To the next kernel, function or constant: what is in between belongs nowhere. */
static void skip_astray(struct lang_unit *unit)
{
    uint32_t braces = 0;
    unit->noisy = false;
    unit->astray = true;
    for (;;) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        if (token.kind == LANG_END) return;
        if (braces == 0 && vyre_lang_begins_function(unit)) return;
        if (braces == 0 && token.kind == LANG_CONST && vyre_lang_begins_line(unit, 0) &&
            vyre_lang_column(unit, token.at) == 1)
            return;
        vyre_lang_skip(unit);
        if (token.kind == LANG_LBRACE) braces++;
        if (token.kind == LANG_RBRACE && braces > 0) braces--;
    }
}

/* What stands between the name and its parameters, if something does. */
static bool opens(struct lang_unit *unit, struct lang_function *function)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (token.kind == LANG_LPAREN) {
        unit->noisy = false; /* only the name is wrong */
        return true;
    }
    if (unit->noisy) return false;
    struct lang_token before = unit->tokens[unit->at - 1];
    function->broken = true;
    if (token.kind == LANG_LBRACE) {
        vyre_lang_say(unit, LANG_D_EXPECTED, (struct lang_span){before.at + before.length, 0},
                      "expected the parameters, found `{`", "put `()` here if there are none");
        return false;
    }
    vyre_lang_unexpected(unit, "`(` and the parameters",
                         token.kind == LANG_MINUS ? "make names of a-z, A-Z, 0-9 and _" : "");
    while (vyre_lang_peek(unit, 0).kind != LANG_END && !vyre_lang_begins_line(unit, 0) &&
           vyre_lang_peek(unit, 0).kind != LANG_LPAREN)
        vyre_lang_skip(unit);
    if (vyre_lang_peek(unit, 0).kind != LANG_LPAREN) return false;
    unit->noisy = false;
    return true;
}

/* From the parameters to the closing brace. */
static void function_rest(struct lang_unit *unit, struct lang_function *function)
{
    uint32_t errors = unit->errors;
    unit->function = function;
    unit->unclosed = false;
    unit->astray = false;
    if (opens(unit, function)) vyre_lang_parameters(unit, function);
    struct lang_token token = vyre_lang_peek(unit, 0);
    bool bare = token.kind != LANG_LBRACE && token.kind != LANG_END && !unit->noisy &&
                vyre_lang_begins_line(unit, 0) && !vyre_lang_begins_function(unit);
    if (bare) {
        vyre_lang_expect(unit, LANG_LBRACE, "before the body");
        unit->noisy = false;
    }
    if (!unit->noisy && (bare || token.kind == LANG_LBRACE)) {
        unit->body_at = unit->at;
        function->body = vyre_lang_block(unit, &function->end);
        function->unread = unit->unclosed;
    } else {
        bool end = vyre_lang_peek(unit, 0).kind == LANG_SEMICOLON;
        vyre_lang_unexpected(unit, "`{` and the body",
                             end ? "write the body here; there are no declarations without one"
                                 : "put the body into braces");
        function->unread = true;
        skip_item(unit);
    }
    function->patched = function->patched || unit->errors != errors;
    unit->noisy = false;
    unit->function = NULL;
}

static void add_function(struct lang_unit *unit, struct lang_function *function)
{
    function->symbol.kind = LANG_SYMBOL_FUNCTION;
    function->symbol.function = function;
    function->symbol.fixed = true;
    if (unit->last_function)
        unit->last_function->next = function;
    else
        unit->functions = function;
    unit->last_function = function;
}

static void typed(struct lang_unit *unit);

/* From the name, or from attributes that stand at the wrong side of `kernel`. */
static void kernel_rest(struct lang_unit *unit, struct lang_function *function)
{
    function->kernel = true;
    function->type = LANG_TYPE_VOID;
    for (;;) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        bool type = token.kind == LANG_VOID || vyre_lang_value_type(token.kind) != LANG_TYPE_WRONG;
        if (type && vyre_lang_peek(unit, 1).kind == LANG_NAME) {
            vyre_lang_take(unit);
            vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                          "a kernel has no result, and no type",
                          vyre_lang_text(unit, "remove `%s`", vyre_lang_token_text(token.kind)));
        } else if (token.kind == LANG_AT) {
            vyre_lang_say(unit, LANG_D_ATTRIBUTE, vyre_lang_span(token),
                          "attributes stand before `kernel`", "move it there");
            vyre_lang_attributes(unit, function);
        } else {
            break;
        }
    }
    if (vyre_lang_peek(unit, 0).kind == LANG_LPAREN) {
        vyre_lang_unexpected(unit, "the name of the kernel", "name it: `kernel add(...)`");
        unit->noisy = false;
    } else {
        function->symbol.name = vyre_lang_declared_name(unit, &function->symbol.span);
    }
    function_rest(unit, function);
    if (function->symbol.name) add_function(unit, function);
}

static void kernel(struct lang_unit *unit)
{
    struct lang_function *function = vyre_lang_alloc(unit, 1, sizeof *function);
    uint32_t errors = unit->errors;
    vyre_lang_attributes(unit, function);
    function->patched = errors != unit->errors;
    if (vyre_lang_accept(unit, LANG_KERNEL)) {
        kernel_rest(unit, function);
        return;
    }
    if (!function->patched)
        vyre_lang_unexpected(unit, "`kernel`", "remove the attribute: only kernels have them");
    unit->noisy = false;
    if (vyre_lang_begins_function(unit))
        typed(unit);
    else
        skip_astray(unit);
}

static void add_constant(struct lang_unit *unit, struct lang_constant *constant)
{
    if (unit->last_constant)
        unit->last_constant->next = constant;
    else
        unit->constants = constant;
    unit->last_constant = constant;
}

/* A name that stands for a value of no type: its uses are not complained of. */
static void add_stand_in(struct lang_unit *unit, struct lang_name *name, struct lang_span span)
{
    struct lang_constant *made = vyre_lang_alloc(unit, 1, sizeof *made);
    made->symbol = (struct lang_symbol){
        .kind = LANG_SYMBOL_CONSTANT, .fixed = true, .name = name, .span = span};
    add_constant(unit, made);
}

static void constant_value(struct lang_unit *unit, struct lang_constant *made)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (token.kind == LANG_LBRACKET) {
        vyre_lang_wrong(unit, LANG_D_PLACE, made->symbol.span, "there are no arrays of constants",
                        "pass an `in` buffer");
        return;
    }
    if (token.kind == LANG_SEMICOLON || token.kind == LANG_END) {
        vyre_lang_unexpected(unit, "`=` and the value of the constant", "give it a value here");
        return;
    }
    if (!vyre_lang_expect(unit, LANG_SET, "and the value of the constant")) return;
    made->expr = vyre_lang_expression(unit);
    if (vyre_lang_peek(unit, 0).kind == LANG_COMMA)
        vyre_lang_unexpected(unit, "`;`", "declare each constant by itself");
    else
        vyre_lang_expect_end(unit, "behind the constant");
}

static void constant(struct lang_unit *unit)
{
    struct lang_constant *made = vyre_lang_alloc(unit, 1, sizeof *made);
    vyre_lang_take(unit);
    unit->astray = false;
    made->symbol.kind = LANG_SYMBOL_CONSTANT;
    made->symbol.fixed = true;
    uint32_t type = vyre_lang_take_type(unit, false);
    made->symbol.type = vyre_lang_value_type(type);
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (!type && token.kind == LANG_NAME && vyre_lang_peek(unit, 1).kind == LANG_SET)
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                      vyre_lang_text(unit, "the constant `%.60s` has no type",
                                     vyre_lang_token_name(unit, token)->text),
                      vyre_lang_text(unit, "write `const u32 %.60s`",
                                     vyre_lang_token_name(unit, token)->text));
    else if (!type)
        vyre_lang_unexpected(unit, "u32, i32, f32 or bool", "");
    if (!unit->noisy) made->symbol.name = vyre_lang_declared_name(unit, &made->symbol.span);
    if (made->symbol.name) constant_value(unit, made);
    if (unit->noisy) skip_item(unit);
    if (made->symbol.name) add_constant(unit, made);
}

/* Whether the next token stands directly behind the closing brace of a function. */
static bool follows(const struct lang_unit *unit, const struct lang_function *function)
{
    return unit->at > 0 && function->end.length &&
           unit->tokens[unit->at - 1].at == function->end.at;
}

/* A variable, or an array, outside every function. */
static void misplaced(struct lang_unit *unit, struct lang_name *name, struct lang_span span)
{
    uint32_t next = vyre_lang_peek(unit, 0).kind;
    if (!unit->astray)
        vyre_lang_say(unit, LANG_D_PLACE, span,
                      vyre_lang_text(unit, "`%.60s` is %s outside every kernel", name->text,
                                     next == LANG_LBRACKET ? "an array" : "a variable"),
                      next == LANG_LBRACKET ? "pass a buffer as a parameter"
                                            : "declare it `const`, or inside a kernel");
    add_stand_in(unit, name, span);
    skip_item(unit);
}

/* A function, or what is none: it begins with a type. */
static void typed(struct lang_unit *unit)
{
    struct lang_function *made = vyre_lang_alloc(unit, 1, sizeof *made);
    struct lang_token type = vyre_lang_peek(unit, 0);
    uint32_t errors = unit->errors;

    bool no_result = vyre_lang_accept(unit, LANG_VOID);
    made->type =
        no_result ? LANG_TYPE_VOID : vyre_lang_value_type(vyre_lang_take_type(unit, false));
    made->patched = errors != unit->errors;
    if (vyre_lang_peek(unit, 0).kind == LANG_KERNEL) {
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(type),
                      "a kernel has no result, and no type",
                      vyre_lang_text(unit, "remove `%s`", vyre_lang_token_name(unit, type)->text));
        vyre_lang_take(unit);
        kernel_rest(unit, made);
        return;
    }
    if (vyre_lang_peek(unit, 0).kind == LANG_STAR) {
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(vyre_lang_take(unit)),
                      "there are no pointers", "return a value, or write to a buffer");
        made->type = LANG_TYPE_WRONG;
        made->patched = true;
    }
    made->symbol.name = vyre_lang_declared_name(unit, &made->symbol.span);
    uint32_t next = vyre_lang_peek(unit, 0).kind;
    if (made->symbol.name && (next == LANG_SET || next == LANG_SEMICOLON || next == LANG_LBRACKET ||
                              next == LANG_COMMA)) {
        misplaced(unit, made->symbol.name, made->symbol.span);
        return;
    }
    function_rest(unit, made);
    if (made->symbol.name) add_function(unit, made);
}

/* What stands behind a function and is indented deeper than it, or a brace behind one that is: the
 * function has ended too early. Nobody knows its blocks, so it is not checked. */
static bool early_end(struct lang_unit *unit)
{
    struct lang_function *before = unit->last_function;
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (!before || unit->astray || before->unread || !follows(unit, before)) return false;
    if (!vyre_lang_begins_line(unit, 0) && token.kind != LANG_RBRACE) return false;
    struct lang_token brace = unit->tokens[unit->at - 1];
    uint32_t indent = vyre_lang_indent(unit, unit->tokens[unit->body_at]);
    uint32_t column = vyre_lang_column(unit, brace.at);
    bool deeper = vyre_lang_begins_line(unit, 0) && vyre_lang_column(unit, token.at) > indent;
    bool off = column > indent && vyre_lang_indent(unit, brace) == column;
    if (!deeper && !(token.kind == LANG_RBRACE && off)) return false;
    before->unread = true;
    if (off)
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(brace),
                      vyre_lang_text(unit, "this `}` ends `%.60s`, and more of it follows",
                                     before->symbol.name->text),
                      "remove it, or write the `{` that it belongs to");
    else
        vyre_lang_unexpected(unit, "a kernel, a function or a constant",
                             vyre_lang_text(unit,
                                            "if it belongs to `%.40s`, remove the `}` in "
                                            "line %u",
                                            before->symbol.name->text,
                                            (unsigned)vyre_lang_line(unit, before->end.at)));
    skip_astray(unit);
    return true;
}

/* What begins neither a kernel nor a function nor a constant. */
static void stray(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    struct lang_guess guess = {vyre_lang_token_name(unit, token)->text, NULL, 0};
    const char *fix = "begin with `kernel`, `const` or the type of a function";
    if (token.kind == LANG_NAME && vyre_lang_peek(unit, 1).kind == LANG_NAME) {
        vyre_lang_offer(&guess, "kernel");
        vyre_lang_offer(&guess, "const");
        vyre_lang_offer(&guess, "void");
    }
    if (guess.best)
        fix = vyre_lang_text(unit, "did you mean `%s`?", guess.best);
    else if (token.kind == LANG_RBRACE)
        fix = "remove it: it closes nothing";

    if (!unit->astray) vyre_lang_unexpected(unit, "a kernel, a function or a constant", fix);
    vyre_lang_skip(unit);
    if (guess.best && guess.best[0] == 'k' && vyre_lang_peek(unit, 1).kind == LANG_LPAREN) {
        unit->noisy = false;
        kernel_rest(unit, vyre_lang_alloc(unit, 1, sizeof(struct lang_function)));
        return;
    }
    skip_astray(unit);
}

/* A word of another language; false where it is none. */
static bool foreign(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    const struct lang_foreign *found = vyre_lang_foreign_word(unit, token);
    bool array = token.kind == LANG_WORKGROUP || (found && found->kind == LANG_FOREIGN_ARRAY);
    if (!found && !array) return false;
    vyre_lang_take(unit);
    if (array) {
        vyre_lang_say(unit, LANG_D_PLACE, vyre_lang_span(token),
                      "workgroup memory is declared in the outermost block of a kernel",
                      "move it there: `workgroup f32 tile[64];`");
        skip_item(unit);
        return true;
    }
    vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                  vyre_lang_text(unit, "there is no `%s`", found->word), found->fix);
    if (found->kind == LANG_FOREIGN_WORD) {
        skip_item(unit);
    } else if (found->kind == LANG_FOREIGN_KERNEL) {
        struct lang_function *function = vyre_lang_alloc(unit, 1, sizeof *function);
        vyre_lang_accept(unit, LANG_VOID);
        kernel_rest(unit, function);
    } else {
        /* `static inline`: one complaint is enough. */
        while (vyre_lang_foreign_word(unit, vyre_lang_peek(unit, 0)) &&
               vyre_lang_foreign_word(unit, vyre_lang_peek(unit, 0))->kind == LANG_FOREIGN_PREFIX)
            vyre_lang_take(unit);
        if (vyre_lang_peek(unit, 2).kind != LANG_LPAREN) skip_item(unit);
    }
    return true;
}

/* What the lexer has complained of, with the rest of its line: `#define N 4` is one. */
static void unreadable(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_skip(unit);
    const char *text = unit->request->text + token.at;
    uint32_t from = 0, until;
    if (token.length > 7 && memcmp(text, "#define", 7) == 0) {
        for (from = 7; from < token.length && (text[from] == ' ' || text[from] == '\t');)
            from++;
        for (until = from; until < token.length && text[until] > ' ' && text[until] != '(';)
            until++;
        vyre_lang_intern(unit, text + from, until - from)->told = true;
    }
    while (vyre_lang_peek(unit, 0).kind != LANG_END && !vyre_lang_begins_line(unit, 0))
        vyre_lang_skip(unit);
}

void vyre_lang_parse(struct lang_unit *unit)
{
    for (;;) {
        struct lang_token token = vyre_lang_peek(unit, 0);
        unit->noisy = false;
        unit->depth = 0;
        unit->function = NULL;
        bool type =
            token.kind == LANG_VOID || vyre_lang_element_type(token.kind) ||
            (vyre_lang_is_foreign_type(unit, token) && vyre_lang_peek(unit, 1).kind == LANG_NAME);
        if (token.kind == LANG_END) return;
        if (token.kind == LANG_AT || token.kind == LANG_KERNEL)
            kernel(unit);
        else if (early_end(unit))
            continue;
        else if (token.kind == LANG_CONST)
            constant(unit);
        else if (type)
            typed(unit);
        else if (token.kind == LANG_SEMICOLON)
            vyre_lang_take(unit);
        else if (token.kind == LANG_BAD)
            unreadable(unit);
        else if (!foreign(unit))
            stray(unit);
    }
}
