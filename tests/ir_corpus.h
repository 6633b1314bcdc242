/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads the conformance corpus of VIR0, where there is one: the rows of its manifests, and the
 * bytes of a file.
 */
#ifndef VYRE_TESTS_IR_CORPUS_H
#define VYRE_TESTS_IR_CORPUS_H

#include "tap.h"

enum { CORPUS_COLUMNS = 9 };

struct corpus_row {
    char line[4096];
    char *name, *family, *kind, *grid, *inputs, *outputs;
};

/* The whole file, to be freed; NULL where it cannot be read. */
TAP_UNUSED static uint8_t *corpus_bytes(const char *directory, const char *name, const char *ending,
                                        size_t *length)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%s", directory, name, ending);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size < 0 ? NULL : malloc((size_t)size + 1);
    if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    if (bytes) *length = (size_t)size;
    return bytes;
}

/* The next row of a manifest; 0 at its end. */
TAP_UNUSED static int corpus_next(FILE *manifest, struct corpus_row *row)
{
    while (fgets(row->line, sizeof row->line, manifest)) {
        char *columns[CORPUS_COLUMNS], *rest = row->line;
        if (row->line[0] == '#') continue;
        int count = 0;
        for (; count < CORPUS_COLUMNS && rest; count++)
            columns[count] = strsep(&rest, "\t\n");
        if (count < CORPUS_COLUMNS) bail("a row of the manifest has %d columns", count);
        row->name = columns[0];
        row->family = columns[1];
        row->kind = columns[2];
        row->grid = columns[3];
        row->inputs = columns[4];
        row->outputs = columns[5];
        return 1;
    }
    return 0;
}

TAP_UNUSED static FILE *corpus_manifest(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return fopen(path, "r");
}

#endif
