/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of the kernel language share: a kernel from a file or a text, buffers and scalars
 * given by name, one launch at a time, and comparison bit by bit. Include it first.
 *
 * With VYRE_TEST_BACKEND=cuda each launch also runs on the CPU backend in this process, from the
 * same bytes: how it ends and every byte that it leaves must be the same. VYRE_TEST_KERNELS is
 * where the example kernels are, where that is not where the test was built.
 */
#ifndef VYRE_TESTS_LANG_TEST_H
#define VYRE_TESTS_LANG_TEST_H

#include "same_run.h"
#include "support.h"

#define KERNEL_BUFFERS 24u
#define COUNT(array)   (sizeof(array) / sizeof(array)[0])

struct kernel {
    vyre *rt;
    vyre_program *program;
    const char *name;
    bool unordered; /* what it leaves depends on the order of lanes */
    uint32_t count; /* of buffers, scalars included */
    vyre_kernel_buffer_info buffer[KERNEL_BUFFERS];
};

/* One buffer or scalar of a launch. */
struct given {
    const char *name;
    vyre_buffer *buffer; /* NULL: a scalar */
    uint32_t bits;
};

TAP_UNUSED static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define BUFFER(n, b)                                                                               \
    {                                                                                              \
        n, b, 0                                                                                    \
    }
#define U32(n, v)                                                                                  \
    {                                                                                              \
        n, NULL, v                                                                                 \
    }
#define F32(n, v)                                                                                  \
    {                                                                                              \
        n, NULL, bits_of(v)                                                                        \
    }

TAP_UNUSED static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file) bail("cannot open %s", path);
    if (fseek(file, 0, SEEK_END) != 0) bail("cannot read %s", path);
    long end = ftell(file);
    rewind(file);
    char *text = malloc((size_t)end + 1);
    if (!text || fread(text, 1, (size_t)end, file) != (size_t)end) bail("cannot read %s", path);
    fclose(file);
    text[end] = '\0';
    *length = (size_t)end;
    return text;
}

/* Counts in *ctx, if there is one, and shows. */
TAP_UNUSED static void show_diagnostic(void *ctx, const vyre_diagnostic *diagnostic)
{
    uint32_t *count = ctx;
    if (count) ++*count;
    note("%s:%u:%u: %s %s; fix: %s", diagnostic->file, diagnostic->line, diagnostic->column,
         diagnostic->code, diagnostic->message, diagnostic->fix);
}

TAP_UNUSED static struct kernel kernel_of(vyre *rt, vyre_program *program, const char *name)
{
    struct kernel kernel = {.rt = rt, .program = program, .name = name};
    vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
    vyre_error err;
    must(vyre_kernel_query(vyre_program_kernel(program), &info, &err), &err);
    if (info.buffers > KERNEL_BUFFERS) bail("%s has %u buffers", name, info.buffers);
    kernel.count = info.buffers;
    for (uint32_t i = 0; i < info.buffers; i++) {
        kernel.buffer[i] = (vyre_kernel_buffer_info)VYRE_KERNEL_BUFFER_INFO_INIT;
        must(vyre_kernel_buffer(vyre_program_kernel(program), i, &kernel.buffer[i], &err), &err);
    }
    return kernel;
}

/* A kernel of examples/kernels/<file>.vyre. */
TAP_UNUSED static struct kernel open_kernel(vyre *rt, const char *file, const char *name)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_error err;
    char path[1024];
    size_t length;
    const char *directory = getenv("VYRE_TEST_KERNELS");
    snprintf(path, sizeof path, "%s/%s.vyre", directory ? directory : VYRE_EXAMPLE_KERNELS, file);
    char *text = read_text(path, &length);
    options.file = path;
    options.kernel = name;
    options.report = show_diagnostic;
    vyre_status status = vyre_program_compile(rt, text, length, &options, NULL, &program, &err);
    if (status) bail("%s: %s: %.300s", file, vyre_status_name(status), err.message);
    free(text);
    return kernel_of(rt, program, name);
}

TAP_UNUSED static void close_kernel(struct kernel *kernel)
{
    vyre_error err;
    must(vyre_program_unload(kernel->program, &err), &err);
}

