/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rhythm of a queue: get, prepare, submit, wait, reap; full and empty; timeouts and wait modes;
 * what its options refuse.
 */
#include "support.h"

enum { GATE = 100 };

static void rhythm(vyre *rt)
{
    vyre_queue *queue = open_queue(rt, 8, 0);
    vyre_completion ends[8];
    vyre_error err;
    uint64_t first = 0, ticket = 5;
    size_t count = 0;

    is_u64(vyre_queue_capacity(queue), 8, "capacity");
    works(vyre_queue_submit(queue, &ticket, &err), &err, "submitting nothing is no error");
    is_u64(ticket, 0, "and tells the ticket to come");
    for (uint32_t i = 0; i < 8; i++) {
        vyre_slot *slot = vyre_queue_slot(queue);
        ok(slot != NULL, "slot %u of 8", i);
        must(vyre_prep_atomic_add(slot, WORD(0), 1u << i, &err), &err);
    }
    ok(vyre_queue_slot(queue) == NULL, "the ninth is not there");
    is_u64(vyre_queue_outstanding(queue), 0, "nothing is outstanding before the submit");
    works(vyre_queue_submit(queue, &first, &err), &err, "submit");
    is_u64(first, 0, "the first ticket is 0");
    ok(vyre_queue_slot(queue) == NULL, "submitted is not yet free");
    works(vyre_queue_submit(queue, &ticket, &err), &err, "a second submit has nothing to do");
    is_u64(ticket, 8, "its ticket would be 8");
    works(vyre_queue_reap_wait(queue, ends, 8, 8, PATIENCE_NS, &count, &err), &err, "reap all");
    is_u64(count, 8, "there are eight");
    uint32_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (ends[i].outcome == VYRE_DONE && ends[i].fault == 0 && ends[i].ticket < 8 &&
            ends[i].opcode == VYRE_OP_ATOMIC_ADD && ends[i].flags == 0)
            seen |= 1u << ends[i].ticket;
    is_u64(seen, 0xFF, "each ended once, done");
    is_u64(observable(rt, 0, 0), 0xFF, "each was run once");
    is_u64(vyre_queue_outstanding(queue), 0, "nothing is outstanding");

    for (uint32_t i = 0; i < 5; i++) {
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        is_u64(submit(queue), 8 + i, "tickets follow by one over several submits");
    }
    is_u64(vyre_queue_outstanding(queue), 5, "five are outstanding");
    wait_for(queue, 10);
    is_u64(vyre_queue_outstanding(queue), 4, "one was received");
    for (uint32_t i = 0; i < 4; i++)
        ok(vyre_queue_slot(queue) != NULL, "four of eight are free");
    ok(vyre_queue_slot(queue) == NULL, "and no more");
    vyre_queue_close(queue);
}

/* Worker one is held by the gate, so that the order of ends is known. */
static void order_of_ends(vyre *rt, struct gate *gate)
{
    vyre_queue *queue = open_queue(rt, 16, 0);
    vyre_completion ends[16], completion;
    vyre_error err;
    size_t count = 0;
    atomic_store(&gate->open, 0);
    uint64_t held = hold_worker(queue, GATE, gate);
    for (int i = 0; i < 6; i++)
        must(vyre_prep_nop(next_slot(queue), &err), &err);
    uint64_t first = submit(queue);

    completion = wait_for(queue, first + 3);
    is_u64(completion.ticket, first + 3, "waiting for a later ticket gets it");
    refused(vyre_wait(queue, first + 3, 0, &completion, &err), VYRE_E_NOT_FOUND, &err,
            "a ticket comes once");
    wait_for(queue, first + 5);
    works(vyre_queue_reap(queue, ends, 16, &count, &err), &err, "the others were kept");
    is_u64(count, 4, "four of them");
    ok(ends[0].ticket == first && ends[1].ticket == first + 1 && ends[2].ticket == first + 2 &&
           ends[3].ticket == first + 4,
       "in the order of their ends");

    memset(&completion, 0x5A, sizeof completion);
    refused(vyre_wait(queue, held, 0, &completion, &err), VYRE_E_TIMEOUT, &err, "no time");
    refused(vyre_wait(queue, held, 2000000, &completion, &err), VYRE_E_TIMEOUT, &err, "2 ms");
    is_u64(completion.ticket, 0x5A5A5A5A5A5A5A5Au, "the completion is as before");
    works(vyre_queue_reap(queue, ends, 16, &count, &err), &err, "nothing has ended");
    is_u64(count, 0, "so there is nothing to reap");
    refused(vyre_queue_reap_wait(queue, ends, 1, 16, 1000000, &count, &err), VYRE_E_TIMEOUT, &err,
            "nor in 1 ms");

    must(vyre_prep_nop(next_slot(queue), &err), &err);
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    uint64_t later = submit(queue);
    wait_for(queue, later + 1);
    refused(vyre_queue_reap_wait(queue, ends, 2, 16, 1000000, &count, &err), VYRE_E_TIMEOUT, &err,
            "one of two has ended");
    ok(count == 1 && ends[0].ticket == later, "and was received");
    atomic_store(&gate->open, 1);
    works(vyre_queue_reap_wait(queue, ends, 16, 16, PATIENCE_NS, &count, &err), &err,
          "all that are outstanding, if fewer than asked for");
    ok(count == 1 && ends[0].ticket == held, "the held slot came last");
    works(vyre_queue_reap_wait(queue, ends, 1, 16, PATIENCE_NS, &count, &err), &err,
          "nothing outstanding is nothing to wait for");
    is_u64(count, 0, "none");
    vyre_queue_close(queue);
}

