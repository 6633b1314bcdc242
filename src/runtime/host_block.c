/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The application's blocks of memory, by number. What a block holds that the device relies on
 * (bytecode, binding sets) is copied out of the application's reach before it is checked; what is
 * shared is mapped.
 *
 * A block that a handle, a queue or the frames use is not freed before the device has given those
 * up.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/system.h"
#include "runtime/host_server.h"
#include "vm/vm.h"

static struct host_held **bucket_of(const struct host_server *server, uint64_t number)
{
    uint64_t hash = number * 0x9E3779B97F4A7C15u >> 32;
    return (struct host_held **)(uintptr_t)&server->buckets[hash % HOST_BUCKETS];
}

struct host_held *host_block_find(const struct host_server *server, uint64_t number)
{
    struct host_held *held = *bucket_of(server, number);
    while (held && held->number != number)
        held = held->next;
    return held && !held->forgotten ? held : NULL;
}

vyre_status host_block_enter(struct host_server *server, uint64_t number, struct host_held **out,
                             vyre_error *err)
{
    void *memory;
    if (server->block_count >= server->block_limit)
        return vyre_fail(err, VYRE_E_LIMIT, "all %u blocks are in use", server->block_limit);
    vyre_status status =
        vyre_memory_alloc(&server->memory, 1, sizeof(struct host_held), "block", &memory, err);
    if (status) return status;
    struct host_held *held = memory;
    struct host_held **bucket = bucket_of(server, number);
    held->number = number;
    held->block.mapping.fd = -1;
    held->next = *bucket;
    *bucket = held;
    server->block_count++;
    *out = held;
    return VYRE_OK;
}

static void leave(struct host_server *server, struct host_held *held)
{
    struct host_held **link = bucket_of(server, held->number);
    while (*link != held)
        link = &(*link)->next;
    *link = held->next;
    server->block_count--;
    server->core->port->block_free(server->core, &held->block);
    vyre_memory_free(&server->memory, held->contents, held->block.bytes);
    vyre_memory_free(&server->memory, held, sizeof *held);
}

void host_blocks_free(struct host_server *server)
{
    for (uint32_t i = 0; i < HOST_BUCKETS; i++)
        while (server->buckets[i])
            leave(server, server->buckets[i]);
    if (server->core) server->core->port->block_free(server->core, &server->staging);
}

vyre_status host_copy_out(struct host_server *server, int *fd, size_t bytes, const char *what,
                          void **out, vyre_error *err)
{
    struct vyre_mapping given;
    void *copy;
    vyre_status status = vyre_memory_adopt(&server->memory, *fd, bytes, what, &given, err);
    if (status) return status;
    *fd = -1;
    status = vyre_memory_alloc(&server->memory, 1, bytes, what, &copy, err);
    if (!status) {
        memcpy(copy, given.base, bytes);
        *out = copy;
    }
    vyre_memory_unmap(&server->memory, &given);
    return status;
}

/* Bytecode: after this no check of it is needed any more. The serial is ours, because frames tell
 * programs apart by it. */
static vyre_status check_program(struct host_server *server, struct host_held *held,
                                 vyre_error *err)
{
    struct vm_header *header = held->contents;
    vyre_status status = vyre_vm_verify(&server->memory, header, held->block.bytes, err);
    if (status) return status;
    if (++server->core->program_serial == 0) server->core->program_serial = 1;
    header->serial = server->core->program_serial;
    return VYRE_OK;
}

/* A binding set: as large as its count says. What it names is checked when it is installed. */
static vyre_status check_bindings(const struct host_held *held, vyre_error *err)
{
    struct dev_bindings *set = held->contents;
    size_t bytes = held->block.bytes;
    if (bytes < sizeof *set || (bytes - sizeof *set) / sizeof set->bound[0] != set->count ||
        (bytes - sizeof *set) % sizeof set->bound[0] != 0)
        return vyre_fail(err, VYRE_E_SIZE, "a binding set of %zu bytes says that it has %u buffers",
                         bytes, bytes < sizeof *set ? 0 : set->count);
    for (uint32_t i = 0; i < set->count; i++)
        set->bound[i].address = set->bound[i].bytes = 0;
    return VYRE_OK;
}

