/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Preparing a slot that runs a program: grid, binding set and scalars in its arguments, the scalars
 * that find no room there in its parameter block. Called by the thread that submits.
 */
#include <inttypes.h>
#include <string.h>

#include "device/hold.h"
#include "runtime/internal.h"
#include "runtime/options.h"

static_assert(VYRE_RUN_SLOT_SCALARS == DEV_SLOT_SCALARS, "as the device reads them");
static_assert(VYRE_RUN_MAX_SCALARS == DEV_SCALARS, "as the device reads them");
static_assert(VYRE_RUN_MAX_WINDOWS == DEV_WINDOWS, "as the device reads them");
static_assert(VYRE_RUN_WINDOW_ALIGN == DEV_WINDOW_ALIGN, "as the device checks it");
static_assert(DEV_ARG_SCALARS + DEV_SLOT_SCALARS == VYRE_SLOT_ARGS, "they fill the slot");

#define MOST_VIEW 255u /* a window names its view, plus 1, in a byte */

static vyre_status check_scalars(const vyre_run *run, vyre_error *err)
{
    const struct vm_header *header = run->program->code;
    uint32_t open = run->bindings ? run->bindings->set->open_scalars : header->scalar_params;
    if (run->scalar_count != 0 && !run->scalars)
        return vyre_fail(err, VYRE_E_NULL, "scalars is null");
    if (!dev_scalars_fit(header, open, run->scalar_count)) {
        vyre_fail(err, VYRE_E_RANGE,
                  "scalar_count is %u; the program has %u scalar parameters, %u of them not bound, "
                  "and a slot takes %u",
                  run->scalar_count, header->scalar_params, open, VYRE_RUN_MAX_SCALARS);
        if (header->scalar_params > VYRE_RUN_MAX_SCALARS)
            vyre_fail_fix(err, "bind all scalar parameters to buffers and give 0 scalars");
        else
            vyre_fail_fix(err, "set scalar_count to %u%s", header->scalar_params,
                          open == 0 && header->scalar_params != 0 ? ", or to 0: all are bound"
                                                                  : "");
        return VYRE_E_RANGE;
    }
    if (run->scalar_count > VYRE_RUN_SLOT_SCALARS && !run->queue)
        return vyre_fail_with(err, VYRE_E_NULL, "set run.queue to the slot's queue",
                              "queue is null, but %u scalars do not fit the slot itself",
                              run->scalar_count);
    return VYRE_OK;
}

static vyre_status check_window(const vyre_run *run, uint32_t index, vyre_error *err)
{
    const vyre_run_window *window = &run->windows[index];
    const struct vm_header *header = run->program->code;
    const struct vm_buffer *buffer =
        window->buffer < header->buffer_count ? vm_buffers(header) + window->buffer : NULL;
    if (!buffer || buffer->flags & VM_BUFFER_SHARED || buffer->view >= MOST_VIEW ||
        !run->bindings->kept[buffer->view])
        return vyre_fail_with(err, VYRE_E_RANGE, "give windows of buffers in the binding set",
                              "buffer %u of window %u is not one that is bound", window->buffer,
                              index);
    if (index != 0 && run->windows[0].buffer == window->buffer)
        return vyre_fail(err, VYRE_E_CONFLICT, "two windows of buffer %u", window->buffer);
    if (window->offset % VYRE_RUN_WINDOW_ALIGN != 0)
        return vyre_fail_with(err, VYRE_E_MISALIGNED, "begin windows at multiples of 16",
                              "offset %u of the window of buffer %u is not a multiple of %u",
                              window->offset, window->buffer, VYRE_RUN_WINDOW_ALIGN);
    uint64_t bytes = run->bindings->kept[buffer->view]->block.bytes;
    if ((uint64_t)window->offset + window->bytes > bytes)
        return vyre_fail(err, VYRE_E_RANGE,
                         "a window of %u bytes at %u does not lie in buffer %u, which has %" PRIu64,
                         window->bytes, window->offset, window->buffer, bytes);
    if (window->bytes < buffer->bytes)
        return vyre_fail(err, VYRE_E_TOO_SMALL,
                         "a window of %u bytes; the program asks for %" PRIu64 " of buffer %u",
                         window->bytes, (uint64_t)buffer->bytes, window->buffer);
    return VYRE_OK;
}

