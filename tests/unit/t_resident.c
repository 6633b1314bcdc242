/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The poller of a resident kernel in the corners: queues that come and go under its look, workers
 * that are all busy, fences that are run again, operations on queue 0 that never end, and a storm
 * of all of it over rings of one to eight slots, parked and launched again. Takes a seed.
 */
#include "resident_rig.h"

/* Random numbers: splitmix64. */
static uint64_t random_below(uint64_t *state, uint64_t limit)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % limit;
}

/* The producer of plain slots goes on while every worker is at something long, and more of that
 * waits. */
static void test_all_busy(void)
{
    struct rig rig;
    rig_open(&rig, 2, 0);
    struct ring *slow = rig_queue(&rig, 1, 8, 0), *plain = rig_queue(&rig, 2, 4, 0);
    uint64_t until = dev_clock_ns() + RIG_PATIENCE;
    uint32_t put = 0;
    __atomic_store_n(&rig.hold, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < 4; i++)
        ring_put(slow, RIG_HOLD, VYRE_PRIORITY_IDLE);
    ring_bell(slow);
    while (put < 64 && dev_clock_ns() < until) {
        ring_reap(plain);
        if (!ring_room(plain)) continue;
        ring_put(plain, VYRE_OP_NOP, VYRE_PRIORITY_NORMAL);
        ring_bell(plain);
        put++;
    }
    is_u64(put, 64, "places become free while all workers are busy");
    __atomic_store_n(&rig.hold, 0, __ATOMIC_RELEASE);
    ok(ring_drain(slow) && ring_drain(plain), "all ends");
    ok(rig_stop(&rig), "it stops");
    rig_free(&rig);
}

/* A drop that waits for a hold that nobody gives back. */
static void test_stop_waiting(void)
{
    struct rig rig;
    uint32_t args[VYRE_SLOT_ARGS] = {1u << 16};
    rig_open(&rig, 1, 0);
    struct ring *ring = rig_queue(&rig, 1, 4, 0);
    rig.rt.handles[0].refs = 1;
    rig_post(&rig, DEV_SYS_DROP, args);
    ring_put(ring, VYRE_OP_NOP, VYRE_PRIORITY_NORMAL);
    ring_bell(ring);
    ok(ring_drain(ring), "a drop that waits holds up nobody");
    if (!ok(rig_stop(&rig), "nor does it hold up a stop")) bail("the kernel is left behind");
    ok(ring_drain(&rig.ring[0]), "and it ends itself");
    rig_free(&rig);
}

/* Slots of a device that is gone, among them two fences, come back in order. */
static void test_replay(void)
{
    struct rig rig;
    static const uint32_t opcode[5] = {RIG_HOLD, VYRE_OP_BATCH_FENCE, VYRE_OP_BATCH_FENCE,
                                       VYRE_OP_ATOMIC_ADD, VYRE_OP_NOP};
    struct dev_replay replay[5];
    rig_open(&rig, 2, 0);
    struct ring *ring = rig_queue(&rig, 1, 8, 5);
    __atomic_store_n(&rig.hold, 1, __ATOMIC_RELEASE);
    ring->first = 0; /* those before are under way again */
    ring->next_entry = 5;
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t args[VYRE_SLOT_ARGS] = {1, i, 0, (uint32_t)(uintptr_t)&replay[i],
                                         (uint32_t)((uint64_t)(uintptr_t)&replay[i] >> 32)};
        uint32_t of[VYRE_SLOT_ARGS] = {1, VYRE_CONTROL_OBSERVABLE};
        memset(&replay[i], 0, sizeof replay[i]);
        replay[i].params.ticket = UINT64_MAX;
        ring_words(ring, replay[i].slot, opcode[i], VYRE_PRIORITY_NORMAL, of);
        rig_post(&rig, DEV_SYS_REPLAY, args);
    }
    for (uint32_t i = 0; i < 200; i++)
        sched_yield();
    is_u64(ring_reap(ring), 0, "nothing behind the fence ends before what is in front of it");
    __atomic_store_n(&rig.hold, 0, __ATOMIC_RELEASE);
    uint64_t until = dev_clock_ns() + RIG_PATIENCE;
    uint32_t count = 0;
    while (count < 5 && dev_clock_ns() < until)
        count += ring_reap(ring);
    is_u64(count, 5, "every one of them ends");
    ok(rig_stop(&rig), "it stops");
    is_u64(rig.rt.barriers, 0, "no fence is left");
    rig_free(&rig);
}

/* A queue closes, and the last one of the list, behind a fence, gets its place: it must not be
 * taken for the other, whose bell was seen there. */
