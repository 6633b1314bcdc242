/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers whose memory others see: descriptors of ours, and buffers of theirs. A block keeps the
 * descriptor of its memory as long as it lives, so exporting is a duplicate of it, and a restart
 * has it to import the memory again.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/internal.h"
#include "runtime/options.h"

static vyre_status duplicate(int fd, int *out, vyre_error *err)
{
    *out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (*out >= 0) return VYRE_OK;
    int cause = errno;
    vyre_fail_errno(err, cause, "duplicating descriptor %d", fd);
    if (cause == EMFILE) vyre_fail_fix(err, "raise the limit on open files (ulimit -n)");
    if (cause == EBADF) vyre_fail_fix(err, "pass a descriptor that is open");
    return VYRE_E_SYSTEM;
}

vyre_status vyre_buffer_export(const vyre_buffer *buffer, vyre_share *share, vyre_error *err)
{
    if (!buffer) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    if (!share) return vyre_fail(err, VYRE_E_NULL, "share is null");
    if (share->size < sizeof *share)
        return vyre_fail(err, VYRE_E_SIZE, "share.size is %u; this version has %zu bytes",
                         share->size, sizeof *share);
    const struct vyre_block *block = &buffer->block;
    int far = block->kind == VYRE_BLOCK_LENT || block->kind == VYRE_BLOCK_BORROWED;
    if (!far && block->kind != VYRE_BLOCK_SHARED)
        return vyre_fail_with(err, VYRE_E_STATE,
                              "make it with the flag VYRE_BUFFER_SHARED (vyre_buffer_create_with)",
                              "the memory of this buffer is not one that can be exported");
    if (block->mapping.fd < 0)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED,
                              "let the allocator's map give a descriptor, or give no map and unmap",
                              "the allocator's map gave memory without a descriptor");
    vyre_share filled = VYRE_SHARE_INIT;
    int fd;
    vyre_status status = duplicate(block->mapping.fd, &fd, err);
    if (status) return status;
    filled.size = share->size;
    filled.kind = far ? VYRE_SHARE_CUDA : VYRE_SHARE_MEMORY;
    filled.fd = fd;
    filled.bytes = block->bytes;
    filled.extent = block->mapping.bytes;
    memcpy(filled.device, block->device, sizeof filled.device);
    *share = filled;
    return VYRE_OK;
}

/* Importing.
 * ------------------------------------------------------------------------------------------- */

static vyre_status check_share(const vyre *runtime, const vyre_share *share, vyre_error *err)
{
    if (share->kind != VYRE_SHARE_CUDA && share->kind != VYRE_SHARE_MEMORY)
        return vyre_fail(err, VYRE_E_RANGE, "kind is %u; 1 is CUDA, 2 is memory of the host",
                         share->kind);
    if (share->reserved != 0)
        return vyre_fail(err, VYRE_E_RESERVED, "the reserved word is %u, not 0", share->reserved);
    if (share->extent != 0 && share->extent < share->bytes)
        return vyre_fail(err, VYRE_E_RANGE,
                         "extent is %llu, less than the %llu bytes of the buffer",
                         (unsigned long long)share->extent, (unsigned long long)share->bytes);
    if (share->bytes > SIZE_MAX / 2 || share->extent > SIZE_MAX / 2)
        return vyre_fail(err, VYRE_E_OVERFLOW, "a buffer of %llu bytes fits no address space",
                         (unsigned long long)share->bytes);
    if (!memchr(share->device, '\0', sizeof share->device))
        return vyre_fail(err, VYRE_E_RANGE, "device is a text without end");
    if (share->kind == VYRE_SHARE_CUDA && !runtime->backend->memory)
        return vyre_fail_with(
            err, VYRE_E_UNSUPPORTED, "open the runtime with backend CUDA, or share host memory",
            "workers of the %s backend cannot see memory of a GPU", runtime->backend->name);
    if (share->kind == VYRE_SHARE_MEMORY && runtime->options.allocator &&
        runtime->options.allocator->map)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, "give an allocator without map and unmap",
                              "the allocator's unmap would be given memory that it did not make");
    return VYRE_OK;
}

static vyre_status check_flags(vyre_buffer_options *options, vyre_error *err)
{
    if (options->flags & VYRE_BUFFER_RESTORED)
        return vyre_fail_with(err, VYRE_E_CONFLICT,
                              "leave RESTORED out: a restart keeps what imported memory holds",
                              "a buffer that is imported cannot be RESTORED");
    options->kind = VYRE_DEVICE;
    return VYRE_OK;
}

/* A block of the memory, with a descriptor of its own. */
static vyre_status take(const vyre_share *share, struct vyre_block *block, vyre_error *err)
{
    int fd;
    vyre_status status = duplicate(share->fd, &fd, err);
    if (status) return status;
    if (share->kind == VYRE_SHARE_CUDA) {
        size_t extent = (size_t)(share->extent ? share->extent : share->bytes);
        block->kind = VYRE_BLOCK_BORROWED;
        block->mapping = (struct vyre_mapping){NULL, extent, fd};
        memcpy(block->device, share->device, sizeof block->device);
        return VYRE_OK;
    }
    block->kind = VYRE_BLOCK_SHARED;
    status = vyre_memory_adopt(block->memory, fd, block->bytes, block->what, &block->mapping, err);
    if (status) close(fd);
    return status;
}

vyre_status vyre_buffer_import(vyre *runtime, const vyre_share *given,
                               const vyre_buffer_options *options, vyre_buffer **out,
                               vyre_error *err)
{
    vyre_buffer_options chosen = VYRE_BUFFER_OPTIONS_INIT;
    vyre_share share = VYRE_SHARE_INIT;
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!given) return vyre_fail(err, VYRE_E_NULL, "share is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "buffer is null");
    vyre_status status = vyre_options_read(&share, given, sizeof share, "vyre_share", err);
    if (!status && options)
        status = vyre_options_read(&chosen, options, sizeof chosen, "vyre_buffer_options", err);
    if (!status) status = check_share(runtime, &share, err);
    if (!status) status = check_flags(&chosen, err);
    if (!status) status = vyre_buffer_check(runtime, (size_t)share.bytes, &chosen, err);
    if (status) return status;
    if (vyre_runtime_stopped(runtime)) return vyre_runtime_refuse(runtime, err);
    if (vyre_runtime_paused(runtime)) return vyre_pause_refuse(err);
    struct vyre_block block = {.bytes = (size_t)share.bytes,
                               .memory = &runtime->buffer_memory,
                               .what = "imported buffer",
                               .mapping.fd = -1};
    if (share.kind == VYRE_SHARE_MEMORY) chosen.kind = VYRE_PINNED;
    status = take(&share, &block, err);
    return status ? status : vyre_buffer_make(runtime, &chosen, &block, out, err);
}
