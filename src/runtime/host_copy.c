/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Bytes between the device and the application, by way of staging: contents of blocks, and the
 * words of the device that a tenant may see.
 */
#include <string.h>

#include "device/layout.h"
#include "runtime/host_server.h"

vyre_status host_do_copy(struct host_server *server, vyre_error *err)
{
    const struct host_copy *asked = server->message.payload;
    struct host_held *held = host_block_find(server, asked->number);
    vyre *core = server->core;
    if (!held)
        return vyre_fail(err, VYRE_E_NOT_FOUND, "there is no block %llu",
                         (unsigned long long)asked->number);
    struct vyre_block *block = &held->block;
    if (block->kind != VYRE_BLOCK_DEVICE && block->kind != VYRE_BLOCK_LENT &&
        block->kind != VYRE_BLOCK_BORROWED)
        return vyre_fail(err, VYRE_E_NOT_PERMITTED, "block %llu is of kind %u, not a device buffer",
                         (unsigned long long)asked->number, block->kind);
    if (asked->bytes > HOST_STAGING_BYTES || asked->at > block->bytes ||
        asked->bytes > block->bytes - asked->at)
        return vyre_fail(err, VYRE_E_RANGE, "%llu bytes at %llu of a block of %zu",
                         (unsigned long long)asked->bytes, (unsigned long long)asked->at,
                         block->bytes);
    size_t at = (size_t)asked->at, bytes = (size_t)asked->bytes;
    if (bytes == 0) return VYRE_OK;
    if (server->message.header.type == HOST_WRITE)
        return core->port->block_write(core, block, at, server->staging.host, bytes, err);
    return core->port->block_read(core, block, at, server->staging.host, bytes, err);
}

/*
 * Words of the device change while they are copied. Records of the log and entries of the in-flight
 * table are looked at a second time, so that the application never takes half of one for half of
 * another: what does not fit together is marked as being written. Only what the device shows to
 * readers is copied.
 */
static void copy_log(struct dev_log *copy, const struct dev_log *log)
{
    copy->count = __atomic_load_n(&log->count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < DEV_LOG_RECORDS; i++) {
        copy->record[i].stamp = dev_load_acquire(&log->record[i].stamp, DEV_SYSTEM); /* A8 */
        for (uint32_t w = 0; w < 4; w++)
            copy->record[i].word[w] =
                dev_load_acquire(&log->record[i].word[w], DEV_SYSTEM); /* A7 */
    }
}

static void check_log(struct dev_log *copy, const struct dev_log *log)
{
    for (uint32_t i = 0; i < DEV_LOG_RECORDS; i++)
        if (dev_load_relaxed(&log->record[i].stamp) != copy->record[i].stamp)
            copy->record[i].stamp = 0;
}

static void copy_entry(struct dev_inflight *copy, const struct dev_inflight *entry)
{
    copy->version = dev_load_acquire(&entry->version, DEV_SYSTEM); /* A13 */
    for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
        copy->slot[w] = dev_load_acquire(&entry->slot[w], DEV_SYSTEM); /* A12 */
    copy->queue = dev_load_acquire(&entry->queue, DEV_SYSTEM);         /* A12 */
}

static void check_entry(struct dev_inflight *copy, const struct dev_inflight *entry)
{
    if (dev_load_relaxed(&entry->version) != copy->version) copy->version |= 1;
}

static void copy_words(uint32_t *copy, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        copy[i] = dev_load_acquire(&words[i], DEV_SYSTEM);
}

/* The first look, or the second. */
static void look(uint32_t view, void *copy, const void *words, size_t bytes, int second)
{
    if (view == VYRE_VIEW_LOG) {
        if (second)
            check_log(copy, words);
        else
            copy_log(copy, words);
    } else if (view == VYRE_VIEW_INFLIGHT) {
        struct dev_inflight *entries = copy;
        const struct dev_inflight *from = words;
        for (size_t i = 0; i < bytes / sizeof *entries; i++) {
            if (second)
                check_entry(&entries[i], &from[i]);
            else
                copy_entry(&entries[i], &from[i]);
        }
    } else if (!second) {
        copy_words(copy, words, bytes / sizeof(uint32_t));
    }
}

/* A copy of a whole view; `room` has twice its bytes. */
static vyre_status copy_view(struct host_server *server, const struct host_view *asked, void *room,
                             vyre_error *err)
{
    vyre *core = server->core;
    size_t bytes = vyre_view_bytes(core, asked->view);
    int looks = asked->view == VYRE_VIEW_LOG || asked->view == VYRE_VIEW_INFLIGHT ? 2 : 1;
    vyre_status status = VYRE_OK;
    for (int i = 0; i < looks && !status; i++) {
        const void *words;
        status = core->port->view(core, asked->view, asked->tenant, (unsigned char *)room + bytes,
                                  &words, err);
        if (!status) look(asked->view, room, words, bytes, i);
    }
    return status;
}

vyre_status host_do_view(struct host_server *server, vyre_error *err)
{
    const struct host_view *asked = server->message.payload;
    void *room;
    if (asked->view > VYRE_VIEW_COUNTS)
        return vyre_fail(err, VYRE_E_RANGE, "there is no view %u", asked->view);
    vyre_status status = vyre_tenant_check(server->core, asked->tenant, err);
    if (status) return status;
    size_t bytes = vyre_view_bytes(server->core, asked->view);
    if (asked->bytes > HOST_STAGING_BYTES || asked->at > bytes || asked->bytes > bytes - asked->at)
        return vyre_fail(err, VYRE_E_RANGE, "%llu bytes at %llu of a view of %zu",
                         (unsigned long long)asked->bytes, (unsigned long long)asked->at, bytes);
    status = vyre_memory_alloc(&server->memory, 2, bytes, "a view", &room, err);
    if (status) return status;
    status = copy_view(server, asked, room, err);
    if (!status)
        memcpy(server->staging.host, (unsigned char *)room + asked->at, (size_t)asked->bytes);
    vyre_memory_free(&server->memory, room, 2 * bytes);
    return status;
}
