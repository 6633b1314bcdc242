/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre conform` share: the rows of the manifests, and what became of a case.
 */
#ifndef VYRE_CLI_CONFORM_H
#define VYRE_CLI_CONFORM_H

#include "kernel.h"

/** One line of a manifest. The texts lie in the manifest's bytes. */
struct conform_row {
    const char *name, *family, *kind, *grid, *inputs, *outputs, *compare;
    const char *manifest; /**< path of the file */
    uint32_t line;
};

struct conform_manifest {
    char path[4096];
    struct cli_bytes bytes;
    struct conform_row *rows;
    size_t count;
};

/** The runtime that cases run on. Zero at first, but for args. */
struct conform_device {
    const struct cli_args *args;
    vyre *runtime;
    uint64_t frame_bytes; /**< of a workgroup, on this runtime */
};

/** Opens the runtime, or opens it anew where workgroups need more than it has: each worker has as
 * much, so a GPU is not asked for more than the cases need. Returns an exit code, after a
 * complaint. */
int conform_device_open(struct conform_device *device, uint64_t frame_bytes);

/** Reads a manifest of the directory (conform_manifest.c). Returns CLI_EXIT_DONE, or an exit code
 * after a complaint that names file and line. Free it in both cases. */
int conform_manifest_read(const char *dir, const char *file, struct conform_manifest *manifest);
void conform_manifest_free(struct conform_manifest *manifest);

/** Complains about a row: "manifest.tsv:12: ..."; returns CLI_EXIT_IO. */
__attribute__((format(printf, 2, 3))) int conform_bad_row(const struct conform_row *row,
                                                          const char *format, ...);

/** Takes the next `name:bytes` from a list of a row. Returns 1, or 0 at its end; the manifest's
 * reader has made sure that the list is well formed. */
struct conform_item {
    const char *name;
    size_t name_length;
    size_t bytes;
};
int conform_next(const char **list, struct conform_item *item);

/** The grid of a row; 0 if it has none. */
int conform_grid(const struct conform_row *row, uint32_t grid[3]);

enum conform_verdict { CONFORM_PASS, CONFORM_FAIL, CONFORM_SKIP };

struct conform_result {
    enum conform_verdict verdict;
    char why[480]; /**< one line; "" for a pass */
    uint64_t ns;   /**< of the run, 0 where none was needed */
};

/** Runs a case (conform_case.c). Returns CLI_EXIT_DONE with a result, or an exit code after a
 * complaint: a file is missing, or nothing can run any more. */
int conform_case(struct conform_device *device, const char *dir, const struct conform_row *row,
                 struct conform_result *result);

/** Sets a failure or a skip and its reason, and returns CLI_EXIT_DONE. */
__attribute__((format(printf, 3, 4))) int conform_say(struct conform_result *result,
                                                      enum conform_verdict verdict,
                                                      const char *format, ...);

/** One result buffer against the bytes it should hold. */
struct conform_pair {
    const char *name;
    const unsigned char *got, *want;
    size_t length;
    uint32_t stride; /**< bytes of an element */
    uint32_t ulp;    /**< 0: exactly; else f32 words, at most so far apart */
};

/** Compares (conform_compare.c). Returns 1 if they agree, else 0 after saying where they do not. */
int conform_compare(const struct conform_pair *pair, struct conform_result *result);

#endif
