/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What others ask of the pump: to wake up, to rest while there is no device, to close sources, and
 * what it has waited for longest. Any thread asks, under the lock; the pump thread obeys between
 * its turns.
 */
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "ingest/pump.h"

/* Asking.
 * ------------------------------------------------------------------------------------------- */

void vyre_pump_poke(void *argument)
{
    struct vyre_pump *pump = argument;
    __atomic_fetch_add(&pump->page->event, 1, __ATOMIC_SEQ_CST);
    vyre_futex_wake(&pump->page->event, UINT32_MAX);
}

void vyre_pump_order(struct vyre_pump *pump)
{
    __atomic_store_n(&pump->orders, 1, __ATOMIC_SEQ_CST);
    vyre_pump_poke(pump);
}

void vyre_pump_hold(void *argument)
{
    struct vyre_pump *pump = argument;
    pthread_mutex_lock(&pump->lock);
    pump->held = 1;
    vyre_pump_order(pump);
    while (!pump->quiet)
        pthread_cond_wait(&pump->changed, &pump->lock);
    pthread_mutex_unlock(&pump->lock);
}

void vyre_pump_let_go(void *argument)
{
    struct vyre_pump *pump = argument;
    pthread_mutex_lock(&pump->lock);
    pump->held = 0;
    vyre_pump_order(pump);
    pthread_mutex_unlock(&pump->lock);
}

/* Whether a is the one to be told of: past its deadline, and for longer; or it waits longer. */
static int worse(const struct pump_op *a, const struct pump_op *b, uint64_t now_ns)
{
    int late = a->request.deadline_ns != 0 && a->request.deadline_ns < now_ns;
    if (!b) return 1;
    int other = b->request.deadline_ns != 0 && b->request.deadline_ns < now_ns;
    if (late != other) return late;
    return late ? a->request.deadline_ns < b->request.deadline_ns : a->since_ns < b->since_ns;
}

int vyre_pump_oldest(void *argument, struct vyre_io_oldest *out)
{
    struct vyre_pump *pump = argument;
    const struct pump_op *worst = NULL;
    uint64_t now_ns = vyre_clock_ns();
    *out = (struct vyre_io_oldest){0};
    pthread_mutex_lock(&pump->lock);
    for (uint32_t i = 0; i < pump->entries; i++) {
        const struct pump_op *op = &pump->ops[i];
        if (op->state == PUMP_FREE || op->request.number == PUMP_NONE) continue;
        out->waiting++;
        if (worse(op, worst, now_ns)) worst = op;
    }
    if (worst) {
        out->since_ns = worst->since_ns;
        out->queue = worst->request.what >> 16;
        out->tenant = worst->request.tenant;
        out->source = worst->request.source;
        out->ticket = worst->request.ticket;
        out->deadline_ns = worst->request.deadline_ns;
    }
    pthread_mutex_unlock(&pump->lock);
    return out->waiting != 0;
}

/* Obeying. (pump)
 * ------------------------------------------------------------------------------------------- */

/* Wants the end of all operations, or of those of one source. (lock) */
static void wish_all(struct vyre_pump *pump, const vyre_source *source, enum pump_wish wish)
{
    for (uint32_t i = 0; i < pump->entries; i++) {
        struct pump_op *op = &pump->ops[i];
        if (!source || op->source == source) vyre_pump_wish(pump, op, wish);
    }
}

/* Goes on with the closing of sources. (lock) */
static void close_sources(struct vyre_pump *pump)
{
    for (uint32_t i = 0; i < PUMP_SOURCES && pump->closings != 0; i++) {
        vyre_source *source = pump->sources[i];
        if (!source || !source->closing) continue;
        wish_all(pump, source, PUMP_WISH_SOURCE);
        if (source->underway != 0) continue;
        pump->engine->forget(pump, source);
        close(source->fd);
        pump->sources[i] = NULL;
        pump->source_count--;
        pump->closings--;
        source->gone = 1;
        pthread_cond_broadcast(&pump->changed);
    }
}

/* Another device begins: the rings are as it finds them, and no slot has had a piece. (lock) */
static void start_over(struct vyre_pump *pump)
{
    pump->taken = pump->answered = pump->told = 0;
    pump->ticked_ns = 0;
    for (uint32_t i = 0; i < 2 * PUMP_SOURCES; i++)
        if (pump->sources[i / 2]) pump->sources[i / 2]->lane[i % 2].owned = 0;
}

void vyre_pump_obey(struct vyre_pump *pump)
{
    if (!__atomic_load_n(&pump->orders, __ATOMIC_ACQUIRE)) return;
    pthread_mutex_lock(&pump->lock);
    __atomic_store_n(&pump->orders, 0, __ATOMIC_RELAXED);
    if (pump->held || pump->ending) wish_all(pump, NULL, PUMP_WISH_HOLD);
    close_sources(pump);
    if (pump->holding && !pump->held) start_over(pump);
    pump->holding = pump->held;
    int quiet = pump->held && pump->underway == 0;
    if (quiet && !pump->quiet) pthread_cond_broadcast(&pump->changed);
    pump->quiet = (uint32_t)quiet;
    /* What waits for operations to end is looked at again when one has. */
    if ((pump->held && !quiet) || pump->closings != 0 || pump->ending)
        __atomic_store_n(&pump->orders, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pump->lock);
}
