/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs at random: threads that run short and long, endless and faulting programs over grids
 * from nothing to 2^40 workgroups, at all priorities, beside built-ins, native operations and
 * fences; cancelled, late, with their sets, buffers and programs taken away while they run; on
 * runtimes with few run slots, few frames and short turns, closed at rest or stopped in the middle.
 * Every slot must end exactly once, in a way it may, with its results; one is done exactly if all
 * its workgroups ran to their ends; and nothing may be left.
 *
 *     stress_programs [--seconds N] [--seed S] [--workers W]
 */
#include "meter.h"

#include "base/clock.h"
#include "stress_kernels.h"

enum { THREADS = 3, QUEUES = 2, DESKS = 6, STEPS = 150, SLOTS = 32, OP_NATIVE = 300 };
enum other { OTHER_NOP = KINDS, OTHER_FENCE, OTHER_NATIVE, ALL_KINDS };

/* A binding set with buffers of its own; one slot at a time uses it. */
struct desk {
    vyre_program *program;
    enum kind kind;
    vyre_bindings *set;
    vyre_buffer *buffer[STRESS_BUFFERS];
    uint32_t *x, *r, *c;
    bool busy;
};

struct note {
    uint64_t ticket;
    uint32_t kind;
    uint64_t total;
    struct desk *desk; /* NULL where it has been taken away */
    uint32_t scalars[2];
    bool may_cancel, may_be_late;
};

struct lane {
    vyre_queue *queue;
    uint32_t count;
    struct note notes[SLOTS];
};

struct arena {
    vyre *rt;
    vyre_kernel *kernel[KINDS];
    vyre_program *shared[KINDS]; /* every thread runs them */
    bool stops;                  /* in the middle */
};

struct actor {
    struct arena *arena;
    uint32_t tenant;
    uint64_t state;
    vyre_program *own[KINDS];
    struct desk desks[DESKS];
    struct lane lanes[QUEUES];
    bool stopped; /* a call has said so */
    uint64_t slots, done, cancelled, late, trapped, wrong;
    char first_wrong[160];
};

TAP_FORMAT(2, 3) static void complain(struct actor *a, const char *format, ...)
{
    va_list args;
    if (a->wrong++ != 0) return;
    va_start(args, format);
    vsnprintf(a->first_wrong, sizeof a->first_wrong, format, args);
    va_end(args);
}

static bool chance(struct actor *a, uint32_t one_in)
{
    return random_below(&a->state, one_in) == 0;
}

/* Whether a call worked; that the runtime has been stopped is no failure. */
static bool worked(struct actor *a, vyre_status status, const vyre_error *err)
{
    if (status == VYRE_E_STOPPED) a->stopped = true;
    if (status != VYRE_OK && status != VYRE_E_STOPPED)
        complain(a, "%s: %.100s", vyre_status_name(status), err->message);
    return status == VYRE_OK;
}

static uint32_t native(vyre_call *call)
{
    call->result[0] = call->args[0] ^ 0xFFFF;
    return 0;
}

/* Ends.
 * ------------------------------------------------------------------------------------------- */

static bool allowed(const struct note *note, const vyre_completion *end, bool stopping)
{
    switch (end->fault) {
    case VYRE_FAULT_NONE:
        return end->outcome == VYRE_DONE && note->kind != ENDLESS &&
               !(note->kind == TRAPS && note->scalars[0] < note->total);
    case VYRE_FAULT_CANCELLED:
        return end->outcome == VYRE_CANCELLED && note->may_cancel;
    case VYRE_FAULT_STOPPED:
        return end->outcome == VYRE_CANCELLED && stopping;
    case VYRE_FAULT_DEADLINE:
        return end->outcome == VYRE_FAULTED && note->may_be_late;
    case VYRE_FAULT_TRAP:
        return end->outcome == VYRE_FAULTED && note->kind == TRAPS &&
               end->result[2] == note->scalars[0] && end->result[3] == 0 &&
               end->result[4] == note->scalars[0] + 70 && end->result[5] == 3;
    default:
        return false;
    }
}

