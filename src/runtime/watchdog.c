/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The watchdog: a thread that exists only where stall_ns says so. A few times in that span it looks
 * at the vitals page, and says so when a device with work shows no heartbeat, or when a slot runs
 * on long after its deadline; what else it does is the stall policy's. It waits for nobody: it
 * takes system.lock, which is never held while waiting for the device, and what it sends to queue 0
 * is answered to nobody.
 *
 * Started by vyre_open, ended by vyre_close after the device has stopped, so that a stop that gets
 * no answer is seen too.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "device/system.h"
#include "runtime/hosted.h"
#include "runtime/vitals.h"

#define LOOKS_PER_STALL 4u
#define PERIOD_LEAST_NS 1000000u
#define PERIOD_MOST_NS  100000000u

struct vyre_watchdog {
    vyre *runtime;
    pthread_t thread;
    uint32_t stop; /* (atomic) the thread sleeps on it */
    uint64_t period_ns;
    uint64_t looked_ns; /* the last look */
    uint64_t quiet_ns;  /* since when there is work and no heartbeat; 0: it is not so */
    uint64_t again_ns;  /* report when it has been quiet for so long */
    struct vyre_sight sight;
    uint64_t *told_ns;   /* of each worker: when it began the overdue slot that was last reported */
    uint64_t told_io_ns; /* the same of a slot that waits for input or output: its deadline */
    char *text;
    size_t bytes; /* of the text */
};

/* Looking.
 * ------------------------------------------------------------------------------------------- */

static void see_workers(struct vyre_watchdog *watchdog)
{
    struct vyre_sight *sight = &watchdog->sight;
    uint64_t patience_ns = watchdog->runtime->options.stall_ns;
    sight->busy = sight->overdue = 0;
    for (uint32_t i = 0; i < watchdog->runtime->options.workers; i++) {
        struct dev_vital_worker line;
        uint32_t at = sight->busy;
        if (!vyre_vitals_worker(watchdog->runtime, i, &line)) continue;
        sight->worker[at] = vyre_vitals_busy(i, &line, sight->now_ns);
        sight->since_ns[at] = line.since_ns;
        sight->deadline_ns[at] = line.deadline_ns;
        sight->overdue += line.deadline_ns != 0 && watchdog->told_ns[i] != line.since_ns &&
                          sight->now_ns > vyre_clock_after(line.deadline_ns, patience_ns);
        sight->busy++;
    }
}

/* Whether a caller waits for an answer that needs nothing but a device that listens. (system.lock)
 */
static int asked(const vyre *runtime)
{
    for (const struct vyre_request *request = runtime->system.requests; request;
         request = request->next)
        if (request->posted && !request->done && !request->waits) return 1;
    return 0;
}

/* Whether there is no device just now, but will be: its host is being restarted, or links what
 * sleeps. */
static int away(const vyre *runtime, int asleep)
{
    struct vyre_hosted *hosted = runtime->hosted;
    if (!hosted) return 0;
    pthread_mutex_lock(&hosted->lock);
    int so = hosted->state == HOSTED_RESTARTING || (asleep && vyre_hosted_linking(hosted));
    pthread_mutex_unlock(&hosted->lock);
    return so;
}

/*
 * Whether the device has something to do. One that sleeps has ended all that it had taken, however
 * old the counts in its page are; then only what it should have woken for counts.
 */
static int has_work(vyre *runtime, uint32_t busy)
{
    uint32_t state = dev_load_acquire(&runtime->page->state, DEV_SYSTEM);
    int asleep = vyre_vitals_asleep(runtime, busy);
    if (state == DEV_GONE || away(runtime, asleep)) return 0;
    if (vyre_runtime_paused(runtime)) return 0;
    if (state == DEV_STOPPED || busy != 0) return 1;
    pthread_mutex_lock(&runtime->system.lock);
    int work = asked(runtime);
    for (const vyre_queue *queue = runtime->queues; queue && !work; queue = queue->next) {
        vyre_vital_queue vital = vyre_vitals_of_queue(queue);
        work = vital.submitted != vital.taken || (vital.inflight != 0 && !asleep);
    }
    pthread_mutex_unlock(&runtime->system.lock);
    return work;
}

/* Acting.
 * ------------------------------------------------------------------------------------------- */

/* Asks for the end of what each worker of the sight is at. Nobody waits for the answers: those who
 * reap next find no request to them and drop them. */
