/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the compiler says, word for word. Every source in the folder diagnostics is compiled, and
 * what vyre_diagnostic_write makes of all that is said about it is compared with the text beside
 * it. A file L020_<anything>.vyre must be told L020, and every row of diagnostics.def has one. Then
 * each source is cut off behind each of its bytes: whatever is left, what is said about it lies in
 * it and is known to the table.
 *
 *     t_diagnostics DIRECTORY             compares
 *     t_diagnostics DIRECTORY --write     writes the texts anew; look at the difference
 */
#include <dirent.h>
#include <errno.h>

#include "lang_test.h"

static const struct {
    const char *name;
    uint32_t number;
    uint32_t severity;
} rows[] = {
#define ERROR                                         VYRE_SEVERITY_ERROR
#define WARNING                                       VYRE_SEVERITY_WARNING
#define LANG_DIAGNOSTIC(number, name, severity, text) {#name, number, severity},
#include "lang/diagnostics.def"
#undef ERROR
#undef WARNING
};

/* One source, and what is said about it. */
struct source {
    const char *file;
    const char *text;
    size_t length;
    char *said; /* NULL: nobody wants it as text */
    size_t said_length;
    size_t before; /* offset of the last */
    uint32_t count;
    uint32_t strange; /* what was said that cannot be right */
    bool numbers[1000];
};

static int append(void *ctx, const char *bytes, size_t length)
{
    struct source *source = ctx;
    source->said = realloc(source->said, source->said_length + length + 1);
    if (!source->said) bail("out of memory");
    memcpy(source->said + source->said_length, bytes, length);
    source->said_length += length;
    source->said[source->said_length] = '\0';
    return 0;
}

static const char *strange(const struct source *source, const vyre_diagnostic *told)
{
    char code[8];
    size_t row = 0, length = strlen(told->message);
    while (row < COUNT(rows)) {
        snprintf(code, sizeof code, "L%03u", (unsigned)rows[row].number);
        if (strcmp(code, told->code) == 0) break;
        row++;
    }
    if (row == COUNT(rows)) return "is not in the table";
    if (rows[row].severity != told->severity) return "has another severity than in the table";
    if (told->offset > source->length || told->length > source->length - told->offset)
        return "is not in the source";
    if (told->offset < source->before) return "comes after one that is behind it";
    if (length == 0 || told->message[length - 1] == '.') return "is no line without a full stop";
    if (strchr(told->message, '\n') || strchr(told->fix, '\n')) return "is more than one line";
    return NULL;
}

static void report(void *ctx, const vyre_diagnostic *told)
{
    struct source *source = ctx;
    const char *why = strange(source, told);
    vyre_error err;
    source->count++;
    if (why) {
        source->strange++;
        note("%s: %s at %u:%u (%s) %s", source->file, told->code, told->line, told->column,
             told->message, why);
        return;
    }
    source->before = told->offset;
    source->numbers[strtoul(told->code + 1, NULL, 10) % 1000u] = true;
    if (!source->said) return;
    must(vyre_diagnostic_write(told, source->text, source->length, 0, append, source, &err), &err);
}

static void take_first(void *ctx, const char *name)
{
    char *first = ctx;
    if (!first[0]) snprintf(first, 64, "%s", name);
}

/* Compiles the first kernel; the whole source is checked. */
static vyre_status compile(struct source *source)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    char first[64] = "";
    vyre_error err;
    must(vyre_source_kernels(source->text, source->length, take_first, first, &err), &err);
    options.file = source->file;
    options.kernel = first[0] ? first : NULL;
    options.diagnostics = 100;
    options.report = report;
    options.report_ctx = source;
    vyre_status status = vyre_kernel_compile(source->text, source->length, &options, &kernel, &err);
    vyre_kernel_free(kernel);
    return status;
}

static size_t line_length(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? (size_t)(end - text) + 1 : strlen(text);
}

