/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The scalar oracle on a few workgroups of each problem: elements a second, to be compared with
 * those of the whole problem. A step of `vyre bench vm`.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_vm.h"

/* Everything that a run of the oracle needs, and the right result. */
struct oracle_work {
    struct vm_oracle_run run;
    struct vm_arrays arrays;
    unsigned char *memory[2];
    unsigned char *out;
    unsigned char *exact;
    size_t out_bytes;
};

static void free_work(struct oracle_work *work)
{
    free(work->memory[0]);
    free(work->memory[1]);
    free(work->out);
    free(work->exact);
}

/* Buffers in the order of declaration: the program tells which is which. */
static int lay_out(const struct vm_problem *problem, struct oracle_work *work)
{
    vyre_kernel *kernel = NULL;
    vyre_kernel_info info = {0};
    uint32_t inputs = 0, scalars = 0;
    vyre_error err;
    info.size = (uint32_t)sizeof info;
    if (vyre_kernel_read(problem->program->bytes, problem->program->length, NULL, &kernel, &err) !=
        VYRE_OK)
        return cli_fail("cannot read a program", &err);
    vyre_kernel_query(kernel, &info, NULL);
    for (uint32_t i = 0; i < info.buffers && i < VM_ORACLE_MAX_BUFFERS; i++) {
        vyre_kernel_buffer_info buffer = {0};
        buffer.size = (uint32_t)sizeof buffer;
        vyre_kernel_buffer(kernel, i, &buffer, NULL);
        if ((buffer.flags & VYRE_KERNEL_BUFFER_WORKGROUP) != 0) continue;
        if ((buffer.flags & VYRE_KERNEL_BUFFER_SCALAR) != 0) {
            work->run.buffer[i] = (unsigned char *)&work->arrays.scalar[scalars++ % 4];
            work->run.bytes[i] = sizeof(uint32_t);
        } else if ((buffer.flags & VYRE_KERNEL_BUFFER_WRITTEN) != 0) {
            work->run.buffer[i] = work->out;
            work->run.bytes[i] = work->out_bytes;
        } else {
            work->run.buffer[i] = work->memory[inputs++ % 2];
            work->run.bytes[i] = problem->oracle_count * problem->in_bytes;
        }
    }
    vyre_kernel_free(kernel);
    return 0;
}

static int make_work(const struct vm_problem *problem, struct oracle_work *work)
{
    size_t count = problem->oracle_count;
    memset(work, 0, sizeof *work);
    work->out_bytes = vm_problem_out_bytes(problem, count);
    work->run.groups = (uint32_t)(count / problem->group);
    work->arrays.count = count;
    work->out = calloc(1, work->out_bytes);
    work->exact = calloc(1, work->out_bytes);
    int none = work->out == NULL || work->exact == NULL;
    for (uint32_t i = 0; i < problem->inputs && !none; i++) {
        work->memory[i] = calloc(count, problem->in_bytes);
        none = work->memory[i] == NULL;
        if (!none) problem->fill(work->memory[i], i, count);
        work->arrays.in[i] = work->memory[i];
    }
    if (none) {
        cli_complain("no memory for the oracle", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    if (problem->scalars != NULL) problem->scalars(work->arrays.scalar, count);
    work->arrays.out = work->exact;
    problem->exact(&work->arrays);
    return lay_out(problem, work);
}

static int run_work(struct bench *bench, uint32_t line, struct vm_oracle *oracle,
                    struct oracle_work *work)
{
    uint64_t runs = 0, now = 0;
    int code = 0;
    bench_pin(bench->cpus.consumer);
    uint64_t begin = bench_clock_ns();
    do {
        memset(work->out, 0, work->out_bytes);
        code = vm_oracle_run(oracle, &work->run);
        runs++;
        now = bench_clock_ns();
    } while (code == 0 && now - begin < bench->slice_ns);
    bench_pin(bench->cpus.producer);
    if (code != 0) return bench_wrong("the oracle cannot run a program of the benchmark");
    if (memcmp(work->out, work->exact, work->out_bytes) != 0)
        return bench_wrong("the oracle gives another result than the same in C");
    bench_add(bench, line, (double)(runs * work->arrays.count) * 1e3 / (double)(now - begin));
    return 0;
}

int bench_step_vm_oracle(struct bench *bench, uint32_t line)
{
    const struct vm_problem *problem = &vm_problems[line / 5];
    const char *why = NULL;
    struct oracle_work work;
    struct vm_oracle *oracle =
        vm_oracle_open(problem->program->bytes, problem->program->length, &why);
    if (oracle == NULL) {
        bench_note(bench, line, why);
        return 0;
    }
    int code = make_work(problem, &work);
    if (code == 0) code = run_work(bench, line, oracle, &work);
    free_work(&work);
    vm_oracle_close(oracle);
    return code;
}