static void cancel(vyre *runtime, const struct vyre_sight *sight)
{
    for (uint32_t i = 0; i < sight->busy; i++) {
        const vyre_vital_worker *busy = &sight->worker[i];
        uint32_t args[VYRE_SLOT_ARGS] = {busy->queue, (uint32_t)busy->ticket,
                                         (uint32_t)(busy->ticket >> 32)};
        uint32_t slot[VYRE_SLOT_WORDS];
        uint64_t ticket;
        vyre_system_slot(slot, DEV_SYS_CANCEL, args);
        pthread_mutex_lock(&runtime->system.lock);
        if (!vyre_runtime_stopped(runtime)) runtime->port->post(runtime, slot, &ticket);
        pthread_mutex_unlock(&runtime->system.lock);
    }
    /* Where all workers are busy nobody else looks at queue 0. */
    runtime->port->help(runtime);
    vyre_system_collect(runtime);
}

static void log_lines(vyre *runtime, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        vyre_log_line(&runtime->log, VYRE_LOG_WARNING, "%.*s", (int)length, text);
        text += length;
        text += *text == '\n';
    }
}

/* The first line of the report is why. */
static void restart(vyre *runtime, const char *text)
{
    char why[160];
    size_t length = strcspn(text, "\n");
    if (length >= sizeof why) length = sizeof why - 1;
    memcpy(why, text, length);
    why[length] = '\0';
    vyre_restart_request(runtime, why);
}

/* Says it and does what the policy wants. The callback is last: it may take its time. */
static void report(struct vyre_watchdog *watchdog, enum vyre_complaint complaint)
{
    vyre *runtime = watchdog->runtime;
    const struct vyre_sight *sight = &watchdog->sight;
    vyre_stall stall = {
        .size = sizeof stall,
        .policy = runtime->options.stall_policy,
        .idle_ns = sight->idle_ns,
        .beats = sight->beats,
        .workers = runtime->options.workers,
        .busy = sight->busy,
        .worker = sight->worker,
        .text = watchdog->text,
    };
    /* Another device would wait for the same input or output. */
    if (complaint == VYRE_COMPLAINT_OVERDUE && sight->busy == 0) stall.policy = VYRE_STALL_REPORT;
    vyre_stall_text(runtime, complaint, sight, watchdog->text, watchdog->bytes);
    __atomic_fetch_add(&runtime->stalls, 1, __ATOMIC_RELAXED);
    log_lines(runtime, watchdog->text);
    if (stall.policy == VYRE_STALL_CANCEL) cancel(runtime, sight);
    if (stall.policy == VYRE_STALL_RESTART) restart(runtime, watchdog->text);
    if (runtime->options.stall) runtime->options.stall(runtime->options.stall_ctx, &stall);
}

/* Leaves only the workers in the sight that are overdue and have not been reported. */
static void keep_overdue(struct vyre_watchdog *watchdog)
{
    struct vyre_sight *sight = &watchdog->sight;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sight->busy; i++) {
        uint64_t *told_ns = &watchdog->told_ns[sight->worker[i].worker];
        uint64_t limit_ns =
            vyre_clock_after(sight->deadline_ns[i], watchdog->runtime->options.stall_ns);
        if (sight->deadline_ns[i] == 0 || sight->now_ns <= limit_ns) continue;
        if (*told_ns == sight->since_ns[i]) continue;
        *told_ns = sight->since_ns[i];
        sight->worker[kept] = sight->worker[i];
        sight->since_ns[kept] = sight->since_ns[i];
        sight->deadline_ns[kept] = sight->deadline_ns[i];
        kept++;
    }
    sight->busy = kept;
}

/* Whether a slot waits for input or output that should have been given back long ago. */
static int io_overdue(const struct vyre_watchdog *watchdog)
{
    const struct vyre_sight *sight = &watchdog->sight;
    uint64_t patience_ns = watchdog->runtime->options.stall_ns;
    if (sight->io.waiting == 0 || sight->io.deadline_ns == 0) return 0;
    return sight->io.deadline_ns != watchdog->told_io_ns &&
           sight->now_ns > vyre_clock_after(sight->io.deadline_ns, patience_ns);
}

/* Of a host that has only just begun the first heartbeat is waited for longer. */
static uint64_t patience(const struct vyre_watchdog *watchdog)
{
    const struct vyre_hosted *hosted = watchdog->runtime->hosted;
    if (!hosted || !vyre_hosted_fresh(hosted) || watchdog->again_ns > HOSTED_FIRST_NS)
        return watchdog->again_ns;
    return HOSTED_FIRST_NS;
}

/*
 * One look. A stall is counted from the first look that found work and from the last heartbeat,
 * whichever is later: a device that slept for an hour is not stalled when a slot comes. After a
 * report the next one comes when it has been quiet for twice as long, or has been heard meanwhile.
 */
