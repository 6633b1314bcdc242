/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Running one slot from a look: a plain one, alone in its queue, is run by the poller itself, from
 * the words of that very load if its seal fits.
 */
#ifndef VYRE_DEVICE_LOOK_RUN_H
#define VYRE_DEVICE_LOOK_RUN_H

#include "device/look_program.h"
#include "device/post.h"

DEV_TABLE uint64_t dev_seal_keys[VYRE_SLOT_WORDS] = {
    VYRE_SEAL_KEY_0,  VYRE_SEAL_KEY_1,  VYRE_SEAL_KEY_2,  VYRE_SEAL_KEY_3,
    VYRE_SEAL_KEY_4,  VYRE_SEAL_KEY_5,  VYRE_SEAL_KEY_6,  VYRE_SEAL_KEY_7,
    VYRE_SEAL_KEY_8,  VYRE_SEAL_KEY_9,  VYRE_SEAL_KEY_10, VYRE_SEAL_KEY_11,
    VYRE_SEAL_KEY_12, VYRE_SEAL_KEY_13, VYRE_SEAL_KEY_14, VYRE_SEAL_KEY_15,
};

/* Whether the words of the look are the slot at the favourite's head, whole. */
DEV_FN int dev_look_fits(struct dev_glance *glance)
{
    uint32_t lap = (uint32_t)(glance->fav.head >> glance->fav.log2_slots) + 1;
    uint64_t part[DEV_WARP_ROLES];
    DEV_ROLES(i)
    {
        uint64_t low = (uint32_t)glance->seen[DEV_MINE(i)];
        uint64_t high = glance->seen[DEV_MINE(i)] >> 32;
        if (i == VYRE_SLOT_TENANT / 2) low = lap;
        part[DEV_MINE(i)] =
            glance->key[2 * DEV_MINE(i)] * low + glance->key[2 * DEV_MINE(i) + 1] * high;
    }
    uint64_t sum = VYRE_SEAL_KEY_SUM + dev_warp_first64(dev_warp_sum8(part));
    return vyre_seal_of(sum) == (uint32_t)dev_warp_word(glance->seen, VYRE_SLOT_TENANT / 2);
}

/* The words of an unsealed slot, read again after an acquire. */
DEV_FN void dev_look_again(struct dev_glance *glance)
{
    const struct dev_favourite *fav = &glance->fav;
    const dev_word64 *slot = fav->submission + ((uint32_t)fav->head & (fav->slots - 1)) * 8;
    dev_fence_both(DEV_SYSTEM); /* A1 */
    dev_warp_sync();            /* for the lanes that did not load the bell */
    DEV_ROLES(i)
    {
        if (i < 8) glance->seen[DEV_MINE(i)] = dev_load64_relaxed(slot + i);
    }
}

/* Ends a NOP: the entry certifies itself, so one unordered store of 64 bytes is all. */
DEV_FN void dev_look_nop(struct dev_glance *glance, uint64_t index)
{
    const struct dev_favourite *fav = &glance->fav;
    uint64_t ticket = fav->head;
    uint32_t lap = dev_completion_lap_of(index, fav->log2_slots);
    uint64_t sum = VYRE_SEAL_KEY_SUM + VYRE_SEAL_KEY_0 * (uint32_t)ticket +
                   VYRE_SEAL_KEY_1 * (ticket >> 32) + VYRE_SEAL_KEY_2 * lap + VYRE_SEAL_KEY_6 * 1u +
                   VYRE_SEAL_KEY_7 * (uint32_t)VYRE_SLOT_DONE;
    uint32_t seal = vyre_seal_of(sum) | DEV_SEAL_BIT;
    dev_word64 *entry = fav->completion + ((uint32_t)index & (fav->slots - 1)) * 8;
    DEV_ROLES(i)
    {
        uint64_t word = i == 0 ? ticket : i == 1 ? (uint64_t)VYRE_SLOT_DONE : 0;
        if (i == VYRE_COMPLETION_LAP / 2) word = (uint64_t)seal << 32 | 1u;
        if (i < 8) dev_store64_relaxed(&entry[i], word);
    }
}

/* Runs the slot in the first row on the first lane. Not part of the poller's loop, whose registers
 * it would take. */
