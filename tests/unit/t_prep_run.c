/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that run programs: what preparing refuses, what it writes, that scalars beside the slot and
 * deadlines do not disturb each other, and that programs, sets and buffers live until the slots
 * that use them have ended.
 */
#include "meter.h"

#include "kernels.h"

static vyre_program *load_code(vyre *rt, struct code code)
{
    vyre_program *program = NULL;
    vyre_error err;
    must(vyre_program_load(rt, code.bytes, code.length, NULL, &program, &err), &err);
    code_free(&code);
    return program;
}

static vyre_buffer *make_buffer(vyre *rt, size_t bytes)
{
    vyre_buffer *made = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, bytes, VYRE_PINNED, &made, &err), &err);
    return made;
}

static void *bytes_of(vyre_buffer *given)
{
    void *memory = NULL;
    vyre_error err;
    must(vyre_buffer_map(given, &memory, &err), &err);
    return memory;
}

static vyre_bindings *bind(vyre_program *program, vyre_buffer *const *buffers, size_t count)
{
    vyre_bindings *set = NULL;
    vyre_error err;
    must(vyre_bindings_create(program, buffers, count, &set, &err), &err);
    return set;
}

static vyre_run run_of(vyre_program *program, vyre_bindings *set, const uint32_t *scalars,
                       uint32_t count)
{
    vyre_run run = VYRE_RUN_INIT;
    run.program = program;
    run.bindings = set;
    run.scalars = scalars;
    run.scalar_count = count;
    return run;
}

/* Everything that is refused, on one slot, which nothing changes. */
static void refusals(vyre *rt)
{
    vyre_program *saxpy = load_code(rt, code_saxpy()), *fill = load_code(rt, code_fill(4, 0));
    vyre_program *nine = load_code(rt, code_scalars(9)), *twelve = load_code(rt, code_scalars(12));
    vyre_buffer *x = make_buffer(rt, 64), *y = make_buffer(rt, 64);
    vyre_bindings *set = bind(saxpy, (vyre_buffer *[]){NULL, x, y}, 3);
    vyre_bindings *bound = bind(saxpy, (vyre_buffer *[]){x, x, y}, 3);
    vyre_buffer *nine_buffers[10] = {[9] = x}, *twelve_buffers[13];
    for (int i = 0; i < 13; i++)
        twelve_buffers[i] = x;
    vyre_bindings *nines = bind(nine, nine_buffers, 10);
    vyre_bindings *twelves = bind(twelve, twelve_buffers, 13);
    vyre_queue *queue = open_queue(rt, 16, 0), *other = open_queue(rt, 16, 0);
    const uint32_t scalars[12] = {1};
    vyre_slot *slot = next_slot(queue);
    vyre_slot before = *slot;
    vyre_error err;
    vyre_run run = run_of(saxpy, set, scalars, 1);
    refused(vyre_prep_run(NULL, &run, &err), VYRE_E_NULL, &err, "no slot");
    refused(vyre_prep_run(slot, NULL, &err), VYRE_E_NULL, &err, "no run");
    run.size = 8;
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_SIZE, &err, "another size");
    run.size = sizeof run;
    run.reserved = 1;
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RESERVED, &err, "the reserved word");
    run = run_of(NULL, set, scalars, 1);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_NULL, &err, "no program");
    run = run_of(saxpy, NULL, scalars, 1);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_NULL, &err, "no bindings");
    run = run_of(fill, set, NULL, 0);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_CONFLICT, &err, "bindings of another program");
    run = run_of(saxpy, set, NULL, 1);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_NULL, &err, "no scalars");
    run = run_of(saxpy, set, scalars, 0);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "no scalar for an open one");
    run = run_of(saxpy, set, scalars, 2);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "one scalar too many");
    run = run_of(saxpy, bound, scalars, 2);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "two where one is bound");
    run = run_of(twelve, twelves, scalars, 12);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "12 scalars");
    run = run_of(nine, nines, scalars, 9);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_NULL, &err, "9 scalars and no queue");
    run.queue = other;
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "another queue");
    run = run_of(saxpy, set, scalars, 1);
    run.grid[0] = 0x4000001;
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "2^32 and 64 invocations");
    run.grid[0] = 0x4000000;
    run.grid[1] = run.grid[2] = UINT32_MAX;
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RANGE, &err, "2^90 workgroups");
    ok(memcmp(slot, &before, sizeof before) == 0, "the slot is as it was");

    run.grid[1] = 1u << 31;
    run.grid[2] = 1;
    works(vyre_prep_run(slot, &run, &err), &err, "2^57 workgroups");
    run = run_of(saxpy, bound, scalars, 1);
    works(vyre_prep_run(slot, &run, &err), &err, "a scalar that is passed over");
    run = run_of(saxpy, bound, NULL, 0);
    works(vyre_prep_run(slot, &run, &err), &err, "none where all are bound");
    run = run_of(twelve, twelves, NULL, 0);
    works(vyre_prep_run(slot, &run, &err), &err, "12 bound ones");
    must(vyre_prep_nop(slot, &err), &err);
    wait_for(queue, submit(queue));
    vyre_queue_close(queue);
    vyre_queue_close(other);
}

