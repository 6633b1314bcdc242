/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The threads of lanes; see bench_lanes.h.
 *
 * A lane that keeps a rate has a time at which each batch is due. Its producer looks at the clock
 * until the next batch is due, writes down the time, fills the batch and submits it. The reaping
 * thread reads the clock after it has received completions, and takes one slot of a batch, a
 * different one each time, for a sample: from the time that was written down, before the first
 * store of the batch, to that reading. A producer that falls behind goes on from where it is, so
 * that the load never comes in one heap; the rate that was reached is reported.
 *
 * One writer a word: `submitted`, `ended` and the stamps are the producer's, `lost` the reaper's.
 */
#include "bench_lanes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REAP_MAX   256u
#define BENCH_LINE 128 /* bytes; two cache lines, which are often fetched together */
/* Twice as many as are ever in flight: what was reaped is looked at a little later. */
#define STAMPS     (2 * BENCH_LANE_SLOTS / BENCH_PACE_BATCH)
#define BEHIND_NS  1000000u /* a producer this late starts its time anew */

struct lanes;

/* Each thread writes to lines of its own: one that the other writes to as well costs a tenth of a
 * microsecond each time. */
struct lane {
    struct lanes *all;
    vyre_queue *queue;
    uint32_t number;
    uint64_t *stamps; /* of each batch in flight; NULL: nothing is sampled */
    uint64_t base;    /* ticket of the first slot that keeps a rate */
    char producer_line[BENCH_LINE];
    uint64_t submitted; /* R1 */
    uint32_t ended;     /* R1 */
    int refused;
    char reaper_line[BENCH_LINE];
    uint32_t lost;
    struct bench_tickets tickets;
    uint32_t spins;
    uint64_t end_ns;
    size_t samples;
    vyre_completion completion[REAP_MAX];
};

struct lanes {
    struct bench *bench;
    const struct bench_lane_plan *plan;
    uint64_t limit;    /* slots of each lane, where that ends first */
    uint64_t begin_ns; /* R2 */
    uint32_t hold;     /* go on, whatever the time */
    uint32_t every;    /* of so many batches one is sampled */
    struct lane lane[BENCH_MAX_LANES];
};

/* Where --pin asks for it: the CPU of this number among those that the process may use. */
static void settle(const struct lanes *all, uint32_t number)
{
    const struct bench_cpus *cpus = &all->bench->cpus;
    if (!all->bench->args->pin || cpus->count == 0) return;
    uint32_t skip = number % (uint32_t)cpus->count;
    for (int cpu = 0; cpu < BENCH_MAX_CPUS; cpu++) {
        if (!(cpus->allowed[cpu / 8] >> cpu % 8 & 1)) continue;
        if (skip-- != 0) continue;
        bench_pin(cpu);
        return;
    }
}

static int is_over(const struct lane *lane, uint64_t now)
{
    const struct lanes *all = lane->all;
    if (__atomic_load_n(&lane->lost, __ATOMIC_RELAXED)) return 1;
    if (all->limit != 0) return lane->submitted >= all->limit;
    return now - all->begin_ns >= all->plan->duration_ns &&
           !__atomic_load_n(&all->hold, __ATOMIC_RELAXED);
}

/* Fills up to a batch and submits it; returns how many it was. */
static uint32_t submit_batch(struct lane *lane, uint32_t batch)
{
    uint32_t got = bench_slots_put(lane->queue, lane->all->plan->op, batch);
    if (got == 0) return 0;
    if (vyre_queue_submit(lane->queue, NULL, NULL) != VYRE_OK) {
        lane->refused = 1;
        return 0;
    }
    __atomic_store_n(&lane->submitted, lane->submitted + got, __ATOMIC_RELEASE); /* R1 */
    return got;
}

static void flood(struct lane *lane)
{
    uint32_t spins = 0;
    while (!lane->refused && !is_over(lane, bench_clock_ns()))
        for (uint32_t i = 0; i < 16 && !lane->refused; i++)
            if (submit_batch(lane, BENCH_LANE_BATCH) == 0) bench_spin(&spins);
}

static void keep_rate(struct lane *lane)
{
    const uint32_t batch = BENCH_PACE_BATCH;
    const double interval_ns = batch / lane->all->plan->rate;
    double due = (double)bench_clock_ns();
    uint32_t spins = 0, room = 0; /* as last seen */
    for (;;) {
        uint64_t now = bench_clock_ns();
        if (lane->refused || is_over(lane, now)) return;
        if (room < batch) room = BENCH_LANE_SLOTS - vyre_queue_outstanding(lane->queue);
        if ((double)now < due || room < batch) {
            bench_spin(&spins);
            continue;
        }
        room -= batch;
        if ((double)now - due > BEHIND_NS) due = (double)now;
        due += interval_ns;
        if (lane->stamps != NULL)
            __atomic_store_n(&lane->stamps[(lane->submitted - lane->base) / batch % STAMPS], now,
                             __ATOMIC_RELEASE);
        submit_batch(lane, batch);
    }
}

