/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Queues and threads: many threads with queues of their own at once, and one queue with a thread
 * that submits and another that reaps.
 */
#include "support.h"

enum { THREADS = 6, ROUNDS = 150, PAIR_SLOTS = 30000 };

struct owner {
    vyre *rt;
    uint32_t number;
    uint64_t state;
    uint32_t wrong;
    uint32_t added;
};

/* One round: a queue of a random size, filled and drained a few times, sometimes closed full. */
static void one_round(struct owner *owner)
{
    uint32_t slots = 1u << random_below(&owner->state, 6);
    vyre_queue *queue = open_queue(owner->rt, slots, owner->number % 3);
    vyre_error err;
    uint64_t next = 0;
    uint32_t unreaped = random_below(&owner->state, 4) == 0;
    for (uint32_t lap = 0; lap < 3; lap++) {
        uint32_t batch = 1 + random_below(&owner->state, slots);
        for (uint32_t i = 0; i < batch; i++)
            must(vyre_prep_atomic_add(next_slot(queue), WORD(owner->number), 1, &err), &err);
        owner->wrong += submit(queue) != next;
        next += batch;
        owner->added += batch;
        if (unreaped) break;
        for (uint32_t i = 0; i < batch; i++) {
            vyre_completion end = wait_for(queue, next - 1 - i);
            owner->wrong += end.ticket != next - 1 - i || end.outcome != VYRE_DONE;
        }
    }
    vyre_queue_close(queue);
}

static void *own_queues(void *argument)
{
    struct owner *owner = argument;
    for (int i = 0; i < ROUNDS; i++)
        one_round(owner);
    return NULL;
}

static void many_threads(uint64_t seed)
{
    vyre *rt = open_cpu(3);
    struct owner owners[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        owners[i] = (struct owner){rt, i, seed + i * 1000, 0, 0};
        if (pthread_create(&threads[i], NULL, own_queues, &owners[i]) != 0) bail("no thread");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
        is_u64(owners[i].wrong, 0, "thread %u: every completion was right", i);
        is_u64(observable(rt, i % 3, i), owners[i].added, "thread %u: every slot ran once", i);
    }
    vyre_close(rt);
}

struct pair {
    vyre_queue *queue;
    uint64_t state;
    uint64_t wrong;
    uint8_t seen[PAIR_SLOTS];
};

static void *reap_all(void *argument)
{
    struct pair *pair = argument;
    uint64_t state = pair->state + 1;
    vyre_completion ends[16];
    vyre_error err;
    for (uint32_t received = 0; received < PAIR_SLOTS;) {
        size_t count = 0;
        uint32_t most = 1 + random_below(&state, 16);
        must(vyre_queue_reap_wait(pair->queue, ends, 1, most, PATIENCE_NS, &count, &err), &err);
        if (count == 0) sched_yield(); /* nothing was outstanding just then */
        for (size_t i = 0; i < count; i++) {
            if (ends[i].ticket >= PAIR_SLOTS || pair->seen[ends[i].ticket]++) pair->wrong++;
            if (ends[i].outcome != VYRE_DONE || ends[i].result[0] != 0) pair->wrong++;
        }
        received += (uint32_t)count;
    }
    return NULL;
}

static void two_threads(uint64_t seed, uint32_t wait_mode, uint32_t flags)
{
    static struct pair pair;
    vyre *rt = open_cpu(1);
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    pthread_t reaper;
    memset(&pair, 0, sizeof pair);
    pair.state = seed;
    options.slots = 64;
    options.wait_mode = wait_mode;
    options.flags = flags;
    must(vyre_queue_open(rt, &options, &pair.queue, &err), &err);
    if (pthread_create(&reaper, NULL, reap_all, &pair) != 0) bail("no thread");
    for (uint32_t sent = 0, prepared = 0; sent < PAIR_SLOTS;) {
        uint32_t batch = 1 + random_below(&seed, 20);
        while (prepared < PAIR_SLOTS && prepared - sent < batch) {
            vyre_slot *slot = vyre_queue_slot(pair.queue);
            if (!slot) break;
            must(vyre_prep_load_u32(slot, WORD(0), 1, &err), &err);
            prepared++;
        }
        if (prepared == sent) sched_yield();
        if (submit(pair.queue) != sent) pair.wrong++;
        sent = prepared;
    }
    pthread_join(reaper, NULL);
    is_u64(pair.wrong, 0, "one submits, one reaps: mode %u, %s", wait_mode,
           flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed");
    is_u64(vyre_queue_outstanding(pair.queue), 0, "all were received");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    many_threads(seed);
    two_threads(seed, VYRE_WAIT_ADAPTIVE, VYRE_QUEUE_UNSEALED);
    two_threads(seed, VYRE_WAIT_BLOCK, VYRE_QUEUE_SEALED);
    two_threads(seed, VYRE_WAIT_SPIN, VYRE_QUEUE_UNSEALED);
    return done();
}
