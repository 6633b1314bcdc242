/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A chapter of `vyre demo`: empty slots, for the rate, the round trip, and the time it takes to
 * wake a runtime that sleeps. The figures are a first impression; `vyre bench dispatch` measures.
 */
#include "demo.h"

#include <sched.h>
#include <stdlib.h>

enum {
    BATCH = 32,
    REAP = 256,
    TRIPS = 1000000,
    WAKES = 100,
    FLOOD_SLOTS = 1 << 28, /* the most */
};
#define FLOOD_NS 1000000000u
#define TRIPS_NS 800000000u
#define NAP_NS   2000000u

/* What --quick makes of a time or a number. */
static uint64_t shortened(const struct tour *tour, uint64_t whole)
{
    return tour->args->quick ? whole / 10 : whole;
}

/* What the reaping side knows of a flood: a bit for every ticket that came back. Ends come in any
 * order. */
struct flood {
    unsigned char *seen;
    uint64_t first; /* ticket */
    uint64_t submitted, ended, wrong;
};

static void flood_reap(struct flood *flood, const vyre_completion *completions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const vyre_completion *end = &completions[i];
        uint64_t place = end->ticket - flood->first;
        unsigned bit = 1u << place % 8;
        if (place >= flood->submitted || (flood->seen[place / 8] & bit) != 0 ||
            end->outcome != VYRE_DONE || end->opcode != VYRE_OP_NOP) {
            flood->wrong++;
            continue;
        }
        flood->seen[place / 8] |= (unsigned char)bit;
    }
    flood->ended += count;
}

/* Gets, prepares and submits up to a batch; returns through *sent how many. */
static int flood_submit(struct tour *tour, uint32_t *sent)
{
    vyre_slot *slot;

    *sent = 0;
    while (*sent < BATCH && (slot = vyre_queue_slot(tour->queue)) != NULL) {
        TOUR_TRY(tour, vyre_prep_nop(slot, &tour->err), "cannot prepare a slot");
        ++*sent;
    }
    if (*sent == 0) return CLI_EXIT_DONE;
    return tour_submit(tour, tour->queue, NULL);
}

static int flood_run(struct tour *tour, struct flood *flood, uint64_t end_ns)
{
    vyre_completion completions[REAP];
    uint64_t turns = 0;
    size_t count;
    int sending = 1;

    while (sending || flood->ended < flood->submitted) {
        uint32_t sent = 0;
        if (sending) TOUR_STEP(flood_submit(tour, &sent));
        flood->submitted += sent;
        vyre_status status =
            sent > 0 ? vyre_queue_reap(tour->queue, completions, REAP, &count, &tour->err)
                     : vyre_queue_reap_wait(tour->queue, completions, 1, REAP, TOUR_TIMEOUT_NS,
                                            &count, &tour->err);
        TOUR_TRY(tour, status, "empty slots did not come back");
        flood_reap(flood, completions, count);
        if (++turns % 64 == 0)
            sending = tour_now_ns() < end_ns && flood->submitted + 64 * BATCH < FLOOD_SLOTS;
    }
    return CLI_EXIT_DONE;
}

static int rate(struct tour *tour)
{
    struct flood flood = {0};
    char text[32];

    flood.seen = calloc(FLOOD_SLOTS / 8, 1);
    if (flood.seen == NULL) {
        cli_complain("no memory to keep account of the tickets", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    /* Nothing is prepared, so this only asks for the next ticket. */
    int code = tour_submit(tour, tour->queue, &flood.first);
    uint64_t start_ns = tour_now_ns();
    if (code == CLI_EXIT_DONE) code = flood_run(tour, &flood, start_ns + shortened(tour, FLOOD_NS));
    free(flood.seen);
    TOUR_STEP(code);
    double seconds = (double)(tour_now_ns() - start_ns) / 1e9;
    double per_second = (double)flood.ended / seconds;
    tour->now.done += flood.ended;
    tour_number(tour, "slots_per_second", per_second);
    tour_fact(tour, "rate", "%s slots/s from one thread, submitted %d at a time",
              cli_format_si(per_second, text, sizeof text), BATCH);
    tour_number(tour, "submitted", (double)flood.submitted);
    tour_number(tour, "reaped", (double)flood.ended);
    tour_check(tour, "tickets", flood.wrong == 0 && flood.ended == flood.submitted,
               "%llu submitted, %llu reaped, each of them once",
               (unsigned long long)flood.submitted, (unsigned long long)flood.ended);
    return CLI_EXIT_DONE;
}

static int compare_times(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* One slot there and back: from before its first store to after the load that saw its end. */
static int trip(struct tour *tour, uint32_t *ns)
{
    vyre_completion completion;
    uint64_t start_ns = tour_now_ns();

    TOUR_PREP0(tour, tour->queue, vyre_prep_nop);
    TOUR_STEP(tour_send(tour, tour->queue, 0, &completion));
    uint64_t took_ns = tour_now_ns() - start_ns;
    *ns = took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
    return CLI_EXIT_DONE;
}

void tour_times(struct tour *tour, const char *name, uint32_t *times, uint32_t count)
{
    char median[32], tail[32];

    qsort(times, count, sizeof *times, compare_times);
    double p50 = times[count / 2], p99 = times[(uint64_t)count * 99 / 100];
    tour_number(tour, "p50_ns", p50);
    tour_number(tour, "p99_ns", p99);
    tour_number(tour, "count", count);
    tour_fact(tour, name, "p50 %s, p99 %s over %u", cli_format_ns(p50, median, sizeof median),
              cli_format_ns(p99, tail, sizeof tail), count);
}

static int round_trips(struct tour *tour)
{
    static uint32_t times[TRIPS];
    uint64_t end_ns = tour_now_ns() + shortened(tour, TRIPS_NS);
    uint32_t count = 0;
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    /* On one core a spinning waiter would only keep the worker from running. */
    uint32_t mode = cores > 1 ? VYRE_WAIT_SPIN : VYRE_WAIT_ADAPTIVE;
    TOUR_TRY(tour, vyre_queue_set_wait_mode(tour->queue, mode, &tour->err),
             "cannot set the wait mode");
    while (count < TRIPS && tour_now_ns() < end_ns)
        TOUR_STEP(trip(tour, &times[count++]));
    tour_times(tour, "round trip", times, count);

    TOUR_TRY(tour, vyre_queue_set_wait_mode(tour->queue, VYRE_WAIT_ADAPTIVE, &tour->err),
             "cannot set the wait mode");
    uint32_t wakes = (uint32_t)shortened(tour, WAKES);
    for (count = 0; count < wakes; count++) {
        tour_sleep_ns(NAP_NS);
        TOUR_STEP(trip(tour, &times[count]));
    }
    tour_times(tour, "from sleep", times, count);
    return CLI_EXIT_DONE;
}

int tour_empty(struct tour *tour)
{
    uint64_t before;

    TOUR_STEP(rate(tour));
    before = tour->now.done;
    TOUR_STEP(round_trips(tour));
    tour_check(tour, "all done", tour->now.faulted == 0 && vyre_queue_outstanding(tour->queue) == 0,
               "%llu round trips, none faulted, nothing outstanding",
               (unsigned long long)(tour->now.done - before));
    return CLI_EXIT_DONE;
}
