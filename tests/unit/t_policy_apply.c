/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Advice applied as vyre/policy.h says: from an image of a running runtime through a snapshot to a
 * request, and from the advice to options that a second runtime opens with and runs slots on.
 */
#include "support.h"

enum { SLOTS = 200 };

static uint32_t clamp(uint32_t value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : value;
}

static uint32_t next_power_of_two(uint32_t value)
{
    uint32_t power = 1;
    while (power < value && power < 65536)
        power *= 2;
    return power;
}

/* The table of the header. */
static vyre_options options_of(const vyre_policy_advice *advice)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CPU;
    options.workers = clamp(advice->worker_groups, 1, 256);
    options.default_queue_slots = next_power_of_two(advice->geometry.slot_count);
    options.inflight_slots = clamp(advice->geometry.slot_count, 16, 65536);
    if (advice->age_priority_work) options.ageing_ns = 100000;
    return options;
}

static void run_slots(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    uint64_t last = 0;
    vyre_error err;
    for (int i = 0; i < SLOTS; i++) {
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        last = submit(queue);
    }
    is_u64(wait_for(queue, last).outcome, VYRE_DONE, "%d slots run", SLOTS);
}

/* What the runtime shows of itself, decoded; `rows` has room for `room` slots. */
static vyre_snapshot look_at(vyre *rt, vyre_snapshot_slot *rows, uint32_t room)
{
    static unsigned char control[4 * 4096], ring[65536 * 64];
    vyre_snapshot_source source = VYRE_SNAPSHOT_SOURCE_INIT;
    vyre_snapshot snapshot = VYRE_SNAPSHOT_INIT;
    vyre_error err;
    must(vyre_image_control(rt, 0, control, sizeof control, &source.control_bytes, &err), &err);
    must(vyre_image_ring(rt, 0, ring, sizeof ring, &source.ring_bytes, &err), &err);
    source.control = control;
    source.ring = ring;
    snapshot.slots = rows;
    snapshot.slot_room = room;
    must(vyre_snapshot_decode(&source, &snapshot, NULL, &err), &err);
    return snapshot;
}

int main(void)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre_policy_advice advice = VYRE_POLICY_ADVICE_INIT;
    vyre_policy_request request;
    vyre_description description = VYRE_DESCRIPTION_INIT;
    static vyre_snapshot_slot rows[4096];
    vyre_error err;
    options.backend = VYRE_BACKEND_CPU;
    options.workers = 2;
    options.default_queue_slots = 256;
    options.inflight_slots = 1024;
    vyre *rt = open_with(&options);
    run_slots(rt);
    vyre_snapshot snapshot = look_at(rt, rows, 4096);
    works(vyre_describe(rt, &description, &err), &err, "what the runtime holds");
    vyre_close(rt);

    works(vyre_policy_direct(&request, SLOTS, 4, 64, &err), &err, "a request");
    works(vyre_policy_add_snapshot(NULL, &snapshot, &request, &err), &err, "with the snapshot");
    is_u64(request.graph_node_count, 1024, "the ring has its slots");
    is_u64(request.hot_opcode_count, 1, "one opcode ever ran");
    request.requeue_count = 1;
    request.resident_device_bytes = description.buffer_bytes;
    request.device_memory_budget_bytes = 1 << 20;
    works(vyre_policy_recommend(NULL, &request, &advice, &err), &err, "advice");
    is_u64(advice.worker_groups, 4, "as many workers as there can be");
    is_u64(advice.geometry.slot_count, SLOTS, "as many slots as items, in groups of four");
    is_u64(advice.age_priority_work, 1, "work ages");

    options = options_of(&advice);
    rt = open_with(&options);
    works(vyre_describe(rt, &description, &err), &err, "a runtime of these options");
    is_u64(description.workers, 4, "workers as advised");
    is_u64(vyre_queue_capacity(vyre_queue_default(rt)), 256, "a queue for all items");
    run_slots(rt);
    vyre_close(rt);

    /* Advice at its ends is options that can be opened, too. */
    works(vyre_policy_direct(&request, 4000000000u, 65535, 1024, &err), &err, "a huge request");
    request.requested_hit_capacity = 1;
    works(vyre_policy_recommend(NULL, &request, &advice, &err), &err, "advice");
    options = options_of(&advice);
    is_u64(options.workers, 256, "workers are cut");
    is_u64(options.default_queue_slots, 65536, "slots are cut");
    options.workers = 2; /* so many threads are not to be started here */
    rt = open_with(&options);
    run_slots(rt);
    vyre_close(rt);
    return done();
}
