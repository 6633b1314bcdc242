/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Producers side by side: each lane is a queue of its own with a thread that submits and a thread
 * that reaps (or one thread that does both). A lane floods, or keeps to a rate; then it can also
 * sample how long slots take. Called by the steps of the benchmark of a device.
 */
#ifndef VYRE_CLI_BENCH_LANES_H
#define VYRE_CLI_BENCH_LANES_H

#include "bench.h"
#include "bench_slots.h"

#define BENCH_MAX_LANES  4u
#define BENCH_LANE_SLOTS 16384u
#define BENCH_LANE_BATCH 128u /* slots a submit in a flood */
#define BENCH_PACE_BATCH 16u  /* and where a rate is kept */

struct bench_lane_plan {
    enum bench_op op;
    uint32_t lanes;
    uint32_t flags; /* enum vyre_queue_flag */
    int alone;      /* one thread submits and reaps */
    double rate;    /* slots a nanosecond of each lane; 0: as many as go */
    uint64_t duration_ns;
    int sampling; /* into bench->samples; one lane that keeps a rate */
    /* Called once while the lanes are under way, which then go on until it has returned. */
    void (*during)(void *ctx);
    void *ctx;
};

struct bench_lane_result {
    uint64_t slots;
    double rate;    /* slots a nanosecond, of all lanes together */
    size_t samples; /* nanoseconds each, in bench->samples */
};

/* Opens the queues, runs the lanes, checks every ticket. 0 or an exit code. -1: the device has no
 * such queues (flags). */
int bench_lanes_run(struct bench *bench, vyre *runtime, const struct bench_lane_plan *plan,
                    struct bench_lane_result *result);

#endif
