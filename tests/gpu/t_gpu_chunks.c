/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Short programs among plain slots, many at once: a warp runs chunks with programs in them, chunks
 * without, and workgroups of larger runs of the same programs, one after the other in the same
 * room, where it keeps what it has made ready. The programs' code and registers are of many sizes,
 * up to more than a room has, so that they end before, in and behind the place where a chunk's rows
 * lie. Every slot leaves what C computes.
 *
 *   t_gpu_chunks [--slots N] [--seed N]
 */
#include "gpu.h"
#include "source_text.h"

enum { KINDS = 4, DEPTH = 512, MOST_LANES = 256, MOST_WORDS = 40, MOST_LINES = 160 };

static uint64_t state;

/* A program: from as many words a lane, so many lines that mix one of them with the next. */
struct kind {
    uint32_t lanes, words, lines;
    uint32_t factor[MOST_LINES];
    vyre_program *program;
    vyre_bindings *bindings;
};

struct crowd {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *buffer; /* MOST_LANES words for each slot of a round */
    struct kind kind[KINDS];
    uint32_t picked[DEPTH]; /* of which kind each slot of the round is; KINDS: a plain one */
    uint32_t seed[DEPTH], groups[DEPTH];
    uint32_t got[DEPTH * MOST_LANES];
    uint64_t programs, larger, plain, wrong;
};

/* Lane i of a workgroup begins with v_k = seed + (k + 1) i and ends with the sum of all, which goes
 * to y[base + i]: all workgroups of a run store the same. */
static char *kind_source(const struct kind *kind)
{
    struct source_text made = {0};
    source_add(&made,
               "@workgroup(%u)\nkernel mix(inout u32 y[], u32 seed, u32 base)\n{\n"
               "    const u32 l = i %% %u;\n",
               kind->lanes, kind->lanes);
    for (uint32_t k = 0; k < kind->words; k++)
        source_add(&made, "    u32 v%u = seed + %u * l;\n", k, k + 1);
    for (uint32_t line = 0; line < kind->lines; line++)
        source_add(&made, "    v%u = v%u * %u + v%u;\n", line % kind->words,
                   (line + 1) % kind->words, kind->factor[line], line % kind->words);
    source_add(&made, "    y[base + l] = v0");
    for (uint32_t k = 1; k < kind->words; k++)
        source_add(&made, " + v%u", k);
    source_add(&made, ";\n}\n");
    return made.text;
}

static uint32_t kind_result(const struct kind *kind, uint32_t seed, uint32_t i)
{
    uint32_t v[MOST_WORDS], sum = 0;
    for (uint32_t k = 0; k < kind->words; k++)
        v[k] = seed + (k + 1) * i;
    for (uint32_t line = 0; line < kind->lines; line++)
        v[line % kind->words] += v[(line + 1) % kind->words] * kind->factor[line];
    for (uint32_t k = 0; k < kind->words; k++)
        sum += v[k];
    return sum;
}

static void kind_load(struct crowd *crowd, struct kind *kind)
{
    static const uint32_t lanes[] = {1, 32, 50, 64, 128, 200, 256};
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_buffer *const buffers[] = {crowd->buffer, NULL, NULL};
    vyre_kernel *kernel = NULL;
    vyre_error err;
    kind->lanes = lanes[random_below(&state, sizeof lanes / sizeof lanes[0])];
    kind->words = 1 + random_below(&state, random_below(&state, 2) ? MOST_WORDS : 6);
    kind->lines = 1 + random_below(&state, random_below(&state, 3) ? MOST_LINES : 20);
    for (uint32_t line = 0; line < kind->lines; line++)
        kind->factor[line] = (uint32_t)random_next(&state) | 1;
    char *source = kind_source(kind);
    must(vyre_kernel_compile(source, strlen(source), &options, &kernel, &err), &err);
    must(vyre_program_load_kernel(crowd->rt, kernel, NULL, &kind->program, &err), &err);
    must(vyre_bindings_create(kind->program, buffers, 3, &kind->bindings, &err), &err);
    vyre_kernel_free(kernel);
    free(source);
}

static void kind_unload(struct kind *kind)
{
    vyre_error err;
    vyre_bindings_free(kind->bindings);
    must(vyre_program_unload(kind->program, &err), &err);
}

static void put_program(struct crowd *crowd, uint32_t at)
{
    const struct kind *kind = &crowd->kind[crowd->picked[at]];
    const uint32_t scalars[] = {crowd->seed[at], at * MOST_LANES};
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = kind->program;
    run.bindings = kind->bindings;
    run.grid[0] = crowd->groups[at];
    run.scalars = scalars;
    run.scalar_count = 2;
    must(vyre_prep_run(next_slot(crowd->queue), &run, &err), &err);
}

