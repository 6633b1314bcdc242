/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Chapters of `vyre demo`: two tenants of one runtime who see nothing of each other, and the
 * device's own counters beside what the tour counted.
 */
#include "demo.h"

enum { FIRST = 1, SECOND = 2, WORD = VYRE_CONTROL_OBSERVABLE, META = 5, BYTES = 256 };

static int open_queue(struct tour *tour, uint32_t tenant, vyre_queue **queue)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;

    options.tenant = tenant;
    TOUR_TRY(tour, vyre_queue_open(tour->runtime, &options, queue, &tour->err),
             "cannot open a tenant's queue");
    return CLI_EXIT_DONE;
}

/* A table with one state that no byte leaves, followed by its own input: enough for DFA_STEP. */
static int make_table(struct tour *tour, uint32_t tenant, vyre_buffer **buffer)
{
    uint32_t words[META + 2 + BYTES] = {META, META + 1, 1, META + 2, 1};
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;

    options.tenant = tenant;
    TOUR_TRY(tour,
             vyre_buffer_create_with(tour->runtime, sizeof words, &options, buffer, &tour->err),
             "cannot make a tenant's buffer");
    TOUR_TRY(tour, vyre_buffer_write(*buffer, 0, words, sizeof words, &tour->err),
             "cannot write to a tenant's buffer");
    return CLI_EXIT_DONE;
}

static int use_buffer(struct tour *tour, vyre_queue *queue, const vyre_buffer *buffer,
                      vyre_completion *end)
{
    vyre_dfa_step step = {0};

    step.table = vyre_buffer_handle(buffer);
    step.input = step.table;
    step.length = 16;
    TOUR_PREP(tour, queue, vyre_prep_dfa_step, &step);
    return tour_send(tour, queue, 0, end);
}

static int store(struct tour *tour, vyre_queue *queue, uint32_t value)
{
    vyre_completion end;

    TOUR_PREP(tour, queue, vyre_prep_store_u32, WORD + 1, value);
    return tour_send(tour, queue, 0, &end);
}

int tour_tenants(struct tour *tour)
{
    vyre_queue *first = NULL, *second = NULL;
    vyre_buffer *buffer = NULL;
    vyre_completion own, foreign;
    uint32_t words[2] = {0, 0};
    char text[48];

    TOUR_STEP(open_queue(tour, FIRST, &first));
    TOUR_STEP(open_queue(tour, SECOND, &second));
    TOUR_STEP(make_table(tour, FIRST, &buffer));
    TOUR_STEP(use_buffer(tour, first, buffer, &own));
    tour_check(tour, "its own buffer", own.outcome == VYRE_DONE, "tenant %d, handle 0x%X: %s",
               FIRST, vyre_buffer_handle(buffer), tour_end_text(&own, text));
    TOUR_STEP(use_buffer(tour, second, buffer, &foreign));
    tour_check(tour, "the other's", foreign.fault == VYRE_FAULT_HANDLE_RIGHTS,
               "tenant %d, the same handle: %s", SECOND, tour_end_text(&foreign, text));

    TOUR_STEP(store(tour, first, 111));
    TOUR_STEP(store(tour, second, 222));
    for (uint32_t i = 0; i < 2; i++)
        TOUR_TRY(tour,
                 vyre_tenant_observables(tour->runtime, FIRST + i, 1, 1, &words[i], &tour->err),
                 "cannot read an observable word");
    tour_check(tour, "own words", words[0] == 111 && words[1] == 222,
               "observable word 1 is %u for tenant %d and %u for tenant %d", words[0], FIRST,
               words[1], SECOND);
    vyre_buffer_free(buffer);
    vyre_queue_close(first);
    vyre_queue_close(second);
    return CLI_EXIT_DONE;
}

int tour_counters(struct tour *tour)
{
    uint32_t control[VYRE_CONTROL_WORDS + 256];
    vyre_description now = {.size = sizeof now};
    size_t needed = 0;

    vyre_status status = vyre_image_control(tour->runtime, VYRE_TENANT_DEFAULT, control,
                                            sizeof control, &needed, &tour->err);
    TOUR_TRY(tour, status, "cannot read the control image");
    const struct tour_count *sum = &tour->first;
    uint32_t ended = (uint32_t)(sum->done + sum->faulted + sum->cancelled);
    tour_check(tour, "slots ended", control[VYRE_CONTROL_DONE_COUNT] == ended,
               "the device counted %u, the tour %u", control[VYRE_CONTROL_DONE_COUNT], ended);
    tour_check(tour, "fences", control[VYRE_CONTROL_EPOCH] == 1, "the epoch is %u after one fence",
               control[VYRE_CONTROL_EPOCH]);
    TOUR_TRY(tour, vyre_describe(tour->runtime, &now, &tour->err), "cannot describe the runtime");
    uint32_t outstanding = vyre_queue_outstanding(tour->queue);
    tour_check(tour, "left over", now.queues == 1 && outstanding == 0,
               "%u queue%s, %u slot%s outstanding", now.queues, cli_plural(now.queues), outstanding,
               cli_plural(outstanding));
    return CLI_EXIT_DONE;
}
