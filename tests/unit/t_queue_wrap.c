/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Tickets and ring indices across their wraps: queues of 1, 2 and 256 slots, sealed and not, that
 * begin just before 2^31, 2^32 and 2^64, with deadlines and cancels on the way.
 */
#include "support.h"

static const uint64_t starts[] = {
    0,
    (1ull << 31) - 3,
    (1ull << 32) - 1,
    (1ull << 32) - 2,
    (1ull << 32) - 300,
    (1ull << 39) - 5,
    (1ull << 40) - 257,
    UINT64_MAX,
    UINT64_MAX - 1,
    UINT64_MAX - 299,
};

enum { SLOTS_MOST = 256, LONGEST = 900 };

struct ride {
    vyre_queue *queue;
    uint64_t first;
    uint32_t slots;
    bool ordered;   /* ends come in the order of tickets */
    uint64_t state; /* of the random numbers */
    uint64_t wrong;
    uint64_t sent, received;
    uint64_t oldest;                    /* of those sent, the first that has not ended */
    uint8_t ends[LONGEST + SLOTS_MOST]; /* how often each ended */
};

static vyre_queue *open_at(vyre *rt, uint32_t slots, uint32_t flags, uint64_t first)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;
    options.slots = slots;
    options.flags = flags;
    options.first_ticket = first;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    return queue;
}

/* COMPARE_SWAP of a word that nobody writes: the value found proves that these words were read. */
static void prepare(struct ride *ride, uint64_t number)
{
    vyre_error err;
    vyre_slot *slot = next_slot(ride->queue);
    must(vyre_prep_compare_swap(slot, WORD(1), (uint32_t)number | 0x80000000u, 9, &err), &err);
    if (random_below(&ride->state, 4) == 0)
        must(vyre_slot_deadline(ride->queue, slot, PATIENCE_NS, &err), &err);
    if (random_below(&ride->state, 4) == 0)
        must(vyre_slot_repeatable(ride->queue, slot, &err), &err);
}

static void check(struct ride *ride, const vyre_completion *end)
{
    uint64_t number = end->ticket - ride->first;
    if (end->outcome != VYRE_DONE || end->result[0] != 77 || end->opcode != VYRE_OP_COMPARE_SWAP)
        ride->wrong++;
    if (number >= ride->sent || ride->ends[number]++ != 0) ride->wrong++;
    if (ride->ordered && number != ride->oldest) ride->wrong++;
    while (ride->oldest < ride->sent && ride->ends[ride->oldest] != 0)
        ride->oldest++;
    ride->received++;
}

/* Receives at least one: the oldest by its ticket, or whatever has ended. */
static void receive(struct ride *ride)
{
    vyre_completion ends[64];
    size_t count = 1;
    vyre_error err;
    if (random_below(&ride->state, 3) == 0) {
        ends[0] = wait_for(ride->queue, ride->first + ride->oldest);
    } else {
        uint32_t most = 1 + random_below(&ride->state, 64);
        must(vyre_queue_reap_wait(ride->queue, ends, 1, most, PATIENCE_NS, &count, &err), &err);
    }
    for (size_t i = 0; i < count; i++)
        check(ride, &ends[i]);
}

/* Random batches. */
static void travel(struct ride *ride, uint64_t length)
{
    while (ride->received < ride->sent || ride->sent < length) {
        uint32_t room = ride->slots - (uint32_t)(ride->sent - ride->received);
        uint32_t batch = room && ride->sent < length ? 1 + random_below(&ride->state, room) : 0;
        for (uint32_t i = 0; i < batch; i++)
            prepare(ride, ride->sent + i);
        uint64_t ticket = submit(ride->queue);
        if (ticket != ride->first + ride->sent) ride->wrong++;
        ride->sent += batch;
        if (ride->sent - ride->received == ride->slots && vyre_queue_slot(ride->queue) != NULL)
            ride->wrong++;
        receive(ride);
    }
}

/* Tickets before the first and after the last are nobody's, and those between have ended. */
static void outside(struct ride *ride)
{
    vyre_completion end;
    uint64_t length = ride->received;
    if (vyre_wait(ride->queue, ride->first - 1, 0, &end, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
    if (vyre_wait(ride->queue, ride->first + length, 0, &end, NULL) != VYRE_E_NOT_FOUND)
        ride->wrong++;
    if (vyre_cancel(ride->queue, ride->first - 1, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
    if (vyre_cancel(ride->queue, ride->first + length, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
    if (vyre_cancel(ride->queue, ride->first, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
}

static void one_ride(vyre *rt, struct ride *ride, uint32_t flags)
{
    uint64_t length = ride->slots == SLOTS_MOST ? LONGEST : 40;
    ride->queue = open_at(rt, ride->slots, flags, ride->first);
    travel(ride, length);
    outside(ride);
    if (!ok(ride->wrong == 0 && ride->oldest == ride->sent && ride->sent >= length,
            "%u slots from 0x%llx, %s", ride->slots, (unsigned long long)ride->first,
            flags == VYRE_QUEUE_SEALED ? "sealed" : "not sealed"))
        note("%" PRIu64 " things were wrong; %" PRIu64 " sent, %" PRIu64 " received, all of the "
             "first %" PRIu64,
             ride->wrong, ride->sent, ride->received, ride->oldest);
    vyre_queue_close(ride->queue);
}

int main(int argc, char **argv)
{
    static const uint32_t slots[] = {1, 2, SLOTS_MOST};
    static const uint32_t flags[] = {VYRE_QUEUE_SEALED, VYRE_QUEUE_UNSEALED};
    uint64_t seed = tap_seed(argc, argv);
    vyre_options options = cpu_options(1);
    vyre *rt = open_with(&options);
    /* Slots have no order among themselves. But on the CPU the one worker polls as well, and only
     * when it has nothing to run; on a GPU the poller runs some slots beside the worker. */
    bool ordered = options.backend == VYRE_BACKEND_CPU;
    vyre_error err;
    must(vyre_prep_store_u32(next_slot(vyre_queue_default(rt)), WORD(1), 77, &err), &err);
    wait_for(vyre_queue_default(rt), submit(vyre_queue_default(rt)));

    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++)
        for (size_t n = 0; n < 3; n++)
            for (size_t f = 0; f < 2; f++) {
                struct ride ride = {.first = starts[s], .slots = slots[n], .ordered = ordered};
                ride.state = seed++;
                one_ride(rt, &ride, flags[f]);
            }
    vyre_close(rt);
    return done();
}
