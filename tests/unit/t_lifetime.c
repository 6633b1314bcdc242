/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What slots hold while they are under way: a buffer that was freed lives until its last slot has
 * ended, an operation that is taken away runs for every slot submitted before, and calls that would
 * wait for the caller itself are refused inside an operation.
 */
#include "meter.h"

enum { HOLD = 100, GATE = 101, INSIDE = 102, SMALL = 40 };

static vyre_description describe(vyre *rt)
{
    vyre_description description = {.size = sizeof description};
    vyre_error err;
    must(vyre_describe(rt, &description, &err), &err);
    return description;
}

/* Waits at the gate, then writes the byte that its second argument names and reads the last one. */
static uint32_t hold_run(vyre_call *call)
{
    void *memory = NULL;
    size_t bytes = 0;
    uint32_t status = gate_run(call);
    if (vyre_call_buffer(call, 0, &memory, &bytes, NULL) != VYRE_OK) return 1;
    ((unsigned char *)memory)[call->args[1]] = 0xA0;
    call->result[0] = ((unsigned char *)memory)[bytes - 1];
    call->result[1] = (uint32_t)bytes;
    return status;
}

static vyre_operation *register_holder(vyre *rt, struct gate *gate)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    how.opcode = HOLD;
    how.run = hold_run;
    how.ctx = gate;
    how.read_handles = how.write_handles = 1;
    must(vyre_operation_register(rt, &how, &operation, &err), &err);
    return operation;
}

/* Waits until the runtime says that it has no buffer bytes. */
static bool buffers_gone(vyre *rt)
{
    for (int i = 0; i < 100000; i++) {
        if (describe(rt).buffer_bytes == 0) return true;
        breathe();
    }
    return false;
}

static void freed_in_use(uint32_t workers, enum vyre_buffer_kind kind)
{
    struct meter meter = {0};
    struct gate gate = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(workers);
    vyre_buffer *buffer = NULL;
    vyre_error err;
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    register_holder(rt, &gate);
    must(vyre_buffer_create(rt, 10000, kind, &buffer, &err), &err);
    uint32_t handle = vyre_buffer_handle(buffer);
    unsigned char byte = 1;
    must(vyre_buffer_write(buffer, 9999, &byte, 1, &err), &err);

    uint64_t first = submit_op(queue, HOLD, &handle, 1);
    if (!reaches(&gate.entered, 1)) bail("the slot was never run");
    for (uint32_t i = 1; i < 6; i++)
        must(vyre_prep_op(next_slot(queue), HOLD, (uint32_t[]){handle, i}, 2, &err), &err);
    submit(queue);
    vyre_buffer_free(buffer);
    ok(describe(rt).buffer_bytes >= 10000, "%u workers: the buffer is still there", workers);
    atomic_store(&gate.open, 1);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 6; i++) {
        vyre_completion end = wait_for(queue, first + i);
        wrong += end.outcome != VYRE_DONE || end.result[1] != 10000 || end.result[0] != 1;
    }
    is_u64(wrong, 0, "all slots submitted before the free found it and its bytes");
    ok(buffers_gone(rt), "its memory goes when the last of them has ended");
    vyre_completion end = wait_for(queue, submit_op(queue, HOLD, &handle, 1));
    is_u64(end.fault, VYRE_FAULT_BAD_HANDLE, "a later slot does not find it");
    vyre_close(rt);
    ok(meter_clean(&meter), "nothing is left");
}

/* Freed, in use, and closed before its slot was reaped. */
static void closed_in_use(void)
{
    struct meter meter = {0};
    struct gate gate = {.open = 1};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(2);
    vyre_error err;
    options.allocator = &hooks;
    for (int round = 0; round < 30; round++) {
        vyre *rt = open_with(&options);
        vyre_queue *queue = vyre_queue_default(rt);
        vyre_buffer *buffers[10];
        register_holder(rt, &gate);
        for (int i = 0; i < 10; i++) {
            must(vyre_buffer_create(rt, 500, i % 2 ? VYRE_DEVICE : VYRE_PINNED, &buffers[i], &err),
                 &err);
            uint32_t handle = vyre_buffer_handle(buffers[i]);
            submit_op(queue, HOLD, &handle, 1);
            if (i % 3) vyre_buffer_free(buffers[i]);
        }
        vyre_close(rt);
    }
    ok(meter_clean(&meter), "30 runtimes closed with buffers in use left nothing");
}

