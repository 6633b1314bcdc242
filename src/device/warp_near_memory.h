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

/* Notes the active lanes of a unit that are out of bounds; mostly there are none. */
DEV_FN void dev_quick_lost(const struct dev_quick *q, struct dev_lost *lost, uint32_t unit,
                           const uint32_t *out, const uint32_t *index)
{
    uint32_t word = dev_warp_ballot(out);
    if (word != 0) dev_lost_add(lost, unit, word & dev_quick_mask(q, unit), index);
}

/* Loads of one pass: begun, so that others can be begun before anybody waits for them. */
struct dev_loads {
    struct dev_places places;
    struct dev_pass at, result, out;
};

/* Returns whether a lane is out of bounds, or past the last one. */
DEV_INLINE void dev_loads_begin(const struct dev_quick *q, const struct dev_op *op,
                                const struct dev_seen *view, struct dev_loads *loads,
                                uint32_t *outside)
{
    dev_places_get(q, &loads->places, op->a, &loads->at);
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        DEV_ROLES(l)
        {
            const uint32_t where = loads->at.word[k][DEV_MINE(l)];
            const int inside =
                loads->places.at[k][DEV_MINE(l)] < q->lanes * 4 && where < view->length;
            loads->out.word[k][DEV_MINE(l)] = !inside;
            outside[DEV_MINE(l)] |= !inside;
            loads->result.word[k][DEV_MINE(l)] =
                inside ? dev_get(view->element + (uint64_t)where * 4, 4) : 0;
        }
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
    dev_places_set(q, &loads->places, op, &loads->result);
}

DEV_INLINE void dev_loads_lost(const struct dev_quick *q, const struct dev_loads *loads,
                               uint32_t first, struct dev_lost *lost)
{
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++)
        if (first + k < q->units)
            dev_quick_lost(q, lost, first + k, loads->out.word[k], loads->at.word[k]);
}

/* A word of a buffer for each lane. */
DEV_INLINE uint32_t dev_quick_load(const struct dev_quick *q, const struct dev_op *op,
                                   struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    struct dev_loads one, two;
    if (view.length != 0 && (view.access & ~DEV_VIEW_WRITE) != 4) return DEV_QUICK_DAMAGED;
    dev_places_first(q, &one.places);
    for (uint32_t first = 0;;) {
        uint32_t outside[DEV_WARP_ROLES];
        const int both = first + DEV_PASS < q->units;
        DEV_ROLES(l)
        {
            outside[DEV_MINE(l)] = 0;
        }
        dev_loads_begin(q, op, &view, &one, outside);
        if (both) {
            two.places = one.places;
            dev_places_next(q, &two.places);
            dev_loads_begin(q, op, &view, &two, outside);
        }
        dev_loads_end(q, op, &one);
        if (both) dev_loads_end(q, op, &two);
        if (dev_warp_ballot(outside) != 0) {
            dev_loads_lost(q, &one, first, lost);
            if (both) dev_loads_lost(q, &two, first + DEV_PASS, lost);
        }
        first += 2 * DEV_PASS;
        if (first >= q->units) break;
        one.places = two.places;
        dev_places_next(q, &one.places);
    }
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

/* Stores of a pass in which lanes are out of bounds, or may meet at an element. */
DEV_FN void dev_stores_slow(const struct dev_quick *q, const struct dev_seen *view,
                            const struct dev_pass *at, const struct dev_pass *value, uint32_t first,
                            struct dev_lost *lost)
{
    DEV_UNROLL
    for (uint32_t k = 0; k < DEV_PASS; k++) {
        if (first + k >= q->units) continue;
        uint32_t out[DEV_WARP_ROLES], takers = dev_quick_mask(q, first + k);
        DEV_ROLES(l)
        {
            out[DEV_MINE(l)] = at->word[k][DEV_MINE(l)] >= view->length;
        }
        dev_quick_lost(q, lost, first + k, out, at->word[k]);
        takers = dev_words_last(at->word[k], takers);
        DEV_ROLES(l)
        {
            if ((takers >> l & 1) && !out[DEV_MINE(l)])
                dev_set(view->element + (uint64_t)at->word[k][DEV_MINE(l)] * 4,
                        value->word[k][DEV_MINE(l)], 4);
        }
        dev_warp_sync();
    }
}

/* Each lane's word to a buffer. */
DEV_INLINE uint32_t dev_quick_store(const struct dev_quick *q, const struct dev_op *op,
                                    struct dev_lost *lost)
{
    const struct dev_seen view = dev_quick_view(q, op->imm);
    const uint32_t canonical = (op->op & 0xFFu) == VM_OP_STF32;
    struct dev_places places;
    if (!(view.access & DEV_VIEW_WRITE) ||
        (view.length != 0 && (view.access & ~DEV_VIEW_WRITE) != 4))
        return DEV_QUICK_DAMAGED;
    dev_places_first(q, &places);
    for (uint32_t first = 0;;) {
        struct dev_pass at, value;
        uint32_t takers[DEV_PASS], trouble[DEV_WARP_ROLES];
        dev_places_get(q, &places, op->a, &at);
        dev_places_get(q, &places, op->b, &value);
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++)
            takers[k] = first + k < q->units ? dev_quick_mask(q, first + k) : 0;
        DEV_ROLES(l)
        {
            trouble[DEV_MINE(l)] = 0;
        }
        DEV_UNROLL
        for (uint32_t k = 0; k < DEV_PASS; k++) {
            DEV_ROLES(l)
            {
                /* Lanes that count up do not meet. */
                const uint32_t where = at.word[k][DEV_MINE(l)];
                const uint32_t before = dev_warp_word32(at.word[k], l != 0 ? l - 1 : 0);
                const uint32_t word = value.word[k][DEV_MINE(l)];
                value.word[k][DEV_MINE(l)] = canonical ? vm_canon(word) : word;
                trouble[DEV_MINE(l)] |=
                    takers[k] != 0 && (where >= view.length || (l != 0 && where <= before));
            }
        }
        if (dev_warp_ballot(trouble) == 0) {
            DEV_UNROLL
            for (uint32_t k = 0; k < DEV_PASS; k++) {
                DEV_ROLES(l)
                {
                    if (takers[k] >> l & 1)
                        dev_set(view.element + (uint64_t)at.word[k][DEV_MINE(l)] * 4,
                                value.word[k][DEV_MINE(l)], 4);
                }
                dev_warp_sync(); /* lanes of two units may meet: in their order */
            }
        } else {
            dev_stores_slow(q, &view, &at, &value, first, lost);
        }
        first += DEV_PASS;
        if (first >= q->units) break;
        dev_places_next(q, &places);
    }
    dev_warp_sync();
    return lost->count != 0 ? DEV_QUICK_LOST : DEV_QUICK_GO;
}

#endif
