/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How the poller of a resident kernel learns what was copied, and tells producers: its functions
 * are called by hand, in states that a running kernel is in for microseconds or after days.
 */
#include "resident_rig.h"

static uint32_t copied(const struct rig *rig)
{
    const struct dev_queue_page *page = (const void *)rig->ring[1].mapping;
    return dev_load_relaxed(&page->copied);
}

/* Two chunks of the queue are handed over. */
static void post(struct rig *rig, struct dev_poller *p)
{
    dev_post_chunks(p, 1, 64);
    dev_head_advance(&rig->rt.queues[1], &rig->rt.watch[1], 64);
}

/* A record that is judged after its queue has closed, and another has its number. */
static void of_a_closed_queue(void)
{
    static struct rig rig;
    static struct dev_poller p;
    struct dev_word128 record[DEV_WARP_ROLES];
    const struct dev_task other = {.kind = DEV_TASK_ENTRY};
    rig_take_over(&rig, &p, 100);
    rig_own_queue(&rig, 1, 64);
    p.posted++; /* task 100, of somebody else, has not copied yet */
    post(&rig, &p);
    for (uint32_t i = 0; i < 2; i++) {
        struct dev_task task = {
            .kind = DEV_TASK_CHUNK, .queue = 1, .count = 32, .first = (uint64_t)32 * i};
        dev_record_write(rig.rt.handover, 101 + i, &task, rig.rt.queues[1].opened);
    }
    rig.rt.queues[1].chunked = 0;
    rig.ring[1].bell->tail = 64;
    ok(dev_sys_queue_close(&rig.rt, 1), "a queue whose chunks have ended closes");
    ring_free(&rig.ring[1]);
    rig_own_queue(&rig, 1, 64);
    post(&rig, &p); /* nobody has copied these */
    dev_record_write(rig.rt.handover, 100, &other, 0);
    dev_records_load(&p, record);
    dev_records_judge(&p, record);
    is_u64(p.oldest, 103, "its records are judged when their turn comes");
    is_u64(copied(&rig), 0, "and say nothing about the next queue of its number");
}

/* A queue without chunks while others have had more tasks than half of 32 bits count. */
static void after_many_tasks(void)
{
    static struct rig rig;
    static struct dev_poller p;
    rig_take_over(&rig, &p, 0x80000010u);
    rig_own_queue(&rig, 1, 64);
    p.posted++;
    dev_head_advance(&rig.rt.queues[1], &rig.rt.watch[1], 5);
    rig.rt.queues[1].chunked = 3;
    dev_copied_all(&p);
    is_u64(copied(&rig), 0, "nothing is said while chunks of the queue are on their way");
    rig.rt.queues[1].chunked = 0;
    dev_copied_all(&p);
    is_u64(copied(&rig), 5, "its places are free, however long ago its last chunk was");
}

/* More tasks than a look has records for. */
static void of_many_tasks(void)
{
    static struct rig rig;
    static struct dev_poller p;
    enum { FIRST = 8100, COUNT = 700, MISSING = FIRST + 421 };
    struct dev_word128 record[DEV_WARP_ROLES];
    const struct dev_task other = {.kind = DEV_TASK_RUN};
    rig_take_over(&rig, &p, FIRST);
    p.posted = FIRST + COUNT;
    for (uint32_t number = FIRST; number < FIRST + COUNT; number++)
        if (number != MISSING) dev_record_write(rig.rt.handover, number, &other, 0);
    dev_records_load(&p, record);
    dev_records_judge(&p, record);
    is_u64(p.oldest, MISSING, "one look passes over all that have been picked up");
    dev_record_write(rig.rt.handover, MISSING, &other, 0);
    dev_records_load(&p, record);
    dev_records_judge(&p, record);
    is_u64(p.oldest, FIRST + COUNT, "and the next one over the rest, and no further");
}

/* Chunks of one queue whose records lie in several rows, with other tasks between. */
static void of_many_chunks(void)
{
    static struct rig rig;
    static struct dev_poller p;
    enum { FIRST = 8170, COUNT = 150 };
    struct dev_word128 record[DEV_WARP_ROLES];
    const struct dev_task other = {.kind = DEV_TASK_RUN};
    rig_take_over(&rig, &p, FIRST);
    rig_own_queue(&rig, 1, 64);
    dev_head_advance(&rig.rt.queues[1], &rig.rt.watch[1], 60);
    p.posted = FIRST + COUNT;
    p.lagging = 1;
    rig.rt.queues[1].tasks = p.posted + 100; /* not all have been copied */
    rig.rt.queues[1].chunked = 1;
    for (uint32_t i = 0; i < COUNT; i++) {
        struct dev_task task = {.kind = DEV_TASK_CHUNK, .queue = 1, .count = 1, .first = i / 3};
        dev_record_write(rig.rt.handover, FIRST + i, i % 3 == 2 ? &task : &other,
                         rig.rt.queues[1].opened);
    }
    p.posted++; /* and one that nobody has taken */
    dev_records_load(&p, record);
    dev_records_judge(&p, record);
    is_u64(p.oldest, FIRST + COUNT, "all that have left a record are passed over");
    is_u64(copied(&rig), COUNT / 3, "and the producer hears of the last one in the last row");
}

int main(void)
{
    of_many_chunks();
    of_many_tasks();
    of_a_closed_queue();
    after_many_tasks();
    return done();
}
