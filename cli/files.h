/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Whole files in and out, for the subcommands that take paths. "-" is standard input or output.
 */
#ifndef VYRE_CLI_FILES_H
#define VYRE_CLI_FILES_H

#include <sys/stat.h>

#include "cli.h"

/** The contents of a file; `data` is never NULL once it was read, and freed by the caller. */
struct cli_bytes {
    unsigned char *data;
    size_t length;
};

#define CLI_NO_LIMIT SIZE_MAX

/** Reads a file to its end, or one byte more than `limit`, whichever is first. Returns
 * CLI_EXIT_DONE, or an exit code after a complaint; *bytes changes only in the first case. `at` is
 * where the path comes from, or NULL if the user has typed it. */
int cli_file_read(const char *path, size_t limit, const char *at, struct cli_bytes *bytes);

/** Whether there is such a file; also true where that cannot be told. */
int cli_file_exists(const char *path);

/** Whether the file that is read at `path` is `other`, a regular file, by whatever name: writing to
 * the one would destroy the other. */
int cli_file_is(const char *path, const struct stat *other);

/** Whether `path` is `-`, or a file or pipe that standard output goes to: whoever writes to both
 * loses bytes. A terminal and /dev/null lose none. */
int cli_file_is_stdout(const char *path);

/** The folder that a file of this path lies in; the caller frees it. NULL: no memory. */
char *cli_file_folder(const char *path);

/** Whether both would make the same file, which is not there yet. */
int cli_file_same_new(const char *a, const char *b);

/** Writes all bytes to a descriptor. Returns an errno value, or 0. */
int cli_write_all(int fd, const void *data, size_t length);

/** Removes a directory with all that is in it, as far as that is possible. */
void cli_tree_remove(const char *path);

/** Whether a file of that path can be made or written over, as far as can be told without doing it:
 * CLI_EXIT_DONE, or an exit code after a complaint. */
int cli_file_writable(const char *path);

/** Makes or replaces a file. Returns as cli_file_read. */
int cli_file_write(const char *path, const void *data, size_t length);

/** Replaces a file that is there: another reader sees the old contents or the new, never a part.
 * Its mode stays, and its owner where that is possible; behind a symbolic link the file itself is
 * replaced. Returns as cli_file_read. */
int cli_file_replace(const char *path, const void *data, size_t length);

#endif
