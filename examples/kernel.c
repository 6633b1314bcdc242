/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A kernel in vyre's own language, from its source to its results: y = a * x + y. Usually the
 * source is a file; here it stands below. What the compiler has to say is shown as `vyre build`
 * shows it.
 */
#include <stdio.h>
#include <string.h>
#include <vyre/vyre.h>

static const char source[] = "@guard(y)\n"
                             "kernel saxpy(f32 a, in f32 x[], inout f32 y[])\n"
                             "{\n"
                             "    y[i] = a * x[i] + y[i];\n"
                             "}\n";

static int put(void *ctx, const char *text, size_t length)
{
    return fwrite(text, 1, length, (FILE *)ctx) == length ? 0 : -1;
}

static void show(void *ctx, const vyre_diagnostic *diagnostic)
{
    vyre_diagnostic_write(diagnostic, source, sizeof source - 1, 0, put, ctx, NULL);
}

int main(void)
{
    vyre *rt = NULL;
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_buffer *buffers[3] = {NULL}; /* in order of declaration: a comes with the slot, x, y */
    vyre_completion end;
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    float a = 2, x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40};
    uint32_t scalar;
    uint64_t ticket;

    options.file = "saxpy.vyre";
    options.report = show;
    options.report_ctx = stderr;
    if (vyre_open(&rt, NULL, &err)) goto fail;
    if (vyre_program_compile(rt, source, sizeof source - 1, &options, NULL, &program, &err))
        goto fail;
    for (int i = 1; i < 3; i++)
        if (vyre_buffer_create(rt, sizeof x, VYRE_DEVICE, &buffers[i], &err)) goto fail;
    if (vyre_buffer_write(buffers[1], 0, x, sizeof x, &err)) goto fail;
    if (vyre_buffer_write(buffers[2], 0, y, sizeof y, &err)) goto fail;
    if (vyre_bindings_create(program, buffers, 3, &bindings, &err)) goto fail;

    memcpy(&scalar, &a, sizeof scalar);
    run.program = program;
    run.bindings = bindings; /* the grid is one workgroup by default */
    run.scalars = &scalar;
    run.scalar_count = 1;
    vyre_queue *queue = vyre_queue_default(rt);
    if (vyre_prep_run(vyre_queue_slot(queue), &run, &err)) goto fail;
    if (vyre_queue_submit(queue, &ticket, &err)) goto fail;
    if (vyre_wait(queue, ticket, VYRE_FOREVER, &end, &err)) goto fail;
    if (end.outcome != VYRE_DONE) {
        vyre_position at = {"", 0, 0};
        vyre_kernel_position(vyre_program_kernel(program), end.pc, &at, NULL);
        fprintf(stderr, "the kernel ended with %s at %s:%u:%u\n", vyre_fault_name(end.fault),
                at.file, at.line, at.column);
        vyre_close(rt);
        return 1;
    }
    if (vyre_buffer_read(buffers[2], 0, y, sizeof y, &err)) goto fail;
    printf("%g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    vyre_close(rt); /* frees all of it */
    return 0;

fail:
    fprintf(stderr, "%s\n  fix: %s\n", err.message, err.fix);
    vyre_close(rt);
    return 1;
}
