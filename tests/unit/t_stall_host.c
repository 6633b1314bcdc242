/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The watchdog of a device that lives in a device host: a host that hangs is ended, one that links,
 * or that has only just begun, is not.
 */
#include "support.h"

#include "restart_load.h"
#include "runtime/hosted.h"

#define STALL_NS 1000000000u /* a host that works is let run sooner */

static struct load_times times;
static _Atomic uint32_t reports;

static void hear(void *ctx, const vyre_stall *stall)
{
    (void)ctx;
    if (stall->policy == VYRE_STALL_RESTART) atomic_fetch_add(&reports, 1);
}

static vyre *open_watched(void)
{
    vyre_options options = cpu_options(2);
    memset(&times, 0, sizeof times);
    atomic_store(&reports, 0);
    options.place = VYRE_PLACE_HOST;
    options.stall_policy = VYRE_STALL_RESTART;
    options.stall_ns = STALL_NS;
    options.stall = hear;
    options.log = load_log;
    options.log_ctx = &times;
    return open_with(&options);
}

static vyre_description describe(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    return about;
}

static uint64_t submit_marked(vyre_queue *queue)
{
    vyre_slot *slot = next_slot(queue);
    vyre_error err;
    must(vyre_prep_nop(slot, &err), &err);
    must(vyre_slot_repeatable(queue, slot, &err), &err);
    return submit(queue);
}

/* The page is the same where the device is another process's. */
static void vitals_of(vyre *rt, const vyre_queue *queue)
{
    vyre_vitals vitals = VYRE_VITALS_INIT;
    vyre_vital_queue vital;
    vyre_error err;
    vitals.queue = &vital;
    vitals.queue_room = 1;
    memset(&vital, 0, sizeof vital);
    /* A worker may tell of an end a moment after all seemed to sleep. */
    for (uint64_t waited = 0;
         !(vitals.asleep && vital.completed == 1 && vital.inflight == 0) && waited < PATIENCE_NS;
         waited += 50000) {
        breathe();
        must(vyre_vitals_read(rt, &vitals, &err), &err);
    }
    ok(vitals.asleep && vitals.workers == 2 && vitals.busy == 0 && vitals.beats > 0,
       "a device host has vitals");
    ok(vitals.queues == 1 && vital.queue == vyre_queue_number(queue) && vital.submitted == 1 &&
           vital.taken == 1 && vital.completed == 1 && vital.inflight == 0,
       "and counts its slots");
}

/* A device host that is made to hang is ended, and another one answers. */
static void restarted(void)
{
    vyre *rt = open_watched();
    vyre_queue *queue = vyre_queue_default(rt);
    wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
    vitals_of(rt, queue);
    freeze((pid_t)host_pid(rt));
    is_u64(wait_for(queue, submit_marked(queue)).outcome, VYRE_DONE,
           "a new host runs the slot again");
    ok(reaches(&reports, 1) && describe(rt).stalls >= 1, "the stall was reported");
    is_u64(describe(rt).restarts, 1, "and led to one restart");
    vyre_close(rt);
}

static bool is_asleep(vyre *rt)
{
    vyre_vitals vitals = VYRE_VITALS_INIT;
    vyre_error err;
    must(vyre_vitals_read(rt, &vitals, &err), &err);
    return vitals.asleep;
}

/* Waits until the device sleeps, as a kernel does that has parked, and stops its host. What looked
 * asleep may have been a worker on its way back from a last look: then it may go on. */
static void freeze_asleep(vyre *rt)
{
    pid_t pid = (pid_t)host_pid(rt);
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        if (is_asleep(rt)) {
            freeze(pid);
            if (is_asleep(rt)) return;
            kill(pid, SIGCONT);
        }
        breathe();
    }
    bail("the device never slept");
}

struct maker {
    vyre *rt;
    _Atomic uint32_t made;
};

static void *make_buffer(void *argument)
{
    struct maker *maker = argument;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_buffer_create(maker->rt, 64, VYRE_PINNED, &buffer, &err), &err);
    vyre_buffer_free(buffer);
    atomic_store(&maker->made, 1);
    return NULL;
}

/* A link that takes long: the kernel is parked, and the host answers nobody. */
static void linking(void)
{
    vyre *rt = open_watched();
    struct vyre_hosted *hosted = rt->hosted;
    struct hosted_call link = {.sending = {.type = HOST_MODULE}, .sent = 1};
    struct maker maker = {.rt = rt};
    pthread_t thread;
    freeze_asleep(rt);
    pthread_mutex_lock(&hosted->lock);
    hosted->calls = &link;
    pthread_mutex_unlock(&hosted->lock);
    uint64_t ticket = submit_marked(vyre_queue_default(rt));
    if (pthread_create(&thread, NULL, make_buffer, &maker)) bail("no thread");
    usleep(3 * (STALL_NS / 1000));
    ok(atomic_load(&reports) == 0 && atomic_load(&times.deaths) == 0,
       "a host that links is not stalled, nor does it hang");
    pthread_mutex_lock(&hosted->lock);
    struct hosted_call **place = &hosted->calls;
    while (*place != &link)
        place = &(*place)->next;
    *place = link.next;
    pthread_mutex_unlock(&hosted->lock);
    is_u64(wait_for(vyre_queue_default(rt), ticket).outcome, VYRE_DONE, "one that does nothing is");
    ok(reaches(&maker.made, 1), "and other calls are answered by the next");
    pthread_join(thread, NULL);
    vyre_close(rt);
}

/* A host that has not said anything yet may just be slow. */
static void fresh(void)
{
    vyre *rt = open_watched();
    struct maker maker = {.rt = rt};
    pthread_t thread;
    freeze_asleep(rt);
    dev_store64_relaxed(&rt->vitals->beats, 0);
    uint64_t ticket = submit_marked(vyre_queue_default(rt));
    if (pthread_create(&thread, NULL, make_buffer, &maker)) bail("no thread");
    usleep(3 * (STALL_NS / 1000));
    ok(atomic_load(&reports) == 0 && atomic_load(&times.deaths) == 0,
       "a host without a first heartbeat is given time");
    is_u64(wait_for(vyre_queue_default(rt), ticket).outcome, VYRE_DONE, "but not for ever");
    ok(reaches(&maker.made, 1), "other calls are answered by the next");
    pthread_join(thread, NULL);
    vyre_close(rt);
}

int main(void)
{
    restarted();
    linking();
    fresh();
    return done();
}
