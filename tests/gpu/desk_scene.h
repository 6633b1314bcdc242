/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The stage of t_gpu_desk.c: programs with binding sets and what should be in their buffers, single
 * runs that differ from the last one in one way, and other slots beside them. Include it first.
 */
#ifndef VYRE_TESTS_DESK_SCENE_H
#define VYRE_TESTS_DESK_SCENE_H

#include "pair.h"

enum { PROGRAMS = 3, SETS = 2, GROUPS = 9, DEPTH = 64, BESIDE = 24, MOST_WORDS = 2400 };

static uint64_t state; /* of the random numbers; the test sets it */

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

#endif
