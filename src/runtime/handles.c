/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Numbers of handles: generation << 16 | index. A number that was given back rests behind all other
 * free ones, and its generation (1..65535) has moved on, so that an old handle names nothing for as
 * long as possible.
 */
#include "base/clock.h"
#include "runtime/internal.h"

/* Slots that have just ended let go of their handles within a pass of the poller. */
#define DROP_PATIENCE_NS 2000000u

vyre_status vyre_handles_init(vyre *runtime, uint32_t size, vyre_error *err)
{
    struct vyre_handle_pool *pool = &runtime->handles;
    void *generation, *free_list;
    vyre_status status = vyre_memory_alloc(&runtime->memory, size, sizeof(uint16_t),
                                           "handle generations", &generation, err);
    if (status) return status;
    status = vyre_memory_alloc(&runtime->memory, size, sizeof(uint32_t), "free handles", &free_list,
                               err);
    if (status) {
        vyre_memory_free(&runtime->memory, generation, size * sizeof(uint16_t));
        return status;
    }
    pool->generation = generation;
    pool->free = free_list;
    pool->size = size;
    pool->count = size;
    for (uint32_t i = 0; i < size; i++) {
        pool->generation[i] = 1;
        pool->free[i] = i;
    }
    return VYRE_OK;
}

void vyre_handles_destroy(vyre *runtime)
{
    struct vyre_handle_pool *pool = &runtime->handles;
    vyre_memory_free(&runtime->memory, pool->generation, pool->size * sizeof(uint16_t));
    vyre_memory_free(&runtime->memory, pool->free, pool->size * sizeof(uint32_t));
}

/* Waits a moment for handles that are being dropped. (system.lock, left meanwhile) */
static void wait_for_drops(vyre *runtime)
{
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), DROP_PATIENCE_NS);
    while (runtime->handles.count == 0 && runtime->system.requests && vyre_clock_ns() < until_ns) {
        pthread_mutex_unlock(&runtime->system.lock);
        runtime->port->help(runtime);
        vyre_system_collect(runtime);
        pthread_mutex_lock(&runtime->system.lock);
    }
}

vyre_status vyre_handle_take(vyre *runtime, uint32_t *handle, vyre_error *err)
{
    struct vyre_handle_pool *pool = &runtime->handles;
    if (pool->count == 0) wait_for_drops(runtime);
    if (pool->count == 0) {
        vyre_fail(err, VYRE_E_LIMIT, "all %u handles are in use", pool->size);
        vyre_fail_fix(
            err, "free buffers, operations, programs or sets, or open with max_handles above %u",
            pool->size);
        return VYRE_E_LIMIT;
    }
    uint32_t index = pool->free[pool->first];
    pool->first = (pool->first + 1) % pool->size;
    pool->count--;
    *handle = (uint32_t)pool->generation[index] << 16 | index;
    return VYRE_OK;
}

void vyre_handle_give(vyre *runtime, uint32_t handle)
{
    struct vyre_handle_pool *pool = &runtime->handles;
    uint32_t index = handle & 0xFFFFu;
    uint16_t *generation = &pool->generation[index];
    *generation = *generation == UINT16_MAX ? 1 : (uint16_t)(*generation + 1);
    pool->free[(pool->first + pool->count) % pool->size] = index;
    pool->count++;
}
