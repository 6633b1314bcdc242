/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements. After a mistake the rest of the statement is skipped: to behind its semicolon, or to
 * the brace that closes its block.
 */
#include "lang/ast.h"

static struct lang_stmt *statement(struct lang_unit *unit);
static struct lang_stmt *line(struct lang_unit *unit);

struct lang_stmt *vyre_lang_make_stmt(struct lang_unit *unit, uint8_t kind, struct lang_span span)
{
    struct lang_stmt *stmt = vyre_lang_alloc(unit, 1, sizeof *stmt);
    stmt->kind = kind;
    stmt->span = span;
    return stmt;
}

/* To behind the statement that could not be read, or to the next one if that begins a line. */
static void skip_statement(struct lang_unit *unit)
{
    uint32_t braces = 0;
    if (unit->function) unit->function->patched = true;
    for (bool first = true;; first = false) {
        uint32_t kind = vyre_lang_peek(unit, 0).kind;
        bool line = !first && braces == 0 && vyre_lang_begins_line(unit, 0);
        bool word = (kind >= LANG_IF && kind <= LANG_RETURN) || kind == LANG_CONST ||
                    kind == LANG_WORKGROUP ||
                    (vyre_lang_element_type(kind) && vyre_lang_peek(unit, 1).kind == LANG_NAME);
        if (kind == LANG_END || (kind == LANG_RBRACE && braces == 0)) break;
        if (line && (word || vyre_lang_begins_function(unit))) break;
        vyre_lang_skip(unit);
        if (kind == LANG_LBRACE) braces++;
        if (kind == LANG_RBRACE && --braces == 0) break;
        if (kind == LANG_SEMICOLON && braces == 0) break;
    }
    unit->noisy = false;
}

/* An assignment, a step or a call, without its semicolon. */
static struct lang_stmt *simple(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    struct lang_stmt *stmt = vyre_lang_make_stmt(unit, LANG_S_ASSIGN, vyre_lang_span(token));
    if (token.kind == LANG_PLUS_PLUS || token.kind == LANG_MINUS_MINUS) {
        vyre_lang_take(unit);
        stmt->op = token.kind;
        stmt->target = vyre_lang_operand(unit);
        return stmt;
    }
    unit->place_at = unit->at;
    stmt->target = vyre_lang_operand(unit);
    unit->place_at = 0;
    stmt->span = stmt->target->span;
    if (unit->noisy) return stmt;
    struct lang_token op = vyre_lang_peek(unit, 0);
    if (op.kind == LANG_PLUS_PLUS || op.kind == LANG_MINUS_MINUS) {
        vyre_lang_take(unit);
        stmt->op = op.kind;
    } else if (vyre_lang_is_assignment(op.kind)) {
        vyre_lang_take(unit);
        stmt->op = op.kind;
        stmt->value = vyre_lang_operand(unit);
        if (!unit->noisy && vyre_lang_is_assignment(vyre_lang_peek(unit, 0).kind))
            vyre_lang_wrong(unit, LANG_D_SET_FOR_EQ, vyre_lang_span(vyre_lang_peek(unit, 0)),
                            "an assignment is a statement and has no value",
                            "write two assignments, or `==` to compare");
    } else {
        stmt->kind = LANG_S_CALL;
        stmt->value = stmt->target;
    }
    return stmt;
}

/* To behind the parenthesis that closes the head of a statement, which is one that a statement
 * follows, or to its body. */
static void skip_head(struct lang_unit *unit, bool is_for)
{
    unit->noisy = false;
    if (unit->function) unit->function->patched = true;
    for (;;) {
        uint32_t kind = vyre_lang_peek(unit, 0).kind;
        if (kind == LANG_END || kind == LANG_LBRACE || kind == LANG_RBRACE) return;
        vyre_lang_skip(unit);
        uint32_t next = vyre_lang_peek(unit, 0).kind;
        if (kind == LANG_SEMICOLON && !is_for) return;
        if (kind == LANG_RPAREN &&
            (next == LANG_LBRACE || next == LANG_NAME || vyre_lang_is_word(next) ||
             (next == LANG_SEMICOLON && !is_for) || vyre_lang_begins_line(unit, 0)))
            return;
    }
}

/* The parenthesis before a condition; without one, reading goes on if a value follows. */
static bool open_head(struct lang_unit *unit, const char *behind, bool *bare)
{
    *bare = vyre_lang_peek(unit, 0).kind != LANG_LPAREN;
    if (vyre_lang_expect(unit, LANG_LPAREN, behind)) return true;
    uint32_t kind = vyre_lang_peek(unit, 0).kind;
    unit->noisy = kind == LANG_END || kind == LANG_BAD;
    return !unit->noisy && kind != LANG_SEMICOLON && kind != LANG_LBRACE && kind != LANG_RBRACE &&
           !(kind >= LANG_IF && kind <= LANG_RETURN);
}

