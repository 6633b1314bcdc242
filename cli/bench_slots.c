/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots of floods, and the sums of their tickets, modulo 2^64; see bench_slots.h.
 */
#include "bench_slots.h"

/* ATOMIC_ADD in wire form: addend, word. */
static const uint32_t add_args[2] = {1, VYRE_CONTROL_OBSERVABLE};

/* What a slot of any operation but NOP holds. */
static void fill(vyre_slot *slot, enum bench_op op)
{
    static const vyre_packed_op inner[BENCH_PACKED_OPS] = {{VYRE_OP_ATOMIC_ADD, 2, add_args},
                                                           {VYRE_OP_ATOMIC_ADD, 2, add_args},
                                                           {VYRE_OP_ATOMIC_ADD, 2, add_args},
                                                           {VYRE_OP_ATOMIC_ADD, 2, add_args}};
    if (op == BENCH_ADD)
        vyre_prep_atomic_add(slot, add_args[1], add_args[0], NULL);
    else if (op == BENCH_PACK)
        vyre_prep_packed(slot, inner, BENCH_PACKED_OPS, NULL);
    else
        vyre_prep_op(slot, BENCH_NATIVE_OPCODE, NULL, 0, NULL);
}

uint32_t bench_slots_put(vyre_queue *queue, enum bench_op op, uint32_t wanted)
{
    uint32_t put = 0, count;
    vyre_slot *slot;
    for (; put < wanted && (slot = vyre_queue_slots(queue, wanted - put, &count)); put += count)
        for (vyre_slot *end = slot + count; slot != end; slot++) {
            if (op == BENCH_NOP)
                vyre_prep_nop(slot, NULL);
            else
                fill(slot, op);
        }
    return put;
}

/* 0 + 1 + ... + n-1 and the sum of their squares. */
static uint64_t sum_below(uint64_t n)
{
    return n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
}

static uint64_t squares_below(uint64_t n)
{
    uint64_t a = n - 1;
    uint64_t b = n;
    uint64_t c = 2 * n - 1;
    if (n == 0) return 0;
    /* (n-1) n (2n-1) / 6: one of the first two is even, one of the three a multiple of 3. */
    if (a % 2 == 0)
        a /= 2;
    else
        b /= 2;
    if (a % 3 == 0)
        a /= 3;
    else if (b % 3 == 0)
        b /= 3;
    else
        c /= 3;
    return a * b * c;
}

const char *bench_tickets_wrong(const struct bench_tickets *tickets, uint64_t submitted)
{
    if (tickets->received != submitted) return "a slot was lost";
    if (tickets->not_done != 0) return "a slot of a flood did not end as done";
    if (tickets->sum != sum_below(submitted) || tickets->squares != squares_below(submitted))
        return "a flood's tickets do not add up: one was lost, doubled or changed";
    return NULL;
}
