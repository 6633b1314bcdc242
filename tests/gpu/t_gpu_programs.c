/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * VIR0 programs on the CPU backend in this process and on the device under test: the conformance
 * corpus and random programs, with budgets of steps from ample to so small that workgroups are put
 * aside at almost every back edge. Every byte of every buffer, the end, its place, the steps and
 * the log must be the same (pair.h).
 *
 *   t_gpu_programs [--slots PROGRAMS] [--seed N] [--corpus DIR]
 *
 * A random program is made from its seed alone; the first one that differs is made smaller and
 * printed. `--slots 1 --seed N` runs that of seed N once more, with each budget.
 */
#include "pair.h"

#include "differential/machine.h"
#include "oracle/corpus.h"

enum { HANDLES = 20000, FRAME_BYTES = 1 << 20 };

struct setup {
    const char *name;
    uint32_t step_budget;
    uint32_t continuations;
    uint32_t scalars_bound;
    uint32_t share; /* of the random programs, in percent */
};

static const struct setup setups[] = {
    {"an ample budget", VYRE_DEFAULT, VYRE_DEFAULT, 0, 30},
    {"an ample budget, scalars in buffers", VYRE_DEFAULT, VYRE_DEFAULT, 1, 15},
    {"a budget of 1 step", 1, VYRE_DEFAULT, 0, 20},
    {"a budget of 3 steps, four to put aside", 3, 4, 0, 15},
    {"a budget of 7 steps, nothing to put aside", 7, 0, 0, 10},
    {"a budget of 100 steps, one to put aside", 100, 1, 0, 10},
};

static struct vyre_memory memory;

static void open_setup(struct pair *pair, const struct setup *setup, uint64_t frame_bytes)
{
    vyre_options options = gpu_options();
    options.step_budget = setup->step_budget;
    options.continuations = setup->continuations;
    options.max_handles = HANDLES;
    options.frame_bytes = frame_bytes;
    pair_open(pair, &options);
}

/* Random programs.
 * ------------------------------------------------------------------------------------------- */

static vyre_kernel *kernel_of_tree(const struct ir_program *tree, vyre_status *status,
                                   vyre_error *err)
{
    vyre_kernel *kernel = NULL;
    size_t length = 0;
    (void)vyre_ir_encode(tree, NULL, 0, &length, err);
    void *bytes = malloc(length + 1);
    if (!bytes) bail("out of memory");
    *status = vyre_ir_encode(tree, bytes, length, &length, err);
    if (!*status) *status = vyre_kernel_read(bytes, length, NULL, &kernel, err);
    free(bytes);
    return kernel;
}

/* Scalar parameters come with the slot, or are bound as the other buffers are. */
static void take_scalars(struct trial *trial, struct generated *test, uint32_t *scalars)
{
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        vyre_kernel_buffer_info info = VYRE_KERNEL_BUFFER_INFO_INIT;
        vyre_error err;
        must(vyre_kernel_buffer(trial->kernel, i, &info, &err), &err);
        if (!(info.flags & VYRE_KERNEL_BUFFER_SCALAR) || test->bytes[i] != 4 ||
            trial->scalar_count == VYRE_RUN_MAX_SCALARS)
            continue;
        memcpy(&scalars[trial->scalar_count++], test->buffers[i], 4);
        trial->before[i] = NULL;
    }
    /* All or none: the slot's are counted without those that are bound. */
    vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
    vyre_error err;
    must(vyre_kernel_query(trial->kernel, &info, &err), &err);
    if (trial->scalar_count == info.scalars) return;
    memcpy(trial->before, test->buffers, test->buffer_count * sizeof test->buffers[0]);
    trial->scalar_count = 0;
}

static int show_text(void *ctx, const char *text, size_t length)
{
    int *fresh = ctx;
    for (size_t i = 0; i < length; i++) {
        if (*fresh) fputs("#   ", stdout);
        putchar(text[i]);
        *fresh = text[i] == '\n';
    }
    return 0;
}

/* Makes the program smaller as long as the device differs from the oracle on it, and prints it. */
static void show_smallest(struct pair *pair, struct generated *test, uint32_t scalars_bound)
{
    struct machine machine = {.runtime = pair->device.rt, .scalars_bound = scalars_bound};
    vyre_status status;
    vyre_error err;
    int fresh = 1;
    uint32_t changes = differential_shrink(test, machine_run, &machine);
    note("made smaller in %u steps (0: alone, against the oracle, it does not differ):", changes);
    vyre_kernel *kernel = kernel_of_tree(test->program, &status, &err);
    if (kernel) (void)vyre_kernel_print(kernel, VYRE_TEXT_PROGRAM, show_text, &fresh, NULL);
    if (!fresh) putchar('\n');
    vyre_kernel_free(kernel);
}

