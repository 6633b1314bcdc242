/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The texts of -h and --help, made from the rows of options.def, 80 columns wide. The short one
 * lists; the long one adds the paragraphs, the environment, the exit codes and the examples.
 * Called by main.c.
 */
#include "help.h"

#include <string.h>

#include "table.h"

enum { WIDTH = 80, INDENT = 4 };

static void title(FILE *stream, const char *text)
{
    fprintf(stream, "\n%s%s%s\n", cli_tone(stream, CLI_TONE_TITLE), text,
            cli_tone(stream, CLI_TONE_OFF));
}

/* A paragraph with every line indented, broken between words. */
static void paragraph(FILE *stream, int indent, const char *text)
{
    int column = 0;

    while (*text != '\0') {
        int len = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + len > WIDTH) {
            fputc('\n', stream);
            column = 0;
        }
        fprintf(stream, "%*s%.*s", column == 0 ? indent : 1, "", len, text);
        column += (column == 0 ? indent : 1) + len;
        text += len + (text[len] == ' ');
    }
    fputc('\n', stream);
}

/* "--backend auto|cpu|cuda", "-o, --output PATH" */
static int option_head(const struct cli_option_row *option, char head[64])
{
    char letter[8] = "";

    if (option->name[0] == '\0') return snprintf(head, 64, "-%c", option->letter);
    if (option->letter != 0) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    return snprintf(head, 64, "%s--%s%s%s", letter, option->name,
                    option->argument[0] != '\0' ? " " : "", option->argument);
}

static void options(FILE *stream, uint32_t command, int whole)
{
    char head[64], limits[CLI_RANGE_ROOM];
    int width = 0;

    for (size_t i = 0; i < cli_option_count; i++) {
        int len =
            cli_option_fits(&cli_options[i], command) ? option_head(&cli_options[i], head) : 0;
        width = len > width ? len : width;
    }
    title(stream, "options");
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *option = &cli_options[i];
        if (!cli_option_fits(option, command)) continue;
        option_head(option, head);
        fprintf(stream, "  %-*s  %s%s\n", width, head, option->summary,
                cli_option_limits(option, limits));
        if (whole && option->about[0] != '\0') paragraph(stream, 2 + INDENT, option->about);
    }
}

/* The commands that begin with the group's words; all of them for "". */
static void commands(FILE *stream, const char *group, int whole)
{
    size_t len = strlen(group);
    int width = 0;

    title(stream, "commands");
    for (uint32_t i = 0; i < CLI_COMMANDS; i++)
        if ((int)strlen(cli_commands[i].words) > width) width = (int)strlen(cli_commands[i].words);
    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        if (strncmp(cli_commands[i].words, group, len) != 0) continue;
        fprintf(stream, "  %-*s  %s\n", width, cli_commands[i].words, cli_commands[i].summary);
        if (whole) paragraph(stream, 2 + INDENT, cli_commands[i].about);
    }
}

/* The examples of one command, or of all that begin with these words. */
static void examples(FILE *stream, const char *words)
{
    title(stream, "examples");
    for (size_t i = 0; i < cli_example_count; i++) {
        const char *of = cli_commands[cli_examples[i].command].words;
        if (strncmp(of, words, strlen(words)) != 0) continue;
        fprintf(stream, "  %s\n", cli_examples[i].name);
        paragraph(stream, 2 + INDENT, cli_examples[i].text);
    }
}

static void environment_and_exits(FILE *stream)
{
    title(stream, "environment");
    for (size_t i = 0; i < cli_environment_count; i++) {
        fprintf(stream, "  %s\n", cli_environment[i].name);
        paragraph(stream, 2 + INDENT, cli_environment[i].text);
    }
    title(stream, "exit codes");
    for (size_t i = 0; i < cli_exit_count; i++)
        fprintf(stream, "  %2d  %s\n", cli_exits[i].code, cli_exits[i].text);
}

void cli_help(FILE *stream, const struct cli_args *args)
{
    int whole = args->long_help;
    int one = args->command < CLI_COMMANDS;
    const char *words = one ? cli_commands[args->command].words : args->group;

    const char *operands = one ? cli_commands[args->command].operands : "";
    fprintf(stream, "usage: vyre%s%s%s [OPTION...]%s%s\n", words[0] != '\0' ? " " : "", words,
            one ? "" : " COMMAND", operands[0] != '\0' ? " " : "", operands);
    if (one || args->group[0] == '\0') {
        const char *about = one ? cli_commands[args->command].about : cli_program_about;
        const char *summary = one ? cli_commands[args->command].summary : cli_program_summary;
        fputc('\n', stream);
        paragraph(stream, 0, whole ? about : summary);
    }
    if (!one) commands(stream, args->group, whole);
    options(stream, args->command, whole);
    if (whole) {
        examples(stream, words);
        environment_and_exits(stream);
    }
    if (!one) fputs("\nSee `vyre COMMAND -h` for the options of a command.\n", stream);
}
