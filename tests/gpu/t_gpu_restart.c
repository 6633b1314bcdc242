/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The device host is made to fail under load, again and again: killed, ended, crashed, sent garbage
 * by, and on a GPU by a native operation that traps, after which no context of its process works.
 * Each time the library must start another one and go on: every slot ends once, one that was marked
 * repeatable as done, any other as done or lost; buffers that are to be restored have their bytes,
 * pinned ones are as they were. How long it took is noted, not judged.
 */
#include "gpu.h"

#include <signal.h>

#include "runtime/hosted.h"

enum { LOADS = 2, SLOTS = 256, MOST_FAULTS = 1000, PIECE = 65536 };

struct load {
    vyre *rt;
    vyre_queue *queue;
    bool repeatable;
    uint64_t sent, received, sum, sum_received;
    uint64_t ends[5];
    _Atomic uint32_t stop;
};

static void receive(struct load *load, size_t least)
{
    vyre_completion ends[SLOTS];
    vyre_error err;
    size_t count = 0;
    must(vyre_queue_reap_wait(load->queue, ends, least, SLOTS, PATIENCE_NS, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        load->sum_received += ends[i].ticket;
        load->ends[ends[i].outcome % 5]++;
    }
    load->received += count;
}

static void *keep_busy(void *argument)
{
    struct load *load = argument;
    vyre_error err;
    while (!atomic_load(&load->stop)) {
        vyre_slot *slot;
        uint32_t got = 0;
        for (; got < 16 && (slot = vyre_queue_slot(load->queue)) != NULL; got++) {
            must(vyre_prep_store_u32(slot, WORD(got), 7, &err), &err);
            if (load->repeatable) must(vyre_slot_repeatable(load->queue, slot, &err), &err);
        }
        uint64_t first = submit(load->queue);
        for (uint32_t i = 0; i < got; i++)
            load->sum += first + i;
        load->sent += got;
        receive(load, got == 0 ? 1 : 0);
    }
    while (load->received != load->sent)
        receive(load, 1);
    return NULL;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static vyre_description describe(vyre *rt)
{
    vyre_description now = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &now, &err), &err);
    return now;
}

enum { TRAP = 70 };

static const char trap_ptx[] = ".version 7.0\n"
                               ".target sm_75\n"
                               ".address_size 64\n"
                               ".visible .func (.param .b32 code) test_trap(.param .b64 call)\n"
                               "{\n"
                               "    st.param.b32 [code], 0;\n"
                               "    trap;\n"
                               "    ret;\n"
                               "}\n";

static void register_trap(vyre *rt)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation = NULL;
    vyre_error err;
    how.opcode = TRAP;
    how.image = trap_ptx;
    how.image_bytes = sizeof trap_ptx - 1;
    how.function = "test_trap";
    must(vyre_operation_register(rt, &how, &operation, &err), &err);
}

/* Makes the host fail in one of several ways. */
static void make_fail(vyre *rt, vyre_queue *probe, uint32_t way)
{
    static const uint64_t numbers[] = {1, 3, 4};
    vyre_error err;
    uint32_t pid = describe(rt).host_pid;
    if (gpu_is_cuda() && way >= 3)
        is_u64(wait_for(probe, submit_op(probe, TRAP, NULL, 0)).outcome, VYRE_LOST,
               "a slot that traps is lost");
    else if (way % 2 == 0)
        kill((pid_t)pid, SIGKILL);
    else
        (void)vyre_hosted_inject(rt, numbers[way / 2 % 3], &err); /* the answer may never come */
}

/* Waits for the next host, then for an answer; returns how long it took from `begin` on. */
static uint64_t recover(vyre *rt, vyre_queue *probe, uint32_t restarts, uint64_t begin)
{
    vyre_error err;
    while (describe(rt).restarts == restarts) {
        if (now_ns() - begin > PATIENCE_NS) bail("the device host was never started again");
        breathe();
    }
    for (;;) {
        vyre_slot *slot = next_slot(probe);
        must(vyre_prep_nop(slot, &err), &err);
        must(vyre_slot_repeatable(probe, slot, &err), &err);
        if (wait_for(probe, submit(probe)).outcome == VYRE_DONE) return now_ns() - begin;
    }
}

static unsigned char byte_of(size_t at)
{
    return (unsigned char)(at * 167 + (at >> 8) * 59 + (at >> 16));
}

static void fill(vyre_buffer *buffer)
{
    static unsigned char piece[PIECE];
    vyre_error err;
    for (size_t at = 0; at < vyre_buffer_size(buffer); at += PIECE) {
        for (size_t i = 0; i < PIECE; i++)
            piece[i] = byte_of(at + i);
        must(vyre_buffer_write(buffer, at, piece, PIECE, &err), &err);
    }
}

