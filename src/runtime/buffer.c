/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers: their memory, their handles, and giving them back while slots still use them.
 */
#include <string.h>

#include "device/system.h"
#include "runtime/internal.h"
#include "runtime/options.h"

static vyre_status check(const vyre *runtime, size_t bytes, const vyre_buffer_options *options,
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
    return VYRE_OK;
}

static vyre_status get_memory(vyre_buffer *buffer, vyre_error *err)
{
    struct vyre_memory *memory = &buffer->runtime->buffer_memory;
    if (buffer->kind == VYRE_DEVICE)
        return vyre_memory_alloc(memory, 1, buffer->bytes, "device buffer", &buffer->memory, err);
    vyre_status status =
        vyre_memory_map(memory, buffer->bytes, "pinned buffer", &buffer->mapping, err);
    if (!status) buffer->memory = buffer->mapping.base;
    return status;
}

static void free_memory(vyre_buffer *buffer)
{
    vyre *runtime = buffer->runtime;
    if (buffer->kind == VYRE_DEVICE)
        vyre_memory_free(&runtime->buffer_memory, buffer->memory, buffer->bytes);
    else
        vyre_memory_unmap(&runtime->buffer_memory, &buffer->mapping);
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
    uint64_t address = (uint64_t)(uintptr_t)buffer->memory;
    uint64_t bytes = buffer->bytes;
    uint32_t args[VYRE_SLOT_ARGS] = {
        buffer->handle,    DEV_BUFFER,
        options->tenant,   options->rights,
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
    }
    pthread_mutex_unlock(&runtime->system.lock);
    return status;
}

vyre_status vyre_buffer_create_with(vyre *runtime, size_t bytes, const vyre_buffer_options *options,
                                    vyre_buffer **out, vyre_error *err)
{
    vyre_buffer_options chosen = VYRE_BUFFER_OPTIONS_INIT;
    void *memory;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    vyre_status status =
        options ? vyre_options_read(&chosen, options, sizeof chosen, "vyre_buffer_options", err)
                : VYRE_OK;
    if (!status) status = check(runtime, bytes, &chosen, err);
    if (status) return status;
    if (vyre_runtime_stopped(runtime))
        return vyre_fail(err, VYRE_E_STOPPED, "the runtime has been stopped");
    status = vyre_memory_alloc(&runtime->memory, 1, sizeof(vyre_buffer), "buffer", &memory, err);
    if (status) return status;
    vyre_buffer *buffer = memory;
    buffer->runtime = runtime;
    buffer->kind = chosen.kind;
    buffer->tenant = chosen.tenant;
    buffer->rights = chosen.rights;
    buffer->bytes = bytes;
    buffer->mapping.fd = -1;
    status = get_memory(buffer, err);
    if (!status) status = install(buffer, &chosen, err);
    if (status) {
        free_memory(buffer);
        return status;
    }
    *out = buffer;
    return VYRE_OK;
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
    return buffer ? buffer->bytes : 0;
}

static vyre_status check_range(const vyre_buffer *buffer, size_t offset, const void *bytes,
                               size_t length, vyre_error *err)
{
    if (!buffer) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    if (!bytes && length != 0) return vyre_fail(err, VYRE_E_NULL, "bytes is null");
    if (offset > buffer->bytes || length > buffer->bytes - offset) {
        vyre_fail_at(err, VYRE_E_RANGE, VYRE_PLACE_BYTE, offset,
                     "%zu bytes at offset %zu reach past the end of a buffer of %zu", length,
                     offset, buffer->bytes);
        vyre_fail_fix(err, "end at byte %zu at the latest", buffer->bytes);
        return VYRE_E_RANGE;
    }
    return VYRE_OK;
}

vyre_status vyre_buffer_write(vyre_buffer *buffer, size_t offset, const void *bytes, size_t length,
                              vyre_error *err)
{
    vyre_status status = check_range(buffer, offset, bytes, length, err);
    if (!status && length != 0) memcpy((unsigned char *)buffer->memory + offset, bytes, length);
    return status;
}

vyre_status vyre_buffer_read(vyre_buffer *buffer, size_t offset, void *bytes, size_t length,
                             vyre_error *err)
{
    vyre_status status = check_range(buffer, offset, bytes, length, err);
    if (!status && length != 0) memcpy(bytes, (unsigned char *)buffer->memory + offset, length);
    return status;
}

vyre_status vyre_buffer_map(vyre_buffer *buffer, void **memory, vyre_error *err)
{
    if (!buffer) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    if (!memory) return vyre_fail(err, VYRE_E_NULL, "memory is null");
    *memory = buffer->memory;
    return VYRE_OK;
}
