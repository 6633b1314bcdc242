/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Everything at once, at random: threads with queues that they open, fill, reap, cancel on and
 * close; buffers made and freed while slots use them; fences, deadlines, packed slots, operations
 * that wait for each other; tickets that begin near their wraps; runtimes with one worker and
 * several, stopped in the middle or closed at rest. Every slot must end exactly once, in a way it
 * may, with its result.
 *
 *     stress_queue [--seconds N] [--seed S]
 */
#include "stress_model.h"

#include "base/clock.h"

enum { THREADS = 4, LANES = 3, BUFFERS = 4, STEPS = 400 };

struct arena {
    vyre *rt;
    uint32_t workers;
    _Atomic uint32_t pair;    /* 1: a pair of operations is under way */
    _Atomic uint32_t arrived; /* the second of the pair has run */
    _Atomic uint32_t missed;  /* pairs whose second never came */
};

struct actor {
    struct arena *arena;
    uint32_t number;
    uint64_t state;
    struct lane lanes[LANES];
    vyre_buffer *buffers[BUFFERS];
    uint32_t contents[BUFFERS];
    struct tally tally;
};

static bool chance(struct actor *a, uint32_t one_in)
{
    return random_below(&a->state, one_in) == 0;
}

static uint32_t check_run(vyre_call *call)
{
    void *memory = NULL;
    if (vyre_call_buffer(call, 0, &memory, NULL, NULL) != VYRE_OK) return 1;
    call->result[0] = *(const uint32_t *)memory + call->args[1];
    return 0;
}

static uint32_t yield_run(vyre_call *call)
{
    for (uint32_t i = 0; i < call->args[0] % 5; i++)
        sched_yield();
    call->result[0] = call->args[0] ^ 0xFFFF;
    return 0;
}

/* Holds its worker until the other operation of the pair has run on another one. */
static uint32_t waits_run(vyre_call *call)
{
    struct arena *arena = call->ctx;
    uint64_t until = vyre_clock_after(vyre_clock_ns(), PATIENCE_NS / 2);
    while (!atomic_load(&arena->arrived) && !vyre_call_cancelled(call)) {
        sched_yield();
        if (vyre_clock_ns() > until && atomic_fetch_add(&arena->missed, 1) + 1) break;
    }
    atomic_store(&arena->arrived, 0);
    atomic_store(&arena->pair, 0);
    return 0;
}

static uint32_t comes_run(vyre_call *call)
{
    struct arena *arena = call->ctx;
    atomic_store(&arena->arrived, 1);
    return 0;
}

static void open_lane(struct actor *a, struct lane *lane)
{
    static const uint64_t starts[] = {0, (1ull << 32) - 40, UINT64_MAX - 40, (1ull << 38) - 3};
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    memset(lane, 0, sizeof *lane);
    lane->slots = options.slots = 1u << random_below(&a->state, 7);
    options.tenant = a->number;
    options.flags = random_below(&a->state, 3);
    options.wait_mode = random_below(&a->state, 3);
    lane->next = options.first_ticket = starts[random_below(&a->state, 4)];
    must(vyre_queue_open(a->arena->rt, &options, &lane->queue, &err), &err);
    int fd;
    if (chance(a, 10)) must(vyre_queue_event_fd(lane->queue, &fd, &err), &err);
}

static void new_buffer(struct actor *a, uint32_t i)
{
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    vyre_buffer_free(a->buffers[i]);
    how.tenant = a->number;
    how.kind = 1 + random_below(&a->state, 2);
    a->contents[i] = (uint32_t)random_next(&a->state);
    size_t bytes = 4 + random_below(&a->state, 5000);
    must(vyre_buffer_create_with(a->arena->rt, bytes, &how, &a->buffers[i], &err), &err);
    must(vyre_buffer_write(a->buffers[i], 0, &a->contents[i], 4, &err), &err);
}

/* Deadline, mark and priority of a prepared slot. */
static void decorate(struct actor *a, struct lane *lane, vyre_slot *slot, struct expectation *e)
{
    vyre_error err;
    must(vyre_slot_priority(slot, random_below(&a->state, VYRE_PRIORITIES), &err), &err);
    if (chance(a, 12)) {
        e->may_be_late = chance(a, 2);
        uint64_t near = 1 + random_below(&a->state, 100000);
        must(vyre_slot_deadline(lane->queue, slot, e->may_be_late ? near : PATIENCE_NS, &err),
             &err);
    }
    e->repeatable = chance(a, 15);
    if (e->repeatable) must(vyre_slot_repeatable(lane->queue, slot, &err), &err);
}

