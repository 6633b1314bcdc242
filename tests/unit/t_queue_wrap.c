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

struct ride {
    vyre *rt;
    vyre_queue *queue;
    uint64_t first;
    uint32_t slots;
    uint64_t state; /* of the random numbers */
    uint64_t wrong;
    uint64_t ended;
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

static void check(struct ride *ride, const vyre_completion *end, uint64_t ticket)
{
    if (end->ticket != ticket || end->outcome != VYRE_DONE || end->result[0] != 77 ||
        end->opcode != VYRE_OP_COMPARE_SWAP)
        ride->wrong++;
    ride->ended++;
}

/* Random batches; one worker and one queue, so ends come in the order of tickets. */
static void travel(struct ride *ride, uint64_t length)
{
    uint64_t sent = 0, received = 0;
    vyre_completion ends[64];
    vyre_error err;
    while (received < sent || sent < length) {
        uint32_t room = ride->slots - (uint32_t)(sent - received);
        uint32_t batch = room && sent < length ? 1 + random_below(&ride->state, room) : 0;
        for (uint32_t i = 0; i < batch; i++)
            prepare(ride, sent + i);
        uint64_t ticket = submit(ride->queue);
        if (ticket != ride->first + sent) ride->wrong++;
        sent += batch;
        if (sent - received == ride->slots && vyre_queue_slot(ride->queue) != NULL) ride->wrong++;
        if (random_below(&ride->state, 3) == 0) {
            vyre_completion end = wait_for(ride->queue, ride->first + received);
            check(ride, &end, ride->first + received++);
            continue;
        }
        uint32_t most = 1 + random_below(&ride->state, 64);
        size_t count = 0;
        must(vyre_queue_reap_wait(ride->queue, ends, 1, most, PATIENCE_NS, &count, &err), &err);
        for (size_t i = 0; i < count; i++)
            check(ride, &ends[i], ride->first + received++);
    }
}

/* Tickets before the first and after the last are nobody's, and those between have ended. */
static void outside(struct ride *ride, uint64_t length)
{
    vyre_completion end;
    if (vyre_wait(ride->queue, ride->first - 1, 0, &end, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
    if (vyre_wait(ride->queue, ride->first + length, 0, &end, NULL) != VYRE_E_NOT_FOUND)
        ride->wrong++;
    if (vyre_cancel(ride->queue, ride->first - 1, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
    if (vyre_cancel(ride->queue, ride->first + length, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
    if (vyre_cancel(ride->queue, ride->first, NULL) != VYRE_E_NOT_FOUND) ride->wrong++;
}

int main(int argc, char **argv)
{
    static const uint32_t slots[] = {1, 2, 256};
    uint64_t seed = tap_seed(argc, argv);
    vyre *rt = open_cpu(1);
    vyre_error err;
    must(vyre_prep_store_u32(next_slot(vyre_queue_default(rt)), WORD(1), 77, &err), &err);
    wait_for(vyre_queue_default(rt), submit(vyre_queue_default(rt)));

    for (size_t s = 0; s < sizeof starts / sizeof starts[0]; s++)
        for (size_t n = 0; n < 3; n++)
            for (uint32_t flags = 1; flags <= 2; flags++) {
                struct ride ride = {
                    .rt = rt, .first = starts[s], .slots = slots[n], .state = seed++};
                ride.queue = open_at(rt, slots[n], flags, starts[s]);
                uint64_t length = slots[n] == 256 ? 900 : 40;
                travel(&ride, length);
                outside(&ride, ride.ended);
                ok(ride.wrong == 0 && ride.ended >= length, "%u slots from 0x%llx, %s", slots[n],
                   (unsigned long long)starts[s], flags == 1 ? "sealed" : "not sealed");
                vyre_queue_close(ride.queue);
            }
    vyre_close(rt);
    return done();
}
