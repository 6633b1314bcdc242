/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads, stores, atomics and copies of programs, for a warp. The rules are those of
 * interp_memory.h: every access is checked against its view, lanes out of bounds get 0 and are
 * counted, and where lanes of a workgroup meet at one element they do so in their order. Loads and
 * stores side by side are the memory system's business.
 */
#ifndef VYRE_DEVICE_WARP_MEMORY_H
#define VYRE_DEVICE_WARP_MEMORY_H

#include "device/warp_alu.h"

/* One element of 1, 2 or 4 bytes; views begin at multiples of 4, and of 16 but for a scalar. */
DEV_INLINE uint32_t dev_get(const unsigned char *from, uint32_t bytes)
{
#if defined(__CUDACC__)
    if (bytes == 1) return *from;
    if (bytes == 2) return *(const uint16_t *)(const void *)from;
    return *(const uint32_t *)(const void *)from;
#else
    uint32_t word = 0;
    memcpy(&word, from, bytes < 4 ? bytes : 4);
    return word;
#endif
}

/* A word, if it is wanted. A branch around the load would make it wait there for its result. */
DEV_INLINE void dev_get_if(const unsigned char *from, uint32_t wanted, uint32_t *word)
{
#if defined(__CUDACC__)
    asm volatile("{ .reg .pred here; setp.ne.u32 here, %2, 0; @here ld.u32 %0, [%1]; }"
                 : "+r"(*word)
                 : "l"(from), "r"(wanted)
                 : "memory");
#else
    if (wanted) *word = dev_get(from, 4);
#endif
}

DEV_INLINE void dev_set(unsigned char *to, uint32_t value, uint32_t bytes)
{
#if defined(__CUDACC__)
    if (bytes == 1)
        *to = (unsigned char)value;
    else if (bytes == 2)
        *(uint16_t *)(void *)to = (uint16_t)value;
    else
        *(uint32_t *)(void *)to = value;
#else
    memcpy(to, &value, bytes < 4 ? bytes : 4);
#endif
}

/* The same element for all lanes. */
DEV_INLINE uint32_t dev_core_load_one(struct dev_core *core, const struct vm_insn *in,
                                      const struct dev_view *view, uint32_t bytes, int is_float)
{
    const uint32_t at = *dev_scalar(core, in->a);
    const unsigned char *from = view->element + (uint64_t)at * bytes;
    const int inside = at < view->length;
    if (!inside && core->active != 0) {
        struct dev_lost lost = {core->active, dev_core_first(core), at};
        uint32_t fault = dev_core_outside(core, &lost);
        if (fault) return fault;
    }
    for (uint32_t part = 0; part == 0 || part * 4 < bytes; part++) {
        uint32_t word = inside ? dev_get(from + part * 4, bytes < 4 ? bytes : 4) : 0;
        if (is_float) word = vm_flush_now(word);
        if (in->d & VM_SCALAR) {
            dev_scalar_put(core, in->d + part, word);
            continue;
        }
        for (uint32_t u = 0; u < core->units; u++) {
            uint32_t value[DEV_WARP_ROLES];
            DEV_ROLES(l)
            {
                value[DEV_MINE(l)] = word;
            }
            dev_put_unit(core, in, part, u, value);
        }
    }
    dev_warp_sync();
    return 0;
}

/* Wide elements, a unit at a time: the index may be one of the registers of the result. */
DEV_INLINE void dev_core_load_wide(struct dev_core *core, const struct vm_insn *in,
                                   const struct dev_view *view, uint32_t bytes,
                                   struct dev_lost *lost)
{
    const struct dev_source index = dev_source(core, in->a);
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t value[4][DEV_WARP_ROLES], where[DEV_WARP_ROLES], out[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l, at = index.word[i];
            int inside = at < view->length && i < core->lanes;
            const unsigned char *from = view->element + (uint64_t)at * bytes;
            where[DEV_MINE(l)] = at;
            out[DEV_MINE(l)] = !inside;
            DEV_UNROLL
            for (uint32_t part = 0; part < bytes / 4; part++)
                value[part][DEV_MINE(l)] = inside ? dev_get(from + part * 4, 4) : 0;
        }
        dev_lost_note(lost, core, u, out, where);
        DEV_UNROLL
        for (uint32_t part = 0; part < bytes / 4; part++)
            dev_put_unit(core, in, part, u, value[part]);
    }
}

