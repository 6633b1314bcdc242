/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * PRINTF and the tenant's debug log: what was written is read in order and once, an overflow keeps
 * the newest records and counts the rest, readers in other threads see whole records only.
 */
#include "support.h"

enum { RECORDS = 64 };

static uint64_t print(vyre_queue *queue, uint32_t format, uint32_t a, uint32_t b)
{
    vyre_error err;
    must(vyre_prep_printf(next_slot(queue), format, a, b, &err), &err);
    return submit(queue);
}

static void in_order(vyre *rt)
{
    vyre_queue *queue = open_queue(rt, 8, 1);
    vyre_log_record records[RECORDS];
    vyre_error err;
    uint64_t cursor = 0, lost = 99;
    size_t count = 99;
    works(vyre_tenant_log(rt, 1, &cursor, records, RECORDS, &count, &lost, &err), &err, "empty");
    ok(count == 0 && lost == 0 && cursor == 0, "nothing was written yet");

    for (uint32_t i = 0; i < 10; i++)
        wait_for(queue, print(queue, 100 + i, 200 + i, 300 + i));
    uint32_t wrong = 0, read = 0;
    static const size_t most[] = {3, 0, 1, RECORDS};
    for (int k = 0; k < 4; k++) {
        must(vyre_tenant_log(rt, 1, &cursor, records, most[k], &count, &lost, &err), &err);
        wrong += lost != 0 || (k < 3 && count != most[k]);
        for (size_t i = 0; i < count; i++, read++)
            wrong += records[i].format != 100 + read || records[i].a != 200 + read ||
                     records[i].b != 300 + read || records[i].slot != 16 * (read % 8);
    }
    ok(wrong == 0 && read == 10, "ten records in pieces, in order, with the slot's place");
    must(vyre_tenant_log(rt, 1, &cursor, records, RECORDS, &count, &lost, &err), &err);
    is_u64(count, 0, "each is read once");

    cursor = 0;
    must(vyre_tenant_log(rt, 1, &cursor, records, RECORDS, &count, &lost, &err), &err);
    is_u64(count, 10, "another reader begins at its own cursor");
    cursor = 0;
    must(vyre_tenant_log(rt, 0, &cursor, records, RECORDS, &count, &lost, &err), &err);
    is_u64(count, 0, "another tenant has another log");
    vyre_queue_close(queue);
}

static void overflow(vyre *rt)
{
    vyre_queue *queue = open_queue(rt, 256, 2);
    vyre_log_record records[RECORDS + 1];
    vyre_error err;
    uint64_t cursor = 0, lost = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < RECORDS; i++)
        wait_for(queue, print(queue, i, 0, 0));
    must(vyre_tenant_log(rt, 2, &cursor, records, 4, &count, &lost, &err), &err);
    ok(count == 4 && lost == 0, "a full log has lost nothing");
    for (uint32_t i = 0; i < 100; i++)
        wait_for(queue, print(queue, RECORDS + i, 0, 0));
    must(vyre_tenant_log(rt, 2, &cursor, records, RECORDS + 1, &count, &lost, &err), &err);
    is_u64(count, RECORDS, "the newest 64 are there");
    is_u64(lost, 100 - 4, "those that were overwritten unread are counted");
    ok(records[0].format == 100 && records[RECORDS - 1].format == RECORDS + 99, "oldest first");
    wait_for(queue, print(queue, 7777, 0, 0));
    must(vyre_tenant_log(rt, 2, &cursor, records, RECORDS, &count, &lost, &err), &err);
    ok(count == 1 && lost == 0 && records[0].format == 7777, "and on it goes");

    cursor = UINT64_MAX - 3;
    refused(vyre_tenant_log(rt, 2, &cursor, records, RECORDS, &count, &lost, &err), VYRE_E_RANGE,
            &err, "a cursor from nowhere");
    vyre_queue_close(queue);
}

static void refusals(vyre *rt)
{
    vyre_log_record record = {7, 7, 7, 7};
    vyre_error err;
    uint64_t cursor = 3, lost = 4;
    size_t count = 5;
    refused(vyre_tenant_log(NULL, 0, &cursor, &record, 1, &count, &lost, &err), VYRE_E_NULL, &err,
            "no runtime");
    refused(vyre_tenant_log(rt, 0, NULL, &record, 1, &count, &lost, &err), VYRE_E_NULL, &err,
            "no cursor");
    refused(vyre_tenant_log(rt, 0, &cursor, NULL, 1, &count, &lost, &err), VYRE_E_NULL, &err,
            "no records");
    refused(vyre_tenant_log(rt, 0, &cursor, &record, 1, NULL, &lost, &err), VYRE_E_NULL, &err,
            "no count");
    refused(vyre_tenant_log(rt, 32, &cursor, &record, 1, &count, &lost, &err), VYRE_E_RANGE, &err,
            "no such tenant");
    ok(cursor == 3 && lost == 4 && count == 5 && record.format == 7, "nothing was changed");
}

struct reader {
    vyre *rt;
    _Atomic uint32_t stop;
    uint32_t wrong;
    uint64_t read, lost;
};

/* A record is whole if its words belong together. */
static void *read_on(void *argument)
{
    struct reader *reader = argument;
    vyre_log_record records[RECORDS];
    vyre_error err;
    uint64_t cursor = 0;
    for (bool last = false; !last;) {
        uint64_t lost = 0;
        size_t count = 0;
        last = atomic_load(&reader->stop) != 0;
        must(vyre_tenant_log(reader->rt, 3, &cursor, records, RECORDS, &count, &lost, &err), &err);
        for (size_t i = 0; i < count; i++)
            reader->wrong += records[i].a != records[i].format * 3 ||
                             records[i].b != (records[i].format ^ 0x55555555u);
        reader->read += count;
        reader->lost += lost;
    }
    return NULL;
}

static void reading_while_written(vyre *rt)
{
    struct reader reader = {.rt = rt};
    vyre_queue *queues[2] = {open_queue(rt, 64, 3), open_queue(rt, 64, 3)};
    vyre_completion ends[64];
    vyre_error err;
    pthread_t thread;
    size_t count;
    if (pthread_create(&thread, NULL, read_on, &reader) != 0) bail("no thread");
    for (uint32_t i = 0; i < 30000; i++) {
        vyre_queue *queue = queues[i % 2];
        vyre_slot *slot = vyre_queue_slot(queue);
        if (!slot) {
            must(vyre_queue_reap_wait(queue, ends, 1, 64, PATIENCE_NS, &count, &err), &err);
            slot = next_slot(queue);
        }
        must(vyre_prep_printf(slot, i, i * 3, i ^ 0x55555555u, &err), &err);
        if (i % 3 == 0) must(vyre_slot_priority(slot, VYRE_PRIORITY_LOW, &err), &err);
        submit(queue);
    }
    vyre_queue_close(queues[0]);
    vyre_queue_close(queues[1]);
    atomic_store(&reader.stop, 1);
    pthread_join(thread, NULL);
    is_u64(reader.wrong, 0, "no record was torn");
    is_u64(reader.read + reader.lost, 30000, "each record was read or counted as lost (%llu lost)",
           (unsigned long long)reader.lost);
}

int main(void)
{
    vyre *rt = open_cpu(2);
    in_order(rt);
    overflow(rt);
    refusals(rt);
    reading_while_written(rt);
    vyre_close(rt);
    return done();
}
