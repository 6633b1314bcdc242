/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers: their memory, their handles, and giving them back while slots still use them.
 */
#include <string.h>
#include <unistd.h>

#include "device/system.h"
#include "runtime/internal.h"
#include "runtime/options.h"

vyre_status vyre_buffer_check(const vyre *runtime, size_t bytes, const vyre_buffer_options *options,
                              vyre_error *err)
{
    if (bytes == 0)
        return vyre_fail_with(err, VYRE_E_RANGE, "ask for at least one byte",
                              "a buffer of 0 bytes cannot be used");
    if (bytes > SIZE_MAX / 2)
        return vyre_fail(err, VYRE_E_OVERFLOW, "a buffer of %zu bytes fits no address space",
                         bytes);
    if (options->kind != VYRE_DEVICE && options->kind != VYRE_PINNED)
        return vyre_fail(err, VYRE_E_RANGE, "kind is %u; 1 is device, 2 is pinned", options->kind);
    vyre_status status = vyre_tenant_check(runtime, options->tenant, err);
    if (status) return status;
    if (options->rights == 0 || options->rights & ~(uint32_t)(VYRE_RIGHT_READ | VYRE_RIGHT_WRITE))
        return vyre_fail(err, VYRE_E_RANGE, "rights is 0x%x; 1 is read, 2 is write, 3 is both",
                         options->rights);
    if (options->flags & ~(uint32_t)(VYRE_BUFFER_RESTORED | VYRE_BUFFER_SHARED))
        return vyre_fail(err, VYRE_E_RESERVED,
                         "flags 0x%x has bits that this version does not know", options->flags);
    if (options->flags == (VYRE_BUFFER_RESTORED | VYRE_BUFFER_SHARED))
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "leave RESTORED out: a restart keeps what a SHARED buffer holds",
                              "a buffer that is both RESTORED and SHARED");
    if (options->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", options->reserved);
    return VYRE_OK;
}

static void free_memory(vyre_buffer *buffer)
{
    vyre *runtime = buffer->runtime;
    runtime->port->block_free(runtime, &buffer->block);
    vyre_memory_free(&runtime->memory, buffer, sizeof *buffer);
}

/* Frees a buffer that no slot uses any more. (system.lock) */
void vyre_buffer_release(void *subject)
{
    vyre_buffer *buffer = subject;
    vyre *runtime = buffer->runtime;
    vyre_buffer **link = &runtime->buffers;
    while (*link != buffer)
        link = &(*link)->next;
    *link = buffer->next;
    vyre_io_note(runtime, buffer, 0);
    vyre_handle_give(runtime, buffer->handle);
    free_memory(buffer);
}

static vyre_status install(vyre_buffer *buffer, const vyre_buffer_options *options, vyre_error *err)
{
    vyre *runtime = buffer->runtime;
    pthread_mutex_lock(&runtime->system.lock);
    vyre_status status = vyre_handle_take(runtime, &buffer->handle, err);
    pthread_mutex_unlock(&runtime->system.lock);
    if (status) return status;
    uint64_t address = buffer->block.address;
    uint64_t bytes = buffer->block.bytes;
    uint32_t args[VYRE_SLOT_ARGS] = {
        buffer->handle,    DEV_BUFFER,
        options->tenant,   options->rights | (buffer->block.host ? DEV_RIGHT_SEEN : 0),
        (uint32_t)address, (uint32_t)(address >> 32),
        (uint32_t)bytes,   (uint32_t)(bytes >> 32),
    };
    uint32_t result;
    status = vyre_system_call(runtime, DEV_SYS_INSTALL, args, &result, err);
    if (!status && result)
        status = vyre_fail(err, VYRE_E_INTERNAL, "the device refused handle 0x%x", buffer->handle);
    pthread_mutex_lock(&runtime->system.lock);
    if (status) {
        vyre_handle_give(runtime, buffer->handle);
    } else {
        buffer->next = runtime->buffers;
        runtime->buffers = buffer;
        vyre_io_note(runtime, buffer, 1);
    }
    pthread_mutex_unlock(&runtime->system.lock);
    return status;
}

/* Of a block that was not made: what its maker had set. */
static void let_go(struct vyre_block *block)
{
    if (block->mapping.base)
        vyre_memory_unmap(block->memory, &block->mapping);
    else if (block->mapping.fd >= 0)
        close(block->mapping.fd);
}

vyre_status vyre_buffer_make(vyre *runtime, const vyre_buffer_options *options,
                             struct vyre_block *block, vyre_buffer **out, vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, sizeof(vyre_buffer), "buffer", &memory, err);
    if (status) {
        let_go(block);
        return status;
    }
    vyre_buffer *buffer = memory;
    buffer->runtime = runtime;
    buffer->kind = options->kind;
    buffer->tenant = options->tenant;
    buffer->rights = options->rights;
    buffer->block = *block;
    status = runtime->port->block_make(runtime, &buffer->block, NULL, err);
    if (status)
        let_go(&buffer->block);
    else
        status = install(buffer, options, err);
    if (status) {
        free_memory(buffer);
        return status;
    }
    *out = buffer;
    return VYRE_OK;
}

