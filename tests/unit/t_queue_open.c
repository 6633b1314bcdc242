/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Opening and closing queues: what the options refuse, the limit on queues, tenants apart, closing
 * with slots outstanding; and every queue call without its pointers.
 */
#include "support.h"

enum { GATE = 100 };

static vyre_queue *const untouched = (vyre_queue *)(uintptr_t)0x5A5A;

static void check_refused(vyre *rt, const vyre_queue_options *options, vyre_status status,
                          const char *name)
{
    vyre_queue *queue = untouched;
    vyre_error err;
    refused(vyre_queue_open(rt, options, &queue, &err), status, &err, "%s", name);
    ok(queue == untouched, "%s: no queue was stored", name);
    is_u64(vyre_queue_open(rt, options, &queue, NULL), (uint64_t)status, "%s: no error", name);
}

static void bad_options(vyre *rt)
{
    static const vyre_queue_options init = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue_options options = init;
    static const uint32_t bad_slots[] = {0, 3, 255, 65535, 131072, 0x80000000u, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad_slots / sizeof bad_slots[0]; i++) {
        options.slots = bad_slots[i];
        char name[32];
        snprintf(name, sizeof name, "%u slots", bad_slots[i]);
        check_refused(rt, &options, VYRE_E_RANGE, name);
    }
    options = init;
    options.tenant = 4;
    check_refused(rt, &options, VYRE_E_RANGE, "a tenant past the last");
    options.tenant = VYRE_TENANT_ANY;
    check_refused(rt, &options, VYRE_E_RANGE, "every tenant");
    options = init;
    options.wait_mode = 3;
    check_refused(rt, &options, VYRE_E_RANGE, "a wait mode that is none");
    options = init;
    options.flags = 4;
    check_refused(rt, &options, VYRE_E_RESERVED, "an unknown flag");
    options.flags = 0x80000001u;
    check_refused(rt, &options, VYRE_E_RESERVED, "an unknown flag beside a known one");
    options.flags = VYRE_QUEUE_SEALED | VYRE_QUEUE_UNSEALED;
    check_refused(rt, &options, VYRE_E_CONFLICT, "sealed and not sealed");
    options = init;
    options.reserved = 1;
    check_refused(rt, &options, VYRE_E_RESERVED, "a reserved word");
}

static void bad_sizes(vyre *rt)
{
    struct {
        vyre_queue_options options;
        unsigned char tail[32];
    } longer = {VYRE_QUEUE_OPTIONS_INIT, {0}};
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *queue = NULL;
    vyre_error err;

    refused(vyre_queue_open(NULL, NULL, &queue, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_queue_open(rt, NULL, NULL, &err), VYRE_E_NULL, &err, "no place for the queue");
    static const uint32_t sizes[] = {0, 1, 4, sizeof options - 1};
    for (size_t i = 0; i < 4; i++) {
        options.size = sizes[i];
        check_refused(rt, &options, VYRE_E_SIZE, "options too short");
    }
    longer.options.size = sizeof longer;
    works(vyre_queue_open(rt, &longer.options, &queue, &err), &err, "longer, with an empty tail");
    vyre_queue_close(queue);
    longer.tail[31] = 1;
    check_refused(rt, &longer.options, VYRE_E_RESERVED, "longer, and it asks for something");

    works(vyre_queue_open(rt, NULL, &queue, &err), &err, "no options: all defaults");
    is_u64(vyre_queue_capacity(queue), 256, "256 slots");
    vyre_queue_close(queue);
    vyre_queue_close(NULL);
}

static void null_arguments(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_completion completion;
    vyre_error err;
    size_t count = 3;
    int fd = -7;

    refused(vyre_queue_submit(NULL, NULL, &err), VYRE_E_NULL, &err, "submit to nothing");
    works(vyre_queue_submit(queue, NULL, &err), &err, "the ticket may go unread");
    refused(vyre_wait(NULL, 0, 0, &completion, &err), VYRE_E_NULL, &err, "wait on nothing");
    refused(vyre_wait(queue, 0, 0, NULL, &err), VYRE_E_NULL, &err, "wait for nothing");
    refused(vyre_queue_reap(NULL, &completion, 1, &count, &err), VYRE_E_NULL, &err, "reap: queue");
    refused(vyre_queue_reap(queue, NULL, 1, &count, &err), VYRE_E_NULL, &err, "reap: entries");
    refused(vyre_queue_reap(queue, &completion, 1, NULL, &err), VYRE_E_NULL, &err, "reap: count");
    refused(vyre_queue_reap_wait(NULL, &completion, 0, 1, 0, &count, &err), VYRE_E_NULL, &err,
            "reap and wait: queue");
    refused(vyre_queue_reap_wait(queue, NULL, 0, 1, 0, &count, &err), VYRE_E_NULL, &err,
            "reap and wait: entries");
    refused(vyre_queue_reap_wait(queue, &completion, 0, 1, 0, NULL, &err), VYRE_E_NULL, &err,
            "reap and wait: count");
    refused(vyre_queue_reap_wait(queue, &completion, 2, 1, 0, &count, &err), VYRE_E_RANGE, &err,
            "at least two, at most one");
    refused(vyre_cancel(NULL, 0, &err), VYRE_E_NULL, &err, "cancel on nothing");
    refused(vyre_queue_event_fd(NULL, &fd, &err), VYRE_E_NULL, &err, "a descriptor of nothing");
    refused(vyre_queue_event_fd(queue, NULL, &err), VYRE_E_NULL, &err, "nowhere to put it");
    ok(count == 3 && fd == -7, "out-parameters are as before");
}

static void limit(void)
{
    vyre_options options = cpu_options(1);
    options.default_queue_slots = 0;
    options.max_queues = 3;
    vyre *rt = open_with(&options);
    vyre_queue *queues[3], *queue = untouched;
    vyre_error err;
    ok(vyre_queue_default(rt) == NULL, "no default queue was asked for");
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 3; i++)
            queues[i] = open_queue(rt, 4, 0);
        if (round % 25 == 0)
            refused(vyre_queue_open(rt, NULL, &queue, &err), VYRE_E_LIMIT, &err, "a fourth queue");
        for (int i = 0; i < 3; i++) {
            must(vyre_prep_atomic_add(next_slot(queues[i]), WORD(2), 1, &err), &err);
            wait_for(queues[i], submit(queues[i]));
        }
        for (int i = 0; i < 3; i++)
            vyre_queue_close(queues[(i + round) % 3]);
    }
    is_u64(observable(rt, 0, 2), 150, "places of closed queues serve again");
    ok(queue == untouched, "a refusal stores nothing");
    vyre_close(rt);

    options.default_queue_slots = 16;
    options.max_queues = 1;
    rt = open_with(&options);
    refused(vyre_queue_open(rt, NULL, &queue, &err), VYRE_E_LIMIT, &err,
            "the default queue counts");
    vyre_close(rt);
}

