/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The beginning and the end of printing: called by main.c only. The rest is in cli.h.
 */
#ifndef VYRE_CLI_OUTPUT_H
#define VYRE_CLI_OUTPUT_H

#include "cli.h"

/** Makes descriptors 0 to 2 safe to use and ignores SIGPIPE; the first thing the program does. */
void cli_output_prepare(void);

/** Decides on colour and progress; before it nothing is coloured. */
void cli_output_set_color(uint32_t color);

/** Closes stdout. Returns `code`, or CLI_EXIT_IO, with a complaint, if something was not written.
 */
int cli_output_finish(int code);

#endif
