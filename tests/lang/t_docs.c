/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A page of sources, docs/language.md or cases.md beside this file, is right: every source on it
 * compiles without a word and is laid out as the formatter would, every fragment compiles in a
 * kernel, every wrong example has the diagnostic that it is said to have, the examples with inputs
 * give what stands behind them, and the tables of functions and diagnostics are complete.
 */
#include "page.h"

struct said {
    uint32_t count, others; /* those with another code than the first */
    char first[8];
};

static void remember(void *ctx, const vyre_diagnostic *diagnostic)
{
    struct said *said = ctx;
    if (said->count++ == 0) snprintf(said->first, sizeof said->first, "%s", diagnostic->code);
    said->others += strcmp(said->first, diagnostic->code) != 0;
    note("%u:%u: %s %s; fix: %s", diagnostic->line, diagnostic->column, diagnostic->code,
         diagnostic->message, diagnostic->fix);
}

/* A launch as a `run` block describes it. */
struct trial {
    vyre *rt;
    const struct block *source;
    const struct block *block;
    struct kernel kernel;
    uint32_t grid[2];
    uint32_t count;
    struct given given[KERNEL_BUFFERS];
    uint32_t fault, out_of_bounds;
    uint64_t log; /* cursor */
};

static struct trial trial_of(vyre *rt, const struct block *source, const struct block *block)
{
    struct trial trial = {.rt = rt, .source = source, .block = block, .grid = {1, 1}};
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_log_record records[64];
    uint64_t lost;
    size_t count;
    char name[64] = "";
    vyre_error err;
    if (sscanf(block->text, "kernel %63s", name) == 1) options.kernel = name;
    must(vyre_program_compile(rt, source->text, source->length, &options, NULL, &program, &err),
         &err);
    trial.kernel = kernel_of(rt, program, "example");
    do /* what earlier ones printed */
        must(vyre_tenant_log(rt, VYRE_TENANT_DEFAULT, &trial.log, records, 64, &count, &lost, &err),
             &err);
    while (count > 0);
    return trial;
}

static void give(struct trial *trial, const char *name, const uint8_t *bytes, size_t length)
{
    const vyre_kernel_buffer_info *info = find_buffer(&trial->kernel, name);
    struct given *given = &trial->given[trial->count++];
    given->name = info->name;
    if (info->flags & VYRE_KERNEL_BUFFER_SCALAR)
        memcpy(&given->bits, bytes, 4);
    else
        given->buffer = buffer_of(trial->rt, bytes, length);
}

static uint32_t fault_number(const char *name)
{
    for (uint32_t i = 1; i < 64; i++)
        if (strcmp(vyre_fault_name(i), name) == 0) return i;
    return 0;
}

/* One line before the launch; false where it says nothing that is known. */
static bool set_up(struct trial *trial, const char *line)
{
    uint8_t bytes[RUN_BYTES] = {0};
    char name[64];
    unsigned count;
    int at = 0;
    if (sscanf(line, "kernel %63s", name) == 1) return true;
    if (sscanf(line, "grid %u %u", &trial->grid[0], &trial->grid[1]) >= 1) return true;
    if (sscanf(line, "=> fault %63s", name) == 1) return (trial->fault = fault_number(name)) != 0;
    if (sscanf(line, "=> out of bounds %u", &trial->out_of_bounds) == 1) return true;
    if (line[0] == '=') return true;
    if (sscanf(line, "%63[a-z_][%u]", name, &count) == 2) {
        const vyre_kernel_buffer_info *info = find_buffer(&trial->kernel, name);
        if (!info || count == 0 || count * info->stride > RUN_BYTES) return false;
        give(trial, name, bytes, count * info->stride);
        return true;
    }
    if (sscanf(line, "%63[a-z_] = %n", name, &at) != 1 || at == 0) return false;
    const vyre_kernel_buffer_info *info = find_buffer(&trial->kernel, name);
    size_t length = info ? read_elements(info, line + at, bytes) : 0;
    if (length == 0) return false;
    give(trial, name, bytes, length);
    return true;
}

static void check_log(struct trial *trial, const char *text)
{
    vyre_log_record record = {0};
    uint64_t lost;
    size_t count = 0;
    char got[200] = "";
    vyre_error err;
    must(vyre_tenant_log(trial->rt, VYRE_TENANT_DEFAULT, &trial->log, &record, 1, &count, &lost,
                         &err),
         &err);
    if (count == 1)
        must(vyre_kernel_print_text(vyre_program_kernel(trial->kernel.program), record.format,
                                    record.a, record.b, got, sizeof got, &err),
             &err);
    is_str(got, text, "line %u: the log says so", trial->block->line);
}

