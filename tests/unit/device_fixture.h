/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A device without workers, for the tests of single device functions: handle table, opcode map,
 * logs and observable words of three tenants, each in an allocation of its exact size so that the
 * address sanitizer sees one word too many. Include it first.
 *
 *     struct fixture f;
 *     fixture_open(&f, 200);
 *     uint32_t fault = FIXTURE_RUN(&f, 1, VYRE_OP_STORE_U32, 7, 160);
 *     ... f.call.result[0], fixture_word(&f, 1, 0) ...
 *     fixture_close(&f);
 */
#ifndef VYRE_TESTS_DEVICE_FIXTURE_H
#define VYRE_TESTS_DEVICE_FIXTURE_H

#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include "device/builtin_run.h"
#include "device/hold.h"
#include "tap.h"

#define FIXTURE_TENANTS 3u
#define FIXTURE_HANDLES 64u
#define FIXTURE_MAP     128u
#define FIXTURE_PLACE   5u
#define FIXTURE_TICKET  0x123456789ull

struct fixture {
    struct dev_runtime rt;
    struct dev_inflight entry; /* of the slot that fixture_run runs */
    struct dev_call call;      /* as it was left */
    uint32_t pc;               /* as a completion would carry it */
};

TAP_UNUSED static void *fixture_alloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) bail("out of memory");
    return memory;
}

TAP_UNUSED static void fixture_open(struct fixture *f, uint32_t observable_words)
{
    memset(f, 0, sizeof *f);
    f->rt.max_tenants = FIXTURE_TENANTS;
    f->rt.max_handles = FIXTURE_HANDLES;
    f->rt.opcode_map_size = FIXTURE_MAP;
    f->rt.observable_words = observable_words;
    f->rt.handles = fixture_alloc(FIXTURE_HANDLES, sizeof *f->rt.handles);
    f->rt.opcode_map = fixture_alloc(FIXTURE_MAP, sizeof *f->rt.opcode_map);
    f->rt.logs = fixture_alloc(FIXTURE_TENANTS, sizeof *f->rt.logs);
    f->rt.observables = fixture_alloc((size_t)FIXTURE_TENANTS * observable_words, 4);
    for (uint32_t i = 0; i < FIXTURE_MAP; i++)
        f->rt.opcode_map[i] = DEV_NONE;
}

TAP_UNUSED static void fixture_close(struct fixture *f)
{
    for (uint32_t i = 0; i < FIXTURE_HANDLES; i++) {
        if (f->rt.handles[i].kind == DEV_BUFFER) free((void *)(uintptr_t)f->rt.handles[i].address);
    }
    free(f->rt.handles);
    free(f->rt.opcode_map);
    free(f->rt.logs);
    free(f->rt.observables);
}

/* Observable word i of a tenant. */
TAP_UNUSED static uint32_t *fixture_word(struct fixture *f, uint32_t tenant, uint32_t i)
{
    return &f->rt.observables[tenant * f->rt.observable_words + i];
}

/* Makes a buffer of zero bytes at a place of the handle table; returns its handle. */
TAP_UNUSED static uint32_t fixture_buffer(struct fixture *f, uint32_t index, uint32_t tenant,
                                          size_t bytes)
{
    struct dev_handle *handle = &f->rt.handles[index];
    memset(handle, 0, sizeof *handle);
    handle->generation = 0x101u + index;
    handle->kind = DEV_BUFFER;
    handle->owner = tenant;
    handle->rights = VYRE_RIGHT_READ | VYRE_RIGHT_WRITE;
    handle->address = (uint64_t)(uintptr_t)fixture_alloc(bytes ? bytes : 1, 1);
    handle->bytes = bytes;
    return handle->generation << 16 | index;
}

TAP_UNUSED static void *fixture_bytes(struct fixture *f, uint32_t handle)
{
    return (void *)(uintptr_t)f->rt.handles[handle & 0xFFFFu].address;
}

/* Registers a native operation for every tenant at a place of the handle table. */
TAP_UNUSED static struct dev_handle *fixture_operation(struct fixture *f, uint32_t index,
                                                       uint32_t opcode, vyre_operation_fn run)
{
    struct dev_handle *handle = &f->rt.handles[index];
    memset(handle, 0, sizeof *handle);
    handle->generation = 1;
    handle->kind = DEV_OPERATION;
    handle->owner = VYRE_TENANT_ANY;
    handle->address = (uint64_t)(uintptr_t)run;
    handle->opcode = opcode;
    handle->steps = 1;
    if (!dev_opcode_insert(&f->rt, index)) bail("opcode %u is taken", opcode);
    return handle;
}

/* How many holds there are on all handles together. */
TAP_UNUSED static uint64_t fixture_holds(const struct fixture *f)
{
    uint64_t holds = 0;
    for (uint32_t i = 0; i < FIXTURE_HANDLES; i++)
        holds += f->rt.handles[i].refs;
    return holds;
}

/* Takes a slot through the device as poller and worker do: hold, run, drop. Returns its fault. */
TAP_UNUSED static uint32_t fixture_run(struct fixture *f, uint32_t tenant, uint32_t opcode,
                                       const uint32_t *args, size_t count)
{
    struct dev_hold hold;
    memset(f->entry.slot, 0, sizeof f->entry.slot);
    memset(&f->call, 0, sizeof f->call);
    f->entry.slot[VYRE_SLOT_OPCODE] = opcode;
    f->entry.slot[VYRE_SLOT_TENANT] = tenant;
    for (size_t i = 0; i < count; i++)
        f->entry.slot[VYRE_SLOT_ARG0 + i] = args[i];
    f->call.rt = &f->rt;
    f->call.entry = &f->entry;
    f->call.arg = f->entry.slot + VYRE_SLOT_ARG0;
    f->call.tenant = tenant;
    f->call.ticket = FIXTURE_TICKET;
    f->call.place = FIXTURE_PLACE;
    uint32_t fault = dev_slot_hold(&f->rt, f->entry.slot, tenant, &hold);
    f->pc = hold.pc;
    if (fault == 0) {
        f->entry.operation = hold.operation;
        fault = dev_slot_run(&f->call, opcode);
        f->pc = f->call.pc;
        dev_slot_drop(&f->rt, f->entry.slot, hold.operation);
    }
    if (fixture_holds(f) != 0) bail("opcode %u left something held", opcode);
    return fault;
}

#define FIXTURE_RUN(f, tenant, opcode, ...)                                                        \
    fixture_run(f, tenant, opcode, (const uint32_t[]){__VA_ARGS__},                                \
                sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* A small generator, so that a seed says everything. */
TAP_UNUSED static uint32_t fixture_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t mixed = (*state >> 33 ^ *state) * 0xFF51AFD7ED558CCDu;
    return (uint32_t)(mixed >> 32);
}

#endif
