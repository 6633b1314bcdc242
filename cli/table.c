/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Makes the rows of options.def into arrays. Whoever wants to know something about a command or an
 * option asks these arrays; no other file has a list of its own.
 */
#include "table.h"

#include <stdio.h>
#include <string.h>

#define CLI_PROGRAM(date, summary, about) const char cli_program_date[] = date;
#include "options.def"
#define CLI_PROGRAM(date, summary, about) const char cli_program_summary[] = summary;
#include "options.def"
#define CLI_PROGRAM(date, summary, about) const char cli_program_about[] = about;
#include "options.def"

const struct cli_command_row cli_commands[] = {
#define CLI_COMMAND(name, words, handler, operands, summary, about)                                \
    {words, operands, summary, about},
#include "options.def"
};

const struct cli_option_row cli_options[] = {
#define CLI_OPTION(field, name, letter, kind, argument, value, least, most, commands, summary,     \
                   about)                                                                          \
    {name,     letter,   CLI_KIND_##kind,                                                          \
     argument, value,    least,                                                                    \
     most,     commands, offsetof(struct cli_args, field),                                         \
     summary,  about},
#include "options.def"
};
const size_t cli_option_count = sizeof cli_options / sizeof cli_options[0];

const struct cli_text_row cli_environment[] = {
#define CLI_ENVIRONMENT(name, text) {name, text, CLI_COMMANDS},
#include "options.def"
};
const size_t cli_environment_count = sizeof cli_environment / sizeof cli_environment[0];

const struct cli_exit_row cli_exits[] = {
#define CLI_EXIT(name, code, text) {code, text},
#include "options.def"
};
const size_t cli_exit_count = sizeof cli_exits / sizeof cli_exits[0];

const struct cli_text_row cli_examples[] = {
#define CLI_EXAMPLE(command, line, text) {line, text, CLI_COMMAND_##command},
#include "options.def"
};
const size_t cli_example_count = sizeof cli_examples / sizeof cli_examples[0];

/* A CHOICE is stored as the place of its word, so the words stand in the order of these enums. */
_Static_assert(VYRE_BACKEND_AUTO == 0 && VYRE_BACKEND_CPU == 1 && VYRE_BACKEND_CUDA == 2,
               "the words of --backend");
_Static_assert(VYRE_PLACE_AUTO == 0 && VYRE_PLACE_PROCESS == 1 && VYRE_PLACE_HOST == 2,
               "the words of --place");
_Static_assert(VYRE_STREAM_IO_AUTO == 0 && VYRE_STREAM_IO_URING == 1 && VYRE_STREAM_IO_PREAD == 2,
               "the words of --io");
_Static_assert(CLI_COLOR_AUTO == 0 && CLI_COLOR_ALWAYS == 1 && CLI_COLOR_NEVER == 2,
               "the words of --color");

int cli_choice_word(const struct cli_option_row *option, size_t idx, char word[32])
{
    const char *at = option->argument;

    for (; idx > 0; idx--) {
        at = strchr(at, '|');
        if (at == NULL) return 0;
        at++;
    }
    size_t len = strcspn(at, "|");
    if (len >= 32) return 0;
    memcpy(word, at, len);
    word[len] = '\0';
    return 1;
}

/* As it would be typed: 4096 bytes are 4K. */
static const char *size_text(double bytes, char text[32])
{
    static const char units[] = "KMG";
    uint64_t number = (uint64_t)bytes;
    size_t unit = 0;

    while (number != 0 && number % 1024 == 0 && units[unit] != '\0') {
        number /= 1024;
        unit++;
    }
    snprintf(text, 32, "%llu%.*s", (unsigned long long)number, unit > 0, units + unit - (unit > 0));
    return text;
}

const char *cli_option_range(const struct cli_option_row *option, char text[CLI_RANGE_ROOM])
{
    char least[32], most[32];

    switch (option->kind) {
    case CLI_KIND_COUNT:
        snprintf(text, CLI_RANGE_ROOM, "%.0f to %.0f", option->least, option->most);
        break;
    case CLI_KIND_DECIMAL:
        snprintf(text, CLI_RANGE_ROOM, "%g to %g", option->least, option->most);
        break;
    case CLI_KIND_SIZE:
        snprintf(text, CLI_RANGE_ROOM, "%s to %s", size_text(option->least, least),
                 size_text(option->most, most));
        break;
    default:
        text[0] = '\0';
    }
    return text;
}

const char *cli_option_limits(const struct cli_option_row *option, char text[CLI_RANGE_ROOM])
{
    char range[CLI_RANGE_ROOM];
    int has_range = *cli_option_range(option, range) != '\0';
    int has_default = option->value[0] != '\0';

    text[0] = '\0';
    if (has_range || has_default)
        snprintf(text, CLI_RANGE_ROOM, " (%.60s%s%s%.20s)", range,
                 has_range && has_default ? ", " : "", has_default ? "default " : "",
                 option->value);
    return text;
}

int cli_operand_word(uint32_t command, size_t idx, char word[32])
{
    const char *at = cli_commands[command].operands;

    for (; idx > 0; idx--) {
        at = strchr(at, ' ');
        if (at == NULL) return 0;
        at++;
    }
    size_t len = strcspn(at, " .");
    if (len == 0 || len >= 32) return 0;
    memcpy(word, at, len);
    word[len] = '\0';
    return 1;
}

int cli_takes_many(uint32_t command)
{
    return strstr(cli_commands[command].operands, "...") != NULL;
}

int cli_option_fits(const struct cli_option_row *option, uint32_t command)
{
    if (command >= CLI_COMMANDS) return option->commands == CLI_ANYWHERE;
    return (option->commands >> command & 1u) != 0;
}
