/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Values on the command line of `vyre exec`: the grid, sizes, and scalar parameters by their type.
 * What does not fit the type exactly is refused, never rounded into range.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "parse.h"

#define CANONICAL_NAN 0x7FC00000u

/* Digits only, decimal or after 0x hexadecimal. Returns 0, or -1 if it is no such number or above
 * 2^32 - 1. */
static int whole_number(const char *text, uint64_t *value)
{
    int base = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0 ? 16 : 10;
    const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";

    if (base == 16) text += 2;
    if (*text == '\0' || text[strspn(text, digits)] != '\0') return -1;
    errno = 0;
    unsigned long long number = strtoull(text, NULL, base);
    if (errno != 0 || number > UINT32_MAX) return -1;
    *value = number;
    return 0;
}

int exec_parse_grid(const char *text, uint32_t grid[3])
{
    char axis[32];
    const char *at = text;

    grid[0] = grid[1] = grid[2] = 1;
    for (int i = 0; i < 3; i++) {
        size_t len = strcspn(at, ",");
        uint64_t value = 0;
        snprintf(axis, sizeof axis, "%.*s", (int)(len < 31 ? len : 31), at);
        if (whole_number(axis, &value) != 0 || value == 0) break;
        grid[i] = (uint32_t)value;
        if (at[len] == '\0') return CLI_EXIT_DONE;
        at += len + 1;
    }
    return cli_misuse("--grid takes X, X,Y or X,Y,Z, each from 1 to 4294967295, not `%.100s`",
                      text);
}

int exec_parse_size(const vyre_kernel_buffer_info *buffer, const char *text, uint32_t *elements)
{
    uint64_t value = 0;

    if (whole_number(text, &value) != 0)
        return cli_misuse("--size: `%s` takes a whole number of elements up to 4294967295, not "
                          "`%.100s`",
                          buffer->name, text);
    if (value < buffer->count)
        return cli_misuse("--size: `%s` has at least %u elements, not %llu", buffer->name,
                          (unsigned)buffer->count, (unsigned long long)value);
    *elements = (uint32_t)value;
    return CLI_EXIT_DONE;
}

/* i32: decimal with a sign, or hexadecimal for its bits. */
static int signed_number(const char *text, uint32_t *bits)
{
    int hexadecimal = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;
    int negative = *text == '-';
    uint64_t value = 0;

    if (!hexadecimal && strpbrk(text, "xX") != NULL) return -1; /* no sign before 0x */
    if (whole_number(text + (negative || *text == '+'), &value) != 0) return -1;
    if (!hexadecimal && value > (negative ? 0x80000000u : 0x7FFFFFFFu)) return -1;
    *bits = negative ? (uint32_t)(0u - value) : (uint32_t)value;
    return 0;
}

static int float_number(const char *text, uint32_t *bits)
{
    char *end;

    /* strtof passes over blanks, and takes more forms of NaN than one. */
    if (*text == '\0' || strchr(" \t\n\v\f\r", *text) != NULL || strchr(text, '(') != NULL)
        return -1;
    float number = strtof(text, &end);
    if (*end != '\0' || end == text) return -1;
    if (isinf(number) && strpbrk(text, "iI") == NULL) return -1; /* 1e39 is no infinity */
    memcpy(bits, &number, sizeof *bits);
    if (isnan(number)) *bits = CANONICAL_NAN;
    return 0;
}

static int truth(const char *text, uint32_t *bits)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
        *bits = 1;
    else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
        *bits = 0;
    else
        return -1;
    return 0;
}

int exec_parse_value(const vyre_kernel_buffer_info *parameter, const char *text, uint32_t *bits)
{
    const char *takes;
    uint64_t value = 0;
    int bad;

    if (strcmp(parameter->type, "u32") == 0) {
        takes = "a whole number from 0 to 4294967295";
        bad = whole_number(text, &value);
        *bits = (uint32_t)value;
    } else if (strcmp(parameter->type, "i32") == 0) {
        takes = "a whole number from -2147483648 to 2147483647, or its bits after 0x";
        bad = signed_number(text, bits);
    } else if (strcmp(parameter->type, "f32") == 0) {
        takes = "a number up to 3.4e38, inf, -inf or nan";
        bad = float_number(text, bits);
    } else if (strcmp(parameter->type, "bool") == 0) {
        takes = "true or 1, false or 0";
        bad = truth(text, bits);
    } else {
        return cli_misuse("--set gives u32, i32, f32 or bool, and `%s` is %s; use --in %s=FILE",
                          parameter->name, parameter->type, parameter->name);
    }
    if (bad == 0) return CLI_EXIT_DONE;
    return cli_misuse("--set: `%s` is %s and takes %s, not `%s`", parameter->name, parameter->type,
                      takes, text);
}
