/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pausing a device that lives in a device host. A host that dies while it is paused is replaced by
 * one that is: it is given blocks and handles, paused, and only when the runtime is resumed its
 * queues, so that nothing runs that was submitted meanwhile. That is the keeper's work, as a
 * restart is.
 */
#include <unistd.h>

#include "base/clock.h"
#include "runtime/hosted.h"

#define ANSWER_NS 5000000000u /* a host that has not paused by then hangs */
#define RESUME_NS 2000000000u /* and so does one that has not resumed */

static const struct host_pause nothing;

static struct hosted_call make_call(uint32_t type)
{
    return (struct hosted_call){
        .sending = {.type = type, .payload = &nothing, .payload_bytes = sizeof nothing}};
}

vyre_status vyre_hosted_pause(vyre *runtime, vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    struct hosted_call call = make_call(HOST_PAUSE), undo = make_call(HOST_RESUME);
    vyre_status status = vyre_hosted_call(hosted, &call, ANSWER_NS, err);
    if (status != VYRE_E_TIMEOUT) return status;
    /* It may do so yet: what comes behind it undoes it. */
    pthread_mutex_lock(&hosted->lock);
    hosted->paused = 0;
    undo.sending.serial = vyre_hosted_serial(hosted);
    if (hosted->state == HOSTED_CONNECTED) vyre_hosted_send(hosted, &undo.sending);
    pthread_mutex_unlock(&hosted->lock);
    return status;
}

vyre_status vyre_hosted_pause_again(struct vyre_hosted *hosted, int *paused, vyre_error *err)
{
    struct hosted_call call = make_call(HOST_PAUSE);
    pthread_mutex_lock(&hosted->lock);
    *paused = hosted->paused != 0;
    pthread_mutex_unlock(&hosted->lock);
    return *paused ? vyre_hosted_ask(hosted, &call, err) : VYRE_OK;
}

/* Whether the keeper has seen to the queues of a host that was made paused. (lock) */
static int await_queues(struct vyre_hosted *hosted, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
    hosted->wanted = 1;
    vyre_hosted_poke(hosted->kick_fd);
    while (hosted->queues_left && hosted->state != HOSTED_GONE)
        if (pthread_cond_timedwait(&hosted->news, &hosted->lock, &until)) break;
    return !hosted->queues_left;
}

vyre_status vyre_hosted_resume(vyre *runtime, vyre_error *err)
{
    struct vyre_hosted *hosted = runtime->hosted;
    uint64_t until_ns = vyre_clock_after(vyre_clock_ns(), RESUME_NS);
    vyre_status status = VYRE_OK;
    pthread_mutex_lock(&hosted->lock);
    hosted->paused = 0; /* from now on a new host is not paused */
    int left = hosted->queues_left != 0;
    pthread_mutex_unlock(&hosted->lock);
    if (!left) {
        struct hosted_call call = make_call(HOST_RESUME);
        status = vyre_hosted_call(hosted, &call, RESUME_NS, err);
        if (status == VYRE_E_TIMEOUT) return status;
    }
    /* It may have been restarted just before. */
    pthread_mutex_lock(&hosted->lock);
    int done = !hosted->queues_left || await_queues(hosted, until_ns);
    int gone = hosted->state == HOSTED_GONE;
    pthread_mutex_unlock(&hosted->lock);
    if (gone) return vyre_hosted_refuse(hosted, err);
    if (done) return status;
    return vyre_fail(err, VYRE_E_TIMEOUT, "the device host does not answer");
}

int vyre_hosted_wanted(struct vyre_hosted *hosted, vyre_error *err)
{
    struct hosted_call call = make_call(HOST_RESUME);
    uint64_t count;
    if (read(hosted->kick_fd, &count, sizeof count) < 0) return 1;
    pthread_mutex_lock(&hosted->lock);
    int wanted = hosted->wanted && hosted->queues_left && hosted->state == HOSTED_CONNECTED;
    hosted->wanted = 0;
    if (wanted) hosted->state = HOSTED_RESTARTING;
    pthread_mutex_unlock(&hosted->lock);
    if (!wanted) return 1;
    hosted->until_ns = vyre_clock_after(vyre_clock_ns(), HOSTED_ATTEMPT_NS);
    vyre_status status = vyre_hosted_ask(hosted, &call, err);
    if (!status) status = vyre_hosted_queues_again(hosted, err);
    return status == VYRE_OK;
}
