/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Kernels: what reading accepts and refuses, what a kernel says about itself, and that its memory
 * comes from the caller's allocator and goes back whole.
 */
#include "meter.h"

#include "kernels.h"

static vyre_kernel *read_code(struct code *code, uint32_t flags)
{
    vyre_kernel_options options = VYRE_KERNEL_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    options.flags = flags;
    must(vyre_kernel_read(code->bytes, code->length, &options, &kernel, &err), &err);
    code_free(code);
    return kernel;
}

static void refusals(void)
{
    struct {
        vyre_kernel_options options;
        unsigned char tail[16];
    } longer = {VYRE_KERNEL_OPTIONS_INIT, {0}};
    vyre_kernel_options options = VYRE_KERNEL_OPTIONS_INIT;
    vyre_kernel *const untouched = (vyre_kernel *)(uintptr_t)0x5A5A;
    vyre_kernel *kernel = untouched;
    vyre_error err;
    struct code code = code_saxpy();
    refused(vyre_kernel_read(NULL, 100, NULL, &kernel, &err), VYRE_E_NULL, &err, "no bytes");
    refused(vyre_kernel_read(code.bytes, code.length, NULL, NULL, &err), VYRE_E_NULL, &err,
            "no place");
    options.size--;
    refused(vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err), VYRE_E_SIZE, &err,
            "options of another size");
    options.size++;
    options.flags = 4;
    refused(vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err), VYRE_E_RESERVED,
            &err, "an unknown flag");
    options.flags = 0;
    options.reserved = 1;
    refused(vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err), VYRE_E_RESERVED,
            &err, "the reserved word");
    longer.options.size = sizeof longer;
    longer.tail[15] = 1;
    refused(vyre_kernel_read(code.bytes, code.length, &longer.options, &kernel, &err),
            VYRE_E_RESERVED, &err, "an unknown tail");
    ok(kernel == untouched, "nothing was stored");
    longer.tail[15] = 0;
    works(vyre_kernel_read(code.bytes, code.length, &longer.options, &kernel, &err), &err,
          "a longer structure with a tail of zeros");
    vyre_kernel_free(kernel);
    vyre_kernel_free(NULL);
    code_free(&code);
}

/* What is no program at all. */
static void bad_bytes(void)
{
    vyre_kernel *kernel = NULL;
    vyre_error err;
    struct code code = code_saxpy();
    unsigned char *bytes = code.bytes;
    refused(vyre_kernel_read(bytes, 0, NULL, &kernel, &err), VYRE_E_IR_SIZE, &err, "nothing");
    refused(vyre_kernel_read(bytes, 39, NULL, &kernel, &err), VYRE_E_IR_SIZE, &err, "39 bytes");
    refused(vyre_kernel_read(bytes, code.length - 1, NULL, &kernel, &err), VYRE_E_IR_DIGEST, &err,
            "one byte less");
    bytes[0] ^= 1;
    refused(vyre_kernel_read(bytes, code.length, NULL, &kernel, &err), VYRE_E_IR_MAGIC, &err,
            "another magic");
    bytes[0] ^= 1;
    bytes[4] = 5;
    refused(vyre_kernel_read(bytes, code.length, NULL, &kernel, &err), VYRE_E_IR_VERSION, &err,
            "another version");
    bytes[4] = 4;
    bytes[6] ^= 1;
    refused(vyre_kernel_read(bytes, code.length, NULL, &kernel, &err), VYRE_E_IR_FLAGS, &err,
            "other flags");
    bytes[6] ^= 1;
    bytes[code.length - 1] ^= 1;
    refused(vyre_kernel_read(bytes, code.length, NULL, &kernel, &err), VYRE_E_IR_DIGEST, &err,
            "a changed byte");
    ok(kernel == NULL, "nothing was stored");
    code_free(&code);
}

struct heard {
    uint32_t count;
    uint32_t wrong;
    char code[16];
    char path[200];
};

static void hear(void *ctx, const vyre_finding *finding)
{
    struct heard *heard = ctx;
    heard->count++;
    heard->wrong += !finding->message[0] || !finding->rule[0] || !finding->fix[0];
    if (heard->count == 1) {
        snprintf(heard->code, sizeof heard->code, "%s", finding->code);
        snprintf(heard->path, sizeof heard->path, "%s", finding->path);
    }
}