/* Elements of a word or less, several units at a time: so many loads are under way at once. */
DEV_INLINE void dev_core_load_words(struct dev_core *core, const struct vm_insn *in,
                                    const struct dev_view *view, uint32_t bytes, int is_float,
                                    struct dev_lost *lost)
{
    const struct dev_source index = dev_source(core, in->a);
    const unsigned char *base = view->element;
    const uint32_t length = view->length;
    for (uint32_t first = 0; first < core->units; first += DEV_PASS) {
        struct dev_pass at, result, out;
        dev_fetch(&at, index, first, core->units);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++) {
            DEV_ROLES(l)
            {
                uint32_t i = (first + k) * DEV_WARP + l;
                uint32_t where = at.word[k][DEV_MINE(l)];
                int inside = i < core->lanes && where < length;
                uint32_t word = inside ? dev_get(base + (uint64_t)where * bytes, bytes) : 0;
                out.word[k][DEV_MINE(l)] = !inside;
                result.word[k][DEV_MINE(l)] = is_float ? vm_flush_now(word) : word;
            }
        }
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            if (first + k < core->units)
                dev_lost_note(lost, core, first + k, out.word[k], at.word[k]);
        dev_put(core, in, &result, first, core->units);
    }
}

/* A load of elements of `bytes` bytes (a constant where this is inlined). */
DEV_INLINE uint32_t dev_core_load(struct dev_core *core, const struct vm_insn *in, uint32_t bytes,
                                  int is_float)
{
    const struct dev_view *view = dev_core_view(core, in->imm, bytes, 0);
    struct dev_lost lost = {0, 0, 0};
    if (view == NULL || !dev_wide(core, in->d, bytes > 4 ? bytes / 4 : 1))
        return dev_core_damaged(core);
    if (in->a & VM_SCALAR) return dev_core_load_one(core, in, view, bytes, is_float);
    if (bytes > 4)
        dev_core_load_wide(core, in, view, bytes, &lost);
    else
        dev_core_load_words(core, in, view, bytes, is_float, &lost);
    if (lost.count != 0) return dev_core_outside(core, &lost);
    dev_warp_sync();
    return 0;
}

/* Whether no two lanes of a unit have the same index: they count up, as they mostly do. */
DEV_FN int dev_unit_apart(struct dev_source index, uint32_t unit)
{
    uint32_t back[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        uint32_t i = unit * DEV_WARP + l;
        back[DEV_MINE(l)] =
            l != 0 && index.word[i & index.each] <= index.word[(i - 1) & index.each];
    }
    return dev_warp_ballot(back) == 0;
}

/* Of some lanes of a unit those that come last at their element: what they store stays. */
DEV_FN uint32_t dev_words_last(const uint32_t *index, uint32_t lanes)
{
    uint32_t last[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        last[DEV_MINE(l)] = lanes >> l & 1;
    }
    for (uint32_t k = 1; k < DEV_WARP; k++) {
        uint32_t other[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            other[DEV_MINE(l)] = dev_warp_word32(index, k);
        }
        DEV_ROLES(l)
        {
            if (l < k && (lanes >> k & 1) && other[DEV_MINE(l)] == index[DEV_MINE(l)])
                last[DEV_MINE(l)] = 0;
        }
    }
    return dev_warp_ballot(last);
}

