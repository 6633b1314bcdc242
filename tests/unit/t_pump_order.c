/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that wait for input and output, and what waits for them: streams, whose reads take turns;
 * more requests than there are entries; fences of both kinds; workers that go on meanwhile; what
 * can be seen of a slot that waits.
 */
#include "pump_test.h"

struct pipe_rig {
    struct pump_rig rig;
    int pair[2];
    vyre_source *stream;
};

static void pipe_open(struct pipe_rig *p, uint32_t entries, uint32_t flags)
{
    vyre_options options = pump_options(2);
    vyre_source_options source = VYRE_SOURCE_OPTIONS_INIT;
    vyre_error err;
    if (entries != 0) options.io_entries = entries;
    rig_open_with(&p->rig, &options);
    if (pipe2(p->pair, O_CLOEXEC) != 0) bail("no pipe");
    source.fd = p->pair[0];
    source.flags = flags;
    must(vyre_source_open(p->rig.rt, &source, &p->stream, &err), &err);
}

static void pipe_close(struct pipe_rig *p)
{
    rig_close(&p->rig);
    close(p->pair[0]);
    if (p->pair[1] >= 0) close(p->pair[1]);
}

/* Writes the file's bytes from `offset` on into the pipe. */
static void feed(struct pipe_rig *p, uint64_t offset, size_t length)
{
    unsigned char bytes[4096];
    while (length != 0) {
        size_t n = length < sizeof bytes ? length : sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = file_byte(offset + i);
        if (write(p->pair[1], bytes, n) != (ssize_t)n) bail("the pipe was not written");
        offset += n;
        length -= n;
    }
}

/* A read of a pipe waits for all its bytes, however they come; then for the pipe's end. */
static void streams(enum vyre_buffer_kind kind)
{
    struct pipe_rig p;
    pipe_open(&p, 0, 0);
    vyre_buffer *buffer = make_buffer(p.rig.rt, 1 << 20, kind);
    vyre_load load = load_of(p.stream, buffer, 0, 10000);
    uint64_t first = submit_load(p.rig.queue, &load);
    ok(underway(p.rig.rt, 1), "a read of a pipe waits");
    ok(reaches_state(p.rig.rt, VYRE_SLOT_WAIT_IO, 1), "its slot is WAIT_IO, and can be seen so");
    feed(&p, 0, 1);
    feed(&p, 1, 4999);
    feed(&p, 5000, 5000);
    vyre_completion end = wait_for(p.rig.queue, first);
    ok(end.outcome == VYRE_DONE && moved(&end) == 10000, "it goes on until all have come");
    is_u64(differs(buffer, 0, 0, 10000), 0, "in their order");
    is_u64(in_state(p.rig.rt, 0, VYRE_SLOT_WAIT_IO), 0, "no slot waits any more");
    /* Three reads at once: each has bytes without a gap, in the order of the slots. */
    vyre_error err;
    for (uint32_t i = 0; i < 3; i++) {
        load.at = i * 300000u;
        load.length = 300000;
        load.offset = i == 1 ? UINT64_MAX : 0;
        must(vyre_prep_load(next_slot(p.rig.queue), &load, &err), &err);
    }
    first = submit(p.rig.queue);
    feed(&p, 10000, 900000);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 3; i++) {
        end = wait_for(p.rig.queue, first + i);
        wrong += end.outcome != VYRE_DONE || moved(&end) != 300000;
    }
    is_u64(wrong, 0, "three at once are done");
    is_u64(differs(buffer, 0, 10000, 900000), 0, "one after the other");
    load.offset = 1;
    end = run_load(p.rig.queue, &load);
    ok(faulted_with(&end, VYRE_FAULT_IO, ESPIPE), "a stream has no offset 1");
    load.offset = 0;
    load.prefetch = 1;
    ok(run_load(p.rig.queue, &load).outcome == VYRE_DONE, "nor bytes ahead");
    load.prefetch = 0;
    load.at = 0;
    first = submit_load(p.rig.queue, &load);
    feed(&p, 0, 150000);
    close(p.pair[1]);
    p.pair[1] = -1;
    end = wait_for(p.rig.queue, first);
    ok(end.outcome == VYRE_DONE && moved(&end) == 150000, "at its end there are fewer");
    is_u64(differs(buffer, 0, 0, 150000), 0, "the right ones");
    end = run_load(p.rig.queue, &load);
    ok(end.outcome == VYRE_DONE && moved(&end) == 0, "and then none");
    pipe_close(&p);
}