static void findings(void)
{
    vyre_kernel_options options = VYRE_KERNEL_OPTIONS_INIT;
    struct heard heard = {0};
    vyre_kernel *kernel = NULL;
    vyre_error err;
    struct code code = code_invalid();
    refused(vyre_kernel_read(code.bytes, code.length, NULL, &kernel, &err), VYRE_E_IR_INVALID, &err,
            "a program that breaks a rule");
    options.report = hear;
    options.report_ctx = &heard;
    refused(vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err), VYRE_E_IR_INVALID,
            &err, "the same with somebody who listens");
    is_u64(heard.count, 1, "one finding by default");
    is_u64(heard.wrong, 0, "with message, rule and fix");
    ok(heard.code[0] == 'V' && strstr(err.message, heard.code), "the message names the code %s",
       heard.code);
    ok(strncmp(heard.path, "entry[0].body[0]", 16) == 0, "the path leads there: %s", heard.path);
    heard = (struct heard){0};
    options.findings = 2;
    vyre_kernel_read(code.bytes, code.length, &options, &kernel, NULL);
    is_u64(heard.count, 2, "two if two are asked for");
    heard = (struct heard){0};
    options.findings = 100;
    vyre_kernel_read(code.bytes, code.length, &options, &kernel, NULL);
    is_u64(heard.count, 3, "three if there are no more");
    ok(kernel == NULL && heard.wrong == 0, "nothing was stored");
    code_free(&code);

    code = code_subgroup();
    options = (vyre_kernel_options)VYRE_KERNEL_OPTIONS_INIT;
    options.flags = VYRE_KERNEL_NO_SUBGROUPS;
    refused(vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err), VYRE_E_IR_INVALID,
            &err, "subgroup operations where there shall be none");
    code_free(&code);
}

static void query(void)
{
    vyre_kernel_info info = {.size = sizeof info};
    vyre_error err;
    struct code code = code_saxpy();
    uint8_t expected[32];
    vyre_ir_fingerprint(code.bytes, code.length, expected);
    vyre_kernel *kernel = read_code(&code, 0);
    works(vyre_kernel_query(kernel, &info, &err), &err, "query");
    ok(info.workgroup[0] == 64 && info.workgroup[1] == 1 && info.workgroup[2] == 1, "64 lanes");
    ok(info.buffers == 3 && info.scalars == 1, "three buffers, one of them a scalar parameter");
    ok(info.instructions > 0 && info.registers > 0 && info.workgroup_bytes == 0, "it has code");
    ok(info.frame_bytes > 64 * info.registers * 4u, "a frame holds its registers");
    ok(memcmp(info.fingerprint, expected, 32) == 0, "fingerprint");
    is_u64(info.facts & ~(uint32_t)VYRE_FACT_PURE, 0,
           "no barriers, atomics, subgroups, not strict");
    refused(vyre_kernel_query(NULL, &info, &err), VYRE_E_NULL, &err, "no kernel");
    refused(vyre_kernel_query(kernel, NULL, &err), VYRE_E_NULL, &err, "no info");
    info.size--;
    refused(vyre_kernel_query(kernel, &info, &err), VYRE_E_SIZE, &err, "another size");
    vyre_kernel_free(kernel);

    code = code_saxpy();
    kernel = read_code(&code, VYRE_KERNEL_STRICT);
    info.size = sizeof info;
    must(vyre_kernel_query(kernel, &info, &err), &err);
    ok(info.facts & VYRE_FACT_STRICT, "strict");
    vyre_kernel_free(kernel);

    code = code_count();
    kernel = read_code(&code, 0);
    must(vyre_kernel_query(kernel, &info, &err), &err);
    ok((info.facts & VYRE_FACT_ATOMIC) && !(info.facts & VYRE_FACT_PURE), "atomics: not pure");
    vyre_kernel_free(kernel);

    code = code_subgroup();
    kernel = read_code(&code, 0);
    must(vyre_kernel_query(kernel, &info, &err), &err);
    ok(info.facts & VYRE_FACT_SUBGROUP, "subgroups");
    vyre_kernel_free(kernel);

    code = code_alone(1000);
    kernel = read_code(&code, 0);
    must(vyre_kernel_query(kernel, &info, &err), &err);
    ok(info.workgroup_bytes >= 4000 && info.frame_bytes > info.workgroup_bytes, "4000 bytes");
    vyre_kernel_free(kernel);
}

static vyre_kernel_buffer_info buffer_of(const vyre_kernel *kernel, uint32_t index)
{
    vyre_kernel_buffer_info info = {.size = sizeof info};
    vyre_error err;
    must(vyre_kernel_buffer(kernel, index, &info, &err), &err);
    return info;
}

