/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A frame: one workgroup while it runs, or while it waits to go on. Everything that the interpreter
 * knows of it lies in one block, so a workgroup that has used up its turn is put aside by leaving
 * its frame, and resumed by any worker that takes the frame up.
 *
 * In order: this header, the views of the buffers, where registers are read, scalar registers,
 * masks, local ids, two vectors of scratch, registers, workgroup memory. Frames in the room
 * of a warp have fewer parts (warp_frame.h). The host asks dev_frame_needs whether a program fits.
 */
#ifndef VYRE_DEVICE_FRAME_H
#define VYRE_DEVICE_FRAME_H

#include "device/layout.h"
#include "device/platform.h"
#include "vm/bytecode.h"

/* A buffer as an instruction sees it. */
struct dev_view {
    unsigned char *base;    /* of its bytes */
    unsigned char *element; /* of its elements; where it has none, of 16 bytes of zeros */
    uint64_t bytes;
    uint32_t length;   /* elements that can be accessed, at most 0xFFFFFFFF */
    uint32_t access;   /* bytes of an element; with DEV_VIEW_WRITE where it may be written */
    uint32_t count;    /* what BUFLEN gives */
    uint32_t constant; /* nothing that the program writes overlaps it */
};

#define DEV_VIEW_WRITE 0x80000000u

struct dev_runtime;
struct dev_inflight;

struct dev_frame {
    const struct vm_header *program;
    const struct vm_insn *code;
    struct dev_view *views;
    uint32_t *scalars;
    uint32_t *masks;   /* level_count + 1 vectors of 0 or all ones; the current one is at `level` */
    uint32_t *local;   /* local ids: 3 vectors */
    uint32_t *scratch; /* 2 vectors */
    uint32_t *registers;
    const uint32_t **vectors; /* where each register is read: its own place, or, after a load of
                                 lanes side by side, the buffer itself */
    unsigned char *rows;      /* 1 where a register is known to count up by 1 from lane to lane */
    unsigned char *shared;
    unsigned char *far_frame;     /* of a frame in a warp's room: the one in device memory */
    uint32_t *far_registers;      /* and in that its registers */
    struct dev_log *log;          /* of the tenant */
    const struct dev_runtime *rt; /* with the entry: whether the slot was told to end */
    const struct dev_inflight *entry;
    uint64_t number; /* of the workgroup in its grid, x fastest */
    uint64_t rest;   /* workgroups [rest, rest_end) were handed out with this one */
    uint64_t rest_end;
    uint64_t steps;  /* paid by this workgroup */
    uint64_t limit;  /* at a back edge with as many steps its turn is over */
    uint32_t serial; /* of the program that it is prepared for; 0: none */
    uint32_t group[3];
    uint32_t pc;
    uint32_t level;
    uint32_t log_place; /* what a print says of its slot */
    uint32_t out_of_bounds;
    uint32_t fault; /* set with DEV_FRAME_FAULT */
    uint32_t fault_pc;
    uint32_t fault_detail;
    uint32_t fault_lane;
    uint32_t next;       /* in a list of frames */
    uint32_t quick;      /* of a frame in a warp's room: where its decoded code is;
                            0: nowhere */
    uint32_t near_bytes; /* and how much of the room it uses */
    uint32_t far_parts;  /* and what of it lies elsewhere: enum vyre_run_place */
    uint32_t lean;       /* and where an aide's functions of its code are (lean.h); 0: nowhere */
    uint32_t active[VM_MAX_LEVELS + 1]; /* lanes in each mask */
    uint32_t zero[4];                   /* where views without memory point */
    const struct vm_header *origin; /* of a frame in a warp's room: the block as it was loaded */
    struct vm_header header;        /* and its header, which the warp goes by */
    struct dev_run_args args;       /* of a slot that has no run of its own; short.h */
    uint32_t seen;                  /* and whether the application sees what it may write */
    uint32_t near_registers;        /* and how many registers lie in the room, the first ones */
    uint32_t lasting_bytes;         /* of the room: what the next workgroup finds as it was left */
    uint32_t reserved[3];
};

static_assert(sizeof(struct dev_frame) % 16 == 0, "copied 16 bytes at a time");

/* How a turn of a frame ended. */
enum dev_frame_end { DEV_FRAME_ENDED = 0, DEV_FRAME_FAULT = 1, DEV_FRAME_TURN_OVER = 2 };

/* Whether a short program, which is run in one go, goes on after a turn that ended so: it has only
 * printed (warp_print.h). `turns` were there before; it has no more instructions that may print. */
DEV_FN int dev_short_goes_on(uint32_t how, uint32_t turns)
{
    return how == DEV_FRAME_TURN_OVER && turns < VM_SHORT_CODE;
}

DEV_FN uint64_t dev_frame_round(uint64_t bytes)
{
    return (bytes + 63u) & ~(uint64_t)63u;
}

/* Where the parts of a frame lie, in bytes from its start. */
struct dev_frame_layout {
    uint64_t views, vectors, rows, scalars, masks, local, scratch, registers, shared, end;
};

DEV_FN struct dev_frame_layout dev_frame_layout(const struct vm_header *program)
{
    uint64_t vector = (uint64_t)program->stride * sizeof(uint32_t);
    struct dev_frame_layout at;
    at.views = dev_frame_round(sizeof(struct dev_frame));
    at.vectors =
        dev_frame_round(at.views + (uint64_t)program->buffer_count * sizeof(struct dev_view));
    at.rows = dev_frame_round(at.vectors + (uint64_t)program->register_count * sizeof(uint32_t *));
    at.scalars = dev_frame_round(at.rows + program->register_count);
    at.masks = dev_frame_round(at.scalars + (uint64_t)program->scalar_count * sizeof(uint32_t));
    at.local = dev_frame_round(at.masks + (program->level_count + 1) * vector);
    at.scratch = dev_frame_round(at.local + 3 * vector);
    at.registers = dev_frame_round(at.scratch + 2 * vector);
    at.shared = dev_frame_round(at.registers + program->register_count * vector);
    at.end = dev_frame_round(at.shared + program->shared_bytes);
    return at;
}

/* The bytes that a frame of this program takes where workers are threads. */
DEV_FN uint64_t dev_frame_bytes(const struct vm_header *program)
{
    return dev_frame_layout(program).end;
}

#endif
