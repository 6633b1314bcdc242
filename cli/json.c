/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes JSON Lines to stdout for the commands' --json. Every line is one whole object whose first
 * member is `type`; whatever bytes a text holds, the line is valid JSON and valid UTF-8.
 */
#include "cli.h"

#include <float.h>
#include <math.h>

size_t cli_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned low = 0x80, high = 0xBF;
    size_t more;

    if (s[0] < 0x80) return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        more = 1;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        more = 2;
        if (s[0] == 0xE0) low = 0xA0;
        if (s[0] == 0xED) high = 0x9F;
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        more = 3;
        if (s[0] == 0xF0) low = 0x90;
        if (s[0] == 0xF4) high = 0x8F;
    } else {
        return 0;
    }
    if (s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i <= more; i++)
        if (s[i] < 0x80 || s[i] > 0xBF) return 0;
    return more + 1;
}

static void put_string(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    putchar('"');
    while (*s != '\0') {
        size_t len = cli_utf8_length((const char *)s);
        if (len == 0) {
            fputs("\\ufffd", stdout);
            s++;
        } else if (*s == '"' || *s == '\\') {
            printf("\\%c", *s++);
        } else if (*s < 0x20 || *s == 0x7f) {
            printf("\\u%04x", (unsigned)*s++);
        } else {
            fwrite(s, 1, len, stdout);
            s += len;
        }
    }
    putchar('"');
}

/* 1: a bracket was just opened, and what comes next stands without a comma. */
static int first;

static void put_key(const char *key)
{
    if (!first) putchar(',');
    first = 0;
    if (key != NULL) printf("\"%s\":", key);
}

void cli_json_header(const char *command)
{
    cli_json_begin("header");
    cli_json_count("schema", 1);
    cli_json_text("command", command);
    cli_json_text("version", vyre_version());
    cli_json_end();
}

void cli_json_begin(const char *type)
{
    fputs("{\"type\":", stdout);
    put_string(type);
}

void cli_json_text(const char *key, const char *value)
{
    if (value == NULL) {
        cli_json_null(key);
        return;
    }
    put_key(key);
    put_string(value);
}

void cli_json_count(const char *key, uint64_t value)
{
    put_key(key);
    printf("%llu", (unsigned long long)value);
}

void cli_json_number(const char *key, double value)
{
    if (!isfinite(value)) {
        cli_json_null(key);
        return;
    }
    put_key(key);
    /* The fewest digits that read back as the same number. */
    char text[40];
    for (int digits = 6; digits <= DBL_DECIMAL_DIG; digits++) {
        double back = 0;
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (sscanf(text, "%lf", &back) == 1 && back == value) break;
    }
    fputs(text, stdout);
}

void cli_json_flag(const char *key, int value)
{
    put_key(key);
    fputs(value ? "true" : "false", stdout);
}

void cli_json_null(const char *key)
{
    put_key(key);
    fputs("null", stdout);
}

void cli_json_end(void)
{
    fputs("}\n", stdout);
}

void cli_json_open(const char *key, char bracket)
{
    put_key(key);
    putchar(bracket);
    first = 1;
}

void cli_json_close(char bracket)
{
    putchar(bracket == '[' ? ']' : '}');
    first = 0;
}
