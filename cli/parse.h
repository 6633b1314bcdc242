/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parser of the command line; called by main.c.
 */
#ifndef VYRE_CLI_PARSE_H
#define VYRE_CLI_PARSE_H

#include "table.h"

/** Fills *args from argv, defaults included. Returns CLI_EXIT_DONE, or CLI_EXIT_MISUSE after one
 * line on stderr. An empty
 * command line is no misuse here. */
int cli_parse(int argc, char **argv, struct cli_args *args);

/** Frees the lists of *args, also where the parser failed. */
void cli_args_free(struct cli_args *args);

/* The rest is what the parser's own files share.
 * ------------------------------------------------------------------------------------------- */

/** Says one line of misuse and returns CLI_EXIT_MISUSE. */
__attribute__((format(printf, 1, 2))) int cli_misuse(const char *format, ...);

/** The name an option is typed by, "--json" or "-h"; returns `name`. */
const char *cli_option_name(const struct cli_option_row *option, char name[32]);

/** Stores a value in the option's field. Returns 0, or -1 if it is none for this option. */
int cli_value_store(const struct cli_option_row *option, const char *value, struct cli_args *args);

/** Appends a word to a list. Returns 0, or -1 if there is no memory for it. */
int cli_list_add(struct cli_list *list, const char *word);

/** Stores what stands for "not given". */
void cli_value_clear(const struct cli_option_row *option, struct cli_args *args);

/** Says what the option takes instead of this value, and returns CLI_EXIT_MISUSE. */
int cli_value_refuse(const struct cli_option_row *option, const char *value);

/** The name nearest to what was typed, dashes aside, or NULL if none is near. The parser offers
 * names one by one, starting from a zeroed guess. */
struct cli_guess {
    const char *name;
    size_t distance;
};

/** Considers one name as what the typed word may have meant. */
void cli_guess_offer(struct cli_guess *guess, const char *typed, const char *name);

#endif
