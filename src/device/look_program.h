/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The poller's side of the desk (desk.h): one short program, alone in its queue, goes from the
 * words of a look to the aides. What it names is looked up here, once for slots that say the same.
 */
#ifndef VYRE_DEVICE_LOOK_PROGRAM_H
#define VYRE_DEVICE_LOOK_PROGRAM_H

#include "device/desk.h"
#include "device/look.h"

/* Waits until no aide looks at the desk any more. */
DEV_FN void dev_desk_settle(struct dev_desk *desk, struct dev_glance *glance)
{
    if (!glance->taken) return;
    dev_gate_wait(desk->gate, DEV_GATE_EMPTY, glance->warps); /* A25 pairs with R25 in desk.h */
    glance->taken = 0;
}

/* And forgets what was looked up: handles are to change. */
DEV_FN void dev_desk_clear(struct dev_desk *desk, struct dev_glance *glance)
{
    dev_desk_settle(desk, glance);
    DEV_FIRST desk->known.valid = 0;
    dev_warp_sync();
}

/* Sends the aides home. */
DEV_FN void dev_desk_close(struct dev_desk *desk, struct dev_glance *glance)
{
    if (glance->warps == 1) return;
    dev_desk_settle(desk, glance);
    DEV_FIRST desk->leave = 1;
    dev_gate_wait(desk->gate, DEV_GATE_FULL, glance->warps);
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

/* Whether a job is under way, to the first lane. Asked for early, because it takes a while. */
DEV_FN uint32_t dev_desk_busy(struct dev_desk *desk, const struct dev_glance *glance)
{
    return glance->taken ? dev_block_ask(&desk->busy) : 0;
}

/* Puts the slot of a look on the desk, if it is a job for the aides. All that must be known is read
 * at once, before anything of it is looked at. */
DEV_FN int dev_desk_take(struct dev_runtime *rt, struct dev_desk *desk, struct dev_glance *glance,
                         uint32_t busy)
{
    const struct dev_favourite *fav = &glance->fav;
    const dev_word64 *known = (const dev_word64 *)(const void *)desk->known.slot;
    const uint32_t valid = desk->known.valid, queue = desk->known.queue;
    uint32_t other[DEV_WARP_ROLES], fits = 0;
    if (glance->warps == 1 || dev_warp_first(busy) != 0) return 0;
    DEV_ROLES(i)
    {
        const uint32_t at = dev_role_here(i);
        other[DEV_MINE(i)] = (uint32_t)(valid == 0) | (uint32_t)(queue != fav->queue);
        if (i < 8)
            other[DEV_MINE(i)] |=
                (uint32_t)(((glance->seen[DEV_MINE(i)] ^ known[at]) & ~desk->ignored[at]) != 0);
    }
    dev_desk_settle(desk, glance);
    DEV_ROLES(i)
    {
        if (i < 8) ((dev_word64 *)(void *)desk->slot)[dev_role_here(i)] = glance->seen[DEV_MINE(i)];
    }
    if (dev_warp_ballot(other) == 0) return 1;
    dev_warp_sync();
    DEV_FIRST fits = (uint32_t)dev_desk_lookup(rt, desk, fav->queue, fav->head);
    return (int)dev_warp_first(fits);
}

/* Hands the slot on the desk to the aides; `index` is its completion's. */
DEV_FN void dev_desk_post(struct dev_desk *desk, struct dev_glance *glance, uint64_t index)
{
    const struct dev_favourite *fav = &glance->fav;
    DEV_FIRST
    {
        const uint32_t place = (uint32_t)index & (fav->slots - 1);
        desk->completion =
            (struct dev_word128 *)(void *)fav->completion + place * (VYRE_COMPLETION_WORDS / 4);
        desk->lap = dev_completion_lap_of(index, fav->log2_slots);
        desk->ticket = fav->head;
        desk->log_place = dev_short_log_place(fav->slots, fav->head);
        dev_block_put(&desk->busy, 1);
        dev_add_relaxed(&fav->record->chunked, 1); /* before the job can end */
    }
    dev_gate_wait(desk->gate, DEV_GATE_FULL, glance->warps); /* R23 */
    glance->taken = 1;
}

#endif
