/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * DFA_STEP: a deterministic finite automaton over the bytes of a buffer, its table in another.
 *
 * The table may change while it is read: other slots and the host may write to the buffer. So each
 * word is read once, and what was read is checked before it is used; then no content of the table
 * leads outside the two buffers.
 */
#ifndef VYRE_DEVICE_DFA_H
#define VYRE_DEVICE_DFA_H

#include "device/builtin_call.h"
#include "device/handle.h"

#define DEV_DFA_META_WORDS 5u
#define DEV_DFA_BYTES      256u /* entries of the class map */
#define DEV_DFA_STEP_BYTES 64u  /* bytes for one step of cost */

/* A table whose three parts lie inside its buffer. */
struct dev_dfa {
    const uint32_t *transitions; /* states * classes words */
    const uint32_t *accept;      /* states words */
    const uint32_t *class_map;   /* 256 words */
    uint32_t states;
    uint32_t classes;
};

/* How far a run has come. */
struct dev_dfa_run {
    const volatile uint8_t *input; /* the first byte */
    uint64_t accept_at;            /* bytes up to the first accept; 0: none yet */
    uint32_t state;
};

/* Whether `count` words from `base` on lie in the buffer, behind the meta words. */
DEV_FN int dev_dfa_inside(uint64_t buffer_words, uint32_t base, uint64_t count)
{
    return base >= DEV_DFA_META_WORDS && base <= buffer_words && count <= buffer_words - base;
}

/* Reads the meta words of a table. Returns 0, or the fault DFA_TABLE. */
DEV_FN uint32_t dev_dfa_open(struct dev_dfa *dfa, const struct dev_handle *table)
{
    const uint32_t *word = (const uint32_t *)(uintptr_t)table->address;
    uint64_t words = table->bytes / 4;
    if (words < DEV_DFA_META_WORDS) return (uint32_t)VYRE_FAULT_DFA_TABLE;
    uint32_t transition_base = dev_load_relaxed(&word[0]);
    uint32_t accept_base = dev_load_relaxed(&word[1]);
    uint32_t class_map_base = dev_load_relaxed(&word[3]);
    dfa->states = dev_load_relaxed(&word[2]);
    dfa->classes = dev_load_relaxed(&word[4]);
    if (dfa->states == 0 || dfa->classes == 0 || dfa->classes > DEV_DFA_BYTES ||
        !dev_dfa_inside(words, transition_base, (uint64_t)dfa->states * dfa->classes) ||
        !dev_dfa_inside(words, accept_base, dfa->states) ||
        !dev_dfa_inside(words, class_map_base, DEV_DFA_BYTES))
        return (uint32_t)VYRE_FAULT_DFA_TABLE;
    dfa->transitions = word + transition_base;
    dfa->accept = word + accept_base;
    dfa->class_map = word + class_map_base;
    return 0;
}

/* Steps over bytes first..end-1 of the input. Returns 0, or the fault DFA_TABLE. */
DEV_FN uint32_t dev_dfa_bytes(const struct dev_dfa *dfa, struct dev_dfa_run *run, uint64_t first,
                              uint64_t end)
{
    uint32_t state = run->state;
    for (uint64_t i = first; i < end; i++) {
        uint32_t class_id = dev_load_relaxed(&dfa->class_map[run->input[i]]);
        if (class_id >= dfa->classes) return (uint32_t)VYRE_FAULT_DFA_TABLE;
        state = dev_load_relaxed(&dfa->transitions[(size_t)state * dfa->classes + class_id]);
        if (state >= dfa->states) return (uint32_t)VYRE_FAULT_DFA_TABLE;
        if (run->accept_at == 0 && dev_load_relaxed(&dfa->accept[state]) != 0)
            run->accept_at = i + 1;
    }
    run->state = state;
    return 0;
}

/* Steps over the whole input, piece by piece; pays for every piece that was begun. */
DEV_FN uint32_t dev_dfa_input(struct dev_call *call, const struct dev_dfa *dfa,
                              struct dev_dfa_run *run, uint32_t length)
{
    for (uint64_t done = 0; done < length; done += DEV_STOP_INTERVAL) {
        uint64_t piece = length - done < DEV_STOP_INTERVAL ? length - done : DEV_STOP_INTERVAL;
        uint32_t fault = done == 0 ? 0 : dev_call_stopped(call);
        if (fault != 0) return fault;
        /* The first step was paid by whoever called the operation. */
        uint32_t steps = (uint32_t)(piece + DEV_DFA_STEP_BYTES - 1) / DEV_DFA_STEP_BYTES;
        dev_call_charge(call, done == 0 ? steps - 1 : steps);
        fault = dev_dfa_bytes(dfa, run, done, done + piece);
        if (fault != 0) return fault;
    }
    return 0;
}

/* DFA_STEP; the slot holds both buffers. */
DEV_NO_INLINE uint32_t dev_dfa_step(struct dev_call *call)
{
    const struct dev_handle *table = dev_handle_held(call->rt, call->arg[0]);
    const struct dev_handle *input = dev_handle_held(call->rt, call->arg[2]);
    uint64_t offset = (uint64_t)call->arg[4] << 32 | call->arg[3];
    uint32_t length = call->arg[5];
    struct dev_dfa dfa;
    struct dev_dfa_run run;
    if (offset > input->bytes || length > input->bytes - offset)
        return (uint32_t)VYRE_FAULT_BUFFER_BOUNDS;
    uint32_t fault = dev_dfa_open(&dfa, table);
    if (fault != 0) return fault;
    if (call->arg[1] >= dfa.states) return (uint32_t)VYRE_FAULT_DFA_TABLE;
    run.input = (const volatile uint8_t *)(uintptr_t)(input->address + offset);
    run.accept_at = 0;
    run.state = call->arg[1];
    fault = dev_dfa_input(call, &dfa, &run, length);
    if (fault != 0) return fault;
    uint64_t accept_end = run.accept_at == 0 ? 0 : offset + run.accept_at;
    call->result[0] = run.state;
    call->result[1] = run.accept_at != 0;
    call->result[2] = (uint32_t)accept_end;
    call->result[3] = (uint32_t)(accept_end >> 32);
    return 0;
}

#endif
