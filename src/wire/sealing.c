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
VYRE_SEEN_UNFINISHED static void seal_rest(const struct vyre_sealing *sealing)
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

/* What the heads of slots have, all together. */
struct heads {
    vyre_four_words any;
    four_answers blank; /* whether one of them is 0 */
};

/* Turns the seals of slots that lie one after the other. */
VYRE_SEEN_UNFINISHED static void turn(vyre_slot *slot, const vyre_slot *end, struct heads *heads)
{
    const vyre_four_words none = {0, 0, 0, 0};
    vyre_four_words any = heads->any;
    four_answers blank = heads->blank;
    for (; slot != end; slot++) {
        vyre_four_words head = *(const vyre_four_words *)(const void *)slot->word;
        any |= head;
        blank |= head == none;
        slot->word[VYRE_SLOT_TENANT] = ~slot->word[VYRE_SLOT_TENANT];
    }
    heads->any = any;
    heads->blank = blank;
}

int vyre_sealing_finish(const struct vyre_sealing *sealing)
{
    uint32_t slots = 1u << sealing->log2_slots, first = (uint32_t)sealing->first & (slots - 1);
    uint32_t count = (uint32_t)(sealing->end - sealing->first);
    uint32_t straight = count < slots - first ? count : slots - first;
    struct heads heads = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    turn(sealing->ring + first, sealing->ring + first + straight, &heads);
    turn(sealing->ring, sealing->ring + (count - straight), &heads);
    /* Bits that are in none of the words are in no single one. */
    if (heads.any[VYRE_SLOT_PRIORITY] > VYRE_PRIORITY_IDLE || heads.blank[VYRE_SLOT_TENANT] != 0)
        seal_rest(sealing);
    return heads.any[VYRE_SLOT_OPCODE] > VYRE_OP_COMPARE_SWAP ||
           heads.any[VYRE_SLOT_PRIORITY] > VYRE_PRIORITY_NORMAL;
}