/* A store; `is_float` ones leave canonical bits. Both are constants where this is inlined. */
DEV_INLINE uint32_t dev_core_store(struct dev_core *core, const struct vm_insn *in, uint32_t bytes,
                                   int is_float)
{
    const struct dev_view *view = dev_core_view(core, in->imm, bytes, 1);
    const struct dev_source index = dev_source(core, in->a), value = dev_source(core, in->b);
    if (view == NULL || !dev_wide(core, in->b, bytes > 4 ? bytes / 4 : 1))
        return dev_core_damaged(core);
    const uint32_t *mask = dev_core_mask(core, core->level);
    unsigned char *base = view->element;
    const uint32_t length = view->length;
    struct dev_lost lost = {0, 0, 0};
    dev_warp_sync(); /* lanes look at each other's indices */
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t out[DEV_WARP_ROLES], where[DEV_WARP_ROLES];
        uint32_t takers = mask[u];
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l;
            where[DEV_MINE(l)] = index.word[i & index.each];
            out[DEV_MINE(l)] = where[DEV_MINE(l)] >= length;
        }
        dev_lost_note(&lost, core, u, out, where);
        if (!dev_unit_apart(index, u)) takers = dev_words_last(where, takers);
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l;
            unsigned char *to = base + (uint64_t)where[DEV_MINE(l)] * bytes;
            if ((takers >> l & 1) && !out[DEV_MINE(l)]) {
                for (uint32_t part = 0; part == 0 || part * 4 < bytes; part++) {
                    /* The registers of a wide value need not lie side by side. */
                    const struct dev_source from =
                        part != 0 ? dev_source(core, in->b + part) : value;
                    uint32_t word = from.word[i & from.each];
                    if (is_float) word = vm_canon(word);
                    dev_set(to + part * 4, word, bytes < 4 ? bytes : 4);
                }
            }
        }
        dev_warp_sync(); /* lanes of two units may meet: in their order */
    }
    if (lost.count != 0) return dev_core_outside(core, &lost);
    dev_warp_sync();
    return 0;
}

/* A word of a buffer, more by what each lane has: as a load and a store an access out of bounds
 * counts as two. Sums come out the same in any order. */
DEV_FN uint32_t dev_core_add_to(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_view *view = dev_core_view(core, in->imm, 4, 1);
    const struct dev_source index = dev_source(core, in->a), value = dev_source(core, in->b);
    if (view == NULL) return dev_core_damaged(core);
    const uint32_t *mask = dev_core_mask(core, core->level);
    struct dev_lost lost = {0, 0, 0};
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t out[DEV_WARP_ROLES], where[DEV_WARP_ROLES];
        DEV_ROLES(l)
        {
            uint32_t i = u * DEV_WARP + l, at = index.word[i & index.each];
            where[DEV_MINE(l)] = at;
            out[DEV_MINE(l)] = at >= view->length;
            if ((mask[u] >> l & 1) && at < view->length)
                dev_sum_to((uint32_t *)(void *)(view->element + (uint64_t)at * 4),
                           value.word[i & value.each]);
        }
        dev_lost_note(&lost, core, u, out, where);
    }
    dev_warp_sync();
    if (lost.count == 0) return 0;
    lost.count *= 2;
    return dev_core_outside(core, &lost);
}

/* What one lane's operation after another does to a word: old, then with a, then with b. */
DEV_FN uint32_t dev_atomic_join(uint32_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case VM_OP_ATADD:
        return a + b;
    case VM_OP_ATOR:
        return a | b;
    case VM_OP_ATAND:
        return a & b;
    case VM_OP_ATXOR:
        return a ^ b;
    case VM_OP_ATMIN:
        return a < b ? a : b;
    case VM_OP_ATMAX:
        return a > b ? a : b;
    default:
        return b; /* exchange */
    }
}

/* What an atomic instruction works with. */
struct dev_atomics {
    struct dev_source index, b, c;
    unsigned char *base;
    uint32_t op;
    uint32_t lanes; /* of this unit: active and within bounds */
    uint32_t unit;
};

DEV_FN uint32_t dev_atomics_at(const struct dev_atomics *at, uint32_t l)
{
    return at->index.word[(at->unit * DEV_WARP + l) & at->index.each];
}

DEV_FN uint32_t *dev_atomics_word(const struct dev_atomics *at, uint32_t l)
{
    return (uint32_t *)(void *)(at->base + (uint64_t)dev_atomics_at(at, l) * 4);
}

