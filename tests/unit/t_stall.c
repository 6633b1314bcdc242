/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The watchdog: what it calls a stall and what not, what its report says, and what each policy
 * does. Nothing is decided by how long something takes: tests wait for reports that must come, and
 * of those that came check that they were due.
 */
#include "support.h"

enum { GATE = 100, PATIENT = 101, REPORTS = 16 };

#define STALL_NS 20000000ull

/* What the callback was told. Written by the watchdog alone; `count` is last. */
struct ear {
    _Atomic uint32_t count;
    _Atomic uint32_t lines; /* of warnings in the log */
    struct {
        vyre_stall stall;
        vyre_vital_worker worker[4];
        char text[2048];
        char log[2048]; /* the lines before it */
    } report[REPORTS];
};

static void hear(void *ctx, const vyre_stall *stall)
{
    struct ear *ear = ctx;
    uint32_t n = atomic_load(&ear->count);
    if (n < REPORTS) {
        ear->report[n].stall = *stall;
        for (uint32_t i = 0; i < stall->busy && i < 4; i++)
            ear->report[n].worker[i] = stall->worker[i];
        snprintf(ear->report[n].text, sizeof ear->report[n].text, "%s", stall->text);
    }
    atomic_store(&ear->count, n + 1);
}

static void hear_line(void *ctx, enum vyre_log_level level, const char *line)
{
    struct ear *ear = ctx;
    if (level != VYRE_LOG_WARNING || strchr(line, '\n')) return;
    uint32_t n = atomic_load(&ear->count);
    if (n < REPORTS) {
        char *log = ear->report[n].log;
        size_t used = strlen(log);
        snprintf(log + used, sizeof ear->report[n].log - used, "%s%s", used ? "\n" : "", line);
    }
    atomic_fetch_add(&ear->lines, 1);
}

static vyre *open_watched(uint32_t workers, uint32_t policy, struct ear *ear)
{
    vyre_options options = cpu_options(workers);
    options.stall_ns = STALL_NS;
    options.stall_policy = policy;
    options.stall = hear;
    options.stall_ctx = ear;
    options.log = hear_line;
    options.log_ctx = ear;
    return open_with(&options);
}

static struct ear *new_ear(void)
{
    struct ear *ear = calloc(1, sizeof *ear);
    if (!ear) bail("out of memory");
    return ear;
}

static uint32_t reported(vyre *rt)
{
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &description, &err), &err);
    return description.stalls;
}

/* Fails where the text lacks a part. */
static void says(const struct ear *ear, uint32_t report, const char *part)
{
    const char *text = ear->report[report].text;
    const char *line = part + strspn(part, "\n");
    bool said = strstr(text, part) != NULL;
    ok(said, "report %u says \"%.*s\"", report, (int)strcspn(line, "\n"), line);
    if (!said) note("looked for \"%s\" in \"%s\"", part, text);
}

/* Waits until a report has this part; its number, or REPORTS. */
static uint32_t await_report(struct ear *ear, const char *part)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        uint32_t count = atomic_load(&ear->count);
        for (uint32_t i = 0; i < count && i < REPORTS; i++)
            if (strstr(ear->report[i].text, part)) return i;
        breathe();
    }
    return REPORTS;
}

static uint32_t patient_run(vyre_call *call)
{
    struct gate *gate = call->ctx;
    atomic_fetch_add(&gate->entered, 1);
    while (!vyre_call_cancelled(call))
        breathe();
    return 7;
}

/* A thread only where it was asked for, and it goes with the runtime. */
static void threads(void)
{
    struct ear *ear = new_ear();
    vyre *rt = open_cpu(1);
    uint32_t without = count_threads();
    vyre_close(rt);
    settle_threads(without - 1);
    rt = open_watched(1, VYRE_STALL_REPORT, ear);
    is_u64(count_threads(), without + 1, "a watchdog is one thread more");
    vyre_close(rt);
    is_u64(settle_threads(without - 1), without - 1, "which ends with the runtime");
    free(ear);
}

static vyre_vitals read_vitals(vyre *rt)
{
    vyre_vitals vitals = VYRE_VITALS_INIT;
    vyre_error err;
    must(vyre_vitals_read(rt, &vitals, &err), &err);
    return vitals;
}

/* Waits until the device has slept for five times STALL_NS: its vitals at the beginning of that. */
static vyre_vitals sleep_long(vyre *rt)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        vyre_vitals before = read_vitals(rt);
        breathe();
        if (!before.asleep) continue;
        usleep(5 * STALL_NS / 1000);
        waited += 5 * STALL_NS;
        vyre_vitals now = read_vitals(rt);
        if (now.asleep && now.beats == before.beats) return before;
    }
    bail("the device never sleeps");
}

/* An idle device has no heartbeat, a loaded one has: neither is stalled. A report from before it
 * slept may have been due: its workers were not let run. */
