/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The life of a worker: take the poller's role if it is free, run what waits, sleep when there is
 * nothing, leave when the device is stopped. It is the whole of the CPU backend's threads and of
 * the CUDA kernel's warps.
 *
 * Who must be awake: while a worker holds the role, producers need wake nobody. A worker that gives
 * the role up looks once more after a full fence (F2, pairs with F1 in submit.c), so a doorbell
 * that was rung meanwhile is seen by it or its producer sees that nobody polls. At most one idle
 * worker spins; the others sleep.
 */
#ifndef VYRE_DEVICE_WORKER_H
#define VYRE_DEVICE_WORKER_H

#include "device/io_copy.h"
#include "device/poller.h"
#include "device/wake.h"

/* How long a worker without the role waits for a hand-over before it sleeps. */
#define DEV_HELPER_SPIN_NS 5000u

/* Whether a doorbell has been rung for slots that nobody has taken, or the pump has answered. */
DEV_FN int dev_news(struct dev_runtime *rt)
{
    int news = 0;
    dev_lock(&rt->sched);
    for (uint32_t i = 0; i < rt->watch_count && !news; i++)
        news = dev_watch_news(&rt->watch[i]);
    if (!news) news = dev_io_news(rt);
    dev_unlock(&rt->sched);
    return news;
}

/* Whether a poller is wanted. `ends` is what rt->ends was before this worker's last pass: an end
 * since then may have freed a fence or a system operation. */
DEV_FN int dev_poller_wanted(struct dev_runtime *rt, uint32_t ends)
{
    uint32_t waiting = dev_load_relaxed(&rt->barriers) + dev_load_relaxed(&rt->waiting_ops);
    return dev_news(rt) || dev_io_handed_back(rt) ||
           (waiting != 0 && dev_load_relaxed(&rt->ends) != ends);
}

/* Before a long run: if somebody sleeps and a poller is wanted, let him take the role. The fence
 * stands before the look at the sleepers: one who sees that the role is taken sleeps without a look
 * at the doorbells, and relies on this one. */
DEV_FN void dev_role_leave(struct dev_runtime *rt, uint32_t ends)
{
    dev_unlock(&rt->page->poller);
    dev_fence_full(); /* F2 */
    if (dev_load_relaxed(&rt->page->sleepers) == 0) return;
    if (dev_poller_wanted(rt, ends)) dev_wake_workers(rt, 1);
}

/*
 * Sleeps until woken, unless there is something to do after all. Gives the role up if this worker
 * has it.
 */
DEV_FN void dev_worker_sleep(struct dev_runtime *rt, int role, uint32_t ends)
{
    if (role) dev_vitals_pulse(rt, dev_clock_ns());
    uint32_t seen = dev_load_acquire(&rt->wake_seq, DEV_SYSTEM);
    dev_add_relaxed(&rt->page->sleepers, 1);
    if (role) dev_unlock(&rt->page->poller);
    dev_fence_full(); /* F2 */
    int work = dev_load_relaxed(&rt->waiting_mask) != 0 || dev_load_relaxed(&rt->shutdown);
    /* While another worker polls, doorbells, fences and vitals are his; he looks again when he
     * stops. The heads are those of the one who polled last. */
    if (!work && dev_load_acquire(&rt->page->poller, DEV_DEVICE) == 0)
        work = dev_poller_wanted(rt, ends) || dev_vitals_stale(rt);
    if (!work) dev_sleep(&rt->wake_seq, seen);
    dev_sub_release(&rt->page->sleepers, 1);
}

/* Runs an entry that was popped: to its end, or for one turn. */
DEV_FN void dev_worker_run(struct dev_runtime *rt, uint32_t index, uint32_t worker, uint32_t frame)
{
    dev_vitals_begin(rt, worker, &rt->inflight[index]);
    if (rt->inflight[index].run != DEV_NONE)
        dev_entry_program(rt, index, worker, NULL, frame);
    else if (rt->inflight[index].slot[VYRE_SLOT_OPCODE] == VYRE_OP_LOAD_MISS)
        dev_io_copy(rt, index);
    else
        dev_entry_run(rt, index);
    dev_vitals_end(rt, worker);
}

/* Sleeps until the pump has answered something; the caller has the role, before and after. */
DEV_FN void dev_worker_await_pump(struct dev_runtime *rt)
{
    uint32_t seen = dev_load_acquire(&rt->wake_seq, DEV_SYSTEM);
    dev_add_relaxed(&rt->page->sleepers, 1);
    dev_unlock(&rt->page->poller);
    dev_fence_full(); /* F2 */
    if (!dev_news(rt) && !dev_io_handed_back(rt)) dev_sleep(&rt->wake_seq, seen);
    dev_sub_release(&rt->page->sleepers, 1);
    dev_lock(&rt->page->poller);
}

/* The last worker to leave takes what was still published, says where each queue ended, and is
 * gone. */
