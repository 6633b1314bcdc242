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
#include "pair.h"

enum { PROGRAMS = 3, SETS = 2, GROUPS = 9, DEPTH = 64, BESIDE = 24, MOST_WORDS = 2400 };

static struct gpu_args args;
static uint64_t state; /* of the random numbers */

static uint32_t below(uint32_t limit)
{
    return random_below(&state, limit);
}

/* Buffers and programs.
 * ------------------------------------------------------------------------------------------- */

static vyre_program *load(vyre *rt, uint32_t opcode, uint32_t flags, const char *format, ...)
{
    vyre_compile_options how = VYRE_COMPILE_OPTIONS_INIT;
    vyre_program_options under = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_program *program = NULL;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    char source[800];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(source, sizeof source, format, list);
    va_end(list);
    how.flags = flags;
    under.opcode = opcode;
    must(vyre_kernel_compile(source, (size_t)length, &how, &kernel, &err), &err);
    must(vyre_program_load_kernel(rt, kernel, &under, &program, &err), &err);
    vyre_kernel_free(kernel);
    return program;
}

/* A buffer, and what should be in it. */
struct words {
    vyre_buffer *buffer;
    uint32_t count, kind;
    uint32_t word[MOST_WORDS];
};

static void words_write(struct words *words, uint32_t first, uint32_t count)
{
    vyre_error err;
    must(vyre_buffer_write(words->buffer, 4 * (size_t)first, words->word + first, 4 * (size_t)count,
                           &err),
         &err);
}

static void words_make(vyre *rt, struct words *words, uint32_t count)
{
    vyre_error err;
    words->count = count;
    words->kind = below(4) == 0 ? VYRE_PINNED : VYRE_DEVICE;
    must(vyre_buffer_create(rt, 4 * (size_t)count, words->kind, &words->buffer, &err), &err);
    for (uint32_t i = 0; i < count; i++)
        words->word[i] = (uint32_t)random_next(&state) & (below(2) ? 7u : ~0u);
    words_write(words, 0, count);
}

static bool words_right(const struct words *words)
{
    static uint32_t found[MOST_WORDS];
    vyre_error err;
    must(vyre_buffer_read(words->buffer, 0, found, 4 * (size_t)words->count, &err), &err);
    return memcmp(found, words->word, 4 * (size_t)words->count) == 0;
}

/* A program that computes, with two binding sets. Its constant tells it from the others. */
struct subject {
    vyre_program *program;
    uint32_t lanes, constant;
    vyre_bindings *set[SETS];
    struct words x[SETS], y[SETS];
};

static void subject_load(vyre *rt, struct subject *subject)
{
    static const uint32_t lanes[] = {1, 3, 31, 32, 33, 64, 100, 128, 160, 192, 224, 257, 288, 1000};
    subject->lanes = lanes[below(sizeof lanes / sizeof lanes[0])];
    subject->constant = (uint32_t)random_next(&state);
    subject->program = load(rt, 0, 0,
                            "@workgroup(%u)\n"
                            "kernel single(in u32 x[], inout u32 y[], u32 a, u32 b)\n"
                            "{\n"
                            "    u32 v = x[i] * a + y[i];\n"
                            "    if ((v & 3) != 0) v ^= b + %u;\n"
                            "    y[i] = v + i;\n"
                            "}\n",
                            subject->lanes, subject->constant);
}

static void subject_bind(struct subject *subject, uint32_t set)
{
    vyre_buffer *const buffers[] = {subject->x[set].buffer, subject->y[set].buffer, NULL, NULL};
    vyre_error err;
    must(vyre_bindings_create(subject->program, buffers, 4, &subject->set[set], &err), &err);
}

static void subject_make(vyre *rt, struct subject *subject)
{
    subject_load(rt, subject);
    for (uint32_t set = 0; set < SETS; set++) {
        const uint32_t all = subject->lanes * GROUPS, most = all < MOST_WORDS ? all : MOST_WORDS;
        words_make(rt, &subject->x[set], 1 + below(most));
        words_make(rt, &subject->y[set], below(3) ? most : 1 + below(8));
        subject_bind(subject, set);
    }
}

static void subject_free(struct subject *subject)
{
    vyre_error err;
    for (uint32_t set = 0; set < SETS; set++) {
        vyre_bindings_free(subject->set[set]);
        vyre_buffer_free(subject->x[set].buffer);
        vyre_buffer_free(subject->y[set].buffer);
    }
    must(vyre_program_unload(subject->program, &err), &err);
}

/* Single runs.
 * ------------------------------------------------------------------------------------------- */

struct single {
    uint32_t subject, set, groups, scalar[2];
    uint32_t windows, first[2], count[2]; /* in words, of x and y */
};

