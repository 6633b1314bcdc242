/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre build`: compiles one kernel of a source to a VIR0 file. Diagnostics go to stderr, with
 * --json to stdout; the file is made only where there are no errors.
 */
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "source.h"

struct build {
    const struct cli_args *args;
    struct source source;
    struct cli_list names; /* of the kernels that are compiled */
    char *output;          /* NULL with --check */
    vyre_kernel *kernel;
    size_t length; /* of what was made of it */
};

static int check_words(const struct cli_args *args)
{
    const char *path = args->operands.item[0];

    if (args->check && args->output != NULL)
        return cli_misuse("--check writes nothing; leave out -o");
    if (args->output != NULL && *args->output == '\0')
        return cli_misuse("-o takes the name of a file, or `-`");
    if (args->output == NULL && !args->check && strcmp(path, "-") == 0)
        return cli_misuse("standard input has no name to make one from; add -o PATH");
    if (args->json && args->output != NULL && strcmp(args->output, "-") == 0)
        return cli_misuse("--json and -o - would both write to standard output");
    return CLI_EXIT_DONE;
}

/* What -o says, or the source's name with the suffix .vir. NULL: no memory. */
static char *output_name(const struct cli_args *args)
{
    const char *path = args->operands.item[0];

    if (args->output != NULL) return strdup(args->output);
    size_t len = strlen(path) - (source_named(path) ? strlen(".vyre") : 0);
    char *name = malloc(len + sizeof ".vir");
    if (name == NULL) return NULL;
    memcpy(name, path, len);
    memcpy(name + len, ".vir", sizeof ".vir");
    return name;
}

static int no_memory(void)
{
    cli_complain("there is no memory left", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

static int is_source(const struct build *build)
{
    struct stat output;

    return strcmp(build->output, "-") != 0 && stat(build->output, &output) == 0 &&
           cli_file_is(build->source.path, &output);
}

static int read_source(struct build *build)
{
    const char *path = build->source.path;
    int code = cli_file_read(path, VYRE_SOURCE_MOST_BYTES, NULL, &build->source.bytes);

    if (code != CLI_EXIT_DONE) return code;
    if (build->source.bytes.length >= 4 && memcmp(build->source.bytes.data, "VYRE", 4) == 0) {
        char message[200];
        snprintf(message, sizeof message, "`%.100s` is a VIR0 program already",
                 source_shown_name(path));
        cli_complain(message, NULL, "give `vyre build` a source; run this one with `vyre exec`");
        return CLI_EXIT_NO;
    }
    if (build->args->check) return CLI_EXIT_DONE;
    build->output = output_name(build->args);
    if (build->output == NULL) return no_memory();
    if (is_source(build)) return cli_misuse("-o names the source itself, `%.200s`", path);
    return CLI_EXIT_DONE;
}

/* --check takes every kernel, where none is named. */
static int compile(struct build *build)
{
    const struct cli_args *args = build->args;
    struct source_wish wish = {args->kernel, 0};
    int code = source_kernels(&build->source, &build->names);

    if (code != CLI_EXIT_DONE) return code;
    if (!args->check || args->kernel != NULL || build->names.count < 2)
        return source_compile(&build->source, wish, &build->kernel);
    for (size_t i = 0; i < build->names.count && code == CLI_EXIT_DONE; i++) {
        vyre_kernel_free(build->kernel);
        build->kernel = NULL;
        wish.kernel = build->names.item[i];
        code = source_compile(&build->source, wish, &build->kernel);
    }
    return code;
}

static int write_kernel(struct build *build)
{
    const void *bytes = NULL;
    vyre_error err;

    if (vyre_kernel_bytes(build->kernel, &bytes, &build->length, &err) != VYRE_OK)
        return cli_fail("cannot get the program", &err);
    return cli_file_write(build->output, bytes, build->length);
}

static void json_result(const struct build *build, int code)
{
    const char *name = build->args->kernel;

    if (name == NULL && build->names.count == 1) name = build->names.item[0];
    cli_json_begin("result");
    cli_json_text("file", build->source.path);
    cli_json_text("kernel", name);
    cli_json_count("errors", build->source.errors);
    cli_json_count("warnings", build->source.warnings);
    cli_json_text("output", code == CLI_EXIT_DONE ? build->output : NULL);
    cli_json_count("bytes", build->length);
    cli_json_end();
}

static int build_one(struct build *build)
{
    int code = check_words(build->args);

    if (code == CLI_EXIT_DONE) code = read_source(build);
    if (code != CLI_EXIT_DONE) return code;
    code = compile(build);
    if (code != CLI_EXIT_DONE && code != CLI_EXIT_NO) return code;
    if (!build->args->json) source_show(&build->source);
    if (code == CLI_EXIT_DONE && build->output != NULL) code = write_kernel(build);
    if (build->args->json && (code == CLI_EXIT_DONE || code == CLI_EXIT_NO)) {
        cli_json_header("build");
        source_json(&build->source);
        json_result(build, code);
    }
    return code;
}

int vyre_cli_build(const struct cli_args *args)
{
    struct build build = {.args = args, .source = {.path = args->operands.item[0]}};

    int code = build_one(&build);
    vyre_kernel_free(build.kernel);
    source_names_free(&build.names);
    source_free(&build.source);
    free(build.output);
    return code;
}