static void check_program(struct actor *a, const struct note *note, const vyre_completion *end)
{
    uint64_t ended = (uint64_t)end->result[1] << 32 | end->result[0];
    uint64_t group = (uint64_t)end->result[3] << 32 | end->result[2];
    bool done = end->outcome == VYRE_DONE;
    if (done && ended != note->total)
        complain(a, "done, but %llu of %llu workgroups ran", (unsigned long long)ended,
                 (unsigned long long)note->total);
    if (!done && (ended >= note->total || group >= note->total) && note->total != 0)
        complain(a, "%s, but workgroup %llu, and %llu of %llu workgroups ran",
                 vyre_fault_name(end->fault), (unsigned long long)group, (unsigned long long)ended,
                 (unsigned long long)note->total);
    if (!note->desk) return;
    note->desk->busy = false;
    if (note->kind != WORK) return;
    if (*note->desk->c < ended || *note->desk->c > note->total)
        complain(a, "%u workgroups counted themselves, %llu ran", *note->desk->c,
                 (unsigned long long)ended);
    if (done && !work_is_right(note->desk->x, note->desk->r, (uint32_t)note->total, note->scalars))
        complain(a, "a program of %u rounds gave a wrong result", note->scalars[1]);
}

static void check_end(struct actor *a, struct lane *lane, const vyre_completion *end, bool stopping)
{
    uint32_t i = 0;
    while (i < lane->count && lane->notes[i].ticket != end->ticket)
        i++;
    if (i == lane->count) {
        complain(a, "ticket %llu ended, but was not outstanding", (unsigned long long)end->ticket);
        return;
    }
    struct note note = lane->notes[i];
    lane->notes[i] = lane->notes[--lane->count];
    if (!allowed(&note, end, stopping))
        complain(a, "kind %u of %llu workgroups ended with outcome %u, fault %s", note.kind,
                 (unsigned long long)note.total, end->outcome, vyre_fault_name(end->fault));
    if (note.kind < KINDS) check_program(a, &note, end);
    if (note.kind == OTHER_NATIVE && end->outcome == VYRE_DONE &&
        end->result[0] != (note.scalars[0] ^ 0xFFFF))
        complain(a, "a native operation gave %u", end->result[0]);
    a->slots++;
    a->done += end->outcome == VYRE_DONE;
    a->cancelled += end->outcome == VYRE_CANCELLED;
    a->late += end->fault == VYRE_FAULT_DEADLINE;
    a->trapped += end->fault == VYRE_FAULT_TRAP;
}

/* Programs, sets and buffers.
 * ------------------------------------------------------------------------------------------- */

static bool load_own(struct actor *a, enum kind kind)
{
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_error err;
    options.tenant = a->tenant;
    a->own[kind] = NULL;
    return worked(a,
                  vyre_program_load_kernel(a->arena->rt, a->arena->kernel[kind], &options,
                                           &a->own[kind], &err),
                  &err);
}

/* Takes a desk away; a slot that uses it goes on with it, but its data are out of sight. */
static void clear_desk(struct actor *a, struct desk *desk)
{
    for (uint32_t i = 0; i < QUEUES; i++)
        for (uint32_t k = 0; k < a->lanes[i].count; k++)
            if (a->lanes[i].notes[k].desk == desk) a->lanes[i].notes[k].desk = NULL;
    bool set_first = chance(a, 2);
    if (set_first) vyre_bindings_free(desk->set);
    for (uint32_t i = 0; i < STRESS_BUFFERS; i++)
        vyre_buffer_free(desk->buffer[i]);
    if (!set_first) vyre_bindings_free(desk->set);
    memset(desk, 0, sizeof *desk);
}

static bool make_desk(struct actor *a, struct desk *desk)
{
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    void *memory[STRESS_BUFFERS] = {0};
    desk->kind = random_below(&a->state, KINDS);
    desk->program = chance(a, 2) ? a->own[desk->kind] : a->arena->shared[desk->kind];
    how.tenant = a->tenant;
    for (uint32_t i = 2; i < 5; i++) {
        how.kind = 1 + random_below(&a->state, 2);
        size_t bytes = (MOST_GROUPS + 1) * LANES * sizeof(uint32_t);
        if (!worked(a, vyre_buffer_create_with(a->arena->rt, bytes, &how, &desk->buffer[i], &err),
                    &err))
            return false;
        must(vyre_buffer_map(desk->buffer[i], &memory[i], &err), &err);
    }
    desk->x = memory[2];
    desk->r = memory[3];
    desk->c = memory[4];
    for (uint32_t i = 0; i < MOST_GROUPS * LANES; i++)
        desk->x[i] = (uint32_t)random_next(&a->state);
    return worked(
        a, vyre_bindings_create(desk->program, desk->buffer, STRESS_BUFFERS, &desk->set, &err),
        &err);
}

