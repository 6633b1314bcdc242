/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How slots end that wait for input and output: by a cancel, a deadline, the end of their source, a
 * stop, a close, the death of their device. Each ends once, and no buffer is touched after that:
 * what is fed into the pipe afterwards is still in the pipe.
 */
#include "pump_test.h"

#include <poll.h>
#include <signal.h>

enum { BYTES = 200000 }; /* more than a chunk and more than a pipe holds */

struct ends_rig {
    struct pump_rig rig;
    int pair[2];
    vyre_source *stream;
    vyre_buffer *buffer;
};

static void ends_open(struct ends_rig *e, enum vyre_buffer_kind kind, uint32_t entries)
{
    vyre_options options = pump_options(2);
    if (entries != 0) options.io_entries = entries;
    rig_open_with(&e->rig, &options);
    if (pipe2(e->pair, O_CLOEXEC | O_NONBLOCK) != 0) bail("no pipe");
    e->stream = open_source(e->rig.rt, e->pair[0], VYRE_RIGHT_READ, 0);
    e->buffer = make_buffer(e->rig.rt, BYTES, kind);
}

static void ends_close(struct ends_rig *e)
{
    rig_close(&e->rig);
    close(e->pair[0]);
    close(e->pair[1]);
}

static void feed(struct ends_rig *e, unsigned char byte, size_t length)
{
    unsigned char bytes[4096];
    memset(bytes, byte, sizeof bytes);
    while (length != 0) {
        size_t n = length < sizeof bytes ? length : sizeof bytes;
        ssize_t sent = write(e->pair[1], bytes, n);
        if (sent > 0) length -= (size_t)sent;
        if (sent < 0 && errno != EAGAIN) bail("the pipe was not written");
    }
}

/* How many bytes of the buffer have this value. */
static size_t count_of(struct ends_rig *e, unsigned char byte)
{
    static unsigned char bytes[BYTES];
    size_t count = 0;
    vyre_error err;
    must(vyre_buffer_read(e->buffer, 0, bytes, BYTES, &err), &err);
    for (size_t i = 0; i < BYTES; i++)
        count += bytes[i] == byte;
    return count;
}

/* Whether 100 bytes that are written now stay in the pipe, and away from the buffer. */
static bool left_alone(struct ends_rig *e)
{
    unsigned char bytes[256];
    feed(e, 0xEE, 100);
    for (uint32_t i = 0; i < 20; i++)
        breathe();
    ssize_t n = read(e->pair[0], bytes, sizeof bytes);
    return n == 100 && bytes[0] == 0xEE && count_of(e, 0xEE) == 0;
}

/* A read that waits, after some bytes have come. */
static uint64_t begin(struct ends_rig *e, size_t come)
{
    vyre_load load = load_of(e->stream, e->buffer, 0, BYTES);
    uint64_t ticket = submit_load(e->rig.queue, &load);
    if (!reaches_state(e->rig.rt, VYRE_SLOT_WAIT_IO, 1)) bail("the read does not wait");
    feed(e, 0x11, come);
    struct pollfd empty = {e->pair[0], POLLIN, 0};
    while (poll(&empty, 1, 0) != 0)
        breathe(); /* until the pump has them */
    return ticket;
}

static void cancels(enum vyre_buffer_kind kind)
{
    struct ends_rig e;
    vyre_error err;
    ends_open(&e, kind, 0);
    uint64_t ticket = begin(&e, 150000);
    works(vyre_cancel(e.rig.queue, ticket, &err), &err, "cancel a slot that waits for input");
    vyre_completion end = wait_for(e.rig.queue, ticket);
    ok(end.outcome == VYRE_CANCELLED && end.fault == VYRE_FAULT_CANCELLED, "it ends so");
    ok(moved(&end) <= 150000, "with the bytes that had come, %u", end.result[0]);
    refused(vyre_cancel(e.rig.queue, ticket, &err), VYRE_E_NOT_FOUND, &err, "and only once");
    ok(left_alone(&e), "its buffer is left alone");
    vyre_load load = load_of(e.stream, e.buffer, 0, 100);
    ticket = submit_load(e.rig.queue, &load);
    feed(&e, 0x22, 100);
    end = wait_for(e.rig.queue, ticket);
    ok(end.outcome == VYRE_DONE && count_of(&e, 0x22) == 100, "the next read has the next bytes");
    ends_close(&e);
}

