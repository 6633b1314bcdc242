/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads and stores of words, of programs that fit a warp's room: what nearly all memory accesses
 * are. The rules, and all other accesses, are those of warp_memory.h.
 */
#ifndef VYRE_DEVICE_WARP_NEAR_MEMORY_H
#define VYRE_DEVICE_WARP_NEAR_MEMORY_H

#include "device/warp_words.h"

/* A view, as the quick loop needs it. */
struct dev_seen {
    unsigned char *element;
    uint32_t length;
    uint32_t access;
    uint32_t far_away; /* not in the room: in memory that goes through the cache */
};

DEV_FN struct dev_seen dev_quick_view(const struct dev_quick *q, uint32_t number)
{
    const uint32_t at = q->views + number * (uint32_t)sizeof(struct dev_view);
    struct dev_seen seen;
    seen.element = (unsigned char *)(uintptr_t)dev_near_get64(
        q->span.room, at + (uint32_t)offsetof(struct dev_view, element));
    const uint64_t both =
        dev_near_get64(q->span.room, at + (uint32_t)offsetof(struct dev_view, length));
    seen.length = (uint32_t)both;
    seen.access = (uint32_t)(both >> 32);
#if defined(__CUDACC__)
    seen.far_away = !__isShared(seen.element);
#else
    seen.far_away = 0;
#endif
    return seen;
}

static_assert(offsetof(struct dev_view, access) == offsetof(struct dev_view, length) + 4 &&
                  offsetof(struct dev_view, length) % 8 == 0,
              "one load for both");

/* Whether the view's elements are words, as the program says. */
DEV_FN int dev_seen_words(const struct dev_seen *view)
{
    return (view->length == 0) | ((view->access & ~DEV_VIEW_WRITE) == 4);
}

/* Rows: quads whose four elements lie side by side within the view, at a multiple of 16 bytes. They
 * are moved with one access. */

/* Whether the quad of role l is one. All conditions in one word: a branch for each would cost more
 * than all of them. */
DEV_INLINE uint32_t dev_quad_row(const struct dev_seen *view, const struct dev_pass *index,
                                 uint32_t l)
{
    const uint32_t first = index->word[0][DEV_MINE(l)];
    const uint32_t place = (uint32_t)(uintptr_t)view->element + first * 4;
    const uint32_t apart = ((index->word[1][DEV_MINE(l)] - first) ^ 1u) |
                           ((index->word[2][DEV_MINE(l)] - first) ^ 2u) |
                           ((index->word[3][DEV_MINE(l)] - first) ^ 3u);
    const uint32_t last = view->length >= 4 ? view->length - 4 : 0;
    (void)l;
    return (uint32_t)((apart | (place & 15u)) == 0) & (uint32_t)(first <= last) &
           (uint32_t)(view->length >= 4);
}

/* Whether a quad has lanes of the workgroup. */
DEV_INLINE uint32_t dev_quad_used(const struct dev_quick *q, uint32_t place, uint32_t l)
{
    (void)l;
    return DEV_PLACE(place, l) < q->lanes * 4;
}

DEV_INLINE struct dev_four dev_row_get(const struct dev_seen *view, uint32_t first)
{
    const unsigned char *from = view->element + (uint64_t)first * 4;
    struct dev_four four;
#if defined(__CUDACC__)
    /* Rooms leave the first cache little: rows that nobody reads again soon would choke it. */
    asm volatile("{ .reg .pred p;\n\t"
                 "setp.ne.u32 p, %5, 0;\n\t"
                 "@p ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];\n\t"
                 "@!p ld.v4.u32 {%0, %1, %2, %3}, [%4]; }"
                 : "=r"(four.word[0]), "=r"(four.word[1]), "=r"(four.word[2]), "=r"(four.word[3])
                 : "l"(from), "r"(view->far_away)
                 : "memory");
#else
    memcpy(&four, from, sizeof four);
#endif
    return four;
}

DEV_INLINE void dev_row_set(const struct dev_seen *view, uint32_t first, struct dev_four four)
{
    unsigned char *to = view->element + (uint64_t)first * 4;
#if defined(__CUDACC__)
    asm volatile("{ .reg .pred p;\n\t"
                 "setp.ne.u32 p, %5, 0;\n\t"
                 "@p st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};\n\t"
                 "@!p st.v4.u32 [%0], {%1, %2, %3, %4}; }"
                 :
                 : "l"(to), "r"(four.word[0]), "r"(four.word[1]), "r"(four.word[2]),
                   "r"(four.word[3]), "r"(view->far_away)
                 : "memory");
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
    any.room = q->span.room;
    any.masks = q->span.masks;
    any.units = q->units;
    any.lanes = q->lanes;
    any.op = op->op & 0xFFu;
    any.index = op->a & ~DEV_EACH;
    any.other = other & ~DEV_EACH;
    any.each = 0u - (other >> 31);
    any.masked = (uint32_t)dev_quick_masked(q, op);
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
    uint32_t place;
    struct dev_pass result;
    uint32_t other[DEV_WARP_ROLES]; /* than a row */
};

