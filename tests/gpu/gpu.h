/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of a device share: which device, and how long they run.
 *
 * The device is a GPU, unless VYRE_TEST_BACKEND says `cpu`; VYRE_TEST_PLACE says `process` or
 * `host`, VYRE_TEST_WORKERS how many workers. Where there is no GPU the whole program is skipped
 * with the reason. Arguments:
 * --slots N for how many, --seed N for the random numbers, --corpus DIR for the tests that run the
 * conformance corpus. Include it first.
 */
#ifndef VYRE_TESTS_GPU_H
#define VYRE_TESTS_GPU_H

#include "support.h"

struct gpu_args {
    uint64_t slots;
    uint64_t seed;
    const char *corpus; /* NULL: none */
};

/* `slots` is for where --slots is not given; without --seed the clock gives one. It is printed. */
TAP_UNUSED static struct gpu_args gpu_arguments(int argc, char **argv, uint64_t slots)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    struct gpu_args args = {slots, (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec,
                            NULL};
    if (argc % 2 == 0) bail("arguments are --slots N, --seed N and --corpus DIR");
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = strtoull(argv[i + 1], NULL, 0);
        if (strcmp(argv[i], "--slots") == 0)
            args.slots = number;
        else if (strcmp(argv[i], "--seed") == 0)
            args.seed = number;
        else if (strcmp(argv[i], "--corpus") == 0)
            args.corpus = argv[i + 1];
        else
            bail("arguments are --slots N, --seed N and --corpus DIR, not %s", argv[i]);
    }
    note("--slots %" PRIu64 " --seed %" PRIu64, args.slots, args.seed);
    return args;
}

TAP_UNUSED static bool gpu_variable_is(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text != NULL && strcmp(text, value) == 0;
}

TAP_UNUSED static bool gpu_is_cuda(void)
{
    return !gpu_variable_is("VYRE_TEST_BACKEND", "cpu");
}

/* What the runtime warns of, a restart above all, is told where a test goes wrong. */
TAP_UNUSED static void gpu_log(void *ctx, enum vyre_log_level level, const char *line)
{
    (void)ctx;
    if (level != VYRE_LOG_INFO) note("log: %s", line);
}

TAP_UNUSED static vyre_options gpu_options(void)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.log = gpu_log;
    options.backend = gpu_is_cuda() ? VYRE_BACKEND_CUDA : VYRE_BACKEND_CPU;
    if (gpu_variable_is("VYRE_TEST_PLACE", "host")) options.place = VYRE_PLACE_HOST;
    if (gpu_variable_is("VYRE_TEST_PLACE", "process")) options.place = VYRE_PLACE_PROCESS;
    if (!gpu_is_cuda()) options.workers = 3;
    const char *workers = getenv("VYRE_TEST_WORKERS");
    if (workers != NULL) options.workers = (uint32_t)strtoul(workers, NULL, 0);
    return options;
}

/* Opens the device; where there is none, the program ends as skipped. */
TAP_UNUSED static vyre *gpu_open(const vyre_options *options)
{
    vyre *rt = NULL;
    vyre_error err;
    vyre_status status = vyre_open(&rt, options, &err);
    if (status == VYRE_E_UNSUPPORTED || status == VYRE_E_NO_DEVICE) skip_all("%s", err.message);
    must(status, &err);
    return rt;
}

TAP_UNUSED static vyre_queue *gpu_queue(vyre *rt, uint32_t slots, uint32_t tenant, uint32_t flags)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;
    options.slots = slots;
    options.tenant = tenant;
    options.flags = flags;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    return queue;
}

/* A DFA table of `states` states over `classes` classes, every target and class random, in
 * GPU_TABLE_WORDS words at most. */
#define GPU_TABLE_WORDS 2048u

TAP_UNUSED static void gpu_random_table(uint32_t *word, uint64_t *state)
{
    uint32_t states = 1 + random_below(state, 20);
    uint32_t classes = 1 + random_below(state, 20);
    uint32_t shape[5] = {5, 5 + states * classes, states, 5 + states * classes + states, classes};
    memset(word, 0, GPU_TABLE_WORDS * sizeof word[0]);
    memcpy(word, shape, sizeof shape);
    for (uint32_t i = 0; i < states * classes; i++)
        word[shape[0] + i] = random_below(state, states);
    for (uint32_t i = 0; i < states; i++)
        word[shape[1] + i] = random_below(state, 4 * states) == 0;
    for (uint32_t i = 0; i < 256; i++)
        word[shape[3] + i] = random_below(state, classes);
}

#endif