/* Whether the parenthesis of a head is closed further on: then what stands here is part of it. */
static bool closes_later(const struct lang_unit *unit)
{
    uint32_t depth = 0;
    for (uint32_t ahead = 0; ahead < 256; ahead++) {
        uint32_t kind = vyre_lang_peek(unit, ahead).kind;
        if (kind == LANG_END || kind == LANG_SEMICOLON || kind == LANG_LBRACE) return false;
        if (kind == LANG_LPAREN) depth++;
        if (kind == LANG_RPAREN && depth-- == 0) return true;
    }
    return false;
}

static struct lang_expr *condition(struct lang_unit *unit, const char *behind)
{
    struct lang_token open = vyre_lang_peek(unit, 0);
    bool bare;
    if (!open_head(unit, behind, &bare)) return NULL;
    unit->dubious = false;
    struct lang_expr *expr = vyre_lang_expression(unit);
    if (unit->noisy) {
        skip_head(unit, false);
        return NULL;
    }
    if (unit->dubious) expr = NULL;
    if (bare) vyre_lang_accept(unit, LANG_RPAREN);
    struct lang_token close = vyre_lang_peek(unit, 0);
    if (bare || vyre_lang_accept(unit, LANG_RPAREN)) {
        struct lang_token more = vyre_lang_peek(unit, 0);
        if (more.kind == LANG_RPAREN) {
            vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(vyre_lang_take(unit)),
                          "this `)` closes nothing", "remove it");
            expr = NULL;
        }
        return expr;
    }
    if (close.kind == LANG_END) {
        vyre_lang_never_closed(unit, open);
    } else if (!vyre_lang_expect(unit, LANG_RPAREN, "behind the condition")) {
        /* The body may follow at once: its first word is no operator. */
        unit->noisy = false;
        if (closes_later(unit)) skip_head(unit, false);
        return NULL;
    }
    return expr;
}

/* A statement as the body of another: a block of its own. */
static struct lang_stmt *body(struct lang_unit *unit)
{
    struct lang_stmt *stmt;
    vyre_lang_nest(unit);
    if (unit->noisy)
        stmt = vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(vyre_lang_peek(unit, 0)));
    else
        stmt = statement(unit);
    unit->depth--;
    return stmt;
}

static struct lang_stmt *if_statement(struct lang_unit *unit)
{
    struct lang_stmt *first = NULL, **link = &first;
    /* A chain of `else if` is a loop here, so that it may be long. */
    for (;;) {
        struct lang_stmt *stmt =
            vyre_lang_make_stmt(unit, LANG_S_IF, vyre_lang_span(vyre_lang_take(unit)));
        *link = stmt;
        stmt->value = condition(unit, "behind `if`");
        stmt->body = body(unit);
        if (unit->noisy || !vyre_lang_accept(unit, LANG_ELSE)) return first;
        vyre_lang_nest(unit);
        if (vyre_lang_peek(unit, 0).kind != LANG_IF) {
            stmt->otherwise = body(unit);
            return first;
        }
        link = &stmt->otherwise;
    }
}

static struct lang_stmt *steps(struct lang_unit *unit)
{
    struct lang_stmt *first = NULL, **link = &first;
    do {
        *link = simple(unit);
        link = &(*link)->next;
    } while (!unit->noisy && vyre_lang_accept(unit, LANG_COMMA));
    return first;
}

/* One of the two semicolons of `for`. */
static bool between(struct lang_unit *unit, const char *where)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (unit->noisy) return false;
    if (vyre_lang_accept(unit, LANG_SEMICOLON)) return true;
    vyre_lang_unexpected(unit, vyre_lang_text(unit, "`;` %s", where),
                         token.kind == LANG_COLON || token.kind == LANG_IN
                             ? "write `for (u32 k = 0; k < n; k++)`"
                             : "separate the three parts of `for` by `;`");
    return false;
}