static void no_stall(void)
{
    struct ear *ear = new_ear();
    vyre *rt = open_watched(2, VYRE_STALL_REPORT, ear);
    vyre_queue *queue = vyre_queue_default(rt);
    wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
    vyre_vitals before = sleep_long(rt), now;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < atomic_load(&ear->count) && i < REPORTS; i++)
        wrong += ear->report[i].stall.beats == before.beats &&
                 ear->report[i].stall.idle_ns > before.age_ns;
    is_u64(wrong, 0, "a device that sleeps is not stalled");
    wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
    before = read_vitals(rt);
    do {
        wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
        now = read_vitals(rt);
    } while (now.beats < before.beats + 100);
    for (uint32_t i = 0; i < atomic_load(&ear->count) && i < REPORTS; i++)
        ok(ear->report[i].stall.idle_ns >= STALL_NS, "a report was due: %s", ear->report[i].text);
    note("%u reports while slots came", atomic_load(&ear->count));
    vyre_close(rt);
    free(ear);
}

/* A worker inside an operation that does not end. */
static void stuck(uint32_t workers)
{
    struct ear *ear = new_ear();
    struct gate gate = {0};
    char part[160], slot[96];
    vyre *rt = open_watched(workers, VYRE_STALL_REPORT, ear);
    vyre_queue *queue = open_queue(rt, 16, 3);
    vyre_queue *other = vyre_queue_default(rt);
    vyre_error err;
    register_op(rt, GATE, gate_run, &gate);
    wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
    uint64_t ticket = hold_worker(queue, GATE, &gate);
    for (int i = 0; i < 3 && workers == 1; i++)
        must(vyre_prep_nop(next_slot(other), &err), &err);
    submit(other);
    /* There may be reports from before all of that was so. */
    snprintf(slot, sizeof slot, ": ticket %llu of queue %u, tenant 3, ", (unsigned long long)ticket,
             vyre_queue_number(queue));
    snprintf(part, sizeof part, "\nqueue %u: tenant 0, 3 of 3 slots submitted are not taken",
             vyre_queue_number(other));
    uint32_t at = await_report(ear, workers == 1 ? part : slot);
    if (at == REPORTS || !reaches(&ear->count, at + 2)) bail("no report came");
    atomic_store(&gate.open, 1);
    wait_for(queue, ticket);
    const vyre_stall *stall = &ear->report[at].stall;
    ok(stall->size == sizeof *stall && stall->policy == VYRE_STALL_REPORT &&
           stall->workers == workers && stall->busy == 1,
       "%u workers: one is busy", workers);
    const vyre_vital_worker *worker = &ear->report[at].worker[0];
    ok(worker->ticket == ticket && worker->queue == vyre_queue_number(queue) &&
           worker->tenant == 3 && worker->opcode == GATE,
       "with which slot");
    ok(stall->idle_ns >= STALL_NS && worker->busy_ns >= STALL_NS, "for long enough");
    if (workers == 1) says(ear, at, part);
    snprintf(part, sizeof part, "); 1 of %u workers busy\nworker %u%s", workers, worker->worker,
             slot);
    says(ear, at, "stalled: no heartbeat for ");
    says(ear, at, part);
    says(ear, at, "opcode 0x64 (native), for ");
    is_str(ear->report[at].log, ear->report[at].text, "the log has the same lines");
    uint32_t count = atomic_load(&ear->count), early = 0;
    for (uint32_t i = 0; i < count && i < REPORTS; i++) {
        stall = &ear->report[i].stall;
        bool same = i > 0 && ear->report[i - 1].stall.beats == stall->beats;
        early += stall->idle_ns < (same ? 2 * STALL_NS : STALL_NS);
    }
    is_u64(early, 0, "of %u reports the next of one stall came after twice the time", count);

    /* After a heartbeat it is a stall of its own. */
    atomic_store(&gate.open, 0);
    ticket = hold_worker(queue, GATE, &gate);
    snprintf(slot, sizeof slot, ": ticket %llu of queue %u, tenant 3, ", (unsigned long long)ticket,
             vyre_queue_number(queue));
    uint32_t next = await_report(ear, slot);
    if (next == REPORTS) bail("no report came");
    atomic_store(&gate.open, 1);
    wait_for(queue, ticket);
    ok(ear->report[next].stall.beats > ear->report[at].stall.beats, "the next stall is another");
    ok(reported(rt) >= next + 1, "all of them are counted");
    vyre_close(rt);
    free(ear);
}