struct scene {
    vyre *rt;
    vyre_queue *queue, *other;
    struct subject subject[PROGRAMS];
    struct single single;
    vyre_program *adder;
    vyre_bindings *adds;
    vyre_buffer *sum;
    uint32_t added; /* what the sum should be */
    uint32_t wrong;
};

static void complain(struct scene *scene, const char *what, const vyre_completion *end)
{
    const struct single *one = &scene->single;
    if (scene->wrong++ > 4) return;
    note("%s: %u lanes, %u groups, set %u, %u windows, x[%u], y[%u]: outcome %u, fault %u, pc %u, "
         "%u ended, %u out of bounds",
         what, scene->subject[one->subject].lanes, one->groups, one->set, one->windows,
         one->count[0], one->count[1], end->outcome, end->fault, end->pc, end->result[0],
         end->out_of_bounds);
}

/* Does in plain C what the program does; how many accesses are out of bounds. */
static uint32_t expect(struct subject *subject, const struct single *one)
{
    const uint32_t *x = subject->x[one->set].word + one->first[0];
    uint32_t *y = subject->y[one->set].word + one->first[1], lost = 0;
    for (uint32_t i = 0; i < subject->lanes * one->groups; i++) {
        const bool in = i < one->count[0], out = i < one->count[1];
        uint32_t v = (in ? x[i] : 0) * one->scalar[0] + (out ? y[i] : 0);
        if ((v & 3) != 0) v ^= one->scalar[1] + subject->constant;
        if (out) y[i] = v + i;
        lost += !in + 2u * !out;
    }
    return lost;
}

static void prepare(vyre_slot *slot, const struct subject *subject, const struct single *one)
{
    vyre_run_window window[2];
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    for (uint32_t k = 0; k < 2; k++)
        window[k] = (vyre_run_window){k, 4 * one->first[k], 4 * one->count[k]};
    run.program = subject->program;
    run.bindings = subject->set[one->set];
    run.grid[0] = one->groups;
    run.scalars = one->scalar;
    run.scalar_count = 2;
    run.windows = window;
    run.window_count = one->windows;
    must(vyre_prep_run(slot, &run, &err), &err);
}

/* The program sees all of its buffers. */
static void whole(struct scene *scene)
{
    struct single *one = &scene->single;
    const struct subject *subject = &scene->subject[one->subject];
    one->windows = one->first[0] = one->first[1] = 0;
    one->count[0] = subject->x[one->set].count;
    one->count[1] = subject->y[one->set].count;
}

static void some_windows(struct scene *scene)
{
    struct single *one = &scene->single;
    whole(scene);
    one->windows = 1 + below(2);
    for (uint32_t k = 0; k < one->windows; k++) {
        one->first[k] = below((one->count[k] + 3) / 4) * 4;
        one->count[k] -= one->first[k];
        if (below(2)) one->count[k] = 1 + below(one->count[k]);
    }
}

/* Gives a set back. The same words then name nothing, until something else has their numbers. */
static void forget_set(struct scene *scene)
{
    struct subject *subject = &scene->subject[scene->single.subject];
    const uint32_t set = scene->single.set;
    vyre_slot *slot = next_slot(scene->queue), words;
    vyre_error err;
    prepare(slot, subject, &scene->single);
    words = *slot;
    must(vyre_prep_nop(slot, &err), &err);
    wait_for(scene->queue, submit(scene->queue));
    vyre_bindings_free(subject->set[set]);
    slot = next_slot(scene->queue);
    must(vyre_prep_op(slot, words.word[VYRE_SLOT_OPCODE], words.word + VYRE_SLOT_ARG0,
                      VYRE_SLOT_ARGS, &err),
         &err);
    vyre_completion end = wait_for(scene->queue, submit(scene->queue));
    if (end.outcome != VYRE_FAULTED || end.fault != VYRE_FAULT_BAD_HANDLE)
        complain(scene, "a set that was given back", &end);
}

