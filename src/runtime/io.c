/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The runtime's part of input and output that slots ask for; see io.h.
 */
#include "runtime/io.h"

#include <string.h>

#include "device/system.h"
#include "runtime/internal.h"

#define CHUNKS 32u /* where the pump cannot see all buffers: 4 MiB */

void vyre_io_init(vyre *runtime)
{
    pthread_mutex_init(&runtime->io.lock, NULL);
    runtime->io.block.mapping.fd = -1;
}

void vyre_io_destroy(vyre *runtime)
{
    struct vyre_io *io = &runtime->io;
    if (runtime->port) runtime->port->block_free(runtime, &io->block);
    vyre_memory_free(&runtime->memory, io->buffers,
                     runtime->options.max_handles * sizeof(struct vyre_io_buffer));
    io->buffers = NULL;
    pthread_mutex_destroy(&io->lock);
}

void vyre_io_note(vyre *runtime, const vyre_buffer *buffer, int there)
{
    uint32_t index = buffer->handle & 0xFFFFu;
    if (!runtime->io.buffers || !buffer->block.host) return;
    struct vyre_io_buffer *noted = &runtime->io.buffers[index];
    if (there) {
        noted->base = buffer->block.host;
        noted->bytes = buffer->block.bytes;
        noted->pinned = buffer->block.kind == VYRE_BLOCK_SHARED;
    }
    __atomic_store_n(&noted->handle, there ? buffer->handle : 0, __ATOMIC_RELEASE); /* R20 */
    if (there || !__atomic_load_n(&runtime->io.fixed, __ATOMIC_RELAXED)) return;
    __atomic_fetch_add(&runtime->io.ended, 1, __ATOMIC_RELEASE);
    vyre_io_poke(runtime);
}

static vyre_status list_buffers(vyre *runtime, vyre_error *err)
{
    void *buffers;
    vyre_status status = vyre_memory_alloc(&runtime->memory, runtime->options.max_handles,
                                           sizeof(struct vyre_io_buffer), "buffers", &buffers, err);
    if (status) return status;
    pthread_mutex_lock(&runtime->system.lock);
    runtime->io.buffers = buffers;
    for (const vyre_buffer *buffer = runtime->buffers; buffer; buffer = buffer->next)
        vyre_io_note(runtime, buffer, 1);
    pthread_mutex_unlock(&runtime->system.lock);
    return VYRE_OK;
}

vyre_status vyre_io_make(vyre *runtime, vyre_error *err)
{
    struct vyre_io *io = &runtime->io;
    uint32_t entries = runtime->options.io_entries;
    vyre_status status = VYRE_OK;
    if (entries == 0)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, "open the runtime with io_entries 256",
                              "the runtime was opened with io_entries 0: no slot can ask for input "
                              "or output");
    if (vyre_runtime_stopped(runtime)) return vyre_runtime_refuse(runtime, err);
    if (vyre_runtime_paused(runtime)) return vyre_pause_refuse(err);
    if (!io->buffers) status = list_buffers(runtime, err);
    if (status || io->block.address != 0) return status;
    io->chunks = vyre_port_direct(runtime) ? 0 : CHUNKS;
    io->block.kind = VYRE_BLOCK_SHARED;
    io->block.bytes = dev_io_bytes(entries, io->chunks);
    io->block.memory = &runtime->memory;
    io->block.what = "rings for input and output";
    return runtime->port->block_make(runtime, &io->block, NULL, err);
}

vyre_status vyre_io_install(vyre *runtime, const struct vyre_io_pump *calls, void *pump,
                            vyre_error *err)
{
    struct vyre_io *io = &runtime->io;
    uint32_t args[VYRE_SLOT_ARGS] = {(uint32_t)io->block.address,
                                     (uint32_t)(io->block.address >> 32), io->chunks};
    uint32_t result = 0;
    /* Before the device knows of it: from then on a restart has to hold the pump. It stays where
     * the device is not told. Once: others read it without the lock. */
    if (!io->pump) {
        io->calls = calls;
        __atomic_store_n(&io->pump, pump, __ATOMIC_RELEASE);
    }
    if (io->installed) return VYRE_OK;
    vyre_status status = vyre_system_call(runtime, DEV_SYS_IO, args, &result, err);
    if (!status && result) status = vyre_fail(err, VYRE_E_INTERNAL, "the device refused the rings");
    if (!status) io->installed = 1;
    return status;
}

void vyre_io_reset(vyre *runtime)
{
    struct dev_io_page *page = runtime->io.block.host;
    if (!page) return;
    /* A pump that is held takes no request, but may look at all of it. */
    dev_store_relaxed(&page->requested, 0);
    dev_store64_relaxed(&page->deadline_ns, 0);
    dev_store_relaxed(&page->answered, 0);
}

/* Passing on.
 * ------------------------------------------------------------------------------------------- */

static void *pump_of(const vyre *runtime)
{
    return __atomic_load_n(&runtime->io.pump, __ATOMIC_ACQUIRE);
}

void vyre_io_poke(vyre *runtime)
{
    void *pump = pump_of(runtime);
    if (pump) runtime->io.calls->poke(pump);
}

void vyre_io_hold(vyre *runtime)
{
    void *pump = pump_of(runtime);
    if (pump) runtime->io.calls->hold(pump);
}

void vyre_io_let_go(vyre *runtime)
{
    void *pump = pump_of(runtime);
    if (pump) runtime->io.calls->let_go(pump);
}

void vyre_io_end(vyre *runtime)
{
    void *pump = pump_of(runtime);
    if (pump) runtime->io.calls->end(pump);
    __atomic_store_n(&runtime->io.pump, NULL, __ATOMIC_RELEASE);
}

int vyre_io_oldest(vyre *runtime, struct vyre_io_oldest *oldest)
{
    void *pump = pump_of(runtime);
    return pump ? runtime->io.calls->oldest(pump, oldest) : 0;
}