DEV_NO_INLINE void dev_look_row(struct dev_runtime *rt, struct dev_room *room, uint32_t number,
                                uint64_t ticket, uint64_t index)
{
    struct dev_queue *queue = &rt->queues[number];
    DEV_FIRST
    {
        dev_row_run(rt, queue, room->rows.row[0], ticket, 0);
        room->rows.row[0][VYRE_COMPLETION_LAP] = dev_completion_lap_of(index, queue->log2_slots);
    }
    dev_warp_sync();
    dev_rows_store(&room->rows, queue, index, 1);
}

/* Runs any other plain slot than a NOP. */
DEV_FN void dev_look_run(struct dev_runtime *rt, struct dev_room *room,
                         const struct dev_glance *glance, uint64_t index)
{
    DEV_ROLES(i)
    {
        if (i < 8) {
            room->rows.row[0][2 * i] = (uint32_t)glance->seen[DEV_MINE(i)];
            room->rows.row[0][2 * i + 1] = (uint32_t)(glance->seen[DEV_MINE(i)] >> 32);
        }
    }
    dev_warp_sync();
    dev_look_row(rt, room, glance->fav.queue, glance->fav.head, index);
}

/* The favourite's head moves on by n. */
DEV_FN void dev_favourite_advance(struct dev_runtime *rt, struct dev_poller *p,
                                  struct dev_glance *glance, uint32_t n)
{
    struct dev_favourite *fav = &glance->fav;
    uint32_t role = dev_favourite_role(glance);
    fav->head += n;
    DEV_FIRST
    {
        dev_store64_relaxed(&fav->record->head, fav->head);
        dev_store_relaxed(&rt->watch[fav->watch].head, (uint32_t)fav->head);
        if (glance->still) dev_store_relaxed(fav->copied, (uint32_t)fav->head);
    }
    if (!glance->still) p->lagging = 1;
    DEV_ROLES(i)
    {
        if (i == role) {
            glance->head[DEV_MINE(i)] = fav->head;
            glance->index[DEV_MINE(i)] = fav->index;
        }
    }
}

/* Runs the one plain slot that the favourite has published, from the look, or hands it to the
 * aides. 0: not so. `system`: queue 0 has news, which may be of what a program names. */
DEV_FN int dev_look_one(struct dev_poller *p, struct dev_runtime *rt, struct dev_room *room,
                        struct dev_desk *desk, struct dev_glance *glance, uint32_t system)
{
    struct dev_favourite *fav = &glance->fav;
    uint64_t bell = dev_warp_word(glance->seen, DEV_ROLE_FAVOURITE);
    uint32_t head = (uint32_t)fav->head;
    if (!fav->usable || (uint32_t)bell - head != 1) return 0;
    if ((uint32_t)(bell >> 32) - head - 1u < fav->slots) return 0;
    const uint32_t busy = dev_desk_busy(desk, glance);
    if (!fav->sealed)
        dev_look_again(glance);
    else if (!dev_look_fits(glance))
        return 0;
    uint64_t first = dev_warp_word(glance->seen, 0);
    uint32_t opcode = (uint32_t)(first >> 32);
    uint32_t priority = (uint32_t)(dev_warp_word(glance->seen, 1) >> 32);
    if ((uint32_t)first != VYRE_SLOT_PUBLISHED || priority > VYRE_PRIORITY_NORMAL) return 0;
    int program = opcode >= DEV_PACKED_OPCODES && !system && dev_desk_take(rt, desk, glance, busy);
    if (!program && opcode > VYRE_OP_COMPARE_SWAP) return 0;
    uint64_t index = fav->index;
    const uint32_t clean = fav->clean;
    if (!clean) {
        DEV_FIRST index = dev_poller_reserve(fav->record, 1);
        index = dev_warp_first64(index);
        fav->clean = dev_warp_first(fav->record->mixed) == 0;
    }
    if (program)
        dev_desk_post(desk, glance, index);
    else if (opcode == VYRE_OP_NOP)
        dev_look_nop(glance, index);
    else
        dev_look_run(rt, room, glance, index);
    DEV_FIRST
    {
        /* Nobody else reserves now, and the slot is on its way: only now. */
        if (clean) dev_store64_relaxed(&fav->record->completed, index + 1);
        if (!program) { /* whose aides count it */
            dev_metric(rt, opcode, 1);
            dev_count_claims(rt, fav->record->setup.tenant, priority, 1);
            dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], 1);
            dev_notify(fav->record);
        }
    }
    fav->index = index + 1;
    dev_favourite_advance(rt, p, glance, 1);
    return 1;
}

#endif
