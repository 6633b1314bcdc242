/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernel language through the public API: what compiling accepts and refuses, how errors of a
 * source are told, and what a compiled kernel knows of its source: positions, bytes, prints. What
 * the language means is for the tests of tests/lang.
 */
#include "meter.h"

#include "kernels.h"
#include "runtime/vitals.h"

static const char saxpy[] = "// y = a * x + y\n"
                            "kernel saxpy(f32 a, in f32 x[], inout f32 y[])\n"
                            "{\n"
                            "    if (i < len(y)) {\n"
                            "        f32 t = a * x[i];\n"
                            "        y[i] = t + y[i];\n"
                            "    }\n"
                            "}\n";

static const char several[] = "f32 twice(f32 v) { return v + v; }\n"
                              "@guard(y) kernel one(inout f32 y[]) { y[i] = twice(y[i]); }\n"
                              "@guard(y) kernel two(inout u32 y[]) { y[i] += 2; }\n";

static const char wrong[] = "kernel bad(inout u32 y[])\n"
                            "{\n"
                            "    y[i] = z;\n"
                            "    y[i] = 1.5;\n"
                            "    y[i] = q;\n"
                            "}\n";

static vyre_status compile(const char *source, const vyre_compile_options *options,
                           vyre_kernel **kernel, vyre_error *err)
{
    size_t length = strlen(source);
    char *exact = malloc(length ? length : 1); /* so that a sanitizer sees a byte too far */
    memcpy(exact, source, length);
    vyre_status status = vyre_kernel_compile(exact, length, options, kernel, err);
    free(exact); /* a kernel keeps nothing of it */
    return status;
}

static vyre_kernel *compile_as(const char *source, const char *file)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    options.file = file;
    must(compile(source, &options, &kernel, &err), &err);
    return kernel;
}

static void arguments(void)
{
    struct {
        vyre_compile_options options;
        unsigned char tail[16];
    } longer = {VYRE_COMPILE_OPTIONS_INIT, {0}};
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *const untouched = (vyre_kernel *)(uintptr_t)0x5A5A;
    vyre_kernel *kernel = untouched;
    vyre_error err;
    refused(vyre_kernel_compile(NULL, 10, NULL, &kernel, &err), VYRE_E_NULL, &err, "no source");
    refused(compile(saxpy, NULL, NULL, &err), VYRE_E_NULL, &err, "no place for the kernel");
    options.size--;
    refused(compile(saxpy, &options, &kernel, &err), VYRE_E_SIZE, &err, "options of another size");
    options.size++;
    options.reserved = 1;
    refused(compile(saxpy, &options, &kernel, &err), VYRE_E_RESERVED, &err, "the reserved word");
    options.reserved = 0;
    options.flags = 4;
    refused(compile(wrong, &options, &kernel, &err), VYRE_E_RESERVED, &err,
            "an unknown flag, before anything is compiled");
    options.flags = 0;
    vyre_allocator half = {meter_alloc, meter_free, meter_map, NULL, NULL};
    options.allocator = &half;
    refused(compile(saxpy, &options, &kernel, &err), VYRE_E_CONFLICT, &err, "half an allocator");
    longer.options.size = sizeof longer;
    longer.tail[15] = 1;
    refused(compile(saxpy, &longer.options, &kernel, &err), VYRE_E_RESERVED, &err,
            "an unknown tail");
    ok(kernel == untouched, "nothing was stored");
    longer.tail[15] = 0;
    works(compile(saxpy, &longer.options, &kernel, &err), &err, "a tail of zeros");
    vyre_kernel_free(kernel);
    works(compile(saxpy, NULL, &kernel, &err), &err, "without options");
    vyre_kernel_free(kernel);
    ok(vyre_kernel_compile(wrong, strlen(wrong), NULL, &kernel, NULL) == VYRE_E_SOURCE,
       "nobody need hear why");
}

