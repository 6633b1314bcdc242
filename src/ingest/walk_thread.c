/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a walker's thread does: reads the directory that is wanted, visits records, reads ahead,
 * sleeps. It holds the lock but while it reads, visits or wakes.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "ingest/walk_core.h"

#define AHEAD_FEW        8u /* directories held: below, reading goes before visiting */
#define SHORTAGE_WAITS   50u
#define SHORTAGE_WAIT_NS 10000000

/* What vyre_walk_next would find. */
enum vyre_walk_state walk_available(struct vyre_walk *walk)
{
    if (walk->cancelled) return VYRE_WALK_CANCELLED;
    if (!walk->options.visit) return walk_step(walk, NULL);
    if (walk->slot_tail != walk->slot_head)
        return walk->slots[walk->slot_tail & walk->slot_mask].ready ? VYRE_WALK_SOME
                                                                    : VYRE_WALK_LATER;
    enum vyre_walk_state state = walk_step(walk, NULL);
    return state == VYRE_WALK_SOME ? VYRE_WALK_LATER : state;
}

/* Tells whoever was told LATER that there is something now, or that it has to release first. True:
 * the lock was open meanwhile. */
static int wake_if_due(struct vyre_walk *walk)
{
    if (!walk->hungry) return 0;
    enum vyre_walk_state state = walk_available(walk);
    if (state == VYRE_WALK_LATER || state == walk->hungry) return 0;
    walk->hungry = 0;
    pthread_cond_broadcast(&walk->ready);
    if (!walk->options.wake) return 0;
    pthread_mutex_unlock(&walk->lock);
    walk->options.wake(walk->options.ctx);
    pthread_mutex_lock(&walk->lock);
    return 1;
}

/* Whether somebody has records, and will release them. */
static int has_records_out(const struct vyre_walk *walk)
{
    for (uint32_t i = 0; i < walk->options.directories; i++) {
        if (walk->nodes[i].state == WALK_READY && walk->nodes[i].refs != 0) return 1;
    }
    return 0;
}

static void wait_a_moment(struct vyre_walk *walk)
{
    struct timespec moment = {0, SHORTAGE_WAIT_NS};
    pthread_mutex_unlock(&walk->lock);
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&walk->lock);
}

/*
 * Descriptors ran out. Reading ahead waits then. What comes next gets what can be closed of ours;
 * where records are out it waits for these, because whoever has them needs descriptors too, and
 * what is left must be theirs; else it waits a while for the rest of the process. Only then is it
 * the directory's error. Returns what to do with the job.
 */
enum shortage { TRY_AGAIN, PUT_BACK, GIVE_UP };

static enum shortage short_of_descriptors(struct vyre_walk *walk, const struct walk_job *job,
                                          uint32_t *waits)
{
    if (walk->cancelled) return GIVE_UP;
    if (walk_close_stale(walk, 0)) return TRY_AGAIN;
    uint32_t others = walk->held - 1;
    if (walk->node_limit > others && others >= 4) walk->node_limit = others;
    if (!job->demand || walk->reading > 1) return PUT_BACK;
    if (walk_evict(walk)) return TRY_AGAIN;
    if (has_records_out(walk)) {
        walk->starved = 1;
        return PUT_BACK;
    }
    if (walk_spare(walk)) return TRY_AGAIN;
    bool coming = walk->options.will_close && walk->options.will_close(walk->options.ctx);
    if (!coming && (*waits)++ == SHORTAGE_WAITS) return GIVE_UP;
    wait_a_moment(walk);
    return TRY_AGAIN;
}

