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
    known->flat = arg[1] == 1 && arg[2] == 1;
    for (uint32_t i = 0; i < VYRE_SLOT_WORDS / 4; i++)
        known->slot[i] = desk->slot[i];
    desk->lookups = desk->lookups + 1 != 0 ? desk->lookups + 1 : 1;
    /* Windows are each slot's own, and while something is being dropped it matters which slot it
     * is. */
    known->valid = arg[DEV_ARG_COUNT] >> 8 == 0 && rt->graces == 0;
    return 1;
}

/* Puts the slot of a look on the desk, if it is a job for the aides. All that must be known is read
 * at once, before anything of it is looked at. */
DEV_FN int dev_desk_take(struct dev_runtime *rt, struct dev_desk *desk,
                         const struct dev_glance *glance)
{
    const struct dev_favourite *fav = &glance->fav;
    const dev_word64 *known = (const dev_word64 *)(const void *)desk->known.slot;
    const uint32_t valid = desk->known.valid, queue = desk->known.queue;
    uint32_t taken[DEV_WARP_ROLES], other[DEV_WARP_ROLES], fits = 0;
    DEV_ROLES(i)
    {
        const uint32_t at = dev_role_here(i);
        const uint64_t seen = glance->seen[DEV_MINE(i)];
        taken[DEV_MINE(i)] = dev_load_block(&desk->busy) | (uint32_t)(desk->aides == 0); /* A25 */
        other[DEV_MINE(i)] = (uint32_t)(valid == 0) | (uint32_t)(queue != fav->queue);
        if (i < 8) {
            other[DEV_MINE(i)] |= (uint32_t)(((seen ^ known[at]) & ~desk->ignored[at]) != 0);
            if (taken[DEV_MINE(i)] == 0) ((dev_word64 *)(void *)desk->slot)[at] = seen;
        }
    }
    if (dev_warp_ballot(taken) != 0) return 0;
    if (dev_warp_ballot(other) == 0) return 1;
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
        desk->tally = 0;
        desk->lowest = DEV_NONE;
        desk->busy = 1;
        dev_store_release(&desk->word, desk->jobs << 8 | aides, DEV_BLOCK); /* R23 */
        /* Only now: the release would wait for it. Nobody else looks at it. */
        dev_add_relaxed(&fav->record->chunked, 1);
    }
    dev_warp_sync();
}

#endif
