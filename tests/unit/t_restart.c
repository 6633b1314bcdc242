/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A device host that dies, hangs or talks nonsense: what the application has stays valid, what was
 * under way comes to an end, and nothing is left behind. Times are printed, and judged only by
 * limits that no machine should reach.
 */
#include "meter.h"

#include <poll.h>
#include <sys/wait.h>

#include "kernels.h"
#include "restart_load.h"
#include "runtime/hosted.h"

#define BUFFER_BYTES (3u << 20)

static struct load_times times;

static vyre_options host_options(uint32_t workers)
{
    vyre_options options = cpu_options(workers);
    memset(&times, 0, sizeof times);
    options.place = VYRE_PLACE_HOST;
    options.log = load_log;
    options.log_ctx = &times;
    return options;
}

static vyre_description describe(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    return about;
}

static void kill_host(vyre *rt)
{
    uint32_t returns = atomic_load(&times.returns);
    atomic_store(&times.killed_ns, load_clock());
    kill((pid_t)host_pid(rt), SIGKILL);
    if (!host_returned(&times, returns)) bail("no new host came");
}

static vyre_buffer *make_buffer(vyre *rt, uint32_t kind, uint32_t flags)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    options.kind = kind;
    options.flags = flags;
    must(vyre_buffer_create_with(rt, BUFFER_BYTES, &options, &buffer, &err), &err);
    return buffer;
}

static uint32_t *pattern(uint32_t seed)
{
    uint32_t *words = malloc(BUFFER_BYTES);
    if (!words) bail("out of memory");
    for (uint32_t i = 0; i < BUFFER_BYTES / 4; i++)
        words[i] = i * 2654435761u + seed;
    return words;
}

static bool holds(vyre_buffer *buffer, const uint32_t *words)
{
    uint32_t *found = malloc(BUFFER_BYTES);
    vyre_error err;
    if (!found) bail("out of memory");
    must(vyre_buffer_read(buffer, 0, found, BUFFER_BYTES, &err), &err);
    bool same = memcmp(found, words, BUFFER_BYTES) == 0;
    free(found);
    return same;
}

/* Buffers of each kind before and after a death; writes after it reach the next copy too. */
static void buffers(void)
{
    vyre_options options = host_options(2);
    vyre *rt = open_with(&options);
    uint32_t *first = pattern(1), *second = pattern(2), *zero = calloc(BUFFER_BYTES, 1);
    vyre_buffer *plain = make_buffer(rt, VYRE_DEVICE, 0);
    vyre_buffer *restored = make_buffer(rt, VYRE_DEVICE, VYRE_BUFFER_RESTORED);
    vyre_buffer *untouched = make_buffer(rt, VYRE_DEVICE, VYRE_BUFFER_RESTORED);
    vyre_buffer *pinned = make_buffer(rt, VYRE_PINNED, 0);
    vyre_buffer *freed = make_buffer(rt, VYRE_DEVICE, VYRE_BUFFER_RESTORED);
    vyre_error err;
    must(vyre_buffer_write(plain, 0, first, BUFFER_BYTES, &err), &err);
    must(vyre_buffer_write(restored, 0, first, BUFFER_BYTES, &err), &err);
    must(vyre_buffer_write(pinned, 0, first, BUFFER_BYTES, &err), &err);
    ok(holds(plain, first) && holds(restored, first) && holds(pinned, first), "written and read");
    vyre_buffer_free(freed);
    kill_host(rt);
    ok(holds(restored, first), "a RESTORED buffer is as it was written");
    ok(holds(pinned, first), "a PINNED buffer is as it was");
    ok(holds(plain, zero), "another DEVICE buffer begins with zeroes");
    ok(holds(untouched, zero), "so does one that was never written");
    must(vyre_buffer_write(restored, 0, second, BUFFER_BYTES, &err), &err);
    kill_host(rt);
    ok(holds(restored, second), "what was written since counts the next time");
    is_u64(describe(rt).restarts, 2, "two restarts");
    is_u64(describe(rt).place, VYRE_PLACE_HOST, "the place is said");
    vyre_buffer_free(plain);
    vyre_buffer_free(restored);
    vyre_buffer_free(untouched);
    vyre_buffer_free(pinned);
    vyre_close(rt);
    free(first);
    free(second);
    free(zero);
}

/* What was freed goes when the device has given it up. */
static bool handles_gone(vyre *rt)
{
    for (int i = 0; i < 100000; i++) {
        if (describe(rt).handles == 0) return true;
        breathe();
    }
    return false;
}

