/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A diagnostic as people read it:
 *
 *     saxpy.vyre:3:23: error: nothing is called `z` here [L020]
 *         3 |     y[i] = a * x[i] + z[i];
 *           |                       ^
 *           fix: did you mean `y`?
 *
 * What is shown of the source is shown in cells, one for each character: a tab as blanks up to the
 * next stop, what a terminal would obey and what is not UTF-8 as `?`. So the mark stands under the
 * span on every terminal, and no source can do anything to it. A line that is too long is cut to a
 * window around the span.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lang/lang.h"

#define WINDOW_CELLS 100u
#define BEFORE_CELLS 40u /* of the window before the span, where the line is cut there */
#define TAB_CELLS    4u
#define CUT          "..."

struct writer {
    vyre_write_fn write;
    void *ctx;
    int stopped;
    bool color;
    size_t used;
    char text[512];
};

enum color { PLAIN, PLACE, ERROR, WARNING, MESSAGE, GUTTER, MARK, FIX };

static void flush(struct writer *to)
{
    if (to->used && !to->stopped) to->stopped = to->write(to->ctx, to->text, to->used) != 0;
    to->used = 0;
}

static void put(struct writer *to, const char *text, size_t length)
{
    while (length) {
        size_t room = sizeof to->text - to->used, take = length < room ? length : room;
        memcpy(to->text + to->used, text, take);
        to->used += take;
        text += take;
        length -= take;
        if (to->used == sizeof to->text) flush(to);
    }
}

static void put_text(struct writer *to, const char *text)
{
    put(to, text, strlen(text));
}

static void put_many(struct writer *to, char c, size_t count)
{
    while (count--)
        put(to, &c, 1);
}

static void paint(struct writer *to, enum color color)
{
    static const char *const codes[] = {
        [PLAIN] = "\033[0m",      [PLACE] = "\033[1m",   [ERROR] = "\033[1;31m",
        [WARNING] = "\033[1;35m", [MESSAGE] = "\033[1m", [GUTTER] = "\033[34m",
        [MARK] = "\033[1;32m",    [FIX] = "\033[36m",
    };
    if (to->color) put_text(to, codes[color]);
}

/* One character of a source as it is shown. */
struct cell {
    const char *text;
    size_t length; /* of text */
    size_t bytes;  /* of the source */
    size_t cells;
};

static const char blanks[TAB_CELLS + 1] = "    ";

/* The code point of the UTF-8 character at `at`, and its bytes; 0 bytes where there is none. */
static uint32_t code_point(const char *at, size_t room, size_t *bytes)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    const unsigned char *c = (const unsigned char *)at;
    size_t more = c[0] >= 0xF0 ? 3 : c[0] >= 0xE0 ? 2 : 1;
    *bytes = c[0] < 0x80;
    if (c[0] < 0x80) return c[0];
    if (c[0] < 0xC2 || c[0] > 0xF4 || room <= more) return 0;
    uint32_t point = c[0] & (0x3Fu >> more);
    for (size_t i = 1; i <= more; i++) {
        if ((c[i] & 0xC0) != 0x80) return 0;
        point = point << 6 | (c[i] & 0x3Fu);
    }
    if (point < least[more] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return 0;
    *bytes = more + 1;
    return point;
}

/* Control characters, what is not seen, and what changes the direction of a line. */
static bool is_unsafe(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0xAD || point == 0x61C ||
           (point >= 0x200B && point <= 0x200F) || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF;
}

/* Marks that stand on the character before them. */
static bool is_combining(uint32_t point)
{
    return (point >= 0x300 && point <= 0x36F) || (point >= 0xFE00 && point <= 0xFE0F);
}

static struct cell cell_at(const char *at, size_t room, size_t column)
{
    struct cell cell = {.text = at, .cells = 1};
    uint32_t point = code_point(at, room, &cell.bytes);
    cell.length = cell.bytes;
    if (*at == '\t') {
        cell.cells = TAB_CELLS - column % TAB_CELLS;
        cell.text = blanks;
        cell.length = cell.cells;
    } else if (cell.bytes == 0 || is_unsafe(point)) {
        cell.text = "?";
        cell.length = 1;
        if (cell.bytes == 0) cell.bytes = 1;
    } else if (is_combining(point)) {
        cell.cells = 0;
    }
    return cell;
}

/* A text that is no source: what a message or a file's name has in it. */
static void put_safe(struct writer *to, const char *text)
{
    size_t length = strlen(text);
    while (length) {
        struct cell cell = cell_at(text, length, 0);
        put(to, cell.text, cell.length);
        text += cell.bytes;
        length -= cell.bytes;
    }
}

/* The line of a span, in cells. */
struct view {
    const char *line;
    size_t length;
    size_t from, to;    /* the span */
    size_t cells;       /* all of them */
    size_t first, last; /* the window */
};

static void measure(struct view *view, size_t at, size_t span)
{
    size_t column = 0;
    view->from = view->to = SIZE_MAX;
    for (size_t i = 0; i < view->length;) {
        struct cell cell = cell_at(view->line + i, view->length - i, column);
        if (view->from == SIZE_MAX && i + cell.bytes > at) view->from = column;
        if (view->to == SIZE_MAX && i >= at + span) view->to = column;
        column += cell.cells;
        i += cell.bytes;
    }
    view->cells = column;
    if (view->from == SIZE_MAX) view->from = column;
    if (view->to == SIZE_MAX) view->to = column;
    if (view->to <= view->from) view->to = view->from + 1;
}

