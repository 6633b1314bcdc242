/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The order in which waiting slots run: by priority, in turns between queues of one priority, and
 * by age where nothing else would let them run.
 */
#include "support.h"

enum { GATE = 100, MARK = 101, STREAM = 102 };

/* Who ran, in order. One worker runs, so no two at once. */
struct diary {
    uint32_t count;
    uint32_t entry[4096];
};

static uint32_t mark_run(vyre_call *call)
{
    struct diary *diary = call->ctx;
    if (diary->count < 4096) diary->entry[diary->count++] = call->args[0];
    return 0;
}

static void prepare_mark(vyre_queue *queue, uint32_t priority, uint32_t number)
{
    vyre_error err;
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_op(slot, MARK, &number, 1, &err), &err);
    must(vyre_slot_priority(slot, priority, &err), &err);
}

/* One worker, and ageing so slow that it plays no part. */
static vyre *open_one(struct gate *gate, struct diary *diary, uint64_t ageing_ns)
{
    vyre_options options = cpu_options(1);
    options.ageing_ns = ageing_ns;
    vyre *rt = open_with(&options);
    register_op(rt, GATE, gate_run, gate);
    register_op(rt, MARK, mark_run, diary);
    return rt;
}

static void by_priority(uint64_t state)
{
    static struct diary diary;
    struct gate gate = {0};
    vyre *rt = open_one(&gate, &diary, PATIENCE_NS);
    enum { QUEUES = 3, EACH = 30 }; /* what one look at the doorbells takes */
    vyre_queue *queues[QUEUES];
    uint32_t next[QUEUES][VYRE_PRIORITIES] = {{0}}, given[QUEUES][VYRE_PRIORITIES] = {{0}};
    uint32_t disorder = 0;
    for (uint32_t q = 0; q < QUEUES; q++)
        queues[q] = open_queue(rt, 32, q);
    hold_worker(vyre_queue_default(rt), GATE, &gate);
    for (uint32_t i = 0; i < QUEUES * EACH; i++) {
        uint32_t p = random_below(&state, VYRE_PRIORITIES), q = i % QUEUES;
        prepare_mark(queues[q], p, p * 10000 + q * 1000 + given[q][p]++);
        if (random_below(&state, 5) == 0) submit(queues[q]);
    }
    for (uint32_t q = 0; q < QUEUES; q++)
        submit(queues[q]);
    atomic_store(&gate.open, 1);
    for (uint32_t i = 0; i < QUEUES * EACH; i++)
        wait_for(queues[i % QUEUES], i / QUEUES);
    is_u64(diary.count, QUEUES * EACH, "all ran");
    for (uint32_t i = 0; i < diary.count; i++) {
        uint32_t p = diary.entry[i] / 10000, q = diary.entry[i] / 1000 % 10;
        disorder += diary.entry[i] % 1000 != next[q][p]++;
        disorder += i > 0 && p < diary.entry[i - 1] / 10000;
    }
    is_u64(disorder, 0, "critical first, idle last, in order within each queue");
    vyre_close(rt);
}

/* A small operation waits behind more urgent work too. */
static void small_ones_wait(void)
{
    static struct diary diary;
    struct gate gate = {0};
    vyre *rt = open_one(&gate, &diary, PATIENCE_NS);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_completion ends[8];
    vyre_error err;
    size_t count = 0;
    uint64_t held = hold_worker(queue, GATE, &gate);
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_nop(slot, &err), &err);
    must(vyre_slot_priority(slot, VYRE_PRIORITY_IDLE, &err), &err);
    for (uint32_t i = 0; i < 3; i++)
        prepare_mark(queue, VYRE_PRIORITY_LOW, i);
    uint64_t first = submit(queue);
    atomic_store(&gate.open, 1);
    must(vyre_queue_reap_wait(queue, ends, 5, 8, PATIENCE_NS, &count, &err), &err);
    ok(count == 5 && ends[0].ticket == held && ends[4].ticket == first,
       "an idle NOP in front of low operations ends after them");
    vyre_close(rt);
}

