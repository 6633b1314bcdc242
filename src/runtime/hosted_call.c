/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests to a device host that have a REPLY. A caller's request lies on its own stack; the keeper
 * finds it by its serial when the REPLY comes. A request that a host has not answered before it
 * died is sent again to the next one, so a caller sees nothing of a restart but the time it takes.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/hosted.h"

#define RETRY_NS 1000000u /* how often a caller looks whether a socket that was full has room */

uint32_t vyre_hosted_serial(struct vyre_hosted *hosted)
{
    if (++hosted->serial == 0) hosted->serial = 1; /* 0 is the host's own */
    return hosted->serial;
}

int vyre_hosted_send(struct vyre_hosted *hosted, const struct host_sending *sending)
{
    struct pollfd room = {hosted->process.socket, POLLOUT, 0};
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return 0;
    return host_send(hosted->process.socket, sending, NULL) == VYRE_OK;
}

vyre_status vyre_hosted_refuse(const struct vyre_hosted *hosted, vyre_error *err)
{
    return vyre_runtime_refuse(hosted->runtime, err);
}

static void send_call(struct vyre_hosted *hosted, struct hosted_call *call)
{
    call->sending.serial = vyre_hosted_serial(hosted);
    call->sent = (uint32_t)vyre_hosted_send(hosted, &call->sending);
}

static void enlist(struct vyre_hosted *hosted, struct hosted_call *call)
{
    struct hosted_call **link = &hosted->calls;
    while (*link)
        link = &(*link)->next; /* in order: a block is made before it is written */
    *link = call;
}

static void delist(struct vyre_hosted *hosted, const struct hosted_call *call)
{
    struct hosted_call **link = &hosted->calls;
    while (*link && *link != call)
        link = &(*link)->next;
    if (*link) *link = call->next;
}

static void nap(struct vyre_hosted *hosted, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX) {
        pthread_cond_wait(&hosted->news, &hosted->lock);
        return;
    }
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    pthread_cond_timedwait(&hosted->news, &hosted->lock, &until);
}

/* How long a host may take for a request before it counts as one that hangs: what the watchdog
 * cannot see, for no vitals show it. UINT64_MAX: for ever. */
static uint64_t patience(const vyre_options *options, const struct hosted_call *call)
{
    const struct host_block *block = call->sending.payload;
    if (options->stall_ns == 0 || options->stall_policy != VYRE_STALL_RESTART) return UINT64_MAX;
    if (call->sending.type == HOST_PAUSE)
        return vyre_clock_after(options->stall_ns, HOSTED_PAUSE_NS);
    if (call->sending.type == HOST_MODULE)
        return vyre_clock_after(options->stall_ns, HOSTED_LINK_NS);
    if (call->sending.type != HOST_BLOCK) return options->stall_ns;
    return vyre_clock_after(options->stall_ns, block->bytes); /* a byte that is zeroed takes 1 ns */
}

int vyre_hosted_linking(const struct vyre_hosted *hosted)
{
    const struct hosted_call *call = hosted->calls;
    while (call && !(call->sending.type == HOST_MODULE && call->sent))
        call = call->next;
    return call != NULL;
}

int vyre_hosted_fresh(const struct vyre_hosted *hosted)
{
    return dev_load64_relaxed(&hosted->runtime->vitals->beats) == 0;
}

/* (lock) Whether a host has a reason for not answering this call, which was sent then. */
static int excused(const struct vyre_hosted *hosted, const struct hosted_call *call,
                   uint64_t sent_ns)
{
    if (call->sending.type != HOST_MODULE && vyre_hosted_linking(hosted)) return 1;
    return vyre_hosted_fresh(hosted) && vyre_clock_ns() - sent_ns < HOSTED_FIRST_NS;
}

/* (lock) Ends a host that has not answered in that time; the call goes to the next. */
static void lose_patience(struct vyre_hosted *hosted, const struct hosted_call *call)
{
    snprintf(hosted->why, sizeof hosted->why, "it did not answer request %u of type %u",
             call->sending.serial, call->sending.type);
    vyre_host_kill(&hosted->process);
}

vyre_status vyre_hosted_call(struct vyre_hosted *hosted, struct hosted_call *call,
                             uint64_t limit_ns, vyre_error *err)
{
    uint64_t patience_ns = patience(&hosted->runtime->options, call), sent_ns = 0, since_ns = 0;
    uint64_t until_ns = limit_ns ? vyre_clock_after(vyre_clock_ns(), limit_ns) : UINT64_MAX;
    call->err = err;
    pthread_mutex_lock(&hosted->lock);
    if (hosted->state == HOSTED_GONE) {
        pthread_mutex_unlock(&hosted->lock);
        return vyre_hosted_refuse(hosted, err);
    }
    enlist(hosted, call);
    while (!call->done) {
        uint64_t now = vyre_clock_ns();
        if (now >= until_ns) break;
        if (hosted->state == HOSTED_CONNECTED && !call->sent) {
            send_call(hosted, call);
            sent_ns = since_ns = now;
        }
        uint64_t next_ns = call->sent ? vyre_clock_after(since_ns, patience_ns) : now + RETRY_NS;
        if (call->sent && now >= next_ns) {
            if (!excused(hosted, call, sent_ns)) lose_patience(hosted, call);
            since_ns = now;
            continue;
        }
        nap(hosted, next_ns < until_ns ? next_ns : until_ns);
    }
    if (!call->done) {
        delist(hosted, call);
        hosted->late_serial = call->sent ? call->sending.serial : 0;
        call->status = vyre_fail(err, VYRE_E_TIMEOUT, "the device host does not answer");
    }
    pthread_mutex_unlock(&hosted->lock);
    return call->status;
}

