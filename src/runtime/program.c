/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs: kernels that a runtime has loaded under an opcode, and taking them away again.
 *
 * The device runs the program's own copy of the bytecode, marked with a serial number, so that a
 * frame prepared for a program that is gone is never taken for one of a later program whose block
 * happens to lie at the same address.
 */
#include <string.h>

#include "base/checked.h"
#include "device/system.h"
#include "device/warp_frame.h"
#include "runtime/internal.h"
#include "runtime/options.h"
#include "wire/opcode.h"

/* Where opcodes begin that nobody chose; those below are for people. */
#define OPCODE_FIRST 0x10000000u
#define OPCODE_LAST  0x7FFFFFFFu

static vyre_status check(const vyre *runtime, const vyre_kernel *kernel,
                         const vyre_program_options *options, vyre_error *err)
{
    if (options->opcode != 0 &&
        (options->opcode < DEV_PACKED_OPCODES || !vyre_opcode_is_user(options->opcode))) {
        vyre_fail(err, VYRE_E_WIRE_OPCODE, "%u (0x%x) is no opcode of a program", options->opcode,
                  options->opcode);
        vyre_fail_fix(err, "use 256 to 0xFFEF, 0x10000 to 0x7FFFFFFF, or 0 for one that is free");
        return VYRE_E_WIRE_OPCODE;
    }
    if (options->tenant != VYRE_TENANT_ANY) {
        vyre_status status = vyre_tenant_check(runtime, options->tenant, err);
        if (status) return status;
    }
    unsigned long long needs = dev_frame_needs(kernel->code->header);
    unsigned long long has = vyre_frame_stride(runtime);
    if (needs > has) {
        vyre_fail(err, VYRE_E_VM_LIMIT,
                  "a workgroup needs %llu bytes; the runtime's frames have %llu", needs, has);
        vyre_fail_fix(err, "open the runtime with frame_bytes of at least %llu", needs);
        return VYRE_E_VM_LIMIT;
    }
    return VYRE_OK;
}

/* Frees a program that is in no list and that the device does not know. */
void vyre_program_release(vyre_program *program)
{
    struct vyre_memory *memory = &program->runtime->memory;
    program->runtime->port->block_free(program->runtime, &program->block);
    if (program->code) vyre_memory_free(memory, program->code, program->code->bytes);
    vyre_kernel_free(program->kernel);
    vyre_memory_free(memory, program, sizeof *program);
}

/* Gives the device its frames, with the first program. */
static vyre_status provide_frames(vyre *runtime, vyre_error *err)
{
    uint32_t count = runtime->options.workers + runtime->options.continuations;
    uint64_t stride = vyre_frame_stride(runtime);
    size_t bytes;
    uint32_t result = 0;
    vyre_status status = VYRE_OK;
    if (!vyre_mul_size(count, (size_t)stride, &bytes))
        return vyre_fail(err, VYRE_E_NO_MEMORY, "%u frames of %llu bytes fit no address space",
                         count, (unsigned long long)stride);
    pthread_mutex_lock(&runtime->frames_lock);
    if (!runtime->frames.address) {
        runtime->frames = (struct vyre_block){.kind = VYRE_BLOCK_FRAMES,
                                              .bytes = bytes,
                                              .memory = &runtime->memory,
                                              .what = "frames",
                                              .mapping.fd = -1};
        status = runtime->port->block_make(runtime, &runtime->frames, NULL, err);
        if (!status) {
            uint64_t address = runtime->frames.address;
            uint32_t args[VYRE_SLOT_ARGS] = {(uint32_t)address, (uint32_t)(address >> 32)};
            /* Where it fails the runtime has been stopped; the memory goes with it. */
            status = vyre_system_call(runtime, DEV_SYS_FRAMES, args, &result, err);
        }
        if (!status && result)
            status = vyre_fail(err, VYRE_E_INTERNAL, "the device refused frames");
    }
    pthread_mutex_unlock(&runtime->frames_lock);
    return status;
}