/* Bytes that differ, in every `stride`-th piece. */
static uint64_t wrong_bytes(vyre_buffer *buffer, size_t stride)
{
    static unsigned char piece[PIECE];
    vyre_error err;
    uint64_t wrong = 0;
    for (size_t at = 0; at < vyre_buffer_size(buffer); at += stride * PIECE) {
        must(vyre_buffer_read(buffer, at, piece, PIECE, &err), &err);
        for (size_t i = 0; i < PIECE; i++)
            wrong += piece[i] != byte_of(at + i);
    }
    return wrong;
}

/* What the library says meanwhile, for who looks into a failure. */
static void tell(void *ctx, enum vyre_log_level level, const char *line)
{
    (void)ctx;
    if (level != VYRE_LOG_INFO) fprintf(stderr, "%s\n", line);
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static vyre_buffer *make_buffer(vyre *rt, size_t bytes, uint32_t kind)
{
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    how.kind = kind;
    if (kind == VYRE_DEVICE) how.flags = VYRE_BUFFER_RESTORED;
    must(vyre_buffer_create_with(rt, bytes, &how, &buffer, &err), &err);
    fill(buffer);
    return buffer;
}

static void check_load(const struct load *load)
{
    note("%" PRIu64 " slots: %" PRIu64 " done, %" PRIu64 " lost", load->sent, load->ends[VYRE_DONE],
         load->ends[VYRE_LOST]);
    is_u64(load->received, load->sent, "%s: every slot ended",
           load->repeatable ? "repeatable" : "not repeatable");
    is_u64(load->sum_received, load->sum, "once");
    is_u64(load->ends[VYRE_DONE] + (load->repeatable ? 0 : load->ends[VYRE_LOST]), load->sent,
           load->repeatable ? "as done" : "as done or lost");
    ok(load->ends[VYRE_DONE] > 0, "and there was a load");
}

int main(int argc, char **argv)
{
    static uint64_t took[MOST_FAULTS];
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 100 : 6);
    struct load load[LOADS];
    pthread_t thread[LOADS];
    setenv("VYRE_HOST_TEST", "1", 1); /* the host may be asked to fail */
    vyre_options options = gpu_options();
    options.place = VYRE_PLACE_HOST;
    options.stall_policy = VYRE_STALL_RESTART;
    options.stall_ns = 10000000000u; /* no host that is only slow is ended */
    options.log = tell;
    vyre *rt = gpu_open(&options);
    vyre_queue *probe = gpu_queue(rt, 16, 3, 0);
    if (gpu_is_cuda()) register_trap(rt);
    vyre_buffer *restored = make_buffer(rt, (gpu_is_cuda() ? 64u : 4u) << 20, VYRE_DEVICE);
    vyre_buffer *pinned = make_buffer(rt, 1u << 20, VYRE_PINNED);
    uint64_t state = args.seed, wrong = 0;
    uint32_t faults = args.slots < MOST_FAULTS ? (uint32_t)args.slots : MOST_FAULTS;
    for (uint32_t i = 0; i < LOADS; i++) {
        load[i] = (struct load){.rt = rt, .queue = gpu_queue(rt, SLOTS, 1 + i, 0)};
        load[i].repeatable = i == 0;
        if (pthread_create(&thread[i], NULL, keep_busy, &load[i]) != 0) bail("no thread");
    }
    for (uint32_t i = 0; i < faults; i++) {
        uint32_t restarts = describe(rt).restarts;
        uint64_t begin = now_ns();
        make_fail(rt, probe, random_below(&state, 6));
        took[i] = recover(rt, probe, restarts, begin);
        wrong += wrong_bytes(restored, 64);
        struct timespec moment = {0, (long)random_below(&state, 20000000)};
        nanosleep(&moment, NULL);
    }
    for (uint32_t i = 0; i < LOADS; i++) {
        atomic_store(&load[i].stop, 1);
        pthread_join(thread[i], NULL);
        check_load(&load[i]);
    }
    is_u64(wrong + wrong_bytes(restored, 1), 0, "the restored buffer has its bytes");
    is_u64(wrong_bytes(pinned, 1), 0, "and so has the pinned one");
    is_u64(describe(rt).restarts, faults, "one restart for each of %u faults", faults);
    qsort(took, faults, sizeof took[0], compare_times);
    note("from the fault to an answer: p50 %" PRIu64 " ms, most %" PRIu64 " ms",
         took[faults / 2] / 1000000, took[faults - 1] / 1000000);
    vyre_close(rt);
    return done();
}