DEV_FN void dev_worker_last(struct dev_runtime *rt, struct dev_batch *batch, uint32_t worker)
{
    dev_lock(&rt->page->poller);
    dev_fence_full(); /* F2 */
    for (;;) {
        uint32_t progress = dev_poll_pass(rt, batch);
        uint32_t frame, index = dev_runq_pop(rt, VYRE_PRIORITY_IDLE, &frame);
        if (index != DEV_NONE)
            dev_worker_run(rt, index, worker, frame);
        else if (progress == 0 && rt->io.live == 0)
            break;
        else if (progress == 0)
            dev_worker_await_pump(rt);
    }
    dev_last_words(rt);
    /* A caller that has helped may still look for news without the role (dev_role_leave); once the
     * last worker has left, queues are freed without a word to the device. */
    dev_lock(&rt->sched);
    rt->watch_count = 0;
    dev_unlock(&rt->sched);
}

/*
 * A guest: a thread that is no worker and polls while what it does itself comes of that and goes
 * back there, as the pump does. So a request and its answer need not pass from thread to thread.
 * While it is there workers leave the role to it; it runs what the poller runs in place, and
 * nothing else.
 */
struct dev_guest {
    struct dev_batch batch;
    uint32_t role;
    uint32_t ends;
    uint32_t passes;
};

/* Gives the role up, and says that it is no guest any more. Whoever sleeps looks after the
 * doorbells from now on. */
DEV_FN void dev_guest_leave(struct dev_runtime *rt, struct dev_guest *guest)
{
    dev_store_relaxed(&rt->guest, 0);
    if (guest->role) {
        dev_vitals_pulse(rt, dev_clock_ns());
        guest->role = 0;
        dev_role_leave(rt, guest->ends);
    }
}

/* Takes the role, if it can be had now. */
DEV_FN void dev_guest_enter(struct dev_runtime *rt, struct dev_guest *guest)
{
    if (dev_load_relaxed(&rt->shutdown)) {
        dev_guest_leave(rt, guest);
        return;
    }
    dev_store_relaxed(&rt->guest, 1);
    if (!guest->role) guest->role = (uint32_t)dev_lock_try(&rt->page->poller);
}

/* One pass, if it has the role; how much was taken or ended. */
DEV_FN uint32_t dev_guest_pass(struct dev_runtime *rt, struct dev_guest *guest)
{
    if (!guest->role) return 0;
    guest->ends = dev_load_acquire(&rt->ends, DEV_DEVICE); /* A11 */
    uint32_t progress = dev_poll_pass(rt, &guest->batch);
    if (++guest->passes % DEV_VITALS_PASSES == 0) dev_vitals_beat(rt, dev_clock_ns());
    dev_share_out(rt);
    return progress;
}

/* Runs until the device is stopped. Workers are numbered from 0. */
DEV_FN void dev_worker(struct dev_runtime *rt, uint32_t worker)
{
    struct dev_batch batch;
    uint64_t idle_since_ns = 0;
    uint32_t looks = 0;
    uint32_t passes = 0;
    uint32_t ends = 0;
    int role = 0;
    for (;;) {
        uint32_t progress = 0;
        int guest = dev_load_relaxed(&rt->guest) != 0;
        if (role && guest) dev_unlock(&rt->page->poller);
        if (guest) role = 0;
        if (!role && !guest) role = dev_lock_try(&rt->page->poller);
        if (role) {
            ends = dev_load_acquire(&rt->ends, DEV_DEVICE); /* A11 pairs with R11 in entry.h */
            progress = dev_poll_pass(rt, &batch);
            if (++passes % DEV_VITALS_PASSES == 0) dev_vitals_beat(rt, dev_clock_ns());
        }
        /* While more urgent slots stream in, only aged work below them may start. */
        uint32_t frame, limit = progress ? VYRE_PRIORITY_NORMAL : VYRE_PRIORITY_IDLE;
        uint32_t index = dev_runq_pop(rt, limit, &frame);
        if (progress || index != DEV_NONE) dev_share_out(rt);
        if (index != DEV_NONE) {
            if (role) {
                /* Perhaps nobody polls for long now. */
                dev_vitals_beat(rt, dev_load64_relaxed(&rt->inflight[index].claimed_ns));
                dev_role_leave(rt, ends);
            }
            role = 0;
            dev_worker_run(rt, index, worker, frame);
        }
        if (index != DEV_NONE || progress) {
            looks = 0;
            idle_since_ns = 0;
            continue;
        }
        if (dev_load_relaxed(&rt->shutdown)) break;
        dev_pause();
        if (++looks % 64 != 0 && rt->idle_spin_ns != 0) continue;
        uint64_t now_ns = dev_clock_ns();
        if (idle_since_ns == 0) idle_since_ns = now_ns;
        if (now_ns - idle_since_ns < (role ? rt->idle_spin_ns : DEV_HELPER_SPIN_NS)) continue;
        dev_worker_sleep(rt, role, ends);
        role = 0;
        looks = 0;
        idle_since_ns = 0;
    }
    if (role) dev_unlock(&rt->page->poller);
    if (dev_sub_both(&rt->running, 1) == 1) dev_worker_last(rt, &batch, worker);
}

#endif
