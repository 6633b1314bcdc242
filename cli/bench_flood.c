/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Floods: one thread fills, submits and reaps as fast as it can, with a bounded number of slots in
 * flight, over one queue or several in turn. A slot counts when it was filled, submitted, checked,
 * executed, completed and reaped.
 *
 * Tickets come in any order, so each queue's are checked by their number, their sum and the sum of
 * their squares; a lost, doubled or foreign completion changes at least one of the three.
 */
#include <string.h>

#include "bench_dispatch.h"

enum flood_op { FLOOD_NOP, FLOOD_ATOMIC_ADD, FLOOD_PACKED };

/* Inner operations of a packed slot: four additions fill its twelve words. */
#define PACKED_OPS 4u
#define REAP_MAX   64u

struct flood_plan {
    enum flood_op op;
    uint32_t depth; /* in flight in each queue, at most */
    uint32_t batch; /* slots a submit */
    uint64_t duration_ns;
};

struct flood_queue {
    vyre_queue *queue;
    uint64_t submitted;
    uint64_t reaped;
    uint64_t ticket_sum;
    uint64_t square_sum;
    uint64_t not_done;
};

struct flood {
    struct flood_plan plan;
    uint32_t queues;
    uint32_t spins;
    struct flood_queue queue[BENCH_MAX_QUEUES];
    vyre_completion completion[REAP_MAX];
};

/* ATOMIC_ADD in wire form: addend, word. */
static const uint32_t add_args[2] = {1, VYRE_CONTROL_OBSERVABLE};

static void fill(vyre_slot *slot, enum flood_op op)
{
    static const vyre_packed_op inner[PACKED_OPS] = {{VYRE_OP_ATOMIC_ADD, 2, add_args},
                                                     {VYRE_OP_ATOMIC_ADD, 2, add_args},
                                                     {VYRE_OP_ATOMIC_ADD, 2, add_args},
                                                     {VYRE_OP_ATOMIC_ADD, 2, add_args}};
    if (op == FLOOD_NOP)
        vyre_prep_nop(slot, NULL);
    else if (op == FLOOD_ATOMIC_ADD)
        vyre_prep_atomic_add(slot, add_args[1], add_args[0], NULL);
    else
        vyre_prep_packed(slot, inner, PACKED_OPS, NULL);
}

/* Submits one batch; 0 if the queue would not take it. */
static int submit_batch(struct flood_queue *q, const struct flood_plan *plan)
{
    for (uint32_t i = 0; i < plan->batch; i++) {
        vyre_slot *slot = vyre_queue_slot(q->queue);
        if (slot == NULL) return 0;
        fill(slot, plan->op);
    }
    q->submitted += plan->batch;
    return vyre_queue_submit(q->queue, NULL, NULL) == VYRE_OK;
}

/* Reaps what is there, up to REAP_MAX; returns how many. */
static size_t reap(struct flood *flood, struct flood_queue *q)
{
    size_t count = 0;
    vyre_queue_reap(q->queue, flood->completion, REAP_MAX, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        uint64_t ticket = flood->completion[i].ticket;
        q->ticket_sum += ticket;
        q->square_sum += ticket * ticket;
        q->not_done += flood->completion[i].outcome != VYRE_DONE;
    }
    q->reaped += count;
    return count;
}

/* One turn over the queues: each gets a batch where there is room, and is reaped where not. */
static int turn(struct flood *flood)
{
    for (uint32_t i = 0; i < flood->queues; i++) {
        struct flood_queue *q = &flood->queue[i];
        if (q->submitted - q->reaped + flood->plan.batch > flood->plan.depth && reap(flood, q) == 0)
            bench_spin(&flood->spins);
        if (q->submitted - q->reaped + flood->plan.batch > flood->plan.depth) continue;
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
        while (q->reaped != q->submitted) {
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

/* 0 + 1 + ... + n-1 and the sum of their squares, modulo 2^64. */
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

static const char *tickets_wrong(const struct flood *flood)
{
    for (uint32_t i = 0; i < flood->queues; i++) {
        const struct flood_queue *q = &flood->queue[i];
        if (q->not_done != 0) return "a slot of a flood did not end as done";
        if (q->ticket_sum != sum_below(q->submitted) ||
            q->square_sum != squares_below(q->submitted))
            return "a flood's tickets do not add up: one was lost, doubled or changed";
    }
    return NULL;
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
    if (flood->plan.op == FLOOD_NOP) return 0;
    if (flood->plan.op == FLOOD_PACKED) expected *= PACKED_OPS;
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
    struct flood_plan plan = {FLOOD_NOP, BENCH_IN_FLIGHT, BENCH_BATCH, bench->slice_ns};
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
        plan.op = FLOOD_ATOMIC_ADD;
        break;
    case BENCH_PACKED:
        plan.op = FLOOD_PACKED;
        operations = PACKED_OPS;
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
    struct flood_plan plan = {FLOOD_NOP, slots, BENCH_BATCH, bench->slice_ns};
    double ns = 0;
    int code = run_session(bench, &setup, &plan, &ns);
    if (code == 0) bench_add(bench, line, ns);
    return code;
}
