/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Windows of a run: one binding set, runs over many parts of its buffers; what lies beside a window
 * is neither read nor written; what preparing refuses, and what the device refuses in slots that
 * somebody wrote by hand.
 *
 *   t_window [seed]
 */
#include "meter.h"

#include "support.h"

#define OPCODE 0x20001u

enum { WORDS = 4096, BYTES = WORDS * 4, ROUNDS = 300 };

/* Beyond the ends of its windows it reads zeros and drops what it stores. */
static const char source[] = "kernel part(u32 a, in u32 x[], inout u32 y[])\n"
                             "{\n"
                             "    y[i] = x[i] * a + len(x);\n"
                             "    y[len(y) + i] = x[len(x) + i] + 1;\n"
                             "}\n";

struct fixture {
    vyre *rt;
    vyre_queue *queue;
    vyre_program *program;
    vyre_buffer *x, *y;
    vyre_bindings *set;
    uint32_t *from, *to;
};

static vyre_buffer *make_buffer(vyre *rt, uint32_t **memory)
{
    vyre_buffer *made = NULL;
    void *mapped = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, BYTES, VYRE_PINNED, &made, &err), &err);
    must(vyre_buffer_map(made, &mapped, &err), &err);
    *memory = mapped;
    return made;
}

static struct fixture begin(void)
{
    struct fixture f = {.rt = open_cpu(2)};
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    vyre_error err;
    f.queue = open_queue(f.rt, 64, 0);
    must(vyre_kernel_compile(source, strlen(source), NULL, &kernel, &err), &err);
    options.opcode = OPCODE;
    must(vyre_program_load_kernel(f.rt, kernel, &options, &f.program, &err), &err);
    vyre_kernel_free(kernel);
    f.x = make_buffer(f.rt, &f.from);
    f.y = make_buffer(f.rt, &f.to);
    must(vyre_bindings_create(f.program, (vyre_buffer *[]){NULL, f.x, f.y}, 3, &f.set, &err), &err);
    return f;
}

static void end(struct fixture *f)
{
    vyre_error err;
    vyre_bindings_free(f->set);
    must(vyre_program_unload(f->program, &err), &err);
    vyre_buffer_free(f->x);
    vyre_buffer_free(f->y);
    vyre_close(f->rt);
}

static vyre_run run_of(const struct fixture *f, const uint32_t *scalar,
                       const vyre_run_window *windows, uint32_t count)
{
    vyre_run run = VYRE_RUN_INIT;
    run.program = f->program;
    run.bindings = f->set;
    run.scalars = scalar;
    run.scalar_count = 1;
    run.windows = windows;
    run.window_count = count;
    return run;
}

/* What a run does to `to`, by the words of the source. */
static void model(uint32_t *to, const uint32_t *from, const vyre_run_window *windows, uint32_t a)
{
    const uint32_t *x = from + windows[0].offset / 4;
    uint32_t *y = to + windows[1].offset / 4;
    uint32_t in = windows[0].bytes / 4, out = windows[1].bytes / 4;
    for (uint32_t i = 0; i < out; i++)
        y[i] = (i < in ? x[i] : 0) * a + in;
}

/* Random windows, sixteen runs at once over places that do not meet. */
static void parts(struct fixture *f, uint64_t seed)
{
    static uint32_t wanted[WORDS];
    uint64_t state = seed;
    uint32_t wrong = 0, uncounted = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        f->from[i] = (uint32_t)random_next(&state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        vyre_run_window windows[16][2];
        uint32_t scalars[16];
        for (uint32_t i = 0; i < WORDS; i++)
            f->to[i] = wanted[i] = i + round;
        for (uint32_t k = 0; k < 16; k++) {
            uint32_t at = random_below(&state, 32) * 16;
            vyre_error err;
            windows[k][0] = (vyre_run_window){1, random_below(&state, 500) * 16,
                                              random_below(&state, 2000) * 4};
            windows[k][1] =
                (vyre_run_window){2, k * 1024 + at, random_below(&state, (1024 - at) / 4) * 4};
            scalars[k] = (uint32_t)random_next(&state);
            model(wanted, f->from, windows[k], scalars[k]);
            vyre_run run = run_of(f, &scalars[k], windows[k], 2);
            run.grid[0] = 4;
            must(vyre_prep_run(next_slot(f->queue), &run, &err), &err);
        }
        uint64_t first = submit(f->queue);
        for (uint32_t k = 0; k < 16; k++) {
            vyre_completion done = wait_for(f->queue, first + k);
            if (done.outcome != VYRE_DONE) bail("a run ended with fault %u", done.fault);
            /* All lanes but those within the windows go past an end, and each does so twice
             * beyond them. */
            uint32_t lanes = 256, in = windows[k][0].bytes / 4, out = windows[k][1].bytes / 4;
            uint32_t past =
                2 * lanes + (lanes > in ? lanes - in : 0) + (lanes > out ? lanes - out : 0);
            uncounted += done.out_of_bounds != past;
        }
        wrong += memcmp(f->to, wanted, BYTES) != 0;
    }
    is_u64(wrong, 0, "%u runs over parts of two buffers (seed %llu)", ROUNDS * 16,
           (unsigned long long)seed);
    is_u64(uncounted, 0, "what goes past a window is counted");
}

