/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory that a GPU shares with this process: mappings that are registered with the driver. They
 * can be registered at any time, but unregistered only while no kernel runs; one that is given back
 * beside a kernel is kept until then, and unmapped through its owner afterwards.
 */
#include "backend/cuda/run.h"
#include "device/release.h"

vyre_status vyre_cuda_register(struct vyre_backend_run *run, const struct vyre_mapping *mapping,
                               uint64_t *address, int *registered, vyre_error *err)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    int result = driver->cuMemHostRegister(mapping->base, mapping->bytes,
                                           VYRE_CU_REGISTER_DEVICEMAP | VYRE_CU_REGISTER_PORTABLE);
    *registered = !result;
    if (result)
        return vyre_fail_cuda(driver, err, result, "registering %zu bytes with the driver",
                              mapping->bytes);
    result = driver->cuMemHostGetDevicePointer(address, mapping->base, 0);
    return result ? vyre_fail_cuda(driver, err, result, "asking where %zu registered bytes lie",
                                   mapping->bytes)
                  : VYRE_OK;
}

static void unregister(struct vyre_backend_run *run, struct vyre_cuda_shared *entry)
{
    int result = run->driver.cuMemHostUnregister(entry->mapping.base);
    if (result)
        vyre_log_line(run->log, VYRE_LOG_WARNING, "%zu bytes stay registered: %s",
                      entry->mapping.bytes, vyre_cuda_result_name(&run->driver, result));
    if (entry->owner) vyre_memory_unmap(entry->owner, &entry->mapping);
    vyre_memory_free(run->memory, entry, sizeof *entry);
}

/* (store.lock) */
static struct vyre_cuda_shared *take_shared(struct vyre_backend_run *run, const void *base)
{
    struct vyre_cuda_shared **link = &run->store.shared;
    while (*link && (*link)->mapping.base != base)
        link = &(*link)->next;
    struct vyre_cuda_shared *entry = *link;
    if (entry) *link = entry->next;
    return entry;
}

/* Unregisters it now, or when no kernel runs any more. Returns whether it is put off; then it is
 * unmapped through `owner`, where there is one. */
static int put_away(struct vyre_backend_run *run, struct vyre_cuda_shared *entry,
                    struct vyre_memory *owner)
{
    pthread_mutex_lock(&run->launch.lock);
    int now = !run->launch.running && !run->launch.abandoned;
    if (now) {
        unregister(run, entry);
    } else {
        pthread_mutex_lock(&run->store.lock);
        entry->owner = owner;
        entry->next = run->store.deferred;
        run->store.deferred = entry;
        pthread_mutex_unlock(&run->store.lock);
        /* One that has parked is armed: it is put off until it has parked once more. */
        if (!run->launch.abandoned) dev_wake_parked(run->launch.page);
    }
    pthread_mutex_unlock(&run->launch.lock);
    return !now;
}

vyre_status vyre_cuda_share(struct vyre_backend_run *run, const struct vyre_mapping *mapping,
                            uint64_t *address, vyre_error *err)
{
    void *memory;
    int registered = 0;
    vyre_status status = vyre_cuda_enter(run, err);
    if (!status)
        status = vyre_memory_alloc(run->memory, 1, sizeof(struct vyre_cuda_shared),
                                   "list of shared memory", &memory, err);
    if (status) return status;
    struct vyre_cuda_shared *entry = memory;
    entry->mapping = *mapping;
    status = vyre_cuda_memory_begin(run, err);
    if (!status) {
        status = vyre_cuda_register(run, mapping, &entry->address, &registered, err);
        vyre_cuda_memory_end(run);
    }
    if (!status) {
        *address = entry->address;
        pthread_mutex_lock(&run->store.lock);
        entry->next = run->store.shared;
        run->store.shared = entry;
        pthread_mutex_unlock(&run->store.lock);
    } else if (registered) {
        put_away(run, entry, NULL);
    } else {
        vyre_memory_free(run->memory, entry, sizeof *entry);
    }
    return status;
}

void vyre_cuda_unshare(struct vyre_backend_run *run, struct vyre_mapping *mapping,
                       struct vyre_memory *memory, int *later)
{
    vyre_cuda_enter(run, NULL);
    pthread_mutex_lock(&run->store.lock);
    struct vyre_cuda_shared *entry = take_shared(run, mapping->base);
    pthread_mutex_unlock(&run->store.lock);
    *later = entry && put_away(run, entry, memory);
    if (*later) *mapping = (struct vyre_mapping){NULL, 0, -1};
}

void vyre_cuda_store_settle(struct vyre_backend_run *run)
{
    pthread_mutex_lock(&run->store.lock);
    struct vyre_cuda_shared *entry = run->store.deferred;
    run->store.deferred = NULL;
    pthread_mutex_unlock(&run->store.lock);
    while (entry) {
        struct vyre_cuda_shared *next = entry->next;
        unregister(run, entry);
        entry = next;
    }
}

int vyre_cuda_is_shared(struct vyre_backend_run *run, const void *pointer, size_t bytes)
{
    int found = 0;
    pthread_mutex_lock(&run->store.lock);
    for (const struct vyre_cuda_shared *s = run->store.shared; s && !found; s = s->next) {
        size_t at = (size_t)((uintptr_t)pointer - (uintptr_t)s->mapping.base);
        found = at < s->mapping.bytes && bytes <= s->mapping.bytes - at;
    }
    pthread_mutex_unlock(&run->store.lock);
    return found;
}

void vyre_cuda_share_close(struct vyre_backend_run *run)
{
    vyre_cuda_store_settle(run);
    for (struct vyre_cuda_shared *entry; (entry = run->store.shared) != NULL;) {
        run->store.shared = entry->next;
        unregister(run, entry); /* whoever mapped it unmaps it */
    }
}