/* A buffer with a copy of `data`, or zero. */
TAP_UNUSED static vyre_buffer *buffer_of(vyre *rt, const void *data, size_t bytes)
{
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, bytes, VYRE_DEVICE, &buffer, &err), &err);
    if (data) must(vyre_buffer_write(buffer, 0, data, bytes, &err), &err);
    return buffer;
}

TAP_UNUSED static void fetch(vyre_buffer *buffer, void *data, size_t bytes)
{
    vyre_error err;
    must(vyre_buffer_read(buffer, 0, data, bytes, &err), &err);
}

TAP_UNUSED static void put(vyre_buffer *buffer, const void *data, size_t bytes)
{
    vyre_error err;
    must(vyre_buffer_write(buffer, 0, data, bytes, &err), &err);
}

TAP_UNUSED static const struct given *find_given(const struct given *given, size_t count,
                                                 const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(given[i].name, name) == 0) return &given[i];
    return NULL;
}

/* Runs a grid of x by y workgroups and waits for its end. */
TAP_UNUSED static vyre_completion launch_once(const struct kernel *kernel, uint32_t x, uint32_t y,
                                              const struct given *given, size_t count)
{
    vyre_buffer *buffers[KERNEL_BUFFERS] = {NULL};
    uint32_t scalars[KERNEL_BUFFERS];
    vyre_queue *queue = vyre_queue_default(kernel->rt);
    vyre_run run = VYRE_RUN_INIT;
    size_t used = 0;
    vyre_error err;
    for (uint32_t i = 0; i < kernel->count; i++) {
        const vyre_kernel_buffer_info *info = &kernel->buffer[i];
        if (info->flags & VYRE_KERNEL_BUFFER_WORKGROUP) continue;
        const struct given *one = find_given(given, count, info->name);
        if (!one) bail("%s: nothing is given for `%s`", kernel->name, info->name);
        if (info->flags & VYRE_KERNEL_BUFFER_SCALAR)
            scalars[run.scalar_count++] = one->bits;
        else
            buffers[i] = one->buffer;
        used++;
    }
    if (used != count) bail("%s: %zu names are given, %zu are known", kernel->name, count, used);
    must(vyre_bindings_create(kernel->program, buffers, kernel->count, &run.bindings, &err), &err);
    run.program = kernel->program;
    run.grid[0] = x;
    run.grid[1] = y;
    run.scalars = scalars;
    run.queue = queue;
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    vyre_completion end = wait_for(queue, submit(queue));
    vyre_bindings_free(run.bindings);
    return end;
}

/* A copy of a buffer on another runtime. */
TAP_UNUSED static vyre_buffer *twin_buffer(vyre *twin, vyre_buffer *buffer)
{
    size_t size = vyre_buffer_size(buffer);
    void *bytes = malloc(size);
    if (!bytes) bail("out of memory");
    fetch(buffer, bytes, size);
    vyre_buffer *copy = buffer_of(twin, bytes, size);
    free(bytes);
    return copy;
}

/* Compares what a launch left with what it leaves on the CPU, from the same bytes. */
TAP_UNUSED static void compare_given(const struct kernel *kernel, const struct given *given,
                                     const struct given *copies, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!given[i].buffer) continue;
        size_t size = vyre_buffer_size(given[i].buffer);
        void *here = malloc(size), *there = malloc(size);
        if (!here || !there) bail("out of memory");
        fetch(copies[i].buffer, here, size);
        fetch(given[i].buffer, there, size);
        if (!same_run_bytes(kernel->name, (uint32_t)i, here, there, size))
            ok(0, "%s: `%s` is the same on the CPU", kernel->name, given[i].name);
        free(here);
        free(there);
    }
}

