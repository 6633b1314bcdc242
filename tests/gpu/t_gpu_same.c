/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The same slots on the CPU backend in this process and on the device under test: random slots of
 * every built-in with right and wrong operands, packed slots, fences, records, priorities and
 * faults, on two queues of two tenants. Every completion must agree word for word, whatever order
 * they came in, and so must the tenants' words, their logs and the device's counts.
 *
 * Slots have no order between fences, so each slot of a round has words of its own, and a round
 * begins with a fence.
 */
#include "gpu.h"

enum { QUEUES = 2, ITEMS = 62, OWN_WORDS = 4, OBSERVABLES = 256, INPUT = 3000, HANDLES = 8 };

/* One slot as it will be on both sides; a handle is named by its place in side.handle. */
struct item {
    uint32_t status, opcode, priority;
    uint32_t arg[VYRE_SLOT_ARGS];
    uint8_t handle[VYRE_SLOT_ARGS]; /* 0: the argument as it is */
    uint64_t deadline_ns;           /* 0: none */
};

struct side {
    const char *name;
    vyre *rt;
    vyre_queue *queue[QUEUES];
    uint32_t handle[HANDLES];
    uint64_t cursor[QUEUES];
    vyre_completion end[QUEUES][ITEMS + 1];
    vyre_log_record log[QUEUES][64];
    size_t logged[QUEUES];
    uint32_t words[QUEUES][OBSERVABLES];
    uint32_t header[VYRE_CONTROL_WORDS];
};

static uint32_t differences;

static void differ(const char *what, uint64_t round, uint32_t queue, uint32_t place)
{
    if (differences++ < 10)
        note("round %" PRIu64 ", queue %u: %s %u differs", round, queue, what, place);
}

/* Opening. Both sides make the same objects in the same order.
 * ------------------------------------------------------------------------------------------- */

static vyre_buffer *make_buffer(vyre *rt, uint32_t tenant, uint32_t rights, const void *bytes,
                                size_t size)
{
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    how.tenant = tenant;
    how.rights = rights;
    how.kind = size % 2 == 0 ? VYRE_DEVICE : VYRE_PINNED;
    must(vyre_buffer_create_with(rt, size, &how, &buffer, &err), &err);
    must(vyre_buffer_write(buffer, 0, bytes, size, &err), &err);
    return buffer;
}

static void open_side(struct side *side, const vyre_options *options, uint64_t seed)
{
    static uint32_t table[GPU_TABLE_WORDS];
    static uint8_t input[INPUT];
    uint64_t state = seed;
    side->rt = gpu_open(options);
    gpu_random_table(table, &state);
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)random_next(&state);
    for (uint32_t i = 0; i < QUEUES; i++) {
        side->queue[i] =
            gpu_queue(side->rt, 128, 1 + i, i == 0 ? VYRE_QUEUE_SEALED : VYRE_QUEUE_UNSEALED);
        side->handle[1 + 2 * i] =
            vyre_buffer_handle(make_buffer(side->rt, 1 + i, 3, table, sizeof table));
        side->handle[2 + 2 * i] =
            vyre_buffer_handle(make_buffer(side->rt, 1 + i, 1, input, sizeof input - i));
    }
    side->handle[5] =
        vyre_buffer_handle(make_buffer(side->rt, 1, VYRE_RIGHT_WRITE, input, sizeof input));
    vyre_buffer *gone = make_buffer(side->rt, 1, 3, input, sizeof input);
    side->handle[6] = vyre_buffer_handle(gone);
    vyre_buffer_free(gone);
    side->handle[7] = side->handle[1] + 0x10000;
}

/* Slots.
 * ------------------------------------------------------------------------------------------- */

/* A word that is the item's own, or now and then one that is nobody's. */
static uint32_t any_word(uint64_t *state, uint32_t own)
{
    static const uint32_t wrong[] = {0, 1, 97, 159, 160 + OBSERVABLES, 0x7FFFFFFF, UINT32_MAX};
    if (random_below(state, 12) == 0) return wrong[random_below(state, 7)];
    return WORD(own + random_below(state, OWN_WORDS));
}