/* Memory of the CPU backend that is to be shared is a mapping as well. */
static uint32_t block_kind(const vyre *runtime, const vyre_buffer_options *options)
{
    if (options->kind == VYRE_PINNED) return VYRE_BLOCK_SHARED;
    if (!(options->flags & VYRE_BUFFER_SHARED)) return VYRE_BLOCK_DEVICE;
    return runtime->backend->memory ? VYRE_BLOCK_LENT : VYRE_BLOCK_SHARED;
}

vyre_status vyre_buffer_create_with(vyre *runtime, size_t bytes, const vyre_buffer_options *options,
                                    vyre_buffer **out, vyre_error *err)
{
    vyre_buffer_options chosen = VYRE_BUFFER_OPTIONS_INIT;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    vyre_status status =
        options ? vyre_options_read(&chosen, options, sizeof chosen, "vyre_buffer_options", err)
                : VYRE_OK;
    if (!status) status = vyre_buffer_check(runtime, bytes, &chosen, err);
    if (status) return status;
    if (vyre_runtime_stopped(runtime)) return vyre_runtime_refuse(runtime, err);
    if (vyre_runtime_paused(runtime)) return vyre_pause_refuse(err);
    struct vyre_block block = {
        .bytes = bytes,
        .kind = block_kind(runtime, &chosen),
        .restored = chosen.flags & VYRE_BUFFER_RESTORED,
        .memory = &runtime->buffer_memory,
        .what = chosen.kind == VYRE_PINNED ? "pinned buffer" : "device buffer",
        .mapping.fd = -1,
    };
    return vyre_buffer_make(runtime, &chosen, &block, out, err);
}

vyre_status vyre_buffer_create(vyre *runtime, size_t bytes, enum vyre_buffer_kind kind,
                               vyre_buffer **buffer, vyre_error *err)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    options.kind = (uint32_t)kind;
    return vyre_buffer_create_with(runtime, bytes, &options, buffer, err);
}

void vyre_buffer_free(vyre_buffer *buffer)
{
    if (!buffer) return;
    buffer->drop.handle = buffer->handle;
    buffer->drop.subject = buffer;
    buffer->drop.release = vyre_buffer_release;
    vyre_system_drop(buffer->runtime, &buffer->drop);
}

uint32_t vyre_buffer_handle(const vyre_buffer *buffer)
{
    return buffer ? buffer->handle : 0;
}

size_t vyre_buffer_size(const vyre_buffer *buffer)
{
    return buffer ? buffer->block.bytes : 0;
}

static vyre_status check_range(const vyre_buffer *buffer, size_t offset, const void *bytes,
                               size_t length, vyre_error *err)
{
    if (!buffer) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    if (!bytes && length != 0) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    if (offset > buffer->block.bytes || length > buffer->block.bytes - offset) {
        vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_BYTE, offset,
                     "%zu bytes at offset %zu reach past the end of a buffer of %zu", length,
                     offset, buffer->block.bytes);
        vyre_fail_fix(err, "end at byte %zu at the latest", buffer->block.bytes);
        return VYRE_E_RANGE;
    }
    return VYRE_OK;
}

vyre_status vyre_buffer_write(vyre_buffer *buffer, size_t offset, const void *bytes, size_t length,
                              vyre_error *err)
{
    vyre_status status = check_range(buffer, offset, bytes, length, err);
    if (status || length == 0) return status;
    return buffer->runtime->port->block_write(buffer->runtime, &buffer->block, offset, bytes,
                                              length, err);
}

vyre_status vyre_buffer_read(vyre_buffer *buffer, size_t offset, void *bytes, size_t length,
                             vyre_error *err)
{
    vyre_status status = check_range(buffer, offset, bytes, length, err);
    if (status || length == 0) return status;
    return buffer->runtime->port->block_read(buffer->runtime, &buffer->block, offset, bytes, length,
                                             err);
}

vyre_status vyre_buffer_map(vyre_buffer *buffer, void **memory, vyre_error *err)
{
    if (!buffer) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    if (!memory) return vyre_fail(err, VYRE_E_NULL, "memory is null");
    if (!buffer->block.host || buffer->block.kind != VYRE_BLOCK_SHARED) {
        if (!vyre_port_direct(buffer->runtime))
            return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                                  "use vyre_buffer_read and vyre_buffer_write, or a PINNED buffer",
                                  "this process cannot see the memory of a DEVICE buffer of the "
                                  "%s backend",
                                  buffer->runtime->backend->name);
    }
    *memory = buffer->block.host;
    return VYRE_OK;
}
