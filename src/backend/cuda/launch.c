/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The thread that launches the resident kernel, waits for its end, and launches it again when it is
 * wanted. A kernel ends because it was stopped, because it parked, or because it may not stay
 * longer; all else is its death, and the process ends with it.
 *
 * While none runs the thread does what cannot be done beside one, and measures the GPU's clock.
 * Then the kernel rests: whoever wakes it launches it, and the thread, which sleeps on the count of
 * wakes, goes on to wait for its end. A count that changed since the launch began means another
 * launch.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "backend/cuda/run.h"
#include "base/clock.h"
#include "base/futex.h"
#include "device/resident_poll.h"

#define STAY_NS        1000000000u  /* where a watchdog ends kernels after some seconds */
#define JOIN_NS        2000000000u  /* how long the end of a stopped kernel is waited for */
#define HOLD_NS        200000000u   /* and of one that was told to park */
#define HELD_NS        1000000000u  /* a hold that came too late ends by itself */
#define CLOCK_FRESH_NS 10000000000u /* after so long the two clocks may have drifted apart */
#define CLOCK_TRIES    4u

static void end_process(int code)
{
    _exit(code);
}

void (*vyre_cuda_on_death)(int code) = end_process;

/* The clock: how far the monotonic clock is ahead of the GPU's timer, from the tightest of some
 * tries. No kernel runs. */
static int measure_clock(struct vyre_backend_run *run, uint32_t tries)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    uint64_t address, tightest = UINT64_MAX;
    const uint64_t *word = vyre_cuda_clock_word(run, &address);
    void *parameters[] = {&address};
    for (uint32_t i = 0; i < tries; i++) {
        uint64_t before = vyre_clock_ns();
        int result = driver->cuLaunchKernel(run->module.clock, 1, 1, 1, 1, 1, 1, 0,
                                            run->kernel_stream, parameters, NULL);
        if (!result) result = driver->cuStreamSynchronize(run->kernel_stream);
        if (result) return result;
        uint64_t took = vyre_clock_ns() - before;
        if (took >= tightest) continue;
        tightest = took;
        run->launch.clock_shift =
            (int64_t)(before + took / 2 - __atomic_load_n(word, __ATOMIC_RELAXED));
    }
    run->launch.clock_measured_ns = vyre_clock_ns();
    return 0;
}

/* One launch; it runs when this returns 0. */
static int launch_kernel(struct vyre_backend_run *run)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    struct vyre_cuda_launch *launch = &run->launch;
    struct dev_launch told = {0};
    void *parameters[] = {&launch->device, &told};
    int result = 0;
    if (vyre_clock_ns() - launch->clock_measured_ns > CLOCK_FRESH_NS)
        result = measure_clock(run, 1);
    told.clock_shift = launch->clock_shift;
    told.number = ++launch->number;
    told.park_ns = run->options->park_ns;
    told.stay_ns = run->device.watchdog ? STAY_NS : 0;
    if (!result)
        result = driver->cuLaunchKernel(run->module.kernel, launch->blocks, 1, 1,
                                        VYRE_CUDA_BLOCK_THREADS, 1, 1, 0, run->kernel_stream,
                                        parameters, NULL);
    /* Without the event its end is waited for in another way, which keeps a core busy. */
    if (!result) launch->recorded = !driver->cuEventRecord(run->ended, run->kernel_stream);
    return result;
}

static int await_end(struct vyre_backend_run *run)
{
    return run->launch.recorded ? run->driver.cuEventSynchronize(run->ended)
                                : run->driver.cuStreamSynchronize(run->kernel_stream);
}

static void say(struct vyre_cuda_launch *launch, uint32_t *word, uint32_t value)
{
    pthread_mutex_lock(&launch->lock);
    *word = value;
    pthread_cond_broadcast(&launch->changed);
    pthread_mutex_unlock(&launch->lock);
}