/* Operands of one of the word operations, opcodes 0 to 5; returns how many. */
static uint32_t word_operands(uint64_t *state, uint32_t opcode, uint32_t own, uint32_t *arg)
{
    uint32_t small = random_below(state, 4);
    switch (opcode) {
    case VYRE_OP_NOP:
        return 0;
    case VYRE_OP_LOAD_U32:
        arg[0] = any_word(state, own);
        arg[1] = random_below(state, 12) == 0 ? OBSERVABLES + small : own + small;
        return 2;
    case VYRE_OP_COMPARE_SWAP:
        arg[0] = any_word(state, own);
        arg[1] = small;
        arg[2] = (uint32_t)random_next(state);
        return 3;
    case VYRE_OP_MEMCPY:
        arg[0] = WORD(own) + random_below(state, 3);
        arg[1] = WORD(own) + random_below(state, 3);
        arg[2] = random_below(state, 2);
        if (small == 0) arg[0] = any_word(state, own), arg[2] = 1;
        if (random_below(state, 16) == 0) arg[2] = UINT32_MAX - small;
        if (random_below(state, 16) == 0) arg[0] = UINT32_MAX, arg[2] = 0;
        return 3;
    default:
        arg[0] = random_below(state, 2) ? small : (uint32_t)random_next(state);
        arg[1] = any_word(state, own);
        return 2;
    }
}

/* A form that contradicts itself may turn one operation into another, so it gets no words that
 * would be right for any. */
static void packed_item(struct item *item, uint64_t *state, uint32_t own)
{
    uint32_t args[4][VYRE_SLOT_ARGS];
    vyre_packed_op ops[4];
    uint32_t count = 0, words = 1;
    size_t wanted = 1 + random_below(state, 4);
    bool broken = random_below(state, 8) == 0;
    for (; count < wanted; count++) {
        uint32_t opcode = random_below(state, 10) == 0 ? 77 : random_below(state, 6);
        if (broken) opcode = VYRE_OP_NOP;
        uint32_t n = word_operands(state, opcode, own, args[count]);
        if (words + n + 3 > VYRE_SLOT_ARGS) break;
        words += n + 1;
        ops[count] = (vyre_packed_op){opcode, n, args[count]};
    }
    vyre_slot slot;
    vyre_error err;
    must(vyre_prep_packed(&slot, ops, count, &err), &err);
    for (uint32_t i = 0; i < VYRE_SLOT_ARGS; i++)
        item->arg[i] = slot.word[VYRE_SLOT_ARG0 + i];
    item->opcode = VYRE_OP_PACKED_SLOT;
    if (!broken) return;
    for (uint32_t i = 3; i < VYRE_SLOT_ARGS; i++)
        item->arg[i] = 0xF0000000u | (uint32_t)random_next(state);
    item->arg[random_below(state, 2)] ^= 1u << random_below(state, 32);
}

static void dfa_item(struct item *item, uint64_t *state, uint32_t queue)
{
    uint32_t offset = random_below(state, INPUT), length = random_below(state, INPUT - offset);
    item->opcode = VYRE_OP_DFA_STEP;
    item->handle[0] = (uint8_t)(1 + 2 * queue);
    item->handle[2] = (uint8_t)(2 + 2 * queue);
    item->arg[1] = random_below(state, 22);
    item->arg[3] = offset;
    item->arg[5] = length;
    uint32_t wrong = random_below(state, 24);
    if (wrong < 4)
        item->handle[wrong < 2 ? 0 : 2] = (uint8_t)(1 + random_below(state, HANDLES - 1));
    if (wrong == 4) item->arg[5] += INPUT;
    if (wrong == 5) item->arg[4] = 1;
    if (wrong == 6) item->handle[0] = 0, item->arg[0] = (uint32_t)random_next(state);
    if (wrong == 7) item->arg[3] = UINT32_MAX, item->arg[4] = UINT32_MAX;
}

static void random_item(struct item *item, uint64_t *state, uint32_t number, uint32_t queue)
{
    static const uint32_t odd[] = {8,          200,         0xFFEF,           0x10000,
                                   0x7FFFFFFF, 0x80000000u, VYRE_OP_SHUTDOWN, 0x80000002u};
    uint32_t own = OWN_WORDS * (number + 1), kind = random_below(state, 24);
    memset(item, 0, sizeof *item);
    item->status = VYRE_SLOT_PUBLISHED;
    item->priority = random_below(state, VYRE_PRIORITIES);
    if (kind < 14) {
        item->opcode = kind % 6;
        word_operands(state, item->opcode, own, item->arg);
    } else if (kind < 17) {
        packed_item(item, state, own);
    } else if (kind < 20) {
        dfa_item(item, state, queue);
    } else if (kind == 20) {
        item->opcode = VYRE_OP_PRINTF;
        for (uint32_t i = 0; i < 3; i++)
            item->arg[i] = (uint32_t)random_next(state);
    } else if (kind == 21) {
        item->opcode = odd[random_below(state, 8)];
    } else if (kind == 22) {
        item->priority = 5 + random_below(state, 3);
    } else {
        item->deadline_ns = PATIENCE_NS;
    }
    if (random_below(state, 50) == 0) item->status = random_below(state, 9);
}

