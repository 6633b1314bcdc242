/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Small programs without loops, made at random, each run a few times one after the other, on the
 * CPU and on the device under test: the same bytes and ends. A resident kernel has a loop of its
 * own for them, which goes straight on and leaves to another what is not as usual. So these have
 * all that it does (ids, lengths, scalars, words, loads, stores) and, now and then, all that it
 * leaves: lanes that part, that meet at an element, that are out of bounds, that end early, that
 * divide.
 *
 * Each workgroup has a part of the results to itself, so that their order is no matter.
 *
 * With a vyre-host that damages programs (t_gpu_mutants.c says how) and VYRE_TEST_MUTATE=<seed> in
 * the environment nobody knows what they compute: then each must end, and leave alone what it has
 * no right to write, and the device must never have to be started again.
 *
 *   t_gpu_lean [--slots RUNS] [--seed N]
 */
#include "gpu.h"

#include "same_run.h"
#include "source_text.h"

enum { SPAN = 64, GROUPS = 12, WORDS = SPAN * GROUPS, RUNS_EACH = 4, BUFFERS = 3, SCALARS = 3 };

static struct gpu_args args;
static uint64_t state;
static bool damaged; /* what runs is not what was loaded */

static uint32_t below(uint32_t limit)
{
    return random_below(&state, limit);
}

/* Sources.
 * ------------------------------------------------------------------------------------------- */

/* How many variables there are so far, words and floats. */
struct scope {
    struct source_text made;
    uint32_t words, floats;
    uint32_t odd; /* one statement in so many is of the kind that is left; 0: none */
};

static void add_word(struct scope *scope, uint32_t depth);

static void add_float(struct scope *scope, uint32_t depth)
{
    struct source_text *made = &scope->made;
    static const char *const operation[] = {" + ", " - ", " * "};
    switch (depth == 0 ? below(3) : below(6)) {
    case 0:
        source_add(made, "a");
        break;
    case 1:
        source_add(made, "f%u", below(scope->floats));
        break;
    case 2:
        source_add(made, "%u.5", below(100));
        break;
    case 3:
        source_add(made, "f32(");
        add_word(scope, depth - 1);
        source_add(made, " & 4095)");
        break;
    default:
        source_add(made, "(");
        add_float(scope, depth - 1);
        source_add(made, "%s", operation[below(3)]);
        add_float(scope, depth - 1);
        source_add(made, ")");
        break;
    }
}

static void add_word(struct scope *scope, uint32_t depth)
{
    struct source_text *made = &scope->made;
    static const char *const leaf[] = {"i",      "local_id.x", "group_id.x", "group_id.y", "len(x)",
                                       "len(y)", "k",          "m",          "base"};
    static const char *const operation[] = {" + ", " - ", " * ",  " ^ ",
                                            " | ", " & ", " << ", " >> "};
    switch (depth == 0 ? below(3) : below(7)) {
    case 0:
        source_add(made, "%s", leaf[below(9)]);
        break;
    case 1:
        source_add(made, "v%u", below(scope->words));
        break;
    case 2:
        source_add(made, "%u", below(2) ? below(70) : (uint32_t)random_next(&state));
        break;
    case 3:
        source_add(made, "%s(", below(2) ? "min" : "max");
        add_word(scope, depth - 1);
        source_add(made, ", ");
        add_word(scope, depth - 1);
        source_add(made, ")");
        break;
    default:
        source_add(made, "(");
        add_word(scope, depth - 1);
        source_add(made, "%s", operation[below(8)]);
        add_word(scope, depth - 1);
        source_add(made, ")");
        break;
    }
}

/* An element of the workgroup's part. */
static void add_place(struct scope *scope)
{
    static const char *const usual[] = {"local_id.x", "63 - local_id.x", "(local_id.x ^ k & 63)",
                                        "(local_id.x + m) % 64"};
    struct source_text *made = &scope->made;
    source_add(made, "base + ");
    if (scope->odd != 0 && below(scope->odd) == 0) {
        source_add(made, "(");
        add_word(scope, 1);
        source_add(made, ") %% 64");
    } else {
        source_add(made, "%s", below(4) != 0 ? usual[0] : usual[1 + below(3)]);
    }
}