/* One window, of the buffer that is written, without the other. */
static void alone(struct fixture *f)
{
    const uint32_t a = 1;
    const vyre_run_window window = {2, 32, 16};
    vyre_run run = run_of(f, &a, &window, 1);
    vyre_error err;
    for (uint32_t i = 0; i < WORDS; i++) {
        f->from[i] = 5;
        f->to[i] = i;
    }
    must(vyre_prep_run(next_slot(f->queue), &run, &err), &err);
    is_u64(wait_for(f->queue, submit(f->queue)).outcome, VYRE_DONE, "a window of one buffer");
    ok(f->to[7] == 7 && f->to[8] == 5 + WORDS && f->to[11] == 5 + WORDS && f->to[12] == 12,
       "four words are written, their neighbours are not");
}

static void refusals(struct fixture *f)
{
    static const struct {
        vyre_run_window windows[2];
        uint32_t count;
        vyre_status status;
        const char *what;
    } rows[] = {
        {{{3, 0, 4}}, 1, VYRE_E_RANGE, "a buffer that the program does not have"},
        {{{0, 0, 4}}, 1, VYRE_E_RANGE, "a scalar parameter that is not bound"},
        {{{1, 8, 4}}, 1, VYRE_E_MISALIGNED, "an offset of 8"},
        {{{1, BYTES, 4}}, 1, VYRE_E_RANGE, "behind the end"},
        {{{1, 16, BYTES}}, 1, VYRE_E_RANGE, "over the end"},
        {{{1, 0xFFFFFFF0u, 0xFFFFFFF0u}}, 1, VYRE_E_RANGE, "numbers that overflow"},
        {{{1, 0, 4}, {1, 16, 4}}, 2, VYRE_E_CONFLICT, "two of one buffer"},
        {{{1, 0, 4}, {2, 0, 4}}, 3, VYRE_E_RANGE, "three"},
    };
    const uint32_t a = 1;
    vyre_slot *slot = next_slot(f->queue), before = *slot;
    vyre_error err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vyre_run run = run_of(f, &a, rows[i].windows, rows[i].count);
        refused(vyre_prep_run(slot, &run, &err), rows[i].status, &err, "%s", rows[i].what);
    }
    vyre_run run = run_of(f, &a, NULL, 1);
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_NULL, &err, "no windows where there are some");
    run.window_count = 0;
    run.reserved2 = 1;
    refused(vyre_prep_run(slot, &run, &err), VYRE_E_RESERVED, &err, "the reserved word");
    ok(memcmp(&before, slot, sizeof before) == 0, "nothing was written");
    must(vyre_prep_nop(slot, &err), &err);
    (void)wait_for(f->queue, submit(f->queue));
}

/* Slots that vyre_prep_run would not have written. */
static void bad_slots(struct fixture *f)
{
    const uint32_t set = vyre_bindings_handle(f->set);
    const struct {
        uint32_t word, offset, bytes, fault;
        const char *what;
    } rows[] = {
        {0x0201, 0, 64, 0, "a window as it should be"},
        {0x0101, 0, 4, VYRE_FAULT_PARAMETERS, "of a scalar that comes with the slot"},
        {0x0401, 0, 4, VYRE_FAULT_PARAMETERS, "of a view that the program does not have"},
        {0xFF01, 0, 4, VYRE_FAULT_PARAMETERS, "of view 254"},
        {0x01000201, 0, 4, VYRE_FAULT_PARAMETERS, "a byte that means nothing"},
        {0x0200, 0, 4, VYRE_FAULT_PARAMETERS, "without the scalar"},
        {0x0201, 4, 4, VYRE_FAULT_BUFFER_BOUNDS, "not where an element can begin"},
        {0x0201, BYTES, 1, VYRE_FAULT_BUFFER_BOUNDS, "behind the end"},
        {0x0201, 0, BYTES + 1, VYRE_FAULT_BUFFER_BOUNDS, "over the end"},
        {0x0201, 0xFFFFFFF0u, 0xFFFFFFFFu, VYRE_FAULT_BUFFER_BOUNDS, "numbers that overflow"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t args[VYRE_SLOT_ARGS] = {1, 1, 1, set, rows[i].word, 7};
        args[10] = rows[i].offset;
        args[11] = rows[i].bytes;
        vyre_completion done = wait_for(f->queue, submit_op(f->queue, OPCODE, args, 12));
        is_u64(done.fault, rows[i].fault, "%s", rows[i].what);
    }
}

int main(int argc, char **argv)
{
    struct fixture f = begin();
    parts(&f, argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    alone(&f);
    refusals(&f);
    bad_slots(&f);
    end(&f);
    return done();
}
