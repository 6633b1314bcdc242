/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The formatter's writing: lines, breaks in lines that are too long, and comments. A comment never
 * changes places with another token. One that the author put on a line of its own gets one; one
 * behind code stays behind it. The text of a comment stays too, but for white space at the ends of
 * its lines and before the stars of a block.
 */
#include <string.h>

#include "lang/format.h"

static void grow(struct format *format, size_t more)
{
    size_t room = format->room ? 2 * format->room : 4096;
    void *memory;
    while (room < format->used + more)
        room *= 2;
    format->status =
        vyre_memory_alloc(format->memory, 1, room, "laid out source", &memory, format->err);
    if (format->status) return;
    if (format->used) memcpy(memory, format->out, format->used);
    vyre_memory_free(format->memory, format->out, format->room);
    format->out = memory;
    format->room = room;
}

void vyre_lang_format_put(struct format *format, const char *text, size_t length)
{
    if (format->status) return;
    if (length > VYRE_SOURCE_MOST_BYTES - format->used) {
        format->status =
            vyre_fail_with(format->err, VYRE_E_LIMIT, "split the source",
                           "laid out, the source has more than %zu bytes", VYRE_SOURCE_MOST_BYTES);
        return;
    }
    if (format->room - format->used < length) grow(format, length);
    if (format->status) return;
    memcpy(format->out + format->used, text, length);
    format->used += length;
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80) format->column++;
    format->open = true;
}

static void put_spaces(struct format *format, uint32_t count)
{
    for (; count; count--)
        vyre_lang_format_put(format, " ", 1);
}

static void end_line(struct format *format)
{
    if (format->open) vyre_lang_format_put(format, "\n", 1);
    format->open = false;
    format->column = 0;
}

void vyre_lang_format_line(struct format *format, uint32_t indent, uint32_t token)
{
    bool blank = !format->fresh && format->tokens[token].breaks > 1;
    end_line(format);
    if (blank) vyre_lang_format_put(format, "\n", 1);
    format->column = 0;
    put_spaces(format, indent * FORMAT_INDENT);
    format->fresh = false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* A comment, from where the line stands. */
static void put_comment(struct format *format, uint32_t token)
{
    const char *text = format->text + format->tokens[token].at;
    const char *end = text + format->tokens[token].length;
    uint32_t column = format->column;
    for (bool first = true;; first = false) {
        const char *feed = memchr(text, '\n', (size_t)(end - text));
        const char *stop = feed ? feed : end;
        const char *start = text;
        while (!first && start < stop && is_blank(*start))
            start++;
        while (stop > start && is_blank(stop[-1]))
            stop--;
        if (!first && start < stop && *start == '*')
            put_spaces(format, column + 1); /* in line with the first star */
        else
            start = start < stop ? text : stop;
        vyre_lang_format_put(format, start, (size_t)(stop - start));
        if (!feed) return;
        vyre_lang_format_put(format, "\n", 1);
        format->column = 0;
        text = feed + 1;
    }
}

static uint32_t width_of(const struct format *format, uint32_t token)
{
    const char *text = format->text + format->tokens[token].at;
    uint32_t width = 0;
    for (uint32_t i = 0; i < format->tokens[token].length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

static bool is_multiline(const struct format *format, uint32_t token)
{
    return memchr(format->text + format->tokens[token].at, '\n', format->tokens[token].length);
}

/* Whether the line ends behind a comment in the middle of a statement. */
static bool ends_line(const struct format *format, uint32_t token)
{
    if (!vyre_lang_format_is_comment(format, token)) return false;
    if (format->tokens[token].kind == LANG_COMMENT_LINE || is_multiline(format, token)) return true;
    return format->tokens[token].breaks && format->tokens[token + 1].breaks;
}

/* The first token of the next line, where these from `from` on begin at the line's column. The
 * break goes to the outermost place in the second half of the line, and the last of those; else to
 * the last place at all. */
static uint32_t next_line(const struct format *format, uint32_t from, uint32_t to)
{
    uint32_t column = format->column, half = column + (FORMAT_COLUMNS - column) / 2;
    uint32_t best = 0, early = 0;
    if (column > FORMAT_COLUMNS) half = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct format_token *token = &format->tokens[i];
        bool own = ends_line(format, i);
        if (i > from && ends_line(format, i - 1)) return i;
        if (own && i > from && token->breaks) return i;
        if (i > from && token->level) {
            if (column > FORMAT_COLUMNS) return i;
            if (column < half)
                early = i;
            else if (!best || token->level <= format->tokens[best].level)
                best = i;
        }
        if (own) continue; /* a comment behind code is as long as it is */
        column += width_of(format, i) + (i > from && token->space);
        if (column > FORMAT_COLUMNS && best) return best;
        if (column > FORMAT_COLUMNS && early) return early;
    }
    return to;
}

void vyre_lang_format_piece(struct format *format, uint32_t to, uint32_t indent)
{
    while (format->at < to && !format->status) {
        uint32_t end = next_line(format, format->at, to);
        for (bool first = true; format->at < end; format->at++, first = false) {
            const struct format_token *token = &format->tokens[format->at];
            bool behind = !first && ends_line(format, format->at);
            if (!first) put_spaces(format, behind ? 2 : token->space);
            if (vyre_lang_format_is_comment(format, format->at))
                put_comment(format, format->at);
            else
                vyre_lang_format_put(format, format->text + token->at, token->length);
        }
        if (end == to) return;
        end_line(format);
        put_spaces(format, (indent + 1) * FORMAT_INDENT);
    }
}

bool vyre_lang_format_fits(const struct format *format, uint32_t to)
{
    uint32_t column = format->column;
    for (uint32_t i = format->at; i < to && column <= FORMAT_COLUMNS; i++) {
        if (ends_line(format, i)) return false;
        column += width_of(format, i) + format->tokens[i].space;
    }
    return column <= FORMAT_COLUMNS;
}

void vyre_lang_format_trail(struct format *format)
{
    uint32_t end = format->at;
    if (!format->open) return;
    while (vyre_lang_format_is_comment(format, end) && !format->tokens[end].breaks)
        end++;
    if (!format->tokens[end].breaks && format->tokens[end].kind != LANG_END) return;
    for (; format->at < end; format->at++) {
        put_spaces(format, 2);
        put_comment(format, format->at);
    }
}

void vyre_lang_format_comments(struct format *format, uint32_t indent)
{
    vyre_lang_format_trail(format);
    while (vyre_lang_format_is_comment(format, format->at)) {
        vyre_lang_format_line(format, indent, format->at);
        put_comment(format, format->at++);
        vyre_lang_format_trail(format);
    }
}