static void for_head(struct lang_unit *unit, struct lang_stmt *stmt)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t next = vyre_lang_peek(unit, 1).kind;
    if (token.kind == LANG_NAME && next == LANG_IN) {
        vyre_lang_take(unit);
        between(unit, "behind the beginning of `for`");
        return;
    }
    if ((vyre_lang_element_type(token.kind) && next != LANG_LPAREN) ||
        (vyre_lang_is_foreign_type(unit, token) && next == LANG_NAME))
        stmt->init = vyre_lang_declaration(unit, false);
    else if (token.kind != LANG_SEMICOLON)
        stmt->init = steps(unit);
    if (!between(unit, "behind the beginning of `for`")) return;
    if (vyre_lang_peek(unit, 0).kind != LANG_SEMICOLON) stmt->value = vyre_lang_expression(unit);
    if (!between(unit, "behind the condition of `for`")) return;
    uint32_t kind = vyre_lang_peek(unit, 0).kind;
    if (kind != LANG_RPAREN && kind != LANG_LBRACE) stmt->step = steps(unit);
}

static struct lang_stmt *for_statement(struct lang_unit *unit)
{
    struct lang_stmt *stmt =
        vyre_lang_make_stmt(unit, LANG_S_FOR, vyre_lang_span(vyre_lang_take(unit)));
    bool bare;
    if (!open_head(unit, "behind `for`", &bare)) return stmt;
    for_head(unit, stmt);
    if (unit->noisy) {
        /* What could be read of the head declares what the body uses. */
        if (stmt->init && stmt->init->kind != LANG_S_DECLARE) stmt->init = NULL;
        if (stmt->init) {
            stmt->init->next = NULL; /* `u32 k = 0, k < n` */
            vyre_lang_drop_value(stmt->init);
        }
        stmt->value = NULL;
        stmt->step = NULL;
        skip_head(unit, true);
    } else if (!vyre_lang_accept(unit, LANG_RPAREN) && !bare) {
        if (vyre_lang_peek(unit, 0).kind == LANG_LBRACE || vyre_lang_begins_line(unit, 0))
            vyre_lang_expect(unit, LANG_RPAREN, "behind the head of `for`");
        else
            vyre_lang_unexpected(unit, "`)` behind the head of `for`", "");
        if (unit->noisy) skip_head(unit, true);
    }
    stmt->body = body(unit);
    return stmt;
}

static struct lang_stmt *do_statement(struct lang_unit *unit)
{
    struct lang_stmt *stmt =
        vyre_lang_make_stmt(unit, LANG_S_DO, vyre_lang_span(vyre_lang_take(unit)));
    stmt->body = body(unit);
    if (unit->noisy || !vyre_lang_expect(unit, LANG_WHILE, "and the condition of `do`"))
        return stmt;
    stmt->value = condition(unit, "behind `while`");
    vyre_lang_expect_end(unit, "behind `do ... while (...)`");
    return stmt;
}

static struct lang_stmt *while_statement(struct lang_unit *unit)
{
    struct lang_stmt *stmt =
        vyre_lang_make_stmt(unit, LANG_S_FOR, vyre_lang_span(vyre_lang_take(unit)));
    stmt->value = condition(unit, "behind `while`");
    stmt->body = body(unit);
    return stmt;
}

static struct lang_stmt *jump(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_take(unit);
    struct lang_stmt *stmt = vyre_lang_make_stmt(unit,
                                                 token.kind == LANG_BREAK      ? LANG_S_BREAK
                                                 : token.kind == LANG_CONTINUE ? LANG_S_CONTINUE
                                                                               : LANG_S_RETURN,
                                                 vyre_lang_span(token));
    if (token.kind == LANG_RETURN && vyre_lang_peek(unit, 0).kind != LANG_SEMICOLON &&
        vyre_lang_peek(unit, 0).kind != LANG_RBRACE)
        stmt->value = vyre_lang_expression(unit);
    return stmt;
}

/* Whether the tokens from the next are `word (...) {`, or `word name`: a statement in some
 * language, but none in this. */
static bool looks_like_word(const struct lang_unit *unit)
{
    uint32_t next = vyre_lang_peek(unit, 1).kind, depth = 0, ahead = 1;
    if (next != LANG_LPAREN)
        return next == LANG_NAME || next == LANG_LBRACE || next == LANG_INTEGER ||
               next == LANG_COLON || vyre_lang_element_type(next) ||
               (next == LANG_SEMICOLON && vyre_lang_peek(unit, 0).length > 4) ||
               (next == LANG_MINUS && vyre_lang_peek(unit, 2).kind == LANG_INTEGER);
    do {
        uint32_t kind = vyre_lang_peek(unit, ahead++).kind;
        if (kind == LANG_END || ahead > 64) return false;
        depth += kind == LANG_LPAREN;
        depth -= kind == LANG_RPAREN;
    } while (depth > 0);
    next = vyre_lang_peek(unit, ahead).kind;
    return next == LANG_LBRACE || next == LANG_NAME;
}