static void round_robin(void)
{
    static struct diary diary;
    struct gate gate = {0};
    vyre *rt = open_one(&gate, &diary, PATIENCE_NS);
    vyre_queue *queues[3];
    for (uint32_t q = 0; q < 3; q++)
        queues[q] = open_queue(rt, 64, q);
    hold_worker(vyre_queue_default(rt), GATE, &gate);
    /* Queue 0 has 40 waiting before the others have any. */
    static const uint32_t lengths[3] = {40, 10, 20};
    for (uint32_t q = 0; q < 3; q++) {
        for (uint32_t i = 0; i < lengths[q]; i++)
            prepare_mark(queues[q], VYRE_PRIORITY_NORMAL, q * 1000 + i);
        submit(queues[q]);
    }
    atomic_store(&gate.open, 1);
    for (uint32_t q = 0; q < 3; q++)
        for (uint32_t i = 0; i < lengths[q]; i++)
            wait_for(queues[q], i);
    uint32_t ran[3] = {0}, disorder = 0, lead = 0, all_waiting = 0;
    for (uint32_t i = 0; i < diary.count; i++) {
        uint32_t q = diary.entry[i] / 1000;
        disorder += diary.entry[i] % 1000 != ran[q]++;
        if (ran[1] >= lengths[1] || ran[2] >= lengths[2]) continue;
        all_waiting++;
        for (uint32_t k = 0; k < 3; k++)
            if (ran[q] > ran[k] + lead) lead = ran[q] - ran[k];
    }
    is_u64(disorder, 0, "each queue's slots run in their order");
    ok(all_waiting >= 20 && lead <= 2, "while all three wait none gets ahead by more than 2 (%u)",
       lead);
    vyre_close(rt);
}

struct stream {
    vyre_queue *queue;
    _Atomic uint32_t stop, sent;
};

/* Submits n urgent slots at once: from the first that runs on, the queue is the worker's. */
static bool send_urgent(struct stream *stream, int n)
{
    for (int i = 0; i < n; i++) {
        vyre_slot *slot = vyre_queue_slot(stream->queue);
        atomic_fetch_add(&stream->sent, 1);
        if (!slot || vyre_prep_op(slot, STREAM, NULL, 0, NULL) != VYRE_OK ||
            vyre_slot_priority(slot, VYRE_PRIORITY_HIGH, NULL) != VYRE_OK)
            return false;
    }
    return vyre_queue_submit(stream->queue, NULL, NULL) == VYRE_OK;
}

/* Each urgent slot submits the next one, so that some are waiting whenever one ends. There is one
 * worker, and it alone uses the queue. */
static uint32_t stream_run(vyre_call *call)
{
    struct stream *stream = call->ctx;
    vyre_completion ends[8];
    size_t count;
    if (atomic_load(&stream->stop)) return 0;
    if (vyre_queue_reap(stream->queue, ends, 8, &count, NULL) != VYRE_OK) return 1;
    return send_urgent(stream, 1) ? 0 : 2;
}

/* A slot of each lower priority ends, while the stream above it never does. */
static void ageing(void)
{
    static struct diary diary;
    struct gate gate = {.open = 1};
    vyre *rt = open_one(&gate, &diary, 1000000);
    struct stream stream = {.queue = open_queue(rt, 16, 0)};
    vyre_queue *queue = open_queue(rt, 8, 0);
    register_op(rt, STREAM, stream_run, &stream);
    if (!send_urgent(&stream, 4)) bail("the stream cannot begin");
    for (uint32_t p = VYRE_PRIORITY_NORMAL; p <= VYRE_PRIORITY_IDLE; p++) {
        prepare_mark(queue, p, p);
        vyre_error err;
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        uint64_t first = submit(queue);
        ok(wait_for(queue, first).outcome == VYRE_DONE &&
               wait_for(queue, first + 1).outcome == VYRE_DONE,
           "priority %u runs though urgent slots never end", p);
    }
    uint32_t sent = atomic_load(&stream.sent);
    note("%u urgent slots meanwhile", sent);
    ok(reaches(&stream.sent, sent + 100), "the stream goes on");
    atomic_store(&stream.stop, 1);
    vyre_queue_close(stream.queue);
    is_u64(diary.count, 3, "each ran once");
    vyre_close(rt);
}

static void bad_priority(void)
{
    vyre *rt = open_cpu(1);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    static const uint32_t bad[] = {5, 31, 32, 255, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vyre_slot *slot = next_slot(queue);
        must(vyre_prep_atomic_add(slot, WORD(0), 1, &err), &err);
        slot->word[VYRE_SLOT_PRIORITY] = bad[i];
        vyre_completion end = wait_for(queue, submit(queue));
        ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_BAD_PRIORITY, "priority 0x%x",
           bad[i]);
    }
    is_u64(observable(rt, 0, 0), 0, "none of them ran");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    by_priority(seed);
    small_ones_wait();
    round_robin();
    ageing();
    bad_priority();
    return done();
}
