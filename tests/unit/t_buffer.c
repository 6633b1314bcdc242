/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers: both kinds, their bounds, whose slots may do what with them, handles that have grown
 * stale, and the limit on handles, which come back when buffers go.
 */
#include "support.h"

enum { SUM = 100, FILL = 101, GATE = 102 };

/* Adds up the bytes of its buffer. */
static uint32_t sum_run(vyre_call *call)
{
    void *memory = NULL;
    size_t bytes = 0;
    if (vyre_call_buffer(call, 0, &memory, &bytes, NULL) != VYRE_OK) return 1;
    for (size_t i = 0; i < bytes; i++)
        call->result[0] += ((const unsigned char *)memory)[i];
    call->result[1] = (uint32_t)bytes;
    return 0;
}

/* Fills its buffer with a byte. */
static uint32_t fill_run(vyre_call *call)
{
    void *memory = NULL;
    size_t bytes = 0;
    if (vyre_call_buffer(call, 0, &memory, &bytes, NULL) != VYRE_OK) return 1;
    memset(memory, (int)call->args[1], bytes);
    return 0;
}

static void register_both(vyre *rt)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation;
    vyre_error err;
    how.opcode = SUM;
    how.run = sum_run;
    how.read_handles = 1;
    must(vyre_operation_register(rt, &how, &operation, &err), &err);
    how.opcode = FILL;
    how.run = fill_run;
    how.read_handles = 0;
    how.write_handles = 1;
    must(vyre_operation_register(rt, &how, &operation, &err), &err);
}

static vyre_completion run(vyre_queue *queue, uint32_t opcode, uint32_t handle, uint32_t value)
{
    return wait_for(queue, submit_op(queue, opcode, (uint32_t[]){handle, value}, 2));
}

static void kinds(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    for (uint32_t kind = VYRE_DEVICE; kind <= VYRE_PINNED; kind++) {
        static const size_t sizes[] = {1, 3, 64, 4096, 100001};
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            vyre_buffer *buffer = NULL;
            void *memory = NULL;
            unsigned char byte = 7;
            size_t last = sizes[i] - 1;
            works(vyre_buffer_create(rt, sizes[i], (enum vyre_buffer_kind)kind, &buffer, &err),
                  &err, "kind %u, %zu bytes", kind, sizes[i]);
            ok(vyre_buffer_size(buffer) == sizes[i] && vyre_buffer_handle(buffer) != 0,
               "size and handle");
            uint32_t handle = vyre_buffer_handle(buffer);
            vyre_completion end = run(queue, SUM, handle, 0);
            ok(end.outcome == VYRE_DONE && end.result[0] == 0 && end.result[1] == sizes[i],
               "it begins as zeros, whole");
            works(vyre_buffer_write(buffer, last, &byte, 1, &err), &err, "write the last byte");
            is_u64(run(queue, SUM, handle, 0).result[0], 7, "a slot reads what was written");
            is_u64(run(queue, FILL, handle, 3).outcome, VYRE_DONE, "a slot writes");
            works(vyre_buffer_read(buffer, last, &byte, 1, &err), &err, "read the last byte");
            is_u64(byte, 3, "it is what the slot wrote");
            works(vyre_buffer_map(buffer, &memory, &err), &err, "map");
            is_u64(((unsigned char *)memory)[last], 3, "the map shows it too");
            ((unsigned char *)memory)[last] = 9;
            must(vyre_buffer_read(buffer, last, &byte, 1, &err), &err);
            is_u64(byte, 9, "and is the same memory");
            vyre_buffer_free(buffer);
            end = run(queue, SUM, handle, 0);
            ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_BAD_HANDLE,
               "freed means unknown");
        }
    }
    vyre_buffer_free(NULL);
}

