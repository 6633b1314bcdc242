/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs placed on a runtime through the public API: loaded, with buffers of their own bound. The
 * peers compute in the same memory, which the CPU backend lets one see.
 */
#include <string.h>

#include "bench_vm.h"

/* The longest run takes a tenth of a second; with sanitizers, unoptimised and beside others it may
 * take a hundred times as long. */
#define LOST_NS 120000000000ull

static int make_buffer(vyre *runtime, size_t bytes, vyre_buffer **buffer, void **memory)
{
    vyre_error err;
    if (vyre_buffer_create(runtime, bytes, VYRE_DEVICE, buffer, &err) != VYRE_OK)
        return cli_fail("cannot make a buffer", &err);
    if (vyre_buffer_map(*buffer, memory, &err) != VYRE_OK)
        return cli_fail("cannot map a buffer", &err);
    return 0;
}

static int make_buffers(vyre *runtime, const struct vm_wanted *wanted, struct vm_placed *placed)
{
    for (uint32_t i = 0; i < 2; i++) {
        void *memory = NULL;
        if (wanted->in_bytes[i] == 0) continue;
        int code = make_buffer(runtime, wanted->in_bytes[i], &placed->in[i], &memory);
        if (code != 0) return code;
        placed->arrays.in[i] = memory;
    }
    return make_buffer(runtime, wanted->out_bytes, &placed->out, &placed->arrays.out);
}

/* Inputs in the order of their declaration, then the output; scalars come with the slot. */
static int bind_buffers(struct vm_placed *placed)
{
    const vyre_kernel *kernel = vyre_program_kernel(placed->program);
    vyre_buffer *bound[VM_ORACLE_MAX_BUFFERS] = {NULL};
    vyre_kernel_info info = {0};
    vyre_error err;
    uint32_t inputs = 0;
    info.size = (uint32_t)sizeof info;
    if (vyre_kernel_query(kernel, &info, &err) != VYRE_OK || info.buffers > VM_ORACLE_MAX_BUFFERS)
        return bench_wrong("a program of the benchmark cannot be described");
    for (uint32_t i = 0; i < info.buffers; i++) {
        vyre_kernel_buffer_info buffer = {0};
        buffer.size = (uint32_t)sizeof buffer;
        if (vyre_kernel_buffer(kernel, i, &buffer, &err) != VYRE_OK)
            return cli_fail("cannot describe a buffer", &err);
        if ((buffer.flags & (VYRE_KERNEL_BUFFER_WORKGROUP | VYRE_KERNEL_BUFFER_SCALAR)) != 0)
            continue;
        bound[i] = (buffer.flags & VYRE_KERNEL_BUFFER_WRITTEN) != 0 ? placed->out
                                                                    : placed->in[inputs++ % 2];
    }
    if (vyre_bindings_create(placed->program, bound, info.buffers, &placed->bindings, &err) !=
        VYRE_OK)
        return cli_fail("cannot bind buffers", &err);
    placed->run.scalar_count = info.scalars;
    return 0;
}

void vm_place_free(struct vm_placed *placed)
{
    vyre_bindings_free(placed->bindings);
    vyre_program_unload(placed->program, NULL);
    for (uint32_t i = 0; i < 2; i++)
        vyre_buffer_free(placed->in[i]);
    vyre_buffer_free(placed->out);
    memset(placed, 0, sizeof *placed);
}

static int load(vyre *runtime, const struct vm_bytes *program, struct vm_placed *placed)
{
    vyre_error err;
    if (vyre_program_load(runtime, program->bytes, program->length, NULL, &placed->program, &err) !=
        VYRE_OK)
        return cli_fail("cannot load a program", &err);
    int code = bind_buffers(placed);
    placed->run.program = placed->program;
    placed->run.bindings = placed->bindings;
    return code;
}

int vm_place_beside(vyre *runtime, const struct vm_bytes *program, const struct vm_placed *placed,
                    struct vm_placed *beside)
{
    *beside = *placed;
    return load(runtime, program, beside);
}

int vm_place(vyre *runtime, const struct vm_wanted *wanted, struct vm_placed *placed)
{
    vyre_run run = VYRE_RUN_INIT;
    memset(placed, 0, sizeof *placed);
    placed->run = run;
    placed->arrays.count = wanted->count;
    int code = make_buffers(runtime, wanted, placed);
    if (code == 0) code = load(runtime, wanted->program, placed);
    placed->run.grid[0] = wanted->groups;
    if (code != 0) vm_place_free(placed);
    return code;
}

int vm_place_problem(vyre *runtime, const struct vm_problem *problem, struct vm_placed *placed)
{
    struct vm_wanted wanted = {.program = problem->program,
                               .out_bytes = vm_problem_out_bytes(problem, problem->count),
                               .count = problem->count,
                               .groups = (uint32_t)(problem->count / problem->group)};
    for (uint32_t i = 0; i < problem->inputs; i++)
        wanted.in_bytes[i] = problem->count * problem->in_bytes;
    int code = vm_place(runtime, &wanted, placed);
    if (code == 0 && problem->scalars != NULL)
        problem->scalars(placed->arrays.scalar, problem->count);
    return code;
}

int vm_placed_run(struct vm_placed *placed, vyre_queue *queue, vyre_completion *completion)
{
    vyre_error err;
    vyre_slot *slot = vyre_queue_slot(queue);
    if (slot == NULL) return bench_wrong("an empty queue says that it is full");
    placed->run.scalars = placed->arrays.scalar;
    if (vyre_prep_run(slot, &placed->run, &err) != VYRE_OK)
        return cli_fail("cannot prepare a run", &err);
    return bench_submit_and_wait(queue, LOST_NS, completion);
}
