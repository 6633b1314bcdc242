/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads JSON Lines from stdin and says how many there are, or what is wrong with which. Every line
 * has to be one JSON object with a member `type`; the first has to be the header, with schema 1.
 * Strict: no blank lines, no trailing blanks, no raw control characters, valid UTF-8, and a newline
 * after the last line. A helper of the tests of `vyre --json`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 };

struct reader {
    const unsigned char *at;
    const char *wrong;
};

static int value(struct reader *reader, int depth);

static int fail(struct reader *reader, const char *wrong)
{
    if (reader->wrong == NULL) reader->wrong = wrong;
    return 0;
}

static int literal(struct reader *reader, const char *text)
{
    size_t len = strlen(text);

    if (strncmp((const char *)reader->at, text, len) != 0) return fail(reader, "unknown literal");
    reader->at += len;
    return 1;
}

static int digits(struct reader *reader)
{
    const unsigned char *start = reader->at;

    while (*reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return reader->at > start || fail(reader, "a digit is missing");
}

static int number(struct reader *reader)
{
    if (*reader->at == '-') reader->at++;
    if (reader->at[0] == '0' && reader->at[1] >= '0' && reader->at[1] <= '9')
        return fail(reader, "a number begins with 0");
    if (!digits(reader)) return 0;
    if (*reader->at == '.') {
        reader->at++;
        if (!digits(reader)) return 0;
    }
    if (*reader->at == 'e' || *reader->at == 'E') {
        reader->at++;
        if (*reader->at == '+' || *reader->at == '-') reader->at++;
        if (!digits(reader)) return 0;
    }
    return 1;
}

static int escape(struct reader *reader)
{
    reader->at++;
    if (*reader->at == 'u') {
        for (int i = 0; i < 4; i++)
            if (strchr("0123456789abcdefABCDEF", *++reader->at) == NULL || *reader->at == '\0')
                return fail(reader, "not four hexadecimal digits after \\u");
    } else if (*reader->at == '\0' || strchr("\"\\/bfnrt", *reader->at) == NULL) {
        return fail(reader, "unknown escape");
    }
    reader->at++;
    return 1;
}

/* One character above 0x7F, in its only allowed form. */
static int utf8(struct reader *reader)
{
    unsigned c = *reader->at++, code;
    int more = c >= 0xF0 && c <= 0xF4 ? 3 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xC2 && c <= 0xDF;
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};

    if (more == 0) return fail(reader, "not UTF-8");
    code = c & (0x3Fu >> more);
    for (int i = 0; i < more; i++) {
        if ((*reader->at & 0xC0) != 0x80) return fail(reader, "not UTF-8");
        code = code << 6 | (*reader->at++ & 0x3Fu);
    }
    if (code < least[more] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return fail(reader, "not UTF-8");
    return 1;
}

static int string(struct reader *reader)
{
    if (*reader->at != '"') return fail(reader, "a string is missing");
    reader->at++;
    while (*reader->at != '"') {
        if (*reader->at < 0x20)
            return fail(reader, "a raw control character, or no end of a string");
        if (*reader->at == '\\') {
            if (!escape(reader)) return 0;
        } else if (*reader->at >= 0x80) {
            if (!utf8(reader)) return 0;
        } else {
            reader->at++;
        }
    }
    reader->at++;
    return 1;
}

static int object(struct reader *reader, int depth)
{
    reader->at++;
    if (*reader->at == '}') {
        reader->at++;
        return 1;
    }
    for (;;) {
        if (!string(reader)) return 0;
        if (*reader->at++ != ':') return fail(reader, "no colon after a key");
        if (!value(reader, depth)) return 0;
        if (*reader->at == '}') break;
        if (*reader->at++ != ',') return fail(reader, "no comma between members");
    }
    reader->at++;
    return 1;
}

static int array(struct reader *reader, int depth)
{
    reader->at++;
    if (*reader->at == ']') {
        reader->at++;
        return 1;
    }
    for (;;) {
        if (!value(reader, depth)) return 0;
        if (*reader->at == ']') break;
        if (*reader->at++ != ',') return fail(reader, "no comma between elements");
    }
    reader->at++;
    return 1;
}

static int value(struct reader *reader, int depth)
{
    if (depth == DEPTH) return fail(reader, "nested too deeply");
    switch (*reader->at) {
    case '{':
        return object(reader, depth + 1);
    case '[':
        return array(reader, depth + 1);
    case '"':
        return string(reader);
    case 't':
        return literal(reader, "true");
    case 'f':
        return literal(reader, "false");
    case 'n':
        return literal(reader, "null");
    default:
        return number(reader);
    }
}

static const char *check_line(const char *line, size_t len, int first)
{
    struct reader reader = {(const unsigned char *)line, NULL};

    if (len == 0 || line[len - 1] != '\n') return "no newline at the end";
    if (strlen(line) != len) return "a zero byte";
    if (line[0] != '{') return "not an object";
    if (!value(&reader, 0)) return reader.wrong;
    if (reader.at != (const unsigned char *)line + len - 1) return "something after the object";
    if (first && strncmp(line, "{\"type\":\"header\",\"schema\":1,", 28) != 0)
        return "the first line is not the header of schema 1";
    return strncmp(line, "{\"type\":\"", 9) == 0 ? NULL : "the first member is not the type";
}

int main(void)
{
    char *line = NULL;
    size_t size = 0, count = 0;
    ssize_t len;

    while ((len = getline(&line, &size, stdin)) >= 0) {
        const char *wrong = check_line(line, (size_t)len, count == 0);
        count++;
        if (wrong == NULL) continue;
        printf("line %zu: %s\n", count, wrong);
        free(line);
        return 1;
    }
    free(line);
    printf("%zu lines\n", count);
    return count == 0;
}
