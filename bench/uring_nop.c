/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * io_uring's shortest path: NOPs, PEER_BATCH of them filled, submitted, completed and reaped with
 * one system call. The ring has a single issuer, runs its task work when that issuer asks for
 * completions, and its descriptor is registered. Where the kernel is too old for one of these the
 * note says so.
 *
 * One thread: the kernel does the work inside the call.
 */
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>

#include "peers.h"

static int open_ring(struct io_uring *ring, char *note, size_t note_size)
{
    struct io_uring_params params = {0};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    int failed = io_uring_queue_init_params(PEER_BATCH, ring, &params);
    if (failed == -EINVAL) {
        memset(&params, 0, sizeof params);
        failed = io_uring_queue_init_params(PEER_BATCH, ring, &params);
        snprintf(note, note_size, "without single issuer and deferred task run: kernel too old");
    }
    if (failed != 0) {
        snprintf(note, note_size, "io_uring refused: %s", strerror(-failed));
        return -1;
    }
    if (io_uring_register_ring_fd(ring) != 1)
        snprintf(note, note_size, "ring descriptor not registered: kernel too old");
    return 0;
}

/* Fills, submits and reaps one batch; returns how many completions carried the right number. */
static uint32_t run_batch(struct io_uring *ring, uint64_t first)
{
    for (uint32_t i = 0; i < PEER_BATCH; i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
        if (sqe == NULL) return 0;
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, first + i);
    }
    if (io_uring_submit_and_wait(ring, PEER_BATCH) != (int)PEER_BATCH) return 0;
    uint32_t right = 0;
    uint32_t seen = 0;
    uint32_t head;
    struct io_uring_cqe *cqe;
    io_uring_for_each_cqe(ring, head, cqe)
    {
        right += cqe->res == 0 && io_uring_cqe_get_data64(cqe) == first + seen;
        seen++;
    }
    io_uring_cq_advance(ring, seen);
    return seen == PEER_BATCH ? right : 0;
}

void peer_uring_nop(const struct peer_run *run, struct peer_rate *rate)
{
    struct io_uring ring;
    memset(rate, 0, sizeof *rate);
    bench_pin(run->cpus.producer);
    if (open_ring(&ring, rate->note, sizeof rate->note) != 0) {
        rate->state = PEER_ABSENT;
        return;
    }
    uint64_t number = 0;
    uint64_t begin = bench_clock_ns();
    uint64_t now = begin;
    while (now < begin + run->duration_ns && rate->state == PEER_OK) {
        for (uint32_t k = 0; k < 32 && rate->state == PEER_OK; k++) {
            if (run_batch(&ring, number) != PEER_BATCH) {
                rate->state = PEER_WRONG;
                snprintf(rate->note, sizeof rate->note, "a batch of NOPs came back incomplete");
            }
            number += PEER_BATCH;
        }
        now = bench_clock_ns();
    }
    rate->items = number;
    rate->elapsed_ns = now - begin;
    io_uring_queue_exit(&ring);
}
