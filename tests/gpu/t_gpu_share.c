/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Memory that vyre and an ordinary CUDA application share, on a GPU through the driver: exported
 * and imported, in this process and in another one, over and over, so that a cache that keeps old
 * bytes shows; and what is left of it when the device host dies. Then pausing, with slots that
 * wait.
 */
#include "gpu.h"
#include "share_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define STEP  ((size_t)2 << 20)
#define WORDS 100000u
#define BYTES (WORDS * sizeof(uint32_t))

static uint32_t *words, *found;

static void fill(uint32_t *into, uint32_t seed)
{
    for (uint32_t i = 0; i < WORDS; i++)
        into[i] = i * 2654435761u + seed;
}

/* How many words are not `expected` plus `by`. */
static uint32_t count_wrong(const uint32_t *got, const uint32_t *expected, uint32_t by)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        wrong += got[i] != expected[i] + by;
    return wrong;
}

/* The program: one is added to each word.
 * ------------------------------------------------------------------------------------------------
 */

struct adder {
    vyre_program *program; /* NULL: this device runs none, and the words are changed by copies */
    vyre_bindings *bindings;
    vyre_buffer *buffer;
    vyre_queue *queue;
};

static struct adder make_adder(vyre *rt, vyre_buffer *buffer)
{
    static const char source[] = "@guard(y)\nkernel add(inout u32 y[]) { y[i] = y[i] + 1; }\n";
    struct adder adder = {.buffer = buffer, .queue = vyre_queue_default(rt)};
    vyre_error err;
    vyre_status status =
        vyre_program_compile(rt, source, sizeof source - 1, NULL, NULL, &adder.program, &err);
    if (status == VYRE_E_UNSUPPORTED) return adder;
    must(status, &err);
    must(vyre_bindings_create(adder.program, &buffer, 1, &adder.bindings, &err), &err);
    return adder;
}

static void free_adder(struct adder *adder)
{
    vyre_error err;
    if (!adder->program) return;
    vyre_bindings_free(adder->bindings);
    must(vyre_program_unload(adder->program, &err), &err);
}

static void add_one(const struct adder *adder)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    if (!adder->program) {
        must(vyre_buffer_read(adder->buffer, 0, found, BYTES, &err), &err);
        for (uint32_t i = 0; i < WORDS; i++)
            found[i]++;
        must(vyre_buffer_write(adder->buffer, 0, found, BYTES, &err), &err);
        return;
    }
    run.program = adder->program;
    run.bindings = adder->bindings;
    run.grid[0] = (WORDS + 63) / 64;
    must(vyre_prep_run(next_slot(adder->queue), &run, &err), &err);
    vyre_completion end = wait_for(adder->queue, submit(adder->queue));
    if (end.outcome != VYRE_DONE) bail("the program ended with %s", vyre_fault_name(end.fault));
}

/* The other process.
 * ------------------------------------------------------------------------------------------------
 */

/* Looks for fill(1) plus one in the memory behind a descriptor, and leaves fill(2). */
static int be_child(char **argv)
{
    vyre_share share = VYRE_SHARE_INIT;
    share.fd = atoi(argv[2]);
    share.extent = strtoull(argv[3], NULL, 10);
    struct peer_memory memory = peer_open(&share);
    fill(words, 1);
    peer_read(&memory, found, BYTES);
    uint32_t wrong = count_wrong(found, words, 1);
    fill(words, 2);
    peer_write(&memory, words, BYTES);
    peer_close(&memory);
    return wrong == 0 ? 0 : 1;
}

static bool other_process(const vyre_share *share)
{
    char fd[16], extent[24];
    int status = 0;
    snprintf(fd, sizeof fd, "%d", share->fd);
    snprintf(extent, sizeof extent, "%llu", (unsigned long long)share->extent);
    fcntl(share->fd, F_SETFD, 0);
    pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stdout); /* one program speaks TAP */
        execl("/proc/self/exe", "t_gpu_share", "--child", fd, extent, (char *)NULL);
        _exit(127);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Tests.
 * ------------------------------------------------------------------------------------------------
 */