static void buffers(void)
{
    vyre_kernel_buffer_info info = {.size = sizeof info};
    vyre_error err;
    struct code code = code_saxpy();
    vyre_kernel *kernel = read_code(&code, 0);
    info = buffer_of(kernel, 0);
    is_str(info.name, "a", "the first buffer's name");
    is_str(info.type, "f32", "and type");
    is_u64(info.flags, VYRE_KERNEL_BUFFER_READ | VYRE_KERNEL_BUFFER_SCALAR, "a scalar parameter");
    ok(info.stride == 4 && info.count == 1 && info.bytes == 4, "of 4 bytes");
    info = buffer_of(kernel, 1);
    is_u64(info.flags, VYRE_KERNEL_BUFFER_READ, "x is read");
    ok(info.binding == 1 && info.count == 0 && info.bytes == 0, "of any length");
    info = buffer_of(kernel, 2);
    is_u64(info.flags,
           VYRE_KERNEL_BUFFER_READ | VYRE_KERNEL_BUFFER_WRITTEN | VYRE_KERNEL_BUFFER_RETURNED,
           "y is read, written and returned");
    refused(vyre_kernel_buffer(kernel, 3, &info, &err), VYRE_E_RANGE, &err, "there is no fourth");
    refused(vyre_kernel_buffer(NULL, 0, &info, &err), VYRE_E_NULL, &err, "no kernel");
    refused(vyre_kernel_buffer(kernel, 0, NULL, &err), VYRE_E_NULL, &err, "no info");
    info.size = 8;
    refused(vyre_kernel_buffer(kernel, 0, &info, &err), VYRE_E_SIZE, &err, "another size");
    vyre_kernel_free(kernel);

    code = code_fill(100, 0);
    kernel = read_code(&code, 0);
    info = buffer_of(kernel, 0);
    is_u64(info.flags,
           VYRE_KERNEL_BUFFER_WRITTEN | VYRE_KERNEL_BUFFER_OUTPUT | VYRE_KERNEL_BUFFER_RETURNED,
           "an output");
    ok(info.bytes == 400 && info.range_start == 0 && info.range_end == 0, "of 400 bytes");
    vyre_kernel_free(kernel);

    code = code_alone(10);
    kernel = read_code(&code, 0);
    info = buffer_of(kernel, 0);
    is_u64(info.flags, VYRE_KERNEL_BUFFER_WRITTEN | VYRE_KERNEL_BUFFER_WORKGROUP,
           "workgroup memory");
    is_u64(info.count, 10, "of 10 words");
    vyre_kernel_free(kernel);

    code_begin();
    struct ir_buffer *ranged = out("r", IR_TYPE_U32, 8);
    ranged->has_range = 1;
    ranged->range_start = 4;
    ranged->range_end = 12;
    code = code_end(program(store("r", u32(0), u32(1))));
    kernel = read_code(&code, 0);
    info = buffer_of(kernel, 0);
    ok(info.range_start == 4 && info.range_end == 12, "a range of a result");
    vyre_kernel_free(kernel);
}

static void grids(void)
{
    uint32_t grid[3] = {7, 7, 7};
    vyre_error err;
    struct code code = code_saxpy();
    vyre_kernel *kernel = read_code(&code, 0);
    works(vyre_kernel_grid(kernel, (uint64_t[]){0, 4000, 4000}, 3, grid, &err), &err, "a grid");
    ok(grid[0] == 16 && grid[1] == 1 && grid[2] == 1, "1000 elements are 16 workgroups of 64");
    grid[0] = 7;
    refused(vyre_kernel_grid(kernel, (uint64_t[]){0, 4}, 2, grid, &err), VYRE_E_RANGE, &err,
            "two sizes for three buffers");
    refused(vyre_kernel_grid(NULL, NULL, 0, grid, &err), VYRE_E_NULL, &err, "no kernel");
    refused(vyre_kernel_grid(kernel, NULL, 3, grid, &err), VYRE_E_NULL, &err, "no sizes");
    refused(vyre_kernel_grid(kernel, (uint64_t[]){0, 4, 4}, 3, NULL, &err), VYRE_E_NULL, &err,
            "no place");
    is_u64(grid[0], 7, "nothing was stored");
    vyre_kernel_free(kernel);
}

struct text {
    char bytes[8192];
    size_t length;
    uint32_t pieces_left; /* 0: no limit */
};

