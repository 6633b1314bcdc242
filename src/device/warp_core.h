/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A workgroup while a warp runs it: what every instruction needs of its frame, kept where it is
 * quickest to reach, and masks. All lanes hold the same values here.
 *
 * The loops are written once for a GPU, where each lane of the warp has its own lane of a unit, and
 * for C, where one thread has all 32 (warp.h). A register is written lane by lane by whoever reads
 * it so; an instruction that reads other lanes' words has a dev_warp_sync around that.
 */
#ifndef VYRE_DEVICE_WARP_CORE_H
#define VYRE_DEVICE_WARP_CORE_H

#include "device/builtin_call.h"
#include "device/debuglog.h"
#include "device/interp_common.h"
#include "device/warp_frame.h"
#include "vm/arith.h"

#if defined(__CUDACC__)
#    define DEV_UNROLL    _Pragma("unroll")
#    define DEV_NO_UNROLL _Pragma("unroll 1")
#else
#    define DEV_UNROLL
#    define DEV_NO_UNROLL
#endif

struct dev_core {
    struct dev_frame *frame;
    const struct vm_insn *code;
    uint32_t *registers;     /* the first ones; */
    uint32_t *far_registers; /* where all have a place, but the first ones are not there */
    uint32_t *scalars;
    uint32_t *masks;
    uint32_t stride; /* words of a register */
    uint32_t units;
    uint32_t lanes;
    uint32_t register_count;
    uint32_t near_registers;
    uint32_t scalar_count;
    uint32_t pc;
    uint32_t level;
    uint32_t active; /* lanes in the mask of this level */
    uint64_t steps;  /* paid by the workgroup */
    uint64_t limit;  /* at a back edge with as many the turn is over */
};

DEV_FN uint32_t *dev_core_mask(const struct dev_core *core, uint32_t level)
{
    return core->masks + level * core->units;
}

DEV_FN int dev_core_full(const struct dev_core *core)
{
    return core->active == core->lanes;
}

/* One operand: the word of lane i is word[i & each]. */
struct dev_source {
    const uint32_t *word;
    uint32_t each; /* all ones, or 0: one word for all lanes */
};

/* Numbers of registers in code that is not what was loaded lead to the first one. */
DEV_FN uint32_t *dev_scalar(const struct dev_core *core, uint32_t number)
{
    number &= ~VM_SCALAR;
    return core->scalars + (number < core->scalar_count ? number : 0) * DEV_SCALAR_WORDS;
}

DEV_FN uint32_t *dev_vector(const struct dev_core *core, uint32_t number)
{
    const uint32_t sound = number < core->register_count ? number : 0;
    return (sound < core->near_registers ? core->registers : core->far_registers) +
           sound * core->stride;
}

DEV_FN struct dev_source dev_source(const struct dev_core *core, uint32_t number)
{
    struct dev_source source;
    source.each = number & VM_SCALAR ? 0 : 0xFFFFFFFFu;
    source.word = number & VM_SCALAR ? dev_scalar(core, number) : dev_vector(core, number);
    return source;
}

/* Whether all words of a wide operand are there. */
DEV_FN int dev_wide(const struct dev_core *core, uint32_t number, uint32_t words)
{
    uint32_t first = number & ~VM_SCALAR;
    return first + words <= (number & VM_SCALAR ? core->scalar_count : core->register_count);
}

/* Writes a scalar register: whoever still reads it goes first, whoever reads it next comes after.
 */
DEV_FN void dev_scalar_put(const struct dev_core *core, uint32_t number, uint32_t value)
{
    dev_warp_sync();
    DEV_FIRST
    {
        for (uint32_t k = 0; k < DEV_SCALAR_WORDS; k++)
            dev_scalar(core, number)[k] = value;
    }
    dev_warp_sync();
}

/* Which lanes of a unit take the result of an instruction. */
DEV_FN uint32_t dev_takers(const struct dev_core *core, const struct vm_insn *in, uint32_t unit)
{
    if (!(in->flags & VM_MASKED) || dev_core_full(core)) return 0xFFFFFFFFu;
    return dev_core_mask(core, core->level)[unit];
}

DEV_FN uint32_t dev_first_bit(uint32_t word)
{
#if defined(__CUDACC__)
    return (uint32_t)__ffs((int)word) - 1u;
#else
    return (uint32_t)__builtin_ctz(word);
#endif
}

/* The slot faults at this instruction. */
DEV_FN uint32_t dev_core_fault(struct dev_core *core, uint32_t fault, uint32_t lane,
                               uint32_t detail)
{
    struct dev_frame *frame = core->frame;
    dev_warp_sync();
    DEV_FIRST
    {
        frame->fault = fault;
        frame->fault_pc = core->pc;
        frame->fault_lane = lane;
        frame->fault_detail = detail;
    }
    dev_warp_sync();
    return DEV_FRAME_FAULT;
}

/* The code is not what was loaded. */
DEV_FN uint32_t dev_core_damaged(struct dev_core *core)
{
    return dev_core_fault(core, (uint32_t)VYRE_FAULT_DAMAGED, 0, 0);
}

/* Active lanes whose index was out of bounds, while an instruction goes through its units. */
struct dev_lost {
    uint32_t count;
    uint32_t lane; /* the first */
    uint32_t index;
};

