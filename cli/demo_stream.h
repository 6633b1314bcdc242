/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the two files of the tour's chapter on streams share: the files that are streamed, with what
 * a plain loop finds in each.
 */
#ifndef VYRE_CLI_DEMO_STREAM_H
#define VYRE_CLI_DEMO_STREAM_H

#include <limits.h>

#include "demo.h"

#define TOUR_FILES        1000u /* small ones */
#define TOUR_FILE_LONGEST 8192u

struct tour_files {
    char root[PATH_MAX - 64]; /* a directory that goes at the end; "": none */
    char tree[PATH_MAX - 32]; /* holds the small files, 0000 to 0999 */
    char loud[PATH_MAX - 32]; /* what is written */
    char text[PATH_MAX - 32]; /* that is made */
    const char *large;        /* the same, or --file */
    char self[PATH_MAX];      /* this command; "" where it cannot be read */
    uint64_t large_bytes, tree_bytes, self_bytes;
    uint64_t lines;            /* in all of them */
    uint32_t sums[TOUR_FILES]; /* of the bytes of each small file */
};

/** Makes the files and looks at all of them with plain loops. Remove them in each case. Returns
 * CLI_EXIT_DONE, or an exit code after a complaint. */
int tour_files_make(struct tour *tour, struct tour_files *files);
void tour_files_remove(struct tour_files *files);

/** Whether `loud` is the large file in capital letters. */
int tour_files_compare(const struct tour_files *files, uint64_t *bytes);

#endif