/* At any moment of a long read, between its pieces too: the stream is free for the next one. */
static void cancel_races(uint64_t seed, enum vyre_buffer_kind kind, uint32_t rounds)
{
    struct ends_rig e;
    uint64_t state = seed;
    uint32_t wrong = 0, hits = 0;
    vyre_error err;
    ends_open(&e, kind, 0);
    for (uint32_t i = 0; i < rounds; i++) {
        unsigned char bytes[65536];
        vyre_load load = load_of(e.stream, e.buffer, 0, BYTES);
        uint64_t ticket = submit_load(e.rig.queue, &load);
        feed(&e, 0x11, random_below(&state, BYTES - 40000));
        for (uint32_t k = random_below(&state, 2000); k != 0; k--)
            __asm__ volatile("" ::: "memory");
        vyre_cancel(e.rig.queue, ticket, &err);
        vyre_completion end = wait_for(e.rig.queue, ticket);
        wrong += end.outcome != VYRE_CANCELLED;
        hits += end.outcome == VYRE_CANCELLED;
        while (read(e.pair[0], bytes, sizeof bytes) > 0) {}
        load = load_of(e.stream, e.buffer, 0, 10);
        ticket = submit_load(e.rig.queue, &load);
        feed(&e, 0x22, 10);
        end = wait_for(e.rig.queue, ticket);
        wrong += end.outcome != VYRE_DONE || moved(&end) != 10;
    }
    is_u64(wrong, 0, "%u reads were cancelled while bytes came", hits);
    ends_close(&e);
}

/* Of requests that the pump has not even seen, of those that wait for others, of fences. */
static void cancels_in_rows(void)
{
    struct ends_rig e;
    vyre_error err;
    uint32_t wrong = 0;
    ends_open(&e, VYRE_PINNED, 2);
    vyre_load load = load_of(e.stream, e.buffer, 0, 100), fence = VYRE_LOAD_INIT;
    fence.op = VYRE_IO_FENCE;
    for (uint32_t i = 0; i < 6; i++) {
        load.at = i * 100u;
        must(vyre_prep_load(next_slot(e.rig.queue), i == 5 ? &fence : &load, &err), &err);
    }
    uint64_t first = submit(e.rig.queue);
    if (!reaches_state(e.rig.rt, VYRE_SLOT_WAIT_IO, 6)) bail("the slots do not wait");
    static const uint32_t order[] = {3, 5, 1, 4};
    for (uint32_t i = 0; i < 4; i++) {
        works(vyre_cancel(e.rig.queue, first + order[i], &err), &err, "cancel slot %u", order[i]);
        vyre_completion end = wait_for(e.rig.queue, first + order[i]);
        wrong += end.outcome != VYRE_CANCELLED || end.fault != VYRE_FAULT_CANCELLED;
    }
    is_u64(wrong, 0, "each ends so");
    feed(&e, 0x33, 200);
    ok(wait_for(e.rig.queue, first).outcome == VYRE_DONE &&
           wait_for(e.rig.queue, first + 2).outcome == VYRE_DONE,
       "the others have the bytes");
    is_u64(count_of(&e, 0x33), 200, "all of them");
    ends_close(&e);
}

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void deadlines(enum vyre_buffer_kind kind)
{
    struct ends_rig e;
    vyre_error err;
    ends_open(&e, kind, 1);
    vyre_load load = load_of(e.stream, e.buffer, 0, BYTES), fence = VYRE_LOAD_INIT;
    fence.op = VYRE_IO_FENCE;
    const uint64_t soon = 30000000u;
    uint64_t began = clock_ns();
    /* One that the pump has, one that waits for room, one that waits for both. */
    for (uint32_t i = 0; i < 3; i++) {
        vyre_slot *slot = next_slot(e.rig.queue);
        must(vyre_prep_load(slot, i == 2 ? &fence : &load, &err), &err);
        must(vyre_slot_deadline(e.rig.queue, slot, soon + (2 - i) * 1000000u, &err), &err);
    }
    uint64_t first = submit(e.rig.queue);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 3; i++) {
        vyre_completion end = wait_for(e.rig.queue, first + i);
        wrong += end.outcome != VYRE_FAULTED || end.fault != VYRE_FAULT_DEADLINE;
    }
    is_u64(wrong, 0, "three slots whose deadlines come end with that fault");
    ok(clock_ns() - began >= soon, "not before");
    ok(left_alone(&e), "the buffer is left alone");
    load.length = 100;
    vyre_slot *slot = next_slot(e.rig.queue);
    must(vyre_prep_load(slot, &load, &err), &err);
    must(vyre_slot_deadline(e.rig.queue, slot, PATIENCE_NS, &err), &err);
    first = submit(e.rig.queue);
    feed(&e, 0x44, 100);
    ok(wait_for(e.rig.queue, first).outcome == VYRE_DONE, "one with time left is done");
    ends_close(&e);
}

