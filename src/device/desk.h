/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Aides: the other warps of the poller's block. They run single short programs, which the poller
 * puts on a desk in the block's shared memory, straight from a look: a task in device memory, a
 * second look at the slot and a lookup by another warp would take ten times as long as the program.
 *
 * There is one job at a time, and each aide has every so-manieth workgroup of it. Who ends last
 * writes the completion. A slot that finds the desk taken goes the way of short.h, like any other.
 *
 * What a job names is held by nobody. The poller, who alone changes handles, waits for the desk
 * before it does so (dev_desk_clear).
 *
 *     R23 pairs with A23: a job, from the poller to the aides, by `word`.
 *     R24 pairs with A24: what the aides have done, to the last of them, by `tally`.
 *     R25 pairs with A25: the desk is free again, by `busy`.
 *     R26: what an aide has written, where the application does not see it, is in memory before
 *     the aide says that it has ended. See docs/dispatch.md.
 */
#ifndef VYRE_DEVICE_DESK_H
#define VYRE_DEVICE_DESK_H

#include "device/lean.h"
#include "device/short.h"

#define DEV_AIDES       15u
#define DEV_AIDES_AWAKE 4u /* which a small job begins with: they do not nap */

/* How the workgroups of one aide ended. */
struct dev_aide_end {
    struct dev_short_fault first; /* of the lowest that has one */
    uint32_t ended;
    uint32_t steps;
    uint32_t out_of_bounds;
};

/* What the poller has looked up last. A slot of the same queue that differs in nothing but its seal
 * and its scalars needs no second lookup. */
struct dev_desk_known {
    uint32_t valid; /* and may be used again */
    uint32_t queue;
    uint32_t tenant;
    uint32_t program;
    uint32_t set;
    uint32_t total; /* workgroups */
    uint32_t aides; /* that take part */
    uint32_t budget;
    uint32_t flat; /* the grid has one axis */
    uint32_t reserved[3];
    struct dev_word128 slot[VYRE_SLOT_WORDS / 4];
};

struct dev_desk {
    uint32_t word;    /* number of the job << 8 | aides that take part, or DEV_DESK_LEAVE */
    uint32_t busy;    /* from when a job is put there until its completion has been written */
    uint32_t tally;   /* (atomic) of the aides that have ended: DEV_TALLY_* */
    uint32_t lowest;  /* (atomic) of the workgroups that have faulted, or DEV_NONE */
    uint32_t aides;   /* that there are */
    uint32_t jobs;    /* so far */
    uint32_t lookups; /* so far: aides that know the last one's frame need not make it again */
    uint32_t lap;     /* of the completion */
    uint32_t log_place;
    uint64_t ticket;
    struct dev_word128 *completion;
    uint64_t ignored[VYRE_SLOT_WORDS / 2]; /* words in which a slot may differ: dev_desk_ignores */
    struct dev_desk_known known;
    struct dev_aide_end end[DEV_AIDES];
    struct dev_word128 slot[VYRE_SLOT_WORDS / 4];
};

/* All that must be known of aides in most cases is in one word: their steps, how many they are, and
 * of how many more must be known (dev_desk.end), for instance because they took more steps. */
#define DEV_TALLY_STEPS 0x00FFFFFFu
#define DEV_TALLY_ENDED 0x01000000u
#define DEV_TALLY_ODD   0x10000000u
#define DEV_AIDE_STEPS  (DEV_TALLY_STEPS / DEV_AIDES)

static_assert(DEV_AIDES < DEV_TALLY_ODD / DEV_TALLY_ENDED, "all may have ended");
static_assert(DEV_AIDES <= 0xFFFFFFFFu / DEV_TALLY_ODD, "and be odd");

#define DEV_DESK_LEAVE 0xFFFFFFFFu
#define DEV_DESK_JOBS  0x00FFFFFFu /* numbers go round */

/* Where it lies in the poller's room, on a GPU. */
#define DEV_DESK_OFFSET ((sizeof(struct dev_room) + 15u) & ~(size_t)15u)

/* What a room must have at least: for this, and for anything but programs. */
#define DEV_ROOM_LEAST 6144u

static_assert(DEV_DESK_OFFSET + sizeof(struct dev_desk) <= DEV_ROOM_LEAST, "it lies there");

