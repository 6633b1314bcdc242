/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: random sources of the kernel language (tests/oracle/source.h). The first byte
 * chooses the runtime, eight more are the seed; the others are the first choices that the generator
 * makes, one each, before it draws from the seed.
 *
 * What the source means, what the oracle makes of the VIR0 that the compiler writes for it, and
 * what the runtime makes of it must be the same: bytes, failures, accesses out of bounds.
 */
#include "differential/machine.h"
#include "oracle/source.h"
#include "wire_checks.h"

#define MAX_BYTES  4096u
#define SEED_BYTES 9u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static vyre *runtime_of(uint8_t form)
{
    static vyre *runtimes[2];
    vyre **runtime = &runtimes[form & 1];
    vyre_options options = VYRE_OPTIONS_INIT;
    if (*runtime) return *runtime;
    options.backend = VYRE_BACKEND_CPU;
    options.workers = 1;
    options.step_budget = form & 1 ? 2 : VYRE_DEFAULT;
    REQUIRE(vyre_open(runtime, &options, NULL) == VYRE_OK);
    return *runtime;
}

/* A difference, with the smallest source that still has it. */
static void differ(struct source *source, struct source_checker *checker, const char *why)
{
    fprintf(stderr, "the source and what became of it differ: %s\n", why);
    uint32_t changes = source_shrink(source, checker);
    char *text = source_text(source);
    fprintf(stderr, "grid %u %u %u; made smaller by %u changes:\n%s", source->grid[0],
            source->grid[1], source->grid[2], changes, text);
    free(text);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source_options options = {0};
    struct source source;
    char why[256] = "";
    if (size < SEED_BYTES || size > MAX_BYTES) return 0;
    struct machine machine = {.runtime = runtime_of(data[0]), .scalars_bound = data[0] >> 1 & 1};
    struct source_checker checker = {.machine = machine_run, .ctx = &machine};
    memcpy(&options.seed, data + 1, sizeof options.seed);
    options.choices = data + SEED_BYTES;
    options.choice_count = size - SEED_BYTES;
    source_make(&options, &source);
    if (source_check(&source, &checker, why, sizeof why) == SOURCE_DIFFER)
        differ(&source, &checker, why);
    source_free(&source);
    return 0;
}
