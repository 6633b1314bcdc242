/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints the parts of docs/builtins.md that come from tables: `overview` and `operations` from
 * builtins.def, `faults` from fault.def. Called by scripts/gen-builtins-doc only.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "vyre/wire.h"

#define WIDTH               100
#define COUNT(table)        (sizeof(table) / sizeof(table)[0])
#define DEV_FAULT_BIT(name) (1u << VYRE_FAULT_##name)

struct operation {
    const char *name;
    uint32_t opcode, args, reads, writes, small;
    const char *operands, *effect, *results;
    uint32_t faults;
    const char *steps;
};

static const struct operation operations[] = {
#define VYRE_BUILTIN(name, opcode, args, reads, writes, small, operands, effect, results, faults,  \
                     steps)                                                                        \
    {#name, opcode, args, reads, writes, small, operands, effect, results, faults, steps},
#include "device/builtins.def"
#undef VYRE_BUILTIN
};

struct fault {
    const char *name, *text;
    uint32_t value;
};

static const struct fault faults[] = {
#define VYRE_FAULT(name, value, text) {#name, text, value},
#include "vyre/fault.def"
#undef VYRE_FAULT
};

/* Prints text[0..length) behind a lead, broken at spaces, further lines indented. */
static void wrapped(const char *lead, const char *indent, const char *text, size_t length)
{
    size_t column = strlen(lead), word;
    fputs(lead, stdout);
    for (size_t i = 0; i < length; i += word + 1) {
        const char *space = memchr(text + i, ' ', length - i);
        word = space ? (size_t)(space - text) - i : length - i;
        if (i > 0 && column + 1 + word > WIDTH) {
            printf("\n%s", indent);
            column = strlen(indent);
        } else if (i > 0) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)word, text + i);
        column += word;
    }
    putchar('\n');
}

/* "none" as one line, "a; b" as a list. */
static void listed(const char *title, const char *text)
{
    if (strcmp(text, "none") == 0) {
        printf("- %s: none\n", title);
        return;
    }
    printf("- %s:\n", title);
    while (*text) {
        const char *end = strstr(text, "; ");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        wrapped("  - ", "    ", text, length);
        text += end ? length + 2 : length;
    }
}

static void print_handles_of(const struct operation *operation)
{
    uint32_t mask = operation->reads | operation->writes;
    const char *comma = "";
    for (uint32_t i = 0; i < operation->args; i++) {
        if ((mask >> i & 1) == 0) continue;
        printf("%sarg%u (%s%s)", comma, (unsigned)i, operation->reads >> i & 1 ? "R" : "",
               operation->writes >> i & 1 ? "W" : "");
        comma = ", ";
    }
    if (mask == 0) printf("none");
}

static void print_overview(void)
{
    static const char *const in_place[] = {"no", "yes", "depends"};
    printf("| operation | opcode | argument words | buffer handles | packable | run in place |\n");
    printf("|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT(operations); i++) {
        const struct operation *operation = &operations[i];
        printf("| [%s](#", operation->name);
        for (const char *letter = operation->name; *letter; letter++)
            putchar(tolower((unsigned char)*letter));
        printf(operation->opcode < 10 ? ") | %u" : ") | 0x%08X", (unsigned)operation->opcode);
        printf(" | %u | ", (unsigned)operation->args);
        print_handles_of(operation);
        printf(" | %s | %s |\n", operation->opcode < 256 ? "yes" : "no",
               in_place[operation->small]);
    }
}

static void print_faults_of(const struct operation *operation)
{
    const char *comma = "";
    printf("- Faults: ");
    for (size_t i = 0; i < COUNT(faults); i++) {
        if ((operation->faults >> faults[i].value & 1) == 0) continue;
        printf("%s%s", comma, faults[i].name);
        comma = ", ";
    }
    printf("%s\n", operation->faults == 0 ? "none of its own" : "");
}

static void print_operations(void)
{
    for (size_t i = 0; i < COUNT(operations); i++) {
        const struct operation *operation = &operations[i];
        printf("%s### %s\n\n", i == 0 ? "" : "\n", operation->name);
        wrapped("", "", operation->effect, strlen(operation->effect));
        printf("\n");
        listed("Operands", operation->operands);
        listed("Result words", operation->results);
        print_faults_of(operation);
        printf("- Steps: %s\n", operation->steps);
    }
}

static void print_faults(void)
{
    printf("| value | fault | what happened |\n|---|---|---|\n");
    for (size_t i = 0; i < COUNT(faults); i++)
        printf("| %u | %s | %s |\n", (unsigned)faults[i].value, faults[i].name, faults[i].text);
}

int main(int argc, char **argv)
{
    const char *part = argc == 2 ? argv[1] : "";
    if (strcmp(part, "overview") == 0)
        print_overview();
    else if (strcmp(part, "operations") == 0)
        print_operations();
    else if (strcmp(part, "faults") == 0)
        print_faults();
    else
        return 2;
    return ferror(stdout) || fflush(stdout) != 0;
}
