/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The port of the process that owns the device: memory from the backend, requests through the ring
 * of queue 0. On the CPU backend the device's memory is this process's own; on others a shadow of
 * the device's tables is kept and refreshed where somebody wants to look.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/release.h"
#include "device/system.h"
#include "runtime/device_memory.h"
#include "runtime/internal.h"
#include "wire/sealing.h"

#define SYSTEM_SLOTS 256u

struct vyre_local {
    struct vyre_backend_run *run;
    struct vyre_device_memory memory;
    vyre_queue *queue; /* queue 0 */
};

static const struct vyre_backend_memory *far_memory(const vyre *runtime)
{
    return runtime->backend->memory;
}

/* Blocks.
 * ------------------------------------------------------------------------------------------- */

static vyre_status make_shared(vyre *runtime, struct vyre_block *block, vyre_error *err)
{
    int ours = block->mapping.base == NULL;
    vyre_status status = VYRE_OK;
    if (ours)
        status = vyre_memory_map(block->memory, block->bytes, block->what, &block->mapping, err);
    if (status) return status;
    block->host = block->mapping.base;
    block->address = (uint64_t)(uintptr_t)block->host;
    if (!far_memory(runtime)) return VYRE_OK;
    status = far_memory(runtime)->share(runtime->local->run, &block->mapping, &block->address, err);
    if (!status) return VYRE_OK;
    block->address = 0;
    block->host = NULL;
    if (ours) vyre_memory_unmap(block->memory, &block->mapping);
    return status;
}

/* Memory that only workers touch, of this process. Frames are mapped: what is never touched costs
 * nothing. */
static vyre_status make_near(struct vyre_block *block, const void *contents, vyre_error *err)
{
    vyre_status status;
    if (block->kind == VYRE_BLOCK_FRAMES) {
        status = vyre_memory_map(block->memory, block->bytes, block->what, &block->mapping, err);
        block->host = block->mapping.base;
    } else {
        status = vyre_memory_alloc(block->memory, 1, block->bytes, block->what, &block->host, err);
    }
    if (status) {
        block->host = NULL;
        return status;
    }
    if (contents) memcpy(block->host, contents, block->bytes);
    block->address = (uint64_t)(uintptr_t)block->host;
    return VYRE_OK;
}

static vyre_status refuse_lending(const vyre *runtime, vyre_error *err)
{
    return vyre_fail_with(err, VYRE_E_UNSUPPORTED, "share a PINNED buffer instead",
                          "the %s backend has no GPU memory", runtime->backend->name);
}

static void note_lent(struct vyre_block *block, const struct vyre_backend_lent *lent)
{
    block->address = lent->address;
    block->mapping = (struct vyre_mapping){NULL, lent->extent, lent->fd};
    memcpy(block->device, lent->device, sizeof block->device);
}

static vyre_status make_lent(vyre *runtime, struct vyre_block *block, vyre_error *err)
{
    struct vyre_backend_lent lent;
    if (!far_memory(runtime)) return refuse_lending(runtime, err);
    vyre_status status = far_memory(runtime)->lend(runtime->local->run, block->bytes, &lent, err);
    if (!status) note_lent(block, &lent);
    return status;
}

/* Nothing needs the descriptor afterwards: the mapping keeps the memory. */
static vyre_status make_borrowed(vyre *runtime, struct vyre_block *block, vyre_error *err)
{
    struct vyre_backend_lent lent = {.extent = block->mapping.bytes, .fd = block->mapping.fd};
    memcpy(lent.device, block->device, sizeof lent.device);
    vyre_status status = far_memory(runtime)
                             ? far_memory(runtime)->borrow(runtime->local->run, &lent, err)
                             : refuse_lending(runtime, err);
    close(lent.fd);
    lent.fd = block->mapping.fd = -1;
    if (!status) note_lent(block, &lent);
    return status;
}

static vyre_status local_block_make(vyre *runtime, struct vyre_block *block, const void *contents,
                                    vyre_error *err)
{
    const struct vyre_backend_memory *far = far_memory(runtime);
    if (block->kind == VYRE_BLOCK_SHARED) return make_shared(runtime, block, err);
    if (block->kind == VYRE_BLOCK_LENT) return make_lent(runtime, block, err);
    if (block->kind == VYRE_BLOCK_BORROWED) return make_borrowed(runtime, block, err);
    if (!far) return make_near(block, contents, err);
    vyre_status status = far->alloc(runtime->local->run, block->bytes, &block->address, err);
    if (status || !contents) return status;
    status = far->write(runtime->local->run, block->address, contents, block->bytes, err);
    if (!status) return VYRE_OK;
    far->free(runtime->local->run, block->address, block->bytes);
    block->address = 0;
    return status;
}