/* As launch_once; on a GPU with the CPU beside it, where both must leave the same. */
TAP_UNUSED static vyre_completion launch(const struct kernel *kernel, uint32_t x, uint32_t y,
                                         const struct given *given, size_t count)
{
    static vyre *twin;
    const char *backend = getenv("VYRE_TEST_BACKEND");
    if (!backend || strcmp(backend, "cuda") != 0 || kernel->unordered)
        return launch_once(kernel, x, y, given, count);
    vyre_options options = VYRE_OPTIONS_INIT;
    struct given copies[KERNEL_BUFFERS];
    vyre_program *program = NULL;
    vyre_error err;
    options.backend = VYRE_BACKEND_CPU;
    options.place = VYRE_PLACE_PROCESS;
    options.workers = 2;
    if (!twin) twin = open_with(&options); /* lives as long as the test */
    for (size_t i = 0; i < count; i++) {
        copies[i] = given[i];
        for (size_t k = 0; k < i && given[i].buffer; k++)
            if (given[k].buffer == given[i].buffer) bail("%s: a buffer twice", kernel->name);
        if (given[i].buffer) copies[i].buffer = twin_buffer(twin, given[i].buffer);
    }
    vyre_completion there = launch_once(kernel, x, y, given, count);
    must(vyre_program_load_kernel(twin, (vyre_kernel *)vyre_program_kernel(kernel->program), NULL,
                                  &program, &err),
         &err);
    struct kernel beside = kernel_of(twin, program, kernel->name);
    vyre_completion here = launch_once(&beside, x, y, copies, count);
    uint32_t rules = SAME_RUN_PATIENT | (x * y == 1 ? SAME_RUN_ALONE : 0);
    if (!same_run_end(kernel->name, &here, &there, rules))
        ok(0, "%s ends as it does on the CPU", kernel->name);
    if (here.outcome == VYRE_DONE || x * y == 1) compare_given(kernel, given, copies, count);
    close_kernel(&beside);
    for (size_t i = 0; i < count; i++)
        if (given[i].buffer) vyre_buffer_free(copies[i].buffer);
    return there;
}

/* A launch that must end well, with every access in bounds: a failed test where it does not. */
TAP_UNUSED static void run_well(const struct kernel *kernel, uint32_t x, uint32_t y,
                                const struct given *given, size_t count)
{
    vyre_completion end = launch(kernel, x, y, given, count);
    if (end.outcome != VYRE_DONE)
        ok(0, "%s ended with %s at instruction %u", kernel->name, vyre_fault_name(end.fault),
           end.pc);
    if (end.out_of_bounds != 0)
        ok(0, "%s: %u accesses were out of bounds", kernel->name, end.out_of_bounds);
}

#define GIVEN(...)                                                                                 \
    (const struct given[]){__VA_ARGS__},                                                           \
        sizeof((const struct given[]){__VA_ARGS__}) / sizeof(struct given)
#define RUN(kernel, x, y, ...) run_well(kernel, x, y, GIVEN(__VA_ARGS__))

/* Workgroups of `size` lanes for `count` lanes. */
TAP_UNUSED static uint32_t groups(uint32_t count, uint32_t size)
{
    return (count + size - 1) / size;
}

/* One test: `count` elements of `size` bytes are the same, bit by bit. */
TAP_FORMAT(5, 6)
static int same(const void *got, const void *expected, size_t count, size_t size,
                const char *format, ...)
{
    const uint8_t *a = got, *b = expected;
    size_t first = 0;
    while (first < count && memcmp(a + first * size, b + first * size, size) == 0)
        first++;
    va_list args;
    va_start(args, format);
    tap_result(first == count, TAP_PLACE, format, args);
    va_end(args);
    if (first == count) return 1;
    uint32_t has = 0, wants = 0;
    memcpy(&has, a + first * size, size < 4 ? size : 4);
    memcpy(&wants, b + first * size, size < 4 ? size : 4);
    printf("#   element %zu of %zu is 0x%x, expected 0x%x\n", first, count, has, wants);
    return 0;
}

/* Between -1 and 1, in steps that a float holds exactly. */
TAP_UNUSED static float random_float(uint64_t *state)
{
    return (float)(int32_t)(random_next(state) >> 40) / 8388608.0f - 1.0f;
}

TAP_UNUSED static float *random_floats(uint64_t *state, size_t count)
{
    float *made = malloc(count * sizeof *made);
    if (!made) bail("out of memory");
    for (size_t i = 0; i < count; i++)
        made[i] = random_float(state);
    return made;
}

TAP_UNUSED static uint32_t *random_words(uint64_t *state, size_t count)
{
    uint32_t *made = malloc(count * sizeof *made);
    if (!made) bail("out of memory");
    for (size_t i = 0; i < count; i++)
        made[i] = (uint32_t)random_next(state);
    return made;
}

TAP_UNUSED static void *zeroes(size_t count, size_t size)
{
    void *made = calloc(count ? count : 1, size);
    if (!made) bail("out of memory");
    return made;
}

#endif