/* A plain slot whose words are none that a program would like. */
static void put_plain(struct crowd *crowd, uint32_t at)
{
    vyre_error err;
    vyre_slot *slot = next_slot(crowd->queue);
    if (crowd->seed[at] & 1)
        must(vyre_prep_nop(slot, &err), &err);
    else
        must(vyre_prep_store_u32(slot, VYRE_CONTROL_OBSERVABLE + at % 8, crowd->seed[at], &err),
             &err);
}

/* Fills a round with stretches of one kind, short and long, and submits it in a few packs. Returns
 * the first ticket. */
static uint64_t put_round(struct crowd *crowd)
{
    uint32_t at = 0, packs = 0;
    const uint32_t rarely = random_below(&state, 2) ? 4 : 40; /* there is a larger run */
    uint64_t first = 0;
    while (at < DEPTH) {
        uint32_t length = 1 + random_below(&state, random_below(&state, 2) ? 4 : 80);
        uint32_t picked = random_below(&state, 2) ? random_below(&state, KINDS) : KINDS;
        for (; length > 0 && at < DEPTH; length--, at++) {
            crowd->picked[at] = picked;
            crowd->seed[at] = (uint32_t)random_next(&state);
            crowd->groups[at] = random_below(&state, rarely) ? 1 : 1 + random_below(&state, 60);
            if (picked < KINDS)
                put_program(crowd, at);
            else
                put_plain(crowd, at);
        }
        if (at < DEPTH && random_below(&state, 3)) continue;
        uint64_t ticket = submit(crowd->queue);
        if (packs++ == 0) first = ticket;
    }
    return first;
}

/* Whether slot `at` has ended, and its words are as they should be. */
static bool slot_right(const struct crowd *crowd, uint32_t at, const vyre_completion *end)
{
    if (end->outcome != VYRE_DONE) return false;
    if (crowd->picked[at] == KINDS) return true;
    const struct kind *kind = &crowd->kind[crowd->picked[at]];
    for (uint32_t i = 0; i < kind->lanes; i++)
        if (crowd->got[at * MOST_LANES + i] != kind_result(kind, crowd->seed[at], i)) return false;
    return true;
}

static void complain(struct crowd *crowd, uint32_t at, const vyre_completion *end)
{
    static const struct kind plain;
    const struct kind *kind = crowd->picked[at] == KINDS ? &plain : &crowd->kind[crowd->picked[at]];
    if (crowd->wrong++ < 5)
        note("slot %u, %u workgroups of %u lanes, %u words, %u lines: outcome %u, fault %u, pc %u",
             at, crowd->groups[at], kind->lanes, kind->words, kind->lines, end->outcome, end->fault,
             end->pc);
}

static void check_round(struct crowd *crowd)
{
    static vyre_completion end[DEPTH];
    vyre_error err;
    uint64_t first = put_round(crowd);
    for (uint32_t at = 0; at < DEPTH; at++)
        end[at] = wait_for(crowd->queue, first + at);
    must(vyre_buffer_read(crowd->buffer, 0, crowd->got, sizeof crowd->got, &err), &err);
    for (uint32_t at = 0; at < DEPTH; at++) {
        if (!slot_right(crowd, at, &end[at])) complain(crowd, at, &end[at]);
        crowd->programs += crowd->picked[at] < KINDS;
        crowd->larger += crowd->picked[at] < KINDS && crowd->groups[at] > 1;
        crowd->plain += crowd->picked[at] == KINDS;
    }
}

int main(int argc, char **argv)
{
    static struct crowd crowd;
    vyre_options options = gpu_options();
    vyre_error err;
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 1000000 : 20000);
    state = args.seed;
    crowd.rt = gpu_open(&options);
    crowd.queue = gpu_queue(crowd.rt, DEPTH, 0, 0);
    must(vyre_buffer_create(crowd.rt, sizeof crowd.got, VYRE_DEVICE, &crowd.buffer, &err), &err);
    for (uint64_t done_slots = 0; done_slots < args.slots && crowd.wrong == 0;) {
        for (uint32_t k = 0; k < KINDS; k++)
            kind_load(&crowd, &crowd.kind[k]);
        for (uint32_t round = 0; round < 3 && done_slots < args.slots; round++) {
            check_round(&crowd);
            done_slots += DEPTH;
        }
        for (uint32_t k = 0; k < KINDS; k++)
            kind_unload(&crowd.kind[k]);
    }
    is_u64(crowd.wrong, 0,
           "%" PRIu64 " programs, %" PRIu64 " of several workgroups, among %" PRIu64 " plain slots",
           crowd.programs, crowd.larger, crowd.plain);
    vyre_buffer_free(crowd.buffer);
    vyre_queue_close(crowd.queue);
    vyre_close(crowd.rt);
    return done();
}
