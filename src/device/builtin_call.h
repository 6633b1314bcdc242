/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What every operation needs while it runs: the tenant's words, the count of steps, the wish that
 * it end, the counters of the wire format. Called by whoever runs a slot.
 */
#ifndef VYRE_DEVICE_BUILTIN_CALL_H
#define VYRE_DEVICE_BUILTIN_CALL_H

#include "device/layout.h"

/* Bytes of input, or words of a copy, between two looks at dev_call_stopped. */
#define DEV_STOP_INTERVAL 4096u

/* Counts n runs of an operation in the control image. */
DEV_FN void dev_metric(struct dev_runtime *rt, uint32_t opcode, uint32_t n)
{
    if (opcode < VYRE_CONTROL_METRIC_COUNT)
        dev_add_relaxed(&rt->control[VYRE_CONTROL_METRICS + opcode], n);
}

/* Adds to what the slot has cost; the greatest value means at least that much. */
DEV_FN void dev_call_charge(struct dev_call *call, uint32_t steps)
{
    call->steps = steps > 0xFFFFFFFFu - call->steps ? 0xFFFFFFFFu : call->steps + steps;
}

/* Whether a slot in flight was told to end: its fault, or 0. */
DEV_FN uint32_t dev_entry_cancelled(const struct dev_runtime *rt, const struct dev_inflight *entry)
{
    if (dev_load_relaxed(&rt->shutdown)) return (uint32_t)VYRE_FAULT_STOPPED;
    return dev_load_relaxed(&entry->cancel);
}

/* Why a slot in flight should end now, or 0: as above, or its deadline has passed. */
DEV_FN uint32_t dev_entry_stopped(const struct dev_runtime *rt, const struct dev_inflight *entry)
{
    uint32_t cancel = dev_entry_cancelled(rt, entry);
    if (cancel) return cancel;
    if (entry->deadline_ns != 0 && dev_clock_ns() > entry->deadline_ns)
        return (uint32_t)VYRE_FAULT_DEADLINE;
    return 0;
}

/* The same of the slot that runs; one that the poller runs in place is too short to be stopped. */
DEV_FN uint32_t dev_call_stopped(const struct dev_call *call)
{
    return call->entry == NULL ? 0 : dev_entry_stopped(call->rt, call->entry);
}

/* The word of the tenant's view that a word operand addresses, or NULL: words 0..159 wrap to
 * indices far above any count of observable words. */
DEV_FN uint32_t *dev_call_word(const struct dev_call *call, uint32_t word)
{
    const struct dev_runtime *rt = call->rt;
    uint32_t index = word - VYRE_CONTROL_OBSERVABLE;
    if (index >= rt->observable_words) return NULL;
    return rt->observables + (size_t)call->tenant * rt->observable_words + index;
}

/* The same of a range that is not empty. */
DEV_FN uint32_t *dev_call_words(const struct dev_call *call, uint32_t word, uint32_t count)
{
    uint32_t *first = dev_call_word(call, word);
    if (first == NULL) return NULL;
    uint32_t left = call->rt->observable_words - (word - VYRE_CONTROL_OBSERVABLE);
    return count <= left ? first : NULL;
}

#endif