DEV_INLINE void dev_loads_begin(const struct dev_quick *q, const struct dev_op *op,
                                const struct dev_seen *view, struct dev_loads *loads)
{
    struct dev_pass index;
    dev_quads_get(&q->span, loads->place, op->a, 0, &index);
    DEV_ROLES(l)
    {
        const uint32_t row = dev_quad_row(view, &index, l);
        struct dev_four four = {{0, 0, 0, 0}};
        loads->other[DEV_MINE(l)] = dev_quad_used(q, loads->place, l) & (row ^ 1u);
        if (row) four = dev_row_get(view, index.word[0][DEV_MINE(l)]);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            loads->result.word[k][DEV_MINE(l)] = four.word[k];
    }
}

DEV_INLINE void dev_loads_end(const struct dev_quick *q, const struct dev_op *op,
                              enum dev_quads_how how, struct dev_loads *loads)
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
    dev_quads_set(&q->span, loads->place, op->d, how, &loads->result);
}

/* The loads of an instruction for one pass or two, whose number the compiler knows. */
struct dev_loads_pair {
    struct dev_loads pass[2];
};

DEV_INLINE void dev_pair_begin(const struct dev_quick *q, const struct dev_op *op,
                               const struct dev_seen *view, uint32_t first, uint32_t passes,
                               struct dev_loads_pair *pair)
{
    for (uint32_t p = 0; p < passes; p++) {
        pair->pass[p].place = q->place + first * DEV_WARP * 4 + p * DEV_PASS_BYTES;
        dev_loads_begin(q, op, view, &pair->pass[p]);
    }
    for (uint32_t p = 1; p < passes; p++) {
        DEV_ROLES(l)
        {
            pair->pass[0].other[DEV_MINE(l)] |= pair->pass[p].other[DEV_MINE(l)];
        }
    }
}

DEV_INLINE void dev_pair_end(const struct dev_quick *q, const struct dev_op *op, uint32_t passes,
                             struct dev_loads_pair *pair)
{
    if (dev_quick_masked(q, op)) {
        for (uint32_t p = 0; p < passes; p++)
            dev_loads_end(q, op, DEV_QUADS_MASKED, &pair->pass[p]);
    } else {
        for (uint32_t p = 0; p < passes; p++)
            dev_loads_end(q, op, DEV_QUADS_PART, &pair->pass[p]);
    }
}