static void partial_reads(void)
{
    struct pipe_rig p;
    pipe_open(&p, 0, VYRE_SOURCE_PARTIAL);
    vyre_buffer *buffer = make_buffer(p.rig.rt, 4096, VYRE_PINNED);
    vyre_load load = load_of(p.stream, buffer, 0, 4096);
    uint64_t ticket = submit_load(p.rig.queue, &load);
    if (!underway(p.rig.rt, 1)) bail("the read does not wait");
    feed(&p, 0, 100);
    vyre_completion end = wait_for(p.rig.queue, ticket);
    ok(end.outcome == VYRE_DONE && moved(&end) == 100, "PARTIAL: with what came first");
    pipe_close(&p);
}

/* Descriptors that do not wait are waited for all the same. */
static void sockets(void)
{
    struct pump_rig rig;
    int pair[2];
    rig_open(&rig);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        bail("no sockets");
    vyre_source *source = open_source(rig.rt, pair[0], VYRE_RIGHT_READ | VYRE_RIGHT_WRITE, 0);
    static const enum vyre_buffer_kind kinds[] = {VYRE_PINNED, VYRE_DEVICE};
    for (uint32_t k = 0; k < 2; k++) {
        enum { LENGTH = 1 << 20 };
        vyre_buffer *out = make_buffer(rig.rt, LENGTH, kinds[k]);
        vyre_buffer *in = make_buffer(rig.rt, LENGTH, kinds[k]);
        vyre_load load = load_of(rig.source, out, 0, LENGTH);
        if (run_load(rig.queue, &load).outcome != VYRE_DONE) bail("the file was not read");
        load = load_of(source, in, 0, LENGTH);
        uint64_t reading = submit_load(rig.queue, &load);
        load = load_of(source, out, 0, LENGTH);
        load.op = VYRE_IO_WRITE;
        uint64_t writing = submit_load(rig.queue, &load);
        /* The other end sends back what it gets. */
        static unsigned char bytes[65536];
        size_t back = 0;
        while (back < LENGTH) {
            ssize_t n = recv(pair[1], bytes, sizeof bytes, 0);
            if (n < 0 && errno == EAGAIN) {
                breathe();
                continue;
            }
            if (n <= 0) bail("the socket was not read");
            for (ssize_t sent = 0; sent < n;) {
                ssize_t m = send(pair[1], bytes + sent, (size_t)(n - sent), 0);
                if (m > 0) sent += m;
                if (m < 0 && errno != EAGAIN) bail("the socket was not written");
            }
            back += (size_t)n;
        }
        vyre_completion end = wait_for(rig.queue, writing);
        ok(end.outcome == VYRE_DONE && moved(&end) == LENGTH, "a socket is written");
        end = wait_for(rig.queue, reading);
        ok(end.outcome == VYRE_DONE && moved(&end) == LENGTH, "and read");
        is_u64(differs(in, 0, 0, LENGTH), 0, "what comes back is what went");
    }
    vyre_buffer *buffer = make_buffer(rig.rt, 16, VYRE_PINNED);
    vyre_load load = load_of(source, buffer, 0, 16);
    uint64_t ticket = submit_load(rig.queue, &load);
    if (!underway(rig.rt, 1)) bail("the read does not wait");
    close(pair[1]);
    vyre_completion end = wait_for(rig.queue, ticket);
    ok(end.outcome == VYRE_DONE && moved(&end) == 0, "a peer that closes is the end");
    load.op = VYRE_IO_WRITE;
    end = run_load(rig.queue, &load);
    ok(faulted_with(&end, VYRE_FAULT_IO, EPIPE), "writing to it is an error, and no signal");
    close(pair[0]);
    rig_close(&rig);
}

