/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The values of options: how each kind is read, checked and stored in struct cli_args, and what is
 * said about one that does not fit. Called by the parser.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

int cli_misuse(const char *format, ...)
{
    char line[400];
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    cli_complain(line, NULL, NULL);
    return CLI_EXIT_MISUSE;
}

const char *cli_option_name(const struct cli_option_row *option, char name[32])
{
    if (option->name[0] == '\0')
        snprintf(name, 32, "-%c", option->letter);
    else
        snprintf(name, 32, "--%s", option->name);
    return name;
}

static void *field(const struct cli_option_row *option, struct cli_args *args)
{
    return (char *)args + option->offset;
}

int cli_list_add(struct cli_list *list, const char *word)
{
    /* Doubled whenever the count reaches a power of two. */
    if ((list->count & (list->count - 1)) == 0) {
        size_t room = list->count == 0 ? 1 : 2 * list->count;
        const char **item = realloc(list->item, room * sizeof *item);
        if (item == NULL) return -1;
        list->item = item;
    }
    list->item[list->count++] = word;
    return 0;
}

/* Digits, and K, M or G for powers of 1024, as in 64K or 64KiB. Returns 0, or -1 if it is no size.
 */
static int parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    unsigned shift = 0;

    if (digits == 0 || digits > 15) return -1;
    if (text[digits] != '\0') {
        if (unit == NULL) return -1;
        if (text[digits + 1] != '\0' && strcmp(text + digits + 1, "iB") != 0) return -1;
        shift = 10 * (unsigned)(unit - units + 1);
    }
    uint64_t number = strtoull(text, NULL, 10);
    if (number > UINT64_MAX >> shift) return -1;
    *bytes = number << shift;
    return 0;
}

int cli_value_store(const struct cli_option_row *option, const char *value, struct cli_args *args)
{
    char word[32], *end;

    switch (option->kind) {
    case CLI_KIND_FLAG:
        *(int *)field(option, args) = 1;
        return 0;
    case CLI_KIND_TEXT:
        *(const char **)field(option, args) = value;
        return 0;
    case CLI_KIND_LIST:
        return cli_list_add(field(option, args), value);
    case CLI_KIND_CHOICE:
        for (uint32_t i = 0; cli_choice_word(option, i, word); i++) {
            if (strcmp(word, value) != 0) continue;
            *(uint32_t *)field(option, args) = i;
            return 0;
        }
        return -1;
    case CLI_KIND_COUNT: {
        if (strspn(value, "0123456789") != strlen(value) || *value == '\0') return -1;
        errno = 0;
        unsigned long long count = strtoull(value, &end, 10);
        if (errno != 0 || (double)count < option->least || (double)count > option->most) return -1;
        *(uint32_t *)field(option, args) = (uint32_t)count;
        return 0;
    }
    case CLI_KIND_SIZE: {
        uint64_t bytes = 0;
        if (parse_size(value, &bytes) != 0) return -1;
        if ((double)bytes < option->least || (double)bytes > option->most) return -1;
        *(uint64_t *)field(option, args) = bytes;
        return 0;
    }
    case CLI_KIND_DECIMAL: {
        if (strspn(value, "0123456789.eE+-") != strlen(value)) return -1;
        if (strspn(value, "0123456789.") == 0) return -1;
        double number = strtod(value, &end);
        if (*end != '\0' || !(number >= option->least && number <= option->most)) return -1;
        *(double *)field(option, args) = number;
        return 0;
    }
    }
    return -1;
}

void cli_value_clear(const struct cli_option_row *option, struct cli_args *args)
{
    switch (option->kind) {
    case CLI_KIND_FLAG:
        *(int *)field(option, args) = 0;
        break;
    case CLI_KIND_TEXT:
        *(const char **)field(option, args) = NULL;
        break;
    case CLI_KIND_DECIMAL:
        *(double *)field(option, args) = 0;
        break;
    case CLI_KIND_SIZE:
        *(uint64_t *)field(option, args) = 0;
        break;
    case CLI_KIND_LIST:
        memset(field(option, args), 0, sizeof(struct cli_list));
        break;
    case CLI_KIND_CHOICE:
    case CLI_KIND_COUNT:
        *(uint32_t *)field(option, args) = VYRE_DEFAULT;
        break;
    }
}

int cli_value_refuse(const struct cli_option_row *option, const char *value)
{
    char name[32], words[8][32], range[CLI_RANGE_ROOM];
    struct cli_guess guess = {NULL, 0};

    cli_option_name(option, name);
    switch (option->kind) {
    case CLI_KIND_CHOICE:
        for (size_t i = 0; i < 8 && cli_choice_word(option, i, words[i]); i++)
            cli_guess_offer(&guess, value, words[i]);
        if (guess.name != NULL)
            return cli_misuse("%s takes %s, not `%s`; did you mean `%s`?", name, option->argument,
                              value, guess.name);
        return cli_misuse("%s takes %s, not `%s`", name, option->argument, value);
    case CLI_KIND_COUNT:
        return cli_misuse("%s takes a whole number from %s, not `%s`", name,
                          cli_option_range(option, range), value);
    case CLI_KIND_SIZE:
        return cli_misuse(
            "%s takes a size from %s, as a number of bytes or with K, M or G, not `%s`", name,
            cli_option_range(option, range), value);
    case CLI_KIND_LIST:
        return cli_misuse("there is no memory for the command line");
    default:
        return cli_misuse("%s takes a number from %s, not `%s`", name,
                          cli_option_range(option, range), value);
    }
}
