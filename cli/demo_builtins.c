/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chapters of `vyre demo`: the built-in operations on the tenant's observable words, and a fence
 * with the debug log behind it.
 */
#include "demo.h"

#include <string.h>

enum { ADDS = 1000, LOGGED = 5, WORD = VYRE_CONTROL_OBSERVABLE };

/* Observable words that this chapter uses, counted from 0. Word 0 is where fences leave tags. */
enum { STORED = 1, SUM = 2, SWAPPED = 3, LOADED = 4, COPY = 8, COPY_TO = 16, COPIED = 4 };

static uint32_t observable(struct tour *tour, uint32_t index)
{
    uint32_t word = 0;

    if (vyre_tenant_observables(tour->runtime, VYRE_TENANT_DEFAULT, index, 1, &word, &tour->err) !=
        VYRE_OK)
        cli_fail("cannot read an observable word", &tour->err);
    return word;
}

static int store_and_load(struct tour *tour)
{
    vyre_completion end;

    TOUR_PREP(tour, tour->queue, vyre_prep_store_u32, WORD + STORED, 0xC0FFEEu);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    uint32_t seen = observable(tour, STORED);
    tour_check(tour, "STORE_U32", seen == 0xC0FFEEu, "observable word %d is 0x%08X", STORED, seen);

    TOUR_PREP(tour, tour->queue, vyre_prep_load_u32, WORD + STORED, LOADED);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    seen = observable(tour, LOADED);
    tour_check(tour, "LOAD_U32", seen == 0xC0FFEEu && end.result[0] == 0xC0FFEEu,
               "result 0x%08X, copied to word %d", end.result[0], LOADED);
    return CLI_EXIT_DONE;
}

static int add(struct tour *tour)
{
    uint64_t ticket = 0;
    uint32_t expected = 0;

    for (uint32_t i = 1; i <= ADDS; i++) {
        uint32_t addend = i * 2654435761u;
        TOUR_PREP(tour, tour->queue, vyre_prep_atomic_add, WORD + SUM, addend);
        expected += addend;
    }
    TOUR_STEP(tour_submit(tour, tour->queue, &ticket));
    TOUR_STEP(tour_wait_done(tour, tour->queue, ticket, ADDS));
    uint32_t seen = observable(tour, SUM);
    tour_check(tour, "ATOMIC_ADD", seen == expected, "%d slots add up to 0x%08X, expected 0x%08X",
               ADDS, seen, expected);
    return CLI_EXIT_DONE;
}

static int compare_swap(struct tour *tour)
{
    vyre_completion first, second;

    TOUR_PREP(tour, tour->queue, vyre_prep_store_u32, WORD + SWAPPED, 7);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &first));
    TOUR_PREP(tour, tour->queue, vyre_prep_compare_swap, WORD + SWAPPED, 7, 8);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &first));
    TOUR_PREP(tour, tour->queue, vyre_prep_compare_swap, WORD + SWAPPED, 7, 9);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &second));
    uint32_t seen = observable(tour, SWAPPED);
    tour_check(tour, "COMPARE_SWAP", first.result[0] == 7 && second.result[0] == 8 && seen == 8,
               "7 to 8 found %u; 7 to 9 found %u and left %u", first.result[0], second.result[0],
               seen);
    return CLI_EXIT_DONE;
}

static int copy_and_pack(struct tour *tour)
{
    static const uint32_t values[COPIED] = {3, 1, 4, 1};
    uint32_t seen[COPIED], args[COPIED][2];
    vyre_packed_op ops[COPIED];
    vyre_completion end;

    for (uint32_t i = 0; i < COPIED; i++) {
        args[i][0] = values[i];
        args[i][1] = WORD + COPY + i;
        ops[i] = (vyre_packed_op){VYRE_OP_STORE_U32, 2, args[i]};
    }
    TOUR_PREP(tour, tour->queue, vyre_prep_packed, ops, COPIED);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    TOUR_TRY(
        tour,
        vyre_tenant_observables(tour->runtime, VYRE_TENANT_DEFAULT, COPY, COPIED, seen, &tour->err),
        "cannot read observable words");
    tour_check(tour, "PACKED_SLOT", end.result[0] == COPIED && !memcmp(seen, values, sizeof seen),
               "%u stores in one slot: %u %u %u %u", end.result[0], seen[0], seen[1], seen[2],
               seen[3]);

    TOUR_PREP(tour, tour->queue, vyre_prep_memcpy, WORD + COPY, WORD + COPY_TO, COPIED);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    TOUR_TRY(tour,
             vyre_tenant_observables(tour->runtime, VYRE_TENANT_DEFAULT, COPY_TO, COPIED, seen,
                                     &tour->err),
             "cannot read observable words");
    tour_check(tour, "MEMCPY", !memcmp(seen, values, sizeof seen),
               "the same words at %d: %u %u %u %u, in %u step", COPY_TO, seen[0], seen[1], seen[2],
               seen[3], end.steps);
    return CLI_EXIT_DONE;
}

