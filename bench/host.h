/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What every measurement needs of the machine: which two CPUs it uses, the clock, the CPU time of
 * the process, and how to wait on another thread. Called by the peers and by `vyre bench`.
 */
#ifndef VYRE_BENCH_HOST_H
#define VYRE_BENCH_HOST_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_CACHE_LINE 64
#define BENCH_MAX_CPUS   1024

/* The two CPUs that all measurements share; -1: threads are left where the scheduler puts them. */
struct bench_cpus {
    int producer;
    int consumer;
    int count;                           /* how many CPUs the process may use */
    uint8_t allowed[BENCH_MAX_CPUS / 8]; /* which; bit i % 8 of byte i / 8 */
};

/* Takes the first two CPUs that the process may use; with fewer than two nothing is pinned. */
void bench_cpus_choose(struct bench_cpus *cpus);

/* Binds the calling thread, and threads it makes from now on, to one CPU; -1 does nothing. */
void bench_pin(int cpu);

/* Lets the calling thread, and threads it makes from now on, run on every CPU it had at first. */
void bench_unpin(const struct bench_cpus *cpus);

/* What the processor calls itself; "unknown processor" where it does not say. */
void bench_cpu_model(char *text, size_t size);

/* The monotonic clock. */
uint64_t bench_clock_ns(void);

/* What one reading of the clock costs: the least of several means. */
double bench_clock_cost_ns(void);

/* User and system time that the whole process has used so far. */
uint64_t bench_process_cpu_ns(void);

/* Sleeps at least this long. */
void bench_sleep_ns(uint64_t ns);

void bench_yield(void);

/* One turn of a wait for another thread; gives the core away now and then, for machines where both
 * share one. `spins` belongs to the wait and starts at 0. */
static inline void bench_spin(uint32_t *spins)
{
    if (++*spins % 16384 == 0) bench_yield();
}

#endif
