/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The port of an application whose device lives in a device host: opening it, the keeper thread
 * that reads its socket and sees its end, and closing it. All memory that both sides see is made
 * here, once, and outlives every host.
 */
#include "runtime/hosted.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/release.h"

#define JOIN_LOOK_NS 200000u /* between two looks at a device that is stopping */

/* Opening.
 * ------------------------------------------------------------------------------------------- */

static vyre_status make_event(int *fd, vyre_error *err)
{
    *fd = eventfd(0, EFD_CLOEXEC);
    return *fd >= 0 ? VYRE_OK : vyre_fail_errno(err, errno, "making an eventfd");
}

static vyre_status map_block(vyre *runtime, struct vyre_block *block, size_t bytes,
                             const char *what, vyre_error *err)
{
    *block = (struct vyre_block){.kind = VYRE_BLOCK_SHARED,
                                 .bytes = bytes,
                                 .memory = &runtime->memory,
                                 .what = what,
                                 .mapping.fd = -1};
    vyre_status status = vyre_hosted_map(&runtime->memory, bytes, what, &block->mapping, err);
    block->host = block->mapping.base;
    return status;
}

/* The memory of the runtime itself that the host sees. */
static vyre_status make_shared(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre *runtime = hosted->runtime;
    const vyre_options *options = &runtime->options;
    uint32_t queues = options->max_queues + 1;
    vyre_status status = map_block(runtime, &runtime->shared,
                                   dev_shared_bytes(options->workers, queues), "vitals", err);
    if (!status)
        status = map_block(runtime, &runtime->bells_block, queues * sizeof(struct dev_bell),
                           "doorbells", err);
    if (!status)
        status =
            vyre_hosted_map(&runtime->memory, HOST_STAGING_BYTES, "staging", &hosted->staging, err);
    if (!status) status = make_event(&hosted->wake_fd, err);
    if (!status) status = make_event(&hosted->kick_fd, err);
    if (status) return status;
    runtime->page = runtime->shared.host;
    runtime->vitals = (void *)((unsigned char *)runtime->shared.host + DEV_VITALS_AT);
    runtime->bells = runtime->bells_block.host;
    runtime->bells_block.address = host_address(HOST_BELLS);
    return VYRE_OK;
}

static vyre_status make_journal(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre *runtime = hosted->runtime;
    void *installs, *queues;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, runtime->options.max_handles,
                          sizeof(struct hosted_install), "journal", &installs, err);
    if (status) return status;
    hosted->installs = installs;
    status = vyre_memory_alloc(&runtime->memory, runtime->options.max_queues + 1,
                               sizeof(struct hosted_queue), "journal", &queues, err);
    if (!status) hosted->queues = queues;
    return status;
}

static void fill_open(const vyre *runtime, struct host_open *open)
{
    const vyre_options *options = &runtime->options;
    memset(open, 0, sizeof *open);
    open->backend = options->backend;
    open->workers = options->workers;
    open->max_queues = options->max_queues;
    open->max_tenants = options->max_tenants;
    open->max_handles = options->max_handles;
    open->inflight_slots = options->inflight_slots;
    open->observable_words = options->observable_words;
    open->seal_polls = options->seal_polls;
    open->run_slots = options->run_slots;
    open->continuations = options->continuations;
    open->step_budget = options->step_budget;
    open->io_entries = options->io_entries;
    open->restart = __atomic_load_n(&runtime->hosted->restarts, __ATOMIC_RELAXED);
    open->idle_spin_ns = options->idle_spin_ns;
    open->ageing_ns = options->ageing_ns;
    open->frame_bytes = options->frame_bytes;
    open->park_ns = options->park_ns;
    if (options->device) snprintf(open->device, sizeof open->device, "%s", options->device);
}

