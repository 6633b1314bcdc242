/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Law 1: while both sides are awake a slot costs no system call and no allocation. A child process
 * opens a runtime, warms up, forbids every system call but the one that ends it, and runs 200,000
 * slots; the kernel would kill it at the first call. Two children that sleep, one on each side,
 * show that it does.
 */
#include "meter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { LONE = 10000, BATCHED = 190000, BATCH = 128, WARM = 2000, HOLD = 100 };
enum { BLOCKED_HERE = 40, WRONG_RESULT = 41, ALLOCATED = 42 };

/* From here on every thread of the process may only leave. */
static bool forbid_system_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static vyre *open_awake(struct meter *meter, vyre_allocator *hooks, uint64_t idle_spin_ns)
{
    vyre_options options = cpu_options(1);
    *hooks = meter_allocator(meter);
    options.allocator = hooks;
    options.idle_spin_ns = idle_spin_ns;
    return open_with(&options);
}

static vyre_queue *open_spinning(vyre *rt)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;
    options.wait_mode = VYRE_WAIT_SPIN;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    return queue;
}

static uint32_t add_run(vyre_call *call)
{
    call->result[0] = call->args[0] + 1;
    return 0;
}

/* Slots one at a time: built-in and native, waited for by ticket. Returns how many were wrong. */
static uint32_t run_lone(vyre_queue *queue, uint32_t count)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < count; i++) {
        vyre_completion end = {.outcome = 0};
        uint64_t ticket = 0;
        vyre_slot *slot = vyre_queue_slot(queue);
        wrong += vyre_prep_op(slot, i % 4 ? VYRE_OP_NOP : HOLD, &i, 1, NULL) != VYRE_OK;
        wrong += vyre_queue_submit(queue, &ticket, NULL) != VYRE_OK;
        wrong += vyre_wait(queue, ticket, VYRE_FOREVER, &end, NULL) != VYRE_OK;
        wrong += end.outcome != VYRE_DONE || (i % 4 == 0 && end.result[0] != i + 1);
    }
    return wrong;
}

/* Slots in batches, reaped many at a time. */
static uint32_t run_batches(vyre_queue *queue, uint32_t count)
{
    vyre_completion ends[BATCH];
    uint32_t wrong = 0;
    for (uint32_t sent = 0; sent < count; sent += BATCH) {
        size_t n = 0;
        for (uint32_t i = 0; i < BATCH; i++)
            wrong += vyre_prep_atomic_add(vyre_queue_slot(queue), WORD(1), 1, NULL) != VYRE_OK;
        wrong += vyre_queue_submit(queue, NULL, NULL) != VYRE_OK;
        wrong += vyre_queue_reap_wait(queue, ends, BATCH, BATCH, VYRE_FOREVER, &n, NULL) != VYRE_OK;
        wrong += n != BATCH;
    }
    return wrong;
}

static int awake_child(void)
{
    static struct meter meter;
    vyre_allocator hooks;
    vyre *rt = open_awake(&meter, &hooks, VYRE_DEFAULT64 - 1);
    vyre_queue *queue = open_spinning(rt);
    register_op(rt, HOLD, add_run, NULL);
    uint32_t wrong = run_lone(queue, WARM) + run_batches(queue, WARM);
    uint64_t calls = atomic_load(&meter.calls);
    int64_t blocks = atomic_load(&meter.live_blocks);
    if (!forbid_system_calls()) return BLOCKED_HERE;
    wrong += run_lone(queue, LONE) + run_batches(queue, BATCHED);
    if (wrong != 0) return WRONG_RESULT;
    return atomic_load(&meter.calls) == calls && meter.live_blocks == blocks ? 0 : ALLOCATED;
}

static uint32_t spin_run(vyre_call *call)
{
    while (!atomic_load((_Atomic uint32_t *)call->ctx)) {}
    return 0;
}

/* The reaping side sleeps: its futex call must kill the child. */
static int blocking_child(void)
{
    static struct meter meter;
    static _Atomic uint32_t never;
    vyre_allocator hooks;
    vyre_completion end;
    vyre *rt = open_awake(&meter, &hooks, VYRE_DEFAULT64 - 1);
    vyre_queue *queue = open_spinning(rt);
    register_op(rt, HOLD, spin_run, &never);
    vyre_queue_set_wait_mode(queue, VYRE_WAIT_BLOCK, NULL);
    uint64_t ticket = submit_op(queue, HOLD, NULL, 0);
    if (!forbid_system_calls()) return BLOCKED_HERE;
    vyre_wait(queue, ticket, 20000000, &end, NULL);
    return 0;
}

/* The device side sleeps: either its futex call or the producer's wake must kill the child. */
static int sleeping_child(void)
{
    static struct meter meter;
    vyre_allocator hooks;
    vyre *rt = open_awake(&meter, &hooks, 0);
    vyre_queue *queue = open_spinning(rt);
    register_op(rt, HOLD, add_run, NULL);
    if (!forbid_system_calls()) return BLOCKED_HERE;
    run_lone(queue, 1000);
    return 0;
}

/* Whether the filter can be had here at all, and whether reading the clock is free of calls. */
static int probing_child(void)
{
    struct timespec now;
    if (!forbid_system_calls()) return BLOCKED_HERE;
    for (int i = 0; i < 1000; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return 0;
}

/* The child's exit code, or 1000 plus the signal that ended it. */
static int child(int (*body)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no core file for a death that is meant */
        int code = body();
        syscall(SYS_exit_group, code);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void)
{
    if (UNDER_ASAN || UNDER_TSAN) skip_all("sanitizers make system calls of their own");
    int probe = child(probing_child);
    if (probe == BLOCKED_HERE) skip_all("seccomp filters are not permitted here");
    if (probe != 0) skip_all("reading the clock is a system call here (%d)", probe);
    is_u64(child(awake_child), 0, "%d slots without a system call and without an allocation",
           LONE + BATCHED);
    is_u64(child(blocking_child), 1000 + SIGSYS, "a wait that sleeps is caught");
    is_u64(child(sleeping_child), 1000 + SIGSYS, "a worker that sleeps is caught");
    return done();
}
