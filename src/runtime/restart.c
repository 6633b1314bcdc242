/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The end of a device host and the start of the next, in the keeper's thread. The new host is given
 * the blocks, handles and queues of the old one under the same numbers; slots that may run twice
 * are run again under their tickets, all others that have not ended are reported as lost. While it
 * goes on, submits go into the rings as ever, and whoever asks something of the host waits.
 *
 * Nothing is read from a ring or a page before the old process is gone: only then is there nobody
 * left who writes there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "device/system.h"
#include "runtime/hosted.h"

#define ATTEMPTS        3u          /* that the host refuses, or that it cannot be started for */
#define ATTEMPTS_NS     1500000000u /* no attempt begins later than that */
#define BACKOFF_NS      50000000u   /* before the second attempt, twice before the third */
#define SHORT_LIFE_NS   5000000u    /* a host that lives no longer was not worth the start */
#define SHORT_LIFE_NAPS 5u          /* so many in a row lengthen the wait before the next */
#define REPLAY_WINDOW   64u
#define NAP_NS          5000000u

static int stopping(const struct vyre_hosted *hosted)
{
    return __atomic_load_n(&hosted->stopping, __ATOMIC_ACQUIRE) != 0;
}

static void wait_for(const struct vyre_hosted *hosted, uint64_t ns)
{
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), ns);
    while (!stopping(hosted) && vyre_clock_ns() < until_ns) {
        struct timespec nap = {0, NAP_NS};
        nanosleep(&nap, NULL);
    }
}

/* The old host.
 * ------------------------------------------------------------------------------------------- */

/* Takes the process away from the callers, who may send to it, and ends it. 0: it does not end. */
static int bury(struct vyre_hosted *hosted, char *how, size_t room)
{
    pthread_mutex_lock(&hosted->lock);
    struct vyre_host_process old = hosted->process;
    hosted->process = (struct vyre_host_process){0, -1, -1};
    hosted->state = HOSTED_RESTARTING;
    pthread_mutex_unlock(&hosted->lock);
    return vyre_host_end(&old, 0, how, room);
}

/* What it was asked is to be asked of the next. */
static void recall(struct vyre_hosted *hosted)
{
    pthread_mutex_lock(&hosted->lock);
    vyre_hosted_slots_recall(hosted);
    hosted->late_serial = 0;
    for (struct hosted_call **link = &hosted->calls; *link;) {
        struct hosted_call *call = *link;
        call->sent = 0;
        if (call->once) {
            *link = call->next;
            call->done = 1;
        } else {
            link = &call->next;
        }
    }
    pthread_cond_broadcast(&hosted->news);
    pthread_mutex_unlock(&hosted->lock);
}

/* Which of the queues that the device had are in somebody's hands. */
static void find_queues(struct vyre_hosted *hosted)
{
    vyre *runtime = hosted->runtime;
    pthread_mutex_lock(&runtime->system.lock);
    for (uint32_t i = 0; i <= runtime->options.max_queues; i++)
        hosted->queues[i].queue = NULL;
    for (vyre_queue *queue = runtime->queues; queue; queue = queue->next)
        hosted->queues[queue->number].queue = queue;
    pthread_mutex_unlock(&runtime->system.lock);
}

/* Whoever waits for the old device to copy what it has taken waits no longer. A device that was
 * made paused and died so has taken nothing: what its queues hold is for the next one. */
static void free_places(struct vyre_hosted *hosted)
{
    pthread_mutex_lock(&hosted->runtime->system.lock);
    for (vyre_queue *queue = hosted->runtime->queues; queue; queue = queue->next)
        if (hosted->queues[queue->number].reached) vyre_queue_free_places(queue);
    pthread_mutex_unlock(&hosted->runtime->system.lock);
}

static void count_lost(struct vyre_hosted *hosted, uint32_t lost)
{
    __atomic_fetch_add(&hosted->lost, lost, __ATOMIC_RELAXED);
}

/* Whether a queue is in somebody's hands and stays there: whoever has an answer to its close frees
 * it. */
static int ours(const struct vyre_hosted *hosted, uint32_t number)
{
    return hosted->queues[number].queue && hosted->queues[number].open;
}

