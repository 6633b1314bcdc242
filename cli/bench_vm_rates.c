/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How many elements a second: the programs on one worker and on two, and the same in C on the CPU
 * of that worker. Steps of `vyre bench vm`.
 *
 * Outputs are spoilt before the clock starts and compared after it has stopped, so every
 * measurement did its work. Programs must give the exact bits, the timed C peer what its
 * contraction allows.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_vm.h"

static uint32_t problem_of(uint32_t line)
{
    return line / 5;
}

static void fill_inputs(const struct vm_problem *problem, const struct vm_placed *placed)
{
    void *memory = NULL;
    for (uint32_t i = 0; i < problem->inputs; i++)
        if (vyre_buffer_map(placed->in[i], &memory, NULL) == VYRE_OK)
            problem->fill(memory, i, problem->count);
}

static void spoil(const struct vm_problem *problem, void *out)
{
    memset(out, problem->adds ? 0 : 0xA5, vm_problem_out_bytes(problem, problem->count));
}

/* Makes a problem ready when the first of its lines is measured. */
static int get_ready(struct bench *bench, uint32_t number, struct vm_ready **made)
{
    struct vm_state *state = bench->state;
    const struct vm_problem *problem = &vm_problems[number];
    struct vm_ready *ready = &state->ready[number];
    size_t bytes = vm_problem_out_bytes(problem, problem->count);
    vyre_error err;
    *made = ready;
    if (ready->exact != NULL) return 0;
    int code = vm_place_problem(state->session.runtime, problem, &ready->placed);
    if (code != 0) return code;
    code =
        vm_place_beside(state->session.runtime, problem->by_hand, &ready->placed, &ready->by_hand);
    if (code != 0) return code;
    if (vyre_buffer_create(state->session.runtime, bytes, VYRE_DEVICE, &ready->peer_out, &err) !=
            VYRE_OK ||
        vyre_buffer_map(ready->peer_out, &ready->peer_memory, &err) != VYRE_OK)
        return cli_fail("cannot make a buffer", &err);
    ready->exact = calloc(1, bytes);
    if (ready->exact == NULL) {
        cli_complain("no memory for the results", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    fill_inputs(problem, &ready->placed);
    struct vm_arrays arrays = ready->placed.arrays;
    arrays.out = ready->exact;
    problem->exact(&arrays);
    memcpy(ready->by_hand.arrays.scalar, ready->placed.arrays.scalar, sizeof arrays.scalar);
    return 0;
}

int bench_step_vm_c(struct bench *bench, uint32_t line)
{
    const struct vm_problem *problem = &vm_problems[problem_of(line)];
    struct vm_ready *ready = NULL;
    uint64_t runs = 0, now = 0;
    int code = get_ready(bench, problem_of(line), &ready);
    if (code != 0) return code;
    struct vm_arrays arrays = ready->placed.arrays;
    arrays.out = ready->peer_memory;
    bench_pin(bench->cpus.consumer);
    spoil(problem, arrays.out);
    uint64_t begin = bench_clock_ns();
    do {
        if (problem->adds) spoil(problem, arrays.out);
        problem->timed(&arrays);
        runs++;
        now = bench_clock_ns();
    } while (now - begin < bench->slice_ns);
    bench_pin(bench->cpus.producer);
    if (!vm_problem_near(problem, arrays.out, ready->exact))
        return bench_wrong("a C peer of `bench vm` gives a wrong result");
    bench_add(bench, line, (double)(runs * problem->count) * 1e3 / (double)(now - begin));
    return 0;
}

/* What a number of runs came to. */
struct rate {
    double elements; /* a microsecond */
    double steps;    /* a microsecond */
};

static int run_for(const struct vm_problem *problem, struct vm_placed *placed, vyre_queue *queue,
                   uint64_t duration_ns, struct rate *rate)
{
    vyre_completion completion;
    uint64_t runs = 0, steps = 0, now = 0;
    spoil(problem, placed->arrays.out);
    uint64_t begin = bench_clock_ns();
    do {
        if (problem->adds) spoil(problem, placed->arrays.out);
        int code = vm_placed_run(placed, queue, &completion);
        if (code != 0) return code;
        steps += completion.steps;
        runs++;
        now = bench_clock_ns();
    } while (now - begin < duration_ns);
    rate->elements = (double)(runs * problem->count) * 1e3 / (double)(now - begin);
    rate->steps = (double)steps * 1e3 / (double)(now - begin);
    return 0;
}

static int check(const struct vm_problem *problem, const struct vm_placed *placed,
                 const unsigned char *exact)
{
    size_t bytes = vm_problem_out_bytes(problem, problem->count);
    return memcmp(placed->arrays.out, exact, bytes) == 0
               ? 0
               : bench_wrong("a program gives another result than the same in C");
}

/* One worker, with the program or its twin that was built by hand. */
static int run_one(struct bench *bench, uint32_t line, int by_hand, struct rate *rate)
{
    struct vm_state *state = bench->state;
    const struct vm_problem *problem = &vm_problems[problem_of(line)];
    struct vm_ready *ready = NULL;
    int code = get_ready(bench, problem_of(line), &ready);
    if (code != 0) return code;
    struct vm_placed *placed = by_hand ? &ready->by_hand : &ready->placed;
    code = run_for(problem, placed, state->session.queue[0], bench->slice_ns, rate);
    if (code == 0) code = check(problem, placed, ready->exact);
    if (code == 0) bench_add(bench, line, rate->elements);
    return code;
}

int bench_step_vm_run(struct bench *bench, uint32_t line)
{
    struct rate rate;
    int code = run_one(bench, line, 0, &rate);
    if (code == 0 && line == VM_LINE_XORSHIFT) bench_add(bench, VM_LINE_STEPS, rate.steps);
    return code;
}

int bench_step_vm_hand(struct bench *bench, uint32_t line)
{
    struct rate rate;
    return run_one(bench, line, 1, &rate);
}

/* A runtime of its own, which is gone afterwards. */
int bench_step_vm_two(struct bench *bench, uint32_t line)
{
    const struct vm_problem *problem = &vm_problems[problem_of(line)];
    struct bench_setup setup = {1, 16, 0, VYRE_WAIT_ADAPTIVE, VYRE_DEFAULT64};
    struct bench_session session;
    struct vm_ready *ready = NULL;
    struct vm_placed placed;
    struct rate rate;
    uint32_t workers = bench->workers;
    int code = get_ready(bench, problem_of(line), &ready);
    if (code != 0) return code;
    if (bench->cpus.count < 2) {
        bench_note(bench, line, "fewer than two CPUs");
        return 0;
    }
    bench->workers = 2;
    code = bench_session_open(bench, &setup, &session);
    bench->workers = workers;
    if (code != 0) return code;
    /* The thread that waits sleeps meanwhile, and must not keep a worker from a CPU. */
    bench_unpin(&bench->cpus);
    code = vm_place_problem(session.runtime, problem, &placed);
    if (code == 0) {
        fill_inputs(problem, &placed);
        code = run_for(problem, &placed, session.queue[0], bench->whole_ns / 4, &rate);
        if (code == 0) code = check(problem, &placed, ready->exact);
        vm_place_free(&placed);
    }
    bench_pin(bench->cpus.producer);
    bench_session_close(&session);
    if (code == 0) bench_add(bench, line, rate.elements);
    return code;
}
