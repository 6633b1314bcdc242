/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Queue 0 from the host's side. Any thread may have a request under way; requests are submitted
 * under the lock, and one of the waiting threads at a time reaps for all of them, without the lock.
 */
#include "runtime/internal.h"

#include <string.h>

#include "base/clock.h"
#include "device/entry.h"
#include "device/system.h"

#define HELP_PERIOD_NS                                                                             \
    1000000u /* how often a waiting caller looks whether all workers are busy                      \
              */
#define DROP_PATIENCE_NS                                                                           \
    50000u /* most things are unused when they are freed: the answer comes at once */

/*
 * Whether what the page says about the device's end is to be believed. A device host that ends on
 * its own, because it was asked wrongly or its socket closed, stops its device and says so in the
 * page, while another one is about to take its place.
 */
static int believed(const vyre *runtime)
{
    return !runtime->hosted || __atomic_load_n(&runtime->lost, __ATOMIC_ACQUIRE) ||
           vyre_hosted_stopping(runtime);
}

int vyre_runtime_stopped(const vyre *runtime)
{
    return __atomic_load_n(&runtime->page->state, __ATOMIC_ACQUIRE) != DEV_RUNNING &&
           believed(runtime);
}

int vyre_runtime_gone(const vyre *runtime)
{
    /* A6 pairs with R6 in worker.h: every entry and final head was written before. */
    return dev_load_acquire(&runtime->page->state, DEV_SYSTEM) == DEV_GONE && believed(runtime);
}

vyre_status vyre_runtime_refuse(const vyre *runtime, vyre_error *err)
{
    if (__atomic_load_n(&runtime->lost, __ATOMIC_ACQUIRE))
        return vyre_fail(err, VYRE_E_LOST,
                         "the device host is gone and could not be started again");
    return vyre_fail(err, VYRE_E_STOPPED, "the runtime has been stopped");
}

void vyre_system_init(vyre *runtime)
{
    pthread_mutex_init(&runtime->system.lock, NULL);
    pthread_cond_init(&runtime->system.answered, NULL);
}

void vyre_system_destroy(vyre *runtime)
{
    pthread_cond_destroy(&runtime->system.answered);
    pthread_mutex_destroy(&runtime->system.lock);
}