static void put_item(struct side *side, uint32_t queue, const struct item *item)
{
    vyre_error err;
    vyre_slot *slot = next_slot(side->queue[queue]);
    slot->word[VYRE_SLOT_STATUS] = item->status;
    slot->word[VYRE_SLOT_OPCODE] = item->opcode;
    slot->word[VYRE_SLOT_TENANT] = 0;
    slot->word[VYRE_SLOT_PRIORITY] = item->priority;
    for (uint32_t i = 0; i < VYRE_SLOT_ARGS; i++)
        slot->word[VYRE_SLOT_ARG0 + i] =
            item->handle[i] != 0 ? side->handle[item->handle[i]] : item->arg[i];
    if (item->deadline_ns != 0)
        must(vyre_slot_deadline(side->queue[queue], slot, item->deadline_ns, &err), &err);
}

/* Rounds.
 * ------------------------------------------------------------------------------------------- */

static int compare_records(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(vyre_log_record));
}

/* Sends a round's items after a fence, and receives all their ends. */
static void run_round(struct side *side, struct item items[QUEUES][ITEMS], uint64_t round)
{
    vyre_error err;
    uint64_t first[QUEUES], lost = 0;
    for (uint32_t q = 0; q < QUEUES; q++) {
        must(vyre_prep_fence(next_slot(side->queue[q]), ITEMS, (uint32_t)round, &err), &err);
        for (uint32_t i = 0; i < ITEMS; i++) {
            put_item(side, q, &items[q][i]);
            if (i == ITEMS / 2) submit(side->queue[q]);
        }
        first[q] = submit(side->queue[q]) - ITEMS / 2 - 2;
    }
    for (uint32_t q = 0; q < QUEUES; q++) {
        for (uint32_t i = 0; i <= ITEMS; i++)
            side->end[q][i] = wait_for(side->queue[q], first[q] + i);
        must(vyre_tenant_log(side->rt, 1 + q, &side->cursor[q], side->log[q], 64, &side->logged[q],
                             &lost, &err),
             &err);
        qsort(side->log[q], side->logged[q], sizeof side->log[q][0], compare_records);
        must(vyre_tenant_observables(side->rt, 1 + q, 0, OBSERVABLES, side->words[q], &err), &err);
    }
    static uint32_t image[VYRE_CONTROL_WORDS + OBSERVABLES];
    size_t needed = 0;
    must(vyre_image_control(side->rt, 1, image, sizeof image, &needed, &err), &err);
    memcpy(side->header, image, sizeof side->header);
}

/* What a slot that faults has paid depends on who ran it; what it did does not. */
static bool same_end(const vyre_completion *a, const vyre_completion *b)
{
    vyre_completion left = *a, right = *b;
    if (left.outcome != VYRE_DONE && right.outcome != VYRE_DONE) left.steps = right.steps = 0;
    return memcmp(&left, &right, sizeof left) == 0;
}

static void compare_round(const struct side *a, const struct side *b, uint64_t round)
{
    for (uint32_t q = 0; q < QUEUES; q++) {
        for (uint32_t i = 0; i <= ITEMS; i++) {
            if (same_end(&a->end[q][i], &b->end[q][i])) continue;
            differ("the end of slot", round, q, i);
            if (differences > 10) continue;
            note("%s: opcode %u outcome %u fault %u pc %u steps %u result %u %u", a->name,
                 a->end[q][i].opcode, a->end[q][i].outcome, a->end[q][i].fault, a->end[q][i].pc,
                 a->end[q][i].steps, a->end[q][i].result[0], a->end[q][i].result[1]);
            note("%s: opcode %u outcome %u fault %u pc %u steps %u result %u %u", b->name,
                 b->end[q][i].opcode, b->end[q][i].outcome, b->end[q][i].fault, b->end[q][i].pc,
                 b->end[q][i].steps, b->end[q][i].result[0], b->end[q][i].result[1]);
        }
        for (uint32_t i = 0; i < OBSERVABLES; i++)
            if (a->words[q][i] != b->words[q][i]) differ("word", round, q, i);
        if (a->logged[q] != b->logged[q] ||
            memcmp(a->log[q], b->log[q], a->logged[q] * sizeof a->log[q][0]) != 0)
            differ("the log, records", round, q, (uint32_t)a->logged[q]);
    }
    for (uint32_t i = 0; i < VYRE_CONTROL_WORDS; i++)
        if ((i == VYRE_CONTROL_DONE_COUNT || i == VYRE_CONTROL_EPOCH ||
             (i >= VYRE_CONTROL_METRICS && i < VYRE_CONTROL_METRICS + VYRE_CONTROL_METRIC_COUNT)) &&
            a->header[i] != b->header[i])
            differ("control word", round, 0, i);
}

