/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench vm` share for a device that is not in this process: the lines of
 * bench_vm_cuda_lines.def, the programs with their buffers, and the steps.
 *
 * As in bench_device.h, there is at most one runtime at a time, and none while the peers are
 * measured. With it go its programs and buffers, so steps ask for them again.
 */
#ifndef VYRE_CLI_BENCH_VM_CUDA_H
#define VYRE_CLI_BENCH_VM_CUDA_H

#include "bench_device.h"
#include "vm_gpu.h"
#include "vm_programs.h"

enum bench_gpu_line {
#define BENCH_LINE(id, name, unit, better, step) GPU_LINE_##id,
#include "bench_vm_cuda_lines.def"
    GPU_LINES
};
#define GPU_LINE_NONE BENCH_NONE

/* Programs (bench_vm_cuda_place.c).
 * ------------------------------------------------------------------------------------------- */

enum gpu_kernel {
#define GPU_KERNEL(name) GPU_KERNEL_##name,
    VM_GPU_KERNELS(GPU_KERNEL) VM_SIZED(GPU_KERNEL)
#undef GPU_KERNEL
        GPU_KERNELS
};

enum gpu_buffer { GPU_X, GPU_Y, GPU_WORDS, GPU_RESULT, GPU_COUNTS, GPU_BUFFERS };

struct gpu_program {
    vyre_program *program; /* NULL: not loaded */
    vyre_bindings *bindings;
    vyre_kernel_info info; /* stays when it is gone; size 0: never loaded */
};

/* What bench->state points to; a struct bench_device for the functions of that header. */
struct gpu_state {
    struct bench_device device;
    struct gpu_sizes sizes;
    struct gpu_blocks blocks;
    float *exact;        /* one block: what is right */
    unsigned char *room; /* one block: what was read */
    vyre *runtime;       /* of the queue and the buffers; NULL: they are gone */
    vyre_queue *queue;
    vyre_buffer *buffer[GPU_BUFFERS];
    struct gpu_program program[GPU_KERNELS];
    uint8_t whole[GPU_LINES]; /* a line's result was once checked as a whole */
};

/* A program to be run, and how. */
struct gpu_run {
    enum gpu_kernel kernel;
    uint32_t groups;
    uint32_t scalars[4];
};

/* Opens the runtime, makes and fills the buffers, where that has not been done. 0 or an exit
 * code, as all functions here. */
int gpu_ready(struct bench *bench);

/* Closes the runtime. */
void gpu_close(struct bench *bench);

/* Loads a program and binds the buffers that its parameters are called like. Ready comes first. */
int gpu_load(struct bench *bench, enum gpu_kernel kernel);

/* Prepares a slot with the run. The program must be loaded. */
int gpu_prepare(struct gpu_state *state, vyre_slot *slot, const struct gpu_run *run);

/* Runs it once and waits for its end. */
int gpu_run_once(struct bench *bench, const struct gpu_run *run, vyre_completion *completion);

/* Runs it a few times untimed, then for `duration_ns`. *ns receives the median time of a run,
 * *runs how many there were in all. */
int gpu_time_runs(struct bench *bench, const struct gpu_run *run, uint64_t duration_ns, double *ns,
                  uint64_t *runs);

/* Spoils the first so many words of the result; sets the counters to zero. */
int gpu_spoil(struct bench *bench, uint32_t words);
int gpu_clear_counters(struct bench *bench);

/* Whether the first `count` floats of the result repeat the block `exact`: all of them the first
 * time that the line asks, later the first and the last block. */
int gpu_check_floats(struct bench *bench, uint32_t line, uint32_t count);

/* Reads words of a buffer into state->room. */
int gpu_read(struct bench *bench, enum gpu_buffer which, uint64_t first, uint32_t count);

/* Says so where the program needs another number of registers than the line's name promises. */
void gpu_note_registers(struct bench *bench, uint32_t line, enum gpu_kernel kernel,
                        uint32_t registers);

/* The bits of a float. */
uint32_t gpu_bits(float value);

/* The median of samples; sorts them. */
double gpu_median(uint32_t *samples, size_t count);

/* Steps.
 * ------------------------------------------------------------------------------------------- */

int bench_step_gpu_native(struct bench *bench, uint32_t line);    /* bench_vm_cuda.c */
int bench_step_gpu_problem(struct bench *bench, uint32_t line);   /* bench_vm_cuda_runs.c */
int bench_step_gpu_sizes(struct bench *bench, uint32_t line);     /* bench_vm_cuda_runs.c */
int bench_step_gpu_saxpy(struct bench *bench, uint32_t line);     /* bench_vm_cuda_runs.c */
int bench_step_gpu_alu(struct bench *bench, uint32_t line);       /* bench_vm_cuda_alu.c */
int bench_step_gpu_warp(struct bench *bench, uint32_t line);      /* bench_vm_cuda_alu.c */
int bench_step_gpu_small(struct bench *bench, uint32_t line);     /* bench_vm_cuda_jobs.c */
int bench_step_gpu_slot(struct bench *bench, uint32_t line);      /* bench_vm_cuda_jobs.c */
int bench_step_gpu_jobs(struct bench *bench, uint32_t line);      /* bench_vm_cuda_jobs.c */
int bench_step_gpu_job_sizes(struct bench *bench, uint32_t line); /* bench_vm_cuda_jobs.c */

/* Measures the peers where this round has no figure of them for `line` yet. */
int gpu_need_native(struct bench *bench, uint32_t line, uint32_t native);

/* Where the times of a slot and of a launch cross, over lines of sizes from `line` and `native` on:
 * adds the elements to `even`, or says why there are none. */
void gpu_break_even(struct bench *bench, uint32_t line, uint32_t native, uint32_t sizes,
                    uint32_t even);

/* The benchmark itself; bench->table is set by it. */
int bench_vm_cuda_run(struct bench *bench, const struct cli_args *args);

#endif