static void add_name(void *ctx, const char *name)
{
    char *names = ctx;
    strcat(names, name);
    strcat(names, ",");
}

static void names(void)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel_buffer_info info = {.size = sizeof info};
    char found[256] = "";
    vyre_kernel *kernel = NULL;
    vyre_error err;
    refused(compile(several, NULL, &kernel, &err), VYRE_E_NOT_FOUND, &err, "one of two, not named");
    ok(strstr(err.message, "one") && strstr(err.message, "two"), "says which there are: %s",
       err.message);
    options.kernel = "three";
    refused(compile(several, &options, &kernel, &err), VYRE_E_NOT_FOUND, &err,
            "a name that there is not");
    ok(strstr(err.message, "three") != NULL, "names it: %s", err.message);
    options.kernel = "twice";
    refused(compile(several, &options, &kernel, &err), VYRE_E_NOT_FOUND, &err, "no kernel's name");
    options.kernel = "";
    refused(compile(several, &options, &kernel, &err), VYRE_E_NOT_FOUND, &err, "an empty name");
    options.kernel = "two";
    if (works(compile(several, &options, &kernel, &err), &err, "the second kernel")) {
        must(vyre_kernel_buffer(kernel, 0, &info, &err), &err);
        is_str(info.type, "u32", "it is that one");
    }
    vyre_kernel_free(kernel);

    works(vyre_source_kernels(several, strlen(several), add_name, found, &err), &err, "a list");
    is_str(found, "one,two,", "has the kernels in order");
    found[0] = '\0';
    works(vyre_source_kernels(wrong, strlen(wrong), add_name, found, &err), &err,
          "of a source with errors");
    is_str(found, "bad,", "too");
    found[0] = '\0';
    works(vyre_source_kernels("", 0, add_name, found, &err), &err, "of an empty source");
    is_str(found, "", "there is none");
    refused(vyre_source_kernels(NULL, 0, add_name, found, &err), VYRE_E_NULL, &err, "no source");
    refused(vyre_source_kernels("", 0, NULL, found, &err), VYRE_E_NULL, &err, "no function");
}

struct ear {
    uint32_t count, broken;
    vyre_diagnostic first;
    char code[16], message[256], file[32];
};

static void hear(void *ctx, const vyre_diagnostic *told)
{
    struct ear *ear = ctx;
    size_t length = strlen(wrong);
    ear->broken += !told->code || told->code[0] != 'L' || !told->message || !told->message[0] ||
                   !told->fix || !told->file || told->reserved != 0;
    ear->broken += told->offset > length || told->length > length - told->offset;
    if (ear->count++) return;
    ear->first = *told;
    snprintf(ear->code, sizeof ear->code, "%s", told->code);
    snprintf(ear->message, sizeof ear->message, "%s", told->message);
    snprintf(ear->file, sizeof ear->file, "%s", told->file);
}

