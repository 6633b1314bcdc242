/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernel language's public face: source to kernel, and what a compiled kernel knows of its
 * source. A compiled kernel goes the same way as one that was read: the compiler makes VIR0 bytes,
 * and decoder, validator, lowering and verifier judge them. What these refuse becomes a diagnostic.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/internal.h"
#include "runtime/options.h"

static vyre_status read_options(vyre_compile_options *chosen, const vyre_compile_options *options,
                                vyre_error *err)
{
    *chosen = (vyre_compile_options)VYRE_COMPILE_OPTIONS_INIT;
    if (!options) return VYRE_OK;
    vyre_status status =
        vyre_options_read(chosen, options, sizeof *chosen, "vyre_compile_options", err);
    if (!status && chosen->reserved != 0)
        status =
            vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", chosen->reserved);
    return status ? status : vyre_kernel_check_flags(chosen->flags, err);
}

/* Turns what the rooms above the compiler refuse into a diagnostic; everything else stays. */
static vyre_status refuse(const struct lang_request *request, const struct lang_output *output,
                          const vyre_error *why, vyre_error *err)
{
    int placed = why->place_kind == VYRE_PLACE_INSTRUCTION;
    switch (why->status) {
    case VYRE_E_IR_INVALID:
    case VYRE_E_VM_UNSUPPORTED:
        return vyre_lang_refuse(request, output, placed ? (uint32_t)why->place : IR_NONE, why, err);
    case VYRE_E_VM_LIMIT:
        return vyre_lang_refuse(request, output, IR_NONE, why, err);
    default:
        if (err) *err = *why;
        return why->status;
    }
}

/* Gives a kernel the compiler's tables; it has a copy of the bytes. */
static void attach(vyre_kernel *kernel, struct lang_output *output)
{
    vyre_memory_free(output->memory, output->bytes, output->length);
    output->bytes = NULL;
    output->length = 0;
    if (output->memory != kernel->memory)
        kernel->memory->live_bytes += vyre_memory_live(output->memory);
    output->memory = kernel->memory;
    kernel->lang = output;
}

/* With checked arguments. runtime NULL: the kernel has memory of its own. */
static vyre_status compile(vyre *runtime, struct lang_request *request,
                           const vyre_compile_options *options, vyre_kernel **out, vyre_error *err)
{
    vyre_kernel_options reading = VYRE_KERNEL_OPTIONS_INIT;
    struct vyre_memory own;
    struct lang_output *output;
    vyre_kernel *kernel;
    vyre_error why;
    vyre_status status = runtime ? VYRE_OK : vyre_memory_init(&own, options->allocator, err);
    if (status) return status;
    request->file = options->file;
    request->kernel = options->kernel;
    request->most = options->diagnostics;
    request->subgroups = (options->flags & VYRE_KERNEL_NO_SUBGROUPS) == 0;
    request->report = options->report;
    request->ctx = options->report_ctx;
    status = vyre_lang_compile(runtime ? &runtime->memory : &own, request, &output, err);
    if (status) return status;
    reading.flags = options->flags;
    reading.allocator = options->allocator;
    status = vyre_kernel_make(runtime ? &runtime->memory : NULL, output->bytes, output->length,
                              &reading, &kernel, &why);
    if (status) {
        status = refuse(request, output, &why, err);
        vyre_lang_free(output);
        return status;
    }
    attach(kernel, output);
    *out = kernel;
    return VYRE_OK;
}

vyre_status vyre_kernel_compile(const char *source, size_t length,
                                const vyre_compile_options *options, vyre_kernel **kernel,
                                vyre_error *err)
{
    struct lang_request request = {.text = source, .length = length};
    vyre_compile_options chosen;
    if (!source) return vyre_fail(err, VYRE_E_NULL, "source is null");
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    vyre_status status = read_options(&chosen, options, err);
    return status ? status : compile(NULL, &request, &chosen, kernel, err);
}

vyre_status vyre_program_compile(vyre *runtime, const char *source, size_t length,
                                 const vyre_compile_options *compile_options,
                                 const vyre_program_options *options, vyre_program **program,
                                 vyre_error *err)
{
    struct lang_request request = {.text = source, .length = length};
    vyre_compile_options chosen;
    vyre_kernel *kernel;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!source) return vyre_fail(err, VYRE_E_NULL, "source is null");
    if (!program) return vyre_fail(err, VYRE_E_NULL, "program is null");
    vyre_status status = read_options(&chosen, compile_options, err);
    if (!status) status = compile(runtime, &request, &chosen, &kernel, err);
    if (status) return status;
    status = vyre_program_load_kernel(runtime, kernel, options, program, err);
    vyre_kernel_free(kernel);
    return status;
}