static void add_statement(struct scope *scope, uint32_t depth)
{
    struct source_text *made = &scope->made;
    const int odd = scope->odd != 0 && below(scope->odd) == 0;
    switch (below(depth != 0 ? 8 : 6)) {
    case 0: /* its number counts only when the statement is complete */
        source_add(made, "    v%u = ", below(scope->words));
        add_word(scope, 2);
        break;
    case 1:
        source_add(made, "    f%u = ", below(scope->floats));
        add_float(scope, 2);
        break;
    case 2:
        source_add(made, "    v%u = x[", below(scope->words));
        if (odd && below(2)) {
            source_add(made, "x[base + local_id.x]");
        } else if (odd) {
            add_word(scope, 1);
        } else {
            add_place(scope);
        }
        source_add(made, "]");
        break;
    case 3:
        if (below(3) == 0) {
            source_add(made, "    z[");
            add_place(scope);
            source_add(made, "] = ");
            add_float(scope, 1);
        } else if (below(3) == 0) { /* sums and products of whatever is there */
            static const char *const operation[] = {"+", "-", "*"};
            source_add(made, "    z[base + local_id.x] = z[base + local_id.x] %s z[",
                       operation[below(3)]);
            add_place(scope);
            source_add(made, "]");
        } else {
            source_add(made, "    f%u = z[", below(scope->floats));
            add_place(scope);
            source_add(made, "]");
        }
        break;
    case 4:
        source_add(made, "    y[");
        if (odd && below(4) == 0) source_add(made, "4000000000 + ");
        add_place(scope);
        source_add(made, "] = ");
        add_word(scope, 2);
        break;
    case 5:
        source_add(made, odd ? "    v%u = v%u / (v%u & 7)" : "    v%u += v%u ^ y[base + v%u %% 64]",
                   below(scope->words), below(scope->words), below(scope->words));
        break;
    case 6: {
        static const char *const all[] = {"k < 4000000000", "len(x) > 3", "m == 77", "k > m"};
        static const char *const some[] = {"i < k", "local_id.x < 20", "(i & 1) == 0", "v0 > k"};
        source_add(made, "    if (%s) {\n", odd ? some[below(4)] : all[below(4)]);
        add_statement(scope, depth - 1);
        add_statement(scope, depth - 1);
        if (below(2)) {
            source_add(made, "    } else {\n");
            add_statement(scope, depth - 1);
        }
        source_add(made, "    }\n");
        return;
    }
    default:
        if (odd)
            source_add(made, "    if (local_id.x == m %% 50) return");
        else
            source_add(made, "    y[base + local_id.x] = u32(f%u) + v%u", below(scope->floats),
                       below(scope->words));
        break;
    }
    source_add(made, ";\n");
}

/* A kernel of `lanes`; its grid is given for `base`. */
static char *make_source(uint32_t lanes, const uint32_t grid[3], uint32_t odd)
{
    struct scope scope = {.odd = odd};
    source_add(
        &scope.made,
        "@workgroup(%u)\nkernel some(in u32 x[], inout u32 y[], inout f32 z[], f32 a, u32 k, "
        "u32 m)\n{\n",
        lanes);
    source_add(&scope.made,
               "    u32 base = (group_id.x + group_id.y * %u + group_id.z * %u) * %u;\n", grid[0],
               grid[0] * grid[1], (uint32_t)SPAN);
    source_add(&scope.made, "    u32 v0 = i * 3;\n    f32 f0 = a;\n");
    scope.words = scope.floats = 1;
    for (uint32_t more = below(4); more != 0; more--) {
        source_add(&scope.made, "    u32 v%u = ", scope.words);
        add_word(&scope, 1);
        source_add(&scope.made, ";\n    f32 f%u = ", scope.floats);
        add_float(&scope, 1);
        source_add(&scope.made, ";\n");
        scope.words++;
        scope.floats++;
    }
    for (uint32_t lines = 1 + below(8); lines != 0; lines--)
        add_statement(&scope, 2);
    source_add(&scope.made,
               "    y[base + local_id.x] = y[base + local_id.x] * 31 + v0 + u32(f0);\n}\n");
    return scope.made.text;
}

