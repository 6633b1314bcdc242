/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Declarations in a body: variables, constants and workgroup memory. What is declared stays
 * declared where the rest of the line could not be read, so that its uses are no mistakes.
 */
#include "lang/ast.h"

/* Behind the name of a variable: what would make an array of it. */
static void no_array(struct lang_unit *unit, struct lang_symbol *symbol, bool fixed)
{
    vyre_lang_say(unit, LANG_D_PLACE, symbol->span,
                  fixed ? "there are no arrays of constants"
                        : "there are no arrays of a single lane",
                  fixed ? "pass an `in` buffer"
                        : "declare it `workgroup`, and give each lane its own elements");
    symbol->type = LANG_TYPE_WRONG;
    while (vyre_lang_peek(unit, 0).kind == LANG_LBRACKET) {
        uint32_t depth = 0;
        do {
            uint32_t kind = vyre_lang_peek(unit, 0).kind;
            if (kind == LANG_END || kind == LANG_SEMICOLON) return;
            depth += kind == LANG_LBRACKET;
            depth -= kind == LANG_RBRACKET;
            vyre_lang_skip(unit);
        } while (depth > 0);
    }
    unit->noisy = vyre_lang_peek(unit, 0).kind != LANG_SEMICOLON &&
                  vyre_lang_peek(unit, 0).kind != LANG_COMMA;
}

/* Of a value that could not be read nothing is known; so of a constant neither. */
void vyre_lang_drop_value(struct lang_stmt *stmt)
{
    stmt->value = NULL;
    if (stmt->symbol->fixed) stmt->symbol->type = LANG_TYPE_WRONG;
}

/* What a statement declares is declared; nothing else of it is looked at. */
void vyre_lang_drop_rest(struct lang_stmt *stmt)
{
    if (stmt->kind == LANG_S_DECLARE) {
        while (stmt->next)
            stmt = stmt->next;
        vyre_lang_drop_value(stmt);
    } else if (stmt->kind != LANG_S_ARRAY) {
        stmt->kind = LANG_S_EMPTY;
    }
}

/* One variable of a declaration; NULL where its name could not be read. */
static struct lang_stmt *declared(struct lang_unit *unit, uint8_t type, bool fixed)
{
    struct lang_stmt *stmt = vyre_lang_make_stmt(unit, LANG_S_DECLARE, (struct lang_span){0, 0});
    struct lang_symbol *symbol = vyre_lang_alloc(unit, 1, sizeof *symbol);
    struct lang_token star = vyre_lang_peek(unit, 0);
    symbol->kind = LANG_SYMBOL_VARIABLE;
    symbol->type = type;
    symbol->fixed = fixed;
    stmt->symbol = symbol;
    if (vyre_lang_accept(unit, LANG_STAR)) {
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(star), "there are no pointers",
                      "use the buffer and an index: `x[k]`");
        symbol->type = LANG_TYPE_WRONG;
    }
    symbol->name = vyre_lang_declared_name(unit, &symbol->span);
    if (!symbol->name) return NULL;
    stmt->span = symbol->span;
    if (star.kind == LANG_STAR) {
        symbol->name->unknown_in = unit->function;
        unit->noisy = true; /* of its value nothing is said */
    } else if (vyre_lang_peek(unit, 0).kind == LANG_LBRACKET)
        no_array(unit, symbol, fixed);
    else if (vyre_lang_accept(unit, LANG_SET)) {
        unit->dubious = false;
        stmt->value = vyre_lang_expression(unit);
    } else if (fixed)
        vyre_lang_unexpected(unit, "`=` and the value of the constant", "give it a value here");
    if (unit->noisy || unit->dubious) vyre_lang_drop_value(stmt);
    return stmt;
}

/* `T a = 1, b;`, a statement for each. */
struct lang_stmt *vyre_lang_declaration(struct lang_unit *unit, bool fixed)
{
    struct lang_stmt *first = NULL, **link = &first;
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t type = vyre_lang_take_type(unit, false);
    if (!type && token.kind == LANG_NAME && vyre_lang_peek(unit, 1).kind == LANG_SET)
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                      vyre_lang_text(unit, "the constant `%.60s` has no type",
                                     vyre_lang_token_name(unit, token)->text),
                      vyre_lang_text(unit, "write `const u32 %.60s`",
                                     vyre_lang_token_name(unit, token)->text));
    else if (!type)
        vyre_lang_unexpected(unit, "u32, i32, f32 or bool", "");
    if (unit->noisy) return vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
    do {
        *link = declared(unit, vyre_lang_value_type(type), fixed);
        if (!*link) break;
        link = &(*link)->next;
    } while (!unit->noisy && vyre_lang_accept(unit, LANG_COMMA));
    return first ? first : vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
}

/* The brackets of workgroup memory, and what people write behind them. */
static void array_size(struct lang_unit *unit, struct lang_symbol *symbol)
{
    struct lang_token open = vyre_lang_peek(unit, 0);
    if (!vyre_lang_accept(unit, LANG_LBRACKET)) {
        vyre_lang_wrong(
            unit, LANG_D_EXPECTED, symbol->span,
            vyre_lang_text(unit, "`%s` does not say how many elements it has", symbol->name->text),
            vyre_lang_text(unit, "write `%s[64]`", symbol->name->text));
        return;
    }
    if (vyre_lang_peek(unit, 0).kind == LANG_RBRACKET) {
        vyre_lang_unexpected(unit, "the number of elements",
                             "write how many it has, such as `[64]`");
        return;
    }
    symbol->size = vyre_lang_expression(unit);
    if (vyre_lang_peek(unit, 0).kind == LANG_END) vyre_lang_never_closed(unit, open);
    vyre_lang_expect(unit, LANG_RBRACKET, "behind the number of elements");
    if (vyre_lang_peek(unit, 0).kind == LANG_SET)
        vyre_lang_unexpected(unit, "`;`",
                             "workgroup memory starts as zeros; store to it afterwards");
    else if (vyre_lang_peek(unit, 0).kind == LANG_LBRACKET)
        vyre_lang_unexpected(unit, "`;`: an array has one index",
                             "compute it, such as `[y * width + x]`");
    else if (vyre_lang_peek(unit, 0).kind == LANG_COMMA)
        vyre_lang_unexpected(unit, "`;`", "declare each array by itself");
}

struct lang_stmt *vyre_lang_array(struct lang_unit *unit)
{
    struct lang_token word = vyre_lang_take(unit);
    struct lang_stmt *stmt = vyre_lang_make_stmt(unit, LANG_S_ARRAY, vyre_lang_span(word));
    struct lang_symbol *symbol = vyre_lang_alloc(unit, 1, sizeof *symbol);
    symbol->kind = LANG_SYMBOL_BUFFER;
    symbol->access = LANG_ACCESS_WORKGROUP;
    uint32_t type = vyre_lang_take_type(unit, true);
    if (!type) {
        vyre_lang_unexpected(unit, "the type of an element", "");
        return stmt;
    }
    symbol->element = vyre_lang_element_type(type);
    symbol->type = vyre_lang_loaded_type(symbol->element);
    symbol->name = vyre_lang_declared_name(unit, &symbol->span);
    if (!symbol->name) return stmt;
    stmt->symbol = symbol;
    stmt->span = symbol->span;
    array_size(unit, symbol);
    return stmt;
}
