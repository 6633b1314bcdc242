/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre bench dispatch` for a device that is not in this process: a GPU, or a device host on the
 * CPU. Its table, the one runtime that its steps share, and what its report has beside the common
 * one. Called by bench_dispatch.c.
 */
#include "bench_device.h"

#include <string.h>

#define ROUNDS           3u
#define SPIN_FOR_EVER_NS 60000000000ull /* on the CPU: workers that never sleep, as on a GPU */

#define DEVICE_NONE BENCH_NONE

#define BENCH_ROWS         "bench_device_lines.def"
#define BENCH_ROW_LINE(id) DEVICE_##id
#include "bench_rows.h"

int bench_device_open(struct bench *bench, uint64_t park_ns, vyre **runtime)
{
    vyre_error err;
    vyre_options options = cli_runtime_options(bench->args);
    options.default_queue_slots = 0;
    options.park_ns = park_ns;
    if (park_ns == 0) options.idle_spin_ns = SPIN_FOR_EVER_NS;
    bench_device_close(bench);
    if (vyre_open(runtime, &options, &err) != VYRE_OK)
        return cli_fail("cannot open a runtime", &err);
    return 0;
}

void bench_device_close(struct bench *bench)
{
    struct bench_device *device = bench->state;
    vyre_close(device->runtime);
    device->runtime = NULL;
}

int bench_device_runtime(struct bench *bench, uint64_t park_ns, vyre **runtime)
{
    struct bench_device *device = bench->state;
    if (device->runtime == NULL || device->park_ns != park_ns) {
        int code = bench_device_open(bench, park_ns, &device->runtime);
        if (code != 0) return code;
        device->park_ns = park_ns;
    }
    *runtime = device->runtime;
    return 0;
}

int bench_device_queue(vyre *runtime, uint32_t flags, vyre_queue **queue)
{
    vyre_error err;
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    options.slots = 4096;
    options.flags = flags;
    options.wait_mode = VYRE_WAIT_SPIN;
    if (vyre_queue_open(runtime, &options, queue, &err) != VYRE_OK)
        return cli_fail("cannot open a queue", &err);
    return 0;
}

/* The first runtime of the run: how long it takes to answer, and what it is. */
static int begin(struct bench *bench)
{
    struct bench_device *device = bench->state;
    vyre_error err;
    vyre *runtime = NULL;
    vyre_queue *queue = NULL;
    uint64_t start = bench_clock_ns();
    int code = bench_device_runtime(bench, 0, &runtime);
    if (code == 0) code = bench_device_queue(runtime, 0, &queue);
    if (code == 0) code = bench_round_trip(queue, NULL);
    if (code != 0) return code;
    device->open_cold_ms = (double)(bench_clock_ns() - start) / 1e6;
    device->description.size = (uint32_t)sizeof device->description;
    if (vyre_describe(runtime, &device->description, &err) != VYRE_OK)
        return cli_fail("cannot describe a runtime", &err);
    snprintf(bench->choice, sizeof bench->choice, "%s", device->description.choice);
    bench->workers = device->description.workers;
    vyre_queue_close(queue);
    return 0;
}

static void end(struct bench *bench)
{
    bench_device_close(bench);
}

static void print_head(const struct bench *bench)
{
    puts(bench->args->pin ? "placement: each measuring thread on a CPU of its own"
                          : "placement: threads are left to the scheduler (--pin binds them)");
}

static int in_wait_table(uint32_t line)
{
    return line >= DEVICE_WAIT_SPIN && line <= DEVICE_WAIT_BLOCK_CPU;
}

static void print_wait_table(const struct bench *bench)
{
    static const char *const names[] = {"NOP, spin", "NOP, adaptive", "NOP, block"};
    bench_print_waits(bench, DEVICE_WAIT_SPIN, names, 3);
}

static const struct bench_table table = {
    .command = "bench dispatch",
    BENCH_TABLE_ROWS,
    .peer_width = 26,
    .name_width = 25,
    .rounds = ROUNDS,
    .pins_if_asked = 1,
    .not_measured =
        "Queues have 16,384 slots, each with a thread that submits 128 at a time and one that "
        "reaps\n"
        "(flood-1-thread: one thread does both). Half load is half of this round's flood-1: its\n"
        "producer keeps to the clock, 16 slots at a time, and the time of a slot runs from before\n"
        "the first store of its 16 to the reading of the clock after it was received. Strict is a\n"
        "queue without seals. host-store-no-dispatch is the producer's stores alone: nobody waits\n"
        "for an answer, and it says nothing about dispatch.\n"
        "Not measured: operations that do more than the lines say, buffers, other priorities than\n"
        "NORMAL, deadlines, cancellation, completion descriptors, several applications. CPU time "
        "is\n"
        "that of this process, without its device host, where the name does not say otherwise.\n"
        "Launches and nodes are of empty kernels of one thread.",
    .begin = begin,
    .end = end,
    .print_head = print_head,
    .print_apart = print_wait_table,
    .is_apart = in_wait_table,
};

int bench_device_run(struct bench *bench, const struct cli_args *args)
{
    struct bench_device device;
    memset(&device, 0, sizeof device);
    bench->table = &table;
    bench->state = &device;
    return bench_run(bench, args);
}
