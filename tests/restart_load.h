/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A device host that is killed while threads submit and reap: every ticket must come to exactly one
 * end, the marked ones to DONE. Used by t_restart, stress_restart and the slow test of 1,000 kills.
 */
#ifndef VYRE_TESTS_RESTART_LOAD_H
#define VYRE_TESTS_RESTART_LOAD_H

#include "support.h"

#include <signal.h>

#define LOAD_TICKETS                                                                               \
    (1u << 24) /* of each queue; a thread that has used them up submits no more                    \
                */
#define LOAD_QUEUES 3u
#define LOAD_TIMES  4096u
/* So long, and so often, hosts that are being set up are hit: the runtime is sure to try again, see
 * begin_again in restart.c. */
#define LOAD_HIT_NS 200000000u
#define LOAD_HITS   2u

enum { LOAD_SUBMITTED = 1, LOAD_MARKED = 2, LOAD_ENDED = 4 };

/* What one thread does and finds. */
struct load_thread {
    vyre *rt;
    vyre_queue *queue;
    pthread_t thread;
    uint64_t seed;
    _Atomic uint32_t *stop;
    unsigned char *state; /* of each ticket */
    uint64_t submitted, done, lost, marked;
    uint64_t twice, marked_lost, other; /* each of them is a failure */
};

/* When the log said what. */
struct load_times {
    _Atomic uint64_t killed_ns;
    _Atomic uint32_t deaths, returns;
    uint64_t dead_ns;
    uint64_t detect_ns[LOAD_TIMES], return_ns[LOAD_TIMES];
    int loud;
};

TAP_UNUSED static uint64_t load_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The library's log: it says when a death was seen and when another host stood. */
TAP_UNUSED static void load_log(void *ctx, enum vyre_log_level level, const char *line)
{
    struct load_times *times = ctx;
    uint64_t now = load_clock();
    if (times->loud) printf("# log: %s\n", line);
    if (level == VYRE_LOG_WARNING && strncmp(line, "device host ", 12) == 0) {
        uint64_t killed = atomic_load(&times->killed_ns);
        uint32_t n = atomic_load(&times->deaths);
        if (n < LOAD_TIMES) times->detect_ns[n] = killed ? now - killed : 0;
        times->dead_ns = now;
        atomic_store(&times->deaths, n + 1);
    }
    if (level == VYRE_LOG_INFO && strstr(line, "works in its place")) {
        uint32_t n = atomic_load(&times->returns);
        if (n < LOAD_TIMES) times->return_ns[n] = now - times->dead_ns;
        atomic_store(&times->returns, n + 1);
    }
}

TAP_UNUSED static int load_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

TAP_UNUSED static void load_report(const char *what, uint64_t *times, uint32_t count)
{
    if (count > LOAD_TIMES) count = LOAD_TIMES;
    if (count == 0) return;
    qsort(times, count, sizeof times[0], load_compare);
    note("%s: p50 %.1f ms, max %.1f ms, of %u", what, (double)times[count / 2] / 1e6,
         (double)times[count - 1] / 1e6, count);
}

TAP_UNUSED static void load_end(struct load_thread *load, const vyre_completion *end)
{
    unsigned char *state = &load->state[end->ticket % LOAD_TICKETS];
    if ((*state & LOAD_SUBMITTED) == 0 || *state & LOAD_ENDED) load->twice++;
    if (end->outcome == VYRE_DONE)
        load->done++;
    else if (end->outcome != VYRE_LOST)
        load->other++;
    else if (*state & LOAD_MARKED)
        load->marked_lost++;
    else
        load->lost++;
    if (((*state & LOAD_MARKED) != 0) != ((end->flags & VYRE_COMPLETION_REPEATABLE) != 0))
        load->other++;
    *state |= LOAD_ENDED;
}

TAP_UNUSED static void load_submit(struct load_thread *load)
{
    uint32_t want = 1 + random_below(&load->seed, 24), got = 0;
    uint32_t marked = 0;
    vyre_error err;
    for (; got < want; got++) {
        vyre_slot *slot = vyre_queue_slot(load->queue);
        if (!slot) break;
        if (random_below(&load->seed, 4) != 0)
            must(vyre_prep_nop(slot, &err), &err);
        else
            must(vyre_prep_atomic_add(slot, WORD(1), 1, &err), &err);
        if (random_below(&load->seed, 16) == 0)
            must(vyre_slot_deadline(load->queue, slot, PATIENCE_NS, &err), &err);
        if (random_below(&load->seed, 2) != 0) continue;
        must(vyre_slot_repeatable(load->queue, slot, &err), &err);
        marked |= 1u << got;
    }
    for (uint32_t i = 0; i < got; i++)
        load->state[(load->submitted + i) % LOAD_TICKETS] =
            (unsigned char)(LOAD_SUBMITTED | (marked >> i & 1 ? LOAD_MARKED : 0));
    uint64_t first = submit(load->queue);
    if (got != 0 && first != load->submitted) load->other++;
    load->submitted += got;
    load->marked += (uint32_t)__builtin_popcount(marked);
}

