/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints the manual page vyre(1) or the bash completion, made from the rows of options.def. A
 * program of its own, not part of `vyre`: scripts/gen-cli-docs compiles it with table.c and keeps
 * man/vyre.1 and cli/completion/vyre.bash equal to what it prints.
 */
#include <stdio.h>
#include <string.h>

#include "table.h"

/* The manual page.
 * ------------------------------------------------------------------------------------------- */

/* Text for roff, a line for each sentence: backslashes and dashes escaped, what stands between
 * backticks in bold. */
static void roff(const char *text)
{
    int bold = 0;

    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '`') {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fP", stdout);
        } else if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-' || *text == '\'') {
            fputs(*text == '-' ? "\\-" : "\\(aq", stdout);
        } else {
            putchar(*text == ' ' && text[-1] == '.' ? '\n' : *text);
        }
    }
    putchar('\n');
}

static void man_option(const struct cli_option_row *option)
{
    char name[40], limits[CLI_RANGE_ROOM];

    if (option->name[0] == '\0')
        snprintf(name, sizeof name, "-%c", option->letter);
    else if (option->letter != 0)
        snprintf(name, sizeof name, "-%c, --%s", option->letter, option->name);
    else
        snprintf(name, sizeof name, "--%s", option->name);
    puts(".TP");
    fputs(option->argument[0] == '\0' ? ".B " : ".BI ", stdout);
    if (option->letter != 0 && option->argument[0] != '\0') putchar('"'); /* one word of .BI */
    for (const char *c = name; *c != '\0'; c++)
        printf("%s%c", *c == '-' ? "\\" : "", *c);
    if (option->letter != 0 && option->argument[0] != '\0') putchar('"');
    if (option->argument[0] != '\0') printf(" \" %s\"", option->argument);
    putchar('\n');
    roff(option->summary);
    if (*cli_option_limits(option, limits) != '\0') puts(limits + 1);
    if (option->about[0] != '\0') {
        puts(".br");
        roff(option->about);
    }
}

static void man_commands(void)
{
    puts(".SH COMMANDS");
    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        printf(".SS vyre %s\n", cli_commands[i].words);
        roff(cli_commands[i].about);
        for (size_t j = 0; j < cli_option_count; j++) {
            const struct cli_option_row *option = &cli_options[j];
            if (option->commands != CLI_ANYWHERE && cli_option_fits(option, i)) man_option(option);
        }
    }
    puts(".SH OPTIONS");
    puts(
        "These may stand after every command.\n"
        "Of an option that is given twice the last one counts, unless it says that it may be given "
        "several times.");
    for (size_t j = 0; j < cli_option_count; j++)
        if (cli_options[j].commands == CLI_ANYWHERE) man_option(&cli_options[j]);
}

static void man_page(void)
{
    puts(".\\\" SPDX-License-Identifier: MIT OR Apache-2.0");
    puts(".\\\" Made from cli/options.def by scripts/gen-cli-docs.");
    printf(".TH VYRE 1 \"%s\" \"vyre %s\" \"User Commands\"\n", cli_program_date, VYRE_VERSION);
    puts(".SH NAME");
    printf("vyre \\- %s\n", cli_program_summary);
    puts(".SH SYNOPSIS");
    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        const char *operands = cli_commands[i].operands;
        int len = (int)strcspn(operands, ".");
        printf("%s.B vyre %s\n.RI [ OPTION ...]\n", i == 0 ? "" : ".br\n", cli_commands[i].words);
        if (len > 0 && operands[len] != '\0')
            printf(".IR \"%.*s\" %s\n", len, operands, operands + len);
        else if (len > 0)
            printf(".I %s\n", operands);
    }
    puts(".SH DESCRIPTION");
    roff(cli_program_about);
    puts(".PP\nData goes to standard output, complaints and the progress line to standard error.");
    man_commands();
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < cli_environment_count; i++) {
        printf(".TP\n.B %s\n", cli_environment[i].name);
        roff(cli_environment[i].text);
    }
    puts(".SH EXIT STATUS");
    for (size_t i = 0; i < cli_exit_count; i++) {
        printf(".TP\n.B %d\n", cli_exits[i].code);
        roff(cli_exits[i].text);
    }
    puts(".SH EXAMPLES");
    for (size_t i = 0; i < cli_example_count; i++) {
        fputs(".TP\n.B ", stdout);
        roff(cli_examples[i].name);
        roff(cli_examples[i].text);
    }
}

/* The bash completion.
 * ------------------------------------------------------------------------------------------- */

static void option_words(uint32_t command)
{
    const char *blank = "";

    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *option = &cli_options[i];
        if (!cli_option_fits(option, command)) continue;
        if (option->name[0] == '\0')
            printf("%s-%c", blank, option->letter);
        else
            printf("%s--%s", blank, option->name);
        if (option->name[0] != '\0' && option->letter != 0) printf(" -%c", option->letter);
        blank = " ";
    }
}

/* What the option is typed as, for a `case`. */
static void option_pattern(const struct cli_option_row *option)
{
    if (option->letter != 0) printf("-%c | ", option->letter);
    printf("--%s", option->name);
}

