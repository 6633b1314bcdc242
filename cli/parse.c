/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parser of the command line. It knows nothing but the rows of options.def: words name a
 * command, further ones are its operands, `--name value` and `--name=value` set a field of struct
 * cli_args. Options may stand before or after the command, and whether they fit it, and a device
 * fits the rest, is decided at the end. Misuse is one line on stderr. Called by main.c.
 */
#include "parse.h"

#include <stdlib.h>
#include <string.h>

#include "files.h"

struct parser {
    int argc;
    char **argv;
    int next;       /* index of the next element of argv */
    int words_only; /* after `--` */
    char words[64]; /* the command's words so far, parted by blanks */
    uint64_t given; /* bit i: option i was given */
    struct cli_args *args;
};

static const char *help_of(const struct parser *parser, char text[80])
{
    snprintf(text, 80, "vyre%s%s -h", parser->words[0] != '\0' ? " " : "", parser->words);
    return text;
}

static int unknown_option(const struct parser *parser, const char *typed)
{
    struct cli_guess guess = {NULL, 0};
    char names[64][32], help[80], bare[64];

    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(typed, "="), typed);
    for (size_t i = 0; i < cli_option_count && i < 64; i++) {
        cli_option_name(&cli_options[i], names[i]);
        if (parser->args->command < CLI_COMMANDS &&
            !cli_option_fits(&cli_options[i], parser->args->command))
            continue;
        cli_guess_offer(&guess, bare, names[i]);
    }
    for (size_t i = 0; i < CLI_COMMANDS && parser->words[0] == '\0'; i++)
        cli_guess_offer(&guess, bare, cli_commands[i].words);
    if (guess.name != NULL)
        return cli_misuse("unknown option `%s`; did you mean `%s%s`?", bare,
                          guess.name[0] == '-' ? "" : "vyre ", guess.name);
    return cli_misuse("unknown option `%s`; see `%s`", bare, help_of(parser, help));
}

static const struct cli_option_row *find_option(const char *typed, size_t len)
{
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *option = &cli_options[i];
        if (len == 2 && option->letter != 0 && typed[1] == option->letter) return option;
        if (len > 2 && typed[1] == '-' && strlen(option->name) == len - 2 &&
            memcmp(option->name, typed + 2, len - 2) == 0)
            return option;
    }
    return NULL;
}

static int take_option(struct parser *parser, const char *typed)
{
    size_t len = strcspn(typed, "=");
    const char *value = typed[len] == '=' ? typed + len + 1 : NULL;
    const struct cli_option_row *option = find_option(typed, len);
    char name[32];

    if (option == NULL) return unknown_option(parser, typed);
    if (option->kind == CLI_KIND_FLAG && value != NULL)
        return cli_misuse("%s takes no value", cli_option_name(option, name));
    if (option->kind != CLI_KIND_FLAG && value == NULL) {
        if (parser->next == parser->argc)
            return cli_misuse("%s needs a value: %s %s", cli_option_name(option, name),
                              cli_option_name(option, name), option->argument);
        value = parser->argv[parser->next++];
    }
    if (cli_value_store(option, value, parser->args) != 0) return cli_value_refuse(option, value);
    parser->given |= 1ull << (option - cli_options);
    return CLI_EXIT_DONE;
}

/* The command with exactly these words, else CLI_COMMANDS; *begins tells whether longer ones begin
 * with them. */
static uint32_t find_command(const char *words, int *begins)
{
    size_t len = strlen(words);

    *begins = 0;
    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        if (strcmp(cli_commands[i].words, words) == 0) return i;
        if (strncmp(cli_commands[i].words, words, len) == 0 && cli_commands[i].words[len] == ' ')
            *begins = 1;
    }
    return CLI_COMMANDS;
}

static int unknown_command(const struct parser *parser, const char *typed)
{
    struct cli_guess guess = {NULL, 0};
    char starts[CLI_COMMANDS][64], options[64][32], help[80];
    size_t skip = parser->words[0] == '\0' ? 0 : strlen(parser->words) + 1;

    for (size_t i = 0; i < CLI_COMMANDS; i++) {
        const char *words = cli_commands[i].words;
        if (skip > 0 && (strncmp(words, parser->words, skip - 1) != 0 || words[skip - 1] != ' '))
            continue;
        snprintf(starts[i], sizeof starts[i], "%.*s", (int)strcspn(words + skip, " "),
                 words + skip);
        cli_guess_offer(&guess, typed, starts[i]);
    }
    for (size_t i = 0; i < cli_option_count && i < 64 && skip == 0; i++)
        cli_guess_offer(&guess, typed, cli_option_name(&cli_options[i], options[i]));
    if (guess.name != NULL)
        return cli_misuse("unknown command `%s%s%s`; did you mean `vyre %s%s%s`?", parser->words,
                          skip > 0 ? " " : "", typed, parser->words, skip > 0 ? " " : "",
                          guess.name);
    return cli_misuse("unknown command `%s%s%s`; see `%s`", parser->words, skip > 0 ? " " : "",
                      typed, help_of(parser, help));
}

static int take_operand(struct parser *parser, const char *typed)
{
    struct cli_list *operands = &parser->args->operands;
    uint32_t command = parser->args->command;
    char help[80], word[32];

    if (!cli_operand_word(command, 0, word))
        return cli_misuse("`%s` takes no argument `%s`; see `%s`", parser->words, typed,
                          help_of(parser, help));
    if (operands->count > 0 && !cli_takes_many(command))
        return cli_misuse("`%s` takes one %s, not `%s` as well; see `%s`", parser->words, word,
                          typed, help_of(parser, help));
    if (cli_list_add(operands, typed) != 0)
        return cli_misuse("there is no memory for the command line");
    return CLI_EXIT_DONE;
}

