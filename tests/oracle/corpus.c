/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The conformance corpus, see its README: a directory of programs, inputs and expected outputs with
 * a table of cases in tab-separated columns.
 */
#include "oracle/corpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 9

int corpus_open(struct corpus *corpus, const char *directory, const char *manifest)
{
    char path[CORPUS_LINE];
    *corpus = (struct corpus){.directory = directory};
    snprintf(path, sizeof path, "%s/%s", directory, manifest);
    corpus->manifest = fopen(path, "r");
    return corpus->manifest ? 0 : errno;
}

void corpus_close(struct corpus *corpus)
{
    if (corpus->manifest) fclose(corpus->manifest);
    corpus->manifest = NULL;
}

int corpus_next(struct corpus *corpus, struct corpus_case *out)
{
    char *columns[COLUMNS];
    while (fgets(corpus->line, sizeof corpus->line, corpus->manifest)) {
        char *at = corpus->line;
        int count = 0;
        if (*at == '#') continue;
        at[strcspn(at, "\n")] = 0;
        while (at && count < COLUMNS) {
            columns[count++] = at;
            at = strchr(at, '\t');
            if (at) *at++ = 0;
        }
        if (count < COLUMNS) continue;
        *out = (struct corpus_case){.name = columns[0],
                                    .family = columns[1],
                                    .kind = columns[2],
                                    .inputs = columns[4],
                                    .outputs = columns[5],
                                    .compare = columns[6],
                                    .note = columns[8]};
        char *number = columns[3];
        for (int i = 0; i < 3 && number; i++) {
            out->grid[i] = (uint32_t)strtoul(number, &number, 10);
            if (*number == ',') number++;
        }
        return 1;
    }
    return 0;
}

unsigned char *corpus_file(const struct corpus *corpus, const char *name, const char *ending,
                           size_t *length)
{
    char path[CORPUS_LINE];
    unsigned char *bytes = NULL;
    snprintf(path, sizeof path, "%s/%s.%s", corpus->directory, name, ending);
    FILE *file = fopen(path, "rb");
    *length = 0;
    if (file == NULL) return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        rewind(file);
        if (size >= 0) bytes = malloc((size_t)size + 1);
        if (bytes) *length = fread(bytes, 1, (size_t)size, file);
    }
    fclose(file);
    return bytes;
}

/* The bytes of the next `name:bytes` of a column, which moves on. */
static int next_size(const char **column, uint64_t *bytes)
{
    const char *colon = strchr(*column, ':');
    char *end;
    if (colon == NULL) return 0;
    *bytes = strtoull(colon + 1, &end, 10);
    *column = *end == ',' ? end + 1 : end;
    return 1;
}

static int fill(struct corpus_buffers *out, const struct ir_program *program, const char *inputs,
                const unsigned char *bytes, size_t length)
{
    size_t at = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        const struct ir_buffer *buffer = &program->buffers[i];
        int allocated = vyre_ir_buffer_allocated(buffer);
        if (buffer->access == IR_ACCESS_WORKGROUP) continue;
        if (allocated)
            out->bytes[i] = vyre_ir_buffer_bytes(buffer);
        else if (!next_size(&inputs, &out->bytes[i]) || out->bytes[i] > length - at)
            return 0;
        out->buffers[i] = calloc(1, out->bytes[i] + 1);
        if (out->buffers[i] == NULL) return 0;
        if (allocated || out->bytes[i] == 0) continue;
        memcpy(out->buffers[i], bytes + at, out->bytes[i]);
        at += out->bytes[i];
    }
    return at == length;
}

int corpus_buffers(const struct corpus *corpus, const struct corpus_case *test,
                   const struct ir_program *program, struct corpus_buffers *out)
{
    size_t length = 0;
    unsigned char *bytes = corpus_file(corpus, test->name, "in", &length);
    *out = (struct corpus_buffers){.count = program->buffer_count};
    out->buffers = calloc(out->count + 1, sizeof *out->buffers);
    out->bytes = calloc(out->count + 1, sizeof *out->bytes);
    int fits = out->buffers && out->bytes && fill(out, program, test->inputs, bytes, length);
    free(bytes);
    if (!fits) corpus_buffers_free(out);
    return fits;
}

void corpus_buffers_free(struct corpus_buffers *buffers)
{
    for (uint32_t i = 0; buffers->buffers && i < buffers->count; i++)
        free(buffers->buffers[i]);
    free(buffers->buffers);
    free(buffers->bytes);
    *buffers = (struct corpus_buffers){0};
}

/* Integers in the order of the floats with these bits; both zeros, and all subnormals, are 0. */
static int64_t float_key(uint32_t bits)
{
    int64_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude < 0x00800000) magnitude = 0;
    return bits >> 31 ? -magnitude : magnitude;
}

static int near(uint32_t a, uint32_t b, int64_t most)
{
    int a_nan = (a & 0x7FFFFFFF) > 0x7F800000, b_nan = (b & 0x7FFFFFFF) > 0x7F800000;
    if (a_nan || b_nan) return a_nan && b_nan;
    int64_t distance = float_key(a) - float_key(b);
    return distance <= most && -distance <= most;
}

/* The first byte that differs, or `length`. */
static uint64_t difference(const unsigned char *got, const unsigned char *expected, uint64_t length,
                           const char *compare)
{
    int64_t most = strncmp(compare, "ulp", 3) == 0 ? strtol(compare + 3, NULL, 10) : -1;
    uint64_t at = 0;
    for (; most >= 0 && at + 4 <= length; at += 4) {
        uint32_t a, b;
        memcpy(&a, got + at, 4);
        memcpy(&b, expected + at, 4);
        if (!near(a, b, most)) return at;
    }
    while (at < length && got[at] == expected[at])
        at++;
    return at;
}

int corpus_compare(const struct corpus *corpus, const struct corpus_case *test,
                   const struct ir_program *program, const struct corpus_buffers *buffers,
                   char why[256])
{
    size_t length = 0;
    uint64_t at = 0;
    unsigned char *expected = corpus_file(corpus, test->name, "out", &length);
    int same = 1;
    why[0] = 0;
    for (uint32_t i = 0; same && i < program->buffer_count; i++) {
        const struct ir_buffer *buffer = &program->buffers[i];
        uint64_t start = 0, end = buffers->bytes[i];
        if (!vyre_ir_buffer_returned(buffer)) continue;
        if (buffer->has_range) {
            start = buffer->range_start;
            end = buffer->range_end;
        }
        uint64_t bytes = end - start, place = 0;
        if (bytes <= length - at && bytes != 0)
            place = difference(buffers->buffers[i] + start, expected + at, bytes, test->compare);
        if (place < bytes) {
            same = 0;
            snprintf(why, 256, "buffer %u (%.60s) differs from byte %llu on", (unsigned)i,
                     program->names[buffer->name].text, (unsigned long long)(start + place));
        }
        at += bytes;
    }
    if (same && at != length) {
        same = 0;
        snprintf(why, 256, "%llu bytes are returned, %zu expected", (unsigned long long)at, length);
    }
    free(expected);
    return same;
}
