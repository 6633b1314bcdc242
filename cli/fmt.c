/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre fmt`: writes sources of the kernel language in their one layout. A file is replaced whole
 * or stays as it is, and one that is laid out already is not touched. A file that cannot be read or
 * laid out is a complaint, and the others are still done.
 */
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "source.h"

/* A text that grows. */
struct text {
    char *data;
    size_t length, room;
    int failed; /* there was no memory */
};

static int append(void *ctx, const char *piece, size_t length)
{
    struct text *text = ctx;

    if (text->data == NULL || text->room - text->length < length) {
        size_t room = 2 * text->room + length + 4096;
        char *data = realloc(text->data, room);
        text->failed = data == NULL;
        if (data == NULL) return -1;
        text->data = data;
        text->room = room;
    }
    memcpy(text->data + text->length, piece, length);
    text->length += length;
    return 0;
}

static int refuse(const struct source *source, const struct text *text, const vyre_error *err)
{
    const char *name = source_shown_name(source->path);
    char message[sizeof err->message + 200];

    if (text->failed || err->status == VYRE_E_NO_MEMORY) {
        cli_complain("there is no memory left", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    /* What is wrong with a source begins with line and column. */
    if (err->status == VYRE_E_SOURCE)
        snprintf(message, sizeof message, "cannot lay it out: %.150s:%s", name, err->message);
    else
        snprintf(message, sizeof message, "cannot lay out `%.150s`: %s", name, err->message);
    cli_complain(message, NULL, err->fix);
    return err->status == VYRE_E_SOURCE || err->status == VYRE_E_LIMIT ? CLI_EXIT_NO : CLI_EXIT_BUG;
}

static int settle(const struct cli_args *args, const struct source *source, const struct text *text)
{
    int changes = text->length != source->bytes.length ||
                  memcmp(text->data, source->bytes.data, text->length) != 0;

    if (args->json) {
        cli_json_begin("file");
        cli_json_text("file", source->path);
        cli_json_flag("changes", changes);
        cli_json_end();
    }
    if (args->check && changes && !args->json) {
        cli_put_clean(stdout, source->path);
        putchar('\n');
    }
    if (args->check) return changes ? CLI_EXIT_NO : CLI_EXIT_DONE;
    if (strcmp(source->path, "-") == 0) return cli_file_write("-", text->data, text->length);
    return changes ? cli_file_replace(source->path, text->data, text->length) : CLI_EXIT_DONE;
}

static int format_file(const struct cli_args *args, const char *path)
{
    struct source source = {.path = path};
    struct text text = {NULL, 0, 0, 0};
    vyre_error err;

    int code = cli_file_read(path, VYRE_SOURCE_MOST_BYTES, NULL, &source.bytes);
    if (code == CLI_EXIT_DONE && append(&text, "", 0) != 0) {
        cli_complain("there is no memory left", NULL, NULL);
        code = CLI_EXIT_ENVIRONMENT;
    }
    if (code == CLI_EXIT_DONE &&
        vyre_source_format((const char *)source.bytes.data, source.bytes.length, append, &text,
                           &err) != VYRE_OK)
        code = refuse(&source, &text, &err);
    else if (code == CLI_EXIT_DONE)
        code = settle(args, &source, &text);
    source_free(&source);
    free(text.data);
    return code;
}

static int check_words(const struct cli_args *args)
{
    size_t dashes = 0;

    for (size_t i = 0; i < args->operands.count; i++)
        dashes += strcmp(args->operands.item[i], "-") == 0;
    if (dashes > 1) return cli_misuse("standard input can be read only once; give `-` once");
    if (dashes > 0 && args->json && !args->check)
        return cli_misuse("--json and the source from `-` would both write to standard output");
    return CLI_EXIT_DONE;
}

int vyre_cli_fmt(const struct cli_args *args)
{
    int worst = check_words(args);

    if (worst != CLI_EXIT_DONE) return worst;
    if (args->json) cli_json_header("fmt");
    for (size_t i = 0; i < args->operands.count; i++) {
        int code = format_file(args, args->operands.item[i]);
        worst = code > worst ? code : worst;
        if (cli_flush() != 0) return CLI_EXIT_IO;
    }
    return worst;
}