static void errors(void)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    struct ear ear = {0};
    vyre_kernel *kernel = NULL;
    vyre_error err;
    options.report = hear;
    options.report_ctx = &ear;
    options.file = "wrong.vyre";
    refused(compile(wrong, &options, &kernel, &err), VYRE_E_SOURCE, &err, "a source with errors");
    is_u64(ear.count, 3, "all are told");
    is_u64(ear.broken, 0, "each with its texts and a span of the source");
    is_str(ear.code, "L020", "the first is about a name");
    is_u64(ear.first.severity, VYRE_SEVERITY_ERROR, "an error");
    is_u64(ear.first.line, 3, "line");
    is_u64(ear.first.column, 12, "column");
    is_u64(ear.first.offset, (uint64_t)(strchr(wrong, 'z') - wrong), "offset");
    is_u64(ear.first.length, 1, "length");
    is_str(ear.file, "wrong.vyre", "file");
    ok(strstr(err.message, ear.message) && strstr(err.message, "wrong.vyre:3:12"),
       "the error has the first: %s", err.message);
    ear = (struct ear){0};
    options.diagnostics = 2;
    refused(compile(wrong, &options, &kernel, &err), VYRE_E_SOURCE, &err, "at most two");
    is_u64(ear.count, 2, "are told");
    ear = (struct ear){0};
    options = (vyre_compile_options)VYRE_COMPILE_OPTIONS_INIT;
    options.report = hear;
    options.report_ctx = &ear;
    refused(compile(wrong, &options, &kernel, &err), VYRE_E_SOURCE, &err, "without a file");
    is_str(ear.file, "", "none is told");
    ok(kernel == NULL, "nothing was stored");

    static const char ballot[] = "kernel f(inout u32 y[]) { y[i] = subgroup_ballot(true); }";
    options.flags = VYRE_KERNEL_NO_SUBGROUPS;
    refused(compile(ballot, &options, &kernel, &err), VYRE_E_SOURCE, &err,
            "subgroup operations where there shall be none");
    char *text = malloc(VYRE_SOURCE_MOST_BYTES + 1);
    memset(text, ' ', VYRE_SOURCE_MOST_BYTES + 1);
    refused(vyre_kernel_compile(text, VYRE_SOURCE_MOST_BYTES + 1, NULL, &kernel, &err),
            VYRE_E_LIMIT, &err, "a source that is too long");
    free(text);
}

/* What the machine refuses becomes a diagnostic like any other. */
static void limits(void)
{
    enum { LINES = 4200, ROOM = 64 * (LINES + 2) };
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    struct ear ear = {0};
    vyre_kernel *kernel = NULL;
    vyre_error err;
    char *text = malloc(ROOM);
    size_t used = (size_t)snprintf(text, ROOM, "kernel many(inout u32 y[])\n{\n");
    for (uint32_t k = 0; k < LINES; k++)
        used += (size_t)snprintf(text + used, ROOM - used, "    y[i + %u] = %u;\n", k, k);
    snprintf(text + used, ROOM - used, "}\n");
    options.report = hear;
    options.report_ctx = &ear;
    refused(compile(text, &options, &kernel, &err), VYRE_E_SOURCE, &err,
            "more constants than a program has");
    is_u64(ear.count, 1, "one diagnostic");
    is_str(ear.code, "L059", "which says so");
    ok(strstr(ear.message, "4096") != NULL, "with the limit: %s", ear.message);
    ok(kernel == NULL, "nothing was stored");
    free(text);
}

struct text {
    size_t length;
    char bytes[8192];
};

