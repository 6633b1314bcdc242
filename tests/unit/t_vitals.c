/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The vitals page: where each word lies (as docs/vitals.md, the first argument, says), that a line
 * is never read in halves, and what vyre_vitals_read tells of a device that works, sleeps and has
 * stopped.
 */
#include "support.h"

#include "device/vitals.h"

enum { GATE = 100 };

/* The layout, against the document.
 * ------------------------------------------------------------------------------------------- */

struct field {
    const char *table, *name;
    size_t offset, bytes;
};

#define FIELD(table, type, name)                                                                   \
    {                                                                                              \
        table, #name, offsetof(struct type, name), sizeof(((struct type *)0)->name)                \
    }

static const struct field fields[] = {
    FIELD("page", dev_page, poller),
    FIELD("page", dev_page, sleepers),
    FIELD("page", dev_page, state),
    FIELD("vitals", dev_vitals, magic),
    FIELD("vitals", dev_vitals, version),
    FIELD("vitals", dev_vitals, bytes),
    FIELD("vitals", dev_vitals, workers),
    FIELD("vitals", dev_vitals, queues),
    FIELD("vitals", dev_vitals, beats),
    FIELD("vitals", dev_vitals, beat_ns),
    FIELD("worker", dev_vital_worker, since_ns),
    FIELD("worker", dev_vital_worker, busy),
    FIELD("worker", dev_vital_worker, version),
    FIELD("worker", dev_vital_worker, version1),
    FIELD("worker", dev_vital_worker, version2),
    FIELD("worker", dev_vital_worker, version3),
    FIELD("worker", dev_vital_worker, ticket),
    FIELD("worker", dev_vital_worker, queue),
    FIELD("worker", dev_vital_worker, tenant),
    FIELD("worker", dev_vital_worker, opcode),
    FIELD("worker", dev_vital_worker, deadline_ns),
    FIELD("queue", dev_vital_queue, taken),
    FIELD("queue", dev_vital_queue, completed),
    FIELD("queue", dev_vital_queue, open),
    FIELD("queue", dev_vital_queue, tenant),
    FIELD("queue", dev_vital_queue, inflight),
    FIELD("queue", dev_vital_queue, blocked),
};

/* Whether the document has a row `| offset | bytes | name |` of this field in its table. */
static bool documented(const char *text, const struct field *field)
{
    char head[64], row[128];
    snprintf(head, sizeof head, "\n### `%s`", field->table);
    snprintf(row, sizeof row, "\n| %zu | %zu | `%s` |", field->offset, field->bytes, field->name);
    const char *from = strstr(text, head);
    if (!from) return false;
    const char *to = strstr(from + 1, "\n##");
    const char *found = strstr(from, row);
    return found && (!to || found < to);
}

static void layout(const char *path)
{
    static char text[65536];
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) bail("cannot read the document: %s", path ? path : "give it as the first argument");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        ok(documented(text, &fields[i]), "%s.%s is documented", fields[i].table, fields[i].name);
    is_u64(dev_shared_workers_at(), 256, "workers from byte 256 on");
    is_u64(dev_shared_queues_at(3), 256 + 3 * 64, "64 bytes each");
    is_u64(dev_shared_bytes(3, 5), 256 + 3 * 64 + 5 * 32, "then queues of 32 bytes");
}

/* One line, one writer, one reader.
 * ------------------------------------------------------------------------------------------- */

struct hammer {
    struct dev_runtime rt;
    uint32_t version[2 * DEV_VITALS_OWN];
    struct {
        struct dev_vitals vitals;
        struct dev_vital_worker worker[2];
    } page;
    _Atomic uint32_t stop;
};

/* Every word of an entry follows from one number. */
static void fill_entry(struct dev_inflight *entry, uint64_t k)
{
    entry->ticket = k * 0x9E3779B97F4A7C15u;
    entry->claimed_ns = k ^ 0x123456789u;
    entry->deadline_ns = ~k;
    entry->queue = (uint32_t)k * 3;
    entry->slot[VYRE_SLOT_TENANT] = (uint32_t)k * 5;
    entry->slot[VYRE_SLOT_OPCODE] = (uint32_t)k * 7;
}

