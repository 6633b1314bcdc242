/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every file of examples/kernels: each kernel in it compiles without a word from the compiler, is
 * laid out as the formatter would, and says what it is; none is without a test.
 */
#include "lang_test.h"

/* Those that the tests beside this one run. */
static const char *const tested[] = {
    "base64", "bfs",     "bitap",    "bitonic",   "compact",  "crc32",      "dot",
    "fnv64",  "gather",  "heat",     "histogram", "life",     "mandelbrot", "matmul",
    "mix",    "nbody",   "quantize", "reduce",    "saxpy",    "scan",       "search",
    "sha256", "softmax", "spmv",     "transpose", "xorshift",
};

struct text {
    char *bytes;
    size_t length, room;
};

static int collect(void *ctx, const char *bytes, size_t length)
{
    struct text *text = ctx;
    if (text->length + length > text->room) {
        text->room = 2 * (text->length + length);
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) bail("out of memory");
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    return 0;
}

struct source {
    const char *file;
    const char *text;
    size_t length;
    uint32_t kernels;
};

static void compile_one(void *ctx, const char *name)
{
    struct source *source = ctx;
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    uint32_t said = 0;
    vyre_error err;
    options.file = source->file;
    options.kernel = name;
    options.report = show_diagnostic;
    options.report_ctx = &said;
    works(vyre_kernel_compile(source->text, source->length, &options, &kernel, &err), &err,
          "%s: %s", source->file, name);
    is_u64(said, 0, "without a word");
    vyre_kernel_free(kernel);
    source->kernels++;
}

static void check_layout(const struct source *source)
{
    struct text laid = {0};
    vyre_error err;
    if (works(vyre_source_format(source->text, source->length, collect, &laid, &err), &err,
              "%s can be laid out", source->file)) {
        size_t same_until = 0, line = 1;
        while (same_until < laid.length && same_until < source->length &&
               laid.bytes[same_until] == source->text[same_until])
            line += source->text[same_until++] == '\n';
        ok(laid.length == source->length && same_until == laid.length,
           "and is laid out so (line %zu)", line);
    }
    free(laid.bytes);
}

static void check_file(const char *name)
{
    static const char head[] = "// SPDX-License-Identifier: MIT OR Apache-2.0\n//\n// ";
    struct source source = {.file = name};
    char path[1024];
    vyre_error err;
    snprintf(path, sizeof path, "%s/%s", VYRE_EXAMPLE_KERNELS, name);
    char *text = read_text(path, &source.length);
    source.text = text;
    ok(strncmp(text, head, sizeof head - 1) == 0 &&
           (strstr(text, "aunch") || strstr(text, "group")),
       "%s begins with its licence, what it does and how it is launched", name);
    must(vyre_source_kernels(text, source.length, compile_one, &source, &err), &err);
    ok(source.kernels > 0, "%s has kernels (%u)", name, source.kernels);
    check_layout(&source);
    free(text);
}

int main(void)
{
    DIR *directory = opendir(VYRE_EXAMPLE_KERNELS);
    uint32_t files = 0, known = 0;
    if (!directory) bail("cannot read %s", VYRE_EXAMPLE_KERNELS);
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".vyre") != 0) continue;
        files++;
        for (size_t i = 0; i < COUNT(tested); i++)
            known += strncmp(entry->d_name, tested[i], (size_t)(end - entry->d_name)) == 0 &&
                     strlen(tested[i]) == (size_t)(end - entry->d_name);
        check_file(entry->d_name);
    }
    closedir(directory);
    is_u64(known, files, "every file has a test");
    is_u64(files, COUNT(tested), "every test has its file");
    return done();
}
