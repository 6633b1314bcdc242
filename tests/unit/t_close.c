/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The end of a runtime: what stopping refuses, what closing gives back (threads, descriptors,
 * memory), many times over; and that a description is true from the first moment to the last.
 */
#include "meter.h"

enum { GATE = 100 };

static vyre_description describe(vyre *rt)
{
    vyre_description description = {.size = sizeof description};
    vyre_error err;
    must(vyre_describe(rt, &description, &err), &err);
    return description;
}

static void descriptions(void)
{
    struct meter meter = {0};
    struct gate gate = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(2);
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    vyre_description d = describe(rt);
    vyre_error err;

    ok(d.backend == VYRE_BACKEND_CPU && d.workers == 2, "CPU, two workers");
    ok(d.queues == 1 && d.handles == 0 && d.stopped == 0 && d.buffer_bytes == 0,
       "the default queue and nothing else");
    is_u64(d.memory_bytes, meter.live_bytes, "memory is what the allocator gave");

    vyre_queue *queue = open_queue(rt, 64, 3);
    vyre_operation *operation = register_op(rt, GATE, gate_run, &gate);
    vyre_buffer *buffer = NULL;
    must(vyre_buffer_create(rt, 12345, VYRE_PINNED, &buffer, &err), &err);
    d = describe(rt);
    is_u64(d.queues, 2, "a queue more");
    is_u64(d.handles, 2, "a buffer and an operation");
    ok(d.buffer_bytes >= 12345, "its %llu bytes", (unsigned long long)d.buffer_bytes);
    is_u64(d.memory_bytes + d.buffer_bytes, meter.live_bytes, "all memory is accounted for");

    vyre_buffer_free(buffer);
    must(vyre_operation_unregister(operation, &err), &err);
    vyre_queue_close(queue);
    settle_handles(rt, 0);
    d = describe(rt);
    ok(d.queues == 1 && d.handles == 0 && d.buffer_bytes == 0, "all gone again");
    is_u64(d.memory_bytes, meter.live_bytes, "and accounted for");

    vyre_description before = d;
    refused(vyre_describe(rt, NULL, &err), VYRE_E_NULL, &err, "nowhere to put it");
    refused(vyre_describe(NULL, &d, &err), VYRE_E_NULL, &err, "nothing to describe");
    d.size = before.size = sizeof d - 8;
    refused(vyre_describe(rt, &d, &err), VYRE_E_SIZE, &err, "too short");
    ok(memcmp(&d, &before, sizeof d) == 0, "a refusal changes nothing");
    vyre_close(rt);
    ok(meter_clean(&meter), "closing gives everything back");
}

static void stopped(void)
{
    vyre *rt = open_cpu(2);
    vyre_queue *queue = vyre_queue_default(rt), *none = (vyre_queue *)(uintptr_t)0x5A;
    vyre_queue *opened = none;
    vyre_buffer *buffer = NULL;
    vyre_operation *operation = NULL;
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_completion completion;
    vyre_error err;
    uint64_t ticket = 77, ended;
    size_t count = 9;
    uint32_t threads = count_threads();
    how.opcode = GATE;
    how.run = gate_run;

    must(vyre_prep_nop(next_slot(queue), &err), &err);
    ended = submit(queue);
    works(vyre_stop(rt, &err), &err, "stop");
    ok(settle_threads(threads - 2) == threads - 2, "both workers have ended");
    is_u64(describe(rt).stopped, 1, "the description says so");
    works(vyre_stop(rt, &err), &err, "a second stop does nothing");
    refused(vyre_stop(NULL, &err), VYRE_E_NULL, &err, "stopping nothing");

    refused(vyre_queue_open(rt, NULL, &opened, &err), VYRE_E_STOPPED, &err, "no new queue");
    ok(opened == none, "none was stored");
    refused(vyre_buffer_create(rt, 64, VYRE_DEVICE, &buffer, &err), VYRE_E_STOPPED, &err,
            "no new buffer");
    refused(vyre_operation_register(rt, &how, &operation, &err), VYRE_E_STOPPED, &err,
            "no new operation");
    ok(!buffer && !operation, "neither was stored");
    refused(vyre_cancel(queue, ended, &err), VYRE_E_STOPPED, &err, "nothing to cancel");

    works(vyre_wait(queue, ended, PATIENCE_NS, &completion, &err), &err, "reaping goes on");
    ok(completion.outcome == VYRE_DONE ||
           (completion.outcome == VYRE_CANCELLED && completion.fault == VYRE_FAULT_STOPPED),
       "the slot ran or was stopped");
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    refused(vyre_queue_submit(queue, &ticket, &err), VYRE_E_STOPPED, &err, "no submit");
    is_u64(ticket, 77, "no ticket");
    works(vyre_queue_reap(queue, &completion, 1, &count, &err), &err, "nothing to reap");
    ok(count == 0 && vyre_queue_outstanding(queue) == 0, "nothing was published");
    vyre_close(rt);
}

/* Everything a runtime can have, and none of it given back by hand. */
static void open_use_close(vyre_allocator *hooks, uint32_t round)
{
    vyre_options options = cpu_options(1 + round % 3);
    vyre_error err;
    vyre_buffer *buffer = NULL;
    struct gate gate = {.open = 1};
    int fd = -1;
    options.allocator = round % 2 ? hooks : NULL;
    vyre *rt = open_with(&options);
    vyre_queue *queue = open_queue(rt, 16, 1);
    register_op(rt, GATE, gate_run, &gate);
    must(vyre_buffer_create(rt, 4096, VYRE_PINNED, &buffer, &err), &err);
    if (round % 4 >= 2) must(vyre_queue_event_fd(queue, &fd, &err), &err);
    for (int i = 0; i < 10; i++)
        must(vyre_prep_op(next_slot(queue), GATE, NULL, 0, &err), &err);
    uint64_t first = submit(queue);
    if (round % 5) wait_for(queue, first + 9);
    if (round % 7 == 0) must(vyre_stop(rt, &err), &err);
    vyre_close(rt);
}

static void many_times(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    open_use_close(&hooks, 0); /* what the C library sets up once is set up now */
    uint32_t threads = count_threads(), descriptors = count_descriptors();
    uint32_t unclean = 0;
    for (uint32_t round = 0; round < 150; round++) {
        open_use_close(&hooks, round);
        unclean += !meter_clean(&meter);
    }
    is_u64(unclean, 0, "150 runtimes left no memory");
    is_u64(count_descriptors(), descriptors, "and no descriptor");
    is_u64(settle_threads(threads), threads, "and no thread");
}

/* Several runtimes at once are apart: no global state. */
static void several(void)
{
    vyre *rt[8];
    vyre_error err;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 8; i++)
        rt[i] = open_cpu(1);
    for (uint32_t i = 0; i < 8; i++) {
        vyre_queue *queue = vyre_queue_default(rt[i]);
        must(vyre_prep_store_u32(next_slot(queue), WORD(5), 1000 + i, &err), &err);
        wait_for(queue, submit(queue));
    }
    for (uint32_t i = 0; i < 8; i++)
        wrong += observable(rt[i], 0, 5) != 1000 + i;
    is_u64(wrong, 0, "eight runtimes at once, each with its own words");
    for (uint32_t i = 0; i < 8; i++)
        vyre_close(rt[(i * 5) % 8]);
}

int main(void)
{
    vyre_close(NULL);
    descriptions();
    stopped();
    many_times();
    several();
    return done();
}