/* 1: it ran on both; 0: it is refused because it could only fail. */
static uint32_t run_random(struct pair *pair, const struct setup *setup, uint64_t seed)
{
    static bool shown;
    struct generate_options options = {.seed = seed};
    struct generated test;
    struct trial trial = {0};
    uint32_t scalars[VYRE_RUN_MAX_SCALARS];
    vyre_status status;
    vyre_error err;
    char name[64];
    options.flags = GENERATE_ALL & ~(uint32_t)(seed % 3 == 0 ? GENERATE_FLOATS | GENERATE_MATH : 0);
    if (seed % 8 == 7) options.flags |= GENERATE_ERRORS;
    generate(&memory, &options, &test);
    snprintf(name, sizeof name, "seed %" PRIu64 " with %s", seed, setup->name);
    trial.name = name;
    trial.kernel = kernel_of_tree(test.program, &status, &err);
    if (status && !((options.flags & GENERATE_ERRORS) && status == VYRE_E_VM_UNSUPPORTED))
        bail("seed %" PRIu64 ": %s", seed, err.message);
    if (!status) {
        trial.before = malloc((test.buffer_count + 1) * sizeof *trial.before);
        if (!trial.before) bail("out of memory");
        memcpy(trial.before, test.buffers, test.buffer_count * sizeof test.buffers[0]);
        memcpy(trial.grid, test.grid, sizeof trial.grid);
        trial.count = test.buffer_count;
        trial.bytes = test.bytes;
        trial.scalars = scalars;
        trial.pinned = seed % 4 == 0 ? 2 : 0;
        if (!setup->scalars_bound) take_scalars(&trial, &test, scalars);
        if (!pair_run(pair, &trial) && !shown) {
            shown = true;
            show_smallest(pair, &test, setup->scalars_bound);
        }
        free(trial.before);
    }
    vyre_kernel_free(trial.kernel);
    generated_free(&test);
    return status == VYRE_OK;
}

static void check_random(uint64_t seed, uint64_t programs)
{
    bool one = programs == 1;
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        const struct setup *setup = &setups[i];
        uint64_t count = one ? 1 : programs * setup->share / 100 + 1;
        uint32_t ran = 0;
        struct pair pair;
        open_setup(&pair, setup, FRAME_BYTES);
        for (uint64_t k = 0; k < count; k++)
            ran += run_random(&pair, setup, seed + k);
        ok(pair.wrong == 0, "%s: %u random programs from seed %" PRIu64 ", of which %u fault",
           setup->name, ran, seed, pair.faults);
        pair_close(&pair);
        if (!one) seed += count;
    }
}

/* The corpus.
 * ------------------------------------------------------------------------------------------- */

static void run_case(struct pair *pair, const struct corpus *corpus, const struct corpus_case *test)
{
    struct corpus_buffers buffers;
    struct ir_program *tree = NULL;
    struct trial trial = {.name = test->name};
    vyre_kernel_info info = VYRE_KERNEL_INFO_INIT;
    vyre_status status;
    vyre_error err;
    size_t length;
    unsigned char *bytes = corpus_file(corpus, test->name, "vir", &length);
    if (!bytes) bail("%s has no program", test->name);
    must(vyre_ir_decode(&memory, bytes, length, &tree, &err), &err);
    free(bytes);
    if (!corpus_buffers(corpus, test, tree, &buffers)) bail("%s: no inputs", test->name);
    trial.kernel = kernel_of_tree(tree, &status, &err);
    if (status && strcmp(test->kind, "run-error") != 0)
        bail("%s is refused: %s", test->name, err.message);
    if (trial.kernel) {
        must(vyre_kernel_query(trial.kernel, &info, &err), &err);
        if (info.frame_bytes > FRAME_BYTES) {
            uint32_t counts[3] = {pair->runs, pair->faults, pair->wrong};
            pair_close(pair);
            open_setup(pair, &setups[0], info.frame_bytes);
            pair->runs = counts[0];
            pair->faults = counts[1];
            pair->wrong = counts[2];
        }
        memcpy(trial.grid, test->grid, sizeof trial.grid);
        trial.count = buffers.count;
        trial.before = buffers.buffers;
        trial.bytes = buffers.bytes;
        pair_run(pair, &trial);
    }
    vyre_kernel_free(trial.kernel);
    corpus_buffers_free(&buffers);
    vyre_ir_program_free(tree);
}

static void check_corpus(const char *directory)
{
    static const char *const manifests[] = {"manifest.tsv", "manifest_extra.tsv"};
    struct corpus corpus;
    struct corpus_case test;
    struct pair pair;
    if (!directory || corpus_open(&corpus, directory, manifests[0])) {
        skip(directory ? "there is no corpus in the directory that was given"
                       : "no corpus was given; use --corpus DIR");
        return;
    }
    corpus_close(&corpus);
    open_setup(&pair, &setups[0], FRAME_BYTES);
    for (int i = 0; i < 2; i++) {
        if (corpus_open(&corpus, directory, manifests[i])) continue;
        while (corpus_next(&corpus, &test))
            if (strncmp(test.kind, "run", 3) == 0) run_case(&pair, &corpus, &test);
        corpus_close(&corpus);
    }
    ok(pair.wrong == 0 && pair.runs > 0, "%u cases of the corpus, of which %u fault", pair.runs,
       pair.faults);
    pair_close(&pair);
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 10000 : 300);
    vyre_error err;
    must(vyre_memory_init(&memory, NULL, &err), &err);
    if (args.slots != 1) check_corpus(args.corpus);
    check_random(args.seed, args.slots);
    is_u64(vyre_memory_live(&memory), 0, "nothing is left allocated");
    return done();
}
