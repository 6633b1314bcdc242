/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the interpreters of threads and of warps have in common.
 */
#ifndef VYRE_DEVICE_INTERP_COMMON_H
#define VYRE_DEVICE_INTERP_COMMON_H

#include "device/platform.h"
#include "vm/bytecode.h"
#include "vyre/wire.h"

DEV_FN uint32_t dev_atomic_one(uint32_t op, uint32_t *word, uint32_t b, uint32_t c)
{
    switch (op) {
    case VM_OP_ATADD:
        return dev_atomic_add(word, b);
    case VM_OP_ATOR:
        return dev_atomic_or(word, b);
    case VM_OP_ATAND:
        return dev_atomic_and(word, b);
    case VM_OP_ATXOR:
        return dev_atomic_xor(word, b);
    case VM_OP_ATMIN:
        return dev_atomic_min(word, b);
    case VM_OP_ATMAX:
        return dev_atomic_max(word, b);
    case VM_OP_ATXCHG:
        return dev_atomic_exchange(word, b);
    default:
        return dev_atomic_cas(word, b, c);
    }
}

/* The fault of a TRAPIF. */
DEV_FN uint32_t dev_trap_fault(uint32_t code)
{
    if (code == VM_TRAP_INDEX) return (uint32_t)VYRE_FAULT_BAD_INDEX;
    return code == VM_TRAP_ASYNC ? (uint32_t)VYRE_FAULT_ASYNC_TAG : (uint32_t)VYRE_FAULT_TRAP;
}

#endif