void vyre_system_slot(uint32_t *slot, uint32_t opcode, const uint32_t args[VYRE_SLOT_ARGS])
{
    memset(slot, 0, VYRE_SLOT_BYTES);
    slot[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    slot[VYRE_SLOT_OPCODE] = opcode;
    memcpy(&slot[VYRE_SLOT_ARG0], args, VYRE_SLOT_ARGS * sizeof(uint32_t));
}

/* Marks the request that a completion answers, and lets go of what it was for. (system.lock) */
static void answer(vyre *runtime, const vyre_completion *completion)
{
    struct vyre_request **link = &runtime->system.requests;
    while (*link && !((*link)->posted && (*link)->ticket == completion->ticket))
        link = &(*link)->next;
    struct vyre_request *request = *link;
    if (!request) return;
    *link = request->next;
    request->done = 1;
    if (request->waits) runtime->system.waiting--;
    request->lost = completion->outcome != VYRE_DONE;
    request->result = completion->result[0];
    if (request->ended) request->ended(request, completion);
    if (request->subject && !request->lost) request->release(request->subject);
}

static void reap_answers(vyre *runtime)
{
    vyre_completion completions[16];
    size_t count;
    do {
        count = runtime->port->reap(runtime, completions, 16);
        for (size_t i = 0; i < count; i++)
            answer(runtime, &completions[i]);
    } while (count == 16);
}

/*
 * Submits a request if there is room: in the ring, and on the device for one that waits there. So
 * the ring is never full of requests that wait, and one that ends what they wait for gets through.
 * (system.lock)
 */
static int post(vyre *runtime, struct vyre_request *request)
{
    struct vyre_system *system = &runtime->system;
    uint32_t slot[VYRE_SLOT_WORDS];
    request->waits = request->opcode == DEV_SYS_DROP || request->opcode == DEV_SYS_QUEUE_CLOSE;
    /* Half the room is for calls that somebody waits for. */
    uint32_t most = dev_system_share(runtime->options.inflight_slots) / (request->subject ? 2 : 1);
    if (request->waits && system->waiting >= most) return 0;
    if (vyre_runtime_paused(runtime) && request->opcode != DEV_SYS_PARK) return 0;
    vyre_system_slot(slot, request->opcode, request->args);
    if (!runtime->port->post(runtime, slot, &request->ticket)) return 0;
    request->posted = 1;
    system->waiting += request->waits;
    return 1;
}

/*
 * Submits drops that found no room before. What a binding set holds would wait on the device until
 * the set is dropped, in room that this very drop may need; so it waits here. (system.lock)
 */
static void post_waiting(vyre *runtime)
{
    for (struct vyre_request *r = runtime->system.requests; r; r = r->next) {
        if (r->posted || r->keepers != 0) continue;
        if (!post(runtime, r)) return;
    }
}

/*
 * One turn of waiting for answers: until the thread that reaps has looked, or as that thread, for a
 * while. What was answered is marked or gone afterwards; the caller looks again. Called and left
 * with the lock held.
 */
static void await_answers(vyre *runtime)
{
    struct vyre_system *system = &runtime->system;
    if (system->reaping) {
        pthread_cond_wait(&system->answered, &system->lock);
        return;
    }
    system->reaping = 1;
    pthread_mutex_unlock(&system->lock);
    runtime->port->help(runtime);
    runtime->port->wait(runtime, vyre_clock_after(vyre_clock_ns(), HELP_PERIOD_NS));
    pthread_mutex_lock(&system->lock);
    system->reaping = 0;
    reap_answers(runtime);
    pthread_cond_broadcast(&system->answered);
}

static void enlist(struct vyre_system *system, struct vyre_request *request)
{
    request->next = system->requests;
    system->requests = request;
}

static void delist(struct vyre_system *system, struct vyre_request *request)
{
    struct vyre_request **link = &system->requests;
    while (*link && *link != request)
        link = &(*link)->next;
    if (*link) *link = request->next;
}

/* Whether a request finds a device that is paused. One that waits for slots to end waits for the
 * end of the pause too. (system.lock) */
static int paused(vyre *runtime, uint32_t opcode)
{
    int waits = opcode == DEV_SYS_DROP || opcode == DEV_SYS_QUEUE_CLOSE;
    if (opcode == DEV_SYS_PARK || !vyre_runtime_paused(runtime)) return 0;
    if (!waits) return 1;
    vyre_log_line(
        &runtime->log, VYRE_LOG_WARNING,
        "a call that waits for slots to end waits for vyre_resume: the runtime is paused");
    while (vyre_runtime_paused(runtime) && !vyre_runtime_stopped(runtime))
        pthread_cond_wait(&runtime->system.answered, &runtime->system.lock);
    return 0;
}

vyre_status vyre_system_call(vyre *runtime, uint32_t opcode, const uint32_t args[VYRE_SLOT_ARGS],
                             uint32_t *result, vyre_error *err)
{
    struct vyre_system *system = &runtime->system;
    struct vyre_request request = {0};
    request.opcode = opcode;
    memcpy(request.args, args, sizeof request.args);
    pthread_mutex_lock(&system->lock);
    if (paused(runtime, opcode)) {
        pthread_mutex_unlock(&system->lock);
        return vyre_pause_refuse(err);
    }
    if (!system->reaping) reap_answers(runtime);
    post_waiting(runtime);
    /* Where there is no room, something under way has to end first. */
    while (!vyre_runtime_stopped(runtime) && !post(runtime, &request))
        await_answers(runtime);
    if (request.posted) {
        enlist(system, &request);
        while (!request.done)
            await_answers(runtime);
    }
    delist(system, &request);
    pthread_mutex_unlock(&system->lock);
    if (!request.posted || request.lost) return vyre_runtime_refuse(runtime, err);
    *result = request.result;
    return VYRE_OK;
}

int vyre_system_send(vyre *runtime, struct vyre_request *request)
{
    struct vyre_system *system = &runtime->system;
    pthread_mutex_lock(&system->lock);
    if (!system->reaping) reap_answers(runtime);
    int posted = post(runtime, request);
    if (posted) enlist(system, request);
    pthread_mutex_unlock(&system->lock);
    return posted;
}

void vyre_system_collect(vyre *runtime)
{
    pthread_mutex_lock(&runtime->system.lock);
    if (!runtime->system.reaping) reap_answers(runtime);
    post_waiting(runtime);
    pthread_mutex_unlock(&runtime->system.lock);
}

/* Waits until the device has taken the slot: from then on no later slot finds what it drops. */
static void await_taken(vyre *runtime, uint64_t ticket)
{
    while (!runtime->port->taken(runtime, ticket) && !vyre_runtime_stopped(runtime)) {
        runtime->port->help(runtime);
        dev_yield();
    }
}

/* Whether the answer to a ticket is still to come. (system.lock) */
static int outstanding(const struct vyre_system *system, uint64_t ticket)
{
    for (const struct vyre_request *r = system->requests; r; r = r->next)
        if (r->posted && r->ticket == ticket) return 1;
    return 0;
}

void vyre_system_drop(vyre *runtime, struct vyre_request *request)
{
    struct vyre_system *system = &runtime->system;
    request->opcode = DEV_SYS_DROP;
    request->args[0] = request->handle;
    pthread_mutex_lock(&system->lock);
    if (!system->reaping) reap_answers(runtime);
    enlist(system, request);
    post_waiting(runtime);
    uint32_t posted = request->posted;
    uint64_t ticket = request->ticket;
    pthread_mutex_unlock(&system->lock);
    if (!posted) return; /* it follows when there is room, or when the sets that hold it are gone */
    await_taken(runtime, ticket);
    /* Most things are unused by now, and the answer is there or comes at once. */
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), DROP_PATIENCE_NS);
    do {
        runtime->port->help(runtime);
        pthread_mutex_lock(&system->lock);
        if (!system->reaping) reap_answers(runtime);
        post_waiting(runtime);
        int waiting = outstanding(system, ticket);
        pthread_mutex_unlock(&system->lock);
        if (!waiting) return;
    } while (vyre_clock_ns() < until_ns);
}
