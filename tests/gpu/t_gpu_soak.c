/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Very many slots, each checked whole: that it ended once, as done, under its own ticket, as the
 * operation that it was, with the result that it must have and zeroes in every other word. Several
 * queues at once, each with a thread that submits and one that reaps.
 *
 * What a slot is follows from its ticket alone, so nothing has to be remembered. Tickets are
 * checked by their sum and the sum of their squares. What an addition finds cannot be foreseen; the
 * sums of all are checked at the end. The other words of a tenant hold constants that loads and
 * failing exchanges must find.
 */
#include "gpu.h"

enum { LANES = 4, SLOTS = 16384, WORDS = 64, ADD_AT = 128, BATCH = 64, REAP = 256 };

struct lane {
    vyre *rt;
    vyre_queue *queue;
    uint64_t seed, slots;
    uint32_t tenant;
    uint64_t wrong, first_wrong;
    uint32_t sums[WORDS];
    uint64_t sent, sent_squares; /* sums over all tickets */
    uint64_t received, received_squares;
};

static uint64_t mix(uint64_t seed, uint64_t ticket)
{
    uint64_t state = seed ^ ticket * 0xD1342543DE82EF95u;
    return random_next(&state);
}

static uint32_t constant(const struct lane *lane, uint32_t word)
{
    return 0xC0000000u ^ lane->tenant << 16 ^ word * 0x01010101u;
}

enum kind { ADD, LOAD, FAILING_SWAP, STORE, PACKED_ADDS, EMPTY, KINDS };

struct planned {
    enum kind kind;
    uint32_t word, value;
};

static struct planned plan_of(const struct lane *lane, uint64_t ticket)
{
    uint64_t bits = mix(lane->seed, ticket);
    struct planned planned = {(enum kind)(bits % KINDS), (uint32_t)(bits >> 8) % WORDS,
                              (uint32_t)(bits >> 32)};
    return planned;
}

/* What a slot adds to its word. */
static uint32_t added(const struct planned *planned)
{
    if (planned->kind == ADD) return planned->value;
    return planned->kind == PACKED_ADDS ? planned->value + (planned->value ^ 0x5A5A5A5Au) : 0;
}

static void fill(const struct lane *lane, vyre_slot *slot, const struct planned *planned)
{
    vyre_error err;
    uint32_t word = WORD(planned->word);
    uint32_t two[2][2] = {{planned->value, WORD(ADD_AT) + planned->word},
                          {planned->value ^ 0x5A5A5A5Au, WORD(ADD_AT) + planned->word}};
    vyre_packed_op ops[2] = {{VYRE_OP_ATOMIC_ADD, 2, two[0]}, {VYRE_OP_ATOMIC_ADD, 2, two[1]}};
    switch (planned->kind) {
    case ADD:
        must(vyre_prep_atomic_add(slot, two[0][1], planned->value, &err), &err);
        break;
    case LOAD:
        must(vyre_prep_load_u32(slot, word, planned->word, &err), &err);
        break;
    case FAILING_SWAP:
        must(vyre_prep_compare_swap(slot, word, planned->value & 0x3FFFFFFF, 5, &err), &err);
        break;
    case STORE:
        must(vyre_prep_store_u32(slot, word, constant(lane, planned->word), &err), &err);
        break;
    case PACKED_ADDS:
        must(vyre_prep_packed(slot, ops, 2, &err), &err);
        break;
    default:
        must(vyre_prep_nop(slot, &err), &err);
        break;
    }
}

static bool is_right(const struct lane *lane, const vyre_completion *end)
{
    static const uint32_t opcodes[KINDS] = {VYRE_OP_ATOMIC_ADD,   VYRE_OP_LOAD_U32,
                                            VYRE_OP_COMPARE_SWAP, VYRE_OP_STORE_U32,
                                            VYRE_OP_PACKED_SLOT,  VYRE_OP_NOP};
    struct planned planned = plan_of(lane, end->ticket);
    uint32_t rest = 0, first = 0;
    for (uint32_t i = 1; i < VYRE_COMPLETION_RESULTS; i++)
        rest |= end->result[i];
    if (planned.kind == LOAD || planned.kind == FAILING_SWAP) first = constant(lane, planned.word);
    if (planned.kind == PACKED_ADDS) first = 2;
    if (planned.kind == ADD) first = end->result[0];
    return end->outcome == VYRE_DONE && end->fault == VYRE_FAULT_NONE &&
           end->opcode == opcodes[planned.kind] && end->pc == 0 && end->out_of_bounds == 0 &&
           end->steps == (planned.kind == PACKED_ADDS ? 2u : 1u) && end->flags == 0 &&
           end->result[0] == first && rest == 0;
}

