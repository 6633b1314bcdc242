/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The thread that launches the resident kernel, waits for its end, and launches it again. A kernel
 * ends because it was stopped, because it parked, or because it may not stay longer; all else is
 * its death, and the process ends with it.
 *
 * A kernel that has parked is armed at once: a wait for page->release and the next launch are put
 * into the stream, and the thread goes on to wait for the end of that launch. Whoever wakes the
 * kernel stores that word and nothing else (release.h). Between the end of one launch and the next
 * being armed no kernel runs, and the thread does what cannot be done beside one.
 *
 * Not armed, and not launched even for one who wants it, is a kernel that is paused, and one that
 * queue 0 told to park until who did so has linked. On a GPU whose streams cannot wait for a word
 * none is armed: there the thread looks at the word now and then.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "backend/cuda/run.h"
#include "device/release.h"

#define STAY_NS        1000000000u /* where a watchdog ends kernels after some seconds */
#define JOIN_NS        2000000000u /* how long the end of a stopped kernel is waited for */
#define HOLD_NS        200000000u  /* and of one that was told to park */
#define PAUSE_NS       1000000000u /* the same of one that is to be paused */
#define HELD_NS        1000000000u /* a hold that came too late, or does not come, ends by itself */
#define CLOCK_FRESH_NS 10000000000u /* after so long the two clocks may have drifted apart */
#define CLOCK_TRIES    4u
#define NAP_LEAST_NS   50000u   /* between two looks at page->release, where the thread looks */
#define NAP_MOST_NS    1000000u /* at last */
#define NAP_PART       64u      /* of the time since the kernel parked */
#define FINITE_NS      200000u  /* how long a finite kernel stays without work */

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

/* The clock as it is told to a launch, measured again where that is long ago; fewer times where the
 * kernel is wanted. */
static int refresh_clock(struct vyre_backend_run *run, int wanted)
{
    if (vyre_clock_ns() - run->launch.clock_measured_ns <= CLOCK_FRESH_NS) return 0;
    return measure_clock(run, wanted ? 1 : CLOCK_TRIES);
}

/* The number of the next launch. A word that is ahead of it was raised for a device that had this
 * memory before, or by somebody who lies: one launch answers it, not one for each number. */
static uint32_t next_number(const struct vyre_cuda_launch *launch)
{
    uint32_t next = dev_launch_after(launch->number);
    uint32_t release = __atomic_load_n(&launch->page->release, __ATOMIC_ACQUIRE);
    return (int32_t)(release - next) > 0 && release != 0 ? release : next;
}