/* Whether a pair of words may be other than in the slot that was looked up: bit 0 the low one. */
DEV_FN uint64_t dev_desk_ignores(uint32_t pair)
{
    const uint32_t scalars = VYRE_SLOT_WORDS - DEV_SLOT_SCALARS;
    uint64_t low = 2 * pair == VYRE_SLOT_TENANT || 2 * pair >= scalars ? 0xFFFFFFFFu : 0;
    uint64_t high = 2 * pair + 1 == VYRE_SLOT_TENANT || 2 * pair + 1 >= scalars ? 0xFFFFFFFFu : 0;
    return high << 32 | low;
}

/* Before any warp looks at it. */
DEV_FN void dev_desk_init(struct dev_desk *desk, uint32_t aides)
{
    desk->word = desk->busy = desk->tally = desk->jobs = desk->lookups = 0;
    for (uint32_t i = 0; i < VYRE_SLOT_WORDS / 2; i++)
        desk->ignored[i] = dev_desk_ignores(i);
    desk->lowest = DEV_NONE;
    desk->known.valid = 0;
    desk->aides = aides < DEV_AIDES ? aides : DEV_AIDES;
}

DEV_FN const uint32_t *dev_desk_slot(const struct dev_desk *desk)
{
    return (const uint32_t *)(const void *)desk->slot;
}

/* What became of a job that was not done as most are. */
DEV_FN void dev_desk_sum(const struct dev_desk *desk, uint32_t aides, struct dev_end *end,
                         uint32_t *result)
{
    uint32_t lowest = DEV_NONE;
    result[0] = end->steps = 0;
    for (uint32_t i = 0; i < aides; i++) {
        const struct dev_aide_end *part = &desk->end[i];
        result[0] += part->ended;
        end->steps = dev_saturated((uint64_t)end->steps + part->steps);
        end->out_of_bounds = dev_saturated((uint64_t)end->out_of_bounds + part->out_of_bounds);
        if (part->first.fault == 0 || part->first.group >= lowest) continue;
        lowest = part->first.group;
        dev_short_tell(&part->first, end, result);
    }
}

/* Stores the completion, which certifies itself, and clears the desk. */
DEV_FN void dev_desk_complete(struct dev_runtime *rt, struct dev_desk *desk,
                              const struct dev_end *end)
{
    const uint32_t priority = dev_desk_slot(desk)[VYRE_SLOT_PRIORITY];
    const uint32_t tenant = desk->known.tenant, number = desk->known.queue;
    struct dev_word128 *entry = desk->completion;
    uint32_t row[VYRE_COMPLETION_WORDS];
    struct dev_word128 quarter[DEV_WARP_ROLES];
    dev_row_end(row, end);
    row[VYRE_COMPLETION_LAP] = 0;
    row[VYRE_COMPLETION_LAP] = dev_completion_seal(row, desk->lap);
    DEV_ROLES(i)
    {
        DEV_UNROLL
        for (uint32_t k = 0; k < VYRE_COMPLETION_WORDS / 4; k++) {
            if (i != k) continue;
            quarter[DEV_MINE(i)].low = (uint64_t)row[4 * k + 1] << 32 | row[4 * k];
            quarter[DEV_MINE(i)].high = (uint64_t)row[4 * k + 3] << 32 | row[4 * k + 2];
        }
        if (i < VYRE_COMPLETION_WORDS / 4) dev_store128_relaxed(&entry[i], quarter[DEV_MINE(i)]);
    }
    dev_warp_sync();
    DEV_FIRST
    {
        dev_store_release(&desk->busy, 0, DEV_BLOCK); /* R25 */
        dev_metric(rt, end->opcode, 1);
        dev_count_claims(rt, tenant, priority, 1);
        dev_add_relaxed(&rt->control[VYRE_CONTROL_DONE_COUNT], 1);
        dev_notify(&rt->queues[number]);
        dev_sub_release(&rt->queues[number].chunked, 1); /* R14 */
        dev_add_release(&rt->ends, 1);                   /* R11 */
    }
}

/* All aides have ended, and of some more must be known than their steps. */
DEV_NO_INLINE void dev_desk_end_odd(struct dev_runtime *rt, struct dev_desk *desk, uint32_t aides,
                                    uint32_t far_parts)
{
    uint32_t result[VYRE_COMPLETION_RESULTS] = {0, 0, 0, 0, 0, 0, 0, 0};
    struct dev_end end = dev_end_fault(desk->ticket, dev_desk_slot(desk)[VYRE_SLOT_OPCODE], 0);
    dev_desk_sum(desk, aides, &end, result);
    result[DEV_RESULT_FAR] = far_parts;
    end.result = result;
    dev_fence_both(DEV_SYSTEM); /* R2 */
    dev_desk_complete(rt, desk, &end);
}