static void bounds(vyre *rt)
{
    vyre_buffer *buffer = NULL;
    unsigned char bytes[16] = {1};
    void *memory = bytes;
    vyre_error err;
    must(vyre_buffer_create(rt, 16, VYRE_DEVICE, &buffer, &err), &err);
    static const size_t bad[][2] = {{0, 17},       {16, 1},           {15, 2},
                                    {17, 0},       {SIZE_MAX, 1},     {SIZE_MAX, 0},
                                    {1, SIZE_MAX}, {SIZE_MAX - 7, 16}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refused(vyre_buffer_write(buffer, bad[i][0], bytes, bad[i][1], &err), VYRE_E_RANGE, &err,
                "write %zu at %zu", bad[i][1], bad[i][0]);
        refused(vyre_buffer_read(buffer, bad[i][0], bytes, bad[i][1], &err), VYRE_E_RANGE, &err,
                "read %zu at %zu", bad[i][1], bad[i][0]);
    }
    is_u64(bytes[0], 1, "nothing was read");
    works(vyre_buffer_write(buffer, 0, bytes, 16, &err), &err, "all of it");
    works(vyre_buffer_write(buffer, 16, bytes, 0, &err), &err, "nothing at the end");
    works(vyre_buffer_read(buffer, 16, NULL, 0, &err), &err, "nothing to nowhere");
    refused(vyre_buffer_write(buffer, 0, NULL, 1, &err), VYRE_E_NULL, &err, "write from nowhere");
    refused(vyre_buffer_read(buffer, 0, NULL, 1, &err), VYRE_E_NULL, &err, "read to nowhere");
    refused(vyre_buffer_write(NULL, 0, bytes, 1, &err), VYRE_E_NULL, &err, "write to nothing");
    refused(vyre_buffer_read(NULL, 0, bytes, 1, &err), VYRE_E_NULL, &err, "read from nothing");
    refused(vyre_buffer_map(NULL, &memory, &err), VYRE_E_NULL, &err, "map nothing");
    refused(vyre_buffer_map(buffer, NULL, &err), VYRE_E_NULL, &err, "map to nowhere");
    ok(memory == bytes, "nothing was mapped");
    vyre_buffer_free(buffer);
}

static void refusals(vyre *rt)
{
    struct {
        vyre_buffer_options options;
        unsigned char tail[8];
    } longer = {VYRE_BUFFER_OPTIONS_INIT, {0}};
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *none = (vyre_buffer *)(uintptr_t)0x5A, *b = none;
    vyre_error err;
    refused(vyre_buffer_create(NULL, 8, VYRE_DEVICE, &b, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_buffer_create(rt, 8, VYRE_DEVICE, NULL, &err), VYRE_E_NULL, &err, "no place");
    refused(vyre_buffer_create(rt, 0, VYRE_DEVICE, &b, &err), VYRE_E_RANGE, &err, "0 bytes");
    refused(vyre_buffer_create(rt, SIZE_MAX, VYRE_DEVICE, &b, &err), VYRE_E_OVERFLOW, &err,
            "more than there are addresses");
    refused(vyre_buffer_create(rt, SIZE_MAX - 4094, VYRE_PINNED, &b, &err), VYRE_E_OVERFLOW, &err,
            "whole pages that do not fit");
    refused(vyre_buffer_create(rt, 8, (enum vyre_buffer_kind)0, &b, &err), VYRE_E_RANGE, &err,
            "kind 0");
    refused(vyre_buffer_create(rt, 8, (enum vyre_buffer_kind)3, &b, &err), VYRE_E_RANGE, &err,
            "kind 3");
    how.rights = 0;
    refused(vyre_buffer_create_with(rt, 8, &how, &b, &err), VYRE_E_RANGE, &err, "no rights");
    how.rights = 4;
    refused(vyre_buffer_create_with(rt, 8, &how, &b, &err), VYRE_E_RANGE, &err, "unknown rights");
    how.rights = 3;
    how.tenant = 32;
    refused(vyre_buffer_create_with(rt, 8, &how, &b, &err), VYRE_E_RANGE, &err, "no such tenant");
    how.tenant = VYRE_TENANT_ANY;
    refused(vyre_buffer_create_with(rt, 8, &how, &b, &err), VYRE_E_RANGE, &err, "every tenant");
    how.tenant = 0;
    how.size = sizeof how - 1;
    refused(vyre_buffer_create_with(rt, 8, &how, &b, &err), VYRE_E_SIZE, &err, "too short");
    longer.options.size = sizeof longer;
    longer.tail[7] = 1;
    refused(vyre_buffer_create_with(rt, 8, &longer.options, &b, &err), VYRE_E_RESERVED, &err,
            "longer, and it asks for something");
    ok(b == none, "none of them stored a buffer");
    works(vyre_buffer_create_with(rt, 8, NULL, &b, &err), &err, "no options: all defaults");
    vyre_buffer_free(b);
}

static void rights_and_tenants(vyre *rt)
{
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_queue *queues[2] = {open_queue(rt, 4, 5), open_queue(rt, 4, 6)};
    vyre_error err;
    for (uint32_t rights = 1; rights <= 3; rights++) {
        how.tenant = 5;
        how.rights = rights;
        must(vyre_buffer_create_with(rt, 100, &how, &buffer, &err), &err);
        uint32_t handle = vyre_buffer_handle(buffer);
        is_u64(run(queues[0], SUM, handle, 0).fault, rights & 1 ? 0 : VYRE_FAULT_HANDLE_RIGHTS,
               "rights %u: its owner reads", rights);
        is_u64(run(queues[0], FILL, handle, 8).fault, rights & 2 ? 0 : VYRE_FAULT_HANDLE_RIGHTS,
               "rights %u: its owner writes", rights);
        is_u64(run(queues[1], SUM, handle, 0).fault, VYRE_FAULT_HANDLE_RIGHTS,
               "rights %u: another tenant reads", rights);
        is_u64(run(queues[1], FILL, handle, 9).fault, VYRE_FAULT_HANDLE_RIGHTS,
               "rights %u: another tenant writes", rights);
        unsigned char byte = 0;
        must(vyre_buffer_read(buffer, 99, &byte, 1, &err), &err);
        is_u64(byte, rights & 2 ? 8 : 0, "only what was permitted happened");
        vyre_buffer_free(buffer);
    }
    vyre_queue_close(queues[0]);
    vyre_queue_close(queues[1]);
}

/* Numbers that name nothing: stale ones for many generations, and any others. */
static void stale(uint64_t state)
{
    enum { ROUNDS = 300 };
    vyre_options options = cpu_options(1);
    options.max_handles = 3;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    uint32_t old[ROUNDS], wrong = 0;
    vyre_error err;
    register_both(rt);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        vyre_buffer *buffer = NULL;
        must(vyre_buffer_create(rt, 8, VYRE_DEVICE, &buffer, &err), &err);
        old[i] = vyre_buffer_handle(buffer);
        for (uint32_t k = 0; k < i; k++)
            wrong += old[k] == old[i];
        wrong += run(queue, SUM, old[i], 0).outcome != VYRE_DONE;
        for (int k = 0; k < 3 && i > 0; k++)
            wrong +=
                run(queue, SUM, old[random_below(&state, i)], 0).fault != VYRE_FAULT_BAD_HANDLE;
        uint32_t any = (uint32_t)random_next(&state);
        wrong += any != old[i] && run(queue, SUM, any, 0).fault != VYRE_FAULT_BAD_HANDLE;
        vyre_buffer_free(buffer);
        wrong += run(queue, FILL, old[i], 1).fault != VYRE_FAULT_BAD_HANDLE;
    }
    is_u64(wrong, 0, "300 generations of one place: only the living handle names a buffer");
    vyre_close(rt);
}