/* Four entries, hundreds of requests, all of which wait for one pipe. */
static void few_entries(void)
{
    struct pipe_rig p;
    pipe_open(&p, 4, 0);
    vyre_error err;
    vyre_buffer *buffer = make_buffer(p.rig.rt, 256 * 64, VYRE_PINNED);
    for (uint32_t i = 0; i < 200; i++) {
        vyre_load load = load_of(p.stream, buffer, 0, 64);
        load.at = i * 64u;
        must(vyre_prep_load(next_slot(p.rig.queue), &load, &err), &err);
    }
    uint64_t first = submit(p.rig.queue);
    ok(reaches_state(p.rig.rt, VYRE_SLOT_WAIT_IO, 200), "200 slots wait");
    ok(underway(p.rig.rt, 4), "for 4 of them there is a request");
    must(vyre_prep_nop(next_slot(p.rig.queue), &err), &err);
    ok(wait_for(p.rig.queue, submit(p.rig.queue)).outcome == VYRE_DONE, "another slot runs");
    feed(&p, 0, 200 * 64);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 200; i++) {
        vyre_completion end = wait_for(p.rig.queue, first + i);
        wrong += end.outcome != VYRE_DONE || moved(&end) != 64;
    }
    is_u64(wrong, 0, "all are done");
    is_u64(differs(buffer, 0, 0, 200 * 64), 0, "in their order");
    pipe_close(&p);
}

/* More slots that bounce than there are chunks. */
static void few_chunks(void)
{
    struct pipe_rig p;
    pipe_open(&p, 0, 0);
    vyre_error err;
    vyre_buffer *buffer = make_buffer(p.rig.rt, 200 * 1000, VYRE_DEVICE);
    for (uint32_t i = 0; i < 200; i++) {
        vyre_load load = load_of(p.stream, buffer, 0, 1000);
        load.at = i * 1000u;
        must(vyre_prep_load(next_slot(p.rig.queue), &load, &err), &err);
    }
    uint64_t first = submit(p.rig.queue);
    ok(reaches_state(p.rig.rt, VYRE_SLOT_WAIT_IO, 200), "200 slots wait");
    vyre_load load = load_of(p.rig.source, buffer, 0, 0);
    vyre_buffer *pinned = make_buffer(p.rig.rt, 4096, VYRE_PINNED);
    load = load_of(p.rig.source, pinned, 0, 4096);
    ok(run_load(p.rig.queue, &load).outcome == VYRE_DONE, "one that needs no chunk passes them");
    feed(&p, 0, 200 * 1000);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 200; i++)
        wrong += wait_for(p.rig.queue, first + i).outcome != VYRE_DONE;
    is_u64(wrong, 0, "all are done");
    is_u64(differs(buffer, 0, 0, 200 * 1000), 0, "in their order");
    pipe_close(&p);
}

