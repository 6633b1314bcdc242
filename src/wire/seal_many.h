/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Sealing all slots of a submit: the same seals as vyre_seal, sooner done. Called by the submitting
 * thread.
 */
#ifndef VYRE_WIRE_SEAL_MANY_H
#define VYRE_WIRE_SEAL_MANY_H

#include "vyre/wire.h"

/* Slots of a ring that shall be sealed: tickets from first up to, and without, end. */
struct vyre_sealing {
    vyre_slot *ring;
    uint32_t log2_slots;
    uint64_t first;
    uint64_t end;
};

/* Returns whether any of them is not one of the hot operations, opcodes 0 to COMPARE_SWAP at NORMAL
 * or more urgent: the words are at hand here, and nowhere cheaper. */
int vyre_seal_many(const struct vyre_sealing *sealing);

#endif