static void cancel_note(struct actor *a, struct lane *lane, struct note *note)
{
    vyre_error err;
    vyre_status status = vyre_cancel(lane->queue, note->ticket, &err);
    if (status == VYRE_OK) note->may_cancel = true;
    if (status != VYRE_E_NOT_FOUND) worked(a, status, &err);
}

/* Before this thread waits for anything: nothing of its own goes on for ever. */
static void end_endless(struct actor *a)
{
    for (uint32_t i = 0; i < QUEUES; i++)
        for (uint32_t k = 0; k < a->lanes[i].count; k++) {
            struct note *note = &a->lanes[i].notes[k];
            bool endless = note->kind == ENDLESS || note->total > MOST_GROUPS;
            if (endless && !note->may_cancel && !note->may_be_late)
                cancel_note(a, &a->lanes[i], note);
        }
}

/* Unloads a program of its own, slots of it under way, and loads it again. */
static void reload(struct actor *a)
{
    enum kind kind = random_below(&a->state, KINDS);
    vyre_error err;
    if (!a->own[kind]) return;
    for (uint32_t i = 0; i < DESKS; i++)
        if (a->desks[i].program == a->own[kind]) clear_desk(a, &a->desks[i]);
    end_endless(a);
    if (worked(a, vyre_program_unload(a->own[kind], &err), &err)) load_own(a, kind);
}

/* Slots.
 * ------------------------------------------------------------------------------------------- */

static bool prepare_program(struct actor *a, struct lane *lane, vyre_slot *slot, struct note *note)
{
    struct desk *desk = &a->desks[random_below(&a->state, DESKS)];
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    if (!desk->set || desk->busy) return false;
    desk->busy = true;
    *desk->c = 0;
    note->desk = desk;
    note->kind = desk->kind;
    note->scalars[0] = random_below(&a->state, MOST_GROUPS);
    note->scalars[1] = random_below(&a->state, chance(a, 4) ? 300 : 10);
    run.program = desk->program;
    run.bindings = desk->set;
    run.scalars = note->scalars;
    run.scalar_count = 2;
    run.queue = lane->queue;
    run.grid[0] = random_below(&a->state, MOST_GROUPS + 1);
    if (desk->kind == ENDLESS) run.grid[0]++;
    if (desk->kind == TINY && chance(a, 2)) run.grid[1] = run.grid[2] = 1u << 18;
    note->total = (uint64_t)run.grid[0] * run.grid[1] * run.grid[2];
    must(vyre_prep_run(slot, &run, &err), &err);
    return true;
}

static void prepare(struct actor *a, struct lane *lane, vyre_slot *slot, struct note *note)
{
    vyre_error err;
    if (chance(a, 4) || !prepare_program(a, lane, slot, note)) {
        note->kind = OTHER_NOP + random_below(&a->state, ALL_KINDS - OTHER_NOP);
        note->scalars[0] = (uint32_t)random_next(&a->state);
        if (note->kind == OTHER_NOP) must(vyre_prep_nop(slot, &err), &err);
        if (note->kind == OTHER_FENCE) must(vyre_prep_fence(slot, 0, 1, &err), &err);
        if (note->kind == OTHER_NATIVE)
            must(vyre_prep_op(slot, OP_NATIVE, note->scalars, 1, &err), &err);
    }
    must(vyre_slot_priority(slot, random_below(&a->state, VYRE_PRIORITIES), &err), &err);
    if (!chance(a, 6)) return;
    note->may_be_late = true;
    must(vyre_slot_deadline(lane->queue, slot, 1 + random_below(&a->state, 3000000), &err), &err);
}

static void send(struct actor *a, struct lane *lane)
{
    uint32_t before = lane->count, want = 1 + random_below(&a->state, 6);
    uint64_t ticket = 0;
    vyre_error err;
    vyre_slot *slot;
    while (want-- > 0 && lane->count < SLOTS && (slot = vyre_queue_slot(lane->queue)) != NULL) {
        struct note *note = &lane->notes[lane->count++];
        memset(note, 0, sizeof *note);
        prepare(a, lane, slot, note);
    }
    if (!worked(a, vyre_queue_submit(lane->queue, &ticket, &err), &err)) {
        lane->count = before;
        return;
    }
    for (uint32_t i = before; i < lane->count; i++)
        lane->notes[i].ticket = ticket + (i - before);
}

