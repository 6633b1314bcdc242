/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A runtime's life on a device: opening until the first answer, stopping from rest and from a
 * flood, being woken when it has parked, and what it costs meanwhile. Steps of the benchmark of a
 * device.
 */
#include "bench_device.h"
#include "bench_lanes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAKES       50u
#define REST_NS     20000000ull /* after so long a runtime that parks after BENCH_PARK_NS has */
#define LEAST_POWER 0.1         /* seconds: the counter of a GPU moves in steps */

/* A queue that is always full of slots nobody reaps yet: submits what fits. */
static int load(vyre_queue *queue)
{
    vyre_error err;
    bench_slots_put(queue, BENCH_PACK, vyre_queue_capacity(queue));
    if (vyre_queue_submit(queue, NULL, &err) != VYRE_OK)
        return cli_fail("cannot submit a slot", &err);
    return 0;
}

/* Opens a runtime, waits for an answer, stops it from rest or under load, closes it. */
static int live(struct bench *bench, int loaded)
{
    vyre *runtime = NULL;
    vyre_queue *queue = NULL;
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    options.slots = 65536;
    uint64_t begin = bench_clock_ns();
    int code = bench_device_open(bench, 0, &runtime);
    if (code != 0) return code;
    if (vyre_queue_open(runtime, &options, &queue, &err) != VYRE_OK)
        code = cli_fail("cannot open a queue", &err);
    if (code == 0) code = bench_round_trip(queue, NULL);
    if (code == 0) bench_add(bench, DEVICE_OPEN, (double)(bench_clock_ns() - begin) / 1e6);
    if (code == 0 && loaded) code = load(queue);
    begin = bench_clock_ns();
    if (code == 0 && vyre_stop(runtime, &err) != VYRE_OK)
        code = cli_fail("cannot stop a runtime", &err);
    uint64_t end = bench_clock_ns();
    if (code == 0)
        bench_add(bench, loaded ? DEVICE_STOP_LOADED : DEVICE_STOP_IDLE,
                  (double)(end - begin) / 1e3);
    begin = bench_clock_ns();
    vyre_close(runtime);
    if (code == 0) bench_add(bench, DEVICE_CLOSE, (double)(bench_clock_ns() - begin) / 1e6);
    return code;
}

int bench_step_life(struct bench *bench, uint32_t line)
{
    struct bench_device *device = bench->state;
    (void)line;
    if (bench->series[DEVICE_OPEN_COLD].count == 0)
        bench_add(bench, DEVICE_OPEN_COLD, device->open_cold_ms);
    int code = live(bench, 0);
    return code == 0 ? live(bench, 1) : code;
}

