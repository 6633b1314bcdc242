/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Single short programs, one at a time, each checked against plain C before the next: a resident
 * kernel runs them on the warps beside its poller, which remembers what the last one named. So
 * every next one differs from the last in one way, or in none: its scalars, grid, binding set,
 * windows, program, queue, tenant; or something that it names was given back and made anew. Alone,
 * and beside floods of other slots on the same queue and on another.
 *
 * Then how they end: the lowest of several workgroups that fault, as on the CPU; records of the
 * log; a fence right behind; a queue that is closed right behind; words that are no longer right; a
 * device that is paused, and one that parks all the time.
 *
 *   t_gpu_desk [--slots SINGLES] [--seed N]
 */
#include "desk_scene.h"

static struct gpu_args args;

static void check_singles(struct scene *scene, uint64_t runs, const char *where)
{
    uint32_t sum = 0;
    vyre_error err;
    for (uint64_t i = 0; i < runs && scene->wrong == 0; i++) {
        change(scene);
        run_single(scene, i % 4 == 3);
    }
    must(vyre_buffer_read(scene->sum, 0, &sum, 4, &err), &err);
    is_u64(scene->wrong, 0, "%s: %" PRIu64 " single runs, each as in plain C", where, runs);
    is_u64(sum, scene->added, "%s: the others beside them have all run, once", where);
}

/* How they end.
 * ------------------------------------------------------------------------------------------- */

/* A program that faults, or prints, on one runtime. */
struct stage {
    vyre *rt;
    vyre_queue *queue;
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_buffer *buffer[2];
};

enum { STAGE_LANES = 48, STAGE_GROUPS = 7, STAGE_WORDS = STAGE_LANES * STAGE_GROUPS };

static void stage_bind(struct stage *stage)
{
    vyre_buffer *const buffers[] = {stage->buffer[0], stage->buffer[1], NULL};
    vyre_error err;
    must(vyre_bindings_create(stage->program, buffers, 3, &stage->bindings, &err), &err);
}

static void stage_open(struct stage *stage, vyre *rt, uint32_t flags, const char *body)
{
    vyre_error err;
    stage->rt = rt;
    stage->queue = gpu_queue(rt, 16, 0, 0);
    stage->program = load(
        rt, 0, flags, "@workgroup(%u)\nkernel ends(in u32 x[], inout u32 y[], u32 k)\n{\n%s\n}\n",
        STAGE_LANES, body);
    for (uint32_t i = 0; i < 2; i++)
        must(vyre_buffer_create(rt, 4 * STAGE_WORDS, VYRE_DEVICE, &stage->buffer[i], &err), &err);
    stage_bind(stage);
}

static void stage_close(struct stage *stage)
{
    vyre_error err;
    vyre_bindings_free(stage->bindings);
    vyre_buffer_free(stage->buffer[0]);
    vyre_buffer_free(stage->buffer[1]);
    must(vyre_program_unload(stage->program, &err), &err);
    vyre_queue_close(stage->queue);
}

static uint64_t stage_submit(struct stage *stage, uint32_t groups, uint32_t k)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = stage->program;
    run.bindings = stage->bindings;
    run.grid[0] = groups;
    run.scalars = &k;
    run.scalar_count = 1;
    must(vyre_prep_run(next_slot(stage->queue), &run, &err), &err);
    return submit(stage->queue);
}

static vyre_completion stage_run(struct stage *stage, const uint32_t *x, uint32_t k)
{
    vyre_error err;
    if (x) must(vyre_buffer_write(stage->buffer[0], 0, x, 4 * STAGE_WORDS, &err), &err);
    return wait_for(stage->queue, stage_submit(stage, STAGE_GROUPS, k));
}