/* Runs.
 * ------------------------------------------------------------------------------------------- */

struct side {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *buffer[BUFFERS];
    vyre_buffer *beside[BUFFERS]; /* one behind each, which no program has */
    vyre_program *program;
    vyre_bindings *bindings;
    vyre_completion end;
    uint32_t after[BUFFERS][WORDS];
};

static void side_open(struct side *side, vyre *rt, const uint32_t *words)
{
    vyre_error err;
    side->rt = rt;
    side->queue = vyre_queue_default(rt);
    for (uint32_t i = 0; i < BUFFERS; i++) {
        must(vyre_buffer_create(rt, 4 * WORDS, VYRE_DEVICE, &side->buffer[i], &err), &err);
        must(vyre_buffer_create(rt, 4 * WORDS, VYRE_DEVICE, &side->beside[i], &err), &err);
        must(vyre_buffer_write(side->buffer[i], 0, words, 4 * WORDS, &err), &err);
        must(vyre_buffer_write(side->beside[i], 0, words, 4 * WORDS, &err), &err);
    }
}

/* Whether what no program may write is as it was. */
static bool side_intact(struct side *side, const uint32_t *words)
{
    static uint32_t now[WORDS];
    vyre_error err;
    for (uint32_t i = 0; i <= BUFFERS; i++) {
        vyre_buffer *buffer = i < BUFFERS ? side->beside[i] : side->buffer[0];
        must(vyre_buffer_read(buffer, 0, now, sizeof now, &err), &err);
        if (memcmp(now, words, sizeof now) != 0) return false;
    }
    return true;
}

static void side_load(struct side *side, vyre_kernel *kernel)
{
    vyre_buffer *const buffers[] = {
        side->buffer[0], side->buffer[1], side->buffer[2], NULL, NULL, NULL};
    vyre_error err;
    must(vyre_program_load_kernel(side->rt, kernel, NULL, &side->program, &err), &err);
    must(vyre_bindings_create(side->program, buffers, 6, &side->bindings, &err), &err);
}

static void side_run(struct side *side, const uint32_t grid[3], const uint32_t *scalars)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = side->program;
    run.bindings = side->bindings;
    memcpy(run.grid, grid, sizeof run.grid);
    run.scalars = scalars;
    run.scalar_count = SCALARS;
    must(vyre_prep_run(next_slot(side->queue), &run, &err), &err);
    side->end = wait_for(side->queue, submit(side->queue));
    for (uint32_t i = 0; i < BUFFERS; i++)
        must(vyre_buffer_read(side->buffer[i], 0, side->after[i], 4 * WORDS, &err), &err);
}

/* Whether both have left the same. What a run with a fault leaves is not known: then it is made the
 * same. */
static bool same_words(struct side *cpu, struct side *device)
{
    vyre_error err;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        if (cpu->end.outcome != VYRE_DONE)
            must(vyre_buffer_write(device->buffer[i], 0, cpu->after[i], 4 * WORDS, &err), &err);
        else if (!same_run_bytes("a run", i, cpu->after[i], device->after[i], 4 * WORDS))
            return false;
    }
    return true;
}

static void side_unload(struct side *side)
{
    vyre_error err;
    vyre_bindings_free(side->bindings);
    must(vyre_program_unload(side->program, &err), &err);
}

/* How many lanes a workgroup has: what fits two units, and more. */
static uint32_t some_lanes(void)
{
    static const uint32_t lanes[] = {64, 64, 32, 48, 1, 33, 63, 31};
    return lanes[below(8)];
}

static void some_grid(uint32_t grid[3])
{
    grid[0] = 1 + below(4);
    grid[1] = below(4) == 0 ? 1 + below(3) : 1;
    grid[2] = 1;
}

