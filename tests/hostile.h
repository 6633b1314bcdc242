/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A producer that means harm, and a tenant beside it, for the tests that let the one loose on the
 * other. The attacker fills slots with random words, submits them, goes on writing over them, and
 * counts what is strange about their ends; the bystander adds in a thread of its own and counts
 * what is wrong with its sums. What a test makes of it, and whose buffers are in reach, is its own.
 */
#ifndef VYRE_TESTS_HOSTILE_H
#define VYRE_TESTS_HOSTILE_H

#include "support.h"

/* The tenant beside. */
struct bystander {
    vyre_queue *queue;
    uint32_t wrong;
    vyre_completion first_wrong;
    _Atomic uint32_t stop, ran;
};

#define BYSTANDER_WORD 7u /* of its observable words, the one that it adds to */

/* Adds in batches until it is told to stop; a thread. Slots have no order among themselves: each of
 * a batch finds one of the sums that the batch goes through, no two the same. */
TAP_UNUSED static void *bystander_live(void *argument)
{
    struct bystander *self = argument;
    bool rest = getenv("VYRE_CUDA_FINITE") != NULL; /* else the kernel would never leave */
    vyre_error err;
    for (uint32_t base = 0; !atomic_load(&self->stop); base += 8 * 3) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < 8; i++)
            must(vyre_prep_atomic_add(next_slot(self->queue), WORD(BYSTANDER_WORD), 3, &err), &err);
        uint64_t first = submit(self->queue);
        for (uint32_t i = 0; i < 8; i++) {
            vyre_completion end = wait_for(self->queue, first + i);
            uint32_t sum = end.result[0] - base;
            if (end.outcome == VYRE_DONE && sum % 3 == 0 && sum < 24)
                found |= 1u << sum / 3;
            else if (self->wrong++ == 0)
                self->first_wrong = end;
        }
        self->wrong += found != 0xFF;
        atomic_fetch_add(&self->ran, 8);
        if (rest) nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return NULL;
}

/* The attacker.
 * ------------------------------------------------------------------------------------------- */

#define ATTACKER_SLOTS_MOST 1024u

/* The first members say what it does; the test sets them. */
struct attacker {
    vyre_queue *queue;
    uint32_t slots;          /* of the queue */
    uint64_t state;          /* of the random numbers */
    const uint32_t *opcodes; /* those that it tries most */
    uint32_t opcode_count;
    const uint32_t *handles; /* its own, foreign ones, stale ones */
    uint32_t handle_count;
    uint32_t handle_args;               /* so many first arguments are handles more often */
    uint32_t rewritten;                 /* percent of a batch: written over after the doorbell */
    bool (*fault_fits)(uint32_t fault); /* whether a slot may end with this fault */
    void (*shape)(struct attacker *a, vyre_slot *slot); /* makes more of some slots, or NULL */

    uint64_t accepted, ended, strange;
    uint64_t outcomes[5];
    uint8_t outstanding[65536];
};

/* One word: rubbish, or something that is nearly right. */
TAP_UNUSED static uint32_t attacker_word(struct attacker *a, uint32_t place)
{
    uint64_t random = random_next(&a->state);
    uint32_t kind = (uint32_t)random % 16, value = (uint32_t)(random >> 32);
    /* A slot that does not fit its seal is read many times, and holds up those behind it. */
    if (place == VYRE_SLOT_TENANT) return value % 512 == 0 ? (uint32_t)random : 0;
    if (kind == 0) return value;
    if (place == VYRE_SLOT_STATUS) return kind < 14 ? 1u : value % 9;
    if (place == VYRE_SLOT_OPCODE) return a->opcodes[value % a->opcode_count];
    if (place == VYRE_SLOT_PRIORITY) return value % (kind < 14 ? 5 : 8);
    if (kind < (place < VYRE_SLOT_ARG0 + a->handle_args ? 9u : 6u))
        return a->handles[value % a->handle_count];
    if (kind < 10) return WORD(value % 300) - 20;
    return value % (kind < 13 ? 16 : 1000);
}

TAP_UNUSED static void attacker_scribble(struct attacker *a, vyre_slot *slot)
{
    for (uint32_t w = 0; w < VYRE_SLOT_WORDS; w++)
        __atomic_store_n(&slot->word[w], attacker_word(a, w), __ATOMIC_RELAXED);
}

TAP_UNUSED static void attacker_receive(struct attacker *a, size_t least)
{
    static vyre_completion ends[ATTACKER_SLOTS_MOST];
    vyre_error err;
    size_t count = 0;
    must(vyre_queue_reap_wait(a->queue, ends, least, a->slots, PATIENCE_NS, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        uint8_t *mark = &a->outstanding[ends[i].ticket % sizeof a->outstanding];
        bool final = ends[i].outcome == VYRE_DONE || ends[i].outcome == VYRE_FAULTED;
        bool sane = (ends[i].outcome == VYRE_DONE) == (ends[i].fault == VYRE_FAULT_NONE) &&
                    a->fault_fits(ends[i].fault);
        a->strange += *mark != 1 || !final || !sane;
        *mark = 0;
        if (ends[i].outcome < 5) a->outcomes[ends[i].outcome]++;
    }
    a->ended += count;
}

/* Fills and submits until so many slots were accepted, and receives all their ends. */
TAP_UNUSED static void attacker_attack(struct attacker *a, uint64_t slots)
{
    static vyre_slot *got[ATTACKER_SLOTS_MOST];
    while (a->accepted < slots) {
        uint32_t count = 0, want = 1 + random_below(&a->state, a->slots);
        while (count < want && (got[count] = vyre_queue_slot(a->queue)) != NULL) {
            attacker_scribble(a, got[count]);
            if (a->shape) a->shape(a, got[count]);
            count++;
        }
        uint64_t first = submit(a->queue);
        for (uint32_t i = 0; i < count; i++)
            a->strange += a->outstanding[(first + i) % sizeof a->outstanding]++ != 0;
        a->accepted += count;
        for (uint32_t i = 0; i < count * a->rewritten / 100; i++)
            attacker_scribble(a, got[random_below(&a->state, count)]);
        attacker_receive(a, count == 0 ? 1 : random_below(&a->state, 2) ? count / 2 : 0);
    }
    while (a->ended != a->accepted)
        attacker_receive(a, 1);
}

#endif