static void local_block_free(vyre *runtime, struct vyre_block *block)
{
    const struct vyre_backend_memory *far = far_memory(runtime);
    int later = 0;
    if (block->address == 0) return;
    if (block->kind == VYRE_BLOCK_SHARED) {
        if (far) far->unshare(runtime->local->run, &block->mapping, block->memory, &later);
        if (!later) vyre_memory_unmap(block->memory, &block->mapping);
    } else if (block->kind == VYRE_BLOCK_LENT || block->kind == VYRE_BLOCK_BORROWED) {
        far->give_back(runtime->local->run, block->address, block->mapping.bytes);
        if (block->mapping.fd >= 0) close(block->mapping.fd);
        block->mapping = (struct vyre_mapping){NULL, 0, -1};
    } else if (far) {
        far->free(runtime->local->run, block->address, block->bytes);
    } else if (block->kind == VYRE_BLOCK_FRAMES) {
        vyre_memory_unmap(block->memory, &block->mapping);
    } else {
        vyre_memory_free(block->memory, block->host, block->bytes);
    }
    block->address = 0;
    block->host = NULL;
}

static vyre_status local_block_write(vyre *runtime, struct vyre_block *block, size_t at,
                                     const void *bytes, size_t length, vyre_error *err)
{
    if (!block->host)
        return far_memory(runtime)->write(runtime->local->run, block->address + at, bytes, length,
                                          err);
    memcpy((unsigned char *)block->host + at, bytes, length);
    return VYRE_OK;
}

static vyre_status local_block_read(vyre *runtime, struct vyre_block *block, size_t at, void *bytes,
                                    size_t length, vyre_error *err)
{
    if (!block->host)
        return far_memory(runtime)->read(runtime->local->run, bytes, block->address + at, length,
                                         err);
    memcpy(bytes, (const unsigned char *)block->host + at, length);
    return VYRE_OK;
}

/* Requests.
 * ------------------------------------------------------------------------------------------- */

/* A resident poller that has no other queue looks at the slot meanwhile, and leaves it alone. */
VYRE_SEEN_UNFINISHED static void fill(vyre_slot *place, const uint32_t *slot)
{
    const vyre_four_words *from = (const void *)slot;
    vyre_four_words *into = (void *)place->word;
    for (size_t i = 0; i < VYRE_SLOT_WORDS / 4; i++)
        into[i] = from[i];
}

static int local_post(vyre *runtime, const uint32_t *slot, uint64_t *ticket)
{
    vyre_slot *place = vyre_queue_slot(runtime->local->queue);
    if (!place) return 0;
    fill(place, slot);
    return vyre_queue_submit(runtime->local->queue, ticket, NULL) == VYRE_OK;
}

static size_t local_reap(vyre *runtime, vyre_completion *completions, size_t max)
{
    size_t count = 0;
    vyre_queue_reap(runtime->local->queue, completions, max, &count, NULL);
    return count;
}

static void local_wait(vyre *runtime, uint64_t until_ns)
{
    vyre_queue_pause(runtime->local->queue, until_ns);
}

static int local_taken(vyre *runtime, uint64_t ticket)
{
    uint32_t taken = dev_load_acquire(&runtime->local->queue->page->taken, DEV_SYSTEM); /* A9 */
    return (int32_t)(taken - (uint32_t)ticket) > 0;
}

static void local_help(vyre *runtime)
{
    runtime->backend->help(runtime->local->run);
}

/* Views.
 * ------------------------------------------------------------------------------------------- */

static const void *view_words(const vyre *runtime, uint32_t view, uint32_t tenant)
{
    const struct dev_runtime *device = runtime->local->memory.image.device;
    switch (view) {
    case VYRE_VIEW_CONTROL:
        return device->control;
    case VYRE_VIEW_OBSERVABLES:
        return device->observables + (size_t)tenant * device->observable_words;
    case VYRE_VIEW_LOG:
        return &device->logs[tenant];
    case VYRE_VIEW_INFLIGHT:
        return device->inflight;
    default:
        return &device->frames_full;
    }
}

static vyre_status local_view(vyre *runtime, uint32_t view, uint32_t tenant, void *room,
                              const void **words, vyre_error *err)
{
    const struct vyre_backend_image *image = &runtime->local->memory.image;
    const unsigned char *at = view_words(runtime, view, tenant);
    if (!far_memory(runtime)) {
        *words = at;
        return VYRE_OK;
    }
    uint64_t address =
        image->address + (uint64_t)(at - (const unsigned char *)(void *)image->device);
    vyre_status status = far_memory(runtime)->read(runtime->local->run, room, address,
                                                   vyre_view_bytes(runtime, view), err);
    if (!status) *words = room;
    return status;
}

static vyre_status local_link(vyre *runtime, const struct vyre_native_image *image,
                              uint64_t *number, vyre_error *err)
{
    uint32_t args[VYRE_SLOT_ARGS] = {0}, result, tries = 0;
    vyre_status status;
    if (!runtime->backend->link)
        return vyre_fail_with(err, VYRE_E_UNSUPPORTED, "register a C function instead",
                              "the %s backend runs no CUDA code", runtime->backend->name);
    if (vyre_runtime_paused(runtime)) return vyre_pause_refuse(err); /* it would answer nobody */
    status = vyre_system_call(runtime, DEV_SYS_PARK, args, &result, err);
    if (!status) { /* E_BUSY: slots run that do not end, and it leaves when they have */
        do
            status = runtime->backend->link(runtime->local->run, image, number, err);
        while (status == VYRE_E_BUSY && ++tries < 4);
    }
    runtime->backend->wake(runtime->local->run);
    return status;
}