/*
 * Lanes that meet at one word act as if one after the other, with one operation: the last of them
 * does it for all, and each knows from what those before it have what the word was at its turn.
 */
DEV_NO_INLINE void dev_atomics_meet(const struct dev_atomics *at, uint32_t *old)
{
    uint32_t before[DEV_WARP_ROLES], joined[DEV_WARP_ROLES], last[DEV_WARP_ROLES],
        value[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        uint32_t mine = dev_atomics_at(at, l), sum = 0, any = 0;
        last[DEV_MINE(l)] = l;
        for (uint32_t k = 0; k < DEV_WARP; k++) {
            if (!(at->lanes >> k & 1) || dev_atomics_at(at, k) != mine) continue;
            uint32_t b = at->b.word[(at->unit * DEV_WARP + k) & at->b.each];
            if (k < l) {
                sum = any ? dev_atomic_join(at->op, sum, b) : b;
                any = 1;
            }
            if (k > l) last[DEV_MINE(l)] = k;
        }
        before[DEV_MINE(l)] = sum;
        joined[DEV_MINE(l)] = any;
        value[DEV_MINE(l)] = 0;
    }
    DEV_ROLES(l)
    {
        uint32_t b = at->b.word[(at->unit * DEV_WARP + l) & at->b.each];
        if ((at->lanes >> l & 1) && last[DEV_MINE(l)] == l)
            value[DEV_MINE(l)] = dev_atomic_one(
                at->op, dev_atomics_word(at, l),
                joined[DEV_MINE(l)] ? dev_atomic_join(at->op, before[DEV_MINE(l)], b) : b, 0);
    }
    DEV_ROLES(l)
    {
        uint32_t was = dev_warp_word32(value, last[DEV_MINE(l)]);
        old[DEV_MINE(l)] =
            joined[DEV_MINE(l)] ? dev_atomic_join(at->op, was, before[DEV_MINE(l)]) : was;
    }
}

/* A compare and swap depends on the one before it: one lane after the other. */
DEV_NO_INLINE void dev_atomics_turns(const struct dev_atomics *at, uint32_t *old)
{
    for (uint32_t k = 0; k < DEV_WARP; k++) {
        DEV_ROLES(l)
        {
            uint32_t i = at->unit * DEV_WARP + l;
            if (l == k && (at->lanes >> l & 1))
                old[DEV_MINE(l)] =
                    dev_atomic_one(at->op, dev_atomics_word(at, l), at->b.word[i & at->b.each],
                                   at->c.word[i & at->c.each]);
        }
        dev_warp_sync();
    }
}

/* As if lane by lane, in their order. */
DEV_FN uint32_t dev_core_atomic(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_view *view = dev_core_view(core, in->imm, 4, 1);
    const uint32_t *mask = dev_core_mask(core, core->level);
    uint32_t *d = dev_vector(core, in->d);
    if (view == NULL) return dev_core_damaged(core);
    struct dev_atomics at;
    struct dev_lost lost = {0, 0, 0};
    at.index = dev_source(core, in->a);
    at.b = dev_source(core, in->b);
    at.c = dev_source(core, in->op == VM_OP_ATCAS ? in->c : in->b);
    at.base = view->element;
    at.op = in->op;
    dev_warp_sync(); /* lanes look at each other's words */
    for (uint32_t u = 0; u < core->units; u++) {
        uint32_t out[DEV_WARP_ROLES], in_bounds[DEV_WARP_ROLES], where[DEV_WARP_ROLES],
            old[DEV_WARP_ROLES];
        at.unit = u;
        DEV_ROLES(l)
        {
            where[DEV_MINE(l)] = dev_atomics_at(&at, l);
            out[DEV_MINE(l)] = where[DEV_MINE(l)] >= view->length;
            in_bounds[DEV_MINE(l)] = !out[DEV_MINE(l)];
            old[DEV_MINE(l)] = 0;
        }
        at.lanes = dev_warp_ballot(in_bounds) & mask[u];
        dev_lost_note(&lost, core, u, out, where);
        if (dev_unit_apart(at.index, u)) {
            DEV_ROLES(l)
            {
                uint32_t i = u * DEV_WARP + l;
                if (at.lanes >> l & 1)
                    old[DEV_MINE(l)] =
                        dev_atomic_one(at.op, dev_atomics_word(&at, l), at.b.word[i & at.b.each],
                                       at.c.word[i & at.c.each]);
            }
        } else if (in->op == VM_OP_ATCAS) {
            dev_atomics_turns(&at, old);
        } else {
            dev_atomics_meet(&at, old);
        }
        dev_warp_sync(); /* the index may be the register of the result */
        DEV_ROLES(l)
        {
            if (mask[u] >> l & 1) d[u * DEV_WARP + l] = at.lanes >> l & 1 ? old[DEV_MINE(l)] : 0;
        }
        dev_warp_sync();
    }
    return lost.count != 0 ? dev_core_outside(core, &lost) : 0;
}