static vyre_buffer *make_shared(vyre *rt)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    options.flags = VYRE_BUFFER_SHARED;
    vyre_status status = vyre_buffer_create_with(rt, BYTES, &options, &buffer, &err);
    if (status == VYRE_E_UNSUPPORTED) skip_all("%s", err.message);
    must(status, &err);
    return buffer;
}

/* Memory of the other side, as a buffer. */
static vyre_buffer *import(vyre *rt, struct peer_memory *memory, vyre_share *share)
{
    vyre_buffer *buffer = NULL;
    vyre_error err;
    const char *name = !gpu_is_cuda() ? "some" : peer_driver() ? NULL : "fake-gpu-0";
    *memory = peer_make(name, STEP, share);
    if (!gpu_is_cuda()) share->kind = VYRE_SHARE_MEMORY;
    share->bytes = BYTES;
    must(vyre_buffer_import(rt, share, NULL, &buffer, &err), &err);
    return buffer;
}

/* The two sides in turn; each sees what the other did last. */
static void take_turns(const struct adder *adder, const struct peer_memory *memory, uint64_t rounds,
                       const char *what)
{
    uint64_t wrong = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        fill(words, (uint32_t)round * 7919u);
        peer_write(memory, words, BYTES);
        add_one(adder);
        peer_read(memory, found, BYTES);
        wrong += count_wrong(found, words, 1) != 0;
    }
    is_u64(wrong, 0, "%s: %" PRIu64 " turns, each saw the other's", what, rounds);
}

static void kill_host(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    uint32_t before = about.restarts;
    kill((pid_t)about.host_pid, SIGKILL);
    for (uint64_t waited = 0; about.restarts == before; waited += 50000) {
        if (waited > PATIENCE_NS) bail("no new host came");
        breathe();
        must(vyre_describe(rt, &about, &err), &err);
    }
}

static void test_sharing(uint64_t rounds)
{
    vyre_options options = gpu_options();
    vyre_share share = VYRE_SHARE_INIT, given;
    struct peer_memory made;
    vyre_error err;
    vyre *rt = gpu_open(&options);
    vyre_buffer *exported = make_shared(rt), *imported = import(rt, &made, &given);
    works(vyre_buffer_export(exported, &share, &err), &err, "exported, extent %llu, device %s",
          (unsigned long long)share.extent, share.device);
    struct peer_memory lent = peer_open(&share);
    struct adder adder = make_adder(rt, exported), other = make_adder(rt, imported);
    if (!adder.program) note("no programs on this device: copies in their place");
    peer_read(&lent, found, BYTES);
    memset(words, 0, BYTES);
    is_u64(count_wrong(found, words, 0), 0, "zero at first");
    take_turns(&adder, &lent, rounds, "exported");
    take_turns(&other, &made, rounds, "imported");
    fill(words, 1);
    must(vyre_buffer_write(exported, 0, words, BYTES, &err), &err);
    add_one(&adder);
    ok(other_process(&share), "another process sees a program's stores");
    fill(words, 2);
    must(vyre_buffer_read(exported, 0, found, BYTES, &err), &err);
    is_u64(count_wrong(found, words, 0), 0, "and what it stored is seen here");
    vyre_description about = VYRE_DESCRIPTION_INIT;
    must(vyre_describe(rt, &about, &err), &err);
    if (about.host_pid != 0) {
        fill(words, 3);
        peer_write(&lent, words, BYTES);
        peer_write(&made, words, BYTES);
        kill_host(rt);
        must(vyre_buffer_read(exported, 0, found, BYTES, &err), &err);
        is_u64(count_wrong(found, words, 0), 0, "exported memory outlives the host");
        must(vyre_buffer_read(imported, 0, found, BYTES, &err), &err);
        is_u64(count_wrong(found, words, 0), 0, "imported memory too");
        take_turns(&adder, &lent, 3, "exported, in a new host");
        take_turns(&other, &made, 3, "imported, in a new host");
    }
    free_adder(&adder);
    free_adder(&other);
    vyre_buffer_free(exported); /* beside the kernel */
    vyre_buffer_free(imported);
    fill(words, 4);
    peer_write(&lent, words, BYTES);
    peer_read(&lent, found, BYTES);
    is_u64(count_wrong(found, words, 0), 0, "the memory outlives the buffer");
    vyre_queue *queue = vyre_queue_default(rt);
    ok(wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome == VYRE_DONE,
       "slots run after that");
    peer_close(&lent);
    peer_close(&made);
    close(share.fd);
    close(given.fd);
    vyre_close(rt);
}