TAP_UNUSED static void *load_run(void *argument)
{
    struct load_thread *load = argument;
    vyre_completion ends[64];
    vyre_error err;
    size_t count;
    while (!atomic_load(load->stop) && load->submitted < LOAD_TICKETS - 64) {
        uint32_t mode = random_below(&load->seed, 64);
        load_submit(load);
        if (mode < 3) must(vyre_queue_set_wait_mode(load->queue, mode, &err), &err);
        size_t least = random_below(&load->seed, 3);
        must(vyre_queue_reap_wait(load->queue, ends, least, 64, PATIENCE_NS, &count, &err), &err);
        for (size_t i = 0; i < count; i++)
            load_end(load, &ends[i]);
    }
    while (vyre_queue_outstanding(load->queue) != 0) {
        must(vyre_queue_reap_wait(load->queue, ends, 1, 64, PATIENCE_NS, &count, &err), &err);
        for (size_t i = 0; i < count; i++)
            load_end(load, &ends[i]);
    }
    return NULL;
}

TAP_UNUSED static uint32_t host_pid(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    return about.host_pid;
}

/* Stops a process in its tracks; all its threads stand when this returns. */
TAP_UNUSED static void freeze(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (kill(pid, SIGSTOP) != 0) bail("no process %d", (int)pid);
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        FILE *file = fopen(path, "r");
        size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file) fclose(file);
        text[length] = '\0';
        if (strstr(text, ") T ")) return;
        breathe();
    }
    bail("process %d does not stand", (int)pid);
}

/* Waits until a host works that is not the one with this process number. */
TAP_UNUSED static bool host_returned(struct load_times *times, uint32_t returns)
{
    for (uint64_t i = 0; i < PATIENCE_NS / 50000; i++) {
        if (atomic_load(&times->returns) > returns) return true;
        breathe();
    }
    return false;
}

/* Kills the host `kills` times while threads use the runtime. */
TAP_UNUSED static void load_kill(uint32_t kills, uint64_t seed, uint32_t workers)
{
    static struct load_times times;
    static struct load_thread loads[LOAD_QUEUES];
    _Atomic uint32_t stop = 0;
    uint64_t state = seed;
    vyre_options options = cpu_options(workers);
    memset(&times, 0, sizeof times);
    options.place = VYRE_PLACE_HOST;
    options.log = load_log;
    options.log_ctx = &times;
    vyre *rt = open_with(&options);
    note("seed %" PRIu64, seed);
    for (uint32_t i = 0; i < LOAD_QUEUES; i++) {
        loads[i] = (struct load_thread){.rt = rt, .seed = seed + i + 1, .stop = &stop};
        loads[i].queue = open_queue(rt, 8u << (2 * i), 0);
        loads[i].state = calloc(LOAD_TICKETS, 1);
        if (!loads[i].state) bail("out of memory");
        if (pthread_create(&loads[i].thread, NULL, load_run, &loads[i])) bail("no thread");
    }
    uint32_t done_kills = 0, stuck = 0, returns = 0, hits = 0;
    uint64_t down_ns = 0; /* since when there is no host that works; 0: there was one */
    while (done_kills < kills && !stuck) {
        struct timespec nap = {0, (long)random_below(&state, 20000000)};
        nanosleep(&nap, NULL);
        uint32_t pid = host_pid(rt); /* it may take its time */
        if (atomic_load(&times.returns) != returns) down_ns = 0;
        if (down_ns != 0 && (hits > LOAD_HITS || load_clock() - down_ns > LOAD_HIT_NS)) {
            stuck = !host_returned(&times, returns);
            continue;
        }
        if (pid == 0) continue;
        returns = atomic_load(&times.returns);
        hits = down_ns == 0 ? 1 : hits + 1;
        if (down_ns == 0) down_ns = load_clock();
        atomic_store(&times.killed_ns, load_clock());
        if (kill((pid_t)pid, SIGKILL)) continue;
        done_kills++;
        /* Now and then the next one is hit while it is being set up. */
        if (random_below(&state, 6) != 0) stuck = !host_returned(&times, returns);
    }
    ok(!stuck, "a new host came after each of %u kills", done_kills);
    atomic_store(&stop, 1);
    uint64_t sum[7] = {0};
    for (uint32_t i = 0; i < LOAD_QUEUES; i++) {
        pthread_join(loads[i].thread, NULL);
        uint64_t open_ends = 0;
        for (uint64_t t = 0; t < loads[i].submitted; t++)
            open_ends += (loads[i].state[t] & LOAD_ENDED) == 0;
        uint64_t found[7] = {loads[i].submitted,   loads[i].done,  loads[i].lost, loads[i].twice,
                             loads[i].marked_lost, loads[i].other, open_ends};
        for (int k = 0; k < 7; k++)
            sum[k] += found[k];
        vyre_queue_close(loads[i].queue);
        free(loads[i].state);
    }
    note("%" PRIu64 " slots: %" PRIu64 " done, %" PRIu64 " lost", sum[0], sum[1], sum[2]);
    is_u64(sum[3], 0, "no ticket ended twice");
    is_u64(sum[4], 0, "no repeatable slot was lost");
    is_u64(sum[5], 0, "nothing ended in another way");
    is_u64(sum[6], 0, "none is without an end");
    ok(sum[1] > 0 && sum[1] + sum[2] == sum[0], "all ended");
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    is_u64(about.lost, sum[2], "the runtime counts as many lost");
    note("%u restarts, %" PRIu64 " slots run again", about.restarts, about.repeated);
    vyre_close(rt);
    load_report("death seen after", times.detect_ns, atomic_load(&times.deaths));
    load_report("works again after", times.return_ns, atomic_load(&times.returns));
}

#endif
