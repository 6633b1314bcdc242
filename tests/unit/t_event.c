/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The completion descriptor: readable when something has ended and not before, no signal lost over
 * many random submits, and a watcher thread only for queues that asked for one.
 */
#include "support.h"

#include <poll.h>
#include <sys/epoll.h>

enum { GATE = 100, SUBMITS = 10000 };

static bool readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, timeout_ms) == 1 && (poll_fd.revents & POLLIN);
}

static void drain(int fd)
{
    uint64_t signals;
    if (read(fd, &signals, sizeof signals) != sizeof signals) note("nothing to read");
}

static void one_by_one(vyre *rt, struct gate *gate)
{
    vyre_queue *queue = open_queue(rt, 8, 0);
    vyre_error err;
    int fd = -1, again = -1;
    works(vyre_queue_event_fd(queue, &fd, &err), &err, "a descriptor");
    works(vyre_queue_event_fd(queue, &again, &err), &err, "asked for again");
    ok(fd >= 0 && fd == again, "it is the same one");
    ok(!readable(fd, 0), "nothing has ended yet");
    uint64_t held = hold_worker(queue, GATE, gate);
    ok(!readable(fd, 0), "nor while a slot runs");
    atomic_store(&gate->open, 1);
    ok(readable(fd, 60000), "its end makes it readable");
    ok(readable(fd, 0), "until it is read");
    drain(fd);
    ok(!readable(fd, 0), "then it is not");
    wait_for(queue, held);
    ok(!readable(fd, 0), "reaping says nothing");
    vyre_queue_close(queue);
}

/* Asked for when completions are there already: in the ring, or kept by a wait. */
static void asked_late(vyre *rt)
{
    vyre_error err;
    for (int kept = 0; kept < 2; kept++) {
        vyre_queue *queue = open_queue(rt, 8, 0);
        vyre_completion ends[8];
        size_t count = 0;
        int fd = -1;
        for (int i = 0; i < 4; i++)
            must(vyre_prep_nop(next_slot(queue), &err), &err);
        uint64_t first = submit(queue);
        /* NOPs of one queue end in order: with the last one, all have arrived. */
        if (kept) wait_for(queue, first + 3);
        must(vyre_queue_event_fd(queue, &fd, &err), &err);
        ok(readable(fd, 60000), "completions from before the call count too (%s)",
           kept ? "kept" : "in the ring");
        must(vyre_queue_reap_wait(queue, ends, 3, 8, PATIENCE_NS, &count, &err), &err);
        vyre_queue_close(queue);
    }
}

/* As the header says: wait for the descriptor, read it, reap until there are none. */
static uint32_t event_loop(vyre_queue *queue, int fd, uint64_t *state)
{
    vyre_completion ends[16];
    vyre_error err;
    uint32_t sent = 0, received = 0, signals = 0;
    while (received < SUBMITS) {
        uint32_t batch = 1 + random_below(state, 6);
        while (batch-- > 0 && sent < SUBMITS) {
            vyre_slot *slot = vyre_queue_slot(queue);
            if (!slot) break;
            must(vyre_prep_nop(slot, &err), &err);
            if (random_below(state, 4) == 0)
                must(vyre_slot_priority(slot, VYRE_PRIORITY_LOW, &err), &err);
            sent++;
        }
        must(vyre_queue_submit(queue, NULL, &err), &err);
        if (random_below(state, 200) == 0) usleep(300);
        if (random_below(state, 3) == 0 && sent < SUBMITS) continue;
        if (sent == received) continue;
        if (!readable(fd, 30000)) return 0;
        drain(fd);
        signals++;
        size_t count;
        do {
            must(vyre_queue_reap(queue, ends, 16, &count, &err), &err);
            received += (uint32_t)count;
        } while (count > 0);
    }
    return signals;
}

static void no_signal_lost(uint64_t state)
{
    for (uint32_t workers = 1; workers <= 3; workers += 2) {
        vyre *rt = open_cpu(workers);
        vyre_queue *queue = open_queue(rt, 32, 0);
        vyre_error err;
        int fd = -1;
        must(vyre_queue_event_fd(queue, &fd, &err), &err);
        uint32_t signals = event_loop(queue, fd, &state);
        ok(signals > 0, "%u workers: %u submits, each end was signalled (%u times)", workers,
           (uint32_t)SUBMITS, signals);
        vyre_close(rt);
    }
}

static void several_in_epoll(vyre *rt)
{
    enum { QUEUES = 5 };
    vyre_queue *queues[QUEUES];
    vyre_error err;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    uint32_t ended[QUEUES] = {0}, sum = 0;
    for (uint32_t i = 0; i < QUEUES; i++) {
        int fd = -1;
        queues[i] = open_queue(rt, 8, i);
        must(vyre_queue_event_fd(queues[i], &fd, &err), &err);
        struct epoll_event event = {.events = EPOLLIN,
                                    .data.u64 = (uint64_t)i << 32 | (uint32_t)fd};
        if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) != 0) bail("epoll_ctl");
        submit_op(queues[i], VYRE_OP_NOP, NULL, 0);
    }
    while (sum < QUEUES * 100) {
        struct epoll_event ready[QUEUES];
        int count = epoll_wait(loop, ready, QUEUES, 60000);
        if (count <= 0) break;
        for (int k = 0; k < count; k++) {
            uint32_t i = (uint32_t)(ready[k].data.u64 >> 32);
            vyre_completion ends[8];
            size_t n = 0;
            drain((int)(uint32_t)ready[k].data.u64);
            must(vyre_queue_reap(queues[i], ends, 8, &n, &err), &err);
            sum += (uint32_t)n;
            ended[i] += (uint32_t)n;
            for (size_t e = 0; e < n && ended[i] < 100; e++)
                submit_op(queues[i], VYRE_OP_NOP, NULL, 0);
        }
    }
    is_u64(sum, QUEUES * 100, "five queues in one epoll, 100 slots each, one after the other");
    for (uint32_t i = 0; i < QUEUES; i++)
        vyre_queue_close(queues[i]);
    close(loop);
}

static void threads_and_descriptors(void)
{
    vyre *rt = open_cpu(1);
    uint32_t threads = count_threads(), descriptors = count_descriptors();
    vyre_queue *queues[3];
    vyre_error err;
    int fd;
    for (int i = 0; i < 3; i++)
        queues[i] = open_queue(rt, 4, 0);
    is_u64(count_threads(), threads, "a queue that did not ask has no thread");
    uint32_t with_queues = count_descriptors();
    for (int i = 0; i < 2; i++) {
        must(vyre_queue_event_fd(queues[i], &fd, &err), &err);
        must(vyre_queue_event_fd(queues[i], &fd, &err), &err);
    }
    is_u64(count_threads(), threads + 2, "two that asked have one each");
    is_u64(count_descriptors(), with_queues + 2, "and a descriptor each");
    vyre_queue_close(queues[0]);
    is_u64(settle_threads(threads + 1), threads + 1, "closing one ends its thread");
    vyre_queue_close(queues[1]);
    vyre_queue_close(queues[2]);
    is_u64(settle_threads(threads), threads, "and the other's");
    is_u64(count_descriptors(), descriptors, "and all descriptors");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    struct gate gate = {0};
    vyre *rt = open_cpu(2);
    if (!test_hosted()) { /* a gate is a C function */
        register_op(rt, GATE, gate_run, &gate);
        one_by_one(rt, &gate);
    }
    asked_late(rt);
    several_in_epoll(rt);
    vyre_close(rt);
    no_signal_lost(seed);
    threads_and_descriptors();
    return done();
}