static void test_refused(void)
{
    vyre_options options = gpu_options();
    vyre_buffer *buffer = NULL;
    vyre_share share;
    vyre_error err;
    int ends[2];
    if (!gpu_is_cuda()) return;
    vyre *rt = gpu_open(&options);
    vyre_buffer_free(make_shared(rt));
    struct peer_memory memory = peer_make(peer_driver() ? NULL : "fake-gpu-0", STEP, &share);
    vyre_share wrong = share;
    if (pipe(ends) != 0) bail("no pipe");
    wrong.fd = ends[0];
    refused(vyre_buffer_import(rt, &wrong, NULL, &buffer, &err), VYRE_E_NOT_PERMITTED, &err,
            "a pipe for GPU memory");
    wrong = share;
    wrong.extent = 4 * STEP;
    refused(vyre_buffer_import(rt, &wrong, NULL, &buffer, &err), VYRE_E_TOO_SMALL, &err,
            "an extent that is too large");
    wrong.extent = STEP + 4096;
    refused(vyre_buffer_import(rt, &wrong, NULL, &buffer, &err), VYRE_E_MISALIGNED, &err,
            "an extent between two steps");
    works(vyre_buffer_import(rt, &share, NULL, &buffer, &err), &err, "then the right one");
    close(ends[0]);
    close(ends[1]);
    close(share.fd);
    peer_close(&memory);
    vyre_close(rt);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void test_pause(uint64_t rounds)
{
    vyre_options options = gpu_options();
    vyre_completion end;
    vyre_error err;
    uint64_t wrong = 0, pause_ns = 0, resume_ns = 0;
    vyre *rt = gpu_open(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t began = clock_ns();
        vyre_status status = vyre_pause(rt, &err);
        for (uint32_t tries = 1; status == VYRE_E_BUSY && tries < 60; tries++)
            status = vyre_pause(rt, &err); /* the machine is slow */
        must(status, &err);
        pause_ns += clock_ns() - began;
        uint64_t ticket = submit_op(queue, VYRE_OP_NOP, NULL, 0);
        wrong += vyre_wait(queue, ticket, 2000000, &end, &err) != VYRE_E_TIMEOUT;
        began = clock_ns();
        must(vyre_resume(rt, &err), &err);
        wrong += wait_for(queue, ticket).outcome != VYRE_DONE;
        resume_ns += clock_ns() - began;
    }
    is_u64(wrong, 0, "slots wait for the end of each of %" PRIu64 " pauses", rounds);
    note("a pause takes %.2f ms, a resume until the first slot has ended %.2f ms",
         (double)pause_ns / (double)rounds / 1e6, (double)resume_ns / (double)rounds / 1e6);
    must(vyre_pause(rt, &err), &err);
    vyre_close(rt);
    ok(1, "closed while paused");
}

int main(int argc, char **argv)
{
    words = malloc(BYTES);
    found = malloc(BYTES);
    if (!words || !found) bail("out of memory");
    if (argc == 4 && strcmp(argv[1], "--child") == 0) return be_child(argv);
    struct gpu_args args = gpu_arguments(argc, argv, 200);
    test_sharing(args.slots);
    test_refused();
    test_pause(args.slots < 20 ? args.slots : 20);
    free(words);
    free(found);
    return done();
}
