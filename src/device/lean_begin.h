/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How a workgroup begins in the lean loop (lean.h): what the loop goes by, and the rows that are
 * filled in front of all instructions. Those that are the same for every slot of a kind are filled
 * before the slot is there (dev_lean_prime); only its scalars are left for when it is.
 */
#ifndef VYRE_DEVICE_LEAN_BEGIN_H
#define VYRE_DEVICE_LEAN_BEGIN_H

#include "device/lean_code.h"

/* The words of a lane of the warp. */
struct dev_two {
    uint32_t word[DEV_LEAN_UNITS][DEV_WARP_ROLES];
};

/* The state of the loop. All lanes of the workgroup are active. */
struct dev_lean {
    dev_near room;
    uint32_t place; /* of the room */
    uint32_t lane;  /* of the warp; on a GPU it would else be asked for again and again */
    uint32_t mine;  /* from a row to this lane's words */
    uint32_t lanes;
    uint32_t number; /* of the workgroup */
    uint32_t level, steps;
    uint32_t level_count; /* levels that there may be */
    uint32_t early;       /* where in the room that is which is filled first, */
    uint32_t same, slot;  /* how many of it are the same in all jobs, how many are scalars; */
    uint32_t code;        /* where the code is, */
    uint32_t answers;     /* where answers of stores are put; 0: stores are not answered */
    /* What the last store was answered, of which nobody has asked yet, and all others. Only that
     * they have come is of interest. */
    struct dev_two last;
    uint32_t heard[DEV_WARP_ROLES];
};

#if defined(__CUDACC__)
#    define DEV_LEAN_MINE(lean, l) ((lean)->mine)
#    define DEV_LEAN_LANE(lean, l) ((lean)->lane)
#else
#    define DEV_LEAN_MINE(lean, l) ((l)*8u)
#    define DEV_LEAN_LANE(lean, l) (l)
#endif

DEV_INLINE void dev_lean_get(const struct dev_lean *lean, uint32_t row, struct dev_two *two)
{
    DEV_ROLES(l)
    {
        dev_near_get2(lean->room, row + DEV_LEAN_MINE(lean, l), &two->word[0][DEV_MINE(l)],
                      &two->word[1][DEV_MINE(l)]);
    }
}

DEV_INLINE void dev_lean_set(const struct dev_lean *lean, uint32_t row, const struct dev_two *two)
{
    DEV_ROLES(l)
    {
        dev_near_set2(lean->room, row + DEV_LEAN_MINE(lean, l), two->word[0][DEV_MINE(l)],
                      two->word[1][DEV_MINE(l)]);
    }
}

/* Fills a row: with a word, and what each lane counts. */
DEV_INLINE void dev_lean_fill(const struct dev_lean *lean, const struct dev_lean_op *op,
                              uint32_t word)
{
    const uint32_t base = op->kind_d & DEV_LEAN_FLOAT ? vm_flush_now(word) : word;
    const uint32_t count = (uint32_t)op->what;
    DEV_ROLES(l)
    {
        const uint32_t first = base + count * DEV_LEAN_LANE(lean, l);
        dev_near_set2(lean->room, DEV_LEAN_D(op) + DEV_LEAN_MINE(lean, l), first,
                      first + count * DEV_WARP);
    }
}

DEV_INLINE struct dev_lean_op dev_lean_read(const struct dev_lean *lean, uint32_t at)
{
    const struct dev_four low = dev_near_get4(lean->room, at);
    struct dev_lean_op op;
    op.kind_d = low.word[0];
    op.ab = low.word[1];
    op.c = low.word[2];
    op.imm = low.word[3];
    op.what = dev_near_get64(lean->room, at + 16);
    op.pc = op.reserved = 0; /* looked up by whoever needs it */
    return op;
}

/* What a workgroup is of. */
struct dev_lean_job {
    const uint32_t *args; /* of the slot: grid first, scalars last */
    uint32_t flat;        /* it has one axis */
    uint32_t budget;
};

