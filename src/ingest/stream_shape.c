/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How a program sees chunks: which of its buffers is the chunk and which the result, the binding
 * set of both, and the slots of one chunk. All chunks lie in one buffer and all results in another;
 * a slot's windows say which part it is about, so that nothing is made or dropped while a stream
 * runs.
 *
 * A result that is carried lives in a buffer of its own. Its slots run one after the other, kept
 * apart by fences, and after each a slot copies the state to the chunk's place for results:
 * run, fence, copy, fence. So the device goes on by itself and every chunk still shows its state.
 */
#include <string.h>

#include "base/checked.h"
#include "ingest/stream.h"
#include "vyre/compile.h"

static const char copy_source[] = "@workgroup(64) @guard(to)\n"
                                  "kernel copy(in u32 from[], out u32 to[])\n"
                                  "{\n"
                                  "    to[i] = from[i];\n"
                                  "}\n";

static const char shape_fix[] =
    "give the kernel one `in` buffer without a size for the chunk, and "
    "at most one `out` or `inout` buffer for the result; bind all others";

static bool bindable(const vyre_kernel_buffer_info *info)
{
    return (info->flags & (VYRE_KERNEL_BUFFER_WORKGROUP | VYRE_KERNEL_BUFFER_SCALAR)) == 0;
}

static bool written(const vyre_kernel_buffer_info *info)
{
    return (info->flags & (VYRE_KERNEL_BUFFER_WRITTEN | VYRE_KERNEL_BUFFER_OUTPUT |
                           VYRE_KERNEL_BUFFER_RETURNED)) != 0;
}

static bool kept(const vyre_kernel_buffer_info *info)
{
    return (info->flags & VYRE_KERNEL_BUFFER_OUTPUT) == 0;
}

static vyre_status find_chunk(struct vyre_stream_shape *shape, const vyre_kernel_buffer_info *info,
                              uint32_t index, vyre_error *err)
{
    if (shape->chunk != VYRE_STREAM_NONE)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, shape_fix,
                              "the program reads two buffers that are not bound, the second is %u "
                              "(%.60s)",
                              index, info->name);
    if (info->count != 0)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, shape_fix,
                              "buffer %u (%.60s) has %u elements; a chunk has as many as were read",
                              index, info->name, info->count);
    shape->chunk = index;
    shape->chunk_stride = info->stride;
    return VYRE_OK;
}

static vyre_status find_result(struct vyre_stream_shape *shape, const vyre_kernel_buffer_info *info,
                               uint32_t index, vyre_error *err)
{
    if (shape->result != VYRE_STREAM_NONE)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, shape_fix,
                              "the program writes two buffers that are not bound, the second is %u "
                              "(%.60s)",
                              index, info->name);
    shape->result = index;
    shape->result_stride = info->stride;
    shape->result_fixed = info->count != 0 ? info->bytes : 0;
    shape->range_start = info->range_start;
    shape->range_end = info->range_end;
    shape->carried = shape->copied = kept(info);
    return VYRE_OK;
}

/* A buffer that the caller gave and the program changes: the result is carried in it, if it is the
 * only one, and the slots run in order in any case. */
static void look_at_given(struct vyre_stream_shape *shape, const vyre_stream_options *options,
                          const vyre_kernel_buffer_info *info, uint32_t index)
{
    if (!written(info) || !kept(info)) return;
    shape->carried = 1;
    if (shape->result != VYRE_STREAM_NONE) return;
    shape->result = index;
    shape->result_stride = info->stride;
    shape->result_fixed = vyre_buffer_size(options->buffers[index]);
    shape->copied = 1;
}