/* A word of a buffer for each lane, two passes at a time. */
DEV_INLINE uint32_t dev_quick_load(const struct dev_quick *q, const struct dev_op *op,
                                   struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    if (!dev_seen_words(&view)) return DEV_QUICK_DAMAGED;
    for (uint32_t first = 0; first < q->units; first += DEV_ANY_UNITS) {
        struct dev_loads_pair pair;
        dev_pair_begin(q, op, &view, first, 2, &pair);
        if (dev_warp_ballot(pair.pass[0].other) != 0)
            *lost = dev_loads_any(dev_any_of(q, op, &view, op->d), first, *lost);
        else
            dev_pair_end(q, op, 2, &pair);
    }
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

/* Whether two loads one after the other can be under way together: the second does not need the
 * first one's result. */
DEV_INLINE int dev_quick_pair(const struct dev_quick *q, const struct dev_op *op,
                              const struct dev_op *next)
{
    return (dev_op_class(next) == DEV_CLASS_LOAD) & (next->a != op->d) &
           (q->units <= DEV_ANY_UNITS);
}

/* Both at once, if all they do is move rows. 0: not so, and nothing has happened. */
DEV_INLINE int dev_quick_load_both(const struct dev_quick *q, const struct dev_op *op,
                                   const struct dev_op *next, uint32_t passes)
{
    struct dev_seen here = dev_quick_view(q, op->imm), there = dev_quick_view(q, next->imm);
    struct dev_loads_pair pair, after;
    /* Elements that are no words: none of them is in a row, before any is read. */
    if (!dev_seen_words(&here)) here.length = 0;
    if (!dev_seen_words(&there)) there.length = 0;
    dev_pair_begin(q, op, &here, 0, passes, &pair);
    dev_pair_begin(q, next, &there, 0, passes, &after);
    DEV_ROLES(l)
    {
        pair.pass[0].other[DEV_MINE(l)] |= after.pass[0].other[DEV_MINE(l)];
    }
    if (dev_warp_ballot(pair.pass[0].other) != 0) return 0;
    dev_pair_end(q, op, passes, &pair);
    dev_pair_end(q, next, passes, &after);
    return 1;
}

/* One word of a buffer for all. */
DEV_INLINE uint32_t dev_quick_load_one(const struct dev_quick *q, const struct dev_op *op,
                                       struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    const uint32_t at = dev_near_get(q->span.room, op->a);
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
    dev_near_scalar_put(q->span.room, op->d, word);
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

/* The stores of one pass. */
struct dev_rows_out {
    uint32_t place;
    struct dev_pass index, value;
    uint32_t other[DEV_WARP_ROLES]; /* than rows that count up, all of whose lanes are active */
};

/* `last` is the index of the pass before, for the first quad; NULL: there is none. */
DEV_INLINE void dev_rows_begin(const struct dev_quick *q, const struct dev_op *op,
                               const struct dev_seen *view, const struct dev_pass *last,
                               struct dev_rows_out *rows)
{
    dev_quads_get(&q->span, rows->place, op->a, 0, &rows->index);
    dev_quads_get(&q->span, rows->place, op->b, 0, &rows->value);
    DEV_ROLES(l)
    {
        /* Rows that count up do not meet. */
        const uint32_t before = dev_warp_word32(rows->index.word[0], l != 0 ? l - 1 : 0);
        const uint32_t above = last != NULL ? dev_warp_word32(last->word[0], DEV_WARP - 1) : 0;
        const uint32_t first = rows->index.word[0][DEV_MINE(l)];
        const uint32_t up = l != 0 ? first > before : last == NULL || first > above;
        const uint32_t all = dev_quad_takers(&q->span, DEV_PLACE(rows->place, l)) == 15u;
        rows->other[DEV_MINE(l)] = dev_quad_used(q, rows->place, l) &
                                   ((up & all & dev_quad_row(view, &rows->index, l)) ^ 1u);
    }
}

DEV_INLINE void dev_rows_end(const struct dev_quick *q, const struct dev_op *op,
                             const struct dev_seen *view, const struct dev_rows_out *rows)
{
    const uint32_t canonical = (op->op & 0xFFu) == VM_OP_STF32;
    DEV_ROLES(l)
    {
        struct dev_four four;
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++) {
            const uint32_t word = rows->value.word[k][DEV_MINE(l)];
            four.word[k] = canonical ? vm_canon(word) : word;
        }
        if (dev_quad_used(q, rows->place, l))
            dev_row_set(view, rows->index.word[0][DEV_MINE(l)], four);
    }
}

/* The stores of one pass or two, whose number the compiler knows, from unit `first` on. Rows that
 * count up through both do not meet, so they need no order. */
DEV_INLINE void dev_quick_rows(const struct dev_quick *q, const struct dev_op *op,
                               const struct dev_seen *view, uint32_t first, uint32_t passes,
                               struct dev_lost *lost)
{
    struct dev_rows_out rows[2];
    for (uint32_t p = 0; p < passes; p++) {
        rows[p].place = q->place + first * DEV_WARP * 4 + p * DEV_PASS_BYTES;
        dev_rows_begin(q, op, view, p != 0 ? &rows[p - 1].index : NULL, &rows[p]);
    }
    for (uint32_t p = 1; p < passes; p++) {
        DEV_ROLES(l)
        {
            rows[0].other[DEV_MINE(l)] |= rows[p].other[DEV_MINE(l)];
        }
    }
    if (dev_warp_ballot(rows[0].other) == 0) {
        for (uint32_t p = 0; p < passes; p++)
            dev_rows_end(q, op, view, &rows[p]);
        dev_warp_sync(); /* lanes of later passes may meet these: in their order */
    } else {
        for (uint32_t p = 0; p < passes; p++)
            *lost = dev_stores_any(dev_any_of(q, op, view, op->b), first + p * DEV_PASS, *lost);
    }
}

/* Each lane's word to a buffer, two passes at a time. */
DEV_INLINE uint32_t dev_quick_store(const struct dev_quick *q, const struct dev_op *op,
                                    struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    if (!(view.access & DEV_VIEW_WRITE) || !dev_seen_words(&view)) return DEV_QUICK_DAMAGED;
    dev_warp_sync(); /* others may have loaded what is stored over */
    uint32_t first = 0;
    for (; first + DEV_PASS < q->units; first += 2 * DEV_PASS)
        dev_quick_rows(q, op, &view, first, 2, lost);
    if (first < q->units) dev_quick_rows(q, op, &view, first, 1, lost);
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

#endif