static void unknown_tickets(vyre *rt)
{
    vyre_queue *queue = open_queue(rt, 4, 0);
    vyre_completion completion;
    vyre_error err;
    refused(vyre_wait(queue, 0, 0, &completion, &err), VYRE_E_NOT_FOUND, &err, "not yet submitted");
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    refused(vyre_wait(queue, 0, 0, &completion, &err), VYRE_E_NOT_FOUND, &err, "only prepared");
    wait_for(queue, submit(queue));
    static const uint64_t never[] = {0, 1, 2, 4, 0xFFFFFFFF, 0x100000000, UINT64_MAX};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        refused(vyre_wait(queue, never[i], PATIENCE_NS, &completion, &err), VYRE_E_NOT_FOUND, &err,
                "ticket %llu", (unsigned long long)never[i]);
    vyre_queue_close(queue);
}

static void wait_modes(vyre *rt)
{
    static const char *const names[] = {"spin", "adaptive", "block"};
    vyre_error err;
    vyre_queue *queue = open_queue(rt, 4, 0);
    for (uint32_t mode = 0; mode < 3; mode++) {
        works(vyre_queue_set_wait_mode(queue, mode, &err), &err, "wait mode %s", names[mode]);
        uint32_t done_slots = 0;
        for (int i = 0; i < 200; i++) {
            if (i % 50 == 0) usleep(3000); /* the workers fall asleep now and then */
            must(vyre_prep_nop(next_slot(queue), &err), &err);
            done_slots += wait_for(queue, submit(queue)).outcome == VYRE_DONE;
        }
        is_u64(done_slots, 200, "%s: each wait ends", names[mode]);
    }
    refused(vyre_queue_set_wait_mode(queue, 3, &err), VYRE_E_RANGE, &err, "no such mode");
    refused(vyre_queue_set_wait_mode(NULL, 0, &err), VYRE_E_NULL, &err, "no queue");
    vyre_queue_close(queue);
}

static void capacities(vyre *rt)
{
    static const uint32_t slots[] = {1, 2, 4096, 65536};
    vyre_error err;
    for (size_t i = 0; i < 4; i++) {
        vyre_queue *queue = open_queue(rt, slots[i], 0);
        uint64_t ended = 0, sum = 0, expected = 0;
        for (int lap = 0; lap < 3; lap++) {
            uint32_t got = 0;
            vyre_slot *slot;
            while ((slot = vyre_queue_slot(queue)) != NULL) {
                must(vyre_prep_nop(slot, &err), &err);
                got++;
            }
            if (got != slots[i]) ok(0, "%u slots: got %u", slots[i], got);
            uint64_t first = submit(queue);
            for (uint32_t k = 0; k < got; k++) {
                vyre_completion end;
                size_t count = 0;
                must(vyre_queue_reap_wait(queue, &end, 1, 1, PATIENCE_NS, &count, &err), &err);
                ended += count;
                sum += end.ticket;
                expected += first + k;
            }
        }
        ok(ended == 3ull * slots[i] && sum == expected, "%u slots, three laps, each full",
           slots[i]);
        vyre_queue_close(queue);
    }
}

/* Slots in one piece: as many as there is room for up to the end of the ring. */
static void several_slots(vyre *rt)
{
    vyre_queue *queue = open_queue(rt, 8, 0);
    vyre_completion end[8];
    vyre_error err;
    uint32_t count = 77;
    size_t got = 0;
    ok(!vyre_queue_slots(NULL, 1, &count) && count == 0, "no queue: no slots");
    ok(!vyre_queue_slots(queue, 1, NULL), "no count: no slots");
    ok(!vyre_queue_slots(queue, 0, &count) && count == 0, "none wanted: none given");
    vyre_slot *first = vyre_queue_slots(queue, 3, &count);
    is_u64(count, 3, "as many as wanted");
    vyre_slot *next = vyre_queue_slots(queue, 100, &count);
    ok(next == first + 3 && count == 5, "the rest of the ring, one after the other");
    ok(!vyre_queue_slots(queue, 1, &count) && count == 0 && !vyre_queue_slot(queue), "then full");
    for (uint32_t i = 0; i < 8; i++)
        must(vyre_prep_atomic_add(&first[i], WORD(40), 1, &err), &err);
    submit(queue);
    must(vyre_queue_reap_wait(queue, end, 6, 6, PATIENCE_NS, &got, &err), &err);
    ok(vyre_queue_slot(queue) == first, "the ring from its beginning");
    ok(vyre_queue_slots(queue, 100, &count) == first + 1 && count == 5,
       "not more than were received");
    for (uint32_t i = 0; i < 6; i++)
        must(vyre_prep_atomic_add(&first[i], WORD(40), 1, &err), &err);
    submit(queue);
    must(vyre_queue_reap_wait(queue, end, 8, 8, PATIENCE_NS, &got, &err), &err);
    ok(vyre_queue_slots(queue, 8, &count) == first + 6 && count == 2, "up to the end of the ring");
    must(vyre_prep_nop(&first[6], &err), &err);
    must(vyre_prep_nop(&first[7], &err), &err);
    submit(queue);
    must(vyre_queue_reap_wait(queue, end, 2, 8, PATIENCE_NS, &got, &err), &err);
    is_u64(observable(rt, 0, 40), 14, "every one ran once");
    vyre_queue_close(queue);
}

int main(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(2);
    rhythm(rt);
    if (!test_hosted()) { /* a gate is a C function */
        register_op(rt, GATE, gate_run, &gate);
        order_of_ends(rt, &gate);
    }
    unknown_tickets(rt);
    wait_modes(rt);
    capacities(rt);
    several_slots(rt);
    vyre_close(rt);
    return done();
}
