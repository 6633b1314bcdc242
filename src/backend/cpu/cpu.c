/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The CPU backend: worker threads of the application that run the device source as it is. There is
 * no thread for the poller; whichever worker is idle has that role. Workers block all signals and
 * set the floating-point state themselves, because a host program built with fast math hands over
 * another one.
 */
#include "backend/backend.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE__)
#    include <xmmintrin.h>
#else
#    include <fenv.h>
#endif

#include "backend/cpu/interpreter.h"
#include "base/clock.h"
#include "device/worker.h"

#define MAX_WORKERS   256u
#define PAUSE_NS      1000000000u /* how long slots have to end */
#define PAUSE_LOOK_NS 50000u

struct worker {
    pthread_t thread;
    struct dev_runtime *device;
    uint32_t number;
    uint32_t left; /* (atomic) it runs no operation any more, and its name may soon be another's */
};

struct vyre_backend_run {
    struct vyre_memory *memory;
    struct dev_runtime *device;
    size_t bytes;
    uint32_t count; /* of the workers that run */
    struct dev_guest guest;
    struct worker worker[];
};

static uint32_t cores(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > (long)MAX_WORKERS ? MAX_WORKERS : (uint32_t)online;
}

static void caps(vyre_caps *out, const char *device)
{
    (void)device;
    out->supported = 1;
    out->max_workers = MAX_WORKERS;
    out->default_workers = cores();
    snprintf(out->name, sizeof out->name, "cpu");
    snprintf(out->device, sizeof out->device, "%u core%s of this machine", cores(),
             cores() == 1 ? "" : "s");
}