/* Which slot is sampled next, after `samples` of them: of one batch in `every` one slot, a
 * different one each time. */
static uint64_t sampled_place(const struct lane *lane, uint64_t samples)
{
    return samples * lane->all->every * BENCH_PACE_BATCH + samples % BENCH_PACE_BATCH;
}

/* Looks for the one slot whose turn it is, because a thread that judged each of them would be what
 * limits the rate. Slots of one queue that keep a rate end in their order. */
static void take_samples(struct lane *lane, size_t count)
{
    struct bench *bench = lane->all->bench;
    uint64_t now = bench_clock_ns(), place = sampled_place(lane, lane->samples);
    for (size_t i = 0; i < count && lane->samples < bench->sample_capacity; i++) {
        if (lane->completion[i].ticket != lane->base + place) continue;
        uint64_t *stamp = &lane->stamps[place / BENCH_PACE_BATCH % STAMPS];
        bench->samples[lane->samples++] =
            bench_sample(now - __atomic_load_n(stamp, __ATOMIC_ACQUIRE));
        place = sampled_place(lane, lane->samples);
    }
}

/* Reaps what is there; returns how many. */
static size_t reap(struct lane *lane)
{
    size_t count = 0;
    vyre_queue_reap(lane->queue, lane->completion, REAP_MAX, &count, NULL);
    bench_tickets_add(&lane->tickets, lane->completion, count);
    if (count != 0 && lane->stamps != NULL && lane->all->limit == 0) take_samples(lane, count);
    return count;
}

static void *reap_all(void *ctx)
{
    struct lane *lane = ctx;
    settle(lane->all, 1 + 2 * lane->number + 1);
    uint64_t last_ns = bench_clock_ns();
    for (;;) {
        if (reap(lane) != 0) {
            lane->spins = 0;
            continue;
        }
        bench_spin(&lane->spins);
        if (__atomic_load_n(&lane->ended, __ATOMIC_ACQUIRE) && /* pairs with R1 */
            lane->tickets.received == __atomic_load_n(&lane->submitted, __ATOMIC_ACQUIRE))
            break;
        if (lane->spins == 1) last_ns = bench_clock_ns();
        if (lane->spins % 1024 == 0 && bench_clock_ns() - last_ns > BENCH_LOST_NS) {
            __atomic_store_n(&lane->lost, 1, __ATOMIC_RELAXED);
            break;
        }
    }
    lane->end_ns = bench_clock_ns();
    return NULL;
}

static void *submit_all(void *ctx)
{
    struct lane *lane = ctx;
    settle(lane->all, 1 + 2 * lane->number);
    while (__atomic_load_n(&lane->all->begin_ns, __ATOMIC_ACQUIRE) == 0) /* pairs with R2 */
        bench_yield();
    if (lane->all->plan->rate > 0 && lane->all->limit == 0)
        keep_rate(lane);
    else
        flood(lane);
    __atomic_store_n(&lane->ended, 1, __ATOMIC_RELEASE); /* R1 */
    return NULL;
}

/* One thread: submits where there is room, and reaps after each batch. */
static void *do_both(void *ctx)
{
    struct lane *lane = ctx;
    uint64_t last_ns = bench_clock_ns();
    int over = 0;
    while (!over || lane->tickets.received != lane->submitted) {
        uint32_t moved = 0;
        for (uint32_t i = 0; i < 16 && !over && !lane->refused; i++) {
            moved += submit_batch(lane, BENCH_LANE_BATCH);
            moved += (uint32_t)reap(lane);
        }
        if (over) moved += (uint32_t)reap(lane);
        uint64_t now = bench_clock_ns();
        over = over || lane->refused || is_over(lane, now);
        if (moved != 0) last_ns = now;
        if (now - last_ns > BENCH_LOST_NS) {
            lane->lost = 1;
            break;
        }
    }
    lane->end_ns = bench_clock_ns();
    return NULL;
}

