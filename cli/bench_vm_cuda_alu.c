/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Plain arithmetic in a long loop, by the registers of a lane: over as many lanes as the device
 * takes, and on one warp alone, which says what an instruction costs by itself. Steps of `vyre
 * bench vm` on a device. What is counted are the steps that completions report, one instruction of
 * up to 32 lanes each; no lane is ever masked.
 */
#include "bench_vm_cuda.h"

#define STEP_LANES 32u
#define LOOKED_AT  256u /* lanes whose result is compared */

/* Rounds of the loops: of long runs, and where the problem was made small for a slow device. */
#define ALU_ROUNDS  64u
#define ALU_SHORT   4u
#define WARP_ROUNDS 4096u
#define WARP_SHORT  64u

static uint32_t registers_of(uint32_t index)
{
    return 8u << index;
}

static uint32_t rounds_of(const struct gpu_state *state, uint32_t many, uint32_t few)
{
    return state->sizes.elements < GPU_BLOCK ? few : many;
}

/* Lanes spread over the result. */
static int check(struct bench *bench, uint32_t registers, uint32_t lanes, uint32_t rounds)
{
    struct gpu_state *state = bench->state;
    const uint32_t *got = (const uint32_t *)(const void *)state->room;
    uint32_t looked = lanes < LOOKED_AT ? lanes : LOOKED_AT;
    uint32_t piece = lanes < state->sizes.block ? lanes : state->sizes.block;
    uint32_t first = lanes - piece; /* the last ones: others are computed in the same way */
    int code = gpu_read(bench, GPU_RESULT, first, piece);
    for (uint32_t i = 0; i < looked && code == 0; i++) {
        uint32_t at = (uint32_t)((uint64_t)i * (piece - 1) / (looked > 1 ? looked - 1 : 1));
        if (got[at] != vm_gpu_alu(registers, first + at, rounds))
            return bench_wrong("arithmetic gives another result than the same in C");
    }
    return code;
}

/* Times the run; *steps receives what one workgroup of it costs. */
static int measure(struct bench *bench, const struct gpu_run *run, uint32_t lanes, double *ns,
                   double *steps)
{
    struct gpu_run one = *run;
    vyre_completion completion;
    uint64_t runs = 0;
    one.groups = 1;
    int code = gpu_load(bench, run->kernel);
    if (code == 0) code = gpu_spoil(bench, lanes * run->groups);
    if (code == 0) code = gpu_run_once(bench, &one, &completion);
    if (code != 0) return code;
    *steps = completion.steps;
    return gpu_time_runs(bench, run, bench->slice_ns, ns, &runs);
}

int bench_step_gpu_alu(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    uint32_t index = line - GPU_LINE_ALU_R8;
    uint32_t registers = registers_of(index);
    uint32_t lanes = GPU_SIZED_LANES(registers);
    uint32_t rounds = rounds_of(state, ALU_ROUNDS, ALU_SHORT);
    struct gpu_run run = {(enum gpu_kernel)(GPU_KERNEL_alu_8 + index),
                          state->sizes.groups * (GPU_LANES / lanes),
                          {rounds}};
    double ns = 0, steps = 0;
    int code = gpu_ready(bench);
    if (code == 0) code = measure(bench, &run, lanes, &ns, &steps);
    if (code == 0) code = check(bench, registers, run.groups * lanes, rounds);
    if (code != 0) return code;
    bench_add(bench, line, steps * STEP_LANES * run.groups / ns / 1e3);
    gpu_note_registers(bench, line, run.kernel, registers);
    return 0;
}

int bench_step_gpu_warp(struct bench *bench, uint32_t line)
{
    struct gpu_state *state = bench->state;
    uint32_t index = line - GPU_LINE_WARP_R8;
    uint32_t rounds = rounds_of(state, WARP_ROUNDS, WARP_SHORT);
    struct gpu_run run = {(enum gpu_kernel)(GPU_KERNEL_warp_8 + index), 1, {rounds}};
    double ns = 0, steps = 0;
    int code = gpu_ready(bench);
    if (code == 0) code = measure(bench, &run, GPU_WARP_LANES, &ns, &steps);
    if (code == 0) code = check(bench, registers_of(index), GPU_WARP_LANES, rounds);
    if (code != 0) return code;
    bench_add(bench, line, ns / steps);
    gpu_note_registers(bench, line, run.kernel, registers_of(index));
    return 0;
}
