/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runs the peers of bench/ as steps of `vyre bench dispatch`: rates and the ping-pong.
 */
#include "bench_dispatch.h"

typedef void (*peer_rate_fn)(const struct peer_run *run, struct peer_rate *rate);

static peer_rate_fn peer_of(uint32_t line)
{
    switch (line) {
    case BENCH_CK_RING:
        return peer_ck_ring;
    case BENCH_URING:
        return peer_uring_nop;
    case BENCH_MUTEX:
        return peer_mutex_queue;
    case BENCH_MUTEX_32:
        return peer_mutex_queue_batched;
    default:
        return peer_spsc_ring;
    }
}

int bench_step_peer(struct bench *bench, uint32_t line)
{
    struct peer_run run = {bench->cpus, bench->slice_ns};
    struct peer_rate rate;
    peer_of(line)(&run, &rate);
    if (rate.state == PEER_WRONG) return bench_wrong(rate.note);
    if (rate.note[0] != '\0') bench_note(bench, line, rate.note);
    if (rate.state == PEER_OK)
        bench_add(bench, line, (double)rate.items * 1e3 / (double)rate.elapsed_ns);
    return 0;
}

int bench_step_ping_pong(struct bench *bench, uint32_t line)
{
    static const struct bench_percentiles lines = {BENCH_PING_PONG,     BENCH_NONE,
                                                   BENCH_PING_PONG_P99, BENCH_PING_PONG_P999,
                                                   BENCH_PING_PONG_MAX, 1};
    struct peer_run run = {bench->cpus, bench->slice_ns};
    size_t count = 0;
    (void)line;
    if (peer_pingpong(&run, bench->samples, bench->sample_capacity, &count) != 0)
        bench_note(bench, BENCH_PING_PONG, "no thread to be had");
    else
        bench_add_percentiles(bench, &lines, bench->samples, count);
    return 0;
}
