/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Laying out the device's memory before the first worker starts.
 */
#include "runtime/device_memory.h"

#include "base/checked.h"
#include "device/handover.h"

#define FRAME_UNIT 4096u /* a frame begins at a page */

/* Hands out pieces of one block: with base NULL it only adds up. */
struct carver {
    unsigned char *base;
    size_t used;
    int overflow;
};

static void *carve(struct carver *carver, size_t count, size_t size)
{
    size_t bytes, end;
    size_t at = carver->used;
    if (!vyre_mul_size(count, size, &bytes) ||
        !vyre_round_up_size(bytes, VYRE_CACHE_LINE, &bytes) || !vyre_add_size(at, bytes, &end)) {
        carver->overflow = 1;
        return NULL;
    }
    carver->used = end;
    return carver->base ? carver->base + at : NULL;
}

static uint32_t power_of_two_above(uint32_t value)
{
    uint32_t power = 16;
    while (power < value)
        power *= 2;
    return power;
}

/* Sets every pointer of the device; run twice, first for the size. The system queue is one more
 * than asked for. */
static struct dev_runtime *carve_all(struct carver *carver, const vyre *runtime,
                                     struct dev_runtime *into)
{
    const vyre_options *options = &runtime->options;
    struct dev_runtime *device = carve(carver, 1, sizeof *device);
    into->max_queues = options->max_queues + 1;
    into->opcode_map_size = power_of_two_above(2 * options->max_handles);
    into->queues = carve(carver, into->max_queues, sizeof(struct dev_queue));
    into->watch = carve(carver, into->max_queues, sizeof(struct dev_watch));
    into->handles = carve(carver, options->max_handles, sizeof(struct dev_handle));
    into->opcode_map = carve(carver, into->opcode_map_size, sizeof(uint32_t));
    into->inflight = carve(carver, options->inflight_slots, sizeof(struct dev_inflight));
    into->nodes =
        carve(carver, (size_t)VYRE_PRIORITIES * into->max_queues, sizeof(struct dev_run_node));
    into->observables =
        carve(carver, (size_t)options->max_tenants * options->observable_words, sizeof(uint32_t));
    into->logs = carve(carver, options->max_tenants, sizeof(struct dev_log));
    into->runs = carve(carver, options->run_slots, sizeof(struct dev_run));
    into->worker_frame = carve(carver, options->workers, sizeof(uint32_t));
    into->worker_version = carve(carver, options->workers, DEV_VITALS_OWN * sizeof(uint32_t));
    if (runtime->backend->memory) into->handover = carve(carver, 1, sizeof(struct dev_handover));
    if (options->io_entries)
        into->io.waits = carve(carver, options->inflight_slots, sizeof(struct dev_io_wait));
    return device;
}

static void fill_control(struct dev_runtime *device)
{
    uint32_t *control = device->control;
    control[VYRE_CONTROL_TENANT_BASE] = VYRE_CONTROL_TENANT_MASKS;
    for (uint32_t t = 0; t < device->max_tenants && t < VYRE_CONTROL_TENANT_MASK_COUNT; t++)
        control[VYRE_CONTROL_TENANT_MASKS + t] = 0xFFFFFFFFu;
    for (uint32_t t = 0; t < device->max_tenants && t < VYRE_CONTROL_TENANT_QUOTA_COUNT; t++)
        control[VYRE_CONTROL_TENANT_QUOTAS + t] = VYRE_CONTROL_DEFAULT_QUOTA;
    vyre_wire_offsets_write(control, sizeof device->control, device->inflight_slots, NULL);
}

