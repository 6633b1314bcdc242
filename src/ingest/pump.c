/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The life of the pump: its thread, its beginning and its end.
 */
#include "ingest/pump.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/release.h"

#define SPIN_NS       20000u    /* looks before it sleeps */
#define VISIT_BYTES   65536u    /* moves of more bytes take so long that others have to poll */
#define NAP_MOST_NS   1000000u  /* of a device that wakes nobody: the longest sleep beside it, */
#define NAP_SHARE     64u       /* a part of the time that nothing has happened for, */
#define NAP_PARKED_NS 20000000u /* and the longest where it does not run */

static uint64_t now(void)
{
    return vyre_clock_ns();
}

/* The thread.
 * ------------------------------------------------------------------------------------------- */

/* The device wants to hear when a deadline has come. */
static void tick(struct vyre_pump *pump)
{
    uint64_t deadline_ns = dev_load64_relaxed(&pump->page->deadline_ns);
    struct dev_io_answer answer = {PUMP_NONE, 0, DEV_IO_TICK, 0, 0, 0, deadline_ns};
    if (deadline_ns == 0 || deadline_ns == pump->ticked_ns || now() < deadline_ns) return;
    pump->ticked_ns = deadline_ns;
    vyre_pump_answer(pump, &answer);
    vyre_pump_tell(pump);
}

/* How long to sleep, if nobody wakes the pump. */
static uint64_t wake_at(const struct vyre_pump *pump, uint64_t now_ns)
{
    const vyre *runtime = pump->runtime;
    uint64_t deadline_ns = dev_load64_relaxed(&pump->page->deadline_ns), at_ns = UINT64_MAX;
    if (deadline_ns != 0 && deadline_ns != pump->ticked_ns) at_ns = deadline_ns;
    if (!runtime->silent) return at_ns;
    uint64_t nap = (now_ns - pump->idle_ns) / NAP_SHARE, least = runtime->options.sleep_ns;
    uint32_t parked = dev_load_relaxed(&runtime->page->sleepers);
    if (nap > NAP_MOST_NS) nap = NAP_MOST_NS;
    if (nap < least) nap = least;
    if (dev_load_relaxed(&runtime->page->poller) == 0 && parked != 0 &&
        !dev_released(runtime->page, dev_launch_after(parked)))
        nap = NAP_PARKED_NS; /* whoever releases it pokes us */
    return now_ns + nap < at_ns ? now_ns + nap : at_ns;
}

/*
 * Visits. A device whose workers are threads of this process is polled by the pump itself while
 * requests come: what a slot asks for, the answer and the next slot then need no other thread. For
 * long moves, and before it sleeps, it leaves the polling to the workers.
 */
static void leave(struct vyre_pump *pump)
{
    if (!pump->visiting) return;
    pump->visiting = 0;
    pump->runtime->port->visit(pump->runtime, VYRE_VISIT_LEAVE);
}

static void enter(struct vyre_pump *pump)
{
    if (!pump->guest || pump->holding || !(pump->visiting || pump->progress)) return;
    pump->visiting = 1;
    pump->runtime->port->visit(pump->runtime, VYRE_VISIT_ENTER);
}

static void visit(struct vyre_pump *pump)
{
    if (pump->visiting && pump->runtime->port->visit(pump->runtime, VYRE_VISIT_PASS) != 0)
        pump->progress = 1;
}

/* Whether the next turn would take a request. A device that says wrong things, or asks for more
 * than there can be, keeps nobody awake. */
static int requests_wait(const struct vyre_pump *pump)
{
    if (pump->holding) return 0;
    uint32_t count = dev_load_relaxed(&pump->page->requested) - pump->taken;
    if (count == 0 || count > dev_io_requests(pump->entries)) return 0;
    return pump->free != NULL || !pump->stuck;
}