vyre_status vyre_hosted_connect(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre *runtime = hosted->runtime;
    struct vyre_host_process process;
    vyre_status status = vyre_host_start(runtime->options.host, &process, err);
    if (status) return status;
    pthread_mutex_lock(&hosted->lock);
    hosted->process = process;
    hosted->wire = 0;
    pthread_mutex_unlock(&hosted->lock);
    hosted->own_left = hosted->own_failed = 0;
    struct host_open open;
    int fds[4] = {runtime->shared.mapping.fd, runtime->bells_block.mapping.fd, hosted->staging.fd,
                  hosted->wake_fd};
    struct hosted_call call = {.sending = {.type = HOST_OPEN,
                                           .payload = &open,
                                           .payload_bytes = sizeof open,
                                           .fds = fds,
                                           .fd_count = 4}};
    fill_open(runtime, &open);
    return vyre_hosted_ask(hosted, &call, err);
}

static vyre_status start_keeper(struct vyre_hosted *hosted, vyre_error *err);

vyre_status vyre_hosted_open(vyre *runtime, vyre_error *err)
{
    pthread_condattr_t monotonic;
    void *memory;
    if (runtime->options.device &&
        strlen(runtime->options.device) >= sizeof((struct host_open *)0)->device)
        return vyre_fail_with(err, VYRE_E_RANGE, "give an index such as \"0\", or a UUID",
                              "the name of the device is too long for one");
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, sizeof(struct vyre_hosted), "port", &memory, err);
    if (status) return status;
    struct vyre_hosted *hosted = runtime->hosted = memory;
    hosted->runtime = runtime;
    hosted->state = HOSTED_RESTARTING;
    hosted->process = (struct vyre_host_process){0, -1, -1};
    hosted->staging.fd = hosted->wake_fd = hosted->kick_fd = -1;
    hosted->next_number = HOST_BELLS + 1;
    hosted->install_first = hosted->install_last = DEV_NONE;
    pthread_mutex_init(&hosted->lock, NULL);
    pthread_mutex_init(&hosted->staging_lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&hosted->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    runtime->sealed = runtime->silent = runtime->options.backend == VYRE_BACKEND_CUDA;
    status = make_shared(hosted, err);
    if (!status) status = make_journal(hosted, err);
    hosted->until_ns = vyre_clock_after(vyre_clock_ns(), HOSTED_OPEN_NS);
    if (!status) status = vyre_hosted_connect(hosted, err);
    if (!status) {
        hosted->lived_ns = vyre_clock_ns();
        hosted->state = HOSTED_CONNECTED;
        status = start_keeper(hosted, err);
    }
    if (!status) runtime->started = 1;
    return status;
}

/* The keeper.
 * ------------------------------------------------------------------------------------------- */

/* Handles what the socket holds. 0: the connection is at its end, *err says why. */
static int read_socket(struct vyre_hosted *hosted, vyre_error *err)
{
    struct host_message message;
    for (;;) {
        int got = host_receive(hosted->process.socket, &message, 0, err);
        if (got > 0) return 1;
        if (got < 0) return 0;
        vyre_status status = vyre_hosted_handle(hosted, &message, err);
        host_message_close(&message);
        if (status) return 0;
    }
}

static void *keep(void *argument)
{
    struct vyre_hosted *hosted = argument;
    for (;;) {
        struct pollfd news[3] = {{hosted->process.socket, POLLIN, 0},
                                 {hosted->process.pidfd, POLLIN, 0},
                                 {hosted->kick_fd, POLLIN, 0}};
        vyre_error err = {0};
        if (poll(news, 3, -1) < 0) continue;
        if (__atomic_load_n(&hosted->closing, __ATOMIC_ACQUIRE)) return NULL;
        int alive = news[1].revents == 0;
        if (news[0].revents && !read_socket(hosted, &err)) alive = 0;
        if (alive && news[2].revents) alive = vyre_hosted_wanted(hosted, &err);
        if (alive) continue;
        /* What it had said before its end still counts; then why it left, if it said so. */
        if (!err.status) read_socket(hosted, &err);
        int plain = err.domain == VYRE_DOMAIN_ERRNO || !err.status;
        if (!vyre_hosted_restart(hosted, plain ? NULL : err.message)) return NULL;
    }
}

static vyre_status start_keeper(struct vyre_hosted *hosted, vyre_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&hosted->keeper, NULL, keep, hosted);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return vyre_fail_errno(err, failed, "starting the thread of a device host");
    hosted->keeping = 1;
    return VYRE_OK;
}

void vyre_hosted_poke(int fd)
{
    uint64_t one = 1;
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR) {}
}