static void prepare_plain(struct actor *a, vyre_slot *slot, struct expectation *e)
{
    uint32_t add[2] = {1, WORD(1)}, value = (uint32_t)random_next(&a->state);
    uint32_t buffer = random_below(&a->state, BUFFERS);
    vyre_packed_op packed[3] = {
        {VYRE_OP_NOP, 0, NULL}, {VYRE_OP_ATOMIC_ADD, 2, add}, {OP_PACKABLE, 1, &value}};
    uint32_t args[2] = {vyre_buffer_handle(a->buffers[buffer]), value};
    vyre_error err;
    uint32_t kind = random_below(&a->state, 10);
    if (kind <= 2) must(vyre_prep_atomic_add(slot, WORD(1), 1, &err), &err);
    if (kind == 3 || kind == 4) must(vyre_prep_nop(slot, &err), &err);
    if (kind == 5) must(vyre_prep_fence(slot, 0, value, &err), &err);
    if (kind == 6) must(vyre_prep_packed(slot, packed, 3, &err), &err);
    if (kind == 7) must(vyre_prep_op(slot, OP_YIELD, &value, 1, &err), &err);
    if (kind >= 8) must(vyre_prep_op(slot, OP_CHECK, args, 2, &err), &err);
    e->adds = kind <= 2 || kind == 6;
    e->has_result = kind == 3 || kind >= 6;
    if (kind == 6) e->result = 3;
    if (kind == 7) e->result = value ^ 0xFFFF;
    if (kind >= 8) e->result = a->contents[buffer] + value;
    e->opcode = slot->word[VYRE_SLOT_OPCODE];
}

/* An operation that waits and, behind it, the one it waits for. */
static bool prepare_pair(struct actor *a, struct lane *lane)
{
    uint32_t none = 0;
    vyre_error err;
    if (a->arena->workers < 2 || lane->slots - lane->count < 2) return false;
    if (!atomic_compare_exchange_strong(&a->arena->pair, &none, 1)) return false;
    for (uint32_t opcode = OP_WAITS; opcode <= OP_COMES; opcode++) {
        must(vyre_prep_op(next_slot(lane->queue), opcode, NULL, 0, &err), &err);
        expect(lane)->opcode = opcode;
    }
    return true;
}

static void send(struct actor *a, struct lane *lane)
{
    uint32_t want = 1 + random_below(&a->state, lane->slots);
    uint64_t first = lane->next, ticket = 0;
    vyre_error err;
    if (chance(a, 6)) prepare_pair(a, lane);
    while (want-- > 0) {
        vyre_slot *slot = vyre_queue_slot(lane->queue);
        if ((slot == NULL) != (lane->count == lane->slots))
            complain(&a->tally, "%u of %u outstanding, but full is %d", lane->count, lane->slots,
                     slot == NULL);
        if (!slot) break;
        struct expectation *e = expect(lane);
        prepare_plain(a, slot, e);
        decorate(a, lane, slot, e);
    }
    must(vyre_queue_submit(lane->queue, &ticket, &err), &err);
    if (ticket != first) complain(&a->tally, "the first ticket is not the expected one");
}

static void cancel_one(struct actor *a, struct lane *lane)
{
    if (lane->count == 0) return;
    struct expectation *e = &lane->outstanding[random_below(&a->state, lane->count)];
    if (e->opcode == OP_WAITS || e->opcode == OP_COMES) return;
    vyre_status status = vyre_cancel(lane->queue, e->ticket, NULL);
    if (status == VYRE_OK) e->may_cancel = true;
    if (status != VYRE_OK && status != VYRE_E_NOT_FOUND)
        complain(&a->tally, "cancel: %s", vyre_status_name(status));
}

static void receive(struct actor *a, struct lane *lane)
{
    vyre_completion ends[MOST_SLOTS];
    vyre_error err;
    size_t count = 0;
    if (lane->count == 0) return;
    if (chance(a, 3)) {
        uint64_t ticket = lane->outstanding[random_below(&a->state, lane->count)].ticket;
        must(vyre_wait(lane->queue, ticket, PATIENCE_NS, &ends[0], &err), &err);
        if (ends[0].ticket != ticket) complain(&a->tally, "waited for another ticket");
        count = 1;
    } else {
        uint32_t least = random_below(&a->state, lane->count + 1);
        must(vyre_queue_reap_wait(lane->queue, ends, least, MOST_SLOTS, PATIENCE_NS, &count, &err),
             &err);
        if (count < least) complain(&a->tally, "reaped %zu, at least %u", count, least);
    }
    for (size_t i = 0; i < count; i++)
        check_end(lane, &ends[i], false, &a->tally);
}

static void reopen(struct actor *a, struct lane *lane)
{
    while (lane->count != 0 && chance(a, 2))
        receive(a, lane);
    vyre_queue_close(lane->queue);
    forget_outstanding(lane, &a->tally);
    open_lane(a, lane);
}

static void *act(void *argument)
{
    struct actor *a = argument;
    for (uint32_t i = 0; i < BUFFERS; i++)
        new_buffer(a, i);
    for (uint32_t i = 0; i < LANES; i++)
        open_lane(a, &a->lanes[i]);
    for (uint32_t step = 0; step < STEPS && a->tally.wrong == 0; step++) {
        struct lane *lane = &a->lanes[random_below(&a->state, LANES)];
        uint32_t action = random_below(&a->state, 20);
        if (action < 9) send(a, lane);
        if (action >= 9 && action < 16) receive(a, lane);
        if (action >= 16 && action < 18) cancel_one(a, lane);
        if (action == 18) new_buffer(a, random_below(&a->state, BUFFERS));
        if (action == 19 && chance(a, 3)) reopen(a, lane);
    }
    return NULL;
}