static bool whole(const struct dev_vital_worker *line)
{
    struct dev_inflight entry;
    fill_entry(&entry, ~line->deadline_ns);
    return line->ticket == entry.ticket && line->since_ns == entry.claimed_ns &&
           line->queue == entry.queue && line->tenant == entry.slot[VYRE_SLOT_TENANT] &&
           line->opcode == entry.slot[VYRE_SLOT_OPCODE];
}

static void *write_lines(void *argument)
{
    struct hammer *hammer = argument;
    struct dev_inflight entry;
    for (uint64_t k = 1; !atomic_load(&hammer->stop); k++) {
        fill_entry(&entry, k);
        dev_vitals_begin(&hammer->rt, 1, &entry);
        if (k % 3 == 0) dev_vitals_end(&hammer->rt, 1);
        if (k % 64 == 0) sched_yield(); /* the reader finds a line at rest now and then */
    }
    return NULL;
}

static void torn(void)
{
    static struct hammer hammer;
    struct dev_vital_worker line;
    uint32_t read = 0, wrong = 0, changed = 0;
    uint64_t last = 0;
    pthread_t thread;
    hammer.rt.vitals = &hammer.page.vitals;
    hammer.rt.worker_version = hammer.version;
    hammer.rt.workers = 2;
    if (pthread_create(&thread, NULL, write_lines, &hammer) != 0) bail("no thread");
    while (read < 300000 || changed < 2000) {
        if (!dev_vitals_read(&hammer.page.worker[1], &line) || line.version == 0) continue;
        wrong += !whole(&line);
        changed += line.ticket != last;
        if (read % 512 == 0) sched_yield(); /* where there is one core for both */
        last = line.ticket;
        read++;
    }
    atomic_store(&hammer.stop, 1);
    pthread_join(thread, NULL);
    is_u64(wrong, 0, "%u reads beside a writer, %u of them new, none in halves", read, changed);
    is_u64(hammer.page.worker[0].version, 0, "nobody wrote the other line");

    /* What a device leaves that is killed while it writes. */
    struct dev_vital_worker *left = &hammer.page.worker[1];
    uint32_t *const quarter[] = {&left->version, &left->version1, &left->version2, &left->version3};
    for (int i = 0; i < 4; i++) {
        *quarter[i] += 2;
        is_u64(dev_vitals_read(left, &line), 0, "a line without its quarter %d is given up", i);
        *quarter[i] -= 2;
    }
    is_u64(dev_vitals_read(left, &line), 1, "and read when it is whole again");
    left->version = left->version1 = left->version2 = left->version3 = left->version | 1;
    is_u64(dev_vitals_read(left, &line), 0, "a half-written line is given up");
}

/* Tests of single device functions have no page. */
static void without_a_page(void)
{
    struct dev_runtime rt = {0};
    struct dev_inflight entry = {0};
    struct dev_queue queue = {0};
    dev_vitals_begin(&rt, 0, &entry);
    dev_vitals_end(&rt, 0);
    dev_vitals_beat(&rt, DEV_VITALS_PERIOD_NS * 2);
    dev_vitals_pulse(&rt, 1);
    dev_vitals_count(&rt, &queue);
    dev_vitals_taken(&rt, &queue, 0);
    ok(!dev_vitals_stale(&rt), "a device without vitals has nothing to tell");
}

/* The public call.
 * ------------------------------------------------------------------------------------------- */

static vyre_vitals read_into(vyre *rt, vyre_vital_worker *worker, vyre_vital_queue *queue,
                             uint32_t room)
{
    vyre_vitals vitals = VYRE_VITALS_INIT;
    vyre_error err;
    vitals.worker = worker;
    vitals.queue = queue;
    vitals.worker_room = worker ? room : 0;
    vitals.queue_room = queue ? room : 0;
    must(vyre_vitals_read(rt, &vitals, &err), &err);
    return vitals;
}

