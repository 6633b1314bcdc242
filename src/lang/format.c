/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The one layout of the language. It works on tokens, not on the tree, and so can lay out all whose
 * tokens and brackets can be read; but what the parser refuses stays as it is, because it may be
 * anything. Errors of meaning do not matter. What the author decides is only: where a blank line
 * stands, and whether the one statement of an `if` or a loop without braces stands beside or below
 * its head.
 *
 * The result has the same tokens in the same order, and laid out again it stays as it is. The first
 * is checked each time before anything is written.
 */
#include <string.h>

#include "lang/format.h"

static void statement(struct format *format, uint32_t indent, uint32_t depth);

static uint32_t kind_at(const struct format *format, uint32_t token)
{
    return format->tokens[token].kind;
}

static bool ends_block(const struct format *format)
{
    return kind_at(format, format->at) == LANG_RBRACE || kind_at(format, format->at) == LANG_END;
}

/* The end of a statement that begins at `token` and is neither a block nor has one: behind its
 * semicolon, or before a brace. */
static uint32_t plain_end(const struct format *format, uint32_t token)
{
    uint32_t end = token;
    for (;; end++) {
        uint32_t kind = kind_at(format, end);
        if (kind == LANG_SEMICOLON) return end + 1;
        if (kind == LANG_LPAREN || kind == LANG_LBRACKET)
            end = vyre_lang_format_group(format, end) - 1;
        else if (kind == LANG_LBRACE || kind == LANG_RBRACE || kind == LANG_END)
            break;
    }
    while (end > token && vyre_lang_format_is_comment(format, end - 1))
        end--;
    return end;
}

/* Goes on behind the last token, in its line if that is no comment, else in a line of its own. */
static void go_on(struct format *format, uint32_t indent)
{
    format->fresh = true;
    vyre_lang_format_comments(format, indent);
    format->fresh = true;
    if (vyre_lang_format_is_comment(format, format->at - 1))
        vyre_lang_format_line(format, indent, format->at);
    else
        vyre_lang_format_put(format, " ", 1);
    format->fresh = false;
}

static void put_token(struct format *format, uint32_t indent)
{
    vyre_lang_format_piece(format, format->at + 1, indent);
}

/* From the opening brace, for which the line is ready, to the closing one. */
static void block(struct format *format, uint32_t indent, uint32_t depth)
{
    put_token(format, indent);
    format->fresh = true;
    for (;;) {
        vyre_lang_format_comments(format, indent + 1);
        if (ends_block(format) || format->status) break;
        vyre_lang_format_line(format, indent + 1, format->at);
        statement(format, indent + 1, depth + 1);
    }
    format->fresh = true;
    vyre_lang_format_line(format, indent, format->at);
    put_token(format, indent);
}

static void plain(struct format *format, uint32_t indent, uint32_t depth)
{
    vyre_lang_format_piece(format, plain_end(format, format->at), indent);
    if (kind_at(format, format->at - 1) == LANG_SEMICOLON) return;
    if (kind_at(format, vyre_lang_format_code(format, format->at)) != LANG_LBRACE) return;
    go_on(format, indent);
    block(format, indent, depth);
}

static bool is_plain(uint32_t kind)
{
    return kind != LANG_IF && kind != LANG_FOR && kind != LANG_WHILE && kind != LANG_DO &&
           kind != LANG_ELSE && kind != LANG_LBRACE && kind != LANG_COMMENT_LINE &&
           kind != LANG_COMMENT_BLOCK;
}

/* What belongs to an if, an else or a loop, whose head is in the line. */
static void body(struct format *format, uint32_t indent, uint32_t depth)
{
    vyre_lang_format_trail(format);
    if (kind_at(format, vyre_lang_format_code(format, format->at)) == LANG_LBRACE) {
        go_on(format, indent);
        block(format, indent, depth);
        return;
    }
    if (ends_block(format)) return;
    const struct format_token *first = &format->tokens[format->at];
    bool beside = !first->breaks && is_plain(first->kind);
    uint32_t end = beside ? plain_end(format, format->at) : 0;
    if (beside && kind_at(format, end - 1) == LANG_SEMICOLON &&
        vyre_lang_format_fits(format, end)) {
        if (first->space) vyre_lang_format_put(format, " ", 1);
        vyre_lang_format_piece(format, end, indent);
        return;
    }
    format->fresh = true;
    vyre_lang_format_comments(format, indent + 1);
    if (ends_block(format)) return;
    format->fresh = true;
    vyre_lang_format_line(format, indent + 1, format->at);
    statement(format, indent + 1, depth + 1);
}