static vyre_status copy_block(vyre_program *program, vyre_error *err)
{
    vyre *runtime = program->runtime;
    const struct vm_header *header = program->kernel->code->header;
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, header->bytes, "bytecode", &memory, err);
    if (status) return status;
    memcpy(memory, header, header->bytes);
    program->code = memory;
    pthread_mutex_lock(&runtime->system.lock);
    if (++runtime->program_serial == 0) runtime->program_serial = 1; /* 0: no program */
    program->code->serial = runtime->program_serial;
    pthread_mutex_unlock(&runtime->system.lock);
    program->block = (struct vyre_block){.kind = VYRE_BLOCK_PROGRAM,
                                         .bytes = header->bytes,
                                         .memory = &runtime->memory,
                                         .what = "bytecode"};
    return runtime->port->block_make(runtime, &program->block, program->code, err);
}

/* The next opcode to try. One that was given back is not used again for long, so that slots which
 * still name it fault. */
static uint32_t next_opcode(vyre *runtime)
{
    pthread_mutex_lock(&runtime->system.lock);
    if (runtime->next_opcode < OPCODE_FIRST || runtime->next_opcode > OPCODE_LAST)
        runtime->next_opcode = OPCODE_FIRST;
    uint32_t opcode = runtime->next_opcode++;
    pthread_mutex_unlock(&runtime->system.lock);
    return opcode;
}

/* Has the device enter the program under an opcode. */
static vyre_status enter(vyre_program *program, uint32_t opcode, vyre_error *err)
{
    uint64_t address = program->block.address;
    uint32_t args[VYRE_SLOT_ARGS] = {
        program->handle,
        DEV_PROGRAM,
        program->tenant,
        0,
        (uint32_t)address,
        (uint32_t)(address >> 32),
        program->code->bytes,
        0,
        opcode,
    };
    uint32_t result;
    vyre_status status = vyre_system_call(program->runtime, DEV_SYS_INSTALL, args, &result, err);
    if (status) return status;
    program->opcode = opcode;
    if (result == VYRE_FAULT_UNKNOWN_OPCODE)
        return vyre_fail(err, VYRE_E_EXISTS,
                         "opcode %u (0x%x) is taken by another operation or program", opcode,
                         opcode);
    if (result)
        return vyre_fail(err, VYRE_E_INTERNAL, "the device refused handle 0x%x", program->handle);
    return VYRE_OK;
}

/* (system.lock) */
static void enlist(vyre_program *program)
{
    vyre *runtime = program->runtime;
    vyre_program **link = &runtime->programs;
    uint64_t *place = &runtime->short_programs[program->opcode % VYRE_SHORT_PLACES];
    uint64_t weight = vm_short_weight(program->code);
    while (*link)
        link = &(*link)->next;
    *link = program;
    runtime->program_count++;
    if (weight != 0 && __atomic_load_n(place, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(place, weight << 32 | program->opcode, __ATOMIC_RELAXED);
}

/* (system.lock) */
static void strike(vyre_program *program)
{
    vyre *runtime = program->runtime;
    vyre_program **link = &runtime->programs;
    while (*link != program)
        link = &(*link)->next;
    *link = program->next;
    runtime->program_count--;
    if (vyre_short_weight(runtime, program->opcode) != 0)
        __atomic_store_n(&runtime->short_programs[program->opcode % VYRE_SHORT_PLACES], 0,
                         __ATOMIC_RELAXED);
}

static vyre_status install(vyre_program *program, uint32_t opcode, vyre_error *err)
{
    vyre *runtime = program->runtime;
    pthread_mutex_lock(&runtime->system.lock);
    vyre_status status = vyre_handle_take(runtime, &program->handle, err);
    pthread_mutex_unlock(&runtime->system.lock);
    if (status) return status;
    /* Whatever has an opcode has a handle, so one of as many opcodes is free. */
    uint32_t tries = opcode ? 1 : runtime->options.max_handles;
    do {
        status = enter(program, opcode ? opcode : next_opcode(runtime), err);
    } while (status == VYRE_E_EXISTS && --tries != 0);
    pthread_mutex_lock(&runtime->system.lock);
    if (status)
        vyre_handle_give(runtime, program->handle);
    else
        enlist(program);
    pthread_mutex_unlock(&runtime->system.lock);
    return status;
}

/* Publishes a kernel with checked pointers; the options' flags were the reader's. */
static vyre_status load(vyre *runtime, vyre_kernel *kernel, const vyre_program_options *options,
                        vyre_program **out, vyre_error *err)
{
    void *memory;
    vyre_status status = check(runtime, kernel, options, err);
    if (status) return status;
    if (vyre_runtime_stopped(runtime)) return vyre_runtime_refuse(runtime, err);
    status = vyre_memory_alloc(&runtime->memory, 1, sizeof(vyre_program), "program", &memory, err);
    if (status) return status;
    vyre_program *program = memory;
    program->runtime = runtime;
    program->kernel = kernel;
    program->tenant = options->tenant;
    vyre_kernel_hold(kernel);
    status = copy_block(program, err);
    if (!status) status = provide_frames(runtime, err);
    if (!status) status = install(program, options->opcode, err);
    if (status) {
        vyre_program_release(program);
        return status;
    }
    *out = program;
    return VYRE_OK;
}

static vyre_status read_options(vyre_program_options *chosen, const vyre_program_options *options,
                                vyre_error *err)
{
    *chosen = (vyre_program_options)VYRE_PROGRAM_OPTIONS_INIT;
    if (!options) return VYRE_OK;
    return vyre_options_read(chosen, options, sizeof *chosen, "vyre_program_options", err);
}

vyre_status vyre_program_load_kernel(vyre *runtime, vyre_kernel *kernel,
                                     const vyre_program_options *options, vyre_program **out,
                                     vyre_error *err)
{
    vyre_program_options chosen;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!kernel) return vyre_fail(err, VYRE_E_NULL, "kernel is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "program is null");
    vyre_status status = read_options(&chosen, options, err);
    if (!status && chosen.flags != 0)
        status =
            vyre_fail_with(err, VYRE_E_RESERVED, "give them to vyre_kernel_read",
                           "flags is 0x%x, but the kernel has been read already", chosen.flags);
    return status ? status : load(runtime, kernel, &chosen, out, err);
}

vyre_status vyre_program_load(vyre *runtime, const void *bytes, size_t length,
                              const vyre_program_options *options, vyre_program **out,
                              vyre_error *err)
{
    vyre_kernel_options reading = VYRE_KERNEL_OPTIONS_INIT;
    vyre_program_options chosen;
    vyre_kernel *kernel;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!bytes) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "program is null");
    vyre_status status = read_options(&chosen, options, err);
    reading.flags = chosen.flags;
    if (!status) status = vyre_kernel_make(&runtime->memory, bytes, length, &reading, &kernel, err);
    if (status) return status;
    status = load(runtime, kernel, &chosen, out, err);
    vyre_kernel_free(kernel);
    return status;
}

