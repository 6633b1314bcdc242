/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How long one slot takes and how many go through: alone, at half load, in floods of one to four
 * producers, and by each wait mode. Steps of the benchmark of a device.
 */
#include "bench_device.h"
#include "bench_lanes.h"

#define WARM_UP    2000u
#define STORE_LAPS 16u

int bench_step_trip(struct bench *bench, uint32_t line)
{
    struct bench_percentiles lines = {line, BENCH_NONE, line + 1, line + 2, line + 3, 1e3};
    uint32_t flags = line == DEVICE_IDLE ? VYRE_QUEUE_SEALED : VYRE_QUEUE_UNSEALED;
    vyre *runtime = NULL;
    vyre_queue *queue = NULL;
    size_t count = 0;
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0) code = bench_device_queue(runtime, flags, &queue);
    for (uint32_t i = 0; i < WARM_UP && code == 0; i++)
        code = bench_round_trip(queue, NULL);
    uint64_t until = bench_clock_ns() + bench->slice_ns;
    while (code == 0 && count < bench->sample_capacity) {
        uint64_t took = 0;
        code = bench_round_trip(queue, &took);
        bench->samples[count++] = bench_sample(took);
        if (count % 256 == 0 && bench_clock_ns() > until) break;
    }
    vyre_queue_close(queue);
    if (code == 0) bench_add_percentiles(bench, &lines, bench->samples, count);
    return code;
}

static struct bench_lane_plan flood_plan(const struct bench *bench)
{
    struct bench_lane_plan plan = {BENCH_NOP, 1,   VYRE_QUEUE_SEALED, 0, 0, bench->slice_ns, 0,
                                   NULL,      NULL};
    return plan;
}

/* Runs a plan and adds its rate to the line, times `operations` a slot. */
static int add_rate(struct bench *bench, uint32_t line, const struct bench_lane_plan *plan,
                    double operations)
{
    struct bench_lane_result result = {0, 0, 0};
    vyre *runtime = NULL;
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0) code = bench_lanes_run(bench, runtime, plan, &result);
    if (code == -1) {
        bench_note(bench, line, "this device has no such queues");
        return 0;
    }
    if (code != 0) return code;
    bench_add(bench, line, operations * result.rate * 1e3);
    if (line == DEVICE_FLOOD_1) ((struct bench_device *)bench->state)->flood_rate = result.rate;
    return 0;
}

int bench_step_lanes(struct bench *bench, uint32_t line)
{
    struct bench_lane_plan plan = flood_plan(bench);
    switch (line) {
    case DEVICE_FLOOD_2:
        plan.lanes = 2;
        break;
    case DEVICE_FLOOD_4:
        plan.lanes = 4;
        break;
    case DEVICE_FLOOD_ALONE:
        plan.alone = 1;
        break;
    case DEVICE_FLOOD_STRICT:
        plan.flags = VYRE_QUEUE_UNSEALED;
        break;
    case DEVICE_FLOOD_ADD:
        plan.op = BENCH_ADD;
        break;
    case DEVICE_FLOOD_PACKED:
        plan.op = BENCH_PACK;
        break;
    default:
        break;
    }
    return add_rate(bench, line, &plan, plan.op == BENCH_PACK ? BENCH_PACKED_OPS : 1);
}

int bench_step_half(struct bench *bench, uint32_t line)
{
    struct bench_device *device = bench->state;
    struct bench_percentiles lines = {line, BENCH_NONE, line + 1, line + 2, line + 3, 1e3};
    struct bench_lane_plan plan = flood_plan(bench);
    struct bench_lane_result result = {0, 0, 0};
    vyre *runtime = NULL;
    int code = 0;
    if (device->flood_rate == 0) code = add_rate(bench, DEVICE_FLOOD_1, &plan, 1);
    if (line == DEVICE_HALF_STRICT) plan.flags = VYRE_QUEUE_UNSEALED;
    plan.rate = device->flood_rate / 2;
    plan.sampling = 1;
    if (code == 0) code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0) code = bench_lanes_run(bench, runtime, &plan, &result);
    if (code == -1) {
        bench_note(bench, line, "this device has no such queues");
        return 0;
    }
    if (code != 0) return code;
    bench_add_percentiles(bench, &lines, bench->samples, result.samples);
    bench_add(bench, line + 4, result.rate * 1e3);
    return 0;
}

/* The native operation does nothing: as a C function, and as a device function for a GPU. */
static uint32_t run_nothing(vyre_call *call)
{
    (void)call;
    return 0;
}

static const char nothing_ptx[] =
    ".version 7.0\n"
    ".target sm_75\n"
    ".address_size 64\n"
    ".visible .func (.param .b32 code) bench_nothing(.param .b64 call)\n"
    "{\n"
    "    st.param.b32 [code], 0;\n"
    "    ret;\n"
    "}\n";

