/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that run again after the death of their device host, and those that were submitted behind
 * them: fences keep their order over the death, one that has long to wait holds up nobody but its
 * own queue, and a producer does not wait for a device that is gone.
 */
#include "support.h"

#include "kernels.h"
#include "restart_load.h"
#include "runtime/hosted.h"

#define AGAIN  2000u /* slots that run again */
#define ROUNDS 100000u

static struct load_times times;

static vyre *open_host(uint32_t workers)
{
    vyre_options options = cpu_options(workers);
    memset(&times, 0, sizeof times);
    options.place = VYRE_PLACE_HOST;
    options.log = load_log;
    options.log_ctx = &times;
    return open_with(&options);
}

static vyre_slot *marked_slot(vyre_queue *queue)
{
    vyre_slot *slot = next_slot(queue);
    vyre_error err;
    must(vyre_slot_repeatable(queue, slot, &err), &err);
    return slot;
}

/* Everything that is outstanding, in the order in which it is received. */
static size_t reap_all(vyre_queue *queue, vyre_completion *ends, size_t room)
{
    size_t count = 0, left = vyre_queue_outstanding(queue);
    vyre_error err;
    if (left > room) bail("no room for %zu completions", left);
    must(vyre_queue_reap_wait(queue, ends, left, room, PATIENCE_NS, &count, &err), &err);
    return count;
}

/* Fences that are submitted all the time while many slots are run again: none that was run may end
 * before one that was submitted before it. */
static void live_fences(void)
{
    static vyre_completion ends[4096];
    vyre *rt = open_host(2);
    vyre_queue *queue = open_queue(rt, 4096, 0);
    pid_t pid = (pid_t)host_pid(rt);
    vyre_error err;
    freeze(pid);
    for (uint32_t i = 0; i < AGAIN; i++)
        must(vyre_prep_atomic_add(marked_slot(queue), WORD(1), 1, &err), &err);
    submit(queue);
    kill(pid, SIGKILL);
    uint32_t fences = 0, after = 0;
    while (fences < 4096 - AGAIN && after < 8) {
        after += atomic_load(&times.returns) != 0;
        must(vyre_prep_fence(next_slot(queue), 0, 0, &err), &err);
        submit(queue);
        fences++;
        if (!after) breathe();
    }
    if (!host_returned(&times, 0)) bail("no new host came");
    size_t count = reap_all(queue, ends, 4096);
    uint64_t fenced = 0, overtaken = 0, done_fences = 0;
    for (size_t i = 0; i < count; i++) {
        if (ends[i].outcome != VYRE_DONE) continue;
        overtaken += ends[i].ticket < fenced;
        done_fences += ends[i].ticket >= AGAIN;
        if (ends[i].ticket >= AGAIN && ends[i].ticket > fenced) fenced = ends[i].ticket;
    }
    note("%u fences, %" PRIu64 " of them run by the new device", fences, done_fences);
    is_u64(count, AGAIN + fences, "every slot has an end");
    is_u64(overtaken, 0, "no fence overtakes what runs again");
    is_u64(observable(rt, 0, 1), AGAIN, "all of that did");
    vyre_close(rt);
}

/* A program that takes minutes, and what it needs. */
struct slow {
    vyre_program *program;
    vyre_bindings *set;
    vyre_buffer *word;
};

static struct slow slow_make(vyre *rt)
{
    struct slow slow = {0};
    struct code code = code_count();
    vyre_buffer *bound[2] = {NULL, NULL};
    vyre_error err;
    must(vyre_program_load(rt, code.bytes, code.length, NULL, &slow.program, &err), &err);
    must(vyre_buffer_create(rt, 64, VYRE_PINNED, &slow.word, &err), &err);
    bound[1] = slow.word;
    must(vyre_bindings_create(slow.program, bound, 2, &slow.set, &err), &err);
    code_free(&code);
    return slow;
}

static uint32_t slow_count(const struct slow *slow)
{
    uint32_t word = 0;
    vyre_error err;
    must(vyre_buffer_read(slow->word, 0, &word, 4, &err), &err);
    return word;
}

/* Waits until it has begun, or has begun again. */
static void slow_goes_on(const struct slow *slow)
{
    uint32_t before = slow_count(slow);
    for (uint64_t i = 0; i < PATIENCE_NS / 50000 && slow_count(slow) == before; i++)
        breathe();
    if (slow_count(slow) == before) bail("the program does not run");
}

static void slow_prep(vyre_slot *slot, vyre_program *program, vyre_bindings *set, uint32_t rounds)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = program;
    run.bindings = set;
    run.scalars = &rounds;
    run.scalar_count = 1;
    must(vyre_prep_run(slot, &run, &err), &err);
}

/* Submits it, a fence and two slots behind that, all marked; then the host dies. The first ticket.
 */
static uint64_t slow_dies(vyre *rt, vyre_queue *queue, const struct slow *slow)
{
    vyre_error err;
    slow_prep(marked_slot(queue), slow->program, slow->set, ROUNDS);
    must(vyre_prep_fence(marked_slot(queue), 0, 0, &err), &err);
    must(vyre_prep_atomic_add(marked_slot(queue), WORD(2), 1, &err), &err);
    must(vyre_prep_atomic_add(marked_slot(queue), WORD(2), 10, &err), &err);
    uint64_t first = submit(queue);
    slow_goes_on(slow);
    kill((pid_t)host_pid(rt), SIGKILL);
    ok(host_returned(&times, 0), "a restart does not wait for a slot that takes long");
    slow_goes_on(slow);
    return first;
}