/* All aides have ended as most do. */
DEV_FN void dev_desk_end(struct dev_runtime *rt, struct dev_desk *desk, uint32_t steps)
{
    struct dev_end end = dev_end_fault(desk->ticket, dev_desk_slot(desk)[VYRE_SLOT_OPCODE], 0);
    const uint32_t result[VYRE_COMPLETION_RESULTS] = {desk->known.total, 0, 0, 0, 0, 0, 0, 0};
    end.steps = steps;
    end.result = result;
    dev_desk_complete(rt, desk, &end);
}

/*
 * What an aide does for most jobs is in one function, with little enough in it that all it works
 * with is in registers: what is put aside on a stack goes through the first cache, which every
 * fence empties. So what is rare, or long, is in functions of its own.
 */

/* Whether the application sees memory that the program may write. */
DEV_FN void dev_aide_look(const struct dev_runtime *rt, struct dev_frame *frame, uint32_t set)
{
    const struct dev_bindings *bindings =
        set != DEV_NONE ? dev_bindings_of(&rt->handles[set]) : NULL;
    const uint32_t both = (uint32_t)VYRE_RIGHT_WRITE | DEV_RIGHT_SEEN;
    uint32_t seen[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        seen[DEV_MINE(l)] = 0;
        for (uint32_t i = l; bindings != NULL && i < bindings->count; i += DEV_WARP)
            seen[DEV_MINE(l)] |= (uint32_t)((bindings->bound[i].rights & both) == both);
    }
    const uint32_t any = dev_warp_ballot(seen) != 0;
    DEV_FIRST frame->seen = any;
    dev_warp_sync();
}

/* Makes an aide's room ready for what the poller has looked up; 0: the program is not what was
 * loaded. */
DEV_NO_INLINE int dev_aide_ready(struct dev_runtime *rt, const struct dev_desk *desk,
                                 struct dev_frame *frame)
{
    struct dev_short_slot whole;
    whole.arg = dev_desk_slot(desk) + VYRE_SLOT_ARG0;
    whole.ticket = desk->ticket;
    whole.program = desk->known.program;
    whole.set = desk->known.set;
    whole.far_frame = NULL; /* the poller has seen that it fits the room */
    if (!dev_short_prepare(rt, frame, &whole, &rt->queues[desk->known.queue])) return 0;
    dev_lean_prepare(frame, rt->room_bytes);
    dev_aide_look(rt, frame, whole.set);
    return 1;
}

/* The same where only the scalars can be other than last time. */
DEV_FN void dev_aide_again(const struct dev_desk *desk, struct dev_frame *frame)
{
    const uint32_t *slot = dev_desk_slot(desk);
    DEV_ROLES(i)
    {
        if (i < DEV_SLOT_SCALARS)
            frame->args.scalar[i] = slot[VYRE_SLOT_WORDS - DEV_SLOT_SCALARS + i];
    }
    DEV_FIRST frame->log_place = desk->log_place;
    dev_warp_sync();
}

/* Runs a workgroup of a program that is nothing for the lean loop. */
DEV_NO_INLINE struct dev_lean_end dev_aide_other(struct dev_runtime *rt, struct dev_frame *frame,
                                                 uint32_t group, struct dev_lean_job job)
{
    struct dev_lean_end end;
    dev_warp_begin(frame, group, job.grid);
    dev_limit_set(frame, job.budget);
    end.how = dev_frame_run_here(rt, frame);
    end.steps = dev_saturated(frame->steps);
    end.out_of_bounds = frame->out_of_bounds;
    end.left = 1;
    return end;
}

