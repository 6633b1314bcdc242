/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What slots hold. The poller finds and holds everything that a slot names (handle.h) before the
 * slot is handed over: buffers, operations, programs, binding sets and their buffers. It checks the
 * rest of what the arguments say then, too. Whoever ends the slot drops exactly what was held.
 */
#ifndef VYRE_DEVICE_HOLD_H
#define VYRE_DEVICE_HOLD_H

#include "device/handle.h"

/* Lets go of the first `count` buffers of a set. (poller) */
DEV_FN void dev_bindings_drop(struct dev_runtime *rt, const struct dev_bindings *set,
                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (set->bound[i].handle != 0) dev_handle_drop(dev_handle_held(rt, set->bound[i].handle));
    }
}

/* Finds and holds all buffers of a set, and notes where they lie: all of them, or none with a
 * fault. What is being dropped is gone already. (poller) */
DEV_FN uint32_t dev_bindings_hold(struct dev_runtime *rt, struct dev_bindings *set, uint32_t tenant)
{
    rt->late = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < set->count; i++) {
        struct dev_bound *bound = &set->bound[i];
        uint32_t fault;
        if (bound->handle == 0) continue;
        struct dev_handle *entry = dev_handle_find(rt, bound->handle, DEV_BUFFER, tenant,
                                                   bound->rights & ~DEV_RIGHT_SEEN, &fault);
        if (entry == NULL) {
            dev_bindings_drop(rt, set, i);
            return fault;
        }
        bound->rights = (bound->rights & ~DEV_RIGHT_SEEN) | (entry->rights & DEV_RIGHT_SEEN);
        bound->address = entry->address;
        bound->bytes = entry->bytes;
        dev_handle_hold(entry);
    }
    return 0;
}

DEV_FN const struct vm_header *dev_program_header(const struct dev_handle *program)
{
    return (const struct vm_header *)(uintptr_t)program->address;
}

DEV_FN struct dev_bindings *dev_bindings_of(const struct dev_handle *handle)
{
    return (struct dev_bindings *)(uintptr_t)handle->address;
}

/* Whether a grid of workgroups can be counted: invocations on each axis in 32 bits, all workgroups
 * in 63. */
DEV_FN int dev_grid_fits(const struct vm_header *program, const uint32_t *grid)
{
    for (uint32_t axis = 0; axis < 3; axis++) {
        if ((uint64_t)grid[axis] * program->workgroup[axis] > 0x100000000u) return 0;
    }
    uint64_t plane = (uint64_t)grid[0] * grid[1];
    return grid[2] == 0 || plane <= 0x7FFFFFFFFFFFFFFFu / grid[2];
}

/* Whether this many scalars is right where `open` of the program's are not bound. */
DEV_FN int dev_scalars_fit(const struct vm_header *program, uint32_t open, uint32_t count)
{
    if (count == 0) return open == 0;
    return count == program->scalar_params && count <= DEV_SCALARS;
}

/* The most that a slot may ask of the warp that has its chunk: weight times workgroups. */
#define DEV_SHORT_WORK 2048u

/* Whether a slot with these arguments is run like a plain one, where its program has this weight.
 * The producer asks, and the device. */
DEV_FN int dev_short_fits(uint32_t weight, const uint32_t *arg)
{
    if (weight == 0 || (arg[DEV_ARG_COUNT] & 0xFFu) > DEV_SLOT_SCALARS) return 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (arg[axis] > DEV_SHORT_WORK) return 0;
    }
    return (uint64_t)arg[0] * arg[1] * arg[2] * weight <= DEV_SHORT_WORK;
}

/* Whether a window lies in the buffer that is bound there, where an element can begin. */
DEV_FN uint32_t dev_window_check(const struct dev_bindings *set, const uint32_t *arg, uint32_t k)
{
    uint32_t view = dev_window_view(arg[DEV_ARG_COUNT], k);
    const uint32_t *word = dev_window_words(arg, k);
    if (view == 0) return 0;
    if (set == NULL || view > set->count || set->bound[view - 1].handle == 0)
        return (uint32_t)VYRE_FAULT_PARAMETERS;
    if (word[0] % DEV_WINDOW_ALIGN != 0 || (uint64_t)word[0] + word[1] > set->bound[view - 1].bytes)
        return (uint32_t)VYRE_FAULT_BUFFER_BOUNDS;
    return 0;
}

