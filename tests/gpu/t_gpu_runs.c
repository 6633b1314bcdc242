/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Many runs under way together: several queues, each with a thread, full of runs of random grids,
 * with loops and without, fences between them, some with deadlines, some cancelled; programs and
 * binding sets are freed while their runs are in flight. Each workgroup adds to a word of its own,
 * so every one that was run twice, or not at all, is seen.
 *
 *   t_gpu_runs [--slots ROUNDS] [--seed N]      rounds of each thread
 */
#include "gpu.h"

enum { THREADS = 3, DEPTH = 64, GROUPS = 600, LOOPS = 3 };

static const char brief[] = "@workgroup(32)\n"
                            "kernel brief(inout u32 r[])\n"
                            "{\n"
                            "    if (local_index == 0) atomic_add(r[group_id.x], 1);\n"
                            "}\n";
static const char looping[] = "@workgroup(32)\n"
                              "kernel looping(inout u32 r[])\n"
                              "{\n"
                              "    for (u32 k = 0; k < 3; k += 1) {\n"
                              "        if (local_index == 0) atomic_add(r[group_id.x], 1);\n"
                              "    }\n"
                              "}\n";

struct crew {
    vyre *rt;
    uint64_t rounds, seed;
    bool unkind; /* deadlines and cancels */
    _Atomic uint32_t wrong;
    _Atomic uint64_t ended, cut; /* runs, and those that did not come to their own end */
};

struct worker {
    struct crew *crew;
    uint64_t state;
    vyre_queue *queue;
    uint32_t adds; /* of a workgroup */
    uint32_t count;
    uint64_t ticket[DEPTH];
    uint32_t grid[DEPTH]; /* 0: a fence, or a run of nothing */
    bool may_end[DEPTH];  /* otherwise than as done */
    uint32_t least[GROUPS], most[GROUPS];
};

static void complain(struct worker *worker, const char *what, uint32_t got, uint32_t least,
                     uint32_t most)
{
    if (atomic_fetch_add(&worker->crew->wrong, 1) < 5)
        note("%s: %u, not %u to %u", what, got, least, most);
}

static vyre_program *load(struct worker *worker)
{
    bool loops = random_below(&worker->state, 2) != 0;
    const char *source = loops ? looping : brief;
    vyre_program *program;
    vyre_error err;
    worker->adds = loops ? LOOPS : 1;
    must(vyre_program_compile(worker->crew->rt, source, strlen(source), NULL, NULL, &program, &err),
         &err);
    return program;
}

/* Prepares slot i. */
static void prepare(struct worker *worker, uint32_t i, vyre_program *program, vyre_bindings *set)
{
    vyre_slot *slot = next_slot(worker->queue);
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    worker->grid[i] = 0;
    worker->may_end[i] = false;
    if (random_below(&worker->state, 25) == 0) {
        must(vyre_prep_fence(slot, 1, 0, &err), &err);
        return;
    }
    worker->grid[i] =
        random_below(&worker->state, random_below(&worker->state, 3) ? GROUPS + 1 : 4);
    run.program = program;
    run.bindings = set;
    run.grid[0] = worker->grid[i];
    must(vyre_prep_run(slot, &run, &err), &err);
    if (!worker->crew->unkind || random_below(&worker->state, 10) != 0) return;
    worker->may_end[i] = true;
    must(vyre_slot_deadline(worker->queue, slot, random_below(&worker->state, 3000000), &err),
         &err);
}

/* Submits slots, some at a time. */
static void fill(struct worker *worker, vyre_program *program, vyre_bindings *set)
{
    uint32_t burst = 1 + random_below(&worker->state, DEPTH);
    worker->count = 1 + random_below(&worker->state, DEPTH);
    for (uint32_t i = 0; i < worker->count;) {
        uint32_t first = i;
        for (; i < worker->count && i < first + burst; i++)
            prepare(worker, i, program, set);
        uint64_t ticket = submit(worker->queue);
        for (uint32_t k = first; k < i; k++)
            worker->ticket[k] = ticket + (k - first);
    }
}