static int collect(void *ctx, const char *piece, size_t length)
{
    struct text *text = ctx;
    if (length >= sizeof text->bytes - text->length) return 1;
    memcpy(text->bytes + text->length, piece, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return 0;
}

static void positions(void)
{
    vyre_kernel_info info = {.size = sizeof info};
    vyre_position at = {0};
    struct text text = {0};
    vyre_error err;
    uint32_t seen[16] = {0}, strange = 0;
    char file[16] = "saxpy.vyre";
    vyre_kernel *kernel = compile_as(saxpy, file);
    memset(file, '?', 5); /* a kernel keeps its own copy */
    must(vyre_kernel_query(kernel, &info, &err), &err);
    for (uint32_t pc = 0; pc < info.instructions; pc++) {
        must(vyre_kernel_position(kernel, pc, &at, &err), &err);
        strange += strcmp(at.file, "saxpy.vyre") != 0 || at.line >= 16 || (at.line && !at.column);
        seen[at.line % 16]++;
    }
    is_u64(strange, 0, "every position can be");
    ok(seen[4] && seen[5] && seen[6], "instructions come from lines 4, 5 and 6");
    is_u64(seen[1] + seen[3] + seen[8], 0, "and none from comments and braces");
    refused(vyre_kernel_position(kernel, info.instructions, &at, &err), VYRE_E_RANGE, &err,
            "past the end");
    refused(vyre_kernel_position(NULL, 0, &at, &err), VYRE_E_NULL, &err, "no kernel");
    refused(vyre_kernel_position(kernel, 0, NULL, &err), VYRE_E_NULL, &err, "no position");
    works(vyre_kernel_print(kernel, VYRE_TEXT_BYTECODE, collect, &text, &err), &err, "bytecode");
    ok(strstr(text.bytes, "; saxpy.vyre:5:") && strstr(text.bytes, "; saxpy.vyre:6:"),
       "shows where the lines begin");
    vyre_kernel_free(kernel);

    kernel = compile_as(saxpy, NULL);
    text.length = 0;
    must(vyre_kernel_print(kernel, VYRE_TEXT_BYTECODE, collect, &text, &err), &err);
    ok(strstr(text.bytes, "; 5:") != NULL, "without a file too");
    vyre_kernel_free(kernel);

    struct code code = code_saxpy();
    must(vyre_kernel_read(code.bytes, code.length, NULL, &kernel, &err), &err);
    at.line = 77;
    must(vyre_kernel_position(kernel, 0, &at, &err), &err);
    ok(at.line == 0 && strcmp(at.file, "") == 0, "a kernel that was read knows no source");
    text.length = 0;
    must(vyre_kernel_print(kernel, VYRE_TEXT_BYTECODE, collect, &text, &err), &err);
    ok(strstr(text.bytes, "\n       ; ") == NULL, "and shows none");
    code_free(&code);
    vyre_kernel_free(kernel);
}

static void bytes(void)
{
    vyre_kernel_info info = {.size = sizeof info}, again = {.size = sizeof again};
    vyre_kernel *kernel = compile_as(saxpy, NULL), *other = NULL;
    const void *got = NULL;
    size_t length = 0;
    vyre_error err;
    works(vyre_kernel_bytes(kernel, &got, &length, &err), &err, "the bytes of a compiled kernel");
    must(vyre_kernel_query(kernel, &info, &err), &err);
    works(vyre_kernel_read(got, length, NULL, &other, &err), &err, "can be read");
    must(vyre_kernel_query(other, &again, &err), &err);
    ok(memcmp(&info, &again, sizeof info) == 0, "as the same kernel");
    vyre_kernel_free(other);
    refused(vyre_kernel_bytes(NULL, &got, &length, &err), VYRE_E_NULL, &err, "no kernel");
    refused(vyre_kernel_bytes(kernel, NULL, &length, &err), VYRE_E_NULL, &err, "no bytes");
    refused(vyre_kernel_bytes(kernel, &got, NULL, &err), VYRE_E_NULL, &err, "no length");
    vyre_kernel_free(kernel);
    struct code code = code_saxpy();
    must(vyre_kernel_read(code.bytes, code.length, NULL, &kernel, &err), &err);
    must(vyre_kernel_bytes(kernel, &got, &length, &err), &err);
    ok(length == code.length && got != code.bytes && memcmp(got, code.bytes, length) == 0,
       "a kernel that was read has a copy of its bytes");
    code_free(&code);
    vyre_kernel_free(kernel);
}

/* Runs a kernel without buffers but one and returns the records that it left in the log. */
static size_t run_once(vyre *rt, vyre_program *program, vyre_log_record *records, size_t room)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_buffer *buffer = NULL;
    vyre_bindings *set = NULL;
    uint64_t cursor = 0, lost = 0;
    size_t count = 0;
    vyre_error err;
    must(vyre_buffer_create(rt, 4, VYRE_DEVICE, &buffer, &err), &err);
    must(vyre_bindings_create(program, &buffer, 1, &set, &err), &err);
    run.program = program;
    run.bindings = set;
    run.grid[0] = run.grid[1] = run.grid[2] = 1;
    must(vyre_prep_run(next_slot(vyre_queue_default(rt)), &run, &err), &err);
    vyre_completion end = wait_for(vyre_queue_default(rt), submit(vyre_queue_default(rt)));
    ok(end.outcome == VYRE_DONE, "the program runs");
    must(vyre_tenant_log(rt, 0, &cursor, records, room, &count, &lost, &err), &err);
    vyre_bindings_free(set);
    vyre_buffer_free(buffer);
    return count;
}

