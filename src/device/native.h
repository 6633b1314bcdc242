/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations: C functions of the embedding program, called by worker threads of the CPU
 * backend. A GPU worker has none to call.
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

DEV_FN uint32_t dev_native_run(struct dev_call *call, uint32_t index)
{
    (void)call;
    (void)index;
    return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
}

#endif

#endif