/* Receives what is left, or stops the runtime first. */
static void settle(struct actor *a, bool stopped)
{
    for (uint32_t i = 0; i < LANES; i++) {
        struct lane *lane = &a->lanes[i];
        while (lane->count != 0 && a->tally.wrong == 0) {
            vyre_completion end;
            vyre_error err;
            size_t count = 0;
            must(vyre_queue_reap_wait(lane->queue, &end, 1, 1, PATIENCE_NS, &count, &err), &err);
            if (count == 1) check_end(lane, &end, stopped, &a->tally);
            if (count == 0) complain(&a->tally, "%u slots never ended", lane->count);
        }
    }
    uint32_t found = observable(a->arena->rt, a->number, 1) - a->tally.added;
    if (found > a->tally.uncertain)
        complain(&a->tally, "%u adds ran, %u to %u were expected", found + a->tally.added,
                 a->tally.added, a->tally.added + a->tally.uncertain);
}

static vyre *open_random(struct arena *arena, vyre_allocator *hooks, uint64_t *state)
{
    vyre_options options = cpu_options(1 + random_below(state, 4));
    arena->workers = options.workers;
    options.allocator = hooks;
    options.inflight_slots = 16u << random_below(state, 4);
    options.idle_spin_ns = random_below(state, 3) * 20000;
    options.ageing_ns = 1 + random_below(state, 2000000);
    arena->rt = open_with(&options);
    register_op(arena->rt, OP_YIELD, yield_run, NULL);
    register_op(arena->rt, OP_PACKABLE, yield_run, NULL);
    register_op(arena->rt, OP_WAITS, waits_run, arena);
    register_op(arena->rt, OP_COMES, comes_run, arena);
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation;
    vyre_error err;
    how.opcode = OP_CHECK;
    how.run = check_run;
    how.read_handles = 1;
    must(vyre_operation_register(arena->rt, &how, &operation, &err), &err);
    return arena->rt;
}

/* One runtime from open to close. Returns how much was wrong. */
static uint64_t one_round(uint64_t seed, struct tally *total)
{
    static struct actor actors[THREADS];
    struct meter meter = {0};
    struct arena arena = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    pthread_t threads[THREADS];
    vyre_error err;
    uint64_t state = seed, wrong = 0;
    vyre *rt = open_random(&arena, &hooks, &state);
    uint32_t count = 1 + random_below(&state, THREADS);
    bool stop = random_below(&state, 2) == 0;
    memset(actors, 0, sizeof actors);
    for (uint32_t i = 0; i < count; i++) {
        actors[i].arena = &arena;
        actors[i].number = i;
        actors[i].state = random_next(&state);
        if (pthread_create(&threads[i], NULL, act, &actors[i]) != 0) bail("no thread");
    }
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (stop) must(vyre_stop(rt, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        settle(&actors[i], stop);
        wrong += actors[i].tally.wrong;
        if (actors[i].tally.wrong)
            note("seed %llu: %s", (unsigned long long)seed, actors[i].tally.first_wrong);
        total->slots += actors[i].tally.slots;
        total->done += actors[i].tally.done;
        total->cancelled += actors[i].tally.cancelled;
        total->late += actors[i].tally.late;
        total->stopped += actors[i].tally.stopped;
    }
    vyre_close(rt);
    if (arena.missed)
        note("seed %llu: a waiting operation was left alone", (unsigned long long)seed);
    if (!meter_clean(&meter)) note("seed %llu: memory was lost", (unsigned long long)seed);
    return wrong + arena.missed + !meter_clean(&meter);
}

int main(int argc, char **argv)
{
    uint64_t seconds = 5, seed = vyre_clock_ns(), rounds = 0, wrong = 0;
    struct tally total = {0};
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (value && strcmp(argv[i], "--seconds") == 0)
            seconds = strtoull(argv[++i], NULL, 0);
        else if (value && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[++i], NULL, 0);
        else
            bail("usage: stress_queue [--seconds N] [--seed S]");
    }
    note("seed %llu", (unsigned long long)seed);
    uint64_t until = vyre_clock_after(vyre_clock_ns(), seconds * 1000000000u);
    while (wrong == 0 && (rounds == 0 || vyre_clock_ns() < until))
        wrong += one_round(seed + rounds++, &total);
    is_u64(wrong, 0, "%llu runtimes", (unsigned long long)rounds);
    ok(total.slots > 0 && total.done > 0,
       "%llu slots: %llu done, %llu cancelled, %llu late, "
       "%llu stopped",
       (unsigned long long)total.slots, (unsigned long long)total.done,
       (unsigned long long)total.cancelled, (unsigned long long)total.late,
       (unsigned long long)total.stopped);
    return done();
}
