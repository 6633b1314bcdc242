/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What one producer of the stress test knows about its slots: which are outstanding, and how each
 * may end. One thread uses a model. Every end is checked here, and nowhere else.
 */
#ifndef VYRE_STRESS_MODEL_H
#define VYRE_STRESS_MODEL_H

#include "meter.h"

enum { MOST_SLOTS = 64 };
enum { OP_CHECK = 100, OP_YIELD = 101, OP_WAITS = 102, OP_COMES = 103, OP_PACKABLE = 50 };

struct expectation {
    uint64_t ticket;
    uint32_t opcode;
    uint32_t result; /* of a slot that is done, in word 0 */
    bool has_result;
    bool adds;        /* one to the producer's word */
    bool may_cancel;  /* somebody asked for its end */
    bool may_be_late; /* its deadline is near */
    bool repeatable;
};

struct lane {
    vyre_queue *queue;
    uint64_t next; /* ticket of the next slot */
    uint32_t slots;
    uint32_t count;
    struct expectation outstanding[MOST_SLOTS];
};

struct tally {
    uint64_t slots, done, cancelled, late, stopped;
    uint32_t added;     /* adds that are known to have run */
    uint32_t uncertain; /* adds that may have run */
    uint64_t wrong;
    char first_wrong[160]; /* what was wrong first */
};

TAP_FORMAT(2, 3) static void complain(struct tally *tally, const char *format, ...)
{
    va_list args;
    if (tally->wrong++ != 0) return;
    va_start(args, format);
    vsnprintf(tally->first_wrong, sizeof tally->first_wrong, format, args);
    va_end(args);
}

TAP_UNUSED static struct expectation *expect(struct lane *lane)
{
    struct expectation *e = &lane->outstanding[lane->count++];
    memset(e, 0, sizeof *e);
    e->ticket = lane->next++;
    return e;
}

/* Whether this end is one that the slot may have. */
TAP_UNUSED static bool allowed(const struct expectation *e, const vyre_completion *end,
                               bool stopping)
{
    if (end->outcome == VYRE_DONE) return end->fault == VYRE_FAULT_NONE;
    if (end->outcome == VYRE_CANCELLED && end->fault == VYRE_FAULT_CANCELLED) return e->may_cancel;
    if (end->outcome == VYRE_CANCELLED && end->fault == VYRE_FAULT_STOPPED) return stopping;
    return end->outcome == VYRE_FAULTED && end->fault == VYRE_FAULT_DEADLINE && e->may_be_late;
}

/* One end has come: it must be expected, once, in this way, with these results. */
TAP_UNUSED static void check_end(struct lane *lane, const vyre_completion *end, bool stopping,
                                 struct tally *tally)
{
    uint32_t i = 0;
    while (i < lane->count && lane->outstanding[i].ticket != end->ticket)
        i++;
    if (i == lane->count) {
        complain(tally, "ticket %llu ended, but was not outstanding",
                 (unsigned long long)end->ticket);
        return;
    }
    struct expectation e = lane->outstanding[i];
    lane->outstanding[i] = lane->outstanding[--lane->count];
    if (!allowed(&e, end, stopping))
        complain(tally, "opcode 0x%x ended with outcome %u, fault %s", e.opcode, end->outcome,
                 vyre_fault_name(end->fault));
    if (end->outcome == VYRE_DONE && e.has_result && end->result[0] != e.result)
        complain(tally, "opcode 0x%x gave %u, not %u", e.opcode, end->result[0], e.result);
    if (end->outcome == VYRE_DONE && end->opcode != e.opcode)
        complain(tally, "opcode 0x%x ended as 0x%x", e.opcode, end->opcode);
    if ((end->flags & VYRE_COMPLETION_REPEATABLE) != (e.repeatable ? 1u : 0u))
        complain(tally, "ticket %llu: the mark is wrong", (unsigned long long)end->ticket);
    tally->slots++;
    tally->done += end->outcome == VYRE_DONE;
    tally->cancelled += end->fault == VYRE_FAULT_CANCELLED;
    tally->late += end->fault == VYRE_FAULT_DEADLINE;
    tally->stopped += end->fault == VYRE_FAULT_STOPPED;
    if (e.adds && end->outcome == VYRE_DONE) tally->added++;
    /* A packed slot can be stopped between its operations. */
    if (e.adds && end->outcome != VYRE_DONE && e.opcode == VYRE_OP_PACKED_SLOT) tally->uncertain++;
}

/* The queue was closed with these outstanding: all have run but those that might have been stopped
 * from it. */
TAP_UNUSED static void forget_outstanding(struct lane *lane, struct tally *tally)
{
    for (uint32_t i = 0; i < lane->count; i++) {
        const struct expectation *e = &lane->outstanding[i];
        if (!e->adds) continue;
        if (e->may_cancel || e->may_be_late)
            tally->uncertain++;
        else
            tally->added++;
    }
    lane->count = 0;
}

#endif
