/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chapters of `vyre demo`: slots that do not end as done. A fault, with its name, and the slots
 * around it untouched; a slot cancelled before it began; one whose deadline passed; a native
 * operation that was asked to stop while it ran.
 */
#include "demo.h"

enum { OP_GATE = 0x1002, WORD = VYRE_CONTROL_OBSERVABLE };
enum { AROUND = 99, BAD = 49 };

/* A hundred adds, one of them to a word that does not exist. */
static int one_bad_slot(struct tour *tour)
{
    enum { COUNTED = 6 };
    vyre_completion end, bad = {0};
    uint64_t ticket = 0;
    uint32_t done = 0, seen = 0;
    char text[48];

    for (uint32_t i = 0; i <= AROUND; i++) {
        uint32_t word = i == BAD ? WORD + 0x100000u : (uint32_t)WORD + COUNTED;
        TOUR_PREP(tour, tour->queue, vyre_prep_atomic_add, word, 1);
    }
    TOUR_STEP(tour_submit(tour, tour->queue, &ticket));
    for (uint32_t i = 0; i <= AROUND; i++) {
        TOUR_STEP(tour_wait(tour, tour->queue, ticket + i, &end));
        if (i == BAD)
            bad = end;
        else
            done += end.outcome == VYRE_DONE;
    }
    TOUR_TRY(
        tour,
        vyre_tenant_observables(tour->runtime, VYRE_TENANT_DEFAULT, COUNTED, 1, &seen, &tour->err),
        "cannot read an observable word");
    tour_check(tour, "bad slot", bad.outcome == VYRE_FAULTED && bad.fault == VYRE_FAULT_WORD_RANGE,
               "slot %d of 100: %s", BAD + 1, tour_end_text(&bad, text));
    tour_fact(tour, "which means", "%s", vyre_fault_text(bad.fault));
    tour_check(tour, "the others", done == AROUND && seen == AROUND,
               "%u of %d done; together they counted %u", done, AROUND, seen);
    return CLI_EXIT_DONE;
}

static int bad_handle(struct tour *tour)
{
    vyre_buffer *buffer = NULL;
    vyre_completion end;
    vyre_dfa_step step = {0};
    char text[48];

    TOUR_TRY(tour, vyre_buffer_create(tour->runtime, 64, VYRE_DEVICE, &buffer, &tour->err),
             "cannot make a buffer");
    step.table = vyre_buffer_handle(buffer);
    step.input = step.table;
    step.offset = 60;
    step.length = 8;
    TOUR_PREP(tour, tour->queue, vyre_prep_dfa_step, &step);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    tour_check(tour, "past the end", end.fault == VYRE_FAULT_BUFFER_BOUNDS,
               "8 bytes at 60 of a 64-byte buffer: %s", tour_end_text(&end, text));
    step.input = 0x7FFF7FFF;
    TOUR_PREP(tour, tour->queue, vyre_prep_dfa_step, &step);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &end));
    tour_check(tour, "made-up handle", end.fault == VYRE_FAULT_BAD_HANDLE, "0x%X: %s", step.input,
               tour_end_text(&end, text));
    vyre_buffer_free(buffer);
    return CLI_EXIT_DONE;
}

int tour_faults(struct tour *tour)
{
    TOUR_STEP(one_bad_slot(tour));
    return bad_handle(tour);
}

/* The gate, a fence, and behind it two slots that cannot begin until the gate opens. One is
 * cancelled, the other has a deadline that passes meanwhile. */
static int waiting_slots(struct tour *tour, vyre_queue *queue)
{
    enum { DEADLINE_NS = 1000000, FENCE, CANCELLED, LATE };
    vyre_completion end;
    uint64_t gate = 0, ticket = 0;
    char text[48];

    TOUR_STEP(tour_gate_enter(tour, queue, OP_GATE, &gate));
    TOUR_PREP(tour, queue, vyre_prep_fence, 1, 0);
    TOUR_PREP0(tour, queue, vyre_prep_nop);
    vyre_slot *slot = vyre_queue_slot(queue);
    TOUR_TRY(tour, vyre_prep_nop(slot, &tour->err), "cannot prepare a slot");
    TOUR_TRY(tour, vyre_slot_deadline(queue, slot, DEADLINE_NS, &tour->err),
             "cannot set a deadline");
    TOUR_STEP(tour_submit(tour, queue, &ticket));
    TOUR_TRY(tour, vyre_cancel(queue, ticket + 1, &tour->err), "cannot cancel a slot");
    tour_sleep_ns(3 * DEADLINE_NS);
    atomic_store(&tour->gate.open, 1);

    TOUR_STEP(tour_wait_done(tour, queue, gate, 1));
    TOUR_STEP(tour_wait_done(tour, queue, ticket, 1));
    TOUR_STEP(tour_wait(tour, queue, ticket + 1, &end));
    tour_check(tour, "cancelled", end.outcome == VYRE_CANCELLED, "a slot that had not begun: %s",
               tour_end_text(&end, text));
    TOUR_STEP(tour_wait(tour, queue, ticket + 2, &end));
    tour_check(tour, "deadline", end.fault == VYRE_FAULT_DEADLINE,
               "a slot with 1 ms that waited 3 ms: %s", tour_end_text(&end, text));
    return CLI_EXIT_DONE;
}

static int running_slot(struct tour *tour, vyre_queue *queue)
{
    vyre_completion end;
    uint64_t gate = 0;
    char time[32], text[48];

    TOUR_STEP(tour_gate_enter(tour, queue, OP_GATE, &gate));
    uint64_t start_ns = tour_now_ns();
    TOUR_TRY(tour, vyre_cancel(queue, gate, &tour->err), "cannot cancel a slot");
    TOUR_STEP(tour_wait(tour, queue, gate, &end));
    uint64_t took_ns = tour_now_ns() - start_ns;
    tour_check(tour, "asked to stop", end.outcome != VYRE_DONE,
               "a running native operation saw it: %s, after %s", tour_end_text(&end, text),
               cli_format_ns((double)took_ns, time, sizeof time));
    vyre_status status = vyre_cancel(queue, gate, &tour->err);
    tour_check(tour, "too late", status == VYRE_E_NOT_FOUND, "cancelling it again: %s",
               vyre_status_name(status));
    return CLI_EXIT_DONE;
}

int tour_endings(struct tour *tour)
{
    vyre_queue *queue = NULL;

    /* One worker for the gate, one that keeps polling. */
    TOUR_STEP(tour_open_second(tour, 2, &queue));
    TOUR_STEP(tour_gate_register(tour, tour->second, OP_GATE));
    TOUR_STEP(waiting_slots(tour, queue));
    TOUR_STEP(running_slot(tour, queue));
    tour_close_second(tour);
    return CLI_EXIT_DONE;
}