/* Several workgroups of a slot fault: the lowest is told, with all that the CPU tells of it. */
static void check_faults(struct pair *pair, uint32_t runs)
{
    static const struct {
        const char *name;
        uint32_t flags, fault;
        const char *body;
    } kinds[] = {
        {"traps", 0, VYRE_FAULT_TRAP, "    y[i] = k;\n    if (i & 1) assert(x[i] != k);\n"},
        {"places", VYRE_KERNEL_STRICT, VYRE_FAULT_OUT_OF_BOUNDS,
         "    y[x[i] == k && (i & 1) == 1 ? i + 4000 : i] = k;\n"},
        {"divisions", 0, VYRE_FAULT_DIVISION,
         "    if (i & 1) y[i] = u32(i32(k) / i32(x[i] ^ k));\n"},
    };
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        struct stage cpu, device;
        uint32_t wrong = 0, faults = 0;
        stage_open(&cpu, pair->cpu.rt, kinds[kind].flags, kinds[kind].body);
        stage_open(&device, pair->device.rt, kinds[kind].flags, kinds[kind].body);
        for (uint32_t run = 0; run < runs; run++) {
            uint32_t x[STAGE_WORDS], k = 1 + below(1000), lowest = STAGE_WORDS;
            for (uint32_t i = STAGE_WORDS; i-- > 0;) {
                x[i] = below(100) < run % 8 ? k : 0;
                if (x[i] == k && (i & 1)) lowest = i;
            }
            vyre_completion a = stage_run(&cpu, x, k), b = stage_run(&device, x, k);
            vyre_completion again = stage_run(&device, NULL, k);
            const bool faulted = lowest < STAGE_WORDS;
            wrong += !same_run_end(kinds[kind].name, &a, &b, SAME_RUN_PATIENT) ||
                     !same_run_end(kinds[kind].name, &a, &again, SAME_RUN_PATIENT) ||
                     again.fault != (faulted ? kinds[kind].fault : 0) ||
                     (faulted && again.result[2] != lowest / STAGE_LANES) ||
                     (faulted && again.result[5] != lowest % STAGE_LANES) ||
                     (!faulted && again.result[0] != STAGE_GROUPS);
            faults += faulted;
        }
        is_u64(wrong, 0, "%s: %u of %u runs fault, in the lowest workgroup", kinds[kind].name,
               faults, runs);
        stage_close(&cpu);
        stage_close(&device);
    }
}

/* Records of the log: of each run its own, with the place of its slot. */
static void check_prints(vyre *rt, uint32_t runs)
{
    struct stage stage;
    vyre_log_record records[64];
    uint64_t cursor = 0, lost = 0;
    size_t count = 0;
    uint32_t wrong = 0, x[STAGE_WORDS] = {0};
    vyre_error err;
    stage_open(&stage, rt, 0, "    if (x[i] != 0) print(\"%u has %u\", i, x[i] + k);\n");
    do {
        must(vyre_tenant_log(rt, 0, &cursor, records, 64, &count, &lost, &err), &err);
    } while (count != 0);
    for (uint32_t run = 0; run < runs; run++) {
        uint32_t k = (uint32_t)random_next(&state), told = 0, seen = 0;
        for (uint32_t i = 0; i < STAGE_WORDS; i++)
            told += x[i] = told < 60 && below(8) == 0;
        vyre_completion end = stage_run(&stage, x, k);
        must(vyre_tenant_log(rt, 0, &cursor, records, 64, &count, &lost, &err), &err);
        for (size_t i = 0; i < count; i++) {
            uint32_t at = records[i].a;
            if (at >= STAGE_WORDS || x[at] == 0 || records[i].b != 1 + k ||
                records[i].slot != (uint32_t)end.ticket % 16 * 16)
                continue;
            x[at] = 0;
            seen++;
        }
        wrong += end.outcome != VYRE_DONE || seen != told || count != told || lost != 0;
    }
    is_u64(wrong, 0, "%u runs that print: each record once, with its slot", runs);
    stage_close(&stage);
}