/* One launch, armed or not; it runs, or will when it is woken, when this returns 0. */
static int launch_kernel(struct vyre_backend_run *run, int armed)
{
    const struct vyre_cuda_driver *driver = &run->driver;
    struct vyre_cuda_launch *launch = &run->launch;
    struct dev_launch told = {0};
    const uint32_t warps = run->device.block_warps;
    void *parameters[] = {&launch->device, &told};
    int result = 0;
    launch->number = next_number(launch);
    told.clock_shift = launch->clock_shift;
    told.clock_ns = launch->clock_measured_ns;
    told.number = launch->number;
    told.flags = armed ? DEV_LAUNCH_ARMED : 0;
    if (launch->blocks > run->device.multiprocessors) told.flags |= DEV_LAUNCH_CROWDED;
    told.block_warps = warps;
    told.park_ns = launch->finite ? FINITE_NS : run->options->park_ns;
    told.stay_ns = run->device.watchdog ? STAY_NS : 0;
    if (armed)
        result = driver->cuStreamWaitValue32(run->kernel_stream, launch->release_address,
                                             launch->number, VYRE_CU_WAIT_GEQ);
    if (result) return result;
    result = driver->cuLaunchKernel(run->module.kernel, launch->blocks, 1, 1, 32u * warps, 1, 1,
                                    warps * run->room_bytes, run->kernel_stream, parameters, NULL);
    if (result) {
        dev_release(launch->page, launch->number); /* a stream that waits for ever has no end */
        return result;
    }
    /* Without the event its end is waited for in another way, which keeps a core busy. */
    launch->recorded = !driver->cuEventRecord(run->ended, run->kernel_stream);
    return 0;
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

/* Waits until somebody says something, or a point of the clock has come. (lock) */
static int await_change(struct vyre_cuda_launch *launch, uint64_t until_ns)
{
    struct timespec at = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    return pthread_cond_timedwait(&launch->changed, &launch->lock, &at);
}

/* Waits until *word is not `seen`, at most ns. (lock) Returns whether it changed. */
static int await(struct vyre_cuda_launch *launch, const uint32_t *word, uint32_t seen, uint64_t ns)
{
    uint64_t until = vyre_clock_after(vyre_clock_ns(), ns);
    int result = 0;
    while (*word == seen && result != ETIMEDOUT)
        result = await_change(launch, until);
    return *word != seen;
}

/* How long to wait for a change before the next launch is put into the stream; 0: it is now. (lock)
 */
static uint64_t wait_before_next(struct vyre_cuda_launch *launch, int again, uint64_t left_ns)
{
    uint64_t rested = vyre_clock_ns() - left_ns, nap = rested / NAP_PART;
    if (launch->held || launch->paused) return HELD_NS;
    /* Whoever woke it meanwhile: he who told it to park would find it running. */
    if (launch->awaited && rested < HELD_NS) return HELD_NS - rested;
    if (again || launch->streams_wait) return 0;
    if (dev_released(launch->page, dev_launch_after(launch->number))) return 0;
    if (nap < NAP_LEAST_NS) return NAP_LEAST_NS;
    return nap < NAP_MOST_NS ? nap : NAP_MOST_NS;
}

/* From the end of one launch to the beginning or arming of the next: 0, or the result of a call
 * that failed. */
static int launch_next(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    uint64_t left_ns = vyre_clock_ns(), nap;
    pthread_mutex_lock(&launch->lock);
    int again = __atomic_load_n(&launch->page->again, __ATOMIC_ACQUIRE) == launch->number;
    vyre_cuda_store_settle(run);
    while ((nap = wait_before_next(launch, again, left_ns)) != 0)
        await_change(launch, vyre_clock_ns() + nap);
    /* Not while somebody links: the clock's kernel is in the module that goes. */
    int wanted = again || dev_released(launch->page, dev_launch_after(launch->number));
    int result = refresh_clock(run, wanted);
    launch->running = 1;
    if (!result) result = launch_kernel(run, !again && launch->streams_wait);
    pthread_mutex_unlock(&launch->lock);
    return result;
}

/* No kernel runs; whether one who links is awaited is known from the same moment on. */
static void note_end(struct vyre_cuda_launch *launch)
{
    pthread_mutex_lock(&launch->lock);
    launch->running = 0;
    launch->awaited = __atomic_load_n(&launch->page->told, __ATOMIC_ACQUIRE) == launch->number &&
                      launch->forgiven != launch->number;
    pthread_cond_broadcast(&launch->changed);
    pthread_mutex_unlock(&launch->lock);
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
    int result = run->driver.cuCtxSetCurrent(run->context), end = 0;
    if (!result) result = launch_kernel(run, 0);
    launch->first_result = result;
    say(launch, &launch->first, 1);
    if (result) return NULL;
    while (!end) {
        if (!result) result = await_end(run);
        note_end(launch);
        end = judge_end(run, result);
        if (end) break;
        result = launch_next(run);
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

/*
 * Tries a wait that is over at once. No attribute of a device says whether its streams can wait
 * (the one that there is speaks of calls that CUDA 12 has given up); the call itself says no. The
 * clock's kernel runs behind it, so one that does not end shows before anything depends on it.
 */
static vyre_status try_wait(struct vyre_backend_run *run, vyre_error *err)
{
    struct vyre_cuda_launch *launch = &run->launch;
    if (launch->finite) return VYRE_OK; /* one that is armed counts as started */
    uint32_t release = __atomic_load_n(&launch->page->release, __ATOMIC_ACQUIRE);
    int result = run->driver.cuStreamWaitValue32(run->kernel_stream, launch->release_address,
                                                 release, VYRE_CU_WAIT_GEQ);
    launch->streams_wait = !result;
    if (!result || result == VYRE_CU_NOT_SUPPORTED || result == VYRE_CU_NOT_PERMITTED)
        return VYRE_OK;
    return vyre_fail_cuda(&run->driver, err, result, "letting a stream wait for a word");
}

vyre_status vyre_cuda_start(struct vyre_backend_run *run, const struct vyre_backend_image *image,
                            vyre_error *err)
{
    struct vyre_cuda_launch *launch = &run->launch;
    vyre_status status = vyre_cuda_enter(run, err);
    image->resident->room_bytes = run->room_bytes;
    if (!status)
        status = vyre_cuda_memory.write(run, image->address, image->device, image->bytes, err);
    if (!status)
        status = vyre_cuda_memory.write(run, image->address, image->resident,
                                        sizeof *image->resident, err);
    if (status) return status;
    launch->page = image->device->page;
    launch->release_address =
        (uint64_t)(uintptr_t)image->resident->page + offsetof(struct dev_page, release);
    launch->device = image->address;
    status = try_wait(run, err);
    if (status) return status;
    int result = measure_clock(run, CLOCK_TRIES);
    if (result) return vyre_fail_cuda(&run->driver, err, result, "reading the GPU's clock");
    return start_thread(run, err);
}

void vyre_cuda_wake(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    pthread_mutex_lock(&launch->lock);
    uint32_t parked = __atomic_load_n(&launch->page->sleepers, __ATOMIC_ACQUIRE);
    dev_release(launch->page, dev_launch_after(parked != 0 ? parked : launch->number));
    launch->awaited = 0;
    pthread_cond_broadcast(&launch->changed);
    pthread_mutex_unlock(&launch->lock);
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
    launch->forgiven = 0;
    int parked = !launch->running || await(launch, &launch->running, 1, HOLD_NS);
    if (!parked) launch->held = 0;
    pthread_mutex_unlock(&launch->lock);
    if (parked) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_BUSY, "wait until long operations have ended, and try again",
                          "slots run that do not end, so the kernel cannot be linked anew");
}

void vyre_cuda_release(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    pthread_mutex_lock(&launch->lock);
    launch->held = launch->awaited = 0;
    pthread_cond_broadcast(&launch->changed);
    pthread_mutex_unlock(&launch->lock);
}

vyre_status vyre_cuda_pause(struct vyre_backend_run *run, vyre_error *err)
{
    struct vyre_cuda_launch *launch = &run->launch;
    pthread_mutex_lock(&launch->lock);
    launch->paused = 1;
    launch->forgiven = 0;
    int parked = !launch->running || await(launch, &launch->running, 1, PAUSE_NS);
    if (!parked) {
        /* It still leaves when it can; then nobody waits for that any more. */
        launch->paused = 0;
        launch->forgiven = launch->number;
    }
    pthread_mutex_unlock(&launch->lock);
    if (parked) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_BUSY,
                          "wait until long slots have ended and nobody submits, and try again",
                          "slots run that have not ended after a second, so the kernel stays");
}

void vyre_cuda_resume(struct vyre_backend_run *run)
{
    struct vyre_cuda_launch *launch = &run->launch;
    pthread_mutex_lock(&launch->lock);
    launch->paused = 0;
    pthread_mutex_unlock(&launch->lock);
    vyre_cuda_wake(run);
}