static void change(struct scene *scene)
{
    struct single *one = &scene->single;
    struct subject *subject = &scene->subject[one->subject];
    const uint32_t how = below(100);
    vyre_error err;
    if (how < 50) return;
    if (how < 60) {
        one->groups = 1 + below(GROUPS);
    } else if (how < 70) {
        one->set = below(SETS);
    } else if (how < 78) {
        one->subject = below(PROGRAMS);
    } else if (how < 85) {
        some_windows(scene);
        return;
    } else if (how < 88) {
        subject->x[one->set].word[0] ^= (uint32_t)random_next(&state);
        words_write(&subject->x[one->set], 0, 1);
    } else if (how < 92) {
        forget_set(scene);
        subject_bind(subject, one->set);
    } else if (how < 96) { /* a buffer of the same size, maybe at the same place */
        struct words *words = below(2) ? &subject->x[one->set] : &subject->y[one->set];
        vyre_bindings_free(subject->set[one->set]);
        vyre_buffer_free(words->buffer);
        words_make(scene->rt, words, words->count);
        subject_bind(subject, one->set);
    } else {
        for (uint32_t set = 0; set < SETS; set++)
            vyre_bindings_free(subject->set[set]);
        must(vyre_program_unload(subject->program, &err), &err);
        subject_load(scene->rt, subject);
        for (uint32_t set = 0; set < SETS; set++)
            subject_bind(subject, set);
    }
    whole(scene);
}

/* Other slots: each adds to the sum, or is a NOP. */
static uint64_t put_others(struct scene *scene, vyre_queue *queue, uint32_t count, bool programs)
{
    vyre_error err;
    for (uint32_t i = 0; i < count; i++) {
        vyre_slot *slot = next_slot(queue);
        vyre_run run = VYRE_RUN_INIT;
        run.program = scene->adder;
        run.bindings = scene->adds;
        run.scalars = &i;
        run.scalar_count = 1;
        must(programs ? vyre_prep_run(slot, &run, &err) : vyre_prep_nop(slot, &err), &err);
        if (programs) scene->added += 32 * i;
    }
    return submit(queue);
}

static void wait_others(struct scene *scene, vyre_queue *queue, uint64_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        vyre_completion end = wait_for(queue, first + i);
        if (end.outcome != VYRE_DONE) complain(scene, "a slot of the flood", &end);
    }
}

/* One single run, checked; `company`: among others. */
static void run_single(struct scene *scene, bool company)
{
    struct single *one = &scene->single;
    struct subject *subject = &scene->subject[one->subject];
    const uint32_t before = company ? below(BESIDE) : 0, behind = company ? below(3) : 0;
    const bool programs = below(2) != 0, same = below(2) != 0;
    vyre_queue *beside = same ? scene->queue : scene->other;
    uint64_t first = before ? put_others(scene, beside, before, programs) : 0;
    one->scalar[0] = (uint32_t)random_next(&state);
    one->scalar[1] = below(2) ? below(16) : (uint32_t)random_next(&state);
    prepare(next_slot(scene->queue), subject, one);
    uint64_t ticket = submit(scene->queue);
    uint64_t last = behind ? put_others(scene, scene->queue, behind, !programs) : 0;
    vyre_completion end = wait_for(scene->queue, ticket);
    const uint32_t lost = expect(subject, one);
    if (end.outcome != VYRE_DONE || end.ticket != ticket || end.result[0] != one->groups ||
        end.opcode != vyre_program_opcode(subject->program) || end.out_of_bounds != lost)
        complain(scene, "a single run", &end);
    else if (!words_right(&subject->y[one->set]))
        complain(scene, "what a single run leaves", &end);
    if (before) wait_others(scene, beside, first, before);
    if (behind) wait_others(scene, scene->queue, last, behind);
}

static void scene_open(struct scene *scene, vyre *rt)
{
    vyre_error err;
    memset(scene, 0, sizeof *scene);
    scene->rt = rt;
    scene->queue = gpu_queue(rt, DEPTH, 0, 0);
    scene->other = gpu_queue(rt, DEPTH, 0, 0);
    for (uint32_t i = 0; i < PROGRAMS; i++)
        subject_make(rt, &scene->subject[i]);
    scene->adder = load(rt, 0, 0,
                        "@workgroup(32)\nkernel add(inout u32 sum[1], u32 k)\n"
                        "{\n    atomic_add(sum[0], k);\n}\n");
    must(vyre_buffer_create(rt, 4, VYRE_DEVICE, &scene->sum, &err), &err);
    must(vyre_buffer_write(scene->sum, 0, &scene->added, 4, &err), &err);
    vyre_buffer *const buffers[] = {scene->sum, NULL};
    must(vyre_bindings_create(scene->adder, buffers, 2, &scene->adds, &err), &err);
    scene->single.groups = 3;
    whole(scene);
}

static void scene_close(struct scene *scene)
{
    vyre_error err;
    for (uint32_t i = 0; i < PROGRAMS; i++)
        subject_free(&scene->subject[i]);
    vyre_bindings_free(scene->adds);
    vyre_buffer_free(scene->sum);
    must(vyre_program_unload(scene->adder, &err), &err);
    vyre_queue_close(scene->queue);
    vyre_queue_close(scene->other);
}

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
    check_parking(args.slots / 20);
    return done();
}