/* A word and its parenthesis; false where there is none, and nothing is written. */
static bool head(struct format *format, uint32_t indent)
{
    uint32_t open = vyre_lang_format_code(format, format->at + 1);
    if (kind_at(format, open) != LANG_LPAREN) return false;
    vyre_lang_format_piece(format, vyre_lang_format_group(format, open), indent);
    return true;
}

/* The word of a statement's next part: behind a closing brace, or in a line of its own. */
static void next_part(struct format *format, uint32_t indent)
{
    format->fresh = true;
    vyre_lang_format_comments(format, indent);
    if (kind_at(format, format->at - 1) == LANG_RBRACE) {
        vyre_lang_format_put(format, " ", 1);
    } else {
        format->fresh = true;
        vyre_lang_format_line(format, indent, format->at);
    }
    format->fresh = false;
}

/* An if with all that hangs on it: as a loop, because chains can be long. */
static void choice(struct format *format, uint32_t indent, uint32_t depth)
{
    for (;;) {
        if (!head(format, indent)) {
            plain(format, indent, depth);
            return;
        }
        body(format, indent, depth);
        if (kind_at(format, vyre_lang_format_code(format, format->at)) != LANG_ELSE) return;
        next_part(format, indent);
        put_token(format, indent);
        if (kind_at(format, format->at) != LANG_IF) break;
        vyre_lang_format_put(format, " ", 1);
    }
    body(format, indent, depth);
}

static void repeat(struct format *format, uint32_t indent, uint32_t depth)
{
    put_token(format, indent);
    body(format, indent, depth);
    if (kind_at(format, vyre_lang_format_code(format, format->at)) != LANG_WHILE) return;
    next_part(format, indent);
    plain(format, indent, depth);
}

/* A statement whose line is ready. */
static void statement(struct format *format, uint32_t indent, uint32_t depth)
{
    if (depth > FORMAT_MOST_DEPTH) {
        vyre_lang_format_refuse(format, format->tokens[format->at].at,
                                "split what is inside into functions",
                                "statements are nested more than 512 deep here");
        return;
    }
    switch (kind_at(format, format->at)) {
    case LANG_LBRACE:
        block(format, indent, depth);
        return;
    case LANG_IF:
        choice(format, indent, depth);
        return;
    case LANG_FOR:
    case LANG_WHILE:
        if (head(format, indent))
            body(format, indent, depth);
        else
            plain(format, indent, depth);
        return;
    case LANG_DO:
        repeat(format, indent, depth);
        return;
    case LANG_ELSE: /* without an if */
        put_token(format, indent);
        body(format, indent, depth);
        return;
    default:
        plain(format, indent, depth);
    }
}

/* Whether what begins at `token` is a function or a kernel. */
static bool has_block(const struct format *format, uint32_t token)
{
    uint32_t end = plain_end(format, token);
    if (end > token && kind_at(format, end - 1) == LANG_SEMICOLON) return false;
    return kind_at(format, vyre_lang_format_code(format, end)) == LANG_LBRACE;
}

/* The attributes, in one line. */
static void attributes(struct format *format)
{
    uint32_t end = format->at;
    while (kind_at(format, end) == LANG_AT) {
        end++;
        if (kind_at(format, end) == LANG_NAME || vyre_lang_is_word(kind_at(format, end))) end++;
        if (kind_at(format, end) == LANG_LPAREN) end = vyre_lang_format_group(format, end);
    }
    vyre_lang_format_piece(format, end, 0);
    format->fresh = true;
    vyre_lang_format_comments(format, 0);
    format->fresh = true;
    if (kind_at(format, format->at) != LANG_END) vyre_lang_format_line(format, 0, format->at);
}