static uint32_t run_fill(vyre *rt, vyre_program *program, vyre_bindings *set, vyre_buffer *into)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    uint32_t word = 0;
    vyre_queue *queue = vyre_queue_default(rt);
    run.program = program;
    run.bindings = set;
    run.grid[0] = 2;
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    if (wait_for(queue, submit(queue)).outcome != VYRE_DONE) return 0;
    must(vyre_buffer_read(into, 40, &word, 4, &err), &err);
    return word;
}

/* Programs, binding sets and their handles, over several deaths and with some taken away between.
 */
static void programs(void)
{
    vyre_options options = host_options(2);
    vyre *rt = open_with(&options);
    struct code code = code_fill(64, 5), other = code_fill(64, 900);
    vyre_program *program = NULL, *second = NULL;
    vyre_bindings *set = NULL;
    vyre_error err;
    must(vyre_program_load(rt, other.bytes, other.length, NULL, &second, &err), &err);
    must(vyre_program_load(rt, code.bytes, code.length, NULL, &program, &err), &err);
    vyre_buffer *into = make_buffer(rt, VYRE_PINNED, 0);
    must(vyre_bindings_create(program, &into, 1, &set, &err), &err);
    uint32_t opcode = vyre_program_opcode(program), handle = vyre_buffer_handle(into);
    is_u64(run_fill(rt, program, set, into), 15, "a program runs");
    must(vyre_program_unload(second, &err), &err);
    for (int i = 0; i < 3; i++) {
        uint32_t zero = 0;
        kill_host(rt);
        must(vyre_buffer_write(into, 40, &zero, 4, &err), &err);
        is_u64(run_fill(rt, program, set, into), 15, "and after %d deaths", i + 1);
    }
    ok(vyre_program_opcode(program) == opcode && vyre_buffer_handle(into) == handle,
       "under the same numbers");
    vyre_bindings_free(set);
    works(vyre_program_unload(program, &err), &err, "it can be taken away");
    vyre_buffer_free(into);
    ok(handles_gone(rt), "nothing is left of them");
    vyre_close(rt);
    code_free(&code);
    code_free(&other);
}

/* Handles come and go in a second thread while hosts die. */
static void *churn(void *argument)
{
    vyre *rt = argument;
    uint64_t wrong = 0;
    uint32_t *words = pattern(7);
    vyre_error err;
    for (int i = 0; i < 40; i++) {
        vyre_queue *queue = open_queue(rt, 16, 0);
        vyre_buffer *buffer =
            make_buffer(rt, i % 2 ? VYRE_PINNED : VYRE_DEVICE, i % 2 ? 0 : VYRE_BUFFER_RESTORED);
        must(vyre_buffer_write(buffer, 0, words, BUFFER_BYTES, &err), &err);
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        uint16_t outcome = wait_for(queue, submit(queue)).outcome;
        wrong += outcome != VYRE_DONE && outcome != VYRE_LOST;
        wrong += !holds(buffer, words);
        vyre_buffer_free(buffer);
        vyre_queue_close(queue);
    }
    free(words);
    return (void *)(uintptr_t)wrong;
}

static void set_up_calls(void)
{
    vyre_options options = host_options(1);
    vyre *rt = open_with(&options);
    pthread_t thread;
    void *wrong = NULL;
    if (pthread_create(&thread, NULL, churn, rt)) bail("no thread");
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 60; k++)
            breathe();
        kill_host(rt);
    }
    pthread_join(thread, &wrong);
    is_u64((uintptr_t)wrong, 0, "set-up calls see nothing of restarts but the time");
    ok(handles_gone(rt), "and leave nothing");
    is_u64(describe(rt).queues, 1, "but the default queue");
    vyre_close(rt);
}

/* Failures on demand. */
static void failures(void)
{
    static const char *const names[] = {
        "", "it exits", "", "it crashes", "it sends garbage", "it sends half a message"};
    for (uint32_t number = 1; number <= 5; number++) {
        if (number == 2) continue;
        vyre_options options = host_options(2);
        vyre *rt = open_with(&options);
        vyre_queue *queue = vyre_queue_default(rt);
        vyre_error err;
        vyre_hosted_inject(rt, number, &err);
        if (!host_returned(&times, 0)) bail("no new host came");
        must(vyre_prep_store_u32(next_slot(queue), WORD(2), 5, &err), &err);
        is_u64(wait_for(queue, submit(queue)).outcome, VYRE_DONE, "%s: the next one works",
               names[number]);
        is_u64(describe(rt).restarts, 1, "%s: one restart", names[number]);
        vyre_close(rt);
    }
}