/* CPU time of another process in milliseconds; a negative number where the system does not say. */
static double process_cpu_ms(uint32_t pid)
{
    char path[64];
    char text[1024] = "";
    unsigned long user = 0;
    unsigned long system = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    /* The name, in parentheses, may hold anything; eleven more fields stand before the times. */
    char *at = strrchr(text, ')');
    if (at == NULL ||
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        return -1;
    return (double)(user + system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

/* What a parked runtime costs this process and its device host. */
static int parked_cpu(struct bench *bench, vyre *runtime)
{
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    if (vyre_describe(runtime, &description, &err) != VYRE_OK)
        return cli_fail("cannot describe a runtime", &err);
    bench_sleep_ns(REST_NS);
    double host = process_cpu_ms(description.host_pid);
    uint64_t own = bench_process_cpu_ns();
    uint64_t begin = bench_clock_ns();
    bench_sleep_ns(bench->whole_ns);
    double seconds = (double)(bench_clock_ns() - begin) / 1e9;
    bench_add(bench, DEVICE_PARKED_CPU, (double)(bench_process_cpu_ns() - own) / 1e6 / seconds);
    double host_after = process_cpu_ms(description.host_pid);
    if (description.host_pid != 0 && host >= 0 && host_after >= 0)
        bench_add(bench, DEVICE_PARKED_HOST_CPU, (host_after - host) / seconds);
    return 0;
}

/* Rests until the device says that nobody looks for work; 0 where it does not within a second. */
static int rest_until_parked(vyre *runtime)
{
    for (uint32_t i = 0; i < 50; i++) {
        vyre_vitals vitals = VYRE_VITALS_INIT;
        bench_sleep_ns(REST_NS);
        if (vyre_vitals_read(runtime, &vitals, NULL) == VYRE_OK && vitals.asleep) return 1;
    }
    return 0;
}

int bench_step_parked(struct bench *bench, uint32_t line)
{
    static const struct bench_percentiles lines = {DEVICE_WAKE, DEVICE_WAKE_P90, BENCH_NONE,
                                                   BENCH_NONE,  DEVICE_WAKE_MAX, 1e3};
    vyre *runtime = NULL;
    vyre_queue *queue = NULL;
    uint32_t count = 0;
    int code = bench_device_runtime(bench, BENCH_PARK_NS, &runtime);
    if (code == 0) code = bench_device_queue(runtime, 0, &queue);
    if (code == 0) code = bench_round_trip(queue, NULL);
    while (code == 0 && count < WAKES) {
        uint64_t took = 0;
        if (!rest_until_parked(runtime)) {
            bench_note(bench, line, "the device never parked");
            break;
        }
        code = bench_round_trip(queue, &took);
        bench->samples[count++] = bench_sample(took);
    }
    if (code == 0) bench_add_percentiles(bench, &lines, bench->samples, count);
    if (code == 0) code = parked_cpu(bench, runtime);
    vyre_queue_close(queue);
    return code;
}

/* One reading of the power, while the runtime is in the state that the line names. */
struct reading {
    struct bench *bench;
    uint32_t line;
};

static void add_power(void *ctx, const char *name, double value)
{
    struct reading *reading = ctx;
    if (strcmp(name, "power") == 0) bench_add(reading->bench, reading->line, value);
}

static void no_power(void *ctx, const char *name, const char *note)
{
    struct reading *reading = ctx;
    char text[128];
    (void)name;
    snprintf(text, sizeof text, "not available: %.100s", note);
    bench_note(reading->bench, reading->line, text);
}

static void read_power(void *ctx)
{
    struct reading *reading = ctx;
    struct bench_peers_sink sink = {add_power, no_power, reading};
    double seconds = (double)reading->bench->whole_ns / 2e9;
    char number[32];
    const char *const options[] = {"--power", number, NULL};
    char why[128];
    snprintf(number, sizeof number, "%.3f", seconds < LEAST_POWER ? LEAST_POWER : seconds);
    if (bench_peers_run(reading->bench, options, &sink, why) != 0) no_power(reading, "power", why);
}

int bench_step_power(struct bench *bench, uint32_t line)
{
    struct bench_device *device = bench->state;
    struct reading parked = {bench, DEVICE_POWER_PARKED};
    struct reading idle = {bench, DEVICE_POWER_IDLE};
    struct reading loaded = {bench, DEVICE_POWER_LOADED};
    struct bench_lane_plan plan = {BENCH_NOP, 1, 0, 0, 0, 0, 0, read_power, &loaded};
    struct bench_lane_result result;
    vyre *runtime = NULL;
    if (device->description.backend != VYRE_BACKEND_CUDA) {
        bench_note(bench, line, "not available: no GPU");
        return 0;
    }
    int code = bench_device_runtime(bench, BENCH_PARK_NS, &runtime);
    if (code != 0) return code;
    bench_sleep_ns(10 * REST_NS);
    read_power(&parked);
    code = bench_device_runtime(bench, 0, &runtime);
    if (code != 0) return code;
    bench_sleep_ns(10 * REST_NS);
    read_power(&idle);
    return bench_lanes_run(bench, runtime, &plan, &result);
}

int bench_step_held(struct bench *bench, uint32_t line)
{
    struct bench_device *device = bench->state;
    bench_add(bench, line, (double)device->description.memory_bytes / 1024);
    return 0;
}