static void closed_sources(enum vyre_buffer_kind kind)
{
    struct ends_rig e;
    vyre_error err;
    ends_open(&e, kind, 0);
    uint64_t ticket = begin(&e, 150000);
    vyre_load load = load_of(e.stream, e.buffer, 0, 100);
    must(vyre_prep_load(next_slot(e.rig.queue), &load, &err), &err);
    submit(e.rig.queue);
    if (!underway(e.rig.rt, 2)) bail("the reads do not wait");
    vyre_source_close(e.stream);
    ok(left_alone(&e), "after the close of a source nothing of it is read");
    vyre_completion end = wait_for(e.rig.queue, ticket);
    ok(faulted_with(&end, VYRE_FAULT_IO, ECANCELED), "who read it faults");
    end = wait_for(e.rig.queue, ticket + 1);
    ok(faulted_with(&end, VYRE_FAULT_IO, ECANCELED), "and who waited for a turn");
    end = run_load(e.rig.queue, &load);
    ok(faulted_with(&end, VYRE_FAULT_IO, EBADF), "later ones find no source");
    load = load_of(e.rig.source, e.buffer, 0, 4096);
    ok(run_load(e.rig.queue, &load).outcome == VYRE_DONE, "other sources go on");
    ends_close(&e);
}

static void freed_buffers(void)
{
    struct ends_rig e;
    vyre_error err;
    vyre_description about = VYRE_DESCRIPTION_INIT;
    ends_open(&e, VYRE_PINNED, 0);
    must(vyre_describe(e.rig.rt, &about, &err), &err);
    uint64_t before = about.buffer_bytes;
    uint64_t ticket = begin(&e, 1000);
    vyre_buffer_free(e.buffer);
    must(vyre_describe(e.rig.rt, &about, &err), &err);
    is_u64(about.buffer_bytes, before, "a buffer that a slot reads into stays");
    feed(&e, 0x55, BYTES - 1000);
    vyre_completion end = wait_for(e.rig.queue, ticket);
    ok(end.outcome == VYRE_DONE && moved(&end) == BYTES, "until the slot has ended");
    do
        must(vyre_describe(e.rig.rt, &about, &err), &err);
    while (about.buffer_bytes == before);
    ok(about.buffer_bytes < before, "then it goes");
    ends_close(&e);
}