/* One that hangs is ended where the policy says so, and by vyre_close in any case. */
static void hangs(void)
{
    vyre_options options = host_options(2);
    vyre_error err;
    options.stall_policy = VYRE_STALL_RESTART;
    options.stall_ns = 1000000000; /* one that works is let run sooner */
    vyre *rt = open_with(&options);
    works(vyre_hosted_inject(rt, 2, &err), &err, "a host stops listening");
    vyre_buffer *buffer = make_buffer(rt, VYRE_PINNED, 0);
    is_u64(describe(rt).restarts, 1, "it was ended for it, and the next one answers");
    vyre_buffer_free(buffer);
    vyre_close(rt);

    for (int stopped = 0; stopped < 2; stopped++) {
        options = host_options(2);
        options.stall_ns = 0;
        rt = open_with(&options);
        vyre_queue *queue = vyre_queue_default(rt);
        if (stopped)
            freeze((pid_t)host_pid(rt));
        else
            must(vyre_hosted_inject(rt, 2, &err), &err);
        for (int i = 0; i < 8; i++)
            must(vyre_prep_nop(next_slot(queue), &err), &err);
        submit(queue);
        uint64_t began = load_clock();
        works(vyre_stop(rt, &err), &err, "vyre_stop returns");
        uint64_t took = load_clock() - began;
        vyre_completion ends[8];
        size_t count = 0;
        must(vyre_queue_reap_wait(queue, ends, 8, 8, PATIENCE_NS, &count, &err), &err);
        is_u64(count, 8, "and every slot has an end");
        began = load_clock();
        vyre_close(rt);
        took += load_clock() - began;
        ok(took < 30000000000u, "stop and close take %.1f s", (double)took / 1e9);
    }
}

/* A host that ends on its own stops its device and says so in the page: that is not the end of the
 * runtime. And a slot that was written by hand runs again like any other. */
static void last_words(void)
{
    vyre_options options = host_options(2);
    vyre_queue_options how = VYRE_QUEUE_OPTIONS_INIT;
    vyre *rt = open_with(&options);
    vyre_queue *queue = NULL;
    vyre_completion end;
    vyre_error err;
    size_t count = 0;
    how.slots = 8;
    how.flags = VYRE_QUEUE_SEALED;
    must(vyre_queue_open(rt, &how, &queue, &err), &err);
    freeze((pid_t)host_pid(rt));
    __atomic_store_n(&rt->page->state, DEV_GONE, __ATOMIC_RELEASE);
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_store_u32(slot, WORD(2), 5, &err), &err);
    must(vyre_slot_repeatable(queue, slot, &err), &err);
    slot = next_slot(queue);
    slot->word[VYRE_SLOT_STATUS] = VYRE_SLOT_PUBLISHED;
    slot->word[VYRE_SLOT_OPCODE] = VYRE_OP_NOP;
    slot->word[VYRE_SLOT_TENANT] = 0;
    must(vyre_slot_repeatable(queue, slot, &err), &err);
    uint64_t ticket = 0;
    works(vyre_queue_submit(queue, &ticket, &err), &err, "slots are taken in beside a dying host");
    must(vyre_queue_reap(queue, &end, 1, &count, &err), &err);
    is_u64(count, 0, "and are not over with it");
    kill_host(rt);
    is_u64(wait_for(queue, ticket).outcome, VYRE_DONE, "the next host runs them");
    end = wait_for(queue, ticket + 1);
    ok(end.outcome == VYRE_DONE && end.fault == 0, "the one that was written by hand too");
    vyre_close(rt);
}