/* Waits until *word is not `seen`, at most ns. (lock) Returns whether it changed. */
static int await(struct vyre_cuda_launch *launch, const uint32_t *word, uint32_t seen, uint64_t ns)
{
    uint64_t until = vyre_clock_after(vyre_clock_ns(), ns);
    struct timespec at = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    int result = 0;
    while (*word == seen && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&launch->changed, &launch->lock, &at);
    return *word != seen;
}

/* Nobody launches while somebody links, or is about to. (lock) */
static void await_release(struct vyre_cuda_launch *launch)
{
    while (launch->held) {
        uint64_t now = vyre_clock_ns();
        if (launch->held_until_ns <= now)
            launch->held = 0;
        else
            await(launch, &launch->held, 1, HELD_NS);
    }
}

static int was_woken(struct vyre_cuda_launch *launch, uint32_t seen)
{
    return __atomic_load_n(&launch->wakes, __ATOMIC_ACQUIRE) != seen;
}

/* Launches the kernel if it rests; else tells how that went. (lock) */
static int launch_resting(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    if (!launch->resting) return launch->woken_result;
    launch->resting = 0;
    launch->running = 1;
    launch->seen = __atomic_load_n(&launch->wakes, __ATOMIC_ACQUIRE);
    launch->woken_result = launch_kernel(run);
    return launch->woken_result;
}

/* From the end of one launch to the beginning of the next: 0, or the result of a call that failed.
 */
static int rest(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    uint32_t seen = launch->seen; /* nobody launches before this thread says that it rests */
    int again = __atomic_load_n(&launch->page->again, __ATOMIC_ACQUIRE) == launch->number;
    int result = 0;
    pthread_mutex_lock(&launch->lock);
    vyre_cuda_store_settle(run);
    /* Not while somebody links: the clock's kernel is in the module that goes. */
    if (!again && !launch->held && !was_woken(launch, seen))
        result = measure_clock(run, CLOCK_TRIES);
    launch->resting = !result;
    pthread_mutex_unlock(&launch->lock);
    while (!again && !result && !was_woken(launch, seen))
        vyre_futex_wait(&launch->wakes, seen, UINT64_MAX);
    pthread_mutex_lock(&launch->lock);
    /* One that somebody has launched runs: its end is waited for, whoever holds the next. */
    if (launch->resting) await_release(launch);
    if (!result) result = launch_resting(run);
    pthread_mutex_unlock(&launch->lock);
    return result;
}

/* The kernel has ended: why? 0: to be launched again, 1: it was stopped, -1: it died. */
static int judge_end(struct vyre_backend_run *run, int result)
{
    const struct dev_page *page = run->launch.page;
    if (result) {
        vyre_log_line(run->log, VYRE_LOG_ERROR, "the resident kernel died in launch %u: %s",
                      run->launch.number, vyre_cuda_result_name(&run->driver, result));
        return -1;
    }
    if (__atomic_load_n(&page->state, __ATOMIC_ACQUIRE) == DEV_GONE) return 1;
    if (__atomic_load_n(&page->left, __ATOMIC_ACQUIRE) == run->launch.number) return 0;
    vyre_log_line(run->log, VYRE_LOG_ERROR, "launch %u of the resident kernel ended on its own",
                  run->launch.number);
    return -1;
}

/* Launches, until the kernel was stopped or died. The first launch is the business of who waits for
 * it in start. */
static void *launch_thread(void *argument)
{
    struct vyre_backend_run *run = argument;
    struct vyre_cuda_launch *launch = &run->launch;
    launch->seen = __atomic_load_n(&launch->wakes, __ATOMIC_ACQUIRE);
    int result = run->driver.cuCtxSetCurrent(run->context), end = 0;
    if (!result) result = launch_kernel(run);
    launch->first_result = result;
    say(launch, &launch->first, 1);
    if (result) return NULL;
    while (!end) {
        if (!result) result = await_end(run);
        say(launch, &launch->running, 0);
        end = judge_end(run, result);
        if (end) break;
        result = rest(run);
    }
    if (end < 0) vyre_cuda_on_death(VYRE_CUDA_EXIT);
    say(launch, &launch->ended, 1);
    return NULL;
}