static void stops(enum vyre_buffer_kind kind)
{
    struct ends_rig e;
    vyre_error err;
    ends_open(&e, kind, 0);
    vyre_load load = load_of(e.stream, e.buffer, 0, BYTES), fence = VYRE_LOAD_INIT;
    fence.op = VYRE_IO_FENCE;
    for (uint32_t i = 0; i < 100; i++)
        must(vyre_prep_load(next_slot(e.rig.queue), i % 10 == 9 ? &fence : &load, &err), &err);
    uint64_t first = submit(e.rig.queue);
    if (!reaches_state(e.rig.rt, VYRE_SLOT_WAIT_IO, 100)) bail("the slots do not wait");
    feed(&e, 0x11, 50000);
    works(vyre_stop(e.rig.rt, &err), &err, "stop while 100 slots wait");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 100; i++) {
        vyre_completion end = wait_for(e.rig.queue, first + i);
        wrong += end.outcome != VYRE_CANCELLED || end.fault != VYRE_FAULT_STOPPED;
    }
    is_u64(wrong, 0, "all end as stopped");
    unsigned char bytes[65536];
    while (read(e.pair[0], bytes, sizeof bytes) > 0) {}
    feed(&e, 0xEE, 100);
    for (uint32_t i = 0; i < 20; i++)
        breathe();
    is_u64((uint64_t)read(e.pair[0], bytes, sizeof bytes), 100, "nobody reads the pipe any more");
    vyre_source_options options = VYRE_SOURCE_OPTIONS_INIT;
    vyre_source *source;
    options.fd = e.rig.fd;
    refused(vyre_source_open(e.rig.rt, &options, &source, &err), VYRE_E_STOPPED, &err, "no source");
    ends_close(&e);
}

/* Opened, asked, closed: with requests in every state. */
static void closes(uint64_t seed, uint32_t cycles)
{
    uint64_t state = seed;
    uint32_t descriptors = 0;
    for (uint32_t i = 0; i < cycles; i++) {
        struct ends_rig e;
        vyre_error err;
        enum vyre_buffer_kind kind = i % 2 ? VYRE_PINNED : VYRE_DEVICE;
        ends_open(&e, kind, 4);
        for (uint32_t k = 0; k < 20; k++) {
            vyre_buffer *own = make_buffer(e.rig.rt, BYTES, kind); /* they run in no order */
            vyre_load load = k % 3 ? load_of(e.stream, own, 0, 1 + random_below(&state, BYTES))
                                   : load_of(e.rig.source, own, 0, BYTES);
            must(vyre_prep_load(next_slot(e.rig.queue), &load, &err), &err);
        }
        submit(e.rig.queue);
        if (i % 3 == 0) feed(&e, 0x11, random_below(&state, 60000));
        if (i % 4 == 0) vyre_source_close(e.stream);
        ends_close(&e);
        uint32_t now = count_descriptors();
        if (i == 0) descriptors = now;
        if (now != descriptors) ok(0, "cycle %u: %u descriptors, %u before", i, now, descriptors);
    }
    ok(1, "%u runtimes were closed with requests under way", cycles);
}

static void pauses(void)
{
    struct ends_rig e;
    vyre_error err;
    ends_open(&e, VYRE_PINNED, 0);
    vyre_load load = load_of(e.rig.source, e.buffer, 0, BYTES / 51);
    for (uint32_t i = 0; i < 50; i++) {
        must(vyre_prep_load(next_slot(e.rig.queue), &load, &err), &err);
        load.at += load.length; /* each its own bytes: they run in no order */
    }
    uint64_t first = submit(e.rig.queue);
    vyre_status status = vyre_pause(e.rig.rt, &err);
    for (uint32_t tries = 1; status == VYRE_E_BUSY && tries < 60; tries++)
        status = vyre_pause(e.rig.rt, &err); /* they take longer than it waits */
    works(status, &err, "a pause waits for requests");
    uint32_t wrong = 0;
    vyre_completion end;
    /* All that the device had taken has ended; the rest waits in the ring. */
    is_u64(in_state(e.rig.rt, 0, VYRE_SLOT_WAIT_IO), 0, "no slot waits for input");
    uint64_t held = submit_load(e.rig.queue, &load);
    refused(vyre_wait(e.rig.queue, held, 0, &end, &err), VYRE_E_TIMEOUT, &err, "it is not taken");
    works(vyre_resume(e.rig.rt, &err), &err, "resume");
    for (uint32_t i = 0; i < 50; i++)
        wrong += wait_for(e.rig.queue, first + i).outcome != VYRE_DONE;
    wrong += wait_for(e.rig.queue, held).outcome != VYRE_DONE;
    is_u64(wrong, 0, "all are done");
    uint64_t waiting = begin(&e, 100);
    refused(vyre_pause(e.rig.rt, &err), VYRE_E_BUSY, &err, "a slot that waits keeps it from it");
    must(vyre_cancel(e.rig.queue, waiting, &err), &err);
    ok(wait_for(e.rig.queue, waiting).outcome == VYRE_CANCELLED, "it goes on as before");
    ends_close(&e);
}

