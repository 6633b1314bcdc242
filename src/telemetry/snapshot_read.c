/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reading a ring: each slot's cache line is fetched once, and all that is wanted of it is taken
 * then. A ring is larger than the caches, so the loop has to keep up with memory and no more: it
 * counts states in one register and fetches lines ahead of their use.
 */
#include <string.h>

#include "telemetry/snapshot.h"

#define COUNTER_BITS 7u
#define BLOCK_SLOTS  64u /* what a counter of so many bits can count */

static_assert(BLOCK_SLOTS < 1u << COUNTER_BITS, "a block cannot overflow a counter");
static_assert(WINDOW_STATES * COUNTER_BITS <= 64, "all counters fit one word");
static_assert(offsetof(vyre_snapshot_slot, opcode) == 4 * VYRE_SLOT_OPCODE &&
                  offsetof(vyre_snapshot_slot, tenant) == 4 * VYRE_SLOT_TENANT &&
                  offsetof(vyre_snapshot_slot, priority) == 4 * VYRE_SLOT_PRIORITY &&
                  offsetof(vyre_snapshot_slot, args) == 4 * VYRE_SLOT_ARG0 &&
                  offsetof(vyre_snapshot_slot, slot) == 4 * (VYRE_SLOT_ARG0 + 3),
              "a row begins with the words of its slot");

static inline void copy_row(vyre_snapshot_slot *row, const unsigned char *words, uint32_t slot)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(row, words, offsetof(vyre_snapshot_slot, slot));
#else
    row->status = vyre_bytes_word(words, VYRE_SLOT_STATUS);
    row->opcode = vyre_bytes_word(words, VYRE_SLOT_OPCODE);
    row->tenant = vyre_bytes_word(words, VYRE_SLOT_TENANT);
    row->priority = vyre_bytes_word(words, VYRE_SLOT_PRIORITY);
    for (uint32_t i = 0; i < 3; i++)
        row->args[i] = vyre_bytes_word(words, VYRE_SLOT_ARG0 + i);
#endif
    row->slot = slot;
}

/* Reads slots first..first+count-1, at most a block of them, and returns their states: counters of
 * COUNTER_BITS, the lowest for state 0. The flags are constants, so each use is a loop of its own.
 */
static inline uint64_t read_block(const struct snapshot_read *read, uint32_t first, uint32_t count,
                                  const bool with_rows, const bool with_windows)
{
    const unsigned char *start = read->ring + (size_t)first * VYRE_SLOT_BYTES, *words = start;
    /* One block ahead, as long as there is a whole one. */
    size_t ahead = read->slots - first >= 2 * BLOCK_SLOTS ? BLOCK_SLOTS * VYRE_SLOT_BYTES : 0;
    uint64_t states = 0;
    uint8_t of_windows[BLOCK_SLOTS]; /* those that may be; looked at once all are known, so that
                                        the loop has no branch that could be guessed wrong */
    uint32_t may_be = 0;
    for (uint32_t i = 0; i < count; i++, words += VYRE_SLOT_BYTES) {
        uint32_t status = vyre_bytes_word(words, VYRE_SLOT_STATUS);
        uint32_t state = status < VYRE_SLOT_STATES ? status : VYRE_SLOT_STATES;
        states += UINT64_C(1) << COUNTER_BITS * state;
        __builtin_prefetch(words + ahead);
        if (with_rows) copy_row(&read->rows[first + i], words, first + i);
        if (with_windows) {
            of_windows[may_be] = (uint8_t)i;
            may_be += window_passes(read->windows, vyre_bytes_word(words, VYRE_SLOT_OPCODE));
        }
    }
    for (uint32_t i = 0; with_windows && i < may_be; i++)
        window_note(read->windows, start + of_windows[i] * VYRE_SLOT_BYTES);
    return states;
}

void vyre_snapshot_read(struct snapshot_read *read)
{
    uint32_t counts[WINDOW_STATES] = {0};
    for (uint32_t first = 0; first < read->slots;) {
        uint32_t left = read->slots - first, count = left < BLOCK_SLOTS ? left : BLOCK_SLOTS;
        uint64_t states;
        if (read->rows && read->windows)
            states = read_block(read, first, count, true, true);
        else if (read->rows)
            states = read_block(read, first, count, true, false);
        else if (read->windows)
            states = read_block(read, first, count, false, true);
        else
            states = read_block(read, first, count, false, false);
        for (uint32_t state = 0; state < WINDOW_STATES; state++)
            counts[state] += states >> COUNTER_BITS * state & ((1u << COUNTER_BITS) - 1);
        first += count;
    }
    read->occupancy = (vyre_occupancy){
        .empty = counts[VYRE_SLOT_EMPTY],
        .published = counts[VYRE_SLOT_PUBLISHED],
        .claimed = counts[VYRE_SLOT_CLAIMED],
        .done = counts[VYRE_SLOT_DONE],
        .wait_io = counts[VYRE_SLOT_WAIT_IO],
        .yield = counts[VYRE_SLOT_YIELD],
        .requeue = counts[VYRE_SLOT_REQUEUE],
        .fault = counts[VYRE_SLOT_FAULT],
        .unknown = counts[VYRE_SLOT_STATES],
    };
}