static vyre_status check_block(const struct host_server *server, const struct host_block *asked,
                               vyre_error *err)
{
    uint32_t fds = server->message.fd_count;
    int borrowed = asked->kind == VYRE_BLOCK_BORROWED;
    uint32_t given = asked->kind == VYRE_BLOCK_SHARED || borrowed;
    if (asked->number == 0 || asked->number > UINT32_MAX)
        return vyre_fail(err, VYRE_E_RANGE, "block number %llu; 1 to 2^32 - 1 can be",
                         (unsigned long long)asked->number);
    if (host_block_find(server, asked->number))
        return vyre_fail(err, VYRE_E_EXISTS, "block number %llu is taken",
                         (unsigned long long)asked->number);
    if (asked->kind < VYRE_BLOCK_DEVICE || asked->kind > VYRE_BLOCK_BORROWED || asked->contents > 1)
        return vyre_fail(err, VYRE_E_RANGE, "block kind %u, contents %u", asked->kind,
                         asked->contents);
    if (asked->bytes == 0 || asked->bytes > SIZE_MAX / 2)
        return vyre_fail(err, VYRE_E_OVERFLOW, "a block of %llu bytes",
                         (unsigned long long)asked->bytes);
    int must = asked->kind == VYRE_BLOCK_PROGRAM || asked->kind == VYRE_BLOCK_BINDINGS;
    int may = must || asked->kind == VYRE_BLOCK_DEVICE;
    if ((must && !asked->contents) || (!may && asked->contents) || fds != (given | asked->contents))
        return vyre_fail(err, VYRE_E_CONFLICT,
                         "a block of kind %u with contents %u and %u descriptors", asked->kind,
                         asked->contents, fds);
    if (borrowed ? asked->extent < asked->bytes || asked->extent > SIZE_MAX / 2
                 : asked->extent != 0 || asked->device[0] != '\0')
        return vyre_fail(err, VYRE_E_RANGE, "a block of kind %u, %llu bytes and extent %llu",
                         asked->kind, (unsigned long long)asked->bytes,
                         (unsigned long long)asked->extent);
    if (!memchr(asked->device, '\0', sizeof asked->device))
        return vyre_fail(err, VYRE_E_RANGE, "a name of a device without end");
    return VYRE_OK;
}

static vyre_status fill(struct host_server *server, struct host_held *held, vyre_error *err)
{
    static const char *const what[] = {
        "",       "device buffer", "shared block",   "bytecode", "binding set",
        "frames", "shared buffer", "imported buffer"};
    struct vyre_block *block = &held->block;
    int *fd = &server->message.fd[0];
    void *first = NULL;
    vyre_status status = VYRE_OK;
    block->what = what[block->kind];
    block->memory = &server->core->memory;
    if (block->kind == VYRE_BLOCK_SHARED) {
        status =
            vyre_memory_adopt(block->memory, *fd, block->bytes, block->what, &block->mapping, err);
        if (!status) *fd = -1;
    } else if (block->kind == VYRE_BLOCK_BORROWED) {
        block->mapping.fd = *fd; /* block_make takes it */
        *fd = -1;
    } else if (server->message.fd_count != 0) {
        status = host_copy_out(server, fd, block->bytes, block->what, &first, err);
        held->contents = first;
    }
    if (!status && block->kind == VYRE_BLOCK_PROGRAM) status = check_program(server, held, err);
    if (!status && block->kind == VYRE_BLOCK_BINDINGS) status = check_bindings(held, err);
    if (!status) status = server->core->port->block_make(server->core, block, first, err);
    if (status) vyre_memory_unmap(block->memory, &block->mapping);
    if (block->kind == VYRE_BLOCK_DEVICE) {
        vyre_memory_free(&server->memory, first, block->bytes);
        held->contents = NULL;
    }
    return status;
}

/* Says where a block lies that others see, with the descriptor of one that is ours; nobody needs
 * that here any more. */
static vyre_status answer_lent(struct host_server *server, struct host_held *held)
{
    struct vyre_mapping *mapping = &held->block.mapping;
    struct host_lent lent = {.extent = mapping->bytes};
    struct host_reply reply = {VYRE_OK, sizeof lent};
    struct host_sending sending = {.type = HOST_REPLY,
                                   .serial = server->message.header.serial,
                                   .payload = &reply,
                                   .payload_bytes = sizeof reply,
                                   .extra = &lent,
                                   .extra_bytes = sizeof lent,
                                   .fds = &mapping->fd,
                                   .fd_count = mapping->fd >= 0};
    memcpy(lent.device, held->block.device, sizeof lent.device);
    vyre_status status = host_send(server->socket, &sending, NULL);
    if (mapping->fd >= 0) close(mapping->fd);
    mapping->fd = -1;
    return status;
}

vyre_status host_do_block(struct host_server *server, int *replied, vyre_error *err)
{
    const struct host_block *asked = server->message.payload;
    struct host_held *held = NULL;
    vyre_status status = check_block(server, asked, err);
    if (!status) status = host_block_enter(server, asked->number, &held, err);
    if (status) return status;
    held->block.kind = asked->kind;
    held->block.bytes = (size_t)asked->bytes;
    held->block.mapping.bytes = (size_t)asked->extent;
    memcpy(held->block.device, asked->device, sizeof held->block.device);
    status = fill(server, held, err);
    if (status) leave(server, held);
    if (status || asked->kind < VYRE_BLOCK_LENT) return status;
    *replied = 1;
    return answer_lent(server, held);
}

vyre_status host_do_forget(struct host_server *server, vyre_error *err)
{
    const struct host_number *asked = server->message.payload;
    struct host_held *held = host_block_find(server, asked->number);
    if (!held)
        return vyre_fail(err, VYRE_E_NOT_FOUND, "there is no block %llu",
                         (unsigned long long)asked->number);
    if (held->uses == 0) {
        leave(server, held);
        return VYRE_OK;
    }
    if (!server->stopped || asked->number == HOST_BELLS)
        return vyre_fail_with(err, VYRE_E_BUSY, "drop what uses it, and wait for the answer",
                              "the device uses block %llu", (unsigned long long)asked->number);
    held->forgotten = 1;
    return VYRE_OK;
}
