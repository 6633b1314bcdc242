/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads and stores of words, of programs that fit a warp's room: what nearly all memory accesses
 * are. The rules, and all other accesses, are those of warp_memory.h.
 */
#ifndef VYRE_DEVICE_WARP_NEAR_MEMORY_H
#define VYRE_DEVICE_WARP_NEAR_MEMORY_H

#include "device/warp_near.h"

/* A view, as the quick loop needs it. */
struct dev_seen {
    unsigned char *element;
    uint32_t length;
    uint32_t access;
};

DEV_FN struct dev_seen dev_quick_view(const struct dev_quick *q, uint32_t number)
{
    const uint32_t at = q->views + number * (uint32_t)sizeof(struct dev_view);
    struct dev_seen seen;
    uint64_t low = dev_near_get(q->room, at + (uint32_t)offsetof(struct dev_view, element));
    uint64_t high = dev_near_get(q->room, at + (uint32_t)offsetof(struct dev_view, element) + 4);
    seen.element = (unsigned char *)(uintptr_t)(high << 32 | low);
    seen.length = dev_near_get(q->room, at + (uint32_t)offsetof(struct dev_view, length));
    seen.access = dev_near_get(q->room, at + (uint32_t)offsetof(struct dev_view, access));
    return seen;
}

/* Whether the view's elements are words, as the program says. */
DEV_FN int dev_seen_words(const struct dev_seen *view)
{
    return view->length == 0 || (view->access & ~DEV_VIEW_WRITE) == 4;
}

/* Rows: quads whose four elements lie side by side within the view, at a multiple of 16 bytes. They
 * are moved with one access. */

/* Whether the quad of role l is one. */
DEV_INLINE int dev_quad_row(const struct dev_seen *view, const struct dev_pass *index, uint32_t l)
{
    const uint32_t first = index->word[0][DEV_MINE(l)];
    const uintptr_t place = (uintptr_t)view->element + (uint64_t)first * 4;
    (void)l;
    return index->word[1][DEV_MINE(l)] - first == 1 && index->word[2][DEV_MINE(l)] - first == 2 &&
           index->word[3][DEV_MINE(l)] - first == 3 && first < view->length &&
           view->length - first >= 4 && place % 16 == 0;
}

/* Whether a quad has lanes of the workgroup. */
DEV_INLINE int dev_quad_used(const struct dev_quick *q, const struct dev_quads *quads, uint32_t l)
{
    (void)l;
    return quads->at[DEV_MINE(l)] < q->lanes * 4;
}

DEV_INLINE struct dev_four dev_row_get(const struct dev_seen *view, uint32_t first)
{
    const unsigned char *from = view->element + (uint64_t)first * 4;
    struct dev_four four;
#if defined(__CUDACC__)
    const uint4 words = *(const uint4 *)(const void *)from;
    four.word[0] = words.x;
    four.word[1] = words.y;
    four.word[2] = words.z;
    four.word[3] = words.w;
#else
    memcpy(&four, from, sizeof four);
#endif
    return four;
}

DEV_INLINE void dev_row_set(const struct dev_seen *view, uint32_t first, struct dev_four four)
{
    unsigned char *to = view->element + (uint64_t)first * 4;
#if defined(__CUDACC__)
    *(uint4 *)(void *)to = make_uint4(four.word[0], four.word[1], four.word[2], four.word[3]);
#else
    memcpy(to, &four, sizeof four);
#endif
}

/* What accesses in any order go by: few words, which come in registers. */
struct dev_any {
    unsigned char *element;
    uint32_t length;
    dev_near room;
    uint32_t masks; /* of this level */
    uint32_t units, lanes;
    uint32_t op;
    uint32_t index, other, each; /* operands: the index; the result, or what is stored */
    uint32_t masked;
};

DEV_INLINE struct dev_any dev_any_of(const struct dev_quick *q, const struct dev_op *op,
                                     const struct dev_seen *view, uint32_t other)
{
    struct dev_any any;
    any.element = view->element;
    any.length = view->length;
    any.room = q->room;
    any.masks = q->masks + q->level * q->units * 4;
    any.units = q->units;
    any.lanes = q->lanes;
    any.op = op->op & 0xFFu;
    any.index = op->a & ~DEV_EACH;
    any.other = other & ~DEV_EACH;
    any.each = 0u - (other >> 31);
    any.masked = (op->op >> 16 & VM_MASKED) != 0 && q->active != q->lanes;
    return any;
}

/* Notes the active lanes of a unit that are out of bounds; mostly there are none. */
DEV_INLINE void dev_any_lost(const struct dev_any *any, struct dev_lost *lost, uint32_t unit,
                             const uint32_t *out, const uint32_t *index)
{
    uint32_t word = dev_warp_ballot(out);
    if (word != 0)
        dev_lost_add(lost, unit, word & dev_near_get(any->room, any->masks + unit * 4), index);
}