/* One line after the launch. */
static void check_line(struct trial *trial, const char *line)
{
    uint8_t expected[RUN_BYTES], got[RUN_BYTES];
    char name[64];
    int at = 0;
    if (strncmp(line, "=> log ", 7) == 0) check_log(trial, line + 7);
    if (sscanf(line, "=> %63[a-z_] = %n", name, &at) != 1 || at == 0) return;
    const vyre_kernel_buffer_info *info = find_buffer(&trial->kernel, name);
    const struct given *given = find_given(trial->given, trial->count, name);
    size_t length = info ? read_elements(info, line + at, expected) : 0;
    if (!given || !given->buffer || length == 0 || vyre_buffer_size(given->buffer) != length) {
        ok(0, "line %u: cannot compare: %s", trial->block->line, line);
        return;
    }
    fetch(given->buffer, got, length);
    same(got, expected, length / info->stride, info->stride, "line %u: %s", trial->block->line,
         line);
}

static void each_line(struct trial *trial, bool before)
{
    char line[1024];
    for (const char *at = trial->block->text; *at; at += strcspn(at, "\n") + 1) {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (!before)
            check_line(trial, line);
        else if (!set_up(trial, line))
            ok(0, "line %u: not understood: %s", trial->block->line, line);
        if (!at[strcspn(at, "\n")]) break;
    }
}

static void run_block(vyre *rt, const struct block *source, const struct block *block)
{
    struct trial trial = trial_of(rt, source, block);
    each_line(&trial, true);
    vyre_completion end =
        launch(&trial.kernel, trial.grid[0], trial.grid[1], trial.given, trial.count);
    is_u64(end.outcome == VYRE_DONE ? 0 : end.fault, trial.fault, "line %u: how it ends (%s)",
           block->line, vyre_fault_name(trial.fault));
    is_u64(end.out_of_bounds, trial.out_of_bounds, "line %u: accesses out of bounds", block->line);
    each_line(&trial, false);
    for (uint32_t i = 0; i < trial.count; i++)
        vyre_buffer_free(trial.given[i].buffer);
    close_kernel(&trial.kernel);
}

/* Compiles every kernel of a source. */
struct all {
    const struct block *block;
    struct said said;
    uint32_t kernels;
    vyre_status status;
};

static void compile_named(void *ctx, const char *name)
{
    struct all *all = ctx;
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    options.kernel = name;
    options.report = remember;
    options.report_ctx = &all->said;
    vyre_status status =
        vyre_kernel_compile(all->block->text, all->block->length, &options, &kernel, &err);
    if (status) all->status = status;
    vyre_kernel_free(kernel);
    all->kernels++;
}

static struct all compile_all(const struct block *block)
{
    struct all all = {.block = block};
    vyre_error err;
    must(vyre_source_kernels(block->text, block->length, compile_named, &all, &err), &err);
    return all;
}

struct layout {
    const struct block *block;
    size_t at;
    bool differs;
};

static int compare_layout(void *ctx, const char *text, size_t length)
{
    struct layout *layout = ctx;
    if (layout->at + length > layout->block->length ||
        memcmp(layout->block->text + layout->at, text, length) != 0)
        layout->differs = true;
    layout->at += length;
    return 0;
}

static bool check_source(const struct block *block)
{
    struct all all = compile_all(block);
    struct layout layout = {.block = block};
    vyre_error err;
    ok(all.kernels > 0 && all.status == VYRE_OK, "line %u: %u kernels compile", block->line,
       all.kernels);
    is_u64(all.said.count, 0, "without a word");
    works(vyre_source_format(block->text, block->length, compare_layout, &layout, &err), &err,
          "it can be laid out");
    ok(!layout.differs && layout.at == block->length, "and is laid out so");
    return all.kernels > 0 && all.status == VYRE_OK;
}

/* An example of what is wrong, with the code of its diagnostic. */
static void check_wrong(const struct block *block, const char *code, bool warning)
{
    struct all all = compile_all(block);
    is_u64((uint64_t)all.status, (uint64_t)(warning ? VYRE_OK : VYRE_E_SOURCE),
           "line %u: an example of %s", block->line, code);
    is_str(all.said.first, code, "has it");
    is_u64(all.said.others, 0, "and no other");
}

