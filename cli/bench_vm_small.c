/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What it costs to begin: one small launch at a time beside PoCL, an instruction of a single lane,
 * and reading a program. Steps of `vyre bench vm`.
 */
#include <string.h>

#include "bench_vm.h"

#define WARM_UP 200u

int bench_step_vm_pocl(struct bench *bench, uint32_t line)
{
    struct vm_state *state = bench->state;
    struct vm_pocl_rate rate;
    enum vm_pocl_device device = line == VM_LINE_POCL ? VM_POCL_PTHREAD : VM_POCL_BASIC;
    if (state->pocl == NULL) {
        bench_note(bench, line, "no process to be had");
        return 0;
    }
    vm_pocl_measure(state->pocl, device, bench->slice_ns, &rate);
    if (rate.state == PEER_WRONG) return bench_wrong(rate.note);
    if (rate.note[0] != '\0') bench_note(bench, line, rate.note);
    if (rate.state != PEER_OK) return 0;
    bench_add(bench, line, (double)rate.launches * 1e6 / (double)rate.elapsed_ns);
    bench_add(bench, line + 1, rate.p50_ns / 1e3);
    return 0;
}

static int place_small(struct vm_state *state)
{
    static const size_t bytes = VM_SAXPY_SMALL_COUNT * sizeof(float);
    const struct vm_problem *problem = &vm_problems[0];
    struct vm_wanted wanted = {.program = &vm_program_saxpy_small,
                               .in_bytes = {bytes, bytes},
                               .out_bytes = bytes,
                               .count = VM_SAXPY_SMALL_COUNT,
                               .groups = VM_SAXPY_SMALL_COUNT / VM_LANES};
    if (state->small.program != NULL) return 0;
    int code = vm_place(state->session.runtime, &wanted, &state->small);
    if (code != 0) return code;
    problem->scalars(state->small.arrays.scalar, VM_SAXPY_SMALL_COUNT);
    for (uint32_t i = 0; i < 2; i++) {
        void *memory = NULL;
        vyre_buffer_map(state->small.in[i], &memory, NULL);
        problem->fill(memory, i, VM_SAXPY_SMALL_COUNT);
    }
    return 0;
}

static int check_small(const struct vm_placed *small)
{
    float exact[VM_SAXPY_SMALL_COUNT];
    struct vm_arrays arrays = small->arrays;
    arrays.out = exact;
    vm_exact_saxpy(&arrays);
    return memcmp(small->arrays.out, exact, sizeof exact) == 0
               ? 0
               : bench_wrong("a small program gives another result than the same in C");
}

int bench_step_vm_small(struct bench *bench, uint32_t line)
{
    static const struct bench_percentiles lines = {VM_LINE_SMALL_P50, BENCH_NONE, BENCH_NONE,
                                                   BENCH_NONE,        BENCH_NONE, 1e3};
    struct vm_state *state = bench->state;
    vyre_completion completion;
    uint64_t runs = 0;
    int code = place_small(state);
    for (uint32_t i = 0; i < WARM_UP && code == 0; i++)
        code = vm_placed_run(&state->small, state->session.queue[0], &completion);
    if (code != 0) return code;
    memset(state->small.arrays.out, 0xA5, VM_SAXPY_SMALL_COUNT * sizeof(float));
    uint64_t begin = bench_clock_ns();
    uint64_t last = begin;
    while (last - begin < bench->slice_ns) {
        code = vm_placed_run(&state->small, state->session.queue[0], &completion);
        if (code != 0) return code;
        uint64_t now = bench_clock_ns();
        bench->samples[runs++ % bench->sample_capacity] = bench_sample(now - last);
        last = now;
    }
    code = check_small(&state->small);
    if (code != 0) return code;
    bench_add(bench, line, (double)runs * 1e6 / (double)(last - begin));
    bench_add_percentiles(bench, &lines, bench->samples,
                          runs < bench->sample_capacity ? (size_t)runs : bench->sample_capacity);
    return 0;
}

static uint32_t lane_result(void)
{
    uint32_t x = 1;
    for (uint32_t i = 0; i < VM_LANE_ROUNDS; i++) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 16;
    }
    return x;
}

int bench_step_vm_lane(struct bench *bench, uint32_t line)
{
    struct vm_state *state = bench->state;
    struct vm_wanted wanted = {
        .program = &vm_program_lane, .out_bytes = sizeof(uint32_t), .count = 1, .groups = 1};
    vyre_completion completion;
    uint64_t steps = 0, now = 0;
    uint32_t result = 0;
    int code = 0;
    if (state->lane.program == NULL) code = vm_place(state->session.runtime, &wanted, &state->lane);
    if (code != 0) return code;
    memset(state->lane.arrays.out, 0, sizeof result);
    uint64_t begin = bench_clock_ns();
    do {
        code = vm_placed_run(&state->lane, state->session.queue[0], &completion);
        if (code != 0) return code;
        steps += completion.steps;
        now = bench_clock_ns();
    } while (now - begin < bench->slice_ns);
    memcpy(&result, state->lane.arrays.out, sizeof result);
    if (result != lane_result())
        return bench_wrong("a program of one lane gives another result than the same in C");
    bench_add(bench, line, (double)steps * 1e3 / (double)(now - begin));
    return 0;
}

/* How long it takes to make a kernel of something, over and over. */
static int measure_making(struct bench *bench, uint32_t line, const struct vm_bytes *from,
                          vyre_status (*make)(const struct vm_bytes *from, vyre_kernel **kernel,
                                              vyre_error *err))
{
    struct bench_percentiles lines = {line, BENCH_NONE, BENCH_NONE, BENCH_NONE, BENCH_NONE, 1e3};
    size_t count = 0;
    uint64_t begin = bench_clock_ns();
    uint64_t now = begin;
    while (count < bench->sample_capacity && (count == 0 || now - begin < bench->slice_ns)) {
        vyre_kernel *kernel = NULL;
        vyre_error err;
        uint64_t start = bench_clock_ns();
        vyre_status status = make(from, &kernel, &err);
        now = bench_clock_ns();
        vyre_kernel_free(kernel);
        if (status != VYRE_OK) return cli_fail("cannot make a kernel", &err);
        bench->samples[count++] = bench_sample(now - start);
    }
    bench_add_percentiles(bench, &lines, bench->samples, count);
    return 0;
}

static vyre_status read_kernel(const struct vm_bytes *from, vyre_kernel **kernel, vyre_error *err)
{
    return vyre_kernel_read(from->bytes, from->length, NULL, kernel, err);
}

static vyre_status compile_kernel(const struct vm_bytes *from, vyre_kernel **kernel,
                                  vyre_error *err)
{
    return vyre_kernel_compile((const char *)from->bytes, from->length, NULL, kernel, err);
}

int bench_step_vm_load(struct bench *bench, uint32_t line)
{
    return measure_making(bench, line, &vm_program_nodes_200, read_kernel);
}

int bench_step_vm_compile(struct bench *bench, uint32_t line)
{
    return measure_making(bench, line, &vm_program_source_200, compile_kernel);
}