/* Runs an aide's share of the job. */
DEV_FN void dev_aide_job(struct dev_runtime *rt, struct dev_desk *desk, struct dev_frame *frame,
                         uint32_t aide, uint32_t *lookup)
{
    const uint32_t *grid = dev_desk_slot(desk) + VYRE_SLOT_ARG0;
    const uint32_t lookups = dev_warp_first(desk->lookups);
    const uint32_t total = dev_warp_first(desk->known.total);
    const uint32_t aides = dev_warp_first(desk->known.aides);
    const struct dev_lean_job job = {grid, dev_warp_first(desk->known.flat), desk->known.budget};
    struct dev_aide_end end = {{0, 0, 0, 0, 0}, 0, 0, 0};
    uint32_t state = dev_float_enter(), odd = 0, tally = 0;
    if (*lookup == lookups) {
        dev_aide_again(desk, frame);
    } else {
        const int ready = dev_aide_ready(rt, desk, frame);
        *lookup = ready ? lookups : 0;
        if (!ready) end.first.fault = (uint32_t)VYRE_FAULT_DAMAGED;
    }
    const uint32_t lean = dev_warp_first(frame->lean);
    for (uint32_t group = aide; group < total && end.first.fault == 0; group += aides) {
        /* Not after a fault of a lower one. */
        if (group != aide && dev_warp_first(dev_load_relaxed(&desk->lowest)) < group) break;
        const struct dev_lean_end part =
            lean != 0 ? dev_lean_run(frame, group, &job) : dev_aide_other(rt, frame, group, job);
        end.steps = dev_saturated((uint64_t)end.steps + part.steps);
        end.out_of_bounds = dev_saturated((uint64_t)end.out_of_bounds + part.out_of_bounds);
        odd |= part.left;
        if (part.how == DEV_FRAME_ENDED) {
            end.ended++;
        } else {
            end.first = dev_short_fault_of(frame, part.how);
            DEV_FIRST dev_atomic_min(&desk->lowest, group);
        }
        dev_warp_sync(); /* all have looked */
    }
    dev_float_leave(state);
    dev_stream_done(); /* before anybody hears of it */
    const uint32_t far_parts = frame->far_parts;
    odd |= frame->seen | end.first.fault | far_parts | (uint32_t)(end.steps > DEV_AIDE_STEPS);
    odd = dev_warp_first(odd);
    const uint32_t mine = odd != 0 ? DEV_TALLY_ENDED + DEV_TALLY_ODD : DEV_TALLY_ENDED + end.steps;
    DEV_FIRST desk->end[aide] = end;
    if (odd == 0) dev_fence_both(DEV_DEVICE); /* R26; here, where aides do it at the same time */
    dev_warp_sync();
    DEV_FIRST tally = dev_add_block(&desk->tally, mine) + mine; /* R24 and A24 */
    tally = dev_warp_first(tally);
    if (tally / DEV_TALLY_ENDED % (DEV_TALLY_ODD / DEV_TALLY_ENDED) != aides) return;
    dev_warp_sync();
    if (tally >= DEV_TALLY_ODD)
        dev_desk_end_odd(rt, desk, aides, far_parts);
    else
        dev_desk_end(rt, desk, tally & DEV_TALLY_STEPS);
}

/* The number of an aide, from its warp's in the block; or more than there are. Those beside the
 * poller, which share its part of the multiprocessor, come last. */
DEV_FN uint32_t dev_aide_number(uint32_t warp, uint32_t block_warps)
{
    if (warp == 0 || warp >= block_warps) return DEV_NONE;
    return warp % 4 != 0 ? warp - 1 - warp / 4 : block_warps - block_warps / 4 + warp / 4 - 1;
}

/*
 * Waits for jobs until the kernel leaves. `reach` is how far its fence goes. What a job reads was
 * written by others, on other multiprocessors or by the host, before the poller saw its slot, so it
 * is in memory; but the first cache may have it as it was. The fence with which the last job ended
 * has emptied that cache, and where no other block is on the multiprocessor nobody has read a
 * buffer since. Where one may be, the fence must reach beyond the block to empty it again.
 */
DEV_NO_INLINE void dev_aide(struct dev_runtime *rt, struct dev_room *room, struct dev_desk *desk,
                            uint32_t aide, enum dev_scope reach)
{
    struct dev_frame *frame = (struct dev_frame *)(void *)room;
    uint32_t seen = 0, lookup = 0;
    aide = dev_warp_first(aide); /* what is branched on: see dev_lean_run */
    reach = (enum dev_scope)dev_warp_first((uint32_t)reach);
    DEV_FIRST frame->serial = frame->far_parts = frame->seen = 0; /* for programs that are none */
    dev_warp_sync();
    for (;;) {
        uint32_t word = dev_warp_first(dev_load_block(&desk->word));
        if (word == seen) {
            dev_nap_near(aide < DEV_AIDES_AWAKE);
            continue;
        }
        dev_fence_both(reach); /* A23 pairs with R23 in look_program.h */
        dev_warp_sync();       /* for lanes that have loaded the word before it changed */
        seen = word;
        if (word == DEV_DESK_LEAVE) return;
        if (aide < (word & 0xFFu)) dev_aide_job(rt, desk, frame, aide, &lookup);
        dev_warp_sync();
    }
}

#endif