static void prints(void)
{
    static const char source[] = "@workgroup(1)\n"
                                 "kernel talk(inout u32 y[])\n"
                                 "{\n"
                                 "    y[0] = 7;\n"
                                 "    print(\"y %u\\t100%% of %f\", y[0] * 2, 0.25);\n"
                                 "    print(\"%d %x\", (i32)y[0] - 10, y[0] + 0xFF00);\n"
                                 "    print(\"end\");\n"
                                 "}\n";
    static const char *const expected[] = {"y 14\t100% of 0.25", "-3 ff07", "end"};
    vyre *rt = open_cpu(1);
    vyre_program *program = NULL;
    vyre_log_record records[8];
    char text[64];
    vyre_error err;
    must(vyre_program_compile(rt, source, sizeof source - 1, NULL, NULL, &program, &err), &err);
    const vyre_kernel *kernel = vyre_program_kernel(program);
    size_t count = run_once(rt, program, records, 8);
    is_u64(count, 3, "three records");
    for (size_t i = 0; i < count && i < 3; i++) {
        works(vyre_kernel_print_text(kernel, records[i].format, records[i].a, records[i].b, text,
                                     sizeof text, &err),
              &err, "record %zu has a text", i);
        is_str(text, expected[i], "which is this");
    }
    const vyre_log_record *first = &records[0];
    must(vyre_kernel_print_text(kernel, first->format, first->a, first->b, text, 4, &err), &err);
    is_str(text, "y 1", "cut where there is no more room");
    must(vyre_kernel_print_text(kernel, first->format, first->a, first->b, text, 1, &err), &err);
    is_str(text, "", "even to nothing");
    refused(vyre_kernel_print_text(kernel, first->format, 0, 0, text, 0, &err), VYRE_E_TOO_SMALL,
            &err, "no room at all");
    refused(vyre_kernel_print_text(NULL, 0, 0, 0, text, 9, &err), VYRE_E_NULL, &err, "no kernel");
    refused(vyre_kernel_print_text(kernel, first->format, 0, 0, NULL, 9, &err), VYRE_E_NULL, &err,
            "no text");
    refused(vyre_kernel_print_text(kernel, 0xFFFFFFF0u, 0, 0, text, 9, &err), VYRE_E_NOT_FOUND,
            &err, "another number");
    static const struct {
        uint32_t bits;
        const char *text;
    } floats[] = {
        {0x00000000u, "0.0"},     {0x80000000u, "-0.0"},  {0x3F800000u, "1.0"},
        {0x3DCCCCCDu, "0.1"},     {0x7F800000u, "inf"},   {0xFF800000u, "-inf"},
        {0x7FC00000u, "nan"},     {0x4CBEBC20u, "1e+08"}, {0x3EAAAAABu, "0.33333334"},
        {0xC2F6E666u, "-123.45"},
    };
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "y 0\t100%% of %s", floats[i].text);
        must(vyre_kernel_print_text(kernel, first->format, 0, floats[i].bits, text, sizeof text,
                                    &err),
             &err);
        is_str(text, wanted, "%s", floats[i].text);
    }
    must(vyre_program_unload(program, &err), &err);
    vyre_close(rt);
}

