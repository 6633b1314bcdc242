/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Floods: one thread fills, submits and reaps as fast as it can, with a bounded number of slots in
 * flight, over one queue or several in turn. A slot counts when it was filled, submitted, checked,
 * executed, completed and reaped; every queue's tickets are checked (bench_slots.h).
 */
#include <string.h>

#include "bench_dispatch.h"
#include "bench_slots.h"

#define REAP_MAX 64u

struct flood_plan {
    enum bench_op op;
    uint32_t depth; /* in flight in each queue, at most */
    uint32_t batch; /* slots a submit */
    uint64_t duration_ns;
};

struct flood_queue {
    vyre_queue *queue;
    uint64_t submitted;
    struct bench_tickets tickets;
};

struct flood {
    struct flood_plan plan;
    uint32_t queues;
    uint32_t spins;
    struct flood_queue queue[BENCH_MAX_QUEUES];
    vyre_completion completion[REAP_MAX];
};

/* Submits one batch; 0 if the queue would not take it. */
static int submit_batch(struct flood_queue *q, const struct flood_plan *plan)
{
    if (bench_slots_put(q->queue, plan->op, plan->batch) != plan->batch) return 0;
    q->submitted += plan->batch;
    return vyre_queue_submit(q->queue, NULL, NULL) == VYRE_OK;
}

/* Reaps what is there, up to REAP_MAX; returns how many. */
static size_t reap(struct flood *flood, struct flood_queue *q)
{
    size_t count = 0;
    vyre_queue_reap(q->queue, flood->completion, REAP_MAX, &count, NULL);
    bench_tickets_add(&q->tickets, flood->completion, count);
    return count;
}

/* One turn over the queues: each gets a batch where there is room, and is reaped where not. */
static int turn(struct flood *flood)
{
    for (uint32_t i = 0; i < flood->queues; i++) {
        struct flood_queue *q = &flood->queue[i];
        if (q->submitted - q->tickets.received + flood->plan.batch > flood->plan.depth &&
            reap(flood, q) == 0)
            bench_spin(&flood->spins);
        if (q->submitted - q->tickets.received + flood->plan.batch > flood->plan.depth) continue;
        if (!submit_batch(q, &flood->plan)) return 0;
    }
    return 1;
}

/* Reaps until nothing is in flight; 0 when a queue makes no progress for too long. */
static int drain(struct flood *flood)
{
    for (uint32_t i = 0; i < flood->queues; i++) {
        struct flood_queue *q = &flood->queue[i];
        uint64_t last_ns = bench_clock_ns();
        uint32_t spins = 0;
        while (q->tickets.received != q->submitted) {
            if (reap(flood, q) != 0) {
                last_ns = bench_clock_ns();
                continue;
            }
            bench_spin(&spins);
            if (spins % 1024 == 0 && bench_clock_ns() - last_ns > BENCH_LOST_NS) return 0;
        }
    }
    return 1;
}

static const char *tickets_wrong(const struct flood *flood)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < flood->queues && wrong == NULL; i++)
        wrong = bench_tickets_wrong(&flood->queue[i].tickets, flood->queue[i].submitted);
    return wrong;
}

static uint64_t total_submitted(const struct flood *flood)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < flood->queues; i++)
        total += flood->queue[i].submitted;
    return total;
}

/* The additions of a flood must all be in the observable word. */
static int check_additions(const struct flood *flood, vyre *runtime)
{
    uint32_t word = 0;
    vyre_error err;
    uint64_t expected = total_submitted(flood);
    if (flood->plan.op == BENCH_NOP) return 0;
    if (flood->plan.op == BENCH_PACK) expected *= BENCH_PACKED_OPS;
    if (vyre_tenant_observables(runtime, VYRE_TENANT_DEFAULT, 0, 1, &word, &err) != VYRE_OK)
        return cli_fail("cannot read an observable word", &err);
    return word == (uint32_t)expected ? 0 : bench_wrong("additions of a flood are missing");
}

