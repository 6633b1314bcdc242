/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the status word of a completion entry says: DONE or FAULT in its low half, the fault in its
 * high half. The one place that turns it into an outcome; for this room and for the reaping side.
 */
#ifndef VYRE_WIRE_COMPLETION_H
#define VYRE_WIRE_COMPLETION_H

#include <stdint.h>

#include "vyre/queue.h"

static inline uint32_t vyre_completion_status_of(uint32_t word)
{
    return word & 0xFFFFu;
}

static inline uint32_t vyre_completion_fault_of(uint32_t word)
{
    return word >> 16;
}

static inline uint32_t vyre_completion_word_of(uint32_t status, uint32_t fault)
{
    return status | fault << 16;
}

/* enum vyre_outcome of a status word that the device wrote. */
static inline uint32_t vyre_completion_outcome_of(uint32_t word)
{
    uint32_t fault = vyre_completion_fault_of(word);
    if (vyre_completion_status_of(word) == VYRE_SLOT_DONE) return VYRE_DONE;
    return fault == VYRE_FAULT_CANCELLED || fault == VYRE_FAULT_STOPPED ? VYRE_CANCELLED
                                                                        : VYRE_FAULTED;
}

#endif