static void fill_lists(struct dev_runtime *device)
{
    for (uint32_t i = 0; i < device->opcode_map_size; i++)
        device->opcode_map[i] = DEV_NONE;
    for (uint32_t i = 0; i < device->inflight_slots; i++)
        device->inflight[i].spare = device->inflight_slots - 1 - i;
    device->free_count = device->inflight_slots;
    device->waiting_list = DEV_NONE;
    device->watch_turn = 1;
    for (uint32_t i = 0; i < device->run_slots; i++)
        device->runs[i].spare = device->run_slots - 1 - i;
    device->free_runs = device->run_slots;
    for (uint32_t i = 0; i < device->workers; i++)
        device->worker_frame[i] = i;
    device->spread = DEV_NONE;
    device->io.first = device->io.last = device->io.room_first = device->io.chunk_first = DEV_NONE;
    device->io.back = DEV_NONE;
    device->free_frame = DEV_NONE; /* the frames come with the first program */
    for (uint32_t p = 0; p < VYRE_PRIORITIES; p++) {
        device->levels[p].first = device->levels[p].last = DEV_NONE;
        for (uint32_t q = 0; q < device->max_queues; q++) {
            struct dev_run_node *node = &device->nodes[p * device->max_queues + q];
            node->first = node->last = node->next = DEV_NONE;
            node->queue = q;
        }
    }
}

/* The numbers of a device: what does not depend on where it lies. */
static void fill_numbers(struct dev_runtime *device, const vyre_options *options)
{
    device->max_tenants = options->max_tenants;
    device->max_handles = options->max_handles;
    device->inflight_slots = options->inflight_slots;
    device->observable_words = options->observable_words;
    device->seal_polls = options->seal_polls;
    device->workers = device->running = options->workers;
    device->run_slots = options->run_slots;
    device->step_budget = options->step_budget;
    device->frame_count = options->workers + options->continuations;
    device->frame_stride = (options->frame_bytes + FRAME_UNIT - 1) / FRAME_UNIT * FRAME_UNIT;
    device->idle_spin_ns = options->idle_spin_ns;
    device->ageing_ns = options->ageing_ns;
    device->io.entries = options->io_entries;
    device->io.deadline_told = 1;
}

/* For a device with memory of its own: room for the same tables there. */
static vyre_status place_far(vyre *runtime, struct vyre_device_memory *memory,
                             struct vyre_backend_run *run, vyre_error *err)
{
    struct vyre_backend_image *image = &memory->image;
    vyre_status status = runtime->backend->memory->alloc(run, image->bytes, &image->address, err);
    if (!status) image->resident = &memory->resident;
    return status;
}

void vyre_device_memory_settle(vyre *runtime, struct vyre_device_memory *memory)
{
    struct dev_runtime *resident = &memory->resident;
    if (memory->image.resident != resident) return;
    struct carver carver = {(unsigned char *)(uintptr_t)memory->image.address, 0, 0};
    *resident = *memory->image.device;
    carve_all(&carver, runtime, resident);
    resident->page = (struct dev_page *)(uintptr_t)runtime->shared.address;
    resident->vitals = (struct dev_vitals *)(uintptr_t)(runtime->shared.address + DEV_VITALS_AT);
}

vyre_status vyre_device_memory_make(vyre *runtime, struct vyre_device_memory *memory,
                                    struct vyre_backend_run *run, vyre_error *err)
{
    struct carver carver = {NULL, 0, 0};
    struct dev_runtime pointers = {0};
    memory->mapping.fd = -1;
    carve_all(&carver, runtime, &pointers);
    if (carver.overflow)
        return vyre_fail(err, VYRE_E_OVERFLOW, "the device's tables do not fit this address space");
    vyre_status status =
        vyre_memory_map(&runtime->memory, carver.used, "device memory", &memory->mapping, err);
    if (status) return status;
    memory->image.bytes = carver.used;
    carver = (struct carver){memory->mapping.base, 0, 0};
    struct dev_runtime *device = carve_all(&carver, runtime, &pointers);
    *device = pointers;
    device->page = runtime->page;
    device->vitals = runtime->vitals;
    fill_numbers(device, &runtime->options);
    fill_lists(device);
    fill_control(device);
    memory->image.device = memory->image.resident = device;
    memory->image.address = (uint64_t)(uintptr_t)device;
    return runtime->backend->memory ? place_far(runtime, memory, run, err) : VYRE_OK;
}

void vyre_device_memory_free(vyre *runtime, struct vyre_device_memory *memory,
                             struct vyre_backend_run *run)
{
    const struct vyre_backend_image *image = &memory->image;
    if (image->resident == &memory->resident)
        runtime->backend->memory->free(run, image->address, image->bytes);
    vyre_memory_unmap(&runtime->memory, &memory->mapping);
}
