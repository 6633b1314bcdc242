/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A producer that means harm: random words in every field of hundreds of thousands of slots, slots
 * scribbled over after the doorbell, slots got and never submitted. Each of its accepted slots
 * ends; the tenant beside it gets right results all the while and keeps its memory.
 */
#include "support.h"

#include "runtime/internal.h"

enum { PROBE = 20, SLOTS = 64, BUFFERS = 4, GUARD = 0x6A };

static const uint32_t rounds = UNDER_TSAN ? 600 : 6000;

/* The tenant beside: its queue in a thread of its own, its buffers known to the attacker. */
struct victim {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *buffers[BUFFERS];
    _Atomic uint32_t stop, ran;
    uint32_t wrong;
};

/* Adds in batches. Slots have no order among themselves: each of a batch finds one of the sums that
 * the batch goes through, no two the same. */
static void *live_on(void *argument)
{
    struct victim *victim = argument;
    vyre_error err;
    for (uint32_t base = 0; !atomic_load(&victim->stop); base += 8 * 3) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < 8; i++)
            must(vyre_prep_atomic_add(next_slot(victim->queue), WORD(7), 3, &err), &err);
        uint64_t first = submit(victim->queue);
        for (uint32_t i = 0; i < 8; i++) {
            vyre_completion end = wait_for(victim->queue, first + i);
            uint32_t sum = end.result[0] - base;
            victim->wrong += end.outcome != VYRE_DONE || sum % 3 != 0 || sum >= 24;
            found |= 1u << (sum / 3 & 31);
        }
        victim->wrong += found != 0xFF;
        atomic_fetch_add(&victim->ran, 8);
    }
    return NULL;
}

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

struct attacker {
    vyre *rt;
    vyre_queue *queue;
    uint64_t state;
    uint32_t handles[2 * BUFFERS + 2];
    uint32_t accepted, ended, strange;
    uint8_t outstanding[65536];
    uint32_t outcomes[5];
};

/* One word: rubbish, or something that is nearly right. */
static uint32_t any_word(struct attacker *a, uint32_t place)
{
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
                                       VYRE_OP_PRINTF,
                                       VYRE_OP_PACKED_SLOT,
                                       VYRE_OP_SHUTDOWN,
                                       0x100,
                                       0x101,
                                       0x103};
    uint32_t kind = random_below(&a->state, 16);
    if (kind == 0) return (uint32_t)random_next(&a->state);
    if (place == VYRE_SLOT_STATUS) return kind < 14 ? 1u : random_below(&a->state, 9);
    if (place == VYRE_SLOT_TENANT && kind < 15) return 0; /* else hardly one would pass its seal */
    if (place == VYRE_SLOT_OPCODE) return opcodes[random_below(&a->state, 18)];
    if (place == VYRE_SLOT_PRIORITY) return random_below(&a->state, kind < 14 ? 5 : 8);
    if (kind < (place <= VYRE_SLOT_ARG0 + 1 ? 9u : 6u))
        return a->handles[random_below(&a->state, 2 * BUFFERS + 2)];
    if (kind < 10) return WORD(random_below(&a->state, 300)) - 20;
    return random_below(&a->state, kind < 13 ? 16 : 1000);
}

static void scribble(struct attacker *a, vyre_slot *slot)
{
    for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
        __atomic_store_n(&slot->word[w], any_word(a, w), __ATOMIC_RELAXED);
}

static void receive(struct attacker *a, size_t least)
{
    vyre_completion ends[SLOTS];
    vyre_error err;
    size_t count = 0;
    must(vyre_queue_reap_wait(a->queue, ends, least, SLOTS, PATIENCE_NS, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        uint8_t *mark = &a->outstanding[ends[i].ticket % sizeof a->outstanding];
        bool final = ends[i].outcome == VYRE_DONE || ends[i].outcome == VYRE_FAULTED;
        bool sane = (ends[i].outcome == VYRE_DONE) == (ends[i].fault == VYRE_FAULT_NONE) &&
                    ends[i].fault <= VYRE_FAULT_OPERATION;
        a->strange += *mark != 1 || !final || !sane;
        *mark = 0;
        if (ends[i].outcome < 5) a->outcomes[ends[i].outcome]++;
    }
    a->ended += (uint32_t)count;
}

/* Fills, submits, and goes on scribbling over what it submitted. */
static void attack(struct attacker *a, bool after_doorbell)
{
    vyre_slot *slots[SLOTS];
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t got = 0, want = 1 + random_below(&a->state, SLOTS);
        while (got < want && (slots[got] = vyre_queue_slot(a->queue)) != NULL)
            scribble(a, slots[got++]);
        uint64_t first = submit(a->queue);
        for (uint32_t i = 0; i < got; i++)
            a->strange += a->outstanding[(first + i) % sizeof a->outstanding]++ != 0;
        a->accepted += got;
        for (uint32_t i = 0; after_doorbell && i < got; i++)
            scribble(a, slots[random_below(&a->state, got)]);
        receive(a, got == 0 ? 1 : random_below(&a->state, 2) ? got / 2 : 0);
    }
    receive(a, a->accepted - a->ended < SLOTS ? a->accepted - a->ended : SLOTS);
}

static void make_buffers(vyre *rt, struct victim *victim, struct attacker *a, vyre_buffer **own)
{
    unsigned char guard[500];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    memset(guard, GUARD, sizeof guard);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        how.tenant = 2;
        must(vyre_buffer_create_with(rt, sizeof guard, &how, &victim->buffers[i], &err), &err);
        must(vyre_buffer_write(victim->buffers[i], 0, guard, sizeof guard, &err), &err);
        how.tenant = 1;
        must(vyre_buffer_create_with(rt, 777, &how, &own[i], &err), &err);
        a->handles[i] = vyre_buffer_handle(victim->buffers[i]);
        a->handles[BUFFERS + i] = vyre_buffer_handle(own[i]);
    }
    a->handles[2 * BUFFERS] = a->handles[0] + 0x10000;
    a->handles[2 * BUFFERS + 1] = a->handles[0] | 0xFFFF;
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
    struct victim victim = {.rt = NULL};
    struct probe probe = {0};
    vyre_buffer *own[BUFFERS];
    vyre_options runtime_options = cpu_options(2);
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    pthread_t thread;
    runtime_options.seal_polls = 20;
    vyre *rt = victim.rt = open_with(&runtime_options);
    memset(&a, 0, sizeof a);
    a.rt = rt;
    a.state = seed;
    options.slots = SLOTS;
    options.tenant = 1;
    options.flags = flags;
    must(vyre_queue_open(rt, &options, &a.queue, &err), &err);
    victim.queue = open_queue(rt, 16, 2);
    make_buffers(rt, &victim, &a, own);
    register_probe(rt, &probe);
    if (pthread_create(&thread, NULL, live_on, &victim) != 0) bail("no thread");
    if (!reaches(&victim.ran, 1)) bail("the victim never lived");
    uint32_t before = victim.ran;
    attack(&a, after_doorbell);
    bool alive = reaches(&victim.ran, before + 16);
    atomic_store(&victim.stop, 1);
    pthread_join(thread, NULL);
    note("%u slots: %u done, %u faulted, %u probes ran; the victim ran %u", a.accepted,
         a.outcomes[1], a.outcomes[2], probe.runs, victim.ran);
    is_u64(a.ended, a.accepted, "%s%s: every accepted slot ended",
           flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed",
           after_doorbell ? ", scribbled after the doorbell" : "");
    is_u64(a.strange, 0, "once, done or faulted with a code");
    ok(alive, "the other tenant lives on");
    is_u64(victim.wrong, 0, "its results were right");
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
