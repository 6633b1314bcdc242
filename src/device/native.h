/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations: C functions of the embedding program, called by worker threads of the CPU
 * backend, and on a GPU functions that were linked with the kernel, called by number.
 *
 * While one runs, its slot holds the operation and every buffer that its arguments name, so the
 * public calls inside it (vyre_call_buffer, vyre_call_cancelled) read the handle table without a
 * lock. They reach the struct below from the vyre_call that it begins with.
 */
#ifndef VYRE_DEVICE_NATIVE_H
#define VYRE_DEVICE_NATIVE_H

#include "device/builtin_call.h"
#include "device/handle.h"

#if !defined(__CUDACC__)

#    include "vyre/program.h"

struct dev_native_call {
    vyre_call pub; /* first: its address is the address of the whole */
    struct dev_call *call;
    uint32_t read_handles;
    uint32_t write_handles;
};

static_assert(offsetof(struct dev_native_call, pub) == 0, "found from the address of pub");

/* Runs the operation at a handle index that the slot holds. A failure is the fault OPERATION with
 * the code in pc. */
DEV_NO_INLINE uint32_t dev_native_run(struct dev_call *call, uint32_t index)
{
    if (index >= call->rt->max_handles) return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
    const struct dev_handle *operation = &call->rt->handles[index];
    vyre_operation_fn run = (vyre_operation_fn)(uintptr_t)operation->address;
    struct dev_native_call native;
    native.pub.opcode = operation->opcode;
    native.pub.tenant = call->tenant;
    native.pub.ticket = call->ticket;
    native.pub.args = call->arg;
    native.pub.result = call->result;
    native.pub.ctx = (void *)(uintptr_t)operation->ctx;
    native.call = call;
    native.read_handles = operation->read_handles & DEV_ARGS_MASK;
    native.write_handles = operation->write_handles & DEV_ARGS_MASK;
    dev_call_charge(call, operation->steps);
    uint32_t code = run(&native.pub);
    if (code == 0) return 0;
    call->pc = code;
    return (uint32_t)VYRE_FAULT_OPERATION;
}

#else

#    include "vyre/cuda.h"

/* Linked with the kernel; number 0 is none. */
extern "C" __device__ vyre_cuda_fn vyre_native_table[];
extern "C" __device__ uint32_t vyre_native_count;

/* What the function is told: the slot holds the operation and every buffer that it names. */
DEV_FN void dev_native_fill(vyre_cuda_call *native, struct dev_call *call,
                            const struct dev_handle *operation, uint32_t lanes)
{
    uint32_t handles = (operation->read_handles | operation->write_handles) & DEV_ARGS_MASK;
    native->opcode = operation->opcode;
    native->tenant = call->tenant;
    native->ticket = call->ticket;
    native->args = call->arg;
    native->result = call->result;
    native->lanes = lanes;
    native->reserved = 0;
    native->kernel = call->rt;
    native->slot = call->entry;
    for (uint32_t i = 0; i < VYRE_SLOT_ARGS; i++) {
        const struct dev_handle *held = dev_handle_held(call->rt, call->arg[i]);
        int named = (handles >> i & 1) != 0;
        native->buffer[i] = named ? (void *)(uintptr_t)held->address : NULL;
        native->bytes[i] = named ? held->bytes : 0;
    }
}

/* The function of an operation, or NULL. */
DEV_FN vyre_cuda_fn dev_native_function(const struct dev_handle *operation)
{
    uint64_t number = operation->address;
    return number != 0 && number < vyre_native_count ? vyre_native_table[number] : NULL;
}

/* Runs an operation on one lane: it is part of a packed slot. */
DEV_NO_INLINE uint32_t dev_native_run(struct dev_call *call, uint32_t index)
{
    if (index >= call->rt->max_handles) return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
    const struct dev_handle *operation = &call->rt->handles[index];
    vyre_cuda_fn run = dev_native_function(operation);
    vyre_cuda_call native;
    if (run == NULL) return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
    dev_native_fill(&native, call, operation, 1);
    dev_call_charge(call, operation->steps);
    uint32_t code = run(&native);
    if (code == 0) return 0;
    call->pc = code;
    return (uint32_t)VYRE_FAULT_OPERATION;
}

#endif

#endif
