/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre exec` share: the buffers of the program with what the command line says
 * about each.
 */
#ifndef VYRE_CLI_EXEC_H
#define VYRE_CLI_EXEC_H

#include "kernel.h"

/** What the command line says about one buffer; NULL where it says nothing. */
struct exec_use {
    const char *in;    /**< path */
    const char *out;   /**< path */
    const char *value; /**< of --set */
    const char *size;  /**< of --size */
    struct cli_bytes bytes;
};

struct exec {
    const struct cli_args *args;
    const char *path;
    struct kernel kernel;
    struct exec_use *uses;      /**< one for each buffer */
    struct kernel_bound *bound; /**< the same */
    uint32_t grid[3];
    vyre *runtime;
    struct kernel_run run;
};

/* Each returns CLI_EXIT_DONE, or an exit code after a complaint.
 * ------------------------------------------------------------------------------------------- */

/** Looks at the form of --in, --out, --set and --size before anything is read (exec_bind.c). */
int exec_check_words(const struct cli_args *args);

/** Gives every --in, --out, --set and --size to its buffer, and misses what is missing
 * (exec_bind.c). */
int exec_bind(struct exec *exec);

/** Reads the input files and fills exec->bound (exec_bind.c). */
int exec_load(struct exec *exec);

/** Reads --grid: X, X,Y or X,Y,Z (exec_value.c). */
int exec_parse_grid(const char *text, uint32_t grid[3]);

/** Reads the value of a scalar parameter by its type (exec_value.c). */
int exec_parse_value(const vyre_kernel_buffer_info *parameter, const char *text, uint32_t *bits);

/** Reads how many elements a buffer has, at least as many as are declared (exec_value.c). */
int exec_parse_size(const vyre_kernel_buffer_info *buffer, const char *text, uint32_t *elements);

#endif
