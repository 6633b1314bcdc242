/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Compiles a source and keeps what the compiler reports, so that each command can show it in its
 * own way: with the lines on stderr, as JSON Lines, or as reasons of a rejection.
 */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "parse.h"

static const char suffix[] = ".vyre";

int source_named(const char *path)
{
    size_t len = strlen(path), tail = sizeof suffix - 1;

    return len > tail && strcmp(path + len - tail, suffix) == 0;
}

int source_is(const char *path, const struct cli_bytes *bytes)
{
    if (strcmp(path, "-") != 0) return source_named(path);
    return bytes->length < 4 || memcmp(bytes->data, "VYRE", 4) != 0;
}

const char *source_shown_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

static int no_memory(void)
{
    cli_complain("there is no memory left", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

/* Diagnostics.
 * ------------------------------------------------------------------------------------------- */

static void free_note(const vyre_diagnostic *note)
{
    free((char *)note->code);
    free((char *)note->message);
    free((char *)note->fix);
}

static int is_kept(const struct source *source, const vyre_diagnostic *note)
{
    for (uint32_t i = 0; i < source->count; i++) {
        const vyre_diagnostic *kept = &source->notes[i];
        if (kept->offset == note->offset && strcmp(kept->code, note->code) == 0 &&
            strcmp(kept->message, note->message) == 0)
            return 1;
    }
    return 0;
}

/* The texts go when the call that reports them returns. */
static void keep(void *ctx, const vyre_diagnostic *note)
{
    struct source *source = ctx;

    if (source->count == SOURCE_MOST_NOTES || is_kept(source, note)) return;
    vyre_diagnostic kept = *note;
    kept.code = strdup(note->code);
    kept.message = strdup(note->message);
    kept.fix = strdup(note->fix);
    kept.file = source_shown_name(source->path);
    if (kept.code == NULL || kept.message == NULL || kept.fix == NULL) {
        free_note(&kept);
        source->lost = 1;
        return;
    }
    source->notes[source->count++] = kept;
    if (note->severity == VYRE_SEVERITY_ERROR)
        source->errors++;
    else
        source->warnings++;
}

const vyre_diagnostic *source_first_error(const struct source *source)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (source->notes[i].severity == VYRE_SEVERITY_ERROR) return &source->notes[i];
    return NULL;
}

void source_free(struct source *source)
{
    for (uint32_t i = 0; i < source->count; i++)
        free_note(&source->notes[i]);
    free(source->notes);
    free(source->bytes.data);
    memset(source, 0, sizeof *source);
}

static int put(void *ctx, const char *text, size_t length)
{
    return fwrite(text, 1, length, ctx) == length ? 0 : -1;
}

static void put_count(uint32_t count, const char *noun, const char *before)
{
    if (count > 0)
        fprintf(stderr, "%s%u %s%s", before, (unsigned)count, noun, count == 1 ? "" : "s");
}

void source_show(const struct source *source)
{
    uint32_t style = cli_tone(stderr, CLI_TONE_BAD)[0] != '\0' ? VYRE_DIAGNOSTIC_COLOR : 0;

    if (source->count == 0) return;
    cli_progress(NULL);
    cli_flush();
    for (uint32_t i = 0; i < source->count; i++)
        vyre_diagnostic_write(&source->notes[i], (const char *)source->bytes.data,
                              source->bytes.length, style, put, stderr, NULL);
    put_count(source->errors, "error", "");
    put_count(source->warnings, "warning", source->errors > 0 ? ", " : "");
    if (source->count == SOURCE_MOST_NOTES) fputs("; there may be more", stderr);
    fputc('\n', stderr);
}

void source_json(const struct source *source)
{
    for (uint32_t i = 0; i < source->count; i++) {
        const vyre_diagnostic *note = &source->notes[i];
        cli_json_begin("diagnostic");
        cli_json_text("code", note->code);
        cli_json_text("severity", note->severity == VYRE_SEVERITY_ERROR ? "error" : "warning");
        cli_json_text("file", source->path);
        cli_json_count("line", note->line);
        cli_json_count("column", note->column);
        cli_json_count("offset", note->offset);
        cli_json_count("length", note->length);
        cli_json_text("message", note->message);
        cli_json_text("fix", note->fix[0] != '\0' ? note->fix : NULL);
        cli_json_end();
    }
}

const char *source_statement(const struct source *source, vyre_position position, char text[160])
{
    const char *at = (const char *)source->bytes.data, *end = at + source->bytes.length;
    size_t len = 0;
    int quoted = 0, escaped = 0;

    text[0] = '\0';
    if (position.line == 0 || position.column == 0) return text;
    for (uint32_t line = 1; line < position.line && at != NULL; line++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at != NULL) at++;
    }
    if (at == NULL || (size_t)(end - at) < position.column) return text;
    for (at += position.column - 1; at < end && *at != '\n' && len < 159; at++) {
        if (*at == ';' && !quoted) break;
        if (*at == '"' && !escaped) quoted = !quoted;
        escaped = quoted && !escaped && *at == '\\';
        text[len++] = *at;
    }
    text[len] = '\0';
    return text;
}

