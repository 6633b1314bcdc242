/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A source of the kernel language and what the compiler says about it. `build` makes a file of it;
 * `exec`, `dis` and `verify` take one wherever they take a VIR0 file.
 */
#ifndef VYRE_CLI_SOURCE_H
#define VYRE_CLI_SOURCE_H

#include "cli.h"
#include "files.h"

/** A source. `path` and `bytes` are set by who read it, the rest starts as zero and is filled by
 * source_compile. Free it with source_free. */
struct source {
    const char *path; /**< as typed */
    struct cli_bytes bytes;
    vyre_diagnostic *notes; /**< what was said, in order; all texts belong to the source */
    uint32_t count;         /**< of them */
    uint32_t errors, warnings;
    int lost; /**< there was no memory for one */
};

/** No more diagnostics are asked for. */
enum { SOURCE_MOST_NOTES = 100 };

/** Which kernel of the source, and how: flags are those of enum vyre_kernel_flag. */
struct source_wish {
    const char *kernel; /**< NULL: the only one */
    uint32_t flags;
};

/** Whether the path has the suffix of a source. */
int source_named(const char *path);

/** Whether what was read from the path is a source: by the suffix, and for standard input by the
 * first bytes, which no source and every VIR0 program has. */
int source_is(const char *path, const struct cli_bytes *bytes);

/** Compiles; a diagnostic that was kept before is not kept again. CLI_EXIT_DONE: *kernel is the
 * caller's. CLI_EXIT_NO: the source has errors, nothing was said. Anything else: after a complaint;
 * so where --kernel names none, or is missing though there are several. */
int source_compile(struct source *source, struct source_wish wish, vyre_kernel **kernel);

/** The names of the kernels, in their order; none of a source that is too long. Returns
 * CLI_EXIT_DONE, or an exit code after a complaint. Free the list in both cases. */
int source_kernels(const struct source *source, struct cli_list *names);
void source_names_free(struct cli_list *names);

/** Shows every diagnostic with its line on stderr, and how many there were; nothing for none. */
void source_show(const struct source *source);

/** Writes every diagnostic as a record of JSON Lines. */
void source_json(const struct source *source);

/** The first error; NULL where there is none. */
const vyre_diagnostic *source_first_error(const struct source *source);

/** The source from a position to the end of its statement, or of its line; "" where it has no such
 * position. Returns `text`. */
const char *source_statement(const struct source *source, vyre_position position, char text[160]);

/** What stands before line and column: the path, or a name for standard input. */
const char *source_shown_name(const char *path);

void source_free(struct source *source);

#endif