static void some_words(uint32_t words[WORDS])
{
    /* Of floats: zeros, subnormals and their neighbours, ones, the largest, infinities, NaNs. */
    static const uint32_t edge[] = {0,          0x80000000, 1,          0x807FFFFF, 0x00800000,
                                    0x80800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF,
                                    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001};
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = below(2)   ? below(300)
                   : below(2) ? edge[below(sizeof edge / sizeof *edge)]
                              : (uint32_t)random_next(&state);
}

/* One program, a few times; how many runs differ. */
static uint32_t check_one(struct side *cpu, struct side *device, uint32_t odd, uint64_t *faults)
{
    uint32_t grid[3], wrong = 0, scalars[SCALARS], fresh[WORDS];
    vyre_compile_options how = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel;
    vyre_error err;
    some_grid(grid);
    char *source = make_source(some_lanes(), grid, odd);
    how.flags = odd != 0 && below(3) == 0 ? VYRE_KERNEL_STRICT : 0;
    must(vyre_kernel_compile(source, strlen(source), &how, &kernel, &err), &err);
    side_load(cpu, kernel);
    side_load(device, kernel);
    some_words(fresh); /* what was computed from again and again is soon nothing but NaNs */
    for (uint32_t i = 1; i < BUFFERS; i++) {
        must(vyre_buffer_write(cpu->buffer[i], 0, fresh, sizeof fresh, &err), &err);
        must(vyre_buffer_write(device->buffer[i], 0, fresh, sizeof fresh, &err), &err);
    }
    for (uint32_t run = 0; run < RUNS_EACH && wrong == 0; run++) {
        const uint32_t groups = grid[0] * grid[1];
        float a = (float)below(1000) / 8;
        memcpy(&scalars[0], &a, 4);
        if (below(4) == 0) scalars[0] = below(2) ? below(1000) : (uint32_t)random_next(&state);
        scalars[1] = below(3) ? below(200) : (uint32_t)random_next(&state);
        scalars[2] = below(100);
        side_run(device, grid, scalars);
        if (damaged) {
            *faults += device->end.outcome != VYRE_DONE;
            wrong += device->end.outcome != VYRE_DONE && device->end.outcome != VYRE_FAULTED;
            continue;
        }
        side_run(cpu, grid, scalars);
        bool same = same_run_end("a run", &cpu->end, &device->end,
                                 SAME_RUN_PATIENT | (groups == 1 ? SAME_RUN_ALONE : 0));
        *faults += cpu->end.outcome != VYRE_DONE;
        wrong += !same || !same_words(cpu, device);
    }
    if (wrong != 0) note("%u x %u workgroups of\n%s", grid[0], grid[1], source);
    side_unload(cpu);
    side_unload(device);
    vyre_kernel_free(kernel);
    free(source);
    return wrong;
}

int main(int argc, char **argv)
{
    static struct side cpu, device;
    static uint32_t words[WORDS];
    vyre_options options = gpu_options(), plain = VYRE_OPTIONS_INIT;
    vyre_description now = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    args = gpu_arguments(argc, argv, gpu_is_cuda() ? 8000 : 400);
    state = args.seed;
    damaged = gpu_is_cuda() && getenv("VYRE_TEST_MUTATE") != NULL;
    plain.backend = VYRE_BACKEND_CPU;
    plain.place = VYRE_PLACE_PROCESS;
    plain.workers = 1;
    some_words(words);
    side_open(&device, gpu_open(&options), words);
    side_open(&cpu, open_with(&plain), words);
    /* Never, seldom and often what is left to the other loop. */
    static const uint32_t odd[] = {0, 8, 3};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t wrong = 0;
        uint64_t runs = 0, faults = 0;
        for (; runs < args.slots / 3 && wrong == 0; runs += RUNS_EACH)
            wrong = check_one(&cpu, &device, odd[i], &faults);
        is_u64(wrong, 0, "%" PRIu64 " runs, one odd statement in %u, %" PRIu64 " faults", runs,
               odd[i], faults);
    }
    ok(side_intact(&device, words), "what they may not write is as it was");
    must(vyre_describe(device.rt, &now, &err), &err);
    is_u64(now.restarts, 0, "and the device was never started again");
    vyre_close(cpu.rt);
    vyre_close(device.rt);
    return done();
}
