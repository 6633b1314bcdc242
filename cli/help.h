/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The texts of -h and --help; called by main.c.
 */
#ifndef VYRE_CLI_HELP_H
#define VYRE_CLI_HELP_H

#include "cli.h"

/** Prints the help that the arguments ask for: of a command, of a group of commands, or of the
 * program; the long one if --help was given. */
void cli_help(FILE *stream, const struct cli_args *args);

#endif
