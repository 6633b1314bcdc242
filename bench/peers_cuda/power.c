/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the GPU draws, by NVML: the difference of its energy counter over a time where it has one,
 * else the mean of what its meter says. No context is made, so what runs on the GPU goes on as it
 * was. Called by main.c for --power.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "cuda_peers.h"

#define METER_NS 20000000ull /* between two looks at the meter */

static struct {
#define NVML_CALL(name, args) int(*name) args;
#include "cuda_calls.def"
} nvml;

static const char *open_library(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return "no libnvidia-ml.so.1";
#define NVML_CALL(name, args)                                                                      \
    *(void **)(void *)&nvml.name = dlsym(library, #name);                                          \
    if (nvml.name == NULL) return "libnvidia-ml.so.1 has no " #name;
#include "cuda_calls.def"
    return nvml.nvmlInit_v2() == 0 ? NULL : "nvmlInit fails";
}

/* Watts, or a negative number where the device has no such counter. */
static double by_energy(cuda_object device, uint64_t duration_ns)
{
    unsigned long long before = 0;
    unsigned long long after = 0;
    if (nvml.nvmlDeviceGetTotalEnergyConsumption(device, &before) != 0) return -1;
    uint64_t begin = bench_clock_ns();
    bench_sleep_ns(duration_ns);
    if (nvml.nvmlDeviceGetTotalEnergyConsumption(device, &after) != 0 || after <= before) return -1;
    /* Millijoules over nanoseconds. */
    return (double)(after - before) * 1e6 / (double)(bench_clock_ns() - begin);
}

static double by_meter(cuda_object device, uint64_t duration_ns)
{
    double sum = 0;
    uint32_t count = 0;
    uint64_t end = bench_clock_ns() + duration_ns;
    do {
        unsigned milliwatts = 0;
        if (nvml.nvmlDeviceGetPowerUsage(device, &milliwatts) != 0) return -1;
        sum += milliwatts;
        count++;
        bench_sleep_ns(METER_NS);
    } while (bench_clock_ns() < end);
    return sum / count / 1e3;
}

void measure_power(const struct cuda_peers *peers, uint64_t duration_ns)
{
    cuda_object device = NULL;
    const char *why = open_library();
    if (why == NULL && nvml.nvmlDeviceGetHandleByUUID(peers->uuid, &device) != 0)
        why = "NVML does not know the device";
    double watts = why == NULL ? by_energy(device, duration_ns) : -1;
    if (why == NULL && watts < 0) watts = by_meter(device, duration_ns);
    if (why == NULL && watts < 0) why = "NVML gives no power of this device";
    if (why != NULL)
        print_absent("power", why);
    else
        print_figure("power", watts, "W");
}
