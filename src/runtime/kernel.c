/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Kernels: a VIR0 program taken through decoder, validator, lowering and verifier, with the tree
 * and the bytecode kept. No other way leads to a program that a device runs. Counted references
 * keep a kernel while its reader or a loaded program has it; any thread may let go of the last one.
 */
#include <stdio.h>
#include <string.h>

#include "device/warp_frame.h"
#include "runtime/internal.h"
#include "runtime/options.h"

#define KNOWN_FLAGS ((uint32_t)(VYRE_KERNEL_STRICT | VYRE_KERNEL_NO_SUBGROUPS))

/* The public facts are the bytecode's flags. */
static_assert((int)VYRE_FACT_STRICT == VM_PROGRAM_STRICT, "one bit");
static_assert((int)VYRE_FACT_PURE == VM_PROGRAM_PURE, "one bit");
static_assert((int)VYRE_FACT_BARRIER == VM_PROGRAM_BARRIER, "one bit");
static_assert((int)VYRE_FACT_ATOMIC == VM_PROGRAM_ATOMIC, "one bit");
static_assert((int)VYRE_FACT_SUBGROUP == VM_PROGRAM_SUBGROUP, "one bit");

static void release(vyre_kernel *kernel)
{
    /* Its own memory goes with it. */
    struct vyre_memory own = kernel->own;
    struct vyre_memory *memory = kernel->memory == &kernel->own ? &own : kernel->memory;
    vyre_vm_free(kernel->code);
    vyre_ir_program_free(kernel->tree);
    vyre_lang_free(kernel->lang);
    vyre_memory_free(memory, kernel->bytes, kernel->length);
    vyre_memory_free(memory, kernel, sizeof *kernel);
}

void vyre_kernel_hold(vyre_kernel *kernel)
{
    __atomic_fetch_add(&kernel->refs, 1, __ATOMIC_RELAXED);
}

void vyre_kernel_free(vyre_kernel *kernel)
{
    if (kernel && __atomic_fetch_sub(&kernel->refs, 1, __ATOMIC_ACQ_REL) == 1) release(kernel);
}

/* The caller's way of hearing of findings, for the validator to call. */
static void report(void *ctx, const struct ir_finding *finding)
{
    const vyre_kernel_options *options = ctx;
    vyre_finding told = {vyre_ir_rule_code(finding->rule), finding->message, finding->path,
                         vyre_ir_rule_text(finding->rule), vyre_ir_rule_fix(finding->rule)};
    if (options->report) options->report(options->report_ctx, &told);
}

static vyre_status check(vyre_kernel *kernel, const vyre_kernel_options *options, vyre_error *err)
{
    vyre_kernel_options listener = *options;
    struct ir_validate_options rules = {
        .subgroups = (options->flags & VYRE_KERNEL_NO_SUBGROUPS) == 0,
        .most = options->findings > 1 ? options->findings : 1,
        .report = report,
        .ctx = &listener,
    };
    struct vm_lower_options how = {.strict = (options->flags & VYRE_KERNEL_STRICT) != 0};
    vyre_status status = vyre_ir_validate(kernel->tree, &rules, err);
    if (!status) status = vyre_vm_lower(kernel->tree, &how, &kernel->code, err);
    if (status) return status;
    const struct vm_header *header = kernel->code->header;
    return vyre_vm_verify(kernel->memory, header, header->bytes, err);
}

vyre_status vyre_kernel_check_flags(uint32_t flags, vyre_error *err)
{
    if ((flags & ~KNOWN_FLAGS) == 0) return VYRE_OK;
    return vyre_fail(err, VYRE_E_RESERVED, "flags 0x%x has bits that this version does not know",
                     flags);
}

static vyre_status keep_bytes(vyre_kernel *kernel, const void *bytes, size_t length,
                              vyre_error *err)
{
    vyre_status status =
        vyre_memory_alloc(kernel->memory, 1, length, "program bytes", &kernel->bytes, err);
    if (status) return status;
    kernel->length = length;
    memcpy(kernel->bytes, bytes, length);
    vyre_ir_fingerprint(bytes, length, kernel->fingerprint);
    return VYRE_OK;
}

