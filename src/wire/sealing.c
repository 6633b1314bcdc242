/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The last step of sealing. Every instruction counts here, because one thread has eight nanoseconds
 * for all it does to a slot if a GPU is to be kept busy. So one pass turns the seals round and only
 * collects what might be wrong; a second one, hardly ever needed, looks closely.
 */
#include "wire/sealing.h"

typedef int32_t four_answers __attribute__((vector_size(16)));

static uint32_t lap_of(const struct vyre_sealing *sealing, uint64_t ticket)
{
    return (uint32_t)(ticket >> sealing->log2_slots) + 1;
}

/* Seals the slots that nobody has: those filled by hand or twice, and those not filled at all. */
static void seal_rest(const struct vyre_sealing *sealing)
{
    uint32_t mask = (1u << sealing->log2_slots) - 1;
    for (uint64_t ticket = sealing->first; ticket != sealing->end; ticket++) {
        uint32_t *word = sealing->ring[(uint32_t)ticket & mask].word;
        if (word[VYRE_SLOT_PRIORITY] == VYRE_SEALING_MARK)
            word[VYRE_SLOT_PRIORITY] = 0;
        else if (word[VYRE_SLOT_TENANT] != ~0u) /* a 0, turned round */
            continue;
        word[VYRE_SLOT_TENANT] = vyre_seal(word, lap_of(sealing, ticket));
    }
}

int vyre_sealing_finish(const struct vyre_sealing *sealing)
{
    uint32_t mask = (1u << sealing->log2_slots) - 1;
    const vyre_four_words none = {0, 0, 0, 0};
    vyre_four_words any = none;
    four_answers blank = {0, 0, 0, 0};
    for (uint64_t ticket = sealing->first; ticket != sealing->end; ticket++) {
        uint32_t *word = sealing->ring[(uint32_t)ticket & mask].word;
        vyre_four_words head = *(const vyre_four_words *)(const void *)word;
        any |= head;
        blank |= head == none;
        word[VYRE_SLOT_TENANT] = ~word[VYRE_SLOT_TENANT];
    }
    /* Bits that are in none of the words are in no single one. */
    if (any[VYRE_SLOT_PRIORITY] > VYRE_PRIORITY_IDLE || blank[VYRE_SLOT_TENANT] != 0)
        seal_rest(sealing);
    return any[VYRE_SLOT_OPCODE] > VYRE_OP_COMPARE_SWAP ||
           any[VYRE_SLOT_PRIORITY] > VYRE_PRIORITY_NORMAL;
}
