/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sealed queues: a slot whose words do not fit its seal is read again, faults after the stated
 * number of polls, and neither its neighbours nor other queues are held up meanwhile.
 */
#include "support.h"

enum { GATE = 100 };

static vyre_queue *open_sealed(vyre *rt, uint32_t slots, uint64_t first)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;
    options.slots = slots;
    options.flags = VYRE_QUEUE_SEALED;
    options.first_ticket = first;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    return queue;
}

static void flip(vyre_slot *slot, uint32_t word)
{
    __atomic_fetch_xor(&slot->word[word], 0x10u, __ATOMIC_RELAXED);
}

/* With the only worker held nothing is read before the scribbling is over. */
static void each_word(void)
{
    struct gate gate = {0};
    vyre_options options = cpu_options(1);
    options.seal_polls = 3;
    vyre *rt = open_with(&options);
    vyre_queue *sealed = open_sealed(rt, 64, (1ull << 32) - 20);
    vyre_error err;
    vyre_slot *slots[48];
    register_op(rt, GATE, gate_run, &gate);
    hold_worker(vyre_queue_default(rt), GATE, &gate);
    /* Every third slot has one word changed, each word in its turn. */
    for (uint32_t i = 0; i < 48; i++) {
        slots[i] = next_slot(sealed);
        must(vyre_prep_atomic_add(slots[i], WORD(1), 1, &err), &err);
    }
    uint64_t first = submit(sealed);
    for (uint32_t i = 0; i < 48; i += 3)
        flip(slots[i], i / 3);
    atomic_store(&gate.open, 1);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 48; i++) {
        vyre_completion end = wait_for(sealed, first + i);
        wrong += i % 3 ? end.outcome != VYRE_DONE
                       : end.outcome != VYRE_FAULTED || end.fault != VYRE_FAULT_SEAL;
    }
    is_u64(wrong, 0, "a change of any word is a SEAL fault of that slot alone");
    is_u64(observable(rt, 0, 1), 32, "the others ran");
    vyre_close(rt);
}

/* What was right on an earlier lap is not right on this one. */
static void old_laps(void)
{
    struct gate gate = {0};
    vyre_options options = cpu_options(1);
    options.seal_polls = 1;
    vyre *rt = open_with(&options);
    vyre_queue *sealed = open_sealed(rt, 1, 0);
    vyre_error err;
    vyre_slot *slot = next_slot(sealed), copy;
    register_op(rt, GATE, gate_run, &gate);
    must(vyre_prep_atomic_add(slot, WORD(1), 1, &err), &err);
    wait_for(sealed, submit(sealed));
    memcpy(&copy, slot, sizeof copy);
    hold_worker(vyre_queue_default(rt), GATE, &gate);
    slot = next_slot(sealed);
    must(vyre_prep_atomic_add(slot, WORD(1), 1, &err), &err);
    uint64_t ticket = submit(sealed);
    for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
        __atomic_store_n(&slot->word[w], copy.word[w], __ATOMIC_RELAXED);
    atomic_store(&gate.open, 1);
    is_u64(wait_for(sealed, ticket).fault, VYRE_FAULT_SEAL, "the whole slot of the lap before");
    is_u64(observable(rt, 0, 1), 1, "does not run again");
    vyre_close(rt);
}