vyre_status vyre_kernel_make(struct vyre_memory *memory, const void *bytes, size_t length,
                             const vyre_kernel_options *options, vyre_kernel **out, vyre_error *err)
{
    struct vyre_memory own;
    void *storage;
    vyre_status status = vyre_kernel_check_flags(options->flags, err);
    if (!status && !memory) status = vyre_memory_init(&own, options->allocator, err);
    if (status) return status;
    status =
        vyre_memory_alloc(memory ? memory : &own, 1, sizeof(vyre_kernel), "kernel", &storage, err);
    if (status) return status;
    vyre_kernel *kernel = storage;
    if (!memory) kernel->own = own;
    kernel->memory = memory ? memory : &kernel->own;
    kernel->refs = 1;
    status = vyre_ir_decode(kernel->memory, bytes, length, &kernel->tree, err);
    if (!status) status = check(kernel, options, err);
    if (!status) status = keep_bytes(kernel, bytes, length, err);
    if (status) {
        release(kernel);
        return status;
    }
    *out = kernel;
    return VYRE_OK;
}

vyre_status vyre_kernel_read(const void *bytes, size_t length, const vyre_kernel_options *options,
                             vyre_kernel **out, vyre_error *err)
{
    vyre_kernel_options chosen = VYRE_KERNEL_OPTIONS_INIT;
    if (!bytes) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    vyre_status status =
        options ? vyre_options_read(&chosen, options, sizeof chosen, "vyre_kernel_options", err)
                : VYRE_OK;
    if (!status && chosen.reserved != 0)
        status = vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", chosen.reserved);
    return status ? status : vyre_kernel_make(NULL, bytes, length, &chosen, out, err);
}

vyre_status vyre_kernel_query(const vyre_kernel *kernel, vyre_kernel_info *info, vyre_error *err)
{
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!info) return vyre_fail(err, VYRE_E_NULL, "info is null");
    if (info->size < sizeof *info)
        return vyre_fail(err, VYRE_E_SIZE, "info.size is %u; this version has %zu bytes",
                         info->size, sizeof *info);
    const struct vm_header *header = kernel->code->header;
    vyre_kernel_info filled;
    memset(&filled, 0, sizeof filled);
    filled.size = info->size;
    filled.facts = header->flags;
    memcpy(filled.workgroup, header->workgroup, sizeof filled.workgroup);
    filled.buffers = header->buffer_count;
    filled.scalars = header->scalar_params;
    filled.instructions = header->code_count;
    filled.registers = header->register_count;
    filled.workgroup_bytes = header->shared_bytes;
    filled.frame_bytes = dev_frame_needs(header);
    memcpy(filled.fingerprint, kernel->fingerprint, sizeof filled.fingerprint);
    *info = filled;
    return VYRE_OK;
}

/* Where the bytecode's flags and the declaration say the same in other words. */
static uint32_t buffer_flags(const struct ir_buffer *declared, const struct vm_buffer *lowered)
{
    uint32_t flags = 0;
    if (lowered->flags & (VM_BUFFER_READ | VM_BUFFER_ATOMIC)) flags |= VYRE_KERNEL_BUFFER_READ;
    if (lowered->flags & (VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC))
        flags |= VYRE_KERNEL_BUFFER_WRITTEN;
    if (lowered->flags & VM_BUFFER_SCALAR) flags |= VYRE_KERNEL_BUFFER_SCALAR;
    if (lowered->flags & VM_BUFFER_SHARED) return flags | VYRE_KERNEL_BUFFER_WORKGROUP;
    if (vyre_ir_buffer_allocated(declared)) flags |= VYRE_KERNEL_BUFFER_OUTPUT;
    if (vyre_ir_buffer_returned(declared)) flags |= VYRE_KERNEL_BUFFER_RETURNED;
    return flags;
}