/* Runs all lanes once; -1: no thread to be had. */
static int run_threads(struct lanes *all)
{
    const struct bench_lane_plan *plan = all->plan;
    pthread_t thread[2 * BENCH_MAX_LANES];
    uint32_t started = 0;
    int failed = 0;
    all->begin_ns = plan->alone ? bench_clock_ns() : 0;
    all->hold = plan->during != NULL && all->limit == 0;
    for (uint32_t i = 0; i < plan->lanes; i++) {
        struct lane *lane = &all->lane[i];
        lane->ended = 0;
        if (plan->alone) {
            do_both(lane);
            continue;
        }
        failed = failed || pthread_create(&thread[started], NULL, reap_all, lane) != 0;
        started += !failed;
        failed = failed || pthread_create(&thread[started], NULL, submit_all, lane) != 0;
        started += !failed;
        if (failed && started % 2 == 1) lane->ended = 1;
    }
    if (!plan->alone) __atomic_store_n(&all->begin_ns, bench_clock_ns(), __ATOMIC_RELEASE); /* R2 */
    if (all->hold) {
        plan->during(plan->ctx);
        __atomic_store_n(&all->hold, 0, __ATOMIC_RELAXED);
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    return failed ? -1 : 0;
}

/* Two laps bring in the pages of the rings and wake the device; then the lanes proper. */
static int run_twice(struct lanes *all, struct bench_lane_result *result)
{
    const struct bench_lane_plan *plan = all->plan;
    uint64_t before[BENCH_MAX_LANES];
    uint64_t end_ns = 0;
    const char *wrong = NULL;
    all->limit = 2 * BENCH_LANE_SLOTS;
    if (run_threads(all) != 0) return bench_wrong("no thread to be had");
    for (uint32_t i = 0; i < plan->lanes; i++)
        before[i] = all->lane[i].base = all->lane[i].submitted;
    all->limit = 0;
    if (run_threads(all) != 0) return bench_wrong("no thread to be had");
    memset(result, 0, sizeof *result);
    for (uint32_t i = 0; i < plan->lanes && wrong == NULL; i++) {
        struct lane *lane = &all->lane[i];
        if (lane->refused) wrong = "a queue with room would not take a slot";
        if (wrong == NULL) wrong = bench_tickets_wrong(&lane->tickets, lane->submitted);
        result->slots += lane->submitted - before[i];
        result->samples += lane->samples;
        if (lane->end_ns > end_ns) end_ns = lane->end_ns;
    }
    if (wrong != NULL) return bench_wrong(wrong);
    result->rate = (double)result->slots / (double)(end_ns - all->begin_ns);
    return 0;
}

/* What the additions of all lanes must come to. */
static int check_additions(const struct lanes *all, vyre *runtime, uint32_t before)
{
    uint32_t word = 0;
    uint64_t expected = 0;
    vyre_error err;
    if (all->plan->op != BENCH_ADD && all->plan->op != BENCH_PACK) return 0;
    for (uint32_t i = 0; i < all->plan->lanes; i++)
        expected += all->lane[i].submitted;
    if (all->plan->op == BENCH_PACK) expected *= BENCH_PACKED_OPS;
    if (vyre_tenant_observables(runtime, VYRE_TENANT_DEFAULT, 0, 1, &word, &err) != VYRE_OK)
        return cli_fail("cannot read an observable word", &err);
    return word - before == (uint32_t)expected ? 0
                                               : bench_wrong("additions of a flood are missing");
}

static int open_lanes(struct lanes *all, vyre *runtime)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    options.slots = BENCH_LANE_SLOTS;
    options.flags = all->plan->flags;
    options.wait_mode = VYRE_WAIT_SPIN;
    for (uint32_t i = 0; i < all->plan->lanes; i++) {
        struct lane *lane = &all->lane[i];
        lane->all = all;
        lane->number = i;
        vyre_status status = vyre_queue_open(runtime, &options, &lane->queue, &err);
        if (status == VYRE_E_UNSUPPORTED) return -1;
        if (status != VYRE_OK) return cli_fail("cannot open a queue", &err);
        if (!all->plan->sampling) continue;
        lane->stamps = calloc(STAMPS, sizeof lane->stamps[0]);
        if (lane->stamps == NULL) return bench_wrong("no memory for samples");
    }
    return 0;
}

int bench_lanes_run(struct bench *bench, vyre *runtime, const struct bench_lane_plan *plan,
                    struct bench_lane_result *result)
{
    struct lanes *all = calloc(1, sizeof *all);
    uint32_t before = 0;
    vyre_error err;
    if (all == NULL) return bench_wrong("no memory for the lanes");
    all->bench = bench;
    all->plan = plan;
    double batches = plan->rate * (double)plan->duration_ns / BENCH_PACE_BATCH;
    all->every = (uint32_t)(batches / (double)bench->sample_capacity) + 1;
    int code = open_lanes(all, runtime);
    if (code == 0 &&
        vyre_tenant_observables(runtime, VYRE_TENANT_DEFAULT, 0, 1, &before, &err) != VYRE_OK)
        code = cli_fail("cannot read an observable word", &err);
    if (code == 0) code = run_twice(all, result);
    if (code == 0) code = check_additions(all, runtime, before);
    for (uint32_t i = 0; i < plan->lanes; i++) {
        vyre_queue_close(all->lane[i].queue);
        free(all->lane[i].stamps);
    }
    free(all);
    return code;
}
