/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The manifests of `vyre conform`: tab-separated lines of nine columns, lines that begin with #
 * left out. Everything is checked while it is read; whoever uses a row afterwards can rely on its
 * form.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

enum { COLUMNS = 9, LARGEST_MANIFEST = 256 << 20 };

int conform_bad_row(const struct conform_row *row, const char *format, ...)
{
    char text[300], message[640];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(message, sizeof message, "%.300s:%u: %s", row->manifest, row->line, text);
    cli_complain(message, NULL, NULL);
    return CLI_EXIT_IO;
}

int conform_next(const char **list, struct conform_item *item)
{
    const char *at = *list;
    const char *colon = strchr(at, ':');

    if (*at == '\0' || strcmp(at, "-") == 0 || colon == NULL) return 0;
    item->name = at;
    item->name_length = (size_t)(colon - at);
    item->bytes = (size_t)strtoull(colon + 1, NULL, 10);
    at = colon + 1 + strcspn(colon + 1, ",");
    *list = *at == ',' ? at + 1 : at;
    return 1;
}

/* Whether a list is `-` or name:bytes,name:bytes,... */
static int is_list(const char *list)
{
    if (strcmp(list, "-") == 0) return 1;
    for (;;) {
        const char *colon = strchr(list, ':');
        if (colon == NULL || colon == list || memchr(list, ',', (size_t)(colon - list)) != NULL)
            return 0;
        size_t digits = strspn(colon + 1, "0123456789");
        if (digits == 0 || digits > 12) return 0;
        if (colon[1 + digits] == '\0') return 1;
        if (colon[1 + digits] != ',') return 0;
        list = colon + 2 + digits;
    }
}

int conform_grid(const struct conform_row *row, uint32_t grid[3])
{
    const char *at = row->grid;

    for (int i = 0; i < 3; i++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || digits > 10 || at[digits] != (i < 2 ? ',' : '\0')) return 0;
        unsigned long long value = strtoull(at, NULL, 10);
        if (value > UINT32_MAX) return 0;
        grid[i] = (uint32_t)value;
        at += digits + 1;
    }
    return 1;
}

static int check_row(const struct conform_row *row)
{
    uint32_t grid[3];

    if (row->name[0] == '\0' || row->name[0] == '.' || strchr(row->name, '/') != NULL)
        return conform_bad_row(row, "`%.100s` is no name for a case", row->name);
    if (strcmp(row->grid, "-") != 0 && !conform_grid(row, grid))
        return conform_bad_row(row, "the grid `%.100s` is not x,y,z", row->grid);
    if (!is_list(row->inputs))
        return conform_bad_row(row, "the inputs `%.100s` are not name:bytes,...", row->inputs);
    if (!is_list(row->outputs))
        return conform_bad_row(row, "the outputs `%.100s` are not name:bytes,...", row->outputs);
    return CLI_EXIT_DONE;
}

/* Cuts a line into its columns. */
static int split(char *line, struct conform_row *row)
{
    const char *column[COLUMNS];
    int count = 0;

    for (char *at = line; at != NULL; count++) {
        char *tab = strchr(at, '\t');
        if (tab != NULL) *tab = '\0';
        if (count < COLUMNS) column[count] = at;
        at = tab == NULL ? NULL : tab + 1;
    }
    if (count != COLUMNS)
        return conform_bad_row(row, "%d column%s, and a case has %d", count, count == 1 ? "" : "s",
                               (int)COLUMNS);
    row->name = column[0];
    row->family = column[1];
    row->kind = column[2];
    row->grid = column[3];
    row->inputs = column[4];
    row->outputs = column[5];
    row->compare = column[6];
    return check_row(row);
}

static size_t count_lines(const struct cli_bytes *bytes)
{
    size_t count = 1;

    for (size_t i = 0; i < bytes->length; i++)
        count += bytes->data[i] == '\n';
    return count;
}

static int parse(struct conform_manifest *manifest)
{
    char *at = (char *)manifest->bytes.data, *end = at + manifest->bytes.length;
    struct conform_row row = {.manifest = manifest->path};

    while (at < end) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *stop = newline == NULL ? end : newline;
        row.line++;
        if (memchr(at, '\0', (size_t)(stop - at)) != NULL)
            return conform_bad_row(&row, "there is a zero byte in the line");
        *stop = '\0';
        if (*at != '#') {
            int code = split(at, &row);
            if (code != CLI_EXIT_DONE) return code;
            manifest->rows[manifest->count++] = row;
        }
        at = stop + 1;
    }
    return CLI_EXIT_DONE;
}

int conform_manifest_read(const char *dir, const char *file, struct conform_manifest *manifest)
{
    memset(manifest, 0, sizeof *manifest);
    int len = snprintf(manifest->path, sizeof manifest->path, "%s/%s", dir, file);
    if (len < 0 || (size_t)len >= sizeof manifest->path) {
        cli_complain("the path of the directory is too long", NULL, NULL);
        return CLI_EXIT_IO;
    }
    int code = cli_file_read(manifest->path, LARGEST_MANIFEST, NULL, &manifest->bytes);
    if (code != CLI_EXIT_DONE) return code;
    /* A byte more, for the zero after a last line without a newline. */
    unsigned char *data = realloc(manifest->bytes.data, manifest->bytes.length + 1);
    if (data != NULL) manifest->bytes.data = data;
    manifest->rows = calloc(count_lines(&manifest->bytes), sizeof *manifest->rows);
    if (data == NULL || manifest->rows == NULL) {
        cli_complain("there is no memory left", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    return parse(manifest);
}

void conform_manifest_free(struct conform_manifest *manifest)
{
    free(manifest->rows);
    free(manifest->bytes.data);
    memset(manifest, 0, sizeof *manifest);
}