/* Deadlines and cancellation: what they come to, with a long scan to stand behind.
 * ------------------------------------------------------------------------------------------- */

static uint64_t submit_scan(vyre *rt, vyre_queue *queue, vyre_buffer *input)
{
    static uint32_t table[GPU_TABLE_WORDS];
    uint64_t state = 1;
    vyre_error err;
    gpu_random_table(table, &state);
    vyre_buffer *buffer = make_buffer(rt, 0, 3, table, sizeof table);
    vyre_dfa_step step = {.table = vyre_buffer_handle(buffer),
                          .input = vyre_buffer_handle(input),
                          .length = (uint32_t)vyre_buffer_size(input)};
    must(vyre_prep_dfa_step(next_slot(queue), &step, &err), &err);
    return submit(queue);
}

static void check_ends(struct side *side)
{
    vyre_error err;
    vyre_buffer *input = NULL;
    vyre_queue *queue = gpu_queue(side->rt, 16, 0, 0);
    must(vyre_buffer_create(side->rt, 4u << 20, VYRE_DEVICE, &input, &err), &err);
    uint64_t scan = submit_scan(side->rt, queue, input);
    must(vyre_prep_fence(next_slot(queue), 1, 1, &err), &err);
    vyre_slot *late = next_slot(queue);
    must(vyre_prep_nop(late, &err), &err);
    must(vyre_slot_deadline(queue, late, 1, &err), &err);
    must(vyre_prep_nop(next_slot(queue), &err), &err);
    uint64_t fence = submit(queue);
    vyre_status asked = vyre_cancel(queue, fence + 2, &err);
    is_u64(wait_for(queue, scan).outcome, VYRE_DONE, "%s: a long scan is done", side->name);
    is_u64(wait_for(queue, fence).outcome, VYRE_DONE, "%s: so is the fence behind it", side->name);
    is_u64(wait_for(queue, fence + 1).fault, VYRE_FAULT_DEADLINE,
           "%s: a slot whose deadline passed meanwhile", side->name);
    vyre_completion cancelled = wait_for(queue, fence + 2);
    if (asked == VYRE_OK)
        ok(cancelled.outcome == VYRE_CANCELLED && cancelled.fault == VYRE_FAULT_CANCELLED,
           "%s: one that was cancelled before it began", side->name);
    else
        is_u64(cancelled.outcome, VYRE_DONE, "%s: too late to be cancelled", side->name);
    vyre_queue_close(queue);
}

int main(int argc, char **argv)
{
    static struct side cpu = {.name = "cpu"}, device = {.name = "device"};
    static struct item items[QUEUES][ITEMS];
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 2000000 : 40000);
    vyre_options plain = cpu_options(2), options = gpu_options();
    uint64_t state = args.seed, rounds = args.slots / (QUEUES * ITEMS) + 1;
    uint32_t outcomes[5] = {0};
    plain.backend = VYRE_BACKEND_CPU;
    plain.place = VYRE_PLACE_PROCESS;
    plain.observable_words = options.observable_words = OBSERVABLES;
    open_side(&device, &options, args.seed);
    open_side(&cpu, &plain, args.seed);
    for (uint64_t round = 0; round < rounds; round++) {
        for (uint32_t q = 0; q < QUEUES; q++)
            for (uint32_t i = 0; i < ITEMS; i++)
                random_item(&items[q][i], &state, i, q);
        run_round(&device, items, round);
        run_round(&cpu, items, round);
        compare_round(&cpu, &device, round);
        for (uint32_t q = 0; q < QUEUES; q++)
            for (uint32_t i = 0; i <= ITEMS; i++)
                outcomes[cpu.end[q][i].outcome % 5]++;
    }
    note("%" PRIu64 " rounds of %u slots: %u done, %u faulted", rounds, QUEUES * (ITEMS + 1),
         outcomes[VYRE_DONE], outcomes[VYRE_FAULTED]);
    is_u64(differences, 0, "both give the same completions, words, logs and counts");
    ok(outcomes[VYRE_DONE] > 0 && outcomes[VYRE_FAULTED] > 0, "some were done, some faulted");
    check_ends(&cpu);
    check_ends(&device);
    vyre_close(cpu.rt);
    vyre_close(device.rt);
    return done();
}