vyre_status vyre_program_unload(vyre_program *program, vyre_error *err)
{
    if (!program) return VYRE_OK;
    vyre *runtime = program->runtime;
    uint32_t args[VYRE_SLOT_ARGS] = {program->handle};
    uint32_t result;
    vyre_status status = vyre_runtime_refuse_worker(runtime, "vyre_program_unload", err);
    if (status) return status;
    pthread_mutex_lock(&runtime->system.lock);
    uint32_t sets = program->sets;
    pthread_mutex_unlock(&runtime->system.lock);
    if (sets != 0)
        return vyre_fail_with(err, VYRE_E_BUSY, "call vyre_bindings_free for each of them first",
                              "the program has %u binding sets; nothing was done", sets);
    status = vyre_system_call(runtime, DEV_SYS_DROP, args, &result, NULL);
    if (status) vyre_runtime_await_stop(runtime); /* then no worker is left that could run it */
    pthread_mutex_lock(&runtime->system.lock);
    strike(program);
    vyre_handle_give(runtime, program->handle);
    pthread_mutex_unlock(&runtime->system.lock);
    vyre_program_release(program);
    return VYRE_OK;
}

const vyre_kernel *vyre_program_kernel(const vyre_program *program)
{
    return program ? program->kernel : NULL;
}

uint32_t vyre_program_opcode(const vyre_program *program)
{
    return program ? program->opcode : 0;
}

vyre_status vyre_program_list(vyre *runtime, vyre_program **programs, size_t room, size_t *count,
                              vyre_error *err)
{
    size_t found = 0;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!programs && room != 0) return vyre_fail(err, VYRE_E_NULL, "programs is null");
    if (!count) return vyre_fail(err, VYRE_E_NULL, "count is null");
    pthread_mutex_lock(&runtime->system.lock);
    for (vyre_program *program = runtime->programs; program; program = program->next) {
        if (found < room) programs[found] = program;
        found++;
    }
    pthread_mutex_unlock(&runtime->system.lock);
    *count = found;
    return VYRE_OK;
}