static int collect(void *ctx, const char *piece, size_t length)
{
    struct text *text = ctx;
    if (text->pieces_left == 1) return 1;
    if (text->pieces_left) text->pieces_left--;
    if (length >= sizeof text->bytes - text->length) bail("a long text");
    memcpy(text->bytes + text->length, piece, length);
    text->length += length;
    text->bytes[text->length] = '\0';
    return 0;
}

static void texts(void)
{
    struct text text = {0};
    char path[200];
    vyre_kernel_info info = {.size = sizeof info};
    vyre_error err;
    struct code code = code_saxpy();
    vyre_kernel *kernel = read_code(&code, 0);
    works(vyre_kernel_print(kernel, VYRE_TEXT_PROGRAM, collect, &text, &err), &err, "the program");
    ok(strstr(text.bytes, "x") && strstr(text.bytes, "y"), "names its buffers");
    text = (struct text){0};
    works(vyre_kernel_print(kernel, VYRE_TEXT_BYTECODE, collect, &text, &err), &err, "bytecode");
    ok(text.length > 100, "is some text");
    text = (struct text){.pieces_left = 1};
    refused(vyre_kernel_print(kernel, VYRE_TEXT_PROGRAM, collect, &text, &err), VYRE_E_SYSTEM, &err,
            "the writer ends it");
    text = (struct text){.pieces_left = 1};
    refused(vyre_kernel_print(kernel, VYRE_TEXT_BYTECODE, collect, &text, &err), VYRE_E_SYSTEM,
            &err, "the writer ends it");
    refused(vyre_kernel_print(kernel, (enum vyre_kernel_text)3, collect, &text, &err), VYRE_E_RANGE,
            &err, "no such text");
    refused(vyre_kernel_print(NULL, VYRE_TEXT_PROGRAM, collect, &text, &err), VYRE_E_NULL, &err,
            "no kernel");
    refused(vyre_kernel_print(kernel, VYRE_TEXT_PROGRAM, NULL, &text, &err), VYRE_E_NULL, &err,
            "no writer");

    must(vyre_kernel_query(kernel, &info, &err), &err);
    uint32_t placed = 0;
    for (uint32_t pc = 0; pc < info.instructions; pc++) {
        must(vyre_kernel_place(kernel, pc, path, sizeof path, &err), &err);
        placed += strncmp(path, "entry[0]", 8) == 0;
    }
    ok(placed > 0, "%u of %u instructions have a place", placed, info.instructions);
    refused(vyre_kernel_place(kernel, info.instructions, path, sizeof path, &err), VYRE_E_RANGE,
            &err, "past the end");
    refused(vyre_kernel_place(kernel, 0, path, 0, &err), VYRE_E_TOO_SMALL, &err, "no room");
    refused(vyre_kernel_place(kernel, 0, NULL, 10, &err), VYRE_E_NULL, &err, "no path");
    refused(vyre_kernel_place(NULL, 0, path, 10, &err), VYRE_E_NULL, &err, "no kernel");
    vyre_kernel_free(kernel);
}

/* Every allocation fails once. */
static void allocations(void)
{
    struct code code = code_saxpy();
    uint32_t wrong = 0;
    uint64_t n = 0, failures;
    do {
        struct meter meter = {.fail_at = ++n};
        vyre_allocator hooks = meter_allocator(&meter);
        vyre_kernel_options options = VYRE_KERNEL_OPTIONS_INIT;
        vyre_kernel *kernel = NULL;
        vyre_error err;
        options.allocator = &hooks;
        vyre_status status = vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err);
        failures = meter.failures;
        if (failures)
            wrong += status != VYRE_E_NO_MEMORY || kernel || err.status != status;
        else
            wrong += status != VYRE_OK;
        vyre_kernel_free(kernel);
        wrong += !meter_clean(&meter);
    } while (failures != 0 && n < 1000);
    ok(n > 3 && n < 1000, "%llu places where memory can fail", (unsigned long long)(n - 1));
    is_u64(wrong, 0, "each gave a status, and nothing was lost");
    vyre_kernel_options options = VYRE_KERNEL_OPTIONS_INIT;
    vyre_allocator half = {meter_alloc, NULL, NULL, NULL, NULL};
    vyre_kernel *kernel = NULL;
    vyre_error err;
    options.allocator = &half;
    refused(vyre_kernel_read(code.bytes, code.length, &options, &kernel, &err), VYRE_E_NULL, &err,
            "half an allocator");
    code_free(&code);
}

int main(void)
{
    refusals();
    bad_bytes();
    findings();
    query();
    buffers();
    grids();
    texts();
    allocations();
    return done();
}