static vyre_vitals read_heads(vyre *rt)
{
    return read_into(rt, NULL, NULL, 0);
}

/* Waits until the device sleeps; its last vitals. */
static vyre_vitals fall_asleep(vyre *rt)
{
    vyre_vitals vitals = read_heads(rt);
    for (uint64_t waited = 0; !vitals.asleep && waited < PATIENCE_NS; waited += 50000) {
        breathe();
        vitals = read_heads(rt);
    }
    if (!vitals.asleep) bail("the device never sleeps");
    return vitals;
}

static void refusals(vyre *rt)
{
    vyre_vitals vitals = VYRE_VITALS_INIT;
    vyre_error err;
    refused(vyre_vitals_read(NULL, &vitals, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_vitals_read(rt, NULL, &err), VYRE_E_NULL, &err, "no vitals");
    vitals.size = 8;
    refused(vyre_vitals_read(rt, &vitals, &err), VYRE_E_SIZE, &err, "an older struct");
    vitals.size = sizeof vitals;
    vitals.worker_room = 1;
    refused(vyre_vitals_read(rt, &vitals, &err), VYRE_E_NULL, &err, "room for workers nowhere");
    vitals.worker_room = 0;
    vitals.queue_room = 1;
    refused(vyre_vitals_read(rt, &vitals, &err), VYRE_E_NULL, &err, "room for queues nowhere");
    is_u64(vyre_queue_number(NULL), 0, "no queue has no number");
}

static void heartbeat(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_vitals before = fall_asleep(rt), now;
    uint64_t slots = 0;
    is_u64(before.version, DEV_VITALS_VERSION, "the version of the page");
    is_u64(before.workers, 2, "workers");
    is_u64(before.busy, 0, "none of them is busy");
    do {
        wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
        now = read_heads(rt);
    } while (now.beats < before.beats + 5 && ++slots < 100000000);
    ok(now.beats >= before.beats + 5, "the heart beats while slots come");
    /* A worker that is just falling asleep may look once more. */
    uint64_t waited = 0;
    do {
        before = fall_asleep(rt);
        usleep(20000);
        now = read_heads(rt);
        waited += 20000000;
    } while ((!now.asleep || now.beats != before.beats) && waited < PATIENCE_NS);
    ok(now.asleep && now.beats == before.beats, "and rests while none do");
    ok(now.age_ns >= 20000000 && now.age_ns < PATIENCE_NS, "the last beat grows old");
}

/* The words of a queue, which must be open. */
static vyre_vital_queue find_queue(vyre *rt, const vyre_queue *queue)
{
    vyre_vital_queue all[8];
    vyre_vitals vitals = read_into(rt, NULL, all, 8);
    for (uint32_t i = 0; i < vitals.queues && i < 8; i++)
        if (all[i].queue == vyre_queue_number(queue)) return all[i];
    bail("queue %u is not among the %u open ones", vyre_queue_number(queue), vitals.queues);
}

/* The words of a queue when the device sleeps. A worker that ended a slot as the last poller went
 * to sleep tells of it a moment later; if it never does, that is what comes back. */
static vyre_vital_queue settled(vyre *rt, const vyre_queue *queue)
{
    vyre_vital_queue vital;
    uint64_t waited = 0;
    do {
        if (waited != 0) breathe();
        fall_asleep(rt);
        vital = find_queue(rt, queue);
        waited += 50000;
    } while ((vital.completed != vital.submitted || vital.inflight != 0 || vital.blocked != 0) &&
             waited < PATIENCE_NS / 10);
    return vital;
}

static bool fenced(const vyre_vital_queue *vital)
{
    return vital->taken == 3 && vital->completed == 1 && vital->inflight == 2 &&
           vital->blocked == 1;
}

/* A worker at a native operation, a fence behind it, a slot behind that. */
static void at_work(vyre *rt, uint64_t first_ticket)
{
    struct gate gate = {0};
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_vital_worker worker[2];
    vyre_error err;
    options.tenant = 3;
    options.first_ticket = first_ticket;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    vyre_operation *operation = register_op(rt, GATE, gate_run, &gate);
    wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
    uint64_t ticket = hold_worker(queue, GATE, &gate);
    vyre_vitals vitals = read_into(rt, worker, NULL, 2);
    is_u64(vitals.busy, 1, "one worker is busy");
    ok(!vitals.asleep, "so the device is not asleep");
    ok(worker[0].worker < 2 && worker[0].ticket == ticket && worker[0].opcode == GATE &&
           worker[0].tenant == 3 && worker[0].queue == vyre_queue_number(queue),
       "at which slot of which queue, tenant and opcode");
    uint64_t busy_ns = worker[0].busy_ns;
    usleep(2000);
    read_into(rt, worker, NULL, 2);
    ok(worker[0].busy_ns >= busy_ns + 2000000, "since when");
    must(vyre_prep_fence(next_slot(queue), 0, 1, &err), &err);
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    submit(queue);
    vyre_vital_queue vital = find_queue(rt, queue);
    for (uint64_t waited = 0; !fenced(&vital) && waited < PATIENCE_NS; waited += 50000) {
        breathe(); /* it may have words of two heartbeats */
        vital = find_queue(rt, queue);
    }
    ok(fenced(&vital) && vital.submitted == 4 && vital.tenant == 3,
       "the queue: 4 submitted, one ended, the operation and the fence in flight, one behind it");
    atomic_store(&gate.open, 1);
    wait_for(queue, ticket + 2);
    vital = settled(rt, queue);
    ok(vital.submitted == 4 && vital.taken == 4 && vital.completed == 4 && vital.inflight == 0 &&
           vital.blocked == 0,
       "asleep, it has told of all ends");
    uint32_t queues = read_heads(rt).queues;
    vyre_queue_close(queue);
    is_u64(read_heads(rt).queues, queues - 1, "a closed queue is not listed");
    must(vyre_operation_unregister(operation, &err), &err);
}

/* However the workers fall asleep, the counts that stay are true. */
static void counts_settle(vyre *rt)
{
    struct gate gate = {.open = 1};
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_operation *operation = register_op(rt, GATE, gate_run, &gate);
    vyre_error err;
    uint32_t wrong = 0;
    for (int round = 0; round < 300; round++) {
        vyre_completion end;
        for (int i = 0; i < 1 + round % 5; i++)
            must(vyre_prep_op(next_slot(queue), GATE, NULL, 0, &err), &err);
        uint64_t first = submit(queue);
        for (int i = 0; i < 1 + round % 5; i++)
            must(vyre_wait(queue, first + (uint64_t)i, PATIENCE_NS, &end, &err), &err);
        vyre_vital_queue vital = settled(rt, queue);
        wrong += vital.inflight != 0 || vital.completed != vital.submitted ||
                 vital.taken != vital.submitted;
    }
    is_u64(wrong, 0, "300 times asleep, each time with true counts");
    must(vyre_operation_unregister(operation, &err), &err);
}

/* Room for fewer than there are; a stopped device can still be read. */
static void room_and_stop(vyre *rt)
{
    vyre_vital_queue one[2] = {{0}, {0}};
    vyre_queue *more = open_queue(rt, 16, 1);
    vyre_error err;
    vyre_vitals vitals = read_into(rt, NULL, one, 1);
    ok(vitals.queues == 2 && one[0].queue != 0 && one[1].queue == 0,
       "what finds no room is counted");
    uint64_t beats = vitals.beats;
    must(vyre_stop(rt, &err), &err);
    vitals = read_heads(rt);
    ok(vitals.busy == 0 && vitals.beats >= beats, "a stopped device has vitals");
    vyre_queue_close(more);
}

int main(int argc, char **argv)
{
    layout(argc > 1 ? argv[1] : NULL);
    torn();
    without_a_page();
    vyre *rt = open_cpu(2);
    refusals(rt);
    heartbeat(rt);
    at_work(rt, 0);
    at_work(rt, UINT64_MAX - 1);
    counts_settle(rt);
    room_and_stop(rt);
    vyre_close(rt);
    return done();
}
