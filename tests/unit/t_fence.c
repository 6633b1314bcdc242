/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fences: everything before one has ended before anything after it starts, on several workers,
 * while other queues go their own way; and the epoch counts them.
 */
#include "support.h"

enum { SPAN = 100, GATE = 101, SLOTS = 256, ROUNDS = 15 };

/* When each slot began and ended, on a clock that only counts. */
struct timeline {
    _Atomic uint32_t now;
    uint32_t begin[SLOTS], end[SLOTS];
};

/* Arguments: its place in the timeline, and how long to dawdle. */
static uint32_t span_run(vyre_call *call)
{
    struct timeline *line = call->ctx;
    line->begin[call->args[0]] = 1 + atomic_fetch_add(&line->now, 1);
    for (uint32_t i = 0; i < call->args[1]; i++)
        sched_yield();
    line->end[call->args[0]] = 1 + atomic_fetch_add(&line->now, 1);
    return 0;
}

static vyre *open_spans(uint32_t workers, struct timeline *line)
{
    vyre *rt = open_cpu(workers);
    register_op(rt, SPAN, span_run, line);
    return rt;
}

/* A fence among spans: a plain one, one inside a packed slot, one with another priority. */
static bool prepare_fence(vyre_queue *queue, uint64_t *state)
{
    vyre_error err;
    vyre_slot *slot = next_slot(queue);
    uint32_t kind = random_below(state, 3);
    uint32_t tag[2] = {0, 9};
    vyre_packed_op ops[2] = {{VYRE_OP_NOP, 0, NULL}, {VYRE_OP_BATCH_FENCE, 2, tag}};
    if (kind == 0) must(vyre_prep_packed(slot, ops, 2, &err), &err);
    if (kind != 0) must(vyre_prep_fence(slot, 0, 9, &err), &err);
    if (kind == 2) must(vyre_slot_priority(slot, random_below(state, 5), &err), &err);
    return true;
}

/* Which spans overlap a fence between them? */
static uint32_t overlaps(const struct timeline *line, const bool *fence, uint32_t count)
{
    uint32_t wrong = 0, latest_end = 0, earlier_end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (fence[i]) {
            earlier_end = latest_end;
            continue;
        }
        wrong += line->begin[i] == 0 || line->begin[i] < earlier_end;
        if (line->end[i] > latest_end) latest_end = line->end[i];
    }
    return wrong;
}

static void random_fences(uint64_t state)
{
    static struct timeline line;
    uint32_t wrong = 0, disorder = 0, fences = 0;
    vyre *rt = open_spans(3, &line);
    vyre_queue *queue = open_queue(rt, SLOTS, 0);
    vyre_error err;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool fence[SLOTS] = {false};
        uint64_t passed[SLOTS] = {0};
        memset(line.begin, 0, sizeof line.begin);
        for (uint32_t i = 0; i < SLOTS; i++) {
            uint32_t args[2] = {i, random_below(&state, 4)};
            fence[i] = random_below(&state, 8) == 0 && prepare_fence(queue, &state);
            fences += fence[i];
            if (fence[i]) continue;
            vyre_slot *slot = next_slot(queue);
            must(vyre_prep_op(slot, SPAN, args, 2, &err), &err);
            must(vyre_slot_priority(slot, random_below(&state, 5), &err), &err);
            if (random_below(&state, 20) == 0) submit(queue);
        }
        submit(queue);
        /* The order of completions: each fence stands between what it divides. */
        for (uint32_t i = 0; i < SLOTS; i++) {
            vyre_completion end;
            size_t count;
            must(vyre_queue_reap_wait(queue, &end, 1, 1, PATIENCE_NS, &count, &err), &err);
            passed[end.ticket % SLOTS] = i;
        }
        uint64_t floor = 0, ceiling = 0;
        for (uint32_t i = 0; i < SLOTS; i++) {
            disorder += passed[i] < floor || (fence[i] && passed[i] < ceiling);
            if (passed[i] > ceiling) ceiling = passed[i];
            if (fence[i]) floor = passed[i];
        }
        wrong += overlaps(&line, fence, SLOTS);
    }
    is_u64(wrong, 0, "no slot started before all in front of its %u fences had ended", fences);
    is_u64(disorder, 0, "completions say the same");
    uint32_t image[VYRE_CONTROL_WORDS + 256], epoch = 0;
    size_t needed;
    must(vyre_image_control(rt, 0, image, sizeof image, &needed, &err), &err);
    must(vyre_wire_epoch_read(image, sizeof image, &epoch, &err), &err);
    is_u64(epoch, fences, "the epoch counts them");
    vyre_close(rt);
}

/* A queue that waits at its fence holds up nobody else. */
static void queues_apart(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(2);
    vyre_queue *fenced = open_queue(rt, 16, 0), *other = open_queue(rt, 16, 0);
    vyre_error err;
    register_op(rt, GATE, gate_run, &gate);
    uint64_t held = hold_worker(fenced, GATE, &gate);
    must(vyre_prep_fence(next_slot(fenced), 1, 77, &err), &err);
    must(vyre_prep_store_u32(next_slot(fenced), WORD(3), 5, &err), &err);
    uint64_t fence = submit(fenced);
    for (int i = 0; i < 40; i++) {
        must(vyre_prep_fence(next_slot(other), 0, 0, &err), &err);
        must(vyre_prep_atomic_add(next_slot(other), WORD(2), 1, &err), &err);
        uint64_t first = submit(other);
        wait_for(other, first);
        wait_for(other, first + 1);
    }
    is_u64(observable(rt, 0, 2), 40, "another queue's slots and fences run");
    vyre_completion end;
    refused(vyre_wait(fenced, fence, 0, &end, &err), VYRE_E_TIMEOUT, &err, "the fence waits");
    refused(vyre_wait(fenced, fence + 1, 0, &end, &err), VYRE_E_TIMEOUT, &err, "what follows too");
    is_u64(observable(rt, 0, 3), 0, "which had no effect yet");
    atomic_store(&gate.open, 1);
    end = wait_for(fenced, fence);
    ok(end.outcome == VYRE_DONE && end.opcode == VYRE_OP_BATCH_FENCE, "the fence ends");
    wait_for(fenced, fence + 1);
    is_u64(observable(rt, 0, 0), 77, "its tag is in the first observable word");
    is_u64(observable(rt, 0, 3), 5, "what follows ran");
    wait_for(fenced, held);
    vyre_close(rt);
}

/* Nothing but fences, on one worker and on several. */
static void only_fences(uint32_t workers)
{
    vyre *rt = open_cpu(workers);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    uint32_t wrong = 0;
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 256; i++)
            must(vyre_prep_fence(next_slot(queue), 0, i, &err), &err);
        uint64_t first = submit(queue);
        for (uint32_t i = 0; i < 256; i++) {
            vyre_completion end;
            size_t count;
            must(vyre_queue_reap_wait(queue, &end, 1, 1, PATIENCE_NS, &count, &err), &err);
            wrong += end.ticket != first + i || end.outcome != VYRE_DONE;
        }
        wrong += observable(rt, 0, 0) != 255;
    }
    is_u64(wrong, 0, "5120 fences in a row on %u workers end in order", workers);
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    random_fences(seed);
    queues_apart();
    only_fences(1);
    only_fences(3);
    return done();
}