static void words(vyre *rt)
{
    vyre_program *seven = load_code(rt, code_scalars(7));
    vyre_buffer *buffers[8] = {[7] = make_buffer(rt, 64)};
    vyre_bindings *set = bind(seven, buffers, 8);
    vyre_queue *queue = open_queue(rt, 16, 0);
    const uint32_t scalars[7] = {11, 12, 13, 14, 15, 16, 17};
    vyre_slot *slot = next_slot(queue);
    vyre_error err;
    vyre_run run = run_of(seven, set, scalars, 7);
    run.grid[0] = 2;
    run.grid[1] = 3;
    run.grid[2] = 0;
    works(vyre_prep_run(slot, &run, &err), &err, "seven scalars fit the slot");
    const uint32_t expected[VYRE_SLOT_ARGS] = {
        2, 3, 0, vyre_bindings_handle(set), 7, 11, 12, 13, 14, 15, 16, 17};
    ok(memcmp(&slot->word[VYRE_SLOT_ARG0], expected, sizeof expected) == 0, "all twelve arguments");
    is_u64(slot->word[VYRE_SLOT_OPCODE], vyre_program_opcode(seven), "opcode");
    is_u64(slot->word[VYRE_SLOT_PRIORITY], VYRE_PRIORITY_NORMAL, "priority");
    is_u64(slot->word[VYRE_SLOT_STATUS], VYRE_SLOT_PUBLISHED, "status");
    must(vyre_prep_nop(slot, &err), &err);
    wait_for(queue, submit(queue));
    vyre_queue_close(queue);
}

/* Sums up what a program makes of `count` elements. */
static void saxpy(vyre *rt)
{
    enum { COUNT = 1000 };
    vyre_program *program = load_code(rt, code_saxpy());
    vyre_buffer *x = make_buffer(rt, COUNT * 4), *y = make_buffer(rt, COUNT * 4);
    vyre_bindings *set = bind(program, (vyre_buffer *[]){NULL, x, y}, 3);
    vyre_queue *queue = vyre_queue_default(rt);
    float *from = bytes_of(x), *to = bytes_of(y), a = 2.5f;
    uint32_t bits, wrong = 0, grid[3];
    vyre_error err;
    for (int i = 0; i < COUNT; i++) {
        from[i] = (float)i;
        to[i] = 0.25f;
    }
    memcpy(&bits, &a, sizeof bits);
    vyre_run run = run_of(program, set, &bits, 1);
    must(vyre_kernel_grid(vyre_program_kernel(program), (uint64_t[]){0, COUNT * 4, COUNT * 4}, 3,
                          grid, &err),
         &err);
    memcpy(run.grid, grid, sizeof grid);
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    vyre_completion end = wait_for(queue, submit(queue));
    is_u64(end.outcome, VYRE_DONE, "saxpy is done, fault %u", end.fault);
    ok(end.result[0] == grid[0] && end.result[1] == 0, "all %u workgroups ended", grid[0]);
    for (int i = 0; i < COUNT; i++)
        wrong += to[i] != 2.5f * (float)i + 0.25f;
    is_u64(wrong, 0, "y is a x + y");

    run.grid[1] = 0;
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    end = wait_for(queue, submit(queue));
    ok(end.outcome == VYRE_DONE && end.result[0] == 0, "an empty grid runs nothing");
    ok(to[1] == 2.75f, "and changes nothing");
    vyre_bindings_free(set);
    works(vyre_program_unload(program, &err), &err, "unload");
    vyre_buffer_free(x);
    vyre_buffer_free(y);
}

