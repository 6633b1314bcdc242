/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rows of options.def as data. Read by the parser, the help texts and the generator of the
 * manual page and the completion; it needs nothing of libvyre but its headers.
 */
#ifndef VYRE_CLI_TABLE_H
#define VYRE_CLI_TABLE_H

#include "cli.h"

/** Bit of a command in cli_option_row.commands. */
#define CLI_ON(name)      (1u << CLI_COMMAND_##name)
#define CLI_EVERY_COMMAND ((1u << CLI_COMMANDS) - 1u)
/** Every command, and the bare program too. */
#define CLI_ANYWHERE      0xFFFFFFFFu

enum { CLI_RANGE_ROOM = 96 };

enum cli_option_kind {
    CLI_KIND_FLAG,
    CLI_KIND_CHOICE,
    CLI_KIND_COUNT,
    CLI_KIND_DECIMAL,
    CLI_KIND_SIZE,
    CLI_KIND_TEXT,
    CLI_KIND_LIST
};

struct cli_command_row {
    const char *words;    /**< "bench dispatch" */
    const char *operands; /**< what follows it: "FILE", "FILE..." for several, "PROGRAM FILE..." for
                             one and several; "" for nothing */
    const char *summary;
    const char *about;
};

struct cli_option_row {
    const char *name; /**< without dashes; "" where there is only the letter */
    char letter;      /**< 0: none */
    enum cli_option_kind kind;
    const char *argument; /**< how the help calls it; for CHOICE the words, parted by | */
    const char *value;    /**< default; "" where there is none */
    double least, most;
    uint32_t commands; /**< CLI_ON bits */
    size_t offset;     /**< of the field in struct cli_args */
    const char *summary;
    const char *about; /**< "" where the summary says it all */
};

/** A name and its text: an environment variable, or an example's command line. */
struct cli_text_row {
    const char *name;
    const char *text;
    uint32_t command; /**< of an example */
};

struct cli_exit_row {
    int code;
    const char *text;
};

extern const char cli_program_date[];
extern const char cli_program_summary[];
extern const char cli_program_about[];
extern const struct cli_command_row cli_commands[];
extern const struct cli_option_row cli_options[];
extern const struct cli_text_row cli_environment[];
extern const struct cli_exit_row cli_exits[];
extern const struct cli_text_row cli_examples[];
extern const size_t cli_option_count, cli_environment_count, cli_exit_count, cli_example_count;

/** The words of a CHOICE one by one: copies word number `idx` to `word` and returns 1, or returns 0
 * if there is none. */
int cli_choice_word(const struct cli_option_row *option, size_t idx, char word[32]);

/** The values that a COUNT, a DECIMAL or a SIZE may have, "1 to 4096" or "4K to 1G"; "" for other
 * kinds. Returns `text`. */
const char *cli_option_range(const struct cli_option_row *option, char text[CLI_RANGE_ROOM]);

/** What help says behind an option's summary: " (4K to 1G, default 1M)", or "". Returns `text`. */
const char *cli_option_limits(const struct cli_option_row *option, char text[CLI_RANGE_ROOM]);

/** The operands of a command one by one: copies the name of number `idx`, without dots, to `word`
 * and returns 1, or returns 0 if it need not have so many. */
int cli_operand_word(uint32_t command, size_t idx, char word[32]);

/** Whether the command takes any number of operands from the last name on. */
int cli_takes_many(uint32_t command);

/** Whether the option may stand after the command (CLI_COMMANDS: after none). */
int cli_option_fits(const struct cli_option_row *option, uint32_t command);

#endif
