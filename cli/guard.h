/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A process that removes a directory when this one has ended, be it by a kill. For commands that
 * make files for themselves.
 */
#ifndef VYRE_CLI_GUARD_H
#define VYRE_CLI_GUARD_H

#include <sys/types.h>

#include "cli.h"

struct cli_guard {
    pid_t pid; /**< 0: there is none */
    int pipe;  /**< its end is the order to remove */
};

/** Starts it. To be called before there are threads. Returns CLI_EXIT_DONE, or an exit code after a
 * complaint. */
int cli_guard_start(struct cli_guard *guard);

/** Names the directory: once, when it has been made. */
void cli_guard_give(const struct cli_guard *guard, const char *path);

/** Has the directory removed if it is still there, and waits for that. Harmless where there is no
 * guard. */
void cli_guard_end(struct cli_guard *guard);

#endif
