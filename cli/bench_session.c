/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runtimes to be measured: opened through the public API and placed on the machine like the peers,
 * one worker beside one producer. Called by the steps of the benchmarks.
 */
#include <string.h>

#include "bench.h"

void bench_session_close(struct bench_session *session)
{
    vyre_close(session->runtime);
    memset(session, 0, sizeof *session);
}

static int open_queues(const struct bench_setup *setup, struct bench_session *session,
                       vyre_error *err)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    options.slots = setup->slots;
    options.flags = setup->flags;
    options.wait_mode = setup->wait_mode;
    for (uint32_t i = 0; i < setup->queues; i++) {
        if (vyre_queue_open(session->runtime, &options, &session->queue[i], err) != VYRE_OK)
            return cli_fail("cannot open a queue", err);
        session->queues = i + 1;
    }
    return 0;
}

int bench_session_open(struct bench *bench, const struct bench_setup *setup,
                       struct bench_session *session)
{
    vyre_error err;
    vyre_options options = VYRE_OPTIONS_INIT;
    memset(session, 0, sizeof *session);
    options.backend = bench->backend;
    options.workers = bench->workers;
    options.default_queue_slots = 0;
    options.max_queues = BENCH_MAX_QUEUES;
    options.idle_spin_ns = setup->idle_spin_ns;
    /* Worker threads inherit the place of the thread that opens their runtime. */
    if (bench->workers == 1)
        bench_pin(bench->cpus.consumer);
    else
        bench_unpin(&bench->cpus);
    vyre_status status = vyre_open(&session->runtime, &options, &err);
    bench_pin(bench->cpus.producer);
    if (status != VYRE_OK) return cli_fail("cannot open a runtime", &err);
    int code = open_queues(setup, session, &err);
    if (code != 0) bench_session_close(session);
    return code;
}

int bench_session_choice(struct bench *bench, const struct bench_session *session)
{
    vyre_error err;
    vyre_description description = {0};
    description.size = (uint32_t)sizeof description;
    if (vyre_describe(session->runtime, &description, &err) != VYRE_OK)
        return cli_fail("cannot describe a runtime", &err);
    snprintf(bench->choice, sizeof bench->choice, "%s", description.choice);
    return 0;
}

int bench_submit_and_wait(vyre_queue *queue, uint64_t lost_ns, vyre_completion *completion)
{
    vyre_error err;
    uint64_t ticket = 0;
    if (vyre_queue_submit(queue, &ticket, &err) != VYRE_OK)
        return cli_fail("cannot submit a slot", &err);
    if (vyre_wait(queue, ticket, lost_ns, completion, &err) != VYRE_OK)
        return cli_fail("cannot wait for a slot", &err);
    if (completion->ticket != ticket || completion->outcome != VYRE_DONE)
        return bench_wrong("a slot ended with another ticket, or not as done");
    return 0;
}

int bench_round_trip(vyre_queue *queue, uint64_t *took_ns)
{
    vyre_completion completion;
    uint64_t begin = bench_clock_ns();
    vyre_slot *slot = vyre_queue_slot(queue);
    if (slot == NULL) return bench_wrong("an empty queue says that it is full");
    vyre_prep_nop(slot, NULL);
    int code = bench_submit_and_wait(queue, BENCH_LOST_NS, &completion);
    if (took_ns != NULL) *took_ns = bench_clock_ns() - begin;
    return code;
}