/* A word of another language, or a misspelt one of this; true after a complaint. */
static bool foreign_word(struct lang_unit *unit)
{
    static const uint8_t ours[] = {LANG_IF,     LANG_ELSE,  LANG_FOR,
                                   LANG_WHILE,  LANG_BREAK, LANG_CONTINUE,
                                   LANG_RETURN, LANG_CONST, LANG_WORKGROUP};
    struct lang_token token = vyre_lang_peek(unit, 0);
    const struct lang_foreign *found = vyre_lang_foreign_word(unit, token);
    struct lang_name *name = vyre_lang_token_name(unit, token);
    struct lang_guess guess = {name->text, NULL, 0};
    if (found && found->kind == LANG_FOREIGN_WORD) {
        vyre_lang_wrong(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                        vyre_lang_text(unit, "there is no `%s`", found->word), found->fix);
        return true;
    }
    for (size_t i = 0; i < sizeof ours; i++)
        vyre_lang_offer(&guess, vyre_lang_token_text(ours[i]));
    bool call = vyre_lang_peek(unit, 1).kind == LANG_LPAREN;
    if (guess.best && (!call || vyre_lang_peek(unit, 0).length > 1))
        vyre_lang_wrong(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                        vyre_lang_text(unit, "there is no statement `%.40s`", name->text),
                        vyre_lang_text(unit, "did you mean `%s`?", guess.best));
    else if (vyre_lang_peek(unit, 1).kind == LANG_NAME && name->told)
        unit->noisy = true;
    else if (vyre_lang_peek(unit, 1).kind == LANG_NAME)
        vyre_lang_wrong(unit, LANG_D_TYPE_NAME, vyre_lang_span(token),
                        vyre_lang_text(unit, "there is no type `%.60s`", name->text),
                        "declare variables as u32, i32, f32 or bool");
    return unit->noisy;
}

/* A statement that begins with a name. */
static struct lang_stmt *named(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t next = vyre_lang_peek(unit, 1).kind;
    if (next == LANG_LBRACKET || vyre_lang_is_assignment(next)) return simple(unit);
    const struct lang_foreign *found = vyre_lang_foreign_word(unit, token);
    bool type = next == LANG_NAME || vyre_lang_element_type(next) != 0;
    if (type && found && found->kind == LANG_FOREIGN_ARRAY) {
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token),
                      vyre_lang_text(unit, "there is no `%s`", found->word), found->fix);
        return vyre_lang_array(unit);
    }
    if (found && found->kind == LANG_FOREIGN_PREFIX && (type || next == LANG_CONST)) {
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(vyre_lang_take(unit)),
                      vyre_lang_text(unit, "there is no `%s`", found->word), found->fix);
        return line(unit);
    }
    if (vyre_lang_is_foreign_type(unit, token) && (next == LANG_NAME || next == LANG_STAR))
        return vyre_lang_declaration(unit, false);
    if (looks_like_word(unit) && foreign_word(unit))
        return vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
    return simple(unit);
}

/* A function in a function: skipped to behind its body. */
static struct lang_stmt *nested(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    vyre_lang_take(unit);
    vyre_lang_wrong(unit, LANG_D_PLACE, vyre_lang_span(vyre_lang_peek(unit, 0)),
                    vyre_lang_text(unit, "`%.60s` is a function inside another",
                                   vyre_lang_token_name(unit, vyre_lang_peek(unit, 0))->text),
                    "declare it outside, before or behind this one");
    return vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
}

/* A statement but for its semicolon, of those that end with one. */
static struct lang_stmt *line(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t next = vyre_lang_peek(unit, 1).kind;
    switch (token.kind) {
    case LANG_BREAK:
    case LANG_CONTINUE:
    case LANG_RETURN:
        return jump(unit);
    case LANG_WORKGROUP:
        return vyre_lang_array(unit);
    case LANG_CONST:
        vyre_lang_take(unit);
        return vyre_lang_declaration(unit, true);
    case LANG_ELSE:
        vyre_lang_unexpected(
            unit, "a statement",
            "an `else` stands behind the body of its `if`; put braces around two statements");
        return vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
    case LANG_NAME:
        return named(unit);
    case LANG_RPAREN:
    case LANG_RBRACKET:
        vyre_lang_unexpected(unit, "a statement", "remove it: it closes nothing");
        return vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
    default:
        if (vyre_lang_begins_function(unit)) return nested(unit);
        if (vyre_lang_element_type(token.kind) && next != LANG_LPAREN)
            return vyre_lang_declaration(unit, false);
        return simple(unit);
    }
}

