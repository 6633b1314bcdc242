/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The public names of the rules in opcode.h.
 */
#include "wire/opcode.h"

#include "wire/layout.h"

int vyre_wire_opcode_system(uint32_t opcode)
{
    return vyre_opcode_is_system(opcode);
}

int vyre_wire_opcode_builtin(uint32_t opcode)
{
    return vyre_opcode_is_builtin(opcode);
}

int vyre_wire_opcode_user(uint32_t opcode)
{
    return vyre_opcode_is_user(opcode);
}

int vyre_wire_opcode_publishable(uint32_t opcode)
{
    return vyre_opcode_is_publishable(opcode);
}