/* Runs a flood for its duration and stores the mean time a slot took; 0 or an exit code. */
static int run(struct flood *flood, vyre *runtime, double *ns_a_slot)
{
    /* Two laps bring in the pages of both rings and wake the worker. */
    for (uint32_t i = 0; i < 2 * flood->plan.depth / flood->plan.batch; i++)
        if (!turn(flood)) return bench_wrong("a queue with room would not take a slot");
    if (!drain(flood)) return bench_wrong("a slot was lost");
    uint64_t before = total_submitted(flood);
    uint64_t begin = bench_clock_ns();
    uint64_t last_ns = begin;
    uint64_t last_total = before;
    for (uint64_t now = begin; now - begin < flood->plan.duration_ns; now = bench_clock_ns()) {
        for (uint32_t i = 0; i < 64; i++)
            if (!turn(flood)) return bench_wrong("a queue with room would not take a slot");
        if (total_submitted(flood) != last_total) {
            last_total = total_submitted(flood);
            last_ns = now;
        } else if (now - last_ns > BENCH_LOST_NS) {
            return bench_wrong("a slot was lost");
        }
    }
    if (!drain(flood)) return bench_wrong("a slot was lost");
    uint64_t end = bench_clock_ns();
    *ns_a_slot = (double)(end - begin) / (double)(total_submitted(flood) - before);
    const char *wrong = tickets_wrong(flood);
    if (wrong != NULL) return bench_wrong(wrong);
    return check_additions(flood, runtime);
}

static int run_session(struct bench *bench, const struct bench_setup *setup,
                       const struct flood_plan *plan, double *ns_a_slot)
{
    struct bench_session session;
    struct flood flood;
    memset(&flood, 0, sizeof flood);
    int code = bench_session_open(bench, setup, &session);
    if (code != 0) return code;
    flood.plan = *plan;
    flood.queues = session.queues;
    for (uint32_t i = 0; i < session.queues; i++)
        flood.queue[i].queue = session.queue[i];
    code = run(&flood, session.runtime, ns_a_slot);
    bench_session_close(&session);
    return code;
}

int bench_step_flood(struct bench *bench, uint32_t line)
{
    struct bench_setup setup = {1, BENCH_IN_FLIGHT, 0, VYRE_WAIT_SPIN, VYRE_DEFAULT64};
    struct flood_plan plan = {BENCH_NOP, BENCH_IN_FLIGHT, BENCH_BATCH, bench->slice_ns};
    double ns = 0;
    double operations = 1;
    switch (line) {
    case BENCH_FLOOD_32:
        plan.depth = 32;
        break;
    case BENCH_FLOOD_1:
        plan.depth = 1;
        plan.batch = 1;
        break;
    case BENCH_SEALED:
        setup.flags = VYRE_QUEUE_SEALED;
        break;
    case BENCH_ATOMIC_ADD:
        plan.op = BENCH_ADD;
        break;
    case BENCH_PACKED:
        plan.op = BENCH_PACK;
        operations = BENCH_PACKED_OPS;
        break;
    default:
        break;
    }
    int code = run_session(bench, &setup, &plan, &ns);
    if (code == 0) bench_add(bench, line, operations * 1e3 / ns);
    return code;
}

int bench_step_queues(struct bench *bench, uint32_t line)
{
    uint32_t queues = 1u << (line - BENCH_QUEUES_1);
    uint32_t slots = BENCH_IN_FLIGHT / queues;
    struct bench_setup setup = {queues, slots, 0, VYRE_WAIT_SPIN, VYRE_DEFAULT64};
    struct flood_plan plan = {BENCH_NOP, slots, BENCH_BATCH, bench->slice_ns};
    double ns = 0;
    int code = run_session(bench, &setup, &plan, &ns);
    if (code == 0) bench_add(bench, line, ns);
    return code;
}
