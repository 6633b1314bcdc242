/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What waiting costs: latency and CPU time of each wait mode with one slot in flight and time to
 * think in between, the CPU time of a runtime that has nothing to do, and the memory it holds.
 * Steps of `vyre bench dispatch`.
 */
#include "bench_device.h"
#include "bench_dispatch.h"

#define THINK_NS 200000ull

/* The operation that takes long: its worker sleeps, so all CPU time seen is that of waiting. */
#define LONG_NS     200000ull
#define LONG_OPCODE 64u

/* How long a runtime may take to go to sleep before its CPU time is looked at. */
#define SETTLE_NS 10000000ull

static uint32_t run_long(vyre_call *call)
{
    (void)call;
    bench_sleep_ns(LONG_NS);
    return 0;
}

/* -1: this backend has no native operations. */
static int register_long(vyre *runtime)
{
    vyre_error err;
    vyre_operation *operation = NULL;
    vyre_operation_options options = VYRE_OPERATION_OPTIONS_INIT;
    options.opcode = LONG_OPCODE;
    options.run = run_long;
    vyre_status status = vyre_operation_register(runtime, &options, &operation, &err);
    if (status == VYRE_OK) return 0;
    return status == VYRE_E_UNSUPPORTED ? -1 : cli_fail("cannot register an operation", &err);
}

/* Sends one slot with this opcode and waits for its end. */
static int wait_once(vyre_queue *queue, uint32_t opcode, uint64_t *took_ns)
{
    vyre_completion completion;
    vyre_error err;
    uint64_t begin = bench_clock_ns();
    vyre_slot *slot = vyre_queue_slot(queue);
    if (slot == NULL) return bench_wrong("an empty queue says that it is full");
    if (vyre_prep_op(slot, opcode, NULL, 0, &err) != VYRE_OK)
        return cli_fail("cannot prepare a slot", &err);
    int code = bench_submit_and_wait(queue, BENCH_LOST_NS, &completion);
    *took_ns = bench_clock_ns() - begin;
    return code;
}

int bench_sample_waits(struct bench *bench, vyre_queue *queue, uint32_t opcode, size_t *count,
                       double *cpu)
{
    uint64_t begin = bench_clock_ns();
    uint64_t cpu_begin = bench_process_cpu_ns();
    size_t n = 0;
    while (n < bench->sample_capacity && bench_clock_ns() - begin < bench->slice_ns) {
        uint64_t took = 0;
        bench_sleep_ns(THINK_NS);
        int code = wait_once(queue, opcode, &took);
        if (code != 0) return code;
        bench->samples[n++] = bench_sample(took);
    }
    *cpu =
        100.0 * (double)(bench_process_cpu_ns() - cpu_begin) / (double)(bench_clock_ns() - begin);
    *count = n;
    return 0;
}

int bench_step_wait(struct bench *bench, uint32_t line)
{
    static const uint32_t modes[3] = {VYRE_WAIT_SPIN, VYRE_WAIT_ADAPTIVE, VYRE_WAIT_BLOCK};
    int is_long = line >= BENCH_LONG_SPIN;
    uint32_t mode = modes[(line - (is_long ? BENCH_LONG_SPIN : BENCH_WAIT_SPIN)) / 3];
    struct bench_percentiles lines = {line, BENCH_NONE, line + 1, BENCH_NONE, BENCH_NONE, 1e3};
    struct bench_setup setup = {1, 256, 0, mode, VYRE_DEFAULT64};
    struct bench_session session;
    size_t count = 0;
    double cpu = 0;
    int code = bench_session_open(bench, &setup, &session);
    if (code != 0) return code;
    if (is_long) code = register_long(session.runtime);
    if (code == 0) code = bench_round_trip(session.queue[0], NULL);
    if (code == 0)
        code = bench_sample_waits(bench, session.queue[0], is_long ? LONG_OPCODE : VYRE_OP_NOP,
                                  &count, &cpu);
    bench_session_close(&session);
    if (code == -1) {
        bench_note(bench, line, "this backend has no native operations");
        return 0;
    }
    if (code != 0) return code;
    bench_add_percentiles(bench, &lines, bench->samples, count);
    bench_add(bench, (line + 2), cpu);
    return 0;
}

/* CPU time that the process uses while this thread sleeps, in milliseconds a second. */
static double sleeping_cpu(uint64_t duration_ns)
{
    uint64_t begin = bench_clock_ns();
    uint64_t cpu_begin = bench_process_cpu_ns();
    bench_sleep_ns(duration_ns);
    double cpu = (double)(bench_process_cpu_ns() - cpu_begin);
    return cpu * 1e3 / (double)(bench_clock_ns() - begin);
}

int bench_step_idle(struct bench *bench, uint32_t line)
{
    struct bench_setup setup = {1, BENCH_IN_FLIGHT, 0, VYRE_WAIT_ADAPTIVE, VYRE_DEFAULT64};
    struct bench_session session;
    (void)line;
    bench_add(bench, BENCH_NO_RUNTIME, sleeping_cpu(bench->whole_ns));
    int code = bench_session_open(bench, &setup, &session);
    if (code != 0) return code;
    code = bench_round_trip(session.queue[0], NULL);
    bench_sleep_ns(SETTLE_NS);
    if (code == 0) bench_add(bench, BENCH_IDLE, sleeping_cpu(bench->whole_ns));
    bench_session_close(&session);
    return code;
}

int bench_step_memory(struct bench *bench, uint32_t line)
{
    vyre *runtime = NULL;
    vyre_error err;
    vyre_description description = {0};
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = bench->backend;
    options.workers = 2;
    options.default_queue_slots = BENCH_IN_FLIGHT;
    if (vyre_open(&runtime, &options, &err) != VYRE_OK)
        return cli_fail("cannot open a runtime", &err);
    description.size = (uint32_t)sizeof description;
    vyre_status status = vyre_describe(runtime, &description, &err);
    vyre_close(runtime);
    if (status != VYRE_OK) return cli_fail("cannot describe a runtime", &err);
    bench_add(bench, line, (double)description.memory_bytes / 1024);
    return 0;
}