/* Operations that look end, though nobody is left to look at queue 0. */
static void cancelled(uint32_t workers)
{
    struct ear *ear = new_ear();
    struct gate gate = {0};
    uint64_t ticket[2];
    vyre *rt = open_watched(workers, VYRE_STALL_CANCEL, ear);
    vyre_queue *queue = vyre_queue_default(rt);
    register_op(rt, PATIENT, patient_run, &gate);
    for (uint32_t i = 0; i < workers; i++)
        ticket[i] = submit_op(queue, PATIENT, NULL, 0);
    for (uint32_t i = 0; i < workers; i++) {
        vyre_completion end = wait_for(queue, ticket[i]);
        /* CANCELLED: its worker was not let run for so long that it had not begun. */
        ok((end.fault == VYRE_FAULT_OPERATION && end.pc == 7) || end.outcome == VYRE_CANCELLED,
           "%u workers: it was told to end", workers);
    }
    if (!reaches(&ear->count, 1)) bail("no report came");
    is_u64(ear->report[0].stall.policy, VYRE_STALL_CANCEL, "the report says what is being done");
    is_u64(wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome, VYRE_DONE,
           "the device goes on");
    vyre_close(rt);
    free(ear);
}

/* Submits runs of the gate with a deadline until a worker is inside one: on a busy machine the
 * deadline may come first, and then the slot ends without a run. */
static uint64_t hold_late(vyre_queue *queue, struct gate *gate)
{
    for (uint64_t deadline_ns = 100000000; deadline_ns < PATIENCE_NS; deadline_ns *= 2) {
        vyre_completion end;
        vyre_error err;
        vyre_slot *slot = next_slot(queue);
        must(vyre_prep_op(slot, GATE, NULL, 0, &err), &err);
        must(vyre_slot_deadline(queue, slot, deadline_ns, &err), &err);
        uint64_t ticket = submit(queue);
        do {
            if (atomic_load(&gate->entered) != 0) return ticket;
        } while (vyre_wait(queue, ticket, 50000, &end, &err) == VYRE_E_TIMEOUT);
    }
    bail("the slot was never run");
}

/* The device is alive, one slot has passed its deadline and does not look. */
static void overdue(void)
{
    struct ear *ear = new_ear();
    struct gate gate = {0};
    vyre *rt = open_watched(2, VYRE_STALL_REPORT, ear);
    vyre_queue *queue = open_queue(rt, 16, 1);
    vyre_queue *other = vyre_queue_default(rt);
    register_op(rt, GATE, gate_run, &gate);
    uint64_t ticket = hold_late(queue, &gate);
    uint32_t at = REPORTS;
    for (uint64_t slots = 0; at == REPORTS && slots < 1000000000; slots++) {
        uint32_t count = atomic_load(&ear->count);
        for (uint32_t i = 0; i < count && i < REPORTS; i++)
            if (strncmp(ear->report[i].text, "overdue: ", 9) == 0 &&
                ear->report[i].worker[0].ticket == ticket)
                at = i;
        wait_for(other, submit_op(other, VYRE_OP_NOP, NULL, 0));
    }
    if (at == REPORTS) bail("no report came");
    usleep(3 * STALL_NS / 1000);
    uint32_t again = 0;
    for (uint32_t i = at + 1; i < atomic_load(&ear->count) && i < REPORTS; i++)
        again += strncmp(ear->report[i].text, "overdue: ", 9) == 0;
    atomic_store(&gate.open, 1);
    ok(wait_for(queue, ticket).outcome == VYRE_DONE, "what it returns decides how it ends");
    is_u64(again, 0, "one report of a slot");
    is_u64(ear->report[at].stall.busy, 1, "with the one worker");
    ok(ear->report[at].worker[0].ticket == ticket &&
           ear->report[at].worker[0].queue == vyre_queue_number(queue) &&
           ear->report[at].worker[0].busy_ns >= STALL_NS,
       "that is at it");
    says(ear, at,
         "overdue: 1 of 2 workers at a slot that is past its deadline by more than 20 ms\n");
    says(ear, at, " past its deadline");
    vyre_close(rt);
    free(ear);
}

static void *stop_it(void *rt)
{
    return (void *)(uintptr_t)(vyre_stop(rt, NULL) == VYRE_OK);
}

/* Told to stop, and does not. */
static void deaf(void)
{
    struct ear *ear = new_ear();
    struct gate gate = {0};
    vyre *rt = open_watched(2, VYRE_STALL_CANCEL, ear);
    vyre_queue *queue = vyre_queue_default(rt);
    pthread_t thread;
    void *stopped = NULL;
    register_op(rt, GATE, gate_run, &gate);
    hold_worker(queue, GATE, &gate);
    if (pthread_create(&thread, NULL, stop_it, rt) != 0) bail("no thread");
    ok(await_report(ear, "; it was told to stop\nworker ") != REPORTS,
       "a stop that does not end is reported with who holds it up");
    atomic_store(&gate.open, 1);
    pthread_join(thread, &stopped);
    ok(stopped != NULL, "it ends when the operation does");
    vyre_close(rt);
    free(ear);
}

int main(void)
{
    threads();
    no_stall();
    stuck(1);
    stuck(4);
    cancelled(1);
    cancelled(2);
    overdue();
    deaf();
    return done();
}