static void *submit_all(void *argument)
{
    struct lane *lane = argument;
    for (uint64_t ticket = 0; ticket < lane->slots;) {
        uint32_t got = 0;
        vyre_slot *slot;
        for (; got < BATCH && ticket < lane->slots; got++, ticket++) {
            struct planned planned = plan_of(lane, ticket);
            if ((slot = vyre_queue_slot(lane->queue)) == NULL) break;
            fill(lane, slot, &planned);
            lane->sums[planned.word] += added(&planned);
            lane->sent += ticket;
            lane->sent_squares += ticket * ticket;
        }
        if (got != 0)
            submit(lane->queue);
        else
            sched_yield();
    }
    return NULL;
}

static void *reap_all(void *argument)
{
    struct lane *lane = argument;
    vyre_completion ends[REAP];
    vyre_error err;
    for (uint64_t reaped = 0; reaped < lane->slots;) {
        size_t count = 0;
        must(vyre_queue_reap(lane->queue, ends, REAP, &count, &err), &err);
        if (count == 0) sched_yield();
        for (size_t i = 0; i < count; i++) {
            lane->received += ends[i].ticket;
            lane->received_squares += ends[i].ticket * ends[i].ticket;
            if (is_right(lane, &ends[i])) continue;
            if (lane->wrong++ == 0) lane->first_wrong = ends[i].ticket;
        }
        reaped += count;
    }
    return NULL;
}

static void open_lane(struct lane *lane, vyre *rt, uint32_t number, const struct gpu_args *args)
{
    vyre_error err;
    memset(lane, 0, sizeof *lane);
    lane->rt = rt;
    lane->tenant = 1 + number;
    lane->seed = args->seed + number;
    lane->slots = args->slots / LANES;
    vyre_queue *first = gpu_queue(rt, 256, lane->tenant, 0);
    for (uint32_t i = 0; i < WORDS; i++)
        must(vyre_prep_store_u32(next_slot(first), WORD(i), constant(lane, i), &err), &err);
    for (uint64_t ticket = submit(first), i = 0; i < WORDS; i++)
        if (wait_for(first, ticket + i).outcome != VYRE_DONE) bail("a store was not done");
    vyre_queue_close(first);
    lane->queue = gpu_queue(rt, SLOTS, lane->tenant,
                            number % 2 == 0 ? VYRE_QUEUE_SEALED : VYRE_QUEUE_UNSEALED);
}

static uint32_t wrong_words(const struct lane *lane)
{
    uint32_t words[256], wrong = 0;
    vyre_error err;
    must(vyre_tenant_observables(lane->rt, lane->tenant, 0, 256, words, &err), &err);
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += (words[i] != constant(lane, i)) + (words[ADD_AT + i] != lane->sums[i]);
    return wrong;
}

int main(int argc, char **argv)
{
    static struct lane lanes[LANES];
    pthread_t thread[2 * LANES];
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 1000000000 : 1000000);
    vyre_options options = gpu_options();
    vyre *rt = gpu_open(&options);
    for (uint32_t i = 0; i < LANES; i++)
        open_lane(&lanes[i], rt, i, &args);
    for (uint32_t i = 0; i < LANES; i++)
        if (pthread_create(&thread[2 * i], NULL, submit_all, &lanes[i]) != 0 ||
            pthread_create(&thread[2 * i + 1], NULL, reap_all, &lanes[i]) != 0)
            bail("no thread");
    for (uint32_t i = 0; i < 2 * LANES; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < LANES; i++) {
        is_u64(lanes[i].wrong, 0,
               "%" PRIu64 " slots of queue %u, every word (first wrong: %" PRIu64 ")",
               lanes[i].slots, i, lanes[i].first_wrong);
        ok(lanes[i].sent == lanes[i].received && lanes[i].sent_squares == lanes[i].received_squares,
           "each ticket once");
        is_u64(wrong_words(&lanes[i]), 0, "and the tenant's words add up");
    }
    vyre_close(rt);
    return done();
}
