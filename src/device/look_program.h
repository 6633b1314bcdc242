/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The poller's side of the desk (desk.h): one short program, alone in its queue, goes from the
 * words of a look to the aides. What it names is looked up here, once for slots that say the same.
 */
#ifndef VYRE_DEVICE_LOOK_PROGRAM_H
#define VYRE_DEVICE_LOOK_PROGRAM_H

#include "device/desk.h"
#include "device/look.h"

/* Waits until no job is under way, and forgets what was looked up: handles are to change. */
DEV_FN void dev_desk_clear(struct dev_desk *desk)
{
    while (dev_warp_first(dev_load_block(&desk->busy)) != 0) /* A25 pairs with R25 */
        dev_pause();
    DEV_FIRST desk->known.valid = 0;
    dev_warp_sync();
}

/* Whether all of a program fits an aide's room. */
DEV_FN int dev_desk_fits(const struct vm_header *program, uint32_t room)
{
    struct dev_warp_layout at = dev_warp_layout(program, room);
    return dev_layout_near(&at);
}

/* Looks up what the slot on the desk names; on the first lane. 0: it goes another way, where its
 * fault will be found, if it has one. */
DEV_NO_INLINE int dev_desk_lookup(struct dev_runtime *rt, struct dev_desk *desk, uint32_t number,
                                  uint64_t ticket)
{
    const uint32_t *slot = dev_desk_slot(desk), *arg = slot + VYRE_SLOT_ARG0;
    const struct dev_queue *queue = &rt->queues[number];
    struct dev_desk_known *known = &desk->known;
    known->valid = 0;
    if (arg[0] == 0 || arg[1] == 0 || arg[2] == 0) return 0;
    if (dev_short_find(rt, queue, slot, ticket, &known->program, &known->set) != 0) return 0;
    const struct vm_header *header = dev_program_header(&rt->handles[known->program]);
    if (!dev_desk_fits(header, rt->room_bytes)) return 0;
    known->queue = number;
    known->tenant = queue->setup.tenant;
    known->total = arg[0] * arg[1] * arg[2]; /* few, or it would not be short */
    known->aides = known->total < desk->aides ? known->total : desk->aides;
    known->budget = rt->step_budget;
    for (uint32_t i = 0; i < VYRE_SLOT_WORDS / 4; i++)
        known->slot[i] = desk->slot[i];
    desk->lookups = desk->lookups + 1 != 0 ? desk->lookups + 1 : 1;
    /* Windows are each slot's own, and while something is being dropped it matters which slot it
     * is. */
    known->valid = arg[DEV_ARG_COUNT] >> 8 == 0 && rt->graces == 0;
    return 1;
}

/* Puts the slot of a look on the desk, if it is a job for the aides. */
DEV_FN int dev_desk_take(struct dev_runtime *rt, struct dev_desk *desk,
                         const struct dev_glance *glance)
{
    const struct dev_favourite *fav = &glance->fav;
    uint32_t other[DEV_WARP_ROLES], fits = 0;
    if (desk->aides == 0 || dev_warp_first(dev_load_block(&desk->busy))) /* A25 */
        return 0;
    const dev_word64 *known = (const dev_word64 *)(const void *)desk->known.slot;
    DEV_ROLES(i)
    {
        const uint64_t seen = glance->seen[DEV_MINE(i)];
        other[DEV_MINE(i)] = 0;
        if (i < 8) {
            ((dev_word64 *)(void *)desk->slot)[i] = seen;
            other[DEV_MINE(i)] = ((seen ^ known[i]) & ~desk->ignored[i]) != 0;
        }
    }
    const uint32_t same = dev_warp_ballot(other) == 0;
    if (same & (uint32_t)(desk->known.valid != 0) & (uint32_t)(desk->known.queue == fav->queue))
        return 1;
    dev_warp_sync();
    DEV_FIRST fits = (uint32_t)dev_desk_lookup(rt, desk, fav->queue, fav->head);
    return (int)dev_warp_first(fits);
}

/* Hands the slot on the desk to the aides; `index` is its completion's. */
DEV_FN void dev_desk_post(struct dev_desk *desk, const struct dev_glance *glance, uint64_t index)
{
    const struct dev_favourite *fav = &glance->fav;
    dev_warp_sync(); /* all words of the slot are there */
    DEV_FIRST
    {
        const uint32_t aides = desk->known.aides;
        const uint32_t place = (uint32_t)index & (fav->slots - 1);
        desk->ticket = fav->head;
        desk->log_place = dev_short_log_place(fav->slots, fav->head);
        desk->completion =
            (struct dev_word128 *)(void *)fav->completion + place * (VYRE_COMPLETION_WORDS / 4);
        desk->lap = dev_completion_lap_of(index, fav->log2_slots);
        desk->jobs = (desk->jobs + 1) & DEV_DESK_JOBS;
        desk->pending = aides;
        desk->steps = desk->odd = 0;
        dev_store_relaxed(&desk->lowest, DEV_NONE);
        dev_store_relaxed(&desk->busy, 1);
        dev_store_release(&desk->word, desk->jobs << 8 | aides, DEV_BLOCK); /* R23 */
        /* Only now: the release would wait for it. Nobody else looks at it. */
        dev_add_relaxed(&fav->record->chunked, 1);
    }
    dev_warp_sync();
}

#endif