/* Ending.
 * ------------------------------------------------------------------------------------------- */

/* Slots that were to run again and that the device was not given before it stopped. */
static void end_replays(vyre *runtime)
{
    struct vyre_hosted *hosted = runtime->hosted;
    uint64_t lost = 0;
    if (!__atomic_load_n(&hosted->repeated, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&runtime->system.lock);
    for (vyre_queue *queue = runtime->queues; queue; queue = queue->next)
        lost += vyre_queue_abandon(queue);
    pthread_mutex_unlock(&runtime->system.lock);
    __atomic_fetch_add(&hosted->lost, lost, __ATOMIC_RELAXED);
}

/* Until the device says that it is gone, or is made to be. */
static void hosted_join(vyre *runtime)
{
    struct vyre_hosted *hosted = runtime->hosted;
    pthread_mutex_lock(&hosted->lock);
    while (dev_load_acquire(&runtime->page->state, DEV_SYSTEM) != DEV_GONE &&
           hosted->state != HOSTED_GONE) {
        uint64_t at = vyre_clock_ns() + JOIN_LOOK_NS;
        struct timespec until = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
        pthread_cond_timedwait(&hosted->news, &hosted->lock, &until);
        vyre_hosted_enforce_stop(hosted);
    }
    pthread_mutex_unlock(&hosted->lock);
    end_replays(runtime);
}

static void hosted_destroy(vyre *runtime)
{
    struct vyre_hosted *hosted = runtime->hosted;
    if (!hosted) return;
    __atomic_store_n(&hosted->stopping, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&hosted->closing, 1, __ATOMIC_RELEASE);
    if (hosted->keeping) {
        vyre_hosted_poke(hosted->kick_fd);
        pthread_join(hosted->keeper, NULL);
    }
    vyre_host_end(&hosted->process, HOST_ENDING_NS, NULL, 0);
    vyre_hosted_modules_free(hosted);
    vyre_memory_unmap(&runtime->memory, &runtime->shared.mapping);
    vyre_memory_unmap(&runtime->memory, &runtime->bells_block.mapping);
    vyre_memory_unmap(&runtime->memory, &hosted->staging);
    if (hosted->wake_fd >= 0) close(hosted->wake_fd);
    if (hosted->kick_fd >= 0) close(hosted->kick_fd);
    vyre_memory_free(&runtime->memory, hosted->installs,
                     runtime->options.max_handles * sizeof(struct hosted_install));
    vyre_memory_free(&runtime->memory, hosted->queues,
                     (runtime->options.max_queues + 1) * sizeof(struct hosted_queue));
    pthread_cond_destroy(&hosted->news);
    pthread_mutex_destroy(&hosted->staging_lock);
    pthread_mutex_destroy(&hosted->lock);
    vyre_memory_free(&runtime->memory, hosted, sizeof *hosted);
    runtime->hosted = NULL;
}

static void hosted_help(vyre *runtime)
{
    (void)runtime; /* the host helps its own workers */
}

static void hosted_wake(vyre *runtime)
{
    if (runtime->backend->wakes_by_word)
        dev_wake_parked(runtime->page);
    else
        vyre_hosted_poke(runtime->hosted->wake_fd);
    if (runtime->silent) vyre_io_poke(runtime);
}

static uint32_t hosted_visit(vyre *runtime, uint32_t visit)
{
    (void)runtime, (void)visit; /* the device is elsewhere */
    return 0;
}

static int hosted_on_worker(const vyre *runtime)
{
    (void)runtime;
    return 0;
}

const struct vyre_port vyre_port_hosted = {
    "hosted",
    vyre_hosted_block_make,
    vyre_hosted_block_free,
    vyre_hosted_block_write,
    vyre_hosted_block_read,
    vyre_hosted_post,
    vyre_hosted_reap,
    vyre_hosted_wait,
    vyre_hosted_taken,
    hosted_help,
    vyre_hosted_view,
    vyre_hosted_link,
    vyre_hosted_pause,
    vyre_hosted_resume,
    hosted_wake,
    hosted_visit,
    hosted_join,
    hosted_on_worker,
    hosted_destroy,
};