static void show_lines(const char *from, const char *until, char sign)
{
    while (from < until) {
        size_t length = line_length(from);
        printf("# %c%.*s\n", sign, (int)(from[length - 1] == '\n' ? length - 1 : length), from);
        from += length;
    }
}

/* What is different, without what is the same before and behind it. */
static void show_difference(const char *expected, const char *got)
{
    const char *old_end = expected + strlen(expected), *new_end = got + strlen(got);
    while (*expected && line_length(expected) == line_length(got) &&
           memcmp(expected, got, line_length(got)) == 0) {
        expected += line_length(expected);
        got += line_length(got);
    }
    while (old_end > expected && new_end > got && old_end[-1] == new_end[-1]) {
        old_end--;
        new_end--;
    }
    show_lines(expected, *old_end ? old_end + line_length(old_end) : old_end, '-');
    show_lines(got, *new_end ? new_end + line_length(new_end) : new_end, '+');
}

static void write_text(const char *path, const struct source *source)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(source->said, 1, source->said_length, file) != source->said_length)
        bail("cannot write %s: %s", path, strerror(errno));
    if (fclose(file) != 0) bail("cannot write %s: %s", path, strerror(errno));
}

/* Whatever a source is cut off to, nothing strange is said about it. */
static uint32_t cut(const struct source *whole)
{
    uint32_t wrong = 0;
    for (size_t length = 0; length < whole->length; length++) {
        /* A piece of memory of its own, so that a sanitizer sees who looks behind the end. */
        char *text = malloc(length ? length : 1);
        if (!text) bail("out of memory");
        memcpy(text, whole->text, length);
        struct source part = {.file = whole->file, .text = text, .length = length};
        vyre_status status = compile(&part);
        bool known = status == VYRE_OK || status == VYRE_E_SOURCE;
        if (!known) note("%s: the first %zu bytes: status %d", whole->file, length, (int)status);
        wrong += part.strange + !known;
        free(text);
    }
    return wrong;
}

static void check_file(const char *folder, const char *name, bool writes, bool *seen)
{
    char path[1024], code[8];
    struct source source = {.file = name};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = read_text(path, &source.length);
    source.text = text;
    append(&source, "", 0);
    compile(&source);
    is_u64(source.strange, 0, "%s: what is said can be right", name);
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(code, sizeof code, "L%03u", (unsigned)rows[i].number);
        if (strncmp(name, code, 4) != 0) continue;
        seen[i] = true;
        ok(source.numbers[rows[i].number], "%s is told %s", name, code);
    }
    snprintf(path + strlen(path) - strlen("vyre"), 8, "txt");
    if (writes) write_text(path, &source);
    if (access(path, R_OK) != 0) {
        ok(0, "%s: there is no text beside it; run with --write and look at it", name);
    } else {
        size_t length;
        char *expected = read_text(path, &length);
        if (!ok(strcmp(expected, source.said) == 0, "%s: what is said, word for word", name))
            show_difference(expected, source.said);
        free(expected);
    }
    is_u64(cut(&source), 0, "%s: cut off anywhere", name);
    free(source.said);
    free(text);
}

static int is_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 4;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    bool seen[COUNT(rows)] = {false};
    bool writes = argc > 2 && strcmp(argv[2], "--write") == 0;
    if (argc < 2 || argc > 3 || (argc == 3 && !writes))
        bail("give the folder of the sources, and --write to write their texts");
    int count = scandir(argv[1], &entries, is_file, alphasort);
    if (count < 0) bail("cannot read %s: %s", argv[1], strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char path[1024];
        if (ends_with(name, ".vyre")) {
            check_file(argv[1], name, writes, seen);
        } else {
            size_t stem = strlen(name) - strlen(".txt");
            snprintf(path, sizeof path, "%s/%.*s.vyre", argv[1], (int)stem, name);
            ok(ends_with(name, ".txt") && access(path, R_OK) == 0, "%s has its source", name);
        }
    }
    for (size_t i = 0; i < COUNT(rows); i++)
        ok(seen[i], "L%03u %s has a source", (unsigned)rows[i].number, rows[i].name);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return done();
}