static vyre_status start_thread(struct vyre_backend_run *run, vyre_error *err)
{
    struct vyre_cuda_launch *launch = &run->launch;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    launch->running = 1;
    int failed = pthread_create(&launch->thread, NULL, launch_thread, run);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        launch->running = 0;
        return vyre_fail_errno(err, failed, "starting the launch thread");
    }
    pthread_mutex_lock(&launch->lock);
    while (!launch->first)
        pthread_cond_wait(&launch->changed, &launch->lock);
    pthread_mutex_unlock(&launch->lock);
    launch->threaded = !launch->first_result;
    if (launch->threaded) return VYRE_OK;
    pthread_join(launch->thread, NULL);
    launch->running = 0;
    return vyre_fail_cuda(&run->driver, err, launch->first_result,
                          "launching the resident kernel, %u blocks", launch->blocks);
}

vyre_status vyre_cuda_start(struct vyre_backend_run *run, const struct vyre_backend_image *image,
                            vyre_error *err)
{
    struct vyre_cuda_launch *launch = &run->launch;
    vyre_status status = vyre_cuda_enter(run, err);
    if (!status)
        status = vyre_cuda_memory.write(run, image->address, image->device, image->bytes, err);
    if (!status)
        status = vyre_cuda_memory.write(run, image->address, image->resident,
                                        sizeof *image->resident, err);
    if (status) return status;
    launch->page = image->device->page;
    launch->device = image->address;
    int result = measure_clock(run, CLOCK_TRIES);
    if (result) return vyre_fail_cuda(&run->driver, err, result, "reading the GPU's clock");
    return start_thread(run, err);
}

/* The caller launches at once where it can: to wake the thread first would take as long again. */
void vyre_cuda_wake(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    __atomic_fetch_add(&launch->wakes, 1, __ATOMIC_ACQ_REL);
    pthread_mutex_lock(&launch->lock);
    if (launch->resting && !launch->held && run->driver.cuCtxSetCurrent(run->context) == 0)
        launch_resting(run);
    pthread_mutex_unlock(&launch->lock);
    vyre_futex_wake(&launch->wakes, 1);
}

void vyre_cuda_join(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    if (!launch->threaded) return;
    pthread_mutex_lock(&launch->lock);
    int ended = await(launch, &launch->ended, 0, JOIN_NS);
    launch->abandoned = !ended;
    pthread_mutex_unlock(&launch->lock);
    if (!ended) {
        vyre_log_line(run->log, VYRE_LOG_ERROR,
                      "the resident kernel was told to stop and still runs; it ends with this "
                      "process");
        return;
    }
    pthread_join(launch->thread, NULL);
    launch->threaded = 0;
}

vyre_status vyre_cuda_hold(struct vyre_backend_run *run, vyre_error *err)
{
    struct vyre_cuda_launch *launch = &run->launch;
    pthread_mutex_lock(&launch->lock);
    launch->held = 1;
    launch->held_until_ns = UINT64_MAX;
    int parked = !launch->running || await(launch, &launch->running, 1, HOLD_NS);
    if (!parked) launch->held_until_ns = vyre_clock_ns() + HELD_NS;
    pthread_mutex_unlock(&launch->lock);
    if (parked) return VYRE_OK;
    /* It was woken before this call came: the hold stays for a while, and the next park is ours. */
    return vyre_fail_with(err, VYRE_E_BUSY, "wait until long operations have ended, and try again",
                          "slots run that do not end, so the kernel cannot be linked anew");
}

void vyre_cuda_release(struct vyre_backend_run *run)
{
    say(&run->launch, &run->launch.held, 0);
}