static vyre_status local_pause(vyre *runtime, vyre_error *err)
{
    uint32_t args[VYRE_SLOT_ARGS] = {0}, result;
    int resident = runtime->backend->wakes_by_word != 0;
    vyre_status status = VYRE_OK;
    args[0] = 1; /* slots that wait for input or output are waited for */
    if (resident) status = vyre_system_call(runtime, DEV_SYS_PARK, args, &result, err);
    if (status) return status;
    status = runtime->backend->pause(runtime->local->run, err);
    if (status && resident) runtime->backend->wake(runtime->local->run);
    return status;
}

static vyre_status local_resume(vyre *runtime, vyre_error *err)
{
    (void)err;
    runtime->backend->resume(runtime->local->run);
    return VYRE_OK;
}

/* Life.
 * ------------------------------------------------------------------------------------------- */

static void local_wake(vyre *runtime)
{
    if (runtime->backend->wakes_by_word)
        dev_wake_parked(runtime->page);
    else
        runtime->backend->wake(runtime->local->run);
    if (runtime->silent) vyre_io_poke(runtime);
}

static uint32_t local_visit(vyre *runtime, uint32_t visit)
{
    return runtime->backend->visit
               ? runtime->backend->visit(runtime->local->run, (enum vyre_visit)visit)
               : 0;
}

static void local_join(vyre *runtime)
{
    runtime->backend->join(runtime->local->run);
}

static int local_on_worker(const vyre *runtime)
{
    return runtime->started && runtime->backend->on_worker(runtime->local->run);
}

static void local_destroy(vyre *runtime)
{
    struct vyre_local *local = runtime->local;
    if (!local) return;
    if (local->queue) vyre_queue_free(local->queue);
    local_block_free(runtime, &runtime->shared);
    vyre_device_memory_free(runtime, &local->memory, local->run);
    if (local->run) runtime->backend->destroy(local->run);
    vyre_memory_free(&runtime->memory, local, sizeof *local);
    runtime->local = NULL;
}

/* Queue 0. The device cannot be told of it through itself: it is opened while no worker runs yet.
 */
static vyre_status make_queue(vyre *runtime, vyre_error *err)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    uint32_t args[VYRE_SLOT_ARGS];
    options.slots = SYSTEM_SLOTS;
    options.wait_mode = VYRE_WAIT_ADAPTIVE;
    options.flags = VYRE_QUEUE_UNSEALED;
    vyre_status status = vyre_queue_make(runtime, &options, 0, &runtime->local->queue, err);
    if (status) return status;
    vyre_queue_open_args(runtime->local->queue, args);
    dev_sys_queue_open(runtime->local->memory.image.device, args);
    return VYRE_OK;
}

static vyre_status make_shared_page(vyre *runtime, const struct vyre_mapping *given,
                                    vyre_error *err)
{
    const vyre_options *options = &runtime->options;
    struct vyre_block *block = &runtime->shared;
    block->kind = VYRE_BLOCK_SHARED;
    block->bytes = dev_shared_bytes(options->workers, options->max_queues + 1);
    block->memory = &runtime->memory;
    block->what = "vitals";
    if (given) block->mapping = *given;
    vyre_status status = local_block_make(runtime, block, NULL, err);
    if (status) return status;
    memset(block->host, 0, block->bytes);
    runtime->page = block->host;
    runtime->vitals = (void *)((unsigned char *)block->host + DEV_VITALS_AT);
    runtime->vitals->magic = DEV_VITALS_MAGIC;
    runtime->vitals->version = DEV_VITALS_VERSION;
    runtime->vitals->bytes = (uint32_t)block->bytes;
    runtime->vitals->workers = options->workers;
    runtime->vitals->queues = options->max_queues + 1;
    return VYRE_OK;
}

vyre_status vyre_local_open(vyre *runtime, const struct vyre_mapping *shared, vyre_error *err)
{
    struct vyre_backend_setup setup = {&runtime->memory, &runtime->log, &runtime->options};
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, sizeof(struct vyre_local), "port", &memory, err);
    if (status) return status;
    struct vyre_local *local = runtime->local = memory;
    status = runtime->backend->open(&setup, &local->run, err);
    if (!status) status = make_shared_page(runtime, shared, err);
    if (!status) status = vyre_device_memory_make(runtime, &local->memory, local->run, err);
    if (!status) status = make_queue(runtime, err);
    if (!status) vyre_device_memory_settle(runtime, &local->memory);
    if (!status) status = runtime->backend->start(local->run, &local->memory.image, err);
    if (!status) runtime->started = 1;
    return status;
}

struct dev_runtime *vyre_local_device(const vyre *runtime)
{
    return runtime->local->memory.image.device;
}

const struct vyre_port vyre_port_local = {
    "local",     local_block_make, local_block_free, local_block_write, local_block_read,
    local_post,  local_reap,       local_wait,       local_taken,       local_help,
    local_view,  local_link,       local_pause,      local_resume,      local_wake,
    local_visit, local_join,       local_on_worker,  local_destroy,
};