/* No device comes any more. Where it said itself that it was gone, all has ended in order. */
static void end_for_good(struct vyre_hosted *hosted)
{
    vyre *runtime = hosted->runtime;
    int lost = !stopping(hosted);
    find_queues(hosted);
    if (lost || dev_load_acquire(&runtime->page->state, DEV_SYSTEM) != DEV_GONE) {
        for (uint32_t i = 0; i <= runtime->options.max_queues; i++) {
            struct vyre_salvage salvage = {.for_good = 1};
            if (!ours(hosted, i)) continue;
            vyre_queue_salvage(hosted->queues[i].queue, &salvage);
            count_lost(hosted, salvage.lost);
        }
        pthread_mutex_lock(&hosted->lock);
        /* Not sooner: from then on the page is believed, and what is not salvaged ends as untaken.
         */
        if (lost) __atomic_store_n(&runtime->lost, 1, __ATOMIC_RELEASE);
        dev_store_release(&runtime->page->state, DEV_GONE, DEV_SYSTEM); /* R6 */
        for (uint32_t i = 0; i <= runtime->options.max_queues; i++)
            if (ours(hosted, i)) vyre_queue_tell(hosted->queues[i].queue);
        /* Whoever waits for the end (hosted_join) and frees queues then has the lock after this. */
        pthread_mutex_unlock(&hosted->lock);
    }
    pthread_mutex_lock(&hosted->lock);
    hosted->state = HOSTED_GONE;
    hosted->late_serial = 0;
    vyre_hosted_slots_lose(hosted);
    vyre_hosted_fail_calls(hosted);
    pthread_cond_broadcast(&hosted->news);
    pthread_mutex_unlock(&hosted->lock);
}

/* The new host.
 * ------------------------------------------------------------------------------------------- */

static vyre_status handles_again(struct vyre_hosted *hosted, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    if (hosted->frames_live)
        status = vyre_hosted_own_slot(hosted, DEV_SYS_FRAMES, hosted->frames_args, err);
    if (hosted->io_live && !status)
        status = vyre_hosted_own_slot(hosted, DEV_SYS_IO, hosted->io_args, err);
    for (uint32_t i = hosted->install_first; i != DEV_NONE && !status; i = hosted->installs[i].next)
        status = vyre_hosted_own_slot(hosted, DEV_SYS_INSTALL, hosted->installs[i].args, err);
    return status ? status : vyre_hosted_settle(hosted, err);
}

/* Runs slots of a queue again, in the order of their tickets. */
static vyre_status replay(struct vyre_hosted *hosted, uint32_t number, uint32_t count,
                          vyre_error *err)
{
    vyre_queue *queue = hosted->queues[number].queue;
    struct hosted_replay *replay = &hosted->replay;
    vyre_status status = VYRE_OK;
    pthread_mutex_lock(&hosted->lock);
    if (hosted->serial > UINT32_MAX - count) hosted->serial = 0; /* a row of serials without 0 */
    *replay = (struct hosted_replay){queue, queue->underway, hosted->serial + 1, 0, 0};
    hosted->serial += count;
    pthread_mutex_unlock(&hosted->lock);
    __atomic_fetch_add(&hosted->repeated, count, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < count && !status; i++) {
        struct vyre_shadow shadow = {{0}, {0, 0, {0}}, 0, 0, 0};
        vyre_queue_shadow(queue, queue->underway[i], &shadow);
        struct host_replay out = {.queue = number,
                                  .last = i + 1 == count,
                                  .ticket = queue->underway[i],
                                  .deadline_ns = shadow.params.deadline_ns,
                                  .has_params = shadow.has_params};
        struct host_sending sending = {.type = HOST_REPLAY,
                                       .serial = replay->first_serial + i,
                                       .payload = &out,
                                       .payload_bytes = sizeof out};
        memcpy(out.word, shadow.word, sizeof out.word);
        memcpy(out.scalar, shadow.params.scalar, sizeof out.scalar);
        while (!status && replay->left >= REPLAY_WINDOW)
            status = vyre_hosted_pump(hosted, err);
        if (status) break;
        replay->sent++;
        replay->left++;
        status = host_send(hosted->process.socket, &sending, err);
    }
    while (!status && replay->left != 0)
        status = vyre_hosted_pump(hosted, err);
    replay->queue = NULL;
    return status;
}