/* Whether the word that counts the scalars is right, and the windows that it names. */
DEV_FN uint32_t dev_run_check(const struct vm_header *program, const struct dev_bindings *set,
                              const uint32_t *arg)
{
    uint32_t word = arg[DEV_ARG_COUNT], count = word & 0xFFu, fault = 0;
    uint32_t open = set != NULL ? set->open_scalars : program->scalar_params;
    if (word >> 24 != 0 || !dev_scalars_fit(program, open, count) || count > dev_window_room(word))
        return (uint32_t)VYRE_FAULT_PARAMETERS;
    for (uint32_t k = 0; k < DEV_WINDOWS && fault == 0; k++)
        fault = dev_window_check(set, arg, k);
    return fault;
}

/* Checks what the arguments of a slot say to the program at this index; *set receives the index of
 * the binding set that they name, or DEV_NONE. (poller, or in a lookup) */
DEV_FN uint32_t dev_program_check(struct dev_runtime *rt, uint32_t index, const uint32_t *arg,
                                  const struct dev_claim *claim, uint32_t *set)
{
    const struct dev_handle *program = &rt->handles[index];
    const struct vm_header *header = dev_program_header(program);
    const struct dev_bindings *bindings = NULL;
    *set = DEV_NONE;
    /* A program without buffers needs no set; the handle 0 names none. */
    if (arg[DEV_ARG_BINDINGS] != 0 || header->view_count != header->scalar_params) {
        uint32_t fault;
        const struct dev_handle *found = dev_handle_claim(rt, arg[DEV_ARG_BINDINGS], claim, &fault);
        if (found == NULL) return fault;
        bindings = dev_bindings_of(found);
        if (bindings->program != (program->generation << 16 | index))
            return (uint32_t)VYRE_FAULT_BINDINGS;
        *set = arg[DEV_ARG_BINDINGS] & DEV_HANDLE_INDEX;
    }
    uint32_t wrong = dev_run_check(header, bindings, arg);
    if (wrong != 0) return wrong;
    return dev_grid_fits(header, arg) ? 0 : (uint32_t)VYRE_FAULT_GRID;
}

/* Holds the program at this index, and the binding set that the arguments name: both, or nothing
 * with a fault. (poller) */
DEV_FN uint32_t dev_program_hold(struct dev_runtime *rt, uint32_t index, const uint32_t *arg,
                                 uint32_t tenant)
{
    struct dev_claim claim;
    uint32_t set;
    claim.kind = DEV_BINDINGS;
    claim.tenant = tenant;
    claim.rights = 0;
    claim.late = rt->late;
    uint32_t fault = dev_program_check(rt, index, arg, &claim, &set);
    if (fault != 0) return fault;
    if (set != DEV_NONE) dev_handle_hold(&rt->handles[set]);
    dev_handle_hold(&rt->handles[index]);
    return 0;
}

/* What one operation of a slot names. */
struct dev_names {
    uint32_t reads;     /* bit i: argument i is the handle of a buffer that it reads */
    uint32_t writes;    /* the same of a buffer that it writes */
    uint32_t sets;      /* bit i: argument i is the handle of a binding set, or 0 */
    uint32_t operation; /* index of the native operation or program, or DEV_NONE for a built-in */
};

