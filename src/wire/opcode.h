/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Which opcodes are whose. Every 32-bit value is either of the system or the user's; a slot can be
 * published under a user opcode or one of the system's operations that exist. The one place that
 * decides this: host code, device code and the public vyre_wire_opcode_* functions all call it.
 *
 * In the common subset of C17 and CUDA C++; a platform header that needs another function qualifier
 * defines VYRE_WIRE_FN before it includes this file.
 */
#ifndef VYRE_WIRE_OPCODE_H
#define VYRE_WIRE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "vyre/wire.h"

#ifndef VYRE_WIRE_FN
#    define VYRE_WIRE_FN static inline
#endif

#define VYRE_OPCODE_SYSTEM_BIT   0x80000000u /* every value with this bit is the system's */
#define VYRE_OPCODE_SYSTEM_FIRST 0x0000FFF0u /* and these sixteen */
#define VYRE_OPCODE_SYSTEM_LAST  0x0000FFFFu

/* Kept away from users: bit 31, 0xFFF0..0xFFFF, and 0..7. */
VYRE_WIRE_FN bool vyre_opcode_is_system(uint32_t opcode)
{
    return (opcode & VYRE_OPCODE_SYSTEM_BIT) != 0u || opcode < VYRE_OP_USER_FIRST ||
           (opcode >= VYRE_OPCODE_SYSTEM_FIRST && opcode <= VYRE_OPCODE_SYSTEM_LAST);
}

/* The operations that the format calls built in. LOAD_MISS is not among them. */
VYRE_WIRE_FN bool vyre_opcode_is_builtin(uint32_t opcode)
{
    return opcode < VYRE_OP_USER_FIRST || opcode == VYRE_OP_PRINTF ||
           opcode == VYRE_OP_PACKED_SLOT || opcode == VYRE_OP_SHUTDOWN;
}

/* What an embedding program may register operations and programs under. */
VYRE_WIRE_FN bool vyre_opcode_is_user(uint32_t opcode)
{
    return !vyre_opcode_is_system(opcode);
}

/* What a slot may be published under: built-in, LOAD_MISS, or the user's. */
VYRE_WIRE_FN bool vyre_opcode_is_publishable(uint32_t opcode)
{
    return vyre_opcode_is_builtin(opcode) || opcode == VYRE_OP_LOAD_MISS ||
           vyre_opcode_is_user(opcode);
}

#endif