static int take_word(struct parser *parser, const char *typed)
{
    char words[sizeof parser->words];
    int begins;

    if (parser->args->command < CLI_COMMANDS) return take_operand(parser, typed);
    int len = snprintf(words, sizeof words, "%s%s%s", parser->words,
                       parser->words[0] == '\0' ? "" : " ", typed);
    if (*typed == '\0' || len < 0 || (size_t)len >= sizeof words)
        return unknown_command(parser, typed);
    uint32_t command = find_command(words, &begins);
    if (command == CLI_COMMANDS && !begins) return unknown_command(parser, typed);
    memcpy(parser->words, words, sizeof words);
    parser->args->command = command;
    return CLI_EXIT_DONE;
}

/* After -h, --help or --version only the command's words matter: the rest is passed over. */
static int asks_for_text(const struct cli_args *args)
{
    return args->help || args->long_help || args->version;
}

static void skip_option(struct parser *parser, const char *typed)
{
    size_t len = strcspn(typed, "=");
    const struct cli_option_row *option = find_option(typed, len);

    if (option == NULL || option->kind == CLI_KIND_FLAG || typed[len] == '=') return;
    if (parser->next < parser->argc) parser->next++;
}

static int foreign_option(const struct cli_option_row *option, const char *words)
{
    char name[32], owners[160] = "";

    for (uint32_t i = 0; i < CLI_COMMANDS; i++) {
        if (!cli_option_fits(option, i)) continue;
        size_t len = strlen(owners);
        snprintf(owners + len, sizeof owners - len, "%s`%s`", len > 0 ? ", " : "",
                 cli_commands[i].words);
    }
    return cli_misuse("`%s` has no option %s; it belongs to %s", words,
                      cli_option_name(option, name), owners);
}

/* A device or a host that could have no effect. Where `auto` decides, opening the runtime says. */
static int check_device(const struct cli_args *args)
{
    int here = args->place == VYRE_PLACE_PROCESS;
    int cpu = args->backend == VYRE_BACKEND_CPU;

    if (here && args->backend == VYRE_BACKEND_CUDA)
        return cli_misuse("--backend cuda needs a device host, and --place is process; leave "
                          "--place out");
    if (args->device != NULL && (here || cpu))
        return cli_misuse("--device names a GPU, and %s is for the CPU; leave one of them out",
                          cpu ? "--backend cpu" : "--place process");
    if (args->host != NULL && here)
        return cli_misuse("--host names a device host, and --place is process; leave one of them "
                          "out");
    if (args->host != NULL && cpu && args->place == VYRE_PLACE_AUTO)
        return cli_misuse("--host names a device host, and --backend cpu has one only with --place "
                          "host; add that, or leave --host out");
    return CLI_EXIT_DONE;
}

/* What can be judged only when the whole line is known. */
static int finish(const struct parser *parser)
{
    struct cli_args *args = parser->args;
    char help[80], word[32];

    snprintf(args->group, sizeof args->group, "%s",
             args->command == CLI_COMMANDS ? parser->words : "");
    if (asks_for_text(args)) return CLI_EXIT_DONE;
    if (args->command == CLI_COMMANDS && (parser->words[0] != '\0' || parser->given != 0))
        return cli_misuse("a command is missing; see `%s`", help_of(parser, help));
    for (size_t i = 0; i < cli_option_count; i++)
        if ((parser->given >> i & 1) != 0 && !cli_option_fits(&cli_options[i], args->command))
            return foreign_option(&cli_options[i], parser->words);
    if (args->command < CLI_COMMANDS && cli_operand_word(args->command, args->operands.count, word))
        return cli_misuse("`%s` needs a %s; see `%s`", parser->words, word, help_of(parser, help));
    /* Under whatever name: what went to it twice would be lost in part. */
    if (args->output != NULL && cli_file_is_stdout(args->output)) args->output = "-";
    return check_device(args);
}

static void set_defaults(struct cli_args *args)
{
    memset(args, 0, sizeof *args);
    args->command = CLI_COMMANDS;
    for (size_t i = 0; i < cli_option_count; i++) {
        const struct cli_option_row *option = &cli_options[i];
        if (option->value[0] != '\0')
            cli_value_store(option, option->value, args);
        else
            cli_value_clear(option, args);
    }
}

int cli_parse(int argc, char **argv, struct cli_args *args)
{
    struct parser parser = {.argc = argc, .argv = argv, .next = 1, .args = args};

    set_defaults(args);
    while (parser.next < argc) {
        const char *typed = argv[parser.next++];
        int is_option = !parser.words_only && typed[0] == '-' && typed[1] != '\0';
        int code = CLI_EXIT_DONE;

        if (is_option && strcmp(typed, "--") == 0)
            parser.words_only = 1;
        else if (asks_for_text(args) && is_option)
            skip_option(&parser, typed);
        else if (is_option)
            code = take_option(&parser, typed);
        else if (!asks_for_text(args) || args->command == CLI_COMMANDS)
            code = take_word(&parser, typed);
        if (code != CLI_EXIT_DONE) return code;
    }
    return finish(&parser);
}

void cli_args_free(struct cli_args *args)
{
    free(args->operands.item);
    for (size_t i = 0; i < cli_option_count; i++) {
        if (cli_options[i].kind != CLI_KIND_LIST) continue;
        free(((struct cli_list *)((char *)args + cli_options[i].offset))->item);
    }
}