/* `end:` */
static void no_label(struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (token.kind != LANG_NAME || vyre_lang_peek(unit, 1).kind != LANG_COLON ||
        vyre_lang_foreign_word(unit, token))
        return;
    if (vyre_lang_token_name(unit, token)->unknown_in != unit->function)
        vyre_lang_say(unit, LANG_D_EXPECTED, vyre_lang_span(token), "there are no labels",
                      "remove it; use a loop with `break` and `continue`");
    unit->at += 2;
}

static struct lang_stmt *statement(struct lang_unit *unit)
{
    no_label(unit);
    struct lang_token token = vyre_lang_peek(unit, 0);
    uint32_t depth = unit->depth;
    struct lang_stmt *stmt;
    switch (token.kind) {
    case LANG_LBRACE: {
        struct lang_span end;
        stmt = vyre_lang_make_stmt(unit, LANG_S_BLOCK, vyre_lang_span(token));
        stmt->body = vyre_lang_block(unit, &end);
        return stmt;
    }
    case LANG_SEMICOLON:
        vyre_lang_take(unit);
        return vyre_lang_make_stmt(unit, LANG_S_EMPTY, vyre_lang_span(token));
    case LANG_IF:
        stmt = if_statement(unit);
        break;
    case LANG_FOR:
        stmt = for_statement(unit);
        break;
    case LANG_WHILE:
        stmt = while_statement(unit);
        break;
    case LANG_DO:
        stmt = do_statement(unit);
        break;
    default:
        unit->dubious = false;
        stmt = line(unit);
        vyre_lang_expect_end(unit, "behind the statement");
        if (unit->dubious) vyre_lang_drop_rest(stmt);
        break;
    }
    unit->depth = depth;
    if (!unit->noisy) return stmt;
    skip_statement(unit);
    vyre_lang_drop_rest(stmt);
    return stmt;
}

/* Whether the next function begins here, or the file ends: then a brace was not closed. */
static bool is_outside(const struct lang_unit *unit)
{
    struct lang_token token = vyre_lang_peek(unit, 0);
    if (token.kind == LANG_END) return true;
    if (!vyre_lang_begins_function(unit)) return false;
    return token.kind == LANG_KERNEL || token.kind == LANG_AT ||
           (vyre_lang_begins_line(unit, 0) && vyre_lang_column(unit, token.at) == 1);
}

/* Of the braces of a function, one is not closed: the first whose closing brace stands further left
 * than it should, for that one closes another. */
static void unclosed_brace(struct lang_unit *unit)
{
    uint32_t open[LANG_MOST_DEPTH + 1], depth = 0, saved = unit->at;
    bool told = unit->unclosed || unit->cut;
    unit->unclosed = true;
    unit->noisy = false;
    if (told) return;
    for (unit->at = unit->body_at; unit->at < saved; unit->at++) {
        struct lang_token token = unit->tokens[unit->at];
        if (token.kind == LANG_LBRACE && depth <= LANG_MOST_DEPTH) open[depth++] = unit->at;
        if (token.kind != LANG_RBRACE || depth == 0) continue;
        if (vyre_lang_begins_line(unit, 0) &&
            vyre_lang_column(unit, token.at) <
                vyre_lang_indent(unit, unit->tokens[open[depth - 1]])) {
            saved = saved > unit->at ? saved : unit->at;
            break;
        }
        depth--;
    }
    struct lang_token until = unit->tokens[unit->at];
    unit->at = saved;
    struct lang_token brace = unit->tokens[depth ? open[depth - 1] : unit->body_at];
    vyre_lang_say(unit, LANG_D_UNCLOSED, vyre_lang_span(brace), "this `{` is never closed",
                  until.kind == LANG_END
                      ? "close it with `}` before the end of the file"
                      : vyre_lang_text(unit, "close it with `}` before line %u",
                                       (unsigned)vyre_lang_line(unit, until.at)));
}

struct lang_stmt *vyre_lang_block(struct lang_unit *unit, struct lang_span *end)
{
    struct lang_stmt *first = NULL, **link = &first;
    vyre_lang_accept(unit, LANG_LBRACE); /* or it was missing, and complained of */
    vyre_lang_nest(unit);
    while (vyre_lang_peek(unit, 0).kind != LANG_RBRACE) {
        uint32_t before = unit->at;
        if (is_outside(unit)) {
            unclosed_brace(unit);
            *end = (struct lang_span){vyre_lang_peek(unit, 0).at, 0};
            unit->depth--;
            return first;
        }
        *link = statement(unit);
        while (*link)
            link = &(*link)->next;
        if (unit->at == before) vyre_lang_take(unit); /* whatever it is, it does not stop us */
    }
    *end = vyre_lang_span(vyre_lang_take(unit));
    unit->depth--;
    return first;
}
