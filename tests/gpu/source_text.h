/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sources of programs that are made piece by piece; the text is freed by the caller. Include it
 * after support.h.
 */
#ifndef VYRE_TESTS_SOURCE_TEXT_H
#define VYRE_TESTS_SOURCE_TEXT_H

#include "support.h"

#include <stdarg.h>

struct source_text {
    char *text;
    size_t length, room;
};

TAP_FORMAT(2, 3)
static void source_add(struct source_text *made, const char *format, ...)
{
    va_list list;
    if (made->room - made->length < 400) {
        made->room = made->room * 2 + 4000;
        made->text = realloc(made->text, made->room);
        if (!made->text) bail("out of memory");
    }
    va_start(list, format);
    int length = vsnprintf(made->text + made->length, 400, format, list);
    va_end(list);
    if (length < 0 || length >= 400) bail("a line of a source is too long");
    made->length += (size_t)length;
}

#endif