/* A fence right behind a single run ends after it; so does a queue that is closed. */
static void check_behind(vyre *rt, uint32_t runs)
{
    struct stage stage;
    uint32_t wrong = 0, late = 0, y[STAGE_WORDS], x[STAGE_WORDS];
    vyre_error err;
    /* As long as a program can be that is over soon. */
    stage_open(&stage, rt, 0,
               "    f32 v = f32(x[i] & 255);\n    v = sin(v) + cos(v);\n    v = exp(v) + sin(v);\n"
               "    y[i] = u32(v * 1000.0) + k;\n");
    for (uint32_t i = 0; i < STAGE_WORDS; i++)
        x[i] = (uint32_t)random_next(&state);
    stage_run(&stage, x, 5);
    must(vyre_buffer_read(stage.buffer[1], 0, x, sizeof x, &err), &err);
    for (uint32_t run = 0; run < runs; run++) {
        const uint32_t k = (uint32_t)random_next(&state);
        vyre_completion end;
        uint64_t ticket = stage_submit(&stage, STAGE_GROUPS, k);
        if (run % 3 != 0) {
            must(vyre_prep_fence(next_slot(stage.queue), 1, k, &err), &err);
            uint64_t fence = submit(stage.queue);
            late += wait_for(stage.queue, fence).outcome != VYRE_DONE;
            late += vyre_wait(stage.queue, ticket, 0, &end, &err) != VYRE_OK;
        } else {
            vyre_queue_close(stage.queue);
            stage.queue = gpu_queue(rt, 16, 0, 0);
        }
        must(vyre_buffer_read(stage.buffer[1], 0, y, sizeof y, &err), &err);
        for (uint32_t i = 0; i < STAGE_WORDS; i++)
            wrong += y[i] != x[i] - 5 + k;
        if (run % 2) wait_for(stage.queue, stage_submit(&stage, STAGE_GROUPS, 0));
    }
    is_u64(late, 0, "%u fences and closes right behind single runs come after them", runs);
    is_u64(wrong, 0, "and see what they have written");
    stage_close(&stage);
}

/* What a single run names is given back while it runs: it ends, and what comes to lie there is not
 * touched. */
static void check_given_back(vyre *rt, uint32_t runs)
{
    struct stage stage;
    uint32_t wrong = 0, touched = 0, y[STAGE_WORDS], x[STAGE_WORDS] = {0};
    vyre_error err;
    stage_open(&stage, rt, 0,
               "    f32 v = f32(i);\n    v = sin(v) + cos(v);\n    v = exp(v) + sin(v);\n"
               "    v = exp(v) + cos(v);\n    y[i] = u32(v) + x[i] + k;\n");
    for (uint32_t run = 0; run < runs; run++) {
        stage_run(&stage, x, run);
        uint64_t ticket = stage_submit(&stage, STAGE_GROUPS, run);
        vyre_bindings_free(stage.bindings);
        vyre_buffer_free(stage.buffer[1]);
        must(vyre_buffer_create(rt, sizeof x, VYRE_DEVICE, &stage.buffer[1], &err), &err);
        must(vyre_buffer_write(stage.buffer[1], 0, x, sizeof x, &err), &err);
        wrong += wait_for(stage.queue, ticket).outcome != VYRE_DONE;
        must(vyre_buffer_read(stage.buffer[1], 0, y, sizeof y, &err), &err);
        touched += memcmp(x, y, sizeof x) != 0;
        stage_bind(&stage);
    }
    is_u64(wrong, 0, "%u runs whose buffers are given back meanwhile end", runs);
    is_u64(touched, 0, "and leave those alone that are made then");
    stage_close(&stage);
}

