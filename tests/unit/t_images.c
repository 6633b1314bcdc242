/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The wire format's images of a running system, through the strict decoders: control words that
 * count truly, slots in flight in their true states and only one's own, the debug log.
 */
#include "support.h"

enum { GATE = 100, WORDS = 16 };

struct control {
    vyre_wire_control head;
    uint32_t words[VYRE_CONTROL_WORDS + WORDS];
};

static struct control control_of(vyre *rt, uint32_t tenant)
{
    struct control control;
    vyre_error err;
    size_t needed = 0;
    must(vyre_image_control(rt, tenant, control.words, sizeof control.words, &needed, &err), &err);
    if (needed != sizeof control.words) bail("the control image has %zu bytes", needed);
    must(vyre_wire_control_decode(control.words, sizeof control.words, &control.head, &err), &err);
    return control;
}

static uint32_t nothing_run(vyre_call *call)
{
    (void)call;
    return 0;
}

/* Every count starts at 0 and moves by exactly what was run. */
static void counters(vyre *rt)
{
    vyre_queue *queues[2] = {open_queue(rt, 64, 0), open_queue(rt, 64, 3)};
    vyre_error err;
    struct control before = control_of(rt, 0);
    ok(before.head.done_count == 0 && before.head.epoch == 0 && before.head.shutdown == 0,
       "nothing has run");
    is_u64(before.head.observable_words, WORDS, "the tenant's words follow the header");
    is_u64(before.head.tenant_base, 3, "where the masks begin");
    register_op(rt, 31, nothing_run, NULL);
    register_op(rt, 32, nothing_run, NULL);

    uint32_t args[2] = {0, WORD(1)}, ops_args[2] = {5, WORD(2)};
    vyre_packed_op packed[3] = {
        {VYRE_OP_NOP, 0, NULL}, {VYRE_OP_ATOMIC_ADD, 2, ops_args}, {31, 0, NULL}};
    for (uint32_t i = 0; i < 20; i++) {
        for (uint32_t q = 0; q < 2; q++)
            for (uint32_t p = 0; p < VYRE_PRIORITIES; p++) {
                vyre_slot *slot = next_slot(queues[q]);
                must(vyre_prep_op(slot, VYRE_OP_STORE_U32, args, 2, &err), &err);
                must(vyre_slot_priority(slot, p, &err), &err);
                wait_for(queues[q], submit(queues[q]));
            }
        wait_for(queues[0], submit_op(queues[0], 31, NULL, 0));
        wait_for(queues[0], submit_op(queues[0], 32, NULL, 0));
        wait_for(queues[0], submit_op(queues[0], VYRE_OP_BATCH_FENCE, NULL, 0));
        must(vyre_prep_packed(next_slot(queues[1]), packed, 3, &err), &err);
        wait_for(queues[1], submit(queues[1]));
    }
    const struct control after = control_of(rt, 3);
    is_u64(after.head.done_count, 20 * 14, "done: every slot once");
    is_u64(after.head.epoch, 20, "epoch: the fences");
    is_u64(after.head.metrics[VYRE_OP_STORE_U32], 200, "metrics of a built-in");
    is_u64(after.head.metrics[31], 40, "metrics of a user operation, packed ones too");
    is_u64(after.head.metrics[VYRE_OP_NOP] + after.head.metrics[VYRE_OP_ATOMIC_ADD], 40,
           "metrics of packed operations");
    is_u64(after.head.metrics[VYRE_OP_BATCH_FENCE], 20, "metrics of fences");
    is_u64(after.head.tenant_fairness[0], 20 * 8, "tenant 0: its slots");
    is_u64(after.head.tenant_fairness[3], 20 * 6, "tenant 3: its slots");
    is_u64(after.head.priority_fairness[2], 2 * 20 + 4 * 20, "priority NORMAL");
    ok(after.head.priority_fairness[0] == 40 && after.head.priority_fairness[1] == 40 &&
           after.head.priority_fairness[3] == 40 && after.head.priority_fairness[4] == 40,
       "the other priorities");
    is_u64(after.words[VYRE_CONTROL_OBSERVABLE + 2], 20 * 5, "one's own observable words");
    is_u64(control_of(rt, 0).words[VYRE_CONTROL_OBSERVABLE + 2], 0, "and nobody else's");
    vyre_queue_close(queues[0]);
    vyre_queue_close(queues[1]);
}

/* Faults are ends like others, and only runs are counted as runs. */
static void faults_count(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    struct control before = control_of(rt, 0);
    wait_for(queue, submit_op(queue, 5000, NULL, 0));
    wait_for(queue, submit_op(queue, VYRE_OP_STORE_U32, NULL, 0));
    struct control after = control_of(rt, 0);
    is_u64(after.head.done_count, before.head.done_count + 2, "faulted slots have ended too");
}

static uint32_t ring_words[4096 * VYRE_SLOT_WORDS];

static vyre_wire_ring ring_of(vyre *rt, uint32_t tenant, size_t *bytes)
{
    vyre_wire_ring ring;
    vyre_error err;
    must(vyre_image_ring(rt, tenant, ring_words, sizeof ring_words, bytes, &err), &err);
    must(vyre_wire_ring_decode(ring_words, *bytes, &ring, &err), &err);
    return ring;
}

static bool ring_has(size_t bytes, uint32_t status, uint32_t opcode, uint32_t tenant)
{
    for (size_t i = 0; i < bytes / 4; i += VYRE_SLOT_WORDS)
        if (ring_words[i] == status && ring_words[i + VYRE_SLOT_OPCODE] == opcode &&
            ring_words[i + VYRE_SLOT_TENANT] == tenant)
            return true;
    return false;
}