vyre_status vyre_hosted_ask(struct vyre_hosted *hosted, struct hosted_call *call, vyre_error *err)
{
    call->err = err;
    pthread_mutex_lock(&hosted->lock);
    call->sending.serial = vyre_hosted_serial(hosted);
    call->sent = 1;
    enlist(hosted, call);
    pthread_mutex_unlock(&hosted->lock);
    vyre_status status = host_send(hosted->process.socket, &call->sending, err);
    while (!status && !call->done)
        status = vyre_hosted_pump(hosted, err);
    if (!call->done) {
        pthread_mutex_lock(&hosted->lock);
        delist(hosted, call);
        pthread_mutex_unlock(&hosted->lock);
    }
    return status ? status : call->status;
}

/* (lock) */
static void finish(struct vyre_hosted *hosted, struct hosted_call *call, vyre_status status)
{
    delist(hosted, call);
    call->status = status;
    call->done = 1;
    pthread_cond_broadcast(&hosted->news);
}

void vyre_hosted_fail_calls(struct vyre_hosted *hosted)
{
    while (hosted->calls)
        finish(hosted, hosted->calls, vyre_hosted_refuse(hosted, hosted->calls->err));
}

/* Where a block lies that others see; its descriptor becomes the block's. */
static vyre_status note_lent(struct hosted_call *call, struct host_message *message)
{
    struct vyre_block *block = call->block;
    const struct host_lent *lent = call->answer;
    if (block->kind == VYRE_BLOCK_LENT) {
        if (message->fd_count != 1)
            return vyre_fail(call->err, VYRE_E_INTERNAL, "a device host sent no descriptor");
        block->mapping = (struct vyre_mapping){NULL, (size_t)lent->extent, message->fd[0]};
        message->fd[0] = -1;
    }
    memcpy(block->device, lent->device, sizeof block->device);
    block->device[sizeof block->device - 1] = '\0';
    return VYRE_OK;
}

static void answered(struct vyre_hosted *hosted, struct hosted_call *call,
                     struct host_message *message)
{
    vyre_status status = vyre_host_reply(message, call->answer, call->room, call->err);
    if (!status && call->block && call->answer) status = note_lent(call, message);
    if (!status && call->block) vyre_hosted_block_join(hosted, call->block);
    if (!status && call->sending.type == HOST_PAUSE) hosted->paused = 1;
    if (!status && call->module) {
        struct hosted_module **link = &hosted->modules;
        while (*link)
            link = &(*link)->next;
        call->module->number = ++hosted->module_count;
        *link = call->module;
    }
    finish(hosted, call, status);
}

/* Of a slot that runs again: one that the host does not want is lost. (keeper) */
static int replayed(struct vyre_hosted *hosted, const struct host_message *message)
{
    struct hosted_replay *replay = &hosted->replay;
    uint32_t index = message->header.serial - replay->first_serial;
    const struct host_reply *reply = message->payload;
    if (!replay->queue || index >= replay->sent || replay->left == 0) return 0;
    replay->left--;
    if (reply->status == VYRE_OK) return 1;
    vyre_queue_lose(replay->queue, replay->tickets[index]);
    __atomic_fetch_add(&hosted->lost, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&hosted->repeated, 1, __ATOMIC_RELAXED);
    return 1;
}

static vyre_status reply(struct vyre_hosted *hosted, struct host_message *message, vyre_error *err)
{
    uint32_t serial = message->header.serial;
    if (serial == 0) { /* it says why it leaves */
        vyre_status status = vyre_host_reply(message, NULL, 0, err);
        return status ? status : VYRE_E_INTERNAL;
    }
    if (replayed(hosted, message)) return VYRE_OK;
    pthread_mutex_lock(&hosted->lock);
    struct hosted_call *call = hosted->calls;
    while (call && !(call->sent && call->sending.serial == serial))
        call = call->next;
    if (call) {
        answered(hosted, call, message);
    } else if (serial == hosted->late_serial) {
        hosted->late_serial = 0;
        pthread_cond_broadcast(&hosted->news);
    }
    /* Else nobody waits for it: a FORGET. */
    pthread_mutex_unlock(&hosted->lock);
    return VYRE_OK;
}

vyre_status vyre_hosted_handle(struct vyre_hosted *hosted, struct host_message *message,
                               vyre_error *err)
{
    switch (message->header.type) {
    case HOST_REPLY:
        return reply(hosted, message, err);
    case HOST_TAKEN:
        vyre_hosted_note_taken(hosted, ((const struct host_taken *)message->payload)->ticket);
        return VYRE_OK;
    case HOST_ANSWER:
        return vyre_hosted_answer(hosted, message->payload, err);
    default:
        return vyre_fail(err, VYRE_E_INTERNAL, "a device host sent a message of type %u",
                         message->header.type);
    }
}

vyre_status vyre_hosted_pump(struct vyre_hosted *hosted, vyre_error *err)
{
    struct host_message message;
    for (;;) {
        if (__atomic_load_n(&hosted->stopping, __ATOMIC_ACQUIRE))
            return vyre_fail(err, VYRE_E_STOPPED, "the runtime has been stopped");
        uint64_t now = vyre_clock_ns();
        uint64_t look_ns = now + 20000000u; /* a stop is seen soon */
        if (look_ns > hosted->until_ns) look_ns = hosted->until_ns;
        vyre_status status = vyre_host_await(&hosted->process, &message, look_ns, err);
        if (status == VYRE_E_TIMEOUT && look_ns < hosted->until_ns) continue;
        if (status) return status;
        status = vyre_hosted_handle(hosted, &message, err);
        host_message_close(&message);
        return status;
    }
}
