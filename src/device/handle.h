/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Handles and opcodes: from the numbers in a slot to the buffers, native operations, programs and
 * binding sets they name.
 *
 * What is held does not change: its entry stays in the handle table, and an operation or a program
 * under its opcode, until the last hold is gone. So a worker may use what its slot holds (hold.h)
 * without a lock, and looks up nothing else.
 */
#ifndef VYRE_DEVICE_HANDLE_H
#define VYRE_DEVICE_HANDLE_H

#include "device/io_args.h"
#include "device/layout.h"
#include "device/packed.h"
#include "device/window.h"
#include "vm/bytecode.h"
#include "vyre/buffer.h"

#define DEV_HANDLE_INDEX 0xFFFFu
#define DEV_ARGS_MASK    0xFFFu /* the bits of a handle mask that are arguments */

/* The arguments of a slot that runs a program: 0..2 the grid, and these; scalars follow. */
#define DEV_ARG_BINDINGS 3u /* handle of the binding set, 0: none */
#define DEV_ARG_COUNT    4u /* byte 0: how many scalars there are; the others: window.h */
#define DEV_ARG_SCALARS  5u

/* Beside the rights of a buffer: the application, and so its pump, sees its bytes where they are.
 */
#define DEV_RIGHT_SEEN 0x100u

/* Who looks for a handle, and what for. */
struct dev_claim {
    uint32_t kind;
    uint32_t tenant;
    uint32_t rights;
    uint32_t late; /* the grace periods that had begun when the slot was published */
};

/* Whether a slot may take hold of an entry. */
DEV_FN int dev_handle_open(const struct dev_handle *entry, uint32_t late)
{
    if (entry->state < DEV_DROPPING) return entry->state == DEV_LIVE;
    return (late >> (entry->state - DEV_DROPPING) & 1) == 0;
}

/* The live entry that a handle names, or NULL with the fault. (poller, or in a lookup: short.h) */
DEV_FN struct dev_handle *dev_handle_claim(struct dev_runtime *rt, uint32_t handle,
                                           const struct dev_claim *claim, uint32_t *fault)
{
    uint32_t index = handle & DEV_HANDLE_INDEX;
    struct dev_handle *entry = rt->handles + index;
    *fault = (uint32_t)VYRE_FAULT_BAD_HANDLE;
    if (claim->kind == DEV_FREE || index >= rt->max_handles) return NULL;
    if (entry->kind != claim->kind || !dev_handle_open(entry, claim->late) ||
        entry->generation != handle >> 16)
        return NULL;
    *fault = (uint32_t)VYRE_FAULT_HANDLE_RIGHTS;
    if (entry->owner != claim->tenant && entry->owner != VYRE_TENANT_ANY) return NULL;
    if ((entry->rights & claim->rights) != claim->rights) return NULL;
    *fault = 0;
    return entry;
}

/* The same for the slot that is being taken. (poller) */
DEV_FN struct dev_handle *dev_handle_find(struct dev_runtime *rt, uint32_t handle, uint32_t kind,
                                          uint32_t tenant, uint32_t rights, uint32_t *fault)
{
    struct dev_claim claim;
    claim.kind = kind;
    claim.tenant = tenant;
    claim.rights = rights;
    claim.late = rt->late;
    return dev_handle_claim(rt, handle, &claim, fault);
}

/* The entry of a handle that the running slot holds. Any worker. */
DEV_FN struct dev_handle *dev_handle_held(struct dev_runtime *rt, uint32_t handle)
{
    return rt->handles + (handle & DEV_HANDLE_INDEX);
}

/* (poller) */
DEV_FN void dev_handle_hold(struct dev_handle *entry)
{
    dev_add_relaxed(&entry->refs, 1);
}

/* The last touch of what was held. Any worker. */
DEV_FN void dev_handle_drop(struct dev_handle *entry)
{
    dev_sub_release(&entry->refs, 1); /* R5 pairs with A5 in system.h */
}

/* The opcode map: linear probing over words that are handle indices. Opcodes that fit a byte, the
 * ones a packed slot can name, have a table of their own, because workers look those up too: each
 * of its words stays as it is while a slot holds the operation. */