static vyre_status check_windows(const vyre_run *run, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    if (run->window_count == 0) return VYRE_OK;
    if (!run->windows) return vyre_fail(err, VYRE_E_NULL, "windows is null");
    if (!run->bindings)
        return vyre_fail(err, VYRE_E_NULL, "bindings is null, but there are windows");
    if (run->window_count > VYRE_RUN_MAX_WINDOWS)
        return vyre_fail(err, VYRE_E_RANGE, "window_count is %u, a slot takes %u",
                         run->window_count, VYRE_RUN_MAX_WINDOWS);
    if (run->scalar_count > VYRE_RUN_SLOT_SCALARS - 2 * run->window_count)
        return vyre_fail_with(err, VYRE_E_RANGE, "bind the scalar parameters to buffers",
                              "%u scalars; beside %u windows a slot takes %u", run->scalar_count,
                              run->window_count, VYRE_RUN_SLOT_SCALARS - 2 * run->window_count);
    for (uint32_t i = 0; i < run->window_count && !status; i++)
        status = check_window(run, i, err);
    return status;
}

static vyre_status check(const vyre_run *run, vyre_error *err)
{
    if ((run->reserved | run->reserved2) != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "a reserved word is %u, not 0",
                         run->reserved | run->reserved2);
    if (!run->program) return vyre_fail(err, VYRE_E_NULL, "program is null");
    const struct vm_header *header = run->program->code;
    if (!run->bindings && header->view_count != header->scalar_params)
        return vyre_fail(err, VYRE_E_NULL, "bindings is null; the program has buffers to be bound");
    if (run->bindings && run->bindings->program != run->program)
        return vyre_fail_with(err, VYRE_E_CONFLICT, "use a set that was made for this program",
                              "the binding set belongs to another program");
    if (!dev_grid_fits(header, run->grid))
        return vyre_fail_with(
            err, VYRE_E_RANGE, "stay within 2^32 invocations on an axis and 2^63 workgroups in all",
            "%u x %u x %u workgroups of %u x %u x %u cannot be counted", run->grid[0], run->grid[1],
            run->grid[2], header->workgroup[0], header->workgroup[1], header->workgroup[2]);
    vyre_status status = check_scalars(run, err);
    return status ? status : check_windows(run, err);
}

/* The scalars that go beside the slot. */
static vyre_status fill_block(const vyre_slot *slot, const vyre_run *run, vyre_error *err)
{
    struct dev_params *params;
    vyre_status status = vyre_slot_params(run->queue, slot, &params, err);
    if (status) return status;
    for (uint32_t i = VYRE_RUN_SLOT_SCALARS; i < run->scalar_count; i++)
        __atomic_store_n(&params->scalar[i - VYRE_RUN_SLOT_SCALARS], run->scalars[i],
                         __ATOMIC_RELAXED);
    return VYRE_OK;
}

vyre_status vyre_prep_run(vyre_slot *slot, const vyre_run *given, vyre_error *err)
{
    vyre_run run;
    if (!slot)
        return vyre_fail_with(
            err, VYRE_E_NULL,
            "vyre_queue_slot returns NULL when the queue is full: submit and reap", "slot is null");
    if (!given) return vyre_fail(err, VYRE_E_NULL, "run is null");
    vyre_status status = vyre_options_read(&run, given, sizeof run, "vyre_run", err);
    if (!status) status = check(&run, err);
    if (!status && run.scalar_count > VYRE_RUN_SLOT_SCALARS) status = fill_block(slot, &run, err);
    if (status) return status;
    uint32_t in_slot =
        run.scalar_count < VYRE_RUN_SLOT_SCALARS ? run.scalar_count : VYRE_RUN_SLOT_SCALARS;
    uint32_t args[VYRE_SLOT_ARGS] = {run.grid[0], run.grid[1], run.grid[2],
                                     vyre_bindings_handle(run.bindings), run.scalar_count};
    if (in_slot != 0) memcpy(&args[DEV_ARG_SCALARS], run.scalars, in_slot * sizeof(uint32_t));
    for (uint32_t k = 0; k < run.window_count; k++) {
        const vyre_run_window *window = &run.windows[k];
        uint32_t *word = &args[VYRE_SLOT_ARGS - 2 * (k + 1)];
        args[DEV_ARG_COUNT] |= (vm_buffers(run.program->code)[window->buffer].view + 1)
                               << (8 * (k + 1));
        word[0] = window->offset;
        word[1] = window->bytes;
    }
    uint32_t count = run.window_count != 0 ? VYRE_SLOT_ARGS : DEV_ARG_SCALARS + in_slot;
    return vyre_prep_op(slot, run.program->opcode, args, count, err);
}
