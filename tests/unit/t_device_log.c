/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The debug log: what PRINTF appends, which records stay, and that a reader beside two writers
 * never takes a torn record for a whole one.
 */
#include "device_fixture.h"

#include <pthread.h>

#define WRITERS 2u
#define RECORDS 100000u

static void test_append(struct fixture *f)
{
    struct dev_log *log = &f->rt.logs[1];
    uint32_t word[4];
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_PRINTF, 11, 12, 13), 0, "PRINTF");
    is_u64(f->call.steps, 1, "costs one step");
    is_u64(log->count, 1, "counts one record");
    ok(dev_log_read(log, 0, word), "it can be read");
    ok(word[0] == 11 && word[1] == 12 && word[2] == 13 && word[3] == FIXTURE_PLACE * 16,
       "it is format, two values, and 16 times the slot's place");
    ok(!dev_log_read(log, 1, word), "the next one cannot be read yet");
    ok(!dev_log_read(log, 64, word), "nor the one that will take its place");
    uint32_t stamp = log->record[0].stamp;
    log->record[0].stamp = 0;
    ok(!dev_log_read(log, 0, word), "nor one that is being written");
    log->record[0].stamp = stamp;
    ok(dev_log_read(log, 0, word), "until it is whole");
    ok(f->rt.logs[0].count == 0 && f->rt.logs[2].count == 0, "other tenants' logs are empty");
}

static void test_overflow(struct fixture *f)
{
    struct dev_log *log = &f->rt.logs[2];
    uint32_t word[4], kept = 0, right = 0;
    for (uint32_t i = 0; i < 1000; i++)
        FIXTURE_RUN(f, 2, VYRE_OP_PRINTF, i, i * 3, i * 5);
    is_u64(log->count, 1000, "a full log counts on");
    for (uint32_t i = 0; i < 1000; i++) {
        if (!dev_log_read(log, i, word)) continue;
        kept++;
        right += i >= 1000 - DEV_LOG_RECORDS && word[0] == i && word[1] == i * 3;
    }
    is_u64(kept, DEV_LOG_RECORDS, "it keeps 64 records");
    is_u64(right, DEV_LOG_RECORDS, "the newest");
}

/* The stamp is a part of the number: around its wrap every record must still be told from the one
 * that had its place before. */
static void test_wrap(struct fixture *f)
{
    struct dev_log *log = &f->rt.logs[0];
    uint64_t first = 0xFFFFFFFFull - 100;
    uint32_t word[4] = {1, 2, 3, 4}, readable = 0, stale = 0;
    for (int lap = 0; lap < 2; lap++) {
        log->count = lap == 0 ? first : first / 2;
        for (uint64_t i = log->count, end = i + 200; i < end; i++) {
            dev_log_append(log, word);
            readable += (uint32_t)dev_log_read(log, i, word);
            stale += (uint32_t)dev_log_read(log, i - DEV_LOG_RECORDS, word);
        }
    }
    ok(dev_log_stamp(0xFFFFFFFFu) != 0 && dev_log_stamp(0x7FFFFFFFu) != 0, "a stamp is never 0");
    is_u64(readable, 400, "records around the wrap of the stamp can be read");
    is_u64(stale, 0, "and the ones they replaced cannot");
}

static struct dev_log shared;
static uint32_t ready, finished;

static uint32_t mixed(uint32_t a, uint32_t b)
{
    return (a * 0x9E3779B1u ^ b) * 0x85EBCA6Bu;
}

static void *writer(void *argument)
{
    uint32_t self = *(uint32_t *)argument;
    dev_add_relaxed(&ready, 1);
    while (dev_load_relaxed(&ready) < WRITERS)
        dev_yield();
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint32_t word[4] = {self, i, mixed(self, i), mixed(i, self)};
        dev_log_append(&shared, word);
    }
    dev_add_relaxed(&finished, 1);
    return NULL;
}

static void test_threads(void)
{
    pthread_t thread[WRITERS];
    uint32_t self[WRITERS], word[4], torn = 0;
    uint64_t read = 0;
    for (uint32_t i = 0; i < WRITERS; i++) {
        self[i] = i;
        if (pthread_create(&thread[i], NULL, writer, &self[i]) != 0) bail("cannot start a thread");
    }
    while (dev_load_relaxed(&finished) < WRITERS) {
        /* The oldest records are the ones that may go while they are read. */
        uint64_t count = dev_load64_relaxed(&shared.count);
        for (uint32_t i = 0; i < 3 && count >= DEV_LOG_RECORDS; i++) {
            if (!dev_log_read(&shared, count - DEV_LOG_RECORDS + i * i * 8, word)) continue;
            read++;
            torn += word[2] != mixed(word[0], word[1]) || word[3] != mixed(word[1], word[0]);
        }
    }
    for (uint32_t i = 0; i < WRITERS; i++)
        pthread_join(thread[i], NULL);
    is_u64(torn, 0, "a reader beside two writers reads whole records");
    note("it read %" PRIu64 " of them", read);
    is_u64(shared.count, WRITERS * RECORDS, "and none was lost from the count");
    for (uint32_t i = 0; i < DEV_LOG_RECORDS; i++)
        torn += !dev_log_read(&shared, shared.count - 1 - i, word);
    is_u64(torn, 0, "the last 64 can be read");
}

int main(void)
{
    struct fixture f;
    fixture_open(&f, 16);
    test_append(&f);
    test_overflow(&f);
    test_wrap(&f);
    test_threads();
    fixture_close(&f);
    return done();
}