DEV_FN struct dev_names dev_names_of(const struct dev_runtime *rt, uint32_t opcode,
                                     uint32_t operation, const uint32_t *arg)
{
    const struct dev_builtin *row = dev_builtin_find(opcode);
    struct dev_names names = {0, 0, 0, DEV_NONE};
    if (opcode == VYRE_OP_LOAD_MISS) {
        uint32_t kind = dev_io_kind(arg);
        names.writes = kind == DEV_IO_READ ? 1u << DEV_IO_ARG_BUFFER : 0;
        names.reads = kind == DEV_IO_WRITE ? 1u << DEV_IO_ARG_BUFFER : 0;
    } else if (row != NULL) {
        names.reads = row->reads;
        names.writes = row->writes;
    } else if (operation != DEV_NONE) {
        names.reads = rt->handles[operation].read_handles & DEV_ARGS_MASK;
        names.writes = rt->handles[operation].write_handles & DEV_ARGS_MASK;
        names.sets = rt->handles[operation].kind == DEV_PROGRAM ? 1u << DEV_ARG_BINDINGS : 0;
        names.operation = operation;
    }
    return names;
}

/* Drops what the first `args` arguments name. */
DEV_FN void dev_args_drop(struct dev_runtime *rt, const struct dev_names *names,
                          const uint32_t *arg, uint32_t args)
{
    uint32_t mask = (names->reads | names->writes | names->sets) & ((1u << args) - 1);
    for (uint32_t i = 0; mask >> i != 0; i++) {
        if ((mask >> i & 1) && ((names->sets >> i & 1) == 0 || arg[i] != 0))
            dev_handle_drop(dev_handle_held(rt, arg[i]));
    }
}

/* Drops what one operation names. Any worker. */
DEV_FN void dev_names_drop(struct dev_runtime *rt, const struct dev_names *names,
                           const uint32_t *arg)
{
    dev_args_drop(rt, names, arg, VYRE_SLOT_ARGS);
    if (names->operation != DEV_NONE) dev_handle_drop(&rt->handles[names->operation]);
}

/* Holds what one operation, not a program, names: all of it, or nothing with a fault. (poller) */
DEV_FN uint32_t dev_names_hold(struct dev_runtime *rt, const struct dev_names *names,
                               const uint32_t *arg, uint32_t tenant)
{
    uint32_t mask = names->reads | names->writes;
    for (uint32_t i = 0; mask >> i != 0; i++) {
        if ((mask >> i & 1) == 0) continue;
        uint32_t fault;
        uint32_t rights = (names->reads >> i & 1 ? (uint32_t)VYRE_RIGHT_READ : 0u) |
                          (names->writes >> i & 1 ? (uint32_t)VYRE_RIGHT_WRITE : 0u);
        struct dev_handle *entry = dev_handle_find(rt, arg[i], DEV_BUFFER, tenant, rights, &fault);
        if (entry == NULL) {
            dev_args_drop(rt, names, arg, i);
            return fault;
        }
        dev_handle_hold(entry);
    }
    if (names->operation != DEV_NONE) dev_handle_hold(&rt->handles[names->operation]);
    return 0;
}

/* Whether the bytes that a LOAD_MISS moves lie in the buffer that it holds. */
DEV_FN int dev_io_fits(struct dev_runtime *rt, const uint32_t *arg)
{
    const struct dev_handle *buffer = dev_handle_held(rt, arg[DEV_IO_ARG_BUFFER]);
    uint64_t at = dev_io_pair(&arg[DEV_IO_ARG_AT]);
    return at <= buffer->bytes && arg[DEV_IO_ARG_LENGTH] <= buffer->bytes - at;
}

/* Holds what a LOAD_MISS names, after a look at the rest of it. (poller) */
DEV_FN uint32_t dev_io_hold(struct dev_runtime *rt, const uint32_t *arg, uint32_t tenant)
{
    struct dev_names names = dev_names_of(rt, VYRE_OP_LOAD_MISS, DEV_NONE, arg);
    if (rt->io.page == NULL) return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
    if (dev_io_kind(arg) == 0) return (uint32_t)VYRE_FAULT_IO_FORM;
    uint32_t fault = dev_names_hold(rt, &names, arg, tenant);
    if (fault != 0 || (names.reads | names.writes) == 0 || dev_io_fits(rt, arg)) return fault;
    dev_names_drop(rt, &names, arg);
    return (uint32_t)VYRE_FAULT_BUFFER_BOUNDS;
}