struct unregister {
    vyre_operation *operation;
    _Atomic uint32_t returned;
    vyre_status status;
};

static void *unregister_it(void *argument)
{
    struct unregister *work = argument;
    work->status = vyre_operation_unregister(work->operation, NULL);
    atomic_store(&work->returned, 1);
    return NULL;
}

/* One worker runs the operation, more slots with it wait, plain and packed. */
static void unregister_waits(uint32_t workers)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(workers);
    vyre_queue *queue = vyre_queue_default(rt);
    struct unregister work = {.operation = register_op(rt, SMALL, gate_run, &gate)};
    vyre_packed_op packed[2] = {{VYRE_OP_NOP, 0, NULL}, {SMALL, 0, NULL}};
    vyre_error err;
    pthread_t thread;
    uint64_t first = hold_worker(queue, SMALL, &gate);
    for (uint32_t i = 0; i < 8; i++) {
        if (i % 2) must(vyre_prep_packed(next_slot(queue), packed, 2, &err), &err);
        if (i % 2 == 0) must(vyre_prep_op(next_slot(queue), SMALL, NULL, 0, &err), &err);
    }
    submit(queue);
    if (pthread_create(&thread, NULL, unregister_it, &work) != 0) bail("no thread");
    usleep(20000);
    is_u64(work.returned, 0, "%u workers: it waits while the function runs", workers);
    atomic_store(&gate.open, 1);
    pthread_join(thread, NULL);
    uint32_t ran = gate.left;
    ok(work.status == VYRE_OK && ran == 9, "it returned after all nine runs (%u)", ran);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 9; i++)
        wrong += wait_for(queue, first + i).outcome != VYRE_DONE;
    is_u64(wrong, 0, "every slot submitted before ran it");
    vyre_completion end = wait_for(queue, submit_op(queue, SMALL, NULL, 0));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "later ones fault");
    is_u64(gate.entered, ran, "and the function was never called again");
    vyre_close(rt);
}

static void *open_later(void *argument)
{
    usleep(30000);
    atomic_store(&((struct gate *)argument)->open, 1);
    return NULL;
}

/* More buffers are freed in use than requests fit the system queue, or entries the in-flight table;
 * other calls get through. */
static void many_freed_in_use(uint32_t inflight_slots)
{
    enum { COUNT = 400 };
    static vyre_buffer *buffers[COUNT];
    struct gate gate = {0}, closed = {.open = 1};
    vyre_options options = cpu_options(2);
    options.inflight_slots = inflight_slots;
    vyre *rt = open_with(&options);
    vyre_queue *queue = open_queue(rt, 512, 0);
    vyre_buffer *more = NULL;
    vyre_error err;
    pthread_t opener, thread;
    register_holder(rt, &closed);
    register_op(rt, GATE, gate_run, &gate);
    struct unregister work = {.operation = register_op(rt, SMALL, gate_run, &closed)};
    uint64_t held = hold_worker(queue, GATE, &gate);
    must(vyre_prep_fence(next_slot(queue), 0, 0, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        must(vyre_buffer_create(rt, 16, VYRE_DEVICE, &buffers[i], &err), &err);
        uint32_t handle = vyre_buffer_handle(buffers[i]);
        must(vyre_prep_op(next_slot(queue), HOLD, &handle, 1, &err), &err);
    }
    submit(queue);
    for (int i = 0; i < COUNT; i++)
        vyre_buffer_free(buffers[i]);
    works(vyre_cancel(queue, held + 5, &err), &err, "a cancel while 400 drops wait");
    works(vyre_buffer_create(rt, 16, VYRE_DEVICE, &more, &err), &err, "and one more buffer");
    if (pthread_create(&thread, NULL, unregister_it, &work) != 0) bail("no thread");
    if (pthread_create(&opener, NULL, open_later, &gate) != 0) bail("no thread");
    pthread_join(thread, NULL);
    pthread_join(opener, NULL);
    is_u64(work.status, VYRE_OK, "and in the end an unregister from another thread");
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < COUNT + 2; i++)
        wrong += wait_for(queue, held + i).outcome != (i == 5 ? VYRE_CANCELLED : VYRE_DONE);
    is_u64(wrong, 0, "table of %u: all 400 slots found their buffers", inflight_slots);
    vyre_buffer_free(more);
    ok(buffers_gone(rt), "all 400 buffers are gone in the end");
    vyre_close(rt);
}

