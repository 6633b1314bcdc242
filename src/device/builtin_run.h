/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Running the operations of a slot: the built-ins, native operations, and packed slots.
 *
 * The caller holds what the slot names (hold.h) and hands over a call whose pc, steps and results
 * are zero. An operation checks all its operands before its first effect, so one that faults on an
 * operand changed nothing. The poller calls dev_operation_run for small slots, workers
 * dev_slot_run.
 */
#ifndef VYRE_DEVICE_BUILTIN_RUN_H
#define VYRE_DEVICE_BUILTIN_RUN_H

#include "device/builtin_call.h"
#include "device/builtin_table.h"
#include "device/debuglog.h"
#include "device/dfa.h"
#include "device/handle.h"
#include "device/native.h"
#include "device/packed.h"

#define DEV_COPY_STEP_WORDS 16u /* words of MEMCPY for one step of cost */

DEV_FN uint32_t dev_store_run(struct dev_call *call)
{
    uint32_t *word = dev_call_word(call, call->arg[1]);
    if (word == NULL) return (uint32_t)VYRE_FAULT_WORD_RANGE;
    dev_store_relaxed(word, call->arg[0]);
    return 0;
}

DEV_FN uint32_t dev_add_run(struct dev_call *call)
{
    uint32_t *word = dev_call_word(call, call->arg[1]);
    if (word == NULL) return (uint32_t)VYRE_FAULT_WORD_RANGE;
    call->result[0] = dev_add_relaxed(word, call->arg[0]);
    return 0;
}

DEV_FN uint32_t dev_load_run(struct dev_call *call)
{
    const uint32_t *from = dev_call_word(call, call->arg[0]);
    if (from == NULL || call->arg[1] >= call->rt->observable_words)
        return (uint32_t)VYRE_FAULT_WORD_RANGE;
    call->result[0] = dev_load_relaxed(from);
    dev_store_relaxed(dev_call_word(call, VYRE_CONTROL_OBSERVABLE + call->arg[1]), call->result[0]);
    return 0;
}

DEV_FN uint32_t dev_swap_run(struct dev_call *call)
{
    uint32_t *word = dev_call_word(call, call->arg[0]);
    if (word == NULL) return (uint32_t)VYRE_FAULT_WORD_RANGE;
    call->result[0] = dev_cas_relaxed(word, call->arg[1], call->arg[2]);
    return 0;
}

DEV_NO_INLINE uint32_t dev_copy_run(struct dev_call *call)
{
    uint32_t count = call->arg[2];
    if (count == 0) return 0;
    const uint32_t *from = dev_call_words(call, call->arg[0], count);
    uint32_t *to = dev_call_words(call, call->arg[1], count);
    if (from == NULL || to == NULL) return (uint32_t)VYRE_FAULT_WORD_RANGE;
    for (uint32_t i = 0; i < count; i++) {
        if (i != 0 && i % DEV_STOP_INTERVAL == 0) {
            uint32_t fault = dev_call_stopped(call);
            if (fault != 0) return fault;
        }
        /* The first step was paid by whoever called the operation. */
        if (i != 0 && i % DEV_COPY_STEP_WORDS == 0) dev_call_charge(call, 1);
        dev_store_relaxed(&to[i], dev_load_relaxed(&from[i]));
    }
    return 0;
}

/* The part of a fence that is an operation; that it waits is the poller's doing. */
DEV_NO_INLINE uint32_t dev_fence_run(struct dev_call *call)
{
    uint32_t *word = dev_call_word(call, VYRE_CONTROL_OBSERVABLE);
    if (word == NULL) return (uint32_t)VYRE_FAULT_WORD_RANGE;
    dev_add_relaxed(&call->rt->control[VYRE_CONTROL_EPOCH], 1);
    dev_store_relaxed(word, call->arg[1]);
    return 0;
}

DEV_NO_INLINE uint32_t dev_printf_run(struct dev_call *call)
{
    uint32_t word[4] = {call->arg[0], call->arg[1], call->arg[2], call->place * VYRE_SLOT_WORDS};
    dev_log_append(&call->rt->logs[call->tenant], word);
    return 0;
}

/* Runs one built-in operation that is no packed slot. */
DEV_FN uint32_t dev_builtin_run(struct dev_call *call, uint32_t opcode)
{
    dev_call_charge(call, 1);
    switch (opcode) {
    case VYRE_OP_NOP:
        return 0;
    case VYRE_OP_STORE_U32:
        return dev_store_run(call);
    case VYRE_OP_ATOMIC_ADD:
        return dev_add_run(call);
    case VYRE_OP_LOAD_U32:
        return dev_load_run(call);
    case VYRE_OP_COMPARE_SWAP:
        return dev_swap_run(call);
    case VYRE_OP_MEMCPY:
        return dev_copy_run(call);
    case VYRE_OP_DFA_STEP:
        return dev_dfa_step(call);
    case VYRE_OP_BATCH_FENCE:
        return dev_fence_run(call);
    case VYRE_OP_PRINTF:
        return dev_printf_run(call);
    case VYRE_OP_SHUTDOWN:
        return (uint32_t)VYRE_FAULT_NOT_PERMITTED; /* on queue 0 it never comes here */
    default:
        return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
    }
}

/* Runs one operation that is no packed slot. Returns 0, or its fault. */
DEV_FN uint32_t dev_operation_run(struct dev_call *call, uint32_t opcode)
{
    if (DEV_LIKELY(dev_builtin_find(opcode) != NULL)) return dev_builtin_run(call, opcode);
    /* The poller runs no native operation in place. */
    return dev_native_run(call, call->entry == NULL ? DEV_NONE : call->entry->operation);
}

/* Runs operation i of a packed slot; its results are its own, its steps are the slot's. */
DEV_FN uint32_t dev_packed_run_one(struct dev_call *call, const struct dev_packed *packed,
                                   uint32_t i)
{
    uint32_t opcode = 0, arg[VYRE_SLOT_ARGS];
    struct dev_call inner = *call;
    uint32_t fault = dev_packed_op(packed, i, &opcode, arg);
    if (fault != 0) return fault;
    inner.arg = arg;
    for (uint32_t k = 0; k < VYRE_COMPLETION_RESULTS; k++)
        inner.result[k] = 0;
    dev_metric(call->rt, opcode, 1);
    if (dev_builtin_find(opcode) != NULL)
        fault = dev_builtin_run(&inner, opcode);
    else
        fault = dev_native_run(&inner, dev_opcode_lookup(call->rt, opcode));
    call->steps = inner.steps;
    if (fault == (uint32_t)VYRE_FAULT_OPERATION) call->result[1] = inner.pc;
    return fault;
}

DEV_NO_INLINE uint32_t dev_packed_run(struct dev_call *call)
{
    struct dev_packed packed;
    uint32_t fault = dev_packed_open(&packed, call->arg);
    if (fault != 0) call->pc = packed.bad;
    for (uint32_t i = 0; fault == 0 && i < packed.count; i++) {
        if (i != 0) fault = dev_call_stopped(call);
        if (fault == 0) fault = dev_packed_run_one(call, &packed, i);
        if (fault == 0)
            call->result[0] = i + 1;
        else
            call->pc = i;
    }
    if (call->steps == 0) dev_call_charge(call, 1);
    return fault;
}

/* Runs a slot, packed or not. Returns 0, or the fault of the first operation that failed. */
DEV_FN uint32_t dev_slot_run(struct dev_call *call, uint32_t opcode)
{
    return opcode == VYRE_OP_PACKED_SLOT ? dev_packed_run(call) : dev_operation_run(call, opcode);
}

#endif
