/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How slots of a sealed queue get their seals: in three steps, because a seal is cheap while the
 * words are in registers and dear when they are read back.
 *
 * 1. A slot is handed out with its lap in word 2 and a mark in word 3 (vyre_sealing_blank).
 * 2. Whoever fills it finds the mark and leaves in word 2 the seal with all its bits turned round
 *    (vyre_sealing_fill). Without the mark, as in a slot that is filled a second time or does not
 *    lie in a ring, it leaves 0.
 * 3. The submit turns the bits back, and seals what has none (vyre_sealing_finish).
 *
 * So no slot fits its seal before it is submitted: the device looks at slots and bell in one load
 * that nothing orders, and must not find a whole slot that is then filled anew.
 *
 * Called by the submitting thread.
 */
#ifndef VYRE_WIRE_SEALING_H
#define VYRE_WIRE_SEALING_H

#include <stddef.h>

#include "vyre/wire.h"
#include "wire/seal.h"

/* A resident poller may read a slot while it is filled: the seal, or the bell, says whether what it
 * read counts. So these stores race with loads, and the thread sanitizer shall not say so. */
#define VYRE_SEEN_UNFINISHED __attribute__((no_sanitize_thread))

/* No priority. */
#define VYRE_SEALING_MARK 0x5EA1AB1Eu

/* Four words that are stored at once. */
typedef uint32_t vyre_four_words __attribute__((vector_size(16), aligned(4), may_alias));

static const uint64_t vyre_sealing_keys[VYRE_SLOT_ARGS] = {
    VYRE_SEAL_KEY_4,  VYRE_SEAL_KEY_5,  VYRE_SEAL_KEY_6,  VYRE_SEAL_KEY_7,
    VYRE_SEAL_KEY_8,  VYRE_SEAL_KEY_9,  VYRE_SEAL_KEY_10, VYRE_SEAL_KEY_11,
    VYRE_SEAL_KEY_12, VYRE_SEAL_KEY_13, VYRE_SEAL_KEY_14, VYRE_SEAL_KEY_15,
};

/* The first four words of a slot that nobody has filled: not published, so that it faults if it is
 * submitted like this. */
static inline vyre_four_words vyre_sealing_blank(uint32_t lap, int sealed)
{
    return (vyre_four_words){VYRE_SLOT_EMPTY, 0, sealed ? lap : 0, sealed ? VYRE_SEALING_MARK : 0};
}

VYRE_SEEN_UNFINISHED static inline void vyre_sealing_put(vyre_slot *slot, vyre_four_words head)
{
    *(vyre_four_words *)(void *)slot->word = head;
}

/* What is left in word 2 of a slot that is filled with this: published, priority NORMAL, the other
 * arguments 0. Call it before the slot is written. */
static inline uint32_t vyre_sealing_fill(const vyre_slot *slot, uint32_t opcode,
                                         const uint32_t *args, size_t count)
{
    if (slot->word[VYRE_SLOT_PRIORITY] != VYRE_SEALING_MARK) return 0;
    uint64_t sum = VYRE_SEAL_KEY_SUM + VYRE_SEAL_KEY_0 * VYRE_SLOT_PUBLISHED +
                   VYRE_SEAL_KEY_1 * (uint64_t)opcode +
                   VYRE_SEAL_KEY_2 * (uint64_t)slot->word[VYRE_SLOT_TENANT] +
                   VYRE_SEAL_KEY_3 * VYRE_PRIORITY_NORMAL;
    for (size_t i = 0; i < count; i++)
        sum += vyre_sealing_keys[i] * (uint64_t)args[i];
    return ~vyre_seal_of(sum);
}

/* Slots of a ring that are submitted: tickets from first up to, and without, end; no more than the
 * ring has. */
struct vyre_sealing {
    vyre_slot *ring;
    uint32_t log2_slots;
    uint64_t first;
    uint64_t end;
};

/* Returns whether any of them may be something else than a hot operation, opcodes 0 to COMPARE_SWAP
 * at NORMAL or more urgent: the words are at hand here, and nowhere cheaper. */
int vyre_sealing_finish(const struct vyre_sealing *sealing);

#endif
