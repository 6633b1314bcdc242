/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How long one slot takes from before its first store to after the load that sees its completion:
 * with both sides spinning, and after the runtime has gone to sleep, where each wake of vyre stands
 * beside one of a bare futex. Steps of `vyre bench dispatch`.
 */
#include "bench_dispatch.h"

#define WARM_UP 2000u

/* Longer than any slice: the worker never sleeps. */
#define SPIN_FOR_EVER_NS 60000000000ull

/* How long everybody is left alone before a wake: well past the library's own idle spin. */
#define IDLE_NS 5000000ull

int bench_step_round_trip(struct bench *bench, uint32_t line)
{
    static const struct bench_percentiles lines = {BENCH_ROUND_TRIP,     BENCH_NONE,
                                                   BENCH_ROUND_TRIP_P99, BENCH_ROUND_TRIP_P999,
                                                   BENCH_ROUND_TRIP_MAX, 1};
    struct bench_setup setup = {1, BENCH_IN_FLIGHT, 0, VYRE_WAIT_SPIN, SPIN_FOR_EVER_NS};
    struct bench_session session;
    size_t count = 0;
    (void)line;
    int code = bench_session_open(bench, &setup, &session);
    if (code != 0) return code;
    for (uint32_t i = 0; i < WARM_UP && code == 0; i++)
        code = bench_round_trip(session.queue[0], NULL);
    uint64_t until = bench_clock_ns() + bench->slice_ns;
    while (code == 0 && count < bench->sample_capacity) {
        uint64_t took = 0;
        code = bench_round_trip(session.queue[0], &took);
        bench->samples[count++] = bench_sample(took);
        if (count % 256 == 0 && bench_clock_ns() > until) break;
    }
    bench_session_close(&session);
    if (code == 0) bench_add_percentiles(bench, &lines, bench->samples, count);
    return code;
}

/* Wakes the runtime and the bare thread in turn, each after the same rest; `count` samples of the
 * runtime stand first, those of the thread after them. */
static int wake_in_turn(struct bench *bench, vyre_queue *queue, struct peer_sleeper *sleeper,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t took = 0;
        bench_sleep_ns(IDLE_NS);
        int code = bench_round_trip(queue, &took);
        if (code != 0) return code;
        bench->samples[i] = bench_sample(took);
        bench_sleep_ns(IDLE_NS);
        took = peer_sleeper_wake(sleeper);
        bench->samples[count + i] = bench_sample(took);
    }
    return 0;
}

int bench_step_wake(struct bench *bench, uint32_t line)
{
    static const struct bench_percentiles ours = {BENCH_WAKE, BENCH_WAKE_P90, BENCH_NONE,
                                                  BENCH_NONE, BENCH_NONE,     1e3};
    static const struct bench_percentiles bare = {
        BENCH_FUTEX_WAKE, BENCH_FUTEX_WAKE_P90, BENCH_NONE, BENCH_NONE, BENCH_NONE, 1e3};
    struct bench_setup setup = {1, BENCH_IN_FLIGHT, 0, VYRE_WAIT_SPIN, VYRE_DEFAULT64};
    struct bench_session session;
    size_t count = (size_t)(bench->slice_ns / IDLE_NS) + 4; /* of each, so twice a slice */
    (void)line;
    if (count > bench->sample_capacity / 2) count = bench->sample_capacity / 2;
    int code = bench_session_open(bench, &setup, &session);
    if (code != 0) return code;
    struct peer_sleeper *sleeper = peer_sleeper_open(bench->cpus.consumer);
    if (sleeper == NULL)
        code = bench_wrong("no memory or no thread for a peer");
    else
        code = wake_in_turn(bench, session.queue[0], sleeper, count);
    peer_sleeper_close(sleeper);
    bench_session_close(&session);
    if (code != 0) return code;
    bench_add_percentiles(bench, &ours, bench->samples, count);
    bench_add_percentiles(bench, &bare, bench->samples + count, count);
    return 0;
}
