/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads the conformance corpus: cases, the buffers of a case before a run, and whether they hold
 * after it what is expected, by the case's own rule.
 */
#ifndef VYRE_TESTS_CORPUS_H
#define VYRE_TESTS_CORPUS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/program.h"

#define CORPUS_LINE 4096u

struct corpus {
    const char *directory;
    FILE *manifest;
    char line[CORPUS_LINE];
};

/* Texts point into the line that was read last. */
struct corpus_case {
    const char *name, *family, *kind, *inputs, *outputs, *compare, *note;
    uint32_t grid[3];
};

struct corpus_buffers {
    uint32_t count;
    unsigned char **buffers; /* NULL for workgroup memory */
    uint64_t *bytes;
};

/* 0, or an errno where `manifest` (a file name) cannot be opened. */
int corpus_open(struct corpus *corpus, const char *directory, const char *manifest);
void corpus_close(struct corpus *corpus);
/* 1 and the next case, or 0. */
int corpus_next(struct corpus *corpus, struct corpus_case *out);

/* A file of the case as malloc'ed bytes, or NULL. */
unsigned char *corpus_file(const struct corpus *corpus, const char *name, const char *ending,
                           size_t *length);

/* The buffers as they are before the run. 0 where the case does not fit the program. */
int corpus_buffers(const struct corpus *corpus, const struct corpus_case *test,
                   const struct ir_program *program, struct corpus_buffers *out);
void corpus_buffers_free(struct corpus_buffers *buffers);

/* Whether the buffers hold what is expected; where not, `why` names the first difference. */
int corpus_compare(const struct corpus *corpus, const struct corpus_case *test,
                   const struct ir_program *program, const struct corpus_buffers *buffers,
                   char why[256]);

#endif