static void receive(struct actor *a, struct lane *lane)
{
    vyre_completion ends[SLOTS];
    vyre_error err;
    size_t count = 0;
    uint32_t least = chance(a, 3) ? random_below(&a->state, lane->count + 1) : 0;
    if (least != 0) end_endless(a);
    must(vyre_queue_reap_wait(lane->queue, ends, least, SLOTS, PATIENCE_NS, &count, &err), &err);
    for (size_t i = 0; i < count; i++)
        check_end(a, lane, &ends[i], a->arena->stops);
}

static void reopen(struct actor *a, struct lane *lane)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_error err;
    end_endless(a);
    while (lane->count != 0 && lane->queue && chance(a, 2))
        receive(a, lane);
    vyre_queue_close(lane->queue);
    for (uint32_t i = 0; i < lane->count; i++)
        if (lane->notes[i].desk) lane->notes[i].desk->busy = false;
    memset(lane, 0, sizeof *lane);
    options.slots = 1u << random_below(&a->state, 6);
    options.tenant = a->tenant;
    options.flags = random_below(&a->state, 3);
    worked(a, vyre_queue_open(a->arena->rt, &options, &lane->queue, &err), &err);
}

static void *act(void *argument)
{
    struct actor *a = argument;
    for (uint32_t i = 0; i < KINDS && !a->stopped; i++)
        load_own(a, (enum kind)i);
    for (uint32_t i = 0; i < QUEUES && !a->stopped; i++)
        reopen(a, &a->lanes[i]);
    for (uint32_t step = 0; step < STEPS && a->wrong == 0 && !a->stopped; step++) {
        struct lane *lane = &a->lanes[random_below(&a->state, QUEUES)];
        uint32_t action = random_below(&a->state, 24);
        if (action < 9) send(a, lane);
        if (action >= 9 && action < 16) receive(a, lane);
        if (action >= 16 && action < 19 && lane->count != 0)
            cancel_note(a, lane, &lane->notes[random_below(&a->state, lane->count)]);
        if (action >= 19 && action < 22) {
            struct desk *desk = &a->desks[random_below(&a->state, DESKS)];
            clear_desk(a, desk);
            if (!make_desk(a, desk)) clear_desk(a, desk);
        }
        if (action == 22 && chance(a, 2)) reload(a);
        if (action == 23 && chance(a, 4)) reopen(a, lane);
    }
    end_endless(a);
    return NULL;
}

/* One runtime from open to close.
 * ------------------------------------------------------------------------------------------- */

/* Receives what is left. */
static void settle(struct actor *a)
{
    for (uint32_t i = 0; i < QUEUES; i++) {
        struct lane *lane = &a->lanes[i];
        while (lane->queue && lane->count != 0 && a->wrong == 0) {
            vyre_completion end;
            vyre_error err;
            size_t count = 0;
            must(vyre_queue_reap_wait(lane->queue, &end, 1, 1, PATIENCE_NS, &count, &err), &err);
            if (count == 1) check_end(a, lane, &end, a->arena->stops);
            if (count == 0) complain(a, "%u slots never ended", lane->count);
        }
    }
}

/* Frees all that an actor has; after a while nothing is in use but what was there before it. */
static void leave(struct actor *a)
{
    vyre_error err;
    for (uint32_t i = 0; i < DESKS; i++)
        clear_desk(a, &a->desks[i]);
    for (uint32_t i = 0; i < KINDS; i++)
        worked(a, vyre_program_unload(a->own[i], &err), &err);
}

static void open_random(struct arena *arena, const vyre_allocator *hooks, uint32_t workers,
                        uint64_t *state)
{
    static const uint32_t budget[] = {1, 10, 100, 1000, 65536};
    static const uint32_t runs[] = {1, 2, 16, 256};
    static const uint32_t aside[] = {0, 1, 4, 64};
    vyre_options options = cpu_options(workers ? workers : 1u << random_below(state, 4));
    vyre_program_options any = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_error err;
    options.allocator = hooks;
    options.inflight_slots = 16u << random_below(state, 4);
    options.idle_spin_ns = random_below(state, 3) * 20000;
    options.ageing_ns = 1 + random_below(state, 2000000);
    options.step_budget = budget[random_below(state, 5)];
    options.run_slots = runs[random_below(state, 4)];
    options.continuations = aside[random_below(state, 4)];
    options.frame_bytes = 64u << 10;
    arena->rt = open_with(&options);
    register_op(arena->rt, OP_NATIVE, native, NULL);
    for (uint32_t i = 0; i < KINDS; i++)
        must(vyre_program_load_kernel(arena->rt, arena->kernel[i], &any, &arena->shared[i], &err),
             &err);
}