#define DEV_ANY_UNITS (2u * DEV_PASS)

/* Loads in any order, of two passes: unit by unit, all of them begun before one is waited for. */
DEV_NO_INLINE struct dev_lost dev_loads_any(const struct dev_any any, uint32_t first,
                                            struct dev_lost lost)
{
    const uint32_t flush = any.op == VM_OP_LDF32;
    const uint32_t units = any.units - first < DEV_ANY_UNITS ? any.units - first : DEV_ANY_UNITS;
    uint32_t at[DEV_ANY_UNITS][DEV_WARP_ROLES], result[DEV_ANY_UNITS][DEV_WARP_ROLES],
        out[DEV_ANY_UNITS][DEV_WARP_ROLES];
    dev_warp_sync(); /* what the lanes have written by quads */
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_ANY_UNITS; k++) {
        DEV_ROLES(l)
        {
            /* Past the last unit: the first once more, which nobody takes. */
            const uint32_t unit = first + (k < units ? k : 0);
            at[k][DEV_MINE(l)] = dev_near_get(any.room, any.index + (unit * DEV_WARP + l) * 4);
        }
    }
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_ANY_UNITS; k++) {
        DEV_ROLES(l)
        {
            const uint32_t i = (first + k) * DEV_WARP + l, where = at[k][DEV_MINE(l)];
            const int inside = i < any.lanes && where < any.length;
            out[k][DEV_MINE(l)] = !inside;
            result[k][DEV_MINE(l)] = inside ? dev_get(any.element + (uint64_t)where * 4, 4) : 0;
        }
    }
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_ANY_UNITS; k++) {
        if (k >= units) continue;
        const uint32_t takers =
            any.masked ? dev_near_get(any.room, any.masks + (first + k) * 4) : 0xFFFFFFFFu;
        dev_any_lost(&any, &lost, first + k, out[k], at[k]);
        DEV_ROLES(l)
        {
            const uint32_t word = result[k][DEV_MINE(l)];
            if (takers >> l & 1)
                dev_near_set(any.room, any.other + ((first + k) * DEV_WARP + l) * 4,
                             flush ? vm_flush_now(word) : word);
        }
    }
    dev_warp_sync();
    return lost;
}

/* The loads of one pass, begun: others can be begun before anybody waits for them. */
struct dev_loads {
    struct dev_quads quads;
    struct dev_pass result;
    uint32_t other[DEV_WARP_ROLES]; /* than a row */
};

DEV_INLINE void dev_loads_begin(const struct dev_quick *q, const struct dev_op *op,
                                const struct dev_seen *view, struct dev_loads *loads)
{
    struct dev_pass index;
    dev_quads_get(q, &loads->quads, op->a, &index);
    DEV_ROLES(l)
    {
        const int row = dev_quad_row(view, &index, l);
        struct dev_four four = {{0, 0, 0, 0}};
        loads->other[DEV_MINE(l)] = dev_quad_used(q, &loads->quads, l) && !row;
        if (row) four = dev_row_get(view, index.word[0][DEV_MINE(l)]);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            loads->result.word[k][DEV_MINE(l)] = four.word[k];
    }
}

DEV_INLINE void dev_loads_end(const struct dev_quick *q, const struct dev_op *op,
                              struct dev_loads *loads)
{
    const uint32_t flush = (op->op & 0xFFu) == VM_OP_LDF32;
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        DEV_ROLES(l)
        {
            const uint32_t word = loads->result.word[k][DEV_MINE(l)];
            loads->result.word[k][DEV_MINE(l)] = flush ? vm_flush_now(word) : word;
        }
    }
    dev_quads_set(q, &loads->quads, op, &loads->result);
}