int tour_builtins(struct tour *tour)
{
    TOUR_STEP(store_and_load(tour));
    TOUR_STEP(add(tour));
    TOUR_STEP(compare_swap(tour));
    return copy_and_pack(tour);
}

/* Adds, a fence, then a load: were the load not held back, it could find a smaller sum. */
static int fence(struct tour *tour)
{
    enum { TAG = 0xFE1CE, WAITED_FOR = 500, FENCED = 5 };
    uint64_t ticket = 0;
    vyre_completion end;

    TOUR_PREP(tour, tour->queue, vyre_prep_store_u32, WORD + FENCED, 0);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    for (uint32_t i = 0; i < WAITED_FOR; i++) {
        vyre_slot *slot = vyre_queue_slot(tour->queue);
        TOUR_TRY(tour, vyre_prep_atomic_add(slot, WORD + FENCED, 1, &tour->err),
                 "cannot prepare a slot");
        /* Through the run queues, not in place: these would gladly be overtaken. */
        TOUR_TRY(tour, vyre_slot_priority(slot, VYRE_PRIORITY_IDLE, &tour->err),
                 "cannot set a priority");
    }
    TOUR_PREP(tour, tour->queue, vyre_prep_fence, WAITED_FOR, TAG);
    TOUR_PREP(tour, tour->queue, vyre_prep_load_u32, WORD + FENCED, LOADED);
    TOUR_STEP(tour_submit(tour, tour->queue, &ticket));
    TOUR_STEP(tour_wait_done(tour, tour->queue, ticket, WAITED_FOR + 1));
    TOUR_STEP(tour_wait(tour, tour->queue, ticket + WAITED_FOR + 1, &end));
    tour_check(tour, "BATCH_FENCE", end.result[0] == WAITED_FOR,
               "the load behind it found %u of %d adds at priority IDLE", end.result[0],
               WAITED_FOR);
    uint32_t tag = observable(tour, 0);
    tour_check(tour, "its tag", tag == TAG, "observable word 0 is 0x%X", tag);
    return CLI_EXIT_DONE;
}

static int debug_log(struct tour *tour)
{
    vyre_log_record records[LOGGED + 1];
    uint64_t cursor = 0, lost = 0, ticket = 0;
    size_t count = 0;
    int right;

    for (uint32_t i = 0; i < LOGGED; i++)
        TOUR_PREP(tour, tour->queue, vyre_prep_printf, 100 + i, i, i * i);
    TOUR_STEP(tour_submit(tour, tour->queue, &ticket));
    TOUR_STEP(tour_wait_done(tour, tour->queue, ticket, LOGGED));
    TOUR_TRY(tour,
             vyre_tenant_log(tour->runtime, VYRE_TENANT_DEFAULT, &cursor, records, LOGGED + 1,
                             &count, &lost, &tour->err),
             "cannot read the debug log");
    right = count == LOGGED && lost == 0;
    /* No order among the slots of a queue: each record is looked for. */
    for (uint32_t i = 0; i < LOGGED; i++) {
        int found = 0;
        for (size_t k = 0; k < count; k++)
            found |= records[k].format == 100 + i && records[k].a == i && records[k].b == i * i;
        right &= found;
    }
    tour_check(tour, "PRINTF", right,
               "%zu records in the debug log, %llu lost; the last is (%u, %u, %u)", count,
               (unsigned long long)lost, count > 0 ? records[count - 1].format : 0,
               count > 0 ? records[count - 1].a : 0, count > 0 ? records[count - 1].b : 0);
    return CLI_EXIT_DONE;
}

int tour_fence(struct tour *tour)
{
    TOUR_STEP(fence(tour));
    return debug_log(tour);
}
