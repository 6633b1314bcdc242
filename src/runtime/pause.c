/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pausing: the device ends what it has taken, takes nothing more and leaves the GPU, until it is
 * resumed. While runtime->paused is set nothing new goes to queue 0: what changes the device is
 * refused, drops wait here. It is set before the device is asked, so that whatever went to queue 0
 * earlier is answered before the device rests.
 */
#include "runtime/internal.h"

int vyre_runtime_paused(const vyre *runtime)
{
    return __atomic_load_n(&runtime->paused, __ATOMIC_ACQUIRE) != 0;
}

vyre_status vyre_pause_refuse(vyre_error *err)
{
    return vyre_fail_with(err, VYRE_E_STATE, "call vyre_resume first", "the runtime is paused");
}

/* Those who wait for the end of a pause look again. */
static void set(vyre *runtime, uint32_t paused)
{
    pthread_mutex_lock(&runtime->system.lock);
    __atomic_store_n(&runtime->paused, paused, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&runtime->system.answered);
    pthread_mutex_unlock(&runtime->system.lock);
}

vyre_status vyre_pause(vyre *runtime, vyre_error *err)
{
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    vyre_status status = vyre_runtime_refuse_worker(runtime, "vyre_pause", err);
    if (status) return status;
    pthread_mutex_lock(&runtime->pause_lock);
    if (vyre_runtime_stopped(runtime)) {
        status = vyre_runtime_refuse(runtime, err);
    } else if (!vyre_runtime_paused(runtime)) {
        set(runtime, 1);
        status = runtime->port->pause(runtime, err);
        if (status) set(runtime, 0);
    }
    pthread_mutex_unlock(&runtime->pause_lock);
    if (status) vyre_system_collect(runtime); /* drops that were held back meanwhile */
    return status;
}

/* (pause_lock) */
static vyre_status resume(vyre *runtime, vyre_error *err)
{
    vyre_status status = runtime->port->resume(runtime, err);
    if (status == VYRE_OK || vyre_runtime_stopped(runtime)) set(runtime, 0);
    return status;
}

vyre_status vyre_resume(vyre *runtime, vyre_error *err)
{
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    vyre_status status = vyre_runtime_refuse_worker(runtime, "vyre_resume", err);
    if (status) return status;
    pthread_mutex_lock(&runtime->pause_lock);
    if (vyre_runtime_paused(runtime))
        status = resume(runtime, err);
    else if (vyre_runtime_stopped(runtime))
        status = vyre_runtime_refuse(runtime, err);
    pthread_mutex_unlock(&runtime->pause_lock);
    vyre_system_collect(runtime);
    return status;
}

void vyre_pause_end(vyre *runtime)
{
    pthread_mutex_lock(&runtime->pause_lock);
    if (vyre_runtime_paused(runtime)) {
        resume(runtime, NULL);
        set(runtime, 0);
    }
    pthread_mutex_unlock(&runtime->pause_lock);
}