/* Nothing happened: looks on for a while, then sleeps. */
static void rest(struct vyre_pump *pump)
{
    uint64_t now_ns = now();
    uint64_t spin_ns = pump->runtime->options.idle_spin_ns;
    if (pump->idle_ns == 0) pump->idle_ns = now_ns;
    if (spin_ns > SPIN_NS) spin_ns = SPIN_NS;
    if (pump->underway == 0 && now_ns - pump->idle_ns < spin_ns) {
        dev_pause();
        return;
    }
    leave(pump);
    uint32_t seen = dev_load_acquire(&pump->page->event, DEV_SYSTEM);
    dev_store_relaxed(&pump->page->asleep, 1);
    dev_fence_full(); /* F4, pairs with F3 in io.h: we see the request, or the device sees us */
    int news = requests_wait(pump);
    if (!news && !__atomic_load_n(&pump->orders, __ATOMIC_ACQUIRE)) {
        PUMP_COUNT(pump, sleeps, 1);
        pump->engine->sleep(pump, seen, wake_at(pump, now_ns));
    } else if (!news) {
        pump->engine->sleep(pump, seen, now_ns + NAP_MOST_NS); /* until operations have ended */
    }
    dev_store_relaxed(&pump->page->asleep, 0);
}

/* Finds an engine; what it is and why goes into the report. */
static vyre_status choose(struct vyre_pump *pump, vyre_error *err)
{
    uint32_t asked = pump->runtime->options.io_engine;
    char *choice = pump->report.choice, text[sizeof pump->report.choice] = "";
    size_t room = sizeof pump->report.choice;
    vyre_error refused;
    pump->engine = &vyre_pump_uring;
    if (asked != VYRE_IO_ENGINE_PREAD) {
        vyre_status status = pump->engine->start(pump, text, sizeof text, &refused);
        if (!status) {
            snprintf(choice, room, "%s: %.230s",
                     asked == VYRE_IO_ENGINE_AUTO ? "auto chose" : "as asked for", text);
            return VYRE_OK;
        }
        if (status == VYRE_E_NO_MEMORY) {
            if (err) *err = refused;
            return status;
        }
        if (asked == VYRE_IO_ENGINE_URING) {
            vyre_fail_with(err, VYRE_E_UNSUPPORTED, refused.fix, "%.200s", refused.message);
            return VYRE_E_UNSUPPORTED;
        }
        snprintf(choice, room, "auto chose threads that call pread: %.200s", refused.message);
    } else {
        snprintf(choice, room, "threads that call pread, as asked for");
    }
    pump->engine = &vyre_pump_pool;
    return pump->engine->start(pump, text, sizeof text, err);
}

static int begin(struct vyre_pump *pump)
{
    pthread_mutex_lock(&pump->lock);
    pump->start_status = choose(pump, &pump->start_error);
    pump->started = 1;
    pthread_cond_broadcast(&pump->changed);
    int failed = pump->start_status != VYRE_OK;
    pthread_mutex_unlock(&pump->lock);
    return !failed;
}

static void *run(void *argument)
{
    struct vyre_pump *pump = argument;
    if (!begin(pump)) return NULL;
    for (;;) {
        pump->progress = 0;
        vyre_pump_obey(pump);
        if (__atomic_load_n(&pump->ending, __ATOMIC_ACQUIRE) && pump->underway == 0) break;
        if (!pump->holding) vyre_pump_take(pump);
        if (pump->begun_bytes > VISIT_BYTES) leave(pump);
        pump->begun_bytes = 0;
        pump->engine->turn(pump);
        enter(pump);
        if (!pump->holding) {
            vyre_pump_tell(pump);
            tick(pump);
        }
        visit(pump);
        if (!pump->progress) {
            rest(pump);
            continue;
        }
        pump->idle_ns = 0;
        PUMP_COUNT(pump, turns, 1);
    }
    leave(pump);
    pump->engine->end(pump);
    return NULL;
}

/* Making and freeing.
 * ------------------------------------------------------------------------------------------- */