/* What fills need to know of a workgroup where the grid has more axes than one. */
DEV_FN void dev_lean_tell_axes(struct dev_lean_head *head, const struct dev_frame *frame,
                               uint32_t number, const uint32_t grid[3])
{
    DEV_FIRST
    {
        head->group[0] = number % grid[0];
        head->group[1] = number / grid[0] % grid[1];
        head->group[2] = number / grid[0] / grid[1];
        head->first_id = head->group[0] * frame->header.workgroup[0];
    }
}

DEV_FN void dev_lean_tell_flat(struct dev_lean_head *head, const struct dev_frame *frame,
                               uint32_t number)
{
    DEV_FIRST
    {
        head->group[0] = number; /* the others are 0 */
        head->first_id = number * frame->header.workgroup[0];
    }
}

DEV_INLINE struct dev_lean_head *dev_lean_head_of(struct dev_frame *frame)
{
    return (struct dev_lean_head *)(void *)((unsigned char *)frame + frame->lean);
}

/* What the loop goes by, whatever workgroup it runs. */
DEV_INLINE void dev_lean_open(struct dev_lean *lean, struct dev_frame *frame)
{
    const struct dev_lean_head *head = dev_lean_head_of(frame);
    uint32_t lane[DEV_WARP_ROLES];
    DEV_ROLES(l)
    {
        lane[DEV_MINE(l)] = l;
    }
    lean->room = dev_near_base(frame);
    lean->place = dev_near_place(frame);
    lean->lane = dev_warp_word32(lane, dev_lane()); /* see dev_quick_open */
    lean->mine = lean->place + lean->lane * 8;
    lean->lanes = frame->header.lanes;
    lean->level_count = dev_warp_first(frame->header.level_count);
    lean->early = lean->place + frame->lean + (uint32_t)sizeof *head;
    lean->same = dev_warp_first(head->same);
    lean->slot = dev_warp_first(head->early - head->same);
    lean->code = lean->place + head->code;
    lean->answers = dev_warp_first(head->answers);
}

/* Another job: no store was answered yet. */
DEV_INLINE void dev_lean_renew(struct dev_lean *lean)
{
    DEV_ROLES(l)
    {
        lean->last.word[0][DEV_MINE(l)] = lean->last.word[1][DEV_MINE(l)] = 0;
        lean->heard[DEV_MINE(l)] = 0;
    }
}

/* The word of a fill, from the room. */
DEV_INLINE uint32_t dev_lean_word(const struct dev_lean *lean, const struct dev_lean_op *op)
{
    return dev_near_get(lean->room, lean->place + op->imm);
}

/* Fills the rows of scalars, from the slot itself. */
DEV_INLINE void dev_lean_fill_slot(const struct dev_lean *lean, const uint32_t *args)
{
    const uint32_t size = (uint32_t)sizeof(struct dev_lean_op);
    DEV_NO_UNROLL
    for (uint32_t i = 0; i < lean->slot; i++) {
        const struct dev_lean_op op = dev_lean_read(lean, lean->early + (lean->same + i) * size);
        dev_lean_fill(lean, &op, args[DEV_LEAN_ARG(&op)]);
    }
}

/* Begins a workgroup: all that can be filled before anything else is done, but for scalars. `grid`
 * is NULL where it has one axis. */
DEV_NO_INLINE void dev_lean_prime(struct dev_frame *frame, uint32_t number, const uint32_t *grid)
{
    struct dev_lean_head *head = dev_lean_head_of(frame);
    struct dev_lean lean;
    dev_lean_open(&lean, frame);
    dev_warp_sync(); /* whoever still reads what the last one was told */
    if (grid != NULL)
        dev_lean_tell_axes(head, frame, number, grid);
    else
        dev_lean_tell_flat(head, frame, number);
    dev_warp_sync();
    DEV_NO_UNROLL
    for (uint32_t i = 0; i < lean.same; i++) {
        const struct dev_lean_op op =
            dev_lean_read(&lean, lean.early + i * (uint32_t)sizeof(struct dev_lean_op));
        dev_lean_fill(&lean, &op, dev_lean_word(&lean, &op));
    }
}

#endif