static vyre_status look(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    const vyre_stream_options *options = &stream->options;
    const vyre_kernel *kernel = vyre_program_kernel(shape->program);
    vyre_kernel_buffer_info info = VYRE_KERNEL_BUFFER_INFO_INIT;
    vyre_status status = VYRE_OK;
    for (uint32_t i = 0; i < shape->buffers && !status; i++) {
        status = vyre_kernel_buffer(kernel, i, &info, err);
        if (status || !bindable(&info) || (options->buffers && options->buffers[i])) continue;
        status =
            written(&info) ? find_result(shape, &info, i, err) : find_chunk(shape, &info, i, err);
    }
    for (uint32_t i = 0; i < shape->buffers && !status && options->buffers; i++) {
        status = vyre_kernel_buffer(kernel, i, &info, err);
        if (!status && bindable(&info) && options->buffers[i])
            look_at_given(shape, options, &info, i);
    }
    if (!status && shape->chunk == VYRE_STREAM_NONE)
        status = vyre_fail_with(err, VYRE_E_UNSUPPORTED, shape_fix,
                                "the program has no `in` buffer for the chunk");
    return status;
}

static vyre_status check_counts(const vyre_stream_options *options, const vyre_kernel_info *info,
                                vyre_error *err)
{
    if (options->buffer_count != 0 && options->buffer_count != info->buffers)
        return vyre_fail_with(err, VYRE_E_RANGE, "give one for each, NULL where none is bound",
                              "%u buffers for a program that declares %u", options->buffer_count,
                              info->buffers);
    if (options->scalar_count != info->scalars)
        return vyre_fail_with(err, VYRE_E_RANGE, "give every scalar parameter a value",
                              "%u scalars for a program that has %u", options->scalar_count,
                              info->scalars);
    if (info->scalars > VYRE_RUN_MAX_SCALARS)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, "use fewer scalar parameters",
                              "a program of %u scalar parameters; a stream gives at most %u",
                              info->scalars, VYRE_RUN_MAX_SCALARS);
    return VYRE_OK;
}

vyre_status vyre_stream_shape_make(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    const vyre_stream_options *options = &stream->options;
    vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
    void *sizes;
    shape->program = options->program;
    shape->chunk = shape->result = VYRE_STREAM_NONE;
    shape->chunk_stride = shape->result_stride = 1;
    if (!shape->program) return VYRE_OK;
    vyre_status status = vyre_kernel_query(vyre_program_kernel(shape->program), &info, err);
    if (!status) status = check_counts(options, &info, err);
    if (status) return status;
    shape->buffers = info.buffers;
    shape->scalar_count = options->scalar_count;
    if (options->scalar_count != 0)
        memcpy(shape->scalars, options->scalars, options->scalar_count * sizeof(uint32_t));
    status = look(stream, err);
    if (!status)
        status = vyre_memory_alloc(stream->memory, shape->buffers, sizeof(uint64_t),
                                   "sizes of buffers", &sizes, err);
    if (!status) shape->sizes = sizes;
    return status;
}

uint64_t vyre_stream_result_bytes(const struct vyre_stream_shape *shape, uint64_t length)
{
    if (shape->result == VYRE_STREAM_NONE) return 0;
    if (shape->result_fixed != 0) return shape->result_fixed;
    return length / shape->chunk_stride * shape->result_stride;
}

static vyre_status make_buffer(vyre_stream *stream, size_t bytes, uint32_t kind,
                               vyre_buffer **buffer, vyre_error *err)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    options.kind = kind;
    options.tenant = stream->options.tenant;
    return vyre_buffer_create_with(stream->runtime, bytes, &options, buffer, err);
}

/* The state of a carried result, and the program that copies it. */
static vyre_status make_state(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    const vyre_stream_options *options = &stream->options;
    vyre_program_options program = VYRE_PROGRAM_OPTIONS_INIT;
    if (options->buffers && options->buffers[shape->result]) {
        shape->state = options->buffers[shape->result];
    } else {
        uint64_t bytes = vyre_stream_result_bytes(shape, stream->cell_bytes);
        vyre_status status =
            make_buffer(stream, (bytes + 15) & ~(uint64_t)15, VYRE_DEVICE, &shape->state, err);
        if (status) return status;
        shape->own_state = 1;
        stream->memory_bytes += bytes;
    }
    program.tenant = options->tenant;
    vyre_status status = vyre_program_compile(stream->runtime, copy_source, sizeof copy_source - 1,
                                              NULL, &program, &shape->copy, err);
    if (status) return status;
    vyre_buffer *const both[2] = {shape->state, shape->results};
    return vyre_bindings_create(shape->copy, both, 2, &shape->copy_bindings, err);
}

