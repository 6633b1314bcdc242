/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of a running runtime share: refusals checked in full, opening and
 * submitting without ceremony, a gate that holds a worker, and counts of what the process has.
 * Include it first.
 *
 * No helper here decides anything by time: PATIENCE_NS is how long a test waits for what must come
 * before it says that it never did.
 */
#ifndef VYRE_TESTS_SUPPORT_H
#define VYRE_TESTS_SUPPORT_H

#ifndef _GNU_SOURCE
#    define _GNU_SOURCE
#endif

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tap.h"
#include "vyre/vyre.h"

#define PATIENCE_NS 60000000000ull
#define WORD(i)     (VYRE_CONTROL_OBSERVABLE + (i))

#if defined(__SANITIZE_ADDRESS__)
#    define UNDER_ASAN 1
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define UNDER_ASAN 1
#    endif
#endif
#ifndef UNDER_ASAN
#    define UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#    define UNDER_TSAN 1
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define UNDER_TSAN 1
#    endif
#endif
#ifndef UNDER_TSAN
#    define UNDER_TSAN 0
#endif

/* Statuses.
 * ------------------------------------------------------------------------------------------------
 */

/* One test: the call returned `expected`, and the error has its status, a message and a fix. */
TAP_FORMAT(5, 6)
static int tap_refused(vyre_status got, vyre_status expected, const vyre_error *err,
                       const char *place, const char *format, ...)
{
    bool said = err->status == expected && err->message[0] != '\0' && err->fix[0] != '\0' &&
                memchr(err->message, '\0', sizeof err->message) != NULL &&
                memchr(err->fix, '\0', sizeof err->fix) != NULL;
    bool pass = got == expected && expected != VYRE_OK && said;
    va_list args;
    va_start(args, format);
    tap_result(pass, place, format, args);
    va_end(args);
    if (!pass)
        printf("#   got %s, expected %s; the error says %s: \"%.200s\", fix: \"%.150s\"\n",
               vyre_status_name(got), vyre_status_name(expected), vyre_status_name(err->status),
               err->message, err->fix);
    return pass;
}

/* One test: the call returned VYRE_OK. */
TAP_FORMAT(4, 5)
static int tap_works(vyre_status got, const vyre_error *err, const char *place, const char *format,
                     ...)
{
    va_list args;
    va_start(args, format);
    tap_result(got == VYRE_OK, place, format, args);
    va_end(args);
    if (got != VYRE_OK) printf("#   got %s: %.200s\n", vyre_status_name(got), err->message);
    return got == VYRE_OK;
}

TAP_UNUSED static void tap_must(vyre_status got, const vyre_error *err, const char *place)
{
    if (got == VYRE_OK) return;
    bail("%s: %s: %.200s", place, vyre_status_name(got), err->message);
}

#define refused(call, expected, err, ...)                                                          \
    tap_refused((call), (expected), (err), TAP_PLACE, __VA_ARGS__)
#define works(call, err, ...) tap_works((call), (err), TAP_PLACE, __VA_ARGS__)
/* No test, but the test cannot go on without it. */
#define must(call, err)       tap_must((call), (err), TAP_PLACE)

/* Opening and submitting.
 * ------------------------------------------------------------------------------------------------
 */

/* Whether this run of the test is about a device host: the tests hosted.* run the programs of
 * unit.* again with VYRE_TEST_PLACE=host. */
TAP_UNUSED static bool test_hosted(void)
{
    const char *place = getenv("VYRE_TEST_PLACE");
    return place && strcmp(place, "host") == 0;
}

/* A kind of buffer that the test can map. */
TAP_UNUSED static enum vyre_buffer_kind mappable(void)
{
    return test_hosted() ? VYRE_PINNED : VYRE_DEVICE;
}

TAP_UNUSED static vyre_options cpu_options(uint32_t workers)
{
    vyre_options options = VYRE_OPTIONS_INIT;
    options.backend = VYRE_BACKEND_CPU;
    options.workers = workers;
    if (test_hosted()) options.place = VYRE_PLACE_HOST;
    const char *backend = getenv("VYRE_TEST_BACKEND"); /* scripts/gpu-run says `cuda` */
    if (backend && strcmp(backend, "cuda") == 0) options.backend = VYRE_BACKEND_CUDA;
    return options;
}

TAP_UNUSED static vyre *open_with(const vyre_options *options)
{
    vyre *rt = NULL;
    vyre_error err;
    vyre_status status = vyre_open(&rt, options, &err);
    /* scripts/gpu-run may be run where there is no GPU. */
    if (getenv("VYRE_TEST_BACKEND") && status == VYRE_E_UNSUPPORTED) skip_all("%s", err.message);
    must(status, &err);
    return rt;
}

TAP_UNUSED static vyre *open_cpu(uint32_t workers)
{
    vyre_options options = cpu_options(workers);
    return open_with(&options);
}

TAP_UNUSED static vyre_queue *open_queue(vyre *rt, uint32_t slots, uint32_t tenant)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;
    options.slots = slots;
    options.tenant = tenant;
    must(vyre_queue_open(rt, &options, &queue, &err), &err);
    return queue;
}

/* The next slot of a queue that the test knows not to be full. */
TAP_UNUSED static vyre_slot *next_slot(vyre_queue *queue)
{
    vyre_slot *slot = vyre_queue_slot(queue);
    if (!slot) bail("the queue is full where it must not be");
    return slot;
}