/* One lane's copy, by all lanes of the warp: bytes past the end of the source are 0, what lies past
 * the end of the destination is left out. It pays a step for 64 bytes and ends early where the slot
 * was told to. */
DEV_FN uint32_t dev_core_copy_lane(struct dev_core *core, const struct vm_insn *in, uint64_t at,
                                   uint64_t bytes)
{
    const struct dev_frame *frame = core->frame;
    const struct dev_view *from = &frame->views[in->imm & 0xFFFFu];
    const struct dev_view *to = &frame->views[in->imm >> 16];
    uint64_t source = in->op == VM_OP_COPY ? at : 0;
    uint64_t target = in->op == VM_OP_COPY ? 0 : at;
    uint64_t room = target < to->bytes ? to->bytes - target : 0;
    if (bytes > room) bytes = room;
    /* Where the two overlap the order of bytes can be seen: then the first lane has them all. */
    const unsigned char *lowest = from->base + source;
    int apart = lowest >= to->base + target + bytes || to->base + target >= lowest + bytes;
    uint32_t stop = 0;
    for (uint64_t done = 0; done < bytes && stop == 0; done += DEV_STOP_INTERVAL) {
        uint64_t end = bytes - done < DEV_STOP_INTERVAL ? bytes : done + DEV_STOP_INTERVAL;
        if (done != 0) {
            DEV_FIRST stop = frame->entry != NULL ? dev_entry_stopped(frame->rt, frame->entry)
                                                  : (uint32_t)VYRE_FAULT_DAMAGED;
            stop = dev_warp_first(stop);
        }
        DEV_ROLES(l)
        {
            uint64_t step = apart ? DEV_WARP : 1;
            for (uint64_t k = done + l; stop == 0 && k < end && (apart || l == 0); k += step)
                to->base[target + k] = source + k < from->bytes ? from->base[source + k] : 0;
        }
    }
    dev_warp_sync();
    core->steps += bytes / 64;
    return stop;
}

/* Asynchronous copies, done when they are awaited, lane after lane. */
DEV_FN uint32_t dev_core_copy(struct dev_core *core, const struct vm_insn *in)
{
    const struct dev_source offset = dev_source(core, in->a), size = dev_source(core, in->b);
    const uint32_t *mask = dev_core_mask(core, core->level);
    const struct dev_frame *frame = core->frame;
    const uint32_t from = in->imm & 0xFFFFu, to = in->imm >> 16;
    if (from >= frame->header.buffer_count || to >= frame->header.buffer_count ||
        !(frame->views[to].access & DEV_VIEW_WRITE))
        return dev_core_damaged(core);
    dev_warp_sync();
    for (uint32_t i = 0; i < core->lanes; i++) {
        if (!(mask[i / DEV_WARP] >> i % DEV_WARP & 1)) continue;
        uint32_t stop =
            dev_core_copy_lane(core, in, offset.word[i & offset.each], size.word[i & size.each]);
        if (stop != 0) return dev_core_fault(core, stop, i, 0);
    }
    return 0;
}

#endif