/* The same words in two queues that are both open: what was right in one is not in the other. */
static void check_tenants(vyre *rt, uint32_t runs)
{
    struct stage stage;
    uint32_t wrong = 0, x[STAGE_WORDS] = {0};
    vyre_error err;
    stage_open(&stage, rt, 0, "    y[i] = x[i] + k;\n");
    vyre_queue *mine = stage.queue, *other = gpu_queue(rt, 16, 1, 0);
    for (uint32_t run = 0; run < runs; run++) {
        stage.queue = mine;
        for (uint32_t i = 0; i < 2; i++)
            wrong += stage_run(&stage, x, run).outcome != VYRE_DONE;
        stage.queue = other;
        must(vyre_prep_nop(next_slot(other), &err), &err); /* the poller's favourite from now on */
        wait_for(other, submit(other));
        wrong += stage_run(&stage, NULL, run).fault != VYRE_FAULT_HANDLE_RIGHTS;
    }
    is_u64(wrong, 0, "the same words in another tenant's queue: refused, %u times", runs);
    stage.queue = mine;
    vyre_queue_close(other);
    stage_close(&stage);
}

/* Words that were right a moment ago, in a queue of another tenant; and of a program under whose
 * opcode there is another one now. */
static void check_words(vyre *rt, uint32_t runs)
{
    struct stage stage;
    uint32_t wrong = 0, x[STAGE_WORDS] = {0};
    vyre_error err;
    stage_open(&stage, rt, 0, "    y[i] = x[i] + k;\n");
    for (uint32_t run = 0; run < runs; run++) {
        vyre_queue *mine = stage.queue;
        for (uint32_t i = 0; i < 3; i++)
            wrong += stage_run(&stage, x, run).outcome != VYRE_DONE;
        if (run % 2) vyre_queue_close(mine); /* its number is free for the next one */
        stage.queue = gpu_queue(rt, 16, 1, 0);
        for (uint32_t i = 0; i < 3; i++) {
            vyre_completion end = stage_run(&stage, NULL, run);
            wrong += end.fault != VYRE_FAULT_HANDLE_RIGHTS;
        }
        vyre_queue_close(stage.queue);
        stage.queue = run % 2 ? gpu_queue(rt, 16, 0, 0) : mine;
    }
    is_u64(wrong, 0, "the same words in a queue that another tenant opens: refused, %u times",
           runs);
    stage_close(&stage);
    vyre_queue *queue = gpu_queue(rt, 16, 0, 0);
    wrong = 0;
    for (uint32_t run = 0; run < 2 * runs; run++) {
        const uint32_t k = run & 1;
        vyre_program *program =
            load(rt, 5000, 0, "kernel one(u32 k)\n{\n    assert(k == %u);\n}\n", k);
        for (uint32_t i = 0; i < 4; i++) {
            vyre_run one = VYRE_RUN_INIT;
            const uint32_t given = i & 1;
            one.program = program;
            one.scalars = &given;
            one.scalar_count = 1;
            must(vyre_prep_run(next_slot(queue), &one, &err), &err);
            vyre_completion end = wait_for(queue, submit(queue));
            wrong += end.fault != (given == k ? 0 : VYRE_FAULT_TRAP);
        }
        must(vyre_program_unload(program, &err), &err);
    }
    is_u64(wrong, 0, "two programs that take turns under one opcode: each is itself");
    vyre_queue_close(queue);
}

static void check_pauses(struct scene *scene, uint32_t pauses)
{
    vyre_error err;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < pauses; i++) {
        struct subject *subject = &scene->subject[scene->single.subject];
        run_single(scene, false);
        must(vyre_pause(scene->rt, &err), &err);
        prepare(next_slot(scene->queue), subject, &scene->single);
        uint64_t ticket = submit(scene->queue);
        subject->x[scene->single.set].word[0] += 3; /* what waits will see it */
        words_write(&subject->x[scene->single.set], 0, 1);
        must(vyre_resume(scene->rt, &err), &err);
        wrong += wait_for(scene->queue, ticket).outcome != VYRE_DONE;
        expect(subject, &scene->single);
        wrong += !words_right(&subject->y[scene->single.set]);
        run_single(scene, false);
    }
    is_u64(wrong + scene->wrong, 0, "%u pauses between single runs, one of which waits for the end",
           pauses);
}

/* Words that are written while others of the same line are read all the time, by as many workers as
 * the device may have: a single run sees each as it was last written. */
