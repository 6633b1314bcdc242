/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The steps that the chapters of `vyre demo` have in common: submit, wait, count, and a gate that
 * keeps a worker busy for as long as a chapter needs it.
 */
#include "demo.h"

#include <string.h>
#include <time.h>

uint64_t tour_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void tour_sleep_ns(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    nanosleep(&time, NULL);
}

void tour_count_end(struct tour *tour, const vyre_completion *completion)
{
    switch (completion->outcome) {
    case VYRE_DONE:
        tour->now.done++;
        break;
    case VYRE_CANCELLED:
        tour->now.cancelled++;
        break;
    default:
        tour->now.faulted++;
        break;
    }
}

int tour_submit(struct tour *tour, vyre_queue *queue, uint64_t *ticket)
{
    TOUR_TRY(tour, vyre_queue_submit(queue, ticket, &tour->err), "cannot submit");
    return CLI_EXIT_DONE;
}

int tour_wait(struct tour *tour, vyre_queue *queue, uint64_t ticket, vyre_completion *completion)
{
    TOUR_TRY(tour, vyre_wait(queue, ticket, TOUR_TIMEOUT_NS, completion, &tour->err),
             "a slot did not come back");
    tour_count_end(tour, completion);
    return CLI_EXIT_DONE;
}

int tour_send(struct tour *tour, vyre_queue *queue, uint32_t nth, vyre_completion *completion)
{
    uint64_t ticket = 0;

    TOUR_STEP(tour_submit(tour, queue, &ticket));
    return tour_wait(tour, queue, ticket + nth, completion);
}

int tour_wait_done(struct tour *tour, vyre_queue *queue, uint64_t ticket, uint32_t count)
{
    vyre_completion completion;
    char text[48];
    uint32_t done = 0;

    for (uint32_t i = 0; i < count; i++) {
        TOUR_STEP(tour_wait(tour, queue, ticket + i, &completion));
        if (completion.outcome == VYRE_DONE) {
            done++;
            continue;
        }
        tour_check(tour, "slot", 0, "ticket %llu ended as %s", (unsigned long long)(ticket + i),
                   tour_end_text(&completion, text));
    }
    return done == count ? CLI_EXIT_DONE : CLI_EXIT_NO;
}

const char *tour_end_text(const vyre_completion *completion, char text[48])
{
    if (completion->outcome == VYRE_DONE) return strcpy(text, "done");
    if (completion->outcome == VYRE_CANCELLED) return strcpy(text, "cancelled");
    if (completion->outcome == VYRE_LOST) return strcpy(text, "lost");
    snprintf(text, 48, "faulted with %.32s", vyre_fault_name(completion->fault));
    return text;
}

int tour_open_second(struct tour *tour, uint32_t workers, vyre_queue **queue)
{
    vyre_options options = cli_runtime_options(tour->args);

    options.workers = workers;
    options.ageing_ns = TOUR_TIMEOUT_NS;
    TOUR_TRY(tour, vyre_open(&tour->second, &options, &tour->err), "cannot open a second runtime");
    *queue = vyre_queue_default(tour->second);
    return CLI_EXIT_DONE;
}

void tour_close_second(struct tour *tour)
{
    vyre_close(tour->second);
    tour->second = NULL;
}

/* Runs on a worker. It also returns when its slot is cancelled, past its deadline or stopped, so
 * that nothing ever waits for it in vain; then with a code that says so. */
static uint32_t gate_run(vyre_call *call)
{
    struct tour_gate *gate = call->ctx;

    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->open)) {
        if (vyre_call_cancelled(call)) return 1;
        tour_sleep_ns(50000);
    }
    return 0;
}

int tour_gate_register(struct tour *tour, vyre *runtime, uint32_t opcode)
{
    vyre_operation_options options = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;

    options.opcode = opcode;
    options.run = gate_run;
    options.ctx = &tour->gate;
    TOUR_TRY(tour, vyre_operation_register(runtime, &options, &operation, &tour->err),
             "cannot register an operation");
    return CLI_EXIT_DONE;
}

int tour_gate_enter(struct tour *tour, vyre_queue *queue, uint32_t opcode, uint64_t *ticket)
{
    uint64_t start_ns = tour_now_ns();

    atomic_store(&tour->gate.entered, 0);
    atomic_store(&tour->gate.open, 0);
    TOUR_TRY(tour, vyre_prep_op(vyre_queue_slot(queue), opcode, NULL, 0, &tour->err),
             "cannot prepare a slot");
    TOUR_STEP(tour_submit(tour, queue, ticket));
    while (atomic_load(&tour->gate.entered) == 0) {
        if (tour_now_ns() - start_ns > TOUR_TIMEOUT_NS) {
            cli_complain("no worker took a slot in 20 seconds", NULL, NULL);
            return CLI_EXIT_LOST;
        }
        tour_sleep_ns(20000);
    }
    return CLI_EXIT_DONE;
}