TAP_UNUSED static uint64_t submit(vyre_queue *queue)
{
    uint64_t ticket = 0;
    vyre_error err;
    must(vyre_queue_submit(queue, &ticket, &err), &err);
    return ticket;
}

TAP_UNUSED static vyre_completion wait_for(vyre_queue *queue, uint64_t ticket)
{
    vyre_completion completion;
    vyre_error err;
    must(vyre_wait(queue, ticket, PATIENCE_NS, &completion, &err), &err);
    return completion;
}

TAP_UNUSED static uint64_t submit_op(vyre_queue *queue, uint32_t opcode, const uint32_t *args,
                                     size_t arg_count)
{
    vyre_error err;
    must(vyre_prep_op(next_slot(queue), opcode, args, arg_count, &err), &err);
    return submit(queue);
}

TAP_UNUSED static uint32_t observable(vyre *rt, uint32_t tenant, uint32_t index)
{
    uint32_t word = 0;
    vyre_error err;
    must(vyre_tenant_observables(rt, tenant, index, 1, &word, &err), &err);
    return word;
}

TAP_UNUSED static vyre_operation *register_op(vyre *rt, uint32_t opcode, vyre_operation_fn run,
                                              void *ctx)
{
    vyre_operation_options options = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    options.opcode = opcode;
    options.run = run;
    options.ctx = ctx;
    must(vyre_operation_register(rt, &options, &operation, &err), &err);
    return operation;
}

/* Whether C functions cannot be operations here, which counts as one skipped test. */
TAP_UNUSED static bool no_c_functions(void)
{
    if (!test_hosted()) return false;
    skip("a C function is no operation in a device host");
    return true;
}

/* A gate: a native operation that holds its worker until the test opens it.
 * ------------------------------------------------------------------------------------------------
 */

struct gate {
    _Atomic uint32_t open;    /* the test: runs may end */
    _Atomic uint32_t entered; /* runs that have begun */
    _Atomic uint32_t left;    /* runs that have ended */
};

TAP_UNUSED static void breathe(void)
{
    struct timespec moment = {0, 50000};
    nanosleep(&moment, NULL);
}

TAP_UNUSED static uint32_t gate_run(vyre_call *call)
{
    struct gate *gate = call->ctx;
    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->open))
        breathe();
    atomic_fetch_add(&gate->left, 1);
    return 0;
}

/* Waits until the counter has reached `least`; false if it does not within the patience. */
TAP_UNUSED static bool reaches(_Atomic uint32_t *counter, uint32_t least)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        if (atomic_load(counter) >= least) return true;
        breathe();
    }
    return false;
}

/* Submits one run of the gate and waits until a worker is inside it. */
TAP_UNUSED static uint64_t hold_worker(vyre_queue *queue, uint32_t opcode, struct gate *gate)
{
    uint32_t before = atomic_load(&gate->entered);
    uint64_t ticket = submit_op(queue, opcode, NULL, 0);
    if (!reaches(&gate->entered, before + 1)) bail("the gate's slot was never run");
    return ticket;
}

/* What the process has.
 * ------------------------------------------------------------------------------------------------
 */

TAP_UNUSED static uint32_t count_entries(const char *path)
{
    uint32_t count = 0;
    DIR *directory = opendir(path);
    if (!directory) bail("cannot read %s", path);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* Whether /proc says of a thread that it is there, and not on its way out. */
TAP_UNUSED static bool thread_lives(const char *number)
{
    const unsigned exiting = 4; /* PF_EXITING */
    char path[64], text[512];
    unsigned flags = 0;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", number);
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && (sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
                        (flags & exiting) == 0);
}

/* A joined thread leaves /proc a moment after the join: it does not count. */
TAP_UNUSED static uint32_t count_threads(void)
{
    uint32_t count = 0;
    DIR *directory = opendir("/proc/self/task");
    if (!directory) bail("cannot read /proc/self/task");
    for (const struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.' && thread_lives(entry->d_name);
    closedir(directory);
    return count;
}

TAP_UNUSED static uint32_t count_descriptors(void)
{
    return count_entries("/proc/self/fd") - 3;
}

/* A thread that nobody joins ends in its own time: waits until there are `expected`. */
TAP_UNUSED static uint32_t settle_threads(uint32_t expected)
{
    uint32_t threads = count_threads();
    for (int i = 0; i < 20000 && threads != expected; i++) {
        breathe();
        threads = count_threads();
    }
    return threads;
}

/* Memory that a slot may still use goes when the device has answered, which some later call of the
 * runtime finds out: waits until there are `expected` descriptors. */
TAP_UNUSED static uint32_t settle_descriptors(vyre *runtime, uint32_t expected)
{
    uint32_t count = count_descriptors();
    for (int i = 0; i < 20000 && count != expected; i++) {
        vyre_buffer *buffer = NULL;
        vyre_error err;
        must(vyre_buffer_create(runtime, 64, VYRE_DEVICE, &buffer, &err), &err);
        vyre_buffer_free(buffer);
        breathe();
        count = count_descriptors();
    }
    return count;
}

/* The same for memory, and vyre_describe is such a call: waits until the runtime has no more than
 * `most` buffers, operations, programs and sets. */
TAP_UNUSED static bool settle_handles(vyre *runtime, uint32_t most)
{
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        vyre_description description = VYRE_DESCRIPTION_INIT;
        vyre_error err;
        must(vyre_describe(runtime, &description, &err), &err);
        if (description.handles <= most) return true;
        breathe();
    }
    return false;
}

/* Random numbers: splitmix64. */
TAP_UNUSED static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

TAP_UNUSED static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

#endif