/* The limit counts buffers that are held by slots too, and they come back when those end. */
static void limit(void)
{
    struct gate gate = {0};
    vyre_options options = cpu_options(2);
    options.max_handles = 8;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_buffer *buffers[5], *one_more = NULL;
    vyre_error err;
    vyre_status status = VYRE_E_LIMIT;
    register_both(rt);
    register_op(rt, GATE, gate_run, &gate);
    for (int i = 0; i < 5; i++)
        must(vyre_buffer_create(rt, 8, VYRE_DEVICE, &buffers[i], &err), &err);
    refused(vyre_buffer_create(rt, 8, VYRE_DEVICE, &one_more, &err), VYRE_E_LIMIT, &err, "a ninth");
    ok(one_more == NULL, "nothing was stored");

    uint64_t held = hold_worker(queue, GATE, &gate);
    must(vyre_prep_fence(next_slot(queue), 0, 0, &err), &err);
    for (int i = 0; i < 5; i++) {
        uint32_t handle = vyre_buffer_handle(buffers[i]);
        must(vyre_prep_op(next_slot(queue), SUM, &handle, 1, &err), &err);
    }
    submit(queue);
    for (int i = 0; i < 5; i++)
        vyre_buffer_free(buffers[i]);
    refused(vyre_buffer_create(rt, 8, VYRE_DEVICE, &one_more, &err), VYRE_E_LIMIT, &err,
            "freed, but still in use");
    atomic_store(&gate.open, 1);
    for (uint64_t i = 0; i < 7; i++)
        if (wait_for(queue, held + i).outcome != VYRE_DONE) ok(0, "slot %d is done", (int)i);
    for (int i = 0; i < 100000 && status == VYRE_E_LIMIT; i++) {
        status = vyre_buffer_create(rt, 8, VYRE_DEVICE, &one_more, &err);
        if (status == VYRE_E_LIMIT) breathe();
    }
    works(status, &err, "when the last slot has ended, there is room again");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(2);
    register_both(rt);
    kinds(rt);
    bounds(rt);
    refusals(rt);
    rights_and_tenants(rt);
    vyre_close(rt);
    stale(seed);
    limit();
    return done();
}