vyre_status vyre_kernel_buffer(const vyre_kernel *kernel, uint32_t index,
                               vyre_kernel_buffer_info *info, vyre_error *err)
{
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!info) return vyre_fail(err, VYRE_E_NULL, "info is null");
    if (info->size < sizeof *info)
        return vyre_fail(err, VYRE_E_SIZE, "info.size is %u; this version has %zu bytes",
                         info->size, sizeof *info);
    const struct vm_header *header = kernel->code->header;
    if (index >= header->buffer_count)
        return vyre_fail(err, VYRE_E_RANGE, "buffer %u; the kernel has %u, counted from 0", index,
                         header->buffer_count);
    const struct ir_buffer *declared = &kernel->tree->buffers[index];
    const struct vm_buffer *lowered = &vm_buffers(header)[index];
    vyre_kernel_buffer_info filled;
    memset(&filled, 0, sizeof filled);
    filled.size = info->size;
    filled.flags = buffer_flags(declared, lowered);
    filled.name = kernel->tree->names[declared->name].text;
    filled.type = vyre_ir_type_word(declared->type.tag);
    filled.binding = declared->binding;
    filled.stride = lowered->stride;
    filled.count = declared->count;
    filled.bytes = lowered->bytes;
    if (declared->has_range) {
        filled.range_start = declared->range_start;
        filled.range_end = declared->range_end;
    }
    *info = filled;
    return VYRE_OK;
}

vyre_status vyre_kernel_grid(const vyre_kernel *kernel, const uint64_t *bytes, size_t count,
                             uint32_t grid[3], vyre_error *err)
{
    uint32_t found[3];
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!bytes && count != 0) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    if (!grid) return vyre_fail(err, VYRE_E_NULL, "grid is null");
    uint32_t buffers = kernel->code->header->buffer_count;
    if (count != buffers)
        return vyre_fail_with(err, VYRE_E_RANGE, "give one size for each buffer, 0 where none is",
                              "%zu sizes for a kernel of %u buffers", count, buffers);
    vyre_status status = vyre_ir_grid(kernel->tree, bytes, found, err);
    if (!status) memcpy(grid, found, sizeof found);
    return status;
}

/* The source's line before the first instruction of each. */
struct lines {
    const vyre_kernel *kernel;
    uint32_t line;
    char text[256];
};

static const char *note_line(void *ctx, uint32_t id)
{
    struct lines *lines = ctx;
    vyre_position at = vyre_kernel_source(lines->kernel, id);
    if (at.line == 0 || at.line == lines->line) return NULL;
    lines->line = at.line;
    snprintf(lines->text, sizeof lines->text, "%.200s%s%u:%u", at.file, at.file[0] ? ":" : "",
             (unsigned)at.line, (unsigned)at.column);
    return lines->text;
}

vyre_status vyre_kernel_print(const vyre_kernel *kernel, enum vyre_kernel_text text,
                              vyre_write_fn write, void *ctx, vyre_error *err)
{
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!write) return vyre_fail(err, VYRE_E_NULL, "write is null");
    struct lines lines = {.kernel = kernel};
    struct vm_printing how = {kernel->tree, write, ctx, note_line, &lines};
    switch (text) {
    case VYRE_TEXT_PROGRAM:
        return vyre_ir_print(kernel->tree, write, ctx, err);
    case VYRE_TEXT_BYTECODE:
        return vyre_vm_print_with(kernel->code, &how, err);
    }
    return vyre_fail(err, VYRE_E_RANGE, "text is %d; 1 is the program, 2 is the bytecode",
                     (int)text);
}

vyre_status vyre_kernel_place(const vyre_kernel *kernel, uint32_t pc, char *path, size_t room,
                              vyre_error *err)
{
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!path) return vyre_fail(err, VYRE_E_NULL, "path is null");
    if (room == 0) return vyre_fail(err, VYRE_E_TOO_SMALL, "a path needs room for at least a zero");
    uint32_t count = kernel->code->header->code_count;
    if (pc >= count)
        return vyre_fail(err, VYRE_E_RANGE, "instruction %u; the kernel has %u, counted from 0", pc,
                         count);
    vyre_ir_path(kernel->tree, kernel->code->source[pc], path, room);
    return VYRE_OK;
}