/* Kernels.
 * ------------------------------------------------------------------------------------------- */

struct names {
    struct cli_list *list;
    int lost;
};

static void keep_name(void *ctx, const char *name)
{
    struct names *names = ctx;
    char *copy = strdup(name);

    if (copy != NULL && cli_list_add(names->list, copy) == 0) return;
    free(copy);
    names->lost = 1;
}

int source_kernels(const struct source *source, struct cli_list *list)
{
    struct names names = {list, 0};
    vyre_error err;

    memset(list, 0, sizeof *list);
    vyre_status status = vyre_source_kernels((const char *)source->bytes.data, source->bytes.length,
                                             keep_name, &names, &err);
    if (names.lost) return no_memory();
    if (status == VYRE_OK || status == VYRE_E_LIMIT) return CLI_EXIT_DONE;
    return cli_fail("cannot list the kernels", &err);
}

void source_names_free(struct cli_list *names)
{
    for (size_t i = 0; i < names->count; i++)
        free((char *)names->item[i]);
    free(names->item);
    memset(names, 0, sizeof *names);
}

/* The names, as far as there is room. */
static const char *joined(const struct cli_list *names, char text[200])
{
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < names->count; i++) {
        if (len + strlen(names->item[i]) + 8 > 200) {
            snprintf(text + len, 200 - len, ", ...");
            break;
        }
        len += (size_t)snprintf(text + len, 200 - len, "%s%s", len > 0 ? ", " : "", names->item[i]);
    }
    return text;
}

/* No kernel has the wanted name, or there are several and none was named. */
static int not_found(const struct source *source, const char *wanted)
{
    const char *shown = source_shown_name(source->path);
    struct cli_guess guess = {NULL, 0};
    struct cli_list names;
    char text[200];
    int code = source_kernels(source, &names);

    for (size_t i = 0; wanted != NULL && i < names.count; i++)
        cli_guess_offer(&guess, wanted, names.item[i]);
    if (code == CLI_EXIT_DONE && wanted == NULL)
        code = cli_misuse("`%.80s` has %zu kernels; add --kernel NAME, one of: %s", shown,
                          names.count, joined(&names, text));
    else if (code == CLI_EXIT_DONE && guess.name != NULL)
        code = cli_misuse("--kernel: there is no `%.60s` in `%.80s`; did you mean `%.60s`?", wanted,
                          shown, guess.name);
    else if (code == CLI_EXIT_DONE)
        code = cli_misuse("--kernel: there is no `%.60s` in `%.80s`; its kernels: %s", wanted,
                          shown, joined(&names, text));
    source_names_free(&names);
    return code;
}

/* The library has no diagnostic for a source that it does not read at all. */
static void keep_too_long(struct source *source, const vyre_error *err)
{
    vyre_diagnostic note = {.severity = VYRE_SEVERITY_ERROR,
                            .line = 1,
                            .column = 1,
                            .code = vyre_status_name(err->status),
                            .message = err->message,
                            .fix = err->fix};
    keep(source, &note);
}

int source_compile(struct source *source, struct source_wish wish, vyre_kernel **kernel)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    char doing[128];
    vyre_error err;

    if (source->notes == NULL) source->notes = calloc(SOURCE_MOST_NOTES, sizeof *source->notes);
    if (source->notes == NULL) return no_memory();
    options.flags = wish.flags;
    options.diagnostics = SOURCE_MOST_NOTES;
    options.file = source_shown_name(source->path);
    options.kernel = wish.kernel;
    options.report = keep;
    options.report_ctx = source;
    vyre_status status = vyre_kernel_compile((const char *)source->bytes.data, source->bytes.length,
                                             &options, kernel, &err);
    if (source->lost) {
        if (status == VYRE_OK) vyre_kernel_free(*kernel);
        return no_memory();
    }
    if (status == VYRE_OK) return CLI_EXIT_DONE;
    if (status == VYRE_E_LIMIT) keep_too_long(source, &err);
    if (source->errors > 0) return CLI_EXIT_NO;
    if (status == VYRE_E_NOT_FOUND) return not_found(source, wish.kernel);
    snprintf(doing, sizeof doing, "cannot compile `%.80s`", source_shown_name(source->path));
    return cli_fail(doing, &err);
}