static void check_neighbours(uint32_t rounds)
{
    struct stage stage;
    vyre_options options = gpu_options();
    vyre_description device = VYRE_DESCRIPTION_INIT;
    vyre_run run = VYRE_RUN_INIT;
    uint32_t wrong = 0, zero = 0, x[STAGE_WORDS] = {0}, y[STAGE_WORDS];
    vyre_error err;
    vyre *rt = gpu_open(&options);
    must(vyre_describe(rt, &device, &err), &err);
    vyre_queue *other = gpu_queue(rt, 16, 0, 0);
    stage_open(&stage, rt, 0, "    y[i] = x[k] + i;\n");
    vyre_program *reader = load(rt, 0, 0,
                                "@workgroup(32)\nkernel read(inout u32 x[], u32 k)\n{\n"
                                "    u32 sum = i;\n"
                                "    for (u32 r = 0; r < 4000000000; r++) sum += x[sum * k];\n"
                                "    x[8] = sum;\n}\n");
    vyre_buffer *const buffers[] = {stage.buffer[0], NULL};
    must(vyre_bindings_create(reader, buffers, 2, &run.bindings, &err), &err);
    run.program = reader;
    run.grid[0] = device.workers;
    run.scalars = &zero;
    run.scalar_count = 1;
    stage_run(&stage, x, 1);
    must(vyre_prep_run(next_slot(other), &run, &err), &err);
    uint64_t ticket = submit(other);
    for (uint32_t round = 1; round <= rounds; round++) {
        const uint32_t at = 1 + round % 7;
        must(vyre_buffer_write(stage.buffer[0], 4 * (size_t)at, &round, 4, &err), &err);
        wrong += stage_run(&stage, NULL, at).outcome != VYRE_DONE;
        must(vyre_buffer_read(stage.buffer[1], 0, y, sizeof y, &err), &err);
        for (uint32_t i = 0; i < STAGE_WORDS; i++)
            wrong += y[i] != round + i;
    }
    must(vyre_cancel(other, ticket, &err), &err);
    is_u64(wait_for(other, ticket).outcome, VYRE_CANCELLED, "%u workgroups that read ended late",
           device.workers);
    is_u64(wrong, 0, "%u words beside theirs are seen as they were last written", rounds);
    vyre_bindings_free(run.bindings);
    must(vyre_program_unload(reader, &err), &err);
    vyre_queue_close(other);
    stage_close(&stage);
    vyre_close(rt);
}

/* A device that parks after every rest, and comes back without what its poller knew. */
static void check_parking(uint64_t runs)
{
    static struct scene scene;
    vyre_options options = gpu_options();
    options.park_ns = options.idle_spin_ns = 50000;
    vyre *rt = gpu_open(&options);
    scene_open(&scene, rt);
    for (uint64_t i = 0; i < runs && scene.wrong == 0; i++) {
        if (below(3) == 0) breathe();
        change(&scene);
        run_single(&scene, false);
    }
    is_u64(scene.wrong, 0, "%" PRIu64 " single runs on a device that parks between them", runs);
    scene_close(&scene);
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    static struct scene scene;
    vyre_options options = gpu_options();
    struct pair pair;
    args = gpu_arguments(argc, argv, gpu_is_cuda() ? 40000 : 3000);
    state = args.seed;
    pair_open(&pair, &options);
    scene_open(&scene, pair.device.rt);
    check_singles(&scene, args.slots, "one at a time");
    check_pauses(&scene, args.slots < 500 ? 3 : 10);
    scene_close(&scene);
    const uint32_t some = (uint32_t)(args.slots / 20);
    check_faults(&pair, some);
    check_prints(pair.device.rt, some);
    check_behind(pair.device.rt, some);
    check_given_back(pair.device.rt, some);
    check_tenants(pair.device.rt, some);
    check_words(pair.device.rt, some / 10 + 2);
    pair_close(&pair);
    check_neighbours(some / 2 + 5);
    check_parking(args.slots / 20);
    return done();
}
