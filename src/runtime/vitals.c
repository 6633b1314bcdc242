/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reading the vitals page: by loads from the mapping that this process shares with the device,
 * wherever that lives. How many lines the page has is what this side asked for, never what the page
 * says. Called by the public API and by the watchdog.
 */
#include "runtime/vitals.h"

#include <string.h>

#include "base/clock.h"

uint64_t vyre_vitals_age(const vyre *runtime, uint64_t now_ns)
{
    uint64_t beat_ns = dev_load64_relaxed(&runtime->vitals->beat_ns);
    return beat_ns != 0 && now_ns > beat_ns ? now_ns - beat_ns : 0;
}

int vyre_vitals_worker(const vyre *runtime, uint32_t worker, struct dev_vital_worker *line)
{
    return dev_vitals_read(dev_vitals_worker(runtime->vitals, worker), line) && line->busy != 0;
}

vyre_vital_worker vyre_vitals_busy(uint32_t worker, const struct dev_vital_worker *line,
                                   uint64_t now_ns)
{
    vyre_vital_worker busy;
    busy.worker = worker;
    busy.queue = line->queue;
    busy.tenant = line->tenant;
    busy.opcode = line->opcode;
    busy.ticket = line->ticket;
    busy.busy_ns = now_ns > line->since_ns ? now_ns - line->since_ns : 0;
    return busy;
}

vyre_vital_queue vyre_vitals_of_queue(const vyre_queue *queue)
{
    const vyre *runtime = queue->runtime;
    const struct dev_vital_queue *line =
        dev_vitals_queue(runtime->vitals, runtime->options.workers, queue->number);
    vyre_vital_queue vital;
    vital.queue = queue->number;
    vital.tenant = queue->tenant;
    vital.taken = dev_load64_acquire(&line->taken, DEV_SYSTEM) - queue->first_ticket;
    vital.completed = dev_load64_relaxed(&line->completed);
    vital.inflight = dev_load_relaxed(&line->inflight);
    vital.blocked = dev_load_relaxed(&line->blocked) != 0;
    vital.submitted = __atomic_load_n(&queue->submitted, __ATOMIC_ACQUIRE) - queue->first_ticket;
    /* So also while a device that is being restarted has not said anything yet. */
    if (vital.taken > vital.submitted) vital.taken = vital.submitted;
    return vital;
}

int vyre_vitals_asleep(const vyre *runtime, uint32_t busy)
{
    const struct dev_page *page = runtime->page;
    if (vyre_runtime_paused(runtime) && busy == 0) return 1;
    /* A kernel leaves as a whole; of threads the last one may be on its way to sleep or to work. */
    uint32_t all = runtime->options.backend == VYRE_BACKEND_CPU ? runtime->options.workers : 1;
    return dev_load_relaxed(&page->poller) == 0 && dev_load_relaxed(&page->sleepers) >= all &&
           busy == 0;
}

static void read_workers(vyre *runtime, vyre_vitals *vitals, uint64_t now_ns)
{
    for (uint32_t i = 0; i < runtime->options.workers; i++) {
        struct dev_vital_worker line;
        if (!vyre_vitals_worker(runtime, i, &line)) continue;
        if (vitals->busy < vitals->worker_room)
            vitals->worker[vitals->busy] = vyre_vitals_busy(i, &line, now_ns);
        vitals->busy++;
    }
}

static void read_queues(vyre *runtime, vyre_vitals *vitals)
{
    pthread_mutex_lock(&runtime->system.lock);
    for (const vyre_queue *queue = runtime->queues; queue; queue = queue->next) {
        if (vitals->queues < vitals->queue_room)
            vitals->queue[vitals->queues] = vyre_vitals_of_queue(queue);
        vitals->queues++;
    }
    pthread_mutex_unlock(&runtime->system.lock);
}

vyre_status vyre_vitals_read(vyre *runtime, vyre_vitals *out, vyre_error *err)
{
    if (!runtime) return vyre_fail(err, VYRE_E_NULL, "runtime is null");
    if (!out) return vyre_fail(err, VYRE_E_NULL, "vitals is null");
    if (out->size < sizeof *out)
        return vyre_fail(err, VYRE_E_SIZE, "vitals.size is %u; this version has %zu bytes",
                         out->size, sizeof *out);
    if (out->worker_room != 0 && !out->worker)
        return vyre_fail(err, VYRE_E_NULL, "worker is null, worker_room is %u", out->worker_room);
    if (out->queue_room != 0 && !out->queue)
        return vyre_fail(err, VYRE_E_NULL, "queue is null, queue_room is %u", out->queue_room);
    uint64_t now_ns = vyre_clock_ns();
    vyre_vitals filled = *out;
    filled.version = dev_load_relaxed(&runtime->vitals->version);
    filled.workers = runtime->options.workers;
    filled.busy = filled.queues = 0;
    filled.beats = dev_load64_relaxed(&runtime->vitals->beats);
    filled.age_ns = vyre_vitals_age(runtime, now_ns);
    read_workers(runtime, &filled, now_ns);
    read_queues(runtime, &filled);
    filled.asleep = (uint32_t)vyre_vitals_asleep(runtime, filled.busy);
    *out = filled;
    return VYRE_OK;
}