/* Waits for all; what each workgroup has been run at least, and at most. */
static void receive(struct worker *worker)
{
    memset(worker->least, 0, sizeof worker->least);
    memset(worker->most, 0, sizeof worker->most);
    for (uint32_t i = 0; i < worker->count; i++) {
        vyre_completion end = wait_for(worker->queue, worker->ticket[i]);
        bool done = end.outcome == VYRE_DONE;
        for (uint32_t group = 0; group < worker->grid[i]; group++) {
            worker->most[group] += worker->adds;
            if (done) worker->least[group] += worker->adds;
        }
        if (!done && !worker->may_end[i]) complain(worker, "a fault", end.fault, 0, 0);
        if (done && worker->grid[i] != 0 && end.result[0] != worker->grid[i])
            complain(worker, "workgroups of a run", end.result[0], worker->grid[i],
                     worker->grid[i]);
        atomic_fetch_add(&worker->crew->ended, 1);
        if (!done) atomic_fetch_add(&worker->crew->cut, 1);
    }
}

static void cancel_some(struct worker *worker)
{
    vyre_error err;
    for (uint32_t n = random_below(&worker->state, 4); n > 0; n--) {
        uint32_t i = random_below(&worker->state, worker->count);
        if (vyre_cancel(worker->queue, worker->ticket[i], &err) == VYRE_OK)
            worker->may_end[i] = true;
    }
}

static void one_round(struct worker *worker)
{
    static const uint32_t zero[GROUPS];
    uint32_t word[GROUPS];
    vyre_buffer *buffer;
    vyre_bindings *set;
    vyre_error err;
    vyre_program *program = load(worker);
    must(vyre_buffer_create(worker->crew->rt, sizeof zero, VYRE_DEVICE, &buffer, &err), &err);
    must(vyre_buffer_write(buffer, 0, zero, sizeof zero, &err), &err);
    must(vyre_bindings_create(program, &buffer, 1, &set, &err), &err);
    fill(worker, program, set);
    bool early = random_below(&worker->state, 2) != 0;
    if (early) vyre_bindings_free(set);
    if (early) must(vyre_program_unload(program, &err), &err);
    if (worker->crew->unkind) cancel_some(worker);
    receive(worker);
    must(vyre_buffer_read(buffer, 0, word, sizeof word, &err), &err);
    for (uint32_t i = 0; i < GROUPS; i++)
        if (word[i] < worker->least[i] || word[i] > worker->most[i])
            complain(worker, "what a workgroup adds", word[i], worker->least[i], worker->most[i]);
    if (!early) vyre_bindings_free(set);
    if (!early) must(vyre_program_unload(program, &err), &err);
    vyre_buffer_free(buffer);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->queue = gpu_queue(worker->crew->rt, DEPTH, 0, 0);
    for (uint64_t round = 0; round < worker->crew->rounds; round++)
        one_round(worker);
    vyre_queue_close(worker->queue);
    return NULL;
}

/* With so many runs in flight at most. */
static void crew_run(struct crew *crew, uint32_t run_slots)
{
    static struct worker workers[THREADS];
    pthread_t thread[THREADS];
    vyre_options options = gpu_options();
    vyre_description description = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    options.run_slots = run_slots;
    crew->rt = gpu_open(&options);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.crew = crew, .state = crew->seed + i * 1000};
        if (pthread_create(&thread[i], NULL, work, &workers[i]) != 0) bail("no thread");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    must(vyre_describe(crew->rt, &description, &err), &err);
    is_u64(description.restarts, 0, "never started again");
    vyre_close(crew->rt);
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, 20);
    static const uint32_t run_slots[] = {256, 16};
    for (uint32_t i = 0; i < 4; i++) {
        struct crew crew = {.rounds = args.slots, .seed = args.seed + i, .unkind = i % 2 != 0};
        crew_run(&crew, run_slots[i / 2]);
        is_u64(crew.wrong, 0, "%s, %u runs at a time: each workgroup once",
               crew.unkind ? "with deadlines and cancels" : "all to their end", run_slots[i / 2]);
        note("%" PRIu64 " slots ended, %" PRIu64 " of them not as done", crew.ended, crew.cut);
    }
    return done();
}
