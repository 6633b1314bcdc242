/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Small programs: how long one takes beside a NOP, what a slot of the least one costs, and many
 * jobs with data of their own, all from one thread. Steps of `vyre bench vm` on a device.
 */
#include <string.h>

#include "bench_vm_cuda.h"

#define WARM_UP    200u
#define PACK       128u /* slots that are published together */
#define REAP       256u
#define FEW_GROUPS 4u
#define FEW_LANES  64u
#define TINY_SLOTS 10000u
#define DRIFT_NS   5000u
#define LOST_NS    120000000000ull

/* A pass: runs of one program, the slots of all in flight before the first is received. */
struct pass {
    struct gpu_run run;
    uint32_t slots;
    uint32_t apart; /* elements from one to the next; 0: scalars stay as they are */
};

static int put_slots(struct gpu_state *state, const struct pass *pass, uint64_t *first)
{
    struct gpu_run run = pass->run;
    uint32_t put = 0;
    vyre_error err;
    while (put < pass->slots) {
        uint32_t count = 0;
        uint32_t wanted = pass->slots - put < PACK ? pass->slots - put : PACK;
        uint64_t ticket = 0;
        vyre_slot *slot = vyre_queue_slots(state->queue, wanted, &count);
        if (slot == NULL) return bench_wrong("an empty queue says that it is full");
        for (uint32_t i = 0; i < count; i++) {
            if (pass->apart != 0) run.scalars[1] = (put + i) * pass->apart;
            int code = gpu_prepare(state, slot + i, &run);
            if (code != 0) return code;
        }
        if (vyre_queue_submit(state->queue, &ticket, &err) != VYRE_OK)
            return cli_fail("cannot submit slots", &err);
        if (put == 0) *first = ticket;
        put += count;
    }
    return 0;
}

/* Each ticket must come once; a sum tells. */
static int reap(struct gpu_state *state, const struct pass *pass, uint64_t first)
{
    vyre_completion completion[REAP];
    vyre_error err;
    uint64_t sum = 0;
    uint32_t received = 0;
    while (received < pass->slots) {
        size_t count = 0;
        if (vyre_queue_reap_wait(state->queue, completion, 1, REAP, LOST_NS, &count, &err) !=
            VYRE_OK)
            return cli_fail("cannot wait for jobs", &err);
        for (size_t i = 0; i < count; i++) {
            if (completion[i].outcome != VYRE_DONE) return bench_wrong("a job did not end as done");
            sum += completion[i].ticket - first;
        }
        received += (uint32_t)count;
    }
    return sum == (uint64_t)pass->slots * (pass->slots - 1) / 2
               ? 0
               : bench_wrong("a job was lost or came twice");
}

static int run_pass(struct gpu_state *state, const struct pass *pass)
{
    uint64_t first = 0;
    int code = put_slots(state, pass, &first);
    return code == 0 ? reap(state, pass, first) : code;
}

/* Runs passes; *ns receives the median time of one, from before the first slot is prepared until
 * the last completion was received. */
static int time_passes(struct bench *bench, const struct pass *pass, uint64_t duration_ns,
                       double *ns)
{
    struct gpu_state *state = bench->state;
    size_t count = 0;
    int code = run_pass(state, pass);
    uint64_t end = bench_clock_ns() + duration_ns;
    while (code == 0 && count < bench->sample_capacity) {
        uint64_t begin = bench_clock_ns();
        code = run_pass(state, pass);
        uint64_t now = bench_clock_ns();
        bench->samples[count++] = bench_sample(now - begin);
        if (now > end) break;
    }
    if (code == 0) *ns = gpu_median(bench->samples, count);
    return code;
}

/* Jobs of so many elements: spoilt, timed, checked. */
static int time_jobs(struct bench *bench, uint32_t line, const struct pass *pass,
                     uint64_t duration_ns, double *ns)
{
    struct gpu_state *state = bench->state;
    int code = gpu_load(bench, pass->run.kernel);
    if (code == 0) code = gpu_spoil(bench, pass->slots * pass->apart);
    if (code == 0) code = time_passes(bench, pass, duration_ns, ns);
    vm_gpu_saxpy(&state->blocks, state->exact);
    return code == 0 ? gpu_check_floats(bench, line, pass->slots * pass->apart) : code;
}

static struct pass job_pass(uint32_t jobs, uint32_t elements)
{
    struct pass pass = {
        {GPU_KERNEL_saxpy_grid, elements / GPU_SHARE, {gpu_bits(GPU_A), 0}}, jobs, elements};
    return pass;
}

int bench_step_gpu_jobs(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    struct pass pass = job_pass(state->sizes.jobs, GPU_SHARE);
    double ns = 0;
    int code = gpu_ready(bench);
    if (code == 0) code = time_jobs(bench, line, &pass, bench->slice_ns, &ns);
    if (code != 0) return code;
    bench_add(bench, line, pass.slots * 1e3 / ns);
    bench_add(bench, GPU_LINE_JOBS_MS, ns / 1e6);
    return 0;
}