/* Those of one unit: a bit each in `word`, and the indices of all lanes. */
DEV_FN void dev_lost_add(struct dev_lost *lost, uint32_t unit, uint32_t word, const uint32_t *index)
{
    if (word == 0) return;
    if (lost->count == 0) {
        uint32_t role = dev_first_bit(word);
        lost->lane = unit * DEV_WARP + role;
        lost->index = dev_warp_word32(index, role);
    }
    lost->count += dev_popcount(word);
}

DEV_FN void dev_lost_note(struct dev_lost *lost, const struct dev_core *core, uint32_t unit,
                          const uint32_t *out, const uint32_t *index)
{
    uint32_t word = dev_warp_ballot(out) & dev_core_mask(core, core->level)[unit];
    dev_lost_add(lost, unit, word, index);
}

/* Counts them, or faults with the first. */
DEV_FN uint32_t dev_core_outside(struct dev_core *core, const struct dev_lost *lost)
{
    struct dev_frame *frame = core->frame;
    if (frame->header.flags & VM_PROGRAM_STRICT)
        return dev_core_fault(core, (uint32_t)VYRE_FAULT_OUT_OF_BOUNDS, lost->lane, lost->index);
    dev_warp_sync();
    DEV_FIRST
    {
        frame->out_of_bounds = lost->count > DEV_NONE - frame->out_of_bounds
                                   ? DEV_NONE
                                   : frame->out_of_bounds + lost->count;
    }
    dev_warp_sync();
    return 0;
}

/* The first active lane; there is one. */
DEV_FN uint32_t dev_core_first(const struct dev_core *core)
{
    const uint32_t *mask = dev_core_mask(core, core->level);
    uint32_t u = 0;
    while (u + 1 < core->units && mask[u] == 0)
        u++;
    return u * DEV_WARP + (mask[u] != 0 ? dev_first_bit(mask[u]) : 0);
}

/* The view that an instruction names, of elements of `bytes` bytes and to be written or not; NULL:
 * there is none. */
DEV_FN const struct dev_view *dev_core_view(const struct dev_core *core, uint32_t number,
                                            uint32_t bytes, uint32_t write)
{
    const struct dev_frame *frame = core->frame;
    if (number >= frame->header.buffer_count) return NULL;
    const struct dev_view *view = &frame->views[number];
    uint32_t access = view->access;
    if ((access & ~DEV_VIEW_WRITE) != bytes && view->length != 0) return NULL;
    return write != 0 && !(access & DEV_VIEW_WRITE) ? NULL : view;
}

/* The level's mask has been written by the first lane: it has so many lanes. */
DEV_FN void dev_level_set(struct dev_core *core, uint32_t level, uint32_t active)
{
    DEV_FIRST core->frame->active[level] = active;
    dev_warp_sync();
    core->level = level;
    core->active = active;
}

/* Goes on at a level that has its mask. */
DEV_FN void dev_level_back(struct dev_core *core, uint32_t level)
{
    core->level = level;
    core->active = core->frame->active[level];
}

/* Lanes of `from` whose condition holds go on, one level up. */
DEV_FN void dev_core_push(struct dev_core *core, uint32_t number)
{
    const uint32_t *in = dev_core_mask(core, core->level);
    uint32_t *out = dev_core_mask(core, core->level + 1);
    const uint32_t *condition = dev_vector(core, number);
    uint32_t count = 0;
    dev_warp_sync(); /* whoever reads what lies there now */
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t yes[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            yes[DEV_MINE(l)] = condition[u * DEV_WARP + l] != 0;
        }
        uint32_t word = dev_warp_ballot(yes) & in[u];
        DEV_FIRST out[u] = word;
        count += dev_popcount(word);
    }
    dev_level_set(core, core->level + 1, count);
}

/* The lanes of the level below that were not in this one. */
DEV_FN void dev_core_others(struct dev_core *core)
{
    const uint32_t *below = dev_core_mask(core, core->level - 1);
    uint32_t *mask = dev_core_mask(core, core->level);
    uint32_t count = 0;
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t word = below[u] & ~mask[u];
        dev_warp_sync();
        DEV_FIRST mask[u] = word;
        count += dev_popcount(word);
    }
    dev_level_set(core, core->level, count);
}

/* Lanes of level `from` with d < limit go on at level `to`. */
DEV_FN void dev_core_below(struct dev_core *core, const uint32_t *d, uint32_t limit_number,
                           uint32_t from, uint32_t to)
{
    struct dev_source limit = dev_source(core, limit_number);
    const uint32_t *in = dev_core_mask(core, from);
    uint32_t *out = dev_core_mask(core, to);
    uint32_t count = 0;
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t yes[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l;
            yes[DEV_MINE(l)] = d[i] < limit.word[i & limit.each];
        }
        uint32_t word = dev_warp_ballot(yes) & in[u];
        dev_warp_sync();
        DEV_FIRST out[u] = word;
        count += dev_popcount(word);
    }
    dev_level_set(core, to, count);
}

/* The active lanes have ended: they leave every mask. */
DEV_FN void dev_core_return(struct dev_core *core)
{
    const uint32_t *mine = dev_core_mask(core, core->level);
    uint32_t gone = core->active;
    dev_warp_sync();
    DEV_ROLES(l)
    {
        if (l < core->units) {
            uint32_t word = mine[l];
            for (uint32_t level = 0; level <= core->level; level++)
                dev_core_mask(core, level)[l] &= ~word;
        }
        for (uint32_t level = l; level <= core->level; level += DEV_WARP)
            core->frame->active[level] -= gone;
    }
    dev_warp_sync();
    core->active = 0;
}

#endif
