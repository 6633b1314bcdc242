/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runs a generated program on the oracle and on a machine, and compares.
 */
#include "oracle/differential.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 4000000u /* far above what a generated program needs */

static void copies_free(unsigned char **copies, uint32_t count)
{
    for (uint32_t i = 0; copies && i < count; i++)
        free(copies[i]);
    free(copies);
}

static unsigned char **copies_of(const struct generated *test)
{
    unsigned char **copies = calloc(test->buffer_count + 1, sizeof *copies);
    if (copies == NULL) abort();
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        if (test->buffers[i] == NULL) continue;
        /* Exactly as long as it says, so that a sanitizer sees what lies behind. */
        copies[i] = malloc(test->bytes[i] ? test->bytes[i] : 1);
        if (copies[i] == NULL) abort();
        memcpy(copies[i], test->buffers[i], test->bytes[i]);
    }
    return copies;
}

int differential_oracle(void *ctx, const struct differential_case *run,
                        struct differential_result *result)
{
    struct oracle_run oracle = {.program = run->program,
                                .grid = {run->grid[0], run->grid[1], run->grid[2]},
                                .buffers = run->buffers,
                                .bytes = run->bytes,
                                .step_limit = STEPS};
    if (ctx) oracle.schedule = *(const enum oracle_schedule *)ctx;
    result->error = oracle_run(&oracle);
    result->out_of_bounds = oracle.out_of_bounds;
    snprintf(result->what, sizeof result->what, "%s, item %u", oracle_error_name(oracle.error),
             (unsigned)oracle.error_id);
    return oracle.error == ORACLE_NO_MEMORY;
}

static void *encode(const struct ir_program *program, size_t *length, char *why, size_t room)
{
    vyre_error err = {0};
    void *bytes = NULL;
    *length = 0;
    (void)vyre_ir_encode(program, NULL, 0, length, &err);
    if (*length != 0) bytes = malloc(*length);
    if (bytes == NULL || vyre_ir_encode(program, bytes, *length, length, &err)) {
        snprintf(why, room, "it cannot be encoded: %.200s", err.message);
        free(bytes);
        return NULL;
    }
    return bytes;
}

static int compare_buffers(const struct generated *test, unsigned char **expected,
                           unsigned char **got, char *why, size_t room)
{
    for (uint32_t i = 0; i < test->buffer_count; i++) {
        uint64_t at = 0;
        if (expected[i] == NULL) continue;
        while (at < test->bytes[i] && got[i][at] == expected[i][at])
            at++;
        if (at == test->bytes[i]) continue;
        const struct ir_buffer *buffer = &test->program->buffers[i];
        uint64_t stride = vyre_ir_type_stride(&buffer->type), element = at / (stride ? stride : 1);
        snprintf(why, room,
                 "buffer %u (%s, %s) byte %llu (element %llu): the oracle has 0x%02x, the machine "
                 "0x%02x",
                 (unsigned)i, test->program->names[buffer->name].text,
                 vyre_ir_type_word(buffer->type.tag), (unsigned long long)at,
                 (unsigned long long)element, expected[i][at], got[i][at]);
        return 1;
    }
    return 0;
}

static int compare_results(const struct differential_result *expected,
                           const struct differential_result *got, char *why, size_t room)
{
    if ((expected->error != 0) != (got->error != 0)) {
        snprintf(why, room, "the oracle %s (%s), the machine %s (%s)",
                 expected->error ? "fails" : "does not fail", expected->what,
                 got->error ? "fails" : "does not", got->what);
        return 1;
    }
    if (!expected->error && expected->out_of_bounds != got->out_of_bounds) {
        snprintf(why, room, "out of bounds: the oracle counts %llu, the machine %llu",
                 (unsigned long long)expected->out_of_bounds,
                 (unsigned long long)got->out_of_bounds);
        return 1;
    }
    return 0;
}

int differential_compare(const struct generated *test, run_fn machine, void *ctx, char *why,
                         size_t room)
{
    struct differential_result expected = {0}, got = {0};
    struct differential_case run = {.program = test->program,
                                    .grid = test->grid,
                                    .buffer_count = test->buffer_count,
                                    .bytes = test->bytes};
    struct ir_validate_options options = {.subgroups = 1, .most = 1};
    vyre_error err = {0};
    int verdict = 2;
    if (vyre_ir_validate(test->program, &options, &err)) {
        snprintf(why, room, "it is not valid: %.200s", err.message);
        return 2;
    }
    void *bytes = encode(test->program, &run.vir0_length, why, room);
    if (bytes == NULL) return 2;
    unsigned char **oracle_copies = copies_of(test), **machine_copies = copies_of(test);
    run.buffers = oracle_copies;
    (void)differential_oracle(NULL, &run, &expected);
    run.vir0 = bytes;
    run.buffers = machine_copies;
    if (expected.error == ORACLE_STEPS || expected.error == ORACLE_NO_MEMORY) {
        snprintf(why, room, "the oracle gives up: %s", expected.what);
    } else if (machine(ctx, &run, &got)) {
        snprintf(why, room, "the machine cannot run it: %s", got.what);
        verdict = 1;
    } else {
        verdict = compare_results(&expected, &got, why, room);
        if (!verdict && !expected.error)
            verdict = compare_buffers(test, oracle_copies, machine_copies, why, room);
    }
    copies_free(oracle_copies, test->buffer_count);
    copies_free(machine_copies, test->buffer_count);
    free(bytes);
    return verdict;
}

int differential_one(uint64_t seed, const struct generate_options *options, run_fn machine,
                     void *ctx, char *why, size_t room)
{
    struct generate_options with_seed = *options;
    struct generated test;
    struct vyre_memory memory;
    vyre_error err;
    size_t used;
    if (vyre_memory_init(&memory, NULL, &err)) abort();
    with_seed.seed = seed;
    snprintf(why, room, "seed %llu: ", (unsigned long long)seed);
    used = strlen(why);
    generate(&memory, &with_seed, &test);
    int verdict = differential_compare(&test, machine, ctx, why + used, room - used);
    generated_free(&test);
    return verdict;
}