/* What holding a slot found. */
struct dev_hold {
    uint32_t operation; /* for the in-flight entry: index of a plain slot's native operation or
                           program, or DEV_NONE */
    uint32_t pc;        /* of a fault: the packed operation that it came from */
};

/* Holds one operation of a slot. (poller) */
DEV_FN uint32_t dev_operation_hold(struct dev_runtime *rt, uint32_t opcode, const uint32_t *arg,
                                   uint32_t tenant, uint32_t *operation)
{
    *operation = DEV_NONE;
    if (opcode == VYRE_OP_LOAD_MISS) return dev_io_hold(rt, arg, tenant);
    if (dev_builtin_find(opcode) == NULL) {
        *operation = dev_opcode_find(rt, opcode, tenant);
        if (*operation == DEV_NONE) return (uint32_t)VYRE_FAULT_UNKNOWN_OPCODE;
        if (rt->handles[*operation].kind == DEV_PROGRAM)
            return dev_program_hold(rt, *operation, arg, tenant);
    }
    struct dev_names names = dev_names_of(rt, opcode, *operation, arg);
    return dev_names_hold(rt, &names, arg, tenant);
}

/* Drops the first `count` operations of a packed slot. Any worker. */
DEV_NO_INLINE void dev_packed_drop(struct dev_runtime *rt, const uint32_t *arg, uint32_t count)
{
    struct dev_packed packed;
    uint32_t opcode, inner[VYRE_SLOT_ARGS];
    if (dev_packed_open(&packed, arg) != 0) return;
    for (uint32_t i = 0; i < count && i < packed.count; i++) {
        if (dev_packed_op(&packed, i, &opcode, inner) != 0) return;
        struct dev_names names = dev_names_of(rt, opcode, dev_opcode_lookup(rt, opcode), inner);
        dev_names_drop(rt, &names, inner);
    }
}

DEV_NO_INLINE uint32_t dev_packed_hold(struct dev_runtime *rt, const uint32_t *arg, uint32_t tenant,
                                       uint32_t *pc)
{
    struct dev_packed packed;
    uint32_t opcode = 0, operation, inner[VYRE_SLOT_ARGS];
    uint32_t fault = dev_packed_open(&packed, arg);
    *pc = packed.bad;
    if (fault != 0) return fault;
    for (uint32_t i = 0; i < packed.count; i++) {
        *pc = i;
        fault = dev_packed_op(&packed, i, &opcode, inner);
        if (fault == 0) fault = dev_operation_hold(rt, opcode, inner, tenant, &operation);
        if (fault == 0) continue;
        dev_packed_drop(rt, arg, i);
        return fault;
    }
    *pc = 0;
    return 0;
}

/* Finds and holds everything that a copied slot names, packed operations included. On a fault
 * nothing is held. (poller) */
DEV_FN uint32_t dev_slot_hold(struct dev_runtime *rt, const uint32_t *slot, uint32_t tenant,
                              struct dev_hold *hold)
{
    const uint32_t *arg = slot + VYRE_SLOT_ARG0;
    hold->operation = DEV_NONE;
    hold->pc = 0;
    if (slot[VYRE_SLOT_OPCODE] == VYRE_OP_PACKED_SLOT)
        return dev_packed_hold(rt, arg, tenant, &hold->pc);
    return dev_operation_hold(rt, slot[VYRE_SLOT_OPCODE], arg, tenant, &hold->operation);
}

/* Drops what dev_slot_hold took; `operation` is what it found. Any worker. */
DEV_FN void dev_slot_drop(struct dev_runtime *rt, const uint32_t *slot, uint32_t operation)
{
    const uint32_t *arg = slot + VYRE_SLOT_ARG0;
    if (slot[VYRE_SLOT_OPCODE] == VYRE_OP_PACKED_SLOT) {
        dev_packed_drop(rt, arg, DEV_PACKED_MAX);
    } else {
        struct dev_names names = dev_names_of(rt, slot[VYRE_SLOT_OPCODE], operation, arg);
        dev_names_drop(rt, &names, arg);
    }
}

#endif