static void free_pump(struct vyre_pump *pump)
{
    struct vyre_memory *memory = &pump->runtime->memory;
    for (uint32_t i = 0; i < PUMP_SOURCES; i++) {
        vyre_source *source = pump->sources[i];
        if (!source) continue;
        close(source->fd);
        vyre_memory_free(memory, source, sizeof *source);
    }
    vyre_memory_free(memory, pump->ops, pump->entries * sizeof *pump->ops);
    pthread_cond_destroy(&pump->changed);
    pthread_mutex_destroy(&pump->lock);
    vyre_memory_free(memory, pump, sizeof *pump);
}

static void end(void *argument)
{
    struct vyre_pump *pump = argument;
    pthread_mutex_lock(&pump->lock);
    __atomic_store_n(&pump->ending, 1, __ATOMIC_RELEASE);
    vyre_pump_order(pump);
    pthread_mutex_unlock(&pump->lock);
    pthread_join(pump->thread, NULL);
    free_pump(pump);
}

static const struct vyre_io_pump calls = {vyre_pump_poke, vyre_pump_hold, vyre_pump_let_go, end,
                                          vyre_pump_oldest};

static vyre_status make(vyre *runtime, struct vyre_pump **out, vyre_error *err)
{
    uint32_t entries = runtime->options.io_entries;
    unsigned char *mapping = runtime->io.block.host;
    void *memory, *ops;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, sizeof(struct vyre_pump), "pump", &memory, err);
    if (status) return status;
    status = vyre_memory_alloc(&runtime->memory, entries, sizeof(struct pump_op),
                               "requests for input and output", &ops, err);
    if (status) {
        vyre_memory_free(&runtime->memory, memory, sizeof(struct vyre_pump));
        return status;
    }
    struct vyre_pump *pump = memory;
    pump->runtime = runtime;
    pump->calls = runtime->io.system ? runtime->io.system : &vyre_stream_system_calls;
    pump->page = (void *)mapping;
    pump->requests = (void *)(mapping + DEV_IO_RINGS_AT);
    pump->answers = (void *)(mapping + dev_io_answers_at(entries));
    pump->chunks = mapping + dev_io_chunks_at(entries);
    pump->entries = entries;
    pump->chunk_count = runtime->io.chunks;
    pump->ops = ops;
    pump->guest = vyre_port_direct(runtime) && runtime->options.idle_spin_ns != 0;
    for (uint32_t i = entries; i-- != 0;) {
        pump->ops[i].index = i;
        pump->ops[i].next = pump->free;
        pump->free = &pump->ops[i];
    }
    pthread_mutex_init(&pump->lock, NULL);
    pthread_cond_init(&pump->changed, NULL);
    *out = pump;
    return VYRE_OK;
}

static vyre_status start(struct vyre_pump *pump, vyre_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&pump->thread, NULL, run, pump);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return vyre_fail_errno(err, failed, "starting the pump");
    pthread_mutex_lock(&pump->lock);
    while (!pump->started)
        pthread_cond_wait(&pump->changed, &pump->lock);
    pthread_mutex_unlock(&pump->lock);
    if (!pump->start_status) return VYRE_OK;
    pthread_join(pump->thread, NULL);
    if (err) *err = pump->start_error;
    return pump->start_status;
}

vyre_status vyre_pump_need(vyre *runtime, struct vyre_pump **out, vyre_error *err)
{
    struct vyre_pump *pump = __atomic_load_n(&runtime->io.pump, __ATOMIC_ACQUIRE);
    vyre_status status = VYRE_OK;
    if (!pump) {
        status = vyre_io_make(runtime, err);
        if (!status) status = make(runtime, &pump, err);
        if (status) return status;
        status = start(pump, err);
        if (status) {
            free_pump(pump);
            return status;
        }
        vyre_log_line(&runtime->log, VYRE_LOG_INFO, "the pump works: %s", pump->report.choice);
    }
    status = vyre_io_install(runtime, &calls, pump, err);
    if (!status) *out = pump;
    return status;
}
