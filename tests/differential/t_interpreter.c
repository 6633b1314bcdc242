/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter against the oracle: generated programs must leave the same bytes, fail or not
 * fail alike, and count the same accesses out of bounds; with budgets so small that every workgroup
 * is put aside at almost every back edge, with one worker and several.
 *
 *   t_interpreter [programs [seed]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/interpreter.h"
#include "differential/machine.h"
#include "runtime/internal.h"
#include "tap.h"

struct setup {
    const char *name;
    uint32_t workers;
    uint32_t step_budget;
    uint32_t continuations;
    uint32_t scalars_bound;
    uint32_t share;   /* of the programs, in percent */
    uint32_t variant; /* of the interpreter; ANY: the one that the backend chose */
};

#define ANY UINT32_MAX

static const struct setup setups[] = {
    {"one worker", 1, VYRE_DEFAULT, VYRE_DEFAULT, 0, 20, ANY},
    {"three workers", 3, VYRE_DEFAULT, VYRE_DEFAULT, 1, 20, ANY},
    {"a budget of 1 step", 2, 1, VYRE_DEFAULT, 0, 8, ANY},
    {"a budget of 2 steps", 1, 2, VYRE_DEFAULT, 0, 8, ANY},
    {"a budget of 3 steps", 3, 3, 4, 0, 8, ANY},
    {"a budget of 7 steps", 2, 7, 1, 0, 8, ANY},
    {"a budget of 100 steps", 2, 100, 2, 0, 8, ANY},
    {"the interpreter for any processor", 1, VYRE_DEFAULT, VYRE_DEFAULT, 0, 10, 0},
    {"the next one", 1, VYRE_DEFAULT, VYRE_DEFAULT, 0, 10, 1},
};

static uint32_t run_setup(const struct setup *setup, uint64_t seed, uint32_t programs)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    struct machine machine = {0};
    char why[512];
    uint32_t wrong = 0;
    options.backend = VYRE_BACKEND_CPU;
    options.workers = setup->workers;
    options.step_budget = setup->step_budget;
    options.continuations = setup->continuations;
    machine.scalars_bound = setup->scalars_bound;
    if (vyre_open(&machine.runtime, &options, NULL) != VYRE_OK) return programs;
    if (setup->variant != ANY && vyre_interpreter_at(setup->variant, NULL))
        vyre_local_device(machine.runtime)->interpreter =
            (uint64_t)(uintptr_t)vyre_interpreter_at(setup->variant, NULL);
    for (uint32_t i = 0; i < programs; i++) {
        struct generate_options generate = {0};
        generate.flags =
            GENERATE_ALL & ~(uint32_t)(i % 3 == 0 ? GENERATE_FLOATS | GENERATE_MATH : 0);
        if (i % 8 == 7) generate.flags |= GENERATE_ERRORS;
        if (differential_one(seed + i, &generate, machine_run, &machine, why, sizeof why) == 0)
            continue;
        /* What would end in an error wherever it is reached is refused when it is loaded. */
        if ((generate.flags & GENERATE_ERRORS) && machine.status == VYRE_E_VM_UNSUPPORTED) continue;
        if (wrong++ < 5) note("seed %" PRIu64 ": %s", seed + i, why);
    }
    vyre_close(machine.runtime);
    return wrong;
}

int main(int argc, char **argv)
{
    uint32_t programs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    plan(sizeof setups / sizeof setups[0]);
    note("%u programs from seed %" PRIu64, programs, seed);
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        uint32_t count = programs * setups[i].share / 100;
        uint32_t wrong = run_setup(&setups[i], seed, count);
        ok(wrong == 0, "%u programs with %s: %u differ", count, setups[i].name, wrong);
        seed += count;
    }
    return done();
}