static void choose_window(struct view *view)
{
    view->first = 0;
    view->last = view->cells;
    if (view->cells <= WINDOW_CELLS) return;
    view->first = view->from > BEFORE_CELLS ? view->from - BEFORE_CELLS : 0;
    if (view->first + WINDOW_CELLS > view->cells) view->first = view->cells - WINDOW_CELLS;
    view->last = view->first + WINDOW_CELLS;
}

static void put_window(struct writer *to, const struct view *view)
{
    size_t column = 0;
    if (view->first) put_text(to, CUT);
    for (size_t i = 0; i < view->length && column < view->last;) {
        struct cell cell = cell_at(view->line + i, view->length - i, column);
        size_t end = column + cell.cells;
        if (cell.text == blanks) { /* a tab may lie across the edge */
            size_t from = column > view->first ? column : view->first;
            size_t until = end < view->last ? end : view->last;
            if (until > from) put(to, blanks, until - from);
        } else if (column >= view->first) {
            put(to, cell.text, cell.length);
        }
        column = end;
        i += cell.bytes;
    }
    if (view->last < view->cells) put_text(to, CUT);
}

static void put_gutter(struct writer *to, uint32_t line, bool filled)
{
    char text[24];
    int width = line > 99999 ? 10 : 5;
    paint(to, GUTTER);
    if (filled)
        snprintf(text, sizeof text, "%*u |", width, (unsigned)line);
    else
        snprintf(text, sizeof text, "%*s |", width, "");
    put_text(to, text);
    paint(to, PLAIN);
}

static void put_line(struct writer *to, const vyre_diagnostic *told, const char *source,
                     size_t length)
{
    size_t start = told->offset, end = told->offset;
    while (start > 0 && source[start - 1] != '\n')
        start--;
    while (end < length && source[end] != '\n')
        end++;
    if (end > start && source[end - 1] == '\r') end--;
    struct view view = {.line = source + start, .length = end - start};
    measure(&view, told->offset - start, told->length);
    choose_window(&view);
    put_gutter(to, told->line, true);
    if (view.length) put_text(to, " ");
    put_window(to, &view);
    put_text(to, "\n");
    put_gutter(to, told->line, false);
    put_many(to, ' ', 1 + (view.first ? strlen(CUT) : 0) + view.from - view.first);
    paint(to, MARK);
    put_text(to, "^");
    size_t until = view.to < view.last ? view.to : view.last;
    if (until > view.from + 1) put_many(to, '~', until - view.from - 1);
    paint(to, PLAIN);
    put_text(to, "\n");
}

static void put_head(struct writer *to, const vyre_diagnostic *told)
{
    bool warning = told->severity == VYRE_SEVERITY_WARNING;
    char place[32];
    paint(to, PLACE);
    if (told->file && told->file[0]) {
        put_safe(to, told->file);
        put_text(to, ":");
    }
    snprintf(place, sizeof place, "%u:%u: ", (unsigned)told->line, (unsigned)told->column);
    put_text(to, place);
    paint(to, PLAIN);
    paint(to, warning ? WARNING : ERROR);
    put_text(to, warning ? "warning: " : "error: ");
    paint(to, PLAIN);
    paint(to, MESSAGE);
    put_safe(to, told->message);
    paint(to, PLAIN);
    put_text(to, " [");
    put_safe(to, told->code);
    put_text(to, "]\n");
}

static void put_fix(struct writer *to, const vyre_diagnostic *told)
{
    if (!told->fix || !told->fix[0]) return;
    put_many(to, ' ', told->line > 99999 ? 11 : 6);
    paint(to, FIX);
    put_text(to, "fix: ");
    paint(to, PLAIN);
    put_safe(to, told->fix);
    put_text(to, "\n");
}

vyre_status vyre_diagnostic_write(const vyre_diagnostic *diagnostic, const char *source,
                                  size_t length, uint32_t style, vyre_write_fn write, void *ctx,
                                  vyre_error *err)
{
    if (!diagnostic) return vyre_fail(err, VYRE_E_NULL, "diagnostic is null");
    if (!diagnostic->message || !diagnostic->code)
        return vyre_fail(err, VYRE_E_NULL, "the diagnostic has no %s",
                         diagnostic->message ? "code" : "message");
    if (!source && length != 0) return vyre_fail(err, VYRE_E_NULL, "source is null");
    if (!write) return vyre_fail(err, VYRE_E_NULL, "write is null");
    if (style & ~(uint32_t)VYRE_DIAGNOSTIC_COLOR)
        return vyre_fail(err, VYRE_E_RANGE, "style is 0x%x; 0 is plain, 1 is with colours", style);
    if (diagnostic->offset > length || diagnostic->length > length - diagnostic->offset)
        return vyre_fail_with(err, VYRE_E_RANGE, "pass the source that it was reported about",
                              "the span is %zu bytes at %zu; the source has %zu",
                              diagnostic->length, diagnostic->offset, length);
    struct writer to = {.write = write, .ctx = ctx, .color = style & VYRE_DIAGNOSTIC_COLOR};
    put_head(&to, diagnostic);
    put_line(&to, diagnostic, source, length);
    put_fix(&to, diagnostic);
    flush(&to);
    return to.stopped ? vyre_fail(err, VYRE_E_SYSTEM, "the text could not be written") : VYRE_OK;
}