static void slow_free(struct slow *slow)
{
    vyre_error err;
    vyre_bindings_free(slow->set);
    must(vyre_program_unload(slow->program, &err), &err);
    vyre_buffer_free(slow->word);
}

/* While the queue waits, everything else goes on; what was in front of it can be cancelled, and so
 * can what is behind, whether it runs again or is new. */
static void long_wait(uint32_t workers)
{
    vyre *rt = open_host(workers);
    vyre_queue *queue = open_queue(rt, 16, 0), *other = open_queue(rt, 16, 0);
    struct slow slow = slow_make(rt);
    vyre_buffer *bound[2] = {NULL, NULL};
    vyre_bindings *set = NULL;
    vyre_error err;
    uint64_t first = slow_dies(rt, queue, &slow);
    works(vyre_buffer_create(rt, 64, VYRE_DEVICE, &bound[1], &err), &err, "a buffer is made");
    must(vyre_bindings_create(slow.program, bound, 2, &set, &err), &err);
    is_u64(wait_for(other, submit_op(other, VYRE_OP_NOP, NULL, 0)).outcome, VYRE_DONE,
           "another queue works");
    slow_prep(next_slot(queue), slow.program, set, 1);
    uint64_t named = submit(queue), dropped = submit_op(queue, VYRE_OP_NOP, NULL, 0);
    vyre_bindings_free(set);
    vyre_buffer_free(bound[1]);
    works(vyre_cancel(queue, first + 3, &err), &err, "a slot that shall run again is cancelled");
    works(vyre_cancel(queue, dropped, &err), &err, "so is one that came later");
    refused(vyre_cancel(queue, dropped + 1, &err), VYRE_E_NOT_FOUND, &err,
            "not one that never came");
    works(vyre_cancel(queue, first, &err), &err, "and the one that all wait for");
    is_u64(wait_for(queue, first).outcome, VYRE_CANCELLED, "it ends");
    is_u64(wait_for(queue, first + 1).outcome, VYRE_DONE, "then the fence");
    is_u64(wait_for(queue, first + 2).outcome, VYRE_DONE, "then what was behind it");
    is_u64(wait_for(queue, first + 3).outcome, VYRE_CANCELLED, "but for what was cancelled");
    is_u64(wait_for(queue, named).outcome, VYRE_DONE, "a buffer lasts as long as its slots");
    is_u64(wait_for(queue, dropped).outcome, VYRE_CANCELLED, "here too");
    is_u64(observable(rt, 0, 2), 1, "which did not run");
    vyre_queue_close(queue);
    slow_free(&slow);
    vyre_close(rt);
}

/* Stopped or closed while it waits: all has an end. */
static void stopped(int close_queue)
{
    vyre *rt = open_host(2);
    vyre_queue *queue = open_queue(rt, 16, 0);
    struct slow slow = slow_make(rt);
    vyre_completion ends[16];
    vyre_error err;
    slow_dies(rt, queue, &slow);
    submit_op(queue, VYRE_OP_NOP, NULL, 0);
    if (close_queue) {
        must(vyre_cancel(queue, 0, &err), &err);
        vyre_queue_close(queue);
        is_u64(observable(rt, 0, 2), 11, "a queue closes when all of it has run");
        slow_free(&slow);
    } else {
        works(vyre_stop(rt, &err), &err, "it stops");
        is_u64(reap_all(queue, ends, 16), 5, "and all slots have an end");
    }
    vyre_close(rt);
}

struct getting {
    vyre_queue *queue;
    _Atomic uint32_t done;
};

static void *get_slot(void *argument)
{
    struct getting *getting = argument;
    vyre_queue_slot(getting->queue);
    atomic_store(&getting->done, 1);
    return NULL;
}

/* A producer that waits until the device has copied a place: the device is gone. */
static void producer(void)
{
    vyre *rt = open_host(1);
    struct getting getting = {.queue = open_queue(rt, 8, 0)};
    vyre_error err;
    pthread_t thread;
    for (int i = 0; i < 8; i++) {
        must(vyre_prep_nop(next_slot(getting.queue), &err), &err);
        wait_for(getting.queue, submit(getting.queue));
    }
    pid_t pid = (pid_t)host_pid(rt);
    freeze(pid);
    getting.queue->classify = 1; /* as on a GPU; this device never says that it has copied */
    if (pthread_create(&thread, NULL, get_slot, &getting)) bail("no thread");
    for (int i = 0; i < 20; i++)
        breathe();
    is_u64(atomic_load(&getting.done), 0, "a producer waits for its place");
    kill(pid, SIGKILL);
    if (!reaches(&getting.done, 1)) bail("it waits for a device that is gone");
    pthread_join(thread, NULL);
    vyre_close(rt);
}

int main(void)
{
    live_fences();
    if (cpu_options(1).backend != VYRE_BACKEND_CPU) return done(); /* the others need a program */
    long_wait(2);
    long_wait(1);
    stopped(0);
    stopped(1);
    producer();
    return done();
}
