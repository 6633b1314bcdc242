/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the slots of a flood hold, and whether each came back once. Completions come in any order,
 * so a queue's tickets are checked by their number, their sum and the sum of their squares; a lost,
 * doubled or foreign completion changes at least one of the three. Used by whoever floods a queue.
 */
#ifndef VYRE_CLI_BENCH_SLOTS_H
#define VYRE_CLI_BENCH_SLOTS_H

#include "cli.h"

enum bench_op { BENCH_NOP, BENCH_ADD, BENCH_PACK, BENCH_NATIVE };

#define BENCH_PACKED_OPS    4u /* additions fill the twelve words of a packed slot */
#define BENCH_NATIVE_OPCODE 65u

/* Gets and fills up to `wanted` slots and returns how many there was room for: BENCH_ADD and
 * BENCH_PACK add 1 to the tenant's first observable word, once and BENCH_PACKED_OPS times. */
uint32_t bench_slots_put(vyre_queue *queue, enum bench_op op, uint32_t wanted);

/* What was received of one queue, whose tickets begin at 0. Start from zero. */
struct bench_tickets {
    uint64_t received;
    uint64_t sum;
    uint64_t squares;
    uint64_t not_done;
};

static inline void bench_tickets_add(struct bench_tickets *tickets,
                                     const vyre_completion *completion, size_t count)
{
    struct bench_tickets now = *tickets; /* in registers */
    for (size_t i = 0; i < count; i++) {
        uint64_t ticket = completion[i].ticket;
        now.sum += ticket;
        now.squares += ticket * ticket;
        now.not_done += completion[i].outcome != VYRE_DONE;
    }
    now.received += count;
    *tickets = now;
}

/* What is wrong with them, where so many were submitted; NULL for nothing. */
const char *bench_tickets_wrong(const struct bench_tickets *tickets, uint64_t submitted);

#endif
