/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * builtins.def as the device reads it: which opcodes are built in, how many argument words each
 * takes, which of them are handles, and whether the poller may run it in place.
 *
 * Constant; every worker and the poller call it, and so may the host.
 */
#ifndef VYRE_DEVICE_BUILTIN_TABLE_H
#define VYRE_DEVICE_BUILTIN_TABLE_H

#include "device/platform.h"
#include "vyre/wire.h"

#define DEV_FAULT_BIT(name)  (1u << VYRE_FAULT_##name)
#define DEV_SMALL_COPY_WORDS 64u /* the longest MEMCPY that the poller runs in place */

enum dev_small { DEV_SMALL_NEVER = 0, DEV_SMALL_ALWAYS = 1, DEV_SMALL_DEPENDS = 2 };

enum dev_builtin_index {
#define VYRE_BUILTIN(name, opcode, args, reads, writes, small, operands, effect, results, faults,  \
                     steps)                                                                        \
    DEV_BUILTIN_##name,
#include "device/builtins.def"
#undef VYRE_BUILTIN
    DEV_BUILTINS
};

struct dev_builtin {
    uint32_t opcode;
    uint32_t args;
    uint32_t reads;  /* bit i: argument i is the handle of a buffer that it reads */
    uint32_t writes; /* the same of a buffer that it writes */
    uint32_t small;  /* enum dev_small */
    uint32_t faults; /* DEV_FAULT_BITs */
};

DEV_TABLE struct dev_builtin dev_builtins[DEV_BUILTINS] = {
#define VYRE_BUILTIN(name, opcode, args, reads, writes, small, operands, effect, results, faults,  \
                     steps)                                                                        \
    {(opcode), (args), (reads), (writes), (small), (faults)},
#include "device/builtins.def"
#undef VYRE_BUILTIN
};

#define VYRE_BUILTIN(name, opcode, args, reads, writes, small, operands, effect, results, faults,  \
                     steps)                                                                        \
    static_assert((opcode) >= VYRE_OP_USER_FIRST || DEV_BUILTIN_##name == (int)(opcode),           \
                  "the rows of opcodes 0..7 are the first, in order");                             \
    static_assert((args) <= VYRE_SLOT_ARGS && ((reads) | (writes)) >> (args) == 0,                 \
                  "a handle is one of the arguments");                                             \
    static_assert((opcode) > VYRE_OP_COMPARE_SWAP || (small) == DEV_SMALL_ALWAYS,                  \
                  "dev_builtin_small relies on it");
#include "device/builtins.def"
#undef VYRE_BUILTIN

/* The row of an opcode that is built in; NULL for every other. */
DEV_FN const struct dev_builtin *dev_builtin_find(uint32_t opcode)
{
    if (DEV_LIKELY(opcode < VYRE_OP_USER_FIRST)) return &dev_builtins[opcode];
    if (opcode == VYRE_OP_PACKED_SLOT) return &dev_builtins[DEV_BUILTIN_PACKED_SLOT];
    if (opcode == VYRE_OP_PRINTF) return &dev_builtins[DEV_BUILTIN_PRINTF];
    if (opcode == VYRE_OP_SHUTDOWN) return &dev_builtins[DEV_BUILTIN_SHUTDOWN];
    if (opcode == VYRE_OP_LOAD_MISS) return &dev_builtins[DEV_BUILTIN_LOAD_MISS];
    return NULL;
}

/* Whether all operations of a packed slot are of the hot ones, which name no handle. */
DEV_FN int dev_packed_small(const uint32_t *arg)
{
    uint32_t count = arg[0] & 0xFFu;
    if (count > 23u) return 0;
    for (uint32_t byte = 2; byte < 2 + 2 * count; byte += 2)
        if ((arg[byte / 4] >> (byte % 4 * 8) & 0xFFu) > VYRE_OP_COMPARE_SWAP) return 0;
    return 1;
}

/* Whether the poller may run the slot in place. Opcodes 0..4, the hot ones, cost one comparison. */
DEV_FN int dev_builtin_small(uint32_t opcode, const uint32_t *arg)
{
    if (DEV_LIKELY(opcode <= VYRE_OP_COMPARE_SWAP)) return 1;
    const struct dev_builtin *row = dev_builtin_find(opcode);
    if (row == NULL) return 0;
    if (row->small == DEV_SMALL_DEPENDS)
        return opcode == VYRE_OP_PACKED_SLOT ? dev_packed_small(arg)
                                             : arg[2] <= DEV_SMALL_COPY_WORDS;
    return row->small == DEV_SMALL_ALWAYS;
}

#endif