/* Ends what the old device had of a queue, and notes where the next one begins. */
static void salvage_queue(struct vyre_hosted *hosted, uint32_t number)
{
    struct hosted_queue *journal = &hosted->queues[number];
    struct vyre_salvage salvage = {0};
    if (!journal->queue || !journal->reached) return;
    vyre_queue_salvage(journal->queue, &salvage);
    count_lost(hosted, salvage.lost);
    journal->args[8] = (uint32_t)salvage.first_ticket;
    journal->args[9] = (uint32_t)(salvage.first_ticket >> 32);
    journal->args[10] = (uint32_t)salvage.first_entry;
    journal->args[11] = (uint32_t)(salvage.first_entry >> 32);
    journal->repeats = salvage.repeats;
    journal->reached = 0;
}

/* Opens a queue where the old device has left off. Where slots are to be run again the device holds
 * it until it has them: what is submitted from now on comes after them. */
static vyre_status queue_again(struct vyre_hosted *hosted, uint32_t number, vyre_error *err)
{
    struct hosted_queue *journal = &hosted->queues[number];
    uint32_t args[VYRE_SLOT_ARGS];
    salvage_queue(hosted, number);
    uint32_t repeats = journal->repeats;
    journal->repeats = 0;
    journal->reached = 1;
    memcpy(args, journal->args, sizeof args);
    if (repeats != 0) args[1] |= DEV_QUEUE_HELD << 8;
    vyre_status status = vyre_hosted_own_slot(hosted, DEV_SYS_QUEUE_OPEN, args, err);
    if (!status) status = vyre_hosted_settle(hosted, err);
    if (!status && repeats != 0) status = replay(hosted, number, repeats, err);
    return status;
}

static void connected(struct vyre_hosted *hosted, uint32_t restarted, uint32_t queues_left)
{
    pthread_mutex_lock(&hosted->lock);
    __atomic_fetch_add(&hosted->restarts, restarted, __ATOMIC_RELAXED);
    hosted->queues_left = queues_left;
    hosted->state = HOSTED_CONNECTED;
    hosted->why[0] = '\0';
    vyre_hosted_slots_send(hosted);
    pthread_cond_broadcast(&hosted->news);
    pthread_mutex_unlock(&hosted->lock);
}

static vyre_status queues_again(struct vyre_hosted *hosted, uint32_t restarted, vyre_error *err)
{
    vyre_status status = VYRE_OK;
    find_queues(hosted);
    for (uint32_t i = 1; i <= hosted->runtime->options.max_queues && !status; i++)
        if (hosted->queues[i].open) status = queue_again(hosted, i, err);
    if (!status) connected(hosted, restarted, 0);
    return status;
}

vyre_status vyre_hosted_queues_again(struct vyre_hosted *hosted, vyre_error *err)
{
    return queues_again(hosted, 0, err);
}

static void salvage_all(struct vyre_hosted *hosted)
{
    find_queues(hosted);
    for (uint32_t i = 1; i <= hosted->runtime->options.max_queues; i++)
        if (hosted->queues[i].open) salvage_queue(hosted, i);
}

/* Of a runtime that is paused the queues follow when it is resumed: what is submitted until then
 * waits. What the old device had ends now. */
static vyre_status rebuild(struct vyre_hosted *hosted, vyre_error *err)
{
    int paused = 0;
    vyre_io_reset(hosted->runtime);
    hosted->until_ns = vyre_clock_after(vyre_clock_ns(), HOSTED_ATTEMPT_NS);
    vyre_status status = vyre_hosted_connect(hosted, err);
    if (!status) status = vyre_hosted_blocks_again(hosted, err);
    if (!status) status = vyre_hosted_modules_again(hosted, err);
    if (!status) status = handles_again(hosted, err);
    if (!status) status = vyre_hosted_pause_again(hosted, &paused, err);
    if (!status && !paused) status = queues_again(hosted, 1, err);
    if (!status && paused) {
        salvage_all(hosted);
        connected(hosted, 1, 1);
    }
    return status;
}

/* A host that dies as soon as it is there shall not keep a core busy with starting others. */
static void pause_before(struct vyre_hosted *hosted, uint64_t now_ns)
{
    int brief = now_ns - hosted->lived_ns < SHORT_LIFE_NS;
    hosted->short_lives = brief ? hosted->short_lives + 1 : 0;
    if (hosted->short_lives > SHORT_LIFE_NAPS) wait_for(hosted, BACKOFF_NS);
}