/* What may follow the option's name: its words, a file, or something that nobody can guess. */
static void completion_values(void)
{
    char word[32];

    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *option = &cli_options[i];
        if (option->kind == CLI_KIND_FLAG) continue;
        fputs("    ", stdout);
        option_pattern(option);
        puts(")");
        if (option->kind == CLI_KIND_CHOICE) {
            fputs("        mapfile -t COMPREPLY < <(compgen -W \"", stdout);
            for (size_t j = 0; cli_choice_word(option, j, word); j++)
                printf("%s%s", j == 0 ? "" : " ", word);
            puts("\" -- \"$cur\")");
        } else if (strcmp(option->argument, "PATH") == 0 || strcmp(option->argument, "FILE") == 0) {
            puts("        compopt -o filenames 2>/dev/null");
            puts("        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
        }
        puts("        return");
        puts("        ;;");
    }
}

/* Whether an earlier command begins with the same first `len` bytes and a blank. */
static int seen_before(uint32_t command, size_t len)
{
    for (uint32_t i = 0; i < command; i++)
        if (strncmp(cli_commands[i].words, cli_commands[command].words, len) == 0 &&
            cli_commands[i].words[len] == ' ')
            return 1;
    return 0;
}

static void completion_commands(void)
{
    fputs("    '') next=\"", stdout);
    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        size_t len = strcspn(cli_commands[i].words, " ");
        if (!seen_before(i, len))
            printf("%s%.*s", i == 0 ? "" : " ", (int)len, cli_commands[i].words);
    }
    fputs("\" options=\"", stdout);
    option_words(CLI_COMMANDS);
    puts("\" ;;");
    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        const char *words = cli_commands[i].words;
        size_t len = strcspn(words, " ");
        if (words[len] == ' ' && !seen_before(i, len)) {
            printf("    %.*s) next=\"", (int)len, words);
            for (uint32_t j = i; j < CLI_COMMANDS; j++)
                if (strncmp(cli_commands[j].words, words, len + 1) == 0)
                    printf("%s%s", j == i ? "" : " ", cli_commands[j].words + len + 1);
            fputs("\" options=\"", stdout);
            option_words(CLI_COMMANDS);
            puts("\" ;;");
        }
        printf("    '%s') next=\"\" options=\"", words);
        option_words(i);
        fputs("\"", stdout);
        if (cli_commands[i].operands[0] != '\0')
            printf(" paths=-%c", strncmp(cli_commands[i].operands, "DIR", 3) == 0 ? 'd' : 'f');
        puts(" ;;");
    }
}

/* A word after a command that takes operands is one of them, not part of its name. */
static void completion_words(void)
{
    puts("        -*) ;;\n"
         "        *)\n"
         "            case $command in");
    fputs("            ", stdout);
    for (uint32_t i = 0, n = 0; i < CLI_COMMANDS; i++)
        if (cli_commands[i].operands[0] != '\0')
            printf("%s'%s'", n++ == 0 ? "" : " | ", cli_commands[i].words);
    puts(") ;;\n"
         "            *) command+=${command:+ }$word ;;\n"
         "            esac\n"
         "            ;;\n"
         "        esac\n"
         "    done\n");
}

static void completion(void)
{
    puts("# SPDX-License-Identifier: MIT OR Apache-2.0\n"
         "# shellcheck shell=bash\n"
         "#\n"
         "# Completion of `vyre` for bash. Made from cli/options.def by scripts/gen-cli-docs.\n\n"
         "_vyre()\n"
         "{\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local i word command='' next='' options='' paths=''\n\n"
         "    # `--name=value` comes in three pieces.\n"
         "    if [[ $cur == = ]]; then\n"
         "        cur=''\n"
         "    elif [[ $prev == = ]]; then\n"
         "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "    fi\n\n"
         "    case $prev in");
    completion_values();
    puts("    esac\n\n"
         "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "        word=${COMP_WORDS[i]}\n"
         "        case $word in");
    fputs("        ", stdout);
    for (size_t i = 0, n = 0; i < cli_option_count; i++)
        if (cli_options[i].kind != CLI_KIND_FLAG) {
            fputs(n++ == 0 ? "" : " | ", stdout);
            option_pattern(&cli_options[i]);
        }
    puts(")\n"
         "            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
         "            ((i++))\n"
         "            ;;");
    completion_words();
    puts("    case $command in");
    completion_commands();
    puts("    esac\n"
         "    if [[ -n $paths && $cur != -* ]]; then\n"
         "        compopt -o filenames 2>/dev/null\n"
         "        mapfile -t COMPREPLY < <(compgen \"$paths\" -- \"$cur\")\n"
         "        return\n"
         "    fi\n"
         "    [[ $cur == -* || -z $next ]] && next=$options\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$next\" -- \"$cur\")\n"
         "}\n\n"
         "complete -F _vyre vyre");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "man") == 0) {
        man_page();
    } else if (argc == 2 && strcmp(argv[1], "completion") == 0) {
        completion();
    } else {
        fputs("usage: docs man|completion\n", stderr);
        return CLI_EXIT_MISUSE;
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? CLI_EXIT_DONE : CLI_EXIT_IO;
}
