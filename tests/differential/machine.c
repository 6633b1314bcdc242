/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "differential/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loaded {
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_buffer **buffers;
    uint32_t scalars[VYRE_RUN_MAX_SCALARS];
    uint32_t scalar_count;
};

/* Makes and fills the buffers; scalar parameters go to the slot unless the machine binds them. */
static vyre_status bind(struct machine *machine, const struct differential_case *test,
                        struct loaded *loaded, vyre_error *err)
{
    const vyre_kernel *kernel = vyre_program_kernel(loaded->program);
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        vyre_kernel_buffer_info info = {.size = (uint32_t)sizeof info};
        vyre_status status = vyre_kernel_buffer(kernel, i, &info, err);
        if (status) return status;
        if (info.flags & VYRE_KERNEL_BUFFER_WORKGROUP) continue;
        if ((info.flags & VYRE_KERNEL_BUFFER_SCALAR) && !machine->scalars_bound &&
            test->bytes[i] == 4 && loaded->scalar_count < VYRE_RUN_MAX_SCALARS) {
            memcpy(&loaded->scalars[loaded->scalar_count++], test->buffers[i], 4);
            continue;
        }
        if (info.flags & VYRE_KERNEL_BUFFER_SCALAR) loaded->scalar_count++;
        size_t bytes = test->bytes[i] ? (size_t)test->bytes[i] : 1;
        status = vyre_buffer_create(machine->runtime, bytes, VYRE_DEVICE, &loaded->buffers[i], err);
        if (!status && test->bytes[i])
            status = vyre_buffer_write(loaded->buffers[i], 0, test->buffers[i], bytes, err);
        if (status) return status;
    }
    return vyre_bindings_create(loaded->program, loaded->buffers, test->buffer_count,
                                &loaded->bindings, err);
}

static vyre_status run(struct machine *machine, const struct differential_case *test,
                       struct loaded *loaded, vyre_error *err)
{
    vyre_queue *queue = vyre_queue_default(machine->runtime);
    vyre_run what = VYRE_RUN_INIT;
    uint64_t ticket;
    what.program = loaded->program;
    what.bindings = loaded->bindings;
    memcpy(what.grid, test->grid, sizeof what.grid);
    what.scalars = loaded->scalars;
    what.scalar_count = loaded->scalar_count;
    what.queue = queue;
    vyre_status status = vyre_prep_run(vyre_queue_slot(queue), &what, err);
    if (!status) status = vyre_queue_submit(queue, &ticket, err);
    if (!status) status = vyre_wait(queue, ticket, 60000000000ull, &machine->completion, err);
    for (uint32_t i = 0; i < test->buffer_count && !status; i++)
        if (loaded->buffers[i] && test->bytes[i])
            status = vyre_buffer_read(loaded->buffers[i], 0, test->buffers[i],
                                      (size_t)test->bytes[i], err);
    return status;
}

int machine_run(void *ctx, const struct differential_case *test, struct differential_result *result)
{
    struct machine *machine = ctx;
    struct loaded loaded = {0};
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_error err;
    options.flags = machine->kernel_flags;
    vyre_status status = vyre_program_load(machine->runtime, test->vir0, test->vir0_length,
                                           &options, &loaded.program, &err);
    loaded.buffers = calloc(test->buffer_count + 1, sizeof(vyre_buffer *));
    if (!loaded.buffers) abort();
    if (!status) status = bind(machine, test, &loaded, &err);
    if (!status) status = run(machine, test, &loaded, &err);
    if (status) {
        snprintf(result->what, sizeof result->what, "%.127s", err.message);
    } else {
        result->error = machine->completion.outcome != VYRE_DONE;
        result->out_of_bounds = machine->completion.out_of_bounds;
        snprintf(result->what, sizeof result->what, "fault %u at pc %u", machine->completion.fault,
                 machine->completion.pc);
    }
    vyre_bindings_free(loaded.bindings);
    for (uint32_t i = 0; i < test->buffer_count; i++)
        vyre_buffer_free(loaded.buffers[i]);
    free(loaded.buffers);
    vyre_program_unload(loaded.program, NULL);
    machine->status = status;
    return status != VYRE_OK;
}
