/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints the part of docs/verify.md that comes from src/ir/rules.def: `rules`. Called by
 * scripts/gen-verify-doc only.
 */
#include <stdio.h>
#include <string.h>

#define WIDTH 100

static const struct rule {
    unsigned number;
    const char *name, *text, *fix;
} rules[] = {
#define IR_RULE(number, name, text, fix) {number, #name, text, fix},
#include "ir/rules.def"
};

/* Prints a lead and a text that begins with a large letter and ends with a full stop, broken at
 * spaces, further lines indented. */
static void wrapped(const char *lead, const char *indent, const char *text)
{
    size_t column = strlen(lead), length = strlen(text), word;
    fputs(lead, stdout);
    for (size_t i = 0; i < length; i += word + 1) {
        const char *space = memchr(text + i, ' ', length - i);
        word = space ? (size_t)(space - text) - i : length - i;
        if (i > 0 && column + 1 + word + 1 > WIDTH) {
            printf("\n%s", indent);
            column = strlen(indent);
        } else if (i > 0) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)word, text + i);
        column += word;
    }
    printf(".\n");
}

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "rules") != 0) return 2;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        char lead[64];
        snprintf(lead, sizeof lead, "- **V%03u** ", rules[i].number);
        wrapped(lead, "  ", rules[i].text);
        wrapped("  - fix: ", "    ", rules[i].fix);
    }
    return ferror(stdout) || fflush(stdout) != 0;
}