static void slots_in_flight(vyre *rt)
{
    struct gate gate = {0};
    vyre_queue *queue = open_queue(rt, 16, 1), *other = open_queue(rt, 16, 2);
    vyre_error err;
    size_t bytes = 0;
    vyre_operation *operation = register_op(rt, GATE, gate_run, &gate);
    vyre_wire_ring ring = ring_of(rt, 1, &bytes);
    ok(ring.slots == 64 && ring.by_status[VYRE_SLOT_EMPTY] == 64, "all empty, 64 as asked");

    uint64_t held = hold_worker(queue, GATE, &gate);
    ring = ring_of(rt, 1, &bytes);
    ok(ring.by_status[VYRE_SLOT_CLAIMED] == 1 && ring.active == 1, "one runs");
    ok(ring_has(bytes, VYRE_SLOT_CLAIMED, GATE, 1), "with its opcode and its true tenant");
    must(vyre_prep_fence(next_slot(queue), 0, 0, &err), &err);
    uint64_t fence = submit(queue);
    for (int i = 0; i < 100000 && ring_of(rt, 1, &bytes).active < 2; i++)
        breathe();
    hold_worker(other, GATE, &gate);
    ring = ring_of(rt, 1, &bytes);
    ok(ring.active == 2 && ring_has(bytes, VYRE_SLOT_PUBLISHED, VYRE_OP_BATCH_FENCE, 1),
       "and a fence waits");
    ring = ring_of(rt, 2, &bytes);
    ok(ring.active == 1 && !ring_has(bytes, VYRE_SLOT_PUBLISHED, VYRE_OP_BATCH_FENCE, 1),
       "another tenant sees its own slot only");
    for (size_t i = 0; i < bytes / 4; i += VYRE_SLOT_WORDS)
        for (size_t w = 0; ring_words[i] == VYRE_SLOT_EMPTY && w < VYRE_SLOT_WORDS; w++)
            if (ring_words[i + w] != 0) ok(0, "word %zu of an empty slot is not 0", w);
    atomic_store(&gate.open, 1);
    wait_for(queue, held);
    wait_for(queue, fence);
    vyre_queue_close(queue);
    vyre_queue_close(other);
    must(vyre_operation_unregister(operation, &err), &err);
    ring = ring_of(rt, 1, &bytes);
    is_u64(ring.depth, 0, "all empty again");
}

static void debug_log(vyre *rt)
{
    vyre_queue *queue = open_queue(rt, 8, 1);
    unsigned char bytes[VYRE_LOG_BYTES];
    vyre_log_record records[VYRE_LOG_RECORDS];
    vyre_error err;
    size_t needed = 0, count = 0;
    works(vyre_image_debug_log(rt, 1, bytes, sizeof bytes, &needed, &err), &err, "an empty log");
    works(vyre_wire_log_count(bytes, sizeof bytes, &count, &err), &err, "decodes");
    ok(needed == VYRE_LOG_BYTES && count == 0, "1028 bytes, no records");
    for (uint32_t i = 0; i < 100; i++) {
        must(vyre_prep_printf(next_slot(queue), i, i + 1, i + 2, &err), &err);
        wait_for(queue, submit(queue));
    }
    must(vyre_image_debug_log(rt, 1, bytes, sizeof bytes, NULL, &err), &err);
    works(vyre_wire_log_decode(bytes, sizeof bytes, records, 64, &count, &err), &err,
          "after an overflow it still decodes");
    ok(count == 64 && records[0].format == 36 && records[63].format == 99 && records[63].b == 101 &&
           records[63].slot == 16 * (99 % 8),
       "and has the newest 64 records in order");
    vyre_queue_close(queue);
}

typedef vyre_status (*image_fn)(vyre *, uint32_t, void *, size_t, size_t *, vyre_error *);

static void refusals(vyre *rt)
{
    static const image_fn images[] = {vyre_image_control, vyre_image_ring, vyre_image_debug_log};
    static const size_t sizes[] = {4 * (VYRE_CONTROL_WORDS + WORDS), 64 * 64, VYRE_LOG_BYTES};
    vyre_error err;
    for (int i = 0; i < 3; i++) {
        unsigned char *bytes = malloc(sizes[i]);
        size_t needed = 0;
        if (!bytes) bail("no memory");
        memset(bytes, 0x5A, sizes[i]);
        refused(images[i](NULL, 0, bytes, sizes[i], &needed, &err), VYRE_E_NULL, &err, "runtime");
        refused(images[i](rt, 0, NULL, sizes[i], &needed, &err), VYRE_E_NULL, &err, "bytes");
        refused(images[i](rt, 32, bytes, sizes[i], &needed, &err), VYRE_E_RANGE, &err, "tenant");
        refused(images[i](rt, 0, bytes, sizes[i] - 1, &needed, &err), VYRE_E_TOO_SMALL, &err,
                "one byte too few");
        is_u64(needed, sizes[i], "how much it takes");
        is_u64(bytes[0], 0x5A, "nothing was written");
        needed = 0;
        refused(images[i](rt, 0, NULL, 0, &needed, &err), VYRE_E_TOO_SMALL, &err, "just asking");
        is_u64(needed, sizes[i], "is answered");
        works(images[i](rt, 0, bytes, sizes[i], &needed, &err), &err, "exactly enough");
        free(bytes);
    }
}

int main(void)
{
    vyre_options options = cpu_options(2);
    options.observable_words = WORDS;
    options.inflight_slots = 64;
    vyre *rt = open_with(&options);
    counters(rt);
    faults_count(rt);
    slots_in_flight(rt);
    debug_log(rt);
    refusals(rt);
    vyre_close(rt);
    return done();
}
