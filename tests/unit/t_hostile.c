/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A producer that means harm: random words in every field of hundreds of thousands of slots, slots
 * scribbled over after the doorbell, slots got and never submitted. Each of its accepted slots
 * ends; the tenant beside it gets right results all the while and keeps its memory.
 */
#include "hostile.h"

#include "runtime/internal.h"

enum { PROBE = 20, SLOTS = 64, BUFFERS = 4, HANDLES = 2 * BUFFERS + 2, GUARD = 0x6A };

/* In each campaign. */
static const uint64_t accepted_slots = UNDER_TSAN ? 15000 : 150000;

/* The tenant beside; its buffers are known to the attacker. */
struct victim {
    struct bystander live;
    vyre_buffer *buffers[BUFFERS];
};

/* Runs for the attacker only with buffers that are its own, in the way it asked for. */
struct probe {
    _Atomic uint32_t runs, foreign;
};

static uint32_t probe_run(vyre_call *call)
{
    struct probe *probe = call->ctx;
    void *memory = NULL;
    size_t bytes = 0;
    atomic_fetch_add(&probe->runs, 1);
    if (call->tenant != 1) return 1;
    if (vyre_call_buffer(call, 0, &memory, &bytes, NULL) != VYRE_OK) return 2;
    if (bytes != 777) atomic_fetch_add(&probe->foreign, 1);
    if (vyre_call_buffer(call, 1, &memory, &bytes, NULL) != VYRE_OK) return 3;
    if (bytes != 777) atomic_fetch_add(&probe->foreign, 1);
    __atomic_store_n((unsigned char *)memory, 0xEE, __ATOMIC_RELAXED);
    return call->args[2] & 1;
}

static const uint32_t opcodes[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   5,
                                   6,
                                   7,
                                   8,
                                   PROBE,
                                   PROBE,
                                   PROBE,
                                   0x100,
                                   0x101,
                                   0x103,
                                   VYRE_OP_PRINTF,
                                   VYRE_OP_PACKED_SLOT,
                                   VYRE_OP_SHUTDOWN};

static bool fault_fits(uint32_t fault)
{
    return fault <= VYRE_FAULT_OPERATION;
}

static void make_buffers(vyre *rt, struct victim *victim, uint32_t *handles)
{
    unsigned char guard[500];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *own = NULL;
    vyre_error err;
    memset(guard, GUARD, sizeof guard);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        how.tenant = 2;
        must(vyre_buffer_create_with(rt, sizeof guard, &how, &victim->buffers[i], &err), &err);
        must(vyre_buffer_write(victim->buffers[i], 0, guard, sizeof guard, &err), &err);
        how.tenant = 1;
        must(vyre_buffer_create_with(rt, 777, &how, &own, &err), &err);
        handles[i] = vyre_buffer_handle(victim->buffers[i]);
        handles[BUFFERS + i] = vyre_buffer_handle(own);
    }
    handles[2 * BUFFERS] = handles[0] + 0x10000;
    handles[2 * BUFFERS + 1] = handles[0] | 0xFFFF;
}

static void register_probe(vyre *rt, struct probe *probe)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation;
    vyre_error err;
    how.opcode = PROBE;
    how.run = probe_run;
    how.ctx = probe;
    how.read_handles = 1;
    how.write_handles = 2;
    must(vyre_operation_register(rt, &how, &operation, &err), &err);
}

static uint32_t damage(struct victim *victim)
{
    unsigned char bytes[500];
    vyre_error err;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        must(vyre_buffer_read(victim->buffers[i], 0, bytes, sizeof bytes, &err), &err);
        for (size_t k = 0; k < sizeof bytes; k++)
            changed += bytes[k] != GUARD;
    }
    return changed;
}