struct inside {
    vyre *rt;
    vyre_operation *self;
    vyre_queue *queue;
    vyre_status stop, unregister, call_null, call_index, call_none;
};

static uint32_t inside_run(vyre_call *call)
{
    struct inside *inside = call->ctx;
    void *memory = inside;
    size_t bytes = 3;
    inside->stop = vyre_stop(inside->rt, NULL);
    inside->unregister = vyre_operation_unregister(inside->self, NULL);
    vyre_queue_close(inside->queue);
    vyre_close(inside->rt);
    inside->call_none = vyre_call_buffer(NULL, 0, &memory, &bytes, NULL);
    inside->call_null = vyre_call_buffer(call, 0, NULL, &bytes, NULL);
    inside->call_index = vyre_call_buffer(call, 1, &memory, &bytes, NULL);
    if (vyre_call_buffer(call, 12, &memory, &bytes, NULL) != VYRE_E_RANGE) return 1;
    if (vyre_call_buffer(call, 32, &memory, &bytes, NULL) != VYRE_E_RANGE) return 2;
    if (memory != inside || bytes != 3) return 3;
    return 0;
}

static void refused_inside(void)
{
    struct inside inside = {.rt = open_cpu(1)};
    vyre_queue *queue = vyre_queue_default(inside.rt);
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_buffer_create(inside.rt, 64, VYRE_DEVICE, &buffer, &err), &err);
    inside.queue = open_queue(inside.rt, 4, 0);
    how.opcode = INSIDE;
    how.run = inside_run;
    how.ctx = &inside;
    how.read_handles = 1;
    must(vyre_operation_register(inside.rt, &how, &inside.self, &err), &err);
    uint32_t handle = vyre_buffer_handle(buffer);
    vyre_completion end = wait_for(queue, submit_op(queue, INSIDE, &handle, 1));
    is_u64(end.outcome, VYRE_DONE, "an operation that calls what it must not, returns");
    is_u64(inside.stop, VYRE_E_STATE, "vyre_stop is refused");
    is_u64(inside.unregister, VYRE_E_STATE, "vyre_operation_unregister is refused");
    is_u64(inside.call_none, VYRE_E_NULL, "vyre_call_buffer without a call");
    is_u64(inside.call_null, VYRE_E_NULL, "vyre_call_buffer without a place");
    is_u64(inside.call_index, VYRE_E_RANGE, "vyre_call_buffer of a plain argument");
    is_u64(wait_for(inside.queue, submit_op(inside.queue, INSIDE, &handle, 1)).outcome, VYRE_DONE,
           "runtime, queue and operation are still there");
    vyre_close(inside.rt);
}

int main(void)
{
    freed_in_use(1, VYRE_DEVICE);
    freed_in_use(3, VYRE_PINNED);
    closed_in_use();
    unregister_waits(1);
    unregister_waits(3);
    many_freed_in_use(4096);
    many_freed_in_use(16);
    refused_inside();
    return done();
}