DEV_FN uint32_t dev_opcode_home(const struct dev_runtime *rt, uint32_t opcode)
{
    uint32_t hash = opcode * 0x9E3779B1u;
    return (hash ^ hash >> 16) & (rt->opcode_map_size - 1);
}

/* Where the map has this opcode, or the free place where it would go; DEV_NONE where the map is
 * full and has it not. (poller) */
DEV_FN uint32_t dev_opcode_place(const struct dev_runtime *rt, uint32_t opcode)
{
    uint32_t place = dev_opcode_home(rt, opcode);
    for (uint32_t tries = 0; tries < rt->opcode_map_size; tries++) {
        uint32_t index = rt->opcode_map[place];
        if (index == DEV_NONE || rt->handles[index].opcode == opcode) return place;
        place = (place + 1) & (rt->opcode_map_size - 1);
    }
    return DEV_NONE;
}

/* The handle index of an operation or a program, whoever owns it, or DEV_NONE. (poller); workers
 * for opcodes below 256 that their slot holds. */
DEV_FN uint32_t dev_opcode_lookup(const struct dev_runtime *rt, uint32_t opcode)
{
    if (opcode < DEV_PACKED_OPCODES) return dev_load_relaxed(&rt->byte_operation[opcode]) - 1;
    uint32_t place = dev_opcode_place(rt, opcode);
    return place == DEV_NONE ? DEV_NONE : rt->opcode_map[place];
}

/* The handle index of a live operation that this tenant may run, or DEV_NONE; `late` as in a claim.
 * (poller, or in a lookup) */
DEV_FN uint32_t dev_opcode_claim(const struct dev_runtime *rt, uint32_t opcode, uint32_t tenant,
                                 uint32_t late)
{
    uint32_t index = dev_opcode_lookup(rt, opcode);
    if (index == DEV_NONE) return DEV_NONE;
    const struct dev_handle *entry = &rt->handles[index];
    if (!dev_handle_open(entry, late)) return DEV_NONE;
    return entry->owner == tenant || entry->owner == VYRE_TENANT_ANY ? index : DEV_NONE;
}

/* The same for the slot that is being taken. (poller) */
DEV_FN uint32_t dev_opcode_find(const struct dev_runtime *rt, uint32_t opcode, uint32_t tenant)
{
    return dev_opcode_claim(rt, opcode, tenant, rt->late);
}

/* Enters the operation or the program at this index under its opcode. 0: the opcode is taken, or no
 * room. (poller)
 */
DEV_FN int dev_opcode_insert(struct dev_runtime *rt, uint32_t index)
{
    uint32_t opcode = rt->handles[index].opcode;
    if (opcode < DEV_PACKED_OPCODES) {
        if (dev_load_relaxed(&rt->byte_operation[opcode]) != 0) return 0;
        dev_store_relaxed(&rt->byte_operation[opcode], index + 1);
        return 1;
    }
    uint32_t place = dev_opcode_place(rt, opcode);
    if (place == DEV_NONE || rt->opcode_map[place] != DEV_NONE) return 0;
    rt->opcode_map[place] = index;
    return 1;
}

/* Takes an opcode away, after the last hold on its operation is gone. The entries behind it move up
 * so that no search ends at the hole. (poller) */
DEV_FN void dev_opcode_remove(struct dev_runtime *rt, uint32_t opcode)
{
    if (opcode < DEV_PACKED_OPCODES) {
        dev_store_relaxed(&rt->byte_operation[opcode], 0);
        return;
    }
    uint32_t mask = rt->opcode_map_size - 1;
    uint32_t hole = dev_opcode_place(rt, opcode);
    if (hole == DEV_NONE || rt->opcode_map[hole] == DEV_NONE) return;
    for (uint32_t step = 1; step <= mask; step++) {
        uint32_t place = (hole + step) & mask;
        uint32_t index = rt->opcode_map[place];
        if (index == DEV_NONE) break;
        /* It may fill the hole if its home does not lie behind the hole on the way to it. */
        uint32_t home = dev_opcode_home(rt, rt->handles[index].opcode);
        if (((place - home) & mask) < step) continue;
        rt->opcode_map[hole] = index;
        hole = place;
        step = 0;
    }
    rt->opcode_map[hole] = DEV_NONE;
}

#endif