/* -1: this device takes neither. */
static int register_native(const struct bench *bench, vyre *runtime, vyre_operation **operation)
{
    const struct bench_device *device = bench->state;
    vyre_error err;
    vyre_operation_options options = VYRE_OPERATION_OPTIONS_INIT;
    options.opcode = BENCH_NATIVE_OPCODE;
    if (device->description.backend == VYRE_BACKEND_CUDA) {
        options.image = nothing_ptx;
        options.image_bytes = sizeof nothing_ptx - 1;
        options.function = "bench_nothing";
    } else {
        options.run = run_nothing;
    }
    vyre_status status = vyre_operation_register(runtime, &options, operation, &err);
    if (status == VYRE_E_UNSUPPORTED) return -1;
    return status == VYRE_OK ? 0 : cli_fail("cannot register an operation", &err);
}

/* Runs the operation once; notes it where it does not end as done. 0: go on; -1: not; or an exit
 * code. */
static int try_native(struct bench *bench, uint32_t line, vyre *runtime)
{
    vyre_queue *queue = NULL;
    vyre_completion end;
    vyre_error err;
    uint64_t ticket = 0;
    char text[128];
    int code = bench_device_queue(runtime, 0, &queue);
    if (code != 0) return code;
    bench_slots_put(queue, BENCH_NATIVE, 1);
    if (vyre_queue_submit(queue, &ticket, &err) != VYRE_OK ||
        vyre_wait(queue, ticket, BENCH_LOST_NS, &end, &err) != VYRE_OK)
        code = cli_fail("cannot run an operation", &err);
    vyre_queue_close(queue);
    if (code != 0 || end.outcome == VYRE_DONE) return code;
    snprintf(text, sizeof text, "not available: the operation %s%.60s",
             end.outcome == VYRE_LOST ? "took the device down" : "ended with the fault ",
             end.outcome == VYRE_LOST ? "" : vyre_fault_name(end.fault));
    bench_note(bench, line, text);
    return -1;
}

int bench_step_native(struct bench *bench, uint32_t line)
{
    struct bench_lane_plan plan = flood_plan(bench);
    vyre_operation *operation = NULL;
    vyre *runtime = NULL;
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0) code = register_native(bench, runtime, &operation);
    if (code == -1) {
        bench_note(bench, line, "not available: a device host runs no C functions");
        return 0;
    }
    plan.op = BENCH_NATIVE;
    if (code == 0) code = try_native(bench, line, runtime);
    if (code == 0) code = add_rate(bench, line, &plan, 1);
    vyre_operation_unregister(operation, NULL);
    return code == -1 ? 0 : code;
}

/* Fills and submits the whole ring, waits for all of it, and counts the first part only. */
int bench_step_store(struct bench *bench, uint32_t line)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_completion completion[256];
    vyre_queue *queue = NULL;
    vyre *runtime = NULL;
    vyre_error err;
    uint64_t spent_ns = 0;
    options.slots = BENCH_LANE_SLOTS;
    options.flags = VYRE_QUEUE_SEALED;
    options.wait_mode = VYRE_WAIT_SPIN;
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0 && vyre_queue_open(runtime, &options, &queue, &err) != VYRE_OK)
        code = cli_fail("cannot open a queue", &err);
    for (uint32_t lap = 0; lap < STORE_LAPS && code == 0; lap++) {
        uint64_t begin = bench_clock_ns();
        for (uint32_t i = 0; i < BENCH_LANE_SLOTS; i += BENCH_LANE_BATCH) {
            bench_slots_put(queue, BENCH_NOP, BENCH_LANE_BATCH);
            vyre_queue_submit(queue, NULL, NULL);
        }
        if (lap > 0) spent_ns += bench_clock_ns() - begin;
        for (uint32_t got = 0; got < BENCH_LANE_SLOTS && code == 0;) {
            size_t count = 0;
            if (vyre_queue_reap_wait(queue, completion, 1, 256, BENCH_LOST_NS, &count, &err) !=
                VYRE_OK)
                code = cli_fail("cannot wait for a slot", &err);
            got += (uint32_t)count;
        }
    }
    vyre_queue_close(queue);
    if (code == 0)
        bench_add(bench, line, (double)spent_ns / ((STORE_LAPS - 1) * (double)BENCH_LANE_SLOTS));
    return code;
}

int bench_step_mode(struct bench *bench, uint32_t line)
{
    static const uint32_t modes[3] = {VYRE_WAIT_SPIN, VYRE_WAIT_ADAPTIVE, VYRE_WAIT_BLOCK};
    struct bench_percentiles lines = {line, BENCH_NONE, line + 1, BENCH_NONE, BENCH_NONE, 1e3};
    vyre *runtime = NULL;
    vyre_queue *queue = NULL;
    vyre_error err;
    size_t count = 0;
    double cpu = 0;
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0) code = bench_device_queue(runtime, 0, &queue);
    if (code == 0 &&
        vyre_queue_set_wait_mode(queue, modes[(line - DEVICE_WAIT_SPIN) / 3], &err) != VYRE_OK)
        code = cli_fail("cannot set a wait mode", &err);
    if (code == 0) code = bench_round_trip(queue, NULL);
    if (code == 0) code = bench_sample_waits(bench, queue, VYRE_OP_NOP, &count, &cpu);
    vyre_queue_close(queue);
    if (code != 0) return code;
    bench_add_percentiles(bench, &lines, bench->samples, count);
    bench_add(bench, line + 2, cpu);
    return 0;
}
