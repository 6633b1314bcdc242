/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The machine under a benchmark: CPUs, clocks, sleeping. Nothing here is on a timed path but
 * bench_clock_ns, whose cost is printed with the results.
 */
#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void bench_cpus_choose(struct bench_cpus *cpus)
{
    cpu_set_t set;
    int found[2] = {-1, -1};
    memset(cpus, 0, sizeof *cpus);
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE && cpu < BENCH_MAX_CPUS; cpu++) {
            if (!CPU_ISSET(cpu, &set)) continue;
            if (cpus->count < 2) found[cpus->count] = cpu;
            cpus->allowed[cpu / 8] |= (uint8_t)(1u << cpu % 8);
            cpus->count++;
        }
    }
    cpus->producer = cpus->count >= 2 ? found[0] : -1;
    cpus->consumer = cpus->count >= 2 ? found[1] : -1;
}

void bench_pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0) return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void bench_unpin(const struct bench_cpus *cpus)
{
    cpu_set_t set;
    if (cpus->count == 0) return;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && cpu < BENCH_MAX_CPUS; cpu++)
        if (cpus->allowed[cpu / 8] >> cpu % 8 & 1) CPU_SET(cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void bench_cpu_model(char *text, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(text, size, "unknown processor");
    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(text, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(file);
}

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double bench_clock_cost_ns(void)
{
    enum { READINGS = 2000, TRIES = 20 };
    double least = 1e9;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = bench_clock_ns();
        uint64_t end = begin;
        for (int k = 0; k < READINGS; k++)
            end = bench_clock_ns();
        double mean = (double)(end - begin) / READINGS;
        if (mean < least) least = mean;
    }
    return least;
}

uint64_t bench_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_sleep_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

void bench_yield(void)
{
    sched_yield();
}