static void check_fragment(const struct block *block)
{
    static const char head[] = "kernel fragment(u32 n, f32 s, in u32 x[], inout u32 y[], out f32 "
                               "z[])\n{\n";
    struct block whole = *block;
    whole.text = malloc(sizeof head + block->length + 4);
    if (!whole.text) bail("out of memory");
    whole.length = (size_t)sprintf(whole.text, "%s%s}\n", head, block->text);
    struct all all = compile_all(&whole);
    ok(all.status == VYRE_OK, "line %u: a fragment", block->line);
    is_u64(all.said.count, 0, "without a word");
    free(whole.text);
}

static void has_row(const struct page *page, const char *row)
{
    const char *found = strstr(page->text, row);
    ok(found && found > page->text && found[-1] == '\n' && found[strlen(row)] == '\n',
       "the page has: %s", row);
}

static void diagnostics_table(const struct page *page)
{
    static const struct {
        unsigned number;
        const char *severity, *text;
    } rows[] = {
#define ERROR                                         "error"
#define WARNING                                       "warning"
#define LANG_DIAGNOSTIC(number, name, severity, text) {number, severity, text},
#include "lang/diagnostics.def"
    };
    uint32_t listed = 0;
    char row[400];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(row, sizeof row, "| L%03u | %s | %s |", rows[i].number, rows[i].severity,
                 rows[i].text);
        has_row(page, row);
    }
    for (const char *at = page->text; (at = strstr(at, "\n| L")); at++)
        listed++;
    is_u64(listed, COUNT(rows), "and no other diagnostics");
}

static const char *word_of(char letter)
{
    switch (letter) {
    case 'u':
        return "u32";
    case 'i':
        return "i32";
    case 'f':
        return "f32";
    case 'b':
        return "bool";
    case 'B':
        return "buffer";
    case 'E':
        return "x[k]";
    case 'v':
        return "";
    case 'T':
        return "T";
    case 'S':
        return "S";
    case 'A':
        return "A";
    case 'M':
        return "M";
    default:
        return "?";
    }
}

static void functions_table(const struct page *page)
{
    static const struct {
        const char *name, *signature, *text;
    } rows[] = {
#define LANG_FUNCTION(name, signature, how, op, text) {name, signature, text},
#include "lang/functions.def"
    };
    char row[400], arguments[100];
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t length = 0;
        arguments[0] = '\0';
        for (const char *letter = rows[i].signature + 1; *letter; letter++)
            length += (size_t)snprintf(arguments + length, sizeof arguments - length, "%s%s",
                                       length ? ", " : "", word_of(*letter));
        if (strcmp(rows[i].name, "print") == 0) strcpy(arguments, "text, ...");
        if (strcmp(rows[i].name, "assert") == 0) strcpy(arguments, "bool, text");
        snprintf(row, sizeof row, "| `%s(%s)` | %s | %s |", rows[i].name, arguments,
                 word_of(rows[i].signature[0]), rows[i].text);
        has_row(page, row);
    }
}

/* Arguments: a page, and `tables` where it is docs/language.md. */
int main(int argc, char **argv)
{
    if (argc < 2) bail("usage: t_docs PAGE [tables]");
    bool tables = argc > 2 && strcmp(argv[2], "tables") == 0;
    struct page *page = page_read(argv[1]);
    vyre *rt = open_cpu(2);
    uint32_t sources = 0, runs = 0;
    bool compiles = false;
    for (uint32_t i = 0; i < page->count; i++) {
        const struct block *block = &page->block[i];
        const char *kind = block->kind;
        if (strcmp(kind, "vyre") == 0) {
            compiles = check_source(block);
            sources++;
        } else if (strcmp(kind, "vyre-fragment") == 0) {
            check_fragment(block);
        } else if (strncmp(kind, "vyre-error ", 11) == 0) {
            check_wrong(block, kind + 11, false);
        } else if (strncmp(kind, "vyre-warning ", 13) == 0) {
            check_wrong(block, kind + 13, true);
        } else if (strcmp(kind, "run") == 0) {
            if (i == 0 || strcmp(block[-1].kind, "vyre") != 0)
                bail("line %u: no source stands before this", block->line);
            if (compiles) run_block(rt, block - 1, block);
            runs++;
        } else {
            ok(strcmp(kind, "c") == 0, "line %u: a block of kind `%s`", block->line, kind);
        }
    }
    ok(sources >= 15 && runs >= 10, "%u sources and %u runs", sources, runs);
    if (tables) {
        diagnostics_table(page);
        functions_table(page);
    }
    vyre_close(rt);
    page_free(page);
    return done();
}