/* False: it had to be put back. */
static int run_job(struct walk_thread *thread, const struct walk_job *job)
{
    struct vyre_walk *walk = thread->walk;
    enum shortage shortage;
    uint32_t waits = 0;
    do {
        pthread_mutex_unlock(&walk->lock);
        int opened = walk_read(thread, job);
        pthread_mutex_lock(&walk->lock);
        shortage = opened ? GIVE_UP : short_of_descriptors(walk, job, &waits);
    } while (shortage == TRY_AGAIN);
    if (shortage == PUT_BACK) {
        walk_undo(walk, job);
        walk->crowded = 1;
        /* What comes next may have been put back because of this one. */
        if (!job->demand && walk->sleepers) pthread_cond_signal(&walk->work);
        return 0;
    }
    walk_finish(walk, job);
    return 1;
}

/* Whether there are directories to read in what was just read, for somebody who sleeps. */
static int more_to_read(const struct walk_node *node)
{
    if (node->state != WALK_READY || node->ended) return 0;
    const struct walk_item *items = walk_items(node);
    for (uint32_t i = 0; i < node->count; i++) {
        if ((items[i].kind & ~WALK_LINKED) == VYRE_WALK_DIRECTORY) return 1;
    }
    return 0;
}

static int visits_due(struct vyre_walk *walk)
{
    return walk->options.visit && walk->slot_head - walk->slot_tail <= walk->slot_mask &&
           walk_step(walk, NULL) == VYRE_WALK_SOME;
}

/* Takes the next records in order, visits the files among them, and lets them go out. */
static void visit_some(struct walk_thread *thread)
{
    struct vyre_walk *walk = thread->walk;
    uint32_t first = walk->slot_head, room = walk->slot_mask + 1 - (first - walk->slot_tail);
    uint32_t count = 0;
    for (; count < WALK_VISIT_BATCH && count < room; count++) {
        struct walk_slot *slot = &walk->slots[(first + count) & walk->slot_mask];
        slot->ready = 0;
        if (walk_step(walk, &slot->record) != VYRE_WALK_SOME) break;
    }
    walk->slot_head += count;
    if (walk->sleepers && visits_due(walk)) pthread_cond_signal(&walk->work);
    pthread_mutex_unlock(&walk->lock);
    for (uint32_t i = 0; i < count; i++) {
        struct vyre_walk_record *record = &walk->slots[(first + i) & walk->slot_mask].record;
        if (record->kind == VYRE_WALK_REGULAR && record->error == 0)
            record->mark = walk->options.visit(walk->options.ctx, thread->index, record);
    }
    pthread_mutex_lock(&walk->lock);
    for (uint32_t i = 0; i < count; i++)
        walk->slots[(first + i) & walk->slot_mask].ready = 1;
}

/* Sleeps until there is work, unless something may have changed already. */
static void sleep_a_while(struct vyre_walk *walk)
{
    if (wake_if_due(walk) || walk_close_stale(walk, 1) || walk->stop) return;
    walk->sleepers++;
    pthread_cond_wait(&walk->work, &walk->lock);
    walk->sleepers--;
}

/* After a job that was put back. Meanwhile it may have become what comes next, and then it is tried
 * again with all means. */
static void sleep_after(struct vyre_walk *walk, const struct walk_job *job)
{
    walk->wanted = 0;
    if (!job->demand && walk_step(walk, NULL) == VYRE_WALK_LATER && walk->wanted) return;
    sleep_a_while(walk);
}

void *walk_thread_main(void *argument)
{
    struct walk_thread *thread = argument;
    struct vyre_walk *walk = thread->walk;
    struct walk_job job;
    pthread_mutex_lock(&walk->lock);
    while (!walk->stop) {
        wake_if_due(walk);
        int visits = visits_due(walk);
        int few = walk->held < AHEAD_FEW;
        if ((!visits || few) && walk_pick(walk, &job)) {
            if (!run_job(thread, &job))
                sleep_after(walk, &job);
            else if (walk->sleepers && more_to_read(job.node))
                pthread_cond_signal(&walk->work);
        } else if (visits) {
            visit_some(thread);
        } else {
            sleep_a_while(walk);
        }
    }
    pthread_mutex_unlock(&walk->lock);
    return NULL;
}