static void campaign(uint64_t seed, uint32_t flags, bool after_doorbell)
{
    static struct attacker a;
    struct victim victim = {.buffers = {NULL}};
    struct probe probe = {0};
    uint32_t handles[HANDLES];
    vyre_options runtime_options = cpu_options(2);
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    pthread_t thread;
    runtime_options.seal_polls = 20;
    vyre *rt = open_with(&runtime_options);
    a = (struct attacker){.slots = SLOTS,
                          .state = seed,
                          .opcodes = opcodes,
                          .opcode_count = sizeof opcodes / sizeof opcodes[0],
                          .handles = handles,
                          .handle_count = HANDLES,
                          .handle_args = 2,
                          .rewritten = after_doorbell ? 100 : 0,
                          .fault_fits = fault_fits};
    options.slots = SLOTS;
    options.tenant = 1;
    options.flags = flags;
    must(vyre_queue_open(rt, &options, &a.queue, &err), &err);
    victim.live.queue = open_queue(rt, 16, 2);
    make_buffers(rt, &victim, handles);
    register_probe(rt, &probe);
    if (pthread_create(&thread, NULL, bystander_live, &victim.live) != 0) bail("no thread");
    if (!reaches(&victim.live.ran, 1)) bail("the victim never lived");
    uint32_t before = victim.live.ran;
    attacker_attack(&a, accepted_slots);
    bool alive = reaches(&victim.live.ran, before + 16);
    atomic_store(&victim.live.stop, 1);
    pthread_join(thread, NULL);
    note("%" PRIu64 " slots: %" PRIu64 " done, %" PRIu64
         " faulted, %u probes ran; the victim ran %u",
         a.accepted, a.outcomes[VYRE_DONE], a.outcomes[VYRE_FAULTED], probe.runs, victim.live.ran);
    is_u64(a.ended, a.accepted, "%s%s: every accepted slot ended",
           flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed",
           after_doorbell ? ", scribbled after the doorbell" : "");
    is_u64(a.strange, 0, "once, done or faulted with a code");
    ok(alive, "the other tenant lives on");
    is_u64(victim.live.wrong, 0, "its results were right");
    is_u64(damage(&victim), 0, "its buffers are as they were");
    is_u64(probe.foreign, 0, "no operation was handed a foreign buffer");
    if (!after_doorbell) ok(probe.runs > 0, "and some were handed one's own");
    is_u64(observable(rt, 0, 0) + observable(rt, 3, 0), 0, "nobody's words were written");
    vyre_close(rt);
}

/* Slots that were got and left lying in the middle of being written. */
static void half_written(void)
{
    vyre *rt = open_cpu(2);
    vyre_queue *queue = open_queue(rt, 8, 1), *other = open_queue(rt, 8, 2);
    vyre_error err;
    vyre_slot *slot = next_slot(queue);
    slot->word[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    slot->word[VYRE_SLOT_OPCODE] = VYRE_OP_SHUTDOWN;
    for (uint32_t i = 0; i < 100; i++) {
        must(vyre_prep_atomic_add(next_slot(other), WORD(0), 1, &err), &err);
        wait_for(other, submit(other));
    }
    is_u64(observable(rt, 2, 0), 100, "a slot that is never submitted holds up nobody");
    next_slot(queue);
    uint64_t first = submit(queue);
    is_u64(wait_for(queue, first).fault, VYRE_FAULT_NOT_PERMITTED, "submitted half, it faults");
    is_u64(wait_for(queue, first + 1).fault, VYRE_FAULT_NOT_PUBLISHED,
           "one that nobody prepared faults too");
    next_slot(queue);
    vyre_queue_close(queue);
    vyre_close(rt);
}

/* The words beside the ring belong to the producer too: a doorbell further ahead than the ring. */
static void wild_words(void)
{
    vyre *rt = open_cpu(2);
    vyre_queue *queue = open_queue(rt, 8, 1), *other = open_queue(rt, 8, 2);
    vyre_error err;
    static const uint32_t wild[] = {9, 1000, 0x7FFFFFFF, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        __atomic_store_n(&queue->bell->tail, wild[i], __ATOMIC_RELEASE);
        __atomic_store_n(&queue->bell->special, wild[i], __ATOMIC_RELEASE);
        for (uint32_t k = 0; k < 50; k++) {
            must(vyre_prep_atomic_add(next_slot(other), WORD(0), 1, &err), &err);
            wait_for(other, submit(other));
        }
    }
    is_u64(observable(rt, 2, 0), 250, "a doorbell from nowhere holds up nobody");
    vyre_completion end;
    size_t count = 7;
    works(vyre_queue_reap(queue, &end, 1, &count, &err), &err, "and ends nothing");
    is_u64(count, 0, "for nothing was taken");
    vyre_queue_close(queue);
    queue = open_queue(rt, 8, 1);
    is_u64(wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome, VYRE_DONE,
           "its queue can be closed, and another one takes its place");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    campaign(seed, VYRE_QUEUE_UNSEALED, false);
    campaign(seed + 1, VYRE_QUEUE_SEALED, false);
    campaign(seed + 2, VYRE_QUEUE_UNSEALED, true);
    campaign(seed + 3, VYRE_QUEUE_SEALED, true);
    half_written();
    wild_words();
    return done();
}
