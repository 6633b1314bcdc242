/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Getting a frame ready: for a program (once, as long as the worker stays with it), for a run (its
 * buffers and scalars), for a workgroup. Called by the worker that has the frame.
 */
#ifndef VYRE_DEVICE_FRAME_START_H
#define VYRE_DEVICE_FRAME_START_H

#include "device/frame.h"
#include "device/layout.h"
#include "device/window.h"

DEV_FN struct dev_frame *dev_frame_at(const struct dev_runtime *rt, uint32_t index)
{
    return (struct dev_frame *)(void *)(rt->frames + (size_t)index * rt->frame_stride);
}

/* Local ids, x fastest. */
DEV_FN void dev_frame_local(struct dev_frame *frame)
{
    const struct vm_header *program = frame->program;
    uint32_t id[3] = {0, 0, 0};
    for (uint32_t i = 0; i < program->stride; i++) {
        for (uint32_t axis = 0; axis < 3; axis++)
            frame->local[(size_t)axis * program->stride + i] = id[axis];
        for (uint32_t axis = 0; axis < 3 && ++id[axis] == program->workgroup[axis]; axis++)
            id[axis] = 0;
    }
}

DEV_FN void dev_frame_prepare(struct dev_frame *frame, const struct vm_header *program)
{
    unsigned char *at = (unsigned char *)frame;
    if (frame->serial == program->serial) return;
    struct dev_frame_layout layout = dev_frame_layout(program);
    frame->program = program;
    frame->code = vm_code(program);
    frame->views = (struct dev_view *)(void *)(at + layout.views);
    frame->vectors = (const uint32_t **)(void *)(at + layout.vectors);
    frame->rows = at + layout.rows;
    frame->scalars = (uint32_t *)(void *)(at + layout.scalars);
    frame->masks = (uint32_t *)(void *)(at + layout.masks);
    frame->local = (uint32_t *)(void *)(at + layout.local);
    frame->scratch = (uint32_t *)(void *)(at + layout.scratch);
    frame->registers = (uint32_t *)(void *)(at + layout.registers);
    frame->shared = at + layout.shared;
    for (uint32_t i = 0; i < program->constant_count; i++)
        frame->scalars[i] = vm_constants(program)[i];
    for (uint32_t i = program->constant_count; i < program->scalar_count; i++)
        frame->scalars[i] = 0;
    dev_frame_local(frame);
    frame->active[0] = 0; /* its masks are made with the first workgroup */
    frame->serial = program->serial;
}

/* A view of `bytes` bytes; `zero` is where one without elements looks. */
DEV_FN void dev_view_set(struct dev_view *view, const struct vm_buffer *buffer, unsigned char *base,
                         uint64_t bytes, uint32_t *zero)
{
    uint64_t length = buffer->stride != 0 ? bytes / buffer->stride : 0;
    uint64_t whole = bytes > UINT64_MAX / 8 ? UINT64_MAX / 8 : bytes;
    uint64_t count = buffer->bits != 0 ? whole * 8 / buffer->bits : bytes;
    view->base = base;
    view->element = length != 0 ? base : (unsigned char *)zero;
    view->bytes = bytes;
    view->length = length > DEV_NONE ? DEV_NONE : (uint32_t)length;
    view->count = count > DEV_NONE ? DEV_NONE : (uint32_t)count;
    view->access = buffer->stride & ~DEV_VIEW_WRITE;
}

DEV_FN void dev_frame_view(struct dev_frame *frame, uint32_t number, unsigned char *base,
                           uint64_t bytes)
{
    dev_view_set(&frame->views[number], &vm_buffers(frame->program)[number], base, bytes,
                 frame->zero);
}

/* Whether the program may write what one of its views shows: a buffer that it only reads can be
 * bound to the same memory as one that it writes. */
DEV_FN void dev_frame_constant(struct dev_frame *frame, uint32_t number)
{
    const struct vm_buffer *buffers = vm_buffers(frame->program);
    struct dev_view *view = &frame->views[number];
    /* Many buffers are not worth the comparison of each with all. */
    view->constant =
        (buffers[number].flags & VM_BUFFER_WRITTEN) == 0 && frame->program->buffer_count <= 32;
    for (uint32_t i = 0; i < frame->program->buffer_count && view->constant; i++) {
        const struct dev_view *other = &frame->views[i];
        if ((buffers[i].flags & VM_BUFFER_WRITTEN) == 0) continue;
        view->constant =
            view->base >= other->base + other->bytes || other->base >= view->base + view->bytes;
    }
}

/* The buffers and scalars of a run. bindings may be NULL where the program has no views. */
DEV_FN void dev_frame_bind(struct dev_frame *frame, struct dev_run *run,
                           const struct dev_bindings *bindings)
{
    const struct vm_header *program = frame->program;
    const struct vm_buffer *buffers = vm_buffers(program);
    uint32_t scalar = 0;
    /* A register may still show a buffer of an earlier run, which is gone; and one that is written
     * in some lanes only has its other lanes copied from where it shows. */
    for (uint32_t i = 0; i < program->register_count; i++) {
        frame->vectors[i] = frame->registers + (size_t)i * program->stride;
        frame->rows[i] = 0;
    }
    for (uint32_t i = 0; i < program->buffer_count; i++) {
        if (buffers[i].flags & VM_BUFFER_SHARED) {
            dev_frame_view(frame, i, frame->shared + buffers[i].view, buffers[i].bytes);
            continue;
        }
        const struct dev_bound *bound = bindings != NULL ? &bindings->bound[buffers[i].view] : NULL;
        if (bound != NULL && bound->handle != 0) {
            unsigned char *base = (unsigned char *)(uintptr_t)bound->address;
            uint64_t bytes = bound->bytes;
            dev_window_apply(&run->args, buffers[i].view, &base, &bytes);
            dev_frame_view(frame, i, base, bytes);
        } else
            dev_frame_view(frame, i, (unsigned char *)&run->args.scalar[scalar], 4);
        if (buffers[i].flags & VM_BUFFER_SCALAR) scalar++;
    }
    for (uint32_t i = 0; i < program->buffer_count; i++)
        dev_frame_constant(frame, i);
}

/* Which workgroup a frame is for, and that it has done nothing yet. */
DEV_FN void dev_frame_reset(struct dev_frame *frame, uint64_t number, const uint32_t grid[3])
{
    frame->number = number;
    if (grid[1] == 1 && grid[2] == 1) {
        frame->group[0] = (uint32_t)number;
        frame->group[1] = frame->group[2] = 0;
    } else {
        frame->group[0] = (uint32_t)(number % grid[0]);
        frame->group[1] = (uint32_t)(number / grid[0] % grid[1]);
        frame->group[2] = (uint32_t)(number / grid[0] / grid[1]);
    }
    frame->pc = 0;
    frame->level = 0;
    frame->steps = 0;
    frame->limit = 0;
    frame->out_of_bounds = 0;
}

/* A workgroup at its beginning. */
DEV_FN void dev_frame_begin(struct dev_frame *frame, uint64_t number, const uint32_t grid[3])
{
    const struct vm_header *program = frame->program;
    dev_frame_reset(frame, number, grid);
    if (frame->active[0] != program->lanes) {
        frame->active[0] = program->lanes;
        for (uint32_t i = 0; i < program->stride; i++)
            frame->masks[i] = i < program->lanes ? 0xFFFFFFFFu : 0u;
    }
    for (uint32_t i = 0; i < program->shared_bytes / 8; i++)
        ((dev_word64 *)(void *)frame->shared)[i] = 0;
}

#endif