static void programs(void)
{
    vyre *rt = open_cpu(1);
    vyre_compile_options how = VYRE_COMPILE_OPTIONS_INIT;
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_program *program = NULL;
    size_t length = sizeof several - 1;
    vyre_error err;
    refused(vyre_program_compile(NULL, several, length, NULL, NULL, &program, &err), VYRE_E_NULL,
            &err, "no runtime");
    refused(vyre_program_compile(rt, NULL, length, NULL, NULL, &program, &err), VYRE_E_NULL, &err,
            "no source");
    refused(vyre_program_compile(rt, several, length, NULL, NULL, NULL, &err), VYRE_E_NULL, &err,
            "no place for the program");
    refused(vyre_program_compile(rt, several, length, NULL, NULL, &program, &err), VYRE_E_NOT_FOUND,
            &err, "one of several, not named");
    how.kernel = "two";
    how.size--;
    refused(vyre_program_compile(rt, several, length, &how, NULL, &program, &err), VYRE_E_SIZE,
            &err, "options of another size");
    how.size++;
    options.opcode = 5;
    refused(vyre_program_compile(rt, several, length, &how, &options, &program, &err),
            VYRE_E_WIRE_OPCODE, &err, "an opcode of no program");
    ok(program == NULL, "nothing was stored");
    options.opcode = 4096;
    how.file = "several.vyre";
    if (works(vyre_program_compile(rt, several, length, &how, &options, &program, &err), &err,
              "the second kernel")) {
        vyre_position at;
        is_u64(vyre_program_opcode(program), 4096, "under its opcode");
        must(vyre_kernel_position(vyre_program_kernel(program), 0, &at, &err), &err);
        is_str(at.file, "several.vyre", "with its source");
        is_u64(at.line, 3, "and line");
    }
    /* What the watchdog would say of a worker that is at it. */
    struct vyre_sight sight = {.busy = 1};
    vyre_vital_worker worker = {.opcode = 4096};
    uint64_t deadline = 0;
    char text[2048];
    sight.worker = &worker;
    sight.deadline_ns = &deadline;
    vyre_stall_text(rt, VYRE_COMPLAINT_STALLED, &sight, text, sizeof text);
    ok(strstr(text, "opcode 0x1000 (program, several.vyre:3:") != NULL, "a stall names it");
    must(vyre_program_unload(program, &err), &err);
    vyre_close(rt);
}

static void layouts(void)
{
    struct text text = {0};
    vyre_error err;
    works(vyre_source_format("const u32 A=1;", 14, collect, &text, &err), &err, "a layout");
    is_str(text.bytes, "const u32 A = 1;\n", "which is this");
    refused(vyre_source_format(NULL, 0, collect, &text, &err), VYRE_E_NULL, &err, "no source");
    refused(vyre_source_format("", 0, NULL, &text, &err), VYRE_E_NULL, &err, "no writer");
    refused(vyre_source_format("(", 1, collect, &text, &err), VYRE_E_SOURCE, &err, "no layout");
}

/* Every allocation fails once, of a source that compiles and of one that does not. */
static void allocations(const char *source, vyre_status expected)
{
    uint32_t bad = 0;
    uint64_t n = 0, failures;
    do {
        struct meter meter = {.fail_at = ++n};
        vyre_allocator hooks = meter_allocator(&meter);
        vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
        vyre_kernel *kernel = NULL;
        vyre_error err = {0};
        options.allocator = &hooks;
        vyre_status status = vyre_kernel_compile(source, strlen(source), &options, &kernel, &err);
        failures = meter.failures;
        bad += status != (failures ? VYRE_E_NO_MEMORY : expected) || err.status != status;
        bad += (kernel != NULL) != (status == VYRE_OK);
        vyre_kernel_free(kernel);
        bad += !meter_clean(&meter);
    } while (failures != 0 && n < 1000);
    ok(n > 2 && n < 1000, "%llu places where memory can fail", (unsigned long long)(n - 1));
    is_u64(bad, 0, "each gave a status, and nothing was lost");
}

int main(void)
{
    arguments();
    names();
    errors();
    limits();
    positions();
    bytes();
    prints();
    programs();
    layouts();
    allocations(saxpy, VYRE_OK);
    allocations(wrong, VYRE_E_SOURCE);
    return done();
}