/* The device host is killed: what waited is lost, and left alone, or runs again. */
static void restarts(enum vyre_buffer_kind kind)
{
    struct ends_rig e;
    vyre_error err;
    vyre_description about = VYRE_DESCRIPTION_INIT;
    ends_open(&e, kind, 0);
    uint64_t lost = begin(&e, 1000);
    vyre_load load = load_of(e.rig.source, e.buffer, 0, 4096), fence = VYRE_LOAD_INIT;
    vyre_slot *slot = next_slot(e.rig.queue);
    must(vyre_prep_load(slot, &load, &err), &err);
    must(vyre_slot_repeatable(e.rig.queue, slot, &err), &err);
    fence.op = VYRE_IO_FENCE;
    slot = next_slot(e.rig.queue);
    must(vyre_prep_load(slot, &fence, &err), &err);
    must(vyre_slot_repeatable(e.rig.queue, slot, &err), &err);
    uint64_t again = submit(e.rig.queue);
    if (!reaches_state(e.rig.rt, VYRE_SLOT_WAIT_IO, 2)) bail("the slots do not wait");
    must(vyre_describe(e.rig.rt, &about, &err), &err);
    if (kill((pid_t)about.host_pid, SIGKILL) != 0) bail("the host cannot be killed");
    vyre_completion end = wait_for(e.rig.queue, lost);
    ok(end.outcome == VYRE_LOST, "a slot that waited is lost with its device");
    ok(left_alone(&e), "its buffer is left alone");
    ok(wait_for(e.rig.queue, again).outcome == VYRE_DONE, "a repeatable one is done");
    ok(wait_for(e.rig.queue, again + 1).outcome == VYRE_DONE, "and its fence runs again");
    is_u64(differs(e.buffer, 0, 0, kind == VYRE_PINNED ? 4096 : 0), 0, "the bytes are there");
    for (uint32_t round = 0; round < 5; round++) {
        uint32_t wrong = 0;
        must(vyre_describe(e.rig.rt, &about, &err), &err);
        for (uint32_t i = 0; i < 40; i++) {
            load = load_of(e.rig.source, e.buffer, i * 4096u, 4096);
            load.at = i * 4096u;
            slot = next_slot(e.rig.queue);
            must(vyre_prep_load(slot, &load, &err), &err);
            must(vyre_slot_repeatable(e.rig.queue, slot, &err), &err);
        }
        uint64_t first = submit(e.rig.queue);
        kill((pid_t)about.host_pid, SIGKILL);
        for (uint32_t i = 0; i < 40; i++)
            wrong += wait_for(e.rig.queue, first + i).outcome != VYRE_DONE;
        is_u64(wrong, 0, "round %u: 40 repeatable reads are done", round);
        do
            must(vyre_describe(e.rig.rt, &about, &err), &err);
        while (about.restarts < round + 2);
    }
    lost = submit_load(e.rig.queue, &load);
    ok(wait_for(e.rig.queue, lost).outcome == VYRE_DONE, "then all is as ever");
    ends_close(&e);
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    cancels(VYRE_PINNED);
    cancels(VYRE_DEVICE);
    cancel_races(seed, VYRE_PINNED, 200);
    cancel_races(seed + 1, VYRE_DEVICE, 200);
    cancels_in_rows();
    deadlines(VYRE_PINNED);
    deadlines(VYRE_DEVICE);
    closed_sources(VYRE_PINNED);
    closed_sources(VYRE_DEVICE);
    freed_buffers();
    stops(VYRE_PINNED);
    stops(VYRE_DEVICE);
    closes(seed, test_hosted() ? 20 : 100);
    pauses();
    if (test_hosted()) {
        restarts(VYRE_PINNED);
        restarts(VYRE_DEVICE);
    }
    return done();
}