/* What stands in a file: a constant, a function, a kernel. Its line is ready. */
static void item(struct format *format)
{
    while (kind_at(format, format->at) == LANG_AT)
        attributes(format);
    if (kind_at(format, format->at) == LANG_END) return;
    bool braced = has_block(format, format->at);
    bool bare = kind_at(format, format->at) == LANG_LBRACE;
    if (!bare) vyre_lang_format_piece(format, plain_end(format, format->at), 0);
    if (!braced) return;
    if (!bare) {
        format->fresh = true;
        vyre_lang_format_comments(format, 0);
        format->fresh = true;
        vyre_lang_format_line(format, 0, format->at);
    }
    block(format, 0, 1);
}

/* A function has a blank line before it and behind it; comments right above it belong to it. */
static void set_apart(struct format *format)
{
    uint32_t first = format->at;
    for (uint32_t i = first; vyre_lang_format_is_comment(format, i); i++)
        if (format->tokens[i + 1].breaks > 1) first = i + 1;
    format->tokens[first].breaks = 2;
}

static void file(struct format *format)
{
    bool last_braced = false;
    format->fresh = true;
    for (bool first = true; !format->status; first = false) {
        vyre_lang_format_trail(format);
        uint32_t next = vyre_lang_format_code(format, format->at);
        bool end = kind_at(format, next) == LANG_END;
        bool braced = !end && has_block(format, next);
        if (!end && !first && (braced || last_braced)) set_apart(format);
        vyre_lang_format_comments(format, 0);
        if (end) break;
        vyre_lang_format_line(format, 0, format->at);
        item(format);
        last_braced = braced;
    }
    if (format->open) vyre_lang_format_put(format, "\n", 1);
}

/* The next byte of a comment that is not white space, or its end. */
static uint32_t next_ink(const char *text, uint32_t at, uint32_t length)
{
    while (at < length &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
        at++;
    return at;
}

static bool same_token(const struct format *format, const struct format_token *was,
                       struct lang_token is)
{
    if (was->kind != is.kind) return false;
    if (was->kind == LANG_END) return true;
    const char *a = format->text + was->at, *b = format->out + is.at;
    if (was->kind != LANG_COMMENT_LINE && was->kind != LANG_COMMENT_BLOCK)
        return was->length == is.length && memcmp(a, b, is.length) == 0;
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        i = next_ink(a, i, was->length);
        k = next_ink(b, k, is.length);
        if (i == was->length || k == is.length) return i == was->length && k == is.length;
        if (a[i] != b[k]) return false;
    }
}

/* Nothing but white space may have changed. */
static void compare(struct format *format)
{
    struct lang_lexer lexer = {.text = format->out, .length = format->used, .comments = true};
    for (uint32_t i = 0; i < format->count && !format->status; i++)
        if (!same_token(format, &format->tokens[i], vyre_lang_next(&lexer)))
            vyre_lang_format_refuse(format, format->tokens[i].at,
                                    "report it with the source: this is a bug in vyre",
                                    "laying out the source would change this token");
}

static vyre_status lay_out(struct format format, bool grammar, vyre_write_fn write, void *ctx)
{
    if (format.length > VYRE_SOURCE_MOST_BYTES)
        return vyre_fail_with(format.err, VYRE_E_LIMIT, "split the source",
                              "the source has %zu bytes, at most %zu", format.length,
                              VYRE_SOURCE_MOST_BYTES);
    vyre_lang_format_read(&format);
    if (!format.status && grammar) vyre_lang_format_grammar(&format);
    if (!format.status) file(&format);
    if (!format.status) compare(&format);
    if (!format.status && format.used && write(ctx, format.out, format.used) != 0)
        format.status = vyre_fail(format.err, VYRE_E_SYSTEM, "the text could not be written");
    vyre_memory_free(format.memory, format.tokens, format.count * sizeof *format.tokens);
    vyre_memory_free(format.memory, format.out, format.room);
    return format.status;
}

vyre_status vyre_lang_format(struct vyre_memory *memory, const char *text, size_t length,
                             vyre_write_fn write, void *ctx, vyre_error *err)
{
    struct format format = {.memory = memory, .text = text, .length = length, .err = err};
    return lay_out(format, true, write, ctx);
}

vyre_status vyre_lang_layout(struct vyre_memory *memory, const char *text, size_t length,
                             vyre_write_fn write, void *ctx, vyre_error *err)
{
    struct format format = {.memory = memory, .text = text, .length = length, .err = err};
    return lay_out(format, false, write, ctx);
}