/* With polls without end the slot stays, until its words are whole. */
static void read_again(void)
{
    struct gate gate = {0};
    vyre_options options = cpu_options(2);
    options.seal_polls = VYRE_DEFAULT - 1;
    vyre *rt = open_with(&options);
    vyre_queue *sealed = open_sealed(rt, 8, 0), *other = open_queue(rt, 8, 0);
    vyre_error err;
    vyre_completion end;
    register_op(rt, GATE, gate_run, &gate);
    uint64_t held[2] = {hold_worker(other, GATE, &gate), hold_worker(other, GATE, &gate)};
    vyre_slot *slot = next_slot(sealed);
    must(vyre_prep_store_u32(slot, WORD(1), 5, &err), &err);
    must(vyre_prep_store_u32(next_slot(sealed), WORD(2), 6, &err), &err);
    uint64_t torn = submit(sealed);
    flip(slot, VYRE_SLOT_ARG0);
    atomic_store(&gate.open, 1);
    wait_for(other, held[0]);
    wait_for(other, held[1]);
    for (uint32_t i = 0; i < 200; i++)
        wait_for(other, submit_op(other, VYRE_OP_NOP, NULL, 0));
    refused(vyre_wait(sealed, torn, 0, &end, &err), VYRE_E_TIMEOUT, &err, "it is read on and on");
    refused(vyre_wait(sealed, torn + 1, 0, &end, &err), VYRE_E_TIMEOUT, &err,
            "the slot behind it waits");
    flip(slot, VYRE_SLOT_ARG0);
    ok(wait_for(sealed, torn).outcome == VYRE_DONE &&
           wait_for(sealed, torn + 1).outcome == VYRE_DONE,
       "once it is whole both are done");
    ok(observable(rt, 0, 1) == 5 && observable(rt, 0, 2) == 6, "with their words");

    /* One that never becomes whole does not hold up a stop. */
    slot = next_slot(sealed);
    must(vyre_prep_store_u32(slot, WORD(1), 7, &err), &err);
    gate.open = 0;
    held[0] = hold_worker(other, GATE, &gate);
    held[1] = hold_worker(other, GATE, &gate);
    torn = submit(sealed);
    flip(slot, VYRE_SLOT_ARG0);
    atomic_store(&gate.open, 1);
    works(vyre_stop(rt, &err), &err, "stop with a torn slot in front");
    end = wait_for(sealed, torn);
    ok(end.outcome == VYRE_CANCELLED && end.fault == VYRE_FAULT_STOPPED &&
           observable(rt, 0, 1) == 5,
       "it ends as stopped, without effect");
    is_u64(vyre_queue_outstanding(sealed), 0, "and nothing is outstanding");
    vyre_close(rt);
}

/* A seal is of the words that are submitted, however they came about. */
static void filled_anew(void)
{
    vyre_options options = cpu_options(1);
    options.seal_polls = 1;
    vyre *rt = open_with(&options);
    vyre_queue *sealed = open_sealed(rt, 8, 0);
    vyre_error err;
    for (uint32_t lap = 0; lap < 3; lap++) {
        vyre_slot *slot = next_slot(sealed), own;
        must(vyre_prep_store_u32(slot, WORD(1), 5, &err), &err);
        must(vyre_prep_store_u32(slot, WORD(2), 6, &err), &err);
        is_u64(wait_for(sealed, submit(sealed)).outcome, VYRE_DONE, "a slot filled twice");
        slot = next_slot(sealed);
        refused(vyre_prep_store_u32(slot, 1, 5, &err), VYRE_E_RANGE, &err, "a wrong word");
        must(vyre_prep_atomic_add(slot, WORD(3), 1, &err), &err);
        must(vyre_slot_priority(slot, VYRE_PRIORITY_HIGH, &err), &err);
        is_u64(wait_for(sealed, submit(sealed)).outcome, VYRE_DONE, "one with a priority");
        memset(&own, 0xA5, sizeof own);
        must(vyre_prep_atomic_add(&own, WORD(3), 1, &err), &err);
        memcpy(next_slot(sealed), &own, sizeof own);
        is_u64(wait_for(sealed, submit(sealed)).outcome, VYRE_DONE, "one prepared elsewhere");
        slot = next_slot(sealed);
        must(vyre_prep_atomic_add(slot, WORD(3), 100, &err), &err);
        slot->word[VYRE_SLOT_ARG0] = 1;
        slot->word[VYRE_SLOT_TENANT] = 0;
        is_u64(wait_for(sealed, submit(sealed)).outcome, VYRE_DONE, "one changed by hand");
        next_slot(sealed);
        is_u64(wait_for(sealed, submit(sealed)).fault, VYRE_FAULT_NOT_PUBLISHED, "one not filled");
        slot = next_slot(sealed);
        must(vyre_prep_atomic_add(slot, WORD(3), 1, &err), &err);
        slot->word[VYRE_SLOT_ARG0] = 100;
        is_u64(wait_for(sealed, submit(sealed)).fault, VYRE_FAULT_SEAL, "one that hides a change");
    }
    ok(observable(rt, 0, 1) == 0 && observable(rt, 0, 2) == 6 && observable(rt, 0, 3) == 9,
       "what was submitted ran, and nothing else");
    vyre_close(rt);
}

int main(void)
{
    filled_anew();
    each_word();
    old_laps();
    read_again();
    return done();
}