static uint32_t handles(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    return about.handles;
}

struct totals {
    uint64_t slots, done, cancelled, late, trapped;
};

/* Returns how much was wrong. */
static uint64_t one_round(struct arena *arena, uint64_t seed, uint32_t workers, struct totals *sum)
{
    static struct actor actors[THREADS];
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    pthread_t threads[THREADS];
    vyre_error err;
    uint64_t state = seed, wrong = 0;
    open_random(arena, &hooks, workers, &state);
    uint32_t count = 1 + random_below(&state, THREADS);
    bool stop = arena->stops = random_below(&state, 2) == 0;
    memset(actors, 0, sizeof actors);
    for (uint32_t i = 0; i < count; i++) {
        actors[i].arena = arena;
        actors[i].tenant = random_below(&state, 2);
        actors[i].state = random_next(&state);
        if (pthread_create(&threads[i], NULL, act, &actors[i]) != 0) bail("no thread");
    }
    for (uint32_t i = random_below(&state, 200); stop && i > 0; i--)
        breathe();
    if (stop) must(vyre_stop(arena->rt, &err), &err);
    for (uint32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < count; i++) {
        settle(&actors[i]);
        leave(&actors[i]);
        wrong += actors[i].wrong;
        if (actors[i].wrong) note("seed %llu: %s", (unsigned long long)seed, actors[i].first_wrong);
        sum->slots += actors[i].slots;
        sum->done += actors[i].done;
        sum->cancelled += actors[i].cancelled;
        sum->late += actors[i].late;
        sum->trapped += actors[i].trapped;
    }
    for (uint32_t i = 0; i < 200000 && !stop && handles(arena->rt) != KINDS + 1; i++)
        breathe();
    if (!stop && handles(arena->rt) != KINDS + 1 && ++wrong)
        note("seed %llu: %u handles are still in use", (unsigned long long)seed,
             handles(arena->rt) - KINDS - 1);
    vyre_close(arena->rt);
    if (!meter_clean(&meter)) note("seed %llu: memory was lost", (unsigned long long)seed);
    return wrong + !meter_clean(&meter);
}

int main(int argc, char **argv)
{
    uint64_t seconds = 5, seed = vyre_clock_ns(), rounds = 0, wrong = 0, workers = 0;
    struct totals sum = {0};
    struct arena arena = {0};
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (value && strcmp(argv[i], "--seconds") == 0)
            seconds = strtoull(argv[++i], NULL, 0);
        else if (value && strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[++i], NULL, 0);
        else if (value && strcmp(argv[i], "--workers") == 0)
            workers = strtoull(argv[++i], NULL, 0);
        else
            bail("usage: stress_programs [--seconds N] [--seed S] [--workers W]");
    }
    note("seed %llu", (unsigned long long)seed);
    for (uint32_t i = 0; i < KINDS; i++)
        arena.kernel[i] = stress_kernel((enum kind)i);
    uint64_t until = vyre_clock_after(vyre_clock_ns(), seconds * 1000000000u);
    while (wrong == 0 && (rounds == 0 || vyre_clock_ns() < until))
        wrong += one_round(&arena, seed + rounds++, (uint32_t)workers, &sum);
    is_u64(wrong, 0, "%llu runtimes", (unsigned long long)rounds);
    ok(sum.slots > 0 && sum.done > 0,
       "%llu slots: %llu done, %llu cancelled or stopped, %llu late, %llu trapped",
       (unsigned long long)sum.slots, (unsigned long long)sum.done,
       (unsigned long long)sum.cancelled, (unsigned long long)sum.late,
       (unsigned long long)sum.trapped);
    for (uint32_t i = 0; i < KINDS; i++)
        vyre_kernel_free(arena.kernel[i]);
    return done();
}