/* Starts hosts until one stands. */
static int begin_again(struct vyre_hosted *hosted, uint64_t began_ns)
{
    const struct vyre_log *log = &hosted->runtime->log;
    vyre_error err;
    char how[64];
    uint32_t refused = 0, tried = 0;
    while (refused < ATTEMPTS && !stopping(hosted)) {
        if (tried++ != 0) {
            if (vyre_clock_ns() - began_ns > ATTEMPTS_NS) break;
            wait_for(hosted, refused * BACKOFF_NS);
        }
        if (rebuild(hosted, &err) == VYRE_OK) return 1;
        int died = err.domain == VYRE_DOMAIN_ERRNO && (err.code == EPIPE || err.code == ECONNRESET);
        int ended = bury(hosted, how, sizeof how);
        recall(hosted);
        vyre_log_line(log, VYRE_LOG_WARNING, "no new device host (attempt %u): %s", tried,
                      died ? how : err.message);
        refused += !died; /* one that was killed says nothing about the next */
        if (!ended) break;
    }
    return 0;
}

int vyre_hosted_restart(struct vyre_hosted *hosted, const char *why)
{
    const struct vyre_log *log = &hosted->runtime->log;
    uint64_t began_ns = vyre_clock_ns();
    int pid = (int)hosted->process.pid;
    char how[64], reason[sizeof hosted->why];
    pthread_mutex_lock(&hosted->lock);
    snprintf(reason, sizeof reason, "%s", why ? why : hosted->why);
    pthread_mutex_unlock(&hosted->lock);
    int ended = bury(hosted, how, sizeof how);
    recall(hosted);
    vyre_io_hold(hosted->runtime); /* before anybody learns how slots have ended */
    if (ended) free_places(hosted);
    int orderly =
        stopping(hosted) && dev_load_acquire(&hosted->runtime->page->state, DEV_SYSTEM) == DEV_GONE;
    if (!orderly)
        vyre_log_line(log, VYRE_LOG_WARNING, "device host %d %s%s%s", pid, how,
                      reason[0] ? ": " : "", reason);
    pause_before(hosted, began_ns);
    if (ended && begin_again(hosted, began_ns)) {
        hosted->lived_ns = vyre_clock_ns();
        vyre_io_let_go(hosted->runtime);
        vyre_log_line(log, VYRE_LOG_INFO, "device host %d works in its place after %llu ms",
                      (int)hosted->process.pid,
                      (unsigned long long)((hosted->lived_ns - began_ns) / 1000000u));
        return 1;
    }
    end_for_good(hosted);
    if (!stopping(hosted))
        vyre_log_line(log, VYRE_LOG_ERROR, "the device is gone: no device host could be started");
    return 0;
}

int vyre_hosted_stopping(const vyre *runtime)
{
    return stopping(runtime->hosted);
}

/* From outside the keeper.
 * ------------------------------------------------------------------------------------------- */

void vyre_restart_request(vyre *runtime, const char *why)
{
    struct vyre_hosted *hosted = runtime->hosted;
    if (!hosted) return;
    pthread_mutex_lock(&hosted->lock);
    if (hosted->state == HOSTED_CONNECTED) {
        snprintf(hosted->why, sizeof hosted->why, "%s", why);
        vyre_host_kill(&hosted->process);
    }
    pthread_mutex_unlock(&hosted->lock);
}

void vyre_runtime_account(vyre *runtime, vyre_description *description)
{
    struct vyre_hosted *hosted = runtime->hosted;
    if (!hosted) return;
    pthread_mutex_lock(&hosted->lock);
    description->host_pid = (uint32_t)hosted->process.pid;
    pthread_mutex_unlock(&hosted->lock);
    description->restarts = __atomic_load_n(&hosted->restarts, __ATOMIC_RELAXED);
    description->lost = __atomic_load_n(&hosted->lost, __ATOMIC_RELAXED);
    description->repeated = __atomic_load_n(&hosted->repeated, __ATOMIC_RELAXED);
}

vyre_status vyre_hosted_inject(vyre *runtime, uint64_t number, vyre_error *err)
{
    struct host_number payload = {number};
    struct hosted_call call = {
        .sending = {.type = HOST_INJECT, .payload = &payload, .payload_bytes = sizeof payload},
        .once = 1};
    return vyre_hosted_call(runtime->hosted, &call, 0, err);
}