int bench_step_gpu_job_sizes(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    int code = gpu_need_native(bench, line, GPU_LINE_NATIVE_JOB_1K);
    if (code == 0) code = gpu_ready(bench);
    for (uint32_t i = 0; i < GPU_JOB_SIZES && code == 0; i++) {
        struct pass pass = job_pass(vm_gpu_jobs(&state->sizes, i), GPU_SIZE(i));
        double ns = 0;
        if (pass.slots == 0) break;
        code = time_jobs(bench, line + i, &pass, bench->slice_ns / 2, &ns);
        if (code == 0) bench_add(bench, line + i, ns / pass.slots / 1e3);
    }
    if (code == 0)
        gpu_break_even(bench, line, GPU_LINE_NATIVE_JOB_1K, GPU_JOB_SIZES,
                       GPU_LINE_BREAK_EVEN_JOBS);
    return code;
}

int bench_step_gpu_slot(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    struct pass pass = {{GPU_KERNEL_tiny, 1, {0}}, TINY_SLOTS, 0};
    const uint32_t *got = (const uint32_t *)(const void *)state->room;
    double ns = 0;
    if (pass.slots > state->sizes.elements / 32) pass.slots = state->sizes.elements / 32;
    int code = gpu_ready(bench);
    if (code == 0) code = gpu_load(bench, GPU_KERNEL_tiny);
    if (code == 0) code = gpu_spoil(bench, GPU_WARP_LANES);
    if (code == 0) code = time_passes(bench, &pass, bench->slice_ns, &ns);
    if (code == 0) code = gpu_read(bench, GPU_RESULT, 0, GPU_WARP_LANES);
    for (uint32_t i = 0; i < GPU_WARP_LANES && code == 0; i++)
        if (got[i] != i) code = bench_wrong("the least program gives a wrong result");
    if (code == 0) bench_add(bench, line, ns / pass.slots);
    return code;
}

/* Waits for some time, at most a few of the device's looks at its queues: slots that follow each
 * other at once meet the device always at the same moment between two looks, and then what is saved
 * here is lost there. */
static void drift(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    uint64_t end = bench_clock_ns() + (*random >> 33) % DRIFT_NS;
    while (bench_clock_ns() < end) {}
}

/* A NOP and the program in turn, so that what disturbs one disturbs the other. */
static int sample_small(struct bench *bench, const struct gpu_run *run, size_t *count)
{
    struct gpu_state *state = bench->state;
    size_t most = bench->sample_capacity / 2;
    vyre_completion completion;
    int code = 0;
    uint64_t random = 0x5DEECE66Du, end = bench_clock_ns() + bench->slice_ns;
    for (uint32_t i = 0; i < WARM_UP && code == 0 && bench_clock_ns() < end; i++)
        code = gpu_run_once(bench, run, &completion);
    end = bench_clock_ns() + bench->slice_ns;
    for (*count = 0; *count < most && code == 0; ++*count) {
        uint64_t took = 0;
        drift(&random);
        code = bench_round_trip(state->queue, &took);
        bench->samples[*count] = bench_sample(took);
        if (code != 0) break;
        drift(&random);
        uint64_t begin = bench_clock_ns();
        code = gpu_run_once(bench, run, &completion);
        uint64_t now = bench_clock_ns();
        bench->samples[most + *count] = bench_sample(now - begin);
        if (*count != 0 && now > end) break;
    }
    return code;
}

int bench_step_gpu_small(struct bench *bench, uint32_t line)
{
    static const struct bench_percentiles nop = {GPU_LINE_NOP, BENCH_NONE, GPU_LINE_NOP_P99,
                                                 BENCH_NONE,   BENCH_NONE, 1e3};
    static const struct bench_percentiles small = {GPU_LINE_SMALL, BENCH_NONE, GPU_LINE_SMALL_P99,
                                                   BENCH_NONE,     BENCH_NONE, 1e3};
    struct gpu_state *state = bench->state;
    struct gpu_run run = {GPU_KERNEL_saxpy_few, FEW_GROUPS, {gpu_bits(GPU_A)}};
    uint32_t *samples = bench->samples;
    size_t count = 0;
    int code = gpu_ready(bench);
    if (code == 0) code = gpu_load(bench, run.kernel);
    if (code == 0) code = gpu_spoil(bench, FEW_GROUPS * FEW_LANES);
    if (code == 0) code = sample_small(bench, &run, &count);
    vm_gpu_saxpy(&state->blocks, state->exact);
    if (code == 0) code = gpu_check_floats(bench, line, FEW_GROUPS * FEW_LANES);
    if (code != 0) return code;
    bench_add_percentiles(bench, &nop, samples, count);
    bench_add_percentiles(bench, &small, samples + bench->sample_capacity / 2, count);
    const struct bench_series *ours = &bench->series[GPU_LINE_SMALL];
    const struct bench_series *nops = &bench->series[GPU_LINE_NOP];
    if (ours->count != 0 && nops->count != 0)
        bench_add(bench, GPU_LINE_ABOVE_NOP,
                  ours->value[ours->count - 1] - nops->value[nops->count - 1]);
    return 0;
}