static void hear(void *ctx, enum vyre_log_level level, const char *line)
{
    uint32_t *heard = ctx;
    if (level == VYRE_LOG_ERROR && strstr(line, "default queue")) ++*heard;
}

/* The default queue is the runtime's: a close of it does nothing but complain. */
static void close_default(void)
{
    vyre_options options = cpu_options(1);
    vyre_description about = VYRE_DESCRIPTION_INIT;
    uint32_t heard = 0;
    vyre_error err;
    options.log = hear;
    options.log_ctx = &heard;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    uint32_t number = vyre_queue_number(queue);
    vyre_queue_close(queue);
    is_u64(heard, 1, "the log says that the default queue was not closed");
    must(vyre_describe(rt, &about, &err), &err);
    if (is_u64(about.queues, 1, "it is open")) {
        ok(vyre_queue_default(rt) == queue && vyre_queue_number(queue) == number,
           "and still the default");
        must(vyre_prep_atomic_add(next_slot(queue), WORD(4), 5, &err), &err);
        wait_for(queue, submit(queue));
        is_u64(observable(rt, 0, 4), 5, "and takes slots");
    }
    vyre_close(rt);
}

static void tenants_apart(vyre *rt)
{
    vyre_queue *queues[4];
    vyre_error err;
    for (uint32_t t = 0; t < 4; t++) {
        queues[t] = open_queue(rt, 8, t);
        must(vyre_prep_store_u32(next_slot(queues[t]), WORD(9), 100 + t, &err), &err);
        submit(queues[t]);
    }
    for (uint32_t t = 0; t < 4; t++) {
        wait_for(queues[t], 0);
        is_u64(observable(rt, t, 9), 100 + t, "tenant %u has its own words", t);
        vyre_queue_close(queues[t]);
    }
}

static void *open_gate_later(void *argument)
{
    usleep(20000);
    atomic_store(&((struct gate *)argument)->open, 1);
    return NULL;
}

static void close_with_outstanding(vyre *rt)
{
    struct gate gate = {0};
    pthread_t thread;
    vyre_error err;
    vyre_operation *operation = register_op(rt, GATE, gate_run, &gate);
    vyre_queue *queue = open_queue(rt, 16, 0);
    uint32_t before = observable(rt, 0, 3);
    hold_worker(queue, GATE, &gate);
    for (int i = 0; i < 10; i++)
        must(vyre_prep_atomic_add(next_slot(queue), WORD(3), 1, &err), &err);
    submit(queue);
    must(vyre_prep_atomic_add(next_slot(queue), WORD(3), 1000, &err), &err);
    if (pthread_create(&thread, NULL, open_gate_later, &gate) != 0) bail("no thread");
    vyre_queue_close(queue);
    is_u64(gate.left, 1, "closing waited for the running slot");
    is_u64(observable(rt, 0, 3), before + 10,
           "and for the waiting ones, but not for a forgotten one");
    pthread_join(thread, NULL);
    must(vyre_operation_unregister(operation, &err), &err);
}

int main(void)
{
    vyre_options options = cpu_options(2);
    options.max_tenants = 4;
    vyre *rt = open_with(&options);
    bad_options(rt);
    bad_sizes(rt);
    null_arguments(rt);
    tenants_apart(rt);
    if (!test_hosted()) close_with_outstanding(rt); /* a gate is a C function */
    vyre_close(rt);
    close_default();
    limit();
    return done();
}