static void test_close_moves(void)
{
    struct rig rig;
    uint32_t phantom = 0;
    uint32_t one[VYRE_SLOT_ARGS] = {1};
    rig_open(&rig, 3, 0);
    struct ring *last = NULL;
    for (uint32_t round = 0; round < 60 && phantom == 0; round++) {
        uint32_t two[VYRE_SLOT_ARGS] = {2};
        struct ring *first = rig_queue(&rig, 1, 64, 0);
        last = rig_queue(&rig, 2, 64, 0);
        __atomic_store_n(&rig.hold, 1, __ATOMIC_RELEASE);
        ring_put(first, RIG_HOLD, VYRE_PRIORITY_NORMAL);
        for (uint32_t i = 0; i < 10; i++)
            ring_put(first, VYRE_OP_NOP, VYRE_PRIORITY_NORMAL);
        ring_bell(first);
        ring_put(last, RIG_HOLD, VYRE_PRIORITY_NORMAL);
        ring_put(last, VYRE_OP_BATCH_FENCE, VYRE_PRIORITY_NORMAL);
        ring_bell(last);
        rig_post(&rig, DEV_SYS_QUEUE_CLOSE, one);
        nanosleep(&(struct timespec){0, 100000}, NULL); /* close and fence wait for the two */
        __atomic_store_n(&rig.hold, 0, __ATOMIC_RELEASE);
        if (!ring_drain(last)) bail("the fence does not end");
        rig_ask(&rig, DEV_SYS_QUEUE_CLOSE, two);
        ring_reap(first);
        ring_reap(last);
        phantom += last->doubled;
        ring_free(first);
        ring_free(last);
    }
    is_u64(phantom, 0, "nothing ends that was not submitted");
    ok(rig_stop(&rig), "it stops");
    rig_free(&rig);
}

static const uint32_t mix[8] = {VYRE_OP_NOP, VYRE_OP_NOP,    VYRE_OP_ATOMIC_ADD,
                                VYRE_OP_NOP, VYRE_OP_PRINTF, VYRE_OP_BATCH_FENCE,
                                RIG_HOLD,    VYRE_OP_NOP};

/* Some slots for a ring, as far as there is room. */
static void storm_put(struct ring *ring, uint64_t *random)
{
    uint32_t want = (uint32_t)random_below(random, ring->slots) + 1, put = 0;
    int plain = random_below(random, 3) != 0;
    for (; put < want && ring_room(ring); put++) {
        uint32_t args[VYRE_SLOT_ARGS] = {1, VYRE_CONTROL_OBSERVABLE + 1};
        uint32_t opcode = mix[random_below(random, plain ? 4 : 8)];
        uint32_t priority = plain ? VYRE_PRIORITY_NORMAL : (uint32_t)random_below(random, 5);
        ring_put_args(ring, opcode, priority, args);
    }
    if (put) ring_bell(ring);
}

/* One queue closes and opens again, or a slot is cancelled. */
static void storm_change(struct rig *rig, struct ring *ring, uint64_t *random)
{
    uint32_t args[VYRE_SLOT_ARGS] = {ring->number};
    if (random_below(random, 2)) {
        uint64_t ticket = ring->submitted - 1;
        args[1] = (uint32_t)ticket;
        args[2] = (uint32_t)(ticket >> 32);
        rig_ask(rig, DEV_SYS_CANCEL, args);
        return;
    }
    if (!ring_drain(ring)) bail("queue %u does not empty", ring->number);
    if (ring->doubled) bail("queue %u: %u doubled", ring->number, ring->doubled);
    rig_ask(rig, DEV_SYS_QUEUE_CLOSE, args);
    uint32_t number = ring->number, slots = ring->slots;
    ring_free(ring);
    rig_queue(rig, number, slots, UINT32_MAX - 5 + (random_below(random, 2) << 32));
}

static void test_storm(uint64_t seed)
{
    struct rig rig;
    uint64_t random = seed, until = dev_clock_ns() + 1000000000u;
    uint32_t doubled = 0, left = 0;
    rig_open(&rig, 3, 200000);
    for (uint32_t i = 1; i <= 40; i++)
        rig_queue(&rig, i, 1u << i % 4, i % 2 ? UINT64_MAX - 20 : UINT32_MAX - 20);
    while (dev_clock_ns() < until) {
        struct ring *ring = &rig.ring[1 + random_below(&random, 40)];
        storm_put(ring, &random);
        ring_reap(ring);
        if (random_below(&random, 64) == 0) storm_change(&rig, ring, &random);
        if (random_below(&random, 500) == 0)
            nanosleep(&(struct timespec){0, 1000000}, NULL); /* it parks */
    }
    note("%u launches", rig.launch.number);
    ok(rig_stop(&rig), "it stops under load");
    for (uint32_t i = 1; i <= 40; i++) {
        struct ring *ring = &rig.ring[i];
        ring_reap(ring);
        doubled += ring->doubled;
        left += ring_outstanding(ring);
    }
    is_u64(doubled, 0, "no slot ends twice");
    is_u64(left, 0, "and every one does once");
    rig_free(&rig);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : dev_clock_ns() | 1;
    note("seed %llu", (unsigned long long)seed);
    test_all_busy();
    test_stop_waiting();
    test_replay();
    test_close_moves();
    test_storm(seed);
    return done();
}