/* A word of a buffer for each lane, two passes at a time. */
DEV_INLINE uint32_t dev_quick_load(const struct dev_quick *q, const struct dev_op *op,
                                   struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    struct dev_loads one, two;
    if (!dev_seen_words(&view)) return DEV_QUICK_DAMAGED;
    dev_quads_first(q, &one.quads);
    for (uint32_t first = 0;;) {
        const int both = first + DEV_PASS < q->units;
        dev_loads_begin(q, op, &view, &one);
        two.quads = one.quads;
        dev_quads_next(&two.quads);
        if (both) {
            dev_loads_begin(q, op, &view, &two);
            DEV_ROLES(l)
            {
                one.other[DEV_MINE(l)] |= two.other[DEV_MINE(l)];
            }
        }
        if (dev_warp_ballot(one.other) != 0) {
            *lost = dev_loads_any(dev_any_of(q, op, &view, op->d), first, *lost);
        } else {
            dev_loads_end(q, op, &one);
            if (both) dev_loads_end(q, op, &two);
        }
        first += DEV_ANY_UNITS;
        if (first >= q->units) break;
        one.quads = two.quads;
        dev_quads_next(&one.quads);
    }
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

/* One word of a buffer for all. */
DEV_INLINE uint32_t dev_quick_load_one(const struct dev_quick *q, const struct dev_op *op,
                                       struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    const uint32_t at = dev_near_get(q->room, op->a);
    uint32_t word = 0;
    if (!dev_seen_words(&view)) return DEV_QUICK_DAMAGED;
    if (at < view.length) {
        word = dev_get(view.element + (uint64_t)at * 4, 4);
    } else if (q->active != 0) {
        lost->count = q->active;
        lost->lane = DEV_NONE; /* the first active one: dev_quick_tell knows it */
        lost->index = at;
    }
    if ((op->op & 0xFFu) == VM_OP_LDF32) word = vm_flush_now(word);
    dev_quick_scalar_put(q, op->d, word);
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

/* The stores of one pass where lanes are out of bounds, may meet at an element, or lie in any
 * order: unit by unit. */
DEV_NO_INLINE struct dev_lost dev_stores_any(const struct dev_any any, uint32_t first,
                                             struct dev_lost lost)
{
    const uint32_t canonical = any.op == VM_OP_STF32;
    const uint32_t units = any.units - first < DEV_PASS ? any.units - first : DEV_PASS;
    dev_warp_sync(); /* what the lanes have written by quads */
    for (uint32_t unit = first; unit < first + units; unit++) {
        uint32_t at[DEV_WARP_ROLES], value[DEV_WARP_ROLES], out[DEV_WARP_ROLES],
            back[DEV_WARP_ROLES], takers = dev_near_get(any.room, any.masks + unit * 4);
        DEV_ROLES(l)
        {
            const uint32_t place = (unit * DEV_WARP + l) * 4;
            const uint32_t word = dev_near_get(any.room, any.other + (place & any.each));
            at[DEV_MINE(l)] = dev_near_get(any.room, any.index + place);
            value[DEV_MINE(l)] = canonical ? vm_canon(word) : word;
            out[DEV_MINE(l)] = at[DEV_MINE(l)] >= any.length;
        }
        DEV_ROLES(l)
        {
            /* Lanes that count up do not meet. */
            const uint32_t before = dev_warp_word32(at, l != 0 ? l - 1 : 0);
            back[DEV_MINE(l)] = l != 0 && at[DEV_MINE(l)] <= before;
        }
        dev_any_lost(&any, &lost, unit, out, at);
        if (dev_warp_ballot(back) != 0) takers = dev_words_last(at, takers);
        DEV_ROLES(l)
        {
            if ((takers >> l & 1) && !out[DEV_MINE(l)])
                dev_set(any.element + (uint64_t)at[DEV_MINE(l)] * 4, value[DEV_MINE(l)], 4);
        }
        dev_warp_sync(); /* lanes of two units may meet: in their order */
    }
    return lost;
}

/* Each lane's word to a buffer. */
DEV_INLINE uint32_t dev_quick_store(const struct dev_quick *q, const struct dev_op *op,
                                    struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    const uint32_t canonical = (op->op & 0xFFu) == VM_OP_STF32;
    struct dev_quads quads;
    if (!(view.access & DEV_VIEW_WRITE) || !dev_seen_words(&view)) return DEV_QUICK_DAMAGED;
    dev_quads_first(q, &quads);
    dev_warp_sync(); /* others may have loaded what is stored over */
    for (uint32_t first = 0;;) {
        struct dev_pass index, value;
        uint32_t other[DEV_WARP_ROLES];
        dev_quads_get(q, &quads, op->a, &index);
        dev_quads_get(q, &quads, op->b, &value);
        DEV_ROLES(l)
        {
            /* Rows that count up do not meet. */
            const uint32_t before = dev_warp_word32(index.word[0], l != 0 ? l - 1 : 0);
            other[DEV_MINE(l)] =
                dev_quad_used(q, &quads, l) && (!dev_quad_row(&view, &index, l) ||
                                                (l != 0 && index.word[0][DEV_MINE(l)] <= before) ||
                                                dev_quad_takers(q, quads.at[DEV_MINE(l)]) != 15u);
        }
        if (dev_warp_ballot(other) == 0) {
            DEV_ROLES(l)
            {
                struct dev_four four;
                DEV_UNROLL
                for (uint32_t k = 0; k < DEV_PASS; k++) {
                    const uint32_t word = value.word[k][DEV_MINE(l)];
                    four.word[k] = canonical ? vm_canon(word) : word;
                }
                if (dev_quad_used(q, &quads, l))
                    dev_row_set(&view, index.word[0][DEV_MINE(l)], four);
            }
            dev_warp_sync(); /* lanes of two passes may meet: in their order */
        } else {
            *lost = dev_stores_any(dev_any_of(q, op, &view, op->b), first, *lost);
        }
        first += DEV_PASS;
        if (first >= q->units) break;
        dev_quads_next(&quads);
    }
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

#endif
