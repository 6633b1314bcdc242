/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre bench vm` share: the lines of bench_vm_lines.def, the problems they are
 * about, and problems placed on a runtime.
 */
#ifndef VYRE_CLI_BENCH_VM_H
#define VYRE_CLI_BENCH_VM_H

#include "bench.h"
#include "peers.h"
#include "vm_peers.h"

enum bench_vm_line {
#define BENCH_LINE(id, name, unit, better, step) VM_LINE_##id,
#include "bench_vm_lines.def"
    VM_LINES
};
#define VM_LINE_NONE BENCH_NONE

/* Problems (bench_vm_problems.c): what a program and its peers compute.
 * ------------------------------------------------------------------------------------------- */

#define VM_PROBLEMS 5u

struct vm_problem {
    const struct vm_bytes *program;
    const struct vm_bytes *by_hand; /* the same as VIR0 that was built by hand */
    vm_peer_fn timed, exact;
    uint32_t inputs;
    size_t count;        /* elements */
    size_t oracle_count; /* what the oracle gets: some workgroups' */
    size_t group;        /* elements that a workgroup deals with */
    size_t in_bytes;     /* of an element of each input */
    size_t out_bytes;    /* of the whole output; 0: 4 for each element */
    int adds;            /* it adds to what the output holds, so that must be zero before */
    float tolerance;     /* of the timed peer, whose sums and products are contracted */
    double may_differ;   /* which part of its elements may differ by more */
    void (*fill)(void *in, uint32_t index, size_t count);
    void (*scalars)(uint32_t *scalar, size_t count);
};

extern const struct vm_problem vm_problems[VM_PROBLEMS];

size_t vm_problem_out_bytes(const struct vm_problem *problem, size_t count);

/* Whether what the timed peer computed is the exact result but for rounding. */
int vm_problem_near(const struct vm_problem *problem, const void *out, const void *exact);

/* Placed problems (bench_vm_place.c): a program loaded into a runtime, with its buffers.
 * ------------------------------------------------------------------------------------------- */

struct vm_placed {
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_buffer *in[2];
    vyre_buffer *out;
    struct vm_arrays arrays; /* the same memory, for the peers */
    vyre_run run;
};

/* What is to be placed: the bytes of the inputs and of the output. */
struct vm_wanted {
    const struct vm_bytes *program;
    size_t in_bytes[2];
    size_t out_bytes;
    size_t count; /* elements */
    uint32_t groups;
};

/* Loads the program, makes and binds its buffers; inputs are not filled. 0 or an exit code; on
 * failure nothing is left. */
int vm_place(vyre *runtime, const struct vm_wanted *wanted, struct vm_placed *placed);
int vm_place_problem(vyre *runtime, const struct vm_problem *problem, struct vm_placed *placed);
/* Loads another program and binds it to the buffers of `placed`. */
int vm_place_beside(vyre *runtime, const struct vm_bytes *program, const struct vm_placed *placed,
                    struct vm_placed *beside);
void vm_place_free(struct vm_placed *placed);

/* Runs it once and waits; the run's scalars are placed->arrays.scalar. 0 or an exit code. */
int vm_placed_run(struct vm_placed *placed, vyre_queue *queue, vyre_completion *completion);

/* The benchmark (bench_vm.c).
 * ------------------------------------------------------------------------------------------- */

/* A problem that lines have asked for; all zero before the first of them. */
struct vm_ready {
    struct vm_placed placed;
    struct vm_placed by_hand; /* the other program, with the same buffers */
    vyre_buffer *peer_out;    /* where the C peer writes: memory as the program's */
    void *peer_memory;
    unsigned char *exact; /* the right result */
};

struct vm_state {
    struct bench_session session;
    struct vm_ready ready[VM_PROBLEMS];
    struct vm_placed small;
    struct vm_placed lane;
    struct vm_pocl *pocl;
};

int bench_step_vm_c(struct bench *bench, uint32_t line);       /* bench_vm_rates.c */
int bench_step_vm_run(struct bench *bench, uint32_t line);     /* bench_vm_rates.c */
int bench_step_vm_hand(struct bench *bench, uint32_t line);    /* bench_vm_rates.c */
int bench_step_vm_two(struct bench *bench, uint32_t line);     /* bench_vm_rates.c */
int bench_step_vm_oracle(struct bench *bench, uint32_t line);  /* bench_vm_oracle.c */
int bench_step_vm_pocl(struct bench *bench, uint32_t line);    /* bench_vm_small.c */
int bench_step_vm_small(struct bench *bench, uint32_t line);   /* bench_vm_small.c */
int bench_step_vm_lane(struct bench *bench, uint32_t line);    /* bench_vm_small.c */
int bench_step_vm_load(struct bench *bench, uint32_t line);    /* bench_vm_small.c */
int bench_step_vm_compile(struct bench *bench, uint32_t line); /* bench_vm_small.c */

#endif