/* Scalars that find no room beside the windows are bound. */
static vyre_status bind_scalars(vyre_stream *stream, vyre_buffer **buffers, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    const vyre_kernel *kernel = vyre_program_kernel(shape->program);
    vyre_kernel_buffer_info info = VYRE_KERNEL_BUFFER_INFO_INIT;
    uint32_t room = VYRE_RUN_SLOT_SCALARS - 2 * VYRE_RUN_MAX_WINDOWS, next = 0;
    if (shape->scalar_count <= room) return VYRE_OK;
    for (uint32_t i = 0; i < shape->buffers; i++) {
        vyre_status status = vyre_kernel_buffer(kernel, i, &info, err);
        if (status) return status;
        if ((info.flags & VYRE_KERNEL_BUFFER_SCALAR) == 0) continue;
        if (!buffers[i]) {
            status = make_buffer(stream, sizeof(uint32_t), VYRE_DEVICE,
                                 &shape->scalar_buffers[next], err);
            if (!status)
                status = vyre_buffer_write(shape->scalar_buffers[next], 0, &shape->scalars[next],
                                           sizeof(uint32_t), err);
            if (status) return status;
            buffers[i] = shape->scalar_buffers[next];
        }
        next++;
    }
    shape->scalar_count = 0;
    return VYRE_OK;
}

static vyre_status bind_all(vyre_stream *stream, vyre_buffer **buffers, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    const vyre_stream_options *options = &stream->options;
    vyre_status status = VYRE_OK;
    if (options->buffers) memcpy(buffers, options->buffers, shape->buffers * sizeof *buffers);
    if (shape->copied) status = make_state(stream, err);
    if (!status) status = bind_scalars(stream, buffers, err);
    if (status) return status;
    buffers[shape->chunk] = stream->chunks;
    if (shape->result != VYRE_STREAM_NONE)
        buffers[shape->result] = shape->copied ? shape->state : shape->results;
    for (uint32_t i = 0; i < shape->buffers; i++)
        shape->sizes[i] = buffers[i] ? vyre_buffer_size(buffers[i]) : 0;
    return vyre_bindings_create(shape->program, buffers, shape->buffers, &shape->bindings, err);
}

vyre_status vyre_stream_shape_bind(vyre_stream *stream, vyre_error *err)
{
    struct vyre_stream_shape *shape = &stream->shape;
    void *buffers, *memory;
    if (!shape->program) return VYRE_OK;
    vyre_status status = VYRE_OK;
    if (shape->result != VYRE_STREAM_NONE) {
        size_t bytes = (size_t)shape->result_room * stream->options.depth;
        status = make_buffer(stream, bytes, VYRE_PINNED, &shape->results, err);
        if (!status) status = vyre_buffer_map(shape->results, &memory, err);
        if (status) return status;
        stream->result_memory = memory;
        stream->memory_bytes += bytes;
    }
    status = vyre_memory_alloc(stream->memory, shape->buffers, sizeof(vyre_buffer *),
                               "buffers to bind", &buffers, err);
    if (status) return status;
    status = bind_all(stream, buffers, err);
    vyre_memory_free(stream->memory, buffers, shape->buffers * sizeof(vyre_buffer *));
    return status;
}

void vyre_stream_shape_free(vyre_stream *stream)
{
    struct vyre_stream_shape *shape = &stream->shape;
    vyre_bindings_free(shape->bindings);
    vyre_bindings_free(shape->copy_bindings);
    vyre_program_unload(shape->copy, NULL);
    for (uint32_t i = 0; i < VYRE_RUN_MAX_SCALARS; i++)
        vyre_buffer_free(shape->scalar_buffers[i]);
    if (shape->own_state) vyre_buffer_free(shape->state);
    vyre_buffer_free(shape->results);
    vyre_memory_free(stream->memory, shape->sizes, shape->buffers * sizeof(uint64_t));
}