vyre_status vyre_source_kernels(const char *source, size_t length,
                                void (*each)(void *ctx, const char *name), void *ctx,
                                vyre_error *err)
{
    struct vyre_memory memory;
    if (!source) return vyre_fail(err, VYRE_E_NULL, "source is null");
    if (!each) return vyre_fail(err, VYRE_E_NULL, "each is null");
    vyre_status status = vyre_memory_init(&memory, NULL, err);
    return status ? status : vyre_lang_kernels(&memory, source, length, each, ctx, err);
}

vyre_status vyre_source_format(const char *source, size_t length, vyre_write_fn write, void *ctx,
                               vyre_error *err)
{
    struct vyre_memory memory;
    if (!source) return vyre_fail(err, VYRE_E_NULL, "source is null");
    if (!write) return vyre_fail(err, VYRE_E_NULL, "write is null");
    vyre_status status = vyre_memory_init(&memory, NULL, err);
    return status ? status : vyre_lang_format(&memory, source, length, write, ctx, err);
}

vyre_position vyre_kernel_source(const vyre_kernel *kernel, uint32_t id)
{
    vyre_position position = {"", 0, 0};
    if (kernel->lang) vyre_lang_position(kernel->lang, id, &position);
    return position;
}

vyre_status vyre_kernel_position(const vyre_kernel *kernel, uint32_t pc, vyre_position *position,
                                 vyre_error *err)
{
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!position) return vyre_fail(err, VYRE_E_NULL, "position is null");
    uint32_t count = kernel->code->header->code_count;
    if (pc >= count)
        return vyre_fail(err, VYRE_E_RANGE, "instruction %u; the kernel has %u, counted from 0", pc,
                         count);
    *position = vyre_kernel_source(kernel, kernel->code->source[pc]);
    return VYRE_OK;
}

vyre_status vyre_kernel_bytes(const vyre_kernel *kernel, const void **bytes, size_t *length,
                              vyre_error *err)
{
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!bytes) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    if (!length) return vyre_fail(err, VYRE_E_NULL, "length is null");
    *bytes = kernel->bytes;
    *length = kernel->length;
    return VYRE_OK;
}

static void write_value(char conversion, uint32_t value, char text[32])
{
    switch (conversion) {
    case 'd':
        snprintf(text, 32, "%d", (int)value);
        break;
    case 'x':
        snprintf(text, 32, "%x", (unsigned)value);
        break;
    case 'f':
        vyre_vm_float_text(value, text);
        break;
    default:
        snprintf(text, 32, "%u", (unsigned)value);
    }
}

/* The compiler has seen to it that the conversions are these and at most two. */
static void write_print(const char *format, const uint32_t values[2], char *text, size_t room)
{
    size_t used = 0;
    for (uint32_t next = 0; *format; format++) {
        char shown[32] = {*format, '\0'};
        if (*format == '%' && format[1] == '%')
            format++;
        else if (*format == '%' && format[1] && next < 2)
            write_value(*++format, values[next++], shown);
        size_t length = strlen(shown);
        if (length > room - 1 - used) length = room - 1 - used;
        memcpy(text + used, shown, length);
        used += length;
    }
    text[used] = '\0';
}

vyre_status vyre_kernel_print_text(const vyre_kernel *kernel, uint32_t number, uint32_t a,
                                   uint32_t b, char *text, size_t room, vyre_error *err)
{
    const uint32_t values[2] = {a, b};
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!text) return vyre_fail(err, VYRE_E_NULL, "text is null");
    if (room == 0) return vyre_fail(err, VYRE_E_TOO_SMALL, "a text needs room for at least a zero");
    const struct lang_output *lang = kernel->lang;
    for (uint32_t i = 0; lang && i < lang->print_count; i++) {
        if (lang->prints[i].number != number) continue;
        write_print(lang->prints[i].text, values, text, room);
        return VYRE_OK;
    }
    return vyre_fail_with(err, VYRE_E_NOT_FOUND, "ask the kernel whose slot the record names",
                          "no print() of this kernel has the number %u", number);
}