/* A FENCE ends after the requests of its tenant that came before it, and after no others. */
static void fences(void)
{
    struct pipe_rig p;
    pipe_open(&p, 0, 0);
    vyre_error err;
    vyre_queue *second = open_queue(p.rig.rt, 64, 0), *other = open_queue(p.rig.rt, 64, 1);
    vyre_buffer *buffer = make_buffer(p.rig.rt, 4096, VYRE_PINNED);
    vyre_load fence = VYRE_LOAD_INIT, load = load_of(p.stream, buffer, 0, 100);
    fence.op = VYRE_IO_FENCE;
    ok(run_load(p.rig.queue, &fence).outcome == VYRE_DONE, "a fence behind nothing is done");
    uint64_t read = submit_load(p.rig.queue, &load);
    if (!underway(p.rig.rt, 1)) bail("the read does not wait");
    uint64_t first = submit_load(second, &fence), next = submit_load(second, &fence);
    ok(reaches_state(p.rig.rt, VYRE_SLOT_WAIT_IO, 3), "two fences wait, of another queue too");
    ok(run_load(other, &fence).outcome == VYRE_DONE, "one of another tenant does not");
    load = load_of(p.rig.source, buffer, 0, 100);
    ok(run_load(second, &load).outcome == VYRE_DONE, "a read behind them does not wait for them");
    vyre_completion end;
    refused(vyre_wait(second, first, 0, &end, &err), VYRE_E_TIMEOUT, &err, "they still wait");
    feed(&p, 0, 100);
    ok(wait_for(second, first).outcome == VYRE_DONE && wait_for(second, next).outcome == VYRE_DONE,
       "with the end of the read they end");
    refused(vyre_wait(p.rig.queue, read + 1, 0, &end, &err), VYRE_E_NOT_FOUND, &err, "no more");
    ok(wait_for(p.rig.queue, read).outcome == VYRE_DONE, "which has ended by then");
    /* The queue's own fence waits for slots that wait. */
    load = load_of(p.stream, buffer, 0, 100);
    must(vyre_prep_load(next_slot(p.rig.queue), &load, &err), &err);
    must(vyre_prep_fence(next_slot(p.rig.queue), 1, 77, &err), &err);
    must(vyre_prep_nop(next_slot(p.rig.queue), &err), &err);
    read = submit(p.rig.queue);
    if (!underway(p.rig.rt, 1)) bail("the read does not wait");
    is_u64(observable(p.rig.rt, 0, 0), 0, "BATCH_FENCE has not run");
    feed(&p, 0, 100);
    ok(wait_for(p.rig.queue, read + 2).outcome == VYRE_DONE, "it runs when the read has ended");
    is_u64(observable(p.rig.rt, 0, 0), 77, "with its tag");
    pipe_close(&p);
}

/* With one worker: while a slot waits, others run and sleep and run. */
static void one_worker(void)
{
    struct pipe_rig p;
    vyre_options options = pump_options(1);
    vyre_source_options source = VYRE_SOURCE_OPTIONS_INIT;
    vyre_error err;
    uint32_t wrong = 0;
    rig_open_with(&p.rig, &options);
    if (pipe2(p.pair, O_CLOEXEC) != 0) bail("no pipe");
    source.fd = p.pair[0];
    must(vyre_source_open(p.rig.rt, &source, &p.stream, &err), &err);
    vyre_buffer *buffer = make_buffer(p.rig.rt, 4096, VYRE_PINNED);
    for (uint32_t round = 0; round < 50; round++) {
        vyre_load load = load_of(p.stream, buffer, 0, 100);
        uint64_t ticket = submit_load(p.rig.queue, &load);
        for (uint32_t i = 0; i < 20; i++) {
            must(vyre_prep_atomic_add(next_slot(p.rig.queue), WORD(3), 1, &err), &err);
            wrong += wait_for(p.rig.queue, submit(p.rig.queue)).outcome != VYRE_DONE;
        }
        if (round % 10 == 0 && !underway(p.rig.rt, 1)) bail("the read does not wait");
        feed(&p, round, 100);
        wrong += wait_for(p.rig.queue, ticket).outcome != VYRE_DONE;
        wrong += differs(buffer, 0, round, 100) != 0;
    }
    is_u64(wrong, 0, "one worker: 50 reads of a pipe, other slots meanwhile");
    is_u64(observable(p.rig.rt, 0, 3), 1000, "which ran");
    pipe_close(&p);
}

int main(void)
{
    streams(VYRE_PINNED);
    streams(VYRE_DEVICE);
    partial_reads();
    sockets();
    few_entries();
    few_chunks();
    fences();
    one_worker();
    return done();
}