static void *work(void *argument)
{
    struct worker *worker = argument;
#if defined(__SSE__)
    _mm_setcsr(0x1F80); /* all exceptions masked, round to nearest, no flush to zero */
#else
    fesetenv(FE_DFL_ENV);
#endif
    dev_worker(worker->device, worker->number);
    __atomic_store_n(&worker->left, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void join(struct vyre_backend_run *run)
{
    for (uint32_t i = 0; i < run->count; i++)
        pthread_join(run->worker[i].thread, NULL);
}

static void destroy(struct vyre_backend_run *run)
{
    vyre_memory_free(run->memory, run, run->bytes);
}

/* Ends the workers that run already: the device stops as if it had been told to. */
static void abandon(struct vyre_backend_run *run)
{
    struct dev_runtime *device = run->device;
    __atomic_fetch_sub(&device->running, device->workers - run->count, __ATOMIC_ACQ_REL);
    __atomic_store_n(&device->shutdown, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&device->wake_seq, 1, __ATOMIC_SEQ_CST);
    vyre_futex_wake(&device->wake_seq, UINT32_MAX);
    join(run);
    run->count = 0;
}

static vyre_status open_run(const struct vyre_backend_setup *setup, struct vyre_backend_run **out,
                            vyre_error *err)
{
    void *memory;
    size_t bytes =
        sizeof(struct vyre_backend_run) + setup->options->workers * sizeof(struct worker);
    vyre_status status = vyre_memory_alloc(setup->memory, 1, bytes, "worker list", &memory, err);
    if (status) return status;
    struct vyre_backend_run *run = memory;
    run->memory = setup->memory;
    run->bytes = bytes;
    *out = run;
    return VYRE_OK;
}

static vyre_status start(struct vyre_backend_run *run, const struct vyre_backend_image *image,
                         vyre_error *err)
{
    struct dev_runtime *device = run->device = image->device;
    device->interpreter = (uint64_t)(uintptr_t)vyre_interpreter_choose();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    while (run->count < device->workers && !failed) {
        struct worker *worker = &run->worker[run->count];
        worker->device = device;
        worker->number = run->count;
        failed = pthread_create(&worker->thread, NULL, work, worker);
        if (!failed) run->count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return VYRE_OK;
    uint32_t count = run->count;
    abandon(run);
    return vyre_fail_errno(err, failed, "starting worker thread %u of %u", count + 1,
                           device->workers);
}

static int on_worker(const struct vyre_backend_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        const struct worker *worker = &run->worker[i];
        if (__atomic_load_n(&worker->left, __ATOMIC_ACQUIRE)) continue;
        if (pthread_equal(pthread_self(), worker->thread)) return 1;
    }
    return 0;
}

static void help(struct vyre_backend_run *run)
{
    struct dev_runtime *device = run->device;
    if (!dev_lock_try(&device->page->poller)) return;
    if (dev_watch_news(&device->watch[0])) dev_poll_system(device);
    if (device->waiting_list != DEV_NONE) dev_system_retry(device);
    if (dev_io_active(device)) dev_io_pass(device);
    dev_share_out(device); /* a slot that runs again has come this way */
    /* Not a whole pass: an end of any time may have freed a fence. */
    dev_role_leave(device, dev_load_relaxed(&device->ends) - 1);
}

/* Pausing. Whoever has the poller's role alone takes slots, and while somebody has it nobody is
 * woken for new ones: so the caller takes it and keeps it, until resume.
 * ------------------------------------------------------------------------------------------- */

static void nap(void)
{
    struct timespec moment = {0, PAUSE_LOOK_NS};
    nanosleep(&moment, NULL);
}

/* A worker gives the role up when it runs something or goes to sleep. */
static int take_role(struct dev_runtime *device, uint64_t until_ns)
{
    while (!dev_lock_try(&device->page->poller)) {
        if (vyre_clock_ns() > until_ns) return 0;
        nap();
    }
    return 1;
}

/* Whether all that was taken has ended; fences that waited for that are let go first. (role) */
static int quiet(struct dev_runtime *device)
{
    int ended = 1;
    if (dev_io_active(device)) dev_io_pass(device);
    for (uint32_t i = 1; i < device->watch_count; i++) {
        struct dev_queue *queue = &device->queues[device->watch[i].queue];
        if (queue->barrier) dev_barrier_lift(device, queue);
        if (queue->barrier || !dev_queue_ended(queue)) ended = 0;
    }
    dev_share_out(device);
    dev_lock(&device->sched);
    if (device->free_count + device->waiting_ops != device->inflight_slots) ended = 0;
    dev_unlock(&device->sched);
    return ended;
}

static void resume(struct vyre_backend_run *run)
{
    /* Not a whole pass: as in help. */
    dev_role_leave(run->device, dev_load_relaxed(&run->device->ends) - 1);
}

static vyre_status pause_workers(struct vyre_backend_run *run, vyre_error *err)
{
    uint64_t until_ns = vyre_clock_ns() + PAUSE_NS;
    int held = take_role(run->device, until_ns), done = 0;
    while (held && !(done = quiet(run->device)) && vyre_clock_ns() < until_ns)
        nap();
    if (done) return VYRE_OK;
    if (held) resume(run);
    if (!held)
        return vyre_fail_with(
            err, VYRE_E_BUSY,
            "wait until long slots have ended, or open with a shorter idle_spin_ns",
            "no worker gave way within a second: one is in a long slot, or looks for "
            "work without pause");
    return vyre_fail_with(err, VYRE_E_BUSY,
                          "wait until long slots have ended and nobody submits, and try again",
                          "slots run that have not ended after a second, so the workers go on");
}

static void wake(struct vyre_backend_run *run)
{
    __atomic_fetch_add(&run->device->wake_seq, 1, __ATOMIC_SEQ_CST);
    vyre_futex_wake(&run->device->wake_seq, 1);
}

static uint32_t visit(struct vyre_backend_run *run, enum vyre_visit visit)
{
    if (visit == VYRE_VISIT_PASS) return dev_guest_pass(run->device, &run->guest);
    if (visit == VYRE_VISIT_ENTER)
        dev_guest_enter(run->device, &run->guest);
    else
        dev_guest_leave(run->device, &run->guest);
    return 0;
}

const struct vyre_backend_table vyre_backend_cpu = {
    .id = VYRE_BACKEND_CPU,
    .name = "cpu",
    .caps = caps,
    .open = open_run,
    .start = start,
    .join = join,
    .destroy = destroy,
    .on_worker = on_worker,
    .help = help,
    .pause = pause_workers,
    .resume = resume,
    .wake = wake,
    .visit = visit,
};