static void without_buffers(vyre *rt)
{
    vyre_program *program = load_code(rt, code_alone(16));
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    vyre_run run = run_of(program, NULL, NULL, 0);
    run.grid[2] = 5;
    works(vyre_prep_run(next_slot(queue), &run, &err), &err, "no bindings where none are needed");
    vyre_completion end = wait_for(queue, submit(queue));
    ok(end.outcome == VYRE_DONE && end.result[0] == 5, "five workgroups ended");
    must(vyre_program_unload(program, &err), &err);
}

enum order { ALONE, BEFORE, AFTER, TWICE, ORDERS };

/* 11 scalars beside a deadline: given before or after, passed or far away. */
static void eleven(vyre *rt, enum order order, uint64_t slot_deadline_ns,
                   uint64_t queue_deadline_ns)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_program *program = load_code(rt, code_scalars(11));
    vyre_buffer *buffers[12] = {[11] = make_buffer(rt, 44)};
    vyre_bindings *set = bind(program, buffers, 12);
    vyre_queue *queue = NULL;
    uint32_t scalars[11], wrong = 0, ended = 0;
    uint64_t deadline_ns = order == ALONE ? queue_deadline_ns : slot_deadline_ns;
    vyre_error err;
    options.slots = 1;
    options.deadline_ns = queue_deadline_ns;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    const uint32_t *made = bytes_of(buffers[11]);
    for (uint32_t lap = 0; lap < 10; lap++) {
        vyre_slot *slot = next_slot(queue);
        vyre_run run = run_of(program, set, scalars, 11);
        run.queue = queue;
        for (uint32_t i = 0; i < 11; i++)
            scalars[i] = 1000 * lap + i + 1;
        if (order == BEFORE || order == TWICE)
            must(vyre_slot_deadline(queue, slot, order == TWICE ? 1 : slot_deadline_ns, &err),
                 &err);
        must(vyre_prep_run(slot, &run, &err), &err);
        if (order == AFTER || order == TWICE)
            must(vyre_slot_deadline(queue, slot, slot_deadline_ns, &err), &err);
        vyre_completion end = wait_for(queue, submit(queue));
        ended += end.fault == VYRE_FAULT_DEADLINE;
        if (end.outcome == VYRE_DONE) wrong += memcmp(made, scalars, sizeof scalars) != 0;
        wrong += deadline_ns != 1 && end.outcome != VYRE_DONE;
        /* Another slot, with nothing beside it, at the same place of the ring. */
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        end = wait_for(queue, submit(queue));
        wrong += queue_deadline_ns != 1 && end.outcome != VYRE_DONE;
    }
    is_u64(wrong, 0, "order %d, deadline %llu, queue's %llu: all scalars arrive", (int)order,
           (unsigned long long)slot_deadline_ns, (unsigned long long)queue_deadline_ns);
    is_u64(ended, deadline_ns == 1 ? 10 : 0, "and the deadline counts");
    vyre_bindings_free(set);
    must(vyre_program_unload(program, &err), &err);
    vyre_buffer_free(buffers[11]);
    vyre_queue_close(queue);
}

struct unload {
    vyre_program *program;
    _Atomic uint32_t done;
};

static void *unload_thread(void *ctx)
{
    struct unload *unload = ctx;
    if (vyre_program_unload(unload->program, NULL) != VYRE_OK) bail("cannot unload");
    atomic_store(&unload->done, 1);
    return NULL;
}