static void look(struct vyre_watchdog *watchdog)
{
    vyre *runtime = watchdog->runtime;
    struct vyre_sight *sight = &watchdog->sight;
    uint64_t now_ns = vyre_clock_ns();
    uint64_t beats = dev_load64_relaxed(&runtime->vitals->beats);
    /* Who was not let run himself has nothing to say about others. */
    int overslept = now_ns - watchdog->looked_ns > 3 * watchdog->period_ns;
    watchdog->looked_ns = sight->now_ns = now_ns;
    see_workers(watchdog);
    if (!vyre_io_oldest(runtime, &sight->io)) sight->io.waiting = 0;
    if (beats != sight->beats || overslept || !has_work(runtime, sight->busy)) {
        watchdog->quiet_ns = 0;
        watchdog->again_ns = runtime->options.stall_ns;
    } else if (watchdog->quiet_ns == 0) {
        watchdog->quiet_ns = now_ns;
    } else if (now_ns - watchdog->quiet_ns >= patience(watchdog)) {
        watchdog->again_ns = vyre_clock_after(watchdog->again_ns, watchdog->again_ns);
        /* A heartbeat may just have come: then it was quiet until then, at least. */
        uint64_t age_ns = vyre_vitals_age(runtime, now_ns), quiet_ns = now_ns - watchdog->quiet_ns;
        sight->idle_ns = beats != 0 && age_ns > quiet_ns ? age_ns : quiet_ns;
        report(watchdog, VYRE_COMPLAINT_STALLED);
        return;
    }
    sight->beats = beats;
    sight->idle_ns = vyre_vitals_age(runtime, now_ns);
    /* Of a device that is quiet all is said in one report. */
    int io = io_overdue(watchdog);
    if ((sight->overdue == 0 && !io) || watchdog->quiet_ns != 0) return;
    keep_overdue(watchdog);
    if (io)
        watchdog->told_io_ns = sight->io.deadline_ns;
    else
        sight->io.waiting = 0;
    report(watchdog, VYRE_COMPLAINT_OVERDUE);
}

/* Life.
 * ------------------------------------------------------------------------------------------- */

static void *watch(void *argument)
{
    struct vyre_watchdog *watchdog = argument;
    watchdog->looked_ns = vyre_clock_ns();
    while (!__atomic_load_n(&watchdog->stop, __ATOMIC_ACQUIRE)) {
        vyre_futex_wait(&watchdog->stop, 0, watchdog->period_ns);
        if (!__atomic_load_n(&watchdog->stop, __ATOMIC_ACQUIRE)) look(watchdog);
    }
    return NULL;
}

/* Everything in one piece: the watchdog, then what it keeps of each worker, then the text. */
static size_t bytes_of(const vyre *runtime)
{
    size_t worker = sizeof(vyre_vital_worker) + 3 * sizeof(uint64_t);
    return sizeof(struct vyre_watchdog) + runtime->options.workers * worker +
           vyre_stall_text_bytes(runtime);
}

static void lay_out(struct vyre_watchdog *watchdog, vyre *runtime)
{
    uint32_t workers = runtime->options.workers;
    uint64_t period_ns = runtime->options.stall_ns / LOOKS_PER_STALL;
    watchdog->runtime = runtime;
    if (period_ns < PERIOD_LEAST_NS) period_ns = PERIOD_LEAST_NS;
    if (period_ns > PERIOD_MOST_NS) period_ns = PERIOD_MOST_NS;
    watchdog->period_ns = period_ns;
    watchdog->again_ns = runtime->options.stall_ns;
    watchdog->sight.worker = (void *)(watchdog + 1);
    watchdog->sight.since_ns = (void *)(watchdog->sight.worker + workers);
    watchdog->sight.deadline_ns = watchdog->sight.since_ns + workers;
    watchdog->told_ns = watchdog->sight.deadline_ns + workers;
    watchdog->text = (void *)(watchdog->told_ns + workers);
    watchdog->bytes = vyre_stall_text_bytes(runtime);
}

vyre_status vyre_watchdog_start(vyre *runtime, vyre_error *err)
{
    sigset_t all, before;
    void *memory;
    if (runtime->options.stall_ns == 0) return VYRE_OK;
    vyre_status status =
        vyre_memory_alloc(&runtime->memory, 1, bytes_of(runtime), "watchdog", &memory, err);
    if (status) return status;
    struct vyre_watchdog *watchdog = memory;
    lay_out(watchdog, runtime);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&watchdog->thread, NULL, watch, watchdog);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        vyre_memory_free(&runtime->memory, memory, bytes_of(runtime));
        return vyre_fail_errno(err, failed, "starting the watchdog thread");
    }
    runtime->watchdog = watchdog;
    return VYRE_OK;
}

void vyre_watchdog_stop(vyre *runtime)
{
    struct vyre_watchdog *watchdog = runtime->watchdog;
    if (!watchdog) return;
    __atomic_store_n(&watchdog->stop, 1, __ATOMIC_RELEASE);
    vyre_futex_wake(&watchdog->stop, 1);
    pthread_join(watchdog->thread, NULL);
    vyre_memory_free(&runtime->memory, watchdog, bytes_of(runtime));
    runtime->watchdog = NULL;
}
