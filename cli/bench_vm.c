/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench vm`: how fast VIR0 programs run on the CPU backend, beside the same in C, in the
 * scalar oracle and in PoCL. Its table, and what its lines share; see bench_vm_cuda.c for devices
 * that are not in this process. The exit code is 1 only when something came out wrong: a result
 * differs, a run did not end as done. Called by main.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_vm.h"
#include "bench_vm_cuda.h"

#define BENCH_ROWS         "bench_vm_lines.def"
#define BENCH_ROW_LINE(id) VM_LINE_##id
#include "bench_rows.h"

/* One runtime serves all lines of one worker: between them it sleeps. PoCL's process is made before
 * there are threads. */
static int begin(struct bench *bench)
{
    struct bench_setup setup = {1, 16, 0, VYRE_WAIT_ADAPTIVE, VYRE_DEFAULT64};
    struct vm_state *state = bench->state;
    state->pocl = vm_pocl_open(&bench->cpus);
    int code = bench_session_open(bench, &setup, &state->session);
    return code != 0 ? code : bench_session_choice(bench, &state->session);
}

static void end(struct bench *bench)
{
    struct vm_state *state = bench->state;
    vm_pocl_close(state->pocl);
    bench_session_close(&state->session); /* with its programs and buffers */
    for (uint32_t i = 0; i < VM_PROBLEMS; i++)
        free(state->ready[i].exact);
}

static void print_head(const struct bench *bench)
{
    if (bench->cpus.producer < 0)
        puts("placement: none; fewer than two CPUs");
    else
        printf("placement: submitted on CPU %d; %s on CPU %d\n", bench->cpus.producer,
               bench->workers == 1 ? "programs and peers run" : "peers run", bench->cpus.consumer);
    printf("C peers:   %s\n", vm_peer_flags());
}

static void json_run(const struct bench *bench)
{
    (void)bench;
    cli_json_text("c_flags", vm_peer_flags());
}

static const struct bench_table table = {
    .command = "bench vm",
    BENCH_TABLE_ROWS,
    .peer_width = 22,
    .name_width = 22,
    .rounds = BENCH_MAX_ROUNDS,
    .not_measured =
        "Not measured: programs with other shapes than these five, atomics that contend, subgroup\n"
        "operations, transcendental functions, elements of 8, 16 and 64 bits, workgroups of few\n"
        "lanes but for one line, several runs in flight, filling and reading buffers, GPUs. The\n"
        "oracle runs a smaller part of each problem; compared are elements a second. PoCL's "
        "kernel\n"
        "is compiled before the clock starts.",
    .begin = begin,
    .end = end,
    .print_head = print_head,
    .json_run = json_run,
};

int vyre_cli_bench_vm(const struct cli_args *args)
{
    struct bench bench;
    struct vm_state state;
    memset(&bench, 0, sizeof bench);
    memset(&state, 0, sizeof state);
    bench.backend = args->backend;
    if (bench_is_apart(args)) return bench_vm_cuda_run(&bench, args);
    if (args->elements != VYRE_DEFAULT) {
        cli_complain("--elements is for a GPU or a device host; the CPU in this process was taken",
                     NULL, "add --backend cuda, or leave --elements out");
        return CLI_EXIT_MISUSE;
    }
    bench.table = &table;
    if (args->place == VYRE_PLACE_PROCESS)
        bench.backend = VYRE_BACKEND_CPU; /* the others live apart */
    bench.state = &state;
    return bench_run(&bench, args);
}