/* Buffer, set and program are given back in this order while slots use them. */
static void lifetimes(uint32_t workers)
{
    enum { ROUNDS = 300, SLOTS = 8, GATE = 100 };
    struct meter meter = {0};
    struct gate gate = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(workers);
    vyre_error err;
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    vyre_queue *queue = open_queue(rt, 64, 0), *gates = open_queue(rt, 64, 0);
    register_op(rt, GATE, gate_run, &gate);
    struct unload unload = {load_code(rt, code_count()), 0};
    vyre_buffer *counter = make_buffer(rt, 4), *kept = make_buffer(rt, 4);
    vyre_bindings *set = bind(unload.program, (vyre_buffer *[]){NULL, counter}, 2);
    vyre_bindings *second = bind(unload.program, (vyre_buffer *[]){NULL, kept}, 2);
    const uint32_t rounds = ROUNDS;
    for (uint32_t i = 0; i < workers; i++)
        hold_worker(gates, GATE, &gate);
    vyre_run run = run_of(unload.program, set, &rounds, 1);
    for (uint32_t i = 0; i < SLOTS; i++) {
        run.bindings = i % 2 ? second : set;
        must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    }
    uint64_t first = submit(queue);
    vyre_buffer_free(counter);
    vyre_bindings_free(set);
    vyre_bindings_free(second);
    pthread_t thread;
    if (pthread_create(&thread, NULL, unload_thread, &unload)) bail("no thread");
    for (int i = 0; i < 100; i++)
        breathe();
    is_u64(atomic_load(&unload.done), 0, "%u workers: unload waits for the slots", workers);
    atomic_store(&gate.open, 1);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        wrong += wait_for(queue, first + i).outcome != VYRE_DONE;
    is_u64(wrong, 0, "all slots submitted before ran");
    pthread_join(thread, NULL);
    is_u64(*(uint32_t *)bytes_of(kept), SLOTS / 2 * ROUNDS * ROUNDS, "to their end");
    vyre_buffer_free(kept);
    vyre_description now = {.size = sizeof now};
    do
        must(vyre_describe(rt, &now, &err), &err);
    while (now.handles != 1);
    ok(now.programs == 0 && now.buffer_bytes == 0, "then all is gone");
    vyre_close(rt);
    ok(meter_clean(&meter), "nothing is left");
}

/* Closed with everything in use. */
static void closed_in_use(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    vyre_options options = cpu_options(2);
    const uint32_t rounds = 1000000;
    vyre_error err;
    options.allocator = &hooks;
    for (int round = 0; round < 8; round++) {
        vyre *rt = open_with(&options);
        vyre_queue *queue = vyre_queue_default(rt);
        vyre_program *program = load_code(rt, code_count());
        vyre_buffer *counter = make_buffer(rt, 4);
        vyre_bindings *set = bind(program, (vyre_buffer *[]){NULL, counter}, 2);
        vyre_run run = run_of(program, set, &rounds, 1);
        for (int i = 0; i < 5; i++) {
            must(vyre_prep_run(next_slot(queue), &run, &err), &err);
            submit(queue);
        }
        if (round & 1) vyre_buffer_free(counter);
        if (round & 2) vyre_bindings_free(set);
        vyre_close(rt);
    }
    ok(meter_clean(&meter), "runtimes closed with programs running left nothing");
}

int main(void)
{
    vyre *rt = open_cpu(2);
    refusals(rt);
    words(rt);
    saxpy(rt);
    without_buffers(rt);
    for (int order = ALONE; order < ORDERS; order++) {
        eleven(rt, (enum order)order, PATIENCE_NS, 0);
        eleven(rt, (enum order)order, PATIENCE_NS, PATIENCE_NS);
        eleven(rt, (enum order)order, 1, 0);
        eleven(rt, (enum order)order, 0, 1);
        eleven(rt, (enum order)order, PATIENCE_NS, 1);
    }
    vyre_close(rt);
    if (!test_hosted()) { /* a gate is a C function */
        lifetimes(1);
        lifetimes(3);
    }
    closed_in_use();
    return done();
}
