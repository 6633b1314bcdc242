/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory that runs out: the n-th allocation fails, for every n until none does any more; once
 * alone, and once together with all that follow. Each call says so by its status, a runtime goes on
 * after a call that failed, and nothing is ever lost.
 */
#include "meter.h"

enum { GATE = 100 };

struct world {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *device, *pinned;
    vyre_operation *operation;
    int fd;
};

typedef vyre_status (*step_fn)(struct world *world, vyre_allocator *hooks, vyre_error *err);

static vyre_status open_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    vyre_options options = cpu_options(2);
    options.allocator = hooks;
    options.inflight_slots = 64;
    options.max_queues = 4;
    return vyre_open(&world->rt, &options, err);
}

static vyre_status queue_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    (void)hooks;
    options.slots = 16;
    options.deadline_ns = PATIENCE_NS;
    return vyre_queue_open(world->rt, &options, &world->queue, err);
}

static vyre_status device_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    (void)hooks;
    return vyre_buffer_create(world->rt, 10000, VYRE_DEVICE, &world->device, err);
}

static vyre_status pinned_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    (void)hooks;
    return vyre_buffer_create(world->rt, 10000, VYRE_PINNED, &world->pinned, err);
}

static uint32_t nothing_run(vyre_call *call)
{
    return call->args[3];
}

static vyre_status operation_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    (void)hooks;
    how.opcode = GATE;
    how.run = nothing_run;
    how.read_handles = 3;
    return vyre_operation_register(world->rt, &how, &world->operation, err);
}

static vyre_status event_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    (void)hooks;
    return vyre_queue_event_fd(world->queue, &world->fd, err);
}

/* The first mark of a queue may need memory for all the others. */
static vyre_status mark_step(struct world *world, vyre_allocator *hooks, vyre_error *err)
{
    vyre_slot *slot = next_slot(world->queue);
    (void)hooks;
    must(vyre_prep_nop(slot, err), err);
    vyre_status status = vyre_slot_repeatable(world->queue, slot, err);
    wait_for(world->queue, submit(world->queue));
    return status;
}

static const step_fn steps[] = {open_step,      queue_step, device_step, pinned_step,
                                operation_step, event_step, mark_step};
enum { STEPS = sizeof steps / sizeof steps[0] };

/* Work that allocates nothing: the count of calls must stay. */
static bool use(struct world *world, struct meter *meter)
{
    uint32_t args[2] = {vyre_buffer_handle(world->device), vyre_buffer_handle(world->pinned)};
    vyre_error err;
    bool right = true;
    uint64_t calls = atomic_load(&meter->calls);
    for (int i = 0; i < 40; i++) {
        vyre_slot *slot = next_slot(world->queue);
        must(vyre_prep_op(slot, i % 2 ? GATE : VYRE_OP_NOP, args, 2, &err), &err);
        if (i % 7 == 0) must(vyre_slot_deadline(world->queue, slot, PATIENCE_NS, &err), &err);
        uint64_t ticket = submit(world->queue);
        if (i % 11 == 0) vyre_cancel(world->queue, ticket, NULL);
        uint16_t outcome = wait_for(world->queue, ticket).outcome;
        right = right && (outcome == VYRE_DONE || (i % 11 == 0 && outcome == VYRE_CANCELLED));
    }
    return right && atomic_load(&meter->calls) == calls;
}

/* Takes everything away by hand, or leaves it to vyre_close. */
static void leave(struct world *world, bool by_hand)
{
    if (by_hand && world->rt) {
        vyre_buffer_free(world->device);
        vyre_buffer_free(world->pinned);
        vyre_operation_unregister(world->operation, NULL);
        vyre_queue_close(world->queue);
    }
    vyre_close(world->rt);
}

/* One call fails; the same call again succeeds. Returns how often something failed. */
static uint64_t fail_once(uint64_t n, uint32_t *wrong)
{
    struct meter meter = {.fail_at = n};
    vyre_allocator hooks = meter_allocator(&meter);
    struct world world = {.fd = -1};
    for (int i = 0; i < STEPS; i++) {
        struct world before = world;
        vyre_error err = {.status = 77};
        uint64_t failures = meter.failures;
        int64_t live = meter.live_bytes;
        vyre_status status = steps[i](&world, &hooks, &err);
        if (status == VYRE_OK) {
            *wrong += meter.failures != failures;
            continue;
        }
        *wrong += status != VYRE_E_NO_MEMORY || err.status != status || !err.message[0];
        *wrong += meter.failures != failures + 1 || meter.live_bytes != live;
        *wrong += memcmp(&world, &before, sizeof world) != 0;
        *wrong += steps[i](&world, &hooks, &err) != VYRE_OK;
    }
    *wrong += !use(&world, &meter);
    leave(&world, n % 2 == 0);
    *wrong += !meter_clean(&meter);
    return meter.failures;
}

/* From this call on all fail. */
static uint64_t fail_from(uint64_t n, uint32_t *wrong)
{
    struct meter meter = {.fail_from = n};
    vyre_allocator hooks = meter_allocator(&meter);
    struct world world = {.fd = -1};
    for (int i = 0; i < STEPS; i++) {
        if (i > 0 && !world.rt) break;
        if (i >= STEPS - 2 && !world.queue) break;
        vyre_status status = steps[i](&world, &hooks, NULL);
        *wrong += status != VYRE_OK && status != VYRE_E_NO_MEMORY;
    }
    if (world.queue && world.device && world.pinned && world.operation)
        *wrong += !use(&world, &meter);
    leave(&world, n % 2 == 0);
    *wrong += !meter_clean(&meter);
    return meter.failures;
}

static void walk(uint64_t (*run)(uint64_t, uint32_t *), const char *name)
{
    uint32_t threads = count_threads(), descriptors = count_descriptors();
    uint64_t n = 1;
    uint32_t wrong = 0;
    while (n < 1000 && run(n, &wrong) != 0)
        n++;
    ok(n > 10 && n < 1000, "%s: %llu places where memory can fail", name,
       (unsigned long long)(n - 1));
    is_u64(wrong, 0, "%s: each gave a status, changed nothing, and nothing was lost", name);
    is_u64(settle_threads(threads), threads, "%s: no thread is left", name);
    is_u64(count_descriptors(), descriptors, "%s: no descriptor is left", name);
}

int main(void)
{
    uint32_t wrong = 0;
    fail_once(0, &wrong);
    is_u64(wrong, 0, "all is well while nothing fails");
    walk(fail_once, "one allocation fails");
    walk(fail_from, "all fail from one on");
    return done();
}