/* No host can be started again: an end, not a wait. */
static void gone_for_good(void)
{
    vyre_options options = host_options(2);
    char before[4096] = "";
    if (getenv("VYRE_HOST")) snprintf(before, sizeof before, "%s", getenv("VYRE_HOST"));
    vyre *rt = open_with(&options);
    vyre_queue *queue = open_queue(rt, 16, 0);
    vyre_completion ends[16];
    vyre_buffer *buffer = make_buffer(rt, VYRE_DEVICE, 0);
    vyre_error err;
    uint32_t word = 1;
    size_t count = 0, lost = 0, ended = 0;
    int fd = -1;
    must(vyre_queue_event_fd(queue, &fd, &err), &err);
    setenv("VYRE_HOST", "/nowhere/vyre-host", 1);
    kill((pid_t)host_pid(rt), SIGKILL);
    for (int i = 0; i < 9; i++) {
        vyre_slot *slot = next_slot(queue);
        must(vyre_prep_nop(slot, &err), &err);
        if (i % 2) must(vyre_slot_repeatable(queue, slot, &err), &err);
    }
    vyre_status status = vyre_queue_submit(queue, NULL, &err);
    if (status == VYRE_OK) {
        must(vyre_queue_reap_wait(queue, ends, 9, 16, PATIENCE_NS, &count, &err), &err);
        for (size_t i = 0; i < count; i++) {
            lost += ends[i].outcome == VYRE_LOST || ends[i].outcome == VYRE_CANCELLED;
            ended += ends[i].outcome == VYRE_DONE || ends[i].outcome == VYRE_FAULTED;
        }
        ok(count == 9 && lost + ended == 9, "all slots have ended");
    }
    for (int i = 0; i < 100000 && describe(rt).stopped == 0; i++)
        breathe();
    vyre_slot *slot = vyre_queue_slot(queue);
    if (slot) must(vyre_prep_nop(slot, &err), &err);
    refused(vyre_queue_submit(queue, NULL, &err), VYRE_E_LOST, &err, "a submit says so");
    refused(vyre_buffer_read(buffer, 0, &word, 4, &err), VYRE_E_LOST, &err, "a read says so");
    vyre_buffer *other = NULL;
    refused(vyre_buffer_create(rt, 64, VYRE_DEVICE, &other, &err), VYRE_E_LOST, &err,
            "a new buffer says so");
    is_u64(describe(rt).host_pid, 0, "there is no host");
    vyre_buffer_free(buffer);
    uint64_t began = load_clock();
    vyre_close(rt);
    ok(load_clock() - began < 20000000000u, "close returns");
    if (before[0])
        setenv("VYRE_HOST", before, 1);
    else
        unsetenv("VYRE_HOST");
}

/* What a watcher's descriptor and the three wait modes make of a death. */
static void sleepers(void)
{
    for (uint32_t mode = 0; mode < 3; mode++) {
        vyre_options options = host_options(1);
        vyre *rt = open_with(&options);
        vyre_queue *queue = open_queue(rt, 8, 0);
        vyre_completion end;
        vyre_error err;
        int fd = -1;
        uint64_t told = 0;
        must(vyre_queue_event_fd(queue, &fd, &err), &err);
        must(vyre_queue_set_wait_mode(queue, mode, &err), &err);
        pid_t pid = (pid_t)host_pid(rt);
        freeze(pid); /* so that nothing ends before it dies */
        must(vyre_prep_nop(next_slot(queue), &err), &err);
        uint64_t ticket = submit(queue);
        kill(pid, SIGKILL);
        works(vyre_wait(queue, ticket, PATIENCE_NS, &end, &err), &err, "wait mode %u ends", mode);
        is_u64(end.outcome, VYRE_LOST, "as lost");
        struct pollfd news = {fd, POLLIN, 0};
        ok(poll(&news, 1, (int)(PATIENCE_NS / 1000000)) == 1 &&
               read(fd, &told, sizeof told) == sizeof told && told != 0,
           "the descriptor says so");
        vyre_close(rt);
    }
}

static void leaks(void)
{
    struct meter meter = {0};
    vyre_allocator hooks = meter_allocator(&meter);
    hooks.map = NULL;
    hooks.unmap = NULL;
    uint32_t descriptors = count_descriptors(), threads = count_threads();
    vyre_options options = host_options(2);
    options.allocator = &hooks;
    vyre *rt = open_with(&options);
    vyre_buffer *buffer = make_buffer(rt, VYRE_DEVICE, VYRE_BUFFER_RESTORED);
    uint32_t open_descriptors = count_descriptors();
    for (int i = 0; i < 5; i++)
        kill_host(rt);
    is_u64(count_descriptors(), open_descriptors, "restarts leave no descriptors behind");
    vyre_buffer_free(buffer);
    vyre_close(rt);
    is_u64(count_descriptors(), descriptors, "nor does close");
    is_u64(settle_threads(threads), threads, "nor threads");
    is_u64(atomic_load(&meter.live_blocks), 0, "nor memory");
    ok(waitpid(-1, NULL, WNOHANG) == -1, "nor children");
}

/* An application that reaps all children itself, by ignoring them. */
static void no_children(void)
{
    signal(SIGCHLD, SIG_IGN);
    vyre_options options = host_options(1);
    vyre *rt = open_with(&options);
    kill_host(rt);
    kill_host(rt);
    is_u64(describe(rt).restarts, 2, "restarts work where SIGCHLD is ignored");
    vyre_close(rt);
    signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)load_clock();
    setenv("VYRE_HOST_TEST", "1", 1);
    buffers();
    programs();
    sleepers();
    set_up_calls();
    failures();
    hangs();
    last_words();
    gone_for_good();
    leaks();
    no_children();
    load_kill(25, seed, 2);
    return done();
}
